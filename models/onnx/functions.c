/* SPDX-License-Identifier: MIT */
#include "models/onnx/functions.h"

#include <inttypes.h>
#include <string.h>

#define CALLS_DEEP 64   /* functions within functions */
#define ATTRS_MAX 1024  /* of a call, and of what a function says of them */
#define ATTRS_A_PART 16 /* so many that are looked through count as one that is written */

/* Nodes of a graph, as they come. */
struct written {
    Onnxpb__Node **node;
    Onnxpb__ValueInfo **value;
    uint32_t n, cap, n_value, cap_value;
};

/* ---- which function ---- */

static const char *key_of(struct arena *a, ProtobufCBinaryData domain, ProtobufCBinaryData name,
                          ProtobufCBinaryData overload)
{
    const char *d = onnx_is_default_domain(domain) ? "" : onnx_text(a, domain),
               *n = onnx_text(a, name), *o = onnx_text(a, overload);
    return d && n && o ? arena_printf(a, "%s\n%s\n%s", d, n, o) : NULL;
}

static struct onnx_version version_of(const Onnxpb__Function *f, const char *text)
{
    for (size_t i = f->n_opset_import; i-- > 0;)
        if (onnx_is_default_domain(f->opset_import[i]->domain))
            return (struct onnx_version) { f->opset_import[i]->version, false, text };
    return (struct onnx_version) { ONNX_OPSET_MAX, true, text };
}

/* What it says of types of values; nothing else is of use to a call. */
static rill_status infos_take(struct functions *u, struct definition *d)
{
    const Onnxpb__Function *f = d->pb;
    d->info = arena_array(u->arena, const Onnxpb__ValueInfo *, f->n_value_info + 1);
    if (!d->info)
        return functions_no_room(u);
    for (size_t i = 0; i < f->n_value_info; i++)
        if (f->value_info[i]->type && f->value_info[i]->type->tensor_type)
            d->info[d->n_info++] = f->value_info[i];
    return RILL_OK;
}

static rill_status definition_add(struct functions *u, const Onnxpb__Function *f)
{
    const char *key = key_of(u->arena, f->domain, f->name, f->overload);
    const char *name = onnx_text(u->arena, f->name), *domain = onnx_text(u->arena, f->domain);
    const char *text = name && domain
        ? arena_printf(u->arena, "function '%.60s' of domain '%.60s'", name, domain)
        : NULL;
    if (!key || !text)
        return functions_no_room(u);
    if (map_get(&u->find, key))
        return err_set(u->r->err, RILL_MALFORMED, "%s is defined twice", text);
    u->of[u->n] = (struct definition) { .pb = f, .text = text, .version = version_of(f, text) };
    TRY(infos_take(u, &u->of[u->n]));
    return map_set(&u->find, key, u->n++) ? RILL_OK : functions_no_room(u);
}

/* What rill knows as an op is one, whatever the file says. */
static rill_status definition_of(struct functions *u, const struct onnx_version *v,
                                 const Onnxpb__Node *n, const struct definition **ret)
{
    const char *key = key_of(u->arena, n->domain, n->op_type, n->overload);
    const uint32_t *at = key ? map_get(&u->find, key) : NULL;
    *ret = at ? &u->of[*at] : NULL;
    if (!key)
        return functions_no_room(u);
    if (!at)
        return RILL_OK;
    const char *domain = onnx_is_default_domain(n->domain) ? "" : onnx_text(u->arena, n->domain);
    const char *op = onnx_text(u->arena, n->op_type);
    if (!domain || !op)
        return functions_no_room(u);
    if ((*domain || !v->other_domains) && op_row_find(domain, op, v->opset))
        *ret = NULL;
    return RILL_OK;
}

static rill_status too_deep(const struct functions *u, const char *text)
{
    return err_set(u->r->err, RILL_LIMIT, "%s: functions call functions more than %d deep", text,
                   CALLS_DEEP);
}

static const char *circle_text(const struct functions *u, const struct call *c,
                               const struct definition *d)
{
    const char *text = onnx_text(u->arena, d->pb->name);
    for (bool more = true; text && c && more; c = c->outer) {
        const char *name = onnx_text(u->arena, c->of->pb->name);
        more = c->of != d;
        text = name ? arena_printf(u->arena, "%.40s > %.160s", name, text) : NULL;
    }
    return text;
}

static rill_status circle_check(const struct functions *u, const struct call *outer,
                                const struct definition *d, const char *name)
{
    for (const struct call *c = outer; c; c = c->outer) {
        const char *text = c->of == d ? circle_text(u, outer, d) : "";
        if (!text)
            return functions_no_room(u);
        if (*text)
            return err_set(u->r->err, RILL_MALFORMED, "node '%.80s': %s calls itself: %s", name,
                           d->text, text);
    }
    return outer && outer->deep == CALLS_DEEP ? too_deep(u, d->text) : RILL_OK;
}

static rill_status call_check(const struct functions *u, const struct call *c)
{
    const Onnxpb__Function *f = c->of->pb;
    if (c->node->n_input > f->n_input || c->node->n_output > f->n_output)
        return err_set(u->r->err, RILL_MALFORMED,
                       "node '%.80s' has %zu inputs and %zu outputs, %s has %zu and %zu", c->name,
                       c->node->n_input, c->node->n_output, c->of->text, f->n_input, f->n_output);
    if (c->node->n_attribute > ATTRS_MAX || f->n_attribute_proto > ATTRS_MAX)
        return err_set(u->r->err, RILL_LIMIT, "node '%.80s', %s: more than %d attributes", c->name,
                       c->of->text, ATTRS_MAX);
    if (c->of->version.opset < ONNX_OPSET_MIN)
        return err_set(u->r->err, RILL_UNSUPPORTED,
                       "node '%.80s': %s is of opset %" PRId64 "; opsets %d to %d are read",
                       c->name, c->of->text, c->of->version.opset, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    return RILL_OK;
}

/* ---- how much it will be ---- */

static rill_status nodes_count(struct functions *u, const struct onnx_version *v,
                               Onnxpb__Node *const *list, size_t n, unsigned deep, uint64_t *nodes);

/* What a call writes, itself with it. One that is being counted is a circle, which is found where
 * it is written. */
static rill_status call_count(struct functions *u, const struct definition *d, unsigned deep,
                              uint64_t *nodes)
{
    struct definition *own = &u->of[d - u->of];
    if (deep > CALLS_DEEP)
        return too_deep(u, d->text);
    if (!own->counted) {
        uint64_t n = 0;
        own->counted = true;
        TRY(nodes_count(u, &d->version, d->pb->node, d->pb->n_node, deep, &n));
        own->nodes = n;
    }
    *nodes += own->nodes;
    return RILL_OK;
}

static rill_status node_count(struct functions *u, const struct onnx_version *v,
                              const Onnxpb__Node *n, unsigned deep, uint64_t *nodes)
{
    const struct definition *d;
    *nodes += 1;
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnxpb__Graph *g = n->attribute[i]->g;
        if (g)
            TRY(nodes_count(u, v, g->node, g->n_node, deep, nodes));
    }
    TRY(definition_of(u, v, n, &d));
    return d ? call_count(u, d, deep + 1, nodes) : RILL_OK;
}

/* v: of who has them */
static rill_status nodes_count(struct functions *u, const struct onnx_version *v,
                               Onnxpb__Node *const *list, size_t n, unsigned deep, uint64_t *nodes)
{
    for (size_t i = 0; i < n && *nodes <= u->r->limits.messages; i++)
        TRY(node_count(u, v, list[i], deep, nodes));
    return RILL_OK;
}

static rill_status too_many(const struct functions *u)
{
    return err_set(u->r->err, RILL_LIMIT,
                   "with the functions that the file defines written out, the graph has more than "
                   "%u nodes, values and attributes",
                   u->r->limits.messages);
}

static rill_status model_count(struct functions *u, const Onnxpb__Graph *g)
{
    uint64_t nodes = 0;
    TRY(nodes_count(u, &u->own, g->node, g->n_node, 0, &nodes));
    return nodes > u->r->limits.messages ? too_many(u) : RILL_OK;
}

/* ---- what is written ---- */

static rill_status charge(struct functions *u, uint64_t parts)
{
    u->parts += parts;
    return u->parts > u->r->limits.messages ? too_many(u) : RILL_OK;
}

static uint64_t tensor_data_bytes(const Onnxpb__Tensor *t)
{
    return t->raw_data.len + 4 * (t->n_float_data + t->n_int32_data) +
        8 * (t->n_int64_data + t->n_double_data + t->n_uint64_data);
}

static uint64_t list_bytes(const ProtobufCBinaryData *list, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += sizeof *list + list[i].len;
    return bytes;
}

/* Without its graph. */
static uint64_t attr_data_bytes(const Onnxpb__Attribute *t)
{
    uint64_t bytes = t->s.len + 4 * t->n_floats + 8 * t->n_ints +
        list_bytes(t->strings, t->n_strings) + list_bytes(t->tensors, t->n_tensors);
    bytes += t->t ? tensor_data_bytes(t->t) : 0;
    return bytes +
        (t->sparse_tensor && t->sparse_tensor->values ? tensor_data_bytes(t->sparse_tensor->values)
                                                      : 0);
}

/* A constant is read once for each call that has it. */
static rill_status data_charge(struct functions *u, uint64_t bytes)
{
    u->data_bytes += bytes;
    if (u->data_bytes > u->r->limits.unpack_bytes)
        return err_set(u->r->err, RILL_LIMIT,
                       "with the functions that the file defines written out, their constants are "
                       "more than %" PRIu64 " bytes; a constant that is an input of the function "
                       "counts once",
                       u->r->limits.unpack_bytes);
    return RILL_OK;
}

static rill_status attrs_charge(struct functions *u, const Onnxpb__Node *n)
{
    for (size_t i = 0; i < n->n_attribute; i++)
        TRY(data_charge(u, attr_data_bytes(n->attribute[i])));
    return RILL_OK;
}

static rill_status constants_charge(struct functions *u, const Onnxpb__Graph *g)
{
    for (size_t i = 0; i < g->n_initializer; i++)
        TRY(data_charge(u, tensor_data_bytes(g->initializer[i])));
    return RILL_OK;
}

static rill_status node_add(struct functions *u, struct written *to, Onnxpb__Node *n)
{
    Onnxpb__Node **more = arena_grow(u->arena, to->node, to->n, &to->cap, sizeof *more);
    if (!more)
        return functions_no_room(u);
    to->node = more;
    more[to->n++] = n;
    return RILL_OK;
}

static rill_status deep_check(const struct functions *u, unsigned deep)
{
    if (deep > u->r->limits.graphs_deep)
        return err_set(u->r->err, RILL_LIMIT,
                       "graphs are nested more than %u deep, with the functions that the file "
                       "defines written out",
                       u->r->limits.graphs_deep);
    return RILL_OK;
}

/* A copy of names, as they are in the model. */
static rill_status names_copy(const struct functions *u, const struct place *at, const char *by,
                              ProtobufCBinaryData **names, size_t n)
{
    ProtobufCBinaryData *copy = arena_array(u->arena, ProtobufCBinaryData, n + 1);
    if (!copy)
        return functions_no_room(u);
    for (size_t i = 0; i < n; i++) {
        copy[i] = (*names)[i];
        TRY(names_resolve(u, at, by, &copy[i]));
    }
    *names = copy;
    return RILL_OK;
}

/* ---- attributes ---- */

static rill_status graph_write(struct functions *u, const struct place *at,
                               const Onnxpb__Graph *from, Onnxpb__Graph **ret);

static const Onnxpb__Attribute *attr_named(Onnxpb__Attribute *const *list, size_t n,
                                           ProtobufCBinaryData name)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->name.len == name.len &&
            (!name.len || !memcmp(list[i]->name.data, name.data, name.len)))
            return list[i];
    return NULL;
}

/* A graph that is written already comes once more. */
static rill_status graph_charge(struct functions *u, const Onnxpb__Graph *g, unsigned deep)
{
    TRY(deep_check(u, deep));
    TRY(charge(u, g->n_node + g->n_input + g->n_output + g->n_value_info + g->n_initializer));
    TRY(constants_charge(u, g));
    for (size_t i = 0; i < g->n_node; i++) {
        TRY(attrs_charge(u, g->node[i]));
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            if (g->node[i]->attribute[k]->g)
                TRY(graph_charge(u, g->node[i]->attribute[k]->g, deep + 1));
    }
    return RILL_OK;
}

/* What an attribute of the function's node refers to: the call's, or else the function says what
 * it is; or else it is absent. */
static rill_status attr_refer(struct functions *u, const struct place *at, const char *node,
                              const Onnxpb__Attribute *from, Onnxpb__Attribute **ret)
{
    const struct call *c = at->call;
    TRY(charge(u, 1 + (c->node->n_attribute + c->of->pb->n_attribute_proto) / ATTRS_A_PART));
    const Onnxpb__Attribute *given =
        attr_named(c->node->attribute, c->node->n_attribute, from->ref_attr_name);
    const Onnxpb__Attribute *it = given
        ? given
        : attr_named(c->of->pb->attribute_proto, c->of->pb->n_attribute_proto, from->ref_attr_name);
    *ret = NULL;
    if (!it)
        return RILL_OK;
    if (from->type && it->type && from->type != it->type)
        return err_set(u->r->err, RILL_MALFORMED,
                       "node '%.80s': attribute '%.60s' is of kind %d, what node '%.80s' gives for "
                       "it of kind %d",
                       node, onnx_text(u->arena, from->name), from->type, c->name, it->type);
    Onnxpb__Attribute *copy = arena_copy(u->arena, it, sizeof *it);
    if (!copy)
        return functions_no_room(u);
    copy->name = from->name;
    *ret = copy;
    TRY(data_charge(u, attr_data_bytes(it)));
    if (!it->g)
        return RILL_OK;
    return given ? graph_charge(u, it->g, at->deep + 1) : graph_write(u, at, it->g, &copy->g);
}

static rill_status attr_write(struct functions *u, const struct place *at, const char *node,
                              Onnxpb__Attribute *from, Onnxpb__Attribute **ret)
{
    if (at->call && from->ref_attr_name.len)
        return attr_refer(u, at, node, from, ret);
    *ret = from;
    if (!from->g)
        return RILL_OK;
    *ret = arena_copy(u->arena, from, sizeof *from);
    return *ret ? graph_write(u, at, from->g, &(*ret)->g) : functions_no_room(u);
}

static bool attrs_stay(const struct place *at, const Onnxpb__Node *n)
{
    bool stay = true;
    for (size_t i = 0; i < n->n_attribute; i++)
        stay &= !n->attribute[i]->g && !(at->call && n->attribute[i]->ref_attr_name.len);
    return stay;
}

static rill_status attrs_write(struct functions *u, const struct place *at, const char *name,
                               Onnxpb__Node *n)
{
    if (attrs_stay(at, n))
        return RILL_OK;
    Onnxpb__Attribute **list = arena_array(u->arena, Onnxpb__Attribute *, n->n_attribute + 1);
    size_t kept = 0;
    if (!list)
        return functions_no_room(u);
    for (size_t i = 0; i < n->n_attribute; i++) {
        TRY(attr_write(u, at, name, n->attribute[i], &list[kept]));
        kept += list[kept] != NULL;
    }
    n->attribute = list;
    n->n_attribute = kept;
    return RILL_OK;
}

/* ---- nodes ---- */

/* The file's name for a node, otherwise that of its first output, or its op. */
static const char *node_text(struct arena *a, const Onnxpb__Node *n)
{
    if (n->name.len)
        return onnx_text(a, n->name);
    for (size_t i = 0; i < n->n_output; i++)
        if (n->output[i].len)
            return onnx_text(a, n->output[i]);
    return onnx_text(a, n->op_type);
}

static rill_status node_rename(struct functions *u, const struct place *at, const char *text,
                               Onnxpb__Node *n)
{
    n->name = name_of_text(u, text);
    if (!n->name.data)
        return functions_no_room(u);
    TRY(names_copy(u, at, text, &n->input, n->n_input));
    TRY(names_copy(u, at, text, &n->output, n->n_output));
    while (n->n_input && !n->input[n->n_input - 1].len)
        n->n_input--;
    return RILL_OK;
}

static rill_status call_write(struct functions *u, const struct place *at, const Onnxpb__Node *n,
                              const char *name, const struct definition *d, struct written *to);

static rill_status node_write(struct functions *u, const struct place *at, const Onnxpb__Node *from,
                              struct written *to)
{
    const struct call *c = at->call;
    const struct definition *d;
    const char *name = node_text(u->arena, from);
    struct versioned_node *n = arena_new(u->arena, struct versioned_node);
    if (c && name)
        name = arena_printf(u->arena, "%s/%s", c->name, name);
    if (!name || !n)
        return functions_no_room(u);
    TRY(charge(u, 1));
    *n = (struct versioned_node) { *from, c ? &c->of->version : &u->own };
    if (c) {
        TRY(attrs_charge(u, from));
        TRY(node_rename(u, at, name, &n->pb));
    }
    TRY(attrs_write(u, at, name, &n->pb));
    TRY(definition_of(u, n->version, from, &d));
    return d ? call_write(u, at, &n->pb, name, d, to) : node_add(u, to, &n->pb);
}

static rill_status nodes_write(struct functions *u, const struct place *at,
                               Onnxpb__Node *const *list, size_t n, struct written *to)
{
    for (size_t i = 0; i < n; i++)
        TRY(node_write(u, at, list[i], to));
    return RILL_OK;
}

static rill_status identity_add(struct functions *u, ProtobufCBinaryData from,
                                ProtobufCBinaryData to, struct written *ret)
{
    static char op[] = "Identity";
    struct versioned_node *n = arena_new(u->arena, struct versioned_node);
    ProtobufCBinaryData *names = arena_array(u->arena, ProtobufCBinaryData, 2);
    if (!n || !names)
        return functions_no_room(u);
    onnxpb__node__init(&n->pb);
    names[0] = from;
    names[1] = to;
    n->version = &u->newest;
    n->pb.op_type = (ProtobufCBinaryData) { sizeof op - 1, (uint8_t *) op };
    n->pb.input = &names[0];
    n->pb.output = &names[1];
    n->pb.n_input = n->pb.n_output = 1;
    return node_add(u, ret, &n->pb);
}

/* Outputs of a call that no node of the function has made under their name. */
static rill_status outputs_write(struct functions *u, const struct call *c, const struct names *s,
                                 struct written *to)
{
    for (size_t i = 0; i < c->node->n_output; i++) {
        const ProtobufCBinaryData wants = c->node->output[i];
        const char *text = onnx_text(u->arena, c->of->pb->output[i]);
        const struct function_value *v = text ? names_find(u, s, text) : NULL;
        if (!text)
            return functions_no_room(u);
        if (wants.len && (!v || v->state == VALUE_WANTED || !v->name.len))
            return err_set(u->r->err, RILL_MALFORMED,
                           "node '%.80s': %s does not make output '%.80s'", c->name, c->of->text,
                           text);
        if (wants.len && v->name.data != wants.data)
            TRY(identity_add(u, v->name, wants, to));
    }
    return RILL_OK;
}

/* Element types alone: sizes are those of some call. */
static rill_status types_write(struct functions *u, const struct call *c, const struct names *s,
                               struct written *to)
{
    for (size_t i = 0; i < c->of->n_info; i++) {
        const Onnxpb__ValueInfo *from = c->of->info[i];
        const char *text = onnx_text(u->arena, from->name);
        const struct function_value *v = text ? names_find(u, s, text) : NULL;
        if (text && (!v || v->state != VALUE_MADE))
            continue;
        Onnxpb__ValueInfo *info = arena_copy(u->arena, from, sizeof *from),
                          **more = arena_grow(u->arena, to->value, to->n_value, &to->cap_value,
                                              sizeof *more);
        Onnxpb__Type *type = arena_copy(u->arena, from->type, sizeof *type);
        Onnxpb__TensorType *element =
            arena_copy(u->arena, from->type->tensor_type, sizeof *element);
        if (!text || !info || !more || !type || !element)
            return functions_no_room(u);
        element->shape = NULL;
        type->tensor_type = element;
        info->type = type;
        info->name = v->name;
        to->value = more;
        more[to->n_value++] = info;
    }
    return RILL_OK;
}

static rill_status call_write(struct functions *u, const struct place *at, const Onnxpb__Node *n,
                              const char *name, const struct definition *d, struct written *to)
{
    const struct call *outer = at->call;
    const struct call c = { outer, d, n, name, outer ? outer->deep + 1 : 1 };
    struct names s = { 0 };
    const struct place inside = { &c, &s, at->deep };
    TRY(circle_check(u, outer, d, name));
    TRY(call_check(u, &c));
    TRY(names_of_call(u, &c, &s));
    for (size_t i = 0; i < d->pb->n_node; i++)
        for (size_t k = 0; k < d->pb->node[i]->n_output; k++)
            if (d->pb->node[i]->output[k].len)
                TRY(names_define(u, &c, &s, d->pb->node[i]->output[k]));
    TRY(nodes_write(u, &inside, d->pb->node, d->pb->n_node, to));
    TRY(outputs_write(u, &c, &s, to));
    return types_write(u, &c, &s, to);
}

/* ---- graphs ---- */

static rill_status infos_copy(const struct functions *u, const struct place *at,
                              Onnxpb__ValueInfo ***list, size_t n)
{
    Onnxpb__ValueInfo **copy = arena_array(u->arena, Onnxpb__ValueInfo *, n + 1);
    if (!copy)
        return functions_no_room(u);
    for (size_t i = 0; i < n; i++) {
        copy[i] = arena_copy(u->arena, (*list)[i], sizeof **copy);
        if (!copy[i])
            return functions_no_room(u);
        TRY(names_resolve(u, at, at->call->name, &copy[i]->name));
    }
    *list = copy;
    return RILL_OK;
}

static rill_status constants_copy(struct functions *u, const struct place *at, Onnxpb__Graph *g)
{
    TRY(constants_charge(u, g));
    Onnxpb__Tensor **copy = arena_array(u->arena, Onnxpb__Tensor *, g->n_initializer + 1);
    if (!copy)
        return functions_no_room(u);
    for (size_t i = 0; i < g->n_initializer; i++) {
        copy[i] = arena_copy(u->arena, g->initializer[i], sizeof **copy);
        if (!copy[i])
            return functions_no_room(u);
        TRY(names_resolve(u, at, at->call->name, &copy[i]->name));
    }
    g->initializer = copy;
    return RILL_OK;
}

/* What a graph within a function says of values, without what it says of others'. */
static rill_status known_copy(const struct functions *u, const struct place *at, Onnxpb__Graph *g)
{
    Onnxpb__ValueInfo **known = arena_array(u->arena, Onnxpb__ValueInfo *, g->n_value_info + 1);
    size_t n = 0;
    if (!known)
        return functions_no_room(u);
    for (size_t i = 0; i < g->n_value_info; i++) {
        const char *text = onnx_text(u->arena, g->value_info[i]->name);
        if (!text)
            return functions_no_room(u);
        if (names_find(u, at->names, text))
            known[n++] = g->value_info[i];
    }
    g->value_info = known;
    g->n_value_info = n;
    return infos_copy(u, at, &g->value_info, n);
}

static rill_status graph_rename(struct functions *u, const struct place *at, Onnxpb__Graph *g)
{
    TRY(infos_copy(u, at, &g->input, g->n_input));
    TRY(infos_copy(u, at, &g->output, g->n_output));
    TRY(known_copy(u, at, g));
    return constants_copy(u, at, g);
}

/* What calls say of values stands behind what the graph says. */
static rill_status infos_append(const struct functions *u, Onnxpb__Graph *g,
                                const struct written *all)
{
    const size_t n = g->n_value_info;
    Onnxpb__ValueInfo **list = arena_array(u->arena, Onnxpb__ValueInfo *, n + all->n_value + 1);
    if (!list)
        return functions_no_room(u);
    for (size_t i = 0; i < n; i++)
        list[i] = g->value_info[i];
    for (size_t i = 0; i < all->n_value; i++)
        list[n + i] = all->value[i];
    g->value_info = list;
    g->n_value_info = n + all->n_value;
    return RILL_OK;
}

static rill_status graph_write(struct functions *u, const struct place *at,
                               const Onnxpb__Graph *from, Onnxpb__Graph **ret)
{
    struct names s = { .outer = at->names };
    const struct place inside = { at->call, &s, at->deep + 1 };
    struct written all = { 0 };
    Onnxpb__Graph *g = arena_copy(u->arena, from, sizeof *from);
    if (!g)
        return functions_no_room(u);
    TRY(deep_check(u, inside.deep));
    if (at->call) {
        TRY(names_of_graph(u, at->call, from, &s));
        TRY(graph_rename(u, &inside, g));
    }
    TRY(nodes_write(u, &inside, from->node, from->n_node, &all));
    g->node = all.node;
    g->n_node = all.n;
    *ret = g;
    return all.n_value ? infos_append(u, g, &all) : RILL_OK;
}

/* ---- the model ---- */

static rill_status model_write(struct functions *u, struct reader *r, struct arena *a,
                               Onnxpb__Model *m)
{
    const struct place top = { 0 };
    u->r = r;
    u->arena = u->find.arena = u->taken.arena = a;
    u->of = arena_array(u->arena, struct definition, m->n_functions);
    if (!u->of)
        return functions_no_room(u);
    for (size_t i = 0; i < m->n_functions; i++)
        TRY(definition_add(u, m->functions[i]));
    TRY(model_count(u, m->graph));
    TRY(names_take(u, m->graph));
    return graph_write(u, &top, m->graph, &m->graph);
}

rill_status functions_inline(struct reader *r, struct arena *a, Onnxpb__Model *m)
{
    const size_t limit = a->limit_bytes;
    if (!m->n_functions)
        return RILL_OK;
    a->limit_bytes = a->used_bytes + (size_t) r->limits.unpack_bytes * 4;
    struct functions *u = arena_new(a, struct functions); /* nodes point at its versions */
    if (u)
        *u = (struct functions) { .own = r->version,
                                  .newest = { ONNX_OPSET_MAX, false, r->version.of } };
    rill_status s = u ? model_write(u, r, a, m) : no_memory(r);
    a->limit_bytes = limit;
    r->has_versions = true;
    return s;
}
