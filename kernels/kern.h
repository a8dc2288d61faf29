/* SPDX-License-Identifier: MIT */
/* kern.h - every inner loop the engine may run, as one table of functions.
 *
 * No kernel allocates. A product sums with lanes along the outputs and k strictly in order: one
 * fused multiply-add chain per output that starts from the bias, so every instruction set, batch
 * size and pulse gives the same bits. Transcendental functions are our own polynomials, the same
 * everywhere. Pointers may be unaligned unless a contract says otherwise. Lengths are in
 * elements. */
#ifndef KERN_H
#define KERN_H
#include "kernels/narrow.h"
#include "kernels/pointwise.h"
#include "kernels/q8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERN_LANES 16 /* outputs per packed panel */
#define KERN_GROUPS_PLACES 8
#define KERN_GROUPS_REACH 64
#define KERN_CONV_OUTS 8 /* outputs per panel of weights of conv_f32 */

struct kern_fft;
struct kern_rfft;
struct kern_cell;
struct kern_cell_seq;
struct kern_cell_row;
struct kern_program;

/* Where each output place of a row finds its inputs: place first + tap * step + output * stride of
 * a line, zero where that is not in 0 .. n_in-1. Set by kern_conv_set. */
struct kern_conv {
    ptrdiff_t first, step;
    size_t stride;
    size_t n_taps, n_in, n; /* n: output places */
    size_t n_groups,
        x_group; /* groups have outputs of their own; floats of x from one to the next */
    size_t full_from, full_to; /* vectors of 16 output places that are loaded whole for every tap */
    const uint32_t *mask;      /* [n_taps][vectors]: the places of a load that are inside */
};

/* Rows of outputs that follow each other, and floats of x from one to the next. */
struct kern_rows {
    size_t n, x;
};

/* The lines that a row of outputs reads, in the order of the sum. n_weights: taps of all lines that
 * the weights were packed for; lines that do not exist may be left out. */
struct kern_conv_lines {
    const struct kern_conv_line {
        ptrdiff_t x;
        size_t w;
    } * line; /* first place, from x; first tap's index in w */
    size_t n, n_weights;
};

/* Images of rows that lie one after the other, one output and one input image a group, all of the
 * same size and row length: place i of n has term k at x[i + at[k]]. */
struct kern_flat {
    size_t n, n_taps, n_groups, x_group; /* floats of x from group to group */
    const ptrdiff_t *at;
    const uint32_t *mask;      /* [vectors][n_taps], a bit a lane: places that are read, else zero,
                                  and in the upper half terms that exist, else left out */
    size_t full_from, full_to; /* vectors of 16 places all of whose terms exist */
};

/* Places of a convolution of one output a channel, channels side by side: tap t of channel c is
 * x[place.x + at[t] + c], or 0 where its mask is 0, and its output y[place.y + c]. */
struct kern_last {
    size_t n, n_taps; /* n: channels */
    const ptrdiff_t *at;
    size_t step_panel;    /* floats of w from 16 channels to the next */
    const uint32_t *mask; /* of each tap: 0 or 0xffff; NULL: all places exist */
    size_t n_places;
    const struct kern_last_place {
        ptrdiff_t x, y;
    } * place;
};

struct kern_grid;

/* n[0] x .. x n[3] elements, innermost last; strides in elements. */
struct kern_strided_copy {
    size_t n[4];
    ptrdiff_t from[4], to[4];
    bool overlaps; /* y may overlap x: elements are moved in order, none is read after it was
                      written */
    /* What is moved is rounded to it (kernels/program.h), by an inverse, and its innermost elements
     * lie one after the other; NULL: it is not. */
    const struct kern_grid *grid;
};

/* Part of a product, or one whose second operand is not packed. Output o of term i has its weight
 * at w[o / 16 * step_panel + i * step_k + o % 16]; whole panels are read, also where n ends within
 * one. */
struct kern_block {
    const float *w;
    size_t step_panel, step_k;
    const float *bias; /* NULL: zero */
    bool more;         /* the sums go on from y, not from bias */
    size_t n, k;
    const float *row_bias; /* of gemm_block_f32: of each row, instead of bias; NULL: none */
};

/* What is done with a and the next element x: a + x, a + |x|, a + x * x, a * x, the greatest and
 * the least, the first of equal ones, NaN where there is one. */
enum kern_fold {
    KERN_FOLD_SUM,
    KERN_FOLD_ABS,
    KERN_FOLD_SQUARE,
    KERN_FOLD_PROD,
    KERN_FOLD_MAX,
    KERN_FOLD_MIN
};

struct kern_away {
    float by, zero, low; /* zero and low: whole numbers within -128 .. 127 */
};

/* Windows over n channels that lie side by side: place i is at[i] bytes behind where its window
 * begins. Places come in pairs, and weights, -255 .. 255, as channels of pairs; `at` and the
 * weights of a place that does not exist make pairs whole: any place, and 0. */
struct kern_places {
    uint8_t flip; /* 0, or 0x80: bytes are read with that bit turned, as u8 */
    size_t n, n_pairs;
    const size_t *at;    /* [n_pairs][2] */
    const int16_t *w;    /* [n_pairs][n][2] */
    size_t w_step;       /* from pair to pair: 2 * n, or 0 where all have the same weights */
    const int32_t *bias; /* [n] */
};

/* From sums to bytes: by[o] * 2^(shift[o] - 31), shift in -31..30, rounded as kernels/fixed.h says
 * (once, or twice), + zero, cut to low..high. */
struct kern_requant {
    const int32_t *by, *shift;
    int32_t zero, low, high;
    bool once;
};

/* Places that lie side by side, and the taps of a window over them, in lines of four: tap t of a
 * line is at + t * step bytes from its place, and multiplied by w[t], -256 .. 255. Taps that do not
 * exist have weights of 0. */
struct kern_taps {
    uint8_t flip;         /* 0, or 0x80: bytes are read with that bit turned, as u8 */
    size_t step, n_lines; /* step: 1..4 */
    int32_t bias;
    const struct kern_taps_line {
        size_t at;
        int16_t w[4];
    } * line;
};
#define KERN_TAPS_BEHIND 32 /* bytes that may be read behind the last tap of the last place */

/* From sums to bytes: the sum plus bias as f32, times by, plus add, where that is negative times
 * leaky (0..1; 0: as it is), rounded to nearest even, + zero, cut to low..high. `step` is 1 where
 * each element has its own bias, by and add, 0 where one is for all. */
struct kern_scale {
    const int32_t *bias;   /* NULL: 0 */
    const float *by, *add; /* add may be NULL: 0 */
    size_t step;
    int32_t zero, low, high;
    float leaky;
};

/* A tile of a cell with weights of 8 bits: panels of 16 columns, for each pair of terms `down`
 * panels side by side, in each the two weights of each column; in bytes: see kernels/cell.h. */
struct kern_cell_sums {
    const void *w;
    size_t down, pairs;
    unsigned rows, panels; /* 1, 2 or 4; 1, 2, 3, 4, 6 or 8, no more than 24 together */
    bool wide;             /* weights are int16_t, not int8_t */
};
/* y[(panel * rows + row) * 16 + column] = sum over pairs of both weights times x[row][2 * pair ..]
 */
typedef void kern_cell_sums_fn(int32_t *restrict y, const struct kern_cell_sums *s,
                               const int16_t *const *x);

struct kern_map_line;

#define KERN_NORM_ROWS 4 /* that norm_rows_f32 takes */

struct kern {
    const char *isa;    /* "c", "avx2", "avx512", "neon": the set these functions were chosen for */
    const char *isa_q8; /* the same of those whose names end in q8: "avx512vnni", ... */

    /* y[i*ldy + o] = bias[o] + sum_k x[i*ldx + k] * w[o][k], i < m, o < n; bias may be NULL (zero).
     * w is packed by kern_pack_f32: panels of 16 outputs, k-major, 64-byte aligned. m = 1 is the
     * matrix-vector product. */
    void (*gemm_f32)(float *restrict y, size_t ldy, const float *restrict x, size_t ldx,
                     const float *restrict w, const float *restrict bias, size_t m, size_t n,
                     size_t k);
    /* The same for a part: k may be cut anywhere and the rest summed on top with `more`, to the
     * same bits. */
    void (*gemm_block_f32)(float *y, size_t ldy, const float *x, size_t ldx,
                           const struct kern_block *b, size_t m);
    /* The same with one pointer per row: y[i][o] and x[i][k]. Rows of y overlap neither each other
     * nor any x. */
    void (*gemm_rows_f32)(float *const *y, const float *const *x, const struct kern_block *b,
                          size_t m);
    /* The same where term i of row r is x[row[r] + at[i]]. */
    void (*gemm_at_f32)(float *restrict y, size_t ldy, const float *restrict x, const size_t *row,
                        const size_t *at, const struct kern_block *b, size_t m);
    /* `count` products of one row: y[b*step_y + o] = sum_k x[b*step_x + k] * w_b[o][k], o < n, the
     * packed w_b one after the other. */
    void (*gemm_each_f32)(float *restrict y, size_t step_y, const float *restrict x, size_t step_x,
                          const float *restrict w, size_t n, size_t k, size_t count);

    /* y[i][o] = w->bias[o] + sum_k x[i][k] * w[o][k], i < m, to the bits of gemm_f32 with the
     * numbers that the weights stand for (kernels/narrow.h). Rows of y overlap neither each other
     * nor any x. */
    void (*gemm_rows_narrow)(float *const *y, const float *const *x, const struct kern_narrow *w,
                             size_t m);
    /* `count` products of one row: y[o] = sum_k x[b*step_x + k] * w[o][k], where outputs b*n ..
     * b*n+n-1 are of row b, n = w->n / count a multiple of 16; to the bits of gemm_each_f32. w: of
     * KERN_NARROW_S8, a scale for each output, no bias. */
    void (*gemm_each_narrow)(float *restrict y, const float *restrict x, size_t step_x,
                             const struct kern_narrow *w, size_t count);

    /* y[i] = f(x[i]), y[i] = f(a[i], b[i]); y may be an operand */
#define KERN_MEMBER_1(name) void (*name##_f32)(float *y, const float *x, size_t n)
#define KERN_MEMBER_2(name) void (*name##_f32)(float *y, const float *a, const float *b, size_t n)
#define X(number, name, operands) KERN_MEMBER_##operands(name);
    KERN_POINTWISE(X)
#undef X

    /* y[i] = a[i] op s; y may be a */
    void (*adds_f32)(float *y, const float *a, float s, size_t n);
    void (*muls_f32)(float *y, const float *a, float s, size_t n);
    void (*divs_f32)(float *y, const float *a, float s, size_t n);
    /* y[i] = e^(a[i] + s), and 0 below 2^-125.5; a[i] + s is at most 88 or NaN */
    void (*exp_adds_f32)(float *y, const float *a, float s, size_t n);
    /* exp_adds_f32, and beside it z[i] /= d, which does not overlap a and y */
    void (*exp_adds_divs_f32)(float *y, const float *a, float s, float *z, float d, size_t n);
    /* y[i] = a[i] < 0 ? alpha * (e^a[i] - 1) : a[i]; y may be a */
    void (*elu_f32)(float *y, const float *a, float alpha, size_t n);

    /* y[o*ldy + i] = bias[o] + sum over lines, taps of w * x, one chain of fused multiply-adds per
     * output in that order; o < n_outs of each group, group after group, i < c->n. bias may be NULL
     * (zero). w is packed by kern_conv_pack_f32, again group after group. Only places that exist
     * are read. */
    void (*conv_f32)(float *restrict y, size_t ldy, const float *restrict x,
                     const float *restrict w, const float *restrict bias, size_t n_outs,
                     const struct kern_conv_lines *lines, const struct kern_conv *c);
    /* Pools of the same places and lines, of one output a group: the greatest of those that exist
     * (the first of equal ones; NaN where there is one; -inf of none), their sum in order, divided
     * by count[i] unless that is NULL, or the sum of their squares, each a fused multiply-add. Row
     * after row of a group; ldy: from group to group. */
    void (*pool_max_f32)(float *restrict y, size_t ldy, const float *restrict x,
                         const float *restrict count, const struct kern_conv_lines *lines,
                         const struct kern_conv *c, const struct kern_rows *rows);
    void (*pool_mean_f32)(float *restrict y, size_t ldy, const float *restrict x,
                          const float *restrict count, const struct kern_conv_lines *lines,
                          const struct kern_conv *c, const struct kern_rows *rows);
    void (*pool_squares_f32)(float *restrict y, size_t ldy, const float *restrict x,
                             const float *restrict count, const struct kern_conv_lines *lines,
                             const struct kern_conv *c, const struct kern_rows *rows);

    /* Rows of n, each into one number: the greatest, NaN where there is one; the sum from y[r] on,
     * in order; that of 16 chains, halved until one is left, and of what is behind the last whole
     * 16; mean, and root of the sum of squares, which are summed as norm_f32 does. */
    void (*rows_max_f32)(float *y, const float *x, size_t rows, size_t n);
    void (*rows_sum_f32)(float *y, const float *x, size_t rows, size_t n);
    void (*chains_sum_f32)(float *y, const float *x, size_t rows, size_t n);
    void (*rows_mean_f32)(float *y, const float *x, size_t rows, size_t n);
    void (*rows_norm_f32)(float *y, const float *x, size_t rows, size_t n);

    /* Rows of n onto the one at y, element by element, row after row; sums of f64, too. */
    void (*fold_rows_f32)(float *y, const float *x, size_t rows, size_t n, enum kern_fold how);
    void (*sum_rows_f64)(double *y, const float *x, size_t rows, size_t n);

    /* conv_f32 of one output a group, row after row of the group; ldy: from group to group. */
    void (*conv_depth_f32)(float *restrict y, size_t ldy, const float *restrict x,
                           const float *restrict w, const float *restrict bias,
                           const struct kern_conv_lines *lines, const struct kern_conv *c,
                           const struct kern_rows *rows);
    /* conv_f32 of one output a group and one line, all of whose taps exist, step > 0: at most
     * KERN_GROUPS_PLACES places of windows of KERN_GROUPS_REACH floats. w: as kern_outs_pack_f32
     * packs the groups as outputs, more than 8; n_outs: 1. */
    void (*conv_groups_f32)(float *restrict y, size_t ldy, const float *restrict x,
                            const float *restrict w, const float *restrict bias, size_t n_outs,
                            const struct kern_conv_lines *lines, const struct kern_conv *c);
    /* conv_depth_f32 where all rows of a group have one length; groups of y lie one after the
     * other. */
    void (*conv_flat_f32)(float *restrict y, const float *restrict x, const float *restrict w,
                          const float *restrict bias, const struct kern_flat *c);
    /* The sums of kern_last, from the bias (NULL: zero) over taps in order. w: [panels of 16
     * channels][taps][16]. */
    void (*conv_last_f32)(float *restrict y, const float *restrict x, const float *restrict w,
                          const float *restrict bias, const struct kern_last *c);
    /* y[i] = (x[i] - mean) * inv * gain[i] + shift[i], inv = 1 / sqrt(variance + epsilon), n > 0.
     * gain and shift may be NULL (1 and 0), y too; y may be x. */
    void (*norm_f32)(float *y, const float *x, const float *gain, const float *shift, float epsilon,
                     size_t n, float ret_moments[2]); /* mean, inv */
    /* The same of KERN_NORM_ROWS rows that lie one behind the other, to the same bits. */
    void (*norm_rows_f32)(float *y, const float *x, const float *gain, const float *shift,
                          float epsilon, size_t n, float ret_moments[KERN_NORM_ROWS][2]);
    /* y[i] = x[i] / sqrt(mean square + epsilon) * gain[i]; y may be x. */
    void (*rms_f32)(float *y, const float *x, const float *gain, float epsilon, size_t n);
    /* Runs the program on rows of n elements of operands that lie in those buffers, which move on
     * by row_step floats each from row to row (NULL: there is one). What it makes overlaps no
     * operand, but may be one. See kernels/program.h. */
    void (*program_f32)(const struct kern_program *p, float *const *buffer, const size_t *row_step,
                        size_t rows, size_t n);

    /* y[sum of i * to] = x[sum of i * from] */
    void (*strided_copy_f32)(float *y, const float *x, const struct kern_strided_copy *m);

    /* `steps` steps of a small cell for each row. See kernels/cell.h. */
    void (*cell_small_f32)(const struct kern_cell *c, const struct kern_cell_row *rows,
                           size_t n_rows, size_t steps);
    /* The same for a cell of any size. */
    void (*cell_seq_f32)(const struct kern_cell_seq *c, const struct kern_cell_row *rows,
                         size_t n_rows, size_t steps);

    /* Whole sums of a tile of a cell with weights of 8 bits. */
    kern_cell_sums_fn *cell_sums;

    /* The same sums with lanes along the outputs: every place that a tap reads must exist,
     * c->stride is 1 or 2, w is packed by kern_outs_pack_f32. c's masks are not used. */
    void (*conv_outs_f32)(float *restrict y, size_t ldy, const float *restrict x,
                          const float *restrict w, const float *restrict bias, size_t n_outs,
                          const struct kern_conv_lines *lines, const struct kern_conv *c);
    /* y[2 * i] = a[i], y[2 * i + 1] = b[i], i < n */
    void (*weave_f32)(float *restrict y, const float *restrict a, const float *restrict b,
                      size_t n);
    /* Copies of all lines, one after the other: places at .. at+span-1 of each, zeros outside of 0
     * .. n_in-1. */
    void (*conv_lines_f32)(float *restrict to, size_t span, const float *restrict x,
                           const struct kern_conv_lines *lines, ptrdiff_t at, size_t n_in);

    /* Winograd's F(4, 3) (docs/kernels.md). Six components of each tile of six places: tile i < n
     * of a row has place k at x[(row * 4 + k) * n + i], component k goes to y[k * step + row * n +
     * i]. Up to 15 floats behind a component are written, and as many behind x are read. */
    void (*winograd_in_f32)(float *restrict y, size_t step, const float *restrict x, size_t rows,
                            size_t n);
    /* The same where place k of tile i is x[4 * i + k]. n: a multiple of 16; x is read up to
     * x[4 * n + 3]. */
    void (*winograd_in_places_f32)(float *restrict y, size_t step, const float *restrict x,
                                   size_t n);
    /* Four outputs of each tile of six products: tile i < n of a row has product k at
     * m[k * step + row * n + i], output k goes to y[(row * 4 + k) * n + i]. */
    void (*winograd_out_f32)(float *restrict y, const float *restrict m, size_t step, size_t rows,
                             size_t n);

    /* Complex transform in place of split parts: x[k] = sum_i x[i] e^(-2 pi i k / n). Swapping re
     * and im gives the inverse times n. work: kern_fft_work_floats. See kernels/fft.h. */
    void (*fft_f32)(const struct kern_fft *f, float *restrict re, float *restrict im,
                    float *restrict work);
    /* y[k] = (real, imaginary), k <= n/2, and back (divided by n; imaginary parts of the first and,
     * for even n, the last are ignored). work: kern_rfft_work_floats */
    void (*rfft_f32)(const struct kern_rfft *f, float *restrict y, const float *restrict x,
                     float *restrict work);
    void (*irfft_f32)(const struct kern_rfft *f, float *restrict y, const float *restrict x,
                      float *restrict work);

    /* The least and the greatest of x and 0; what is no number does not count. */
    void (*range_f32)(const float *x, size_t n, float ret_low_high[2]);
    /* y[i] = x[i] / scale, rounded to nearest even, + zero, saturated: numbers of 8 bits. NaN gives
     * the least. */
    void (*quantize_f32)(void *y, const float *x, size_t n, const struct kern_quant *q);

    /* y[i] = x[i] * by + zero, cut to low .. 127, rounded half away from zero: i8. NaN gives low.
     */
    void (*quantize_away_f32)(int8_t *y, const float *x, size_t n, const struct kern_away *q);

    /* y[i * n + o] = bias[o] + sum over places of (x[i * step + at[place] + o] ^ flip) *
     * w[place][o], o < n, i < windows, modulo 2^32 */
    void (*places_sum)(int32_t *restrict y, const uint8_t *restrict x, size_t step, size_t windows,
                       const struct kern_places *p);
    /* y[o] = the greatest of x[at[i] + o] ^ flip, i < n_places, o < n, with that bit turned back */
    void (*places_max)(uint8_t *restrict y, const uint8_t *restrict x, const size_t *at,
                       size_t n_places, size_t n, uint8_t flip);
    /* y[o] of x[o], o < n: s8 or u8, as low and high are */
    void (*requantize)(uint8_t *restrict y, const int32_t *restrict x, size_t n,
                       const struct kern_requant *q);

    /* y[i] = bias + sum over lines and taps of (x[at + t * step + i] ^ flip) * w[t], i < n rounded
     * up to 16, modulo 2^32 */
    void (*taps_sum)(int32_t *restrict y, const uint8_t *restrict x, size_t n,
                     const struct kern_taps *t);
    /* y[i] of x[i], i < n: s8 or u8, as low and high are */
    void (*scale_bytes)(uint8_t *restrict y, const int32_t *restrict x, size_t n,
                        const struct kern_scale *s);
    /* y[i] = table[x[i]], i < n, of 256; y may be x. `line` (kernels/bytes.h): the same; NULL: it
     * is none */
    void (*map_bytes)(uint8_t *y, const uint8_t *x, size_t n, const uint8_t *table,
                      const struct kern_map_line *line);
    /* Places as the outputs of packed weights: what kern_q8_pack makes of w[o][k] = x[at[k] + o],
     * s8 after `flip` (0 or 128), o < n. Sums follow the panels of `to`; no zeros. */
    void (*places_pack)(int8_t *restrict to, int32_t *restrict sums, const uint8_t *restrict x,
                        const size_t *at, size_t k, size_t n, uint8_t flip);

    /* Products of 8 bits (kernels/q8.h): y[i*ldy + o], rows of w->k bytes at x + i*ldx, i < m. Rows
     * of y overlap neither each other nor any x. */
    void (*gemm_q8)(int32_t *restrict y, size_t ldy, const void *restrict x, size_t ldx,
                    const struct kern_q8 *w, const struct kern_q8_x *how, size_t m);
    /* The same with one pointer per row. */
    void (*gemm_rows_q8)(int32_t *const *y, const void *const *x, const struct kern_q8 *w,
                         const struct kern_q8_x *how, size_t m);

    size_t l2_bytes, l3_bytes; /* caches that one core may fill */
    size_t tile_panels;        /* of 16 outputs, that a tile of gemm_f32 takes of many rows */
    unsigned cpu;              /* the enum kern_cpu bits that these functions were chosen by */
    bool q8_outliers; /* gemm_q8 and gemm_rows_q8 read weights ordered for 16 bits, and gain */
};

/* y = f(x) by the kernel of a function of one operand (kernels/program.h). */
void kern_map_f32(const struct kern *k, int function, float *y, const float *x, size_t n);

/* The functions of a set beside the pointwise ones: what any model may need, and groups that only
 * steps which said so in prepare may call (struct prep, engine/graph/op.h). A program with one
 * compiled model is linked with those of its steps. */
#define KERN_GROUP_most(K)                                                                         \
    K(gemm_f32)                                                                                    \
    K(gemm_rows_f32)                                                                               \
    K(gemm_at_f32)                                                                                 \
    K(gemm_block_f32)                                                                              \
    K(gemm_each_f32)                                                                               \
    K(adds_f32)                                                                                    \
    K(muls_f32)                                                                                    \
    K(divs_f32)                                                                                    \
    K(exp_adds_f32)                                                                                \
    K(exp_adds_divs_f32)                                                                           \
    K(elu_f32)                                                                                     \
    K(rows_max_f32)                                                                                \
    K(rows_sum_f32)                                                                                \
    K(chains_sum_f32)                                                                              \
    K(rows_mean_f32)                                                                               \
    K(rows_norm_f32)                                                                               \
    K(fold_rows_f32)                                                                               \
    K(sum_rows_f64)                                                                                \
    K(conv_f32)                                                                                    \
    K(conv_groups_f32)                                                                             \
    K(conv_depth_f32)                                                                              \
    K(conv_flat_f32)                                                                               \
    K(conv_outs_f32)                                                                               \
    K(conv_lines_f32)                                                                              \
    K(weave_f32)                                                                                   \
    K(program_f32)                                                                                 \
    K(strided_copy_f32)                                                                            \
    K(norm_f32)                                                                                    \
    K(norm_rows_f32)                                                                               \
    K(rms_f32)                                                                                     \
    K(range_f32)                                                                                   \
    K(quantize_f32)
#define KERN_GROUP_small(K) K(cell_small_f32)
#define KERN_GROUP_seq(K) K(cell_seq_f32) K(cell_sums)
#define KERN_GROUP_narrow(K) K(gemm_rows_narrow) K(gemm_each_narrow)
#define KERN_GROUP_pool(K) K(pool_max_f32) K(pool_mean_f32) K(pool_squares_f32)
#define KERN_GROUP_last(K) K(conv_last_f32)
#define KERN_GROUP_fft(K) K(fft_f32) K(rfft_f32) K(irfft_f32)
#define KERN_GROUP_winograd(K) K(winograd_in_f32) K(winograd_in_places_f32) K(winograd_out_f32)
#define KERN_GROUP_bytes(K)                                                                        \
    K(quantize_away_f32)                                                                           \
    K(places_sum)                                                                                  \
    K(places_max)                                                                                  \
    K(requantize)                                                                                  \
    K(taps_sum)                                                                                    \
    K(scale_bytes)                                                                                 \
    K(map_bytes)                                                                                   \
    K(places_pack)
#define KERN_GROUP_q8(K) K(gemm_q8) K(gemm_rows_q8)
enum kern_uses {
    KERN_USES_SMALL = 1 << 0,
    KERN_USES_SEQ = 1 << 1,
    KERN_USES_NARROW = 1 << 2,
    KERN_USES_POOL = 1 << 3,
    KERN_USES_FFT = 1 << 4,
    KERN_USES_BYTES = 1 << 5,
    KERN_USES_WINOGRAD = 1 << 6,
    KERN_USES_LAST = 1 << 7
};
/* Every group but q8, which sets of their own have, too, and which goes with bytes: X(name, the
 * enum kern_uses it is for; 0: any). */
#define KERN_GROUPS(X)                                                                             \
    X(most, 0)                                                                                     \
    X(small, KERN_USES_SMALL)                                                                      \
    X(seq, KERN_USES_SEQ)                                                                          \
    X(narrow, KERN_USES_NARROW)                                                                    \
    X(pool, KERN_USES_POOL)                                                                        \
    X(fft, KERN_USES_FFT)                                                                          \
    X(bytes, KERN_USES_BYTES)                                                                      \
    X(winograd, KERN_USES_WINOGRAD)                                                                \
    X(last, KERN_USES_LAST)
#define KERN_EACH(K)                                                                               \
    KERN_GROUP_most(K) KERN_GROUP_small(K) KERN_GROUP_seq(K) KERN_GROUP_narrow(K)                  \
        KERN_GROUP_pool(K) KERN_GROUP_fft(K) KERN_GROUP_bytes(K) KERN_GROUP_winograd(K)            \
            KERN_GROUP_last(K)
#define KERN_EACH_Q8(K) KERN_GROUP_q8(K)

enum kern_cpu {
    KERN_AVX2 = 1 << 0,   /* and FMA, F16C */
    KERN_AVX512 = 1 << 1, /* F, BW, DQ, VL */
    KERN_NEON = 1 << 2,
    KERN_AVXVNNI = 1 << 3,
    KERN_AVX512VNNI = 1 << 4,
    KERN_DOTPROD = 1 << 5,
    KERN_I8MM = 1 << 6
};
/* The instruction sets beside plain C, each better than those before it: X(name, what a processor
 * must have). Some have kernels of 8 bits only, or all others; the rest is of the sets before. */
#if defined(__arm__) || defined(__riscv)
#include "kernels/isas_edge.h"
#elif defined(__aarch64__)
#define KERN_ISAS(X)                                                                               \
    X(neon, KERN_NEON)                                                                             \
    X(dotprod, KERN_NEON | KERN_DOTPROD)                                                           \
    X(i8mm, KERN_NEON | KERN_DOTPROD | KERN_I8MM)
#else
#define KERN_ISAS(X)                                                                               \
    X(avx2, KERN_AVX2)                                                                             \
    X(avxvnni, KERN_AVX2 | KERN_AVXVNNI)                                                           \
    X(avx512, KERN_AVX2 | KERN_AVX512)                                                             \
    X(avx512vnni, KERN_AVX2 | KERN_AVX512 | KERN_AVX512VNNI)
#endif

unsigned kern_cpu_detect(void);
/* Best function for each slot; with cpu 0 (plain C) the caches are not looked up. */
void kern_init(struct kern *k, unsigned cpu);
/* Leaves NULL of groups that are not among `uses`. */
void kern_keep(struct kern *k, unsigned uses);
#define KERN_L2_BYTES ((size_t) 256 << 10) /* of a machine that does not say */
#define KERN_L3_BYTES ((size_t) 2 << 20)
/* What is known of this machine's caches: from sysfs, else CPUID, else 256 KiB and 2 MiB. Reads
 * files: set-up time. */
void kern_caches(size_t *ret_l2_bytes, size_t *ret_l3_bytes);

#define KERN_BLOCK_ROWS 24 /* a multiple of the rows that tiles of many rows have */
/* gemm_f32 block by block: where rows are read again for other panels, or panels for other rows,
 * and do not fit in the caches. The bits are the same. */
void kern_gemm_blocks_f32(const struct kern *k, float *restrict y, size_t ldy,
                          const float *restrict x, size_t ldx, const float *restrict w,
                          const float *restrict bias, size_t m, size_t n, size_t terms);
/* gemm_f32 for any size. */
static inline void kern_gemm_f32(const struct kern *k, float *restrict y, size_t ldy,
                                 const float *restrict x, size_t ldx, const float *restrict w,
                                 const float *restrict bias, size_t m, size_t n, size_t terms)
{
    if (m <= KERN_BLOCK_ROWS || !terms)
        k->gemm_f32(y, ldy, x, ldx, w, bias, m, n, terms);
    else
        kern_gemm_blocks_f32(k, y, ldy, x, ldx, w, bias, m, n, terms);
}

/* Packing is set-up time. w[o][k] is read at w[o * stride_o + k * stride_k]; the outputs of the
 * last panel that do not exist are zero. */
size_t kern_packed_floats(size_t n, size_t k); /* floats kern_pack_f32 writes */
void kern_pack_f32(float *ret, const float *w, size_t n, size_t k, size_t stride_o,
                   size_t stride_k);

/* Panels of KERN_CONV_OUTS outputs (n_outs, if that is less), taps in order, 0 for outputs that do
 * not exist. Weight of output o and tap t: w[o * stride_o + (at ? at[t] : t)]. */
size_t kern_conv_packed_floats(size_t n_outs, size_t n_taps);
void kern_conv_pack_f32(float *ret, const float *w, size_t n_outs, size_t n_taps, size_t stride_o,
                        const size_t *at);

/* The same for conv_outs_f32: panels of 16 outputs, or 8 where there are no more. */
size_t kern_outs_packed_floats(size_t n_outs, size_t n_taps);
void kern_outs_pack_f32(float *ret, const float *w, size_t n_outs, size_t n_taps, size_t stride_o,
                        const size_t *at);

/* Fills in full_from, full_to and mask, for which there must be n_taps * ((n + 15) / 16) places. */
void kern_conv_set(struct kern_conv *c, uint32_t *mask);
#endif
