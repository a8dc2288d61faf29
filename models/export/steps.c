/* SPDX-License-Identifier: MIT */
#include "models/export/steps.h"
#include "engine/base/err.h"
#include "engine/graph/control.h"
#include "engine/late/op.h"
#include "engine/ops/attrs.h"
#include "engine/ops/rnn.h"
#include "models/export/lower.h"

#include <stdio.h>
#include <string.h>

/* More frames than a stream has: the length of one that goes on. */
#define LENGTH_OPEN ((int64_t) 1 << 40)

/* ---- nodes ---- */

#define RULE_OUTPUTS_MAX 3

/* A cell that leaves out the frames before the stream, and is of the standard else. */
static bool node_is_skipping(const struct node *n)
{
    static const enum op_id cells[] = { OP_GRU, OP_LSTM, OP_RNN };
    return node_is_among(n, cells, sizeof cells / sizeof *cells) &&
        node_has_input(n, rnn_skip_input(n)) && n->n_in == rnn_skip_input(n) + 1;
}

static lower_rule *rule_find(const struct lower *l, const struct node *n)
{
    static const struct {
        enum op_id op;
        bool standard; /* only where ops of the standard are wanted */
        lower_rule *rule;
    } rules[] = {
        { OP_PULSE_PAD, false, lower_pad },
        { OP_PULSE_FIRST, false, lower_first },
        { OP_PULSE_VALID, false, lower_valid },
        { OP_PULSE_SKIP, false, lower_skip },
        { OP_PULSE_RANGE, false, lower_range },
        { OP_PULSE_HISTORY, false, lower_history },
        { OP_PULSE_WINDOW, false, lower_window },
        { OP_FRAME, true, lower_frame },
        { OP_OVERLAP_ADD, true, lower_overlap },
        { OP_RFFT, true, lower_rfft },
        { OP_IRFFT, true, lower_irfft },
        { OP_MAGNITUDE, true, lower_magnitude },
        { OP_COMPLEX_MUL, true, lower_complex_mul },
        { OP_ROUND_F16, true, lower_round },
        { OP_ROUND_BF16, true, lower_round },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (node_is(n, rules[i].op) && (l->standard || !rules[i].standard))
            return rules[i].rule;
    if (node_is(n, OP_RESIZE) && resize_attr_of(n)->window_axis >= 0 && l->standard)
        return lower_resize;
    if (node_is(n, OP_AVERAGE_POOL) && node_has_input(n, 1) && l->standard)
        return lower_pool;
    return node_is_skipping(n) ? lower_rnn : NULL;
}

static rill_status graph_lower(struct lower *l);

/* The body, whose clock is the one that the node captures. */
static rill_status body_lower(const struct lower *l, const struct node *n, struct graph **body)
{
    const unsigned skip = node_is(n, OP_IF) ? 1 : 0; /* the condition is no input of a branch */
    struct graph *made = arena_new(l->arena, struct graph);
    struct lower in = { .src = *body,
                        .dst = made,
                        .arena = l->arena,
                        .err = l->err,
                        .standard = l->standard,
                        .whole = l->whole,
                        .clock = WIRE_NONE };
    if (!made)
        return err_set(l->err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < in.src->n_inputs; i++)
        if (l->clock != WIRE_NONE && n->in[i + skip] == l->clock)
            in.clock = in.src->inputs[i];
    graph_init(made, l->arena, l->src->dims, in.src->name);
    in.map = arena_array(l->arena, uint32_t, in.src->n_wires + 1);
    if (!in.map)
        return err_set(l->err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < in.src->n_inputs; i++) {
        const struct wire *w = &in.src->wires[in.src->inputs[i]];
        bool is_clock = in.src->inputs[i] == in.clock;
        in.map[in.src->inputs[i]] = graph_add_input(made, w->name, is_clock ? NULL : &w->fact);
    }
    TRY(graph_lower(&in));
    for (uint32_t i = 0; i < in.src->n_outputs; i++)
        if (!graph_add_output(made, in.map[in.src->outputs[i]]))
            return err_set(l->err, RILL_NOMEM, "out of memory");
    *body = made;
    return RILL_OK;
}

/* In one step a Scan starts from its operands, whatever a stream would do. */
static rill_status scan_lower(const struct lower *l, struct node *n)
{
    struct scan_attr *a = arena_copy(l->arena, n->attr, sizeof *a);
    if (!a)
        return err_set(l->err, RILL_NOMEM, "out of memory");
    a->restarts = 0;
    n->attr = a;
    return RILL_OK;
}

/* Operands that no file's op has, which passes and streams give it. */
static rill_status own_inputs_check(const struct lower *l, const struct node *n)
{
    for (unsigned i = (unsigned) n->op->max_in; n->op->max_in >= 0 && i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE)
            return op_fail(l->err, RILL_UNSUPPORTED, n,
                           "its input %u, '%.60s', is one that only a stream of rill has%s", i,
                           l->src->wires[n->in[i]].name,
                           node_is(n, OP_AVERAGE_POOL) ? ": an ONNX file has a form" : "");
    return RILL_OK;
}

static rill_status node_keep(struct lower *l, const struct node *n)
{
    TRY(own_inputs_check(l, n));
    uint32_t *in = arena_array(l->arena, uint32_t, n->n_in + 1),
             *out = arena_array(l->arena, uint32_t, n->n_out + 1);
    if (!in || !out)
        return err_set(l->err, RILL_NOMEM, "out of memory");
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = lower_in(l, n, i);
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i] = WIRE_NONE;
        if (n->out[i] != WIRE_NONE)
            out[i] = l->map[n->out[i]] =
                graph_add_wire(l->dst, l->src->wires[n->out[i]].name, NULL);
    }
    unsigned n_in = n->n_in;
    while (n_in && in[n_in - 1] == WIRE_NONE)
        n_in--;
    struct node *made = graph_copy_node(l->dst, n, in, n_in, out);
    if (!made)
        return err_set(l->err, RILL_NOMEM, "out of memory");
    if (made->n_body &&
        !(made->body = arena_copy(l->arena, n->body, n->n_body * sizeof *made->body)))
        return err_set(l->err, RILL_NOMEM, "out of memory");
    for (unsigned b = 0; b < made->n_body; b++)
        TRY(body_lower(l, n, &made->body[b]));
    return node_is(n, OP_SCAN) && !l->whole ? scan_lower(l, made) : RILL_OK;
}

static rill_status node_lower(struct lower *l, const struct node *n)
{
    uint32_t out[RULE_OUTPUTS_MAX] = { WIRE_NONE, WIRE_NONE, WIRE_NONE };
    lower_rule *rule = rule_find(l, n);
    l->at = n;
    if (!rule)
        return node_keep(l, n);
    rule(l, n, out);
    for (unsigned i = 0; l->status == RILL_OK && i < n->n_out; i++) {
        if (n->out[i] == WIRE_NONE)
            continue;
        l->map[n->out[i]] = out[i];
        l->dst->wires[out[i]].name = l->src->wires[n->out[i]].name;
    }
    return l->status;
}

/* Constants and nodes; inputs are there. */
static rill_status graph_lower(struct lower *l)
{
    const struct graph *src = l->src;
    memset(l->place, 0xff, sizeof l->place);
    for (uint32_t w = 0; w < src->n_wires; w++) {
        const struct wire *x = &src->wires[w];
        if (x->node != WIRE_NONE || !x->fact.value)
            continue;
        l->map[w] = graph_add_const(l->dst, x->name, x->fact.value);
        if (l->map[w] == WIRE_NONE)
            return err_set(l->err, RILL_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < src->n_nodes; i++)
        TRY(node_lower(l, &src->nodes[i]));
    return RILL_OK;
}

/* ---- the clock ---- */

struct outer {
    struct lower l;
    const struct pgraph *p;
    const struct steps_opts *opts;
    uint32_t ticks, length; /* the clock's two numbers, i64[]; WIRE_NONE: there is no clock */
    uint32_t clock;
    const char **names; /* of the outputs, then of states' inputs, then of the clock */
};

static uint32_t size_lower(struct outer *o, const struct dim *d);

/* Where all is 1, x; they agree elsewhere. */
static uint32_t broadcast_lower(struct lower *l, uint32_t all, uint32_t x)
{
    return lower_where(l, lower_2(l, OP_EQUAL, all, lower_int(l, 1)), x, all);
}

/* Of operands that are taken together one after the other. */
static uint32_t fold_lower(struct outer *o, const struct dim_parts *d)
{
    static const enum op_id op[] = { [DIM_FORM_PRODUCT] = OP_MUL,
                                     [DIM_FORM_LEAST] = OP_MIN,
                                     [DIM_FORM_MOST] = OP_MAX,
                                     [DIM_FORM_AT_LEAST] = OP_GREATER_OR_EQUAL,
                                     [DIM_FORM_EQUAL] = OP_EQUAL };
    uint32_t all = size_lower(o, d->arg[0]);
    for (unsigned i = 1; i < d->n; i++) {
        uint32_t x = size_lower(o, d->arg[i]);
        all = d->form == DIM_FORM_BROADCAST ? broadcast_lower(&o->l, all, x)
                                            : lower_2(&o->l, op[d->form], all, x);
    }
    bool truth = d->form == DIM_FORM_AT_LEAST || d->form == DIM_FORM_EQUAL;
    return truth ? lower_cast(&o->l, all, DTYPE_I64) : all;
}

static uint32_t sum_lower(struct outer *o, const struct dim_parts *d)
{
    struct lower *l = &o->l;
    uint32_t all = lower_int(l, d->value);
    for (unsigned i = 0; i < d->n; i++)
        all = lower_2(l, OP_ADD, all,
                      lower_2(l, OP_MUL, lower_int(l, d->coef[i]), size_lower(o, d->arg[i])));
    return all;
}

/* x / by, rounded down: Div rounds towards 0. */
static uint32_t quotient_lower(struct outer *o, const struct dim_parts *d)
{
    struct lower *l = &o->l;
    uint32_t x = size_lower(o, d->arg[0]), by = lower_int(l, d->value), at;
    const struct attr floor_mod = { .name = "fmod", .kind = ATTR_INT, .i = 0 };
    at = lower_op(l, OP_MOD, &floor_mod, 1, (uint32_t[]) { x, by }, 2);
    return lower_2(l, OP_DIV, lower_2(l, OP_SUB, x, at), by);
}

/* A size in the frames of the input. */
static uint32_t size_lower(struct outer *o, const struct dim *d)
{
    const struct dim_parts parts = dim_parts(d);
    if (o->l.status != RILL_OK)
        return WIRE_NONE;
    switch (parts.form) {
    case DIM_FORM_INT: return lower_int(&o->l, parts.value);
    case DIM_FORM_SYMBOL:
        if (d == o->p->symbol)
            return o->length;
        break;
    case DIM_FORM_SUM: return sum_lower(o, &parts);
    case DIM_FORM_QUOTIENT: return quotient_lower(o, &parts);
    case DIM_FORM_OTHER: break;
    default: return fold_lower(o, &parts);
    }
    char text[200];
    dim_print(d, text, sizeof text);
    return lower_fail(&o->l,
                      err_set(o->l.err, RILL_UNSUPPORTED,
                              "the length %.150s of what streams is not computed from the input's "
                              "length alone",
                              text));
}

/* What ops read in the place of the clock: the runs, and the lengths once they are known. */
static uint32_t clock_numbers(struct outer *o)
{
    const struct attr front = { .name = "axis", .kind = ATTR_INT, .i = 0 };
    static const int64_t one = 1;
    struct lower *l = &o->l;
    uint32_t part[1 + LENGTHS_MAX], open;
    part[0] = lower_reshape(l, o->ticks, &one, 1);
    open = lower_2(l, OP_EQUAL, o->length, lower_int(l, 0));
    for (uint32_t i = 0; i < o->p->n_lengths; i++)
        part[1 + i] = lower_reshape(l,
                                    lower_where(l, open, lower_int(l, LENGTH_OPEN),
                                                size_lower(o, o->p->lengths[i])),
                                    &one, 1);
    return lower_op(l, OP_CONCAT, &front, 1, part, 1 + o->p->n_lengths);
}

static const char *clock_name(const struct outer *o)
{
    return o->names[o->l.src->n_outputs + o->l.src->n_states];
}

static void clock_add(struct outer *o)
{
    struct lower *l = &o->l;
    const struct fact f = { .type = DTYPE_I64, .rank = 1, .shape = { dim_int(l->dst->dims, 2) } };
    o->clock = graph_add_input(l->dst, clock_name(o), &f);
    if (o->clock == WIRE_NONE)
        lower_fail(l, RILL_NOMEM);
    o->ticks = lower_gather(l, o->clock, lower_int(l, 0), 0);
    o->length = lower_gather(l, o->clock, lower_int(l, 1), 0);
    if (l->clock != WIRE_NONE && l->status == RILL_OK)
        l->map[l->clock] = clock_numbers(o);
}

/* ---- ports ---- */

static rill_status meta_add(struct outer *o, const char *key, const char *value)
{
    struct graph *g = o->l.dst;
    if (!key || !value)
        return err_set(o->l.err, RILL_NOMEM, "out of memory");
    g->meta[g->n_meta].key = key;
    g->meta[g->n_meta++].value = value;
    return RILL_OK;
}

/* "axis 0, 256 frames, the first 256 come before frame 0" of a port. */
static rill_status port_meta(struct outer *o, const char *what, const char *name,
                             const struct stream_fact *s)
{
    struct arena *a = o->l.arena;
    const char *key = arena_printf(a, "rill.%s.%s", what, name);
    if (!o->p->symbol)
        return RILL_OK;
    if (s->axis < 0)
        return meta_add(o, key, "the same in every run");
    return meta_add(o, key,
                    arena_printf(a, "axis=%d frames=%lld delay=%lld", s->axis, (long long) s->pulse,
                                 (long long) s->delay));
}

static bool all_zero(const struct tensor *t)
{
    const unsigned char *b = t ? t->data : NULL;
    for (size_t i = 0; b && i < tensor_bytes(t); i++)
        if (b[i])
            return false;
    return true;
}

static bool needs_clock(const struct pgraph *p)
{
    bool needs = p->has_clock;
    for (uint32_t i = 0; i < p->g.n_states; i++)
        needs |= !all_zero(p->g.states[i].init);
    return needs;
}

/* The output with the next value of an input is called so. */
static const char *new_name(const struct lower *l, const char *name)
{
    return arena_printf(l->arena, "new_%s", name);
}

static bool name_is_among(const char *name, const char *const *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(list[i], name))
            return true;
    return false;
}

/* Of an input of the stream or one of the first n names. */
static bool name_is_taken(const struct outer *o, const char *name, uint32_t n)
{
    const struct graph *src = o->l.src;
    for (uint32_t i = 0; i < src->n_inputs - o->p->has_clock; i++)
        if (!strcmp(src->wires[src->inputs[i]].name, name))
            return true;
    return name_is_among(name, o->names, n);
}

/* Outputs keep theirs, or count where it is taken. */
static bool outputs_name(struct outer *o)
{
    const struct graph *src = o->l.src;
    for (uint32_t i = 0; i < src->n_outputs; i++) {
        const char *name =
            o->opts->output_names ? o->opts->output_names[i] : src->wires[src->outputs[i]].name;
        o->names[i] = name;
        for (unsigned k = 2; o->names[i] && name_is_taken(o, o->names[i], i); k++)
            o->names[i] = arena_printf(o->l.arena, "%s_%u", name, k);
        if (!o->names[i])
            return false;
    }
    return true;
}

/* What goes on steps over names of ports, and over those whose new_ is one. */
static bool states_name(struct outer *o)
{
    const uint32_t first = o->l.src->n_outputs, n = first + o->l.src->n_states;
    unsigned k = 0;
    for (uint32_t i = first; i <= n; i++) {
        const char *next;
        k = i == n ? 1 : k;
        do {
            o->names[i] = i == n && k == 1
                ? "clock"
                : arena_printf(o->l.arena, i == n ? "clock_%u" : "cached_%u", k);
            next = o->names[i] ? new_name(&o->l, o->names[i]) : NULL;
            k++;
        } while (next && (name_is_taken(o, o->names[i], i) || name_is_taken(o, next, first)));
        if (!next)
            return false;
    }
    return true;
}

static rill_status ports_name(struct outer *o)
{
    const struct graph *src = o->l.src;
    o->names = arena_array(o->l.arena, const char *, (size_t) src->n_outputs + src->n_states + 1u);
    return o->names && outputs_name(o) && states_name(o)
        ? RILL_OK
        : err_set(o->l.err, RILL_NOMEM, "out of memory");
}

static rill_status inputs_add(struct outer *o)
{
    struct lower *l = &o->l;
    const struct graph *src = l->src;
    for (uint32_t i = 0; i < src->n_inputs - o->p->has_clock; i++) {
        const struct wire *w = &src->wires[src->inputs[i]];
        l->map[src->inputs[i]] = graph_add_input(l->dst, w->name, &w->fact);
        TRY(port_meta(o, "input", w->name, &o->p->inputs[i]));
    }
    for (uint32_t i = 0; i < src->n_states; i++)
        l->map[src->states[i].in] = graph_add_input(l->dst, o->names[src->n_outputs + i],
                                                    &src->wires[src->states[i].in].fact);
    if (needs_clock(o->p))
        clock_add(o);
    return l->status;
}

/* States begin as zeros: what begins otherwise is put in their place in the first run. */
static rill_status states_begin(struct outer *o)
{
    struct lower *l = &o->l;
    for (uint32_t i = 0; i < l->src->n_states; i++) {
        const struct state *s = &l->src->states[i];
        if (all_zero(s->init))
            continue;
        uint32_t first = lower_2(l, OP_EQUAL, o->ticks, lower_int(l, 0));
        l->map[s->in] = lower_where(l, first, lower_const(l, s->init), l->map[s->in]);
    }
    return l->status;
}

/* An output of that name: the wire itself, where it is nobody else's. */
static rill_status output_add(struct lower *l, uint32_t wire, const char *name)
{
    bool own = l->dst->wires[wire].node != WIRE_NONE;
    for (uint32_t i = 0; own && i < l->dst->n_outputs; i++)
        own = l->dst->outputs[i] != wire;
    l->at = NULL;
    if (!own)
        wire = lower_1(l, OP_IDENTITY, wire);
    if (l->status != RILL_OK)
        return l->status;
    l->dst->wires[wire].name = name;
    return name && graph_add_output(l->dst, wire) ? RILL_OK
                                                  : err_set(l->err, RILL_NOMEM, "out of memory");
}

static rill_status outputs_add(struct outer *o)
{
    static const int64_t tick[2] = { 1, 0 };
    struct lower *l = &o->l;
    const struct graph *src = l->src;
    for (uint32_t i = 0; i < src->n_outputs; i++) {
        TRY(output_add(l, l->map[src->outputs[i]], o->names[i]));
        TRY(port_meta(o, "output", o->names[i], &o->p->outputs[i]));
    }
    for (uint32_t i = 0; i < src->n_states; i++)
        TRY(output_add(l, l->map[src->states[i].out], new_name(l, o->names[src->n_outputs + i])));
    if (o->clock == WIRE_NONE)
        return RILL_OK;
    return output_add(l, lower_2(l, OP_ADD, o->clock, lower_ints(l, tick, 2)),
                      new_name(l, clock_name(o)));
}

rill_status mgraph_from_pgraph(struct mgraph *ret, const struct pgraph *p,
                               const struct steps_opts *opts, struct arena *a, rill_error *reterr)
{
    const struct graph *src = &p->g;
    struct mgraph made;
    struct outer o = { .l = { .src = src,
                              .dst = &made.g,
                              .arena = a,
                              .err = reterr,
                              .standard = opts->standard,
                              .clock = p->has_clock ? src->inputs[src->n_inputs - 1] : WIRE_NONE },
                       .p = p,
                       .opts = opts,
                       .clock = WIRE_NONE };
    graph_init(&made.g, a, src->dims, src->name);
    o.l.map = arena_array(a, uint32_t, src->n_wires + 1);
    made.g.meta = arena_alloc_array(a, src->n_inputs + src->n_outputs + 2, sizeof *made.g.meta);
    if (!o.l.map || !made.g.meta)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    memset(o.l.place, 0xff, sizeof o.l.place);
    if (p->symbol)
        TRY(meta_add(&o, "rill.pulse", arena_printf(a, "%lld", (long long) p->pulse)));
    TRY(ports_name(&o));
    TRY(inputs_add(&o));
    TRY(states_begin(&o));
    TRY(graph_lower(&o.l));
    TRY(outputs_add(&o));
    TRY(graph_check(&made.g, reterr));
    *ret = made;
    return RILL_OK;
}

rill_status mgraph_from_states(struct mgraph *ret, const struct graph *g, struct arena *a,
                               rill_error *reterr)
{
    const uint32_t n = g->n_inputs + g->n_outputs;
    struct stream_fact *still = arena_array(a, struct stream_fact, n + 1u);
    if (!still)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        still[i] = (struct stream_fact) { .axis = -1 };
    const struct pgraph p = { .g = *g, .inputs = still, .outputs = still };
    const struct steps_opts opts = { .standard = false };
    return mgraph_from_pgraph(ret, &p, &opts, a, reterr);
}

/* ---- whole recordings ---- */

static bool has_rule(const struct lower *l, const struct graph *g)
{
    bool has = false;
    for (uint32_t i = 0; i < g->n_nodes && !has; i++) {
        has = rule_find(l, &g->nodes[i]) != NULL;
        for (unsigned b = 0; b < g->nodes[i].n_body && !has; b++)
            has = has_rule(l, g->nodes[i].body[b]);
    }
    return has;
}

bool graph_has_standard_form(const struct graph *g)
{
    const struct lower l = { .src = g, .standard = true, .whole = true };
    return !late_of_graph(g) && has_rule(&l, g);
}

static rill_status whole_lower(struct lower *l)
{
    const struct graph *src = l->src;
    for (uint32_t i = 0; i < src->n_inputs; i++) {
        const struct wire *w = &src->wires[src->inputs[i]];
        if ((l->map[src->inputs[i]] = graph_add_input(l->dst, w->name, &w->fact)) == WIRE_NONE)
            return err_set(l->err, RILL_NOMEM, "out of memory");
    }
    TRY(graph_lower(l));
    for (uint32_t i = 0; i < src->n_outputs; i++)
        TRY(output_add(l, l->map[src->outputs[i]], src->wires[src->outputs[i]].name));
    return graph_check(l->dst, l->err);
}

rill_status mgraph_from_whole(struct mgraph *ret, const struct graph *g, struct arena *a,
                              rill_error *reterr)
{
    struct mgraph made;
    struct lower l = { .src = g,
                       .dst = &made.g,
                       .arena = a,
                       .err = reterr,
                       .standard = true,
                       .whole = true,
                       .clock = WIRE_NONE };
    graph_init(&made.g, a, g->dims, g->name);
    made.g.meta = g->meta;
    made.g.n_meta = g->n_meta;
    l.map = arena_array(a, uint32_t, g->n_wires + 1);
    if (!l.map)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(whole_lower(&l));
    *ret = made;
    return RILL_OK;
}
