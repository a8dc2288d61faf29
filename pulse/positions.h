/* SPDX-License-Identifier: MIT */
/* positions.h - wires whose elements are known functions of where they stand.
 *
 * A mask made of ranges, comparisons and logic depends on no data: element [.., i, .., j, ..] is an
 * expression of its coordinates. Wires of that kind over two time axes never exist in a pulsed
 * graph; who uses them makes the part that a run needs (pulse/rules_attention.c). */
#ifndef RILL_PULSE_POSITIONS_H
#define RILL_PULSE_POSITIONS_H
#include "engine/graph/graph.h"

/* An element is e / parts, which is whole unless it is a float; a float one (pair) is `one` where e
 * is 1 and `zero` where e is 0. */
struct position {
    const struct dim *e; /* NULL: not a function of positions */
    bool pair;
    double one, zero;
    int64_t parts;
};

struct positions {
    struct dims *dims; /* a scope of its own: what overflows here hurts nothing else */
    struct dims *graph;
    const struct dim *axis[RANK_MAX],
        *place[2];              /* coordinates, and where two of them are looked at */
    const struct dim *time;     /* the symbol of the stream, in this scope */
    const struct dim *more;     /* frames beyond the lengths that are tried one by one */
    struct position *of;        /* one per wire of the graph */
    struct position *scaled;    /* of wires that have none there: e times `one`, rounded, which is
                                   off by up to `zero` of those (position_scaled.h) */
    const struct node *inexact; /* the first that makes such numbers in a type that does not hold
                                   them; NULL: none does */
};

/* ret->of lives in a; the scope is freed by positions_drop. symbol: that of the stream. */
rill_status positions_find(struct positions *ret, const struct graph *g, const struct dim *symbol,
                           struct arena *a, rill_error *reterr);
void positions_drop(struct positions *ps);

/* The elements whose coordinate of that axis is i: a function of the others. */
struct position position_row(const struct positions *ps, const struct position *at, int axis,
                             int64_t i);

/* The element of a row at coordinate j of another axis as a number; false where a third coordinate
 * matters. */
bool position_value(const struct positions *ps, const struct position *row, int axis, int64_t j,
                    double *ret);

/* The element where e is v. */
double position_number(const struct position *at, int64_t v);

/* The element is the same so many places further on along both axes. */
bool position_repeats(const struct positions *ps, const struct position *at, int axis_i, int axis_j,
                      int64_t along_i, int64_t along_j);

/* e where both coordinates are so much larger. */
static inline const struct dim *positions_behind(const struct positions *ps, const struct dim *e,
                                                 int axis_i, int axis_j, int64_t more)
{
    struct dims *ds = ps->dims;
    e = dim_subst(ds, e, ps->axis[axis_i], dim_add_int(ds, ps->axis[axis_i], more));
    return dim_subst(ds, e, ps->axis[axis_j], dim_add_int(ds, ps->axis[axis_j], more));
}

/* An expression of the graph's scope in that of positions; NULL: it has symbols beside time. */
const struct dim *positions_dim(const struct positions *ps, const struct dim *d,
                                const struct dim *symbol);

/* The other way round; NULL: it has coordinates. */
const struct dim *positions_length(const struct positions *ps, const struct dim *d,
                                   const struct dim *symbol);

/* e, of which the length of the sequence falls out: the same for every length from 1 on; NULL: it
 * does not, or may not. */
const struct dim *positions_without_length(const struct positions *ps, const struct dim *e);
#endif
