/* SPDX-License-Identifier: MIT */
#include "pulse/attention_refusal.h"
#include "pulse/axes.h"
#include "pulse/byte_scores.h"
#include "pulse/places.h"
#include "pulse/positions.h"
#include "pulse/tracks.h"

#include <stdio.h>

rill_status scores_refuse(const struct pulser *p, const struct node *n, const char *why)
{
    const struct node *inexact = p->positions ? p->positions->inexact : NULL;
    char also[160] = "";
    if (inexact)
        snprintf(also, sizeof also,
                 "; node '%.60s' (%s) computes positions in %s, which does not hold them",
                 inexact->name, inexact->op->name,
                 dtype_name(pulser_fact(p, inexact->out[0])->type));
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: %s of input 0 with every frame of "
                   "input 1, both along the time axis; %s%s",
                   node_is(n, OP_MATMUL) || node_is(n, OP_EINSUM) ? "it multiplies every frame"
                                                                  : "it joins every frame",
                   why, also);
}

/* What the scores of node n go through first; NULL: several things. */
static const struct node *only_consumer(const struct pulser *p, uint32_t w)
{
    const struct reader *first = section_reader(p, w, NULL);
    for (const struct reader *r = first; r; r = section_reader(p, w, r))
        if (r->node != first->node)
            return NULL;
    return first ? &p->src->nodes[first->node] : NULL;
}

/* An operand of n beside its scores is a function of positions. */
static bool lays_positions(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && pulser_is_mask(p, n->in[i]))
            return true;
    return false;
}

/* Whether all sums over the keys of the section's wires are products: of weights that were no
 * softmax. */
static bool section_is_linear(const struct pulser *p, const struct section *s)
{
    for (uint32_t i = 0; i < p->src->n_nodes; i++) {
        const struct node *n = &p->src->nodes[i];
        static const enum op_id global[] = { OP_SOFTMAX, OP_LOG_SOFTMAX, OP_EXP, OP_REDUCE_MAX };
        if (node_is_among(n, global, sizeof global / sizeof *global) && section_of_node(p, n) == s)
            return false;
    }
    return true;
}

/* Scores over a number of each key: what a mask made 0 may be another number then. */
static bool divides_by_keys(const struct pulser *p, const struct node *n)
{
    const uint32_t w = n->out[0];
    if (!node_is(n, OP_DIV) || !section_of(p, w) || section_key(p, w) < 0)
        return false;
    const int key = track_in(p, n, 1, section_key(p, w));
    return key >= 0 && !dim_is(pulser_fact(p, n->in[1])->shape[key], 1);
}

/* What stands over the scores of node n up to where they are read by something else than
 * element-wise ops, for people. */
static void laid_over_print(const struct pulser *p, const struct node *n, bool linear, char *buf,
                            size_t cap)
{
    const struct node *at = only_consumer(p, n->out[0]), *laid = NULL, *over = NULL;
    while (at && at->n_out == 1 &&
           ((at->op->flags & OP_POINTWISE) || node_is(at, OP_TRANSPOSE) || node_quantises(at))) {
        over = divides_by_keys(p, at) ? at : over;
        laid = lays_positions(p, at) ? at : laid;
        at = only_consumer(p, at->out[0]);
    }
    if (at && node_is(at, OP_TRILU))
        snprintf(buf, cap,
                 "; node '%.60s' (Trilu) cuts the scores themselves; multiply them by a Trilu of "
                 "ones, one for each side",
                 at->name);
    else if (over && linear)
        snprintf(
            buf, cap,
            "; node '%.60s' (Div) divides it by a number of each key, which may be 0; the keys "
            "or the values over it would do",
            over->name);
    else if (laid && linear)
        snprintf(buf, cap,
                 "; what node '%.60s' (%s) lays over it is neither 0 for keys further than 2048 "
                 "away nor, up to each query's own frame, a number from 0 to 1 to the power of the "
                 "distance",
                 laid->name, laid->op->name);
    else if (laid)
        snprintf(buf, cap,
                 "; what node '%.60s' (%s) lays over it does not hide, by -inf or -1e4 or lower "
                 "once all is added, all keys further than 2048 away",
                 laid->name, laid->op->name);
    else if (at)
        snprintf(buf, cap, "; none is up to node '%.60s' (%s)", at->name, at->op->name);
}

static rill_status unmasked_refuse(const struct pulser *p, const struct node *n)
{
    const struct section *s = n->n_out == 1 ? section_of(p, n->out[0]) : NULL;
    const bool linear = s && section_is_linear(p, s);
    char found[280] = "", why[480];
    if (n->n_out == 1)
        laid_over_print(p, n, linear, found, sizeof found);
    snprintf(why, sizeof why,
             linear ? "no softmax reads the product, which a mask that is a function of positions "
                      "would limit to a window%s"
                    : "a mask that is a function of positions, laid over the product before its "
                      "softmax, would limit it to a window%s",
             found);
    return scores_refuse(p, n, why);
}

rill_status stuck_refuse(const struct pulser *p, const struct node *n)
{
    if (node_is(n, OP_DYNAMIC_QUANTIZE_LINEAR))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its scale is that of all queries and keys of the sequence; "
                       "QuantizeLinear with a constant scale streams");
    if (n->n_body)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: its body makes scores of attention over time, of all frames "
                       "in each iteration; the same nodes outside of a body stream under a mask of "
                       "positions");
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: scores of attention over time go through element-wise ops, a "
                   "softmax over the keys, sums over them and a product with values, nothing "
                   "else");
}

#define MASK_STEPS_MAX 64 /* nodes of a mask that are looked at for people */

/* The input of n that is made of positions of queries and keys; WIRE_NONE: none is. */
static uint32_t mask_of(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && pulser_is_mask(p, n->in[i]) && pulser_time_twice(p, n->in[i]))
            return n->in[i];
    return WIRE_NONE;
}

/* The last QuantizeLinear that the mask of positions which n lays over scores went through; NULL:
 * there is none. */
static const struct node *mask_quantiser(const struct pulser *p, const struct node *n)
{
    uint32_t w = mask_of(p, n);
    for (int k = 0; w != WIRE_NONE && k < MASK_STEPS_MAX; k++) {
        const struct node *by = graph_producer(p->src, w);
        if (!by || node_is(by, OP_QUANTIZE_LINEAR))
            return by;
        w = mask_of(p, by);
    }
    return NULL;
}

/* The node on the way to wire w that shows again what its operand hid; NULL: nothing was hidden. */
static const struct node *shows_again(const struct pulser *p, uint32_t w, unsigned *ret_input)
{
    *ret_input = 0;
    while (section_of(p, w)) {
        const struct node *n = &p->src->nodes[p->src->wires[w].node];
        uint32_t before = WIRE_NONE;
        for (unsigned i = 0; i < n->n_in; i++) {
            if (n->in[i] == WIRE_NONE || !section_of(p, n->in[i]) ||
                pulser_fact(p, n->in[i])->type == DTYPE_BOOL)
                continue;
            int query = section_query(p, n->in[i]), key = section_key(p, n->in[i]);
            const struct band zero = band_of(p, n->in[i], SHOWS_TRUE, query, key),
                              low = band_of(p, n->in[i], SHOWS_HIGH, query, key);
            *ret_input = i;
            if (band_bounded(&zero) || band_bounded(&low))
                return n;
            before = n->in[i];
        }
        const struct node *q = mask_quantiser(p, n);
        if (q)
            return q;
        w = before == WIRE_NONE ? n->out[0] : before;
        if (before == WIRE_NONE)
            return NULL;
    }
    return NULL;
}

rill_status shown_refuse(const struct pulser *p, const struct node *n, int axis, unsigned i)
{
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: along axis %d of input %u, a time axis, frames that a mask has "
                   "hidden would show again",
                   axis, i);
}

/* What a QuantizeLinear makes of scores that were hidden, or of the weights of a query that sees
 * none. */
static rill_status quantised_refuse(const struct pulser *p, const struct node *n)
{
    const uint32_t w = n->in[0];
    const bool scores = section_of(p, w);
    const int query = scores ? section_query(p, w) : AXIS_NONE,
              key = scores ? section_key(p, w) : AXIS_NONE;
    const struct band shown = band_of(p, w, SHOWS_TRUE, query, key);
    const bool weights = scores && band_bounded(&shown);
    if (weights && band_quantises_none(p, n, query, key))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: weights of a query all of whose keys are hidden are no "
                       "numbers, which it quantises to something other than its zero; a zero that "
                       "is the least of its type, or a mask that shows each query its own frame, "
                       "streams");
    if (weights)
        return shown_refuse(p, n, key, 0);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: what a mask hides from attention over time, by -inf or a low "
                   "number, is a byte behind it, which may not hide; a mask with no QuantizeLinear "
                   "between it and the softmax streams");
}

/* The sum that sees frames without a bound has only masks before something that undoes them, or
 * none. */
static rill_status unbounded_refuse(const struct pulser *p, const struct node *n,
                                    const struct node *sums)
{
    int axis;
    enum shows what;
    unsigned at;
    for (unsigned i = 0; sums && i < sums->n_in; i++) {
        if (sums->in[i] == WIRE_NONE || !sums_along(p, sums, i, &axis, &what))
            continue;
        const struct node *undoes = shows_again(p, sums->in[i], &at);
        if (undoes && node_is(undoes, OP_QUANTIZE_LINEAR))
            return quantised_refuse(p, undoes);
        if (undoes)
            return shown_refuse(p, undoes, section_key(p, undoes->in[at]), at);
    }
    return unmasked_refuse(p, n);
}

/* Whether it multiplies what comes in, or chooses of it. */
static bool node_weighs(const struct node *n)
{
    static const enum op_id ids[] = { OP_DIV, OP_IDENTITY, OP_WHERE };
    return node_is_among(n, ids, sizeof ids / sizeof *ids) ||
        (node_is(n, OP_MUL) && n->in[0] != n->in[1]);
}

/* The first element-wise op over the scores of node n that does something else; NULL: there is
 * none. */
static const struct node *changes_scores(const struct pulser *p, const struct node *n)
{
    const struct node *at = only_consumer(p, n->out[0]);
    while (at && node_weighs(at) && at->n_out == 1)
        at = only_consumer(p, at->out[0]);
    return at && (at->op->flags & OP_POINTWISE) ? at : NULL;
}

/* A mask that bounds what a query sees on one side only. */
static rill_status one_side_refuse(const struct pulser *p, const struct node *n,
                                   const struct section *s)
{
    if (s->band.left < BAND_ALL)
        return scores_refuse(p, n,
                             "its mask shows frames more than 2048 away behind a query, up to the "
                             "end of the sequence; one that limits how far ahead a query sees, as "
                             "j - i <= 8, would stream");
    const struct node *changes = section_is_linear(p, s) ? changes_scores(p, n) : NULL;
    char why[360];
    snprintf(why, sizeof why,
             "its mask shows frames more than 2048 away, all before a query%s%.60s%s%s%s; one that "
             "limits how far back it sees, as i - j <= 250, would stream%s",
             changes ? ", and node '" : "", changes ? changes->name : "", changes ? "' (" : "",
             changes ? changes->op->name : "",
             changes ? ") changes the scores, so that no sum runs along" : "",
             changes || !section_is_linear(p, s)
                 ? ""
                 : ", and so does linear attention that is written as a CumSum along time of the "
                   "products of each key and its value");
    return scores_refuse(p, n, why);
}

/* Whether operand i of a sum over scores is numbers of positions that may be so low that they hide
 * the frame that a query sees. */
static bool falls(const struct pulser *p, const struct node *n, unsigned i)
{
    const enum shows what = node_is(n, OP_SUB) && i == 1 ? SHOWS_SMALL : SHOWS_HIGH;
    const int query = track_in(p, n, i, section_query(p, n->out[0])),
              key = track_in(p, n, i, section_key(p, n->out[0]));
    const struct band b = band_of(p, n->in[i], what, query, key);
    return (node_is(n, OP_ADD) || node_is(n, OP_SUB)) && places_known(p, n->in[i]) &&
        !pulser_fact(p, n->in[i])->value && !band_bounded(&b) &&
        !band_diagonal(p, n->in[i], what, query, key);
}

/* The node that makes such numbers on the way to wire w; NULL: none does. */
static const struct node *falls_on_the_way(const struct pulser *p, uint32_t w)
{
    while (section_of(p, w)) {
        const struct node *n = graph_producer(p->src, w);
        w = WIRE_NONE;
        for (unsigned i = 0; i < n->n_in; i++) {
            if (n->in[i] != WIRE_NONE && falls(p, n, i))
                return graph_producer(p->src, n->in[i]);
            if (w == WIRE_NONE && n->in[i] != WIRE_NONE && section_of(p, n->in[i]))
                w = n->in[i];
        }
        if (w == WIRE_NONE)
            break;
    }
    return NULL;
}

static rill_status blind_refuse(const struct pulser *p, const struct node *n)
{
    const struct node *by = falls_on_the_way(p, n->in[0]);
    if (by)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: node '%.80s' (%s) adds a number that falls with the place "
                       "to the scores, so that what a number other than -inf hides counts at "
                       "last; hide it by -inf",
                       by->name, by->op->name);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: a query all of whose keys are hidden sees those of the whole "
                   "sequence alike, because they are hidden by a number that is not -inf; hide "
                   "them by -inf, or let each query see its own frame");
}

/* Whether the length has a part in that mask. */
static bool is_ended(const struct pulser *p, uint32_t w)
{
    return w != WIRE_NONE && pulser_is_mask(p, w) && p->positions->of[w].e &&
        dim_mentions(p->positions->of[w].e, p->positions->time);
}

/* The first node of the section's masks in which the length has a part; NULL: there is none. */
static const struct node *ends_mask(const struct pulser *p, const struct section *s)
{
    const struct node *n = NULL;
    uint32_t w = WIRE_NONE;
    for (uint32_t i = 0; w == WIRE_NONE && i < p->src->n_nodes; i++)
        for (unsigned k = 0; k < p->src->nodes[i].n_in; k++)
            if (is_ended(p, p->src->nodes[i].in[k]) && section_of_node(p, &p->src->nodes[i]) == s)
                w = p->src->nodes[i].in[k];
    while (w != WIRE_NONE && (n = graph_producer(p->src, w))) {
        w = WIRE_NONE;
        for (unsigned k = 0; k < n->n_in; k++)
            w = is_ended(p, n->in[k]) ? n->in[k] : w;
    }
    return n;
}

static rill_status end_refuse(const struct pulser *p, const struct node *n, const struct node *end)
{
    char why[320];
    snprintf(why, sizeof why,
             "in its mask, by node '%.60s' (%s), what a query sees depends on the length of the "
             "sequence, which is known at its end; keys or queries that are compared with it by "
             "themselves (j < T - 2) stream",
             end->name, end->op->name);
    return scores_refuse(p, n, why);
}

/* A mask of frame numbers that no chunks of repeat. */
static rill_status ragged_refuse(const struct pulser *p, const struct node *n)
{
    const uint32_t w = n->n_out == 1 ? n->out[0] : WIRE_NONE;
    const struct rates r = w != WIRE_NONE && section_of(p, w)
        ? rates_of(p, w, section_query(p, w), section_key(p, w))
        : (struct rates) { 1, 1 };
    char why[320];
    if (r.queries == r.keys)
        return scores_refuse(
            p, n,
            "its mask does not repeat from chunk to chunk of at most 512 frames, or shows frames "
            "more than 2048 away");
    snprintf(why, sizeof why,
             "%lld quer%s come for %lld key%s, and its mask shows keys that are ever further away "
             "in time, as where the numbers of both are compared as they are",
             (long long) r.queries, r.queries == 1 ? "y" : "ies", (long long) r.keys,
             r.keys == 1 ? "" : "s");
    return scores_refuse(p, n, why);
}

rill_status section_check(const struct pulser *p, const struct node *n, const struct section *s)
{
    const struct node *end;
    if (s->stuck)
        return stuck_refuse(p, s->stuck);
    if (s->blind && !s->band.ragged && !s->band.costly)
        return blind_refuse(p, s->blind);
    if (!s->any)
        return unmasked_refuse(p, n);
    if (s->band.costly)
        return op_fail(p->err, RILL_LIMIT, n, MASKS_COST);
    if (s->band.ragged && (end = ends_mask(p, s)))
        return end_refuse(p, n, end);
    if (s->band.ragged)
        return ragged_refuse(p, n);
    if ((s->band.left >= BAND_ALL) != (s->band.right >= BAND_ALL))
        return one_side_refuse(p, n, s);
    return band_bounded(&s->band) ? RILL_OK : unbounded_refuse(p, n, s->sums);
}
