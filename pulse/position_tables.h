/* SPDX-License-Identifier: MIT */
/* position_tables.h - constants whose elements are known functions of where they stand: what grows
 * evenly, numbers of chunks, bands. Behind its end, where a whole run has no table any more, one
 * goes on as it is. */
#ifndef RILL_PULSE_POSITION_TABLES_H
#define RILL_PULSE_POSITION_TABLES_H
#include "pulse/positions.h"

/* Of more than one element; e NULL: it is no such table. */
struct position table_position(const struct positions *ps, const struct tensor *v);

/* Of a Gather in a list of two numbers, constant, at places that are known and always in it: which
 * of the two follows from the places at which the list changes. */
struct position table_picked(const struct positions *ps, const struct graph *g,
                             const struct node *n);

/* Of y, which has the elements of x, whose own is `at`: rows of a fixed length, one behind the
 * other (chunk numbers, each repeated); e NULL: it is another Reshape. */
struct position rows_position(const struct positions *ps, const struct position *at,
                              const struct fact *x, const struct fact *y);

/* Of a Concat whose last input counts on from where those in front of it end: -1 before 0, 1, 2 ..;
 * no expression of any other. */
struct position position_joined(const struct positions *ps, const struct graph *g,
                                const struct dim *symbol, const struct node *n);
#endif
