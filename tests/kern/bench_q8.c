/* SPDX-License-Identifier: MIT */
/* Products of 8 bits against those of f32, in one run. One line per size, separated by tabs: m, k,
 * n, our f32, our 8 bits with the rows quantised as they come, without that (medians of interleaved
 * repeats, microseconds; --least: the shortest), f32 / 8 bits with quantising. */
#include "kernels/kern.h"
#include "tests/kern/bench.h"

#include <stdio.h>
#include <stdlib.h>

#define WAYS 3

struct product {
    struct kern kern;
    size_t m, k, n;
    float *x, *w, *y;
    uint8_t *rows;
    void *packed;
    int32_t *sums;
};

static void in_floats(void *arg)
{
    struct product *p = arg;
    kern_gemm_f32(&p->kern, p->y, p->n, p->x, p->k, p->w, NULL, p->m, p->n, p->k);
}

static void product_run(const struct product *p, int32_t zero)
{
    const struct kern_q8 w = kern_q8_open(p->packed, p->n, p->k);
    const struct kern_q8_x how = { .zero = &zero };
    p->kern.gemm_q8(p->sums, p->n, p->rows, p->k, &w, &how, p->m);
}

static void quantising(void *arg)
{
    struct product *p = arg;
    float range[2];
    p->kern.range_f32(p->x, p->m * p->k, range);
    const struct kern_quant q = kern_quant_of_range(range[0], range[1]);
    p->kern.quantize_f32(p->rows, p->x, p->m * p->k, &q);
    product_run(p, q.zero);
}

static void product_alone(void *arg)
{
    product_run(arg, 128);
}

/* Of the shape of a bell, as those of a trained net with one scale: the greatest of many is 127. */
static int8_t weight_rand(void)
{
    static uint32_t state = 1;
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        state = state * 1664525u + 1013904223u;
        sum += (double) (state >> 8) / (1 << 24) - 0.5;
    }
    double v = sum * 27;
    return v > 127 ? 127 : v < -127 ? -127 : (int8_t) v;
}

static void data_make(struct product *p)
{
    const size_t m = p->m, k = p->k, n = p->n;
    float *w = bench_block(n * k * sizeof *w);
    int8_t *bytes = bench_block(n * k);
    p->x = bench_block(m * k * sizeof *p->x), p->y = bench_block(m * n * sizeof *p->y);
    p->rows = bench_block(m * k), p->sums = bench_block(m * n * sizeof *p->sums);
    p->w = bench_block(kern_packed_floats(n, k) * sizeof *w);
    for (size_t i = 0; i < m * k; i++)
        p->x[i] = (float) (i * 2654435761u >> 20 & 255) * 0.01f - 1.28f;
    for (size_t i = 0; i < n * k; i++)
        w[i] = bytes[i] = weight_rand();
    kern_pack_f32(p->w, w, n, k, k, 1);
    struct kern_q8_w from = { .w = bytes,
                              .is_signed = true,
                              .n = n,
                              .k = k,
                              .stride_o = k,
                              .stride_k = 1,
                              .rows = p->kern.q8_outliers ? m : 0 };
    p->packed = bench_block(kern_q8_bytes(n, k, from.rows > 0));
    from.work = bench_block(kern_q8_work_bytes(n, k));
    kern_q8_pack(p->packed, &from);
    free(w), free(bytes), free(from.work);
}

static void size_time(void *arg, const bench_size size, bool least)
{
    static bench_fn *const ways[] = { in_floats, quantising, product_alone };
    struct product *p = arg;
    double us[WAYS];
    const size_t m = p->m = size[0], k = p->k = size[1], n = p->n = size[2];
    data_make(p);
    bench_us(p, ways, WAYS, 4e5, least, us);
    printf("%zu\t%zu\t%zu\t%.4g\t%.4g\t%.4g\t%.2f\n", m, k, n, us[0], us[1], us[2], us[0] / us[1]);
    free(p->x), free(p->y), free(p->rows), free(p->sums), free(p->w), free(p->packed);
}

int main(int argc, char **argv)
{
    static const bench_size sizes[] = { { 1, 64, 64 },    { 1, 512, 512 },   { 1, 512, 1536 },
                                        { 1, 256, 768 },  { 1, 256, 1536 },  { 1, 1024, 1024 },
                                        { 8, 512, 512 },  { 8, 512, 1536 },  { 8, 256, 768 },
                                        { 8, 256, 1536 }, { 8, 1024, 1024 }, { 64, 512, 512 } };
    struct product p = { 0 };
    kern_init(&p.kern, bench_cpu());
    printf("# f32: %s, 8 bits: %s\n# m\tk\tn\tf32 us\tquantising us\talone us\tf32/quantising\n",
           p.kern.isa, p.kern.isa_q8);
    return bench_main(argc, argv, sizes, sizeof sizes / sizeof *sizes, size_time, &p);
}
