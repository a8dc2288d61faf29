/* SPDX-License-Identifier: MIT */
/* The model: its subgraphs, ports and operators in order. */
#include "models/tflite/internal.h"

#include <inttypes.h>
#include <string.h>

#define OPERANDS_MAX 1024

bool tflite_is(const struct bytes *b)
{
    return b->n >= 8 && !memcmp(b->data + 4, "TFL3", 4);
}

/* ---- operators ---- */

static rill_status code_read(struct reader *r, struct flat_table o, uint32_t index,
                             const char *makes, int *ret)
{
    uint32_t i = (uint32_t) flat_i32(&r->flat, o, OPERATOR_CODE, 0);
    if (i >= r->codes.n)
        return err_set(r->err, RILL_MALFORMED, "operator %u: there is no code %u, only %u", index,
                       i, r->codes.n);
    struct flat_table code = flat_list_table(&r->flat, r->codes, i);
    int old = flat_i8(&r->flat, code, CODE_OLD, 0),
        number = flat_i32(&r->flat, code, CODE_NUMBER, 0);
    *ret = number > old ? number : old;
    if (*ret == OPERATOR_CUSTOM) {
        const char *custom;
        TRY(tfl_text_read(r, code, CODE_CUSTOM, &custom));
        return err_set(r->err, RILL_UNSUPPORTED,
                       "operator %u, which makes '%.80s', is a custom one, '%.80s'; only built-in "
                       "operators are read",
                       index, makes, custom);
    }
    return flat_status(&r->flat, r->err);
}

/* Operands that there are not, or more than there may be. */
static rill_status operands_check(const struct conversion *c, struct flat_list l, bool out)
{
    int least = out ? c->row->min_out : c->row->min_in,
        most = out ? c->row->max_out : c->row->max_in;
    bool any = most < 0; /* none of them is optional */
    most = any ? OPERANDS_MAX : most;
    if (l.n < (uint32_t) least || l.n > (uint32_t) most)
        return tfl_fail(c, RILL_MALFORMED, "has %u %s, wants %d to %d", l.n,
                        out ? "outputs" : "inputs", least, most);
    for (uint32_t i = 0; i < l.n; i++) {
        int32_t t = flat_list_i32(&c->r->flat, l, i);
        if (t < (out || any || i < (uint32_t) least ? 0 : -1) || t >= (int32_t) c->s->n_tensors)
            return tfl_fail(c, RILL_MALFORMED, "%s %u is tensor %d, of %u",
                            out ? "output" : "input", i, t, c->s->n_tensors);
    }
    return RILL_OK;
}

/* An output that something made already would be two values of one name. */
static rill_status results_check(const struct conversion *c)
{
    const int like = c->row->like;
    for (uint32_t i = 0; i < c->out.n; i++) {
        const struct tfl_tensor *y = tfl_out(c, i), *x = like < 0 ? y : tfl_in(c, (unsigned) like);
        if (y->wire != WIRE_NONE)
            return tfl_fail(c, RILL_MALFORMED, "writes tensor '%.80s' once more", y->name);
        if (x->element != y->element)
            return tfl_fail(c, RILL_MALFORMED,
                            "makes '%.80s', %s, of '%.80s', which is %s; both "
                            "must agree",
                            y->name, dtype_name(y->shape.type), x->name, dtype_name(x->shape.type));
    }
    return RILL_OK;
}

static rill_status operator_convert(struct subgraph *s, struct flat_table o, uint32_t index)
{
    struct reader *r = s->r;
    int number = 0;
    struct conversion c = { .r = r,
                            .s = s,
                            .index = index,
                            .name = "",
                            .in = flat_list(&r->flat, o, OPERATOR_INPUTS, 4),
                            .out = flat_list(&r->flat, o, OPERATOR_OUTPUTS, 4),
                            .between = flat_list(&r->flat, o, OPERATOR_BETWEEN, 4),
                            .options = flat_sub(&r->flat, o, OPERATOR_OPTIONS) };
    TRY(flat_status(&r->flat, r->err));
    if (c.out.n && flat_list_i32(&r->flat, c.out, 0) >= 0 &&
        flat_list_i32(&r->flat, c.out, 0) < (int32_t) s->n_tensors)
        c.name = s->tensors[flat_list_i32(&r->flat, c.out, 0)].name;
    TRY(code_read(r, o, index, c.name, &number));
    c.row = tfl_op_find(number);
    c.origin =
        arena_printf(r->arena, "operator %u (%s, '%.80s')", index, tfl_op_name(number), c.name);
    if (!c.origin)
        return tfl_no_memory(r);
    if (!c.row)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "operator %u, which makes '%.80s', is %s (%d), which is not read", index,
                       c.name, tfl_op_name(number), number);
    if (!s->g && !c.row->once)
        return tfl_fail(&c, RILL_UNSUPPORTED,
                        "runs once, before the first run; there variables may be given "
                        "constants, and nothing else");
    TRY(operands_check(&c, c.in, false));
    TRY(operands_check(&c, c.out, true));
    TRY(results_check(&c));
    TRY(c.row->convert(&c));
    return flat_status(&r->flat, r->err);
}

static void inputs_mark(struct subgraph *s, struct flat_table operator)
{
    struct flat_list in = flat_list(&s->r->flat, operator, OPERATOR_INPUTS, 4);
    for (uint32_t i = 0; i < in.n; i++) {
        uint32_t t = (uint32_t) flat_list_i32(&s->r->flat, in, i);
        if (t < s->n_tensors)
            s->tensors[t].read = true;
    }
}

static rill_status operators_convert(struct subgraph *s)
{
    struct reader *r = s->r;
    struct flat_list l = flat_list(&r->flat, s->table, GRAPH_OPERATORS, 4);
    for (uint32_t i = 0; i < l.n; i++)
        inputs_mark(s, flat_list_table(&r->flat, l, i));
    TRY(flat_status(&r->flat, r->err));
    for (uint32_t i = 0; i < l.n; i++) {
        struct flat_table o = flat_list_table(&r->flat, l, i);
        TRY(flat_status(&r->flat, r->err));
        TRY(operator_convert(s, o, i));
    }
    return RILL_OK;
}

/* ---- ports ---- */

static rill_status port_tensor(struct subgraph *s, struct flat_list l, uint32_t i, const char *what,
                               struct tfl_tensor **ret)
{
    int32_t t = flat_list_i32(&s->r->flat, l, i);
    if (t < 0 || t >= (int32_t) s->n_tensors)
        return err_set(s->r->err, RILL_MALFORMED, "%s %u is tensor %d, of %u", what, i, t,
                       s->n_tensors);
    *ret = &s->tensors[t];
    return RILL_OK;
}

/* Names of the signature, in place of those of the tensors. */
static rill_status ports_name(struct subgraph *s, struct flat_table signature, unsigned field)
{
    struct reader *r = s->r;
    struct flat_list l = flat_list(&r->flat, signature, field, 4);
    for (uint32_t i = 0; i < l.n; i++) {
        struct flat_table port = flat_list_table(&r->flat, l, i);
        uint32_t t = (uint32_t) flat_i32(&r->flat, port, PORT_TENSOR, 0);
        const char *name;
        TRY(tfl_text_read(r, port, PORT_NAME, &name));
        TRY(flat_status(&r->flat, r->err));
        if (t >= s->n_tensors)
            return err_set(r->err, RILL_MALFORMED, "signature: '%.80s' is tensor %u, of %u", name,
                           t, s->n_tensors);
        if (*name)
            s->tensors[t].name = name;
    }
    return RILL_OK;
}

static rill_status signature_read(struct subgraph *s, struct flat_table model)
{
    struct reader *r = s->r;
    struct flat_list l = flat_list(&r->flat, model, MODEL_SIGNATURES, 4);
    for (uint32_t i = 0; i < l.n; i++) {
        struct flat_table t = flat_list_table(&r->flat, l, i);
        TRY(flat_status(&r->flat, r->err));
        if (flat_i32(&r->flat, t, SIGNATURE_GRAPH, 0) != 0)
            continue;
        TRY(ports_name(s, t, SIGNATURE_INPUTS));
        return ports_name(s, t, SIGNATURE_OUTPUTS);
    }
    return flat_status(&r->flat, r->err);
}

/* Bytes and i16 go in and come out as the numbers that they stand for. */
static bool is_real(const struct tfl_tensor *t)
{
    return tfl_type_is_whole(t->shape.type) && t->q.n == 1;
}

/* Axes that the file leaves open are symbols: S, S_2 and so on. */
static rill_status open_axes(struct subgraph *s, const struct tfl_tensor *t, struct fact *f)
{
    struct reader *r = s->r;
    for (int i = 0; i < f->rank; i++) {
        if (!(t->open >> i & 1))
            continue;
        const char *name =
            r->n_open++ ? arena_printf(r->arena, "S_%u", r->n_open) : arena_string(r->arena, "S");
        const char *size = name ? arena_printf(r->arena, "%s >= 0", name) : NULL;
        if (!size)
            return tfl_no_memory(r);
        f->shape[i] = dim_symbol(r->dims, name);
        TRY(dims_assert(r->dims, size, r->err));
    }
    return RILL_OK;
}

static rill_status inputs_add(struct subgraph *s)
{
    struct flat_list l = flat_list(&s->r->flat, s->table, GRAPH_INPUTS, 4);
    for (uint32_t i = 0; i < l.n; i++) {
        struct tfl_tensor *t = NULL;
        struct fact f;
        TRY(port_tensor(s, l, i, "input", &t));
        if (t->element == ELEMENT_RESOURCE)
            return err_set(s->r->err, RILL_UNSUPPORTED,
                           "input '%.80s' is a resource; variables of the file itself are read",
                           t->name);
        if (t->wire != WIRE_NONE)
            return err_set(s->r->err, RILL_MALFORMED, "input '%.80s' is listed twice", t->name);
        fact_of_tensor(&f, s->r->dims, &t->shape);
        f.value = NULL;
        TRY(open_axes(s, t, &f));
        f.type = is_real(t) ? DTYPE_F32 : f.type;
        t->wire = graph_add_input(s->g, t->name, &f);
        if (t->wire == WIRE_NONE)
            return tfl_no_memory(s->r);
        struct conversion c = { .r = s->r, .s = s, .name = t->name };
        if (is_real(t))
            TRY(tfl_emit_bytes(&c, t, t->wire, &t->wire));
    }
    return flat_status(&s->r->flat, s->r->err);
}

/* An output has a wire of its own, with its name. */
static rill_status output_add(struct subgraph *s, struct tfl_tensor *t)
{
    struct conversion c = { .r = s->r, .s = s, .name = t->name };
    const struct tensor *value;
    uint32_t w = t->wire;
    if (w == WIRE_NONE) {
        TRY(tfl_tensor_value(s->r, t, &value));
        if (!value)
            return err_set(s->r->err, RILL_MALFORMED, "nothing makes output '%.80s'", t->name);
        TRY(tfl_wire_of(&c, value, &w));
    }
    if (is_real(t)) {
        TRY(tfl_emit_reals(&c, t, w, &w));
        s->g->wires[w].name = t->name;
    } else if (s->g->wires[w].node == WIRE_NONE || strcmp(s->g->wires[w].name, t->name) != 0) {
        TRY(tfl_emit1(&c, OP_IDENTITY, w, &w));
        s->g->wires[w].name = t->name;
    }
    return graph_add_output(s->g, w) ? RILL_OK : tfl_no_memory(s->r);
}

static rill_status outputs_add(struct subgraph *s)
{
    struct flat_list l = flat_list(&s->r->flat, s->table, GRAPH_OUTPUTS, 4);
    TRY(flat_status(&s->r->flat, s->r->err));
    if (l.n == 0)
        return err_set(s->r->err, RILL_MALFORMED, "graph '%.80s' has no outputs", s->g->name);
    for (uint32_t i = 0; i < l.n; i++) {
        struct tfl_tensor *t = NULL;
        TRY(port_tensor(s, l, i, "output", &t));
        TRY(output_add(s, t));
    }
    return RILL_OK;
}

/* ---- the model ---- */

static rill_status subgraph_read(struct reader *r, uint32_t i, struct graph *g,
                                 struct subgraph *ret)
{
    const char *name;
    if (i >= r->graphs.n)
        return err_set(r->err, RILL_MALFORMED, "there is no subgraph %u, only %u", i, r->graphs.n);
    *ret = (struct subgraph) { .r = r, .g = g, .table = flat_list_table(&r->flat, r->graphs, i) };
    TRY(tfl_text_read(r, ret->table, GRAPH_NAME, &name));
    TRY(flat_status(&r->flat, r->err));
    if (g)
        graph_init(g, r->arena, r->dims, name);
    return tfl_tensors_read(ret);
}

static rill_status graph_once(struct reader *r, uint32_t i)
{
    struct subgraph once;
    TRY(subgraph_read(r, i, NULL, &once));
    return operators_convert(&once);
}

static rill_status states_add(struct reader *r, struct graph *g)
{
    for (uint32_t i = 0; i < r->n_variables; i++) {
        const struct variable *v = &r->variables[i];
        if (v->in == WIRE_NONE)
            continue; /* nobody reads what a run before has left */
        if (!graph_add_state(g, v->name, v->in, v->now, v->init))
            return tfl_no_memory(r);
    }
    return RILL_OK;
}

static rill_status model_read(struct reader *r, struct graph *ret)
{
    struct flat_table model = flat_root(&r->flat);
    struct subgraph s;
    int version = flat_i32(&r->flat, model, MODEL_VERSION, 0);
    r->codes = flat_list(&r->flat, model, MODEL_CODES, 4);
    r->graphs = flat_list(&r->flat, model, MODEL_GRAPHS, 4);
    r->buffers = flat_list(&r->flat, model, MODEL_BUFFERS, 4);
    TRY(flat_status(&r->flat, r->err));
    if (version != TFLITE_SCHEMA)
        return err_set(r->err, RILL_UNSUPPORTED, "the file is of schema version %d; %d is read",
                       version, TFLITE_SCHEMA);
    if (r->graphs.n == 0)
        return err_set(r->err, RILL_MALFORMED, "the file holds no graph");
    r->variables = arena_array(r->arena, struct variable, VARIABLES_MAX);
    if (!r->variables)
        return tfl_no_memory(r);
    TRY(subgraph_read(r, 0, ret, &s));
    TRY(signature_read(&s, model));
    TRY(inputs_add(&s));
    TRY(operators_convert(&s));
    TRY(outputs_add(&s));
    TRY(states_add(r, ret));
    TRY(dims_status(r->dims, r->err));
    return graph_check(ret, r->err);
}

rill_status mgraph_from_tflite(struct mgraph *ret, struct arena *a, struct dims *ds,
                               const struct bytes *b, const struct tflite_limits *limits,
                               rill_error *reterr)
{
    struct mgraph made = { 0 };
    uint32_t tables = limits && limits->tables ? limits->tables : 400000;
    struct reader r = { .arena = a,
                        .dims = ds,
                        .err = reterr,
                        .graph_once = graph_once,
                        .flat = { .data = b->data, .n = b->n, .tables_max = tables } };
    r.tensor_bytes_max = limits && limits->tensor_bytes ? limits->tensor_bytes : (uint64_t) 4 << 30;
    rill_status s = tflite_is(b)
        ? model_read(&r, &made.g)
        : err_set(reterr, RILL_MALFORMED, "is no .tflite file: bytes 4 to 7 are not \"TFL3\"");
    if (s == RILL_OK)
        *ret = made;
    return s;
}
