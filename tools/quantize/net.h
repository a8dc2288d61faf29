/* SPDX-License-Identifier: MIT */
/* net.h - an ONNX file that is being quantised: its messages, which of their nodes are layers with
 * weights, and what becomes of each. The messages are changed, nothing goes through a graph of
 * ours: what is not touched is written as it was read. */
#ifndef RILL_TOOLS_QUANTIZE_NET_H
#define RILL_TOOLS_QUANTIZE_NET_H
#include "engine/graph/op_id.h"
#include "models/onnx/message.h"

/* What is quantised: weights alone, or what goes into the layers as well, with a scale that each
 * run finds itself (dynamic) or one of recordings (static). */
enum quantize_mode { QUANTIZE_WEIGHTS, QUANTIZE_DYNAMIC, QUANTIZE_STATIC };

struct quantize_opts {
    enum quantize_mode mode;
    int bits;        /* of weights: 8, 7 (in 8) or 4 */
    int64_t block;   /* weights along the axis of sums that share a scale, of 4 bits */
    double least_db; /* a layer that loses more stays f32 */
};

/* A tensor of the file that is known before running. */
struct constant {
    ProtobufCBinaryData name;
    const Onnxpb__Tensor *pb;
    const Onnxpb__Node *node; /* the Constant that makes it; NULL: an initializer */
    struct net_graph *in;
    const struct tensor *value; /* NULL: not asked for so far */
};

struct node_list {
    Onnxpb__Node **v;
    size_t n, cap;
};

/* A graph of the file or a body in one. */
struct net_graph {
    Onnxpb__Graph *pb;
    struct net_graph *parent; /* NULL: of the model */
    struct constant *constants;
    size_t n_constants;
    struct node_list front; /* nodes that will stand before all others */
};

/* Weights as small integers, w = q * scale. */
struct small_weights {
    const struct tensor *q;     /* i8, also where 4 bits are meant */
    const struct tensor *scale; /* f32: one a channel, or one a block */
    const struct tensor *back;  /* f32: what they stand for */
    int axis;                   /* of DequantizeLinear */
    int64_t block;              /* 0: one scale a channel of the axis */
};

/* The axes of weights: of channels, which have a scale of their own, and the one that sums go
 * along. */
struct weight_axes {
    int channel, sum;
};

/* Weights that go through nodes that only move numbers (Slice, Concat, Transpose, ..) on their way
 * into a layer are quantised where they lie. */
struct weight {
    unsigned input; /* of the node */
    struct constant *from;
    struct weight_axes axes;
    struct small_weights to;
    bool moved;                  /* it does */
    const struct tensor *put_in; /* what then arrives of to.back; NULL: not known */
    double signal, noise;        /* powers of the weights and of what quantising adds */
};

/* What a layer loses, in powers over all that was run. */
struct loss {
    double signal, noise;
};

/* How a layer is written. */
enum layer_fate { LAYER_LEFT, LAYER_WEIGHTS, LAYER_DYNAMIC, LAYER_STATIC };

#define LAYER_WEIGHTS_MAX 16

enum layer_role { ROLE_PRODUCT, ROLE_EINSUM, ROLE_CONV, ROLE_CONV_TRANSPOSE, ROLE_CELL, ROLE_DONE };

/* An op that has weights, or had (ROLE_DONE). */
struct layer_kind {
    const char *name; /* in the file */
    enum layer_role role;
    enum op_id id; /* of the engine; OP_NONE: one that is DONE */
};

struct layer {
    Onnxpb__Node *node;
    struct net_graph *in;
    const struct layer_kind *kind;
    const char *name; /* for people */
    struct weight weight[LAYER_WEIGHTS_MAX];
    unsigned n_weights;
    int64_t n_values; /* weights in all */
    enum layer_fate fate;
    const char *why; /* it is left, or its activations are; NULL: neither */
    /* of what was run: the largest and smallest number that goes in, what is lost with small
     * weights, and with small activations as well */
    float low, high;
    uint64_t runs;
    struct loss weights, whole;
};

struct net {
    struct arena *arena;
    const struct bytes *file;
    const char *name; /* for people */
    unsigned number;  /* among the nets of a model */
    Onnxpb__Model *model;
    struct net_graph **graphs; /* a body after what it stands in */
    size_t n_graphs, cap_graphs;
    struct layer *layers;
    size_t n_layers, cap_layers;
    int64_t opset, ir; /* as the file had them */
    bool external;     /* it has tensors in other files */
    rill_error *err;
};

/* Reads a file and finds its layers; net->err is set. MALFORMED, LIMIT, .. as the reader has it. */
rill_status net_read(struct net *net, const struct bytes *file, const char *name, struct arena *a,
                     rill_error *reterr);

/* Quantises the weights of every layer, where they can be. */
rill_status net_weights(struct net *net, const struct quantize_opts *o);

/* What each layer becomes by what it loses. */
void net_decide(struct net *net, const struct quantize_opts *o);
/* Layers that are not left. */
size_t net_quantised(const struct net *net);

/* Puts integers and scales into the messages, brings them to the opset that those need, and takes
 * out weights that nothing reads any more. */
rill_status net_write(struct net *net, const struct quantize_opts *o);

/* The messages as bytes, in the arena. */
rill_status net_pack(struct net *net, struct bytes *ret);
/* The same with layers named by LAYER_MARK and the numbers of net and layer, so that a graph made
 * of it can be told which nodes they are. */
#define LAYER_MARK "layer:%u:%zu"
rill_status net_pack_marked(struct net *net, struct bytes *ret);
/* The same once more, with the numbers that weights which are moved will have. */
rill_status net_pack_moved(struct net *net, struct bytes *ret);
bool net_has_moved(const struct net *net);

/* Decibels of a loss: INFINITY where there is none, NAN where nothing was lost of nothing. */
double loss_db(const struct loss *l);

/* ---- messages ---- */

bool pb_is(ProtobufCBinaryData b, const char *text);
bool pb_same(ProtobufCBinaryData a, ProtobufCBinaryData b);
Onnxpb__Attribute *pb_attr(const Onnxpb__Node *n, const char *name); /* NULL if absent */
int64_t pb_int(const Onnxpb__Node *n, const char *name, int64_t absent);
float pb_float(const Onnxpb__Node *n, const char *name, float absent);

/* The constant of that name as a node of g sees it; NULL: it is none. */
struct constant *net_constant(const struct net_graph *g, ProtobufCBinaryData name);
rill_status net_value(struct net *net, struct constant *c, const struct tensor **ret);
/* The node that makes it, as g sees it; NULL: none does. */
const Onnxpb__Node *net_producer(const struct net_graph *g, ProtobufCBinaryData name);

rill_status net_no_memory(const struct net *net);
#endif
