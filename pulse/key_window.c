/* SPDX-License-Identifier: MIT */
#include "pulse/key_window.h"
#include "engine/ops/clock.h"

/* In a branch frames go by its own runs, and of what is behind a sequence it is not known when it
 * comes. */
static bool is_given(const struct pulser *p, const struct padded *q, int64_t first)
{
    return q->is && !p->outer && first == 0 && q->before > 0 && q->after == 0 && !q->inputs &&
        (q->mode == PULSE_PAD_CONSTANT || q->mode == PULSE_PAD_VALUES);
}

bool keys_of(const struct pulser *p, uint32_t w, int64_t first, struct keys *ret)
{
    const struct padded *q = &p->padded[w];
    *ret = (struct keys) { 0 };
    if (!flow_of(p, w, &ret->flow))
        return false;
    if (is_given(p, q, first) && q->inner.sf.delay - q->before < ret->flow.sf.delay)
        ret->given = *q;
    return true;
}

int64_t keys_late(const struct pulser *p, uint32_t w, int64_t first)
{
    struct keys k;
    if (!keys_of(p, w, first, &k))
        return 0;
    return k.given.is ? k.given.inner.sf.delay - k.given.before : k.flow.sf.delay;
}

rill_status keys_resolve(struct pulser *p, const struct node *n, struct keys *k, int64_t in_time)
{
    struct flow f = k->flow;
    TRY(flow_resolve(p, n, &f));
    k->given.is &= f.sf.delay > in_time;
    if (!k->given.is)
        k->flow = f;
    else
        TRY(flow_resolve(p, n, &k->given.inner));
    k->delay = k->given.is ? k->given.inner.sf.delay - k->given.before : f.sf.delay;
    return RILL_OK;
}

rill_status keys_window(struct pulser *p, const struct node *n, const struct keys *k,
                        const struct first_window *at, uint32_t *ret)
{
    struct flow f = k->given.is ? k->given.inner : k->flow;
    if (k->given.is) {
        TRY(flow_padded(p, n, &f, &k->given, at->delay, at->frames));
    } else {
        TRY(flow_delay(p, n->name, &f, at->delay + at->pulse - at->frames - k->delay));
        TRY(flow_history(p, n->name, &f, at->frames - at->pulse + first_slack(at->first), NULL));
    }
    *ret = f.wire;
    return first_keys_join(p, n, &k->flow, at, ret);
}
