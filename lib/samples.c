/* SPDX-License-Identifier: MIT */
#include "rill.h"

#include <math.h>

/* The product with a power of two is exact, and the default rounding is to even. */
static int32_t rounded(float x, double scale)
{
    double v = (double) x * scale;
    if (v >= scale - 1)
        return (int32_t) (scale - 1);
    if (v <= -scale)
        return (int32_t) -scale;
    return v == v ? (int32_t) lrint(v) : 0;
}

void rill_samples_round(const float *x, size_t n, unsigned bits, int32_t *ret)
{
    double scale = (double) (UINT32_C(1) << (bits - 1));
    for (size_t i = 0; i < n; i++)
        ret[i] = rounded(x[i], scale);
}
