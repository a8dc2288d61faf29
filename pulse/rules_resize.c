/* SPDX-License-Identifier: MIT */
/* Resize: other axes as they are. Along time each frame is repeated, or the frames of a period lie
 * at the same places among those of the input in every period. */
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/remainders.h"
#include "pulse/resized.h"
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

/* So many frames, or those of a run, each repeated. */
static rill_status repeats_emit(struct pulser *p, const struct node *n, const struct flow *to,
                                uint32_t *wire)
{
    uint32_t in[4] = { *wire, WIRE_NONE, WIRE_NONE, WIRE_NONE };
    if (has_input(p, n, IN_SCALES))
        in[IN_SCALES] = p->map[n->in[IN_SCALES]];
    else
        TRY(resize_sizes(p, n, to, &in[IN_SIZES]));
    return pulser_emit(p, n->op, n->name, n->attr, in, 4, wire, 1);
}

static rill_status flow_repeated(struct pulser *p, const struct node *n, struct flow *f,
                                 int64_t times)
{
    if (__builtin_mul_overflow(f->sf.pulse, times, &f->sf.pulse) || f->sf.pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "a pulse that is %lld times as long is too long",
                       (long long) times);
    f->sf.delay *= times;
    flow_scale(&f->sf, 1, times);
    return repeats_emit(p, n, f, &f->wire);
}

/* What is padded by numbers or given frames is so when all are repeated; of copies, those of the
 * ends. */
static rill_status repeats_carry(struct pulser *p, const struct node *n, int64_t times)
{
    struct padded q = p->padded[n->in[IN_X]];
    if (!q.is || (q.mode == PULSE_PAD_REFLECT && times > 1))
        return RILL_OK;
    TRY(flow_repeated(p, n, &q.inner, times));
    q.inner.sf.length = dim_mul_int(p->dst->dims, q.inner.sf.length, times);
    if (q.mode == PULSE_PAD_CONSTANT && q.fill) {
        TRY(padded_frames(p, n, &q, q.before, WIRE_NONE, &q.head));
        TRY(padded_frames(p, n, &q, q.after, WIRE_NONE, &q.tail));
        q.mode = PULSE_PAD_VALUES;
        q.fill = NULL;
    }
    TRY(padded_come_spread(p, &q, times, 1, &q.come));
    q.before *= times;
    q.after *= times;
    struct flow part = q.inner;
    part.sf.pulse = q.before;
    if (q.mode == PULSE_PAD_VALUES && q.before)
        TRY(repeats_emit(p, n, &part, &q.head));
    part.sf.pulse = q.after;
    if (q.mode == PULSE_PAD_VALUES && q.after)
        TRY(repeats_emit(p, n, &part, &q.tail));
    p->padded[n->out[0]] = q;
    return RILL_OK;
}

static rill_status resize_emit(struct pulser *p, const struct node *n, struct flow *f,
                               int64_t times)
{
    TRY(flow_repeated(p, n, f, times));
    TRY(pulser_bind(p, n, 0, f->wire, &f->sf));
    return repeats_carry(p, n, times);
}

/* ---- frames between those of the input ---- */

static int64_t frames_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The frame at or in front of output frame i. */
static int64_t place_under(const struct stretch *s, int64_t i)
{
    return frames_down(i * s->down, s->up);
}

/* The delay by which output frame i comes in the run, or later, in which input frame k has come. */
static int64_t known_by(const struct flow *f, const struct stretch *s, int64_t k, int64_t i)
{
    return (k + f->sf.delay) / f->sf.pulse * (f->sf.pulse / s->down * s->up) - i;
}

/* The delay by which it is known, when output frame 0 comes, whether it is the only one: behind the
 * last run that is a whole one of a sequence of which one is made. */
static int64_t single_known(const struct pulser *p, const struct flow *f, const struct stretch *s)
{
    const struct dim *both[2] = { flow_runs(p, &f->sf), s->length };
    const int64_t pulse = f->sf.pulse / s->down * s->up;
    struct lengths l;
    int64_t runs, length, most = 0;
    if (p->outer || !both[0] || !lengths_decide(p, both, 2, 1, true, &l))
        return known_by(f, s, (2 * s->down + s->up - 1) / s->up - 1, 0);
    for (int64_t t = 0; t < l.end; t++)
        if (dim_eval(both[0], p->symbol, t, &runs) && dim_eval(s->length, p->symbol, t, &length) &&
            length == 1)
            most = larger(most, runs);
    return most * pulse;
}

/* The delay, or, below 0, by how many frames it is too early, by which every frame is there that an
 * output frame reads; runs of `down` input frames are the tightest. Those that read frames before
 * the first wait for that, in the first runs only. */
#define PERIODS 4

static void stretch_place(const struct pulser *p, const struct resize_map *m, const struct flow *f,
                          struct stretch *s)
{
    int64_t lowest = INT64_MAX;
    s->front = 0;
    s->delay = INT64_MIN;
    for (int64_t i = 0; i < PERIODS * s->up; i++) {
        struct reach r = reach_of(m, i);
        int64_t run = frames_down(larger(r.high, 0) + f->sf.delay, s->down);
        s->delay = larger(s->delay,
                          r.high < 0 && f->sf.delay >= 0 ? known_by(f, s, 0, i) : run * s->up - i);
        s->front = larger(s->front, -r.low);
    }
    s->delay = larger(s->delay, s->least);
    if (s->single)
        s->delay = larger(s->delay, single_known(p, f, s));
    for (int64_t i = 0; i < s->up; i++) {
        struct reach r = reach_of(m, i - s->delay);
        int64_t under = s->single ? place_under(s, i - s->delay) : r.low;
        lowest = r.low < lowest ? r.low : lowest;
        lowest = under < lowest ? under : lowest;
    }
    s->history = larger(s->beyond - lowest - f->sf.delay, 0);
}

/* Frames before the first and behind the last are those. */
static rill_status stretch_clamp(struct pulser *p, const struct node *n, struct flow *f,
                                 const struct stretch *s)
{
    struct pulse_pad_attr *a = arena_new(p->arena, struct pulse_pad_attr);
    uint32_t in[2] = { f->wire };
    int64_t place = f->sf.delay + s->history;
    if (!a)
        return pulser_no_memory(p);
    *a = (struct pulse_pad_attr) {
        .at = { .pulse = f->sf.pulse, .delay = place, .frames = f->sf.pulse + s->history },
        .axis = f->sf.axis,
        .mode = PULSE_PAD_EDGE,
        .shift = place,
    };
    TRY(pulser_length_place(p, f->sf.length, &a->at.length));
    TRY(pulser_clock(p, &in[1]));
    return pulser_emit(p, &op_pulse_pad, n->name, a, in, 2, &f->wire, 1);
}

/* The resized frames of a run; mode and place: CHOICES of the op. */
static rill_status frames_emit(struct pulser *p, const struct node *n, const struct flow *f,
                               const struct stretch *s, const struct stream_fact *to, int mode,
                               int coord, int near, uint32_t *ret)
{
    const struct attr list[] = {
        { .name = "window_axis", .kind = ATTR_INT, .i = f->sf.axis },
        { .name = "window_up", .kind = ATTR_INT, .i = s->up },
        { .name = "window_down", .kind = ATTR_INT, .i = s->down },
        { .name = "window_first", .kind = ATTR_INT, .i = -s->delay },
        { .name = "window_shift", .kind = ATTR_INT, .i = f->sf.delay + s->history },
        { .name = "mode", .kind = ATTR_CHOICE, .i = mode },
        { .name = "coordinate_transformation_mode", .kind = ATTR_CHOICE, .i = coord },
        { .name = "nearest_mode", .kind = ATTR_CHOICE, .i = near },
    };
    uint32_t in[4] = { f->wire, WIRE_NONE, WIRE_NONE, WIRE_NONE };
    const struct flow made = { f->wire, *to };
    void *attr;
    TRY(pulser_attr_copy(p, n, list, sizeof list / sizeof *list, &attr));
    if (has_input(p, n, IN_SCALES))
        in[IN_SCALES] = p->map[n->in[IN_SCALES]];
    TRY(resize_sizes(p, n, &made, &in[IN_SIZES]));
    return pulser_emit(p, n->op, n->name, attr, in, 4, ret, 1);
}

/* bool[pulse], along the axis of a wire: the frame `ahead` of this one is of the sequence. */
static rill_status frame_valid(struct pulser *p, const struct node *n, const struct stream_fact *sf,
                               int64_t ahead, uint32_t *ret)
{
    struct clock_attr *at = arena_new(p->arena, struct clock_attr);
    uint32_t clock;
    if (!at)
        return pulser_no_memory(p);
    *at = (struct clock_attr) { .pulse = sf->pulse, .delay = sf->delay - ahead };
    TRY(pulser_length_place(p, pulser_fact(p, n->out[0])->shape[sf->axis], &at->length));
    TRY(pulser_clock(p, &clock));
    return pulser_emit(p, &op_pulse_valid, n->name, at, &clock, 1, ret, 1);
}

/* The first frame of the input where the output has only one: neither is there one behind it, nor
 * in front. */
static rill_status single_emit(struct pulser *p, const struct node *n, const struct flow *f,
                               const struct stretch *s, const struct stream_fact *to, uint32_t *y)
{
    uint32_t first, two[2], many, shape, in[3];
    int64_t dim[RANK_MAX];
    int rank = pulser_fact(p, n->out[0])->rank;
    for (int i = 0; i < rank; i++) {
        dim[i] = i == to->axis ? to->pulse : 1;
        if (i != to->axis &&
            pulser_fact(p, n->in[IN_X])->shape[i] != pulser_fact(p, n->out[0])->shape[i])
            return op_fail(
                p->err, RILL_UNSUPPORTED, n,
                "cannot stream: by pytorch_half_pixel an output of one frame lies on the "
                "first, and another axis is resized, too; half_pixel streams");
    }
    TRY(frames_emit(p, n, f, s, to, RESIZE_NEAREST, COORD_ASYMMETRIC, NEAR_FLOOR, &first));
    TRY(frame_valid(p, n, to, 1, &two[0]));
    TRY(frame_valid(p, n, to, -1, &two[1]));
    TRY(pulser_emit_op(p, OP_OR, n->name, NULL, 0, two, 2, &many));
    TRY(pulser_ints(p, n->name, dim, (unsigned) rank, &shape));
    TRY(pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, (uint32_t[]) { many, shape }, 2, &in[0]));
    in[1] = *y;
    in[2] = first;
    return pulser_emit_op(p, OP_WHERE, n->name, NULL, 0, in, 3, y);
}

static rill_status stretch_emit(struct pulser *p, const struct node *n, struct flow *f,
                                const struct stretch *s)
{
    const struct resize_attr *a = resize_attr_of(n);
    const struct flow from = *f;
    struct stream_fact to = f->sf;
    if (__builtin_mul_overflow(to.pulse / s->down, s->up, &to.pulse) || to.pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "a pulse that is %lld times as long is too long",
                       (long long) s->up);
    to.delay = s->delay;
    to.uniform = false;
    flow_scale(&to, s->down, s->up);
    TRY(frames_emit(p, n, &from, s, &to, a->mode, a->coord, a->near, &f->wire));
    if (s->single)
        TRY(single_emit(p, n, &from, s, &to, &f->wire));
    f->sf = to;
    return RILL_OK;
}

/* ---- behind what is padded ---- */

/* Whether known frames are in front of the sequence, and what is behind the node comes earlier out
 * of what is behind them. */
static bool heads_wanted(const struct pulser *p, const struct node *n, const struct stretch *s)
{
    const struct padded *q = &p->padded[n->in[IN_X]];
    const bool kept = q->inputs || q->mode == PULSE_PAD_EDGE || q->mode == PULSE_PAD_REFLECT;
    return q->is && !p->outer && !s->single && q->before > 0 &&
        q->before <= (kept ? PADDED_KEPT_MAX : PADDED_GIVEN_MAX) &&
        p->sf[n->in[IN_X]].delay > q->inner.sf.delay - q->before && padded_heads_or_none(p, q);
}

/* All that is in front of the sequence as given frames; s->least: by what output frames must be
 * late that read those which the sequence has to bring. */
static rill_status heads_given(struct pulser *p, const struct node *n, struct padded *q,
                               struct stretch *s)
{
    TRY(padded_given(p, n, p->sf[n->in[IN_X]].length, q->before, q));
    q->come = NULL;
    const int64_t pulse = q->inner.sf.pulse, run = padded_heads_delay(q, 0) / pulse;
    s->least = run > 0 ? run * (pulse / s->down * s->up) : INT64_MIN;
    return RILL_OK;
}

/* The frames of a run and of its past, f, of what q pads. */
static rill_status heads_join(struct pulser *p, const struct node *n, const struct resize_map *m,
                              const struct padded *q, struct stretch *s, struct flow *f)
{
    *f = q->inner;
    if (s->past > 0)
        TRY(flow_resolve(p, n, f));
    struct flow padded = *f;
    padded.sf.delay -= q->before;
    stretch_place(p, m, &padded, s);
    s->history = larger(s->history, -padded.sf.delay);
    TRY(flow_padded(p, n, f, q, padded.sf.delay + s->history, padded.sf.pulse + s->history));
    f->sf.delay = padded.sf.delay;
    f->sf.length = p->sf[n->in[IN_X]].length;
    return RILL_OK;
}

/* The first `frames` output frames, of those that q puts in front. */
static rill_status heads_emit(struct pulser *p, const struct node *n, const struct padded *q,
                              const struct stretch *s, int64_t frames, uint32_t *ret)
{
    const struct resize_attr *a = resize_attr_of(n);
    const int rank = pulser_fact(p, n->out[0])->rank;
    static const char *const edge[] = { "edge" };
    const struct attr mode = { .name = "mode", .kind = ATTR_STRINGS, .strings = { 1, edge } };
    struct stretch whole = *s;
    struct flow f = { .wire = q->head, .sf = { .axis = q->inner.sf.axis } };
    const struct stream_fact to = { .axis = f.sf.axis, .pulse = frames };
    int64_t pads[2 * RANK_MAX] = { 0 };
    uint32_t in[2] = { q->head };
    pads[f.sf.axis] = s->front;
    TRY(pulser_ints(p, n->name, pads, 2 * (unsigned) rank, &in[1]));
    TRY(pulser_emit_op(p, OP_PAD, n->name, &mode, 1, in, 2, &f.wire));
    whole.delay = 0;
    whole.history = s->front;
    return frames_emit(p, n, &f, &whole, &to, a->mode, a->coord, a->near, ret);
}

static rill_status stretch_padded(struct pulser *p, const struct node *n,
                                  const struct resize_map *m, struct stretch *s)
{
    const struct offset at = p->sf[n->in[IN_X]].at;
    struct padded q = p->padded[n->in[IN_X]];
    const int axis = q.inner.sf.axis;
    struct flow f;
    TRY(heads_given(p, n, &q, s));
    TRY(heads_join(p, n, m, &q, s, &f));
    const int64_t frames = larger(-s->delay, 0);
    if (s->front > 0 || s->past > 0)
        TRY(stretch_clamp(p, n, &f, s));
    f.sf.at = at;
    if (frames)
        TRY(heads_emit(p, n, &q, s, frames, &q.head));
    TRY(stretch_emit(p, n, &f, s));
    f.sf.axis = axis;
    if (frames) {
        f.sf.delay = 0;
        f.sf.length = dim_add_int(p->dst->dims, pulser_fact(p, n->out[0])->shape[axis], -frames);
        q.before = frames;
        q.inner = f;
        p->padded[n->out[0]] = q;
        TRY(padded_put(p, n, &q, &f));
        f.sf.at = q.inner.sf.at;
    }
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}

static rill_status stretch_plain(struct pulser *p, const struct node *n, const struct resize_map *m,
                                 struct flow *f, struct stretch *s)
{
    if (s->past > 0 || s->single)
        TRY(flow_resolve(p, n, f));
    stretch_place(p, m, f, s);
    TRY(flow_history(p, n->name, f, s->history, NULL));
    if (s->front > 0 || s->past > 0)
        TRY(stretch_clamp(p, n, f, s));
    TRY(stretch_emit(p, n, f, s));
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

static rill_status stretch_rule(struct pulser *p, const struct node *n, struct flow *f,
                                struct stretch *s)
{
    const struct resize_map m = {
        .attr = resize_attr_of(n), .out = -1, .num = s->up, .den = s->down
    };
    TRY(pulser_want_multiple(p, n, &f->sf, s->down, "its ratio"));
    s->length = pulser_fact(p, n->out[0])->shape[f->sf.axis];
    if (heads_wanted(p, n, s))
        TRY(stretch_padded(p, n, &m, s));
    else
        TRY(stretch_plain(p, n, &m, f, s));
    p->windows[n - p->src->nodes] =
        (struct axis_window) { true, s->front, larger(reach_of(&m, s->up - 1).high, 0), s->down };
    return RILL_OK;
}

/* ---- what does not stream ---- */

#define WAYS "nearest, linear and cubic by half_pixel, pytorch_half_pixel or asymmetric stream"

struct resize_words {
    const struct pulser *p;
    const struct resized *z;
    const struct stretch *s;
};

/* What is refused whatever the lengths are; NULL: nothing. */
static const char *mode_refused(const struct node *n)
{
    const struct resize_attr *a = resize_attr_of(n);
    if (a->coord == COORD_ALIGN_CORNERS)
        return "align_corners, which spreads the frames over the whole length";
    if (a->coord == COORD_CROP)
        return "tf_crop_and_resize, which cuts out a part of the whole length";
    return a->exclude_outside && a->mode == RESIZE_CUBIC
        ? "exclude_outside, by which frames at the ends weigh otherwise"
        : NULL;
}

static bool own_same(const void *ctx, struct remainder r)
{
    const struct resize_words *w = ctx;
    struct stretch s = *w->s;
    return resized_same(w->p, w->z, r, &s);
}

/* What would stream. */
static void resize_way(const struct resize_words *w, char *ret, size_t cap)
{
    const struct dim *both[2] = { w->z->from, w->z->to };
    char text[160];
    struct remainder r;
    struct lengths l;
    bool all;
    *ret = '\0';
    if (!remainder_find(w->p, both, 2, own_same, w, &r, &all)) {
        if (lengths_decide(w->p, both, 2, 0, true, &l))
            snprintf(ret, cap,
                     ": at no remainder of %.40s are they in one ratio; resize by a scale, and Pad "
                     "or Slice that to the size",
                     dim_name(w->p->symbol));
        return;
    }
    remainder_print(w->p, r, text, sizeof text);
    if (all)
        snprintf(ret, cap, "; --assert \"%s\" streams", text);
    else
        snprintf(ret, cap,
                 "; it would not with --assert \"%s\", but at no remainder does all that is "
                 "resized and joined fit",
                 text);
}

static rill_status resize_refuse(const struct pulser *p, const struct resized *z, int axis,
                                 const struct stretch *s)
{
    const struct resize_words w = { p, z, s };
    char a[96], b[96], way[300];
    dim_print(z->from, a, sizeof a);
    dim_print(z->to, b, sizeof b);
    resize_way(&w, way, sizeof way);
    return op_fail(p->err, RILL_UNSUPPORTED, z->n,
                   "cannot stream: it makes %s frames of %s on axis %d, the time axis, and where "
                   "they lie among those (%s, %s) depends on the length%s",
                   b, a, axis, attr_choice(z->n, "mode"),
                   attr_choice(z->n, "coordinate_transformation_mode"), way);
}

rill_status rule_resize(struct pulser *p, const struct node *n)
{
    struct flow f;
    struct stretch s;
    if (!flow_of(p, n->in[IN_X], &f))
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its sizes depend on data");
    const struct resized z = resized_of(p, n, f.sf.axis, larger(f.sf.hop_num / f.sf.hop_den, 1));
    int64_t times = times_longer(p, z.from, z.to);
    if (times >= 1 && repeats_frames(n, times)) {
        if (resize_attr_of(n)->mode != RESIZE_NEAREST)
            TRY(flow_mask(p, n, &f, NULL, false,
                          true)); /* a weight that is nearly 0 does not hide what is no number */
        return resize_emit(p, n, &f, times);
    }
    if (mode_refused(n))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: on axis %d, the time axis, it is resized by %s; " WAYS,
                       f.sf.axis, mode_refused(n));
    if (!resized_ratio(p, &z, &s) || !resized_same(p, &z, (struct remainder) { 1, 0 }, &s))
        return resize_refuse(p, &z, f.sf.axis, &s);
    return stretch_rule(p, n, &f, &s);
}
