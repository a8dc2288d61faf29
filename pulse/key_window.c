/* SPDX-License-Identifier: MIT */
#include "pulse/key_window.h"
#include "engine/base/dim_claims.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"

/* In a branch frames go by its own runs. */
static bool is_given(const struct pulser *p, const struct padded *q)
{
    return q->is && !p->outer && q->before > 0 && padded_heads_whole(p, q) &&
        (!padded_by_copies(q) || q->before <= PADDED_GIVEN_MAX);
}

bool keys_of(const struct pulser *p, uint32_t w, struct keys *ret)
{
    const struct padded *q = &p->padded[w];
    *ret = (struct keys) { 0 };
    if (!flow_of(p, w, &ret->flow))
        return false;
    if (is_given(p, q) && q->inner.sf.delay - q->before < ret->flow.sf.delay)
        ret->given = *q;
    return true;
}

int64_t keys_late(const struct pulser *p, uint32_t w, int64_t *ret_queries)
{
    struct keys k;
    *ret_queries = 0;
    if (!keys_of(p, w, &k))
        return INT64_MIN;
    if (!k.given.is)
        return k.flow.sf.delay;
    *ret_queries = padded_heads_late(&k.given);
    return k.given.inner.sf.delay - k.given.before;
}

/* Whether there are no queries where there are no keys. */
static bool none_together(const struct pulser *p, const struct dim *keys, const struct dim *queries)
{
    const struct dim *both[2] = { keys, queries };
    struct lengths l;
    int64_t k, q;
    if (keys == queries)
        return true;
    if (!lengths_decide(p, both, 2, 0, false, &l))
        return false;
    for (int64_t at = 0; at < l.end; at++)
        if (dims_allow(p->src->dims, p->symbol, at) && dim_eval(keys, p->symbol, at, &k) &&
            k == 0 && (!dim_eval(queries, p->symbol, at, &q) || q != 0))
            return false;
    return true;
}

/* In a branch keys are those of its own runs. */
rill_status keys_counted(struct pulser *p, const struct node *n, const struct stream_fact *queries,
                         const struct rates *r, const struct dim *length, const struct band *b,
                         int64_t heads, int64_t *ret)
{
    const int64_t ahead = larger(band_ahead(b), band_reach(b).right);
    struct flow f = { .sf = *queries };
    f.sf.uniform = true;
    f.sf.pulse = rates_keys(r, queries->pulse);
    flow_scale(&f.sf, r->queries, r->keys);
    f.sf.length = length;
    f.sf.delay = p->outer ? 0 : smaller(-ahead, 0) - heads;
    TRY((none_together(p, length, queries->length) ? flow_resolve_some : flow_resolve)(p, n, &f));
    *ret = f.sf.delay;
    return RILL_OK;
}

#define LENGTHS_TRIED 64

const struct dim *keys_shifted(const struct pulser *p, uint32_t w, int query, int key)
{
    const struct dim *const *shape = pulser_fact(p, w)->shape;
    int64_t a, b, queries, keys;
    if (pulser_growth(p, shape[key], &a, &b))
        return shape[key];
    for (int64_t t = 1; t <= LENGTHS_TRIED; t++)
        if (!dim_eval(shape[query], p->symbol, t, &queries) ||
            !dim_eval(shape[key], p->symbol, t, &keys) || queries != keys)
            return NULL;
    return shape[query];
}

rill_status keys_resolve(struct pulser *p, const struct node *n, struct keys *k, int64_t in_time)
{
    struct flow f = k->flow;
    TRY(flow_resolve(p, n, &f));
    k->given.is &= f.sf.delay > in_time;
    if (k->given.is && padded_by_copies(&k->given))
        TRY(padded_given(p, n, k->flow.sf.length, k->given.before, &k->given));
    if (!k->given.is)
        k->flow = f;
    else
        TRY(flow_resolve(p, n, &k->given.inner));
    k->queries = k->given.is && k->given.inputs ? padded_heads_late(&k->given) : INT64_MIN;
    k->delay = k->given.is ? k->given.inner.sf.delay - k->given.before : f.sf.delay;
    return RILL_OK;
}

static rill_status given_window(struct pulser *p, const struct node *n, const struct padded *q,
                                const struct first_window *at, uint32_t *ret)
{
    const int64_t slack = first_slack(at->first);
    struct flow f = q->inner;
    int64_t inputs;
    uint32_t first;
    TRY(flow_padded(p, n, &f, q, at->delay + slack, at->frames + slack));
    *ret = f.wire;
    if (!at->first)
        return RILL_OK;
    TRY(kept_padded(p, n, q, 0, at->first, &first, &inputs));
    return first_keys_put(p, n, f.sf.axis, at, first, ret);
}

rill_status keys_window(struct pulser *p, const struct node *n, const struct keys *k,
                        const struct first_window *at, uint32_t *ret)
{
    struct flow f = k->flow;
    if (k->given.is)
        return given_window(p, n, &k->given, at, ret);
    TRY(flow_delay(p, n->name, &f, at->delay + at->pulse - at->frames - k->delay));
    TRY(flow_history(p, n->name, &f, at->frames - at->pulse + first_slack(at->first), NULL));
    *ret = f.wire;
    return first_keys_join(p, n, &k->flow, at, ret);
}
