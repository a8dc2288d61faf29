/* SPDX-License-Identifier: MIT */
/* dump.h - any graph as text, one node a line. */
#ifndef ENGINE_DUMP_H
#define ENGINE_DUMP_H
#include "engine/graph.h"

#include <stdio.h>

/* Inputs, states, nodes with the facts of what they write, outputs; bodies indented below their
 * node. */
void graph_dump(const struct graph *g, FILE *to);
#endif
