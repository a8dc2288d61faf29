/* SPDX-License-Identifier: MIT */
/* Products with weights kept in fewer bytes against those of f32, in one run. One line per size,
 * separated by tabs: m, k, n, then of f32, f16, whole numbers of 8 bits with a scale per output and
 * of 4 bits in blocks of 32 microseconds (medians of interleaved repeats; --least: the shortest).
 */
#include "kernels/kern.h"
#include "tests/kern/bench.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_MOST 64
#define BLOCK 32

struct product {
    struct kern kern;
    size_t m, k, n;
    float *w, *y[ROWS_MOST];
    const float *x[ROWS_MOST];
    struct kern_narrow narrow[KERN_NARROW_KINDS];
};

static void in_floats(void *arg)
{
    struct product *p = arg;
    struct kern_block b = {
        .w = p->w, .step_panel = p->k * KERN_LANES, .step_k = KERN_LANES, .n = p->n, .k = p->k
    };
    p->kern.gemm_rows_f32(p->y, p->x, &b, p->m);
}

#define WAY(name, kind)                                                                            \
    static void name(void *arg)                                                                    \
    {                                                                                              \
        struct product *p = arg;                                                                   \
        p->kern.gemm_rows_narrow(p->y, p->x, &p->narrow[kind], p->m);                              \
    }
WAY(in_f16, KERN_NARROW_F16)
WAY(in_s8, KERN_NARROW_S8)
WAY(in_u4, KERN_NARROW_U4)

static void data_make(struct product *p)
{
    const size_t k = p->k, n = p->n;
    float *scale = bench_block(n * (k / BLOCK + 1) * sizeof *scale);
    uint8_t *bytes = bench_block(n * k * 2);
    for (size_t i = 0; i < n * k * 2; i++)
        bytes[i] = (uint8_t) (i * 2654435761u >> 20 & (i % 2 ? 0x3b : 0xff));
    for (size_t i = 0; i < n * (k / BLOCK + 1); i++)
        scale[i] = 0.001f;
    for (size_t i = 0; i < p->m; i++) {
        float *x = bench_block(k * sizeof *x);
        for (size_t l = 0; l < k; l++)
            x[l] = (float) ((l + i) * 2654435761u >> 20 & 255) * 0.01f - 1.28f;
        p->x[i] = x;
        p->y[i] = bench_block(n * sizeof(float));
    }
    p->w = bench_block(kern_packed_floats(n, k) * sizeof *p->w);
    for (enum kern_narrow_kind kind = 0; kind < KERN_NARROW_KINDS; kind++) {
        const struct kern_narrow_w w = { kind,  n,    k,    kind == KERN_NARROW_U4 ? BLOCK : k,
                                         bytes, NULL, scale };
        void *packed = bench_block(kern_narrow_bytes(kind, n, k, w.block));
        kern_narrow_pack(packed, &w);
        p->narrow[kind] = kern_narrow_open(packed, kind, n, k, w.block);
    }
    free(scale), free(bytes);
}

static void size_time(void *arg, const bench_size size, bool least)
{
    static bench_fn *const ways[] = { in_floats, in_f16, in_s8, in_u4 };
    struct product *p = arg;
    double us[4];
    p->m = size[0] < ROWS_MOST ? size[0] : ROWS_MOST, p->k = size[1], p->n = size[2];
    data_make(p);
    bench_us(p, ways, 4, 4e5, least, us);
    printf("%zu\t%zu\t%zu\t%.4g\t%.4g\t%.4g\t%.4g\n", p->m, p->k, p->n, us[0], us[1], us[2], us[3]);
    for (size_t i = 0; i < p->m; i++)
        free((void *) (uintptr_t) p->x[i]), free(p->y[i]);
    for (enum kern_narrow_kind kind = 0; kind < KERN_NARROW_KINDS; kind++)
        free((void *) (uintptr_t) p->narrow[kind].w);
    free(p->w);
}

int main(int argc, char **argv)
{
    static const bench_size sizes[] = {
        { 1, 128, 128 },   { 1, 256, 256 },   { 1, 512, 512 }, { 1, 1536, 512 },
        { 1, 1024, 1024 }, { 1, 2048, 2048 }, { 2, 512, 512 }, { 3, 512, 512 },
        { 4, 512, 512 },   { 4, 2048, 2048 }, { 8, 512, 512 }, { 64, 512, 512 },
    };
    struct product p = { 0 };
    kern_init(&p.kern, bench_cpu());
    printf("# %s\n# m\tk\tn\tf32 us\tf16\t8 bits\t4 bits\n", p.kern.isa);
    return bench_main(argc, argv, sizes, sizeof sizes / sizeof *sizes, size_time, &p);
}
