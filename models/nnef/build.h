/* SPDX-License-Identifier: MIT */
/* build.h - evaluates NNEF trees: numbers at once, tensors into graph nodes. Private to this
 * folder.
 *
 *   reader.c   the door: a text -> a model graph
 *   eval.c     statements, expressions, calls
 *   scope.c    what names stand for
 *   value.c    values -> wires, numbers, lists; nodes
 *   args.c     arguments of a call
 *   stdlib.c   the table of operators; fragments.c, tract_text.c: those that are written in NNEF
 *   extension.c, quant.c
 *              what a text declares in front, and what its quantisation file says
 *   rows.c     operators that their row describes fully
 *   constants.c, array.c, product.c, sampling.c, resize.c, scan.c, part.c, import.c, import_call.c
 *              operators that need more than a row
 *   tract.c, tract_quant.c, tract_scan.c, submodel.c, state.c
 *              operators of tract's registries
 *   dat.c, resource.c
 *              files of tensors, and of values
 *   engine_op.c
 *              ops of the engine, by name
 *   patch.c    a text that changes a model's wires
 *   fail.c     errors, with line and column */
#ifndef RILL_MODELS_NNEF_BUILD_H
#define RILL_MODELS_NNEF_BUILD_H
#include "engine/graph/control.h"
#include "engine/graph/op.h"
#include "models/nnef/nnef.h"

enum val_kind { VAL_NONE, VAL_INT, VAL_REAL, VAL_BOOL, VAL_TEXT, VAL_DIM, VAL_WIRE, VAL_LIST };

struct val {
    enum val_kind kind;
    uint32_t n; /* of a list */
    union {
        int64_t i; /* INT, BOOL */
        double real;
        const char *text;
        const struct dim *dim;  /* never a constant: that is an INT */
        uint32_t wire;          /* of the scope's graph */
        const struct val *list; /* LIST: [..] and (..) alike */
    };
};

struct binding {
    const char *name;
    struct val v;
};

/* The names of one body, and the graph its nodes go to. */
struct scope {
    struct graph *g;
    const char *file;   /* for messages */
    const char *prefix; /* of node names: "" or "fragment/" */
    struct binding *names;
    uint32_t n_names, cap_names;
    const char *target;                    /* what the statement under evaluation assigns */
    const struct nnef_expr *whole;         /* its right side */
    const struct nnef_fragment *inputs_of; /* whose parameters `external` declares; NULL: none */
    const uint32_t *given;                 /* wires for those parameters; NULL: inputs of g */
    bool makes_symbols;                    /* an unknown name becomes a symbol (shapes of inputs) */
    uint32_t n_model; /* wires of g below this are a model's and can be read by name (patches) */
};

struct nnef_row;

/* A tensor of integers that stand for (i - zero) * scale, as a quantisation file says. */
struct quant {
    const char *name;
    struct nnef_pos pos;
    double scale, zero;
    int64_t bits;
    bool is_signed, symmetric;
    uint32_t stored, value; /* wires once they are there: the integers, and what they stand for */
    struct quant *next;
};

/* A tensor that goes on from run to run: tract's load and store. */
struct carried {
    const char *id;
    uint32_t in, out; /* out: WIRE_NONE until it is stored */
    const struct tensor *init;
    struct carried *next;
};

/* A tensor that grows from run to run: an input, and this output. */
struct cache {
    const char *name;
    uint32_t out;
    struct cache *next;
};

struct builder {
    struct arena *arena;
    struct dims *dims;
    const struct nnef_document *doc;
    const struct nnef_limits *limits;
    struct folder *folder;
    nnef_cut *cut; /* NULL: there are no conditional parts */
    struct conf_option *options;
    uint32_t n_options;
    struct nnef_sizes *sizes;
    const char *inside;  /* of the folder: "", or "submodel/" */
    struct graph *graph; /* of the text itself, not of bodies */
    struct quant *quants;
    struct carried *carried;
    struct cache *caches;
    struct resources *resources;    /* json.h's; NULL: none are read */
    struct nnef_fragment *formulas; /* operators written in NNEF themselves */
    struct binding *symbols;
    uint32_t n_symbols, cap_symbols;
    unsigned calls, nodes, steps; /* depth now, nodes so far, expressions so far */
    uint64_t literal_bytes;       /* so far */
    /* stdlib.c's, whose rows evaluate arguments themselves */
    const struct nnef_row *(*row_find)(const char *name);
    rill_error *err;
};

struct call;

/* One operator of the standard library. */
struct nnef_row {
    const char *name;
    const char *signature; /* "x, alpha = 0.1" */
    rill_status (*build)(const struct call *c, struct val *ret);
    const char *op;     /* engine op, where build wants one */
    const char *inputs; /* "x, y, at:i": parameters that are its tensor inputs; i: of integers */
    const char *attrs;  /* "size:i hop:i end:s alpha:f axes:l up:b": those that are attributes */
};

/* A call being built: arguments are evaluated when the operator asks for them. */
struct call {
    struct builder *b;
    struct scope *s;
    const struct nnef_expr *e;
    const struct nnef_row *row;
    const struct nnef_fragment *sig;    /* parameter names and defaults */
    const struct nnef_expr *const *arg; /* one per parameter, NULL: the default */
};

/* ---- fail.c ---- */

__attribute__((format(printf, 5, 6))) rill_status nnef_fail(struct builder *b,
                                                            const struct scope *s,
                                                            struct nnef_pos pos, rill_status status,
                                                            const char *fmt, ...);
#define call_fail(c, status, ...) nnef_fail((c)->b, (c)->s, (c)->e->pos, status, __VA_ARGS__)
rill_status nnef_no_memory(struct builder *b);

/* ---- weights.c ---- */

/* The tensor of a label, of the types that are kept (dat.h); the words lack the place. */
rill_status weight_read(const struct call *c, const char *label, struct tensor **ret);

/* ---- scope.c ---- */

rill_status scope_bind(struct builder *b, struct scope *s, const char *name, struct val v);
/* What a name of the scope itself stands for; NULL: nothing. */
const struct val *scope_find(const struct scope *s, const char *name);
rill_status symbol_add(struct builder *b, const char *name, struct val *ret);
/* one that there is already */
rill_status symbol_bind(struct builder *b, const struct dim *symbol);
const struct val *symbol_find(const struct builder *b, const char *name); /* NULL: none */
const struct nnef_fragment *fragment_find(const struct builder *b, const char *name);
/* Whether the text declares a registry of tract. */
bool speaks_tract(const struct builder *b);
/* Whether tract, or what writes for it, wrote the text: an extension or its properties say so. */
bool comes_of_tract(const struct builder *b);
/* Whether tract made a stream of the graph before it was written: what it carries from frame to
 * frame goes on from run to run. */
bool is_of_pulses(const struct builder *b);
/* The file of a label beneath the text; a '/' in front does not lead out of it. NULL: out of
 * memory. */
const char *label_file(const struct builder *b, const char *label, const char *ending);
/* The registry that the text declares and the operator's name begins with; NULL: none. */
const char *registry_of(const struct builder *b, const char *operator_name);

/* Why an operator of the standard is not there; NULL: it is, or is none of the standard's. */
const char *missing_because(const char *operator_name);

/* ---- extension.c ---- */

rill_status extensions_read(struct builder *b, const struct scope *s);
bool extension_is_assertion(const struct nnef_extension *x);

/* ---- quant.c ---- */

/* graph.quant beside the text, where there is one */
rill_status quants_read(struct builder *b, const struct scope *s);
/* After the graph: each name that the file says was assigned. */
rill_status quants_check(const struct builder *b, const struct scope *s);
/* What the file says of a name that the graph assigns; NULL: nothing. */
struct quant *quant_find(const struct builder *b, const struct scope *s, const char *name);
enum dtype quant_type(const struct quant *q);
/* *v as the tensor that is stored: rounded to its integers, and what they stand for. */
rill_status quant_assign(struct builder *b, struct scope *s, struct quant *q, struct val *v);
/* The integers behind a wire of numbers, or the wire. */
uint32_t quant_stored(const struct builder *b, uint32_t wire);

/* ---- state.c ---- */

/* States of the graph of what was loaded, outputs of caches that grow. */
rill_status states_add(struct builder *b, struct scope *s);
/* Only the graph itself has states. */
rill_status states_allowed(const struct call *c);
/* *w, what a state of a recurrence begins with, is from here on what it was at the end of the run
 * before: *ret, for carried_store. */
rill_status carried_begin(const struct call *c, const char *name, uint32_t *w,
                          struct carried **ret);
/* x is `state` in the next run. */
rill_status carried_store(const struct call *c, struct carried *x, uint32_t state);
/* *ret, the constant that a variable is, where an update of the graph names it: a state that begins
 * so. */
rill_status variable_add(const struct call *c, const char *label, struct val *ret);

/* ---- eval.c ---- */

rill_status eval_expr(struct builder *b, struct scope *s, const struct nnef_expr *e,
                      struct val *ret);
/* Runs the statements of f, whose parameters are bound already (those of the graph by its
 * `external` statements), and collects its results. */
rill_status fragment_run(struct builder *b, struct scope *s, const struct nnef_fragment *f,
                         struct val *ret_results);
rill_status eval_infix(struct builder *b, struct scope *s, struct nnef_pos pos, const char *sign,
                       struct val x, struct val y, struct val *ret);

/* Inputs of a scope's graph in the order of the parameters that they are, not of the statements. */
rill_status inputs_sort(struct builder *b, struct scope *s);

/* ---- value.c ---- */

const char *val_kind_name(struct val v);
struct val val_of_dim(const struct dim *d);
struct val val_of_wire(uint32_t w);
const struct dim *dim_of_val(struct builder *b, struct val v); /* NULL unless INT or DIM */

/* Numbers, and lists of them within each other, become constants of that type, sizes symbolic ones;
 * a wire stays. */
rill_status val_to_wire(struct builder *b, struct scope *s, struct nnef_pos pos, struct val v,
                        enum dtype type, uint32_t *ret);
rill_status const_tensor(struct builder *b, struct graph *g, const struct tensor *t, uint32_t *ret);
rill_status const_f32(struct builder *b, struct graph *g, int rank, const int64_t *dim,
                      const float *data, uint32_t *ret);
rill_status const_i64(struct builder *b, struct graph *g, const int64_t *v, unsigned n,
                      uint32_t *ret);
/* A wire whose integers are known is them, in a list where it has an axis; others stay. */
struct val val_known(const struct builder *b, const struct scope *s, struct val v);
/* A list of sizes: integers, or symbolic where one is. */
rill_status const_sizes(struct builder *b, struct graph *g, const struct dim *const *d, unsigned n,
                        uint32_t *ret);

/* A zeroed constant that no file backs, within the limit; t: type and shape. */
rill_status literal_new(const struct call *c, const struct tensor *t, struct tensor **ret);

/* ---- args.c ---- */

rill_status arg_val(const struct call *c, const char *name, struct val *ret);
rill_status arg_wire(const struct call *c, const char *name, uint32_t *ret);
rill_status arg_wires(const struct call *c, const char *name, uint32_t **ret, unsigned *ret_n);
rill_status arg_int(const struct call *c, const char *name, int64_t *ret);
rill_status arg_real(const struct call *c, const char *name, double *ret);
rill_status arg_bool(const struct call *c, const char *name, bool *ret);
rill_status arg_text(const struct call *c, const char *name, const char **ret);
rill_status arg_ints(const struct call *c, const char *name, int64_t *ret, unsigned cap,
                     unsigned *ret_n);
rill_status arg_dims(const struct call *c, const char *name, const struct dim **ret, unsigned cap,
                     unsigned *ret_n);
/* The expression behind an argument, for those whose names mean something to the operator; NULL:
 * absent. */
const struct nnef_expr *arg_expr(const struct call *c, const char *name);
#define SCAN_PARTS_MAX 4096 /* states, tensors and results of a scan, whose names are compared */

/* The tuples of `width` that a list behind an argument holds; none where it is absent. */
rill_status arg_tuples(const struct call *c, const char *name, uint32_t width,
                       struct nnef_expr *const **ret, unsigned *ret_n);
/* A name as an identifier or in quotes. */
rill_status expr_name(const struct call *c, const struct nnef_expr *e, const char **ret);

/* ---- value.c: nodes ---- */

const struct fact *wire_fact(const struct scope *s, uint32_t w);

/* Adds a node and infers the facts of its outputs. */
rill_status build_node(struct builder *b, struct scope *s, struct nnef_pos pos, const char *op,
                       const struct attr *attrs, unsigned n_attrs, const uint32_t *in,
                       unsigned n_in, uint32_t *out, unsigned n_out);
rill_status call_node(const struct call *c, const char *op, const struct attr *attrs,
                      unsigned n_attrs, const uint32_t *in, unsigned n_in, uint32_t *ret);
/* *w in another type; NONE: as it is. */
rill_status build_cast(struct builder *b, struct scope *s, struct nnef_pos pos, enum dtype to,
                       uint32_t *w);
/* Inputs of an element-wise op brought to one rank: axes are matched from the first, as NNEF
 * says. */
rill_status build_align(struct builder *b, struct scope *s, struct nnef_pos pos, uint32_t *in,
                        unsigned n);

/* clang-format off */
#define ATTR_I(n_, v_) { .name = (n_), .kind = ATTR_INT, .i = (v_) }
#define ATTR_F(n_, v_) { .name = (n_), .kind = ATTR_FLOAT, .f = (v_) }
#define ATTR_L(n_, v_, c_) { .name = (n_), .kind = ATTR_INTS, .ints = { (c_), (v_) } }
#define ATTR_S(n_, p_) { .name = (n_), .kind = ATTR_STRINGS, .strings = { 1, (p_) } }
/* clang-format on */

/* ---- stdlib.c ---- */

/* A builder that has done nothing yet. limits NULL: the usual ones. */
struct builder builder_of(struct arena *a, struct dims *ds, const struct nnef_document *doc,
                          const struct nnef_source *source, const struct nnef_limits *limits,
                          rill_error *reterr);

/* ---- fragments.c ---- */

/* the operators that are formulas of others: b->formulas */
rill_status formulas_parse(struct builder *b);
/* Whether the numbers in `in` suit the library's fragment that e calls from scope s. */
rill_status formula_check(struct builder *b, const struct scope *in, const struct scope *s,
                          const struct nnef_expr *e);

/* ---- tract_text.c ---- */

extern const char *const nnef_tract_texts[]; /* up to NULL */

/* ---- tract.c ---- */

extern const struct nnef_row nnef_tract_rows[]; /* up to one without a name */

/* ---- constants.c ---- */

/* "f32", "I64", ...: as tract writes types. */
rill_status type_of_text(const struct call *c, const char *text, enum dtype *ret);
/* The T of operator<T>(...); scalars where it is absent. */
enum dtype type_of_call(const struct call *c);

/* ---- array.c ---- */

/* Whether a border of that name is filled with numbers or places of the tensor. */
bool border_known(const char *border);
/* *x with pads around it: those before each axis, then those behind. */
rill_status build_border(const struct call *c, const char *border, const int64_t *pads,
                         uint32_t value, uint32_t *x);

/* ---- product.c ---- */

/* x with its last two axes exchanged */
rill_status swap_last(const struct call *c, uint32_t x, uint32_t *ret);

/* Windows over the spatial axes, those from 2 on. */
struct spatial {
    unsigned n, front; /* axes; those before them, of which full lists say 1 */
    int64_t kernel[RANK_MAX], stride[RANK_MAX], dilation[RANK_MAX], pads[2 * RANK_MAX];
    bool same; /* padding is left to "keeps the size" */
    const char *border;
};

/* What a call says of them; without the kernel, whose size spatial_list reads where it is given. */
rill_status spatial_read(const struct call *c, uint32_t x, struct spatial *sp);
/* A list with one entry per spatial axis, or per axis with ones in front; empty: all ones. */
rill_status spatial_list(const struct call *c, const char *name, const struct spatial *sp,
                         int64_t *ret);
/* A border that is not of those in `own` stands in front of x, which is padded; own ones are the
 * op's, without pads there are none. */
rill_status spatial_border(const struct call *c, struct spatial *sp, const char *own, uint32_t *x);
/* The pads that "keeps the size" stands for, over sizes[] places. */
rill_status spatial_same(const struct call *c, struct spatial *sp, const struct dim *const *sizes);
/* strides, dilations, and pads or auto_pad: how many attributes these are. */
unsigned spatial_attrs(const struct spatial *sp, struct attr *ret);

/* ---- builders, each in the file of its group ---- */

/* clang-format off */
#define BUILDERS_CONSTANTS(X)                                                                      \
    X(external) X(variable) X(constant) X(fill) X(window) X(mel) X(dct) X(bands) X(spread) X(option)
#define BUILDERS_ARRAY(X)                                                                          \
    X(reshape) X(transpose) X(squeeze) X(unsqueeze) X(concat) X(split) X(slice) X(pad) X(tile)     \
    X(stack) X(unstack) X(shape_of) X(length_of) X(reduce) X(logic_reduce) X(softmax) X(argmax) X(argmax_last) X(overlap_add) \
    X(windows)
#define BUILDERS_PRODUCT(X) X(matmul) X(conv) X(deconv) X(pool) X(batch_norm)
#define BUILDERS_SAMPLING(X) X(max_pool_with_index) X(argmax_pool) X(sample) X(desample)
#define BUILDERS_RESIZE(X) X(resize) X(nearest_upsample) X(multilinear_upsample) X(debox)
#define BUILDERS_TRACT(X)                                                                          \
    X(tract_cast) X(tract_range) X(tract_broadcast) X(tract_einsum) X(tract_topk)                  \
    X(tract_one_hot) X(tract_fft) X(tract_stft) X(tract_masked_softmax) X(tract_sdpa)              \
    X(tract_gru_seq) X(tract_scan) X(tract_load) X(tract_store) X(tract_force_eval)                \
    X(tract_submodel) X(tract_non_zero) X(update) X(state) X(tract_kv_cache) X(known) X(stored) X(axes) X(sums) X(placed) X(resource_get)
#define BUILDERS_NUMBER(X)                                                                         \
    X(number) X(text) X(std_cast) X(range_of) X(given) X(only) X(add_n)
#define BUILDERS_ROW(X) X(row) X(aligned) X(infix) X(rounding) X(round) X(select)
#define BUILDERS_SCAN(X) X(scan) X(part)
#define BUILDERS_ENGINE_OP(X) X(op) X(size)
#define BUILDERS_IMPORT(X) X(onnx) X(onnx_scan) X(metadata)
/* clang-format on */
#define X(name) rill_status build_##name(const struct call *c, struct val *ret);
BUILDERS_CONSTANTS(X)
BUILDERS_ARRAY(X)
BUILDERS_PRODUCT(X)
BUILDERS_SAMPLING(X)
BUILDERS_RESIZE(X)
BUILDERS_NUMBER(X)
BUILDERS_ROW(X)
BUILDERS_SCAN(X)
BUILDERS_TRACT(X)
BUILDERS_ENGINE_OP(X)
BUILDERS_IMPORT(X)
#undef X

/* ---- scan.c ---- */

struct scan_node {
    struct graph *body;
    struct scan_attr attr;
    const struct dim *length; /* steps */
    const uint32_t *in;       /* first states, scanned tensors, what the body takes whole */
    unsigned n_in;
    bool wants_last; /* what states are at the end has wires */
};

/* out: one wire for each output of the body. */
rill_status scan_node_add(const struct call *c, const struct scan_node *sn, uint32_t *out);
/* A Scan along axis 0; ret: its stacked results. */
rill_status build_scan_node(const struct call *c, struct graph *body, unsigned n_states,
                            unsigned n_scanned, const struct dim *length, const uint32_t *in,
                            unsigned n_in, struct val *ret);
#endif
