/* SPDX-License-Identifier: MIT */
/* network.h - a network without a time axis, run on a batch of vectors: a stream each, weights are
 * read once. Of several outputs the second one, the length of the first, is left alone. */
#ifndef RILL_SINKS_NETWORK_H
#define RILL_SINKS_NETWORK_H
#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>

#define NETWORK_PORTS_MAX 8 /* inputs; outputs */

struct network {
    rill_plan *plan;
    const char *file; /* its name; the plan's */
    rill_stream **streams;
    unsigned n_streams;
    unsigned n_inputs, n_outputs;
    rill_port in[NETWORK_PORTS_MAX], out[NETWORK_PORTS_MAX];
};

/* what: its name in messages. INVALID unless its ports are vectors, f32 but for the length.
 * network_drop is needed also where this failed. */
rill_status network_make(struct network *ret, struct arena *a, const rill_plan *p, const char *what,
                         unsigned n_streams, rill_error *err);
void network_drop(struct network *n);

/* rill_stream_alone, of all its streams. */
void network_alone(struct network *n, bool alone);

/* Push every input of n streams, a vector each; run them; pull every output, zeros of a stream that
 * stopped: fault says why, unless it says something already. Real-time safe. */
void network_push(struct network *n, unsigned stream, unsigned input, const float *x);
void network_run(struct network *n, unsigned n_streams, rill_error *fault);
void network_pull(struct network *n, unsigned stream, unsigned output, float *y);

/* The value of a key in its model's metadata, or NULL. */
const char *network_meta(const struct network *n, const char *key);

/* Whether such a text is this number, in decimal digits. */
bool network_meta_is(const char *text, uint32_t number);
#endif
