/* SPDX-License-Identifier: MIT */
/* Recurrent cells that were written out become one op: a single step as it stands, and a Scan over
 * steps as one op over the sequence, followed by a Scan without states for what the body made of
 * the hidden state. */
#include "engine/graph/control.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/declutter/cell.h"
#include "engine/rewrite/declutter/lift.h"
#include "engine/rewrite/declutter/passes.h"

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* Squeeze or Unsqueeze of one axis; *out WIRE_NONE: a new wire. */
static rill_status axis_change(struct graph *to, enum op_id id, const char *name, uint32_t from,
                               int axis, uint32_t *out, rill_error *err)
{
    const struct op *op = op_by_id(id);
    struct fact f = to->wires[from].fact;
    void *attr = arena_alloc(to->arena, op->attr_bytes + 1);
    if (!attr)
        return no_memory(err);
    TRY(attrs_parse(op, name, NULL, 0, attr, err));
    bool more = id == OP_UNSQUEEZE;
    f.value = NULL;
    f.rank += more ? 1 : -1;
    for (int i = axis; i < f.rank; i++)
        f.shape[i] = to->wires[from].fact.shape[more ? i - (i > axis) : i + 1];
    if (more)
        f.shape[axis] = dim_int(to->dims, 1);
    if (*out == WIRE_NONE)
        *out = graph_add_wire(to, name, &f);
    const struct tensor *axes =
        tensor_from_data(to->arena, DTYPE_I64, 1, &(int64_t) { 1 }, &(int64_t) { axis });
    uint32_t in[2] = { from, graph_add_const(to, "axes", axes) };
    if (*out == WIRE_NONE || in[1] == WIRE_NONE ||
        !graph_add_node(to, op, name, attr, in, 2, out, 1))
        return no_memory(err);
    return RILL_OK;
}

struct sequence {
    uint32_t x, h, c;
    bool back;
    const struct dim *steps;
}; /* [steps, batch, inputs], [1, batch, hidden] */

/* y: [steps, 1, batch, hidden]; last: [1, batch, hidden], of h and c. New wires. */
static rill_status cell_emit(struct graph *to, const char *name, const struct cell_found *c,
                             const struct sequence *s, uint32_t *ret_y, uint32_t ret_last[2],
                             rill_error *err)
{
    const struct op *op = op_by_id(c->op);
    const bool lstm = c->c != WIRE_NONE, gru = c->gates == 3;
    const struct attr attrs[] = {
        { .name = "hidden_size", .kind = ATTR_INT, .i = c->hidden },
        { .name = "direction",
          .kind = ATTR_STRINGS,
          .strings = { 1, (const char *[]) { s->back ? "reverse" : "forward" } } },
        { .name = "linear_before_reset", .kind = ATTR_INT, .i = 1 },
    };
    void *attr = arena_alloc(to->arena, op->attr_bytes + 1);
    if (!attr)
        return no_memory(err);
    TRY(attrs_parse(op, name, attrs, gru ? 3 : 2, attr, err));
    const struct dim *one = dim_int(to->dims, 1), *b = dim_int(to->dims, c->batch),
                     *h = dim_int(to->dims, c->hidden);
    const struct fact y = { .type = DTYPE_F32, .rank = 4, .shape = { s->steps, one, b, h } };
    const struct fact last = { .type = DTYPE_F32, .rank = 3, .shape = { one, b, h } };
    *ret_y = graph_add_wire(to, name, &y);
    ret_last[0] = graph_add_wire(to, name, &last);
    ret_last[1] = lstm ? graph_add_wire(to, name, &last) : WIRE_NONE;
    const uint32_t in[7] = { s->x,
                             graph_add_const(to, "W", c->w),
                             graph_add_const(to, "R", c->r),
                             graph_add_const(to, "B", c->b),
                             WIRE_NONE,
                             s->h,
                             s->c };
    const uint32_t out[3] = { *ret_y, ret_last[0], ret_last[1] };
    if (*ret_y == WIRE_NONE || ret_last[0] == WIRE_NONE || in[1] == WIRE_NONE ||
        in[2] == WIRE_NONE || in[3] == WIRE_NONE ||
        !graph_add_node(to, op, name, attr, in, lstm ? 7 : 6, out, lstm ? 3 : 2))
        return no_memory(err);
    return RILL_OK;
}

/* ---- a single step ---- */

static rill_status step_emit(struct graph *to, const char *name, const struct cell_found *c,
                             rill_error *err)
{
    struct sequence s = { WIRE_NONE, WIRE_NONE, WIRE_NONE, false, dim_int(to->dims, 1) };
    uint32_t y, last[2], next_h = c->next_h, next_c = c->next_c;
    TRY(axis_change(to, OP_UNSQUEEZE, name, c->x, 0, &s.x, err));
    TRY(axis_change(to, OP_UNSQUEEZE, name, c->h, 0, &s.h, err));
    if (c->c != WIRE_NONE)
        TRY(axis_change(to, OP_UNSQUEEZE, name, c->c, 0, &s.c, err));
    TRY(cell_emit(to, name, c, &s, &y, last, err));
    TRY(axis_change(to, OP_SQUEEZE, name, last[0], 0, &next_h, err));
    return c->c != WIRE_NONE ? axis_change(to, OP_SQUEEZE, name, last[1], 0, &next_c, err)
                             : RILL_OK;
}

/* ---- a Scan ---- */

struct scan_cell {
    const struct node *n;
    const struct graph *body;
    struct scan_attr at;
    struct cell_found cell;
    unsigned h, x; /* number of the state, and of the scanned input */
};

static bool out_is(const struct scan_cell *s, unsigned k, uint32_t wire)
{
    return s->body->outputs[k] == wire;
}

/* The body's states are those of one cell, whose input is a slice. */
static bool scan_cell_find(struct scan_cell *s, rill_status *ret_status)
{
    unsigned states = (unsigned) s->at.n_states;
    for (s->h = 0; s->h < states && states <= 2; s->h++) {
        uint32_t w = s->body->outputs[s->h], producer = s->body->wires[w].node;
        if (producer == WIRE_NONE ||
            !cell_find(s->body, producer, s->body->inputs[s->h], &s->cell, ret_status))
            continue;
        bool lstm = s->cell.c != WIRE_NONE, fits = states == 1u + lstm;
        if (fits && lstm)
            fits = s->cell.c == s->body->inputs[1 - s->h] && out_is(s, 1 - s->h, s->cell.next_c);
        for (s->x = 0; fits && s->x < s->at.n_scanned; s->x++)
            if (s->body->inputs[states + s->x] == s->cell.x)
                return true;
    }
    return false;
}

/* What the body's stacked outputs need besides the next hidden state never asks for what only the
 * cell has. */
static bool rest_is_free(const struct scan_cell *s, struct arena *a)
{
    const struct graph *b = s->body;
    bool *need = arena_array(a, bool, b->n_wires + 1);
    if (!need)
        return false;
    for (unsigned k = (unsigned) s->at.n_states; k < b->n_outputs; k++)
        need[b->outputs[k]] = true;
    need[s->cell.next_h] = false;
    for (uint32_t i = b->n_nodes; i-- > 0;) {
        bool wanted = false;
        for (unsigned k = 0; k < b->nodes[i].n_out; k++)
            wanted |= b->nodes[i].out[k] != WIRE_NONE && need[b->nodes[i].out[k]];
        for (unsigned k = 0; wanted && k < b->nodes[i].n_in; k++)
            if (b->nodes[i].in[k] != WIRE_NONE && b->nodes[i].in[k] != s->cell.next_h)
                need[b->nodes[i].in[k]] = true;
    }
    bool free = s->cell.next_c == WIRE_NONE || !need[s->cell.next_c];
    for (unsigned k = 0; k < s->at.n_states; k++)
        free &= !need[b->inputs[k]];
    return free;
}

static bool all_hidden(const struct scan_cell *s)
{
    bool back = scan_is_reverse(s->at.in_reverse, s->x), all = true;
    for (unsigned k = (unsigned) s->at.n_states; k < s->n->n_out; k++)
        all &= s->n->out[k] == WIRE_NONE ||
            (out_is(s, k, s->cell.next_h) &&
             scan_is_reverse(s->at.out_reverse, k - (unsigned) s->at.n_states) == back);
    return all;
}

/* y: [steps, 1, batch, hidden], for each stacked output. */
static rill_status outputs_write(struct graph *to, const struct scan_cell *s, uint32_t y,
                                 rill_error *err)
{
    for (unsigned k = (unsigned) s->at.n_states; k < s->n->n_out; k++) {
        uint32_t want = s->n->out[k], flat = WIRE_NONE;
        if (want == WIRE_NONE)
            continue;
        int axis =
            scan_axis(s->at.out_axes, k - (unsigned) s->at.n_states, to->wires[want].fact.rank);
        TRY(axis_change(to, OP_SQUEEZE, s->n->name, y, 1, axis ? &flat : &want, err));
        if (axis)
            TRY(axis_to_front(to, flat, axis, true, &want, err));
    }
    return RILL_OK;
}

static bool flags_extended(struct arena *a, struct attr_ints *list, unsigned had, int64_t value)
{
    int64_t *v = arena_array(a, int64_t, had + 1);
    for (unsigned i = 0; v && i < had; i++)
        v[i] = i < list->n ? list->v[i] : 0;
    if (v)
        v[had] = value;
    *list = (struct attr_ints) { had + 1, v };
    return v != NULL;
}

/* The body without the cell; its next hidden state comes in as a slice of `hidden`, [steps, batch,
 * hidden]. */
static rill_status rest_emit(struct graph *to, const struct scan_cell *s, uint32_t hidden,
                             rill_error *err)
{
    unsigned states = (unsigned) s->at.n_states, scans = (unsigned) s->at.n_scanned, n = 0;
    struct graph rest, *body = arena_new(to->arena, struct graph);
    struct scan_attr *at = arena_copy(to->arena, &s->at, sizeof *at);
    uint32_t *in = arena_array(to->arena, uint32_t, s->n->n_in + 1);
    if (!body || !at || !in)
        return no_memory(err);
    TRY(graph_copied(&rest, s->body, err));
    uint32_t *inputs = arena_array(to->arena, uint32_t, rest.n_inputs + 1);
    if (!inputs || !flags_extended(to->arena, &at->in_axes, scans, 0) ||
        !flags_extended(to->arena, &at->in_reverse, scans, scan_is_reverse(s->at.in_reverse, s->x)))
        return no_memory(err);
    for (unsigned i = states; i <= s->n->n_in; i++) {
        if (i == states + scans) {
            in[n] = hidden;
            inputs[n++] = s->cell.next_h;
        }
        if (i < s->n->n_in) {
            in[n] = s->n->in[i];
            inputs[n++] = s->body->inputs[i];
        }
    }
    struct node *producer = &rest.nodes[s->cell.last];
    producer->out[0] = graph_add_wire(&rest, "gone", &rest.wires[s->cell.next_h].fact);
    if (producer->out[0] == WIRE_NONE)
        return no_memory(err);
    rest.wires[producer->out[0]].node = s->cell.last;
    rest.wires[s->cell.next_h].node = WIRE_NONE;
    rest.inputs = inputs;
    rest.n_inputs = n;
    rest.outputs += states;
    rest.n_outputs -= states;
    TRY(graph_pruned(body, &rest, err));
    at->n_states = 0;
    at->n_scanned++;
    struct node *made = graph_add_node(to, s->n->op, s->n->name, at, in, n, s->n->out + states,
                                       s->n->n_out - states);
    if (!made || !(made->body = arena_array(to->arena, struct graph *, 1)))
        return no_memory(err);
    made->body[0] = body;
    made->n_body = 1;
    return RILL_OK;
}

static rill_status scan_cell_emit(struct graph *to, const struct scan_cell *s, rill_error *err)
{
    unsigned states = (unsigned) s->at.n_states;
    uint32_t whole = s->n->in[states + s->x], y, last[2], flat = WIRE_NONE;
    int axis = scan_axis(s->at.in_axes, s->x, to->wires[whole].fact.rank);
    struct sequence q = { whole, WIRE_NONE, WIRE_NONE, scan_is_reverse(s->at.in_reverse, s->x),
                          to->wires[whole].fact.shape[axis] };
    if (axis) {
        q.x = WIRE_NONE;
        TRY(axis_to_front(to, whole, axis, false, &q.x, err));
    }
    TRY(axis_change(to, OP_UNSQUEEZE, s->n->name, s->n->in[s->h], 0, &q.h, err));
    if (s->cell.c != WIRE_NONE)
        TRY(axis_change(to, OP_UNSQUEEZE, s->n->name, s->n->in[1 - s->h], 0, &q.c, err));
    TRY(cell_emit(to, s->n->name, &s->cell, &q, &y, last, err));
    for (unsigned k = 0; k < states; k++) {
        uint32_t want = s->n->out[k];
        if (want != WIRE_NONE)
            TRY(axis_change(to, OP_SQUEEZE, s->n->name, last[k != s->h], 0, &want, err));
    }
    if (all_hidden(s))
        return outputs_write(to, s, y, err);
    TRY(axis_change(to, OP_SQUEEZE, s->n->name, y, 1, &flat, err));
    return rest_emit(to, s, flat, err);
}

/* ---- the pass ---- */

static rill_status node_again(struct graph *to, const struct node *n, rill_error *err)
{
    return graph_copy_node(to, n, n->in, n->n_in, n->out) ? RILL_OK : no_memory(err);
}

static rill_status scan_again(struct graph *to, const struct node *n, rill_error *err)
{
    struct scan_cell s = { .n = n, .body = n->body[0], .at = *(const struct scan_attr *) n->attr };
    rill_status status = RILL_OK;
    bool found = !s.at.restarts && scan_cell_find(&s, &status) && rest_is_free(&s, to->arena);
    if (status != RILL_OK)
        return no_memory(err);
    return found ? scan_cell_emit(to, &s, err) : node_again(to, n, err);
}

struct single {
    struct cell_found *at_node;
    bool *starts, *gone;
}; /* per node */

static rill_status singles_find(const struct graph *g, struct single *s, rill_error *err)
{
    s->at_node = arena_array(g->arena, struct cell_found, g->n_nodes + 1);
    s->starts = arena_array(g->arena, bool, g->n_nodes + 1);
    s->gone = arena_array(g->arena, bool, g->n_nodes + 1);
    if (!s->at_node || !s->starts || !s->gone)
        return no_memory(err);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct cell_found c;
        rill_status status;
        bool found = cell_find(g, i, WIRE_NONE, &c, &status);
        if (status != RILL_OK)
            return no_memory(err);
        if (!found || s->starts[c.at])
            continue;
        s->at_node[c.at] = c;
        s->starts[c.at] = s->gone[c.at] = s->gone[c.last] = true;
    }
    return RILL_OK;
}

rill_status graph_with_cells_recognised(struct graph *ret, const struct graph *g,
                                        rill_error *reterr)
{
    struct single s;
    TRY(singles_find(g, &s, reterr));
    TRY(graph_copied(ret, g, reterr));
    const struct node *nodes = ret->nodes;
    uint32_t n = ret->n_nodes;
    ret->nodes = NULL;
    ret->n_nodes = ret->cap_nodes = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (s.starts[i])
            TRY(step_emit(ret, nodes[i].name, &s.at_node[i], reterr));
        if (!s.gone[i])
            TRY(nodes[i].op == &op_scan ? scan_again(ret, &nodes[i], reterr)
                                        : node_again(ret, &nodes[i], reterr));
    }
    return RILL_OK;
}
