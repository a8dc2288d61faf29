/* SPDX-License-Identifier: MIT */
/* Functions between a product's bytes, which are dequantised for them, and bytes that their results
 * are quantised to are tables of 256: computed by the nodes themselves, so the same numbers. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/typing/interp.h"

#define FUNCTIONS_MAX 8
#define NODE_INS_MAX 8

/* From a DequantizeLinear to a QuantizeLinear, the last node first. */
struct chain {
    uint32_t node[FUNCTIONS_MAX + 2];
    unsigned n;
    uint32_t whole; /* the wire of the bytes */
};

/* Bytes that a product made: what a QuantizeLinear made of floats may be rounded as floats. */
static bool is_of_product(const struct graph *g, uint32_t wire)
{
    static const enum op_id makers[] = { OP_CONV_INTEGER, OP_MATMUL_INTEGER, OP_MAX_POOL,
                                         OP_BYTE_POOL };
    const uint32_t at = g->wires[wire].node;
    return at != WIRE_NONE && node_is_among(&g->nodes[at], makers, sizeof makers / sizeof *makers);
}

/* Of one tensor; all other inputs are single numbers that are known. */
static bool is_function(const struct graph *g, const struct node *n, uint32_t *ret_of)
{
    unsigned flows = 0;
    if (!(n->op->flags & OP_POINTWISE) || n->n_out != 1 || n->n_in > NODE_INS_MAX)
        return false;
    for (unsigned k = 0; k < n->n_in; k++) {
        const struct tensor *t = n->in[k] == WIRE_NONE ? NULL : g->wires[n->in[k]].fact.value;
        if (n->in[k] == WIRE_NONE || (t && tensor_count(t) == 1))
            continue;
        *ret_of = n->in[k];
        flows++;
    }
    return flows == 1 && g->wires[n->out[0]].fact.type == DTYPE_F32 &&
        g->wires[*ret_of].fact.type == DTYPE_F32 &&
        g->wires[*ret_of].fact.rank == g->wires[n->out[0]].fact.rank;
}

static bool chain_find(const struct edit *e, uint32_t i, struct chain *ret)
{
    const struct graph *g = e->g;
    const struct node *n = &g->nodes[i];
    struct quantised_wire q;
    uint32_t wire = n->n_in ? n->in[0] : WIRE_NONE, at;
    if (!node_is(n, OP_QUANTIZE_LINEAR) || quant_attr_of(n)->precision ||
        !wire_is_byte(g, n->out[0]) || !quantised_params(g, n, &q))
        return false;
    *ret = (struct chain) { .node = { i }, .n = 1 };
    while (!wire_is_dequantised(e, wire, &q)) {
        if (ret->n > FUNCTIONS_MAX || !edit_sole_producer(e, wire, &at) ||
            !is_function(g, &g->nodes[at], &wire))
            return false;
        ret->node[ret->n++] = at;
    }
    ret->node[ret->n++] = q.node;
    ret->whole = q.whole;
    return wire_is_byte(g, q.whole) && is_of_product(g, q.whole);
}

/* All bytes in the order of their bits, along the last axis. */
static struct tensor *all_bytes(struct arena *a, enum dtype type, int rank)
{
    int64_t dim[RANK_MAX];
    for (int i = 0; i < rank; i++)
        dim[i] = i == rank - 1 ? 256 : 1;
    struct tensor *t = tensor_new(a, type, rank, dim);
    for (int i = 0; t && i < 256; i++)
        ((uint8_t *) t->data)[i] = (uint8_t) i;
    return t;
}

/* Runs the nodes on all bytes. NULL: they refuse. */
static const struct tensor *chain_run(const struct graph *g, const struct chain *c)
{
    const struct tensor *in[NODE_INS_MAX], *out[1];
    const int rank = g->wires[c->whole].fact.rank;
    const struct tensor *t =
        rank > 0 ? all_bytes(g->arena, g->wires[c->whole].fact.type, rank) : NULL;
    struct kern kern;
    rill_error quiet = { 0 };
    kern_init(&kern, 0);
    for (unsigned i = c->n; t && i-- > 0;) {
        const struct node *n = &g->nodes[c->node[i]];
        for (unsigned k = 0; k < n->n_in; k++) {
            const struct tensor *v = n->in[k] == WIRE_NONE ? NULL : g->wires[n->in[k]].fact.value;
            in[k] = n->in[k] == WIRE_NONE ? NULL : v ? v : t;
        }
        t = interp_node(g->dims, n, in, &kern, g->arena, out, &quiet) == RILL_OK ? out[0] : NULL;
    }
    return t && tensor_count(t) == 256 ? t : NULL;
}

/* False: no memory. */
static bool table_put(struct edit *e, const struct chain *c, const struct tensor *t)
{
    struct graph *g = e->g;
    struct byte_table_attr *a = arena_new(g->arena, struct byte_table_attr);
    int64_t *v = arena_array(g->arena, int64_t, 256);
    const uint32_t i = c->node[0];
    if (!a || !v)
        return false;
    for (int64_t k = 0; k < 256; k++)
        v[k] = tensor_get_i64(t, t->data, k);
    *a = (struct byte_table_attr) { { 256, v }, t->type };
    for (unsigned k = 0; k < c->n; k++)
        e->gone[c->node[k]] = k + 1 < c->n || e->consumers[g->nodes[c->node[k]].out[0]] == 1;
    return edit_insert(e, i, op_by_id(OP_BYTE_TABLE), a, &c->whole, 1, g->nodes[i].out, 1);
}

rill_status graph_with_byte_tables(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct chain c;
    const struct tensor *t;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (chain_find(&e, i, &c) && (t = chain_run(ret, &c)) && !table_put(&e, &c, t))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&e, reterr);
}
