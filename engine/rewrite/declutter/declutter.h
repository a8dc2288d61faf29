/* SPDX-License-Identifier: MIT */
/* declutter.h - passes over the typed graph, before it is pulsed: whatever may change how a result
 * rounds happens here, chosen from shapes and constants, so that the whole sequence and every pulse
 * see the same graph. */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_DECLUTTER_H
#define RILL_ENGINE_REWRITE_DECLUTTER_DECLUTTER_H
#include "engine/rewrite/pass.h"

/* What is made lives in g's arena; ret may be g. log (may be NULL) is added to. */
rill_status graph_declutter(struct graph *ret, const struct graph *g, struct pass_log *log,
                            rill_error *reterr);
rill_status dgraph_from_tgraph(struct dgraph *ret, const struct tgraph *t, struct pass_log *log,
                               rill_error *reterr);

/* What graph_declutter makes of nets over windows of a stream (slide.h), of a typed graph; NULL:
 * there are none. */
struct slide_report;
rill_status graph_slides(const struct graph *g, struct slide_report **ret, rill_error *reterr);

/* After graph_declutter, where the user asks for it: cells of constant weights, bodies included,
 * whose recurrent weights are beyond RNN_NARROW_BEYOND_BYTES keep weights of 16 bits, unless one of
 * them is not finite or of 65536 and more. Changes results. *ret_count is added to. */
struct narrow_count {
    unsigned wide, narrow;
}; /* cells of that size; those that it was done to */
rill_status graph_with_narrow_cells(struct graph *ret, const struct graph *g,
                                    struct narrow_count *ret_count, struct pass_log *log,
                                    rill_error *reterr);

/* Why a product of dequantised numbers sums no integers: what it lacks first. */
const char *product_stays_real(const struct graph *g, const struct node *n);
#endif
