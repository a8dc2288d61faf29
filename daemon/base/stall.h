/* SPDX-License-Identifier: MIT */
/* stall.h - whether the loop stood still before it polled, and since when: what is read after that
 * may have come at any time meanwhile. Loop thread only. */
#ifndef RILL_DAEMON_BASE_STALL_H
#define RILL_DAEMON_BASE_STALL_H

#include <stdint.h>

struct stall {
    uint64_t polled_us; /* when the loop last went to poll */
    uint64_t since_us;  /* when it had before, if it was stalled since then; 0: it was not */
    uint32_t iteration; /* of the loop: how often it went to poll */
};

void stall_before_poll(struct stall *s, uint64_t now_us);

/* When the loop last polled, if it was stalled since then; else 0. */
uint64_t stall_since_us(const struct stall *s, uint64_t now_us);

#endif
