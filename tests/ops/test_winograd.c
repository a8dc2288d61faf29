/* SPDX-License-Identifier: MIT */
/* Conv with the attribute `winograd`: the bits of docs/kernels.md's "Winograd's products" on every
 * instruction set, whatever the sizes and shares, and near to sums in double. */
#include "tests/ops/ops_test.h"

#include <math.h>

enum { ALONG_ROWS = 3, PLACES = 6, OUTS = 4 };

struct shape {
    int64_t axis, batch, cin, cout, in[2], kernel[2], stride[2], dilation[2], pads[4];
    bool bias;
};

static uint32_t seed = 19;

static int64_t next(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int64_t) ((seed >> 8) % n);
}

static int64_t out_size(const struct shape *s, int i)
{
    return (s->in[i] + s->pads[i] + s->pads[2 + i] - (s->kernel[i] - 1) * s->dilation[i] - 1) /
        s->stride[i] +
        1;
}

static struct shape random_shape(void)
{
    struct shape s = { .axis = 2 + next(2),
                       .batch = 1 + next(2),
                       .cin = 1 + next(20),
                       .cout = 1 + next(40),
                       .bias = next(2) };
    const int along = (int) s.axis - 2;
    for (int i = 0; i < 2; i++) {
        s.kernel[i] = i == along ? 3 : 1 + next(4);
        s.stride[i] = i == along ? 1 : 1 + next(2);
        s.dilation[i] = i == along ? 1 : 1 + next(3);
        s.pads[i] = next(3);
        s.pads[2 + i] = next(3);
        s.in[i] = (s.kernel[i] - 1) * s.dilation[i] + 1 + next(12);
    }
    if (!next(8)) {
        s.in[next(2)] += 90;
        s.cin = 1 + next(4);
    }
    return s;
}

/* ---- the contract, in plain C ---- */

/* Input place (p0, p1) of a channel; 0 outside. */
static float place(const struct shape *s, const float *x, int64_t p0, int64_t p1)
{
    const bool there = p0 >= 0 && p0 < s->in[0] && p1 >= 0 && p1 < s->in[1];
    return there ? x[p0 * s->in[1] + p1] : 0;
}

static float input_part(const float d[PLACES], int k)
{
    const float even = fmaf(-0.25f, d[2], d[4]), odd = fmaf(-0.25f, d[1], d[3]);
    switch (k) {
    case 0: return fmaf(0.25f, d[0], fmaf(-1.25f, d[2], d[4]));
    case 1: return even + odd;
    case 2: return even - odd;
    case 3: return fmaf(0.5f, d[3] - d[1], d[4] - d[2]);
    case 4: return fmaf(-0.5f, d[3] - d[1], d[4] - d[2]);
    default: return fmaf(0.25f, d[1], fmaf(-1.25f, d[3], d[5]));
    }
}

static float kernel_part(double a, double b, double c, int k)
{
    switch (k) {
    case 0: return (float) (4 * a);
    case 1: return (float) ((a + b + c) / 1.5);
    case 2: return (float) ((a - b + c) / 1.5);
    case 3: return (float) ((a + b / 2 + c / 4) / -0.375);
    case 4: return (float) ((a - b / 2 + c / 4) / -0.375);
    default: return (float) c;
    }
}

static float output_part(const float m[PLACES], int i)
{
    const float one = m[1] + m[2], less = m[1] - m[2], two = m[3] + m[4], apart = m[3] - m[4];
    switch (i) {
    case 0: return (m[0] + one) + two;
    case 1: return fmaf(0.5f, apart, less);
    case 2: return fmaf(0.25f, two, one);
    default: return fmaf(0.125f, apart, less) + m[5];
    }
}

/* Output (o0, o1), and the same summed in double and in one chain. */
static float output(const struct shape *s, const float *x, const float *w, const float *bias,
                    int64_t o0, int64_t o1, double *ret_exact, float *ret_chain)
{
    const int along = (int) s->axis - 2;
    const int64_t at[2] = { o0, o1 }, first = at[along] / OUTS * OUTS, within = at[along] % OUTS;
    const int64_t other = s->kernel[1 - along], n_in = s->in[0] * s->in[1];
    const int64_t tap = along ? 1 : other, next_other = along ? 3 : 1;
    float m[PLACES] = { 0 };
    m[1] = *ret_chain = bias ? *bias : 0;
    *ret_exact = bias ? (double) *bias : 0;
    for (int64_t c = 0; c < s->cin; c++, x += n_in, w += 3 * other)
        for (int64_t j = 0; j < other; j++) {
            const float *g = w + j * next_other;
            float d[PLACES];
            for (int k = 0; k < PLACES; k++) {
                int64_t p[2] = { at[0] * s->stride[0] + j * s->dilation[0] - s->pads[0],
                                 at[1] * s->stride[1] + j * s->dilation[1] - s->pads[1] };
                p[along] = first + k - s->pads[along];
                d[k] = place(s, x, p[0], p[1]);
            }
            for (int k = 0; k < PLACES; k++)
                m[k] =
                    fmaf(input_part(d, k),
                         kernel_part((double) g[0], (double) g[tap], (double) g[2 * tap], k), m[k]);
            for (int k = 0; k < 3; k++) {
                *ret_exact += (double) d[within + k] * (double) g[k * tap];
                *ret_chain = fmaf(d[within + k], g[k * tap], *ret_chain);
            }
        }
    return output_part(m, (int) within);
}

/* ---- checks ---- */

struct made {
    struct attr attrs[4];
    const struct tensor *in[3];
    float *want;
    int64_t n;
    double error, direct, scale; /* largest differences from double, and its largest magnitude */
};

static void attrs_make(const struct shape *s, struct made *m)
{
    m->attrs[0] = (struct attr) INTS_OF("strides", 2, s->stride);
    m->attrs[1] = (struct attr) INTS_OF("dilations", 2, s->dilation);
    m->attrs[2] = (struct attr) INTS_OF("pads", 4, s->pads);
    m->attrs[3] = (struct attr) ONE_INT("winograd", s->axis);
}

static void want_make(struct ops_test *t, const struct shape *s, struct made *m)
{
    const int64_t rows = out_size(s, 0), columns = out_size(s, 1), n_in = s->in[0] * s->in[1];
    const float *x = m->in[0]->data, *w = m->in[1]->data, *b = m->in[2] ? m->in[2]->data : NULL;
    m->n = s->batch * s->cout * rows * columns;
    m->want = arena_alloc(&t->arena, (size_t) m->n * sizeof *m->want + 1);
    m->error = m->direct = m->scale = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t place_at = i % (rows * columns), o = i / (rows * columns) % s->cout,
                      image = i / (rows * columns * s->cout);
        double exact;
        float chain;
        m->want[i] =
            output(s, x + image * s->cin * n_in, w + o * s->cin * s->kernel[0] * s->kernel[1],
                   b ? b + o : NULL, place_at / columns, place_at % columns, &exact, &chain);
        m->error = fmax(m->error, fabs((double) m->want[i] - exact));
        m->direct = fmax(m->direct, fabs((double) chain - exact));
        m->scale = fmax(m->scale, fabs(exact));
    }
}

static void make(struct ops_test *t, const struct shape *s, struct made *m)
{
    attrs_make(s, m);
    m->in[0] = ops_numbers(t, &seed, 4, I64S(s->batch, s->cin, s->in[0], s->in[1]));
    m->in[1] = ops_numbers(t, &seed, 4, I64S(s->cout, s->cin, s->kernel[0], s->kernel[1]));
    m->in[2] = s->bias ? ops_numbers(t, &seed, 1, I64S(s->cout)) : NULL;
    want_make(t, s, m);
}

static const char *said(const struct shape *s)
{
    static char text[160];
    snprintf(text, sizeof text,
             "axis %d, %d x %d -> %d of %d,%d kernel %d,%d stride %d,%d dilation %d,%d pads "
             "%d,%d,%d,%d",
             (int) s->axis, (int) s->batch, (int) s->cin, (int) s->cout, (int) s->in[0],
             (int) s->in[1], (int) s->kernel[0], (int) s->kernel[1], (int) s->stride[0],
             (int) s->stride[1], (int) s->dilation[0], (int) s->dilation[1], (int) s->pads[0],
             (int) s->pads[1], (int) s->pads[2], (int) s->pads[3]);
    return text;
}

static bool same(const float *a, const float *b, int64_t n)
{
    int64_t i = 0;
    while (i < n && (!memcmp(a + i, b + i, sizeof *a) || (isnan(a[i]) && isnan(b[i]))))
        i++;
    return i == n;
}

/* On all instruction sets that this machine has. */
static void sets_check(struct ops_test *t, const struct shape *s, const struct made *m)
{
    const unsigned all = kern_cpu_detect(), sets[] = { 0, all & ~(unsigned) KERN_AVX512, all };
    t->what = said(s);
    t->runtime = 1;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        kern_init(&t->kern, sets[i]);
        if (ops_run(t, "Conv", m->attrs, 4, m->in, 3, 1))
            ops_check(t, same(t->out[0]->data, m->want, m->n), "other bits on %s", t->kern.isa);
    }
}

/* Shares, one after the other, each with scratch of its own. */
static void shares_check(struct ops_test *t, const struct shape *s, const struct made *m,
                         unsigned most)
{
    struct ops_state *o = arena_new(&t->arena, struct ops_state);
    struct shares all = { 0 };
    t->what = said(s);
    t->runtime = 1;
    if (!ops_check(t, ops_build(t, o, "Conv", m->attrs, 4, m->in, 3, 1) == RILL_OK, "%s",
                   t->err.text))
        return;
    struct prep p = ops_prep(t, o);
    if (!ops_check(t,
                   o->node->op->prepare(&p) == RILL_OK &&
                       o->node->op->divide(&p, most, &all) == RILL_OK,
                   "%s", t->err.text))
        return;
    float *y = ops_guarded(t, (size_t) m->n * sizeof *y);
    for (unsigned i = 0; i < all.n; i++) {
        const size_t *shift = all.share[i].shift_bytes;
        const char *b = m->in[2] ? m->in[2]->data : NULL;
        const void *x[] = { (const char *) m->in[0]->data + shift[0], NULL,
                            b ? b + shift[2] : NULL };
        void *to = (char *) y + shift[3];
        const struct eval e = { .node = o->node,
                                .attr = o->node->attr,
                                .kern = &t->kern,
                                .n_in = 3,
                                .n_out = 1,
                                .x = x,
                                .y = &to,
                                .scratch = ops_guarded(t, all.scratch_bytes),
                                .args = all.share[i].args };
        o->node->op->eval(&e);
        ops_check(t, ops_guard_intact(e.scratch, all.scratch_bytes), "share %u leaves its scratch",
                  i);
    }
    if (all.n)
        ops_check(t, same(y, m->want, m->n) && ops_guard_intact(y, (size_t) m->n * sizeof *y),
                  "%u shares: other bits", all.n);
}

/* Numbers that are not finite reach the outputs of the tiles that read them and nothing else. */
static void infinity_check(struct ops_test *t)
{
    const struct shape s = {
        3, 1, 30, 25, { 5, 33 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, false
    };
    const int64_t row = 2, column = 15;
    struct made m;
    make(t, &s, &m);
    t->what = "infinity";
    for (int kind = 0; kind < 2; kind++) {
        float *x = m.in[0]->data;
        x[3 * 5 * 33 + row * 33 + column] = kind ? INFINITY : NAN;
        if (!ops_run(t, "Conv", m.attrs, 4, m.in, 3, 1))
            return;
        const float *y = t->out[0]->data;
        int64_t wrong = 0, infinite = 0;
        for (int64_t i = 0; i < m.n; i++) {
            const int64_t r = i / 33 % 5, c = i % 33;
            const bool reads = r >= row - 1 && r <= row + 1 && c / OUTS * OUTS <= column + 1 &&
                c / OUTS * OUTS + PLACES > column + 1;
            infinite += !isfinite(y[i]);
            wrong += reads ? llabs(c - column) <= 1 && isfinite(y[i]) : y[i] != m.want[i];
        }
        ops_check(t, !wrong && infinite, "%d outputs are not as they should be", (int) wrong);
    }
}

static void refusals(struct ops_test *t)
{
    struct shape s = { 3, 1, 4, 4, { 8, 8 }, { 2, 3 }, { 1, 1 }, { 1, 1 }, { 0 }, false };
    struct made m;
    make(t, &s, &m);
    t->what = "refusals";
    t->runtime = 1;
    for (s.axis = -1; s.axis < 6; s.axis++) {
        attrs_make(&s, &m);
        if (s.axis != 0 && s.axis != 3)
            ops_refused(t, "Conv", m.attrs, 4, m.in, 3, 1, "winograd");
    }
    s.axis = 3;
    s.stride[1] = 2;
    attrs_make(&s, &m);
    ops_refused(t, "Conv", m.attrs, 4, m.in, 3, 1, "winograd");
}

static const struct shape shapes[] = {
    { 3, 1, 64, 24, { 9, 40 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, true },
    { 2, 1, 64, 24, { 40, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, true },
    { 2, 1, 32, 40, { 40, 3 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 0, 1, 0 }, true }, /* a frame */
    { 2, 1, 40, 3, { 18, 300 }, { 3, 1 }, { 1, 1 }, { 1, 1 }, { 0 }, false }, /* rows in blocks */
    { 3, 1, 100, 3, { 2, 500 }, { 1, 3 }, { 1, 1 }, { 1, 1 }, { 0, 2, 0, 0 }, false },
    { 3, 2, 1, 1, { 1, 1 }, { 1, 3 }, { 1, 1 }, { 1, 1 }, { 0, 1, 0, 1 }, true },
};

int main(void)
{
    struct ops_test t = ops_begin();
    double worst = 0, direct = 0;
    for (int i = 0; i < 90; i++) {
        const int fixed = sizeof shapes / sizeof *shapes;
        const struct shape s = i < fixed ? shapes[i] : random_shape();
        struct made m;
        if (out_size(&s, 0) < 1 || out_size(&s, 1) < 1)
            continue;
        make(&t, &s, &m);
        sets_check(&t, &s, &m);
        for (unsigned most = 2; most < 5; most++)
            shares_check(&t, &s, &m, most);
        worst = fmax(worst, m.error / m.scale);
        direct = fmax(direct, m.direct / m.scale);
        ops_check(&t, m.error <= 1e-5 * m.scale, "an error of %g of the outputs' scale",
                  m.error / m.scale);
    }
    printf("largest error, of the outputs' scale: %.2g; of one chain: %.2g\n", worst, direct);
    infinity_check(&t);
    refusals(&t);
    return ops_end(&t);
}
