/* SPDX-License-Identifier: MIT */
/* The walk: each node of the decluttered graph, in order, by its rule into the pulsed one. What
 * surrounds it: the symbol that is time, pulses tried, inputs, states and outputs. */
#include "engine/graph/subst.h"
#include "engine/ops/clock.h"
#include "pulse/axes.h"
#include "pulse/cut.h"
#include "pulse/ints.h"
#include "pulse/off_axis.h"
#include "pulse/parts.h"
#include "pulse/places.h"
#include "pulse/position_rows.h"
#include "pulse/positions.h"
#include "pulse/rules.h"
#include "pulse/sections.h"
#include "pulse/shifts.h"

#include <stdio.h>
#include <string.h>

#define TRIES_MAX 64

/* ---- driver ---- */

static bool node_streams(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            return true;
    return false;
}

static rill_status node_copy(struct pulser *p, const struct node *n)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1),
             *out = arena_array(p->arena, uint32_t, n->n_out + 1);
    if (!in || !out)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i] = WIRE_NONE;
        if (n->out[i] == WIRE_NONE)
            continue;
        const struct wire *w = &p->src->wires[n->out[i]];
        if (!fact_is_static(&w->fact)) {
            char fact[160];
            fact_print(&w->fact, fact, sizeof fact);
            return op_fail(p->err, RILL_UNSUPPORTED, n, "makes %s out of inputs that do not stream",
                           fact);
        }
        out[i] = p->map[n->out[i]] = graph_add_wire(p->dst, w->name, &w->fact);
    }
    if (p->valid != WIRE_NONE)
        return pulser_guard(p, n, in, out);
    return graph_copy_node(p->dst, n, in, n->n_in, out) ? RILL_OK : pulser_no_memory(p);
}

static bool node_makes_time(const struct pulser *p, const struct node *n)
{
    for (unsigned k = 0; k < n->n_out; k++)
        for (int i = 0; n->out[k] != WIRE_NONE && i < pulser_fact(p, n->out[k])->rank; i++)
            if (p->symbol && dim_mentions(pulser_fact(p, n->out[k])->shape[i], p->symbol))
                return true;
    return false;
}

static bool graph_makes_time(const struct graph *g, const struct dim *symbol)
{
    for (uint32_t w = 0; w < g->n_wires; w++)
        for (int i = 0; g->wires[w].node != WIRE_NONE && i < g->wires[w].fact.rank; i++)
            if (dim_mentions(g->wires[w].fact.shape[i], symbol))
                return true;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            if (graph_makes_time(g->nodes[i].body[b], symbol))
                return true;
    return false;
}

static bool graph_knows_length(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (fact_knows_length(
                    g->nodes[i].in[k] == WIRE_NONE ? NULL : &g->wires[g->nodes[i].in[k]].fact))
                return true;
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            if (graph_knows_length(g->nodes[i].body[b]))
                return true;
    }
    return false;
}

/* A body that nothing streams into and that yet knows time. */
static rill_status bodies_check(const struct pulser *p, const struct node *n)
{
    for (unsigned b = 0; p->symbol && b < n->n_body; b++)
        if (graph_makes_time(n->body[b], p->symbol))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: its body makes a tensor as long as the sequence, and "
                           "nothing that streams goes in; make the tensor outside");
    for (unsigned b = 0; b < n->n_body; b++)
        if (graph_knows_length(n->body[b]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: its body reads the length of the whole sequence, which "
                           "a stream learns only at its end");
    return RILL_OK;
}

/* A mask over two time axes is made where it is used. */
static rill_status mask_check(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_is_mask(p, n->in[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u is a mask over two time axes, and the node is "
                           "no attention",
                           i);
    return RILL_OK;
}

/* Frames that are kept may meet a stream where nothing comes earlier than the stream does. */
static bool takes_kept(pulse_rule *rule)
{
    return rule == rule_pointwise || rule == pulser_off_axis || rule == rule_concat ||
        rule == rule_cell || rule == rule_scan; /* the last two begin with them */
}

static rill_status kept_pulse(struct pulser *p, const struct node *n)
{
    pulse_rule *rule = pulse_rule_find(n->op);
    if (rule == rule_if && !pulser_kept(p, n->in[0]))
        return rule(p, n);
    if (!node_streams(p, n))
        return kept_node(p, n);
    if (!takes_kept(rule) || node_is_attention(p, n))
        return kept_refuse(p, n);
    if (rule != rule_concat)
        TRY(kept_check(p, n));
    return rule(p, n);
}

static rill_status node_pulse(struct pulser *p, const struct node *n)
{
    if (p->sections && p->sections->lazy[n - p->src->nodes])
        return RILL_OK;
    if (node_has_kept(p, n))
        return kept_pulse(p, n);
    if (node_is_attention(p, n))
        return rule_attention(p, n);
    TRY(mask_check(p, n));
    bool streams = node_streams(p, n);
    pulse_rule *rule = streams  ? pulse_rule_find(n->op)
        : node_makes_time(p, n) ? pulse_source_find(n->op)
                                : NULL;
    if (rule)
        return rule(p, n);
    if (source_is_still(p, n))
        return source_still(p, n);
    TRY(pulser_no_lengths(p, n));
    TRY(bodies_check(p, n));
    return node_copy(p, n);
}

static rill_status nodes_pulse(struct pulser *p)
{
    for (uint32_t i = 0; i < p->src->n_nodes; i++) {
        p->stopped = &p->src->nodes[i];
        TRY(node_pulse(p, p->stopped));
        kept_of_none(p, p->stopped);
    }
    p->stopped = NULL;
    return RILL_OK;
}

/* An axis of a*S + c frames has a frames for each of the stream. */
static rill_status input_stream(struct pulser *p, uint32_t w, int axis, struct stream_fact *ret)
{
    const struct dim *length = pulser_fact(p, w)->shape[axis];
    int64_t a, b;
    if (ret->axis >= 0)
        return err_set(p->err, RILL_UNSUPPORTED, "input '%s' has the time symbol on two axes",
                       p->src->wires[w].name);
    if (!dim_slope(length, p->symbol, &a, &b) || b != 1 || a < 1 || a > INT32_MAX / p->pulse) {
        char text[128];
        dim_print(length, text, sizeof text);
        return err_set(p->err, RILL_UNSUPPORTED,
                       "input '%s': axis %d of %s frames cannot stream; a whole multiple of the "
                       "time symbol can",
                       p->src->wires[w].name, axis, text);
    }
    *ret = (struct stream_fact) {
        .axis = axis,
        .pulse = a * p->pulse,
        .delay = a * p->lead_in,
        .length = length,
        .hop_num = 1,
        .hop_den = a,
    };
    offset_init(ret);
    return RILL_OK;
}

static rill_status input_pulse(struct pulser *p, uint32_t i)
{
    uint32_t w = p->src->inputs[i];
    struct fact f = *pulser_fact(p, w);
    struct stream_fact sf = { .axis = -1 };
    for (int a = 0; p->symbol && a < f.rank; a++)
        if (dim_mentions(f.shape[a], p->symbol)) {
            TRY(input_stream(p, w, a, &sf));
            f.shape[a] = dim_int(p->dst->dims, sf.pulse);
        }
    p->sf[w] = sf;
    p->map[w] = graph_add_input(p->dst, p->src->wires[w].name, &f);
    return p->map[w] == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

static rill_status pulser_begin(struct pulser *p)
{
    const struct graph *src = p->src;
    graph_init(p->dst, p->arena, src->dims, src->name);
    p->dst->meta = src->meta;
    p->dst->n_meta = src->n_meta;
    p->n_lengths = 0;
    p->multiple = 0;
    sections_begin(p);
    TRY(pulser_maps_new(p));
    for (uint32_t i = 0; i < src->n_inputs; i++)
        TRY(input_pulse(p, i));
    for (uint32_t i = 0; i < src->n_states; i++) {
        uint32_t w = src->states[i].in;
        p->map[w] = graph_add_wire(p->dst, src->wires[w].name, &src->wires[w].fact);
    }
    return RILL_OK;
}

/* An output comes late enough that frames past its end are never given out. */
static rill_status output_pulse(struct pulser *p, uint32_t i)
{
    const struct node n = { .name = p->src->wires[p->src->outputs[i]].name, /* for messages */
                            .op = &op_pulse_pad };
    struct flow f;
    uint32_t w = p->src->outputs[i];
    TRY(kept_port(p, w));
    if (pulser_is_mask(p, w) || p->sf[w].keys)
        return op_fail(p->err, RILL_UNSUPPORTED, &n, "cannot stream: the output has two time axes");
    if (flow_of(p, w, &f)) {
        TRY(flow_resolve(p, &n, &f));
        p->sf[w] = f.sf;
        p->map[w] = f.wire;
    }
    struct wire *made = &p->dst->wires[p->map[w]];
    if (made->node != WIRE_NONE)
        made->name = p->src->wires[w].name;
    return graph_add_output(p->dst, p->map[w]) ? RILL_OK : pulser_no_memory(p);
}

/* A declared state changes once in a run, which is another number of frames in a stream. */
static rill_status state_pulse(struct pulser *p, const struct state *s)
{
    TRY(kept_port(p, s->out));
    if (p->symbol && s->out != s->in)
        return err_set(p->err, RILL_UNSUPPORTED,
                       "state '%.80s' changes once in a run, and in a stream runs would be "
                       "pulses; a scan along time carries it from frame to frame, and an input of "
                       "fixed size makes a step of each run",
                       s->name);
    return graph_add_state(p->dst, s->name, p->map[s->in], p->map[s->out], s->init)
        ? RILL_OK
        : pulser_no_memory(p);
}

static rill_status graph_pulse(struct pulser *p)
{
    const struct graph *src = p->src;
    TRY(pulser_begin(p));
    TRY(nodes_pulse(p));
    for (uint32_t i = 0; i < src->n_outputs; i++)
        TRY(output_pulse(p, i));
    for (uint32_t i = 0; i < src->n_states; i++)
        TRY(state_pulse(p, &src->states[i]));
    return graph_check(p->dst, p->err);
}

static struct stream_fact *ports_of(const struct pulser *p, const uint32_t *wires, uint32_t n)
{
    struct stream_fact *list = arena_array(p->arena, struct stream_fact, n + 1);
    for (uint32_t i = 0; list && i < n; i++)
        list[i] = p->sf[wires[i]];
    return list;
}

static struct pulsed_wire *trace_of(const struct pulser *p)
{
    struct pulsed_wire *list = arena_array(p->arena, struct pulsed_wire, p->src->n_wires + 1);
    for (uint32_t w = 0; list && w < p->src->n_wires; w++)
        list[w] = (struct pulsed_wire) { p->untraced && p->untraced[w] ? WIRE_NONE : p->map[w],
                                         p->sf[w] };
    return list;
}

static rill_status pgraph_finish(struct pgraph *g, const struct pulser *p)
{
    g->pulse = p->pulse;
    g->lead_in = p->lead_in;
    g->inputs = ports_of(p, p->src->inputs, p->src->n_inputs);
    g->outputs = ports_of(p, p->src->outputs, p->src->n_outputs);
    g->trace = trace_of(p);
    g->n_trace = p->src->n_wires;
    g->windows = p->windows;
    g->has_clock = p->clock != WIRE_NONE;
    g->n_lengths = p->n_lengths;
    memcpy(g->lengths, p->lengths, sizeof g->lengths);
    return g->inputs && g->outputs && g->trace ? RILL_OK : pulser_no_memory(p);
}

#define WALKS_MAX 3 /* at one pulse */

/* Again, while what attention waits for was not known to its first scores; as at first, where
 * that does not fit. Without first queries what does not fit may fit in the next walk. */
static rill_status graph_pulse_again(struct pulser *p)
{
    sections_forget(p);
    rill_status s = graph_pulse(p);
    for (int walks = 1; (s == RILL_OK || p->early) && sections_have_news(p) && walks < WALKS_MAX;
         walks++) {
        s = graph_pulse(p);
        if (s == RILL_OK || p->early)
            continue;
        sections_forget(p);
        return graph_pulse(p);
    }
    return s;
}

/* Whether an output comes earlier than that, and none later. */
static bool outputs_early(const struct pulser *p, const int64_t *delays)
{
    bool early = false, late = false;
    for (uint32_t i = 0; i < p->src->n_outputs; i++) {
        early |= p->sf[p->src->outputs[i]].delay < delays[i];
        late |= p->sf[p->src->outputs[i]].delay > delays[i];
    }
    return early && !late;
}

/* A walk that takes apart what `way` says, and first queries, if `early`, where that makes an
 * output earlier. delays: of outputs, so far. */
static rill_status graph_pulse_way(struct pulser *p, bool *way, bool early, int64_t *delays)
{
    const bool before = p->early;
    for (uint32_t i = 0; i < p->src->n_outputs; i++)
        delays[i] = p->sf[p->src->outputs[i]].delay;
    *way = true;
    p->early |= early;
    if (graph_pulse_again(p) == RILL_OK && outputs_early(p, delays))
        return RILL_OK;
    *way = false;
    p->early = before;
    return graph_pulse_again(p);
}

/* With first queries apart, what masks of the length tell of them, and parts of blocks, where that
 * makes an output earlier. */
static rill_status graph_pulse_early(struct pulser *p)
{
    int64_t *delays = arena_array(p->arena, int64_t, p->src->n_outputs + 1);
    if (!delays)
        return pulser_no_memory(p);
    p->early = p->may_be_early = p->apart = p->may_be_apart = p->ends = p->may_be_ends = false;
    TRY(graph_pulse_again(p));
    if (p->may_be_early)
        TRY(graph_pulse_way(p, &p->early, true, delays));
    if (p->may_be_early && p->may_be_ends)
        TRY(graph_pulse_way(p, &p->ends, true, delays));
    return p->may_be_apart ? graph_pulse_way(p, &p->apart, false, delays) : RILL_OK;
}

/* With larger pulses until one fits all strides. */
static rill_status graph_pulse_fitting(struct pulser *p, struct pgraph *g)
{
    int64_t asked = p->pulse, of = 1;
    for (rill_status s; (s = graph_pulse_early(p)) != RILL_OK; g->tries++) {
        if (!p->multiple || g->tries == TRIES_MAX ||
            __builtin_mul_overflow(of / gcd(of, p->multiple), p->multiple, &of) ||
            of > INT32_MAX - asked)
            return s;
        if (!g->longer && p->err && !(g->longer = arena_string(p->arena, p->err->text)))
            return pulser_no_memory(p);
        p->pulse = (asked + of - 1) / of * of;
    }
    return RILL_OK;
}

#define SYMBOLS_MAX 16

rill_status pgraph_no_time(const struct dgraph *t, rill_error *reterr)
{
    const struct dim *list[SYMBOLS_MAX];
    char names[240] = "";
    unsigned n = graph_input_symbols(&t->g, list, SYMBOLS_MAX);
    for (unsigned i = 0; i < n; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s", i ? ", " : "",
                 dim_name(list[i]));
    if (n == 0)
        return err_set(reterr, RILL_UNSUPPORTED,
                       "the model has no time axis: no size of its inputs is a symbol");
    if (n == 1)
        return err_set(
            reterr, RILL_UNSUPPORTED,
            "the model has no time axis: the only symbol of its inputs, %s, is not taken "
            "for time; name it as the stream, or give it a value",
            names);
    return err_set(reterr, RILL_UNSUPPORTED,
                   "which symbol of its inputs is time is not known: %s; name one as the stream, "
                   "and set those that are the same to it, as in %s=%s",
                   names, dim_name(list[1]), dim_name(list[0]));
}

/* What is known of masks before the walk. */
static rill_status places_find(struct pulser *p)
{
    TRY(position_rows_folded(p));
    TRY(places_told_drop(p));
    p->made = places_made(p);
    p->bands = bands_new(p->src, p->arena);
    if (!p->made || !p->bands)
        return pulser_no_memory(p);
    TRY(shifts_find(p));
    return sections_find(p);
}

/* What is known of positions is dropped; what was made of it stays in the arena. */
static void places_drop(struct pulser *p, struct positions *ps)
{
    positions_drop(ps);
    p->positions = NULL;
    p->made = NULL;
    p->bands = NULL;
    p->shifts = NULL;
    p->sections = NULL;
}

/* A walk of a branch whose captures are in start and dst. */
static rill_status branch_from(struct pulser *p, const struct pulser *start,
                               const struct graph *dst)
{
    const uint32_t n = start->src->n_wires;
    *p = *start;
    *p->dst = *dst;
    p->map = arena_copy(p->arena, start->map, n * sizeof *p->map);
    p->sf = arena_copy(p->arena, start->sf, n * sizeof *p->sf);
    p->kept = arena_copy(p->arena, start->kept, n * sizeof *p->kept);
    p->padded = arena_array(p->arena, struct padded, n + 1);
    p->windows = arena_array(p->arena, struct axis_window, p->src->n_nodes + 1);
    if (!p->map || !p->sf || !p->kept || !p->padded || !p->windows)
        return pulser_no_memory(p);
    sections_begin(p);
    return nodes_pulse(p);
}

/* Again, as graph_pulse_again does. */
static rill_status branch_again(struct pulser *p)
{
    const struct pulser start = *p;
    const struct graph dst = *p->dst;
    TRY(branch_from(p, &start, &dst));
    for (int walks = 1; sections_have_news(p) && walks < WALKS_MAX; walks++)
        if (branch_from(p, &start, &dst) != RILL_OK) {
            sections_forget(p);
            return branch_from(p, &start, &dst);
        }
    return RILL_OK;
}

static rill_status branch_walk(struct pulser *p)
{
    struct positions ps;
    TRY(positions_find(&ps, p->src, p->symbol, p->arena, p->err));
    p->positions = &ps;
    rill_status s = places_find(p);
    s = s == RILL_OK ? branch_again(p) : s;
    places_drop(p, &ps);
    return s;
}

rill_status pgraph_cut(struct pgraph *ret, const struct dgraph *t, const struct dim *symbol,
                       int64_t pulse, const struct pulse_opts *opts, struct arena *a,
                       struct pulser *ret_p, rill_error *reterr)
{
    struct pgraph made = { .symbol = symbol };
    struct positions positions;
    struct pulser p = { .src = &t->g,
                        .dst = &made.g,
                        .symbol = symbol,
                        .arena = a,
                        .pulse = pulse > 0 ? pulse : 1,
                        .lead_in = opts ? opts->lead_in : 0,
                        .keep_bodies = opts && opts->keep_bodies,
                        .row_of = axis_row_of,
                        .part_of = part_flow,
                        .walk = nodes_pulse,
                        .walk_branch = branch_walk,
                        .err = reterr };
    const struct dim *symbols[SYMBOLS_MAX];
    *ret_p = (struct pulser) { .err = reterr };
    if (!symbol && graph_input_symbols(&t->g, symbols, SYMBOLS_MAX))
        return pgraph_no_time(t, reterr);
    rill_status status = RILL_OK;
    if (symbol) {
        TRY(positions_find(&positions, &t->g, symbol, a, reterr));
        p.positions = &positions;
        status = places_find(&p);
    }
    status = status == RILL_OK ? graph_pulse_fitting(&p, &made) : status;
    if (symbol)
        places_drop(&p, &positions);
    *ret_p = p;
    ret_p->dst = NULL;
    TRY(status);
    TRY(pgraph_finish(&made, &p));
    *ret = made;
    return RILL_OK;
}
