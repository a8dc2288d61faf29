/* SPDX-License-Identifier: MIT */
#include "engine/graph/interface.h"
#include "engine/graph/control.h"
#include "engine/graph/prune.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory while changing a graph");
}

/* ---- names ---- */

/* Whether one of two names holds the other, letters of any case. */
static bool names_alike(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    const char *big = n > m ? a : b, *small = n > m ? b : a;
    size_t len = n > m ? m : n;
    for (; len && *big; big++)
        if (!strncasecmp(big, small, len))
            return true;
    return false;
}

static void known_add(char *buf, size_t cap, const char *name)
{
    size_t at = strlen(buf);
    if (at + 2 < cap)
        snprintf(buf + at, cap - at, "%s'%.60s'", at ? ", " : "", name);
}

rill_status graph_wire_named(const struct graph *g, const char *name, uint32_t *ret,
                             rill_error *reterr)
{
    char like[200] = "";
    unsigned n = 0;
    *ret = graph_find_wire(g, name);
    if (*ret != WIRE_NONE)
        return RILL_OK;
    for (uint32_t w = 0; w < g->n_wires && n < 4; w++)
        if (!g->wires[w].fact.value && names_alike(name, g->wires[w].name) && ++n)
            known_add(like, sizeof like, g->wires[w].name);
    for (uint32_t i = 0; !n && i < g->n_inputs + g->n_outputs; i++)
        known_add(like, sizeof like,
                  g->wires[i < g->n_inputs ? g->inputs[i] : g->outputs[i - g->n_inputs]].name);
    return err_set(reterr, RILL_INVALID, "the graph has no wire '%.80s'; %s %s", name,
                   n ? "like it are" : "its inputs and outputs are", like);
}

static rill_status wires_named(const struct graph *g, const char *const *names, unsigned n,
                               uint32_t **ret, rill_error *err)
{
    if (!n)
        return err_set(err, RILL_INVALID, "at least one wire must be named");
    uint32_t *wires = *ret = arena_array(g->arena, uint32_t, n);
    if (!wires)
        return no_memory(err);
    for (unsigned i = 0; i < n; i++) {
        TRY(graph_wire_named(g, names[i], &wires[i], err));
        for (unsigned k = 0; k < i; k++)
            if (wires[k] == wires[i])
                return err_set(err, RILL_INVALID, "wire '%.80s' is named twice", names[i]);
    }
    return RILL_OK;
}

/* Without the nodes and states that no output needs, and where drop_inputs is set without such
 * inputs. */
static rill_status graph_trimmed(struct graph *ret, const struct graph *g, bool drop_inputs,
                                 rill_error *reterr)
{
    const bool *need = graph_needed(g);
    struct graph c;
    TRY(graph_copied(&c, g, reterr));
    if (!need)
        return no_memory(reterr);
    c.n_inputs = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (need[g->inputs[i]] || !drop_inputs)
            c.inputs[c.n_inputs++] = g->inputs[i];
    return graph_pruned(ret, &c, reterr);
}

/* ---- the interface ---- */

rill_status graph_with_outputs(struct graph *ret, const struct graph *g, const char *const *names,
                               unsigned n, rill_error *reterr)
{
    struct graph c;
    TRY(graph_copied(&c, g, reterr));
    TRY(wires_named(g, names, n, &c.outputs, reterr));
    c.n_outputs = c.cap_outputs = n;
    return graph_trimmed(ret, &c, true, reterr);
}

/* Cuts w from its producer and makes it a place for something from outside. */
static rill_status wire_to_input(struct graph *g, uint32_t w, const struct fact *fact,
                                 rill_error *err)
{
    struct wire *wire = &g->wires[w];
    struct fact f = fact->type ? *fact : wire->fact;
    if (!f.type || f.rank < 0)
        return err_set(err, RILL_INVALID,
                       "wire '%.80s' has no known type and shape to become an input", wire->name);
    f.type = fact_number(&f);
    f.number = DTYPE_NONE;
    f.value = NULL;
    struct node *from = wire->node == WIRE_NONE ? NULL : &g->nodes[wire->node];
    for (unsigned k = 0; from && k < from->n_out; k++)
        if (from->out[k] == w)
            from->out[k] = WIRE_NONE;
    for (uint32_t i = 0; i < g->n_states; i++)
        if (g->states[i].in == w)
            g->states[i--] = g->states[--g->n_states];
    wire->fact = f;
    wire->node = WIRE_NONE;
    return RILL_OK;
}

static rill_status inputs_suffice(const struct graph *g, const struct graph *before,
                                  rill_error *err)
{
    const bool *need = graph_needed(g);
    if (!need)
        return no_memory(err);
    for (uint32_t i = 0; i < before->n_inputs; i++) {
        uint32_t w = before->inputs[i], k = 0;
        while (k < g->n_inputs && g->inputs[k] != w)
            k++;
        if (need[w] && k == g->n_inputs)
            return err_set(
                err, RILL_INVALID,
                "input '%.80s' is still needed: name it too, or select other outputs first",
                g->wires[w].name);
    }
    return RILL_OK;
}

rill_status graph_with_inputs(struct graph *ret, const struct graph *g, const struct fact *facts,
                              const char *const *names, unsigned n, rill_error *reterr)
{
    struct graph c;
    TRY(graph_copied(&c, g, reterr));
    TRY(wires_named(g, names, n, &c.inputs, reterr));
    c.n_inputs = c.cap_inputs = n;
    for (unsigned i = 0; i < n; i++)
        TRY(wire_to_input(&c, c.inputs[i], &facts[c.inputs[i]], reterr));
    TRY(inputs_suffice(&c, g, reterr));
    return graph_trimmed(ret, &c, false, reterr); /* what was named stays, read or not */
}

/* ---- states ---- */

static rill_status node_external(struct node *n, struct arena *a, unsigned *count, rill_error *err)
{
    for (unsigned b = 0; b < n->n_body; b++) {
        struct graph *body = arena_new(a, struct graph);
        if (!body)
            return no_memory(err);
        TRY(graph_with_external_states(body, n->body[b], count, err));
        n->body[b] = body;
    }
    if (n->op != &op_scan)
        return RILL_OK;
    struct scan_attr *attr = arena_copy(a, n->attr, sizeof *attr);
    if (!attr)
        return no_memory(err);
    attr->restarts = 1;
    n->attr = attr;
    ++*count;
    return RILL_OK;
}

rill_status graph_with_external_states(struct graph *ret, const struct graph *g, unsigned *ret_n,
                                       rill_error *reterr)
{
    TRY(graph_copied(ret, g, reterr));
    for (uint32_t i = 0; i < ret->n_nodes; i++)
        TRY(node_external(&ret->nodes[i], g->arena, ret_n, reterr));
    return RILL_OK;
}
