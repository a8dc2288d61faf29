/* SPDX-License-Identifier: MIT */
/* model.h - an open model: its typed graph and what model.conf says about it. Made in models, read by pulse. */
#ifndef ENGINE_MODEL_H
#define ENGINE_MODEL_H
#include "engine/graph.h"

#include <pthread.h>
#include <stdatomic.h>

struct model_port {
    rill_port_kind kind;
    uint32_t rate;              /* Hz of an input's time axis, 0: not declared */
};

struct rill_model {
    atomic_uint refs;           /* plans hold one each */
    pthread_mutex_t planning;   /* making a plan interns dimensions in dims; running one does not */
    struct arena arena;
    struct dims *dims;
    struct mgraph file;         /* as it was read, for people */
    struct tgraph graph;
    const struct dim *stream;           /* the symbol that counts input frames; NULL: a graph without time */
    struct model_port *inputs, *outputs;    /* one per graph input and output; NULL: all tensors */
    rill_model_info info;
};

/* An empty model with one reference; NULL: out of memory. */
rill_model *model_new(void);

/* rill_model_free gives a reference back; the last one frees. */
rill_model *model_ref(const rill_model *m);
#endif
