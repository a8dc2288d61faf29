/* SPDX-License-Identifier: MIT */
/* measure.h - runs a plan on noise and prints what one pulse costs. */
#ifndef TOOLS_MEASURE_H
#define TOOLS_MEASURE_H
#include <rill.h>

#include <jansson.h>
#include <stdbool.h>

struct measure_opts {
    double seconds;
    bool json;
    bool profile; /* also the time of each step, slowest first; the plan was made with profile */
};

/* Names of inputs of whole numbers or truth values, to which noise is 0 or 1: a Loop whose trips
 * one of them counts does next to nothing. */
void whole_inputs_print(const json_t *names);

void plan_measure(rill_plan *plan, const char *name, const struct measure_opts *o);
#endif
