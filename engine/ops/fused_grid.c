/* SPDX-License-Identifier: MIT */
/* Steps of a program that round to a grid, found for one instruction. */
#include "engine/ops/fused.h"

#include <math.h>
#include <string.h>

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

/* Of the steps from i on. */
static int64_t grid_at(const struct fused_reader *r, const int64_t *steps, int64_t i, int64_t n,
                       struct kern_grid *ret)
{
    struct rounding a, b;
    const int64_t from = i;
    float slope = 1;
    if (!rounding_at(r, steps, i, n, &a) || !kern_grid_set(ret, a.scale, a.low, a.high))
        return 0;
    i += ROUNDING;
    if (!goes_on(r, steps, i - 1, n))
        return ROUNDING;
    if (steps[i * FUSED_STEP_INTS] == KERN_PRELU &&
        number_of(r, steps[i * FUSED_STEP_INTS + 3], &slope))
        i++;
    bool twice = (i == from + ROUNDING || goes_on(r, steps, i - 1, n)) &&
        rounding_at(r, steps, i, n, &b) && kern_grid_twice(ret, slope, b.scale, b.low, b.high);
    return twice ? i + ROUNDING - from : ROUNDING;
}

int64_t fused_grid(const struct fused_reader *r, const int64_t *steps, int64_t n,
                   struct kern_grid *ret)
{
    return grid_at(r, steps, 0, n, ret);
}

/* ---- roundings behind other functions, in registers ---- */

/* The grid that what step i - 1 makes is rounded to, if a product by an inverse does it; returns
 * how many steps that takes. */
static int64_t grid_behind(const struct fused_reader *r, const int64_t *steps, int64_t i, int64_t n,
                           struct kern_grid *ret)
{
    int64_t made = i < n && goes_on(r, steps, i - 1, n) ? grid_at(r, steps, i, n, ret) : 0;
    return ret->divides ? 0 : made;
}

/* Step i is the function with one element as its second operand. */
static bool takes_one(const struct fused_reader *r, const int64_t *steps, int64_t i, int64_t n,
                      enum kern_instr_op function)
{
    const int64_t *s = steps + i * FUSED_STEP_INTS;
    return i < n && s[0] == (int64_t) function && !r->at[s[2]].one && r->at[s[3]].one;
}

/* Of an element a row; NULL: they are not known. */
static const float *elements_of(const struct fused_reader *r, int64_t value, size_t *ret_n)
{
    const struct tensor *t = r->known(r->of, value);
    if (!t || !t->data || t->type != DTYPE_F32)
        return NULL;
    *ret_n = (size_t) tensor_count(t);
    return t->data;
}

/* The product and the sum of step s and the next one, between two roundings. */
static void scaled_join(const struct fused_reader *r, const int64_t *s, struct kern_grid grid[2])
{
    size_t n_b, n_c;
    const float *b = elements_of(r, s[3], &n_b), *c = elements_of(r, s[FUSED_STEP_INTS + 3], &n_c);
    if (b && c && (n_b == n_c || n_b == 1 || n_c == 1))
        kern_grid_join(&grid[1], &grid[0], n_b > n_c ? n_b : n_c, b, n_b > 1, c, n_c > 1);
}

/* A rounding or none, a product, a sum, a rounding or none. */
static int64_t scaled_at(const struct fused_reader *r, const int64_t *steps, int64_t n,
                         struct kern_grid grid[2], struct kern_instr *ret)
{
    if (steps[0] == KERN_DIV && r->at[steps[2]].one)
        return 0;
    int64_t i = steps[0] == KERN_DIV ? grid_at(r, steps, 0, n, &grid[0]) : 0;
    const bool before = i > 0;
    if (before && (grid[0].divides || grid[0].twice || !goes_on(r, steps, i - 1, n)))
        return 0;
    if (!takes_one(r, steps, i, n, KERN_MUL) || !goes_on(r, steps, i, n) ||
        !takes_one(r, steps, i + 1, n, KERN_ADD))
        return 0;
    const int64_t *s = steps + i * FUSED_STEP_INTS,
                  behind = grid_behind(r, steps, i + 2, n, &grid[1]);
    if (before && behind)
        scaled_join(r, s, grid);
    *ret = (struct kern_instr) { .op = KERN_SCALED,
                                 .a = r->at[steps[2]],
                                 .b = r->at[s[3]],
                                 .c = r->at[s[FUSED_STEP_INTS + 3]],
                                 .first = before ? &grid[0] : NULL,
                                 .grid = behind ? &grid[1] : NULL };
    return i + 2 + behind;
}

static int64_t rounded_at(const struct fused_reader *r, const int64_t *steps, int64_t n,
                          struct kern_grid grid[2], struct kern_instr *ret)
{
    if (steps[0] > KERN_DIV)
        return 0;
    const int64_t behind = grid_behind(r, steps, 1, n, &grid[1]);
    const bool turns = r->at[steps[2]].one, either = steps[0] == KERN_ADD || steps[0] == KERN_MUL;
    if (!behind || (turns && (!either || r->at[steps[3]].one)))
        return 0;
    *ret = (struct kern_instr) { .op = KERN_ROUNDED,
                                 .function = (enum kern_instr_op) steps[0],
                                 .a = r->at[steps[turns ? 3 : 2]],
                                 .b = r->at[steps[turns ? 2 : 3]],
                                 .grid = &grid[1] };
    return 1 + behind;
}

int64_t fused_rounded(const struct fused_reader *r, const int64_t *steps, int64_t n,
                      struct kern_grid grid[2], struct kern_instr *ret)
{
    memset(grid, 0, 2 * sizeof *grid);
    int64_t made = scaled_at(r, steps, n, grid, ret);
    made = made ? made : rounded_at(r, steps, n, grid, ret);
    if (made)
        ret->to = r->at[steps[(made - 1) * FUSED_STEP_INTS + 1]];
    return made;
}
