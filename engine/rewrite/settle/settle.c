/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/settle/settle.h"
#include "engine/rewrite/settle/passes.h"

static const struct pass settle_passes[] = {
    { "join-twins", true, graph_with_twins_joined },
    { "pick-rows", true, graph_with_rows_picked },
    { "moves", true, graph_with_moves },
    { "join-stages", true, graph_with_stages_joined },
    { "chains", true, graph_with_chains },
};

rill_status graph_settle(struct graph *ret, const struct graph *g, struct pass_log *log,
                         rill_error *reterr)
{
    return passes_run(settle_passes, sizeof settle_passes / sizeof *settle_passes, ret, g, log,
                      reterr);
}
