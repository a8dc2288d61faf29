/* SPDX-License-Identifier: MIT */
/* Rules of ops that see a window of the time axis: Conv, pooling, Frame, STFT. */
#include "engine/base/dim_claims.h"
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"

#include <math.h>
#include <stdio.h>

/* ---- convolution and pooling ---- */

struct spatial {
    int axes; /* spatial axes */
    int64_t kernel[WINDOW_AXES_MAX], stride[WINDOW_AXES_MAX], dilation[WINDOW_AXES_MAX];
    const struct dim *before[WINDOW_AXES_MAX], *after[WINDOW_AXES_MAX];
};

/* Both pads of SAME padding, as same_before has them. */
static void same_pads(struct pulser *p, const struct node *n, struct spatial *s, int i, bool lower,
                      bool conv)
{
    struct dims *ds = p->dst->dims;
    const struct dim *in = pulser_fact(p, n->in[0])->shape[2 + i], *none = dim_int(ds, 0);
    const struct dim *last =
        dim_mul_int(ds, dim_add_int(ds, dim_div_ceil_int(ds, in, s->stride[i]), -1), s->stride[i]);
    const struct dim *reach = dim_add_int(ds, last, (s->kernel[i] - 1) * s->dilation[i] + 1);
    const struct dim *total = s->stride[i] == 1 ? dim_int(ds, (s->kernel[i] - 1) * s->dilation[i])
                                                : dim_sub(ds, reach, in);
    const struct dim *put = dim_div_int(ds, dim_add_int(ds, total, lower), 2),
                     *cut = dim_add_int(ds, dim_mul_int(ds, total, -1), -(int) lower - (int) conv);
    s->before[i] = dim_sub(ds, dim_max(ds, none, put), dim_max(ds, none, dim_div_int(ds, cut, 2)));
    s->after[i] = dim_sub(ds, total, s->before[i]);
}

static void spatial_read(struct pulser *p, const struct node *n, const struct fact *weights,
                         struct spatial *s)
{
    const struct window_attr *a = window_attr_of(n);
    int auto_pad = a->auto_pad;
    s->axes = pulser_fact(p, n->in[0])->rank - 2;
    for (int i = 0; i < s->axes; i++) {
        s->kernel[i] = list_at(a->kernel, i, weights ? dim_value(weights->shape[2 + i]) : 1);
        s->stride[i] = list_at(a->strides, i, 1);
        s->dilation[i] = list_at(a->dilations, i, 1);
        bool stated = auto_pad == PAD_NOTSET;
        s->before[i] = dim_int(p->dst->dims, stated ? list_at(a->pads, i, 0) : 0);
        s->after[i] = dim_int(p->dst->dims, stated ? list_at(a->pads, s->axes + i, 0) : 0);
        if (auto_pad == PAD_SAME_UPPER || auto_pad == PAD_SAME_LOWER)
            same_pads(p, n, s, i, auto_pad == PAD_SAME_LOWER, weights != NULL);
    }
}

/* Where the sequence is so many whole strides long, it puts the same number in front. */
static rill_status pads_refuse(const struct pulser *p, const struct node *n,
                               const struct spatial *s, int k)
{
    const struct stream_fact *sf = pulser_stream(p, n->in[0]);
    const long long whole = ratio_times(ratio_of(s->stride[k], 1), sf->hop_num, sf->hop_den).num;
    char text[128], symbol[64];
    dim_print(s->before[k], text, sizeof text);
    dim_print(p->symbol, symbol, sizeof symbol);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: SAME padding with stride %lld puts %s frames in front, which "
                   "depends on the length; --assert \"%s == %lld*(%s/%lld)\" streams, and so does "
                   "an explicit pad",
                   (long long) s->stride[k], text, symbol, whole, symbol, whole);
}

/* Pads on the time axis; those behind may depend on the length where they only hide what lies past
 * the end. */
static rill_status time_window(struct pulser *p, const struct node *n, const struct spatial *s,
                               int k, struct flow_window *ret)
{
    if (!pulser_dim_value(p, s->before[k], &ret->before))
        return pads_refuse(p, n, s, k);
    ret->after = dim_is_const(s->after[k]) ? dim_value(s->after[k])
                                           : s->stride[k] + s->kernel[k] * s->dilation[k];
    ret->stride = s->stride[k];
    if (__builtin_mul_overflow(s->kernel[k] - 1, s->dilation[k], &ret->span))
        return op_fail(p->err, RILL_LIMIT, n, "its kernel is too long");
    return RILL_OK;
}

/* The node's attributes with explicit pads, none on spatial axis k. */
static rill_status attrs_without_pads(struct pulser *p, const struct node *n,
                                      const struct spatial *s, int k, void **ret)
{
    int64_t *pads = arena_array(p->arena, int64_t, 2 * WINDOW_AXES_MAX);
    if (!pads)
        return pulser_no_memory(p);
    for (int i = 0; i < s->axes; i++) {
        if (i != k && (!dim_is_const(s->before[i]) || !dim_is_const(s->after[i])))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: time would be on two axes");
        pads[i] = i == k ? 0 : dim_value(s->before[i]);
        /* What SAME leaves out behind the last window is less than a stride. */
        pads[s->axes + i] = i == k || dim_value(s->after[i]) < 0 ? 0 : dim_value(s->after[i]);
    }
    const struct attr list[] = {
        { .name = "pads", .kind = ATTR_INTS, .ints = { 2 * (uint32_t) s->axes, pads } },
        { .name = "auto_pad", .kind = ATTR_INT, .i = PAD_NOTSET },
    };
    return pulser_attr_copy(p, n, list, 2, ret);
}

/* n on that wire, and its other inputs. */
static rill_status window_op(struct pulser *p, const struct node *n, const void *attr,
                             uint32_t wire, uint32_t *ret)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    in[0] = wire;
    for (unsigned i = 1; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
    return pulser_emit(p, n->op, n->name, attr, in, n->n_in, ret, 1);
}

#define FRONT_MAX 1024

static int64_t front_before(const struct flow_window *w)
{
    return w->copies ? w->copies->before : w->before;
}

/* By how many frames windows wait for frames in front of the sequence that are made of it longer
 * than for what else they read. */
static int64_t front_waits(const struct flow *f, const struct flow_window *w)
{
    const struct padded *q = w->copies;
    if (!q || padded_heads_inputs(q) == 0)
        return 0;
    const int64_t late =
        padded_by_copies(q) ? padded_heads_late(q) : padded_heads_delay(q, w->span);
    return larger(late - larger(w->span + 1 - w->stride + f->sf.delay - q->before, 0), 0);
}

/* How many output frames read such frames, and come before them unless they wait; 0 where those
 * behind cannot be made without. They are made in every run, only where an output comes earlier by
 * it. */
static int64_t front_reads(struct pulser *p, const struct node *n, const struct flow *f,
                           const struct flow_window *w)
{
    const struct padded *q = w->copies;
    const int64_t reads = smaller(front_waits(f, w), q->before),
                  frames = (reads + w->stride - 1) / w->stride;
    const bool values = q->mode == PULSE_PAD_VALUES;
    const struct dim *length = pulser_fact(p, n->out[0])->shape[f->sf.axis];
    const bool can = f->sf.pulse % w->stride == 0 && !node_has_kept(p, n) &&
        !(values && q->after && frames * w->stride > q->before) && padded_heads_whole(p, q) &&
        !lengths_short(p, length, frames);
    return can && padded_apart(p, q->before, true) ? frames : 0;
}

/* How many lie in what is put in front of the sequence alone, where those behind come earlier
 * without them; else 0. */
static int64_t front_alone(const struct pulser *p, const struct node *n, const struct flow *f,
                           const struct flow_window *w)
{
    const int64_t before = front_before(w);
    const int64_t late = w->span + 1 - w->stride + f->sf.delay - before;
    const bool kept = w->copies && (w->copies->inputs || w->copies->mode != PULSE_PAD_VALUES);
    if ((kept && (p->outer || before > PADDED_KEPT_MAX)) || late > -w->stride ||
        f->sf.pulse % w->stride || node_has_kept(p, n) ||
        (w->copies && !padded_heads_whole(p, w->copies)))
        return 0;
    int64_t frames = (before - 1 - w->span) / w->stride + 1;
    if (w->copies && w->copies->after && frames * w->stride > before)
        frames = before / w->stride;
    return frames <= FRONT_MAX ? frames : 0;
}

static int64_t front_frames(struct pulser *p, const struct node *n, const struct flow *f,
                            const struct flow_window *w)
{
    const int64_t frames = front_alone(p, n, f, w);
    return frames == 0 && front_waits(f, w) > 0 ? front_reads(p, n, f, w) : frames;
}

/* Copies of frames in front of the sequence, *f, become given ones: nothing else is put there. */
static rill_status front_given(struct pulser *p, const struct node *n, struct flow *f,
                               struct flow_window *w)
{
    struct padded *q = w->copies ? arena_copy(p->arena, w->copies, sizeof *q) : NULL;
    if (!w->copies || w->copies->mode == PULSE_PAD_VALUES)
        return RILL_OK;
    if (!q)
        return pulser_no_memory(p);
    TRY(padded_given(p, n, p->sf[n->in[0]].length, q->before, q));
    const struct offset at = f->sf.at;
    *f = q->inner;
    f->sf.at = at;
    w->copies = q;
    return RILL_OK;
}

/* When each of those frames has come: with what its window reads, all that is behind q's heads once
 * so many input frames have. */
static rill_status front_come(struct pulser *p, const struct padded *q, int64_t frames,
                              const struct flow_window *w, struct padded *ret)
{
    int64_t *come = ret->inputs ? arena_array(p->arena, int64_t, frames + 1) : NULL;
    if (ret->inputs && !come)
        return pulser_no_memory(p);
    for (int64_t i = 0; come && i < frames; i++)
        for (int64_t k = i * w->stride; k <= i * w->stride + w->span; k++)
            come[i] = larger(come[i], k < q->before ? padded_come(q, k) : ret->inputs);
    ret->come = come;
    return RILL_OK;
}

/* Windows behind those frames; ret: as which they pad, ret->head what they read. */
static rill_status front_cut(struct pulser *p, const struct node *n, const struct flow *f,
                             int64_t frames, struct flow_window *w, struct padded *ret)
{
    const int64_t cut = frames * w->stride, used = cut - w->stride + w->span + 1;
    struct padded *q = arena_new(p->arena, struct padded);
    if (!q)
        return pulser_no_memory(p);
    *q = (struct padded) { .inner = *f, .before = w->before, .fill = w->fill };
    if (w->copies)
        *q = *w->copies;
    ret->inputs = q->inputs;
    w->before = q->before - cut;
    if (!w->copies)
        return padded_frames(p, n, q, used, q->head, &ret->head);
    w->copies = w->before > 0 || q->after ? q : NULL;
    if (used > q->before)
        TRY(kept_padded(p, n, q, 0, used, &ret->head, &ret->inputs));
    else
        TRY(pulser_slice(p, n->name, q->head, f->sf.axis, 0, used, &ret->head));
    TRY(front_come(p, q, frames, w, ret));
    return padded_skip(p, n, q, smaller(cut, q->before));
}

/* Windows of a padded sequence are padded by those that lie in its pad alone. */
static rill_status front_carry(struct pulser *p, const struct node *n, const void *attr,
                               struct flow f, struct flow_window w)
{
    const int64_t frames = front_frames(p, n, &f, &w);
    struct padded all = {
        .is = true, .before = frames, .mode = PULSE_PAD_VALUES, .tail = WIRE_NONE
    };
    if (frames == 0)
        return RILL_OK;
    TRY(front_given(p, n, &f, &w));
    TRY(front_cut(p, n, &f, frames, &w, &all));
    TRY(window_op(p, n, attr, all.head, &all.head));
    TRY(flow_windows(p, n, &f, &w));
    TRY(window_op(p, n, attr, f.wire, &f.wire));
    f.sf.length = dim_add_int(p->dst->dims, pulser_fact(p, n->out[0])->shape[f.sf.axis], -frames);
    all.inner = f;
    p->padded[n->out[0]] = all;
    return RILL_OK;
}

static rill_status windowed_emit(struct pulser *p, const struct node *n, const struct spatial *s,
                                 struct flow *f, const struct flow_window *w)
{
    uint32_t out;
    void *attr = NULL;
    TRY(attrs_without_pads(p, n, s, f->sf.axis - 2, &attr));
    TRY(front_carry(p, n, attr, *f, *w));
    TRY(flow_windows(p, n, f, w));
    TRY(window_op(p, n, attr, f->wire, &out));
    return pulser_bind(p, n, 0, out, &f->sf);
}

/* Windows of one frame. */
static rill_status conv_frames(struct pulser *p, const struct node *n)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    struct stream_fact sf;
    unsigned first;
    if (!in)
        return pulser_no_memory(p);
    p->windows[n - p->src->nodes] = (struct axis_window) { true, 0, 0, 1 };
    TRY(pulser_align(p, n, in, &sf, &first));
    return pulser_framewise(p, n, in, &sf);
}

/* fill: what pads are; NULL: 0 */
static rill_status conv_rule(struct pulser *p, const struct node *n, const struct tensor *fill)
{
    struct flow f;
    struct spatial s = { 0 };
    struct flow_window w = { .fill = fill };
    if (!flow_of(p, n->in[0], &f) || f.sf.axis < 2)
        return pulser_off_axis(p, n);
    spatial_read(p, n, pulser_fact(p, n->in[1]), &s);
    TRY(time_window(p, n, &s, f.sf.axis - 2, &w));
    for (unsigned i = 1; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u, its weights, runs along time", i);
    if (w.span == 0 && w.stride == 1 && w.before == 0 && w.after == 0)
        return conv_frames(p, n);
    offset_windows(&f.sf, w.before, w.after, w.span + 1, w.stride);
    TRY(flow_unpad(p, n, &f, &w));
    return windowed_emit(p, n, &s, &f, &w);
}

rill_status rule_conv(struct pulser *p, const struct node *n)
{
    return conv_rule(p, n, NULL);
}

/* Pads are the zero of the input. */
rill_status rule_conv_integer(struct pulser *p, const struct node *n)
{
    const bool has = node_has_input(n, 2);
    const struct tensor *zero = has ? pulser_fact(p, n->in[2])->value : NULL;
    if (has && !zero && pulser_stream(p, n->in[0]))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: input 2, the zero of its input, is no constant");
    return conv_rule(p, n, zero);
}

struct pool {
    struct flow f;
    struct spatial s;
    struct flow_window w;
};

/* Refused, or done off the time axis: *ret_done. */
static rill_status pool_read(struct pulser *p, const struct node *n, struct pool *q, bool *ret_done)
{
    *q = (struct pool) { .w = { 0 } };
    *ret_done = !flow_of(p, n->in[0], &q->f) || q->f.sf.axis < 2;
    if (n->n_out > 1 && n->out[1] != WIRE_NONE)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its indices count through the whole sequence");
    if (*ret_done)
        return pulser_off_axis(p, n);
    spatial_read(p, n, NULL, &q->s);
    TRY(time_window(p, n, &q->s, q->f.sf.axis - 2, &q->w));
    q->w.after += window_attr_of(n)->ceil_mode ? q->w.stride - 1 : 0;
    offset_windows(&q->f.sf, q->w.before, q->w.after, q->w.span + 1, q->w.stride);
    return RILL_OK;
}

/* Whether the last window may reach past the end. */
static bool pool_ceils(const struct node *n, const struct pool *q)
{
    return window_attr_of(n)->ceil_mode && q->w.stride > 1;
}

/* Windows that reach past the end end where what they read ends. */
static rill_status pool_unpad(struct pulser *p, const struct node *n, struct pool *q)
{
    return pool_ceils(n, q) ? RILL_OK : flow_unpad(p, n, &q->f, &q->w);
}

/* What no maximum is made of, in the type of w. NULL: no memory. */
static const struct tensor *least_of(struct pulser *p, uint32_t w)
{
    const enum dtype type = p->dst->wires[w].fact.type;
    struct tensor *t = tensor_new(p->arena, type, 0, NULL);
    if (t)
        tensor_set_f64(t, t->data, 0, dtype_least(type));
    return t;
}

rill_status rule_max_pool(struct pulser *p, const struct node *n)
{
    struct pool q;
    bool done;
    TRY(pool_read(p, n, &q, &done));
    if (done)
        return RILL_OK;
    q.w.fill = least_of(p, q.f.wire);
    if (!q.w.fill)
        return pulser_no_memory(p);
    TRY(pool_unpad(p, n, &q));
    return windowed_emit(p, n, &q.s, &q.f, &q.w);
}

rill_status rule_lp_pool(struct pulser *p, const struct node *n)
{
    struct pool q;
    bool done;
    TRY(pool_read(p, n, &q, &done));
    if (done)
        return RILL_OK;
    TRY(pool_unpad(p, n, &q));
    return windowed_emit(p, n, &q.s, &q.f, &q.w);
}

/* Which frames of the windows count: those of the sequence, with its pads where they are
 * counted. */
static rill_status counted_emit(struct pulser *p, const struct node *n, const struct pool *q,
                                int64_t before, const struct stream_fact *in, uint32_t *ret)
{
    struct dims *ds = p->dst->dims;
    struct clock_attr *at = arena_new(p->arena, struct clock_attr);
    bool pads = pool_attr_of(n)->count_include_pad != 0;
    const struct dim *length = in->length, *after = q->s.after[q->f.sf.axis - 2];
    uint32_t clock;
    if (!at)
        return pulser_no_memory(p);
    if (pads)
        length = dim_add(ds, dim_add_int(ds, length, before), after);
    *at = (struct clock_attr) { .pulse = in->pulse,
                                .frames = in->pulse - q->w.stride + q->w.span + 1,
                                .delay = q->f.sf.delay * q->w.stride + (pads ? 0 : before) };
    TRY(pulser_length_place(p, length, &at->length));
    TRY(pulser_clock(p, &clock));
    return pulser_emit(p, &op_pulse_valid, n->name, at, &clock, 1, ret, 1);
}

static rill_status average_counted(struct pulser *p, const struct node *n, struct pool *q)
{
    const struct stream_fact padded = q->f.sf;
    const int64_t before = q->w.before;
    const struct attr list[] = {
        { .name = "counted_axis", .kind = ATTR_INT, .i = q->f.sf.axis - 2 },
    };
    uint32_t in[2], out;
    void *attr = NULL;
    TRY(attrs_without_pads(p, n, &q->s, q->f.sf.axis - 2, &attr));
    const struct node plain = { .name = n->name, .op = n->op, .attr = attr };
    TRY(pulser_attr_copy(p, &plain, list, 1, &attr));
    TRY(flow_unpad(p, n, &q->f, &q->w));
    TRY(flow_windows(p, n, &q->f, &q->w));
    in[0] = q->f.wire;
    TRY(counted_emit(p, n, q, before, &padded, &in[1]));
    TRY(pulser_emit(p, n->op, n->name, attr, in, 2, &out, 1));
    return pulser_bind(p, n, 0, out, &q->f.sf);
}

/* At the ends it divides by fewer frames where pads do not count or the last window is cut. */
rill_status rule_average_pool(struct pulser *p, const struct node *n)
{
    struct pool q;
    bool done;
    TRY(pool_read(p, n, &q, &done));
    if (done)
        return RILL_OK;
    bool whole = pool_attr_of(n)->count_include_pad && !pool_ceils(n, &q);
    if (!whole && (q.w.before > 0 || q.w.after > 0))
        return average_counted(p, n, &q);
    TRY(pool_unpad(p, n, &q));
    return windowed_emit(p, n, &q.s, &q.f, &q.w);
}

/* ---- framing ---- */

/* Frames of what was computed along a stream lie where frames of the stream would. */
static void offset_of_source(const struct pulser *p, const struct node *n, struct stream_fact *sf)
{
    const struct frame_attr *a = frame_attr_of(n);
    const struct stream_fact *of = node_has_input(n, 1) ? pulser_stream(p, n->in[1]) : NULL;
    if (!of)
        return;
    struct stream_fact from = *of;
    offset_frames(&from, 0, 0, a->source_size, a->source_hop);
    sf->at = from.at;
}

rill_status rule_frame(struct pulser *p, const struct node *n)
{
    struct flow f;
    const struct frame_attr *a = frame_attr_of(n);
    int64_t size = a->size, hop = a->hop, before = a->before;
    bool drops = a->end == END_DROP;
    if (!flow_of(p, n->in[0], &f) || f.sf.axis != pulser_fact(p, n->in[0])->rank - 1)
        return pulser_off_axis(p, n);
    struct flow_window w = {
        .before = before, .after = drops ? 0 : size, .span = size - 1, .stride = hop
    };
    const struct attr list[] = {
        { .name = "before", .kind = ATTR_INT, .i = 0 },
        { .name = "end", .kind = ATTR_INT, .i = 0 },
    };
    void *attr = NULL;
    uint32_t out;
    offset_frames(&f.sf, before, 0, size, hop);
    offset_of_source(p, n, &f.sf);
    if (drops)
        TRY(flow_unpad(p, n, &f, &w));
    TRY(pulser_attr_copy(p, n, list, 2, &attr));
    if (!node_has_input(n, 1))
        TRY(front_carry(p, n, attr, f, w));
    TRY(flow_windows(p, n, &f, &w));
    TRY(pulser_emit(p, n->op, n->name, attr, &f.wire, 1, &out, 1));
    return pulser_bind(p, n, 0, out, &f.sf);
}

enum { STFT_SIGNAL, STFT_STEP, STFT_WINDOW, STFT_LENGTH };

rill_status rule_stft(struct pulser *p, const struct node *n)
{
    struct flow f;
    int64_t step, size;
    unsigned one;
    if (!flow_of(p, n->in[STFT_SIGNAL], &f) || f.sf.axis != 1)
        return pulser_off_axis(p, n);
    const struct fact *window =
        node_has_input(n, STFT_WINDOW) ? pulser_fact(p, n->in[STFT_WINDOW]) : NULL;
    if (!pulser_const_ints(p, n, STFT_STEP, &step, 1, &one) || one != 1 || step < 1)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its step depends on data");
    if (!pulser_const_ints(p, n, STFT_LENGTH, &size, 1, &one)) {
        if (!window || !dim_is_const(window->shape[0]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: the length of its frames depends on data");
        size = dim_value(window->shape[0]);
    }
    uint32_t in[4] = { 0 }, out;
    struct flow_window w = { .span = size - 1, .stride = step };
    offset_frames(&f.sf, 0, 0, size, step);
    TRY(flow_unpad(p, n, &f, &w));
    TRY(front_carry(p, n, n->attr, f, w));
    TRY(flow_windows(p, n, &f, &w));
    in[0] = f.wire;
    for (unsigned i = 1; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, &out, 1));
    return pulser_bind(p, n, 0, out, &f.sf);
}
