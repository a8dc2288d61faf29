/* SPDX-License-Identifier: MIT */
/* Scan. The body goes through a pulser of its own, so that the pulse stands for the stream symbol
 * in it, in what it gives and in bodies within it at once.
 *
 * Along time its states are the stream's; frames before the sequence leave them as they are. Along
 * another axis it runs anew over each frame: its slices, states and captures stream themselves, and
 * histories made in the body become one more scanned input and output, a place for every
 * iteration. */
#include "engine/graph/control.h"
#include "engine/ops/clock.h"
#include "pulse/heads.h"
#include "pulse/ints.h"
#include "pulse/rules.h"

#include <string.h>

struct scan {
    const struct node *n;
    const struct scan_attr *at;
    const struct graph *src; /* the body */
    struct pulser body;
    struct graph *dst;
    uint32_t *in;          /* outer dst wires of the node's inputs, aligned */
    struct stream_fact sf; /* of the aligned inputs */
    bool along;            /* along time */
    bool apart;            /* the same, once over the frames in front of the sequence */
    int64_t late;          /* by so many frames more states are, so that none gets later */
    int64_t iterations;
    uint32_t valid, valid_in; /* outer wire and body wire; WIRE_NONE where no frame is late */
    struct carried *carried;
    struct head *heads; /* per scanned input; NULL: they are not run over apart */
    const uint32_t
        *made;     /* what the Scan over them gives: outer dst wires, as the node's outputs */
    uint32_t *out; /* those of the Scan made */
    struct wires {
        uint32_t *v;
        unsigned n;
    } outer_in, body_in; /* in the order of the Scan made */
};

static unsigned n_states(const struct scan *s)
{
    return (unsigned) s->at->n_states;
}
static unsigned n_leading(const struct scan *s)
{
    return (unsigned) (s->at->n_states + s->at->n_scanned);
}

/* States that the stream keeps from run to run. */
static unsigned n_carried(const struct scan *s)
{
    return s->along && !s->apart && !s->at->restarts ? n_states(s) : 0;
}

static bool is_scanned(const struct scan *s, unsigned i)
{
    return i >= n_states(s) && i < n_leading(s);
}

static int in_axis(const struct pulser *p, const struct scan *s, unsigned i)
{
    return scan_axis(s->at->in_axes, i - n_states(s), pulser_fact(p, s->n->in[i])->rank);
}

/* ---- what kind of Scan ---- */

static rill_status along_check(struct pulser *p, const struct scan *s)
{
    const struct node *n = s->n;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *f = pulser_stream(p, n->in[i]);
        if (f && !is_scanned(s, i))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u, '%.60s', which every iteration sees whole, "
                           "runs along time",
                           i, p->src->wires[n->in[i]].name);
        if (!is_scanned(s, i))
            continue;
        if (!f || in_axis(p, s, i) != f->axis)
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: scanned input %u does not run along time, others do",
                           i - n_states(s));
        if (scan_is_reverse(s->at->in_reverse, i - n_states(s)))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: it runs backwards along axis %d of input %u, the time "
                           "axis",
                           f->axis, i);
    }
    for (unsigned i = 0; i < n_carried(s); i++)
        if (n->out[i] != WIRE_NONE && graph_wire_is_read(p->src, n->out[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: the last value of state %u, after the last frame of "
                           "axis %d of input %u, the time axis, is wanted, which is known only at "
                           "the end of the stream",
                           i, in_axis(p, s, n_states(s)), n_states(s));
    for (unsigned i = n_states(s); i < n->n_out; i++)
        if (scan_is_reverse(s->at->out_reverse, i - n_states(s)))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: it writes output %u backwards along time", i);
    return RILL_OK;
}

static bool runs_along(const struct pulser *p, const struct scan *s)
{
    for (unsigned i = n_states(s); i < n_leading(s); i++) {
        const struct stream_fact *f = pulser_stream(p, s->n->in[i]);
        if (f && in_axis(p, s, i) == f->axis)
            return true;
    }
    return false;
}

static rill_status iterations_find(struct pulser *p, struct scan *s)
{
    unsigned i = n_states(s);
    if (s->at->n_scanned < 1)
        return op_fail(p->err, RILL_UNSUPPORTED, s->n, "cannot stream: it scans nothing");
    const struct dim *d = pulser_dst_fact(p, s->in[i])->shape[in_axis(p, s, i)];
    if (!dim_is_const(d))
        return op_fail(p->err, RILL_UNSUPPORTED, s->n,
                       "cannot stream: the number of its iterations is not known");
    s->iterations = dim_value(d);
    return RILL_OK;
}

/* ---- inputs of the body ---- */

static void wires_put(struct wires *w, uint32_t wire)
{
    w->v[w->n++] = wire;
}

/* Adds the body's input for the node's input i, with the fact of the wire outside. */
static rill_status body_input(struct pulser *p, struct scan *s, unsigned i)
{
    uint32_t w = s->src->inputs[i];
    const struct stream_fact *outer = pulser_stream(p, s->n->in[i]);
    struct fact f = *pulser_dst_fact(p, s->in[i]);
    int axis = is_scanned(s, i) ? in_axis(p, s, i) : -1;
    f.value = NULL;
    if (axis >= 0) {
        f.rank--;
        memmove(&f.shape[axis], &f.shape[axis + 1], (size_t) (f.rank - axis) * sizeof *f.shape);
    }
    if (outer && !s->along) {
        struct stream_fact *sf = &s->body.sf[w];
        *sf = *outer;
        sf->axis -= axis >= 0 && axis < sf->axis;
        if (!sf->uniform || i < n_states(s))
            sf->delay = s->sf.delay + (i < n_states(s) ? s->late : 0);
        sf->uniform &= i >= n_states(s);
    }
    s->body.map[w] = graph_add_input(s->dst, s->src->wires[w].name, &f);
    if (s->body.map[w] == WIRE_NONE)
        return pulser_no_memory(p);
    wires_put(&s->outer_in, s->in[i]);
    wires_put(&s->body_in, s->body.map[w]);
    return RILL_OK;
}

static rill_status valid_make(struct pulser *p, struct scan *s)
{
    const struct fact flag = { .type = DTYPE_BOOL };
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    uint32_t clock;
    if (!a)
        return pulser_no_memory(p);
    *a = (struct clock_attr) { .pulse = s->sf.pulse, .delay = s->sf.delay };
    TRY(pulser_length_place(p, s->sf.length, &a->length));
    TRY(pulser_clock(p, &clock));
    TRY(pulser_emit(p, &op_pulse_valid, s->n->name, a, &clock, 1, &s->valid, 1));
    s->valid_in = graph_add_input(s->dst, "valid", &flag);
    if (s->valid_in == WIRE_NONE)
        return pulser_no_memory(p);
    wires_put(&s->outer_in, s->valid);
    wires_put(&s->body_in, s->valid_in);
    return RILL_OK;
}

static rill_status body_begin(struct pulser *p, struct scan *s)
{
    unsigned room = s->n->n_in + s->src->n_nodes + 2;
    s->dst = arena_new(p->arena, struct graph);
    /* twice: scan_build gathers the captures behind the others */
    s->outer_in = (struct wires) { arena_array(p->arena, uint32_t, 2 * room), 0 };
    s->body_in = (struct wires) { arena_array(p->arena, uint32_t, 2 * room), 0 };
    if (!s->dst || !s->outer_in.v || !s->body_in.v)
        return pulser_no_memory(p);
    s->valid = s->valid_in = WIRE_NONE;
    return pulser_body_new(&s->body, p, s->src, s->dst);
}

static rill_status body_inputs(struct pulser *p, struct scan *s, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        TRY(body_input(p, s, i));
    return RILL_OK;
}

/* ---- outputs of the body ---- */

/* By how many frames a state comes later out of an iteration than into it, at most. */
static int64_t states_later(const struct scan *s)
{
    struct flow in, out;
    int64_t later = 0;
    for (unsigned k = 0; k < n_states(s); k++)
        if (flow_of(&s->body, s->src->inputs[k], &in) &&
            flow_of(&s->body, s->src->outputs[k], &out) && !out.sf.uniform)
            later = larger(later, out.sf.delay - in.sf.delay);
    return later;
}

/* States wait outside for what the body waits for; none but those that look ahead at themselves
 * are later behind it then. */
static rill_status states_wait(struct pulser *p, struct scan *s)
{
    s->late = states_later(s);
    for (unsigned k = 0; k < n_states(s); k++) {
        const struct stream_fact *outer = pulser_stream(p, s->n->in[k]);
        struct flow f = { s->in[k], s->sf };
        if (!outer)
            continue;
        f.sf.axis = outer->axis;
        f.sf.uniform = outer->uniform;
        TRY(flow_delay(p, s->n->name, &f, s->late));
        s->in[k] = f.wire;
    }
    return RILL_OK;
}

/* The state that the next iteration sees: the old one where the frame lies before the sequence. */
static rill_status state_next(struct pulser *p, struct scan *s, unsigned k, uint32_t *ret)
{
    uint32_t in = s->src->inputs[k], out = s->src->outputs[k];
    struct flow a, b;
    *ret = s->body.map[out];
    bool streams = flow_of(&s->body, in, &a), still = flow_of(&s->body, out, &b);
    if (streams != still ||
        (streams && (a.sf.axis != b.sf.axis || a.sf.delay < b.sf.delay) && !b.sf.uniform))
        return op_fail(p->err, RILL_UNSUPPORTED, s->n,
                       "cannot stream: state %u gets %lld frames later in every iteration", k,
                       streams && still ? (long long) (b.sf.delay - a.sf.delay) : 0);
    if (streams && !b.sf.uniform) {
        TRY(flow_delay(&s->body, s->n->name, &b, a.sf.delay - b.sf.delay));
        *ret = b.wire;
    }
    if (s->valid == WIRE_NONE || !s->sf.delay)
        return RILL_OK;
    return pulser_emit_op(&s->body, OP_WHERE, s->n->name, NULL, 0,
                          (uint32_t[]) { s->valid_in, *ret, s->body.map[in] }, 3, ret);
}

static rill_status body_outputs(struct pulser *p, struct scan *s)
{
    for (unsigned k = 0; k < s->src->n_outputs; k++) {
        uint32_t w = s->body.map[s->src->outputs[k]];
        if (k < n_states(s))
            TRY(state_next(p, s, k, &w));
        if (w == WIRE_NONE || !graph_add_output(s->dst, w))
            return w == WIRE_NONE ? op_fail(p->err, RILL_UNSUPPORTED, s->n,
                                            "cannot stream: output %u of its body has two time "
                                            "axes",
                                            k)
                                  : pulser_no_memory(p);
    }
    return RILL_OK;
}

/* ---- histories of the body ---- */

static rill_status history_init(struct pulser *p, const struct scan *s, uint32_t outer,
                                const struct tensor *one, const struct tensor **ret)
{
    struct tensor shape, *t;
    *ret = NULL;
    if (!one)
        return RILL_OK;
    if (!fact_to_tensor(pulser_dst_fact(p, outer), &shape) ||
        !(t = tensor_new(p->arena, shape.type, shape.rank, shape.dim)))
        return pulser_no_memory(p);
    for (int64_t i = 0; i < s->iterations; i++)
        memcpy((char *) t->data + (size_t) i * tensor_bytes(one), one->data, tensor_bytes(one));
    *ret = t;
    return RILL_OK;
}

/* Moves state st of the body outside: one place for every iteration, scanned in and out. */
static rill_status history_out(struct pulser *p, struct scan *s, const struct state *st,
                               uint32_t *ret_out)
{
    struct fact f = s->dst->wires[st->in].fact;
    const struct tensor *init;
    uint32_t outer;
    if (f.rank == RANK_MAX)
        return op_fail(p->err, RILL_LIMIT, s->n,
                       "the histories of its body would have more than %d axes", RANK_MAX);
    memmove(&f.shape[1], &f.shape[0], (size_t) f.rank * sizeof *f.shape);
    f.shape[0] = dim_int(p->dst->dims, s->iterations);
    f.rank++;
    outer = graph_add_wire(p->dst, st->name, &f);
    *ret_out = graph_add_wire(p->dst, st->name, &f);
    if (outer == WIRE_NONE || *ret_out == WIRE_NONE || !graph_add_output(s->dst, st->out))
        return pulser_no_memory(p);
    TRY(history_init(p, s, outer, st->init, &init));
    wires_put(&s->outer_in, outer);
    wires_put(&s->body_in, st->in);
    return graph_add_state(p->dst, st->name, outer, *ret_out, init) ? RILL_OK : pulser_no_memory(p);
}

/* ---- the Scan made ---- */

/* Per input or output: the axis or direction it had, then `more` entries of `value`. */
static bool ints_extended(struct pulser *p, struct attr_ints list, unsigned had, unsigned more,
                          int64_t value, struct attr_ints *ret)
{
    int64_t *v = arena_array(p->arena, int64_t, had + more + 1);
    for (unsigned i = 0; v && i < had + more; i++)
        v[i] = i >= had ? value : i < list.n ? list.v[i] : 0;
    *ret = (struct attr_ints) { had + more, v };
    return v != NULL;
}

/* Histories are written in the direction they are read in: that of the first scanned input. */
static rill_status attr_make(struct pulser *p, const struct scan *s, unsigned more_in,
                             unsigned more_out, const struct scan_attr **ret)
{
    struct scan_attr *a = arena_copy(p->arena, s->at, sizeof *a);
    unsigned in = (unsigned) s->at->n_scanned, out = s->n->n_out - n_states(s);
    bool back = scan_is_reverse(s->at->in_reverse, 0);
    *ret = a;
    if (!a || !ints_extended(p, s->at->in_axes, in, more_in, 0, &a->in_axes) ||
        !ints_extended(p, s->at->in_reverse, in, more_in, back, &a->in_reverse) ||
        !ints_extended(p, s->at->out_axes, out, more_out, 0, &a->out_axes) ||
        !ints_extended(p, s->at->out_reverse, out, more_out, back, &a->out_reverse))
        return pulser_no_memory(p);
    a->n_scanned += more_in;
    a->restarts |= !s->along; /* it starts anew in every frame */
    return RILL_OK;
}

/* Outer wire of output k: the body's with the iterations put in, on *ret_axis. */
static rill_status output_make(struct pulser *p, const struct scan *s, unsigned k, uint32_t *ret,
                               int *ret_axis)
{
    struct fact f = s->dst->wires[s->dst->outputs[k]].fact;
    f.value = NULL;
    int axis = *ret_axis = -1;
    if (k >= n_states(s)) {
        axis = *ret_axis = scan_axis(s->at->out_axes, k - n_states(s), f.rank + 1);
        memmove(&f.shape[axis + 1], &f.shape[axis], (size_t) (f.rank - axis) * sizeof *f.shape);
        f.shape[axis] = dim_int(p->dst->dims, s->iterations);
        f.rank++;
    }
    *ret = graph_add_wire(p->dst, s->n->name, &f);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

/* Output k along time, scanned on that axis: padded by what the frames in front became. */
static rill_status output_along(struct pulser *p, const struct scan *s, unsigned k, uint32_t wire,
                                int axis)
{
    struct flow f = { wire, s->sf };
    f.sf.axis = axis;
    f.sf.uniform = false;
    if (s->heads) {
        struct head h = s->heads[0];
        h.made = s->made[k];
        TRY(head_put(p, s->n, k, &h, &f));
        f.sf.at = s->sf.at;
    }
    return pulser_bind(p, s->n, k, f.wire, &f.sf);
}

static rill_status output_bind(struct pulser *p, const struct scan *s, unsigned k, uint32_t wire,
                               int axis)
{
    struct flow flow;
    if (k >= s->n->n_out || s->n->out[k] == WIRE_NONE || k < n_carried(s))
        return RILL_OK;
    if (s->along && k >= n_states(s))
        return output_along(p, s, k, wire, axis);
    p->map[s->n->out[k]] = wire;
    if (!flow_of(&s->body, k < n_states(s) ? s->src->inputs[k] : s->src->outputs[k], &flow))
        return RILL_OK;
    flow.sf.axis += axis >= 0 && axis <= flow.sf.axis;
    return pulser_bind(p, s->n, k, wire, &flow.sf);
}

static rill_status scan_emit(struct pulser *p, struct scan *s, unsigned more_in, uint32_t *out,
                             unsigned n_out, unsigned more_out)
{
    const struct scan_attr *attr;
    TRY(attr_make(p, s, more_in, more_out, &attr));
    struct node *made = graph_add_node(p->dst, s->n->op, s->n->name, attr, s->outer_in.v,
                                       s->outer_in.n, out, n_out);
    if (!made || !(made->body = arena_array(p->arena, struct graph *, 1)))
        return pulser_no_memory(p);
    made->body[0] = s->dst;
    made->n_body = 1;
    for (unsigned k = 0; k < n_carried(s); k++)
        TRY(pulser_carry_end(p, s->n, &s->carried[k], out[k]));
    return RILL_OK;
}

/* States and scanned inputs, the flag, then (once the body is known) histories, captures and the
 * clock. */
static rill_status scan_build(struct pulser *p, struct scan *s)
{
    TRY(body_begin(p, s));
    TRY(body_inputs(p, s, 0, n_leading(s)));
    bool checks = s->along && graph_checks(s->src);
    if (checks || (s->along && n_states(s) && s->sf.delay))
        TRY(valid_make(p, s));
    s->body.valid = checks ? s->valid_in : WIRE_NONE;
    struct wires outer = s->outer_in,
                 inner = s->body_in; /* the captures go behind what is put in between */
    s->outer_in.v += s->outer_in.n;
    s->body_in.v += s->body_in.n;
    s->outer_in.n = s->body_in.n = 0;
    TRY(body_inputs(p, s, n_leading(s), s->n->n_in));
    struct wires captures_out = s->outer_in, captures_in = s->body_in;
    TRY(s->body.walk(&s->body));
    if (!s->late && states_later(s) > 0) {
        TRY(states_wait(p, s));
        return scan_build(p, s);
    }
    TRY(body_outputs(p, s));
    unsigned n_hist = s->dst->n_states, n_out = s->src->n_outputs;
    if (n_hist && s->along)
        return op_fail(p->err, RILL_UNSUPPORTED, s->n,
                       "cannot stream: its body remembers frames of another time axis");
    uint32_t *out = s->out = arena_array(p->arena, uint32_t, n_out + n_hist + 1);
    int *axes = arena_array(p->arena, int, n_out + 1);
    uint32_t *all = arena_array(p->arena, uint32_t, 2 * (outer.n + captures_out.n + n_hist + 1));
    if (!out || !all || !axes)
        return pulser_no_memory(p);
    for (unsigned k = 0; k < n_out; k++)
        TRY(output_make(p, s, k, &out[k], &axes[k]));
    s->outer_in = (struct wires) { all, 0 };
    s->body_in = (struct wires) { all + outer.n + captures_out.n + n_hist + 1, 0 };
    for (unsigned i = 0; i < outer.n; i++) {
        wires_put(&s->outer_in, outer.v[i]);
        wires_put(&s->body_in, inner.v[i]);
    }
    for (unsigned i = 0; i < n_hist; i++)
        TRY(history_out(p, s, &s->dst->states[i], &out[n_out + i]));
    for (unsigned i = 0; i < captures_out.n; i++) {
        wires_put(&s->outer_in, captures_out.v[i]);
        wires_put(&s->body_in, captures_in.v[i]);
    }
    if (s->body.clock != WIRE_NONE) {
        TRY(pulser_clock(p, &s->outer_in.v[s->outer_in.n++]));
        wires_put(&s->body_in, s->body.clock);
    }
    s->dst->inputs = s->body_in.v;
    s->dst->n_inputs = s->dst->cap_inputs = s->body_in.n;
    s->dst->n_states = 0;
    TRY(scan_emit(p, s, n_hist + (s->valid != WIRE_NONE), out, n_out + n_hist, n_hist));
    for (unsigned k = 0; k < n_out && !s->apart; k++)
        TRY(output_bind(p, s, k, out[k], axes[k]));
    return RILL_OK;
}

/* The naive way, for tests: the wires outside take the pulse, the body keeps the symbol. */
static rill_status scan_keep(struct pulser *p, struct scan *s)
{
    const struct node *n = s->n;
    uint32_t *out = arena_array(p->arena, uint32_t, n->n_out + 1);
    if (!out)
        return pulser_no_memory(p);
    for (unsigned k = 0; k < n->n_out; k++) {
        out[k] = WIRE_NONE;
        if (n->out[k] == WIRE_NONE)
            continue;
        struct fact f = *pulser_fact(p, n->out[k]);
        struct stream_fact sf = s->sf;
        sf.axis = -1;
        for (int i = 0; i < f.rank; i++)
            if (dim_mentions(f.shape[i], p->symbol)) {
                f.shape[i] = dim_int(p->dst->dims, sf.pulse);
                sf.axis = i;
            }
        if ((out[k] = graph_add_wire(p->dst, n->name, &f)) == WIRE_NONE)
            return pulser_no_memory(p);
        p->map[n->out[k]] = out[k];
        if (sf.axis >= 0)
            TRY(pulser_bind(p, n, k, out[k], &sf));
    }
    for (unsigned k = 0; k < n_carried(s); k++) {
        if (out[k] == WIRE_NONE &&
            (out[k] = graph_add_wire(p->dst, n->name, pulser_dst_fact(p, s->in[k]))) == WIRE_NONE)
            return pulser_no_memory(p);
        TRY(pulser_carry_end(p, n, &s->carried[k], out[k]));
    }
    return graph_copy_node(p->dst, n, s->in, n->n_in, out) ? RILL_OK : pulser_no_memory(p);
}

/* Along time the states of this run are those that the last one left. */
static rill_status states_carry(struct pulser *p, struct scan *s)
{
    s->carried = arena_array(p->arena, struct carried, n_states(s) + 1);
    if (!s->carried)
        return pulser_no_memory(p);
    for (unsigned k = 0; k < n_carried(s); k++) {
        const uint32_t w = s->n->in[k];
        const struct fact *f =
            pulser_kept(p, w) ? pulser_dst_fact(p, p->map[w]) : pulser_fact(p, w);
        if (!fact_is_static(f))
            return op_fail(p->err, RILL_UNSUPPORTED, s->n,
                           "cannot stream: state %u has no fixed size", k);
        TRY(s->heads ? head_carry(p, s->n, s->heads, f, s->made[k], &s->carried[k])
                     : pulser_carry(p, s->n, f, &s->sf, w, &s->carried[k]));
        s->in[k] = s->carried[k].read;
    }
    return RILL_OK;
}

/* A body that checks its numbers runs once it is known which frames are none of the sequence's. */
static rill_status inputs_resolve(struct pulser *p, struct scan *s)
{
    int64_t delay = s->sf.delay;
    for (unsigned i = 0; i < s->n->n_in; i++) {
        struct flow f = { s->in[i], s->sf };
        if (!pulser_stream(p, s->n->in[i]))
            continue;
        f.sf.uniform = pulser_stream(p, s->n->in[i])->uniform;
        TRY(flow_resolve(p, s->n, &f));
        s->in[i] = f.wire;
        delay = f.sf.delay;
    }
    s->sf.delay = delay;
    return RILL_OK;
}

/* ---- frames in front of the sequence ---- */

/* The Scan over them, which begins with what the node does. */
static rill_status scan_apart(struct pulser *p, struct scan *s, struct head *heads)
{
    struct scan h = { .n = s->n, .at = s->at, .src = s->src, .along = true, .apart = true };
    h.in = arena_array(p->arena, uint32_t, s->n->n_in + 1);
    if (!h.in)
        return pulser_no_memory(p);
    h.sf = (struct stream_fact) { .axis = -1, .pulse = heads->all.before };
    for (unsigned i = 0; i < s->n->n_in; i++)
        h.in[i] = is_scanned(s, i) ? heads[i - n_states(s)].all.head : p->map[s->n->in[i]];
    TRY(iterations_find(p, &h));
    TRY(scan_build(p, &h));
    TRY(head_known(p, heads, h.out, s->src->n_outputs));
    s->made = h.out;
    s->heads = heads->is ? heads : NULL;
    return RILL_OK;
}

/* Whether frames in front of what is scanned are run over apart, and that is done then. A body that
 * checks its numbers needs those of frames that have come. */
static rill_status scan_heads(struct pulser *p, struct scan *s)
{
    const unsigned scanned = (unsigned) s->at->n_scanned;
    struct head *heads = arena_array(p->arena, struct head, scanned + 1);
    if (!heads)
        return pulser_no_memory(p);
    if (!s->along || p->keep_bodies || s->at->restarts || graph_checks(s->src))
        return RILL_OK;
    TRY(heads_find(p, s->n, s->n->in + n_states(s), scanned, heads));
    return heads->is ? scan_apart(p, s, heads) : RILL_OK;
}

/* The sequences, equally late. */
static rill_status inputs_align(struct pulser *p, struct scan *s)
{
    unsigned first;
    if (!s->heads)
        return pulser_align(p, s->n, s->in, &s->sf, &first);
    s->sf = s->heads->all.inner.sf;
    s->sf.at = pulser_stream(p, s->n->in[n_states(s)])->at;
    for (unsigned i = 0; i < s->n->n_in; i++)
        s->in[i] =
            is_scanned(s, i) ? s->heads[i - n_states(s)].all.inner.wire : p->map[s->n->in[i]];
    return RILL_OK;
}

rill_status rule_scan(struct pulser *p, const struct node *n)
{
    struct scan s = { .n = n, .at = n->attr, .src = n->body[0] };
    s.in = arena_array(p->arena, uint32_t, n->n_in + 1);
    if (!s.in)
        return pulser_no_memory(p);
    s.along = runs_along(p, &s);
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_kept(p, n->in[i]) && i >= n_carried(&s))
            return kept_refuse(p, n);
    if (s.along)
        TRY(along_check(p, &s));
    TRY(scan_heads(p, &s));
    TRY(inputs_align(p, &s));
    if (s.along && graph_checks(s.src))
        TRY(inputs_resolve(p, &s));
    if (s.along)
        TRY(states_carry(p, &s));
    TRY(iterations_find(p, &s));
    return p->keep_bodies ? scan_keep(p, &s) : scan_build(p, &s);
}
