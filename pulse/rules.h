/* SPDX-License-Identifier: MIT */
/* rules.h - the streaming rules that have state or move the time axis. */
#ifndef RILL_PULSE_RULES_H
#define RILL_PULSE_RULES_H
#include "pulse/pulser.h"

struct clock_attr; /* engine/ops/clock.h */

/* The rule of an op, never NULL: one without a rule of its own is done frame by frame where time is
 * on an axis that it leaves alone, and refused elsewhere (pulser_off_axis). */
pulse_rule *pulse_rule_find(const struct op *op);

/* The rule of an op without streaming inputs whose output mentions the stream symbol; NULL: it has
 * none. */
pulse_rule *pulse_source_find(const struct op *op);

/* rules_window.c */
pulse_rule rule_average_pool, rule_conv, rule_conv_integer, rule_frame, rule_lp_pool, rule_max_pool,
    rule_slice, rule_split, rule_stft;
/* rules_bytes.c */
pulse_rule rule_byte_conv, rule_byte_pool;
/* rules_deconv.c, rules_overlap.c */
pulse_rule rule_conv_transpose, rule_overlap_add;
/* rules_ends.c: what is longer or shorter at its ends */
pulse_rule rule_concat, rule_pad;
/* rules_if.c: branches whose condition does not run along time */
pulse_rule rule_if;
/* rules_index.c: what reads positions or sums over them */
pulse_rule rule_cumsum, rule_elements, rule_gather;
/* rules_reshape.c, rules_resize.c */
pulse_rule rule_reshape, rule_resize;
/* rules_rnn.c, rules_scan.c: states along time */
pulse_rule rule_cell, rule_scan;
/* rules_source.c: what makes time */
pulse_rule rule_expand, rule_tile;
pulse_rule source_constant, source_expand, source_range, source_slice;
/* Whether all sizes that it makes are known for every sequence, though it is told them by the
 * length; and that. */
bool source_is_still(const struct pulser *p, const struct node *n);
rill_status source_still(struct pulser *p, const struct node *n);
/* Of a Range, or a Slice of a table, that streams: its frames as that attribute says, by that
 * clock; WIRE_NONE: the table has none, or it is not known then whether they lie in the sequence.
 */
rill_status source_range_at(struct pulser *p, const struct node *n, uint32_t clock,
                            const struct clock_attr *at, uint32_t *ret);
rill_status source_slice_at(struct pulser *p, const struct node *n, uint32_t clock,
                            const struct clock_attr *at, uint32_t *ret);
/* How an output of a node that makes time streams, from the one axis that grows with the stream. */
rill_status source_fact(struct pulser *p, const struct node *n, struct stream_fact *ret);
#endif
