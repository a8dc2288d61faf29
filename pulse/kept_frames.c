/* SPDX-License-Identifier: MIT */
/* First frames that are picked out of a sequence, or of what pads it and the sequence inside. */
#include "engine/base/dim_claims.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/pulser.h"

#define FRAMES_KEPT_MAX 65536

/* Whether a stream that has any frames may have too few there, and is not refused for that.
 * ret_least: the length from which on it has them; 0: not known. */
static bool may_lack(const struct pulser *p, const struct flow *f, int64_t end, int64_t *ret_least)
{
    struct lengths l;
    int64_t v, last = 0;
    *ret_least = 0;
    if (!lengths_decide(p, &f->sf.length, 1, end, false, &l))
        return true;
    for (int64_t at = 1; at < l.end; at++)
        if (lengths_matter(p, at) && dim_eval(f->sf.length, p->symbol, at, &v) && v < end)
            last = at;
    *ret_least = last < l.end - l.period ? last + 1 : 0;
    return last > 0;
}

/* When each of so many frames of f has come, from number `first` on; NULL: they are too many. */
static rill_status flow_come(struct pulser *p, const struct flow *f, int64_t first, int64_t frames,
                             const int64_t **ret)
{
    int64_t *come = frames <= PADDED_GIVEN_MAX ? arena_array(p->arena, int64_t, frames + 1) : NULL;
    if (!come && frames <= PADDED_GIVEN_MAX)
        return pulser_no_memory(p);
    for (int64_t i = 0; come && i < frames; i++)
        come[i] = kept_inputs(f, first + i);
    *ret = come;
    return RILL_OK;
}

/* Frames of the sequence in q, and behind it of what is put there. */
static rill_status kept_inner(struct pulser *p, const struct node *n, const struct padded *q,
                              int64_t first, int64_t frames, uint32_t *ret, int64_t *ret_inputs)
{
    const struct flow_pad behind = {
        .mode = q->mode, .after = q->after, .fill = q->fill, .head = WIRE_NONE, .tail = q->tail
    };
    struct flow f = q->inner;
    TRY(flow_pad(p, n, &f, &behind));
    f.sf.length = dim_add_int(p->dst->dims, f.sf.length, q->after);
    TRY(flow_resolve(p, n, &f));
    *ret_inputs = kept_inputs(&f, first + frames - 1);
    return kept_first(p, n, &f, first, frames, ret);
}

rill_status kept_padded(struct pulser *p, const struct node *n, const struct padded *q,
                        int64_t first, int64_t frames, uint32_t *ret, int64_t *ret_inputs)
{
    const int axis = q->inner.sf.axis;
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = axis };
    const int64_t inner = larger(first + frames - q->before, 0);
    uint32_t in[2];
    int64_t inputs;
    if (first >= q->before)
        return kept_inner(p, n, q, first - q->before, frames, ret, ret_inputs);
    *ret_inputs = larger(q->inputs, 1);
    TRY(padded_frames(p, n, q, q->before, q->head, &in[0]));
    if (first || inner == 0)
        TRY(pulser_slice(p, n->name, in[0], axis, first, smaller(first + frames, q->before),
                         &in[0]));
    *ret = in[0];
    if (inner == 0)
        return RILL_OK;
    TRY(kept_inner(p, n, q, 0, inner, &in[1], &inputs));
    *ret_inputs = larger(*ret_inputs, inputs);
    return pulser_emit_op(p, OP_CONCAT, n->name, &along, 1, in, 2, ret);
}

/* Whether frames up to `end` of what is padded by *q, of which so many are taken, are there earlier
 * as those in front and those of the sequence: if those in front are made of it, all at once. In a
 * branch frames go by its own runs. */
static bool padded_early(const struct pulser *p, const struct padded *q, const struct flow *f,
                         int64_t end, int64_t frames)
{
    if (!q->is || p->outer || q->before < 1 || q->inner.sf.delay - q->before >= f->sf.delay)
        return false;
    const int64_t inputs = padded_heads_inputs(q);
    const int64_t all = larger(inputs, kept_inputs(&q->inner, end - 1 - q->before));
    const int64_t plain = kept_inputs(f, end - 1);
    return q->before <= (inputs ? PADDED_KEPT_MAX : PADDED_GIVEN_MAX) &&
        (!inputs || all < plain || (all == plain && frames == 1)) && padded_heads_or_none(p, q);
}

/* Whether its first `end` frames are there before the first run, at every length. */
static bool padded_known(const struct pulser *p, const struct padded *q, int64_t end)
{
    return q->is && !p->outer && end <= q->before && padded_heads_inputs(q) == 0 &&
        padded_heads_there(p, q);
}

/* Frames first.. that pad what is padded by *q, so many: no frames that are kept. */
static rill_status frames_known(struct pulser *p, const struct node *n, const struct padded *q,
                                int64_t first, int64_t frames, uint32_t *ret)
{
    TRY(padded_frames(p, n, q, q->before, q->head, ret));
    return frames == q->before
        ? RILL_OK
        : pulser_slice(p, n->name, *ret, q->inner.sf.axis, first, first + frames, ret);
}

/* When each of so many frames of what q pads has come, the last of which has with ret->inputs:
 * those of the sequence itself, which may wait for its end, then too. */
static rill_status padded_kept_come(struct pulser *p, const struct padded *q, int64_t first,
                                    int64_t frames, struct kept *ret)
{
    int64_t *come = frames <= PADDED_GIVEN_MAX ? arena_array(p->arena, int64_t, frames + 1) : NULL;
    if (!come && frames <= PADDED_GIVEN_MAX)
        return pulser_no_memory(p);
    for (int64_t i = 0; come && i < frames; i++)
        come[i] = first + i < q->before ? padded_come(q, first + i) : ret->inputs;
    ret->come = come;
    return RILL_OK;
}

/* ret_kept: when they have come. */
static rill_status frames_keep(struct pulser *p, const struct node *n, struct flow *f,
                               const struct padded *around, int64_t first, int64_t frames,
                               uint32_t *ret, struct kept *ret_kept)
{
    struct padded q = *around;
    ret_kept->axis = f->sf.axis;
    if (padded_early(p, &q, f, first + frames, frames)) {
        if (padded_by_copies(&q))
            TRY(padded_given(p, n, f->sf.length, q.before, &q));
        TRY(kept_padded(p, n, &q, first, frames, ret, &ret_kept->inputs));
        return padded_kept_come(p, &q, first, frames, ret_kept);
    }
    TRY(flow_resolve(p, n, f));
    ret_kept->inputs = kept_inputs(f, first + frames - 1);
    TRY(flow_come(p, f, first, frames, &ret_kept->come));
    return kept_first(p, n, f, first, frames, ret);
}

rill_status kept_frames(struct pulser *p, const struct node *n, unsigned k, struct flow *f,
                        const struct padded *around, int64_t first, int64_t frames)
{
    uint32_t w = n->out[k];
    struct kept kept = { 0 };
    if (p->outer && !p->branch)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: in a body of a loop it takes frames at fixed places of the "
                       "sequence; taken outside they stream");
    if (fact_is_static(pulser_fact(p, w)) && padded_known(p, around, first + frames)) {
        p->sf[w] = (struct stream_fact) { .axis = -1 };
        return frames_known(p, n, around, first, frames, &p->map[w]);
    }
    if (frames > FRAMES_KEPT_MAX || first > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "keeps more than %d frames", FRAMES_KEPT_MAX);
    TRY(frames_keep(p, n, f, around, first, frames, &p->map[w], &kept));
    p->sf[w] = (struct stream_fact) { .axis = -1 };
    p->kept[w] = kept;
    if (may_lack(p, f, first + frames, &p->kept[w].least))
        p->kept[w].frames = dim_int(p->dst->dims, first + frames);
    return RILL_OK;
}
