/* SPDX-License-Identifier: MIT */
/* Recurrent cells of any size over a sequence. A tile is the gates of `groups` groups of 16 units
 * for `rows` rows: their chains over the states stay in registers and the gates are finished there.
 * Every second step takes the tiles in reverse order, so that it starts with the weights that the
 * caches still hold. Of a single row the gates of a GRU's tile are finished bit by bit in the next
 * tile: loading weights leaves the arithmetic idle, and there is no pause in the loads. Of weights of 8
 * bits the sums are whole numbers. */

enum FN(pass) { FN(PASS_RNN), FN(PASS_GRU), FN(PASS_BEFORE_ZR), FN(PASS_BEFORE_N), FN(PASS_LSTM) };

/* Gates whose chains go over states, and gates of the projection. */
#define PASS_GATES(pass) \
    ((pass) == FN(PASS_LSTM) ? 4 : (pass) == FN(PASS_GRU) ? 3 : (pass) == FN(PASS_BEFORE_ZR) ? 2 : 1)
#define PASS_X_GATES(pass) ((pass) == FN(PASS_LSTM) ? 4 : (pass) == FN(PASS_RNN) ? 1 : 3)
/* Activations of 16 units. */
#define PASS_PIECES(pass) \
    ((pass) == FN(PASS_LSTM) ? 5 : (pass) == FN(PASS_GRU) ? 3 : (pass) == FN(PASS_BEFORE_ZR) ? 2 : 1)
#define SEQ_ROWS 4
struct FN(pending);

/* What a row keeps in whole numbers, behind its states: those of one step, and inputs of as many
 * steps as there are slots. */
struct FN(whole) {
    float *h_unit, *x_unit, *rest_unit;
    int32_t *h_more, *x_more, *rest_more; /* 16 lanes each, which weights of 16 bits do without */
    int16_t *h, *x, *rest;
    int32_t *x_sums, *rest_sums;
};

/* What the tiles of one step share. */
struct FN(seq) {
    const float *w;                     /* of this pass */
    const float *bias, *bias_rn, *scale, *w_scale;
    enum kern_cell_weights weights;
    size_t inputs, hidden, groups, block, blocks, panel; /* panel: floats of all terms of 16 columns */
    const float *x[SEQ_ROWS];           /* inputs of this step, where there are */
    /* what the chains start from: projections of this step, or biases */
    const float *from[SEQ_ROWS];
    /* states before this step, which the chains go over, or reset * state */
    const float *h[SEQ_ROWS];
    const float *old[SEQ_ROWS];         /* states before this step */
    float *next[SEQ_ROWS], *y[SEQ_ROWS];
    float *c[SEQ_ROWS];                 /* state of an LSTM; z of a GRU that resets before */
    float *rh[SEQ_ROWS];                /* reset * state of a GRU that resets before */
    /* of KERN_CELL_I8: x and h in whole numbers, and what one of these is */
    const int16_t *x16[SEQ_ROWS], *h16[SEQ_ROWS], *rest16[SEQ_ROWS];
    float x_unit[SEQ_ROWS], h_unit[SEQ_ROWS], rest_unit[SEQ_ROWS];
    /* what sums of bytes are too large by (kern_cell_seq_panel_floats) */
    const int32_t *x_more[SEQ_ROWS], *h_more[SEQ_ROWS], *rest_more[SEQ_ROWS];
    const int32_t *x_sums, *rest_sums;  /* of a single row, summed ahead; NULL: yet to be summed */
    float x_most, h_most;               /* the largest whole number of inputs and states */
    struct FN(whole) only;              /* of a single row */
    size_t place;                       /* of the tile's first group among those of the weights */
    kern_cell_sums_fn *sums;
    struct FN(pending) *pending;
};

#define EACH_ROW  V16_UNROLL for (int r = 0; r < rows; r++)
#define EACH_SEQ  V16_UNROLL for (int q = 0; q < groups; q++)
#define EACH_GATE V16_UNROLL for (int g = 0; g < gates; g++)
#define ACC(q, g, r) acc[((q) * gates + (g)) * rows + (r)]

static inline void FN(seq_state)(const struct FN(seq) *s, int r, size_t u, v16 h)
{
    v16_store(s->next[r] + u, h);
    if (!s->y[r])
        return;
    if (s->hidden - u >= 16)
        v16_store(s->y[r] + u, h);
    else
        v16_store_n(s->y[r] + u, h, s->hidden - u);
}

/* Piece `piece` of the gates of the 16 units from u on of row r, whose sums are a[0], a[step], ..;
 * *n: the candidate's inputs, of a GRU. */
V16_UNROLLED void FN(seq_piece)(const struct FN(seq) * s, v16 *a, const int step, v16 *n, int r,
                                size_t u, const int pass, const int piece)
{
    if (pass == FN(PASS_RNN)) {
        FN(seq_state)(s, r, u, FN(v_tanh)(a[0]));
    } else if (pass == FN(PASS_GRU)) {
        if (piece == 0)
            *n = v16_add(*n, v16_mul(a[2 * step], FN(v_sigmoid)(a[step])));
        else if (piece == 1)
            a[0] = FN(v_sigmoid)(a[0]);
        else
            FN(seq_state)(s, r, u, FN(gru_next)(a[0], FN(v_tanh)(*n), v16_load(s->old[r] + u)));
    } else if (pass == FN(PASS_BEFORE_ZR)) {
        if (piece == 0)
            v16_store(s->rh[r] + u, v16_mul(FN(v_sigmoid)(a[step]), v16_load(s->old[r] + u)));
        else
            v16_store(s->c[r] + u, FN(v_sigmoid)(a[0]));
    } else if (pass == FN(PASS_BEFORE_N)) {
        FN(seq_state)
        (s, r, u, FN(gru_next)(v16_load(s->c[r] + u), FN(v_tanh)(a[0]), v16_load(s->old[r] + u)));
    } else if (piece == 0) {
        a[0] = FN(v_sigmoid)(a[0]);
    } else if (piece == 1) {
        a[0] = v16_mul(a[0], FN(v_tanh)(a[3 * step]));
    } else if (piece == 2) {
        a[2 * step] = v16_add(v16_mul(FN(v_sigmoid)(a[2 * step]), v16_load(s->c[r] + u)), a[0]);
        v16_store(s->c[r] + u, a[2 * step]);
    } else if (piece == 3) {
        a[step] = FN(v_sigmoid)(a[step]);
    } else {
        FN(seq_state)(s, r, u, v16_mul(a[step], FN(v_tanh)(a[2 * step])));
    }
}

#include "kernels/pipelined_tmpl.h"

/* First column, in the order of the projection, of gate g of a pass and a group of units. */
static inline size_t FN(seq_column)(size_t group, int g, const int pass)
{
    return (group * (size_t) PASS_X_GATES(pass) + (size_t) (g + (pass == FN(PASS_BEFORE_N) ? 2 : 0))) * 16;
}

/* The gates of a tile at once, piece by piece: the same piece of several units waits together. */
V16_UNROLLED void FN(seq_gates)(const struct FN(seq) * s, v16 *acc, v16 *n, size_t group, size_t apart,
                                const int pass, const int rows, const int groups)
{
    const int gates = PASS_GATES(pass);
#define DO(p)                                                                                      \
    if (p < PASS_PIECES(pass))                                                                     \
        FN(seq_piece)                                                                              \
        (s, &ACC(q, 0, r), rows, &n[q * rows + r], r, (group + (size_t) q * apart) * 16, pass, p);
    EACH_SEQ EACH_ROW { DO(0) }
    EACH_SEQ EACH_ROW { DO(1) }
    EACH_SEQ EACH_ROW { DO(2) }
    EACH_SEQ EACH_ROW { DO(3) }
    EACH_SEQ EACH_ROW { DO(4) }
#undef DO
}

/* Whether a tile leaves its gates to the next one. */
#define PASS_PIPELINED(pass) (CELL_PIPELINED && (pass) == FN(PASS_GRU))

/* Input k of every row into every gate. half: 0: its weights are floats; 1, 2: the first, second of
 * a pair of halves. */
#define TERM(v, k, half)                                                          \
    do {                                                                          \
        EACH_SEQ EACH_GATE {                                                      \
            v16 wp = v16_load(w + (q * gates + g) * 16);                          \
            if (half == 1)                                                        \
                wp = v16_of_int(v16_bits(wp));                                    \
            if (half == 2)                                                        \
                wp = v16_of_int(i16_shl16(v16_bits(wp)));                         \
            EACH_ROW                                                              \
                ACC(q, g, r) = v16_fma(wp, v16_set1(v[r][k]), ACC(q, g, r));      \
        }                                                                         \
        w += half == 1 ? 0 : down * 16;                                           \
        k++;                                                                      \
    } while (0)
#define TERMS(v, k, n)                                                            \
    do {                                                                          \
        while (!pairs && k < n)                                                   \
            TERM(v, k, 0);                                                        \
        while (pairs && k + 1 < n) {                                              \
            TERM(v, k, 1);                                                        \
            TERM(v, k, 2);                                                        \
        }                                                                         \
        if (pairs && k < n) {                                                     \
            TERM(v, k, 1);                                                        \
            w += down * 16;                                                       \
        }                                                                         \
    } while (0)

/* Groups `group`, `group` + apart, .. of one block of weights; `down` panels lie between the
 * weights of one unit and the next. */
V16_UNROLLED void FN(seq_tile)(const struct FN(seq) * s, const float *w, size_t down, size_t group,
                               size_t apart, const int pass, const int rows, const int groups,
                               const int pairs)
{
    const int gates = PASS_GATES(pass), x_gates = PASS_X_GATES(pass),
              x_from = pass == FN(PASS_BEFORE_N) ? 2 : 0;
    const size_t inputs = s->inputs, hidden = s->hidden;
    v16 acc[CELL_ACC], n[CELL_ACC];
    const float *h[SEQ_ROWS], *x[SEQ_ROWS];
    size_t i = 0, k = 0;
    EACH_ROW {
        h[r] = s->h[r];
        x[r] = s->x[r];
    }
    EACH_SEQ EACH_GATE EACH_ROW {
        size_t at = ((group + (size_t) q * apart) * (size_t) x_gates + (size_t) (x_from + g)) * 16;
        ACC(q, g, r) = v16_load(s->from[r] + at);
    }
#if CELL_PIPELINED
    struct FN(pending) *pending = s->pending;
    bool left = rows == 1 && PASS_PIPELINED(pass) && FN(pending_fits)(s);
    struct FN(chains) e;
#define STAGE_BEHIND(v, k, p)                           \
    TERM(v, k, (pairs ? 1 + p % 2 : 0));                \
    EACH_SEQ EACH_GATE                                  \
        V16_NOW(ACC(q, g, 0));                          \
    FN(gru_stage)(pending, &e, p);
#define DO_X(p) STAGE_BEHIND(x, i, p)
#define DO_H(p) STAGE_BEHIND(h, k, p)
    if (left && inputs) {
        EACH_STAGE(DO_X)
    }
#endif
    TERMS(x, i, inputs);
    EACH_SEQ EACH_ROW {
        n[q * rows + r] = ACC(q, pass == FN(PASS_GRU) ? 2 : 0, r);
        if (pass == FN(PASS_GRU))
            ACC(q, 2, r) = v16_load(s->bias_rn + (group + (size_t) q * apart) * 16);
    }
#if CELL_PIPELINED
    if (left && !inputs) {
        EACH_STAGE(DO_H)
    }
#endif
    TERMS(h, k, hidden);
    if (pairs)
        EACH_SEQ {
            size_t group_at = (group + (size_t) q * apart) * (size_t) x_gates;
            EACH_GATE {
                v16 scale = v16_load(s->scale + (group_at + (size_t) (x_from + g)) * 16);
                EACH_ROW {
                    ACC(q, g, r) = v16_mul(ACC(q, g, r), scale);
                    if (pass == FN(PASS_GRU) && g == 2)
                        n[q * rows + r] = v16_mul(n[q * rows + r], scale);
                }
            }
        }
#if CELL_PIPELINED
    if (rows == 1 && PASS_PIPELINED(pass)) {
        V16_UNROLL for (int to = 0; to < 2; to++) {
            const int q = groups < 2 ? 0 : to;
            EACH_GATE
                pending->a[to][g] = ACC(q, g, 0);
            pending->n[to] = n[q];
            pending->u[to] = (group + (size_t) q * apart) * 16;
        }
        pending->s = s;
        return;
    }
#endif
    FN(seq_gates)(s, acc, n, group, apart, pass, rows, groups);
}
#undef TERM
#undef TERMS
#undef STAGE_BEHIND
#undef DO_X
#undef DO_H

/* ---- weights of 8 bits ---- */

/* Sums, less what bytes make them larger by. */
static inline void FN(sums_run)(const struct FN(seq) * s, int32_t *ret, const struct kern_cell_sums *sums,
                                const int16_t *const *x, const int32_t *const *more)
{
    s->sums(ret, sums, x);
    if (sums->wide)
        return;
    for (unsigned p = 0; p < sums->panels; p++)
        for (unsigned r = 0; r < sums->rows; r++, ret += 16)
            i16_store(ret, i16_sub(i16_load(ret), i16_load(more[r])));
}

/* A tile of the same groups, whose weights are bytes, or the same numbers in 16 bits: pairs of terms. */
V16_UNROLLED void FN(byte_tile)(const struct FN(seq) * s, const float *weights, size_t down, size_t group,
                                size_t apart, const int pass, const int rows, const int groups)
{
    const int gates = PASS_GATES(pass);
    _Alignas(64) int32_t x_sums[CELL_ACC * 16], h_sums[CELL_ACC * 16], rest_sums[CELL_ACC * 16];
    v16 acc[CELL_ACC], n[CELL_ACC];
    struct kern_cell_sums sums = { .w = weights,
                                   .down = down,
                                   .pairs = (s->inputs + 1) / 2,
                                   .rows = (unsigned) rows,
                                   .panels = (unsigned) (gates * groups),
                                   .wide = s->weights == KERN_CELL_I8_WIDE };
    const bool ahead = rows == 1 && s->x_sums;
    bool rests = false;
    EACH_ROW
        rests |= s->rest_unit[r] > 0;
    if (!ahead)
        FN(sums_run)(s, x_sums, &sums, s->x16, s->x_more);
    if (!ahead && rests)
        FN(sums_run)(s, rest_sums, &sums, s->rest16, s->rest_more);
    sums.w = weights + sums.pairs * down * (sums.wide ? 16 : 8);
    sums.pairs = (s->hidden + 1) / 2;
    FN(sums_run)(s, h_sums, &sums, s->h16, s->h_more);
    EACH_SEQ EACH_GATE {
        const size_t at = FN(seq_column)(group + (size_t) q * apart, g, pass);
        const v16 scale = v16_load(s->w_scale + at), bias = v16_load(s->bias + at), h_scale = v16_load(s->scale + at);
        EACH_ROW {
            const int i = (q * gates + g) * rows + r;
            const size_t panel = s->place * (size_t) gates + (size_t) i;
            const int32_t *of_x = ahead ? s->x_sums + panel * KERN_CELL_TOGETHER * 16 : x_sums + i * 16,
                          *of_rest = ahead ? s->rest_sums + panel * KERN_CELL_TOGETHER * 16 : rest_sums + i * 16;
            const v16 of_h = v16_mul(v16_of_int(i16_load(h_sums + i * 16)), v16_set1(s->h_unit[r]));
            v16 a = v16_mul(v16_of_int(i16_load(of_x)), v16_set1(s->x_unit[r]));
            if (rests)
                a = v16_fma(v16_of_int(i16_load(of_rest)), v16_set1(s->rest_unit[r]), a);
            a = v16_fma(a, scale, bias);
            if (pass == FN(PASS_GRU) && g == 2) {
                n[q * rows + r] = a;
                a = v16_load(s->bias_rn + (group + (size_t) q * apart) * 16);
            }
            acc[i] = v16_fma(of_h, h_scale, a);
        }
    }
    FN(seq_gates)(s, acc, n, group, apart, pass, rows, groups);
}

/* Sixteen lanes into one, halved until one is left, without a branch and without leaving registers. */
typedef uint32_t FN(wholes4) __attribute__((vector_size(16)));
static inline uint32_t FN(halved_whole)(i16 a)
{
    int32_t all[16];
    FN(wholes4) q[4];
    i16_store(all, a);
    memcpy(q, all, sizeof q);
    q[0] = q[0] + q[2] + (q[1] + q[3]);
    q[0] += __builtin_shufflevector(q[0], q[0], 2, 3, 2, 3);
    q[0] += __builtin_shufflevector(q[0], q[0], 1, 1, 1, 1);
    return q[0][0];
}

/* Of bytes the weights of columns 0 .. 7 are 128 more than they are: what that adds to the sums of terms
 * whose sum lies in the lanes of a. */
static inline void FN(more_set)(int32_t ret[16], i16 a)
{
    const int32_t more = (int32_t) (FN(halved_whole)(a) * 128);
    i16_store(ret, i16_set1(0));
    for (int i = 0; i < 8; i++)
        ret[i] = more;
}

typedef int32_t FN(signed8) __attribute__((vector_size(32)));
#ifndef SIGNED8_MOST /* the larger ones */
#define SIGNED8_MOST(a, b) (((a) & ((a) > (b))) | ((b) & ~((a) > (b))))
#endif

/* Up to eight floats without their signs: their bits are in the order of the numbers, and behind all those of
 * what is not finite. */
static inline __attribute__((always_inline)) void FN(sizes_load)(FN(signed8) * ret, const float *x, size_t n)
{
    *ret = (FN(signed8)) { 0 };
    if (n < 8)
        memcpy(ret, x, n * sizeof *x);
    else
        memcpy(ret, x, sizeof *ret);
    *ret &= INT32_MAX;
}

static inline __attribute__((always_inline)) int32_t FN(largest_size)(const float *x, size_t n)
{
    FN(signed8) all = { 0 }, size;
    for (size_t i = 0; i < n; i += 8) {
        FN(sizes_load)(&size, x + i, n - i);
        all = SIGNED8_MOST(all, size);
    }
    size = __builtin_shufflevector(all, all, 4, 5, 6, 7, 4, 5, 6, 7);
    all = SIGNED8_MOST(all, size);
    size = __builtin_shufflevector(all, all, 2, 3, 2, 3, 2, 3, 2, 3);
    all = SIGNED8_MOST(all, size);
    return all[0] > all[1] ? all[0] : all[1];
}

/* n floats in whole numbers up to `most`, 16 at a time, and, unless NULL, what they make the sums of bytes larger
 * by; what one of them is: NaN where a float is not finite. */
static float FN(halves_of)(int16_t *ret, int32_t *ret_more, const float *x, size_t n, float most)
{
    i16 sum = i16_set1(0);
    float top;
    const int32_t bits = FN(largest_size)(x, n);
    const bool finite = bits < 0x7f800000;
    memcpy(&top, &bits, sizeof top);
    const v16 by = v16_set1(finite && top > 1e-30f ? most / top : 0);
    for (size_t i = 0; i < n; i += 16) {
        const v16 v = n - i < 16 ? v16_load_n(x + i, n - i) : v16_load(x + i);
        const i16 whole = finite ? v16_round(v16_mul(v, by)) : i16_set1(0);
        sum = i16_add(sum, whole);
        i16_store_s16(ret + i, whole);
    }
    if (ret_more)
        FN(more_set)(ret_more, sum);
    return finite ? top / most : top * 0;
}

/* Whether more than an eighth of those of x that are not 0 are no more than a 64th of the largest, most
 * units. */
static bool FN(is_uneven)(const float *x, size_t n, float unit, float most)
{
    const float above = unit * most / 64;
    FN(signed8) of_all = { 0 }, of_large = { 0 };
    int32_t limit, there = 0, large = 0;
    if (!(unit > 1e-30f))
        return false;
    memcpy(&limit, &above, sizeof limit);
    for (size_t i = 0; i < n; i += 8) {
        FN(signed8) size;
        FN(sizes_load)(&size, x + i, n - i);
        of_all -= size > 0;
        of_large -= size > limit;
    }
    for (int l = 0; l < 8; l++)
        there += of_all[l], large += of_large[l];
    return (there - large) * 8 > there;
}

/* What the whole numbers leave of x, in units of its own. */
static float FN(rests_of)(int16_t *ret, int32_t *ret_more, const int16_t *whole, const float *x, size_t n,
                          float unit, float most)
{
    i16 sum = i16_set1(0);
    const v16 one = v16_set1(-unit), by = v16_set1(most / unit);
    for (size_t i = 0; i < n; i += 16) {
        const v16 v = n - i < 16 ? v16_load_n(x + i, n - i) : v16_load(x + i);
        const v16 rest = v16_fma(v16_of_int(i16_load_s16(whole + i)), one, v);
        const i16 whole_rest = v16_round(v16_mul(rest, by));
        sum = i16_add(sum, whole_rest);
        i16_store_s16(ret + i, whole_rest);
    }
    if (ret_more)
        FN(more_set)(ret_more, sum);
    return unit / most;
}

#undef EACH_ROW
#undef EACH_SEQ
#undef EACH_GATE
#undef ACC

typedef void FN(seq_fn)(const struct FN(seq) * s, const float *w, size_t down, size_t group,
                        size_t apart);

#define SEQ_SIZES(X, pass) X(pass, 1, 1) X(pass, 1, 2) X(pass, 1, 4) X(pass, 1, 8) X(pass, 2, 1) X(pass, 2, 2) X(pass, 4, 1) \
    X(pass, 4, 2)
#define SEQ_ALL(X)                                                                                 \
    SEQ_SIZES(X, RNN)                                                                              \
    SEQ_SIZES(X, GRU) SEQ_SIZES(X, BEFORE_ZR) SEQ_SIZES(X, BEFORE_N) SEQ_SIZES(X, LSTM)
#define SEQ_FITS(pass, rows, groups)                                                               \
    (PASS_GATES(pass) * (rows) * (groups) <= CELL_ACC && PASS_GATES(pass) * (groups) <= 8)
#define SEQ_FN(stem, tile, pass, rows, groups, ...)                                                                  \
    static void FN(stem##_##pass##_##rows##_##groups)(const struct FN(seq) *s, const float *w, size_t down,            \
                                                      size_t group, size_t apart)                                   \
    {                                                                                                               \
        if (SEQ_FITS(FN(PASS_##pass), rows, groups))                                                                \
            FN(tile)(s, w, down, group, apart, FN(PASS_##pass), rows, groups __VA_ARGS__);                          \
    }
#define X(pass, rows, groups)                                                                      \
    SEQ_FN(seq, seq_tile, pass, rows, groups, , 0)                                                 \
    SEQ_FN(pairs, seq_tile, pass, rows, groups, , 1)                                               \
    SEQ_FN(bytes, byte_tile, pass, rows, groups, )
SEQ_ALL(X)
#undef X
#undef SEQ_FN

static FN(seq_fn) *const FN(seq_fns)[4][5][SEQ_ROWS + 1][9] = {
#define X(pass, rows, groups)                                                                      \
    [KERN_CELL_F32][FN(PASS_##pass)][rows][groups] = FN(seq_##pass##_##rows##_##groups),           \
    [KERN_CELL_I16][FN(PASS_##pass)][rows][groups] = FN(pairs_##pass##_##rows##_##groups),         \
    [KERN_CELL_I8][FN(PASS_##pass)][rows][groups] = FN(bytes_##pass##_##rows##_##groups),          \
    [KERN_CELL_I8_WIDE][FN(PASS_##pass)][rows][groups] = FN(bytes_##pass##_##rows##_##groups),
    SEQ_ALL(X)
#undef X
};

static const unsigned char FN(seq_fit)[][SEQ_ROWS + 1][9] = {
#define X(pass, rows, groups)                                                                      \
    [FN(PASS_##pass)][rows][groups] = SEQ_FITS(FN(PASS_##pass), rows, groups),
    SEQ_ALL(X)
#undef X
};

/* One block of weights: its groups in tiles of no more than `most`, each over `rows` rows. */
static void FN(seq_block)(struct FN(seq) * s, size_t b, enum FN(pass) pass, size_t rows,
                          size_t most)
{
    size_t gates = (size_t) PASS_GATES(pass), first = b * s->block,
           n = s->groups - first < s->block ? s->groups - first : s->block;
    const size_t each = s->weights == KERN_CELL_I8 ? 8 : 16;    /* floats of a panel's terms that lie together */
    const float *w = s->w + first * gates * s->panel;
    for (size_t q = 0, now; q < n; q += now) {
        for (now = most; now > n - q || !FN(seq_fit)[pass][rows][now]; now /= 2)
            ;
        s->place = first + q;
        size_t group = kern_cell_group(gates, s->groups, s->place);
        size_t apart = now < 2 ? 1 : kern_cell_group(gates, s->groups, first + q + 1) - group;
        FN(seq_fns)
        [s->weights][pass][rows][now](s, w + q * gates * each, n * gates, group, apart);
    }
}

static inline __attribute__((always_inline)) struct FN(whole) FN(whole_of_row)(const struct kern_cell_seq *c, const struct kern_cell_row *row)
{
    const size_t pad = c->groups * 16, inputs = kern_cell_seq_slots(c) * kern_cell_seq_inputs_room(c);
    float *units = row->work + 4 * pad;
    const size_t slots = kern_cell_seq_slots(c);
    int32_t *more = (int32_t *) (void *) (units + kern_cell_seq_units_room(c));
    int16_t *h = (int16_t *) (void *) (more + 16 + 32 * slots);
    int32_t *sums = (int32_t *) (void *) (h + pad + 2 * inputs);
    return (struct FN(whole)) { units, units + 1, units + 1 + slots, more, more + 16,
                                more + 16 + 16 * slots, h, h + pad, h + pad + inputs, sums,
                                sums + c->ahead * c->groups * (size_t) CELL_GATES(c->kind) * 16 };
}

/* Of weights of 16 bits NULL. */
static inline int32_t *FN(more_of)(const struct kern_cell_seq *c, int32_t *more)
{
    return c->weights == KERN_CELL_I8 ? more : NULL;
}

/* Where the sums of a pass are of a slot: those of KERN_CELL_TOGETHER slots lie together. */
static inline size_t FN(ahead_at)(const struct kern_cell_seq *c, enum FN(pass) pass, size_t slot)
{
    const size_t gates = (size_t) PASS_GATES(pass), begin = pass == FN(PASS_BEFORE_N) ? PASS_GATES(FN(PASS_BEFORE_ZR)) * c->ahead : 0;
    return ((begin + slot / KERN_CELL_TOGETHER * KERN_CELL_TOGETHER * gates) * c->groups + slot % KERN_CELL_TOGETHER) * 16;
}

/* Which of the inputs that are summed ahead those of step t are: as many as a power of two. */
static inline size_t FN(slot_of)(const struct kern_cell_seq *c, size_t t) { return t & (c->ahead - 1); }

/* What the rows from `first` on find in step t; returns how many they are. */
static size_t FN(seq_rows)(struct FN(seq) * s, const struct kern_cell_seq *c,
                           const struct kern_cell_row *rows, size_t first, size_t n_rows, size_t t,
                           enum FN(pass) pass)
{
    size_t n = SEQ_ROWS, pad = c->groups * 16;
    while (n > n_rows - first || !FN(seq_fit)[pass][n][1])
        n /= 2;
    for (size_t r = 0; r < n; r++) {
        const struct kern_cell_row *row = rows + first + r;
        float *own = row->work;
        s->x[r] = row->x + (ptrdiff_t) t * row->x_step;
        s->from[r] = c->inputs ? c->bias : s->x[r];
        s->y[r] = row->y ? row->y + (ptrdiff_t) t * row->y_step : NULL;
        s->old[r] = own + (t & 1) * pad;
        s->next[r] = own + (~t & 1) * pad;
        s->c[r] = own + 2 * pad;
        s->rh[r] = own + 3 * pad;
        s->h[r] = pass == FN(PASS_BEFORE_N) ? s->rh[r] : s->old[r];
        if (!kern_cell_is_whole(c))
            continue;
        const struct FN(whole) whole = n_rows == 1 ? s->only : FN(whole_of_row)(c, row);
        const bool ahead = c->ahead && n_rows == 1;
        const size_t slot = ahead ? FN(slot_of)(c, t) : 0;
        s->h_unit[r] = *whole.h_unit;
        s->x_unit[r] = whole.x_unit[slot];
        s->rest_unit[r] = whole.rest_unit[slot];
        s->h_more[r] = whole.h_more;
        s->x_more[r] = whole.x_more + slot * 16;
        s->rest_more[r] = whole.rest_more + slot * 16;
        s->h16[r] = whole.h;
        s->x16[r] = whole.x + slot * kern_cell_seq_inputs_room(c);
        s->rest16[r] = whole.rest + slot * kern_cell_seq_inputs_room(c);
        const size_t sums = FN(ahead_at)(c, pass, slot);
        s->x_sums = ahead ? whole.x_sums + sums : NULL;
        s->rest_sums = whole.rest_sums + sums;
    }
    return n;
}

/* The inputs of step t of a row in whole numbers; whether they leave rests. */
static bool FN(inputs_whole)(const struct kern_cell_seq *c, const struct kern_cell_row *row,
                             const struct FN(whole) * w, size_t t, size_t slot, float most)
{
    const float *x = row->x + (ptrdiff_t) t * row->x_step;
    const size_t at = slot * kern_cell_seq_inputs_room(c);
    w->x_unit[slot] = FN(halves_of)(w->x + at, FN(more_of)(c, w->x_more + slot * 16), x, c->inputs, most);
    w->rest_unit[slot] = 0;
    if (FN(is_uneven)(x, c->inputs, w->x_unit[slot], most))
        w->rest_unit[slot] = FN(rests_of)(w->rest + at, FN(more_of)(c, w->rest_more + slot * 16), w->x + at, x,
                                          c->inputs, w->x_unit[slot], most);
    return w->rest_unit[slot] > 0;
}

/* Zeros, where another row, or another step, that is summed at the same time leaves rests. */
static void FN(rests_clear)(const struct kern_cell_seq *c, const struct FN(whole) * w, size_t slot)
{
    const size_t room = kern_cell_seq_inputs_room(c);
    if (w->rest_unit[slot] > 0)
        return;
    memset(w->rest + slot * room, 0, room * sizeof *w->rest);
    memset(w->rest_more + slot * 16, 0, 16 * sizeof *w->rest_more);
}

/* Behind the last step. */
static void FN(slot_clear)(const struct kern_cell_seq *c, const struct FN(whole) * w, size_t slot)
{
    const size_t room = kern_cell_seq_inputs_room(c);
    memset(w->x + slot * room, 0, room * sizeof *w->x);
    memset(w->rest + slot * room, 0, room * sizeof *w->rest);
    memset(w->x_more + slot * 16, 0, 16 * sizeof *w->x_more);
    memset(w->rest_more + slot * 16, 0, 16 * sizeof *w->rest_more);
}

/* What the chains of step t go over in whole numbers, beside the states of each row; x only once, and
 * not where it was summed ahead. */
static void FN(seq_halves)(const struct kern_cell_seq *c, const struct FN(seq) * s, const struct kern_cell_row *rows,
                           size_t n_rows, size_t t, enum FN(pass) pass, bool ahead)
{
    const size_t pad = c->groups * 16;
    const bool inputs = !ahead && pass != FN(PASS_BEFORE_N);
    bool rests = false;
    for (size_t r = 0; r < n_rows; r++) {
        const struct FN(whole) whole = n_rows == 1 ? s->only : FN(whole_of_row)(c, rows + r);
        const float *own = rows[r].work, *h = pass == FN(PASS_BEFORE_N) ? own + 3 * pad : own + (t & 1) * pad;
        *whole.h_unit = FN(halves_of)(whole.h, FN(more_of)(c, whole.h_more), h, c->hidden, s->h_most);
        if (inputs)
            rests |= FN(inputs_whole)(c, rows + r, &whole, t, 0, s->x_most);
    }
    for (size_t r = 0; rests && r < n_rows; r++) {
        const struct FN(whole) whole = FN(whole_of_row)(c, rows + r);
        FN(rests_clear)(c, &whole, 0);
    }
}

/* Panels that are summed at once, of those that are left: no more than registers have room for. */
static size_t FN(ahead_panels)(size_t left)
{
    static const unsigned char fits[] = { 6, 4, 3, 2, 1 };
    const unsigned char *fit = fits;
    if (CELL_ACC < 2 * KERN_CELL_TOGETHER)
        return 1;
    while (*fit > left || *fit * KERN_CELL_TOGETHER > CELL_ACC)
        fit++;
    return *fit;
}

/* What n steps of inputs, x, add up to by some panels of the weights of a pass; ret is of the first. */
static void FN(panels_ahead)(const struct kern_cell_seq *c, const struct FN(seq) * s, int32_t *ret,
                             const struct kern_cell_sums *sums, const int16_t *x, const int32_t *more,
                             size_t n, enum FN(pass) pass)
{
    const size_t room = kern_cell_seq_inputs_room(c), next = (size_t) PASS_GATES(pass) * c->groups * KERN_CELL_TOGETHER * 16;
    for (size_t i = 0; i < n; i += KERN_CELL_TOGETHER, ret += next) {
        const int16_t *from[KERN_CELL_TOGETHER];
        const int32_t *of_row[KERN_CELL_TOGETHER];
        for (size_t r = 0; r < KERN_CELL_TOGETHER; r++)
            from[r] = x + (i + r) * room, of_row[r] = more + (i + r) * 16;
        FN(sums_run)(s, ret, sums, from, of_row);
    }
}

/* Sums of n steps of inputs, x, by all weights of a pass: panel after panel, in each step after step. */
static void FN(pass_ahead)(const struct kern_cell_seq *c, const struct FN(seq) * s, int32_t *ret,
                           const int16_t *x, const int32_t *more, size_t steps, enum FN(pass) pass)
{
    const size_t gates = (size_t) PASS_GATES(pass), each = s->weights == KERN_CELL_I8 ? 8 : 16;
    for (size_t first = 0, n; first < s->groups; first += n) {
        n = s->groups - first < s->block ? s->groups - first : s->block;
        struct kern_cell_sums sums = { .down = n * gates, .pairs = (s->inputs + 1) / 2, .rows = KERN_CELL_TOGETHER,
                                       .wide = s->weights == KERN_CELL_I8_WIDE };
        for (size_t p = 0; p < sums.down; p += sums.panels) {
            sums.w = s->w + first * gates * s->panel + p * each;
            sums.panels = (unsigned) FN(ahead_panels)(sums.down - p);
            FN(panels_ahead)(c, s, ret + (first * gates + p) * KERN_CELL_TOGETHER * 16, &sums, x, more, steps, pass);
        }
    }
}

/* Sums the inputs of the next n steps of a row for the gates of a pass: the weights are read once for
 * several steps, and each of these then reads the weights of its states alone. */
static void FN(seq_ahead)(const struct kern_cell_seq *c, const struct kern_cell_row *row,
                          const struct FN(seq) * s, size_t t, size_t n, enum FN(pass) pass)
{
    const struct FN(whole) whole = s->only;
    bool rests = false;
    for (size_t i = 0; i < n; i++)
        rests |= pass == FN(PASS_BEFORE_N) ? whole.rest_unit[i] > 0 : FN(inputs_whole)(c, row, &whole, t + i, i, s->x_most);
    for (size_t i = 0; i < (n + KERN_CELL_TOGETHER - 1) / KERN_CELL_TOGETHER * KERN_CELL_TOGETHER; i++)
        if (i >= n)
            FN(slot_clear)(c, &whole, i);
        else if (rests)
            FN(rests_clear)(c, &whole, i);
    FN(pass_ahead)(c, s, whole.x_sums + FN(ahead_at)(c, pass, 0), whole.x, whole.x_more, n, pass);
    if (rests)
        FN(pass_ahead)(c, s, whole.rest_sums + FN(ahead_at)(c, pass, 0), whole.rest, whole.rest_more, n, pass);
}

/* What all steps of a pass share. */
static void FN(seq_begin)(struct FN(seq) * s, const struct kern_cell_seq *c, const struct kern_cell_row *rows,
                          size_t n_rows, enum FN(pass) pass, struct FN(pending) * pending)
{
    s->panel = kern_cell_seq_panel_floats(c, c->inputs) + kern_cell_seq_panel_floats(c, c->hidden);
    s->w = pass == FN(PASS_BEFORE_N) ? c->r + 2 * c->groups * s->panel : c->r;
    s->weights = c->weights;
    s->sums = c->sums;
    s->bias = c->bias;
    s->bias_rn = c->bias_rn;
    s->scale = c->scale;
    s->w_scale = c->w_scale;
    s->inputs = c->inputs;
    s->hidden = c->hidden;
    s->groups = c->groups;
    s->block = kern_cell_block((size_t) PASS_GATES(pass));
    s->blocks = (c->groups + s->block - 1) / s->block;
    s->pending = pending;
    if (!kern_cell_is_whole(c))
        return;
    s->x_most = kern_cell_halves_most(c->inputs);
    s->h_most = kern_cell_halves_most(c->hidden);
    if (n_rows == 1)
        s->only = FN(whole_of_row)(c, rows);
}

/* Step t. The gates that are left unfinished go on using s. */
static void FN(seq_pass)(const struct kern_cell_seq *c, const struct kern_cell_row *rows,
                         size_t n_rows, size_t t, size_t steps, enum FN(pass) pass, struct FN(seq) * s)
{
    const bool ahead = c->ahead && n_rows == 1;
    const size_t blocks = s->blocks;
    size_t n = n_rows;
    if (ahead && FN(slot_of)(c, t) == 0)
        FN(seq_ahead)(c, rows, s, t, steps - t < c->ahead ? steps - t : c->ahead, pass);
    if (kern_cell_is_whole(c))
        FN(seq_halves)(c, s, rows, n_rows, t, pass, ahead);
    if (n_rows == 1)
        FN(seq_rows)(s, c, rows, 0, 1, t, pass);
    for (size_t b = 0; b < blocks; b++)
        for (size_t first = 0; first < n_rows; first += n) {
            if (n_rows > 1)
                n = FN(seq_rows)(s, c, rows, first, n_rows, t, pass);
            if (n == 1 && n_rows > 1)
                FN(pending_end)(s->pending);
            /* the last block group by group: of the next step's first term only the last group's
             * gates are left */
            bool last =
                blocks > 1 && b + 1 == blocks && n_rows == 1 && PASS_PIPELINED(pass) && !c->inputs;
            FN(seq_block)(s, t & 1 ? blocks - 1 - b : b, pass, n, last ? 1 : s->block);
        }
}

/* from NULL: zeros */
static void FN(state_copy)(float *to, const float *from, size_t n)
{
    v16 zero = v16_set1(0);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        v16_store(to + i, from ? v16_load(from + i) : zero);
    if (i < n)
        v16_store_n(to + i, from ? v16_load_n(from + i, n - i) : zero, n - i);
}

static void FN(cell_seq_f32)(const struct kern_cell_seq *c, const struct kern_cell_row *rows,
                             size_t n_rows, size_t steps)
{
    static const enum FN(pass)
        pass[][2] = { [KERN_CELL_RNN] = { FN(PASS_RNN), FN(PASS_RNN) },
                      [KERN_CELL_GRU] = { FN(PASS_GRU), FN(PASS_GRU) },
                      [KERN_CELL_GRU_RESET_BEFORE] = { FN(PASS_BEFORE_ZR), FN(PASS_BEFORE_N) },
                      [KERN_CELL_LSTM] = { FN(PASS_LSTM), FN(PASS_LSTM) } };
    struct FN(seq) s[2];
    struct FN(pending) pending;
    pending.s = NULL;
    size_t pad = c->groups * 16, n = c->hidden;
    for (size_t i = 0; i < n_rows; i++) {
        float *own = rows[i].work;
        FN(state_copy)(own, rows[i].h_from, n);
        if (c->kind == KERN_CELL_LSTM)
            FN(state_copy)(own + 2 * pad, rows[i].c_from, n);
        for (size_t u = n; u < pad; u++)        /* units that do not exist */
            own[u] = own[pad + u] = own[2 * pad + u] = own[3 * pad + u] = 0;
    }
    for (size_t t = 0; t < steps; t++) {
        const bool before = c->kind == KERN_CELL_GRU_RESET_BEFORE;
        if (t < 2 || before)
            FN(seq_begin)(&s[t & 1], c, rows, n_rows, pass[c->kind][0], &pending);
        FN(seq_pass)(c, rows, n_rows, t, steps, pass[c->kind][0], &s[t & 1]);
        if (!before)
            continue;
        FN(seq_begin)(&s[t & 1], c, rows, n_rows, pass[c->kind][1], &pending);
        FN(seq_pass)(c, rows, n_rows, t, steps, pass[c->kind][1], &s[t & 1]);
    }
    FN(pending_end)(&pending);
    for (size_t i = 0; i < n_rows; i++) {
        const float *own = rows[i].work;
        if (rows[i].h)
            FN(state_copy)(rows[i].h, own + (steps & 1) * pad, n);
        if (c->kind == KERN_CELL_LSTM && rows[i].c)
            FN(state_copy)(rows[i].c, own + 2 * pad, n);
    }
}
