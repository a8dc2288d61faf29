/* SPDX-License-Identifier: MIT */
/* Loading the models of the settings at start, and reading the settings again later. */
#include "daemon/base/clock.h"
#include "daemon/base/conf.h"
#include "daemon/base/lifecycle.h"
#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/daemon.h"
#include "daemon/models/registry.h"
#include "daemon/net/conn.h"
#include "daemon/serve/admit.h"
#include "daemon/serve/limits.h"

#include <errno.h>
#include <unistd.h>

#define REQUESTERS_MAX 8
/* the pause after a reload over its time, so that reloads take a third of the time at most */
#define REST_TIMES 2
#define REST_MAX_US UINT64_C(2000000)

/* A reload in progress: the new settings and models are made beside the old ones, and replace them
 * once all are ready. A failure leaves the daemon as it was. */
struct reload {
    struct daemon *daemon;
    struct conf conf;
    struct registry registry;
    int left;
    bool starting;
    char err[CONF_ERROR_BYTES];
    struct {
        struct conn *conn;
        uint32_t req;
    } requesters[REQUESTERS_MAX];
    unsigned n_requesters;
    uint64_t began_us;
};

/* ---- at start ---- */

/* A model that was not loaded because the daemon is stopping is no failure. */
static void on_preloaded(void *arg, struct model *m)
{
    struct daemon *d = arg;
    d->life->preloads_left--;
    if (m->state == MODEL_READY)
        log_event(d->log, LOG_INFO, EVENT_MODEL_LOADED,
                  "model=%s loaded rate=%u pulse=%u latency=%u rtf=%.4f stream_bytes=%llu cpu=%s "
                  "sha256=%.12s",
                  m->name, m->lane.rate, m->lane.pulse_samples, m->lane.latency_samples,
                  (double) m->rtf, (unsigned long long) m->plan_info.stream_bytes, m->plan_info.cpu,
                  m->sha256);
    else if (!d->life->stopping)
        log_event(d->log, LOG_ERROR, EVENT_MODEL_FAILED, "model=%s cannot be loaded: %s", m->name,
                  m->error.text);
    if (m->state != MODEL_READY && !d->life->ready && !d->life->stopping)
        d->life->exit_code = 1;
    registry_unref(m);
}

static bool preload_one(void *arg, const char *name)
{
    struct daemon *d = arg;
    char why[FOLDERS_WHY_BYTES];
    struct model *m = registry_get(d->registry, name, why);
    if (!m) {
        log_line(d->log, LOG_ERROR, "models.preload: '%s': %s", name, why);
        return false;
    }
    d->life->preloads_left++;
    if (registry_load(d->registry, m, NULL, true, on_preloaded, d))
        return true;
    log_line(d->log, LOG_ERROR, "model=%s cannot be loaded: out of memory or threads", m->name);
    d->life->preloads_left--;
    registry_unref(m);
    return false;
}

/* The daemon runs without its default model, since streams may name others. words: for the log and
 * the reply. */
static bool default_exists(struct daemon *d, char *words, size_t n)
{
    const char *name = d->conf->models_default_model;
    char why[FOLDERS_WHY_BYTES];
    words[0] = '\0';
    if (model_exists(d->conf->models_model_path, name, why))
        return true;
    snprintf(words, n, "models.default_model: '%.80s': %s", name, why);
    log_line(d->log, LOG_WARN, "%s", words);
    return false;
}

bool daemon_preload(struct daemon *d)
{
    char words[FOLDERS_WHY_BYTES + 120];
    default_exists(d, words, sizeof words);
    return model_names_each(d->conf->models_preload, preload_one, d);
}

/* ---- later ---- */

static void answer(struct reload *r, const char *text, bool good)
{
    for (unsigned i = 0; i < r->n_requesters; i++) {
        struct conn *c = r->requesters[i].conn;
        Rill__CtlDone a = RILL__CTL_DONE__INIT;
        Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
        if (!c)
            continue;
        a.text = (char *) (uintptr_t) text;
        f.m_case = RILL__SERVER_FRAME__M_CTL_DONE;
        f.ctl_done = &a;
        if (good)
            conn_send(c, r->requesters[i].req, &f);
        else
            conn_error(c, r->requesters[i].req, 0, RILL__CODE__BAD_ARG, false, "%s", text);
    }
}

/* New versions replace the old ones; models that are gone are unloaded. */
static void models_apply(struct reload *r)
{
    struct registry *to = r->daemon->registry;
    for (struct model *m = to->models, *next; m; m = next) {
        next = m->next;
        if (m->state == MODEL_FAILED ||
            (m->state == MODEL_READY && !registry_has(&r->registry, m->name)))
            registry_unload(to, m);
    }
    while (r->registry.models) {
        struct model *m = registry_take_first(&r->registry);
        registry_replace(to, m);
        registry_unref(m);
    }
    registry_prune(to);
}

static void reload_apply(struct reload *r)
{
    struct daemon *d = r->daemon;
    char fixed[CONF_FIXED_BYTES], missing[FOLDERS_WHY_BYTES + 120],
        text[sizeof fixed + sizeof missing + 40] = "";
    conf_keep_fixed(&r->conf, d->conf, fixed);
    if (fixed[0])
        snprintf(text, sizeof text, "these need a restart: %s", fixed);
    *d->conf = r->conf;
    admit_conf(d);
    memory_conf(d);
    models_apply(r);
    log_set_level(d->log, d->conf->log_level);
    log_event(d->log, LOG_INFO, EVENT_RELOADED, "reloaded %s%s%s", d->life->conf_path,
              text[0] ? "; " : "", text);
    if (!default_exists(d, missing, sizeof missing))
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? "; " : "",
                 missing);
    answer(r, text, true);
}

static void reload_end(struct reload *r)
{
    struct daemon *d = r->daemon;
    if (r->err[0]) {
        log_line(d->log, LOG_ERROR, "reload refused, the old settings stay: %s", r->err);
        answer(r, r->err, false);
    } else {
        reload_apply(r);
    }
    registry_clear(&r->registry);
    uint64_t now_us = clock_now_us(), rest_us = (now_us - r->began_us) * REST_TIMES;
    d->reloads->not_before_us = now_us + (rest_us < REST_MAX_US ? rest_us : REST_MAX_US);
    notify_send("READY=1\nSTATUS=%s",
                r->err[0] ? "Running with the settings from before a refused reload" : "Running");
    d->reloads->running = NULL;
    free(r);
}

static void on_reloaded(void *arg, struct model *m)
{
    struct reload *r = arg;
    r->left--;
    if (m->state != MODEL_READY && !r->err[0])
        snprintf(r->err, sizeof r->err, "%s%s: %s",
                 model_is_listed(r->conf.models_preload, m->name) ? "models.preload: " : "",
                 m->name, m->error.text);
    registry_unref(m);
    if (!r->left && !r->starting)
        reload_end(r);
}

static bool reload_one(void *arg, const char *name)
{
    struct reload *r = arg;
    char why[FOLDERS_WHY_BYTES];
    struct model *m = registry_get(&r->registry, name, why);
    if (!m) {
        snprintf(r->err, sizeof r->err, "models.preload: '%s': %s", name, why);
        return false;
    }
    r->left++;
    if (registry_load(&r->registry, m, NULL, true, on_reloaded, r))
        return true;
    snprintf(r->err, sizeof r->err, "models.preload: %s: out of memory or threads", m->name);
    r->left--;
    registry_unref(m);
    return false;
}

/* Models that are loaded now are loaded anew. */
static void reload_loaded(struct reload *r)
{
    char why[FOLDERS_WHY_BYTES];
    for (const struct model *m = r->daemon->registry->models; m && !r->err[0]; m = m->next) {
        if (m->state != MODEL_READY || model_is_listed(r->conf.models_preload, m->name))
            continue;
        struct model *new = registry_get(&r->registry, m->name, why);
        if (!new &&errno != ENOENT)
            snprintf(r->err, sizeof r->err, "%s: %s", m->name, why);
        if (!new)
            continue;
        r->left++;
        if (!registry_load(&r->registry, new, NULL, true, on_reloaded, r)) {
            r->left--;
            registry_unref(new);
            snprintf(r->err, sizeof r->err, "%s: out of memory", m->name);
        }
    }
}

static void requester_add(struct reload *r, struct conn *c, uint32_t req)
{
    if (c && r->n_requesters < REQUESTERS_MAX) {
        r->requesters[r->n_requesters].conn = c;
        r->requesters[r->n_requesters++].req = req;
    } else if (c) {
        conn_error(c, req, 0, RILL__CODE__OVERLOADED, false, "a reload is in progress");
    }
}

static void reload_run(struct daemon *d, struct reload *r)
{
    r->starting = true;
    r->began_us = clock_now_us();
    d->reloads->running = r;
    notify_send("RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=Reloading",
                (unsigned long long) clock_now_us());
    registry_init(&r->registry, d->loop, &r->conf);
    r->registry.root = d->registry;
    if (conf_load(&r->conf, d->life->conf_path, d->life->conf_may_miss, r->err) &&
        model_names_each(r->conf.models_preload, reload_one, r))
        reload_loaded(r);
    r->starting = false;
    if (!r->left)
        reload_end(r);
}

void reload_start(struct daemon *d, struct conn *c, uint32_t req)
{
    struct reload *r = d->reloads->next ? d->reloads->next : calloc(1, sizeof *r);
    if (!r) {
        log_line(d->log, LOG_ERROR, "reload refused: out of memory");
        if (c)
            conn_error(c, req, 0, RILL__CODE__INTERNAL, false, "out of memory");
        return;
    }
    r->daemon = d;
    requester_add(r, c, req);
    d->reloads->next = r;
    reload_tick(d, clock_now_us());
}

void reload_tick(struct daemon *d, uint64_t now_us)
{
    struct reload *r = d->reloads->next;
    if (!r || d->reloads->running || now_us < d->reloads->not_before_us)
        return;
    d->reloads->next = NULL;
    reload_run(d, r);
}

void reload_drop(struct daemon *d)
{
    free(d->reloads->next);
    d->reloads->next = NULL;
}

static void requesters_forget(struct reload *r, const struct conn *c)
{
    for (unsigned i = 0; i < r->n_requesters; i++)
        if (r->requesters[i].conn == c)
            r->requesters[i].conn = NULL;
}

void reload_forget(struct daemon *d, const struct conn *c)
{
    if (d->reloads->running)
        requesters_forget(d->reloads->running, c);
    if (d->reloads->next)
        requesters_forget(d->reloads->next, c);
}
