/* SPDX-License-Identifier: MIT */
/* Pools of bytes or i16, channels last: the largest, or the mean rounded half away from zero, of
 * what lies within the image; or a mean that is scaled by a float. */
#include "engine/ops/byte.h"
#include "engine/ops/ops.h"

#include <float.h>

#define AT(member) offsetof(struct byte_pool_attr, member)
static const struct attr_spec pool_attrs[] = {
    { .name = "kernel", .kind = ATTR_INTS, .offset = AT(w.kernel), .required = true },
    { .name = "strides", .kind = ATTR_INTS, .offset = AT(w.strides), .required = true },
    { .name = "pads", .kind = ATTR_INTS, .offset = AT(w.pads), .required = true },
    { .name = "mean", .kind = ATTR_INT, .offset = AT(mean) },
    { .name = "x_zero", .kind = ATTR_INT, .offset = AT(x_zero) },
    { .name = "by", .kind = ATTR_FLOAT, .offset = AT(by) },
    BYTE_RANGE_SPECS(struct byte_pool_attr, y),
    { 0 },
};
#undef AT

#define SIDE_MAX ((int64_t) 1 << 20)

static rill_status lists_check(struct infer *c)
{
    const struct byte_pool_attr *a = c->attr;
    if (a->w.kernel.n != 2 || a->w.strides.n != 2 || a->w.pads.n != 4)
        return infer_fail(c, "wants 2 sizes, 2 strides and 4 pads");
    for (unsigned i = 0; i < 4; i++)
        if (a->w.kernel.v[i % 2] < 1 || a->w.kernel.v[i % 2] > SIDE_MAX ||
            a->w.strides.v[i % 2] < 1 || a->w.strides.v[i % 2] > SIDE_MAX || a->w.pads.v[i] < 0 ||
            a->w.pads.v[i] >= a->w.kernel.v[i % 2])
            return infer_fail(c, "a window, stride or pad that does not fit");
    return RILL_OK;
}

static rill_status factor_check(struct infer *c)
{
    const struct byte_pool_attr *a = c->attr;
    bool pads = false;
    for (unsigned i = 0; i < 4; i++)
        pads = pads || a->w.pads.v[i];
    if (!(a->by >= 0 && a->by <= FLT_MAX) ||
        (a->by > 0 && (!a->mean || pads || c->in[0]->type == DTYPE_I16)))
        return infer_fail(c, "by=%g; wants a number, of means of bytes without pads",
                          (double) a->by);
    return byte_zero_check(c, c->in[0]->type, a->x_zero);
}

static rill_status pool_infer(struct infer *c)
{
    const struct byte_pool_attr *a = c->attr;
    const struct fact *x = c->in[0];
    const struct dim *shape[4];
    enum dtype to;
    TRY(elem_check_type(c, 0, TYPES_BYTE | TYPE_I16));
    TRY(whole_range_check(c, &a->y, TYPES_BYTE | TYPE_I16, &to));
    TRY(lists_check(c));
    TRY(factor_check(c));
    if (x->rank != 4 || (to != x->type && !(a->by > 0)))
        return infer_fail(c, "wants rank 4, and gives the type it gets");
    shape[0] = x->shape[0];
    shape[3] = x->shape[3];
    for (int i = 1; i < 3; i++) {
        const struct dim *n = x->shape[i];
        if (dim_is_const(n) && (dim_value(n) < 1 || dim_value(n) > SIDE_MAX))
            return infer_fail(c, "axis %d: a size that is not above 0", i);
        TRY(byte_window_count(c, n, a->w.pads.v[i - 1] + a->w.pads.v[i + 1], a->w.kernel.v[i - 1],
                              a->w.strides.v[i - 1], &shape[i]));
    }
    infer_shape(c, 0, to, 4, shape);
    return RILL_OK;
}

/* The part of a window that lies within an axis of n: from, to. */
static void window_cut(const struct byte_pool_attr *a, unsigned axis, int64_t at, int64_t n,
                       int64_t ret[2])
{
    int64_t from = at * a->w.strides.v[axis] - a->w.pads.v[axis], to = from + a->w.kernel.v[axis];
    ret[0] = from > 0 ? from : 0;
    ret[1] = to < n ? to : n;
}

/* ---- plan ---- */

struct pool_args {
    uint8_t flip;
    size_t at_bytes, sums_bytes; /* of scratch: where places are, and two rows of sums */
    const int16_t *both, *first; /* weights of pairs of places, and of one */
    const int32_t *bias;         /* what the zero takes off */
    struct kern_scale to;
};

static rill_status mean_prepare(struct prep *c, struct pool_args *s, size_t n)
{
    const struct byte_pool_attr *a = c->attr;
    const uint32_t places = (uint32_t) (a->w.kernel.v[0] * a->w.kernel.v[1]);
    int16_t *both = arena_array(c->arena, int16_t, 2 * n),
            *first = arena_array(c->arena, int16_t, 2 * n);
    int32_t *bias = arena_array(c->arena, int32_t, n);
    float *by = arena_new(c->arena, float);
    if (!both || !first || !bias || !by)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (size_t i = 0; i < 2 * n; i++) {
        both[i] = 1;
        first[i] = i % 2 == 0;
        bias[i / 2] = (int32_t) (0 - places * (uint32_t) (a->x_zero + (s->flip ? 128 : 0)));
    }
    *by = a->by;
    s->both = both;
    s->first = first;
    s->bias = bias;
    s->to = (struct kern_scale) { .by = by,
                                  .zero = (int32_t) a->y.zero,
                                  .low = (int32_t) a->y.low,
                                  .high = (int32_t) a->y.high };
    s->sums_bytes = 2 * n * sizeof(int32_t);
    return RILL_OK;
}

static rill_status pool_prepare(struct prep *c)
{
    const struct byte_pool_attr *a = c->attr;
    const struct tensor *x = c->in[0];
    struct pool_args *s = arena_new(c->arena, struct pool_args);
    size_t places = 0;
    if (!s)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    /* no window holds more places than there are */
    for (int64_t i = 0; i < x->dim[1] && i < a->w.kernel.v[0]; i++)
        places += (size_t) (x->dim[2] < a->w.kernel.v[1] ? x->dim[2] : a->w.kernel.v[1]);
    s->flip = x->type == DTYPE_I8 ? 0x80 : 0;
    s->at_bytes = ((places + 1) * sizeof(size_t) + 63) / 64 * 64;
    if (a->by > 0)
        TRY(mean_prepare(c, s, (size_t) x->dim[3]));
    c->kernel = a->by > 0 ? "places_sum" : a->mean || x->type == DTYPE_I16 ? "" : "places_max";
    c->kern_uses |= KERN_USES_BYTES;
    c->scratch_bytes = s->at_bytes + s->sums_bytes;
    c->args = s;
    return RILL_OK;
}

/* ---- windows ---- */

/* What lies within the image of a window: rows and columns from, to. */
struct pool_window {
    int64_t batch, rows[2], columns[2];
};

/* Where its places begin in the image; returns how many there are. */
static size_t places_find(const struct eval *e, const struct pool_window *w, size_t *ret)
{
    const struct tensor *x = e->in[0];
    size_t n = 0;
    for (int64_t i = w->rows[0]; i < w->rows[1]; i++)
        for (int64_t j = w->columns[0]; j < w->columns[1]; j++)
            ret[n++] = (size_t) ((i * x->dim[2] + j) * x->dim[3]);
    ret[n] = n ? ret[0] : 0; /* makes a pair whole */
    return n;
}

static void window_scaled_mean(const struct eval *e, uint8_t *y, const uint8_t *image,
                               const size_t *at, size_t n_places)
{
    const struct pool_args *s = e->args;
    const size_t n = (size_t) e->in[0]->dim[3];
    int32_t *sums = (int32_t *) (void *) ((char *) e->scratch + s->at_bytes), *more = sums + n;
    struct kern_places p = {
        .flip = s->flip, .n = n, .n_pairs = n_places / 2, .at = at, .w = s->both, .bias = s->bias
    };
    e->kern->places_sum(sums, image, 0, 1, &p);
    if (n_places % 2) {
        p = (struct kern_places) { s->flip, n, 1, at + n_places - 1, s->first, 0, sums };
        e->kern->places_sum(more, image, 0, 1, &p);
    }
    e->kern->scale_bytes(y, n_places % 2 ? more : sums, n, &s->to);
}

/* Of i16, whose places are as far from the first as those of bytes. */
static void window_max_short(const struct eval *e, int16_t *y, const int16_t *image,
                             const size_t *at, size_t n_places)
{
    const struct byte_pool_attr *a = e->attr;
    for (int64_t c = 0; c < e->out[0]->dim[3]; c++) {
        int32_t most = INT16_MIN;
        for (size_t i = 0; i < n_places; i++)
            most = image[at[i] + (size_t) c] > most ? image[at[i] + (size_t) c] : most;
        y[c] = (int16_t) fixed_clip(most, (int32_t) a->y.low, (int32_t) a->y.high);
    }
}

static void window_max(const struct eval *e, uint8_t *y, const uint8_t *image, const size_t *at,
                       size_t n_places)
{
    const struct byte_pool_attr *a = e->attr;
    const struct tensor *t = e->out[0];
    const int32_t low = (int32_t) a->y.low, high = (int32_t) a->y.high;
    const bool all = high - low == 255;
    e->kern->places_max(y, image, at, n_places, (size_t) t->dim[3],
                        ((const struct pool_args *) e->args)->flip);
    for (int64_t c = 0; c < t->dim[3] && !all; c++)
        byte_put(t->type, y, c, fixed_clip(byte_at(t->type, y, c), low, high));
}

static void window_mean(const struct eval *e, uint8_t *y, const uint8_t *image, const size_t *at,
                        size_t n_places)
{
    const struct byte_pool_attr *a = e->attr;
    const struct tensor *t = e->out[0];
    const int64_t n = (int64_t) n_places;
    for (int64_t c = 0; c < t->dim[3]; c++) {
        int64_t sum = 0;
        for (size_t i = 0; i < n_places; i++)
            sum += whole_at(t->type, image, (int64_t) at[i] + c);
        const int32_t v =
            n < 1 ? (int32_t) a->y.low : (sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n);
        whole_put(t->type, y, c, fixed_clip(v, (int32_t) a->y.low, (int32_t) a->y.high));
    }
}

static void window_pool(const struct eval *e, const struct pool_window *w, uint8_t *y)
{
    const struct byte_pool_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    const int64_t size = x->dim[1] * x->dim[2] * x->dim[3] * (int64_t) dtype_bytes(x->type);
    const uint8_t *image = (const uint8_t *) e->x[0] + w->batch * size;
    size_t *at = e->scratch, n = places_find(e, w, at);
    if (a->by > 0)
        window_scaled_mean(e, y, image, at, n);
    else if (a->mean)
        window_mean(e, y, image, at, n);
    else if (x->type == DTYPE_I16)
        window_max_short(e, (int16_t *) (void *) y, (const int16_t *) (const void *) image, at, n);
    else
        window_max(e, y, image, at, n);
}

static void pool_eval(const struct eval *e)
{
    const struct byte_pool_attr *a = e->attr;
    const struct tensor *x = e->in[0], *y = e->out[0];
    const size_t row = (size_t) y->dim[3] * dtype_bytes(y->type);
    uint8_t *to = e->y[0];
    struct pool_window w;
    for (w.batch = 0; w.batch < y->dim[0]; w.batch++)
        for (int64_t i = 0; i < y->dim[1]; i++)
            for (int64_t j = 0; j < y->dim[2]; j++, to += row) {
                window_cut(a, 0, i, x->dim[1], w.rows);
                window_cut(a, 1, j, x->dim[2], w.columns);
                window_pool(e, &w, to);
            }
}

static const struct op op_byte_pool = {
    .id = OP_BYTE_POOL,
    .name = "BytePool",
    .attrs = pool_attrs,
    .attr_bytes = sizeof(struct byte_pool_attr),
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = pool_infer,
    .prepare = pool_prepare,
    .eval = pool_eval,
    .help = "the largest byte or i16, or the mean, of windows over rows and columns, channels last",
};

const struct op *const ops_byte_pool[] = { &op_byte_pool, NULL };
