/* SPDX-License-Identifier: MIT */
/* How each op streams: a row an op, one for all that are element-wise. What has no row is refused
 * where it touches time. */
#include "engine/ops/attrs.h"
#include "engine/ops/einsum.h"
#include "pulse/off_axis.h"
#include "pulse/rules.h"

/* ---- ops that act on other axes: the time axis goes where the row's function says ---- */

static int rank_of(const struct pulser *p, const struct node *n, unsigned input)
{
    return pulser_fact(p, n->in[input])->rank;
}

static int map_rows(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return axis == rank_of(p, n, input) - 1 ? AXIS_NONE : axis;
}

static int map_first(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return input == 0 ? axis : AXIS_NONE;
}

static int map_axis_attr(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return axis == axis_normalise(axis_of(n), rank_of(p, n, input)) ? AXIS_NONE : axis;
}

static int map_transpose(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    struct attr_ints perm = transpose_attr_of(n)->perm;
    if (perm.n == 0)
        return rank_of(p, n, input) - 1 - axis;
    for (uint32_t i = 0; i < perm.n; i++)
        if (perm.v[i] == axis)
            return (int) i;
    return AXIS_NONE;
}

/* Matrices lie in the last two axes; of the second operand only batch axes and columns may
 * stream. */
static int map_matmul(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int r = rank_of(p, n, input), contracted = input == 0 || r == 1 ? r - 1 : r - 2,
        from_right = r - axis;
    if (axis == contracted)
        return AXIS_NONE;
    if (rank_of(p, n, 1 - input) == 1 &&
        axis < contracted) /* the contracted axis leaves none behind */
        from_right--;
    return pulser_fact(p, n->out[0])->rank - from_right;
}

/* Zeros of rows and columns lie along axes that do not stream. */
static int map_matmul_integer(const struct pulser *p, const struct node *n, unsigned input,
                              int axis)
{
    bool rows = input == 0 && axis == rank_of(p, n, 0) - 2 && node_has_input(n, 2) &&
        rank_of(p, n, 2) == 1 && !dim_is(pulser_fact(p, n->in[2])->shape[0], 1);
    return input > 1 || rows ? AXIS_NONE : map_matmul(p, n, input, axis);
}

/* The axes named by a constant integer input; all of them where it is absent. */
static bool axes_hit(const struct pulser *p, const struct node *n, unsigned input, int rank,
                     int axis, int *ret_below)
{
    const struct tensor *v = node_value(p->src, n, input);
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
        return AXIS_NONE;
    return reduce_attr_of(n)->keepdims ? axis : axis - below;
}

static int map_squeeze(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int below;
    return axes_hit(p, n, 1, rank_of(p, n, input), axis, &below) ? AXIS_NONE : axis - below;
}

static int map_unsqueeze(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int rank = pulser_fact(p, n->out[0])->rank, below, at = -1;
    (void) input;
    for (int i = 0; i < rank; i++)
        if (!axes_hit(p, n, 1, rank, i, &below) && ++at == axis)
            return i;
    return AXIS_NONE;
}

static int map_gather(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int at = axis_normalise(axis_of(n), rank_of(p, n, 0));
    if (input != 0 || axis == at)
        return AXIS_NONE;
    return axis < at ? axis : axis + pulser_fact(p, n->in[1])->rank - 1;
}

/* Normalisation over the trailing axes. */
static int map_trailing(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return axis >= axis_normalise(axis_of(n), rank_of(p, n, input)) ? AXIS_NONE : axis;
}

/* Where the labels of the equation go. */
static int map_einsum(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int *ranks = arena_array(p->arena, int, n->n_in + 1);
    for (unsigned i = 0; ranks && i < n->n_in; i++)
        ranks[i] = rank_of(p, n, i);
    return ranks ? einsum_output_axis(n, ranks, input, axis) : AXIS_NONE;
}

/* Scales and zeros that differ along an axis do not run along time, nor do those of blocks. */
static int map_quantised(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    const struct fact *scale = pulser_fact(p, n->in[1]);
    bool single = fact_is_single(scale);
    int along = axis_normalise(axis_of(n), rank_of(p, n, 0));
    return input == 0 && (single || (scale->rank == 1 && axis != along)) ? axis : AXIS_NONE;
}

/* The largest along an axis, and what is dropped with it. */
static int map_arg(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int at = axis_normalise(axis_of(n), rank_of(p, n, input));
    return axis == at ? AXIS_NONE : axis < at || arg_attr_of(n)->keepdims ? axis : axis - 1;
}

/* The axis of the transform is an input, the second last where it is absent; the last one is real
 * and imaginary. */
static int map_dft(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int64_t at = -2;
    unsigned one;
    int rank = rank_of(p, n, 0);
    bool known = !node_has_input(n, 2) || (pulser_const_ints(p, n, 2, &at, 1, &one) && one == 1);
    return input == 0 && known && axis != axis_normalise(at, rank) && axis != rank - 1 ? axis
                                                                                       : AXIS_NONE;
}

/* Rows of A, columns of B. */
static int map_gemm(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    if (input == 0)
        return axis == (gemm_attr_of(n)->ta ? 1 : 0) ? 0 : AXIS_NONE;
    if (input == 1)
        return axis == (gemm_attr_of(n)->tb ? 0 : 1) ? 1 : AXIS_NONE;
    return rank_of(p, n, input) == 2 ? axis : 1;
}

/* A new axis of classes stands at the attribute's place. */
static int map_one_hot(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int at = axis_normalise(axis_of(n), pulser_fact(p, n->out[0])->rank);
    return input != 0 ? AXIS_NONE : axis < at ? axis : axis + 1;
}

/* Matrices lie in the last two axes. */
static int map_matrices(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return input == 0 && axis < rank_of(p, n, 0) - 2 ? axis : AXIS_NONE;
}

static int map_reverse(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int batch = (int) reverse_attr_of(n)->batch_axis;
    (void) p;
    if (input == 1)
        return batch;
    return axis == reverse_attr_of(n)->time_axis ? AXIS_NONE : axis;
}

/* The number of axes of the data that the last axis of the indices names; -1: not known. */
static int coordinates(const struct pulser *p, const struct node *n)
{
    const struct fact *ix = pulser_fact(p, n->in[1]);
    const struct dim *k = ix->shape[ix->rank - 1];
    return dim_is_const(k) ? (int) dim_value(k) : -1;
}

/* Batch axes stay; of the data the axes that no coordinate names go behind those of the indices. */
static int map_gather_nd(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int b = (int) gather_nd_attr_of(n)->batch_dims, k = coordinates(p, n), q = rank_of(p, n, 1);
    if (k < 0 || (axis < b && !(pulser_stream(p, n->in[0]) && pulser_stream(p, n->in[1]))))
        return AXIS_NONE;
    if (input == 1)
        return axis < q - 1 ? axis : AXIS_NONE;
    return axis < b ? axis : axis < b + k ? AXIS_NONE : q - 1 + axis - (b + k);
}

/* Whole slices are written: time may be an axis of the slices. */
static int map_scatter_nd(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    int k = coordinates(p, n), q = rank_of(p, n, 1);
    if (k < 0 || input == 1)
        return AXIS_NONE;
    if (input == 2)
        return axis < q - 1 ? AXIS_NONE : axis - (q - 1) + k;
    return axis < k ? AXIS_NONE : axis;
}

/* Samples lie in the last axis. */
static int map_frame(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    return input == 0 && axis < rank_of(p, n, 0) - 1 ? axis : AXIS_NONE;
}

static int map_batch(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return input == 0 && axis == 0 ? 0 : AXIS_NONE;
}

/* The batch of the bytes, and of their zeros. */
static int map_byte_conv(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return (input == 0 || input == 5) && axis == 0 ? 0 : AXIS_NONE;
}

/* Batch and channels that come last. */
static int map_batch_last(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return input == 0 && (axis == 0 || axis == 3) ? axis : AXIS_NONE;
}

/* Batch and channels. */
static int map_channels(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return input == 0 && axis < 2 ? axis : AXIS_NONE;
}

static int map_not_channel(const struct pulser *p, const struct node *n, unsigned input, int axis)
{
    (void) p;
    (void) n;
    return input == 0 && axis != 1 ? axis : AXIS_NONE;
}

/* Of the second input only the type matters. */
static rill_status rule_cast_like(struct pulser *p, const struct node *n)
{
    struct flow f;
    if (!flow_of(p, n->in[0], &f))
        return op_fail(p->err, RILL_UNSUPPORTED, n,
                       "cannot stream: only what its type is taken from runs along time");
    const struct attr attrs[] = {
        { .name = "to", .kind = ATTR_INT, .i = pulser_fact(p, n->out[0])->type },
        { .name = "saturate", .kind = ATTR_INT, .i = cast_attr_of(n)->saturate }
    };
    uint32_t out;
    TRY(pulser_emit_op(p, OP_CAST, n->name, attrs, 2, &f.wire, 1, &out));
    return pulser_bind(p, n, 0, out, &f.sf);
}

/* ---- rows ---- */

#define POOL "a pool, a convolution or CumSum along time streams"
#define STATISTICS "normalise over channels, or by statistics that are constants"
#define MASKED "keys and values under a mask of positions stream"
#define FRAMED "cut time into frames first, by STFT or Frame"

/* clang-format off */
#define ROW(number, class, where, ...)                                                             \
    [OP_##number] = { .op = OP_##number, .own = AXIS_##class, .at = where, __VA_ARGS__ }
/* clang-format on */

static const struct axis_row rows[OP_COUNT] = {
    ROW(ARG_MAX, GLOBAL, "axis", .map = map_arg),
    ROW(ARG_MIN, GLOBAL, "axis", .map = map_arg),
    ROW(AVERAGE_POOL, WINDOW, "all but batch and channels", .map = map_channels,
        .rule = rule_average_pool, .streams = true),
    ROW(BATCH_NORMALIZATION, GLOBAL, "channels", .map = map_not_channel),
    ROW(BLACKMAN_WINDOW, GLOBAL, "all", .way = "of constants they are folded away"),
    ROW(BYTE_CONV, WINDOW, "rows and columns (channels: global)", .map = map_byte_conv,
        .rule = rule_byte_conv, .streams = true),
    ROW(BYTE_JOIN, GLOBAL, "the last", .map = map_rows),
    ROW(BYTE_POOL, WINDOW, "rows and columns", .map = map_batch_last, .rule = rule_byte_pool,
        .streams = true),
    ROW(BYTE_NORM, GLOBAL, "the last", .map = map_rows),
    ROW(BYTE_ROWS, GLOBAL, "all but the first", .map = map_batch),
    ROW(BYTE_TABLES, POINTWISE, NULL, .map = map_first),
    ROW(BYTE_SOFTMAX, GLOBAL, "the last", .map = map_rows),
    ROW(COMPLEX_MUL, GLOBAL, "the last", .map = map_rows),
    ROW(CAST_LIKE, POINTWISE, NULL, .rule = rule_cast_like),
    ROW(COMPRESS, POSITION, "axis", .map = map_axis_attr,
        .way = "Slice and Gather by a range of frames stream"),
    ROW(CONCAT, MOVED, "axis", .map = map_axis_attr, .rule = rule_concat, .streams = true),
    ROW(CONSTANT_OF_SHAPE, MOVED, NULL, .source = source_constant),
    ROW(CONV, WINDOW, "all but batch (channels: global)", .map = map_batch, .rule = rule_conv,
        .streams = true),
    ROW(CONV_INTEGER, WINDOW, "all but batch (channels: global)", .map = map_batch,
        .rule = rule_conv_integer, .streams = true),
    ROW(CONV_TRANSPOSE, WINDOW, "all but batch (channels: global)", .map = map_batch,
        .rule = rule_conv_transpose, .streams = true),
    ROW(CUMPROD, GLOBAL, "axis", .rule = rule_cumsum, .way = "CumSum of logarithms streams"),
    ROW(CUMSUM, FORWARD, "axis (reversed: backward)", .rule = rule_cumsum, .streams = true),
    ROW(DFT, GLOBAL, "axis and the last", .map = map_dft, .way = FRAMED),
    ROW(DEPTH_TO_SPACE, MOVED, "all but batch", .map = map_batch,
        .way = "Reshape and Transpose written out may stream"),
    ROW(DEQUANTIZE_LINEAR, POSITION, "axis, with a scale for each index", .map = map_quantised),
    ROW(DYNAMIC_QUANTIZE_LINEAR, GLOBAL, "all",
        .way = "QuantizeLinear with a constant scale streams"),
    ROW(DYNAMIC_QUANTIZE_LSTM, GLOBAL, "all",
        .way = "called for one frame, with its states, it streams; so does an LSTM of dequantised "
               "weights"),
    ROW(EINSUM, GLOBAL, "the summed labels", .map = map_einsum, .way = MASKED),
    ROW(EXPAND, MOVED, "of size 1", .rule = rule_expand, .source = source_expand),
    ROW(EYE_LIKE, POSITION, "all", .way = "of known sizes it is folded away"),
    ROW(FLATTEN, MOVED, "all", .rule = rule_reshape, .streams = true),
    ROW(FRAME, WINDOW, "the samples", .map = map_frame, .rule = rule_frame, .streams = true),
    ROW(GRU, FORWARD, "sequence (reversed: backward)", .rule = rule_cell, .streams = true,
        .way = "direction forward streams"),
    ROW(GATHER, MOVED, "axis", .map = map_gather, .rule = rule_gather, .streams = true),
    ROW(GATHER_ELEMENTS, POSITION, "axis", .rule = rule_elements,
        .way = "Gather by a range of frames streams"),
    ROW(GATHER_ND, POSITION, "the named by coordinates", .map = map_gather_nd,
        .way = "Gather by a range of frames streams"),
    ROW(GEMM, GLOBAL, "the contracted", .map = map_gemm),
    ROW(GLOBAL_AVERAGE_POOL, GLOBAL, "all but batch and channels", .map = map_channels,
        .way = POOL),
    ROW(GLOBAL_LP_POOL, GLOBAL, "all but batch and channels", .map = map_channels, .way = POOL),
    ROW(GLOBAL_MAX_POOL, GLOBAL, "all but batch and channels", .map = map_channels, .way = POOL),
    ROW(GROUP_NORMALIZATION, GLOBAL, "all but batch", .map = map_batch, .way = STATISTICS),
    ROW(HAMMING_WINDOW, GLOBAL, "all", .way = "of constants they are folded away"),
    ROW(HANN_WINDOW, GLOBAL, "all", .way = "of constants they are folded away"),
    ROW(HARDMAX, GLOBAL, "axis", .map = map_axis_attr),
    ROW(IRFFT, GLOBAL, "the last", .map = map_rows, .way = FRAMED),
    ROW(IF, GLOBAL, "the condition's", .rule = rule_if,
        .way = "Where streams, and so does a part of a pipeline, frame by frame"),
    ROW(INSTANCE_NORMALIZATION, GLOBAL, "all but batch and channels", .map = map_batch,
        .way = STATISTICS),
    ROW(LRN, GLOBAL, "channels", .map = map_not_channel),
    ROW(LSTM, FORWARD, "sequence (reversed: backward)", .rule = rule_cell, .streams = true,
        .way = "direction forward streams"),
    ROW(LAYER_NORMALIZATION, GLOBAL, "axis and behind", .map = map_trailing,
        .way = "normalise over the axes behind time only"),
    ROW(LOG_SOFTMAX, GLOBAL, "axis", .map = map_axis_attr,
        .way = "over a window of frames, under a mask of positions, it streams"),
    ROW(LOOP, GLOBAL, "all", .way = "over all frames, one by one, it streams"),
    ROW(LP_NORMALIZATION, GLOBAL, "axis", .map = map_axis_attr,
        .way = "normalise over another axis"),
    ROW(LP_POOL, WINDOW, "all but batch and channels", .map = map_channels, .rule = rule_lp_pool,
        .streams = true),
    ROW(MAGNITUDE, GLOBAL, "the last", .map = map_rows),
    ROW(MATMUL, GLOBAL, "the contracted", .map = map_matmul, .way = MASKED),
    ROW(MATMUL_INTEGER, GLOBAL, "the contracted", .map = map_matmul_integer, .way = MASKED),
    ROW(MAX_POOL, WINDOW, "all but batch and channels", .map = map_channels, .rule = rule_max_pool,
        .streams = true),
    ROW(MEL_WEIGHT_MATRIX, GLOBAL, "all", .way = "of constants they are folded away"),
    ROW(NONZERO, GLOBAL, "all", .way = "how much comes out depends on all of the data"),
    ROW(ONE_HOT, POINTWISE, NULL, .map = map_one_hot),
    ROW(OVERLAP_ADD, WINDOW, "the frames", .map = map_matrices, .rule = rule_overlap_add,
        .streams = true),
    ROW(PAD, MOVED, "all", .rule = rule_pad, .streams = true),
    ROW(QUANTIZE_LINEAR, POSITION, "axis, with a scale for each index", .map = map_quantised),
    ROW(RFFT, GLOBAL, "the last", .map = map_rows, .way = FRAMED),
    ROW(RNN, FORWARD, "sequence (reversed: backward)", .rule = rule_cell, .streams = true,
        .way = "direction forward streams"),
    ROW(RANGE, MOVED, NULL, .source = source_range),
    ROW(REDUCE_L1, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_L2, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_LOG_SUM, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_LOG_SUM_EXP, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_MAX, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_MEAN, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_MIN, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_PROD, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_SUM, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(REDUCE_SUM_SQUARE, GLOBAL, "axes", .map = map_reduce, .way = POOL),
    ROW(RESHAPE, MOVED, "all", .rule = rule_reshape, .streams = true),
    ROW(RESIZE, WINDOW, "the scaled", .rule = rule_resize, .streams = true),
    ROW(RMS_NORMALIZATION, GLOBAL, "axis and behind", .map = map_trailing,
        .way = "normalise over the axes behind time only"),
    ROW(REVERSE_SEQUENCE, BACKWARD, "time_axis", .map = map_reverse,
        .way = "only its batch and other axes may be time"),
    ROW(STFT, WINDOW, "the samples", .map = map_batch, .rule = rule_stft, .streams = true),
    ROW(SCAN, FORWARD, "the scanned (reversed: backward)", .rule = rule_scan, .streams = true),
    ROW(SCATTER_ELEMENTS, POSITION, "axis", .rule = rule_elements,
        .way = "Where under a condition that streams does the same"),
    ROW(SCATTER_ND, POSITION, "the named by coordinates", .map = map_scatter_nd,
        .way = "Where under a condition that streams does the same"),
    ROW(SHAPE, GLOBAL, "all",
        .way = "as a size of another op, or in arithmetic on sizes, a length is folded away"),
    ROW(SHORT_SOFTMAX, GLOBAL, "the last", .map = map_rows),
    ROW(SHORT_TABLE, POINTWISE, NULL, .map = map_first),
    ROW(SIZE, GLOBAL, "all",
        .way = "as a size of another op, or in arithmetic on sizes, a length is folded away"),
    ROW(SLICE, MOVED, "axes", .rule = rule_slice, .source = source_slice, .streams = true),
    ROW(SOFTMAX, GLOBAL, "axis", .map = map_axis_attr,
        .way = "over a window of frames, under a mask of positions, it streams"),
    ROW(SPACE_TO_DEPTH, MOVED, "all but batch", .map = map_batch,
        .way = "Reshape and Transpose written out may stream"),
    ROW(SPLIT, MOVED, "axis", .map = map_axis_attr, .rule = rule_split, .streams = true),
    ROW(SQUEEZE, MOVED, "axes", .map = map_squeeze),
    ROW(TILE, MOVED, "the repeated", .rule = rule_tile, .source = source_expand),
    ROW(TOPK, GLOBAL, "axis", .map = map_axis_attr),
    ROW(TRANSPOSE, MOVED, NULL, .map = map_transpose),
    ROW(TRILU, POSITION, "the last two", .map = map_matrices),
    ROW(UNIQUE, GLOBAL, "all", .way = "how much comes out depends on all of the data"),
    ROW(UNSQUEEZE, MOVED, NULL, .map = map_unsqueeze),
};

static const struct axis_row pointwise = { .own = AXIS_POINTWISE, .rule = rule_pointwise };

static const struct axis_row *row_find(const struct op *op)
{
    if (rows[op->id].op != OP_NONE)
        return &rows[op->id];
    return op->flags & OP_POINTWISE ? &pointwise : NULL;
}

const struct axis_row *axis_row_of(const struct op *op)
{
    static const struct axis_row unknown = { .own = AXIS_GLOBAL, .at = "all" };
    const struct axis_row *r = row_find(op);
    return r ? r : &unknown;
}

bool axis_row_stated(const struct op *op)
{
    return row_find(op) != NULL;
}

pulse_rule *pulse_rule_find(const struct op *op)
{
    const struct axis_row *r = axis_row_of(op);
    return r->rule ? r->rule : pulser_off_axis;
}

pulse_rule *pulse_source_find(const struct op *op)
{
    return axis_row_of(op)->source;
}
