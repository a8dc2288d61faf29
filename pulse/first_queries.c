/* SPDX-License-Identifier: MIT */
#include "pulse/first_queries.h"
#include "engine/base/dim_claims.h"
#include "engine/ops/clock.h"
#include "pulse/attention_refusal.h"
#include "pulse/hidden_keys.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/places.h"
#include "pulse/positions.h"
#include "pulse/sections.h"
#include "pulse/settled.h"
#include "pulse/shifts.h"
#include "pulse/tracks.h"

#include <math.h>

/* So many first queries and keys; and the input frames that have come when they have. */
struct first {
    int64_t queries, keys, inputs;
    const struct dim *length; /* of all queries */
    bool lacks; /* a short sequence lacks keys that its queries would see: those are hidden */
};

/* Scores of them that were made, to serve again. */
struct first_scores {
    uint32_t w;
    struct first of;
    uint32_t wire;
    struct first_scores *next;
};

/* ---- which they are ---- */

/* In a branch frames go by its own runs. */
static bool heads_given(const struct pulser *p, const struct padded *q)
{
    return q->is && !p->outer && q->before > 0 && q->before <= PADDED_GIVEN_MAX;
}

/* Whether so many first queries, or those of them that there are, see no key that is not there. */
static bool keys_there(const struct pulser *p, const struct dim *queries, const struct dim *keys,
                       const struct band *b, int64_t heads)
{
    const struct dim *both[2] = { queries, keys };
    struct lengths l;
    int64_t q, k;
    if (!lengths_decide(p, both, 2, heads, false, &l))
        return false;
    for (int64_t at = 0; at < l.end; at++)
        if (dims_allow(p->src->dims, p->symbol, at) &&
            !dims_need_broken(p->src->dims, p->symbol, at) &&
            (!dim_eval(queries, p->symbol, at, &q) || !dim_eval(keys, p->symbol, at, &k) ||
             (q > 0 && k < band_first_keys(b, smaller(q, heads)))))
            return false;
    return true;
}

bool queries_given(struct pulser *p, uint32_t w, struct padded *ret)
{
    const struct padded *q = &p->padded[w];
    if (!heads_given(p, q) || q->inner.sf.delay - q->before >= p->sf[w].delay)
        return false;
    p->may_be_early = true;
    *ret = *q;
    return p->early;
}

/* Of so many, those that see no other keys than the first `given`, and, of keys of which it is not
 * known when they come, none that is not there: length, of queries and keys; NULL: it is known. */
static int64_t heads_seeing(const struct pulser *p, const struct band *b,
                            const struct dim *const *length, int64_t given, int64_t heads)
{
    while (heads > 0 &&
           (band_first_keys(b, heads) > given ||
            (length[0] && length[1] && !keys_there(p, length[0], length[1], b, heads))))
        heads--;
    return heads;
}

/* Queries beside scores, of which fewer are in front than those lack. */
static void heads_fit(const struct pulser *p, const struct operand *o, unsigned n, int64_t heads,
                      struct section *s)
{
    for (unsigned i = 0; i < n; i++) {
        const struct padded *q = o[i].part == PART_QUERIES ? &p->padded[o[i].stream] : NULL;
        const int64_t before = q && q->is ? q->before : 0;
        if (q && before < heads)
            section_heads(s, before);
    }
}

int64_t first_queries(const struct pulser *p, const struct operand *o, unsigned n,
                      struct section *s)
{
    int64_t heads = s->heads, scores = -1, keys = INT64_MAX;
    const struct dim *length[2] = { NULL, NULL };
    for (unsigned i = 0; i < n; i++) {
        if (o[i].part == PART_SCORES)
            scores = larger(scores, o[i].flow.sf.heads);
        if (o[i].part == PART_QUERIES) {
            heads = smaller(heads, o[i].given.is ? o[i].given.before : 0);
            length[0] = o[i].flow.sf.length;
        }
        if (o[i].part == PART_KEYS) {
            keys = smaller(keys, o[i].keys.given.before);
            if (!padded_heads_come(p, &o[i].keys.given))
                length[1] = o[i].keys.flow.sf.length;
        }
    }
    if (scores > 0)
        heads_fit(p, o, n, scores, s);
    if (scores >= 0 || !p->early)
        return larger(scores, 0);
    heads = heads_seeing(p, &s->band, length, keys, heads);
    section_heads(s, heads);
    return heads;
}

int64_t places_first_queries(const struct pulser *p, uint32_t w, int query, int key,
                             const struct band *b)
{
    const struct dim *const *shape = pulser_fact(p, w)->shape;
    int64_t heads = 0;
    while (!p->outer && heads < PADDED_KEPT_MAX &&
           keys_there(p, shape[query], shape[key], b, heads + 1))
        heads++;
    return heads;
}

int64_t queries_late(const struct operand *o, int64_t heads)
{
    const struct padded *q = &o->given;
    const int64_t before = smaller(heads, q->before);
    if (!q->is)
        return o->flow.sf.delay;
    int64_t late = larger(q->inner.sf.delay - q->before, -heads);
    if (q->inputs)
        late = larger(late, padded_heads_delay(q, 0) - before);
    return larger(late, padded_rest_delay(q, before));
}

rill_status queries_take(struct pulser *p, const struct node *n, const struct operand *o,
                         int64_t heads, int64_t delay, struct flow *ret)
{
    struct padded q = o->given;
    const int64_t before = smaller(heads, q.before);
    *ret = o->flow;
    if (!q.is || (before == 0 && delay >= o->flow.sf.delay))
        return flow_delay(p, n->name, ret, delay - ret->sf.delay);
    *ret = q.inner;
    if (before == 0)
        TRY(padded_put(p, n, &q, ret));
    else if (before < q.before) {
        TRY(padded_given(p, n, o->flow.sf.length, before, &q));
        *ret = q.inner;
    }
    ret->sf.delay -= before;
    return flow_delay(p, n->name, ret, delay - ret->sf.delay);
}

/* ---- their scores ---- */

static rill_status first_refuse(const struct pulser *p, const struct node *n)
{
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: what the first queries see is not known before the first run");
}

/* Zeros for those of the first keys, *wire, that a short sequence lacks: a weight of 0 does not
 * hide what is not a number. */
static rill_status keys_blank(struct pulser *p, const struct node *n, const struct stream_fact *of,
                              int64_t frames, uint32_t *wire)
{
    struct pulse_pad_attr *a = arena_new(p->arena, struct pulse_pad_attr);
    uint32_t window[2] = { *wire };
    if (!a)
        return pulser_no_memory(p);
    *a = (struct pulse_pad_attr) { .at = { .pulse = frames }, .axis = of->axis };
    TRY(pulser_length_place(p, of->length, &a->at.length));
    TRY(pulser_first_clock(p, n, &window[1]));
    return pulser_emit(p, &op_pulse_pad, n->name, a, window, 2, wire, 1);
}

/* Whether they are constants, and no weight of 0 makes anything but 0 of them. */
static rill_status keys_finite(struct pulser *p, uint32_t wire, bool *ret)
{
    TRY(pulser_known(p, wire, &wire));
    const struct tensor *v = wire == WIRE_NONE ? NULL : pulser_dst_fact(p, wire)->value;
    *ret = v != NULL;
    for (int64_t i = 0; *ret && i < tensor_count(v); i++)
        *ret = isfinite(tensor_get_f64(v, v->data, i));
    return RILL_OK;
}

/* First keys that a short sequence lacks; its queries see none of them, or they are hidden when
 * they come. */
static rill_status keys_lacking(struct pulser *p, const struct node *n, const struct operand *o,
                                const struct padded *q, int64_t frames, const struct first *f,
                                uint32_t *wire)
{
    bool finite;
    if (padded_heads_come(p, q))
        return keys_blank(p, n, &p->sf[o->stream], frames, wire);
    if (f->lacks)
        return first_refuse(p, n);
    TRY(keys_finite(p, *wire, &finite));
    return finite ? RILL_OK : first_refuse(p, n);
}

/* The first `frames` of a padded stream. */
static rill_status frames_first(struct pulser *p, const struct node *n, const struct operand *o,
                                int64_t frames, struct first *f, uint32_t *ret)
{
    struct padded q = p->padded[o->stream];
    const bool alike = p->sf[o->stream].length == f->length,
               there = (alike ? padded_heads_or_none : padded_heads_there)(p, &q) ||
        (alike && o->part == PART_QUERIES);
    if (!heads_given(p, &q) || frames > q.before)
        return first_refuse(p, n);
    if (padded_by_copies(&q))
        TRY(padded_given(p, n, p->sf[o->stream].length, q.before, &q));
    f->inputs = larger(f->inputs, q.inputs);
    TRY(padded_frames(p, n, &q, q.before, q.head, ret));
    if (frames != q.before)
        TRY(pulser_slice(p, n->name, *ret, q.inner.sf.axis, 0, frames, ret));
    return there ? RILL_OK : keys_lacking(p, n, o, &q, frames, f, ret);
}

static rill_status scores_first(struct pulser *p, uint32_t w, struct first *f, uint32_t *ret);

static rill_status operand_first(struct pulser *p, const struct node *n, const struct operand *o,
                                 struct first *f, uint32_t *ret)
{
    const struct positions *ps = p->positions;
    *ret = o->w == WIRE_NONE ? WIRE_NONE : p->map[o->w];
    if (o->w != WIRE_NONE && pulser_kept(p, o->w))
        return first_refuse(p, n);
    switch (o->part) {
    case PART_STATIC: return RILL_OK;
    case PART_PLACES:
        return places_emit(p, n, o->w,
                           &(struct places) { .axis = { o->query, o->key },
                                              .at = { ps->place[0], ps->place[1] },
                                              .count = { f->queries, f->keys } },
                           ret);
    case PART_SCORES: return scores_first(p, o->w, f, ret);
    case PART_QUERIES: return frames_first(p, n, o, f->queries, f, ret);
    case PART_KEYS: return frames_first(p, n, o, f->keys, f, ret);
    }
    return RILL_OK;
}

/* As keys outside the sequence are in a run. */
static rill_status lacking_hide(struct pulser *p, const struct node *n, const struct operand *o,
                                const struct stream_fact *s, uint32_t *wire)
{
    const uint32_t w = n->out[0];
    const struct stream_fact *of = &p->sf[w];
    double zero;
    if (!wire_hides(p, w, &zero) || !(of->weights || of->masked) || operands_settled(p, n, o, of))
        return RILL_OK;
    return keys_hide_first(p, n, s, pulser_fact(p, w)->shape[s->key_axis],
                           of->weights ? zero : -INFINITY, wire);
}

static rill_status node_first(struct pulser *p, const struct node *n, struct first *f,
                              uint32_t *ret)
{
    const struct stream_fact s = { .axis = section_query(p, n->out[0]),
                                   .key_axis = section_key(p, n->out[0]),
                                   .pulse = f->queries,
                                   .keys = f->keys };
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 2);
    struct operand *o = arena_array(p->arena, struct operand, n->n_in + 1);
    if (!in || !o)
        return pulser_no_memory(p);
    if (shift_of(p, n->out[0]))
        return first_refuse(p, n);
    for (unsigned i = 0; i < n->n_in; i++) {
        TRY(operand_of(p, n, i, &o[i]));
        TRY(operand_first(p, n, &o[i], f, &in[i]));
    }
    TRY(scores_op(p, n, &s, in, ret));
    if (!scores_fit(p, *ret, &s))
        return stuck_refuse(p, n);
    return f->lacks ? lacking_hide(p, n, o, &s, ret) : RILL_OK;
}

/* All of those keys are there: none is hidden but by the masks. */
static rill_status scores_first(struct pulser *p, uint32_t w, struct first *f, uint32_t *ret)
{
    struct first_scores *s = p->first_scores;
    while (s && (s->w != w || s->of.queries != f->queries || s->of.keys != f->keys))
        s = s->next;
    if (!s) {
        if (!(s = arena_new(p->arena, struct first_scores)))
            return pulser_no_memory(p);
        *s = (struct first_scores) { .w = w, .of = *f };
        s->of.inputs = 0;
        TRY(node_first(p, graph_producer(p->src, w), &s->of, &s->wire));
        s->next = p->first_scores;
        p->first_scores = s;
    }
    f->inputs = larger(f->inputs, s->of.inputs);
    *ret = s->wire;
    return RILL_OK;
}

/* ---- sums over their keys ---- */

static rill_status sum_first(struct pulser *p, const struct node *n, const struct operand *summed,
                             const struct operand *other, struct first *f, uint32_t *ret)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    for (unsigned k = 0; k < n->n_in; k++) {
        in[k] = n->in[k] == WIRE_NONE ? WIRE_NONE : p->map[n->in[k]];
        if (n->in[k] == summed->w)
            TRY(operand_first(p, n, summed, f, &in[k]));
        else if (other && k < 2)
            TRY(operand_first(p, n, other, f, &in[k]));
    }
    return pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, ret, 1);
}

/* Of the scores *w, what is in front of the others. */
static rill_status padded_by_first(struct pulser *p, const struct node *n, const struct flow *w,
                                   const struct first *f, struct padded *q)
{
    struct stream_fact *s = &q->inner.sf;
    *q = (struct padded) { .is = true,
                           .inner = *w,
                           .before = f->queries,
                           .mode = PULSE_PAD_VALUES,
                           .head = q->head,
                           .tail = WIRE_NONE,
                           .inputs = f->inputs };
    s->heads = 0;
    s->delay += f->queries;
    s->length = dim_add_int(p->dst->dims, pulser_fact(p, n->out[0])->shape[s->axis], -f->queries);
    offset_cut(s, f->queries, 1);
    return dim_is(pulser_dst_fact(p, q->head)->shape[s->axis], f->queries) ? RILL_OK
                                                                           : stuck_refuse(p, n);
}

rill_status first_queries_bind(struct pulser *p, const struct node *n, const struct operand *summed,
                               const struct band *b, const struct operand *other,
                               const struct flow *w)
{
    struct first first = { .queries = w->sf.heads,
                           .keys = band_first_keys(b, w->sf.heads),
                           .length = pulser_fact(p, n->out[0])->shape[w->sf.axis] };
    struct padded *q = &p->padded[n->out[0]];
    const struct dim *const *shape = pulser_fact(p, summed->w)->shape;
    if (first.queries == 0)
        return pulser_bind(p, n, 0, w->wire, &w->sf);
    first.lacks = !keys_there(p, shape[summed->query], shape[summed->key], b, first.queries);
    if (first.lacks && summed->part == PART_PLACES)
        return first_refuse(p, n);
    TRY(sum_first(p, n, summed, other, &first, &q->head));
    TRY(padded_by_first(p, n, w, &first, q));
    struct flow f = q->inner;
    TRY(padded_put(p, n, q, &f));
    f.sf.at = w->sf.at;
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}
