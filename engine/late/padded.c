/* SPDX-License-Identifier: MIT */
/* What the frames that are not there come to, wire by wire. Ops that are not in the table of rules
 * refuse. */
#include "engine/late/padded.h"
#include "engine/graph/op.h"
#include "engine/ops/attrs.h"

#include <math.h>
#include <string.h>

#define MORE_MAX 4096 /* frames that a step adds */

struct padding {
    const struct graph *from;
    struct graph *to; /* wires of `from` keep their numbers */
    const struct dim *past, *all;
    int *axis;  /* per wire: along which frames that are not there stand in front; -1: none */
    bool *zero; /* per wire: they are zeros */
    bool *even; /* per wire: they, and the frames that are there, are all alike */
    uint32_t there, front;
};

/* NODE, whose inputs may be replaced, is copied behind. */
struct copied {
    const struct node *n;
    uint32_t *in;
    uint32_t out;   /* its first */
    uint32_t later; /* what that is with the frames that are not there taken off; WIRE_NONE */
};

static bool is_past(const struct padding *p, const struct dim *d)
{
    return d == p->past || d == p->all;
}

/* -1: none; -2: more than one, or one that is no number of frames */
static int long_axis(const struct padding *p, const struct fact *f)
{
    int axis = -1;
    for (int k = 0; k < f->rank; k++)
        if (dim_mentions(f->shape[k], p->past))
            axis = axis == -1 && is_past(p, f->shape[k]) ? k : -2;
    return axis;
}

static const struct fact *fact_of(const struct padding *p, uint32_t wire)
{
    return &p->to->wires[wire].fact;
}

/* A constant of sizes that follows the frames. */
static bool is_position(const struct padding *p, uint32_t wire)
{
    const struct tensor *t = wire == WIRE_NONE ? NULL : fact_of(p, wire)->value;
    for (int64_t i = 0; t && t->type == DTYPE_DIM && i < tensor_count(t); i++)
        if (dim_mentions(((const struct dim *const *) t->data)[i], p->past))
            return true;
    return false;
}

/* Each element is the frames and a number, so that it is less by those that are not there. */
static bool is_linear(const struct padding *p, const struct tensor *t)
{
    for (int64_t i = 0; i < tensor_count(t); i++) {
        const struct dim *d = ((const struct dim *const *) t->data)[i];
        if (!dim_is_const(dim_sub(p->to->dims, d, p->past)))
            return false;
    }
    return true;
}

static bool is_long(const struct padding *p, uint32_t wire)
{
    return wire != WIRE_NONE && p->axis[wire] >= 0;
}

static bool add_node(const struct padding *p, enum op_id id, const char *name, const uint32_t *in,
                     unsigned n_in, uint32_t out)
{
    return graph_add_node(p->to, op_by_id(id), name, NULL, in, n_in, &out, 1);
}

static uint32_t wire_like(const struct padding *p, const char *name, const struct fact *f)
{
    struct fact made = *f;
    made.value = NULL;
    if (made.type == DTYPE_DIM)
        made.type = DTYPE_I64;
    return graph_add_wire(p->to, graph_name_next(p->to, name), &made);
}

/* `wire`, less the frames that are not there, into `out` (WIRE_NONE: a new one). */
static uint32_t counted(const struct padding *p, const char *name, uint32_t wire, uint32_t out)
{
    if (out == WIRE_NONE)
        out = wire_like(p, name, fact_of(p, wire));
    const uint32_t in[] = { wire, p->front };
    return out != WIRE_NONE && add_node(p, OP_SUB, name, in, 2, out) ? out : WIRE_NONE;
}

/* Operand k as data: positions become those of the frames that are there. */
static bool position_take(const struct padding *p, struct copied *c, unsigned k)
{
    const uint32_t w = c->in[k];
    if (!is_position(p, w))
        return true;
    const struct fact *f = fact_of(p, w);
    const bool whole = f->number == DTYPE_NONE || f->number == DTYPE_I64;
    if (f->rank < 1 || !whole || !is_linear(p, f->value))
        return false;
    c->in[k] = counted(p, c->n->name, w, WIRE_NONE);
    return c->in[k] != WIRE_NONE;
}

/* ---- rules: what of output 0 is not there; false: not known ---- */

static bool pointwise_rule(struct padding *p, struct copied *c)
{
    static const enum op_id keeps[] = { OP_IDENTITY, OP_CAST, OP_ROUND_F16, OP_ROUND_BF16 };
    const struct fact *out = fact_of(p, c->out);
    const int axis = p->axis[c->out];
    bool even = axis >= 0;
    for (unsigned k = 0; k < c->n->n_in; k++) {
        const uint32_t w = c->in[k];
        if (w == WIRE_NONE)
            continue;
        const struct fact *f = fact_of(p, w);
        if (!position_take(p, c, k))
            return false;
        if (is_long(p, w) &&
            (axis < 0 || f->rank - p->axis[w] != out->rank - axis ||
             f->shape[p->axis[w]] != out->shape[axis]))
            return false;
        even &= !is_long(p, w) || p->even[w];
    }
    p->even[c->out] = even;
    p->zero[c->out] =
        node_is_among(c->n, keeps, sizeof keeps / sizeof *keeps) && p->zero[c->n->in[0]];
    return true;
}

static bool is_zeros(const struct tensor *t)
{
    const size_t bytes = t ? tensor_bytes(t) : 0;
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *) t->data)[i])
            return false;
    return bytes > 0;
}

/* Weights of queries that see nothing, or that are no numbers, are 0. */
static bool where_rule(struct padding *p, struct copied *c)
{
    bool zero = true;
    for (unsigned k = 1; k < 3; k++)
        zero &= p->zero[c->n->in[k]] || is_zeros(fact_of(p, c->n->in[k])->value);
    if (!pointwise_rule(p, c))
        return false;
    p->zero[c->out] = zero;
    return true;
}

/* Frames of now behind those that were, or the same frames beside each other. */
static bool concat_rule(struct padding *p, struct copied *c)
{
    const int axis = axis_normalise(axis_of(c->n), fact_of(p, c->out)->rank);
    bool zero = true;
    for (unsigned k = 0; k < c->n->n_in; k++) {
        const bool is = is_long(p, c->in[k]);
        if (axis == p->axis[c->out] ? is != (k == 0) : !is || p->axis[c->in[k]] != p->axis[c->out])
            return false;
        zero &= !is || p->zero[c->in[k]];
    }
    p->zero[c->out] = zero;
    return true;
}

static bool transpose_rule(struct padding *p, struct copied *c)
{
    const struct attr_ints perm = transpose_attr_of(c->n)->perm;
    const int from = p->axis[c->in[0]], to = p->axis[c->out];
    p->zero[c->out] = p->zero[c->in[0]];
    p->even[c->out] = p->even[c->in[0]];
    return is_long(p, c->in[0]) && to >= 0 && perm.n > (unsigned) to && perm.v[to] == from;
}

static const struct dim *before(const struct padding *p, const struct fact *f, int axis)
{
    const struct dim *d = dim_int(p->to->dims, 1);
    for (int k = 0; k < axis; k++)
        d = dim_mul(p->to->dims, d, f->shape[k]);
    return d;
}

/* Flatten, Reshape, Squeeze, Unsqueeze: the axis stays by itself. */
static bool view_rule(struct padding *p, struct copied *c)
{
    const struct fact *x = fact_of(p, c->in[0]), *y = fact_of(p, c->out);
    const int from = p->axis[c->in[0]], to = p->axis[c->out];
    p->zero[c->out] = p->zero[c->in[0]];
    p->even[c->out] = p->even[c->in[0]];
    return from >= 0 && to >= 0 && x->shape[from] == y->shape[to] &&
        before(p, x, from) == before(p, y, to);
}

static bool expand_rule(struct padding *p, struct copied *c)
{
    const struct fact *x = fact_of(p, c->in[0]), *y = fact_of(p, c->out);
    const int from = p->axis[c->in[0]], to = p->axis[c->out];
    p->zero[c->out] = p->zero[c->in[0]];
    p->even[c->out] = from < 0 || p->even[c->in[0]];
    if (from < 0)
        return !is_position(p, c->in[0]);
    return to >= 0 && x->rank - from == y->rank - to && x->shape[from] == y->shape[to];
}

/* Rows or columns, or what is summed along, where all of it is zeros. */
static bool matmul_rule(struct padding *p, struct copied *c)
{
    const struct fact *x = fact_of(p, c->in[0]), *y = fact_of(p, c->in[1]);
    const int a = p->axis[c->in[0]], b = p->axis[c->in[1]], to = p->axis[c->out],
              rank = fact_of(p, c->out)->rank;
    if (x->rank < 2 || y->rank < 2)
        return false;
    if (a == x->rank - 1 && b == y->rank - 2)
        return to < 0 && p->zero[c->in[0]] && p->zero[c->in[1]];
    if (a >= 0 && b >= 0)
        return false;
    return a >= 0 ? a == x->rank - 2 && to == rank - 2 : b == y->rank - 1 && to == rank - 1;
}

/* Scores of frames that are not there are -inf, and their weights 0. */
static bool softmax_rule(struct padding *p, struct copied *c)
{
    const struct fact *f = fact_of(p, c->in[0]);
    const int axis = p->axis[c->in[0]];
    const float hidden = -INFINITY;
    if (axis != p->axis[c->out] || axis < 0 || f->type != DTYPE_F32)
        return false;
    if (axis_normalise(axis_of(c->n), f->rank) != axis)
        return true;
    if (axis != f->rank - 1 || f->shape[axis] != p->all)
        return false;
    struct tensor *none = tensor_from_data(p->to->arena, DTYPE_F32, 0, NULL, &hidden);
    const uint32_t y = none ? wire_like(p, c->n->name, f) : WIRE_NONE;
    const uint32_t in[] = { p->there, c->in[0],
                            none ? graph_add_const(p->to, "hidden", none) : WIRE_NONE };
    if (y == WIRE_NONE || in[2] == WIRE_NONE || !add_node(p, OP_WHERE, c->n->name, in, 3, y))
        return false;
    c->in[0] = y;
    p->zero[c->out] = true;
    return true;
}

/* 0, 1, .. along its frames: numbers of those that are not there count from the end. */
static bool is_range(const struct padding *p, uint32_t wire)
{
    for (unsigned steps = 0; steps < 16; steps++) {
        const uint32_t by = p->from->wires[wire].node;
        const struct node *n = by == WIRE_NONE ? NULL : &p->from->nodes[by];
        const bool adds = n && node_is(n, OP_ADD);
        if (!n || node_is(n, OP_RANGE))
            return n != NULL;
        if (!node_is(n, OP_UNSQUEEZE) && !node_is(n, OP_IDENTITY) &&
            !(adds && is_zeros(p->from->wires[n->in[1]].fact.value)))
            return false;
        wire = n->in[0];
    }
    return false;
}

/* Any place of what is all alike. */
static bool gather_rule(struct padding *p, struct copied *c)
{
    const uint32_t x = c->in[0], at = c->in[1];
    if (is_long(p, x)) {
        p->even[c->out] = true;
        return p->even[x] && axis_normalise(axis_of(c->n), fact_of(p, x)->rank) == p->axis[x] &&
            !is_position(p, at) && (!is_long(p, at) || is_range(p, at));
    }
    return !is_long(p, at) && !is_position(p, x) && position_take(p, c, 1);
}

/* The greatest or least of what is all alike. */
static bool reduce_rule(struct padding *p, struct copied *c)
{
    return is_long(p, c->in[0]) && p->even[c->in[0]] && p->axis[c->out] < 0;
}

/* How many ones there are: the frames that are there. */
static bool sum_rule(struct padding *p, struct copied *c)
{
    const uint32_t x = c->in[0], by = p->from->wires[x].node;
    const struct node *from = by == WIRE_NONE ? NULL : &p->from->nodes[by];
    if (!is_long(p, x) || !from || !node_is(from, OP_EXPAND) || p->axis[c->out] >= 0)
        return false;
    const struct fact *f = fact_of(p, x), *one = &p->from->wires[from->in[0]].fact;
    for (int k = 0; k < f->rank; k++)
        if (k != p->axis[x] && !dim_is(f->shape[k], 1))
            return false;
    if (!one->value || one->value->type != DTYPE_I64 || tensor_count(one->value) != 1 ||
        *(const int64_t *) one->value->data != 1 || fact_of(p, c->out)->rank != 1)
        return false;
    c->later = c->out;
    c->out = wire_like(p, c->n->name, fact_of(p, c->later));
    return c->out != WIRE_NONE;
}

static const struct {
    enum op_id id;
    bool (*rule)(struct padding *p, struct copied *c);
} rules[] = {
    { OP_CONCAT, concat_rule },     { OP_TRANSPOSE, transpose_rule },
    { OP_RESHAPE, view_rule },      { OP_SQUEEZE, view_rule },
    { OP_UNSQUEEZE, view_rule },    { OP_EXPAND, expand_rule },
    { OP_MATMUL, matmul_rule },     { OP_SOFTMAX, softmax_rule },
    { OP_GATHER, gather_rule },     { OP_WHERE, where_rule },
    { OP_FLATTEN, view_rule },      { OP_REDUCE_MAX, reduce_rule },
    { OP_REDUCE_MIN, reduce_rule }, { OP_REDUCE_SUM, sum_rule },
};

/* ---- the graph ---- */

/* 0, 1, .. of all frames: numbers of those that are not there are below 0. */
static bool range_copy(struct padding *p, const struct node *n)
{
    const struct fact *start = fact_of(p, n->in[0]), *step = fact_of(p, n->in[2]);
    const uint32_t y = wire_like(p, n->name, fact_of(p, n->out[0]));
    const bool plain = fact_of(p, n->out[0])->type == DTYPE_I64 && start->value && step->value &&
        start->value->type == DTYPE_I64 && *(const int64_t *) start->value->data == 0 &&
        step->value->type == DTYPE_I64 && *(const int64_t *) step->value->data == 1;
    return plain && y != WIRE_NONE && add_node(p, OP_RANGE, n->name, n->in, 3, y) &&
        counted(p, n->name, y, n->out[0]) != WIRE_NONE;
}

static bool touches(const struct padding *p, const struct node *n)
{
    bool any = false;
    for (unsigned k = 0; k < n->n_in; k++)
        any |= is_long(p, n->in[k]) || is_position(p, n->in[k]);
    for (unsigned k = 0; k < n->n_out; k++)
        any |= n->out[k] != WIRE_NONE && is_long(p, n->out[k]);
    return any;
}

static bool rule_apply(struct padding *p, struct copied *c)
{
    if (c->n->n_out != 1 || c->n->n_body)
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (node_is(c->n, rules[i].id))
            return rules[i].rule(p, c);
    return (c->n->op->flags & OP_POINTWISE) && !(c->n->op->flags & OP_RANDOM) &&
        pointwise_rule(p, c);
}

static bool node_copy(struct padding *p, const struct node *n)
{
    struct copied c = { n, arena_copy(p->to->arena, n->in, (n->n_in + 1u) * sizeof *n->in),
                        n->out[0], WIRE_NONE };
    const bool is = touches(p, n);
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE && p->axis[n->out[k]] == -2)
            return false;
    if (!c.in)
        return false;
    if (is && node_is(n, OP_RANGE))
        return range_copy(p, n);
    if (is && !rule_apply(p, &c))
        return false;
    struct node *made = graph_add_node(p->to, n->op, n->name, n->attr, c.in, n->n_in,
                                       c.later == WIRE_NONE ? n->out : &c.out, n->n_out);
    if (!made)
        return false;
    made->origin = n->origin;
    made->claim = n->claim;
    made->body = n->body;
    made->n_body = n->n_body;
    return c.later == WIRE_NONE || counted(p, n->name, c.out, c.later) != WIRE_NONE;
}

/* The symbol of states that grow, and by how many frames. False: there is none, or several. */
static bool frames_find(struct padding *p, uint32_t first, int64_t *ret_more)
{
    const struct graph *g = p->from;
    const uint32_t n = g->n_inputs - first;
    for (uint32_t i = 0; i < n; i++) {
        const struct fact *f = &g->wires[g->inputs[first + i]].fact,
                          *next = &g->wires[g->outputs[g->n_outputs - n + i]].fact;
        for (int k = 0; k < f->rank; k++) {
            if (dim_is_const(f->shape[k]))
                continue;
            const struct dim *by =
                next->rank == f->rank ? dim_sub(g->dims, next->shape[k], f->shape[k]) : f->shape[k];
            if ((p->past && p->past != f->shape[k]) || !dim_is_const(by) || dim_value(by) < 1 ||
                dim_value(by) > MORE_MAX || (p->all && p->all != next->shape[k]))
                return false;
            p->past = f->shape[k];
            p->all = next->shape[k];
            *ret_more = dim_value(by);
        }
    }
    return p->past != NULL && dim_parts(p->past).form == DIM_FORM_SYMBOL;
}

static bool inputs_add(struct padding *p)
{
    struct dims *d = p->to->dims;
    const struct fact there = { .type = DTYPE_BOOL, .rank = 1, .shape = { p->all } },
                      front = { .type = DTYPE_I64, .rank = 1, .shape = { dim_int(d, 1) } };
    p->there = graph_add_input(p->to, "frames that are there", &there);
    p->front = graph_add_input(p->to, "frames that are not", &front);
    return p->there != WIRE_NONE && p->front != WIRE_NONE;
}

static bool lists_make(struct padding *p, uint32_t first)
{
    const struct graph *g = p->from;
    const size_t n = 2 * (size_t) g->n_wires + 8 * (size_t) g->n_nodes + 8;
    p->axis = arena_array(g->arena, int, n);
    p->zero = arena_array(g->arena, bool, n);
    p->even = arena_array(g->arena, bool, n);
    if (!p->axis || !p->zero || !p->even)
        return false;
    for (size_t w = 0; w < n; w++)
        p->axis[w] = w < g->n_wires ? long_axis(p, &g->wires[w].fact) : -1;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const int axis = p->axis[g->inputs[i]];
        if (axis == -2 || (axis >= 0 && i < first))
            return false;
        p->zero[g->inputs[i]] = axis >= 0;
    }
    return true;
}

/* Next values of states that grow are as long as all frames, nothing else is. */
static bool outputs_fit(const struct padding *p, uint32_t first)
{
    const struct graph *g = p->from;
    const uint32_t n = g->n_inputs - first;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const uint32_t w = g->outputs[i];
        const int state =
            i + n < g->n_outputs ? -1 : p->axis[g->inputs[first + i - (g->n_outputs - n)]];
        if (p->axis[w] != state || is_position(p, w))
            return false;
    }
    return true;
}

rill_status padded_from_typed(struct padded *ret, const struct graph *g, uint32_t first)
{
    struct padded made = { 0 };
    struct padding p = { .from = g, .to = &made.g };
    if (!frames_find(&p, first, &made.more) || !lists_make(&p, first))
        return RILL_UNSUPPORTED;
    TRY(graph_copied(&made.g, g, NULL));
    if (!outputs_fit(&p, first))
        return RILL_UNSUPPORTED;
    made.g.nodes = NULL;
    made.g.n_nodes = made.g.cap_nodes = 0;
    if (!inputs_add(&p))
        return RILL_NOMEM;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!node_copy(&p, &g->nodes[i]))
            return RILL_UNSUPPORTED;
    made.past = p.past;
    *ret = made;
    return RILL_OK;
}
