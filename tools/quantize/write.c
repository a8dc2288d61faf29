/* SPDX-License-Identifier: MIT */
/* Layers as they are written: weights as integers with DequantizeLinear behind them, activations
 * through QuantizeLinear and back (static), or the whole layer in integers (dynamic). */
#include "tools/quantize/edit.h"
#include "engine/base/err.h"
#include "tools/quantize/activation.h"

#include <string.h>

/* What a constant, or a value on its way into a layer, has been made. */
struct made {
    const struct constant *from; /* NULL: a value of graph g */
    struct net_graph *g;
    ProtobufCBinaryData value;
    int axis;
    int64_t block;
    bool across;                              /* rows and columns are exchanged */
    ProtobufCBinaryData q, scale, zero, back; /* back: f32 again; empty: not asked for */
};

struct writing {
    struct net *net;
    const struct quantize_opts *o;
    struct made *made;
    size_t n_made, cap_made;
    struct net_graph *g;
    struct node_list *to;
};

static rill_status made_add(struct writing *w, const struct made *m, struct made **ret)
{
    if (w->n_made == w->cap_made) {
        size_t cap = w->cap_made * 2 + 16;
        struct made *more = arena_array(w->net->arena, struct made, cap);
        if (!more)
            return net_no_memory(w->net);
        if (w->n_made)
            memcpy(more, w->made, w->n_made * sizeof *more);
        w->made = more;
        w->cap_made = cap;
    }
    w->made[w->n_made] = *m;
    *ret = &w->made[w->n_made++];
    return RILL_OK;
}

/* ---- weights ---- */

/* Two to a byte, the first in the low half. */
static rill_status nibbles(struct net *net, const struct tensor *q, struct tensor_form *ret)
{
    size_t n = (size_t) tensor_count(q);
    const int8_t *v = q->data;
    uint8_t *bytes = arena_alloc(net->arena, n / 2 + 1);
    if (!bytes)
        return net_no_memory(net);
    for (size_t i = 0; i < n; i++)
        bytes[i / 2] |= (uint8_t) ((v[i] & 15) << (i % 2 * 4));
    *ret = (struct tensor_form) { ONNX_INT4, q->rank, q->dim, bytes, (n + 1) / 2 };
    return RILL_OK;
}

static rill_status columns(struct net *net, const struct tensor *q, struct tensor_form *ret)
{
    struct tensor *t = tensor_new(net->arena, DTYPE_I8, 2, (int64_t[]) { q->dim[1], q->dim[0] });
    if (!t)
        return net_no_memory(net);
    for (int64_t i = 0; i < t->dim[0]; i++)
        for (int64_t k = 0; k < t->dim[1]; k++)
            ((int8_t *) t->data)[i * t->dim[1] + k] = ((int8_t *) q->data)[k * t->dim[0] + i];
    *ret = (struct tensor_form) { ONNX_INT8, 2, t->dim, t->data, tensor_bytes(t) };
    return RILL_OK;
}

static bool weight_matches(const struct made *m, const struct weight *wt, bool across)
{
    return m->from == wt->from && m->axis == wt->to.axis && m->block == wt->to.block &&
        m->across == across;
}

/* Integers and scales of a weight, once for all layers that read it so. */
static rill_status weight_store(struct writing *w, const struct weight *wt, bool across,
                                struct made **ret)
{
    struct net *net = w->net;
    const struct small_weights *to = &wt->to;
    for (size_t i = 0; i < w->n_made; i++)
        if (weight_matches(&w->made[i], wt, across)) {
            *ret = &w->made[i];
            return RILL_OK;
        }
    struct made m = {
        .from = wt->from, .g = wt->from->in, .axis = to->axis, .block = to->block, .across = across
    };
    struct tensor_form q = { ONNX_INT8, to->q->rank, to->q->dim, to->q->data, tensor_bytes(to->q) },
                       scale = { ONNX_FLOAT, to->scale->rank, to->scale->dim, to->scale->data,
                                 tensor_bytes(to->scale) };
    if (w->o->bits == 4)
        TRY(nibbles(net, to->q, &q));
    if (across)
        TRY(columns(net, to->q, &q));
    TRY(name_fresh(net, wt->from->name, "_quantized", &m.q));
    TRY(tensor_add(net, m.g, m.q, &q));
    TRY(name_fresh(net, wt->from->name, "_scale", &m.scale));
    TRY(tensor_add(net, m.g, m.scale, &scale));
    return made_add(w, &m, ret);
}

/* The weight as f32 from its integers. */
static rill_status weight_back(struct writing *w, const struct weight *wt, ProtobufCBinaryData *ret)
{
    struct made *m;
    Onnxpb__Node *n;
    TRY(weight_store(w, wt, false, &m));
    *ret = m->back;
    if (m->back.len)
        return RILL_OK;
    TRY(name_fresh(w->net, wt->from->name, "_dequantized", &m->back));
    *ret = m->back;
    struct node_form form = { "DequantizeLinear", { m->q, m->scale }, { m->back } };
    TRY(node_append(w->net, &m->g->front, &form, &n));
    if (wt->to.scale->rank)
        TRY(node_set_int(w->net, n, "axis", m->axis));
    return m->block ? node_set_int(w->net, n, "block_size", m->block) : RILL_OK;
}

static bool is_within(const struct net_graph *g, const struct net_graph *outer)
{
    while (g && g != outer)
        g = g->parent;
    return g;
}

/* All that read a constant where it lies read `to` instead. */
static void reads_replace(const struct net *net, const struct constant *c, ProtobufCBinaryData to)
{
    for (size_t i = 0; i < net->n_graphs; i++) {
        const Onnxpb__Graph *g = net->graphs[i]->pb;
        for (size_t k = 0; k < g->n_node && is_within(net->graphs[i], c->in); k++)
            for (size_t j = 0; j < g->node[k]->n_input; j++)
                if (pb_same(g->node[k]->input[j], c->name))
                    g->node[k]->input[j] = to;
    }
}

static rill_status layer_weights_write(struct writing *w, const struct layer *l)
{
    for (unsigned i = 0; i < l->n_weights; i++) {
        const struct weight *wt = &l->weight[i];
        ProtobufCBinaryData back;
        TRY(weight_back(w, wt, &back));
        if (wt->moved)
            reads_replace(w->net, wt->from, back);
        else
            TRY(node_set_input(w->net, l->node, wt->input, back));
    }
    return RILL_OK;
}

/* ---- activations ---- */

static struct made *value_find(struct writing *w, ProtobufCBinaryData value)
{
    for (size_t i = 0; i < w->n_made; i++)
        if (!w->made[i].from && w->made[i].g == w->g && pb_same(w->made[i].value, value))
            return &w->made[i];
    return NULL;
}

static rill_status static_store(struct writing *w, const struct layer *l, struct made *m)
{
    struct net *net = w->net;
    struct activation a = activation_of(l->low, l->high);
    uint8_t zero = (uint8_t) a.zero;
    TRY(name_fresh(net, m->value, "_quantized", &m->q));
    TRY(name_fresh(net, m->value, "_scale", &m->scale));
    TRY(name_fresh(net, m->value, "_zero", &m->zero));
    TRY(name_fresh(net, m->value, "_dequantized", &m->back));
    TRY(tensor_add(net, w->g, m->scale,
                   &(struct tensor_form) { ONNX_FLOAT, 0, NULL, &a.scale, sizeof a.scale }));
    TRY(tensor_add(net, w->g, m->zero,
                   &(struct tensor_form) { ONNX_UINT8, 0, NULL, &zero, sizeof zero }));
    struct node_form down = { "QuantizeLinear", { m->value, m->scale, m->zero }, { m->q } },
                     up = { "DequantizeLinear", { m->q, m->scale, m->zero }, { m->back } };
    TRY(node_append(net, w->to, &down, NULL));
    return node_append(net, w->to, &up, NULL);
}

static rill_status static_write(struct writing *w, const struct layer *l)
{
    struct made *m = value_find(w, l->node->input[0]);
    if (!m) {
        TRY(made_add(w, &(struct made) { .g = w->g, .value = l->node->input[0] }, &m));
        TRY(static_store(w, l, m));
    }
    l->node->input[0] = m->back;
    TRY(layer_weights_write(w, l));
    return node_push(w->net, w->to, l->node);
}

static rill_status dynamic_store(struct writing *w, struct made *m)
{
    struct net *net = w->net;
    TRY(name_fresh(net, m->value, "_quantized", &m->q));
    TRY(name_fresh(net, m->value, "_scale", &m->scale));
    TRY(name_fresh(net, m->value, "_zero", &m->zero));
    return node_append(net, w->to,
                       &(struct node_form) {
                           "DynamicQuantizeLinear", { m->value }, { m->q, m->scale, m->zero } },
                       NULL);
}

/* A list of one number a channel with axes behind it for the kernel's. */
static rill_status channels_write(struct writing *w, const struct layer *l,
                                  ProtobufCBinaryData list, ProtobufCBinaryData *ret)
{
    int64_t axes[RANK_MAX];
    int rank = l->weight[0].to.q->rank;
    size_t n = l->kind->role == ROLE_CONV && rank > 2 ? (size_t) rank - 2 : 0;
    ProtobufCBinaryData where;
    *ret = list;
    for (size_t i = 0; i < n; i++)
        axes[i] = (int64_t) i + 1;
    if (!n)
        return RILL_OK;
    TRY(name_fresh(w->net, list, "_channels", ret));
    TRY(ints_add(w->net, w->g, *ret, "_axes", axes, n, &where));
    return node_append(w->net, w->to,
                       &(struct node_form) { "Unsqueeze", { list, where }, { *ret } }, NULL);
}

/* x and weights as integers, their exact product, and what that stands for. */
static rill_status product_write(struct writing *w, const struct layer *l, const struct made *x,
                                 ProtobufCBinaryData y)
{
    struct net *net = w->net;
    bool conv = l->kind->role == ROLE_CONV, across = pb_int(l->node, "transB", 0) == 1;
    struct made *weight;
    Onnxpb__Node *n;
    ProtobufCBinaryData whole, real, channels, scale;
    TRY(name_fresh(net, y, "_integers", &whole));
    TRY(name_fresh(net, y, "_sums", &real));
    TRY(name_fresh(net, y, "_step", &scale));
    const struct made from = *x; /* the list of what was made may move */
    TRY(weight_store(w, &l->weight[0], across, &weight));
    struct node_form form = { conv ? "ConvInteger" : "MatMulInteger",
                              { from.q, weight->q, from.zero },
                              { whole } };
    ProtobufCBinaryData weight_scale = weight->scale;
    TRY(node_append(net, w->to, &form, &n));
    n->has_name = l->node->has_name;
    n->name = l->node->name;
    if (conv) {
        n->attribute = l->node->attribute;
        n->n_attribute = l->node->n_attribute;
    }
    TRY(node_append(net, w->to, &(struct node_form) { "Cast", { whole }, { real } }, &n));
    TRY(node_set_int(net, n, "to", ONNX_FLOAT));
    TRY(channels_write(w, l, weight_scale, &channels));
    TRY(node_append(net, w->to, &(struct node_form) { "Mul", { from.scale, channels }, { scale } },
                    NULL));
    return node_append(net, w->to, &(struct node_form) { "Mul", { real, scale }, { y } }, NULL);
}

static rill_status dynamic_write(struct writing *w, const struct layer *l)
{
    struct net *net = w->net;
    const Onnxpb__Node *n = l->node;
    bool biased = n->n_input > 2 && n->input[2].len;
    ProtobufCBinaryData y = n->output[0], product = y, bias;
    struct made *x = value_find(w, n->input[0]);
    if (!x) {
        TRY(made_add(w, &(struct made) { .g = w->g, .value = n->input[0] }, &x));
        TRY(dynamic_store(w, x));
    }
    if (biased)
        TRY(name_fresh(net, y, "_unbiased", &product));
    TRY(product_write(w, l, x, product));
    if (!biased)
        return RILL_OK;
    TRY(channels_write(w, l, n->input[2], &bias));
    return node_append(net, w->to, &(struct node_form) { "Add", { product, bias }, { y } }, NULL);
}

/* ---- graphs ---- */

static struct layer *layer_of(const struct net *net, const Onnxpb__Node *n)
{
    for (size_t i = 0; i < net->n_layers; i++)
        if (net->layers[i].node == n)
            return &net->layers[i];
    return NULL;
}

static rill_status node_write(struct writing *w, Onnxpb__Node *n)
{
    const struct layer *l = layer_of(w->net, n);
    switch (l ? l->fate : LAYER_LEFT) {
    case LAYER_STATIC: return static_write(w, l);
    case LAYER_DYNAMIC: return dynamic_write(w, l);
    case LAYER_WEIGHTS: TRY(layer_weights_write(w, l)); break;
    case LAYER_LEFT: break;
    }
    return node_push(w->net, w->to, n);
}

static rill_status graph_write(struct writing *w, struct net_graph *g)
{
    struct node_list list = { 0 };
    w->g = g;
    w->to = &list;
    for (size_t i = 0; i < g->pb->n_node; i++)
        TRY(node_write(w, g->pb->node[i]));
    graph_set_nodes(g, &list);
    return RILL_OK;
}

/* Weights come in front of all that reads them, in this graph and in bodies. */
static rill_status front_write(struct net *net, struct net_graph *g)
{
    for (size_t i = 0; i < g->pb->n_node; i++)
        TRY(node_push(net, &g->front, g->pb->node[i]));
    if (g->front.n)
        graph_set_nodes(g, &g->front);
    return RILL_OK;
}

/* ---- what nothing reads any more ---- */

static bool is_read(const struct net *net, ProtobufCBinaryData name)
{
    for (size_t i = 0; i < net->n_graphs; i++) {
        const Onnxpb__Graph *g = net->graphs[i]->pb;
        for (size_t k = 0; k < g->n_node; k++)
            for (size_t j = 0; j < g->node[k]->n_input; j++)
                if (pb_same(g->node[k]->input[j], name))
                    return true;
        for (size_t k = 0; k < g->n_output; k++)
            if (pb_same(g->output[k]->name, name))
                return true;
    }
    return false;
}

static void input_drop(Onnxpb__Graph *g, ProtobufCBinaryData name)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->n_input; i++)
        if (!pb_same(g->input[i]->name, name))
            g->input[kept++] = g->input[i];
    g->n_input = kept;
}

static void constant_drop(const struct constant *c)
{
    Onnxpb__Graph *g = c->in->pb;
    size_t kept = 0;
    for (size_t i = 0; c->node && i < g->n_node; i++)
        if (g->node[i] != c->node)
            g->node[kept++] = g->node[i];
    g->n_node = c->node ? kept : g->n_node;
    kept = 0;
    for (size_t i = 0; !c->node && i < g->n_initializer; i++)
        if (g->initializer[i] != c->pb)
            g->initializer[kept++] = g->initializer[i];
    g->n_initializer = c->node ? g->n_initializer : kept;
    if (!c->node)
        input_drop(g, c->name);
}

/* Old files list their constants as inputs as well; a body has no other inputs of that name. */
static void leftovers_drop(struct writing *w)
{
    for (size_t i = 0; i < w->n_made; i++) {
        const struct constant *c = w->made[i].from;
        bool before = false;
        for (size_t k = 0; k < i; k++)
            before |= w->made[k].from == c;
        if (c && !before && !is_read(w->net, c->name))
            constant_drop(c);
    }
}

/* ---- tensors of other files ---- */

/* What is left in other files comes into this one, which may lie elsewhere. */
static rill_status externals_take(struct net *net)
{
    for (size_t i = 0; i < net->n_graphs; i++)
        for (size_t k = 0; k < net->graphs[i]->n_constants; k++) {
            struct constant *c = &net->graphs[i]->constants[k];
            Onnxpb__Tensor *t = (Onnxpb__Tensor *) (uintptr_t) c->pb;
            const struct tensor *v;
            if (!t->has_data_location || t->data_location != ONNX_EXTERNAL)
                continue;
            TRY(net_value(net, c, &v));
            t->has_data_location = false;
            t->n_external_data = 0;
            t->has_raw_data = true;
            t->raw_data = (ProtobufCBinaryData) { tensor_bytes(v), v->data };
        }
    return RILL_OK;
}

#define OPSET_CHANNELS 13 /* DequantizeLinear with a scale a channel */
#define OPSET_4_BITS 21   /* with 4 bits, and blocks */
#define IR_FREE_CONSTANTS 4

rill_status net_write(struct net *net, const struct quantize_opts *o)
{
    struct writing w = { .net = net, .o = o };
    TRY(net_raise(net, o->bits == 4 ? OPSET_4_BITS : OPSET_CHANNELS));
    if (net->model->ir_version < IR_FREE_CONSTANTS) /* until then every constant is an input */
        net->model->ir_version = IR_FREE_CONSTANTS;
    for (size_t i = 0; i < net->n_graphs; i++)
        TRY(graph_write(&w, net->graphs[i]));
    for (size_t i = 0; i < net->n_graphs; i++)
        TRY(front_write(net, net->graphs[i]));
    leftovers_drop(&w);
    return net->external ? externals_take(net) : RILL_OK;
}
