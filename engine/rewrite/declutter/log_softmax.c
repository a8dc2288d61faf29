/* SPDX-License-Identifier: MIT */
/* The exponential of a LogSoftmax is the Softmax over the same axis: e^(x - log(sum e^x)) is
 * e^x / sum e^x, and neither is a number where the other is none. */
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"

static void node_look(struct graph *g, struct node *n)
{
    const struct node *log = node_is(n, OP_EXP) ? match_op(g, n->in[0], OP_LOG_SOFTMAX) : NULL;
    if (!log || !dtype_is_float(g->wires[log->in[0]].fact.type))
        return;
    n->op = op_by_id(OP_SOFTMAX);
    n->attr = log->attr;
    n->in[0] = log->in[0];
}

rill_status graph_with_softmax_of_logs(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    TRY(graph_copied(ret, g, reterr));
    for (uint32_t i = 0; i < ret->n_nodes; i++)
        node_look(ret, &ret->nodes[i]);
    return RILL_OK;
}
