/* SPDX-License-Identifier: MIT */
/* Numbers rounded to a grid: struct kern_grid of kernels/program.h. */

/* round_s8 or round_s16 of the quotient, times the scale. The quotient is a product by an inverse
 * in two parts, unless it divides. What is added to KERN_GRID_WHOLE is rounded to a whole number
 * there: additions have more room in processors than conversions. */
struct FN(grid) {
    v16 inverse, rest, least, most, scale, up, down, whole;
};

/* The nearest whole number, halves to even; it may be -0. */
V16_UNROLLED v16 FN(v_whole)(v16 n, struct FN(grid) g)
{
#ifdef V16_WHOLE
    (void) g;
    return v16_whole(n);
#else
    return v16_sub(v16_add(n, g.whole), g.whole);
#endif
}

V16_UNROLLED v16 FN(v_grid_number)(v16 a, struct FN(grid) g, const bool divides)
{
    a = v16_min(v16_max(a, g.least), g.most);
    v16 n = divides ? v16_div(a, g.scale) : v16_fma(a, g.inverse, v16_mul(a, g.rest));
    return FN(v_whole)(n, g);
}

/* What the whole number is on the grid; never -0. */
V16_UNROLLED v16 FN(v_grid_at)(v16 n, struct FN(grid) g, const bool twice, const bool bends)
{
    if (twice) {
        v16 up = v16_fma(n, g.up, g.whole);
        n = v16_sub(bends ? v16_max(up, v16_fma(n, g.down, g.whole)) : up, g.whole);
        return v16_mul(n, g.scale);
    }
#ifdef V16_WHOLE
    return v16_fma(n, g.scale, v16_set1(0));
#else
    return v16_mul(n, g.scale);
#endif
}

V16_UNROLLED v16 FN(v_grid)(v16 a, struct FN(grid) g, const bool divides, const bool twice,
                            const bool bends)
{
    return FN(v_grid_at)(FN(v_grid_number)(a, g, divides), g, twice, bends);
}

static inline struct FN(grid) FN(grid_of)(const struct kern_grid *g)
{
    return (struct FN(grid)) { v16_set1(g->inverse), v16_set1(g->rest),        v16_set1(g->least),
                               v16_set1(g->most),    v16_set1(g->scale),       v16_set1(g->up),
                               v16_set1(g->down),    v16_set1(KERN_GRID_WHOLE) };
}

static inline v16 FN(v_grid_of)(v16 a, struct FN(grid) g, const int roundings)
{
    return roundings ? FN(v_grid)(a, g, false, roundings > 1, roundings > 1) : a;
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

/* Rows of n floats and how far their operands are from row to row. */
struct FN(grid_rows) {
    size_t rows, n, to_step, a_step, b_step, c_step;
};

static inline v16 FN(v_function)(v16 a, v16 b, const enum kern_instr_op function)
{
    return function == KERN_ADD ? v16_add(a, b)
        : function == KERN_SUB  ? v16_sub(a, b)
        : function == KERN_MUL  ? v16_mul(a, b)
                                : v16_div(a, b);
}

#ifndef V16_FIRST
static const float FN(grid_lanes)[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
#endif

/* The first `left` lanes of a row that ends, then those of the row behind it. */
static inline v16 FN(v_of_two)(const float *b, size_t step, size_t left)
{
#ifdef V16_FIRST
    const m16 ends = v16_first(left);
#else
    const m16 ends = v16_lt(v16_load(FN(grid_lanes)), v16_set1((float) left));
#endif
    return v16_pick(ends, v16_set1(*b), v16_set1(b[step]));
}

/* Rows that lie one after the other, of at least a vector: the last vector of each goes on in the
 * next row, so that there are as few as fit and they lie as the first one does. */
static inline bool FN(rows_are_flat)(const struct FN(grid_rows) *s)
{
    return s->to_step == s->n && s->a_step == s->n && s->n >= 16;
}

/* A function and its rounding (once, or twice: 2) in registers; `one`: b is one element a row. */
V16_UNROLLED void FN(rounded_rows)(float *to, const float *a, const float *b,
                                   const struct kern_grid *grid, const struct FN(grid_rows) *s,
                                   const enum kern_instr_op function, const bool one,
                                   const int roundings)
{
    const struct FN(grid) g = FN(grid_of)(grid);
    const size_t n = s->n;
    const bool flat = one && FN(rows_are_flat)(s);
    size_t i = 0;
    for (size_t r = 0; r < s->rows; r++, to += s->to_step, a += s->a_step, b += s->b_step) {
        const v16 vb = v16_set1(*b);
        for (; i + 16 <= n; i += 16) {
            v16 y = FN(v_function)(v16_load(a + i), one ? vb : v16_load(b + i), function);
            v16_store(to + i, FN(v_grid_of)(y, g, roundings));
        }
        const size_t left = n - i, at = i;
        i = 0;
        if (left && flat && r + 1 < s->rows) {
            v16 y = FN(v_function)(v16_load(a + at), FN(v_of_two)(b, s->b_step, left), function);
            v16_store(to + at, FN(v_grid_of)(y, g, roundings));
            i = 16 - left;
        } else if (left) {
            v16 z = one ? vb : v16_load_n(b + at, left),
                y = FN(v_function)(v16_load_n(a + at, left), z, function);
            v16_store_n(to + at, FN(v_grid_of)(y, g, roundings), left);
        }
    }
}

#define GRID_ROUNDED(X)                                                                            \
    X(KERN_ADD, false, 1) X(KERN_ADD, false, 2) X(KERN_ADD, true, 1) X(KERN_ADD, true, 2)          \
    X(KERN_SUB, false, 1) X(KERN_SUB, false, 2) X(KERN_SUB, true, 1) X(KERN_SUB, true, 2)          \
    X(KERN_MUL, false, 1) X(KERN_MUL, false, 2) X(KERN_MUL, true, 1) X(KERN_MUL, true, 2)          \
    X(KERN_DIV, false, 1) X(KERN_DIV, false, 2) X(KERN_DIV, true, 1) X(KERN_DIV, true, 2)

static void FN(program_rounded)(float *to, const float *a, const float *b,
                                const struct kern_instr *i, struct FN(grid_rows) *s)
{
    if (!i->b.one && s->to_step == s->n && s->a_step == s->n && s->b_step == s->n)
        s->n *= s->rows, s->rows = 1;
#define X(function_, one_, roundings_)                                                             \
    if (i->function == function_ && i->b.one == one_ && (i->grid->twice ? 2 : 1) == roundings_)    \
        FN(rounded_rows)(to, a, b, i->grid, s, function_, one_, roundings_);
    GRID_ROUNDED(X)
#undef X
}
#undef GRID_ROUNDED

/* A product and a sum between two roundings; before: 2: they are joined. */
V16_UNROLLED v16 FN(v_scaled)(v16 a, v16 b, v16 c, const struct FN(grid) f, const struct FN(grid) g,
                              const int before, const int behind)
{
    if (before == 2) {
        v16 n = v16_fma(FN(v_grid_number)(a, f, false), b, c);
        n = FN(v_whole)(v16_min(v16_max(n, g.least), g.most), g);
        return FN(v_grid_at)(n, g, behind > 1, behind > 1);
    }
    a = v16_add(v16_mul(FN(v_grid_of)(a, f, before), b), c);
    return FN(v_grid_of)(a, g, behind);
}

/* An element, as v_scaled takes it. */
static inline v16 FN(v_joined)(v16 b, float by, const int before)
{
    return before == 2 ? v16_mul(b, v16_set1(by)) : b;
}

V16_UNROLLED void FN(scaled_rows)(float *to, const float *a, const float *b, const float *c,
                                  const struct kern_instr *instr, const struct FN(grid_rows) *s,
                                  const int before, const int behind)
{
    static const struct kern_grid none;
    const struct kern_grid *last = behind ? instr->grid : &none;
    const struct FN(grid) f = FN(grid_of)(before ? instr->first : &none);
    struct FN(grid) g = FN(grid_of)(last);
    if (before == 2)
        g.least = v16_set1(last->low), g.most = v16_set1(last->high);
    const size_t n = s->n;
    const bool flat = FN(rows_are_flat)(s);
    size_t i = 0;
    for (size_t r = 0; r < s->rows; r++, to += s->to_step, a += s->a_step) {
        const v16 vb = FN(v_joined)(v16_set1(*b), last->times, before),
                  vc = FN(v_joined)(v16_set1(*c), last->shift, before);
        for (; i + 16 <= n; i += 16)
            v16_store(to + i, FN(v_scaled)(v16_load(a + i), vb, vc, f, g, before, behind));
        const size_t left = n - i, at = i;
        i = 0;
        if (left && flat && r + 1 < s->rows) {
            v16 y = FN(v_joined)(FN(v_of_two)(b, s->b_step, left), last->times, before),
                z = FN(v_joined)(FN(v_of_two)(c, s->c_step, left), last->shift, before);
            v16_store(to + at, FN(v_scaled)(v16_load(a + at), y, z, f, g, before, behind));
            i = 16 - left;
        } else if (left) {
            v16 x = FN(v_scaled)(v16_load_n(a + at, left), vb, vc, f, g, before, behind);
            v16_store_n(to + at, x, left);
        }
        b += s->b_step;
        c += s->c_step;
    }
}

static void FN(program_scaled)(float *to, const float *a, const float *b, const float *c,
                               const struct kern_instr *i, const struct FN(grid_rows) *s)
{
    const int behind = i->grid ? (i->grid->twice ? 2 : 1) : 0,
              before = !i->first    ? 0
        : i->grid && i->grid->joins ? 2
                                    : 1;
#define X(before_, behind_)                                                                        \
    if (before == before_ && behind == behind_)                                                    \
        FN(scaled_rows)(to, a, b, c, i, s, before_, behind_);
    X(0, 0) X(0, 1) X(0, 2) X(1, 0) X(1, 1) X(1, 2) X(2, 1) X(2, 2)
#undef X
}
