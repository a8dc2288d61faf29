/* SPDX-License-Identifier: MIT */
/* rill_op and rill_size: an op of the engine, by its name and attributes, and a size as the engine
 * prints it: what `rill convert` writes where the language has no operator that says the same. */
#include "engine/graph/type_attr.h"
#include "models/nnef/build.h"

#include <string.h>

#define OUTPUTS_MAX 4096 /* of one op */

static rill_status list_attr(const struct call *c, struct val v, struct attr *ret)
{
    struct arena *a = c->b->arena;
    enum val_kind kind = v.n ? v.list[0].kind : VAL_INT;
    int64_t *ints = arena_array(a, int64_t, v.n + 1u);
    float *floats = arena_array(a, float, v.n + 1u);
    const char **strings = arena_array(a, const char *, v.n + 1u);
    if (!ints || !floats || !strings)
        return nnef_no_memory(c->b);
    for (uint32_t i = 0; i < v.n; i++) {
        if (v.list[i].kind != kind)
            return call_fail(c, RILL_MALFORMED, "attribute '%.40s': a list of %s and %s", ret->name,
                             val_kind_name(v.list[0]), val_kind_name(v.list[i]));
        ints[i] = v.list[i].i;
        floats[i] = kind == VAL_REAL ? (float) v.list[i].real : 0;
        strings[i] = v.list[i].text;
    }
    ret->kind = kind == VAL_REAL ? ATTR_FLOATS : kind == VAL_TEXT ? ATTR_STRINGS : ATTR_INTS;
    ret->ints = (struct attr_ints) { v.n, ints };
    ret->floats = (struct attr_floats) { v.n, floats };
    ret->strings = (struct attr_strings) { v.n, strings };
    if (kind == VAL_REAL || kind == VAL_TEXT || kind == VAL_INT)
        return RILL_OK;
    return call_fail(c, RILL_MALFORMED, "attribute '%.40s' is a list of %s", ret->name,
                     val_kind_name(v.list[0]));
}

static rill_status attr_read(const struct call *c, const char *name, struct val v, struct attr *ret)
{
    const char **text = arena_new(c->b->arena, const char *);
    const struct fact *f = v.kind == VAL_WIRE ? wire_fact(c->s, v.wire) : NULL;
    enum dtype type;
    if (!text)
        return nnef_no_memory(c->b);
    *ret = (struct attr) { .name = name, .kind = ATTR_INT, .i = v.i };
    if (v.kind == VAL_INT)
        return RILL_OK;
    if (v.kind == VAL_LIST)
        return list_attr(c, v, ret);
    if (v.kind == VAL_REAL) {
        ret->kind = ATTR_FLOAT;
        ret->f = (float) v.real;
        return RILL_OK;
    }
    if (v.kind == VAL_TEXT && attr_is_type(name)) {
        TRY(type_of_text(c, v.text, &type));
        ret->i = type;
        return RILL_OK;
    }
    ret->kind = v.kind == VAL_TEXT ? ATTR_STRINGS : ATTR_TENSOR;
    *text = v.text;
    ret->strings = (struct attr_strings) { 1, text };
    ret->tensor = f ? f->value : NULL;
    if (v.kind == VAL_TEXT || ret->tensor)
        return RILL_OK;
    return call_fail(c, RILL_MALFORMED, "attribute '%.40s' is %s, expected what is known", name,
                     val_kind_name(v));
}

static rill_status attrs_read(const struct call *c, struct attr **ret, unsigned *ret_n)
{
    struct val list;
    TRY(arg_val(c, "attributes", &list));
    *ret_n = list.kind == VAL_LIST ? list.n : 0;
    if (!(*ret = arena_array(c->b->arena, struct attr, *ret_n + 1u)))
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < *ret_n; i++) {
        struct val pair = list.list[i];
        if (pair.kind != VAL_LIST || pair.n != 2 || pair.list[0].kind != VAL_TEXT)
            return call_fail(c, RILL_MALFORMED, "attribute %u is not a pair ('name', value)", i);
        TRY(attr_read(c, pair.list[0].text, pair.list[1], &(*ret)[i]));
    }
    return RILL_OK;
}

static bool has_real(struct val v)
{
    while (v.kind == VAL_LIST && v.n)
        v = v.list[0];
    return v.kind == VAL_REAL;
}

/* An empty list stands for an input that is absent. */
static rill_status inputs_read(const struct call *c, uint32_t **ret, unsigned *ret_n)
{
    struct val list;
    TRY(arg_val(c, "inputs", &list));
    *ret_n = list.kind == VAL_LIST ? list.n : 0;
    if (list.kind != VAL_LIST)
        return call_fail(c, RILL_MALFORMED, "'inputs' is %s, expected a list", val_kind_name(list));
    if (!(*ret = arena_array(c->b->arena, uint32_t, *ret_n + 1u)))
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < *ret_n; i++) {
        struct val v = list.list[i];
        (*ret)[i] = WIRE_NONE;
        if (v.kind != VAL_LIST || v.n)
            TRY(val_to_wire(c->b, c->s, c->e->pos, v, has_real(v) ? DTYPE_F32 : DTYPE_I64,
                            &(*ret)[i]));
    }
    return RILL_OK;
}

/* One wire, or a list of them. */
static void wires_give(const uint32_t *w, uint32_t n, struct val *list, struct val *ret)
{
    for (uint32_t i = 0; i < n; i++)
        list[i] = val_of_wire(w[i]);
    *ret = (struct val) { .kind = VAL_LIST, .n = n, .list = list };
    if (n == 1)
        *ret = list[0];
}

/* ---- bodies ---- */

/* The graph of the fragment that the argument names: its parameters are declared by `external`
 * statements, in order. */
static rill_status body_read(const struct call *c, const char *arg, struct graph **ret)
{
    struct builder *b = c->b;
    const struct nnef_expr *e = arg_expr(c, arg);
    const struct nnef_fragment *f =
        e && e->kind == NNEF_EXPR_NAME ? fragment_find(b, e->text) : NULL;
    *ret = arena_new(b->arena, struct graph);
    if (!f)
        return call_fail(c, RILL_MALFORMED, "'%s' is not the name of a fragment", arg);
    struct val *values = arena_array(b->arena, struct val, f->n_results);
    const char *prefix = arena_printf(b->arena, "%s%s/", c->s->prefix, f->name);
    if (!*ret || !values || !prefix)
        return nnef_no_memory(b);
    graph_init(*ret, b->arena, b->dims, f->name);
    struct scope in = { .g = *ret, .file = b->doc->file, .prefix = prefix, .inputs_of = f };
    if (++b->calls > b->limits->calls)
        return call_fail(c, RILL_LIMIT, "fragments call each other more than %u deep",
                         b->limits->calls);
    TRY(fragment_run(b, &in, f, values));
    b->calls--;
    TRY(inputs_sort(b, &in));
    for (uint32_t i = 0; i < f->n_results; i++) {
        uint32_t w;
        TRY(val_to_wire(b, &in, f->results[i].pos, values[i], DTYPE_F32, &w));
        if (!graph_add_output(*ret, w))
            return nnef_no_memory(b);
    }
    return RILL_OK;
}

/* The operands and results of a Scan as its body has them. */
static rill_status scan_check(const struct call *c, const struct scan_node *sn)
{
    const struct scan_attr *at = &sn->attr;
    const struct graph *body = sn->body;
    bool counts = at->n_states >= 0 && at->n_scanned >= 1 && body->n_inputs == sn->n_in &&
        at->n_states + at->n_scanned <= sn->n_in && at->n_states <= body->n_outputs;
    bool present = true;
    for (unsigned i = 0; i < sn->n_in; i++)
        present &= sn->in[i] != WIRE_NONE;
    if (!counts || !present)
        return call_fail(c, RILL_MALFORMED,
                         "a Scan of %u inputs, %lld states and %lld scanned ones does not fit its "
                         "body of %u inputs and %u outputs",
                         sn->n_in, (long long) at->n_states, (long long) at->n_scanned,
                         body->n_inputs, body->n_outputs);
    const struct fact *f = wire_fact(c->s, sn->in[at->n_states]);
    if (scan_axis(at->in_axes, 0, f->rank) < 0)
        return call_fail(c, RILL_MALFORMED, "a Scan along no axis of its first scanned input");
    return RILL_OK;
}

static rill_status scan_build(const struct call *c, const struct attr *attrs, unsigned n_attrs,
                              const uint32_t *in, unsigned n_in, struct val *ret)
{
    struct builder *b = c->b;
    struct scan_node sn = { .in = in, .n_in = n_in, .wants_last = true };
    TRY(body_read(c, "body", &sn.body));
    rill_status s = attrs_parse_file(&op_scan, "rill_op", attrs, n_attrs, &sn.attr, b->err);
    if (s != RILL_OK)
        return err_prefix(b->err, s, "%s:%u:%u", c->s->file, c->e->pos.line, c->e->pos.column);
    TRY(scan_check(c, &sn));
    const struct fact *f = wire_fact(c->s, in[sn.attr.n_states]);
    sn.length = f->shape[scan_axis(sn.attr.in_axes, 0, f->rank)];
    uint32_t *out = arena_array(b->arena, uint32_t, sn.body->n_outputs + 1u);
    struct val *list = arena_array(b->arena, struct val, sn.body->n_outputs + 1u);
    if (!out || !list)
        return nnef_no_memory(b);
    TRY(scan_node_add(c, &sn, out));
    wires_give(out, sn.body->n_outputs, list, ret);
    return RILL_OK;
}

/* The operands of an If, a condition and what both of its branches take, as these have them. */
static rill_status if_check(const struct call *c, const uint32_t *in, unsigned n_in,
                            struct graph *const branch[2])
{
    bool fits = n_in >= 1 && branch[0]->n_outputs == branch[1]->n_outputs;
    for (unsigned i = 0; i < n_in; i++)
        fits &= in[i] != WIRE_NONE;
    for (int k = 0; k < 2; k++)
        fits &= branch[k]->n_inputs + 1 == n_in;
    if (!fits)
        return call_fail(c, RILL_MALFORMED,
                         "an If of %u inputs does not fit branches of %u and %u inputs, %u and %u "
                         "outputs",
                         n_in, branch[0]->n_inputs, branch[1]->n_inputs, branch[0]->n_outputs,
                         branch[1]->n_outputs);
    return wire_fact(c->s, in[0])->type == DTYPE_BOOL
        ? RILL_OK
        : call_fail(c, RILL_MALFORMED, "the condition of an If is %s, not bool",
                    dtype_name(wire_fact(c->s, in[0])->type));
}

static rill_status if_build(const struct call *c, const uint32_t *in, unsigned n_in,
                            struct val *ret)
{
    struct builder *b = c->b;
    struct graph **branch = arena_array(b->arena, struct graph *, 2);
    const char *name =
        arena_printf(b->arena, "%s%s", c->s->prefix, c->s->target ? c->s->target : c->e->text);
    if (!branch || !name)
        return nnef_no_memory(b);
    TRY(body_read(c, "body", &branch[0]));
    TRY(body_read(c, "other", &branch[1]));
    TRY(if_check(c, in, n_in, branch));
    const unsigned n_out = branch[0]->n_outputs;
    uint32_t *out = arena_array(b->arena, uint32_t, n_out + 1u);
    struct val *list = arena_array(b->arena, struct val, n_out + 1u);
    if (!out || !list)
        return nnef_no_memory(b);
    for (unsigned i = 0; i < n_out; i++) {
        struct fact f = branch[0]->wires[branch[0]->outputs[i]].fact;
        f.value = NULL;
        out[i] = graph_add_wire(c->s->g, arena_printf(b->arena, "%s:%u", name, i), &f);
        if (out[i] == WIRE_NONE)
            return nnef_no_memory(b);
    }
    struct node *n = graph_add_node(c->s->g, &op_if, name, NULL, in, n_in, out, n_out);
    if (!n)
        return nnef_no_memory(b);
    n->body = branch;
    n->n_body = 2;
    wires_give(out, n_out, list, ret);
    return RILL_OK;
}

/* ---- the operators ---- */

rill_status build_op(const struct call *c, struct val *ret)
{
    const char *name;
    struct attr *attrs;
    uint32_t *in;
    unsigned n_attrs, n_in;
    int64_t n_out;
    TRY(arg_text(c, "op", &name));
    TRY(inputs_read(c, &in, &n_in));
    TRY(attrs_read(c, &attrs, &n_attrs));
    TRY(arg_int(c, "outputs", &n_out));
    if (!strcmp(name, op_scan.name))
        return scan_build(c, attrs, n_attrs, in, n_in, ret);
    if (!strcmp(name, op_if.name))
        return if_build(c, in, n_in, ret);
    if (n_out < 1 || n_out > OUTPUTS_MAX)
        return call_fail(c, RILL_LIMIT, "'rill_op': %lld outputs, expected 1 to %d",
                         (long long) n_out, OUTPUTS_MAX);
    uint32_t *out = arena_array(c->b->arena, uint32_t, (size_t) n_out);
    struct val *list = arena_array(c->b->arena, struct val, (size_t) n_out);
    if (!out || !list)
        return nnef_no_memory(c->b);
    struct node probe = {
        .name = name, .op = op_find(name), .in = in, .n_in = n_in, .n_out = (unsigned) n_out
    };
    rill_status s = probe.op ? op_check_arity(&probe, c->b->err) : RILL_OK;
    if (s != RILL_OK)
        return err_prefix(c->b->err, s, "%s:%u:%u", c->s->file, c->e->pos.line, c->e->pos.column);
    TRY(build_node(c->b, c->s, c->e->pos, name, attrs, n_attrs, in, n_in, out, (unsigned) n_out));
    wires_give(out, (uint32_t) n_out, list, ret);
    return RILL_OK;
}

/* A size that counts as a number of another type. */
static rill_status size_typed(const struct call *c, const struct dim *d, enum dtype type,
                              struct val *ret)
{
    struct tensor *t = tensor_new(c->b->arena, DTYPE_DIM, 0, NULL);
    if (!t)
        return nnef_no_memory(c->b);
    if (!dtype_is_int(type) && type != DTYPE_F32)
        return call_fail(c, RILL_UNSUPPORTED, "'rill_size' as %s, expected integers or f32",
                         dtype_name(type));
    t->number = type;
    ((const struct dim **) t->data)[0] = d;
    ret->kind = VAL_WIRE;
    return const_tensor(c->b, c->s->g, t, &ret->wire);
}

rill_status build_size(const struct call *c, struct val *ret)
{
    enum { SYMBOLS_MAX = 64 };
    const struct dim *symbol[SYMBOLS_MAX], *d;
    const char *text, *word;
    struct val v;
    enum dtype type = DTYPE_I64;
    TRY(arg_text(c, "size", &text));
    TRY(arg_text(c, "type", &word));
    TRY(type_of_text(c, word, &type));
    rill_status s = dim_parse(c->b->dims, text, &d, c->b->err);
    if (s != RILL_OK)
        return err_prefix(c->b->err, s, "%s:%u:%u", c->s->file, c->e->pos.line, c->e->pos.column);
    unsigned n = dim_symbols(d, symbol, 0, SYMBOLS_MAX);
    for (unsigned i = 0; i < n; i++)
        if (!symbol_find(c->b, dim_name(symbol[i])))
            TRY(symbol_add(c->b, dim_name(symbol[i]), &v));
    *ret = val_of_dim(d);
    TRY(dims_status(c->b->dims, c->b->err));
    return type == DTYPE_I64 ? RILL_OK : size_typed(c, d, type, ret);
}
