/* SPDX-License-Identifier: MIT */
#include "pulse/sections.h"
#include "engine/ops/attrs.h"
#include "pulse/axes.h"
#include "pulse/places.h"
#include "pulse/shifts.h"
#include "pulse/tracks.h"

#include <float.h>

#define MOVES_MAX 64 /* nodes that move or cast what was repeated */

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

/* What is_spread finds, at most `steps` nodes away. */
static bool spread_near(const struct pulser *p, uint32_t w, int steps, uint32_t *ret_stream,
                        int *ret_axis)
{
    static const enum op_id moves[] = { OP_CAST, OP_NOT, OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    const struct wire *wire = &p->src->wires[w];
    const struct node *n = wire->node == WIRE_NONE ? NULL : &p->src->nodes[wire->node];
    int axes[2];
    if (!n || time_axes(p, w, axes) != 2 || places_known(p, w))
        return false;
    if (n->n_in > 0 && repeats_ones(p, n) && time_axes(p, n->in[0], axes) == 1) {
        *ret_stream = n->in[0];
        *ret_axis = axes[0];
    } else if (!node_is_among(n, moves, sizeof moves / sizeof *moves) || steps == 0 ||
               !spread_near(p, n->in[0], steps - 1, ret_stream, ret_axis)) {
        return false;
    }
    *ret_axis = track_out(p, n, 0, *ret_axis);
    return *ret_axis >= 0;
}

bool is_spread(const struct pulser *p, uint32_t w, uint32_t *ret_stream, int *ret_axis)
{
    return spread_near(p, w, MOVES_MAX, ret_stream, ret_axis);
}

static bool is_scores(const struct pulser *p, uint32_t w)
{
    int axes[2], axis;
    uint32_t stream;
    return w != WIRE_NONE && time_axes(p, w, axes) == 2 && !places_known(p, w) &&
        p->src->wires[w].node != WIRE_NONE && !p->shifts->inside[w] &&
        !is_spread(p, w, &stream, &axis);
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
    return n->n_out > 0 && is_scores(p, n->out[0]) ? n->out[0] : WIRE_NONE;
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

bool sums_along(const struct pulser *p, const struct node *n, unsigned i, int *ret_axis,
                enum shows *ret_what)
{
    int axes[2];
    bool product = node_is(n, OP_MATMUL) || node_is(n, OP_EINSUM);
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
    for (bool news = true; news;) {
        news = false;
        for (uint32_t i = 0; i < p->src->n_nodes; i++)
            news |= key_pass(p, s, &p->src->nodes[i]);
        for (uint32_t i = p->src->n_nodes; i > 0; i--)
            news |= key_pass(p, s, &p->src->nodes[i - 1]);
    }
}

/* ---- what sums over keys see ---- */

/* Whether there are as many keys as queries, so that each query has that of its own frame. */
static bool keys_enough(const struct pulser *p, uint32_t w, int query, int key)
{
    const struct dim *q = pulser_fact(p, w)->shape[query], *k = pulser_fact(p, w)->shape[key];
    int64_t a, b, tried = q == k;
    for (int64_t s = 1; q != k && s < 4096; s++) {
        if (!dim_eval(q, p->symbol, s, &a) || !dim_eval(k, p->symbol, s, &b))
            continue; /* no such sequence runs */
        tried++;
        if (a > b)
            return false;
    }
    return tried > 0;
}

static const struct node *producer(const struct pulser *p, uint32_t w)
{
    return w == WIRE_NONE || p->src->wires[w].node == WIRE_NONE
        ? NULL
        : &p->src->nodes[p->src->wires[w].node];
}

/* One wire, or made alike of one. */
static bool same_value(const struct pulser *p, uint32_t a, uint32_t b)
{
    static const enum op_id plain[] = { OP_CAST, OP_NOT, OP_UNSQUEEZE };
    while (a != b) {
        const struct node *x = producer(p, a), *y = producer(p, b);
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
    const struct node *mask = producer(p, softmax->in[0]);
    bool any = false;
    if (!mask || !node_is(mask, OP_WHERE) || !node_is(softmax, OP_SOFTMAX))
        return false;
    unsigned low = is_number(p, mask->in[1], HIDES_CHOSEN) ? 1 : 2;
    for (uint32_t i = 0; i < p->src->n_nodes; i++) {
        const struct node *n = &p->src->nodes[i];
        for (unsigned k = 0; k < n->n_in; k++) {
            if (n->in[k] != softmax->out[0])
                continue;
            if (!node_is(n, OP_WHERE) || k != 3 - low || !is_zero(p, n->in[low]) ||
                !is_number(p, mask->in[low], HIDES_CHOSEN) || !same_value(p, n->in[0], mask->in[0]))
                return false;
            any = true;
        }
    }
    return any;
}

/* Where all keys of a query are hidden, hidden keys count unless they are -inf: those of the whole
 * sequence. */
static bool sees_blindly(const struct pulser *p, uint32_t w, int query, int key,
                         const struct band *high)
{
    const struct band some = band_of(p, w, SHOWS_SOME, query, key);
    bool itself = band_diagonal(p, w, SHOWS_HIGH, query, key) && keys_enough(p, w, query, key);
    return !itself && !band_inside(&some, high);
}

static void sums_find(const struct pulser *p, struct sections *s, const struct node *n)
{
    int axis;
    enum shows what;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!is_scores(p, n->in[i]))
            continue;
        struct section *of = &s->of[root_of(s, n->in[i])];
        if (!sums_along(p, n, i, &axis, &what)) {
            if (n->n_out != 1 || !is_scores(p, n->out[0]))
                stick(s, n->in[i], n);
            continue;
        }
        struct band b = band_of(p, n->in[i], what, other_axis(p, n->in[i], axis), axis);
        of->band = of->any ? band_union(&of->band, &b) : b;
        of->any = true;
        if (!of->blind && what == SHOWS_HIGH && band_bounded(&b) &&
            sees_blindly(p, n->in[i], other_axis(p, n->in[i], axis), axis, &b) &&
            !hidden_again(p, n))
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
        bool lazy = (k > 0 && is_known(p, w) && readers[w] > 0 && readers[w] == lazy_readers[w]) ||
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

struct sections *sections_find(const struct pulser *p)
{
    const struct graph *g = p->src;
    struct sections *s = arena_new(p->arena, struct sections);
    uint32_t *readers = arena_array(p->arena, uint32_t, g->n_wires + 1),
             *lazy_readers = arena_array(p->arena, uint32_t, g->n_wires + 1);
    if (!s || !readers || !lazy_readers)
        return NULL;
    s->root = arena_array(p->arena, uint32_t, g->n_wires + 1);
    s->key = arena_array(p->arena, int8_t, g->n_wires + 1);
    s->of = arena_array(p->arena, struct section, g->n_wires + 1);
    s->lazy = arena_array(p->arena, bool, g->n_nodes + 1);
    if (!s->root || !s->key || !s->of || !s->lazy)
        return NULL;
    for (uint32_t w = 0; w < g->n_wires; w++) {
        s->root[w] = w;
        s->key[w] = -1;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        join_node(p, s, &g->nodes[i]);
    keys_find(p, s);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        sums_find(p, s, &g->nodes[i]);
    for (uint32_t w = 0; w < g->n_wires; w++)
        s->root[w] = root_of(s, w);
    lazy_find(p, s, readers, lazy_readers);
    return s;
}

void sections_begin(const struct pulser *p)
{
    for (uint32_t w = 0; p->sections && w < p->src->n_wires; w++)
        p->sections->of[w].delay = -1;
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
