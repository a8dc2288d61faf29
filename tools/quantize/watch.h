/* SPDX-License-Identifier: MIT */
/* watch.h - nets are run, and what their layers lose is added up.
 *
 * A layer is measured by itself: what it gives with small weights (and activations) for the numbers
 * that the f32 net puts into it, against what it gives with its own. */
#ifndef RILL_TOOLS_QUANTIZE_WATCH_H
#define RILL_TOOLS_QUANTIZE_WATCH_H
#include "check/step_model.h"
#include "engine/typing/interp.h"
#include "models/folder.h"
#include "models/npz.h"
#include "tools/quantize/net.h"

/* ---- what is run ---- */

struct recording {
    const float *x;
    size_t n;
};

/* A pipeline with its recordings, or a bare net with arrays or noise. */
struct source {
    const struct folder *folder;  /* of the pipeline, or NULL */
    const struct step_decl *bare; /* what is declared of a bare net */
    const struct recording *list; /* pieces of recordings for the pipeline */
    size_t n_list;
    const struct npz *given; /* arrays of inputs of a bare net; NULL: noise */
    unsigned n_steps;        /* of noise */
    float noise;             /* root mean square of it */
};

/* Normal numbers of variance 1, the same from the same seed. */
float noise_next(uint64_t *seed);

/* A net's file, and what takes its place. */
struct net_file {
    const char *name;
    const uint8_t *data;
    size_t n;
};

/* Outputs of a model, one piece behind the other. */
struct run_output {
    const char *name; /* of the model's arena */
    float *v;
    size_t n, cap;
};

#define RUN_OUTPUTS_MAX 64
struct run {
    struct arena arena;
    struct dims *dims;
    struct tgraph model;
    struct run_output output[RUN_OUTPUTS_MAX];
    unsigned n_outputs;
    unsigned n_given; /* steps of arrays; 0: there are none */
};

/* Opens the model with these nets. Drop it with run_drop, also where it fails. */
rill_status run_open(struct run *r, const struct source *s, const struct net_file *nets,
                     unsigned n_nets, rill_error *reterr);
/* All of the source; outputs are kept, those of the run before dropped. watch may be NULL. */
rill_status run_all(struct run *r, const struct source *s, const struct interp_watch *watch,
                    rill_error *reterr);
void run_drop(struct run *r);

/* What output i of b lost against a's. */
struct loss run_loss(const struct run *a, const struct run *b, unsigned i);

/* ---- what is measured ---- */

enum watch_stage { WATCH_RANGES, WATCH_LOSSES };

struct layer_watch {
    struct net *const *nets;
    unsigned n_nets;
    enum watch_stage stage;
    enum quantize_mode mode;
    struct dims *dims; /* of the run */
    struct kern kern;
    struct arena scratch;
    rill_error *err;
};

/* Notes what arrives at layers of weights that are moved, in a graph made of nets that
 * net_pack_moved wrote; the graph outlives them. */
void layers_put_in(struct net *const *nets, unsigned n_nets, const struct graph *g);

/* see of an interp_watch, whose arg is a layer_watch. Nets were packed with marks. */
rill_status layer_see(void *arg, const struct node *n, const struct tensor *const *in,
                      const struct tensor *const *out);
#endif
