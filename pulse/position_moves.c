/* SPDX-License-Identifier: MIT */
#include "pulse/position_moves.h"
#include "engine/ops/attrs.h"
#include "engine/ops/einsum.h"
#include "pulse/position_tables.h"

/* e with coordinate i renamed to to[i]. */
static const struct dim *renamed(const struct walk *w, const struct dim *e, int rank, const int *to)
{
    for (int i = 0; i < rank; i++)
        e = dim_subst(w->ps->dims, e, w->ps->axis[i], w->spare[i]);
    for (int i = 0; i < rank; i++)
        e = dim_subst(w->ps->dims, e, w->spare[i],
                      to[i] < 0 ? dim_int(w->ps->dims, 0) : w->ps->axis[to[i]]);
    return e;
}

static struct position moved(const struct walk *w, const struct position *x, int rank,
                             const int *to)
{
    struct position y = *x;
    y.e = renamed(w, x->e, rank, to);
    return y;
}

/* As an operand that is broadcast to `rank` axes. */
struct position broadcast(const struct walk *w, uint32_t wire, int rank)
{
    int to[RANK_MAX], own = w->g->wires[wire].fact.rank;
    for (int i = 0; i < own; i++)
        to[i] = dim_is(w->g->wires[wire].fact.shape[i], 1) ? -1 : i + rank - own;
    return moved(w, &w->ps->of[wire], own, to);
}

/* Axes of one element are put in or taken out; the others keep their order. */
struct position reshaped(const struct walk *w, const struct node *n)
{
    const struct fact *x = &w->g->wires[n->in[0]].fact, *y = &w->g->wires[n->out[0]].fact;
    int to[RANK_MAX], k = 0;
    for (int i = 0; i < x->rank; i++) {
        to[i] = -1;
        if (dim_is(x->shape[i], 1))
            continue;
        while (k < y->rank && dim_is(y->shape[k], 1))
            k++;
        if (k == y->rank || y->shape[k] != x->shape[i])
            return rows_position(w->ps, &w->ps->of[n->in[0]], x, y);
        to[i] = k++;
    }
    return moved(w, &w->ps->of[n->in[0]], x->rank, to);
}

struct position transposed(const struct walk *w, const struct node *n)
{
    struct attr_ints perm = transpose_attr_of(n)->perm;
    int to[RANK_MAX], rank = w->g->wires[n->in[0]].fact.rank;
    for (int i = 0; i < rank; i++)
        to[perm.n ? perm.v[i] : rank - 1 - i] = i;
    return moved(w, &w->ps->of[n->in[0]], rank, to);
}

/* Axis `axis` of operand i in the output; -1: it is summed. */
static int factor_axis(const struct walk *w, const struct node *n, unsigned i, int axis)
{
    int ranks[2];
    for (unsigned k = 0; k < 2; k++)
        ranks[k] = w->g->wires[n->in[k]].fact.rank;
    const int rank = w->g->wires[n->out[0]].fact.rank, own = ranks[i];
    if (node_is(n, OP_EINSUM))
        return einsum_output_axis(n, ranks, i, axis);
    return axis == own - (i == 0 ? 1 : 2) ? -1 : axis + rank - own;
}

struct position factor(const struct walk *w, const struct node *n, unsigned i)
{
    const struct fact *f = &w->g->wires[n->in[i]].fact;
    int to[RANK_MAX];
    if (n->n_in != 2 || !w->ps->of[n->in[i]].e || (node_is(n, OP_MATMUL) && f->rank < 2))
        return (struct position) { 0 };
    for (int k = 0; k < f->rank; k++) {
        to[k] = dim_is(f->shape[k], 1) ? -1 : factor_axis(w, n, i, k);
        if (to[k] < 0 && !dim_is(f->shape[k], 1))
            return (struct position) { 0 };
    }
    return moved(w, &w->ps->of[n->in[i]], f->rank, to);
}

/* One element of a list of integers or sizes. */
static const struct dim *element(const struct walk *w, uint32_t wire, int64_t i)
{
    const struct tensor *v = w->g->wires[wire].fact.value;
    if (v->type == DTYPE_DIM)
        return positions_dim(w->ps, ((const struct dim *const *) v->data)[i], w->symbol);
    return dim_int(w->ps->dims, tensor_get_i64(v, v->data, i));
}

/* Where the first element that a slice takes lies, at every length from 1 on; NULL: not known. */
static const struct dim *slice_start(const struct walk *w, const struct node *n, int64_t i,
                                     int axis, int64_t step)
{
    struct dims *ds = w->ps->dims;
    const struct dim *zero = dim_int(ds, 0), *from = element(w, n->in[1], i),
                     *size =
                         positions_dim(w->ps, w->g->wires[n->in[0]].fact.shape[axis], w->symbol);
    if (!from || !size)
        return NULL;
    const struct dim *some = dim_subst(ds, from, w->ps->time, dim_add_int(ds, w->ps->more, 1)),
                     *counts_up = dim_ge(ds, some, zero);
    if (!dim_is_const(counts_up))
        return NULL;
    if (dim_is(counts_up, 0))
        from = dim_max(ds, zero, dim_add(ds, size, from));
    return step > 0 ? from : dim_min(ds, from, dim_add_int(ds, size, -1));
}

/* Coordinate `axis` of e becomes `to`, an expression in it. */
static struct position relocated(const struct walk *w, struct position y, int axis,
                                 const struct dim *to)
{
    y.e = to ? dim_subst(w->ps->dims, y.e, w->ps->axis[axis], to) : NULL;
    return y;
}

struct position sliced(const struct walk *w, const struct node *n, int rank)
{
    struct position y = w->ps->of[n->in[0]];
    for (unsigned i = 1; i < n->n_in; i++)
        if (node_has_input(n, i) && !w->g->wires[n->in[i]].fact.value)
            return (struct position) { 0 };
    for (int64_t i = 0; y.e && i < tensor_count(w->g->wires[n->in[1]].fact.value); i++) {
        const struct dim *at = node_has_input(n, 3) ? element(w, n->in[3], i) : NULL,
                         *by = node_has_input(n, 4) ? element(w, n->in[4], i) : NULL;
        int axis = at ? axis_normalise(dim_value(at), rank) : (int) i;
        int64_t step = by ? dim_value(by) : 1;
        const struct dim *from = slice_start(w, n, i, axis, step);
        y = relocated(w, y, axis,
                      from ? dim_add(w->ps->dims, from,
                                     dim_mul_int(w->ps->dims, w->ps->axis[axis], step))
                           : NULL);
    }
    return y;
}

/* Elements picked at positions, which may have any shape, or none; of one number anywhere, that. */
struct position gathered(const struct walk *w, const struct node *n)
{
    const struct position *x = &w->ps->of[n->in[0]], *at = &w->ps->of[n->in[1]];
    const int rank = w->g->wires[n->in[0]].fact.rank, places = w->g->wires[n->in[1]].fact.rank,
              axis = axis_normalise(axis_of(n), rank), picked = RANK_MAX - 1;
    int to[RANK_MAX], of[RANK_MAX];
    if (dim_is_const(x->e) || node_is(n, OP_GATHER_ELEMENTS))
        return dim_is_const(x->e) ? *x : (struct position) { 0 };
    if (!at->e || at->pair || has_parts(at) || rank + places > RANK_MAX ||
        !dim_is(dim_ge(w->ps->dims, at->e, dim_int(w->ps->dims, 0)), 1))
        return (struct position) { 0 };
    for (int i = 0; i < rank; i++)
        to[i] = i == axis ? picked : i + (i > axis ? places - 1 : 0);
    for (int i = 0; i < places; i++)
        of[i] = axis + i;
    struct position y = *x;
    y.e = renamed(w, x->e, rank, to);
    return relocated(w, y, picked, renamed(w, at->e, places, of));
}

/* Axes of one element repeated: any other repeats places. */
struct position tiled(const struct walk *w, const struct node *n, int rank)
{
    const struct fact *x = &w->g->wires[n->in[0]].fact, *y = &w->g->wires[n->out[0]].fact;
    for (int i = 0; i < x->rank; i++)
        if (!dim_is(x->shape[i], 1) && x->shape[i] != y->shape[i])
            return (struct position) { 0 };
    return broadcast(w, n->in[0], rank);
}
