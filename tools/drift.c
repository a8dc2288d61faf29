/* SPDX-License-Identifier: MIT */
#include "tools/drift.h"
#include "engine/graph/bodies.h"
#include "engine/graph/control.h"
#include "engine/rewrite/settle/inline_scan.h"
#include "lib/model.h"
#include "engine/plan/plan.h"
#include "engine/graph/prune.h"
#include "pulse/pulsify.h"

#include <stdio.h>

struct passes {
    rill_model *model;
    struct arena arena;
    bool drifts;
    rill_error *err;
};

static void body_print(void *self, const struct body_report *r)
{
    char iterations[100] = "?";
    (void) self;
    printf("  %*s%s (%s): ", (int) r->depth * 2, "", r->node->name, r->node->op->name);
    if (r->iterations)
        dim_print(r->iterations, iterations, sizeof iterations);
    if (r->node->op == &op_if)
        printf("%u captures", r->n_captures);
    else
        printf("%u states, %u scanned, %u captures, %s iterations", r->n_states, r->n_scanned,
               r->n_captures, iterations);
    if (!r->n_drifts)
        printf(": facts ok\n");
    else if (r->n_drifts == r->n_shown)
        printf(": drift: %s\n", r->drift);
    else
        printf(": drift: %s (and %u more)\n", r->drift, r->n_drifts - r->n_shown);
}

/* fixed: the symbol that has got a number. */
static rill_status pass_print(struct passes *p, const char *name, const struct graph *g,
                              const struct dim *fixed)
{
    struct body_reports r = { .each = body_print };
    printf("%s\n", name);
    TRY(graph_check_bodies(g, fixed, &r, p->err));
    printf("%s: %u Scans, %u drifting", name, r.n_scans, r.n_drifting);
    if (r.n_others)
        printf(" (with %u Loops and Ifs)", r.n_others);
    putchar('\n');
    p->drifts |= r.n_drifting > 0;
    return RILL_OK;
}

static rill_status passes_print(struct passes *p, int64_t pulse, const struct pulse_opts *opts)
{
    const struct dim *s = p->model->stream;
    struct pgraph pg;
    struct graph inlined, pruned;
    struct plan *plan;
    TRY(pass_print(p, "load", &p->model->file.g, NULL));
    TRY(pass_print(p, "typed", &p->model->decluttered.g, NULL));
    TRY(pass_print(p, "declutter", &p->model->decluttered.g, NULL));
    TRY(pgraph_from_dgraph(&pg, &p->model->decluttered, s, pulse, opts, &p->arena, p->err));
    TRY(pass_print(p, "pulse", &pg.g, s));
    TRY(graph_with_scans_inlined(&inlined, &pg.g, &p->arena, p->err));
    TRY(graph_pruned(&pruned, &inlined, p->err));
    TRY(pass_print(p, "pulse-declutter", &pruned, s));
    if (p->drifts)
        return RILL_OK; /* planning refuses what drifts */
    TRY(plan_from_graph(&plan, &pruned, NULL, p->err));
    rill_status status = pass_print(p, "plan", &pruned, s);
    plan_free(plan);
    return status;
}

int drift_print(const struct command *cmd, rill_model *m, int64_t pulse, bool keep_bodies)
{
    rill_error err;
    struct passes p = { .model = m, .err = &err };
    const struct pulse_opts opts = { .keep_bodies = keep_bodies };
    pthread_mutex_lock(&m->planning);
    rill_status s = passes_print(&p, pulse, &opts);
    pthread_mutex_unlock(&m->planning);
    arena_drop(&p.arena);
    if (s != RILL_OK)
        return tool_fail_status(cmd, &err);
    return p.drifts ? tool_fail(cmd, TOOL_FAILED, "bodies drift from the wires around them")
                    : TOOL_OK;
}
