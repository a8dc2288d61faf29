/* SPDX-License-Identifier: MIT */
/* depthwise.h - one channel in, one channel out: what Conv and ConvTranspose share. */
#ifndef ENGINE_OPS_DEPTHWISE_H
#define ENGINE_OPS_DEPTHWISE_H
#include "engine/ops/window.h"

/* Three spatial axes; missing ones have size 1. */
struct depthwise {
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3];
    bool transposed;
};

/* The geometry of the whole op, as that of a channel. */
void depthwise_set(struct depthwise *ret, const struct window3 *g, bool transposed);

/* Scratch for one channel; 0 where this geometry needs another way (a stride on the last axis, large kernels). */
size_t depthwise_scratch_bytes(const struct depthwise *g);

/* y = bias + sum over kernel places in order, places outside of x counting as zeros. */
void depthwise_channel(const struct depthwise *g, const struct kern *k, float *y, const float *x, const float *w,
                       float bias, void *scratch);
#endif
