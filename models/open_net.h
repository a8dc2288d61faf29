/* SPDX-License-Identifier: MIT */
/* open_net.h - a network beside the pipeline whose inputs may have other sizes in each run, as the
 * library gives it to a sink (lib/open_net.c). */
#ifndef RILL_MODELS_OPEN_NET_H
#define RILL_MODELS_OPEN_NET_H
#include "rill.h"

#include <stdbool.h>

#define OPEN_NET_PORTS_MAX 40 /* inputs; outputs */
#define OPEN_NET_RANK_MAX 8

/* f32, or i64; of a port dim is -1 where the file leaves it open, and rank -1 where it says none.
 */
struct open_value {
    const char *name; /* of a port */
    bool is_f32, is_i64;
    int rank;
    int64_t dim[OPEN_NET_RANK_MAX];
    const void *data; /* of a value */
};

/* What a run gave, an output each; valid in the call. */
typedef void (*open_net_take)(void *arg, const struct open_value *out);

struct open_net {
    const char *file; /* its name */
    unsigned n_in, n_out;
    struct open_value in[OPEN_NET_PORTS_MAX], out[OPEN_NET_PORTS_MAX];
    /* A value for each input; outputs go to take. Plans are made as sizes come: it allocates. Any
     * thread; one after the other. */
    rill_status (*run)(struct open_net *n, const struct open_value *in, open_net_take take,
                       void *arg, rill_error *err);
    struct open_net *(*free)(struct open_net *n); /* returns NULL */
    struct open_net *next;                        /* of its model */
};

/* The networks of an attention decoder. */
struct rill_attention {
    struct open_net *adapter, *cross_kv, *decoder; /* NULL: there is none */
};
#endif
