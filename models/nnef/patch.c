/* SPDX-License-Identifier: MIT */
/* NNEF statements that redefine wires of a model graph.
 *
 * Names on the right that no statement assigned are wires of the graph, or its symbols. Names on
 * the left that are wires of the graph are redefined: whoever read the old wire reads the new one,
 * in the old type and shape; the statements themselves go on reading the old one. */
#include "engine/graph/interface.h"
#include "engine/graph/subst.h"
#include "models/nnef/json.h"

#include <string.h>

struct patch {
    struct builder *b;
    struct scope *s;
    const struct graph *m; /* before */
    struct graph *g;       /* being changed; the first wires and nodes are those of m */
    uint32_t *redirect;    /* wire of m -> wire that stands for it now, or WIRE_NONE */
};

static rill_status build_fail(const struct patch *p, struct nnef_pos pos, const char *name,
                              const char *what)
{
    return nnef_fail(p->b, p->s, pos, RILL_MALFORMED, "'%.60s' %s", name, what);
}

/* ---- the new value in the old type and shape ---- */

static bool shape_same(const struct fact *a, const struct fact *b)
{
    struct fact c = *a;
    c.type = b->type;
    return fact_same(&c, b);
}

static const struct dim *fact_count(struct builder *b, const struct fact *f)
{
    const struct dim *n = dim_int(b->dims, 1);
    for (int k = 0; k < f->rank; k++)
        n = dim_mul(b->dims, n, f->shape[k]);
    return n;
}

static rill_status wire_reshape(const struct patch *p, struct nnef_pos pos, const char *name,
                                const struct fact *to, uint32_t *w)
{
    const struct fact from = *wire_fact(p->s, *w);
    if (to->rank < 0 || shape_same(&from, to))
        return RILL_OK;
    const struct dim *have = fact_count(p->b, &from), *want = fact_count(p->b, to);
    TRY(dims_status(p->b->dims, p->b->err));
    if (dim_is_const(have) && dim_is_const(want) && have != want && !dim_is(have, 1)) {
        char a[120], b[120];
        fact_print(&from, a, sizeof a);
        fact_print(to, b, sizeof b);
        return nnef_fail(p->b, p->s, pos, RILL_MALFORMED,
                         "'%.60s' is %s and cannot become %s: another number of elements", name, b,
                         a);
    }
    uint32_t in[2] = { *w, 0 };
    TRY(const_sizes(p->b, p->g, to->shape, (unsigned) to->rank, &in[1]));
    bool spread = dim_is(have, 1) && !dim_is(want, 1) && from.rank <= to->rank;
    return build_node(p->b, p->s, pos, spread ? "Expand" : "Reshape", NULL, 0, in, 2, w, 1);
}

/* ---- redefinitions ---- */

static rill_status name_redefine(struct patch *p, const struct nnef_expr *left, const struct val *v,
                                 bool *ret_hit)
{
    uint32_t old = graph_find_wire(p->m, left->text), w;
    if (old == WIRE_NONE)
        return RILL_OK;
    struct fact to = p->g->wires[old].fact;
    to.type = fact_number(&to);
    to.number = DTYPE_NONE;
    if (p->m->wires[old].fact.value)
        return build_fail(p, left->pos, left->text, "is a constant; redefine what reads it");
    TRY(val_to_wire(p->b, p->s, left->pos, *v, to.type, &w));
    TRY(build_cast(p->b, p->s, left->pos, to.type, &w));
    TRY(wire_reshape(p, left->pos, left->text, &to, &w));
    if (w < p->m->n_wires)
        TRY(build_node(p->b, p->s, left->pos, "Identity", NULL, 0, &w, 1, &w, 1));
    p->redirect[old] = w;
    *ret_hit = true;
    return RILL_OK;
}

static const struct val *value_of(const struct patch *p, const char *name)
{
    for (uint32_t i = 0; i < p->s->n_names; i++)
        if (!strcmp(p->s->names[i].name, name))
            return &p->s->names[i].v;
    return NULL;
}

static rill_status names_redefine(struct patch *p, const struct nnef_fragment *f)
{
    bool hit = false;
    for (uint32_t i = 0; i < f->n_body; i++) {
        struct nnef_expr *left = f->body[i].left,
                         **part = left->kind == NNEF_EXPR_NAME ? &left : left->part;
        uint32_t n = left->kind == NNEF_EXPR_NAME ? 1 : left->n_part;
        for (uint32_t k = 0; k < n; k++)
            TRY(name_redefine(p, part[k], value_of(p, part[k]->text), &hit));
    }
    uint32_t w;
    rill_error like = { RILL_OK, "" };
    if (hit)
        return RILL_OK;
    if (!f->n_body)
        return err_set(p->b->err, RILL_INVALID, "%s: no statements", p->s->file);
    const struct nnef_expr *left = f->body[f->n_body - 1].left;
    if (left->kind != NNEF_EXPR_NAME)
        left = left->part[0];
    graph_wire_named(p->m, left->text, &w, &like);
    return nnef_fail(p->b, p->s, left->pos, RILL_INVALID, "no statement redefines a wire: %s",
                     like.text);
}

static void reader_redirect(const struct patch *p, uint32_t *w)
{
    if (*w < p->m->n_wires && p->redirect[*w] != WIRE_NONE)
        *w = p->redirect[*w];
}

static bool wires_rename(struct patch *p)
{
    for (uint32_t w = 0; w < p->m->n_wires; w++) {
        uint32_t to = p->redirect[w];
        if (to == WIRE_NONE)
            continue;
        bool is_input = false; /* an input that is still read keeps its name */
        for (uint32_t i = 0; i < p->g->n_inputs; i++)
            is_input |= p->g->inputs[i] == w;
        const char *name = p->g->wires[w].name,
                   *other = arena_printf(p->g->arena, "%s:%s", name, is_input ? "new" : "old");
        if (!other)
            return false;
        p->g->wires[w].name = is_input ? name : other;
        p->g->wires[to].name = is_input ? other : name;
        /* The file's own fact, so that bodies go on agreeing with it; typing finds the new one. */
        if (!p->g->wires[to].fact.value)
            p->g->wires[to].fact = p->m->wires[w].fact;
    }
    return true;
}

static void mark_all(bool *read, const uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] != WIRE_NONE)
            read[list[i]] = true;
}

/* Inputs that were redefined and that nothing reads any more are gone. */
static bool inputs_drop(const struct patch *p)
{
    struct graph *g = p->g;
    bool *read = arena_array(g->arena, bool, g->n_wires + 1);
    uint32_t n = 0;
    if (!read)
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        mark_all(read, g->nodes[i].in, g->nodes[i].n_in);
    mark_all(read, g->outputs, g->n_outputs);
    for (uint32_t i = 0; i < g->n_states; i++)
        mark_all(read, &g->states[i].out, 1);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (p->redirect[g->inputs[i]] == WIRE_NONE || read[g->inputs[i]])
            g->inputs[n++] = g->inputs[i];
    g->n_inputs = n;
    return true;
}

static rill_status graph_rewire(struct patch *p)
{
    struct graph *g = p->g;
    for (uint32_t i = 0; i < p->m->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            reader_redirect(p, &g->nodes[i].in[k]);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        reader_redirect(p, &g->outputs[i]);
    for (uint32_t i = 0; i < g->n_states; i++)
        reader_redirect(p, &g->states[i].out);
    TRY(graph_sort(g, p->b->err));
    for (uint32_t w = 0; w < p->m->n_wires; w++)
        if (!p->m->wires[w].fact.value)
            g->wires[w].fact = p->m->wires[w].fact;
    return inputs_drop(p) && wires_rename(p) ? RILL_OK : nnef_no_memory(p->b);
}

/* Facts that typing found stand on the wires while statements are built. */
static rill_status patch_init(struct patch *p, const struct fact *facts)
{
    TRY(graph_copied(p->g, p->m, p->b->err));
    p->redirect = arena_array(p->m->arena, uint32_t, p->m->n_wires + 1);
    if (!p->redirect)
        return nnef_no_memory(p->b);
    for (uint32_t w = 0; w < p->m->n_wires; w++) {
        p->redirect[w] = WIRE_NONE;
        if (p->m->wires[w].fact.value || !facts[w].type)
            continue;
        p->g->wires[w].fact = facts[w];
        p->g->wires[w].fact.value = NULL;
    }
    return RILL_OK;
}

static rill_status symbols_bind(const struct patch *p)
{
    const struct dim *list[64];
    unsigned n = graph_symbols(p->m, list, 0, 64);
    for (unsigned i = 0; i < n; i++)
        if (graph_find_wire(p->m, dim_name(list[i])) == WIRE_NONE)
            TRY(symbol_bind(p->b, list[i]));
    return RILL_OK;
}

static rill_status patch_run(struct mgraph *ret, const struct mgraph *m, const struct fact *facts,
                             const struct nnef_source *source, const struct nnef_limits *limits,
                             struct resources *resources, rill_error *reterr)
{
    struct arena *a = m->g.arena;
    struct nnef_document *doc = arena_new(a, struct nnef_document);
    struct nnef_fragment body;
    struct graph g;
    struct builder b = builder_of(a, m->g.dims, doc, source, limits, reterr);
    struct scope s = { .g = &g, .file = source->file, .prefix = "", .n_model = m->g.n_wires };
    struct patch p = { .b = &b, .s = &s, .m = &m->g, .g = &g };
    if (!doc)
        return err_set(reterr, RILL_NOMEM, "%s: out of memory", source->file);
    b.resources = resources;
    doc->file = source->file;
    TRY(nnef_parse_statements(&body, a, source->file, source->text, source->n, b.limits, reterr));
    TRY(formulas_parse(&b));
    TRY(patch_init(&p, facts));
    TRY(symbols_bind(&p));
    TRY(fragment_run(&b, &s, &body, NULL));
    TRY(names_redefine(&p, &body));
    TRY(graph_rewire(&p));
    TRY(graph_check(&g, reterr));
    ret->g = g;
    return RILL_OK;
}

rill_status mgraph_patched(struct mgraph *ret, const struct mgraph *m, const struct fact *facts,
                           const struct nnef_source *source, const struct nnef_limits *limits,
                           rill_error *reterr)
{
    struct resources resources = { .files = NULL };
    rill_status status = patch_run(ret, m, facts, source, limits, &resources, reterr);
    resources_drop(&resources);
    return status;
}
