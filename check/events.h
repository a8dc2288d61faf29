/* SPDX-License-Identifier: MIT */
/* events.h - what sinks say is the same for every pulse and in any cut of the input. */
#ifndef RILL_CHECK_EVENTS_H
#define RILL_CHECK_EVENTS_H
#include "rill.h"

#include <stdbool.h>

struct events_check {
    const rill_model *model;
    const int64_t *pulse; /* n_pulses of them; frames of the first input */
    unsigned n_pulses;
    const float *samples; /* of that input, one float a frame; NULL: noise with pauses */
    size_t n_samples;
    uint32_t seed;
    unsigned n_events; /* of one run */
    char where[400];   /* the first event that differs */
};

/* True where the model has sinks and takes one float a frame, so that there is something to
 * check. */
bool events_there(const rill_model *m);

/* OK: *ret_same says. Otherwise the words say why it could not be tried. */
rill_status events_check(struct events_check *c, bool *ret_same, rill_error *reterr);
#endif
