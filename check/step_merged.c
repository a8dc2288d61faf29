/* SPDX-License-Identifier: MIT */
#include "check/step_merged.h"
#include "check/step_fill.h"
#include "engine/graph/control.h"

#include <string.h>

#define CHOICE "use_cache_branch"

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

static uint32_t wire_named(const struct graph *g, const uint32_t *list, uint32_t n,
                           const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(g->wires[list[i]].name, name))
            return list[i];
    return WIRE_NONE;
}

/* ---- caches that a body only reads ---- */

static bool gives_nothing(const struct graph *body, unsigned output)
{
    const struct tensor *t = body->wires[body->outputs[output]].fact.value;
    return t && tensor_count(t) == 0;
}

/* Which input of both bodies has the wire. */
static rill_status captured(struct graph *g, struct node *n, uint32_t wire, unsigned *ret,
                            rill_error *err)
{
    for (*ret = 0; *ret + 1 < n->n_in; ++*ret)
        if (n->in[*ret + 1] == wire)
            return RILL_OK;
    uint32_t *in = arena_array(g->arena, uint32_t, n->n_in + 1u);
    if (!in)
        return no_memory(err);
    memcpy(in, n->in, n->n_in * sizeof *in);
    in[n->n_in] = wire;
    for (unsigned b = 0; b < n->n_body; b++) {
        const char *name = graph_name_next(n->body[b], g->wires[wire].name);
        if (!name || graph_add_input(n->body[b], name, NULL) == WIRE_NONE)
            return no_memory(err);
    }
    n->in = in;
    n->n_in++;
    return RILL_OK;
}

static rill_status output_keep(struct graph *g, struct node *n, uint32_t in, unsigned output,
                               rill_error *err)
{
    for (unsigned b = 0; b < n->n_body; b++) {
        unsigned k;
        if (!gives_nothing(n->body[b], output))
            continue;
        TRY(captured(g, n, in, &k, err));
        n->body[b]->outputs[output] = n->body[b]->inputs[k];
    }
    return RILL_OK;
}

/* Elsewhere a cache without frames is one that is cleared. */
static bool is_merged(const struct graph *g, const struct node *n)
{
    return node_is(n, OP_IF) && n->n_in > 0 && n->in[0] != WIRE_NONE && g->wires[n->in[0]].name &&
        !strcmp(g->wires[n->in[0]].name, CHOICE);
}

rill_status step_merged_keep(struct graph *g, const struct step_decl *d, rill_error *reterr)
{
    for (uint32_t i = 0; i < d->n_states; i++) {
        const uint32_t in = wire_named(g, g->inputs, g->n_inputs, d->states[i].in),
                       out = wire_named(g, g->outputs, g->n_outputs, d->states[i].out);
        struct node *n = in == WIRE_NONE || out == WIRE_NONE || g->wires[out].node == WIRE_NONE
            ? NULL
            : &g->nodes[g->wires[out].node];
        for (unsigned k = 0; n && is_merged(g, n) && k < n->n_out; k++)
            if (n->out[k] == out)
                TRY(output_keep(g, n, in, k, reterr));
    }
    return RILL_OK;
}

/* ---- the choice ---- */

static uint32_t choice_find(const struct graph *g)
{
    const uint32_t w = wire_named(g, g->inputs, g->n_inputs, CHOICE);
    return w != WIRE_NONE && g->wires[w].fact.type == DTYPE_BOOL ? w : WIRE_NONE;
}

static void input_remove(struct graph *g, uint32_t wire)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (g->inputs[i] != wire)
            g->inputs[n++] = g->inputs[i];
    g->n_inputs = n;
}

rill_status step_merged_later(struct graph *g, rill_error *reterr)
{
    const uint32_t w = choice_find(g);
    struct tensor *t = w == WIRE_NONE ? NULL : tensor_new(g->arena, DTYPE_BOOL, 0, NULL);
    if (w == WIRE_NONE)
        return RILL_OK;
    if (!t)
        return no_memory(reterr);
    tensor_set_f64(t, t->data, 0, 1);
    fact_of_tensor(&g->wires[w].fact, g->dims, t);
    input_remove(g, w);
    return RILL_OK;
}

rill_status step_merged_choose(struct graph *g, rill_error *reterr)
{
    const uint32_t w = choice_find(g);
    for (uint32_t i = 0; w != WIRE_NONE && i < g->n_states; i++) {
        const struct fact *f = &g->wires[g->states[i].in].fact;
        for (int k = 0; k < f->rank; k++)
            if (!dim_is_const(f->shape[k])) {
                input_remove(g, w);
                TRY(step_fill_any_frame(g, w, g->states[i].in, k, reterr));
                return graph_sort(g, reterr);
            }
    }
    return RILL_OK;
}
