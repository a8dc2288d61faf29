/* SPDX-License-Identifier: MIT */
/* Recurrent cells whose weights become whole numbers of 16 bits (kernels/cell.h). */
#include "engine/ops/rnn.h"
#include "engine/graph/prune.h"
#include "engine/graph/edit.h"
#include "engine/rewrite/declutter/declutter.h"

#include <math.h>

static const struct tensor *weights_of(const struct graph *g, const struct node *n, unsigned i)
{
    const struct tensor *t = node_value(g, n, i);
    return t && t->type == DTYPE_F32 && t->data ? t : NULL;
}

static bool all_below(const struct tensor *t, float most)
{
    const float *v = t->data;
    size_t n = tensor_bytes(t) / sizeof *v;
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok = ok && fabsf(v[i]) < most; /* NaN is not */
    return ok;
}

/* A cell that a kernel of whole cells knows, whatever its size. */
static bool cell_is_plain(const struct graph *g, const struct node *n)
{
    static const enum op_id ids[] = {
        [CELL_RNN] = OP_RNN, [CELL_GRU] = OP_GRU, [CELL_LSTM] = OP_LSTM
    };
    for (enum cell c = CELL_RNN; c <= CELL_LSTM; c++)
        if (n->op->id == ids[c])
            return rnn_attr_is_plain(n->attr, c) && !node_has_input(n, IN_P) &&
                !node_has_input(n, IN_LENS) && (!node_has_input(n, IN_B) || weights_of(g, n, IN_B));
    return false;
}

/* Whether its weights are constants, and many enough. */
static bool cell_is_wide(const struct graph *g, const struct node *n)
{
    if (!cell_is_plain(g, n))
        return false;
    const struct tensor *w = weights_of(g, n, IN_W), *r = weights_of(g, n, IN_R);
    return w && r && r->rank == 3 && rnn_narrow_pays((size_t) r->dim[1], (size_t) r->dim[2]);
}

static bool cell_fits(const struct graph *g, const struct node *n)
{
    return all_below(weights_of(g, n, IN_W), KERN_CELL_I16_BELOW) &&
        all_below(weights_of(g, n, IN_R), KERN_CELL_I16_BELOW);
}

static rill_status node_narrow(const struct graph *g, struct node *n, struct narrow_count *count,
                               rill_error *err)
{
    for (unsigned b = 0; b < n->n_body; b++) {
        struct graph *body = arena_new(g->arena, struct graph);
        if (!body)
            return err_set(err, RILL_NOMEM, "out of memory");
        TRY(graph_with_narrow_cells(body, n->body[b], count, NULL, err));
        n->body[b] = body;
    }
    if (!cell_is_wide(g, n))
        return RILL_OK;
    count->wide++;
    if (!cell_fits(g, n))
        return RILL_OK;
    struct rnn_attr *attr = arena_copy(g->arena, n->attr, sizeof *attr);
    if (!attr)
        return err_set(err, RILL_NOMEM, "out of memory");
    attr->weights = RNN_WEIGHTS_I16;
    n->attr = attr;
    count->narrow++;
    return RILL_OK;
}

rill_status graph_with_narrow_cells(struct graph *ret, const struct graph *g,
                                    struct narrow_count *ret_count, struct pass_log *log,
                                    rill_error *reterr)
{
    struct graph made;
    TRY(graph_copied(&made, g, reterr));
    for (uint32_t i = 0; i < made.n_nodes; i++)
        TRY(node_narrow(&made, &made.nodes[i], ret_count, reterr));
    const char *name = arena_printf(g->arena, "narrow-cells %u of %u", ret_count->narrow,
                                    ret_count->wide); /* of the large ones */
    if (!name)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    pass_log_add(log, name, false, &made);
    *ret = made;
    return RILL_OK;
}
