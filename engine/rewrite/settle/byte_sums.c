/* SPDX-License-Identifier: MIT */
/* Whole sums that are biased, scaled and quantised become bytes in the product itself. Each
 * operation rounds as its node did. */
#include "engine/graph/edit.h"
#include "engine/ops/quant_product.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/passes.h"

#define BETWEEN_MAX 8 /* nodes from the sums to the bytes */

/* What stands between a product and a QuantizeLinear by 1. */
struct sums {
    uint32_t product, between[BETWEEN_MAX];
    unsigned n_between;
    const struct tensor *by, *add, *bias;
    bool relu, cast;
    int64_t outputs;
    int trailing; /* axes behind that of the outputs */
    struct quantised_wire q;
};

/* One number, or one for each output along its axis. */
static bool is_along(const struct sums *s, const struct tensor *t)
{
    int64_t n = tensor_count(t);
    int axis = t->rank - 1 - s->trailing;
    return n == 1 || (n == s->outputs && axis >= 0 && t->dim[axis] == n);
}

/* The constant operand of an Add or Mul; *ret_other is the other one. */
static const struct tensor *constant_of(const struct graph *g, const struct node *n,
                                        const struct sums *s, uint32_t *ret_other)
{
    for (unsigned k = 0; k < 2; k++) {
        const struct tensor *t = node_value(g, n, k);
        *ret_other = n->in[1 - k];
        if (t && is_along(s, t) && g->wires[*ret_other].fact.rank == g->wires[n->out[0]].fact.rank)
            return t;
    }
    return NULL;
}

/* Takes in one node more; they are met from the last to the first. */
static bool between_take(const struct graph *g, const struct node *n, struct sums *s,
                         uint32_t *wire)
{
    *wire = n->in[0];
    if (node_is(n, OP_RELU) && !s->add && !s->by && !s->relu)
        return s->relu = true;
    if (node_is(n, OP_CAST) && s->by && !s->cast && cast_attr_of(n)->to == DTYPE_F32 &&
        g->wires[n->in[0]].fact.type == DTYPE_I32)
        return s->cast = true;
    if (node_is(n, OP_MUL) && !s->by)
        return (s->by = constant_of(g, n, s, wire));
    if (node_is(n, OP_ADD) && !s->by && !s->add)
        return (s->add = constant_of(g, n, s, wire));
    if (node_is(n, OP_ADD) && s->cast && !s->bias)
        return (s->bias = constant_of(g, n, s, wire));
    return false;
}

static const struct product_results *results_of(const struct node *n)
{
    const bool conv = node_is(n, OP_CONV_INTEGER);
    return conv ? &((const struct conv_integer_attr *) n->attr)->y
                : &((const struct matmul_integer_attr *) n->attr)->y;
}

static bool is_product(const struct node *n)
{
    return (node_is(n, OP_CONV_INTEGER) || node_is(n, OP_MATMUL_INTEGER)) &&
        !results_of(n)->floats && !results_of(n)->to && n->n_in <= PRODUCT_EPILOGUE;
}

/* Outputs of all products are along the second axis, or the last: what is per output is checked
 * against the one that is found. */
static bool sums_walk(const struct edit *e, uint32_t from, struct sums *s)
{
    const struct graph *g = e->g;
    uint32_t wire = g->nodes[from].in[0], at;
    while (s->n_between < BETWEEN_MAX && edit_sole_producer(e, wire, &at)) {
        const struct node *n = &g->nodes[at];
        if (is_product(n)) {
            s->product = at;
            return s->cast;
        }
        if (n->n_in == 0 || !between_take(g, n, s, &wire))
            return false;
        s->between[s->n_between++] = at;
    }
    return false;
}

static bool sums_find(const struct edit *e, uint32_t i, struct sums *ret)
{
    const struct graph *g = e->g;
    const struct node *n = &g->nodes[i];
    struct tensor y;
    if (!node_is(n, OP_QUANTIZE_LINEAR) || quant_attr_of(n)->precision ||
        !fact_to_tensor(&g->wires[n->out[0]].fact, &y) || y.rank < 2 ||
        (y.type != DTYPE_U8 && y.type != DTYPE_I8) || g->wires[n->in[0]].fact.type != DTYPE_F32)
        return false;
    for (int conv = 0; conv < 2; conv++) {
        *ret = (struct sums) { .trailing = conv ? y.rank - 2 : 0 };
        ret->outputs = y.dim[y.rank - 1 - ret->trailing];
        if (quantised_params(g, n, &ret->q) && ret->q.scale >= 1 && ret->q.scale <= 1 &&
            sums_walk(e, i, ret) &&
            node_is(&g->nodes[ret->product], conv ? OP_CONV_INTEGER : OP_MATMUL_INTEGER))
            return true;
    }
    return false;
}

static uint32_t list_add(struct graph *g, const char *name, const struct tensor *t)
{
    int64_t n = t ? tensor_count(t) : 0;
    return t ? graph_add_const(g, name, tensor_from_data(g->arena, t->type, 1, &n, t->data))
             : WIRE_NONE;
}

static bool sums_join(struct edit *e, uint32_t i, const struct sums *s)
{
    struct graph *g = e->g;
    const struct node was = g->nodes[s->product];
    void *attr = edit_attr(e, s->product);
    uint32_t in[PRODUCT_BYTES_INS];
    if (!attr)
        return false;
    struct product_results *y = node_is(&was, OP_CONV_INTEGER)
        ? &((struct conv_integer_attr *) attr)->y
        : &((struct matmul_integer_attr *) attr)->y;
    y->to = g->wires[g->nodes[i].out[0]].fact.type;
    y->zero = quantised_zero(&s->q);
    y->low = y->to == DTYPE_I8 ? -128 : 0;
    y->high = y->low + 255;
    y->low = s->relu && y->zero > y->low ? y->zero : y->low;
    for (unsigned k = 0; k < PRODUCT_BYTES_INS; k++)
        in[k] = k < was.n_in ? was.in[k] : WIRE_NONE;
    in[PRODUCT_BY] = list_add(g, was.name, s->by);
    in[PRODUCT_ADD] = list_add(g, was.name, s->add);
    in[PRODUCT_BIAS] = list_add(g, was.name, s->bias);
    if (in[PRODUCT_BY] == WIRE_NONE || (s->add && in[PRODUCT_ADD] == WIRE_NONE) ||
        (s->bias && in[PRODUCT_BIAS] == WIRE_NONE) ||
        !edit_inputs(e, s->product, in, PRODUCT_BYTES_INS))
        return false;
    for (unsigned k = 0; k < s->n_between; k++)
        e->gone[s->between[k]] = true;
    edit_replace(e, i, s->product);
    return true;
}

rill_status graph_with_byte_sums(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct sums s;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (sums_find(&e, i, &s) && !sums_join(&e, i, &s))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&e, reterr);
}
