/* SPDX-License-Identifier: MIT */
/* exact.h - which numbers made of positions the elements of a type hold.
 *
 * Those that stay within the type however long the stream is, always. Counts of frames in f32, i32
 * or u32 leave it after a time that `rill check` states: they are taken where they grow no faster
 * than the frames and are right for PLACES_EXACT of them. Narrower types leave it too soon. */
#ifndef RILL_PULSE_EXACT_H
#define RILL_PULSE_EXACT_H
#include "pulse/positions.h"

#define PLACES_EXACT 8192

/* *cases: how often one of two values may still be tried. */
bool position_exact(const struct positions *ps, enum dtype type, const struct position *x,
                    unsigned *cases);
/* In the first `places` frames. */
bool position_lasts(const struct positions *ps, enum dtype type, const struct position *x,
                    double places, unsigned *cases);
/* How large e is at most in those. */
double position_most(const struct positions *ps, const struct dim *e, double places);
#endif
