/* SPDX-License-Identifier: MIT */
#include "engine/typing/probe.h"
#include "engine/typing/interp.h"

#define NODE_ELEMENTS 256 /* what a node costs beside its elements */

bool probe_begin(struct probe *ret, const struct graph *g, const struct dim *symbol, int64_t length,
                 uint32_t from, const struct tensor *x, struct arena *a)
{
    *ret = (struct probe) { .g = g, .symbol = symbol, .length = length, .arena = a };
    ret->value = arena_array(a, const struct tensor *, g->n_wires + 1);
    kern_init(&ret->kern, 0);
    if (ret->value)
        ret->value[from] = x;
    return ret->value && x;
}

/* Sizes are numbers for one length. */
static const struct tensor *constant_of(const struct probe *p, const struct tensor *v)
{
    struct tensor *y =
        v->type == DTYPE_DIM ? tensor_new(p->arena, DTYPE_I64, v->rank, v->dim) : NULL;
    for (int64_t i = 0; y && i < tensor_count(v); i++)
        if (!dim_eval(((const struct dim *const *) v->data)[i], p->symbol, p->length,
                      &((int64_t *) y->data)[i]))
            return NULL;
    return v->type == DTYPE_DIM ? y : v;
}

/* A node of which not all inputs are known yet. */
struct pending {
    const struct node *n;
    unsigned next; /* input to look at */
};

/* Those that lead to each other, the last one first looked at. */
struct path {
    struct pending *at;
    uint32_t n, cap;
};

static bool path_push(struct probe *p, struct path *path, const struct node *n)
{
    if (path->n == path->cap) {
        uint32_t cap = path->cap ? 2 * path->cap : 64;
        struct pending *more = arena_array(p->arena, struct pending, cap);
        if (!more)
            return false;
        for (uint32_t i = 0; i < path->n; i++)
            more[i] = path->at[i];
        path->at = more;
        path->cap = cap;
    }
    path->at[path->n++] = (struct pending) { n, 0 };
    return true;
}

static bool spend(struct probe *p, int64_t elements)
{
    if (p->left)
        *p->left -= elements;
    return !p->left || *p->left >= 0;
}

/* Of inputs that are known. */
static bool node_run(struct probe *p, const struct node *n)
{
    const struct tensor **in = arena_array(p->arena, const struct tensor *, n->n_in + 1), *out[1];
    rill_error quiet = { 0 };
    if (!in)
        return false;
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? NULL : p->value[n->in[i]];
    if (interp_node(p->g->dims, n, in, &p->kern, p->arena, out, &quiet) != RILL_OK)
        return false;
    p->value[n->out[0]] = out[0];
    return spend(p, NODE_ELEMENTS + tensor_count(out[0]));
}

/* Whether the wire is known; else its node is what has to run before. False: it cannot be known. */
static bool wire_known(struct probe *p, uint32_t w, bool *ret_known, const struct node **ret_node)
{
    const struct wire *wire = &p->g->wires[w];
    if (!p->value[w] && wire->fact.value && !(p->value[w] = constant_of(p, wire->fact.value)))
        return false;
    *ret_known = p->value[w] != NULL;
    if (*ret_known)
        return true;
    if (wire->node == WIRE_NONE)
        return false;
    *ret_node = &p->g->nodes[wire->node];
    return (*ret_node)->n_out == 1 && !(*ret_node)->n_body && !((*ret_node)->op->flags & OP_RANDOM);
}

/* Goes on at the last node of the path. False: it cannot be known. */
static bool path_step(struct probe *p, struct path *path)
{
    struct pending *last = &path->at[path->n - 1];
    const struct node *n = last->n, *before = NULL;
    bool known = true;
    while (last->next < n->n_in && known) {
        uint32_t w = n->in[last->next];
        if (w != WIRE_NONE && !wire_known(p, w, &known, &before))
            return false;
        last->next += known;
    }
    if (!known)
        return path_push(p, path, before);
    path->n--;
    return node_run(p, n);
}

const struct tensor *probe_wire(struct probe *p, uint32_t w)
{
    struct path path = { 0 };
    const struct node *n = NULL;
    bool known;
    if (!wire_known(p, w, &known, &n))
        return NULL;
    if (!known && !path_push(p, &path, n))
        return NULL;
    while (path.n > 0)
        if (!path_step(p, &path))
            return NULL;
    return p->value[w];
}
