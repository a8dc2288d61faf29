/* SPDX-License-Identifier: MIT */
/* axes.h - how each op touches the axes of its inputs: one row an op.
 *
 * An op has axes of its own (those it reduces, convolves, sorts ...), named by `at`; on the others
 * it treats every index apart. Where time is one of the others it goes where `map` says; where it
 * is one of its own, or where more than a map is needed, `rule` streams it. An op with neither does
 * not stream. */
#ifndef RILL_PULSE_AXES_H
#define RILL_PULSE_AXES_H
#include "pulse/pulser.h"

enum axis_class {
    AXIS_POINTWISE, /* every index apart */
    AXIS_WINDOW,    /* an output reads some neighbours */
    AXIS_FORWARD,   /* an output reads all that comes before */
    AXIS_BACKWARD,  /* an output reads all that comes after */
    AXIS_GLOBAL,    /* an output reads all of the axis */
    AXIS_MOVED,     /* indices are moved, split, merged, joined or cut out */
    AXIS_POSITION,  /* what is done depends on the index itself */
    N_AXIS_CLASSES
};

#define AXIS_NONE (-1) /* of a map: time cannot stay on this axis */

/* Where an axis of an input lies in every output; AXIS_NONE: it is one of the op's own. */
typedef int axis_map(const struct pulser *p, const struct node *n, unsigned input, int axis);

struct axis_row {
    enum op_id op; /* OP_NONE: a row of no op of its own */
    enum axis_class own;
    const char *at; /* the op's own axes, in words; NULL: it has none */
    axis_map *map;
    pulse_rule *rule;
    bool streams;       /* rule streams along the op's own axes, or some of them */
    pulse_rule *source; /* where nothing streams into it, but time comes out */
    const char *way;    /* what to do where it does not stream; NULL: nothing better is known */
};

/* The op's row; that of all elementwise ops for one of them; for an op without any: global along
 * all axes. */
const struct axis_row *axis_row_of(const struct op *op);
bool axis_row_stated(const struct op *op);

const char *axis_class_name(enum axis_class c);
#endif
