/* SPDX-License-Identifier: MIT */
/* Who is let in: prices, loads and contention of our own, and what admission makes of them. Nothing
 * runs. */
#include "daemon/parts.h"
#include "daemon/serve/session.h"
#include "tests/daemon/harness.h"

#define STREAMS 4000
#define PULSE 160 /* ten milliseconds */

struct desk {
    struct daemon d;
    struct conf conf;
    struct pool pool;
    struct session_list list;
    struct admission admission;
    struct metering metering;
    struct model m;
    struct session sessions[STREAMS];
    unsigned n;
};

/* Two compute threads on so many processors, of which 0.8 are for live streams. A stream takes
 * `compute` of a thread, and each of its pulses loop_ns of the loop. */
static struct desk *desk_make(unsigned processors, double compute, double loop_ns)
{
    static struct desk x;
    static struct worker workers[4];
    memset(&x, 0, sizeof x);
    memset(workers, 0, sizeof workers);
    x.d = (struct daemon) { .conf = &x.conf,
                            .pool = &x.pool,
                            .sessions = &x.list,
                            .admission = &x.admission,
                            .metering = &x.metering };
    x.pool = (struct pool) { .workers = workers, .n = 4, .n_live = 2, .n_processors = processors };
    x.conf.limits_rtf_budget = 0.8;
    x.m.lane.rate = 16000;
    x.m.lane.pulse_samples = PULSE;
    x.m.rtf = (float) compute;
    x.metering.pulse_cost.price = (float) loop_ns;
    return &x;
}

static struct session *open_one(struct desk *x, bool live)
{
    static struct lane lane;
    struct session *s = &x->sessions[x->n];
    struct worker *w = admit_worker(&x->d, live, &x->m);
    if (!w || x->n == STREAMS)
        return NULL;
    *s = (struct session) { .daemon = &x->d,
                            .model = &x->m,
                            .worker = w,
                            .live = live,
                            .lane = &lane,
                            .next = x->list.first };
    x->list.first = s;
    x->n++;
    return s;
}

static unsigned fill(struct desk *x)
{
    unsigned before = x->n;
    while (open_one(x, true))
        ;
    return x->n - before;
}

/* Until one of the three is used up: the compute threads, the loop, the machine, which both and the
 * clients share. */
static void test_limits(void)
{
    CHECK(fill(desk_make(64, 0.0101, 10)) == 158, "compute");
    CHECK(fill(desk_make(64, 0.0001, 81000)) == 98, "the loop");
    CHECK(fill(desk_make(2, 0.0101, 50500)) == 79, "the machine");
    CHECK(fill(desk_make(3, 0.0101, 50500)) == 118, "the machine, with a processor for the loop");
    CHECK(admit_full(&desk_make(2, 0.1, 0)->d) == false);
}

/* A stream that takes more than the price of its model is charged what it takes; one that takes
 * less may yet take as much. */
static void test_used(void)
{
    struct desk *x = desk_make(2, 0.1, 0);
    struct session *s = open_one(x, true);
    s->used = (struct claim) { 1.05, 0 };
    CHECK(fill(x) == 5);
    x = desk_make(2, 0.0999, 0);
    s = open_one(x, true);
    s->used = (struct claim) { 0.001, 0.05 };
    unsigned n = fill(x);
    CHECK(n == 14, "%u", n);
}

/* Streams whose pulses are helped stand on one thread, which has the pulse for a third of what all
 * take together; the machine is charged the whole. */
static void test_helped(void)
{
    struct desk *x = desk_make(64, 0.5, 0);
    x->m.lane.threads = 4;
    x->m.lane.spread = 3;
    CHECK(fill(x) == 3, "%u of the 1.6 that there is", x->n);
    for (unsigned i = 1; i < x->n; i++)
        CHECK(x->sessions[i].worker == x->sessions[0].worker, "stream %u is elsewhere", i);
    x = desk_make(64, 0.5, 0);
    x->m.lane.threads = 4;
    x->m.lane.spread = 1.1f;
    CHECK(fill(x) == 2, "%u: more than one thread has the pulses for", x->n);
}

/* What others take of the machine is no cost of streams: as long as it lasts there is less room. */
static void test_contended(void)
{
    struct desk *x = desk_make(2, 0.1, 0);
    for (unsigned k = 0; k < 50; k++)
        contention_tick(&x->pool.workers[1].meter.contention, 40000000, 80000000, 100000000);
    unsigned n = fill(x);
    CHECK(n >= 8 && n <= 13, "%u with half of the time", n);
    for (unsigned k = 0; k < 50; k++)
        contention_tick(&x->pool.workers[1].meter.contention, 0, 0, 100000000);
    CHECK(n + fill(x) == 15, "%u and %u", n, x->n);
}

/* More than there is: only where too much was let in, or less is had than was. */
static void test_over(void)
{
    struct desk *x = desk_make(2, 0.1, 0);
    fill(x);
    CHECK(!admit_is_overcommitted(&x->d) && strstr(admit_refusal(&x->d), "rtf_budget") != NULL);
    for (unsigned i = 0; i < 2; i++)
        x->pool.workers[i].overload.refuse_until_us = UINT64_MAX;
    CHECK(strstr(admit_refusal(&x->d), "overload") != NULL);
    x = desk_make(2, 0.1, 0);
    x->conf.limits_rtf_budget = 50;
    while (x->n < 20 && open_one(x, true))
        CHECK(!admit_is_overcommitted(&x->d), "%u streams of a tenth on two processors", x->n);
    CHECK(open_one(x, true) && open_one(x, true) && admit_is_overcommitted(&x->d));
}

/* Files take no place of live streams, whatever they cost, and run in threads of their own. */
static void test_files(void)
{
    struct desk *x = desk_make(2, 0.1, 100000);
    for (unsigned k = 0; k < 100; k++) {
        struct session *s = open_one(x, false);
        if (CHECK(s && s->worker >= x->pool.workers + x->pool.n_live))
            s->used = (struct claim) { 1, 1 };
    }
    CHECK(!admit_full(&x->d) && fill(x) == 13);
    for (unsigned k = 100; k < x->n; k++)
        CHECK(x->sessions[k].worker < x->pool.workers + x->pool.n_live);
}

int main(void)
{
    test_limits();
    test_used();
    test_helped();
    test_contended();
    test_over();
    test_files();
    return check_end();
}
