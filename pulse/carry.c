/* SPDX-License-Identifier: MIT */
#include "pulse/carry.h"
#include "engine/ops/clock.h"

/* Up to run `last` the initial value, which is computed and so no constant of the stream, stands
 * for the state. */
static rill_status state_choose(struct pulser *p, const struct node *n, int64_t last, uint32_t init,
                                uint32_t state, uint32_t *ret)
{
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    uint32_t in[3], run, first;
    if (!a)
        return pulser_no_memory(p);
    a->pulse = 1;
    TRY(pulser_runs_clock(p, n->name, &in[0]));
    TRY(pulser_ints(p, n->name, &(int64_t) { 0 }, 1, &in[1]));
    TRY(pulser_ints(p, n->name, &(int64_t) { 1 }, 1, &in[2]));
    TRY(pulser_emit(p, &op_pulse_range, n->name, a, in, 3, &run, 1));
    TRY(pulser_ints(p, n->name, &last, 1, &in[1]));
    TRY(pulser_emit_op(p, OP_LESS_OR_EQUAL, n->name, NULL, 0, (uint32_t[]) { run, in[1] }, 2,
                       &first));
    TRY(pulser_emit_op(p, OP_SQUEEZE, n->name, NULL, 0, &first, 1,
                       &in[0])); /* a scalar state stays one */
    in[1] = init;
    in[2] = state;
    return pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, ret);
}

static rill_status carry_begin(struct pulser *p, const struct node *n, const struct fact *f,
                               const struct tensor *init, struct carried *ret)
{
    struct fact plain = *f;
    plain.value = NULL;
    ret->init = init;
    ret->state = ret->read = graph_add_wire(p->dst, n->name, &plain);
    return ret->state == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

rill_status pulser_carry_from(struct pulser *p, const struct node *n, const struct fact *f,
                              uint32_t init, int64_t last, struct carried *ret)
{
    TRY(carry_begin(p, n, f, last < 0 ? pulser_dst_fact(p, init)->value : NULL, ret));
    return last < 0 ? RILL_OK : state_choose(p, n, last, init, ret->state, &ret->read);
}

rill_status pulser_carry(struct pulser *p, const struct node *n, const struct fact *f,
                         const struct stream_fact *s, uint32_t init, struct carried *ret)
{
    uint32_t known = WIRE_NONE;
    if (init != WIRE_NONE && !pulser_kept(p, init))
        TRY(pulser_known(p, p->map[init], &known));
    TRY(carry_begin(p, n, f, known == WIRE_NONE ? NULL : pulser_dst_fact(p, known)->value, ret));
    if (init == WIRE_NONE || ret->init)
        return RILL_OK;
    return state_choose(p, n, pulser_kept(p, init) ? s->delay / s->pulse : 0, p->map[init],
                        ret->state, &ret->read);
}

rill_status pulser_carry_end(struct pulser *p, const struct node *n, const struct carried *c,
                             uint32_t next)
{
    return graph_add_state(p->dst, n->name, c->state, next, c->init) ? RILL_OK
                                                                     : pulser_no_memory(p);
}
