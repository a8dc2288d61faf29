/* SPDX-License-Identifier: MIT */
/* Floats of 8 bits. Each of their numbers is one of 16 bits, too, which is what the engine has of
 * them. */
#include "models/onnx/internal.h"

#include <math.h>

static const struct float8 kinds[] = {
    { 17, 3, -6, 448, false, false },
    { 18, 3, -7, 240, false, true },
    { 19, 2, -14, 57344, true, false },
    { 20, 2, -15, 57344, false, true },
};

const struct float8 *float8_find(int64_t code)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].code == code)
            return &kinds[i];
    return NULL;
}

bool float8_is(int64_t code)
{
    return float8_find(code) != NULL;
}

static float value_of(const struct float8 *k, uint8_t bits)
{
    const int exponent = (bits & 0x7f) >> k->mantissa, digits = bits & ((1 << k->mantissa) - 1);
    const int highest = 0x7f >> k->mantissa;
    float v = ldexpf((float) (digits + (exponent ? 1 << k->mantissa : 0)),
                     k->least - k->mantissa + (exponent ? exponent - 1 : 0));
    if (k->one_zero       ? bits == 0x80
            : k->infinite ? exponent == highest && digits
                          : (bits & 0x7f) == 0x7f)
        return NAN;
    if (k->infinite && exponent == highest)
        v = INFINITY;
    return bits & 0x80 ? -v : v;
}

rill_status float8_tensor(struct reader *r, const struct tensor *bytes, int64_t code,
                          const struct tensor **ret)
{
    const struct float8 *k = float8_find(code);
    struct tensor *t = tensor_new(r->arena, DTYPE_F16, bytes->rank, bytes->dim);
    if (!t)
        return no_memory(r);
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
        ((uint16_t *) t->data)[i] = f32_to_f16(value_of(k, ((const uint8_t *) bytes->data)[i]));
    *ret = t;
    return RILL_OK;
}

rill_status scope_float8_set(struct scope *s, const char *name, int64_t code)
{
    return !*name || !float8_is(code) || map_set(&s->float8, name, (uint32_t) code)
        ? RILL_OK
        : no_memory(s->r);
}
