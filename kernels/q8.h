/* SPDX-License-Identifier: MIT */
/* q8.h - products of 8-bit rows with 8-bit weights, in whole numbers.
 *
 *   y[i][o] = bias[o] + sum over k of (x[i][k] - x_zero[i]) * (w[o][k] - w_zero[o])
 *
 * modulo 2^32, which is exact wherever the sum is a number of 32 bits. No order of additions
 * changes it, so every instruction set, tile and number of rows gives the same bits.
 *
 * Rows and weights may be s8 or u8. Packing makes weights s8: v[o][k] = w[o][k] - 128 for u8, whose
 * zero v_zero[o] is shifted alike. A kernel reads rows as its instructions want them (u8 for
 * vpdpbusd, s8 elsewhere): a[i][k] = x[i][k] + d, d one of -128, 0, 128, by turning the highest
 * bit. What it sums is a * v; with z = x_zero + d
 *
 *   sum (a - z) * (v - v_zero) = sum a * v - z * sum v - v_zero * sum (x - x_zero)
 *
 * The second sum is kept beside the packed weights, so that zeros of rows cost one multiplication
 * per output. The third is one of a row, and taken only where v_zero is not 0 everywhere.
 *
 * Sums of 16 bits. Where the fastest instruction adds products of u8 and s8 in pairs, in 16 bits,
 * and saturates (vpmaddubsw), pairs of two groups of four terms may meet before they are widened,
 * if of the four weights the positive ones sum up to at most 128, and so do the negative ones: no
 * sum leaves -255 * 128 .. 255 * 128, whatever the rows are. So the packing looks for groups of a
 * panel that may meet. Where a pair is too large by itself, an outlier, its group lies there twice,
 * with half of each weight. Where weights have the shape of a bell, as those of trained nets do,
 * few groups do, and few are left without another; the packing counts them, and orders groups so
 * where that is less work than without. */
#ifndef KERN_Q8_H
#define KERN_Q8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERN_Q8_TERMS 4 /* terms that lie side by side in a panel */

#define KERN_Q8_SPAN 1024 /* terms whose groups may meet */

/* Weights as kern_q8_pack lays them out: panels of 16 outputs, in each four terms after four, 16
 * outputs with four terms each (64 bytes, aligned); zero where there is no output or term.
 *
 * in_16: in another order, span by span of 1024 terms: first pairs of groups that may meet, then
 * single ones, and at `more` pairs for which there is no place. order[i]: which group of the span
 * the i-th of 64 bytes is; more_order: of those at `more`. Span s of panel p is
 * spans[p * (spans that there are) + s]. */
struct kern_q8_span {
    uint32_t from;         /* its first pair at `more` */
    uint16_t fours, mores; /* pairs, and those at `more` */
};
struct kern_q8 {
    const int8_t *w, *more;
    bool in_16;
    const struct kern_q8_span *spans;
    const uint8_t *order, *more_order;
    const int32_t *sums;  /* per output, whole panels */
    const int32_t *zeros; /* the same; NULL: all 0 */
    /* Set by who calls the product: */
    const int32_t *bias; /* per output, n of them; NULL: 0 */
    bool floats;         /* sums are stored as f32, each rounded once, */
    float by;            /* times this, rounded again */
    size_t n, k;
};

/* How rows are to be read. */
struct kern_q8_x {
    bool is_signed;
    size_t zero_step;    /* 1: a zero for each row; 0: one for all */
    const int32_t *zero; /* NULL: 0 */
};

/* What the weights are before they are packed: w[o][k] at w[o * stride_o + k * stride_k]. */
struct kern_q8_w {
    const void *w; /* s8 or u8 */
    bool is_signed;
    size_t n, k, stride_o, stride_k;
    size_t zero_step;
    const int32_t *zero; /* NULL: 0 */
    size_t rows;         /* 0: they stay in their order; else for about so many rows, by a kern with
                            q8_outliers, and then */
    void *work;          /* kern_q8_work_bytes of memory, as aligned as the packed form */
};

/* Floats as numbers of 8 bits: x = (q - zero) * scale, q in least .. most. */
struct kern_quant {
    float scale;
    int32_t zero, least, most;
};

/* Bytes of the packed form, a multiple of 64; it is to be 64-byte aligned. 0: too large. */
size_t kern_q8_bytes(size_t n, size_t k, bool outliers);
size_t kern_q8_work_bytes(size_t n, size_t k);
void kern_q8_pack(void *ret, const struct kern_q8_w *w);
/* Finds the parts of a packed form; no bias, by 1. */
struct kern_q8 kern_q8_open(const void *packed, size_t n, size_t k);

/* Whether what lies there is one that reads nothing outside itself, laid out by another process;
 * outliers: as it was for kern_q8_bytes. */
#define KERN_Q8_DAMAGED "its packed weights are damaged: compile the model again"
bool kern_q8_check(const void *packed, size_t n, size_t k, bool outliers);

/* u8 whose range holds 0 and low .. high. A range of 0 gives a scale of 0, and all values are 0 */
struct kern_quant kern_quant_of_range(float low, float high);
#endif
