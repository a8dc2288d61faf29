/* SPDX-License-Identifier: MIT */
/* Attention along time whose masks are functions of positions.
 *
 * Scores [.., i, .., j] of which a section's sums see, for the queries of a run, only keys from
 * `left` frames before the first to `right` frames behind the last become [.., pulse, left + pulse
 * + right] per run: the keys are a history, the queries wait for the keys behind them. A run holds
 * as many queries as whole chunks of the mask have, and begins where in a chunk the delay puts it:
 * where the queries wait least. Column c of a run stands for the key c - left frames from the run's
 * first query.
 * Ops between the products and the sums are the same on those parts; what depends on positions is
 * made for them (places.h). */
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "engine/ops/einsum.h"
#include "pulse/attention_refusal.h"
#include "pulse/axes.h"
#include "pulse/byte_scores.h"
#include "pulse/ints.h"
#include "pulse/first_queries.h"
#include "pulse/hidden_keys.h"
#include "pulse/places.h"
#include "pulse/positions.h"
#include "pulse/rules.h"
#include "pulse/sections.h"
#include "pulse/settled.h"
#include "pulse/shifts.h"
#include "pulse/tracks.h"

#include <math.h>

/* What all wires of a section have in a run, and where the axes of the node's wires lie. */
struct scores {
    int64_t pulse, chunk, delay; /* of queries */
    int64_t keys, left, right;   /* a pulse of keys, and what is seen around it */
    int64_t first;               /* keys of the sequence that are seen beside those */
    int64_t heads;               /* first queries that are in no run */
    int64_t came;                /* how late keys come, the latest; NO_DELAY: none are read */
    struct rates rates;
    bool any; /* `like` is set */
    struct stream_fact like;
};

#define RATES_OFF "queries and keys meet at other rates than those that their lengths have"

/* Queries beside a stream of keys. */
static rill_status like_of_keys(struct pulser *p, const struct node *n, const struct rates *r,
                                struct stream_fact *like)
{
    if (r->queries == r->keys)
        return RILL_OK;
    TRY(pulser_want_multiple(p, n, like, r->keys, "the rate of its keys"));
    like->pulse = like->pulse / r->keys * r->queries;
    like->length = pulser_fact(p, n->out[0])->shape[section_query(p, n->out[0])];
    flow_scale(like, r->keys, r->queries);
    return RILL_OK;
}

/* What the scores are like: queries that come in, or other scores, or else keys. */
static rill_status scores_like(struct pulser *p, const struct node *n, const struct operand *o,
                               struct scores *s)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        if (o[i].part < PART_SCORES || (s->any && o[i].part != PART_QUERIES))
            continue;
        s->like = o[i].flow.sf;
        s->any = true;
        if (o[i].part == PART_KEYS)
            TRY(like_of_keys(p, n, &s->rates, &s->like));
    }
    return s->any ? RILL_OK : stuck_refuse(p, n);
}

/* ---- how late they are ---- */

/* The query of a chunk that a run begins with. */
static int64_t phase_of(const struct scores *s)
{
    return (s->chunk - s->delay % s->chunk) % s->chunk;
}

static void window_set(const struct band *b, struct scores *s)
{
    const struct key_span at = band_span(b, &s->rates, s->chunk, phase_of(s));
    s->left = larger(at.left, 0);
    s->right = larger(at.right, band_early(b, s->pulse, s->delay));
    s->first = b->first;
}

static int64_t columns_of(const struct scores *s)
{
    return s->first + s->left + s->keys + s->right + first_slack(s->first);
}

/* Of scores that come `delay` of their queries late. */
static struct first_window window_of(const struct scores *s)
{
    return (struct first_window) { s->first, s->left + s->keys + s->right, s->keys,
                                   rates_late(&s->rates, s->delay) + s->left };
}

#define NO_KEYS NO_DELAY

/* What scores wait for. */
struct wait {
    int64_t queries, keys; /* their delays, of the latest; NO_KEYS: scores have waited for them */
    int64_t scores;        /* of the latest that come in; NO_DELAY: none does */
    bool kept;             /* what is in front of them comes in a later run than the first */
    bool made;             /* it is made of frames of the sequence */
};

static int64_t wait_least(const struct scores *s, const struct wait *of, int64_t keys)
{
    return keys == NO_KEYS ? of->queries
                           : larger(of->queries, rates_queries(&s->rates, keys + s->right));
}

/* Of scores that begin a section: the least. At whole chunks they wait for the keys of chunks at
 * most, so that the search ends there. */
static void delay_find(const struct band *b, const struct wait *of, struct scores *s)
{
    s->delay = larger(of->queries, rates_queries(&s->rates, of->keys));
    window_set(b, s);
    while (s->delay < wait_least(s, of, of->keys)) {
        s->delay++;
        window_set(b, s);
    }
}

/* The first scores of a section wait for what the others and the sums are known to wait for. */
static void delay_first(struct section *of, const struct wait *w, struct scores *s)
{
    struct wait all = *w;
    of->waits[0] = w->queries;
    of->waits[1] = w->keys;
    if (of->more[0] != NO_DELAY)
        all.queries = larger(w->queries, of->waits[0] + of->more[0]);
    if (of->more[1] != NO_DELAY)
        all.keys = larger(w->keys, of->waits[1] + of->more[1]);
    delay_find(&of->band, &all, s);
    of->delay = s->delay;
}

/* Keys are counted from the first query of their run, so all scores of a section differ by whole
 * runs. */
static void delay_set(struct section *of, const struct wait *w, struct scores *s)
{
    s->delay = w->scores > NO_DELAY ? w->scores : of->delay;
    if (s->delay == NO_DELAY) {
        delay_first(of, w, s);
        return;
    }
    window_set(&of->band, s);
    const int64_t least = wait_least(s, w, w->keys);
    if (of->delay > NO_DELAY && of->delay < least)
        section_waits(of, w->queries > of->delay ? w->queries : NO_DELAY, w->keys);
    if (s->delay < least)
        s->delay += round_up(least - s->delay, s->pulse);
    while (w->scores == NO_DELAY && s->delay - s->pulse >= larger(least, smaller(of->delay, 0)))
        s->delay -= s->pulse;
}

/* Keys whose delay makes the scores no later than what comes in beside them. */
static int64_t keys_in_time(const struct section *of, const struct scores *s, const struct wait *w)
{
    return s->rates.queries == s->rates.keys
        ? larger(w->queries, w->scores) - larger(band_ahead(&of->band), band_reach(&of->band).right)
        : INT64_MIN;
}

/* Without what is in front of them, where that may be. */
static rill_status queries_find(struct pulser *p, const struct node *n, struct operand *o,
                                const struct scores *s)
{
    struct padded *q = &o->given;
    if (s->rates.queries == s->rates.keys)
        q->is = queries_given(p, o->stream, q);
    return q->is ? padded_given(p, n, o->flow.sf.length, q->before, q) : RILL_OK;
}

/* Streams that come in, as the scores wait for them: all but the first queries. */
static void operand_waits(const struct operand *o, struct scores *s, struct wait *w)
{
    if (o->part == PART_QUERIES) {
        w->queries = larger(w->queries, queries_late(o, s->heads));
        w->kept |= o->given.is && padded_heads_late(&o->given) > 0;
        w->made |= o->given.is && o->given.inputs > 0;
    }
    if (o->part == PART_SCORES) {
        w->scores = larger(w->scores, o->flow.sf.delay);
        s->came = larger(s->came, o->flow.sf.key_came);
    }
    if (o->part == PART_KEYS)
        w->keys = larger(w->keys, o->keys.delay);
    if (o->part == PART_KEYS && o->keys.queries > NO_DELAY) {
        w->queries = larger(w->queries, rates_pass(&s->rates, o->keys.queries) - s->heads);
        w->kept |= o->keys.queries > 0;
    }
}

static rill_status operands_wait(struct pulser *p, const struct node *n, struct section *of,
                                 struct operand *o, struct scores *s, struct wait *w)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        if (o[i].part < PART_SCORES)
            continue;
        if (o[i].flow.sf.pulse != (o[i].part == PART_KEYS ? s->keys : s->pulse))
            return scores_refuse(p, n, RATES_OFF);
        if (o[i].part == PART_QUERIES)
            TRY(queries_find(p, n, &o[i], s));
    }
    s->heads = first_queries(p, o, n->n_in, of);
    for (unsigned i = 0; i < n->n_in; i++)
        if (o[i].part == PART_SCORES || o[i].part == PART_QUERIES)
            operand_waits(&o[i], s, w);
    if (w->queries == NO_DELAY && w->scores == NO_DELAY)
        w->queries = -s->heads;
    for (unsigned i = 0; i < n->n_in; i++)
        if (o[i].part == PART_KEYS) {
            TRY(keys_resolve(p, n, &o[i].keys, keys_in_time(of, s, w)));
            operand_waits(&o[i], s, w);
            s->came = larger(s->came, o[i].keys.delay);
        }
    return RILL_OK;
}

/* The delay and window of the scores, by all operands. keys: so many there are, where they are none
 * of those; NULL: they come with the queries. */
static rill_status scores_time(struct pulser *p, const struct node *n, struct section *of,
                               struct operand *o, const struct dim *keys, struct scores *s)
{
    struct wait w = { .queries = NO_DELAY, .keys = NO_KEYS, .scores = NO_DELAY };
    s->came = NO_DELAY;
    TRY(scores_like(p, n, o, s));
    TRY(pulser_want_multiple(p, n, &s->like, s->chunk, "the chunks of its mask"));
    s->pulse = s->like.pulse;
    s->keys = rates_keys(&s->rates, s->pulse);
    TRY(operands_wait(p, n, of, o, s, &w));
    if (w.keys == NO_KEYS && w.scores == NO_DELAY && keys)
        TRY(keys_counted(p, n, &s->like, &s->rates, keys, &of->band, n->n_out ? s->heads : 0,
                         &w.keys));
    else if (w.keys == NO_KEYS && w.scores == NO_DELAY)
        w.keys = w.queries;
    delay_set(of, &w, s);
    if (!w.kept && (!w.made || s->delay >= 0) && w.scores == NO_DELAY) /* all others are in a run */
        s->heads = larger(-s->delay, 0);
    return RILL_OK;
}

static rill_status operand_emit(struct pulser *p, const struct node *n, const struct operand *o,
                                const struct scores *s, uint32_t *ret)
{
    *ret = o->w == WIRE_NONE ? WIRE_NONE : p->map[o->w];
    struct flow f = o->flow;
    const struct first_window window = window_of(s);
    const int64_t slack = first_slack(s->first);
    switch (o->part) {
    case PART_STATIC: return RILL_OK;
    case PART_PLACES: {
        const struct positions *ps = p->positions;
        int64_t first = FAR / s->chunk * s->chunk + phase_of(s);
        const struct places at = { .axis = { o->query, o->key },
                                   .at = { ps->place[0], ps->place[1] },
                                   .first = { first,
                                              rates_keys(&s->rates, first) - s->left - slack },
                                   .count = { s->pulse, window.frames + 2 * slack },
                                   .repeats = { s->chunk, rates_keys(&s->rates, s->chunk) },
                                   .from = { s->first, s->first } };
        struct stream_fact queries = s->like;
        queries.delay = s->delay;
        TRY(places_emit(p, n, o->w, &at, ret));
        return first_places_join(p, n, o->w, &at, &queries, &window, ret);
    }
    case PART_SCORES:
        if (f.sf.delay != s->delay && (s->delay - f.sf.delay) % s->pulse)
            return stuck_refuse(p, n);
        TRY(flow_delay(p, n->name, &f, s->delay - f.sf.delay));
        break;
    case PART_QUERIES: TRY(queries_take(p, n, o, s->heads, s->delay, &f)); break;
    case PART_KEYS: TRY(keys_window(p, n, &o->keys, &window, &f.wire)); break;
    }
    *ret = f.wire;
    return spread_emit(p, o->w, o->part == PART_KEYS ? columns_of(s) : s->pulse, ret);
}

/* ---- keys outside the sequence ---- */

/* Whether all that b shows of wire w lies in the window. */
static bool shows_within(const struct pulser *p, uint32_t w, const struct band *b,
                         const struct stream_fact *s)
{
    const struct rates r = rates_of(p, w, s->axis, s->key_axis);
    const int64_t phase = (s->chunk - s->delay % s->chunk) % s->chunk;
    if (s->chunk % b->chunk || b->ragged)
        return false;
    const struct key_span at = band_span(b, &r, s->chunk, phase);
    return at.left <= s->left &&
        larger(at.right, band_early(b, s->pulse, s->delay)) <= scores_right(s) &&
        b->first <= s->first_keys;
}

/* Marks what is hidden behind the node, and hides keys outside the sequence where its operands did
 * not. */
static rill_status scores_settle(struct pulser *p, const struct node *n, const struct operand *o,
                                 struct stream_fact *s, uint32_t *wire)
{
    const uint32_t w = n->out[0];
    double zero;
    if (!wire_hides(p, w, &zero))
        return RILL_OK;
    const bool real = dtype_is_float(pulser_fact(p, w)->type);
    const struct band shown = real ? band_of(p, w, SHOWS_TRUE, s->axis, s->key_axis)
                                   : bytes_band(p, w, zero, s->axis, s->key_axis),
                      low = band_of(p, w, SHOWS_HIGH, s->axis, s->key_axis);
    s->weights = shows_within(p, w, &shown, s);
    s->masked = real && !s->weights && shows_within(p, w, &low, s);
    if ((!s->weights && !s->masked) || operands_settled(p, n, o, s))
        return RILL_OK;
    return keys_hide(p, n, s, pulser_fact(p, w)->shape[s->key_axis], s->weights ? zero : -INFINITY,
                     wire);
}

/* ---- nodes of a section ---- */

static struct stream_fact scores_fact(const struct scores *s, int query, int key)
{
    struct stream_fact sf = s->like;
    sf.axis = query;
    sf.delay = s->delay;
    sf.uniform = sf.masked = sf.weights = false;
    sf.key_axis = key;
    sf.keys = columns_of(s);
    sf.first_keys = s->first;
    sf.key_pulse = s->keys;
    sf.key_came = s->came;
    sf.left = s->left;
    sf.chunk = s->chunk;
    sf.heads = s->heads;
    return sf;
}

/* The end of a chain that shifts products with distances. */
static rill_status scores_shift(struct pulser *p, const struct node *n, struct section *of,
                                const struct shift *shift, struct scores *s)
{
    struct operand o = { .part = PART_QUERIES, .w = WIRE_NONE };
    uint32_t out, w = n->out[0], queries = shift->node[0]->in[1 - shift->table], q;
    int query = section_query(p, w), key = section_key(p, w);
    const struct node one = { .name = n->name, .op = n->op, .in = &queries, .n_in = 1 };
    if (!flow_of(p, queries, &o.flow) || key != query + 1 || s->rates.queries != s->rates.keys)
        return stuck_refuse(p, n);
    o.w = o.stream = queries;
    if (of->band.first) /* a table may end with the sequence */
        TRY(flow_resolve(p, &one, &o.flow));
    TRY(scores_time(p, &one, of, &o, keys_shifted(p, w, query, key), s));
    TRY(operand_emit(p, &one, &o, s, &q));
    const struct key_span seen = band_reach(&of->band);
    const struct stream_fact sf = scores_fact(s, query, key);
    const struct first_window window = window_of(s);
    TRY(shift_emit(p, shift, q,
                   &(struct shift_window) { s->pulse, s->left + first_slack(s->first), s->right,
                                            seen.left, seen.right },
                   &out));
    TRY(first_shift_join(p, n,
                         &(struct first_shift) { shift, &sf, q, query, band_ahead(&of->band) },
                         &window, &out));
    return scores_fit(p, out, &sf) ? pulser_bind(p, n, 0, out, &sf) : stuck_refuse(p, n);
}

static rill_status scores_node(struct pulser *p, const struct node *n, struct section *of)
{
    struct operand *o = arena_array(p->arena, struct operand, n->n_in + 1);
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 2), out, w = n->out[0];
    struct scores s = { .chunk = of->band.chunk };
    int query = section_query(p, w), key = section_key(p, w);
    if (!o || !in)
        return pulser_no_memory(p);
    TRY(section_check(p, n, of));
    s.rates = rates_of(p, w, query, key);
    if (s.chunk % s.rates.queries)
        return scores_refuse(p, n, RATES_OFF);
    if (shift_of(p, w))
        return scores_shift(p, n, of, shift_of(p, w), &s);
    TRY(operands_of(p, n, o));
    TRY(scores_time(p, n, of, o, pulser_fact(p, w)->shape[key], &s));
    for (unsigned i = 0; i < n->n_in; i++)
        TRY(operand_emit(p, n, &o[i], &s, &in[i]));
    struct stream_fact sf = scores_fact(&s, query, key);
    TRY(scores_op(p, n, &sf, in, &out));
    if (!scores_fit(p, out, &sf))
        return stuck_refuse(p, n);
    TRY(scores_settle(p, n, o, &sf, &out));
    return pulser_bind(p, n, 0, out, &sf);
}

/* ---- sums over keys ---- */

static bool settled_for(const struct stream_fact *s, enum shows what)
{
    return what == SHOWS_TRUE ? s->weights : s->masked;
}

/* What a node sums over keys. */
struct summed {
    unsigned i;        /* the input */
    struct operand of; /* scores, or what positions make */
    struct band band;  /* what is shown of it */
};

/* *w: what is summed, in a run. */
static rill_status sum_bind(struct pulser *p, const struct node *n, const struct summed *s,
                            const struct operand *other, uint32_t out, struct flow *w)
{
    w->wire = out;
    w->sf.axis = track_out(p, n, s->i, w->sf.axis);
    w->sf.keys = 0;
    w->sf.masked = w->sf.weights = false;
    return first_queries_bind(p, n, &s->of, &s->band, other, w);
}

static rill_status sum_reduce(struct pulser *p, const struct node *n, const struct summed *s,
                              struct flow *w)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1), out;
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = i == 0 ? w->wire : n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, &out, 1));
    return sum_bind(p, n, s, NULL, out, w);
}

/* The zeros of bytes that are multiplied do not come with the data. */
static bool bytes_zeros_known(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 2; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && !pulser_fact(p, n->in[i])->value)
            return false;
    return true;
}

/* Both operands are summed along the axes that are given, and along no other. */
static bool contracts(const struct pulser *p, const struct node *n, unsigned scores, int key,
                      int time)
{
    int ranks[2] = { pulser_fact(p, n->in[0])->rank, pulser_fact(p, n->in[1])->rank }, axis[2];
    if (node_is(n, OP_MATMUL_INTEGER) && !bytes_zeros_known(p, n))
        return false;
    if (node_is(n, OP_MATMUL) || node_is(n, OP_MATMUL_INTEGER))
        return track_out(p, n, 1 - scores, time) == AXIS_NONE;
    return n->n_in == 2 && einsum_summed(n, ranks, axis) && axis[scores] == key &&
        axis[1 - scores] == time;
}

/* Weights times what positions make for each query and key (relative positions of Shaw's values),
 * the window of which is one for all runs. *ret_is: they are that. */
static rill_status sum_places(struct pulser *p, const struct node *n, const struct summed *of,
                              struct flow *w, bool *ret_is)
{
    const unsigned i = of->i;
    const struct stream_fact s = w->sf;
    const uint32_t other = n->n_in == 2 ? n->in[1 - i] : WIRE_NONE;
    const int to = track_out(p, n, i, s.axis);
    int axes[2];
    uint32_t in[2], out;
    *ret_is =
        other != WIRE_NONE && pulser_is_mask(p, other) && to >= 0 && time_axes(p, other, axes) == 2;
    if (!*ret_is)
        return RILL_OK;
    struct operand o = { .part = PART_PLACES, .w = other, .query = track_in(p, n, 1 - i, to) };
    o.key = axes[axes[0] == o.query];
    *ret_is = axes[axes[0] != o.query] == o.query && contracts(p, n, i, s.key_axis, o.key);
    if (!*ret_is)
        return RILL_OK;
    const struct scores all = { .pulse = s.pulse,
                                .chunk = s.chunk,
                                .delay = s.delay,
                                .keys = s.key_pulse,
                                .left = s.left,
                                .right = scores_right(&s),
                                .first = s.first_keys,
                                .rates = rates_of(p, n->in[i], s.axis, s.key_axis),
                                .any = true,
                                .like = s };
    in[i] = w->wire;
    TRY(operand_emit(p, n, &o, &all, &in[1 - i]));
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, &out, 1));
    return sum_bind(p, n, of, &o, out, w);
}

/* Weights [.., pulse, keys] times values [.., keys, width], in either order. */
static rill_status sum_product(struct pulser *p, const struct node *n, const struct summed *sum,
                               struct flow *w)
{
    const unsigned i = sum->i;
    const uint32_t of = n->n_in >= 2 ? n->in[1 - i] : WIRE_NONE;
    const struct operand values = { .part = PART_KEYS, .w = of, .stream = of };
    struct keys v;
    uint32_t in[4], out;
    const struct stream_fact s = w->sf;
    const struct rates run = scores_rates(&s);
    const int64_t right = scores_right(&s);
    int64_t late;
    bool places;
    TRY(sum_places(p, n, sum, w, &places));
    if (places)
        return RILL_OK;
    bool fits = n->n_in >= 2 && n->n_in <= 4 && keys_of(p, n->in[1 - i], &v) && !v.flow.sf.keys &&
        contracts(p, n, i, s.key_axis, v.flow.sf.axis) && v.flow.sf.pulse == s.key_pulse;
    if (!fits)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: weights of attention over time need values at the rate "
                       "of its keys");
    TRY(keys_resolve(p, n, &v, scores_key_delay(&s) - right));
    if (!v.given.is) /* a weight of 0 does not hide what is not a number */
        TRY(flow_mask(p, n, &v.flow, NULL, true, true));
    late = v.delay + right - scores_key_delay(&s);
    if (v.queries > NO_DELAY)
        late = larger(late, v.queries - (s.delay + s.heads) / run.queries * run.keys);
    late = round_up(late, s.key_pulse) / s.key_pulse;
    if (late > 0 && section_of(p, n->in[i]))
        section_waits(section_of(p, n->in[i]),
                      v.queries > 0 ? rates_pass(&run, v.queries) - s.heads : NO_DELAY, v.delay);
    if (late > 0)
        TRY(flow_delay(p, n->name, w, late * s.pulse));
    TRY(keys_window(p, n, &v,
                    &(struct first_window) { s.first_keys, s.left + s.key_pulse + right,
                                             s.key_pulse, scores_key_delay(&w->sf) + s.left },
                    &in[1 - i]));
    in[i] = w->wire;
    for (unsigned k = 2; k < n->n_in; k++)
        in[k] = n->in[k] == WIRE_NONE ? WIRE_NONE : p->map[n->in[k]];
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, &out, 1));
    return sum_bind(p, n, sum, &values, out, w);
}

/* Masks and biases of positions that are summed themselves: how many keys a query sees, a matrix
 * that takes means of frames. */
static rill_status places_flow(struct pulser *p, const struct node *n, int key, enum shows what,
                               struct summed *sum, struct flow *ret)
{
    int axes[2];
    const unsigned i = sum->i;
    uint32_t w = n->in[i];
    struct scores s = { .any = true, .came = NO_DELAY };
    time_axes(p, w, axes);
    int query = axes[0] == key ? axes[1] : axes[0];
    const struct band b = band_of(p, w, what, query, key);
    if (b.costly)
        return op_fail(p->err, RILL_LIMIT, n, MASKS_COST);
    if (!band_bounded(&b) || b.ragged || (b.first && rates_of(p, w, query, key).keys != 1))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it sums over axis %d of input %u, a time axis, of which "
                       "positions alone show frames without a bound, or not alike from chunk to "
                       "chunk of at most 512",
                       key, i);
    s.chunk = b.chunk;
    struct flow f = { .wire = WIRE_NONE };
    s.rates = rates_of(p, w, query, key);
    if (s.chunk % s.rates.queries)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: " RATES_OFF);
    if (s.rates.queries == s.rates.keys && n->n_in == 2 && pulser_stream(p, n->in[1 - i]))
        f.sf = *pulser_stream(p, n->in[1 - i]);
    else
        TRY(source_fact(p, n, &f.sf));
    TRY(pulser_want_multiple(p, n, &f.sf, s.chunk, "the chunks of its mask"));
    f.sf.delay = node_sums_products(n) ? 0 : -places_first_queries(p, w, query, key, &b);
    f.sf.uniform = true;
    TRY(flow_resolve(p, n, &f));
    p->may_be_early |= f.sf.delay < 0;
    f.sf.delay = p->early ? f.sf.delay : larger(f.sf.delay, 0);
    s.heads = larger(-f.sf.delay, 0);
    s.like = f.sf;
    s.pulse = f.sf.pulse;
    s.keys = rates_keys(&s.rates, s.pulse);
    struct wait wait = { .queries = f.sf.delay, .keys = f.sf.delay, .scores = NO_DELAY };
    int64_t late;
    TRY(keys_counted(p, n, &f.sf, &s.rates, pulser_fact(p, w)->shape[key], &b, s.heads,
                     &wait.keys));
    if (n->n_in == 2 && node_sums_products(n)) {
        wait.keys = larger(wait.keys, keys_late(p, n->in[1 - i], &late));
        wait.queries = larger(wait.queries, rates_pass(&s.rates, late));
    }
    delay_find(&b, &wait, &s);
    s.heads = larger(-s.delay, 0);
    sum->of = (struct operand) { .part = PART_PLACES, .w = w, .query = query, .key = key };
    sum->band = b;
    TRY(operand_emit(p, n, &sum->of, &s, &ret->wire));
    ret->sf = scores_fact(&s, query, key);
    ret->sf.weights = what == SHOWS_TRUE;
    ret->sf.masked = what == SHOWS_HIGH;
    return keys_hide(p, n, &ret->sf, pulser_fact(p, w)->shape[key],
                     what == SHOWS_TRUE ? 0 : -INFINITY, &ret->wire);
}

/* The input that is summed along keys; n->n_in: none is. */
static unsigned summed_input(const struct pulser *p, const struct node *n, int *ret_axis,
                             enum shows *ret_what)
{
    unsigned i = 0;
    while (i < n->n_in &&
           (n->in[i] == WIRE_NONE || !sums_along(p, n, i, ret_axis, ret_what) ||
            !(p->sf[n->in[i]].keys || places_known(p, n->in[i]))))
        i++;
    return i;
}

static rill_status sum_node(struct pulser *p, const struct node *n)
{
    int axis;
    enum shows what;
    struct summed s = { .i = summed_input(p, n, &axis, &what) };
    struct flow w;
    if (s.i == n->n_in)
        return stuck_refuse(p, n);
    const struct section *of = section_of(p, n->in[s.i]);
    if (places_known(p, n->in[s.i]))
        TRY(places_flow(p, n, axis, what, &s, &w));
    else {
        s.of = (struct operand) { .part = PART_SCORES,
                                  .w = n->in[s.i],
                                  .query = p->sf[n->in[s.i]].axis,
                                  .key = p->sf[n->in[s.i]].key_axis };
        s.band = of ? of->band : s.band;
        w = (struct flow) { p->map[n->in[s.i]], p->sf[n->in[s.i]] };
    }
    if (w.sf.key_axis != axis || !settled_for(&w.sf, what))
        return shown_refuse(p, n, axis, s.i);
    return node_sums_products(n) ? sum_product(p, n, &s, &w) : sum_reduce(p, n, &s, &w);
}

/* Sums of what positions make alone. */
static bool sums_places(const struct pulser *p, const struct node *n)
{
    int axis;
    enum shows what;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && pulser_is_mask(p, n->in[i]) &&
            sums_along(p, n, i, &axis, &what) && n->n_out == 1 && !pulser_time_twice(p, n->out[0]))
            return true;
    return false;
}

bool node_is_attention(const struct pulser *p, const struct node *n)
{
    return p->sections && (section_of_node(p, n) || sums_places(p, n));
}

rill_status rule_attention(struct pulser *p, const struct node *n)
{
    struct section *s = section_of_node(p, n);
    int axis;
    enum shows what;
    if (n->n_out == 1 && section_of(p, n->out[0])) {
        bool softmax = node_is(n, OP_SOFTMAX) || node_is(n, OP_LOG_SOFTMAX);
        if (softmax && sums_along(p, n, 0, &axis, &what) && !p->sf[n->in[0]].masked)
            return op_fail(p->err, RILL_UNSUPPORTED, n,
                           "cannot stream: it is global along a time axis that no mask limits");
        return scores_node(p, n, s);
    }
    if (s)
        TRY(section_check(p, n, s));
    return sum_node(p, n);
}
