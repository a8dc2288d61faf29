/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/edit.h"
#include "engine/transform.h"

rill_status edit_begin(struct edit *e, struct graph *ret, const struct graph *g, rill_error *reterr)
{
    TRY(graph_copied(ret, g, reterr));
    *e = (struct edit) { .g = ret, .readers = arena_array(g->arena, uint32_t, g->n_wires + 1),
                         .gone = arena_array(g->arena, bool, g->n_nodes + 1), .n_wires = g->n_wires };
    if (!e->readers || !e->gone)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] != WIRE_NONE)
                e->readers[g->nodes[i].in[k]]++;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        e->readers[g->outputs[i]]++;
    for (uint32_t i = 0; i < g->n_states; i++)
        e->readers[g->states[i].out]++;
    return RILL_OK;
}

bool edit_sole_writer(const struct edit *e, uint32_t wire, uint32_t *ret_node)
{
    if (wire >= e->n_wires || e->readers[wire] != 1 || e->g->wires[wire].node == WIRE_NONE)
        return false;
    *ret_node = e->g->wires[wire].node;
    return !e->gone[*ret_node];
}

bool edit_inputs(struct edit *e, uint32_t node, const uint32_t *in, unsigned n)
{
    uint32_t *list = arena_copy(e->g->arena, in, n * sizeof *list);
    if (!list)
        return false;
    e->g->nodes[node].in = list;
    e->g->nodes[node].n_in = n;
    return true;
}

void edit_bypass(struct edit *e, uint32_t node, uint32_t by)
{
    struct graph *g = e->g;
    uint32_t mine = g->nodes[by].out[0], w = g->nodes[node].out[0];
    g->wires[mine].node = WIRE_NONE;
    g->nodes[by].out[0] = w;
    g->wires[w].node = by;
    e->gone[node] = true;
}

void edit_end(struct edit *e)
{
    struct graph *g = e->g;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (e->gone[i])
            continue;
        g->nodes[kept] = g->nodes[i];
        for (unsigned k = 0; k < g->nodes[kept].n_out; k++)
            if (g->nodes[kept].out[k] != WIRE_NONE)
                g->wires[g->nodes[kept].out[k]].node = kept;
        kept++;
    }
    g->n_nodes = kept;
}
