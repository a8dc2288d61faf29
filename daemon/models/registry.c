/* SPDX-License-Identifier: MIT */
#include "daemon/models/registry_in.h"
#include "daemon/models/beneath.h"
#include "daemon/models/check.h"
#include "daemon/models/load.h"
#include "daemon/base/log.h"
#include "daemon/models/pins.h"
#include "daemon/compute/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define RETRY_US                                                                                   \
    1000000 /* clients have a bad file read again after that, and after twice as long each time */
#define RETRY_DOUBLINGS 6
#define LOADS_AT_ONCE 4
#define LOOK_US 500000
#define OPEN_FILES_MOST 4              /* that a model takes while it is opened */
#define LOAD_BYTES ((size_t) 32 << 20) /* that loading may take, at first; then twice as much */
#define LOAD_LEAST_BYTES ((size_t) 16 << 20) /* with less of it no process starts */
#define BUILTIN_BYTES ((size_t) 8 << 20)     /* that a built-in one takes at most */

struct load_job {
    uv_work_t work;
    struct load_job *next;     /* in the root registry's queue */
    struct registry *registry; /* outlives its jobs */
    struct model *model;
    struct owner *owner;  /* for whom it is loaded */
    size_t claimed_bytes; /* for him, until it is loaded */
    rill_status status;
    struct model_look look;
    bool passes; /* what failed may be good in a moment */
    bool checks;
    bool refused; /* there is no memory for it */
    struct check check;
    char pins[CONF_STR_BYTES];
    struct model_found found; /* copied into the model on the loop thread */
};

/* ---- what there is ---- */

struct scan {
    struct registry *registry;
    bool whole, cut; /* all folders could be read; not all found a place */
};

static void scan_take(struct scan *s, const char *name)
{
    struct model *m = model_find(s->registry, name);
    if (!m && !s->cut) /* where one found no place no other does */
        m = model_add(s->registry, name, true);
    if (m)
        m->seen = true;
    s->cut |= !m;
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
    int fd = model_beneath(dir, e->d_name);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || model_is_link(dir, e->d_name);
}

static void folder_scan(struct scan *s, const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    s->whole &= d || errno == ENOENT;
    while (d && (errno = 0, e = readdir(d)))
        if (entry_is_model(path, e))
            scan_take(s, e->d_name);
    s->whole &= !d || !errno;
    if (d)
        closedir(d);
}

static struct scan scan_run(struct registry *r)
{
    struct scan s = { .registry = r, .whole = true };
    char dir[CONF_STR_BYTES];
    const char *b;
    for (struct model *m = r->models; m; m = m->next)
        m->seen = false;
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        if (model_name_valid(b))
            scan_take(&s, b);
    for (unsigned i = 0; folders_part(r->conf->models_model_path, i, dir, sizeof dir); i++)
        if (dir[0] == '/')
            folder_scan(&s, dir);
    return s;
}

static bool unseen_drop(struct registry *r)
{
    bool dropped = false;
    for (struct model *m = r->models, *next; m; m = next) {
        next = m->next;
        if (m->seen || !model_is_spare(m))
            continue;
        model_drop(r, m);
        dropped = true;
    }
    return dropped;
}

void registry_scan(struct registry *r)
{
    struct scan s = scan_run(r);
    if (s.whole && unseen_drop(r) && s.cut)
        s = scan_run(r);
    if (s.cut && !r->cut && r->log)
        log_line(r->log, LOG_WARN,
                 "model_path holds more models than the %d that are listed; the others are there "
                 "for who asks for them by name",
                 MAX_MODELS);
    r->cut = s.cut;
}

void registry_prune(struct registry *r)
{
    char why[FOLDERS_WHY_BYTES];
    for (struct model *m = r->models, *next; m; m = next) {
        next = m->next;
        if (model_is_spare(m) &&
            (model_is_blank(m) ||
             (!model_is_there(r->conf->models_model_path, m->name, why) && errno == ENOENT)))
            model_drop(r, m);
    }
}

/* ---- loading, on the pool ---- */

static bool is_pinned(struct load_job *j)
{
    struct model_found *f = &j->found;
    int n = j->pins[0] ? pin_find(j->pins, j->model->name, f->want_sha256, f->model.error.text,
                                  sizeof f->model.error.text)
                       : 0;
    f->wants = n > 0;
    f->want_words = "the one that models.pins has for it";
    if (n < 0) {
        j->passes = error_passes(errno);
        j->status = f->model.error.status = RILL_INVALID;
    }
    return n >= 0;
}

/* What the process checked is what may be loaded. */
static bool is_checked(struct load_job *j)
{
    struct model_found *f = &j->found;
    uint8_t sha256[32];
    if (f->fd < 0 || !j->checks)
        return true;
    j->status = check_model(&j->check, sha256, &f->model.error);
    j->passes = j->check.passes;
    if (j->status == RILL_OK && !f->wants) {
        memcpy(f->want_sha256, sha256, sizeof sha256);
        f->wants = true;
        f->want_words = "that of the bytes that were checked a moment ago; it changed meanwhile";
    }
    return j->status == RILL_OK;
}

/* Opening a model says no more than that a file could not be had: whether it is for want of
 * descriptors shows in that as many cannot be had now. */
static bool files_are_short(void)
{
    int fd[OPEN_FILES_MOST], n = 0;
    while (n < OPEN_FILES_MOST && (fd[n] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) >= 0)
        n++;
    bool are_short = n < OPEN_FILES_MOST && error_passes(errno);
    while (n)
        close(fd[--n]);
    return are_short;
}

static void load_work(uv_work_t *w)
{
    struct load_job *j = w->data;
    if (atomic_load(&j->registry->root->stop))
        j->status = RILL_AGAIN;
    else if (j->look.place == PLACE_NOWHERE)
        snprintf(j->found.model.error.text, sizeof j->found.model.error.text, "%.400s",
                 j->look.why);
    else if (!j->refused && is_pinned(j) && is_checked(j)) {
        j->status = model_find_out(&j->found);
        j->passes |= j->status == RILL_IO && files_are_short();
    }
}

static void found_copy(struct model *m, const struct model *f)
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

void registry_price(const struct registry *r, struct model *m, float rtf, float wall)
{
    float around = (float) (r->root->pulse_ns * m->lane.rate / (1e9 * m->lane.pulse_samples));
    m->cost.tried_stays = m->lane.words_plan; /* silence is no reason to charge less */
    m->cost.quantile = 0.9f;
    cost_try(&m->cost, rtf + around, wall + around, lane_now_us());
    m->rtf = m->cost.price;
}

static struct memory *memory_of(const struct load_job *j)
{
    return j->registry->root->memory;
}

/* What loading may take: what is enough for most, or where that was too little twice as much. Where
 * there is less, that, if it is more than what was too little. */
static size_t load_bytes(const struct load_job *j)
{
    size_t most = j->registry->conf->models_check_memory_bytes, wants = j->model->load_bytes,
           room = memory_room(memory_of(j), j->owner),
           least = wants ? wants / 8 * 5 : LOAD_LEAST_BYTES;
    if (j->found.fd < 0)
        return BUILTIN_BYTES;
    wants = wants ? wants : LOAD_BYTES;
    if (wants > room)
        wants = room > least ? room : least;
    return wants < most ? wants : most;
}

static void memory_claim_load(struct load_job *j)
{
    struct registry *r = j->registry->root;
    size_t bytes = load_bytes(j);
    while (memory_would(r->memory, j->owner, MEMORY_LOADS, bytes) == MEMORY_SHORT &&
           registry_spare_drop(r, j->owner))
        ;
    j->refused = memory_ask(r->memory, j->owner, MEMORY_LOADS, bytes) != MEMORY_OK;
    j->claimed_bytes = j->refused ? 0 : bytes;
    j->check.memory_bytes = bytes;
    if (!j->refused)
        return;
    j->passes = true;
    j->status = j->found.model.error.status = RILL_NOMEM;
    snprintf(j->found.model.error.text, sizeof j->found.model.error.text,
             "memory is short for loading %s, which may take %zu bytes (memory_max); try again "
             "later",
             j->model->name, bytes);
}

static void memory_give_load(struct load_job *j)
{
    memory_give(memory_of(j), j->owner, MEMORY_LOADS, j->claimed_bytes);
    j->claimed_bytes = 0;
}

/* Whether it was only that what it may take was too little. */
static bool load_wants_more(struct load_job *j)
{
    uint64_t most = j->registry->conf->models_check_memory_bytes;
    if (!j->checks || j->found.fd < 0 || j->refused || j->status != RILL_NOMEM ||
        j->check.memory_bytes >= most)
        return false;
    j->model->load_bytes = 2 * (size_t) j->check.memory_bytes;
    return true;
}

/* What the process that checked it saw, which did nothing else. */
static size_t kept_find(const struct load_job *j)
{
    size_t kept = (size_t) j->check.kept_bytes;
    return kept < j->claimed_bytes ? kept : j->claimed_bytes;
}

static void job_end(struct load_job *j, bool good)
{
    struct model *m = j->model;
    size_t kept_bytes = kept_find(j);
    found_copy(m, &j->found.model);
    memory_give_load(j);
    if (j->found.fd >= 0)
        close(j->found.fd);
    m->state = good && j->status == RILL_OK ? MODEL_READY : MODEL_FAILED;
    if (m->state == MODEL_READY)
        registry_price(j->registry, m, m->rtf, m->rtf_wall);
    m->failures = m->state == MODEL_FAILED ? m->failures + 1 : 0;
    m->passes = m->state == MODEL_FAILED && j->passes;
    m->missing =
        m->state == MODEL_FAILED && j->look.place == PLACE_NOWHERE && j->look.error == ENOENT;
    m->used_us = m->failed_us = lane_now_us();
    m->load_us = m->used_us - m->begun_us;
    if (m->state == MODEL_READY)
        registry_count(m, j->owner, kept_bytes);
    memory_unref(memory_of(j), j->owner);
    if (m->follows && m->state == MODEL_READY)
        registry_put(j->registry, m);
    free(j);
    model_waits_call(&m->waits, m);
    registry_unref(m);
}

static void load_done(uv_work_t *w, int status);

static bool job_begin(struct load_job *j)
{
    j->work.data = j;
    memory_claim_load(j);
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
        memory_give_load(j);
        j->found.model.error = (rill_error) { .status = RILL_OK };
    }
    if (!again || !job_begin(j))
        job_end(j, status == 0);
    while (root->queue && root->n_loads < LOADS_AT_ONCE) {
        j = root->queue;
        root->queue = j->next;
        if (!job_begin(j)) {
            snprintf(j->found.model.error.text, sizeof j->found.model.error.text,
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
    j->check = (struct check) { .fd = j->found.fd,
                                .name = j->found.path,
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
    j->passes = !model_find_place(r->conf->models_model_path, m->name, &j->look) &&
        error_passes(j->look.error);
    j->status = RILL_IO;
    j->found.fd = j->look.fd;
    memcpy(j->found.path, j->look.path, sizeof j->found.path);
    j->registry = r;
    j->model = m;
    j->owner = memory_ref(by ? by : &r->root->memory->own);
    j->found.max_bytes = r->conf->models_max_model_bytes;
    check_fill(j, r->conf);
    if (!job_add(j)) {
        if (j->found.fd >= 0)
            close(j->found.fd);
        memory_give_load(j);
        memory_unref(memory_of(j), j->owner);
        free(j);
        return false;
    }
    m->state = MODEL_LOADING;
    m->begun_us = lane_now_us();
    registry_ref(m);
    return true;
}

bool registry_load(struct registry *r, struct model *m, struct owner *by, bool afresh,
                   model_loaded *done, void *arg)
{
    uint32_t doublings = m->failures < RETRY_DOUBLINGS ? m->failures : RETRY_DOUBLINGS;
    bool failed = m->state == MODEL_FAILED && !afresh && m->error.status != RILL_NOMEM &&
        !m->passes && lane_now_us() - m->failed_us < (UINT64_C(1) << doublings) * RETRY_US / 2;
    m->used_us = lane_now_us();
    if (m->state == MODEL_READY || failed) {
        done(arg, m);
        return true;
    }
    if (!model_wait_add(&m->waits, done, arg))
        return false;
    if (m->state == MODEL_LOADING || load_start(r, m, by))
        return true;
    registry_forget(m, done, arg);
    return false;
}

bool registry_renew(struct registry *r, const struct model *m, model_loaded *done, void *arg)
{
    struct model *next = registry_model_new(r, m->name);
    if (!next)
        return false;
    next->follows = true;
    if (model_wait_add(&next->waits, done, arg) && load_start(r, next, m->owner))
        return true;
    registry_forget(next, done, arg);
    registry_unref(next);
    return false;
}

void registry_forget(struct model *m, model_loaded *done, void *arg)
{
    for (struct model_wait **at = &m->waits; *at; at = &(*at)->next)
        if ((*at)->done == done && (*at)->arg == arg) {
            struct model_wait *x = *at;
            *at = x->next;
            free(x);
            return;
        }
}

/* ---- from time to time ---- */

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

static bool model_is_used(const struct model *m)
{
    return m->refs > 1 || (m->state != MODEL_READY && m->tally->refs > 1);
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
    if (now_us < r->next_look_us)
        return;
    r->next_look_us = now_us + LOOK_US;
    for (struct model *m = r->models, *next; m; m = next) {
        next = m->next;
        if (model_is_idle(r, m, now_us))
            registry_unload(r, m);
    }
    trim_start(r);
}
