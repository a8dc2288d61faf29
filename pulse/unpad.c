/* SPDX-License-Identifier: MIT */
/* What reads padded sequences reads what is in front of the pad, and what pads it as given frames.
 */
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/pulser.h"

/* When each of those has come. */
static rill_status copies_come(struct pulser *p, struct padded *q, int64_t before)
{
    const bool edge = q->mode == PULSE_PAD_EDGE;
    int64_t *come = arena_array(p->arena, int64_t, before + 1);
    if (!come)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < before; i++)
        come[i] = kept_inputs(&q->inner, edge ? 0 : q->before - i);
    q->inputs = come[0];
    q->come = come;
    return RILL_OK;
}

/* The first `before` frames that q puts in front of the sequence, where those are its own. */
static rill_status copies_head(struct pulser *p, const struct node *n, const struct padded *q,
                               int64_t before, uint32_t *ret)
{
    const int axis = q->inner.sf.axis;
    const bool edge = q->mode == PULSE_PAD_EDGE;
    const int64_t first = edge ? 0 : q->before - before + 1;
    uint32_t in[2];
    int64_t at[PADDED_GIVEN_MAX];
    for (int64_t i = 0; i < before; i++)
        at[i] = edge ? 0 : before - 1 - i;
    TRY(kept_first(p, n, &q->inner, first, edge ? 1 : before, &in[0]));
    TRY(pulser_ints(p, n->name, at, (unsigned) before, &in[1]));
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = axis };
    return pulser_emit_op(p, OP_GATHER, n->name, &along, 1, in, 2, ret);
}

rill_status padded_given(struct pulser *p, const struct node *n, const struct dim *length,
                         int64_t before, struct padded *q)
{
    const int axis = q->inner.sf.axis;
    struct padded rest = { .inner = q->inner,
                           .mode = q->mode,
                           .before = q->before - before,
                           .after = q->after,
                           .fill = q->fill,
                           .head = WIRE_NONE,
                           .tail = q->tail };
    uint32_t head = q->head;
    if (padded_by_copies(q)) {
        TRY(copies_head(p, n, q, before, &head));
        TRY(copies_come(p, q, before));
    } else {
        TRY(padded_frames(p, n, q, q->before, q->head, &head));
        if (rest.before && q->mode == PULSE_PAD_VALUES)
            TRY(pulser_slice(p, n->name, head, axis, before, q->before, &rest.head));
        if (rest.before)
            TRY(pulser_slice(p, n->name, head, axis, 0, before, &head));
        rest.inputs = rest.before ? q->inputs : 0;
        rest.come = q->come && rest.before ? q->come + before : NULL;
    }
    TRY(padded_put(p, n, &rest, &q->inner));
    q->inner.sf.length = dim_add_int(p->dst->dims, length, -before);
    q->mode = PULSE_PAD_VALUES;
    q->fill = NULL;
    q->head = head;
    q->tail = WIRE_NONE;
    q->before = before;
    q->after = 0;
    return RILL_OK;
}

/* Frames of a, and behind them those of b; WIRE_NONE: none. */
static rill_status frames_join(struct pulser *p, const struct node *n, int axis, uint32_t a,
                               uint32_t b, uint32_t *ret)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = axis };
    const uint32_t in[2] = { a, b };
    *ret = a == WIRE_NONE ? b : a;
    return a == WIRE_NONE || b == WIRE_NONE
        ? RILL_OK
        : pulser_emit_op(p, OP_CONCAT, n->name, &along, 1, in, 2, ret);
}

/* Of its first `frames` ones. */
static rill_status padded_come_upto(struct pulser *p, const struct padded *q, int64_t frames,
                                    const int64_t **ret)
{
    int64_t *come = arena_array(p->arena, int64_t, frames + 1);
    if (!come)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < frames; i++)
        come[i] = padded_come(q, i);
    *ret = come;
    return RILL_OK;
}

rill_status padded_take(struct pulser *p, const struct node *n, int64_t frames, struct padded *q)
{
    struct stream_fact *s = &q->inner.sf;
    uint32_t first;
    if (frames == 0)
        return RILL_OK;
    TRY(kept_first(p, n, &q->inner, 0, frames, &first));
    TRY(frames_join(p, n, s->axis, q->head, first, &q->head));
    TRY(padded_come_upto(p, q, q->before + frames, &q->come));
    q->inputs = larger(q->inputs, kept_inputs(&q->inner, frames - 1));
    q->before += frames;
    s->delay += frames;
    s->length = dim_add_int(p->dst->dims, s->length, -frames);
    offset_cut(s, frames, 1);
    return RILL_OK;
}

bool padded_heads_there(const struct pulser *p, const struct padded *q)
{
    return !lengths_negative(p, q->inner.sf.length);
}

bool padded_heads_or_none(const struct pulser *p, const struct padded *q)
{
    struct dims *ds = p->dst->dims;
    const int64_t around = q->before + q->after;
    return !lengths_negative(p, q->inner.sf.length) ||
        !lengths_short(p, dim_add_int(ds, q->inner.sf.length, around), around);
}

bool padded_heads_come(const struct pulser *p, const struct padded *q)
{
    const int64_t inputs = padded_heads_inputs(q);
    struct lengths l;
    int64_t v;
    if (!lengths_decide(p, &q->inner.sf.length, 1, 0, false, &l))
        return false;
    for (int64_t at = 0; at < l.end; at++)
        if (dims_allow(p->src->dims, p->symbol, at) &&
            (!dim_eval(q->inner.sf.length, p->symbol, at, &v) ||
             (v < 0 && at + p->lead_in >= inputs)))
            return false;
    return true;
}

bool padded_heads_whole(const struct pulser *p, const struct padded *q)
{
    return q->after <= 0 || padded_heads_there(p, q);
}

bool padded_joins(const struct pulser *p, uint32_t src_wire, int64_t after)
{
    const struct padded *q = &p->padded[src_wire];
    const struct stream_fact *s = &q->inner.sf;
    struct dims *ds = p->dst->dims;
    if (!q->is || s->delay - q->before >= p->sf[src_wire].delay ||
        (padded_by_copies(q) && (p->outer || q->before < 1 || q->before > PADDED_GIVEN_MAX)))
        return false;
    return after == 0 || q->after == 0 || padded_by_copies(q) ||
        dim_add_int(ds, s->length, q->before + q->after) == p->sf[src_wire].length;
}

/* When each of the frames of a and, behind them, of q has come. */
static rill_status come_join(struct pulser *p, const struct padded *a, struct padded *q)
{
    int64_t *come =
        a->inputs || q->inputs ? arena_array(p->arena, int64_t, a->before + q->before + 1) : NULL;
    if (!come && (a->inputs || q->inputs))
        return pulser_no_memory(p);
    for (int64_t i = 0; come && i < a->before + q->before; i++)
        come[i] = i < a->before ? padded_come(a, i) : padded_come(q, i - a->before);
    q->come = come;
    return RILL_OK;
}

rill_status padded_join(struct pulser *p, const struct node *n, uint32_t src_wire,
                        const struct padded *around, struct padded *ret)
{
    struct padded outer = *around, *q = ret;
    uint32_t head, tail, first, last;
    *q = p->padded[src_wire];
    if (padded_by_copies(q))
        TRY(padded_given(p, n, p->sf[src_wire].length, q->before, q));
    const int axis = q->inner.sf.axis;
    outer.inner = q->inner;
    TRY(padded_frames(p, n, q, q->before, q->head, &head));
    TRY(padded_frames(p, n, q, q->after, q->tail, &tail));
    TRY(padded_frames(p, n, &outer, outer.before, outer.head, &first));
    TRY(padded_frames(p, n, &outer, outer.after, outer.tail, &last));
    TRY(frames_join(p, n, axis, first, head, &q->head));
    TRY(frames_join(p, n, axis, tail, last, &q->tail));
    TRY(come_join(p, &outer, q));
    q->inputs = larger(q->inputs, outer.inputs);
    q->before += outer.before;
    q->after += outer.after;
    q->mode = PULSE_PAD_VALUES;
    q->fill = NULL;
    return RILL_OK;
}

/* Windows with pads of their own over what is padded by other frames. */
static rill_status unpad_joined(struct pulser *p, const struct node *n, struct flow *f,
                                struct flow_window *w)
{
    const uint32_t src_wire = n->in[0];
    if (w->before < 0 || w->after < 0 || !padded_joins(p, src_wire, w->after))
        return RILL_OK;
    struct padded *q = arena_new(p->arena, struct padded);
    if (!q)
        return pulser_no_memory(p);
    const struct padded own = { .before = w->before,
                                .after = w->after,
                                .fill = w->fill,
                                .head = WIRE_NONE,
                                .tail = WIRE_NONE };
    TRY(padded_join(p, n, src_wire, &own, q));
    const struct offset at = f->sf.at;
    *f = q->inner;
    f->sf.at = at;
    w->before = w->after = 0;
    w->copies = q;
    return RILL_OK;
}

rill_status flow_unpad(struct pulser *p, const struct node *n, struct flow *f,
                       struct flow_window *w)
{
    const struct padded *q = &p->padded[n->in[0]];
    const bool bare = w->before == 0 && w->after == 0;
    struct flow inner = q->inner;
    const bool copies = q->mode != PULSE_PAD_CONSTANT;
    if (!q->is)
        return RILL_OK;
    if (!bare && (copies || !flow_fill_same(q->fill, w->fill)))
        return unpad_joined(p, n, f, w);
    inner.sf.at = f->sf.at;
    *f = inner;
    w->copies = copies ? q : NULL;
    if (copies)
        return RILL_OK;
    w->before += q->before;
    w->after += q->after;
    w->fill = q->fill;
    return RILL_OK;
}

/* Behind the first `first` frames of a padded sequence that are cut, and `after` that are left of
 * those behind it: less than 0 where what is inside is cut, too. */
static rill_status pads_cut(struct pulser *p, const struct node *n, struct padded *q, int64_t first,
                            int64_t after)
{
    const int axis = q->inner.sf.axis;
    TRY(padded_skip(p, n, q, first));
    if (q->mode == PULSE_PAD_VALUES && after > 0 && after < q->after)
        TRY(pulser_slice(p, n->name, q->tail, axis, 0, after, &q->tail));
    if (after < 0)
        q->inner.sf.length =
            dim_add_int(p->dst->dims, pulser_fact(p, n->out[0])->shape[axis], -q->before);
    q->tail = after > 0 ? q->tail : WIRE_NONE;
    q->after = larger(after, 0);
    return RILL_OK;
}

/* The least and the largest of them over the lengths of which some `frames` are left. */
static bool after_range(const struct pulser *p, const struct dim *frames, const struct dim *after,
                        int64_t *ret_least, int64_t *ret_most)
{
    const struct dim *both[2] = { frames, after };
    struct lengths l;
    int64_t v, a, least = INT64_MAX, most = INT64_MIN;
    if (!lengths_decide(p, both, 2, 0, false, &l) || l.rise[1] != 0)
        return false;
    for (int64_t at = 0; at < l.end; at++)
        if (dims_allow(p->src->dims, p->symbol, at) && dim_eval(frames, p->symbol, at, &v) &&
            dim_eval(after, p->symbol, at, &a) && v > 0) {
            least = smaller(least, a);
            most = larger(most, a);
        }
    *ret_least = least;
    *ret_most = most;
    return least <= most;
}

/* Copies of frames that are cut off behind are given ones. */
static rill_status copies_cut(struct pulser *p, const struct node *n, int64_t first,
                              struct padded *q)
{
    const struct dim *frames = pulser_fact(p, n->out[0])->shape[q->inner.sf.axis],
                     *length = p->sf[n->in[0]].length;
    const struct dim *behind =
        dim_sub(p->dst->dims, dim_add_int(p->dst->dims, frames, first + q->after), length);
    int64_t least, most;
    return !q->is || !padded_by_copies(q) || p->outer || first < 0 || first >= q->before ||
            q->before > PADDED_KEPT_MAX || !lengths_range(p, behind, &least, &most) || least >= 0
        ? RILL_OK
        : padded_given(p, n, length, q->before, q);
}

rill_status padded_cut(struct pulser *p, const struct node *n, int64_t first, struct padded *q)
{
    TRY(copies_cut(p, n, first, q));
    struct dims *ds = p->dst->dims;
    const struct dim *frames = pulser_fact(p, n->out[0])->shape[q->inner.sf.axis],
                     *after = dim_sub(ds, dim_add_int(ds, frames, first - q->before),
                                      q->inner.sf.length);
    int64_t least, most;
    const bool known = lengths_range(p, after, &least, &most),
               some = q->mode == PULSE_PAD_VALUES && !(known && least == most) &&
        after_range(p, frames, after, &least, &most);
    q->is = first >= 0 && first <= q->before && (known || some) &&
        (least == most || (q->mode == PULSE_PAD_CONSTANT && least >= 0)) &&
        (!padded_by_copies(q) || least >= 0);
    if (q->is && some)
        q->inner.sf.length = dim_add_int(ds, frames, first - q->before - larger(most, 0));
    return q->is ? pads_cut(p, n, q, first, most) : RILL_OK;
}

rill_status padded_put(struct pulser *p, const struct node *n, const struct padded *all,
                       struct flow *f)
{
    const struct flow_pad pad = { .mode = all->mode,
                                  .before = all->before,
                                  .after = all->after,
                                  .fill = all->fill,
                                  .head = all->head,
                                  .tail = all->tail };
    if (all->inputs)
        TRY(flow_delay(p, n->name, f,
                       larger(padded_heads_delay(all, 0) + pad.before - f->sf.delay, 0)));
    return flow_pad(p, n, f, &pad);
}
