/* SPDX-License-Identifier: MIT */
/* narrow.h - products of floats with weights that are kept in fewer bytes.
 *
 * A weight is widened as it is read, to the very number it stands for: halves are exact, and of a
 * whole number q it is ((float) q - zero) * scale, the product rounded once, as DequantizeLinear
 * computes it. So sums have the bits of gemm_f32 with those numbers as weights. Some terms in a
 * row, a block, share a scale and a zero. */
#ifndef KERN_NARROW_H
#define KERN_NARROW_H
#include <stddef.h>
#include <stdint.h>

enum kern_narrow_kind {
    KERN_NARROW_F16,
    KERN_NARROW_BF16,
    KERN_NARROW_S8, /* no zeros */
    KERN_NARROW_S8_ZERO,
    KERN_NARROW_U4, /* two terms to a byte, the first in its low bits; zeros */
    KERN_NARROW_KINDS
};

/* Panels of 16 outputs, in a panel term after term (of U4 two after two), 16 weights each; beside
 * them scales and zeros [panel][block][16]. What does not exist is zero. */
struct kern_narrow {
    enum kern_narrow_kind kind;
    size_t n, k;
    size_t block; /* terms that share a scale; even where two terms share a byte, or at least k */
    const uint8_t *w;
    const float *scale, *zero; /* NULL where the kind has none */
    const float *bias;         /* per output; NULL: 0. Set by who calls the product */
};

/* Before packing: w[k][n] of u16, s8, or a byte for each number of 4 bits; scale and zero
 * [blocks][n]; zero NULL: 0. */
struct kern_narrow_w {
    enum kern_narrow_kind kind;
    size_t n, k, block;
    const void *w, *zero;
    const float *scale;
};

/* Bytes of the packed form, a multiple of 64; it is to be 64-byte aligned. 0: too large. block is
 * at least 1. */
size_t kern_narrow_bytes(enum kern_narrow_kind kind, size_t n, size_t k, size_t block);
void kern_narrow_pack(void *ret, const struct kern_narrow_w *w);
/* Finds the parts of a packed form; no bias. */
struct kern_narrow kern_narrow_open(const void *packed, enum kern_narrow_kind kind, size_t n,
                                    size_t k, size_t block);

/* Bytes that a panel's weights take. */
static inline size_t kern_narrow_panel(enum kern_narrow_kind kind, size_t k)
{
    return kind == KERN_NARROW_U4 ? (k + 1) / 2 * 16 : kind < KERN_NARROW_S8 ? k * 32 : k * 16;
}
#endif
