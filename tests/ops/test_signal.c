/* SPDX-License-Identifier: MIT */
/* Transforms of all small and all audio sizes against the sum that defines them. */
#include "tests/ops/ops_test.h"

#include <complex.h>
#include <time.h>

static uint64_t state = 1;

static float draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float) ((double) (state >> 40) / (1 << 23) - 1);
}

static struct tensor *draw_f32(struct ops_test *t, int rank, const int64_t *dim)
{
    struct tensor *x = ops_f32(t, rank, dim, NULL);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        ((float *) x->data)[i] = draw();
    return x;
}

/* re, im: x[i] at stride; the k-th coefficient of n points, in double. */
static double complex naive(const float *x, size_t stride, int parts, int64_t have, int64_t n,
                            int64_t k, int sign)
{
    double complex sum = 0;
    for (int64_t i = 0; i < have && i < n; i++) {
        double complex v =
            x[(size_t) i * stride] + (parts == 2 ? I * (double) x[(size_t) i * stride + 1] : 0);
        double a = sign * 2 * M_PI * (double) (i * k % n) / (double) n;
        sum += v * (cos(a) + I * sin(a));
    }
    return sum;
}

static double error_of(double complex want, const float *got)
{
    return cabs(want - (got[0] + I * (double) got[1]));
}

/* RFFT of two rows against the sum, then back. */
static void test_size(struct ops_test *t, int64_t n)
{
    struct tensor *x = draw_f32(t, 2, I64S(2, n));
    double worst = 0, back = 0;
    t->what = arena_printf(&t->arena, "size %lld", (long long) n);
    if (!ops_run(t, "RFFT", NULL, 0, IN(x), 1))
        return;
    const struct tensor *y = t->out[0];
    ops_shape_is(t, 0, DTYPE_F32, 3, I64S(2, n / 2 + 1, 2));
    for (int64_t i = 0; i < 2 * (n / 2 + 1); i++) {
        int64_t row = i / (n / 2 + 1), k = i % (n / 2 + 1);
        worst = fmax(worst,
                     error_of(naive((float *) x->data + row * n, 1, 1, n, n, k, -1),
                              (float *) y->data + 2 * i));
    }
    ops_check(t, worst < 4e-7 * sqrt((double) n) * (1 + log2((double) n)), "error %g", worst);
    struct attr a = ONE_INT("n", n);
    if (!ops_run(t, "IRFFT", &a, 1, IN(y), 1))
        return;
    for (int64_t i = 0; i < 2 * n; i++)
        back =
            fmax(back,
                 fabs((double) ((float *) t->out[0]->data)[i] - (double) ((float *) x->data)[i]));
    ops_check(t, back < 2e-6, "there and back differs by %g", back);
}

/* Imaginary parts of the first and last coefficient do not count. */
static void test_irfft_ends(struct ops_test *t)
{
    struct tensor *x = draw_f32(t, 2, I64S(5, 2)), *clean = ops_f32(t, 2, I64S(5, 2), x->data);
    ((float *) clean->data)[1] = ((float *) clean->data)[9] = 0;
    t->what = "ends";
    ops_run(t, "IRFFT", NULL, 0, IN(clean), 1);
    const struct tensor *want = t->out[0];
    ops_run(t, "IRFFT", NULL, 0, IN(x), 1);
    ops_same_f32(t, 0, want->data, 0);
    for (int64_t i = 0; i < 8; i++) { /* against the sum over the whole, hermitian, spectrum */
        const float *c = clean->data;
        double v = c[0] + c[8] * (i % 2 ? -1 : 1);
        for (int k = 1; k < 4; k++)
            v += 2 *
                (c[2 * k] * cos(2 * M_PI * k * (double) i / 8) -
                 c[2 * k + 1] * sin(2 * M_PI * k * (double) i / 8));
        ops_check(t, fabs(v / 8 - (double) ((const float *) want->data)[i]) < 1e-6, "irfft[%lld]",
                  (long long) i);
    }
}

static void test_rfft_pads(struct ops_test *t)
{
    struct tensor *x = draw_f32(t, 1, I64S(10));
    t->what = "rfft pads and crops";
    for (int64_t n = 6; n < 16; n++) {
        struct attr a = ONE_INT("n", n);
        if (!ops_run(t, "RFFT", &a, 1, IN(x), 1))
            return;
        for (int64_t k = 0; k <= n / 2; k++)
            ops_check(t,
                      error_of(naive(x->data, 1, 1, 10, n, k, -1),
                               (float *) t->out[0]->data + 2 * k) < 1e-5,
                      "n %lld, bin %lld", (long long) n, (long long) k);
    }
}

/* One DFT of [2, 9, 7, parts] along axis 1 or 2. */
static void test_dft(struct ops_test *t, int axis, int parts, int64_t n, bool inverse,
                     bool onesided)
{
    const int64_t dim[4] = { 2, 9, 7, parts };
    struct tensor *x = draw_f32(t, 4, dim),
                  *at = ops_tensor(t, DTYPE_I64, 0, NULL, &(int64_t) { axis - 4 });
    struct tensor *length = ops_tensor(t, DTYPE_I64, 0, NULL, &n);
    struct attr a[2] = { ONE_INT("inverse", inverse), ONE_INT("onesided", onesided) };
    t->what = arena_printf(&t->arena, "dft axis %d parts %d n %lld inverse %d", axis, parts,
                           (long long) n, inverse);
    if (!ops_run(t, "DFT", a, 2, IN(x, length, at), 1))
        return;
    int64_t bins = onesided ? n / 2 + 1 : n, inner = axis == 1 ? 7 : 1, outer = axis == 1 ? 2 : 18;
    double worst = 0;
    ops_shape_is(t, 0, DTYPE_F32, 4, I64S(2, axis == 1 ? bins : 9, axis == 2 ? bins : 7, 2));
    for (int64_t i = 0; i < outer * bins * inner; i++) {
        int64_t o = i / (bins * inner), k = i / inner % bins, in = i % inner;
        const float *from = (float *) x->data + (o * dim[axis] * inner + in) * parts;
        double complex want =
            naive(from, (size_t) (inner * parts), parts, dim[axis], n, k, inverse ? 1 : -1);
        worst =
            fmax(worst,
                 error_of(inverse ? want / (double) n : want, (float *) t->out[0]->data + 2 * i));
    }
    ops_check(t, worst < 1e-5, "error %g", worst);
}

static void test_stft(struct ops_test *t, bool windowed, int64_t parts, int64_t n, int64_t step)
{
    struct tensor *x = draw_f32(t, 3, I64S(2, 50, parts)), *w = draw_f32(t, 1, &n);
    struct tensor *s = ops_tensor(t, DTYPE_I64, 0, NULL, &step),
                  *l = ops_tensor(t, DTYPE_I64, 0, NULL, &n);
    struct attr a = ONE_INT("onesided", parts == 1);
    t->what = arena_printf(&t->arena, "stft window %d parts %lld", windowed, (long long) parts);
    if (!ops_run(t, "STFT", &a, 1, IN(x, s, windowed ? w : NULL, windowed ? NULL : l), 1))
        return;
    int64_t bins = parts == 1 ? n / 2 + 1 : n, frames = (50 - n) / step + 1;
    float *frame = arena_array(&t->arena, float, (size_t) (n * parts));
    ops_shape_is(t, 0, DTYPE_F32, 4, I64S(2, frames, bins, 2));
    for (int64_t f = 0; f < 2 * frames; f++) {
        for (int64_t i = 0; i < n * parts; i++)
            frame[i] = ((float *) x->data)[(f / frames * 50 + f % frames * step) * parts + i] *
                (windowed ? ((float *) w->data)[i / parts] : 1);
        for (int64_t k = 0; k < bins; k++)
            ops_check(t,
                      error_of(naive(frame, (size_t) parts, (int) parts, n, n, k, -1),
                               (float *) t->out[0]->data + 2 * (f * bins + k)) < 1e-5,
                      "frame %lld", (long long) f);
    }
}

static void test_window(struct ops_test *t, const char *name, double a0, double a1, double a2)
{
    for (int64_t n = 1; n < 40; n += n == 1 ? 1 : 7)
        for (int periodic = 0; periodic < 2; periodic++) {
            struct tensor *size = ops_tensor(t, DTYPE_I64, 0, NULL, &n);
            struct attr a = ONE_INT("periodic", periodic);
            double want[40], len = (double) (periodic ? n : n - 1);
            for (int k = 0; k < n; k++)
                want[k] =
                    len < 1 ? 1 : a0 - a1 * cos(2 * M_PI * k / len) + a2 * cos(4 * M_PI * k / len);
            t->what = name;
            ops_gives(t, name, &a, 1, IN(size), want, 1e-7);
        }
}

static void test_pairs(struct ops_test *t)
{
    struct tensor *x = draw_f32(t, 3, I64S(3, 5, 2)), *m = draw_f32(t, 2, I64S(5, 2));
    const float *a = x->data, *b = m->data;
    double want[30];
    t->what = "Magnitude";
    for (int i = 0; i < 15; i++)
        want[i] = hypot(a[2 * i], a[2 * i + 1]);
    ops_gives(t, "Magnitude", NULL, 0, IN(x), want, 2e-7);
    t->what = "ComplexMul";
    for (int i = 0; i < 15; i++) {
        const float *p = a + 2 * i, *q = b + 2 * (i % 5);
        want[2 * i] = (double) p[0] * q[0] - (double) p[1] * q[1];
        want[2 * i + 1] = (double) p[0] * q[1] + (double) p[1] * q[0];
    }
    ops_gives(t, "ComplexMul", NULL, 0, IN(x, m), want, 2e-7);
}

static void test_refusals(struct ops_test *t)
{
    struct tensor *x = draw_f32(t, 2, I64S(4, 3)), *i = ops_i64s(t, 2, I64S(3, 4));
    struct tensor *zero = ops_i64s(t, 1, I64S(0));
    struct attr n = ONE_INT("n", 7);
    t->what = "refusals";
    ops_refused(t, "RFFT", NULL, 0, IN(i), 1, "supported: f32");
    ops_refused(t, "IRFFT", NULL, 0, IN(x), 1, "n/2+1");
    ops_refused(t, "IRFFT", &n, 1, IN(draw_f32(t, 2, I64S(3, 2))), 1, "4 bins");
    ops_refused(t, "DFT", NULL, 0, IN(x), 1, "parts");
    ops_refused(t, "STFT", NULL, 0, IN(draw_f32(t, 2, I64S(1, 9)), zero), 1, "frame_step");
    ops_refused(t, "HannWindow", NULL, 0, IN(i), 1, "2 values");
    ops_refused(t, "Magnitude", NULL, 0, IN(x), 1, "real and imaginary");
    t->runtime = 1;
    ops_refused(t, "HannWindow", NULL, 0, IN(zero), 1, "not known before running");
    t->runtime = 0;
}

int main(void)
{
    static const int64_t audio[] = { 80,  128, 160, 200, 240,  256,  320,  400,  480,
                                     512, 600, 882, 960, 1000, 1024, 1009, 2048, 4096 };
    struct ops_test t = ops_begin();
    for (int64_t n = 1; n <= 64; n++)
        test_size(&t, n);
    for (size_t i = 0; i < sizeof audio / sizeof *audio; i++)
        test_size(&t, audio[i]);
    test_irfft_ends(&t);
    test_rfft_pads(&t);
    for (int axis = 1; axis < 3; axis++)
        for (int64_t n = 5; n < 12; n += 3) {
            test_dft(&t, axis, 1, n, false, false);
            test_dft(&t, axis, 1, n, false, true);
            test_dft(&t, axis, 2, n, false, false);
            test_dft(&t, axis, 2, n, true, false);
        }
    test_stft(&t, true, 1, 16, 5);
    test_stft(&t, false, 1, 12, 3);
    test_stft(&t, true, 2, 15, 7);
    test_window(&t, "HannWindow", 0.5, 0.5, 0);
    test_window(&t, "HammingWindow", 25.0 / 46, 21.0 / 46, 0);
    test_window(&t, "BlackmanWindow", 0.42, 0.5, 0.08);
    test_pairs(&t);
    test_refusals(&t);
    t.what = "";
    return ops_end(&t);
}
