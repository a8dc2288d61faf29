/* SPDX-License-Identifier: MIT */
/* inspect_axes.h - rill inspect --axes: how each op touches the axes of its inputs. */
#ifndef TOOLS_INSPECT_AXES_H
#define TOOLS_INSPECT_AXES_H

/* Prints a line for each op with axes of its own, then the names of the others. Returns a code of enum tool_code. */
int axes_print(void);
#endif
