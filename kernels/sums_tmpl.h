/* SPDX-License-Identifier: MIT */
/* What recurrent cells with weights of 8 bits sum: tiles of rows and columns of whole numbers. The
 * sums leave through memory, so that a tile has all registers to itself. */

#define SUMS_ROWS 4

#define SUMS_EACH(i, n) V16_UNROLL for (int i = 0; i < (n); i++)

/* Panels of bytes, BYTES_PANELS of them in the sums of a b16 where it is whole; of an odd number the last
 * one alone. */
V16_UNROLLED void FN(sums_bytes)(int32_t *restrict ret, const void *w, size_t down,
                                 const int16_t *const *x, size_t pairs, const int rows,
                                 const int panels)
{
    const int sets = (panels + BYTES_PANELS - 1) / BYTES_PANELS;
    b16 acc[24];
    const int16_t *from[SUMS_ROWS];
    const int8_t *at = w;
    SUMS_EACH(r, rows) from[r] = x[r];
    SUMS_EACH(s, sets)
        SUMS_EACH(r, rows) acc[s * rows + r] = b16_zero();
    for (size_t k = 0; k < pairs; k++, at += down * 32)
        SUMS_EACH(s, sets) {
            const int whole = (s + 1) * BYTES_PANELS <= panels;
            const w8 pair = w8_load(at + s * BYTES_PANELS * 32, whole);
            SUMS_EACH(r, rows)
                acc[s * rows + r] = b16_add_pairs(acc[s * rows + r], pair, from[r] + 2 * k, whole);
        }
    SUMS_EACH(s, sets)
        SUMS_EACH(r, rows)
            b16_store(ret + (s * BYTES_PANELS * rows + r) * 16, rows * 16, acc[s * rows + r],
                      (s + 1) * BYTES_PANELS <= panels);
}

/* w: of each pair of terms `down` panels of 16 bits lie side by side. */
V16_UNROLLED void FN(sums_wide)(int32_t *restrict ret, const void *w, size_t down,
                                const int16_t *const *x, size_t pairs, const int rows,
                                const int panels)
{
    i16 acc[24], zero = i16_set1(0);
    const int16_t *from[SUMS_ROWS];
    const int16_t *at = w;
    SUMS_EACH(r, rows) from[r] = x[r];
    SUMS_EACH(p, panels)
        SUMS_EACH(r, rows) acc[p * rows + r] = zero;
    for (size_t k = 0; k < pairs; k++, at += down * 32)
        SUMS_EACH(p, panels) {
            const w2 pair = w2_load_s16(at + p * 32);
            SUMS_EACH(r, rows) acc[p * rows + r] = i16_add_pairs(acc[p * rows + r], pair, from[r] + 2 * k);
        }
    SUMS_EACH(p, panels)
        SUMS_EACH(r, rows) i16_store(ret + (p * rows + r) * 16, acc[p * rows + r]);
}
#undef SUMS_EACH

typedef void FN(sums_fn)(int32_t *restrict ret, const void *w, size_t down, const int16_t *const *x,
                         size_t pairs);

#define SUMS_PANELS(X, rows) X(rows, 1) X(rows, 2) X(rows, 3) X(rows, 4) X(rows, 6)
#define SUMS_ALL(X) SUMS_PANELS(X, 1) X(1, 8) SUMS_PANELS(X, 2) X(2, 8) SUMS_PANELS(X, 4)
#define SUMS_FN(rows, panels, kind)                                                                \
    static void FN(sums_##kind##_##rows##_##panels)(int32_t *restrict ret, const void *w,          \
                                                    size_t down, const int16_t *const *x,          \
                                                    size_t pairs)                                  \
    {                                                                                              \
        FN(sums_##kind)(ret, w, down, x, pairs, rows, panels);                                     \
    }
#define X(rows, panels) SUMS_FN(rows, panels, bytes) SUMS_FN(rows, panels, wide)
SUMS_ALL(X)
#undef X

static void FN(cell_sums)(int32_t *restrict ret, const struct kern_cell_sums *s,
                          const int16_t *const *x)
{
    static FN(sums_fn) *const fns[SUMS_ROWS + 1][9][2] = {
#define X(rows, panels)                                                                            \
    [rows][panels] = { FN(sums_bytes_##rows##_##panels), FN(sums_wide_##rows##_##panels) },
        SUMS_ALL(X)
#undef X
    };
    fns[s->rows][s->panels][s->wide](ret, s->w, s->down, x, s->pairs);
}
