/* SPDX-License-Identifier: MIT */
/* Packed products with vectors of any length, strip-mined over the outputs of a panel: one chain of
 * fused multiply-adds an output, in the order of k. A tile is a row by four panels, or four rows by
 * a panel. */

/* Rows lie at lists of pointers or (NULL) at a base and a step, or, with `at`, at a base and a list
 * of distances, and their terms at those of another. */
struct FN(gemm) {
    const struct kern_block *b;
    float *const *y_by;
    const float *const *x_by;
    float *y;
    const float *x;
    size_t ldy, ldx;
    const size_t *row, *at;
};

static inline float *FN(row_of_y)(const struct FN(gemm) * g, size_t r)
{
    return g->y_by ? g->y_by[r] : g->y + r * g->ldy;
}

static inline const float *FN(row_of_x)(const struct FN(gemm) * g, size_t r)
{
    return g->x_by ? g->x_by[r] : g->x + (g->row ? g->row[r] : r * g->ldx);
}

/* What the sums of n outputs from o on begin with. */
static inline v16 FN(start)(const struct kern_block *b, size_t row, const float *y, size_t o,
                            size_t n)
{
    if (b->more)
        return v16_load_n(y + o, n);
    if (b->row_bias)
        return RVV(vfmv_v_f_f32m4)(b->row_bias[row], n);
    return b->bias ? v16_load_n(b->bias + o, n) : RVV(vfmv_v_f_f32m4)(0, n);
}

#define TERM(acc, x, w) acc = RVV(vfmacc_vf_f32m4)(acc, x, RVV(vle32_v_f32m4)(w, n), n)

/* n outputs of a panel from o on. */
static void FN(tile_1x1)(const struct FN(gemm) * g, size_t row, size_t o, size_t n)
{
    const struct kern_block *b = g->b;
    const float *x = FN(row_of_x)(g, row), *w = b->w + o / 16 * b->step_panel + o % 16;
    float *y = FN(row_of_y)(g, row);
    v16 acc = FN(start)(b, row, y, o, n);
    for (size_t i = 0; i < b->k; i++, w += b->step_k)
        TERM(acc, x[g->at ? g->at[i] : i], w);
    v16_store_n(y + o, acc, n);
}

/* The same outputs of four panels that follow each other. */
static void FN(tile_1x4)(const struct FN(gemm) * g, size_t row, size_t o, size_t n)
{
    const struct kern_block *b = g->b;
    const size_t step = b->step_panel;
    const float *x = FN(row_of_x)(g, row), *w = b->w + o / 16 * step + o % 16;
    float *y = FN(row_of_y)(g, row);
    v16 a0 = FN(start)(b, row, y, o, n), a1 = FN(start)(b, row, y, o + 16, n),
        a2 = FN(start)(b, row, y, o + 32, n), a3 = FN(start)(b, row, y, o + 48, n);
    for (size_t i = 0; i < b->k; i++, w += b->step_k) {
        const float by = x[g->at ? g->at[i] : i];
        TERM(a0, by, w);
        TERM(a1, by, w + step);
        TERM(a2, by, w + 2 * step);
        TERM(a3, by, w + 3 * step);
    }
    v16_store_n(y + o, a0, n);
    v16_store_n(y + o + 16, a1, n);
    v16_store_n(y + o + 32, a2, n);
    v16_store_n(y + o + 48, a3, n);
}
#undef TERM

static void FN(tile_4x1)(const struct FN(gemm) * g, size_t row, size_t o, size_t n)
{
    const struct kern_block *b = g->b;
    const float *w = b->w + o / 16 * b->step_panel + o % 16, *x0 = FN(row_of_x)(g, row),
                *x1 = FN(row_of_x)(g, row + 1), *x2 = FN(row_of_x)(g, row + 2),
                *x3 = FN(row_of_x)(g, row + 3);
    float *y0 = FN(row_of_y)(g, row), *y1 = FN(row_of_y)(g, row + 1),
          *y2 = FN(row_of_y)(g, row + 2), *y3 = FN(row_of_y)(g, row + 3);
    v16 a0 = FN(start)(b, row, y0, o, n), a1 = FN(start)(b, row + 1, y1, o, n),
        a2 = FN(start)(b, row + 2, y2, o, n), a3 = FN(start)(b, row + 3, y3, o, n);
    for (size_t i = 0; i < b->k; i++, w += b->step_k) {
        const v16 by = v16_load_n(w, n);
        const size_t at = g->at ? g->at[i] : i;
        a0 = RVV(vfmacc_vf_f32m4)(a0, x0[at], by, n);
        a1 = RVV(vfmacc_vf_f32m4)(a1, x1[at], by, n);
        a2 = RVV(vfmacc_vf_f32m4)(a2, x2[at], by, n);
        a3 = RVV(vfmacc_vf_f32m4)(a3, x3[at], by, n);
    }
    v16_store_n(y0 + o, a0, n);
    v16_store_n(y1 + o, a1, n);
    v16_store_n(y2 + o, a2, n);
    v16_store_n(y3 + o, a3, n);
}

typedef void FN(tile_fn)(const struct FN(gemm) * g, size_t row, size_t o, size_t n);

/* One panel from o on, or four. */
static void FN(panel_run)(const struct FN(gemm) * g, FN(tile_fn) * tile, size_t row, size_t o)
{
    const size_t left = g->b->n - o, all = left < 16 ? left : 16;
    for (size_t l = 0, n; l < all; l += n) {
        n = RVV(vsetvl_e32m4)(all - l);
        tile(g, row, o + l, n);
    }
}

static void FN(gemm_run)(const struct FN(gemm) * g, size_t m)
{
    const size_t wholes = g->b->n / 16, rows = m / 4 * 4, fours = wholes / 4 * 4 * 16;
    for (size_t o = 0; o < g->b->n; o += 16)
        for (size_t r = 0; r < rows; r += 4)
            FN(panel_run)(g, FN(tile_4x1), r, o);
    for (size_t r = rows; r < m; r++) {
        for (size_t o = 0; o < fours; o += 64)
            FN(panel_run)(g, FN(tile_1x4), r, o);
        for (size_t o = fours; o < g->b->n; o += 16)
            FN(panel_run)(g, FN(tile_1x1), r, o);
    }
}

static void FN(gemm_block_f32)(float *y, size_t ldy, const float *x, size_t ldx,
                               const struct kern_block *b, size_t m)
{
    FN(gemm_run)(&(struct FN(gemm)) { .b = b, .y = y, .x = x, .ldy = ldy, .ldx = ldx }, m);
}

static void FN(gemm_f32)(float *restrict y, size_t ldy, const float *restrict x, size_t ldx,
                         const float *restrict w, const float *restrict bias, size_t m, size_t n,
                         size_t k)
{
    const struct kern_block b = {
        .w = w, .step_panel = 16 * k, .step_k = 16, .bias = bias, .n = n, .k = k
    };
    FN(gemm_block_f32)(y, ldy, x, ldx, &b, m);
}

static void FN(gemm_rows_f32)(float *const *y, const float *const *x, const struct kern_block *b,
                              size_t m)
{
    FN(gemm_run)(&(struct FN(gemm)) { .b = b, .y_by = y, .x_by = x }, m);
}

static void FN(gemm_at_f32)(float *restrict y, size_t ldy, const float *restrict x,
                            const size_t *row, const size_t *at, const struct kern_block *b,
                            size_t m)
{
    FN(gemm_run)
    (&(struct FN(gemm)) { .b = b, .y = y, .x = x, .ldy = ldy, .row = row, .at = at }, m);
}

static void FN(gemm_each_f32)(float *restrict y, size_t step_y, const float *restrict x,
                              size_t step_x, const float *restrict w, size_t n, size_t k,
                              size_t count)
{
    const size_t floats = (n + 15) / 16 * 16 * k;
    for (size_t i = 0; i < count; i++, y += step_y, x += step_x, w += floats)
        FN(gemm_f32)(y, 0, x, 0, w, NULL, 1, n, k);
}
