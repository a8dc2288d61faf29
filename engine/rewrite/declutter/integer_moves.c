/* SPDX-License-Identifier: MIT */
/* Integers move as integers: an op that only moves elements takes them before they become real
 * numbers, and what would be rounded again by the same scale is not dequantised at all. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/quantised.h"

#include <string.h>

enum { PAD_VALUE = 2 };

/* Zeros on an axis whose size is open may be those of time, which convolutions take as their own.
 */
static bool pad_moves(const struct graph *g, const struct node *n)
{
    const struct fact *x = &g->wires[n->in[0]].fact, *y = &g->wires[n->out[0]].fact;
    bool has_value = node_has_input(n, PAD_VALUE);
    const struct tensor *v = has_value ? node_value(g, n, PAD_VALUE) : NULL;
    for (int i = 0; i < x->rank; i++)
        if (x->shape[i] != y->shape[i] && !dim_is_const(x->shape[i]))
            return false;
    return !has_value || (v && tensor_count(v) == 1 && tensor_get_f64(v, v->data, 0) == 0);
}

static bool moves(const struct graph *g, const struct node *n)
{
    bool known = node_only_moves(n) || node_is(n, OP_PAD) || node_is(n, OP_MAX_POOL);
    if (!known || n->n_in == 0)
        return false;
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] == WIRE_NONE)
            return false;
    return (!node_is(n, OP_MAX_POOL) || n->n_out == 1) && (!node_is(n, OP_PAD) || pad_moves(g, n));
}

/* The largest is taken of bytes alone. */
static bool takes(const struct graph *g, const struct node *n, const struct quantised_wire *q)
{
    enum dtype type = g->wires[q->whole].fact.type;
    return !node_is(n, OP_MAX_POOL) || type == DTYPE_U8 || type == DTYPE_I8;
}

static rill_status no_memory(rill_error *reterr)
{
    return err_set(reterr, RILL_NOMEM, "out of memory");
}

/* ---- every mover gets a dequantisation of its own ---- */

static rill_status dequantiser_split(struct edit *e, uint32_t mover, const struct quantised_wire *q,
                                     rill_error *reterr)
{
    struct graph *g = e->g;
    struct node dq = g->nodes[q->node], *n = &g->nodes[mover];
    uint32_t own = graph_add_wire(g, g->wires[dq.out[0]].name, &g->wires[dq.out[0]].fact);
    uint32_t *in = arena_copy(g->arena, n->in, n->n_in * sizeof *in);
    if (own == WIRE_NONE || !in)
        return no_memory(reterr);
    e->consumers[in[0]]--;
    in[0] = own;
    n->in = in;
    return edit_insert(e, mover, dq.op, dq.attr, dq.in, dq.n_in, &own, 1) ? RILL_OK
                                                                          : no_memory(reterr);
}

static rill_status dequantisers_split(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct quantised_wire q;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (moves(ret, &ret->nodes[i]) && wire_is_dequantised(&e, ret->nodes[i].in[0], &q) &&
            takes(ret, &ret->nodes[i], &q) && e.consumers[ret->nodes[i].in[0]] > 1)
            TRY(dequantiser_split(&e, i, &q, reterr));
    return edit_end(&e, reterr);
}

/* ---- the mover goes first ---- */

/* The inputs of the mover on integers, whose padding is their zero. False: no memory. */
static bool inputs_whole(struct edit *e, const struct node *n, const struct quantised_wire *q,
                         uint32_t **ret, unsigned *ret_n)
{
    *ret_n = node_is(n, OP_PAD) && n->n_in <= PAD_VALUE ? PAD_VALUE + 1 : n->n_in;
    *ret = arena_array(e->g->arena, uint32_t, *ret_n);
    if (!*ret)
        return false;
    memset(*ret, 0xff, *ret_n * sizeof **ret);
    memcpy(*ret, n->in, n->n_in * sizeof **ret);
    (*ret)[0] = q->whole;
    if (!node_is(n, OP_PAD))
        return true;
    struct tensor *zero = tensor_new(e->g->arena, e->g->wires[q->whole].fact.type, 0, NULL);
    if (zero)
        tensor_set_f64(zero, zero->data, 0,
                       q->zero ? tensor_get_f64(q->zero, q->zero->data, 0) : 0);
    (*ret)[PAD_VALUE] = graph_add_const(e->g, n->name, zero);
    return (*ret)[PAD_VALUE] != WIRE_NONE;
}

/* Output k of the mover dequantised, at the place of the mover. */
static bool output_real(struct edit *e, uint32_t mover, unsigned k, const struct node *was,
                        const struct node *dq, uint32_t whole)
{
    uint32_t *in = arena_copy(e->g->arena, dq->in, dq->n_in * sizeof *in);
    uint32_t *out = arena_copy(e->g->arena, &was->out[k], sizeof *out);
    if (!in || !out)
        return false;
    in[0] = whole;
    if (k > 0)
        return edit_insert(e, mover, dq->op, dq->attr, in, dq->n_in, out, 1);
    e->g->nodes[mover] = (struct node) { .name = dq->name,
                                         .op = dq->op,
                                         .attr = dq->attr,
                                         .in = in,
                                         .out = out,
                                         .n_in = dq->n_in,
                                         .n_out = 1 };
    return true;
}

static rill_status mover_first(struct edit *e, uint32_t mover, const struct quantised_wire *q,
                               rill_error *reterr)
{
    struct graph *g = e->g;
    const struct node was = g->nodes[mover], dq = g->nodes[q->node];
    uint32_t *in, *out = arena_array(g->arena, uint32_t, was.n_out);
    unsigned n_in;
    if (!out || !inputs_whole(e, &was, q, &in, &n_in))
        return no_memory(reterr);
    for (unsigned k = 0; k < was.n_out; k++) {
        struct fact f = g->wires[was.out[k]].fact;
        f.type = g->wires[q->whole].fact.type;
        out[k] = graph_add_wire(g, g->wires[was.out[k]].name, &f);
        if (out[k] == WIRE_NONE)
            return no_memory(reterr);
    }
    if (!edit_insert(e, mover, was.op, was.attr, in, n_in, out, was.n_out))
        return no_memory(reterr);
    for (unsigned k = was.n_out; k-- > 0;)
        if (!output_real(e, mover, k, &was, &dq, out[k]))
            return no_memory(reterr);
    e->gone[q->node] = true;
    return RILL_OK;
}

/* ---- what is rounded again by the same scale ---- */

static void consumers_turn(struct graph *g, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] == from)
                g->nodes[i].in[k] = to;
}

static bool gives_back(const struct graph *g, const struct node *n, const struct quantised_wire *q)
{
    struct quantised_wire to;
    return node_is(n, OP_QUANTIZE_LINEAR) && quantised_params(g, n, &to) && to.scale >= q->scale &&
        to.scale <= q->scale && quantised_zero(&to) == quantised_zero(q) &&
        g->wires[n->out[0]].fact.type == g->wires[q->whole].fact.type &&
        !quant_attr_of(n)->precision && !wire_leaves(g, n->out[0]);
}

rill_status graph_with_integers_moved(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct graph split;
    struct edit e;
    struct quantised_wire q;
    TRY(dequantisers_split(&split, g, reterr));
    TRY(edit_begin(&e, ret, &split, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        const struct node *n = &ret->nodes[i];
        if (n->n_in == 0 || !wire_is_dequantised(&e, n->in[0], &q))
            continue;
        if (gives_back(ret, n, &q)) {
            consumers_turn(ret, n->out[0], q.whole);
            e.gone[i] = true;
        } else if (moves(ret, n) && takes(ret, n, &q) && e.consumers[n->in[0]] == 1) {
            TRY(mover_first(&e, i, &q, reterr));
        }
    }
    return edit_end(&e, reterr);
}
