/* SPDX-License-Identifier: MIT */
/* OverlapAdd: output frames overlap, and what later frames still add to is a state. */
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"

/* ---- OverlapAdd ---- */

static rill_status overlap_check(struct pulser *p, const struct node *n)
{
    const struct fact *x = pulser_fact(p, n->in[0]);
    if (!dim_is_const(x->shape[x->rank - 1]))
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its frames have no fixed size");
    for (unsigned i = 1; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u runs along time too", i);
    if (node_has_input(n, 2) || (n->n_out > 1 && n->out[1] != WIRE_NONE))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its partial sums are the stream's own");
    return RILL_OK;
}

/* Emits the op on frames [.., pulse, size]; the partial sums of one run are the initial ones of the
 * next. */
static rill_status overlap_emit(struct pulser *p, const struct node *n, uint32_t frames,
                                uint32_t *ret)
{
    const struct attr plain[] = {
        { .name = "normalise", .kind = ATTR_INT, .i = 0 },
        { .name = "tail", .kind = ATTR_INT, .i = 0 },
    };
    struct fact state = *pulser_dst_fact(p, frames);
    int64_t rest = dim_value(state.shape[state.rank - 1]) - overlap_attr_of(n)->hop;
    uint32_t in[3] = { frames, WIRE_NONE, WIRE_NONE }, out[2];
    void *attr = NULL;
    state.rank--;
    TRY(pulser_attr_copy(p, n, plain, 2, &attr));
    TRY(pulser_state(p, n->name, &state, state.rank - 1, rest, &in[2]));
    TRY(pulser_emit(p, n->op, n->name, attr, in, 3, out, 2));
    *ret = out[0];
    return graph_add_state(p->dst, n->name, in[2], out[1], NULL) ? RILL_OK : pulser_no_memory(p);
}

static rill_status constant_f32(struct pulser *p, const char *name, int rank, const int64_t *dim,
                                const float *v, uint32_t *ret)
{
    *ret = graph_add_const(p->dst, name, tensor_from_data(p->arena, DTYPE_F32, rank, dim, v));
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

/* The squared window, [pulse, size]: zeros in frames that lie outside the sequence. */
static rill_status window_frames(struct pulser *p, const struct node *n, const struct flow *f,
                                 uint32_t *ret)
{
    const struct tensor *w = pulser_fact(p, n->in[1])->value;
    struct clock_attr *at = arena_new(p->arena, struct clock_attr);
    if (!w)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: the window it normalises by is not a constant");
    float *square = arena_array(p->arena, float, (size_t) w->dim[0] + 1);
    if (!square || !at)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < w->dim[0]; i++)
        square[i] = ((const float *) w->data)[i] * ((const float *) w->data)[i];
    const int64_t row[2] = { 1, w->dim[0] }, column[2] = { f->sf.pulse, 1 };
    uint32_t clock, valid, shape, in[3];
    *at = (struct clock_attr) { .pulse = f->sf.pulse, .delay = f->sf.delay };
    TRY(pulser_length_place(p, f->sf.length, &at->length));
    TRY(pulser_clock(p, &clock));
    TRY(pulser_emit(p, &op_pulse_valid, n->name, at, &clock, 1, &valid, 1));
    TRY(pulser_ints(p, n->name, column, 2, &shape));
    TRY(pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, (uint32_t[]) { valid, shape }, 2, &in[0]));
    TRY(constant_f32(p, n->name, 2, row, square, &in[1]));
    TRY(constant_f32(p, n->name, 0, NULL, &(float) { 0 }, &in[2]));
    return pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, ret);
}

/* Divides by the sum of the squared windows over each sample where there is one. */
static rill_status overlap_normalise(struct pulser *p, const struct node *n,
                                     const struct flow *frames, uint32_t *wire)
{
    uint32_t windows, sums, least, one, some, in[3];
    TRY(window_frames(p, n, frames, &windows));
    TRY(overlap_emit(p, n, windows, &sums));
    TRY(constant_f32(p, n->name, 0, NULL, &(float) { 1e-8f }, &least));
    TRY(constant_f32(p, n->name, 0, NULL, &(float) { 1 }, &one));
    TRY(pulser_emit_op(p, OP_GREATER, n->name, NULL, 0, (uint32_t[]) { sums, least }, 2, &some));
    in[0] = some;
    in[1] = sums;
    in[2] = one;
    TRY(pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, &in[1]));
    return pulser_emit_op(p, OP_DIV, n->name, NULL, 0, (uint32_t[]) { *wire, in[1] }, 2, wire);
}

rill_status rule_overlap_add(struct pulser *p, const struct node *n)
{
    struct flow f;
    uint32_t out;
    int64_t hop = overlap_attr_of(n)->hop, pulse;
    if (!flow_of(p, n->in[0], &f) || f.sf.axis != pulser_fact(p, n->in[0])->rank - 2)
        return pulser_off_axis(p, n);
    TRY(overlap_check(p, n));
    if (__builtin_mul_overflow(f.sf.pulse, hop, &pulse) || pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "a pulse of %lld frames is too long",
                       (long long) f.sf.pulse);
    TRY(flow_mask(p, n, &f, NULL, true, overlap_attr_of(n)->tail != TAIL_COMPLETE));
    TRY(overlap_emit(p, n, f.wire, &out));
    if (overlap_attr_of(n)->normalise)
        TRY(overlap_normalise(p, n, &f, &out));
    flow_scale(&f.sf, 1, hop);
    offset_overlapped(&f.sf);
    f.sf.axis = pulser_dst_fact(p, out)->rank - 1;
    f.sf.pulse = pulse;
    f.sf.delay *= hop;
    f.sf.uniform = false;
    return pulser_bind(p, n, 0, out, &f.sf);
}
