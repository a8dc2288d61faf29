/* SPDX-License-Identifier: MIT */
#include "daemon/compute/overload.h"
#include "daemon/compute/lane.h"

#define ACTIVE_US UINT64_C(1000000) /* a lane without a pulse for so long is counted as no load */
#define STEP_LANES_MAX 256          /* of one step, which bounds its time */
/* A step up takes off at least this part of the load (a third, a half where the step before did not
 * help), since the cause may lie outside of this thread. */
#define STEP_PART 3
#define AGAIN_PART 2
#define AGAIN_US UINT64_C(1000000)
#define HOLD_MOST 8 /* times calm_ms */

static uint32_t get(const _Atomic uint32_t *x)
{
    return atomic_load_explicit(x, memory_order_relaxed);
}

static void put(_Atomic uint32_t *x, uint32_t v)
{
    atomic_store_explicit(x, v, memory_order_relaxed);
}

void overload_set(struct overload *o, const struct overload_conf *conf)
{
    put(&o->misses, conf->misses < OVERLOAD_MISSES_MAX ? conf->misses : OVERLOAD_MISSES_MAX);
    put(&o->window_ms, conf->window_ms);
    put(&o->calm_ms, conf->calm_ms);
    put(&o->share_permille, (uint32_t) (conf->share * 1000));
}

bool overload_miss(struct overload *o, uint64_t arrival_us, uint64_t now_us)
{
    uint32_t misses = get(&o->misses);
    if (arrival_us <= o->step_us || !misses)
        return false;
    o->last_us = now_us;
    if (arrival_us <= o->counted_us &&
        now_us - o->counted_us < get(&o->window_ms) * UINT64_C(1000) / (misses + 1))
        return false;
    o->counted_us = now_us;
    o->miss_us[o->n_misses++ % OVERLOAD_MISSES_MAX] = now_us;
    if (o->n_misses < misses)
        return false;
    uint64_t first_us = o->miss_us[(o->n_misses - misses) % OVERLOAD_MISSES_MAX];
    return now_us - first_us <= get(&o->window_ms) * UINT64_C(1000);
}

/* ---- lanes ---- */

/* Share of the thread that a lane takes while the model runs for it, in millionths. */
static uint64_t lane_share(const struct lane *l, uint64_t now_us)
{
    bool active = l->live && l->worked_us && now_us - l->worked_us < ACTIVE_US;
    return active ? l->cost_ns * 1000 / l->pulse_us : 0;
}

static uint64_t load_of(struct lane *const *lanes, size_t n, uint64_t now_us)
{
    uint64_t load = 0;
    for (size_t i = 0; i < n; i++)
        load += lanes[i]->bypass.wanted ? 0 : lane_share(lanes[i], now_us);
    return load;
}

/* The lane to bypass next: the most costly one, of equal ones the newest. */
static struct lane *victim_find(struct lane *const *lanes, size_t n, bool shed_too, uint64_t now_us)
{
    struct lane *best = NULL;
    for (size_t i = 0; i < n; i++) {
        struct lane *l = lanes[i];
        if (!l->live || l->bypass.wanted || l->opts.bypass_mode == BYPASS_NONE ||
            (l->opts.sheds && !shed_too) || !lane_share(l, now_us))
            continue;
        if (!best || lane_share(l, now_us) >= lane_share(best, now_us))
            best = l;
    }
    return best;
}

/* The bypassed lane that costs least. */
static struct lane *least_find(struct lane *const *lanes, size_t n)
{
    struct lane *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (lanes[i]->bypass.wanted &&
            (!best || lanes[i]->cost_ns * best->pulse_us < best->cost_ns * lanes[i]->pulse_us))
            best = lanes[i];
    return best;
}

void overload_count(struct overload *o, struct lane *const *lanes, size_t n)
{
    uint32_t on = 0;
    for (size_t i = 0; i < n; i++)
        on += lanes[i]->bypass.wanted;
    put(&o->n_bypassed, on);
}

/* ---- steps ---- */

static void step_done(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us)
{
    o->step_us = now_us;
    o->n_misses = 0;
    overload_count(o, lanes, n);
    atomic_store_explicit(&o->refuse_until_us, get(&o->level) ? now_us + o->hold_us : 0,
                          memory_order_relaxed);
}

void overload_step(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us)
{
    uint64_t calm_us = get(&o->calm_ms) * UINT64_C(1000),
             most = get(&o->share_permille) * UINT64_C(1000);
    uint32_t level = get(&o->level);
    bool relapse = o->down_us && now_us - o->down_us < o->hold_us;
    bool helps = false, again = o->step_us > o->down_us && now_us - o->step_us < AGAIN_US;
    uint64_t load = load_of(lanes, n, now_us),
             part = load - load / (again ? AGAIN_PART : STEP_PART);
    most = most < part ? most : part;
    for (unsigned k = 0; k < STEP_LANES_MAX && (k == 0 || load > most); k++) {
        struct lane *l = victim_find(lanes, n, level > 0, now_us);
        if (!l)
            break;
        l->bypass.wanted = true;
        load -= lane_share(l, now_us);
        helps = true;
    }
    put(&o->level, helps || !level ? level + 1 : level);
    o->hold_us = relapse && o->hold_us * 2 <= calm_us * HOLD_MOST ? o->hold_us * 2
        : relapse                                                 ? o->hold_us
                                                                  : calm_us;
    step_done(o, lanes, n, now_us);
}

void overload_calm(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us)
{
    uint64_t since_us = o->last_us > o->step_us ? o->last_us : o->step_us,
             most = get(&o->share_permille) * UINT64_C(1000);
    uint32_t level = get(&o->level);
    if (!level || now_us - since_us < o->hold_us)
        return;
    for (unsigned k = 0; k < STEP_LANES_MAX; k++) {
        struct lane *l = least_find(lanes, n);
        if (!l || (k && load_of(lanes, n, now_us) + lane_share(l, now_us) > most))
            break;
        l->bypass.wanted = false;
    }
    put(&o->level, least_find(lanes, n) ? (level > 1 ? level - 1 : 1) : 0);
    o->down_us = now_us;
    step_done(o, lanes, n, now_us);
}

void overload_idle(struct overload *o, struct lane *const *lanes, size_t n, uint64_t now_us)
{
    for (size_t i = 0; i < n; i++)
        if (lanes[i]->live && now_us - lanes[i]->worked_us < ACTIVE_US)
            return;
    overload_calm(o, lanes, n, now_us);
}
