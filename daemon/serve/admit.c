/* SPDX-License-Identifier: MIT */
/* Admission control, the choice of a compute thread, and the policy under overload. */
#include "daemon/serve/admit.h"
#include "daemon/base/clock.h"
#include "daemon/base/conf.h"
#include "daemon/base/cost.h"
#include "daemon/base/log.h"
#include "daemon/compute/lane.h"
#include "daemon/compute/pool.h"
#include "daemon/compute/worker.h"
#include "daemon/models/registry.h"
#include "daemon/serve/claim.h"
#include "daemon/serve/daemon.h"
#include "daemon/serve/meter.h"
#include "daemon/serve/session.h"
#include "daemon/serve/session_list.h"

#include <string.h>

#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000

/* ---- load ---- */

/* The load of live streams of all threads, or of one: what helpers take is none of its. */
static struct load load_of(const struct daemon *d, const struct worker *w)
{
    struct load load = { 0, 0, 0 };
    for (const struct session *s = d->sessions->first; s; s = s->next) {
        if (!s->live || !s->lane || s->gone || (w && s->worker != w))
            continue;
        struct claim c = claim_of(s);
        load.compute += w ? c.compute / spread_of(s->model) : c.compute;
        load.loop += c.loop;
        load.all += claim_all(c);
    }
    return load;
}

static unsigned sessions_of(const struct daemon *d, const struct worker *w)
{
    unsigned n = 0;
    for (const struct session *s = d->sessions->first; s; s = s->next)
        n += s->worker == w && !s->gone;
    return n;
}

double admit_contention(const struct daemon *d)
{
    struct contention all = d->metering->loop.contention;
    for (unsigned i = 0; i < d->pool->n_live; i++) {
        all.cpu_ns += d->pool->workers[i].meter.contention.cpu_ns;
        all.busy_ns += d->pool->workers[i].meter.contention.busy_ns;
    }
    return contention_share(&all);
}

struct load admit_budget(const struct daemon *d)
{
    double share = d->conf->limits_rtf_budget * admit_contention(d);
    unsigned threads = d->pool->n_live + 1;
    return (struct load) {
        .compute = share * d->pool->n_live,
        .loop = share,
        .all = share * (threads < d->pool->n_processors ? threads : d->pool->n_processors)
    };
}

bool admit_is_overcommitted(const struct daemon *d)
{
    return d->admission->load.all > d->pool->n_processors * admit_contention(d);
}

static bool takes_live(struct worker *w, uint64_t now_us)
{
    return now_us >= atomic_load_explicit(&w->overload.refuse_until_us, memory_order_relaxed);
}

/* ---- opening ---- */

static bool load_fits(struct load load, struct claim more, struct load budget)
{
    return load.compute + more.compute <= budget.compute && load.loop + more.loop <= budget.loop &&
        load.all + claim_all(more) <= budget.all;
}

bool admit_full(struct daemon *d)
{
    static const struct claim least = { 1e-9, 1e-9 };
    uint64_t now_us = clock_now_us();
    bool takes = false;
    for (unsigned i = 0; i < d->pool->n_live; i++)
        takes |= takes_live(&d->pool->workers[i], now_us);
    d->admission->load = load_of(d, NULL);
    return !takes || !load_fits(d->admission->load, least, admit_budget(d));
}

/* Of a range of threads the one with the least load, of equal ones that with the fewest streams. */
static struct worker *least_loaded(struct daemon *d, unsigned first, unsigned last, double most,
                                   bool live)
{
    struct worker *best = NULL;
    uint64_t now_us = clock_now_us();
    double least = 0;
    unsigned fewest = 0;
    for (unsigned i = first; i < last; i++) {
        struct worker *w = &d->pool->workers[i];
        double load = load_of(d, w).compute;
        unsigned n = sessions_of(d, w);
        if (live && (!takes_live(w, now_us) || (load > 0 && load > most)))
            continue;
        if (best && (load > least || (load >= least && n >= fewest)))
            continue;
        best = w;
        least = load;
        fewest = n;
    }
    return best;
}

/* Live streams that are helped run on one thread, one after the other by their deadlines: so none
 * finds the helpers at work for another. NULL: it has no room. */
static struct worker *helped_worker(struct daemon *d, double most)
{
    for (unsigned i = 0; i < d->pool->n_live; i++)
        for (const struct session *s = d->sessions->first; s; s = s->next)
            if (s->worker == &d->pool->workers[i] && s->live && !s->gone && s->lane &&
                s->model->lane.threads > 1)
                return least_loaded(d, i, i + 1, most, true);
    return least_loaded(d, 0, d->pool->n_live, most, true);
}

struct worker *admit_worker(struct daemon *d, bool live, const struct model *m)
{
    struct claim price = claim_price(d, m);
    double budget = d->conf->limits_rtf_budget, most = budget > 1 ? budget : 1;
    d->admission->load = load_of(d, NULL);
    if (!live)
        return least_loaded(d, d->pool->n_live, d->pool->n, 0, false);
    if (!load_fits(d->admission->load, price, admit_budget(d)))
        return NULL;
    if (m->lane.threads > 1)
        return helped_worker(d, most - price.compute / spread_of(m));
    return least_loaded(d, 0, d->pool->n_live, most - price.compute, true);
}

const char *admit_refusal(struct daemon *d)
{
    uint64_t now_us = clock_now_us();
    for (unsigned i = 0; i < d->pool->n_live; i++)
        if (takes_live(&d->pool->workers[i], now_us))
            return "live streams have claimed the compute there is (rtf_budget)";
    return "pulses of live streams came out late a moment ago (overload); try again later";
}

uint32_t admit_retry_ms(struct daemon *d)
{
    uint64_t now_us = clock_now_us(), until_us = 0;
    for (unsigned i = 0; i < d->pool->n; i++) {
        uint64_t us = atomic_load_explicit(&d->pool->workers[i].overload.refuse_until_us,
                                           memory_order_relaxed);
        until_us = us > until_us ? us : until_us;
    }
    uint64_t ms = until_us > now_us ? (until_us - now_us) / 1000 : 0;
    return (uint32_t) (ms < RETRY_MIN_MS ? RETRY_MIN_MS : ms > RETRY_MAX_MS ? RETRY_MAX_MS : ms);
}

/* ---- overload ---- */

static rill_overload policy_of(const struct daemon *d, const struct model *m, bool *ret_off)
{
    static const struct {
        const char *name;
        rill_overload policy;
    } names[] = {
        { "bypass", RILL_OVERLOAD_BYPASS },
        { "skip", RILL_OVERLOAD_SKIP },
        { "shed", RILL_OVERLOAD_SHED },
    };
    rill_overload policy = m->info.overload;
    *ret_off = strcmp(d->conf->overload_policy, "off") == 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(d->conf->overload_policy, names[i].name) == 0)
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

void admit_bypass(const struct session *s, struct lane_opts *o)
{
    bool off;
    rill_overload policy = policy_of(s->daemon, s->model, &off);
    if (off || !s->live)
        return;
    o->bypass_mode = !s->want_audio      ? BYPASS_SKIP
        : policy == RILL_OVERLOAD_BYPASS ? BYPASS_DRY
                                         : BYPASS_SILENCE;
    o->sheds = policy == RILL_OVERLOAD_SHED;
    o->fade_ms = s->daemon->conf->overload_fade_ms;
}

void admit_conf(struct daemon *d)
{
    const struct conf *c = d->conf;
    const struct overload_conf o = { .misses = c->overload_misses,
                                     .window_ms = c->overload_window_ms,
                                     .calm_ms = c->overload_calm_ms,
                                     .share = c->overload_share };
    for (unsigned i = 0; i < d->pool->n; i++)
        overload_set(&d->pool->workers[i].overload, &o);
}

/* ---- the tick ---- */

static void realtime_log(struct daemon *d, unsigned i)
{
    static const char *const texts[] = { "", "has real-time priority",
                                         "gets no real-time priority and goes on without",
                                         "ran for too long at real-time priority and lost it" };
    struct worker *w = &d->pool->workers[i];
    int state = atomic_load(&w->realtime.state);
    if (state == w->realtime_logged)
        return;
    w->realtime_logged = state;
    log_line(d->log, state == REALTIME_ON ? LOG_INFO : LOG_WARN, "compute thread %u %s%s%s", i,
             texts[state], state == REALTIME_FAILED ? ": " : "",
             state == REALTIME_FAILED ? strerror(atomic_load(&w->realtime.error)) : "");
}

static void overload_log(struct daemon *d, unsigned i)
{
    struct worker *w = &d->pool->workers[i];
    uint32_t level = atomic_load(&w->overload.level),
             bypassed = atomic_load(&w->overload.n_bypassed);
    if (level == w->level_logged)
        return;
    log_line(d->log, level > w->level_logged ? LOG_WARN : LOG_INFO,
             "compute thread %u: overload %u -> %u, %u streams go without the model", i,
             w->level_logged, level, bypassed);
    w->level_logged = level;
}

void admit_tick(struct daemon *d)
{
    d->admission->load = load_of(d, NULL);
    for (unsigned i = 0; i < d->pool->n; i++) {
        realtime_log(d, i);
        overload_log(d, i);
        if (d->pool->workers[i].level_logged &&
            clock_now_us() > atomic_load(&d->pool->workers[i].overload.refuse_until_us))
            worker_wake(&d->pool->workers[i]); /* an idle thread must take its steps down, too */
    }
}

void admit_stats(const struct daemon *d, Rill__StatsReply *a)
{
    for (unsigned i = 0; i < d->pool->n; i++) {
        struct worker *w = &d->pool->workers[i];
        uint32_t level = atomic_load(&w->overload.level);
        a->rt_threads += atomic_load(&w->realtime.state) == REALTIME_ON;
        a->streams_relieved += atomic_load(&w->overload.n_bypassed);
        a->overload_level = level > a->overload_level ? level : a->overload_level;
    }
    a->rt_demotions = realtime_demotions();
}
