/* SPDX-License-Identifier: MIT */
/* A BatchNormalization of known numbers that no convolution could take in, as something stands
 * between them (a rounding), is a product and a sum per channel: steps of a program, which round
 * the same. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/ops/fused.h"
#include "engine/rewrite/settle/passes.h"

enum { NORM_X, NORM_SCALE, NORM_SHIFT, NORM_MEAN, NORM_VAR, NORM_INPUTS };

/* What is made by a step that programs take in. */
static bool is_of_program(const struct edit *e, uint32_t wire)
{
    uint32_t maker;
    if (!edit_sole_producer(e, wire, &maker))
        return false;
    const struct node *n = &e->g->nodes[maker];
    return n->op->epilogue_in || fused_function(n->op->id) >= 0;
}

/* Programs take one number a channel where there is one image. */
static bool is_ours(const struct edit *e, uint32_t node)
{
    const struct graph *g = e->g;
    const struct node *n = &g->nodes[node];
    struct tensor x;
    bool known = node_is(n, OP_BATCH_NORMALIZATION) && n->n_in == NORM_INPUTS &&
        n->out[0] != WIRE_NONE && fact_to_tensor(&g->wires[n->in[NORM_X]].fact, &x) &&
        x.type == DTYPE_F32 && x.dim[0] == 1 && is_of_program(e, n->in[NORM_X]);
    for (unsigned i = NORM_SCALE; known && i < NORM_INPUTS; i++)
        known = node_value(g, n, i) != NULL;
    return known;
}

/* One number a channel. WIRE_NONE: no memory. */
static uint32_t numbers_add(struct graph *g, const char *name, int rank, int64_t channels,
                            const float *v)
{
    int64_t dim[RANK_MAX];
    for (int i = 0; i < rank - 1; i++)
        dim[i] = i ? 1 : channels;
    return graph_add_const(g, name, tensor_from_data(g->arena, DTYPE_F32, rank - 1, dim, v));
}

/* False: no memory. */
static bool norm_put(struct edit *e, uint32_t node)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[node];
    const struct fact x = g->wires[n.in[NORM_X]].fact;
    const int64_t channels = tensor_count(node_value(g, &n, NORM_SCALE));
    float *s = arena_array(g->arena, float, 2 * channels + 1);
    if (!s)
        return false;
    batch_numbers(batch_attr_of(&n)->epsilon, channels, node_value(g, &n, NORM_SCALE)->data,
                  node_value(g, &n, NORM_SHIFT)->data, node_value(g, &n, NORM_MEAN)->data,
                  node_value(g, &n, NORM_VAR)->data, s);
    const uint32_t times = numbers_add(g, "scale", x.rank, channels, s),
                   plus = numbers_add(g, "shift", x.rank, channels, s + channels),
                   product = graph_add_wire(g, g->wires[n.out[0]].name, &x);
    e->gone[node] = true;
    return times != WIRE_NONE && plus != WIRE_NONE && product != WIRE_NONE &&
        edit_insert(e, node, op_by_id(OP_MUL), NULL, (uint32_t[]) { n.in[NORM_X], times }, 2,
                    &product, 1) &&
        edit_insert(e, node, op_by_id(OP_ADD), NULL, (uint32_t[]) { product, plus }, 2, n.out, 1);
}

rill_status graph_with_batch_norms(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (is_ours(&e, i) && !norm_put(&e, i))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&e, reterr);
}
