/* SPDX-License-Identifier: MIT */
/* inline_scan.h - the same graph with Scans of one iteration replaced by their bodies. */
#ifndef RILL_ENGINE_REWRITE_SETTLE_INLINE_SCAN_H
#define RILL_ENGINE_REWRITE_SETTLE_INLINE_SCAN_H
#include "engine/graph/op.h"

/* Whether the Scan goes: it runs once, and it has no state, is declared to restart in every run, or
 * every state's last value gets into an output or a declared state of the graph, so that somebody
 * carries it. */
rill_status scan_may_inline(const struct graph *g, const struct node *n, bool *ret,
                            rill_error *reterr);

/* States go in and come out as the Scan's inputs and outputs do, so who owns them does not change.
 * Bit-preserving. ret may not be g; what is made lives in a. */
rill_status graph_with_scans_inlined(struct graph *ret, const struct graph *g, struct arena *a,
                                     rill_error *reterr);
#endif
