/* SPDX-License-Identifier: MIT */
/* op.h - a graph whose sizes data decides, as one node of a graph of fixed inputs and outputs.
 *
 * The one op whose eval locks, and plans and allocates unless it has rooms (engine/late/rooms.h): a
 * graph that has it does not stream, and one run of it is a whole recording or a step. What a run
 * finds wrong is a fault. */
#ifndef RILL_ENGINE_LATE_OP_H
#define RILL_ENGINE_LATE_OP_H
#include "engine/base/lock.h"
#include "engine/late/late.h"

struct late_node; /* what the node runs, by all who run it */

/* m as such a graph: ret has m's inputs, of known sizes, and m's outputs as the file declares them,
 * or as they are whatever size states have. States of m may have one axis that is a symbol: they
 * begin with no frames (or with their first value) and may have as many as are reserved; ret has
 * them as buffers of that size, and one state more, how many frames each of them has.
 * lock is held where anything is made of m's dims. *ret_node is the caller's, as long as ret lives.
 * Refuses what m cannot do whatever comes. */
rill_status tgraph_from_late(struct tgraph *ret, struct late_node **ret_node,
                             const struct mgraph *m, const struct fact *inputs,
                             const struct late_opts *opts, struct lock *lock, rill_error *reterr);
struct late_node *late_node_free(struct late_node *l); /* frees its list; takes and returns NULL */

/* The node that g is; NULL: it is another graph. */
struct late *late_of_graph(const struct graph *g);
/* Of a node of a plan: false where it is another op. */
bool late_node_count(const struct node *n, struct late_counts *ret);

/* State i of such a graph with that value to begin with, in place of the first one of the file:
 * the buffer, and its number in the state behind all buffers. NULL, 0 frames and OK where i is that
 * one, or g another graph. */
rill_status late_state_begin(const struct graph *g, uint32_t i, const struct tensor *value,
                             struct arena *a, const struct tensor **ret, int64_t *ret_frames,
                             rill_error *reterr);

struct late_node **late_node_next(struct late_node *l); /* for the owner's list */
#endif
