/* SPDX-License-Identifier: MIT */
/* Rules with state: framing, overlap-add, Scan along the time axis. */
#include "engine/control.h"
#include "pulse/rules.h"

#include <string.h>

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

/* The samples that later frames still add to are a state; the op takes and gives it as `initial` and `rest`. */
rill_status rule_overlap_add(struct pulser *p, const struct node *n)
{
    const struct stream_fact *s = pulser_stream(p, n->in[0]);
    const struct fact *f = pulser_fact(p, n->in[0]);
    int64_t hop = attr_get_int(n, "hop"), pulse;
    if (!s || s->axis != f->rank - 2 || !dim_is_const(f->shape[f->rank - 1]))
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: time must be the axis of frames");
    if (attr_get_int(n, "normalise") || attr_get_int(n, "tail") != 0)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "streams only with tail = complete and normalise = 0");
    int64_t rest = dim_value(f->shape[f->rank - 1]) - hop;
    if (__builtin_mul_overflow(s->pulse, hop, &pulse) || pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "a pulse of %lld frames is too long", (long long) s->pulse);
    struct fact state = *f;
    state.rank = f->rank - 1;
    uint32_t in[3] = { p->map[n->in[0]], WIRE_NONE, WIRE_NONE }, out[2];
    for (int i = 0; i < state.rank - 1; i++)
        if (!dim_is_const(state.shape[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: time would be on two axes");
    TRY(pulser_state(p, n->name, &state, state.rank - 1, rest, &in[2]));
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 3, out, 2));
    if (!graph_add_state(p->dst, n->name, in[2], out[1], NULL))
        return pulser_no_memory(p);
    struct stream_fact sf = *s;
    sf.axis = f->rank - 2;
    sf.pulse = pulse;
    sf.delay *= hop;
    sf.hop_den *= hop;
    int64_t g = gcd(sf.hop_num, sf.hop_den);
    sf.hop_num /= g;
    sf.hop_den /= g;
    return pulser_bind(p, n, 0, out[0], &sf);
}

/* ---- Scan along time: its states are the stream's ---- */

static rill_status scan_check(struct pulser *p, const struct node *n, const struct scan_attr *at,
                              const struct stream_fact **ret)
{
    *ret = NULL;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        bool scanned = i >= at->n_states && i < at->n_states + at->n_scans;
        unsigned k = i - (unsigned) at->n_states;
        if (s && !scanned)
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: input %u, which is not scanned, runs along time", i);
        if (!scanned)
            continue;
        if (!s || scan_axis(at->in_axes, k, pulser_fact(p, n->in[i])->rank) != s->axis)
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: scanned input %u does not run along time", k);
        if (scan_is_reverse(at->in_reverse, k))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: it runs backwards along time");
        if (s->delay && at->n_states)
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: input %u is %lld frames late, which would enter its "
                           "state", i, (long long) s->delay);
        *ret = s;
    }
    for (unsigned i = (unsigned) at->n_states; i < n->n_out; i++)
        if (scan_is_reverse(at->out_reverse, i - (unsigned) at->n_states))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: it writes output %u backwards along time", i);
    return RILL_OK;
}

static rill_status scan_states(struct pulser *p, const struct node *n, const struct scan_attr *at, uint32_t *in,
                               uint32_t *out)
{
    for (unsigned i = 0; i < at->n_states; i++) {
        const struct fact *f = pulser_fact(p, n->in[i]);
        if (!f->value)
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: state %u does not start from a constant", i);
        struct fact plain = *f;
        plain.value = NULL;
        in[i] = graph_add_wire(p->dst, p->src->wires[n->in[i]].name, &plain);
        out[i] = graph_add_wire(p->dst, n->name, &plain);
        if (in[i] == WIRE_NONE || out[i] == WIRE_NONE || !graph_add_state(p->dst, n->name, in[i], out[i], f->value))
            return pulser_no_memory(p);
    }
    return RILL_OK;
}

rill_status rule_scan(struct pulser *p, const struct node *n)
{
    const struct scan_attr *at = n->attr;
    const struct stream_fact *s;
    struct stream_fact sf;
    unsigned first;
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1), *out = arena_array(p->arena, uint32_t, n->n_out + 1);
    if (!in || !out)
        return pulser_no_memory(p);
    TRY(scan_check(p, n, at, &s));
    TRY(pulser_align(p, n, in, &sf, &first));
    TRY(scan_states(p, n, at, in, out));
    for (unsigned i = (unsigned) at->n_states; i < n->n_out; i++) {
        out[i] = WIRE_NONE;
        if (n->out[i] == WIRE_NONE)
            continue;
        struct fact f = *pulser_fact(p, n->out[i]);
        sf.axis = scan_axis(at->out_axes, i - (unsigned) at->n_states, f.rank);
        f.shape[sf.axis] = dim_int(p->dst->dims, sf.pulse);
        if ((out[i] = graph_add_wire(p->dst, p->src->wires[n->out[i]].name, &f)) == WIRE_NONE)
            return pulser_no_memory(p);
        TRY(pulser_bind(p, n, i, out[i], &sf));
    }
    for (unsigned i = 0; i < at->n_states; i++)
        if (n->out[i] != WIRE_NONE)
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: the last value of state %u is wanted, which is "
                           "known only at the end of the stream", i);
    struct node *made = graph_add_node(p->dst, n->op, n->name, n->attr, in, n->n_in, out, n->n_out);
    if (!made)
        return pulser_no_memory(p);
    made->body = n->body;
    made->n_body = n->n_body;
    return RILL_OK;
}
