/* SPDX-License-Identifier: MIT */
/* registry.h - models by name. A name is [a-z0-9._-]{1,64} that does not begin with a dot: a
 * built-in model, or a folder or compiled plan (*.rill) of that name directly in one of the
 * model_path folders. Loading happens on libuv's pool; everything else, and every callback, on the
 * loop thread. */
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
    uint64_t runs_batch; /* streams that ran together, summed over runs of each stream */
    uint64_t runs;
    uint32_t streams;
    double rtf_max;
    struct hist compute, queue;
};

/* Counters of a name: all its versions count here, so that nothing is lost when one follows
 * another. */
struct model_tally {
    unsigned refs;
    struct model_stats stats, period;
};

struct model;
typedef void model_loaded(void *arg, struct model *m); /* READY or FAILED */

struct model_wait {
    model_loaded *done;
    void *arg;
    struct model_wait *next;
};

struct model {
    char name[65];
    enum model_state state;
    unsigned refs;
    struct model *next; /* in the registry */
    struct model_wait *waits;
    struct lane_model lane;
    rill_plan_info plan_info;
    rill_model_info info; /* texts are copied */
    char task[32], licence[64], summary[256], sha256[65];
    rill_error error;
    float rtf;      /* the price of its live streams' compute: cost.price */
    float rtf_wall; /* the same as it was tried out, contention included */
    struct cost cost;
    struct model_tally *tally;
    struct model_stats *stats, *period; /* of tally */
    uint64_t begun_us,
        load_us; /* when its loading began: of two versions the later one stays; how long it took */
    uint64_t used_us; /* when it was last asked for or seen to be held */
    uint64_t failed_us;
    uint32_t failures; /* since it was last changed or loaded by hand */
    bool passes;       /* it failed for want of what may be there again in a moment */
    bool missing;      /* it failed because there was none of that name */
    bool seen;         /* by the scan that runs, or by the last one */
    bool follows;      /* it takes the place of the version in the registry once it is ready */
    struct model_wait *gone; /* told when the last one lets go of it */
    struct registry *root;
    struct owner *owner;  /* who had it loaded; NULL: nobody */
    size_t counted_bytes; /* of its plans, for the owner */
    size_t load_bytes;    /* what loading it wants, if it was too little; 0: not seen */
};

struct log;

struct registry {
    uv_loop_t *loop;
    const struct conf *conf;
    const struct log *log; /* NULL: none */
    bool cut;              /* the last scan found more than there are places for */
    struct model *models;
    struct registry
        *root; /* the daemon's, which outlives all models; itself if not said otherwise */
    struct memory *memory; /* root only */
    bool freed;            /* root only: enough that the system should get it */
    double pulse_ns;       /* root only: what a pulse costs around its model, at least */
    unsigned n_loads;      /* root only, with queue: those that wait until others are done */
    struct load_job *queue;
    atomic_bool stop; /* root only: whoever checks a model gives up */
    uint64_t next_look_us;
    uv_work_t trim_work;
    bool trimming;
};

void registry_init(struct registry *r, uv_loop_t *loop, const struct conf *conf);
void registry_clear(struct registry *r); /* streams keep the models that they hold */

/* The model with one more reference, or NULL and words: errno is ENOENT if there is none of that
 * name, ENOSPC if as many as there can be are in use, ENOMEM, or why a folder cannot be searched.
 * Reads the folders. */
struct model *registry_get(struct registry *r, const char *name, char why[FOLDERS_WHY_BYTES]);

/* Looks what there is, for lists; what is not there any more and that nobody uses goes. Models that
 * are only listed give way to those that are asked for; where more lie there than there are places,
 * the list is cut and the log says so. */
void registry_scan(struct registry *r);

/* Drops what is only listed, and what was used and is not there any more. */
void registry_prune(struct registry *r);

/* Loads it if need be; done is called now or later. False without memory. What failed a moment ago
 * is only tried again if `afresh`, or if it was memory that failed. Its memory is counted for `by`;
 * NULL: for the daemon itself. */
bool registry_load(struct registry *r, struct model *m, struct owner *by, bool afresh,
                   model_loaded *done, void *arg);

/* Loads what lies there now beside m and puts it in m's place: streams from then on get the new
 * version, those that run keep theirs. If it fails, m stays. done gets the new version with a
 * reference. False without memory. */
bool registry_renew(struct registry *r, const struct model *m, model_loaded *done, void *arg);

/* New streams load it afresh; its memory goes with the last stream that has it. False: it is not in
 * the registry, or there is no memory. */
bool registry_unload(struct registry *r, struct model *m);

/* What trying m out found that its pulses take, as shares of a processor. */
void registry_price(const struct registry *r, struct model *m, float rtf, float wall);

/* Calls done when nobody holds m any more, just before it is freed. False without memory. */
bool registry_on_gone(struct model *m, model_loaded *done, void *arg);

/* Puts m into the registry in the place of the version that is there; it counts on where that one
 * was. Not if that one's loading began later. */
void registry_put(struct registry *r, struct model *m);

bool registry_has(const struct registry *r, const char *name);
/* out of the registry, with its reference; NULL: there is none */
struct model *registry_take(struct registry *r);

/* Once a tick: lets go of models without streams for longer than keep_alive_s. */
void registry_tick(struct registry *r, uint64_t now_us);

/* Forgets a callback that was not called yet. */
void registry_forget(struct model *m, model_loaded *done, void *arg);
struct model *registry_ref(struct model *m);
struct model *registry_unref(struct model *m); /* takes NULL too; returns NULL */

bool model_is_listed(const char *names, const char *name); /* in a list with spaces between */
/* Calls each for each name of such a list; false at the first that fails. */
bool model_names_each(const char *names, bool (*each)(void *arg, const char *name), void *arg);

const char *model_state_name(enum model_state s);

/* --- registry_memory.c --- */

/* What a model takes is the account of who had it loaded: that, or what its weights do if it is
 * more. */
void registry_count(struct model *m, struct owner *o, size_t kept_bytes);
void registry_uncount(struct model *m);

/* What m takes, counted for `to` already, is no longer counted for who had it until now. */
void registry_pass_on(struct model *m, struct owner *to);

/* --- registry_spare.c --- */

/* Memory of models that nobody streams with, that a client had loaded and that are not in preload;
 * *ret_own_bytes: of it, what is counted for o. */
size_t registry_spare_bytes(const struct registry *r, const struct owner *o, size_t *ret_own_bytes);

/* Lets go of one such model: one of o if there is any, the one that was used the longest time ago.
 * False: there is none. */
bool registry_spare_drop(struct registry *r, const struct owner *o);

#endif
