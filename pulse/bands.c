/* SPDX-License-Identifier: MIT */
#include "pulse/bands.h"
#include "engine/ops/attrs.h"
#include "pulse/byte_scores.h"
#include "pulse/ints.h"
#include "pulse/looks.h"
#include "pulse/positions.h"
#include "pulse/tracks.h"

#include <float.h>
#include <math.h>

#define AHEAD_TRIED 64 /* keys of a query, from the last that it surely has */
#define SCALE_MAX 16.0 /* may divide a hidden score */
#define INPUTS_THERE 8 /* of a node whose elements are looked at */

struct found {
    struct found *next;
    enum shows what;
    int query, key;
    struct band band;
    bool seen_known, seen; /* at the key `ahead` */
    int64_t ahead;
};

/* Between which numbers a wire lies where each query meets one key. */
struct there {
    struct there *next;
    int query, key;
    int64_t ahead;
    struct size size;
};

struct bands *bands_new(const struct graph *g, struct arena *a)
{
    struct bands *b = arena_new(a, struct bands);
    if (b)
        *b = (struct bands) { arena_array(a, struct found *, g->n_wires + 1),
                              arena_array(a, struct there *, g->n_wires + 1),
                              sizes_find(g, a),
                              measures_new(a),
                              a,
                              0 };
    return b && b->of && b->there && b->sizes && b->measures ? b : NULL;
}

int64_t bands_spent(const struct bands *b)
{
    return measures_spent(b->measures);
}

struct rates rates_of(const struct pulser *p, uint32_t w, int query, int key)
{
    const struct fact *f = pulser_fact(p, w);
    int64_t a, b, c, d, queries, keys;
    if (!pulser_growth(p, f->shape[query], &a, &b) || !pulser_growth(p, f->shape[key], &c, &d) ||
        __builtin_mul_overflow(a, d, &queries) || __builtin_mul_overflow(c, b, &keys))
        return (struct rates) { 1, 1 };
    const int64_t both = gcd(queries, keys);
    return (struct rates) { queries / both, keys / both };
}

/* ---- bands ---- */

static const struct band all = BAND_OF_ALL, none = BAND_OF_NONE;

static struct band of_constant(const struct tensor *v, enum shows what)
{
    struct band y = none;
    for (int64_t i = 0; i < tensor_count(v); i++) {
        if (v->type == DTYPE_DIM || shows_number(what, tensor_get_f64(v, v->data, i)))
            return all;
        y.deep = fmin(y.deep, shows_depth(what, tensor_get_f64(v, v->data, i)));
    }
    return y;
}

/* ---- what nodes make of masks ---- */

static struct band input_band(const struct look *l, unsigned i, enum shows what)
{
    return band_of(l->p, l->n->in[i], what, track_in(l->p, l->n, i, l->query),
                   track_in(l->p, l->n, i, l->key));
}

static struct band both(const struct look *l, enum shows a, enum shows b)
{
    struct band x = input_band(l, 0, a), y = input_band(l, 1, b);
    return band_intersection(l->p, &x, &y);
}

static struct band either(const struct look *l, enum shows a, enum shows b)
{
    struct band x = input_band(l, 0, a), y = input_band(l, 1, b);
    return band_union(l->p, &x, &y);
}

/* What is chosen in the place of scores hides from higher on than what is added to them. */
static struct band chosen_band(const struct look *l, unsigned i, enum shows what)
{
    const struct tensor *v = pulser_fact(l->p, l->n->in[i])->value;
    double sign = what == SHOWS_SMALL ? -1 : 1;
    bool hides = v && v->type != DTYPE_DIM && (what == SHOWS_HIGH || what == SHOWS_SMALL);
    for (int64_t k = 0; hides && k < tensor_count(v); k++)
        hides = sign * tensor_get_f64(v, v->data, k) <= HIDES_CHOSEN;
    struct band nothing = none;
    for (int64_t k = 0; hides && k < tensor_count(v); k++)
        nothing.deep = fmin(nothing.deep, fabs(tensor_get_f64(v, v->data, k)));
    return hides ? nothing : input_band(l, i, what);
}

static struct band where_band(const struct look *l, enum shows what)
{
    struct band yes = input_band(l, 0, SHOWS_TRUE), no = input_band(l, 0, SHOWS_FALSE),
                a = chosen_band(l, 1, what), b = chosen_band(l, 2, what);
    a = band_intersection(l->p, &yes, &a);
    b = band_intersection(l->p, &no, &b);
    return band_union(l->p, &a, &b);
}

/* 0 times what is infinite is not a number. */
static struct band zeros_band(const struct look *l)
{
    bool first = look_finite(l, 1), second = look_finite(l, 0);
    if (first && second)
        return both(l, SHOWS_TRUE, SHOWS_TRUE);
    return first || second ? input_band(l, first ? 0 : 1, SHOWS_TRUE) : all;
}

static struct band mul_band(const struct look *l, enum shows what)
{
    unsigned c = look_constant(l);
    struct band y = all;
    if (what == SHOWS_TRUE)
        return zeros_band(l);
    if (what == SHOWS_FALSE)
        return either(l, what, what);
    if (c == 2)
        return all;
    if (look_within(l, c, 1 / SCALE_MAX, DBL_MAX)) {
        y = input_band(l, 1 - c, what);
        y.deep *= look_least(l, c);
    } else if (look_turns(l, c, what)) {
        y = input_band(l, 1 - c, SHOWS_FALSE);
        y.deep = look_least(l, c);
    }
    return y;
}

/* The divisor is one number for all keys, or never 0. */
static bool divides_alike(const struct look *l)
{
    const struct fact *by = pulser_fact(l->p, l->n->in[1]);
    int key = l->key < 0 ? -1 : track_in(l->p, l->n, 1, l->key);
    if (by->value)
        return look_within(l, 1, DBL_MIN, DBL_MAX) || look_within(l, 1, -DBL_MAX, -DBL_MIN);
    if (l->key >= 0 && (key < 0 || dim_is(by->shape[key], 1)))
        return true;
    struct band zero = input_band(l, 1, SHOWS_FALSE);
    return band_shows_nothing(&zero);
}

static struct band div_band(const struct look *l, enum shows what)
{
    struct band y = all;
    if (what == SHOWS_TRUE)
        return divides_alike(l) ? input_band(l, 0, what) : all;
    if (what == SHOWS_FALSE)
        return look_within(l, 1, 1, 1) ? input_band(l, 0, what) : all;
    if (look_within(l, 1, DBL_MIN, SCALE_MAX)) {
        y = input_band(l, 0, what);
        y.deep /= look_most(l, 1);
    }
    return y;
}

/* The least that the largest score of each query is: one that sees its own frame has one of usual
 * size. The largest of several is as large as any of them. */
static double largest_least(const struct look *l, uint32_t w)
{
    const struct wire *wire = &l->p->src->wires[w];
    const struct node *n = wire->node == WIRE_NONE ? NULL : &l->p->src->nodes[wire->node];
    double least = l->p->bands->sizes[w].low;
    if (n && node_is(n, OP_MAX) && n->n_in == 2)
        return fmax(largest_least(l, n->in[0]), largest_least(l, n->in[1]));
    if (!n || !node_is(n, OP_REDUCE_MAX) || !reduce_attr_of(n)->keepdims)
        return least;
    const struct fact *x = pulser_fact(l->p, n->in[0]);
    bool along = l->query >= 0 && l->key >= 0 && l->query < x->rank && l->key < x->rank &&
        dim_is(wire->fact.shape[l->key], 1);
    return along && band_sees_some(l->p, n->in[0], SHOWS_HIGH, l->query, l->key)
        ? fmax(least, -SEEN)
        : least;
}

/* What operand i is at most, or as the second of Sub at least, with the sign that undoes hiding. */
static double undoes(const struct look *l, unsigned i, enum shows what)
{
    const struct tensor *v = pulser_fact(l->p, l->n->in[i])->value;
    bool up = is_lower_kind(what) != (i == 1 && node_is(l->n, OP_SUB));
    double reach = up ? look_size(l, i).high : -largest_least(l, l->n->in[i]);
    for (int64_t k = 0; v && v->type != DTYPE_DIM && k < tensor_count(v); k++) {
        double x = tensor_get_f64(v, v->data, k) * (up ? 1 : -1);
        reach = k == 0 || x > reach ? x : reach;
    }
    return reach > 0 ? reach : 0;
}

static double left_deep(const struct band *b, double reach)
{
    bool hides = band_shows_nothing(b) || b->left < BAND_ALL || b->right < BAND_ALL;
    return !hides ? INFINITY : isinf(reach) ? 0 : b->deep - reach;
}

/* How much of what band b hides operand i undoes there: nothing where it is 0 outside it, as what
 * is multiplied by the same mask is. */
static double undoes_outside(const struct look *l, unsigned i, enum shows what,
                             const struct band *b)
{
    const double reach = undoes(l, i, what);
    if (b->deep - reach >= DEEP_F64)
        return reach;
    const struct band zero = input_band(l, i, SHOWS_TRUE);
    return band_bounded(&zero) && band_inside(&zero, b) ? 0 : reach;
}

static struct band sum_band(const struct look *l, enum shows what)
{
    enum shows second = node_is(l->n, OP_SUB) ? shows_turned(what) : what;
    struct band x = input_band(l, 0, what), z = input_band(l, 1, second);
    struct band y = band_intersection(l->p, &x, &z);
    y.deep = fmin(left_deep(&x, undoes_outside(l, 1, what, &x)),
                  left_deep(&z, undoes_outside(l, 0, what, &z)));
    return y;
}

static struct band sub_band(const struct look *l, enum shows what)
{
    bool inverts = look_within(l, 0, 1, 1) && is_truth(l->p, l->n->in[1]);
    if (!is_truth_kind(what))
        return sum_band(l, what);
    if (inverts)
        return input_band(l, 1, what == SHOWS_TRUE ? SHOWS_FALSE : SHOWS_TRUE);
    return what == SHOWS_TRUE ? either(l, what, what) : all;
}

/* Of nothing but 0 it is 0. */
static struct band add_band(const struct look *l, enum shows what)
{
    if (!is_truth_kind(what))
        return sum_band(l, what);
    return what == SHOWS_TRUE ? either(l, what, what) : all;
}

static struct band logic_band(const struct look *l, enum shows what)
{
    bool and_ = node_is(l->n, OP_AND);
    if (!is_truth_kind(what))
        return all;
    return and_ == (what == SHOWS_TRUE) ? both(l, what, what) : either(l, what, what);
}

static struct band not_band(const struct look *l, enum shows what)
{
    return is_truth_kind(what) ? input_band(l, 0, shows_turned(what)) : all;
}

static struct band compare_band(const struct look *l, enum shows what)
{
    bool at[2];
    unsigned i;
    if (!is_truth_kind(what) || !look_compares(l, at, &i))
        return all;
    if (at[0] == at[1])
        return at[0] == (what == SHOWS_TRUE) ? all : none;
    return input_band(l, i, at[1] == (what == SHOWS_TRUE) ? SHOWS_TRUE : SHOWS_FALSE);
}

/* Of nothing but 0 they are 0. */
static struct band max_band(const struct look *l, enum shows what)
{
    if (l->n->n_in == 2 && what == SHOWS_TRUE)
        return either(l, what, what);
    if (l->n->n_in != 2 || is_truth_kind(what))
        return all;
    return node_is(l->n, OP_MAX) == is_lower_kind(what) ? either(l, what, what)
                                                        : both(l, what, what);
}

/* Weights: what was low is 0. */
static struct band weights_band(const struct look *l, enum shows what)
{
    int rank = pulser_fact(l->p, l->n->in[0])->rank;
    bool each = node_is(l->n, OP_EXP) || node_is(l->n, OP_SIGMOID);
    bool along_keys = each || axis_normalise(axis_of(l->n), rank) == l->key;
    return what == SHOWS_TRUE && along_keys
        ? band_of(l->p, l->n->in[0], SHOWS_HIGH, l->query, l->key)
        : all;
}

/* Sums of products with constants, and sums over other axes: of nothing but 0 they are 0. */
static struct band linear_band(const struct look *l, enum shows what)
{
    unsigned c = l->n->n_in == 2 ? look_constant(l) : 1;
    return what == SHOWS_TRUE && c < 2 ? input_band(l, 1 - c, what) : all;
}

static struct band same_band(const struct look *l, enum shows what)
{
    return input_band(l, 0, what);
}

/* To a power above 0, 0 is 0. */
static struct band pow_band(const struct look *l, enum shows what)
{
    return what == SHOWS_TRUE && look_within(l, 1, DBL_MIN, DBL_MAX) ? input_band(l, 0, what) : all;
}

/* Small numbers are rounded to 0. */
static struct band round_band(const struct look *l, enum shows what)
{
    return what != SHOWS_FALSE || is_truth(l->p, l->n->in[0]) ? input_band(l, 0, what) : all;
}

static struct band zero_band(const struct look *l, enum shows what)
{
    bool kept = what == SHOWS_FALSE && !node_is(l->n, OP_RELU);
    return what == SHOWS_TRUE || kept ? input_band(l, 0, what) : all;
}

static struct band cast_band(const struct look *l, enum shows what)
{
    bool kept = what != SHOWS_FALSE || is_truth(l->p, l->n->in[0]) ||
        pulser_fact(l->p, l->n->out[0])->type == DTYPE_BOOL;
    return kept ? input_band(l, 0, what) : all;
}

bool band_quantises_none(const struct pulser *p, const struct node *q, int query, int key)
{
    uint32_t seen;
    return !quantises_numbers(p, q, p->bands->sizes, &query, &key, &seen) ||
        (seen != WIRE_NONE && !band_sees_some(p, seen, SHOWS_HIGH, query, key));
}

struct band bytes_band(const struct pulser *p, uint32_t w, double zero, int query, int key)
{
    const struct node *q = bytes_source(p, w, zero, &query, &key);
    const bool open = !q || band_quantises_none(p, q, query, key);
    return open ? all : band_of(p, q->in[0], SHOWS_TRUE, query, key);
}

/* Weights that were quantised: 0 where they were. Of scores that were low nothing is known. */
static struct band bytes_again_band(const struct look *l, enum shows what)
{
    double zero;
    if (what != SHOWS_TRUE || !bytes_zero(l->p, l->n, 2, &zero))
        return all;
    return bytes_band(l->p, l->n->in[0], zero, l->query, l->key);
}

/* clang-format off */
static struct band (*const bands[OP_COUNT])(const struct look *l, enum shows what) = {
    [OP_ABS] = zero_band,         [OP_ADD] = add_band,        [OP_AND] = logic_band,
    [OP_CAST] = cast_band,        [OP_DIV] = div_band,        [OP_EQUAL] = compare_band,
    [OP_EXP] = weights_band,      [OP_EXPAND] = same_band,    [OP_GREATER] = compare_band,
    [OP_GREATER_OR_EQUAL] = compare_band,                     [OP_IDENTITY] = same_band,
    [OP_LESS] = compare_band,     [OP_LESS_OR_EQUAL] = compare_band,
    [OP_MAX] = max_band,          [OP_MIN] = max_band,        [OP_MUL] = mul_band,
    [OP_NEG] = zero_band,         [OP_NOT] = not_band,        [OP_OR] = logic_band,
    [OP_POW] = pow_band,          [OP_RELU] = zero_band,      [OP_RESHAPE] = same_band,
    [OP_ROUND_BF16] = round_band,
    [OP_ROUND_F16] = round_band,  [OP_SIGMOID] = weights_band, [OP_SIGN] = zero_band,      [OP_SLICE] = same_band,
    [OP_SOFTMAX] = weights_band,  [OP_SQRT] = zero_band,      [OP_SQUEEZE] = same_band,
    [OP_SUB] = sub_band,          [OP_TANH] = zero_band,      [OP_TRANSPOSE] = same_band,
    [OP_UNSQUEEZE] = same_band,   [OP_WHERE] = where_band,    [OP_FLATTEN] = same_band,
    [OP_GATHER] = same_band,      [OP_DEQUANTIZE_LINEAR] = bytes_again_band,
    [OP_EINSUM] = linear_band,    [OP_MATMUL] = linear_band,  [OP_REDUCE_SUM] = linear_band,
    [OP_REDUCE_MEAN] = linear_band,
};
/* clang-format on */

#define HEADS_MAX 64 /* masks along another axis */

/* An axis beside both of few elements, along which masks differ; -1: there is none. */
static int axis_of_heads(const struct pulser *p, uint32_t w, const struct position *at, int query,
                         int key)
{
    const struct fact *f = pulser_fact(p, w);
    for (int a = 0; a < f->rank; a++)
        if (a != query && a != key && dim_is_const(f->shape[a]) && dim_value(f->shape[a]) >= 1 &&
            dim_value(f->shape[a]) <= HEADS_MAX && dim_mentions(at->e, p->positions->axis[a]))
            return a;
    return -1;
}

/* What any of the heads shows. */
static struct band positions_band(const struct pulser *p, uint32_t w, const struct position *at,
                                  enum shows what, int query, int key)
{
    const struct measure of = { at, what, query, key, rates_of(p, w, query, key) };
    const int axis = axis_of_heads(p, w, at, query, key);
    if (axis < 0)
        return measured_band(p->bands->measures, &of, p->positions);
    struct band y = none;
    for (int64_t i = 0; i < dim_value(pulser_fact(p, w)->shape[axis]); i++) {
        const struct position row = position_row(p->positions, at, axis, i);
        const struct band b = positions_band(p, w, &row, what, query, key);
        if (b.ragged || b.costly)
            return b;
        y = i ? band_union(p, &y, &b) : b;
    }
    return y;
}

/* Whether each of the heads shows it. */
static bool positions_seen(const struct pulser *p, uint32_t w, const struct position *at,
                           enum shows what, int query, int key, int64_t ahead)
{
    const struct measure of = { at, what, query, key, rates_of(p, w, query, key) };
    const int axis = axis_of_heads(p, w, at, query, key);
    if (axis < 0)
        return measured_seen(p->bands->measures, &of, p->positions, ahead);
    for (int64_t i = 0; i < dim_value(pulser_fact(p, w)->shape[axis]); i++) {
        const struct position row = position_row(p->positions, at, axis, i);
        if (!positions_seen(p, w, &row, what, query, key, ahead))
            return false;
    }
    return true;
}

/* By its inputs, where a mask as a whole repeats nowhere: one with first keys that a window hides
 * later, say. */
static struct band band_find(const struct pulser *p, uint32_t w, enum shows what, int query,
                             int key)
{
    struct band whole = all;
    const struct wire *wire = &p->src->wires[w];
    const struct position *at = p->positions ? &p->positions->of[w] : NULL;
    const struct node *n = wire->node == WIRE_NONE ? NULL : &p->src->nodes[wire->node];
    if (wire->fact.value)
        return of_constant(wire->fact.value, what);
    if (at && at->e && query >= 0 && key >= 0)
        whole = positions_band(p, w, at, what, query, key);
    const struct look l = { p, n, query, key, 0 };
    if ((at && at->e && query >= 0 && key >= 0 && !whole.ragged) || !n || !bands[n->op->id])
        return whole;
    const struct band y = bands[n->op->id](&l, what);
    return whole.ragged && !band_bounded(&y) ? whole : y;
}

/* What is known of the wire; NULL: no memory, or too many nodes on the way. */
static struct found *found_of(const struct pulser *p, uint32_t w, enum shows what, int query,
                              int key)
{
    struct bands *known = p->bands;
    for (struct found *f = known->of[w]; f; f = f->next)
        if (f->what == what && f->query == query && f->key == key)
            return f;
    if (known->steps >= STEPS_MAX)
        return NULL;
    known->steps++;
    struct band b = band_find(p, w, what, query, key);
    known->steps--;
    if (!is_truth_kind(what) &&
        !(b.deep >= (p->src->wires[w].fact.type == DTYPE_F64 ? DEEP_F64 : DEEP)))
        b = all;
    struct found *f = arena_new(known->arena, struct found);
    if (!f)
        return NULL;
    *f = (struct found) { known->of[w], what, query, key, b, false, false, 0 };
    known->of[w] = f;
    return f;
}

struct band band_of(const struct pulser *p, uint32_t w, enum shows what, int query, int key)
{
    const struct found *f = w == WIRE_NONE ? NULL : found_of(p, w, what, query, key);
    return f ? f->band : all;
}

/* ---- a query and one key ---- */

static bool band_seen_at(const struct pulser *p, uint32_t w, enum shows what, int query, int key,
                         int64_t ahead);

static bool input_seen(const struct look *l, unsigned i, enum shows what)
{
    return band_seen_at(l->p, l->n->in[i], what, track_in(l->p, l->n, i, l->query),
                        track_in(l->p, l->n, i, l->key), l->ahead);
}

static bool constant_seen(const struct tensor *v, enum shows what)
{
    bool all_show = v->type != DTYPE_DIM;
    for (int64_t i = 0; all_show && i < tensor_count(v); i++)
        all_show = shows_surely(what, tensor_get_f64(v, v->data, i));
    return all_show;
}

/* The number of positions that is the same for all queries there. */
static bool number_there(const struct pulser *p, uint32_t w, const struct look *l, double *ret)
{
    const struct positions *ps = p->positions;
    const struct position *at = ps ? &ps->of[w] : NULL;
    if (!at || !at->e || l->query < 0 || l->key < 0)
        return false;
    const struct dim *own = dim_add_int(ps->dims, ps->axis[l->query], l->ahead),
                     *e = dim_subst(ps->dims, at->e, ps->axis[l->key], own);
    if (dims_status(ps->dims, NULL) != RILL_OK || !dim_is_const(e))
        return false;
    *ret = position_number(at, dim_value(e));
    return true;
}

static struct size size_there(const struct look *l, uint32_t w);

/* Elements are made of those at the same place. */
static bool stays_there(const struct node *n)
{
    static const enum op_id moves[] = { OP_CAST,    OP_EXPAND,    OP_IDENTITY, OP_RESHAPE,
                                        OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    return n->n_out == 1 && n->n_in > 0 && n->n_in <= INPUTS_THERE &&
        ((n->op->flags & OP_POINTWISE) || node_is_among(n, moves, sizeof moves / sizeof *moves));
}

static struct size size_found(const struct look *l, uint32_t w)
{
    const struct node *n = graph_producer(l->p->src, w);
    struct size in[INPUTS_THERE] = { { 0 } };
    double v;
    if (number_there(l->p, w, l, &v) && !isnan(v))
        return (struct size) { v, v };
    if (!n || pulser_fact(l->p, w)->value || pulser_fact(l->p, w)->type == DTYPE_BOOL ||
        !stays_there(n) || l->p->bands->steps >= STEPS_MAX)
        return l->p->bands->sizes[w];
    l->p->bands->steps++;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE || (i && !(n->op->flags & OP_POINTWISE)))
            continue;
        const struct look before = { l->p, n, track_in(l->p, n, i, l->query),
                                     track_in(l->p, n, i, l->key), l->ahead };
        in[i] = size_there(&before, n->in[i]);
    }
    l->p->bands->steps--;
    const struct size s = l->p->bands->sizes[w], y = size_made(l->p->src, n, in);
    return (struct size) { fmax(s.low, y.low), fmin(s.high, y.high) };
}

/* Of a wire with the query and the key of l. */
static struct size size_there(const struct look *l, uint32_t w)
{
    struct bands *known = l->p->bands;
    for (struct there *t = known->there[w]; t; t = t->next)
        if (t->query == l->query && t->key == l->key && t->ahead == l->ahead)
            return t->size;
    struct there *t = arena_new(known->arena, struct there);
    const struct size s = size_found(l, w);
    if (t) {
        *t = (struct there) { known->there[w], l->query, l->key, l->ahead, s };
        known->there[w] = t;
    }
    return s;
}

static bool size_seen(const struct look *l, enum shows what)
{
    const struct size s = size_there(l, l->n->out[0]);
    return is_lower_kind(what) ? shows_surely(what, s.low) : shows_surely(what, s.high);
}

static bool where_seen(const struct look *l, enum shows what)
{
    bool a = input_seen(l, 1, what), b = input_seen(l, 2, what);
    return (a && b) || (a && input_seen(l, 0, SHOWS_TRUE)) || (b && input_seen(l, 0, SHOWS_FALSE));
}

static bool compare_seen(const struct look *l, enum shows what)
{
    bool at[2];
    unsigned i;
    if (!look_compares(l, at, &i))
        return false;
    if (at[0] == at[1])
        return at[0] == (what == SHOWS_TRUE);
    return input_seen(l, i, at[1] == (what == SHOWS_TRUE) ? SHOWS_TRUE : SHOWS_FALSE);
}

/* Times 1, a truth value there, it is the other factor. */
static bool shown_by(const struct look *l, unsigned i, enum shows what)
{
    return !pulser_fact(l->p, l->n->in[i])->value && is_truth(l->p, l->n->in[i]) &&
        input_seen(l, i, SHOWS_TRUE) && input_seen(l, 1 - i, what);
}

static bool mul_seen(const struct look *l, enum shows what)
{
    unsigned c = look_constant(l);
    if (is_truth_kind(what))
        return what == SHOWS_TRUE ? input_seen(l, 0, what) && input_seen(l, 1, what)
                                  : input_seen(l, 0, what) || input_seen(l, 1, what);
    if (c < 2 && look_turns(l, c, what))
        return input_seen(l, 1 - c, SHOWS_FALSE);
    if (size_seen(l, what) || shown_by(l, 0, what) || shown_by(l, 1, what))
        return true;
    return c < 2 && look_within(l, c, -SCALE_MAX, SCALE_MAX) &&
        (look_within(l, c, -INFINITY, 0) || input_seen(l, 1 - c, what)) &&
        (look_within(l, c, 0, INFINITY) || input_seen(l, 1 - c, shows_turned(what)));
}

/* Sums and largest of numbers. */
static bool numbers_seen(const struct look *l, enum shows what)
{
    bool picks = node_is(l->n, OP_MAX) == is_lower_kind(what) && !node_is(l->n, OP_ADD);
    bool inverts =
        node_is(l->n, OP_SUB) && is_one(l->p, l->n->in[0]) && is_truth(l->p, l->n->in[1]);
    if (is_truth_kind(what) || l->n->n_in != 2)
        return inverts && input_seen(l, 1, shows_turned(what));
    bool a = input_seen(l, 0, what),
         b = input_seen(l, 1, node_is(l->n, OP_SUB) ? shows_turned(what) : what);
    return picks && !node_is(l->n, OP_SUB) ? a || b : a && b;
}

static bool logic_seen(const struct look *l, enum shows what)
{
    bool a = input_seen(l, 0, what), b = input_seen(l, 1, what);
    return node_is(l->n, OP_AND) == (what == SHOWS_TRUE) ? a && b : a || b;
}

/* Scores, and what is made of them by other ops, are numbers of usual size. */
static bool node_seen(const struct look *l, enum shows what)
{
    switch (l->n->op->id) {
    case OP_WHERE: return where_seen(l, what);
    case OP_MUL: return mul_seen(l, what);
    case OP_ADD:
    case OP_SUB:
    case OP_MAX:
    case OP_MIN: return numbers_seen(l, what);
    case OP_AND:
    case OP_OR: return logic_seen(l, what);
    case OP_NOT: return input_seen(l, 0, shows_turned(what));
    case OP_DIV:
        if (!is_truth_kind(what) && look_within(l, 1, 1 / SCALE_MAX, DBL_MAX) &&
            input_seen(l, 0, what))
            return true;
        break;
    default: break;
    }
    if (bands[l->n->op->id] == same_band || bands[l->n->op->id] == round_band ||
        bands[l->n->op->id] == cast_band)
        return input_seen(l, 0, what);
    return is_truth_kind(what) ? bands[l->n->op->id] == compare_band && compare_seen(l, what)
                               : size_seen(l, what);
}

static bool seen_find(const struct pulser *p, uint32_t w, enum shows what, int query, int key,
                      int64_t ahead)
{
    const struct wire *wire = &p->src->wires[w];
    const struct position *at = p->positions ? &p->positions->of[w] : NULL;
    if (wire->fact.value)
        return constant_seen(wire->fact.value, what);
    const bool known = at && at->e && query >= 0 && key >= 0;
    if (known && positions_seen(p, w, at, what, query, key, ahead))
        return true;
    if (wire->node == WIRE_NONE)
        return !known && !is_truth_kind(what);
    if (known && !is_truth_kind(what) && !node_is(&p->src->nodes[wire->node], OP_WHERE))
        return false;
    const struct look l = { p, &p->src->nodes[wire->node], query, key, ahead };
    return l.n->out[0] == w && node_seen(&l, what);
}

/* Whether it surely holds of each query and the key so many frames behind that of its own frame. */
static bool band_seen_at(const struct pulser *p, uint32_t w, enum shows what, int query, int key,
                         int64_t ahead)
{
    struct found *f = w == WIRE_NONE ? NULL : found_of(p, w, what, query, key);
    if (f && (!f->seen_known || f->ahead != ahead)) {
        f->seen_known = true;
        f->ahead = ahead;
        f->seen = p->bands->steps < STEPS_MAX;
        p->bands->steps++;
        const bool seen = f->seen && seen_find(p, w, what, query, key, ahead);
        p->bands->steps--;
        f->seen = seen;
    }
    return f && f->seen;
}

bool band_diagonal(const struct pulser *p, uint32_t w, enum shows what, int query, int key)
{
    return band_seen_at(p, w, what, query, key, 0);
}

bool band_sees_some(const struct pulser *p, uint32_t w, enum shows what, int query, int key)
{
    const struct fact *f = pulser_fact(p, w);
    const struct dim *more = dim_sub(p->src->dims, f->shape[key], f->shape[query]);
    if (!dim_is_const(more) || dim_value(more) < 0)
        return false;
    const int64_t last = dim_value(more), tried = smaller(last, AHEAD_TRIED);
    for (int64_t back = 0; back <= tried; back++)
        if (band_seen_at(p, w, what, query, key, last - back))
            return true;
    return last > tried && band_diagonal(p, w, what, query, key);
}
