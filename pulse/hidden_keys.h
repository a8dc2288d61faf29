/* SPDX-License-Identifier: MIT */
/* hidden_keys.h - keys in the window of scores that are none of the sequence, or of those that came
 * while a branch ran. */
#ifndef RILL_PULSE_HIDDEN_KEYS_H
#define RILL_PULSE_HIDDEN_KEYS_H
#include "pulse/bands.h"
#include "pulse/pulser.h"

/* Queries and keys of a run, in their smallest whole numbers. */
struct rates scores_rates(const struct stream_fact *s);

/* Keys that pass while the scores are late. */
int64_t scores_key_delay(const struct stream_fact *s);

/* Keys of the window behind those that a run gives. */
int64_t scores_right(const struct stream_fact *s);

/* They become `hidden` in the scores, like those that the mask hides; so are the first keys in the
 * window, where they have columns of their own. length: how many keys the sequence has. */
rill_status keys_hide(struct pulser *p, const struct node *n, const struct stream_fact *s,
                      const struct dim *length, double hidden, uint32_t *wire);
/* The same of the first s->keys keys, in scores of first queries. */
rill_status keys_hide_first(struct pulser *p, const struct node *n, const struct stream_fact *s,
                            const struct dim *length, double hidden, uint32_t *wire);
#endif
