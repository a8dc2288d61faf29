/* SPDX-License-Identifier: MIT */
/* import.h - the network of a call of rill_onnx or rill_onnx_scan: what the call says of it
 * (import_call.c), and the graph that is made of it (import.c). */
#ifndef RILL_MODELS_NNEF_IMPORT_H
#define RILL_MODELS_NNEF_IMPORT_H
#include "engine/typing/typed.h"
#include "models/nnef/build.h"

struct net {
    const struct call *c;
    const char *file;
    struct mgraph m;
    struct tgraph t; /* inputs: those of m that are no constants */
    uint32_t *x;
    unsigned n_x, n_in, n_out, n_states, n_consts, n_shapes;
    const char **in, **out;
    struct net_state {
        const char *in, *out;
        uint32_t init;
        struct nnef_pos pos;
        uint32_t own_in, own_out; /* of the file's own: wires of t; else WIRE_NONE */
    } * state;
    struct net_const {
        const char *in;
        struct val v;
        struct nnef_pos pos;
    } * consts;
    struct net_shape {
        const char *in;
        const struct nnef_expr *e;
    } * shapes;
    struct typed_input *facts; /* one per input of m */
    const struct dim *length;
};

/* Reads the names that the call gives of what goes in and comes out, the file into net->m, then the
 * names that the call leaves out. */
rill_status net_file_read(struct net *net);

/* States as the call names them; then each * stands for every pair that fits. */
rill_status net_states_read(struct net *net);
rill_status net_states_expand(struct net *net);

/* Where name stands in a list of wires; n: nowhere. */
uint32_t net_index_of(const struct graph *g, const uint32_t *list, uint32_t n, const char *name);
/* Refuses a name that no input has; pair: who wants it, NULL: the call. */
rill_status net_input_index(const struct net *net, const char *name, const char *pair,
                            uint32_t *ret);
rill_status net_no_such(const struct net *net, const char *what, const char *name,
                        const char *pair);
const char *net_pair_print(const struct net *net, const struct net_state *st);
#endif
