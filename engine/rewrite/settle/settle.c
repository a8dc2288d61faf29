/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/settle/settle.h"
#include "engine/graph/bodies.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/settle/inline_scan.h"
#include "engine/rewrite/settle/passes.h"

static const struct pass settle_passes[] = {
    { "fold-constants", true, graph_with_constants_folded },
    { "byte-sums", true, graph_with_byte_sums },
    { "narrow-products", true, graph_with_narrow_products },
    { "byte-tables", true, graph_with_byte_tables },
    { "channels-last", true, graph_with_channels_last },
    { "channels-last-floats", true, graph_with_floats_channels_last },
    { "rounded-pairs", true, graph_with_pairs_rounded },
    { "fuse-siblings", true, graph_with_siblings_fused },
    { "slice-dilations", true, graph_with_dilations_sliced },
    { "strided-copies", true, graph_with_strided_copies },
    { "rounded-copies", true, graph_with_copies_rounded },
    { "steady-states", true, graph_with_steady_states },
    { "float-sums", true, graph_with_float_sums },
    { "batch-norms", true, graph_with_batch_norms },
    { "prelus", true, graph_with_prelus },
    { "fuse-epilogues", true, graph_with_epilogues_fused },
    { "fuse-elements", true, graph_with_elements_fused },
};

rill_status graph_settle(struct graph *ret, const struct graph *g, struct pass_log *log,
                         rill_error *reterr)
{
    return passes_run(settle_passes, sizeof settle_passes / sizeof *settle_passes, ret, g, log,
                      reterr);
}

rill_status sgraph_from_pgraph(struct sgraph *ret, const struct pgraph *p, struct pass_log *log,
                               struct arena *a, rill_error *reterr)
{
    struct graph inlined, pruned, fused;
    TRY(graph_check_bodies(&p->g, p->symbol, NULL, reterr));
    TRY(graph_with_scans_inlined(&inlined, &p->g, a, reterr));
    TRY(graph_pruned(&pruned, &inlined, reterr));
    TRY(graph_check_bodies(&pruned, p->symbol, NULL, reterr));
    TRY(graph_with_layers_fused(&fused, &pruned, reterr));
    return graph_settle(&ret->g, &fused, log, reterr);
}
