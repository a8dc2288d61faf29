/* SPDX-License-Identifier: MIT */
#include "kernels/fft.h"
#include "kernels/kern.h"

/* sin and cos of a in 0..pi/4 by their series */
static double sin_series(double a)
{
    double z = a * a, s = 0;
    for (int i = 19; i > 1; i -= 2)
        s = (1 + s) * -z / (i * (i - 1));
    return a * (1 + s);
}

static double cos_series(double a)
{
    double z = a * a, s = 0;
    for (int i = 20; i > 0; i -= 2)
        s = (1 + s) * -z / (i * (i - 1));
    return 1 + s;
}

void kern_turn(uint64_t k, uint64_t n, double *ret_cos, double *ret_sin)
{
    uint64_t octant = 8 * k / n,
             part = 8 * k - octant * n; /* angle = (octant + part / n) * pi / 4 */
    if (octant & 1)
        part = n - part;
    double a = (double) part / (double) n * 0.78539816339744830962;
    double c = cos_series(a), s = sin_series(a);
    if (((octant + 1) >> 1) & 1) { /* octants 1, 2, 5, 6: mirrored at the diagonal */
        double t = c;
        c = s;
        s = t;
    }
    *ret_cos = octant >= 2 && octant < 6 ? -c : c;
    *ret_sin = octant >= 4 ? -s : s;
}

static unsigned factor(size_t n, uint8_t *radix)
{
    static const uint8_t tried[] = { 4, 2, 3, 5 };
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof tried; i++)
        for (; n % tried[i] == 0; n /= tried[i])
            radix[count++] = tried[i];
    return n == 1 ? count : 0;
}

/* n itself where passes do it, else the power of two for the chirp. */
static size_t pass_points(size_t n)
{
    uint8_t radix[KERN_FFT_PASSES_MAX];
    if (n == 1 || factor(n, radix))
        return n;
    size_t m = 1;
    while (m < 2 * n - 1)
        m *= 2;
    return m;
}

static size_t twiddle_floats(size_t m)
{
    uint8_t radix[KERN_FFT_PASSES_MAX];
    unsigned n = factor(m, radix);
    size_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        m /= radix[i];
        sum += 2 * (size_t) (radix[i] - 1) * m;
    }
    return sum;
}

size_t kern_fft_floats(size_t n)
{
    size_t m = pass_points(n);
    return twiddle_floats(m) + (m > n ? 2 * n + 4 * m : 0); /* the last 2m: work of the set-up */
}

static void twiddles_init(float *w, size_t m, const uint8_t *radix, unsigned n_pass)
{
    for (unsigned i = 0; i < n_pass; i++) {
        size_t len = m, step = m / radix[i];
        for (size_t j = 1; j < radix[i]; j++, w += 2 * step)
            for (size_t p = 0; p < step; p++) {
                double c, s;
                kern_turn(p * j % len, len, &c, &s);
                w[p] = (float) c;
                w[step + p] = (float) -s;
            }
        m = step;
    }
}

/* chirp[k] = e^(-pi i k^2 / n); its conjugate, wrapped around and divided by m, is transformed
 * once. */
static void chirp_init(struct kern_fft *f, float *chirp, float *fft)
{
    struct kern k;
    kern_init(&k, 0);
    size_t n = f->n, m = f->m;
    struct kern_fft passes = *f; /* f->chirp is not set yet: passes only */
    passes.n = m;
    for (size_t i = 0; i < 2 * m; i++)
        fft[i] = 0;
    for (size_t i = 0; i < n; i++) {
        double c, s;
        kern_turn((uint64_t) i * i % (2 * n), 2 * n, &c, &s);
        chirp[i] = (float) c;
        chirp[n + i] = (float) -s;
        size_t back = i ? m - i : 0;
        fft[i] = fft[back] = (float) (c / (double) m);
        fft[m + i] = fft[m + back] = (float) (s / (double) m);
    }
    k.fft_f32(&passes, fft, fft + m, fft + 2 * m);
}

void kern_fft_init(struct kern_fft *ret, size_t n, float *table)
{
    *ret = (struct kern_fft) { .n = n, .m = pass_points(n), .twiddle = table };
    ret->n_pass = factor(ret->m, ret->radix);
    twiddles_init(table, ret->m, ret->radix, ret->n_pass);
    if (ret->m == n)
        return;
    float *chirp = table + twiddle_floats(ret->m);
    ret->chirp_fft = chirp + 2 * n;
    chirp_init(ret, chirp, chirp + 2 * n);
    ret->chirp = chirp;
}

size_t kern_fft_work_floats(const struct kern_fft *f)
{
    return f->chirp ? 4 * f->m : 2 * f->m;
}

static size_t rfft_points(size_t n)
{
    return n % 2 ? n : n / 2;
}

size_t kern_rfft_floats(size_t n)
{
    return kern_fft_floats(rfft_points(n)) + 2 * (n / 2 + 1);
}

void kern_rfft_init(struct kern_rfft *ret, size_t n, float *table)
{
    ret->n = n;
    ret->turn = table;
    for (size_t k = 0; k <= n / 2; k++) {
        double c, s;
        kern_turn(k, n, &c, &s);
        table[k] = (float) c;
        table[n / 2 + 1 + k] = (float) s;
    }
    kern_fft_init(&ret->half, rfft_points(n), table + 2 * (n / 2 + 1));
}

size_t kern_rfft_work_floats(const struct kern_rfft *f)
{
    return 2 * f->half.n + kern_fft_work_floats(&f->half);
}
