/* SPDX-License-Identifier: MIT */
#include "kernels/program.h"

#include <math.h>

#define NEAR 2 /* floats beside what lies between two numbers of a grid */

/* As FN(v_grid) of program_tmpl.h rounds. */
static float by_inverse(const struct kern_grid *g, float x)
{
    return rintf(fmaf(x, g->inverse, x * g->rest));
}

static bool agrees_near(const struct kern_grid *g, float x)
{
    for (int i = 0; i < NEAR; i++)
        x = nextafterf(x, -INFINITY);
    for (int i = 0; i <= 2 * NEAR; i++, x = nextafterf(x, INFINITY)) {
        float a = rintf(x / g->scale), b = by_inverse(g, x);
        if (a < b || a > b)
            return false;
    }
    return true;
}

/* Whether the inverse rounds as the quotient does. What lies below the least is the least, and so
 * above the most. Between, both ways go up with x, and the second is out by far less than the
 * quotient grows from float to float: they are the same everywhere if they are where they step. */
static bool inverse_agrees(const struct kern_grid *g, int low, int high)
{
    if (low < -KERN_GRID_INVERSE_MOST || high > KERN_GRID_INVERSE_MOST)
        return false;
    for (int n = low; n < high; n++)
        if (!agrees_near(g, ((float) n + 0.5f) * g->scale))
            return false;
    return true;
}

bool kern_grid_set(struct kern_grid *ret, float scale, int low, int high)
{
    if (!(scale >= 0x1p-80f && scale <= 0x1p80f) || low < -KERN_GRID_MOST || high > KERN_GRID_MOST)
        return false;
    struct kern_grid g = { .scale = scale,
                           .inverse = 1 / scale,
                           .least = (float) low * scale,
                           .most = (float) high * scale,
                           .low = (float) low,
                           .high = (float) high };
    g.rest = (float) (1 / (double) scale - (double) g.inverse);
    g.divides = !inverse_agrees(&g, low, high);
    *ret = g;
    return true;
}

static float rounded(float x, float scale, int low, int high)
{
    float n = rintf(x / scale);
    return n < (float) low ? (float) low : n > (float) high ? (float) high : n;
}

/* As FN(v_grid) goes on. */
static float goes_on(const struct kern_grid *g, int n)
{
    float up = fmaf((float) n, g->up, KERN_GRID_WHOLE),
          down = fmaf((float) n, g->down, KERN_GRID_WHOLE);
    return (g->bends && down > up ? down : up) - KERN_GRID_WHOLE;
}

/* What becomes of the whole number n of the first grid. */
struct onto {
    float scale, slope, then;
    int low, high;
};

static float onto_at(const struct onto *o, int n)
{
    float x = (float) n * o->scale;
    return rounded(n < 0 ? x * o->slope : x, o->then, o->low, o->high);
}

/* Narrows what a factor may be that takes from..to, which lie on one side of 0, to where they go.
 * What is cut to the least or the most may ask for less than the quotient of scales. */
static void factor_between(const struct onto *o, int from, int to, double *least, double *most)
{
    for (int n = from; n <= to; n++) {
        const double want = (double) onto_at(o, n), a = (want - 0.5) / n, b = (want + 0.5) / n;
        *least = fmax(*least, fmin(a, b));
        *most = fmin(*most, fmax(a, b));
    }
}

static float factor_near(float factor, double least, double most)
{
    return factor > least && factor < most ? factor : (float) ((least + most) / 2);
}

bool kern_grid_twice(struct kern_grid *g, float slope, float scale, int low, int high)
{
    struct kern_grid then = *g;
    const struct onto o = { g->scale, slope, scale, low, high };
    const int from = (int) rintf(g->least / g->scale), to = (int) rintf(g->most / g->scale);
    if (g->twice || g->divides || !(scale >= 0x1p-80f && scale <= 0x1p80f) ||
        !(slope <= 1 && slope >= -0x1p10f))
        return false;
    double least[2] = { -HUGE_VAL, -HUGE_VAL }, most[2] = { HUGE_VAL, HUGE_VAL };
    then.twice = true;
    then.bends = slope < 1;
    factor_between(&o, from, -1, &least[then.bends], &most[then.bends]);
    factor_between(&o, 1, to, &least[0], &most[0]);
    then.up = factor_near(g->scale / scale, least[0], most[0]);
    then.down = then.bends ? factor_near(slope * g->scale / scale, least[1], most[1]) : then.up;
    then.scale = scale;
    for (int n = from; n <= to; n++) {
        float want = onto_at(&o, n), is = goes_on(&then, n);
        if (is < want || is > want)
            return false;
    }
    *g = then;
    return true;
}

/* ---- what was scaled between two grids ---- */

static float cut(float x, float least, float most)
{
    return x < least ? least : x > most ? most : x;
}

/* As FN(v_scaled) of grid_tmpl.h does both ways. */
static float scaled_apart(const struct kern_grid *first, const struct kern_grid *g, int n, float b,
                          float c)
{
    const float product = (float) n * first->scale * b;
    return by_inverse(g, cut(product + c, g->least, g->most));
}

static float scaled_joined(const struct kern_grid *g, int n, float b, float c)
{
    return rintf(cut(fmaf((float) n, b * g->times, c * g->shift), g->low, g->high));
}

static bool joins(const struct kern_grid *g, const struct kern_grid *first, float b, float c)
{
    const int from = (int) rintf(first->least / first->scale),
              to = (int) rintf(first->most / first->scale);
    for (int n = from; n <= to; n++) {
        float want = scaled_apart(first, g, n, b, c), is = scaled_joined(g, n, b, c);
        if (!(want >= is && want <= is))
            return false;
    }
    return true;
}

#define JOIN_MOST 0x20000 /* numbers to try */

bool kern_grid_join(struct kern_grid *g, const struct kern_grid *first, size_t n, const float *b,
                    size_t b_step, const float *c, size_t c_step)
{
    const float times = first->scale * g->inverse, values = first->high - first->low + 1;
    if (first->twice || first->divides || g->divides || values * (float) n > JOIN_MOST)
        return false;
    for (int i = 0; i < 25; i++) { /* next to a tie an ulp more or less may do */
        g->times = times * (1 + (float) (i % 5 - i % 5 / 3 * 5) * 0x1p-23f);
        g->shift = g->inverse * (1 + (float) (i / 5 - i / 5 / 3 * 5) * 0x1p-23f);
        size_t k = 0;
        while (k < n && joins(g, first, b[k * b_step], c[k * c_step]))
            k++;
        if (k == n)
            return g->joins = true;
    }
    return false;
}
