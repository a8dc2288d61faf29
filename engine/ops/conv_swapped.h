/* SPDX-License-Identifier: MIT */
/* conv_swapped.h - a convolution of one place as a product whose operands are swapped: rows are the
 * outputs, and lanes lie along the places, so that neither the image nor what it gives is turned.
 */
#ifndef RILL_ENGINE_OPS_CONV_SWAPPED_H
#define RILL_ENGINE_OPS_CONV_SWAPPED_H
#include "engine/ops/window.h"

/* Whether it is one that this is for, of cin and cout channels of a group. */
bool conv_swapped_fits(const struct window3 *g, int64_t cin, int64_t cout);
size_t conv_swapped_floats(const struct window3 *g, int64_t cin); /* of scratch */

/* A group of an image. w: [cout][cin]; bias: NULL: zero. */
struct conv_swapped {
    const struct kern *k;
    float *y;
    const float *x, *w, *bias;
    size_t cin, cout, places;
    float *room; /* conv_swapped_floats */
};
void conv_swapped_run(const struct conv_swapped *u);
#endif
