/* SPDX-License-Identifier: MIT */
/* bytes.h - bytes that are moved, compared, or become floats: as fast in what every machine has as
 * in its newer instructions. */
#ifndef KERN_BYTES_H
#define KERN_BYTES_H
#include "kernels/q8.h"

/* y[c * ldy + r] = x[r * ldx + c], r < rows, c < cols */
void kern_bytes_turn(uint8_t *restrict y, size_t ldy, const uint8_t *restrict x, size_t ldx,
                     size_t rows, size_t cols);
/* y[i] = (x[i] - zero) * scale, of s8 where q->least < 0, else of u8; i < n */
void kern_bytes_real(float *restrict y, const uint8_t *restrict x, size_t n,
                     const struct kern_quant *q);
/* y[i] = the greater of y[i] and x[i * step], i < n, after `flip`: 0 of u8, 128 of s8 */
void kern_bytes_most(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t step,
                     uint8_t flip);
#endif
