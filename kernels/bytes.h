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
/* A map of bytes that is two lines, the one of greater slope from x = at on, as activations like
 * Relu, LeakyRelu and a change of scale are between two roundings: after the flips (0, 128) of s8
 * y = to + max over both slopes of (((x - at) << shift) * slope + 2^14 >> 15), cut off at 0 and
 * 255. */
struct kern_map_line {
    uint8_t flip_x, flip_y;
    int16_t at, to, slope[2];
    unsigned shift;
};
/* Whether a table is one, in all 256 places. */
bool kern_map_line_of(struct kern_map_line *ret, const uint8_t *table);

/* y[i] = the greater of y[i] and x[i * step], i < n, after `flip`: 0 of u8, 128 of s8 */
void kern_bytes_most(uint8_t *restrict y, const uint8_t *restrict x, size_t n, size_t step,
                     uint8_t flip);
/* Bytes of rows of which each is the greatest of `lines` lines: x[line_step] lies below x. */
struct kern_lines_most {
    size_t rows, row_step, lines, line_step, n;
    uint8_t flip;
};
/* y[r * n + i] = the greatest of x[r * row_step + l * line_step + i], l < lines, i < n */
void kern_bytes_lines_most(uint8_t *restrict y, const uint8_t *restrict x,
                           const struct kern_lines_most *m);
#endif
