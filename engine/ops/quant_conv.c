/* SPDX-License-Identifier: MIT */
/* ConvInteger: a product of 8-bit rows, one for each place, with the weights packed as those of a
 * matrix; or, of many places or few outputs, with lanes along the places (quant_places.h); or,
 * depthwise, along the channels (quant_depth.h). Padding is the zero of x, so that it adds nothing.
 */
#include "engine/ops/attrs.h"
#include "engine/ops/epilogue.h"
#include "engine/ops/ops.h"
#include "engine/ops/quant_depth.h"
#include "engine/ops/quant_places.h"
#include "kernels/bytes.h"

#include <string.h>

static const struct attr_spec conv_integer_attrs[] = {
    CONV_KERNEL_ROWS,
    CONV_STEP_ROWS,
    PRODUCT_RESULT_ROWS(struct conv_integer_attr),
    EPILOGUE_ROW(struct conv_attr),
    { 0 },
};

#define IN_X PRODUCT_X
#define IN_W PRODUCT_W
#define IN_X_ZERO PRODUCT_X_ZERO
#define IN_W_ZERO PRODUCT_W_ZERO
#define TILE_BYTES 131072 /* rows of one tile, and their sums, stay in the second cache */
#define FEW_PLACES 4      /* fewer in a row of outputs are gathered one by one */
#define LONG_KERNEL 16    /* and so are more, whose lines are copied */
#define REACH 256         /* bytes of a line that are put together for places of it */
#define LINES_OUTS 4      /* groups of so few outputs would leave most lanes empty */

static rill_status conv_integer_infer(struct infer *c)
{
    const struct conv_integer_attr *a = c->attr;
    TRY(product_types_check(c));
    TRY(product_zero_check(c, IN_X_ZERO, IN_X, NULL));
    TRY(conv_shape_infer(c, product_type(&a->y)));
    TRY(product_zero_check(c, IN_W_ZERO, IN_W, c->in[IN_W]->shape[0]));
    return product_results_check(c, &a->y, dim_value(c->in[IN_W]->shape[0]), a->conv.epilogue);
}

struct conv_integer {
    struct window3 g;
    int64_t batch, group, cin, cout; /* channels of one group */
    struct product_weights w;
    struct places *places; /* NULL: not along them */
    struct depth *depth;   /* NULL: not along channels */
    struct kern_scale to;  /* by: NULL: no bytes come out */
    bool in_place;         /* the only row lies in x as it is read */
    bool inside;           /* no place is outside of x */
    bool pointwise;        /* each place reads the one that it is */
    int64_t tile;          /* places whose rows are gathered at once */
    struct epilogue epilogue;
};

/* ---- plan ---- */

/* One place that reads all of x in order. */
static bool in_place(const struct conv_integer *v)
{
    const struct window3 *g = &v->g;
    bool all = v->inside && g->n_out == 1 && g->n_in == g->n_kernel;
    for (int i = 0; i < 3; i++)
        all = all && (g->kernel[i] == 1 || g->dilation[i] == 1);
    return all;
}

static bool inside(const struct window3 *g)
{
    for (int i = 0; i < 3; i++)
        if (g->before[i] ||
            (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] >= g->in[i])
            return false;
    return true;
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Rows and sums of a tile. */
static size_t tile_bytes(const struct conv_integer *v)
{
    const size_t k = v->w.form.k, n = v->w.form.n, tile = (size_t) v->tile;
    return whole_lines(tile * k) + whole_lines(tile * n * sizeof(int32_t));
}

static rill_status product_prepare(struct prep *c, struct conv_integer *v)
{
    struct kern_q8_w *form = &v->w.form;
    form->n = (size_t) v->cout;
    form->k = (size_t) (v->cin * v->g.n_kernel);
    form->stride_o = form->k;
    form->stride_k = 1;
    v->w.step = form->n * form->k;
    v->w.matrices = v->group;
    v->w.zero_each = true;
    v->in_place = in_place(v);
    int64_t most = TILE_BYTES / (int64_t) (form->k + form->n * sizeof(int32_t) + 1);
    v->tile = most < 8 ? 8 : most;
    v->tile = v->tile < v->g.n_out ? v->tile : v->g.n_out;
    form->rows = (size_t) (v->tile < 16 ? v->tile : 16);
    TRY(product_weights_prepare(c, &v->w));
    c->many = !v->to.by && v->w.packed && v->batch == 1 && v->group == 1 && v->tile == v->g.n_out &&
        many_pays(v->g.n_out, v->cout, (int64_t) form->k);
    return RILL_OK;
}

static rill_status places_set(struct prep *c, struct conv_integer *v)
{
    const struct tensor *w = c->in[IN_W], *zero = c->n_in > IN_W_ZERO ? c->in[IN_W_ZERO] : NULL;
    const struct conv_integer_attr *a = c->attr;
    struct places p = { .g = v->g,
                        .batch = v->batch,
                        .group = v->group,
                        .cin = v->cin,
                        .cout = v->cout,
                        .pointwise = v->pointwise,
                        .x_signed = product_is_signed(c->in[IN_X]),
                        .w_signed = product_is_signed(w),
                        .floats = a->y.floats,
                        .to = v->to };
    p.taps = v->group > 1 && v->cout <= LINES_OUTS && w->data && (!zero || zero->data);
    if (!p.taps && !places_pay(&p))
        return RILL_OK;
    v->places = arena_copy(c->arena, &p, sizeof p);
    return v->places ? places_prepare(c, v->places)
                     : op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

static rill_status depth_set(struct prep *c, struct conv_integer *v)
{
    const struct conv_integer_attr *a = c->attr;
    const struct depth d = {
        .g = v->g, .batch = v->batch, .channels = v->group, .floats = a->y.floats, .to = v->to
    };
    if (v->cin != 1 || v->cout != 1 || !depth_pays(c, &d))
        return RILL_OK;
    v->depth = arena_copy(c->arena, &d, sizeof d);
    return v->depth ? depth_prepare(c, v->depth)
                    : op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

/* In front, by SAME with strides longer than the kernel: gathered row by row. */
static bool cuts(const struct window3 *g)
{
    return g->before[0] < 0 || g->before[1] < 0 || g->before[2] < 0;
}

static rill_status conv_integer_prepare(struct prep *c)
{
    const struct conv_integer_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X], *w = c->in[IN_W];
    struct conv_integer *v = arena_new(c->arena, struct conv_integer);
    struct window window;
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    window_fix(&a->conv.w, SAME_CONV, &window, w->dim + 2, x, c->out[0]);
    window3_set(&v->g, &window, x, c->out[0]);
    v->batch = x->dim[0];
    v->group = a->conv.group;
    v->cin = x->dim[1] / a->conv.group;
    v->cout = w->dim[0] / a->conv.group;
    v->inside = inside(&v->g);
    v->pointwise = v->inside && v->g.n_kernel == 1 && v->g.n_in == v->g.n_out;
    c->args = v;
    c->kernel = "rows, gemm_q8";
    c->kern_uses |= KERN_USES_BYTES;
    if (!tensor_count(c->out[0]))
        return RILL_OK;
    TRY(product_scale_prepare(c, &a->y, v->cout * v->group, &v->to));
    TRY(epilogue_prepare(c, a->conv.epilogue, &v->epilogue));
    if (!cuts(&v->g))
        TRY(depth_set(c, v));
    if (!cuts(&v->g) && !v->depth)
        TRY(places_set(c, v));
    if (v->depth || v->places)
        return RILL_OK;
    TRY(product_prepare(c, v));
    c->kernel = v->in_place ? "gemm_q8" : c->kernel;
    c->scratch_bytes = tile_bytes(v) + product_weights_scratch(&v->w);
    return RILL_OK;
}

/* ---- as a product ---- */

/* One weight's column of the rows of n places of a row of outputs from place `at` on; i0, i1: where
 * its line is, outside: nowhere. */
static void column_gather(const struct conv_integer *v, uint8_t *to, const uint8_t *line,
                          int64_t at, int64_t n, uint8_t outside)
{
    const int64_t s = v->g.stride[2], k = (int64_t) v->w.form.k;
    int64_t p = 0;
    for (; p < n && at + p * s < 0; p++)
        to[p * k] = outside;
    for (; p < n && at + p * s < v->g.in[2]; p++)
        to[p * k] = line[at + p * s];
    for (; p < n; p++)
        to[p * k] = outside;
}

/* n bytes, 1 .. LONG_KERNEL. */
static inline void few_copy(uint8_t *to, const uint8_t *from, int64_t n)
{
    if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        to[0] = from[0];
        to[n / 2] = from[n / 2];
        to[n - 1] = from[n - 1];
    }
}

/* What n places of a row of outputs read of a line: the same part of every line, and nothing around
 * it. */
struct reach {
    uint8_t bytes[REACH];
    int64_t from, at, n; /* n bytes of a line from `from` on lie at `at` */
};

static int64_t reach_bytes(const struct conv_integer *v, int64_t n)
{
    return (n - 1) * v->g.stride[2] + v->g.kernel[2];
}

static void reach_set(struct reach *ret, const struct conv_integer *v, int64_t at, int64_t n,
                      uint8_t outside)
{
    const int64_t all = reach_bytes(v, n);
    int64_t end = v->g.in[2] - at;
    memset(ret->bytes, outside, (size_t) all);
    end = end < all ? end : all;
    ret->at = at < 0 ? -at : 0;
    ret->n = end > ret->at ? end - ret->at : 0;
    ret->from = at > 0 && ret->n ? at : 0;
}

static inline void reach_read(struct reach *r, const uint8_t *line)
{
    if (r->n > LONG_KERNEL)
        memcpy(r->bytes + r->at, line + r->from, (size_t) r->n);
    else if (r->n)
        few_copy(r->bytes + r->at, line + r->from, r->n);
}

/* The rows of places as rows_gather_line makes them, of kernels of taps side by side. */
static void rows_gather_taps(const struct conv_integer *v, uint8_t *to, const uint8_t *x,
                             int64_t first, int64_t n, uint8_t outside)
{
    const struct window3 *g = &v->g;
    const int64_t from1 = first / g->out[2] % g->out[1] * g->stride[1] - g->before[1],
                  from0 = first / g->out[2] / g->out[1] * g->stride[0] - g->before[0],
                  taps = g->kernel[2], k = (int64_t) v->w.form.k;
    struct reach r, none;
    reach_set(&r, v, first % g->out[2] * g->stride[2] - g->before[2], n, outside);
    memset(none.bytes, outside, (size_t) reach_bytes(v, n));
    for (int64_t ch = 0; ch < v->cin; ch++, x += g->n_in)
        for (int64_t k0 = 0; k0 < g->kernel[0]; k0++)
            for (int64_t k1 = 0; k1 < g->kernel[1]; k1++, to += taps) {
                const int64_t i0 = from0 + k0 * g->dilation[0], i1 = from1 + k1 * g->dilation[1];
                const bool is = i0 >= 0 && i0 < g->in[0] && i1 >= 0 && i1 < g->in[1];
                const uint8_t *at = is ? r.bytes : none.bytes;
                if (is)
                    reach_read(&r, x + (i0 * g->in[1] + i1) * g->in[2]);
                for (int64_t p = 0; p < n; p++, at += g->stride[2])
                    few_copy(to + p * k, at, taps);
            }
}

/* The rows of places first .. first+n-1, all in one row of outputs. */
static void rows_gather_line(const struct conv_integer *v, uint8_t *to, const uint8_t *x,
                             int64_t first, int64_t n, uint8_t outside)
{
    const struct window3 *g = &v->g;
    const int64_t o2 = first % g->out[2], o1 = first / g->out[2] % g->out[1],
                  o0 = first / g->out[2] / g->out[1];
    for (int64_t ch = 0; ch < v->cin; ch++, x += g->n_in)
        for (int64_t k0 = 0; k0 < g->kernel[0]; k0++)
            for (int64_t k1 = 0; k1 < g->kernel[1]; k1++) {
                int64_t i0 = o0 * g->stride[0] - g->before[0] + k0 * g->dilation[0],
                        i1 = o1 * g->stride[1] - g->before[1] + k1 * g->dilation[1];
                bool none = i0 < 0 || i0 >= g->in[0] || i1 < 0 || i1 >= g->in[1];
                const uint8_t *line = none ? NULL : x + (i0 * g->in[1] + i1) * g->in[2];
                int64_t at = none ? g->in[2] : o2 * g->stride[2] - g->before[2];
                for (int64_t k2 = 0; k2 < g->kernel[2]; k2++, to++)
                    column_gather(v, to, line, none ? at : at + k2 * g->dilation[2], n, outside);
            }
}

/* n bytes of a line from `at` on, which may lie before it. */
static void line_copy(uint8_t *to, const uint8_t *line, int64_t length, int64_t at, int64_t n,
                      uint8_t outside)
{
    int64_t before = at < 0 ? -at : 0, end = length - at;
    before = before < n ? before : n;
    end = end < before ? before : end < n ? end : n;
    memset(to, outside, (size_t) before);
    if (end > before)
        memcpy(to + before, line + at + before, (size_t) (end - before));
    memset(to + end, outside, (size_t) (n - end));
}

/* The row of one place. */
static void row_gather(const struct conv_integer *v, uint8_t *to, const uint8_t *x, int64_t place,
                       uint8_t outside)
{
    const struct window3 *g = &v->g;
    const int64_t from2 = place % g->out[2] * g->stride[2] - g->before[2],
                  from1 = place / g->out[2] % g->out[1] * g->stride[1] - g->before[1],
                  from0 = place / g->out[2] / g->out[1] * g->stride[0] - g->before[0];
    for (int64_t ch = 0; ch < v->cin; ch++, x += g->n_in)
        for (int64_t k0 = 0; k0 < g->kernel[0]; k0++)
            for (int64_t k1 = 0; k1 < g->kernel[1]; k1++) {
                int64_t i0 = from0 + k0 * g->dilation[0], i1 = from1 + k1 * g->dilation[1],
                        i2 = from2;
                const bool is = i0 >= 0 && i0 < g->in[0] && i1 >= 0 && i1 < g->in[1];
                const uint8_t *line = is ? x + (i0 * g->in[1] + i1) * g->in[2] : x;
                if (g->kernel[2] >= LONG_KERNEL && g->dilation[2] == 1) {
                    line_copy(to, line, is ? g->in[2] : 0, is ? i2 : 0, g->kernel[2], outside);
                    to += g->kernel[2];
                    continue;
                }
                for (int64_t k2 = 0; k2 < g->kernel[2]; k2++, i2 += g->dilation[2])
                    *to++ = is && i2 >= 0 && i2 < g->in[2] ? line[i2] : outside;
            }
}

static void rows_gather(const struct conv_integer *v, uint8_t *to, const uint8_t *x, int64_t first,
                        int64_t n, uint8_t outside)
{
    if (v->pointwise) {
        kern_bytes_turn(to, v->w.form.k, x + first, (size_t) v->g.n_in, v->w.form.k, (size_t) n);
        return;
    }

    const bool copies = v->g.kernel[2] >= LONG_KERNEL && v->g.dilation[2] == 1,
               taps = v->g.kernel[2] > 1 && v->g.kernel[2] < LONG_KERNEL && v->g.dilation[2] == 1;
    for (int64_t done = 0, some; done < n; done += some) {
        int64_t left = v->g.out[2] - (first + done) % v->g.out[2];
        uint8_t *row = to + done * (int64_t) v->w.form.k;
        some = n - done < left ? n - done : left;
        if (taps && reach_bytes(v, some) <= REACH) {
            rows_gather_taps(v, row, x, first + done, some, outside);
            continue;
        }
        if (some >= FEW_PLACES && !copies) {
            rows_gather_line(v, row, x, first + done, some, outside);
            continue;
        }
        some = 1;
        row_gather(v, row, x, first + done, outside);
    }
}

/* Sums of n places from the first one in y on to bytes of each channel. */
static void rows_to_bytes(const struct eval *e, const struct conv_integer *v, uint8_t *y,
                          int32_t *rows, int64_t group, int64_t n)
{
    struct kern_scale to = v->to;
    to.by += group * v->cout;
    to.add += to.add ? group * v->cout : 0;
    to.bias += to.bias ? group * v->cout : 0;
    product_bytes_put(e->kern, &to, y, rows, n, v->cout, v->g.n_out);
}

/* Behind the rows in scratch. */
static int32_t *sums_of(const struct conv_integer *v, void *scratch)
{
    return (int32_t *) (void *) ((char *) scratch + whole_lines((size_t) v->tile * v->w.form.k));
}

static struct kern_q8 weights_open(const struct eval *e, const struct conv_integer *v,
                                   const char *packed)
{
    struct kern_q8 w = kern_q8_open(packed, v->w.form.n, v->w.form.k);
    w.floats = ((const struct conv_integer_attr *) e->attr)->y.floats;
    return w;
}

/* One group of one image. */
static void group_eval(const struct eval *e, const struct conv_integer *v, const char *packed,
                       const uint8_t *x, void *y, int64_t group, int32_t zero)
{
    const size_t n = v->w.form.n, k = v->w.form.k;
    const struct kern_q8 w = weights_open(e, v, packed);
    const struct kern_q8_x how = { .is_signed = product_is_signed(e->in[IN_X]), .zero = &zero };
    uint8_t *rows = e->scratch;
    int32_t *sums = sums_of(v, rows);
    for (int64_t first = 0; first < v->g.n_out; first += v->tile) {
        int64_t some = v->g.n_out - first < v->tile ? v->g.n_out - first : v->tile;
        if (!v->in_place)
            rows_gather(v, rows, x, first, some, (uint8_t) zero);
        e->kern->gemm_q8(v->g.n_out == 1 && !v->to.by ? y : sums, n, v->in_place ? x : rows, k, &w,
                         &how, (size_t) some);
        if (v->to.by)
            rows_to_bytes(e, v, (uint8_t *) y + first, sums, group, some);
        else if (v->g.n_out > 1)
            product_sums_put(e->kern, (int32_t *) y + first, sums, some, v->cout, v->g.n_out);
    }
}

static void images_eval(const struct eval *e, const struct conv_integer *v, int32_t zero)
{
    const uint8_t *x = e->x[IN_X];
    char *y = e->y[0];
    const char *packed = product_weights_ready(e, &v->w, (char *) e->scratch + tile_bytes(v));
    for (int64_t i = 0; i < v->batch * v->group; i++) {
        group_eval(e, v, packed + (size_t) (i % v->group) * v->w.packed_bytes, x, y, i % v->group,
                   zero);
        x += v->cin * v->g.n_in;
        y += (size_t) (v->cout * v->g.n_out) * (v->to.by ? 1 : sizeof(int32_t));
    }
}

static int32_t zero_read(const struct eval *e)
{
    const bool has = e->n_in > IN_X_ZERO && e->x[IN_X_ZERO];
    return has ? (int32_t) tensor_get_i64(e->in[IN_X_ZERO], e->x[IN_X_ZERO], 0) : 0;
}

static void sums_finish(const struct eval *e, const struct conv_integer *v)
{
    int64_t channels = v->group * v->cout, image = channels * v->g.n_out;
    if (!((const struct conv_integer_attr *) e->attr)->y.floats)
        return;
    for (int64_t i = 0; i < v->batch; i++)
        epilogue_channels(&v->epilogue, e, (float *) e->y[0] + i * image, i, 0, channels);
}

static void conv_integer_eval(const struct eval *e)
{
    const struct conv_integer *v = e->args;
    if (!tensor_count(e->out[0]))
        return;
    if (v->depth)
        depth_eval(e, v->depth, zero_read(e));
    else if (v->places)
        places_eval(e, v->places, zero_read(e));
    else
        images_eval(e, v, zero_read(e));
    sums_finish(e, v);
}

/* One image, one group, one tile each. */
static void conv_integer_eval_many(const struct eval *e, unsigned n)
{
    const struct conv_integer *v = e->args;
    const int64_t places = v->g.n_out;
    struct product_rows r = { .kern = e->kern, .is_signed = product_is_signed(e->in[IN_X]) };
    r.w = weights_open(e, v, v->w.packed);
    for (unsigned i = 0; i < n; i++) {
        const int32_t zero = zero_read(&e[i]);
        uint8_t *rows = e[i].scratch;
        int32_t *sums = places == 1 ? e[i].y[0] : sums_of(v, rows);
        if (!v->in_place)
            rows_gather(v, rows, e[i].x[IN_X], 0, places, (uint8_t) zero);
        for (int64_t p = 0; p < places; p++)
            product_rows_add(&r, sums + p * v->cout,
                             v->in_place ? e[i].x[IN_X] : rows + p * (int64_t) r.w.k, zero);
    }
    product_rows_run(&r);
    for (unsigned i = 0; i < n; i++) {
        if (places > 1)
            product_sums_put(e->kern, e[i].y[0], sums_of(v, e[i].scratch), places, v->cout, places);
        sums_finish(&e[i], v);
    }
}

static const struct op op_conv_integer = {
    .id = OP_CONV_INTEGER,
    .name = "ConvInteger",
    .attrs = conv_integer_attrs,
    .attr_bytes = sizeof(struct conv_integer_attr),
    .min_in = 2,
    .max_in = 4,
    .own_in = EPILOGUE_IN_MAX,
    .epilogue_in = PRODUCT_EPILOGUE,
    .epilogue_at = offsetof(struct conv_integer_attr, conv.epilogue),
    .epilogue_axis = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = conv_integer_infer,
    .prepare = conv_integer_prepare,
    .eval = conv_integer_eval,
    .eval_many = conv_integer_eval_many,
    .help = "convolution of 8-bit numbers less their zeros, in i32",
};

const struct op *const ops_quant_conv[] = { &op_conv_integer, NULL };
