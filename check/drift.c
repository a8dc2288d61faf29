/* SPDX-License-Identifier: MIT */
#include "check/drift.h"
#include "engine/graph/bodies.h"
#include "engine/graph/control.h"
#include "lib/pipeline.h"

struct walk {
    FILE *to;
    bool drifts;
    rill_error *err;
};

static void body_print(void *self, const struct body_report *r)
{
    char iterations[100] = "?";
    FILE *to = self;
    fprintf(to, "  %*s%s (%s): ", (int) r->depth * 2, "", r->node->name, r->node->op->name);
    if (r->iterations)
        dim_print(r->iterations, iterations, sizeof iterations);
    if (r->node->op == &op_if)
        fprintf(to, "%u captures", r->n_captures);
    else
        fprintf(to, "%u states, %u scanned, %u captures, %s iterations", r->n_states, r->n_scanned,
                r->n_captures, iterations);
    if (!r->n_drifts)
        fprintf(to, ": facts ok\n");
    else if (r->n_drifts == r->n_shown)
        fprintf(to, ": drift: %s\n", r->drift);
    else
        fprintf(to, ": drift: %s (and %u more)\n", r->drift, r->n_drifts - r->n_shown);
}

/* fixed: the symbol that has got a number. */
static rill_status stage_print(struct walk *w, enum stage s, const struct graph *g,
                               const struct dim *fixed)
{
    struct body_reports r = { .each = body_print, .self = w->to };
    const char *name = stage_name(s);
    fprintf(w->to, "%s\n", name);
    TRY(graph_check_bodies(g, fixed, &r, w->err));
    fprintf(w->to, "%s: %u Scans, %u drifting", name, r.n_scans, r.n_drifting);
    if (r.n_others)
        fprintf(w->to, " (with %u Loops and Ifs)", r.n_others);
    putc('\n', w->to);
    w->drifts |= r.n_drifting > 0;
    return RILL_OK;
}

/* A plan that nobody runs, one stage after the other. */
static rill_status plan_walk(struct walk *w, rill_plan *p, const struct drift_opts *o)
{
    const rill_model *m = p->model;
    struct pipeline line = { .model = p->model,
                             .plan = p,
                             .pulse_frames = o->pulse_frames ? o->pulse_frames : 1,
                             .pulse_opts = { .keep_bodies = o->keep_bodies },
                             .plan_opts = { .cpu = kern_cpu_detect() },
                             .err = w->err };
    for (enum stage s = STAGE_PULSED; s <= STAGE_PLAN && !w->drifts; s++) {
        TRY(pipeline_run(&line, s - 1, s));
        TRY(stage_print(w, s, s == STAGE_PULSED ? &p->pgraph.g : &p->settled.g, m->stream));
    }
    return RILL_OK;
}

static rill_status stages_walk(struct walk *w, rill_plan *p, const struct drift_opts *o)
{
    const rill_model *m = p->model;
    TRY(stage_print(w, STAGE_MODEL, &m->mgraph.g, NULL));
    TRY(stage_print(w, STAGE_TYPED, &m->typed.g, NULL));
    TRY(stage_print(w, STAGE_DECLUTTERED, &m->decluttered.g, NULL));
    return plan_walk(w, p, o);
}

rill_status drift_walk(rill_model *m, const struct drift_opts *o, FILE *to, bool *ret_drifts,
                       rill_error *reterr)
{
    struct walk w = { .to = to, .err = reterr };
    rill_plan p = { .model = m };
    lock_take(m->planning);
    rill_status s = stages_walk(&w, &p, o);
    lock_give(m->planning);
    plan_free(p.plan);
    arena_drop(&p.arena);
    *ret_drifts = w.drifts;
    return s;
}
