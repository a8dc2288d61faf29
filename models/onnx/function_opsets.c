/* SPDX-License-Identifier: MIT */
/* A file that is written again has one opset for all nodes, those that functions had among them. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

#define OPSET_UNUSED 13 /* of a file that has no op of the standard's */

static rill_status import_add(struct reader *r, struct arena *a, Onnxpb__Model *m,
                              const Onnxpb__OpsetId *from)
{
    Onnxpb__OpsetId **list = arena_array(a, Onnxpb__OpsetId *, m->n_opset_import + 1);
    Onnxpb__OpsetId *id = arena_copy(a, from, sizeof *from);
    if (!list || !id)
        return no_memory(r);
    for (size_t i = 0; i < m->n_opset_import; i++)
        list[i] = m->opset_import[i];
    list[m->n_opset_import++] = id;
    m->opset_import = list;
    return RILL_OK;
}

static bool imports(const Onnxpb__Model *m, ProtobufCBinaryData domain)
{
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const ProtobufCBinaryData d = m->opset_import[i]->domain;
        if (d.len == domain.len && (!d.len || !memcmp(d.data, domain.data, d.len)))
            return true;
    }
    return onnx_is_default_domain(domain) && onnx_message_opset(m);
}

/* What functions import, and the standard in any case. */
static rill_status imports_complete(struct reader *r, struct arena *a, Onnxpb__Model *m)
{
    Onnxpb__OpsetId standard = ONNXPB__OPSET_ID__INIT;
    standard.has_version = true;
    standard.version = OPSET_UNUSED;
    for (size_t i = 0; i < m->n_functions; i++)
        for (size_t k = 0; k < m->functions[i]->n_opset_import; k++)
            if (!imports(m, m->functions[i]->opset_import[k]->domain))
                TRY(import_add(r, a, m, m->functions[i]->opset_import[k]));
    return onnx_message_opset(m) ? RILL_OK : import_add(r, a, m, &standard);
}

static rill_status graph_check_opsets(const struct reader *r, const Onnxpb__Graph *g,
                                      int64_t opset);

static rill_status node_check_opset(const struct reader *r, const Onnxpb__Node *n, int64_t opset)
{
    const struct onnx_version *v = ((const struct versioned_node *) n)->version;
    const char *op = onnx_text(r->arena, n->op_type);
    if (!op)
        return no_memory(r);
    if (onnx_is_default_domain(n->domain) && v->opset != opset &&
        op_row_find("", op, v->opset) != op_row_find("", op, opset))
        return err_set(r->err, RILL_UNSUPPORTED,
                       "node '%.80s': op '%.60s' is of opset %" PRId64
                       ", as %.160s says, and another "
                       "in the model's, %" PRId64
                       ", which a file that is written has for all nodes",
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
    return r->has_versions ? graph_check_opsets(r, m->graph, onnx_message_opset(m)->version)
                           : RILL_OK;
}
