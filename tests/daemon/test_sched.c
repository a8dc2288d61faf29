/* SPDX-License-Identifier: MIT */
/* In which order a compute thread serves live lanes, and who runs together: rounds of a worker by
 * hand, with arrivals and costs in seconds, so that nothing depends on how fast the machine is. */
#include "daemon/base/clock.h"
#include "daemon/compute/worker.h"
#include "tests/daemon/fake_rill.h"
#include "tests/daemon/guarded.h"
#include "tests/daemon/harness.h"

#define SECOND UINT64_C(1000000)

struct kind {
    rill_model *model;
    rill_plan *plan;
    struct lane_model lane;
};

static void progress(void *arg)
{
    ++*(unsigned *) arg;
}

static void kind_make(struct kind *k, const char *name)
{
    rill_error err;
    float rtf;
    memset(k, 0, sizeof *k);
    if (rill_model_builtin(&k->model, name, &err) != RILL_OK ||
        rill_plan_new(&k->plan, k->model, NULL, &err) != RILL_OK ||
        lane_model_probe(&k->lane, k->plan, 16000, &rtf, &err) != RILL_OK)
        give_up("%s: %s", name, err.text);
    k->lane.run_us = 1; /* batches are not cut for what may come */
}

static void kind_free(struct kind *k)
{
    rill_plan_unref(k->plan);
    rill_model_free(k->model);
}

/* A live lane with one pulse in it that must be done in so many microseconds from now, and takes
 * cost_us. */
static struct lane *lane_with_pulse(struct worker *w, const struct kind *k, int64_t due_us,
                                    uint64_t cost_us)
{
    static const float x[4096];
    const struct lane_opts o = { .in_rate = 16000,
                                 .out_rate = 16000,
                                 .window_samples = 16384,
                                 .align = true,
                                 .want_audio = true };
    struct lane *l = lane_new(&k->lane, &o);
    if (!l)
        give_up("no lane");
    struct lane_arrival a = { .count = k->lane.pulse_samples,
                              .us = clock_now_us() + (uint64_t) due_us - lane_pulse_us(&k->lane) };
    l->live = true;
    l->cost_ns = cost_us * 1000;
    ring_write(&l->arrivals, &a, 1);
    ring_write(&l->in, x, k->lane.pulse_samples);
    worker_add(w, l);
    return l;
}

/* Serves all that waits; what ran must be `want`, as "model x streams" with spaces between. */
static void served(struct worker *w, const char *want)
{
    char got[512] = "";
    fake_n_runs = 0;
    guard_enter();
    while (worker_round(w))
        ;
    unsigned forbidden = guard_leave();
    CHECK(forbidden == 0, "%u allocations, locks or writes", forbidden);
    for (unsigned i = 0; i < fake_n_runs; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s*%u", i ? " " : "",
                 fake_runs[i].model, fake_runs[i].n);
    CHECK(strcmp(got, want) == 0, "ran: %s; expected: %s", got, want);
}

struct bench {
    struct kind brief, lengthy;
    struct worker worker;
    struct lane *lanes[8];
    unsigned n, told;
};

static void add(struct bench *b, const struct kind *k, int64_t due_us, uint64_t cost_us)
{
    b->lanes[b->n++] = lane_with_pulse(&b->worker, k, due_us, cost_us);
}

static void lanes_end(struct bench *b)
{
    for (unsigned i = 0; i < b->n; i++)
        atomic_store(&b->lanes[i]->cancel, true);
    while (worker_round(&b->worker))
        ;
    for (unsigned i = 0; i < b->n; i++) {
        CHECK(atomic_load(&b->lanes[i]->detached));
        lane_free(b->lanes[i]);
    }
    b->n = 0;
}

/* What came first into the thread is not what is served first. */
static void test_order(struct bench *b)
{
    add(b, &b->lengthy, 9 * SECOND, SECOND);
    add(b, &b->brief, 5 * SECOND, SECOND);
    served(&b->worker, "short*1 long*1");
    lanes_end(b);
    add(b, &b->brief, 9 * SECOND, SECOND);
    add(b, &b->lengthy, 5 * SECOND, SECOND);
    served(&b->worker, "long*1 short*1");
    lanes_end(b);
}

static void test_together(struct bench *b)
{
    for (int i = 0; i < 4; i++)
        add(b, &b->lengthy, (5 + i) * (int64_t) SECOND, SECOND);
    unsigned told = b->told;
    served(&b->worker, "long*4");
    CHECK(b->told > told);
    lanes_end(b);
    /* A pulse that is not complete keeps nobody waiting. */
    add(b, &b->brief, SECOND, SECOND);
    add(b, &b->brief, SECOND, SECOND);
    struct lane *l = b->lanes[1];
    served(&b->worker, "short*2");
    ring_write(&l->in, (float[100]) { 0 }, 100);
    ring_write(&b->lanes[0]->in, (float[256]) { 0 }, 256);
    served(&b->worker, "short*1");
    lanes_end(b);
}

/* Four of one second each would take the deadline of the fifth, of another model, in 3.5 seconds:
 * two go before it. */
static void test_price(struct bench *b)
{
    add(b, &b->lengthy, 2 * SECOND, SECOND);
    for (int i = 0; i < 3; i++)
        add(b, &b->lengthy, 60 * SECOND, SECOND);
    add(b, &b->brief, 7 * (int64_t) SECOND / 2, SECOND);
    served(&b->worker, "long*2 short*1 long*2");
    lanes_end(b);
    /* There is time: the deadline is kept with all four before it. */
    add(b, &b->lengthy, 2 * SECOND, SECOND);
    for (int i = 0; i < 3; i++)
        add(b, &b->lengthy, 60 * SECOND, SECOND);
    add(b, &b->brief, 8 * SECOND, SECOND);
    served(&b->worker, "long*4 short*1");
    lanes_end(b);
    /* Two of the other model, the second of which is the tight one. */
    add(b, &b->lengthy, 2 * SECOND, SECOND);
    add(b, &b->lengthy, 60 * SECOND, SECOND);
    add(b, &b->brief, 5 * (int64_t) SECOND, SECOND);
    add(b, &b->brief, 7 * (int64_t) SECOND / 2, SECOND);
    b->lanes[3]->cost_ns = 3 * SECOND * 1000 / 2;
    b->lanes[2]->cost_ns = 2 * SECOND * 1000;
    served(&b->worker, "long*1 short*2 long*1");
    lanes_end(b);
}

/* What is lost already is no reason to run the others one by one. */
static void test_lost(struct bench *b)
{
    add(b, &b->brief, -3 * (int64_t) SECOND, SECOND);
    for (int i = 0; i < 3; i++)
        add(b, &b->lengthy, -4 * (int64_t) SECOND + i, SECOND);
    served(&b->worker, "long*3 short*1");
    lanes_end(b);
}

/* Three pulses that came at once are due one after the other: who sends ahead of real time takes
 * nobody's turn. */
static void test_ahead(struct bench *b)
{
    static const float x[2 * 4096];
    add(b, &b->lengthy, 5 * SECOND, 1);
    add(b, &b->brief, 5 * SECOND + 100000, 1);
    struct lane *l = b->lanes[0];
    struct lane_arrival a = { .count = 3 * 4096,
                              .us = clock_now_us() + 5 * SECOND - lane_pulse_us(&b->lengthy.lane) };
    ring_write(&l->arrivals, &a, 1);
    ring_write(&l->in, x, 2 * 4096);
    served(&b->worker, "long*1 short*1 long*1 long*1");
    CHECK(!l->missed_deadline);
    lanes_end(b);
}

/* A file waits for live ones, however late they are due. */
static void test_file(struct bench *b)
{
    add(b, &b->lengthy, SECOND, SECOND);
    b->lanes[0]->live = false;
    add(b, &b->brief, 60 * SECOND, SECOND);
    served(&b->worker, "short*1 long*1");
    lanes_end(b);
}

/* ---- steps, at times of our own ---- */

static bool late(struct overload *o, uint64_t arrival_us, uint64_t now_us)
{
    guard_enter();
    bool step = overload_miss(o, arrival_us, now_us);
    CHECK(guard_leave() == 0);
    return step;
}

/* Three pulses in one second, each of which came after the last one was seen to be late. */
static uint64_t three_late(struct overload *o, uint64_t t)
{
    CHECK(!late(o, t - 100, t));
    CHECK(!late(o, t - 50, t + 10000), "of the same stall");
    CHECK(!late(o, t + 30000, t + 100000));
    CHECK(late(o, t + 130000, t + 200000));
    return t + 200000;
}

static void test_misses(void)
{
    static struct overload o;
    const struct overload_conf conf = {
        .misses = 3, .window_ms = 1000, .calm_ms = 10000, .share = 0.9
    };
    uint64_t t = 100 * SECOND;
    overload_set(&o, &conf);
    CHECK(!late(&o, t, t + 1) && !late(&o, t + 2, t + 600000) && !late(&o, t + 700000, t + 1200000),
          "slower than that");
    memset(&o, 0, sizeof o);
    overload_set(&o, &conf);
    for (uint64_t k = 0; k < 100; k++)
        CHECK(!late(&o, t - 1000 * k, t + 1000 * k), "a backlog of one stall, pulse %u",
              (unsigned) k);
    memset(&o, 0, sizeof o);
    overload_set(&o, &conf);
    three_late(&o, t);
}

static unsigned bypassed(const struct bench *b)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < b->n; i++)
        bits |= b->lanes[i]->bypass.wanted ? 1u << i : 0;
    return bits;
}

static void lanes_work(struct bench *b, uint64_t t)
{
    for (unsigned i = 0; i < b->n; i++)
        b->lanes[i]->worked_us = t;
}

/* Four lanes of half, half, a quarter and half of the thread, the last of which would rather
 * shed. */
static void test_steps(struct bench *b)
{
    static struct overload o;
    const struct overload_conf conf = {
        .misses = 3, .window_ms = 1000, .calm_ms = 10000, .share = 0.9
    };
    uint64_t t = 100 * SECOND;
    overload_set(&o, &conf);
    for (int i = 0; i < 4; i++) {
        add(b, &b->brief, SECOND, i == 2 ? 4000 : 8000);
        b->lanes[i]->opts.bypass_mode = BYPASS_DRY;
    }
    b->lanes[3]->opts.sheds = true;
    t = three_late(&o, t);
    lanes_work(b, t);
    overload_step(&o, b->lanes, 4, t);
    CHECK(bypassed(b) == 3 && o.level == 1 && o.n_bypassed == 2, "%x at level %u", bypassed(b),
          o.level);
    CHECK(o.refuse_until_us == t + 10 * SECOND);
    CHECK(!late(&o, t - 5, t + 400000) && !late(&o, t - 4, t + 800000) &&
              !late(&o, t - 3, t + 900000),
          "from before the step");
    t = three_late(&o, t + SECOND);
    lanes_work(b, t);
    overload_step(&o, b->lanes, 4, t);
    CHECK(bypassed(b) == 11 && o.level == 2, "%x", bypassed(b));
    overload_calm(&o, b->lanes, 4, t + 9 * SECOND);
    CHECK(bypassed(b) == 11, "too soon");
    t += 10 * SECOND;
    lanes_work(b, t);
    overload_calm(&o, b->lanes, 4, t);
    CHECK(__builtin_popcount(bypassed(b)) == 2 && !(bypassed(b) & 4) && o.level == 1,
          "one comes back, no second one fits: %x", bypassed(b));
    /* A relapse: twice as long until the next step back. */
    t = three_late(&o, t + SECOND);
    lanes_work(b, t);
    overload_step(&o, b->lanes, 4, t);
    CHECK(o.hold_us == 20 * SECOND);
    overload_calm(&o, b->lanes, 4, t + 19 * SECOND);
    CHECK(__builtin_popcount(bypassed(b)) == 3, "%x", bypassed(b));
    for (int k = 1; k <= 4 && bypassed(b); k++) {
        lanes_work(b, t + 20 * SECOND * (unsigned) k);
        overload_calm(&o, b->lanes, 4, t + 20 * SECOND * (unsigned) k);
    }
    CHECK(bypassed(b) == 0 && o.level == 0 && o.refuse_until_us == 0, "%x at level %u", bypassed(b),
          o.level);
    lanes_end(b);
}

/* What is short is not the thread: a third of what runs, at least, goes without its model in the
 * first step, and half in those that follow at once. */
static void test_part(struct bench *b)
{
    static struct overload o;
    const struct overload_conf conf = {
        .misses = 3, .window_ms = 1000, .calm_ms = 10000, .share = 0.9
    };
    static const int want[] = { 3, 6, 7, 8 };
    uint64_t t = 100 * SECOND;
    overload_set(&o, &conf);
    for (int i = 0; i < 8; i++) {
        add(b, &b->brief, SECOND, 800);
        b->lanes[i]->opts.bypass_mode = BYPASS_DRY;
    }
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        t = three_late(&o, t + SECOND / 10);
        lanes_work(b, t);
        overload_step(&o, b->lanes, 8, t);
        CHECK(__builtin_popcount(bypassed(b)) == want[k], "step %zu: %d", k,
              __builtin_popcount(bypassed(b)));
    }
    CHECK(t < 102 * SECOND, "four steps within two seconds of misses");
    lanes_end(b);
}

/* A turn of the loop that is longer than a pulse counts like a late pulse, though this thread was
 * in time; once, and for lanes that can be bypassed. */
static void test_loop(struct bench *b)
{
    struct overload *o = &b->worker.overload;
    const struct overload_conf conf = {
        .misses = 1, .window_ms = 1000, .calm_ms = 10000, .share = 0.9
    };
    uint64_t pulse_us = lane_pulse_us(&b->brief.lane);
    overload_set(o, &conf);
    for (unsigned k = 0; k < 4; k++) {
        add(b, &b->brief, SECOND, 100);
        b->lanes[k]->opts.bypass_mode = k ? BYPASS_DRY : BYPASS_NONE;
        if (k < 3)
            worker_loop_overrun(&b->worker, clock_now_us(), k == 1 ? pulse_us : pulse_us + 1);
        served(&b->worker, "short*1");
        CHECK(o->level == (k > 1), "level %u after turn %u", o->level, k);
    }
    CHECK(bypassed(b) != 0);
    for (uint64_t t = clock_now_us(), k = 0; k < 9; k++)
        overload_step(o, b->lanes, b->n, t + k);
    CHECK(o->level <= 3 && o->n_bypassed == 3, "nobody is left to bypass: level %u", o->level);
    lanes_end(b);
    atomic_store(&o->level, 0);
}

int main(void)
{
    static struct bench b;
    kind_make(&b.brief, "short");
    kind_make(&b.lengthy, "long");
    fake_trace = true;
    if (CHECK(worker_make(&b.worker, 8, 32, progress, &b.told) == 0)) {
        test_order(&b);
        test_together(&b);
        test_price(&b);
        test_lost(&b);
        test_file(&b);
        test_ahead(&b);
        test_misses();
        test_steps(&b);
        test_part(&b);
        test_loop(&b);
    }
    worker_stop(&b.worker);
    kind_free(&b.brief);
    kind_free(&b.lengthy);
    return check_end();
}
