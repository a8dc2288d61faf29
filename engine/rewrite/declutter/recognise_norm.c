/* SPDX-License-Identifier: MIT */
/* Layer normalisations that were taken apart: mean, difference, mean of squares, root, quotient,
 * and what follows. */
#include "engine/ops/attrs.h"
#include "engine/graph/edit.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"

struct layer {
    uint32_t x, gain, shift;
    int axis;
    float epsilon;
};

/* The mean over all axes from *ret_axis on, which are kept as 1. */
static bool mean_of(const struct graph *g, uint32_t wire, uint32_t *ret_x, int *ret_axis)
{
    const struct node *n = match_op(g, wire, OP_REDUCE_MEAN);
    int64_t axes[RANK_MAX];
    unsigned count = 0, seen = 0;
    if (!n || !node_has_input(n, 1) || !reduce_attr_of(n)->keepdims ||
        !match_ints(g, n->in[1], axes, RANK_MAX, &count) || !count)
        return false;
    int rank = g->wires[n->in[0]].fact.rank, first = rank;
    for (unsigned i = 0; i < count; i++) {
        int a = axis_normalise(axes[i], rank);
        if (a < 0)
            return false;
        seen |= 1u << a;
        first = a < first ? a : first;
    }
    *ret_x = n->in[0];
    *ret_axis = first;
    return seen == ((1u << rank) - 1) - ((1u << first) - 1);
}

/* x minus its mean. */
static bool centred(const struct graph *g, uint32_t wire, uint32_t *ret_x, int *ret_axis)
{
    const struct node *n = match_op(g, wire, OP_SUB);
    return n && mean_of(g, n->in[1], ret_x, ret_axis) && *ret_x == n->in[0];
}

static bool squared(const struct graph *g, uint32_t wire, uint32_t *ret)
{
    const struct node *n = match_op(g, wire, OP_MUL);
    if (n) {
        *ret = n->in[0];
        return n->in[0] == n->in[1];
    }
    n = match_op(g, wire, OP_POW);
    if (n)
        *ret = n->in[0];
    return n && match_is_number(g, n->in[1], 2);
}

/* sqrt(mean((x - mean(x))^2) + epsilon) */
static bool deviation(const struct graph *g, uint32_t wire, struct layer *l)
{
    const struct node *root = match_op(g, wire, OP_SQRT),
                      *sum = root ? match_op(g, root->in[0], OP_ADD) : NULL;
    uint32_t squares, difference, x;
    int axis;
    for (int k = 0; sum && k < 2; k++)
        if (match_number(g, sum->in[k], &l->epsilon) &&
            tensor_count(match_value(g, sum->in[k])) == 1 &&
            mean_of(g, match_other(sum, k), &squares, &l->axis) &&
            squared(g, squares, &difference) && centred(g, difference, &x, &axis)) {
            l->x = x;
            return axis == l->axis;
        }
    return false;
}

/* The difference over the deviation: also times one over it. */
static bool quotient(const struct graph *g, uint32_t wire, struct layer *l)
{
    const struct node *n = match_op(g, wire, OP_DIV);
    uint32_t x, by = n ? n->in[1] : WIRE_NONE, what = n ? n->in[0] : WIRE_NONE;
    int axis;
    if (!n && (n = match_op(g, wire, OP_MUL)))
        for (int k = 0; k < 2; k++) {
            const struct node *one = match_op(g, n->in[k], OP_RECIPROCAL),
                              *div = match_op(g, n->in[k], OP_DIV);
            if (one || (div && match_is_number(g, div->in[0], 1))) {
                by = one ? one->in[0] : div->in[1];
                what = match_other(n, k);
            }
        }
    return by != WIRE_NONE && deviation(g, by, l) && centred(g, what, &x, &axis) && x == l->x &&
        axis == l->axis;
}

/* A constant of the shape of the normalised axes. */
static bool fits(const struct graph *g, uint32_t wire, const struct layer *l)
{
    const struct tensor *t = match_value(g, wire);
    const struct fact *x = &g->wires[l->x].fact;
    if (!t || t->type != DTYPE_F32 || t->rank != x->rank - l->axis)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (!dim_is(x->shape[l->axis + i], t->dim[i]))
            return false;
    return true;
}

static bool scaled(const struct graph *g, uint32_t wire, struct layer *l)
{
    const struct node *n = match_op(g, wire, OP_MUL);
    for (int k = 0; n && k < 2; k++)
        if (quotient(g, match_other(n, k), l) && fits(g, n->in[k], l)) {
            l->gain = n->in[k];
            return true;
        }
    return false;
}

/* Node i is the last of a normalisation: with gain and shift, with gain, or alone. */
static bool layer_find(const struct graph *g, const struct node *n, struct layer *l)
{
    *l = (struct layer) { .gain = WIRE_NONE, .shift = WIRE_NONE };
    if (n->n_out != 1 || n->out[0] == WIRE_NONE || g->wires[n->out[0]].fact.type != DTYPE_F32)
        return false;
    for (int k = 0; node_is(n, OP_ADD) && k < 2; k++)
        if (scaled(g, match_other(n, k), l) && fits(g, n->in[k], l)) {
            l->shift = n->in[k];
            return true;
        }
    return scaled(g, n->out[0], l) || quotient(g, n->out[0], l);
}

/* The sizes of the axes are known, and what comes out has the shape of what goes in. */
static bool sizes_known(const struct graph *g, const struct node *n, const struct layer *l)
{
    const struct fact *x = &g->wires[l->x].fact;
    if (!fact_same(x, &g->wires[n->out[0]].fact))
        return false;
    for (int i = l->axis; i < x->rank; i++)
        if (!dim_is_const(x->shape[i]))
            return false;
    return x->type == DTYPE_F32;
}

static bool ones_make(struct graph *g, struct layer *l)
{
    const struct fact *x = &g->wires[l->x].fact;
    int64_t dim[RANK_MAX];
    for (int i = l->axis; i < x->rank; i++)
        dim[i - l->axis] = dim_value(x->shape[i]);
    struct tensor *t = tensor_new(g->arena, DTYPE_F32, x->rank - l->axis, dim);
    for (int64_t i = 0; t && i < tensor_count(t); i++)
        ((float *) t->data)[i] = 1;
    l->gain = graph_add_const(g, "ones", t);
    return l->gain != WIRE_NONE;
}

/* The node becomes the normalisation; what it was made of is left to those who read it. */
static rill_status layer_put(struct edit *e, uint32_t i, struct layer *l, rill_error *reterr)
{
    const struct op *op = op_by_id(OP_LAYER_NORMALIZATION);
    const struct attr attrs[] = {
        { .name = "axis", .kind = ATTR_INT, .i = l->axis - e->g->wires[l->x].fact.rank },
        { .name = "epsilon", .kind = ATTR_FLOAT, .f = l->epsilon }
    };
    void *attr = arena_alloc(e->g->arena, op->attr_bytes + 1);
    if (!attr || (l->gain == WIRE_NONE && !ones_make(e->g, l)))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(attrs_parse(op, e->g->nodes[i].name, attrs, 2, attr, reterr));
    uint32_t in[3] = { l->x, l->gain, l->shift };
    if (!edit_inputs(e, i, in, l->shift == WIRE_NONE ? 2 : 3))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    e->g->nodes[i].op = op;
    e->g->nodes[i].attr = attr;
    return RILL_OK;
}

/* From the end, so that a normalisation is found with all that belongs to it. */
rill_status graph_with_norms_recognised(struct graph *ret, const struct graph *g,
                                        rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = ret->n_nodes; i-- > 0;) {
        struct layer l;
        if (layer_find(ret, &ret->nodes[i], &l) && sizes_known(ret, &ret->nodes[i], &l))
            TRY(layer_put(&e, i, &l, reterr));
    }
    return edit_end(&e, reterr);
}
