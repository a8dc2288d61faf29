/* SPDX-License-Identifier: MIT */
/* A file that is written again has one opset for all nodes, those that functions had among them. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

#define OPSET_UNUSED 13 /* of a file that has no op of the standard's */

/* The list has room. */
static rill_status import_add(struct reader *r, struct arena *a, Onnxpb__Model *m,
                              const Onnxpb__OpsetId *from)
{
    Onnxpb__OpsetId *id = arena_copy(a, from, sizeof *from);
    if (!id)
        return no_memory(r);
    m->opset_import[m->n_opset_import++] = id;
    return RILL_OK;
}

/* new: nothing before has named the domain. */
static rill_status domain_note(const struct reader *r, struct map *seen, ProtobufCBinaryData domain,
                               bool *ret_new)
{
    const char *text = onnx_is_default_domain(domain) ? "" : onnx_text(seen->arena, domain);
    *ret_new = text && !map_get(seen, text);
    return text && map_set(seen, text, 0) ? RILL_OK : no_memory(r);
}

/* What a function imports that the model does not. */
static rill_status imports_take(struct reader *r, struct map *seen, Onnxpb__Model *m,
                                const Onnxpb__Function *f)
{
    for (size_t k = 0; k < f->n_opset_import; k++) {
        bool new;
        TRY(domain_note(r, seen, f->opset_import[k]->domain, &new));
        if (new)
            TRY(import_add(r, seen->arena, m, f->opset_import[k]));
    }
    return RILL_OK;
}

/* What functions import, and the standard in any case. */
static rill_status imports_complete(struct reader *r, struct arena *a, Onnxpb__Model *m)
{
    Onnxpb__OpsetId standard = ONNXPB__OPSET_ID__INIT;
    struct map seen = { .arena = a };
    size_t n = m->n_opset_import + 1;
    bool new;
    standard.has_version = true;
    standard.version = OPSET_UNUSED;
    for (size_t i = 0; i < m->n_functions; i++)
        n += m->functions[i]->n_opset_import;
    Onnxpb__OpsetId **list = arena_array(a, Onnxpb__OpsetId *, n);
    if (!list)
        return no_memory(r);
    for (size_t i = 0; i < m->n_opset_import; i++) {
        list[i] = m->opset_import[i];
        TRY(domain_note(r, &seen, list[i]->domain, &new));
    }
    m->opset_import = list;
    for (size_t i = 0; i < m->n_functions; i++)
        TRY(imports_take(r, &seen, m, m->functions[i]));
    return onnx_message_opset(m) ? RILL_OK : import_add(r, a, m, &standard);
}

/* ---- one opset for all nodes ---- */

/* Ops that the standard has withdrawn. */
static const struct {
    const char *op;
    int64_t last;
} withdrawn[] = { { "Scatter", 10 }, { "Upsample", 9 } };

static bool is_withdrawn(const char *op, int64_t opset)
{
    for (size_t i = 0; i < sizeof withdrawn / sizeof *withdrawn; i++)
        if (!strcmp(withdrawn[i].op, op))
            return opset > withdrawn[i].last;
    return false;
}

/* Nodes that stand for names of a call are of no opset. */
static bool has_opset(const Onnxpb__Node *n)
{
    static const char identity[] = "Identity";
    return onnx_is_default_domain(n->domain) &&
        (n->op_type.len != sizeof identity - 1 ||
         memcmp(n->op_type.data, identity, sizeof identity - 1));
}

static int64_t version_opset(const Onnxpb__Node *n)
{
    return ((const struct versioned_node *) n)->version->opset;
}

/* The newest of its nodes'; at least `opset`. */
static int64_t graph_opset(const Onnxpb__Graph *g, int64_t opset)
{
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnxpb__Node *n = g->node[i];
        if (has_opset(n) && version_opset(n) > opset)
            opset = version_opset(n);
        for (size_t k = 0; k < n->n_attribute; k++)
            if (n->attribute[k]->g)
                opset = graph_opset(n->attribute[k]->g, opset);
    }
    return opset;
}

static rill_status graph_check_opsets(const struct reader *r, const Onnxpb__Graph *g,
                                      int64_t opset);

static rill_status node_check_opset(const struct reader *r, const Onnxpb__Node *n, int64_t opset)
{
    const struct onnx_version *v = ((const struct versioned_node *) n)->version;
    const char *op = onnx_text(r->arena, n->op_type);
    if (!op)
        return no_memory(r);
    if (has_opset(n) && v->opset != opset &&
        (is_withdrawn(op, opset) || op_row_find("", op, v->opset) != op_row_find("", op, opset)))
        return err_set(r->err, RILL_UNSUPPORTED,
                       "node '%.80s': op '%.60s' is of opset %" PRId64 ", as %.160s says, and "
                       "another, or none, in opset %" PRId64 ", the newest of the file, which a "
                       "file that is written has for all nodes; onnx.version_converter brings "
                       "them to one",
                       onnx_text(r->arena, n->name), op, v->opset, v->of, opset);
    for (size_t i = 0; i < n->n_attribute; i++)
        if (n->attribute[i]->g)
            TRY(graph_check_opsets(r, n->attribute[i]->g, opset));
    return RILL_OK;
}

static rill_status graph_check_opsets(const struct reader *r, const Onnxpb__Graph *g, int64_t opset)
{
    for (size_t i = 0; i < g->n_node; i++)
        TRY(node_check_opset(r, g->node[i], opset));
    return RILL_OK;
}

rill_status functions_leave(struct reader *r, struct arena *a, Onnxpb__Model *m)
{
    TRY(imports_complete(r, a, m));
    m->n_functions = 0;
    if (!r->has_versions)
        return RILL_OK;
    Onnxpb__OpsetId *own = onnx_message_opset(m);
    own->version = graph_opset(m->graph, own->version);
    return graph_check_opsets(r, m->graph, own->version);
}
