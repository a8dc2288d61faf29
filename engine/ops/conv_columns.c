/* SPDX-License-Identifier: MIT */
#include "engine/ops/conv_columns.h"

#include <string.h>

/* Kernel places of an axis whose input place exists, `by_k` apart: the first one, and its input
 * place. */
struct taps {
    int64_t n, k, by_k, at, by;
};

static struct taps axis_taps(const struct conv_rows *v, int axis, int64_t o)
{
    struct taps ret = { 0 };
    for (int64_t k = 0; k < v->g.kernel[axis]; k++) {
        const int64_t at = conv_place(v, axis, o, k);
        if (at < 0)
            continue;
        if (ret.n == 1) {
            ret.by_k = k - ret.k;
            ret.by = at - ret.at;
        } else if (!ret.n) {
            ret.k = k;
            ret.at = at;
        }
        ret.n++;
    }
    return ret;
}

static int64_t ceil_div(int64_t n, int64_t d)
{
    return (n + d - 1) / d;
}

/* Those of the last axis, which are a phase's own. */
static struct taps row_taps(const struct kern_conv *c, int64_t o)
{
    const int64_t n = (int64_t) c->n_taps, at = c->first + o * (int64_t) c->stride, s = c->step,
                  end = (int64_t) c->n_in, last = at + (n - 1) * s;
    if (n > 0 && at >= 0 && at < end && last >= 0 && last < end)
        return (struct taps) { n, 0, 1, at, s };
    int64_t from, to;
    if (s > 0) {
        from = at < 0 ? ceil_div(-at, s) : 0;
        to = at < end ? ceil_div(end - at, s) : 0;
    } else {
        from = at >= end ? ceil_div(at - end + 1, -s) : 0;
        to = at >= 0 ? at / -s + 1 : 0;
    }
    to = to < n ? to : n;
    return (struct taps) { to > from ? to - from : 0, from, 1, at + from * s, s };
}

/* Axes of one place go in front, so that rows are as long as they can be. */
static void axes_close(struct kern_strided_copy *m)
{
    int to = 3;
    for (int i = 3; i >= 0; i--)
        if (m->n[i] != 1) {
            m->n[to] = m->n[i];
            m->from[to] = m->from[i];
            m->to[to--] = m->to[i];
        }
    while (to >= 0)
        m->n[to--] = 1;
}

/* The column of one output place: [channel][taps], zero where a tap has no input place. */
static void column_make(const struct conv_rows *v, const struct kern_conv *c, const struct kern *k,
                        float *col, const float *x, const struct taps t[2], int64_t o)
{
    const struct window3 *g = &v->g;
    const struct taps last = row_taps(c, o);
    const ptrdiff_t taps = (ptrdiff_t) c->n_taps, n1 = g->in[2], n0 = g->in[1] * n1, k1 = taps,
                    k0 = g->kernel[1] * k1;
    struct kern_strided_copy m = {
        .n = { (size_t) v->cin, (size_t) t[0].n, (size_t) t[1].n, (size_t) last.n },
        .from = { g->n_in, t[0].by * n0, t[1].by * n1, last.by },
        .to = { g->kernel[0] * k0, t[0].by_k * k0, t[1].by_k * k1, 1 },
    };
    const bool all = t[0].n == g->kernel[0] && t[1].n == g->kernel[1] && last.n == taps;
    x += t[0].at * n0 + t[1].at * n1 + last.at;
    if (!all)
        memset(col, 0, (size_t) (v->cin * g->kernel[0] * k0) * sizeof *col);
    if (!t[0].n || !t[1].n || !last.n)
        return;
    axes_close(&m);
    k->strided_copy_f32(col + t[0].k * k0 + t[1].k * k1 + last.k, x, &m);
}

void conv_columns_make(const struct conv_rows *v, const struct conv_phase *p, const struct kern *k,
                       float *col, const float *x, int64_t first, int64_t n)
{
    const struct window3 *g = &v->g;
    if (window3_is_same(g)) {
        const struct kern_strided_copy turn = { .n = { 1, 1, (size_t) n, (size_t) v->cin },
                                                .from = { 0, 0, 1, (ptrdiff_t) g->n_in },
                                                .to = { 0, 0, (ptrdiff_t) v->cin, 1 } };
        k->strided_copy_f32(col, x + first, &turn);
        return;
    }
    const int64_t per_row = (int64_t) p->row.n, row = first ? first / per_row : 0;
    int64_t o[3] = { first ? row / g->out[1] : 0, first ? row % g->out[1] : 0,
                     first - row * per_row };
    for (; n > 0; o[2] = 0) {
        const struct taps t[2] = { axis_taps(v, 0, o[0]), axis_taps(v, 1, o[1]) };
        for (; o[2] < per_row && n > 0; o[2]++, n--, col += p->n_weights)
            column_make(v, &p->row, k, col, x, t, o[2]);
        if (++o[1] == g->out[1]) {
            o[1] = 0;
            o[0]++;
        }
    }
}
