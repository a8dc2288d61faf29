/* SPDX-License-Identifier: MIT */
/* What pads a sequence, as frames. */
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/pulser.h"

bool padded_by_copies(const struct padded *q)
{
    return q->mode == PULSE_PAD_EDGE || q->mode == PULSE_PAD_REFLECT;
}

rill_status padded_frames(struct pulser *p, const struct node *n, const struct padded *q,
                          int64_t frames, uint32_t given, uint32_t *ret)
{
    const struct tensor *t = NULL;
    struct fact f = *pulser_dst_fact(p, q->inner.wire);
    *ret = given;
    if (frames == 0 || q->mode == PULSE_PAD_VALUES)
        return RILL_OK;
    f.value = NULL;
    f.shape[q->inner.sf.axis] = dim_int(p->dst->dims, frames);
    TRY(pulser_full(p, n->name, &f, q->fill, &t));
    *ret = graph_add_const(p->dst, n->name, t);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

int64_t kept_inputs(const struct flow *f, int64_t last)
{
    return ((f->sf.delay + last + 1) * f->sf.hop_num + f->sf.hop_den - 1) / f->sf.hop_den;
}

int64_t padded_come(const struct padded *q, int64_t i)
{
    return i >= q->before ? kept_inputs(&q->inner, i - q->before)
        : q->come         ? q->come[i]
                          : q->inputs;
}

rill_status padded_come_at(struct pulser *p, const struct padded *q, const int64_t *at, int64_t n,
                           const int64_t **ret)
{
    int64_t *come = arena_array(p->arena, int64_t, n + 1);
    if (!come)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < n; i++)
        come[i] = padded_come(q, at[i]);
    *ret = come;
    return RILL_OK;
}

rill_status padded_come_spread(struct pulser *p, const struct padded *q, int64_t num, int64_t den,
                               const int64_t **ret)
{
    const int64_t n = q->before / den * num;
    int64_t *come = q->come ? arena_array(p->arena, int64_t, n + 1) : NULL;
    if (q->come && !come)
        return pulser_no_memory(p);
    for (int64_t i = 0; come && i < n; i++)
        for (int64_t k = 0; k < den; k++)
            come[i] = larger(come[i], q->come[i / num * den + k]);
    *ret = come;
    return RILL_OK;
}

/* The first place of the run in which so many input frames have come; of none INT64_MIN. */
static int64_t come_place(const struct stream_fact *s, int64_t inputs)
{
    return inputs > 0
        ? ((inputs * s->hop_den + s->hop_num - 1) / s->hop_num - 1) / s->pulse * s->pulse
        : INT64_MIN;
}

/* The first windows of 1 + span frames that read one begin so many before it. */
static int64_t heads_delay(const struct padded *q, int64_t from, int64_t span)
{
    int64_t delay = INT64_MIN;
    for (int64_t i = from; i < q->before && q->inputs; i++) {
        const int64_t place = come_place(&q->inner.sf, padded_come(q, i));
        if (place > INT64_MIN)
            delay = larger(delay, place - larger(i - span, 0));
    }
    return delay;
}

int64_t padded_heads_delay(const struct padded *q, int64_t span)
{
    return larger(heads_delay(q, 0, span), 0);
}

int64_t padded_rest_delay(const struct padded *q, int64_t from)
{
    return heads_delay(q, from, 0);
}

int64_t padded_heads_inputs(const struct padded *q)
{
    return padded_by_copies(q) ? kept_inputs(&q->inner, q->mode == PULSE_PAD_EDGE ? 0 : q->before)
                               : q->inputs;
}

int64_t padded_heads_late(const struct padded *q)
{
    struct padded of = *q;
    of.inputs = padded_heads_inputs(q);
    return padded_heads_delay(&of, q->before);
}

bool padded_apart(struct pulser *p, int64_t before, bool kept)
{
    if (p->outer || before < 1 || before > (kept ? PADDED_KEPT_MAX : PADDED_GIVEN_MAX))
        return false;
    p->may_be_early |= kept;
    return !kept || p->early;
}

rill_status padded_heads_join(struct pulser *p, struct padded *q, const struct padded *other)
{
    int64_t *come = NULL;
    if ((q->come || other->come) && !(come = arena_array(p->arena, int64_t, q->before + 1)))
        return pulser_no_memory(p);
    for (int64_t i = 0; come && i < q->before; i++)
        come[i] = larger(padded_come(q, i), padded_come(other, i));
    q->come = come;
    q->inputs = larger(q->inputs, other->inputs);
    return RILL_OK;
}

void padded_measure(const struct pulser *p, const struct node *n, unsigned k, struct padded *q)
{
    const struct fact *f = pulser_fact(p, n->out[k]);
    q->inner.sf.length =
        dim_add_int(p->dst->dims, f->shape[q->inner.sf.axis], -q->before - q->after);
}

rill_status padded_skip(struct pulser *p, const struct node *n, struct padded *q, int64_t skip)
{
    const int64_t before = q->before;
    if (skip == 0)
        return RILL_OK;
    q->before -= skip;
    q->inputs = q->before ? q->inputs : 0;
    q->come = q->come && q->before ? q->come + skip : NULL;
    if (q->mode == PULSE_PAD_VALUES && q->before)
        return pulser_slice(p, n->name, q->head, q->inner.sf.axis, skip, before, &q->head);
    q->head = WIRE_NONE;
    return RILL_OK;
}
