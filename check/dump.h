/* SPDX-License-Identifier: MIT */
/* dump.h - any graph as text, one node a line. */
#ifndef RILL_CHECK_DUMP_H
#define RILL_CHECK_DUMP_H
#include "engine/graph/graph.h"

#include <stdio.h>

/* Inputs, states, nodes with the facts of what they write, outputs; bodies indented below their
 * node. */
void graph_dump(const struct graph *g, FILE *to);
#endif
