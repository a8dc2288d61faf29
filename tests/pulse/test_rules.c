/* SPDX-License-Identifier: MIT */
/* Ops off the time axis and along it, one graph a rule: each streams by the law or is refused by
 * its class, axis and a way out. Every op of the engine has a row that says how it touches its
 * axes. */
#include "pulse/axes.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <stdio.h>
#include <string.h>

/* A late [1, 3, T]: what comes before the sequence must not matter. */
static uint32_t late(struct gb *b)
{
    return GB(b, "Conv", "pads=1,1", gb_input(b, "x", 3, 1, 3, GB_TIME), gb_weights(b, 3, 3, 3, 3));
}

/* Integers 0..4 of the same shape. */
static uint32_t indices(struct gb *b, uint32_t x)
{
    uint32_t y = GB(b, "Mul", "", x, gb_scalar(b, 40.0f));
    return GB(b, "Cast", "to=7", GB(b, "Clip", "", y, gb_scalar(b, 0.0f), gb_scalar(b, 4.0f)));
}

static void outputs(struct gb *b, uint32_t y)
{
    gb_output(b, GB(b, "Cast", "to=1", y));
}

/* ---- one op on [1, 3, T], or on its transpose: perm, then the op, then what its other inputs are
 * ---- */

enum other { NONE, INTS, INT, LENS_OF_TIME, INDICES, INDICES_UPDATES, BOOLS, ITSELF };

struct single {
    const char *op, *attrs, *perm;
    enum other other;
    int64_t ints[4];
    unsigned n_ints, n_out;
};

static void single(struct gb *b, const void *ctx)
{
    const struct single *s = ctx;
    uint32_t x = late(b),
             in[3] = { s->perm ? gb_transpose(b, x, s->perm) : x, WIRE_NONE, WIRE_NONE };
    unsigned n_in = 2;
    switch (s->other) {
    case NONE: n_in = 1; break;
    case INTS: in[1] = gb_ints_of(b, s->n_ints, s->ints); break;
    case INT: in[1] = gb_int(b, s->ints[0]); break;
    case LENS_OF_TIME:
        in[1] = GB(b, "Expand", "", gb_int(b, 2),
                   GB(b, "Slice", "", GB(b, "Shape", "", in[0]), gb_ints(b, 0), gb_ints(b, 1)));
        break;
    case INDICES: in[1] = indices(b, in[0]); break;
    case INDICES_UPDATES:
        in[1] = indices(b, in[0]);
        in[2] = GB(b, "Neg", "", in[0]);
        n_in = 3;
        break;
    case BOOLS:
        in[1] = gb_const(b, DTYPE_BOOL, 1, (int64_t[]) { 3 }, (const uint8_t[]) { 1, 0, 1 });
        break;
    case ITSELF: in[1] = GB(b, "Cast", "to=7", in[0]); break;
    }
    struct node *n = gb_node(b, s->op, s->attrs, in, n_in, s->n_out ? s->n_out : 1);
    outputs(b, n ? n->out[0] : WIRE_NONE);
}

/* ---- graphs ---- */

static void one_hot(struct gb *b, const void *ctx)
{
    uint32_t values = GB(b, "Neg", "", gb_floats(b, 2, (const float[]) { 0.5f, -2.0f }));
    gb_output(b, GB(b, "OneHot", ctx, indices(b, late(b)), gb_int(b, 5), values));
}

/* [1, 3, T] as u8 around 77, so that pads are not 0. */
static uint32_t eighths(struct gb *b, uint32_t *ret_zero)
{
    *ret_zero = gb_const(b, DTYPE_U8, 0, NULL, (const uint8_t[]) { 77 });
    return GB(b, "QuantizeLinear", "", late(b), gb_scalar(b, 0.03f), *ret_zero);
}

static void conv_integer(struct gb *b, const void *ctx)
{
    static const int8_t w[] = { 5, -128, 127, 30,  -71, 2,   99, -4, 64,  17, -90, 8,  1, -1,
                                0, 55,   -33, 121, 12,  -60, 7,  41, -19, 77, -2,  88, 3 };
    const bool alone = strstr(ctx, "group=3") != NULL;
    uint32_t zero,
        x = eighths(b, &zero),
        weights = gb_const(b, DTYPE_I8, 3, (int64_t[]) { 3, alone ? 1 : 3, 3 }, w),
        zeros = gb_const(b, DTYPE_I8, 1, (int64_t[]) { 3 }, (const int8_t[]) { 0, -3, 9 });
    outputs(b, GB(b, "ConvInteger", ctx, x, weights, zero, zeros));
}

static void matmul_integer(struct gb *b, const void *ctx)
{
    const int64_t n = *(const int64_t *) ctx;
    uint32_t zero, x = gb_transpose(b, eighths(b, &zero), "0,2,1"),
                   w = gb_const(b, DTYPE_I8, 2, (int64_t[]) { 3, 2 },
                                (const int8_t[]) { 5, -128, 127, 30, -71, 2 }),
                   zeros = gb_const(b, DTYPE_I8, 1, (int64_t[]) { n }, (const int8_t[]) { -3, 9 });
    outputs(b, GB(b, "MatMulInteger", "", x, w, zero, zeros));
}

/* As floats, with a scale and a bias for each channel. */
static void conv_integer_floats(struct gb *b, const void *ctx)
{
    static const int8_t w[] = { 5, -128, 127, 30, -71, 2, 99, -4, 64 };
    uint32_t zero, x = eighths(b, &zero),
                   weights = gb_const(b, DTYPE_I8, 3, (int64_t[]) { 3, 3, 1 }, w),
                   y = GB(b, "ConvInteger", ctx, x, weights, zero);
    y = GB(b, "Mul", "", GB(b, "Cast", "to=1", y), gb_weights(b, 2, 3, 1));
    gb_output(b, GB(b, "Relu", "", GB(b, "Add", "", y, gb_weights(b, 2, 3, 1))));
}

/* Lower or upper triangles of a matrix for each frame. */
static void triangles(struct gb *b, const void *ctx)
{
    uint32_t x = GB(b, "MatMul", "",
                    GB(b, "Unsqueeze", "", gb_transpose(b, late(b), "0,2,1"), gb_ints(b, 3)),
                    gb_weights(b, 2, 1, 3));
    gb_output(b, GB(b, "Trilu", ctx, x, gb_int(b, 1)));
}

static void table_by_coordinates(struct gb *b, const void *ctx)
{
    uint32_t ix = GB(b, "Unsqueeze", "", indices(b, late(b)), gb_ints(b, 3));
    (void) ctx;
    gb_output(b, GB(b, "GatherND", "", gb_weights(b, 2, 5, 2), ix));
}

static void channels_by_coordinates(struct gb *b, const void *ctx)
{
    const int64_t at[] = { 2, 0 };
    (void) ctx;
    uint32_t ix = gb_const(b, DTYPE_I64, 2, (int64_t[]) { 2, 1 }, at);
    gb_output(b, GB(b, "GatherND", "", gb_transpose(b, late(b), "1,0,2"), ix));
}

static void channels_written(struct gb *b, const void *ctx)
{
    const int64_t at[] = { 1 };
    uint32_t x = gb_input(b, "x", 3, 3, 2, GB_TIME),
             ix = gb_const(b, DTYPE_I64, 2, (int64_t[]) { 1, 1 }, at);
    uint32_t u = GB(b, "Conv", "pads=1,1", gb_slice(b, x, 0, 0, 1, 1), gb_weights(b, 3, 2, 2, 3));
    gb_output(b, GB(b, "ScatterND", ctx, x, ix, u));
}

static void table_by_elements(struct gb *b, const void *ctx)
{
    uint32_t ix =
        GB(b, "Squeeze", "", gb_slice(b, indices(b, late(b)), 1, 0, 1, 1), gb_ints(b, 0, 1));
    (void) ctx;
    gb_output(b, GB(b, "GatherElements", "axis=0", gb_weights(b, 1, 5), ix));
}

/* Rows of a table by the number of the frame: later frames than it has rows read some row. */
static void positions_of_table(struct gb *b, const void *ctx)
{
    uint32_t x = gb_transpose(b, late(b), "0,2,1");
    uint32_t t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    uint32_t r = GB(b, "Range", "", gb_int(b, 0), t, gb_int(b, 1));
    (void) ctx;
    gb_output(b, GB(b, "Add", "", x, GB(b, "Gather", "axis=0", gb_weights(b, 2, 20, 3), r)));
}

/* Rows of a table that grows evenly, by three numbers of frames. */
static void positions_of_three(struct gb *b, const void *ctx)
{
    int64_t rows[200];
    const uint32_t x = late(b), t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2)),
                   r = GB(b, "Range", "", gb_int(b, 0), t, gb_int(b, 1)),
                   two = GB(b, "Add", "", GB(b, "Unsqueeze", "", r, gb_ints(b, 1, 2)),
                            GB(b, "Unsqueeze", "", r, gb_ints(b, 0, 2))),
                   at = GB(b, "Add", "", two, GB(b, "Unsqueeze", "", r, gb_ints(b, 0, 1)));
    (void) ctx;
    for (int i = 0; i < 200; i++)
        rows[i] = i;
    const uint32_t y =
        GB(b, "Cast", "to=1", GB(b, "Gather", "axis=0", gb_ints_of(b, 200, rows), at));
    gb_output(b, GB(b, "Mul", "", x, GB(b, "ReduceSum", "keepdims=0", y, gb_ints(b, 1, 2))));
}

/* ctx: pads; by the length of the sequence, along time. */
static void padded_by_length(struct gb *b, const void *ctx)
{
    const int64_t *pads = ctx;
    const uint32_t x = indices(b, late(b)),
                   t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2));
    outputs(b, GB(b, "Pad", "", x, gb_ints(b, 0, 0, pads[0], 0, 0, pads[1]), t));
}

/* The same of frame numbers, whose places are followed. */
static void numbers_padded_by_length(struct gb *b, const void *ctx)
{
    const uint32_t x = late(b), t = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 2)),
                   r = GB(b, "Range", "", gb_int(b, 0), t, gb_int(b, 1)),
                   y = GB(b, "Pad", "", r, gb_ints(b, 2, 0), t);
    (void) ctx;
    outputs(b, gb_slice(b, y, 0, 0, -2, 1));
    gb_output(b, x);
}

/* A cell over the channels of each frame, both ways, from zeros for every frame. */
static void cell_over_channels(struct gb *b, const void *ctx)
{
    bool lstm = !strcmp(ctx, "LSTM");
    int g = lstm ? 4 : 3;
    uint32_t x =
        GB(b, "Unsqueeze", "", gb_transpose(b, GB(b, "Squeeze", "", late(b), gb_ints(b, 0)), "0,1"),
           gb_ints(b, 2));
    uint32_t t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 1), gb_ints(b, 2));
    uint32_t zeros =
        GB(b, "ConstantOfShape", "", GB(b, "Concat", "axis=0", gb_ints(b, 2), t, gb_ints(b, 4)));
    const uint32_t in[] = { x,
                            gb_weights(b, 3, 2, 4 * g, 1),
                            gb_weights(b, 3, 2, 4 * g, 4),
                            gb_weights(b, 2, 2, 8 * g),
                            WIRE_NONE,
                            zeros,
                            zeros };
    struct node *n =
        gb_node(b, ctx, "hidden_size=4 direction=bidirectional", in, lstm ? 7 : 6, lstm ? 3 : 2);
    if (!n)
        return;
    gb_output(b, n->out[0]); /* [3, 2, T, 4] */
    gb_output(b, n->out[1]); /* [2, T, 4] */
    if (lstm)
        n->out[2] = WIRE_NONE;
}

/* sequence_lens that says that every sequence is whole. */
static void cell_with_whole_lens(struct gb *b, const void *ctx)
{
    uint32_t x = gb_transpose(b, late(b), "2,0,1");
    uint32_t t = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 0), gb_ints(b, 1));
    const uint32_t in[] = { x, gb_weights(b, 3, 1, 12, 3), gb_weights(b, 3, 1, 12, 4),
                            gb_weights(b, 2, 1, 24),
                            GB(b, "Cast", gb_printf(b, "to=%d", DTYPE_I32), t) };
    (void) ctx;
    struct node *n = gb_node(b, "GRU", "hidden_size=4", in, 5, 1);
    gb_output(b, n ? GB(b, "Squeeze", "", n->out[0], gb_ints(b, 1)) : WIRE_NONE);
}

/* Places of x that name each frame twice. back: from the last frame on. */
static uint32_t each_twice(struct gb *b, uint32_t x, const void *back)
{
    uint32_t two = gb_int(b, 2), at, zero = gb_ints(b, 0);
    uint32_t t =
        GB(b, "Squeeze", "", GB(b, "Slice", "", GB(b, "Shape", "", x), zero, gb_ints(b, 1)), zero);
    at = GB(b, "Range", "", gb_int(b, 0), GB(b, "Mul", "", t, two), gb_int(b, 1));
    at = GB(b, "Div", "", at, two);
    return back ? GB(b, "Sub", "", GB(b, "Sub", "", t, gb_int(b, 1)), at) : at;
}

/* By places of one coordinate, as PyTorch exports x[:, places]. ctx: back from the last frame. */
static void frames_by_coordinate(struct gb *b, const void *ctx)
{
    uint32_t x = gb_transpose(b, late(b), "2,0,1");
    uint32_t at = GB(b, "Unsqueeze", "", each_twice(b, x, ctx), gb_ints(b, -1));
    gb_output(b, gb_transpose(b, GB(b, "GatherND", "", x, at), "1,2,0"));
}

/* By two, of which the first is 0, the only place that its axis has: x[batch, places]. */
static void frames_by_two_coordinates(struct gb *b, const void *ctx)
{
    uint32_t x = gb_transpose(b, late(b), "2,0,1"), last = gb_ints(b, -1);
    uint32_t at = each_twice(b, x, ctx);
    uint32_t none = GB(b, "Expand", "", gb_int(b, 0), GB(b, "Shape", "", at));
    at = GB(b, "Concat", "axis=-1", GB(b, "Unsqueeze", "", none, last),
            GB(b, "Unsqueeze", "", at, last));
    x = GB(b, "Unsqueeze", "", x, gb_ints(b, 0));
    gb_output(b, gb_transpose(b, GB(b, "GatherND", "", x, at), "1,2,0"));
}

static void triangle_of_scores(struct gb *b, const void *ctx)
{
    uint32_t keys = late(b), x = gb_transpose(b, keys, "0,2,1");
    uint32_t weights = GB(b, "Trilu", ctx, GB(b, "MatMul", "", x, keys));
    gb_output(b, GB(b, "MatMul", "", weights, x));
}

/* ctx: sizes. From [1, T, 3, 2] there and back again. */
static void reshape(struct gb *b, const void *ctx)
{
    const int64_t *to = ctx;
    uint32_t x = GB(b, "Unsqueeze", "", gb_transpose(b, late(b), "0,2,1"), gb_ints(b, 3));
    x = GB(b, "MatMul", "", x, gb_weights(b, 2, 1, 2));
    x = GB(b, "Reshape", "", x, gb_ints_of(b, (unsigned) to[0], to + 1));
    gb_output(b, GB(b, "Relu", "", x));
}

static void flatten(struct gb *b, const void *ctx)
{
    gb_output(b, GB(b, "Flatten", ctx, gb_transpose(b, late(b), "2,0,1")));
}

/* A padded sequence, moved, cut along another axis and then along time. ctx: before, after, from,
 * to, step, late. */
static void padded_slice(struct gb *b, const void *ctx)
{
    const int64_t *v = (const int64_t *) ctx + 1;
    uint32_t x = v[5] ? late(b) : gb_input(b, "x", 3, 1, 3, GB_TIME);
    x = GB(b, "Unsqueeze", "", gb_pad(b, x, 3, 2, "constant", v[0], v[1]), gb_ints(b, 0));
    x = gb_slice(b, gb_transpose(b, GB(b, "Squeeze", "", x, gb_ints(b, 1)), "2,0,1"), 2, 1, 3, 1);
    gb_output(b, gb_slice(b, x, 0, v[2], v[3], v[4]));
    gb_output(b, GB(b, "Tanh", "", x));
}

/* clang-format off */
#define STREAMS { NULL, NULL, NULL, NULL }
/* clang-format on */
#define ONE(name, text, ...)                                                                       \
    single, &(const struct single)                                                                 \
    {                                                                                              \
        .op = name, .attrs = text, __VA_ARGS__                                                     \
    }
#define SIZES(...)                                                                                 \
    (const int64_t[])                                                                              \
    {                                                                                              \
        sizeof(int64_t[]) { __VA_ARGS__ } / sizeof(int64_t), __VA_ARGS__                           \
    }

/* clang-format off */
static const struct oracle_case cases[] = {
    { "Expand of the batch", ONE("Expand", "", .other = INTS, .ints = { 2, 1, 1 }, .n_ints = 3),
      STREAMS },
    { "Expand into another rank",
      ONE("Expand", "", .other = INTS, .ints = { 2, 1, 3, 1 }, .n_ints = 4), STREAMS },
    { "Tile of the channels", ONE("Tile", "", .other = INTS, .ints = { 1, 2, 1 }, .n_ints = 3),
      STREAMS },
    { "Tile of time", ONE("Tile", "", .other = INTS, .ints = { 1, 1, 2 }, .n_ints = 3),
      { "(Tile)", "time axis is repeated", NULL, NULL } },
    { "OneHot behind", one_hot, "axis=-1", STREAMS },
    { "OneHot in front", one_hot, "axis=0", STREAMS },
    { "Trilu, lower", triangles, "upper=0", STREAMS },
    { "Trilu, upper", triangles, "upper=1", STREAMS },
    { "Trilu of time", ONE("Trilu", "upper=1", .other = INT, .ints = { 0 }),
      { "(Trilu)", "positional", "axis 2 of input 0", "place" } },
    { "Trilu of scores", triangle_of_scores, "upper=0",
      { "(MatMul)", "(Trilu) cuts the scores themselves", NULL, NULL } },
    { "GatherND of a table", table_by_coordinates, NULL, STREAMS },
    { "GatherND of channels", channels_by_coordinates, NULL, STREAMS },
    { "GatherND of frames by one coordinate", frames_by_coordinate, NULL, STREAMS },
    { "GatherND of frames from the last on", frames_by_coordinate, "",
      { "(Sub)", "length of the whole sequence", NULL, NULL } },
    { "GatherND of frames by two coordinates", frames_by_two_coordinates, NULL, STREAMS },
    { "GatherND by two from the last on", frames_by_two_coordinates, "",
      { "(Sub)", "length of the whole sequence", NULL, NULL } },
    { "ScatterND of channels", channels_written, "", STREAMS },
    { "ScatterND of channels, added", channels_written, "reduction='add", STREAMS },
    { "GatherElements of channels", ONE("GatherElements", "axis=1", .other = INDICES), STREAMS },
    { "GatherElements of a table", table_by_elements, NULL, STREAMS },
    { "GatherElements of time", ONE("GatherElements", "axis=2", .other = INDICES),
      { "(GatherElements)", "axis 2 of input 0", "time axis", "Gather by a range" } },
    { "ScatterElements of channels", ONE("ScatterElements", "axis=1", .other = INDICES_UPDATES),
      STREAMS },
    { "ScatterElements of time", ONE("ScatterElements", "axis=2", .other = INDICES_UPDATES),
      { "(ScatterElements)", "axis 2 of input 0", "time axis", "Where" } },
    { "ReverseSequence of channels",
      ONE("ReverseSequence", "batch_axis=0 time_axis=1", .perm = "2,1,0", .other = LENS_OF_TIME),
      STREAMS },
    { "ReverseSequence of time",
      ONE("ReverseSequence", "batch_axis=1 time_axis=0", .perm = "2,0,1", .other = INTS,
          .ints = { 1 }, .n_ints = 1),
      { "(ReverseSequence)", "backward along axis 0 of input 0", "last one", "time" } },
    { "Gather of a table by three numbers", positions_of_three, NULL,
      { "(Add)", "two time axes", NULL, NULL } },
    { "Pad in front by the length", padded_by_length, (const int64_t[]) { 1, 0 },
      { "(Pad)", "value it pads with", "length of the whole sequence", NULL } },
    { "Pad behind by the length", padded_by_length, (const int64_t[]) { 0, 1 },
      { "(Pad)", "value it pads with", "length of the whole sequence", NULL } },
    { "Pad of frame numbers by the length", numbers_padded_by_length, NULL,
      { "(Pad)", "value it pads with", "length of the whole sequence", NULL } },
    { "Compress of time", ONE("Compress", "axis=2", .other = BOOLS),
      { "(Compress)", "axis 2", "Slice and Gather", NULL } },
    { "Compress of channels", ONE("Compress", "axis=1", .other = BOOLS), STREAMS },
    { "Unique", ONE("Unique", "", .other = NONE), { "(Unique)", "depends on data", NULL, NULL } },
    { "NonZero", ONE("NonZero", "", .other = NONE),
      { "(NonZero)", "depends on data", NULL, NULL } },
    { "CastLike", ONE("CastLike", "", .other = ITSELF), STREAMS },
    { "DynamicQuantizeLinear", ONE("DynamicQuantizeLinear", "", .other = NONE, .n_out = 3),
      { "(DynamicQuantizeLinear)", "every output needs all frames", "constant scale", NULL } },
    { "ConvInteger", conv_integer, "pads=2,0", STREAMS },
    { "ConvInteger, both ends", conv_integer, "pads=1,1 dilations=2", STREAMS },
    { "ConvInteger, groups and strides", conv_integer, "pads=1,2 group=3 strides=2", STREAMS },
    { "ConvInteger, then floats", conv_integer_floats, "pads=1,0", STREAMS },
    { "MatMulInteger", matmul_integer, (const int64_t[]) { 1 }, STREAMS },
    { "MatMulInteger, zeros of columns", matmul_integer, (const int64_t[]) { 2 }, STREAMS },
    { "Softmax of time", ONE("Softmax", "axis=2", .other = NONE), { "(Softmax)",
      "global along axis 2 of input 0, the time axis", "every output needs all frames",
      "mask of positions" } },
    { "InstanceNormalization-like mean",
      ONE("ReduceMean", "keepdims=1", .other = INTS, .ints = { 2 }, .n_ints = 1),
      { "(ReduceMean)", "global along axis 2 of input 0, the time axis", "CumSum", NULL } },
    { "a table of positions", positions_of_table, NULL, STREAMS },
    { "GRU over channels, both ways", cell_over_channels, "GRU", STREAMS },
    { "LSTM over channels, both ways", cell_over_channels, "LSTM", STREAMS },
    { "GRU with whole sequence_lens", cell_with_whole_lens, NULL, STREAMS },
    { "Reshape: time into the batch", reshape, SIZES(-1, 3, 2), STREAMS },
    { "Reshape: the sizes behind merged", reshape, SIZES(0, 0, -1), STREAMS },
    { "Reshape: time merged with one behind", reshape, SIZES(1, -1, 2), STREAMS },
    { "Reshape: time merged with all behind", reshape, SIZES(1, -1), STREAMS },
    { "Reshape: time with part of one behind", reshape, SIZES(1, -1, 3), STREAMS },
    { "Reshape: time behind others", reshape, SIZES(3, -1, 2),
      { "(Reshape)", "in front of the time axis", NULL, NULL } },
    { "Slice of a pad: from its last frame", padded_slice, SIZES(2, 2, 4, INT64_MAX, 1, 0),
      STREAMS },
    { "Slice of a pad: from inside it", padded_slice, SIZES(3, 2, 1, INT64_MAX, 1, 1), STREAMS },
    { "Slice of a pad: as long as what was padded", padded_slice, SIZES(2, 2, 2, -2, 1, 1),
      STREAMS },
    { "Slice of a pad: the end as well", padded_slice, SIZES(4, 3, 2, -1, 1, 0), STREAMS },
    { "Slice of a pad: every third", padded_slice, SIZES(5, 1, 2, INT64_MAX, 3, 1), STREAMS },
    { "Slice of a pad: every second, the end cut", padded_slice, SIZES(2, 5, 3, -3, 2, 0),
      STREAMS },
    { "Flatten", flatten, "axis=1", STREAMS },
    { "Flatten before time", flatten, "axis=0", STREAMS },
};
/* clang-format on */

static void rows_test(void)
{
    const struct op *op;
    for (unsigned i = 0; (op = op_at(i)); i++) {
        const struct axis_row *r = axis_row_of(op);
        oracle_check(axis_row_stated(op), "%s: nothing says how it touches its axes", op->name);
        oracle_check(r->rule || r->map || r->source || r->way,
                     "%s: neither streams nor says what would", op->name);
    }
}

int main(void)
{
    static const int pulses[] = { 1, 2, 3, 5, 8, 33, -1 },
                     lengths[] = { 1, 2, 3, 5, 8, 17, 40, -1 };
    const struct oracle_trial trial = { pulses, lengths, .cuts = 2, .whole_least = 1,
                                        .refused_early = true };
    rows_test();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        oracle_try(&cases[i], &trial);
    return oracle_end();
}
