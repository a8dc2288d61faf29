/* SPDX-License-Identifier: MIT */
/* edit.h - a copy of a graph to change in place: wires keep their numbers until edit_end. */
#ifndef ENGINE_REWRITE_EDIT_H
#define ENGINE_REWRITE_EDIT_H
#include "engine/graph.h"

struct edit {
    struct graph *g;        /* the copy */
    uint32_t *readers;      /* of each wire, outputs and next states counted */
    bool *gone;             /* of each node */
    uint32_t n_wires;       /* the copy's before it was changed */
};

rill_status edit_begin(struct edit *e, struct graph *ret, const struct graph *g, rill_error *reterr);

/* The node that writes a wire which has one reader; false: there is none, or somebody else reads it. */
bool edit_sole_writer(const struct edit *e, uint32_t wire, uint32_t *ret_node);

bool edit_inputs(struct edit *e, uint32_t node, const uint32_t *in, unsigned n);    /* false: no memory */

/* Node `by` writes output 0 of `node` in its stead, which goes; by's own output 0 is nobody's any more. */
void edit_bypass(struct edit *e, uint32_t node, uint32_t by);

/* Takes the nodes out that have gone. */
void edit_end(struct edit *e);
#endif
