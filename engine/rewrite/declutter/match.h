/* SPDX-License-Identifier: MIT */
/* match.h - questions that passes ask about the wires in front of a node. */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_MATCH_H
#define RILL_ENGINE_REWRITE_DECLUTTER_MATCH_H
#include "engine/graph/op.h"

/* The node that writes the wire, if it is one of that op; NULL otherwise, and for WIRE_NONE. */
const struct node *match_op(const struct graph *g, uint32_t wire, enum op_id op);

/* The value of a constant; NULL: it is none. */
const struct tensor *match_value(const struct graph *g, uint32_t wire);
/* A constant f32 of one element, or several that are all the same. */
bool match_number(const struct graph *g, uint32_t wire, float *ret);
bool match_is_number(const struct graph *g, uint32_t wire, float value);
#define MATCH_WHOLE_MAX ((int64_t) 1 << 24) /* up to which f32 has every whole number */
/* A constant of one element of any type, which is a whole number of no more than that. */
bool match_whole(const struct graph *g, uint32_t wire, int64_t *ret);
/* The size that a constant of one element is, as what is known now has it; NULL: it is none. */
const struct dim *match_size(const struct graph *g, uint32_t wire);
/* A constant list of integers, in *ret_n. */
bool match_ints(const struct graph *g, uint32_t wire, int64_t *ret, unsigned cap, unsigned *ret_n);

/* Of each wire, whether it depends on more than sizes and constants. Sizes of what is data are
 * none. Lives in g's arena; NULL: no memory. */
bool *match_data(const struct graph *g);

/* Input k (0 or 1) of a node of two inputs, and the other one. */
static inline uint32_t match_other(const struct node *n, int k)
{
    return n->in[1 - k];
}
#endif
