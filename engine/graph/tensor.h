/* SPDX-License-Identifier: MIT */
/* tensor.h - element types and dense tensors, C order, little endian. */
#ifndef RILL_ENGINE_GRAPH_TENSOR_H
#define RILL_ENGINE_GRAPH_TENSOR_H
#include "engine/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_MAX 8

/* I4, U4, I2 and U2 have a byte an element; numbers of such types are only moved, quantised to and
 * dequantised.
 *
 * DTYPE_DIM holds `const struct dim *`: the value of a shape that mentions symbols, or what is
 * computed from one. An element is as wide as a pointer, which ops that only move elements serve
 * as anything else of that many bytes. */
/* clang-format off */
#define DTYPE_LIST(X)                                                         \
    X(F32, "f32", 4) X(F64, "f64", 8) X(F16, "f16", 2) X(BF16, "bf16", 2)     \
    X(I8, "i8", 1) X(I16, "i16", 2) X(I32, "i32", 4) X(I64, "i64", 8)         \
    X(U8, "u8", 1) X(U16, "u16", 2) X(U32, "u32", 4) X(U64, "u64", 8)         \
    X(BOOL, "bool", 1)                                                        \
    X(I4, "i4", 1) X(U4, "u4", 1) X(I2, "i2", 1) X(U2, "u2", 1)               \
    X(DIM, "dim", sizeof(void *))
/* clang-format on */

enum dtype {
    DTYPE_NONE,
#define X(name, text, bytes) DTYPE_##name,
    DTYPE_LIST(X)
#undef X
};

const char *dtype_name(enum dtype t);
size_t dtype_bytes(enum dtype t);   /* 0 for NONE */
bool dtype_is_float(enum dtype t);  /* f32 f64 f16 bf16 */
bool dtype_is_half(enum dtype t);   /* f16 bf16 */
bool dtype_is_signed(enum dtype t); /* i8..i64 */
/* The least number: -inf of floats. */
double dtype_least(enum dtype t);
bool dtype_is_int(enum dtype t); /* i8..u64, not bool, not of 4 or 2 bits, not dim */
/* What t is once no symbol is left. */
enum dtype dtype_number(enum dtype t, enum dtype number);

struct tensor {
    enum dtype type;
    enum dtype number; /* of DIM: the type of the numbers it stands for; NONE: I64 */
    int rank;          /* 0..RANK_MAX */
    int64_t dim[RANK_MAX];
    void *data; /* 64-byte aligned where rill made it; NULL in a pure description */
    const struct quantised *from; /* of a constant that was dequantised; NULL: not known */
};

/* Integers of up to 8 bits, with one scale and zero for all, or for each place of an axis, or for
 * each block of it. */
struct quantised {
    const struct tensor *whole, *scale, *zero; /* zero NULL: 0 */
    int axis;
    int64_t block; /* places of the axis; 0: no blocks */
    bool turned;   /* a matrix, whose axes changed places since */
};

int64_t tensor_count(const struct tensor *t); /* elements; 1 for rank 0 */
size_t tensor_bytes(const struct tensor *t);
/* false on overflow or a negative dim */
bool tensor_count_checked(const struct tensor *t, int64_t *ret);
void tensor_strides(const struct tensor *t, int64_t ret[RANK_MAX]); /* in elements, C order */

/* zeroed; NULL: no memory */
struct tensor *tensor_new(struct arena *a, enum dtype type, int rank, const int64_t *dim);
/* With a copy of as many elements. */
struct tensor *tensor_from_data(struct arena *a, enum dtype type, int rank, const int64_t *dim,
                                const void *data);
struct tensor *tensor_clone(struct arena *a, const struct tensor *t);

/* One element as a number, whatever the type (f16 and bf16 widened; not DIM). */
double tensor_get_f64(const struct tensor *t, const void *data, int64_t i);
/* floats truncate, saturating */
int64_t tensor_get_i64(const struct tensor *t, const void *data, int64_t i);
void tensor_set_f64(const struct tensor *t, void *data, int64_t i, double v);

/* What the bits of a float say, also where the thread takes the least of them for 0; an element
 * so. */
double f32_stored(float f);
double tensor_get_stored(const struct tensor *t, int64_t i);

float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f); /* round to nearest even */
float bf16_to_f32(uint16_t h);
uint16_t f32_to_bf16(float f); /* round to nearest even */

/* Parses an axis: -rank..rank-1 becomes 0..rank-1; -1 otherwise. */
int axis_normalise(int64_t axis, int rank);
#endif
