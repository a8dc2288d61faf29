/* SPDX-License-Identifier: MIT */
/* Framing and its inverse, as plain ops on whole sequences. */
#include "engine/ops/ops.h"
#include "engine/ops/attrs.h"

#include <string.h>

#define SIZE_MAX_SAMPLES ((int64_t) 1 << 24)

/* ---- Frame: [.., S] -> [.., T, size] ---- */

static const char *const frame_ends[] = { "drop", "cover", "flush", NULL };

static const struct attr_spec frame_attrs[] = {
    { .name = "size",
      .kind = ATTR_INT,
      .offset = offsetof(struct frame_attr, size),
      .required = true },
    { .name = "hop",
      .kind = ATTR_INT,
      .offset = offsetof(struct frame_attr, hop),
      .required = true },
    { .name = "before", .kind = ATTR_INT, .offset = offsetof(struct frame_attr, before) },
    { .name = "end",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct frame_attr, end),
      .choices = frame_ends },
    { .name = "source_size", .kind = ATTR_INT, .offset = offsetof(struct frame_attr, source_size) },
    { .name = "source_hop", .kind = ATTR_INT, .offset = offsetof(struct frame_attr, source_hop) },
    { 0 },
};

static const struct dim *frame_count(struct dims *ds, const struct frame_attr *a,
                                     const struct dim *samples)
{
    const struct dim *least = dim_int(ds, 0), *n;
    if (a->end == END_FLUSH)
        n = dim_div_ceil_int(ds, dim_add_int(ds, samples, a->before), a->hop);
    else if (a->end ==
             END_COVER) { /* a single sample is covered by one frame, however short the first hop */
        least = dim_min(ds, samples, dim_int(ds, 1));
        n = dim_add_int(ds,
                        dim_div_ceil_int(ds, dim_add_int(ds, samples, a->before - a->size), a->hop),
                        1);
    } else
        n = dim_add_int(ds, dim_div_int(ds, dim_add_int(ds, samples, a->before - a->size), a->hop),
                        1);
    return dim_max(ds, least, n);
}

static rill_status frame_infer(struct infer *c)
{
    const struct frame_attr *a = c->attr;
    const struct fact *x = c->in[0];
    struct fact *y = &c->out[0];
    if (a->size < 1 || a->size > SIZE_MAX_SAMPLES || a->hop < 1 || a->hop > a->size ||
        a->before < 0 || a->before > SIZE_MAX_SAMPLES)
        return infer_fail(
            c, "size %lld, hop %lld, before %lld: needs 1 <= hop <= size <= %lld and before >= 0",
            (long long) a->size, (long long) a->hop, (long long) a->before,
            (long long) SIZE_MAX_SAMPLES);
    if (x->rank < 1 || x->rank >= RANK_MAX || !dtype_bytes(x->type) || x->type == DTYPE_DIM)
        return infer_fail(c, "input is %s of rank %d; wants numbers of rank 1 to %d",
                          dtype_name(x->type), x->rank, RANK_MAX - 1);
    if (infer_has(c, 1) && (a->source_hop < 1 || a->source_hop > a->source_size))
        return infer_fail(c, "source_size %lld, source_hop %lld: needs 1 <= hop <= size",
                          (long long) a->source_size, (long long) a->source_hop);
    infer_same(c, 0, 0);
    y->rank = x->rank + 1;
    y->shape[x->rank - 1] = frame_count(c->dims, a, x->shape[x->rank - 1]);
    y->shape[x->rank] = dim_int(c->dims, a->size);
    return RILL_OK;
}

/* One frame that starts at sample `from`, which may lie before or after what there is. */
static void frame_copy(char *y, const char *x, int64_t from, int64_t size, int64_t samples,
                       size_t bytes)
{
    int64_t lead = from < 0 ? -from : 0, end = samples - from;
    lead = lead < size ? lead : size;
    end = end < lead ? lead : end < size ? end : size;
    memset(y, 0, (size_t) lead * bytes);
    if (end > lead)
        memcpy(y + (size_t) lead * bytes, x + (from + lead) * (int64_t) bytes,
               (size_t) (end - lead) * bytes);
    memset(y + (size_t) end * bytes, 0, (size_t) (size - end) * bytes);
}

static void frame_eval(const struct eval *e)
{
    const struct frame_attr *a = e->attr;
    const struct tensor *xs = e->in[0], *ys = e->out[0];
    int64_t samples = xs->dim[xs->rank - 1], frames = ys->dim[ys->rank - 2], rows = 1;
    const size_t bytes = dtype_bytes(xs->type);
    for (int i = 0; i < xs->rank - 1; i++)
        rows *= xs->dim[i];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t t = 0; t < frames; t++)
            frame_copy((char *) e->y[0] + (size_t) ((r * frames + t) * a->size) * bytes,
                       (const char *) e->x[0] + (size_t) (r * samples) * bytes,
                       t * a->hop - a->before, a->size, samples, bytes);
}

/* ---- OverlapAdd: [.., T, size] -> [.., N] ---- */

static const char *const tails[] = { "complete", "full", NULL };

static const struct attr_spec overlap_attrs[] = {
    { .name = "hop",
      .kind = ATTR_INT,
      .offset = offsetof(struct overlap_attr, hop),
      .required = true },
    { .name = "normalise", .kind = ATTR_INT, .offset = offsetof(struct overlap_attr, normalise) },
    { .name = "tail",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct overlap_attr, tail),
      .choices = tails },
    { 0 },
};

enum { IN_FRAMES, IN_WINDOW, IN_INITIAL };

static rill_status overlap_check(struct infer *c, int64_t *ret_size)
{
    const struct overlap_attr *a = c->attr;
    const struct fact *x = c->in[IN_FRAMES];
    if (x->rank < 2 || x->type != DTYPE_F32 || !dim_is_const(x->shape[x->rank - 1]))
        return infer_fail(c, "wants f32 frames of rank 2 or more and a known size");
    *ret_size = dim_value(x->shape[x->rank - 1]);
    if (a->hop < 1 || a->hop > *ret_size)
        return infer_fail(c, "hop %lld: needs 1 <= hop <= size = %lld", (long long) a->hop,
                          (long long) *ret_size);
    if (a->normalise && !infer_has(c, IN_WINDOW))
        return infer_fail(c, "normalise wants the window as input %d", IN_WINDOW);
    if (infer_has(c, IN_WINDOW) &&
        (c->in[IN_WINDOW]->rank != 1 || !dim_is(c->in[IN_WINDOW]->shape[0], *ret_size) ||
         c->in[IN_WINDOW]->type != DTYPE_F32))
        return infer_fail(c, "the window must be f32[%lld]", (long long) *ret_size);
    if ((infer_has(c, IN_INITIAL) || c->n_out > 1) && (a->tail != TAIL_COMPLETE || a->normalise))
        return infer_fail(c,
                          "partial sums go in and out only with tail = complete and normalise = 0");
    return RILL_OK;
}

static rill_status overlap_infer(struct infer *c)
{
    const struct overlap_attr *a = c->attr;
    const struct fact *x = c->in[IN_FRAMES];
    int64_t size = 0;
    TRY(overlap_check(c, &size));
    const struct dim *n = dim_mul_int(c->dims, x->shape[x->rank - 2], a->hop);
    if (a->tail == TAIL_FULL) { /* (T - 1) * hop + size, nothing for T = 0 */
        const struct dim *some = dim_min(c->dims, x->shape[x->rank - 2], dim_int(c->dims, 1));
        n = dim_add(c->dims, n, dim_mul_int(c->dims, some, size - a->hop));
    }
    for (unsigned o = 0; o < c->n_out; o++) {
        infer_same(c, o, IN_FRAMES);
        c->out[o].rank = x->rank - 1;
        c->out[o].shape[x->rank - 2] = o ? dim_int(c->dims, size - a->hop) : n;
    }
    if (infer_has(c, IN_INITIAL)) {
        struct fact rest = *c->in[IN_FRAMES];
        rest.rank = x->rank - 1;
        rest.shape[x->rank - 2] = dim_int(c->dims, size - a->hop);
        if (!fact_same(c->in[IN_INITIAL], &rest))
            return infer_fail(c, "the partial sums must have size - hop = %lld samples",
                              (long long) (size - a->hop));
    }
    return RILL_OK;
}

/* scratch: the line of T*hop + (size - hop) sums of one row. */
static rill_status overlap_prepare(struct prep *c)
{
    const struct overlap_attr *a = c->attr;
    const struct tensor *x = c->in[IN_FRAMES];
    int64_t line = x->dim[x->rank - 2] * a->hop + x->dim[x->rank - 1] - a->hop;
    c->scratch_bytes = (size_t) line * sizeof(float);
    return RILL_OK;
}

/* Adds the frames oldest first on top of what the line holds. */
static void line_add(const struct kern *k, float *line, const float *x, int64_t frames,
                     int64_t size, int64_t hop)
{
    for (int64_t t = 0; t < frames; t++)
        k->add_f32(line + t * hop, line + t * hop, x + t * size, (size_t) size);
}

static void line_normalise(float *line, const float *window, int64_t n, int64_t frames,
                           int64_t size, int64_t hop)
{
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int64_t t = i < size ? 0 : (i - size) / hop + 1; t < frames && t * hop <= i; t++)
            sum += window[i - t * hop] * window[i - t * hop];
        if (sum > 1e-8f)
            line[i] /= sum;
    }
}

static void overlap_eval(const struct eval *e)
{
    const struct overlap_attr *a = e->attr;
    const struct tensor *xs = e->in[IN_FRAMES], *ys = e->out[0];
    int64_t frames = xs->dim[xs->rank - 2], size = xs->dim[xs->rank - 1], rest = size - a->hop,
            rows = 1;
    int64_t n = ys->dim[ys->rank - 1], line_n = frames * a->hop + rest;
    const float *initial = e->n_in > IN_INITIAL ? e->x[IN_INITIAL] : NULL;
    float *line = e->scratch;
    for (int i = 0; i < xs->rank - 2; i++)
        rows *= xs->dim[i];
    for (int64_t r = 0; r < rows; r++) {
        memset(line, 0, (size_t) line_n * sizeof *line);
        if (initial)
            memcpy(line, initial + r * rest, (size_t) rest * sizeof *line);
        line_add(e->kern, line, (const float *) e->x[IN_FRAMES] + r * frames * size, frames, size,
                 a->hop);
        if (a->normalise)
            line_normalise(line, e->x[IN_WINDOW], n, frames, size, a->hop);
        memcpy((float *) e->y[0] + r * n, line, (size_t) n * sizeof *line);
        if (e->n_out > 1 && e->y[1])
            memcpy((float *) e->y[1] + r * rest, line + frames * a->hop,
                   (size_t) rest * sizeof *line);
    }
}

static const struct op op_frame = {
    .id = OP_FRAME,
    .name = "Frame",
    .attrs = frame_attrs,
    .attr_bytes = sizeof(struct frame_attr),
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = frame_infer,
    .eval = frame_eval,
    .help = "cuts the last axis into overlapping frames; end: drop, cover or flush",
};

static const struct op op_overlap_add = {
    .id = OP_OVERLAP_ADD,
    .name = "OverlapAdd",
    .attrs = overlap_attrs,
    .attr_bytes = sizeof(struct overlap_attr),
    .min_in = 1,
    .max_in = 3,
    .min_out = 1,
    .max_out = 2,
    .infer = overlap_infer,
    .prepare = overlap_prepare,
    .eval = overlap_eval,
    .help = "adds overlapping frames; takes and gives the partial sums of a longer sequence",
};

const struct op *const ops_frame[] = { &op_frame, &op_overlap_add, NULL };
