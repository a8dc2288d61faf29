/* SPDX-License-Identifier: MIT */
#include "tests/kern/check.h"

#include <math.h>

#define TAPS_MAX 5
#define LINES_MAX 4
#define VECS_MAX 8

/* ---- windows ---- */

struct pool {
    struct kern_conv c;
    struct kern_conv_lines lines;
    struct kern_conv_line line[LINES_MAX];
    uint32_t mask[TAPS_MAX * VECS_MAX];
    const float *x, *count;
    struct kern_rows rows;
};

enum kind { MAX, MEAN, SQUARES };

/* The contract, spelled out, for place i of a group. */
static float window(const struct pool *p, enum kind kind, const float *x, size_t i)
{
    float s = kind == MAX ? -INFINITY : 0;
    for (size_t l = 0; l < p->lines.n; l++)
        for (size_t k = 0; k < p->c.n_taps; k++) {
            const ptrdiff_t at =
                p->c.first + (ptrdiff_t) k * p->c.step + (ptrdiff_t) (i * p->c.stride);
            if (at < 0 || at >= (ptrdiff_t) p->c.n_in)
                continue;
            const float v = x[p->line[l].x + at];
            s = kind == MAX ? (v > s || isnan(v) ? v : s) : kind == MEAN ? s + v : fmaf(v, v, s);
        }
    return kind == MEAN && p->count ? s / p->count[i] : s;
}

static void kind_check(struct check *t, const struct pool *p, enum kind kind, size_t n_y)
{
    static const char *const names[] = { "pool_max_f32", "pool_mean_f32", "pool_squares_f32" };
    const size_t n = p->c.n, ldy = p->rows.n * n + 3;
    float *want = check_buf(t, n_y, false), *got = check_buf(t, n_y, p->c.n & 1);
    for (size_t i = 0; i < n_y; i++)
        want[i] = got[i] = 7;
    for (size_t g = 0; g < p->c.n_groups; g++)
        for (size_t i = 0; i < p->rows.n * n; i++)
            want[g * ldy + i] = window(p, kind, p->x + g * p->c.x_group + i / n * p->rows.x, i % n);
    (kind == MAX ? t->new.pool_max_f32
         : kind == MEAN
         ? t->new.pool_mean_f32
         : t->new.pool_squares_f32)(got, ldy, p->x, p->count, &p->lines, &p->c, &p->rows);
    check_same(t, names[kind], want, got, n_y,
               "rows %zu of %zu, lines %zu, taps %zu first %td step %td stride %zu in %zu n %zu",
               p->rows.n, p->rows.x, p->lines.n, p->c.n_taps, p->c.first, p->c.step, p->c.stride,
               p->c.n_in, p->c.n);
}

/* down: lines from a row to the next */
static void window_check(struct check *t, struct kern_conv c, size_t n_lines, size_t down,
                         bool bits)
{
    struct pool p = { .c = c, .rows = { 2 + (c.n + down) % 5, down * c.n_in } };
    p.c.n_groups = 3;
    p.c.x_group = (n_lines + (p.rows.n - 1) * down) * c.n_in;
    const size_t n_x = 3 * p.c.x_group, n_y = 2 * (p.rows.n * c.n + 3) + p.rows.n * c.n;
    kern_conv_set(&p.c, p.mask);
    p.lines = (struct kern_conv_lines) { p.line, n_lines, 0 };
    for (size_t l = 0; l < n_lines; l++)
        p.line[l] = (struct kern_conv_line) { (ptrdiff_t) (l * c.n_in), 0 };
    float *x = check_buf(t, n_x, c.n & 1), *count = bits ? NULL : check_buf(t, c.n, false);
    (bits ? check_fill_bits : check_fill)(t, x, n_x);
    for (size_t i = 0; count && i < c.n; i++)
        count[i] = (float) (1 + i % 9);
    p.x = x;
    p.count = count;
    for (int kind = MAX; kind <= SQUARES; kind++)
        kind_check(t, &p, (enum kind) kind, n_y);
    check_drop(t);
}

/* ---- rows ---- */

static float row_max(const float *x, size_t n)
{
    float s = -INFINITY;
    for (size_t i = 0; i < n; i++)
        s = x[i] > s || isnan(x[i]) || isnan(s) ? (isnan(s) ? s : x[i]) : s;
    return s;
}

static float chains(const float *x, size_t n)
{
    float a[16] = { 0 };
    for (size_t i = 0; i < n / 16 * 16; i++)
        a[i % 16] += x[i];
    for (size_t half = 8; half; half /= 2)
        for (size_t k = 0; k < half; k++)
            a[k] += a[k + half];
    for (size_t i = n / 16 * 16; i < n; i++)
        a[0] += x[i];
    return a[0];
}

static void rows_check(struct check *t, size_t rows, size_t n, bool bits)
{
    float *x = check_buf(t, rows * n, n & 1), *got = check_buf(t, rows, false),
          *want = check_buf(t, rows, false);
    (bits ? check_fill_bits : check_fill)(t, x, rows * n);
    for (size_t r = 0; r < rows; r++)
        want[r] = row_max(x + r * n, n) + 0.0f;
    t->new.rows_max_f32(got, x, rows, n);
    for (size_t r = 0; r < rows; r++)
        got[r] += 0.0f; /* of zeros of both signs any may be the greatest */
    check_same(t, "rows_max_f32", want, got, rows, "%zu rows of %zu", rows, n);
    for (size_t r = 0; r < rows; r++) {
        want[r] = got[r] = (float) r;
        for (size_t i = 0; i < n; i++)
            want[r] += x[r * n + i];
    }
    t->new.rows_sum_f32(got, x, rows, n);
    check_same(t, "rows_sum_f32", want, got, rows, "%zu rows of %zu", rows, n);
    for (size_t r = 0; r < rows; r++)
        want[r] = chains(x + r * n, n);
    t->new.chains_sum_f32(got, x, rows, n);
    check_same(t, "chains_sum_f32", want, got, rows, "%zu rows of %zu", rows, n);
    t->ref.rows_mean_f32(want, x, rows, n);
    t->new.rows_mean_f32(got, x, rows, n);
    check_same(t, "rows_mean_f32", want, got, rows, "%zu rows of %zu", rows, n);
    t->ref.rows_norm_f32(want, x, rows, n);
    t->new.rows_norm_f32(got, x, rows, n);
    check_same(t, "rows_norm_f32", want, got, rows, "%zu rows of %zu", rows, n);
    check_drop(t);
}

static float folded(float a, float x, enum kern_fold how)
{
    switch (how) {
    case KERN_FOLD_SUM: return a + x;
    case KERN_FOLD_ABS: return a + fabsf(x);
    case KERN_FOLD_SQUARE: return a + x * x;
    case KERN_FOLD_PROD: return a * x;
    case KERN_FOLD_MAX: return x > a || isnan(x) ? x : a;
    default: return x < a || isnan(x) ? x : a;
    }
}

/* NaN of a product or a sum may have the sign of either operand. */
static void fold_check(struct check *t, size_t rows, size_t n, enum kern_fold how)
{
    float *x = check_buf(t, rows * n, n & 1), *got = check_buf(t, n, rows & 1),
          *want = check_buf(t, n, false);
    (how >= KERN_FOLD_MAX ? check_fill_bits : check_fill)(t, x, rows * n);
    for (size_t i = 0; i < n; i++) {
        want[i] = got[i] = (float) i - 2;
        for (size_t r = 0; r < rows; r++)
            want[i] = folded(want[i], x[r * n + i], how);
    }
    t->new.fold_rows_f32(got, x, rows, n, how);
    check_same(t, "fold_rows_f32", want, got, n, "%zu rows of %zu, %d", rows, n, (int) how);
    check_drop(t);
}

static void sum_f64_check(struct check *t, size_t rows, size_t n)
{
    float *x = check_buf(t, rows * n, n & 1), *room = check_buf(t, 2 * n, false),
          *want = check_buf(t, 2 * n, false);
    double *got = (double *) (void *) room, *sum = (double *) (void *) want;
    check_fill(t, x, rows * n);
    for (size_t i = 0; i < n; i++) {
        sum[i] = got[i] = (double) i / 3;
        for (size_t r = 0; r < rows; r++)
            sum[i] += (double) x[r * n + i];
    }
    t->new.sum_rows_f64(got, x, rows, n);
    check_same(t, "sum_rows_f64", want, room, 2 * n, "%zu rows of %zu", rows, n);
    check_drop(t);
}

void check_pool(struct check *t)
{
    static const size_t ns[] = { 1, 2, 15, 16, 17, 33, 50, 64, 100 };
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
        for (size_t stride = 1; stride <= 4; stride++)
            for (size_t taps = 1; taps <= TAPS_MAX; taps++) {
                const size_t step = 1 + taps % 2, pad = (i + stride + taps) % 3,
                             reach = (taps - 1) * step + (ns[i] - 1) * stride + 1;
                struct kern_conv c = { .first = -(ptrdiff_t) pad,
                                       .step = (ptrdiff_t) step,
                                       .stride = stride,
                                       .n_taps = taps,
                                       .n_in = reach > 2 * pad ? reach - 2 * pad : 1,
                                       .n = ns[i] };
                window_check(t, c, 1 + (i + taps) % LINES_MAX, 1 + i % 3, (i + stride) & 1);
                c.step = 1;
                c.n_in = (taps - 1) + (ns[i] - 1) * stride + 1;
                c.n_in -= c.n_in > 2 * pad ? 2 * pad : 0;
                for (size_t down = 1; down <= 2; down++)
                    window_check(t, c, 1 + (taps + down) % LINES_MAX, down, (i + taps) & 1);
                window_check(t, c, 3, 1 + i % 2, i & 1);
                window_check(t, c, 3, 2 - i % 2, taps & 1);
            }
    for (size_t rows = 1; rows < 40; rows += 3)
        for (size_t n = 1; n < 1300; n += n < 40 ? 3 : 211)
            rows_check(t, rows, n, rows & 1);
    for (size_t rows = 0; rows < 11; rows++)
        for (size_t n = 1; n < 60; n += n < 20 ? 1 : 7) {
            for (int how = KERN_FOLD_SUM; how <= KERN_FOLD_MIN; how++)
                fold_check(t, rows, n, (enum kern_fold) how);
            sum_f64_check(t, rows, n);
        }
}
