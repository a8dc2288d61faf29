/* SPDX-License-Identifier: MIT */
/* Reshape and Flatten: the time axis stays, is merged with sizes behind it ([S, F] -> [S*F]) or
 * split ([S*F] -> [S, F]). What stands before it must stay: time is the outermost of what is
 * merged. */
#include "engine/ops/clock.h"
#include "pulse/axes.h"
#include "pulse/ints.h"
#include "pulse/parts.h"
#include "pulse/remainders.h"
#include "pulse/rules.h"
#include "pulse/tracks.h"

#include <stdio.h>

#define BATCH_MAX 8 /* sequences that are computed apart (engine/rewrite/declutter) */
#define NO_ROWS (-2)
#define ROWS_TRIED 4096 /* frames of a row; and rows that a length has to be tried */

/* The one axis of f that grows with the stream, -1 if there is none or another. */
static int time_axis(const struct pulser *p, const struct fact *f)
{
    int at = -1, n = 0;
    for (int i = 0; i < f->rank; i++)
        if (dim_mentions(f->shape[i], p->symbol)) {
            at = i;
            n++;
        }
    return n == 1 ? at : -1;
}

static const struct dim *leading(const struct pulser *p, const struct fact *f, int axis)
{
    const struct dim *d = dim_int(p->dst->dims, 1);
    for (int i = 0; i < axis; i++)
        d = dim_mul(p->dst->dims, d, f->shape[i]);
    return d;
}

/* Frames of `to` per frame of `from`. */
static bool frames_ratio(const struct pulser *p, const struct dim *from, const struct dim *to,
                         struct ratio *ret)
{
    int64_t a, b, c, d;
    if (!pulser_growth(p, from, &a, &b) || !pulser_growth(p, to, &c, &d) ||
        __builtin_mul_overflow(c, b, &ret->num) || __builtin_mul_overflow(d, a, &ret->den))
        return false;
    int64_t g = gcd(ret->num, ret->den);
    ret->num /= g;
    ret->den /= g;
    return ret->num <= INT32_MAX && ret->den <= INT32_MAX;
}

static rill_status reshape_frames(struct pulser *p, const struct node *n, const struct ratio *r,
                                  struct flow *f)
{
    int64_t pulse;
    TRY(pulser_want_multiple(p, n, &f->sf, r->den, "its hop"));
    if (f->sf.delay % r->den)
        TRY(flow_delay(p, n->name, f, r->den - f->sf.delay % r->den));
    if (__builtin_mul_overflow(f->sf.pulse / r->den, r->num, &pulse) || pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "a pulse of %lld frames is too long",
                       (long long) f->sf.pulse);
    f->sf.pulse = pulse;
    f->sf.delay = f->sf.delay / r->den * r->num;
    flow_scale(&f->sf, r->den, r->num);
    return RILL_OK;
}

/* No size of f grows with the stream. */
static bool is_fixed(const struct pulser *p, const struct fact *f)
{
    for (int i = 0; i < f->rank; i++)
        if (dim_mentions(f->shape[i], p->symbol))
            return false;
    return true;
}

/* The wire with so many frames, in the shape of the output. */
static rill_status part_emit(struct pulser *p, const struct node *n, int axis, int64_t frames,
                             uint32_t *wire)
{
    const struct fact *to = pulser_fact(p, n->out[0]);
    int64_t shape[RANK_MAX];
    uint32_t in[2] = { *wire };
    for (int i = 0; i < to->rank; i++)
        shape[i] = i == axis ? frames : dim_value(to->shape[i]);
    TRY(pulser_ints(p, n->name, shape, (unsigned) to->rank, &in[1]));
    return pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, in, 2, wire);
}

#define MERGED_MAX 16384 /* samples in front of the first block */

/* Of what is padded the frames in front that become whole frames are given ones, where several
 * become one; the others are the sequence's own. is: there are such. */
static rill_status padded_merge(struct pulser *p, const struct node *n, const struct ratio *r,
                                struct padded *q)
{
    const int64_t whole = q->before / r->den * r->den;
    q->is = whole && padded_heads_whole(p, q) &&
        (padded_by_copies(q) ? !p->outer && whole <= PADDED_GIVEN_MAX : whole <= MERGED_MAX);
    if (q->is)
        TRY(padded_given(p, n, p->sf[n->in[0]].length, whole, q));
    return RILL_OK;
}

/* What is padded stays so where every frame becomes whole frames, or some become one; copies, where
 * each becomes one. */
static rill_status padded_carry(struct pulser *p, const struct node *n, const struct ratio *r,
                                int axis)
{
    struct padded q = p->padded[n->in[0]];
    if (q.is && r->den != 1)
        TRY(padded_merge(p, n, r, &q));
    const bool given = q.mode == PULSE_PAD_VALUES;
    if (!q.is || (r->num != 1 && !given && q.mode != PULSE_PAD_CONSTANT))
        return RILL_OK;
    TRY(reshape_frames(p, n, r, &q.inner));
    q.inner.sf.axis = axis;
    q.inner.sf.length = r->den == 1
        ? dim_mul_int(p->dst->dims, q.inner.sf.length, r->num)
        : dim_add_int(p->dst->dims, pulser_fact(p, n->out[0])->shape[axis],
                      -q.before / r->den * r->num);
    TRY(padded_come_spread(p, &q, r->num, r->den, &q.come));
    q.before = q.before / r->den * r->num;
    q.after *= r->num;
    TRY(part_emit(p, n, axis, q.inner.sf.pulse, &q.inner.wire));
    if (given && q.before)
        TRY(part_emit(p, n, axis, q.before, &q.head));
    if (given && q.after)
        TRY(part_emit(p, n, axis, q.after, &q.tail));
    p->padded[n->out[0]] = q;
    return RILL_OK;
}

/* ---- blocks of which the first frames come before the last ---- */

/* An axis of blocks, that time is merged with: so many of its indices become so many frames. */
struct blocks {
    struct wire_part all; /* to: its size */
    int64_t indices, frames;
    int64_t first; /* as many as those, times so many, come a block before the others do */
};

static bool blocks_of(const struct pulser *p, const struct node *n, const struct ratio *r, int time,
                      struct blocks *ret)
{
    const struct fact *f = pulser_fact(p, n->in[0]);
    int axis = time + 1;
    while (axis < f->rank && dim_is(f->shape[axis], 1))
        axis++;
    if (p->outer || r->den != 1 || axis == f->rank || !dim_is_const(f->shape[axis]))
        return false;
    const int64_t size = dim_value(f->shape[axis]), least = smaller(size, r->num);
    if (least < 2)
        return false;
    *ret = (struct blocks) { .all = { n->in[0], axis, 0, size },
                             .indices = larger(size / r->num, 1),
                             .frames = larger(r->num / size, 1) };
    return larger(size, r->num) % least == 0;
}

/* Of a part of which nothing is emitted; INT64_MAX: there is none. */
static int64_t part_delay(struct pulser *p, const struct wire_part *x)
{
    const struct pulser before = *p;
    const struct graph dst = *p->dst;
    struct flow f;
    rill_error why = { 0 };
    p->err = &why;
    const rill_status s = p->part_of(p, x, &f);
    *p = before;
    *p->dst = dst;
    return s == RILL_OK ? f.sf.delay : INT64_MAX;
}

/* As many of the first ones as come before the delay of the whole; 0 where the others alone come
 * later than that. */
static int64_t blocks_first(struct pulser *p, const struct blocks *b, int64_t delay)
{
    struct wire_part x = b->all, late = b->all;
    int64_t some = 0, all = b->all.to / b->indices;
    while (all - some > 1) {
        const int64_t half = (some + all) / 2;
        x.to = half * b->indices;
        *(part_delay(p, &x) < delay ? &some : &all) = half;
    }
    late.from = some * b->indices;
    return some && part_delay(p, &late) <= delay ? some : 0;
}

/* Blocks begin with the frames that come last: those, and of the next block the others. */
static rill_status blocks_begin(struct pulser *p, const struct node *n, const struct blocks *b,
                                struct flow *f)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = b->all.axis };
    struct wire_part late = b->all, early = b->all;
    struct flow in[2];
    late.from = early.to = b->first * b->indices;
    TRY(p->part_of(p, &late, &in[0]));
    TRY(p->part_of(p, &early, &in[1]));
    TRY(flow_delay(p, n->name, &in[0], f->sf.delay - in[0].sf.delay));
    TRY(flow_delay(p, n->name, &in[1], f->sf.delay - 1 - in[1].sf.delay));
    return pulser_emit_op(p, OP_CONCAT, n->name, &along, 1,
                          (const uint32_t[]) { in[0].wire, in[1].wire }, 2, &f->wire);
}

/* f: of the blocks; ret_first: frames that come before blocks begin. */
static rill_status reshape_blocks(struct pulser *p, const struct node *n, const struct ratio *r,
                                  struct flow *f, int64_t *ret_first)
{
    struct blocks b;
    *ret_first = 0;
    if (f->sf.uniform || f->sf.delay < 1 || !blocks_of(p, n, r, f->sf.axis, &b) ||
        !(b.first = blocks_first(p, &b, f->sf.delay)))
        return RILL_OK;
    p->may_be_apart = true;
    if (!p->apart)
        return RILL_OK;
    *ret_first = b.first * b.frames;
    return blocks_begin(p, n, &b, f);
}

/* The windows of a run, of so many frames and `hop` apart, beside time. */
static rill_status blocks_cut(struct pulser *p, const struct node *n, struct flow *f, int64_t hop,
                              int64_t frames)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = f->sf.axis };
    struct tensor *at =
        tensor_new(p->arena, DTYPE_I64, 2, (const int64_t[]) { f->sf.pulse, frames });
    uint32_t in[2] = { f->wire };
    if (!at)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < tensor_count(at); i++)
        ((int64_t *) at->data)[i] = i / frames * hop + i % frames;
    in[1] = graph_add_const(p->dst, n->name, at);
    return in[1] == WIRE_NONE ? pulser_no_memory(p)
                              : pulser_emit_op(p, OP_GATHER, n->name, &along, 1, in, 2, &f->wire);
}

/* A Reshape that cuts time into blocks: windows side by side, some frames of each. */
rill_status reshape_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                         struct flow *ret, bool *ret_is)
{
    const struct fact *to = pulser_fact(p, n->out[0]);
    const struct stream_fact *made = pulser_stream(p, n->out[0]);
    struct axis_window *window = &p->windows[n - p->src->nodes];
    const struct axis_window was = *window;
    if (!flow_of(p, n->in[0], ret) || x->axis != made->axis + 1 || ret->sf.axis != made->axis ||
        to->rank != pulser_fact(p, n->in[0])->rank + 1 || !dim_is_const(to->shape[x->axis]))
        return RILL_OK;
    const int64_t size = dim_value(to->shape[x->axis]), frames = x->to - x->from;
    if (made->pulse * size != ret->sf.pulse)
        return RILL_OK;
    struct flow_window w = { .before = -x->from, .span = frames - 1, .stride = size };
    TRY(flow_windows(p, n, ret, &w));
    *window = was;
    *ret_is = true;
    return blocks_cut(p, n, ret, size, frames);
}

/* ---- a batch of sequences in rows ---- */

/* So many sequences, `have` elements of each, become rows of `each`. */
struct merge {
    int64_t sequences, each;
    const struct dim *have;
};

static const struct dim *behind_first(const struct pulser *p, const struct fact *f)
{
    const struct dim *d = dim_int(p->src->dims, 1);
    for (int i = 1; i < f->rank; i++)
        d = dim_mul(p->src->dims, d, f->shape[i]);
    return d;
}

static bool merge_of(const struct pulser *p, const struct node *n, struct merge *ret)
{
    const struct fact *from = pulser_fact(p, n->in[0]), *to = pulser_fact(p, n->out[0]);
    if (from->rank < 2 || to->rank < 2 || !dim_is_const(from->shape[0]) ||
        !dim_mentions(from->shape[1], p->symbol) || !dim_mentions(to->shape[0], p->symbol))
        return false;
    const struct dim *each = behind_first(p, to);
    *ret = (struct merge) { dim_value(from->shape[0]), 0, behind_first(p, from) };
    if (ret->sequences < 2 || ret->sequences > BATCH_MAX || !dim_is_const(each))
        return false;
    ret->each = dim_value(each);
    return ret->each > 0;
}

/* The axis on which rows stand behind n, NO_ROWS: it has none; AXIS_NONE: it does not keep them. */
static int rows_axis(const struct pulser *p, const struct node *n, const int *axis)
{
    static const enum op_id cells[] = { OP_GRU, OP_LSTM, OP_RNN };
    const bool cell = node_is_among(n, cells, sizeof cells / sizeof *cells);
    int to = NO_ROWS;
    for (unsigned i = 0; i < n->n_in && to != AXIS_NONE; i++) {
        if (n->in[i] == WIRE_NONE || axis[n->in[i]] < 0)
            continue;
        to = cell && axis[n->in[i]] == 1 ? 2 : track_out(p, n, i, axis[n->in[i]]);
    }
    return to;
}

/* The first node behind n that does not keep rows apart, before they are split into sequences
 * again; NULL: none is known. */
static const struct node *rows_mixed(const struct pulser *p, const struct node *n,
                                     int64_t sequences)
{
    int *axis = arena_array(p->arena, int, p->src->n_wires + 1);
    for (uint32_t w = 0; axis && w < p->src->n_wires; w++)
        axis[w] = -1;
    if (axis)
        axis[n->out[0]] = 0;
    for (const struct node *m = n + 1; axis && m < p->src->nodes + p->src->n_nodes; m++) {
        const int to = rows_axis(p, m, axis);
        if (to == AXIS_NONE && node_is(m, OP_RESHAPE) &&
            dim_is(pulser_fact(p, m->out[0])->shape[0], sequences))
            continue;
        if (to == AXIS_NONE)
            return m;
        if (to >= 0 && m->out[0] != WIRE_NONE)
            axis[m->out[0]] = to;
    }
    return NULL;
}

/* Lengths for which each sequence has whole rows; false: all have, or none are allowed. */
static bool whole_rows(const struct pulser *p, const struct merge *m, struct remainder *ret)
{
    struct dims *ds = p->src->dims;
    int64_t num, den, have, later;
    if (!pulser_growth(p, m->have, &num, &den) ||
        dim_mul_int(ds, dim_div_int(ds, m->have, m->each), m->each) == m->have)
        return false;
    const int64_t of = m->each / gcd(m->each, num) * den;
    for (int64_t rest = 0; rest < of && of < ROWS_TRIED; rest++)
        if (dims_allow(ds, p->symbol, rest + of * ROWS_TRIED) &&
            dim_eval(m->have, p->symbol, rest + of * ROWS_TRIED, &have) && have % m->each == 0 &&
            dim_eval(m->have, p->symbol, rest + of * (ROWS_TRIED + 1), &later) &&
            later % m->each == 0) {
            *ret = (struct remainder) { of, rest };
            return true;
        }
    return false;
}

/* What stands in front of the time axis changes. */
static rill_status refuse_leading(struct pulser *p, const struct node *n)
{
    const struct node *mixed;
    struct merge m;
    struct remainder r;
    char why[400] =
        "the sizes in front of the time axis change; only sizes behind it can be merged "
        "with it or split off",
         way[120];
    if (!merge_of(p, n, &m))
        return pulser_refuse_shapes(p, n, why);
    if ((mixed = rows_mixed(p, n, m.sequences)))
        snprintf(why, sizeof why,
                 "it merges the chunks of %lld sequences into rows, which node '%.80s' (%s) does "
                 "not keep apart; ops on each row stream, up to a Reshape to %lld sequences",
                 (long long) m.sequences, mixed->name, mixed->op->name, (long long) m.sequences);
    else if (whole_rows(p, &m, &r)) {
        remainder_print(p, r, way, sizeof way);
        snprintf(why, sizeof why,
                 "it merges %lld sequences into rows, of which one may hold the end of a sequence "
                 "and the beginning of the next; --assert \"%s\" leaves those lengths out",
                 (long long) m.sequences, way);
    }
    return pulser_refuse_shapes(p, n, why);
}

/* A size beside time that is what the others leave: a number for lengths that they divide. */
static rill_status refuse_unknown(const struct pulser *p, const struct node *n,
                                  const struct dim *from, const struct dim *to,
                                  const struct ratio *r)
{
    struct dims *ds = p->dst->dims;
    struct remainder rest;
    char why[240] = "a size is not known", way[120];
    if (remainder_of_same(p, dim_mul_int(ds, from, r->num), dim_mul_int(ds, to, r->den), &rest)) {
        remainder_print(p, rest, way, sizeof way);
        snprintf(why, sizeof why, "a size is not known; --assert \"%s\" makes it a number", way);
    }
    return pulser_refuse_shapes(p, n, why);
}

rill_status rule_reshape(struct pulser *p, const struct node *n)
{
    struct flow f;
    struct ratio r;
    int64_t first;
    if (!flow_of(p, n->in[0], &f))
        return pulser_refuse_shapes(p, n, "its sizes run along time");
    const struct fact *from = pulser_fact(p, n->in[0]), *to = pulser_fact(p, n->out[0]);
    int axis = time_axis(p, to);
    if (is_fixed(p, to))
        return pulser_refuse_shapes(
            p, n,
            "all wanted sizes are numbers, which fit a sequence of one length: that of the example "
            "when the model was exported; sizes computed of the input's would stream");
    if (axis < 0)
        return pulser_refuse_shapes(p, n, "time would be on two axes");
    if (leading(p, from, f.sf.axis) != leading(p, to, axis))
        return refuse_leading(p, n);
    if (!frames_ratio(p, from->shape[f.sf.axis], to->shape[axis], &r))
        return pulser_refuse_shapes(p, n, "the time axis does not grow evenly");
    TRY(reshape_blocks(p, n, &r, &f, &first));
    TRY(reshape_frames(p, n, &r, &f));
    f.sf.delay -= first;
    for (int i = 0; i < to->rank; i++)
        if (i != axis && !dim_is_const(to->shape[i]))
            return refuse_unknown(p, n, from->shape[f.sf.axis], to->shape[axis], &r);
    f.sf.axis = axis;
    TRY(part_emit(p, n, axis, f.sf.pulse, &f.wire));
    TRY(pulser_bind(p, n, 0, f.wire, &f.sf));
    return padded_carry(p, n, &r, axis);
}
