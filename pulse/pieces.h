/* SPDX-License-Identifier: MIT */
/* pieces.h - an expression of places is a polynomial in pieces: how far they reach. */
#ifndef RILL_PULSE_PIECES_H
#define RILL_PULSE_PIECES_H
#include "engine/base/dim.h"

/* Behind so many places to both sides of the one that d is about nothing begins but what its
 * quotients repeat: no comparison, least or most of d turns any more. At most `most`, where more
 * may be, or d is no such expression. Of an expression of two places that stays as it is where both
 * move on together it holds of one as seen from the other. */
int64_t pieces_reach(const struct dim *d, int64_t most);
#endif
