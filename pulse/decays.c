/* SPDX-License-Identifier: MIT */
#include "pulse/decays.h"
#include "engine/graph/op.h"

#include <math.h>

int falling_axis(const struct falling *f, uint32_t w, int axis)
{
    const struct fact *x = &f->g->wires[w].fact;
    const int own = axis - (f->rank - x->rank);
    return own < 0 || dim_is(x->shape[own], 1) ? -1 : own;
}

/* 1: it is the distance of a key that is not behind its query; -1: less than 0 by it; 0: neither.
 */
static int distance_sign(const struct falling *f, uint32_t w)
{
    const struct position *at = &f->ps->of[w];
    const int query = falling_axis(f, w, f->query), key = falling_axis(f, w, f->key);
    struct dims *ds = f->ps->dims;
    if (!at->e || at->pair || at->parts > 1 || query < 0 || key < 0)
        return 0;
    const struct dim *later = dim_add(ds, f->ps->axis[key], f->ps->more),
                     *e = dim_subst(ds, at->e, f->ps->axis[query], later);
    return e == f->ps->more ? 1 : e == dim_mul_int(ds, f->ps->more, -1) ? -1 : 0;
}

/* A constant that is alike for all queries and keys. */
static const struct tensor *constant_of(const struct falling *f, uint32_t w)
{
    const struct tensor *v = f->g->wires[w].fact.value;
    return v && v->type == DTYPE_F32 && v->rank <= f->rank && falling_axis(f, w, f->query) < 0 &&
            falling_axis(f, w, f->key) < 0
        ? v
        : NULL;
}

/* v, or e to the power of it, to the power of `sign`. */
static const struct tensor *factors(const struct tensor *v, bool exponents, int sign,
                                    struct arena *a)
{
    struct tensor *t = tensor_new(a, DTYPE_F32, v->rank, v->dim);
    for (int64_t i = 0; t && i < tensor_count(v); i++) {
        double x = tensor_get_f64(v, v->data, i);
        x = exponents ? exp(sign * x) : sign < 0 ? 1 / x : x;
        ((float *) t->data)[i] = (float) x;
        if (!(x >= 0 && x <= 1))
            return NULL;
    }
    return t;
}

/* A constant times another operand, under Exp: the constant; ret_by: the operand. */
static const struct tensor *exponent_of(const struct falling *f, const struct node *n, unsigned i,
                                        uint32_t *ret_by)
{
    *ret_by = n->in[1 - i];
    return node_is(n, OP_MUL) ? constant_of(f, n->in[i]) : NULL;
}

const struct tensor *decay_of(const struct falling *f, uint32_t w, struct arena *a)
{
    const struct node *n = graph_producer(f->g, w);
    const struct tensor *v;
    uint32_t by;
    if (!n || (!node_is(n, OP_POW) && !node_is(n, OP_EXP)))
        return NULL;
    if (node_is(n, OP_POW))
        return (v = constant_of(f, n->in[0])) && distance_sign(f, n->in[1])
            ? factors(v, false, distance_sign(f, n->in[1]), a)
            : NULL;
    n = graph_producer(f->g, n->in[0]);
    for (unsigned i = 0; n && i < 2; i++)
        if ((v = exponent_of(f, n, i, &by)) && distance_sign(f, by))
            return factors(v, true, distance_sign(f, by), a);
    return NULL;
}

static bool is_number(const struct tensor *v, double x)
{
    return v && v->type == DTYPE_F32 && tensor_count(v) == 1 && tensor_get_f64(v, v->data, 0) == x;
}

static bool all_below_zero(const struct tensor *v)
{
    for (int64_t i = 0; i < tensor_count(v); i++)
        if (!(tensor_get_f64(v, v->data, i) < 0))
            return false;
    return true;
}

/* e to the power of a distance that is infinite where the mask hides a key. */
static const struct tensor *infinitely_far(const struct falling *f, const struct node *n,
                                           struct arena *a, uint32_t *ret_mask, bool *ret_opposite)
{
    const struct node *far;
    const struct tensor *v;
    uint32_t by;
    n = node_is(n, OP_EXP) ? graph_producer(f->g, n->in[0]) : NULL;
    for (unsigned i = 0; n && i < 2; i++) {
        if (!(v = exponent_of(f, n, i, &by)) || !all_below_zero(v) ||
            !(far = graph_producer(f->g, by)) || !node_is(far, OP_WHERE))
            continue;
        *ret_opposite = is_number(f->g->wires[far->in[1]].fact.value, INFINITY);
        if (!*ret_opposite && !is_number(f->g->wires[far->in[2]].fact.value, INFINITY))
            continue;
        *ret_mask = far->in[0];
        if (distance_sign(f, far->in[*ret_opposite ? 2 : 1]) == 1)
            return factors(v, true, 1, a);
    }
    return NULL;
}

const struct tensor *decay_hidden(const struct falling *f, uint32_t w, struct arena *a,
                                  uint32_t *ret_mask, bool *ret_opposite)
{
    const struct node *n = graph_producer(f->g, w);
    const struct tensor *v = n ? infinitely_far(f, n, a, ret_mask, ret_opposite) : NULL;
    if (v || !n || !node_is(n, OP_WHERE))
        return v;
    *ret_mask = n->in[0];
    *ret_opposite = is_number(f->g->wires[n->in[1]].fact.value, 0);
    return *ret_opposite || is_number(f->g->wires[n->in[2]].fact.value, 0)
        ? decay_of(f, n->in[*ret_opposite ? 2 : 1], a)
        : NULL;
}
