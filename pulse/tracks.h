/* SPDX-License-Identifier: MIT */
/* tracks.h - where an axis of an input lies in the output, and back: of ops on wires that may have
 * time on two axes. */
#ifndef RILL_PULSE_TRACKS_H
#define RILL_PULSE_TRACKS_H
#include "pulse/pulser.h"

/* AXIS_NONE (axes.h): it is contracted, broadcast, changed or not known. */
int track_out(const struct pulser *p, const struct node *n, unsigned input, int axis);
int track_in(const struct pulser *p, const struct node *n, unsigned input, int axis);

/* Whether the axis mentions the stream's symbol. */
bool axis_is_time(const struct pulser *p, uint32_t src_wire, int axis);

/* The first 2 of the axes that do; returns how many there are, which may be more. */
int time_axes(const struct pulser *p, uint32_t src_wire, int ret[2]);

/* The axes that a Slice takes from their ends on, as bits; all where that is not known. */
unsigned track_turned(const struct pulser *p, const struct node *n);
#endif
