/* SPDX-License-Identifier: MIT */
#include "engine/typing/probe.h"
#include "engine/typing/interp.h"

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

static const struct tensor *node_value_of(struct probe *p, const struct node *n)
{
    const struct tensor **in = arena_array(p->arena, const struct tensor *, n->n_in + 1), *out[1];
    rill_error quiet = { 0 };
    if (!in || n->n_out != 1 || n->n_body || (n->op->flags & OP_RANDOM))
        return NULL;
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && !(in[i] = probe_wire(p, n->in[i])))
            return NULL;
    return interp_node(p->g->dims, n, in, &p->kern, p->arena, out, &quiet) == RILL_OK ? out[0]
                                                                                      : NULL;
}

const struct tensor *probe_wire(struct probe *p, uint32_t w)
{
    const struct wire *wire = &p->g->wires[w];
    if (!p->value[w] && wire->fact.value)
        p->value[w] = constant_of(p, wire->fact.value);
    else if (!p->value[w] && wire->node != WIRE_NONE)
        p->value[w] = node_value_of(p, &p->g->nodes[wire->node]);
    return p->value[w];
}
