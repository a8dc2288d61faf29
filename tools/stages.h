/* SPDX-License-Identifier: MIT */
/* stages.h - what inspect shows of transforms. */
#ifndef TOOLS_STAGES_H
#define TOOLS_STAGES_H
#include "tools/tool.h"

/* Lists the transforms there are. */
void stages_help(void);

/* One line per transform that was applied, with what it wants people to know. */
void stages_print(const rill_model *m);

/* Prints the graph after "transform:N"; false: pass is not of that form. *ret_code: the exit
 * code. */
bool stages_pass(const struct command *cmd, const rill_model *m, const char *pass, int *ret_code);
#endif
