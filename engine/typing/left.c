/* SPDX-License-Identifier: MIT */
#include "engine/typing/left.h"
#include "engine/graph/op.h"

bool left_reads(const struct graph *src, const struct node *n, const uint32_t *map)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && map[n->in[i]] == WIRE_NONE && !src->wires[n->in[i]].fact.value)
            return true;
    return false;
}

/* A body that makes what no plan knows the size of. */
static bool body_open(const struct node *made)
{
    for (unsigned k = 0; k < made->n_body; k++) {
        const struct graph *g = made->body[k];
        for (uint32_t w = 0; w < g->n_wires; w++) {
            const struct fact *f = &g->wires[w].fact;
            if (f->type && f->rank >= 0 && (f->type == DTYPE_DIM || !fact_is_static(f)))
                return true;
        }
        for (uint32_t i = 0; i < g->n_nodes; i++)
            if (body_open(&g->nodes[i]))
                return true;
    }
    return false;
}

bool left_open(const struct graph *dst, const struct node *n, const uint32_t *map)
{
    for (unsigned i = 0; i < n->n_out; i++)
        if (n->out[i] != WIRE_NONE && map[n->out[i]] != WIRE_NONE &&
            !fact_is_static(&dst->wires[map[n->out[i]]].fact))
            return true;
    for (unsigned i = 0; n->n_body && i < n->n_out; i++) {
        const uint32_t w = n->out[i] == WIRE_NONE ? WIRE_NONE : map[n->out[i]];
        if (w != WIRE_NONE && dst->wires[w].node != WIRE_NONE)
            return body_open(&dst->nodes[dst->wires[w].node]);
    }
    return false;
}

bool left_excuses(rill_status s)
{
    return s == RILL_UNSUPPORTED;
}

bool left_note(struct typed_left *left, uint32_t node, enum left_kind kind, const rill_error *err,
               struct arena *a)
{
    left->kind[node] = kind;
    if (!err)
        return true;
    struct left_why *w = arena_new(a, struct left_why);
    if (w) {
        *w = (struct left_why) { left->why, node, *err };
        left->why = w;
    }
    return w != NULL;
}

static bool read_by_left(const struct typed_left *left, const struct graph *src, uint32_t w)
{
    for (uint32_t i = 0; i < src->n_nodes; i++)
        for (unsigned k = 0; left->kind[i] != LEFT_NOT && k < src->nodes[i].n_in; k++)
            if (src->nodes[i].in[k] == w)
                return true;
    for (uint32_t i = 0; i < src->n_outputs; i++)
        if (src->outputs[i] == w)
            return true;
    return false;
}

bool left_outputs(struct typed_left *left, const struct graph *src, struct graph *dst,
                  const uint32_t *map)
{
    left->n_outputs = 0;
    for (uint32_t w = 0; w < src->n_wires; w++) {
        const struct fact *f = map[w] == WIRE_NONE ? NULL : &dst->wires[map[w]].fact;
        if (!f || src->wires[w].node == WIRE_NONE || !read_by_left(left, src, w))
            continue;
        left->value[w] = f->value;
        if (f->value)
            continue;
        if (!graph_add_output(dst, map[w]))
            return false;
        left->outputs[left->n_outputs++] = w;
    }
    return true;
}
