/* SPDX-License-Identifier: MIT */
/* meter.h - how much of a model's audio was computed, as another client is told. */
#ifndef TESTS_DAEMON_METER_H
#define TESTS_DAEMON_METER_H
#include "tests/daemon/harness.h"

struct meter {
    struct rill_client *c;
    const char *model;
    uint64_t us, before_us;
};

/* From now on; c is the caller's to free. */
void meter_start(struct meter *t, const char *sock, const char *model);

/* Until so many samples at 8 kHz fit into the window of two seconds, an eighth of which is granted
 * at a time: who reads no credit sends by what was computed. */
bool meter_wait(struct meter *t, uint64_t until);
#endif
