/* SPDX-License-Identifier: MIT */
/* What ops do to windows that lie in a stream. */
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/slide_rules.h"

#include <string.h>

/* A list of so many numbers in the place of input i. */
static int64_t *instead(struct slider *s, unsigned i, unsigned n)
{
    int64_t *v = arena_array(s->g->arena, int64_t, n + 1);
    s->way->instead[i] = (struct attr_ints) { v ? n : 0, v };
    if (!v)
        s->status = RILL_NOMEM;
    return v;
}

/* ---- frame by frame ---- */

static bool places_agree(const struct place *a, const struct place *b)
{
    return a->size == b->size && a->hop == b->hop && a->stride == b->stride &&
        a->beyond == b->beyond && a->left == b->left && a->right == b->right;
}

/* Operands are aligned at their last axes; one that stays the same has no frames of its own. */
static const char *pointwise_slides(struct slider *s)
{
    const int rank = s->g->wires[s->n->out[0]].fact.rank;
    struct place *out = &s->way->out;
    out->axis = -1;
    for (unsigned i = 0; i < s->n->n_in; i++) {
        struct place p = s->in[i];
        if (p.axis < 0)
            continue;
        p.axis += rank - rank_of(s, i);
        if (out->axis >= 0 && (p.axis != out->axis || !places_agree(&p, out)))
            return OPERANDS;
        *out = p;
    }
    for (unsigned i = 0; i < s->n->n_in; i++) {
        if (s->n->in[i] == WIRE_NONE || s->in[i].axis >= 0)
            continue;
        const int axis = out->axis - (rank - rank_of(s, i));
        if (axis >= 0 && !dim_is(fact_of(s, i)->shape[axis], 1))
            return OPERANDS;
    }
    return NULL;
}

static const char *axis_attr_slides(struct slider *s)
{
    const int own = axis_normalise(axis_of(s->n), rank_of(s, 0));
    if (!first_only(s))
        return OPERANDS;
    return s->in[0].axis == own ? WHOLE : moved_to(s, s->in[0].axis);
}

/* Normalisations over the last axes; scales that have the frames' axis differ along it. */
static const char *trailing_slides(struct slider *s)
{
    const int own = axis_normalise(axis_of(s->n), rank_of(s, 0)), rank = rank_of(s, 0);
    if (!first_only(s) || (s->n->n_out > 1 && s->n->out[1] != WIRE_NONE))
        return OPERANDS;
    for (unsigned i = 1; i < s->n->n_in; i++)
        if (s->n->in[i] != WIRE_NONE && rank_of(s, i) > rank - own)
            return OPERANDS;
    return s->in[0].axis >= own ? WHOLE : moved_to(s, s->in[0].axis);
}

/* Statistics, or sums, of channels. */
static const char *channels_slide(struct slider *s)
{
    if (!first_only(s) || s->n->n_out != 1)
        return OPERANDS;
    return s->in[0].axis == 1 ? WHOLE : moved_to(s, s->in[0].axis);
}

static const char *rows_slide(struct slider *s)
{
    struct place *out = &s->way->out;
    out->axis = -1;
    for (unsigned i = 0; i < s->n->n_in; i++) {
        const struct place *p = &s->in[i];
        if (s->n->in[i] == WIRE_NONE)
            continue;
        if (p->axis < 0 || (out->axis >= 0 && (p->axis != out->axis || !places_agree(p, out))) ||
            rank_of(s, i) != rank_of(s, 0))
            return OPERANDS;
        *out = *p;
    }
    return out->axis == rank_of(s, 0) - 1 ? WHOLE : NULL;
}

static const char *matmul_slides(struct slider *s)
{
    if (!first_only(s) || rank_of(s, 1) > 2)
        return OPERANDS;
    return s->in[0].axis == rank_of(s, 0) - 1 ? WHOLE : moved_to(s, s->in[0].axis);
}

/* Zeros of rows would run along the stream. */
static const char *matmul_integer_slides(struct slider *s)
{
    return node_has_input(s->n, 2) && !fact_is_single(fact_of(s, 2)) ? OPERANDS : matmul_slides(s);
}

static const char *gemm_slides(struct slider *s)
{
    const struct fact *bias = node_has_input(s->n, 2) ? fact_of(s, 2) : NULL;
    if (!first_only(s) || gemm_attr_of(s->n)->ta ||
        (bias && bias->rank == 2 && !dim_is(bias->shape[0], 1)))
        return OPERANDS;
    return s->in[0].axis == 1 ? WHOLE : moved_to(s, 0);
}

static const char *quantised_slides(struct slider *s)
{
    const struct fact *scale = fact_of(s, 1);
    const int own = axis_normalise(axis_of(s->n), rank_of(s, 0)), axis = s->in[0].axis;
    if (!first_only(s) || quant_attr_of(s->n)->block_size)
        return OPERANDS;
    return fact_is_single(scale) || (scale->rank == 1 && axis != own) ? moved_to(s, axis)
                                                                      : OPERANDS;
}

/* An empty list may mean all axes. */
static bool axes_read(const struct slider *s, unsigned i, int rank, bool *ret)
{
    int64_t v[RANK_MAX];
    unsigned n;
    memset(ret, 0, RANK_MAX * sizeof *ret);
    if (!node_has_input(s->n, i) || !match_ints(s->g, s->n->in[i], v, RANK_MAX, &n) || !n)
        return false;
    for (unsigned k = 0; k < n; k++) {
        int a = axis_normalise(v[k], rank);
        if (a < 0)
            return false;
        ret[a] = true;
    }
    return true;
}

static int count_below(const bool *is, int axis)
{
    int n = 0;
    for (int i = 0; i < axis; i++)
        n += is[i];
    return n;
}

static const char *reduce_slides(struct slider *s)
{
    bool is[RANK_MAX];
    const int axis = s->in[0].axis;
    if (!first_only(s) || !axes_read(s, 1, rank_of(s, 0), is) || is[axis])
        return WHOLE;
    return moved_to(s, reduce_attr_of(s->n)->keepdims ? axis : axis - count_below(is, axis));
}

/* ---- moves ---- */

static const char *transpose_slides(struct slider *s)
{
    struct attr_ints perm = transpose_attr_of(s->n)->perm;
    const int rank = rank_of(s, 0);
    int to = 0;
    while (perm.n && to < rank && perm.v[to] != s->in[0].axis)
        to++;
    return moved_to(s, perm.n ? to : rank - 1 - s->in[0].axis);
}

static const char *squeeze_slides(struct slider *s)
{
    bool is[RANK_MAX];
    if (!axes_read(s, 1, rank_of(s, 0), is) || is[s->in[0].axis])
        return WHOLE;
    return moved_to(s, s->in[0].axis - count_below(is, s->in[0].axis));
}

static const char *unsqueeze_slides(struct slider *s)
{
    const int rank = s->g->wires[s->n->out[0]].fact.rank;
    bool is[RANK_MAX];
    int to = 0;
    if (!axes_read(s, 1, rank, is))
        return SIZED;
    for (int left = s->in[0].axis; to < rank && (is[to] || left-- > 0);)
        to++;
    return moved_to(s, to);
}

/* Elements in front of an axis; -1: not known. */
static int64_t in_front(const struct fact *f, int axis)
{
    int64_t n = 1;
    for (int i = 0; i < axis; i++)
        if (!dim_is_const(f->shape[i]) || __builtin_mul_overflow(n, dim_value(f->shape[i]), &n))
            return -1;
    return n;
}

/* The frames stay an axis, with as much in front of it. */
static const char *reshape_slides(struct slider *s)
{
    const struct fact *from = fact_of(s, 0), *to = &s->g->wires[s->n->out[0]].fact;
    int64_t front = in_front(from, s->in[0].axis);
    int axis = 0;
    if (!first_only(s) || front < 0 || in_front(from, from->rank) < 1 || in_front(to, to->rank) < 1)
        return SIZED;
    while (axis < to->rank &&
           (in_front(to, axis) != front || !dim_is(to->shape[axis], place_frames(&s->in[0]))))
        axis++;
    if (axis == to->rank)
        return WHOLE;
    int64_t *shape = instead(s, 1, (unsigned) to->rank);
    for (int i = 0; shape && i < to->rank; i++)
        shape[i] = i == axis ? -1 : dim_value(to->shape[i]);
    s->way->op = OP_RESHAPE;
    return moved_to(s, axis);
}

struct cut {
    int64_t v[4][RANK_MAX]; /* starts, ends, axes, steps */
    unsigned n;
};

static bool cut_read(const struct slider *s, struct cut *c)
{
    for (unsigned k = 0; k < 4; k++) {
        unsigned n = 0;
        if (node_has_input(s->n, 1 + k)) {
            if (!match_ints(s->g, s->n->in[1 + k], c->v[k], RANK_MAX, &n) || (k && n != c->n))
                return false;
        } else {
            for (n = 0; k > 1 && n < c->n; n++)
                c->v[k][n] = k == 2 ? n : 1;
        }
        c->n = n;
    }
    return true;
}

static int64_t clamped(int64_t v, int64_t size)
{
    v += v < 0 ? size : 0;
    return v < 0 ? 0 : v > size ? size : v;
}

/* Frames first, first + step .. of a window: as many are taken off the end of the stream as off
 * that of the window. */
static const char *cut_frames(struct slider *s, struct cut *c, unsigned i)
{
    struct place p = s->in[0];
    const int64_t step = c->v[3][i], first = clamped(c->v[0][i], p.size),
                  end = clamped(c->v[1][i], p.size);
    if (step < 1 || end <= first)
        return WHOLE;
    if (p.left || p.right)
        return ENDS;
    if (p.hop % step)
        return STRIDE;
    const int64_t frames = (end - first - 1) / step + 1, last = first + (frames - 1) * step + 1;
    c->v[0][i] = first;
    c->v[1][i] = last == p.size ? INT64_MAX : last - p.size;
    p.size = frames;
    p.hop /= step;
    p.stride *= step;
    s->way->out = p;
    return NULL;
}

static const char *slice_slides(struct slider *s)
{
    struct cut c = { .n = 0 };
    const char *why = moved_to(s, s->in[0].axis);
    if (!first_only(s) || !cut_read(s, &c))
        return SIZED;
    for (unsigned i = 0; i < c.n && !why; i++)
        if (axis_normalise(c.v[2][i], rank_of(s, 0)) == s->in[0].axis)
            why = cut_frames(s, &c, i);
    for (unsigned k = 0; k < 4 && !why; k++) {
        int64_t *v = instead(s, 1 + k, c.n);
        if (v)
            memcpy(v, c.v[k], c.n * sizeof *v);
    }
    return why;
}

static const char *pad_slides(struct slider *s)
{
    const int rank = rank_of(s, 0);
    int64_t pads[2 * RANK_MAX], axes[RANK_MAX];
    unsigned n, m = (unsigned) rank;
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    if (!first_only(s) || !match_ints(s->g, s->n->in[1], pads, 2 * RANK_MAX, &n) ||
        (node_has_input(s->n, 3) && !match_ints(s->g, s->n->in[3], axes, RANK_MAX, &m)) ||
        n != 2 * m)
        return SIZED;
    for (unsigned i = 0; i < m; i++)
        if (axis_normalise(axes[i], rank) == s->in[0].axis && (pads[i] || pads[m + i]))
            return PADDED;
    return moved_to(s, s->in[0].axis);
}

static const char *concat_slides(struct slider *s)
{
    const int own = axis_normalise(axis_of(s->n), rank_of(s, 0));
    for (unsigned i = 0; i < s->n->n_in; i++)
        if (s->in[i].axis < 0 || s->in[i].axis != s->in[0].axis ||
            !places_agree(&s->in[i], &s->in[0]))
            return OPERANDS;
    return s->in[0].axis == own ? WHOLE : moved_to(s, s->in[0].axis);
}

static const char *gather_slides(struct slider *s)
{
    const int own = axis_normalise(axis_of(s->n), rank_of(s, 0)), axis = s->in[0].axis;
    if (!first_only(s))
        return OPERANDS;
    return axis == own ? WHOLE : moved_to(s, axis < own ? axis : axis + rank_of(s, 1) - 1);
}

/* ---- which op ---- */

static const struct slide_rule {
    enum op_id op;
    const char *(*slides)(struct slider *s); /* NULL: it never does */
} rules[] = {
    { OP_AVERAGE_POOL, pool_slides },
    { OP_BATCH_NORMALIZATION, channels_slide },
    { OP_BYTE_CONV, byte_conv_slides },
    { OP_BYTE_POOL, byte_pool_slides },
    { OP_COMPLEX_MUL, rows_slide },
    { OP_CONCAT, concat_slides },
    { OP_CONV, conv_slides },
    { OP_CONV_INTEGER, conv_slides },
    { OP_DEQUANTIZE_LINEAR, quantised_slides },
    { OP_FLATTEN, reshape_slides },
    { OP_GATHER, gather_slides },
    { OP_GEMM, gemm_slides },
    { OP_HARDMAX, axis_attr_slides },
    { OP_IRFFT, rows_slide },
    { OP_LAYER_NORMALIZATION, trailing_slides },
    { OP_LOG_SOFTMAX, axis_attr_slides },
    { OP_LP_NORMALIZATION, axis_attr_slides },
    { OP_LP_POOL, pool_slides },
    { OP_LRN, channels_slide },
    { OP_MAGNITUDE, rows_slide },
    { OP_MATMUL, matmul_slides },
    { OP_MATMUL_INTEGER, matmul_integer_slides },
    { OP_MAX_POOL, pool_slides },
    { OP_PAD, pad_slides },
    { OP_QUANTIZE_LINEAR, quantised_slides },
    { OP_RFFT, rows_slide },
    { OP_RMS_NORMALIZATION, trailing_slides },
    { OP_REDUCE_L1, reduce_slides },
    { OP_REDUCE_L2, reduce_slides },
    { OP_REDUCE_LOG_SUM, reduce_slides },
    { OP_REDUCE_LOG_SUM_EXP, reduce_slides },
    { OP_REDUCE_MAX, reduce_slides },
    { OP_REDUCE_MEAN, reduce_slides },
    { OP_REDUCE_MIN, reduce_slides },
    { OP_REDUCE_PROD, reduce_slides },
    { OP_REDUCE_SUM, reduce_slides },
    { OP_REDUCE_SUM_SQUARE, reduce_slides },
    { OP_RESHAPE, reshape_slides },
    { OP_SLICE, slice_slides },
    { OP_SOFTMAX, axis_attr_slides },
    { OP_SPLIT, axis_attr_slides },
    { OP_SQUEEZE, squeeze_slides },
    { OP_TRANSPOSE, transpose_slides },
    { OP_UNSQUEEZE, unsqueeze_slides },
    { OP_CAST_LIKE, NULL },
    { OP_GLOBAL_AVERAGE_POOL, NULL },
    { OP_GLOBAL_LP_POOL, NULL },
    { OP_GLOBAL_MAX_POOL, NULL },
    { OP_GRU, NULL },
    { OP_INSTANCE_NORMALIZATION, NULL },
    { OP_LSTM, NULL },
    { OP_RNN, NULL },
};

static const char *rule_run(struct slider *s)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (node_is(s->n, rules[i].op))
            return rules[i].slides ? rules[i].slides(s) : WHOLE;
    return s->n->op->flags & OP_POINTWISE && s->n->n_out == 1 ? pointwise_slides(s) : OTHER;
}

/* Where the rule says nothing of the ends, frames come of as many. */
static void ends_default(const struct place *p, struct window_end *end)
{
    if (!end[0].to)
        end[0].to = p->left;
    if (!end[1].to) {
        end[1].from = p->left + p->size;
        end[1].to = place_frames(p);
    }
}

/* Less than an eighth of the frames would be saved. */
static bool ends_cost(const struct place *p)
{
    return 8 * (p->hop + p->left + p->right) > 7 * place_frames(p);
}

const char *node_slides(const struct graph *body, const struct node *n, const struct place *in,
                        bool ends, struct way *ret, rill_status *ret_status)
{
    struct slider s = { .g = body, .n = n, .in = in, .way = ret, .status = RILL_OK };
    memset(ret, 0, sizeof *ret);
    if (n->n_body || n->op->flags & (OP_RANDOM | OP_CONTROL) || !n->n_out || n->out[0] == WIRE_NONE)
        return OTHER;
    const char *why = rule_run(&s);
    *ret_status = s.status;
    if (why)
        return why;
    if ((ret->out.left || ret->out.right) && (!ends || ends_cost(&ret->out)))
        return ENDS;
    ends_default(&ret->out, ret->end);
    return ret->out.hop > ret->out.size ? APART : NULL;
}

bool node_moves_alone(const struct node *n)
{
    static const enum op_id moves[] = { OP_TRANSPOSE, OP_SQUEEZE,  OP_UNSQUEEZE, OP_RESHAPE,
                                        OP_FLATTEN,   OP_SLICE,    OP_PAD,       OP_CONCAT,
                                        OP_GATHER,    OP_IDENTITY, OP_SPLIT };
    return node_is_among(n, moves, sizeof moves / sizeof *moves);
}
