/* SPDX-License-Identifier: MIT */
/* Indexed writes into a copy. An index of the data is wrapped once if negative; one that is still
 * outside is a fault. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"

#include <string.h>

enum reduction { RED_NONE, RED_ADD, RED_MUL, RED_MIN, RED_MAX };

static const char *const reductions[] = { "none", "add", "mul", "min", "max", NULL };

static const struct attr_spec elements_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct scatter_attr, on.axis) },
    { .name = "reduction",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct scatter_attr, reduction),
      .choices = reductions },
    { 0 },
};

static const struct attr_spec nd_attrs[] = {
    { .name = "reduction",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct scatter_attr, reduction),
      .choices = reductions },
    { 0 },
};

static double reduce(enum reduction r, double a, double b)
{
    switch (r) {
    case RED_ADD: return a + b;
    case RED_MUL: return a * b;
    case RED_MIN: return b < a ? b : a;
    case RED_MAX: return b > a ? b : a;
    case RED_NONE: break;
    }
    return b;
}

/* Integers wrap and never pass through a float. */
static uint64_t reduce_int(enum reduction r, bool is_unsigned, uint64_t a, uint64_t b)
{
    bool less = is_unsigned ? b < a : (int64_t) b < (int64_t) a;
    switch (r) {
    case RED_ADD: return a + b;
    case RED_MUL: return a * b;
    case RED_MIN: return less ? b : a;
    case RED_MAX: return less ? a : b;
    case RED_NONE: break;
    }
    return b;
}

static void put_int(enum reduction r, const struct tensor *t, void *y, int64_t to, const void *u,
                    int64_t from)
{
    uint64_t v = reduce_int(r, t->type == DTYPE_U64, (uint64_t) tensor_get_i64(t, y, to),
                            (uint64_t) tensor_get_i64(t, u, from));
    size_t bytes = dtype_bytes(t->type);
    memcpy((char *) y + (size_t) to * bytes, &v, bytes);
}

/* Puts n elements at element `to` of y. */
static void put(enum reduction r, const struct tensor *t, void *y, int64_t to, const void *u,
                int64_t from, int64_t n)
{
    size_t bytes = dtype_bytes(t->type);
    if (r == RED_NONE)
        memcpy((char *) y + (size_t) to * bytes, (const char *) u + (size_t) from * bytes,
               (size_t) n * bytes);
    else if (dtype_is_int(t->type))
        for (int64_t i = 0; i < n; i++)
            put_int(r, t, y, to + i, u, from + i);
    else
        for (int64_t i = 0; i < n; i++)
            tensor_set_f64(t, y, to + i,
                           reduce(r, tensor_get_f64(t, y, to + i), tensor_get_f64(t, u, from + i)));
}

static rill_status scatter_check(struct infer *c)
{
    const struct scatter_attr *a = c->attr;
    if (c->in[2]->type != c->in[0]->type)
        return infer_fail(c, "updates are %s, data is %s", dtype_name(c->in[2]->type),
                          dtype_name(c->in[0]->type));
    if (a->reduction && c->in[0]->type == DTYPE_DIM)
        return infer_fail(c, "cannot reduce symbolic sizes");
    infer_same(c, 0, 0);
    return RILL_OK;
}

static rill_status elements_infer(struct infer *c)
{
    const struct scatter_attr *a = c->attr;
    const struct fact *x = c->in[0], *ix = c->in[1];
    if (axis_normalise(a->on.axis, x->rank) < 0 || ix->rank != x->rank || c->in[2]->rank != x->rank)
        return infer_fail(c, "axis %lld with inputs of rank %d, %d, %d", (long long) a->on.axis,
                          x->rank, ix->rank, c->in[2]->rank);
    for (int i = 0; i < x->rank; i++)
        if (ix->shape[i] != c->in[2]->shape[i] ||
            (i != axis_normalise(a->on.axis, x->rank) && dim_is_const(ix->shape[i]) &&
             dim_is_const(x->shape[i]) && dim_value(ix->shape[i]) > dim_value(x->shape[i])))
            return infer_fail(c, "axis %d of indices and updates does not fit the data", i);
    TRY(scatter_check(c));
    return infer_indices(c, 1, axis_normalise(a->on.axis, x->rank), 1);
}

static rill_status elements_prepare(struct prep *c)
{
    const struct tensor *x = c->in[0], *ix = c->in[1], *u = c->in[2];
    int axis = axis_normalise(((const struct scatter_attr *) c->attr)->on.axis, x->rank);
    for (int i = 0; i < x->rank; i++)
        if (ix->dim[i] != u->dim[i] || (i != axis && ix->dim[i] > x->dim[i]))
            return prep_fail(c, "axis %d of indices and updates does not fit the data", i);
    return RILL_OK;
}

static void elements_eval(const struct eval *e)
{
    const struct scatter_attr *a = e->attr;
    const struct tensor *x = e->in[0], *ix = e->in[1];
    int axis = axis_normalise(a->on.axis, x->rank);
    int64_t xs[RANK_MAX], is[RANK_MAX], n = tensor_count(ix);
    tensor_strides(x, xs);
    tensor_strides(ix, is);
    memcpy(e->y[0], e->x[0], tensor_bytes(x));
    for (int64_t i = 0; i < n && tensor_count(x); i++) {
        int64_t to = 0, rest = i;
        for (int k = 0; k < x->rank; k++) {
            to += (k == axis ? index_read(e, 1, i, x->dim[axis]) : rest / is[k]) * xs[k];
            rest %= is[k];
        }
        put((enum reduction) a->reduction, x, e->y[0], to, e->x[2], i, 1);
    }
}

static rill_status nd_infer(struct infer *c)
{
    const struct fact *x = c->in[0], *ix = c->in[1], *u = c->in[2];
    if (ix->rank < 1 || !dim_is_const(ix->shape[ix->rank - 1]))
        return infer_fail(c, "the last axis of the indices must be known");
    int64_t k = dim_value(ix->shape[ix->rank - 1]);
    if (k < 0 || k > x->rank || u->rank != ix->rank - 1 + x->rank - (int) k)
        return infer_fail(c, "indices of %lld coordinates, data of rank %d, updates of rank %d",
                          (long long) k, x->rank, u->rank);
    for (int i = 0; i < u->rank; i++) {
        const struct dim *want =
            i < ix->rank - 1 ? ix->shape[i] : x->shape[(int) k + i - (ix->rank - 1)];
        if (want != u->shape[i] && dim_is_const(want) && dim_is_const(u->shape[i]))
            return infer_fail(c, "axis %d of the updates does not fit indices and data", i);
    }
    TRY(scatter_check(c));
    return infer_indices(c, 1, 0, k);
}

static void nd_eval(const struct eval *e)
{
    const struct scatter_attr *a = e->attr;
    const struct tensor *x = e->in[0], *ix = e->in[1];
    int64_t k = ix->dim[ix->rank - 1], n = 1, row = 1, xs[RANK_MAX];
    tensor_strides(x, xs);
    for (int i = 0; i < ix->rank - 1; i++)
        n *= ix->dim[i];
    for (int i = (int) k; i < x->rank; i++)
        row *= x->dim[i];
    memcpy(e->y[0], e->x[0], tensor_bytes(x));
    for (int64_t i = 0; i < n && tensor_count(x); i++) {
        int64_t to = 0;
        for (int64_t j = 0; j < k; j++)
            to += index_read(e, 1, i * k + j, x->dim[j]) * xs[j];
        put((enum reduction) a->reduction, x, e->y[0], to, e->x[2], i * row, row);
    }
}

/* Known coordinates become runs of elements that lie in a row on both sides: cache updates of
 * streaming nets. */
struct nd_run {
    int64_t to, from, n;
};
struct nd_runs {
    struct nd_run *run;
    int64_t n;
};

static rill_status nd_prepare(struct prep *c)
{
    const struct scatter_attr *a = c->attr;
    const struct tensor *x = c->in[0], *ix = c->in[1];
    int64_t k = ix->rank ? ix->dim[ix->rank - 1] : 0, n = 1, row = 1, xs[RANK_MAX];
    for (int i = 0; i < c->in[2]->rank; i++)
        if (c->in[2]->dim[i] !=
            (i < ix->rank - 1 ? ix->dim[i] : x->dim[(int) k + i - (ix->rank - 1)]))
            return prep_fail(c, "axis %d of the updates does not fit indices and data", i);
    if (!ix->data || a->reduction || !tensor_count(x) || !tensor_count(ix))
        return RILL_OK;
    tensor_strides(x, xs);
    for (int i = 0; i < ix->rank - 1; i++)
        n *= ix->dim[i];
    for (int i = (int) k; i < x->rank; i++)
        row *= x->dim[i];
    struct nd_runs *r = arena_new(c->arena, struct nd_runs);
    if (!r || !(r->run = arena_array(c->arena, struct nd_run, (size_t) n + 1)))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; i < n; i++) {
        int64_t to = 0;
        for (int64_t j = 0, at; j < k; j++) {
            if (!index_wrap(tensor_get_i64(ix, ix->data, i * k + j), x->dim[j], &at))
                return prep_fail(c, "index %lld is outside an axis of %lld",
                                 (long long) tensor_get_i64(ix, ix->data, i * k + j),
                                 (long long) x->dim[j]);
            to += at * xs[j];
        }
        struct nd_run *last = r->n ? &r->run[r->n - 1] : NULL;
        if (last && last->to + last->n == to)
            last->n += row;
        else
            r->run[r->n++] = (struct nd_run) { to, i * row, row };
    }
    c->args = r;
    c->kernel = "ScatterND runs";
    return RILL_OK;
}

static void nd_eval_runs(const struct eval *e)
{
    const struct nd_runs *r = e->args;
    size_t bytes = dtype_bytes(e->in[0]->type);
    if (!r) {
        nd_eval(e);
        return;
    }
    memcpy(e->y[0], e->x[0], tensor_bytes(e->in[0]));
    for (int64_t i = 0; i < r->n; i++)
        memcpy((char *) e->y[0] + (size_t) r->run[i].to * bytes,
               (const char *) e->x[2] + (size_t) r->run[i].from * bytes,
               (size_t) r->run[i].n * bytes);
}

static const struct op op_elements = {
    .id = OP_SCATTER_ELEMENTS,
    .name = "ScatterElements",
    .attrs = elements_attrs,
    .attr_bytes = sizeof(struct scatter_attr),
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = elements_infer,
    .prepare = elements_prepare,
    .eval = elements_eval,
    .checked = 1,
    .help = "writes elements by an index along one axis",
};

static const struct op op_nd = {
    .id = OP_SCATTER_ND,
    .name = "ScatterND",
    .attrs = nd_attrs,
    .attr_bytes = sizeof(struct scatter_attr),
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = nd_infer,
    .prepare = nd_prepare,
    .eval = nd_eval_runs,
    .checked = 1,
    .help = "writes slices by several coordinates",
};

const struct op *const ops_scatter[] = { &op_elements, &op_nd, NULL };
