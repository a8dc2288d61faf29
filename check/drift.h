/* SPDX-License-Identifier: MIT */
/* drift.h - the bodies of a model's Scans against the wires around them, at every stage. */
#ifndef RILL_CHECK_DRIFT_H
#define RILL_CHECK_DRIFT_H
#include "lib/model.h"

#include <stdio.h>

struct drift_opts {
    uint32_t pulse_frames; /* 0: as few as the model allows */
    /* bodies keep the symbol of time while the wires outside get the pulse, to see the check find
     * it */
    bool keep_bodies;
};

/* Writes for each stage a line for every Scan, Loop and If and a total; no stage is made of one
 * that drifts. */
rill_status drift_walk(rill_model *m, const struct drift_opts *o, FILE *to, bool *ret_drifts,
                       rill_error *reterr);
#endif
