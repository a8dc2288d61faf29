/* SPDX-License-Identifier: MIT */
/* quant_depth.h - depthwise convolutions of 8-bit numbers with lanes along their channels, which
 * are turned to lie side by side. */
#ifndef RILL_ENGINE_OPS_QUANT_DEPTH_H
#define RILL_ENGINE_OPS_QUANT_DEPTH_H
#include "engine/ops/quant_product.h"
#include "engine/ops/window.h"

/* What is asked for: */
struct depth {
    struct window3 g;
    int64_t batch, channels;
    bool floats;          /* sums come out as f32 */
    struct kern_scale to; /* by: NULL: no bytes come out */

    struct kern_places places; /* its bias is set in every run */
    const int32_t *sum;        /* of a channel's weights */
    int64_t side[3];           /* of x with its padding */
    size_t x_bytes, bias_bytes;
};

/* Whether channels are enough, and weights and their zeros are known. */
bool depth_pays(const struct prep *c, const struct depth *d);
/* Sets the rest. */
rill_status depth_prepare(struct prep *c, struct depth *d);
void depth_eval(const struct eval *e, const struct depth *d, int32_t zero);
#endif
