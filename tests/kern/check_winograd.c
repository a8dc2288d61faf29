/* SPDX-License-Identifier: MIT */
/* What tiles become and come from, against plain C, at the edges. */
#include "tests/kern/check.h"

enum { PARTS = 6, OUTS = 4, BEHIND = 15 };

/* Components in their places, and up to 15 floats of what lies behind them, which are not compared.
 */
static void in_check(struct check *t, size_t rows, size_t n, bool any)
{
    const size_t step = rows * n + BEHIND + n % 3, floats = (OUTS * rows + 2) * n + BEHIND;
    float *x = check_buf(t, floats, n & 1), *want = check_buf(t, PARTS * step, false),
          *y = check_buf(t, PARTS * step, n & 2);
    any ? check_fill_bits(t, x, floats) : check_fill(t, x, floats);
    t->ref.winograd_in_f32(want, step, x, rows, n);
    t->new.winograd_in_f32(y, step, x, rows, n);
    for (size_t k = 0; k < PARTS && n; k++)
        check_same(t, "winograd_in_f32", want + k * step, y + k * step, rows * n, "rows %zu n %zu",
                   rows, n);
    check_drop(t);
}

static void in_places_check(struct check *t, size_t n, bool any)
{
    const size_t step = n + n / 16 % 3, floats = OUTS * n + OUTS;
    float *x = check_buf(t, floats, n & 16), *want = check_buf(t, PARTS * step, false),
          *y = check_buf(t, PARTS * step, n & 32), *each = check_buf(t, PARTS * 16, false),
          *fours = check_buf(t, 6 + BEHIND, false);
    any ? check_fill_bits(t, x, floats) : check_fill(t, x, floats);
    check_fill(t, want, PARTS * step);
    for (size_t i = 0; i < PARTS * step; i++)
        y[i] = want[i];
    t->ref.winograd_in_places_f32(want, step, x, n);
    t->new.winograd_in_places_f32(y, step, x, n);
    check_same(t, "winograd_in_places_f32", want, y, PARTS * step, "n %zu", n);
    for (size_t i = 0; i < n; i++) { /* a tile alone */
        for (size_t k = 0; k < 6 + BEHIND; k++)
            fours[k] = k < 6 && OUTS * i + k < floats ? x[OUTS * i + k] : 0;
        t->new.winograd_in_f32(each, 16, fours, 1, 1);
        for (size_t k = 0; k < PARTS && i + 1 < n; k++)
            check_same(t, "winograd_in_f32", y + k * step + i, each + k * 16, 1, "a place of %zu",
                       n);
    }
    check_drop(t);
}

static void out_check(struct check *t, size_t rows, size_t n, bool any)
{
    const size_t step = rows * n + n % 3, floats = (PARTS - 1) * step + rows * n;
    float *m = check_buf(t, floats, n & 1), *want = check_buf(t, OUTS * rows * n, false),
          *y = check_buf(t, OUTS * rows * n, n & 2);
    any ? check_fill_bits(t, m, floats) : check_fill(t, m, floats);
    t->ref.winograd_out_f32(want, m, step, rows, n);
    t->new.winograd_out_f32(y, m, step, rows, n);
    check_same(t, "winograd_out_f32", want, y, OUTS * rows * n, "rows %zu n %zu", rows, n);
    check_drop(t);
}

void check_winograd(struct check *t)
{
    for (size_t n = 0; n < 70; n++) {
        in_check(t, 1 + n % 4, n, n % 3 == 0);
        in_places_check(t, 16 * (n % 7), n % 3 == 0);
        out_check(t, 1 + n % 4, n, n % 3 == 0);
    }
}
