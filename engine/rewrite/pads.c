/* SPDX-License-Identifier: MIT */
/* Zeros around a tensor that only a convolution reads: the convolution pads by itself. */
#include "engine/rewrite/edit.h"
#include "engine/rewrite/rewrite.h"

#include <string.h>

enum { PAD_X, PAD_PADS, PAD_VALUE, PAD_AXES };

static bool is_absent(const struct node *n, unsigned i)
{
    return i >= n->n_in || n->in[i] == WIRE_NONE;
}

static bool pads_with_zero(const struct graph *g, const struct node *n)
{
    const struct tensor *v = node_value(g, n, PAD_VALUE);
    return !strcmp(n->op->name, "Pad") && attr_get_int(n, "mode") == 0 &&
        g->wires[n->in[PAD_X]].fact.type == DTYPE_F32 &&
        (is_absent(n, PAD_VALUE) ||
         (v && tensor_count(v) == 1 && tensor_get_f64(v, v->data, 0) == 0));
}

/* Zeros before and after each axis; false: not known, some are taken away, or batch or channels get
 * some. */
static bool zeros_read(const struct graph *g, const struct node *n, int64_t *ret, int rank)
{
    const struct tensor *p = node_value(g, n, PAD_PADS), *axes = node_value(g, n, PAD_AXES);
    if (!p || p->type != DTYPE_I64 || (!is_absent(n, PAD_AXES) && !axes))
        return false;
    int64_t named = tensor_count(p) / 2;
    memset(ret, 0, 2 * (size_t) rank * sizeof *ret);
    for (int64_t i = 0; i < named; i++) {
        int a = axes ? axis_normalise(tensor_get_i64(axes, axes->data, i), rank) : (int) i;
        int64_t before = ((const int64_t *) p->data)[i],
                after = ((const int64_t *) p->data)[named + i];
        if (a < 0 || a >= rank || before < 0 || after < 0 || before > INT32_MAX ||
            after > INT32_MAX || (a < 2 && (before || after)))
            return false;
        ret[a] = before;
        ret[rank + a] = after;
    }
    return true;
}

static bool conv_takes(const struct node *n)
{
    return !strcmp(n->op->name, "Conv") && attr_get_int(n, "auto_pad") == 0;
}

static bool pad_absorb(struct edit *e, uint32_t conv, uint32_t pad, const int64_t *zeros, int rank)
{
    struct graph *g = e->g;
    struct attr_ints was = attr_get_ints(&g->nodes[conv], "pads");
    uint32_t axes = (uint32_t) rank - 2,
             *in = arena_copy(g->arena, g->nodes[conv].in, g->nodes[conv].n_in * sizeof *in);
    int64_t *all = arena_array(g->arena, int64_t, 2 * axes);
    if (!in || !all)
        return false;
    for (uint32_t i = 0; i < axes; i++) {
        all[i] = (was.n ? was.v[i] : 0) + zeros[2 + i];
        all[axes + i] = (was.n ? was.v[axes + i] : 0) + zeros[rank + 2 + (int) i];
    }
    in[0] = g->nodes[pad].in[PAD_X];
    g->nodes[conv].in = in;
    e->gone[pad] = true;
    return edit_ints(e, conv, "pads", (struct attr_ints) { 2 * axes, all });
}

rill_status graph_with_pads_absorbed(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < ret->n_nodes; i++) {
        uint32_t pad;
        int64_t zeros[2 * RANK_MAX];
        if (!conv_takes(&ret->nodes[i]) || !edit_sole_writer(&e, ret->nodes[i].in[0], &pad) ||
            !pads_with_zero(ret, &ret->nodes[pad]))
            continue;
        int rank = ret->wires[ret->nodes[i].in[0]].fact.rank;
        if (zeros_read(ret, &ret->nodes[pad], zeros, rank) && !pad_absorb(&e, i, pad, zeros, rank))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return edit_end(&e, reterr);
}
