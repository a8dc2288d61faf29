/* SPDX-License-Identifier: MIT */
/* bench_late.h - what a run costs where data decides sizes, and how often they were what they were.
 */
#ifndef TOOLS_BENCH_LATE_H
#define TOOLS_BENCH_LATE_H
#include "lib/model.h"

#include <stdbool.h>

/* Random inputs, the same in every run, each of which counts as written. */
rill_status bench_late(const rill_model *m, const char *name, double seconds, bool json,
                       rill_error *reterr);
#endif
