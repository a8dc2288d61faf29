/* SPDX-License-Identifier: MIT */
/* many.h - one product over rows that many evaluations of a node contribute. */
#ifndef RILL_ENGINE_OPS_MANY_H
#define RILL_ENGINE_OPS_MANY_H
#include "engine/graph/op.h"

#define MANY_ROWS_MAX 128
#define MANY_ROWS_EACH 8 /* an evaluation with more rows reads the weights seldom enough alone */
/* Fewer stay in the first cache; changing blocks would cost more than reading them again. */
#define MANY_WEIGHTS 16384

/* Products of few rows with many weights gain by being done for all blocks at once. */
static inline bool many_pays(int64_t rows, int64_t n, int64_t k)
{
    return rows <= MANY_ROWS_EACH && n * k >= MANY_WEIGHTS;
}

/* y = bias + w * x for rows that lie anywhere. Set kern and block, or narrow; the rest zero. */
struct many_rows {
    const struct kern *kern;
    struct kern_block block;
    const struct kern_narrow *narrow; /* weights instead of the block's; NULL: none */
    size_t count;
    float *y[MANY_ROWS_MAX];
    const float *x[MANY_ROWS_MAX];
};

/* Weights as kern_pack_f32 packs them. */
static inline struct kern_block many_block(const float *packed, const float *bias, size_t n,
                                           size_t k)
{
    return (struct kern_block) { .w = packed,
                                 .step_panel = KERN_LANES * k,
                                 .step_k = KERN_LANES,
                                 .bias = bias,
                                 .n = n,
                                 .k = k };
}

/* Computes what was added since. */
static inline void many_rows_run(struct many_rows *r)
{
    if (r->count && r->narrow)
        r->kern->gemm_rows_narrow(r->y, r->x, r->narrow, r->count);
    else if (r->count)
        r->kern->gemm_rows_f32(r->y, r->x, &r->block, r->count);
    r->count = 0;
}

/* Rows that are ldy and ldx floats apart. They may be computed now or by many_rows_run. */
static inline void many_rows_add(struct many_rows *r, float *y, size_t ldy, const float *x,
                                 size_t ldx, size_t rows)
{
    for (size_t i = 0; i < rows; i++, y += ldy, x += ldx) {
        if (r->count == MANY_ROWS_MAX)
            many_rows_run(r);
        r->y[r->count] = y;
        r->x[r->count++] = x;
    }
}
#endif
