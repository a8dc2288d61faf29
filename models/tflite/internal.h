/* SPDX-License-Identifier: MIT */
/* internal.h - what the parts of the reader share.
 *
 * flat.c      numbers, lists and tables within their bounds
 * reader.c    the model: subgraphs, ports, operators one by one
 * tensor.c    tensors of the file, their constants, their scales
 * emit.c      what conversions work with: operands, constants, nodes of the graph
 * op_rows.c   the table of operators, which names the conversions; names.c all of the format
 * move.c      operators that move elements; real.c those of floats
 * whole.c     those of bytes; table.c those of one operand that are looked up
 * short.c     those of 16 bits that whole.c does not have
 * product.c   convolutions and products of either; deconv.c transposed ones
 * resize.c    images of other sizes; svdf.c and lstm*.c layers with states; state.c variables */
#ifndef RILL_MODELS_TFLITE_INTERNAL_H
#define RILL_MODELS_TFLITE_INTERNAL_H
#include "engine/graph/op.h"
#include "models/tflite/flat.h"
#include "models/tflite/reader.h"
#include "models/tflite/schema.h"

/* What the numbers of a tensor stand for: (number - zero) * scale; n 0: themselves. */
struct quant {
    struct flat_list scale, zero;
    uint32_t n;
    int32_t axis;
};

struct tfl_tensor {
    const char *name; /* printable */
    int element;      /* number of the format */
    struct tensor shape;
    unsigned open; /* bit i: the file leaves the size of axis i open; shape has 1 there */
    bool ranked;   /* false: a shape of no axes may stand for any */
    uint32_t buffer;
    bool variable, read; /* read: by an operator */
    struct quant q;
    uint32_t wire;     /* WIRE_NONE: not yet */
    uint32_t resource; /* of a handle: its variable */
};

/* A variable of the file, by the name that its handles share. */
struct variable {
    const char *name;
    const struct tensor *init; /* NULL: nothing was assigned before the first run */
    uint32_t in, now;          /* wires: at the start of a run; where its value is now */
};

#define VARIABLES_MAX 1024

struct reader {
    struct arena *arena;
    struct dims *dims;
    struct flat flat;
    uint64_t tensor_bytes, tensor_bytes_max;
    struct flat_list codes, graphs, buffers;
    struct variable *variables;
    uint32_t n_variables;
    uint32_t n_open; /* axes of inputs that are symbols */
    rill_error *err;
    /* Call from state.c to what stands above it: runs subgraph i before the first run. */
    rill_status (*graph_once)(struct reader *r, uint32_t i);
};

/* A subgraph while it is read. */
struct subgraph {
    struct reader *r;
    struct flat_table table;
    struct tfl_tensor *tensors;
    uint32_t n_tensors;
    struct graph *g;
};

struct op_row;

/* An operator while it is converted. */
struct conversion {
    struct reader *r;
    struct subgraph *s;
    const struct op_row *row;
    uint32_t index; /* in its subgraph */
    const char *name;
    const char *origin;                /* both, for messages; NULL: of a port */
    struct flat_list in, out, between; /* between: what only scales its parts */
    struct flat_table options;
};

struct op_row {
    int number; /* of the format */
    int min_in, max_in, min_out, max_out;
    int like; /* the input whose type all outputs have; -1: none */
    rill_status (*convert)(struct conversion *c);
    int with;  /* what convert makes of it: an op of the engine, a form */
    bool once; /* may run before the first run */
};

#define RESHAPE_BY_SIZES 1 /* with, of RESHAPE */

const struct op_row *tfl_op_find(int number);
const char *tfl_op_name(int number); /* also of those that are not read */

/* ---- tensor.c ---- */

rill_status tfl_no_memory(const struct reader *r);

rill_status tfl_tensors_read(struct subgraph *s);
/* The constant that the file holds for t, NULL where it holds none. */
rill_status tfl_tensor_value(struct reader *r, const struct tfl_tensor *t,
                             const struct tensor **ret);
rill_status tfl_text_read(struct reader *r, struct flat_table t, unsigned field, const char **ret);
float tfl_quant_scale(const struct reader *r, const struct tfl_tensor *t, uint32_t i);
/* Whether every zero point is 0. */
bool tfl_quant_centred(const struct reader *r, const struct tfl_tensor *t);
int32_t tfl_quant_zero(const struct reader *r, const struct tfl_tensor *t);

/* ---- emit.c ---- */

#define tfl_fail(c, status, ...) tfl_fail_((c), (status), __VA_ARGS__)
__attribute__((format(printf, 3, 4))) rill_status tfl_fail_(const struct conversion *c,
                                                            rill_status s, const char *fmt, ...);
/* Operand i; NULL: absent. */
const struct tfl_tensor *tfl_in(const struct conversion *c, unsigned i);
const struct tfl_tensor *tfl_out(const struct conversion *c, unsigned i);
enum dtype tfl_type(const struct conversion *c, unsigned i); /* of input i; NONE: absent */

/* Strides, dilations and windows of the format are 1 to 32767; a stride that a file lacks is 0. */
rill_status tfl_step_check(const struct conversion *c, const char *what, int64_t v);

/* Refuses where the size of an axis of t is wanted that the file leaves open; why: for what. */
rill_status tfl_known(const struct conversion *c, const struct tfl_tensor *t, int axis,
                      const char *why);

/* The wire of input i; WIRE_NONE where absent. */
rill_status tfl_wire(struct conversion *c, unsigned i, uint32_t *ret);
/* The value of input i, which must be a constant. */
rill_status tfl_const(struct conversion *c, unsigned i, const struct tensor **ret);
/* The same of at most cap whole numbers. */
rill_status tfl_ints(struct conversion *c, unsigned i, int64_t *ret, unsigned cap, unsigned *ret_n);

/* Constants as wires: a list of i64 or i32, a float. */
rill_status tfl_wire_of(struct conversion *c, const struct tensor *t, uint32_t *ret);
rill_status tfl_wire_i64s(struct conversion *c, const int64_t *v, unsigned n, uint32_t *ret);
rill_status tfl_wire_i64(struct conversion *c, int64_t v, uint32_t *ret); /* rank 0 */
rill_status tfl_wire_f32(struct conversion *c, float v, uint32_t *ret);

/* One more node, whose results are new wires. */
rill_status tfl_emit(struct conversion *c, enum op_id id, const struct attr *attrs,
                     unsigned n_attrs, const uint32_t *in, unsigned n_in, uint32_t *ret,
                     unsigned n_out);
rill_status tfl_emit1(struct conversion *c, enum op_id id, uint32_t x, uint32_t *ret);
rill_status tfl_emit2(struct conversion *c, enum op_id id, uint32_t x, uint32_t y, uint32_t *ret);
rill_status tfl_emit_transpose(struct conversion *c, const int64_t *perm, unsigned n, uint32_t x,
                               uint32_t *ret);
/* To the shape of output or input tensor t. */
rill_status tfl_emit_reshape(struct conversion *c, uint32_t x, const struct tfl_tensor *t,
                             uint32_t *ret);
rill_status tfl_emit_shape(struct conversion *c, uint32_t x, const int64_t *dim, unsigned n,
                           uint32_t *ret);
/* The activation after an operator of floats. */
rill_status tfl_emit_activation(struct conversion *c, int activation, uint32_t x, uint32_t *ret);
/* Output i of the operator is wire w, which typing finds to be what the file says of the output. */
rill_status tfl_result(struct conversion *c, unsigned i, uint32_t w);

/* ---- quantised numbers ---- */

struct factor {
    int32_t multiplier, shift;
};
/* multiplier * 2^(shift - 31) next to v; v >= 0 */
struct factor tfl_factor_of(double v);
/* Whether x is next to a power of two, 2^*ret. */
bool tfl_power_of_two(float x, int *ret);
/* v times f, rounded twice, as Requantize does it. */
int32_t tfl_factor_apply(struct factor f, int32_t v);
/* v / 2^by, halves away from zero. */
int32_t tfl_halved(int32_t v, int by);

static inline int32_t tfl_cut_16(int64_t v)
{
    return v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : (int32_t) v;
}

/* The upper half of 2ab of 16 bits, rounded to nearest, halves away from zero. */
static inline int32_t tfl_high_mul_16(int32_t a, int32_t b)
{
    int32_t ab = a * b;
    return tfl_cut_16((ab + (ab >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

/* The attributes to, zero, low, high of what comes out as tensor y behind an activation. */
#define RANGE_ATTRS 4
rill_status tfl_range_attrs(struct conversion *c, const struct tfl_tensor *y, int activation,
                            struct attr ret[RANGE_ATTRS]);

/* Bytes of floats, and floats of bytes, as tensor t has them (whole.c). */
rill_status tfl_emit_bytes(struct conversion *c, const struct tfl_tensor *t, uint32_t x,
                           uint32_t *ret);
rill_status tfl_emit_reals(struct conversion *c, const struct tfl_tensor *t, uint32_t x,
                           uint32_t *ret);

/* Refuses a tensor of bytes that does not say with one scale and zero what it stands for; whole:
 * also of i16, which are around 0. */
rill_status tfl_single(struct conversion *c, const struct tfl_tensor *t);
rill_status tfl_single_whole(struct conversion *c, const struct tfl_tensor *t);
bool tfl_type_is_byte(enum dtype t);
bool tfl_type_is_whole(enum dtype t); /* 8 bits or i16 */

/* Which inputs of an operator a product is made of. */
struct product_of {
    unsigned x, w, bias;
    unsigned bias_type; /* of i16: field of the options that says its type; 0: none */
    bool full;          /* of i16: rounded once */
};

/* Bytes of input i by the scale and zero of output 0. (table.c) */
rill_status tfl_rescaled(struct conversion *c, unsigned i, uint32_t *ret);
/* One number for each output, the places of that axis of the weights. */
rill_status tfl_bias_check(struct conversion *c, unsigned i, unsigned of_weights, int axis);
/* Multipliers and shifts from a product's scales to that of its result. */
rill_status tfl_factors_make(struct conversion *c, const struct product_of *of, uint32_t ret[2]);
/* Products of i8 leave zero points of their weights out, but full ones with one scale. */
rill_status tfl_byte_scales_check(struct conversion *c, const struct product_of *of, int axis,
                                  bool full);
/* ByteConv of x and weights, as `how` says, scaled to the output. */
#define CONV_HOW_MAX 5
rill_status tfl_byte_conv_emit(struct conversion *c, const struct product_of *of,
                               const struct attr *how, unsigned n_how, int activation, uint32_t x,
                               uint32_t weights, uint32_t *ret);

/* The same of x of i16 (short.c), called by those of bytes. */
rill_status tfl_short_scales_check(struct conversion *c, const struct product_of *of, int axis);
rill_status tfl_short_conv_emit(struct conversion *c, const struct product_of *of,
                                const struct attr *how, unsigned n_how, int activation, uint32_t x,
                                uint32_t weights, uint32_t *ret);

/* Floats x of [rows, k] by weights of [n, k]: floats, or i8 that stand for their numbers times the
 * scale of each output, or the one of all; rows are made bytes as in FULLY_CONNECTED. */
rill_status tfl_emit_rows(struct conversion *c, uint32_t x, const struct tensor *w,
                          const struct tensor *scales, bool shifted, uint32_t *ret);

/* ---- state.c ---- */

/* What input i, a variable tensor that begins as zeros, holds from run to run. */
rill_status tfl_own_state(struct conversion *c, unsigned i, struct variable **ret);

static inline struct attr attr_int(const char *name, int64_t v)
{
    return (struct attr) { .name = name, .kind = ATTR_INT, .i = v };
}

static inline struct attr attr_ints(const char *name, const int64_t *v, uint32_t n)
{
    return (struct attr) { .name = name, .kind = ATTR_INTS, .ints = { n, v } };
}

/* Conversions named in the table. */
/* clang-format off */
#define CONVERT_EACH(X)                                                                            \
    X(conv_2d) X(depthwise_conv_2d) X(transpose_conv) X(fully_connected) X(batch_matmul)           \
    X(reshape) X(transpose) X(concatenation) X(split) X(split_v) X(strided_slice) X(slice) X(pad)  \
    X(pack) X(unpack) X(squeeze) X(expand_dims) X(gather) X(mirror_pad)                            \
    X(binary) X(unary) X(table) X(pool) X(reduce) X(softmax) X(quantize) X(dequantize) X(cast)     \
    X(squared_difference) X(rsqrt) X(relu_like) X(leaky_relu) X(prelu) X(compare) X(alike)         \
    X(resize_nearest) X(resize_bilinear) X(arg) X(l2_normalization) X(cumsum) X(svdf) X(lstm)              \
    X(var_handle) X(read_variable) X(assign_variable) X(call_once)
/* clang-format on */
#define X(name) rill_status tfl_##name(struct conversion *c);
CONVERT_EACH(X)
#undef X

/* The same on i16 (short.c). */
rill_status tfl_short_table(struct conversion *c);
rill_status tfl_short_softmax(struct conversion *c, double beta);

/* The same on bytes (table.c, whole.c); tfl_byte_relu, _binary, _pool and _reduce also on i16. */
rill_status tfl_byte_table(struct conversion *c);
rill_status tfl_byte_relu(struct conversion *c, int activation);
rill_status tfl_byte_binary(struct conversion *c, int activation);
/* kept: strides, sizes of the window, pads */
rill_status tfl_byte_pool(struct conversion *c, const int64_t kept[8], int activation);
rill_status tfl_byte_softmax(struct conversion *c, double beta);
rill_status tfl_byte_prelu(struct conversion *c);
rill_status tfl_byte_norm(struct conversion *c);
rill_status tfl_byte_reduce(struct conversion *c, const int64_t *axes, unsigned n,
                            const struct attr *keep);
#endif
