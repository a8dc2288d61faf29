/* SPDX-License-Identifier: MIT */
/* model.h - an open model: its graphs and what model.conf says about it. Made by who opens (open.c,
 * part.c); plans are made of it. */
#ifndef RILL_LIB_MODEL_H
#define RILL_LIB_MODEL_H
#include "engine/base/lock.h"
#include "engine/rewrite/pass.h"
#include "models/conf.h"
#include "models/open_net.h"

#include <stdatomic.h>

/* The file of a network that runs beside the pipeline. */
struct part_file {
    const char *name; /* NULL: there is none */
    const uint8_t *data;
    size_t n;
    rill_model *part; /* what it says; NULL: not opened */
};

struct model_port {
    rill_port_kind kind;
    uint32_t rate;        /* Hz of an input's time axis, 0: not declared */
    uint32_t late_frames; /* of an output: what the graph does not show of its lateness */
    /* how an output is read; strings NULL or the model's. All zero: not by a sink */
    rill_sink_opts sink;
    struct part_file decoder,
        joiner; /* of a transducer; sink.decoder and sink.joiner are NULL here */
    struct rill_attention attention; /* of an attention decoder; sink.nets is NULL here */
};

/* The model after a transform. */
struct transformed_model {
    const char *spec; /* "" for what pairs of symbols made */
    const char *note; /* what people should know; NULL: nothing */
    struct mgraph mgraph;
    struct tgraph typed; /* where is_typed; some graphs are fit for it only later */
    bool is_typed;
    const char *why; /* it is not typed */
};

struct planfile;
struct late_node;

struct pipeline;

/* What goes with a graph that is not finished: pipeline.c has it, and programs whose models are all
 * compiled are linked without it. */
struct model_stages {
    rill_status (*plan)(struct pipeline *w); /* makes those behind the decluttered graph */
    struct late_node *(*late_free)(struct late_node *l);
    uint64_t (*late_weights)(const rill_model *m); /* of plans that are made as data comes */
};

struct rill_model {
    atomic_uint refs;      /* plans hold one each */
    struct lock *planning; /* making a plan interns dimensions in dims; running one does not */
    struct arena arena;
    struct dims *dims;
    struct mgraph mgraph; /* as it was read */
    struct tgraph typed;
    struct dgraph decluttered; /* what is pulsed */
    struct pass_log passes;
    struct transformed_model *transforms; /* none unless something was to be done to the model */
    unsigned n_transforms;
    uint32_t pulse;         /* frames of plans that do not say; 0: as few as possible */
    uint32_t budget_ms;     /* of plans that do not say; 0: as for any model */
    int64_t reserve_frames; /* of states that grow; 0: none does */
    uint32_t threads;       /* that share a step of plans that have a pool and do not say; 0: all */
    uint32_t latency_ms;    /* how late their outputs may be, the pulse with it; 0: not said */
    uint32_t latency_frames; /* the same in input frames, of models that state no rate */
    enum recurrent_weights recurrent;
    uint32_t first_pulse;     /* frames, or as models/conf.h says */
    uint64_t set_as_read;     /* bit i: pair i of opts.set was taken as the file was read */
    const struct dim *stream; /* the symbol that counts input frames; NULL: a graph without time */
    const struct dim *batch;  /* one that counts the batch and was taken as 1; NULL: none was */
    const struct dim *batch_of_windows;  /* one that was 1 as windows were cut; NULL: none was */
    struct mgraph batched;               /* where one was: what was typed */
    struct model_port *inputs, *outputs; /* one per graph input and output; NULL: all tensors */
    rill_model_info info;
    struct late_node *late; /* what graphs whose sizes data decides run; NULL: there are none */
    const struct model_stages *stages; /* NULL: it is compiled */
    struct planfile *compiled; /* what the graphs above would have become: they are empty then;
                                  NULL: they are not */
    uint32_t n_compiled_inputs, n_compiled_outputs; /* in inputs and outputs */
    /* first of the networks beside the pipeline, which are this one's; NULL: none */
    rill_model *part;
    rill_model *next_part;      /* of the model that has this one as a part */
    struct open_net *open_nets; /* first of those that run in sinks, which are this one's */
};

/* An empty model with one reference; NULL: out of memory. */
rill_model *model_new(void);

/* The plan of a network beside the pipeline, made with p and as old as p; NULL: it is none of p's
 * model. */
const rill_plan *plan_of_part(const rill_plan *p, const rill_model *part);

/* rill_model_free gives a reference back; the last one frees. */
rill_model *model_ref(const rill_model *m);
#endif
