/* SPDX-License-Identifier: MIT */
#include "engine/typing/trips.h"
#include "engine/graph/control.h"
#include "engine/ops/attrs.h"

#define ENDLESS ((int64_t) 1 << 40) /* no sequence is as long */

static const struct tensor *one_value(const struct graph *g, uint32_t w)
{
    const struct tensor *v = w == WIRE_NONE ? NULL : g->wires[w].fact.value;
    return v && tensor_count(v) == 1 ? v : NULL;
}

static bool is_integer(const struct graph *g, uint32_t w, int64_t number)
{
    const struct tensor *v = one_value(g, w);
    return v && dtype_is_int(v->type) && tensor_get_i64(v, v->data, 0) == number;
}

static const struct dim *size_of(const struct graph *g, uint32_t w)
{
    const struct tensor *v = one_value(g, w);
    if (!v || (v->type != DTYPE_DIM && !dtype_is_int(v->type)))
        return NULL;
    return v->type == DTYPE_DIM ? *(const struct dim *const *) v->data
                                : dim_int(g->dims, tensor_get_i64(v, v->data, 0));
}

/* Of a sum with 1 the other operand; WIRE_NONE: it is something else. */
static uint32_t one_less(const struct graph *body, uint32_t w)
{
    const struct node *n = graph_producer(body, w);
    if (!n || !node_is(n, OP_ADD))
        return WIRE_NONE;
    return is_integer(body, n->in[1], 1) ? n->in[0]
        : is_integer(body, n->in[0], 1)  ? n->in[1]
                                         : WIRE_NONE;
}

bool loop_counts(const struct loop *l, uint32_t w)
{
    const struct fact *f = &l->body->wires[w].fact;
    if (f->type != DTYPE_I64 || f->rank != 0)
        return false;
    for (unsigned k = 0; k < l->n_states; k++)
        if (l->body->inputs[2 + k] == w)
            return is_integer(l->g, l->in[2 + k], 0) &&
                one_less(l->body, l->body->outputs[1 + k]) == w;
    return l->body->inputs[0] == w;
}

/* The size that the body compares the number of trips with: it goes on where there are fewer. */
static const struct dim *compared(const struct loop *l)
{
    const struct graph *b = l->body;
    const struct node *n = graph_producer(b, b->outputs[0]);
    while (n && (node_is(n, OP_IDENTITY) || node_is(n, OP_CAST)))
        n = graph_producer(b, n->in[0]);
    if (!n || !(node_is(n, OP_LESS) || node_is(n, OP_GREATER)))
        return NULL;
    const unsigned number = node_is(n, OP_LESS) ? 0 : 1;
    const uint32_t w = one_less(b, n->in[number]);
    return w != WIRE_NONE && loop_counts(l, w) ? size_of(b, n->in[1 - number]) : NULL;
}

/* The body takes that place of what is as long. */
static bool takes_places(const struct loop *l, const struct dim *trips)
{
    const struct graph *b = l->body;
    for (uint32_t i = 0; i < b->n_nodes; i++) {
        const struct node *n = &b->nodes[i];
        if (!node_is(n, OP_GATHER) || !loop_counts(l, n->in[1]))
            continue;
        const struct fact *f = &b->wires[n->in[0]].fact;
        if (f->shape[axis_normalise(axis_of(n), f->rank)] == trips)
            return true;
    }
    return false;
}

/* Whether the first trip begins where there is one to make, and only there. */
static bool begins(const struct loop *l, const struct dim *trips)
{
    struct dims *ds = l->g->dims;
    const struct dim *some = dim_ge(ds, trips, dim_int(ds, 1));
    const struct tensor *v = one_value(l->g, l->in[1]);
    if (!v)
        return false;
    if (v->type == DTYPE_DIM)
        return *(const struct dim *const *) v->data == some &&
            dim_is(dim_ge(ds, trips, dim_int(ds, 0)), 1);
    return tensor_get_i64(v, v->data, 0) && (dim_is(some, 1) || takes_places(l, trips));
}

const struct dim *loop_trips(const struct loop *l)
{
    const struct dim *most = size_of(l->g, l->in[0]), *trips;
    if (loop_goes_on(l->g, l->in[1], l->body))
        return most;
    if (l->in[0] != WIRE_NONE && !(most && dim_is_const(most) && dim_value(most) >= ENDLESS))
        return NULL;
    trips = compared(l);
    return trips && begins(l, trips) ? trips : NULL;
}
