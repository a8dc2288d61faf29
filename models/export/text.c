/* SPDX-License-Identifier: MIT */
/* A typed graph as NNEF text: a statement for each node, in the graph's order. What the standard
 * has no operator for is called by rill_op. */
#include "engine/base/dim_claims.h"
#include "engine/base/err.h"
#include "engine/graph/subst.h"
#include "engine/graph/type_attr.h"
#include "engine/late/op.h"
#include "models/export/writer.h"

#include <stdlib.h>
#include <string.h>

static rill_status no_memory(const struct writer *w)
{
    return err_set(w->doc->err, RILL_NOMEM, "out of memory");
}

#define refuse(w, n, ...) op_fail((w)->doc->err, RILL_UNSUPPORTED, n, __VA_ARGS__)

/* ---- attributes ---- */

static const char *int_text(const struct writer *w, const struct attr_spec *s, int64_t v)
{
    if (attr_is_type(s->name) && v > 0)
        return arena_printf(w->doc->arena, "'%s'", dtype_name((enum dtype) v));
    return arena_printf(w->doc->arena, "%lld", (long long) v);
}

static const char *string_text(const struct writer *w, const char *s)
{
    char quote = strchr(s, '\'') ? '"' : '\'';
    return strchr(s, quote) || strchr(s, '\n')
        ? NULL
        : arena_printf(w->doc->arena, "%c%s%c", quote, s, quote);
}

/* Element i of a list; NULL: it has no form. */
static const char *element_text(const struct writer *w, const struct attr_spec *s, const void *at,
                                uint32_t i)
{
    if (s->kind == ATTR_INTS)
        return arena_printf(w->doc->arena, "%lld",
                            (long long) ((const struct attr_ints *) at)->v[i]);
    if (s->kind == ATTR_FLOATS)
        return float_text(w->doc->arena, ((const struct attr_floats *) at)->v[i]);
    return string_text(w, ((const struct attr_strings *) at)->v[i]);
}

static const char *attr_list_text(const struct writer *w, const struct attr_spec *s, const void *at)
{
    uint32_t n = s->kind == ATTR_INTS ? ((const struct attr_ints *) at)->n
        : s->kind == ATTR_FLOATS      ? ((const struct attr_floats *) at)->n
                                      : ((const struct attr_strings *) at)->n;
    const char *text = "[";
    for (uint32_t i = 0; text && i < n; i++) {
        const char *one = element_text(w, s, at, i);
        text = one ? arena_printf(w->doc->arena, "%s%s%s", text, i ? ", " : "", one) : NULL;
    }
    return text ? arena_printf(w->doc->arena, "%s]", text) : NULL;
}

/* A tensor gets a statement in front. */
static rill_status attr_text(struct writer *w, const struct attr_spec *s, const void *at,
                             const char **ret)
{
    switch (s->kind) {
    case ATTR_INT: *ret = int_text(w, s, *(const int64_t *) at); break;
    case ATTR_FLOAT: *ret = float_text(w->doc->arena, *(const float *) at); break;
    case ATTR_CHOICE: *ret = string_text(w, s->choices[*(const int *) at]); break;
    case ATTR_TENSOR: return tensor_name(w, *(const struct tensor *const *) at, ret);
    default: *ret = attr_list_text(w, s, at);
    }
    return RILL_OK;
}

static rill_status attrs_text(struct writer *w, const struct node *n, const char **ret)
{
    const char *text = "";
    for (const struct attr_spec *s = n->op->attrs; s && s->name; s++) {
        const void *at = (const char *) n->attr + s->offset;
        const char *one;
        if (!s->required && attr_is_default(s, at))
            continue;
        if (s->own)
            return refuse(w, n, "its attribute '%s' is one that only passes of rill set", s->name);
        TRY(attr_text(w, s, at, &one));
        if (!one)
            return refuse(w, n, "its attribute '%s' has no form in NNEF", s->name);
        text = arena_printf(w->doc->arena, "%s%s('%s', %s)", text, *text ? ", " : "", s->name, one);
        if (!text)
            return no_memory(w);
    }
    *ret = *text ? arena_printf(w->doc->arena, ", attributes = [%s]", text) : "";
    return *ret ? RILL_OK : no_memory(w);
}

/* ---- nodes ---- */

static rill_status graph_text(struct writer *w, const char *kind, const char *name, bool outermost);

/* The name of the fragment that is written of a body. */
static rill_status body_write(struct document *doc, const struct graph *g, const char **ret)
{
    char *text = NULL;
    size_t n = 0;
    uint32_t k = ++doc->n_bodies;
    struct writer w = { .doc = doc, .g = g, .prefix = arena_printf(doc->arena, "body%u-", k) };
    *ret = arena_printf(doc->arena, "body%u", k);
    w.to = open_memstream(&text, &n);
    rill_status s =
        w.to && w.prefix && *ret ? graph_text(&w, "fragment", *ret, false) : no_memory(&w);
    if (w.to && fclose(w.to) != 0)
        s = no_memory(&w);
    if (s == RILL_OK)
        fwrite(text, 1, n, doc->fragments);
    free(text);
    return s;
}

static rill_status op_check(const struct writer *w, const struct node *n)
{
    if (op_find(n->op->name) != n->op || (n->op->max_in >= 0 && (int) n->n_in > n->op->max_in))
        return refuse(w, n,
                      "an op that only passes of rill make has no form in NNEF; write the "
                      "loaded model");
    if (node_is(n, OP_LOOP))
        return refuse(w, n, "a Loop has no form in NNEF; an ONNX file has one");
    return RILL_OK;
}

static void outputs_write(const struct writer *w, const struct node *n)
{
    unsigned at = (unsigned) (n - w->g->nodes);
    fprintf(w->to, "    %s", n->n_out > 1 ? "(" : "");
    for (unsigned i = 0; i < n->n_out; i++) {
        fprintf(w->to, "%s", i ? ", " : "");
        if (n->out[i] == WIRE_NONE)
            fprintf(w->to, "`unused-%u-%u`", at, i);
        else
            fprintf(w->to, "%s", w->name[n->out[i]]);
    }
    fprintf(w->to, "%s = ", n->n_out > 1 ? ")" : "");
}

static rill_status node_write(struct writer *w, const struct node *n)
{
    const char *attrs, *body[2] = { NULL, NULL };
    if (node_is_port(n, w->name))
        return RILL_OK;
    TRY(op_check(w, n));
    if (!n->n_body && n->n_out == 1 && form_write(w, n))
        return RILL_OK;
    for (unsigned k = 0; k < n->n_body; k++)
        TRY(body_write(w->doc, n->body[k], &body[k]));
    TRY(attrs_text(w, n, &attrs));
    outputs_write(w, n);
    fprintf(w->to, "rill_op('%s', inputs = [", n->op->name);
    for (unsigned i = 0; i < n->n_in; i++)
        fprintf(w->to, "%s%s", i ? ", " : "", wire_text(w, n->in[i]));
    fprintf(w->to, "]%s", attrs);
    for (unsigned k = 0; k < n->n_body; k++)
        fprintf(w->to, ", %s = %s", k ? "other" : "body", body[k]);
    if (n->n_out > 1)
        fprintf(w->to, ", outputs = %u", n->n_out);
    fprintf(w->to, ");\n");
    return RILL_OK;
}

/* ---- graphs ---- */

static rill_status input_write(const struct writer *w, uint32_t wire)
{
    const struct fact *f = &w->g->wires[wire].fact;
    static const char *const generic[] = {
        [DTYPE_F32] = "scalar", [DTYPE_I64] = "integer", [DTYPE_BOOL] = "logical"
    };
    const char *name = w->name[wire];
    enum dtype type = f->type == DTYPE_DIM ? DTYPE_I64 : f->type;
    bool plain = type <= DTYPE_BOOL && generic[type];
    fprintf(w->to,
            plain ? "    %s = external<%s>(shape = [" : "    %s = tract_core_external(shape = [",
            name, plain ? generic[type] : "");
    for (int i = 0; i < f->rank; i++) {
        const char *size = size_text(w, f->shape[i]);
        if (!size)
            return no_memory(w);
        fprintf(w->to, "%s%s", i ? ", " : "", size);
    }
    if (plain)
        fprintf(w->to, "]);\n");
    else
        fprintf(w->to, "], datum_type = '%s');\n", dtype_name(type));
    return RILL_OK;
}

static void list_write(const struct writer *w, const char *const *names, uint32_t n, const char *of)
{
    fprintf(w->to, "(");
    for (uint32_t i = 0; i < n; i++)
        fprintf(w->to, "%s%s%s", i ? ", " : "", names[i], of);
    fprintf(w->to, ")");
}

/* A wire that is a result twice gets a further name for each time. */
static rill_status results_name(struct writer *w, const char ***ret)
{
    const struct graph *g = w->g;
    const char **name = arena_array(w->doc->arena, const char *, g->n_outputs + 1u);
    if (!name)
        return no_memory(w);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        name[i] = w->name[g->outputs[i]];
        for (uint32_t k = 0; k < i; k++)
            if (g->outputs[k] == g->outputs[i])
                name[i] = arena_printf(w->doc->arena, "`result-%u`", i);
        if (!name[i])
            return no_memory(w);
    }
    *ret = name;
    return RILL_OK;
}

static rill_status graph_text(struct writer *w, const char *kind, const char *name, bool outermost)
{
    const struct graph *g = w->g;
    const char *of = outermost ? "" : ": tensor<scalar>";
    if (g->n_states)
        return err_set(w->doc->err, RILL_UNSUPPORTED,
                       "state '%.80s' is declared, which has no form in NNEF", g->states[0].name);
    const char **results = NULL;
    TRY(names_make(w, outermost));
    TRY(results_name(w, &results));
    const char **inputs = arena_array(w->doc->arena, const char *, g->n_inputs + 1u);
    if (!inputs)
        return no_memory(w);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        inputs[i] = w->name[g->inputs[i]];
    fprintf(w->to, "%s %s", kind, name);
    list_write(w, inputs, g->n_inputs, of);
    fprintf(w->to, " -> ");
    list_write(w, results, g->n_outputs, of);
    fprintf(w->to, "\n{\n");
    for (uint32_t i = 0; i < g->n_inputs; i++)
        TRY(input_write(w, g->inputs[i]));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        TRY(const_state(w, g->outputs[i], true));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            TRY(const_state(w, g->nodes[i].in[k], false));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(node_write(w, &g->nodes[i]));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (results[i] != w->name[g->outputs[i]])
            fprintf(w->to, "    %s = %s;\n", results[i], w->name[g->outputs[i]]);
    fprintf(w->to, "}\n\n");
    return RILL_OK;
}

/* What is assumed of symbols. */
static void claims_write(const struct graph *g, FILE *to)
{
    enum { SYMBOLS_MAX = 64 };
    const struct dim *d, *known[SYMBOLS_MAX], *list[SYMBOLS_MAX];
    const char *text;
    const unsigned n = graph_symbols(g, known, 0, SYMBOLS_MAX);
    for (unsigned i = 0; (text = dims_claim_at(g->dims, i, &d)); i++) {
        const unsigned m = dims_relation_symbols(g->dims, text, list, 0, SYMBOLS_MAX);
        bool left = dims_claim_kind(g->dims, i) == DIM_CLAIM_ASSERTED; /* nor those that were set */
        for (unsigned k = 0; k < m; k++)
            left = left && dim_symbols(list[k], known, n, SYMBOLS_MAX) == n;
        if (left)
            fprintf(to, "extension rill_assert %s;\n", text);
    }
}

rill_status graph_write_nnef(const struct graph *g, const char *folder, rill_error *reterr)
{
    struct arena arena = { .limit_bytes = 0 };
    struct document doc = { .arena = &arena, .err = reterr };
    struct writer w = { .doc = &doc, .g = g, .prefix = "" };
    char *body = NULL, *fragments = NULL, *all = NULL;
    size_t n_body = 0, n_fragments = 0, n = 0;
    if (late_of_graph(g))
        return err_set(reterr, RILL_UNSUPPORTED,
                       "sizes that data decides have no form in NNEF, whose text says all sizes; "
                       "an ONNX file has one");
    w.to = open_memstream(&body, &n_body);
    doc.fragments = open_memstream(&fragments, &n_fragments);
    FILE *to = open_memstream(&all, &n);
    rill_status s =
        w.to && doc.fragments && to ? graph_text(&w, "graph", "network", true) : no_memory(&w);
    if (w.to)
        fclose(w.to);
    if (doc.fragments)
        fclose(doc.fragments);
    if (to && s == RILL_OK) {
        fprintf(to, "version 1.0;\n\nextension tract_registry tract_core;\n");
        claims_write(g, to);
        fprintf(to, "\n%s%s", fragments, body);
    }
    if (to)
        fclose(to);
    if (s == RILL_OK)
        s = is_archive(folder) ? archive_make(&doc, folder, all, n)
                               : folder_write(&doc, folder, all, n);
    free(body);
    free(fragments);
    free(all);
    arena_drop(&arena);
    return s;
}
