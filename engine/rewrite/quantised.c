/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/quantised.h"

#include <float.h>

enum { IN_WHOLE, IN_SCALE, IN_ZERO };

bool quantised_params(const struct graph *g, const struct node *n, struct quantised_wire *ret)
{
    const struct tensor *scale = node_value(g, n, IN_SCALE);
    bool has_zero = node_has_input(n, IN_ZERO);
    ret->zero = has_zero ? node_value(g, n, IN_ZERO) : NULL;
    if (!scale || scale->type != DTYPE_F32 || tensor_count(scale) != 1 ||
        (has_zero && (!ret->zero || tensor_count(ret->zero) != 1)))
        return false;
    ret->scale = *(const float *) scale->data;
    return ret->scale >= FLT_MIN && ret->scale <= FLT_MAX / 65536;
}

bool wire_is_dequantised(const struct edit *e, uint32_t wire, struct quantised_wire *ret)
{
    uint32_t at = wire < e->n_wires ? e->g->wires[wire].node : WIRE_NONE;
    if (at >= e->n_nodes || e->gone[at])
        return false;
    const struct node *n = &e->g->nodes[at];
    if (!node_is(n, OP_DEQUANTIZE_LINEAR) || e->g->wires[wire].fact.type != DTYPE_F32 ||
        !quantised_params(e->g, n, ret))
        return false;
    ret->node = at;
    ret->whole = n->in[IN_WHOLE];
    return e->g->wires[ret->whole].fact.type != DTYPE_I32;
}

bool node_only_moves(const struct node *n)
{
    static const enum op_id movers[] = { OP_RESHAPE,       OP_TRANSPOSE, OP_SLICE,
                                         OP_SQUEEZE,       OP_FLATTEN,   OP_UNSQUEEZE,
                                         OP_EXPAND,        OP_GATHER,    OP_TILE,
                                         OP_SPLIT,         OP_IDENTITY,  OP_DEPTH_TO_SPACE,
                                         OP_SPACE_TO_DEPTH };
    return node_is_among(n, movers, sizeof movers / sizeof *movers);
}

bool wire_is_byte(const struct graph *g, uint32_t wire)
{
    return g->wires[wire].fact.type == DTYPE_U8 || g->wires[wire].fact.type == DTYPE_I8;
}

bool wire_leaves(const struct graph *g, uint32_t wire)
{
    bool is = false;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        is |= g->outputs[i] == wire;
    for (uint32_t i = 0; i < g->n_states; i++)
        is |= g->states[i].out == wire;
    return is;
}

int64_t quantised_zero(const struct quantised_wire *q)
{
    return q->zero ? tensor_get_i64(q->zero, q->zero->data, 0) : 0;
}

static const struct node *maker(const struct graph *g, uint32_t wire, enum op_id op)
{
    uint32_t at = wire == WIRE_NONE ? WIRE_NONE : g->wires[wire].node;
    return at != WIRE_NONE && node_is(&g->nodes[at], op) ? &g->nodes[at] : NULL;
}

static bool number_read(const struct graph *g, uint32_t wire, float *ret)
{
    const struct tensor *t = g->wires[wire].fact.value;
    if (!t || t->type != DTYPE_F32 || tensor_count(t) != 1)
        return false;
    *ret = *(const float *) t->data;
    return true;
}

bool wire_is_rounded(const struct graph *g, uint32_t wire, struct rounded_wire *ret)
{
    static const enum op_id ops[] = { OP_ROUND_S8, OP_ROUND_S16 };
    const struct node *times = maker(g, wire, OP_MUL), *whole = NULL;
    for (unsigned i = 0; times && !whole && i < 2; i++)
        whole = maker(g, times->in[0], ops[i]);
    const struct node *by = whole ? maker(g, whole->in[0], OP_DIV) : NULL;
    float scale, zero, again;
    if (!by || !number_read(g, by->in[1], &scale) || !number_read(g, whole->in[1], &zero) ||
        !number_read(g, times->in[1], &again) || scale < again || scale > again)
        return false;
    *ret = (struct rounded_wire) { by->in[0], whole->op->id, scale, zero };
    return true;
}
