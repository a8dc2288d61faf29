/* SPDX-License-Identifier: MIT */
/* Functions between a product's bytes, which are dequantised for them, and bytes that their results
 * are quantised to are tables of 256, one for all or one for each channel: computed by the nodes
 * themselves, so the same numbers. A table of what a table makes is one table. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/typing/interp.h"

#define FUNCTIONS_MAX 8
#define NODE_INS_MAX 8
#define PLACES_MIN 32 /* of a channel: fewer are sooner computed than looked up */

/* From a DequantizeLinear to a QuantizeLinear, the last node first. */
struct chain {
    uint32_t node[FUNCTIONS_MAX + 2];
    unsigned n;
    uint32_t whole; /* the wire of the bytes */
    int64_t channels;
    int axis; /* theirs, where there are several */
};

/* What becomes of the bytes of a wire: of[channels][256]. */
struct table {
    uint32_t whole;
    int64_t channels;
    int axis;
    enum dtype to;
    const uint8_t *of;
};

struct tables {
    struct edit e;
    struct table **by; /* of the wires that are made by one */
};

/* Bytes that a product made: what a QuantizeLinear made of floats may be rounded as floats. */
static bool is_of_product(const struct graph *g, uint32_t wire)
{
    static const enum op_id makers[] = { OP_CONV_INTEGER, OP_MATMUL_INTEGER, OP_MAX_POOL,
                                         OP_BYTE_POOL };
    const uint32_t at = g->wires[wire].node;
    return at != WIRE_NONE && node_is_among(&g->nodes[at], makers, sizeof makers / sizeof *makers);
}

/* False: the axis of others is another. */
static bool channels_take(struct chain *c, int axis, int64_t channels)
{
    if (c->channels > 1)
        return c->axis == axis && c->channels == channels;
    c->axis = axis;
    c->channels = channels;
    return true;
}

/* A known operand of an element-wise node whose output is y: one number, or one a channel. */
static bool operand_fits(struct chain *c, const struct fact *y, const struct tensor *t)
{
    int at = -1;
    if (tensor_count(t) == 1)
        return t->rank <= y->rank;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != 1 && at >= 0)
            return false;
        else if (t->dim[i] != 1)
            at = i;
    const int axis = at + y->rank - t->rank;
    return at >= 0 && axis >= 0 && dim_is_const(y->shape[axis]) &&
        dim_value(y->shape[axis]) == t->dim[at] && channels_take(c, axis, t->dim[at]);
}

static bool is_norm(const struct graph *g, const struct node *n, struct chain *c, uint32_t *ret_of)
{
    const struct fact *y = &g->wires[n->out[0]].fact;
    *ret_of = n->in[0];
    for (unsigned k = 1; k < n->n_in; k++)
        if (!node_value(g, n, k))
            return false;
    return n->n_in == 5 && y->rank > 1 && channels_take(c, 1, tensor_count(node_value(g, n, 1)));
}

/* Of one tensor; all other inputs are known, single numbers or one for each channel. */
static bool is_function(const struct graph *g, const struct node *n, struct chain *c,
                        uint32_t *ret_of)
{
    const struct fact *y = &g->wires[n->out[0]].fact;
    unsigned flows = 0;
    if (n->n_out != 1 || n->n_in > NODE_INS_MAX || y->type != DTYPE_F32)
        return false;
    if (node_is(n, OP_BATCH_NORMALIZATION))
        return is_norm(g, n, c, ret_of);
    if (!(n->op->flags & OP_POINTWISE))
        return false;
    for (unsigned k = 0; k < n->n_in; k++) {
        const struct tensor *t = n->in[k] == WIRE_NONE ? NULL : g->wires[n->in[k]].fact.value;
        if (n->in[k] == WIRE_NONE || (t && operand_fits(c, y, t)))
            continue;
        *ret_of = n->in[k];
        flows++;
    }
    return flows == 1 && g->wires[*ret_of].fact.type == DTYPE_F32 &&
        g->wires[*ret_of].fact.rank == y->rank;
}

/* Channels are worth tables of their own where each has many places. */
static bool channels_pay(const struct graph *g, const struct chain *c)
{
    struct tensor x;
    return c->channels == 1 ||
        (fact_to_tensor(&g->wires[c->whole].fact, &x) && x.dim[c->axis] == c->channels &&
         tensor_count(&x) / c->channels >= PLACES_MIN);
}

static bool chain_find(const struct tables *t, uint32_t i, struct chain *ret)
{
    const struct edit *e = &t->e;
    const struct graph *g = e->g;
    const struct node *n = &g->nodes[i];
    struct quantised_wire q;
    uint32_t wire = n->n_in ? n->in[0] : WIRE_NONE, at;
    if (!node_is(n, OP_QUANTIZE_LINEAR) || quant_attr_of(n)->precision ||
        !wire_is_byte(g, n->out[0]) || !quantised_params(g, n, &q))
        return false;
    *ret = (struct chain) { .node = { i }, .n = 1, .channels = 1 };
    while (!wire_is_dequantised(e, wire, &q)) {
        if (ret->n > FUNCTIONS_MAX || !edit_sole_producer(e, wire, &at) ||
            !is_function(g, &g->nodes[at], ret, &wire))
            return false;
        ret->node[ret->n++] = at;
    }
    ret->node[ret->n++] = q.node;
    ret->whole = q.whole;
    return wire_is_byte(g, q.whole) && (is_of_product(g, q.whole) || t->by[q.whole]) &&
        channels_pay(g, ret);
}

/* All bytes in the order of their bits, along an axis that is not the channels', for each channel.
 */
static struct tensor *all_bytes(struct arena *a, enum dtype type, int rank, const struct chain *c)
{
    int64_t dim[RANK_MAX];
    const int along = c->channels > 1 && c->axis == rank - 1 ? rank - 2 : rank - 1;
    if (along < 0)
        return NULL;
    for (int i = 0; i < rank; i++)
        dim[i] = i == along ? 256 : c->channels > 1 && i == c->axis ? c->channels : 1;
    struct tensor *t = tensor_new(a, type, rank, dim);
    const int64_t apart = along < c->axis ? c->channels : 1;
    for (int64_t i = 0; t && i < 256 * c->channels; i++)
        ((uint8_t *) t->data)[i] = (uint8_t) (i / apart);
    return t;
}

/* Runs the nodes on all bytes. NULL: they refuse. */
static const struct tensor *chain_run(const struct graph *g, const struct chain *c)
{
    const struct tensor *in[NODE_INS_MAX], *out[1];
    const struct fact *x = &g->wires[c->whole].fact;
    const struct tensor *t = all_bytes(g->arena, x->type, x->rank, c);
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
    return t && tensor_count(t) == 256 * c->channels ? t : NULL;
}

/* Channels first, then bytes. NULL: no memory. */
static struct table *table_new(const struct graph *g, const struct chain *c, const struct tensor *t)
{
    struct table *ret = arena_new(g->arena, struct table);
    uint8_t *of = arena_array(g->arena, uint8_t, 256 * c->channels);
    const uint8_t *from = t->data;
    const bool turned = c->channels > 1 && c->axis == t->rank - 1;
    if (!ret || !of)
        return NULL;
    for (int64_t k = 0; k < c->channels; k++)
        for (int64_t i = 0; i < 256; i++)
            of[k * 256 + i] = turned ? from[i * c->channels + k] : from[k * 256 + i];
    *ret = (struct table) { c->whole, c->channels, c->axis, t->type, of };
    return ret;
}

/* Of what is made by a table, that and this as one. False: no memory. */
static bool table_compose(struct graph *g, struct table *t, const struct table *first)
{
    if (!first || (t->channels > 1 && first->channels > 1 && t->axis != first->axis))
        return true;
    const struct table *wide = first->channels > 1 ? first : t;
    uint8_t *of = arena_array(g->arena, uint8_t, 256 * wide->channels);
    for (int64_t k = 0; of && k < wide->channels; k++)
        for (int64_t i = 0; i < 256; i++) {
            const uint8_t made = first->of[(first->channels > 1 ? k * 256 : 0) + i];
            of[k * 256 + i] = t->of[(t->channels > 1 ? k * 256 : 0) + made];
        }
    *t = (struct table) { first->whole, wide->channels, wide->axis, t->to, of };
    return of != NULL;
}

static bool one_put(struct edit *e, uint32_t i, const struct table *t)
{
    struct graph *g = e->g;
    struct byte_table_attr *a = arena_new(g->arena, struct byte_table_attr);
    int64_t *v = arena_array(g->arena, int64_t, 256);
    if (!a || !v)
        return false;
    for (int64_t k = 0; k < 256; k++)
        v[k] = t->to == DTYPE_I8 ? (int8_t) t->of[k] : t->of[k];
    *a = (struct byte_table_attr) { { 256, v }, t->to };
    return edit_insert(e, i, op_by_id(OP_BYTE_TABLE), a, &t->whole, 1, g->nodes[i].out, 1);
}

static bool several_put(struct edit *e, uint32_t i, const struct table *t)
{
    struct graph *g = e->g;
    struct byte_tables_attr *a = arena_new(g->arena, struct byte_tables_attr);
    const int64_t dim[] = { t->channels, 256 };
    const struct tensor *of = tensor_from_data(g->arena, t->to, 2, dim, t->of);
    const uint32_t in[] = { t->whole, of ? graph_add_const(g, g->nodes[i].name, of) : WIRE_NONE };
    if (!a || in[1] == WIRE_NONE)
        return false;
    a->axis = t->axis;
    return edit_insert(e, i, op_by_id(OP_BYTE_TABLES), a, in, 2, g->nodes[i].out, 1);
}

/* False: no memory. */
static bool table_put(struct tables *all, const struct chain *c, const struct tensor *made)
{
    struct edit *e = &all->e;
    struct table *t = table_new(e->g, c, made);
    const uint32_t i = c->node[0];
    if (!t || !table_compose(e->g, t, all->by[c->whole]))
        return false;
    all->by[e->g->nodes[i].out[0]] = t;
    for (unsigned k = 0; k < c->n; k++)
        e->gone[c->node[k]] = k + 1 < c->n || e->consumers[e->g->nodes[c->node[k]].out[0]] == 1;
    return t->channels > 1 ? several_put(e, i, t) : one_put(e, i, t);
}

rill_status graph_with_byte_tables(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct tables all = { 0 };
    struct chain c;
    const struct tensor *t;
    TRY(edit_begin(&all.e, ret, g, reterr));
    all.by = arena_array(ret->arena, struct table *, all.e.n_wires + 1);
    if (!all.by)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < all.e.n_nodes; i++)
        if (chain_find(&all, i, &c) && (t = chain_run(ret, &c)) && !table_put(&all, &c, t))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&all.e, reterr);
}
