/* SPDX-License-Identifier: MIT */
/* law_internal.h - what the two halves of the check share. */
#ifndef RILL_CHECK_LAW_INTERNAL_H
#define RILL_CHECK_LAW_INTERNAL_H
#include "engine/ops/clock.h"
#include "check/law.h"

struct law {
    const struct law_opts *o;
    const rill_model *m;
    const struct graph *t; /* decluttered */
    struct arena *arena;
    struct pgraph pg;
    uint32_t *wire, n_wires;     /* compared, in graph order */
    int *axis;                   /* time axis of each */
    double *allowed;             /* difference of each */
    uint32_t first;              /* the first that differs; n_wires: none */
    const struct tensor **in;    /* whole inputs */
    const struct tensor **whole; /* compared wires, then outputs, of the whole run */
    uint32_t seed;
    struct law_result *ret;
    rill_error *err;
};

/* The plan of the pulse that was asked for. */
rill_status law_plan(const struct law *l, rill_plan **ret);

/* The product path against the outputs of the whole run. */
rill_status law_stream(struct law *l);
#endif
