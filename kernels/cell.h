/* SPDX-License-Identifier: MIT */
/* cell.h - recurrent cells: what the kernels of whole cells compute, and their weights. */
#ifndef KERN_CELL_H
#define KERN_CELL_H
#include "kernels/kern.h"

/* What a recurrent cell computes with the sigmoid and tanh of this table; every product and sum
 * rounds by itself:
 *   RNN       h = tanh(a)
 *   GRU       z, r = sigmoid(a), n = tanh(a + b * r), h = (1 - z) * n + z * h; b: bias and states
 *             of its own chain
 *   GRU_RESET_BEFORE  the same with n = tanh(a), whose chain goes on over r * h
 *   LSTM      gates i, o, f, g: c = sigmoid(f) * c + sigmoid(i) * tanh(g), h = sigmoid(o) * tanh(c)
 * where a is one chain per gate and unit: bias, inputs in order, states in order. */
enum kern_cell_kind { KERN_CELL_RNN, KERN_CELL_GRU, KERN_CELL_GRU_RESET_BEFORE, KERN_CELL_LSTM };

/* How a cell of any size keeps its weights. */
enum kern_cell_weights { KERN_CELL_F32, KERN_CELL_I16, KERN_CELL_I8, KERN_CELL_I8_WIDE };

#define KERN_CELL_SMALL 16 /* units of the largest small cell */

/* A small cell: hidden <= KERN_CELL_SMALL. Set by kern_cell_set, packed by kern_cell_pack_f32. */
struct kern_cell {
    enum kern_cell_kind kind;
    size_t inputs, hidden,
        dirs;     /* dirs: 1, 2: rows in turn are of the first and the second set of weights */
    size_t width; /* lanes of a row: 4, 8, 16 */
    const float *weights; /* 64-byte aligned */
};

/* One sequence of one cell. Where x and y point is advanced by x_step and y_step floats after each
 * step. */
struct kern_cell_row {
    const float *x;
    float *y; /* the states after each step; NULL: not wanted */
    ptrdiff_t x_step, y_step;
    const float *h_from, *c_from; /* first states; NULL: zero */
    float *h, *c;                 /* last states; NULL: not wanted. May be h_from, c_from. */
    float *work;                  /* kern_cell_seq_work_floats, of cells of any size */
};

/* A cell of any size. The projection of a step is its biases and inputs, summed by a product whose
 * columns are ordered by kern_cell_seq_inputs_pack_f32: groups of 16 units, in each its gates, in
 * each 16 lanes. */
struct kern_cell_seq {
    enum kern_cell_kind kind;
    enum kern_cell_weights weights;
    size_t hidden, groups; /* groups of 16 units */
    size_t inputs;         /* > 0: x of a row are inputs, summed together with the states; 0: x are
                              projections */
    const float *r, *bias_rn; /* packed; bias_rn[16 * groups] of a KERN_CELL_GRU */
    const float *bias;        /* where there are inputs: in the order of the projection */
    const float *scale;   /* in that order too: of KERN_CELL_I16; of the states of KERN_CELL_I8 */
    const float *w_scale; /* of the inputs of KERN_CELL_I8 */
    kern_cell_sums_fn *sums; /* of KERN_CELL_I8: cell_sums of the kernels that run it */
    size_t ahead; /* of KERN_CELL_I8: of a single row the inputs of so many steps, a power of two,
                     are summed ahead, which gives the same bits; 0: of none */
};
#define KERN_CELL_TOGETHER 4
#define KERN_CELL_AHEAD 32 /* the most */
static inline bool kern_cell_is_whole(const struct kern_cell_seq *c)
{
    return c->weights == KERN_CELL_I8 || c->weights == KERN_CELL_I8_WIDE;
}

/* Weights of 8 bits (KERN_CELL_I8; KERN_CELL_I8_WIDE: the same numbers, kept in 16) are whole
 * numbers, and so are the inputs and the states of each step: of 16 bits, their unit is the largest
 * of them over kern_cell_halves_most. Where more than an eighth of the inputs that are not 0 are
 * below a 64th of the largest, what that leaves of them is summed, too, in whole numbers of a unit
 * that is kern_cell_halves_most smaller. Sums of products are exact and take both scales: a gate is
 * fma(states, scale, fma(inputs, w_scale, bias)), the candidate of a KERN_CELL_GRU fma(inputs,
 * w_scale, bias) + fma(states, scale, bias_rn) * r, where inputs and states are sums in units. Such
 * cells have no projection. An input or a state that is not finite makes all gates NaN.
 *
 * Weights of 16 bits: a word of r holds those of two terms in a row, as whole numbers: the first
 * is (float) (int32_t) word * scale, the second (float) (int32_t) (word << 16) * scale, of a last
 * term that is alone only the first is read. A column's scale is a power of two. Biases and
 * projections are divided by it, so that the chains are those of f32 weights of the same values;
 * what they end with is multiplied. */

/* Sets width from kind, inputs, hidden and dirs. Floats of the weights of one set, and how many
 * sets there are. */
void kern_cell_set(struct kern_cell *c);
size_t kern_cell_floats(const struct kern_cell *c);
size_t kern_cell_sets(const struct kern_cell *c);
/* Packs direction d of the cell into ret, which has room for all sets. w[gate * hidden +
 * unit][inputs], r likewise; bias[gates * hidden] starts the chains, bias_rn[hidden] the
 * candidate's own one (KERN_CELL_GRU). */
void kern_cell_pack_f32(const struct kern_cell *c, float *ret, size_t d, const float *w,
                        const float *r, const float *bias, const float *bias_rn);

size_t kern_cell_gates(enum kern_cell_kind kind);
/* Groups whose weights lie side by side, for so many gates that are summed together. */
static inline size_t kern_cell_block(size_t gates)
{
    return gates < 2 ? 8 : gates < 3 ? 4 : 2;
}
/* The group at place i of all n: the first and the last make the first block, and so on inwards. */
static inline size_t kern_cell_group(size_t gates, size_t n, size_t i)
{
    return kern_cell_block(gates) != 2 ? i : i % 2 ? n - 1 - i / 2 : i / 2;
}
/* The largest whole number that so many inputs or states become: no sum of products leaves 32
 * bits. */
static inline float kern_cell_halves_most(size_t terms)
{
    const size_t most = INT32_MAX / 128 / (terms ? terms : 1);
    return (float) (most < INT16_MAX ? most : INT16_MAX);
}
/* The room of the inputs of a step in whole numbers, in groups of 16, how many steps of them a row
 * keeps, and the room of their units. */
static inline size_t kern_cell_seq_inputs_room(const struct kern_cell_seq *c)
{
    return (c->inputs + 15) / 16 * 16;
}
static inline size_t kern_cell_seq_slots(const struct kern_cell_seq *c)
{
    return c->ahead ? c->ahead : 1;
}
static inline size_t kern_cell_seq_units_room(const struct kern_cell_seq *c)
{
    return (1 + 2 * kern_cell_seq_slots(c) + 15) / 16 * 16;
}
#define KERN_CELL_I8_TERMS_MAX 4096 /* which leave them 12 bits and a sign */
size_t kern_cell_seq_columns(const struct kern_cell_seq *c);     /* of the projection */
size_t kern_cell_seq_floats(const struct kern_cell_seq *c);      /* the room of r */
size_t kern_cell_seq_work_floats(const struct kern_cell_seq *c); /* of each row */
/* The room, in floats, of so many terms of 16 columns; bytes are pairs of terms: kept in 16 bits of
 * one column after the other; else for i = 0 .. 7 the first weights of columns i and i + 8, then
 * the second ones. Those of columns 0 .. 7 are bytes without a sign, 128 more than the weights,
 * which the cell takes off their sums. */
static inline size_t kern_cell_seq_panel_floats(const struct kern_cell_seq *c, size_t terms)
{
    const size_t pairs = (terms + 1) / 2;
    return c->weights == KERN_CELL_I8 ? pairs * 8
                                      : (c->weights == KERN_CELL_F32 ? terms : pairs) * 16;
}
/* Of c with weights of 16 bits, before anything is packed: the scale of every column from all its
 * weights, w[gate * hidden + unit][inputs] and r[gate * hidden + unit][hidden], which are below
 * KERN_CELL_I16_BELOW. What is packed with it has the same values whether inputs are summed
 * together with the states or in a product of their own. */
#define KERN_CELL_I16_BELOW 65536.0f
void kern_cell_seq_scale(const struct kern_cell_seq *c, float *ret_scale, const float *w,
                         const float *r, size_t inputs);
/* r[gate * hidden + unit][hidden]; w[gate * hidden + unit][inputs] where c has inputs: floats, of
 * KERN_CELL_I8 int8_t */
void kern_cell_seq_pack(const struct kern_cell_seq *c, float *ret, const void *w, const void *r);
/* w[gate * hidden + unit][inputs] for gemm_f32 with kern_cell_seq_columns columns and c->bias; not
 * of KERN_CELL_I8 */
void kern_cell_seq_inputs_pack_f32(const struct kern_cell_seq *c, float *ret, const float *w,
                                   size_t inputs);
/* bias[gate * hidden + unit] in the order of the projection */
void kern_cell_seq_bias_pack_f32(const struct kern_cell_seq *c, float *ret, const float *bias);
/* v[gate * hidden + unit], a scale of KERN_CELL_I8, in that order */
void kern_cell_seq_columns_pack_f32(const struct kern_cell_seq *c, float *ret, const float *v);
/* bias_rn[hidden] of a KERN_CELL_GRU into groups of 16 */
void kern_cell_seq_bias_rn_pack_f32(const struct kern_cell_seq *c, float *ret,
                                    const float *bias_rn);
#endif
