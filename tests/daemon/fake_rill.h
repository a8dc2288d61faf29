/* SPDX-License-Identifier: MIT */
/* fake_rill.h - what a test that links the fake library can see of it. */
#ifndef TEST_DAEMON_FAKE_RILL_H
#define TEST_DAEMON_FAKE_RILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_HANG                                                                                  \
    0.765625f               /* a pulse that begins with it takes four seconds, sleeping; or        \
                               as long as rig_hold() says */
#define FAKE_SLOW 0.703125f /* one and a half times its own length, sleeping */
#define FAKE_BURN 0.640625f /* 300 ms of processor */
#define FAKE_STOP 0.578125f /* the model asks for what is not there */

/* The last calls of rill_run_many that ran anything, while fake_trace is set; for one thread. */
struct fake_run {
    const char *model;
    unsigned n;
};
extern bool fake_trace;
extern struct fake_run fake_runs[64];
extern unsigned fake_n_runs;

extern unsigned fake_hiccups; /* of the next pulses so many take 20 ms */

/* What the machine did to a daemon while its models ran: the file that RILL_FAKE_STALLS names. */
struct fake_stalls {
    _Atomic uint64_t n;        /* times that all or one compute thread was kept from running */
    _Atomic uint64_t asked_us; /* sleep that models asked for */
    _Atomic uint64_t lost_us;  /* by models: neither slept as asked nor computed */
};

#endif
