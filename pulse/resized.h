/* SPDX-License-Identifier: MIT */
/* resized.h - for which lengths Resize along time makes of a whole sequence what a stream makes. */
#ifndef RILL_PULSE_RESIZED_H
#define RILL_PULSE_RESIZED_H
#include "engine/ops/resize.h"
#include "pulse/lengths.h"

/* Output frame m*up + r reads the frames of the input from m*down + low on; of one phase r after
 * the other. */
struct stretch {
    int64_t up, down;
    int64_t front;  /* frames in front of the first that are read */
    int64_t past;   /* frames behind the last that are read */
    int64_t beyond; /* and by how many all that a frame reads lie behind it */
    int64_t delay, history;
    int64_t least;            /* the delay by which what pads the sequence is known */
    bool single;              /* where the output has one frame that is the first of the input */
    const struct dim *length; /* of the output */
};

struct resized {
    const struct node *n;
    const struct dim *from, *to;
    double scale; /* of the file; 0: sizes are given */
    int64_t hop;  /* frames of the symbol for one of the input, at least 1 */
};

/* Of a node and the axis of its output that is time. */
struct resized resized_of(const struct pulser *p, const struct node *n, int axis, int64_t hop);

/* The ratio in which the output grows over the input; false: there is none. */
bool resized_ratio(const struct pulser *p, const struct resized *z, struct stretch *ret);

/* Whether all such lengths that the assertions allow become what a stream makes of them, by the
 * ratio of s; s: what is read past their ends, too. */
bool resized_same(const struct pulser *p, const struct resized *z, struct remainder r,
                  struct stretch *s);

/* The input frames that output frame i reads. */
struct reach {
    int64_t low, high;
};

struct reach reach_of(const struct resize_map *m, int64_t i);
#endif
