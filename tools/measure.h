/* SPDX-License-Identifier: MIT */
/* measure.h - runs a plan on noise and prints what one pulse costs. */
#ifndef TOOLS_MEASURE_H
#define TOOLS_MEASURE_H
#include "engine/graph/graph.h"
#include <rill.h>

#include <jansson.h>
#include <stdbool.h>

struct measure_opts {
    double seconds;
    bool json;
    bool profile; /* also the time of each step, slowest first; the plan was made with profile */
    const struct node *late; /* a graph whose sizes data decides: its counts, too; NULL: none */
};

/* Names of inputs of whole numbers or truth values, to which noise is 0 or 1: a Loop whose trips
 * one of them counts does next to nothing. */
void whole_inputs_print(const json_t *names);

/* Of such a graph, beside what else is printed, or put into `to`. */
struct late_counts;
void late_counts_print(const struct late_counts *n);
void late_counts_put(const struct late_counts *n, json_t *to);

void plan_measure(rill_plan *plan, const char *name, const struct measure_opts *o);
#endif
