/* SPDX-License-Identifier: MIT */
#include "tools/left_open.h"
#include "engine/graph/op.h"
#include "engine/typing/typed.h"
#include "models/network/network.h"

#include <stdio.h>
#include <string.h>

#define STAND_IN 5040 /* for any symbol: most divisions of a size go into it */

struct reading {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    struct fact *facts; /* per wire, as far as typing came */
};

static bool reading_open(struct reading *r, const char *path)
{
    struct bytes b = { 0 };
    if (!r->dims || bytes_from_file(&b, path, 0, NULL) != RILL_OK)
        return false;
    rill_status s = mgraph_from_network(&r->m, &r->arena, r->dims, &b, NULL);
    bytes_drop(&b);
    r->facts = s == RILL_OK ? arena_array(&r->arena, struct fact, r->m.g.n_wires + 1u) : NULL;
    return r->facts;
}

/* The first node that typing did not get past; NULL: there is none. */
static const struct node *refused_node(struct reading *r)
{
    struct tgraph typed;
    struct typed_opts opts = { .ret_facts = r->facts };
    if (tgraph_from_mgraph(&typed, &r->m, &opts, NULL) == RILL_OK)
        return NULL;
    for (uint32_t i = 0; i < r->m.g.n_nodes; i++) {
        const struct node *n = &r->m.g.nodes[i];
        for (unsigned k = 0; k < n->n_out; k++)
            if (n->out[k] != WIRE_NONE && r->facts[n->out[k]].type == DTYPE_NONE)
                return n;
    }
    return NULL;
}

static bool is_open(const struct fact *f)
{
    bool open = f->rank < 0;
    for (int a = 0; a < f->rank; a++)
        open |= !dim_is_const(f->shape[a]);
    return open;
}

static bool wants_value(const struct fact *f)
{
    return f->value ? f->value->type == DTYPE_DIM : !dtype_is_float(f->type) || f->rank == 0;
}

static bool node_lacks(struct reading *r, const struct node *n)
{
    const struct fact **in = arena_array(&r->arena, const struct fact *, n->n_in + 1u);
    struct fact *known = arena_array(&r->arena, struct fact, n->n_in + n->n_out + 1u);
    if (!in || !known)
        return false;
    bool open = false, value = n->n_body > 0; /* bodies are typed on their own */
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE)
            continue;
        known[i] = r->facts[n->in[i]];
        in[i] = &known[i];
        open |= is_open(&known[i]);
        value |= wants_value(&known[i]);
        for (int a = 0; a < known[i].rank; a++)
            if (!dim_is_const(known[i].shape[a]))
                known[i].shape[a] = dim_int(r->dims, STAND_IN);
    }
    return value || (open && op_infer(n, in, known + n->n_in, r->dims, &r->arena, NULL) == RILL_OK);
}

/* "x f32[1,T], rate i64[]" */
static void inputs_print(const struct graph *g, char *buf, size_t cap)
{
    size_t at = 0;
    *buf = 0;
    for (uint32_t i = 0; i < g->n_inputs && at < cap; i++) {
        const struct wire *w = &g->wires[g->inputs[i]];
        char fact[160];
        if (!is_open(&w->fact) && !wants_value(&w->fact))
            continue;
        fact_print(&w->fact, fact, sizeof fact);
        at += (size_t) snprintf(buf + at, cap - at, "%s%.60s %s", at ? ", " : "", w->name, fact);
    }
}

void left_open_tell(rill_error *refusal, const char *path)
{
    struct reading r = { .dims = dims_new() };
    char inputs[240] = "";
    size_t at = strlen(refusal->text);
    const struct node *n = reading_open(&r, path) ? refused_node(&r) : NULL;
    if (n && node_lacks(&r, n))
        inputs_print(&r.m.g, inputs, sizeof inputs);
    if (*inputs)
        snprintf(refusal->text + at, sizeof refusal->text - at,
                 "; --shape INPUT=1,S,.., --const INPUT=VALUE and --set SYMBOL=VALUE give sizes "
                 "and values that the file leaves open: %s",
                 inputs);
    arena_drop(&r.arena);
    dims_free(r.dims);
}
