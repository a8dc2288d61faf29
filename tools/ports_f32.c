/* SPDX-License-Identifier: MIT */
#include "tools/ports_f32.h"
#include "engine/graph/op.h"
#include "lib/pipeline.h"

#include <string.h>

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* A node of one output with the shape of its first input. */
static rill_status node_add(struct graph *g, enum op_id id, const char *name, const uint32_t *in,
                            unsigned n_in, enum dtype type, uint32_t *ret, rill_error *err)
{
    const struct op *op = op_by_id(id);
    const struct attr to = { .name = "to", .kind = ATTR_INT, .i = type };
    struct fact f = g->wires[in[0]].fact;
    void *attr = op->attr_bytes ? arena_alloc(g->arena, op->attr_bytes) : NULL;
    f.type = type;
    f.value = NULL;
    if (op->attr_bytes && !attr)
        return no_memory(err);
    if (attr)
        TRY(attrs_parse(op, name, &to, 1, attr, err));
    *ret = graph_add_wire(g, name, &f);
    if (*ret == WIRE_NONE || !graph_add_node(g, op, name, attr, in, n_in, ret, 1))
        return no_memory(err);
    return RILL_OK;
}

static rill_status cast_add(struct graph *g, const char *name, uint32_t from, enum dtype type,
                            uint32_t *ret, rill_error *err)
{
    return node_add(g, OP_CAST, name, &from, 1, type, ret, err);
}

static bool is_wide(enum dtype t)
{
    return t == DTYPE_I64 || t == DTYPE_I32 || t == DTYPE_U64 || t == DTYPE_U32;
}

/* wire - what it became as an f32 */
static rill_status rest_add(struct graph *g, uint32_t wire, uint32_t as_f32, uint32_t *ret,
                            rill_error *err)
{
    const char *port = g->wires[wire].name, *name = arena_printf(g->arena, "%s" PORT_REST, port);
    uint32_t sides[2] = { wire, WIRE_NONE }, rest;
    if (!name)
        return no_memory(err);
    if (g->wires[wire].fact.type != DTYPE_I64)
        TRY(cast_add(g, port, wire, DTYPE_I64, &sides[0], err));
    TRY(cast_add(g, port, as_f32, DTYPE_I64, &sides[1], err));
    TRY(node_add(g, OP_SUB, name, sides, 2, DTYPE_I64, &rest, err));
    return cast_add(g, name, rest, DTYPE_F32, ret, err);
}

static rill_status outputs_cast(struct graph *g, rill_error *reterr)
{
    uint32_t n = g->n_outputs, *outputs = arena_array(g->arena, uint32_t, 2 * (size_t) n + 1);
    if (!outputs)
        return no_memory(reterr);
    memcpy(outputs, g->outputs, n * sizeof *outputs);
    g->outputs = outputs;
    g->cap_outputs = 2 * n + 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t w = outputs[i];
        enum dtype type = g->wires[w].fact.type;
        if (type == DTYPE_F32 || type == DTYPE_DIM)
            continue;
        TRY(cast_add(g, g->wires[w].name, w, DTYPE_F32, &outputs[i], reterr));
        if (is_wide(type))
            TRY(rest_add(g, w, outputs[i], &outputs[g->n_outputs++], reterr));
    }
    return RILL_OK;
}

/* The last node becomes the first. */
static void node_to_front(struct graph *g)
{
    const struct node last = g->nodes[g->n_nodes - 1];
    memmove(&g->nodes[1], &g->nodes[0], (g->n_nodes - 1) * sizeof *g->nodes);
    g->nodes[0] = last;
    for (uint32_t w = 0; w < g->n_wires; w++)
        if (g->wires[w].node != WIRE_NONE)
            g->wires[w].node = g->wires[w].node + 1 == g->n_nodes ? 0 : g->wires[w].node + 1;
}

static rill_status inputs_cast(struct graph *g, rill_error *reterr)
{
    const struct op *cast = op_by_id(OP_CAST);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        uint32_t w = g->inputs[i], from;
        struct fact f = g->wires[w].fact;
        const struct attr to = { .name = "to", .kind = ATTR_INT, .i = f.type };
        void *attr = cast ? arena_alloc(g->arena, cast->attr_bytes) : NULL;
        if (f.type == DTYPE_F32)
            continue;
        f.type = DTYPE_F32;
        if (!attr || (from = graph_add_wire(g, g->wires[w].name, &f)) == WIRE_NONE)
            return no_memory(reterr);
        TRY(attrs_parse(cast, g->wires[w].name, &to, 1, attr, reterr));
        g->inputs[i] = from;
        if (!graph_add_node(g, cast, g->wires[w].name, attr, &from, 1, &w, 1))
            return no_memory(reterr);
        node_to_front(g);
    }
    return RILL_OK;
}

static bool all_f32(const struct graph *g, const uint32_t *wires, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (g->wires[wires[i]].fact.type != DTYPE_F32)
            return false;
    return true;
}

rill_status ports_as_f32(rill_model *m, rill_error *reterr)
{
    struct graph g;
    if (all_f32(&m->typed.g, m->typed.g.outputs, m->typed.g.n_outputs) &&
        all_f32(&m->typed.g, m->typed.g.inputs, m->typed.g.n_inputs))
        return RILL_OK;
    TRY(graph_copied(&g, &m->typed.g, reterr));
    TRY(outputs_cast(&g, reterr));
    TRY(inputs_cast(&g, reterr));
    m->typed = (struct tgraph) { .g = g }; /* as a transform makes it */
    return pipeline_run(&(struct pipeline) { .model = m, .err = reterr }, STAGE_TYPED,
                        STAGE_DECLUTTERED);
}
