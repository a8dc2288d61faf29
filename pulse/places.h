/* SPDX-License-Identifier: MIT */
/* places.h - parts of wires that depend on positions alone, as constants or as nodes on constants.
 *
 * Such a wire has an expression (positions.h), or its node makes it of such wires and of constants
 * (it is `made`): a table looked up by distances, a slope times a distance, sinusoids through
 * weights. Nothing of it is in the pulsed graph but the places that somebody asks for. */
#ifndef RILL_PULSE_PLACES_H
#define RILL_PULSE_PLACES_H
#include "pulse/pulser.h"

#define FAR ((int64_t) 1 << 20) /* where masks and the like are looked at */

/* On axis[k] of the wire (AXIS_NONE: on no axis) stand the coordinates at[k] for count[k] values of
 * the symbol place[k] (positions.h) from first[k] on. */
struct places {
    int axis[2];
    const struct dim *at[2];
    int64_t first[2], count[2];
    int64_t unseen[2]; /* of so many first and so many last ones nobody looks at what they are */
    int steps;         /* nodes between who asks and the wire */
    const struct node *by; /* the nearest of them; NULL: there is none */
    int64_t repeats[2];    /* the same must stand where each value is so much larger; 0: need not */
    int64_t from[2];       /* that from these values on; for the first queries, too */
    bool running;          /* axis[0] has the queries of a run: */
    uint32_t queries;      /* their numbers, a dst wire; 0 for those outside the sequence */
    int64_t *ends;         /* not NULL: becomes the least number for which a table has no row */
};

/* Comparisons of frames with the length, and masks of two time axes in which they have a part, are
 * taken for no functions of positions: they stream as masks of data do. */
rill_status places_told_drop(const struct pulser *p);

/* Per wire of p->src, in p->arena: whether it is made. NULL: no memory. */
bool *places_made(const struct pulser *p);
bool places_known(const struct pulser *p, uint32_t src_wire); /* by expression, or made */

/* The dst wire of those places; n is the node that wants them, for messages. Other axes keep their
 * sizes. */
rill_status places_emit(struct pulser *p, const struct node *n, uint32_t src_wire,
                        const struct places *at, uint32_t *ret);

/* *at, dst wire: the places of input 1 of node m. Where m picks rows of a table, which has no row
 * for some of them, those become any row, and the lengths are told at which a whole run finds all.
 */
rill_status places_rows(struct pulser *p, const struct node *m, uint32_t *at);
#endif
