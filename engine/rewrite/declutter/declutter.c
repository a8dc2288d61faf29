/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/slide.h"
#include "engine/typing/outputs.h"

static const struct pass declutter_passes[] = {
    { "peepholes", true, graph_with_peepholes },
    { "loops", true, graph_with_loops_scanned },
    { "writes", true, graph_with_writes_scanned },
    { "frames-put", true, graph_with_frames_put },
    { "last-frames", true, graph_with_last_frames_padded },
    { "ends", true, graph_with_ends_chosen },
    { "softmax-of-logs", false, graph_with_softmax_of_logs },
    { "triangles", true, graph_with_triangles_chosen },
    { "stacks", true, graph_with_stacks_joined },
    { "resizes", false, graph_with_resizes_recognised },
    { "nearest", false, graph_with_nearest_recognised },
    { "rows-apart", false, graph_with_rows_apart },
    { "batches-apart", true, graph_with_batches_apart },
    { "fold-norms", false, graph_with_norms_folded },
    { "dfts", false, graph_with_dfts_recognised },
    { "absorb-pads", false, graph_with_pads_absorbed },
    { "integer-moves", true, graph_with_integers_moved },
    { "integer-forms", false, graph_with_integer_forms },
    { "integer-products", false, graph_with_integer_products },
    { "early-cuts", true, graph_with_early_cuts },
    { "joined-queries", false, graph_with_queries_apart },
    { "joined-keys", false, graph_with_keys_apart },
    { "layer-norms", false, graph_with_norms_recognised },
    { "softplus", false, graph_with_softplus_in_parts },
    { "cells", false, graph_with_cells_recognised },
    { "slide", true, graph_with_windows_slid },
    { "hoist", true, graph_with_scans_hoisted },
    { "byte-cells", false, graph_with_byte_cells },
    { "winograd", false, graph_with_winograd },
};

rill_status graph_declutter(struct graph *ret, const struct graph *g, struct pass_log *log,
                            rill_error *reterr)
{
    return passes_run(declutter_passes, sizeof declutter_passes / sizeof *declutter_passes, ret, g,
                      log, reterr);
}

rill_status graph_slides(const struct graph *g, struct slide_report **ret, rill_error *reterr)
{
    struct graph before, after;
    size_t n = 0;
    while (declutter_passes[n].run != graph_with_windows_slid)
        n++;
    TRY(passes_run(declutter_passes, n, &before, g, NULL, reterr));
    return graph_windows_slid(&after, &before, ret, reterr);
}

rill_status dgraph_from_tgraph(struct dgraph *ret, const struct tgraph *t, struct pass_log *log,
                               rill_error *reterr)
{
    TRY(graph_declutter(&ret->g, &t->g, log, reterr));
    return graph_outputs_own(&ret->g, &t->g, reterr);
}
