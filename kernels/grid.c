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
                           .most = (float) high * scale };
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

bool kern_grid_twice(struct kern_grid *g, float slope, float scale, int low, int high)
{
    struct kern_grid then = *g;
    const int least = (int) rintf(g->least / g->scale), most = (int) rintf(g->most / g->scale);
    if (g->twice || g->divides || !(scale >= 0x1p-80f && scale <= 0x1p80f) ||
        !(slope <= 1 && slope >= -0x1p10f))
        return false;
    then.twice = true;
    then.bends = slope < 1;
    then.up = g->scale / scale;
    then.down = slope * g->scale / scale;
    then.scale = scale;
    for (int n = least; n <= most; n++) {
        float x = (float) n * g->scale, want = rounded(n < 0 ? x * slope : x, scale, low, high),
              is = goes_on(&then, n);
        if (is < want || is > want)
            return false;
    }
    *g = then;
    return true;
}
