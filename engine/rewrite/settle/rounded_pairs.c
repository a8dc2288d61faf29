/* SPDX-License-Identifier: MIT */
/* Numbers that are quantised only to be moved and dequantised by the same scale are rounded as
 * floats: what stands before and behind them is then one program (kernels/pointwise.h), and floats
 * are what moves fast. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/ops/fused.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/passes.h"

#include <string.h>

enum { IN_X, PAD_VALUE = 2 };

#define MOVERS_MAX 32 /* in a row, that are looked through for where numbers are made */

/* A wire of integers as the reals that they stand for. */
struct real {
    uint32_t wire; /* WIRE_NONE: it has none */
    struct quantised_wire of;
    uint32_t quantiser; /* the node that rounds them */
    bool given;         /* of those that a quantiser makes: somebody reads them */
};

/* How reals of a type are rounded: `middle` is what the op's numbers are more than those. */
static const struct rounding {
    enum dtype type;
    enum op_id op;
    int32_t middle;
} roundings[] = {
    { DTYPE_U8, OP_ROUND_S8, 128 },
    { DTYPE_I8, OP_ROUND_S8, 0 },
    { DTYPE_U16, OP_ROUND_S16, 32768 },
    { DTYPE_I16, OP_ROUND_S16, 0 },
};

/* NULL: it has none. */
static const struct rounding *rounding_of(enum dtype type)
{
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++)
        if (roundings[i].type == type)
            return &roundings[i];
    return NULL;
}

static bool quantises(const struct graph *g, const struct node *n, struct quantised_wire *ret)
{
    if (!node_is(n, OP_QUANTIZE_LINEAR) || n->out[0] == WIRE_NONE || quant_attr_of(n)->precision ||
        g->wires[n->in[IN_X]].fact.type != DTYPE_F32 || !quantised_params(g, n, ret))
        return false;
    ret->whole = n->out[0];
    return rounding_of(g->wires[ret->whole].fact.type) != NULL;
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
    uint32_t in[] = { x, by }, to = x == WIRE_NONE ? WIRE_NONE : wire_add(e->g, x);
    bool ok =
        by != WIRE_NONE && to != WIRE_NONE && edit_insert(e, at, op_by_id(op), NULL, in, 2, &to, 1);
    return ok ? to : WIRE_NONE;
}

/* ---- numbers on a grid: whole ones, as the op rounds them, times a scale ---- */

struct grid {
    enum op_id op;
    float scale, zero;
    uint32_t scale_wire, zero_wire; /* constants of them */
};

/* Whether what a wire holds was rounded to that grid, and moved at most: rounding it again changes
 * nothing, as a quotient of numbers below 2^18 is out by less than a half. */
static bool is_on_grid(const struct graph *g, uint32_t wire, const struct grid *to)
{
    uint32_t at;
    for (unsigned left = MOVERS_MAX; left > 0; left--) {
        if ((at = g->wires[wire].node) == WIRE_NONE || !node_only_moves(&g->nodes[at]))
            break;
        wire = g->nodes[at].in[IN_X];
    }
    struct rounded_wire r;
    return wire_is_rounded(g, wire, &r) && r.op == to->op && r.scale >= to->scale &&
        r.scale <= to->scale && r.zero >= to->zero && r.zero <= to->zero;
}

static bool shape_stays(const struct node *n)
{
    static const enum op_id ops[] = { OP_RESHAPE,        OP_TRANSPOSE,     OP_SQUEEZE,
                                      OP_FLATTEN,        OP_IDENTITY,      OP_UNSQUEEZE,
                                      OP_DEPTH_TO_SPACE, OP_SPACE_TO_DEPTH };
    return node_is_among(n, ops, sizeof ops / sizeof *ops);
}

/* The node that makes what is read once; reals count as those that were dequantised. */
static bool sole_maker(const struct edit *e, uint32_t wire, uint32_t *ret)
{
    const struct graph *g = e->g;
    unsigned readers = 0;
    *ret = g->wires[wire].node;
    if (*ret == WIRE_NONE || wire < e->n_wires)
        return *ret != WIRE_NONE && edit_sole_producer(e, wire, ret);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in && !(i < e->n_nodes && e->gone[i]); k++)
            readers += g->nodes[i].in[k] == wire;
    return readers == 1;
}

/* Whether rounding what a wire holds is a part of the step that makes it. */
static bool rounds_where_made(const struct edit *e, uint32_t wire, const struct grid *to)
{
    const struct graph *g = e->g;
    uint32_t at;
    for (unsigned left = MOVERS_MAX; left > 0 && !is_on_grid(g, wire, to); left--) {
        bool sole = sole_maker(e, wire, &at);
        const struct node *n = at == WIRE_NONE ? NULL : &g->nodes[at];
        if (!n || !sole || !shape_stays(n))
            return n && ((sole && n->op->epilogue_in) || fused_function(n->op->id) >= 0);
        wire = n->in[IN_X];
    }
    return true;
}

/* The node that only puts together what is there, whose inputs had better be rounded than what it
 * gives. False: there is none. */
static bool mover_behind(const struct edit *e, uint32_t wire, const struct grid *to, uint32_t *ret)
{
    const struct graph *g = e->g;
    unsigned steps = 0;
    if (!sole_maker(e, wire, ret))
        return false;
    const struct node *n = &g->nodes[*ret];
    if (shape_stays(n))
        return g->wires[n->in[IN_X]].fact.value == NULL;
    for (unsigned k = 0; node_is(n, OP_CONCAT) && k < n->n_in; k++)
        steps += !rounds_where_made(e, n->in[k], to);
    return node_is(n, OP_CONCAT) && steps <= 1;
}

/* The first place behind what makes a wire. */
static uint32_t place_behind(const struct edit *e, uint32_t wire)
{
    uint32_t at = e->g->wires[wire].node;
    return at == WIRE_NONE ? 0 : at < e->n_nodes ? at + 1 : e->before[at - e->n_nodes];
}

/* The wire rounded, by what is made behind at most `movers` nodes. WIRE_NONE: no memory. */
static uint32_t round_put(struct edit *e, uint32_t wire, const struct grid *to, unsigned movers)
{
    struct graph *g = e->g;
    uint32_t mover, out;
    if (is_on_grid(g, wire, to))
        return wire;
    if (movers == 0 || !mover_behind(e, wire, to, &mover)) {
        const uint32_t at = place_behind(e, wire);
        uint32_t quotient = step_put(e, at, OP_DIV, wire, to->scale_wire),
                 whole = step_put(e, at, to->op, quotient, to->zero_wire);
        return step_put(e, at, OP_MUL, whole, to->scale_wire);
    }
    const struct node n = g->nodes[mover];
    const uint32_t at = mover < e->n_nodes ? mover : e->before[mover - e->n_nodes];
    uint32_t *in = arena_copy(g->arena, n.in, n.n_in * sizeof *in);
    for (unsigned k = 0; in && k < (node_is(&n, OP_CONCAT) ? n.n_in : 1); k++)
        if ((in[k] = round_put(e, n.in[k], to, movers - 1)) == WIRE_NONE)
            return WIRE_NONE;
    out = in ? wire_add(g, wire) : WIRE_NONE;
    bool ok = out != WIRE_NONE && edit_insert(e, at, n.op, n.attr, in, n.n_in, &out, 1);
    return ok ? out : WIRE_NONE;
}

/* Beside a quantisation: its numbers rounded, as reals. */
static bool rounded_put(struct edit *e, uint32_t at, const struct quantised_wire *q,
                        struct real *reals)
{
    struct graph *g = e->g;
    const struct rounding *by = rounding_of(g->wires[q->whole].fact.type);
    const float zero = (float) (quantised_zero(q) - by->middle);
    const struct grid to = { by->op, q->scale, zero, number_add(g, "scale", q->scale),
                             number_add(g, "zero", zero) };
    uint32_t wire = round_put(e, g->nodes[at].in[IN_X], &to, MOVERS_MAX);
    reals[q->whole] = (struct real) { .wire = wire, .of = *q, .quantiser = at };
    return wire != WIRE_NONE;
}

/* Reals that somebody reads are what is quantised, too: they give the same integers. */
static bool integers_of_reals(struct edit *e, uint32_t at, const struct real *reals)
{
    const struct node n = e->g->nodes[at];
    const struct real *r = n.n_out && n.out[0] < e->n_wires ? &reals[n.out[0]] : NULL;
    if (e->gone[at] || !node_is(&n, OP_QUANTIZE_LINEAR) || !r || !r->given)
        return true;
    uint32_t in[3] = { r->wire, n.in[1], n.n_in > 2 ? n.in[2] : WIRE_NONE };
    return edit_inputs(e, at, in, n.n_in);
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
        reals[n.out[k]] =
            (struct real) { .wire = out[k], .of = from->of, .quantiser = from->quantiser };
    }
    return edit_insert(e, at, n.op, n.attr, in, n_in, out, n.n_out);
}

/* Who reads what was dequantised reads the reals that are there. */
static bool reals_give(struct edit *e, uint32_t at, const struct real *from, struct real *reals)
{
    struct graph *g = e->g;
    reals[g->nodes[from->quantiser].out[0]].given = true;
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
        return reals_give(e, i, from, reals);
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
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (!integers_of_reals(&e, i, reals))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&e, reterr);
}
