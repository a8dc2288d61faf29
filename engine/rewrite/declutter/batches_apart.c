/* SPDX-License-Identifier: MIT */
/* Chunks of several sequences that a Reshape makes rows of one axis ([B, T, F] -> [B*(T/k), k, F],
 * as cells, convolutions and means within chunks are written) cannot be cut along time: the
 * sequences are computed apart, from the Reshape that merges them to the one that splits them
 * again, and joined there. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/match.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/declutter/put.h"

#define BATCH_MAX 8
#define OUTPUTS_MAX 3

enum { APART = -1, JOINED = -2, STUCK = -3 }; /* of axes: none is merged; split again; neither */

struct batches {
    struct edit *e;
    uint32_t first; /* the Reshape that merges */
    int64_t n;
    const struct dim *part; /* of the merged axis, of one of them */
    int *axis;              /* of each wire, which is merged; APART */
    uint32_t *of;           /* of each wire, BATCH_MAX: those of each sequence */
    rill_error *err;
};

static const struct fact *fact_at(const struct batches *b, uint32_t w)
{
    return &b->e->g->wires[w].fact;
}

static int axis_at(const struct batches *b, uint32_t w)
{
    return w == WIRE_NONE || w >= b->e->n_wires ? APART : b->axis[w];
}

static rill_status no_memory(const struct batches *b)
{
    return err_set(b->err, RILL_NOMEM, "out of memory");
}

/* ---- which ---- */

/* Elements behind axis 0. */
static const struct dim *rest_of(struct dims *ds, const struct fact *f)
{
    const struct dim *rest = dim_int(ds, 1);
    for (int i = 1; i < f->rank; i++)
        rest = dim_mul(ds, rest, dim_refresh(ds, f->shape[i]));
    return rest;
}

/* Whether it merges a number of sequences with their chunks; ret_part: of those of one. */
static bool is_merge(const struct graph *g, const struct node *n, int64_t *ret_n,
                     const struct dim **ret_part)
{
    const struct fact *x = n->n_in ? &g->wires[n->in[0]].fact : NULL,
                      *y = n->n_out ? &g->wires[n->out[0]].fact : NULL;
    if (!node_is(n, OP_RESHAPE) || x->rank < 2 || y->rank < 2 || !dim_is_const(x->shape[0]) ||
        !dim_has_symbol(x->shape[1]) || !dim_has_symbol(y->shape[0]))
        return false;
    const struct dim *have = rest_of(g->dims, x), *each = rest_of(g->dims, y);
    *ret_n = dim_value(x->shape[0]);
    if (*ret_n < 2 || *ret_n > BATCH_MAX || !dim_is_const(each) || dim_value(each) < 1)
        return false;
    *ret_part = dim_div_int(g->dims, have, dim_value(each));
    return dim_mul_int(g->dims, *ret_part, dim_value(each)) == have;
}

/* The axis of the output where each input that is merged is so at the same one, counted from the
 * end, and the others are alike along it. */
static int axis_of_elements(const struct batches *b, const struct node *n)
{
    const int rank = fact_at(b, n->out[0])->rank;
    int back = 0;
    for (unsigned i = 0; i < n->n_in; i++) {
        const int a = axis_at(b, n->in[i]);
        if (a != APART && back && fact_at(b, n->in[i])->rank - a != back)
            return STUCK;
        back = a != APART ? fact_at(b, n->in[i])->rank - a : back;
    }
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct fact *f = n->in[i] == WIRE_NONE ? NULL : fact_at(b, n->in[i]);
        if (f && axis_at(b, n->in[i]) == APART && f->rank >= back &&
            !dim_is(f->shape[f->rank - back], 1))
            return STUCK;
    }
    return n->n_out == 1 ? rank - back : STUCK;
}

static int axis_of_transpose(const struct node *n, int axis, int rank)
{
    const struct attr_ints perm = transpose_attr_of(n)->perm;
    for (int i = 0; i < rank; i++)
        if ((perm.n ? (int) perm.v[i] : rank - 1 - i) == axis)
            return i;
    return STUCK;
}

/* Axes that are named by input 1 go, or come. */
static int axis_of_squeeze(const struct batches *b, const struct node *n, int axis)
{
    const bool come = node_is(n, OP_UNSQUEEZE);
    const int rank = fact_at(b, come ? n->out[0] : n->in[0])->rank;
    int64_t axes[RANK_MAX];
    bool named[RANK_MAX] = { false };
    unsigned count;
    if (n->n_in < 2 || !match_ints(b->e->g, n->in[1], axes, RANK_MAX, &count) || count == 0)
        return STUCK;
    for (unsigned i = 0; i < count; i++)
        named[axis_normalise(axes[i], rank)] = true;
    if (!come && named[axis])
        return STUCK;
    int to = 0, from = 0;
    for (int i = 0; i < rank; i++) {
        if ((come ? from : i) == axis && !(come && named[i]))
            return come ? i : to;
        from += !named[i];
        to += !named[i];
    }
    return STUCK;
}

/* The same axis of each cell's outputs, behind the directions of the first. */
static int axis_of_cell(const struct batches *b, const struct node *n, int axis)
{
    for (unsigned i = 1; i < n->n_in; i++)
        if (axis_at(b, n->in[i]) != APART || (i >= 4 && i < 7 && n->in[i] != WIRE_NONE))
            return STUCK;
    return axis == 1 && n->n_out <= OUTPUTS_MAX && fact_at(b, n->in[0])->rank == 3 ? 2 : STUCK;
}

static int axis_of_reshape(const struct batches *b, const struct node *n, int axis)
{
    const struct fact *x = fact_at(b, n->in[0]), *y = fact_at(b, n->out[0]);
    if (axis == 0 && y->rank > 1 && dim_is(y->shape[0], b->n))
        return JOINED;
    for (int i = 0; i <= axis; i++)
        if (i >= y->rank || y->shape[i] != x->shape[i])
            return STUCK;
    return axis;
}

/* Rows times what all of them have in common, or each matrix times one of its own. */
static int axis_of_product(const struct batches *b, const struct node *n)
{
    const int axis = axis_at(b, n->in[0]), rank = fact_at(b, n->in[0])->rank;
    if (axis != APART && axis < rank - 2 && axis_at(b, n->in[1]) == axis &&
        fact_at(b, n->in[1])->rank == rank)
        return axis;
    return axis != APART && axis < rank - 1 && fact_at(b, n->in[1])->rank <= 2 &&
            match_value(b->e->g, n->in[1])
        ? axis
        : STUCK;
}

/* An op over other axes. */
static int axis_of_rows(const struct batches *b, const struct node *n, int axis)
{
    const int rank = fact_at(b, n->in[0])->rank;
    if (node_is(n, OP_LAYER_NORMALIZATION))
        return n->n_out == 1 && axis_normalise(axis_of(n), rank) > axis ? axis : STUCK;
    return axis_normalise(axis_of(n), rank) != axis ? axis : STUCK;
}

/* The axes of the list that input i is, as a set; false: there is none, or it is no constant. */
static bool axes_named(const struct batches *b, const struct node *n, unsigned i, int rank,
                       bool *ret_named)
{
    int64_t axes[RANK_MAX];
    unsigned count;
    if (!node_has_input(n, i) || !match_ints(b->e->g, n->in[i], axes, RANK_MAX, &count) ||
        count == 0)
        return false;
    for (unsigned k = 0; k < count; k++) {
        const int a = axis_normalise(axes[k], rank);
        if (a < 0)
            return false;
        ret_named[a] = true;
    }
    return true;
}

/* A sum, mean or the like over other axes, which stay as axes of 1 or go. */
static int axis_of_reduce(const struct batches *b, const struct node *n, int axis)
{
    bool named[RANK_MAX] = { false };
    int to = axis;
    if (!axes_named(b, n, 1, fact_at(b, n->in[0])->rank, named) || named[axis])
        return STUCK;
    for (int i = 0; i < axis && !reduce_attr_of(n)->keepdims; i++)
        to -= named[i];
    return to;
}

/* Frames of other axes. */
static int axis_of_slice(const struct batches *b, const struct node *n, int axis)
{
    bool named[RANK_MAX] = { false };
    return axes_named(b, n, 3, fact_at(b, n->in[0])->rank, named) && !named[axis] ? axis : STUCK;
}

static int axis_of_pad(const struct batches *b, const struct node *n, int axis)
{
    const int rank = fact_at(b, n->in[0])->rank;
    int64_t pads[2 * RANK_MAX];
    unsigned count;
    const bool known = !node_has_input(n, 3) &&
        match_ints(b->e->g, n->in[1], pads, 2 * RANK_MAX, &count) && (int) count == 2 * rank;
    return known && pads[axis] == 0 && pads[rank + axis] == 0 ? axis : STUCK;
}

/* All that it joins is merged, at the same axis, and joined along another. */
static int axis_of_concat(const struct batches *b, const struct node *n)
{
    const int axis = axis_at(b, n->in[0]);
    for (unsigned i = 1; i < n->n_in; i++)
        if (axis_at(b, n->in[i]) != axis)
            return STUCK;
    return axis != APART && axis_normalise(axis_of(n), fact_at(b, n->in[0])->rank) != axis ? axis
                                                                                           : STUCK;
}

/* Places of another axis, in as many axes as the list has. */
static int axis_of_gather(const struct batches *b, const struct node *n, int axis)
{
    const int along = axis_normalise(axis_of(n), fact_at(b, n->in[0])->rank);
    if (along == axis)
        return STUCK;
    return along > axis ? axis : axis + fact_at(b, n->in[1])->rank - 1;
}

static int axis_of_cumsum(const struct batches *b, const struct node *n, int axis)
{
    int64_t along;
    unsigned count;
    return match_ints(b->e->g, n->in[1], &along, 1, &count) && count == 1 &&
            axis_normalise(along, fact_at(b, n->in[0])->rank) != axis
        ? axis
        : STUCK;
}

static int axis_of_gemm(const struct batches *b, const struct node *n, int axis)
{
    const struct gemm_attr *a = gemm_attr_of(n);
    const bool all = !node_has_input(n, 2) || fact_at(b, n->in[2])->rank < 2 ||
        dim_is(fact_at(b, n->in[2])->shape[0], 1);
    return !a->ta && axis == 0 && all && !a->epilogue.n ? axis : STUCK;
}

/* Ops over windows or statistics of places, of each row of axis 0. */
static bool is_of_places(const struct node *n)
{
    static const enum op_id ids[] = {
        OP_AVERAGE_POOL,
        OP_BATCH_NORMALIZATION,
        OP_CONV,
        OP_CONV_TRANSPOSE,
        OP_GLOBAL_AVERAGE_POOL,
        OP_GLOBAL_MAX_POOL,
        OP_INSTANCE_NORMALIZATION,
        OP_GROUP_NORMALIZATION,
        OP_LP_POOL,
        OP_MAX_POOL,
    };
    return node_is_among(n, ids, sizeof ids / sizeof *ids);
}

static bool is_reduce(const struct node *n)
{
    static const enum op_id ids[] = {
        OP_REDUCE_L1,  OP_REDUCE_L2,         OP_REDUCE_LOG_SUM, OP_REDUCE_LOG_SUM_EXP,
        OP_REDUCE_MAX, OP_REDUCE_MEAN,       OP_REDUCE_MIN,     OP_REDUCE_PROD,
        OP_REDUCE_SUM, OP_REDUCE_SUM_SQUARE,
    };
    return node_is_among(n, ids, sizeof ids / sizeof *ids);
}

/* The same of an op that moves or reads other axes, of whose inputs the first alone is merged. */
static int axis_of_moved(const struct batches *b, const struct node *n, int axis)
{
    switch (n->op->id) {
    case OP_TRANSPOSE: return axis_of_transpose(n, axis, fact_at(b, n->in[0])->rank);
    case OP_RESHAPE: return axis_of_reshape(b, n, axis);
    case OP_SQUEEZE:
    case OP_UNSQUEEZE: return axis_of_squeeze(b, n, axis);
    case OP_SLICE: return axis_of_slice(b, n, axis);
    case OP_PAD: return axis_of_pad(b, n, axis);
    case OP_GATHER: return axis_of_gather(b, n, axis);
    case OP_CUMSUM: return axis_of_cumsum(b, n, axis);
    case OP_GEMM: return axis_of_gemm(b, n, axis);
    case OP_LAYER_NORMALIZATION:
    case OP_SOFTMAX:
    case OP_LOG_SOFTMAX: return axis_of_rows(b, n, axis);
    default: return STUCK;
    }
}

/* The axis of output 0 of a node, of which input 0 is merged. */
static int axis_of_node(const struct batches *b, const struct node *n)
{
    static const enum op_id cells[] = { OP_GRU, OP_LSTM, OP_RNN };
    const int axis = axis_at(b, n->in[0]);
    if (node_is_among(n, cells, sizeof cells / sizeof *cells))
        return axis_of_cell(b, n, axis);
    if (n->n_body || n->n_out == 0 || n->out[0] == WIRE_NONE)
        return STUCK;
    if (n->op->flags & OP_POINTWISE)
        return axis_of_elements(b, n);
    if (node_is(n, OP_MATMUL))
        return axis_of_product(b, n);
    if (node_is(n, OP_CONCAT))
        return axis_of_concat(b, n);
    for (unsigned i = 1; i < n->n_in; i++)
        if (axis_at(b, n->in[i]) != APART)
            return STUCK;
    if (axis == APART || n->n_out != 1)
        return STUCK;
    if (is_of_places(n))
        return axis == 0 ? axis : STUCK;
    return is_reduce(n) ? axis_of_reduce(b, n, axis) : axis_of_moved(b, n, axis);
}

static bool reads_merged(const struct batches *b, const struct node *n)
{
    bool reads = false;
    for (unsigned i = 0; i < n->n_in; i++)
        reads |= axis_at(b, n->in[i]) != APART;
    return reads;
}

/* Finds which wires are merged, and whether all of them are split again. */
static bool region_find(struct batches *b)
{
    const struct graph *g = b->e->g;
    bool joined = false;
    for (uint32_t w = 0; w < b->e->n_wires; w++)
        b->axis[w] = APART;
    b->axis[g->nodes[b->first].out[0]] = 0;
    for (uint32_t i = b->first + 1; i < b->e->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        if (b->e->gone[i] || !reads_merged(b, n))
            continue;
        const int axis = axis_of_node(b, n);
        if (axis == STUCK)
            return false;
        joined |= axis == JOINED;
        for (unsigned k = 0; axis != JOINED && k < n->n_out; k++)
            if (n->out[k] != WIRE_NONE)
                b->axis[n->out[k]] = k ? 1 : axis; /* of a cell: its last states */
    }
    return joined;
}

/* What is merged is no output, and no state. */
static bool is_given(const struct batches *b)
{
    const struct graph *g = b->e->g;
    bool given = false;
    for (uint32_t w = 0; w < b->e->n_wires; w++)
        given |= b->axis[w] != APART && graph_wire_is_given(g, w);
    return given;
}

/* ---- apart ---- */

static uint32_t *lanes_of(const struct batches *b, uint32_t w)
{
    return &b->of[(size_t) w * BATCH_MAX];
}

/* Input w of sequence k. */
static uint32_t input_of(const struct batches *b, uint32_t w, int64_t k)
{
    return axis_at(b, w) == APART ? w : lanes_of(b, w)[k];
}

/* A Reshape of w to the shape of f with so many along an axis, before node `at`. */
static rill_status shape_put(const struct batches *b, uint32_t at, uint32_t w, const struct fact *f,
                             int axis, const struct dim *size, uint32_t *ret)
{
    struct fact y = *f;
    y.shape[axis] = size;
    const uint32_t in[2] = { w, put_sizes(b->e->g, "sizes", y.shape, y.rank) };
    return in[1] == WIRE_NONE
        ? no_memory(b)
        : put_before(b->e, at, op_by_id(OP_RESHAPE), NULL, in, 2, ret, b->err);
}

/* Each sequence, and its chunks. */
static rill_status first_put(const struct batches *b)
{
    struct graph *g = b->e->g;
    const struct node n = g->nodes[b->first];
    const struct fact f = *fact_at(b, n.out[0]);
    for (int64_t k = 0; k < b->n; k++) {
        const uint32_t in[4] = { n.in[0], edit_int(g, k), edit_int(g, k + 1), edit_int(g, 0) };
        uint32_t one;
        TRY(put_before(b->e, b->first, op_by_id(OP_SLICE), NULL, in, 4, &one, b->err));
        TRY(shape_put(b, b->first, one, &f, 0, b->part, &lanes_of(b, n.out[0])[k]));
    }
    return RILL_OK;
}

/* The node for sequence k, with outputs of its own. */
static rill_status copy_put(const struct batches *b, uint32_t at, const struct node *n, int64_t k)
{
    struct graph *g = b->e->g;
    uint32_t *in = arena_copy(g->arena, n->in, n->n_in * sizeof *in), out[OUTPUTS_MAX];
    const struct fact **facts = arena_array(g->arena, const struct fact *, n->n_in + 1);
    struct fact made[OUTPUTS_MAX];
    if (!in || !facts)
        return no_memory(b);
    for (unsigned i = 0; i < n->n_in; i++) {
        in[i] = n->in[i] == WIRE_NONE ? WIRE_NONE : input_of(b, n->in[i], k);
        facts[i] = in[i] == WIRE_NONE ? NULL : fact_at(b, in[i]);
    }
    if (node_is(n, OP_RESHAPE)) {
        const int axis = b->axis[n->out[0]];
        const struct fact f = *fact_at(b, n->out[0]);
        return shape_put(b, at, in[0], &f, axis, b->part, &lanes_of(b, n->out[0])[k]);
    }
    struct node own = *n;
    own.in = in;
    TRY(op_infer(&own, facts, made, g->dims, g->arena, b->err));
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i] = n->out[i] == WIRE_NONE ? WIRE_NONE : graph_add_wire(g, n->name, &made[i]);
        if (n->out[i] != WIRE_NONE && out[i] == WIRE_NONE)
            return no_memory(b);
        if (n->out[i] != WIRE_NONE)
            lanes_of(b, n->out[i])[k] = out[i];
    }
    return edit_insert(b->e, at, n->op, n->attr, in, n->n_in, out, n->n_out) ? RILL_OK
                                                                             : no_memory(b);
}

/* The Reshape that splits them becomes what joins them. */
static rill_status join_put(const struct batches *b, uint32_t at)
{
    struct graph *g = b->e->g;
    const struct op *concat = op_by_id(OP_CONCAT);
    const struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 0 };
    const struct node n = g->nodes[at];
    const struct fact f = *fact_at(b, n.out[0]);
    void *attr = arena_alloc(g->arena, concat->attr_bytes + 1);
    uint32_t in[BATCH_MAX];
    if (!attr)
        return no_memory(b);
    for (int64_t k = 0; k < b->n; k++)
        TRY(shape_put(b, at, input_of(b, n.in[0], k), &f, 0, dim_int(g->dims, 1), &in[k]));
    TRY(attrs_parse(concat, n.name, &axis, 1, attr, b->err));
    if (!edit_inputs(b->e, at, in, (unsigned) b->n))
        return no_memory(b);
    g->nodes[at].op = concat;
    g->nodes[at].attr = attr;
    return RILL_OK;
}

static rill_status region_put(const struct batches *b)
{
    struct graph *g = b->e->g;
    TRY(first_put(b));
    b->e->gone[b->first] = true;
    for (uint32_t i = b->first + 1; i < b->e->n_nodes; i++) {
        const struct node n = g->nodes[i];
        if (b->e->gone[i] || !reads_merged(b, &n))
            continue;
        if (node_is(&n, OP_RESHAPE) && axis_at(b, n.out[0]) == APART) {
            TRY(join_put(b, i));
            continue;
        }
        for (int64_t k = 0; k < b->n; k++)
            TRY(copy_put(b, i, &n, k));
        b->e->gone[i] = true;
    }
    return RILL_OK;
}

rill_status graph_with_batches_apart(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    TRY(edit_begin(&e, ret, g, reterr));
    struct batches b = { .e = &e, .err = reterr };
    for (uint32_t i = 0; i < e.n_nodes; i++) {
        b.first = i;
        if (e.gone[i] || !is_merge(ret, &ret->nodes[i], &b.n, &b.part))
            continue;
        b.axis = b.axis ? b.axis : arena_array(ret->arena, int, e.n_wires + 1);
        b.of = b.of ? b.of : arena_array(ret->arena, uint32_t, (e.n_wires + 1) * BATCH_MAX);
        if (!b.axis || !b.of)
            return no_memory(&b);
        if (region_find(&b) && !is_given(&b))
            TRY(region_put(&b));
    }
    return edit_end(&e, reterr);
}
