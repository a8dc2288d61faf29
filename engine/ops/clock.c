/* SPDX-License-Identifier: MIT */
#include "engine/ops/clock.h"

#include <string.h>

#define CLOCK_SPECS(type, member)                                                                  \
    { .name = "pulse", .kind = ATTR_INT, .offset = offsetof(struct type, member pulse) },          \
        { .name = "delay", .kind = ATTR_INT, .offset = offsetof(struct type, member delay) },      \
        { .name = "length", .kind = ATTR_INT, .offset = offsetof(struct type, member length) },    \
    {                                                                                              \
        .name = "frames", .kind = ATTR_INT, .offset = offsetof(struct type, member frames)         \
    }

#define FRAMES_MAX ((int64_t) 1 << 40)

static bool in_range(int64_t v, int64_t low)
{
    return v >= low && v <= FRAMES_MAX;
}

/* All attributes of ops that read the clock begin with these. */
static bool clock_attr_fits(const struct clock_attr *a)
{
    return in_range(a->pulse, 0) && in_range(a->delay, -FRAMES_MAX) && a->length >= 0 &&
        a->length < CLOCK_SIZE && in_range(a->frames, 0);
}

static rill_status clock_check(struct infer *c, unsigned i)
{
    const struct fact *f = infer_has(c, i) ? c->in[i] : NULL;
    const struct clock_attr *a = c->attr;
    if (!clock_attr_fits(a))
        return infer_fail(c, "has an impossible place in its stream");
    if (!f || f->type != DTYPE_I64 || f->rank != 1 || !dim_is(f->shape[0], CLOCK_SIZE))
        return op_fail(c->err, RILL_INTERNAL, c->node, "input %u is not the clock", i);
    return RILL_OK;
}

/* Numbers of frames wrap: a file may name any, and every place is checked before it is used. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t) ((uint64_t) a + (uint64_t) b);
}

static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t) ((uint64_t) a - (uint64_t) b);
}

/* Frames that all runs before this one took. */
static int64_t frames_before(const int64_t *clock, const struct clock_attr *a)
{
    return (int64_t) ((uint64_t) clock[0] * (uint64_t) a->pulse);
}

/* Frame number of place 0 of the output in this run. */
static int64_t frame_first(const int64_t *clock, const struct clock_attr *a)
{
    return difference(frames_before(clock, a), a->delay);
}

static int64_t frames_of(const struct clock_attr *a)
{
    return a->frames ? a->frames : a->pulse;
}

/* ---- PulsePad ---- */

enum { IN_WINDOW, IN_CLOCK, IN_HEAD, IN_TAIL };

static const char *const pad_modes[] = { "constant", "edge", "reflect", "values", NULL };

static const struct attr_spec pad_attrs[] = {
    CLOCK_SPECS(pulse_pad_attr, at.),
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct pulse_pad_attr, axis) },
    { .name = "before", .kind = ATTR_INT, .offset = offsetof(struct pulse_pad_attr, before) },
    { .name = "after", .kind = ATTR_INT, .offset = offsetof(struct pulse_pad_attr, after) },
    { .name = "shift", .kind = ATTR_INT, .offset = offsetof(struct pulse_pad_attr, shift) },
    { .name = "mode",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct pulse_pad_attr, mode),
      .choices = pad_modes },
    { 0 },
};

/* An operand of one element, or of as many frames as it fills. */
static bool pad_operand_fits(const struct infer *c, unsigned i, const struct fact *window,
                             int64_t frames)
{
    const struct pulse_pad_attr *a = c->attr;
    const struct fact *f = infer_has(c, i) ? c->in[i] : NULL;
    struct tensor t;
    if (!f)
        return true;
    if (a->mode == PULSE_PAD_CONSTANT)
        return f->type == window->type && fact_to_tensor(f, &t) && tensor_count(&t) == 1;
    struct fact want = *window;
    want.shape[a->axis] = dim_int(c->dims, frames);
    return a->mode != PULSE_PAD_VALUES || fact_same(f, &want);
}

static bool pad_operands_fit(const struct infer *c, const struct fact *window)
{
    const struct pulse_pad_attr *a = c->attr;
    return pad_operand_fits(c, IN_HEAD, window, a->before) &&
        pad_operand_fits(c, IN_TAIL, window, a->after);
}

static rill_status pad_infer(struct infer *c)
{
    const struct pulse_pad_attr *a = c->attr;
    const struct fact *w = c->in[IN_WINDOW];
    TRY(clock_check(c, IN_CLOCK));
    if (!w || a->axis < 0 || a->axis >= w->rank || !in_range(a->before, 0) ||
        !in_range(a->after, 0) || !in_range(a->shift, -FRAMES_MAX) || !pad_operands_fit(c, w))
        return infer_fail(c, "has padding that does not fit its window");
    infer_same(c, 0, IN_WINDOW);
    c->out[0].shape[a->axis] = dim_int(c->dims, frames_of(&a->at));
    return RILL_OK;
}

/* Where frame i of the padded sequence comes from: a frame of the n of the input, or -1: a fill. */
static int64_t pad_source(const struct pulse_pad_attr *a, int64_t i, int64_t n)
{
    int64_t k = difference(i, a->before);
    if (k >= 0 && k < n)
        return k;
    if (a->mode == PULSE_PAD_EDGE)
        return k < 0 ? 0 : difference(n, 1);
    if (a->mode == PULSE_PAD_REFLECT)
        return difference(k < 0 ? 0 : sum(difference(n, 1), difference(n, 1)), k);
    return -1;
}

struct pad_rows {
    size_t outer, frame_bytes, window, pulse;
};

static struct pad_rows pad_rows(const struct eval *e, const struct pulse_pad_attr *a)
{
    const struct tensor *w = e->in[IN_WINDOW];
    struct pad_rows r = { 1, dtype_bytes(w->type), (size_t) w->dim[a->axis],
                          (size_t) frames_of(&a->at) };
    for (int i = 0; i < w->rank; i++) {
        r.outer *= i < a->axis ? (size_t) w->dim[i] : 1;
        r.frame_bytes *= i > a->axis ? (size_t) w->dim[i] : 1;
    }
    return r;
}

static void frame_fill(unsigned char *to, size_t bytes, const void *value, size_t element)
{
    if (!value) {
        memset(to, 0, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += element)
        memcpy(to + i, value, element);
}

/* Frame i of the padded sequence, which lies outside the input's, from the operands of the op: what
 * is behind an input of less than 0 frames begins so much earlier. */
static void pad_outside(const struct eval *e, const struct pulse_pad_attr *a,
                        const struct pad_rows *r, unsigned char *to, size_t outer, int64_t i,
                        int64_t n)
{
    bool head = i < a->before && difference(i, a->before) < n;
    unsigned k = a->mode == PULSE_PAD_VALUES && !head ? IN_TAIL : IN_HEAD;
    const unsigned char *x = k < e->n_in ? e->x[k] : NULL;
    int64_t at = head ? i : difference(difference(i, a->before), n),
            frames = head ? a->before : a->after;
    if (a->mode == PULSE_PAD_CONSTANT)
        frame_fill(to, r->frame_bytes, x, dtype_bytes(e->in[IN_WINDOW]->type));
    else if (a->mode == PULSE_PAD_VALUES && x && at >= 0 && at < frames)
        memcpy(to, x + (outer * (size_t) frames + (size_t) at) * r->frame_bytes, r->frame_bytes);
    else
        memset(to, 0, r->frame_bytes);
}

/* Frames of each row that follow each other: rows of up to a vector in one call. */
static void frames_take(const struct kern *k, const struct pad_rows *r, unsigned char *y,
                        const unsigned char *x)
{
    const size_t to = r->pulse * r->frame_bytes, from = r->window * r->frame_bytes;
    if (x == y)
        return;
    if (to == from) {
        memcpy(y, x, r->outer * to);
    } else if (to % 4 == 0 && from % 4 == 0 && to <= KERN_LANES * 4) {
        const struct kern_strided_copy m = { .n = { 1, 1, r->outer, to / 4 },
                                             .from = { 0, 0, (ptrdiff_t) (from / 4), 1 },
                                             .to = { 0, 0, (ptrdiff_t) (to / 4), 1 } };
        k->strided_copy_f32((float *) (void *) y, (const float *) (const void *) x, &m);
    } else {
        for (size_t o = 0; o < r->outer; o++, y += to, x += from)
            memcpy(y, x, to);
    }
}

static void pad_eval(const struct eval *e)
{
    const struct pulse_pad_attr *a = e->attr;
    const int64_t *clock = e->x[IN_CLOCK];
    int64_t first = frame_first(clock, &a->at), n = clock[a->at.length],
            from = difference(a->shift, frames_before(clock, &a->at));
    struct pad_rows r = pad_rows(e, a);
    unsigned char *y = e->y[0];
    const unsigned char *x = e->x[IN_WINDOW];
    int64_t frame = difference(first, a->before), place = sum(frame, from),
            frames = frames_of(&a->at);
    bool inside = first >= a->before && difference(n, frame) >= frames && place >= 0 &&
        place <= (int64_t) r.window - frames;
    if (inside) {
        frames_take(e->kern, &r, y, x + (size_t) place * r.frame_bytes);
        return;
    }
    for (size_t o = 0; o < r.outer;
         o++, y += r.pulse * r.frame_bytes, x += r.window * r.frame_bytes) {
        for (int64_t p = 0; p < frames; p++) {
            int64_t k = pad_source(a, sum(first, p), n), at = sum(k, from);
            if (k >= 0 && at >= 0 && at < (int64_t) r.window)
                memmove(y + (size_t) p * r.frame_bytes, x + (size_t) at * r.frame_bytes,
                        r.frame_bytes);
            else
                pad_outside(e, a, &r, y + (size_t) p * r.frame_bytes, o, sum(first, p), n);
        }
    }
}

/* Where every frame is at its place already, only those outside the sequence are written. */
static int pad_base(const struct node *n, unsigned o)
{
    const struct pulse_pad_attr *a = n->attr;
    (void) o;
    const bool stay = a->shift == sum(a->at.delay, a->before);
    return stay && (a->mode == PULSE_PAD_CONSTANT || a->mode == PULSE_PAD_VALUES) ? IN_WINDOW : -1;
}

const struct op op_pulse_pad = {
    .id = OP_PULSE_PAD,
    .name = "PulsePad",
    .attrs = pad_attrs,
    .attr_bytes = sizeof(struct pulse_pad_attr),
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .infer = pad_infer,
    .eval = pad_eval,
    .base = pad_base,
    .help = "frames of a padded stream; what lies outside the sequence is filled",
};

/* ---- PulseValid, PulseSkip ---- */

static const struct attr_spec clock_attrs[] = { CLOCK_SPECS(clock_attr, ), { 0 } };

static rill_status valid_infer(struct infer *c)
{
    const struct dim *n = dim_int(c->dims, frames_of(c->attr));
    TRY(clock_check(c, 0));
    infer_shape(c, 0, DTYPE_BOOL, 1, &n);
    return RILL_OK;
}

static void valid_eval(const struct eval *e)
{
    const struct clock_attr *a = e->attr;
    const int64_t *clock = e->x[0];
    int64_t first = frame_first(clock, a);
    for (int64_t p = 0; p < frames_of(a); p++)
        ((unsigned char *) e->y[0])[p] = sum(first, p) >= 0 && sum(first, p) < clock[a->length];
}

static rill_status skip_infer(struct infer *c)
{
    TRY(clock_check(c, 0));
    infer_shape(c, 0, DTYPE_I64, 0, NULL);
    return RILL_OK;
}

static void skip_eval(const struct eval *e)
{
    const struct clock_attr *a = e->attr;
    int64_t before = difference(0, frame_first(e->x[0], a));
    *(int64_t *) e->y[0] = before < 0 ? 0 : before < a->pulse ? before : a->pulse;
}

#define CLOCK_OP(stem, number, text, inf, run, words)                                              \
    const struct op op_##stem = { .id = OP_##number,                                               \
                                  .name = text,                                                    \
                                  .attrs = clock_attrs,                                            \
                                  .attr_bytes = sizeof(struct clock_attr),                         \
                                  .min_in = 1,                                                     \
                                  .max_in = 1,                                                     \
                                  .min_out = 1,                                                    \
                                  .max_out = 1,                                                    \
                                  .infer = inf,                                                    \
                                  .eval = run,                                                     \
                                  .help = words }

CLOCK_OP(pulse_valid, PULSE_VALID, "PulseValid", valid_infer, valid_eval,
         "which frames of a run lie in the sequence");
CLOCK_OP(pulse_skip, PULSE_SKIP, "PulseSkip", skip_infer, skip_eval,
         "frames of a run that lie before the sequence");

/* ---- PulseRange ---- */

static rill_status range_infer(struct infer *c)
{
    const struct dim *n = dim_int(c->dims, frames_of(c->attr));
    TRY(clock_check(c, 0));
    for (unsigned i = 1; i < 3; i++) {
        struct tensor t;
        bool fits = infer_has(c, i) && c->in[i]->type == c->in[1]->type &&
            fact_to_tensor(c->in[i], &t) && tensor_count(&t) == 1;
        if (!fits || t.type == DTYPE_DIM || t.type == DTYPE_BOOL)
            return infer_fail(c, "input %u is no number", i);
    }
    infer_shape(c, 0, c->in[1]->type, 1, &n);
    return RILL_OK;
}

static void range_eval(const struct eval *e)
{
    const struct tensor *start = e->in[1], *step = e->in[2];
    int64_t first = frame_first(e->x[0], e->attr);
    if (start->type == DTYPE_I64) {
        int64_t s = *(const int64_t *) e->x[1], d = *(const int64_t *) e->x[2];
        for (int64_t p = 0; p < e->out[0]->dim[0]; p++)
            ((int64_t *) e->y[0])[p] =
                (int64_t) ((uint64_t) s + (uint64_t) d * (uint64_t) sum(first, p));
        return;
    }
    double s = tensor_get_f64(start, e->x[1], 0), d = tensor_get_f64(step, e->x[2], 0);
    for (int64_t p = 0; p < e->out[0]->dim[0]; p++)
        tensor_set_f64(e->out[0], e->y[0], p, s + d * (double) sum(first, p));
}

const struct op op_pulse_range = {
    .id = OP_PULSE_RANGE,
    .name = "PulseRange",
    .attrs = clock_attrs,
    .attr_bytes = sizeof(struct clock_attr),
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = range_infer,
    .eval = range_eval,
    .help = "start + step * frame number",
};

/* ---- PulseHistory ---- */

static const struct attr_spec history_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct pulse_history_attr, axis) },
    { 0 },
};

/* Both inputs are alike but along the axis. */
static rill_status history_check(struct infer *c, int64_t axis)
{
    const struct fact *a = infer_has(c, 0) ? c->in[0] : NULL,
                      *b = infer_has(c, 1) ? c->in[1] : NULL;
    bool fits = a && b && axis >= 0 && axis < a->rank && a->type == b->type && a->rank == b->rank;
    for (int i = 0; fits && i < a->rank; i++)
        fits = i == axis || a->shape[i] == b->shape[i];
    return fits ? RILL_OK : infer_fail(c, "its frames do not fit its past");
}

static rill_status history_infer(struct infer *c)
{
    int64_t axis = ((const struct pulse_history_attr *) c->attr)->axis;
    TRY(history_check(c, axis));
    infer_same(c, 0, 1);
    infer_same(c, 1, 0);
    c->out[0].shape[axis] = dim_add(c->dims, c->in[0]->shape[axis], c->in[1]->shape[axis]);
    return RILL_OK;
}

/* Along the axis: rows of what is kept of the old frames, and of the new ones. */
struct rows {
    size_t outer, old, kept, fresh;
};

static struct rows rows_of(const struct eval *e, bool window)
{
    const struct tensor *s = e->in[0], *x = e->in[1];
    int axis = (int) ((const struct pulse_history_attr *) e->attr)->axis;
    size_t inner = dtype_bytes(s->type);
    struct rows r = { .outer = 1 };
    for (int i = 0; i < s->rank; i++) {
        r.outer *= i < axis ? (size_t) s->dim[i] : 1;
        inner *= i > axis ? (size_t) s->dim[i] : 1;
    }
    r.old = inner * (size_t) s->dim[axis];
    r.fresh = inner * (size_t) x->dim[axis];
    r.kept = window ? r.old - r.fresh : r.old;
    return r;
}

#define WORDS_FEW 4  /* of a row, */
#define WORDS_ALL 48 /* and of all rows, that are moved one by one */

/* Rows of one word. */
static void word_move(uint32_t *restrict w, size_t w_apart, const uint32_t *restrict x,
                      size_t x_apart, size_t rows)
{
    for (; rows; rows--, w += w_apart, x += x_apart)
        *w = *x;
}

/* Rows of n words, so many words apart. */
static void words_move(const struct kern *k, uint32_t *restrict w, size_t w_apart,
                       const uint32_t *restrict x, size_t x_apart, size_t rows, size_t n)
{
    if (n >= WORDS_FEW && rows * n >= WORDS_ALL) {
        const struct kern_strided_copy m = { .n = { 1, 1, rows, n },
                                             .from = { 0, 0, (ptrdiff_t) x_apart, 1 },
                                             .to = { 0, 0, (ptrdiff_t) w_apart, 1 } };
        k->strided_copy_f32((float *) (void *) w, (const float *) (const void *) x, &m);
        return;
    }
    if (n == 1) {
        word_move(w, w_apart, x, x_apart, rows);
        return;
    }
    for (; rows; rows--, w += w_apart, x += x_apart)
        for (size_t i = 0; i < n; i++)
            w[i] = x[i];
}

static void join_words(const struct kern *k, uint32_t *restrict w, const uint32_t *restrict s,
                       const uint32_t *restrict x, const struct rows *r)
{
    const size_t old = r->old / 4, kept = r->kept / 4, fresh = r->fresh / 4;
    words_move(k, w, kept + fresh, s + old - kept, old, r->outer, kept);
    words_move(k, w + kept, kept + fresh, x, fresh, r->outer, fresh);
}

#define BYTES_FEW 256

/* Rows that stay as long as they are, and most of which is kept: all moves on by what is fresh,
 * which is then put at the ends. */
static void window_words(const struct kern *k, uint32_t *w, const uint32_t *s,
                         const uint32_t *restrict x, const struct rows *r)
{
    const size_t old = r->old / 4, fresh = r->fresh / 4, all = r->outer * old;
    if (all > fresh)
        memmove(w, s + fresh, (all - fresh) * sizeof *w);
    words_move(k, w + old - fresh, old, x, fresh, r->outer, fresh);
}

/* A window may lie where the old one does: what stays moves on within its row, or all rows at once.
 */
static void rows_join(const struct eval *e, const struct rows *r)
{
    unsigned char *w = e->y[0];
    const unsigned char *s = e->x[0], *x = e->x[1];
    if (r->fresh % 4 == 0 && r->old % 4 == 0 && r->kept + r->fresh <= BYTES_FEW) {
        const bool moves = r->kept + r->fresh == r->old && r->fresh <= r->kept;
        (moves ? window_words : join_words)(e->kern, e->y[0], e->x[0], e->x[1], r);
        return;
    }
    for (size_t o = 0; o < r->outer; o++, w += r->kept + r->fresh, s += r->old, x += r->fresh) {
        memmove(w, s + r->old - r->kept, r->kept);
        memcpy(w + r->kept, x, r->fresh);
    }
}

static void history_eval(const struct eval *e)
{
    struct rows r = rows_of(e, false);
    unsigned char *next = e->y[1];
    const unsigned char *w = e->y[0];
    rows_join(e, &r);
    if (r.old % 4 == 0 && r.fresh % 4 == 0 && r.old <= BYTES_FEW) {
        words_move(e->kern, e->y[1], r.old / 4, (const uint32_t *) e->y[0] + r.fresh / 4,
                   (r.old + r.fresh) / 4, r.outer, r.old / 4);
        return;
    }
    for (size_t o = 0; o < r.outer; o++, next += r.old, w += r.old + r.fresh)
        memcpy(next, w + r.fresh, r.old);
}

static void window_eval(const struct eval *e)
{
    struct rows r = rows_of(e, true);
    rows_join(e, &r);
}

static int window_base(const struct node *n, unsigned o)
{
    (void) n, (void) o;
    return 0;
}

static rill_status window_infer(struct infer *c)
{
    int64_t axis = ((const struct pulse_history_attr *) c->attr)->axis;
    TRY(history_check(c, axis));
    const struct dim *old = c->in[0]->shape[axis], *fresh = c->in[1]->shape[axis];
    if (dim_is_const(old) && dim_is_const(fresh) && dim_value(fresh) > dim_value(old))
        return infer_fail(c, "more frames are new than the window holds");
    infer_same(c, 0, 0);
    return RILL_OK;
}

const struct op op_pulse_window = {
    .id = OP_PULSE_WINDOW,
    .name = "PulseWindow",
    .attrs = history_attrs,
    .attr_bytes = sizeof(struct pulse_history_attr),
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = window_infer,
    .eval = window_eval,
    .base = window_base,
    .help = "the newest frames of a window, with those of this run",
};

const struct op op_pulse_history = {
    .id = OP_PULSE_HISTORY,
    .name = "PulseHistory",
    .attrs = history_attrs,
    .attr_bytes = sizeof(struct pulse_history_attr),
    .min_in = 2,
    .max_in = 2,
    .min_out = 2,
    .max_out = 2,
    .infer = history_infer,
    .eval = history_eval,
    .help = "frames of the past in front of those of this run",
};

/* ---- PulseFirst ---- */

static const struct attr_spec first_attrs[] = {
    CLOCK_SPECS(pulse_first_attr, at.),
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct pulse_first_attr, axis) },
    { .name = "first", .kind = ATTR_INT, .offset = offsetof(struct pulse_first_attr, first) },
    { 0 },
};

static rill_status first_infer(struct infer *c)
{
    const struct pulse_first_attr *a = c->attr;
    TRY(clock_check(c, 2));
    TRY(history_check(c, a->axis));
    if (!dim_is(c->in[1]->shape[a->axis], a->at.pulse) || !in_range(a->first, 0))
        return infer_fail(c, "its frames are not those of a run");
    infer_same(c, 0, 0);
    return RILL_OK;
}

static void first_eval(const struct eval *e)
{
    const struct pulse_first_attr *a = e->attr;
    const struct tensor *kept = e->in[0];
    const int64_t *clock = e->x[2];
    int64_t run = frame_first(clock, &a->at), n = kept->dim[a->axis];
    size_t outer = 1, inner = dtype_bytes(kept->type);
    for (int i = 0; i < kept->rank; i++) {
        outer *= i < a->axis ? (size_t) kept->dim[i] : 1;
        inner *= i > a->axis ? (size_t) kept->dim[i] : 1;
    }
    for (size_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < n; k++) {
            int64_t frame = sum(a->first, k), place = difference(frame, run);
            bool here = place >= 0 && place < a->at.pulse && frame < clock[a->at.length];
            const unsigned char *from = here ? e->x[1] : e->x[0];
            size_t at =
                here ? o * (size_t) a->at.pulse + (size_t) place : o * (size_t) n + (size_t) k;
            memmove((unsigned char *) e->y[0] + (o * (size_t) n + (size_t) k) * inner,
                    from + at * inner, inner);
        }
}

const struct op op_pulse_first = {
    .id = OP_PULSE_FIRST,
    .name = "PulseFirst",
    .attrs = first_attrs,
    .attr_bytes = sizeof(struct pulse_first_attr),
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = first_infer,
    .eval = first_eval,
    .help = "frames of the sequence that are kept from the run on that has them",
};
