/* SPDX-License-Identifier: MIT */
/* Scan along the time axis. */
#include "engine/control.h"
#include "pulse/rules.h"

#include <string.h>

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
