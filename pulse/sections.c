/* SPDX-License-Identifier: MIT */
#include "pulse/sections.h"
#include "engine/ops/attrs.h"
#include "pulse/axes.h"
#include "pulse/byte_scores.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/places.h"
#include "pulse/positions.h"
#include "pulse/shifts.h"
#include "pulse/tracks.h"

#include <float.h>
#include <math.h>

#define MOVES_MAX 64  /* nodes that move or cast what was repeated */
#define SWEEPS_MAX 64 /* over the nodes, until all is known of keys */

/* ---- which wires ---- */

/* Axes of one element are repeated, nothing else. */
static bool repeats_ones(const struct pulser *p, const struct node *n)
{
    const struct fact *x = pulser_fact(p, n->in[0]), *y = pulser_fact(p, n->out[0]);
    if (node_is(n, OP_EXPAND))
        return true;
    for (int i = 0; i < x->rank; i++)
        if (!dim_is(x->shape[i], 1) && track_out(p, n, 0, i) == AXIS_NONE)
            return false;
    return node_is(n, OP_TILE) && x->rank == y->rank;
}

/* What is_spread finds of the wire that n makes; those of its inputs are found. */
static struct spread spread_of(const struct pulser *p, const struct spread *found,
                               const struct node *n)
{
    static const enum op_id moves[] = { OP_CAST, OP_NOT, OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    struct spread y = { WIRE_NONE, -1, 0 };
    uint32_t w = n->n_out > 0 ? n->out[0] : WIRE_NONE;
    int axes[2];
    if (w == WIRE_NONE || n->n_in == 0 || n->in[0] == WIRE_NONE || time_axes(p, w, axes) != 2 ||
        places_known(p, w))
        return y;
    if (repeats_ones(p, n) && time_axes(p, n->in[0], axes) == 1)
        y = (struct spread) { n->in[0], axes[0], 0 };
    else if (node_is_among(n, moves, sizeof moves / sizeof *moves) &&
             found[n->in[0]].moves <= MOVES_MAX)
        y = found[n->in[0]];
    y.moves++;
    y.axis = y.stream == WIRE_NONE ? -1 : track_out(p, n, 0, y.axis);
    return y;
}

static void spreads_find(const struct pulser *p, struct sections *s)
{
    const struct graph *g = p->src;
    for (uint32_t w = 0; w < g->n_wires; w++)
        s->spread[w] = (struct spread) { WIRE_NONE, -1, 0 };
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        struct spread y = spread_of(p, s->spread, n);
        if (y.axis >= 0)
            s->spread[n->out[0]] = y;
    }
}

bool is_spread(const struct pulser *p, uint32_t w, uint32_t *ret_stream, int *ret_axis)
{
    const struct spread *s = &p->sections->spread[w];
    *ret_stream = s->stream;
    *ret_axis = s->axis;
    return s->axis >= 0;
}

static bool find_scores(const struct pulser *p, const struct sections *s, uint32_t w)
{
    int axes[2];
    return time_axes(p, w, axes) == 2 && !places_known(p, w) &&
        p->src->wires[w].node != WIRE_NONE && !p->shifts->inside[w] && s->spread[w].axis < 0;
}

static bool is_scores(const struct pulser *p, uint32_t w)
{
    return w != WIRE_NONE && p->sections->scores[w];
}

static uint32_t root_of(struct sections *s, uint32_t w)
{
    while (s->root[w] != w)
        w = s->root[w] = s->root[s->root[w]];
    return w;
}

static void join(struct sections *s, uint32_t a, uint32_t b)
{
    s->root[root_of(s, a)] = root_of(s, b);
}

/* The first of its inputs and outputs that is of a section; WIRE_NONE: none is. */
static uint32_t scores_of_node(const struct pulser *p, const struct node *n)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (is_scores(p, n->in[i]))
            return n->in[i];
    for (unsigned k = 0; k < n->n_out; k++)
        if (is_scores(p, n->out[k]))
            return n->out[k];
    return WIRE_NONE;
}

static void join_node(const struct pulser *p, struct sections *s, const struct node *n)
{
    uint32_t first = scores_of_node(p, n);
    for (unsigned i = 0; i < n->n_in; i++)
        if (is_scores(p, n->in[i]))
            join(s, n->in[i], first);
    for (unsigned k = 0; k < n->n_out; k++)
        if (is_scores(p, n->out[k]))
            join(s, n->out[k], first);
}

/* ---- who reads a wire ---- */

static uint32_t inputs_count(const struct graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].n_in;
    return n;
}

/* From the last on, so that the readers of a wire are linked in their order. */
static void readers_link(const struct graph *g, struct sections *s)
{
    uint32_t at = 0;
    for (uint32_t w = 0; w < g->n_wires; w++)
        s->first_reader[w] = UINT32_MAX;
    for (uint32_t i = g->n_nodes; i > 0; i--)
        for (unsigned k = g->nodes[i - 1].n_in; k > 0; k--) {
            uint32_t w = g->nodes[i - 1].in[k - 1];
            if (w == WIRE_NONE)
                continue;
            s->reader[at] = (struct reader) { i - 1, k - 1, s->first_reader[w] };
            s->first_reader[w] = at++;
        }
}

const struct reader *section_reader(const struct pulser *p, uint32_t w, const struct reader *last)
{
    const struct sections *s = p->sections;
    uint32_t at = last ? last->next : s->first_reader[w];
    return at == UINT32_MAX ? NULL : &s->reader[at];
}

/* ---- which axis the keys are ---- */

static enum shows reduces(const struct node *n)
{
    switch (n->op->id) {
    case OP_REDUCE_SUM:
    case OP_REDUCE_L1:
    case OP_REDUCE_L2:
    case OP_REDUCE_SUM_SQUARE: return SHOWS_TRUE;
    case OP_REDUCE_MAX:
    case OP_REDUCE_LOG_SUM_EXP: return SHOWS_HIGH;
    default: return N_SHOWS;
    }
}

bool node_sums_products(const struct node *n)
{
    return node_is(n, OP_MATMUL) || node_is(n, OP_EINSUM) || node_is(n, OP_MATMUL_INTEGER);
}

bool sums_along(const struct pulser *p, const struct node *n, unsigned i, int *ret_axis,
                enum shows *ret_what)
{
    int axes[2];
    bool product = node_sums_products(n);
    *ret_what = node_is(n, OP_SOFTMAX) || node_is(n, OP_LOG_SOFTMAX) ? SHOWS_HIGH
        : product                                                    ? SHOWS_TRUE
                                                                     : reduces(n);
    if (*ret_what == N_SHOWS || time_axes(p, n->in[i], axes) != 2)
        return false;
    bool first = track_out(p, n, i, axes[0]) == AXIS_NONE,
         second = track_out(p, n, i, axes[1]) == AXIS_NONE;
    *ret_axis = axes[first ? 0 : 1];
    return first != second;
}

static int other_axis(const struct pulser *p, uint32_t w, int axis)
{
    int axes[2];
    time_axes(p, w, axes);
    return axes[0] == axis ? axes[1] : axes[0];
}

int section_key(const struct pulser *p, uint32_t w)
{
    return p->sections->key[w];
}

int section_query(const struct pulser *p, uint32_t w)
{
    return other_axis(p, w, p->sections->key[w]);
}

static void stick(struct sections *s, uint32_t w, const struct node *n)
{
    struct section *of = &s->of[root_of(s, w)];
    of->stuck = of->stuck ? of->stuck : n;
}

/* Returns whether that was news. */
static bool key_set(struct sections *s, uint32_t w, int axis, const struct node *n)
{
    if (s->key[w] >= 0 && s->key[w] != axis)
        stick(s, w, n);
    if (s->key[w] >= 0)
        return false;
    s->key[w] = (int8_t) axis;
    return true;
}

/* What one end of n knows of the keys the other learns. */
static bool key_pass(const struct pulser *p, struct sections *s, const struct node *n)
{
    bool news = false;
    int axis;
    enum shows what;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!is_scores(p, n->in[i]))
            continue;
        if (sums_along(p, n, i, &axis, &what))
            news |= key_set(s, n->in[i], axis, n);
        if (n->n_out != 1 || !is_scores(p, n->out[0]))
            continue;
        uint32_t x = n->in[i], y = n->out[0];
        bool softmax = node_is(n, OP_SOFTMAX) || node_is(n, OP_LOG_SOFTMAX);
        int up = s->key[y] < 0 ? -1
            : softmax          ? s->key[y]
                               : track_in(p, n, i, s->key[y]),
            down = s->key[x] < 0 ? -1
            : softmax            ? s->key[x]
                                 : track_out(p, n, i, s->key[x]);
        news |= up >= 0 && key_set(s, x, up, n);
        news |= down >= 0 && key_set(s, y, down, n);
    }
    return news;
}

static void keys_find(const struct pulser *p, struct sections *s)
{
    bool news = true;
    for (int sweeps = 0; news; sweeps++) {
        news = false;
        for (uint32_t w = 0; sweeps == SWEEPS_MAX && w < p->src->n_wires; w++)
            if (is_scores(p, w)) /* what is not known by now is refused */
                stick(s, w, &p->src->nodes[p->src->wires[w].node]);
        if (sweeps == SWEEPS_MAX)
            return;
        for (uint32_t i = 0; i < p->src->n_nodes; i++)
            news |= key_pass(p, s, &p->src->nodes[i]);
        for (uint32_t i = p->src->n_nodes; i > 0; i--)
            news |= key_pass(p, s, &p->src->nodes[i - 1]);
    }
}

/* ---- what sums over keys see ---- */

/* Whether there are so many keys that each query has that of its own time. */
static bool keys_enough(const struct pulser *p, uint32_t w, int query, int key)
{
    const struct dim *both[2] = { pulser_fact(p, w)->shape[query], pulser_fact(p, w)->shape[key] };
    const struct rates r = rates_of(p, w, query, key);
    struct lengths l;
    int64_t a, b, tried = 0;
    if (both[0] == both[1])
        return true;
    if (!lengths_decide(p, both, 2, 0, false, &l))
        return false;
    for (int64_t s = 1; s < l.end; s++) {
        if (!dims_allow(p->src->dims, p->symbol, s) || !dim_eval(both[0], p->symbol, s, &a) ||
            !dim_eval(both[1], p->symbol, s, &b))
            continue; /* no such sequence runs */
        tried++;
        if (a > 0 && (a - 1) * r.keys / r.queries >= b)
            return false;
    }
    return tried > 0;
}

/* One wire, or made alike of one. */
static bool same_value(const struct pulser *p, uint32_t a, uint32_t b)
{
    static const enum op_id plain[] = { OP_CAST, OP_NOT, OP_UNSQUEEZE };
    while (a != b) {
        const struct node *x = graph_producer(p->src, a), *y = graph_producer(p->src, b);
        if (!x || !y || x->op != y->op || !node_is_among(x, plain, sizeof plain / sizeof *plain) ||
            !fact_same(pulser_fact(p, a), pulser_fact(p, b)))
            return false;
        a = x->in[0];
        b = y->in[0];
    }
    return true;
}

static bool is_number(const struct pulser *p, uint32_t w, double most)
{
    const struct tensor *v = w == WIRE_NONE ? NULL : pulser_fact(p, w)->value;
    return v && v->type != DTYPE_DIM && tensor_count(v) == 1 &&
        tensor_get_f64(v, v->data, 0) <= most;
}

static bool is_zero(const struct pulser *p, uint32_t w)
{
    return is_number(p, w, 0) && !is_number(p, w, -DBL_MIN);
}

/* Whether all that the mask before a softmax hides is 0 behind it, by the same mask: then it does
 * not matter what it sees where a query sees nothing. */
static bool hidden_again(const struct pulser *p, const struct node *softmax)
{
    const struct node *mask = graph_producer(p->src, softmax->in[0]);
    if (!mask || !node_is(mask, OP_WHERE) || !node_is(softmax, OP_SOFTMAX) ||
        graph_wire_is_given(p->src, softmax->out[0]))
        return false;
    unsigned low = is_number(p, mask->in[1], HIDES_CHOSEN) ? 1 : 2;
    const struct reader *first = section_reader(p, softmax->out[0], NULL);
    for (const struct reader *r = first; r; r = section_reader(p, softmax->out[0], r)) {
        const struct node *n = &p->src->nodes[r->node];
        if (!node_is(n, OP_WHERE) || r->input != 3 - low || !is_zero(p, n->in[low]) ||
            !is_number(p, mask->in[low], HIDES_CHOSEN) || !same_value(p, n->in[0], mask->in[0]))
            return false;
    }
    return first != NULL;
}

/* Whether w is the largest score of each query, which sees one key surely, or the larger of that
 * and something else. */
static bool largest_seen(const struct pulser *p, uint32_t w)
{
    const struct node *n = graph_producer(p->src, w);
    enum shows what;
    int key;
    if (n && node_is(n, OP_MAX) && n->n_in == 2)
        return largest_seen(p, n->in[0]) || largest_seen(p, n->in[1]);
    if (!n || !node_is(n, OP_REDUCE_MAX) || !is_scores(p, n->in[0]) ||
        !sums_along(p, n, 0, &key, &what))
        return false;
    return band_sees_some(p, n->in[0], SHOWS_HIGH, other_axis(p, n->in[0], key), key);
}

/* The largest of scores, read beside the largest of keys of which each query sees one: that is at
 * least -SEEN, all that is hidden outside the band is lower, so that whichever of those keys are
 * looked at, the larger of both is the same. */
static bool largest_beside(const struct pulser *p, const struct node *n, const struct band *high)
{
    if (!node_is(n, OP_REDUCE_MAX) || !(high->deep > SEEN) || largest_seen(p, n->out[0]) ||
        graph_wire_is_given(p->src, n->out[0]))
        return false;
    const struct reader *first = section_reader(p, n->out[0], NULL);
    for (const struct reader *r = first; r; r = section_reader(p, n->out[0], r)) {
        const struct node *larger = &p->src->nodes[r->node];
        if (!node_is(larger, OP_MAX) || !largest_seen(p, larger->out[0]))
            return false;
    }
    return first != NULL;
}

/* Where all keys of a query are hidden, hidden keys count unless they are -inf: those of the whole
 * sequence. ret_band: grows by the keys that are not. */
static bool sees_blindly(const struct pulser *p, uint32_t w, int query, int key,
                         const struct band *high, struct band *ret_band)
{
    const struct band some = band_of(p, w, SHOWS_SOME, query, key);
    const bool seen = band_sees_some(p, w, SHOWS_HIGH, query, key) ||
        (band_diagonal(p, w, SHOWS_HIGH, query, key) && keys_enough(p, w, query, key));
    if (seen || band_inside(&some, high))
        return false;
    if (!band_bounded(&some) || some.ragged)
        return true;
    *ret_band = band_union(p, ret_band, &some);
    return false;
}

/* What node n, which sums input i, does not show as 0, or as the zero of the bytes that it sums. */
static struct band summed_band(const struct pulser *p, const struct node *n, unsigned i,
                               enum shows what, int axis)
{
    static const struct band all = BAND_OF_ALL;
    const int query = other_axis(p, n->in[i], axis);
    double zero;
    if (!node_is(n, OP_MATMUL_INTEGER))
        return band_of(p, n->in[i], what, query, axis);
    return bytes_zero(p, n, 2 + i, &zero) ? bytes_band(p, n->in[i], zero, query, axis) : all;
}

static void sums_find(const struct pulser *p, struct sections *s, const struct node *n)
{
    int axis;
    enum shows what;
    for (unsigned k = 0; n->n_out > 1 && k < n->n_out; k++)
        if (is_scores(p, n->out[k]))
            stick(s, n->out[k], n);
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!is_scores(p, n->in[i]))
            continue;
        struct section *of = &s->of[root_of(s, n->in[i])];
        if (!sums_along(p, n, i, &axis, &what)) {
            if (n->n_out != 1 || !is_scores(p, n->out[0]))
                stick(s, n->in[i], n);
            continue;
        }
        struct band b = summed_band(p, n, i, what, axis);
        of->band = of->any ? band_union(p, &of->band, &b) : b;
        of->any = true;
        if (largest_beside(p, n, &b))
            p->untraced[n->out[0]] = true;
        else if (!of->blind && what == SHOWS_HIGH && band_bounded(&b) && !hidden_again(p, n) &&
                 sees_blindly(p, n->in[i], other_axis(p, n->in[i], axis), axis, &b, &of->band))
            of->blind = n;
        if (!of->sums && (!band_bounded(&b) || b.ragged))
            of->sums = n;
    }
}

/* ---- nodes of which only places are wanted ---- */

static bool is_known(const struct pulser *p, uint32_t w)
{
    return places_known(p, w) || p->shifts->fixed[w];
}

/* A number that the length makes. */
static bool is_length(const struct pulser *p, uint32_t w)
{
    const struct position *at = p->positions ? &p->positions->of[w] : NULL;
    return at && at->e && dim_mentions(at->e, p->positions->time);
}

static void lazy_find(const struct pulser *p, struct sections *s, uint32_t *readers,
                      uint32_t *lazy_readers)
{
    const struct graph *g = p->src;
    int axes[2], axis;
    uint32_t stream;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        readers[g->outputs[i]]++;
    for (uint32_t i = 0; i < g->n_states; i++)
        readers[g->states[i].out]++;
    for (uint32_t i = g->n_nodes; i > 0; i--) {
        const struct node *n = &g->nodes[i - 1];
        uint32_t w = n->n_out == 1 ? n->out[0] : WIRE_NONE;
        int k = w == WIRE_NONE ? 0 : time_axes(p, w, axes);
        bool lazy = (w != WIRE_NONE && (k > 0 || is_length(p, w)) && is_known(p, w) &&
                     readers[w] > 0 && readers[w] == lazy_readers[w]) ||
            (k == 2 && places_known(p, w));
        lazy |= k == 2 && is_spread(p, w, &stream, &axis);
        lazy |= w != WIRE_NONE && p->shifts->inside[w];
        s->lazy[i - 1] = lazy;
        for (unsigned k2 = 0; k2 < n->n_in; k2++)
            if (n->in[k2] != WIRE_NONE) {
                readers[n->in[k2]]++;
                lazy_readers[n->in[k2]] += (lazy || shift_of(p, w)) && is_known(p, n->in[k2]);
            }
    }
}

static struct sections *sections_new(const struct pulser *p)
{
    const struct graph *g = p->src;
    struct sections *s = arena_new(p->arena, struct sections);
    if (!s)
        return NULL;
    s->root = arena_array(p->arena, uint32_t, g->n_wires + 1);
    s->key = arena_array(p->arena, int8_t, g->n_wires + 1);
    s->of = arena_array(p->arena, struct section, g->n_wires + 1);
    s->spread = arena_array(p->arena, struct spread, g->n_wires + 1);
    s->scores = arena_array(p->arena, bool, g->n_wires + 1);
    s->lazy = arena_array(p->arena, bool, g->n_nodes + 1);
    s->first_reader = arena_array(p->arena, uint32_t, g->n_wires + 1);
    s->reader = arena_array(p->arena, struct reader, inputs_count(g) + 1);
    return s->root && s->key && s->of && s->spread && s->scores && s->lazy && s->first_reader &&
            s->reader
        ? s
        : NULL;
}

rill_status sections_find(struct pulser *p)
{
    const struct graph *g = p->src;
    struct sections *s = sections_new(p);
    uint32_t *readers = arena_array(p->arena, uint32_t, g->n_wires + 1),
             *lazy_readers = arena_array(p->arena, uint32_t, g->n_wires + 1);
    p->untraced = arena_array(p->arena, bool, g->n_wires + 1);
    if (!s || !readers || !lazy_readers || !p->untraced)
        return pulser_no_memory(p);
    p->sections = s;
    readers_link(g, s);
    spreads_find(p, s);
    for (uint32_t w = 0; w < g->n_wires; w++) {
        s->root[w] = w;
        s->key[w] = -1;
        s->scores[w] = find_scores(p, s, w);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        join_node(p, s, &g->nodes[i]);
    keys_find(p, s);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        sums_find(p, s, &g->nodes[i]);
    for (uint32_t w = 0; w < g->n_wires; w++)
        s->root[w] = root_of(s, w);
    lazy_find(p, s, readers, lazy_readers);
    return RILL_OK;
}

rill_status spread_emit(struct pulser *p, uint32_t w, int64_t count, uint32_t *wire)
{
    const struct node *n = &p->src->nodes[p->src->wires[w].node];
    uint32_t stream, in[2];
    int axis;
    int64_t shape[RANK_MAX];
    if (!is_spread(p, w, &stream, &axis))
        return RILL_OK;
    TRY(spread_emit(p, n->in[0], count, wire));
    in[0] = *wire;
    if (!node_is(n, OP_EXPAND) && !node_is(n, OP_TILE)) {
        in[1] = n->n_in > 1 ? p->map[n->in[1]] : WIRE_NONE;
        return pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, wire, 1);
    }
    const struct fact *f = pulser_fact(p, w);
    for (int a = 0; a < f->rank; a++)
        shape[a] = a == axis ? count : dim_is_const(f->shape[a]) ? dim_value(f->shape[a]) : 1;
    TRY(pulser_ints(p, n->name, shape, (unsigned) f->rank, &in[1]));
    return pulser_emit_op(p, OP_EXPAND, n->name, NULL, 0, in, 2, wire);
}

static void waits_forget(struct section *s)
{
    s->more[0] = s->more[1] = NO_DELAY;
    s->fewer = false;
}

/* How much longer others wait than the first scores is found anew where those took more first
 * queries apart. */
void sections_begin(const struct pulser *p)
{
    for (uint32_t w = 0; p->sections && w < p->src->n_wires; w++) {
        struct section *s = &p->sections->of[w];
        if (s->fewer)
            waits_forget(s);
        s->delay = NO_DELAY;
        s->apart = 0;
        s->news = false;
    }
}

void sections_forget(const struct pulser *p)
{
    for (uint32_t w = 0; p->sections && w < p->src->n_wires; w++) {
        waits_forget(&p->sections->of[w]);
        p->sections->of[w].heads = PADDED_GIVEN_MAX;
    }
}

bool sections_have_news(const struct pulser *p)
{
    for (uint32_t w = 0; p->sections && w < p->src->n_wires; w++)
        if (p->sections->of[w].news)
            return true;
    return false;
}

void section_waits(struct section *s, int64_t queries, int64_t keys)
{
    const int64_t of[2] = { queries, keys };
    for (int i = 0; i < 2; i++)
        if (of[i] != NO_DELAY && of[i] - s->waits[i] > s->more[i]) {
            s->more[i] = of[i] - s->waits[i];
            s->news = true;
        }
}

void section_heads(struct section *s, int64_t heads)
{
    s->fewer |= s->apart > heads;
    s->news |= s->fewer;
    s->apart = larger(s->apart, heads);
    s->heads = smaller(s->heads, heads);
}

struct section *section_of(const struct pulser *p, uint32_t w)
{
    return is_scores(p, w) ? &p->sections->of[p->sections->root[w]] : NULL;
}

struct section *section_of_node(const struct pulser *p, const struct node *n)
{
    uint32_t w = scores_of_node(p, n);
    return w == WIRE_NONE ? NULL : section_of(p, w);
}
