/* SPDX-License-Identifier: MIT */
/* One product in a BLAS library, one thread: blasbench LIBRARY M K N [SECONDS]. Row-major, C = A *
 * B; a row of A alone is a matrix-vector product, timed with B as it lies and transposed, the
 * faster of both counts. Prints one line of JSON. */
#include "timing.h"

#include <dlfcn.h>

#define ROW_MAJOR 101
#define PLAIN 111
#define TRANSPOSED 112
#define REPEATS_MAX 20000

typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int,
                      float, float *, int);
typedef void sgemv_fn(int, int, int, int, float, const float *, int, const float *, int, float,
                      float *, int);

struct blas {
    sgemm_fn *gemm;
    sgemv_fn *gemv;
    int m, k, n;
    float *a, *b, *y;
};

static void *symbol(void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    if (!p) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    return p;
}

static void gemm(const struct blas *x)
{
    x->gemm(ROW_MAJOR, PLAIN, PLAIN, x->m, x->n, x->k, 1, x->a, x->k, x->b, x->n, 0, x->y, x->n);
}

static void gemv(const struct blas *x)
{
    x->gemv(ROW_MAJOR, TRANSPOSED, x->k, x->n, 1, x->b, x->n, x->a, 1, 0, x->y, 1);
}

static void gemv_rows(const struct blas *x)
{
    x->gemv(ROW_MAJOR, PLAIN, x->n, x->k, 1, x->b, x->k, x->a, 1, 0, x->y, 1);
}

static double median_us(const struct blas *x, void (*product)(const struct blas *), double seconds)
{
    double *us = must(malloc(REPEATS_MAX * sizeof *us));
    size_t n = 0;
    for (int i = 0; i < 10; i++)
        product(x);
    for (double end = now_us() + seconds * 1e6; n < REPEATS_MAX && (n < 15 || now_us() < end);
         n++) {
        double before = now_us();
        product(x);
        us[n] = now_us() - before;
    }
    double median = percentile(us, n, 0.5);
    free(us);
    return median;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    void *lib = dlopen(argv[1], RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    struct blas x = { .m = atoi(argv[2]), .k = atoi(argv[3]), .n = atoi(argv[4]) };
    double seconds = argc > 5 ? atof(argv[5]) : 1;
    void (*threads)(int);
    *(void **) &x.gemm = symbol(lib, "cblas_sgemm");
    *(void **) &x.gemv = symbol(lib, "cblas_sgemv");
    *(void **) &threads = dlsym(lib, "openblas_set_num_threads");
    if (threads)
        threads(1);
    size_t mk = (size_t) x.m * (size_t) x.k, kn = (size_t) x.k * (size_t) x.n;
    unsigned seed = 1;
    x.a = aligned_zeros(mk * sizeof(float));
    x.b = aligned_zeros(kn * sizeof(float));
    x.y = aligned_zeros((size_t) x.m * (size_t) x.n * sizeof(float));
    for (size_t i = 0; i < mk; i++)
        x.a[i] = noise(&seed);
    for (size_t i = 0; i < kn; i++)
        x.b[i] = noise(&seed);
    double us = median_us(&x, x.m == 1 ? gemv : gemm, seconds);
    if (x.m == 1) {
        double rows = median_us(&x, gemv_rows, seconds);
        us = rows < us ? rows : us;
    }
    printf("{\"median_us\": %.4f}\n", us);
    return 0;
}
