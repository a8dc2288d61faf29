/* SPDX-License-Identifier: MIT */
#include "daemon/base/stall.h"

#define STALL_US UINT64_C(250000) /* well over the loop's longest poll */

static uint64_t polled_before(const struct stall *s, uint64_t now_us)
{
    return s->polled_us && now_us - s->polled_us > STALL_US ? s->polled_us : 0;
}

void stall_before_poll(struct stall *s, uint64_t now_us)
{
    s->since_us = polled_before(s, now_us);
    s->polled_us = now_us;
    s->iteration++;
}

uint64_t stall_since_us(const struct stall *s, uint64_t now_us)
{
    return s->since_us ? s->since_us : polled_before(s, now_us);
}
