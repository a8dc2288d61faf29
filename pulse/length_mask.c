/* SPDX-License-Identifier: MIT */
#include "pulse/length_mask.h"
#include "engine/ops/clock.h"
#include "pulse/ints.h"
#include "pulse/positions.h"

/* Of the frames on `axis` of input `at`, those before `length` are told, or the rest. */
struct length_mask {
    unsigned at;
    const struct dim *length;
    bool rest;
};

/* Of frame number k and length l: whether it tells the rest, where k is input 0, and what is added
 * to l so that what it tells of is all k < l, where k is input 0 or 1. */
static const struct comparison {
    enum op_id op;
    bool rest;
    int more[2];
} comparisons[] = {
    { OP_LESS, false, { 0, 1 } },
    { OP_LESS_OR_EQUAL, false, { 1, 0 } },
    { OP_GREATER, true, { 1, 0 } },
    { OP_GREATER_OR_EQUAL, true, { 0, 1 } },
};

/* The one element that an input of the node is, as an expression of the length. */
static const struct dim *length_of(const struct pulser *p, uint32_t w)
{
    const struct tensor *v = w == WIRE_NONE ? NULL : pulser_fact(p, w)->value;
    if (!v || v->type != DTYPE_DIM || tensor_count(v) != 1)
        return NULL;
    const struct dim *d = ((const struct dim *const *) v->data)[0];
    return dim_mentions(d, p->symbol) ? d : NULL;
}

/* Elements of the wire are the number of their frame and ret. */
static bool counts_frames(const struct pulser *p, uint32_t w, int64_t *ret)
{
    const struct stream_fact *s = pulser_stream(p, w);
    const struct position *e = p->positions && s ? &p->positions->of[w] : NULL;
    if (!e || !e->e || e->pair || e->parts > 1 || s->keys)
        return false;
    const struct dim *more = dim_sub(p->positions->dims, e->e, p->positions->axis[s->axis]);
    if (!dim_is_const(more))
        return false;
    *ret = dim_value(more);
    return true;
}

/* Every other axis of the node's output has one index. */
static bool is_row(const struct pulser *p, const struct node *n)
{
    const struct fact *y = pulser_fact(p, n->out[0]);
    int wide = 0;
    for (int i = 0; i < y->rank; i++)
        wide += !dim_is(y->shape[i], 1);
    return wide == 1;
}

static bool mask_find(const struct pulser *p, const struct node *n, struct length_mask *ret)
{
    const struct comparison *c = comparisons;
    const struct comparison *end = c + sizeof comparisons / sizeof *comparisons;
    int64_t from;
    while (c < end && !node_is(n, c->op))
        c++;
    for (unsigned at = 0; c < end && at < 2; at++) {
        const struct dim *length = length_of(p, n->in[1 - at]);
        if (!length || !counts_frames(p, n->in[at], &from) || !is_row(p, n))
            continue;
        *ret = (struct length_mask) { at, dim_add_int(p->dst->dims, length, c->more[at] - from),
                                      at ? !c->rest : c->rest };
        return true;
    }
    return false;
}

bool length_mask_is(const struct pulser *p, const struct node *n)
{
    struct length_mask m;
    return mask_find(p, n, &m);
}

/* PulseValid by that clock of so many frames that are so late, in the shape of the output. */
static rill_status valid_emit(struct pulser *p, const struct node *n, const struct length_mask *m,
                              const struct stream_fact *s, uint32_t clock, uint32_t *ret)
{
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    int64_t size[RANK_MAX];
    uint32_t in[2];
    if (!a)
        return pulser_no_memory(p);
    *a = (struct clock_attr) { .pulse = s->pulse, .delay = s->delay };
    TRY(pulser_length_place(p, m->length, &a->length));
    TRY(pulser_emit(p, &op_pulse_valid, n->name, a, &clock, 1, &in[0], 1));
    const int rank = pulser_fact(p, n->out[0])->rank;
    for (int i = 0; i < rank; i++)
        size[i] = i == s->axis ? s->pulse : 1;
    TRY(pulser_ints(p, n->name, size, (unsigned) rank, &in[1]));
    TRY(pulser_emit_op(p, OP_RESHAPE, n->name, NULL, 0, in, 2, ret));
    return m->rest ? pulser_emit_op(p, OP_NOT, n->name, NULL, 0, ret, 1, ret) : RILL_OK;
}

/* How many frames of f, and of what is made of it, are in front of the first run. */
static int64_t frames_before(struct pulser *p, const struct node *n, const struct flow *f)
{
    struct flow early = *f;
    rill_error *err = p->err;
    early.sf.delay = -PADDED_KEPT_MAX;
    p->err = NULL;
    const rill_status s = flow_resolve(p, n, &early);
    p->err = err;
    return s == RILL_OK ? larger(-early.sf.delay, 0) : 0;
}

/* What is told of frames `frames`, those of the node, that are in front of the first run is told by
 * the length alone. It is known when as many input frames have come as for the last of them. */
static rill_status heads_note(struct pulser *p, const struct node *n, const struct length_mask *m,
                              const struct flow *frames)
{
    const int64_t before = p->outer ? 0 : frames_before(p, n, frames);
    struct padded *q = &p->padded[n->out[0]];
    struct flow f = *frames;
    struct stream_fact first = f.sf;
    uint32_t clock;
    p->may_be_ends |= before > 0;
    if (before == 0 || !p->ends)
        return RILL_OK;
    f.sf.delay = -before;
    f.sf.length = m->length;
    TRY(flow_resolve(p, n, &f));
    first.pulse = before;
    first.delay = 0;
    *q = (struct padded) { .is = true,
                           .inner = f,
                           .before = before,
                           .mode = PULSE_PAD_VALUES,
                           .tail = WIRE_NONE,
                           .inputs = larger(kept_inputs(&f, before - 1), 1) };
    TRY(pulser_clock(p, &clock));
    TRY(valid_emit(p, n, m, &f.sf, clock, &q->inner.wire));
    TRY(pulser_first_clock(p, n, &clock));
    TRY(valid_emit(p, n, m, &first, clock, &q->head));
    q->inner.sf.delay += before;
    q->inner.sf.uniform = false;
    q->inner.sf.length = dim_add_int(p->dst->dims, frames->sf.length, -before);
    offset_cut(&q->inner.sf, before, 1);
    return RILL_OK;
}

static bool grows_alike(const struct pulser *p, const struct stream_fact *sf)
{
    int64_t num, den;
    return pulser_growth(p, sf->length, &num, &den) && num * sf->hop_num == den * sf->hop_den;
}

/* Frames that are compared with a length which does not grow as they do. */
static rill_status growth_refuse(const struct pulser *p, const struct node *n,
                                 const struct dim *length)
{
    char text[128];
    dim_print(length, text, sizeof text);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it asks which frames lie before %s, a length that does not grow "
                   "as the frames do, so that what it says of one is known ever later",
                   text);
}

rill_status rule_length_mask(struct pulser *p, const struct node *n)
{
    struct length_mask m;
    struct flow f;
    if (!mask_find(p, n, &m))
        return op_fail(p->err, RILL_INTERNAL, n, "compares no frame numbers with a length");
    flow_of(p, n->in[m.at], &f);
    uint32_t clock;
    f.sf.axis += pulser_fact(p, n->out[0])->rank - pulser_fact(p, n->in[m.at])->rank;
    f.sf.uniform = true;
    const struct flow frames = f;
    f.sf.length = m.length; /* nothing of it is read: it is only late */
    const rill_status resolved = flow_resolve(p, n, &f);
    if (resolved == RILL_UNSUPPORTED && !grows_alike(p, &f.sf))
        return growth_refuse(p, n, m.length);
    TRY(resolved);
    TRY(pulser_clock(p, &clock));
    TRY(valid_emit(p, n, &m, &f.sf, clock, &f.wire));
    TRY(heads_note(p, n, &m, &frames));
    f.sf.length = frames.sf.length;
    f.sf.uniform = false;
    return pulser_bind(p, n, 0, f.wire, &f.sf);
}
