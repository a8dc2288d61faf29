/* SPDX-License-Identifier: MIT */
/* plan_internal.h - what rill_plan and rill_stream share. */
#ifndef RILL_LIB_PLAN_INTERNAL_H
#define RILL_LIB_PLAN_INTERNAL_H
#include "lib/elements.h"
#include "lib/model.h"
#include "lib/pool.h"
#include "engine/plan/plan.h"
#include "engine/rewrite/pass.h"
#include "pulse/pulsify.h"

#include <stdatomic.h>

/* One port as the stream sees it: a frame is `outer` pieces of `inner` elements, and the frames of
 * a pulse lie side by side in each piece. */
struct port {
    rill_port info;
    rill_shape shape;
    struct place at;
    size_t outer;         /* pieces of a frame */
    size_t inner;         /* elements of one piece */
    size_t inner_bytes;   /* of them */
    element_take *take;   /* inputs */
    size_t bytes;         /* of a pulse */
    int64_t pulse, delay; /* frames per run; frames to drop at the start */
    const struct dim
        *length;  /* whole-sequence frames in the stream symbol; NULL: one frame a run, for ever */
    int64_t step; /* inputs: frames per unit of the stream symbol */
    int64_t
        ahead; /* inputs: frames past a pulse that may wait, of one that is longer than others */
    size_t ahead_offset; /* of them, in what a stream keeps so */
    uint32_t *held_by;   /* inputs: the outputs that lie where their next frames go */
    uint32_t n_held_by;
};

struct rill_plan {
    atomic_uint refs;
    rill_model *model;                        /* owns the constants */
    struct arena arena;                       /* of the graphs below, and lists */
    struct pgraph pgraph;                     /* of a compiled plan: without its graph */
    const char **input_names, **output_names; /* of the pulsed graph, as the file calls them */
    struct sgraph settled;                    /* what is planned */
    struct pass_log passes;
    struct plan *plan;
    const struct dim *symbol; /* counts input frames; NULL: a graph without time, one run is all */
    struct port *ports;       /* inputs first */
    uint32_t n_inputs, n_ports;
    bool takes_frames; /* an input runs along time */
    rill_plan **parts; /* of the networks beside the pipeline */
    uint32_t n_parts;
    rill_pool *pool;  /* NULL: none */
    uint32_t threads; /* of it, that share a step at most; 0: all */
    uint32_t profile;
    uint32_t asked_frames; /* the pulse that was asked for; the one taken is not less */
    size_t clock_offset;   /* where the plan reads the clock, if the graph has one */
    size_t ahead_bytes;    /* of the header: frames that wait past a pulse */
    size_t header_bytes,
        profile_bytes; /* of a stream block: header, then profile, then the plan's memory */
};

/* rill_plan_new; engine: what else is asked of the engine, beside what opts says. */
rill_status plan_new_as(rill_plan **ret, const rill_model *m, const rill_plan_opts *opts,
                        const struct plan_opts *engine, rill_error *reterr);
#endif
