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

const struct tensor *decay_of(const struct falling *f, uint32_t w, struct arena *a)
{
    const struct node *n = graph_producer(f->g, w);
    const struct tensor *v;
    if (!n || (!node_is(n, OP_POW) && !node_is(n, OP_EXP)))
        return NULL;
    if (node_is(n, OP_POW))
        return (v = constant_of(f, n->in[0])) && distance_sign(f, n->in[1])
            ? factors(v, false, distance_sign(f, n->in[1]), a)
            : NULL;
    n = graph_producer(f->g, n->in[0]);
    for (unsigned i = 0; n && node_is(n, OP_MUL) && i < 2; i++)
        if ((v = constant_of(f, n->in[i])) && distance_sign(f, n->in[1 - i]))
            return factors(v, true, distance_sign(f, n->in[1 - i]), a);
    return NULL;
}
