/* SPDX-License-Identifier: MIT */
/* Attention along time whose mask is a function of positions.
 *
 * Scores [.., i, .., j] with a mask that shows each chunk of queries only keys from `left` frames
 * before the chunk to `right` frames behind it become [.., pulse, left + pulse + right] per run:
 * the keys are a history, the queries wait for the keys behind them. A run holds whole chunks.
 * Column c of a run stands for the key c - left frames from the run's first query. */
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "pulse/positions.h"
#include "pulse/rules.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define CHUNK_MAX 512
#define CONTEXT_MAX 2048 /* frames that a mask is looked at to both sides */
#define HIDES (-1e4)     /* a score at or below which softmax gives 0 */
#define SHIFT_MAX 1e3    /* may be added to a hidden score */
#define SCALE_MAX 16.0   /* may divide one: softmax gives 0 still */
#define FAR ((int64_t) 1 << 20)

#define MASKS_MAX 8 /* one after the other on the same scores */

enum mask_kind {
    MASK_HIDES_ONE, /* hidden where e is 1 */
    MASK_HIDES_ZERO,
    MASK_ADDED /* hidden where what is added is that low */
};

struct mask {
    struct position at;
    enum mask_kind kind;
    int axis_i, axis_j;
};

struct masks {
    struct mask mask[MASKS_MAX];
    unsigned n;
};

struct band {
    int64_t chunk, left, right;
};

/* ---- what a mask shows ---- */

static const struct position *position_of(const struct pulser *p, uint32_t w)
{
    return p->positions && w != WIRE_NONE && p->positions->of[w].e ? &p->positions->of[w] : NULL;
}

bool pulser_time_twice(const struct pulser *p, uint32_t w)
{
    int n = 0;
    for (int i = 0; w != WIRE_NONE && p->symbol && i < pulser_fact(p, w)->rank; i++)
        n += dim_mentions(pulser_fact(p, w)->shape[i], p->symbol);
    return n == 2;
}

bool pulser_is_mask(const struct pulser *p, uint32_t w)
{
    return position_of(p, w) && pulser_time_twice(p, w);
}

static bool hides(const struct position *c)
{
    return c && c->pair && c->one == c->zero && c->one <= HIDES;
}

/* The mask that n lays over scores w of that rank, with time on axes i and j of ret. */
static bool mask_of(const struct pulser *p, const struct node *n, uint32_t w, struct mask *ret)
{
    uint32_t m = WIRE_NONE;
    if (node_is(n, OP_WHERE) && pulser_is_mask(p, n->in[0])) {
        m = n->in[0];
        ret->kind = n->in[2] == w ? MASK_HIDES_ONE : MASK_HIDES_ZERO;
        if (!hides(position_of(p, ret->kind == MASK_HIDES_ONE ? n->in[1] : n->in[2])))
            return false;
    } else if (node_is(n, OP_ADD)) {
        m = n->in[0] == w ? n->in[1] : n->in[0];
        ret->kind = MASK_ADDED;
        if (!pulser_is_mask(p, m))
            return false;
    } else {
        return false;
    }
    int shift = pulser_fact(p, n->out[0])->rank - pulser_fact(p, m)->rank;
    ret->at = *position_of(p, m);
    ret->at.pair &= ret->kind == MASK_ADDED;
    ret->axis_i -= shift;
    ret->axis_j -= shift;
    return ret->axis_i >= 0 && ret->axis_j >= 0;
}

/* Scores keep their places in ops with constants, on the way to their mask. */
static bool passes_scores(const struct pulser *p, const struct node *n, uint32_t w)
{
    bool all = (n->op->flags & OP_POINTWISE) && n->n_out == 1;
    for (unsigned i = 0; i < n->n_in; i++)
        all &= n->in[i] == w || (n->in[i] != WIRE_NONE && pulser_fact(p, n->in[i])->value);
    return all;
}

/* The one node that reads w; NULL of several. */
static const struct node *only_consumer(const struct pulser *p, uint32_t w)
{
    const struct node *found = NULL;
    for (uint32_t k = 0; k < p->src->n_nodes; k++) {
        const struct node *n = &p->src->nodes[k];
        for (unsigned i = 0; i < n->n_in; i++) {
            if (n->in[i] == w && found && found != n)
                return NULL;
            found = n->in[i] == w ? n : found;
        }
    }
    return found;
}

/* All masks that lie over scores w before anything else is done with them: what one of them hides
 * is hidden. Gives the node behind them; NULL: several read the scores, or none does. */
static const struct node *masks_find(const struct pulser *p, uint32_t w, int axis_i, int axis_j,
                                     struct masks *ret)
{
    const struct node *n;
    ret->n = 0;
    while ((n = only_consumer(p, w)) != NULL && ret->n < MASKS_MAX) {
        struct mask *m = &ret->mask[ret->n];
        *m = (struct mask) { .axis_i = axis_i, .axis_j = axis_j };
        if (mask_of(p, n, w, m))
            ret->n++;
        else if (!passes_scores(p, n, w))
            break;
        w = n->out[0];
    }
    return n;
}

/* row: of each mask, that of one query. */
static bool masks_show(const struct positions *ps, const struct masks *all,
                       const struct position *row, int64_t j, bool *ret)
{
    *ret = true;
    for (unsigned k = 0; k < all->n; k++) {
        const struct mask *m = &all->mask[k];
        double v;
        if (!position_value(ps, &row[k], m->axis_j, j, &v))
            return false;
        *ret &= m->kind == MASK_ADDED ? v > HIDES : (v != 0) == (m->kind == MASK_HIDES_ZERO);
    }
    return true;
}

static bool masks_repeat(const struct positions *ps, const struct masks *all, int64_t c)
{
    for (unsigned k = 0; k < all->n; k++)
        if (!position_repeats(ps, &all->mask[k].at, all->mask[k].axis_i, all->mask[k].axis_j, c))
            return false;
    return true;
}

/* What one query of a chunk sees; false where that has no bound. */
static bool query_sees(const struct positions *ps, const struct masks *m, int64_t first, int64_t i,
                       int64_t *low, int64_t *high)
{
    static const int64_t beyond[] = { CONTEXT_MAX + 1, 10 * CONTEXT_MAX, FAR / 2 };
    struct position row[MASKS_MAX];
    bool shows;
    for (unsigned k = 0; k < m->n; k++)
        row[k] = position_row(ps, &m->mask[k].at, m->mask[k].axis_i, first + i);
    for (int64_t at = -CONTEXT_MAX; at <= CONTEXT_MAX; at++) {
        if (!masks_show(ps, m, row, first + at, &shows))
            return false;
        *low = shows && at < *low ? at : *low;
        *high = shows && at > *high ? at : *high;
    }
    for (unsigned k = 0; k < 6; k++)
        if (!masks_show(ps, m, row, first + (k % 2 ? -1 : 1) * beyond[k / 2], &shows) || shows)
            return false;
    return *low > -CONTEXT_MAX && *high < CONTEXT_MAX;
}

static bool band_measure(const struct positions *ps, const struct masks *m, struct band *ret)
{
    int64_t c = 1, low = CONTEXT_MAX, high = -CONTEXT_MAX;
    while (c <= CHUNK_MAX && !masks_repeat(ps, m, c))
        c++;
    if (c > CHUNK_MAX)
        return false;
    for (int64_t i = 0; i < c; i++)
        if (!query_sees(ps, m, FAR / c * c, i, &low, &high))
            return false;
    *ret = (struct band) { c, low < 0 ? -low : 0, high > c - 1 ? high - (c - 1) : 0 };
    return low <= high;
}

/* ---- scores: queries times keys ---- */

static bool matmul_axes(const struct pulser *p, const struct node *n, int *ret_query, int *ret_key)
{
    int rank = pulser_fact(p, n->out[0])->rank, a = pulser_fact(p, n->in[0])->rank,
        b = pulser_fact(p, n->in[1])->rank;
    const struct stream_fact *q = pulser_stream(p, n->in[0]), *k = pulser_stream(p, n->in[1]);
    *ret_query = rank - 2;
    *ret_key = rank - 1;
    return node_is(n, OP_MATMUL) && q->axis == a - 2 && k->axis == b - 1;
}

static rill_status scores_refuse(const struct pulser *p, const struct node *n, const char *why)
{
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it multiplies every frame of input 0 with every frame of "
                   "input 1, both along the time axis; %s",
                   why);
}

/* behind: what the scores go through first. */
static rill_status unmasked_refuse(const struct pulser *p, const struct node *n,
                                   const struct node *behind)
{
    char found[120] = "", why[280];
    if (behind)
        snprintf(found, sizeof found, "; node '%.60s' (%s) is none", behind->name,
                 behind->op->name);
    snprintf(why, sizeof why,
             "a mask that is a function of positions, laid over the product before its softmax, "
             "would limit it to a window%s",
             found);
    return scores_refuse(p, n, why);
}

/* Queries wait until the keys behind their chunk are there, and for the start of a chunk. */
static rill_status scores_align(struct pulser *p, const struct node *n, const struct band *b,
                                struct flow *q, struct flow *k)
{
    int64_t delay = k->sf.delay + b->right;
    delay = delay > q->sf.delay ? delay : q->sf.delay;
    delay = (delay + b->chunk - 1) / b->chunk * b->chunk;
    TRY(flow_delay(p, n->name, q, delay - q->sf.delay));
    TRY(flow_delay(p, n->name, k, delay - b->right - k->sf.delay));
    return flow_history(p, n->name, k, b->left + b->right, NULL);
}

static rill_status rule_scores(struct pulser *p, const struct node *n)
{
    struct flow q, k;
    struct masks m = { .n = 0 };
    struct band b;
    int query, key;
    uint32_t out;
    flow_of(p, n->in[0], &q);
    flow_of(p, n->in[1], &k);
    if (!matmul_axes(p, n, &query, &key) || q.sf.pulse != k.sf.pulse)
        return scores_refuse(
            p, n, "only queries times transposed keys of one rate can be limited to a window");
    const struct node *behind =
        p->positions ? masks_find(p, n->out[0], query, key, &m) : only_consumer(p, n->out[0]);
    if (m.n == 0)
        return unmasked_refuse(p, n, behind);
    if (!band_measure(p->positions, &m, &b))
        return scores_refuse(
            p, n,
            "its mask does not repeat from chunk to chunk of at most 512 frames, or shows frames "
            "more than 2048 away");
    TRY(pulser_want_multiple(p, n, &q.sf, b.chunk, "the chunks of its mask"));
    TRY(flow_resolve(p, n, &k)); /* values are masked at the end, and come as late as that needs */
    TRY(scores_align(p, n, &b, &q, &k));
    TRY(pulser_emit(p, n->op, n->name, n->attr, (uint32_t[]) { q.wire, k.wire }, 2, &out, 1));
    q.sf.axis = query;
    q.sf.uniform = false;
    q.sf.key_axis = key;
    q.sf.keys = b.left + q.sf.pulse + b.right;
    q.sf.left = b.left;
    q.sf.chunk = b.chunk;
    return pulser_bind(p, n, 0, out, &q.sf);
}

/* ---- ops on scores ---- */

/* The part of a mask that every run sees. */
static rill_status mask_emit(struct pulser *p, const struct node *n, uint32_t w,
                             const struct stream_fact *s, uint32_t *ret)
{
    const struct fact *f = pulser_fact(p, w);
    int shift = pulser_fact(p, n->out[0])->rank - f->rank, i = s->axis - shift,
        j = s->key_axis - shift;
    int64_t shape[RANK_MAX], first = FAR / s->chunk * s->chunk;
    if (i < 0 || j < 0)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its mask does not line up with the scores");
    if (!position_repeats(p->positions, position_of(p, w), i, j, s->chunk))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its mask does not repeat with the %lld frames of a chunk "
                       "that the masks before it have",
                       (long long) s->chunk);
    for (int a = 0; a < f->rank; a++)
        shape[a] = a == i ? s->pulse : a == j ? s->keys : 1;
    struct tensor *t = tensor_new(p->arena, f->type, f->rank, shape);
    if (!t)
        return pulser_no_memory(p);
    for (int64_t q = 0; q < s->pulse; q++) {
        const struct position row = position_row(p->positions, position_of(p, w), i, first + q);
        for (int64_t k = 0; k < s->keys; k++) {
            double v;
            if (!position_value(p->positions, &row, j, first + k - s->left, &v))
                return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its mask has no value");
            tensor_set_f64(t, t->data, i < j ? q * s->keys + k : k * s->pulse + q, v);
        }
    }
    *ret = graph_add_const(p->dst, p->src->wires[w].name, t);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

/* Keys outside the sequence are hidden like those that the mask hides. */
static rill_status hide_outside(struct pulser *p, const struct node *n, const struct stream_fact *s,
                                uint32_t *wire)
{
    struct clock_attr *at = arena_new(p->arena, struct clock_attr);
    uint32_t clock, in[3];
    if (!at)
        return pulser_no_memory(p);
    *at = (struct clock_attr) { .pulse = s->pulse, .frames = s->keys, .delay = s->delay + s->left };
    TRY(pulser_length_place(p, pulser_fact(p, n->out[0])->shape[s->key_axis], &at->length));
    TRY(pulser_clock(p, &clock));
    TRY(pulser_emit(p, &op_pulse_valid, n->name, at, &clock, 1, &in[0], 1));
    if (s->key_axis != pulser_fact(p, n->out[0])->rank - 1) {
        uint32_t shape;
        TRY(pulser_ints(p, n->name, (int64_t[]) { s->keys, 1 }, 2, &shape));
        TRY(pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, (uint32_t[]) { in[0], shape }, 2,
                           &in[0]));
    }
    in[1] = *wire;
    in[2] = graph_add_const(p->dst, n->name,
                            tensor_from_data(p->arena, DTYPE_F32, 0, NULL, &(float) { -INFINITY }));
    return in[2] == WIRE_NONE ? pulser_no_memory(p)
                              : pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, wire);
}

static bool same_scores(const struct stream_fact *a, const struct stream_fact *b)
{
    return a->keys == b->keys && a->left == b->left && a->delay == b->delay && a->axis == b->axis &&
        a->key_axis == b->key_axis && a->masked == b->masked && a->weights == b->weights;
}

static rill_status scores_operand(struct pulser *p, const struct node *n, unsigned i,
                                  const struct stream_fact *s, uint32_t *ret)
{
    const struct stream_fact *own = pulser_stream(p, n->in[i]);
    if (pulser_is_mask(p, n->in[i]))
        return mask_emit(p, n, n->in[i], s, ret);
    if (own ? !same_scores(own, s)
            : pulser_fact(p, n->in[i])->rank > 0 && !pulser_fact(p, n->in[i])->value)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: input %u meets scores of attention over time, but is "
                       "neither a constant nor a mask made of positions",
                       i);
    *ret = p->map[n->in[i]];
    return RILL_OK;
}

static const struct stream_fact *scores_of(const struct pulser *p, const struct node *n,
                                           unsigned *ret)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        *ret = i;
        if (s && s->keys)
            return s;
    }
    return NULL;
}

/* All elements of the constant lie in least..most; false of what is none. */
static bool constant_within(const struct pulser *p, uint32_t w, double least, double most)
{
    const struct tensor *v = pulser_fact(p, w)->value;
    bool all = v && v->type != DTYPE_DIM;
    for (int64_t i = 0; all && i < tensor_count(v); i++) {
        double x = tensor_get_f64(v, v->data, i);
        all = x >= least && x <= most;
    }
    return all;
}

/* What is hidden stays so low that the softmax makes it 0. */
static bool keeps_hidden(const struct pulser *p, const struct node *n, unsigned first)
{
    enum op_id op = n->op->id;
    if (op == OP_IDENTITY || op == OP_CAST || op == OP_ROUND_F16 || op == OP_ROUND_BF16)
        return true;
    if (n->n_in != 2 || (first > 0 && (op == OP_SUB || op == OP_DIV)))
        return false;
    if (op == OP_ADD || op == OP_SUB)
        return constant_within(p, n->in[1 - first], -SHIFT_MAX, SHIFT_MAX);
    if (op == OP_MUL)
        return constant_within(p, n->in[1 - first], 1.0 / SCALE_MAX, INFINITY);
    return op == OP_DIV && constant_within(p, n->in[1], DBL_MIN, SCALE_MAX);
}

/* A weight of 0 stays 0. */
static bool keeps_zero(const struct pulser *p, const struct node *n, unsigned first)
{
    static const enum op_id always[] = {
        OP_IDENTITY, OP_CAST, OP_MUL,  OP_RELU,      OP_NEG,
        OP_ABS,      OP_SQRT, OP_TANH, OP_ROUND_F16, OP_ROUND_BF16
    };
    if (node_is_among(n, always, sizeof always / sizeof *always))
        return true;
    if (node_is(n, OP_WHERE))
        for (unsigned i = 1; i < 3; i++)
            if (i != first && !constant_within(p, n->in[i], 0, 0))
                return false;
    return (node_is(n, OP_WHERE) && first > 0) ||
        (node_is(n, OP_DIV) && first == 0 && pulser_fact(p, n->in[1])->value);
}

static rill_status scores_pointwise(struct pulser *p, const struct node *n, struct stream_fact s,
                                    unsigned first)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1), out;
    struct mask m = { .axis_i = s.axis, .axis_j = s.key_axis };
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        TRY(scores_operand(p, n, i, &s, &in[i]));
    bool masks = !s.weights && mask_of(p, n, n->in[first], &m);
    if (s.weights ? !keeps_zero(p, n, first) : s.masked && !masks && !keeps_hidden(p, n, first))
        return op_fail(
            p->err, RILL_UNSUPPORTED, n,
            "cannot stream: along axis %d of input %u, a time axis, frames that a mask has "
            "hidden would show again",
            s.key_axis, first);
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, &out, 1));
    if (masks) {
        TRY(hide_outside(p, n, &s, &out));
        s.masked = true;
    }
    return pulser_bind(p, n, 0, out, &s);
}

static rill_status scores_softmax(struct pulser *p, const struct node *n, struct stream_fact s)
{
    uint32_t out;
    if (axis_normalise(axis_of(n), pulser_fact(p, n->in[0])->rank) != s.key_axis || !s.masked ||
        s.weights)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it is global along a time axis that no mask limits");
    TRY(pulser_emit(p, n->op, n->name, n->attr, &p->map[n->in[0]], 1, &out, 1));
    s.weights = true;
    return pulser_bind(p, n, 0, out, &s);
}

/* Later by so many frames or some more. The keys of a row are counted from the first query of its
 * run, so a delay is whole runs. */
static rill_status weights_delay(struct pulser *p, const struct node *n, struct flow *w,
                                 int64_t frames)
{
    return frames <= 0
        ? RILL_OK
        : flow_delay(p, n->name, w, (frames + w->sf.pulse - 1) / w->sf.pulse * w->sf.pulse);
}

/* Weights [.., pulse, keys] times values [.., keys, width]. */
static rill_status weights_by_values(struct pulser *p, const struct node *n, struct stream_fact s)
{
    struct flow v, w = { p->map[n->in[0]], s };
    uint32_t out;
    int64_t right = s.keys - s.left - s.pulse;
    bool fits = flow_of(p, n->in[1], &v) && !v.sf.keys &&
        v.sf.axis == pulser_fact(p, n->in[1])->rank - 2 &&
        s.key_axis == pulser_fact(p, n->in[0])->rank - 1 && v.sf.pulse == s.pulse;
    if (!s.weights)
        return op_fail(
            p->err, RILL_UNSUPPORTED, n,
            "cannot stream: it sums over axis %d of input 0, a time axis, and no softmax "
            "under a mask has made weights of it",
            s.key_axis);
    if (!fits)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: weights of attention over time need values of the same "
                       "rate");
    TRY(flow_mask(p, n, &v, NULL, true,
                  true)); /* a weight of 0 does not hide what is not a number */
    TRY(weights_delay(p, n, &w, v.sf.delay + right - s.delay));
    TRY(flow_delay(p, n->name, &v, w.sf.delay - right - v.sf.delay));
    TRY(flow_history(p, n->name, &v, s.left + right, NULL));
    TRY(pulser_emit(p, n->op, n->name, n->attr, (uint32_t[]) { w.wire, v.wire }, 2, &out, 1));
    w.sf.keys = 0;
    w.sf.masked = w.sf.weights = false;
    return pulser_bind(p, n, 0, out, &w.sf);
}

bool node_is_attention(const struct pulser *p, const struct node *n)
{
    unsigned first;
    bool product =
        node_is(n, OP_MATMUL) && pulser_stream(p, n->in[0]) && pulser_stream(p, n->in[1]);
    return scores_of(p, n, &first) || (product && pulser_time_twice(p, n->out[0]));
}

rill_status rule_attention(struct pulser *p, const struct node *n)
{
    unsigned first;
    const struct stream_fact *s = scores_of(p, n, &first);
    if (!s)
        return rule_scores(p, n);
    if (n->op->flags & OP_POINTWISE)
        return scores_pointwise(p, n, *s, first);
    if (node_is(n, OP_SOFTMAX))
        return scores_softmax(p, n, *s);
    if (node_is(n, OP_MATMUL) && first == 0)
        return weights_by_values(p, n, *s);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: scores of attention over time go through element-wise ops, "
                   "a softmax over the keys and a MatMul with values, nothing else");
}
