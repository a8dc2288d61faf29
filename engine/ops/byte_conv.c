/* SPDX-License-Identifier: MIT */
/* Convolution of bytes, channels last: exact sums as i32 or f32, or scaled to bytes again by
 * fixed-point multipliers, or by floats as kern_scale says, one for all channels or one a channel.
 * A full product is one of 1 x 1. */
#include "engine/ops/byte.h"
#include "engine/ops/epilogue.h"
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
    { .name = "leaky", .kind = ATTR_FLOAT, .offset = AT(leaky) },
    { .name = "floats", .kind = ATTR_INT, .offset = AT(floats), .own = true },
    EPILOGUE_ROW(struct byte_conv_attr),
    BYTE_RANGE_SPECS(struct byte_conv_attr, y),
    { 0 },
};
#undef AT

/* x: [batch, rows, columns, channels]; w: [outputs, rows, columns, channels], depthwise: [1, rows,
 * columns, outputs], where output o reads channel o / (outputs / channels). zero: of the bytes of
 * each batch, in place of x_zero. */
enum { IN_X, IN_W, IN_BIAS, IN_MULTIPLIER, IN_SHIFT, IN_ZERO, IN_EPILOGUE };
/* Instead of multipliers and shifts: f32 factors, and what is added, if anything. */
enum { IN_BY = IN_MULTIPLIER, IN_ADD };

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
static rill_status list_check(struct infer *c, unsigned i, int64_t type, int64_t n, bool one)
{
    if (!infer_has(c, i))
        return RILL_OK;
    const struct fact *f = c->in[i];
    TRY(elem_check_type(c, i, type));
    if (f->rank != 1 || !(dim_is(f->shape[0], n) || (one && dim_is(f->shape[0], 1))))
        return infer_fail(c, "input %u does not fit %lld outputs", i, (long long) n);
    return RILL_OK;
}

static bool by_floats(const struct infer *c)
{
    return infer_has(c, IN_BY) && c->in[IN_BY]->type == DTYPE_F32;
}

static rill_status factors_check(struct infer *c, int64_t outputs)
{
    const struct byte_conv_attr *a = c->attr;
    const bool floats = by_floats(c);
    TRY(list_check(c, IN_BIAS, TYPE_I32, outputs, false));
    if (!(a->leaky >= 0 && a->leaky <= 1))
        return infer_fail(c, "leaky=%g; wants 0 to 1", (double) a->leaky);
    if (infer_has(c, IN_MULTIPLIER) != infer_has(c, IN_SHIFT) && !floats)
        return infer_fail(c, "wants multipliers and shifts, or neither");
    for (unsigned i = IN_MULTIPLIER; i <= IN_SHIFT && infer_has(c, i); i++) {
        TRY(list_check(c, i, floats ? TYPE_F32 : TYPE_I32, outputs, true));
        const struct tensor *t = c->in[i]->value;
        if (!t)
            return infer_fail(c, "its multipliers and shifts must be constants");
        for (int64_t k = 0; i == IN_SHIFT && !floats && k < tensor_count(t); k++)
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

static rill_status floats_check(struct infer *c)
{
    const struct byte_conv_attr *a = c->attr;
    if (a->floats && (a->depthwise || infer_has(c, IN_MULTIPLIER)))
        return infer_fail(c, "only sums that are neither depthwise nor scaled come as f32");
    return RILL_OK;
}

static rill_status conv_infer(struct infer *c)
{
    const struct byte_conv_attr *a = c->attr;
    const struct dim *shape[4];
    enum dtype to = a->floats ? DTYPE_F32 : DTYPE_I32;
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
    TRY(floats_check(c));
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
    return epilogue_infer(c, a->epilogue);
}

/* ---- plan ---- */

#define WINDOWS_MAX 16 /* that are gathered and summed at once */
#define LINE_MIN 8     /* windows of shorter lines are gathered, so that more are summed at once */

/* Pieces of a window are bytes that lie side by side; where there is one, windows are read where
 * they are. */
struct conv_args {
    int64_t stride[2], dilation[2], pad[2];
    int64_t n[4], w[4], y[4];       /* sizes of x, weights and result */
    int64_t k;                      /* numbers under a window */
    bool copied;                    /* the image is copied, with its padding and what is repeated */
    int64_t side[2], wide;          /* rows, columns and channels of the image as windows read it */
    size_t n_pieces, piece;         /* of a window; bytes of one */
    size_t *at;                     /* where they begin */
    int64_t line, step;             /* so many windows lie one step behind the other */
    bool dense;                     /* and are read where they are */
    const void *packed;             /* of kern_q8_pack */
    struct kern_places places;      /* depthwise */
    struct kern_requant to;         /* by and shift for each output; by: NULL: none */
    struct kern_scale scale;        /* the same, for WINDOWS_MAX rows of outputs */
    size_t image_bytes, rows_bytes; /* of scratch in front of the sums */
    const int32_t *w_sums;          /* depthwise, zeros of batches: of the weights of each output */
    size_t batch_bytes;             /* behind the sums: a bias of the batch */
    struct epilogue epilogue;
};

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Windows that lie at one step from each other, in all of the image or in one row of outputs. */
static void lines_set(struct conv_args *s)
{
    const int64_t down = s->stride[0] * s->side[1], right = s->stride[1];
    const bool column = s->y[2] == 1, all = column || down == s->y[2] * right;
    s->line = all ? s->y[1] * s->y[2] : s->y[2];
    s->step = (column ? down : right) * s->wide;
    s->dense = s->n_pieces == 1 && (s->line >= LINE_MIN || all);
}

static rill_status pieces_set(struct prep *c, struct conv_args *s)
{
    const bool rows_whole = s->dilation[1] == 1 || s->w[2] == 1;
    const bool all_whole =
        rows_whole && (s->w[1] == 1 || (s->w[2] == s->side[1] && s->dilation[0] == 1));
    const bool depthwise = ((const struct byte_conv_attr *) c->attr)->depthwise;
    const int64_t columns = rows_whole && !depthwise ? 1 : s->w[2],
                  rows = all_whole && !depthwise ? 1 : s->w[1];
    s->n_pieces = (size_t) (rows * columns);
    s->piece = (size_t) (s->k / (rows * columns));
    s->at = arena_array(c->arena, size_t, s->n_pieces + 1);
    if (!s->at)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (size_t i = 0; i < s->n_pieces; i++)
        s->at[i] = (size_t) (((int64_t) i / columns * s->dilation[0] * s->side[1] +
                              (int64_t) i % columns * s->dilation[1]) *
                             s->wide);
    s->at[s->n_pieces] = 0; /* makes a pair whole */
    return RILL_OK;
}

static rill_status geometry_set(struct conv_args *s, struct prep *c)
{
    const struct byte_conv_attr *a = c->attr;
    memcpy(s->n, c->in[IN_X]->dim, sizeof s->n);
    memcpy(s->w, c->in[IN_W]->dim, sizeof s->w);
    memcpy(s->y, c->out[0]->dim, sizeof s->y);
    s->wide = a->depthwise ? s->y[3] : s->n[3];
    s->copied = s->wide != s->n[3];
    for (unsigned i = 0; i < 2; i++) {
        s->stride[i] = list_at(a->w.strides, i, 1);
        s->dilation[i] = list_at(a->w.dilations, i, 1);
        s->pad[i] = list_at(a->w.pads, i, 0);
        s->side[i] = s->n[1 + i] + s->pad[i] + list_at(a->w.pads, 2 + i, 0);
        s->copied = s->copied || s->side[i] > s->n[1 + i];
    }
    s->k = s->w[1] * s->w[2] * s->n[3];
    if (__builtin_mul_overflow((size_t) s->side[0], (size_t) s->side[1], &s->image_bytes) ||
        __builtin_mul_overflow(s->image_bytes, (size_t) s->wide, &s->image_bytes) ||
        s->image_bytes > PTRDIFF_MAX / 4)
        return prep_fail(c, "%lld rows and %lld columns with their padding are too many",
                         (long long) s->side[0], (long long) s->side[1]);
    s->image_bytes = s->copied ? whole_lines(s->image_bytes) : 0;
    TRY(pieces_set(c, s));
    lines_set(s);
    return RILL_OK;
}

static rill_status weights_pack(struct prep *c, struct conv_args *s)
{
    const struct byte_conv_attr *a = c->attr;
    const struct tensor *w = c->in[IN_W];
    const int32_t zero = (int32_t) a->w_zero;
    const size_t n = (size_t) s->y[3], k = (size_t) s->k,
                 rows = c->kern->q8_outliers ? (size_t) WINDOWS_MAX : 0;
    const size_t bytes = kern_q8_bytes(n, k, rows > 0);
    bool there;
    if (!bytes)
        return prep_fail(c, "weights of %zu outputs and %zu terms are too large", n, k);
    prep_pack_outliers(c, rows > 0);
    void *packed = prep_pack(c, bytes / 64, 64, &there);
    if (!packed)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    s->packed = packed;
    if (there && !kern_q8_check(packed, n, k, rows > 0))
        return op_fail(c->err, RILL_MALFORMED, c->node, KERN_Q8_DAMAGED);
    const struct arena_mark m = arena_mark(c->arena);
    void *work = !there && rows ? arena_alloc(c->arena, kern_q8_work_bytes(n, k)) : NULL;
    if (!there && rows && !work)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!there)
        kern_q8_pack(packed,
                     &(struct kern_q8_w) { .w = w->data,
                                           .is_signed = w->type == DTYPE_I8,
                                           .n = n,
                                           .k = k,
                                           .stride_o = k,
                                           .stride_k = 1,
                                           .zero = zero ? &zero : NULL,
                                           .rows = rows,
                                           .work = work });
    arena_rewind_to(c->arena, &m);
    s->rows_bytes = s->dense ? 0 : whole_lines(WINDOWS_MAX * (size_t) s->k);
    c->kernel = s->dense ? "gemm_q8" : "rows, gemm_q8";
    return RILL_OK;
}

/* Four bytes for each output, where the node has them for one that stands for all; so many rows of
 * them. */
static rill_status each_output(struct prep *c, unsigned i, int64_t n, int64_t rows,
                               const void **ret)
{
    const struct tensor *t = c->n_in > i ? c->in[i] : NULL;
    if (!t)
        return RILL_OK;
    int32_t *v = arena_array(c->arena, int32_t, (size_t) (n * rows));
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t k = 0; k < n * rows; k++)
        memcpy(&v[k], (const int32_t *) t->data + (t->dim[0] > 1 ? k % n : 0), sizeof *v);
    *ret = v;
    return RILL_OK;
}

static rill_status scales_set(struct prep *c, struct conv_args *s)
{
    const struct byte_conv_attr *a = c->attr;
    const bool floats = c->n_in > IN_BY && c->in[IN_BY] && c->in[IN_BY]->type == DTYPE_F32;
    const void *by = NULL, *with = NULL;
    TRY(each_output(c, IN_MULTIPLIER, s->y[3], floats ? WINDOWS_MAX : 1, &by));
    TRY(each_output(c, IN_SHIFT, s->y[3], floats ? WINDOWS_MAX : 1, &with));
    if (floats)
        s->scale = (struct kern_scale) { .by = by, .add = with, .step = 1, .leaky = a->leaky };
    else
        s->to = (struct kern_requant) { .by = by, .shift = with, .once = a->once };
    s->to.zero = s->scale.zero = (int32_t) a->y.zero;
    s->to.low = s->scale.low = (int32_t) a->y.low;
    s->to.high = s->scale.high = (int32_t) a->y.high;
    return RILL_OK;
}

/* Sums to begin with: the bias less what the zero of the bytes adds, which are read as u8. */
static rill_status places_bias(struct prep *c, const struct conv_args *s, const int16_t *w,
                               int32_t *ret)
{
    const struct byte_conv_attr *a = c->attr;
    const struct tensor *b = c->n_in > IN_BIAS ? c->in[IN_BIAS] : NULL;
    const uint32_t zero = (uint32_t) (a->x_zero + (s->places.flip ? 128 : 0));
    const size_t n = s->places.n;
    if (b && !b->data)
        return prep_fail(c, "its bias must be constant");
    for (size_t o = 0; o < n; o++) {
        uint32_t sum = b ? (uint32_t) ((const int32_t *) b->data)[o] : 0;
        for (size_t i = 0; i < 2 * s->places.n_pairs; i++)
            sum -= (uint32_t) w[(i / 2 * n + o) * 2 + i % 2] * zero;
        ret[o] = (int32_t) sum;
    }
    return RILL_OK;
}

/* The weights less their zero, in pairs of places. */
static rill_status places_pack(struct prep *c, struct conv_args *s)
{
    const struct byte_conv_attr *a = c->attr;
    const struct tensor *w = c->in[IN_W];
    const size_t n = (size_t) s->y[3], pairs = (s->n_pieces + 1) / 2;
    int32_t *bias = arena_array(c->arena, int32_t, n);
    bool there;
    int16_t *packed = prep_pack(c, (2 * n * pairs * sizeof *packed + 63) / 64, 64, &there);
    if (!packed || !bias)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (size_t i = 0; i < 2 * n * pairs && !there; i++) {
        const size_t place = i / (2 * n) * 2 + i % 2, o = i / 2 % n;
        packed[i] = place >= s->n_pieces
            ? 0
            : (int16_t) (byte_at(w->type, w->data, (int64_t) (place * n + o)) -
                         (int32_t) a->w_zero);
    }
    s->places = (struct kern_places) { .flip = c->in[IN_X]->type == DTYPE_I8 ? 0x80 : 0,
                                       .n = n,
                                       .n_pairs = pairs,
                                       .at = s->at,
                                       .w = packed,
                                       .w_step = 2 * n,
                                       .bias = bias };
    c->kernel = "places_sum";
    return places_bias(c, s, packed, bias);
}

/* What a zero takes off each output, and room for the bias of a batch. */
static rill_status zeros_prepare(struct prep *c, struct conv_args *s)
{
    const size_t n = (size_t) s->y[3];
    if (c->n_in <= IN_ZERO || !c->in[IN_ZERO] || !s->places.n)
        return RILL_OK;
    int32_t *sums = arena_array(c->arena, int32_t, n);
    if (!sums)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (size_t i = 0; i < 2 * n * s->places.n_pairs; i++)
        sums[i / 2 % n] += s->places.w[i];
    s->w_sums = sums;
    s->batch_bytes = n * sizeof(int32_t);
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
    TRY(geometry_set(s, c));
    TRY(a->depthwise ? places_pack(c, s) : weights_pack(c, s));
    TRY(zeros_prepare(c, s));
    TRY(scales_set(c, s));
    TRY(epilogue_prepare(c, a->epilogue, &s->epilogue));
    c->scratch_bytes = s->image_bytes + s->rows_bytes +
        WINDOWS_MAX * (size_t) s->y[3] * sizeof(int32_t) + s->batch_bytes;
    c->packed = 1u << IN_W;
    c->kern_uses |= KERN_USES_BYTES;
    c->args = s;
    return RILL_OK;
}

/* ---- the image ---- */

/* A row of bytes, each as often as channels have outputs. */
static void row_widen(uint8_t *restrict to, const uint8_t *restrict x, int64_t n, int64_t each)
{
    for (int64_t i = 0; i < n; i++, to += each)
        memset(to, x[i], (size_t) each);
}

static int32_t zero_at(const struct eval *e, int64_t batch)
{
    const int32_t *zeros = e->n_in > IN_ZERO ? e->x[IN_ZERO] : NULL;
    return zeros ? zeros[batch] : (int32_t) ((const struct byte_conv_attr *) e->attr)->x_zero;
}

/* An image as windows read it. */
static const uint8_t *image_ready(const struct eval *e, const uint8_t *x, int zero)
{
    const struct conv_args *s = e->args;
    const size_t row = (size_t) (s->side[1] * s->wide), left = (size_t) (s->pad[1] * s->wide),
                 inside = (size_t) (s->n[2] * s->wide);
    uint8_t *to = e->scratch;
    if (!s->copied)
        return x;
    for (int64_t i = -s->pad[0]; i < s->side[0] - s->pad[0]; i++, to += row) {
        const uint8_t *from = x + i * s->n[2] * s->n[3];
        if (i < 0 || i >= s->n[1]) {
            memset(to, zero & 255, row);
            continue;
        }
        memset(to, zero, left);
        if (s->wide == s->n[3])
            memcpy(to + left, from, inside);
        else
            row_widen(to + left, from, s->n[2] * s->n[3], s->wide / s->n[3]);
        memset(to + left + inside, zero, row - left - inside);
    }
    return e->scratch;
}

/* Where window i of an image begins. */
static const uint8_t *window_at(const struct conv_args *s, const uint8_t *image, int64_t i)
{
    const int64_t row = i / s->y[2] * s->stride[0], column = i % s->y[2] * s->stride[1];
    return image + (row * s->side[1] + column) * s->wide;
}

/* ---- windows ---- */

/* n bytes, by copies that overlap where they are no whole words. */
static inline void piece_copy(uint8_t *restrict to, const uint8_t *restrict from, size_t n)
{
    size_t i = 0;
    if (n >= 8) {
        for (; i + 16 <= n; i += 16)
            memcpy(to + i, from + i, 16);
        if (i + 8 <= n)
            memcpy(to + i, from + i, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else if (n >= 2) {
        memcpy(to, from, 2);
        memcpy(to + n - 2, from + n - 2, 2);
    } else {
        *to = *from;
    }
}

static void windows_gather(const struct conv_args *s, uint8_t *restrict to, const uint8_t *image,
                           int64_t first, size_t n)
{
    const size_t *at = s->at, n_pieces = s->n_pieces, piece = s->piece;
    const int64_t columns = s->y[2], right = s->stride[1] * s->wide,
                  down = s->stride[0] * s->side[1] * s->wide - columns * right;
    int64_t from = window_at(s, image, first) - image, left = columns - first % columns;
    for (size_t i = 0; i < n; i++) {
        for (size_t p = 0; p < n_pieces; p++, to += piece)
            piece_copy(to, image + from + at[p], piece);
        from += right;
        if (--left == 0) {
            from += down;
            left = columns;
        }
    }
}

/* How many windows are summed at once from this one on. */
static size_t windows_after(int64_t first, int64_t line)
{
    const int64_t left = line - first % line;
    return (size_t) (left < WINDOWS_MAX ? left : WINDOWS_MAX);
}

/* ---- sums ---- */

static void sums_put(const struct eval *e, uint8_t *y, const int32_t *sums, size_t rows)
{
    const struct conv_args *s = e->args;
    const size_t n = (size_t) s->y[3];
    if (s->scale.by)
        e->kern->scale_bytes(y, sums, rows * n, &s->scale);
    for (size_t r = 0; s->to.by && r < rows; r++)
        e->kern->requantize(y + r * n, sums + r * n, n, &s->to);
}

/* An image, its zero, and how depthwise sums are made of it. */
struct batch {
    const uint8_t *image;
    int32_t zero;
    struct kern_places places;
};

static int32_t *sums_of(const struct eval *e)
{
    const struct conv_args *s = e->args;
    return (int32_t *) (void *) ((char *) e->scratch + s->image_bytes + s->rows_bytes);
}

static struct batch batch_begin(const struct eval *e, int64_t i)
{
    const struct conv_args *s = e->args;
    const size_t n = (size_t) s->y[3];
    const uint8_t *x = (const uint8_t *) e->x[IN_X] + i * s->n[1] * s->n[2] * s->n[3];
    int32_t *bias = sums_of(e) + WINDOWS_MAX * n;
    struct batch b = { .zero = zero_at(e, i), .places = s->places };
    b.image = image_ready(e, x, b.zero & 255);
    for (size_t o = 0; o < n && s->w_sums; o++)
        bias[o] =
            (int32_t) ((uint32_t) s->places.bias[o] - (uint32_t) b.zero * (uint32_t) s->w_sums[o]);
    if (s->w_sums)
        b.places.bias = bias;
    return b;
}

/* Sums of some windows from `first` on. */
static void windows_sum(const struct eval *e, const struct batch *b, int32_t *sums, int64_t first,
                        size_t n)
{
    const struct conv_args *s = e->args;
    const struct kern_q8_x how = { .is_signed = e->in[IN_X]->type == DTYPE_I8, .zero = &b->zero };
    const uint8_t *x = window_at(s, b->image, first);
    uint8_t *rows = (uint8_t *) e->scratch + s->image_bytes;
    if (s->places.n) {
        e->kern->places_sum(sums, x, (size_t) s->step, n, &b->places);
        return;
    }
    struct kern_q8 w = kern_q8_open(s->packed, (size_t) s->y[3], (size_t) s->k);
    w.bias = e->n_in > IN_BIAS ? e->x[IN_BIAS] : NULL;
    w.floats = ((const struct byte_conv_attr *) e->attr)->floats;
    if (!s->dense)
        windows_gather(s, rows, b->image, first, n);
    e->kern->gemm_q8(sums, w.n, s->dense ? x : rows, (size_t) (s->dense ? s->step : s->k), &w, &how,
                     n);
}

static void conv_eval(const struct eval *e)
{
    const struct conv_args *s = e->args;
    const bool bytes = s->to.by || s->scale.by;
    const int64_t all = s->y[1] * s->y[2], n = s->y[3];
    const int64_t line = s->dense || s->places.n ? s->line : all;
    for (int64_t i = 0; i < s->n[0]; i++) {
        const struct batch b = batch_begin(e, i);
        for (int64_t first = 0; first < all;) {
            const size_t some = windows_after(first, line);
            const int64_t at = (i * all + first) * n;
            windows_sum(e, &b, bytes ? sums_of(e) : (int32_t *) e->y[0] + at, first, some);
            if (bytes)
                sums_put(e, (uint8_t *) e->y[0] + at, sums_of(e), some);
            first += (int64_t) some;
        }
    }
    epilogue_rows(&s->epilogue, e, e->y[0]);
}

static const struct op op_byte_conv = {
    .id = OP_BYTE_CONV,
    .name = "ByteConv",
    .attrs = conv_attrs,
    .attr_bytes = sizeof(struct byte_conv_attr),
    .min_in = 2,
    .max_in = 6,
    .own_in = EPILOGUE_IN_MAX,
    .epilogue_in = IN_EPILOGUE,
    .epilogue_at = offsetof(struct byte_conv_attr, epilogue),
    .epilogue_axis = -1,
    .min_out = 1,
    .max_out = 1,
    .infer = conv_infer,
    .prepare = conv_prepare,
    .eval = conv_eval,
    .help = "convolution of bytes, channels last, to exact sums or by fixed-point factors to bytes",
};

const struct op *const ops_byte_conv[] = { &op_byte_conv, NULL };
