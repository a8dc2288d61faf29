/* SPDX-License-Identifier: MIT */
#include "tests/daemon/meter.h"

#include <unistd.h>

static void meter_model(void *arg, const struct rill_client_model_stats *m)
{
    struct meter *t = arg;
    if (!strcmp(m->name, t->model))
        t->us = m->audio_us;
}

static bool meter_read(struct meter *t)
{
    return CHECK_OF(t->c, rill_client_stats(t->c, NULL, meter_model, t) == 0);
}

void meter_start(struct meter *t, const char *sock, const char *model)
{
    *t = (struct meter) { .model = model };
    CHECK(rill_client_connect(&t->c, sock, "meter", 30000) == 0, "connect");
    meter_read(t);
    t->before_us = t->us;
}

bool meter_wait(struct meter *t, uint64_t until)
{
    for (uint64_t end = now_ms() + 30000; now_ms() < end && meter_read(t); usleep(2000))
        if (t->us - t->before_us + 1500000 >= until * 125)
            return true;
    return CHECK(false, "%llu us computed", (unsigned long long) (t->us - t->before_us));
}
