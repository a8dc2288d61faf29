/* SPDX-License-Identifier: MIT */
#include "pulse/tracks.h"
#include "engine/ops/attrs.h"
#include "pulse/axes.h"

bool axis_is_time(const struct pulser *p, uint32_t w, int axis)
{
    return p->symbol && dim_mentions(pulser_fact(p, w)->shape[axis], p->symbol);
}

int time_axes(const struct pulser *p, uint32_t w, int ret[2])
{
    int n = 0;
    for (int i = 0; w != WIRE_NONE && i < pulser_fact(p, w)->rank; i++)
        if (axis_is_time(p, w, i)) {
            if (n < 2)
                ret[n] = i;
            n++;
        }
    return n;
}

static const struct dim *leading(const struct pulser *p, const struct fact *f, int axis)
{
    const struct dim *d = dim_int(p->src->dims, 1);
    for (int i = 0; i < axis; i++)
        d = dim_mul(p->src->dims, d, f->shape[i]);
    return d;
}

/* Sizes that were written down when less was known may look different. */
static bool same_size(const struct pulser *p, const struct dim *a, const struct dim *b)
{
    return a == b || dim_refresh(p->src->dims, a) == dim_refresh(p->src->dims, b);
}

/* An axis that keeps its size, and so does what stands before it. */
static int track_reshape(const struct pulser *p, const struct fact *from, const struct fact *to,
                         int axis)
{
    const struct dim *before = leading(p, from, axis);
    for (int i = 0; i < to->rank; i++)
        if (same_size(p, to->shape[i], from->shape[axis]) &&
            same_size(p, leading(p, to, i), before))
            return i;
    return AXIS_NONE;
}

int track_out(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    static const enum op_id cutters[] = { OP_PAD, OP_SLICE, OP_TILE };
    const struct fact *x = pulser_fact(p, n->in[input]), *y = pulser_fact(p, n->out[0]);
    if ((n->op->flags & OP_POINTWISE) || (node_is(n, OP_EXPAND) && input == 0))
        return dim_is(x->shape[axis], 1) ? AXIS_NONE : axis + y->rank - x->rank;
    if (node_is(n, OP_RESHAPE) || node_is(n, OP_FLATTEN))
        return input == 0 ? track_reshape(p, x, y, axis) : AXIS_NONE;
    if (node_is_among(n, cutters, sizeof cutters / sizeof *cutters))
        return input == 0 && same_size(p, x->shape[axis], y->shape[axis]) ? axis : AXIS_NONE;
    if (node_is(n, OP_GATHER_ELEMENTS))
        return input == 1 || axis != axis_normalise(axis_of(n), x->rank) ? axis : AXIS_NONE;
    if (node_is(n, OP_GATHER) && input == 1)
        return axis + axis_normalise(axis_of(n), pulser_fact(p, n->in[0])->rank);
    const struct axis_row *r = p->row_of(n->op);
    return r->map ? r->map(p, n, input, axis) : AXIS_NONE;
}

int track_in(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    for (int i = 0; axis >= 0 && i < pulser_fact(p, n->in[input])->rank; i++)
        if (track_out(p, n, input, i) == axis)
            return i;
    return AXIS_NONE;
}

bool pulser_time_twice(const struct pulser *p, uint32_t w)
{
    int axes[2];
    return time_axes(p, w, axes) == 2;
}

unsigned track_turned(const struct pulser *p, const struct node *n)
{
    int64_t step[RANK_MAX], axis[RANK_MAX];
    unsigned n_steps, n_axes, turned = 0;
    if (!pulser_const_ints(p, n, 4, step, RANK_MAX, &n_steps) ||
        (node_has_input(n, 3) &&
         (!pulser_const_ints(p, n, 3, axis, RANK_MAX, &n_axes) || n_axes != n_steps)))
        return node_has_input(n, 4) ? ~0u : 0;
    for (unsigned i = 0; i < n_steps; i++)
        if (step[i] < 0)
            turned |= 1u << axis_normalise(node_has_input(n, 3) ? axis[i] : i,
                                           pulser_fact(p, n->in[0])->rank);
    return turned;
}
