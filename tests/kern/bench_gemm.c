/* SPDX-License-Identifier: MIT */
/* Products against OpenBLAS (where it is installed) and the roofline of this core, in one run. One
 * line per size, separated by tabs: m, k, n, our median, OpenBLAS's median, the roofline
 * (microseconds), ours / OpenBLAS's, ours / roofline. The roofline is the larger of the arithmetic
 * at the measured peak and the weights at the measured read bandwidth of as many bytes; --least
 * prints the shortest times instead of medians. "-" where a figure is not to be had. */
#include "kernels/kern.h"
#include "tests/kern/bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

static float *floats(size_t n)
{
    float *p = bench_block(n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = (float) (int) (i * 2654435761u >> 20 & 255) * 0.01f - 1.28f;
    return p;
}

/* ---- what is timed ---- */

static void ours(void *arg)
{
    struct product *p = arg;
    kern_gemm_f32(&p->kern, p->y, p->n, p->x, p->k, p->w, NULL, p->m, p->n, p->k);
}

static void openblas(void *arg)
{
    struct product *p = arg;
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
    __attribute__((target(isa))) static void fma_##width(void *arg)                                \
    {                                                                                              \
        struct product *p = arg;                                                                   \
        type a[10], one = set(p->x[0]);                                                            \
        UNROLL for (int j = 0; j < 10; j++) a[j] = set((float) j);                                 \
        for (int i = 0; i < FMA_STEPS; i++) {                                                      \
            UNROLL for (int j = 0; j < 10; j++) a[j] = fma(a[j], one, one);                        \
        }                                                                                          \
        UNROLL for (int j = 1; j < 10; j++) a[0] = add(a[0], a[j]);                                \
        p->sink = ((float *) &a[0])[0];                                                            \
    }                                                                                              \
    __attribute__((target(isa))) static void read_##width(void *arg)                               \
    {                                                                                              \
        struct product *p = arg;                                                                   \
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
    bench_fn *fma, *read;
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

static void number_print(double v, char end)
{
    if (v > 0)
        printf("%.4g%c", v, end);
    else
        printf("-%c", end);
}

static void size_time(void *arg, const bench_size size, bool least)
{
    struct product *p = arg;
    const size_t m = p->m = size[0], k = p->k = size[1], n = p->n = size[2];
    const struct limits l = limits_of(bench_cpu());
    p->x = floats(m * k), p->b = floats(k * n), p->y = floats(m * n),
    p->w = floats(kern_packed_floats(n, k));
    kern_pack_f32(p->w, p->b, n, k, 1, n);
    p->bytes = k * n * sizeof(float);
    bench_fn *const f[4] = { ours, p->sgemm ? openblas : NULL, l.fma, l.read };
    double us[4];
    bench_us(p, f, 4, 4e5, least, us);
    double flop_us = l.fma ? 2.0 * (double) (m * k * n) / l.flop * us[2] : 0;
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
    static const bench_size sizes[] = {
        { 1, 16, 48 },     { 1, 256, 256 },   { 1, 128, 512 },      { 1, 256, 768 },
        { 1, 512, 512 },   { 1, 1024, 1024 }, { 64, 64, 64 },       { 128, 128, 128 },
        { 256, 256, 256 }, { 512, 512, 512 }, { 1024, 1024, 1024 }, { 63, 65, 67 },
        { 33, 16, 48 },    { 8, 256, 768 },
    };
    /* clang-format on */
    struct product p = { 0 };
    kern_init(&p.kern, bench_cpu());
    peer_open(&p);
    printf("# %s, OpenBLAS %s\n# m\tk\tn\tours us\tOpenBLAS us\troofline "
           "us\tours/OpenBLAS\tours/roofline\n",
           p.kern.isa, p.sgemm ? "found" : "not found");
    return bench_main(argc, argv, sizes, sizeof sizes / sizeof *sizes, size_time, &p);
}
