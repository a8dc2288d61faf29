/* SPDX-License-Identifier: MIT */
/* Elements moved by strides. Vectors are loaded before they are stored, in order. */

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
    for (; i < n; i++)
        y[(ptrdiff_t) i * to] = x[(ptrdiff_t) i * from];
}

/* Short dense rows: one masked vector each. */
static inline void FN(move_narrow)(float *y, const float *x, size_t rows, size_t n, ptrdiff_t from, ptrdiff_t to)
{
    for (size_t i = 0; i < rows; i++, y += to, x += from)
        v16_store_n(y, v16_load_n(x, n), n);
}

static void FN(move_f32)(float *y, const float *x, const struct kern_move *m)
{
    bool narrow = m->n[3] < 16 && m->from[3] == 1 && m->to[3] == 1;
    for (size_t a = 0; a < m->n[0]; a++, y += m->to[0], x += m->from[0]) {
        float *yb = y;
        const float *xb = x;
        for (size_t b = 0; b < m->n[1]; b++, yb += m->to[1], xb += m->from[1]) {
            if (narrow) {
                FN(move_narrow)(yb, xb, m->n[2], m->n[3], m->from[2], m->to[2]);
                continue;
            }
            float *yc = yb;
            const float *xc = xb;
            for (size_t c = 0; c < m->n[2]; c++, yc += m->to[2], xc += m->from[2])
                FN(move_row)(yc, xc, m->n[3], m->from[3], m->to[3]);
        }
    }
}
