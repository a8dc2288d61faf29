/* SPDX-License-Identifier: MIT */
/* Normalisations. Means and variances are sums in a fixed order, blocks of them in f32: the same on
 * every machine. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/view.h"
#include "engine/ops/slices.h"

#include <math.h>
#include <string.h>

static rill_status f32_check(struct infer *c, int min_rank)
{
    if (c->in[0]->type != DTYPE_F32 || c->in[0]->rank < min_rank)
        return infer_fail(c, "wants f32 of rank %d or more, has %s of rank %d", min_rank,
                          dtype_name(c->in[0]->type), c->in[0]->rank);
    return RILL_OK;
}

/* Inputs first..last are f32 vectors of one entry per channel. */
static rill_status channels_check(struct infer *c, unsigned first, unsigned last)
{
    const struct dim *ch = c->in[0]->shape[1];
    for (unsigned i = first; i <= last; i++)
        if (!infer_has(c, i) || c->in[i]->type != DTYPE_F32 || c->in[i]->rank != 1 ||
            (c->in[i]->shape[0] != ch && dim_is_const(ch) && dim_is_const(c->in[i]->shape[0])))
            return infer_fail(c, "input %u must be an f32 vector with one entry per channel", i);
    return RILL_OK;
}

static int64_t inner_size(const struct tensor *t, int from)
{
    int64_t n = 1;
    for (int i = from; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

/* ---- BatchNormalization, inference ---- */

static const struct attr_spec batch_attrs[] = {
    { .name = "epsilon",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct batch_attr, epsilon),
      .def_f = 1e-5f },
    { .name = "momentum",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct batch_attr, momentum),
      .def_f = 0.9f },
    { .name = "training_mode", .kind = ATTR_INT, .offset = offsetof(struct batch_attr, training) },
    { 0 },
};

static rill_status batch_infer(struct infer *c)
{
    TRY(f32_check(c, 2));
    if (((const struct batch_attr *) c->attr)->training)
        return infer_fail(c, "training_mode = 1 is not supported; export the model for inference");
    TRY(channels_check(c, 1, 4));
    infer_same(c, 0, 0);
    return RILL_OK;
}

void batch_numbers(float eps, int64_t n, const float *g, const float *b, const float *m,
                   const float *v, float *ret)
{
    for (int64_t i = 0; i < n; i++) {
        double s = (double) g[i] / sqrt((double) v[i] + (double) eps);
        ret[i] = (float) s;
        ret[n + i] = (float) ((double) b[i] - (double) m[i] * s);
    }
}

/* Channels of fewer elements are normalised all at once, by a table of as many numbers, which stays
 * in the first cache. */
#define CHANNEL_FEW 64
#define TABLE_FLOATS 4096

struct batch_args {
    const float *numbers; /* of each channel; NULL: inputs have them */
    const float *each;    /* of each element of an item; NULL: channels one by one */
};

static const float *batch_each(struct arena *a, const float *s, int64_t ch, int64_t inner)
{
    float *each = arena_alloc_array(a, (size_t) (2 * ch * inner) + 1, sizeof *each);
    for (int64_t i = 0; each && i < 2 * ch * inner; i++)
        each[i] = s[i / inner];
    return each;
}

static rill_status batch_prepare(struct prep *c)
{
    const struct batch_attr *a = c->attr;
    struct batch_args *args = arena_new(c->arena, struct batch_args);
    const int64_t n = c->in[0]->dim[1], inner = inner_size(c->in[0], 2);
    c->scratch_bytes = (size_t) n * 2 * sizeof(float);
    c->kernel = "muls_f32, adds_f32";
    c->args = args;
    for (unsigned i = 1; i <= 4; i++)
        if (!c->in[i]->data)
            return args ? RILL_OK : op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    float *s = arena_alloc_array(c->arena, (size_t) n * 2 + 1, sizeof *s);
    if (!args || !s)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    batch_numbers(a->epsilon, n, c->in[1]->data, c->in[2]->data, c->in[3]->data, c->in[4]->data, s);
    args->numbers = s;
    if (inner >= CHANNEL_FEW || 2 * n * inner > TABLE_FLOATS)
        return RILL_OK;
    args->each = batch_each(c->arena, s, n, inner);
    c->kernel = "mul_f32, add_f32";
    return args->each ? RILL_OK : op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

static void batch_each_eval(const struct eval *e, const float *each)
{
    const struct tensor *x = e->in[0];
    const size_t n = (size_t) (x->dim[1] * inner_size(x, 2));
    const float *from = e->x[0];
    float *to = e->y[0];
    for (int64_t i = 0; i < x->dim[0]; i++, from += n, to += n) {
        e->kern->mul_f32(to, from, each, n);
        e->kern->add_f32(to, to, each + n, n);
    }
}

static void batch_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0];
    int64_t ch = x->dim[1], inner = inner_size(x, 2);
    const struct batch_args *args = e->args;
    const float *s = args->numbers, *from = e->x[0];
    float *to = e->y[0];
    if (args->each) {
        batch_each_eval(e, args->each);
        return;
    }
    if (!s) {
        batch_numbers(((const struct batch_attr *) e->attr)->epsilon, ch, e->x[1], e->x[2], e->x[3],
                      e->x[4], e->scratch);
        s = e->scratch;
    }
    for (int64_t n = 0; n < x->dim[0]; n++)
        for (int64_t k = 0; k < ch; k++, from += inner, to += inner) {
            e->kern->muls_f32(to, from, s[k], (size_t) inner);
            e->kern->adds_f32(to, to, s[ch + k], (size_t) inner);
        }
}

/* ---- LayerNormalization ---- */

struct layer_attr {
    struct axis_attr on;
    int64_t stash;
    float epsilon;
};

static const struct attr_spec layer_attrs[] = {
    { .name = "axis",
      .kind = ATTR_INT,
      .offset = offsetof(struct layer_attr, on.axis),
      .def_i = -1 },
    { .name = "epsilon",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct layer_attr, epsilon),
      .def_f = 1e-5f },
    { .name = "stash_type",
      .kind = ATTR_INT,
      .offset = offsetof(struct layer_attr, stash),
      .def_i = 1 },
    { 0 },
};

static rill_status layer_infer(struct infer *c)
{
    const struct layer_attr *a = c->attr;
    TRY(f32_check(c, 1));
    const struct fact *x = c->in[0];
    int axis = axis_normalise(a->on.axis, x->rank);
    if (axis < 0)
        return infer_fail(c, "axis %lld is not one of rank %d", (long long) a->on.axis, x->rank);
    for (unsigned i = 1; i <= 2; i++) {
        if (!infer_has(c, i))
            continue;
        const struct fact *f = c->in[i];
        bool fits = f->type == DTYPE_F32 && f->rank == x->rank - axis;
        for (int k = 0; fits && k < f->rank; k++)
            fits = f->shape[k] == x->shape[axis + k] || !dim_is_const(x->shape[axis + k]);
        if (!fits)
            return infer_fail(c, "input %u must be f32 with the shape of axes %d and on", i, axis);
    }
    for (unsigned o = 0; o < c->n_out; o++) {
        infer_same(c, o, 0);
        for (int i = axis; o && i < x->rank; i++)
            c->out[o].shape[i] = dim_int(c->dims, 1);
    }
    return RILL_OK;
}

static rill_status layer_prepare(struct prep *c)
{
    c->kernel = "norm_f32";
    return RILL_OK;
}

static rill_status layer_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct layer_attr *a = c->attr;
    return slices_before(c, axis_normalise(a->on.axis, c->in[0]->rank), most, ret);
}

static void layer_eval(const struct eval *e)
{
    const struct layer_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    int axis = axis_normalise(a->on.axis, x->rank);
    int64_t n = inner_size(x, axis), rows = n ? tensor_count(x) / n : 0;
    const float *gain = e->n_in > 1 ? e->x[1] : NULL, *shift = e->n_in > 2 ? e->x[2] : NULL;
    const float *from = e->x[0];
    float *to = e->y[0], moments[KERN_NORM_ROWS][2];
    for (int64_t r = 0, some; r < rows; r += some, from += some * n, to += to ? some * n : 0) {
        const bool many = rows - r >= KERN_NORM_ROWS;
        some = many ? KERN_NORM_ROWS : 1;
        if (many)
            e->kern->norm_rows_f32(to, from, gain, shift, a->epsilon, (size_t) n, moments);
        else
            e->kern->norm_f32(to, from, gain, shift, a->epsilon, (size_t) n, moments[0]);
        for (unsigned o = 1; o < e->n_out; o++)
            for (int64_t i = 0; e->y[o] && i < some; i++)
                ((float *) e->y[o])[r + i] = moments[i][o - 1];
    }
}

/* ---- RMSNormalization ---- */

/* The gain broadcasts to the axes that are normalised. */
static rill_status rms_infer(struct infer *c)
{
    const struct layer_attr *a = c->attr;
    TRY(f32_check(c, 1));
    const struct fact *x = c->in[0], *gain = c->in[1];
    int axis = axis_normalise(a->on.axis, x->rank);
    if (axis < 0)
        return infer_fail(c, "axis %lld is not one of rank %d", (long long) a->on.axis, x->rank);
    bool fits = gain->type == DTYPE_F32 && gain->rank <= x->rank - axis;
    for (int k = 0; fits && k < gain->rank; k++) {
        const struct dim *d = gain->shape[k], *of = x->shape[x->rank - gain->rank + k];
        fits = d == of || !dim_is_const(of) || dim_is(d, 1);
    }
    if (!fits)
        return infer_fail(c, "input 1 must be f32 and broadcast to axes %d and on", axis);
    infer_same(c, 0, 0);
    return RILL_OK;
}

/* A gain of fewer elements than a row, laid out as one. */
static void gain_spread(struct view_copy *v, const struct tensor *x, int axis,
                        const struct tensor *gain)
{
    int64_t from[RANK_MAX] = { 0 }, to[RANK_MAX] = { 0 };
    int64_t step = 1, at = 1;
    for (int i = x->rank - 1, k = gain->rank - 1; i >= axis; i--, k--) {
        from[i - axis] = k < 0 || gain->dim[k] == 1 ? 0 : step;
        to[i - axis] = at;
        step *= k < 0 ? 1 : gain->dim[k];
        at *= x->dim[i];
    }
    view_copy_init(v, x->rank - axis, x->dim + axis, from, to, sizeof(float));
}

/* Where the gain has fewer elements than a row, a row of it is made. */
static rill_status rms_prepare(struct prep *c)
{
    const struct layer_attr *a = c->attr;
    const struct tensor *x = c->in[0];
    int axis = axis_normalise(a->on.axis, x->rank);
    struct view_copy *v = arena_new(c->arena, struct view_copy);
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (tensor_count(c->in[1]) != inner_size(x, axis)) {
        gain_spread(v, x, axis, c->in[1]);
        c->args = v;
        c->scratch_bytes = (size_t) inner_size(x, axis) * sizeof(float);
    }
    c->kernel = "rms_f32";
    return RILL_OK;
}

static void rms_eval(const struct eval *e)
{
    const struct layer_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    int64_t n = inner_size(x, axis_normalise(a->on.axis, x->rank)),
            rows = n ? tensor_count(x) / n : 0;
    const float *gain = e->x[1];
    if (e->args) {
        view_copy_run(e->args, e->scratch, e->x[1]);
        gain = e->scratch;
    }
    for (int64_t r = 0; r < rows; r++)
        e->kern->rms_f32((float *) e->y[0] + r * n, (const float *) e->x[0] + r * n, gain,
                         a->epsilon, (size_t) n);
}

/* ---- InstanceNormalization, GroupNormalization ---- */

struct group_attr {
    float epsilon;
    int64_t groups, stash;
};

static const struct attr_spec instance_attrs[] = {
    { .name = "epsilon",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct group_attr, epsilon),
      .def_f = 1e-5f },
    { 0 },
};

static const struct attr_spec group_attrs[] = {
    { .name = "epsilon",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct group_attr, epsilon),
      .def_f = 1e-5f },
    { .name = "num_groups",
      .kind = ATTR_INT,
      .offset = offsetof(struct group_attr, groups),
      .required = true },
    { .name = "stash_type",
      .kind = ATTR_INT,
      .offset = offsetof(struct group_attr, stash),
      .def_i = 1 },
    { 0 },
};

static rill_status group_infer(struct infer *c)
{
    const struct group_attr *a = c->attr;
    TRY(f32_check(c, 2));
    TRY(channels_check(c, 1, 2));
    const bool grouped = node_is(c->node, OP_GROUP_NORMALIZATION);
    if (grouped &&
        (!dim_is_const(c->in[0]->shape[1]) || a->groups < 1 ||
         dim_value(c->in[0]->shape[1]) % a->groups))
        return infer_fail(c, "%lld groups do not divide the channels", (long long) a->groups);
    infer_same(c, 0, 0);
    return RILL_OK;
}

static void group_eval(const struct eval *e)
{
    const struct group_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    int64_t ch = x->dim[1], groups = a->groups ? a->groups : ch, per = groups ? ch / groups : 0,
            inner = inner_size(x, 2);
    const float *from = e->x[0], *g = e->x[1], *b = e->x[2];
    float *to = e->y[0];
    for (int64_t n = 0; n < x->dim[0] * groups; n++, from += per * inner) {
        float moments[2];
        e->kern->norm_f32(to, from, NULL, NULL, a->epsilon, (size_t) (per * inner), moments);
        for (int64_t k = n % groups * per, end = k + per; k < end; k++, to += inner) {
            e->kern->muls_f32(to, to, g[k], (size_t) inner);
            e->kern->adds_f32(to, to, b[k], (size_t) inner);
        }
    }
}

/* ---- LpNormalization, LRN ---- */

struct lp_attr {
    struct axis_attr on;
    int64_t p;
};

static const struct attr_spec lp_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct lp_attr, on.axis), .def_i = -1 },
    { .name = "p", .kind = ATTR_INT, .offset = offsetof(struct lp_attr, p), .def_i = 2 },
    { 0 },
};

static rill_status lp_infer(struct infer *c)
{
    const struct lp_attr *a = c->attr;
    TRY(f32_check(c, 1));
    if (axis_normalise(a->on.axis, c->in[0]->rank) < 0 || (a->p != 1 && a->p != 2))
        return infer_fail(c, "axis %lld, p = %lld; p must be 1 or 2", (long long) a->on.axis,
                          (long long) a->p);
    infer_same(c, 0, 0);
    return RILL_OK;
}

static void lp_eval(const struct eval *e)
{
    const struct lp_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    int axis = axis_normalise(a->on.axis, x->rank);
    int64_t n = x->dim[axis], inner = inner_size(x, axis + 1),
            outer = n && inner ? tensor_count(x) / (n * inner) : 0;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            const float *from = (const float *) e->x[0] + o * n * inner + i;
            float *to = (float *) e->y[0] + o * n * inner + i;
            double s = 0;
            for (int64_t k = 0; k < n; k++)
                s += a->p == 1 ? fabs((double) from[k * inner])
                               : (double) from[k * inner] * (double) from[k * inner];
            s = a->p == 1 ? s : sqrt(s);
            for (int64_t k = 0; k < n; k++)
                to[k * inner] = s > 0 ? (float) ((double) from[k * inner] / s) : 0;
        }
}

struct lrn_attr {
    float alpha, beta, bias;
    int64_t size;
};

static const struct attr_spec lrn_attrs[] = {
    { .name = "alpha",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct lrn_attr, alpha),
      .def_f = 1e-4f },
    { .name = "beta",
      .kind = ATTR_FLOAT,
      .offset = offsetof(struct lrn_attr, beta),
      .def_f = 0.75f },
    { .name = "bias", .kind = ATTR_FLOAT, .offset = offsetof(struct lrn_attr, bias), .def_f = 1 },
    { .name = "size",
      .kind = ATTR_INT,
      .offset = offsetof(struct lrn_attr, size),
      .required = true },
    { 0 },
};

static rill_status lrn_infer(struct infer *c)
{
    TRY(f32_check(c, 2));
    if (((const struct lrn_attr *) c->attr)->size < 1)
        return infer_fail(c, "size must be 1 or more");
    infer_same(c, 0, 0);
    return RILL_OK;
}

static void lrn_eval(const struct eval *e)
{
    const struct lrn_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    int64_t ch = x->dim[1], inner = inner_size(x, 2);
    for (int64_t n = 0; n < x->dim[0]; n++)
        for (int64_t k = 0; k < ch; k++)
            for (int64_t i = 0; i < inner; i++) {
                const float *base = (const float *) e->x[0] + n * ch * inner + i;
                int64_t lo = k - (a->size - 1) / 2, hi = k + a->size / 2;
                double s = 0;
                for (int64_t j = lo < 0 ? 0 : lo; j <= hi && j < ch; j++)
                    s += (double) base[j * inner] * (double) base[j * inner];
                ((float *) e->y[0])[(n * ch + k) * inner + i] =
                    (float) ((double) base[k * inner] /
                             pow((double) a->bias + (double) a->alpha / (double) a->size * s,
                                 (double) a->beta));
            }
}

/* ---- table ---- */

OP_ROW(batch, BATCH_NORMALIZATION, "BatchNormalization", batch_attrs, sizeof(struct batch_attr), 5,
       5, 1, batch_infer, batch_prepare, batch_eval,
       "scale and shift per channel, from stored statistics");
OP_ROW(layer, LAYER_NORMALIZATION, "LayerNormalization", layer_attrs, sizeof(struct layer_attr), 2,
       3, 3, layer_infer, layer_prepare, layer_eval,
       "zero mean and unit variance over the last axes", .divide = layer_divide);
OP_ROW(rms, RMS_NORMALIZATION, "RMSNormalization", layer_attrs, sizeof(struct layer_attr), 2, 2, 1,
       rms_infer, rms_prepare, rms_eval, "unit mean square over the last axes",
       .divide = layer_divide);
OP_ROW(instance, INSTANCE_NORMALIZATION, "InstanceNormalization", instance_attrs,
       sizeof(struct group_attr), 3, 3, 1, group_infer, NULL, group_eval,
       "zero mean and unit variance per channel");
OP_ROW(group, GROUP_NORMALIZATION, "GroupNormalization", group_attrs, sizeof(struct group_attr), 3,
       3, 1, group_infer, NULL, group_eval, "zero mean and unit variance per group of channels");
OP_ROW(lp, LP_NORMALIZATION, "LpNormalization", lp_attrs, sizeof(struct lp_attr), 1, 1, 1, lp_infer,
       NULL, lp_eval, "unit norm along an axis");
OP_ROW(lrn, LRN, "LRN", lrn_attrs, sizeof(struct lrn_attr), 1, 1, 1, lrn_infer, NULL, lrn_eval,
       "local response normalisation across channels");

const struct op *const ops_norm[] = { &op_batch, &op_layer, &op_rms, &op_instance,
                                      &op_group, &op_lp,    &op_lrn, NULL };
