/* SPDX-License-Identifier: MIT */
/* Steps that leave time as it is: element by element, along other axes, two ways that meet. */
#include "tests/pulse/steps.h"

/* ---- element by element, and two ways that meet ---- */

static void emit_map(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ops[] = { "Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Elu" };
    uint32_t x = v[0] == 5 ? GB(b, "Min", "", s->wire, gb_scalar(b, 9.0f)) : s->wire;
    s->wire = GB(b, ops[v[0]], "", x);
}

static void emit_scale(struct gb *b, struct stage *s, const int *v)
{
    uint32_t w = v[0] ? gb_scalar(b, (float) v[0]) : gb_weights(b, 3, 1, s->channels, 1);
    s->wire = GB(b, v[1] ? "Add" : "Mul", "", s->wire, w);
}

/* x[a..] * conv(x), both of the same length: one way is v[0]-1 frames later than the other. */
static void emit_skip(struct gb *b, struct stage *s, const int *v)
{
    int at = v[1] < v[0] ? v[1] : v[0] - 1;
    uint32_t w = gb_weights(b, 3, s->channels, s->channels, v[0]);
    uint32_t y = GB(b, "Conv", "", s->wire, w),
             cut = gb_slice(b, s->wire, 2, at, at - v[0] + 1 < 0 ? at - v[0] + 1 : INT32_MAX, 1);
    s->wire = GB(b, v[2] ? "Add" : "Mul", "", v[2] ? cut : y, v[2] ? y : cut);
}

static void emit_where(struct gb *b, struct stage *s, const int *v)
{
    uint32_t c = GB(b, "Less", "", s->wire, gb_scalar(b, (float) v[0] / 8));
    s->wire = GB(b, "Where", "", c, GB(b, "Neg", "", s->wire), s->wire);
}

/* ---- along other axes ---- */

static void emit_softmax(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, v[0] ? "LogSoftmax" : "Softmax", "axis=1", s->wire);
}

static void emit_norm(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = gb_transpose(b, s->wire, "0,2,1");
    (void) v;
    x = GB(b, "LayerNormalization", "axis=-1", x, gb_weights(b, 1, s->channels),
           gb_weights(b, 1, s->channels));
    s->wire = gb_transpose(b, x, "0,2,1");
}

static void emit_matmul(struct gb *b, struct stage *s, const int *v)
{
    uint32_t w = gb_weights(b, 2, s->channels, s->channels);
    if (v[0])
        s->wire = GB(b, "MatMul", "", w, s->wire);
    else
        s->wire =
            gb_transpose(b, GB(b, "MatMul", "", gb_transpose(b, s->wire, "2,0,1"), w), "1,2,0");
}

static void emit_reduce(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ops[] = { "ReduceMean", "ReduceMax", "ReduceL2", "ReduceSum" };
    s->wire = GB(b, "Sub", "", s->wire, GB(b, ops[v[0]], "keepdims=1", s->wire, gb_ints(b, 1)));
}

/* Of a step behind one that makes none, and is refused. */
static int channels_least_one(const struct stage *s)
{
    return s->channels ? s->channels : 1;
}

static void emit_gather(struct gb *b, struct stage *s, const int *v)
{
    const int n = channels_least_one(s);
    int64_t list[3] = { v[0] % n, 0, v[1] % n };
    s->wire = GB(b, "Gather", "axis=1", s->wire, gb_ints_of(b, 3, list));
    s->channels = 3;
}

static void emit_fold(struct gb *b, struct stage *s, const int *v)
{
    const struct dim *one = dim_int(b->dims, 1);
    (void) v;
    uint32_t x = GB(b, "Unsqueeze", "", s->wire, gb_ints(b, 0, 3));
    x = GB(b, "Squeeze", "", x, gb_ints(b, 0));
    x = GB(b, "Reshape", "", x, gb_ints(b, 1, 1, s->channels, -1));
    s->wire = GB(b, "Squeeze", "", x, gb_shape(b, 1, &one));
}

/* Norms and picks along the channels, and products with the channels of each frame. */
static void emit_across(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ops[] = { "LpNormalization", "Hardmax", "LpNormalization" };
    int c = s->channels;
    if (v[0] < 3)
        s->wire = GB(b, ops[v[0]], v[0] == 2 ? "axis=1 p=1" : "axis=1", s->wire);
    else if (v[0] == 3)
        s->wire = GB(b, "Cast", "to=1", GB(b, "ArgMax", "axis=1 keepdims=1", s->wire));
    else if (v[0] == 4) {
        struct node *n =
            gb_node(b, "TopK", "axis=1", (uint32_t[]) { s->wire, gb_ints(b, 1) }, 2, 2);
        s->wire = n ? n->out[0] : WIRE_NONE;
    } else {
        uint32_t x = GB(b, "Reshape", "", gb_transpose(b, s->wire, "2,0,1"), gb_ints(b, -1, c));
        x = GB(b, "Gemm", v[0] == 5 ? "transB=1" : "alpha=0.5", x, gb_weights(b, 2, c, c),
               gb_weights(b, 1, c));
        s->wire = gb_transpose(b, GB(b, "Unsqueeze", "", x, gb_ints(b, 0)), "0,2,1");
    }
    s->channels = v[0] == 3 || v[0] == 4 ? 1 : c;
}

/* Time as a batch of pictures of one row. */
static void emit_rows(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ops[] = { "InstanceNormalization", "GlobalAveragePool",
                                       "GlobalMaxPool", "LRN" };
    uint32_t x =
        GB(b, "Unsqueeze", "", gb_transpose(b, s->wire, "2,0,1"), gb_ints(b, 1)); /* [T, 1, 1, C] */
    if (v[0] == 0)
        x = GB(b, ops[0], "", x, gb_weights(b, 1, 1), gb_weights(b, 1, 1));
    else
        x = GB(b, ops[v[0]], v[0] == 3 ? "size=3" : "", x);
    s->wire = gb_transpose(b, GB(b, "Squeeze", "", x, gb_ints(b, 1)), "1,2,0");
    s->channels = v[0] == 1 || v[0] == 2 ? 1 : s->channels;
}

/* Each frame n times, or the channels stretched. */
static void emit_resize(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ways[] = {
        "", "coordinate_transformation_mode=asymmetric nearest_mode=floor",
        "coordinate_transformation_mode=pytorch_half_pixel nearest_mode=round_prefer_ceil"
    };
    const float scales[3] = { 1, v[2] ? 2 : 1, (float) v[0] }, stretch[3] = { 1, 1.5f, 1 };
    if (v[3]) {
        s->wire = GB(b, "Resize", v[3] == 1 ? "mode=linear" : "mode=cubic", s->wire, WIRE_NONE,
                     gb_floats(b, 3, stretch));
        s->channels = s->channels * 3 / 2;
    } else {
        s->wire = GB(b, "Resize", ways[v[1]], s->wire, WIRE_NONE, gb_floats(b, 3, scales));
        s->channels *= v[2] ? 2 : 1;
    }
}

/* Frames between those of the input: up/down as many. */
static void emit_resample(struct gb *b, struct stage *s, const int *v)
{
    static const char *const modes[] = { "nearest", "linear", "cubic" },
                             *const places[] = { "half_pixel", "asymmetric", "pytorch_half_pixel" },
                             *const nears[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                                "ceil" };
    const float scales[3] = { 1, 1, (float) v[0] / (float) v[1] };
    s->wire = GB(b, "Resize",
                 gb_printf(b, "mode=%s coordinate_transformation_mode=%s nearest_mode=%s",
                           modes[v[2]], places[v[3]], nears[v[4]]),
                 s->wire, WIRE_NONE, gb_floats(b, 3, scales));
}

/* The first frames and the rest change places, as far as they stream. */
static void emit_part(struct gb *b, struct stage *s, const int *v)
{
    uint32_t length = GB(b, "Gather", "axis=0", GB(b, "Shape", "", s->wire), gb_ints(b, 2)),
             head = gb_ints(b, v[0]), rest = GB(b, "Sub", "", length, head);
    uint32_t sizes =
        v[1] ? GB(b, "Concat", "axis=0", rest, head) : GB(b, "Concat", "axis=0", head, rest);
    struct node *n = gb_node(b, "Split", "axis=2", (uint32_t[]) { s->wire, sizes }, 2, 2);
    if (n)
        s->wire = n->out[!v[1]];
}

/* Frames n at a time: each so often, or the first of every n in the place of all. */
static void emit_hold(struct gb *b, struct stage *s, const int *v)
{
    uint32_t n = gb_int(b, v[0]),
             t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", s->wire), gb_int(b, 2)),
             length = v[1] ? t : GB(b, "Mul", "", t, n),
             at = GB(b, "Div", "", GB(b, "Range", "", gb_int(b, 0), length, gb_int(b, 1)), n);
    s->wire = GB(b, "Gather", "axis=2", s->wire, v[1] ? GB(b, "Mul", "", at, n) : at);
}

/* Frames at fixed places of the sequence: in front of differences, or beside every frame. */
static void emit_keep(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = s->wire, late = v[2] ? gb_slice(b, x, 2, v[2], INT32_MAX, 1) : x, one, two;
    if (v[0] == 0) {
        one = gb_slice(b, late, 2, 0, v[1], 1);
        two = GB(b, "Sub", "", gb_slice(b, late, 2, v[1], INT32_MAX, 1),
                 gb_slice(b, late, 2, 0, -v[1], 1));
        s->wire = GB(b, "Concat", "axis=2", one, two);
    } else if (v[0] == 1) {
        one = GB(b, "Gather", "axis=2", late, gb_ints(b, v[1] - 1));
        s->wire = GB(b, "Sub", "", x, GB(b, "Mul", "", one, gb_scalar(b, 0.5f)));
    } else {
        one = GB(b, "Tanh", "", gb_slice(b, late, 2, 0, 1, 1));
        s->wire = GB(b, "Concat", "axis=2", one, x);
    }
}

/* The channels in two parts that change places. */
static void emit_split(struct gb *b, struct stage *s, const int *v)
{
    int first = 1 + v[0] % channels_least_one(s);
    uint32_t sizes = gb_ints(b, first, s->channels - first);
    struct node *n = gb_node(b, "Split", "axis=1", (uint32_t[]) { s->wire, sizes }, 2, 2);
    if (n)
        s->wire = GB(b, "Concat", "axis=1", n->out[1], n->out[0]);
}

static void emit_einsum(struct gb *b, struct stage *s, const int *v)
{
    uint32_t w = gb_weights(b, 2, s->channels, 2);
    (void) v;
    s->wire = GB(b, "Einsum", "equation='bct,cd->bdt", s->wire, w);
    s->channels = 2;
}

static void emit_batch_norm(struct gb *b, struct stage *s, const int *v)
{
    int c = s->channels;
    (void) v;
    s->wire = GB(b, "BatchNormalization", "", s->wire, gb_weights(b, 1, c), gb_weights(b, 1, c),
                 gb_weights(b, 1, c), gb_full(b, 0.7f, 1, c));
}

static void emit_spectrum(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = gb_transpose(b, s->wire, "0,2,1");
    x = GB(b, "RFFT", "", gb_pad(b, x, 3, 2, "constant", 0, 2));
    s->wire = gb_transpose(b,
                           v[0] ? GB(b, "Magnitude", "", x)
                                : GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 3)),
                           "0,2,1");
    s->channels = (s->channels + 2) / 2 + 1;
}

/* To 8 bits and back with a scale for each channel. */
static void emit_quant(struct gb *b, struct stage *s, const int *v)
{
    int64_t c = s->channels;
    const float scale[8] = { 0.01f, 0.02f, 0.005f, 0.03f, 0.015f, 0.01f, 0.02f, 0.04f };
    const int8_t zero[8] = { 0, 3, -5, 7, 1, 0, -2, 4 };
    if (c > 8)
        return;
    uint32_t sc = gb_const(b, DTYPE_F32, 1, &c, scale), z = gb_const(b, DTYPE_I8, 1, &c, zero);
    (void) v;
    s->wire = GB(b, "DequantizeLinear", "axis=1", GB(b, "QuantizeLinear", "axis=1", s->wire, sc, z),
                 sc, z);
}

/* Time in front as the batch of a convolution along the channels. */
static void emit_batch(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x =
        GB(b, "Reshape", "", gb_transpose(b, s->wire, "2,0,1"), gb_ints(b, -1, 1, s->channels));
    x = GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, 2, 1, 3));
    (void) v;
    x = GB(b, "ReduceMax", "keepdims=0", x, gb_ints(b, 1));
    s->wire = gb_transpose(b, GB(b, "Reshape", "", x, gb_ints(b, 1, -1, s->channels)), "0,2,1");
}

/* Time and channels merged into one axis of C*T rows, a product with each, and apart again. */
static void emit_merge(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = GB(b, "Reshape", "", gb_transpose(b, s->wire, "0,2,1"), gb_ints(b, -1, 1));
    x = GB(b, "MatMul", "", x, gb_weights(b, 2, 1, 3));
    (void) v;
    x = GB(b, "Reshape", "", x, gb_ints(b, 1, -1, s->channels * 3));
    s->wire = gb_transpose(b, x, "0,2,1");
    s->channels *= 3;
}

/* Time and channels merged for good: C times as many frames of one channel. */
static void emit_interleave(struct gb *b, struct stage *s, const int *v)
{
    (void) v;
    s->wire = GB(b, "Reshape", "", gb_transpose(b, s->wire, "0,2,1"), gb_ints(b, 1, 1, -1));
    s->channels = 1;
}

/* n frames become one of n times the channels; the length must be a multiple of n. */
static void emit_stack(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = GB(b, "Reshape", "", s->wire, gb_ints(b, 1, s->channels, -1, v[0]));
    s->wire = GB(b, "ReduceMax", "keepdims=0", x, gb_ints(b, 3));
}

static uint32_t time_of(struct gb *b, uint32_t x)
{
    return GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2));
}

/* Numbers of the frames, from a Range over the length. */
static void emit_position(struct gb *b, struct stage *s, const int *v)
{
    uint32_t r = GB(b, "Range", "", gb_int(b, v[0]),
                    GB(b, "Add", "", GB(b, "Mul", "", time_of(b, s->wire), gb_int(b, v[1])),
                       gb_int(b, v[0])),
                    gb_int(b, v[1]));
    uint32_t f = GB(b, "Cast", "to=1", r);
    s->wire = GB(b, v[2] ? "Mul" : "Add", "", s->wire, f);
}

/* The same as floats from the start: sizes made floats for it. */
static void emit_count(struct gb *b, struct stage *s, const int *v)
{
    uint32_t r = GB(b, "Range", "", gb_scalar(b, 0), GB(b, "Cast", "to=1", time_of(b, s->wire)),
                    gb_scalar(b, 1));
    (void) v;
    s->wire = GB(b, "Mul", "", s->wire, r);
}

/* Frames picked by a Range up to the last one; from 0 in steps of 1 that is the identity. */
static void emit_pick(struct gb *b, struct stage *s, const int *v)
{
    uint32_t r = GB(b, "Range", "", gb_int(b, v[0]), time_of(b, s->wire), gb_int(b, v[1]));
    s->wire = GB(b, "Gather", "axis=2", s->wire, r);
}

/* Windows of k frames, every s frames, picked by a table of indices [k, T] or [T, k]. */
static void emit_windows(struct gb *b, struct stage *s, const int *v)
{
    const bool rows = v[3];
    int64_t first[3 + PARAMS_PAST] = { 0 };
    for (int i = 0; i < v[0]; i++)
        first[i] = i * v[2];
    uint32_t table =
        gb_const(b, DTYPE_I64, 2, rows ? (int64_t[]) { 1, v[0] } : (int64_t[]) { v[0], 1 }, first);
    uint32_t end = GB(b, "Sub", "", time_of(b, s->wire), gb_int(b, (v[0] - 1) * v[2]));
    uint32_t r = GB(b, "Range", "", gb_int(b, 0), end, gb_int(b, v[1]));
    uint32_t at = GB(b, "Add", "", GB(b, "Unsqueeze", "", r, gb_ints(b, rows)), table);
    uint32_t x = GB(b, "Gather", "axis=2", s->wire, at);
    s->channels *= v[0];
    s->wire = GB(b, "Reshape", "", rows ? gb_transpose(b, x, "0,1,3,2") : x,
                 gb_ints(b, 1, s->channels, -1));
}

/* One frame spread over all of time. */
static void emit_expand(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x =
        GB(b, "Expand", "", gb_weights(b, 3, 1, s->channels, 1), GB(b, "Shape", "", s->wire));
    s->wire = GB(b, v[0] ? "Mul" : "Add", "", x, s->wire);
}

/* Every channel (by Tile or by Expand) or every frame n times. */
static void emit_repeat(struct gb *b, struct stage *s, const int *v)
{
    const bool frames = v[1] == 2;
    s->channels *= frames ? 1 : v[0];
    if (v[1] == 0) {
        s->wire = GB(b, "Tile", "", s->wire, gb_ints(b, 1, v[0], 1));
        return;
    }
    uint32_t x = GB(b, "Unsqueeze", "", s->wire, gb_ints(b, frames ? 3 : 2));
    x = GB(b, "Expand", "", x, frames ? gb_ints(b, 1, 1, 1, v[0]) : gb_ints(b, 1, v[0], 1));
    s->wire = GB(b, "Reshape", "", x, gb_ints(b, 1, s->channels, -1));
}

/* A convolution whose input is the same at all times: at the ends it is not. */
static void emit_bias(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x =
        GB(b, "Expand", "", gb_weights(b, 3, 1, s->channels, 1), GB(b, "Shape", "", s->wire));
    x = GB(b, "Conv", gb_printf(b, "pads=%d,%d", v[0], 2 - v[0]), x,
           gb_weights(b, 3, s->channels, s->channels, 3));
    s->wire = GB(b, "Add", "", s->wire, x);
}

/* The first channel as indices of rows of a table. */
static void emit_embed(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x =
        GB(b, "Mul", "", GB(b, "Gather", "axis=1", s->wire, gb_int(b, 0)), gb_scalar(b, 8.0f));
    (void) v;
    x = GB(b, "Cast", "to=7", GB(b, "Clip", "", x, gb_scalar(b, -5.0f), gb_scalar(b, 4.0f)));
    x = GB(b, "Gather", "axis=0", gb_weights(b, 2, 5, 2), x);
    s->wire = gb_transpose(b, x, "0,2,1");
    s->channels = 2;
}

/* 1 where chunk j of keys lies at most `left` chunks before and `right` behind that of the
 * queries. */
static uint32_t band_mask(struct gb *b, uint32_t x, const int *v)
{
    uint32_t r = GB(b, "Range", "", gb_int(b, 0), time_of(b, x), gb_int(b, 1));
    uint32_t c = GB(b, "Div", "", r, gb_int(b, v[0]));
    uint32_t far = GB(b, "Sub", "", GB(b, "Unsqueeze", "", c, gb_ints(b, 1)),
                      GB(b, "Unsqueeze", "", c, gb_ints(b, 0)));
    return GB(b, "And", "", GB(b, "LessOrEqual", "", far, gb_int(b, v[1])),
              GB(b, "GreaterOrEqual", "", far, gb_int(b, -v[2])));
}

/* The same for chunks of one frame, cut out of a square of ones. */
static uint32_t band_cut(struct gb *b, uint32_t x, const int *v)
{
    uint32_t t = GB(b, "Unsqueeze", "", time_of(b, x), gb_ints(b, 0));
    uint32_t none = GB(b, "ConstantOfShape", "", GB(b, "Concat", "axis=0", t, t));
    uint32_t all = GB(b, "Not", "", GB(b, "Cast", "to=13", none));
    return GB(b, "And", "", GB(b, "Trilu", "upper=1", all, gb_int(b, -v[1])),
              GB(b, "Trilu", "upper=0", all, gb_int(b, v[2])));
}

/* Every frame looks at frames of its chunk and of some around it. */
static void emit_attend(struct gb *b, struct stage *s, const int *v)
{
    int c = s->channels;
    uint32_t x = gb_transpose(b, s->wire, "0,2,1");
    uint32_t mask = v[4] && v[0] == 1 ? band_cut(b, s->wire, v) : band_mask(b, s->wire, v);
    uint32_t q = GB(b, "MatMul", "", x, gb_weights(b, 2, c, c)),
             k = GB(b, "MatMul", "", x, gb_weights(b, 2, c, c));
    uint32_t scores = GB(b, "MatMul", "", q, gb_transpose(b, k, "0,2,1")),
             hidden = gb_scalar(b, -1e9f);
    if (v[3])
        scores = GB(b, "Where", "", mask, scores, hidden);
    else
        scores = GB(b, "Add", "", scores, GB(b, "Where", "", mask, gb_scalar(b, 0), hidden));
    x = GB(b, "MatMul", "", GB(b, "Softmax", "axis=-1", scores), x);
    s->wire = gb_transpose(b, x, "0,2,1");
}

/* clang-format off */
const struct step_kind steps_other[] = {
    { "map", { { "op", 0, 6, 0 } }, emit_map },
    { "scale", { { "by", 0, 3, 0 }, { "add", 0, 1, 0 } }, emit_scale },
    { "skip", { { "k", 1, 4, 2 }, { "at", 0, 3, 0 }, { "add", 0, 1, 1 } }, emit_skip },
    { "where", { { "than", -3, 3, 0 } }, emit_where },
    { "softmax", { { "log", 0, 1, 0 } }, emit_softmax },
    { "norm", { { NULL, 0, 0, 0 } }, emit_norm },
    { "matmul", { { "left", 0, 1, 0 } }, emit_matmul },
    { "reduce", { { "op", 0, 3, 0 } }, emit_reduce },
    { "gather", { { "a", 0, 3, 0 }, { "b", 0, 3, 1 } }, emit_gather },
    { "fold", { { NULL, 0, 0, 0 } }, emit_fold },
    { "across", { { "op", 0, 6, 0 } }, emit_across },
    { "rows", { { "op", 0, 3, 0 } }, emit_rows },
    { "resize",
      { { "times", 1, 3, 2 }, { "way", 0, 2, 0 }, { "both", 0, 1, 0 }, { "smooth", 0, 2, 0 } },
      emit_resize },
    { "hold", { { "n", 1, 4, 2 }, { "first", 0, 1, 0 } }, emit_hold },
    { "part", { { "n", 1, 3, 1 }, { "back", 0, 1, 0 } }, emit_part },
    { "keep", { { "how", 0, 2, 0 }, { "k", 1, 3, 1 }, { "late", 0, 2, 0 } }, emit_keep },
    { "resample",
      { { "up", 1, 5, 3 },
        { "down", 1, 4, 2 },
        { "mode", 0, 2, 1 },
        { "place", 0, 2, 0 },
        { "near", 0, 3, 0 } },
      emit_resample },
    { "split", { { "at", 0, 2, 0 } }, emit_split },
    { "einsum", { { NULL, 0, 0, 0 } }, emit_einsum },
    { "batchnorm", { { NULL, 0, 0, 0 } }, emit_batch_norm },
    { "spectrum", { { "magnitude", 0, 1, 1 } }, emit_spectrum },
    { "quant", { { NULL, 0, 0, 0 } }, emit_quant },
    { "batch", { { NULL, 0, 0, 0 } }, emit_batch },
    { "merge", { { NULL, 0, 0, 0 } }, emit_merge },
    { "interleave", { { NULL, 0, 0, 0 } }, emit_interleave },
    { "stack", { { "n", 2, 3, 2 } }, emit_stack },
    { "position", { { "from", 0, 2, 0 }, { "by", 1, 2, 1 }, { "mul", 0, 1, 0 } }, emit_position },
    { "count", { { NULL, 0, 0, 0 } }, emit_count },
    { "pick", { { "from", 0, 2, 0 }, { "step", 1, 3, 1 } }, emit_pick },
    { "windows", { { "k", 1, 3, 2 }, { "s", 1, 3, 1 }, { "d", 0, 2, 1 }, { "rows", 0, 1, 0 } },
      emit_windows },
    { "embed", { { NULL, 0, 0, 0 } }, emit_embed },
    { "attend", { { "chunk", 1, 4, 1 }, { "left", 0, 3, 1 }, { "right", 0, 2, 0 },
      { "where", 0, 1, 0 }, { "cut", 0, 1, 0 } }, emit_attend },
    { "expand", { { "mul", 0, 1, 0 } }, emit_expand },
    { "repeat", { { "n", 1, 3, 2 }, { "way", 0, 2, 0 } }, emit_repeat },
    { "bias", { { "l", 0, 2, 1 } }, emit_bias },
    { NULL, { { NULL, 0, 0, 0 } }, NULL },
};
/* clang-format on */
