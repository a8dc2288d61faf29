/* SPDX-License-Identifier: MIT */
/* rules.h - the streaming rules that have state or move the time axis. */
#ifndef RILL_PULSE_RULES_H
#define RILL_PULSE_RULES_H
#include "pulse/pulser.h"

/* The rule of an op; NULL: the op does not stream. */
pulse_rule *pulse_rule_find(const struct op *op);

/* The rule of an op without streaming inputs whose output mentions the stream symbol; NULL: it has
 * none. */
pulse_rule *pulse_source_find(const struct op *op);

pulse_rule rule_average_pool, rule_cell, rule_concat, rule_conv, rule_conv_transpose, rule_cumsum,
    rule_elements, rule_expand, rule_frame, rule_gather, rule_lp_pool, rule_max_pool,
    rule_overlap_add, rule_pad, rule_reshape, rule_resize, rule_scan, rule_slice, rule_stft,
    rule_tile;
pulse_rule source_constant, source_expand, source_range, source_slice;
#endif
