/* SPDX-License-Identifier: MIT */
/* key_window.h - the keys, or values, that the queries of a run see.
 *
 * Frames that stand in front of a sequence from the beginning on, as a cache that is joined to its
 * keys, need not pass before the first query does: they are put where the window reaches them, and
 * the sequence behind them comes as early as it would without; so do frames that stand behind it,
 * too. */
#ifndef RILL_PULSE_KEY_WINDOW_H
#define RILL_PULSE_KEY_WINDOW_H
#include "pulse/bands.h"
#include "pulse/first_keys.h"

struct keys {
    struct flow flow;
    struct padded given; /* .is: they are this sequence, padded; flow is not read */
    /* Once keys_resolve has been there: by what a key comes later than its place; and query 0, in
     * keys that pass, for all that is in front of them, where that is made of first ones;
     * INT64_MIN: it is not. */
    int64_t delay, queries;
};

/* The keys on src wire w; false: it does not stream. */
bool keys_of(const struct pulser *p, uint32_t w, struct keys *ret);

/* Their delay before that, and that of query 0; INT64_MIN and 0 of what does not stream. */
int64_t keys_late(const struct pulser *p, uint32_t w, int64_t *ret_queries);

/* By how many frames keys are late of which there are `length`, and which are no stream (a mask is
 * summed, or only queries make the scores), so that it is known which of them lie in the sequence:
 * those in front of the frames that come in are there before. No earlier than queries that see b
 * need the furthest, behind so many first ones that are in no run. */
rill_status keys_counted(struct pulser *p, const struct node *n, const struct stream_fact *queries,
                         const struct rates *r, const struct dim *length, const struct band *b,
                         int64_t heads, int64_t *ret);

/* How many keys scores w of a shift have. Behind the end of a table their number grows no more, but
 * the stream goes on: before that they are as many as the queries. NULL: not known. */
const struct dim *keys_shifted(const struct pulser *p, uint32_t w, int query, int key);

/* Late enough that it is known which of them lie in the sequence. Those that come as they are by
 * in_time are taken so: the others are copied into their window anew in each run. */
rill_status keys_resolve(struct pulser *p, const struct node *n, struct keys *k, int64_t in_time);

/* The window of resolved keys, as a dst wire. */
rill_status keys_window(struct pulser *p, const struct node *n, const struct keys *k,
                        const struct first_window *at, uint32_t *ret);
#endif
