/* SPDX-License-Identifier: MIT */
#include "engine/ops/fused.h"
#include "engine/ops/clock.h"

#include <string.h>

#define INTS(member)                                                                               \
    {                                                                                              \
        .name = #member, .kind = ATTR_INTS, .offset = offsetof(struct fused_attr, member)          \
    }

static const struct attr_spec fused_attrs[] = { INTS(steps),   INTS(values), INTS(products),
                                                INTS(windows), INTS(pads),   INTS(shapes),
                                                { 0 } };

/* Shapes of what is stored. */
static rill_status shapes_infer(struct infer *c, unsigned stores)
{
    const struct fused_attr *a = c->attr;
    uint32_t at = 0;
    for (unsigned o = 0; o < stores; o++) {
        const struct dim *shape[RANK_MAX];
        int64_t rank = at < a->shapes.n ? a->shapes.v[at++] : -1;
        if (rank < 0 || rank > RANK_MAX || rank > a->shapes.n - at)
            return infer_fail(c, "has no shape for output %u", o);
        for (int64_t i = 0; i < rank; i++)
            shape[i] = dim_int(c->dims, a->shapes.v[at++]);
        infer_shape(c, o, DTYPE_F32, (int) rank, shape);
    }
    return RILL_OK;
}

static rill_status fused_infer(struct infer *c)
{
    const struct fused_attr *a = c->attr;
    int64_t windows = fused_windows(a), step, stores = (int64_t) c->n_out - windows,
            loads = (int64_t) c->n_in - fused_n_first(a) - windows;
    if (stores < 0 || loads < 0 || c->n_in + c->n_out > FUSED_BUFFERS_MAX)
        return infer_fail(c, "its lists are none of a program");
    if (!fused_fits(a, loads, stores, &step))
        return step < 0 ? infer_fail(c, "its lists are none of a program")
                        : infer_fail(c, "step %lld of its program is none", (long long) step);
    TRY(shapes_infer(c, (unsigned) stores));
    for (int64_t i = 0; i < windows; i++) {
        struct fused_window w = fused_window_at(a, i);
        infer_shape(c, (unsigned) (stores + i), DTYPE_F32, 2,
                    (const struct dim *[]) { dim_int(c->dims, w.frames),
                                             dim_int(c->dims, fused_lanes(w.channels)) });
    }
    return RILL_OK;
}

static rill_status windows_prepare(struct prep *c, struct fused *p)
{
    for (unsigned i = 0; i < p->n_windows; i++) {
        struct fused_window w = fused_window_at(c->attr, i);
        const struct tensor *old = c->in[p->n_first + p->n_loads + i],
                            *next = c->out[p->n_stores + i];
        int64_t floats = w.frames * fused_lanes(w.channels);
        if (!old || !next || old->type != DTYPE_F32 || next->type != DTYPE_F32 ||
            tensor_count(old) != floats || tensor_count(next) != floats)
            return prep_fail(c, "window %u has no past of its size", i);
        p->window_bytes[i] = (size_t) floats * sizeof(float);
    }
    return RILL_OK;
}

/* The weights, and the clock. */
static rill_status first_check(struct prep *c, const struct fused *p)
{
    const struct tensor *w = p->n_first ? c->in[0] : NULL,
                        *clock = p->n_first > 1 ? c->in[1] : NULL;
    if (p->n_first && (!w || !w->data || w->type != DTYPE_F32))
        return prep_fail(c, "its weights are not constant");
    if (p->n_first > 1 && (!clock || clock->type != DTYPE_I64 || tensor_count(clock) != CLOCK_SIZE))
        return prep_fail(c, "its input 1 is not the clock");
    return RILL_OK;
}

static rill_status fused_prepare(struct prep *c)
{
    const struct fused_attr *a = c->attr;
    struct fused *p = arena_new(c->arena, struct fused);
    unsigned windows = (unsigned) fused_windows(a);
    if (!p || !(p->window_bytes = arena_array(c->arena, size_t, windows + 1)) ||
        !(p->row_step = arena_array(c->arena, size_t, 1 + FUSED_BUFFERS_MAX)))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    p->in_frames = fused_in_frames(a);
    p->n_first = (unsigned) fused_n_first(a);
    p->n_windows = windows;
    p->n_loads = c->n_in - p->n_first - windows;
    p->n_stores = c->n_out - windows;
    TRY(first_check(c, p));
    TRY(windows_prepare(c, p));
    TRY(fused_compile(c, p));
    c->args = p;
    c->kernel = p->in_frames ? "program_f32 frames" : "program_f32";
    return RILL_OK;
}

static void fused_eval(const struct eval *e)
{
    const struct fused *p = e->args;
    float *buffer[1 + FUSED_BUFFERS_MAX];
    unsigned n = FUSED_BUFFER_WINDOWS;
    const void *const *load = e->x + p->n_first, *const *old = load + p->n_loads;
    void *const *next = e->y + p->n_stores;
    buffer[FUSED_BUFFER_SCRATCH] = e->scratch;
    for (unsigned i = 0; i < p->n_windows; i++) {
        if (next[i] != old[i])
            memcpy(next[i], old[i], p->window_bytes[i]);
        buffer[n++] = next[i];
    }
    for (unsigned i = 0; i < p->n_loads; i++)
        buffer[n++] = (float *) (uintptr_t) load[i]; /* only read */
    for (unsigned i = 0; i < p->n_stores; i++)
        buffer[n++] = e->y[i];
    if (p->n_first > 1)
        buffer[n] = (float *) (uintptr_t) e->x[1];
    e->kern->program_f32(&p->program, buffer, p->row_step, p->rows, p->columns);
}

/* ---- shares: of a flat program, rows or, where they are few, columns ---- */

/* Its shift where the share begins at that row and column. `walks`: it has a column for each of the
 * output. */
static size_t buffer_shift(const struct fused *p, unsigned buffer, const struct tensor *t,
                           size_t row, size_t column)
{
    const size_t step = p->row_step[buffer];
    const bool walks =
        p->columns > 1 && (step ? step == p->columns : (size_t) tensor_count(t) == p->columns);
    return (row * step + (walks ? column : 0)) * sizeof(float);
}

static void shifts_set(const struct prep *c, const struct fused *p, size_t row, size_t column,
                       size_t *shift)
{
    for (unsigned i = 0; i < p->n_loads; i++)
        shift[i] = buffer_shift(p, FUSED_BUFFER_WINDOWS + i, c->in[i], row, column);
    for (unsigned i = 0; i < p->n_stores; i++)
        shift[c->n_in + i] =
            buffer_shift(p, FUSED_BUFFER_WINDOWS + p->n_loads + i, c->out[i], row, column);
}

static rill_status fused_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct fused *p = c->args;
    const bool by_rows = p->rows >= 4 * most;
    const size_t units = by_rows ? p->rows : p->columns / KERN_LANES;
    const unsigned n = units < most ? (unsigned) units : most;
    if (n < 2 || p->in_frames)
        return RILL_OK;
    TRY(shares_new(c, n, ret));
    for (unsigned i = 0; i < n; i++) {
        struct fused *s = arena_new(c->arena, struct fused);
        size_t unit = by_rows ? 1 : KERN_LANES, all = by_rows ? p->rows : p->columns,
               from = (size_t) share_from((int64_t) units, i, n) * unit,
               to = i + 1 < n ? (size_t) share_from((int64_t) units, i + 1, n) * unit : all;
        if (!s)
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
        *s = *p;
        *(by_rows ? &s->rows : &s->columns) = to - from;
        shifts_set(c, p, by_rows ? from : 0, by_rows ? 0 : from, ret->share[i].shift_bytes);
        ret->share[i].args = s;
    }
    return RILL_OK;
}

/* A window's next value lies where the old one did. */
static int fused_base(const struct node *n, unsigned output)
{
    unsigned windows = (unsigned) fused_windows(n->attr), stores = n->n_out - windows;
    return output < stores ? -1 : (int) (n->n_in - windows + output - stores);
}

const struct op op_fused = {
    .id = OP_FUSED,
    .name = "Fused",
    .attrs = fused_attrs,
    .attr_bytes = sizeof(struct fused_attr),
    .min_in = 1,
    .max_in = -1,
    .min_out = 1,
    .max_out = -1,
    .infer = fused_infer,
    .prepare = fused_prepare,
    .eval = fused_eval,
    .base = fused_base,
    .divide = fused_divide,
    .help = "element-wise functions one after another, and convolutions along time between them",
};
