/* SPDX-License-Identifier: MIT */
/* Recurrent cells whose weights become whole numbers: of 8 bits where they are that times a scale
 * for each row, of 16 bits where somebody asks for it (kernels/cell.h). */
#include "engine/ops/rnn.h"
#include "engine/graph/prune.h"
#include "engine/graph/edit.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/declutter/passes.h"

#include <float.h>
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

static bool has_peephole(const struct node *n)
{
    return IN_P < rnn_skip_input(n) && node_has_input(n, IN_P);
}

/* A cell that a kernel of whole cells knows, whatever its size. */
static bool cell_is_plain(const struct graph *g, const struct node *n)
{
    static const enum op_id ids[] = {
        [CELL_RNN] = OP_RNN, [CELL_GRU] = OP_GRU, [CELL_LSTM] = OP_LSTM
    };
    for (enum cell c = CELL_RNN; c <= CELL_LSTM; c++)
        if (n->op->id == ids[c])
            return rnn_attr_is_plain(n->attr, c) && !has_peephole(n) &&
                !node_has_input(n, IN_LENS) && (!node_has_input(n, IN_B) || weights_of(g, n, IN_B));
    return false;
}

/* Whether its weights are constants, and many enough. */
static bool cell_exceeds(const struct graph *g, const struct node *n, size_t most)
{
    if (!cell_is_plain(g, n))
        return false;
    const struct tensor *w = weights_of(g, n, IN_W), *r = weights_of(g, n, IN_R);
    return w && r && w->rank == 3 && r->rank == 3 &&
        rnn_weights_exceed((size_t) r->dim[1], (size_t) r->dim[2], most);
}

/* ---- 8 bits ---- */

#define SCALE_LEAST 0x1p-100F

/* So few inputs and states that their sums keep most of their bits. */
static bool terms_fit(const struct graph *g, const struct node *n)
{
    return weights_of(g, n, IN_W)->dim[2] <= KERN_CELL_I8_TERMS_MAX &&
        weights_of(g, n, IN_R)->dim[2] <= KERN_CELL_I8_TERMS_MAX;
}

/* Whether n weights are whole numbers from -128 to 127 times the scale, next to what rounding made
 * of both; ret: these numbers. */
static bool row_is_whole(const float *w, int64_t n, float scale, int8_t *ret)
{
    for (int64_t k = 0; k < n; k++) {
        const double whole = rint((double) w[k] / scale);
        if (!(whole >= INT8_MIN && whole <= INT8_MAX) ||
            fabs(whole * scale - w[k]) > fabs(w[k]) * 0x1p-22)
            return false;
        ret[k] = (int8_t) whole;
    }
    return true;
}

/* The scale of a row of such weights; 0: they are none. The largest one is 128, 127, ... times
 * it. */
static float row_scale(const float *w, int64_t n, int8_t *ret)
{
    float most = 0;
    for (int64_t k = 0; k < n; k++)
        most = fmaxf(most, fabsf(w[k]));
    for (int top = -INT8_MIN; top > 0 && most <= FLT_MAX; top--) {
        const float scale = most > 0 ? most / (float) top : 1;
        if (scale >= SCALE_LEAST && row_is_whole(w, n, scale, ret))
            return scale;
    }
    return 0;
}

/* Weights [directions, rows, terms] as bytes and a scale for each row; false: they are others. */
static bool weights_are_bytes(const struct tensor *w, struct tensor *bytes, struct tensor *scales)
{
    const int64_t rows = w->dim[0] * w->dim[1], terms = w->dim[2];
    float *scale = scales->data;
    for (int64_t i = 0; i < rows; i++) {
        scale[i] = row_scale((const float *) w->data + i * terms, terms,
                             (int8_t *) bytes->data + i * terms);
        if (!(scale[i] > 0))
            return false;
    }
    return true;
}

static rill_status cell_turn(struct edit *e, uint32_t i, rill_error *reterr)
{
    struct graph *g = e->g;
    const struct node n = g->nodes[i];
    uint32_t in[N_IN + N_RNN_OWN];
    const unsigned n_in = rnn_own_input(&n, N_RNN_OWN);
    for (unsigned k = 0; k < n_in; k++)
        in[k] = k < n.n_in ? n.in[k] : WIRE_NONE;
    for (unsigned k = 0; k < 2; k++) {
        const struct tensor *w = weights_of(g, &n, IN_W + k);
        const unsigned own = rnn_own_input(&n, RNN_OWN_W_SCALE + k);
        struct tensor *bytes = tensor_new(g->arena, DTYPE_I8, w->rank, w->dim),
                      *scales = tensor_new(g->arena, DTYPE_F32, 2, w->dim);
        if (!bytes || !scales)
            return err_set(reterr, RILL_NOMEM, "out of memory");
        if (!weights_are_bytes(w, bytes, scales))
            return RILL_OK;
        in[IN_W + k] = graph_add_const(g, g->wires[n.in[IN_W + k]].name, bytes);
        in[own] = graph_add_const(g, g->wires[n.in[IN_W + k]].name, scales);
        if (in[IN_W + k] == WIRE_NONE || in[own] == WIRE_NONE)
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return edit_inputs(e, i, in, n_in) ? RILL_OK : err_set(reterr, RILL_NOMEM, "out of memory");
}

rill_status graph_with_byte_cells(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < e.n_nodes; i++)
        if (cell_exceeds(ret, &ret->nodes[i], RNN_BYTES_BEYOND_BYTES) &&
            terms_fit(ret, &ret->nodes[i]))
            TRY(cell_turn(&e, i, reterr));
    return edit_end(&e, reterr);
}

/* ---- 16 bits ---- */

static bool cell_fits(const struct graph *g, const struct node *n)
{
    return all_below(weights_of(g, n, IN_W), KERN_CELL_I16_BELOW) &&
        all_below(weights_of(g, n, IN_R), KERN_CELL_I16_BELOW);
}

static bool cell_has_bytes(const struct graph *g, const struct node *n)
{
    return cell_is_plain(g, n) && g->wires[n->in[IN_R]].fact.type == DTYPE_I8;
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
    if (cell_has_bytes(g, n)) { /* which are fewer still */
        count->wide++;
        count->narrow++;
    }
    if (!cell_exceeds(g, n, RNN_NARROW_BEYOND_BYTES))
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
