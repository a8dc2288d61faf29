/* SPDX-License-Identifier: MIT */
/* bench_streams.h - what a pulse costs when many streams of one plan run together. */
#ifndef TOOLS_BENCH_STREAMS_H
#define TOOLS_BENCH_STREAMS_H
#include "tools/tool.h"

#include <rill.h>

/* Measures each number of `list` ("1,8,32") for about `seconds` in all and prints a table or JSON.
 * A TOOL_* code. */
int bench_streams(const struct command *cmd, rill_plan *plan, const char *name, const char *list,
                  double seconds, bool json);
#endif
