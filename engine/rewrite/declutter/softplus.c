/* SPDX-License-Identifier: MIT */
/* log(1 + e^x) as exporters write it, max(0, x) + log(1 + e^-|0 - x|) with a tensor of zeros (the
 * activations of icefall's zipformers): the same in functions that programs have (settle's
 * fuse_elements.c), so that what was eight steps is a part of one. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"

struct softplus {
    uint32_t x;
    const struct node *max, *abs, *neg;
};

/* The node that reads the wire is one of that op, and the other operand is that number. */
static const struct node *beside(const struct graph *g, const struct node *n, enum op_id op,
                                 float value)
{
    for (int k = 0; n && n->n_in == 2 && k < 2; k++)
        if (match_is_number(g, n->in[k], value) && match_op(g, match_other(n, k), op))
            return match_op(g, match_other(n, k), op);
    return NULL;
}

/* One of the two operands is x, the other zeros. */
static bool against_zeros(const struct graph *g, const struct node *n, uint32_t *ret_x)
{
    for (int k = 0; n && n->n_in == 2 && k < 2; k++)
        if (match_is_number(g, n->in[k], 0)) {
            *ret_x = match_other(n, k);
            return *ret_x != WIRE_NONE;
        }
    return false;
}

static bool is_sole(const struct edit *e, const struct node *n)
{
    return n && e->consumers[n->out[0]] == 1;
}

/* Of the sum n, whose operand k is the maximum. */
static bool softplus_find(const struct edit *e, const struct node *n, int k, struct softplus *ret)
{
    const struct graph *g = e->g;
    const struct node *max = match_op(g, n->in[k], OP_MAX),
                      *log = match_op(g, match_other(n, k), OP_LOG),
                      *exp = beside(g, log ? match_op(g, log->in[0], OP_ADD) : NULL, OP_EXP, 1),
                      *neg = exp ? match_op(g, exp->in[0], OP_NEG) : NULL,
                      *abs = neg ? match_op(g, neg->in[0], OP_ABS) : NULL;
    uint32_t x, difference;
    if (!against_zeros(g, max, &x) ||
        !against_zeros(g, abs ? match_op(g, abs->in[0], OP_SUB) : NULL, &difference) ||
        x != difference || !is_sole(e, max) || !is_sole(e, neg) || !is_sole(e, abs))
        return false;
    const struct fact *f = &g->wires[x].fact;
    *ret = (struct softplus) { x, max, abs, neg };
    return f->type == DTYPE_F32 && fact_same(f, &g->wires[max->out[0]].fact) &&
        fact_same(f, &g->wires[abs->out[0]].fact);
}

static rill_status node_becomes(struct edit *e, const struct node *n, enum op_id id,
                                const uint32_t *in, unsigned n_in, rill_error *reterr)
{
    const struct op *op = op_by_id(id);
    uint32_t i = (uint32_t) (n - e->g->nodes);
    void *attr = arena_alloc(e->g->arena, op->attr_bytes + 1);
    if (!attr || !edit_inputs(e, i, in, n_in))
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(attrs_parse(op, n->name, NULL, 0, attr, reterr));
    e->g->nodes[i].op = op;
    e->g->nodes[i].attr = attr;
    return RILL_OK;
}

static rill_status softplus_put(struct edit *e, const struct softplus *s, rill_error *reterr)
{
    struct tensor *t = tensor_new(e->g->arena, DTYPE_F32, 0, NULL);
    if (!t)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    *(float *) t->data = -1;
    uint32_t minus = graph_add_const(e->g, "minus_one", t);
    if (minus == WIRE_NONE)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    const uint32_t positive[] = { s->x, minus }, negative[] = { s->abs->out[0], minus };
    TRY(node_becomes(e, s->max, OP_RELU, &s->x, 1, reterr));
    TRY(node_becomes(e, s->abs, OP_PRELU, positive, 2, reterr));
    return node_becomes(e, s->neg, OP_MUL, negative, 2, reterr);
}

rill_status graph_with_softplus_in_parts(struct graph *ret, const struct graph *g,
                                         rill_error *reterr)
{
    struct edit e;
    struct softplus s;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < ret->n_nodes; i++) {
        const struct node *n = &ret->nodes[i];
        if (node_is(n, OP_ADD) && (softplus_find(&e, n, 0, &s) || softplus_find(&e, n, 1, &s)))
            TRY(softplus_put(&e, &s, reterr));
    }
    return edit_end(&e, reterr);
}
