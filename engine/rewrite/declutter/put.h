/* SPDX-License-Identifier: MIT */
/* put.h - nodes that passes add to a graph. What they write to is given in *out, or made where
 * that is WIRE_NONE. */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_PUT_H
#define RILL_ENGINE_REWRITE_DECLUTTER_PUT_H
#include "engine/graph/edit.h"

/* A wire of fact f without its value. */
rill_status put_wire(struct graph *g, const char *name, const struct fact *f, uint32_t *ret,
                     rill_error *err);
/* A list of sizes, integers where no symbol is in them; WIRE_NONE: no memory. */
uint32_t put_sizes(struct graph *g, const char *name, const struct dim *const *sizes, int64_t n);
rill_status put_ints(struct graph *g, struct attr_ints list, uint32_t *ret, rill_error *err);

/* An op of default attributes (of Frame and Concat: none yet) that gives a tensor of fact f.
 * ret_attr may be NULL. */
rill_status put_op(struct graph *g, enum op_id id, const uint32_t *in, unsigned n_in,
                   const struct fact *f, uint32_t *out, void **ret_attr, rill_error *err);

#define PUT_INPUTS 8
/* A node of one output before node `at`, attr NULL: of default attributes, and its fact by its own
 * infer. */
rill_status put_before(struct edit *e, uint32_t at, const struct op *op, const void *attr,
                       const uint32_t *in, unsigned n_in, uint32_t *ret, rill_error *err);

/* Axis i of what comes out is axis perm[i]; where nothing moves, the wire itself. */
rill_status put_turned(struct graph *g, uint32_t wire, const int64_t *perm, uint32_t *out,
                       rill_error *err);

/* Without so many frames at the front and the end of an axis; without none, the wire itself. */
rill_status put_cut(struct graph *g, uint32_t wire, int axis, int64_t front, int64_t end,
                    uint32_t *ret, rill_error *err);
#endif
