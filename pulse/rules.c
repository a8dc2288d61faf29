/* SPDX-License-Identifier: MIT */
/* How each op streams: one row an op. An op without a row does not stream. */
#include "engine/ops/einsum.h"
#include "pulse/rules.h"

#include <string.h>

/* ---- ops that act on other axes: the time axis goes where the row's function says ---- */

enum { GLOBAL = -1 };       /* the op looks at all of the time axis at once */

typedef int axis_map(const struct pulser *p, const struct node *n, unsigned input, int axis);

static int rank_of(const struct pulser *p, const struct node *n, unsigned input)
{
    return pulser_fact(p, n->in[input])->rank;
}

static int map_rows(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return axis == rank_of(p, n, input) - 1 ? GLOBAL : axis;
}

static int map_axis_attr(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return axis == axis_normalise(attr_get_int(n, "axis"), rank_of(p, n, input)) ? GLOBAL : axis;
}

static int map_transpose(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    struct attr_ints perm = attr_get_ints(n, "perm");
    if (perm.n == 0)
        return rank_of(p, n, input) - 1 - axis;
    for (uint32_t i = 0; i < perm.n; i++)
        if (perm.v[i] == axis)
            return (int) i;
    return GLOBAL;
}

/* Matrices lie in the last two axes; of the second operand only batch axes and columns may stream. */
static int map_matmul(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int r = rank_of(p, n, input), contracted = input == 0 || r == 1 ? r - 1 : r - 2;
    return axis == contracted || r < 2 ? GLOBAL : pulser_fact(p, n->out[0])->rank - (r - axis);
}

/* The axes named by a constant integer input; all of them where it is absent. */
static bool axes_hit(const struct pulser *p, const struct node *n, unsigned input, int rank, int axis, int *ret_below)
{
    const struct tensor *v = input < n->n_in && n->in[input] != WIRE_NONE ? pulser_fact(p, n->in[input])->value : NULL;
    bool hit = !v;
    *ret_below = 0;
    for (int64_t i = 0; v && i < tensor_count(v); i++) {
        int a = axis_normalise(tensor_get_i64(v, v->data, i), rank);
        hit |= a == axis;
        *ret_below += a < axis;
    }
    return hit;
}

static int map_reduce(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int below;
    if (axes_hit(p, n, 1, rank_of(p, n, input), axis, &below))
        return GLOBAL;
    return attr_get_int(n, "keepdims") ? axis : axis - below;
}

static int map_squeeze(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int below;
    return axes_hit(p, n, 1, rank_of(p, n, input), axis, &below) ? GLOBAL : axis - below;
}

static int map_unsqueeze(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int rank = pulser_fact(p, n->out[0])->rank, below, at = -1;
    (void) input;
    for (int i = 0; i < rank; i++)
        if (!axes_hit(p, n, 1, rank, i, &below) && ++at == axis)
            return i;
    return GLOBAL;
}

static int map_gather(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int at = axis_normalise(attr_get_int(n, "axis"), rank_of(p, n, 0));
    if (input != 0 || axis == at)
        return GLOBAL;
    return axis < at ? axis : axis + pulser_fact(p, n->in[1])->rank - 1;
}

/* Normalisation over the trailing axes. */
static int map_trailing(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return axis >= axis_normalise(attr_get_int(n, "axis"), rank_of(p, n, input)) ? GLOBAL : axis;
}

/* Where the labels of the equation go. */
static int map_einsum(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int *ranks = arena_array(p->arena, int, n->n_in + 1);
    for (unsigned i = 0; ranks && i < n->n_in; i++)
        ranks[i] = rank_of(p, n, i);
    return ranks ? einsum_output_axis(n, ranks, input, axis) : GLOBAL;
}

/* Scales and zeros that differ along an axis do not run along time. */
static int map_quantised(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    const struct fact *scale = pulser_fact(p, n->in[1]);
    bool single = scale->rank == 0 || dim_is(scale->shape[0], 1);
    return input == 0 && (single || axis != axis_normalise(attr_get_int(n, "axis"), rank_of(p, n, 0))) ? axis : GLOBAL;
}

/* The largest along an axis, and what is dropped with it. */
static int map_arg(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int at = axis_normalise(attr_get_int(n, "axis"), rank_of(p, n, input));
    return axis == at ? GLOBAL : axis < at || attr_get_int(n, "keepdims") ? axis : axis - 1;
}

/* The axis of the transform is an input, the second last where it is absent; the last one is real and imaginary. */
static int map_dft(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int64_t at = -2;
    unsigned one;
    int rank = rank_of(p, n, 0);
    bool known = n->n_in < 3 || n->in[2] == WIRE_NONE || (pulser_const_ints(p, n, 2, &at, 1, &one) && one == 1);
    return input == 0 && known && axis != axis_normalise(at, rank) && axis != rank - 1 ? axis : GLOBAL;
}

/* Rows of A, columns of B. */
static int map_gemm(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    if (input == 0)
        return axis == (attr_get_int(n, "transA") ? 1 : 0) ? 0 : GLOBAL;
    if (input == 1)
        return axis == (attr_get_int(n, "transB") ? 0 : 1) ? 1 : GLOBAL;
    return rank_of(p, n, input) == 2 ? axis : 1;
}

static int map_batch(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return input == 0 && axis == 0 ? 0 : GLOBAL;
}

/* Batch and channels. */
static int map_channels(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return input == 0 && axis < 2 ? axis : GLOBAL;
}

static int map_not_channel(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return input == 0 && axis != 1 ? axis : GLOBAL;
}

static const struct { const char *op; axis_map *map; } maps[] = {
    { "ArgMax", map_arg },
    { "ArgMin", map_arg },
    { "AveragePool", map_channels },
    { "BatchNormalization", map_not_channel },
    { "ComplexMul", map_rows },
    { "Concat", map_axis_attr },
    { "Conv", map_batch },
    { "ConvTranspose", map_batch },
    { "DFT", map_dft },
    { "DepthToSpace", map_batch },
    { "DequantizeLinear", map_quantised },
    { "Einsum", map_einsum },
    { "Gather", map_gather },
    { "Gemm", map_gemm },
    { "GlobalAveragePool", map_channels },
    { "GlobalLpPool", map_channels },
    { "GlobalMaxPool", map_channels },
    { "GroupNormalization", map_batch },
    { "Hardmax", map_axis_attr },
    { "IRFFT", map_rows },
    { "InstanceNormalization", map_batch },
    { "LRN", map_not_channel },
    { "LayerNormalization", map_trailing },
    { "LogSoftmax", map_axis_attr },
    { "LpNormalization", map_axis_attr },
    { "LpPool", map_channels },
    { "Magnitude", map_rows },
    { "MatMul", map_matmul },
    { "MaxPool", map_channels },
    { "QuantizeLinear", map_quantised },
    { "RFFT", map_rows },
    { "ReduceL1", map_reduce },
    { "ReduceL2", map_reduce },
    { "ReduceLogSum", map_reduce },
    { "ReduceLogSumExp", map_reduce },
    { "ReduceMax", map_reduce },
    { "ReduceMean", map_reduce },
    { "ReduceMin", map_reduce },
    { "ReduceProd", map_reduce },
    { "ReduceSum", map_reduce },
    { "ReduceSumSquare", map_reduce },
    { "STFT", map_batch },
    { "Softmax", map_axis_attr },
    { "SpaceToDepth", map_batch },
    { "Split", map_axis_attr },
    { "Squeeze", map_squeeze },
    { "TopK", map_axis_attr },
    { "Transpose", map_transpose },
    { "Unsqueeze", map_unsqueeze },
};

static rill_status refuse_global(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return op_fail(p->err, RILL_UNSUPPORTED, n, "does not stream: it looks at all of axis %d of input %u, the time axis, "
                   "at once", axis, input);
}

/* Emits n as it is; all streaming inputs must send the time axis to the same place. */
static rill_status emit_same(struct pulser *p, const struct node *n, const uint32_t *in, const struct stream_fact *sf)
{
    uint32_t *out = arena_array(p->arena, uint32_t, n->n_out + 1);
    if (!out)
        return pulser_no_memory(p);
    TRY(pulser_no_lengths(p, n));
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, out, n->n_out));
    for (unsigned k = 0; k < n->n_out; k++)
        if (n->out[k] != WIRE_NONE)
            TRY(pulser_bind(p, n, k, out[k], sf));
    return RILL_OK;
}

static rill_status rule_mapped(struct pulser *p, const struct node *n, axis_map *map)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    struct stream_fact sf;
    unsigned first = 0;
    int to = GLOBAL;
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++) {
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        int axis = s ? map(p, n, i, s->axis) : to;
        if (s && (axis == GLOBAL || (to != GLOBAL && to != axis)))
            return refuse_global(p, n, i, s->axis);
        to = axis;
    }
    TRY(pulser_align(p, n, in, &sf, &first));
    sf.axis = to;
    return emit_same(p, n, in, &sf);
}

/* ---- element-wise with broadcasting ---- */

static rill_status rule_pointwise(struct pulser *p, const struct node *n)
{
    uint32_t *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    struct stream_fact sf;
    unsigned first = 0;
    if (!in)
        return pulser_no_memory(p);
    TRY(pulser_align(p, n, in, &sf, &first));
    int from_right = rank_of(p, n, first) - sf.axis;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (n->in[i] == WIRE_NONE)
            continue;
        const struct stream_fact *s = pulser_stream(p, n->in[i]);
        const struct fact *f = pulser_fact(p, n->in[i]);
        bool fits = s ? f->rank - s->axis == from_right
                      : f->rank < from_right || dim_is(f->shape[f->rank - from_right], 1);
        if (!fits)
            return op_fail(p->err, RILL_UNSUPPORTED, n, "cannot stream: input %u does not line up with the time axis of "
                           "input %u", i, first);
    }
    sf.axis = pulser_fact(p, n->out[0])->rank - from_right;
    return emit_same(p, n, in, &sf);
}

/* ---- rows ---- */

static const struct { const char *op; pulse_rule *rule; } rules[] = {
    { "AveragePool", rule_average_pool },
    { "Concat", rule_concat },
    { "Conv", rule_conv },
    { "ConvTranspose", rule_conv_transpose },
    { "CumSum", rule_cumsum },
    { "Flatten", rule_reshape },
    { "Frame", rule_frame },
    { "GRU", rule_cell },
    { "Gather", rule_gather },
    { "LSTM", rule_cell },
    { "LpPool", rule_lp_pool },
    { "MaxPool", rule_max_pool },
    { "OverlapAdd", rule_overlap_add },
    { "Pad", rule_pad },
    { "RNN", rule_cell },
    { "Reshape", rule_reshape },
    { "Resize", rule_resize },
    { "STFT", rule_stft },
    { "Scan", rule_scan },
    { "Slice", rule_slice },
};

rill_status pulser_off_axis(struct pulser *p, const struct node *n)
{
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (!strcmp(maps[i].op, n->op->name))
            return rule_mapped(p, n, maps[i].map);
    for (unsigned i = 0; i < n->n_in; i++)
        if (pulser_stream(p, n->in[i]))
            return refuse_global(p, n, i, pulser_stream(p, n->in[i])->axis);
    return op_fail(p->err, RILL_INTERNAL, n, "nothing streams into it");
}

pulse_rule *pulse_rule_find(const struct op *op)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].op, op->name))
            return rules[i].rule;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (!strcmp(maps[i].op, op->name))
            return pulser_off_axis;
    return op->flags & OP_POINTWISE ? rule_pointwise : NULL;
}

static const struct { const char *op; pulse_rule *rule; } sources[] = {
    { "ConstantOfShape", source_constant },
    { "Expand", source_expand },
    { "Range", source_range },
    { "Tile", source_expand },
};

pulse_rule *pulse_source_find(const struct op *op)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (!strcmp(sources[i].op, op->name))
            return sources[i].rule;
    return NULL;
}
