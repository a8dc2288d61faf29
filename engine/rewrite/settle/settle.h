/* SPDX-License-Identifier: MIT */
/* settle.h - passes over the pulsed graph of known sizes, just before the plan: every one keeps
 * bits. */
#ifndef RILL_ENGINE_REWRITE_SETTLE_SETTLE_H
#define RILL_ENGINE_REWRITE_SETTLE_SETTLE_H
#include "engine/graph/pulsed.h"
#include "engine/rewrite/pass.h"

/* Inlines Scans of one iteration, drops what nobody needs, fuses layers and settles. What is made
 * lives in a and in p's arena. Bodies that drift are INTERNAL. log (may be NULL) is added to. */
rill_status sgraph_from_pgraph(struct sgraph *ret, const struct pgraph *p, struct pass_log *log,
                               struct arena *a, rill_error *reterr);

/* The table of settle.c alone. What is made lives in g's arena; ret may be g. log (may be NULL) is
 * added to. */
rill_status graph_settle(struct graph *ret, const struct graph *g, struct pass_log *log,
                         rill_error *reterr);
#endif
