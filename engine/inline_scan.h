/* SPDX-License-Identifier: MIT */
/* inline_scan.h - the same graph with every Scan of one iteration replaced by its body. */
#ifndef ENGINE_INLINE_SCAN_H
#define ENGINE_INLINE_SCAN_H
#include "engine/graph.h"

/* States go in and come out as the Scan's inputs and outputs do, so who owns them does not change.
 * Bit-preserving. ret may not be g; what is made lives in a. */
rill_status graph_with_scans_inlined(struct graph *ret, const struct graph *g, struct arena *a, rill_error *reterr);
#endif
