/* SPDX-License-Identifier: MIT */
/* A convolution whose weights are the cosines and sines of a windowed Fourier transform is an STFT:
 * the same numbers by another order of summation. */
#include "engine/graph/op.h"
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/passes.h"
#include "kernels/fft.h"

#include <math.h>
#include <string.h>

#define POINTS_LEAST 64 /* fewer are as fast as they are */
#define POINTS_MOST 8192
#define WEIGHT_ERROR 1e-6 /* of a weight, beside the window's largest value */

struct dft {
    uint32_t node;
    int64_t points, step;
    const float *weights; /* [cosines of each bin, then negative sines][1][points] */
};

static bool points_are_smooth(int64_t n)
{
    for (int64_t p = 2; p <= 5; p++)
        while (n % p == 0)
            n /= p;
    return n == 1;
}

static bool ints_all(struct attr_ints l, int64_t v)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (l.v[i] != v)
            return false;
    return true;
}

static bool bias_is_zero(const struct graph *g, const struct node *n)
{
    if (!node_has_input(n, 2))
        return true;
    const struct tensor *b = g->wires[n->in[2]].fact.value;
    for (int64_t i = 0; b && i < tensor_count(b); i++)
        if (((const float *) b->data)[i] != 0)
            return false;
    return b != NULL;
}

/* Row 0, of frequency 0, is the window. Its largest value is found in f32: gcc 12 for 64-bit ARM
 * cannot compile a maximum of doubles that were floats. */
static bool weights_are_dft(const float *w, int64_t points)
{
    int64_t bins = points / 2 + 1;
    float largest = 0;
    for (int64_t k = 0; k < points; k++)
        largest = fmaxf(largest, fabsf(w[k]));
    const double most = (double) largest;
    for (int64_t f = 0; f < bins; f++)
        for (int64_t k = 0; k < points; k++) {
            double c, s, window = (double) w[k];
            kern_turn((uint64_t) (f * k % points), (uint64_t) points, &c, &s);
            if (!(fabs((double) w[f * points + k] - window * c) <= WEIGHT_ERROR * most) ||
                !(fabs((double) w[(bins + f) * points + k] + window * s) <= WEIGHT_ERROR * most))
                return false;
        }
    return most > 0;
}

bool weights_are_fourier(const struct tensor *w)
{
    return w->type == DTYPE_F32 && w->rank == 3 && w->dim[1] == 1 && w->dim[2] % 2 == 0 &&
        w->dim[0] == w->dim[2] + 2 && w->dim[2] >= POINTS_LEAST && w->dim[2] <= POINTS_MOST &&
        points_are_smooth(w->dim[2]) && weights_are_dft(w->data, w->dim[2]);
}

static bool dft_find(const struct graph *g, uint32_t node, struct dft *ret)
{
    const struct node *n = &g->nodes[node];
    if (!node_is(n, OP_CONV) || n->out[0] == WIRE_NONE)
        return false;
    const struct conv_attr *a = conv_attr_of(n);
    if (a->w.auto_pad != PAD_NOTSET || a->group != 1 || !ints_all(a->w.pads, 0) ||
        !ints_all(a->w.dilations, 1) || !bias_is_zero(g, n))
        return false;
    const struct tensor *w = g->wires[n->in[1]].fact.value;
    if (!w || !weights_are_fourier(w))
        return false;
    *ret = (struct dft) { node, w->dim[2], a->w.strides.n ? a->w.strides.v[0] : 1, w->data };
    return true;
}

/* ---- whether rounding shows ---- */

static const enum op_id weighing[] = {
    OP_CONV, OP_CONV_TRANSPOSE, OP_MATMUL, OP_GEMM, OP_LSTM, OP_GRU, OP_RNN, OP_SCAN, OP_LOOP, OP_IF
};

static bool is_weighing(const struct node *n)
{
    return node_is_among(n, weighing, sizeof weighing / sizeof *weighing);
}

/* A logarithm takes the result before any weights do: how bins near zero round would show in it.
 * seen: a flag per wire, all false. */
static bool reaches_log(const struct graph *g, uint32_t node, bool *seen)
{
    seen[g->nodes[node].out[0]] = true;
    for (uint32_t i = node + 1; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        bool reads = false;
        for (unsigned k = 0; k < n->n_in; k++)
            reads = reads || (n->in[k] != WIRE_NONE && seen[n->in[k]]);
        if (reads && node_is(n, OP_LOG))
            return true;
        for (unsigned k = 0; reads && !is_weighing(n) && k < n->n_out; k++)
            if (n->out[k] != WIRE_NONE)
                seen[n->out[k]] = true;
    }
    return false;
}

/* ---- what takes its place ---- */

static uint32_t const_of(struct graph *g, enum dtype type, int rank, int64_t n, const void *data)
{
    return graph_add_const(g, "dft", tensor_from_data(g->arena, type, rank, &n, data));
}

static void *attr_of(struct graph *g, const struct op *op, const struct attr *list, unsigned n)
{
    rill_error unused;
    void *attr = arena_alloc(g->arena, op->attr_bytes + 1);
    return attr && attrs_parse(op, "dft", list, n, attr, &unused) == RILL_OK ? attr : NULL;
}

/* A node in front of the convolution; WIRE_NONE: no memory. */
static uint32_t put(struct edit *e, const struct dft *d, enum op_id id, const struct attr *attrs,
                    unsigned n_attrs, const uint32_t *in, unsigned n_in, int rank,
                    const struct dim *const *shape)
{
    struct graph *g = e->g;
    const struct op *op = op_by_id(id);
    struct fact f = { .type = DTYPE_F32, .rank = rank };
    memcpy(f.shape, shape, (size_t) rank * sizeof *shape);
    void *attr = attr_of(g, op, attrs, n_attrs);
    for (unsigned i = 0; i < n_in; i++)
        if (in[i] == WIRE_NONE)
            return WIRE_NONE;
    uint32_t out =
        attr ? graph_add_wire(g, g->wires[g->nodes[d->node].out[0]].name, &f) : WIRE_NONE;
    return out != WIRE_NONE && edit_insert(e, d->node, op, attr, in, n_in, &out, 1) ? out
                                                                                    : WIRE_NONE;
}

/* One part of frames [batch, time, bins, 2], as [batch, bins, time]. */
static uint32_t part_put(struct edit *e, const struct dft *d, uint32_t frames, int64_t part,
                         const struct dim *const *shape)
{
    static const int64_t order[] = { 0, 2, 1 };
    const struct attr last = { .name = "axis", .kind = ATTR_INT, .i = 3 };
    const struct attr perm = { .name = "perm", .kind = ATTR_INTS, .ints = { 3, order } };
    uint32_t in[] = { frames, const_of(e->g, DTYPE_I64, 0, 1, &part) };
    uint32_t own = put(e, d, OP_GATHER, &last, 1, in, 2, 3, shape);
    return put(e, d, OP_TRANSPOSE, &perm, 1, &own, 1, 3,
               (const struct dim *[]) { shape[0], shape[2], shape[1] });
}

static bool dft_replace(struct edit *e, const struct dft *d)
{
    struct graph *g = e->g;
    struct node *n = &g->nodes[d->node];
    const struct fact *x = &g->wires[n->in[0]].fact, *y = &g->wires[n->out[0]].fact;
    int64_t one = 1, bins = d->points / 2 + 1;
    const struct dim *shape[] = { y->shape[0], y->shape[2], dim_int(g->dims, bins),
                                  dim_int(g->dims, 2) };
    const struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 1 };
    const struct op *concat = op_by_id(OP_CONCAT);
    const void *attr = attr_of(g, concat, &axis, 1);
    uint32_t in[] = { n->in[0], const_of(g, DTYPE_I64, 1, 1, &one) };
    in[0] = put(e, d, OP_SQUEEZE, NULL, 0, in, 2, 2,
                (const struct dim *[]) { x->shape[0], x->shape[2] });
    uint32_t stft[] = { in[0], const_of(g, DTYPE_I64, 0, 1, &d->step),
                        const_of(g, DTYPE_F32, 1, d->points, d->weights) };
    uint32_t frames = put(e, d, OP_STFT, NULL, 0, stft, 3, 4, shape);
    uint32_t parts[] = { part_put(e, d, frames, 0, shape), part_put(e, d, frames, 1, shape) };
    if (!attr || parts[0] == WIRE_NONE || parts[1] == WIRE_NONE ||
        !edit_inputs(e, d->node, parts, 2))
        return false;
    g->nodes[d->node].op = concat;
    g->nodes[d->node].attr = attr;
    return true;
}

rill_status graph_with_dfts_recognised(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct dft d;
    TRY(edit_begin(&e, ret, g, reterr));
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!dft_find(ret, i, &d))
            continue;
        bool *seen = arena_array(g->arena, bool, g->n_wires + 1);
        if (!seen || (!reaches_log(g, i, seen) && !dft_replace(&e, &d)))
            return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    return edit_end(&e, reterr);
}
