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

int64_t padded_heads_delay(const struct padded *q, int64_t span)
{
    const struct stream_fact *s = &q->inner.sf;
    if (!q->inputs)
        return 0;
    const int64_t last = (q->inputs * s->hop_den + s->hop_num - 1) / s->hop_num - 1;
    const int64_t first = last - larger(q->direct - 1 - span, 0); /* that frame 0 reads */
    return first / s->pulse < last / s->pulse ? first : last / s->pulse * s->pulse;
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

void padded_heads_join(struct padded *q, const struct padded *other)
{
    if (!q->inputs)
        q->direct = other->direct;
    else if (other->inputs && (q->inputs != other->inputs || q->direct != other->direct))
        q->direct = 0;
    q->inputs = larger(q->inputs, other->inputs);
}

void padded_measure(const struct pulser *p, const struct node *n, unsigned k, struct padded *q)
{
    const struct fact *f = pulser_fact(p, n->out[k]);
    q->inner.sf.length =
        dim_add_int(p->dst->dims, f->shape[q->inner.sf.axis], -q->before - q->after);
}
