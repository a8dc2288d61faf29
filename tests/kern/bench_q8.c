/* SPDX-License-Identifier: MIT */
/* Products of 8 bits against those of f32, in one run. One line per size, separated by tabs: m, k,
 * n, our f32, our 8 bits with the rows quantised as they come, without that, with a weight of -128
 * in every panel (medians of interleaved repeats, microseconds), f32 / 8 bits with quantising. */
#include "kernels/kern.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEATS_MOST 401
#define WAYS 3

struct product {
    struct kern kern;
    size_t m, k, n;
    float *x, *w, *y;
    uint8_t *rows;
    void *packed;
    int32_t *sums;
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* neighbours do not count */
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec * 1e-3;
}

static void *block(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p)
        abort();
    memset(p, 0, (bytes + 127) / 64 * 64);
    return p;
}

static void in_floats(struct product *p)
{
    kern_gemm_f32(&p->kern, p->y, p->n, p->x, p->k, p->w, NULL, p->m, p->n, p->k);
}

static void product_run(struct product *p, int32_t zero)
{
    const struct kern_q8 w = kern_q8_open(p->packed, p->n, p->k);
    const struct kern_q8_x how = { .zero = &zero };
    p->kern.gemm_q8(p->sums, p->n, p->rows, p->k, &w, &how, p->m);
}

static void quantising(struct product *p)
{
    float range[2];
    p->kern.range_f32(p->x, p->m * p->k, range);
    const struct kern_quant q = kern_quant_of_range(range[0], range[1]);
    p->kern.quantize_f32(p->rows, p->x, p->m * p->k, &q);
    product_run(p, q.zero);
}

static void product_alone(struct product *p)
{
    product_run(p, 128);
}

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

static void medians(struct product *p, double ret[WAYS], double total_us)
{
    static void (*const ways[WAYS])(struct product *) = { in_floats, quantising, product_alone };
    static double t[WAYS][REPEATS_MOST];
    int reps = 0, calls[WAYS];
    double began = now_us();
    for (int j = 0; j < WAYS; j++) {
        ways[j](p);
        calls[j] = (int) (60 / (call_us(p, ways[j], 3) + 0.01)) + 1;
    }
    for (; reps < REPEATS_MOST && (reps < 5 || now_us() - began < total_us); reps++)
        for (int j = 0; j < WAYS; j++)
            t[j][reps] = call_us(p, ways[j], calls[j]);
    for (int j = 0; j < WAYS; j++) {
        qsort(t[j], (size_t) reps, sizeof t[j][0], by_size);
        ret[j] = t[j][reps / 2];
    }
}

static void data_make(struct product *p)
{
    const size_t m = p->m, k = p->k, n = p->n;
    float *w = block(n * k * sizeof *w);
    int8_t *bytes = block(n * k);
    p->x = block(m * k * sizeof *p->x), p->y = block(m * n * sizeof *p->y);
    p->rows = block(m * k), p->sums = block(m * n * sizeof *p->sums);
    p->w = block(kern_packed_floats(n, k) * sizeof *w);
    for (size_t i = 0; i < m * k; i++)
        p->x[i] = (float) (i * 2654435761u >> 20 & 255) * 0.01f - 1.28f;
    for (size_t i = 0; i < n * k; i++)
        w[i] = bytes[i] = (int8_t) ((int) (i * 2654435761u >> 20 & 255) % 255 - 127);
    kern_pack_f32(p->w, w, n, k, k, 1);
    const struct kern_q8_w from = { bytes, true, n, k, k, 1, 0, NULL };
    p->packed = block(kern_q8_bytes(n, k));
    kern_q8_pack(p->packed, &from);
    free(w), free(bytes);
}

static void size_time(struct product *p, size_t m, size_t k, size_t n)
{
    double us[WAYS];
    p->m = m, p->k = k, p->n = n;
    data_make(p);
    medians(p, us, 4e5);
    printf("%zu\t%zu\t%zu\t%.4g\t%.4g\t%.4g\t%.2f\n", m, k, n, us[0], us[1], us[2], us[0] / us[1]);
    free(p->x), free(p->y), free(p->rows), free(p->sums), free(p->w), free(p->packed);
}

/* The set that RILL_CPU names. */
static unsigned cpu_forced(void)
{
    const char *force = getenv("RILL_CPU");
    unsigned cpu = kern_cpu_detect();
#define X(name, sets)                                                                              \
    if (force && !strcmp(force, #name))                                                            \
        return cpu & (sets);
    KERN_ISAS(X)
#undef X
    return force && !strcmp(force, "c") ? 0 : cpu;
}

int main(int argc, char **argv)
{
    static const size_t sizes[][3] = { { 1, 64, 64 },    { 1, 512, 512 },   { 1, 512, 1536 },
                                       { 1, 256, 768 },  { 1, 256, 1536 },  { 1, 1024, 1024 },
                                       { 8, 512, 512 },  { 8, 512, 1536 },  { 8, 256, 768 },
                                       { 8, 256, 1536 }, { 8, 1024, 1024 }, { 64, 512, 512 } };
    struct product p = { 0 };
    kern_init(&p.kern, cpu_forced());
    printf("# f32: %s, 8 bits: %s\n# m\tk\tn\tf32 us\tquantising us\talone us\twith -128 "
           "us\tf32/quantising\n",
           p.kern.isa, p.kern.isa_q8);
    if (argc == 4)
        size_time(&p, strtoul(argv[1], NULL, 0), strtoul(argv[2], NULL, 0),
                  strtoul(argv[3], NULL, 0));
    else if (argc != 1)
        return printf("bench_q8 [M K N]\n"), 2;
    for (size_t i = 0; argc == 1 && i < sizeof sizes / sizeof *sizes; i++)
        size_time(&p, sizes[i][0], sizes[i][1], sizes[i][2]);
    return 0;
}
