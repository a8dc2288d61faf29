/* SPDX-License-Identifier: MIT */
/* What a stream is thought to cost, at times of our own: a rise is followed, one figure alone is
 * not, contention is no cost, and what is over is forgotten. */
#include "daemon/base/cost.h"
#include "tests/daemon/harness.h"

#include <math.h>

#define SECOND UINT64_C(1000000)

static uint64_t t = 100 * SECOND;

/* Seconds in each of which so much of a processor went into one second of work, and others held it
 * up as long. */
static void seconds(struct cost *c, unsigned n, double cpu, double waits)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < 10; k++) {
            cost_add(c, cpu * 1e8, (cpu + waits) * 1e8, 1e8);
            cost_tick(c, 0.25e9, 1, t += SECOND / 10);
        }
    }
}

static bool near(float x, double want)
{
    return fabs((double) x - want) < 1e-4;
}

static void test_price(void)
{
    static struct cost c = { .quantile = 0.9f };
    cost_probe(&c, 0.1f, 0.1f, t);
    CHECK(near(c.price, 0.1));
    seconds(&c, 10, 0.2, 0);
    CHECK(near(c.price, 0.2), "%f", (double) c.price);
    seconds(&c, 1, 9, 0);
    seconds(&c, 1, 0.2, 0);
    CHECK(near(c.price, 0.2), "one second alone: %f", (double) c.price);
    seconds(&c, 3, 0.5, 0);
    CHECK(near(c.price, 0.5), "a rise within three seconds: %f", (double) c.price);
    seconds(&c, 31, 0.05, 0);
    CHECK(near(c.price, 0.05), "forgotten in half a minute: %f", (double) c.price);
    CHECK(cost_newest(&c) && near(cost_newest(&c)->cpu, 0.05));
}

/* Ten times as long by the wall clock changes what is told and not what is charged. */
static void test_contention(void)
{
    static struct cost c = { .quantile = 0.9f };
    cost_probe(&c, 0.1f, 0.1f, t);
    seconds(&c, 60, 0.1, 0.9);
    CHECK(near(c.price, 0.1) && near(cost_newest(&c)->wall, 1), "%f, %f", (double) c.price,
          (double) cost_newest(&c)->wall);
}

/* Nothing runs any more: what was tried counts again, and should be tried afresh. */
static void test_idle(void)
{
    static struct cost c = { .quantile = 0.9f };
    cost_probe(&c, 0.1f, 0.1f, t);
    seconds(&c, 20, 3, 0);
    CHECK(near(c.price, 3) && !cost_wants_probe(&c, t));
    cost_tick(&c, 0.25e9, 1, t += 31 * SECOND);
    CHECK(near(c.price, 0.1) && cost_wants_probe(&c, t) && !cost_newest(&c), "%f",
          (double) c.price);
    cost_probe(&c, 0.12f, 0.12f, t);
    CHECK(near(c.price, 0.12) && !cost_wants_probe(&c, t += 60 * SECOND));
    /* Tried while others computed: again in a while, and only then. */
    cost_probe(&c, 0.2f, 0.5f, t);
    CHECK(near(c.price, 0.2) && !cost_wants_probe(&c, t + SECOND) &&
          cost_wants_probe(&c, t + 31 * SECOND));
}

/* Too little work makes no figure, and is not lost. A recogniser that nobody speaks to keeps its
 * price. */
static void test_little(void)
{
    static struct cost c = { .quantile = 0.9f },
                       words = { .quantile = 0.9f, .probe_is_floor = true };
    cost_probe(&c, 0.1f, 0.1f, t);
    for (unsigned k = 0; k < 24; k++) {
        cost_add(&c, 3e6, 3e6, 1e7);
        cost_tick(&c, 0.25e9, 1, t += SECOND);
    }
    CHECK(c.n == 0);
    cost_add(&c, 3e6, 3e6, 1e7);
    cost_tick(&c, 0.25e9, 1, t += SECOND);
    CHECK(c.n == 1 && near(c.price, 0.3), "%u, %f", c.n, (double) c.price);
    cost_probe(&words, 0.4f, 0.4f, t);
    seconds(&words, 25, 0.01, 0);
    CHECK(near(words.price, 0.4));
    seconds(&words, 5, 0.6, 0);
    CHECK(near(words.price, 0.6));
}

/* While little runs, what is measured says little of a machine that is full. */
static void test_weight(void)
{
    static struct cost c = { .quantile = 0.9f };
    cost_probe(&c, 0.1f, 0.1f, t);
    for (unsigned k = 0; k < 10; k++) {
        cost_add(&c, 0.5e9, 0.5e9, 1e9);
        cost_tick(&c, 0.25e9, 0.25, t += SECOND);
    }
    CHECK(near(c.price, 0.2) && near(cost_newest(&c)->cpu, 0.5), "%f", (double) c.price);
}

static void test_share(void)
{
    static struct contention c;
    CHECK(contention_share(&c) >= 1);
    for (unsigned k = 0; k < 30; k++)
        contention_tick(&c, 40 * 1000000, 80 * 1000000, 100 * 1000000);
    double held_up = contention_share(&c);
    CHECK(held_up > 0.5 && held_up < 0.9, "half of the time is had: %f", held_up);
    for (unsigned k = 0; k < 10; k++)
        contention_tick(&c, 0, 0, 100 * 1000000);
    CHECK(contention_share(&c) > held_up + 0.1, "idle for a second: %f", contention_share(&c));
    for (unsigned k = 0; k < 40; k++)
        contention_tick(&c, 0, 0, 100 * 1000000);
    CHECK(contention_share(&c) > 0.99, "idle for five seconds: %f", contention_share(&c));
    for (unsigned k = 0; k < 30; k++)
        contention_tick(&c, 0, 100 * 1000000, 100 * 1000000);
    CHECK(contention_share(&c) >= CONTENTION_LEAST && contention_share(&c) < 0.6, "%f",
          contention_share(&c));
}

int main(void)
{
    test_price();
    test_contention();
    test_idle();
    test_little();
    test_weight();
    test_share();
    return check_end();
}
