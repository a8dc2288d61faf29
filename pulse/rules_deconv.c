/* SPDX-License-Identifier: MIT */
/* ConvTranspose along time. Raw output frame o (before pads are taken off) is the sum over input
 * frames i of x[i] * w[k] with i*stride + k*dilation = o, so it needs (kernel - 1)*dilation /
 * stride frames of the past and is complete with frame o / stride: an input d frames late gives raw
 * frames d*stride late, and the pad in front is frames more to drop. The past is read again instead
 * of carrying partial sums, which keeps the order of the additions. */
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"

#include <string.h>

struct axis_sizes {
    int64_t kernel, stride, dilation, extra;
}; /* extra: output_padding */

static struct axis_sizes sizes_read(const struct pulser *p, const struct node *n, int i)
{
    return (struct axis_sizes) {
        .kernel = dim_value(pulser_fact(p, n->in[1])->shape[2 + i]),
        .stride = list_at(window_attr_of(n)->strides, i, 1),
        .dilation = list_at(window_attr_of(n)->dilations, i, 1),
        .extra = list_at(deconv_attr_of(n)->output_padding, i, 0),
    };
}

/* Explicit pads, with output_padding, on an axis of known sizes. total frames are too many;
 * negative: too few. */
struct explicit
{
    int64_t *before, *after, *extra;
};

static void pads_set(const struct node *n, int i, int axes, int64_t total,
                     const struct explicit *ret)
{
    const struct window_attr *a = window_attr_of(n);
    int mode = a->auto_pad;
    bool stated = mode == PAD_NOTSET || mode == PAD_VALID,
         given = deconv_attr_of(n)->output_shape.n > 0;
    if (stated && !given) {
        ret->before[i] = mode == PAD_VALID ? 0 : list_at(a->pads, i, 0);
        ret->after[i] = mode == PAD_VALID ? 0 : list_at(a->pads, axes + i, 0);
        return;
    }
    ret->extra[i] += total < 0 ? -total : 0;
    total = total < 0 ? 0 : total;
    ret->before[i] = mode == PAD_SAME_UPPER ? total / 2 : total - total / 2;
    ret->after[i] = total - ret->before[i];
}

struct ends {
    int64_t before, after;
};

/* Frames of the whole sequence's raw output in front of its frame 0 and behind its last. */
static struct ends time_ends(const struct node *n, int k, int axes, const struct axis_sizes *z)
{
    int64_t before[WINDOW_AXES_MAX] = { 0 }, after[WINDOW_AXES_MAX] = { 0 },
            extra[WINDOW_AXES_MAX] = { 0 };
    int64_t total = z->extra + (z->kernel - 1) * z->dilation + 1 - z->stride;
    pads_set(n, k, axes, total, &(struct explicit) { before, after, extra });
    return (struct ends) { before[k], after[k] - extra[k] - z->extra };
}

/* The node's attributes, those on axis k for what lies `before` frames of the output behind the
 * first. */
static rill_status attrs_make(struct pulser *p, const struct node *n, int k, int64_t before,
                              void **ret)
{
    const struct fact *x = pulser_fact(p, n->in[0]), *y = pulser_fact(p, n->out[0]);
    int axes = x->rank - 2;
    int64_t *list = arena_array(p->arena, int64_t, 3 * WINDOW_AXES_MAX);
    if (!list)
        return pulser_no_memory(p);
    const struct explicit e = { list, list + axes, list + 2 * axes };
    for (int i = 0; i < axes; i++) {
        struct axis_sizes z = sizes_read(p, n, i);
        int64_t span = (z.kernel - 1) * z.dilation + 1;
        if (i == k) {
            int64_t spare = span - z.stride;
            e.before[i] = before;
            e.after[i] = spare > 0 ? spare : 0;
            e.extra[i] = spare < 0 ? -spare : 0;
            continue;
        }
        if (!dim_is_const(x->shape[2 + i]) || !dim_is_const(y->shape[2 + i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: time would be on two axes");
        e.extra[i] = z.extra;
        pads_set(n, i, axes,
                 (dim_value(x->shape[2 + i]) - 1) * z.stride + z.extra + span -
                     dim_value(y->shape[2 + i]),
                 &e);
    }
    const struct attr attrs[] = {
        { .name = "auto_pad", .kind = ATTR_INT, .i = PAD_NOTSET },
        { .name = "pads", .kind = ATTR_INTS, .ints = { 2 * (uint32_t) axes, list } },
        { .name = "output_padding",
          .kind = ATTR_INTS,
          .ints = { (uint32_t) axes, list + 2 * axes } },
        { .name = "output_shape", .kind = ATTR_INTS },
    };
    return pulser_attr_copy(p, n, attrs, 4, ret);
}

static rill_status deconv_check(const struct pulser *p, const struct node *n,
                                const struct axis_sizes *z)
{
    for (unsigned i = 1; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u, its weights, runs along time", i);
    if (deconv_attr_of(n)->output_shape.n)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: output_shape fixes the size of the time axis");
    if (z->kernel > 1 << 20 || z->dilation > 1 << 20 || z->stride > 1 << 20)
        return op_fail(p->err, RILL_LIMIT, n, "a kernel of more than 2^20 frames does not stream");
    return RILL_OK;
}

/* Where frames that pad the input come out of what the node cuts in front alone, and it comes
 * earlier so: the windows over past + 1 frames of the padded sequence behind the first `cut`, *f.
 */
static rill_status deconv_padded(struct pulser *p, const struct node *n, const struct axis_sizes *z,
                                 int64_t past, int64_t cut, struct flow *f, bool *ret_done)
{
    const struct padded *q = &p->padded[n->in[0]];
    const int64_t more = past + 1 + (z->extra + z->stride - 1) / z->stride;
    const struct padded zeros = {
        .before = past, .after = more, .head = WIRE_NONE, .tail = WIRE_NONE
    };
    struct padded *all = arena_new(p->arena, struct padded);
    if (!all)
        return pulser_no_memory(p);
    *ret_done = cut > 0 && cut <= q->before && past > 0 && padded_joins(p, n->in[0], more);
    if (!*ret_done)
        return RILL_OK;
    TRY(padded_join(p, n, n->in[0], &zeros, all));
    TRY(padded_skip(p, n, all, cut));
    *f = all->inner;
    f->sf.at = p->sf[n->in[0]].at;
    return flow_windows(p, n, f,
                        &(struct flow_window) { .span = past, .stride = 1, .copies = all });
}

/* The past of the input's frames is read again; *ret_drop: frames of the output to drop. */
static rill_status deconv_windows(struct pulser *p, const struct node *n,
                                  const struct axis_sizes *z, int64_t past, int64_t cut,
                                  struct flow *f, int64_t *ret_drop)
{
    int64_t padded, behind;
    bool done = false;
    flow_of_windowed(p, n->in[0], f, &padded, &behind);
    if (!padded && !behind)
        TRY(deconv_padded(p, n, z, past, cut / z->stride, f, &done));
    *ret_drop = cut - (done ? cut / z->stride : padded) * z->stride;
    if (done)
        return RILL_OK;
    if (f->sf.delay * z->stride + *ret_drop < 0) { /* the padded frames themselves come out */
        flow_of(p, n->in[0], f);
        *ret_drop += padded * z->stride;
    }
    TRY(flow_mask(p, n, f, NULL, past > 0 || padded > 0,
                  past > 0 || behind > 0 || z->extra > 0 || z->kernel < z->stride));
    return flow_history(p, n->name, f, past, NULL);
}

/* n on that wire, of so many frames behind the first `before` of the output. */
static rill_status frames_emit(struct pulser *p, const struct node *n, int k, int64_t before,
                               uint32_t wire, uint32_t *ret)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    void *attr = NULL;
    if (!in)
        return pulser_no_memory(p);
    TRY(attrs_make(p, n, k, before, &attr));
    in[0] = wire;
    for (unsigned i = 1; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
    return pulser_emit(p, n->op, n->name, attr, in, n->n_in, ret, 1);
}

/* ---- behind given frames ---- */

/* Whether output frames come of given frames in front alone, and those behind them come earlier
 * without. Of frames of the sequence itself they are made in every run, only where an output comes
 * earlier by it. */
static bool heads_wanted(struct pulser *p, const struct node *n, const struct axis_sizes *z,
                         int64_t cut)
{
    const struct padded *q = &p->padded[n->in[0]];
    return q->is && !node_has_kept(p, n) && cut >= 0 && cut < q->before * z->stride &&
        larger(q->inner.sf.delay, padded_heads_late(q)) - q->before < p->sf[n->in[0]].delay &&
        padded_heads_there(p, q) && padded_apart(p, q->before, padded_heads_inputs(q) > 0);
}

/* The last `past` frames of those that q puts in front, and zeros before them. */
static rill_status heads_last(struct pulser *p, const struct node *n, int64_t past,
                              struct padded *q)
{
    const int axis = q->inner.sf.axis;
    const struct padded zeros = { .inner = q->inner, .mode = PULSE_PAD_CONSTANT };
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = axis };
    const int64_t more = past - q->before;
    uint32_t in[2] = { WIRE_NONE, q->head };
    if (more < 0)
        TRY(pulser_slice(p, n->name, q->head, axis, -more, q->before, &q->head));
    if (more > 0) {
        TRY(padded_frames(p, n, &zeros, more, WIRE_NONE, &in[0]));
        TRY(pulser_emit_op(p, OP_CONCAT, n->name, &along, 1, in, 2, &q->head));
    }
    q->head = past ? q->head : WIRE_NONE;
    q->come = NULL;
    q->before = past;
    return RILL_OK;
}

static rill_status deconv_behind(struct pulser *p, const struct node *n, const struct axis_sizes *z,
                                 int64_t past, const struct ends *cut)
{
    const int k = p->sf[n->in[0]].axis - 2;
    struct padded q = p->padded[n->in[0]], out = { .is = true, .mode = PULSE_PAD_VALUES };
    out.tail = WIRE_NONE;
    out.before = q.before * z->stride - cut->before;
    TRY(padded_given(p, n, p->sf[n->in[0]].length, q.before, &q));
    out.inputs = q.inputs;
    TRY(frames_emit(p, n, k, cut->before, q.head, &out.head));
    struct flow f = q.inner;
    TRY(flow_resolve(p, n, &f));
    TRY(flow_delay(p, n->name, &f, larger(padded_heads_late(&q) - f.sf.delay, 0)));
    TRY(heads_last(p, n, past, &q));
    TRY(flow_padded(p, n, &f, &q, f.sf.delay, f.sf.pulse + past));
    TRY(frames_emit(p, n, k, past * z->stride, f.wire, &f.wire));
    f.sf.at = p->sf[n->in[0]].at;
    flow_scale(&f.sf, 1, z->stride);
    offset_transposed(&f.sf, cut->before, cut->after, (z->kernel - 1) * z->dilation + 1, z->stride);
    f.sf.pulse *= z->stride;
    f.sf.delay *= z->stride;
    f.sf.length =
        dim_add_int(p->dst->dims, pulser_fact(p, n->out[0])->shape[f.sf.axis], -out.before);
    out.inner = f;
    p->padded[n->out[0]] = out;
    TRY(padded_put(p, n, &out, &f));
    f.sf.at = out.inner.sf.at;
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}

rill_status rule_conv_transpose(struct pulser *p, const struct node *n)
{
    struct flow f;
    if (!flow_of(p, n->in[0], &f) || f.sf.axis < 2)
        return pulser_off_axis(p, n);
    int k = f.sf.axis - 2, axes = pulser_fact(p, n->in[0])->rank - 2;
    const struct axis_sizes z = sizes_read(p, n, k);
    int64_t past = (z.kernel - 1) * z.dilation / z.stride, pulse, drop;
    uint32_t out;
    TRY(deconv_check(p, n, &z));
    const struct ends cut = time_ends(n, k, axes, &z);
    if (__builtin_mul_overflow(f.sf.pulse, z.stride, &pulse) || pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "a pulse of %lld frames is too long",
                       (long long) f.sf.pulse);
    p->windows[n - p->src->nodes] = (struct axis_window) { true, past, 0, 1 };
    if (heads_wanted(p, n, &z, cut.before))
        return deconv_behind(p, n, &z, past, &cut);
    TRY(deconv_windows(p, n, &z, past, cut.before, &f, &drop));
    TRY(frames_emit(p, n, k, past * z.stride, f.wire, &out));
    flow_scale(&f.sf, 1, z.stride);
    offset_transposed(&f.sf, cut.before, cut.after, (z.kernel - 1) * z.dilation + 1, z.stride);
    f.sf.pulse = pulse;
    f.sf.delay = f.sf.delay * z.stride + drop;
    f.sf.uniform = false;
    return pulser_bind(p, n, 0, out, &f.sf);
}
