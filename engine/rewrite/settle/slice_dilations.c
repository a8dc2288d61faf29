/* SPDX-License-Identifier: MIT */
/* One output place along a dilated axis: only the places under the kernel's taps are read, the rest
 * need not be there. */
#include "engine/rewrite/settle/passes.h"
#include "engine/graph/op.h"
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"

struct sight {
    uint32_t node;
    int axis; /* spatial */
    int64_t kernel, dilation;
    bool transposed;
};

static int64_t int_at(struct attr_ints list, int i, int64_t otherwise)
{
    return (uint32_t) i < list.n ? list.v[i] : otherwise;
}

static bool size_is(const struct graph *g, uint32_t wire, int axis, int64_t n)
{
    const struct fact *f = &g->wires[wire].fact;
    return f->rank > axis && dim_is(f->shape[axis], n);
}

/* The rows are put together by a mover, and every other consumer moves them on: leaving some out
 * costs no step. */
static bool rows_are_moved(const struct graph *g, uint32_t node)
{
    uint32_t rows = g->nodes[node].in[0], from = g->wires[rows].node;
    if (from == WIRE_NONE || !node_moves_elements(g, &g->nodes[from]))
        return false;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == rows)
            return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] == rows && i != node && !node_moves_elements(g, &g->nodes[i]))
                return false;
    return true;
}

/* The axis shows the kernel one place, and the input is just what it covers. */
static bool axis_shows_one(const struct graph *g, struct sight *s)
{
    const struct node *n = &g->nodes[s->node];
    const struct fact *w = &g->wires[n->in[1]].fact;
    const struct window_attr *a = window_attr_of(n);
    int axes = w->rank - 2;
    s->kernel = dim_is_const(w->shape[2 + s->axis]) ? dim_value(w->shape[2 + s->axis]) : 0;
    s->dilation = int_at(a->dilations, s->axis, 1);
    int64_t covered = (s->kernel - 1) * s->dilation, pad = s->transposed ? covered : 0;
    return s->dilation > 1 && s->kernel > 1 && size_is(g, n->in[0], 2 + s->axis, covered + 1) &&
        size_is(g, n->out[0], 2 + s->axis, 1) && int_at(a->pads, s->axis, 0) == pad &&
        int_at(a->pads, axes + s->axis, 0) == pad &&
        (!s->transposed || int_at(a->strides, s->axis, 1) == 1);
}

static bool conv_is_plain(const struct graph *g, const struct node *n, bool *ret_transposed)
{
    *ret_transposed = node_is(n, OP_CONV_TRANSPOSE);
    if ((!*ret_transposed && !node_is(n, OP_CONV)) || window_attr_of(n)->auto_pad != PAD_NOTSET)
        return false;
    if (*ret_transposed &&
        (deconv_attr_of(n)->output_shape.n || deconv_attr_of(n)->output_padding.n))
        return false;
    return n->out[0] != WIRE_NONE && g->wires[n->in[0]].fact.type == DTYPE_F32;
}

/* x[.., ::dilation, ..] */
static bool rows_slice(struct edit *e, const struct sight *s)
{
    struct graph *g = e->g;
    uint32_t x = g->nodes[s->node].in[0];
    struct fact f = g->wires[x].fact;
    f.shape[2 + s->axis] = dim_int(g->dims, s->kernel);
    uint32_t in[] = { x, edit_int(g, 0), edit_int(g, INT64_MAX), edit_int(g, 2 + s->axis),
                      edit_int(g, s->dilation) };
    uint32_t out = graph_add_wire(g, g->wires[x].name, &f);
    for (int i = 0; i < 5; i++)
        if (in[i] == WIRE_NONE)
            return false;
    if (out == WIRE_NONE || !edit_insert(e, s->node, op_by_id(OP_SLICE), NULL, in, 5, &out, 1))
        return false;
    uint32_t *list =
        arena_copy(g->arena, g->nodes[s->node].in, g->nodes[s->node].n_in * sizeof *list);
    if (!list)
        return false;
    list[0] = out;
    g->nodes[s->node].in = list;
    return true;
}

/* The list with one entry changed; empty lists stand for `otherwise`. */
static bool ints_set(struct edit *e, struct attr_ints *list, int n, int at, int64_t v,
                     int64_t otherwise)
{
    int64_t *made = arena_array(e->g->arena, int64_t, (size_t) n);
    if (!made)
        return false;
    for (int i = 0; i < n; i++)
        made[i] = i == at ? v : int_at(*list, i, otherwise);
    *list = (struct attr_ints) { (uint32_t) n, made };
    return true;
}

static bool rows_pick(struct edit *e, const struct sight *s)
{
    int axes = e->g->wires[e->g->nodes[s->node].in[1]].fact.rank - 2;
    int64_t pad = s->transposed ? s->kernel - 1 : 0;
    struct window_attr *w = edit_attr(e, s->node);
    return w && rows_slice(e, s) && ints_set(e, &w->dilations, axes, s->axis, 1, 1) &&
        ints_set(e, &w->pads, 2 * axes, s->axis, pad, 0) &&
        ints_set(e, &w->pads, 2 * axes, axes + s->axis, pad, 0);
}

rill_status graph_with_dilations_sliced(struct graph *ret, const struct graph *g,
                                        rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct sight s = { .node = i };
        if (!conv_is_plain(ret, &ret->nodes[i], &s.transposed) || !rows_are_moved(ret, i))
            continue;
        for (int axes = ret->wires[ret->nodes[i].in[1]].fact.rank - 2; s.axis < axes; s.axis++)
            if (axis_shows_one(ret, &s) && !rows_pick(&e, &s))
                return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return edit_end(&e, reterr);
}
