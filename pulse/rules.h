/* SPDX-License-Identifier: MIT */
/* rules.h - the streaming rules that have state or move the time axis. */
#ifndef PULSE_RULES_H
#define PULSE_RULES_H
#include "pulse/pulser.h"

pulse_rule rule_frame, rule_overlap_add, rule_scan;
#endif
