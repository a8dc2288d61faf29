/* SPDX-License-Identifier: MIT */
/* Rules of ops that cut frames out of the time axis: Slice, Split. */
#include "engine/base/dim_claims.h"
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"

#include <stdio.h>

/* ---- Slice ---- */

static const struct dim *dim_at(struct pulser *p, const struct tensor *v, int64_t i)
{
    return v->type == DTYPE_DIM ? ((const struct dim *const *) v->data)[i]
                                : dim_int(p->dst->dims, tensor_get_i64(v, v->data, i));
}

/* Emits the slices on the other axes: the node's own with the entry of the time axis left out. */
static rill_status slice_others(struct pulser *p, const struct node *n, int64_t skip,
                                uint32_t *wire)
{
    int64_t v[4][RANK_MAX], m = 0, count = tensor_count(node_value(p->src, n, 1));
    uint32_t in[5] = { *wire };
    int rank = pulser_fact(p, n->in[0])->rank;
    for (int64_t i = 0; i < count; i++) {
        if (i == skip)
            continue;
        for (unsigned k = 0; k < 4; k++) {
            const struct tensor *t = node_value(p->src, n, 1 + k);
            const struct dim *d = t ? dim_at(p, t, i) : dim_int(p->dst->dims, k == 2 ? i : 1);
            if (!dim_is_const(d))
                return op_fail(p->err, RILL_UNSUPPORTED, n,
                               "cannot stream: it cuts another axis by the length of time");
            v[k][m] = k == 2 ? axis_normalise(dim_value(d), rank) : dim_value(d);
        }
        m++;
    }
    for (unsigned k = 0; m && k < 4; k++)
        TRY(pulser_ints(p, n->name, v[k], (unsigned) m, &in[1 + k]));
    return m ? pulser_emit_op(p, OP_SLICE, n->name, NULL, 0, in, 5, wire) : RILL_OK;
}

/* Whether those are frames first..first + k of a sequence of that length, or those of them that it
 * has, whatever the length. */
static bool slice_is_head(const struct pulser *p, const struct flow *f, const struct dim *out,
                          int64_t first, int64_t k)
{
    const struct dim *both[2] = { out, f->sf.length };
    struct lengths l;
    int64_t have, length, seen = 0;
    if (!lengths_decide(p, both, 2, first + k, false, &l))
        return false;
    for (int64_t t = 0; t < l.end; t++) {
        if (!dims_allow(p->dst->dims, p->symbol, t) || !dim_eval(out, p->symbol, t, &have) ||
            !dim_eval(f->sf.length, p->symbol, t, &length))
            continue;
        int64_t want = larger(length - first, 0);
        if (have != (want < k ? want : k) && !dims_need_broken(p->dst->dims, p->symbol, t))
            return false;
        seen++;
    }
    return seen > 0;
}

/* The first frame that is taken, as a number where it is one at every length. A start below 0
 * counts from the end (claimed by the op where it may be 0), and is the first frame where it counts
 * at least as many as there are. */
static const struct dim *start_of(struct pulser *p, const struct node *n, int64_t at, int axis)
{
    struct dims *ds = p->dst->dims;
    const struct dim *start = dim_at(p, node_value(p->src, n, 1), at), *zero = dim_int(ds, 0),
                     *place = dim_add(ds, pulser_fact(p, n->in[0])->shape[axis], start);
    if (dim_is_const(start) || !dim_is(dim_ge(ds, zero, start), 1))
        return start;
    if (dim_is(dim_ge(ds, zero, place), 1))
        return zero;
    return dim_is_const(place) ? place : start;
}

/* Frames start..start + *ret_frames of the sequence, or those of them that it has. */
static bool slice_keeps(const struct pulser *p, const struct node *n, int64_t at,
                        const struct flow *f, int64_t *ret_first, int64_t *ret_frames)
{
    struct pulser *q = (struct pulser *) p;
    const struct tensor *steps = node_value(p->src, n, 4);
    const struct dim *start = start_of(q, n, at, f->sf.axis),
                     *out = pulser_fact(p, n->out[0])->shape[f->sf.axis];
    int64_t least, k, first;
    if ((steps && !dim_is(dim_at(q, steps, at), 1)) || !dim_is_const(start) ||
        dim_value(start) < 0 || pulser_growth(p, out, &least, &k) ||
        !lengths_range(p, out, &least, &k) || k < 1)
        return false;
    first = dim_value(start);
    if (first > INT32_MAX || k > INT32_MAX || !slice_is_head(p, f, out, first, k))
        return false;
    *ret_first = first;
    *ret_frames = k;
    return true;
}

#define LEAST_TRIED 4096

/* From which length on there are so many frames; 0: from none that is tried, or any. */
static int64_t length_of(const struct pulser *p, const struct dim *frames, int64_t wanted)
{
    int64_t have;
    for (int64_t t = 0; t < LEAST_TRIED; t++)
        if (dims_allow(p->dst->dims, p->symbol, t) && dim_eval(frames, p->symbol, t, &have) &&
            have >= wanted)
            return t;
    return 0;
}

/* Frames of a number, which are kept where every sequence has them. */
static rill_status slice_short(const struct pulser *p, const struct node *n, const struct flow *f,
                               const struct dim *out, int64_t first)
{
    char text[128], symbol[64], hint[160] = "";
    const int64_t least =
        dim_is_const(out) ? length_of(p, f->sf.length, first + dim_value(out)) : 0;
    dim_print(out, text, sizeof text);
    dim_print(p->symbol, symbol, sizeof symbol);
    if (least > 0)
        snprintf(hint, sizeof hint, "; with --assert \"%.60s >= %lld\" every sequence has them",
                 symbol, (long long) least);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it takes only %s frames of axis %d, the time axis, not a part "
                   "that grows with the stream%s",
                   text, f->sf.axis, hint);
}

#define ENDS_MAX 64 /* last frames that are joined behind others */

/* How many last frames Slices of the graph take at most, from which on the pass `ends` joins them
 * behind others (engine/rewrite/declutter/ends.c). */
static int64_t ends_taken(const struct pulser *p)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < p->src->n_nodes; i++) {
        const struct node *n = &p->src->nodes[i];
        const struct tensor *v = node_is(n, OP_SLICE) ? node_value(p->src, n, 1) : NULL;
        for (int64_t k = 0; v && v->type != DTYPE_DIM && k < tensor_count(v); k++) {
            const int64_t back = -larger(tensor_get_i64(v, v->data, k), -ENDS_MAX - 1);
            most = back <= ENDS_MAX ? larger(most, back) : most;
        }
    }
    return most;
}

/* Frames from a place that is no number, or that counts from the end. */
static rill_status slice_from_end(struct pulser *p, const struct node *n, const struct flow *f,
                                  const struct dim *start)
{
    int64_t least, most;
    char text[128], symbol[64], hint[240] = "a start counted from its beginning streams";
    const struct dim *size = pulser_fact(p, n->in[0])->shape[f->sf.axis],
                     *place = dim_add(p->dst->dims, size, start);
    const bool ranges = !dim_is_const(start) && lengths_range(p, start, &least, &most);
    dim_print(start, text, sizeof text);
    dim_print(p->symbol, symbol, sizeof symbol);
    if (!dim_is_const(start) && dim_is_const(place) && dim_value(place) >= 0)
        snprintf(hint, sizeof hint, "with --assert \"%.60s >= %lld\" it is frame %lld", symbol,
                 (long long) length_of(p, size, dim_value(place) + 1),
                 (long long) dim_value(place));
    const int64_t enough = dim_is_const(start) ? length_of(p, size, ends_taken(p)) : 0;
    if (enough > 0 && dims_allow(p->dst->dims, p->symbol, enough - 1))
        snprintf(
            hint, sizeof hint,
            "a start counted from its beginning streams, and so does what is made of it element "
            "by element and joined behind others, with --assert \"%.60s >= %lld\"",
            symbol, (long long) enough);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: on axis %d, the time axis, it starts at %s, which %s%s",
                   f->sf.axis, text,
                   ranges ? "depends on the length of the sequence; assert lengths for which it is "
                            "one number"
                          : "counts from the end of the sequence; ",
                   ranges ? "" : hint);
}

static rill_status slice_time(struct pulser *p, const struct node *n, int64_t at, struct flow *f)
{
    const struct tensor *steps = node_value(p->src, n, 4);
    const struct dim *start = start_of(p, n, at, f->sf.axis),
                     *out = pulser_fact(p, n->out[0])->shape[f->sf.axis];
    int64_t num, den, step = steps ? dim_value(dim_at(p, steps, at)) : 1;
    if (step < 0)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it runs backwards along axis %d, the time axis: the first "
                       "frame that it gives is the last of the sequence",
                       f->sf.axis);
    if (!dim_is_const(start) || dim_value(start) < 0)
        return slice_from_end(p, n, f, start);
    if (!pulser_growth(p, out, &num, &den))
        return slice_short(p, n, f, out, dim_value(start));
    return flow_picked(p, n, 0, f, dim_value(start), step);
}

/* Whether frames are cut off a padded sequence at its ends alone, `first` of them in front. */
static bool slice_cuts(struct pulser *p, const struct node *n, int64_t at, int axis,
                       int64_t *ret_first)
{
    const struct dim *start = start_of(p, n, at, axis);
    const struct tensor *steps = node_value(p->src, n, 4);
    *ret_first = dim_value(start);
    return dim_is_const(start) && (!steps || dim_is(dim_at(p, steps, at), 1));
}

/* The slices on the other axes, of what is padded. */
static rill_status padded_others(struct pulser *p, const struct node *n, int64_t skip,
                                 struct padded *q)
{
    TRY(slice_others(p, n, skip, &q->inner.wire));
    if (q->mode == PULSE_PAD_VALUES && q->before)
        TRY(slice_others(p, n, skip, &q->head));
    return q->mode == PULSE_PAD_VALUES && q->after ? slice_others(p, n, skip, &q->tail) : RILL_OK;
}

rill_status rule_slice(struct pulser *p, const struct node *n)
{
    struct flow f;
    const struct tensor *starts = node_value(p->src, n, 1), *axes = node_value(p->src, n, 3);
    int64_t at = -1;
    if (!flow_of(p, n->in[0], &f) || !starts)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: where it cuts depends on data");
    for (int64_t i = 0; i < tensor_count(starts); i++)
        if (axis_normalise(axes ? tensor_get_i64(axes, axes->data, i) : i,
                           pulser_fact(p, n->in[0])->rank) == f.sf.axis)
            at = i;
    struct padded q = p->padded[n->in[0]];
    int64_t first, frames;
    if (at >= 0 && slice_keeps(p, n, at, &f, &first, &frames)) {
        TRY(slice_others(p, n, at, &f.wire));
        if (q.is)
            TRY(padded_others(p, n, at, &q));
        return kept_frames(p, n, 0, &f, &q, first, frames);
    }
    if (at >= 0)
        TRY(slice_time(p, n, at, &f));
    if (at >= 0 && q.is && (q.is = slice_cuts(p, n, at, f.sf.axis, &first)))
        TRY(padded_cut(p, n, first, &q));
    if (q.is)
        TRY(padded_others(p, n, at, &q));
    p->padded[n->out[0]] = q;
    TRY(slice_others(p, n, at, &f.wire));
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}

/* ---- Split ---- */

/* Output k, frames begin.. of the sequence: those up to its end, or a few that are kept. */
static rill_status part_emit(struct pulser *p, const struct node *n, unsigned k,
                             const struct dim *begin)
{
    struct flow f;
    int64_t first, frames, num, den;
    char text[128];
    flow_of(p, n->in[0], &f);
    const struct dim *size = pulser_fact(p, n->out[k])->shape[f.sf.axis];
    if (!dim_is_const(begin)) {
        dim_print(begin, text, sizeof text);
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: output %u starts at frame %s of axis %d, the time axis, "
                       "which counts from the end of the sequence",
                       k, text, f.sf.axis);
    }
    first = dim_value(begin);
    if (dim_is_const(size)) {
        frames = dim_value(size);
        return kept_frames(p, n, k, &f, &p->padded[n->in[0]], first, frames);
    }
    if (!pulser_growth(p, size, &num, &den)) {
        dim_print(size, text, sizeof text);
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: output %u has %s frames of axis %d, the time axis, not a "
                       "part that grows with the stream",
                       k, text, f.sf.axis);
    }
    TRY(flow_picked(p, n, k, &f, first, 1));
    return pulser_bind(p, n, k, f.wire, &f.sf);
}

rill_status rule_split(struct pulser *p, const struct node *n)
{
    struct flow f;
    if (!flow_of(p, n->in[0], &f) ||
        axis_normalise(axis_of(n), pulser_fact(p, n->in[0])->rank) != f.sf.axis)
        return pulser_off_axis(p, n);
    const struct dim *begin = dim_int(p->dst->dims, 0);
    const struct tensor *sizes = node_value(p->src, n, 1);
    for (unsigned k = 0; k < n->n_out; k++) {
        uint32_t w = n->out[k];
        if (w != WIRE_NONE && graph_wire_is_read(p->src, w))
            TRY(part_emit(p, n, k, begin));
        if (w == WIRE_NONE && !sizes)
            return pulser_refuse_axis(p, n, 0, f.sf.axis, NULL);
        begin = dim_add(p->dst->dims, begin,
                        w == WIRE_NONE ? dim_at(p, sizes, k) : pulser_fact(p, w)->shape[f.sf.axis]);
    }
    return RILL_OK;
}
