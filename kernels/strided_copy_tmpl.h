/* SPDX-License-Identifier: MIT */
/* Elements moved by strides. Vectors are loaded before they are stored, in order. */

typedef float FN(quad) __attribute__((vector_size(16), aligned(4)));

/* step: 1, or 2, where eight are read. */
static inline FN(quad) FN(quad_every)(const float *x, const int step)
{
    const FN(quad) a = *(const FN(quad) *) (const void *) x;
    return step == 1
        ? a
        : __builtin_shufflevector(a, *(const FN(quad) *) (const void *) (x + 4), 0, 2, 4, 6);
}

/* y[i] = x[2 * i], four at once while all eight that are read exist. Returns how many. */
static inline size_t FN(move_seconds)(float *y, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 4 < n; i += 4)
        *(FN(quad) *) (void *) (y + i) = FN(quad_every)(x + 2 * i, 2);
    return i;
}

static inline void FN(move_row)(float *y, const float *x, size_t n, ptrdiff_t from, ptrdiff_t to)
{
    size_t i = 0;
    if (from == 1 && to == 1) {
        for (; i + 16 <= n; i += 16)
            v16_store(y + i, v16_load(x + i));
        if (i < n)
            v16_store_n(y + i, v16_load_n(x + i, n - i), n - i);
        return;
    }
    if (from == 0 && to == 1) {
        v16 a = v16_set1(*x);
        for (; i + 16 <= n; i += 16)
            v16_store(y + i, a);
        if (i < n)
            v16_store_n(y + i, a, n - i);
        return;
    }
    if (from == 2 && to == 1)
        i = FN(move_seconds)(y, x, n);
    for (; i < n; i++)
        y[(ptrdiff_t) i * to] = x[(ptrdiff_t) i * from];
}

/* Rows of up to four that come to lie one after the other, at least one apart in x: four are moved
 * of each, the next row goes over what is too many. Returns how many rows were moved: behind the
 * others there are four to read and to write. */
static inline size_t FN(move_dense)(float *y, const float *x, size_t rows, size_t n, ptrdiff_t from)
{
    size_t i = 0;
    for (; i + (4 - n) < rows; i++, y += n, x += from)
        *(FN(quad) *) (void *) y = FN(quad_every)(x, 1);
    return i;
}

/* Short dense rows: one masked vector each. */
static inline void FN(move_narrow)(float *y, const float *x, const struct kern_strided_copy *m)
{
    const size_t rows = m->n[2], n = m->n[3];
    const ptrdiff_t from = m->from[2], to = m->to[2];
    size_t i = 0;
    if (n > 0 && n <= 4 && to == (ptrdiff_t) n && from > 0 && !m->overlaps)
        i = FN(move_dense)(y, x, rows, n, from);
    for (y += (ptrdiff_t) i * to, x += (ptrdiff_t) i * from; i < rows; i++, y += to, x += from)
        v16_store_n(y, v16_load_n(x, n), n);
}

/* Rows of two or three. */
static inline void FN(move_few)(float *y, const float *x, const struct kern_strided_copy *m)
{
    const ptrdiff_t from = m->from[3], to = m->to[3];
    for (size_t i = 0; i < m->n[2]; i++, y += m->to[2], x += m->from[2]) {
        y[0] = x[0];
        y[to] = x[from];
        if (m->n[3] > 2)
            y[2 * to] = x[2 * from];
    }
}

/* y[r][c] = x[c][step * r] for four rows and columns; ldy and ldx from row to row. */
static inline void FN(quad_turn)(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx,
                                 const int step)
{
    FN(quad)
    a = FN(quad_every)(x, step), b = FN(quad_every)(x + ldx, step);
    FN(quad)
    c = FN(quad_every)(x + 2 * ldx, step), d = FN(quad_every)(x + 3 * ldx, step);
    FN(quad)
    ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
    cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    FN(quad)
    ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
    cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(FN(quad) *) (void *) y = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(FN(quad) *) (void *) (y + ldy) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    *(FN(quad) *) (void *) (y + 2 * ldy) = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5);
    *(FN(quad) *) (void *) (y + 3 * ldy) = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
}

#ifdef V16_TRANSPOSES
static inline void FN(square_turn)(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx)
{
    v16 a[16];
    V16_UNROLL for (int i = 0; i < 16; i++) a[i] = v16_load(x + i * ldx);
    v16_transpose(a);
    V16_UNROLL for (int i = 0; i < 16; i++) v16_store(y + i * ldy, a[i]);
}
#elif defined(V16_TURNS_8)
static inline void FN(square_turn)(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx)
{
    V16_UNROLL for (ptrdiff_t c = 0; c < 16; c += 8)
        V16_UNROLL for (ptrdiff_t r = 0; r < 16; r += 8)
            v8_square_turn(y + r * ldy + c, ldy, x + c * ldx + r, ldx);
}
#else
static inline void FN(square_turn)(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx)
{
    for (ptrdiff_t c = 0; c < 16; c += 4)
        V16_UNROLL for (ptrdiff_t r = 0; r < 16; r += 4)
            FN(quad_turn)(y + r * ldy + c, ldy, x + c * ldx + r, ldx, 1);
}
#endif

/* y[r * ldy + c] = x[c * ldx + step * r], by fours. */
static inline void FN(turn_few)(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx, size_t rows,
                                size_t columns, const int step)
{
    const size_t quads = step == 1 ? rows / 4 : (rows - 1) / 4; /* of each second no eighth is there */
    size_t c = 0, r = 0;
    for (; c + 4 <= columns; c += 4)
        for (r = 0; r < 4 * quads; r += 4)
            FN(quad_turn)
            (y + (ptrdiff_t) r * ldy + (ptrdiff_t) c, ldy,
             x + (ptrdiff_t) c * ldx + (ptrdiff_t) r * step, ldx, step);
    for (r = c < columns ? 0 : 4 * quads; r < rows; r++)
        for (size_t i = r < 4 * quads ? c : 0; i < columns; i++)
            y[(ptrdiff_t) r * ldy + (ptrdiff_t) i] =
                x[(ptrdiff_t) i * ldx + (ptrdiff_t) r * step];
}

/* Rows that are taken together: of a few lines of x each is then read for as long as a processor needs to
 * see that it goes on. Many lines are read 16 rows at a time, fetched so many lines ahead. */
#define TURN_ROWS  64
#define TURN_LINES 128
#define TURN_AHEAD 48

static inline void FN(turn_fetch)(const float *x, ptrdiff_t ldx, size_t c, size_t columns)
{
    const size_t at = c + TURN_AHEAD;
    const float *from =
        at < columns ? x + (ptrdiff_t) at * ldx : x + (ptrdiff_t) (at % columns) * ldx + 16;
    for (size_t i = 0; i < 16; i++)
        __builtin_prefetch(from + (ptrdiff_t) i * ldx);
}

/* Up to TURN_ROWS rows, a multiple of 16. */
static inline void FN(turn_rows)(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx, size_t rows,
                                 size_t columns)
{
    const size_t whole = columns / 16 * 16;
    for (size_t c = 0; c < whole; c += 16) {
        if (columns > TURN_LINES)
            FN(turn_fetch)(x, ldx, c, whole);
        for (size_t r = 0; r < rows; r += 16)
            FN(square_turn)
            (y + (ptrdiff_t) r * ldy + (ptrdiff_t) c, ldy, x + (ptrdiff_t) c * ldx + (ptrdiff_t) r,
             ldx);
    }
    for (size_t r = 0; r < rows && whole < columns; r += 16)
        FN(turn_few)
        (y + (ptrdiff_t) r * ldy + (ptrdiff_t) whole, ldy,
         x + (ptrdiff_t) whole * ldx + (ptrdiff_t) r, ldx, 16, columns - whole, 1);
}

/* y[r * ldy + c] = x[c * ldx + r], r < rows, c < columns; y and x apart. */
static void FN(move_turn)(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx, size_t rows,
                          size_t columns)
{
    const size_t whole = rows / 16 * 16, block = columns > TURN_LINES ? 16 : TURN_ROWS;
    for (size_t r = 0; r < whole; r += block)
        FN(turn_rows)
        (y + (ptrdiff_t) r * ldy, ldy, x + r, ldx, whole - r < block ? whole - r : block, columns);
    if (whole < rows)
        FN(turn_few)(y + (ptrdiff_t) whole * ldy, ldy, x + whole, ldx, rows - whole, columns, 1);
}

#ifdef V16_EIGHTS
/* Rows of eight, two by two; returns how many were moved. */
static inline size_t FN(move_eights)(float *y, const float *x, const struct kern_strided_copy *m,
                                     const struct FN(grid) g, const bool twice)
{
    const ptrdiff_t to = m->to[2], from = m->from[2];
    size_t c = 0;
    for (; c + 2 <= m->n[2]; c += 2, y += 2 * to, x += 2 * from)
        v16_store_eights(y, y + to,
                         FN(v_grid)(v16_load_eights(x, x + from), g, false, twice, false));
    return c;
}
#endif

V16_UNROLLED void FN(move_rounded)(float *y, const float *x, const struct kern_strided_copy *m,
                                   const bool twice)
{
    const struct FN(grid) g = FN(grid_of)(m->grid);
    for (size_t a = 0; a < m->n[0]; a++, y += m->to[0], x += m->from[0]) {
        float *yb = y;
        const float *xb = x;
        for (size_t b = 0; b < m->n[1]; b++, yb += m->to[1], xb += m->from[1]) {
            size_t c = 0;
#ifdef V16_EIGHTS
            if (m->n[3] == 8)
                c = FN(move_eights)(yb, xb, m, g, twice);
#endif
            float *yc = yb + (ptrdiff_t) c * m->to[2];
            const float *xc = xb + (ptrdiff_t) c * m->from[2];
            for (; c < m->n[2]; c++, yc += m->to[2], xc += m->from[2])
                FN(grid_row)(yc, xc, g, m->n[3], false, twice, false);
        }
    }
}

/* By itself, so that its registers are none of plain copies. */
static __attribute__((noinline)) void FN(move_on_grid)(float *y, const float *x,
                                                       const struct kern_strided_copy *m)
{
    if (m->grid->twice)
        FN(move_rounded)(y, x, m, true);
    else
        FN(move_rounded)(y, x, m, false);
}

static void FN(strided_copy_f32)(float *y, const float *x, const struct kern_strided_copy *m)
{
    if (m->grid) {
        FN(move_on_grid)(y, x, m);
        return;
    }
    bool narrow = m->n[3] < 16 && m->from[3] == 1 && m->to[3] == 1;
    bool columns = !m->overlaps && m->n[3] >= 4 && m->n[2] >= 4 && m->to[3] == 1;
    bool turned = columns && m->from[2] == 1, seconds = columns && m->from[2] == 2;
    const bool few = m->n[3] < 4 && m->n[3] > 1 && !m->overlaps;
    for (size_t a = 0; a < m->n[0]; a++, y += m->to[0], x += m->from[0]) {
        float *yb = y;
        const float *xb = x;
        for (size_t b = 0; b < m->n[1]; b++, yb += m->to[1], xb += m->from[1]) {
            if (narrow) {
                FN(move_narrow)(yb, xb, m);
                continue;
            }
            if (turned) {
                FN(move_turn)(yb, m->to[2], xb, m->from[3], m->n[2], m->n[3]);
                continue;
            }
            if (seconds) {
                FN(turn_few)(yb, m->to[2], xb, m->from[3], m->n[2], m->n[3], 2);
                continue;
            }
            if (few) {
                FN(move_few)(yb, xb, m);
                continue;
            }
            float *yc = yb;
            const float *xc = xb;
            for (size_t c = 0; c < m->n[2]; c++, yc += m->to[2], xc += m->from[2])
                FN(move_row)(yc, xc, m->n[3], m->from[3], m->to[3]);
        }
    }
}
