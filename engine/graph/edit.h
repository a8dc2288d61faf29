/* SPDX-License-Identifier: MIT */
/* edit.h - a copy of a graph to change in place: wires keep their numbers until edit_end. */
#ifndef RILL_ENGINE_GRAPH_EDIT_H
#define RILL_ENGINE_GRAPH_EDIT_H
#include "engine/graph/op.h"

struct edit {
    struct graph *g;           /* the copy */
    uint32_t *consumers;       /* of each wire, outputs and next states counted */
    bool *gone;                /* of each node */
    uint32_t n_wires, n_nodes; /* the copy's before it was changed */
    uint32_t *before; /* of a node that was put in, which is behind the old ones until edit_end: its
                         place */
    uint32_t cap_before;
};

rill_status edit_begin(struct edit *e, struct graph *ret, const struct graph *g,
                       rill_error *reterr);

/* A constant list of one integer; WIRE_NONE: no memory. */
uint32_t edit_int(struct graph *g, int64_t v);

/* The node that writes a wire which has one consumer; false: there is none, or somebody else reads
 * it. */
bool edit_sole_producer(const struct edit *e, uint32_t wire, uint32_t *ret_node);

/* false: no memory */
bool edit_inputs(struct edit *e, uint32_t node, const uint32_t *in, unsigned n);

/* Node `by` writes output 0 of `node` in its stead, which goes; by's own output 0 is nobody's any
 * more. */
void edit_replace(struct edit *e, uint32_t node, uint32_t by);

/* Puts a node in before `node`, which keeps its number. False: no memory. */
bool edit_insert(struct edit *e, uint32_t node, const struct op *op, const void *attr,
                 const uint32_t *in, unsigned n_in, const uint32_t *out, unsigned n_out);

/* Gives the node attributes of its own, to be written to. NULL: no memory. */
void *edit_attr(struct edit *e, uint32_t node);

/* Puts the nodes in order and takes those out that have gone. */
rill_status edit_end(struct edit *e, rill_error *reterr);
#endif
