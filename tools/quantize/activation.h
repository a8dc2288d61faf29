/* SPDX-License-Identifier: MIT */
/* activation.h - what goes into a layer as numbers of 8 bits, of one scale and one zero. */
#ifndef RILL_TOOLS_QUANTIZE_ACTIVATION_H
#define RILL_TOOLS_QUANTIZE_ACTIVATION_H
#include <float.h>
#include <math.h>

struct activation {
    float scale, zero; /* zero is one of the 256 steps */
};

/* As DynamicQuantizeLinear has it: 0 is always one of the steps. Never of scale 0. */
static inline struct activation activation_of(float low, float high)
{
    float span = fmaxf(high, 0) - fminf(low, 0), scale = span / 255;
    if (!(scale >= FLT_MIN) || isinf(scale))
        return (struct activation) { 1, 0 };
    float zero = rintf(-fminf(low, 0) / scale);
    return (struct activation) { scale, zero < 255 ? zero : 255 };
}

/* x as the step stands for it. */
static inline float activation_step(struct activation a, float x)
{
    float q = rintf(x / a.scale) + a.zero;
    q = q > 0 ? q : 0; /* a NaN, too */
    return ((q < 255 ? q : 255) - a.zero) * a.scale;
}
#endif
