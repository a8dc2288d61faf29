/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/pass.h"
#include "engine/graph/prune.h"

#include <string.h>

void pass_log_add(struct pass_log *log, const char *name, bool keeps_bits, const struct graph *made)
{
    if (!log || log->n == PASSES_MAX)
        return;
    log->at[log->n].name = name;
    log->at[log->n].keeps_bits = keeps_bits;
    log->at[log->n++].nodes = graph_count_nodes(made);
}

/* ---- what changed ---- */

static bool wires_same(const uint32_t *a, const uint32_t *b, unsigned n)
{
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

static bool wire_same(const struct wire *a, const struct wire *b)
{
    return a->name == b->name && a->node == b->node && a->declared == b->declared &&
        a->fact.number == b->fact.number && a->fact.value == b->fact.value &&
        fact_same(&a->fact, &b->fact);
}

static bool graph_same(const struct graph *a, const struct graph *b);

static bool node_same(const struct node *a, const struct node *b)
{
    if (a->name != b->name || a->origin != b->origin || a->claim != b->claim || a->op != b->op ||
        a->attr != b->attr || a->n_in != b->n_in || a->n_out != b->n_out ||
        a->n_body != b->n_body || !wires_same(a->in, b->in, a->n_in) ||
        !wires_same(a->out, b->out, a->n_out))
        return false;
    for (unsigned k = 0; k < a->n_body; k++)
        if (!graph_same(a->body[k], b->body[k]))
            return false;
    return true;
}

static bool state_same(const struct state *a, const struct state *b)
{
    return a->name == b->name && a->in == b->in && a->out == b->out && a->init == b->init;
}

/* The same lists of the same things: b says nothing that a does not. */
static bool graph_same(const struct graph *a, const struct graph *b)
{
    bool same = a->name == b->name && a->meta == b->meta && a->n_meta == b->n_meta &&
        a->n_wires == b->n_wires && a->n_nodes == b->n_nodes && a->n_inputs == b->n_inputs &&
        a->n_outputs == b->n_outputs && a->n_states == b->n_states &&
        wires_same(a->inputs, b->inputs, a->n_inputs) &&
        wires_same(a->outputs, b->outputs, a->n_outputs);
    for (uint32_t i = 0; same && i < a->n_states; i++)
        same = state_same(&a->states[i], &b->states[i]);
    for (uint32_t w = 0; same && w < a->n_wires; w++)
        same = wire_same(&a->wires[w], &b->wires[w]);
    for (uint32_t i = 0; same && i < a->n_nodes; i++)
        same = node_same(&a->nodes[i], &b->nodes[i]);
    return same;
}

/* ---- passes ---- */

static rill_status pass_run(const struct pass *p, struct graph *ret, const struct graph *g,
                            rill_error *reterr)
{
    struct graph made;
    TRY(p->run(&made, g, reterr));
    for (uint32_t i = 0; i < made.n_nodes; i++) {
        struct node *n = &made.nodes[i];
        struct graph **body = n->n_body ? arena_array(g->arena, struct graph *, n->n_body) : NULL;
        for (unsigned b = 0; b < n->n_body; b++) {
            if (!body || !(body[b] = arena_new(g->arena, struct graph)))
                return err_set(reterr, RILL_NOMEM, "out of memory");
            TRY(pass_run(p, body[b], n->body[b], reterr));
        }
        n->body = body;
    }
    *ret = made;
    return RILL_OK;
}

rill_status passes_run(const struct pass *list, size_t n, struct graph *ret, const struct graph *g,
                       struct pass_log *log, rill_error *reterr)
{
    struct graph now = *g;
    for (size_t i = 0; i < n; i++) {
        struct graph made;
        const struct arena_mark before = arena_mark(g->arena);
        TRY(pass_run(&list[i], &made, &now, reterr));
        if (i > 0 && graph_same(&made, &now))
            arena_rewind_to(g->arena, &before);
        else
            TRY(graph_pruned(&now, &made, reterr));
        pass_log_add(log, list[i].name, list[i].keeps_bits, &now);
    }
    *ret = now;
    return RILL_OK;
}
