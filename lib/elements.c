/* SPDX-License-Identifier: MIT */
#include "lib/elements.h"

#include <string.h>

/* ---- going in ---- */

#define TAKE_BYTES(n_bytes)                                                                        \
    static void take_##n_bytes(void *to, const void *from, size_t n)                               \
    {                                                                                              \
        memcpy(to, from, n *(n_bytes));                                                            \
    }
TAKE_BYTES(1)
TAKE_BYTES(2)
TAKE_BYTES(4)
TAKE_BYTES(8)

/* Tables are as long as the type has numbers. */
#define TAKE_LIMITED(name, type, least, most)                                                      \
    static void take_##name(void *to, const void *from, size_t n)                                  \
    {                                                                                              \
        type *y = to;                                                                              \
        const type *x = from;                                                                      \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = (type) (x[i] > (most) ? (most) : x[i] < (least) ? (least) : x[i]);              \
    }
TAKE_LIMITED(bool, uint8_t, 0, 1)
TAKE_LIMITED(u4, uint8_t, 0, 15)
TAKE_LIMITED(u2, uint8_t, 0, 3)
TAKE_LIMITED(i4, int8_t, -8, 7)
TAKE_LIMITED(i2, int8_t, -2, 1)

#define HUGE_BITS 0x4f800000u /* 2^32 as a float: beyond integers of 32 bits no audio is meant */

/* Huge samples' squares would not be finite for ever after. Without a branch on data that the
 * compiler may not vectorise. */
void samples_take(void *to, const void *from, size_t n)
{
    const float *x = from;
    float *y = to;
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &x[i], 4);
        u = (u & 0x7fffffff) >= HUGE_BITS ? 0 : u;
        memcpy(&y[i], &u, 4);
    }
}

/* ---- types ---- */

static const struct element elements[] = {
#define ROW(name, n_bytes, take) [DTYPE_##name] = { RILL_TYPE_##name, n_bytes, take }
    ROW(F32, 4, take_4), ROW(F64, 8, take_8), ROW(I8, 1, take_1),      ROW(I16, 2, take_2),
    ROW(I32, 4, take_4), ROW(I64, 8, take_8), ROW(U8, 1, take_1),      ROW(U16, 2, take_2),
    ROW(U32, 4, take_4), ROW(U64, 8, take_8), ROW(I4, 1, take_i4),     ROW(U4, 1, take_u4),
    ROW(I2, 1, take_i2), ROW(U2, 1, take_u2), ROW(BOOL, 1, take_bool),
#undef ROW
};

const struct element *element_of(enum dtype t)
{
    return (size_t) t < sizeof elements / sizeof *elements && elements[t].take ? &elements[t]
                                                                               : NULL;
}

static const struct {
    const char *name;
    uint32_t bytes;
} types[] = {
#define X(name, text, bytes) [RILL_TYPE_##name] = { text, bytes },
    RILL_TYPE_LIST(X)
#undef X
};

const char *rill_type_name(rill_type t)
{
    return (size_t) t < sizeof types / sizeof *types ? types[t].name : "?";
}

void elements_spoil(void *to, rill_type t, size_t n)
{
    bool few = t == RILL_TYPE_BOOL || t >= RILL_TYPE_I4,
         is_float = t == RILL_TYPE_F64 || t == RILL_TYPE_F32;
    memset(to, few ? 1 : is_float ? 0xff : 0x7f, n * types[t].bytes);
}
