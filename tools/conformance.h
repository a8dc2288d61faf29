/* SPDX-License-Identifier: MIT */
/* conformance.h - runs folders of backend test cases: a model, inputs and the outputs to expect. */
#ifndef TOOLS_CONFORMANCE_H
#define TOOLS_CONFORMANCE_H
#include "tools/tool.h"

/* rill conformance [options] DIR. Returns the exit status: 0 when no case failed, 1 when one did, 2
 * for a wrong command line or no case, 4 where DIR is no folder. */
int conformance_main(const struct command *cmd, int argc, char **argv);
#endif
