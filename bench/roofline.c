/* SPDX-License-Identifier: MIT */
/* What one core of this machine can do: multiply-adds in registers, and reading a buffer as a
 * matrix-vector product does, by the buffer's size. The widest instructions that the CPU has are
 * chosen when it runs. Prints one line of JSON; with an argument --jitter US instead the spread of
 * a loop of fixed work that takes about so long: median, p99,
 * worst. */
#include "timing.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define REPEATS 15
#define FMA_ROUNDS 200000L

struct isa {
    const char *name;
    void (*fma)(long rounds);
    float (*read)(const float *p, size_t n); /* n is a multiple of 256 */
    double flop_a_round;
};

static volatile float sink;

/* ---- any CPU: what the compiler makes of it ---- */

static void fma_any(long rounds)
{
    float a[64] = { 0 };
    for (long r = 0; r < rounds; r++) {
        for (int i = 0; i < 64; i++)
            a[i] = a[i] * 0.999f + 0.5f;
        __asm__ volatile("" ::: "memory");
    }
    sink = a[0] + a[63];
}

static float read_any(const float *p, size_t n)
{
    float a[16] = { 0 }, s = 0;
    for (size_t i = 0; i < n; i += 16)
        for (int j = 0; j < 16; j++)
            a[j] += p[i + (size_t) j];
    for (int j = 0; j < 16; j++)
        s += a[j];
    return s;
}

#if defined(__x86_64__)
#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

__attribute__((target("avx2,fma"))) static void fma_avx2(long rounds)
{
    __m256 x = _mm256_setzero_ps();
#define START(i) __m256 a##i = _mm256_setzero_ps();
#define STEP(i) __asm__("vfmadd231ps %1, %1, %0" : "+x"(a##i) : "x"(x));
#define SUM(i) x = _mm256_add_ps(x, a##i);
    TWELVE(START)
    for (long r = 0; r < rounds; r++) {
        TWELVE(STEP)
        __asm__ volatile("");
    }
    TWELVE(SUM)
#undef START
#undef STEP
#undef SUM
    sink = _mm256_cvtss_f32(x);
}

__attribute__((target("avx2,fma"))) static float read_avx2(const float *p, size_t n)
{
    __m256 x = _mm256_set1_ps(1.0001f);
#define START(i) __m256 a##i = _mm256_setzero_ps();
#define STEP(i) a##i = _mm256_fmadd_ps(x, _mm256_loadu_ps(p + k + 8 * i), a##i);
#define SUM(i) x = _mm256_add_ps(x, a##i);
    EIGHT(START)
    for (size_t k = 0; k < n; k += 64) {
        EIGHT(STEP)
    }
    EIGHT(SUM)
#undef START
#undef STEP
#undef SUM
    return _mm256_cvtss_f32(x);
}

__attribute__((target("avx512f"))) static void fma_avx512(long rounds)
{
    __m512 x = _mm512_setzero_ps();
#define START(i) __m512 a##i = _mm512_setzero_ps();
#define STEP(i) __asm__("vfmadd231ps %1, %1, %0" : "+v"(a##i) : "v"(x));
#define SUM(i) x = _mm512_add_ps(x, a##i);
    TWELVE(START)
    for (long r = 0; r < rounds; r++) {
        TWELVE(STEP)
        __asm__ volatile("");
    }
    TWELVE(SUM)
#undef START
#undef STEP
#undef SUM
    sink = _mm512_cvtss_f32(x);
}

__attribute__((target("avx512f"))) static float read_avx512(const float *p, size_t n)
{
    __m512 x = _mm512_set1_ps(1.0001f);
#define START(i) __m512 a##i = _mm512_setzero_ps();
#define STEP(i) a##i = _mm512_fmadd_ps(x, _mm512_loadu_ps(p + k + 16 * i), a##i);
#define SUM(i) x = _mm512_add_ps(x, a##i);
    EIGHT(START)
    for (size_t k = 0; k < n; k += 128) {
        EIGHT(STEP)
    }
    EIGHT(SUM)
#undef START
#undef STEP
#undef SUM
    return _mm512_cvtss_f32(x);
}
#endif

static struct isa isa_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return (struct isa) { "avx512", fma_avx512, read_avx512, 12 * 32 };
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct isa) { "avx2", fma_avx2, read_avx2, 12 * 16 };
#endif
    return (struct isa) { "any", fma_any, read_any, 64 * 2 };
}

static double peak_gflops(const struct isa *isa)
{
    double v[REPEATS];
    isa->fma(FMA_ROUNDS);
    for (int r = 0; r < REPEATS; r++) {
        double before = now_us();
        isa->fma(FMA_ROUNDS);
        v[r] = isa->flop_a_round * (double) FMA_ROUNDS / (now_us() - before) * 1e-3;
    }
    return percentile(v, REPEATS, 0.5);
}

static double read_gbs(const struct isa *isa, const float *p, size_t bytes)
{
    double v[REPEATS];
    size_t times = ((size_t) 4 << 20) / bytes + 1;
    sink = isa->read(p, bytes / sizeof *p);
    for (int r = 0; r < REPEATS; r++) {
        double before = now_us();
        for (size_t i = 0; i < times; i++)
            sink = isa->read(p, bytes / sizeof *p);
        v[r] = (double) (bytes * times) / (now_us() - before) * 1e-3;
    }
    return percentile(v, REPEATS, 0.5);
}

static void jitter(double each_us)
{
    enum { LOOPS = 4000 };
    struct isa isa = isa_best();
    double *us = must(malloc(LOOPS * sizeof *us));
    long rounds = (long) (each_us * peak_gflops(&isa) * 1e3 / isa.flop_a_round) + 1;
    for (int i = 0; i < LOOPS; i++) {
        double before = now_us();
        isa.fma(rounds);
        us[i] = now_us() - before;
    }
    printf("{\"median_us\": %.3f", percentile(us, LOOPS, 0.5));
    printf(", \"p99_us\": %.3f, \"worst_us\": %.3f}\n", percentile(us, LOOPS, 0.99), us[LOOPS - 1]);
    free(us);
}

int main(int argc, char **argv)
{
    static const unsigned kib[] = { 16,   32,   64,   128,  256,  512,   768,   1024,  1536,
                                    2048, 3072, 4096, 6144, 8192, 10240, 12288, 16384, 65536 };
    enum { N = sizeof kib / sizeof *kib };
    if (argc > 2 && !strcmp(argv[1], "--jitter")) {
        jitter(atof(argv[2]));
        return 0;
    }
    struct isa isa = isa_best();
    float *p = aligned_zeros((size_t) kib[N - 1] << 10);
    printf("{\"isa\": \"%s\", \"gflops\": %.2f, \"read\": [", isa.name, peak_gflops(&isa));
    for (int i = 0; i < N; i++)
        printf("%s[%u, %.2f]", i ? ", " : "", kib[i], read_gbs(&isa, p, (size_t) kib[i] << 10));
    printf("]}\n");
    free(p);
    return 0;
}
