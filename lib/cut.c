/* SPDX-License-Identifier: MIT */
#include "lib/cut.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/settle/inline_scan.h"
#include "engine/typing/typed.h"
#include "pulse/pulsify.h"

rill_status graph_cut_to_frames(struct pgraph *ret, const struct mgraph *m,
                                const struct dim *symbol, struct arena *a, rill_error *reterr)
{
    struct tgraph t;
    struct dgraph d;
    struct graph inlined;
    TRY(tgraph_from_mgraph(&t, m, NULL, reterr));
    TRY(dgraph_from_tgraph(&d, &t, NULL, reterr));
    TRY(pgraph_from_dgraph(ret, &d, symbol, 1, NULL, a, reterr));
    /* States of Scans along time are those of the graph now; inside of a body nobody could tell. */
    TRY(graph_with_scans_inlined(&inlined, &ret->g, a, reterr));
    return graph_pruned(&ret->g, &inlined, reterr);
}
