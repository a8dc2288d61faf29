/* SPDX-License-Identifier: MIT */
/* measure.h - runs a plan on noise and prints what one pulse costs. */
#ifndef TOOLS_MEASURE_H
#define TOOLS_MEASURE_H
#include <rill.h>

#include <stdbool.h>

struct measure_opts {
    double seconds;
    bool json;
    bool profile; /* also the time of each step, slowest first; the plan was made with profile */
};

void plan_measure(rill_plan *plan, const char *name, const struct measure_opts *o);
#endif
