/* SPDX-License-Identifier: MIT */
/* accounting.h - counts what streams do as it happens: for the counters of their model and of the
 * daemon, and for the line of the log when they end. Loop thread only. */
#ifndef RILL_DAEMON_SERVE_ACCOUNTING_H
#define RILL_DAEMON_SERVE_ACCOUNTING_H

#include "rilld.pb-c.h"

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct lane_rec;
struct session;

void account_opened(struct session *s);
void account_pulse(struct session *s, const struct lane_rec *r);
/* at the client's rate */
void account_gap(struct session *s, Rill__Gap__Reason reason, uint64_t samples);
void account_refused(struct daemon *d, Rill__Code code);
void account_finished(struct session *s, bool cancelled);

/* How long so many samples of its input last, or frames of the input that tells its time; 0: no
 * rate is stated. */
uint64_t session_us(const struct session *s, uint64_t samples);
double rtf_of(uint64_t compute_us, uint64_t audio_us); /* 0 without audio */

#endif
