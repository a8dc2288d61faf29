/* SPDX-License-Identifier: MIT */
#include "engine/typing/outputs.h"
#include "engine/graph/op.h"

static bool is_output_before(const struct graph *g, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (g->outputs[k] == g->outputs[i])
            return true;
    return false;
}

static bool output_copy(struct graph *g, uint32_t i, const char *name)
{
    struct fact f = g->wires[g->outputs[i]].fact;
    uint32_t from = g->outputs[i];
    f.value = NULL;
    g->outputs[i] = graph_add_wire(g, name, &f);
    return g->outputs[i] != WIRE_NONE &&
        graph_add_node(g, op_by_id(OP_IDENTITY), name, NULL, &from, 1, &g->outputs[i], 1);
}

rill_status graph_outputs_own(struct graph *g, const struct graph *named, rill_error *reterr)
{
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const char *name = named->wires[named->outputs[i]].name;
        bool shared = g->wires[g->outputs[i]].node == WIRE_NONE || is_output_before(g, i);
        if (shared && !output_copy(g, i, name))
            return err_set(reterr, RILL_NOMEM, "out of memory while outputs are named");
        g->wires[g->outputs[i]].name = name;
    }
    return RILL_OK;
}

/* Of sizes that are a wire's value. */
static void value_refresh(struct dims *ds, const struct tensor *value)
{
    if (!value || value->type != DTYPE_DIM)
        return;
    const struct dim **d = value->data;
    for (int64_t i = 0; i < tensor_count(value); i++)
        d[i] = dim_refresh(ds, d[i]);
}

void graph_sizes_refresh(struct graph *g)
{
    for (uint32_t i = 0; i < g->n_wires; i++) {
        value_refresh(g->dims, g->wires[i].fact.value);
        for (int k = 0; k < g->wires[i].fact.rank; k++)
            g->wires[i].fact.shape[k] = dim_refresh(g->dims, g->wires[i].fact.shape[k]);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned b = 0; b < g->nodes[i].n_body; b++)
            graph_sizes_refresh(g->nodes[i].body[b]);
}
