/* SPDX-License-Identifier: MIT */
/* Flows: delays, histories, masks, padding and windows of a streaming wire. */
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/pulser.h"
#include "pulse/remainders.h"

#include <string.h>

struct wire_history {
    uint32_t wire, joined;
    int64_t frames;
    const struct tensor *fill;
    struct wire_history *next;
};

bool flow_of(const struct pulser *p, uint32_t src_wire, struct flow *ret)
{
    const struct stream_fact *s = pulser_stream(p, src_wire);
    if (!s)
        return false;
    *ret = (struct flow) { p->map[src_wire], *s };
    return true;
}

bool flow_of_windowed(const struct pulser *p, uint32_t src_wire, struct flow *ret,
                      int64_t *ret_before, int64_t *ret_after)
{
    const struct padded *q = src_wire == WIRE_NONE ? NULL : &p->padded[src_wire];
    *ret_before = *ret_after = 0;
    if (!q || !q->is || q->fill || q->mode != PULSE_PAD_CONSTANT)
        return flow_of(p, src_wire, ret);
    *ret = q->inner;
    ret->sf.at = p->sf[src_wire].at;
    *ret_before = q->before;
    *ret_after = q->after;
    return true;
}

bool flow_fill_same(const struct tensor *a, const struct tensor *b)
{
    return a == b ||
        (a && b && a->type == b->type && !memcmp(a->data, b->data, dtype_bytes(a->type)));
}

/* ---- history ---- */

static const struct wire_history *history_find(const struct pulser *p, uint32_t wire,
                                               int64_t frames, const struct tensor *fill)
{
    for (const struct wire_history *h = p->histories; h; h = h->next)
        if (h->wire == wire && h->frames == frames && flow_fill_same(h->fill, fill))
            return h;
    return NULL;
}

#define WINDOW_SHARE 8

/* history ++ wire. The past is a state; where it is no small part of the window, the whole window
 * is: one copy less, of rows that are short, and a pulse of memory more. */
static rill_status history_join(struct pulser *p, const char *name, uint32_t wire, int axis,
                                int64_t keep, const struct tensor *fill, uint32_t *ret)
{
    const struct fact f = *pulser_dst_fact(p, wire);
    struct pulse_history_attr *a = arena_new(p->arena, struct pulse_history_attr);
    const struct tensor *init = NULL;
    int64_t pulse = dim_value(f.shape[axis]);
    bool window = keep * WINDOW_SHARE >= pulse;
    uint32_t in[2] = { 0, wire }, out[2];
    if (!a)
        return pulser_no_memory(p);
    a->axis = axis;
    TRY(pulser_state(p, name, &f, axis, window ? keep + pulse : keep, &in[0]));
    TRY(pulser_filled(p, in[0], fill, &init));
    TRY(pulser_emit(p, window ? &op_pulse_window : &op_pulse_history, name, a, in, 2, out,
                    window ? 1 : 2));
    *ret = out[0];
    return graph_add_state(p->dst, name, in[0], out[!window], init) ? RILL_OK : pulser_no_memory(p);
}

rill_status flow_history(struct pulser *p, const char *name, struct flow *f, int64_t n,
                         const struct tensor *fill)
{
    const struct wire_history *old = history_find(p, f->wire, n, fill);
    if (n == 0)
        return RILL_OK;
    if (old) {
        f->wire = old->joined;
        return RILL_OK;
    }
    struct wire_history *h = arena_new(p->arena, struct wire_history);
    if (!h)
        return pulser_no_memory(p);
    *h = (struct wire_history) { .wire = f->wire, .frames = n, .fill = fill, .next = p->histories };
    TRY(history_join(p, name, f->wire, f->sf.axis, n, fill, &h->joined));
    f->wire = h->joined;
    p->histories = h;
    return RILL_OK;
}

rill_status flow_delay(struct pulser *p, const char *name, struct flow *f, int64_t n)
{
    if (n == 0)
        return RILL_OK;
    if (!f->sf.uniform) {
        TRY(flow_history(p, name, f, n, NULL));
        TRY(pulser_slice(p, name, f->wire, f->sf.axis, 0, f->sf.pulse, &f->wire));
    }
    f->sf.delay += n;
    return RILL_OK;
}

/* ---- the end of the sequence ---- */

const struct dim *flow_runs(const struct pulser *p, const struct stream_fact *s)
{
    struct dims *ds = p->dst->dims;
    int64_t units;
    if (__builtin_mul_overflow(s->pulse, s->hop_num, &units) || units % s->hop_den)
        return NULL;
    return dim_div_int(ds, dim_add_int(ds, p->symbol, p->lead_in), units / s->hop_den);
}

/* Frames of the wire that have come by t units of the symbol; of whole runs, since what comes after
 * them comes when the length is known. */
static const struct dim *frames_come(const struct pulser *p, const struct stream_fact *s, bool runs)
{
    struct dims *ds = p->dst->dims;
    const struct dim *whole = runs ? flow_runs(p, s) : NULL;
    if (!whole)
        return dim_div_int(ds, dim_mul_int(ds, dim_add_int(ds, p->symbol, p->lead_in), s->hop_den),
                           s->hop_num);
    return dim_mul_int(ds, whole, s->pulse);
}

/* Of what has come length(t) + delay frames belong to the sequence or come before it: by how many
 * there are more, at most, whatever t. Lengths of which no whole sequence of `frames` or more can
 * be made have no say, nor those that are known before the first run. False: there is no bound, or
 * it falls behind, or that is not known. */
static bool early_find(const struct pulser *p, const struct stream_fact *s, bool runs,
                       int64_t frames, int64_t *ret)
{
    const struct dim *both[2] = { frames_come(p, s, runs), s->length };
    struct lengths l;
    int64_t come, length;
    bool known = lengths_decide(p, both, 2, 0, true, &l) && l.rise[0] == l.rise[1];
    *ret = INT64_MIN;
    for (int64_t t = 0; known && t < l.end; t++)
        if (dim_eval(both[0], p->symbol, t, &come) && dim_eval(s->length, p->symbol, t, &length) &&
            length >= frames && (come > 0 || s->delay >= 0))
            *ret = larger(*ret, come - length - s->delay);
    return *ret > INT64_MIN;
}

/* Runs and lengths may repeat together only after too long: then as if each frame were a run. */
static bool frames_early(const struct pulser *p, const struct stream_fact *s, int64_t frames,
                         int64_t *ret)
{
    return early_find(p, s, true, frames, ret) || early_find(p, s, false, frames, ret);
}

bool pulser_dim_value(const struct pulser *p, const struct dim *d, int64_t *ret)
{
    int64_t least, most;
    if (!lengths_range(p, d, &least, &most) || least != most)
        return false;
    *ret = least;
    return true;
}

/* By how many frames f must be later for flow_resolve, of sequences of so many frames or more. */
static rill_status resolve_some(struct pulser *p, const struct node *n, const struct flow *f,
                                int64_t frames, int64_t *ret)
{
    int64_t early;
    if (!frames_early(p, &f->sf, frames, &early)) {
        char length[128];
        dim_print(f->sf.length, length, sizeof length);
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its input has %s frames in all, which do not grow with "
                       "the stream at %lld frames in %lld",
                       length, (long long) f->sf.hop_den, (long long) f->sf.hop_num);
    }
    *ret = larger(early, 0);
    return RILL_OK;
}

static rill_status resolve_frames(struct pulser *p, const struct node *n, const struct flow *f,
                                  int64_t *ret)
{
    return resolve_some(p, n, f, 0, ret);
}

rill_status flow_resolve_some(struct pulser *p, const struct node *n, struct flow *f)
{
    int64_t more = 0;
    TRY(resolve_some(p, n, f, 1, &more));
    return flow_delay(p, n->name, f, more);
}

rill_status flow_resolve(struct pulser *p, const struct node *n, struct flow *f)
{
    int64_t more = 0;
    TRY(resolve_frames(p, n, f, &more));
    return flow_delay(p, n->name, f, more);
}

/* ---- padding and masks ---- */

/* Delay of the padded sequence: its frame 0 may come once the frames it is made from are there;
 * those of the sequence once it is known that they lie before its end, `early` frames later. In a
 * branch not before the first frames that a run hands over, which may be the branch's first. */
static int64_t pad_delay(const struct pulser *p, const struct flow *f, const struct flow_pad *pad,
                         int64_t early)
{
    const int64_t d = f->sf.delay, pulse = f->sf.pulse, first = pulser_late(p, &f->sf);
    int64_t least = larger(d + early - pad->before, first);
    if (pad->before > 0 && pad->mode == PULSE_PAD_EDGE)
        least = larger(least, d / pulse * pulse);
    if (pad->before > 0 && pad->mode == PULSE_PAD_REFLECT)
        least = larger(least, (d + pad->before) / pulse * pulse);
    return least;
}

/* Frames of the past that the padded sequence still reads. */
static int64_t pad_past(const struct flow *f, const struct flow_pad *pad, int64_t delay)
{
    int64_t d = f->sf.delay, past = pad->before + delay - d;
    bool copies = pad->mode == PULSE_PAD_EDGE || pad->mode == PULSE_PAD_REFLECT;
    if (copies && pad->after > 0)
        past += pad->mode == PULSE_PAD_EDGE ? pad->after : 2 * pad->after;
    if (copies && pad->before > 0)
        past = larger(past, (pad->before - 1 + delay) / f->sf.pulse * f->sf.pulse - d);
    return larger(past, 0);
}

static rill_status pad_attr_new(struct pulser *p, const struct flow *f, const struct flow_pad *pad,
                                int64_t delay, int64_t past, int64_t frames,
                                const struct pulse_pad_attr **ret)
{
    struct pulse_pad_attr *a = arena_new(p->arena, struct pulse_pad_attr);
    if (!a)
        return pulser_no_memory(p);
    *a = (struct pulse_pad_attr) { .at = { .pulse = f->sf.pulse, .frames = frames, .delay = delay },
                                   .axis = f->sf.axis,
                                   .mode = pad->mode,
                                   .before = pad->before,
                                   .after = pad->after,
                                   .shift = f->sf.delay + past };
    *ret = a;
    return pulser_length_place(p, f->sf.length, &a->at.length);
}

/* Of f with so many frames of its past in front. frames: how many a run gives, the first of them
 * where a pulse begins; 0: a pulse. */
static rill_status pad_put(struct pulser *p, const struct node *n, struct flow *f,
                           const struct flow_pad *pad, int64_t delay, int64_t past, int64_t frames)
{
    const struct pulse_pad_attr *a = NULL;
    uint32_t in[4] = { 0, 0, pad->head, pad->tail };
    TRY(pad_attr_new(p, f, pad, delay, past, frames, &a));
    in[0] = f->wire;
    TRY(pulser_clock(p, &in[1]));
    if (pad->mode != PULSE_PAD_VALUES)
        in[2] = in[3] = WIRE_NONE;
    if (pad->mode == PULSE_PAD_CONSTANT && pad->fill &&
        (in[2] = graph_add_const(p->dst, n->name, pad->fill)) == WIRE_NONE)
        return pulser_no_memory(p);
    TRY(pulser_emit(p, &op_pulse_pad, n->name, a, in, 4, &f->wire, 1));
    f->sf.delay = delay;
    f->sf.uniform = false;
    return RILL_OK;
}

static rill_status pad_emit(struct pulser *p, const struct node *n, struct flow *f,
                            const struct flow_pad *pad, int64_t delay, int64_t past, int64_t frames)
{
    TRY(flow_history(p, n->name, f, past, NULL));
    return pad_put(p, n, f, pad, delay, past, frames);
}

static rill_status pad_check(const struct pulser *p, const struct node *n,
                             const struct flow_pad *pad)
{
    if (pad->before > INT32_MAX || pad->after > INT32_MAX || pad->before < -INT32_MAX ||
        pad->after < -INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "pads of more than 2^31 frames do not stream");
    return RILL_OK;
}

rill_status flow_pad(struct pulser *p, const struct node *n, struct flow *f,
                     const struct flow_pad *pad)
{
    struct flow_pad q = *pad;
    int64_t early = 0;
    TRY(pad_check(p, n, pad));
    if (q.before < 0) {
        f->sf.delay -= f->sf.uniform ? 0 : q.before;
        offset_cut(&f->sf, -q.before, 1);
        f->sf.length = dim_add_int(p->dst->dims, f->sf.length, q.before);
        q.before = 0;
    }
    q.after = larger(q.after, 0);
    if (q.before == 0 && q.after == 0)
        return RILL_OK;
    if (q.after)
        TRY(resolve_frames(p, n, f, &early));
    int64_t delay = pad_delay(p, f, &q, early);
    offset_padded(&f->sf, q.before, q.after);
    return pad_emit(p, n, f, &q, delay, pad_past(f, &q, delay), 0);
}

rill_status flow_mask(struct pulser *p, const struct node *n, struct flow *f,
                      const struct tensor *fill, bool before, bool after)
{
    const struct flow_pad none = {
        .mode = PULSE_PAD_CONSTANT, .fill = fill, .head = WIRE_NONE, .tail = WIRE_NONE
    };
    if (after)
        TRY(flow_resolve(p, n, f));
    if (!after && (!before || f->sf.delay == 0))
        return RILL_OK;
    return pad_emit(p, n, f, &none, f->sf.delay, 0, 0);
}

rill_status flow_checked(struct pulser *p, const struct node *n, unsigned i, struct flow *f)
{
    return i && i == n->op->checked ? flow_mask(p, n, f, NULL, true, true) : RILL_OK;
}

/* ---- windows ---- */

/* Ceiling of a/b, 0 where negative. */
static int64_t frames_up(int64_t a, int64_t b)
{
    return a <= 0 ? 0 : (a + b - 1) / b;
}

void flow_scale(struct stream_fact *s, int64_t num, int64_t den)
{
    int64_t a = s->hop_num * num, b = s->hop_den * den, g = gcd(a, b);
    s->hop_num = a / g;
    s->hop_den = b / g;
}

static rill_status window_check(struct pulser *p, const struct node *n, const struct flow_window *w,
                                const struct stream_fact *s)
{
    const int64_t list[] = { w->before, w->after, w->span, w->stride };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i] > 1 << 24 || list[i] < -(1 << 24))
            return op_fail(p->err, RILL_LIMIT, n,
                           "a window of more than 2^24 frames does not stream");
    return pulser_want_multiple(p, n, s, w->stride, "its hop");
}

static struct flow_pad pad_of(const struct padded *q)
{
    return (struct flow_pad) { .mode = q->mode,
                               .before = q->before,
                               .after = q->after,
                               .fill = q->fill,
                               .head = q->head,
                               .tail = q->tail };
}

rill_status flow_padded(struct pulser *p, const struct node *n, struct flow *f,
                        const struct padded *q, int64_t delay, int64_t frames)
{
    const struct flow_pad pad = pad_of(q);
    return pad_emit(p, n, f, &pad, delay, pad_past(f, &pad, delay), frames);
}

rill_status flow_tail(struct pulser *p, const struct node *n, struct flow *f,
                      const struct padded *heads, const struct flow_pad *pad)
{
    struct flow all = *f;
    int64_t early;
    all.sf.delay -= heads->before;
    all.sf.length = dim_add_int(p->dst->dims, f->sf.length, heads->before);
    TRY(resolve_frames(p, n, &all, &early));
    const int64_t delay = all.sf.delay + early, past = pad_past(&all, pad, delay);
    TRY(flow_padded(p, n, f, heads, all.sf.delay + past, all.sf.pulse + past));
    all.wire = f->wire;
    TRY(pad_put(p, n, &all, pad, delay, past, 0));
    f->wire = all.wire;
    f->sf.delay = delay + heads->before;
    return RILL_OK;
}

/* Windows over a sequence whose pads are frames, its own or given ones: no later than the window,
 * or the frames that its first pads are made of. */
static rill_status windows_of_copies(struct pulser *p, const struct node *n, struct flow *f,
                                     const struct flow_window *w)
{
    const int64_t s = w->stride, used = f->sf.pulse - s + w->span + 1;
    const struct flow_pad pad = pad_of(w->copies);
    int64_t early = 0;
    if (pad.after)
        TRY(resolve_frames(p, n, f, &early));
    const int64_t window = w->span + 1 - s + f->sf.delay + early - pad.before,
                  least =
                      larger(pad_delay(p, f, &pad, early), padded_heads_delay(w->copies, w->span)),
                  lag = frames_up(larger(window, least), s);
    p->windows[n - p->src->nodes] =
        (struct axis_window) { true, pad.before, w->span - pad.before, s };
    TRY(flow_padded(p, n, f, w->copies, lag * s, used));
    f->sf.pulse /= s;
    f->sf.delay = lag;
    flow_scale(&f->sf, s, 1);
    return RILL_OK;
}

rill_status flow_windows(struct pulser *p, const struct node *n, struct flow *f,
                         const struct flow_window *w)
{
    int64_t s = w->stride, lag, past, skip, used;
    TRY(window_check(p, n, w, &f->sf));
    if (w->copies)
        return windows_of_copies(p, n, f, w);
    p->windows[n - p->src->nodes] =
        (struct axis_window) { true, w->before, w->span - w->before, w->stride };
    TRY(flow_mask(p, n, f, w->fill, w->before > 0, w->after > 0));
    lag = frames_up(w->span + 1 - s + f->sf.delay - w->before, s);
    past = lag * s + w->before - f->sf.delay;
    skip = past < 0 ? -past : 0;
    past = past < 0 ? 0 : past;
    used = f->sf.pulse - s + w->span + 1;
    TRY(flow_history(p, n->name, f, past, w->before > 0 ? w->fill : NULL));
    if (skip || used < past + f->sf.pulse)
        TRY(pulser_slice(p, n->name, f->wire, f->sf.axis, skip, skip + used, &f->wire));
    f->sf.pulse /= s;
    f->sf.delay = lag;
    f->sf.uniform = false;
    flow_scale(&f->sf, s, 1);
    return RILL_OK;
}

/* The windows' first frames; of those over copies, which begin where the sequence does, their
 * last. */
static rill_status windows_picked(struct pulser *p, const struct node *n, struct flow *f,
                                  const struct flow_window *w)
{
    const int64_t first = w->copies ? w->span : 0;
    TRY(flow_windows(p, n, f, w));
    const int64_t list[] = { first, INT32_MAX, f->sf.axis, w->stride };
    uint32_t in[5] = { f->wire };
    for (unsigned k = 0; k < 4; k++)
        TRY(pulser_ints(p, n->name, &list[k], 1, &in[1 + k]));
    return first == 0 && w->stride == 1
        ? RILL_OK
        : pulser_emit_op(p, OP_SLICE, n->name, NULL, 0, in, 5, &f->wire);
}

/* Whether frames first.. of a padded wire come earlier out of what is in front of the pad. */
static bool picks_early(const struct padded *q, const struct flow *f, int64_t first)
{
    return q->is && first > 0 && q->inner.sf.delay - q->before < f->sf.delay;
}

/* Of the frames behind a padded sequence those that are picked, where that is a number: what ends
 * before them does not wait for the end. */
static int64_t frames_picked(struct pulser *p, const struct node *n, unsigned k,
                             const struct padded *q, int64_t first, int64_t step)
{
    struct dims *ds = p->dst->dims;
    const struct stream_fact *sf = &q->inner.sf;
    const struct dim *frames = dim_mul_int(ds, pulser_fact(p, n->out[k])->shape[sf->axis], step),
                     *past = dim_sub(ds, dim_add_int(ds, frames, first - q->before), sf->length);
    return dim_is_const(past) ? larger(smaller(dim_value(past) - step + 1, q->after), 0) : q->after;
}

/* Those of what is padded by copies, or by given frames: what is left out in front is not waited
 * for. */
static rill_status copies_picked(struct pulser *p, const struct node *n, struct flow *f,
                                 const struct padded *padded, int64_t first, int64_t step)
{
    struct padded *q = arena_copy(p->arena, padded, sizeof *q);
    const int64_t cut = smaller(first, padded->before);
    if (!q)
        return pulser_no_memory(p);
    TRY(padded_skip(p, n, q, cut));
    const struct flow_window none = { .before = cut - first, .stride = step },
                             some = { .span = first - cut, .stride = step, .copies = q };
    return windows_picked(p, n, f, q->before || q->after ? &some : &none);
}

rill_status flow_picked(struct pulser *p, const struct node *n, unsigned k, struct flow *f,
                        int64_t first, int64_t step)
{
    const struct padded *q = &p->padded[n->in[0]];
    struct flow_window w = { .before = -first, .stride = step };
    offset_cut(&f->sf, first, step);
    if (!picks_early(q, f, first))
        return windows_picked(p, n, f, &w);
    const struct offset at = f->sf.at;
    *f = q->inner;
    f->sf.at = at;
    if (q->mode != PULSE_PAD_CONSTANT)
        return copies_picked(p, n, f, q, first, step);
    w.before += q->before;
    w.after = frames_picked(p, n, k, q, first, step);
    w.fill = q->fill;
    return windows_picked(p, n, f, &w);
}

/* ---- alignment ---- */

static bool same_rate(const struct stream_fact *a, const struct stream_fact *b)
{
    return a->pulse == b->pulse && a->hop_num * b->hop_den == b->hop_num * a->hop_den;
}

/* Equal for all lengths of the stream of which there is a sequence. One frame beside none is
 * none. */
static bool same_length(const struct pulser *p, const struct dim *a, const struct dim *b)
{
    const struct dim *both[2] = { a, b };
    struct lengths l = { 0 };
    int64_t x, y;
    if (a != b && !lengths_decide(p, both, 2, 0, false, &l))
        return false;
    for (int64_t at = 0; a != b && at < l.end; at++)
        if (dims_allow(p->dst->dims, p->symbol, at) && dim_eval(a, p->symbol, at, &x) &&
            dim_eval(b, p->symbol, at, &y) && x >= 0 && y >= 0 && x != y && x + y != 1)
            return false;
    return true;
}

static rill_status lengths_refuse(const struct pulser *p, const struct node *n, const struct dim *a,
                                  const struct dim *b)
{
    char x[128], y[128];
    dim_print(a, x, sizeof x);
    dim_print(b, y, sizeof y);
    const int64_t from = lengths_even_from(p, a, b);
    if (from)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its inputs have %s and %s frames, which are as many from "
                       "%s = %lld on: --assert \"%s >= %lld\" leaves shorter ones out",
                       x, y, dim_name(p->symbol), (long long) from, dim_name(p->symbol),
                       (long long) from);
    char text[160];
    struct remainder r;
    if (remainder_of_same(p, a, b, &r)) {
        remainder_print(p, r, text, sizeof text);
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its inputs have %s and %s frames, which are not as many for "
                       "every length: --assert \"%s\" leaves out those for which they are not",
                       x, y, text);
    }
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: its inputs have %s and %s frames, which fit each other for "
                   "single lengths only; slice or pad them to the same number",
                   x, y);
}

rill_status pulser_lengths_same(const struct pulser *p, const struct node *n, const struct dim *a,
                                const struct dim *b)
{
    return same_length(p, a, b) ? RILL_OK : lengths_refuse(p, n, a, b);
}

/* The streaming input that the others follow: the first that is not uniform, else the first. */
static rill_status align_lead(struct pulser *p, const struct node *n, const struct flow *flows,
                              struct stream_fact *ret_sf, unsigned *ret_first)
{
    const struct stream_fact *lead = NULL, *sure = NULL, *s;
    int64_t delay = 0;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!pulser_stream(p, n->in[i]))
            continue;
        s = &flows[i].sf;
        if (lead && !same_rate(lead, s))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "its streaming inputs have different rates: %lld and %lld frames "
                           "a pulse",
                           (long long) lead->pulse, (long long) s->pulse);
        if (lead)
            TRY(pulser_lengths_same(p, n, lead->length, s->length));
        if (!lead || (lead->uniform && !s->uniform)) {
            lead = s;
            *ret_first = i;
        }
        if (!sure && !s->uniform && !s->at.guessed)
            sure = s;
        delay = s->delay > delay ? s->delay : delay;
    }
    *ret_sf = *lead;
    ret_sf->at = sure ? sure->at : lead->at;
    ret_sf->delay = delay;
    return RILL_OK;
}

rill_status pulser_align(struct pulser *p, const struct node *n, uint32_t *ret_in,
                         struct stream_fact *ret_sf, unsigned *ret_first)
{
    struct flow *flows = arena_array(p->arena, struct flow, n->n_in + 1);
    if (!flows)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        if (flow_of(p, n->in[i], &flows[i]))
            TRY(flow_checked(p, n, i, &flows[i]));
    TRY(align_lead(p, n, flows, ret_sf, ret_first));
    ret_sf->delay = larger(ret_sf->delay, kept_delay(p, n, ret_sf));
    ret_sf->uniform = ret_sf->uniform && !node_has_kept(p, n);
    for (unsigned i = 0; i < n->n_in; i++) {
        struct flow *f = &flows[i];
        ret_in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
        if (!pulser_stream(p, n->in[i]))
            continue;
        TRY(flow_delay(p, n->name, f, ret_sf->delay - f->sf.delay));
        ret_in[i] = f->wire;
    }
    return RILL_OK;
}
