/* SPDX-License-Identifier: MIT */
/* Who is let in, on which compute thread, and what is done when there is too little compute after
 * all. */
#include "daemon/daemon.h"

#include <string.h>

#define COST_STEP 0.02f /* share by which one pulse moves what a model is thought to cost */
#define COST_QUANTILE 0.95f
#define COST_FAR 4                      /* times what it is thought to cost: the step is larger */
#define COST_FAR_STEP 1.25f
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000
#define STALL_US UINT64_C(250000)       /* well over the longest that the loop waits */

/* ---- cost ---- */

/* Follows the 95th percentile: up for one pulse in twenty as often as down for the others. A
 * recogniser behind a detector costs little while nobody speaks, and is counted as what it costs
 * when somebody does. */
void admit_pulse(struct model *m, double rtf)
{
    float step = m->rtf * COST_STEP;
    if (rtf > COST_FAR * (double) m->rtf)
        m->rtf *= COST_FAR_STEP;
    else if (rtf > (double) m->rtf)
        m->rtf += step * COST_QUANTILE;
    else if (!m->lane.words_plan && m->rtf > 1e-6f)
        m->rtf -= step * (1 - COST_QUANTILE);
}

/* Live streams of one thread, or of all. */
static double load_of(const struct daemon *d, const struct worker *w)
{
    double load = 0;
    for (const struct session *s = d->sessions; s; s = s->next)
        if (s->live && s->lane && !s->gone && (!w || s->worker == w))
            load += (double) s->model->rtf;
    return load;
}

static unsigned sessions_of(const struct daemon *d, const struct worker *w)
{
    unsigned n = 0;
    for (const struct session *s = d->sessions; s; s = s->next)
        n += s->worker == w && !s->gone;
    return n;
}

static bool takes_live(struct worker *w, uint64_t now_us)
{
    return now_us >= atomic_load_explicit(&w->overload.refuse_until_us, memory_order_relaxed);
}

/* ---- opening ---- */

bool admit_full(struct daemon *d)
{
    uint64_t now_us = lane_now_us();
    bool takes = false;
    for (unsigned i = 0; i < d->n_workers; i++)
        takes |= takes_live(&d->workers[i], now_us);
    d->rtf_load = load_of(d, NULL);
    return !takes || d->rtf_load >= d->conf.limits_rtf_budget * d->n_workers;
}

struct worker *admit_worker(struct daemon *d, bool live, double rtf)
{
    struct worker *best = NULL;
    double budget = d->conf.limits_rtf_budget, least = 0, most = budget > 1 ? budget : 1;
    uint64_t now_us = lane_now_us();
    unsigned fewest = 0;
    d->rtf_load = load_of(d, NULL);
    if (live && d->rtf_load + rtf > budget * d->n_workers)
        return NULL;
    for (unsigned i = 0; i < d->n_workers; i++) {
        struct worker *w = &d->workers[i];
        double load = load_of(d, w);
        unsigned n = sessions_of(d, w);
        if (live && (!takes_live(w, now_us) || (load > 0 && load + rtf > most)))
            continue;
        if (best && (load > least || (load >= least && n >= fewest)))
            continue;
        best = w;
        least = load;
        fewest = n;
    }
    if (best && live)
        d->rtf_load += rtf;
    return best;
}

uint32_t admit_retry_ms(struct daemon *d)
{
    uint64_t now_us = lane_now_us(), until_us = 0;
    for (unsigned i = 0; i < d->n_workers; i++) {
        uint64_t us =
            atomic_load_explicit(&d->workers[i].overload.refuse_until_us, memory_order_relaxed);
        until_us = us > until_us ? us : until_us;
    }
    uint64_t ms = until_us > now_us ? (until_us - now_us) / 1000 : 0;
    return (uint32_t) (ms < RETRY_MIN_MS ? RETRY_MIN_MS : ms > RETRY_MAX_MS ? RETRY_MAX_MS : ms);
}

/* ---- what to do under overload ---- */

static rill_overload policy_of(const struct daemon *d, const struct model *m, bool *ret_off)
{
    static const struct { const char *name; rill_overload policy; } names[] = {
        { "bypass", RILL_OVERLOAD_BYPASS },
        { "skip", RILL_OVERLOAD_SKIP },
        { "shed", RILL_OVERLOAD_SHED },
    };
    rill_overload policy = m->info.overload;
    *ret_off = strcmp(d->conf.overload_policy, "off") == 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(d->conf.overload_policy, names[i].name) == 0)
            policy = names[i].policy;
    if (policy == RILL_OVERLOAD_AUTO)
        policy = m->lane.audio_out >= 0 ? RILL_OVERLOAD_BYPASS : RILL_OVERLOAD_SKIP;
    return policy;
}

const char *admit_policy_name(const struct daemon *d, const struct model *m)
{
    static const char *const names[] = { "", "bypass", "skip", "shed" };
    bool off;
    rill_overload policy = policy_of(d, m, &off);
    return off ? "off" : names[policy];
}

void admit_relief(const struct session *s, struct lane_opts *o)
{
    bool off;
    rill_overload policy = policy_of(s->daemon, s->model, &off);
    if (off || !s->live)
        return;
    o->relief = !s->want_audio           ? RELIEF_SKIP
        : policy == RILL_OVERLOAD_BYPASS ? RELIEF_BYPASS
                                         : RELIEF_SILENCE;
    o->sheds = policy == RILL_OVERLOAD_SHED;
    o->fade_ms = s->daemon->conf.overload_fade_ms;
}

void admit_conf(struct daemon *d)
{
    const struct conf *c = &d->conf;
    const struct overload_conf o = { .misses = c->overload_misses,
                                     .window_ms = c->overload_window_ms,
                                     .calm_ms = c->overload_calm_ms,
                                     .share = c->overload_share };
    for (unsigned i = 0; i < d->n_workers; i++)
        overload_set(&d->workers[i].overload, &o);
}

/* ---- as time goes ---- */

static void realtime_look(struct daemon *d, unsigned i)
{
    static const char *const texts[] = { "", "has real-time priority",
                                         "gets no real-time priority and goes on without",
                                         "ran for too long at real-time priority and lost it" };
    struct worker *w = &d->workers[i];
    int state = atomic_load(&w->realtime.state);
    if (state == w->realtime_told)
        return;
    w->realtime_told = state;
    log_line(&d->log, state == REALTIME_ON ? LOG_INFO : LOG_WARN, "compute thread %u %s%s%s", i,
             texts[state], state == REALTIME_FAILED ? ": " : "",
             state == REALTIME_FAILED ? strerror(atomic_load(&w->realtime.error)) : "");
}

static void overload_look(struct daemon *d, unsigned i)
{
    struct worker *w = &d->workers[i];
    uint32_t level = atomic_load(&w->overload.level),
             relieved = atomic_load(&w->overload.n_relieved);
    if (level == w->level_told)
        return;
    log_line(&d->log, level > w->level_told ? LOG_WARN : LOG_INFO,
             "compute thread %u: overload %u -> %u, %u streams go without the model", i,
             w->level_told, level, relieved);
    w->level_told = level;
}

void admit_tick(struct daemon *d)
{
    d->rtf_load = load_of(d, NULL);
    for (unsigned i = 0; i < d->n_workers; i++) {
        realtime_look(d, i);
        overload_look(d, i);
        if (d->workers[i].level_told &&
            lane_now_us() > atomic_load(&d->workers[i].overload.refuse_until_us))
            worker_wake(&d->workers[i]); /* one that has nothing to do takes its steps back, too */
    }
}

void admit_stats(const struct daemon *d, Rill__StatsReply *a)
{
    for (unsigned i = 0; i < d->n_workers; i++) {
        struct worker *w = &d->workers[i];
        uint32_t level = atomic_load(&w->overload.level);
        a->rt_threads += atomic_load(&w->realtime.state) == REALTIME_ON;
        a->streams_relieved += atomic_load(&w->overload.n_relieved);
        a->overload_level = level > a->overload_level ? level : a->overload_level;
    }
    a->rt_demotions = realtime_demotions();
}

void admit_polls(struct daemon *d)
{
    uint64_t now_us = lane_now_us();
    d->stalled_us = d->polled_us && now_us - d->polled_us > STALL_US ? d->polled_us : 0;
    d->polled_us = now_us;
}

/* Where the loop itself stood still, what it reads now may have come at any time since it last
 * waited. */
uint64_t admit_stalled_us(const struct daemon *d)
{
    return d->stalled_us                                          ? d->stalled_us
        : d->polled_us && lane_now_us() - d->polled_us > STALL_US ? d->polled_us
                                                                  : 0;
}
