/* SPDX-License-Identifier: MIT */
/* pipeline.h - from bytes to a plan, each stage made from the one before. Opening a model goes as
 * far as the decluttered graph, making a plan goes on from there; a compiled file has the settled
 * graph. */
#ifndef RILL_LIB_PIPELINE_H
#define RILL_LIB_PIPELINE_H
#include "lib/plan_internal.h"

enum stage {
    STAGE_BYTES,
    STAGE_MODEL,
    STAGE_TYPED,
    STAGE_DECLUTTERED,
    STAGE_PULSED,
    STAGE_SETTLED,
    STAGE_PLAN,
    N_STAGES
};

/* As design.md and `rill inspect --pass` call it. */
const char *stage_name(enum stage s);

struct pipeline {
    rill_model *model; /* has the stages up to the decluttered graph */
    rill_plan *plan;   /* of model, has those behind; NULL where none of them is made */
    /* Reads the file into model->mgraph; types it, with what the caller wants changed, into
     * model->typed. NULL where `have` is behind them. */
    rill_status (*mgraph_from_bytes)(void *opener);
    rill_status (*tgraph_from_mgraph)(void *opener);
    void *opener;
    uint32_t pulse_frames, budget_ms; /* 0: as the model says */
    struct pulse_opts pulse_opts;
    struct plan_opts plan_opts;
    rill_error *err;
};

/* Of models whose graphs were made otherwise than by pipeline_run, which sets it. */
extern const struct model_stages model_unfinished;

/* Makes the stages behind `have`, up to `wanted`. */
rill_status pipeline_run(struct pipeline *w, enum stage have, enum stage wanted);
#endif
