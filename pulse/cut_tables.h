/* SPDX-License-Identifier: MIT */
/* cut_tables.h - tables that are cut by the length and read by positions, whole.
 *
 * The rows from M - T on of a table of distances, as many as a sequence of T frames has, read at
 * i - j + T - 1, are those of the table at i - j + M - 1: no row that a frame reads depends on the
 * length. */
#ifndef RILL_PULSE_CUT_TABLES_H
#define RILL_PULSE_CUT_TABLES_H
#include "engine/graph/graph.h"

/* What is made lives in g's arena. Keeps all bits. */
rill_status graph_with_tables_whole(struct graph *ret, const struct graph *g, rill_error *reterr);
#endif
