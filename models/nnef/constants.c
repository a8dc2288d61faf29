/* SPDX-License-Identifier: MIT */
/* Where tensors come from: inputs, files, literals, and the constants of signal processing. */
#include "models/nnef/build.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define WINDOW_MAX 65536
#define RATE_MAX 1e7 /* Hz */
#define PI 3.14159265358979323846

enum dtype type_of_call(const struct call *c)
{
    const char *t = c->e->type;
    if (t && !strcmp(t, "integer"))
        return DTYPE_I64;
    return t && !strcmp(t, "logical") ? DTYPE_BOOL : DTYPE_F32;
}

rill_status type_of_text(const struct call *c, const char *text, enum dtype *ret)
{
    /* clang-format off */
    static const struct { const char *name; enum dtype type; } types[] = {
        { "f32", DTYPE_F32 }, { "f64", DTYPE_F64 }, { "f16", DTYPE_F16 },   { "i8", DTYPE_I8 },
        { "i16", DTYPE_I16 }, { "i32", DTYPE_I32 }, { "i64", DTYPE_I64 },   { "u8", DTYPE_U8 },
        { "u16", DTYPE_U16 }, { "u32", DTYPE_U32 }, { "u64", DTYPE_U64 },   { "bool", DTYPE_BOOL },
        { "tdim", DTYPE_I64 }, { "bf16", DTYPE_BF16 }, { "i4", DTYPE_I4 }, { "u4", DTYPE_U4 },
        { "i2", DTYPE_I2 },   { "u2", DTYPE_U2 },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcasecmp(types[i].name, text)) {
            *ret = types[i].type;
            return RILL_OK;
        }
    return call_fail(
        c, RILL_UNSUPPORTED,
        "'%s': elements of '%.40s', supported: f32, f64, f16, bf16, i2, i4, i8 to i64, u2, u4, "
        "u8 to u64, bool, tdim",
        c->e->text, text);
}

/* external<T>(shape), or tract_core_external(shape, datum_type). */
static rill_status external_type(const struct call *c, enum dtype *ret)
{
    const char *text;
    *ret = type_of_call(c);
    if (c->sig->n_params < 2)
        return RILL_OK;
    TRY(arg_text(c, "datum_type", &text));
    return type_of_text(c, text, ret);
}

/* What a submodel is given for an input of the shape and type that it declares; a symbol is the
 * caller's of that name. */
static rill_status input_given(const struct call *c, const struct fact *declared, uint32_t w,
                               struct val *ret)
{
    const struct fact *f = wire_fact(c->s, w);
    char is[120], wants[120];
    bool same = f->rank == declared->rank && f->type == declared->type;
    for (int k = 0; same && k < f->rank; k++)
        same = dim_is(dim_eq(c->b->dims, f->shape[k], declared->shape[k]), 1);
    *ret = val_of_wire(w);
    if (same)
        return RILL_OK;
    fact_print(f, is, sizeof is);
    fact_print(declared, wants, sizeof wants);
    return call_fail(c, RILL_MALFORMED,
                     "input '%.60s' is %s, given is %s; a symbol of a submodel is the caller's of "
                     "that name",
                     c->s->target, wants, is);
}

rill_status build_external(const struct call *c, struct val *ret)
{
    struct scope *s = c->s;
    struct fact f = { .type = DTYPE_NONE };
    unsigned n;
    TRY(external_type(c, &f.type));
    if (!s->inputs_of || s->whole != c->e)
        return call_fail(
            c, RILL_MALFORMED,
            "'external' stands alone on the right side of a statement of the graph: x = "
            "external<scalar>(shape = [...]);");
    const struct nnef_fragment *g = s->inputs_of;
    uint32_t i = 0;
    while (i < g->n_params && strcmp(g->params[i].name, s->target) != 0)
        i++;
    if (i == g->n_params)
        return call_fail(c, RILL_MALFORMED, "'%.60s' is not among the inputs of graph '%.60s'",
                         s->target, g->name);
    s->makes_symbols = true;
    rill_status status = arg_dims(c, "shape", f.shape, RANK_MAX, &n);
    s->makes_symbols = false;
    TRY(status);
    TRY(dims_status(c->b->dims, c->b->err));
    f.rank = (int) n;
    for (unsigned k = 0; k < n; k++)
        if (dim_is_const(f.shape[k]) && dim_value(f.shape[k]) < 0)
            return call_fail(c, RILL_MALFORMED, "input '%.60s': size %lld of axis %u", s->target,
                             (long long) dim_value(f.shape[k]), k);
    if (s->given)
        return input_given(c, &f, s->given[i], ret);
    const struct quant *q = quant_find(c->b, s, s->target);
    f.type = q ? quant_type(q) : f.type;
    uint32_t w = graph_add_input(s->g, arena_string(c->b->arena, s->target), &f);
    *ret = val_of_wire(w);
    return w == WIRE_NONE ? nnef_no_memory(c->b) : RILL_OK;
}

static rill_status const_shape(const struct call *c, struct tensor *ret)
{
    unsigned n;
    *ret = (struct tensor) { .type = type_of_call(c) };
    TRY(arg_ints(c, "shape", ret->dim, RANK_MAX, &n));
    ret->rank = (int) n;
    return RILL_OK;
}

static rill_status const_add(const struct call *c, const struct tensor *t, struct val *ret)
{
    *ret = (struct val) { .kind = VAL_WIRE };
    return const_tensor(c->b, c->s->g, t, &ret->wire);
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t) a->rank * sizeof *a->dim);
}

rill_status build_variable(const struct call *c, struct val *ret)
{
    struct builder *b = c->b;
    struct tensor want, *t;
    const char *label;
    TRY(const_shape(c, &want));
    TRY(arg_text(c, "label", &label));
    if (!b->folder)
        return call_fail(c, RILL_IO,
                         "variable '%.80s': this text has no folder to read tensors from", label);
    rill_status s = weight_read(c, label, &t);
    if (s != RILL_OK)
        return err_prefix(b->err, s, "%s:%u:%u", c->s->file, c->e->pos.line, c->e->pos.column);
    if (!same_shape(t, &want))
        return call_fail(c, RILL_MALFORMED,
                         "variable '%.80s': the file's shape is not the declared one", label);
    /* Tract writes <scalar> of tensors of every type. */
    if (c->e->type && t->type != want.type && !speaks_tract(b) &&
        !quant_find(b, c->s, c->s->target ? c->s->target : ""))
        return call_fail(c, RILL_MALFORMED, "variable '%.80s': the file holds %s, expected %s",
                         label, dtype_name(t->type), dtype_name(want.type));
    TRY(const_add(c, t, ret));
    return variable_add(c, label, ret);
}

static rill_status const_of_shape(const struct call *c, struct tensor **ret)
{
    struct tensor want;
    TRY(const_shape(c, &want));
    return literal_new(c, &want, ret);
}

rill_status build_constant(const struct call *c, struct val *ret)
{
    struct tensor *t;
    struct val v;
    TRY(const_of_shape(c, &t));
    TRY(arg_val(c, "value", &v));
    struct val one = v;
    if (v.kind != VAL_LIST)
        v = (struct val) { .kind = VAL_LIST, .n = 1, .list = &one };
    int64_t n = tensor_count(t);
    if (v.n != 1 && v.n != n)
        return call_fail(c, RILL_MALFORMED, "'constant': %u values for %lld elements", v.n,
                         (long long) n);
    for (int64_t i = 0; i < n; i++) {
        struct val x = v.list[v.n == 1 ? 0 : i];
        if (x.kind != VAL_INT && x.kind != VAL_REAL && x.kind != VAL_BOOL)
            return call_fail(c, RILL_MALFORMED, "'constant': value %lld is %s, expected a number",
                             (long long) i, val_kind_name(x));
        tensor_set_f64(t, t->data, i, x.kind == VAL_REAL ? x.real : (double) x.i);
    }
    return const_add(c, t, ret);
}

rill_status build_fill(const struct call *c, struct val *ret)
{
    struct tensor *t;
    double v;
    TRY(const_of_shape(c, &t));
    TRY(arg_real(c, "value", &v));
    int64_t n = tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        tensor_set_f64(t, t->data, i, v);
    return const_add(c, t, ret);
}

/* ---- windows ---- */

/* x runs from 0 to 1 over one period. */
static double w_hann(double x)
{
    return 0.5 - 0.5 * cos(2 * PI * x);
}
static double w_sqrt_hann(double x)
{
    return sin(PI * x);
}
static double w_hamming(double x)
{
    return 0.54 - 0.46 * cos(2 * PI * x);
}
static double w_blackman(double x)
{
    return 0.42 - 0.5 * cos(2 * PI * x) + 0.08 * cos(4 * PI * x);
}
static double w_rectangular(double x)
{
    return x >= 0;
}

/* These are symmetric about the middle of the block and sampled half a step inside. */
static double w_sine(double x)
{
    return sin(PI * x);
}
static double w_vorbis(double x)
{
    double s = sin(PI * x);
    return sin(PI / 2 * s * s);
}

static const struct {
    const char *name;
    double (*f)(double x);
    bool half_step;
} windows[] = {
    { "hann", w_hann, false },
    { "sqrt_hann", w_sqrt_hann, false },
    { "hamming", w_hamming, false },
    { "blackman", w_blackman, false },
    { "rectangular", w_rectangular, false },
    { "sine", w_sine, true },
    { "vorbis", w_vorbis, true },
};

static rill_status window_find(const struct call *c, const char *kind, size_t *ret)
{
    for (*ret = 0; *ret < sizeof windows / sizeof *windows; ++*ret)
        if (!strcmp(windows[*ret].name, kind))
            return RILL_OK;
    return call_fail(c, RILL_UNSUPPORTED,
                     "window '%.30s', supported: hann, sqrt_hann, hamming, blackman, vorbis, sine, "
                     "rectangular",
                     kind);
}

rill_status build_window(const struct call *c, struct val *ret)
{
    const char *kind;
    int64_t size;
    bool periodic;
    size_t k;
    TRY(arg_text(c, "kind", &kind));
    TRY(arg_int(c, "size", &size));
    TRY(arg_bool(c, "periodic", &periodic));
    TRY(window_find(c, kind, &k));
    if (size < 1 || size > WINDOW_MAX)
        return call_fail(c, RILL_LIMIT, "window of %lld samples, supported: 1 to %d",
                         (long long) size, WINDOW_MAX);
    struct tensor *t = NULL;
    TRY(literal_new(c, &(struct tensor) { .type = DTYPE_F32, .rank = 2, .dim = { 1, size } }, &t));
    double period =
        periodic || windows[k].half_step ? (double) size : (double) (size > 1 ? size - 1 : 1);
    for (int64_t i = 0; i < size; i++)
        ((float *) t->data)[i] =
            (float) windows[k].f(((double) i + (windows[k].half_step ? 0.5 : 0.0)) / period);
    return const_add(c, t, ret);
}

/* ---- mel ---- */

/* `even`: the sides of a triangle are straight over the mel scale instead of over Hz. */
struct mel {
    double rate, low, high;
    bool slaney, norm, even;
    int64_t bands, bins;
};

/* HTK's formula, or Slaney's: linear below 1 kHz, logarithmic above. */
static double mel_of_hz(const struct mel *m, double f)
{
    if (!m->slaney)
        return 2595 * log10(1 + f / 700);
    return f < 1000 ? f * 3 / 200 : 15 + log(f / 1000) * 27 / log(6.4);
}

static double hz_of_mel(const struct mel *m, double x)
{
    if (!m->slaney)
        return 700 * (pow(10, x / 2595) - 1);
    return x < 15 ? x * 200 / 3 : 1000 * exp((x - 15) * log(6.4) / 27);
}

static double mel_edge(const struct mel *m, int64_t band)
{
    double a = mel_of_hz(m, m->low), z = mel_of_hz(m, m->high);
    return hz_of_mel(m, a + (z - a) * (double) band / (double) (m->bands + 1));
}

static double mel_side(const struct mel *m, double from, double to, double f)
{
    if (!m->even)
        return (f - from) / (to - from);
    double a = mel_of_hz(m, from);
    return (mel_of_hz(m, f) - a) / (mel_of_hz(m, to) - a);
}

/* [bins, bands]: triangles between neighbouring edges. */
static void mel_fill(const struct mel *m, float *ret)
{
    for (int64_t j = 0; j < m->bands; j++) {
        double left = mel_edge(m, j), mid = mel_edge(m, j + 1), right = mel_edge(m, j + 2);
        double scale = m->norm ? 2 / (right - left) : 1;
        for (int64_t i = 0; i < m->bins; i++) {
            double f = (double) i * m->rate / 2 / (double) (m->bins - 1);
            double w = f < mid ? mel_side(m, left, mid, f) : mel_side(m, right, mid, f);
            ret[i * m->bands + j] = w > 0 ? (float) (w * scale) : 0;
        }
    }
}

/* x [.., rows] times the constant t [rows, columns]. */
static rill_status matrix_apply(const struct call *c, uint32_t x, struct tensor *t, struct val *ret)
{
    struct val w;
    uint32_t y;
    TRY(const_add(c, t, &w));
    TRY(call_node(c, "MatMul", NULL, 0, (uint32_t[]) { x, w.wire }, 2, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

static rill_status mel_span_check(const struct call *c, const struct mel *m)
{
    double half = m->rate / 2, high = m->high != 0 ? m->high : half;
    if (!(m->rate > 0 && m->rate <= RATE_MAX))
        return call_fail(c, RILL_MALFORMED,
                         "'rill_mel': rate is %g Hz, expected above 0, at most %g", m->rate,
                         RATE_MAX);
    if (!(high > 0 && high <= half))
        return call_fail(c, RILL_MALFORMED,
                         "'rill_mel': high is %g Hz, expected above 0 and at most half the rate, "
                         "%g Hz (0.0 stands for that)",
                         high, half);
    if (!(m->low >= 0 && m->low < high))
        return call_fail(c, RILL_MALFORMED,
                         "'rill_mel': low is %g Hz, expected at least 0 and below high, %g Hz",
                         m->low, high);
    return RILL_OK;
}

rill_status build_mel(const struct call *c, struct val *ret)
{
    struct mel m;
    uint32_t in[1];
    TRY(arg_wire(c, "x", &in[0]));
    TRY(arg_int(c, "bands", &m.bands));
    TRY(arg_real(c, "rate", &m.rate));
    TRY(arg_real(c, "low", &m.low));
    TRY(arg_real(c, "high", &m.high));
    TRY(arg_bool(c, "slaney", &m.slaney));
    TRY(arg_bool(c, "norm", &m.norm));
    TRY(arg_bool(c, "even", &m.even));
    const struct fact *f = wire_fact(c->s, in[0]);
    const struct dim *bins = f->rank > 0 ? f->shape[f->rank - 1] : NULL;
    m.bins = bins && dim_is_const(bins) ? dim_value(bins) : 0;
    if (m.bins < 2 || m.bins > WINDOW_MAX || m.bands < 1 || m.bands > 1024)
        return call_fail(
            c, RILL_LIMIT,
            "'rill_mel': %lld bins and %lld bands, expected a last axis of 2 to %d and 1 to "
            "1024 bands",
            (long long) m.bins, (long long) m.bands, WINDOW_MAX);
    TRY(mel_span_check(c, &m));
    m.high = m.high > 0 ? m.high : m.rate / 2;
    struct tensor *t = NULL;
    TRY(literal_new(c,
                    &(struct tensor) { .type = DTYPE_F32, .rank = 2, .dim = { m.bins, m.bands } },
                    &t));
    mel_fill(&m, t->data);
    return matrix_apply(c, in[0], t, ret);
}

/* DCT-II: y[j] = sqrt(2 / N) * sum of x[i] cos(pi j (i + 1/2) / N); `ortho` divides y[0] by
 * sqrt(2). */
static void dct_fill(int64_t n_in, int64_t n_out, bool ortho, float *ret)
{
    for (int64_t i = 0; i < n_in; i++)
        for (int64_t j = 0; j < n_out; j++) {
            double scale = sqrt((j == 0 && ortho ? 1.0 : 2.0) / (double) n_in);
            ret[i * n_out + j] =
                (float) (scale * cos(M_PI * (double) j * ((double) i + 0.5) / (double) n_in));
        }
}

rill_status build_dct(const struct call *c, struct val *ret)
{
    uint32_t x;
    int64_t n;
    bool ortho;
    TRY(arg_wire(c, "x", &x));
    TRY(arg_int(c, "n", &n));
    TRY(arg_bool(c, "ortho", &ortho));
    const struct fact *f = wire_fact(c->s, x);
    const struct dim *last = f->rank > 0 ? f->shape[f->rank - 1] : NULL;
    int64_t n_in = last && dim_is_const(last) ? dim_value(last) : 0;
    if (n_in < 1 || n_in > 1024 || n < 1 || n > n_in)
        return call_fail(
            c, RILL_LIMIT,
            "'rill_dct': %lld of %lld numbers, expected a last axis of 1 to 1024 and at "
            "most as many coefficients",
            (long long) n, (long long) n_in);
    struct tensor *t = NULL;
    TRY(literal_new(c, &(struct tensor) { .type = DTYPE_F32, .rank = 2, .dim = { n_in, n } }, &t));
    dct_fill(n_in, n, ortho, t->data);
    return matrix_apply(c, x, t, ret);
}

/* ---- bands of given widths ---- */

#define BANDS_MAX 1024

/* How many neighbours make each band; their sum is the number of bins. */
static rill_status widths_read(const struct call *c, int64_t *widths, unsigned *ret_n,
                               int64_t *ret_bins)
{
    TRY(arg_ints(c, "widths", widths, BANDS_MAX, ret_n));
    *ret_bins = 0;
    for (unsigned i = 0; i < *ret_n; i++) {
        if (widths[i] < 1 || widths[i] > WINDOW_MAX - *ret_bins)
            return call_fail(c, RILL_MALFORMED,
                             "'%s': band %u is %lld wide, expected at least 1, all bands at most "
                             "%d",
                             c->row->name, i, (long long) widths[i], WINDOW_MAX);
        *ret_bins += widths[i];
    }
    return RILL_OK;
}

/* x, whose last axis must have `size` numbers. */
static rill_status arg_of_size(const struct call *c, int64_t size, uint32_t *ret)
{
    TRY(arg_wire(c, "x", ret));
    const struct fact *f = wire_fact(c->s, *ret);
    const struct dim *last = f->rank > 0 ? f->shape[f->rank - 1] : NULL;
    if (last && dim_is_const(last) && dim_value(last) == size && f->type == DTYPE_F32)
        return RILL_OK;
    char text[160];
    fact_print(f, text, sizeof text);
    return call_fail(c, RILL_MALFORMED,
                     "'%s': x is %s, the widths want f32 and a last axis of %lld", c->row->name,
                     text, (long long) size);
}

rill_status build_bands(const struct call *c, struct val *ret)
{
    int64_t widths[BANDS_MAX], bins, row = 0;
    unsigned n;
    uint32_t x;
    struct tensor *t = NULL;
    TRY(widths_read(c, widths, &n, &bins));
    TRY(arg_of_size(c, bins, &x));
    TRY(literal_new(c, &(struct tensor) { .type = DTYPE_F32, .rank = 2, .dim = { bins, n } }, &t));
    for (unsigned j = 0; j < n; j++)
        for (int64_t k = 0; k < widths[j]; k++, row++)
            ((float *) t->data)[row * n + j] = 1.0F / (float) widths[j];
    return matrix_apply(c, x, t, ret);
}

rill_status build_spread(const struct call *c, struct val *ret)
{
    int64_t widths[BANDS_MAX], bins, row = 0;
    unsigned n;
    uint32_t x, at, y;
    struct val index;
    struct tensor *t = NULL;
    TRY(widths_read(c, widths, &n, &bins));
    TRY(arg_of_size(c, n, &x));
    TRY(literal_new(c, &(struct tensor) { .type = DTYPE_I64, .rank = 1, .dim = { bins } }, &t));
    for (unsigned j = 0; j < n; j++)
        for (int64_t k = 0; k < widths[j]; k++)
            ((int64_t *) t->data)[row++] = j;
    TRY(const_add(c, t, &index));
    at = index.wire;
    const struct attr axis = ATTR_I("axis", -1);
    TRY(call_node(c, "Gather", &axis, 1, (uint32_t[]) { x, at }, 2, &y));
    *ret = val_of_wire(y);
    return RILL_OK;
}

/* ---- what model.conf says ---- */

/* A number of the kind that stands in the text, which holds where model.conf says none. */
rill_status build_option(const struct call *c, struct val *ret)
{
    const char *name;
    double least;
    TRY(arg_text(c, "name", &name));
    TRY(arg_val(c, "value", ret));
    TRY(arg_real(c, "least", &least));
    if (ret->kind != VAL_REAL && ret->kind != VAL_INT && ret->kind != VAL_BOOL)
        return call_fail(c, RILL_MALFORMED,
                         "'rill_option': '%.60s' stands for %s, expected a number, true or false",
                         name, val_kind_name(*ret));
    double value = ret->kind == VAL_REAL ? ret->real : (double) ret->i;
    const char *where = "'rill_option':";
    for (uint32_t i = 0; i < c->b->n_options; i++) {
        struct conf_option *o = &c->b->options[i];
        if (strcmp(o->name, name) != 0)
            continue;
        o->is_asked = true;
        if (o->is_truth != (ret->kind == VAL_BOOL) ||
            (ret->kind == VAL_INT && o->value != floor(o->value)))
            return call_fail(c, RILL_MALFORMED, "model.conf: [options] %.60s: expected %s", name,
                             ret->kind == VAL_BOOL      ? "true or false"
                                 : ret->kind == VAL_INT ? "a whole number"
                                                        : "a number");
        if (ret->kind == VAL_REAL)
            ret->real = o->value;
        else
            ret->i = (int64_t) o->value;
        value = o->value;
        where = "model.conf: [options]";
    }
    return value >= least ? RILL_OK
                          : call_fail(c, RILL_MALFORMED, "%s %.60s: %g, expected at least %g",
                                      where, name, value, least);
}
