/* SPDX-License-Identifier: MIT */
/* rill_part: a fragment that runs in the frames in which a condition holds.
 *
 *     gains = rill_part([emb, e0], when = speaks, body = decode, other = hold);
 *
 * Each tensor of x has frames along axis 0. The fragment sees the frames in which `when` is true as
 * its whole sequence: it may frame, convolve, recur, overlap and delay along it, and gives a frame
 * for each. In the other frames it does not run, and whatever it keeps stays as it is. Then runs
 * the fragment `other`, in the same way on the frames that are its; without one come zeros.
 *
 * Each fragment is cut into pulses of one frame (nnef_source.cut), whose states become those of a
 * Scan over the frames; its body is an If of the two. */
#include "engine/graph/control.h"
#include "engine/graph/pulsed.h"
#include "engine/ops/clock.h"
#include "models/nnef/build.h"

#include <string.h>

#define SYMBOL "part.frames"

struct branch {
    const struct nnef_fragment *f; /* NULL: zeros */
    struct pgraph cut;
    unsigned first_state, n_states; /* of all states of the part, the clock's among them */
};

struct part {
    const struct call *c;
    uint32_t *x, when;
    unsigned n_x, n_results, n_states;
    struct branch branch[2]; /* in the order of an If */
    struct graph *body;      /* of the Scan: states, slices, condition */
    uint32_t *in;            /* of the body */
    uint32_t *init;          /* of the states: wires outside */
    struct fact *result;     /* of a frame */
};

static unsigned n_inputs(const struct part *p)
{
    return p->n_states + p->n_x;
}

/* ---- what the call says ---- */

static rill_status fragment_read(const struct part *p, const char *arg, struct branch *ret)
{
    const struct call *c = p->c;
    const struct nnef_expr *e = arg_expr(c, arg);
    const char *name;
    if (!e)
        return RILL_OK;
    TRY(expr_name(c, e, &name));
    ret->f = fragment_find(c->b, name);
    if (!ret->f)
        return nnef_fail(c->b, c->s, e->pos, RILL_MALFORMED, "'%.60s' is no fragment of this text",
                         name);
    if (ret->f->n_params != p->n_x || !ret->f->n_results)
        return nnef_fail(
            c->b, c->s, e->pos, RILL_MALFORMED,
            "fragment '%.60s' takes %u tensors and gives %u; a part of %u tensors takes "
            "as many",
            name, ret->f->n_params, ret->f->n_results, p->n_x);
    return RILL_OK;
}

static rill_status frames_check(const struct part *p, const struct fact *f, const char *what)
{
    char text[160];
    if (f->rank >= 1 && f->shape[0] == wire_fact(p->c->s, p->x[0])->shape[0])
        return RILL_OK;
    fact_print(f, text, sizeof text);
    return call_fail(p->c, RILL_MALFORMED,
                     "%s is %s: expected frames along axis 0, as many as the first tensor has",
                     what, text);
}

static rill_status part_read(struct part *p, const struct call *c)
{
    *p = (struct part) { .c = c };
    TRY(arg_wires(c, "x", &p->x, &p->n_x));
    if (!p->n_x || p->n_x > SCAN_PARTS_MAX)
        return call_fail(c, RILL_MALFORMED, "a part takes 1 to %d tensors, not %u", SCAN_PARTS_MAX,
                         p->n_x);
    TRY(arg_wire(c, "when", &p->when));
    for (unsigned i = 0; i < p->n_x; i++)
        TRY(frames_check(p, wire_fact(c->s, p->x[i]), "a tensor of the part"));
    const struct fact *when = wire_fact(c->s, p->when);
    TRY(frames_check(p, when, "'when'"));
    if (when->type != DTYPE_BOOL || when->rank != 1)
        return call_fail(c, RILL_MALFORMED,
                         "'when' has rank %d and type %s: expected a truth value "
                         "for each frame",
                         when->rank, dtype_name(when->type));
    TRY(fragment_read(p, "body", &p->branch[0]));
    TRY(fragment_read(p, "other", &p->branch[1]));
    if (!p->branch[0].f)
        return call_fail(c, RILL_MALFORMED, "'body' is not the name of a fragment");
    p->n_results = p->branch[0].f->n_results;
    if (p->branch[1].f && p->branch[1].f->n_results != p->n_results)
        return call_fail(c, RILL_MALFORMED, "fragment '%.60s' gives %u results, '%.60s' gives %u",
                         p->branch[0].f->name, p->n_results, p->branch[1].f->name,
                         p->branch[1].f->n_results);
    return RILL_OK;
}

/* ---- a fragment cut into frames ---- */

/* The fragment on sequences of as many frames as the symbol says. */
static rill_status fragment_build(const struct part *p, const struct nnef_fragment *f,
                                  const struct dim *frames, struct graph *g)
{
    struct builder *b = p->c->b;
    struct val *values = arena_array(b->arena, struct val, f->n_results);
    const char *prefix = arena_printf(b->arena, "%s%s/", p->c->s->prefix, f->name);
    if (!values || !prefix)
        return nnef_no_memory(b);
    graph_init(g, b->arena, b->dims, f->name);
    struct scope in = { .g = g, .file = b->doc->file, .prefix = prefix };
    for (unsigned i = 0; i < p->n_x; i++) {
        struct fact fact = *wire_fact(p->c->s, p->x[i]);
        fact.value = NULL;
        fact.shape[0] = frames;
        uint32_t w = graph_add_input(g, f->params[i].name, &fact);
        if (w == WIRE_NONE)
            return nnef_no_memory(b);
        TRY(scope_bind(b, &in, f->params[i].name, val_of_wire(w)));
    }
    if (++b->calls > b->limits->calls)
        return call_fail(p->c, RILL_LIMIT, "fragments call each other more than %u deep",
                         b->limits->calls);
    TRY(fragment_run(b, &in, f, values));
    b->calls--;
    for (uint32_t i = 0; i < f->n_results; i++) {
        uint32_t w;
        TRY(val_to_wire(b, &in, f->results[i].pos, values[i], DTYPE_F32, &w));
        if (!graph_add_output(g, w))
            return nnef_no_memory(b);
    }
    return graph_check(g, b->err);
}

/* Each result has a frame for every frame that goes in, and at once. */
static rill_status results_check(const struct part *p, const struct branch *br,
                                 const struct graph *whole, const struct dim *frames)
{
    for (unsigned i = 0; i < p->n_results; i++) {
        const struct fact *f = &whole->wires[whole->outputs[i]].fact;
        const struct stream_fact *sf = &br->cut.outputs[i];
        char text[160];
        fact_print(f, text, sizeof text);
        if (f->rank < 1 || f->shape[0] != frames || sf->axis != 0)
            return call_fail(p->c, RILL_MALFORMED,
                             "fragment '%.60s': result '%.60s' is %s: expected " SYMBOL
                             " frames along axis 0, one for each that goes in",
                             br->f->name, br->f->results[i].name, text);
        if (sf->delay)
            return call_fail(
                p->c, RILL_UNSUPPORTED,
                "fragment '%.60s': result '%.60s' comes %lld frames late, which a part "
                "may not: it sees frames that are to come; delay the others in it "
                "instead, and say so by late_frames in model.conf",
                br->f->name, br->f->results[i].name, (long long) sf->delay);
    }
    return RILL_OK;
}

static rill_status branch_cut(struct part *p, struct branch *br)
{
    struct builder *b = p->c->b;
    struct mgraph *m = arena_new(b->arena, struct mgraph);
    struct val frames;
    if (!br->f)
        return RILL_OK;
    if (!m)
        return nnef_no_memory(b);
    if (!b->cut)
        return call_fail(p->c, RILL_UNSUPPORTED, "conditional parts cannot be read here");
    TRY(symbol_add(b, SYMBOL, &frames));
    TRY(fragment_build(p, br->f, frames.dim, &m->g));
    rill_status s = b->cut(&br->cut, m, frames.dim, b->arena, b->err);
    if (s != RILL_OK)
        return err_prefix(b->err, s, "%s:%u:%u: fragment '%.60s' as a part", p->c->s->file,
                          p->c->e->pos.line, p->c->e->pos.column, br->f->name);
    if (br->cut.pulse != 1)
        return call_fail(p->c, RILL_UNSUPPORTED,
                         "fragment '%.60s' needs %lld frames at a time; a part takes one",
                         br->f->name, (long long) br->cut.pulse);
    TRY(results_check(p, br, &m->g, frames.dim));
    br->first_state = p->n_states;
    br->n_states = br->cut.g.n_states + br->cut.has_clock;
    p->n_states += br->n_states;
    return RILL_OK;
}

/* ---- states ---- */

/* The clock of a part counts the frames in which it ran, of a sequence whose end is not known. */
static rill_status clock_new(const struct part *p, struct tensor **ret)
{
    TRY(literal_new(p->c, &(struct tensor) { .type = DTYPE_I64, .rank = 1, .dim = { CLOCK_SIZE } },
                    ret));
    for (int i = 1; i < CLOCK_SIZE; i++)
        ((int64_t *) (*ret)->data)[i] = CLOCK_OPEN;
    return RILL_OK;
}

static rill_status state_add(struct part *p, unsigned at, const char *name, const struct tensor *t)
{
    struct builder *b = p->c->b;
    struct fact f;
    TRY(const_tensor(b, p->c->s->g, t, &p->init[at]));
    fact_of_tensor(&f, b->dims, t);
    f.value = NULL;
    p->in[at] = graph_add_input(p->body, name, &f);
    return p->in[at] == WIRE_NONE ? nnef_no_memory(b) : RILL_OK;
}

static rill_status branch_states(struct part *p, const struct branch *br)
{
    const struct graph *g = &br->cut.g;
    unsigned at = br->first_state;
    struct tensor *t;
    for (unsigned i = 0; i < g->n_states; i++) {
        const struct state *st = &g->states[i];
        struct tensor like;
        if (!fact_to_tensor(&g->wires[st->in].fact, &like))
            return call_fail(p->c, RILL_INTERNAL, "state '%.60s' has no size", st->name);
        if (!st->init)
            TRY(literal_new(p->c, &like, &t));
        TRY(state_add(p, at++, st->name, st->init ? st->init : t));
    }
    if (!br->cut.has_clock)
        return RILL_OK;
    TRY(clock_new(p, &t));
    return state_add(p, at, "clock", t);
}

static rill_status body_inputs(struct part *p)
{
    struct builder *b = p->c->b;
    p->in = arena_array(b->arena, uint32_t, n_inputs(p) + 1u);
    p->init = arena_array(b->arena, uint32_t, n_inputs(p) + 1u);
    if (!p->in || !p->init)
        return nnef_no_memory(b);
    for (int k = 0; k < 2; k++)
        if (p->branch[k].f)
            TRY(branch_states(p, &p->branch[k]));
    for (unsigned i = 0; i <= p->n_x; i++) {
        uint32_t outer = i < p->n_x ? p->x[i] : p->when;
        const struct fact f = fact_without_axis(wire_fact(p->c->s, outer), 0);
        p->in[p->n_states + i] =
            graph_add_input(p->body, i < p->n_x ? p->branch[0].f->params[i].name : "when", &f);
        if (p->in[p->n_states + i] == WIRE_NONE)
            return nnef_no_memory(b);
    }
    return RILL_OK;
}

/* ---- branches ---- */

struct branch_copy {
    const struct part *p;
    const struct branch *br;
    struct scope
        to;        /* the graph of the branch, whose inputs are those of the body without `when` */
    uint32_t *map; /* wires of br->cut */
};

static rill_status node_in(struct branch_copy *y, const char *op, uint32_t x, const int64_t *axis,
                           uint32_t *ret)
{
    uint32_t in[2] = { x, 0 };
    TRY(const_i64(y->p->c->b, y->to.g, axis, 1, &in[1]));
    return build_node(y->p->c->b, &y->to, y->p->c->e->pos, op, NULL, 0, in, 2, ret, 1);
}

/* Slices get the axis of time back. */
static rill_status cut_inputs(struct branch_copy *y)
{
    const struct graph *g = &y->br->cut.g;
    const struct graph *to = y->to.g;
    const struct part *p = y->p;
    for (uint32_t i = 0; i < g->n_inputs - y->br->cut.has_clock; i++)
        for (unsigned k = 0; k < p->n_x; k++)
            if (!strcmp(g->wires[g->inputs[i]].name, y->br->f->params[k].name))
                TRY(node_in(y, "Unsqueeze", to->inputs[p->n_states + k], &(int64_t) { 0 },
                            &y->map[g->inputs[i]]));
    for (uint32_t i = 0; i < g->n_states; i++)
        y->map[g->states[i].in] = to->inputs[y->br->first_state + i];
    if (y->br->cut.has_clock)
        y->map[g->inputs[g->n_inputs - 1]] = to->inputs[y->br->first_state + g->n_states];
    return RILL_OK;
}

static rill_status cut_consts(struct branch_copy *y)
{
    const struct graph *g = &y->br->cut.g;
    for (uint32_t w = 0; w < g->n_wires; w++) {
        const struct wire *from = &g->wires[w];
        if (y->map[w] != WIRE_NONE || from->node != WIRE_NONE || !from->fact.value ||
            !graph_wire_is_read(g, w))
            continue;
        if ((y->map[w] = graph_add_const(y->to.g, from->name, from->fact.value)) == WIRE_NONE)
            return nnef_no_memory(y->p->c->b);
    }
    return RILL_OK;
}

static rill_status cut_node(struct branch_copy *y, const struct node *n)
{
    struct builder *b = y->p->c->b;
    uint32_t *in = arena_array(b->arena, uint32_t, n->n_in + 1u),
             *out = arena_array(b->arena, uint32_t, n->n_out + 1u);
    if (!in || !out)
        return nnef_no_memory(b);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : y->map[n->in[i]];
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i] = WIRE_NONE;
        if (n->out[i] == WIRE_NONE)
            continue;
        const struct wire *w = &y->br->cut.g.wires[n->out[i]];
        out[i] = y->map[n->out[i]] = graph_add_wire(y->to.g, w->name, &w->fact);
        if (out[i] == WIRE_NONE)
            return nnef_no_memory(b);
    }
    return graph_copy_node(y->to.g, n, in, n->n_in, out) ? RILL_OK : nnef_no_memory(b);
}

static rill_status clock_next(struct branch_copy *y, uint32_t *ret)
{
    const struct branch *br = y->br;
    struct tensor *one;
    uint32_t in[2] = { y->to.g->inputs[br->first_state + br->cut.g.n_states], 0 };
    TRY(literal_new(y->p->c,
                    &(struct tensor) { .type = DTYPE_I64, .rank = 1, .dim = { CLOCK_SIZE } },
                    &one));
    ((int64_t *) one->data)[0] = 1;
    TRY(const_tensor(y->p->c->b, y->to.g, one, &in[1]));
    return build_node(y->p->c->b, &y->to, y->p->c->e->pos, "Add", NULL, 0, in, 2, ret, 1);
}

/* The states of this branch go on, those of the other one stay. */
static rill_status states_out(struct branch_copy *y)
{
    const struct branch *br = y->br;
    for (unsigned i = 0; i < y->p->n_states; i++) {
        uint32_t w = y->to.g->inputs[i];
        unsigned k = i - br->first_state; /* wraps in front of them */
        if (br->f && k < br->cut.g.n_states)
            w = y->map[br->cut.g.states[k].out];
        else if (br->f && k < br->n_states)
            TRY(clock_next(y, &w));
        if (!graph_add_output(y->to.g, w))
            return nnef_no_memory(y->p->c->b);
    }
    return RILL_OK;
}

static rill_status zeros_out(struct branch_copy *y)
{
    for (unsigned i = 0; i < y->p->n_results; i++) {
        struct tensor like, *t;
        uint32_t w;
        if (!fact_to_tensor(&y->p->result[i], &like))
            return call_fail(y->p->c, RILL_UNSUPPORTED, "result %u of the part has no fixed size",
                             i);
        TRY(literal_new(y->p->c, &like, &t));
        TRY(const_tensor(y->p->c->b, y->to.g, t, &w));
        if (!graph_add_output(y->to.g, w))
            return nnef_no_memory(y->p->c->b);
    }
    return RILL_OK;
}

static rill_status results_out(struct branch_copy *y)
{
    const struct graph *g = &y->br->cut.g;
    for (unsigned i = 0; i < y->p->n_results; i++) {
        uint32_t w;
        TRY(node_in(y, "Squeeze", y->map[g->outputs[i]], &(int64_t) { 0 }, &w));
        const struct fact *f = wire_fact(&y->to, w);
        if (y->br == &y->p->branch[0])
            y->p->result[i] = *f;
        else if (!fact_same(f, &y->p->result[i]))
            return call_fail(y->p->c, RILL_MALFORMED,
                             "result %u is of another size or type in fragment '%.60s' than in "
                             "'%.60s'",
                             i, y->p->branch[1].f->name, y->p->branch[0].f->name);
        if (!graph_add_output(y->to.g, w))
            return nnef_no_memory(y->p->c->b);
    }
    return RILL_OK;
}

static rill_status branch_build(const struct part *p, const struct branch *br, struct graph *g)
{
    struct builder *b = p->c->b;
    struct branch_copy y = { .p = p,
                             .br = br,
                             .to = { .g = g, .file = b->doc->file, .prefix = p->c->s->prefix } };
    graph_init(g, b->arena, b->dims, br->f ? br->f->name : "other");
    for (unsigned i = 0; i < n_inputs(p); i++) {
        const struct wire *w = &p->body->wires[p->in[i]];
        if (graph_add_input(g, w->name, &w->fact) == WIRE_NONE)
            return nnef_no_memory(b);
    }
    if (br->f) {
        if (!(y.map = arena_array(b->arena, uint32_t, br->cut.g.n_wires + 1u)))
            return nnef_no_memory(b);
        memset(y.map, 0xff, br->cut.g.n_wires * sizeof *y.map); /* WIRE_NONE */
        TRY(cut_inputs(&y));
        TRY(cut_consts(&y));
        for (uint32_t i = 0; i < br->cut.g.n_nodes; i++)
            TRY(cut_node(&y, &br->cut.g.nodes[i]));
    }
    TRY(states_out(&y));
    TRY(br->f ? results_out(&y) : zeros_out(&y));
    return graph_check(g, b->err);
}

/* ---- the Scan ---- */

static rill_status if_add(const struct part *p)
{
    struct builder *b = p->c->b;
    unsigned n_out = p->n_states + p->n_results;
    uint32_t *in = arena_array(b->arena, uint32_t, n_inputs(p) + 2u),
             *out = arena_array(b->arena, uint32_t, n_out + 1u);
    struct graph **bodies = arena_array(b->arena, struct graph *, 2);
    if (!in || !out || !bodies)
        return nnef_no_memory(b);
    in[0] = p->in[n_inputs(p)];
    memcpy(in + 1, p->in, n_inputs(p) * sizeof *in);
    for (int k = 0; k < 2; k++) {
        if (!(bodies[k] = arena_new(b->arena, struct graph)))
            return nnef_no_memory(b);
        TRY(branch_build(p, &p->branch[k], bodies[k]));
    }
    for (unsigned i = 0; i < n_out; i++) {
        const struct wire *w = &bodies[0]->wires[bodies[0]->outputs[i]];
        struct fact f = w->fact;
        f.value = NULL;
        out[i] = graph_add_wire(p->body, w->name, &f);
        if (out[i] == WIRE_NONE || !graph_add_output(p->body, out[i]))
            return nnef_no_memory(b);
    }
    const char *name = arena_printf(b->arena, "%s%s", p->c->s->prefix,
                                    p->c->s->target ? p->c->s->target : p->branch[0].f->name);
    struct node *n =
        name ? graph_add_node(p->body, &op_if, name, NULL, in, n_inputs(p) + 1, out, n_out) : NULL;
    if (!n)
        return nnef_no_memory(b);
    n->body = bodies;
    n->n_body = 2;
    return RILL_OK;
}

rill_status build_part(const struct call *c, struct val *ret)
{
    struct builder *b = c->b;
    struct part *p = arena_new(b->arena, struct part);
    if (!p)
        return nnef_no_memory(b);
    TRY(part_read(p, c));
    for (int k = 0; k < 2; k++)
        TRY(branch_cut(p, &p->branch[k]));
    p->body = arena_new(b->arena, struct graph);
    p->result = arena_array(b->arena, struct fact, p->n_results + 1u);
    if (!p->body || !p->result)
        return nnef_no_memory(b);
    graph_init(p->body, b->arena, b->dims, p->branch[0].f->name);
    TRY(body_inputs(p));
    TRY(if_add(p));
    uint32_t *in = arena_array(b->arena, uint32_t, n_inputs(p) + 2u);
    if (!in)
        return nnef_no_memory(b);
    memcpy(in, p->init, p->n_states * sizeof *in);
    memcpy(in + p->n_states, p->x, p->n_x * sizeof *in);
    in[n_inputs(p)] = p->when;
    return build_scan_node(c, p->body, p->n_states, p->n_x + 1, wire_fact(c->s, p->x[0])->shape[0],
                           in, n_inputs(p) + 1, ret);
}
