/* SPDX-License-Identifier: MIT */
#include "engine/rewrite/settle/copies.h"

#include <string.h>

int64_t piece_count(const struct piece *p)
{
    return p->n[0] * p->n[1] * p->n[2] * p->n[3];
}

void piece_walk(const struct piece *p, void (*each)(void *to, int64_t from, int64_t at), void *to)
{
    int64_t i[PIECE_AXES];
    for (i[0] = 0; i[0] < p->n[0]; i[0]++)
        for (i[1] = 0; i[1] < p->n[1]; i[1]++)
            for (i[2] = 0; i[2] < p->n[2]; i[2]++)
                for (i[3] = 0; i[3] < p->n[3]; i[3]++) {
                    int64_t from = p->from, at = p->to;
                    for (int k = 0; k < PIECE_AXES; k++) {
                        from += i[k] * p->from_stride[k];
                        at += i[k] * p->to_stride[k];
                    }
                    each(to, from, at);
                }
}

/* The first input that is the state whose next value this makes; -1: none. */
static int64_t state_input(const struct graph *g, const uint32_t *in, const struct node *n)
{
    for (uint32_t i = 0; i < g->n_states; i++)
        for (unsigned k = 0; g->states[i].out == n->out[0] && k < n->n_in; k++)
            if (in[k] == g->states[i].in)
                return k;
    return -1;
}

bool copy_patch_state(const struct graph *g, struct arena *work, const struct node *n,
                      const uint32_t *in, struct strided_copy_attr *a)
{
    const struct attr_ints list = a->pieces;
    const struct piece *from = (const void *) list.v;
    const uint32_t n_pieces = list.n / PIECE_INTS;
    const int64_t base = state_input(g, in, n);
    struct piece *patch = arena_array(g->arena, struct piece, n_pieces + 1),
                 *own = arena_array(work, struct piece, n_pieces + 1);
    struct tensor t;
    uint32_t at = 0;
    bool in_place;
    if (base < 0)
        return true;
    if (!patch || !own)
        return false;
    fact_to_tensor(&g->wires[n->out[0]].fact, &t);
    for (int others = 0; others < 2; others++)
        for (uint32_t i = 0; i < n_pieces; i++)
            if ((in[from[i].input] != in[base]) == others)
                patch[at++] = from[i];
    memcpy(own, patch, n_pieces * sizeof *own);
    for (uint32_t i = 0; i < n_pieces; i++)
        own[i].input = in[own[i].input] == in[base] ? base : -1;
    if (!pieces_in_place(work, own, n_pieces, (int32_t) base, (size_t) tensor_count(&t), &in_place))
        return false;
    if (!in_place)
        return true;
    a->base = base;
    a->again = 1;
    a->patch = (struct attr_ints) { list.n, (const void *) patch };
    return true;
}
