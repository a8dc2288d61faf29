/* SPDX-License-Identifier: MIT */
/* Nodes that stand for one, written one after the other; the first failure ends it. */
#include "models/onnx/internal.h"

uint32_t emit_node(struct emitter *e, const char *engine, const struct attr *attr, unsigned n_attr,
                   const uint32_t *in, unsigned n_in)
{
    uint32_t y = WIRE_NONE;
    if (e->status == RILL_OK)
        e->status = convert_emit(e->l, engine, attr, n_attr, in, n_in, &y, 1);
    return y;
}

uint32_t emit_with(struct emitter *e, const char *engine, const char *name, int64_t v,
                   const uint32_t *in, unsigned n_in)
{
    struct attr a = { .name = name, .kind = ATTR_INT, .i = v };
    return emit_node(e, engine, &a, 1, in, n_in);
}

uint32_t emit_ints(struct emitter *e, const int64_t *v, unsigned n)
{
    uint32_t y = WIRE_NONE;
    if (e->status == RILL_OK)
        e->status = convert_ints(e->l, v, n, &y);
    return y;
}

uint32_t emit_int(struct emitter *e, int64_t v)
{
    uint32_t y = WIRE_NONE;
    if (e->status == RILL_OK)
        e->status = convert_int_scalar(e->l, v, &y);
    return y;
}

uint32_t emit_float(struct emitter *e, float v, uint32_t like)
{
    uint32_t y = WIRE_NONE;
    if (e->status == RILL_OK)
        e->status = convert_float(e->l, v, like, &y);
    return y;
}

uint32_t emit_cast(struct emitter *e, uint32_t x, enum dtype to)
{
    return emit_with(e, "Cast", "to", to, &x, 1);
}

uint32_t emit_turned(struct emitter *e, uint32_t x, const int64_t *perm, unsigned rank)
{
    int64_t *v = arena_copy(e->l->r->arena, perm, rank * sizeof *perm);
    struct attr a = { .name = "perm", .kind = ATTR_INTS, .ints = { rank, v } };
    if (!v && e->status == RILL_OK)
        e->status = no_memory(e->l->r);
    return emit_node(e, "Transpose", &a, 1, &x, 1);
}

uint32_t emit_sizes(struct emitter *e, uint32_t x, int first, int end)
{
    struct attr a[] = { { .name = "start", .kind = ATTR_INT, .i = first },
                        { .name = "end", .kind = ATTR_INT, .i = end } };
    return emit_node(e, "Shape", a, 2, &x, 1);
}

uint32_t emit_range(struct emitter *e, uint32_t size)
{
    uint32_t none = WIRE_NONE;
    uint32_t n = emit(e, "Squeeze", size, none);
    return emit(e, "Range", emit_int(e, 0), n, emit_int(e, 1));
}

uint32_t emit_held(struct emitter *e, uint32_t off, const char *why)
{
    const struct conversion *l = e->l;
    struct graph *g = l->scope->g;
    const uint32_t of[] = { emit_list(e, 0), emit(e, "Abs", off) };
    uint32_t none = emit_with(e, "Gather", "axis", 0, of, 2);
    const char *claim = *l->domain
        ? arena_printf(l->r->arena, "(%s.%s): %s", l->domain, l->node->op, why)
        : arena_printf(l->r->arena, "(%s, opset %d): %s", l->node->op, (int) l->r->version.opset,
                       why);
    if (e->status == RILL_OK && !claim)
        e->status = no_memory(l->r);
    if (e->status == RILL_OK)
        g->nodes[g->n_nodes - 1].claim = claim;
    return emit(e, "ReduceMax", none, emit_list(e, 0));
}

rill_status emit_output(struct emitter *e, unsigned i, uint32_t w)
{
    e->l->engine = NULL;
    if (e->status == RILL_OK && i < e->l->n_out && e->l->out[i] != WIRE_NONE)
        e->status = convert_emit(e->l, "Identity", NULL, 0, &w, 1, &e->l->out[i], 1);
    return e->status;
}
