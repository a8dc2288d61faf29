/* SPDX-License-Identifier: MIT */
/* The stages as calls in a row, as docs/design.md has them. The first two are the opener's, which
 * knows what lies there and what the caller wants changed (open.c). */
#include "lib/pipeline.h"
#include "engine/late/op.h"
#include "engine/ops/rnn.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/settle/settle.h"
#include "lib/choose.h"
#include "lib/port.h"
#include "pulse/counts.h"
#include "pulse/cut_tables.h"
#include "pulse/offset.h"
#include "pulse/position_fold.h"
#include "pulse/running.h"

const char *stage_name(enum stage s)
{
    static const char *const names[N_STAGES] = { "bytes",  "model",   "typed", "decluttered",
                                                 "pulsed", "settled", "plan" };
    return names[s];
}

/* With the recurrent weights that the model says. */
static rill_status model_declutter(rill_model *m, rill_error *err)
{
    static const struct pass sums[] = { { "running-sums", false, graph_with_running_sums },
                                        { "positions-folded", true, graph_with_positions_folded },
                                        { "masks-counted", false, graph_with_masks_counted },
                                        { "choices-made", true, graph_with_choices_made },
                                        { "tables-whole", true, graph_with_tables_whole } };
    struct narrow_count n = { 0 };
    struct dgraph wide;
    TRY(dgraph_from_tgraph(&wide, &m->typed, &m->passes, err));
    TRY(passes_run(sums, sizeof sums / sizeof *sums, &wide.g, &wide.g, &m->passes, err));
    m->decluttered = wide;
    if (m->recurrent != RECURRENT_I16)
        return RILL_OK;
    TRY(graph_with_narrow_cells(&m->decluttered.g, &wide.g, &n, &m->passes, err));
    if (!n.wide)
        return err_set(err, RILL_INVALID,
                       "recurrent_weights i16: the model has no recurrent cell of constant weights "
                       "with more than %zu bytes of recurrent ones; leave it away",
                       (size_t) RNN_NARROW_BEYOND_BYTES);
    return RILL_OK;
}

/* Ports carry as much in every run: what data decides the size of has none. */
static rill_status late_check(const struct graph *g, rill_error *err)
{
    for (uint32_t i = 0; late_of_graph(g) && i < g->n_outputs; i++)
        if (!fact_is_static(&g->wires[g->outputs[i]].fact))
            return err_set(err, RILL_UNSUPPORTED,
                           "output '%.80s': data decides its size, or the file does not declare "
                           "it; streams carry outputs of known size (rill run gives any)",
                           g->wires[g->outputs[i]].name);
    return RILL_OK;
}

/* Frames stand for earlier samples where the network itself is late. */
static void outputs_put_back(rill_plan *p)
{
    const struct model_port *ports = p->model->outputs;
    for (uint32_t i = 0; ports && i < p->model->decluttered.g.n_outputs; i++)
        if (p->pgraph.outputs[i].axis >= 0)
            offset_cut(&p->pgraph.outputs[i], -(int64_t) ports[i].late_frames, 1);
}

/* For the pulse that was asked for, or that is chosen. */
static rill_status plan_pulse(struct pipeline *w)
{
    rill_plan *p = w->plan;
    const rill_model *m = w->model;
    TRY(late_check(&m->decluttered.g, w->err));
    p->symbol = m->stream;
    p->asked_frames = w->pulse_frames ? w->pulse_frames : m->pulse;
    TRY(pgraph_chosen(&p->pgraph, &m->decluttered,
                      &(struct pulse_choice) { .model = m,
                                               .asked_frames = p->asked_frames,
                                               .budget_ms = w->budget_ms,
                                               .opts = &w->pulse_opts },
                      &p->arena, w->err));
    outputs_put_back(p);
    return ports_name(p, w->err);
}

/* The stages of docs/design.md, in its order. */
static rill_status stage_make(struct pipeline *w, enum stage s)
{
    rill_model *m = w->model;
    rill_plan *p = w->plan;
    switch (s) {
    case STAGE_MODEL: return w->mgraph_from_bytes(w->opener);
    case STAGE_TYPED: return w->tgraph_from_mgraph(w->opener);
    case STAGE_DECLUTTERED: return model_declutter(m, w->err);
    case STAGE_PULSED: return plan_pulse(w);
    case STAGE_SETTLED:
        return sgraph_from_pgraph(&p->settled, &p->pgraph, &p->passes, &p->arena, w->err);
    case STAGE_PLAN: return plan_from_sgraph(&p->plan, &p->settled, &w->plan_opts, w->err);
    default: return RILL_OK;
    }
}

/* Whether a stage was built without all its memory: what it made may have gaps, and what it found
 * fault with may be one of them. */
static bool ran_out(const struct pipeline *w)
{
    return w->model->arena.ran_out || (w->plan && w->plan->arena.ran_out);
}

static rill_status stages_make(struct pipeline *w, enum stage have, enum stage wanted)
{
    for (enum stage s = have; s++ < wanted;) {
        const rill_status made = stage_make(w, s);
        if (made != RILL_NOMEM && made != RILL_LIMIT && ran_out(w))
            return err_set(w->err, RILL_NOMEM, "out of memory while the %s stage was built",
                           stage_name(s));
        TRY(made);
    }
    return RILL_OK;
}

/* ---- plans ---- */

static rill_status plan_stages(struct pipeline *w)
{
    return stages_make(w, STAGE_DECLUTTERED, STAGE_PLAN);
}

static uint64_t late_weights(const rill_model *m)
{
    struct late_counts n;
    const struct graph *g = &m->decluttered.g;
    return late_of_graph(g) && late_node_count(&g->nodes[0], &n) ? n.weights_bytes + n.packed_bytes
                                                                 : 0;
}

const struct model_stages model_unfinished = { plan_stages, late_node_free, late_weights };

rill_status pipeline_run(struct pipeline *w, enum stage have, enum stage wanted)
{
    w->model->stages = &model_unfinished;
    return stages_make(w, have, wanted);
}
