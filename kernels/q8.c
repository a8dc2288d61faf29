/* SPDX-License-Identifier: MIT */
#include "kernels/q8.h"
#include "kernels/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCTS_MOST 128 /* of 255 with so much nothing leaves 16 bits */
#define WEIGHTS_EVERY 32  /* for one outlier there is room */
#define LINE 64

/* Panels, sums, zeros, a line that says whether there are zeros and what meets in 16 bits; where
 * the outliers of each span of each panel begin, and they. */
struct layout {
    size_t panels, w, sums, spans, last, from, outliers, bytes;
};

static size_t groups_of(size_t k)
{
    return k / KERN_Q8_TERMS + (k % KERN_Q8_TERMS > 0);
}

static size_t lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static struct layout layout_of(size_t n, size_t k, bool outliers)
{
    struct layout l = { .panels = n / KERN_LANES + (n % KERN_LANES > 0) };
    const size_t most = PTRDIFF_MAX / 256, out = KERN_LANES * sizeof(int32_t);
    if (k > most || l.panels > most ||
        __builtin_mul_overflow(l.panels, groups_of(k) * KERN_LANES * KERN_Q8_TERMS, &l.w) ||
        l.w > most)
        return (struct layout) { 0 };
    l.sums = l.panels * out;
    l.spans = k / KERN_Q8_SPAN + (k % KERN_Q8_SPAN > 0);
    l.last = l.w + 2 * l.sums;
    l.from = l.last + LINE;
    l.outliers = l.from + lines((l.panels * l.spans + 1) * sizeof(uint32_t));
    l.bytes = outliers ? l.outliers + lines(l.w / WEIGHTS_EVERY * sizeof(struct kern_q8_outlier))
                       : l.from;
    return l;
}

size_t kern_q8_bytes(size_t n, size_t k, bool outliers)
{
    return layout_of(n, k, outliers).bytes;
}

struct kern_q8 kern_q8_open(const void *packed, size_t n, size_t k)
{
    const struct layout l = layout_of(n, k, true);
    const char *at = packed;
    struct kern_q8 q = { .w = packed, .by = 1, .n = n, .k = k };
    q.sums = (const int32_t *) (const void *) (at + l.w);
    q.zeros = at[l.last] ? q.sums + l.panels * KERN_LANES : NULL;
    q.in_16 = (unsigned) at[l.last + 1];
    q.from = q.in_16 ? (const uint32_t *) (const void *) (at + l.from) : NULL;
    q.outliers = q.in_16 ? (const struct kern_q8_outlier *) (const void *) (at + l.outliers) : NULL;
    return q;
}

/* Those of one span, of so many terms, each with an output of its panel. */
static bool span_is_whole(const struct kern_q8_outlier *at, const struct kern_q8_outlier *end,
                          size_t terms)
{
    for (; at < end; at++)
        if (at->at / KERN_Q8_SPAN >= KERN_LANES || at->at % KERN_Q8_SPAN >= terms)
            return false;
    return true;
}

bool kern_q8_check(const void *packed, size_t n, size_t k, bool outliers)
{
    const struct layout l = layout_of(n, k, true);
    const uint8_t in_16 = ((const uint8_t *) packed)[l.last + 1];
    if (!outliers || !in_16)
        return !in_16;
    const struct kern_q8 q = kern_q8_open(packed, n, k);
    if ((in_16 != 2 && in_16 != 4) || q.from[0])
        return false;
    for (size_t i = 0; i < l.panels * l.spans; i++) {
        const size_t left = k - i % l.spans * KERN_Q8_SPAN;
        if (q.from[i + 1] < q.from[i] || q.from[i + 1] > l.w / WEIGHTS_EVERY ||
            !span_is_whole(q.outliers + q.from[i], q.outliers + q.from[i + 1],
                           left < KERN_Q8_SPAN ? left : KERN_Q8_SPAN))
            return false;
    }
    return true;
}

/* ---- outliers ---- */

/* Takes from n weights whose products meet what these may exceed 16 bits by, from the largest
 * first; ret[i]: from v[i]. Returns of how many. */
static unsigned meeting_split(int *v, unsigned n, int *ret)
{
    unsigned count = 0;
    for (int sign = -1; sign <= 1; sign += 2)
        for (;; count++) {
            int sum = -PRODUCTS_MOST;
            unsigned most = 0;
            for (unsigned i = 0; i < n; i++) {
                sum += v[i] * sign > 0 ? v[i] * sign : 0;
                most = v[i] * sign > v[most] * sign ? i : most;
            }
            if (sum <= 0)
                break;
            const int by = sum < v[most] * sign ? sum : v[most] * sign;
            v[most] -= by * sign;
            ret[most] = by * sign;
        }
    return count;
}

/* Where the products of a lane that meet have their weights: `half` of group g, and of the next. */
static unsigned meeting_at(size_t groups, size_t g, size_t half, size_t lane, unsigned in_16,
                           size_t at[4])
{
    unsigned n = 0;
    for (size_t i = g; i < groups && n < in_16; i++) {
        at[n++] = (i * KERN_LANES + lane) * KERN_Q8_TERMS + half * 2;
        at[n] = at[n - 1] + 1;
        n++;
    }
    return n;
}

static unsigned lane_split(int8_t *w, const size_t *at, unsigned n, struct kern_q8_outlier *ret)
{
    int v[4], by[4] = { 0 }, sizes = 0;
    for (unsigned i = 0; i < n; i++) {
        v[i] = w[at[i]];
        sizes += abs(v[i]);
    }
    const unsigned count = sizes > PRODUCTS_MOST ? meeting_split(v, n, by) : 0;
    for (unsigned i = 0; i < n && count && ret; i++) {
        const size_t lane = at[i] / KERN_Q8_TERMS % KERN_LANES,
                     term = at[i] / (KERN_LANES * KERN_Q8_TERMS) * KERN_Q8_TERMS +
            at[i] % KERN_Q8_TERMS;
        w[at[i]] = (int8_t) v[i];
        if (by[i])
            *ret++ = (struct kern_q8_outlier) { (int16_t) by[i],
                                                (uint16_t) (lane * KERN_Q8_SPAN + term) };
    }
    return count;
}

/* The outliers of a span of a panel, term by term, so that one seldom waits for the sum of the one
 * before. ret: NULL: they are counted. */
static size_t span_split(int8_t *w, size_t groups, unsigned in_16, struct kern_q8_outlier *ret)
{
    size_t count = 0, at[4];
    for (size_t g = 0; g < groups; g += in_16 / 2)
        for (size_t half = 0; half < 2; half++)
            for (size_t lane = 0; lane < KERN_LANES; lane++) {
                const unsigned n = meeting_at(groups, g, half, lane, in_16, at);
                count += lane_split(w, at, n, ret ? ret + count : NULL);
            }
    return count;
}

/* Counting ends where there are more than there is room for. */
static size_t weights_split(char *packed, const struct layout *l, size_t k, unsigned in_16,
                            bool count_only)
{
    const size_t groups = groups_of(k), span = KERN_Q8_SPAN / KERN_Q8_TERMS,
                 group = KERN_LANES * KERN_Q8_TERMS;
    uint32_t *from = (uint32_t *) (void *) (packed + l->from);
    struct kern_q8_outlier *to =
        count_only ? NULL : (struct kern_q8_outlier *) (void *) (packed + l->outliers);
    size_t count = 0;
    for (size_t p = 0; p < l->panels && count <= l->w / WEIGHTS_EVERY; p++)
        for (size_t g = 0; g < groups; g += span) {
            if (!count_only)
                *from++ = (uint32_t) count;
            count +=
                span_split((int8_t *) packed + (p * groups + g) * group,
                           groups - g < span ? groups - g : span, in_16, to ? to + count : NULL);
        }
    if (!count_only)
        *from = (uint32_t) count;
    return count;
}

/* What a product of so many rows costs, in sixths of a cycle, as measured (docs/speed.md): of 32
 * products, of an outlier and of a panel that has a list, which are for each of few rows or for
 * eight. */
static double cost_of(const struct layout *l, size_t outliers, size_t rows, unsigned in_16)
{
    const bool few = rows < KERN_Q8_EIGHT;
    const double of_32 = in_16 == 4 ? 5.8
        : in_16 == 2                ? 6.8
                                    : 8.1,
                 of_outlier = few ? 18 : 20,
                 of_panel = !in_16 ? 0
        : few                      ? 60
                                   : 200,
                 times = few ? (double) rows : (double) ((rows + 7) / 8);
    return (double) rows * (double) (l->w / 32) * of_32 +
        times * ((double) outliers * of_outlier + (double) l->panels * of_panel);
}

static void outliers_take(char *packed, const struct layout *l, const struct kern_q8_w *w)
{
    double least = cost_of(l, 0, w->rows, 0);
    unsigned best = 0;
    for (unsigned in_16 = 2; in_16 <= 4; in_16 += 2) {
        const size_t count = weights_split(packed, l, w->k, in_16, true);
        const double cost = cost_of(l, count, w->rows, in_16);
        if (count <= l->w / WEIGHTS_EVERY && count <= UINT32_MAX && cost < least)
            least = cost, best = in_16;
    }
    if (best)
        weights_split(packed, l, w->k, best, false);
    packed[l->last + 1] = (char) best;
}

/* ---- packing ---- */

/* One output: its column of the panel, its sum. */
static int32_t output_pack(int8_t *to, const struct kern_q8_w *w, size_t o)
{
    const uint8_t *from = (const uint8_t *) w->w + o * w->stride_o, flip = w->is_signed ? 0 : 0x80;
    uint32_t sum = 0;
    for (size_t i = 0; i < w->k; i++) {
        int8_t v = (int8_t) (from[i * w->stride_k] ^ flip);
        to[i / KERN_Q8_TERMS * KERN_LANES * KERN_Q8_TERMS + i % KERN_Q8_TERMS] = v;
        sum += (uint32_t) v;
    }
    return (int32_t) sum;
}

void kern_q8_pack(void *ret, const struct kern_q8_w *w)
{
    const struct layout l = layout_of(w->n, w->k, w->rows > 0);
    int8_t *to = ret;
    int32_t *sums = (int32_t *) (void *) (to + l.w), *zeros = sums + l.panels * KERN_LANES;
    memset(ret, 0, l.from);
    for (size_t o = 0; o < w->n; o++) {
        size_t panel = o / KERN_LANES;
        sums[o] = output_pack(to + l.w / l.panels * panel + o % KERN_LANES * KERN_Q8_TERMS, w, o);
        zeros[o] = (w->zero ? w->zero[o * w->zero_step] : 0) - (w->is_signed ? 0 : 128);
        to[l.last] |= zeros[o] != 0;
    }
    if (w->rows && w->n && w->k)
        outliers_take(ret, &l, w);
}

struct kern_quant kern_quant_of_range(float low, float high)
{
    struct kern_quant q = { .scale = (high - low) / 255 };
    if (!(q.scale > 0))
        return q;
    float zero = rintf(0 - low / q.scale);
    q.most = 255;
    q.zero = !(zero > 0) ? 0 : zero > 255 ? 255 : (int32_t) zero;
    return q;
}
