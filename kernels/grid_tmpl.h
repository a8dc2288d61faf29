/* SPDX-License-Identifier: MIT */
/* Numbers rounded to a grid: struct kern_grid of kernels/program.h. */

/* round_s8 or round_s16 of the quotient, times the scale. The quotient is a product by an inverse in
 * two parts, unless it divides. What is added to KERN_GRID_WHOLE is rounded to a whole number there:
 * additions have more room in processors than conversions. */
struct FN(grid) {
    v16 inverse, rest, least, most, scale, up, down, whole;
};

static inline v16 FN(v_grid)(v16 a, struct FN(grid) g, const bool divides, const bool twice,
                              const bool bends)
{
    a = v16_min(v16_max(a, g.least), g.most);
    v16 n = divides ? v16_div(a, g.scale) : v16_fma(a, g.inverse, v16_mul(a, g.rest));
    n = v16_sub(v16_add(n, g.whole), g.whole);
    if (twice) {
        v16 up = v16_fma(n, g.up, g.whole);
        n = v16_sub(bends ? v16_max(up, v16_fma(n, g.down, g.whole)) : up, g.whole);
    }
    return v16_mul(n, g.scale);
}

static inline struct FN(grid) FN(grid_of)(const struct kern_grid *g)
{
    return (struct FN(grid)) { v16_set1(g->inverse), v16_set1(g->rest),  v16_set1(g->least),
                               v16_set1(g->most),    v16_set1(g->scale), v16_set1(g->up),
                               v16_set1(g->down),    v16_set1(KERN_GRID_WHOLE) };
}

/* to may lie before the a that it overlaps. */
V16_UNROLLED void FN(grid_row)(float *to, const float *a, const struct FN(grid) g, size_t n,
                               const bool divides, const bool twice, const bool bends)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        v16 x = v16_load(a + i), y = v16_load(a + i + 16);
        v16_store(to + i, FN(v_grid)(x, g, divides, twice, bends));
        v16_store(to + i + 16, FN(v_grid)(y, g, divides, twice, bends));
    }
    for (; i + 16 <= n; i += 16)
        v16_store(to + i, FN(v_grid)(v16_load(a + i), g, divides, twice, bends));
    if (i < n)
        v16_store_n(to + i, FN(v_grid)(v16_load_n(a + i, n - i), g, divides, twice, bends), n - i);
}

static void FN(program_grid)(float *to, const float *a, const struct kern_grid *g, size_t n)
{
    if (g->divides)
        FN(grid_row)(to, a, FN(grid_of)(g), n, true, false, false);
    else if (!g->twice)
        FN(grid_row)(to, a, FN(grid_of)(g), n, false, false, false);
    else if (g->bends)
        FN(grid_row)(to, a, FN(grid_of)(g), n, false, true, true);
    else
        FN(grid_row)(to, a, FN(grid_of)(g), n, false, true, false);
}
