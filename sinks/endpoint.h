/* SPDX-License-Identifier: MIT */
/* endpoint.h - when an utterance is over: three rules of silence and length. */
#ifndef RILL_SINKS_ENDPOINT_H
#define RILL_SINKS_ENDPOINT_H
#include "sinks/sink.h"

struct endpoint {
    uint64_t rule_samples[3]; /* 0: off */
    uint64_t begin_pos;       /* of the utterance */
};

void endpoint_init(struct endpoint *e, const rill_sink *s);

/* The rule that ends an utterance at end_pos, if any. quiet_pos: where its last silence began, or
 * begin_pos if there was no speech. */
rill_rule endpoint_rule(const struct endpoint *e, uint64_t quiet_pos, uint64_t end_pos, bool heard);

/* Reports the rule and begins the next utterance at end_pos. */
void endpoint_report(struct endpoint *e, rill_sink *s, rill_rule rule, uint64_t end_pos);
#endif
