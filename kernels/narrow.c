/* SPDX-License-Identifier: MIT */
#include "kernels/kern.h"

#include <stdbool.h>
#include <string.h>

static bool has_scale(enum kern_narrow_kind kind)
{
    return kind >= KERN_NARROW_S8;
}

static bool has_zero(enum kern_narrow_kind kind)
{
    return kind > KERN_NARROW_S8;
}

static size_t up_to_line(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t blocks_of(size_t k, size_t block)
{
    return k / block + (k % block != 0);
}

/* Room for weights behind the last, which are loaded 16 at a time. */
static size_t weights_bytes(enum kern_narrow_kind kind, size_t n, size_t k)
{
    return up_to_line((n + KERN_LANES - 1) / KERN_LANES * kern_narrow_panel(kind, k));
}

static size_t list_bytes(size_t n, size_t k, size_t block)
{
    return (n + KERN_LANES - 1) / KERN_LANES * blocks_of(k, block) * KERN_LANES * sizeof(float);
}

size_t kern_narrow_bytes(enum kern_narrow_kind kind, size_t n, size_t k, size_t block)
{
    size_t most;
    if (n > PTRDIFF_MAX / 64 || k > PTRDIFF_MAX / 64 ||
        __builtin_mul_overflow(n + KERN_LANES, k + 2, &most) || most > PTRDIFF_MAX / 64)
        return 0;
    size_t lists = (size_t) has_scale(kind) + has_zero(kind);
    return weights_bytes(kind, n, k) + lists * list_bytes(n, k, block) + 64;
}

struct kern_narrow kern_narrow_open(const void *packed, enum kern_narrow_kind kind, size_t n,
                                    size_t k, size_t block)
{
    const uint8_t *at = packed;
    const void *scale = at + weights_bytes(kind, n, k);
    const void *zero = (const uint8_t *) scale + list_bytes(n, k, block);
    return (struct kern_narrow) { .kind = kind,
                                  .n = n,
                                  .k = k,
                                  .block = block,
                                  .w = at,
                                  .scale = has_scale(kind) ? scale : NULL,
                                  .zero = has_zero(kind) ? zero : NULL };
}

static void panel_pack(uint8_t *to, const struct kern_narrow_w *w, size_t o, size_t lanes)
{
    const uint8_t *from = w->w;
    for (size_t i = 0; i < w->k; i++)
        for (size_t l = 0; l < lanes; l++) {
            size_t at = i * w->n + o + l;
            if (w->kind < KERN_NARROW_S8)
                memcpy(to + (i * KERN_LANES + l) * 2, from + at * 2, 2);
            else if (w->kind != KERN_NARROW_U4)
                to[i * KERN_LANES + l] = from[at];
            else
                to[i / 2 * KERN_LANES + l] |= (uint8_t) ((from[at] & 15) << i % 2 * 4);
        }
}

static float zero_at(const struct kern_narrow_w *w, size_t at)
{
    return !w->zero                 ? 0
        : w->kind == KERN_NARROW_U4 ? (float) ((const uint8_t *) w->zero)[at]
                                    : (float) ((const int8_t *) w->zero)[at];
}

void kern_narrow_pack(void *ret, const struct kern_narrow_w *w)
{
    const struct kern_narrow to = kern_narrow_open(ret, w->kind, w->n, w->k, w->block);
    const size_t blocks = blocks_of(w->k, w->block), panel = kern_narrow_panel(w->kind, w->k);
    memset(ret, 0, kern_narrow_bytes(w->kind, w->n, w->k, w->block));
    for (size_t o = 0; o < w->n; o += KERN_LANES) {
        size_t lanes = w->n - o < KERN_LANES ? w->n - o : KERN_LANES;
        panel_pack((uint8_t *) ret + o / KERN_LANES * panel, w, o, lanes);
        for (size_t b = 0; b < blocks && to.scale; b++)
            for (size_t l = 0; l < lanes; l++) {
                size_t at = (o / KERN_LANES * blocks + b) * KERN_LANES + l;
                ((float *) to.scale)[at] = w->scale[b * w->n + o + l];
                if (to.zero)
                    ((float *) to.zero)[at] = zero_at(w, b * w->n + o + l);
            }
    }
}
