/* SPDX-License-Identifier: MIT */
/* Convolutions that read one tensor alike: one of them with the outputs of all, which are parts of
 * its output. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/settle/passes.h"

#include <string.h>

#define SIBLINGS_MAX 8

enum { CONV_X, CONV_W, CONV_B };

static bool has_bias(const struct node *n)
{
    return node_has_input(n, CONV_B);
}

/* One image, all channels in one group, known weights; its own channels lie densely in the output
 * then. */
static bool conv_joins(const struct graph *g, const struct node *n)
{
    const struct fact *y =
        n->n_out == 1 && n->out[0] != WIRE_NONE ? &g->wires[n->out[0]].fact : NULL;
    return y && node_is(n, OP_CONV) && n->n_in <= CONV_B + 1 && conv_attr_of(n)->group == 1 &&
        node_value(g, n, CONV_W) && (!has_bias(n) || node_value(g, n, CONV_B)) &&
        fact_is_static(y) && dim_is(y->shape[0], 1);
}

static bool ints_same(struct attr_ints x, struct attr_ints y)
{
    return x.n == y.n && (x.n == 0 || !memcmp(x.v, y.v, x.n * sizeof *x.v));
}

static bool conv_alike(const struct graph *g, const struct node *a, const struct node *b)
{
    const struct window_attr *x = window_attr_of(a), *y = window_attr_of(b);
    bool alike = a->in[CONV_X] == b->in[CONV_X] && has_bias(a) == has_bias(b) &&
        x->auto_pad == y->auto_pad && ints_same(x->dilations, y->dilations) &&
        ints_same(x->kernel, y->kernel) && ints_same(x->pads, y->pads) &&
        ints_same(x->strides, y->strides) && conv_attr_of(a)->winograd == conv_attr_of(b)->winograd;
    const struct tensor *v = node_value(g, a, CONV_W), *w = node_value(g, b, CONV_W);
    return alike && v->rank == w->rank &&
        !memcmp(v->dim + 1, w->dim + 1, (size_t) (v->rank - 1) * sizeof *v->dim);
}

struct siblings {
    uint32_t node[SIBLINGS_MAX];
    unsigned n;
};

static void siblings_find(const struct edit *e, uint32_t first, struct siblings *ret)
{
    const struct graph *g = e->g;
    ret->n = 0;
    for (uint32_t i = first; i < e->n_nodes && ret->n < SIBLINGS_MAX; i++)
        if (!e->gone[i] && conv_joins(g, &g->nodes[i]) &&
            conv_alike(g, &g->nodes[first], &g->nodes[i]))
            ret->node[ret->n++] = i;
}

/* Input i of all siblings, one behind the other along axis 0. */
static uint32_t values_join(struct graph *g, const struct siblings *t, unsigned input,
                            const char *name)
{
    struct tensor shape = *node_value(g, &g->nodes[t->node[0]], input);
    shape.dim[0] = 0;
    for (unsigned i = 0; i < t->n; i++)
        shape.dim[0] += node_value(g, &g->nodes[t->node[i]], input)->dim[0];
    struct tensor *all = tensor_new(g->arena, DTYPE_F32, shape.rank, shape.dim);
    unsigned char *to = all ? all->data : NULL;
    for (unsigned i = 0; to && i < t->n; i++) {
        const struct tensor *v = node_value(g, &g->nodes[t->node[i]], input);
        memcpy(to, v->data, tensor_bytes(v));
        to += tensor_bytes(v);
    }
    return graph_add_const(g, name, all);
}

/* The sibling's output is channels from..to of the joined one. */
static bool part_put(struct edit *e, uint32_t before, uint32_t all, uint32_t out, int64_t from,
                     int64_t to)
{
    struct graph *g = e->g;
    uint32_t in[] = { all, edit_int(g, from), edit_int(g, to), edit_int(g, 1) };
    for (int i = 1; i < 4; i++)
        if (in[i] == WIRE_NONE)
            return false;
    return edit_insert(e, before, op_by_id(OP_SLICE), NULL, in, 4, &out, 1);
}

static bool siblings_join(struct edit *e, const struct siblings *t)
{
    struct graph *g = e->g;
    const struct node first = g->nodes[t->node[0]];
    uint32_t in[] = { first.in[CONV_X], values_join(g, t, CONV_W, "weights joined"), WIRE_NONE };
    if (has_bias(&first))
        in[CONV_B] = values_join(g, t, CONV_B, "bias joined");
    struct fact f = g->wires[first.out[0]].fact;
    f.value = NULL;
    f.shape[1] =
        in[CONV_W] == WIRE_NONE ? NULL : dim_int(g->dims, g->wires[in[CONV_W]].fact.value->dim[0]);
    uint32_t all = graph_add_wire(g, g->wires[first.out[0]].name, &f);
    if (in[CONV_W] == WIRE_NONE || all == WIRE_NONE ||
        (has_bias(&first) && in[CONV_B] == WIRE_NONE) ||
        !edit_insert(e, t->node[0], first.op, first.attr, in, has_bias(&first) ? 3 : 2, &all, 1))
        return false;
    int64_t from = 0;
    for (unsigned i = 0; i < t->n; i++) {
        const struct node *n = &g->nodes[t->node[i]];
        int64_t to = from + node_value(g, n, CONV_W)->dim[0];
        uint32_t out = n->out[0];
        e->gone[t->node[i]] = true;
        if (!part_put(e, t->node[0], all, out, from, to))
            return false;
        from = to;
    }
    return true;
}

rill_status graph_with_siblings_fused(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        struct siblings t;
        if (e.gone[i] || !conv_joins(ret, &ret->nodes[i]))
            continue;
        siblings_find(&e, i, &t);
        if (t.n > 1 && !siblings_join(&e, &t))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return edit_end(&e, reterr);
}
