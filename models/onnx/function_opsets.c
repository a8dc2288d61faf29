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

/* Ops, or attributes of them, that are younger than the oldest opset that is read. */
static const struct {
    const char *op, *attr;
    int64_t first;
} younger[] = {
    { "Attention", NULL, 23 },
    { "BitCast", NULL, 26 },
    { "BitShift", NULL, 11 },
    { "BitwiseAnd", NULL, 18 },
    { "BitwiseNot", NULL, 18 },
    { "BitwiseOr", NULL, 18 },
    { "BitwiseXor", NULL, 18 },
    { "BlackmanWindow", NULL, 17 },
    { "Cast", "saturate", 19 },
    { "CastLike", NULL, 15 },
    { "CausalConvWithState", NULL, 27 },
    { "Celu", NULL, 12 },
    { "CenterCropPad", NULL, 18 },
    { "Col2Im", NULL, 18 },
    { "CumProd", NULL, 26 },
    { "CumSum", NULL, 11 },
    { "DFT", NULL, 17 },
    { "Det", NULL, 11 },
    { "Einsum", NULL, 12 },
    { "GatherElements", NULL, 11 },
    { "GatherND", NULL, 11 },
    { "Gelu", NULL, 20 },
    { "GreaterOrEqual", NULL, 12 },
    { "GridSample", NULL, 16 },
    { "GroupNormalization", NULL, 18 },
    { "HammingWindow", NULL, 17 },
    { "HannWindow", NULL, 17 },
    { "HardSwish", NULL, 14 },
    { "LayerNormalization", NULL, 17 },
    { "LessOrEqual", NULL, 12 },
    { "LinearAttention", NULL, 27 },
    { "MelWeightMatrix", NULL, 17 },
    { "Mish", NULL, 18 },
    { "RMSNormalization", NULL, 23 },
    { "Range", NULL, 11 },
    { "Reshape", "allowzero", 14 },
    { "RotaryEmbedding", NULL, 23 },
    { "Round", NULL, 11 },
    { "STFT", NULL, 17 },
    { "ScatterElements", NULL, 11 },
    { "ScatterND", NULL, 11 },
    { "SequenceAt", NULL, 11 },
    { "SequenceEmpty", NULL, 11 },
    { "SequenceInsert", NULL, 11 },
    { "SwiGLU", NULL, 28 },
    { "Swish", NULL, 24 },
    { "TensorScatter", NULL, 24 },
    { "Trilu", NULL, 14 },
    { "Unique", NULL, 11 },
};

/* Ops that are others, or none, from an opset on, though rill reads both alike. */
static const struct {
    const char *op;
    int64_t from;
} changed[] = { { "Dropout", 12 }, { "GridSample", 20 }, { "Scatter", 11 }, { "Upsample", 10 } };

static bool is_text(ProtobufCBinaryData b, const char *text)
{
    return b.len == strlen(text) && (!b.len || !memcmp(b.data, text, b.len));
}

static bool is_changed(const Onnxpb__Node *n, int64_t from, int64_t to)
{
    bool is = false;
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        is |= is_text(n->op_type, changed[i].op) &&
            (from < changed[i].from) != (to < changed[i].from);
    return is;
}

static bool has_attr(const Onnxpb__Node *n, const char *name)
{
    bool has = false;
    for (size_t i = 0; i < n->n_attribute; i++)
        has |= is_text(n->attribute[i]->name, name);
    return has;
}

static bool is_younger(const Onnxpb__Node *n, int64_t opset)
{
    bool is = false;
    for (size_t i = 0; i < sizeof younger / sizeof *younger; i++)
        is |= younger[i].first > opset && is_text(n->op_type, younger[i].op) &&
            (!younger[i].attr || has_attr(n, younger[i].attr));
    return is;
}

/* Nodes that stand for names of a call are of no opset. */
static bool has_opset(const Onnxpb__Node *n)
{
    return onnx_is_default_domain(n->domain) && !is_text(n->op_type, "Identity");
}

static int64_t version_opset(const Onnxpb__Node *n)
{
    return ((const struct versioned_node *) n)->version->opset;
}

/* The newest of those nodes that `own` has not; at least `opset`. */
static int64_t graph_opset(const Onnxpb__Graph *g, int64_t own, int64_t opset)
{
    for (size_t i = 0; i < g->n_node; i++) {
        const Onnxpb__Node *n = g->node[i];
        if (has_opset(n) && version_opset(n) > opset && is_younger(n, own))
            opset = version_opset(n);
        for (size_t k = 0; k < n->n_attribute; k++)
            if (n->attribute[k]->g)
                opset = graph_opset(n->attribute[k]->g, own, opset);
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
        (is_changed(n, v->opset, opset) ||
         op_row_find("", op, v->opset) != op_row_find("", op, opset)))
        return err_set(r->err, RILL_UNSUPPORTED,
                       "node '%.80s': op '%.60s' is of opset %" PRId64 ", as %.160s says, and "
                       "another, or none, in opset %" PRId64
                       ", which a file that is written has for "
                       "all nodes; onnx.version_converter brings them to one",
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
    own->version = graph_opset(m->graph, own->version, own->version);
    return graph_check_opsets(r, m->graph, own->version);
}
