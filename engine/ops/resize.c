/* SPDX-License-Identifier: MIT */
/* Resize: every output place is a place between input elements. The taps of each axis (indices and
 * weights) are worked out once in prepare; eval sums their products. */
#include "engine/ops/resize.h"
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
    { .name = "window_axis", .kind = ATTR_INT, .offset = AT(window_axis), .def_i = -1 },
    { .name = "window_up", .kind = ATTR_INT, .offset = AT(up) },
    { .name = "window_down", .kind = ATTR_INT, .offset = AT(down) },
    { .name = "window_first", .kind = ATTR_INT, .offset = AT(first) },
    { .name = "window_shift", .kind = ATTR_INT, .offset = AT(shift) },
    { 0 },
};
#undef AT

enum { IN_X, IN_ROI, IN_SCALES, IN_SIZES };

#define EXACT_MAX ((int64_t) 1 << 24)
#define PLACES_MAX ((int64_t) 1 << 36)

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

/* Products of lengths and scales are of floats in the standard: the ratio must give the same. */
#define RATIO_DEN_MAX 1024
#define RATIO_CHECKED 4096

bool resize_ratio(double scale, int64_t *ret_num, int64_t *ret_den)
{
    float s = (float) scale;
    if (!(scale > 0) || scale > 1e6)
        return false;
    for (int64_t den = 1; den <= RATIO_DEN_MAX; den++) {
        int64_t num = (int64_t) floor((double) s * (double) den + 0.5);
        if (num < 1 || (float) ((double) num / (double) den) != s)
            continue;
        for (int64_t k = 1; k <= RATIO_CHECKED; k++)
            if ((int64_t) floorf((float) (k * den) * s) != k * num)
                return false;
        *ret_num = num;
        *ret_den = den;
        return true;
    }
    return false;
}

static rill_status scaled(struct infer *c, const struct dim *n, double s, const struct dim **ret)
{
    int64_t num, den;
    bool ratio = resize_ratio(s, &num, &den);
    if (!(s > 0) || s > 1e6)
        return infer_fail(c, "a scale is %g; wants more than 0 and at most 1e6", s);
    if (ratio)
        *ret = dim_div_int(c->dims, dim_mul_int(c->dims, n, num), den);
    else if (dim_is_const(n))
        *ret = dim_int(c->dims, (int64_t) floorf((float) dim_value(n) * (float) s));
    else
        return infer_fail(c,
                          "a scale of %g along a symbolic axis is no ratio of small whole numbers; "
                          "such ratios are supported",
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

static double ratio_kept(int policy, double best, double s)
{
    return best == 0 || (policy == RATIO_NOT_LARGER ? s < best : s > best) ? s : best;
}

/* Sizes that keep the ratio of the axes: one scale for all. */
static rill_status infer_ratio(struct infer *c, int policy, const int *axes, int n)
{
    double best = 0;
    for (int i = 0; i < n; i++) {
        const struct dim *want = c->out[0].shape[axes[i]], *have = c->in[IN_X]->shape[axes[i]];
        if (!dim_is_const(want) || !dim_is_const(have) || dim_value(have) < 1)
            return infer_fail(c, "keep_aspect_ratio_policy wants axes of known size");
        if (dim_value(want) < 1)
            return infer_fail(c,
                              "keep_aspect_ratio_policy wants sizes of 1 and more, axis %d is %lld",
                              axes[i], (long long) dim_value(want));
        best = ratio_kept(policy, best, (double) dim_value(want) / (double) dim_value(have));
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

/* Attributes that only pulsing sets; a file may name any. */
static bool window_fits(const struct infer *c, const struct resize_attr *a)
{
    bool periodic = a->coord != COORD_ALIGN_CORNERS && a->coord != COORD_CROP;
    return a->window_axis == -1 ||
        (a->window_axis >= 0 && a->window_axis < c->in[IN_X]->rank && periodic &&
         !a->exclude_outside && a->up >= 1 && a->up <= EXACT_MAX && a->down >= 1 &&
         a->down <= EXACT_MAX && a->first <= PLACES_MAX / 2 && a->first >= -PLACES_MAX / 2 &&
         a->shift <= PLACES_MAX && a->shift >= -PLACES_MAX && is_given(c, IN_SIZES));
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
    if (!window_fits(c, a))
        return infer_fail(c, "has a window that is none");
    if (is_given(c, IN_SCALES) == is_given(c, IN_SIZES) && a->window_axis < 0)
        return infer_fail(c, "wants scales (input 2) or sizes (input 3), and not both");
    if (a->coord == COORD_CROP && !is_given(c, IN_ROI))
        return infer_fail(c, "tf_crop_and_resize wants a region (input 1)");
    infer_same(c, 0, IN_X);
    if (is_given(c, IN_SCALES))
        TRY(infer_scales(c, axes, n));
    if (is_given(c, IN_SIZES))
        TRY(infer_sizes(c, axes, n));
    for (int i = 0; i < c->out[0].rank; i++)
        if (dim_is_const(c->out[0].shape[i]) &&
            (dim_value(c->out[0].shape[i]) < 0 ||
             (dim_is(c->in[IN_X]->shape[i], 0) && !dim_is(c->out[0].shape[i], 0))))
            return infer_fail(c, "axis %d cannot become %lld long", i,
                              (long long) dim_value(c->out[0].shape[i]));
    return RILL_OK;
}

/* ---- taps ---- */

struct tap_row {
    struct resize_taps t;
    bool outside; /* of a cropped region: the output is the extrapolation value */
};

struct resize_axis {
    struct tap_row *row; /* one per output place */
    bool moves;          /* each of which is an element as it is */
};

struct resize_args {
    struct resize_axis axis[RANK_MAX];
    bool lines;   /* f32, nothing outside: lines of the last axis are worked out whole */
    bool bytes;   /* of 8 bits, nothing outside, and all of them moved */
    bool doubles; /* every element of a line comes twice */
};

static double symmetric_half(const struct resize_map *m, double x)
{
    double whole = m->scale * (double) m->in, centre = (double) m->in / 2;
    double adjust = (double) m->out / whole;
    return centre * (1 - adjust) + (x + 0.5) / m->scale - 0.5;
}

/* Where output place x lies among the input's elements. */
static double coordinate(const struct resize_map *m, double x)
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

/* The coordinate of output place i is floor and part; by whole numbers, and so the same in every
 * period, where scale and mode are a ratio and not the lengths decide. */
struct place {
    int64_t floor;
    double part;
};

static bool place_exact(const struct resize_map *m, int64_t i, struct place *ret)
{
    int coord = m->attr->coord;
    bool periodic = m->out < 0, single = coord == COORD_PYTORCH && m->out == 1,
         whole = periodic || (m->num && m->out % m->num == 0 && m->out / m->num * m->den == m->in);
    if (m->num < 1 || m->num > EXACT_MAX || m->den > EXACT_MAX || i > PLACES_MAX ||
        i < -PLACES_MAX || single || coord == COORD_ALIGN_CORNERS || coord == COORD_CROP ||
        (coord == COORD_HALF_PIXEL_SYMMETRIC && !whole))
        return false;
    int64_t below = 2 * m->num,
            above = coord == COORD_ASYMMETRIC ? 2 * i * m->den : (2 * i + 1) * m->den;
    above -= coord == COORD_ASYMMETRIC || coord == COORD_TF_NEAREST ? 0 : m->num;
    int64_t low = above / below - (above % below < 0);
    *ret = (struct place) { low, (double) (above - low * below) / (double) below };
    return true;
}

static struct place place_of(const struct resize_map *m, int64_t i)
{
    struct place p;
    if (place_exact(m, i, &p))
        return p;
    double x = coordinate(m, (double) i), low = floor(x);
    double bound = (double) PLACES_MAX;
    low = low > bound ? bound : low < -bound ? -bound : low;
    return (struct place) { (int64_t) low, x - low };
}

static int64_t nearest(enum near_mode mode, struct place p)
{
    switch (mode) {
    case NEAR_FLOOR: return p.floor;
    case NEAR_CEIL: return p.floor + (p.part > 0);
    case NEAR_PREFER_CEIL: return p.floor + (p.part >= 0.5);
    default: return p.floor + (p.part > 0.5);
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

void resize_taps_of(const struct resize_map *m, int64_t i, struct resize_taps *ret)
{
    static const int taps[] = { 1, 2, 4 };
    struct place p = place_of(m, i);
    *ret = (struct resize_taps) { .n = taps[m->attr->mode] };
    if (ret->n == 1) {
        ret->at[0] = nearest((enum near_mode) m->attr->near, p);
        ret->weight[0] = 1;
        return;
    }
    if (ret->n == 4)
        cubic_weights(p.part, (double) m->attr->cubic_a, ret->weight);
    else
        ret->weight[1] = p.part, ret->weight[0] = 1 - p.part;
    for (int k = 0; k < ret->n; k++)
        ret->at[k] = p.floor + k - (ret->n == 4);
}

static int64_t clamp(int64_t v, int64_t n)
{
    return v < 0 ? 0 : v >= n ? n - 1 : v;
}

/* Taps that weigh nothing are left out, so that they read nothing. */
static void taps_settle(struct resize_taps *t, int64_t n)
{
    int k = 0;
    for (int i = 0; i < t->n; i++) {
        if (t->weight[i] == 0 && t->n > 1)
            continue;
        t->at[k] = clamp(t->at[i], n);
        t->weight[k++] = t->weight[i];
    }
    t->n = k;
}

static void taps_exclude(struct resize_taps *t, int64_t n)
{
    double sum = 0;
    for (int k = 0; k < t->n; k++) {
        if (t->n == 4 && (t->at[k] < 0 || t->at[k] > n - 1))
            t->weight[k] = 0;
        sum += t->weight[k];
    }
    for (int k = 0; k < t->n && sum != 0; k++)
        t->weight[k] /= sum;
}

static void row_make(const struct resize_map *m, int64_t i, struct tap_row *r)
{
    double x = coordinate(m, (double) i);
    r->outside = m->attr->coord == COORD_CROP && (x < 0 || x > (double) (m->in - 1));
    resize_taps_of(m, i, &r->t);
    if (m->attr->exclude_outside)
        taps_exclude(&r->t, m->in);
    taps_settle(&r->t, m->in);
}

static void row_same(int64_t i, struct tap_row *r)
{
    *r = (struct tap_row) { .t = { .n = 1, .at = { i }, .weight = { 1 } } };
}

/* Of a window onto a stream: place i is frame first + i of the output, and frame k of the input
 * lies at k + shift. */
static void row_of_window(const struct resize_attr *a, const struct resize_map *m, int64_t i,
                          struct tap_row *r)
{
    const struct resize_map periodic = {
        .attr = a, .in = m->in, .out = -1, .num = a->up, .den = a->down
    };
    r->outside = false;
    resize_taps_of(&periodic, a->first + i, &r->t);
    for (int k = 0; k < r->t.n; k++)
        r->t.at[k] += a->shift;
    taps_settle(&r->t, m->in);
}

static bool tap_moves(const struct resize_taps *t)
{
    return t->n == 1 && t->weight[0] == 1;
}

static rill_status axis_make(struct prep *c, const struct resize_map *m, int axis,
                             struct resize_axis *ret)
{
    bool same = m->in == m->out && m->scale == 1 && m->start == 0 && m->end == 1;
    ret->row = arena_array(c->arena, struct tap_row, (size_t) m->out + 1);
    if (!ret->row)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    ret->moves = true;
    for (int64_t i = 0; i < m->out; i++) {
        if (axis == m->attr->window_axis)
            row_of_window(m->attr, m, i, &ret->row[i]);
        else if (same)
            row_same(i, &ret->row[i]);
        else
            row_make(m, i, &ret->row[i]);
        ret->moves = ret->moves && tap_moves(&ret->row[i].t);
    }
    return RILL_OK;
}

static int64_t common(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

void resize_map_scale(struct resize_map *m, double scale, bool given)
{
    m->num = m->den = 0;
    m->scale = given ? scale : m->in ? (double) m->out / (double) m->in : 1;
    if (given) {
        if (!resize_ratio(scale, &m->num, &m->den))
            m->num = m->den = 0;
    } else if (m->in > 0 && m->out > 0) {
        int64_t g = common(m->in, m->out);
        m->num = m->out / g;
        m->den = m->in / g;
    }
}

static const struct tensor *given(const struct prep *c, unsigned i)
{
    return i < c->n_in && c->in[i] && tensor_count(c->in[i]) ? c->in[i] : NULL;
}

/* The one axis but the last whose places lie between several elements; -1: none; -2: several. */
static int axis_between(const struct resize_args *a, int rank)
{
    int ret = -1;
    for (int i = 0; i + 1 < rank; i++)
        if (!a->axis[i].moves)
            ret = ret == -1 ? i : -2;
    return ret;
}

static bool none_outside(const struct tensor *y, const struct resize_args *a)
{
    bool fits = y->rank > 0;
    for (int i = 0; i < y->rank && fits; i++)
        for (int64_t o = 0; o < y->dim[i] && fits; o++)
            fits = !a->axis[i].row[o].outside;
    return fits;
}

static bool lines_fit(const struct tensor *y, const struct resize_args *a)
{
    return y->type == DTYPE_F32 && none_outside(y, a) && axis_between(a, y->rank) >= -1;
}

static bool bytes_fit(const struct tensor *y, const struct resize_args *a)
{
    return (y->type == DTYPE_U8 || y->type == DTYPE_I8) && none_outside(y, a) &&
        axis_between(a, y->rank) == -1 && a->axis[y->rank - 1].moves;
}

/* Every element of a line comes twice. */
static bool line_doubles(const struct resize_axis *last, int64_t n)
{
    bool ret = last->moves && n % 2 == 0;
    for (int64_t i = 0; i < n && ret; i++)
        ret = last->row[i].t.at[0] == i / 2;
    return ret;
}

/* The scale of all axes where their ratio is kept, by the sizes that are wanted; 0: each has its
 * own. */
static rill_status common_scale(struct prep *c, const int *axes, int n, double *ret)
{
    const int policy = ((const struct resize_attr *) c->attr)->policy;
    const struct tensor *sizes = given(c, IN_SIZES);
    *ret = 0;
    if (policy == RATIO_STRETCH || !sizes)
        return RILL_OK;
    if (!sizes->data)
        return prep_fail(c, "keep_aspect_ratio_policy wants sizes that are constants");
    for (int i = 0; i < n; i++)
        *ret = ratio_kept(policy, *ret,
                          (double) tensor_get_i64(sizes, sizes->data, i) /
                              (double) c->in[IN_X]->dim[axes[i]]);
    return RILL_OK;
}

static rill_status resize_prepare(struct prep *c)
{
    const struct resize_attr *a = c->attr;
    const struct tensor *x = c->in[IN_X], *y = c->out[0], *scales = given(c, IN_SCALES),
                        *roi = given(c, IN_ROI);
    struct resize_args *args = arena_new(c->arena, struct resize_args);
    double scale;
    int axes[RANK_MAX], n;
    if (!args)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    resize_axes(a, x->rank, axes, &n);
    TRY(common_scale(c, axes, n, &scale));
    if ((scales && !scales->data) ||
        (a->coord == COORD_CROP && (!roi || !roi->data || tensor_count(roi) != 2 * n)))
        return prep_fail(
            c, "its scales and region must be constants, two numbers of a region for each axis");
    for (int i = 0; i < x->rank; i++) {
        struct resize_map m = { .attr = a, .in = x->dim[i], .out = y->dim[i], .end = 1 };
        resize_map_scale(&m, 1, false);
        for (int k = 0; k < n; k++) {
            if (axes[k] != i)
                continue;
            if (scales)
                resize_map_scale(&m, tensor_get_f64(scales, scales->data, k), true);
            else if (scale > 0)
                resize_map_scale(&m, scale, true);
            m.start = a->coord == COORD_CROP ? tensor_get_f64(roi, roi->data, k) : 0;
            m.end = a->coord == COORD_CROP ? tensor_get_f64(roi, roi->data, n + k) : 1;
        }
        TRY(axis_make(c, &m, i, &args->axis[i]));
    }
    args->lines = lines_fit(y, args);
    args->bytes = bytes_fit(y, args);
    args->doubles = y->rank && line_doubles(&args->axis[y->rank - 1], y->dim[y->rank - 1]);
    c->scratch_bytes = args->lines ? TAPS_MAX * (size_t) y->dim[y->rank - 1] * sizeof(double) : 0;
    c->args = args;
    return RILL_OK;
}

/* ---- eval ---- */

struct walk {
    const struct tensor *x;
    const void *data;
    const struct tap_row *row[RANK_MAX];
    int64_t stride[RANK_MAX];
};

static double sum_taps(const struct walk *w, int axis, int64_t at)
{
    if (axis == w->x->rank)
        return w->x->type == DTYPE_F32 ? (double) ((const float *) w->data)[at]
                                       : tensor_get_f64(w->x, w->data, at);
    const struct resize_taps *r = &w->row[axis]->t;
    if (tap_moves(r))
        return sum_taps(w, axis + 1, at + r->at[0] * w->stride[axis]);
    double sum = 0;
    for (int k = 0; k < r->n; k++)
        sum += r->weight[k] * sum_taps(w, axis + 1, at + r->at[k] * w->stride[axis]);
    return sum;
}

/* ---- line by line: the same sums, places side by side ---- */

/* Lines of the input with the last axis worked out, and whose they are (-1: none). */
struct lines {
    const struct resize_axis *last;
    const float *x;
    double *made;
    int64_t n, at[TAPS_MAX];
};

static inline double taps_sum(const struct resize_taps *t, const float *x)
{
    double sum = 0;
    for (int k = 0; k < t->n; k++)
        sum += t->weight[k] * (double) x[t->at[k]];
    return sum;
}

static void line_make(const struct resize_axis *last, int64_t n, const float *x, double *to)
{
    for (int64_t i = 0; i < n; i++) {
        const struct resize_taps *t = &last->row[i].t;
        to[i] = tap_moves(t) ? (double) x[t->at[0]]
            : t->n == 2
            ? 0 + t->weight[0] * (double) x[t->at[0]] + t->weight[1] * (double) x[t->at[1]]
            : taps_sum(t, x);
    }
}

/* The lines that an output line lies between. */
struct between {
    const struct resize_taps *t;
    int64_t at, stride; /* where the first one starts, and from one to the next */
};

static bool line_wanted(const struct between *b, int64_t at)
{
    bool ret = false;
    for (int k = 0; k < b->t->n; k++)
        ret |= at == b->at + b->t->at[k] * b->stride;
    return ret;
}

/* Tap k's, worked out; what is there stays where it is as long as it is wanted. */
static const double *line_of(struct lines *l, const struct between *b, int k)
{
    const int64_t at = b->at + b->t->at[k] * b->stride;
    int64_t room = 0;
    for (int64_t i = 0; i < TAPS_MAX; i++)
        if (l->at[i] == at)
            return l->made + i * l->n;
    while (line_wanted(b, l->at[room]))
        room++;
    l->at[room] = at;
    line_make(l->last, l->n, l->x + at, l->made + room * l->n);
    return l->made + room * l->n;
}

static void line_sum(struct lines *l, float *restrict y, const struct between *b)
{
    const double *a[TAPS_MAX] = { NULL }, *w = b->t->weight;
    for (int k = 0; k < b->t->n; k++)
        a[k] = line_of(l, b, k);
    if (tap_moves(b->t))
        for (int64_t i = 0; i < l->n; i++)
            y[i] = (float) a[0][i];
    else if (b->t->n == 2)
        for (int64_t i = 0; i < l->n; i++)
            y[i] = (float) (0 + w[0] * a[0][i] + w[1] * a[1][i]);
    else
        for (int64_t i = 0; i < l->n; i++) {
            double sum = 0;
            for (int k = 0; k < b->t->n; k++)
                sum += w[k] * a[k][i];
            y[i] = (float) sum;
        }
}

/* A line whose elements are moved. */
static void line_move(const struct eval *e, const struct lines *l, float *y, const float *x)
{
    const struct resize_args *a = e->args;
    if (a->doubles)
        e->kern->weave_f32(y, x, x, (size_t) l->n / 2);
    else
        for (int64_t i = 0; i < l->n; i++)
            y[i] = x[l->last->row[i].t.at[0]];
}

/* Where the lines of a plane start in the input: what its coordinates say, but for the last two. */
static int64_t plane_at(const struct resize_args *a, const int64_t *stride, const int64_t *line,
                        int axes)
{
    int64_t ret = 0;
    for (int k = 0; k < axes; k++)
        ret += a->axis[k].row[line[k]].t.at[0] * stride[k];
    return ret;
}

/* Elements of all axes are moved: plane after plane, a line that comes again once more. */
static void planes_move(const struct eval *e, const struct lines *l, const int64_t *stride)
{
    const struct resize_args *a = e->args;
    const struct tensor *t = e->out[0];
    const int down = t->rank - 2;
    const int64_t n = tensor_count(t), each = t->dim[down] * l->n;
    int64_t line[RANK_MAX] = { 0 };
    float *y = e->y[0];
    for (int64_t i = 0; i < n; i += each) {
        const int64_t at = plane_at(a, stride, line, down);
        int64_t before = -1;
        for (int64_t r = 0; r < t->dim[down]; r++, y += l->n) {
            const int64_t from = at + a->axis[down].row[r].t.at[0] * stride[down];
            if (from == before && !a->doubles)
                memcpy(y, y - l->n, (size_t) l->n * sizeof *y);
            else
                line_move(e, l, y, l->x + from);
            before = from;
        }
        for (int k = down - 1; k >= 0 && ++line[k] == t->dim[k]; k--)
            line[k] = 0;
    }
}

static void lines_eval(const struct eval *e)
{
    const struct resize_args *a = e->args;
    const struct tensor *t = e->out[0];
    const int last = t->rank - 1, between = axis_between(a, t->rank);
    struct lines l = { .last = &a->axis[last],
                       .x = e->x[IN_X],
                       .made = e->scratch,
                       .n = t->dim[last],
                       .at = { -1, -1, -1, -1 } };
    const struct resize_taps single = { .n = 1, .weight = { 1 } };
    int64_t stride[RANK_MAX], line[RANK_MAX] = { 0 }, n = tensor_count(t);
    tensor_strides(e->in[IN_X], stride);
    float *y = e->y[0];
    if (between < 0 && l.last->moves && last) {
        planes_move(e, &l, stride);
        return;
    }
    for (int64_t i = 0; i < n; i += l.n, y += l.n) {
        struct between b = { &single, 0, 0 };
        for (int k = 0; k < last; k++) {
            const struct resize_taps *taps = &a->axis[k].row[line[k]].t;
            if (k == between)
                b.t = taps, b.stride = stride[k];
            else
                b.at += taps->at[0] * stride[k];
        }
        if (between >= 0 || !l.last->moves)
            line_sum(&l, y, &b);
        else
            line_move(e, &l, y, l.x + b.at);
        for (int k = last - 1; k >= 0 && ++line[k] == t->dim[k]; k--)
            line[k] = 0;
    }
}

/* ---- bytes that are moved ---- */

static void bytes_move(const struct resize_args *a, const struct resize_axis *last, uint8_t *y,
                       const uint8_t *x, int64_t n)
{
    if (a->doubles)
        for (int64_t i = 0; i < n / 2; i++)
            y[2 * i] = y[2 * i + 1] = x[i];
    else
        for (int64_t i = 0; i < n; i++)
            y[i] = x[last->row[i].t.at[0]];
}

static void bytes_eval(const struct eval *e)
{
    const struct resize_args *a = e->args;
    const struct tensor *t = e->out[0];
    const int last = t->rank - 1;
    int64_t stride[RANK_MAX], line[RANK_MAX] = { 0 }, n = tensor_count(t), before = -1;
    uint8_t *y = e->y[0];
    tensor_strides(e->in[IN_X], stride);
    for (int64_t i = 0; i < n; i += t->dim[last], y += t->dim[last]) {
        int64_t at = 0;
        for (int k = 0; k < last; k++)
            at += a->axis[k].row[line[k]].t.at[0] * stride[k];
        if (at == before)
            memcpy(y, y - t->dim[last], (size_t) t->dim[last]);
        else
            bytes_move(a, &a->axis[last], y, (const uint8_t *) e->x[IN_X] + at, t->dim[last]);
        before = at;
        for (int k = last - 1; k >= 0 && ++line[k] == t->dim[k]; k--)
            line[k] = 0;
    }
}

static void resize_eval(const struct eval *e)
{
    const struct resize_args *a = e->args;
    const struct tensor *y = e->out[0];
    struct walk w = { .x = e->in[IN_X], .data = e->x[IN_X] };
    int64_t strides[RANK_MAX], n = tensor_count(y);
    double outside = (double) ((const struct resize_attr *) e->attr)->outside;
    if (a->lines) {
        lines_eval(e);
        return;
    }
    if (a->bytes) {
        bytes_eval(e);
        return;
    }
    tensor_strides(w.x, w.stride);
    tensor_strides(y, strides);
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
