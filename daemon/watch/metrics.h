/* SPDX-License-Identifier: MIT */
/* metrics.h - the metrics in Prometheus' text formats. */
#ifndef RILL_DAEMON_WATCH_METRICS_H
#define RILL_DAEMON_WATCH_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;

struct daemon;

/* to be freed; NULL without memory. open: OpenMetrics, not Prometheus' older text */
char *metrics_text(struct daemon *d, bool open, size_t *ret_bytes);
void metrics_reply(struct conn *c, uint32_t req);

#endif
