/* SPDX-License-Identifier: MIT */
#include "pulse/heads.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"

/* Made of frames of the sequence. */
static bool is_kept(const struct padded *q)
{
    return q->inputs > 0 || padded_by_copies(q);
}

/* Frames in front of several sequences: as many of each are run over. */
struct fronts {
    int64_t before;
    int64_t early; /* by so many frames all that is behind them is there before the padded ones */
    bool kept;
};

/* By how many frames the one behind all that is in front must be late for that, and the state that
 * n begins with, to be there. */
static int64_t front_late(const struct pulser *p, const struct node *n, const struct padded *q)
{
    return larger(padded_heads_late(q), kept_delay(p, n, &q->inner.sf));
}

/* False: there are none, or not at every length. */
static bool fronts_find(const struct pulser *p, const struct node *n, const uint32_t *w,
                        unsigned count, struct fronts *ret)
{
    int64_t delay = INT64_MIN, inner = INT64_MIN;
    *ret = (struct fronts) { .before = PADDED_GIVEN_MAX, .kept = node_has_kept(p, n) };
    for (unsigned i = 0; i < count; i++) {
        const struct padded *q = &p->padded[w[i]];
        const struct stream_fact *s = pulser_stream(p, w[i]);
        if (!s || !q->is || !padded_heads_whole(p, q) || q->before < 1)
            return false;
        ret->kept |= is_kept(q);
        ret->before = smaller(ret->before, q->before);
        inner = larger(inner, q->inner.sf.delay - q->before);
        delay = larger(delay, larger(s->delay, kept_delay(p, n, s)));
    }
    ret->early = delay - larger(inner, -ret->before);
    return true;
}

/* In a branch frames go by its own runs. */
static bool fronts_wanted(struct pulser *p, const struct node *n, const uint32_t *w, unsigned count,
                          struct fronts *ret)
{
    return fronts_find(p, n, w, count, ret) && ret->early > 0 &&
        padded_apart(p, ret->before, ret->kept);
}

/* Input frames that have come when those in front, and the state that n begins with, have. */
static int64_t inputs_of(const struct pulser *p, const struct node *n, const struct padded *q)
{
    int64_t inputs = q->inputs;
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_kept(p, n->in[i]))
            inputs = larger(inputs, p->kept[n->in[i]].inputs);
    return inputs;
}

/* What is made of each is made of those before it, too, and of the state that n begins with. */
static rill_status heads_come(struct pulser *p, const struct node *n, unsigned count,
                              struct head *heads)
{
    const int64_t before = heads->all.before;
    int64_t come = inputs_of(p, n, &(struct padded) { 0 }),
            *list = heads->kept ? arena_array(p->arena, int64_t, before + 1) : NULL;
    if (heads->kept && !list)
        return pulser_no_memory(p);
    for (int64_t k = 0; list && k < before; list[k++] = come)
        for (unsigned i = 0; i < count; i++)
            come = larger(come, padded_come(&heads[i].all, k));
    heads->come = list;
    return RILL_OK;
}

/* What is behind them is equally late, and as late as all in front is there: the first of it stand
 * in front, too, where those are made in every run. */
static rill_status heads_align(struct pulser *p, const struct node *n, unsigned count,
                               struct head *heads)
{
    int64_t delay = 0, take = 0, inputs = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct padded *q = &heads[i].all;
        take = larger(take, front_late(p, n, q) - q->inner.sf.delay);
        delay = larger(delay, larger(q->inner.sf.delay, front_late(p, n, q)));
    }
    const bool taken = heads->kept && heads->all.before + take <= PADDED_KEPT_MAX;
    for (unsigned i = 0; i < count && taken; i++) {
        TRY(padded_take(p, n, take, &heads[i].all));
        delay = larger(delay, heads[i].all.inner.sf.delay);
    }
    for (unsigned i = 0; i < count; i++)
        inputs = larger(inputs, inputs_of(p, n, &heads[i].all));
    TRY(heads_come(p, n, count, heads));
    for (unsigned i = 0; i < count; i++) {
        struct flow *f = &heads[i].all.inner;
        heads[i].all.inputs = inputs;
        TRY(flow_delay(p, n->name, f, delay - f->sf.delay));
    }
    return RILL_OK;
}

rill_status heads_find(struct pulser *p, const struct node *n, const uint32_t *w, unsigned count,
                       struct head *ret)
{
    struct fronts all = { 0 };
    ret[0] = (struct head) { .is = fronts_wanted(p, n, w, count, &all), .made = WIRE_NONE };
    for (unsigned i = 0; i < count && ret[0].is; i++) {
        struct padded *q = &ret[i].all;
        ret[i] = (struct head) { .is = true, .kept = all.kept, .made = WIRE_NONE };
        *q = p->padded[w[i]];
        TRY(padded_given(p, n, p->sf[w[i]].length, all.before, q));
    }
    return ret[0].is ? heads_align(p, n, count, ret) : RILL_OK;
}

rill_status head_find(struct pulser *p, const struct node *n, uint32_t w, struct head *ret)
{
    return heads_find(p, n, &w, 1, ret);
}

rill_status head_known(struct pulser *p, struct head *h, uint32_t *wires, unsigned n)
{
    for (unsigned i = 0; i < n && h->is && !h->kept; i++) {
        TRY(pulser_known(p, wires[i], &wires[i]));
        h->is = wires[i] != WIRE_NONE;
    }
    return RILL_OK;
}

rill_status head_carry(struct pulser *p, const struct node *n, const struct head *h,
                       const struct fact *f, uint32_t left, struct carried *ret)
{
    const struct stream_fact *s = &h->all.inner.sf;
    return pulser_carry_from(p, n, f, left, h->kept ? s->delay / s->pulse : -1, ret);
}

rill_status head_put(struct pulser *p, const struct node *n, unsigned k, struct head *h,
                     struct flow *f)
{
    h->all.inner = *f;
    h->all.head = h->made;
    h->all.come = h->come;
    p->padded[n->out[k]] = h->all;
    return padded_put(p, n, &h->all, f);
}
