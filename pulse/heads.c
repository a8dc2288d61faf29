/* SPDX-License-Identifier: MIT */
#include "pulse/heads.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"

/* Made of frames of the sequence. */
static bool is_kept(const struct padded *q)
{
    return q->inputs > 0 || padded_by_copies(q);
}

/* In a branch frames go by its own runs. */
static bool head_wanted(struct pulser *p, const struct node *n, uint32_t w)
{
    const struct padded *q = &p->padded[w];
    const int64_t most = is_kept(q) ? PADDED_KEPT_MAX : PADDED_GIVEN_MAX;
    if (!q->is || p->outer || node_has_kept(p, n) || !padded_heads_whole(p, q) || q->before < 1 ||
        q->before > most ||
        larger(q->inner.sf.delay, padded_heads_late(q)) - q->before >= p->sf[w].delay)
        return false;
    p->may_be_early |= is_kept(q);
    return !is_kept(q) || p->early;
}

rill_status head_find(struct pulser *p, const struct node *n, uint32_t w, struct head *ret)
{
    struct padded *q = &ret->all;
    *ret = (struct head) { .is = head_wanted(p, n, w), .made = WIRE_NONE };
    if (!ret->is)
        return RILL_OK;
    *q = p->padded[w];
    TRY(padded_given(p, n, p->sf[w].length, q->before, q));
    return flow_delay(p, n->name, &q->inner, larger(padded_heads_late(q) - q->inner.sf.delay, 0));
}

rill_status head_known(struct pulser *p, struct head *h, uint32_t *wires, unsigned n)
{
    for (unsigned i = 0; i < n && h->is && !is_kept(&h->all); i++) {
        TRY(pulser_known(p, wires[i], &wires[i]));
        h->is = wires[i] != WIRE_NONE;
    }
    return RILL_OK;
}

rill_status head_carry(struct pulser *p, const struct node *n, const struct head *h,
                       const struct fact *f, uint32_t left, struct carried *ret)
{
    const struct stream_fact *s = &h->all.inner.sf;
    return pulser_carry_from(p, n, f, left, is_kept(&h->all) ? s->delay / s->pulse : -1, ret);
}

rill_status head_put(struct pulser *p, const struct node *n, struct head *h, struct flow *f)
{
    h->all.inner = *f;
    h->all.head = h->made;
    h->all.direct = 0;
    p->padded[n->out[0]] = h->all;
    return padded_put(p, n, &h->all, f);
}
