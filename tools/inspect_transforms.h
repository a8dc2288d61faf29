/* SPDX-License-Identifier: MIT */
/* inspect_transforms.h - what inspect shows of transforms. */
#ifndef TOOLS_INSPECT_TRANSFORMS_H
#define TOOLS_INSPECT_TRANSFORMS_H
#include "tools/tool.h"

/* Lists the transforms there are. */
void inspect_transforms_help(void);

/* One line per transform that was applied, with what it wants people to know. */
void inspect_transforms_print(const rill_model *m);

/* Prints the graph after "transform:N"; false: pass is not of that form. *ret_code: the exit
 * code. */
bool inspect_transforms_pass(const struct command *cmd, const rill_model *m, const char *pass,
                             int *ret_code);
#endif
