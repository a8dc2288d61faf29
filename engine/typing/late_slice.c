/* SPDX-License-Identifier: MIT */
#include "engine/typing/late_slice.h"
#include "engine/ops/attrs.h"

enum { IN_DATA, IN_START, IN_END, IN_AXES, IN_STEPS };

/* A whole number of the data, and a constant more. */
struct place {
    uint32_t of;
    int64_t plus;
};

static const struct fact *fact_of(const struct graph *g, uint32_t w)
{
    return w == WIRE_NONE ? NULL : &g->wires[w].fact;
}

/* A constant of one element. */
static bool number_of(const struct graph *g, uint32_t w, int64_t *ret)
{
    const struct fact *f = fact_of(g, w);
    if (!f || !f->value || tensor_count(f->value) != 1)
        return false;
    if (f->value->type == DTYPE_DIM) {
        const struct dim *d = *(const struct dim *const *) f->value->data;
        *ret = dim_is_const(d) ? dim_value(d) : 0;
        return dim_is_const(d);
    }
    *ret = tensor_get_i64(f->value, f->value->data, 0);
    return f->type == DTYPE_I64 || f->type == DTYPE_I32;
}

static bool is_one_number(const struct fact *f)
{
    struct tensor t;
    return f && (f->type == DTYPE_I64 || f->type == DTYPE_I32) && fact_to_tensor(f, &t) &&
        tensor_count(&t) == 1;
}

/* One step back: w is *ret, and *plus more. */
static bool step_back(const struct graph *g, uint32_t w, uint32_t *ret, int64_t *plus)
{
    const struct node *n = graph_producer(g, w);
    *plus = 0;
    if (!n)
        return false;
    *ret = n->in[0];
    switch (n->op->id) {
    case OP_IDENTITY:
    case OP_UNSQUEEZE:
    case OP_SQUEEZE:
    case OP_RESHAPE: return is_one_number(fact_of(g, n->in[0]));
    case OP_ADD:
        if (number_of(g, n->in[1], plus))
            return true;
        *ret = n->in[1];
        return number_of(g, n->in[0], plus);
    case OP_SUB:
        if (!number_of(g, n->in[1], plus) || *plus == INT64_MIN)
            return false;
        *plus = -*plus;
        return true;
    default: return false;
    }
}

static bool place_of(const struct graph *g, uint32_t w, struct place *ret)
{
    int64_t plus;
    uint32_t before;
    *ret = (struct place) { w, 0 };
    if (!is_one_number(fact_of(g, w)))
        return false;
    while (step_back(g, ret->of, &before, &plus)) {
        if (__builtin_add_overflow(ret->plus, plus, &ret->plus))
            return false;
        ret->of = before;
    }
    return true;
}

/* The size and the axis of what n takes, one place of an axis of which the size is open; 0: its
 * place is known, or its size is not. */
static int64_t size_of(const struct graph *g, const struct node *n, const uint32_t *in, int *axis)
{
    const struct fact *x = fact_of(g, in[IN_DATA]), *start = fact_of(g, in[IN_START]);
    struct place from, to;
    int64_t at = 0, step = 1, size = 0;
    if (n->op->id != OP_SLICE || n->n_out != 1 || n->n_in < 3 || !x || !start || start->value ||
        start->rank != 1 || !place_of(g, in[IN_START], &from) || !place_of(g, in[IN_END], &to))
        return 0;
    if (n->n_in > IN_AXES && in[IN_AXES] != WIRE_NONE && !number_of(g, in[IN_AXES], &at))
        return 0;
    if (n->n_in > IN_STEPS && in[IN_STEPS] != WIRE_NONE && !number_of(g, in[IN_STEPS], &step))
        return 0;
    *axis = axis_normalise(at, x->rank);
    if (*axis < 0 || step != 1 || from.of != to.of ||
        __builtin_sub_overflow(to.plus, from.plus, &size))
        return 0;
    const int64_t most = dim_is_const(x->shape[*axis]) ? dim_value(x->shape[*axis]) : 1;
    return size > 0 && size <= most ? size : 0;
}

/* ---- what stands for it ---- */

struct maker {
    struct graph *g;
    const struct node *n;
    rill_error *err;
};

static rill_status no_memory(const struct maker *m)
{
    return op_fail(m->err, RILL_NOMEM, m->n, "out of memory");
}

static rill_status make(const struct maker *m, enum op_id id, const struct attr *attr,
                        const char *name, const struct fact *f, const uint32_t *in, unsigned n_in,
                        uint32_t *ret)
{
    const struct op *op = op_by_id(id);
    void *parsed = op->attr_bytes ? arena_alloc(m->g->arena, op->attr_bytes) : NULL;
    if (op->attr_bytes && !parsed)
        return no_memory(m);
    if (op->attr_bytes)
        TRY(attrs_parse(op, m->n->name, attr, attr ? 1 : 0, parsed, m->err));
    uint32_t out = graph_add_wire(m->g, name, f);
    if (out == WIRE_NONE || !graph_add_node(m->g, op, m->n->name, parsed, in, n_in, &out, 1))
        return no_memory(m);
    *ret = out;
    return RILL_OK;
}

static rill_status make_i64s(const struct maker *m, int64_t n, int64_t first, int64_t step,
                             uint32_t *ret)
{
    struct tensor *t = tensor_new(m->g->arena, DTYPE_I64, 1, &n);
    for (int64_t i = 0; t && i < n; i++)
        ((int64_t *) t->data)[i] = first + i * step;
    *ret = t ? graph_add_const(m->g, m->n->name, t) : WIRE_NONE;
    return *ret == WIRE_NONE ? no_memory(m) : RILL_OK;
}

/* start + 0 .. start + size - 1; a start below 0, which would count from the end, far outside. */
static rill_status make_places(const struct maker *m, uint32_t start, int64_t size, uint32_t *ret)
{
    const struct attr to = { .name = "to", .kind = ATTR_INT, .i = DTYPE_I64 };
    struct dims *ds = m->g->dims;
    const struct fact one = { .type = DTYPE_I64, .rank = 1, .shape = { dim_int(ds, 1) } },
                      truth = { .type = DTYPE_BOOL, .rank = 1, .shape = { dim_int(ds, 1) } },
                      all = { .type = DTYPE_I64, .rank = 1, .shape = { dim_int(ds, size) } };
    uint32_t zero, far, each, sum, below;
    if (m->g->wires[start].fact.type != DTYPE_I64)
        TRY(make(m, OP_CAST, &to, m->n->name, &one, &start, 1, &start));
    TRY(make_i64s(m, 1, 0, 0, &zero));
    TRY(make_i64s(m, 1, INDEX_BELOW, 0, &far));
    TRY(make_i64s(m, size, 0, 1, &each));
    TRY(make(m, OP_ADD, NULL, m->n->name, &all, (uint32_t[]) { start, each }, 2, &sum));
    TRY(make(m, OP_LESS, NULL, m->n->name, &truth, (uint32_t[]) { start, zero }, 2, &below));
    return make(m, OP_WHERE, NULL, m->n->name, &all, (uint32_t[]) { below, far, sum }, 3, ret);
}

rill_status late_slice(struct graph *g, const struct node *n, const char *name, const uint32_t *in,
                       uint32_t *ret, bool *ret_done, rill_error *reterr)
{
    const struct maker m = { g, n, reterr };
    int axis = 0;
    uint32_t places;
    const int64_t size = size_of(g, n, in, &axis);
    *ret_done = size > 0;
    if (!*ret_done)
        return RILL_OK;
    const struct attr at = { .name = "axis", .kind = ATTR_INT, .i = axis };
    TRY(make_places(&m, in[IN_START], size, &places));
    struct fact f = g->wires[in[IN_DATA]].fact;
    f.shape[axis] = dim_int(g->dims, size);
    f.value = NULL;
    return make(&m, OP_GATHER, &at, name, &f, (uint32_t[]) { in[IN_DATA], places }, 2, ret);
}
