/* SPDX-License-Identifier: MIT */
/* Numbers that are quantised only to be moved and dequantised by the same scale are rounded as
 * floats: what stands before and behind them is then one program (kernels/pointwise.h), and floats
 * are what moves fast. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/passes.h"

#include <string.h>

enum { IN_X, PAD_VALUE = 2 };

/* A wire of integers as the reals that they stand for. */
struct real {
    uint32_t wire; /* WIRE_NONE: it has none */
    struct quantised_wire of;
};

static bool quantises(const struct graph *g, const struct node *n, struct quantised_wire *ret)
{
    if (!node_is(n, OP_QUANTIZE_LINEAR) || n->out[0] == WIRE_NONE || quant_attr_of(n)->precision ||
        g->wires[n->in[IN_X]].fact.type != DTYPE_F32 || !quantised_params(g, n, ret))
        return false;
    ret->whole = n->out[0];
    enum dtype type = g->wires[ret->whole].fact.type;
    return type == DTYPE_U8 || type == DTYPE_I8;
}

/* Whether node n makes the reals of what it reads. */
static bool dequantises(const struct edit *e, const struct node *n, const struct real *reals)
{
    struct quantised_wire q;
    if (!node_is(n, OP_DEQUANTIZE_LINEAR) || n->in[IN_X] >= e->n_wires ||
        !wire_is_dequantised(e, n->out[0], &q))
        return false;
    const struct real *r = &reals[q.whole];
    return r->wire != WIRE_NONE && r->of.scale >= q.scale && r->of.scale <= q.scale &&
        quantised_zero(&r->of) == quantised_zero(&q);
}

static uint32_t number_add(struct graph *g, const char *name, float v)
{
    struct tensor *t = tensor_new(g->arena, DTYPE_F32, 0, NULL);
    if (!t)
        return WIRE_NONE;
    *(float *) t->data = v;
    return graph_add_const(g, name, t);
}

/* A wire of f32 of the shape of another. */
static uint32_t wire_add(struct graph *g, uint32_t like)
{
    struct fact f = g->wires[like].fact;
    f.type = DTYPE_F32;
    f.value = NULL;
    return graph_add_wire(g, g->wires[like].name, &f);
}

/* WIRE_NONE: no memory. */
static uint32_t step_put(struct edit *e, uint32_t at, enum op_id op, uint32_t x, uint32_t by)
{
    uint32_t in[] = { x, by }, to = wire_add(e->g, e->g->nodes[at].out[0]);
    bool ok = x != WIRE_NONE && by != WIRE_NONE && to != WIRE_NONE &&
        edit_insert(e, at, op_by_id(op), NULL, in, 2, &to, 1);
    return ok ? to : WIRE_NONE;
}

/* Beside a quantisation: its numbers rounded, as reals. */
static bool rounded_put(struct edit *e, uint32_t at, const struct quantised_wire *q,
                        struct real *reals)
{
    struct graph *g = e->g;
    bool is_signed = g->wires[q->whole].fact.type == DTYPE_I8;
    uint32_t scale = number_add(g, "scale", q->scale),
             zero = number_add(g, "zero", (float) (quantised_zero(q) - (is_signed ? 0 : 128))),
             quotient = step_put(e, at, OP_DIV, g->nodes[at].in[IN_X], scale),
             whole = step_put(e, at, OP_ROUND_S8, quotient, zero);
    reals[q->whole] = (struct real) { step_put(e, at, OP_MUL, whole, scale), *q };
    return reals[q->whole].wire != WIRE_NONE;
}

static bool moves(const struct graph *g, const struct node *n)
{
    return node_only_moves(n) ||
        (node_is(n, OP_PAD) && (!node_has_input(n, PAD_VALUE) || node_value(g, n, PAD_VALUE)));
}

/* What a Pad of the integers puts around them, as a real. WIRE_NONE: no memory. */
static uint32_t padding_add(struct graph *g, const struct node *n, const struct quantised_wire *q)
{
    const struct tensor *t = node_has_input(n, PAD_VALUE) ? node_value(g, n, PAD_VALUE) : NULL;
    int64_t v = t ? tensor_get_i64(t, t->data, 0) : 0;
    return number_add(g, n->name, (float) (v - quantised_zero(q)) * q->scale);
}

/* Beside what moves integers: the same of the reals. */
static bool moved_put(struct edit *e, uint32_t at, const struct real *from, struct real *reals)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[at];
    unsigned n_in = node_is(&n, OP_PAD) && n.n_in <= PAD_VALUE ? PAD_VALUE + 1 : n.n_in;
    uint32_t *in = arena_array(g->arena, uint32_t, n_in),
             *out = arena_array(g->arena, uint32_t, n.n_out);
    if (!in || !out)
        return false;
    memset(in, 0xff, n_in * sizeof *in);
    memcpy(in, n.in, n.n_in * sizeof *in);
    in[IN_X] = from->wire;
    if (node_is(&n, OP_PAD) && (in[PAD_VALUE] = padding_add(g, &n, &from->of)) == WIRE_NONE)
        return false;
    for (unsigned k = 0; k < n.n_out; k++) {
        out[k] = n.out[k] == WIRE_NONE ? WIRE_NONE : wire_add(g, n.out[k]);
        if (n.out[k] == WIRE_NONE)
            continue;
        if (out[k] == WIRE_NONE)
            return false;
        reals[n.out[k]] = (struct real) { out[k], from->of };
    }
    return edit_insert(e, at, n.op, n.attr, in, n_in, out, n.n_out);
}

/* Who reads what was dequantised reads the reals that are there. */
static bool reals_give(struct edit *e, uint32_t at, const struct real *from)
{
    struct graph *g = e->g;
    uint32_t in = from->wire, out = g->nodes[at].out[0];
    e->gone[at] = true;
    for (uint32_t i = at + 1; i < e->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] == out)
                g->nodes[i].in[k] = in;
    return !wire_leaves(g, out) || edit_insert(e, at, op_by_id(OP_IDENTITY), NULL, &in, 1, &out, 1);
}

/* False: no memory. */
static bool node_round(struct edit *e, uint32_t i, struct real *reals)
{
    const struct node *n = &e->g->nodes[i];
    struct quantised_wire q;
    if (quantises(e->g, n, &q))
        return rounded_put(e, i, &q, reals);
    if (n->n_in == 0 || n->in[IN_X] >= e->n_wires)
        return true;
    const struct real *from = &reals[n->in[IN_X]];
    if (dequantises(e, n, reals))
        return reals_give(e, i, from);
    if (from->wire != WIRE_NONE && moves(e->g, n))
        return moved_put(e, i, from, reals);
    return true;
}

rill_status graph_with_pairs_rounded(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    struct real *reals = arena_array(ret->arena, struct real, e.n_wires);
    for (uint32_t i = 0; reals && i < e.n_wires; i++)
        reals[i].wire = WIRE_NONE;
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (!reals || !node_round(&e, i, reals))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&e, reterr);
}
