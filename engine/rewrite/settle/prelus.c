/* SPDX-License-Identifier: MIT */
/* A LeakyRelu is a PRelu of one slope that is known: programs know that one (kernels/pointwise.h),
 * and it rounds the same. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/settle/passes.h"

static bool is_ours(const struct graph *g, const struct node *n)
{
    return node_is(n, OP_LEAKY_RELU) && n->out[0] != WIRE_NONE &&
        g->wires[n->out[0]].fact.type == DTYPE_F32;
}

/* False: no memory. */
static bool prelu_put(struct edit *e, uint32_t node)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[node];
    const struct tensor *slope =
        tensor_from_data(g->arena, DTYPE_F32, 0, NULL, &unary_attr_of(&n)->alpha);
    uint32_t in[] = { n.in[0], graph_add_const(g, "slope", slope) };
    e->gone[node] = true;
    return in[1] != WIRE_NONE && edit_insert(e, node, op_by_id(OP_PRELU), NULL, in, 2, n.out, 1);
}

rill_status graph_with_prelus(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (is_ours(ret, &ret->nodes[i]) && !prelu_put(&e, i))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&e, reterr);
}
