/* SPDX-License-Identifier: MIT */
#include "pulse/hidden_keys.h"
#include "engine/ops/clock.h"
#include "pulse/first_keys.h"
#include "pulse/ints.h"

#include <math.h>

int64_t scores_right(const struct stream_fact *s)
{
    return s->keys - s->first_keys - s->left - s->key_pulse - first_slack(s->first_keys);
}

struct rates scores_rates(const struct stream_fact *s)
{
    const int64_t both = gcd(s->pulse, s->key_pulse);
    return (struct rates) { s->pulse / both, s->key_pulse / both };
}

int64_t scores_key_delay(const struct stream_fact *s)
{
    const struct rates run = scores_rates(s);
    return rates_late(&run, s->delay);
}

static struct first_window bound_window(const struct stream_fact *s)
{
    return (struct first_window) { s->first_keys, s->left + s->key_pulse + scores_right(s),
                                   s->key_pulse, scores_key_delay(s) + s->left };
}

/* How keys of that length come that are wanted for the scores. */
static struct stream_fact keys_come(const struct stream_fact *s, const struct dim *length)
{
    return (struct stream_fact) { .pulse = s->key_pulse,
                                  .delay = scores_key_delay(s) - scores_right(s),
                                  .length = length };
}

/* Which keys of the window have come and lie in the sequence. */
static rill_status valid_emit(struct pulser *p, const struct node *n, const struct stream_fact *s,
                              const struct dim *length, uint32_t *ret)
{
    struct clock_attr *at = arena_new(p->arena, struct clock_attr);
    uint32_t clock;
    if (!at)
        return pulser_no_memory(p);
    const int64_t slack = first_slack(s->first_keys);
    const struct first_window window = bound_window(s);
    const struct stream_fact keys = keys_come(s, length);
    *at = (struct clock_attr) { .pulse = s->key_pulse,
                                .frames = window.frames + 2 * slack,
                                .delay = window.delay + slack + s->first_keys };
    TRY(pulser_length_place(p, dim_add_int(p->dst->dims, length, -s->first_keys), &at->length));
    TRY(pulser_clock(p, &clock));
    TRY(pulser_emit(p, &op_pulse_valid, n->name, at, &clock, 1, ret, 1));
    return first_valid_join(p, n, &keys, false, &window, ret);
}

/* How late keys come before they wait for the queries, run by run. */
static int64_t keys_came(const struct stream_fact *s)
{
    const int64_t wanted = scores_key_delay(s) - scores_right(s);
    return s->key_came < 0 ? wanted : smaller(s->key_came, wanted);
}

/* In a branch, which stands still while the other one runs: the answers of its own runs wait and
 * are kept as its keys are, and before the first of them there are no keys. */
static rill_status valid_kept(struct pulser *p, const struct node *n, const struct stream_fact *s,
                              const struct dim *length, uint32_t *ret)
{
    struct clock_attr *at = arena_new(p->arena, struct clock_attr);
    const struct first_window window = bound_window(s);
    struct stream_fact keys = keys_come(s, length);
    const int64_t waits = keys.delay - keys_came(s);
    struct flow f = { .sf = { .pulse = s->key_pulse } };
    uint32_t clock;
    if (!at)
        return pulser_no_memory(p);
    keys.delay -= waits;
    *at = (struct clock_attr) { .pulse = keys.pulse, .delay = keys.delay + s->first_keys };
    TRY(pulser_length_place(p, dim_add_int(p->dst->dims, length, -s->first_keys), &at->length));
    TRY(pulser_clock(p, &clock));
    TRY(pulser_emit(p, &op_pulse_valid, n->name, at, &clock, 1, &f.wire, 1));
    TRY(flow_delay(p, n->name, &f, waits));
    TRY(flow_history(p, n->name, &f, s->left + scores_right(s) + first_slack(s->first_keys), NULL));
    *ret = f.wire;
    return first_valid_join(p, n, &keys, true, &window, ret);
}

/* On that axis, of so many places. */
static rill_status valid_turn(struct pulser *p, const struct node *n, int axis, int64_t places,
                              int rank, uint32_t *valid)
{
    uint32_t shape;
    int64_t size[RANK_MAX];
    if (axis == rank - 1)
        return RILL_OK;
    for (int i = axis; i < rank; i++)
        size[i - axis] = i == axis ? places : 1;
    TRY(pulser_ints(p, n->name, size, (unsigned) (rank - axis), &shape));
    return pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, (uint32_t[]) { *valid, shape }, 2,
                          valid);
}

/* Whether the largest score of each query is -inf where those that are not valid are; in: valid,
 * scores, -inf. */
static rill_status sees_none(struct pulser *p, const struct node *n, const struct stream_fact *s,
                             const uint32_t *in, uint32_t *ret)
{
    uint32_t hidden, axes, none[2] = { 0, in[2] };
    TRY(pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, &hidden));
    TRY(pulser_ints(p, n->name, (int64_t[]) { s->key_axis }, 1, &axes));
    TRY(pulser_emit_op(p, OP_REDUCE_MAX, n->name, NULL, 0, (uint32_t[]) { hidden, axes }, 2,
                       &none[0]));
    return pulser_emit_op(p, OP_EQUAL, n->name, NULL, 0, none, 2, ret);
}

/* Which queries of the run lie outside of the sequence. */
static rill_status queries_outside(struct pulser *p, const struct node *n,
                                   const struct stream_fact *s, int rank, uint32_t *ret)
{
    struct clock_attr *at = arena_new(p->arena, struct clock_attr);
    uint32_t clock;
    if (!at)
        return pulser_no_memory(p);
    *at = (struct clock_attr) { .pulse = s->pulse, .delay = s->delay };
    TRY(pulser_length_place(p, s->length, &at->length));
    TRY(pulser_clock(p, &clock));
    TRY(pulser_emit(p, &op_pulse_valid, n->name, at, &clock, 1, ret, 1));
    TRY(valid_turn(p, n, s->axis, s->pulse, rank, ret));
    return pulser_emit_op(p, OP_NOT, n->name, NULL, 0, ret, 1, ret);
}

/* In a branch the keys of a query may all have come while the other one ran, and what it gives to
 * one in front of the sequence may come out behind a pause: these see the zeros in the places of
 * their keys, so that their weights are numbers. A query of the sequence that sees no key of it has
 * none in the whole run either. */
static rill_status valid_any(struct pulser *p, const struct node *n, const struct stream_fact *s,
                             const struct dim *length, uint32_t *in)
{
    const int rank = pulser_dst_fact(p, in[1])->rank;
    uint32_t all[3] = { 0, in[1], in[2] }, none[2], some[2], outside[2];
    TRY(valid_emit(p, n, s, length, &all[0]));
    TRY(valid_turn(p, n, s->key_axis, s->keys, rank, &all[0]));
    TRY(sees_none(p, n, s, in, &none[0]));
    TRY(sees_none(p, n, s, all, &none[1]));
    TRY(pulser_emit_op(p, OP_XOR, n->name, NULL, 0, none, 2, &outside[0]));
    TRY(queries_outside(p, n, s, rank, &outside[1]));
    TRY(pulser_emit_op(p, OP_OR, n->name, NULL, 0, outside, 2, &some[1]));
    some[0] = in[0];
    return pulser_emit_op(p, OP_OR, n->name, NULL, 0, some, 2, &in[0]);
}

rill_status keys_hide(struct pulser *p, const struct node *n, const struct stream_fact *s,
                      const struct dim *length, double hidden, uint32_t *wire)
{
    const struct fact f = *pulser_dst_fact(p, *wire);
    struct tensor *value = tensor_new(p->arena, f.type, 0, NULL);
    uint32_t in[3] = { 0, *wire };
    if (!value)
        return pulser_no_memory(p);
    tensor_set_f64(value, value->data, 0, hidden);
    if ((in[2] = graph_add_const(p->dst, n->name, value)) == WIRE_NONE)
        return pulser_no_memory(p);
    TRY((p->outer ? valid_kept : valid_emit)(p, n, s, length, &in[0]));
    TRY(valid_turn(p, n, s->key_axis, s->keys, f.rank, &in[0]));
    if (p->branch && isinf(hidden))
        TRY(valid_any(p, n, s, length, in));
    return pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, wire);
}

rill_status keys_hide_first(struct pulser *p, const struct node *n, const struct stream_fact *s,
                            const struct dim *length, double hidden, uint32_t *wire)
{
    struct clock_attr *at = arena_new(p->arena, struct clock_attr);
    const struct fact f = *pulser_dst_fact(p, *wire);
    struct tensor *value = tensor_new(p->arena, f.type, 0, NULL);
    uint32_t clock, in[3] = { 0, *wire };
    if (!at || !value)
        return pulser_no_memory(p);
    tensor_set_f64(value, value->data, 0, hidden);
    if ((in[2] = graph_add_const(p->dst, n->name, value)) == WIRE_NONE)
        return pulser_no_memory(p);
    *at = (struct clock_attr) { .pulse = s->keys };
    TRY(pulser_length_place(p, length, &at->length));
    TRY(pulser_first_clock(p, n, &clock));
    TRY(pulser_emit(p, &op_pulse_valid, n->name, at, &clock, 1, &in[0], 1));
    TRY(valid_turn(p, n, s->key_axis, s->keys, f.rank, &in[0]));
    return pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, wire);
}
