/* SPDX-License-Identifier: MIT */
/* attrs.h - the attributes of ops that passes and streaming rules read, as their rows lay them out.
 * Each accessor is of the ops it names and of no other. */
#ifndef RILL_ENGINE_OPS_ATTRS_H
#define RILL_ENGINE_OPS_ATTRS_H
#include "engine/ops/window.h"

struct conv_attr {
    struct window_attr w;
    int64_t group;
    struct attr_ints epilogue;
    int64_t
        winograd; /* of a Conv, set by a pass: the axis of its tiles (conv_winograd.h); 0: none */
};

/* The rows of ops whose attributes begin with it, but the epilogue's: those that come before one's
 * own about the output, and those behind. */
/* clang-format off */
#define CONV_KERNEL_ROWS                                                                           \
    AUTO_PAD_ROW, WINDOW_ROW("dilations", dilations),                                              \
    { .name = "group", .kind = ATTR_INT, .offset = offsetof(struct conv_attr, group), .def_i = 1 },\
    WINDOW_ROW("kernel_shape", kernel)
#define CONV_STEP_ROWS                                                                             \
    WINDOW_ROW("pads", pads), WINDOW_ROW("strides", strides), MAY_LACK_ROW
/* clang-format on */

/* What sums of whole numbers become, set by passes alone. floats: 1: f32, each rounded once, and an
 * epilogue may follow. to: i8 or u8: scaled by an input as kern_scale says, and further inputs;
 * 0: neither. */
struct product_results {
    int64_t floats;
    int64_t to, zero, low, high;
    float leaky; /* slope of what is negative before it is cut; 0: it is left */
};

struct conv_integer_attr {
    struct conv_attr conv;
    struct product_results y;
};

/* Windows of bytes, of rows and columns: pads before, then after; empty lists mean 1 or 0. */
struct byte_window_attr {
    struct attr_ints kernel, strides, dilations, pads; /* kernel: of pools */
};

/* What comes out: its type (0: that of input 0), its zero and the range it is cut to. */
struct byte_range {
    int64_t to, zero, low, high;
};

struct byte_conv_attr {
    struct byte_window_attr w;
    int64_t depthwise, x_zero, w_zero, once; /* once: the factor rounds once, not twice */
    struct byte_range y;
    float leaky;    /* by floats: slope of what is negative; 0: it is left */
    int64_t floats; /* sums come as f32, each rounded once, and an epilogue may follow */
    struct attr_ints epilogue;
};

/* ByteTable: by the bits of the byte */
struct byte_table_attr {
    struct attr_ints table;
    int64_t to;
};

/* ByteTables: the axis of the channels */
struct byte_tables_attr {
    int64_t axis;
};

struct byte_pool_attr {
    struct byte_window_attr w;
    int64_t mean;
    struct byte_range y; /* where `by` is 0, low and high count */
    /* Of means without pads: instead, sums less x_zero each by that, rounded to nearest even, +
     * zero */
    int64_t x_zero;
    float by;
};

struct matmul_integer_attr {
    struct product_results y;
    struct attr_ints epilogue;
};

struct deconv_attr {
    struct conv_attr conv;
    struct attr_ints output_padding, output_shape;
};

struct pool_attr {
    struct window_attr w;
    int64_t count_include_pad, storage_order, p, counted_axis;
};

struct gemm_attr {
    float alpha, beta;
    int64_t ta, tb;
    struct attr_ints epilogue;
};

struct transpose_attr {
    struct attr_ints perm;
};

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

struct pad_attr {
    int mode;
};

enum frame_end { END_DROP, END_COVER, END_FLUSH };

/* source_size, source_hop: what was computed along a stream and is framed now stands for frames of
 * that size and hop of input 1, the stream; 0: for itself. */
struct frame_attr {
    int64_t size, hop, before;
    int end;
    int64_t source_size, source_hop;
};

enum tail { TAIL_COMPLETE, TAIL_FULL };

struct overlap_attr {
    int64_t hop, normalise;
    int tail;
};

struct unary_attr {
    float alpha, beta, gamma, lambd, bias;
    int approximate;
    int64_t detect_negative, detect_positive;
};

struct axis_attr {
    int64_t axis;
};

struct quant_attr {
    struct axis_attr on;
    int64_t block_size;              /* 0: none */
    int64_t output_dtype, precision; /* enum dtype; 0: as the inputs say */
    int64_t saturate;                /* belongs to types that do not exist here */
};

struct reduce_attr {
    int64_t keepdims, noop_with_empty_axes;
};

struct arg_attr {
    struct axis_attr on;
    int64_t keepdims, select_last_index;
};

struct cast_attr {
    int64_t to, saturate; /* to: enum dtype; saturate belongs to types that do not exist here */
};

struct scatter_attr {
    struct axis_attr on;
    int reduction;
};

struct trilu_attr {
    int64_t upper;
};

struct eye_attr {
    int64_t k, dtype;
};

struct reverse_attr {
    int64_t batch_axis, time_axis;
};

struct cumsum_attr {
    int64_t exclusive, reverse;
};

struct binary_attr {
    int64_t fmod;  /* of Mod: the sign of the dividend */
    int direction; /* of BitShift */
};

struct value_attr {
    const struct tensor *value;
};

struct gather_nd_attr {
    int64_t batch_dims;
};

struct batch_attr {
    float epsilon, momentum;
    int64_t training;
};

enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
enum coord_mode {
    COORD_HALF_PIXEL,
    COORD_HALF_PIXEL_SYMMETRIC,
    COORD_PYTORCH,
    COORD_ALIGN_CORNERS,
    COORD_ASYMMETRIC,
    COORD_CROP,
    COORD_TF_NEAREST
};
enum near_mode { NEAR_PREFER_FLOOR, NEAR_PREFER_CEIL, NEAR_FLOOR, NEAR_CEIL };

struct resize_attr {
    int mode, coord, near, policy;
    int64_t antialias, exclude_outside;
    float cubic_a, outside;
    struct attr_ints axes;
    /* Of a stream: along window_axis (-1: along none) the input is a window onto it; scale, output
     * frame of place 0, place of input frame 0. */
    int64_t window_axis, up, down, first, shift;
};

/* ArgMax, ArgMin, Compress, Concat, DequantizeLinear, Flatten, Gather, GatherElements, Hardmax,
 * LayerNormalization, LogSoftmax, LpNormalization, OneHot, QuantizeLinear, ScatterElements,
 * Softmax, Split, TopK, Unique: theirs begin with it. */
static inline int64_t axis_of(const struct node *n)
{
    return ((const struct axis_attr *) n->attr)->axis;
}

/* Conv, ConvInteger, ConvTranspose, AveragePool, LpPool, MaxPool: theirs begin with it. */
static inline const struct window_attr *window_attr_of(const struct node *n)
{
    return n->attr;
}

/* Conv, ConvInteger, and ConvTranspose, whose begins with it. */
static inline const struct conv_attr *conv_attr_of(const struct node *n)
{
    return n->attr;
}

/* ByteConv */
static inline const struct byte_conv_attr *byte_conv_attr_of(const struct node *n)
{
    return n->attr;
}

/* BytePool */
static inline const struct byte_pool_attr *byte_pool_attr_of(const struct node *n)
{
    return n->attr;
}

/* ConvTranspose */
static inline const struct deconv_attr *deconv_attr_of(const struct node *n)
{
    return n->attr;
}

/* AveragePool, LpPool, MaxPool */
static inline const struct pool_attr *pool_attr_of(const struct node *n)
{
    return n->attr;
}

/* Gemm */
static inline const struct gemm_attr *gemm_attr_of(const struct node *n)
{
    return n->attr;
}

/* Transpose */
static inline const struct transpose_attr *transpose_attr_of(const struct node *n)
{
    return n->attr;
}

/* Pad */
static inline const struct pad_attr *pad_attr_of(const struct node *n)
{
    return n->attr;
}

/* Frame */
static inline const struct frame_attr *frame_attr_of(const struct node *n)
{
    return n->attr;
}

/* OverlapAdd */
static inline const struct overlap_attr *overlap_attr_of(const struct node *n)
{
    return n->attr;
}

/* QuantizeLinear, DequantizeLinear */
static inline const struct quant_attr *quant_attr_of(const struct node *n)
{
    return n->attr;
}

/* The Reduce ops */
static inline const struct reduce_attr *reduce_attr_of(const struct node *n)
{
    return n->attr;
}

/* ArgMax, ArgMin */
static inline const struct arg_attr *arg_attr_of(const struct node *n)
{
    return n->attr;
}

/* Cast, CastLike */
static inline const struct cast_attr *cast_attr_of(const struct node *n)
{
    return n->attr;
}

/* ScatterElements, ScatterND */
static inline const struct scatter_attr *scatter_attr_of(const struct node *n)
{
    return n->attr;
}

/* Trilu */
static inline const struct trilu_attr *trilu_attr_of(const struct node *n)
{
    return n->attr;
}

/* EyeLike */
static inline const struct eye_attr *eye_attr_of(const struct node *n)
{
    return n->attr;
}

/* ReverseSequence */
static inline const struct reverse_attr *reverse_attr_of(const struct node *n)
{
    return n->attr;
}

/* Mod, BitShift */
static inline const struct binary_attr *binary_attr_of(const struct node *n)
{
    return n->attr;
}

/* CumSum */
static inline const struct cumsum_attr *cumsum_attr_of(const struct node *n)
{
    return n->attr;
}

/* ConstantOfShape */
static inline const struct value_attr *value_attr_of(const struct node *n)
{
    return n->attr;
}

/* GatherND */
static inline const struct gather_nd_attr *gather_nd_attr_of(const struct node *n)
{
    return n->attr;
}

/* BatchNormalization */
/* y = x * ret[k] + ret[n + k] of channel k of n, rounded twice; made once where all is constant. */
void batch_numbers(float eps, int64_t n, const float *gain, const float *shift, const float *mean,
                   const float *var, float *ret);
static inline const struct batch_attr *batch_attr_of(const struct node *n)
{
    return n->attr;
}

/* Resize */
static inline const struct resize_attr *resize_attr_of(const struct node *n)
{
    return n->attr;
}

/* LeakyRelu, and other functions of one number that have any */
static inline const struct unary_attr *unary_attr_of(const struct node *n)
{
    return n->attr;
}
#endif
