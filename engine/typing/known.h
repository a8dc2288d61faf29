/* SPDX-License-Identifier: MIT */
/* known.h - what nodes make of constants alone. */
#ifndef RILL_ENGINE_TYPING_KNOWN_H
#define RILL_ENGINE_TYPING_KNOWN_H
#include "engine/graph/op.h"

/* The value of a wire that at most 64 nodes in a row, each of at most 4 MiB and without bodies, or
 * a Scan, make of constants: computed in a. NULL: it is none, or a node does not run. */
rill_status graph_known(const struct graph *g, uint32_t wire, struct arena *a,
                        const struct tensor **ret);
#endif
