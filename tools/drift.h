/* SPDX-License-Identifier: MIT */
/* drift.h - the bodies of a model's Scans against the wires around them, after every pass. */
#ifndef TOOLS_DRIFT_H
#define TOOLS_DRIFT_H
#include "tools/tool.h"

/* Prints for each pass a line for every Scan, Loop and If and a total. pulse: input frames, 0 as
 * few as the model allows. keep_bodies: bodies keep the symbol of time while the wires outside get
 * the pulse, to see the check find it. TOOL_OK where no pass drifts and all could be made. */
int drift_print(const struct command *cmd, rill_model *m, int64_t pulse, bool keep_bodies);
#endif
