/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/settle/turned.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/quantised.h"

#include <string.h>

static const int64_t to_last[] = { 0, 2, 3, 1 }, to_first[] = { 0, 3, 1, 2 };

static rill_status turned_begin(struct turned *t, struct graph *ret, const struct graph *g,
                                rill_error *reterr)
{
    TRY(edit_begin(&t->e, ret, g, reterr));
    t->last = arena_array(g->arena, uint32_t, t->e.n_wires + 1);
    t->made = arena_array(g->arena, bool, t->e.n_wires + 1);
    t->wanted = arena_array(g->arena, bool, t->e.n_wires + 1);
    if (!t->last || !t->made || !t->wanted)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < t->e.n_wires; i++) {
        t->last[i] = WIRE_NONE;
        t->made[i] = true;
    }
    return RILL_OK;
}

rill_status graph_with_parts_turned(struct graph *ret, const struct graph *g,
                                    void (*look)(struct turned *),
                                    bool (*turn)(struct turned *, uint32_t node),
                                    rill_error *reterr)
{
    struct turned t = { 0 };
    TRY(turned_begin(&t, ret, g, reterr));
    look(&t);
    for (uint32_t i = 0; i < t.e.n_nodes; i++)
        if (!turn(&t, i))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&t.e, reterr);
}

void turned_want_inputs(struct turned *t, const struct node *n)
{
    for (unsigned k = 0; k < n->n_in; k++)
        if (n->in[k] != WIRE_NONE)
            t->wanted[n->in[k]] = true;
}

/* ---- what fits ---- */

bool turned_image(const struct graph *g, uint32_t wire, struct tensor *ret)
{
    return wire != WIRE_NONE && fact_to_tensor(&g->wires[wire].fact, ret) && ret->rank == 4 &&
        tensor_count(ret);
}

bool turned_window(const struct graph *g, const struct node *n, const struct window_attr *a,
                   enum same_kind kind, const int64_t *kernel, struct window *ret)
{
    struct tensor x, y;
    if (!turned_image(g, n->in[0], &x) || !turned_image(g, n->out[0], &y))
        return false;
    window_fix(a, kind, ret, kernel, &x, &y);
    return ret->before[0] >= 0 && ret->before[1] >= 0 && ret->after[0] >= 0 && ret->after[1] >= 0;
}

static bool is_single(const struct graph *g, uint32_t wire)
{
    const struct tensor *t = wire == WIRE_NONE ? NULL : g->wires[wire].fact.value;
    return wire == WIRE_NONE || (t && tensor_count(t) == 1);
}

/* One number for each channel of y, of more than one. */
static bool is_by_channel(const struct graph *g, uint32_t wire, const struct tensor *y)
{
    const struct tensor *t = wire == WIRE_NONE ? NULL : g->wires[wire].fact.value;
    return t && t->rank >= 3 && t->rank <= 4 && t->dim[t->rank - 3] == y->dim[1] &&
        tensor_count(t) == y->dim[1] && y->dim[1] > 1;
}

bool turned_elements_fit(const struct graph *g, const struct node *n)
{
    const bool quant = node_is(n, OP_QUANTIZE_LINEAR) || node_is(n, OP_DEQUANTIZE_LINEAR);
    struct tensor x, y;
    unsigned images = 0;
    if ((!quant && !(n->op->flags & OP_POINTWISE)) || n->n_out != 1 ||
        !turned_image(g, n->out[0], &y))
        return false;
    for (unsigned k = 0; k < n->n_in; k++) {
        if (is_single(g, n->in[k]) || (!quant && is_by_channel(g, n->in[k], &y)))
            continue;
        if (!turned_image(g, n->in[k], &x) || g->wires[n->in[k]].fact.value ||
            memcmp(x.dim, y.dim, sizeof x.dim[0] * 4))
            return false;
        images++;
    }
    return images && (!quant || images == 1);
}

/* ---- wires ---- */

static uint32_t wire_turned(struct graph *g, uint32_t of, const int64_t *perm)
{
    struct fact f = g->wires[of].fact;
    for (int i = 0; i < 4; i++)
        f.shape[i] = g->wires[of].fact.shape[perm[i]];
    f.value = NULL;
    return graph_add_wire(g, g->wires[of].name, &f);
}

static bool turn_put(struct turned *t, uint32_t before, uint32_t from, uint32_t to,
                     const int64_t *perm)
{
    struct transpose_attr *a = arena_new(t->e.g->arena, struct transpose_attr);
    if (!a || to == WIRE_NONE)
        return false;
    a->perm = (struct attr_ints) { 4, perm };
    return edit_insert(&t->e, before, op_by_id(OP_TRANSPOSE), a, &from, 1, &to, 1);
}

bool turned_ready(struct turned *t, uint32_t node)
{
    const uint32_t wire = t->e.g->nodes[node].in[0];
    if (t->last[wire] != WIRE_NONE)
        return true;
    t->last[wire] = wire_turned(t->e.g, wire, to_last);
    return turn_put(t, node, wire, t->last[wire], to_last);
}

static bool first_ready(struct turned *t, uint32_t node, uint32_t wire)
{
    if (t->made[wire])
        return true;
    t->made[wire] = true;
    return turn_put(t, node, t->last[wire], wire, to_first);
}

bool turned_put(struct turned *t, uint32_t node, const struct op *op, const void *attr,
                const uint32_t *in, unsigned n_in)
{
    struct graph *g = t->e.g;
    const uint32_t y = g->nodes[node].out[0];
    t->last[y] = wire_turned(g, y, to_last);
    t->made[y] = false;
    t->e.gone[node] = true;
    g->wires[y].node = WIRE_NONE;
    return t->last[y] != WIRE_NONE &&
        edit_insert(&t->e, node, op, attr, in, n_in, &t->last[y], 1) &&
        (!wire_leaves(g, y) || first_ready(t, node, y));
}

struct attr_ints turned_pair(struct arena *a, int64_t first, int64_t second)
{
    const int64_t v[] = { first, second };
    return (struct attr_ints) { 2, arena_copy(a, v, sizeof v) };
}

struct attr_ints turned_pads(struct arena *a, const struct window *w)
{
    const int64_t v[] = { w->before[0], w->before[1], w->after[0], w->after[1] };
    return (struct attr_ints) { 4, arena_copy(a, v, sizeof v) };
}

/* ---- what stands between ---- */

/* All images are there with their channels last. */
static bool inputs_last(const struct turned *t, const struct node *n)
{
    const struct graph *g = t->e.g;
    for (unsigned k = 0; k < n->n_in; k++)
        if (n->in[k] != WIRE_NONE && !g->wires[n->in[k]].fact.value &&
            (n->in[k] >= t->e.n_wires || t->last[n->in[k]] == WIRE_NONE))
            return false;
    return true;
}

/* A constant of single numbers, or of one number a channel as a list. */
static uint32_t constant_turned(struct graph *g, uint32_t wire)
{
    const struct tensor *t = g->wires[wire].fact.value;
    const int64_t n = tensor_count(t);
    return n == 1 ? wire
                  : graph_add_const(g, g->wires[wire].name,
                                    tensor_from_data(g->arena, t->type, 1, &n, t->data));
}

static bool elements_turn(struct turned *t, uint32_t i)
{
    struct graph *g = t->e.g;
    const struct node n = g->nodes[i];
    uint32_t *in = arena_copy(g->arena, n.in, n.n_in * sizeof *in);
    for (unsigned k = 0; in && k < n.n_in; k++)
        if (in[k] != WIRE_NONE &&
            (in[k] = g->wires[in[k]].fact.value ? constant_turned(g, in[k]) : t->last[in[k]]) ==
                WIRE_NONE)
            return false;
    return in && turned_put(t, i, n.op, n.attr, in, n.n_in);
}

/* A Transpose that turns what is there turned. */
static bool transpose_taken(struct turned *t, const struct node *n)
{
    const struct attr_ints *perm = &((const struct transpose_attr *) n->attr)->perm;
    if (!node_is(n, OP_TRANSPOSE) || perm->n != 4 || memcmp(perm->v, to_last, sizeof to_last) ||
        t->last[n->in[0]] == WIRE_NONE || wire_leaves(t->e.g, n->out[0]))
        return false;
    return true;
}

/* Readers of the node's output read its input's twin. */
static void readers_move(struct turned *t, uint32_t i)
{
    struct graph *g = t->e.g;
    const uint32_t from = g->nodes[i].out[0], to = t->last[g->nodes[i].in[0]];
    for (uint32_t k = i + 1; k < t->e.n_nodes; k++)
        for (unsigned j = 0; j < g->nodes[k].n_in; j++)
            if (g->nodes[k].in[j] == from)
                g->nodes[k].in[j] = to;
    t->e.gone[i] = true;
}

static bool node_stays(struct turned *t, uint32_t i)
{
    const struct node n = t->e.g->nodes[i];
    for (unsigned k = 0; k < n.n_in; k++)
        if (n.in[k] < t->e.n_wires && !first_ready(t, i, n.in[k]))
            return false;
    return true;
}

bool turned_is_wanted(const struct turned *t, const struct node *n)
{
    return n->n_out && n->out[0] != WIRE_NONE && t->wanted[n->out[0]];
}

bool turned_is_there(const struct turned *t, const struct node *n)
{
    return n->n_in && n->in[0] < t->e.n_wires && t->last[n->in[0]] != WIRE_NONE;
}

bool turned_rest(struct turned *t, uint32_t node)
{
    const struct graph *g = t->e.g;
    const struct node *n = &g->nodes[node];
    if (turned_is_wanted(t, n) && turned_elements_fit(g, n) && inputs_last(t, n))
        return elements_turn(t, node);
    if (!turned_is_there(t, n) || !transpose_taken(t, n))
        return node_stays(t, node);
    readers_move(t, node);
    return true;
}
