/* SPDX-License-Identifier: MIT */
/* A file of an older opset as a newer one says it. The meaning of its nodes stays: what became an
 * input is one, and what a default used to say is said. */
#include "tools/quantize/edit.h"
#include "engine/base/err.h"

#include <inttypes.h>
#include <string.h>

struct raising {
    struct net *net;
    struct net_graph *g;
    Onnxpb__Node *node;
    struct node_list *to;
    int64_t from, opset; /* of the file; the one it is brought to */
    const char *why;     /* it cannot be */
};

/* What happens to an op between two opsets. */
struct change {
    const char *op;
    int since; /* nodes of older opsets are changed */
    rill_status (*make)(struct raising *r, const struct change *c);
    const char *attr; /* which attribute */
    size_t input;     /* which input it becomes */
};

static rill_status unknown(struct raising *r, const struct change *c)
{
    (void) c;
    r->why = "what it means has changed since";
    return RILL_OK;
}

static rill_status attr_to_input(struct raising *r, const struct change *c, const char *suffix,
                                 const struct tensor_form *value)
{
    const ProtobufCBinaryData base = r->node->n_output ? r->node->output[0] : r->node->op_type;
    ProtobufCBinaryData name;
    TRY(name_fresh(r->net, base, suffix, &name));
    TRY(tensor_add(r->net, r->g, name, value));
    TRY(node_set_input(r->net, r->node, c->input, name));
    node_drop_attr(r->node, c->attr);
    return RILL_OK;
}

/* A list of integers becomes an input. */
static rill_status ints_to_input(struct raising *r, const struct change *c)
{
    const Onnxpb__Attribute *a = pb_attr(r->node, c->attr);
    if (!a)
        return RILL_OK;
    const bool is_list = a->n_ints || !a->has_i;
    const int64_t n = is_list ? (int64_t) a->n_ints : 1;
    return attr_to_input(r, c, "_axes",
                         &(struct tensor_form) { ONNX_INT64, 1, &n, is_list ? a->ints : &a->i,
                                                 (size_t) n * sizeof a->i });
}

/* One integer becomes an input without axes. */
static rill_status int_to_input(struct raising *r, const struct change *c)
{
    const Onnxpb__Attribute *a = pb_attr(r->node, c->attr);
    return !a ? RILL_OK
              : attr_to_input(r, c, "_axis",
                              &(struct tensor_form) { ONNX_INT64, 0, NULL, &a->i, sizeof a->i });
}

static rill_status attr_drop(struct raising *r, const struct change *c)
{
    node_drop_attr(r->node, c->attr);
    return RILL_OK;
}

/* Until 12 over all axes from `axis` (1) on: flattened in front, and given its shape behind. */
static rill_status softmax_whole(struct raising *r, const struct change *c)
{
    (void) c;
    Onnxpb__Node *n = r->node, *flatten;
    int64_t axis = pb_int(n, "axis", 1);
    node_drop_attr(n, "axis");
    TRY(node_set_int(r->net, n, "axis", -1));
    if (axis == -1 || !n->n_input || !n->n_output)
        return RILL_OK;
    ProtobufCBinaryData x = n->input[0], y = n->output[0], flat, shape, soft;
    TRY(name_fresh(r->net, y, "_flat", &flat));
    TRY(name_fresh(r->net, y, "_shape", &shape));
    TRY(name_fresh(r->net, y, "_rows", &soft));
    TRY(node_append(r->net, r->to, &(struct node_form) { "Shape", { x }, { shape } }, NULL));
    TRY(node_append(r->net, r->to, &(struct node_form) { "Flatten", { x }, { flat } }, &flatten));
    TRY(node_set_int(r->net, flatten, "axis", axis));
    n->input[0] = flat;
    n->output[0] = soft;
    TRY(node_push(r->net, r->to, n));
    r->node = NULL;
    return node_append(r->net, r->to, &(struct node_form) { "Reshape", { soft, shape }, { y } },
                       NULL);
}

/* Training outputs went with 14. */
static rill_status batch_norm(struct raising *r, const struct change *c)
{
    (void) c;
    if (r->node->n_output > 1)
        r->why = "it has outputs of training";
    return RILL_OK;
}

/* Since 18 parts without sizes are counted. */
static rill_status split_count(struct raising *r, const struct change *c)
{
    (void) c;
    bool sizes = r->node->n_input > 1 && r->node->input[1].len;
    return sizes ? RILL_OK
                 : node_set_int(r->net, r->node, "num_outputs", (int64_t) r->node->n_output);
}

static rill_status resize_modes(struct raising *r, const struct change *c)
{
    const Onnxpb__Attribute *a = pb_attr(r->node, c->attr);
    if (a && pb_is(a->s, "tf_half_pixel_for_nn"))
        r->why = "its coordinates are of a kind that newer opsets do not have";
    return RILL_OK;
}

static rill_status grid_modes(struct raising *r, const struct change *c)
{
    Onnxpb__Attribute *a = pb_attr(r->node, c->attr);
    if (a && pb_is(a->s, "bilinear"))
        a->s = pb_text("linear");
    if (a && pb_is(a->s, "bicubic"))
        a->s = pb_text("cubic");
    return RILL_OK;
}

/* clang-format off */
#define AXES(op, since) { op, since, ints_to_input, "axes", 1 }
/* clang-format on */

/* In the order of the opsets. Ops that only take more types since, or have new attributes whose
 * defaults say what was before, are not here. */
static const struct change changes[] = {
    { "Dropout", 12, attr_drop, "ratio", 0 },
    AXES("Squeeze", 13),
    AXES("Unsqueeze", 13),
    AXES("ReduceSum", 13),
    { "Split", 13, ints_to_input, "split", 1 },
    { "Softmax", 13, softmax_whole, NULL, 0 },
    { "LogSoftmax", 13, softmax_whole, NULL, 0 },
    { "Hardmax", 13, softmax_whole, NULL, 0 },
    { "Resize", 13, resize_modes, "coordinate_transformation_mode", 0 },
    { "BatchNormalization", 14, batch_norm, NULL, 0 },
    { "RoiAlign", 16, unknown, NULL, 0 },
    AXES("ReduceL1", 18),
    AXES("ReduceL2", 18),
    AXES("ReduceLogSum", 18),
    AXES("ReduceLogSumExp", 18),
    AXES("ReduceMax", 18),
    AXES("ReduceMean", 18),
    AXES("ReduceMin", 18),
    AXES("ReduceProd", 18),
    AXES("ReduceSumSquare", 18),
    { "Split", 18, split_count, NULL, 0 },
    { "DFT", 20, int_to_input, "axis", 2 },
    { "GridSample", 20, grid_modes, "mode", 0 },
    { "GroupNormalization", 21, unknown, NULL, 0 },
};

#define OLDEST 11 /* opset from which the table above goes on */

static rill_status node_raise(struct raising *r)
{
    Onnxpb__Node *n = r->node;
    for (size_t i = 0; i < sizeof changes / sizeof *changes && r->node && !r->why; i++) {
        const struct change *c = &changes[i];
        if (r->from < c->since && c->since <= r->opset && pb_is(n->op_type, c->op))
            TRY(c->make(r, c));
    }
    if (r->why)
        return err_set(r->net->err, RILL_UNSUPPORTED,
                       "'%.160s': node '%.80s': %.40s cannot be brought from opset %" PRId64
                       " to %" PRId64 ", which small weights want: %s; export the model for "
                       "opset %" PRId64,
                       r->net->name, onnx_text(r->net->arena, n->name),
                       onnx_text(r->net->arena, n->op_type), r->from, r->opset, r->why, r->opset);
    return r->node ? node_push(r->net, r->to, r->node) : RILL_OK;
}

static rill_status graph_raise(struct raising *r)
{
    struct node_list list = { 0 };
    r->to = &list;
    for (size_t i = 0; i < r->g->pb->n_node; i++) {
        r->node = r->g->pb->node[i];
        if (onnx_is_default_domain(r->node->domain))
            TRY(node_raise(r));
        else
            TRY(node_push(r->net, &list, r->node));
    }
    graph_set_nodes(r->g, &list);
    return RILL_OK;
}

rill_status net_raise(struct net *net, int64_t opset)
{
    Onnxpb__OpsetId *set = onnx_message_opset(net->model);
    struct raising r = { .net = net, .from = set->version, .opset = opset };
    int64_t ir = opset >= 21 ? 10 : 7;
    if (r.from >= opset)
        return RILL_OK;
    if (r.from < OLDEST)
        return err_set(net->err, RILL_UNSUPPORTED,
                       "'%.160s' is of opset %" PRId64 "; small weights want opset %" PRId64
                       ", and files of opset %d and newer are brought there: export it for one",
                       net->name, r.from, opset, OLDEST);
    for (size_t i = 0; i < net->n_graphs; i++) {
        r.g = net->graphs[i];
        TRY(graph_raise(&r));
    }
    set->version = opset;
    if (net->model->ir_version < ir)
        net->model->ir_version = ir;
    return RILL_OK;
}
