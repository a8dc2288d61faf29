/* SPDX-License-Identifier: MIT */
/* Resize: other axes as they are; along time each frame may be repeated a whole number of times. */
#include "engine/ops/attrs.h"
#include "pulse/rules.h"

#include <stdio.h>

enum { IN_X, IN_ROI, IN_SCALES, IN_SIZES };

/* Output frame i comes from frame i/times and from no other. */
static bool repeats_frames(const struct node *n, int64_t times)
{
    const struct resize_attr *a = resize_attr_of(n);
    const bool floors = a->near == NEAR_FLOOR, centred = a->coord == COORD_TF_NEAREST;
    if (a->coord == COORD_CROP || (centred && !floors))
        return false;
    if (times == 1)
        return true;
    const bool half = a->coord == COORD_HALF_PIXEL || a->coord == COORD_HALF_PIXEL_SYMMETRIC ||
        a->coord == COORD_PYTORCH;
    const bool rounds = a->near == NEAR_PREFER_FLOOR || a->near == NEAR_PREFER_CEIL;
    const bool left = a->coord == COORD_ASYMMETRIC || centred;
    return a->mode == RESIZE_NEAREST && ((half && rounds) || (left && floors));
}

/* Output frames per frame, where the output is just so many times as long; 0 where it is not. */
static int64_t times_longer(const struct pulser *p, const struct dim *from, const struct dim *to)
{
    int64_t a, b, c, d;
    if (from == to)
        return 1;
    if (!pulser_growth(p, from, &a, &b) || !pulser_growth(p, to, &c, &d) || (c * b) % (d * a))
        return 0;
    int64_t times = c * b / (d * a);
    return dim_mul_int(p->dst->dims, from, times) == to ? times : 0;
}

static bool has_input(const struct pulser *p, const struct node *n, unsigned i)
{
    return node_has_input(n, i) && !dim_is(pulser_fact(p, n->in[i])->shape[0], 0);
}

/* The sizes of one run, of the axes that the op speaks of. */
static rill_status resize_sizes(struct pulser *p, const struct node *n, const struct flow *f,
                                uint32_t *ret)
{
    const struct fact *to = pulser_fact(p, n->out[0]);
    struct attr_ints axes = resize_attr_of(n)->axes;
    int64_t sizes[RANK_MAX];
    unsigned m = axes.n ? axes.n : (unsigned) to->rank;
    for (unsigned i = 0; i < m; i++) {
        int a = axes.n ? axis_normalise(axes.v[i], to->rank) : (int) i;
        if (a != f->sf.axis && !dim_is_const(to->shape[a]))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: time would be on two axes");
        sizes[i] = a == f->sf.axis ? f->sf.pulse : dim_value(to->shape[a]);
    }
    return pulser_ints(p, n->name, sizes, m, ret);
}

static rill_status resize_emit(struct pulser *p, const struct node *n, struct flow *f,
                               int64_t times)
{
    uint32_t in[4] = { f->wire, WIRE_NONE, WIRE_NONE, WIRE_NONE };
    if (__builtin_mul_overflow(f->sf.pulse, times, &f->sf.pulse) || f->sf.pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "a pulse that is %lld times as long is too long",
                       (long long) times);
    f->sf.delay *= times;
    flow_scale(&f->sf, 1, times);
    if (has_input(p, n, IN_SCALES))
        in[IN_SCALES] = p->map[n->in[IN_SCALES]];
    else
        TRY(resize_sizes(p, n, f, &in[IN_SIZES]));
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 4, &f->wire, 1));
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

static rill_status resize_refuse(const struct pulser *p, const struct node *n, int axis,
                                 int64_t times, const struct dim *from, const struct dim *to)
{
    char a[96], b[96], why[120] = "which is no whole multiple";
    dim_print(from, a, sizeof a);
    dim_print(to, b, sizeof b);
    if (times >= 1)
        snprintf(why, sizeof why, "which are not those repeated (%s, %s, %s)",
                 attr_choice(n, "mode"), attr_choice(n, "coordinate_transformation_mode"),
                 attr_choice(n, "nearest_mode"));
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it makes %s frames of %s on axis %d, the time axis, %s; nearest "
                   "with a whole scale streams (half_pixel and rounding, or asymmetric and floor)",
                   b, a, axis, why);
}

rill_status rule_resize(struct pulser *p, const struct node *n)
{
    struct flow f;
    if (!flow_of(p, n->in[IN_X], &f))
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its sizes depend on data");
    const struct dim *from = pulser_fact(p, n->in[IN_X])->shape[f.sf.axis];
    const struct dim *to = pulser_fact(p, n->out[0])->shape[f.sf.axis];
    int64_t times = times_longer(p, from, to);
    if (times < 1 || !repeats_frames(n, times))
        return resize_refuse(p, n, f.sf.axis, times, from, to);
    if (resize_attr_of(n)->mode != RESIZE_NEAREST)
        TRY(flow_mask(p, n, &f, NULL, false,
                      true)); /* a neighbour weighs 0, which does not hide what is no number */
    return resize_emit(p, n, &f, times);
}
