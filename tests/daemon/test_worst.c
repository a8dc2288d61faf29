/* SPDX-License-Identifier: MIT */
/* The worst pulses: which are kept, and what a daemon tells of them and of the slowest steps. */
#include "daemon/base/worst.h"
#include "tests/daemon/harness.h"

#include <time.h>
#include <unistd.h>

static struct worst w;

static void put(uint32_t took_us, uint64_t at_us, const char *model)
{
    struct worst_pulse p = { .mono_us = at_us,
                             .queue_us = took_us / 2,
                             .compute_us = took_us - took_us / 2,
                             .pulse_us = 1000 };
    snprintf(p.model, sizeof p.model, "%s", model);
    if (worst_is(&w, took_us, 1000, at_us))
        worst_put(&w, &p);
}

static void test_kept(void)
{
    const struct worst_pulse *list[WORST_KEPT];
    memset(&w, 0, sizeof w);
    for (uint32_t i = 0; i < 1000; i++)
        put((uint32_t) ((uint64_t) i * 7919 % 1009 + 1), 1000 + i, i % 2 ? "a" : "b");
    size_t n = worst_sorted(&w, "", list);
    CHECK(n == WORST_KEPT);
    /* The 32 largest of those values, in order: found again by going down from the top. */
    uint32_t all[1000], k = 0;
    for (uint32_t i = 0; i < 1000; i++)
        all[i] = (uint32_t) ((uint64_t) i * 7919 % 1009 + 1);
    for (uint32_t v = 1009; v && k < n; v--)
        for (uint32_t i = 0; i < 1000 && k < n; i++)
            if (all[i] == v)
                CHECK(list[k]->queue_us + list[k]->compute_us == v, "%u", k), k++;
    size_t of_a = worst_sorted(&w, "a", list), of_b = worst_sorted(&w, "b", list);
    CHECK(of_a && of_b && of_a + of_b == n && worst_sorted(&w, "c", list) == 0);
    /* Hours later small ones count again. */
    put(2, 1000 + 2 * WORST_AGE_US, "c");
    CHECK(worst_sorted(&w, "", list) == 1 && !strcmp(list[0]->model, "c"));
}

struct seen {
    unsigned n_pulses, n_steps;
    uint32_t most_us; /* of compute */
    double last_share;
    uint64_t last_ns;
    bool in_order;
    struct rill_client_worst first;
    char model[65], step[64];
};

static void on_pulse(void *arg, const struct rill_client_worst *p)
{
    struct seen *s = arg;
    double share = ((double) p->queue_us + (double) p->compute_us) / (double) p->pulse_us;
    s->in_order &= !s->n_pulses || share <= s->last_share;
    s->last_share = share;
    s->most_us = p->compute_us > s->most_us ? p->compute_us : s->most_us;
    if (s->n_pulses++ == 0) {
        s->first = *p;
        snprintf(s->model, sizeof s->model, "%s", p->model);
    }
}

static void on_step(void *arg, const struct rill_client_step *t)
{
    struct seen *s = arg;
    s->in_order &= !s->n_steps || t->total_ns <= s->last_ns;
    s->last_ns = t->total_ns;
    CHECK(t->runs >= 60, "%s: %llu", t->step, (unsigned long long) t->runs);
    if (s->n_steps++ == 0)
        snprintf(s->step, sizeof s->step, "%s", t->step);
}

static void test_daemon(void)
{
    struct rig r;
    struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = true);
    static float x[16000];
    struct result res;
    struct seen s = { .in_order = true };
    char err[512];
    if (is_fake())
        x[512 * 5] = 0.765625f; /* the sixth pulse takes four seconds */
    rig_start(&r, "");
    CHECK(stream_whole(r.sock, &o, x, 16000, 4, 4000, &res, err), "%s", err);
    result_free(&res);
    struct rill_client *ctl = client_of(r.ctl, "worst");
    CHECK_OF(ctl, rill_client_ctl_worst(ctl, NULL, false, on_pulse, on_step, &s) == 0);
    CHECK(s.n_pulses > 0 && s.n_steps == 0 && s.in_order && !strcmp(s.model, "rill-denoise") &&
          s.first.serial == 1 && s.first.batch == 1);
    CHECK(s.first.when_us / 1000000 + 120 > (uint64_t) time(NULL) && s.first.uid == getuid() &&
          !s.first.live);
    if (is_fake())
        CHECK(s.most_us > 3900000 && s.first.pulse_us == 32000);
    s = (struct seen) { .in_order = true };
    CHECK_OF(ctl, rill_client_ctl_worst(ctl, "rill-denoise", true, on_pulse, on_step, &s) == 0);
    CHECK(s.n_pulses > 0 && s.n_steps > 0 && s.in_order);
    if (is_fake())
        CHECK(!strcmp(s.step, "slow"), "%s", s.step);
    s = (struct seen) { .in_order = true };
    CHECK(rill_client_ctl_worst(ctl, "other", false, on_pulse, on_step, &s) == 0 &&
          s.n_pulses == 0);
    CHECK(rill_client_ctl_worst(ctl, "other", true, NULL, NULL, NULL) < 0 &&
          rill_client_error_code(ctl) == RILL__CODE__NO_MODEL);
    rig_done(&r, ctl);
}

int main(void)
{
    test_kept();
    test_daemon();
    return check_end();
}
