/* SPDX-License-Identifier: MIT */
/* Reshape and Flatten: the time axis stays, is merged with sizes behind it ([S, F] -> [S*F]) or
 * split ([S*F] -> [S, F]). What stands before it must stay: time is the outermost of what is
 * merged. */
#include "pulse/ints.h"
#include "pulse/rules.h"

/* The one axis of f that grows with the stream, -1 if there is none or another. */
static int time_axis(const struct pulser *p, const struct fact *f)
{
    int at = -1, n = 0;
    for (int i = 0; i < f->rank; i++)
        if (dim_mentions(f->shape[i], p->symbol)) {
            at = i;
            n++;
        }
    return n == 1 ? at : -1;
}

static const struct dim *leading(const struct pulser *p, const struct fact *f, int axis)
{
    const struct dim *d = dim_int(p->dst->dims, 1);
    for (int i = 0; i < axis; i++)
        d = dim_mul(p->dst->dims, d, f->shape[i]);
    return d;
}

/* Frames of `to` per frame of `from`. */
static bool frames_ratio(const struct pulser *p, const struct dim *from, const struct dim *to,
                         struct ratio *ret)
{
    int64_t a, b, c, d;
    if (!pulser_growth(p, from, &a, &b) || !pulser_growth(p, to, &c, &d) ||
        __builtin_mul_overflow(c, b, &ret->num) || __builtin_mul_overflow(d, a, &ret->den))
        return false;
    int64_t g = gcd(ret->num, ret->den);
    ret->num /= g;
    ret->den /= g;
    return ret->num <= INT32_MAX && ret->den <= INT32_MAX;
}

static rill_status reshape_frames(struct pulser *p, const struct node *n, const struct ratio *r,
                                  struct flow *f)
{
    int64_t pulse;
    TRY(pulser_want_multiple(p, n, &f->sf, r->den, "its hop"));
    if (f->sf.delay % r->den)
        TRY(flow_delay(p, n->name, f, r->den - f->sf.delay % r->den));
    if (__builtin_mul_overflow(f->sf.pulse / r->den, r->num, &pulse) || pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "a pulse of %lld frames is too long",
                       (long long) f->sf.pulse);
    f->sf.pulse = pulse;
    f->sf.delay = f->sf.delay / r->den * r->num;
    flow_scale(&f->sf, r->den, r->num);
    return RILL_OK;
}

/* No size of f grows with the stream. */
static bool is_fixed(const struct pulser *p, const struct fact *f)
{
    for (int i = 0; i < f->rank; i++)
        if (dim_mentions(f->shape[i], p->symbol))
            return false;
    return true;
}

rill_status rule_reshape(struct pulser *p, const struct node *n)
{
    struct flow f;
    struct ratio r;
    if (!flow_of(p, n->in[0], &f))
        return pulser_refuse_shapes(p, n, "its sizes run along time");
    const struct fact *from = pulser_fact(p, n->in[0]), *to = pulser_fact(p, n->out[0]);
    int64_t shape[RANK_MAX];
    int axis = time_axis(p, to);
    if (is_fixed(p, to))
        return pulser_refuse_shapes(
            p, n,
            "all wanted sizes are numbers, which fit a sequence of one length: that of the example "
            "when the model was exported; sizes computed of the input's would stream");
    if (axis < 0)
        return pulser_refuse_shapes(p, n, "time would be on two axes");
    if (leading(p, from, f.sf.axis) != leading(p, to, axis))
        return pulser_refuse_shapes(
            p, n,
            "the sizes in front of the time axis change; only sizes behind it can be merged with "
            "it or split off");
    if (!frames_ratio(p, from->shape[f.sf.axis], to->shape[axis], &r))
        return pulser_refuse_shapes(p, n, "the time axis does not grow evenly");
    TRY(reshape_frames(p, n, &r, &f));
    for (int i = 0; i < to->rank; i++) {
        if (i != axis && !dim_is_const(to->shape[i]))
            return pulser_refuse_shapes(p, n, "a size is not known");
        shape[i] = i == axis ? f.sf.pulse : dim_value(to->shape[i]);
    }
    uint32_t in[2] = { f.wire }, out;
    f.sf.axis = axis;
    TRY(pulser_ints(p, n->name, shape, (unsigned) to->rank, &in[1]));
    TRY(pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, in, 2, &out));
    return pulser_bind(p, n, 0, out, &f.sf);
}
