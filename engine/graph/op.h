/* SPDX-License-Identifier: MIT */
/* op.h - the whole contract of an op.
 *
 * The op set is canonical: each op has one form, that of the newest standard opset (axes, pads,
 * splits and sizes as inputs). Readers bring older forms to it. One implementation serves constant
 * folding, the growable interpreter and the plan:
 *
 *   infer    facts of the inputs (with values where known) -> facts of the outputs
 *   prepare  once per plan step: check, pack weights, choose a kernel; asks for scratch
 *   eval     on real memory: does not allocate, lock, or call the system; what it finds wrong with
 *            numbers of its inputs it notes as a fault and goes on with others */
#ifndef RILL_ENGINE_GRAPH_OP_H
#define RILL_ENGINE_GRAPH_OP_H
#include "engine/graph/graph.h"
#include "engine/graph/op_id.h"
#include "kernels/kern.h"

/* ---- attributes: a table per op, offsets into the op's own struct ------------------------- */

enum attr_kind {
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_CHOICE,
    ATTR_INTS,
    ATTR_FLOATS,
    ATTR_STRINGS,
    ATTR_TENSOR
};

struct attr_ints {
    uint32_t n;
    const int64_t *v;
};
struct attr_floats {
    uint32_t n;
    const float *v;
};
struct attr_strings {
    uint32_t n;
    const char *const *v;
};

/* One attribute as a reader found it. CHOICE is found as a string (STRINGS with n = 1). */
struct attr {
    const char *name;
    enum attr_kind kind; /* as found: INT, FLOAT, INTS, FLOATS, STRINGS, TENSOR */
    int64_t i;
    float f;
    struct attr_ints ints;
    struct attr_floats floats;
    struct attr_strings strings;
    const struct tensor *tensor;
};

/* Members by kind: INT int64_t, FLOAT float, CHOICE int (index into choices), INTS struct
 * attr_ints, FLOATS struct attr_floats, STRINGS struct attr_strings, TENSOR const struct tensor *.
 * An INT is accepted where a FLOAT is wanted, a single INT where INTS are. */
struct attr_spec {
    const char *name; /* NULL ends the table */
    enum attr_kind kind;
    size_t offset;
    bool required;
    int64_t def_i;              /* default of INT and CHOICE */
    float def_f;                /* default of FLOAT; list and tensor defaults are empty and NULL */
    const char *const *choices; /* NULL-terminated */
    bool own;                   /* no reader accepts it, only passes set it */
};

bool attr_is_one_string(const struct attr *a);

/* Fills the struct at ret (zeroed first) from attrs; defaults where absent. An unknown name, a
 * wrong kind or an unknown choice is refused by name, saying what is known. Strings and lists are
 * borrowed. */
rill_status attrs_parse(const struct op *op, const char *node_name, const struct attr *attrs,
                        unsigned n, void *ret, rill_error *reterr);
/* The same of what a model file says: an attribute that only passes set is unknown there. */
rill_status attrs_parse_file(const struct op *op, const char *node_name, const struct attr *attrs,
                             unsigned n, void *ret, rill_error *reterr);

/* A CHOICE as its table calls it, for messages. Code reads fields of the op's own struct
 * (engine/ops/attrs.h). */
const char *attr_choice(const struct node *n, const char *name);

/* ---- the three calls ---------------------------------------------------------------------- */

struct infer {
    const struct node *node;
    const void *attr;
    struct dims *dims;
    struct arena *arena; /* lives as long as the graph */
    unsigned n_in, n_out;
    const struct fact *const *in; /* NULL where an optional input is absent */
    const char *const *in_name;   /* of their wires; NULL where nobody knows them */
    struct fact *out;             /* to fill: type, rank, shape (value: only shape-like ops) */
    bool running;                 /* values are data of a run, which say nothing of the model */
    rill_error *err;
};

struct prep {
    const struct node *node;
    const void *attr;
    const struct kern *kern;
    struct arena *arena; /* lives as long as the plan (or the one evaluation) */
    unsigned n_in, n_out;
    const struct tensor *const *in;  /* shapes; ->data only of constants; NULL where absent */
    const struct tensor *const *out; /* shapes */
    const void *args;                /* to set: handed to eval */
    size_t scratch_bytes;            /* to set: eval gets that much at e->scratch, 64-aligned */
    const char *kernel;              /* to set: name of the chosen kernel, static storage */
    struct packs *packs;             /* of the plan; NULL: of no plan */
    /* to set: bit i: eval does not read constant input i, prep_pack's blocks hold it */
    uint64_t packed;
    unsigned kern_uses;  /* to set: enum kern_uses: of other groups of kernels eval calls none */
    bool many;           /* to set: eval_many pays for this node */
    size_t spared_bytes; /* to set: what those blocks are smaller than the constants */
    rill_error *err;
};

enum fault_kind {
    FAULT_NONE,
    FAULT_INDEX,  /* an index outside an axis of `limit`, or INDEX_BELOW */
    FAULT_LENGTH, /* a length that is not one of 0..limit */
    FAULT_SAID    /* what the op says of it, in words that lie behind the struct */
};

/* In the stead of places from a start below 0, where the data may not count from the end: a number
 * that no data has by chance. */
#define INDEX_BELOW (INT64_MAX - 4321)

/* The first that a run found. FAULT_WORDS_BYTES lie behind it where an op has OP_SAYS. */
struct fault {
    enum fault_kind kind;
    const struct node *node;
    int64_t value, limit;
};

#define FAULT_WORDS_BYTES sizeof(rill_error)

#define OP_MANY_MAX 32 /* evaluations that eval_many gets at once */

/* A share of a node's work: eval with other arguments, on operands that begin later. Shares of a
 * node write nothing that another one reads or writes, so they may run at once; all of them make
 * the bits of the whole. */
struct share {
    const void *args;
    size_t *shift_bytes;                         /* of each input, then of each output */
    const struct tensor *const *in, *const *out; /* shapes; NULL: those of the node */
};

#define OP_OPERANDS_DIVIDED_MAX 24 /* nodes with more inputs and outputs are not divided */

struct shares {
    unsigned n;
    struct share *share;
    size_t scratch_bytes; /* of each */
};

struct eval {
    const struct node *node;
    const void *attr;
    const struct kern *kern;
    unsigned n_in, n_out;
    const struct tensor *const *in; /* shapes; do not read ->data, use x */
    const struct tensor *const *out;
    const void *const *x; /* input data; NULL where absent */
    void *const *y;       /* output data; NULL where nobody wants that output */
    void *scratch;        /* uninitialised */
    const void *args;
    struct fault *fault; /* zeroed before the first run; see eval_fault */
};

enum op_flags {
    OP_VIEW = 1 << 0, /* output 0 is input 0's bytes under another shape: the plan aliases it */
    OP_CONTROL =
        1 << 1, /* has bodies: run by the interpreter and planner themselves, eval is NULL */
    OP_RANDOM = 1 << 2,    /* never folded */
    OP_POINTWISE = 1 << 3, /* elementwise with broadcasting: output i,j,k from inputs i,j,k */
    OP_SAYS = 1 << 4       /* its faults have words of their own: eval_fault_say */
};

struct op {
    enum op_id id;                 /* OP_NONE: not of the list (an op that a test made) */
    const char *name;              /* standard name, e.g. "ConvTranspose" */
    const struct attr_spec *attrs; /* NULL: none */
    size_t attr_bytes;
    int min_in, max_in; /* -1: any number */
    int own_in;         /* further ones after them, which no reader accepts and only passes make */
    unsigned
        epilogue_in;    /* the first input of its epilogue (engine/ops/epilogue.h); 0: takes none */
    size_t epilogue_at; /* where its steps, a struct attr_ints, lie in the attributes */
    int epilogue_axis;  /* channels of its first output; -1: its last axis */
    int min_out, max_out;
    unsigned flags;
    rill_status (*infer)(struct infer *c);
    rill_status (*prepare)(struct prep *c); /* optional */
    void (*eval)(const struct eval *e);
    /* Optional, called where prepare set `many`: n evaluations of one node, 1 <= n <= OP_MANY_MAX,
     * that differ in x, y, scratch and fault only; constant inputs are the same. Weights are read
     * once for all; each gets the bits of its eval. */
    void (*eval_many)(const struct eval *e, unsigned n);
    /* Optional, after prepare, with what it was called with and set: the work in at most `most`
     * shares, most >= 2. ret is as shares_new makes it, and stays as it is (n = 0) where the work
     * is not divided. */
    rill_status (*divide)(struct prep *c, unsigned most, struct shares *ret);
    /* Optional: the same on symbolic integers. Inputs are I64 or DIM tensors (x read accordingly),
     * the output is DIM. Only called while folding. */
    void (*eval_dim)(const struct eval *e, struct dims *ds);
    /* Optional: the input over which output o may be written, where nobody else reads that; -1:
     * none. eval must work both ways. */
    int (*base)(const struct node *n, unsigned o);
    /* Optional: whether the wire of `base` may be other inputs, too: eval reads what it needs of
     * them before it writes over it. */
    bool (*reads_base_again)(const struct node *n);
    /* The input whose numbers eval checks, which notes a fault where one is out of range; 0: none.
     * The number 0 is in range wherever there is anything to read. */
    unsigned checked;
    const char *help; /* one line: what the op computes */
};

/* The table of all ops; NULL if there is none of that name. op_at(i) walks it, NULL past the
 * end. */
const struct op *op_find(const char *name);
const struct op *op_at(unsigned i);

/* The same with those that only passes make. */
const struct op *op_find_made(const char *name);

static inline bool node_is(const struct node *n, enum op_id id)
{
    return n->op->id == id;
}

static inline bool node_is_among(const struct node *n, const enum op_id *ids, size_t n_ids)
{
    while (n_ids && ids[n_ids - 1] != n->op->id)
        n_ids--;
    return n_ids > 0;
}

static inline bool node_has_input(const struct node *n, unsigned i)
{
    return i < n->n_in && n->in[i] != WIRE_NONE;
}

/* The known value of input i of a node of g; NULL: absent or not known. */
static inline const struct tensor *node_value(const struct graph *g, const struct node *n,
                                              unsigned i)
{
    return node_has_input(n, i) ? g->wires[n->in[i]].fact.value : NULL;
}

/* The row of an op, of whatever kind. NULL: there is none (OP_NONE, OP_COUNT). */
const struct op *op_by_id(enum op_id id);

/* ---- shares ------------------------------------------------------------------------------- */

/* n shares with the scratch of the whole, whose operands begin where those of the node do; NULL
 * args. */
rill_status shares_new(struct prep *c, unsigned n, struct shares *ret);

/* The first of n units that share i of so many takes; up to the first one of the next. */
static inline int64_t share_from(int64_t n, unsigned i, unsigned shares)
{
    return n * (int64_t) i / (int64_t) shares;
}

/* ---- faults ------------------------------------------------------------------------------- */

void eval_fault(const struct eval *e, enum fault_kind kind, int64_t value, int64_t limit);
/* Of an op with OP_SAYS: the words are copied, beside the fault. */
void eval_fault_say(const struct eval *e, const char *words);
/* INVALID with node, op, number and limit. */
rill_status fault_error(const struct fault *f, rill_error *reterr);

/* An index of the data into an axis of n, wrapped once if negative. *ret is where it reads; false:
 * it is outside, and *ret the nearest that is not. */
static inline bool index_wrap(int64_t index, int64_t n, int64_t *ret)
{
    int64_t at = index < 0 ? index + n : index;
    *ret = at < 0 || n == 0 ? 0 : at >= n ? n - 1 : at;
    return at == *ret && n > 0;
}

/* Element i of input k as such an index: one that is outside is a fault. */
static inline int64_t index_read(const struct eval *e, unsigned k, int64_t i, int64_t n)
{
    const struct tensor *t = e->in[k];
    int64_t v = t->type == DTYPE_I64 ? ((const int64_t *) e->x[k])[i]
                                     : tensor_get_i64(t, e->x[k], i),
            at;
    if (!index_wrap(v, n, &at))
        eval_fault(e, FAULT_INDEX, v, n);
    return at;
}

/* ---- helpers for infer -------------------------------------------------------------------- */

/* Refusals that name node and op: "node 'x' (Conv): ...". */
#define infer_fail(c, ...) op_fail((c)->err, RILL_UNSUPPORTED, (c)->node, __VA_ARGS__)
/* Of what no model may say. */
#define infer_invalid(c, ...) op_fail((c)->err, RILL_MALFORMED, (c)->node, __VA_ARGS__)
#define prep_fail(c, ...) op_fail((c)->err, RILL_UNSUPPORTED, (c)->node, __VA_ARGS__)
__attribute__((format(printf, 4, 5))) rill_status op_fail(rill_error *err, rill_status s,
                                                          const struct node *n, const char *fmt,
                                                          ...);

/* Refuses a node whose number of inputs or outputs the op does not have, or that lacks a required
 * input. */
rill_status op_check_arity(const struct node *n, rill_error *reterr);
/* The same for a node that a pass may have made: the op's own inputs are accepted. */
rill_status op_check_arity_made(const struct node *n, rill_error *reterr);

/* What the node's op makes of the facts `in` (NULL: absent), one for each input, to `out`. */
rill_status op_infer(const struct node *n, const struct fact *const *in, struct fact *out,
                     struct dims *dims, struct arena *a, rill_error *reterr);
/* The same, with names of the inputs for messages. */
rill_status op_infer_named(const struct node *n, const struct fact *const *in,
                           const char *const *in_name, struct fact *out, struct dims *dims,
                           struct arena *a, rill_error *reterr);

/* The same of values that a run has: they are data, and no errors of the model. */
rill_status op_infer_running(const struct node *n, const struct fact *const *in, struct fact *out,
                             struct dims *dims, struct arena *a, rill_error *reterr);

/* For prepare: n * bytes for what it lays out of constants alone. *ret_there: it was laid out
 * before and must not be written, nor the data of inputs read that `packed` says; else it is
 * zeroed. NULL: out of memory. */
void *prep_pack(struct prep *c, size_t n, size_t bytes, bool *ret_there);
/* The same of what hangs on nothing but the key: other plans may have laid it out. */
struct pack_key;
void *prep_pack_of(struct prep *c, size_t n, size_t bytes, const struct pack_key *key,
                   bool *ret_there);
/* Bytes that it lays out have outliers apart (kernels/q8.h), which not all kernels read. */
void prep_pack_outliers(struct prep *c, bool apart);

/* Output o has the type and shape of input i (not its value). */
void infer_same(struct infer *c, unsigned o, unsigned i);
void infer_shape(struct infer *c, unsigned o, enum dtype type, int rank,
                 const struct dim *const *shape);
/* Broadcast of all present inputs first..last into out[0]'s shape. */
rill_status infer_broadcast(struct infer *c, unsigned o, enum dtype type, unsigned first,
                            unsigned last);
/* The value of an integer input as a list; refused ("depends on data") where it is not known.
 * DIM elements that are not constant are refused too; use infer_dims for shapes. */
rill_status infer_ints(struct infer *c, unsigned i, int64_t *ret, unsigned cap, unsigned *ret_n);
rill_status infer_dims(struct infer *c, unsigned i, const struct dim **ret, unsigned cap,
                       unsigned *ret_n);
bool infer_has(const struct infer *c, unsigned i); /* input i is present */
/* What input i is called, for messages: "input 1 ('w_scale')". */
const char *infer_name(const struct infer *c, unsigned i);
/* Refuses indices that are known (input k) and lie outside of the data: index i is one into axis
 * first + i % n of input 0. */
rill_status infer_indices(struct infer *c, unsigned k, int first, int64_t n);
#endif
