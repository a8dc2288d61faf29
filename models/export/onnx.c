/* SPDX-License-Identifier: MIT */
/* A typed graph as an ONNX file: ops are those of the newest standard opset already, so nodes go
 * out as they are; sizes that mention a symbol are computed from the shapes of the inputs. */
#include "engine/base/err.h"
#include "engine/graph/type_attr.h"
#include "models/export/writer.h"
#include "models/onnx/message.h"
#include "models/onnx/reader.h"

#include <errno.h>
#include <string.h>

#define OPSET_LEAST 21
#define OPSET_2BIT 25 /* the first with elements of 2 bits */
#define IR_VERSION 10
#define IR_VERSION_2BIT 13
#define TRY_MEMORY(w, p)                                                                           \
    do {                                                                                           \
        if (!(p))                                                                                  \
            return err_set((w)->doc->err, RILL_NOMEM, "out of memory");                            \
    } while (0)

/* One graph, the outermost or a body, as messages. */
struct onnx_writer {
    struct document *doc;
    const struct graph *g;
    const struct onnx_writer *outer; /* NULL: the outermost */
    const struct onnx_writer *first; /* the outermost */
    const struct node *of;           /* whose body it is; NULL: nobody's */
    Onnxpb__Graph *to;
    const char **name; /* of wires */
    bool *stated;      /* constants that are written */
    const char *prefix;
    uint32_t cap_nodes, cap_initializers, n_made;
    int64_t *opset;
};

static ProtobufCBinaryData text_of(const char *s)
{
    return (ProtobufCBinaryData) { strlen(s), (uint8_t *) (uintptr_t) s };
}

/* The number of a type in files of the opset, which grows with what it asks. */
static int32_t onnx_type(const struct onnx_writer *w, enum dtype t)
{
    static const uint8_t number[] = {
        [DTYPE_F32] = 1,  [DTYPE_U8] = 2,   [DTYPE_I8] = 3,    [DTYPE_U16] = 4,  [DTYPE_I16] = 5,
        [DTYPE_I32] = 6,  [DTYPE_I64] = 7,  [DTYPE_BOOL] = 9,  [DTYPE_F16] = 10, [DTYPE_F64] = 11,
        [DTYPE_U32] = 12, [DTYPE_U64] = 13, [DTYPE_BF16] = 16, [DTYPE_U4] = 21,  [DTYPE_I4] = 22,
        [DTYPE_U2] = 25,  [DTYPE_I2] = 26,  [DTYPE_DIM] = 7
    };
    if ((t == DTYPE_U2 || t == DTYPE_I2) && *w->opset < OPSET_2BIT)
        *w->opset = OPSET_2BIT;
    return (size_t) t < sizeof number ? number[t] : 0;
}

/* ---- messages ---- */

static rill_status node_new(struct onnx_writer *w, const char *op, const char *name, size_t n_in,
                            size_t n_out, Onnxpb__Node **ret)
{
    struct arena *a = w->doc->arena;
    uint32_t n = (uint32_t) w->to->n_node;
    Onnxpb__Node **more = arena_grow(a, w->to->node, n, &w->cap_nodes, sizeof *more);
    Onnxpb__Node *node = arena_new(a, Onnxpb__Node);
    TRY_MEMORY(w, more && node);
    onnxpb__node__init(node);
    node->input = arena_array(a, ProtobufCBinaryData, n_in + 1);
    node->output = arena_array(a, ProtobufCBinaryData, n_out + 1);
    TRY_MEMORY(w, node->input && node->output && name);
    node->n_input = n_in;
    node->n_output = n_out;
    node->has_op_type = node->has_name = true;
    node->op_type = text_of(op);
    node->name = text_of(name);
    w->to->node = more;
    more[w->to->n_node++] = *ret = node;
    return RILL_OK;
}

static rill_status attribute_new(const struct onnx_writer *w, Onnxpb__Node *n, const char *name,
                                 int32_t type, Onnxpb__Attribute **ret)
{
    struct arena *a = w->doc->arena;
    Onnxpb__Attribute **more = arena_array(a, Onnxpb__Attribute *, n->n_attribute + 1);
    Onnxpb__Attribute *at = arena_new(a, Onnxpb__Attribute);
    TRY_MEMORY(w, more && at);
    if (n->n_attribute)
        memcpy(more, n->attribute, n->n_attribute * sizeof *more);
    onnxpb__attribute__init(at);
    at->has_name = at->has_type = true;
    at->name = text_of(name);
    at->type = type;
    n->attribute = more;
    more[n->n_attribute++] = *ret = at;
    return RILL_OK;
}

/* How many elements a byte of the file has. */
static size_t elements_in_byte(enum dtype t)
{
    if (t == DTYPE_U2 || t == DTYPE_I2)
        return 4;
    return t == DTYPE_U4 || t == DTYPE_I4 ? 2 : 1;
}

/* `in_byte` to a byte, the first in the low bits. */
static uint8_t *packed(struct arena *a, const struct tensor *t, size_t in_byte, size_t *ret_n)
{
    size_t n = (size_t) tensor_count(t), bits = 8 / in_byte;
    uint8_t *bytes = arena_alloc(a, n / in_byte + 1), mask = (uint8_t) ((1u << bits) - 1);
    for (size_t i = 0; bytes && i < n; i++)
        bytes[i / in_byte] |=
            (uint8_t) ((((const uint8_t *) t->data)[i] & mask) << (i % in_byte * bits));
    *ret_n = (n + in_byte - 1) / in_byte;
    return bytes;
}

static rill_status tensor_message(const struct onnx_writer *w, const struct tensor *t,
                                  const char *name, Onnxpb__Tensor **ret)
{
    struct arena *a = w->doc->arena;
    Onnxpb__Tensor *m = arena_new(a, Onnxpb__Tensor);
    TRY_MEMORY(w, m);
    onnxpb__tensor__init(m);
    m->dims = arena_array(a, int64_t, (size_t) t->rank + 1);
    TRY_MEMORY(w, m->dims);
    memcpy(m->dims, t->dim, (size_t) t->rank * sizeof *t->dim);
    m->n_dims = (size_t) t->rank;
    m->has_name = m->has_data_type = m->has_raw_data = true;
    m->name = text_of(name);
    if (!(m->data_type = onnx_type(w, t->type)) || t->type == DTYPE_DIM)
        return err_set(w->doc->err, RILL_UNSUPPORTED,
                       "constant '%.80s': elements of %s have no form in ONNX", name,
                       dtype_name(t->type));
    m->raw_data = (ProtobufCBinaryData) { tensor_bytes(t), t->data };
    const size_t in_byte = elements_in_byte(t->type);
    if (in_byte > 1)
        TRY_MEMORY(w, m->raw_data.data = packed(a, t, in_byte, &m->raw_data.len));
    *ret = m;
    return RILL_OK;
}

static rill_status initializer_add(struct onnx_writer *w, const struct tensor *t, const char *name)
{
    uint32_t n = (uint32_t) w->to->n_initializer;
    Onnxpb__Tensor **more =
        arena_grow(w->doc->arena, w->to->initializer, n, &w->cap_initializers, sizeof *more);
    TRY_MEMORY(w, more && name);
    w->to->initializer = more;
    TRY(tensor_message(w, t, name, &more[n]));
    w->to->n_initializer++;
    return RILL_OK;
}

static const char *name_new(struct onnx_writer *w)
{
    return arena_printf(w->doc->arena, "%srill-%u", w->prefix, w->n_made++);
}

/* A node of two operands at most, and its result's name. */
static rill_status step(struct onnx_writer *w, const char *op, const char *x, const char *y,
                        const char *result)
{
    Onnxpb__Node *n;
    TRY_MEMORY(w, x && result);
    TRY(node_new(w, op, result, y ? 2 : 1, 1, &n));
    n->input[0] = text_of(x);
    if (y)
        n->input[1] = text_of(y);
    n->output[0] = text_of(result);
    return RILL_OK;
}

static rill_status int_attribute(const struct onnx_writer *w, Onnxpb__Node *n, const char *name,
                                 int64_t v)
{
    Onnxpb__Attribute *at;
    TRY(attribute_new(w, n, name, ONNX_ATTR_INT, &at));
    at->has_i = true;
    at->i = v;
    return RILL_OK;
}

/* ---- sizes ---- */

static rill_status number(struct onnx_writer *w, int64_t v, const char **ret)
{
    int64_t one = 1;
    struct tensor *t = tensor_from_data(w->doc->arena, DTYPE_I64, 1, &one, &v);
    *ret = name_new(w);
    TRY_MEMORY(w, t);
    return initializer_add(w, t, *ret);
}

/* An axis of an input of the outermost graph that is d. */
static rill_status axis_find(struct onnx_writer *w, const struct dim *d, const char **ret)
{
    const struct graph *g = w->first->g;
    *ret = NULL;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const struct fact *f = &g->wires[g->inputs[i]].fact;
        for (int k = 0; k < f->rank; k++) {
            Onnxpb__Node *n;
            if (f->shape[k] != d)
                continue;
            TRY_MEMORY(w, *ret = name_new(w));
            TRY(step(w, "Shape", w->first->name[g->inputs[i]], NULL, *ret));
            n = w->to->node[w->to->n_node - 1];
            TRY(int_attribute(w, n, "start", k));
            return int_attribute(w, n, "end", k + 1);
        }
    }
    return RILL_OK;
}

/* The b for which d is (num * symbol + b) / den rounded down. */
static bool offset_find(struct dims *ds, const struct dim *d, const struct dim *symbol, int64_t num,
                        int64_t den, int64_t *ret)
{
    enum { DEN_MAX = 4096 };
    int64_t at0;
    if (den < 1 || den > DEN_MAX || !dim_eval(d, symbol, 0, &at0) || at0 > INT32_MAX ||
        at0 < INT32_MIN)
        return false;
    for (*ret = at0 * den; *ret < (at0 + 1) * den; ++*ret) {
        const struct dim *sum = dim_add_int(ds, dim_mul_int(ds, symbol, num), *ret);
        if (dim_div_int(ds, sum, den) == d)
            return true;
    }
    return false;
}

static rill_status op_write(struct onnx_writer *w, const char *op, const char *x, const char *y,
                            const char **ret)
{
    TRY_MEMORY(w, *ret = name_new(w));
    return step(w, op, x, y, *ret);
}

/* Rounded down: Div rounds towards 0, so what is left over is taken off first, where x may be
 * negative. */
static rill_status quotient_write(struct onnx_writer *w, const char *x, int64_t by, bool is_signed,
                                  const char **ret)
{
    const char *divisor, *over;
    TRY(number(w, by, &divisor));
    if (is_signed) {
        TRY(op_write(w, "Mod", x, divisor, &over));
        TRY(op_write(w, "Sub", x, over, &x));
    }
    return op_write(w, "Div", x, divisor, ret);
}

/* d = (a * symbol + b) / c, by a symbol that is an axis. */
static rill_status linear(struct onnx_writer *w, const struct dim *d, const char **ret)
{
    const struct dim *symbol;
    struct dims *ds = w->g->dims;
    int64_t num, den, offset;
    const char *operand[2];
    *ret = NULL;
    if (dim_symbols(d, &symbol, 0, 1) != 1 || !dim_slope(d, symbol, &num, &den) ||
        !offset_find(ds, d, symbol, num, den, &offset))
        return RILL_OK;
    TRY(axis_find(w, symbol, ret));
    if (!*ret)
        return RILL_OK;
    TRY(number(w, num, &operand[0]));
    TRY(number(w, offset, &operand[1]));
    TRY(op_write(w, "Mul", *ret, operand[0], ret));
    TRY(op_write(w, "Add", *ret, operand[1], ret));
    return den > 1 ? quotient_write(w, *ret, den, num < 0 || offset < 0, ret) : RILL_OK;
}

static rill_status size_write(struct onnx_writer *w, const struct dim *d, const char **ret);

/* value + coef[0] * arg[0] + .. */
static rill_status sum_write(struct onnx_writer *w, const struct dim_parts *p, const char **ret)
{
    TRY(number(w, p->value, ret));
    for (unsigned i = 0; i < p->n; i++) {
        const char *x, *times, *product;
        TRY(size_write(w, p->arg[i], &x));
        TRY(number(w, p->coef[i], &times));
        TRY(op_write(w, "Mul", x, times, &product));
        TRY(op_write(w, "Add", *ret, product, ret));
    }
    return RILL_OK;
}

/* Of operands that are taken together one after the other; truths count 1. */
static rill_status folded_write(struct onnx_writer *w, const struct dim_parts *p, const char *op,
                                const char **ret)
{
    const bool truth = p->form == DIM_FORM_AT_LEAST || p->form == DIM_FORM_EQUAL;
    TRY(size_write(w, p->arg[0], ret));
    for (unsigned i = 1; i < p->n; i++) {
        const char *x;
        TRY(size_write(w, p->arg[i], &x));
        TRY(op_write(w, op, *ret, x, ret));
    }
    if (!truth)
        return RILL_OK;
    TRY(op_write(w, "Cast", *ret, NULL, ret));
    return int_attribute(w, w->to->node[w->to->n_node - 1], "to", onnx_type(w, DTYPE_I64));
}

/* By the arithmetic that a size is made of. */
static rill_status parts_write(struct onnx_writer *w, const struct dim *d, const char **ret)
{
    static const char *const fold[] = { [DIM_FORM_PRODUCT] = "Mul",
                                        [DIM_FORM_LEAST] = "Min",
                                        [DIM_FORM_MOST] = "Max",
                                        [DIM_FORM_AT_LEAST] = "GreaterOrEqual",
                                        [DIM_FORM_EQUAL] = "Equal" };
    const struct dim_parts parts = dim_parts(d);
    char text[200];
    if (parts.form == DIM_FORM_SUM)
        return sum_write(w, &parts, ret);
    if (parts.form == DIM_FORM_QUOTIENT) {
        TRY(size_write(w, parts.arg[0], ret));
        return quotient_write(w, *ret, parts.value, true, ret);
    }
    if (parts.form < sizeof fold / sizeof *fold && fold[parts.form])
        return folded_write(w, &parts, fold[parts.form], ret);
    dim_print(d, text, sizeof text);
    return err_set(w->doc->err, RILL_UNSUPPORTED,
                   "size %.100s is not computed from the axes of inputs alone", text);
}

static rill_status size_write(struct onnx_writer *w, const struct dim *d, const char **ret)
{
    if (dim_is_const(d))
        return number(w, dim_value(d), ret);
    TRY(axis_find(w, d, ret));
    if (!*ret)
        TRY(linear(w, d, ret));
    return *ret ? RILL_OK : parts_write(w, d, ret);
}

/* A list of sizes: what stands in a row, put together. */
static rill_status sizes_list(struct onnx_writer *w, const struct tensor *t, const char *name)
{
    const struct dim *const *d = t->data;
    Onnxpb__Node *n;
    if (t->rank > 1 || !tensor_count(t))
        return err_set(w->doc->err, RILL_UNSUPPORTED,
                       "constant '%.80s': sizes of rank %d have no form in ONNX", name, t->rank);
    size_t count = (size_t) tensor_count(t);
    const char **part = arena_array(w->doc->arena, const char *, count);
    TRY_MEMORY(w, part);
    for (size_t i = 0; i < count; i++)
        TRY(size_write(w, d[i], &part[i]));
    if (!t->rank)
        return step(w, "Squeeze", part[0], NULL, name);
    TRY(node_new(w, "Concat", name, count, 1, &n));
    for (size_t i = 0; i < count; i++)
        n->input[i] = text_of(part[i]);
    n->output[0] = text_of(name);
    return int_attribute(w, n, "axis", 0);
}

/* Sizes of another type than i64 are cast to it. */
static rill_status sizes_write(struct onnx_writer *w, const struct tensor *t, const char *name)
{
    if (!t->number || t->number == DTYPE_I64)
        return sizes_list(w, t, name);
    const char *whole = name_new(w);
    TRY_MEMORY(w, whole);
    TRY(sizes_list(w, t, whole));
    TRY(step(w, "Cast", whole, NULL, name));
    return int_attribute(w, w->to->node[w->to->n_node - 1], "to", onnx_type(w, t->number));
}

/* ---- constants ---- */

static rill_status dequantised_write(struct onnx_writer *w, const struct quantised *q,
                                     const char *name)
{
    const char *part[3] = { name_new(w), name_new(w), name_new(w) };
    const char *back = q->turned ? name_new(w) : name;
    Onnxpb__Node *n;
    TRY(initializer_add(w, q->whole, part[0]));
    TRY(initializer_add(w, q->scale, part[1]));
    if (q->zero)
        TRY(initializer_add(w, q->zero, part[2]));
    TRY(node_new(w, "DequantizeLinear", back, q->zero ? 3 : 2, 1, &n));
    for (size_t i = 0; i < n->n_input; i++)
        n->input[i] = text_of(part[i]);
    n->output[0] = text_of(back);
    TRY(int_attribute(w, n, "axis", q->axis));
    if (q->block)
        TRY(int_attribute(w, n, "block_size", q->block));
    return q->turned ? step(w, "Transpose", back, NULL, name) : RILL_OK;
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
        return sizes_write(w, t, w->name[wire]);
    return initializer_add(w, t, w->name[wire]);
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
    TRY(attribute_new(w, to, s->name, types[s->kind], &m));
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
    case ATTR_TENSOR: return tensor_message(w, *(const struct tensor *const *) at, "", &m->t);
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
    TRY(attribute_new(w, to, name, 5, &at));
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
    TRY(node_new(w, n->op->name, node_name(w, n), n_formal, n->n_out, &to));
    for (unsigned i = 0; i < n_formal; i++)
        to->input[i] = text_of(n->in[i] == WIRE_NONE ? "" : w->name[n->in[i]]);
    for (unsigned i = 0; i < n->n_out; i++) { /* ONNX Runtime wants all of them named */
        const char *name = n->out[i] == WIRE_NONE ? name_new(w) : w->name[n->out[i]];
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
    TRY(int_attribute(w, to, "num_scan_inputs", scan->n_scanned));
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
    const char *rounded = name_new(w);
    TRY_MEMORY(w, rounded);
    TRY(const_write(w, n->in[0]));
    TRY(step(w, "Cast", w->name[n->in[0]], NULL, rounded));
    TRY(int_attribute(w, w->to->node[w->to->n_node - 1], "to", onnx_type(w, half)));
    TRY(step(w, "Cast", rounded, NULL, w->name[n->out[0]]));
    return int_attribute(w, w->to->node[w->to->n_node - 1], "to", onnx_type(w, DTYPE_F32));
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
    TRY(node_new(w, n->op->name, node_name(w, n), n->n_in, n->n_out, &to));
    for (unsigned i = 0; i < n->n_in; i++)
        to->input[i] = text_of(n->in[i] == WIRE_NONE ? "" : w->name[n->in[i]]);
    for (unsigned i = 0; i < n->n_out; i++) {
        const char *name = n->out[i] != WIRE_NONE ? w->name[n->out[i]]
            : output_is_optional(n, i)            ? ""
                                                  : name_new(w);
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
        dim[i]->has_dim_param = !dim[i]->has_dim_value;
        dim[i]->dim_value = dim_is_const(f->shape[i]) ? dim_value(f->shape[i]) : 0;
        dim_print(f->shape[i], text, sizeof text);
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
        const char *copy = name_new(w);
        TRY(step(w, "Identity", name, NULL, copy));
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
