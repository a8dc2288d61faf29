/* SPDX-License-Identifier: MIT */
/* The door: a text is parsed (parser.c), its graph evaluated (eval.c), its inputs and outputs put
 * in the order of its head. */
#include "engine/graph/subst.h"
#include "models/nnef/json.h"

#include <string.h>

/* ---- assertions ---- */

/* About a symbol that no extension declares and no size of the graph mentions. */
static rill_status assertions_check(struct builder *b, const struct scope *s)
{
    enum { SYMBOLS_MAX = 64 };
    const struct dim *known[SYMBOLS_MAX], *list[SYMBOLS_MAX];
    unsigned n = graph_symbols(s->g, known, 0, SYMBOLS_MAX);
    for (uint32_t i = 0; i < b->n_symbols; i++)
        n = dim_symbols(b->symbols[i].v.dim, known, n, SYMBOLS_MAX);
    for (const struct nnef_extension *x = b->doc->extensions; x && n < SYMBOLS_MAX; x = x->next) {
        unsigned m = extension_is_assertion(x)
            ? dims_relation_symbols(b->dims, x->text, list, 0, SYMBOLS_MAX)
            : 0;
        for (unsigned k = 0; k < m; k++)
            if (dim_symbols(list[k], known, n, SYMBOLS_MAX) != n)
                return nnef_fail(b, s, x->pos, RILL_INVALID,
                                 "assertion '%.100s': nothing has a symbol '%.80s'", x->text,
                                 dim_name(list[k]));
    }
    return RILL_OK;
}

/* ---- the graph ---- */

static rill_status outputs_add(struct builder *b, struct scope *s, const struct val *results)
{
    const struct nnef_fragment *f = &b->doc->graph;
    for (uint32_t i = 0; i < f->n_results; i++) {
        uint32_t w;
        TRY(val_to_wire(b, s, f->results[i].pos, results[i], DTYPE_F32, &w));
        w = quant_stored(b, w);
        /* An output carries the name that the head gives it, also where it is another wire's
         * alias. */
        if (strcmp(s->g->wires[w].name, f->results[i].name) != 0) {
            TRY(build_node(b, s, f->results[i].pos, "Identity", NULL, 0, &w, 1, &w, 1));
            s->g->wires[w].name = f->results[i].name;
        }
        if (!graph_add_output(s->g, w))
            return nnef_no_memory(b);
    }
    return RILL_OK;
}

static rill_status text_read(struct mgraph *ret, struct arena *a, struct dims *ds,
                             const struct nnef_source *source, const struct nnef_limits *limits,
                             struct resources *resources, rill_error *reterr)
{
    struct nnef_document *doc = arena_new(a, struct nnef_document);
    struct builder b = builder_of(a, ds, doc, source, limits, reterr);
    struct mgraph m;
    if (!doc)
        return err_set(reterr, RILL_NOMEM, "%s: out of memory", source->file);
    b.resources = resources;
    TRY(nnef_parse(doc, a, source->file, source->text, source->n, b.limits, reterr));
    TRY(formulas_parse(&b));
    graph_init(&m.g, a, ds, doc->graph.name);
    b.graph = &m.g;
    struct scope s = { .g = &m.g, .file = source->file, .prefix = "", .inputs_of = &doc->graph };
    TRY(extensions_read(&b, &s));
    TRY(quants_read(&b, &s));
    struct val *results = arena_array(a, struct val, doc->graph.n_results);
    if (!results)
        return nnef_no_memory(&b);
    TRY(fragment_run(&b, &s, &doc->graph, results));
    TRY(quants_check(&b, &s));
    s.target = NULL;
    TRY(outputs_add(&b, &s, results));
    TRY(states_add(&b, &s));
    TRY(inputs_sort(&b, &s));
    TRY(assertions_check(&b, &s));
    TRY(graph_check(&m.g, reterr));
    *ret = m;
    return RILL_OK;
}

rill_status mgraph_from_nnef(struct mgraph *ret, struct arena *a, struct dims *ds,
                             const struct nnef_source *source, const struct nnef_limits *limits,
                             rill_error *reterr)
{
    struct resources resources = { .files = NULL };
    rill_status status = text_read(ret, a, ds, source, limits, &resources, reterr);
    resources_drop(&resources);
    return status;
}
