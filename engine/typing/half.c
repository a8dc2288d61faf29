/* SPDX-License-Identifier: MIT */
#include "engine/typing/half.h"
#include "engine/ops/attrs.h"
#include "engine/ops/elem.h"

enum dtype half_of(const struct fact *f)
{
    return f->type == DTYPE_F32 ? f->number : DTYPE_NONE;
}

bool half_differs(const struct fact *a, const struct fact *b)
{
    return half_of(a) != half_of(b);
}

struct fact half_as_f32(const struct fact *f)
{
    struct fact r = *f;
    if (dtype_is_half(f->type)) {
        r.type = DTYPE_F32;
        r.number = f->type;
    }
    return r;
}

struct fact half_in_file(const struct fact *f)
{
    struct fact r = *f;
    if (half_of(f)) {
        r.type = f->number;
        r.number = DTYPE_NONE;
        r.value = NULL;
    }
    return r;
}

const struct tensor *half_widened(struct arena *a, const struct tensor *t)
{
    if (!dtype_is_half(t->type))
        return t;
    struct tensor *wide = tensor_new(a, DTYPE_F32, t->rank, t->dim);
    if (wide)
        elem_widen(t->type, wide->data, t->data, (size_t) tensor_count(t));
    return wide;
}

static float number_rounded(float x, enum dtype half)
{
    return half == DTYPE_F16 ? f16_to_f32(f32_to_f16(x)) : bf16_to_f32(f32_to_bf16(x));
}

void half_round_numbers(float *y, const float *x, size_t n, enum dtype half)
{
    for (size_t i = 0; i < n; i++)
        y[i] = number_rounded(x[i], half);
}

const struct tensor *half_rounded(struct arena *a, const struct tensor *t, enum dtype half)
{
    struct tensor *r = tensor_new(a, DTYPE_F32, t->rank, t->dim);
    float *y = r ? r->data : NULL;
    for (int64_t i = 0, n = r ? tensor_count(t) : 0; i < n; i++)
        y[i] = number_rounded((float) tensor_get_f64(t, t->data, i), half);
    return r;
}

uint32_t half_const(struct graph *g, const char *name, const struct tensor *value, enum dtype half)
{
    uint32_t w = graph_add_const(g, name, value);
    if (w != WIRE_NONE && half)
        g->wires[w].fact.number = half;
    return w;
}

uint32_t half_file_const(struct graph *g, const char *name, const struct tensor *value)
{
    return half_const(g, name, half_widened(g->arena, value),
                      dtype_is_half(value->type) ? value->type : DTYPE_NONE);
}

static rill_status no_memory(const struct node *n, rill_error *err)
{
    return op_fail(err, RILL_NOMEM, n, "out of memory");
}

/* Whether n's outputs hold numbers of its inputs, or others that every float type has. */
static bool keeps(const struct node *n)
{
    static const enum op_id ids[] = {
        OP_ABS,
        OP_CEIL,
        OP_CLIP,
        OP_COMPRESS,
        OP_CONCAT,
        OP_CONSTANT_OF_SHAPE,
        OP_DEPTH_TO_SPACE,
        OP_EXPAND,
        OP_EYE_LIKE,
        OP_FLATTEN,
        OP_FLOOR,
        OP_GATHER,
        OP_GATHER_ELEMENTS,
        OP_GATHER_ND,
        OP_GLOBAL_MAX_POOL,
        OP_HARDMAX,
        OP_IDENTITY,
        OP_MAX,
        OP_MAX_POOL,
        OP_MIN,
        OP_NEG,
        OP_ONE_HOT,
        OP_PAD,
        OP_REDUCE_MAX,
        OP_REDUCE_MIN,
        OP_RELU,
        OP_RESHAPE,
        OP_REVERSE_SEQUENCE,
        OP_ROUND,
        OP_ROUND_BF16,
        OP_ROUND_F16,
        OP_SIGN,
        OP_SLICE,
        OP_SPACE_TO_DEPTH,
        OP_SPLIT,
        OP_SQUEEZE,
        OP_TILE,
        OP_TOPK,
        OP_TRANSPOSE,
        OP_TRILU,
        OP_UNIQUE,
        OP_UNSQUEEZE,
        OP_WHERE,
    };
    if (node_is(n, OP_SCATTER_ELEMENTS) || node_is(n, OP_SCATTER_ND))
        return !scatter_attr_of(n)->reduction; /* 0: none */
    return node_is_among(n, ids, sizeof ids / sizeof *ids);
}

/* ---- what the standard makes of the types of inputs ---- */

/* Outputs that are f32 whatever the inputs are. */
static bool stays_f32(const struct node *n, unsigned out)
{
    return node_is(n, OP_LAYER_NORMALIZATION) && out > 0; /* mean, 1 / deviation */
}

/* Inputs other than the first may be of types of their own: statistics, and bounds. */
static bool first_decides(const struct node *n)
{
    return node_is(n, OP_BATCH_NORMALIZATION) || node_is(n, OP_CLIP);
}

/* The type of the inputs of floats. Where f32 is among them, which the standard forbids and
 * converters write (weights of another type than what comes in), it is f32; arithmetic of two types
 * is refused. */
static rill_status half_guess(const struct node *n, const struct fact *const *in,
                              const struct fact *out, enum dtype *ret, rill_error *err)
{
    const struct fact *first = NULL;
    enum dtype all = DTYPE_NONE;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!in[i] || in[i]->type != DTYPE_F32)
            continue;
        if (!first)
            all = half_of(in[i]);
        first = first ? first : in[i];
        if (!half_differs(first, in[i]) || first_decides(n))
            continue;
        if (n->op->flags & OP_POINTWISE)
            return op_fail(err, RILL_UNSUPPORTED, n,
                           "its inputs are %s and %s; both must agree: put a Cast before one",
                           dtype_name(half_of(first) ? half_of(first) : DTYPE_F32),
                           dtype_name(half_of(in[i]) ? half_of(in[i]) : DTYPE_F32));
        all = DTYPE_NONE;
    }
    for (unsigned o = 0; o < n->n_out; o++)
        ret[o] = out[o].type == DTYPE_F32 && !stays_f32(n, o) ? all : DTYPE_NONE;
    return RILL_OK;
}

static bool any_half(const struct fact *const *in, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (in[i] && half_of(in[i]))
            return true;
    return false;
}

/* An op that says what it makes of half inputs is asked. */
rill_status half_infer(const struct node *n, const struct fact *const *in, const struct fact *out,
                       struct dims *dims, struct arena *a, enum dtype *ret, rill_error *reterr)
{
    struct fact *facts = arena_array(a, struct fact, n->n_in + n->n_out + 1), *own;
    const struct fact **list = arena_array(a, const struct fact *, n->n_in + 1);
    if (!facts || !list)
        return no_memory(n, reterr);
    own = facts + n->n_in;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!in[i])
            continue;
        facts[i] = *in[i];
        facts[i].type = half_of(in[i]) ? half_of(in[i]) : in[i]->type;
        list[i] = &facts[i];
    }
    if (any_half(in, n->n_in) && op_infer(n, list, own, dims, a, NULL) != RILL_OK)
        return half_guess(n, in, out, ret, reterr);
    const struct fact *known = any_half(in, n->n_in) ? own : out;
    for (unsigned o = 0; o < n->n_out; o++)
        ret[o] = dtype_is_half(known[o].type) ? known[o].type : DTYPE_NONE;
    return RILL_OK;
}

rill_status half_hidden(const struct node *n, const struct fact *const *facts, struct arena *a,
                        const struct fact ***ret, rill_error *reterr)
{
    const struct fact **list = arena_copy(a, facts, n->n_in * sizeof *facts);
    for (unsigned i = 0; list && i < n->n_in; i++) {
        if (!facts[i] || !half_of(facts[i]))
            continue;
        struct fact *plain = arena_copy(a, facts[i], sizeof *plain);
        if (!plain)
            return no_memory(n, reterr);
        plain->number = DTYPE_NONE;
        list[i] = plain;
    }
    *ret = list;
    return list ? RILL_OK : no_memory(n, reterr);
}

/* ---- nodes ---- */

static const struct op *round_op(enum dtype half)
{
    return op_by_id(half == DTYPE_F16 ? OP_ROUND_F16 : OP_ROUND_BF16);
}

/* The type that a cast gives where n is one to look at; NONE: it is taken as it is. */
static enum dtype cast_type(const struct node *n, const struct fact *const *facts)
{
    if (node_is(n, OP_CAST) && types_hold(TYPES_HALF, cast_attr_of(n)->to))
        return (enum dtype) cast_attr_of(n)->to;
    if (!node_is(n, OP_CAST_LIKE) || !facts[1])
        return DTYPE_NONE;
    return half_of(facts[1])          ? half_of(facts[1])
        : facts[0] && facts[0]->value ? fact_number(facts[1])
                                      : DTYPE_NONE;
}

rill_status half_cast(const struct node *n, const struct fact *const *facts, struct arena *a,
                      struct node *room, const struct node **ret, enum dtype *ret_to,
                      rill_error *reterr)
{
    enum dtype to = cast_type(n, facts);
    bool half = dtype_is_half(to);
    *ret = n;
    *ret_to = half ? to : DTYPE_NONE;
    if (!to || !facts[0])
        return RILL_OK;
    struct cast_attr *attr = arena_copy(a, n->attr, sizeof *attr);
    if (!attr)
        return no_memory(n, reterr);
    attr->to = to;
    *room = *n;
    *ret = room;
    room->n_in = 1;
    room->op = op_by_id(OP_CAST);
    room->attr = attr;
    if (half && facts[0]->type == DTYPE_F32) {
        room->op = half_of(facts[0]) == to ? op_by_id(OP_IDENTITY) : round_op(to);
        room->attr = NULL;
    }
    return RILL_OK;
}

/* A node behind *wire, which makes the wire of its name. */
static rill_status emit_behind(struct graph *g, const struct op *op, const void *attr,
                               const char *node, enum dtype half, uint32_t *wire, rill_error *err)
{
    struct wire *from = &g->wires[*wire];
    struct fact f = half_as_f32(&from->fact);
    const char *name = from->name;
    uint32_t in = *wire;
    f.number = half;
    f.value = NULL;
    if ((from->name = arena_printf(g->arena, "%s:f32", name)) &&
        (*wire = graph_add_wire(g, name, &f)) != WIRE_NONE &&
        graph_add_node(g, op, node, attr, &in, 1, wire, 1))
        return RILL_OK;
    return err_set(err, RILL_NOMEM, "out of memory while a graph of 16-bit floats is typed");
}

rill_status half_round(struct graph *g, const char *node, enum dtype half, uint32_t *wire,
                       rill_error *reterr)
{
    return emit_behind(g, round_op(half), NULL, node, half, wire, reterr);
}

rill_status half_round_input(struct graph *g, enum dtype half, uint32_t *wire, rill_error *reterr)
{
    const char *name = g->wires[*wire].name;
    uint32_t in = *wire;
    TRY(half_round(g, name, half, wire, reterr));
    g->wires[*wire].name = g->wires[in].name;
    g->wires[in].name = name;
    return RILL_OK;
}

/* What an op made as f16 or bf16 itself. */
static rill_status wire_widen(struct graph *g, const struct node *n, uint32_t *wire,
                              rill_error *err)
{
    const struct op *cast = op_by_id(OP_CAST);
    const struct attr to = { .name = "to", .kind = ATTR_INT, .i = DTYPE_F32 };
    void *attr = arena_alloc(g->arena, cast->attr_bytes);
    if (!attr)
        return no_memory(n, err);
    TRY(attrs_parse(cast, n->name, &to, 1, attr, err));
    return emit_behind(g, cast, attr, n->name, g->wires[*wire].fact.type, wire, err);
}

rill_status half_output(struct graph *g, const struct node *n, enum dtype half, uint32_t *wire,
                        rill_error *reterr)
{
    struct wire *w = &g->wires[*wire];
    const struct tensor *value = w->fact.value;
    if (value && value->type != DTYPE_DIM && (half || half_of(&w->fact))) {
        value =
            half && !keeps(n) ? half_rounded(g->arena, value, half) : half_widened(g->arena, value);
        *wire = half_const(g, w->name, value, half);
        return *wire == WIRE_NONE ? no_memory(n, reterr) : RILL_OK;
    }
    if (dtype_is_half(w->fact.type))
        return wire_widen(g, n, wire, reterr);
    if (half && !keeps(n))
        return half_round(g, n->name, half, wire, reterr);
    if (half)
        w->fact.number = half;
    return RILL_OK;
}
