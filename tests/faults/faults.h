/* SPDX-License-Identifier: MIT */
/* faults.h - a daemon with the shim of fault.h in it. FAULT_SHIM names the shim; FAULTS_LONG=1
 * leaves no call out. */
#ifndef TEST_FAULTS_FAULTS_H
#define TEST_FAULTS_FAULTS_H

#include "tests/daemon/harness.h"
#include "tests/faults/fault.h"

extern struct fault_page *page;

const char *fault_name(enum fault_kind kind);
bool faults_long(void);
/* a sanitized daemon takes no shim beside its own: says that all is skipped */
bool fault_none(void);
bool fault_sanitized(void); /* memory that is freed is not given back at once */
void fault_page_make(void); /* once in a program; the page goes with it */
void fault_rig(struct rig *r, const char *more);   /* rig_start with the shim inside */
bool fault_spawn(struct rig *r, const char *more); /* without waiting */
void fault_arm(enum fault_kind kind, uint64_t at, bool forever, int error);
uint64_t fault_disarm(void); /* how many calls failed */

/* The next n to fail: every one in the long form, ever wider apart in the short one. */
uint64_t fault_next(uint64_t n);

unsigned fds_of(const struct rig *r);              /* open descriptors of the daemon */
bool wait_fds(const struct rig *r, unsigned want); /* waits for at most `want` */
uint64_t rss_kib(const struct rig *r);
bool rig_lives(struct rig *r);

/* One session with a known input; what came back in *ret. */
bool session_play(const struct rig *r, const char *model, struct result *ret, char err[512]);
bool result_same(const struct result *a, const struct result *b);

#endif
