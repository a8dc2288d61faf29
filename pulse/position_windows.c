/* SPDX-License-Identifier: MIT */
#include "pulse/position_windows.h"
#include "engine/ops/attrs.h"

#define TAPS_MAX 16
#define WEIGHT_MAX 1024
#define PAD_MAX 4096

/* The element of a coordinate of at least `before` is that of x so many places earlier, of a lower
 * one `by`. */
static const struct dim *behind(const struct positions *ps, const struct dim *e, int axis,
                                int64_t before, int64_t by)
{
    struct dims *ds = ps->dims;
    const struct dim *there = dim_ge(ds, ps->axis[axis], dim_int(ds, before)),
                     *moved =
                         dim_subst(ds, e, ps->axis[axis], dim_add_int(ds, ps->axis[axis], -before));
    return dim_add_int(ds, dim_mul(ds, there, dim_add_int(ds, moved, -by)), by);
}

/* Pads and the number that is put, which are constants. */
static const struct tensor *pads_of(const struct graph *g, const struct node *n, int64_t *ret_by)
{
    const struct tensor *pads = node_value(g, n, 1),
                        *by = node_has_input(n, 2) ? node_value(g, n, 2) : NULL;
    const bool is = by && by->type != DTYPE_DIM && tensor_count(by) == 1;
    const double v = is ? tensor_get_f64(by, by->data, 0) : 0;
    *ret_by = v >= -WEIGHT_MAX && v <= WEIGHT_MAX ? (int64_t) v : 0;
    if (pad_attr_of(n)->mode != 0 || !pads || pads->type != DTYPE_I64 || node_has_input(n, 3) ||
        (node_has_input(n, 2) && !is) || v != (double) *ret_by)
        return NULL;
    return pads;
}

struct position position_padded(const struct positions *ps, const struct graph *g,
                                const struct node *n, struct position x)
{
    const int rank = g->wires[n->in[0]].fact.rank;
    int64_t by;
    const struct tensor *pads = pads_of(g, n, &by);
    if (!x.e || x.pair || x.parts > 1 || !pads || tensor_count(pads) != 2 * rank)
        return (struct position) { 0 };
    for (int i = 0; i < rank; i++) {
        const int64_t before = tensor_get_i64(pads, pads->data, i);
        if (before < 0 || before > PAD_MAX || tensor_get_i64(pads, pads->data, rank + i))
            return (struct position) { 0 };
        if (before)
            x.e = behind(ps, x.e, i, before, by);
    }
    return x;
}

static int64_t step_of(const struct attr_ints *list)
{
    return list->n ? list->v[0] : 1;
}

/* One channel of up to so many taps, padded in front alone; ret_before: by so much. */
static bool is_counting(const struct graph *g, const struct node *n, const struct tensor *w,
                        int64_t *ret_before)
{
    const struct conv_attr *a = n->attr;
    const struct window_attr *at = &a->w;
    *ret_before = at->pads.n ? at->pads.v[0] : 0;
    return w && w->rank == 3 && w->dim[0] == 1 && w->dim[1] == 1 && w->dim[2] >= 1 &&
        w->dim[2] <= TAPS_MAX && g->wires[n->in[0]].fact.rank == 3 &&
        g->wires[n->in[0]].fact.type == DTYPE_F32 && !node_has_input(n, 2) && n->n_in <= 3 &&
        a->group == 1 && !a->epilogue.n && at->auto_pad == PAD_NOTSET && *ret_before >= 0 &&
        *ret_before <= PAD_MAX && (!at->pads.n || (at->pads.n == 2 && !at->pads.v[1])) &&
        step_of(&at->strides) >= 1 && step_of(&at->strides) <= PAD_MAX &&
        step_of(&at->dilations) >= 1 && step_of(&at->dilations) <= PAD_MAX;
}

struct position position_convolved(const struct positions *ps, const struct graph *g,
                                   const struct node *n, struct position x)
{
    struct dims *ds = ps->dims;
    const struct tensor *w = node_value(g, n, 1);
    const struct conv_attr *a = n->attr;
    int64_t before;
    if (!x.e || x.pair || x.parts > 1 || !is_counting(g, n, w, &before) ||
        !dim_is(dim_ge(ds, x.e, dim_int(ds, 0)), 1))
        return (struct position) { 0 };
    const struct dim *e = before ? behind(ps, x.e, 2, before, 0) : x.e, *sum = dim_int(ds, 0),
                     *first = dim_mul_int(ds, ps->axis[2], step_of(&a->w.strides));
    for (int64_t k = 0; k < w->dim[2]; k++) {
        const double v = tensor_get_f64(w, w->data, k);
        if (!(v >= 0 && v <= WEIGHT_MAX) || v != (double) (int64_t) v)
            return (struct position) { 0 };
        const struct dim *tap = dim_add_int(ds, first, k * step_of(&a->w.dilations));
        sum = dim_add(ds, sum, dim_mul_int(ds, dim_subst(ds, e, ps->axis[2], tap), (int64_t) v));
    }
    return (struct position) { .e = sum };
}
