/* SPDX-License-Identifier: MIT */
/* inspect_axes.h - rill inspect --axes: how each op touches the axes of its inputs. */
#ifndef TOOLS_INSPECT_AXES_H
#define TOOLS_INSPECT_AXES_H
#include "rill.h"

/* Prints a line for each op with axes of its own, then the names of the others. Returns a code of
 * enum tool_code. */
int axes_print(void);

/* The nodes of a model that see a window of time, and how far each sees, in frames of its input:
 * before the frame that its output stands for, and behind it. */
void windows_print(const rill_model *m, const rill_plan *p);
#endif
