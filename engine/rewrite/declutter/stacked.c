/* SPDX-License-Identifier: MIT */
/* Masks that are stacked along an axis of their own, and there reduced, or taken out again, are
 * joined two by two: which keys a query sees is read of pairs of masks. The bits stay: reductions
 * take elements in order, from what changes none but -0 in sums of floats. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#define PARTS_MAX 16
#define MOVES_MAX 8 /* nodes between the stack and who reads it */

struct stack {
    struct node concat, through[MOVES_MAX]; /* element by element, the last first */
    unsigned n_through, input[MOVES_MAX];   /* of each, where the stack comes in */
    int axis;
};

/* ---- what is stacked ---- */

static bool is_number(const struct graph *g, uint32_t w)
{
    const struct tensor *v = match_value(g, w);
    return v && tensor_count(v) == 1 && v->type != DTYPE_DIM;
}

/* An op of elements that has one input which is no number. */
static bool keeps_stack(const struct graph *g, const struct node *n, unsigned *ret_input)
{
    unsigned many = 0;
    if (!(n->op->flags & OP_POINTWISE) || n->n_out != 1 || n->n_in > PUT_INPUTS)
        return false;
    for (unsigned k = 0; k < n->n_in; k++)
        if (n->in[k] != WIRE_NONE && !is_number(g, n->in[k])) {
            *ret_input = k;
            many++;
        }
    return many == 1 && g->wires[n->in[*ret_input]].fact.rank == g->wires[n->out[0]].fact.rank;
}

/* Masks over two axes of open size, each one element along the axis of the Concat. */
static bool stacks_masks(const struct graph *g, const struct node *n, int *ret_axis)
{
    const struct fact *f = &g->wires[n->out[0]].fact;
    int open = 0;
    *ret_axis = axis_normalise(axis_of(n), f->rank);
    for (int a = 0; a < f->rank; a++)
        open += dim_has_symbol(f->shape[a]);
    bool ones = open >= 2 && n->n_in >= 2 && n->n_in <= PARTS_MAX;
    for (unsigned k = 0; ones && k < n->n_in; k++)
        ones = dim_is(g->wires[n->in[k]].fact.shape[*ret_axis], 1);
    return ones;
}

static bool stack_of(const struct graph *g, uint32_t w, struct stack *ret)
{
    const struct node *n = graph_producer(g, w);
    unsigned input;
    ret->n_through = 0;
    while (n && !node_is(n, OP_CONCAT)) {
        if (ret->n_through == MOVES_MAX || !keeps_stack(g, n, &input))
            return false;
        ret->input[ret->n_through] = input;
        ret->through[ret->n_through++] = *n;
        n = graph_producer(g, n->in[input]);
    }
    if (!n || !stacks_masks(g, n, &ret->axis))
        return false;
    ret->concat = *n;
    return true;
}

/* 0 and 1, and nothing else. */
static bool is_truth(const struct graph *g, uint32_t w)
{
    static const enum op_id moves[] = { OP_CAST,    OP_EXPAND,    OP_IDENTITY, OP_RESHAPE,
                                        OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    const struct node *n = graph_producer(g, w);
    while (g->wires[w].fact.type != DTYPE_BOOL) {
        if (!n || !node_is_among(n, moves, sizeof moves / sizeof *moves))
            return false;
        w = n->in[0];
        n = graph_producer(g, w);
    }
    return true;
}

static bool stacks_truths(const struct graph *g, const struct stack *s)
{
    bool all = true;
    if (s->n_through && g->wires[s->through[0].out[0]].fact.type == DTYPE_BOOL)
        return true;
    for (unsigned m = 0; m < s->n_through; m++)
        if (!node_is(&s->through[m], OP_CAST))
            return false;
        else if (g->wires[s->through[m].in[0]].fact.type == DTYPE_BOOL)
            return true;
    for (unsigned k = 0; all && k < s->concat.n_in; k++)
        all = is_truth(g, s->concat.in[k]);
    return all;
}

/* ---- what is put in front of node i ---- */

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

static rill_status part_put(struct edit *e, uint32_t i, const struct stack *s, unsigned k,
                            uint32_t *ret, rill_error *err)
{
    uint32_t in[PUT_INPUTS];
    *ret = s->concat.in[k];
    for (unsigned m = s->n_through; m-- > 0;) {
        const struct node *n = &s->through[m];
        for (unsigned j = 0; j < n->n_in; j++)
            in[j] = j == s->input[m] ? *ret : n->in[j];
        TRY(put_before(e, i, n->op, n->attr, in, n->n_in, ret, err));
    }
    return RILL_OK;
}

static rill_status cast_put(struct edit *e, uint32_t i, enum dtype to, uint32_t *w, rill_error *err)
{
    struct cast_attr *attr = arena_new(e->g->arena, struct cast_attr);
    if (e->g->wires[*w].fact.type == to)
        return RILL_OK;
    if (!attr)
        return no_memory(err);
    *attr = (struct cast_attr) { .to = to, .saturate = 1 };
    const uint32_t in = *w;
    return put_before(e, i, op_by_id(OP_CAST), attr, &in, 1, w, err);
}

/* 0 and each part, one to the other. truth: as truth values. */
static rill_status parts_join(struct edit *e, uint32_t i, const struct stack *s, enum op_id op,
                              bool truth, uint32_t *ret, rill_error *err)
{
    for (unsigned k = 0; k < s->concat.n_in; k++) {
        uint32_t part;
        TRY(part_put(e, i, s, k, &part, err));
        if (truth)
            TRY(cast_put(e, i, DTYPE_BOOL, &part, err));
        const uint32_t in[2] = { part, k ? *ret : part };
        *ret = part;
        if (k)
            TRY(put_before(e, i, op_by_id(op), NULL, in, 2, ret, err));
    }
    return RILL_OK;
}

static rill_status squeeze_put(struct edit *e, uint32_t i, int axis, uint32_t *w, rill_error *err)
{
    const uint32_t in[2] = { *w, edit_int(e->g, axis) };
    return in[1] == WIRE_NONE ? no_memory(err)
                              : put_before(e, i, op_by_id(OP_SQUEEZE), NULL, in, 2, w, err);
}

/* Output k of node i is w. */
static rill_status output_put(struct edit *e, uint32_t i, unsigned k, uint32_t w, rill_error *err)
{
    const uint32_t out = e->g->nodes[i].out[k];
    if (!edit_insert(e, i, op_by_id(OP_IDENTITY), NULL, &w, 1, &out, 1))
        return no_memory(err);
    e->gone[i] = true;
    return RILL_OK;
}

/* ---- reductions ---- */

static bool reduces(const struct graph *g, const struct node *n, struct stack *ret)
{
    static const enum op_id ops[] = { OP_REDUCE_MAX, OP_REDUCE_MEAN, OP_REDUCE_MIN, OP_REDUCE_PROD,
                                      OP_REDUCE_SUM };
    if (!node_is_among(n, ops, sizeof ops / sizeof *ops) || n->n_in != 2)
        return false;
    const struct tensor *axes = node_value(g, n, 1);
    const int rank = g->wires[n->in[0]].fact.rank;
    return axes && tensor_count(axes) == 1 && stack_of(g, n->in[0], ret) &&
        axis_normalise(tensor_get_i64(axes, axes->data, 0), rank) == ret->axis;
}

static enum op_id joins_by(const struct node *n, bool truth)
{
    switch (n->op->id) {
    case OP_REDUCE_MAX: return truth ? OP_OR : OP_MAX;
    case OP_REDUCE_MIN: return truth ? OP_AND : OP_MIN;
    case OP_REDUCE_PROD: return truth ? OP_AND : OP_MUL;
    default: return OP_ADD;
    }
}

/* Halves are summed and multiplied in f32, and means of integers rounded; a sum of floats that are
 * all -0 is 0. */
static bool joins_alike(const struct node *n, enum dtype type, bool truth)
{
    const bool picks = node_is(n, OP_REDUCE_MAX) || node_is(n, OP_REDUCE_MIN);
    return node_is(n, OP_REDUCE_MEAN) ? type == DTYPE_F32 || type == DTYPE_F64
                                      : truth || picks || !dtype_is_half(type);
}

static rill_status with_number(struct edit *e, uint32_t i, enum op_id op, enum dtype type, double v,
                               uint32_t *w, rill_error *err)
{
    struct tensor *t = tensor_new(e->g->arena, type, 0, NULL);
    if (t)
        tensor_set_f64(t, t->data, 0, v);
    const uint32_t in[2] = { *w, t ? graph_add_const(e->g, "number", t) : WIRE_NONE };
    return in[1] == WIRE_NONE ? no_memory(err)
                              : put_before(e, i, op_by_id(op), NULL, in, 2, w, err);
}

static rill_status reduce_join(struct edit *e, uint32_t i, const struct stack *s, rill_error *err)
{
    const struct node n = e->g->nodes[i];
    const enum dtype type = e->g->wires[n.in[0]].fact.type;
    const bool mean = node_is(&n, OP_REDUCE_MEAN), sum = mean || node_is(&n, OP_REDUCE_SUM),
               truth = stacks_truths(e->g, s);
    uint32_t w;
    if (!joins_alike(&n, type, truth))
        return RILL_OK;
    TRY(parts_join(e, i, s, joins_by(&n, truth), truth && !sum, &w, err));
    TRY(cast_put(e, i, type, &w, err));
    if (sum && !truth && dtype_is_float(type))
        TRY(with_number(e, i, OP_ADD, type, 0, &w, err));
    if (mean)
        TRY(with_number(e, i, OP_DIV, type, s->concat.n_in, &w, err));
    if (!reduce_attr_of(&n)->keepdims)
        TRY(squeeze_put(e, i, s->axis, &w, err));
    return output_put(e, i, 0, w, err);
}

/* ---- numbers of truths, compared ---- */

static bool compares(enum op_id op, double a, double b)
{
    switch (op) {
    case OP_EQUAL: return a == b;
    case OP_GREATER: return a > b;
    case OP_GREATER_OR_EQUAL: return a >= b;
    case OP_LESS: return a < b;
    default: return a <= b;
    }
}

struct count {
    const struct node *n; /* sums truths, or takes their mean */
    struct stack of;
    uint32_t squeezed; /* the axes that go behind it; WIRE_NONE: none do */
};

static bool counts(const struct graph *g, uint32_t w, struct count *ret)
{
    const struct node *behind = match_op(g, w, OP_SQUEEZE);
    ret->squeezed = behind && behind->n_in == 2 ? behind->in[1] : WIRE_NONE;
    ret->n = graph_producer(g, ret->squeezed == WIRE_NONE ? w : behind->in[0]);
    const bool mean = ret->n && node_is(ret->n, OP_REDUCE_MEAN);
    return ret->n && (mean || node_is(ret->n, OP_REDUCE_SUM)) &&
        (!mean || g->wires[w].fact.type == DTYPE_F32) && reduces(g, ret->n, &ret->of) &&
        stacks_truths(g, &ret->of);
}

/* What it gives where k truths are 1. */
static double count_number(const struct count *c, unsigned k)
{
    return node_is(c->n, OP_REDUCE_MEAN) ? (float) ((double) k / c->of.concat.n_in) : k;
}

/* What node n says of 0, 1, .. truths of c that are 1, a bit each; number: the input that they are
 * compared with, if n is no Cast. */
static uint32_t said_of(const struct graph *g, const struct node *n, unsigned number,
                        const struct count *c)
{
    const uint32_t all = ((uint32_t) 2 << c->of.concat.n_in) - 1;
    uint32_t said = 0;
    if (node_is(n, OP_CAST))
        return all - 1;
    const struct tensor *t = match_value(g, n->in[number]);
    const double v = tensor_get_f64(t, t->data, 0);
    for (unsigned k = 0; k <= c->of.concat.n_in; k++) {
        const double x = count_number(c, k);
        said |= (uint32_t) compares(n->op->id, number ? x : v, number ? v : x) << k;
    }
    return said;
}

/* Whether n compares a count with a number, which is *ret_number of its inputs, or casts it to
 * truth. */
static bool count_of(const struct graph *g, const struct node *n, unsigned *ret_number,
                     struct count *ret)
{
    static const enum op_id ops[] = { OP_EQUAL, OP_GREATER, OP_GREATER_OR_EQUAL, OP_LESS,
                                      OP_LESS_OR_EQUAL };
    if (node_is(n, OP_CAST))
        return g->wires[n->out[0]].fact.type == DTYPE_BOOL && counts(g, n->in[0], ret);
    if (!node_is_among(n, ops, sizeof ops / sizeof *ops))
        return false;
    *ret_number = is_number(g, n->in[0]) ? 0 : 1;
    return is_number(g, n->in[*ret_number]) && counts(g, n->in[1 - *ret_number], ret);
}

/* Whether some truth of a stack is 1, or all are, or not. */
static rill_status count_join(struct edit *e, uint32_t i, rill_error *err)
{
    const struct node n = e->g->nodes[i];
    struct count c;
    unsigned number = 0;
    uint32_t w;
    if (!count_of(e->g, &n, &number, &c))
        return RILL_OK;
    const bool keeps = reduce_attr_of(c.n)->keepdims;
    const unsigned most = c.of.concat.n_in;
    const uint32_t said = said_of(e->g, &n, number, &c), all = ((uint32_t) 2 << most) - 1,
                   each = (uint32_t) 1 << most;
    const bool any = said == all - 1 || said == 1, every = said == each || said == all - each;
    if (!any && !every)
        return RILL_OK;
    TRY(parts_join(e, i, &c.of, any ? OP_OR : OP_AND, true, &w, err));
    if (!keeps)
        TRY(squeeze_put(e, i, c.of.axis, &w, err));
    if (c.squeezed != WIRE_NONE)
        TRY(put_before(e, i, op_by_id(OP_SQUEEZE), NULL, (uint32_t[]) { w, c.squeezed }, 2, &w,
                       err));
    if (said & 1)
        TRY(put_before(e, i, op_by_id(OP_NOT), NULL, &(uint32_t) { w }, 1, &w, err));
    return output_put(e, i, 0, w, err);
}

/* ---- what is taken out of a stack ---- */

static rill_status gather_pick(struct edit *e, uint32_t i, rill_error *err)
{
    const struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const struct tensor *at = node_value(g, &n, 1);
    struct stack s;
    uint32_t w;
    if (!at || at->rank || at->type == DTYPE_DIM || !stack_of(g, n.in[0], &s) ||
        axis_normalise(axis_of(&n), g->wires[n.in[0]].fact.rank) != s.axis)
        return RILL_OK;
    const int64_t most = s.concat.n_in, v = tensor_get_i64(at, at->data, 0),
                  k = v < 0 ? v + most : v;
    if (k < 0 || k >= most)
        return RILL_OK;
    TRY(part_put(e, i, &s, (unsigned) k, &w, err));
    TRY(squeeze_put(e, i, s.axis, &w, err));
    return output_put(e, i, 0, w, err);
}

/* A Slice of one part. */
static rill_status slice_pick(struct edit *e, uint32_t i, rill_error *err)
{
    const struct graph *g = e->g;
    const struct node n = g->nodes[i];
    const struct tensor *from = node_value(g, &n, 1), *axes = node_value(g, &n, 3);
    struct stack s;
    uint32_t w;
    if (!from || !axes || tensor_count(axes) != 1 || from->type == DTYPE_DIM ||
        !stack_of(g, n.in[0], &s))
        return RILL_OK;
    const int rank = g->wires[n.in[0]].fact.rank;
    const int64_t most = s.concat.n_in, v = tensor_get_i64(from, from->data, 0),
                  k = v < 0 ? v + most : v;
    if (axis_normalise(tensor_get_i64(axes, axes->data, 0), rank) != s.axis || k < 0 || k >= most ||
        !dim_is(g->wires[n.out[0]].fact.shape[s.axis], 1))
        return RILL_OK;
    TRY(part_put(e, i, &s, (unsigned) k, &w, err));
    return output_put(e, i, 0, w, err);
}

static rill_status split_pick(struct edit *e, uint32_t i, rill_error *err)
{
    const struct graph *g = e->g;
    const struct node n = g->nodes[i];
    struct stack s;
    if (!stack_of(g, n.in[0], &s) || n.n_out != s.concat.n_in ||
        axis_normalise(axis_of(&n), g->wires[n.in[0]].fact.rank) != s.axis)
        return RILL_OK;
    for (unsigned k = 0; k < n.n_out; k++)
        if (n.out[k] == WIRE_NONE || !dim_is(g->wires[n.out[k]].fact.shape[s.axis], 1))
            return RILL_OK;
    for (unsigned k = 0; k < n.n_out; k++) {
        uint32_t w;
        TRY(part_put(e, i, &s, k, &w, err));
        TRY(output_put(e, i, k, w, err));
    }
    return RILL_OK;
}

static rill_status stack_read(struct edit *e, uint32_t i, rill_error *err)
{
    const struct node *n = &e->g->nodes[i];
    struct stack s;
    if (node_is(n, OP_GATHER))
        return gather_pick(e, i, err);
    if (node_is(n, OP_SLICE))
        return slice_pick(e, i, err);
    if (node_is(n, OP_SPLIT))
        return split_pick(e, i, err);
    return reduces(e->g, n, &s) ? reduce_join(e, i, &s, err) : RILL_OK;
}

rill_status graph_with_stacks_joined(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        TRY(count_join(&e, i, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (!e.gone[i])
            TRY(stack_read(&e, i, reterr));
    return edit_end(&e, reterr);
}
