/* SPDX-License-Identifier: MIT */
#include "tools/quantize/edit.h"
#include "engine/base/err.h"

#include <stdio.h>
#include <string.h>

ProtobufCBinaryData pb_text(const char *text)
{
    return (ProtobufCBinaryData) { strlen(text), (uint8_t *) (uintptr_t) text };
}

/* ---- names ---- */

static bool name_among(const ProtobufCBinaryData *list, size_t n, ProtobufCBinaryData name)
{
    while (n && !pb_same(list[n - 1], name))
        n--;
    return n > 0;
}

static bool list_has(const struct node_list *l, ProtobufCBinaryData name)
{
    for (size_t i = 0; i < l->n; i++)
        if (name_among(l->v[i]->output, l->v[i]->n_output, name))
            return true;
    return false;
}

static bool graph_has(const struct net_graph *g, ProtobufCBinaryData name)
{
    const Onnxpb__Graph *pb = g->pb;
    const struct node_list nodes = { pb->node, pb->n_node, 0 };
    bool has = list_has(&nodes, name) || list_has(&g->front, name);
    for (size_t i = 0; i < pb->n_initializer && !has; i++)
        has = pb_same(pb->initializer[i]->name, name);
    for (size_t i = 0; i < pb->n_input && !has; i++)
        has = pb_same(pb->input[i]->name, name);
    return has;
}

static bool net_has(const struct net *net, ProtobufCBinaryData name)
{
    for (size_t i = 0; i < net->n_graphs; i++)
        if (graph_has(net->graphs[i], name))
            return true;
    return false;
}

rill_status name_fresh(struct net *net, ProtobufCBinaryData base, const char *suffix,
                       ProtobufCBinaryData *ret)
{
    size_t n = base.len + strlen(suffix);
    uint8_t *text = arena_alloc(net->arena, n + 16);
    if (!text)
        return net_no_memory(net);
    memcpy(text, base.data, base.len);
    memcpy(text + base.len, suffix, n - base.len);
    *ret = (ProtobufCBinaryData) { n, text };
    for (unsigned k = 2; net_has(net, *ret); k++)
        ret->len = n + (size_t) snprintf((char *) text + n, 16, "_%u", k);
    return RILL_OK;
}

/* ---- nodes ---- */

static rill_status names_copy(struct net *net, const ProtobufCBinaryData *from, size_t n,
                              ProtobufCBinaryData **ret)
{
    *ret = arena_array(net->arena, ProtobufCBinaryData, n + 1);
    if (!*ret)
        return net_no_memory(net);
    if (n)
        memcpy(*ret, from, n * sizeof **ret);
    return RILL_OK;
}

static size_t names_count(const ProtobufCBinaryData *list)
{
    size_t n = 0;
    while (list[n].len)
        n++;
    return n;
}

rill_status node_make(struct net *net, const struct node_form *form, Onnxpb__Node **ret)
{
    Onnxpb__Node *n = arena_new(net->arena, Onnxpb__Node);
    if (!n)
        return net_no_memory(net);
    onnxpb__node__init(n);
    n->n_input = names_count(form->in);
    n->n_output = names_count(form->out);
    TRY(names_copy(net, form->in, n->n_input, &n->input));
    TRY(names_copy(net, form->out, n->n_output, &n->output));
    n->has_op_type = n->has_name = true;
    n->op_type = pb_text(form->op);
    n->name = form->out[0];
    *ret = n;
    return RILL_OK;
}

rill_status node_push(struct net *net, struct node_list *to, Onnxpb__Node *n)
{
    if (to->n == to->cap) {
        size_t cap = to->cap * 2 + 64;
        Onnxpb__Node **more = arena_array(net->arena, Onnxpb__Node *, cap);
        if (!more)
            return net_no_memory(net);
        if (to->n)
            memcpy(more, to->v, to->n * sizeof(Onnxpb__Node *));
        to->v = more;
        to->cap = cap;
    }
    to->v[to->n++] = n;
    return RILL_OK;
}

rill_status node_append(struct net *net, struct node_list *to, const struct node_form *form,
                        Onnxpb__Node **ret)
{
    Onnxpb__Node *n;
    TRY(node_make(net, form, &n));
    if (ret)
        *ret = n;
    return node_push(net, to, n);
}

static rill_status attr_make(struct net *net, Onnxpb__Node *n, const char *name,
                             Onnxpb__Attribute **ret)
{
    *ret = pb_attr(n, name);
    if (*ret)
        return RILL_OK;
    Onnxpb__Attribute **list = arena_array(net->arena, Onnxpb__Attribute *, n->n_attribute + 1),
                      *a = arena_new(net->arena, Onnxpb__Attribute);
    if (!list || !a)
        return net_no_memory(net);
    if (n->n_attribute)
        memcpy(list, n->attribute, n->n_attribute * sizeof(Onnxpb__Attribute *));
    onnxpb__attribute__init(a);
    a->has_name = a->has_type = true;
    a->name = pb_text(name);
    n->attribute = list;
    *ret = n->attribute[n->n_attribute++] = a;
    return RILL_OK;
}

rill_status node_set_int(struct net *net, Onnxpb__Node *n, const char *name, int64_t v)
{
    Onnxpb__Attribute *a;
    TRY(attr_make(net, n, name, &a));
    a->type = ONNX_ATTR_INT;
    a->has_i = true;
    a->i = v;
    return RILL_OK;
}

void node_drop_attr(Onnxpb__Node *n, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->n_attribute; i++)
        if (!pb_is(n->attribute[i]->name, name))
            n->attribute[kept++] = n->attribute[i];
    n->n_attribute = kept;
}

rill_status node_set_input(struct net *net, Onnxpb__Node *n, size_t i, ProtobufCBinaryData name)
{
    if (i >= n->n_input) {
        ProtobufCBinaryData *more = arena_array(net->arena, ProtobufCBinaryData, i + 1);
        if (!more)
            return net_no_memory(net);
        if (n->n_input)
            memcpy(more, n->input, n->n_input * sizeof *more);
        n->input = more;
        n->n_input = i + 1;
    }
    n->input[i] = name;
    return RILL_OK;
}

void graph_set_nodes(struct net_graph *g, const struct node_list *list)
{
    g->pb->node = list->v;
    g->pb->n_node = list->n;
}

/* ---- tensors ---- */

rill_status tensor_add(struct net *net, struct net_graph *g, ProtobufCBinaryData name,
                       const struct tensor_form *form)
{
    Onnxpb__Graph *pb = g->pb;
    Onnxpb__Tensor *t = arena_new(net->arena, Onnxpb__Tensor),
                   **list = arena_array(net->arena, Onnxpb__Tensor *, pb->n_initializer + 1);
    int64_t *dims = arena_array(net->arena, int64_t, (size_t) form->rank + 1);
    uint8_t *data = arena_alloc(net->arena, form->bytes + 1);
    if (!t || !list || !dims || !data)
        return net_no_memory(net);
    onnxpb__tensor__init(t);
    memcpy(data, form->data, form->bytes);
    for (int i = 0; i < form->rank; i++)
        dims[i] = form->dim[i];
    t->n_dims = (size_t) form->rank;
    t->dims = dims;
    t->has_data_type = t->has_name = t->has_raw_data = true;
    t->data_type = form->type;
    t->name = name;
    t->raw_data = (ProtobufCBinaryData) { form->bytes, data };
    if (pb->n_initializer)
        memcpy(list, pb->initializer, pb->n_initializer * sizeof(Onnxpb__Tensor *));
    pb->initializer = list;
    pb->initializer[pb->n_initializer++] = t;
    return RILL_OK;
}

rill_status ints_add(struct net *net, struct net_graph *g, ProtobufCBinaryData base,
                     const char *suffix, const int64_t *v, size_t n, ProtobufCBinaryData *ret)
{
    const int64_t dim = (int64_t) n;
    TRY(name_fresh(net, base, suffix, ret));
    return tensor_add(net, g, *ret,
                      &(struct tensor_form) { ONNX_INT64, 1, &dim, v, n * sizeof *v });
}
