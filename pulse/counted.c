/* SPDX-License-Identifier: MIT */
#include "pulse/counted.h"
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "pulse/axes.h"
#include "pulse/rules.h"

#define LOOKS_MAX 64 /* nodes that are looked at for one wire */

/* Frames of counted wires: those of each run, of which frame 0 is so late, or the first. */
struct counted_frames {
    uint32_t w, clock;
    int64_t delay, first; /* first: so many; 0: a pulse in each run */
    uint32_t wire;
    struct counted_frames *next;
};

/* ---- what is counted ---- */

/* Range, and rows of a table cut to the length. */
static bool is_source(const struct pulser *p, const struct node *n)
{
    return node_is(n, OP_RANGE) || (node_is(n, OP_SLICE) && !pulser_stream(p, n->in[0]));
}

/* Reshape and Expand, where each frame stays one. */
static bool resizes_each(const struct pulser *p, const struct node *n)
{
    const struct stream_fact *x = pulser_stream(p, n->in[0]), *y = pulser_stream(p, n->out[0]);
    return (node_is(n, OP_RESHAPE) || node_is(n, OP_EXPAND)) && x && y && x->pulse == y->pulse &&
        x->length == y->length;
}

/* Inputs of which there are frames, and others; sizes are not looked at. */
static unsigned inputs_of(const struct node *n)
{
    return node_is(n, OP_RESHAPE) || node_is(n, OP_EXPAND) ? 1 : n->n_in;
}

static bool does_each_frame(const struct pulser *p, const struct node *n)
{
    const struct axis_row *r = p->row_of(n->op);
    const struct stream_fact *s = pulser_stream(p, n->out[0]);
    if (n->n_out != 1 || n->n_body || !s || s->keys || pulser_time_twice(p, n->out[0]))
        return false;
    if (node_is(n, OP_CONCAT))
        return axis_normalise(axis_of(n), pulser_fact(p, n->out[0])->rank) != s->axis;
    if (node_is(n, OP_GATHER))
        return !pulser_stream(p, n->in[0]);
    if (resizes_each(p, n))
        return true;
    return !n->op->checked && ((n->op->flags & OP_POINTWISE) || (r->map && !r->rule));
}

static bool is_counted(const struct pulser *p, uint32_t w, unsigned *looks)
{
    const struct node *n = graph_producer(p->src, w);
    unsigned streams = 0;
    if (!n || !pulser_stream(p, w) || p->sf[w].delay || p->kept[w].inputs || ++*looks > LOOKS_MAX)
        return false;
    if (is_source(p, n))
        return true;
    if (!does_each_frame(p, n) || (!resizes_each(p, n) && pulser_knows_length(p, n)))
        return false;
    for (unsigned i = 0; i < inputs_of(n); i++) {
        if (n->in[i] == WIRE_NONE)
            continue;
        if (pulser_stream(p, n->in[i]) ? !is_counted(p, n->in[i], looks)
                                       : pulser_kept(p, n->in[i]) || p->map[n->in[i]] == WIRE_NONE)
            return false;
        streams += pulser_stream(p, n->in[i]) != NULL;
    }
    return streams > 0;
}

bool counted_is(const struct pulser *p, uint32_t src_wire)
{
    unsigned looks = 0;
    return !p->outer && src_wire != WIRE_NONE && !p->padded[src_wire].is &&
        is_counted(p, src_wire, &looks);
}

/* ---- its frames ---- */

static rill_status frames_emit(struct pulser *p, uint32_t w, const struct counted_frames *of,
                               uint32_t *ret);

/* Rows of tables are checked: what is no frame of the sequence picks the first. */
static rill_status rows_checked(struct pulser *p, const struct node *n, unsigned i,
                                const struct counted_frames *of, uint32_t *wire)
{
    struct flow f = { .wire = *wire, .sf = *pulser_stream(p, n->in[i]) };
    f.sf.delay = of->delay;
    if (of->first)
        return RILL_OK;
    TRY(flow_checked(p, n, i, &f));
    *wire = f.sf.delay == of->delay ? f.wire : WIRE_NONE;
    return RILL_OK;
}

/* The sizes of what n makes, with so many frames. */
static rill_status sizes_emit(struct pulser *p, const struct node *n,
                              const struct counted_frames *of, uint32_t *ret)
{
    const struct fact *f = pulser_fact(p, n->out[0]);
    const struct stream_fact *s = pulser_stream(p, n->out[0]);
    int64_t shape[RANK_MAX];
    for (int i = 0; i < f->rank; i++)
        shape[i] = i != s->axis ? dim_value(f->shape[i]) : of->first ? of->first : s->pulse;
    return pulser_ints(p, n->name, shape, (unsigned) f->rank, ret);
}

/* n on those frames of its inputs; WIRE_NONE: it cannot be. */
static rill_status node_emit(struct pulser *p, const struct node *n,
                             const struct counted_frames *of, uint32_t *ret)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    *ret = WIRE_NONE;
    for (unsigned i = 0; i < inputs_of(n); i++) {
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : p->map[n->in[i]];
        if (n->in[i] == WIRE_NONE || !pulser_stream(p, n->in[i]))
            continue;
        TRY(frames_emit(p, n->in[i], of, &in[i]));
        if (in[i] != WIRE_NONE)
            TRY(rows_checked(p, n, i, of, &in[i]));
        if (in[i] == WIRE_NONE)
            return RILL_OK;
    }
    if (!resizes_each(p, n))
        return pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, ret, 1);
    TRY(sizes_emit(p, n, of, &in[1]));
    return pulser_emit_op(p, n->op->id, n->name, NULL, 0, in, 2, ret);
}

static rill_status source_emit(struct pulser *p, const struct node *n,
                               const struct counted_frames *of, uint32_t *ret)
{
    struct clock_attr *a = arena_new(p->arena, struct clock_attr);
    if (!a)
        return pulser_no_memory(p);
    *a = (struct clock_attr) { .pulse = pulser_stream(p, n->out[0])->pulse,
                               .delay = of->delay,
                               .frames = of->first };
    return (node_is(n, OP_RANGE) ? source_range_at : source_slice_at)(p, n, of->clock, a, ret);
}

static rill_status frames_emit(struct pulser *p, uint32_t w, const struct counted_frames *of,
                               uint32_t *ret)
{
    const struct node *n = graph_producer(p->src, w);
    for (const struct counted_frames *c = p->counted; c; c = c->next)
        if (c->w == w && c->delay == of->delay && c->first == of->first) {
            *ret = c->wire;
            return RILL_OK;
        }
    struct counted_frames *made = arena_new(p->arena, struct counted_frames);
    if (!made)
        return pulser_no_memory(p);
    TRY((is_source(p, n) ? source_emit : node_emit)(p, n, of, ret));
    *made = *of;
    made->w = w;
    made->wire = *ret;
    made->next = p->counted;
    p->counted = made;
    return RILL_OK;
}

/* The clock of the first run of a stream without an end. */
static rill_status clock_still(struct pulser *p, const struct node *n, uint32_t *ret)
{
    int64_t clock[CLOCK_SIZE] = { 0 };
    for (unsigned i = 1; i < CLOCK_SIZE; i++)
        clock[i] = CLOCK_OPEN;
    return pulser_ints(p, n->name, clock, CLOCK_SIZE, ret);
}

rill_status counted_padded(struct pulser *p, const struct node *n, uint32_t src_wire,
                           int64_t before, const struct stream_fact *inner, struct padded *ret)
{
    const struct stream_fact *s = pulser_stream(p, src_wire);
    struct counted_frames head = { .first = before }, run = { .delay = inner->delay - before };
    *ret = (struct padded) {
        .before = before, .mode = PULSE_PAD_VALUES, .tail = WIRE_NONE, .inner = { .sf = *s }
    };
    ret->inner.sf.delay = inner->delay;
    ret->inner.sf.length = inner->length;
    ret->inner.sf.uniform = false;
    if (s->pulse != inner->pulse || s->hop_num * inner->hop_den != inner->hop_num * s->hop_den)
        return RILL_OK;
    TRY(pulser_clock(p, &run.clock));
    TRY(clock_still(p, n, &head.clock));
    TRY(frames_emit(p, src_wire, &head, &ret->head));
    TRY(frames_emit(p, src_wire, &run, &ret->inner.wire));
    ret->is = ret->head != WIRE_NONE && ret->inner.wire != WIRE_NONE;
    return RILL_OK;
}
