/* SPDX-License-Identifier: MIT */
/* pulsify.h - decluttered -> pulsed. */
#ifndef RILL_PULSE_PULSIFY_H
#define RILL_PULSE_PULSIFY_H
#include "engine/graph/pulsed.h"

struct pulse_opts {
    bool keep_bodies; /* for tests: bodies of Scans keep the facts of the decluttered graph, which
                         then drift from the wires outside */
    int64_t lead_in;  /* units of the symbol by which the first run is shorter than a pulse; less
                         than one */
};

/* Cuts t for runs of at least `pulse` frames of the stream symbol (0: as few as possible); the
 * pulse taken is the smallest legal one that is not less. symbol NULL: nothing streams. Everything
 * made lives in a. An op that cannot stream along the axis is refused by name, with the reason.
 * opts may be NULL. */
rill_status pgraph_from_dgraph(struct pgraph *ret, const struct dgraph *t, const struct dim *symbol,
                               int64_t pulse, const struct pulse_opts *opts, struct arena *a,
                               rill_error *reterr);

/* UNSUPPORTED, in words: it is not known which symbol of the inputs' sizes is time, or none is a
 * symbol. */
rill_status pgraph_no_time(const struct dgraph *t, rill_error *reterr);
#endif
