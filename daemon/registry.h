/* SPDX-License-Identifier: MIT */
/* registry.h - models by name. A name is [a-z0-9._-]{1,64} that does not begin with a dot: a built-in
 * model, or a folder or compiled plan (*.rill) of that name directly in one of the model_path folders. Loading happens on
 * libuv's pool; everything else, and every callback, on the loop thread. */
#ifndef RILLD_REGISTRY_H
#define RILLD_REGISTRY_H

#include "daemon/conf.h"
#include "daemon/hist.h"
#include "daemon/lane.h"

#include <uv.h>

enum model_state { MODEL_KNOWN, MODEL_LOADING, MODEL_READY, MODEL_FAILED };

/* What streams of the model did; `period` starts again with every summary line. */
struct model_stats {
    uint64_t streams_opened, audio_us, compute_us, pulses, misses;
    uint64_t runs_batch;            /* streams that ran together, summed over runs of each stream */
    uint64_t runs;
    uint32_t streams;
    double rtf_max;
    struct hist compute, queue;
};

struct model;
typedef void model_loaded(void *arg, struct model *m);      /* READY or FAILED */

struct model_wait {
    model_loaded *done;
    void *arg;
    struct model_wait *next;
};

struct model {
    char name[65];
    enum model_state state;
    unsigned refs;
    struct model *next;             /* in the registry */
    struct model_wait *waits;
    struct lane_model lane;
    rill_plan_info plan_info;
    rill_model_info info;           /* texts are copied */
    char task[32], licence[64], summary[256], sha256[65];
    rill_error error;
    float rtf;                      /* measured at load, p95 */
    uint64_t load_began_us, load_us;        /* load_us: how long the last load took */
    struct model_stats stats, period;
};

struct registry {
    uv_loop_t *loop;
    const struct conf *conf;
    struct model *models;
};

void registry_init(struct registry *r, uv_loop_t *loop, const struct conf *conf);
void registry_clear(struct registry *r);            /* streams keep the models that they hold */

/* The model with one more reference, or NULL if there is none of that name. Reads the folders. */
struct model *registry_get(struct registry *r, const char *name);

/* Looks what there is; for lists. */
void registry_scan(struct registry *r);

/* Loads it if need be; done is called now or later. False without memory. */
bool registry_load(struct registry *r, struct model *m, model_loaded *done, void *arg);

/* Forgets a callback that was not called yet. */
void registry_forget(struct model *m, model_loaded *done, void *arg);
struct model *registry_ref(struct model *m);
struct model *registry_unref(struct model *m);         /* takes NULL too; returns NULL */
void registry_drop(struct registry *r, struct model *m);    /* the next get loads afresh */

bool model_name_valid(const char *name);
const char *model_state_name(enum model_state s);

#endif
