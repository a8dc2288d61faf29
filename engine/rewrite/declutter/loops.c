/* SPDX-License-Identifier: MIT */
/* Loops over the places of an axis become Scans: the trip count is the length of the axis, the
 * condition stays true, and the body takes place by place by the number of the iteration. What else
 * reads that number reads a scanned range. */
#include "engine/graph/control.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"
#include "engine/typing/trips.h"

#define SLICES_MAX 32

struct looped {
    struct graph *to;
    const struct node *n;
    const struct graph *body;
    unsigned n_states;
    const struct dim *trips;
    const struct node *gather[SLICES_MAX]; /* of the body, whose slices are scanned */
    uint32_t from[SLICES_MAX];             /* wires outside */
    unsigned n_slices;
    bool counts; /* the number of the iteration is read, too */
    rill_error *err;
};

static rill_status no_memory(const struct looped *l)
{
    return err_set(l->err, RILL_NOMEM, "out of memory");
}

/* ---- which ---- */

static struct loop loop_of(const struct looped *l)
{
    return (struct loop) { l->to, l->body, l->n->in, l->n->n_in, l->n_states };
}

/* The wire outside that a body's wire is captured from; WIRE_NONE: it is no capture. */
static uint32_t captured(const struct looped *l, uint32_t w)
{
    for (uint32_t i = 2 + l->n_states; i < l->body->n_inputs; i++)
        if (l->body->inputs[i] == w)
            return l->n->in[i];
    return WIRE_NONE;
}

#define STEPS_MAX 16

static bool is_zero(const struct graph *g, uint32_t w)
{
    int64_t v;
    unsigned n;
    return match_ints(g, w, &v, 1, &n) && n == 1 && v == 0;
}

/* The number of the iteration, as a list of one too; it is never below 0. */
static bool is_number(const struct looped *l, uint32_t w, int steps)
{
    const struct graph *body = l->body;
    const struct loop loop = loop_of(l);
    static const enum op_id moves[] = { OP_IDENTITY, OP_RESHAPE, OP_SQUEEZE, OP_UNSQUEEZE };
    const struct node *n = w == WIRE_NONE ? NULL : graph_producer(body, w), *less;
    if (!n || steps == STEPS_MAX)
        return w != WIRE_NONE && loop_counts(&loop, w);
    if (node_is_among(n, moves, sizeof moves / sizeof *moves))
        return is_number(l, n->in[0], steps + 1);
    if (node_is(n, OP_ADD))
        return is_zero(body, n->in[1]) && is_number(l, n->in[0], steps + 1);
    return node_is(n, OP_WHERE) && (less = match_op(body, n->in[0], OP_LESS)) &&
        is_zero(body, less->in[1]) && is_number(l, less->in[0], steps + 1) &&
        is_number(l, n->in[2], steps + 1);
}

/* Its place stays an axis of size 1. */
static bool keeps_axis(const struct looped *l, const struct node *n)
{
    return l->body->wires[n->in[1]].fact.rank == 1;
}

static bool takes_place(const struct looped *l, const struct graph *g, const struct node *n)
{
    uint32_t from = node_is(n, OP_GATHER) ? captured(l, n->in[0]) : WIRE_NONE;
    if (from == WIRE_NONE || !is_number(l, n->in[1], 0) || l->body->wires[n->in[1]].fact.rank > 1)
        return false;
    const struct fact *f = &g->wires[from].fact;
    return f->shape[axis_normalise(axis_of(n), f->rank)] == l->trips;
}

static void slices_find(struct looped *l, const struct graph *g)
{
    const struct loop loop = loop_of(l);
    for (uint32_t i = 0; i < l->body->n_nodes; i++) {
        const struct node *n = &l->body->nodes[i];
        if (l->n_slices < SLICES_MAX && takes_place(l, g, n)) {
            l->from[l->n_slices] = captured(l, n->in[0]);
            l->gather[l->n_slices++] = n;
            continue;
        }
        for (unsigned k = 0; k < n->n_in; k++)
            l->counts |= n->in[k] != WIRE_NONE && loop_counts(&loop, n->in[k]);
    }
    for (uint32_t i = 0; i < l->body->n_outputs; i++)
        l->counts |= loop_counts(&loop, l->body->outputs[i]);
}

static bool loop_scans(struct looped *l, const struct graph *g)
{
    if (l->n->op != &op_loop)
        return false;
    const struct loop loop = loop_of(l);
    l->trips = loop_trips(&loop);
    if (!l->trips)
        return false;
    slices_find(l, g);
    return l->n_slices > 0;
}

/* ---- the body ---- */

struct copied {
    struct graph *to;
    uint32_t *map;
    uint32_t *captures; /* wires outside, of those that are read */
    unsigned n_captures;
};

static bool is_slice(const struct looped *l, const struct node *n)
{
    for (unsigned k = 0; k < l->n_slices; k++)
        if (l->gather[k] == n)
            return true;
    return false;
}

static bool body_reads(const struct looped *l, uint32_t w)
{
    for (uint32_t i = 0; i < l->body->n_nodes; i++)
        for (unsigned k = 0; k < l->body->nodes[i].n_in && !is_slice(l, &l->body->nodes[i]); k++)
            if (l->body->nodes[i].in[k] == w)
                return true;
    for (uint32_t i = 0; i < l->body->n_outputs; i++)
        if (l->body->outputs[i] == w)
            return true;
    return false;
}

static uint32_t input_copy(const struct looped *l, struct copied *c, uint32_t w)
{
    struct fact f = l->body->wires[w].fact;
    f.value = NULL;
    return c->map[w] = graph_add_input(c->to, l->body->wires[w].name, &f);
}

/* What an iteration gets of what is scanned. */
static rill_status slice_copy(const struct looped *l, struct copied *c, const struct node *n)
{
    const struct fact whole = l->body->wires[n->out[0]].fact;
    const int64_t axis = axis_normalise(axis_of(n), whole.rank);
    struct fact f = whole;
    uint32_t in[2];
    if (!keeps_axis(l, n))
        return input_copy(l, c, n->out[0]) == WIRE_NONE ? no_memory(l) : RILL_OK;
    f.rank--;
    for (int i = (int) axis; i < f.rank; i++)
        f.shape[i] = whole.shape[i + 1];
    in[0] = graph_add_input(c->to, l->body->wires[n->out[0]].name, &f);
    if (in[0] == WIRE_NONE)
        return no_memory(l);
    TRY(put_ints(c->to, (struct attr_ints) { .v = &axis, .n = 1 }, &in[1], l->err));
    return put_op(c->to, OP_UNSQUEEZE, in, 2, &whole, &c->map[n->out[0]], NULL, l->err);
}

/* States that count are read as the number of the iteration. */
static bool number_copy(const struct looped *l, struct copied *c)
{
    const struct loop loop = loop_of(l);
    const uint32_t number = input_copy(l, c, l->body->inputs[0]);
    for (unsigned i = 0; i < l->n_states; i++)
        if (loop_counts(&loop, l->body->inputs[2 + i]))
            c->map[l->body->inputs[2 + i]] = number;
    return number != WIRE_NONE;
}

static rill_status inputs_copy(const struct looped *l, struct copied *c)
{
    const unsigned char yes = 1;
    bool made = true;
    for (unsigned i = 0; i < l->n_states; i++)
        made &= input_copy(l, c, l->body->inputs[2 + i]) != WIRE_NONE;
    for (unsigned k = 0; k < l->n_slices; k++)
        TRY(slice_copy(l, c, l->gather[k]));
    if (l->counts)
        made &= number_copy(l, c);
    for (uint32_t i = 2 + l->n_states; i < l->body->n_inputs; i++)
        if (body_reads(l, l->body->inputs[i])) {
            made &= input_copy(l, c, l->body->inputs[i]) != WIRE_NONE;
            c->captures[c->n_captures++] = l->n->in[i];
        }
    c->map[l->body->inputs[1]] =
        graph_add_const(c->to, "goes on",
                        tensor_from_data(c->to->arena, DTYPE_BOOL, 0, NULL, &yes));
    return made && c->map[l->body->inputs[1]] != WIRE_NONE ? RILL_OK : no_memory(l);
}

static rill_status node_copy(const struct looped *l, struct copied *c, const struct node *n)
{
    uint32_t *in = arena_array(c->to->arena, uint32_t, n->n_in + 1),
             *out = arena_array(c->to->arena, uint32_t, n->n_out + 1);
    if (!in || !out)
        return no_memory(l);
    for (unsigned k = 0; k < n->n_in; k++)
        in[k] = n->in[k] == WIRE_NONE ? WIRE_NONE : c->map[n->in[k]];
    for (unsigned k = 0; k < n->n_out; k++) {
        const struct wire *w = n->out[k] == WIRE_NONE ? NULL : &l->body->wires[n->out[k]];
        out[k] = w ? graph_add_wire(c->to, w->name, &w->fact) : WIRE_NONE;
        if (w && (c->map[n->out[k]] = out[k]) == WIRE_NONE)
            return no_memory(l);
    }
    return graph_copy_node(c->to, n, in, n->n_in, out) ? RILL_OK : no_memory(l);
}

static rill_status body_copy(const struct looped *l, struct copied *c)
{
    const struct graph *b = l->body;
    struct arena *a = l->to->arena;
    c->to = arena_new(a, struct graph);
    c->map = arena_array(a, uint32_t, b->n_wires + 1);
    c->captures = arena_array(a, uint32_t, b->n_inputs + 1);
    if (!c->to || !c->map || !c->captures)
        return no_memory(l);
    graph_init(c->to, a, b->dims, b->name);
    for (uint32_t w = 0; w < b->n_wires; w++) {
        c->map[w] = WIRE_NONE;
        if (b->wires[w].fact.value &&
            (c->map[w] = graph_add_const(c->to, b->wires[w].name, b->wires[w].fact.value)) ==
                WIRE_NONE)
            return no_memory(l);
    }
    TRY(inputs_copy(l, c));
    for (uint32_t i = 0; i < b->n_nodes; i++)
        if (!is_slice(l, &b->nodes[i]))
            TRY(node_copy(l, c, &b->nodes[i]));
    for (uint32_t i = 1; i < b->n_outputs; i++)
        if (!graph_add_output(c->to, c->map[b->outputs[i]]))
            return no_memory(l);
    return RILL_OK;
}

/* ---- the Scan ---- */

/* 0, 1, .. for every iteration. */
static rill_status range_add(const struct looped *l, uint32_t *ret)
{
    const struct fact f = { .type = DTYPE_I64, .rank = 1, .shape = { l->trips } };
    struct tensor *last = tensor_new(l->to->arena, DTYPE_DIM, 0, NULL);
    const int64_t zero = 0, one = 1;
    if (!last)
        return no_memory(l);
    *(const struct dim **) last->data = l->trips;
    const struct tensor *v[3] = { tensor_from_data(l->to->arena, DTYPE_I64, 0, NULL, &zero), last,
                                  tensor_from_data(l->to->arena, DTYPE_I64, 0, NULL, &one) };
    uint32_t in[3];
    for (int i = 0; i < 3; i++) {
        const struct tensor *t = v[i] ? tensor_resolved(l->to->arena, v[i]) : NULL;
        in[i] = t ? graph_add_const(l->to, "place", t) : WIRE_NONE;
        if (in[i] == WIRE_NONE)
            return no_memory(l);
    }
    *ret = graph_add_wire(l->to, l->n->name, &f);
    return *ret != WIRE_NONE &&
            graph_add_node(l->to, op_by_id(OP_RANGE), l->n->name, NULL, in, 3, ret, 1)
        ? RILL_OK
        : no_memory(l);
}

static struct scan_attr *scan_attr_new(const struct looped *l, unsigned n_scanned)
{
    struct arena *a = l->to->arena;
    struct scan_attr *at = arena_new(a, struct scan_attr);
    int64_t *axes = arena_array(a, int64_t, n_scanned + 1);
    if (!at || !axes)
        return NULL;
    for (unsigned k = 0; k < l->n_slices; k++)
        axes[k] = axis_normalise(axis_of(l->gather[k]), l->to->wires[l->from[k]].fact.rank);
    if (l->counts)
        axes[l->n_slices] = 0;
    *at = (struct scan_attr) { .n_states = l->n_states,
                               .n_scanned = n_scanned,
                               .in_axes = { .v = axes, .n = n_scanned } };
    return at;
}

static rill_status scan_add(const struct looped *l)
{
    struct copied c = { 0 };
    unsigned n_in = 0, n_scanned = l->n_slices + l->counts;
    TRY(body_copy(l, &c));
    struct scan_attr *at = scan_attr_new(l, n_scanned);
    struct graph **body = arena_array(l->to->arena, struct graph *, 1);
    uint32_t *in = arena_array(l->to->arena, uint32_t, l->n->n_in + n_scanned + 1);
    if (!at || !body || !in)
        return no_memory(l);
    for (unsigned i = 0; i < l->n_states; i++)
        in[n_in++] = l->n->in[2 + i];
    for (unsigned k = 0; k < l->n_slices; k++)
        in[n_in++] = l->from[k];
    if (l->counts)
        TRY(range_add(l, &in[n_in++]));
    for (unsigned k = 0; k < c.n_captures; k++)
        in[n_in++] = c.captures[k];
    struct node *n =
        graph_add_node(l->to, &op_scan, l->n->name, at, in, n_in, l->n->out, l->n->n_out);
    if (!n)
        return no_memory(l);
    body[0] = c.to;
    n->body = body;
    n->n_body = 1;
    return RILL_OK;
}

rill_status graph_with_loops_scanned(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    TRY(graph_copied(ret, g, reterr));
    const struct node *nodes = ret->nodes;
    uint32_t n = ret->n_nodes;
    ret->nodes = NULL;
    ret->n_nodes = ret->cap_nodes = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct looped l = { .to = ret, .n = &nodes[i], .err = reterr };
        if (nodes[i].op == &op_loop) {
            l.body = nodes[i].body[0];
            l.n_states = (unsigned) ((const struct loop_attr *) nodes[i].attr)->n_states;
        }
        bool scans = loop_scans(&l, g);
        if (!scans && !graph_copy_node(ret, &nodes[i], nodes[i].in, nodes[i].n_in, nodes[i].out))
            return no_memory(&l);
        if (scans)
            TRY(scan_add(&l));
    }
    return RILL_OK;
}
