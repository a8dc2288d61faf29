/* SPDX-License-Identifier: MIT */
#include "pulse/lengths.h"
#include "engine/base/dim_claims.h"
#include "engine/base/dim_even.h"
#include "pulse/ints.h"

bool lengths_decide(const struct pulser *p, const struct dim *const *d, unsigned n, int64_t margin,
                    bool any, struct lengths *ret)
{
    const struct dim *list[SIZES_MAX + 1] = { dim_int(p->src->dims, 0) };
    struct dim_even e[SIZES_MAX + 1];
    for (unsigned i = 0; i < n; i++)
        list[i + 1] = d[i];
    if (!p->symbol || n > SIZES_MAX ||
        !dims_even(any ? NULL : p->src->dims, p->symbol, list, n + 1, margin, e))
        return false;
    *ret = (struct lengths) { .end = e[0].from + e[0].period, .period = e[0].period };
    for (unsigned i = 0; i < n; i++)
        ret->rise[i] = e[i + 1].rise;
    return true;
}

bool lengths_range(const struct pulser *p, const struct dim *d, int64_t *ret_least,
                   int64_t *ret_most)
{
    struct lengths l;
    int64_t v, least = INT64_MAX, most = INT64_MIN;
    if (dim_is_const(d)) {
        *ret_least = *ret_most = dim_value(d);
        return true;
    }
    if (!lengths_decide(p, &d, 1, 0, false, &l) || l.rise[0] != 0)
        return false;
    for (int64_t at = 0; at < l.end; at++) {
        if (!dims_allow(p->src->dims, p->symbol, at) || !dim_eval(d, p->symbol, at, &v))
            continue;
        least = v < least ? v : least;
        most = larger(most, v);
    }
    *ret_least = least;
    *ret_most = most;
    return least <= most;
}

int64_t lengths_even_from(const struct pulser *p, const struct dim *a, const struct dim *b)
{
    const struct dim *both[2] = { a, b };
    struct lengths l;
    int64_t from, x, y;
    if (!lengths_decide(p, both, b ? 2 : 1, 0, true, &l) || (b && l.rise[0] != l.rise[1]))
        return 0;
    for (from = l.end; from > 0; from--) {
        const int64_t at = from - 1;
        const bool is = dim_eval(a, p->symbol, at, &x) &&
            dim_eval(b ? b : a, p->symbol, b ? at : at + l.period, &y);
        if (!is || y - x != (b ? 0 : l.rise[0]))
            break;
    }
    return from + l.period <= l.end || from == 0 ? from : 0;
}

static bool has_elements(const struct pulser *p, const struct fact *f, int64_t at)
{
    int64_t v;
    for (int a = 0; a < f->rank; a++)
        if (dim_eval(f->shape[a], p->symbol, at, &v) && v == 0)
            return false;
    return true;
}

static bool gives_some(const struct pulser *p, int64_t at)
{
    bool some = p->outer || p->src->n_outputs == 0;
    for (uint32_t i = 0; !some && i < p->src->n_outputs; i++)
        some = has_elements(p, pulser_fact(p, p->src->outputs[i]), at);
    return some;
}

bool lengths_matter(const struct pulser *p, int64_t at)
{
    return dims_allow(p->src->dims, p->symbol, at) &&
        !dims_need_broken(p->src->dims, p->symbol, at) && gives_some(p, at);
}

bool lengths_short(const struct pulser *p, const struct dim *d, int64_t less)
{
    struct lengths l;
    int64_t v;
    if (!lengths_decide(p, &d, 1, less, false, &l))
        return true;
    for (int64_t at = 0; at < l.end; at++)
        if (lengths_matter(p, at) && (!dim_eval(d, p->symbol, at, &v) || (v != 0 && v < less)))
            return true;
    return false;
}

bool lengths_negative(const struct pulser *p, const struct dim *d)
{
    struct lengths l;
    int64_t v;
    if (!lengths_decide(p, &d, 1, 0, false, &l))
        return true;
    for (int64_t at = 0; at < l.end; at++)
        if (lengths_matter(p, at) && (!dim_eval(d, p->symbol, at, &v) || v < 0))
            return true;
    return false;
}
