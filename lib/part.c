/* SPDX-License-Identifier: MIT */
#include "lib/part.h"
#include "engine/graph/op.h"
#include "engine/graph/subst.h"
#include "models/network/network.h"
#include "lib/pipeline.h"
#include "lib/transform.h"

#define PART_ARENA_BYTES_MAX ((size_t) 4 << 30)

struct part {
    rill_model *model;
    const char *name;
    struct bytes bytes;
    struct mgraph g;
    rill_error *err;
};

static rill_status no_memory(const struct part *p)
{
    return err_set(p->err, RILL_NOMEM, "out of memory");
}

/* ---- one step of it ---- */

/* A symbol in the shape of an input counts the batch, or the steps of one. */
static rill_status symbols_fix(struct part *p)
{
    for (uint32_t i = 0; i < p->g.g.n_inputs; i++)
        for (int axis = 0; axis < p->g.g.wires[p->g.g.inputs[i]].fact.rank; axis++) {
            const struct fact *f = &p->g.g.wires[p->g.g.inputs[i]].fact;
            const struct dim *symbol;
            if (!dim_symbols(f->shape[axis], &symbol, 0, 1))
                continue;
            struct mgraph made;
            TRY(graph_with_symbol(&made.g, &p->g.g, symbol, dim_int(p->model->dims, 1), p->err));
            p->g = made;
        }
    return RILL_OK;
}

static rill_status cast_add(struct part *p, struct graph *g, uint32_t from, uint32_t to)
{
    const struct op *op = op_by_id(OP_CAST);
    const struct attr attr = { .name = "to", .kind = ATTR_INT, .i = g->wires[to].fact.type };
    void *parsed = arena_alloc(g->arena, op->attr_bytes);
    if (!parsed)
        return no_memory(p);
    TRY(attrs_parse(op, g->wires[from].name, &attr, 1, parsed, p->err));
    struct node *n = graph_add_node(g, op, g->wires[from].name, parsed, &from, 1, &to, 1);
    if (!n)
        return no_memory(p);
    g->wires[to].node = (uint32_t) (n - g->nodes);
    return RILL_OK;
}

/* Integer inputs take numbers of f32. */
static rill_status inputs_cast(struct part *p)
{
    struct mgraph made;
    struct graph *g = &made.g;
    TRY(graph_copied(g, &p->g.g, p->err));
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        uint32_t w = g->inputs[i];
        struct fact f = g->wires[w].fact;
        if (f.type != DTYPE_I64 && f.type != DTYPE_I32)
            continue;
        f.type = DTYPE_F32;
        uint32_t x = graph_add_wire(g, g->wires[w].name, &f);
        const char *name = arena_printf(g->arena, "%s:integers", g->wires[w].name);
        if (x == WIRE_NONE || !name)
            return no_memory(p);
        g->wires[w].name = name;
        g->inputs[i] = x;
        TRY(cast_add(p, g, x, w));
    }
    TRY(graph_sort(g, p->err));
    p->g = made;
    return RILL_OK;
}

static rill_status part_read(void *opener)
{
    struct part *p = opener;
    rill_model *m = p->model;
    TRY(mgraph_from_network(&p->g, &m->arena, m->dims, &p->bytes, p->err));
    TRY(symbols_fix(p));
    TRY(inputs_cast(p));
    m->mgraph = p->g;
    return RILL_OK;
}

static rill_status part_type(void *opener)
{
    struct part *p = opener;
    return model_transform_and_type(p->model, NULL, false, NULL, p->err);
}

static rill_status part_fill(struct part *p)
{
    rill_model *m = p->model;
    struct pipeline w = { .model = m,
                          .mgraph_from_bytes = part_read,
                          .tgraph_from_mgraph = part_type,
                          .opener = p,
                          .err = p->err };
    TRY(pipeline_run(&w, STAGE_BYTES, STAGE_DECLUTTERED));
    m->info = (rill_model_info) {
        .name = arena_string(&m->arena, p->name), .task = "", .licence = "", .summary = ""
    };
    return m->info.name ? RILL_OK : no_memory(p);
}

rill_status part_open(rill_model **ret, const char *name, const uint8_t *data, size_t n,
                      rill_error *reterr)
{
    struct part p = {
        .model = model_new(), .name = name, .bytes = { .data = data, .n = n }, .err = reterr
    };
    if (!p.model)
        return no_memory(&p);
    p.model->arena.limit_bytes = PART_ARENA_BYTES_MAX;
    rill_status s = part_fill(&p);
    if (s != RILL_OK) {
        rill_model_free(p.model);
        return err_prefix(reterr, s, "%.200s", name);
    }
    *ret = p.model;
    return RILL_OK;
}
