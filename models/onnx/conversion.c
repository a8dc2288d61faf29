/* SPDX-License-Identifier: MIT */
/* What upgrades work with: a node's attributes and inputs, constants, and nodes put into its graph.
 */
#include "engine/ops/attrs.h"
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

rill_status convert_fail_(const struct conversion *l, rill_status s, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (*l->domain)
        return err_set(l->r->err, s, "node '%.80s' (%s.%s): %s", l->name, l->domain, l->node->op,
                       text);
    return err_set(l->r->err, s, "node '%.80s' (%s, opset %" PRId64 "): %s", l->name, l->node->op,
                   l->r->version.opset, text);
}

/* ---- attributes ---- */

struct attr *convert_attr(struct conversion *l, const char *name)
{
    for (unsigned i = 0; i < l->n_attr; i++)
        if (!strcmp(l->attr[i].name, name))
            return &l->attr[i];
    return NULL;
}

void convert_attr_drop(struct conversion *l, const char *name)
{
    struct attr *a = convert_attr(l, name);
    if (a)
        *a = l->attr[--l->n_attr];
}

static struct attr *attr_make(struct conversion *l, const char *name)
{
    struct attr *a = convert_attr(l, name);
    if (!a) {
        a = &l->attr[l->n_attr++];
        *a = (struct attr) { .name = name };
    }
    return a;
}

rill_status convert_set_int(struct conversion *l, const char *name, int64_t v)
{
    struct attr *a = attr_make(l, name);
    a->kind = ATTR_INT;
    a->i = v;
    return RILL_OK;
}

rill_status convert_set_text(struct conversion *l, const char *name, const char *text)
{
    const char **v = arena_array(l->r->arena, const char *, 1);
    if (!v)
        return no_memory(l->r);
    struct attr *a = attr_make(l, name);
    *v = text;
    a->kind = ATTR_STRINGS;
    a->strings = (struct attr_strings) { 1, v };
    return RILL_OK;
}

int64_t convert_int(struct conversion *l, const char *name, int64_t absent)
{
    const struct attr *a = convert_attr(l, name);
    return a && a->kind == ATTR_INT ? a->i : absent;
}

const char *convert_text(struct conversion *l, const char *name, const char *absent)
{
    const struct attr *a = convert_attr(l, name);
    return !a ? absent : attr_is_one_string(a) ? a->strings.v[0] : "";
}

float convert_float_of(struct conversion *l, const char *name, float absent)
{
    const struct attr *a = convert_attr(l, name);
    return a && a->kind == ATTR_FLOAT ? a->f : absent;
}

/* ---- inputs and constants ---- */

rill_status scope_wire(struct scope *s, const char *name, uint32_t *ret)
{
    *ret = WIRE_NONE;
    if (!*name)
        return RILL_OK;
    const uint32_t *w = map_get(&s->wires, name), *c = map_get(&s->from->constant, name);
    if (w) {
        *ret = *w;
        return RILL_OK;
    }
    if (!c)
        return err_set(s->r->err, RILL_MALFORMED, "graph '%.80s': nothing defines value '%.80s'",
                       s->from->name, name);
    const char *what = arena_printf(s->r->arena, "constant '%.80s'", name);
    const struct tensor *t;
    if (!what)
        return no_memory(s->r);
    TRY(onnx_tensor(s->r, s->from->pb->initializer[*c], what, &t));
    TRY(scope_float8_set(s, name, s->from->pb->initializer[*c]->data_type));
    *ret = graph_add_const(s->g, name, t);
    return *ret != WIRE_NONE && map_set(&s->wires, name, *ret) ? RILL_OK : no_memory(s->r);
}

rill_status convert_input(struct conversion *l, unsigned i, uint32_t w)
{
    if (i >= l->node->n_in + CONVERT_SPARE)
        return convert_fail(l, RILL_MALFORMED, "has too many inputs");
    while (l->n_in <= i)
        l->in[l->n_in++] = WIRE_NONE;
    l->in[i] = w;
    return RILL_OK;
}

bool convert_has(const struct conversion *l, unsigned i)
{
    return i < l->n_in && l->in[i] != WIRE_NONE;
}

rill_status convert_const(struct conversion *l, const struct tensor *t, uint32_t *ret)
{
    *ret = graph_add_const(l->scope->g, graph_name_next(l->scope->g, l->name), t);
    return *ret == WIRE_NONE ? no_memory(l->r) : RILL_OK;
}

rill_status convert_ints(struct conversion *l, const int64_t *v, unsigned n, uint32_t *ret)
{
    int64_t dim = n;
    return convert_const(l, tensor_from_data(l->r->arena, DTYPE_I64, 1, &dim, v), ret);
}

rill_status convert_int_scalar(struct conversion *l, int64_t v, uint32_t *ret)
{
    return convert_const(l, tensor_from_data(l->r->arena, DTYPE_I64, 0, NULL, &v), ret);
}

/* ---- what is known of an input ---- */

static const Onnxpb__Type *type_among(Onnxpb__ValueInfo *const *list, size_t n, const char *name)
{
    for (size_t k = 0; *name && k < n; k++)
        if (list[k]->name.len == strlen(name) && !memcmp(list[k]->name.data, name, strlen(name)))
            return list[k]->type;
    return NULL;
}

static const Onnxpb__Type *type_of_value(const struct conversion *l, unsigned i)
{
    const Onnxpb__Graph *g = l->scope->from->pb;
    const char *name = i < l->node->n_in ? l->node->in[i] : "";
    return type_among(g->value_info, g->n_value_info, name);
}

/* What the graph declares of the name: as an input, an output or between them; NULL: nothing. */
static const Onnxpb__Dimension *size_declared(const struct conversion *l, const char *name,
                                              size_t axis)
{
    const Onnxpb__Graph *g = l->scope->from->pb;
    const Onnxpb__Type *t = type_among(g->value_info, g->n_value_info, name);
    t = t ? t : type_among(g->output, g->n_output, name);
    t = t ? t : type_among(g->input, g->n_input, name);
    const Onnxpb__Shape *s = t && t->tensor_type ? t->tensor_type->shape : NULL;
    return s && axis < s->n_dim ? s->dim[axis] : NULL;
}

/* Sums of names are sizes of their own; of two plain names nobody knows. */
static enum size_told param_told(const Onnxpb__Dimension *a, const Onnxpb__Dimension *b)
{
    if (!a->has_dim_param || !b->has_dim_param || !a->dim_param.len)
        return SIZE_OPEN;
    if (a->dim_param.len == b->dim_param.len &&
        !memcmp(a->dim_param.data, b->dim_param.data, a->dim_param.len))
        return SIZE_KEPT;
    return memchr(a->dim_param.data, '+', a->dim_param.len) ? SIZE_OTHER : SIZE_OPEN;
}

enum size_told convert_output_told(const struct conversion *l, unsigned out, unsigned i,
                                   size_t axis)
{
    if (out >= l->node->n_out || i >= l->node->n_in)
        return SIZE_OPEN;
    const Onnxpb__Dimension *a = size_declared(l, l->node->out[out], axis),
                            *b = size_declared(l, l->node->in[i], axis);
    if (!a || !b)
        return SIZE_OPEN;
    if (a->has_dim_value && b->has_dim_value)
        return a->dim_value == b->dim_value ? SIZE_KEPT : SIZE_OTHER;
    return a->has_dim_value || b->has_dim_value ? SIZE_OPEN : param_told(a, b);
}

/* By the nodes in front: truth values keep their type where they are only moved. */
static bool is_truth(const struct graph *g, uint32_t w)
{
    static const enum op_id makes[] = { OP_AND,   OP_EQUAL, OP_GREATER, OP_GREATER_OR_EQUAL,
                                        OP_ISINF, OP_ISNAN, OP_LESS,    OP_LESS_OR_EQUAL,
                                        OP_NOT,   OP_OR,    OP_XOR };
    static const enum op_id moves[] = { OP_CONCAT,    OP_EXPAND, OP_GATHER,   OP_IDENTITY, OP_PAD,
                                        OP_RESHAPE,   OP_SLICE,  OP_SPLIT,    OP_SQUEEZE,  OP_TILE,
                                        OP_TRANSPOSE, OP_TRILU,  OP_UNSQUEEZE };
    for (unsigned steps = 0; steps < 64; steps++) {
        const struct node *n = graph_producer(g, w);
        if (!n)
            return g->wires[w].fact.type == DTYPE_BOOL;
        if (node_is_among(n, makes, sizeof makes / sizeof *makes))
            return true;
        if (node_is(n, OP_CAST))
            return cast_attr_of(n)->to == DTYPE_BOOL;
        unsigned from = node_is(n, OP_WHERE) ? 1 : 0;
        if ((!from && !node_is_among(n, moves, sizeof moves / sizeof *moves)) || n->n_in <= from)
            return false;
        w = n->in[from];
    }
    return false;
}

enum dtype convert_type(const struct conversion *l, unsigned i)
{
    if (!convert_has(l, i))
        return DTYPE_NONE;
    const struct graph *g = l->scope->g;
    const Onnxpb__Type *t = type_of_value(l, i);
    enum dtype type = g->wires[l->in[i]].fact.type;
    if (type || !t || !t->tensor_type || onnx_dtype(l->r, t->tensor_type->elem_type, "", &type))
        type = type ? type : is_truth(g, l->in[i]) ? DTYPE_BOOL : DTYPE_NONE;
    return type;
}

rill_status convert_dtype(const struct conversion *l, const char *name, int64_t code,
                          enum dtype *ret)
{
    const char *what =
        arena_printf(l->r->arena, "node '%.80s' (%s), attribute '%s'", l->name, l->node->op, name);
    if (!what)
        return no_memory(l->r);
    if (float8_is(code))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "attribute '%s' is a float of 8 bits, which only "
                            "Cast, CastLike and QuantizeLinear make",
                            name);
    return onnx_dtype(l->r, code, what, ret);
}

/* By how many axes a node changes the rank of its first input; false: that is not known. */
static bool rank_change(const struct graph *g, const struct node *n, int *ret)
{
    static const enum op_id keeps[] = { OP_CUMSUM, OP_PAD, OP_SLICE, OP_TRANSPOSE, OP_TRILU };
    *ret = 0;
    if (node_is_among(n, keeps, sizeof keeps / sizeof *keeps))
        return true;
    const struct tensor *axes =
        n->n_in > 1 && n->in[1] != WIRE_NONE ? g->wires[n->in[1]].fact.value : NULL;
    const bool sum = node_is(n, OP_REDUCE_SUM), more = node_is(n, OP_UNSQUEEZE);
    if (sum && reduce_attr_of(n)->keepdims)
        return true;
    if (!axes || !(sum || more || node_is(n, OP_SQUEEZE)))
        return false;
    *ret = (int) tensor_count(axes) * (more ? 1 : -1);
    return true;
}

static int rank_of(const struct graph *g, uint32_t w, unsigned *looks);

/* The largest of the ranks of its inputs. */
static int rank_broadcast(const struct graph *g, const struct node *n, unsigned *looks)
{
    int most = -1;
    for (unsigned i = 0; i < n->n_in; i++) {
        const int rank = n->in[i] == WIRE_NONE ? 0 : rank_of(g, n->in[i], looks);
        if (rank < 0)
            return -1;
        most = rank > most ? rank : most;
    }
    return most;
}

/* Of a wire, from what is known before it, in so many looks at wires; -1: not known. */
static int rank_of(const struct graph *g, uint32_t w, unsigned *looks)
{
    const struct wire *at = &g->wires[w];
    int change;
    if (at->fact.type)
        return at->fact.rank;
    if (at->declared && at->declared->rank >= 0)
        return at->declared->rank;
    if (at->node == WIRE_NONE || *looks == 0)
        return -1;
    const struct node *n = &g->nodes[at->node];
    --*looks;
    if (node_is(n, OP_RANGE) || node_is(n, OP_SHAPE))
        return 1;
    if (n->op->flags & OP_POINTWISE)
        return rank_broadcast(g, n, looks);
    if (!rank_change(g, n, &change))
        return -1;
    const int rank = rank_of(g, n->in[0], looks);
    return rank < 0 || rank + change < 0 ? -1 : rank + change;
}

int convert_rank(const struct conversion *l, unsigned i)
{
    if (!convert_has(l, i))
        return -1;
    const Onnxpb__Type *t = type_of_value(l, i);
    const struct wire *w = &l->scope->g->wires[l->in[i]];
    unsigned looks = 256;
    if (w->fact.type || !t || !t->tensor_type || !t->tensor_type->shape)
        return rank_of(l->scope->g, l->in[i], &looks);
    return (int) t->tensor_type->shape->n_dim;
}

const struct tensor *convert_value(const struct conversion *l, unsigned i)
{
    return convert_has(l, i) ? l->scope->g->wires[l->in[i]].fact.value : NULL;
}

rill_status convert_least_check(const struct conversion *l, unsigned i, const char *what,
                                int64_t least)
{
    const struct tensor *t = convert_value(l, i);
    for (int64_t k = 0; t && t->type != DTYPE_DIM && k < tensor_count(t); k++) {
        const int64_t v = tensor_get_i64(t, t->data, k);
        if (v < least)
            return convert_fail(l, RILL_MALFORMED, "%s holds %" PRId64 "; it is at least %" PRId64,
                                what, v, least);
    }
    return RILL_OK;
}

int64_t convert_size(const struct conversion *l, unsigned i, int axis)
{
    if (!convert_has(l, i))
        return -1;
    const struct fact *f = &l->scope->g->wires[l->in[i]].fact;
    axis += axis < 0 ? f->rank : 0;
    if (f->type == DTYPE_NONE || axis < 0 || axis >= f->rank || !dim_is_const(f->shape[axis]))
        return -1;
    return dim_value(f->shape[axis]);
}

/* ---- nodes ---- */

static unsigned trimmed(const uint32_t *w, unsigned n, int min)
{
    while (n > 0 && (int) n > min && w[n - 1] == WIRE_NONE)
        n--;
    return n;
}

rill_status convert_add(struct conversion *l, const char *engine, const struct attr *attr,
                        unsigned n_attr, const uint32_t *in, unsigned n_in, uint32_t *out,
                        unsigned n_out)
{
    const struct op *op = op_find(engine);
    if (!op)
        return l->r->op_refuse(l->r, l->name, l->domain, l->node->op, l->r->version.opset);
    void *parsed = arena_alloc(l->r->arena, op->attr_bytes);
    uint32_t *all = arena_array(l->r->arena, uint32_t,
                                n_out + (size_t) (op->min_out > 0 ? op->min_out : 0) + 1);
    if (!parsed || !all)
        return no_memory(l->r);
    TRY(attrs_parse_file(op, l->name, attr, n_attr, parsed, l->r->err));
    memcpy(all, out, n_out * sizeof *out);
    n_out = trimmed(out, n_out, op->min_out);
    while ((int) n_out < op->min_out)
        all[n_out++] = WIRE_NONE;
    struct node *n = graph_add_node(l->scope->g, op, l->name, parsed, in,
                                    trimmed(in, n_in, op->min_in), all, n_out);
    return n ? op_check_arity(n, l->r->err) : no_memory(l->r);
}

rill_status convert_emit(struct conversion *l, const char *engine, const struct attr *attr,
                         unsigned n_attr, const uint32_t *in, unsigned n_in, uint32_t *out,
                         unsigned n_out)
{
    for (unsigned i = 0; i < n_out; i++) {
        if (out[i] != WIRE_NONE)
            continue;
        const char *name = graph_name_next(l->scope->g, l->name);
        out[i] = name ? graph_add_wire(l->scope->g, name, NULL) : WIRE_NONE;
        if (out[i] == WIRE_NONE)
            return no_memory(l->r);
    }
    return convert_add(l, engine, attr, n_attr, in, n_in, out, n_out);
}

rill_status convert_unary(struct conversion *l, const char *engine, uint32_t x, uint32_t *ret)
{
    *ret = WIRE_NONE;
    return convert_emit(l, engine, NULL, 0, &x, 1, ret, 1);
}

rill_status convert_binary(struct conversion *l, const char *engine, uint32_t x, uint32_t y,
                           uint32_t *ret)
{
    *ret = WIRE_NONE;
    return convert_emit(l, engine, NULL, 0, (uint32_t[]) { x, y }, 2, ret, 1);
}

rill_status convert_cast(struct conversion *l, uint32_t x, enum dtype type, uint32_t *ret)
{
    struct attr to = { .name = "to", .kind = ATTR_INT, .i = type };
    *ret = WIRE_NONE;
    return convert_emit(l, "Cast", &to, 1, &x, 1, ret, 1);
}

rill_status convert_float(struct conversion *l, float v, uint32_t like, uint32_t *ret)
{
    uint32_t number;
    TRY(convert_const(l, tensor_from_data(l->r->arena, DTYPE_F32, 0, NULL, &v), &number));
    return convert_binary(l, "CastLike", number, like, ret);
}

rill_status convert_finish(struct conversion *l, uint32_t w)
{
    l->engine = NULL;
    return convert_emit(l, "Identity", NULL, 0, &w, 1, l->out, 1);
}
