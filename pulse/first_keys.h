/* SPDX-License-Identifier: MIT */
/* first_keys.h - the first keys of a sequence, which a mask shows beside its window (the sinks of
 * Xiao et al., StreamingLLM, 2023): they are kept, and their columns stand in front of those of the
 * window, where each key has one. */
#ifndef RILL_PULSE_FIRST_KEYS_H
#define RILL_PULSE_FIRST_KEYS_H
#include "pulse/places.h"
#include "pulse/shifts.h"

/* Sums of a softmax are eight chains, of every eighth key each: a window beside first keys begins
 * up to so many frames earlier, where a chain of the whole run does, and is so many columns longer.
 */
#define FIRST_SLACK 7

/* A window of `frames` keys of which the first is, in run r, key r * pulse - delay; first 0: no
 * keys stand in front. */
struct first_window {
    int64_t first, frames, pulse, delay;
};

static inline int64_t first_slack(int64_t first)
{
    return first ? FIRST_SLACK : 0;
}

/* Wires that begin FIRST_SLACK frames before the window become it, with its slack, and with what
 * belongs to the first keys in front; where there are none they stay as they are.
 *
 * Those of the stream, up to the end of the window; first: those keys themselves, a dst wire. */
rill_status first_keys_put(struct pulser *p, const struct node *n, int axis,
                           const struct first_window *at, uint32_t first, uint32_t *wire);
/* The same, of keys that are kept once they have come. */
rill_status first_keys_join(struct pulser *p, const struct node *n, const struct flow *stream,
                            const struct first_window *at, uint32_t *wire);

/* What positions make of src wire w for queries, up to FIRST_SLACK frames behind the window;
 * places: of the queries, and which axes; queries: how they come. */
rill_status first_places_join(struct pulser *p, const struct node *n, uint32_t src_wire,
                              const struct places *places, const struct stream_fact *queries,
                              const struct first_window *at, uint32_t *wire);

/* Scores of a shift (shifts.h) of those queries, which stand on `axis`, their keys on the next;
 * each sees first keys up to `ahead` frames behind its own. of: the wire that the product
 * multiplies. */
struct first_shift {
    const struct shift *shift;
    const struct stream_fact *queries;
    uint32_t of;
    int axis;
    int64_t ahead;
};
rill_status first_shift_join(struct pulser *p, const struct node *n, const struct first_shift *s,
                             const struct first_window *at, uint32_t *wire);

/* Which keys have come and lie in the sequence, up to there, too. keys: how they come; its wire is
 * not read. kept: in a branch, while it ran. */
rill_status first_valid_join(struct pulser *p, const struct node *n, const struct stream_fact *keys,
                             bool kept, const struct first_window *at, uint32_t *wire);
#endif
