/* SPDX-License-Identifier: MIT */
#include "pulse/measured.h"
#include "pulse/ints.h"
#include "pulse/pieces.h"
#include "pulse/places.h"

#include <math.h>

#define BUCKETS 256

/* Behind so many first keys, which all queries behind them see, or do not, a mask repeats. */
struct steady {
    int64_t chunk, first;
};

struct known {
    struct measure of;
    struct position at;
    struct steady steady; /* chunk 0: not known yet */
    struct band band;
    bool band_known, seen_known, seen;
    int64_t ahead; /* of seen */
    struct known *next;
};

struct measures {
    struct known *bucket[BUCKETS];
    struct arena *arena;
    int64_t spent;
};

struct measures *measures_new(struct arena *a)
{
    struct measures *m = arena_new(a, struct measures);
    if (m)
        m->arena = a;
    return m;
}

int64_t measures_spent(const struct measures *m)
{
    return m->spent;
}

/* ---- numbers ---- */

bool is_truth_kind(enum shows what)
{
    return what == SHOWS_TRUE || what == SHOWS_FALSE;
}

bool shows_number(enum shows what, double v)
{
    switch (what) {
    case SHOWS_TRUE: return v != 0;
    case SHOWS_FALSE: return v == 0;
    case SHOWS_HIGH: return !(v <= HIDES);
    case SHOWS_SMALL: return !(v >= -HIDES);
    case SHOWS_SOME: return !isinf(v) || v > 0;
    default: return !isinf(v) || v < 0;
    }
}

bool shows_surely(enum shows what, double v)
{
    return what == SHOWS_HIGH ? v >= -SEEN
        : what == SHOWS_SMALL ? v <= SEEN
                              : shows_number(what, v);
}

double shows_depth(enum shows what, double v)
{
    return shows_number(what, v) || is_truth_kind(what) ? INFINITY : fabs(v);
}

/* ---- what an expression speaks of ---- */

int64_t expression_period(const struct dim *d)
{
    const struct dim_parts x = dim_parts(d);
    int64_t y = x.form == DIM_FORM_QUOTIENT && x.value < REACH_MAX ? x.value : 1;
    if (x.form == DIM_FORM_QUOTIENT && x.value >= REACH_MAX)
        return REACH_MAX;
    for (unsigned i = 0; i < x.n; i++) {
        int64_t of = expression_period(x.arg[i]);
        y = y / gcd(y, of) * of;
        if (y >= REACH_MAX)
            return REACH_MAX;
    }
    return y;
}

static int64_t expression_nodes(const struct dim *d)
{
    const struct dim_parts x = dim_parts(d);
    int64_t y = 1;
    for (unsigned i = 0; i < x.n; i++)
        y += expression_nodes(x.arg[i]);
    return y;
}

/* ---- what it cost ---- */

static bool may_spend(struct measures *m, int64_t elements, const struct dim *e)
{
    int64_t cost;
    if (__builtin_mul_overflow(elements, expression_nodes(e), &cost) ||
        cost > MEASURES_MAX - m->spent)
        return false;
    m->spent += cost;
    return true;
}

static bool same_measure(const struct known *k, const struct measure *of)
{
    const struct position *a = &k->at, *b = of->at;
    return a->e == b->e && a->pair == b->pair && a->parts == b->parts &&
        (!a->pair || (a->one == b->one && a->zero == b->zero)) && k->of.what == of->what &&
        k->of.query == of->query && k->of.key == of->key &&
        k->of.rates.queries == of->rates.queries && k->of.rates.keys == of->rates.keys;
}

/* NULL: no memory. */
static struct known *known_of(struct measures *m, const struct measure *of)
{
    struct known **bucket = &m->bucket[((uintptr_t) of->at->e >> 4) % BUCKETS], *k = *bucket;
    while (k && !same_measure(k, of))
        k = k->next;
    if (!k && (k = arena_new(m->arena, struct known))) {
        *k = (struct known) { .of = *of, .at = *of->at, .next = *bucket };
        *bucket = k;
    }
    return k;
}

/* ---- chunks ---- */

#define SUBSTITUTION 64 /* an expression with something else in it costs so many elements */

/* The least number of queries after which a mask repeats: with what its quotients do, in whole
 * steps of both rates. More than CHUNK_MAX: none is known; -1: it costs too much. */
static int64_t chunk_of(struct measures *m, const struct measure *of, const struct position *at,
                        const struct positions *ps)
{
    const int64_t step = of->rates.queries;
    int64_t period = expression_period(at->e), c = step;
    for (; c <= CHUNK_MAX; c += step) {
        if (period % (c / step) && period % c)
            continue;
        if (!may_spend(m, SUBSTITUTION, at->e))
            return -1;
        if (position_repeats(ps, at, of->query, of->key, c, rates_keys(&of->rates, c)))
            break;
    }
    return c;
}

/* Up to which of the first keys a query far behind meets something else than further on; more than
 * FIRST_MAX: at none there. */
static int64_t first_of(const struct measure *of, const struct positions *ps)
{
    const struct position row = position_row(ps, of->at, of->query, FAR);
    double v, far;
    int64_t first = 0;
    if (!position_value(ps, &row, of->key, FAR / 2, &far))
        return FIRST_MAX + 1;
    for (int64_t k = 0; k <= FIRST_MAX; k++) {
        if (!position_value(ps, &row, of->key, k, &v))
            return FIRST_MAX + 1;
        first = v != far ? k + 1 : first;
    }
    return first;
}

/* How far to both sides of itself a query is looked at: behind that nothing new comes. */
static int64_t looks_as_far(const struct dim *e, int64_t chunk, int64_t keys)
{
    return larger(pieces_reach(e, REACH_MAX) + 2 * larger(chunk, keys) + expression_period(e),
                  CONTEXT_MAX);
}

/* How many first keys there must be, `first` or more, that behind them query i sees what queries
 * far behind do; -1: that is not known, or may turn behind the keys that are looked at. */
static int64_t begins_behind(const struct measure *of, const struct positions *ps,
                             const struct steady *s, int64_t i, int64_t keys)
{
    const int64_t later = FAR / s->chunk * s->chunk;
    const struct position row = position_row(ps, of->at, of->query, i),
                          far = position_row(ps, of->at, of->query, later + i);
    int64_t y = s->first;
    double v, w;
    if (pieces_reach(row.e, REACH_MAX) + expression_period(row.e) >= keys)
        return -1;
    for (int64_t k = s->first; k < keys; k++) {
        if (!position_value(ps, &row, of->key, k, &v) ||
            !position_value(ps, &far, of->key, later + k, &w))
            return -1;
        y = v != w ? k + 1 : y;
    }
    return y;
}

/* How many first keys, from `first` on, are enough that behind as many queries and keys the mask
 * repeats with the chunk; more than FIRST_MAX: none; -1: it costs too much. */
static int64_t first_enough(struct measures *m, const struct measure *of,
                            const struct positions *ps, int64_t chunk, int64_t first)
{
    struct position at = *of->at;
    for (; first <= FIRST_MAX; first++) {
        at.e = positions_behind(ps, of->at->e, of->query, of->key, first);
        if (!may_spend(m, SUBSTITUTION, at.e))
            return -1;
        if (position_repeats(ps, &at, of->query, of->key, chunk, chunk))
            break;
    }
    return first;
}

/* Behind the first keys at most; what the first queries see behind those is looked at. */
static struct steady steady_behind(struct measures *m, const struct measure *of,
                                   const struct positions *ps)
{
    const struct steady none = { CHUNK_MAX + 1, 0 }, costly = { -1, 0 };
    const int64_t first = first_of(of, ps);
    if (first > FIRST_MAX)
        return none;
    struct position at = *of->at;
    at.e = positions_behind(ps, at.e, of->query, of->key, FIRST_MAX);
    struct steady y = { chunk_of(m, of, &at, ps), 0 };
    if (y.chunk < 0 || y.chunk > CHUNK_MAX)
        return y;
    y.first = first_enough(m, of, ps, y.chunk, larger(first, 1));
    if (y.first < 0 || y.first > FIRST_MAX)
        return y.first < 0 ? costly : none;
    const int64_t keys = FIRST_MAX + looks_as_far(of->at->e, y.chunk, y.chunk);
    for (int64_t i = 0; i < y.first; i++) {
        if (!may_spend(m, 2 * keys, of->at->e))
            return costly;
        y.first = begins_behind(of, ps, &y, i, keys);
        if (y.first < 0 || y.first > FIRST_MAX)
            return none;
    }
    return y;
}

static struct steady steady_of(struct measures *m, struct known *k, const struct measure *of,
                               const struct positions *ps)
{
    const struct rates *r = &of->rates;
    if (k->steady.chunk != 0)
        return k->steady;
    k->steady = (struct steady) { chunk_of(m, of, of->at, ps), 0 };
    if (k->steady.chunk > CHUNK_MAX && r->queries == 1 && r->keys == 1)
        k->steady = steady_behind(m, of, ps);
    return k->steady;
}

/* ---- bands ---- */

struct seen {
    int64_t low, high;
    double deep;
};

static bool key_sees(const struct positions *ps, const struct position *at, enum shows what,
                     int key, int64_t first, int64_t k, struct seen *seen)
{
    double v;
    if (!position_value(ps, at, key, first + k, &v))
        return false;
    seen->low = shows_number(what, v) && k < seen->low ? k : seen->low;
    seen->high = shows_number(what, v) && k > seen->high ? k : seen->high;
    seen->deep = fmin(seen->deep, shows_depth(what, v));
    return true;
}

/* The keys that one query sees, from `first` on, `reach` to both sides and far away; false where
 * the mask has no value. */
static bool query_sees(const struct positions *ps, const struct position *at, enum shows what,
                       int key, int64_t first, int64_t reach, struct seen *seen)
{
    static const int64_t beyond[] = { CONTEXT_MAX + 1, 10 * CONTEXT_MAX, FAR / 2 };
    for (int64_t k = -reach; k <= reach; k++)
        if (!key_sees(ps, at, what, key, first, k, seen))
            return false;
    for (unsigned k = 0; k < 6; k++)
        if (!key_sees(ps, at, what, key, first, (k % 2 ? -1 : 1) * beyond[k / 2], seen))
            return false;
    return true;
}

/* What the queries of a chunk see: all of them, and each, from the chunk's first key on. False
 * where the mask has no value, or costs too much. */
static bool chunk_sees(struct measures *m, const struct measure *of, const struct positions *ps,
                       int64_t c, int64_t reach, struct seen *seen, struct reach *at,
                       bool *ret_costly)
{
    const struct dim *last = NULL;
    int64_t first = FAR / c * c;
    *ret_costly = false;
    for (int64_t i = 0; i < c; i++) {
        struct seen own = { INT64_MAX, INT64_MIN, INFINITY };
        if (!may_spend(m, SUBSTITUTION, of->at->e)) {
            *ret_costly = true;
            return false;
        }
        const struct position row = position_row(ps, of->at, of->query, first + i);
        if (i > 0 && row.e == last) {
            at[i] = at[i - 1];
            continue;
        }
        last = row.e;
        *ret_costly = !may_spend(m, 2 * reach, row.e);
        if (*ret_costly ||
            !query_sees(ps, &row, of->what, of->key, rates_keys(&of->rates, first), reach, &own))
            return false;
        at[i] = (struct reach) { own.low, own.high };
        seen->low = smaller(seen->low, own.low);
        seen->high = larger(seen->high, own.high);
        seen->deep = fmin(seen->deep, own.deep);
    }
    return true;
}

/* From each query's own key; without a bound where the chunk is. */
static void reaches_settle(struct reach *at, int64_t c, const struct rates *r,
                           const struct seen *seen)
{
    for (int64_t i = 0; i < c; i++) {
        const int64_t own = i * r->keys / r->queries;
        const bool none = at[i].low > at[i].high;
        at[i].low = none ? BAND_ALL : seen->low <= -CONTEXT_MAX ? -BAND_ALL : at[i].low - own;
        at[i].high = none ? -BAND_ALL : seen->high >= CONTEXT_MAX ? BAND_ALL : at[i].high - own;
    }
}

/* Which of the first keys the first queries see. */
static bool first_look(const struct measure *of, const struct positions *ps, int64_t first,
                       int64_t *early, double *deep)
{
    double v;
    for (int64_t i = 0; i <= first && first; i++) {
        early[i] = -1;
        const struct position row = position_row(ps, of->at, of->query, i < first ? i : FAR);
        for (int64_t k = 0; k < first; k++) {
            if (!position_value(ps, &row, of->key, k, &v))
                return false;
            *deep = fmin(*deep, shows_depth(of->what, v));
            if (shows_number(of->what, v))
                early[i] = k;
        }
    }
    return true;
}

static struct band looked_at(struct measures *m, struct known *known, const struct measure *of,
                             const struct positions *ps)
{
    const struct steady steady = steady_of(m, known, of, ps);
    const int64_t c = steady.chunk;
    struct seen seen = { INT64_MAX, INT64_MIN, INFINITY };
    struct band unknown = BAND_OF_ALL, y = BAND_OF_NONE;
    const int64_t keys = c > 0 ? rates_keys(&of->rates, c) : 0;
    const int64_t reach = looks_as_far(of->at->e, c, keys);
    unknown.costly = c < 0;
    unknown.ragged = !unknown.costly;
    if (c < 0 || c > CHUNK_MAX || reach > REACH_MAX)
        return unknown;
    struct reach *at = arena_array(m->arena, struct reach, c);
    int64_t *early = arena_array(m->arena, int64_t, steady.first + 1);
    if (!at || !early || !chunk_sees(m, of, ps, c, reach, &seen, at, &unknown.costly)) {
        unknown.ragged = !unknown.costly;
        return unknown;
    }
    if (!first_look(of, ps, steady.first, early, &seen.deep))
        return unknown;
    y.first = steady.first;
    y.early = steady.first ? early : NULL;
    y.deep = seen.deep;
    if (seen.low > seen.high)
        return y;
    reaches_settle(at, c, &of->rates, &seen);
    y.chunk = c;
    y.at = at;
    y.left = seen.low <= -CONTEXT_MAX ? BAND_ALL : -seen.low;
    y.right = seen.high >= CONTEXT_MAX ? BAND_ALL : seen.high - (keys - 1);
    return y;
}

struct band measured_band(struct measures *m, const struct measure *of, const struct positions *ps)
{
    struct known *k = known_of(m, of);
    if (!k)
        return (struct band) BAND_OF_ALL;
    if (!k->band_known) {
        k->band = looked_at(m, k, of, ps);
        k->band_known = true;
    }
    return k->band;
}

/* ---- a query and one key ---- */

/* Of the queries of a chunk from `first` on. */
static bool keys_seen(struct measures *m, const struct measure *of, const struct positions *ps,
                      int64_t first, int64_t queries, int64_t ahead)
{
    double v;
    for (int64_t i = 0; i < queries; i++) {
        if (!may_spend(m, SUBSTITUTION, of->at->e))
            return false;
        const struct position row = position_row(ps, of->at, of->query, first + i);
        const int64_t own = rates_keys(&of->rates, first) + i * of->rates.keys / of->rates.queries;
        if (!position_value(ps, &row, of->key, own + ahead, &v) || !shows_surely(of->what, v))
            return false;
    }
    return true;
}

static bool all_seen(struct measures *m, struct known *known, const struct measure *of,
                     const struct positions *ps, int64_t ahead)
{
    const struct steady s = steady_of(m, known, of, ps);
    return s.chunk > 0 && s.chunk <= CHUNK_MAX && keys_seen(m, of, ps, 0, s.first, ahead) &&
        keys_seen(m, of, ps, FAR / s.chunk * s.chunk, s.chunk, ahead);
}

bool measured_seen(struct measures *m, const struct measure *of, const struct positions *ps,
                   int64_t ahead)
{
    struct known *k = known_of(m, of);
    if (k && (!k->seen_known || k->ahead != ahead)) {
        k->seen = all_seen(m, k, of, ps, ahead);
        k->ahead = ahead;
        k->seen_known = true;
    }
    return k && k->seen;
}
