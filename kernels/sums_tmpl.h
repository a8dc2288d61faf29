/* SPDX-License-Identifier: MIT */
/* What recurrent cells with weights of 8 bits sum: tiles of rows and columns of whole numbers. The
 * sums leave through memory, so that a tile has all registers to itself. */

#define SUMS_ROWS 4

/* w: of each pair of terms `down` panels lie side by side; wide: they are of 16 bits. */
V16_UNROLLED void FN(sums_tile)(int32_t *restrict ret, const void *w, size_t down,
                                const int16_t *const *x, size_t pairs, const int rows,
                                const int panels, const int wide)
{
    i16 acc[24], zero = i16_set1(0);
    const int16_t *from[SUMS_ROWS];
    const int8_t *at = w;
    const size_t bytes = wide ? 64 : 32;
    V16_UNROLL for (int r = 0; r < rows; r++)
        from[r] = x[r];
    V16_UNROLL for (int p = 0; p < panels; p++)
        V16_UNROLL for (int r = 0; r < rows; r++)
            acc[p * rows + r] = zero;
    for (size_t k = 0; k < pairs; k++, at += down * bytes)
        V16_UNROLL for (int p = 0; p < panels; p++) {
            const int8_t *own = at + (size_t) p * bytes;
            const w2 pair = wide ? w2_load_s16((const int16_t *) (const void *) own) : w2_load(own);
            V16_UNROLL for (int r = 0; r < rows; r++)
                acc[p * rows + r] = i16_add_pairs(acc[p * rows + r], pair, from[r] + 2 * k);
        }
    V16_UNROLL for (int p = 0; p < panels; p++)
        V16_UNROLL for (int r = 0; r < rows; r++)
            i16_store(ret + (p * rows + r) * 16, acc[p * rows + r]);
}

typedef void FN(sums_fn)(int32_t *restrict ret, const void *w, size_t down, const int16_t *const *x,
                         size_t pairs);

#define SUMS_PANELS(X, rows) X(rows, 1) X(rows, 2) X(rows, 3) X(rows, 4) X(rows, 6)
#define SUMS_ALL(X) SUMS_PANELS(X, 1) X(1, 8) SUMS_PANELS(X, 2) X(2, 8) SUMS_PANELS(X, 4)
#define SUMS_FN(rows, panels, wide)                                                                \
    static void FN(sums_##rows##_##panels##_##wide)(int32_t *restrict ret, const void *w,          \
                                                    size_t down, const int16_t *const *x,          \
                                                    size_t pairs)                                  \
    {                                                                                              \
        FN(sums_tile)(ret, w, down, x, pairs, rows, panels, wide);                                 \
    }
#define X(rows, panels) SUMS_FN(rows, panels, 0) SUMS_FN(rows, panels, 1)
SUMS_ALL(X)
#undef X

static void FN(cell_sums)(int32_t *restrict ret, const struct kern_cell_sums *s,
                          const int16_t *const *x)
{
    static FN(sums_fn) *const fns[SUMS_ROWS + 1][9][2] = {
#define X(rows, panels)                                                                            \
    [rows][panels] = { FN(sums_##rows##_##panels##_0), FN(sums_##rows##_##panels##_1) },
        SUMS_ALL(X)
#undef X
    };
    fns[s->rows][s->panels][s->wide](ret, s->w, s->down, x, s->pairs);
}
