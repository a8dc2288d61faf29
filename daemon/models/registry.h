/* SPDX-License-Identifier: MIT */
/* registry.h - models by name. A name is [a-z0-9._-]{1,64} that does not begin with a dot: a
 * built-in model, or a folder or compiled plan (*.rill) of that name directly in one of the
 * model_path folders. Loading runs on threads of its own; everything else, and every callback, on
 * the loop thread. */
#ifndef RILL_DAEMON_MODELS_REGISTRY_H
#define RILL_DAEMON_MODELS_REGISTRY_H

#include "daemon/base/conf.h"
#include "daemon/base/cost.h"
#include "daemon/models/folders.h"
#include "daemon/base/hist.h"
#include "daemon/compute/lane.h"
#include "daemon/base/memory.h"

#include <uv.h>

enum model_state { MODEL_KNOWN, MODEL_LOADING, MODEL_READY, MODEL_FAILED };

/* What streams of the model did; `period` starts again with every summary line. */
struct model_stats {
    uint64_t streams_opened, audio_us, compute_us, pulses, misses;
    uint64_t runs_batch; /* batch sizes, summed over the runs of each stream */
    uint64_t runs;
    uint32_t streams;
    double rtf_max;
    struct hist compute, queue;
};

/* Statistics of a name, which all its versions share. */
struct model_totals {
    unsigned refs;
    struct model_stats stats, period;
};

struct model;
typedef void model_loaded(void *arg, struct model *m); /* READY or FAILED */

struct model_waiter {
    model_loaded *done;
    void *arg;
    struct model_waiter *next;
};

struct model {
    char name[65];
    enum model_state state;
    unsigned refs;
    struct model *next; /* in the registry */
    struct model_waiter *waiters;
    struct lane_model lane;
    rill_plan_info plan_info;
    rill_model_info info; /* texts are copied */
    char task[32], licence[64], summary[256], sha256[65];
    rill_error error;
    float rtf;      /* cost.price: the estimate for a live stream's compute */
    float rtf_wall; /* the same in wall time, as the probe found it */
    struct cost cost;
    struct model_totals *totals;
    struct model_stats *stats, *period; /* of totals */
    uint64_t begun_us, load_us; /* when loading began (of two versions the one that began later
                                   stays); how long it took */
    uint64_t used_us;           /* when it was last requested or in use */
    uint64_t failed_us;
    uint32_t failures; /* in a row */
    bool is_transient; /* it failed for want of descriptors, processes or memory */
    bool missing;      /* it failed because there is none of that name */
    bool seen;         /* by the last registry_refresh */
    bool replaces;     /* it replaces the version in the registry once it is ready */
    struct model_waiter *free_waiters; /* called when the last reference goes */
    struct registry *root;
    struct owner *owner;  /* the account that it is charged to; NULL: none */
    size_t counted_bytes; /* charged to the owner */
    size_t load_bytes;    /* what loading needs, where the default was too little; else 0 */
};

struct log;

struct registry {
    uv_loop_t *loop;
    const struct conf *conf;
    const struct log *log; /* NULL: none */
    bool is_truncated;     /* the last refresh found more models than the list holds */
    struct model *models;
    struct registry *
        root; /* the daemon's registry, which outlives all models; the others are made by reloads */
    struct memory *memory; /* root only */
    rill_pool *pool;  /* root only: shares pulses that one thread would compute late; NULL: none */
    bool freed;       /* root only: a plan was freed, so memory is worth trimming */
    double pulse_ns;  /* root only: the least overhead of a pulse beside its model */
    unsigned n_loads; /* root only: loads that run; `queue`: those that wait */
    struct load_job *queue;
    atomic_bool stop; /* root only: checks are cancelled */
    uint64_t next_check_us;
    uv_work_t trim_work;
    bool trimming;
};

void registry_init(struct registry *r, uv_loop_t *loop, const struct conf *conf);
void registry_clear(struct registry *r); /* streams keep their references */

/* The model with one more reference, or NULL and a message: errno is ENOENT if there is none of
 * that name, ENOSPC if the list is full of models in use, ENOMEM, or why a folder cannot be
 * searched. Reads the folders. */
struct model *registry_get(struct registry *r, const char *name, char why[FOLDERS_WHY_BYTES]);

/* Reads the folders for a list of models; unused entries whose model is gone are removed. Entries
 * that are only listed make room for models that are requested; where there are more models than
 * the list holds, it is truncated and the log says so. */
void registry_refresh(struct registry *r);

/* Removes entries that are only listed, and unused ones whose model is gone. */
void registry_prune(struct registry *r);

/* Loads it if need be; done is called now or later. False without memory. What failed a moment ago
 * is only tried again if `afresh`, or if it failed for a transient reason. Its memory is charged to
 * `by`; NULL: to the daemon itself. */
bool registry_load(struct registry *r, struct model *m, struct owner *by, bool afresh,
                   model_loaded *done, void *arg);

/* Loads the present version of m beside it and replaces m by it: new streams get the new version,
 * those that run keep theirs. If it fails, m stays. done gets the new version with a reference.
 * False without memory. */
bool registry_reload_model(struct registry *r, const struct model *m, model_loaded *done,
                           void *arg);

/* The next stream loads it anew; its memory is freed with the last stream that uses it. False: it
 * is not in the registry, or there is no memory. */
bool registry_unload(struct registry *r, struct model *m);

/* Sets the estimate of m from a probe, in shares of a processor. */
void registry_set_price(const struct registry *r, struct model *m, float rtf, float wall);

/* Calls done when the last reference to m goes, just before it is freed. False without memory. */
bool registry_on_freed(struct model *m, model_loaded *done, void *arg);

/* Replaces the version in the registry by m, which shares its statistics from then on. No effect if
 * that version's loading began later. */
void registry_replace(struct registry *r, struct model *m);

bool registry_has(const struct registry *r, const char *name);
/* removes one from the registry and returns it with its reference; NULL: there is none */
struct model *registry_take_first(struct registry *r);

/* Once a tick: unloads models without streams for longer than keep_alive_s. */
void registry_tick(struct registry *r, uint64_t now_us);

/* Cancels a callback with that argument that was not called yet. */
void registry_forget(struct model *m, const void *arg);
struct model *registry_ref(struct model *m);
struct model *registry_unref(struct model *m); /* takes NULL too; returns NULL */

bool model_is_listed(const char *names, const char *name); /* in a list with spaces between */
/* Calls each for each name of such a list; false at the first that fails. */
bool model_names_each(const char *names, bool (*each)(void *arg, const char *name), void *arg);

const char *model_state_name(enum model_state s);

/* --- registry_memory.c --- */

/* Charges a model to the account that had it loaded: kept_bytes, or its weights if they are more.
 */
void registry_charge(struct model *m, struct owner *o, size_t kept_bytes);
void registry_uncharge(struct model *m);

/* Makes `to`, which has been charged already, the owner of m, and gives its last owner the charge
 * back. */
void registry_transfer(struct model *m, struct owner *to);

/* --- registry_evict.c --- */

/* Memory of models without streams that a client had loaded and that are not in preload;
 * *ret_own_bytes: of it, what is charged to o. */
size_t registry_evictable_bytes(const struct registry *r, const struct owner *o,
                                size_t *ret_own_bytes);

/* Unloads one such model, the least recently used: one of o if there is any. False: there is none.
 */
bool registry_evict(struct registry *r, const struct owner *o);

#endif
