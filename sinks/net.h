/* SPDX-License-Identifier: MIT */
/* net.h - a network without time that is run on some vectors at once: one stream each, weights read
 * once. */
#ifndef RILL_SINKS_NET_H
#define RILL_SINKS_NET_H
#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>

#define NET_INPUTS_MAX 2

struct net {
    rill_plan *plan;
    rill_stream **streams;
    unsigned n_inputs;
    rill_port in[NET_INPUTS_MAX], out;
};

/* what: for messages. Has n_inputs inputs and one output, or INVALID. net_drop also where this
 * failed. */
rill_status net_make(struct net *ret, struct arena *a, const rill_plan *p, const char *what,
                     unsigned n_inputs, unsigned n_streams, rill_error *err);
void net_drop(struct net *n);

/* All inputs of the streams before `n`, one vector each; then all run; then their answers, zeros of
 * one that stopped. Real-time safe. */
void net_push(struct net *n, unsigned stream, unsigned input, const float *x);
void net_run(struct net *n, unsigned n_streams);
void net_pull(struct net *n, unsigned stream, float *y);

/* What its model's metadata say to a key, or NULL. */
const char *net_meta(const struct net *n, const char *key);

/* Whether such a text is this number, in decimal digits. */
bool net_meta_is(const char *text, uint32_t number);
#endif
