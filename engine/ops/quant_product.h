/* SPDX-License-Identifier: MIT */
/* quant_product.h - what the products of 8-bit numbers share: zeros, and weights packed once per
 * plan or, where they or their zeros are not constant, as they come. */
#ifndef RILL_ENGINE_OPS_QUANT_PRODUCT_H
#define RILL_ENGINE_OPS_QUANT_PRODUCT_H
#include "engine/ops/attrs.h"
#include "engine/ops/many.h"

enum { PRODUCT_X, PRODUCT_W, PRODUCT_X_ZERO, PRODUCT_W_ZERO, PRODUCT_EPILOGUE };

/* Where bytes come out, instead of inputs of an epilogue: f32 factors and what is added, i32
 * biases; each constant, one number or one for each output. */
enum { PRODUCT_BY = PRODUCT_EPILOGUE, PRODUCT_ADD, PRODUCT_BIAS, PRODUCT_BYTES_INS };

/* clang-format off */
#define PRODUCT_RESULT_ROW(text, type, member)                                                     \
    { .name = text, .kind = ATTR_INT, .offset = offsetof(type, y.member), .own = true }
#define PRODUCT_RESULT_ROWS(type)                                                                  \
    PRODUCT_RESULT_ROW("floats", type, floats), PRODUCT_RESULT_ROW("to", type, to),                \
    PRODUCT_RESULT_ROW("zero", type, zero), PRODUCT_RESULT_ROW("low", type, low),                  \
    PRODUCT_RESULT_ROW("high", type, high),                                                        \
    {                                                                                              \
        .name = "leaky", .kind = ATTR_FLOAT, .offset = offsetof(type, y.leaky), .own = true        \
    }
/* clang-format on */

/* The type that comes out. */
enum dtype product_type(const struct product_results *y);
/* Checks what follows the sums, of n outputs each. */
rill_status product_results_check(struct infer *c, const struct product_results *y, int64_t n,
                                  struct attr_ints epilogue);
/* Factors and what goes with them, one for each of n outputs; where no bytes come out, ret->by is
 * NULL. */
rill_status product_scale_prepare(struct prep *c, const struct product_results *y, int64_t n,
                                  struct kern_scale *ret);

/* Sums of n places, `channels` of each side by side, to where a channel has `places` of them, y
 * being the first: as they are, or scaled to bytes, for which the sums are written over. */
void product_sums_put(const struct kern *kern, void *y, const int32_t *sums, int64_t n,
                      int64_t channels, int64_t places);
void product_bytes_put(const struct kern *kern, const struct kern_scale *to, uint8_t *y,
                       int32_t *sums, int64_t n, int64_t channels, int64_t places);

/* n sums, rounded up to 16, as the bits of their floats. */
void product_sums_float(int32_t *sums, int64_t n);

/* Inputs are u8 or s8, and the zero at input `i` is of the type of input `of`: one for all, or one
 * for each of `each` (NULL: one for all). */
rill_status product_types_check(struct infer *c);
rill_status product_zero_check(struct infer *c, unsigned i, unsigned of, const struct dim *each);

/* Matrices of n outputs and k terms, packed one after the other. */
struct product_weights {
    struct kern_q8_w form; /* without data and zeros */
    int64_t matrices;
    size_t step;         /* of the data, from matrix to matrix */
    size_t packed_bytes; /* of one */
    bool zero_each;      /* a matrix has zeros of its own, one for each output, or one */
    const char *packed;  /* NULL: not constant, packed into scratch */
};

/* Packs what is constant. n, k and strides are set in `form`. */
rill_status product_weights_prepare(struct prep *c, struct product_weights *w);
/* Bytes of scratch, a multiple of 64, that product_weights_ready wants. */
size_t product_weights_scratch(const struct product_weights *w);
/* The packed matrices, wherever they lie. */
const char *product_weights_ready(const struct eval *e, const struct product_weights *w,
                                  void *scratch);

/* Rows that lie anywhere, each with its zero; set kern, w and is_signed, the rest zero. They are
 * computed when there are many, or by product_rows_run. */
struct product_rows {
    const struct kern *kern;
    struct kern_q8 w;
    bool is_signed;
    size_t count;
    int32_t *y[MANY_ROWS_MAX], zero[MANY_ROWS_MAX];
    const void *x[MANY_ROWS_MAX];
};
void product_rows_add(struct product_rows *r, int32_t *y, const void *x, int32_t zero);
void product_rows_run(struct product_rows *r);

/* Input i as numbers of 32 bits; 0 where it is absent. */
int64_t product_zeros(const struct tensor *t, const void *data, int32_t *ret);
static inline bool product_is_signed(const struct tensor *t)
{
    return t->type == DTYPE_I8;
}
#endif
