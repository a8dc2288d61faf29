/* SPDX-License-Identifier: MIT */
/* inspect_bytes.h - which products of a quantised graph sum integers, and which do not. */
#ifndef RILL_TOOLS_INSPECT_BYTES_H
#define RILL_TOOLS_INSPECT_BYTES_H
#include "engine/graph/op.h"

/* Lines with the reason of each that does not; nothing of a graph without dequantised numbers. */
void inspect_bytes(const struct graph *g);
#endif
