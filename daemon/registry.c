/* SPDX-License-Identifier: MIT */
#include "daemon/registry.h"
#include "daemon/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#define MAX_MODELS 256
#define RETRY_US 1000000        /* clients do not have a bad file read more often than that */
#define LOOK_US 500000

struct load_job {
    uv_work_t work;
    struct registry *registry;      /* outlives its jobs */
    struct model *model;
    bool builtin;
    char path[CONF_STR_BYTES + 80];
    uint64_t max_bytes;
    rill_status status;
    /* What the work finds; copied into the model on the loop thread. */
    struct model found;
};

bool model_name_valid(const char *name)
{
    size_t n = strlen(name);
    return n >= 1 && n <= 64 && name[0] != '.' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

const char *model_state_name(enum model_state s)
{
    static const char *const names[] = { "known", "loading", "ready", "failed" };
    return names[s];
}

struct model *registry_ref(struct model *m)
{
    m->refs++;
    return m;
}

static struct model_tally *tally_unref(struct model_tally *t)
{
    if (t && --t->refs == 0)
        free(t);
    return NULL;
}

static void tally_set(struct model *m, struct model_tally *t)
{
    t->refs++;
    tally_unref(m->tally);
    m->tally = t;
    m->stats = &t->stats;
    m->period = &t->period;
}

static struct model *model_new(const struct registry *r, const char *name)
{
    struct model *m = calloc(1, sizeof *m);
    struct model_tally *t = calloc(1, sizeof *t);
    if (!m || !t) {
        free(m);
        free(t);
        return NULL;
    }
    memcpy(m->name, name, strlen(name) + 1);
    tally_set(m, t);
    m->refs = 1;
    m->trim = r->trim;
    return m;
}

static void waits_call(struct model_wait **waits, struct model *m)
{
    while (*waits) {
        struct model_wait *x = *waits;
        *waits = x->next;
        x->done(x->arg, m);
        free(x);
    }
}

static bool wait_add(struct model_wait **waits, model_loaded *done, void *arg)
{
    struct model_wait *x = malloc(sizeof *x);
    if (!x)
        return false;
    *x = (struct model_wait) { .done = done, .arg = arg, .next = *waits };
    *waits = x;
    return true;
}

struct model *registry_unref(struct model *m)
{
    if (m && --m->refs == 0) {
        *m->trim |= m->lane.plan != NULL;
        rill_plan_unref(m->lane.plan);
        rill_plan_unref(m->lane.words_plan);
        waits_call(&m->gone, m);
        tally_unref(m->tally);
        free(m);
    }
    return NULL;
}

void registry_init(struct registry *r, uv_loop_t *loop, const struct conf *conf)
{
    *r = (struct registry) { .loop = loop, .conf = conf };
    r->trim = &r->freed;
}

void registry_clear(struct registry *r)
{
    while (r->models) {
        struct model *m = r->models;
        r->models = m->next;
        m->next = NULL;
        registry_unref(m);
    }
}

static struct model *model_find(struct registry *r, const char *name)
{
    struct model *m = r->models;
    while (m && strcmp(m->name, name) != 0)
        m = m->next;
    return m;
}

/* Takes over one reference. */
static void model_insert(struct registry *r, struct model *m)
{
    struct model **at = &r->models;
    for (; *at && strcmp((*at)->name, m->name) < 0; at = &(*at)->next)
        ;
    m->next = *at;
    *at = m;
}

/* Gives its reference to the caller. */
static void model_remove(struct registry *r, struct model *m)
{
    for (struct model **at = &r->models; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            m->next = NULL;
            return;
        }
}

static struct model *model_add(struct registry *r, const char *name)
{
    size_t n = 0;
    for (struct model *m = r->models; m; m = m->next)
        n++;
    struct model *m = n < MAX_MODELS ? model_new(r, name) : NULL;
    if (m)
        model_insert(r, m);
    return m;
}

void registry_put(struct registry *r, struct model *m)
{
    struct model *old = model_find(r, m->name);
    if (old == m || (old && old->begun_us > m->begun_us))
        return;
    if (old) {
        tally_set(m, old->tally);
        model_remove(r, old);
        registry_unref(old);
    }
    m->used_us = lane_now_us();
    m->trim = r->trim;
    model_insert(r, registry_ref(m));
}

bool registry_has(const struct registry *r, const char *name)
{
    const struct model *m = r->models;
    while (m && strcmp(m->name, name) != 0)
        m = m->next;
    return m != NULL;
}

struct model *registry_take(struct registry *r)
{
    struct model *m = r->models;
    if (m)
        model_remove(r, m);
    return m;
}

void registry_unload(struct registry *r, struct model *m)
{
    struct model *empty = model_find(r, m->name) == m ? model_new(r, m->name) : NULL;
    if (!empty)
        return;
    empty->begun_us = m->begun_us;
    registry_put(r, empty);
    registry_unref(empty);
}

bool registry_on_gone(struct model *m, model_loaded *done, void *arg)
{
    return wait_add(&m->gone, done, arg);
}

static bool is_builtin(const char *name)
{
    const char *b;
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        if (strcmp(b, name) == 0)
            return true;
    return false;
}

/* The n-th folder of the path; false past the last. */
static bool path_part(const char *path, unsigned n, char *ret, size_t bytes)
{
    for (; n; n--) {
        path = strchr(path, ':');
        if (!path)
            return false;
        path++;
    }
    size_t len = strcspn(path, ":"), kept = len < bytes ? len : bytes - 1;
    memcpy(ret, path, kept);
    ret[kept] = '\0';
    return len > 0 || strchr(path, ':');
}

/* A real folder directly in dir: no symbolic link leads out of it. */
static bool folder_exists(const char *dir, const char *name)
{
    struct stat st;
    int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return false;
    size_t n = strlen(name);
    bool compiled = n > 5 && !strcmp(name + n - 5, ".rill");
    bool good = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (S_ISDIR(st.st_mode) || (compiled && S_ISREG(st.st_mode)));
    close(at);
    return good;
}

static bool folder_find(const struct registry *r, const char *name, char *ret, size_t bytes)
{
    char dir[CONF_STR_BYTES];
    for (unsigned i = 0; path_part(r->conf->models_model_path, i, dir, sizeof dir); i++)
        if (dir[0] == '/' && folder_exists(dir, name)) {
            snprintf(ret, bytes, "%s/%s", dir, name);
            return true;
        }
    return false;
}

struct model *registry_get(struct registry *r, const char *name)
{
    char path[CONF_STR_BYTES + 80];
    if (!model_name_valid(name))
        return NULL;
    struct model *m = model_find(r, name);
    bool loaded = m && (m->state == MODEL_READY || m->state == MODEL_LOADING);
    if (!loaded && !folder_find(r, name, path, sizeof path) && !is_builtin(name))
        return NULL;
    if (!m)
        m = model_add(r, name);
    return m ? registry_ref(m) : NULL;
}

static void folder_scan(struct registry *r, const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (model_name_valid(e->d_name) && !model_find(r, e->d_name) && folder_exists(path, e->d_name))
            model_add(r, e->d_name);
    if (d)
        closedir(d);
}

void registry_scan(struct registry *r)
{
    char dir[CONF_STR_BYTES];
    const char *b;
    for (unsigned i = 0; (b = rill_model_builtin_name(i)); i++)
        if (model_name_valid(b) && !model_find(r, b))
            model_add(r, b);
    for (unsigned i = 0; path_part(r->conf->models_model_path, i, dir, sizeof dir); i++)
        if (dir[0] == '/')
            folder_scan(r, dir);
}

/* ---- loading, on the pool ---- */

static void info_copy(struct model *to, const rill_model *from)
{
    rill_model_get_info(from, &to->info);
    snprintf(to->task, sizeof to->task, "%s", to->info.task ? to->info.task : "");
    snprintf(to->licence, sizeof to->licence, "%s", to->info.licence ? to->info.licence : "");
    snprintf(to->summary, sizeof to->summary, "%s", to->info.summary ? to->info.summary : "");
    for (int i = 0; i < 32; i++)
        snprintf(to->sha256 + 2 * i, 3, "%02x", to->info.sha256[i]);
}

/* Loading takes many times what is kept; the C library would hold on to the rest. */
static void memory_return(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static int port_find(const rill_port *ports, unsigned n, rill_port_kind low, rill_port_kind high)
{
    for (unsigned i = 0; i < n; i++)
        if (!ports[i].is_input && ports[i].kind >= low && ports[i].kind <= high)
            return (int) i;
    return -1;
}

/* A plan of the output `out` alone, or of all others; NULL where the model cannot be parted. */
static rill_plan *part_plan(const struct load_job *j, const rill_port *ports, unsigned n, int out, bool alone)
{
    char spec[2048] = "select_outputs(";
    const char *comma = "";
    const char *const transforms[] = { spec, NULL };
    const rill_model_opts opts = { .transforms = transforms, .builtin = j->builtin };
    const rill_plan_opts plan_opts = { .max_bytes = j->max_bytes };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    for (unsigned i = 0; i < n; i++) {
        size_t at = strlen(spec);
        if (ports[i].is_input || ((int) i == out) != alone)
            continue;
        if (at + strlen(ports[i].name) + 8 > sizeof spec)
            return NULL;
        snprintf(spec + at, sizeof spec - at, "%s\"%s\"", comma, ports[i].name);
        comma = ", ";
    }
    snprintf(spec + strlen(spec), 2, ")");
    if (rill_model_open_with(&m, j->path, &opts, NULL) == RILL_OK && rill_plan_new(&p, m, &plan_opts, NULL) != RILL_OK)
        p = NULL;
    rill_model_free(m);
    return p;
}

/* A detector and a recogniser in one model become two plans, so that silence costs nothing. */
static void words_part(struct load_job *j, rill_plan **plan)
{
    rill_port ports[32], one[2];
    unsigned n = rill_plan_ports(*plan, ports, 32);
    n = n < 32 ? n : 32;
    int out = port_find(ports, n, RILL_PORT_CTC, RILL_PORT_TRANSDUCER);
    if (out < 0 || port_find(ports, n, RILL_PORT_VAD, RILL_PORT_VAD) < 0)
        return;
    rill_plan *rest = part_plan(j, ports, n, out, false), *words = rest ? part_plan(j, ports, n, out, true) : NULL;
    if (!words || rill_plan_ports(words, one, 2) != 2) {
        rill_plan_unref(rest);
        rill_plan_unref(words);
        return;
    }
    rill_plan_unref(*plan);
    *plan = rest;
    j->found.lane.words_plan = words;
    j->found.lane.words_port = 1;
}

/* What the recogniser behind a detector costs while somebody speaks. */
static void words_measure(struct model *f)
{
    struct lane_model words = { .plan = NULL };
    rill_plan_info info;
    float rtf = 0;
    if (!f->lane.words_plan)
        return;
    rill_plan_get_info(f->lane.words_plan, &info);
    f->plan_info.weights_bytes += info.weights_bytes;
    f->plan_info.stream_bytes += info.stream_bytes;
    if (lane_model_probe(&words, f->lane.words_plan, f->info.sample_rate, &rtf, NULL) == RILL_OK)
        f->rtf += rtf;
}

static void load_work(uv_work_t *w)
{
    struct load_job *j = w->data;
    struct model *f = &j->found;
    rill_model *m = NULL;
    rill_plan *plan = NULL;
    rill_plan_opts opts = { .max_bytes = j->max_bytes };
    j->status = j->builtin ? rill_model_builtin(&m, j->path, &f->error) : rill_model_open(&m, j->path, &f->error);
    if (j->status != RILL_OK)
        return;
    info_copy(f, m);
    j->status = rill_plan_new(&plan, m, &opts, &f->error);
    rill_model_free(m);
    if (j->status != RILL_OK)
        return;
    words_part(j, &plan);
    rill_plan_get_info(plan, &f->plan_info);
    j->status = lane_model_probe(&f->lane, plan, f->info.sample_rate, &f->rtf, &f->error);
    if (j->status == RILL_OK)
        words_measure(f);
    f->lane.plan = j->status == RILL_OK ? plan : rill_plan_unref(plan);
    if (j->status != RILL_OK)
        f->lane.words_plan = rill_plan_unref(f->lane.words_plan);
    memory_return();
}

static void found_copy(struct model *m, const struct model *f)
{
    m->lane = f->lane;
    m->plan_info = f->plan_info;
    m->info = f->info;
    m->rtf = f->rtf;
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

static void load_done(uv_work_t *w, int status)
{
    struct load_job *j = w->data;
    struct model *m = j->model;
    found_copy(m, &j->found);
    m->load_us = lane_now_us() - m->begun_us;
    m->state = j->status == RILL_OK && !status ? MODEL_READY : MODEL_FAILED;
    m->used_us = m->failed_us = lane_now_us();
    if (m->follows && m->state == MODEL_READY)
        registry_put(j->registry, m);
    free(j);
    waits_call(&m->waits, m);
    registry_unref(m);
}

static bool load_start(struct registry *r, struct model *m)
{
    struct load_job *j = calloc(1, sizeof *j);
    if (!j)
        return false;
    j->builtin = !folder_find(r, m->name, j->path, sizeof j->path);
    if (j->builtin)
        snprintf(j->path, sizeof j->path, "%s", m->name);
    j->registry = r;
    j->model = m;
    j->max_bytes = r->conf->models_max_model_bytes;
    j->work.data = j;
    if (work_start(r->loop, &j->work, load_work, load_done) < 0) {
        free(j);
        return false;
    }
    m->state = MODEL_LOADING;
    m->begun_us = lane_now_us();
    registry_ref(m);
    return true;
}

bool registry_load(struct registry *r, struct model *m, bool afresh, model_loaded *done, void *arg)
{
    bool failed = m->state == MODEL_FAILED && !afresh && lane_now_us() - m->failed_us < RETRY_US;
    if (m->state == MODEL_READY || failed) {
        done(arg, m);
        return true;
    }
    if (!wait_add(&m->waits, done, arg))
        return false;
    if (m->state == MODEL_LOADING || load_start(r, m))
        return true;
    registry_forget(m, done, arg);
    return false;
}

bool registry_renew(struct registry *r, const struct model *m, model_loaded *done, void *arg)
{
    struct model *next = model_new(r, m->name);
    if (!next)
        return false;
    next->follows = true;
    if (wait_add(&next->waits, done, arg) && load_start(r, next))
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

bool model_is_listed(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += n)
        if ((at == names || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

static bool model_is_idle(const struct registry *r, struct model *m, uint64_t now_us)
{
    if (m->state != MODEL_READY || m->refs > 1)
        m->used_us = now_us;
    return r->conf->models_keep_alive_s && now_us - m->used_us >= r->conf->models_keep_alive_s * UINT64_C(1000000) &&
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
