/* SPDX-License-Identifier: MIT */
/* Rules of ops that add frames at the ends of the time axis: Pad, Concat. */
#include "engine/base/dim_claims.h"
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Pad ---- */

enum { PAD_DATA, PAD_PADS, PAD_VALUE, PAD_AXES };

static const char *const mode_names[] = { "constant", "reflect", "edge",
                                          "wrap" }; /* of Pad, in its order */

struct pads {
    int64_t before[RANK_MAX], after[RANK_MAX];
    int64_t least[RANK_MAX]; /* behind the axis, where lengths of the sequence differ in it */
};

static const struct dim *pad_dim(struct pulser *p, const struct tensor *v, int64_t i)
{
    return v->type == DTYPE_DIM ? ((const struct dim *const *) v->data)[i]
                                : dim_int(p->dst->dims, tensor_get_i64(v, v->data, i));
}

/* Frames in front of the sequence, the same for every length. */
static rill_status pad_before(struct pulser *p, const struct node *n, int axis, int time,
                              const struct dim *d, int64_t *ret)
{
    char text[128];
    bool known = axis == time ? pulser_dim_value(p, d, ret) : dim_is_const(d);
    if (known) {
        *ret = axis == time ? *ret : dim_value(d);
        return RILL_OK;
    }
    dim_print(d, text, sizeof text);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it pads axis %d by %s in front, which depends on the length of "
                   "the sequence; only what is put behind axis %d, the time axis, may; assert "
                   "lengths for which it is one number",
                   axis, text, time);
}

/* Those behind it, at least and at most so many: the length of the output says how many there
 * are. */
static rill_status pad_after(struct pulser *p, const struct node *n, int axis, int time,
                             const struct dim *d, int64_t *ret_least, int64_t *ret_most)
{
    char text[128];
    if (axis != time) {
        TRY(pad_before(p, n, axis, time, d, ret_most));
        *ret_least = *ret_most;
        return RILL_OK;
    }
    struct lengths l;
    if (lengths_range(p, d, ret_least, ret_most))
        return RILL_OK;
    dim_print(d, text, sizeof text);
    if (lengths_decide(p, &d, 1, 0, false, &l) && l.rise[0] < 0)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it pads axis %d, the time axis, by %s behind, up to a "
                       "length that is a number: that of the example when the model was exported; "
                       "pads computed of the input's length would stream",
                       axis, text);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it pads axis %d, the time axis, by %s behind, which has no "
                   "bound that is known for all lengths of the sequence",
                   axis, text);
}

static rill_status pads_read(struct pulser *p, const struct node *n, int time, struct pads *ret)
{
    const struct tensor *v = node_value(p->src, n, PAD_PADS);
    int rank = pulser_fact(p, n->in[0])->rank;
    int64_t axes[RANK_MAX];
    unsigned m = (unsigned) rank;
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    *ret = (struct pads) { 0 };
    if (!v ||
        (node_has_input(n, PAD_AXES) && !pulser_const_ints(p, n, PAD_AXES, axes, RANK_MAX, &m)))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its pads are computed from data");
    for (unsigned i = 0; i < m; i++) {
        int a = axis_normalise(axes[i], rank);
        TRY(pad_before(p, n, a, time, pad_dim(p, v, i), &ret->before[a]));
        TRY(pad_after(p, n, a, time, pad_dim(p, v, m + i), &ret->least[a], &ret->after[a]));
    }
    return RILL_OK;
}

/* The node's own padding on the axes that are not time. */
static rill_status pad_others(struct pulser *p, const struct node *n, struct pads *pads, int time,
                              uint32_t *wire)
{
    int rank = pulser_fact(p, n->in[0])->rank;
    int64_t list[2 * RANK_MAX];
    uint32_t in[3] = { *wire, 0, WIRE_NONE };
    bool any = false;
    for (int i = 0; i < rank; i++) {
        list[i] = i == time ? 0 : pads->before[i];
        list[rank + i] = i == time ? 0 : pads->after[i];
        any |= list[i] || list[rank + i];
    }
    if (!any)
        return RILL_OK;
    TRY(pulser_ints(p, n->name, list, 2 * (unsigned) rank, &in[1]));
    if (node_has_input(n, PAD_VALUE))
        in[2] = p->map[n->in[PAD_VALUE]];
    return pulser_emit(p, n->op, n->name, n->attr, in, 3, wire, 1);
}

static const struct tensor *fill_unless_zero(const struct tensor *t)
{
    return t && tensor_get_f64(t, t->data, 0) == 0 ? NULL : t;
}

/* What windows over the padded sequence read, where it is padded with one number. Pads of a padded
 * sequence add up; crop: frames that it lacks behind. */
static rill_status padded_note(struct pulser *p, const struct node *n, const struct flow *f,
                               const struct flow_pad *pad, int64_t crop)
{
    const struct padded *q = &p->padded[n->in[0]];
    const struct tensor *fill = fill_unless_zero(pad->fill);
    const bool constant = pad->mode == PULSE_PAD_CONSTANT && f->wire == p->map[n->in[0]];
    struct padded all = { .is = true,
                          .inner = *f,
                          .before = pad->before,
                          .after = pad->after,
                          .fill = fill,
                          .mode = pad->mode,
                          .head = WIRE_NONE,
                          .tail = WIRE_NONE };
    if (constant && q->is && q->mode == PULSE_PAD_CONSTANT &&
        (flow_fill_same(q->fill, fill) || (pad->before == 0 && pad->after == 0))) {
        all = *q;
        all.before += pad->before;
        all.after += pad->after;
        all.inner.sf.length = dim_add_int(p->dst->dims, q->inner.sf.length, -crop);
    } else if (constant && padded_joins(p, n->in[0], pad->after)) {
        const struct padded around = all;
        TRY(padded_join(p, n, n->in[0], &around, &all));
        all.inner.sf.length = dim_add_int(p->dst->dims, all.inner.sf.length, -crop);
    }
    p->padded[n->out[0]] = all;
    return RILL_OK;
}

/* A dst wire that is absent or a constant of zeros. */
static bool all_zero(const struct pulser *p, uint32_t w)
{
    const struct tensor *v = w == WIRE_NONE ? NULL : pulser_dst_fact(p, w)->value;
    bool zero = w == WIRE_NONE || v;
    for (int64_t i = 0; v && zero && i < tensor_count(v); i++)
        zero = tensor_get_f64(v, v->data, i) == 0;
    return zero;
}

/* The same, none of them -0. */
static bool all_blank(const struct pulser *p, uint32_t w)
{
    const struct tensor *v = w == WIRE_NONE ? NULL : pulser_dst_fact(p, w)->value;
    bool blank = all_zero(p, w);
    for (int64_t i = 0; v && blank && i < tensor_count(v); i++)
        blank = !signbit(tensor_get_f64(v, v->data, i));
    return blank;
}

/* What PulsePad puts behind a sequence by copies is 0 where it would copy frames in front of its
 * first: so many of those as may be copied have to be of the sequence, unless they are zeros. */
static int64_t tail_reads(struct pulser *p, const struct padded *q, const struct flow_pad *pad)
{
    const int64_t read = pad->mode == PULSE_PAD_REFLECT ? pad->after + 1 : 1;
    uint32_t head = q->head;
    if (q->mode == PULSE_PAD_CONSTANT)
        return q->fill ? read : 0;
    if (q->mode != PULSE_PAD_VALUES || pulser_known(p, head, &head) != RILL_OK || head == WIRE_NONE)
        return read;
    return all_blank(p, head) ? 0 : read;
}

/* Whether a Pad by copies of frames that are given behind the sequence reads no others. */
static bool tail_copied(const struct padded *q, const struct flow_pad *pad)
{
    return q->after > 0 && !padded_by_copies(q) &&
        (pad->mode != PULSE_PAD_REFLECT || pad->after < q->after);
}

/* How many of the frames in front of the sequence a Pad by copies may put behind it, where it is
 * short; -1: that cannot be. */
static int64_t tail_takes(struct pulser *p, const struct padded *q, const struct flow_pad *pad)
{
    const int64_t read = pad->after && !tail_copied(q, pad) ? tail_reads(p, q, pad) : 0;
    const struct dim *spare = dim_add_int(p->dst->dims, q->inner.sf.length, q->after - read);
    int64_t takes = 0;
    while (takes < read && lengths_negative(p, dim_add_int(p->dst->dims, spare, takes)))
        takes++;
    if (pad->after == 0 || (q->after == 0 && takes == 0))
        return 0;
    return padded_heads_there(p, q) && takes <= q->before + pad->before ? takes : -1;
}

/* Whether what is behind the copies is earlier out of what is in front of the pad: of the padded
 * sequence the first copies wait for the run in which their frames come. */
static bool copies_earlier(const struct pulser *p, const struct node *n, const struct flow *f,
                           const struct flow_pad *pad)
{
    const struct padded *q = &p->padded[n->in[0]];
    return padded_joins(p, n->in[0], 0) ||
        (pad->before > 0 && f->sf.delay >= f->sf.pulse && !padded_by_copies(q) && !q->inputs);
}

/* Whether mirrored frames in front are copies of those in front and of the sequence alone. */
static bool copies_inside(const struct pulser *p, const struct padded *q,
                          const struct flow_pad *pad)
{
    const int64_t behind = pad->before - q->before + 1;
    return behind <= 0 ||
        !lengths_negative(p, dim_add_int(p->dst->dims, q->inner.sf.length, -behind));
}

/* Whether copies of the frames at its ends are put around what is padded, and what is padded comes
 * earlier than that. */
static bool copies_padded(struct pulser *p, const struct node *n, const struct flow *f,
                          const struct flow_pad *pad)
{
    const struct padded *q = &p->padded[n->in[0]];
    const bool reflect = pad->mode == PULSE_PAD_REFLECT;
    return pad->before >= 0 && pad->after >= 0 && pad->before + pad->after > 0 &&
        (reflect || pad->mode == PULSE_PAD_EDGE) && !p->outer && f->wire == p->map[n->in[0]] &&
        q->is && q->before > 0 && pad->before + q->before <= PADDED_GIVEN_MAX &&
        pad->after + q->after <= PADDED_GIVEN_MAX && copies_earlier(p, n, f, pad) &&
        padded_heads_whole(p, q) && (!reflect || q->after == 0 || copies_inside(p, q, pad)) &&
        tail_takes(p, q, pad) >= 0;
}

/* The `before` frames that a Pad by copies puts in front of what is padded by *q, and those of *q.
 */
static rill_status copies_of_heads(struct pulser *p, const struct node *n,
                                   const struct flow_pad *pad, struct padded *q)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = q->inner.sf.axis };
    const bool reflect = pad->mode == PULSE_PAD_REFLECT;
    const int64_t behind = reflect ? larger(pad->before - q->before + 1, 0) : 0;
    int64_t at[PADDED_GIVEN_MAX];
    uint32_t in[2] = { q->head, WIRE_NONE };
    if (behind) {
        TRY(kept_first(p, n, &q->inner, 0, behind, &in[1]));
        TRY(pulser_emit_op(p, OP_CONCAT, n->name, &along, 1, in, 2, &in[0]));
    }
    for (int64_t i = 0; i < pad->before + q->before; i++) {
        const int64_t frame = i - pad->before;
        at[i] = frame >= 0 ? frame : reflect ? -frame : 0;
    }
    TRY(pulser_ints(p, n->name, at, (unsigned) (pad->before + q->before), &in[1]));
    if (q->inputs || behind)
        TRY(padded_come_at(p, q, at, pad->before + q->before, &q->come));
    if (behind)
        q->inputs = larger(q->inputs, kept_inputs(&q->inner, behind - 1));
    q->before += pad->before;
    return pulser_emit_op(p, OP_GATHER, n->name, &along, 1, in, 2, &q->head);
}

/* What pads *q behind becomes the sequence's own. */
static rill_status tail_put(struct pulser *p, const struct node *n, struct padded *q)
{
    const struct flow_pad own = {
        .mode = q->mode, .after = q->after, .fill = q->fill, .head = WIRE_NONE, .tail = q->tail
    };
    TRY(flow_pad(p, n, &q->inner, &own));
    q->inner.sf.length = dim_add_int(p->dst->dims, q->inner.sf.length, q->after);
    q->after = 0;
    q->tail = WIRE_NONE;
    return RILL_OK;
}

/* Copies of the last frames of the sequence, and of the last `takes` of those in front where it has
 * fewer. */
static rill_status copies_of_last(struct pulser *p, const struct node *n,
                                  const struct flow_pad *pad, int64_t takes, struct padded *q)
{
    const struct flow_pad own = {
        .mode = pad->mode, .after = pad->after, .head = WIRE_NONE, .tail = WIRE_NONE
    };
    struct padded heads = *q;
    const struct dim *length = dim_add_int(p->dst->dims, q->inner.sf.length, pad->after);
    TRY(padded_skip(p, n, &heads, q->before - takes));
    TRY(takes ? flow_tail(p, n, &q->inner, &heads, &own) : flow_pad(p, n, &q->inner, &own));
    q->inner.sf.length = length;
    return RILL_OK;
}

/* Those behind it: of the frames that *q has there, or of the sequence itself. */
static rill_status copies_of_tails(struct pulser *p, const struct node *n,
                                   const struct flow_pad *pad, int64_t takes, struct padded *q)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = q->inner.sf.axis };
    int64_t at[PADDED_GIVEN_MAX];
    if (q->after && !tail_copied(q, pad))
        TRY(tail_put(p, n, q));
    const int64_t last = q->after - 1;
    uint32_t in[2] = { q->tail };
    if (q->after == 0)
        return copies_of_last(p, n, pad, takes, q);
    for (int64_t i = 0; i < pad->after + q->after; i++)
        at[i] = i <= last ? i : pad->mode == PULSE_PAD_REFLECT ? 2 * last - i : last;
    TRY(pulser_ints(p, n->name, at, (unsigned) (pad->after + q->after), &in[1]));
    q->after += pad->after;
    return pulser_emit_op(p, OP_GATHER, n->name, &along, 1, in, 2, &q->tail);
}

static rill_status pad_copies_padded(struct pulser *p, const struct node *n,
                                     const struct flow_pad *pad, struct flow *f)
{
    const struct padded none = { .head = WIRE_NONE, .tail = WIRE_NONE };
    struct padded *all = &p->padded[n->out[0]];
    const int64_t takes = tail_takes(p, &p->padded[n->in[0]], pad);
    TRY(padded_join(p, n, n->in[0], &none, all));
    if (pad->before)
        TRY(copies_of_heads(p, n, pad, all));
    if (pad->after)
        TRY(copies_of_tails(p, n, pad, takes, all));
    offset_padded(&f->sf, pad->before, pad->after);
    const struct offset at = f->sf.at;
    *f = all->inner;
    TRY(padded_put(p, n, all, f));
    f->sf.at = at;
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

/* A sequence that is cut behind by a number, and so padded in front, is a shorter one: by how much.
 * Of what is padded it is so where nothing is behind it. */
static int64_t pad_crop(const struct pulser *p, const struct node *n, struct pads *pads, int t,
                        struct flow *f, struct flow_pad *pad)
{
    const struct padded *q = &p->padded[n->in[0]];
    const int64_t crop = -pad->after;
    if ((q->is && (q->after || padded_by_copies(q))) || pad->mode != PULSE_PAD_CONSTANT ||
        pad->before <= 0 || pad->after >= 0 || pads->least[t] != pad->after)
        return 0;
    f->sf.length = dim_add_int(p->dst->dims, f->sf.length, pad->after);
    pads->least[t] = pads->after[t] = pad->after = 0;
    return crop;
}

/* Frames are cut off, and none put there: a Slice in other words. */
static rill_status pad_slice(struct pulser *p, const struct node *n, struct pads *pads,
                             int64_t first, struct flow *f)
{
    struct padded q = p->padded[n->in[0]];
    if (first)
        TRY(flow_picked(p, n, 0, f, first, 1));
    const uint32_t cut = f->wire;
    TRY(pad_others(p, n, pads, f->sf.axis, &f->wire));
    q.is = q.is && f->wire == cut;
    if (q.is)
        TRY(padded_cut(p, n, first, &q));
    p->padded[n->out[0]] = q;
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

rill_status rule_pad(struct pulser *p, const struct node *n)
{
    static const int modes[] = { PULSE_PAD_CONSTANT, PULSE_PAD_REFLECT, PULSE_PAD_EDGE, -1 };
    struct flow f;
    struct pads pads;
    int mode = pad_attr_of(n)->mode;
    if (!flow_of(p, n->in[0], &f))
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its pads run along time");
    TRY(pads_read(p, n, f.sf.axis, &pads));
    int t = f.sf.axis;
    struct flow_pad pad = { .mode = modes[mode],
                            .before = pads.before[t],
                            .after = pads.after[t],
                            .head = WIRE_NONE,
                            .tail = WIRE_NONE };
    if (!pad.before && !pad.after && !pads.least[t])
        pad.mode = PULSE_PAD_CONSTANT;
    if (pad.mode < 0)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: mode %s on axis %d, the time axis, joins the end of the "
                       "sequence to its start; constant, edge and reflect stream",
                       mode_names[mode], t);
    if (node_has_input(n, PAD_VALUE) && pad.mode == PULSE_PAD_CONSTANT) {
        pad.fill = pulser_fact(p, n->in[PAD_VALUE])->value;
        if (fact_knows_length(pulser_fact(p, n->in[PAD_VALUE])))
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: the value it pads with is computed from the length of "
                           "the whole sequence, which a stream learns only at its end");
        if (!pad.fill)
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: the value it pads with is not a constant");
    }
    if (pad.before <= 0 && pad.after <= 0 && pad.before + pads.least[t] < 0)
        return pad_slice(p, n, &pads, -pad.before, &f);
    TRY(pad_others(p, n, &pads, t, &f.wire));
    const int64_t crop = pad_crop(p, n, &pads, t, &f, &pad);
    if (pads.least[t] == pad.after && copies_padded(p, n, &f, &pad))
        return pad_copies_padded(p, n, &pad, &f);
    if (pad.before >= 0 && pads.least[t] >= 0 && (pad.mode == PULSE_PAD_CONSTANT || pad.before))
        TRY(padded_note(p, n, &f, &pad, crop));
    TRY(flow_pad(p, n, &f, &pad));
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}

/* ---- Concat ---- */

/* Joins inputs first..last, which do not stream, into one wire; WIRE_NONE where there are none. */
static rill_status constants_join(struct pulser *p, const struct node *n, unsigned first,
                                  unsigned end, int axis, uint32_t *ret, int64_t *ret_frames)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    const struct attr a = { .name = "axis", .kind = ATTR_INT, .i = axis };
    *ret = WIRE_NONE;
    *ret_frames = 0;
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = first; i < end; i++) {
        const struct fact *fact = pulser_dst_fact(p, p->map[n->in[i]]);
        const struct dim *d = fact->shape[axis];
        if (!fact_is_static(fact))
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: input %u has no fixed size",
                           i);
        *ret_frames += dim_value(d);
        in[i - first] = p->map[n->in[i]];
    }
    if (*ret_frames == 0)
        return RILL_OK;
    *ret = in[0];
    return end - first == 1 ? RILL_OK
                            : pulser_emit_op(p, OP_CONCAT, n->name, &a, 1, in, end - first, ret);
}

/* Whether nothing stands behind frames in front of a stream that the sequence is too short for;
 * ret_least: from which length on they are all there, 0 where that is not known. */
static bool head_fits(const struct pulser *p, const struct dim *head, const struct dim *behind,
                      int64_t most, int64_t *ret_least)
{
    const struct dim *both[2] = { head, behind };
    struct lengths l;
    int64_t h, s, last = -1;
    *ret_least = 0;
    if (!lengths_decide(p, both, 2, most, false, &l))
        return false;
    for (int64_t at = 0; at < l.end; at++)
        if (lengths_matter(p, at) && dim_eval(head, p->symbol, at, &h) &&
            dim_eval(behind, p->symbol, at, &s) && h != most && s != 0)
            last = at;
    *ret_least = last < l.end - l.period ? last + 1 : 0;
    return last < 0;
}

/* The frames that n joins behind its input i, up to those of the stream, its input k. */
static const struct dim *joined_behind(struct pulser *p, const struct node *n, unsigned i,
                                       unsigned k, int axis)
{
    const struct dim *frames = dim_int(p->dst->dims, 0);
    for (unsigned j = i + 1; j <= k; j++)
        frames = dim_add(p->dst->dims, frames,
                         j == k ? pulser_stream(p, n->in[k])->length
                                : pulser_fact(p, n->in[j])->shape[axis]);
    return frames;
}

static rill_status head_refuse(const struct pulser *p, const struct node *n, unsigned i,
                               int64_t most, int64_t least)
{
    char way[120] = "assert a least length";
    const char *t = dim_name(p->symbol);
    if (least)
        snprintf(way, sizeof way, "--assert \"%.40s >= %lld\" leaves those out", t,
                 (long long) least);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: input %u is %lld frames of a sequence that may have fewer; %s",
                   i, (long long) most, way);
}

/* Frames that are kept stand in front of what has none where they are not all there, which is less
 * than none then; or sequences are that long. */
static rill_status heads_check(struct pulser *p, const struct node *n, unsigned k, int axis)
{
    int64_t least;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE || !p->kept[n->in[i]].inputs)
            continue;
        const int64_t most = dim_value(pulser_dst_fact(p, p->map[n->in[i]])->shape[axis]);
        const struct dim *behind =
            i < k ? joined_behind(p, n, i, k, axis) : dim_int(p->dst->dims, 1);
        if (!head_fits(p, pulser_fact(p, n->in[i])->shape[axis], behind, most, &least))
            return head_refuse(p, n, i, most, least);
    }
    return RILL_OK;
}

/* When each of the frames that n joins in front of the stream, its input k, has come. */
static rill_status heads_come(struct pulser *p, const struct node *n, unsigned k, struct padded *q)
{
    const int axis = q->inner.sf.axis;
    int64_t *come = arena_array(p->arena, int64_t, q->before + 1), at = 0;
    if (!come)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < k; i++) {
        const struct kept *h = &p->kept[n->in[i]];
        const int64_t frames = dim_value(pulser_dst_fact(p, p->map[n->in[i]])->shape[axis]);
        for (int64_t j = 0; j < frames; j++)
            come[at++] = h->come && h->axis == axis ? h->come[j] : h->inputs;
    }
    q->come = come;
    return RILL_OK;
}

/* The frames around the stream, input k of n, that are kept: where some are behind it all come at
 * once. */
static rill_status heads_of(struct pulser *p, const struct node *n, unsigned k, struct padded *q)
{
    bool behind = false;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct kept *h = n->in[i] == WIRE_NONE ? NULL : &p->kept[n->in[i]];
        if (!h || !h->inputs)
            continue;
        q->inputs = larger(q->inputs, h->inputs);
        behind |= i > k;
    }
    return q->inputs && !behind ? heads_come(p, n, k, q) : RILL_OK;
}

/* Whether what is in front of the stream, input k of n, is made of frames that a short sequence
 * lacks: what is behind the sequence then stands behind fewer frames than there are in front. */
static bool heads_lack(const struct pulser *p, const struct node *n, unsigned k)
{
    bool lack = false;
    for (unsigned i = 0; i < k; i++)
        lack |= pulser_kept(p, n->in[i]) && p->kept[n->in[i]].frames;
    return lack;
}

/* What windows over the sequence f, input k of n, read that is put between frames. */
static rill_status joined_note(struct pulser *p, const struct node *n, unsigned k,
                               const struct padded *around)
{
    struct padded *all = &p->padded[n->out[0]];
    *all = *around;
    if (padded_joins(p, n->in[k], around->after))
        TRY(padded_join(p, n, n->in[k], around, all));
    if (around->inputs)
        padded_measure(p, n, 0, all);
    return RILL_OK;
}

rill_status rule_concat(struct pulser *p, const struct node *n)
{
    struct flow f;
    unsigned k = 0, streams = 0;
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i])) {
            k = i;
            streams++;
        }
    flow_of(p, n->in[k], &f);
    if (axis_normalise(axis_of(n), pulser_fact(p, n->in[k])->rank) != f.sf.axis)
        return pulser_off_axis(p, n);
    if (streams > 1)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it puts %u streams one after the other on axis %d, the "
                       "time axis; the second would start when the first has ended",
                       streams, f.sf.axis);
    struct flow_pad pad = { .mode = PULSE_PAD_VALUES };
    TRY(constants_join(p, n, 0, k, f.sf.axis, &pad.head, &pad.before));
    TRY(constants_join(p, n, k + 1, n->n_in, f.sf.axis, &pad.tail, &pad.after));
    const bool zeros = all_zero(p, pad.head) && all_zero(p, pad.tail);
    struct padded around = { .is = true,
                             .inner = f,
                             .before = pad.before,
                             .after = pad.after,
                             .mode = zeros ? PULSE_PAD_CONSTANT : PULSE_PAD_VALUES,
                             .head = pad.head,
                             .tail = pad.tail };
    TRY(heads_of(p, n, k, &around));
    if (around.inputs) {
        TRY(heads_check(p, n, k, f.sf.axis));
        padded_measure(p, n, 0, &around);
        f.sf.length = around.inner.sf.length;
    }
    TRY(joined_note(p, n, k, &around));
    if (heads_lack(p, n, k))
        p->padded[n->out[0]].is = false;
    TRY(padded_put(p, n, &around, &f));
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}
