/* SPDX-License-Identifier: MIT */
/* If whose condition does not run along time, in whose branches what streams is.
 *
 * Each branch goes through a pulser of its own. What it keeps from run to run becomes states of the
 * graph around: the branch that runs gives their next values, the other one gives them back as they
 * are. So a condition that is set anew between two runs changes the branch, and nothing else.
 *
 * A run hands a branch frames of one place: its inputs, and what counts frames in it, are as late
 * as the latest of them, by delays in the graph around, which go on. Where the branches are late by
 * different numbers of frames, those of the earlier one come later in the same way. */
#include "engine/graph/control.h"
#include "engine/graph/prune.h"
#include "pulse/ints.h"
#include "pulse/rules.h"

struct branch {
    struct pulser in;
    struct graph *dst;
    uint32_t *outer;  /* of each capture: the wire around that the branch takes */
    struct flow *out; /* of each output */
    bool *streams;
    uint32_t clock;
};

struct cond {
    const struct node *n;
    struct branch branch[2];
    unsigned n_captures, n_taken; /* captures; inputs that are captures of one branch or both */
    uint32_t *outer_in;           /* of the node made */
    unsigned n_in;
    bool has_clock;
};

/* ---- when the frames of a branch come ---- */

/* Frames of the wire in so many units of the symbol; false: no whole number. */
static bool frames_in(const struct stream_fact *s, int64_t units, int64_t *ret)
{
    *ret = units / s->hop_num * s->hop_den;
    return units % s->hop_num == 0;
}

static bool is_read(const struct graph *g, uint32_t w)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] == w)
                return true;
    return graph_wire_is_given(g, w);
}

/* How late the latest frames are that the branch reads, and a multiple of all its hops, in units of
 * the symbol. */
static int64_t branch_late(const struct pulser *p, const struct cond *c, const struct graph *src)
{
    int64_t late = 0, hops = 1;
    for (unsigned i = 0; i < c->n_captures; i++) {
        const struct stream_fact *s = pulser_stream(p, c->n->in[1 + i]);
        if (!s || s->uniform || s->keys || !is_read(src, src->inputs[i]))
            continue;
        const int64_t units = (s->delay * s->hop_num + s->hop_den - 1) / s->hop_den;
        late = larger(late, units);
        hops = hops / gcd(hops, s->hop_num) * s->hop_num;
    }
    return (late + hops - 1) / hops * hops;
}

static rill_status capture_add(struct pulser *p, const struct cond *c, struct branch *b, unsigned i)
{
    const uint32_t outer = c->n->in[1 + i], w = b->in.src->inputs[i];
    struct flow f = { .wire = p->map[outer] };
    int64_t delay;
    if (flow_of(p, outer, &f)) {
        if (!f.sf.keys && is_read(b->in.src, w) && frames_in(&f.sf, b->in.late, &delay) &&
            delay > f.sf.delay)
            TRY(flow_delay(p, c->n->name, &f, delay - f.sf.delay));
        b->in.sf[w] = f.sf;
    }
    struct fact fact = *pulser_dst_fact(p, f.wire);
    fact.value = NULL;
    b->outer[i] = f.wire;
    b->in.kept[w] = p->kept[outer];
    b->in.map[w] = graph_add_input(b->dst, b->in.src->wires[w].name, &fact);
    return b->in.map[w] == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

/* more: by how many units it is later than it need be. */
static rill_status branch_pulse(struct pulser *p, struct cond *c, int k, int64_t more)
{
    struct branch *b = &c->branch[k];
    const struct graph *src = c->n->body[k];
    b->dst = arena_new(p->arena, struct graph);
    b->out = arena_array(p->arena, struct flow, src->n_outputs + 1);
    b->streams = arena_array(p->arena, bool, src->n_outputs + 1);
    b->outer = arena_array(p->arena, uint32_t, c->n_captures + 1);
    if (!b->dst || !b->out || !b->streams || !b->outer)
        return pulser_no_memory(p);
    TRY(pulser_body_new(&b->in, p, src, b->dst));
    b->in.branch = !p->outer || p->branch;
    b->in.late = b->in.branch ? larger(branch_late(p, c, src), p->late) + more : 0;
    for (unsigned i = 0; i < c->n_captures; i++)
        TRY(capture_add(p, c, b, i));
    rill_status s = b->in.branch ? b->in.walk_branch(&b->in) : b->in.walk(&b->in);
    if (b->in.multiple)
        p->multiple = b->in.multiple;
    TRY(s);
    for (uint32_t i = 0; i < src->n_outputs; i++) {
        b->streams[i] = flow_of(&b->in, src->outputs[i], &b->out[i]);
        if (!b->streams[i])
            b->out[i].wire = b->in.map[src->outputs[i]];
        if (b->out[i].wire == WIRE_NONE)
            return op_fail(p->err, RILL_UNSUPPORTED, c->n,
                           "cannot stream: output %u of a branch has two time axes", i);
    }
    return RILL_OK;
}

/* By how many units of the symbol output i of branch k is earlier than that of the other one;
 * negative: later. False: it comes at any time, or in a branch does not run along time. */
static bool output_early(const struct cond *c, int k, unsigned i, int64_t *ret)
{
    const struct branch *b = &c->branch[k], *other = &c->branch[1 - k];
    const struct stream_fact *s = &b->out[i].sf, *o = &other->out[i].sf;
    if (!b->streams[i] || !other->streams[i] || s->uniform || o->uniform)
        return false;
    const bool whole = s->hop_num * o->hop_den == o->hop_num * s->hop_den && s->hop_den == 1;
    *ret = whole ? (o->delay - s->delay) * s->hop_num : 0;
    return true;
}

/* By how many units all that branch k gives is earlier, at least. */
static int64_t branch_early(const struct cond *c, int k)
{
    int64_t least = INT64_MAX, early;
    for (unsigned i = 0; i < c->n->n_out; i++)
        if (output_early(c, k, i, &early))
            least = smaller(least, early);
    return least == INT64_MAX ? 0 : least;
}

/* Where what branch k gives is earlier, its frames come later; by whole pulses, where what goes
 * by runs in it, as chunks do, would be later than that. */
static rill_status branch_wait(struct pulser *p, struct cond *c, int k)
{
    const int64_t early = c->branch[k].in.branch ? branch_early(c, k) : 0;
    if (early <= 0)
        return RILL_OK;
    TRY(branch_pulse(p, c, k, early));
    return branch_early(c, k) < 0 ? branch_pulse(p, c, k, early / p->pulse * p->pulse) : RILL_OK;
}

/* Later by so many frames. Behind a pause of the branch, frames from in front of the sequence come
 * out: they are zeros, not what it makes of nothing. */
static rill_status output_delay(struct pulser *p, const struct node *n, struct flow *f,
                                int64_t more)
{
    if (more == 0)
        return RILL_OK;
    TRY(flow_mask(p, n, f, NULL, true, false));
    return flow_delay(p, n->name, f, more);
}

/* Both branches give a frame at the same time. */
static rill_status output_align(struct pulser *p, struct cond *c, unsigned i)
{
    struct flow *a = &c->branch[0].out[i], *b = &c->branch[1].out[i];
    if (!c->branch[0].streams[i] && !c->branch[1].streams[i])
        return RILL_OK;
    if (!c->branch[0].streams[i] || !c->branch[1].streams[i] || a->sf.axis != b->sf.axis ||
        a->sf.pulse != b->sf.pulse ||
        a->sf.hop_num * b->sf.hop_den != b->sf.hop_num * a->sf.hop_den)
        return op_fail(p->err, RILL_UNSUPPORTED, c->n,
                       "cannot stream: output %u runs along time in one branch otherwise than in "
                       "the other",
                       i);
    const int64_t late = larger(a->sf.delay, b->sf.delay);
    for (int k = 0; k < 2; k++) {
        struct flow *f = &c->branch[k].out[i];
        if (f->sf.uniform)
            f->sf.delay = late;
        else
            TRY(output_delay(&c->branch[k].in, c->n, f, late - f->sf.delay));
    }
    a->sf.uniform = b->sf.uniform = a->sf.uniform && b->sf.uniform;
    return RILL_OK;
}

/* Without what nobody reads: a state that only its own next value is made of would live on as an
 * output of the branch. */
static rill_status branch_prune(struct pulser *p, struct cond *c, struct branch *b)
{
    struct graph *from = b->dst;
    const struct graph *src = b->in.src;
    for (unsigned i = 0; i < src->n_outputs; i++)
        if (!graph_add_output(from, b->out[i].wire))
            return pulser_no_memory(p);
    b->in.dst = b->dst = arena_new(p->arena, struct graph);
    if (!b->dst)
        return pulser_no_memory(p);
    TRY(graph_pruned(b->dst, from, p->err));
    for (unsigned i = 0; i < src->n_outputs; i++)
        b->out[i].wire = b->dst->outputs[i];
    for (unsigned i = 0; i < c->n_captures; i++)
        b->in.map[src->inputs[i]] = b->dst->inputs[i];
    if (b->in.clock != WIRE_NONE)
        b->in.clock = b->dst->inputs[c->n_captures];
    b->dst->n_outputs = 0;
    return RILL_OK;
}

/* ---- the inputs of the branches: captures of both, states of both, the clock ---- */

/* Capture i of branch k; those of branch 1 that are the same wires are the first one's. */
static bool is_own_capture(const struct cond *c, int k, unsigned i)
{
    return k == 0 || c->branch[1].outer[i] != c->branch[0].outer[i];
}

/* The captures of both branches as inputs of b, which reads its own. */
static rill_status captures_list(struct pulser *p, const struct cond *c, struct branch *b,
                                 uint32_t *list, uint32_t *n)
{
    const int own = b == &c->branch[1];
    for (int k = 0; k < 2; k++)
        for (unsigned i = 0; i < c->n_captures; i++) {
            const struct graph *of = c->branch[k].dst;
            const uint32_t w = c->branch[k].in.map[c->branch[k].in.src->inputs[i]];
            if (!is_own_capture(c, k, i))
                continue;
            const bool reads = k == own || !is_own_capture(c, 1, i);
            list[*n] = reads ? b->in.map[b->in.src->inputs[i]]
                             : graph_add_wire(b->dst, of->wires[w].name, &of->wires[w].fact);
            if (list[(*n)++] == WIRE_NONE)
                return pulser_no_memory(p);
        }
    return RILL_OK;
}

static rill_status inputs_extend(struct pulser *p, struct cond *c, struct branch *b)
{
    struct graph *g = b->dst;
    uint32_t *list = arena_array(p->arena, uint32_t, c->n_in + 1), n = 0;
    if (!list)
        return pulser_no_memory(p);
    TRY(captures_list(p, c, b, list, &n));
    for (int k = 0; k < 2; k++) {
        const struct graph *of = c->branch[k].dst;
        for (uint32_t i = 0; i < of->n_states; i++) {
            const struct wire *w = &of->wires[of->states[i].in];
            list[n] = of == g ? of->states[i].in : graph_add_wire(g, w->name, &w->fact);
            if (list[n++] == WIRE_NONE)
                return pulser_no_memory(p);
        }
    }
    if (c->has_clock) {
        TRY(pulser_clock(&b->in, &list[n]));
        n++;
    }
    g->inputs = list;
    g->n_inputs = g->cap_inputs = n;
    return RILL_OK;
}

static rill_status outputs_put(struct pulser *p, const struct cond *c, struct branch *b)
{
    unsigned at = c->n_taken;
    for (unsigned i = 0; i < b->in.src->n_outputs; i++)
        if (!graph_add_output(b->dst, b->out[i].wire))
            return pulser_no_memory(p);
    for (int k = 0; k < 2; k++) {
        const struct graph *of = c->branch[k].dst;
        for (uint32_t i = 0; i < of->n_states; i++, at++)
            if (!graph_add_output(b->dst, of == b->dst ? of->states[i].out : b->dst->inputs[at]))
                return pulser_no_memory(p);
    }
    return RILL_OK;
}

/* ---- the node made ---- */

/* The states of both branches are the graph's; next: the node's outputs for them. */
static rill_status states_raise(struct pulser *p, struct cond *c, uint32_t *next)
{
    for (int k = 0; k < 2; k++) {
        const struct graph *of = c->branch[k].dst;
        for (uint32_t i = 0; i < of->n_states; i++, next++) {
            const struct state *st = &of->states[i];
            const struct fact *f = &of->wires[st->in].fact;
            uint32_t in = graph_add_wire(p->dst, st->name, f);
            *next = graph_add_wire(p->dst, st->name, f);
            if (in == WIRE_NONE || *next == WIRE_NONE ||
                !graph_add_state(p->dst, st->name, in, *next, st->init))
                return pulser_no_memory(p);
            c->outer_in[c->n_in++] = in;
        }
    }
    return RILL_OK;
}

static rill_status results_bind(struct pulser *p, const struct cond *c, uint32_t *out)
{
    for (unsigned i = 0; i < c->n->n_out; i++) {
        const struct branch *b = &c->branch[0];
        struct fact f = b->dst->wires[b->out[i].wire].fact;
        f.value = NULL;
        if ((out[i] = graph_add_wire(p->dst, c->n->name, &f)) == WIRE_NONE)
            return pulser_no_memory(p);
        if (c->n->out[i] == WIRE_NONE)
            continue;
        p->map[c->n->out[i]] = out[i];
        if (b->streams[i])
            TRY(pulser_bind(p, c->n, i, out[i], &b->out[i].sf));
        for (int k = 0; k < 2; k++) {
            const struct pulser *of = &c->branch[k].in;
            const struct kept *kept = &of->kept[of->src->outputs[i]];
            p->kept[c->n->out[i]].hollow |= kept->hollow;
            if (!b->streams[i])
                TRY(kept_result(p, c->n, i, kept));
        }
    }
    return RILL_OK;
}

static rill_status node_make(struct pulser *p, struct cond *c)
{
    const struct node *n = c->n;
    uint32_t n_states = c->branch[0].dst->n_states + c->branch[1].dst->n_states;
    uint32_t *out = arena_array(p->arena, uint32_t, n->n_out + n_states + 1);
    struct graph **body = arena_array(p->arena, struct graph *, 2);
    c->outer_in = arena_array(p->arena, uint32_t, 2 * n->n_in + n_states + 2);
    if (!out || !body || !c->outer_in)
        return pulser_no_memory(p);
    c->outer_in[c->n_in++] = p->map[n->in[0]];
    for (int k = 0; k < 2; k++)
        for (unsigned i = 0; i < c->n_captures; i++)
            if (is_own_capture(c, k, i))
                c->outer_in[c->n_in++] = c->branch[k].outer[i];
    c->n_taken = c->n_in - 1;
    TRY(results_bind(p, c, out));
    TRY(states_raise(p, c, out + n->n_out));
    c->has_clock = c->branch[0].in.clock != WIRE_NONE || c->branch[1].in.clock != WIRE_NONE;
    if (c->has_clock)
        TRY(pulser_clock(p, &c->outer_in[c->n_in++]));
    for (int k = 0; k < 2; k++) {
        TRY(inputs_extend(p, c, &c->branch[k]));
        body[k] = c->branch[k].dst;
    }
    for (int k = 0; k < 2; k++)
        TRY(outputs_put(p, c, &c->branch[k]));
    struct node *made = graph_add_node(p->dst, &op_if, n->name, NULL, c->outer_in, c->n_in, out,
                                       n->n_out + n_states);
    if (!made)
        return pulser_no_memory(p);
    made->body = body;
    made->n_body = 2;
    for (int k = 0; k < 2; k++)
        body[k]->n_states = 0;
    return RILL_OK;
}

static rill_status branches_pulse(struct pulser *p, struct cond *c)
{
    for (int k = 0; k < 2; k++)
        TRY(branch_pulse(p, c, k, 0));
    return RILL_OK;
}

static rill_status cond_make(struct pulser *p, struct cond *c)
{
    for (int k = 0; k < 2; k++)
        TRY(branch_wait(p, c, k));
    for (unsigned i = 0; i < c->n->n_out; i++)
        TRY(output_align(p, c, i));
    for (int k = 0; k < 2; k++)
        TRY(branch_prune(p, c, &c->branch[k]));
    return node_make(p, c);
}

/* ---- parts: outputs whose branches are apart by one number of units ---- */

static bool is_one_part(const struct cond *c)
{
    int64_t early;
    for (unsigned i = 0; i < c->n->n_out; i++)
        if (output_early(c, 0, i, &early) && early != branch_early(c, 0))
            return false;
    return true;
}

/* The first output that is not done, and those that are apart as it is. */
static unsigned part_choose(const struct cond *c, bool *done, unsigned *list)
{
    unsigned n = 0;
    int64_t early, of = 0;
    bool has = false;
    for (unsigned i = 0; i < c->n->n_out; i++) {
        const bool apart = output_early(c, 0, i, &early);
        if (done[i] || (apart && has && early != of))
            continue;
        if (apart) {
            has = true;
            of = early;
        }
        done[i] = true;
        list[n++] = i;
    }
    return n;
}

/* n with those outputs alone. */
static rill_status part_new(struct pulser *p, const struct node *n, const unsigned *list,
                            unsigned n_out, struct node *ret)
{
    *ret = *n;
    ret->n_out = n_out;
    ret->out = arena_array(p->arena, uint32_t, n_out);
    ret->body = arena_array(p->arena, struct graph *, 2);
    if (!ret->out || !ret->body)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n_out; i++)
        ret->out[i] = n->out[list[i]];
    for (int k = 0; k < 2; k++) {
        struct graph *body = ret->body[k] = arena_new(p->arena, struct graph);
        uint32_t *outputs = arena_array(p->arena, uint32_t, n_out);
        if (!body || !outputs)
            return pulser_no_memory(p);
        *body = *n->body[k];
        for (unsigned i = 0; i < n_out; i++)
            outputs[i] = n->body[k]->outputs[list[i]];
        body->outputs = outputs;
        body->n_outputs = n_out;
    }
    return RILL_OK;
}

/* An If for each part: were they one, only a delay in a branch, which stands while the other one
 * runs, could bring the frames of all of them to one time. */
static rill_status parts_make(struct pulser *p, const struct cond *all)
{
    const unsigned n_out = all->n->n_out;
    bool *done = arena_array(p->arena, bool, n_out);
    unsigned *list = arena_array(p->arena, unsigned, n_out), n;
    if (!done || !list)
        return pulser_no_memory(p);
    while ((n = part_choose(all, done, list)) > 0) {
        struct node part;
        struct cond c = { .n = &part, .n_captures = all->n_captures };
        TRY(part_new(p, all->n, list, n, &part));
        TRY(branches_pulse(p, &c));
        TRY(cond_make(p, &c));
    }
    return RILL_OK;
}

rill_status rule_if(struct pulser *p, const struct node *n)
{
    struct cond c = { .n = n, .n_captures = n->n_in - 1 };
    if (pulser_stream(p, n->in[0]))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its condition runs along time; Where chooses frame by "
                       "frame, and a part of a pipeline runs frame by frame");
    TRY(pulser_no_lengths(p, n)); /* what a branch captures is one of its inputs */
    TRY(branches_pulse(p, &c));
    return is_one_part(&c) ? cond_make(p, &c) : parts_make(p, &c);
}
