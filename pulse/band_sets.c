/* SPDX-License-Identifier: MIT */
/* What bands show of queries and keys, and what several show together. */
#include "pulse/bands.h"
#include "pulse/ints.h"

#include <math.h>

static const struct band all = BAND_OF_ALL, none = BAND_OF_NONE;

static bool window_is_none(const struct band *b)
{
    return b->left == -BAND_ALL && b->right == -BAND_ALL;
}

bool band_shows_nothing(const struct band *b)
{
    return window_is_none(b) && b->first == 0;
}

bool band_bounded(const struct band *b)
{
    return b->left < BAND_ALL && b->right < BAND_ALL;
}

static struct reach reach_at(const struct band *b, int64_t i)
{
    return b->at ? b->at[i % b->chunk] : (struct reach) { -b->left, b->right };
}

/* The last of the keys up to the first ones that query i sees. */
static int64_t early_at(const struct band *b, int64_t i)
{
    const struct reach x = reach_at(b, i);
    const int64_t last = x.low > x.high ? -1 : smaller(i + x.high, BAND_ALL);
    return b->early && i < b->first ? larger(b->early[i], last) : last;
}

/* Whether all that b shows lies in the band `outer`. */
bool band_inside(const struct band *b, const struct band *outer)
{
    if (band_shows_nothing(b))
        return true;
    bool inside = outer->chunk % b->chunk == 0 && !b->ragged && b->first <= outer->first;
    for (int64_t i = 0; inside && i < outer->chunk; i++) {
        const struct reach x = reach_at(b, i), y = reach_at(outer, i);
        inside = x.low > x.high || (x.low >= y.low && x.high <= y.high);
    }
    for (int64_t i = 0; inside && i < b->first && b->first <= FIRST_MAX; i++)
        inside = early_at(b, i) <= early_at(outer, i);
    return inside;
}

/* The own key of query i from that phase on, from the first key of the step in which that is. */
static int64_t own_key(const struct rates *r, int64_t phase, int64_t i)
{
    return (phase % r->queries + i) * r->keys / r->queries;
}

struct key_span band_span(const struct band *b, const struct rates *r, int64_t chunk, int64_t phase)
{
    const int64_t last = rates_keys(r, chunk) - 1;
    struct key_span y = { -BAND_ALL, -BAND_ALL };
    if (!b->at && window_is_none(b))
        return y;
    if (!b->at)
        return (struct key_span) { b->left,
                                   b->right + larger(own_key(r, phase, chunk - 1) - last, 0) };
    for (int64_t i = 0; i < chunk; i++) {
        const struct reach x = reach_at(b, phase + i);
        const int64_t own = own_key(r, phase, i);
        if (x.low > x.high)
            continue;
        y.left = larger(y.left, -x.low - own);
        y.right = larger(y.right, x.high + own - last);
    }
    return y;
}

int64_t band_early(const struct band *b, int64_t pulse, int64_t delay)
{
    int64_t y = 0;
    for (int64_t i = larger(-delay, 0); i < b->first && b->first <= FIRST_MAX; i++) {
        const int64_t last = (i + delay) / pulse * pulse + pulse - 1 - delay;
        y = larger(y, smaller(early_at(b, i), b->first - 1) - last);
    }
    return y;
}

int64_t band_first_keys(const struct band *b, int64_t queries)
{
    int64_t y = 1;
    for (int64_t i = 0; i < queries; i++) {
        const int64_t last = b->at ? i : i / b->chunk * b->chunk + b->chunk - 1;
        y = larger(y, last + reach_at(b, i).high + 1);
        if (b->first <= FIRST_MAX)
            y = larger(y, smaller(early_at(b, i), b->first - 1) + 1);
    }
    return y;
}

int64_t band_ahead(const struct band *b)
{
    int64_t y = 0;
    for (int64_t i = 0; i < b->first && b->first <= FIRST_MAX; i++)
        y = larger(y, smaller(larger(early_at(b, i), i + band_reach(b).right), b->first - 1) - i);
    return y;
}

struct key_span band_reach(const struct band *b)
{
    struct key_span y = { b->left, b->right };
    for (int64_t i = 0; b->at && i < b->chunk; i++) {
        y.left = i == 0 ? -b->at[i].low : larger(y.left, -b->at[i].low);
        y.right = i == 0 ? b->at[i].high : larger(y.right, b->at[i].high);
    }
    return y;
}

static struct band joined(const struct band *a, const struct band *b)
{
    int64_t chunk = a->chunk / gcd(a->chunk, b->chunk) * b->chunk;
    bool fits = chunk <= CHUNK_MAX;
    return (struct band) { .chunk = fits ? chunk : 1,
                           .ragged = a->ragged || b->ragged || !fits,
                           .costly = a->costly || b->costly,
                           .deep = fmin(a->deep, b->deep) };
}

static struct reach both_reach(struct reach a, struct reach b)
{
    const struct reach y = { larger(a.low, b.low), smaller(a.high, b.high) },
                       nothing = { BAND_ALL, -BAND_ALL };
    return y.low > y.high ? nothing : y;
}

static struct reach either_reach(struct reach a, struct reach b)
{
    return (struct reach) { smaller(a.low, b.low), larger(a.high, b.high) };
}

/* What each query of y's chunk sees of both; false: no memory. */
static bool reaches_join(const struct pulser *p, const struct band *a, const struct band *b,
                         struct reach (*join)(struct reach a, struct reach b), struct band *y)
{
    if (y->ragged || (!a->at && !b->at))
        return true;
    struct reach *at = arena_array(p->arena, struct reach, y->chunk);
    for (int64_t i = 0; at && i < y->chunk; i++)
        at[i] = join(reach_at(a, i), reach_at(b, i));
    y->at = at;
    return at != NULL;
}

/* What the first queries of y see of both; false: no memory. */
static bool early_join(const struct pulser *p, const struct band *a, const struct band *b,
                       int64_t (*join)(int64_t a, int64_t b), struct band *y)
{
    if (y->first < 1 || y->first > FIRST_MAX || (!a->early && !b->early))
        return true;
    int64_t *early = arena_array(p->arena, int64_t, y->first);
    for (int64_t i = 0; early && i < y->first; i++)
        early[i] = join(early_at(a, i), early_at(b, i));
    y->early = early;
    return early != NULL;
}

struct band band_union(const struct pulser *p, const struct band *a, const struct band *b)
{
    struct band y = joined(a, b), other = window_is_none(a) ? *b : *a;
    y.first = other.first = larger(a->first, b->first);
    if (!early_join(p, a, b, larger, &y))
        return all;
    other.early = y.early;
    other.deep = y.deep;
    if (window_is_none(a) || window_is_none(b))
        return other;
    y.left = larger(a->left, b->left);
    y.right = larger(a->right, b->right);
    return reaches_join(p, a, b, either_reach, &y) ? y : all;
}

/* First keys that only one shows the other may have in its window, at the begin. */
static int64_t first_of_both(const struct band *a, const struct band *b)
{
    if (band_shows_nothing(a) || band_shows_nothing(b))
        return 0;
    return a->first >= BAND_ALL || b->first >= BAND_ALL ? smaller(a->first, b->first)
                                                        : larger(a->first, b->first);
}

struct band band_intersection(const struct pulser *p, const struct band *a, const struct band *b)
{
    struct band y = joined(a, b), nothing = none;
    y.first = nothing.first = first_of_both(a, b);
    if (!early_join(p, a, b, smaller, &y))
        return all;
    nothing.early = y.early;
    nothing.deep = y.deep;
    if (window_is_none(a) || window_is_none(b))
        return nothing;
    y.left = smaller(a->left, b->left);
    y.right = smaller(a->right, b->right);
    return reaches_join(p, a, b, both_reach, &y) ? y : all;
}
