/* SPDX-License-Identifier: MIT */
/* internal.h - what the parts of the reader share.
 *
 * protobuf.c  checks the wire format, unpacks
 * functions.c writes out what the file itself defines, function_names.c under names of its own
 * outline.c   names, order, captures and what is needed, for a graph and the graphs within it
 * convert.c   outline -> struct graph: inputs, bodies, nodes
 * op_rows.c   the table of ops, which names the upgrades
 * upgrade.c   brings old forms to the newest; compose.c writes ops as others, quant.c and loss.c
 *             those of their names, attention.c and attention_vendor.c what transformers have,
 *             fused.c what optimisers joined, qlinear.c and nbits.c what is of another domain,
 *             control.c bodies of Loops, Ifs and Scans, sequence.c sequences; qparams.c refuses
 * wrong scales and zeros conversion.c   what upgrades work with: attributes, inputs, constants,
 * nodes of a graph; emitter.c   the same for many nodes in a row tensor.c    tensors and their
 * data, external.c where it lies in other files attr.c, attr_check.c, fact.c, map.c, text.c
 * attributes, types and shapes, names to wires, printable text */
#ifndef RILL_MODELS_ONNX_INTERNAL_H
#define RILL_MODELS_ONNX_INTERNAL_H
#include "engine/graph/op.h"
#include "models/onnx/message.h"
#include "models/onnx/reader.h"

#define SYMBOLS_MAX 64

/* ---- map.c: text -> number; keys are borrowed ---- */

struct map {
    struct arena *arena;
    struct map_slot {
        const char *key;
        uint32_t value;
    } * slots;
    uint32_t n, cap;
};

/* Adds or replaces; false when the arena is full. */
bool map_set(struct map *m, const char *key, uint32_t value);
uint32_t *map_get(const struct map *m, const char *key); /* NULL if absent */

struct outline;
struct body_of;

/* What a node is read as. */
struct onnx_version {
    int64_t opset;
    bool other_domains; /* no opset of the standard's is said, and none of its ops may be used */
    const char *of;     /* who says so, for messages */
};

/* A node of a file with functions. */
struct versioned_node {
    Onnxpb__Node pb;
    const struct onnx_version *version;
};

struct reader {
    struct arena *arena; /* of the result */
    struct dims *dims;
    const struct bytes *file;
    const Onnxpb__Model *model;  /* while its graph is read */
    struct onnx_limits limits;   /* all fields set */
    struct onnx_version version; /* of the model, then of the node that is read */
    bool has_versions;           /* each node is one with its version */
    uint64_t tensor_bytes;       /* decoded so far */
    struct map symbols;          /* dimension symbol -> index of the name it stands for */
    const char *symbol_name[SYMBOLS_MAX];
    enum onnx_unknown unknown;
    rill_error *err;
    /* Calls from upgrades to what stands above them: op_rows.c and convert.c. */
    rill_status (*op_refuse)(struct reader *r, const char *node, const char *domain, const char *op,
                             int64_t opset);
    rill_status (*graph_make)(struct reader *r, const struct outline *from, const char **capture,
                              uint32_t n_capture, const struct body_of *body, struct graph *ret);
};

rill_status no_memory(const struct reader *r); /* text.c */

/* ---- outline.c ---- */

/* A node of the file with what it reads: its inputs and, if it has bodies, what those take from
 * outside. */
struct outline_node {
    const Onnxpb__Node *pb;
    const char *name, *op;
    const char **in, **out; /* "" where absent */
    uint32_t n_in, n_out;
    const char **capture; /* the same list for all bodies */
    uint32_t n_capture;
    struct outline **body;
    const char **body_name; /* of the attribute */
    uint32_t n_body;
    bool needed; /* by an output of its graph */
};

struct outline {
    const Onnxpb__Graph *pb;
    const char *name;
    struct outline_node *nodes; /* each after those that make what it reads */
    uint32_t n_nodes;
    const char **free_name; /* read here or below, defined outside */
    const char **free_by;   /* name of the node that reads it first */
    uint32_t n_free;
    struct map constant; /* value name -> index of the initializer */
};

rill_status outline_from_pb(const struct reader *r, const Onnxpb__Graph *pb, struct outline **ret);

/* ---- functions.c, function_opsets.c ---- */

/* Writes out the calls in m of the functions that it defines, in a. The names of the model's own
 * values stay. */
rill_status functions_inline(struct reader *r, struct arena *a, Onnxpb__Model *m);
/* The same m as a file of its own: it imports what the functions did, which are gone, and its own
 * opset, or the newest of nodes that are younger; refused where a node would be another there. */
rill_status functions_leave(struct reader *r, struct arena *a, Onnxpb__Model *m);

/* ---- tensor.c, external.c, fact.c, attr.c ---- */

/* what: for messages, e.g. "constant 'w'". */
rill_status onnx_tensor(struct reader *r, const Onnxpb__Tensor *t, const char *what,
                        const struct tensor **ret);
rill_status onnx_dtype(const struct reader *r, int64_t code, const char *what, enum dtype *ret);
/* sparse.c: the same with zeros between its values. */
rill_status onnx_sparse(struct reader *r, const Onnxpb__SparseTensor *s, const char *what,
                        const struct tensor **ret);
/* Opens the file that holds t's n bytes, checks that it does, and reads them if data is not
 * NULL. */
rill_status external_read(const struct reader *r, const Onnxpb__Tensor *t, const char *what,
                          void *data, size_t n);
/* What the file says of an output, as a hint: files are wrong about it often enough. */
rill_status output_hint(struct reader *r, const Onnxpb__Type *pb, struct wire *ret);
rill_status fact_from_pb(struct reader *r, const char *input, const Onnxpb__Type *pb,
                         struct fact *ret);
bool onnx_attr_is_type(const Onnxpb__Attribute *pb);
rill_status onnx_attr(struct reader *r, const char *node, const Onnxpb__Attribute *pb,
                      struct attr *ret);

/* ---- conversion.c, convert.c: a node being converted; upgrades change it ---- */

/* What stands for a sequence of tensors (sequence.c). */
struct sequence {
    enum {
        SEQUENCE_LIST,
        SEQUENCE_STACK,
        SEQUENCE_GROWS, /* in the body of a Loop, of which it is a state */
    } kind;
    uint32_t n; /* of LIST */
    const uint32_t *element;
    uint32_t stack; /* of STACK: the elements along an axis */
    int64_t axis;
    bool keep;     /* each has that axis, too */
    bool same;     /* of STACK: the stack is one element, and each of as many as there are frames */
    unsigned port; /* of GROWS: input of the body */
    uint32_t put;  /* what comes behind its end; WIRE_NONE: nothing so far */
    bool in_front; /* put comes in front of its first one instead */
};

struct scope {
    struct reader *r;
    const struct body_of *body; /* NULL: the graph of the model */
    const struct outline *from;
    struct graph *g;
    struct map wires;     /* value name -> wire */
    struct map sequences; /* value name -> index of what stands for it */
    struct sequence *sequence;
    struct map float8; /* value name -> number of the format, of floats of 8 bits */
};

/* Of a body: the scope of its node, and which of its inputs are sequences that a Loop fills; these
 * are none of the graph, and what they grow by are its last outputs. */
struct body_of {
    struct scope *outer;
    const bool *grows; /* NULL: none */
    bool *in_front;    /* to set, of each of those: whether it grows in front */
    unsigned n_grows;  /* inputs that the lists tell of */
};

struct conversion {
    struct reader *r;
    struct scope *scope;
    const struct outline_node *node;
    const struct op_row *row;
    const char *domain; /* of the row; "": the standard one */
    const char *name;   /* of the node, for messages */
    struct attr *attr;
    unsigned n_attr;
    uint32_t *in, *out; /* room for CONVERT_SPARE more inputs */
    unsigned n_in, n_out;
    const char *engine; /* op to emit; NULL: everything is emitted already */
};

/* The graph of an outline; captures become its last inputs. */
rill_status graph_from_outline(struct reader *r, const struct outline *from, const char **capture,
                               uint32_t n_capture, const struct body_of *body, struct graph *ret);

/* The wire of a value name in a scope; WIRE_NONE for "". Constants are read when first asked
 * for. */
rill_status scope_wire(struct scope *s, const char *name, uint32_t *ret);

#define CONVERT_SPARE 8

/* ---- op_rows.c ---- */

struct op_row {
    const char *name;
    int first, last; /* opsets */
    const char *engine;
    rill_status (*upgrade)(struct conversion *l);
    const char *note;
};

/* domain: "" is the standard one. */
const struct op_row *op_row_find(const char *domain, const char *name, int64_t opset);
rill_status onnx_opset_refuse(struct reader *r);
/* Refuses an op, saying what is near it or which opsets would do. */
rill_status op_row_refuse(struct reader *r, const char *node, const char *domain, const char *op,
                          int64_t opset);

/* ---- conversion.c ---- */

#define convert_fail(l, status, ...) convert_fail_((l), (status), __VA_ARGS__)
__attribute__((format(printf, 3, 4))) rill_status convert_fail_(const struct conversion *l,
                                                                rill_status s, const char *fmt,
                                                                ...);

struct attr *convert_attr(struct conversion *l, const char *name); /* NULL if absent */
void convert_attr_drop(struct conversion *l, const char *name);
rill_status convert_set_int(struct conversion *l, const char *name, int64_t v);
rill_status convert_set_text(struct conversion *l, const char *name, const char *text);
int64_t convert_int(struct conversion *l, const char *name, int64_t absent);
/* "" where the attribute is no text, or several. */
const char *convert_text(struct conversion *l, const char *name, const char *absent);
float convert_float_of(struct conversion *l, const char *name, float absent);

/* Puts wire w at input i; inputs between are absent. */
rill_status convert_input(struct conversion *l, unsigned i, uint32_t w);
bool convert_has(const struct conversion *l, unsigned i);

/* Constants: a list, or a scalar, or any tensor (of the arena). */
rill_status convert_ints(struct conversion *l, const int64_t *v, unsigned n, uint32_t *ret);
rill_status convert_int_scalar(struct conversion *l, int64_t v, uint32_t *ret);
rill_status convert_const(struct conversion *l, const struct tensor *t, uint32_t *ret);

/* Adds a node whose outputs are wires already, of the name of the present one. */
rill_status convert_add(struct conversion *l, const char *engine, const struct attr *attr,
                        unsigned n_attr, const uint32_t *in, unsigned n_in, uint32_t *out,
                        unsigned n_out);

/* Emits one more node. in: wires, out: the wire it makes (new unless *out is a wire already). */
rill_status convert_emit(struct conversion *l, const char *engine, const struct attr *attr,
                         unsigned n_attr, const uint32_t *in, unsigned n_in, uint32_t *out,
                         unsigned n_out);
/* The same for one or two inputs, no attributes, one new output. */
rill_status convert_unary(struct conversion *l, const char *engine, uint32_t x, uint32_t *ret);
rill_status convert_binary(struct conversion *l, const char *engine, uint32_t x, uint32_t y,
                           uint32_t *ret);
/* A number of the element type that wire `like` will turn out to have. */
rill_status convert_float(struct conversion *l, float v, uint32_t like, uint32_t *ret);

rill_status convert_cast(struct conversion *l, uint32_t x, enum dtype type, uint32_t *ret);

/* What the file says of an input before anything is typed. DTYPE_NONE and -1: nothing. */
enum dtype convert_type(const struct conversion *l, unsigned i);
/* The element type that attribute `name` tells by the format's number. */
rill_status convert_dtype(const struct conversion *l, const char *name, int64_t code,
                          enum dtype *ret);
int convert_rank(const struct conversion *l, unsigned i);
/* A constant's tensor; NULL: absent, or known later. */
const struct tensor *convert_value(const struct conversion *l, unsigned i);
/* Of a list of integers that is a constant: each is at least so much. what: as the standard calls
 * it */
rill_status convert_least_check(const struct conversion *l, unsigned i, const char *what,
                                int64_t least);
/* The size along an axis (-1: the last), as the file says it of an input or a constant; -1: open */
int64_t convert_size(const struct conversion *l, unsigned i, int axis);
/* What the file says of output `out`: as large along the axis as input i, or not. */
enum size_told { SIZE_OPEN, SIZE_KEPT, SIZE_OTHER };
enum size_told convert_output_told(const struct conversion *l, unsigned out, unsigned i,
                                   size_t axis);

/* ---- emitter.c: nodes of one output, one after the other ---- */

/* After the first failure nothing more is emitted, and wires are WIRE_NONE. */
struct emitter {
    struct conversion *l;
    rill_status status;
};

uint32_t emit_node(struct emitter *e, const char *engine, const struct attr *attr, unsigned n_attr,
                   const uint32_t *in, unsigned n_in);
/* With one attribute. */
uint32_t emit_with(struct emitter *e, const char *engine, const char *name, int64_t v,
                   const uint32_t *in, unsigned n_in);
#define EMIT_WIRES(...)                                                                            \
    (const uint32_t[]) { __VA_ARGS__ }, sizeof((const uint32_t[]) { __VA_ARGS__ }) / 4
#define EMIT_INTS(...)                                                                             \
    (const int64_t[]) { __VA_ARGS__ }, sizeof((const int64_t[]) { __VA_ARGS__ }) / 8
#define emit(e, engine, ...) emit_node((e), (engine), NULL, 0, EMIT_WIRES(__VA_ARGS__))
#define emit_list(e, ...) emit_ints((e), EMIT_INTS(__VA_ARGS__))
/* Lists end to end. */
#define emit_joined(e, ...) emit_with((e), "Concat", "axis", 0, EMIT_WIRES(__VA_ARGS__))
uint32_t emit_ints(struct emitter *e, const int64_t *v, unsigned n);
uint32_t emit_int(struct emitter *e, int64_t v);
uint32_t emit_float(struct emitter *e, float v, uint32_t like);
uint32_t emit_cast(struct emitter *e, uint32_t x, enum dtype to);
uint32_t emit_turned(struct emitter *e, uint32_t x, const int64_t *perm, unsigned rank);
/* The sizes of axes first to end - 1, as a list. */
uint32_t emit_sizes(struct emitter *e, uint32_t x, int first, int end);
/* 0, 1, .. below a size of one element. */
uint32_t emit_range(struct emitter *e, uint32_t size);
/* 0, unless any number of off is another: then an index that is not there ends the run, and why is
 * said. */
uint32_t emit_held(struct emitter *e, uint32_t off, const char *why);
/* Output i of the node is w, where it is wanted; nothing but outputs is emitted after the last. */
rill_status emit_output(struct emitter *e, unsigned i, uint32_t w);

/* ---- sequence.c: sequences of tensors, which the engine does not have ---- */

const struct sequence *scope_sequence(const struct scope *s, const char *name); /* NULL: none */
rill_status scope_sequence_set(struct scope *s, const char *name, const struct sequence *q);
/* One wire with the elements along an axis, of a LIST along axis 0. */
uint32_t sequence_stacked(struct emitter *e, const struct sequence *q);
/* Elements that a wire has along axis 0, one behind the other along `axis` of theirs. */
uint32_t stack_joined(struct emitter *e, uint32_t stack, int64_t axis);

/* ---- grown.c: states of a Loop that grow by a Concat ---- */

struct grown {
    bool is;
    int64_t axis;
    uint32_t first, last; /* as it goes in, and as it comes out; WIRE_NONE: nobody wants it */
};

/* Makes scanned outputs of them, in the order of the node's inputs with the sequences that grow, of
 * which the body has n_sequences: *ret for each state. How many. */
unsigned grown_take(struct conversion *l, struct graph *body, bool *grows, unsigned n_sequences,
                    struct grown *ret);
/* The state after the Loop, of what was scanned. */
rill_status grown_put(struct conversion *l, const struct grown *q, uint32_t stack);
/* Whether an output of a node is a sequence, and whether it may read one. */
bool sequence_is_made(const struct conversion *l, unsigned out);
rill_status sequence_use_check(const struct conversion *l, unsigned in);

/* ---- float8.c: floats of 8 bits, which the engine holds as f16 ---- */

/* least: the smallest exponent of a number of all bits; one_zero: there are no infinities and no
 * -0, whose place is the NaN. */
struct float8 {
    int64_t code; /* the format's number */
    int mantissa, least;
    float most;
    bool infinite, one_zero;
};
const struct float8 *float8_find(int64_t code); /* NULL: not of 8 bits */
bool float8_is(int64_t code);
/* bytes: as the file has them, u8 */
rill_status float8_tensor(struct reader *r, const struct tensor *bytes, int64_t code,
                          const struct tensor **ret);
/* code: any; those of 8 bits are remembered. */
rill_status scope_float8_set(struct scope *s, const char *name, int64_t code);

/* ---- fused.c: activations that are an attribute of what comes before ---- */

/* x through the activation of that name; "": x. number: its parameters, as the file has them. */
rill_status activated(struct conversion *l, const char *name, const float *number,
                      unsigned n_number, uint32_t x, uint32_t *ret);
/* What a convolution says of its own, which is dropped of the node. */
struct conv_activation {
    const char *name;
    const float *number;
    unsigned n_number;
};
void conv_activation_take(struct conversion *l, struct conv_activation *ret);

/* ---- qparams.c: what is wrong of a quantised op's inputs is refused; absent ones are fine ---- */

/* What numbers a parameter has: one for all, or what is said here. */
struct qparam_form {
    const char *each;    /* a list has one number for each of these; NULL: there are no lists */
    const struct dim *n; /* so many; NULL: not known */
    bool list_only;      /* one number would not do */
    bool halves;         /* scales may be of 16 bits */
    const struct fact
        *of;    /* one for each row or column of every matrix of this will do; NULL: no */
    int summed; /* axis of the sum in that: -1 (rows) or -2 (columns) */
};

/* For each row, or column, of the matrices at input x. Good until a node is emitted. */
struct qparam_form convert_matrix_form(const struct conversion *l, unsigned x, bool rows);

/* required: a set of inputs. */
rill_status convert_inputs_check(const struct conversion *l, unsigned least, unsigned most,
                                 unsigned required);
rill_status convert_scale_check(const struct conversion *l, unsigned i,
                                const struct qparam_form *form);
/* Of its numbers alone: where they are known they are finite and greater than 0. */
rill_status convert_scale_values_check(const struct conversion *l, unsigned i);
/* Of the type of input `of`; where that is the zero itself, of any with 8 bits. */
rill_status convert_zero_check(const struct conversion *l, unsigned i, unsigned of,
                               const struct qparam_form *form);
rill_status convert_bias_check(const struct conversion *l, unsigned i, enum dtype type,
                               const struct qparam_form *form);
/* The same wire, as one number where its shape is not known: typing holds it to that. */
rill_status convert_one(struct conversion *l, uint32_t w, uint32_t *ret);

/* ---- compose.c, quant.c: several nodes for one ---- */

/* Softmax and its like over all axes from `axis` on, as one; -1: the last alone. */
rill_status convert_softmax_rows(struct conversion *l, const char *engine, uint32_t x, int64_t axis,
                                 uint32_t *ret);
/* text: of the arena, or constant; NULL is no memory */
rill_status convert_einsum(struct conversion *l, const char *text, const uint32_t *in, unsigned n,
                           uint32_t *ret);
/* The product of two matrices of small integers, less their zeros (WIRE_NONE: 0): whole numbers.
 * Zero a is one for all, zero b may have one for each column. */
rill_status convert_product(struct conversion *l, uint32_t a, uint32_t b, uint32_t zero_a,
                            uint32_t zero_b, uint32_t *ret);
/* Whole numbers y by the scale that each has, as small integers again, by the scale at input `to`
 * and the zero behind it; the node is done. */
rill_status convert_requantized(struct conversion *l, uint32_t y, uint32_t scale_a,
                                uint32_t scale_b, unsigned to);

/* Of a node that becomes others: attributes that are not known are refused. */
rill_status convert_attrs_check(const struct conversion *l); /* attr_check.c */

/* Adds a node with a body of no captures; its outputs are new wires. */
rill_status convert_with_body(struct conversion *l, const struct op *op, const void *attr,
                              struct graph **body, const uint32_t *in, unsigned n_in, uint32_t *out,
                              unsigned n_out); /* control.c */

/* ---- conversion.c, convert.c again ---- */

/* Points output 0 of the node at w: emits an Identity into it, nothing more is emitted. */
rill_status convert_finish(struct conversion *l, uint32_t w);

/* Upgrades named in the table. */
/* clang-format off */
/* upgrade.c */
#define UPGRADE_FORMS(X)                                                                           \
    X(axes_input) X(batchnorm_1) X(batchnorm_7) X(batchnorm_9) X(batchnorm_14) X(clip_6)           \
    X(dft_17) X(drop_training) X(dtype_attr) X(gemm_6) X(legacy_broadcast) X(pad_2) X(prelu_1)     \
    X(resize) X(resize_10) X(scan_8) X(slice_1) X(split_2) X(split_13) X(topk_1) X(upsample_7) X(upsample_9)
/* compose.c */
#define UPGRADE_COMPOSED(X)                                                                        \
    X(constant) X(dropout) X(fused_matmul) X(groupnorm_18) X(mvn) X(softmax_1) X(swiglu)
/* attention.c, attention_vendor.c, attention_packed.c */
#define UPGRADE_ATTENTION(X)                                                                       \
    X(attention) X(causal_conv) X(rotary) X(group_query_attention) X(multi_head_attention)         \
    X(packed_attention) X(vendor_causal_conv) X(vendor_rotary)
/* indexed.c, grid.c, linear_attention.c */
#define UPGRADE_INDEXED(X)                                                                         \
    X(center_crop_pad) X(col2im) X(grid_sample) X(linear_attention) X(tensor_scatter)              \
    X(vendor_linear_attention)
/* fused.c */
#define UPGRADE_FUSED(X)                                                                           \
    X(bias_gelu) X(embed_layer_norm) X(fast_gelu) X(fused_conv) X(fused_gemm) X(quick_gelu) X(scaled_silu)     \
    X(simplified_norm) X(skip_layer_norm) X(skip_rms_norm) X(vendor_range)
/* nchwc.c */
/* Refuses a convolution, channels last, that was made of one of channels in blocks: its weights lie
 * in their order, turned around. */
rill_status nchwc_origin_refuse(const struct conversion *l);
#define UPGRADE_BLOCKED(X) X(nchwc_conv) X(nchwc_upsample) X(reorder_input) X(reorder_output)
/* loss.c */
#define UPGRADE_LOSSES(X) X(cross_entropy) X(nll_loss)
/* quant.c */
#define UPGRADE_QUANTISED(X) X(matmul_integer) X(qlinear_conv) X(qlinear_matmul)
/* qlinear.c, nbits.c */
#define UPGRADE_VENDOR(X)                                                                          \
    X(dynamic_lstm) X(dynamic_matmul) X(gather_blocks) X(matmul_nbits) X(matmul_to_float)          \
    X(nhwc_conv) X(nhwc_max_pool) X(qattention) X(qgemm) X(qlinear_add) X(qlinear_concat)                       \
    X(qlinear_global_pool) X(qlinear_leaky_relu) X(qlinear_mean) X(qlinear_mul) X(qlinear_pool)    \
    X(qlinear_sigmoid) X(qlinear_softmax) X(qlinear_where) X(vendor_qlinear_conv)
/* float8_cast.c */
#define UPGRADE_FLOAT8(X) X(cast) X(cast_like) X(dequantize) X(quantize)
/* sequence.c */
#define UPGRADE_SEQUENCES(X)                                                                       \
    X(concat_from_sequence) X(optional) X(optional_has) X(sequence_at) X(sequence_construct)       \
    X(sequence_empty) X(sequence_erase) X(sequence_insert) X(sequence_length) X(split_to_sequence)
/* control.c */
#define UPGRADE_CONTROL(X) X(if_) X(loop) X(scan_9)
#define UPGRADE_EACH(X)                                                                            \
    UPGRADE_FORMS(X) UPGRADE_COMPOSED(X) UPGRADE_ATTENTION(X) UPGRADE_INDEXED(X) UPGRADE_FUSED(X) UPGRADE_BLOCKED(X) UPGRADE_LOSSES(X) UPGRADE_QUANTISED(X) UPGRADE_VENDOR(X)  \
    UPGRADE_SEQUENCES(X) UPGRADE_FLOAT8(X) UPGRADE_CONTROL(X)
/* clang-format on */
#define X(name) rill_status up_##name(struct conversion *l);
UPGRADE_EACH(X)
#undef X
#endif
