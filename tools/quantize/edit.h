/* SPDX-License-Identifier: MIT */
/* edit.h - nodes and tensors put into messages. What fails leaves its reason in net->err. */
#ifndef RILL_TOOLS_QUANTIZE_EDIT_H
#define RILL_TOOLS_QUANTIZE_EDIT_H
#include "tools/quantize/net.h"

ProtobufCBinaryData pb_text(const char *text);

/* base with suffix, and a number where the file has that name already. */
rill_status name_fresh(struct net *net, ProtobufCBinaryData base, const char *suffix,
                       ProtobufCBinaryData *ret);

#define NODE_INPUTS_MAX 4
#define NODE_OUTPUTS_MAX 3

/* A node to make; inputs and outputs end at the first without a name. */
struct node_form {
    const char *op;
    ProtobufCBinaryData in[NODE_INPUTS_MAX + 1], out[NODE_OUTPUTS_MAX + 1];
};
rill_status node_make(struct net *net, const struct node_form *form, Onnxpb__Node **ret);
rill_status node_push(struct net *net, struct node_list *to, Onnxpb__Node *n);
/* Both at once. */
rill_status node_append(struct net *net, struct node_list *to, const struct node_form *form,
                        Onnxpb__Node **ret);

rill_status node_set_int(struct net *net, Onnxpb__Node *n, const char *name, int64_t v);
void node_drop_attr(Onnxpb__Node *n, const char *name);
/* Input i is name; those between are absent. */
rill_status node_set_input(struct net *net, Onnxpb__Node *n, size_t i, ProtobufCBinaryData name);

/* A tensor that the file does not have yet, as an initializer of g. data: as it is stored. */
struct tensor_form {
    int type; /* enum onnx_number */
    int rank;
    const int64_t *dim;
    const void *data;
    size_t bytes;
};
rill_status tensor_add(struct net *net, struct net_graph *g, ProtobufCBinaryData name,
                       const struct tensor_form *form);
/* A list of integers under a fresh name like base. */
rill_status ints_add(struct net *net, struct net_graph *g, ProtobufCBinaryData base,
                     const char *suffix, const int64_t *v, size_t n, ProtobufCBinaryData *ret);

/* Its nodes are those of the list from now on. */
void graph_set_nodes(struct net_graph *g, const struct node_list *list);

/* raise.c: every node as the opset says it, which is newer than the file's. UNSUPPORTED with node
 * and op where that is not known. */
rill_status net_raise(struct net *net, int64_t opset);
#endif
