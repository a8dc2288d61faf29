/* SPDX-License-Identifier: MIT */
/* resize.h - where the places of a resized axis lie among those of the axis that it is made of. */
#ifndef RILL_ENGINE_OPS_RESIZE_H
#define RILL_ENGINE_OPS_RESIZE_H
#include "engine/ops/attrs.h"

/* An axis of `in` places becomes one of `out`; out < 0: of a stream, which has no end and whose
 * scale is num / den. */
struct resize_map {
    const struct resize_attr *attr;
    int64_t in, out;
    double scale, start, end; /* start, end: of the region, as parts of the axis */
    int64_t num, den;         /* the scale as a ratio; 0: it is none */
};

/* The scale that was given, or that of the two lengths. */
void resize_map_scale(struct resize_map *m, double scale, bool given);

/* The scale as a ratio of small whole numbers, by which lengths come out as by the float. */
bool resize_ratio(double scale, int64_t *ret_num, int64_t *ret_den);

#define TAPS_MAX 4

/* An output place is the sum of n input places by their weights; those outside the axis count as
 * its first or last one. */
struct resize_taps {
    int n; /* 1, 2 or 4 */
    int64_t at[TAPS_MAX];
    double weight[TAPS_MAX];
};

void resize_taps_of(const struct resize_map *m, int64_t i, struct resize_taps *ret);
#endif
