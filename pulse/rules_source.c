/* SPDX-License-Identifier: MIT */
/* Rules of ops that make a time axis out of nothing that streams: ConstantOfShape, Expand, Tile,
 * Range, Slice of a table; and of Expand and Tile where time comes in already. */
#include "engine/ops/clock.h"
#include "pulse/lengths.h"
#include "pulse/rebase.h"
#include "pulse/rules.h"

#include <stdio.h>
#include <string.h>

static rill_status source_refuse(const struct pulser *p, const struct node *n, const char *why)
{
    char fact[160];
    fact_print(pulser_fact(p, n->out[0]), fact, sizeof fact);
    return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: it makes %s, %s", fact, why);
}

static rill_status uneven_refuse(const struct pulser *p, const struct node *n,
                                 const struct dim *size)
{
    const int64_t from = lengths_even_from(p, size, NULL);
    char why[240];
    snprintf(why, sizeof why,
             "whose length grows evenly with the stream from %.60s = %lld on only: --assert "
             "\"%.60s >= %lld\" leaves shorter ones out",
             dim_name(p->symbol), (long long) from, dim_name(p->symbol), (long long) from);
    return source_refuse(p, n, from ? why : "whose length does not grow evenly with the stream");
}

rill_status source_fact(struct pulser *p, const struct node *n, struct stream_fact *ret)
{
    const struct fact *f = pulser_fact(p, n->out[0]);
    int64_t num = 0, den = 1;
    *ret = (struct stream_fact) { .axis = -1, .hop_num = 1, .hop_den = 1, .pulse = p->pulse };
    for (int i = 0; i < f->rank; i++) {
        if (!dim_mentions(f->shape[i], p->symbol))
            continue;
        if (ret->axis >= 0)
            return source_refuse(p, n, "which has time on two axes");
        ret->axis = i;
        if (!pulser_growth(p, f->shape[i], &num, &den) || num > INT32_MAX / p->pulse)
            return uneven_refuse(p, n, f->shape[i]);
    }
    TRY(pulser_want_multiple(p, n, ret, den, "its hop"));
    ret->pulse = p->pulse / den * num;
    ret->length = f->shape[ret->axis];
    flow_scale(ret, den, num);
    ret->delay = pulser_late(p, ret);
    return RILL_OK;
}

/* The output's sizes with a pulse of frames on the time axis. */
static rill_status source_shape(struct pulser *p, const struct node *n,
                                const struct stream_fact *sf, uint32_t *ret)
{
    const struct fact *f = pulser_fact(p, n->out[0]);
    int64_t shape[RANK_MAX];
    for (int i = 0; i < f->rank; i++) {
        if (i != sf->axis && !dim_is_const(f->shape[i]))
            return source_refuse(p, n, "whose other sizes are not known");
        shape[i] = i == sf->axis ? sf->pulse : dim_value(f->shape[i]);
    }
    return pulser_ints(p, n->name, shape, (unsigned) f->rank, ret);
}

/* The axis of time, where it is the only one; -1: none is, or several are. */
static int one_time_axis(const struct pulser *p, const struct fact *f)
{
    int axis = -1;
    for (int i = 0; i < f->rank; i++) {
        if (!dim_mentions(f->shape[i], p->symbol))
            continue;
        if (axis >= 0)
            return -1;
        axis = i;
    }
    return axis;
}

struct head {
    int axis;
    int64_t most;    /* frames */
    bool is_shorter; /* for a sequence that has frames, but too few */
};

/* Whether it is as long as so many first frames of a sequence. */
static bool is_head(const struct pulser *p, const struct node *n, struct head *ret)
{
    const struct fact *f = pulser_fact(p, n->out[0]);
    struct lengths l;
    int64_t v;
    *ret = (struct head) { .axis = p->outer ? -1 : one_time_axis(p, f) };
    if (ret->axis < 0 || !lengths_decide(p, &f->shape[ret->axis], 1, 0, true, &l) || l.rise[0])
        return false;
    for (int64_t at = 0; at <= l.end; at++) {
        if (!dim_eval(f->shape[ret->axis], p->symbol, at, &v) || v < ret->most)
            return false;
        ret->is_shorter |= at > 1 && v > ret->most;
        ret->most = v;
    }
    return ret->most > 0;
}

/* So many frames on that axis, which do not stream. */
static rill_status still_emit(struct pulser *p, const struct node *n, int axis, int64_t frames)
{
    const struct stream_fact at = { .axis = axis, .pulse = frames };
    const unsigned data = node_is(n, OP_EXPAND) ? 1 : 0;
    uint32_t in[2] = { p->map[n->in[0]] };
    TRY(source_shape(p, n, &at, &in[data]));
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, data + 1, &p->map[n->out[0]], 1));
    p->sf[n->out[0]] = (struct stream_fact) { .axis = -1 };
    return RILL_OK;
}

bool source_is_still(const struct pulser *p, const struct node *n)
{
    return (node_is(n, OP_EXPAND) || node_is(n, OP_CONSTANT_OF_SHAPE)) &&
        fact_is_static(pulser_fact(p, n->out[0])) && pulser_knows_length(p, n);
}

rill_status source_still(struct pulser *p, const struct node *n)
{
    return still_emit(p, n, -1, 0);
}

/* It stands for frames that are kept, and is there with the first frame. */
static rill_status head_bind(struct pulser *p, const struct node *n, const struct head *h)
{
    TRY(still_emit(p, n, h->axis, h->most));
    p->kept[n->out[0]] = (struct kept) { .inputs = 1 };
    if (h->is_shorter)
        p->kept[n->out[0]].frames = dim_int(p->dst->dims, h->most);
    return RILL_OK;
}

rill_status source_constant(struct pulser *p, const struct node *n)
{
    struct stream_fact sf;
    uint32_t shape, out;
    struct head h;
    if (is_head(p, n, &h))
        return head_bind(p, n, &h);
    TRY(source_fact(p, n, &sf));
    TRY(source_shape(p, n, &sf, &shape));
    TRY(pulser_emit(p, n->op, n->name, n->attr, &shape, 1, &out, 1));
    sf.uniform = true;
    return pulser_bind(p, n, 0, out, &sf);
}

/* The input, which does not grow, is repeated along time: all frames are alike where it has one of
 * them. */
rill_status source_expand(struct pulser *p, const struct node *n)
{
    struct stream_fact sf;
    uint32_t in[2], out;
    struct head h;
    const struct fact *x = pulser_fact(p, n->in[0]);
    if (node_is(n, OP_EXPAND) && is_head(p, n, &h))
        return head_bind(p, n, &h);
    TRY(source_fact(p, n, &sf));
    int axis = sf.axis - (pulser_fact(p, n->out[0])->rank - x->rank);
    if (axis >= 0 && !dim_is(x->shape[axis], 1))
        return source_refuse(p, n, "which repeats more than one frame along time");
    in[0] = p->map[n->in[0]];
    TRY(source_shape(p, n, &sf, &in[1]));
    TRY(pulser_emit_op(p, OP_EXPAND, n->name, NULL, 0, in, 2, &out));
    sf.uniform = true;
    return pulser_bind(p, n, 0, out, &sf);
}

/* start + step * the frames as they count, in the type of the Range. */
static rill_status range_rebased(struct pulser *p, const struct node *n, const struct rebase *r,
                                 const uint32_t clock_start_step[3], const struct clock_attr *at,
                                 uint32_t *ret)
{
    const struct attr to = { .name = "to", .kind = ATTR_INT, .i = pulser_fact(p, n->out[0])->type };
    uint32_t in[3] = { clock_start_step[0] };
    TRY(pulser_ints(p, n->name, (int64_t[]) { 0 }, 1, &in[1]));
    TRY(pulser_ints(p, n->name, (int64_t[]) { 1 }, 1, &in[2]));
    TRY(pulser_emit(p, &op_pulse_range, n->name, at, in, 3, &in[0], 1));
    TRY(rebase_emit(p, n->name, r, in[0], &in[0]));
    TRY(pulser_emit_op(p, OP_CAST, n->name, &to, 1, in, 1, &in[0]));
    in[1] = clock_start_step[2];
    TRY(pulser_emit_op(p, OP_MUL, n->name, NULL, 0, in, 2, &in[0]));
    in[1] = clock_start_step[1];
    return pulser_emit_op(p, OP_ADD, n->name, NULL, 0, in, 2, ret);
}

rill_status source_range_at(struct pulser *p, const struct node *n, uint32_t clock,
                            const struct clock_attr *at, uint32_t *ret)
{
    uint32_t in[3] = { clock, p->map[n->in[0]], p->map[n->in[2]] };
    struct rebase rebase;
    int64_t ends[2];
    unsigned one;
    if (!pulser_const_ints(p, n, 0, &ends[0], 1, &one) ||
        !pulser_const_ints(p, n, 2, &ends[1], 1, &one)) {
        const struct dim *size = pulser_fact(p, n->out[0])->shape[0];
        if (lengths_even_from(p, size, NULL)) /* from then on it may be a table of distances */
            return uneven_refuse(p, n, size);
        return source_refuse(
            p, n, "whose first element or step depends on the length of the sequence or on data");
    }
    for (unsigned k = 0; pulser_fact(p, n->out[0])->type == DTYPE_I64 && k < 2; k++)
        TRY(pulser_ints(p, n->name, &ends[k], 1, &in[1 + k]));
    TRY(rebase_find(p, n->out[0], &rebase));
    return rebase.period ? range_rebased(p, n, &rebase, in, at, ret)
                         : pulser_emit(p, &op_pulse_range, n->name, at, in, 3, ret, 1);
}

rill_status source_range(struct pulser *p, const struct node *n)
{
    struct stream_fact sf;
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    uint32_t clock, out;
    if (!a)
        return pulser_no_memory(p);
    TRY(source_fact(p, n, &sf));
    *a = (struct clock_attr) { .pulse = sf.pulse, .delay = sf.delay };
    TRY(pulser_clock(p, &clock));
    TRY(source_range_at(p, n, clock, a, &out));
    return pulser_bind(p, n, 0, out, &sf);
}

/* The axis that a Slice cuts, if it is one, and the first element it takes: a number, forward one
 * by one. */
static bool slice_of(const struct pulser *p, const struct node *n, int *ret_axis, int64_t *ret_from)
{
    int64_t axis = 0, step = 1;
    unsigned one;
    if (!pulser_const_ints(p, n, 1, ret_from, 1, &one) || one != 1 || *ret_from < 0)
        return false;
    if (node_has_input(n, 3) && !pulser_const_ints(p, n, 3, &axis, 1, &one))
        return false;
    if (node_has_input(n, 4) && !pulser_const_ints(p, n, 4, &step, 1, &one))
        return false;
    *ret_axis = axis_normalise(axis, pulser_fact(p, n->in[0])->rank);
    return step == 1;
}

#define LENGTHS_TRIED (1 << 20)

/* A table of so many rows, of which `size` are taken: the lengths that it is long enough for. */
static rill_status table_ends(const struct pulser *p, const struct node *n, int axis, int64_t rows,
                              const struct dim *size, int64_t taken)
{
    const char *t = dim_name(p->symbol);
    int64_t have, last = 0;
    for (int64_t at = 1; !last && at < LENGTHS_TRIED; at++)
        if (dim_eval(size, p->symbol, at, &have) && have >= taken)
            last = at;
    char hint[160] = "assert that it is not";
    if (last)
        snprintf(hint, sizeof hint, "with --assert \"%.60s <= %lld\" it is not", t,
                 (long long) last);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: axis %d has %lld elements, and the sequence may be longer; %s",
                   axis, (long long) rows, hint);
}

/* Rows from + i of a table for frames i, as that attribute says: of those of a sequence, f, none
 * past its end, which may come later. */
static rill_status rows_emit(struct pulser *p, const struct node *n, uint32_t clock,
                             const struct clock_attr *at, int64_t from, struct flow *f)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = f->sf.axis };
    uint32_t in[3] = { clock }, rows_of[2] = { p->map[n->in[0]] };
    struct flow rows = *f;
    rows.sf.axis = 0;
    TRY(pulser_ints(p, n->name, &from, 1, &in[1]));
    TRY(pulser_ints(p, n->name, (int64_t[]) { 1 }, 1, &in[2]));
    TRY(pulser_emit(p, &op_pulse_range, n->name, at, in, 3, &rows.wire, 1));
    if (!at->frames)
        TRY(flow_mask(p, n, &rows, NULL, true, true));
    f->sf.delay = rows.sf.delay;
    rows_of[1] = rows.wire;
    return pulser_emit_op(p, OP_GATHER, n->name, &along, 1, rows_of, 2, &f->wire);
}

/* So many rows of a table as the sequence is long: row first + i for frame i. What asserts that the
 * table is long enough may be wrong: a frame past its end is a fault. */
rill_status source_slice(struct pulser *p, const struct node *n)
{
    const struct fact *table = pulser_fact(p, n->in[0]);
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    int64_t from, rows;
    int axis;
    uint32_t clock;
    struct flow f;
    if (!a)
        return pulser_no_memory(p);
    if (!slice_of(p, n, &axis, &from) || !dim_is_const(table->shape[axis]))
        return source_refuse(
            p, n, "whose first element depends on the length of the sequence or on data");
    rows = dim_value(table->shape[axis]);
    int64_t num, den;
    if (!pulser_growth(p, pulser_fact(p, n->out[0])->shape[axis], &num, &den))
        return table_ends(p, n, axis, rows, pulser_fact(p, n->out[0])->shape[axis], rows - from);
    TRY(source_fact(p, n, &f.sf));
    *a = (struct clock_attr) { .pulse = f.sf.pulse, .delay = f.sf.delay };
    TRY(pulser_clock(p, &clock));
    TRY(rows_emit(p, n, clock, a, from, &f));
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}

rill_status source_slice_at(struct pulser *p, const struct node *n, uint32_t clock,
                            const struct clock_attr *at, uint32_t *ret)
{
    struct flow f = { .sf = *pulser_stream(p, n->out[0]) };
    int64_t from;
    int axis;
    *ret = WIRE_NONE;
    f.sf.delay = at->delay;
    if (!slice_of(p, n, &axis, &from) ||
        from + at->frames > dim_value(pulser_fact(p, n->in[0])->shape[axis]))
        return RILL_OK;
    TRY(rows_emit(p, n, clock, at, from, &f));
    *ret = f.sf.delay == at->delay ? f.wire : WIRE_NONE;
    return RILL_OK;
}

/* ---- time comes in ---- */

/* How input 0 streams where the time axis comes out as it went in. */
static rill_status repeat_flow(struct pulser *p, const struct node *n, struct flow *f,
                               int *ret_axis)
{
    const struct fact *x = pulser_fact(p, n->in[0]), *y = pulser_fact(p, n->out[0]);
    if (!flow_of(p, n->in[0], f) || pulser_stream(p, n->in[1]))
        return pulser_refuse_shapes(p, n, "the wanted sizes run along time");
    *ret_axis = f->sf.axis + y->rank - x->rank;
    if (y->shape[*ret_axis] != x->shape[f->sf.axis])
        return pulser_refuse_shapes(p, n, "the time axis is repeated; only other axes can be");
    for (int i = 0; i < y->rank; i++)
        if (i != *ret_axis && dim_mentions(y->shape[i], p->symbol))
            return pulser_refuse_shapes(p, n, "time would be on two axes");
    return RILL_OK;
}

/* So many frames, on that axis of what comes out. */
static rill_status expand_emit(struct pulser *p, const struct node *n, int axis, int64_t frames,
                               uint32_t *wire)
{
    const struct stream_fact sf = { .axis = axis, .pulse = frames };
    uint32_t in[2] = { *wire };
    TRY(source_shape(p, n, &sf, &in[1]));
    return pulser_emit_op(p, OP_EXPAND, n->name, NULL, 0, in, 2, wire);
}

/* What is padded stays so. */
static rill_status expand_padded(struct pulser *p, const struct node *n, int axis)
{
    struct padded q = p->padded[n->in[0]];
    if (!q.is)
        return RILL_OK;
    TRY(expand_emit(p, n, axis, q.inner.sf.pulse, &q.inner.wire));
    if (q.mode == PULSE_PAD_VALUES && q.before)
        TRY(expand_emit(p, n, axis, q.before, &q.head));
    if (q.mode == PULSE_PAD_VALUES && q.after)
        TRY(expand_emit(p, n, axis, q.after, &q.tail));
    q.inner.sf.axis = axis;
    p->padded[n->out[0]] = q;
    return RILL_OK;
}

rill_status rule_expand(struct pulser *p, const struct node *n)
{
    struct flow f;
    int axis;
    TRY(repeat_flow(p, n, &f, &axis));
    f.sf.axis = axis;
    TRY(expand_emit(p, n, axis, f.sf.pulse, &f.wire));
    TRY(pulser_bind(p, n, 0, f.wire, &f.sf));
    return expand_padded(p, n, axis);
}

rill_status rule_tile(struct pulser *p, const struct node *n)
{
    struct flow f;
    int64_t times[RANK_MAX];
    uint32_t in[2], out;
    unsigned count;
    int axis;
    TRY(repeat_flow(p, n, &f, &axis));
    if (!pulser_const_ints(p, n, 1, times, RANK_MAX, &count))
        return pulser_refuse_shapes(p, n, "the repeats are not known");
    in[0] = f.wire;
    TRY(pulser_ints(p, n->name, times, count, &in[1]));
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, &out, 1));
    return pulser_bind(p, n, 0, out, &f.sf);
}
