/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/settle/element.h"
#include "engine/graph/edit.h"
#include "engine/ops/fused.h"

/* x^2, which is a product. */
static bool is_square(const struct graph *g, const struct node *n)
{
    const struct tensor *v = node_is(n, OP_POW) ? node_value(g, n, 1) : NULL;
    return v && v->type == DTYPE_F32 && tensor_count(v) == 1 && *(const float *) v->data == 2;
}

static bool is_f32(const struct graph *g, uint32_t wire)
{
    return wire != WIRE_NONE && g->wires[wire].fact.type == DTYPE_F32;
}

bool element_read(const struct graph *g, uint32_t node, struct element *ret)
{
    const struct node *n = &g->nodes[node];
    bool square = is_square(g, n);
    int function = square ? KERN_MUL : fused_function(n->op->id);
    if (function < 0 || n->n_out != 1 || n->n_in != fused_operands(function))
        return false;
    *ret = (struct element) { .node = node,
                              .function = function,
                              .n_in = n->n_in,
                              .in = { n->in[0], n->in[square ? 0 : n->n_in - 1] } };
    return is_f32(g, n->out[0]) && is_f32(g, ret->in[0]) && is_f32(g, ret->in[1]);
}
