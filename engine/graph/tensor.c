/* SPDX-License-Identifier: MIT */
#include "engine/graph/tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = { [DTYPE_NONE] = { "none", 0 },
#define X(name, text, bytes) [DTYPE_##name] = { text, bytes },
               DTYPE_LIST(X)
#undef X
};

const char *dtype_name(enum dtype t)
{
    return dtypes[t].name;
}

size_t dtype_bytes(enum dtype t)
{
    return dtypes[t].bytes;
}

bool dtype_is_half(enum dtype t)
{
    return t == DTYPE_F16 || t == DTYPE_BF16;
}

bool dtype_is_float(enum dtype t)
{
    return t == DTYPE_F32 || t == DTYPE_F64 || dtype_is_half(t);
}

bool dtype_is_signed(enum dtype t)
{
    return t == DTYPE_I8 || t == DTYPE_I16 || t == DTYPE_I32 || t == DTYPE_I64;
}

bool dtype_is_int(enum dtype t)
{
    return dtype_is_signed(t) || t == DTYPE_U8 || t == DTYPE_U16 || t == DTYPE_U32 ||
        t == DTYPE_U64;
}

double dtype_least(enum dtype t)
{
    if (dtype_is_float(t))
        return -HUGE_VAL;
    return dtype_is_signed(t) ? -ldexp(1, (int) dtype_bytes(t) * 8 - 1) : 0;
}

enum dtype dtype_number(enum dtype t, enum dtype number)
{
    return t != DTYPE_DIM ? t : number ? number : DTYPE_I64;
}

int64_t tensor_count(const struct tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

bool tensor_count_checked(const struct tensor *t, int64_t *ret)
{
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0)
            return false;
        if (t->dim[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(n, t->dim[i], &n) || n > INT64_MAX / 8)
            return false;
    }
    *ret = empty ? 0 : n;
    return true;
}

size_t tensor_bytes(const struct tensor *t)
{
    return (size_t) tensor_count(t) * dtype_bytes(t->type);
}

void tensor_strides(const struct tensor *t, int64_t ret[RANK_MAX])
{
    int64_t s = 1;
    for (int i = t->rank; i-- > 0; s *= t->dim[i])
        ret[i] = s;
}

struct tensor *tensor_new(struct arena *a, enum dtype type, int rank, const int64_t *dim)
{
    struct tensor *t = arena_new(a, struct tensor);
    if (!t)
        return NULL;
    t->type = type;
    t->rank = rank;
    for (int i = 0; i < rank; i++)
        t->dim[i] = dim[i];
    int64_t n;
    if (!tensor_count_checked(t, &n))
        return NULL;
    t->data = arena_alloc_array(a, (size_t) n, dtype_bytes(type));
    return t->data ? t : NULL;
}

struct tensor *tensor_from_data(struct arena *a, enum dtype type, int rank, const int64_t *dim,
                                const void *data)
{
    struct tensor *t = tensor_new(a, type, rank, dim);
    if (t && tensor_bytes(t))
        memcpy(t->data, data, tensor_bytes(t));
    return t;
}

struct tensor *tensor_clone(struct arena *a, const struct tensor *t)
{
    struct tensor *c = tensor_from_data(a, t->type, t->rank, t->dim, t->data);
    if (c)
        c->number = t->number;
    return c;
}

double tensor_get_f64(const struct tensor *t, const void *data, int64_t i)
{
    switch (t->type) {
    case DTYPE_F32: return ((const float *) data)[i];
    case DTYPE_F64: return ((const double *) data)[i];
    case DTYPE_F16: return f16_to_f32(((const uint16_t *) data)[i]);
    case DTYPE_BF16: return bf16_to_f32(((const uint16_t *) data)[i]);
    case DTYPE_U64: return (double) ((const uint64_t *) data)[i];
    default: return (double) tensor_get_i64(t, data, i);
    }
}

static int64_t i64_of_f64(double v)
{
    if (isnan(v))
        return 0;
    if (v >= 9223372036854775808.0)
        return INT64_MAX;
    return v <= -9223372036854775808.0 ? INT64_MIN : (int64_t) v;
}

static uint64_t u64_of_f64(double v)
{
    if (v >= 18446744073709551616.0)
        return UINT64_MAX;
    return v >= 9223372036854775808.0 ? (uint64_t) v : (uint64_t) i64_of_f64(v);
}

int64_t tensor_get_i64(const struct tensor *t, const void *data, int64_t i)
{
    switch (t->type) {
    case DTYPE_I4:
    case DTYPE_I2:
    case DTYPE_I8: return ((const int8_t *) data)[i];
    case DTYPE_I16: return ((const int16_t *) data)[i];
    case DTYPE_I32: return ((const int32_t *) data)[i];
    case DTYPE_I64: return ((const int64_t *) data)[i];
    case DTYPE_U4:
    case DTYPE_U2:
    case DTYPE_U8: return ((const uint8_t *) data)[i];
    case DTYPE_U16: return ((const uint16_t *) data)[i];
    case DTYPE_U32: return ((const uint32_t *) data)[i];
    case DTYPE_U64: return (int64_t) ((const uint64_t *) data)[i];
    case DTYPE_BOOL: return ((const uint8_t *) data)[i] != 0;
    case DTYPE_NONE:
    case DTYPE_DIM: assert(!"not a number"); return 0;
    default: return i64_of_f64(tensor_get_f64(t, data, i));
    }
}

void tensor_set_f64(const struct tensor *t, void *data, int64_t i, double v)
{
    switch (t->type) {
    case DTYPE_F32: ((float *) data)[i] = (float) v; return;
    case DTYPE_F64: ((double *) data)[i] = v; return;
    case DTYPE_F16: ((uint16_t *) data)[i] = f32_to_f16((float) v); return;
    case DTYPE_BF16: ((uint16_t *) data)[i] = f32_to_bf16((float) v); return;
    case DTYPE_I4:
    case DTYPE_I2:
    case DTYPE_I8: ((int8_t *) data)[i] = (int8_t) i64_of_f64(v); return;
    case DTYPE_I16: ((int16_t *) data)[i] = (int16_t) i64_of_f64(v); return;
    case DTYPE_I32: ((int32_t *) data)[i] = (int32_t) i64_of_f64(v); return;
    case DTYPE_I64: ((int64_t *) data)[i] = i64_of_f64(v); return;
    case DTYPE_U4:
    case DTYPE_U2:
    case DTYPE_U8: ((uint8_t *) data)[i] = (uint8_t) i64_of_f64(v); return;
    case DTYPE_U16: ((uint16_t *) data)[i] = (uint16_t) i64_of_f64(v); return;
    case DTYPE_U32: ((uint32_t *) data)[i] = (uint32_t) i64_of_f64(v); return;
    case DTYPE_U64: ((uint64_t *) data)[i] = u64_of_f64(v); return;
    case DTYPE_BOOL: ((uint8_t *) data)[i] = v != 0; return;
    case DTYPE_NONE:
    case DTYPE_DIM: assert(!"not a number"); return;
    }
}

static float f32_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static uint32_t bits_of_f32(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t) (h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff;
    if (e == 31)
        return f32_of_bits(sign | 0x7f800000 | m << 13);
    if (e)
        return f32_of_bits(sign | (e + 112) << 23 | m << 13);
    float v = (float) m * 0x1p-24f;
    return sign ? -v : v;
}

double f32_stored(float f)
{
    const uint32_t bits = bits_of_f32(f);
    const double least = ldexp((double) (bits & 0x7fffff), -149);
    return bits & 0x7f800000 ? (double) f : bits >> 31 ? -least : least;
}

double tensor_get_stored(const struct tensor *t, int64_t i)
{
    if (t->type == DTYPE_BF16)
        return f32_stored(bf16_to_f32(((const uint16_t *) t->data)[i]));
    return t->type == DTYPE_F32 ? f32_stored(((const float *) t->data)[i])
                                : tensor_get_f64(t, t->data, i);
}

uint16_t f32_to_f16(float f)
{
    uint32_t u = bits_of_f32(f), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000)
        return (uint16_t) (sign | 0x7e00);
    if (a >= 0x477ff000)
        return (uint16_t) (sign | 0x7c00);
    if (a < 0x38800000) { /* subnormal half: the adder rounds to even at bit 2^-24 */
        float v = f32_of_bits(a) + 0.5f;
        return (uint16_t) (sign | (bits_of_f32(v) - bits_of_f32(0.5f)));
    }
    uint32_t odd = (a >> 13) & 1;
    return (uint16_t) (sign | ((a + 0xfff + odd - (112u << 23)) >> 13));
}

float bf16_to_f32(uint16_t h)
{
    return f32_of_bits((uint32_t) h << 16);
}

uint16_t f32_to_bf16(float f)
{
    uint32_t u = bits_of_f32(f);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t) (u >> 16 | 0x40);
    return (uint16_t) ((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

int axis_normalise(int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        return -1;
    return (int) (axis < 0 ? axis + rank : axis);
}
