/* SPDX-License-Identifier: MIT */
/* Steps of a program that round to a grid, found for one instruction. */
#include "engine/ops/fused.h"

#include <math.h>

#define ROUNDING 3 /* steps */

struct rounding {
    float scale;
    int low, high;
};

static bool number_of(const struct fused_reader *r, int64_t value, float *ret)
{
    const struct tensor *t = r->known(r->of, value);
    bool is = t && t->data && t->type == DTYPE_F32 && tensor_count(t) == 1;
    *ret = is ? *(const float *) t->data : 0;
    return is;
}

/* The value that step i makes is read by the next one alone, as its first operand. */
static bool goes_on(const struct fused_reader *r, const int64_t *steps, int64_t i, int64_t n)
{
    const int64_t *s = steps + i * FUSED_STEP_INTS;
    return i + 1 < n && s[FUSED_STEP_INTS + 2] == s[1] && r->ends(r->of, s[1], i + 1);
}

static bool rounding_at(const struct fused_reader *r, const int64_t *steps, int64_t i, int64_t n,
                        struct rounding *ret)
{
    const int64_t *s = steps + i * FUSED_STEP_INTS;
    float zero, times;
    const bool wide = i + ROUNDING <= n && s[4] == KERN_ROUND_S16;
    const int half = wide ? 0x8000 : 0x80;
    if (i + ROUNDING > n || s[0] != KERN_DIV || (s[4] != KERN_ROUND_S8 && !wide) ||
        s[8] != KERN_MUL || !goes_on(r, steps, i, n) || !goes_on(r, steps, i + 1, n) ||
        !number_of(r, s[3], &ret->scale) || !number_of(r, s[7], &zero) ||
        !number_of(r, s[11], &times) || ret->scale < times || ret->scale > times ||
        !(fabsf(zero) <= (float) (2 * half)))
        return false;
    const int whole = (int) zero;
    ret->low = -half - whole;
    ret->high = half - 1 - whole;
    return !((float) whole < zero || (float) whole > zero);
}

int64_t fused_grid(const struct fused_reader *r, const int64_t *steps, int64_t n,
                   struct kern_grid *ret)
{
    struct rounding a, b;
    int64_t i = ROUNDING;
    float slope = 1;
    if (!rounding_at(r, steps, 0, n, &a) || !kern_grid_set(ret, a.scale, a.low, a.high))
        return 0;
    if (!goes_on(r, steps, i - 1, n))
        return ROUNDING;
    if (steps[i * FUSED_STEP_INTS] == KERN_PRELU &&
        number_of(r, steps[i * FUSED_STEP_INTS + 3], &slope))
        i++;
    bool twice = (i == ROUNDING || goes_on(r, steps, i - 1, n)) &&
        rounding_at(r, steps, i, n, &b) && kern_grid_twice(ret, slope, b.scale, b.low, b.high);
    return twice ? i + ROUNDING : ROUNDING;
}
