/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/pass.h"
#include "engine/graph/prune.h"

void pass_log_add(struct pass_log *log, const char *name, bool keeps_bits, const struct graph *made)
{
    if (!log || log->n == PASSES_MAX)
        return;
    log->at[log->n].name = name;
    log->at[log->n].keeps_bits = keeps_bits;
    log->at[log->n++].nodes = graph_count_nodes(made);
}

static rill_status pass_run(const struct pass *p, struct graph *ret, const struct graph *g,
                            rill_error *reterr)
{
    struct graph made;
    TRY(p->run(&made, g, reterr));
    for (uint32_t i = 0; i < made.n_nodes; i++) {
        struct node *n = &made.nodes[i];
        struct graph **body = n->n_body ? arena_array(g->arena, struct graph *, n->n_body) : NULL;
        for (unsigned b = 0; b < n->n_body; b++) {
            if (!body || !(body[b] = arena_new(g->arena, struct graph)))
                return err_set(reterr, RILL_NOMEM, "out of memory");
            TRY(pass_run(p, body[b], n->body[b], reterr));
        }
        n->body = body;
    }
    *ret = made;
    return RILL_OK;
}

rill_status passes_run(const struct pass *list, size_t n, struct graph *ret, const struct graph *g,
                       struct pass_log *log, rill_error *reterr)
{
    struct graph now = *g;
    for (size_t i = 0; i < n; i++) {
        struct graph made;
        TRY(pass_run(&list[i], &made, &now, reterr));
        TRY(graph_pruned(&now, &made, reterr));
        pass_log_add(log, list[i].name, list[i].keeps_bits, &now);
    }
    *ret = now;
    return RILL_OK;
}
