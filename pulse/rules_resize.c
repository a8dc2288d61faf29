/* SPDX-License-Identifier: MIT */
/* Resize: other axes as they are; along time each frame may be repeated a whole number of times. */
#include "pulse/rules.h"

#include <stdio.h>
#include <string.h>

enum { IN_X, IN_ROI, IN_SCALES, IN_SIZES };

/* Numbers of the op's choices, in its order. */
enum { NEAREST };
enum {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP,
    TF_NEAREST
};
enum { PREFER_FLOOR, PREFER_CEIL, FLOOR };

/* Output frame i comes from frame i/times and from no other. */
static bool repeats_frames(const struct node *n, int64_t times)
{
    int64_t coord = attr_get_int(n, "coordinate_transformation_mode"),
            near = attr_get_int(n, "nearest_mode");
    if (coord == CROP || (coord == TF_NEAREST && near != FLOOR))
        return false;
    if (times == 1)
        return true;
    bool centred = coord <= PYTORCH_HALF_PIXEL && (near == PREFER_FLOOR || near == PREFER_CEIL);
    bool left = (coord == ASYMMETRIC || coord == TF_NEAREST) && near == FLOOR;
    return attr_get_int(n, "mode") == NEAREST && (centred || left);
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
    return i < n->n_in && n->in[i] != WIRE_NONE && !dim_is(pulser_fact(p, n->in[i])->shape[0], 0);
}

/* The sizes of one run, of the axes that the op speaks of. */
static rill_status resize_sizes(struct pulser *p, const struct node *n, const struct flow *f,
                                uint32_t *ret)
{
    const struct fact *to = pulser_fact(p, n->out[0]);
    struct attr_ints axes = attr_get_ints(n, "axes");
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

static const char *choice_of(const struct node *n, const char *name)
{
    for (const struct attr_spec *s = n->op->attrs; s && s->name; s++)
        if (!strcmp(s->name, name))
            return s->choices[attr_get_int(n, name)];
    return "";
}

static rill_status resize_refuse(const struct pulser *p, const struct node *n, int axis,
                                 int64_t times, const struct dim *from, const struct dim *to)
{
    char a[96], b[96], why[120] = "which is no whole multiple";
    dim_print(from, a, sizeof a);
    dim_print(to, b, sizeof b);
    if (times >= 1)
        snprintf(why, sizeof why, "which are not those repeated (%s, %s, %s)", choice_of(n, "mode"),
                 choice_of(n, "coordinate_transformation_mode"), choice_of(n, "nearest_mode"));
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
    if (attr_get_int(n, "mode") != NEAREST)
        TRY(flow_mask(p, n, &f, NULL, false,
                      true)); /* a neighbour weighs 0, which does not hide what is no number */
    return resize_emit(p, n, &f, times);
}
