/* SPDX-License-Identifier: MIT */
/* Convolution of bytes, channels last: exact sums as i32, or scaled to bytes again by fixed-point
 * multipliers, one for all channels or one a channel. A full product is one of 1 x 1. */
#include "engine/ops/byte.h"
#include "engine/ops/ops.h"

#include <string.h>

#define AT(member) offsetof(struct byte_conv_attr, member)
static const struct attr_spec conv_attrs[] = {
    { .name = "strides", .kind = ATTR_INTS, .offset = AT(w.strides) },
    { .name = "dilations", .kind = ATTR_INTS, .offset = AT(w.dilations) },
    { .name = "pads", .kind = ATTR_INTS, .offset = AT(w.pads) },
    { .name = "depthwise", .kind = ATTR_INT, .offset = AT(depthwise) },
    { .name = "x_zero", .kind = ATTR_INT, .offset = AT(x_zero) },
    { .name = "w_zero", .kind = ATTR_INT, .offset = AT(w_zero) },
    { .name = "once", .kind = ATTR_INT, .offset = AT(once) },
    BYTE_RANGE_SPECS(struct byte_conv_attr, y),
    { 0 },
};
#undef AT

/* x: [batch, rows, columns, channels]; w: [outputs, rows, columns, channels], depthwise: [1, rows,
 * columns, outputs], where output o reads channel o / (outputs / channels). zero: of the bytes of
 * each batch, in place of x_zero. */
enum { IN_X, IN_W, IN_BIAS, IN_MULTIPLIER, IN_SHIFT, IN_ZERO };

#define SIDE_MAX ((int64_t) 1 << 30)

/* ---- shapes ---- */

static int64_t list_at(struct attr_ints v, unsigned i, int64_t absent)
{
    return v.n ? v.v[i] : absent;
}

static rill_status lists_check(struct infer *c)
{
    const struct byte_conv_attr *a = c->attr;
    const struct {
        struct attr_ints v;
        uint32_t n;
        int64_t least;
    } lists[] = { { a->w.strides, 2, 1 }, { a->w.dilations, 2, 1 }, { a->w.pads, 4, 0 } };
    for (unsigned k = 0; k < 3; k++) {
        if (lists[k].v.n && lists[k].v.n != lists[k].n)
            return infer_fail(c, "wants 2 strides, 2 dilations and 4 pads");
        for (uint32_t i = 0; i < lists[k].v.n; i++)
            if (lists[k].v.v[i] < lists[k].least || lists[k].v.v[i] > SIDE_MAX)
                return infer_fail(c, "a stride, dilation or pad of %lld",
                                  (long long) lists[k].v.v[i]);
    }
    return RILL_OK;
}

static int64_t size_at(const struct fact *f, int i)
{
    return dim_value(f->shape[i]);
}

static rill_status image_check(struct infer *c, unsigned i)
{
    const struct fact *f = c->in[i];
    if (f->rank != 4)
        return infer_fail(c, "input %u is of rank %d, wants 4", i, f->rank);
    for (int k = i == IN_X; k < 4; k++) {
        if (i == IN_X && k < 3 && !dim_is_const(f->shape[k]))
            continue; /* rows and columns may be symbols */
        if (!dim_is_const(f->shape[k]) || size_at(f, k) < 1 || size_at(f, k) > SIDE_MAX)
            return infer_fail(c, "input %u, axis %d: a size that is not known or not above 0", i,
                              k);
    }
    return RILL_OK;
}

/* A list of n numbers, or of one. */
static rill_status list_check(struct infer *c, unsigned i, int64_t n, bool one)
{
    if (!infer_has(c, i))
        return RILL_OK;
    const struct fact *f = c->in[i];
    TRY(elem_check_type(c, i, TYPE_I32));
    if (f->rank != 1 || !(dim_is(f->shape[0], n) || (one && dim_is(f->shape[0], 1))))
        return infer_fail(c, "input %u does not fit %lld outputs", i, (long long) n);
    return RILL_OK;
}

static rill_status factors_check(struct infer *c, int64_t outputs)
{
    TRY(list_check(c, IN_BIAS, outputs, false));
    if (infer_has(c, IN_MULTIPLIER) != infer_has(c, IN_SHIFT))
        return infer_fail(c, "wants multipliers and shifts, or neither");
    TRY(list_check(c, IN_MULTIPLIER, outputs, true));
    TRY(list_check(c, IN_SHIFT, outputs, true));
    for (unsigned i = IN_MULTIPLIER; i <= IN_SHIFT && infer_has(c, i); i++) {
        const struct tensor *t = c->in[i]->value;
        if (!t)
            return infer_fail(c, "its multipliers and shifts must be constants");
        for (int64_t k = 0; i == IN_SHIFT && k < tensor_count(t); k++)
            if (((const int32_t *) t->data)[k] < -31 || ((const int32_t *) t->data)[k] > 30)
                return infer_fail(c, "a shift of %d, wants -31 to 30",
                                  ((const int32_t *) t->data)[k]);
    }
    return RILL_OK;
}

static rill_status channels_check(struct infer *c, int64_t *ret_outputs)
{
    const struct byte_conv_attr *a = c->attr;
    int64_t cin = size_at(c->in[IN_X], 3), o = size_at(c->in[IN_W], 0), k = size_at(c->in[IN_W], 3);
    *ret_outputs = a->depthwise ? k : o;
    if (a->depthwise ? o != 1 || k % cin != 0 : k != cin)
        return infer_fail(c, "weights for %lld do not fit %lld channels", (long long) k,
                          (long long) cin);
    return RILL_OK;
}

/* Zeros that come with the bytes. */
static rill_status zeros_check(struct infer *c)
{
    const struct byte_conv_attr *a = c->attr;
    if (!infer_has(c, IN_ZERO))
        return RILL_OK;
    TRY(elem_check_type(c, IN_ZERO, TYPE_I32));
    if (c->in[IN_ZERO]->rank != 1 || c->in[IN_ZERO]->shape[0] != c->in[IN_X]->shape[0])
        return infer_fail(c, "input %u does not have a zero for each batch", IN_ZERO);
    if (a->x_zero || infer_has(c, IN_MULTIPLIER))
        return infer_fail(c, "zeros of batches go with sums, and with no other zero");
    return RILL_OK;
}

static rill_status conv_infer(struct infer *c)
{
    const struct byte_conv_attr *a = c->attr;
    const struct dim *shape[4];
    enum dtype to = DTYPE_I32;
    int64_t outputs;
    for (unsigned i = IN_X; i <= IN_W; i++) {
        TRY(elem_check_type(c, i, TYPES_BYTE));
        TRY(image_check(c, i));
        TRY(byte_zero_check(c, c->in[i]->type, i == IN_X ? a->x_zero : a->w_zero));
    }
    TRY(lists_check(c));
    TRY(channels_check(c, &outputs));
    TRY(factors_check(c, outputs));
    TRY(zeros_check(c));
    if (infer_has(c, IN_MULTIPLIER))
        TRY(byte_range_check(c, &a->y, &to));
    shape[0] = c->in[IN_X]->shape[0];
    shape[3] = dim_int(c->dims, outputs);
    for (unsigned i = 0; i < 2; i++) {
        int64_t pads = list_at(a->w.pads, i, 0) + list_at(a->w.pads, 2 + i, 0);
        int64_t reach = (size_at(c->in[IN_W], 1 + (int) i) - 1) * list_at(a->w.dilations, i, 1) + 1;
        TRY(byte_window_count(c, c->in[IN_X]->shape[1 + i], pads, reach,
                              list_at(a->w.strides, i, 1), &shape[1 + i]));
    }
    infer_shape(c, 0, to, 4, shape);
    return RILL_OK;
}

/* ---- plan ---- */

#define WINDOWS_MAX 16 /* that are gathered and summed at once */

struct conv_args {
    int64_t stride[2], dilation[2], pad[2];
    int64_t n[4], w[4], y[4]; /* sizes of x, weights and result */
    int64_t k;                /* numbers under a window */
    bool dense;               /* windows lie in x as they are, one `step` behind the other */
    int64_t step;
    const void *packed;        /* of kern_q8_pack */
    struct kern_places places; /* depthwise */
    const uint8_t *padding;    /* depthwise: a place outside */
    const int32_t *w_sums;     /* depthwise, zeros of batches: of the weights of each output */
    struct kern_requant to;    /* by and shift for each output; NULL: sums come out */
    size_t rows_bytes;         /* of scratch in front of the sums */
    size_t batch_bytes;        /* behind the sums: a bias and a place outside, of the batch */
};

/* Windows over whole rows, or over one, without a gap. */
static bool is_dense(const struct conv_args *s, const struct byte_conv_attr *a)
{
    bool pads = list_at(a->w.pads, 0, 0) || list_at(a->w.pads, 1, 0) || list_at(a->w.pads, 2, 0) ||
        list_at(a->w.pads, 3, 0);
    bool gaps = (s->w[1] > 1 && s->dilation[0] > 1) || (s->w[2] > 1 && s->dilation[1] > 1);
    bool rows = s->w[1] == 1 || s->w[2] == s->n[2];
    return !pads && !gaps && rows && (s->y[2] == 1 || s->w[1] == 1);
}

static void geometry_set(struct conv_args *s, const struct prep *c)
{
    const struct byte_conv_attr *a = c->attr;
    for (unsigned i = 0; i < 2; i++) {
        s->stride[i] = list_at(a->w.strides, i, 1);
        s->dilation[i] = list_at(a->w.dilations, i, 1);
        s->pad[i] = list_at(a->w.pads, i, 0);
    }
    memcpy(s->n, c->in[IN_X]->dim, sizeof s->n);
    memcpy(s->w, c->in[IN_W]->dim, sizeof s->w);
    memcpy(s->y, c->out[0]->dim, sizeof s->y);
    s->k = s->w[1] * s->w[2] * s->n[3];
    s->dense = is_dense(s, a);
    s->step = (s->y[2] == 1 ? s->stride[0] * s->n[2] : s->stride[1]) * s->n[3];
}

static rill_status weights_pack(struct prep *c, struct conv_args *s)
{
    const struct byte_conv_attr *a = c->attr;
    const struct tensor *w = c->in[IN_W];
    const int32_t zero = (int32_t) a->w_zero;
    size_t n = (size_t) s->y[3], k = (size_t) s->k, bytes = kern_q8_bytes(n, k);
    bool there;
    if (!bytes)
        return prep_fail(c, "weights of %zu outputs and %zu terms are too large", n, k);
    void *packed = prep_pack(c, bytes / 64, 64, &there);
    if (!packed)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    s->packed = packed;
    if (!there)
        kern_q8_pack(packed,
                     &(struct kern_q8_w) { .w = w->data,
                                           .is_signed = w->type == DTYPE_I8,
                                           .n = n,
                                           .k = k,
                                           .stride_o = k,
                                           .stride_k = 1,
                                           .zero = zero ? &zero : NULL });
    c->kernel = "gemm_q8";
    return RILL_OK;
}

/* One number for each output, where the node has one for all. */
static rill_status each_output(struct prep *c, unsigned i, int64_t n, const int32_t **ret)
{
    const struct tensor *t = c->n_in > i ? c->in[i] : NULL;
    if (!t)
        return RILL_OK;
    int32_t *v = arena_array(c->arena, int32_t, (size_t) n);
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t k = 0; k < n; k++)
        v[k] = ((const int32_t *) t->data)[t->dim[0] > 1 ? k : 0];
    *ret = v;
    return RILL_OK;
}

/* Whether channels have several outputs each, so that bytes are repeated. */
static bool is_widened(const struct conv_args *s)
{
    return s->y[3] != s->n[3];
}

/* The weights less their zero, [places][outputs], and sums to begin with: the bias less what the
 * zero of the bytes adds. */
static rill_status places_pack(struct prep *c, struct conv_args *s)
{
    const struct byte_conv_attr *a = c->attr;
    const struct tensor *w = c->in[IN_W], *b = c->n_in > IN_BIAS ? c->in[IN_BIAS] : NULL;
    int64_t n = tensor_count(w), n_out = s->y[3];
    int32_t *bias = arena_array(c->arena, int32_t, (size_t) n_out);
    uint8_t *padding = arena_array(c->arena, uint8_t, (size_t) n_out);
    bool there;
    int16_t *packed = prep_pack(c, (size_t) n, sizeof *packed, &there);
    if (!packed || !bias || !padding)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (b && !b->data)
        return prep_fail(c, "its bias must be constant");
    memset(padding, (int) (a->x_zero & 255), (size_t) n_out);
    for (int64_t o = 0; o < n_out; o++)
        bias[o] = b ? ((const int32_t *) b->data)[o] : 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t *sum = &bias[i % n_out];
        if (!there)
            packed[i] = (int16_t) (byte_at(w->type, w->data, i) - (int32_t) a->w_zero);
        *sum = (int32_t) ((uint32_t) *sum - (uint32_t) packed[i] * (uint32_t) a->x_zero);
    }
    s->padding = padding;
    s->places = (struct kern_places) { .is_signed = c->in[IN_X]->type == DTYPE_I8,
                                       .n = (size_t) n_out,
                                       .n_places = (size_t) (s->w[1] * s->w[2]),
                                       .w = packed,
                                       .bias = bias };
    return RILL_OK;
}

/* Of a row of windows that are gathered, or of the places of one and, where channels have several
 * outputs, of its bytes for each output. */
static size_t rows_bytes(const struct conv_args *s, bool depthwise)
{
    size_t n_places = s->places.n_places, n = (size_t) s->y[3];
    size_t bytes = !depthwise ? (s->dense ? 0 : WINDOWS_MAX * (size_t) s->k)
                              : n_places * (sizeof(uint8_t *) + (is_widened(s) ? n : 0));
    return (bytes + 63) / 64 * 64;
}

/* What a zero takes off each output, and room for the bias and the place outside of a batch. */
static rill_status zeros_prepare(struct prep *c, struct conv_args *s)
{
    const struct byte_conv_attr *a = c->attr;
    const int64_t n_out = s->y[3], n = tensor_count(c->in[IN_W]);
    if (c->n_in <= IN_ZERO || !c->in[IN_ZERO] || !a->depthwise)
        return RILL_OK;
    int32_t *sums = arena_array(c->arena, int32_t, (size_t) n_out);
    if (!sums)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; i < n; i++)
        sums[i % n_out] += s->places.w[i];
    s->w_sums = sums;
    s->batch_bytes = (size_t) n_out * (sizeof(int32_t) + 1);
    return RILL_OK;
}

static rill_status conv_prepare(struct prep *c)
{
    const struct byte_conv_attr *a = c->attr;
    struct conv_args *s = arena_new(c->arena, struct conv_args);
    if (!s)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!c->in[IN_W]->data)
        return prep_fail(c, "its weights must be constants");
    geometry_set(s, c);
    TRY(a->depthwise ? places_pack(c, s) : weights_pack(c, s));
    TRY(zeros_prepare(c, s));
    TRY(each_output(c, IN_MULTIPLIER, s->y[3], &s->to.by));
    TRY(each_output(c, IN_SHIFT, s->y[3], &s->to.shift));
    s->to.zero = (int32_t) a->y.zero;
    s->to.low = (int32_t) a->y.low;
    s->to.high = (int32_t) a->y.high;
    s->to.once = a->once;
    s->rows_bytes = rows_bytes(s, a->depthwise);
    c->scratch_bytes =
        s->rows_bytes + WINDOWS_MAX * (size_t) s->y[3] * sizeof(int32_t) + s->batch_bytes;
    c->packed = 1u << IN_W;
    c->args = s;
    return RILL_OK;
}

/* ---- windows ---- */

/* Window i, of all in their order: where its first number lies, in rows and columns of the image,
 * which may be outside. */
struct window_at {
    int64_t batch, row, column;
};

static struct window_at window_at(const struct conv_args *s, int64_t i)
{
    return (struct window_at) { i / (s->y[1] * s->y[2]),
                                i / s->y[2] % s->y[1] * s->stride[0] - s->pad[0],
                                i % s->y[2] * s->stride[1] - s->pad[1] };
}

/* The numbers of place (i, j) of the window; NULL: padding. */
static const uint8_t *place_at(const struct conv_args *s, const uint8_t *x, struct window_at at,
                               int64_t i, int64_t j)
{
    int64_t r = at.row + i * s->dilation[0], k = at.column + j * s->dilation[1];
    if (r < 0 || r >= s->n[1] || k < 0 || k >= s->n[2])
        return NULL;
    return x + ((at.batch * s->n[1] + r) * s->n[2] + k) * s->n[3];
}

static int32_t zero_at(const struct eval *e, int64_t batch)
{
    const int32_t *zeros = e->n_in > IN_ZERO ? e->x[IN_ZERO] : NULL;
    return zeros ? zeros[batch] : (int32_t) ((const struct byte_conv_attr *) e->attr)->x_zero;
}

static void window_gather(const struct eval *e, int64_t window, uint8_t *ret)
{
    const struct conv_args *s = e->args;
    const struct window_at at = window_at(s, window);
    const int outside = zero_at(e, at.batch) & 255;
    for (int64_t i = 0; i < s->w[1]; i++)
        for (int64_t j = 0; j < s->w[2]; j++, ret += s->n[3]) {
            const uint8_t *from = place_at(s, e->x[IN_X], at, i, j);
            if (from)
                memcpy(ret, from, (size_t) s->n[3]);
            else
                memset(ret, outside, (size_t) s->n[3]);
        }
}

/* ---- full convolutions ---- */

static const uint8_t *windows_ready(const struct eval *e, int64_t first, size_t n, size_t *ret_step)
{
    const struct conv_args *s = e->args;
    *ret_step = (size_t) (s->dense ? s->step : s->k);
    if (s->dense) {
        const struct window_at at = window_at(s, first);
        return (const uint8_t *) e->x[IN_X] +
            ((at.batch * s->n[1] + at.row) * s->n[2] + at.column) * s->n[3];
    }
    for (size_t i = 0; i < n; i++)
        window_gather(e, first + (int64_t) i, (uint8_t *) e->scratch + i * (size_t) s->k);
    return e->scratch;
}

/* How many windows lie one step behind the other from this one on. */
static size_t windows_after(const struct conv_args *s, int64_t first, int64_t all)
{
    int64_t line = s->y[2] == 1 ? s->y[1] : s->y[2];
    int64_t left = s->dense ? line - first % line : all - first;
    return (size_t) (left < WINDOWS_MAX ? left : WINDOWS_MAX);
}

static void full_eval(const struct eval *e)
{
    const struct conv_args *s = e->args;
    int32_t zeros[WINDOWS_MAX];
    const struct kern_q8_x how = { .is_signed = e->in[IN_X]->type == DTYPE_I8,
                                   .zero = zeros,
                                   .zero_step = 1 };
    struct kern_q8 w = kern_q8_open(s->packed, (size_t) s->y[3], (size_t) s->k);
    int32_t *sums = (int32_t *) ((char *) e->scratch + s->rows_bytes);
    int64_t n = s->y[3], all = e->out[0]->dim[0] * s->y[1] * s->y[2];
    w.bias = e->n_in > IN_BIAS ? e->x[IN_BIAS] : NULL;
    for (int64_t i = 0; i < all;) {
        size_t rows = windows_after(s, i, all), step;
        const uint8_t *x = windows_ready(e, i, rows, &step);
        int32_t *to = s->to.by ? sums : (int32_t *) e->y[0] + i * n;
        for (size_t r = 0; r < rows; r++)
            zeros[r] = zero_at(e, (i + (int64_t) r) / (s->y[1] * s->y[2]));
        e->kern->gemm_q8(to, (size_t) n, x, step, &w, &how, rows);
        for (size_t r = 0; s->to.by && r < rows; r++)
            e->kern->requantize((uint8_t *) e->y[0] + (i + (int64_t) r) * n, sums + (int64_t) r * n,
                                (size_t) n, &s->to);
        i += (int64_t) rows;
    }
}

/* ---- depthwise ---- */

/* `each` copies of every byte of a place. */
static const uint8_t *place_widen(const uint8_t *x, int64_t n, int64_t each, uint8_t *ret)
{
    for (int64_t o = 0; o < n; o++)
        ret[o] = x[o / each];
    return ret;
}

/* Where the bytes under a window are, place by place. */
static const uint8_t *const *places_find(const struct eval *e, int64_t window,
                                         const uint8_t *outside)
{
    const struct conv_args *s = e->args;
    const struct window_at at = window_at(s, window);
    const int64_t n = s->y[3], each = n / s->n[3];
    const uint8_t **ret = e->scratch, **to = ret;
    uint8_t *wide = (uint8_t *) (ret + s->places.n_places);
    const int64_t row_bytes = s->n[2] * s->n[3];
    for (int64_t i = 0, r = at.row; i < s->w[1]; i++, r += s->dilation[0]) {
        const bool inside = r >= 0 && r < s->n[1];
        const uint8_t *row =
            (const uint8_t *) e->x[IN_X] + (inside ? (at.batch * s->n[1] + r) * row_bytes : 0);
        for (int64_t j = 0, k = at.column; j < s->w[2]; j++, k += s->dilation[1], to++) {
            if (!inside || k < 0 || k >= s->n[2])
                *to = outside;
            else if (each == 1)
                *to = row + k * s->n[3];
            else
                *to = place_widen(row + k * s->n[3], n, each, wide + (to - ret) * n);
        }
    }
    return ret;
}

/* The bias of a batch whose bytes have a zero of their own, and behind it a place outside. */
static const uint8_t *batch_begin(const struct eval *e, int64_t batch, struct kern_places *ret)
{
    const struct conv_args *s = e->args;
    const size_t n = (size_t) s->y[3];
    int32_t *bias = (int32_t *) ((char *) e->scratch + s->rows_bytes) + WINDOWS_MAX * n;
    const uint32_t zero = (uint32_t) zero_at(e, batch);
    if (!s->w_sums)
        return s->padding;
    for (size_t o = 0; o < n; o++)
        bias[o] = (int32_t) ((uint32_t) s->places.bias[o] - zero * (uint32_t) s->w_sums[o]);
    ret->bias = bias;
    return memset(bias + n, (int) (zero & 255), n);
}

static void depthwise_eval(const struct eval *e)
{
    const struct conv_args *s = e->args;
    struct kern_places places = s->places;
    int32_t *sums = (int32_t *) ((char *) e->scratch + s->rows_bytes);
    int64_t n = s->y[3], each = s->y[1] * s->y[2], all = e->out[0]->dim[0] * each;
    const uint8_t *outside = s->padding;
    for (int64_t i = 0; i < all; i++) {
        if (i % each == 0)
            outside = batch_begin(e, i / each, &places);
        const uint8_t *const *x = places_find(e, i, outside);
        e->kern->places_sum(s->to.by ? sums : (int32_t *) e->y[0] + i * n, x, &places);
        if (s->to.by)
            e->kern->requantize((uint8_t *) e->y[0] + i * n, sums, (size_t) n, &s->to);
    }
}

static void conv_eval(const struct eval *e)
{
    if (((const struct byte_conv_attr *) e->attr)->depthwise)
        depthwise_eval(e);
    else
        full_eval(e);
}

static const struct op op_byte_conv = {
    .id = OP_BYTE_CONV,
    .name = "ByteConv",
    .attrs = conv_attrs,
    .attr_bytes = sizeof(struct byte_conv_attr),
    .min_in = 2,
    .max_in = 6,
    .min_out = 1,
    .max_out = 1,
    .infer = conv_infer,
    .prepare = conv_prepare,
    .eval = conv_eval,
    .help = "convolution of bytes, channels last, to exact sums or by fixed-point factors to bytes",
};

const struct op *const ops_byte_conv[] = { &op_byte_conv, NULL };
