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
