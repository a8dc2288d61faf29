/* SPDX-License-Identifier: MIT */
/* quant_places.h - convolutions of 8-bit numbers with lanes along their places: of many places, and
 * of groups with few outputs. */
#ifndef RILL_ENGINE_OPS_QUANT_PLACES_H
#define RILL_ENGINE_OPS_QUANT_PLACES_H
#include "engine/ops/quant_product.h"
#include "engine/ops/window.h"

struct places {
    struct window3 g;
    int64_t batch, group, cin, cout; /* channels of one group */
    bool taps;                       /* line by line, and not as a product */
    bool pointwise;                  /* each place reads the one that it is */
    bool x_signed, w_signed;
    bool floats; /* sums come out as f32 */
    bool bytes;  /* or scaled to bytes */
    struct kern_scale to;

    bool in_place;            /* channels are read where they lie in x */
    int64_t size[3], channel; /* of the images of a channel, padded; bytes of all of them */
    int64_t flat;             /* places from the first to the last, those between rows included */
    int64_t tile;             /* places at once */
    size_t *at;               /* where the terms of place 0 are, from channel 0 of the group */
    const struct kern_taps_line *line; /* of all outputs */
    const int32_t *sum;                /* of an output's weights */
    size_t n_lines, step;
    size_t x_bytes, packed_bytes, sums_bytes; /* of scratch */
};

/* Whether it is the better way; group, channels and g are set. */
bool places_pay(const struct places *v);
/* Sets the rest; where to.by is set, bytes come out. */
rill_status places_prepare(struct prep *c, struct places *v);
void places_eval(const struct eval *e, const struct places *v, int32_t zero);
#endif
