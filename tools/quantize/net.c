/* SPDX-License-Identifier: MIT */
#include "tools/quantize/net.h"
#include "engine/base/err.h"

#include <math.h>
#include <string.h>

static const struct layer_kind kinds[] = {
    { "Conv", ROLE_CONV, OP_CONV },
    { "ConvInteger", ROLE_DONE, OP_NONE },
    { "ConvTranspose", ROLE_CONV_TRANSPOSE, OP_CONV_TRANSPOSE },
    { "DynamicQuantizeLSTM", ROLE_DONE, OP_NONE },
    { "DynamicQuantizeMatMul", ROLE_DONE, OP_NONE },
    { "Einsum", ROLE_EINSUM, OP_EINSUM },
    { "GRU", ROLE_CELL, OP_GRU },
    { "Gemm", ROLE_PRODUCT, OP_GEMM },
    { "LSTM", ROLE_CELL, OP_LSTM },
    { "MatMul", ROLE_PRODUCT, OP_MATMUL },
    { "MatMulInteger", ROLE_DONE, OP_NONE },
    { "MatMulIntegerToFloat", ROLE_DONE, OP_NONE },
    { "MatMulNBits", ROLE_DONE, OP_NONE },
    { "QGemm", ROLE_DONE, OP_NONE },
    { "QLinearConv", ROLE_DONE, OP_NONE },
    { "QLinearMatMul", ROLE_DONE, OP_NONE },
    { "RNN", ROLE_CELL, OP_RNN },
};

rill_status net_no_memory(const struct net *net)
{
    return err_set(net->err, RILL_NOMEM, "'%.160s': out of memory", net->name);
}

/* ---- messages ---- */

bool pb_is(ProtobufCBinaryData b, const char *text)
{
    return b.len == strlen(text) && !memcmp(b.data, text, b.len);
}

bool pb_same(ProtobufCBinaryData a, ProtobufCBinaryData b)
{
    return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

Onnxpb__Attribute *pb_attr(const Onnxpb__Node *n, const char *name)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        if (pb_is(n->attribute[i]->name, name))
            return n->attribute[i];
    return NULL;
}

int64_t pb_int(const Onnxpb__Node *n, const char *name, int64_t absent)
{
    const Onnxpb__Attribute *a = pb_attr(n, name);
    return a && a->has_i ? a->i : absent;
}

float pb_float(const Onnxpb__Node *n, const char *name, float absent)
{
    const Onnxpb__Attribute *a = pb_attr(n, name);
    return a && a->has_f ? a->f : absent;
}

/* ---- graphs and constants ---- */

static struct constant *constant_in(const struct net_graph *g, ProtobufCBinaryData name)
{
    for (size_t i = 0; i < g->n_constants; i++)
        if (pb_same(g->constants[i].name, name))
            return &g->constants[i];
    return NULL;
}

static const Onnxpb__Node *producer_in(const struct net_graph *g, ProtobufCBinaryData name)
{
    for (size_t i = 0; i < g->pb->n_node; i++)
        for (size_t k = 0; k < g->pb->node[i]->n_output; k++)
            if (pb_same(g->pb->node[i]->output[k], name))
                return g->pb->node[i];
    return NULL;
}

static bool is_formal(const struct net_graph *g, ProtobufCBinaryData name)
{
    bool formal = false;
    for (size_t i = 0; i < g->pb->n_input && !formal; i++)
        formal = pb_same(g->pb->input[i]->name, name);
    return formal;
}

struct constant *net_constant(const struct net_graph *g, ProtobufCBinaryData name)
{
    for (; g && name.len; g = g->parent) {
        struct constant *c = constant_in(g, name);
        if (c || producer_in(g, name) || is_formal(g, name))
            return c;
    }
    return NULL;
}

const Onnxpb__Node *net_producer(const struct net_graph *g, ProtobufCBinaryData name)
{
    for (; g && name.len; g = g->parent) {
        const Onnxpb__Node *n = producer_in(g, name);
        if (n || is_formal(g, name))
            return n;
    }
    return NULL;
}

rill_status net_value(struct net *net, struct constant *c, const struct tensor **ret)
{
    const char *name = onnx_text(net->arena, c->name),
               *what = name ? arena_printf(net->arena, "constant '%.100s'", name) : NULL;
    if (!what)
        return net_no_memory(net);
    if (!c->value)
        TRY(onnx_message_tensor(&c->value, net->arena, net->file, c->pb, what, net->err));
    *ret = c->value;
    return RILL_OK;
}

static rill_status constants_find(struct net *net, struct net_graph *g)
{
    const Onnxpb__Graph *pb = g->pb;
    g->constants = arena_array(net->arena, struct constant, pb->n_initializer + pb->n_node + 1);
    if (!g->constants)
        return net_no_memory(net);
    for (size_t i = 0; i < pb->n_initializer; i++) {
        const Onnxpb__Tensor *t = pb->initializer[i];
        net->external |= t->has_data_location && t->data_location == ONNX_EXTERNAL;
        g->constants[g->n_constants++] = (struct constant) { .name = t->name, .pb = t, .in = g };
    }
    for (size_t i = 0; i < pb->n_node; i++) {
        const Onnxpb__Node *n = pb->node[i];
        const Onnxpb__Attribute *value =
            pb_is(n->op_type, "Constant") && n->n_output ? pb_attr(n, "value") : NULL;
        if (value && value->t)
            g->constants[g->n_constants++] =
                (struct constant) { .name = n->output[0], .pb = value->t, .node = n, .in = g };
    }
    return RILL_OK;
}

static rill_status graph_add(struct net *net, Onnxpb__Graph *pb, struct net_graph *parent)
{
    struct net_graph *g = arena_new(net->arena, struct net_graph);
    if (g && net->n_graphs == net->cap_graphs) {
        size_t cap = net->cap_graphs * 2 + 8;
        struct net_graph **more = arena_array(net->arena, struct net_graph *, cap);
        if (more && net->n_graphs)
            memcpy(more, net->graphs, net->n_graphs * sizeof(struct net_graph *));
        net->graphs = more;
        net->cap_graphs = cap;
    }
    if (!g || !net->graphs)
        return net_no_memory(net);
    *g = (struct net_graph) { .pb = pb, .parent = parent };
    net->graphs[net->n_graphs++] = g;
    TRY(constants_find(net, g));
    for (size_t i = 0; i < pb->n_node; i++) /* as deep as the reader's limit allows */
        for (size_t k = 0; k < pb->node[i]->n_attribute; k++)
            if (pb->node[i]->attribute[k]->g)
                TRY(graph_add(net, pb->node[i]->attribute[k]->g, g));
    return RILL_OK;
}

/* ---- layers ---- */

static const struct layer_kind *kind_of(const Onnxpb__Node *n)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (pb_is(n->op_type, kinds[i].name))
            return kinds[i].role == ROLE_DONE || onnx_is_default_domain(n->domain) ? &kinds[i]
                                                                                   : NULL;
    return NULL;
}

/* Weights may stand on either side of it. */
static bool has_two_sides(const struct layer_kind *k)
{
    return k->role == ROLE_PRODUCT || k->role == ROLE_EINSUM;
}

/* Where the weights of a kind stand: one input, the two of a cell, or either side. */
static unsigned weights_at(const struct layer_kind *k, unsigned ret[2])
{
    bool pair = k->role == ROLE_CELL || has_two_sides(k);
    ret[0] = 1;
    ret[1] = k->role == ROLE_CELL ? 2 : 0;
    return pair ? 2 : 1;
}

#define EQUATION_MAX 64

/* Without blanks; false: it is longer, or not of two operands and an output. */
static bool equation_read(const Onnxpb__Node *n, char text[EQUATION_MAX])
{
    const Onnxpb__Attribute *a = pb_attr(n, "equation");
    size_t end = 0;
    for (size_t i = 0; a && i < a->s.len && end < EQUATION_MAX; i++)
        if (a->s.data[i] != ' ')
            text[end++] = (char) a->s.data[i];
    if (end == EQUATION_MAX || n->n_input != 2)
        return false;
    text[end] = 0;
    const char *comma = strchr(text, ','), *arrow = strstr(text, "->");
    return comma && arrow && comma < arrow && !strchr(comma + 1, ',');
}

/* Of weights of an Einsum: sums go along the one axis that the output has not, channels along the
 * last one that the other operand has not. The equation is another: none. */
static struct weight_axes axes_of_equation(const Onnxpb__Node *n, unsigned input, int rank)
{
    const struct weight_axes none = { -1, -1 };
    struct weight_axes ret = none;
    char text[EQUATION_MAX];
    if (!equation_read(n, text))
        return none;
    char *comma = strchr(text, ','), *arrow = strstr(text, "->");
    *comma = *arrow = 0;
    const char *own = input ? comma + 1 : text, *other = input ? text : comma + 1, *out = arrow + 2;
    if (strchr(own, '.') || strlen(own) != (size_t) rank)
        return none;
    for (int i = 0; i < rank; i++) {
        const bool stays = strchr(out, own[i]);
        if (!stays && ret.sum >= 0)
            return none;
        ret.sum = stays ? ret.sum : i;
        ret.channel = stays && !strchr(other, own[i]) ? i : ret.channel;
    }
    return ret.sum < 0 || ret.channel < 0 ? none : ret;
}

static struct weight_axes axes_of(const struct layer *l, unsigned input, int rank)
{
    bool across = pb_int(l->node, input ? "transB" : "transA", 0) == 1;
    switch (l->kind->role) {
    case ROLE_CONV: return (struct weight_axes) { 0, 1 };
    case ROLE_CONV_TRANSPOSE: return (struct weight_axes) { 1, 0 };
    case ROLE_CELL: return (struct weight_axes) { 1, 2 };
    case ROLE_EINSUM: return axes_of_equation(l->node, input, rank);
    default: break;
    }
    if (rank < 2)
        return (struct weight_axes) { -1, 0 };
    return (input == 1) != across ? (struct weight_axes) { rank - 1, rank - 2 }
                                  : (struct weight_axes) { rank - 2, rank - 1 };
}

#define MOVES_MAX 24   /* nodes in a row */
#define BEHIND_MAX 400 /* nodes in all */

/* Ops that give numbers on as they are. */
static bool only_moves(const Onnxpb__Node *n)
{
    static const char *const ops[] = { "Concat", "Flatten", "Identity",  "Reshape",  "Slice",
                                       "Split",  "Squeeze", "Transpose", "Unsqueeze" };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (pb_is(n->op_type, ops[i]))
            return true;
    return false;
}

/* The weights behind an input. */
struct behind {
    struct constant *list[LAYER_WEIGHTS_MAX];
    unsigned n, transposes, n_seen;
    bool done;    /* they are dequantised there */
    bool unknown; /* something else is */
};

static void behind_add(struct behind *b, struct constant *c)
{
    if (c->pb->data_type != ONNX_FLOAT || c->pb->n_dims < 2)
        return;
    for (unsigned i = 0; i < b->n; i++)
        if (b->list[i] == c)
            return;
    b->unknown |= b->n == LAYER_WEIGHTS_MAX;
    if (!b->unknown)
        b->list[b->n++] = c;
}

static void behind_find(const struct net_graph *g, ProtobufCBinaryData name, int left,
                        struct behind *b)
{
    struct constant *c = net_constant(g, name);
    const Onnxpb__Node *n = c ? NULL : net_producer(g, name);
    if (c) {
        behind_add(b, c);
        return;
    }
    b->done |=
        n && pb_is(n->op_type, "DequantizeLinear") && n->n_input && net_constant(g, n->input[0]);
    b->unknown |= !n || !only_moves(n) || !n->n_input || !left || ++b->n_seen > BEHIND_MAX;
    if (b->unknown)
        return;
    b->transposes += pb_is(n->op_type, "Transpose");
    bool all = pb_is(n->op_type, "Concat"); /* of others the first input is the data */
    for (size_t i = 0; i < (all ? n->n_input : 1) && !b->unknown; i++)
        behind_find(g, n->input[i], left - 1, b);
}

/* Of weights that are moved: rows are channels, as they are on the way out of most programs, or
 * columns where a product reads them as they lie. */
static struct weight_axes axes_moved(const struct layer *l, unsigned transposes, int rank)
{
    bool columns = l->kind->role == ROLE_PRODUCT && transposes % 2 == 0;
    return columns ? (struct weight_axes) { rank - 1, rank - 2 } : (struct weight_axes) { 0, 1 };
}

/* Whether the weights at that input are quantised already. */
static bool weights_add(struct layer *l, unsigned input)
{
    struct behind b = { .n = 0 };
    struct constant *own = net_constant(l->in, l->node->input[input]);
    if (own)
        b.list[b.n++] = own;
    else
        behind_find(l->in, l->node->input[input], MOVES_MAX, &b);
    bool fits = own || (!b.unknown && !b.done && l->n_weights + b.n <= LAYER_WEIGHTS_MAX);
    if (l->kind->role == ROLE_EINSUM)
        fits = own && axes_of(l, input, (int) own->pb->n_dims).sum >= 0;
    for (unsigned i = 0; i < b.n && fits; i++) {
        int rank = (int) b.list[i]->pb->n_dims;
        l->weight[l->n_weights++] = (struct weight) {
            .input = input,
            .from = b.list[i],
            .moved = !own,
            .axes = own ? axes_of(l, input, rank) : axes_moved(l, b.transposes, rank),
        };
    }
    return b.done;
}

/* Why the layer is left; NULL: it is not. */
static const char *weights_find(struct layer *l)
{
    unsigned at[2], n = weights_at(l->kind, at);
    bool done = l->kind->role == ROLE_DONE, one = has_two_sides(l->kind);
    for (unsigned i = 0; i < n && !done; i++)
        if (at[i] < l->node->n_input && !(one && l->n_weights))
            done = weights_add(l, at[i]);
    return done ? "is quantised already" : NULL;
}

static const char *layer_name(const struct net *net, const Onnxpb__Node *n)
{
    ProtobufCBinaryData b = n->name;
    for (size_t i = 0; !b.len && i < n->n_output; i++)
        b = n->output[i];
    return onnx_text(net->arena, b);
}

static rill_status layer_add(struct net *net, struct net_graph *g, Onnxpb__Node *n,
                             const struct layer_kind *kind)
{
    struct layer l = { .node = n, .in = g, .kind = kind, .low = 0, .high = 0 };
    l.why = weights_find(&l);
    if (!l.why && !l.n_weights)
        return RILL_OK;
    l.n_weights = l.why ? 0 : l.n_weights;
    l.name = layer_name(net, n);
    if (net->n_layers == net->cap_layers) {
        size_t cap = net->cap_layers * 2 + 16;
        struct layer *more = arena_array(net->arena, struct layer, cap);
        if (more && net->n_layers)
            memcpy(more, net->layers, net->n_layers * sizeof *more);
        net->layers = more;
        net->cap_layers = cap;
    }
    if (!net->layers || !l.name)
        return net_no_memory(net);
    net->layers[net->n_layers++] = l;
    return RILL_OK;
}

rill_status net_read(struct net *net, const struct bytes *file, const char *name, struct arena *a,
                     rill_error *reterr)
{
    *net = (struct net) { .arena = a, .file = file, .name = name, .err = reterr };
    TRY(onnx_message_read(&net->model, a, file, reterr));
    net->opset = onnx_message_opset(net->model)->version;
    net->ir = net->model->ir_version;
    TRY(graph_add(net, net->model->graph, NULL));
    for (size_t i = 0; i < net->n_graphs; i++)
        for (size_t k = 0; k < net->graphs[i]->pb->n_node; k++) {
            Onnxpb__Node *n = net->graphs[i]->pb->node[k];
            const struct layer_kind *kind = kind_of(n);
            if (kind)
                TRY(layer_add(net, net->graphs[i], n, kind));
        }
    return RILL_OK;
}

/* ---- decisions ---- */

double loss_db(const struct loss *l)
{
    if (!(l->noise >= 0)) /* what came is no number any more */
        return (double) -INFINITY;
    if (l->noise > 0)
        return 10 * log10(l->signal / l->noise);
    return l->signal > 0 ? (double) INFINITY : (double) NAN;
}

bool net_has_moved(const struct net *net)
{
    for (size_t i = 0; i < net->n_layers; i++)
        for (unsigned k = 0; k < net->layers[i].n_weights; k++)
            if (net->layers[i].weight[k].moved)
                return true;
    return false;
}

/* NAN, of a layer that gave only zeros, is no loss. */
static bool loses_too_much(const struct loss *l, double least_db)
{
    return loss_db(l) < least_db;
}

static const struct loss *weights_loss(const struct layer *l, struct loss *own)
{
    if (l->runs)
        return &l->weights;
    *own = (struct loss) { 0, 0 };
    for (unsigned i = 0; i < l->n_weights; i++) {
        own->signal += l->weight[i].signal;
        own->noise += l->weight[i].noise;
    }
    return own;
}

static bool reads_moved(const struct layer *l, const struct constant *c)
{
    for (unsigned i = 0; i < l->n_weights; i++)
        if (l->weight[i].moved && l->weight[i].from == c)
            return true;
    return false;
}

/* What is moved is changed where it lies, for all that read it: if one of them is left, so are the
 * others. */
static void moved_leave(struct net *net)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < net->n_layers; i++)
            for (unsigned k = 0; k < net->layers[i].n_weights && !net->layers[i].fate; k++)
                for (size_t m = 0; m < net->n_layers; m++) {
                    struct layer *l = &net->layers[m];
                    if (!l->fate || !reads_moved(l, net->layers[i].weight[k].from))
                        continue;
                    l->fate = LAYER_LEFT;
                    l->why = "shares weights with one that is";
                    more = true;
                }
    }
}

void net_decide(struct net *net, const struct quantize_opts *o)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        struct layer *l = &net->layers[i];
        struct loss own;
        if (!l->n_weights)
            continue;
        bool was_whole = l->fate > LAYER_WEIGHTS;
        const struct loss *weights = weights_loss(l, &own);
        if (loses_too_much(weights, o->least_db)) {
            l->fate = LAYER_LEFT;
            l->why = "loses more";
        } else if (was_whole && o->mode == QUANTIZE_STATIC && !l->runs) {
            l->fate = LAYER_WEIGHTS;
            l->why = "no recording reaches it";
        } else if (was_whole && l->runs && loses_too_much(&l->whole, o->least_db)) {
            l->fate = LAYER_WEIGHTS;
            l->why = "its activations lose more";
        }
        if (!l->runs)
            l->weights = *weights;
    }
    moved_leave(net);
}

size_t net_quantised(const struct net *net)
{
    size_t n = 0;
    for (size_t i = 0; i < net->n_layers; i++)
        n += net->layers[i].fate != LAYER_LEFT;
    return n;
}

/* ---- bytes ---- */

rill_status net_pack(struct net *net, struct bytes *ret)
{
    size_t n = onnxpb__model__get_packed_size(net->model);
    if (n > INT32_MAX)
        return err_set(net->err, RILL_LIMIT,
                       "'%.160s' would have %zu bytes; an ONNX file has at most 2 GiB", net->name,
                       n);
    uint8_t *data = arena_alloc(net->arena, n + 1);
    if (!data)
        return net_no_memory(net);
    *ret = (struct bytes) { .data = data, .n = onnxpb__model__pack(net->model, data) };
    return RILL_OK;
}

rill_status net_pack_marked(struct net *net, struct bytes *ret)
{
    ProtobufCBinaryData *was = arena_array(net->arena, ProtobufCBinaryData, net->n_layers + 1);
    if (!was)
        return net_no_memory(net);
    for (size_t i = 0; i < net->n_layers; i++) {
        Onnxpb__Node *n = net->layers[i].node;
        char *mark = arena_printf(net->arena, LAYER_MARK, net->number, i);
        if (!mark)
            return net_no_memory(net);
        was[i] = n->name;
        n->name = (ProtobufCBinaryData) { strlen(mark), (uint8_t *) mark };
        net->layers[i].node->has_name = true;
    }
    rill_status s = net_pack(net, ret);
    for (size_t i = 0; i < net->n_layers; i++) {
        net->layers[i].node->name = was[i];
        net->layers[i].node->has_name = was[i].data != NULL;
    }
    return s;
}

/* The numbers of a tensor are others; *ret_was is what it was. */
static void numbers_put(Onnxpb__Tensor *t, const struct tensor *v, Onnxpb__Tensor *ret_was)
{
    *ret_was = *t;
    t->n_float_data = t->n_external_data = 0;
    t->has_data_location = false;
    t->has_raw_data = true;
    t->raw_data = (ProtobufCBinaryData) { tensor_bytes(v), v->data };
}

rill_status net_pack_moved(struct net *net, struct bytes *ret)
{
    size_t n = 0, most = net->n_layers * LAYER_WEIGHTS_MAX;
    struct kept {
        Onnxpb__Tensor *t, was;
    } *kept = arena_array(net->arena, struct kept, most + 1);
    if (!kept)
        return net_no_memory(net);
    for (size_t i = 0; i < net->n_layers; i++)
        for (unsigned k = 0; k < net->layers[i].n_weights; k++) {
            const struct weight *w = &net->layers[i].weight[k];
            if (!w->moved)
                continue;
            kept[n].t = (Onnxpb__Tensor *) (uintptr_t) w->from->pb;
            numbers_put(kept[n].t, w->to.back, &kept[n].was);
            n++;
        }
    rill_status s = net_pack_marked(net, ret);
    while (n--)
        *kept[n].t = kept[n].was;
    return s;
}
