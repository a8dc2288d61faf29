/* SPDX-License-Identifier: MIT */
#include "pulse/extremes.h"
#include "engine/ops/attrs.h"
#include "pulse/places.h"

#include <math.h>

#define MOVES_MAX 64 /* nodes between a mask and where it is reduced */

/* A mask that a node reduces along its keys. */
struct extreme {
    const struct position *at;
    int query, key; /* axes of it */
    int64_t more;   /* keys than queries, at every length; -1: not known */
    bool least;     /* not the largest */
    bool truth;     /* it is 0 and 1 */
};

static rill_status no_memory(const struct placed_edit *c)
{
    return err_set(c->err, RILL_NOMEM, "out of memory");
}

static bool is_extreme(const struct node *n)
{
    static const enum op_id ops[] = { OP_REDUCE_MAX, OP_REDUCE_MIN, OP_REDUCE_PROD };
    return node_is_among(n, ops, sizeof ops / sizeof *ops);
}

/* The one axis that n reduces, which has time, and the only other one that has. */
static bool axes_find(const struct graph *g, const struct node *n, struct extreme *ret)
{
    const struct tensor *axes = n->n_in == 2 ? node_value(g, n, 1) : NULL;
    const struct fact *f = &g->wires[n->in[0]].fact;
    int times = 0;
    if (!axes || tensor_count(axes) != 1)
        return false;
    ret->key = axis_normalise(tensor_get_i64(axes, axes->data, 0), f->rank);
    for (int i = 0; i < f->rank; i++) {
        times += dim_has_symbol(f->shape[i]);
        if (i != ret->key && dim_has_symbol(f->shape[i]))
            ret->query = i;
    }
    if (times != 2 || ret->key < 0 || !dim_has_symbol(f->shape[ret->key]))
        return false;
    const struct dim *more = dim_sub(g->dims, f->shape[ret->key], f->shape[ret->query]);
    ret->more = dim_is_const(more) && dim_value(more) >= 0 ? dim_value(more) : -1;
    return true;
}

/* 0 and 1, and nothing else. */
static bool is_truth(const struct graph *g, uint32_t w, const struct position *at)
{
    static const enum op_id moves[] = { OP_CAST,    OP_EXPAND,    OP_IDENTITY, OP_RESHAPE,
                                        OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    if (at->pair)
        return (at->one == 0 || at->one == 1) && (at->zero == 0 || at->zero == 1);
    for (int steps = 0; steps < MOVES_MAX; steps++) {
        const struct node *n = graph_producer(g, w);
        if (g->wires[w].fact.type == DTYPE_BOOL)
            return true;
        if (!n || !node_is_among(n, moves, sizeof moves / sizeof *moves))
            return false;
        w = n->in[0];
    }
    return false;
}

/* ---- the same for all queries ---- */

/* The number of each query's key that lies so many frames further on than it; false: it is not one
 * number. */
static bool own_number(const struct positions *ps, const struct extreme *x, int64_t ahead,
                       double *ret)
{
    const struct dim *key = dim_add_int(ps->dims, ps->axis[x->query], ahead),
                     *e = dim_subst(ps->dims, x->at->e, ps->axis[x->key], key);
    if (dims_status(ps->dims, NULL) != RILL_OK || !dim_is_const(e))
        return false;
    *ret = position_number(x->at, dim_value(e));
    return true;
}

/* Whether no element of the mask lies beyond v. */
static bool none_beyond(const struct extreme *x, double v)
{
    const double one = x->at->one, zero = x->at->zero;
    if (!x->at->pair || x->truth)
        return x->truth && v == (x->least ? 0 : 1);
    return !isnan(one) && !isnan(zero) && (x->least ? v <= fmin(one, zero) : v >= fmax(one, zero));
}

static bool same_for_all(const struct positions *ps, const struct extreme *x, double *ret)
{
    return (x->more >= 0 && own_number(ps, x, x->more, ret) && none_beyond(x, *ret)) ||
        (x->more > 0 && own_number(ps, x, 0, ret) && none_beyond(x, *ret));
}

/* ---- by sums ---- */

/* Whether the mask is, far from a query of the middle of a sequence, what changes nothing. */
static bool ends_far_away(const struct positions *ps, const struct extreme *x)
{
    static const int64_t keys[] = { FAR / 4, FAR / 2, 2 * FAR, 4 * FAR };
    const struct position row = position_row(ps, x->at, x->query, FAR);
    double v;
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!position_value(ps, &row, x->key, keys[i], &v) || v != (x->least ? 1 : 0))
            return false;
    return true;
}

/* What the op makes of *wire and in[1] (WIRE_NONE: of *wire alone), in f32 and of those sizes, in
 * front of node `at`. */
static rill_status step_put(struct placed_edit *c, uint32_t at, enum op_id id, const void *attr,
                            const uint32_t in[2], const struct fact *f, uint32_t *ret)
{
    struct graph *g = c->e->g;
    struct fact fact = *f;
    fact.type = DTYPE_F32;
    fact.value = NULL;
    *ret = graph_add_wire(g, g->nodes[at].name, &fact);
    return *ret != WIRE_NONE &&
            edit_insert(c->e, at, op_by_id(id), attr, in, in[1] == WIRE_NONE ? 1 : 2, ret, 1)
        ? RILL_OK
        : no_memory(c);
}

static rill_status cast_attr_put(struct placed_edit *c, uint32_t at, enum dtype to,
                                 const void **ret)
{
    const struct op *op = op_by_id(OP_CAST);
    const struct attr list = { .name = "to", .kind = ATTR_INT, .i = to };
    void *attr = arena_alloc(c->e->g->arena, op->attr_bytes);
    if (!attr)
        return no_memory(c);
    TRY(attrs_parse(op, c->e->g->nodes[at].name, &list, 1, attr, c->err));
    *ret = attr;
    return RILL_OK;
}

/* *wire becomes 1 - *wire. */
static rill_status lack_put(struct placed_edit *c, uint32_t at, uint32_t one, const struct fact *f,
                            uint32_t *wire)
{
    return step_put(c, at, OP_SUB, NULL, (uint32_t[]) { one, *wire }, f, wire);
}

/* Node `at` becomes a Cast of what the sum comes to. */
static rill_status sum_put(struct placed_edit *c, uint32_t at, bool least)
{
    static const float number = 1;
    struct graph *g = c->e->g;
    const struct node n = g->nodes[at];
    const struct fact in = g->wires[n.in[0]].fact, out = g->wires[n.out[0]].fact;
    const struct tensor *t = tensor_from_data(g->arena, DTYPE_F32, 0, NULL, &number);
    const uint32_t one = t ? graph_add_const(g, "one", t) : WIRE_NONE;
    const void *to, *back;
    uint32_t w;
    if (one == WIRE_NONE)
        return no_memory(c);
    TRY(cast_attr_put(c, at, DTYPE_F32, &to));
    TRY(cast_attr_put(c, at, out.type, &back));
    TRY(step_put(c, at, OP_CAST, to, (uint32_t[]) { n.in[0], WIRE_NONE }, &in, &w));
    if (least)
        TRY(lack_put(c, at, one, &in, &w));
    TRY(step_put(c, at, OP_REDUCE_SUM, n.attr, (uint32_t[]) { w, n.in[1] }, &out, &w));
    TRY(step_put(c, at, OP_MIN, NULL, (uint32_t[]) { w, one }, &out, &w));
    if (least)
        TRY(lack_put(c, at, one, &out, &w));
    if (!edit_inputs(c->e, at, &w, 1))
        return no_memory(c);
    g->nodes[at].op = op_by_id(OP_CAST);
    g->nodes[at].attr = back;
    return RILL_OK;
}

rill_status extreme_look(struct placed_edit *c, uint32_t at)
{
    const struct graph *g = c->e->g;
    const struct node *n = &g->nodes[at];
    struct extreme x = { .query = -1, .least = !node_is(n, OP_REDUCE_MAX) };
    double v;
    if (!is_extreme(n) || n->in[0] >= c->e->n_wires || !axes_find(g, n, &x))
        return RILL_OK;
    TRY(placed_edit_want(c));
    x.at = c->found ? &c->ps.of[n->in[0]] : NULL;
    if (!x.at || !x.at->e)
        return RILL_OK;
    x.truth = is_truth(g, n->in[0], x.at);
    if (node_is(n, OP_REDUCE_PROD) && !x.truth)
        return RILL_OK;
    if (same_for_all(&c->ps, &x, &v))
        return placed_number(c, at, v);
    return x.truth && ends_far_away(&c->ps, &x) ? sum_put(c, at, x.least) : RILL_OK;
}
