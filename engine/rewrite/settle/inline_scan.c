/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/settle/inline_scan.h"
#include "engine/graph/control.h"

#include <string.h>

struct inliner {
    struct graph *dst;
    const struct op *reshape;
    const void *reshape_attr;
    rill_error *err;
};

static rill_status no_memory(const struct inliner *in)
{
    return err_set(in->err, RILL_NOMEM, "out of memory while inlining a Scan");
}

static rill_status map_new(const struct inliner *in, const struct graph *g, uint32_t **ret)
{
    uint32_t *map = arena_array(in->dst->arena, uint32_t, g->n_wires + 1);
    if (!map)
        return no_memory(in);
    for (uint32_t w = 0; w < g->n_wires; w++)
        map[w] = g->wires[w].fact.value
            ? graph_add_const(in->dst, g->wires[w].name, g->wires[w].fact.value)
            : WIRE_NONE;
    *ret = map;
    return RILL_OK;
}

static rill_status node_copy(struct inliner *in, const struct graph *g, uint32_t *map,
                             const struct node *n)
{
    uint32_t *i = arena_array(in->dst->arena, uint32_t, n->n_in + 1);
    uint32_t *o = arena_array(in->dst->arena, uint32_t, n->n_out + 1);
    if (!i || !o)
        return no_memory(in);
    for (unsigned k = 0; k < n->n_in; k++)
        i[k] = n->in[k] == WIRE_NONE ? WIRE_NONE : map[n->in[k]];
    for (unsigned k = 0; k < n->n_out; k++) {
        uint32_t w = n->out[k];
        o[k] = w == WIRE_NONE ? WIRE_NONE
                              : graph_add_wire(in->dst, g->wires[w].name, &g->wires[w].fact);
        if (w != WIRE_NONE)
            map[w] = o[k];
    }
    return graph_copy_node(in->dst, n, i, n->n_in, o) ? RILL_OK : no_memory(in);
}

/* wire under the shape of fact f. */
static rill_status reshaped(struct inliner *in, const char *name, uint32_t wire,
                            const struct fact *f, uint32_t *ret)
{
    struct tensor t;
    int64_t rank = f->rank;
    if (!fact_to_tensor(f, &t))
        return err_set(in->err, RILL_INTERNAL, "'%s' has no fixed shape", name);
    const struct tensor *shape = tensor_from_data(in->dst->arena, DTYPE_I64, 1, &rank, t.dim);
    uint32_t args[2] = { wire, graph_add_const(in->dst, name, shape) };
    struct fact plain = *f;
    plain.value = NULL;
    *ret = graph_add_wire(in->dst, name, &plain);
    if (args[1] == WIRE_NONE || *ret == WIRE_NONE ||
        !graph_add_node(in->dst, in->reshape, name, in->reshape_attr, args, 2, ret, 1))
        return no_memory(in);
    return RILL_OK;
}

static bool runs_once(const struct graph *g, const struct node *n)
{
    const struct scan_attr *at = n->attr;
    if (n->op != &op_scan || at->n_scanned == 0)
        return false;
    const struct fact *f = &g->wires[n->in[at->n_states]].fact;
    return dim_is(f->shape[scan_axis(at->in_axes, 0, f->rank)], 1);
}

static bool leaves(const struct graph *g, const bool *from)
{
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (from[g->outputs[i]])
            return true;
    for (uint32_t i = 0; i < g->n_states; i++)
        if (from[g->states[i].out])
            return true;
    return false;
}

/* Whether what is on the wire goes into an output or a declared state. from: room for a flag per
 * wire. */
static bool wire_gets_out(const struct graph *g, uint32_t wire, bool *from)
{
    if (wire == WIRE_NONE)
        return false;
    memset(from, 0, g->n_wires * sizeof *from);
    from[wire] = true;
    for (uint32_t i = g->wires[wire].node + 1; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        bool reads = false;
        for (unsigned k = 0; k < n->n_in; k++)
            reads |= n->in[k] != WIRE_NONE && from[n->in[k]];
        for (unsigned k = 0; k < n->n_out; k++)
            if (reads && n->out[k] != WIRE_NONE)
                from[n->out[k]] = true;
    }
    return leaves(g, from);
}

/* Whether the Scan goes: it runs once, and it has no state, is declared to restart in every run, or
 * every state's last value gets into an output or a declared state of the graph, so that somebody
 * carries it. */
static rill_status scan_may_inline(const struct graph *g, const struct node *n, bool *ret,
                                   rill_error *reterr)
{
    const struct scan_attr *at = n->attr;
    bool *from = arena_array(g->arena, bool, g->n_wires + 1);
    if (!from)
        return err_set(reterr, RILL_NOMEM, "out of memory while inlining a Scan");
    *ret = runs_once(g, n);
    for (int64_t k = 0; *ret && !at->restarts && k < at->n_states; k++)
        *ret = wire_gets_out(g, n->out[k], from);
    return RILL_OK;
}

static rill_status nodes_copy(struct inliner *in, const struct graph *g, uint32_t *map);

static rill_status scan_inline(struct inliner *in, const struct graph *g, uint32_t *map,
                               const struct node *n)
{
    const struct scan_attr *at = n->attr;
    const struct graph *body = n->body[0];
    uint32_t *inner, fixed = (uint32_t) (at->n_states + at->n_scanned);
    TRY(map_new(in, body, &inner));
    for (uint32_t i = 0; i < body->n_inputs; i++) {
        uint32_t w = body->inputs[i], outer = map[n->in[i]];
        if (i >= at->n_states && i < fixed)
            TRY(reshaped(in, body->wires[w].name, outer, &body->wires[w].fact, &inner[w]));
        else
            inner[w] = outer;
    }
    TRY(nodes_copy(in, body, inner));
    for (unsigned k = 0; k < n->n_out; k++) {
        uint32_t w = n->out[k];
        if (w == WIRE_NONE)
            continue;
        if (k < at->n_states)
            map[w] = inner[body->outputs[k]];
        else
            TRY(reshaped(in, g->wires[w].name, inner[body->outputs[k]], &g->wires[w].fact,
                         &map[w]));
    }
    return RILL_OK;
}

static rill_status nodes_copy(struct inliner *in, const struct graph *g, uint32_t *map)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        bool goes = false;
        if (n->op == &op_scan)
            TRY(scan_may_inline(g, n, &goes, in->err));
        TRY(goes ? scan_inline(in, g, map, n) : node_copy(in, g, map, n));
    }
    return RILL_OK;
}

static rill_status interface_end(struct inliner *in, const struct graph *g, const uint32_t *map)
{
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (!graph_add_output(in->dst, map[g->outputs[i]]))
            return no_memory(in);
    for (uint32_t i = 0; i < g->n_states; i++) {
        const struct state *s = &g->states[i];
        if (!graph_add_state(in->dst, s->name, map[s->in], map[s->out], s->init))
            return no_memory(in);
    }
    return graph_check(in->dst, in->err);
}

rill_status graph_with_scans_inlined(struct graph *ret, const struct graph *g, struct arena *a,
                                     rill_error *reterr)
{
    struct inliner in = { .dst = ret, .reshape = op_by_id(OP_RESHAPE), .err = reterr };
    graph_init(ret, a, g->dims, g->name);
    ret->meta = g->meta;
    ret->n_meta = g->n_meta;
    if (!in.reshape)
        return err_set(reterr, RILL_INTERNAL, "no op 'Reshape'");
    void *attr = arena_alloc(a, in.reshape->attr_bytes + 1);
    uint32_t *map;
    if (!attr)
        return no_memory(&in);
    TRY(attrs_parse(in.reshape, "inlined", NULL, 0, attr, reterr));
    in.reshape_attr = attr;
    TRY(map_new(&in, g, &map));
    for (uint32_t i = 0; i < g->n_inputs; i++)
        map[g->inputs[i]] =
            graph_add_input(ret, g->wires[g->inputs[i]].name, &g->wires[g->inputs[i]].fact);
    for (uint32_t i = 0; i < g->n_states; i++) {
        uint32_t w = g->states[i].in;
        map[w] = graph_add_wire(ret, g->wires[w].name, &g->wires[w].fact);
    }
    TRY(nodes_copy(&in, g, map));
    return interface_end(&in, g, map);
}
