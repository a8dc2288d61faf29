/* SPDX-License-Identifier: MIT */
#include "engine/ops/depthwise.h"

#include <string.h>

#define ROWS_FLOATS_MAX 65536   /* rows copied for one row of outputs */
#define TAPS_MAX        4096

/* Floats of one copied row: every place a tap may read for any output, and up to whole vectors. */
static int64_t row_floats(const struct depthwise *g)
{
    return g->out[2] + (g->kernel[2] - 1) * g->dilation[2] + KERN_LANES;
}

void depthwise_set(struct depthwise *ret, const struct window3 *g, bool transposed)
{
    ret->transposed = transposed;
    for (int i = 0; i < 3; i++) {
        ret->in[i] = g->in[i];
        ret->out[i] = g->out[i];
        ret->kernel[i] = g->kernel[i];
        ret->stride[i] = g->stride[i];
        ret->dilation[i] = g->dilation[i];
        ret->before[i] = g->before[i];
    }
}

size_t depthwise_scratch_bytes(const struct depthwise *g)
{
    int64_t rows, taps, floats;
    if (g->stride[2] != 1 || __builtin_mul_overflow(g->kernel[0], g->kernel[1], &rows) ||
        __builtin_mul_overflow(rows, g->kernel[2], &taps) || __builtin_mul_overflow(rows, row_floats(g), &floats) ||
        taps > TAPS_MAX || floats > ROWS_FLOATS_MAX)
        return 0;
    return (size_t) floats * sizeof(float) + (size_t) taps * (sizeof(size_t) + sizeof(float));
}

/* Input place of output place o at kernel place k; -1: none. */
static int64_t place(const struct depthwise *g, int axis, int64_t o, int64_t k)
{
    int64_t at;
    if (g->transposed) {
        at = o + g->before[axis] - k * g->dilation[axis];
        at = at % g->stride[axis] ? -1 : at / g->stride[axis];
    } else {
        at = o * g->stride[axis] - g->before[axis] + k * g->dilation[axis];
    }
    return at >= 0 && at < g->in[axis] ? at : -1;
}

static void row_copy(const struct depthwise *g, float *restrict to, const float *restrict x)
{
    int64_t n = row_floats(g), left = g->before[2];
    if (g->transposed)
        left = (g->kernel[2] - 1) * g->dilation[2] - left;
    int64_t first = left < 0 ? 0 : left < n ? left : n, last = g->in[2] + left < n ? g->in[2] + left : n;
    last = last < first ? first : last;
    memset(to, 0, (size_t) first * sizeof *to);
    memcpy(to + first, x + (first - left), (size_t) (last - first) * sizeof *to);
    memset(to + last, 0, (size_t) (n - last) * sizeof *to);
}

static void row_compute(const struct depthwise *g, const struct kern *k, float *y, const float *x, const float *w,
                        float bias, int64_t o0, int64_t o1, void *scratch)
{
    int64_t width = row_floats(g), n2 = g->kernel[2], taps = g->kernel[0] * g->kernel[1] * n2;
    size_t *at = scratch, n_taps = 0, row = 0;
    float *weight = (float *) (at + taps), *rows = weight + taps;
    for (int64_t k0 = 0; k0 < g->kernel[0]; k0++)
        for (int64_t k1 = 0; k1 < g->kernel[1]; k1++, w += n2) {
            int64_t i0 = place(g, 0, o0, k0), i1 = place(g, 1, o1, k1);
            if (i0 < 0 || i1 < 0)
                continue;
            row_copy(g, rows + row, x + (i0 * g->in[1] + i1) * g->in[2]);
            for (int64_t k2 = 0; k2 < n2; k2++) {
                at[n_taps] = row + (size_t) ((g->transposed ? n2 - 1 - k2 : k2) * g->dilation[2]);
                weight[n_taps++] = w[k2];
            }
            row += (size_t) width;
        }
    k->taps_f32(y, rows, at, weight, n_taps, bias, (size_t) g->out[2]);
}

void depthwise_channel(const struct depthwise *g, const struct kern *k, float *y, const float *x, const float *w,
                       float bias, void *scratch)
{
    for (int64_t o0 = 0; o0 < g->out[0]; o0++)
        for (int64_t o1 = 0; o1 < g->out[1]; o1++, y += g->out[2])
            row_compute(g, k, y, x, w, bias, o0, o1, scratch);
}
