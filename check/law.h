/* SPDX-License-Identifier: MIT */
/* law.h - what a stream gives is what the whole-sequence run gives: checked on any model, node by
 * node.
 *
 * The whole run is the interpreter on the decluttered graph with the length in the place of the
 * stream symbol. The nodes of the pulsed graph are run by the interpreter pulse by pulse, states
 * carried; the product path is a stream that gets the same frames in random cuts, with a snapshot
 * moved in the middle and a reset after other data. Both find NaN, or numbers like it, in their
 * inputs after the end and learn the length as late as it can be told. */
#ifndef RILL_CHECK_LAW_H
#define RILL_CHECK_LAW_H
#include "lib/model.h"
#include "pulse/pulsify.h"

struct law_output {
    const char *name; /* owned by the model */
    double most;      /* largest difference, absolute */
    bool same_bits;
};

struct law_opts {
    int64_t pulse;        /* input frames, 0: the smallest */
    int64_t length;       /* units of the stream symbol */
    uint32_t seed;        /* of inputs and cuts */
    bool slow_loops;      /* check/slow.h */
    double tolerance;     /* of a difference, relative to the largest magnitude of the wire */
    const float *samples; /* the first input's frames instead of noise, where they are one float;
                             may be NULL */
    const float *const *reference; /* per output of f32 what another program gives, whole, as its
                                      tensor lies; may be NULL */
    struct law_output *outputs; /* filled, those that were compared: room for as many as the model
                                   has; may be NULL */
    /* For tests: called on the pulsed graph before it runs, to break it. */
    void (*spoil)(struct pgraph *g, void *arg);
    void *spoil_arg;
};

struct law_result {
    int64_t pulse; /* taken; 0: refused */
    bool holds, same_bits;
    unsigned n_wires;   /* compared node by node */
    bool no_whole;      /* the length is too short for a whole run, and the stream gave no frame */
    bool faults;        /* the whole run asks for what is not there; the stream stops, too, or the
                           plan does not take the length */
    double most;        /* of all outputs */
    unsigned n_outputs; /* compared */
    double from_reference; /* largest difference of the stream from the reference, absolute */
    char where[480]; /* where it is broken: the first node that differs, frame and both values */
};

/* RILL_OK: the law was checked, see ret. UNSUPPORTED: the model does not stream, or it should give
 * frames for a length that has no whole run; words say why. Allocates; not for the real-time
 * path. */
rill_status law_check(const rill_model *m, const struct law_opts *o, struct law_result *ret,
                      rill_error *reterr);
#endif
