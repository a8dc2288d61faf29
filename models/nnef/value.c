/* SPDX-License-Identifier: MIT */
#include "models/nnef/build.h"

const char *val_kind_name(struct val v)
{
    /* clang-format off */
    static const char *const names[] = {
        [VAL_NONE] = "nothing",       [VAL_INT] = "an integer", [VAL_REAL] = "a number",
        [VAL_BOOL] = "a truth value", [VAL_TEXT] = "a string",  [VAL_DIM] = "a symbolic size",
        [VAL_WIRE] = "a tensor",      [VAL_LIST] = "a list",
    };
    /* clang-format on */
    return names[v.kind];
}

struct val val_of_dim(const struct dim *d)
{
    if (dim_is_const(d))
        return (struct val) { .kind = VAL_INT, .i = dim_value(d) };
    return (struct val) { .kind = VAL_DIM, .dim = d };
}

struct val val_of_wire(uint32_t w)
{
    return (struct val) { .kind = VAL_WIRE, .wire = w };
}

const struct dim *dim_of_val(struct builder *b, struct val v)
{
    if (v.kind == VAL_INT)
        return dim_int(b->dims, v.i);
    return v.kind == VAL_DIM ? v.dim : NULL;
}

const struct fact *wire_fact(const struct scope *s, uint32_t w)
{
    return &s->g->wires[w].fact;
}

/* ---- constants ---- */

rill_status const_tensor(struct builder *b, struct graph *g, const struct tensor *t, uint32_t *ret)
{
    *ret = graph_add_const(g, arena_printf(b->arena, "const:%u", g->n_wires), t);
    return *ret == WIRE_NONE ? nnef_no_memory(b) : RILL_OK;
}

rill_status const_f32(struct builder *b, struct graph *g, int rank, const int64_t *dim,
                      const float *data, uint32_t *ret)
{
    return const_tensor(b, g, tensor_from_data(b->arena, DTYPE_F32, rank, dim, data), ret);
}

rill_status const_i64(struct builder *b, struct graph *g, const int64_t *v, unsigned n,
                      uint32_t *ret)
{
    int64_t dim = n;
    return const_tensor(b, g, tensor_from_data(b->arena, DTYPE_I64, 1, &dim, v), ret);
}

rill_status const_sizes(struct builder *b, struct graph *g, const struct dim *const *d, unsigned n,
                        uint32_t *ret)
{
    int64_t dim = n;
    bool symbolic = false;
    for (unsigned i = 0; i < n; i++)
        symbolic |= !dim_is_const(d[i]);
    struct tensor *t = tensor_new(b->arena, symbolic ? DTYPE_DIM : DTYPE_I64, 1, &dim);
    for (unsigned i = 0; t && i < n; i++)
        if (symbolic)
            ((const struct dim **) t->data)[i] = d[i];
        else
            ((int64_t *) t->data)[i] = dim_value(d[i]);
    return const_tensor(b, g, t, ret);
}

/* ---- literals ---- */

static bool val_is_number(struct val v)
{
    return v.kind == VAL_INT || v.kind == VAL_REAL || v.kind == VAL_BOOL || v.kind == VAL_DIM;
}

/* What a number, or lists of them within each other, hold. */
struct literal {
    struct tensor shape;
    bool sizes, truths; /* a symbol is among them; nothing but truth values are */
};

/* The first element of each list says how long those beside it are. */
static bool literal_measure(struct val v, struct literal *l)
{
    for (; v.kind == VAL_LIST; v = v.list[0]) {
        if (!v.n || l->shape.rank == RANK_MAX)
            return false;
        l->shape.dim[l->shape.rank++] = v.n;
    }
    l->truths = v.kind == VAL_BOOL;
    return true;
}

static bool literal_check(struct val v, int depth, struct literal *l)
{
    if (v.kind != VAL_LIST) {
        l->sizes |= v.kind == VAL_DIM;
        l->truths &= v.kind == VAL_BOOL;
        return depth == l->shape.rank && val_is_number(v);
    }
    bool fits = depth < l->shape.rank && v.n == l->shape.dim[depth];
    for (uint32_t i = 0; fits && i < v.n; i++)
        fits = literal_check(v.list[i], depth + 1, l);
    return fits;
}

static void literal_fill(struct builder *b, struct val v, struct tensor *t, int64_t *at)
{
    for (uint32_t i = 0; v.kind == VAL_LIST && i < v.n; i++)
        literal_fill(b, v.list[i], t, at);
    if (v.kind == VAL_LIST)
        return;
    if (t->type == DTYPE_DIM)
        ((const struct dim **) t->data)[*at] = dim_of_val(b, v);
    else if (t->type == DTYPE_I64 && v.kind == VAL_INT)
        ((int64_t *) t->data)[*at] = v.i; /* f64 has 53 bits */
    else
        tensor_set_f64(t, t->data, *at, v.kind == VAL_REAL ? v.real : (double) v.i);
    ++*at;
}

static enum dtype literal_type(const struct literal *l, enum dtype type)
{
    if (l->sizes)
        return DTYPE_DIM;
    if (l->truths)
        return DTYPE_BOOL;
    if (type == DTYPE_DIM)
        return DTYPE_I64;
    return type == DTYPE_NONE || type == DTYPE_BOOL ? DTYPE_F32 : type;
}

/* A real among sizes has no form. */
static bool sizes_only(struct val v)
{
    bool only = v.kind != VAL_REAL && v.kind != VAL_BOOL;
    for (uint32_t i = 0; only && v.kind == VAL_LIST && i < v.n; i++)
        only = sizes_only(v.list[i]);
    return only;
}

/* Lists may hold one list many times: what they make is counted before it is made. */
static rill_status literal_charge(struct builder *b, const struct scope *s, struct nnef_pos pos,
                                  const struct tensor *shape)
{
    int64_t count;
    uint64_t left = b->limits->literal_bytes - b->literal_bytes;
    if (!tensor_count_checked(shape, &count) || (uint64_t) count > left / dtype_bytes(shape->type))
        return nnef_fail(b, s, pos, RILL_LIMIT,
                         "a constant over the limit of %llu bytes for all of them",
                         (unsigned long long) b->limits->literal_bytes);
    b->literal_bytes += (uint64_t) count * dtype_bytes(shape->type);
    return RILL_OK;
}

rill_status val_to_wire(struct builder *b, struct scope *s, struct nnef_pos pos, struct val v,
                        enum dtype type, uint32_t *ret)
{
    struct literal l = { .shape = { .type = DTYPE_I64 } };
    int64_t at = 0;
    if (v.kind == VAL_WIRE) {
        *ret = v.wire;
        return RILL_OK;
    }
    bool measured = literal_measure(v, &l);
    if (measured)
        TRY(literal_charge(b, s, pos, &l.shape));
    if (!measured || !literal_check(v, 0, &l) || (l.sizes && !sizes_only(v)))
        return nnef_fail(b, s, pos, RILL_MALFORMED, "found %s, expected a tensor or %s",
                         val_kind_name(v),
                         v.kind == VAL_LIST ? "lists of one length that hold numbers" : "a number");
    struct tensor *t = tensor_new(b->arena, literal_type(&l, type), l.shape.rank, l.shape.dim);
    if (!t)
        return nnef_no_memory(b);
    literal_fill(b, v, t, &at);
    return const_tensor(b, s->g, t, ret);
}

rill_status literal_new(const struct call *c, const struct tensor *t, struct tensor **ret)
{
    TRY(literal_charge(c->b, c->s, c->e->pos, t));
    *ret = tensor_new(c->b->arena, t->type, t->rank, t->dim);
    return *ret ? RILL_OK : nnef_no_memory(c->b);
}

struct val val_known(const struct builder *b, const struct scope *s, struct val v)
{
    const struct fact *f = v.kind == VAL_WIRE ? wire_fact(s, v.wire) : NULL;
    const struct tensor *t = f ? f->value : NULL;
    if (!t || t->rank > 1 || (t->type != DTYPE_DIM && !dtype_is_int(t->type)))
        return v;
    int64_t n = tensor_count(t);
    struct val *list = arena_array(b->arena, struct val, (size_t) n + 1);
    for (int64_t i = 0; list && i < n; i++)
        list[i] = t->type == DTYPE_DIM
            ? val_of_dim(((const struct dim *const *) t->data)[i])
            : (struct val) { .kind = VAL_INT, .i = tensor_get_i64(t, t->data, i) };
    if (!list)
        return v;
    return t->rank ? (struct val) { .kind = VAL_LIST, .n = (uint32_t) n, .list = list } : list[0];
}

/* ---- nodes ---- */

/* An op that does not take 16-bit floats takes them as f32 and rounds what it makes, as typing has
 * it; what it is of is the widest of them. */
static rill_status half_as_wide(struct builder *b, const struct node *n, const struct fact **in,
                                struct fact *out)
{
    enum dtype all = DTYPE_NONE;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (!in[i] || !dtype_is_float(in[i]->type))
            continue;
        all = all == DTYPE_NONE || all == in[i]->type ? in[i]->type : DTYPE_F32;
        struct fact *wide = arena_copy(b->arena, in[i], sizeof *wide);
        if (!wide)
            return nnef_no_memory(b);
        wide->type = DTYPE_F32;
        wide->value = in[i]->type == DTYPE_F32 ? in[i]->value : NULL;
        in[i] = wide;
    }
    if (!dtype_is_half(all))
        return RILL_UNSUPPORTED;
    TRY(op_infer(n, in, out, b->dims, b->arena, NULL));
    for (unsigned i = 0; i < n->n_out; i++) {
        out[i].type = out[i].type == DTYPE_F32 ? all : out[i].type;
        out[i].value = NULL;
    }
    return RILL_OK;
}

static rill_status node_infer(struct builder *b, struct scope *s, struct nnef_pos pos,
                              const struct node *n, struct fact *out)
{
    const struct fact **in = arena_array(b->arena, const struct fact *, n->n_in + 1u);
    if (!in)
        return nnef_no_memory(b);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == WIRE_NONE ? NULL : wire_fact(s, n->in[i]);
    rill_status status = op_check_arity_made(n, b->err);
    if (status == RILL_OK)
        status = op_infer(n, in, out, b->dims, b->arena, b->err);
    if (status == RILL_UNSUPPORTED && half_as_wide(b, n, in, out) == RILL_OK)
        status = RILL_OK;
    if (status == RILL_OK)
        status = dims_status(b->dims, b->err);
    return status == RILL_OK
        ? status
        : err_prefix(b->err, status, "%s:%u:%u", s->file, pos.line, pos.column);
}

static rill_status node_attrs(struct builder *b, struct scope *s, struct nnef_pos pos,
                              const struct op *op, const char *name, const struct attr *attrs,
                              unsigned n, void **ret)
{
    struct attr *kept = arena_copy(b->arena, attrs, n * sizeof *attrs);
    *ret = arena_alloc(b->arena, op->attr_bytes + 1);
    if (!kept || !*ret)
        return nnef_no_memory(b);
    for (unsigned i = 0; i < n; i++) { /* lists are borrowed by the node for as long as it lives */
        if (kept[i].kind == ATTR_INTS)
            kept[i].ints.v = arena_copy(b->arena, kept[i].ints.v, kept[i].ints.n * sizeof(int64_t));
        if (kept[i].kind == ATTR_STRINGS)
            kept[i].strings.v =
                arena_copy(b->arena, kept[i].strings.v, kept[i].strings.n * sizeof(char *));
    }
    rill_status status = attrs_parse_file(op, name, kept, n, *ret, b->err);
    return status == RILL_OK
        ? status
        : err_prefix(b->err, status, "%s:%u:%u", s->file, pos.line, pos.column);
}

rill_status build_node(struct builder *b, struct scope *s, struct nnef_pos pos, const char *op_name,
                       const struct attr *attrs, unsigned n_attrs, const uint32_t *in,
                       unsigned n_in, uint32_t *out, unsigned n_out)
{
    const struct op *op = op_find(op_name);
    if (!op || !op->infer)
        return nnef_fail(b, s, pos, RILL_UNSUPPORTED, "this build has no op '%s'", op_name);
    if (++b->nodes > b->limits->nodes)
        return nnef_fail(b, s, pos, RILL_LIMIT, "more than %u nodes", b->limits->nodes);
    const char *name = arena_printf(b->arena, "%s%s:%u", s->prefix, s->target ? s->target : op_name,
                                    s->g->n_nodes);
    struct fact *facts = arena_array(b->arena, struct fact, n_out);
    uint32_t *from = arena_copy(b->arena, in, n_in * sizeof *in);
    void *attr;
    if (!name || !facts || !from)
        return nnef_no_memory(b);
    TRY(node_attrs(b, s, pos, op, name, attrs, n_attrs, &attr));
    struct node n = {
        .name = name, .op = op, .attr = attr, .in = from, .n_in = n_in, .out = out, .n_out = n_out
    };
    TRY(node_infer(b, s, pos, &n, facts));
    for (unsigned i = 0; i < n_out; i++)
        if ((out[i] =
                 graph_add_wire(s->g, n_out == 1 ? name : arena_printf(b->arena, "%s.%u", name, i),
                                &facts[i])) == WIRE_NONE)
            return nnef_no_memory(b);
    return graph_add_node(s->g, op, name, attr, from, n_in, out, n_out) ? RILL_OK
                                                                        : nnef_no_memory(b);
}

rill_status call_node(const struct call *c, const char *op, const struct attr *attrs,
                      unsigned n_attrs, const uint32_t *in, unsigned n_in, uint32_t *ret)
{
    return build_node(c->b, c->s, c->e->pos, op, attrs, n_attrs, in, n_in, ret, 1);
}

rill_status build_cast(struct builder *b, struct scope *s, struct nnef_pos pos, enum dtype to,
                       uint32_t *w)
{
    enum dtype from = wire_fact(s, *w)->type;
    struct attr a[] = { ATTR_I("to", to) };
    if (to == DTYPE_NONE || from == to || (from == DTYPE_DIM && to == DTYPE_I64))
        return RILL_OK;
    return build_node(b, s, pos, "Cast", a, 1, w, 1, w, 1);
}

/* w with ones appended to its shape until it has `rank` axes. */
static rill_status rank_grow(struct builder *b, struct scope *s, struct nnef_pos pos, uint32_t w,
                             int rank, uint32_t *ret)
{
    const struct fact *f = wire_fact(s, w);
    if (f->value) {
        struct tensor *t = arena_copy(b->arena, f->value, sizeof *t);
        if (!t)
            return nnef_no_memory(b);
        while (t->rank < rank)
            t->dim[t->rank++] = 1;
        return const_tensor(b, s->g, t, ret);
    }
    int64_t axes[RANK_MAX];
    unsigned n = 0;
    for (int k = f->rank; k < rank; k++)
        axes[n++] = k;
    uint32_t in[2] = { w, 0 };
    TRY(const_i64(b, s->g, axes, n, &in[1]));
    return build_node(b, s, pos, "Unsqueeze", NULL, 0, in, 2, ret, 1);
}

rill_status build_align(struct builder *b, struct scope *s, struct nnef_pos pos, uint32_t *in,
                        unsigned n)
{
    int rank = 0;
    for (unsigned i = 0; i < n; i++)
        if (wire_fact(s, in[i])->rank > rank)
            rank = wire_fact(s, in[i])->rank;
    for (unsigned i = 0; i < n; i++) {
        int r = wire_fact(s, in[i])->rank;
        if (r > 0 && r < rank)
            TRY(rank_grow(b, s, pos, in[i], rank, &in[i]));
    }
    return RILL_OK;
}
