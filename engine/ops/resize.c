/* SPDX-License-Identifier: MIT */
/* Resize: every output place is a place between input elements. The taps of each axis (indices and
 * weights) are worked out once in prepare; eval sums their products. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"

#include <math.h>
#include <string.h>

enum ratio_policy { RATIO_STRETCH, RATIO_NOT_LARGER, RATIO_NOT_SMALLER };

static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
static const char *const coord_modes[] = { "half_pixel",           "half_pixel_symmetric",
                                           "pytorch_half_pixel",   "align_corners",
                                           "asymmetric",           "tf_crop_and_resize",
                                           "tf_half_pixel_for_nn", NULL };
static const char *const near_modes[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil", NULL };
static const char *const policies[] = { "stretch", "not_larger", "not_smaller", NULL };

#define AT(member) offsetof(struct resize_attr, member)
static const struct attr_spec resize_attrs[] = {
    { .name = "mode", .kind = ATTR_CHOICE, .offset = AT(mode), .choices = modes },
    { .name = "coordinate_transformation_mode",
      .kind = ATTR_CHOICE,
      .offset = AT(coord),
      .choices = coord_modes },
    { .name = "nearest_mode", .kind = ATTR_CHOICE, .offset = AT(near), .choices = near_modes },
    { .name = "keep_aspect_ratio_policy",
      .kind = ATTR_CHOICE,
      .offset = AT(policy),
      .choices = policies },
    { .name = "antialias", .kind = ATTR_INT, .offset = AT(antialias) },
    { .name = "exclude_outside", .kind = ATTR_INT, .offset = AT(exclude_outside) },
    { .name = "cubic_coeff_a", .kind = ATTR_FLOAT, .offset = AT(cubic_a), .def_f = -0.75f },
    { .name = "extrapolation_value", .kind = ATTR_FLOAT, .offset = AT(outside) },
    { .name = "axes", .kind = ATTR_INTS, .offset = AT(axes) },
    { 0 },
};
#undef AT

enum { IN_X, IN_ROI, IN_SCALES, IN_SIZES };

/* ---- the output's shape ---- */

/* The axes that scales and sizes speak of: all, or those of the attribute. False if one is none of
 * x's. */
static bool resize_axes(const struct resize_attr *a, int rank, int *ret, int *ret_n)
{
    *ret_n = a->axes.n ? (int) a->axes.n : rank;
    if (*ret_n > RANK_MAX)
        return false;
    for (int i = 0; i < *ret_n; i++) {
        ret[i] = a->axes.n ? axis_normalise(a->axes.v[i], rank) : i;
        if (ret[i] < 0)
            return false;
    }
    return true;
}

static rill_status scaled(struct infer *c, const struct dim *n, double s, const struct dim **ret)
{
    bool whole = s == floor(s) && s >= 1 && s <= 1e6;
    if (!(s > 0) || s > 1e6)
        return infer_fail(c, "a scale is %g; wants more than 0 and at most 1e6", s);
    if (dim_is_const(n))
        *ret = dim_int(c->dims, (int64_t) floor((double) dim_value(n) * (double) (float) s));
    else if (whole)
        *ret = dim_mul_int(c->dims, n, (int64_t) s);
    else if (1 / s == floor(1 / s))
        *ret = dim_div_int(c->dims, n, (int64_t) (1 / s));
    else
        return infer_fail(
            c,
            "a scale of %g along a symbolic axis is not supported; whole ones and their "
            "inverses are",
            s);
    return RILL_OK;
}

static rill_status infer_scales(struct infer *c, const int *axes, int n)
{
    const struct tensor *v = c->in[IN_SCALES]->value;
    if (!v)
        return infer_fail(c, "its scales (input 2) are not known before running");
    if (tensor_count(v) != n || !dtype_is_float(v->type))
        return infer_fail(c, "has %lld scales for %d axes", (long long) tensor_count(v), n);
    for (int i = 0; i < n; i++)
        TRY(scaled(c, c->out[0].shape[axes[i]], tensor_get_f64(v, v->data, i),
                   &c->out[0].shape[axes[i]]));
    return RILL_OK;
}

/* Sizes that keep the ratio of the axes: one scale for all. */
static rill_status infer_ratio(struct infer *c, int policy, const int *axes, int n)
{
    double best = 0;
    for (int i = 0; i < n; i++) {
        const struct dim *want = c->out[0].shape[axes[i]], *have = c->in[IN_X]->shape[axes[i]];
        if (!dim_is_const(want) || !dim_is_const(have) || dim_value(have) < 1)
            return infer_fail(c, "keep_aspect_ratio_policy wants axes of known size");
        double s = (double) dim_value(want) / (double) dim_value(have);
        best = i == 0 || (policy == RATIO_NOT_LARGER ? s < best : s > best) ? s : best;
    }
    for (int i = 0; i < n; i++)
        c->out[0].shape[axes[i]] =
            dim_int(c->dims,
                    (int64_t) floor(best * (double) dim_value(c->in[IN_X]->shape[axes[i]]) + 0.5));
    return RILL_OK;
}

static rill_status infer_sizes(struct infer *c, const int *axes, int n)
{
    const struct dim *sizes[RANK_MAX];
    unsigned n_sizes;
    TRY(infer_dims(c, IN_SIZES, sizes, RANK_MAX, &n_sizes));
    if ((int) n_sizes != n)
        return infer_fail(c, "has %u sizes for %d axes", n_sizes, n);
    for (int i = 0; i < n; i++)
        c->out[0].shape[axes[i]] = sizes[i];
    int policy = ((const struct resize_attr *) c->attr)->policy;
    return policy ? infer_ratio(c, policy, axes, n) : RILL_OK;
}

static bool is_given(const struct infer *c, unsigned i)
{
    return infer_has(c, i) && !(c->in[i]->rank == 1 && dim_is(c->in[i]->shape[0], 0));
}

static rill_status resize_infer(struct infer *c)
{
    const struct resize_attr *a = c->attr;
    int axes[RANK_MAX], n;
    if (a->antialias)
        return infer_fail(c, "antialias=1 is not supported; filter before resizing");
    if (c->in[IN_X]->type == DTYPE_DIM)
        return infer_fail(c, "symbolic sizes cannot be resized");
    if (!resize_axes(a, c->in[IN_X]->rank, axes, &n))
        return infer_fail(c, "its axes are none of rank %d", c->in[IN_X]->rank);
    if (is_given(c, IN_SCALES) == is_given(c, IN_SIZES))
        return infer_fail(c, "wants scales (input 2) or sizes (input 3), and not both");
    if (a->coord == COORD_CROP && !is_given(c, IN_ROI))
        return infer_fail(c, "tf_crop_and_resize wants a region (input 1)");
    infer_same(c, 0, IN_X);
    TRY(is_given(c, IN_SCALES) ? infer_scales(c, axes, n) : infer_sizes(c, axes, n));
    for (int i = 0; i < c->out[0].rank; i++)
        if (dim_is_const(c->out[0].shape[i]) &&
            (dim_value(c->out[0].shape[i]) < 0 ||
             (dim_is(c->in[IN_X]->shape[i], 0) && !dim_is(c->out[0].shape[i], 0))))
            return infer_fail(c, "axis %d cannot become %lld long", i,
                              (long long) dim_value(c->out[0].shape[i]));
    return RILL_OK;
}

/* ---- taps ---- */

#define TAPS_MAX 4

struct tap_row {
    int64_t at[TAPS_MAX]; /* element along the axis */
    double weight[TAPS_MAX];
    bool outside; /* of a cropped region: the output is the extrapolation value */
};

struct resize_axis {
    int taps;            /* 1, 2 or 4 */
    struct tap_row *row; /* one per output place */
};

struct resize_args {
    struct resize_axis axis[RANK_MAX];
};

struct axis_map {
    const struct resize_attr *attr;
    int64_t in, out;
    double scale, start, end; /* start, end: of the region, as parts of the axis */
};

static double symmetric_half(const struct axis_map *m, double x)
{
    double whole = m->scale * (double) m->in, centre = (double) m->in / 2;
    double adjust = (double) m->out / whole;
    return centre * (1 - adjust) + (x + 0.5) / m->scale - 0.5;
}

/* Where output place x lies among the input's elements. */
static double coordinate(const struct axis_map *m, double x)
{
    double last = (double) (m->in - 1),
           whole = m->scale * (double) m->in; /* length before rounding */
    switch ((enum coord_mode) m->attr->coord) {
    case COORD_HALF_PIXEL_SYMMETRIC: return symmetric_half(m, x);
    case COORD_PYTORCH: return m->out > 1 ? (x + 0.5) / m->scale - 0.5 : 0;
    case COORD_ALIGN_CORNERS: return m->out > 1 && whole > 1 ? x * last / (whole - 1) : 0;
    case COORD_ASYMMETRIC: return x / m->scale;
    case COORD_TF_NEAREST: return (x + 0.5) / m->scale;
    case COORD_CROP:
        return m->out > 1 && whole > 1
            ? m->start * last + x * (m->end - m->start) * last / (whole - 1)
            : 0.5 * (m->start + m->end) * last;
    default: return (x + 0.5) / m->scale - 0.5;
    }
}

static int64_t clamp(double v, int64_t n)
{
    return !(v > 0) ? 0 : v >= (double) n ? n - 1 : (int64_t) v;
}

static double nearest(enum near_mode mode, double x)
{
    double low = floor(x);
    bool middle = x - low == 0.5;
    switch (mode) {
    case NEAR_FLOOR: return low;
    case NEAR_CEIL: return ceil(x);
    case NEAR_PREFER_CEIL: return floor(x + 0.5);
    default: return middle ? low : floor(x + 0.5);
    }
}

static void cubic_weights(double t, double a, double *w)
{
    double d[4] = { 1 + t, t, 1 - t, 2 - t };
    for (int i = 0; i < 4; i++) {
        double x = d[i];
        bool inner = i == 1 || i == 2;
        w[i] =
            inner ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    }
}

static void row_make(const struct axis_map *m, int64_t i, int taps, struct tap_row *r)
{
    double x = coordinate(m, (double) i), low = floor(x), sum = 0;
    r->outside = m->attr->coord == COORD_CROP && (x < 0 || x > (double) (m->in - 1));
    if (taps == 1) {
        r->at[0] = clamp(nearest((enum near_mode) m->attr->near, x), m->in);
        r->weight[0] = 1;
        return;
    }
    if (taps == 4)
        cubic_weights(x - low, (double) m->attr->cubic_a, r->weight);
    else
        r->weight[1] = x - low, r->weight[0] = 1 - r->weight[1];
    for (int k = 0; k < taps; k++) {
        double at = low + k - (taps == 4);
        if (m->attr->exclude_outside && taps == 4 && (at < 0 || at > (double) (m->in - 1)))
            r->weight[k] = 0;
        r->at[k] = clamp(at, m->in);
        sum += r->weight[k];
    }
    for (int k = 0; k < taps && m->attr->exclude_outside && sum != 0; k++)
        r->weight[k] /= sum;
}

static rill_status axis_make(struct prep *c, const struct axis_map *m, bool same,
                             struct resize_axis *ret)
{
    static const int taps[] = { 1, 2, 4 };
    ret->taps = same ? 1 : taps[m->attr->mode];
    ret->row = arena_array(c->arena, struct tap_row, (size_t) m->out + 1);
    if (!ret->row)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; i < m->out; i++) {
        if (same)
            ret->row[i] = (struct tap_row) { .at = { i }, .weight = { 1 } };
        else
            row_make(m, i, ret->taps, &ret->row[i]);
    }
    return RILL_OK;
}

static const struct tensor *given(const struct prep *c, unsigned i)
{
    return i < c->n_in && c->in[i] && tensor_count(c->in[i]) ? c->in[i] : NULL;
}

static rill_status resize_prepare(struct prep *c)
{
    const struct resize_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X], *y = c->out[0], *scales = given(c, IN_SCALES),
                        *roi = given(c, IN_ROI);
    struct resize_args *args = arena_new(c->arena, struct resize_args);
    int axes[RANK_MAX], n;
    if (!args)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    resize_axes(a, x->rank, axes, &n);
    if ((scales && !scales->data) ||
        (a->coord == COORD_CROP && (!roi || !roi->data || tensor_count(roi) != 2 * n)))
        return prep_fail(
            c, "its scales and region must be constants, two numbers of a region for each axis");
    for (int i = 0; i < x->rank; i++) {
        struct axis_map m = { .attr = a, .in = x->dim[i], .out = y->dim[i], .end = 1 };
        m.scale = m.in ? (double) m.out / (double) m.in : 1;
        for (int k = 0; k < n; k++) {
            if (axes[k] != i)
                continue;
            m.scale = scales ? tensor_get_f64(scales, scales->data, k) : m.scale;
            m.start = a->coord == COORD_CROP ? tensor_get_f64(roi, roi->data, k) : 0;
            m.end = a->coord == COORD_CROP ? tensor_get_f64(roi, roi->data, n + k) : 1;
        }
        bool same = m.in == m.out && m.scale == 1 && m.start == 0 && m.end == 1;
        TRY(axis_make(c, &m, same, &args->axis[i]));
    }
    c->args = args;
    return RILL_OK;
}

/* ---- eval ---- */

struct walk {
    const struct tensor *x;
    const void *data;
    const struct tap_row *row[RANK_MAX];
    int taps[RANK_MAX];
    int64_t stride[RANK_MAX];
};

static double sum_taps(const struct walk *w, int axis, int64_t at)
{
    if (axis == w->x->rank)
        return w->x->type == DTYPE_F32 ? (double) ((const float *) w->data)[at]
                                       : tensor_get_f64(w->x, w->data, at);
    const struct tap_row *r = w->row[axis];
    if (w->taps[axis] == 1)
        return sum_taps(w, axis + 1, at + r->at[0] * w->stride[axis]);
    double sum = 0;
    for (int k = 0; k < w->taps[axis]; k++)
        sum += r->weight[k] * sum_taps(w, axis + 1, at + r->at[k] * w->stride[axis]);
    return sum;
}

static void resize_eval(const struct eval *e)
{
    const struct resize_args *a = e->args;
    const struct tensor *y = e->out[0];
    struct walk w = { .x = e->in[IN_X], .data = e->x[IN_X] };
    int64_t strides[RANK_MAX], n = tensor_count(y);
    double outside = (double) ((const struct resize_attr *) e->attr)->outside;
    tensor_strides(w.x, w.stride);
    tensor_strides(y, strides);
    for (int i = 0; i < y->rank; i++)
        w.taps[i] = a->axis[i].taps;
    for (int64_t i = 0; i < n; i++) {
        bool out = false;
        for (int64_t k = 0, rest = i; k < y->rank; rest %= strides[k], k++) {
            w.row[k] = &a->axis[k].row[rest / strides[k]];
            out |= w.row[k]->outside;
        }
        tensor_set_f64(y, e->y[0], i, out ? outside : sum_taps(&w, 0, 0));
    }
}

static const struct op op_resize = {
    .id = OP_RESIZE,
    .name = "Resize",
    .attrs = resize_attrs,
    .attr_bytes = sizeof(struct resize_attr),
    .min_in = 1,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .infer = resize_infer,
    .prepare = resize_prepare,
    .eval = resize_eval,
    .help = "axes stretched by scales or to sizes: nearest, linear or cubic",
};

const struct op *const ops_resize[] = { &op_resize, NULL };
