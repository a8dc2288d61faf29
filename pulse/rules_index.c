/* SPDX-License-Identifier: MIT */
/* Gather, whose indices may name frames of the time axis in order, indices of each frame, and
 * CumSum. */
#include "engine/ops/attrs.h"
#include "engine/ops/clock.h"
#include "pulse/heads.h"
#include "pulse/ints.h"
#include "pulse/lengths.h"
#include "pulse/positions.h"
#include "pulse/off_axis.h"
#include "pulse/parts.h"
#include "pulse/rules.h"

#include <stdio.h>

#define TABLE_MAX 1024 /* indices of a period */
#define PERIODS_TRIED 64

/* ---- Gather ---- */

/* Indices that grow evenly along each of their axes, or along one of them by a list. */
struct even {
    int64_t start, step[RANK_MAX], size[RANK_MAX]; /* size: 0 of time */
    const int64_t *list; /* what is added along axis `listed` instead; NULL: nothing */
    int listed;
};

static const struct dim *place(const struct positions *ps, const struct dim *e, int rank, int one)
{
    for (int k = 0; k < rank; k++)
        e = dim_subst(ps->dims, e, ps->axis[k], dim_int(ps->dims, k == one));
    return e;
}

static bool indices_even(const struct pulser *p, uint32_t w, struct even *ret)
{
    const struct positions *ps = p->positions;
    const struct position *at = ps ? &ps->of[w] : NULL;
    int rank = pulser_fact(p, w)->rank;
    if (!at || !at->e || at->pair || !pulser_stream(p, w))
        return false;
    ret->list = NULL;
    const struct dim *zero = place(ps, at->e, rank, -1), *e = zero;
    for (int k = 0; k < rank; k++) {
        const struct dim *one = place(ps, at->e, rank, k);
        if (!dim_is_const(zero) || !dim_is_const(one))
            return false;
        const struct dim *size = pulser_fact(p, w)->shape[k];
        ret->step[k] = dim_value(one) - dim_value(zero);
        ret->size[k] = dim_is_const(size) ? dim_value(size) : 0;
        e = dim_add(ps->dims, e, dim_mul_int(ps->dims, ps->axis[k], ret->step[k]));
    }
    ret->start = dim_is_const(zero) ? dim_value(zero) : 0;
    return at->e == e;
}

/* What is added to `rest` along an axis, all of it; NULL: other axes have a part in it. */
static const int64_t *list_along(const struct pulser *p, const struct dim *rest, int rank, int axis,
                                 int64_t n)
{
    const struct positions *ps = p->positions;
    int64_t *list = n > 0 && n <= TABLE_MAX ? arena_array(p->arena, int64_t, n) : NULL;
    for (int k = 0; list && k < rank; k++)
        if (k != axis && dim_mentions(rest, ps->axis[k]))
            return NULL;
    for (int64_t i = 0; list && i < n; i++)
        if (!dim_eval(rest, ps->axis[axis], i, &list[i]) || list[i] > INT32_MAX ||
            list[i] < -INT32_MAX)
            return NULL;
    return list;
}

/* The same where they grow by a list along one axis beside time, as frames that are spliced do. */
static bool indices_listed(const struct pulser *p, uint32_t w, struct even *ret)
{
    const struct positions *ps = p->positions;
    const struct position *at = ps ? &ps->of[w] : NULL;
    const struct stream_fact *s = pulser_stream(p, w);
    const int rank = pulser_fact(p, w)->rank;
    if (indices_even(p, w, ret))
        return true;
    if (!at || !at->e || at->pair || at->parts > 1 || !s || rank < 2)
        return false;
    const struct dim *zero = place(ps, at->e, rank, -1);
    for (int axis = 0; axis < rank && dim_is_const(zero); axis++) {
        const struct dim *rest = dim_sub(ps->dims, at->e, zero);
        for (int k = 0; k < rank; k++) {
            const struct dim *one = place(ps, at->e, rank, k), *size = pulser_fact(p, w)->shape[k];
            ret->step[k] = dim_is_const(one) && k != axis ? dim_value(one) - dim_value(zero) : 0;
            ret->size[k] = dim_is_const(size) ? dim_value(size) : 0;
            rest = dim_sub(ps->dims, rest, dim_mul_int(ps->dims, ps->axis[k], ret->step[k]));
        }
        ret->start = dim_value(zero);
        ret->listed = axis;
        ret->list = axis == s->axis ? NULL : list_along(p, rest, rank, axis, ret->size[axis]);
        if (ret->list)
            return true;
    }
    return false;
}

/* How far below and above the first the others are along axis k. */
static void reach_along(const struct even *e, int k, int64_t *ret_low, int64_t *ret_high)
{
    const int64_t last = e->list && k == e->listed ? 0 : e->step[k] * (e->size[k] - 1);
    *ret_low = smaller(last, 0);
    *ret_high = larger(last, 0);
    for (int64_t i = 0; e->list && k == e->listed && i < e->size[k]; i++) {
        *ret_low = smaller(*ret_low, e->list[i]);
        *ret_high = larger(*ret_high, e->list[i]);
    }
}

#define LENGTHS_TRIED 4096

/* Lengths of the sequence that have to be seen to know that indices, which grow by `down` every
 * `up` frames, are inside it at all: those below end, of which the last `period` stand for longer
 * ones.
 */
struct picks {
    int64_t end, period;
    int64_t index, size; /* where it is not: of the least length */
    int64_t last;        /* the greatest of those; -1: there is none */
};

static rill_status picks_lengths(const struct pulser *p, const struct node *n, const struct flow *f,
                                 int64_t up, int64_t down, int64_t margin, struct picks *ret)
{
    const struct dim *both[2] = { pulser_stream(p, n->in[1])->length, f->sf.length };
    struct lengths l;
    int64_t picked, frames, times;
    bool known = lengths_decide(p, both, 2, margin, false, &l) && l.rise[0] >= 0;
    times = known ? up / gcd(l.rise[0], up) : 1;
    if (known && times <= TABLE_MAX &&
        !__builtin_mul_overflow(l.rise[0] * times / up, down, &picked) &&
        !__builtin_mul_overflow(l.rise[1], times, &frames) && picked <= frames) {
        *ret = (struct picks) { l.end + (times - 1) * l.period, times * l.period, 0, 0, -1 };
        return RILL_OK;
    }
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: whether its indices lie within the sequence is not known for "
                   "all its lengths, or they do not");
}

static void picks_note(struct picks *k, int64_t at, int64_t index, int64_t size)
{
    if (index < size)
        return;
    if (k->last < 0) {
        k->index = index;
        k->size = size;
    }
    k->last = at;
}

/* The lengths at which it picks frames that there are not are left out by a least one, where none
 * of those that stand for longer ones is among them. */
static rill_status picks_check(const struct pulser *p, const struct node *n, const struct flow *f,
                               const struct picks *k)
{
    char text[128], hint[160] = "lengths of which it does not";
    const char *t = dim_name(p->symbol);
    if (k->last < 0)
        return RILL_OK;
    if (k->last < k->end - k->period)
        snprintf(hint, sizeof hint, "longer ones, as in --assert \"%.60s >= %lld\"", t,
                 (long long) (k->last + 1));
    dim_print(f->sf.length, text, sizeof text);
    return op_fail(
        p->err, RILL_UNSUPPORTED, n,
        "cannot stream: it picks frame %lld of a sequence of %s = %lld frames; assert %s",
        (long long) k->index, text, (long long) k->size, hint);
}

/* Lengths of the sequence of which the indices, the largest of frame t being top + step*t, name
 * frames that are none. */
static rill_status frames_inside(const struct pulser *p, const struct node *n, const struct flow *f,
                                 int64_t top, int64_t step)
{
    const struct dim *frames = pulser_stream(p, n->in[1])->length;
    int64_t count, size, last;
    struct picks k;
    TRY(picks_lengths(p, n, f, 1, step, 0, &k));
    for (int64_t at = 0; at < k.end; at++) {
        if (!dims_allow(p->dst->dims, p->symbol, at) || !dim_eval(frames, p->symbol, at, &count) ||
            !dim_eval(f->sf.length, p->symbol, at, &size) || count < 1 || size < 0)
            continue;
        if (__builtin_mul_overflow(step, count - 1, &last) ||
            __builtin_add_overflow(last, top, &last))
            last = INT64_MAX;
        picks_note(&k, at, last, size);
    }
    return picks_check(p, n, f, &k);
}

/* The indices of a run into its windows, low frames lower than those of the sequence. */
static rill_status window_indices(struct pulser *p, const struct node *n, const struct even *e,
                                  int time, int64_t pulse, int64_t low, uint32_t *ret)
{
    const int rank = pulser_fact(p, n->in[1])->rank;
    int64_t dim[RANK_MAX], stride[RANK_MAX];
    for (int k = 0; k < rank; k++)
        dim[k] = k == time ? pulse : e->size[k];
    struct tensor *t = tensor_new(p->arena, DTYPE_I64, rank, dim);
    if (!t)
        return pulser_no_memory(p);
    tensor_strides(t, stride);
    for (int64_t i = 0; i < tensor_count(t); i++) {
        int64_t at = e->start - low;
        for (int k = 0; k < rank; k++) {
            const int64_t place = i / stride[k] % dim[k];
            at += e->list && k == e->listed ? e->list[place] : e->step[k] * place;
        }
        ((int64_t *) t->data)[i] = at;
    }
    *ret = graph_add_const(p->dst, n->name, t);
    return *ret == WIRE_NONE ? pulser_no_memory(p) : RILL_OK;
}

/* Windows over the data: the indices of several frames for each frame of the output. */
static rill_status windows_gather(struct pulser *p, const struct node *n, struct flow *f,
                                  const struct even *e, int time)
{
    const int rank = pulser_fact(p, n->in[1])->rank;
    int64_t low = e->start, span = 0, count = 1;
    uint32_t in[2];
    struct flow_window w;
    for (int k = 0; k < rank; k++) {
        if (k == time)
            continue;
        int64_t size = e->size[k], reach, below, above;
        if (size < 1 || __builtin_mul_overflow(count, size, &count) || count > 1 << 24 ||
            __builtin_mul_overflow(e->step[k], size - 1, &reach))
            return op_fail(p->err, RILL_LIMIT, n, "windows of more than 2^24 frames do not stream");
        reach_along(e, k, &below, &above);
        if (below < -(1 << 24) || above > 1 << 24)
            return op_fail(p->err, RILL_LIMIT, n, "windows of more than 2^24 frames do not stream");
        low += below;
        span += above - below;
    }
    if (low < 0)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it picks frames from %lld on axis %d, the time axis, which "
                       "count from the end of the sequence",
                       (long long) low, f->sf.axis);
    TRY(frames_inside(p, n, f, low + span, e->step[time]));
    offset_frames(&f->sf, -low, 0, span + 1, e->step[time]);
    w = (struct flow_window) { .before = -low, .span = span, .stride = e->step[time] };
    TRY(flow_unpad(p, n, f, &w));
    TRY(flow_windows(p, n, f, &w));
    TRY(window_indices(p, n, e, time, f->sf.pulse, low, &in[1]));
    in[0] = f->wire;
    f->sf.axis += time;
    return pulser_emit(p, n->op, n->name, n->attr, in, 2, &f->wire, 1);
}

static rill_status gather_windows(struct pulser *p, const struct node *n, struct flow *f,
                                  const struct even *e, int time)
{
    TRY(windows_gather(p, n, f, e, time));
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

rill_status gather_part(struct pulser *p, const struct node *n, const struct wire_part *x,
                        struct flow *ret, bool *ret_is)
{
    const struct stream_fact *at = pulser_stream(p, n->in[1]);
    struct axis_window *window = &p->windows[n - p->src->nodes];
    const struct axis_window was = *window;
    struct even e;
    if (!at || !flow_of(p, n->in[0], ret) || !indices_even(p, n->in[1], &e))
        return RILL_OK;
    const int k = x->axis - ret->sf.axis;
    if (k < 0 || k >= pulser_fact(p, n->in[1])->rank || k == at->axis || e.start < 0 ||
        e.step[at->axis] < 1)
        return RILL_OK;
    *ret_is = true;
    e.start += x->from * e.step[k];
    e.size[k] = x->to - x->from;
    const rill_status s = windows_gather(p, n, ret, &e, at->axis);
    *window = was;
    return s;
}

/* Indices that are no range: constants pick a few frames of the whole sequence. */
static rill_status picks_refuse(const struct pulser *p, const struct node *n, int axis)
{
    const struct tensor *v = pulser_fact(p, n->in[1])->value;
    char at[80] = "";
    int64_t index = 0;
    if (!v || tensor_count(v) < 1)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it picks frames of axis %d, the time axis, by indices that "
                       "are not a range counted from the start",
                       axis);
    if (v->type == DTYPE_DIM)
        dim_print(*(const struct dim *const *) v->data, at, sizeof at);
    else
        snprintf(at, sizeof at, "%lld", (long long) (index = tensor_get_i64(v, v->data, 0)));
    if (v->type == DTYPE_DIM || index < 0)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it takes frame %s of axis %d, the time axis, which is "
                       "counted from the end of the sequence and known only there",
                       at, axis);
    return op_fail(p->err, RILL_UNSUPPORTED, n,
                   "cannot stream: it takes a fixed number of frames (%lld, the first is %s) of "
                   "axis %d, the time axis, not a part that grows with the stream",
                   (long long) tensor_count(v), at, axis);
}

/* ---- indices that are computed of positions, and go on alike in every period ---- */

/* Index i + up is index i plus down. */
struct table {
    const struct dim *e, *place;
    int64_t up, down;
    int64_t first[TABLE_MAX]; /* of a period */
};

static bool table_at(const struct table *t, int64_t i, int64_t *ret)
{
    return dim_eval(t->e, t->place, i, ret);
}

static int64_t table_index(const struct table *t, int64_t i)
{
    int64_t period = i / t->up - (i % t->up < 0);
    return t->first[i - period * t->up] + period * t->down;
}

/* Whether that is a period of it, and for every index, not only for those that are looked at. */
static bool table_periodic(const struct positions *ps, struct table *t)
{
    int64_t v;
    if (t->up > TABLE_MAX)
        return false;
    for (int64_t i = 0; i < t->up; i++)
        if (!table_at(t, i, &t->first[i]) || t->first[i] < 0)
            return false;
    for (int64_t i = 0; i < 2 * LENGTHS_TRIED; i++) {
        int64_t k = i < LENGTHS_TRIED ? i : 1000003 + i;
        if (!table_at(t, k, &v) || v != table_index(t, k))
            return false;
    }
    const struct dim *next = dim_add_int(ps->dims, t->place, t->up);
    return dim_subst(ps->dims, t->e, t->place, next) == dim_add_int(ps->dims, t->e, t->down);
}

static bool table_of(const struct pulser *p, const struct node *n, const struct flow *f,
                     struct table *ret)
{
    const struct positions *ps = p->positions;
    const struct position *at = ps ? &ps->of[n->in[1]] : NULL;
    const struct stream_fact *s = pulser_stream(p, n->in[1]);
    if (!at || !at->e || at->pair || !s || pulser_fact(p, n->in[1])->rank != 1)
        return false;
    int64_t up = f->sf.hop_num * s->hop_den, down = f->sf.hop_den * s->hop_num, g = gcd(up, down);
    ret->e = at->e;
    ret->place = ps->axis[0];
    for (int64_t m = 1; m <= PERIODS_TRIED; m++) {
        ret->up = up / g * m;
        ret->down = down / g * m;
        if (table_periodic(ps, ret))
            return true;
    }
    return false;
}

/* No length of the stream makes it name a frame that there is not. */
static rill_status table_inside(const struct pulser *p, const struct node *n, const struct flow *f,
                                const struct table *t)
{
    int64_t count, size;
    struct picks picks;
    TRY(picks_lengths(p, n, f, t->up, t->down, t->up, &picks));
    for (int64_t at = 0; at < picks.end; at++) {
        if (!dims_allow(p->dst->dims, p->symbol, at) ||
            !dim_eval(pulser_stream(p, n->in[1])->length, p->symbol, at, &count) ||
            !dim_eval(f->sf.length, p->symbol, at, &size))
            continue;
        for (int64_t k = count - 1; k >= 0 && k >= count - t->up; k--)
            picks_note(&picks, at, table_index(t, k), size);
    }
    return picks_check(p, n, f, &picks);
}

/* The delay at which all is there, and the frames of the past that are read. */
static void table_place(const struct table *t, const struct flow *f, int64_t *ret_delay,
                        int64_t *ret_past)
{
    int64_t least = INT64_MAX;
    *ret_delay = 0;
    for (int64_t i = 0; i < t->up; i++)
        *ret_delay = larger(*ret_delay, (t->first[i] + f->sf.delay) / t->down * t->up - i);
    for (int64_t i = 0; i < t->up; i++) {
        int64_t v = table_index(t, i - *ret_delay);
        least = v < least ? v : least;
    }
    *ret_past = larger(-least - f->sf.delay, 0);
}

static rill_status gather_table(struct pulser *p, const struct node *n, struct flow *f,
                                const struct table *t)
{
    int64_t delay, past, pulse;
    uint32_t in[2], out;
    TRY(pulser_want_multiple(p, n, &f->sf, t->down, "the period of its indices"));
    TRY(table_inside(p, n, f, t));
    table_place(t, f, &delay, &past);
    if (past > 1 << 24 || __builtin_mul_overflow(f->sf.pulse / t->down, t->up, &pulse) ||
        pulse > INT32_MAX)
        return op_fail(p->err, RILL_LIMIT, n, "windows of more than 2^24 frames do not stream");
    struct tensor *at = tensor_new(p->arena, DTYPE_I64, 1, &pulse);
    if (!at)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < pulse; i++)
        ((int64_t *) at->data)[i] = table_index(t, i - delay) + f->sf.delay + past;
    TRY(flow_history(p, n->name, f, past, NULL));
    in[0] = f->wire;
    in[1] = graph_add_const(p->dst, n->name, at);
    if (in[1] == WIRE_NONE)
        return pulser_no_memory(p);
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, &out, 1));
    f->sf.pulse = pulse;
    f->sf.delay = delay;
    f->sf.uniform = false;
    flow_scale(&f->sf, t->down, t->up);
    return pulser_bind(p, n, 0, out, &f->sf);
}

#define PICKS_MAX 65536

/* Constants that name frames from the start: those between the first and the last are kept. */
static bool picks_kept(const struct pulser *p, const struct node *n, int64_t *ret_least,
                       int64_t *ret_most)
{
    const struct tensor *v = pulser_fact(p, n->in[1])->value;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t i = 0; v && v->type != DTYPE_DIM && i < tensor_count(v); i++) {
        int64_t at = tensor_get_i64(v, v->data, i);
        least = at < least ? at : least;
        most = at > most ? at : most;
    }
    *ret_least = least;
    *ret_most = most;
    return least >= 0 && most >= least && most <= INT32_MAX && most - least < PICKS_MAX;
}

static rill_status gather_kept(struct pulser *p, const struct node *n, struct flow *f,
                               int64_t least, int64_t most)
{
    const struct tensor *v = pulser_fact(p, n->in[1])->value;
    struct tensor *at = tensor_new(p->arena, DTYPE_I64, v->rank, v->dim);
    uint32_t in[2], w = n->out[0];
    if (!at)
        return pulser_no_memory(p);
    for (int64_t i = 0; i < tensor_count(v); i++)
        ((int64_t *) at->data)[i] = tensor_get_i64(v, v->data, i) - least;
    TRY(kept_frames(p, n, 0, f, &p->padded[n->in[0]], least, most - least + 1));
    p->kept[w].come = NULL;
    p->kept[w].frames = NULL; /* of a shorter sequence there is no whole run */
    in[0] = p->map[w];
    in[1] = graph_add_const(p->dst, n->name, at);
    return in[1] == WIRE_NONE ? pulser_no_memory(p)
                              : pulser_emit(p, n->op, n->name, n->attr, in, 2, &p->map[w], 1);
}

/* Frames start, start + step, .. of the data, or windows of them. */
static rill_status gather_frames(struct pulser *p, const struct node *n, struct flow *f)
{
    struct even e;
    int64_t least, most;
    struct table t;
    if (!indices_listed(p, n->in[1], &e) && table_of(p, n, f, &t))
        return gather_table(p, n, f, &t);
    if (!indices_listed(p, n->in[1], &e))
        return picks_kept(p, n, &least, &most) ? gather_kept(p, n, f, least, most)
                                               : picks_refuse(p, n, f->sf.axis);
    int time = pulser_stream(p, n->in[1])->axis;
    if (e.start < 0 || e.step[time] < 1)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it picks frames from %lld in steps of %lld on axis %d, "
                       "the time axis; only forward from the start streams",
                       (long long) e.start, (long long) e.step[time], f->sf.axis);
    if (pulser_fact(p, n->in[1])->rank > 1)
        return gather_windows(p, n, f, &e, time);
    TRY(frames_inside(p, n, f, e.start, e.step[0]));
    TRY(flow_picked(p, n, 0, f, e.start, e.step[0]));
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

/* Refuses positions that lie past the end of the table in the shortest sequence that has any. */
static rill_status rows_inside(const struct pulser *p, const struct node *n, int axis)
{
    const struct dim *rows = pulser_fact(p, n->in[0])->shape[axis];
    const struct stream_fact *s = pulser_stream(p, n->in[1]);
    struct even e;
    int64_t count = 0, at = 0, last;
    if (!indices_even(p, n->in[1], &e) || !dim_is_const(rows))
        return RILL_OK;
    while (at < LENGTHS_TRIED &&
           (!dims_allow(p->dst->dims, p->symbol, at) ||
            !dim_eval(s->length, p->symbol, at, &count) || count < 1))
        at++;
    if (at == LENGTHS_TRIED || __builtin_mul_overflow(e.step[s->axis], count - 1, &last) ||
        __builtin_add_overflow(last, e.start, &last) || last < dim_value(rows))
        return RILL_OK;
    return op_fail(p->err, RILL_INVALID, n,
                   "index %lld is outside an axis of %lld: the shortest sequence has %lld frames "
                   "there",
                   (long long) last, (long long) dim_value(rows), (long long) count);
}

/* Rows of a table that does not stream. */
static rill_status gather_rows(struct pulser *p, const struct node *n, struct flow *f, int axis)
{
    uint32_t in[2] = { p->map[n->in[0]] }, out;
    if (pulser_stream(p, n->in[0]))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: data and indices both run along time");
    TRY(rows_inside(p, n, axis));
    TRY(flow_checked(p, n, 1, f));
    in[1] = f->wire;
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, &out, 1));
    f->sf.axis += axis;
    return pulser_bind(p, n, 0, out, &f->sf);
}

rill_status rule_gather(struct pulser *p, const struct node *n)
{
    struct flow f;
    int axis = axis_normalise(axis_of(n), pulser_fact(p, n->in[0])->rank);
    if (flow_of(p, n->in[0], &f) && f.sf.axis == axis)
        return gather_frames(p, n, &f);
    if (flow_of(p, n->in[1], &f))
        return gather_rows(p, n, &f, axis);
    return pulser_off_axis(p, n);
}

/* ---- GatherElements and ScatterElements: every frame has indices of its own ---- */

static rill_status elements_check(const struct pulser *p, const struct node *n, int at,
                                  int *ret_time)
{
    const struct stream_fact *first = NULL;
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        if (s && s->axis == at)
            return op_fail(
                p->err, RILL_UNSUPPORTED, n,
                "cannot stream: its indices name frames of axis %d of input %u, the time "
                "axis, in any order; Gather by a range of frames and Where stream",
                at, i);
        if (!s || (first && s->axis != first->axis))
            return op_fail(
                p->err, RILL_UNSUPPORTED, n,
                "cannot stream: input %u does not run along the time axis of the others: "
                "every frame needs data and indices of its own",
                i);
        first = s;
    }
    *ret_time = first->axis;
    return RILL_OK;
}

rill_status rule_elements(struct pulser *p, const struct node *n)
{
    uint32_t in[3], out;
    struct stream_fact sf;
    unsigned first;
    int at = axis_normalise(axis_of(n), pulser_fact(p, n->in[0])->rank), time = at;
    bool table =
        n->n_in == 2 && !pulser_stream(p, n->in[0]) && pulser_stream(p, n->in[1])->axis == at;
    if (!table)
        TRY(elements_check(p, n, at, &time));
    TRY(pulser_align(p, n, in, &sf, &first));
    sf.axis = time;
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, &out, 1));
    return pulser_bind(p, n, 0, out, &sf);
}

/* ---- CumSum: the sum so far is a frame in front of the pulse ---- */

static rill_status sums_emit(struct pulser *p, const struct node *n, const void *attr, uint32_t x,
                             uint32_t *ret)
{
    const uint32_t in[2] = { x, p->map[n->in[1]] };
    return pulser_emit(p, n->op, n->name, attr, in, 2, ret, 1);
}

/* The sums of a run, those of the first frame at place `first` behind what was carried. */
static rill_status sum_carried(struct pulser *p, const struct node *n, const void *plain,
                               struct flow *f, int64_t first, struct carried *c)
{
    const struct attr along = { .name = "axis", .kind = ATTR_INT, .i = f->sf.axis };
    const uint32_t in[2] = { c->read, f->wire };
    uint32_t joined, sums, last;
    TRY(pulser_emit_op(p, OP_CONCAT, n->name, &along, 1, in, 2, &joined));
    TRY(sums_emit(p, n, plain, joined, &sums));
    TRY(pulser_slice(p, n->name, sums, f->sf.axis, f->sf.pulse, f->sf.pulse + 1, &last));
    TRY(pulser_carry_end(p, n, c, last));
    f->sf.uniform = false;
    return pulser_slice(p, n->name, sums, f->sf.axis, first, first + f->sf.pulse, &f->wire);
}

/* Sums without their own frames are 0 and the sums with theirs of the frames before: what is later
 * than the input comes a frame earlier so. In a branch frames go by its own runs. */
static rill_status sums_shifted(struct pulser *p, const struct node *n, const void *plain,
                                struct flow *f)
{
    const int axis = f->sf.axis;
    struct padded *q = &p->padded[n->out[0]];
    struct carried c;
    const struct offset at = f->sf.at;
    struct fact one = *pulser_dst_fact(p, f->wire);
    TRY(flow_mask(p, n, f, NULL, true, false));
    one.shape[axis] = dim_int(p->dst->dims, 1);
    TRY(pulser_carry(p, n, &one, &f->sf, WIRE_NONE, &c));
    TRY(sum_carried(p, n, plain, f, 1, &c));
    f->sf.length = dim_add_int(p->dst->dims, f->sf.length, -1);
    *q = (struct padded) { .is = true,
                           .inner = *f,
                           .before = 1,
                           .mode = PULSE_PAD_CONSTANT,
                           .head = WIRE_NONE,
                           .tail = WIRE_NONE };
    TRY(padded_put(p, n, q, f));
    f->sf.at = at;
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

/* ret_left: the sum of the frames in front of the sequence. */
static rill_status sum_head(struct pulser *p, const struct node *n, const void *plain,
                            struct head *h, uint32_t *ret_left)
{
    const int axis = p->sf[n->in[0]].axis;
    uint32_t made[2];
    TRY(head_find(p, n, n->in[0], h));
    if (!h->is)
        return RILL_OK;
    const int64_t frames = h->all.before;
    TRY(sums_emit(p, n, n->attr, h->all.head, &made[0]));
    TRY(sums_emit(p, n, plain, h->all.head, &made[1]));
    TRY(pulser_slice(p, n->name, made[1], axis, frames - 1, frames, &made[1]));
    TRY(head_known(p, h, made, 2));
    h->made = made[0];
    *ret_left = made[1];
    return RILL_OK;
}

static rill_status sum_along_time(struct pulser *p, const struct node *n, struct flow *f)
{
    const struct attr inclusive = { .name = "exclusive", .kind = ATTR_INT, .i = 0 };
    const struct offset at = f->sf.at;
    struct head h;
    struct carried c;
    void *plain = NULL;
    uint32_t left = WIRE_NONE;
    TRY(pulser_attr_copy(p, n, &inclusive, 1, &plain));
    TRY(sum_head(p, n, plain, &h, &left));
    if (!h.is && cumsum_attr_of(n)->exclusive && !p->outer && f->sf.delay > 0)
        return sums_shifted(p, n, plain, f);
    if (h.is)
        *f = h.all.inner;
    TRY(flow_mask(p, n, f, NULL, true, false));
    struct fact one = *pulser_dst_fact(p, f->wire);
    one.shape[f->sf.axis] = dim_int(p->dst->dims, 1);
    TRY(h.is ? head_carry(p, n, &h, &one, left, &c)
             : pulser_carry(p, n, &one, &f->sf, WIRE_NONE, &c));
    TRY(sum_carried(p, n, plain, f, cumsum_attr_of(n)->exclusive ? 0 : 1, &c));
    if (h.is)
        TRY(head_put(p, n, 0, &h, f));
    f->sf.at = at;
    return pulser_bind(p, n, 0, f->wire, &f->sf);
}

rill_status rule_cumsum(struct pulser *p, const struct node *n)
{
    struct flow f;
    int64_t axis;
    unsigned one;
    if (!flow_of(p, n->in[0], &f) || !pulser_const_ints(p, n, 1, &axis, 1, &one) || one != 1)
        return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: its axis depends on data");
    if (axis_normalise(axis, pulser_fact(p, n->in[0])->rank) != f.sf.axis) {
        uint32_t in[2] = { f.wire, p->map[n->in[1]] }, out;
        TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, &out, 1));
        return pulser_bind(p, n, 0, out, &f.sf);
    }
    if (node_is(n, OP_CUMPROD))
        return op_fail(
            p->err, RILL_UNSUPPORTED, n,
            "cannot stream: a product of all frames so far along axis %d of input 0, the "
            "time axis; CumSum of logarithms streams",
            f.sf.axis);
    if (cumsum_attr_of(n)->reverse)
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: it runs backwards along axis %d of input 0, the time axis: "
                       "its first sum needs the last frame",
                       f.sf.axis);
    return sum_along_time(p, n, &f);
}
