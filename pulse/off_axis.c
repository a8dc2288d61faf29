/* SPDX-License-Identifier: MIT */
/* Rules of ops that work on other axes than time, which goes where the row's map says. */
#include "pulse/off_axis.h"
#include "engine/ops/clock.h"
#include "pulse/counted.h"
#include "pulse/ints.h"
#include "pulse/length_mask.h"

#include <stdio.h>

static const char *const reasons[N_AXIS_CLASSES] = {
    [AXIS_WINDOW] = "an output reads several indices of it that are no frames in order",
    [AXIS_FORWARD] = "it cannot be cut there",
    [AXIS_BACKWARD] = "an output needs frames up to the last one",
    [AXIS_GLOBAL] = "every output needs all frames at once",
    [AXIS_MOVED] = "its frames would not come out in order",
    [AXIS_POSITION] = "what it does with a frame depends on its place in the sequence",
};

const char *axis_class_name(enum axis_class c)
{
    static const char *const names[N_AXIS_CLASSES] = { "pointwise", "window", "forward",
                                                       "backward",  "global", "moving",
                                                       "positional" };
    return names[c];
}

rill_status pulser_refuse_axis(const struct pulser *p, const struct node *n, unsigned input,
                               int axis, const struct node *merged)
{
    char where[160] = "the time axis";
    if (merged)
        snprintf(where, sizeof where, "into which node '%.80s' (%s) merges time", merged->name,
                 merged->op->name);
    const struct axis_row *r = p->row_of(n->op);
    enum axis_class c = r->own == AXIS_WINDOW || r->own == AXIS_FORWARD || r->own == AXIS_POINTWISE
        ? AXIS_GLOBAL
        : r->own;
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it is %s along axis %d of input %u, %s: %s%s%s",
                   axis_class_name(c), axis, input, where, reasons[c], r->way ? "; " : "",
                   r->way ? r->way : "");
}

static rill_status refuse_crossed(const struct pulser *p, const struct node *n, unsigned input,
                                  int axis, int to, int before)
{
    const struct axis_row *r = p->row_of(n->op);
    return op_fail(
        p->err, RILL_UNSUPPORTED, n,
        "cannot stream: axis %d of input %u, the time axis, would be axis %d of the "
        "output, where that of another input is axis %d: every frame meets all frames at once%s%s",
        axis, input, to, before, r->way ? "; " : "", r->way ? r->way : "");
}

/* Emits n as it is; all streaming inputs must send the time axis to the same place. */
static rill_status emit_same(struct pulser *p, const struct node *n, const uint32_t *in,
                             const struct stream_fact *sf)
{
    uint32_t *out = arena_array(p->arena, uint32_t, n->n_out + 1);
    if (!out)
        return pulser_no_memory(p);
    TRY(pulser_no_lengths(p, n));
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, out, n->n_out));
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE) {
            TRY(pulser_bind(p, n, k, out[k], sf));
            TRY(pulser_any_pulse(p, n, in, k, sf->axis));
        }
    return RILL_OK;
}

/* ---- what is padded ---- */

static bool node_moves(const struct node *n)
{
    static const enum op_id movers[] = { OP_SPLIT, OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    return node_is_among(n, movers, sizeof movers / sizeof *movers);
}

/* Whether both are padded by as many frames of the same kind, and the sequences inside lie alike.
 */
static bool pads_agree(const struct padded *a, const struct padded *b)
{
    const struct stream_fact *x = &a->inner.sf, *y = &b->inner.sf;
    bool given = a->mode == PULSE_PAD_CONSTANT || a->mode == PULSE_PAD_VALUES;
    bool other = b->mode == PULSE_PAD_CONSTANT || b->mode == PULSE_PAD_VALUES;
    return (given ? other : a->mode == b->mode) && a->before == b->before && a->after == b->after &&
        x->delay == y->delay && x->pulse == y->pulse &&
        x->hop_num * y->hop_den == y->hop_num * x->hop_den && x->length == y->length;
}

/* What is padded of the inputs of n that stream; those that are not padded alike are looked at as
 * if they were. */
struct pads_of {
    struct padded *in; /* as many as inputs */
    bool *counted;     /* made of frame numbers: they are padded as the others are */
    unsigned first;    /* that streams, and is not */
    bool alike, found; /* found: what is behind n comes earlier out of what is in front of the pads,
                          or costs nothing */
    int64_t inputs;    /* that have come when the frames have that n keeps; 0: it keeps none */
};

/* Behind frames that are kept any sequence may stand in front of which nothing is put: those that
 * come before them are taken. */
static void pads_none(const struct pulser *p, uint32_t src_wire, struct padded *ret)
{
    *ret = (struct padded) {
        .is = true, .mode = PULSE_PAD_VALUES, .head = WIRE_NONE, .tail = WIRE_NONE
    };
    flow_of(p, src_wire, &ret->inner);
}

static bool any_padded(const struct pulser *p, const struct node *n)
{
    bool any = false;
    for (unsigned i = 0; i < n->n_in; i++)
        any |= n->in[i] != WIRE_NONE && p->padded[n->in[i]].is;
    return any;
}

/* Padded in different ways, or beside frames that are kept: what is made of those is made in every
 * run, only where an output comes earlier by it. In a branch frames go by its own runs. */
static bool unlike_wanted(struct pulser *p, const struct pads_of *s, int64_t before, bool earlier)
{
    return earlier && padded_apart(p, s->inputs ? larger(before, 1) : before, s->inputs > 0);
}

static rill_status pads_find(struct pulser *p, const struct node *n, struct pads_of *ret)
{
    int64_t costs = 0, delay = 0, inner = INT64_MIN, before = INT64_MAX;
    bool whole = true;
    *ret = (struct pads_of) { .in = arena_array(p->arena, struct padded, n->n_in + 1),
                              .counted = arena_array(p->arena, bool, n->n_in + 1),
                              .first = n->n_in,
                              .alike = true };
    if (!ret->in || !ret->counted)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_kept(p, n->in[i]))
            ret->inputs = larger(ret->inputs, p->kept[n->in[i]].inputs);
    if (!any_padded(p, n) && !ret->inputs)
        return RILL_OK;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!pulser_stream(p, n->in[i]))
            continue;
        const struct padded *q = ret->in + i;
        ret->in[i] = p->padded[n->in[i]];
        ret->counted[i] = counted_is(p, n->in[i]);
        if (ret->counted[i]) {
            ret->alike = false;
            continue;
        }
        if (!q->is && !ret->inputs)
            return RILL_OK;
        if (!q->is)
            pads_none(p, n->in[i], &ret->in[i]);
        ret->first = smaller(ret->first, i);
        ret->alike = ret->alike && pads_agree(&ret->in[ret->first], q);
        whole = whole && padded_heads_whole(p, q);
        costs = larger(costs, p->sf[n->in[i]].delay - (q->inner.sf.delay - q->before));
        delay = larger(delay, larger(p->sf[n->in[i]].delay, kept_delay(p, n, &p->sf[n->in[i]])));
        inner = larger(inner, q->inner.sf.delay - q->before);
        before = smaller(before, q->before);
    }
    if (ret->first == n->n_in)
        return RILL_OK;
    ret->alike = ret->alike && !ret->inputs;
    if (ret->alike)
        ret->found = node_moves(n) || costs > 0;
    else
        ret->found = unlike_wanted(p, ret, before, whole && larger(inner, -before) < delay);
    return RILL_OK;
}

/* How many first frames of the sequences behind as many given ones come before what n keeps; 0:
 * too many. */
static int64_t pads_take(const struct pulser *p, const struct node *n, const struct pads_of *s,
                         int64_t before)
{
    int64_t take = 0;
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]) && !s->counted[i])
            take = larger(take, kept_delay(p, n, &s->in[i].inner.sf) - s->in[i].inner.sf.delay);
    return before + take <= PADDED_KEPT_MAX ? take : 0;
}

/* As many frames are in front of each: the fewest, and of what is behind those the ones that come
 * before what n keeps. */
static rill_status pads_give(struct pulser *p, const struct node *n, struct pads_of *s,
                             int64_t *ret_before)
{
    int64_t before = INT64_MAX;
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]) && !s->counted[i])
            before = smaller(before, s->in[i].before);
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]) && !s->counted[i])
            TRY(padded_given(p, n, p->sf[n->in[i]].length, before, &s->in[i]));
    const int64_t take = s->inputs ? pads_take(p, n, s, before) : 0;
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]) && !s->counted[i])
            TRY(padded_take(p, n, take, &s->in[i]));
    *ret_before = before + take;
    return RILL_OK;
}

/* Inputs that are padded in different ways: what is behind as many frames in front of each is as
 * late. */
static rill_status pads_align(struct pulser *p, const struct node *n, struct pads_of *s)
{
    int64_t before, delay = 0;
    TRY(pads_give(p, n, s, &before));
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]) && !s->counted[i]) {
            struct stream_fact *f = &s->in[i].inner.sf;
            delay = larger(delay, larger(f->delay, kept_delay(p, n, f)));
            f->uniform &= !s->inputs;
        }
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]) && !s->counted[i])
            TRY(flow_delay(p, n->name, &s->in[i].inner, delay - s->in[i].inner.sf.delay));
    s->alike = true;
    for (unsigned i = 0; i < n->n_in; i++)
        if (s->counted[i]) {
            TRY(counted_padded(p, n, n->in[i], before, &s->in[s->first].inner.sf, &s->in[i]));
            s->alike &= s->in[i].is;
        }
    return RILL_OK;
}

enum { PART_HEAD, PART_INNER, PART_TAIL, N_PARTS };

static rill_status part_of(struct pulser *p, const struct node *n, const struct padded *q,
                           unsigned part, uint32_t *ret)
{
    *ret = q->inner.wire;
    if (part == PART_HEAD)
        return padded_frames(p, n, q, q->before, q->head, ret);
    return part == PART_TAIL ? padded_frames(p, n, q, q->after, q->tail, ret) : RILL_OK;
}

/* n on one part of its padded inputs. */
static rill_status part_emit(struct pulser *p, const struct node *n, const struct pads_of *s,
                             uint32_t *in, unsigned part, uint32_t *out)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            TRY(part_of(p, n, &s->in[i], part, &in[i]));
    return pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, out, n->n_out);
}

/* What does the same to each frame does so to a padded sequence, to the one inside and to what
 * pads it; copies of frames are copies of what becomes of them. in: as n was emitted. */
static rill_status padded_carry(struct pulser *p, const struct node *n, uint32_t *in, int to)
{
    uint32_t *out = arena_array(p->arena, uint32_t, N_PARTS * (n->n_out + 1));
    struct pads_of s;
    if (!out)
        return pulser_no_memory(p);
    TRY(pads_find(p, n, &s));
    if (!s.found)
        return RILL_OK;
    const bool aligned = !s.alike;
    if (aligned)
        TRY(pads_align(p, n, &s));
    if (!s.alike || s.in[s.first].before < 1)
        return RILL_OK;
    struct padded q = s.in[s.first];
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            TRY(padded_heads_join(p, &q, &s.in[i]));
    TRY(padded_heads_join(p, &q, &(struct padded) { .before = q.before, .inputs = s.inputs }));
    const bool same_fill = node_moves(n) && q.mode == PULSE_PAD_CONSTANT,
               copies = q.mode == PULSE_PAD_EDGE || q.mode == PULSE_PAD_REFLECT,
               given = !same_fill && !copies;
    uint32_t *part[N_PARTS];
    const int64_t frames[N_PARTS] = { given ? q.before : 0, 1, given ? q.after : 0 };
    for (unsigned k = 0; k < N_PARTS; k++) {
        part[k] = out + k * n->n_out;
        if (frames[k])
            TRY(part_emit(p, n, &s, in, k, part[k]));
    }
    q.inner.sf.axis = to;
    if (aligned)
        padded_measure(p, n, 0, &q);
    if (given) {
        q.mode = PULSE_PAD_VALUES;
        q.fill = NULL;
    }
    for (unsigned k = 0; k < n->n_out; k++) {
        q.inner.wire = part[PART_INNER][k];
        q.head = frames[PART_HEAD] ? part[PART_HEAD][k] : WIRE_NONE;
        q.tail = frames[PART_TAIL] ? part[PART_TAIL][k] : WIRE_NONE;
        if (n->out[k] != WIRE_NONE)
            p->padded[n->out[k]] = q;
    }
    return RILL_OK;
}

rill_status pulser_framewise(struct pulser *p, const struct node *n, uint32_t *in,
                             const struct stream_fact *sf)
{
    TRY(emit_same(p, n, in, sf));
    return padded_carry(p, n, in, sf->axis);
}

static rill_status rule_mapped(struct pulser *p, const struct node *n, axis_map *map)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    struct stream_fact sf;
    unsigned first = 0;
    int to = AXIS_NONE;
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        int axis = s ? map(p, n, i, s->axis) : to;
        if (s && axis == AXIS_NONE)
            return pulser_refuse_axis(p, n, i, s->axis, NULL);
        if (s && to != AXIS_NONE && to != axis)
            return refuse_crossed(p, n, i, s->axis, axis, to);
        to = axis;
    }
    TRY(pulser_align(p, n, in, &sf, &first));
    sf.axis = to;
    return pulser_framewise(p, n, in, &sf);
}

/* ---- element-wise with broadcasting ---- */

rill_status rule_pointwise(struct pulser *p, const struct node *n)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    struct stream_fact sf;
    unsigned first = 0;
    if (length_mask_is(p, n))
        return rule_length_mask(p, n);
    if (!in)
        return pulser_no_memory(p);
    TRY(pulser_align(p, n, in, &sf, &first));
    int from_right = pulser_fact(p, n->in[first])->rank - sf.axis;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE)
            continue;
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        const struct fact *f = s ? pulser_fact(p, n->in[i]) : pulser_dst_fact(p, p->map[n->in[i]]);
        bool fits = s ? f->rank - s->axis == from_right
                      : f->rank < from_right || dim_is(f->shape[f->rank - from_right], 1);
        if (!fits && !s && kept_unrolled(p, n->in[i]))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u is " UNROLLED_WORDS, i);
        if (!fits)
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: input %u does not line up with axis %d of input %u, the "
                           "time axis: it must have %s there",
                           i, pulser_stream(p, n->in[first])->axis, first,
                           s ? "time" : "one index or time");
    }
    sf.axis = pulser_fact(p, n->out[0])->rank - from_right;
    return pulser_framewise(p, n, in, &sf);
}

/* ---- any of them ---- */

rill_status pulser_off_axis(struct pulser *p, const struct node *n)
{
    const struct axis_row *r = p->row_of(n->op);
    if (r->map)
        return rule_mapped(p, n, r->map);
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            return pulser_refuse_axis(p, n, i, pulser_stream(p, n->in[i])->axis, NULL);
    return op_fail(p->err, RILL_INTERNAL, n, "nothing streams into it");
}
