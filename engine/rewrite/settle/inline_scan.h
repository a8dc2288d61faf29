/* SPDX-License-Identifier: MIT */
/* inline_scan.h - the same graph with its Scans of one iteration replaced by their bodies; those
 * that stay are not looked into. */
#ifndef RILL_ENGINE_REWRITE_SETTLE_INLINE_SCAN_H
#define RILL_ENGINE_REWRITE_SETTLE_INLINE_SCAN_H
#include "engine/graph/op.h"

/* States go in and come out as the Scan's inputs and outputs do, so who owns them does not change.
 * Bit-preserving. ret may not be g; what is made lives in a. */
rill_status graph_with_scans_inlined(struct graph *ret, const struct graph *g, struct arena *a,
                                     rill_error *reterr);
#endif
