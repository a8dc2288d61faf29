/* SPDX-License-Identifier: MIT */
/* inspect_bytes.h - which products of a quantised graph sum integers, and which do not. */
#ifndef RILL_TOOLS_INSPECT_BYTES_H
#define RILL_TOOLS_INSPECT_BYTES_H
#include "engine/graph/op.h"

/* A line; nothing of a graph without such products. */
void inspect_bytes(const struct graph *g);
#endif
