/* SPDX-License-Identifier: MIT */
/* Whole sums that are biased, scaled and quantised become bytes in the product itself. Each
 * operation rounds as its node did. */
#include "engine/graph/edit.h"
#include "engine/ops/quant_product.h"
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/passes.h"

#include <float.h>
#include <math.h>

#define BETWEEN_MAX 8 /* nodes from the sums to the bytes */

/* What stands between a product and a QuantizeLinear by 1. */
struct sums {
    uint32_t product, between[BETWEEN_MAX];
    unsigned n_between;
    const struct tensor *by, *add, *bias;
    bool cast;
    float leaky;             /* slope of what is negative; 0: none */
    int64_t zero, low, high; /* of the bytes */
    int64_t outputs;
};

/* The other operand of an Add or Mul whose constant one is kept in *ret. */
static bool constant_take(const struct graph *g, const struct node *n, const struct tensor **ret,
                          uint32_t *ret_other)
{
    for (unsigned k = 0; k < 2; k++) {
        *ret = node_value(g, n, k);
        *ret_other = n->in[1 - k];
        if (*ret && g->wires[*ret_other].fact.rank == g->wires[n->out[0]].fact.rank)
            return true;
    }
    return false;
}

/* A byte that a bound of the floats becomes, within those that are left. */
static int64_t bound_of(const struct sums *s, float v)
{
    const float least = (float) (s->low - s->zero), most = (float) (s->high - s->zero);
    return s->zero + (int64_t) rintf(v < least ? least : v > most ? most : v);
}

/* Bounds of a Clip that are known, and in order. */
static bool clip_take(const struct graph *g, const struct node *n, struct sums *s)
{
    float bound[2] = { -FLT_MAX, FLT_MAX };
    for (unsigned k = 0; k < 2; k++) {
        const struct tensor *t = node_value(g, n, 1 + k);
        if (node_has_input(n, 1 + k) && !t)
            return false;
        if (t)
            bound[k] = (float) tensor_get_f64(t, t->data, 0);
    }
    if (!(bound[0] <= bound[1]))
        return false;
    const int64_t low = bound_of(s, bound[0]);
    s->high = bound_of(s, bound[1]);
    s->low = low;
    return true;
}

/* Takes in a function of the bytes' floats; a LeakyRelu is the first of them. */
static bool function_take(const struct graph *g, const struct node *n, struct sums *s)
{
    if (s->leaky > 0)
        return false;
    if (node_is(n, OP_RELU)) {
        s->low = bound_of(s, 0);
        return true;
    }
    if (node_is(n, OP_CLIP))
        return clip_take(g, n, s);
    s->leaky = node_is(n, OP_LEAKY_RELU) ? unary_attr_of(n)->alpha : 0;
    return s->leaky > 0 && s->leaky <= 1;
}

/* Takes in one node more; they are met from the last to the first. */
static bool between_take(const struct graph *g, const struct node *n, struct sums *s,
                         uint32_t *wire)
{
    *wire = n->in[0];
    if (node_is(n, OP_CAST) && s->by && !s->cast && cast_attr_of(n)->to == DTYPE_F32 &&
        g->wires[n->in[0]].fact.type == DTYPE_I32)
        return s->cast = true;
    if (node_is(n, OP_MUL) && !s->by)
        return constant_take(g, n, &s->by, wire);
    if (node_is(n, OP_ADD) && !s->by && !s->add)
        return constant_take(g, n, &s->add, wire);
    if (node_is(n, OP_ADD) && s->cast && !s->bias)
        return constant_take(g, n, &s->bias, wire);
    return !s->by && !s->add && function_take(g, n, s);
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

/* One number, or one for each output along its axis, which `trailing` ones are behind. */
static bool is_along(const struct sums *s, const struct tensor *t, int trailing)
{
    int64_t n = t ? tensor_count(t) : 1;
    int axis = t ? t->rank - 1 - trailing : 0;
    return n == 1 || (n == s->outputs && axis >= 0 && t->dim[axis] == n);
}

/* Outputs of a convolution are along the second axis, of a matrix along the last. */
static bool sums_fit(const struct node *product, const struct tensor *y, struct sums *s)
{
    const int trailing = node_is(product, OP_CONV_INTEGER) ? y->rank - 2 : 0;
    if (y->rank <= trailing)
        return false;
    s->outputs = y->dim[y->rank - 1 - trailing];
    return s->cast && is_along(s, s->by, trailing) && is_along(s, s->add, trailing) &&
        is_along(s, s->bias, trailing);
}

static bool sums_walk(const struct edit *e, uint32_t from, const struct tensor *y, struct sums *s)
{
    const struct graph *g = e->g;
    uint32_t wire = g->nodes[from].in[0], at;
    while (s->n_between < BETWEEN_MAX && edit_sole_producer(e, wire, &at)) {
        const struct node *n = &g->nodes[at];
        s->product = at;
        if (is_product(n))
            return sums_fit(n, y, s);
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
    struct quantised_wire q;
    struct tensor y;
    if (!node_is(n, OP_QUANTIZE_LINEAR) || quant_attr_of(n)->precision ||
        !fact_to_tensor(&g->wires[n->out[0]].fact, &y) ||
        (y.type != DTYPE_U8 && y.type != DTYPE_I8) || g->wires[n->in[0]].fact.type != DTYPE_F32 ||
        !quantised_params(g, n, &q) || !(q.scale >= 1 && q.scale <= 1))
        return false;
    *ret = (struct sums) { .zero = quantised_zero(&q), .low = y.type == DTYPE_I8 ? -128 : 0 };
    ret->high = ret->low + 255;
    return sums_walk(e, i, &y, ret);
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
    y->zero = s->zero;
    y->low = s->low;
    y->high = s->high;
    y->leaky = s->leaky;
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
