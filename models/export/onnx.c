/* SPDX-License-Identifier: MIT */
/* A typed graph as an ONNX file: ops are those of the newest standard opset already, so nodes go
 * out as they are; sizes that mention a symbol are computed from the shapes of the inputs. */
#include "engine/base/err.h"
#include "engine/graph/type_attr.h"
#include "models/export/onnx_message.h"
#include "models/onnx/reader.h"

#include <errno.h>
#include <string.h>

#define OPSET_LEAST 21
#define IR_VERSION 10
#define IR_VERSION_2BIT 13

/* ---- constants ---- */

static rill_status dequantised_write(struct onnx_writer *w, const struct quantised *q,
                                     const char *name)
{
    const char *part[3] = { onnx_name_new(w), onnx_name_new(w), onnx_name_new(w) };
    const char *back = q->turned ? onnx_name_new(w) : name;
    Onnxpb__Node *n;
    TRY(onnx_put_initializer(w, q->whole, part[0]));
    TRY(onnx_put_initializer(w, q->scale, part[1]));
    if (q->zero)
        TRY(onnx_put_initializer(w, q->zero, part[2]));
    TRY(onnx_put_node(w, "DequantizeLinear", back, q->zero ? 3 : 2, 1, &n));
    for (size_t i = 0; i < n->n_input; i++)
        n->input[i] = text_of(part[i]);
    n->output[0] = text_of(back);
    TRY(onnx_put_int(w, n, "axis", q->axis));
    if (q->block)
        TRY(onnx_put_int(w, n, "block_size", q->block));
    return q->turned ? onnx_put_step(w, "Transpose", back, NULL, name) : RILL_OK;
}

static rill_status const_write(struct onnx_writer *w, uint32_t wire)
{
    const struct wire *x = wire == WIRE_NONE ? NULL : &w->g->wires[wire];
    const struct tensor *t = x ? x->fact.value : NULL;
    if (!t || x->node != WIRE_NONE || w->stated[wire])
        return RILL_OK;
    w->stated[wire] = true;
    if (t->from)
        return dequantised_write(w, t->from, w->name[wire]);
    if (t->type == DTYPE_DIM)
        return onnx_put_sizes(w, t, w->name[wire]);
    return onnx_put_initializer(w, t, w->name[wire]);
}

/* ---- attributes ---- */

static rill_status attribute_write(const struct onnx_writer *w, Onnxpb__Node *to,
                                   const struct attr_spec *s, const void *at)
{
    static const int32_t types[] = {
        [ATTR_INT] = 2,    [ATTR_FLOAT] = 1,   [ATTR_CHOICE] = 3, [ATTR_INTS] = 7,
        [ATTR_FLOATS] = 6, [ATTR_STRINGS] = 8, [ATTR_TENSOR] = 4
    };
    Onnxpb__Attribute *m = NULL;
    TRY(onnx_put_attribute(w, to, s->name, types[s->kind], &m));
    const struct attr_strings *strings = at;
    switch (s->kind) {
    case ATTR_INT:
        m->has_i = true;
        m->i = *(const int64_t *) at;
        m->i = attr_is_type(s->name) ? onnx_type(w, (enum dtype) m->i) : m->i;
        break;
    case ATTR_FLOAT:
        m->has_f = true;
        m->f = *(const float *) at;
        break;
    case ATTR_CHOICE:
        m->has_s = true;
        m->s = text_of(s->choices[*(const int *) at]);
        break;
    case ATTR_INTS:
        m->n_ints = ((const struct attr_ints *) at)->n;
        m->ints = (int64_t *) (uintptr_t) ((const struct attr_ints *) at)->v;
        break;
    case ATTR_FLOATS:
        m->n_floats = ((const struct attr_floats *) at)->n;
        m->floats = (float *) (uintptr_t) ((const struct attr_floats *) at)->v;
        break;
    case ATTR_STRINGS:
        if (strings->n == 1 && strcmp(s->name, "activations") != 0) {
            m->type = ONNX_ATTR_STRING;
            m->has_s = true;
            m->s = text_of(strings->v[0]);
            break;
        }
        TRY_MEMORY(w, m->strings = arena_array(w->doc->arena, ProtobufCBinaryData, strings->n + 1));
        for (uint32_t i = 0; i < strings->n; i++)
            m->strings[m->n_strings++] = text_of(strings->v[i]);
        break;
    case ATTR_TENSOR: return onnx_put_tensor(w, *(const struct tensor *const *) at, "", &m->t);
    }
    return RILL_OK;
}

static rill_status attributes_write(const struct onnx_writer *w, Onnxpb__Node *to,
                                    const struct node *n)
{
    for (const struct attr_spec *s = n->op->attrs; s && s->name; s++) {
        const void *at = (const char *) n->attr + s->offset;
        if (!s->required && attr_is_default(s, at))
            continue;
        if (s->own)
            return op_fail(w->doc->err, RILL_UNSUPPORTED, n,
                           "its attribute '%s' is one that only passes of rill set", s->name);
        TRY(attribute_write(w, to, s, at));
    }
    return RILL_OK;
}

/* ---- nodes ---- */

static rill_status graph_message(struct onnx_writer *w, const char *name, unsigned n_formal);

/* The body: what it has beyond its formal inputs are the wires of the graph around it, those of the
 * node from `captures` on. */
static rill_status body_attribute(struct onnx_writer *w, Onnxpb__Node *to, const struct node *n,
                                  unsigned k, const char *name, unsigned n_formal,
                                  unsigned captures)
{
    struct document *doc = w->doc;
    const struct graph *body = n->body[k];
    Onnxpb__Attribute *at;
    struct onnx_writer in = { .doc = doc,
                              .g = body,
                              .outer = w,
                              .first = w->first,
                              .of = n,
                              .opset = w->opset,
                              .prefix = arena_printf(doc->arena, "body%u/", ++doc->n_bodies) };
    TRY_MEMORY(w, in.prefix);
    TRY(onnx_put_attribute(w, to, name, 5, &at));
    in.name = arena_array(doc->arena, const char *, body->n_wires + 1);
    TRY_MEMORY(w, in.name && (at->g = in.to = arena_new(doc->arena, Onnxpb__Graph)));
    for (uint32_t i = n_formal; i < body->n_inputs; i++)
        in.name[body->inputs[i]] = w->name[n->in[captures + i - n_formal]];
    return graph_message(&in, name, n_formal);
}

static rill_status ints_attribute(const struct onnx_writer *w, Onnxpb__Node *to, const char *name,
                                  struct attr_ints v)
{
    const struct attr_spec s = { .name = name, .kind = ATTR_INTS };
    return v.n ? attribute_write(w, to, &s, &v) : RILL_OK;
}

/* That of its first output: names of nodes must differ. */
static const char *node_name(const struct onnx_writer *w, const struct node *n)
{
    unsigned i = 0;
    while (i < n->n_out && n->out[i] == WIRE_NONE)
        i++;
    return i < n->n_out ? w->name[n->out[i]] : "";
}

static rill_status control_write(struct onnx_writer *w, const struct node *n)
{
    const struct scan_attr *scan = node_is(n, OP_SCAN) ? n->attr : NULL;
    unsigned n_formal = node_is(n, OP_IF) ? 1 : 0;
    if (node_is(n, OP_LOOP))
        n_formal = 2 + (unsigned) ((const struct loop_attr *) n->attr)->n_states;
    if (scan)
        n_formal = (unsigned) (scan->n_states + scan->n_scanned);
    Onnxpb__Node *to;
    for (unsigned i = 0; i < n->n_in; i++)
        TRY(const_write(w, n->in[i]));
    TRY(onnx_put_node(w, n->op->name, node_name(w, n), n_formal, n->n_out, &to));
    for (unsigned i = 0; i < n_formal; i++)
        to->input[i] = text_of(n->in[i] == WIRE_NONE ? "" : w->name[n->in[i]]);
    for (unsigned i = 0; i < n->n_out; i++) { /* ONNX Runtime wants all of them named */
        const char *name = n->out[i] == WIRE_NONE ? onnx_name_new(w) : w->name[n->out[i]];
        TRY_MEMORY(w, name);
        to->output[i] = text_of(name);
    }
    if (node_is(n, OP_IF)) {
        TRY(body_attribute(w, to, n, 0, "then_branch", 0, 1));
        return body_attribute(w, to, n, 1, "else_branch", 0, 1);
    }
    TRY(body_attribute(w, to, n, 0, "body", n_formal, n_formal));
    if (!scan)
        return RILL_OK;
    if (scan->restarts)
        return op_fail(w->doc->err, RILL_UNSUPPORTED, n,
                       "a Scan that begins anew in every run of a stream has no form in ONNX");
    TRY(onnx_put_int(w, to, "num_scan_inputs", scan->n_scanned));
    TRY(ints_attribute(w, to, "scan_input_axes", scan->in_axes));
    TRY(ints_attribute(w, to, "scan_input_directions", scan->in_reverse));
    TRY(ints_attribute(w, to, "scan_output_axes", scan->out_axes));
    return ints_attribute(w, to, "scan_output_directions", scan->out_reverse);
}

/* Standard ops of that name in their newest form; the opset grows with what they ask. */
static bool is_standard(const struct onnx_writer *w, const char *op)
{
    struct onnx_op_row row;
    for (unsigned i = 0; onnx_op_at(i, &row); i++) {
        if (*row.domain || strcmp(row.name, op) != 0 || row.last < ONNX_OPSET_MAX)
            continue;
        if (row.first > *w->opset)
            *w->opset = row.first;
        return true;
    }
    return false;
}

/* Rounding is a Cast there and one back. */
static rill_status rounding_write(struct onnx_writer *w, const struct node *n)
{
    const enum dtype half = node_is(n, OP_ROUND_F16) ? DTYPE_F16 : DTYPE_BF16;
    const char *rounded = onnx_name_new(w);
    TRY_MEMORY(w, rounded);
    TRY(const_write(w, n->in[0]));
    TRY(onnx_put_step(w, "Cast", w->name[n->in[0]], NULL, rounded));
    TRY(onnx_put_int(w, w->to->node[w->to->n_node - 1], "to", onnx_type(w, half)));
    TRY(onnx_put_step(w, "Cast", rounded, NULL, w->name[n->out[0]]));
    return onnx_put_int(w, w->to->node[w->to->n_node - 1], "to", onnx_type(w, DTYPE_F32));
}

static rill_status onnx_node_write(struct onnx_writer *w, const struct node *n)
{
    Onnxpb__Node *to;
    if (node_is_port(n, w->name))
        return RILL_OK;
    if (node_is(n, OP_ROUND_F16) || node_is(n, OP_ROUND_BF16))
        return rounding_write(w, n);
    if (op_find(n->op->name) != n->op || (n->op->max_in >= 0 && (int) n->n_in > n->op->max_in) ||
        !is_standard(w, n->op->name))
        return op_fail(w->doc->err, RILL_UNSUPPORTED, n,
                       "this op of rill has no form in ONNX; a folder of NNEF has one");
    for (unsigned i = 0; node_is(n, OP_RANGE) && i < n->n_in; i++)
        if (dtype_is_float(w->g->wires[n->out[0]].fact.type) &&
            !dtype_is_float(w->g->wires[n->in[i]].fact.type))
            return op_fail(w->doc->err, RILL_UNSUPPORTED, n,
                           "a Range of floats up to a size has no form in ONNX");
    if (n->n_body)
        return control_write(w, n);
    for (unsigned i = 0; i < n->n_in; i++)
        TRY(const_write(w, n->in[i]));
    TRY(onnx_put_node(w, n->op->name, node_name(w, n), n->n_in, n->n_out, &to));
    for (unsigned i = 0; i < n->n_in; i++)
        to->input[i] = text_of(n->in[i] == WIRE_NONE ? "" : w->name[n->in[i]]);
    for (unsigned i = 0; i < n->n_out; i++) {
        const char *name = n->out[i] != WIRE_NONE ? w->name[n->out[i]]
            : output_is_optional(n, i)            ? ""
                                                  : onnx_name_new(w);
        TRY_MEMORY(w, name);
        to->output[i] = text_of(name);
    }
    return attributes_write(w, to, n);
}

/* ---- graphs ---- */

static rill_status value_info(const struct onnx_writer *w, const char *name, const struct fact *f,
                              Onnxpb__ValueInfo **ret)
{
    struct arena *a = w->doc->arena;
    const size_t rank = f->rank > 0 ? (size_t) f->rank : 0;
    Onnxpb__ValueInfo *v = arena_new(a, Onnxpb__ValueInfo);
    Onnxpb__Type *type = arena_new(a, Onnxpb__Type);
    Onnxpb__TensorType *tensor = arena_new(a, Onnxpb__TensorType);
    Onnxpb__Shape *shape = arena_new(a, Onnxpb__Shape);
    Onnxpb__Dimension **dim = arena_array(a, Onnxpb__Dimension *, rank + 1);
    TRY_MEMORY(w, v && type && tensor && shape && dim);
    onnxpb__value_info__init(v);
    onnxpb__type__init(type);
    onnxpb__tensor_type__init(tensor);
    onnxpb__shape__init(shape);
    for (int i = 0; i < f->rank; i++) {
        char text[200];
        TRY_MEMORY(w, dim[i] = arena_new(a, Onnxpb__Dimension));
        onnxpb__dimension__init(dim[i]);
        dim[i]->has_dim_value = dim_is_const(f->shape[i]);
        dim[i]->dim_value = dim_is_const(f->shape[i]) ? dim_value(f->shape[i]) : 0;
        dim_print(f->shape[i], text, sizeof text);
        dim[i]->has_dim_param = !dim[i]->has_dim_value && *text != '?'; /* it had no name */
        const char *kept = dim_name(f->shape[i]) ? dim_name(f->shape[i]) : arena_string(a, text);
        TRY_MEMORY(w, kept);
        dim[i]->dim_param = text_of(kept);
    }
    shape->dim = dim;
    shape->n_dim = rank;
    tensor->has_elem_type = true;
    tensor->elem_type = onnx_type(w, f->type);
    tensor->shape = f->rank < 0 ? NULL : shape;
    type->tensor_type = tensor;
    v->has_name = true;
    v->name = text_of(name);
    v->type = f->type ? type : NULL; /* it follows from what makes it */
    *ret = v;
    return RILL_OK;
}

/* Within a body a result that is no node's own gets one: an input, a constant, a capture, or what
 * is a result already. */
static rill_status output_write(struct onnx_writer *w, uint32_t i)
{
    uint32_t wire = w->g->outputs[i];
    bool own = w->g->wires[wire].node != WIRE_NONE;
    const char *name = w->name[wire];
    for (uint32_t k = 0; k < i; k++)
        own &= w->g->outputs[k] != wire;
    TRY(const_write(w, wire));
    if (!own && w->outer) {
        const char *copy = onnx_name_new(w);
        TRY(onnx_put_step(w, "Identity", name, NULL, copy));
        name = copy;
    }
    const struct fact f = fact_written(w->g, wire);
    return value_info(w, name, &f, &w->to->output[i]);
}

/* Names of wires that have none yet: those of captures are of the graph around. */
static rill_status onnx_names(struct onnx_writer *w)
{
    struct writer names = { .doc = w->doc, .g = w->g, .twice = true };
    struct arena *a = w->doc->arena;
    TRY(names_make(&names, !w->outer));
    w->stated = names.stated;
    for (uint32_t i = 0; i < w->g->n_wires; i++) {
        const char *name = names.name[i];
        if (w->name[i])
            continue;
        w->name[i] = *name == '`' ? onnx_name_bytes(a, w->g->wires[i].name)
                                  : arena_printf(a, "%s%s", w->prefix, name);
        TRY_MEMORY(w, w->name[i]);
    }
    return RILL_OK;
}

static rill_status graph_message(struct onnx_writer *w, const char *name, unsigned n_formal)
{
    const struct graph *g = w->g;
    struct arena *a = w->doc->arena;
    if (g->n_states)
        return err_set(w->doc->err, RILL_UNSUPPORTED,
                       "state '%.80s' is declared, which has no form in ONNX", g->states[0].name);
    onnxpb__graph__init(w->to);
    TRY(onnx_names(w));
    w->to->has_name = true;
    w->to->name = text_of(name);
    w->to->input = arena_array(a, Onnxpb__ValueInfo *, n_formal + 1u);
    w->to->output = arena_array(a, Onnxpb__ValueInfo *, g->n_outputs + 1u);
    TRY_MEMORY(w, w->to->input && w->to->output);
    for (unsigned i = 0; i < n_formal; i++) {
        const struct fact f = formal_fact(g, i, w->of, w->outer ? w->outer->g : NULL);
        TRY(value_info(w, w->name[g->inputs[i]], &f, &w->to->input[i]));
    }
    w->to->n_input = n_formal;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(onnx_node_write(w, &g->nodes[i]));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        TRY(output_write(w, i));
    w->to->n_output = g->n_outputs;
    return RILL_OK;
}

/* What the file says about itself. */
static rill_status meta_write(const struct onnx_writer *w, Onnxpb__Model *m)
{
    const struct graph *g = w->g;
    TRY_MEMORY(w, m->metadata_props = arena_array(w->doc->arena, Onnxpb__Entry *, g->n_meta + 1u));
    for (uint32_t i = 0; i < g->n_meta; i++) {
        Onnxpb__Entry *e = arena_new(w->doc->arena, Onnxpb__Entry);
        const char *key = onnx_name_bytes(w->doc->arena, g->meta[i].key),
                   *value = onnx_name_bytes(w->doc->arena, g->meta[i].value);
        TRY_MEMORY(w, e && key && value);
        onnxpb__entry__init(e);
        e->has_key = e->has_value = true;
        e->key = text_of(key);
        e->value = text_of(value);
        m->metadata_props[m->n_metadata_props++] = e;
    }
    return RILL_OK;
}

static rill_status file_write(const struct document *doc, Onnxpb__Model *m, const char *path)
{
    size_t n = onnxpb__model__get_packed_size(m);
    if (n > INT32_MAX)
        return err_set(doc->err, RILL_LIMIT, "%s: more than 2 GiB have no form in one ONNX file",
                       path);
    uint8_t *bytes = arena_alloc(doc->arena, n);
    if (!bytes)
        return err_set(doc->err, RILL_NOMEM, "%s: out of memory for %zu bytes", path, n);
    onnxpb__model__pack(m, bytes);
    FILE *to = fopen(path, "wbx");
    bool written = to && fwrite(bytes, 1, n, to) == n;
    int number = errno;
    if (to && fclose(to) != 0)
        written = false;
    if (written)
        return RILL_OK;
    if (to)
        remove(path);
    return err_set(doc->err, RILL_IO, "%s: %s", path, strerror(number));
}

rill_status graph_write_onnx(const struct graph *g, const char *path, rill_error *reterr)
{
    struct arena arena = { .limit_bytes = 0 };
    struct document doc = { .arena = &arena, .err = reterr };
    int64_t opset = OPSET_LEAST;
    Onnxpb__Model m;
    Onnxpb__Graph to;
    Onnxpb__OpsetId id, *ids[] = { &id };
    struct graph read;
    struct onnx_writer w = { .doc = &doc, .g = &read, .to = &to, .prefix = "", .opset = &opset };
    rill_status s = graph_as_read(&read, g, &arena, reterr);
    w.first = &w;
    w.name = s == RILL_OK ? arena_array(&arena, const char *, read.n_wires + 1) : NULL;
    if (s == RILL_OK)
        s = w.name ? graph_message(&w, "network", read.n_inputs)
                   : err_set(reterr, RILL_NOMEM, "out of memory");
    onnxpb__model__init(&m);
    onnxpb__opset_id__init(&id);
    id.has_version = m.has_ir_version = m.has_producer_name = true;
    id.version = opset;
    m.ir_version = opset < OPSET_2BIT ? IR_VERSION : IR_VERSION_2BIT;
    m.producer_name = text_of("rill");
    m.graph = &to;
    m.opset_import = ids;
    m.n_opset_import = 1;
    if (s == RILL_OK)
        s = meta_write(&w, &m);
    if (s == RILL_OK)
        s = file_write(&doc, &m, path);
    arena_drop(&arena);
    return s;
}
