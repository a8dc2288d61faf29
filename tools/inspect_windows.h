/* SPDX-License-Identifier: MIT */
/* inspect_windows.h - which layers of nets over windows are computed along the stream, and what
 * that saves. */
#ifndef RILL_TOOLS_INSPECT_WINDOWS_H
#define RILL_TOOLS_INSPECT_WINDOWS_H
#include "lib/model.h"

/* Prints nothing where the model has none. */
void inspect_windows_print(const rill_model *m);
#endif
