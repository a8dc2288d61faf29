/* SPDX-License-Identifier: MIT */
/* A model beside the text, in a folder or an archive, as one operator: its nodes become nodes of
 * this graph. */
#include "models/nnef/json.h"
#include "models/tarball.h"

#include <string.h>

struct submodel {
    const struct call *c;
    const char *label;
    struct builder b; /* of its text */
    struct folder archive;
    struct nnef_document doc;
    struct arena text; /* its text, and the archive */
};

/* "label/graph.nnef", or an archive of that name. */
static rill_status place_find(struct submodel *m)
{
    static const char *const ends[] = {
        "", ".nnef.tgz", ".nnef.tar.gz", ".nnef.tar", ".tgz", ".tar"
    };
    struct builder *b = m->c->b;
    const uint8_t *bytes;
    size_t n;
    if (!b->folder || !*m->label)
        return call_fail(m->c, RILL_IO, "'%s': this text has no folder to read '%.60s' from",
                         m->c->e->text, m->label);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *file = label_file(b, m->label, i ? ends[i] : "/graph.nnef");
        if (!file)
            return nnef_no_memory(b);
        if (!folder_has(b->folder, file))
            continue;
        if (i == 0) {
            m->b.inside = label_file(b, m->label, "/");
            return m->b.inside ? RILL_OK : nnef_no_memory(b);
        }
        TRY(folder_read(b->folder, file, &m->text, b->limits->data_bytes, &bytes, &n, b->err));
        m->b.folder = &m->archive;
        m->b.inside = "";
        return tarball_of(&m->archive, file, bytes, n, &m->text, b->limits->data_bytes, b->err);
    }
    return call_fail(m->c, RILL_IO,
                     "'%s': neither '%s%.60s/graph.nnef' nor '%s%.60s.nnef.tgz' is there",
                     m->c->e->text, b->inside, m->label, b->inside, m->label);
}

static rill_status text_read(struct submodel *m)
{
    const char *file = arena_printf(m->b.arena, "%sgraph.nnef", m->b.inside);
    const uint8_t *bytes;
    size_t n;
    if (!file)
        return nnef_no_memory(&m->b);
    TRY(folder_read(m->b.folder, file, &m->text, m->b.limits->text_bytes, &bytes, &n, m->b.err));
    return nnef_parse(&m->doc, m->b.arena, file, (const char *) bytes, n, m->b.limits, m->b.err);
}

/* Its text is evaluated in this graph: what it calls inputs are wires of ours. */
static rill_status text_run(struct submodel *m, const uint32_t *in, unsigned n, struct val *ret)
{
    struct builder *b = &m->b;
    const struct nnef_fragment *g = &m->doc.graph;
    struct scope s = { .g = m->c->s->g,
                       .file = m->doc.file,
                       .prefix = arena_printf(b->arena, "%s%s/", m->c->s->prefix, m->label),
                       .inputs_of = g,
                       .given = in };
    struct val *results = arena_array(b->arena, struct val, g->n_results);
    if (!s.prefix || !results)
        return nnef_no_memory(b);
    if (n != g->n_params)
        return call_fail(m->c, RILL_MALFORMED, "'%.60s' takes %u tensors, %u are given", m->label,
                         g->n_params, n);
    TRY(extensions_read(b, &s));
    TRY(quants_read(b, &s));
    TRY(fragment_run(b, &s, g, results));
    TRY(quants_check(b, &s));
    *ret = (struct val) { .kind = VAL_LIST, .n = g->n_results, .list = results };
    if (g->n_results == 1)
        *ret = results[0];
    return RILL_OK;
}

rill_status build_tract_submodel(const struct call *c, struct val *ret)
{
    struct submodel m = { .c = c, .b = *c->b };
    struct resources resources = { .files = NULL };
    uint32_t *in;
    unsigned n;
    TRY(arg_wires(c, "input", &in, &n));
    TRY(arg_text(c, "label", &m.label));
    m.b.doc = &m.doc;
    m.b.symbols = NULL;
    m.b.n_symbols = m.b.cap_symbols = 0;
    m.b.quants = NULL;
    m.b.resources = &resources;
    if (++m.b.calls > m.b.limits->calls)
        return call_fail(c, RILL_LIMIT, "submodels within each other more than %u deep",
                         m.b.limits->calls);
    rill_status status = place_find(&m);
    if (status == RILL_OK)
        status = text_read(&m);
    if (status == RILL_OK)
        status = text_run(&m, in, n, ret);
    if (m.b.folder == &m.archive)
        folder_close(&m.archive);
    arena_drop(&m.text);
    resources_drop(&resources);
    c->b->nodes = m.b.nodes;
    c->b->steps = m.b.steps;
    c->b->literal_bytes = m.b.literal_bytes;
    c->b->carried = m.b.carried;
    c->b->caches = m.b.caches;
    return status == RILL_OK ? status
                             : err_prefix(c->b->err, status, "%s:%u:%u: '%.60s'", c->s->file,
                                          c->e->pos.line, c->e->pos.column, m.label);
}
