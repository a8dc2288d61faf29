/* SPDX-License-Identifier: MIT */
/* Ops that know the place in the stream (engine/ops/clock.h), by integer arithmetic on the clock
 * and ops that choose. */
#include "models/export/lower.h"

/* n + from, n + from + 1, .. as i64[count]; n: i64[] */
static uint32_t counted(struct lower *l, uint32_t n, int64_t from, int64_t count)
{
    struct tensor *t = tensor_new(l->arena, DTYPE_I64, 1, &count);
    for (int64_t i = 0; t && i < count; i++)
        ((int64_t *) t->data)[i] = from + i;
    return lower_2(l, OP_ADD, n, lower_const(l, t));
}

/* Frames that all runs before this one took. */
static uint32_t frames_before(struct lower *l, const struct clock_attr *a)
{
    return lower_2(l, OP_MUL, lower_place(l, 0), lower_int(l, a->pulse));
}

static uint32_t clamped(struct lower *l, uint32_t x, int64_t low, uint32_t high)
{
    return lower_2(l, OP_MAX, lower_int(l, low), lower_2(l, OP_MIN, x, high));
}

/* low <= x < high */
static uint32_t within(struct lower *l, uint32_t x, int64_t low, uint32_t high)
{
    return lower_2(l, OP_AND, lower_2(l, OP_GREATER_OR_EQUAL, x, lower_int(l, low)),
                   lower_2(l, OP_LESS, x, high));
}

static int64_t frames_of(const struct clock_attr *a)
{
    return a->frames ? a->frames : a->pulse;
}

void lower_valid(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct clock_attr *a = n->attr;
    uint32_t frame = counted(l, frames_before(l, a), -a->delay, frames_of(a));
    ret_out[0] = within(l, frame, 0, lower_place(l, a->length));
}

void lower_skip(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct clock_attr *a = n->attr;
    uint32_t before = lower_2(l, OP_SUB, lower_int(l, a->delay), frames_before(l, a));
    ret_out[0] = clamped(l, before, 0, lower_int(l, a->pulse));
}

/* Of other types than i64 as the engine computes it: in f64, rounded once. */
void lower_range(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct clock_attr *a = n->attr;
    enum dtype type = lower_fact(l, n, 1)->type, in = type == DTYPE_I64 ? type : DTYPE_F64;
    uint32_t frame = counted(l, frames_before(l, a), -a->delay, frames_of(a));
    uint32_t start = lower_in(l, n, 1), step = lower_in(l, n, 2);
    if (in != type) {
        frame = lower_cast(l, frame, in);
        start = lower_cast(l, start, in);
        step = lower_cast(l, step, in);
    }
    ret_out[0] = lower_2(l, OP_ADD, start, lower_2(l, OP_MUL, step, frame));
    if (in != type)
        ret_out[0] = lower_cast(l, ret_out[0], type);
}

/* ---- histories ---- */

void lower_history(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    int axis = (int) ((const struct pulse_history_attr *) n->attr)->axis;
    int64_t old = lower_size(lower_fact(l, n, 0), axis),
            fresh = lower_size(lower_fact(l, n, 1), axis);
    ret_out[0] = lower_concat(l, axis, lower_in(l, n, 0), lower_in(l, n, 1));
    if (n->out[1] != WIRE_NONE)
        ret_out[1] = lower_slice(l, ret_out[0], axis, fresh, old + fresh);
}

void lower_window(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    int axis = (int) ((const struct pulse_history_attr *) n->attr)->axis;
    int64_t old = lower_size(lower_fact(l, n, 0), axis),
            fresh = lower_size(lower_fact(l, n, 1), axis);
    ret_out[0] = lower_in(l, n, 1);
    if (old > fresh)
        ret_out[0] =
            lower_concat(l, axis, lower_slice(l, lower_in(l, n, 0), axis, fresh, old), ret_out[0]);
    else
        ret_out[0] = lower_1(l, OP_IDENTITY, ret_out[0]);
}

/* ---- PulsePad ---- */

struct padded {
    const struct pulse_pad_attr *a;
    const struct fact *window;
    int axis;
    int64_t frames;       /* of the window */
    uint32_t first, k, n; /* frame of the output and of the input at each place; of all */
};

/* i1[frames] along the axis of the window. */
static uint32_t along(struct lower *l, const struct padded *p, uint32_t mask)
{
    int64_t dim[RANK_MAX];
    for (int i = 0; i < p->window->rank; i++)
        dim[i] = i == p->axis ? frames_of(&p->a->at) : 1;
    return lower_reshape(l, mask, dim, p->window->rank);
}

/* The frames of the window at each place: they move with the stream, so always the same ones. */
static uint32_t window_frames(struct lower *l, const struct padded *p, uint32_t *ret_inside)
{
    const struct pulse_pad_attr *a = p->a;
    int64_t from = a->shift - a->at.delay - a->before, pulse = frames_of(&a->at);
    uint32_t x = lower_in(l, l->at, 0);
    *ret_inside = within(l, p->k, 0, p->n);
    if (from == 0 && pulse == p->frames)
        return x;
    if (from >= 0 && from + pulse <= p->frames)
        return lower_slice(l, x, p->axis, from, from + pulse);
    uint32_t at = counted(l, lower_int(l, 0), from, pulse), last = lower_int(l, p->frames - 1);
    *ret_inside = lower_2(l, OP_AND, *ret_inside, within(l, at, 0, lower_int(l, p->frames)));
    return lower_gather(l, x, clamped(l, at, 0, last), p->axis);
}

static uint32_t fill_of(struct lower *l, const struct node *n, const struct padded *p)
{
    static const int64_t one = 1;
    if (!node_has_input(n, 2))
        return lower_zero(l, p->window->type);
    if (lower_fact(l, n, 2)->rank == 0 || p->window->rank == 0)
        return lower_in(l, n, 2);
    return lower_reshape(l, lower_in(l, n, 2), &one, 1);
}

/* Frames `at` of operand i, which has so many; zeros elsewhere. */
static uint32_t values_of(struct lower *l, const struct padded *p, unsigned i, uint32_t at,
                          int64_t frames)
{
    uint32_t zero = lower_zero(l, p->window->type);
    if (!frames || !node_has_input(l->at, i))
        return zero;
    uint32_t rows = lower_gather(l, lower_in(l, l->at, i),
                                 clamped(l, at, 0, lower_int(l, frames - 1)), p->axis);
    return lower_where(l, along(l, p, within(l, at, 0, lower_int(l, frames))), rows, zero);
}

static uint32_t pad_values(struct lower *l, const struct padded *p)
{
    uint32_t head = values_of(l, p, 2, p->first, p->a->before);
    uint32_t tail = values_of(l, p, 3, lower_2(l, OP_SUB, p->k, p->n), p->a->after);
    uint32_t is_head = lower_2(l, OP_AND, lower_2(l, OP_LESS, p->first, lower_int(l, p->a->before)),
                               lower_2(l, OP_LESS, p->k, p->n));
    return lower_where(l, along(l, p, is_head), head, tail);
}

/* Where frame k comes from: the nearest frame, or the one as far behind the end. */
static uint32_t pad_source(struct lower *l, const struct padded *p)
{
    uint32_t last = lower_2(l, OP_SUB, p->n, lower_int(l, 1));
    if (p->a->mode == PULSE_PAD_EDGE)
        return clamped(l, p->k, 0, last);
    uint32_t behind = lower_2(l, OP_SUB, lower_2(l, OP_ADD, last, last), p->k);
    uint32_t turned = lower_where(l, lower_2(l, OP_LESS, p->k, p->n), p->k, behind);
    return lower_where(l, lower_2(l, OP_LESS, p->k, lower_int(l, 0)), lower_1(l, OP_NEG, p->k),
                       turned);
}

/* Frames of the window that move against it. */
static uint32_t pad_moving(struct lower *l, const struct padded *p)
{
    uint32_t source = pad_source(l, p), end = lower_int(l, p->frames);
    uint32_t shift = lower_2(l, OP_SUB, lower_int(l, p->a->shift), frames_before(l, &p->a->at));
    uint32_t at = lower_2(l, OP_ADD, source, shift);
    uint32_t ok = lower_2(l, OP_AND, within(l, at, 0, end),
                          lower_2(l, OP_GREATER_OR_EQUAL, source, lower_int(l, 0)));
    uint32_t rows = lower_gather(l, lower_in(l, l->at, 0),
                                 clamped(l, at, 0, lower_int(l, p->frames - 1)), p->axis);
    return lower_where(l, along(l, p, ok), rows, lower_zero(l, p->window->type));
}

void lower_pad(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct pulse_pad_attr *a = n->attr;
    struct padded p = { .a = a, .window = lower_fact(l, n, 0), .axis = (int) a->axis };
    uint32_t before = frames_before(l, &a->at), inside;
    p.frames = lower_size(p.window, p.axis);
    p.first = counted(l, before, -a->at.delay, frames_of(&a->at));
    p.k = counted(l, before, -a->at.delay - a->before, frames_of(&a->at));
    p.n = lower_place(l, a->at.length);
    if (a->mode == PULSE_PAD_EDGE || a->mode == PULSE_PAD_REFLECT) {
        ret_out[0] = pad_moving(l, &p);
        return;
    }
    uint32_t x = window_frames(l, &p, &inside);
    uint32_t other = a->mode == PULSE_PAD_VALUES ? pad_values(l, &p) : fill_of(l, n, &p);
    ret_out[0] = lower_where(l, along(l, &p, inside), x, other);
}

/* ---- PulseFirst ---- */

/* In this run's frames where they lie there, else as they are kept. */
void lower_first(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct pulse_first_attr *a = n->attr;
    const struct fact *kept = lower_fact(l, n, 0);
    int axis = (int) a->axis;
    int64_t count = lower_size(kept, axis), dim[RANK_MAX];
    for (int i = 0; i < kept->rank; i++)
        dim[i] = i == axis ? count : 1;
    uint32_t run = lower_2(l, OP_SUB, lower_int(l, 0), frames_before(l, &a->at));
    uint32_t place = counted(l, run, a->first + a->at.delay, count),
             frame = counted(l, lower_int(l, 0), a->first, count);
    uint32_t here = lower_2(l, OP_AND, within(l, place, 0, lower_int(l, a->at.pulse)),
                            lower_2(l, OP_LESS, frame, lower_place(l, a->at.length)));
    uint32_t x = lower_gather(l, lower_in(l, n, 1),
                              clamped(l, place, 0, lower_int(l, a->at.pulse - 1)), axis);
    ret_out[0] = lower_where(l, lower_reshape(l, here, dim, kept->rank), x, lower_in(l, n, 0));
}
