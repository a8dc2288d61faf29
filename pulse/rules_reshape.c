/* SPDX-License-Identifier: MIT */
/* Reshape and Flatten: the time axis stays, is merged with sizes behind it ([S, F] -> [S*F]) or
 * split ([S*F] -> [S, F]). What stands before it must stay: time is the outermost of what is
 * merged. */
#include "engine/ops/clock.h"
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

/* The wire with so many frames, in the shape of the output. */
static rill_status part_emit(struct pulser *p, const struct node *n, int axis, int64_t frames,
                             uint32_t *wire)
{
    const struct fact *to = pulser_fact(p, n->out[0]);
    int64_t shape[RANK_MAX];
    uint32_t in[2] = { *wire };
    for (int i = 0; i < to->rank; i++)
        shape[i] = i == axis ? frames : dim_value(to->shape[i]);
    TRY(pulser_ints(p, n->name, shape, (unsigned) to->rank, &in[1]));
    return pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, in, 2, wire);
}

#define MERGED_MAX 16384 /* samples in front of the first block */

/* Of what is padded the frames in front that become whole frames are given ones, where several
 * become one; the others are the sequence's own. is: there are such. */
static rill_status padded_merge(struct pulser *p, const struct node *n, const struct ratio *r,
                                struct padded *q)
{
    const int64_t whole = q->before / r->den * r->den;
    q->is = whole && padded_heads_whole(p, q) &&
        (padded_by_copies(q) ? !p->outer && whole <= PADDED_GIVEN_MAX : whole <= MERGED_MAX);
    if (q->is)
        TRY(padded_given(p, n, p->sf[n->in[0]].length, whole, q));
    q->direct = 0;
    return RILL_OK;
}

/* What is padded stays so where every frame becomes whole frames, or some become one; copies, where
 * each becomes one. */
static rill_status padded_carry(struct pulser *p, const struct node *n, const struct ratio *r,
                                int axis)
{
    struct padded q = p->padded[n->in[0]];
    if (q.is && r->den != 1)
        TRY(padded_merge(p, n, r, &q));
    const bool given = q.mode == PULSE_PAD_VALUES;
    if (!q.is || (r->num != 1 && !given && q.mode != PULSE_PAD_CONSTANT))
        return RILL_OK;
    TRY(reshape_frames(p, n, r, &q.inner));
    q.inner.sf.axis = axis;
    q.inner.sf.length = r->den == 1
        ? dim_mul_int(p->dst->dims, q.inner.sf.length, r->num)
        : dim_add_int(p->dst->dims, pulser_fact(p, n->out[0])->shape[axis],
                      -q.before / r->den * r->num);
    q.before = q.before / r->den * r->num;
    q.after *= r->num;
    q.direct *= r->num;
    TRY(part_emit(p, n, axis, q.inner.sf.pulse, &q.inner.wire));
    if (given && q.before)
        TRY(part_emit(p, n, axis, q.before, &q.head));
    if (given && q.after)
        TRY(part_emit(p, n, axis, q.after, &q.tail));
    p->padded[n->out[0]] = q;
    return RILL_OK;
}

rill_status rule_reshape(struct pulser *p, const struct node *n)
{
    struct flow f;
    struct ratio r;
    if (!flow_of(p, n->in[0], &f))
        return pulser_refuse_shapes(p, n, "its sizes run along time");
    const struct fact *from = pulser_fact(p, n->in[0]), *to = pulser_fact(p, n->out[0]);
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
    for (int i = 0; i < to->rank; i++)
        if (i != axis && !dim_is_const(to->shape[i]))
            return pulser_refuse_shapes(p, n, "a size is not known");
    f.sf.axis = axis;
    TRY(part_emit(p, n, axis, f.sf.pulse, &f.wire));
    TRY(pulser_bind(p, n, 0, f.wire, &f.sf));
    return padded_carry(p, n, &r, axis);
}
