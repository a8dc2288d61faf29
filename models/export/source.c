/* SPDX-License-Identifier: MIT */
#include "engine/base/err.h"
#include "engine/late/op.h"
#include "models/export/writer.h"

/* The types that the file says, of the sizes that stand. */
static void port_put(struct wire *w, const struct fact *now)
{
    const enum dtype type = w->fact.type;
    if (!now->type || now->rank < 0)
        return;
    w->fact = *now;
    w->fact.type = type ? type : now->type;
}

/* Where nothing is known, the type that the file says. */
static void output_put(struct wire *w, const struct fact *now)
{
    port_put(w, now);
    if (!w->fact.type && w->declared)
        w->fact = (struct fact) { .type = w->declared->type, .rank = -1 };
}

rill_status graph_as_read(struct graph *ret, const struct graph *g, struct arena *a,
                          rill_error *reterr)
{
    const struct late *late = late_of_graph(g);
    *ret = *g;
    if (!late || g->n_states)
        return RILL_OK;
    *ret = *late_source(late);
    ret->wires = arena_copy(a, ret->wires, ret->n_wires * sizeof *ret->wires);
    if (!ret->wires)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < ret->n_inputs; i++)
        port_put(&ret->wires[ret->inputs[i]], &g->wires[g->inputs[i]].fact);
    for (uint32_t i = 0; i < ret->n_outputs; i++)
        if (ret->wires[ret->outputs[i]].node != WIRE_NONE)
            output_put(&ret->wires[ret->outputs[i]], &g->wires[g->outputs[i]].fact);
    return RILL_OK;
}

struct fact fact_written(const struct graph *g, uint32_t wire)
{
    const struct wire *w = &g->wires[wire];
    return w->fact.type || !w->declared ? w->fact : graph_declared(g, wire);
}

struct fact formal_fact(const struct graph *g, unsigned i, const struct node *of,
                        const struct graph *around)
{
    const struct fact f = fact_written(g, g->inputs[i]);
    if (f.type || !of || node_is(of, OP_IF))
        return f;
    if (node_is(of, OP_LOOP) && i < 2)
        return (struct fact) { .type = i ? DTYPE_BOOL : DTYPE_I64 };
    return (struct fact) { .type = around->wires[of->in[i]].fact.type, .rank = -1 };
}

bool output_is_optional(const struct node *n, unsigned i)
{
    static const enum op_id all[] = { OP_GRU, OP_LSTM, OP_RNN },
                            none[] = { OP_TOPK, OP_SPLIT, OP_DYNAMIC_QUANTIZE_LINEAR };
    return node_is_among(n, all, sizeof all / sizeof *all) ||
        (i > 0 && !node_is_among(n, none, sizeof none / sizeof *none));
}
