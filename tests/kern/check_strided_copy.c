/* SPDX-License-Identifier: MIT */
/* Moves of random strides against element by element, at guard pages, also over one's own
 * elements. */
#include "tests/kern/check.h"
#include "kernels/program.h"

#include <math.h>
#include <string.h>

static size_t below(struct check *t, size_t n)
{
    return (size_t) ((check_rand(t) * 0.5f + 0.4999f) * (float) n) % n;
}

static void reference(float *y, const float *x, const struct kern_strided_copy *m)
{
    for (size_t a = 0; a < m->n[0]; a++)
        for (size_t b = 0; b < m->n[1]; b++)
            for (size_t c = 0; c < m->n[2]; c++)
                for (size_t d = 0; d < m->n[3]; d++)
                    y[(ptrdiff_t) a * m->to[0] + (ptrdiff_t) b * m->to[1] +
                      (ptrdiff_t) c * m->to[2] + (ptrdiff_t) d * m->to[3]] =
                        x[(ptrdiff_t) a * m->from[0] + (ptrdiff_t) b * m->from[1] +
                          (ptrdiff_t) c * m->from[2] + (ptrdiff_t) d * m->from[3]];
}

/* Strides of a dense block whose axes lie in a random order. */
static void strides_shuffle(struct check *t, const size_t n[4], ptrdiff_t ret[4])
{
    int order[4] = { 0, 1, 2, 3 };
    for (int i = 3; i > 0; i--) {
        int k = (int) below(t, (size_t) i + 1), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
    for (ptrdiff_t i = 3, step = 1; i >= 0; step *= (ptrdiff_t) n[order[i--]])
        ret[order[i]] = step;
}

static void random_check(struct check *t, bool low)
{
    struct kern_strided_copy m = { .n = { 1 + below(t, 3), 1 + below(t, 4), 1 + below(t, 21),
                                          1 + below(t, 40) } };
    size_t n = m.n[0] * m.n[1] * m.n[2] * m.n[3];
    float *x = check_buf(t, n, low), *want = check_buf(t, n, low), *got = check_buf(t, n, low);
    strides_shuffle(t, m.n, m.from);
    if (below(t, 3))
        for (ptrdiff_t i = 3, step = 1; i >= 0; step *= (ptrdiff_t) m.n[i--])
            m.to[i] = step;
    else
        strides_shuffle(t, m.n, m.to);
    if (below(t, 4) == 0)
        m.from[below(t, 4)] = 0;
    check_fill_bits(t, x, n);
    check_fill(t, want, n);
    memcpy(got, want, n * sizeof *got);
    reference(want, x, &m);
    t->new.strided_copy_f32(got, x, &m);
    check_same(t, "strided_copy_f32", want, got, n, "n %zu %zu %zu %zu", m.n[0], m.n[1], m.n[2],
               m.n[3]);
    check_drop(t);
}

/* Every second of x, whose end is the end of what may be read. */
static void seconds_check(struct check *t, size_t n, bool low)
{
    const struct kern_strided_copy m = { .n = { 1, 1, 1, n },
                                         .from = { 0, 0, 0, 2 },
                                         .to = { 0, 0, 0, 1 } };
    float *x = check_buf(t, 2 * n - 1, low), *want = check_buf(t, n, low),
          *got = check_buf(t, n, low);
    check_fill_bits(t, x, 2 * n - 1);
    reference(want, x, &m);
    t->new.strided_copy_f32(got, x, &m);
    check_same(t, "strided_copy_f32", want, got, n, "every second of %zu", 2 * n - 1);
    check_drop(t);
}

/* y[row][column] of every second of x[column], whose end is the end of what may be read. */
static void pairs_check(struct check *t, size_t rows, size_t columns, bool low)
{
    const size_t ldx = 2 * rows + 3, n = rows * columns,
                 floats = (columns - 1) * ldx + 2 * rows - 1;
    const struct kern_strided_copy m = { .n = { 1, 1, rows, columns },
                                         .from = { 0, 0, 2, (ptrdiff_t) ldx },
                                         .to = { 0, 0, (ptrdiff_t) columns, 1 } };
    float *x = check_buf(t, floats, low), *want = check_buf(t, n, low), *got = check_buf(t, n, low);
    check_fill_bits(t, x, floats);
    reference(want, x, &m);
    t->new.strided_copy_f32(got, x, &m);
    check_same(t, "strided_copy_f32", want, got, n, "%zu by %zu, every second", rows, columns);
    check_drop(t);
}

/* Rows of up to four come to lie one after the other, `step` apart in x. */
static void dense_check(struct check *t, size_t rows, size_t n, size_t step, bool low)
{
    const struct kern_strided_copy m = { .n = { 1, 1, rows, n },
                                         .from = { 0, 0, (ptrdiff_t) step, 1 },
                                         .to = { 0, 0, (ptrdiff_t) n, 1 } };
    const size_t floats = (rows - 1) * step + n;
    float *x = check_buf(t, floats, low), *want = check_buf(t, rows * n, low),
          *got = check_buf(t, rows * n, low);
    check_fill_bits(t, x, floats);
    reference(want, x, &m);
    t->new.strided_copy_f32(got, x, &m);
    check_same(t, "strided_copy_f32", want, got, rows * n, "%zu rows of %zu from %zu apart", rows,
               n, step);
    check_drop(t);
}

/* A history moves up by `step` where it lies. */
static void history_check(struct check *t, size_t rows, size_t n, size_t step)
{
    struct kern_strided_copy m = { .n = { 1, 1, rows, n - step },
                                   .from = { 0, 0, (ptrdiff_t) n, 1 },
                                   .to = { 0, 0, (ptrdiff_t) n, 1 },
                                   .overlaps = true };
    float *want = check_buf(t, rows * n, false), *got = check_buf(t, rows * n, false);
    check_fill(t, want, rows * n);
    memcpy(got, want, rows * n * sizeof *got);
    for (size_t r = 0; r < rows; r++)
        memmove(want + r * n, want + r * n + step, (n - step) * sizeof *want);
    t->new.strided_copy_f32(got, got + step, &m);
    check_same(t, "strided_copy_f32", want, got, rows * n, "in place, %zu rows of %zu by %zu", rows,
               n, step);
    check_drop(t);
}

static float rounded(float x, float scale, float low, float high)
{
    float n = rintf(x / scale);
    return (n < low ? low : n > high ? high : n) * scale + 0.0f;
}

/* Rows that are rounded to one grid or two as they move, also where they lie. */
static void grid_check(struct check *t, size_t n, bool twice, bool there)
{
    const size_t ld = n + 3, rows = 5;
    const float scale = .013f, next = .021f;
    struct kern_grid g;
    struct kern_strided_copy m = { .n = { 1, 1, rows, n },
                                   .from = { 0, 0, (ptrdiff_t) ld, 1 },
                                   .to = { 0, 0, (ptrdiff_t) (there ? ld : n), 1 },
                                   .overlaps = there,
                                   .grid = &g };
    bool made =
        kern_grid_set(&g, scale, -100, 155) && (!twice || kern_grid_twice(&g, 1, next, -128, 127));
    if (!made) {
        check_same(t, "a grid", (float[]) { 1 }, (float[]) { 0 }, 1, "of %g", (double) scale);
        return;
    }
    float *x = check_buf(t, rows * ld, false), *want = check_buf(t, rows * ld, false),
          *got = check_buf(t, rows * ld, false);
    check_fill(t, x, rows * ld);
    for (size_t i = 0; i < rows * ld; i++)
        x[i] *= 3;
    memcpy(got, x, rows * ld * sizeof *x);
    memcpy(want, x, rows * ld * sizeof *x);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < n; i++) {
            float v = rounded(x[r * ld + i + 3], scale, -100, 155);
            want[r * (there ? ld : n) + i] = twice ? rounded(v, next, -128, 127) : v;
        }
    t->new.strided_copy_f32(got, (there ? got : x) + 3, &m);
    check_same(t, "strided_copy_f32 grid", want, got, rows * ld, "%zu rows of %zu", rows, n);
    check_drop(t);
}

void check_strided_copy(struct check *t)
{
    for (size_t n = 1; n < 120; n += n < 40 ? 1 : 7)
        for (int kind = 0; kind < 4; kind++)
            grid_check(t, n, kind & 1, kind & 2);
    for (int i = 0; i < 400; i++)
        random_check(t, i & 1);
    for (size_t n = 1; n < 40; n++)
        seconds_check(t, n, n & 1);
    for (size_t rows = 1; rows < 24; rows++)
        for (size_t n = 1; n < 10; n++) {
            pairs_check(t, rows, n, n & 1);
            for (size_t step = 0; n < 5 && step < 7; step++)
                dense_check(t, rows, n, step, (n + step) & 1);
        }
    for (size_t n = 2; n < 70; n += 3)
        for (size_t step = 1; step < n && step < 20; step += 2)
            history_check(t, 3, n, step);
}
