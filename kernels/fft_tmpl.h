/* SPDX-License-Identifier: MIT */
/* Fourier transforms. A Stockham pass of radix r turns r blocks of m * s points into m groups of r
 * * s: plain loops over contiguous points, written so that the compiler makes vectors of them. */
#include "kernels/fft.h"
#include <string.h>

#define PASS_ARGS float *restrict yr, float *restrict yi, const float *restrict xr, const float *restrict xi, \
                  const float *restrict w, size_t m, size_t s
#define ALWAYS static inline __attribute__((always_inline))

/* y = (ar + i ai) * (wr + i wi) */
#define TURN(o, ar, ai, wr, wi)                                               \
    do {                                                                      \
        const float tr_ = (ar), ti_ = (ai);                                   \
        yr[o] = tr_ * (wr) - ti_ * (wi);                                      \
        yi[o] = tr_ * (wi) + ti_ * (wr);                                      \
    } while (0)

ALWAYS void FN(pass2_s)(PASS_ARGS)
{
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < s; q++) {
            size_t i = p * s + q, o = 2 * p * s + q;
            float ar = xr[i], ai = xi[i], br = xr[i + m * s], bi = xi[i + m * s];
            yr[o] = ar + br;
            yi[o] = ai + bi;
            TURN(o + s, ar - br, ai - bi, w[p], w[m + p]);
        }
}

ALWAYS void FN(pass3_s)(PASS_ARGS)
{
    const float h = 0.86602540378443864676f;
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < s; q++) {
            size_t i = p * s + q, o = 3 * p * s + q, b = m * s;
            float sr = xr[i + b] + xr[i + 2 * b], si = xi[i + b] + xi[i + 2 * b];
            float dr = h * (xi[i + b] - xi[i + 2 * b]), di = h * (xr[i + 2 * b] - xr[i + b]);
            float cr = xr[i] - 0.5f * sr, ci = xi[i] - 0.5f * si;
            yr[o] = xr[i] + sr;
            yi[o] = xi[i] + si;
            TURN(o + s, cr + dr, ci + di, w[p], w[m + p]);
            TURN(o + 2 * s, cr - dr, ci - di, w[2 * m + p], w[3 * m + p]);
        }
}

ALWAYS void FN(pass4_s)(PASS_ARGS)
{
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < s; q++) {
            size_t i = p * s + q, o = 4 * p * s + q, b = m * s;
            float sr = xr[i] + xr[i + 2 * b], si = xi[i] + xi[i + 2 * b];
            float dr = xr[i] - xr[i + 2 * b], di = xi[i] - xi[i + 2 * b];
            float tr = xr[i + b] + xr[i + 3 * b], ti = xi[i + b] + xi[i + 3 * b];
            float er = xi[i + b] - xi[i + 3 * b], ei = xr[i + 3 * b] - xr[i + b];
            yr[o] = sr + tr;
            yi[o] = si + ti;
            TURN(o + s, dr + er, di + ei, w[p], w[m + p]);
            TURN(o + 2 * s, sr - tr, si - ti, w[2 * m + p], w[3 * m + p]);
            TURN(o + 3 * s, dr - er, di - ei, w[4 * m + p], w[5 * m + p]);
        }
}

ALWAYS void FN(pass5_s)(PASS_ARGS)
{
    const float c1 = 0.30901699437494742410f, c2 = -0.80901699437494742410f;
    const float s1 = 0.95105651629515357212f, s2 = 0.58778525229247312917f;
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < s; q++) {
            size_t i = p * s + q, o = 5 * p * s + q, b = m * s;
            float ar = xr[i], ai = xi[i];
            float pr = xr[i + b] + xr[i + 4 * b], pi = xi[i + b] + xi[i + 4 * b];
            float qr = xr[i + 2 * b] + xr[i + 3 * b], qi = xi[i + 2 * b] + xi[i + 3 * b];
            float ur = xi[i + b] - xi[i + 4 * b], ui = xr[i + 4 * b] - xr[i + b];
            float vr = xi[i + 2 * b] - xi[i + 3 * b], vi = xr[i + 3 * b] - xr[i + 2 * b];
            float er = ar + c1 * pr + c2 * qr, ei = ai + c1 * pi + c2 * qi;
            float fr = ar + c2 * pr + c1 * qr, fi = ai + c2 * pi + c1 * qi;
            float gr = s1 * ur + s2 * vr, gi = s1 * ui + s2 * vi;
            float hr = s2 * ur - s1 * vr, hi = s2 * ui - s1 * vi;
            yr[o] = ar + pr + qr;
            yi[o] = ai + pi + qi;
            TURN(o + s, er + gr, ei + gi, w[p], w[m + p]);
            TURN(o + 2 * s, fr + hr, fi + hi, w[2 * m + p], w[3 * m + p]);
            TURN(o + 3 * s, fr - hr, fi - hi, w[4 * m + p], w[5 * m + p]);
            TURN(o + 4 * s, er - gr, ei - gi, w[6 * m + p], w[7 * m + p]);
        }
}
#undef TURN

/* Short strides are constants, so that their loops become vectors too. */
#define PASS(r)                                                               \
    static void FN(pass##r)(PASS_ARGS)                                        \
    {                                                                         \
        if (s == 1)                                                           \
            FN(pass##r##_s)(yr, yi, xr, xi, w, m, 1);                         \
        else if (s == 4)                                                      \
            FN(pass##r##_s)(yr, yi, xr, xi, w, m, 4);                         \
        else if (s % 16 == 0)                                                 \
            FN(pass##r##_s)(yr, yi, xr, xi, w, m, s / 16 * 16);               \
        else                                                                  \
            FN(pass##r##_s)(yr, yi, xr, xi, w, m, s);                         \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)
#undef PASS
#undef PASS_ARGS
#undef ALWAYS

static void FN(fft_passes)(const struct kern_fft *f, float *restrict re, float *restrict im,
                           float *restrict work)
{
    const float *w = f->twiddle;
    float *xr = re, *xi = im, *yr = work, *yi = work + f->m;
    size_t m = f->m, s = 1;
    for (unsigned i = 0; i < f->n_pass; i++) {
        size_t r = f->radix[i];
        m /= r;
        if (r == 4)
            FN(pass4)(yr, yi, xr, xi, w, m, s);
        else if (r == 2)
            FN(pass2)(yr, yi, xr, xi, w, m, s);
        else if (r == 3)
            FN(pass3)(yr, yi, xr, xi, w, m, s);
        else
            FN(pass5)(yr, yi, xr, xi, w, m, s);
        w += 2 * (r - 1) * m;
        s *= r;
        float *tr = xr, *ti = xi;
        xr = yr, xi = yi, yr = tr, yi = ti;
    }
    if (xr != re) {
        memcpy(re, xr, f->m * sizeof *re);
        memcpy(im, xi, f->m * sizeof *im);
    }
}

/* work: m + m for the padded sequence, the rest for the passes */
static void FN(fft_chirp)(const struct kern_fft *f, float *restrict re, float *restrict im,
                          float *restrict work)
{
    size_t n = f->n, m = f->m;
    const float *c = f->chirp, *d = c + n, *gr = f->chirp_fft, *gi = gr + m;
    float *ar = work, *ai = work + m;
    for (size_t k = 0; k < n; k++) {
        ar[k] = re[k] * c[k] - im[k] * d[k];
        ai[k] = re[k] * d[k] + im[k] * c[k];
    }
    memset(ar + n, 0, (m - n) * sizeof *ar);
    memset(ai + n, 0, (m - n) * sizeof *ai);
    FN(fft_passes)(f, ar, ai, work + 2 * m);
    for (size_t k = 0; k < m; k++) {
        float r = ar[k] * gr[k] - ai[k] * gi[k];
        ai[k] = ar[k] * gi[k] + ai[k] * gr[k];
        ar[k] = r;
    }
    FN(fft_passes)(f, ai, ar, work + 2 * m);
    for (size_t k = 0; k < n; k++) {
        re[k] = ar[k] * c[k] - ai[k] * d[k];
        im[k] = ar[k] * d[k] + ai[k] * c[k];
    }
}

static void FN(fft_f32)(const struct kern_fft *f, float *restrict re, float *restrict im,
                        float *restrict work)
{
    if (f->chirp)
        FN(fft_chirp)(f, re, im, work);
    else
        FN(fft_passes)(f, re, im, work);
}

/* Even and odd samples were the real and imaginary parts of z: their transforms are told apart. */
static void FN(rfft_untangle)(const struct kern_rfft *f, float *restrict y,
                              const float *restrict zr, const float *restrict zi)
{
    size_t h = f->n / 2;
    const float *restrict c = f->turn, *restrict s = f->turn + h + 1;
    y[0] = zr[0] + zi[0];
    y[2 * h] = zr[0] - zi[0];
    y[1] = y[2 * h + 1] = 0;
    for (size_t k = 1; k < h; k++) {
        float er = 0.5f * (zr[k] + zr[h - k]), ei = 0.5f * (zi[k] - zi[h - k]);
        float odd_r = 0.5f * (zi[k] + zi[h - k]), odd_i = 0.5f * (zr[h - k] - zr[k]);
        y[2 * k] = er + (c[k] * odd_r + s[k] * odd_i);
        y[2 * k + 1] = ei + (c[k] * odd_i - s[k] * odd_r);
    }
}

static void FN(rfft_f32)(const struct kern_rfft *f, float *restrict y, const float *restrict x,
                         float *restrict work)
{
    size_t n = f->half.n;
    float *zr = work, *zi = work + n;
    if (f->n % 2) {
        memcpy(zr, x, n * sizeof *zr);
        memset(zi, 0, n * sizeof *zi);
        FN(fft_f32)(&f->half, zr, zi, work + 2 * n);
        for (size_t k = 0; k <= n / 2; k++) {
            y[2 * k] = zr[k];
            y[2 * k + 1] = k ? zi[k] : 0;
        }
        return;
    }
    for (size_t k = 0; k < n; k++) {
        zr[k] = x[2 * k];
        zi[k] = x[2 * k + 1];
    }
    FN(fft_f32)(&f->half, zr, zi, work + 2 * n);
    FN(rfft_untangle)(f, y, zr, zi);
}

static void FN(irfft_tangle)(const struct kern_rfft *f, float *restrict zr, float *restrict zi,
                             const float *restrict x)
{
    size_t h = f->n / 2;
    const float *restrict c = f->turn, *restrict s = f->turn + h + 1;
    zr[0] = x[0] + x[2 * h];
    zi[0] = x[0] - x[2 * h];
    for (size_t k = 1; k < h; k++) {
        float er = x[2 * k] + x[2 * (h - k)], ei = x[2 * k + 1] - x[2 * (h - k) + 1];
        float dr = x[2 * k] - x[2 * (h - k)], di = x[2 * k + 1] + x[2 * (h - k) + 1];
        zr[k] = er - (c[k] * di + s[k] * dr);
        zi[k] = ei + (c[k] * dr - s[k] * di);
    }
}

static void FN(irfft_odd)(const struct kern_rfft *f, float *restrict y, const float *restrict x,
                          float *restrict work)
{
    size_t n = f->n;
    float *zr = work, *zi = work + n, scale = 1.0f / (float) n;
    zr[0] = x[0];
    zi[0] = 0;
    for (size_t k = 1; k <= n / 2; k++) {
        zr[k] = zr[n - k] = x[2 * k];
        zi[k] = x[2 * k + 1];
        zi[n - k] = -x[2 * k + 1];
    }
    FN(fft_f32)(&f->half, zi, zr, work + 2 * n);
    for (size_t k = 0; k < n; k++)
        y[k] = zr[k] * scale;
}

static void FN(irfft_f32)(const struct kern_rfft *f, float *restrict y, const float *restrict x,
                          float *restrict work)
{
    size_t h = f->half.n;
    float *zr = work, *zi = work + h, scale = 1.0f / (float) f->n;
    if (f->n % 2) {
        FN(irfft_odd)(f, y, x, work);
        return;
    }
    FN(irfft_tangle)(f, zr, zi, x);
    FN(fft_f32)(&f->half, zi, zr, work + 2 * h);
    for (size_t k = 0; k < h; k++) {
        y[2 * k] = zr[k] * scale;
        y[2 * k + 1] = zi[k] * scale;
    }
}
