/* SPDX-License-Identifier: MIT */
/* Products against OpenBLAS (where it is installed) and the roofline of this core, in one run. One
 * line per size, separated by tabs: m, k, n, our median, OpenBLAS's median, the roofline
 * (microseconds), ours / OpenBLAS's, ours / roofline. The roofline is the larger of the arithmetic
 * at the measured peak and the weights at the measured read bandwidth of as many bytes; --least
 * prints the shortest times instead of medians. "-" where a figure is not to be had. */
#include "kernels/kern.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define REPEATS_MOST 201

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void sgemv_fn(int order, int trans, int m, int n, float alpha, const float *a, int lda,
                      const float *x, int incx, float beta, float *y, int incy);

struct product {
    struct kern kern;
    sgemm_fn *sgemm;
    sgemv_fn *sgemv;
    size_t m, k, n;
    float *x, *b, *w, *y, *bias; /* b: k x n; w: packed */
    size_t bytes;                /* of the weights, for reading */
    volatile float sink;
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* neighbours do not count */
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec * 1e-3;
}

static float *floats(size_t n)
{
    float *p = aligned_alloc(64, (n * sizeof *p + 127) / 64 * 64);
    if (!p)
        abort();
    for (size_t i = 0; i < n; i++)
        p[i] = (float) (int) (i * 2654435761u >> 20 & 255) * 0.01f - 1.28f;
    return p;
}

/* ---- what is timed ---- */

static void ours(struct product *p)
{
    kern_gemm_f32(&p->kern, p->y, p->n, p->x, p->k, p->w, NULL, p->m, p->n, p->k);
}

static void openblas(struct product *p)
{
    int m = (int) p->m, k = (int) p->k, n = (int) p->n;
    enum { ROWS = 101, AS_IS = 111, TURNED = 112 };
    if (m == 1)
        p->sgemv(ROWS, TURNED, k, n, 1, p->b, n, p->x, 1, 0, p->y, 1);
    else
        p->sgemm(ROWS, AS_IS, AS_IS, m, n, k, 1, p->x, k, p->b, n, 0, p->y, n);
}

#if defined(__x86_64__)
#define FMA_STEPS 4096
#define UNROLL _Pragma("GCC unroll 16")
#define WIDE(isa, type, width, set, fma, add, load, lanes)                                         \
    __attribute__((target(isa))) static void fma_##width(struct product *p)                        \
    {                                                                                              \
        type a[10], one = set(p->x[0]);                                                            \
        UNROLL for (int j = 0; j < 10; j++) a[j] = set((float) j);                                 \
        for (int i = 0; i < FMA_STEPS; i++) {                                                      \
            UNROLL for (int j = 0; j < 10; j++) a[j] = fma(a[j], one, one);                        \
        }                                                                                          \
        UNROLL for (int j = 1; j < 10; j++) a[0] = add(a[0], a[j]);                                \
        p->sink = ((float *) &a[0])[0];                                                            \
    }                                                                                              \
    __attribute__((target(isa))) static void read_##width(struct product *p)                       \
    {                                                                                              \
        type a[8];                                                                                 \
        const char *at = (const char *) p->w;                                                      \
        UNROLL for (int j = 0; j < 8; j++) a[j] = set(0);                                          \
        for (size_t i = 0; i + 8 * sizeof(type) <= p->bytes; i += 8 * sizeof(type))                \
            UNROLL for (size_t j = 0; j < 8; j++) a[j] =                                           \
                add(a[j], load((const float *) (const void *) (at + i + j * sizeof(type))));       \
        UNROLL for (int j = 1; j < 8; j++) a[0] = add(a[0], a[j]);                                 \
        p->sink = ((float *) &a[0])[0];                                                            \
    }
WIDE("avx512f", __m512, 512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_load_ps, 16)
WIDE("avx2,fma", __m256, 256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_load_ps, 8)
#undef WIDE
#endif

struct limits {
    void (*fma)(struct product *p), (*read)(struct product *p);
    double flop;
};

static struct limits limits_of(unsigned cpu)
{
    struct limits l = { 0 };
#if defined(__x86_64__)
    if (cpu & KERN_AVX512)
        l = (struct limits) { fma_512, read_512, 2.0 * 10 * 16 * FMA_STEPS };
    else if (cpu & KERN_AVX2)
        l = (struct limits) { fma_256, read_256, 2.0 * 10 * 8 * FMA_STEPS };
#endif
    return l;
}

/* ---- medians of interleaved repeats ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double call_us(struct product *p, void (*f)(struct product *), int calls)
{
    double t = now_us();
    for (int i = 0; i < calls; i++)
        f(p);
    return (now_us() - t) / calls;
}

/* Medians of n functions, NULL ones left at 0. */
static void medians(struct product *p, void (*const *f)(struct product *), int n, double *ret,
                    double total_us, bool least)
{
    static double t[4][REPEATS_MOST];
    int reps = 0, calls[4] = { 0 };
    double began = now_us();
    for (int j = 0; j < n; j++)
        if (f[j]) {
            f[j](p);
            double once = call_us(p, f[j], 3);
            calls[j] = once > 100 ? 1 : (int) (100 / (once + 0.01)) + 1;
        }
    for (; reps < REPEATS_MOST && (reps < 5 || now_us() - began < total_us); reps++)
        for (int j = 0; j < n; j++)
            if (f[j])
                t[j][reps] = call_us(p, f[j], calls[j]);
    for (int j = 0; j < n; j++) {
        qsort(t[j], (size_t) reps, sizeof t[j][0], by_size);
        ret[j] = f[j] ? t[j][least ? 0 : reps / 2] : 0;
    }
}

static void number_print(double v, char end)
{
    if (v > 0)
        printf("%.4g%c", v, end);
    else
        printf("-%c", end);
}

static void size_time(struct product *p, const struct limits *l, size_t m, size_t k, size_t n,
                      double total_us, bool least)
{
    p->m = m, p->k = k, p->n = n;
    p->x = floats(m * k), p->b = floats(k * n), p->y = floats(m * n),
    p->w = floats(kern_packed_floats(n, k));
    kern_pack_f32(p->w, p->b, n, k, 1, n);
    p->bytes = k * n * sizeof(float);
    void (*const f[4])(struct product *) = { ours, p->sgemm ? openblas : NULL, l->fma, l->read };
    double us[4];
    medians(p, f, 4, us, total_us, least);
    double flop_us = l->fma ? 2.0 * (double) (m * k * n) / l->flop * us[2] : 0;
    double roof = us[3] > flop_us ? us[3] : flop_us;
    printf("%zu\t%zu\t%zu\t", m, k, n);
    number_print(us[0], '\t');
    number_print(us[1], '\t');
    number_print(roof, '\t');
    number_print(us[1] > 0 ? us[0] / us[1] : 0, '\t');
    number_print(roof > 0 ? us[0] / roof : 0, '\n');
    free(p->x), free(p->b), free(p->y), free(p->w);
}

static void peer_open(struct product *p)
{
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW);
    void (*threads)(int);
    if (!lib)
        return;
    *(void **) &p->sgemm = dlsym(lib, "cblas_sgemm");
    *(void **) &p->sgemv = dlsym(lib, "cblas_sgemv");
    *(void **) &threads = dlsym(lib, "openblas_set_num_threads");
    if (threads)
        threads(1);
    if (!p->sgemv)
        p->sgemm = NULL;
}

int main(int argc, char **argv)
{
    /* clang-format off */
    static const size_t sizes[][3] = {
        { 1, 16, 48 },     { 1, 256, 256 },   { 1, 128, 512 },      { 1, 256, 768 },
        { 1, 512, 512 },   { 1, 1024, 1024 }, { 64, 64, 64 },       { 128, 128, 128 },
        { 256, 256, 256 }, { 512, 512, 512 }, { 1024, 1024, 1024 }, { 63, 65, 67 },
        { 33, 16, 48 },    { 8, 256, 768 },
    };
    /* clang-format on */
    struct product p = { 0 };
    bool least = argc > 1 && !strcmp(argv[1], "--least");
    if (least)
        argc--, argv++;
    const char *force = getenv("RILL_CPU");
    unsigned cpu = kern_cpu_detect();
    if (force && strcmp(force, "avx512"))
        cpu &= strcmp(force, "avx2") ? 0 : ~(unsigned) KERN_AVX512;
    kern_init(&p.kern, cpu);
    struct limits l = limits_of(cpu);
    peer_open(&p);
    printf("# %s, OpenBLAS %s\n# m\tk\tn\tours us\tOpenBLAS us\troofline "
           "us\tours/OpenBLAS\tours/roofline\n",
           p.kern.isa, p.sgemm ? "found" : "not found");
    if (argc == 4)
        size_time(&p, &l, strtoul(argv[1], NULL, 0), strtoul(argv[2], NULL, 0),
                  strtoul(argv[3], NULL, 0), 1e6, least);
    else if (argc != 1)
        return printf("bench_gemm [--least] [M K N]\n"), 2;
    for (size_t i = 0; argc == 1 && i < sizeof sizes / sizeof *sizes; i++)
        size_time(&p, &l, sizes[i][0], sizes[i][1], sizes[i][2], 4e5, least);
    return 0;
}
