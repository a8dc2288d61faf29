/* SPDX-License-Identifier: MIT */
#include "kernels/q8.h"
#include "kernels/kern.h"

#include <math.h>
#include <string.h>

/* Panels, sums, zeros, and whether there are zeros. */
struct layout {
    size_t panels, w, sums, bytes;
};

static size_t groups_of(size_t k)
{
    return k / KERN_Q8_TERMS + (k % KERN_Q8_TERMS > 0);
}

static struct layout layout_of(size_t n, size_t k)
{
    struct layout l = { .panels = n / KERN_LANES + (n % KERN_LANES > 0) };
    const size_t most = PTRDIFF_MAX / 256, out = KERN_LANES * sizeof(int32_t);
    if (k > most || l.panels > most ||
        __builtin_mul_overflow(l.panels, groups_of(k) * KERN_LANES * KERN_Q8_TERMS, &l.w) ||
        l.w > most)
        return (struct layout) { 0 };
    l.sums = l.panels * out;
    l.bytes = l.w + 2 * l.sums + 64;
    return l;
}

size_t kern_q8_bytes(size_t n, size_t k)
{
    return layout_of(n, k).bytes;
}

struct kern_q8 kern_q8_open(const void *packed, size_t n, size_t k)
{
    const struct layout l = layout_of(n, k);
    const char *at = packed;
    struct kern_q8 q = { .w = packed, .by = 1, .n = n, .k = k };
    q.sums = (const int32_t *) (const void *) (at + l.w);
    q.zeros = at[l.w + 2 * l.sums] ? q.sums + l.panels * KERN_LANES : NULL;
    return q;
}

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
    const struct layout l = layout_of(w->n, w->k);
    int8_t *to = ret;
    int32_t *sums = (int32_t *) (void *) (to + l.w), *zeros = sums + l.panels * KERN_LANES;
    int8_t *any_zero = to + l.w + 2 * l.sums;
    memset(ret, 0, l.bytes);
    for (size_t o = 0; o < w->n; o++) {
        size_t panel = o / KERN_LANES;
        sums[o] = output_pack(to + l.w / l.panels * panel + o % KERN_LANES * KERN_Q8_TERMS, w, o);
        zeros[o] = (w->zero ? w->zero[o * w->zero_step] : 0) - (w->is_signed ? 0 : 128);
        *any_zero |= zeros[o] != 0;
    }
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
