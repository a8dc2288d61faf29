/* SPDX-License-Identifier: MIT */
#include "daemon/models/registry_internal.h"
#include "daemon/base/clock.h"
#include "daemon/models/open_at.h"
#include "daemon/models/check.h"
#include "daemon/models/load.h"
#include "daemon/base/log.h"
#include "daemon/models/pins.h"
#include "daemon/compute/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define RETRY_US 1000000 /* before a client may have a bad file read again; doubles each time */
#define RETRY_DOUBLINGS 6
#define LOADS_AT_ONCE 4
#define CHECK_US 500000
#define OPEN_FILES_MOST 4 /* descriptors that opening a model takes */
/* that loading may take; doubled where it was too little */
#define LOAD_BYTES ((size_t) 32 << 20)
#define LOAD_LEAST_BYTES ((size_t) 16 << 20) /* no process starts with less */
#define BUILTIN_BYTES ((size_t) 8 << 20)     /* the most that a built-in model takes */

struct load_job {
    uv_work_t work;
    struct load_job *next;     /* in the root registry's queue */
    struct registry *registry; /* outlives its jobs */
    struct model *model;
    struct owner *owner;  /* for whom it is loaded */
    size_t claimed_bytes; /* charged to the owner until it is loaded */
    rill_status status;
    struct model_location location;
    bool is_transient; /* the failure may go away by itself */
    bool checks;
    bool refused; /* there is no memory for it */
    struct check check;
    char pins[CONF_STR_BYTES];
    struct model_load_request request; /* copied into the model on the loop thread */
};

/* ---- the list ---- */

struct refresh {
    struct registry *registry;
    bool is_complete, is_truncated; /* all folders could be read; not all models fit the list */
};

static void refresh_add(struct refresh *s, const char *name)
{
    struct model *m = model_find(s->registry, name);
    if (!m && !s->is_truncated) /* once the list is full it stays full */
        m = model_add(s->registry, name, true);
    if (m)
        m->seen = true;
    s->is_truncated |= !m;
}

/* Links are listed, so that it can be said why they are refused. */
static bool entry_is_model(const char *dir, const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    bool compiled = n > 5 && strcmp(e->d_name + n - 5, ".rill") == 0;
    if (!model_name_valid(e->d_name))
        return false;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR || e->d_type == DT_LNK || (compiled && e->d_type == DT_REG);
    int fd = model_open_at(dir, e->d_name);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || model_type_at(dir, e->d_name) == S_IFLNK;
}

static void folder_list(struct refresh *s, const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    s->is_complete &= d || errno == ENOENT;
    while (d && (errno = 0, e = readdir(d)))
        if (entry_is_model(path, e))
            refresh_add(s, e->d_name);
    s->is_complete &= !d || !errno;
    if (d)
        closedir(d);
}

static struct refresh refresh_run(struct registry *r)
{
    struct refresh s = { .registry = r, .is_complete = true };
    char dir[CONF_STR_BYTES];
    const char *b;
    for (struct model *m = r->models; m; m = m->next)
        m->seen = false;
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        if (model_name_valid(b))
            refresh_add(&s, b);
    for (unsigned i = 0; folders_part(r->conf->models_model_path, i, dir, sizeof dir); i++)
        if (dir[0] == '/')
            folder_list(&s, dir);
    return s;
}

static bool missing_drop(struct registry *r)
{
    bool dropped = false;
    for (struct model *m = r->models, *next; m; m = next) {
        next = m->next;
        if (m->seen || !model_is_unused(m))
            continue;
        model_drop(r, m);
        dropped = true;
    }
    return dropped;
}

void registry_refresh(struct registry *r)
{
    struct refresh s = refresh_run(r);
    if (s.is_complete && missing_drop(r) && s.is_truncated)
        s = refresh_run(r);
    if (s.is_truncated && !r->is_truncated && r->log)
        log_line(r->log, LOG_WARN,
                 "model_path holds more models than the %d that are listed; the others are there "
                 "for who asks for them by name",
                 MAX_MODELS);
    r->is_truncated = s.is_truncated;
}

void registry_prune(struct registry *r)
{
    char why[FOLDERS_WHY_BYTES];
    for (struct model *m = r->models, *next; m; m = next) {
        next = m->next;
        if (model_is_unused(m) &&
            (model_is_untouched(m) ||
             (!model_exists(r->conf->models_model_path, m->name, why) && errno == ENOENT)))
            model_drop(r, m);
    }
}

/* ---- loading, on a thread of its own ---- */

static bool is_pinned(struct load_job *j)
{
    struct model_load_request *f = &j->request;
    int n = j->pins[0] ? pin_find(j->pins, j->model->name, f->want_sha256, f->model.error.text,
                                  sizeof f->model.error.text)
                       : 0;
    f->wants = n > 0;
    f->want_words = "the one that models.pins has for it";
    if (n < 0) {
        j->is_transient = error_is_transient(errno);
        j->status = f->model.error.status = RILL_INVALID;
    }
    return n >= 0;
}

/* Only the bytes that the child checked may be loaded. */
static bool is_checked(struct load_job *j)
{
    struct model_load_request *f = &j->request;
    uint8_t sha256[32];
    if (f->fd < 0 || !j->checks)
        return true;
    j->status = check_model(&j->check, sha256, &f->model.error);
    j->is_transient = j->check.is_transient;
    if (j->status == RILL_OK && !f->wants) {
        memcpy(f->want_sha256, sha256, sizeof sha256);
        f->wants = true;
        f->want_words = "that of the bytes that were checked a moment ago; it changed meanwhile";
    }
    return j->status == RILL_OK;
}

/* The library's error does not say whether descriptors were short, so this tries to open as many as
 * a model takes. */
static bool files_are_short(void)
{
    int fd[OPEN_FILES_MOST], n = 0;
    while (n < OPEN_FILES_MOST && (fd[n] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) >= 0)
        n++;
    bool are_short = n < OPEN_FILES_MOST && error_is_transient(errno);
    while (n)
        close(fd[--n]);
    return are_short;
}

static void load_work(uv_work_t *w)
{
    struct load_job *j = w->data;
    if (atomic_load(&j->registry->root->stop))
        j->status = RILL_AGAIN;
    else if (j->location.kind == LOCATION_NONE)
        snprintf(j->request.model.error.text, sizeof j->request.model.error.text, "%.400s",
                 j->location.why);
    else if (!j->refused && is_pinned(j) && is_checked(j)) {
        j->status = model_load(&j->request);
        j->is_transient |= j->status == RILL_IO && files_are_short();
    }
}

static void load_copy(struct model *m, const struct model *f)
{
    m->lane = f->lane;
    m->plan_info = f->plan_info;
    m->info = f->info;
    m->rtf = f->rtf;
    m->rtf_wall = f->rtf_wall;
    m->error = f->error;
    memcpy(m->task, f->task, sizeof m->task);
    memcpy(m->licence, f->licence, sizeof m->licence);
    memcpy(m->summary, f->summary, sizeof m->summary);
    memcpy(m->sha256, f->sha256, sizeof m->sha256);
    m->info.name = m->name;
    m->info.task = m->task;
    m->info.licence = m->licence;
    m->info.summary = m->summary;
}

void registry_set_price(const struct registry *r, struct model *m, float rtf, float wall)
{
    float around = m->lane.rate
        ? (float) (r->root->pulse_ns * m->lane.rate / (1e9 * m->lane.pulse_samples))
        : (float) (m->lane.is_timed ? r->root->pulse_ns / (1e3 * m->lane.pulse_us) : 0);
    m->cost.probe_is_floor = m->lane.words_plan; /* a gated recogniser costs nothing in silence,
                                                    which says nothing of speech */
    m->cost.quantile = 0.9f;
    cost_probe(&m->cost, rtf + around, wall + around, clock_now_us());
    m->rtf = m->cost.price;
}

static struct memory *memory_of(const struct load_job *j)
{
    return j->registry->root->memory;
}

/* What loading may take: what is enough for most models, or twice what was too little before. Where
 * there is less room, that, as long as it is more than what was too little. */
static size_t load_bytes(const struct load_job *j)
{
    size_t most = j->registry->conf->models_check_memory_bytes, wants = j->model->load_bytes,
           room = memory_room(memory_of(j), j->owner),
           least = wants ? wants / 8 * 5 : LOAD_LEAST_BYTES;
    if (j->request.fd < 0)
        return BUILTIN_BYTES;
    wants = wants ? wants : LOAD_BYTES;
    if (wants > room)
        wants = room > least ? room : least;
    return wants < most ? wants : most;
}

static void load_memory_charge(struct load_job *j)
{
    struct registry *r = j->registry->root;
    size_t bytes = load_bytes(j);
    while (memory_would_grant(r->memory, j->owner, MEMORY_LOADS, bytes) == MEMORY_SHORT &&
           registry_evict(r, j->owner))
        ;
    j->refused = memory_try_charge(r->memory, j->owner, MEMORY_LOADS, bytes) != MEMORY_OK;
    j->claimed_bytes = j->refused ? 0 : bytes;
    j->check.memory_bytes = bytes;
    if (!j->refused)
        return;
    j->is_transient = true;
    j->status = j->request.model.error.status = RILL_NOMEM;
    snprintf(j->request.model.error.text, sizeof j->request.model.error.text,
             "memory is short for loading %s, which may take %zu bytes (memory_max); try again "
             "later",
             j->model->name, bytes);
}

static void load_memory_uncharge(struct load_job *j)
{
    memory_uncharge(memory_of(j), j->owner, MEMORY_LOADS, j->claimed_bytes);
    j->claimed_bytes = 0;
}

/* Whether it failed only because its memory limit was too low; doubles the limit. */
static bool load_wants_more(struct load_job *j)
{
    uint64_t most = j->registry->conf->models_check_memory_bytes;
    if (!j->checks || j->request.fd < 0 || j->refused || j->status != RILL_NOMEM ||
        j->check.memory_bytes >= most)
        return false;
    j->model->load_bytes = 2 * (size_t) j->check.memory_bytes;
    return true;
}

/* What the child measured, since nothing else allocated there. */
static size_t kept_find(const struct load_job *j)
{
    size_t kept = (size_t) j->check.kept_bytes;
    return kept < j->claimed_bytes ? kept : j->claimed_bytes;
}

static void job_end(struct load_job *j, bool good)
{
    struct model *m = j->model;
    size_t kept_bytes = kept_find(j);
    load_copy(m, &j->request.model);
    load_memory_uncharge(j);
    if (j->request.fd >= 0)
        close(j->request.fd);
    m->state = good && j->status == RILL_OK ? MODEL_READY : MODEL_FAILED;
    if (m->state == MODEL_READY)
        registry_set_price(j->registry, m, m->rtf, m->rtf_wall);
    m->failures = m->state == MODEL_FAILED ? m->failures + 1 : 0;
    m->is_transient = m->state == MODEL_FAILED && j->is_transient;
    m->missing = m->state == MODEL_FAILED && j->location.kind == LOCATION_NONE &&
        j->location.error == ENOENT;
    m->used_us = m->failed_us = clock_now_us();
    m->load_us = m->used_us - m->begun_us;
    if (m->state == MODEL_READY && m->lane.threads > 1 && j->registry->root->log)
        log_line(j->registry->root->log, LOG_INFO,
                 "model %s: a pulse of %.1f ms takes %.1f ms on one thread; %u share those of live "
                 "streams, and it takes %.1f ms",
                 m->name, (double) lane_pulse_us(&m->lane) * 1e-3, m->lane.alone_us * 1e-3,
                 m->lane.threads, m->lane.run_us * 1e-3);
    if (m->state == MODEL_READY)
        registry_charge(m, j->owner, kept_bytes);
    memory_unref(memory_of(j), j->owner);
    if (m->replaces && m->state == MODEL_READY)
        registry_replace(j->registry, m);
    free(j);
    model_waiters_call(&m->waiters, m);
    registry_unref(m);
}

static void load_done(uv_work_t *w, int status);

static bool job_begin(struct load_job *j)
{
    j->work.data = j;
    load_memory_charge(j);
    bool good = work_start(j->registry->loop, &j->work, load_work, load_done) == 0;
    j->registry->root->n_loads += good;
    return good;
}

static void load_done(uv_work_t *w, int status)
{
    struct load_job *j = w->data;
    struct registry *root = j->registry->root;
    root->n_loads--;
    bool again = status == 0 && load_wants_more(j);
    if (again) {
        load_memory_uncharge(j);
        j->request.model.error = (rill_error) { .status = RILL_OK };
    }
    if (!again || !job_begin(j))
        job_end(j, status == 0);
    while (root->queue && root->n_loads < LOADS_AT_ONCE) {
        j = root->queue;
        root->queue = j->next;
        if (!job_begin(j)) {
            snprintf(j->request.model.error.text, sizeof j->request.model.error.text,
                     "no thread to load it in");
            job_end(j, false);
        }
    }
}

static bool job_add(struct load_job *j)
{
    struct load_job **at = &j->registry->root->queue;
    if (j->registry->root->n_loads < LOADS_AT_ONCE)
        return job_begin(j);
    while (*at)
        at = &(*at)->next;
    *at = j;
    return true;
}

static void check_fill(struct load_job *j, const struct conf *c)
{
    j->checks = strcmp(c->models_check, "yes") == 0;
    j->check = (struct check) { .fd = j->request.fd,
                                .name = j->request.path,
                                .max_model_bytes = c->models_max_model_bytes,
                                .memory_bytes = c->models_check_memory_bytes,
                                .cpu_s = c->models_check_cpu_s,
                                .timeout_s = c->models_check_timeout_s,
                                .stop = &j->registry->root->stop };
    memcpy(j->pins, c->models_pins, sizeof j->pins);
}

static bool load_start(struct registry *r, struct model *m, struct owner *by)
{
    struct load_job *j = calloc(1, sizeof *j);
    if (!j)
        return false;
    j->is_transient = !model_locate(r->conf->models_model_path, m->name, &j->location) &&
        error_is_transient(j->location.error);
    j->status = RILL_IO;
    j->request.fd = j->location.fd;
    memcpy(j->request.path, j->location.path, sizeof j->request.path);
    j->registry = r;
    j->model = m;
    j->owner = memory_ref(by ? by : &r->root->memory->own);
    j->request.max_bytes = r->conf->models_max_model_bytes;
    j->request.pool = r->root->pool;
    j->request.late_share = r->conf->limits_rtf_budget < 1 ? r->conf->limits_rtf_budget : 1;
    check_fill(j, r->conf);
    if (!job_add(j)) {
        if (j->request.fd >= 0)
            close(j->request.fd);
        load_memory_uncharge(j);
        memory_unref(memory_of(j), j->owner);
        free(j);
        return false;
    }
    m->state = MODEL_LOADING;
    m->begun_us = clock_now_us();
    registry_ref(m);
    return true;
}

bool registry_load(struct registry *r, struct model *m, struct owner *by, bool afresh,
                   model_loaded *done, void *arg)
{
    uint32_t doublings = m->failures < RETRY_DOUBLINGS ? m->failures : RETRY_DOUBLINGS;
    bool failed = m->state == MODEL_FAILED && !afresh && m->error.status != RILL_NOMEM &&
        !m->is_transient &&
        clock_now_us() - m->failed_us < (UINT64_C(1) << doublings) * RETRY_US / 2;
    m->used_us = clock_now_us();
    if (m->state == MODEL_READY || failed) {
        done(arg, m);
        return true;
    }
    if (!model_waiter_add(&m->waiters, done, arg))
        return false;
    if (m->state == MODEL_LOADING || load_start(r, m, by))
        return true;
    registry_forget(m, arg);
    return false;
}

bool registry_reload_model(struct registry *r, const struct model *m, model_loaded *done, void *arg)
{
    struct model *next = registry_model_new(r, m->name);
    if (!next)
        return false;
    next->replaces = true;
    if (model_waiter_add(&next->waiters, done, arg) && load_start(r, next, m->owner))
        return true;
    registry_forget(next, arg);
    registry_unref(next);
    return false;
}

void registry_forget(struct model *m, const void *arg)
{
    for (struct model_waiter **at = &m->waiters; *at; at = &(*at)->next)
        if ((*at)->arg == arg) {
            struct model_waiter *x = *at;
            *at = x->next;
            free(x);
            return;
        }
}

/* ---- the tick ---- */

static void trim_work(uv_work_t *w)
{
    (void) w;
    memory_return();
}

static void trim_done(uv_work_t *w, int status)
{
    struct registry *r = w->data;
    (void) status;
    r->trimming = false;
}

static void trim_start(struct registry *r)
{
    if (!r->freed || r->trimming)
        return;
    r->freed = false;
    r->trim_work.data = r;
    r->trimming = work_start(r->loop, &r->trim_work, trim_work, trim_done) == 0;
}

/* Streams that run on an earlier version use the name, but do not keep a version without streams.
 */
static bool model_is_used(const struct model *m)
{
    return m->refs > 1 || (m->state != MODEL_READY && m->totals->refs > 1);
}

static bool model_is_idle(const struct registry *r, struct model *m, uint64_t now_us)
{
    if (model_is_used(m))
        m->used_us = now_us;
    return m->state == MODEL_READY && r->conf->models_keep_alive_s &&
        now_us - m->used_us >= r->conf->models_keep_alive_s * UINT64_C(1000000) &&
        !model_is_listed(r->conf->models_preload, m->name);
}

void registry_tick(struct registry *r, uint64_t now_us)
{
    if (now_us < r->next_check_us)
        return;
    r->next_check_us = now_us + CHECK_US;
    for (struct model *m = r->models, *next; m; m = next) {
        next = m->next;
        if (model_is_idle(r, m, now_us))
            registry_unload(r, m);
    }
    trim_start(r);
}
