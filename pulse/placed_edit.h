/* SPDX-License-Identifier: MIT */
/* placed_edit.h - an edit of a graph, node by node, that reads what the frames of its wires stand
 * for. */
#ifndef RILL_PULSE_PLACED_EDIT_H
#define RILL_PULSE_PLACED_EDIT_H
#include "engine/graph/edit.h"
#include "pulse/positions.h"

struct placed_edit {
    struct edit *e;
    const struct dim *symbol; /* the length; NULL: there is not one alone */
    struct positions ps;      /* found once they are wanted */
    bool tried, found;
    struct arena scratch;
    rill_error *err;
};

/* Finds the positions, if they were not looked for yet. */
rill_status placed_edit_want(struct placed_edit *c);

/* The sizes of f as a constant; WIRE_NONE: no memory. */
uint32_t placed_sizes(struct graph *g, const struct fact *f);

/* The node makes tensors of that number, as large as what it made. */
rill_status placed_number(struct placed_edit *c, uint32_t node, double number);

/* look: called of each node, those that are added not. */
rill_status graph_edit_placed(struct graph *ret, const struct graph *g,
                              rill_status (*look)(struct placed_edit *c, uint32_t node),
                              rill_error *reterr);
#endif
