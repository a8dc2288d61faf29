/* SPDX-License-Identifier: MIT */
/* Whole sums that a Cast to f32 alone reads are given as floats by the product itself, so that what
 * follows can be its epilogue. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/settle/passes.h"

static int64_t *floats_at(const struct op *op, void *attr)
{
    if (op->id == OP_BYTE_CONV)
        return &((struct byte_conv_attr *) attr)->floats;
    return op->id == OP_CONV_INTEGER ? &((struct conv_integer_attr *) attr)->y.floats
                                     : &((struct matmul_integer_attr *) attr)->y.floats;
}

static bool is_product(const struct node *n)
{
    static const enum op_id products[] = { OP_CONV_INTEGER, OP_MATMUL_INTEGER };
    return node_is_among(n, products, 2) ||
        (node_is(n, OP_BYTE_CONV) && !byte_conv_attr_of(n)->depthwise);
}

/* The product that node i casts. */
static bool cast_reads_sums(const struct edit *e, uint32_t i, uint32_t *ret_product)
{
    const struct node *n = &e->g->nodes[i];
    if (!node_is(n, OP_CAST) || cast_attr_of(n)->to != DTYPE_F32 ||
        e->g->wires[n->in[0]].fact.type != DTYPE_I32 ||
        !edit_sole_producer(e, n->in[0], ret_product))
        return false;
    return is_product(&e->g->nodes[*ret_product]);
}

rill_status graph_with_float_sums(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    uint32_t product;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!cast_reads_sums(&e, i, &product))
            continue;
        void *attr = edit_attr(&e, product);
        if (!attr)
            return err_set(reterr, RILL_NOMEM, "out of memory");
        *floats_at(ret->nodes[product].op, attr) = 1;
        edit_replace(&e, i, product);
    }
    return edit_end(&e, reterr);
}
