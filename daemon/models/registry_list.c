/* SPDX-License-Identifier: MIT */
/* The list of a registry's models by name, and their references. */
#include "daemon/models/registry_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static struct model_totals *totals_unref(struct model_totals *t)
{
    if (t && --t->refs == 0)
        free(t);
    return NULL;
}

static void totals_set(struct model *m, struct model_totals *t)
{
    t->refs++;
    totals_unref(m->totals);
    m->totals = t;
    m->stats = &t->stats;
    m->period = &t->period;
}

struct model *registry_model_new(const struct registry *r, const char *name)
{
    struct model *m = calloc(1, sizeof *m);
    struct model_totals *t = calloc(1, sizeof *t);
    if (!m || !t) {
        free(m);
        free(t);
        return NULL;
    }
    memcpy(m->name, name, strlen(name) + 1);
    totals_set(m, t);
    m->refs = 1;
    m->root = r->root;
    return m;
}

void model_waiters_call(struct model_waiter **waiters, struct model *m)
{
    while (*waiters) {
        struct model_waiter *x = *waiters;
        *waiters = x->next;
        x->done(x->arg, m);
        free(x);
    }
}

bool model_waiter_add(struct model_waiter **waiters, model_loaded *done, void *arg)
{
    struct model_waiter *x = malloc(sizeof *x);
    if (!x)
        return false;
    *x = (struct model_waiter) { .done = done, .arg = arg, .next = *waiters };
    *waiters = x;
    return true;
}

struct model *registry_unref(struct model *m)
{
    if (m && --m->refs == 0) {
        m->root->freed |= m->lane.plan != NULL;
        registry_uncharge(m);
        rill_plan_unref(m->lane.plan);
        rill_plan_unref(m->lane.words_plan);
        model_waiters_call(&m->free_waiters, m);
        totals_unref(m->totals);
        free(m);
    }
    return NULL;
}

void registry_init(struct registry *r, uv_loop_t *loop, const struct conf *conf)
{
    *r = (struct registry) { .loop = loop, .conf = conf };
    r->root = r;
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

struct model *model_find(const struct registry *r, const char *name)
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

bool model_is_unused(const struct model *m)
{
    return (m->state == MODEL_KNOWN || m->state == MODEL_FAILED) && m->refs == 1 &&
        m->totals->refs == 1;
}

bool model_is_untouched(const struct model *m)
{
    return m->state == MODEL_KNOWN && m->stats->streams_opened == 0;
}

void model_drop(struct registry *r, struct model *m)
{
    model_remove(r, m);
    registry_unref(m);
}

/* Removes an unused entry: one that was never used, else the least recently used. Entries with
 * statistics are not removed for a mere listing. */
static bool entry_evict(struct registry *r, bool for_list)
{
    struct model *least = NULL;
    uint64_t least_us = 0;
    for (struct model *m = r->models; m; m = m->next) {
        uint64_t us = model_is_untouched(m) ? 0 : m->used_us + 1;
        if (!model_is_unused(m) || (for_list && (m->seen || us)) || (least && us >= least_us))
            continue;
        least = m;
        least_us = us;
    }
    if (least)
        model_drop(r, least);
    return least != NULL;
}

struct model *model_add(struct registry *r, const char *name, bool for_list)
{
    size_t n = 0;
    for (struct model *m = r->models; m; m = m->next)
        n++;
    for (; n >= MAX_MODELS; n--)
        if (!entry_evict(r, for_list)) {
            errno = ENOSPC;
            return NULL;
        }
    struct model *m = registry_model_new(r, name);
    if (m)
        model_insert(r, m);
    else
        errno = ENOMEM;
    return m;
}

void registry_replace(struct registry *r, struct model *m)
{
    struct model *old = model_find(r, m->name);
    if (old == m || (old && old->begun_us > m->begun_us))
        return;
    if (old) {
        totals_set(m, old->totals);
        model_remove(r, old);
        registry_unref(old);
    }
    m->root = r->root;
    model_insert(r, registry_ref(m));
}

bool registry_has(const struct registry *r, const char *name)
{
    return model_find(r, name) != NULL;
}

struct model *registry_take_first(struct registry *r)
{
    struct model *m = r->models;
    if (m)
        model_remove(r, m);
    return m;
}

bool registry_unload(struct registry *r, struct model *m)
{
    struct model *empty = model_find(r, m->name) == m ? registry_model_new(r, m->name) : NULL;
    if (!empty)
        return false;
    empty->begun_us = m->begun_us;
    empty->used_us = m->used_us;
    empty->load_bytes = m->load_bytes;
    registry_replace(r, empty);
    registry_unref(empty);
    return true;
}

bool registry_on_freed(struct model *m, model_loaded *done, void *arg)
{
    return model_waiter_add(&m->free_waiters, done, arg);
}

struct model *registry_get(struct registry *r, const char *name, char why[FOLDERS_WHY_BYTES])
{
    struct model *m = model_find(r, name);
    bool loaded = m && (m->state == MODEL_READY || m->state == MODEL_LOADING);
    if (!loaded && !model_exists(r->conf->models_model_path, name, why))
        return NULL;
    if (!m)
        m = model_add(r, name, false);
    if (m)
        return registry_ref(m);
    if (errno == ENOSPC)
        snprintf(why, FOLDERS_WHY_BYTES,
                 "%d models are in use, the most there can be; unload one (rill ctl unload)",
                 MAX_MODELS);
    else
        snprintf(why, FOLDERS_WHY_BYTES, "out of memory");
    return NULL;
}

bool model_is_listed(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += n)
        if ((at == names || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

bool model_names_each(const char *names, bool (*each)(void *arg, const char *name), void *arg)
{
    char name[66];
    while (*names) {
        size_t n = strcspn(names, " \t,");
        snprintf(name, sizeof name, "%.*s", (int) (n < 65 ? n : 65), names);
        if (n && !each(arg, name))
            return false;
        names += n + (names[n] != '\0');
    }
    return true;
}
