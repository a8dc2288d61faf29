/* SPDX-License-Identifier: MIT */
/* What a pulse waited for is counted from the arrival of its last sample, also where the next pulse is there already. */
#include "daemon/lane.h"
#include "tests/daemon/harness.h"

#define PULSE 512

static uint32_t queue_of_next(struct lane *l)
{
    struct lane_rec r = { .kind = LANE_DONE };
    enum lane_result ret = LANE_WORKED;
    for (int k = 0; k < 8 && ret == LANE_WORKED; k++) {
        lanes_step(&l, 1, &ret);
        while (ring_used(&l->recs)) {
            ring_read(&l->recs, &r, 1);
            if (r.kind == LANE_PULSE && r.is_run)
                return r.queue_us;
        }
    }
    return UINT32_MAX;
}

static void arrive(struct lane *l, uint64_t count, uint64_t ago_us)
{
    ring_write(&l->arrivals, &(struct lane_arrival) { .count = count, .us = lane_now_us() - ago_us }, 1);
}

int main(void)
{
    static const float x[3 * PULSE];
    const struct lane_opts o = { .in_rate = 16000, .out_rate = 16000, .window_samples = 8 * PULSE, .align = true,
                                 .want_audio = true };
    rill_model *m;
    rill_plan *p;
    rill_error err;
    struct lane_model lm = { .plan = NULL };
    float rtf;
    struct lane *l = NULL;
    if (CHECK(rill_model_builtin(&m, "wiener", &err) == RILL_OK && rill_plan_new(&p, m, NULL, &err) == RILL_OK &&
              lane_model_probe(&lm, p, 16000, &rtf, &err) == RILL_OK) && CHECK((l = lane_new(&lm, &o)) != NULL)) {
        /* Two pulses have come, the first in two pieces, the second with the beginning of a third. */
        arrive(l, PULSE - 100, 9000000);
        arrive(l, PULSE, 6000000);
        arrive(l, 2 * PULSE + 50, 3000000);
        ring_write(&l->in, x, 2 * PULSE + 50);
        uint32_t first = queue_of_next(l), second = queue_of_next(l);
        CHECK(first >= 6000000 && first < 7000000, "%u us", first);
        CHECK(second >= 3000000 && second < 4000000, "%u us", second);
        CHECK(queue_of_next(l) == UINT32_MAX);
        arrive(l, 3 * PULSE, 1000000);
        ring_write(&l->in, x, PULSE - 50);
        uint32_t third = queue_of_next(l);
        CHECK(third >= 1000000 && third < 2000000, "%u us", third);
        lane_free(l);
    }
    rill_plan_unref(p);
    rill_model_free(m);
    return check_end();
}
