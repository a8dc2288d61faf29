/* SPDX-License-Identifier: MIT */
/* first_queries.h - queries of attention that are known before the first run.
 *
 * Of queries and keys that are padded in front, by start tokens or zeros, the first queries see
 * nothing but what pads the keys. They are in no run: what attention makes of them is made once, of
 * those frames, and stands in front of what the runs make, which begin with the query behind them
 * and so come as much earlier. Scores have a delay below 0 then. What reads the output finds it
 * padded by them.
 *
 * It costs a copy of the keys into their window in each run. So the graph is walked without first,
 * and what comes no earlier with them stays so (cut.c). */
#ifndef RILL_PULSE_FIRST_QUERIES_H
#define RILL_PULSE_FIRST_QUERIES_H
#include "pulse/operands.h"

struct section; /* sections.h */

/* Whether the queries on src wire w are padded by frames that are known once first ones have come,
 * and would be earlier without. In a walk that takes them so *ret is how they are padded. */
bool queries_given(struct pulser *p, uint32_t w, struct padded *ret);

/* How many first queries of scores of section s that begin, or come in, on the n operands see
 * nothing but what pads the keys; 0 in a walk that takes none apart. */
int64_t first_queries(const struct pulser *p, const struct operand *o, unsigned n,
                      struct section *s);

/* How many first queries of what positions make, the wire w, which a sum reads, may be made apart:
 * those whose keys are there where they are themselves. */
int64_t places_first_queries(const struct pulser *p, uint32_t w, int query, int key,
                             const struct band *b);

/* How late the queries of o are without so many first ones, or as many as are in front of them; and
 * those, so late. */
int64_t queries_late(const struct operand *o, int64_t heads);
rill_status queries_take(struct pulser *p, const struct node *n, const struct operand *o,
                         int64_t heads, int64_t delay, struct flow *ret);

/* Binds what n makes of its operand `summed`, scores or what positions make, of which b is shown
 * and which it sums over the keys, with `other`, what it multiplies them by, or NULL: *w in a run,
 * and in front of it what it makes of the first queries that are in none. */
rill_status first_queries_bind(struct pulser *p, const struct node *n, const struct operand *summed,
                               const struct band *b, const struct operand *other,
                               const struct flow *w);
#endif
