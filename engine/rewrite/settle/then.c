/* SPDX-License-Identifier: MIT */
/* Element-wise ops behind a convolution or a product that nobody else reads become stages of it. */
#include "engine/ops/then.h"
#include "engine/graph/edit.h"
#include "engine/rewrite/settle/passes.h"

static const enum op_id stage_ops[THEN_KINDS] = {
    [THEN_ADD] = OP_ADD,   [THEN_MUL] = OP_MUL,         [THEN_PRELU] = OP_PRELU,
    [THEN_RELU] = OP_RELU, [THEN_SIGMOID] = OP_SIGMOID, [THEN_TANH] = OP_TANH,
};

/* A stage to be: node `conv`, which may be a product, takes in the op of node `node`. */
struct stage {
    uint32_t conv, node;
    int64_t kind;
    uint32_t in; /* wire of the stage's input; WIRE_NONE: a slope of alpha */
    bool takes_input;
    float alpha;
};

static bool is_conv(const struct node *n)
{
    return node_is(n, OP_CONV) || node_is(n, OP_CONV_TRANSPOSE);
}

static bool is_product(const struct node *n)
{
    return node_is(n, OP_MATMUL) || node_is(n, OP_GEMM);
}

static bool shape_of(const struct graph *g, uint32_t wire, struct tensor *ret)
{
    return fact_to_tensor(&g->wires[wire].fact, ret) && ret->type == DTYPE_F32;
}

/* Input `own` of the node is a convolution or a product with room for the stage, the other one is
 * as a stage wants it. */
static bool input_fits(const struct edit *e, unsigned own, struct stage *s)
{
    const struct graph *g = e->g;
    const struct node *n = &g->nodes[s->node];
    struct tensor y, other;
    if (!edit_sole_writer(e, n->in[own], &s->conv) ||
        !(is_conv(&g->nodes[s->conv]) || is_product(&g->nodes[s->conv])) ||
        !shape_of(g, n->out[0], &y) ||
        !fact_same(&g->wires[n->out[0]].fact, &g->wires[n->in[own]].fact))
        return false;
    const struct node *conv = &g->nodes[s->conv];
    int axis = is_product(conv) ? y.rank - 1 : 1;
    unsigned inputs = conv->n_in > THEN_IN ? conv->n_in - THEN_IN : 0;
    if (attr_get_ints(conv, THEN_ATTR).n == THEN_MAX || (s->takes_input && inputs == THEN_IN_MAX))
        return false;
    if (s->takes_input && n->n_in == 2) {
        s->in = n->in[1 - own];
        return shape_of(g, s->in, &other) &&
            then_how(s->kind, other.rank, other.dim, y.rank, y.dim, axis) != THEN_NOT;
    }
    return true;
}

static bool stage_find(const struct edit *e, uint32_t node, struct stage *ret)
{
    const struct node *n = &e->g->nodes[node];
    *ret = (struct stage) { .node = node, .kind = -1, .in = WIRE_NONE };
    for (int64_t k = 0; k < THEN_KINDS; k++)
        if (n->op->id == stage_ops[k])
            ret->kind = k;
    if (node_is(n, OP_LEAKY_RELU)) {
        ret->kind = THEN_PRELU;
        ret->alpha = attr_get_float(n, "alpha");
    }
    if (ret->kind < 0 || n->out[0] == WIRE_NONE)
        return false;
    ret->takes_input = then_takes_input(ret->kind);
    if ((ret->kind == THEN_ADD || ret->kind == THEN_MUL) && input_fits(e, 1, ret))
        return true;
    return input_fits(e, 0, ret);
}

static uint32_t alpha_const(struct graph *g, float alpha)
{
    int64_t one = 1;
    struct tensor *t = tensor_new(g->arena, DTYPE_F32, 1, &one);
    if (t)
        *(float *) t->data = alpha;
    return t ? graph_add_const(g, "alpha", t) : WIRE_NONE;
}

/* It moves to where the op stood, behind all that the op reads. */
static bool stage_join(struct edit *e, const struct stage *s)
{
    struct graph *g = e->g;
    struct node *n = &g->nodes[s->node], conv = g->nodes[s->conv];
    struct attr_ints was = attr_get_ints(&conv, THEN_ATTR);
    uint32_t in = s->takes_input && s->in == WIRE_NONE ? alpha_const(g, s->alpha) : s->in;
    unsigned n_in = conv.n_in < THEN_IN ? THEN_IN : conv.n_in;
    int64_t *stages = arena_array(g->arena, int64_t, was.n + 1);
    uint32_t *list = arena_array(g->arena, uint32_t, n_in + 1);
    if (!stages || !list || (s->takes_input && in == WIRE_NONE))
        return false;
    for (uint32_t i = 0; i < was.n; i++)
        stages[i] = was.v[i];
    stages[was.n] = s->kind;
    for (unsigned i = 0; i < n_in; i++)
        list[i] = i < conv.n_in ? conv.in[i] : WIRE_NONE;
    list[n_in] = in;
    g->wires[conv.out[0]].node = WIRE_NONE;
    conv.out = n->out;
    if (s->takes_input) {
        conv.in = list;
        conv.n_in = n_in + 1;
    }
    *n = conv;
    g->wires[n->out[0]].node = s->node;
    e->gone[s->conv] = true;
    return edit_ints(e, s->node, THEN_ATTR, (struct attr_ints) { was.n + 1, stages });
}

rill_status graph_with_stages_joined(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct stage s;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (stage_find(&e, i, &s) && !stage_join(&e, &s))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&e, reterr);
}
