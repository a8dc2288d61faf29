/* SPDX-License-Identifier: MIT */
/* shifts.h - products of queries and a table of distances whose rows are shifted against each other
 * (Dai et al., Transformer-XL, 2019, appendix B): padded, reshaped and cut so that column j of row
 * i holds the product with the distance i - j.
 *
 * Such a chain ends in a wire of scores. Its nodes are not in the pulsed graph: the end is made of
 * the queries and of that part of the table which the window of keys wants. */
#ifndef RILL_PULSE_SHIFTS_H
#define RILL_PULSE_SHIFTS_H
#include "pulse/pulser.h"

#define SHIFT_NODES_MAX 12

struct shift {
    const struct node *node[SHIFT_NODES_MAX]; /* from the product on */
    unsigned n;
    unsigned table;         /* the input of the product that depends on positions */
    const struct dim *rows; /* the length of the sequence there */
    bool ascends;           /* rows of the table lie by distances from low to high */
    int64_t first;         /* element [i, j] is row i, column rows + first + j - i; + i - j there */
    int64_t before, after; /* that holds for keys so many frames before the query, and behind it */
    int64_t *left;         /* of `struct shifts` */
};

struct shifts {
    struct shift **of; /* per wire: where a chain ends */
    bool *inside;      /* per wire: between the ends */
    bool *fixed;       /* per wire: the length of the sequence decides it, no data */
    int64_t left;      /* elements of chains that may still be tried */
};

/* Sets p->shifts; p->made is set. LIMIT where chains are too many or too large to be tried. */
rill_status shifts_find(struct pulser *p);
const struct shift *shift_of(const struct pulser *p, uint32_t src_wire); /* NULL: none ends there */

/* The scores of `pulse` queries and the keys from `left` frames before the first to `right` behind
 * the last, of which each sees those from `before` frames before its own to `after` behind it. */
struct shift_window {
    int64_t pulse, left, right, before, after;
};
rill_status shift_emit(struct pulser *p, const struct shift *s, uint32_t queries,
                       const struct shift_window *w, uint32_t *ret);

/* The scores of `pulse` queries and the first `first` keys of the sequence, of which each sees
 * those up to `ahead` frames behind its own. distances: of the queries before those keys, ahead
 * more, 0 or more, a dst wire: from the last query and key 0 on down to the first query and the
 * last key. */
struct shift_first {
    int64_t pulse, first, ahead;
    uint32_t distances;
};
rill_status shift_first_emit(struct pulser *p, const struct shift *s, uint32_t queries,
                             const struct shift_first *w, uint32_t *ret);
#endif
