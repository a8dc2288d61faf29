/* SPDX-License-Identifier: MIT */
/* inspect_latency.h - how late a planned model's outputs are and why, its smallest pulse, what it
 * multiplies. */
#ifndef TOOLS_INSPECT_LATENCY_H
#define TOOLS_INSPECT_LATENCY_H
#include "lib/plan_internal.h"

#include <jansson.h>

/* Prints what is known of it, a line each. */
void latency_print(const rill_plan *p);

/* Adds "smallest_pulse", "latency" and "multiply_adds" to j. */
void latency_add_json(json_t *j, const rill_plan *p);
#endif
