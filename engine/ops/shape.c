/* SPDX-License-Identifier: MIT */
/* Ops on shapes: views, and values made of sizes. */
#include "engine/base/dim_claims.h"
#include "engine/base/dim_lengths.h"
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"
#include "engine/ops/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static rill_status no_memory(struct infer *c)
{
    return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

/* ---- Shape, Size: values, known as soon as the input's shape is ---- */

struct shape_attr {
    int64_t start, end;
};

static const struct attr_spec shape_attrs[] = {
    { .name = "start", .kind = ATTR_INT, .offset = offsetof(struct shape_attr, start) },
    { .name = "end",
      .kind = ATTR_INT,
      .offset = offsetof(struct shape_attr, end),
      .def_i = INT64_MAX },
    { 0 },
};

static int64_t clamp_axis(int64_t a, int rank)
{
    a = a < 0 ? a + rank : a;
    return a < 0 ? 0 : a > rank ? rank : a;
}

/* A vector (or, n < 0, a scalar) of sizes as a constant: I64 where all are numbers, else DIM. */
static rill_status dims_value(struct infer *c, const struct dim *const *d, int n)
{
    bool symbolic = false;
    int64_t count = n;
    for (int i = 0; i < (n < 0 ? 1 : n); i++)
        symbolic |= !dim_is_const(d[i]);
    struct tensor *t =
        tensor_new(c->arena, symbolic ? DTYPE_DIM : DTYPE_I64, n < 0 ? 0 : 1, &count);
    if (!t)
        return no_memory(c);
    for (int i = 0; i < (n < 0 ? 1 : n); i++)
        if (symbolic)
            ((const struct dim **) t->data)[i] = d[i];
        else
            ((int64_t *) t->data)[i] = dim_value(d[i]);
    fact_of_tensor(&c->out[0], c->dims, t);
    return RILL_OK;
}

static rill_status shape_infer(struct infer *c)
{
    const struct shape_attr *a = c->attr;
    const struct fact *x = c->in[0];
    int64_t from = clamp_axis(a->start, x->rank),
            to = a->end == INT64_MAX ? x->rank : clamp_axis(a->end, x->rank);
    return dims_value(c, x->shape + from, to > from ? (int) (to - from) : 0);
}

static rill_status size_infer(struct infer *c)
{
    const struct dim *n = dim_int(c->dims, 1);
    for (int i = 0; i < c->in[0]->rank; i++)
        n = dim_mul(c->dims, n, c->in[0]->shape[i]);
    return dims_value(c, &n, -1);
}

static void shape_eval(const struct eval *e)
{
    const struct shape_attr *a = e->attr;
    int64_t from = clamp_axis(a->start, e->in[0]->rank);
    memcpy(e->y[0], e->in[0]->dim + from, tensor_bytes(e->out[0]));
}

static void size_eval(const struct eval *e)
{
    *(int64_t *) e->y[0] = tensor_count(e->in[0]);
}

/* ---- views ---- */

static void view_eval(const struct eval *e)
{
    if (tensor_bytes(e->out[0]))
        memmove(e->y[0], e->x[0], tensor_bytes(e->out[0]));
}

static const struct dim *volume(struct infer *c, const struct dim *const *d, int from, int to)
{
    const struct dim *n = dim_int(c->dims, 1);
    for (int i = from; i < to; i++)
        n = dim_mul(c->dims, n, d[i]);
    return n;
}

struct reshape_attr {
    int64_t allowzero;
};

static const struct attr_spec reshape_attrs[] = {
    { .name = "allowzero", .kind = ATTR_INT, .offset = offsetof(struct reshape_attr, allowzero) },
    { 0 },
};

/* a / b where b divides a as an expression: numbers, or a is b times a number, or equal. NULL: not
 * provable. */
static const struct dim *dim_quotient(struct dims *ds, const struct dim *a, const struct dim *b)
{
    int64_t k;
    if (a == b)
        return dim_int(ds, 1);
    if (!dim_is_const(b))
        return dim_ratio(ds, a, b, &k) && k >= 0 ? dim_int(ds, k) : NULL;
    k = dim_value(b);
    if (k == 0)
        return dim_is(a, 0) ? a : NULL;
    const struct dim *q = dim_div_int(ds, a, k);
    return dim_mul_int(ds, q, k) == a ? q : NULL;
}

/* Strikes the size out of left[0..*m), or the factors of one that is a product; what is not there
 * is a factor of *whole. */
static void size_strike(struct dims *ds, const struct dim *size, const struct dim **left, int *m,
                        const struct dim **whole)
{
    const struct dim_parts x = dim_parts(size);
    int k = 0;
    while (k < *m && left[k] != size)
        k++;
    if (k < *m)
        left[k] = left[--*m];
    else if (x.form != DIM_FORM_PRODUCT)
        *whole = dim_mul(ds, *whole, size);
    else
        for (unsigned i = 0; i < x.n; i++)
            size_strike(ds, x.arg[i], left, m, whole);
}

/* The size that -1 stands for: what is left of the volume once sizes that stand on both sides are
 * struck out; ret_by_length: a length is left, by which it was divided. */
static const struct dim *reshape_rest(struct infer *c, const struct fact *x,
                                      const struct dim *const *shape, int n, int hole,
                                      bool *ret_by_length)
{
    const struct dim *left[RANK_MAX], *whole = dim_int(c->dims, 1), *rest = whole, *q;
    int m = 0;
    for (int i = 0; i < n; i++)
        if (i != hole)
            left[m++] = shape[i];
    for (int i = 0; i < x->rank; i++)
        size_strike(c->dims, x->shape[i], left, &m, &whole);
    for (int i = 0; i < m; i++)
        rest = dim_mul(c->dims, rest, left[i]);
    *ret_by_length = !dim_is_const(rest);
    return (q = dim_quotient(c->dims, whole, rest));
}

struct reshape_wanted {
    struct infer *c;
    const struct fact *x;
    const struct dim *const *shape;
    int n, hole;
    const struct dim *symbol;
};

static bool reshape_fits(void *ctx, const struct dim *length)
{
    const struct reshape_wanted *r = ctx;
    struct dims *ds = r->c->dims;
    const struct dim *shape[RANK_MAX];
    struct fact x = *r->x;
    for (int i = 0; i < x.rank; i++)
        x.shape[i] = dim_subst(ds, x.shape[i], r->symbol, length);
    for (int i = 0; i < r->n; i++)
        shape[i] = dim_subst(ds, r->shape[i], r->symbol, length);
    return reshape_rest(r->c, &x, shape, r->n, r->hole, &(bool) { false }) != NULL;
}

/* The assertions under which it would fit. */
static void fitting_print(struct infer *c, const struct fact *x, const struct dim *const *shape,
                          int n, char *ret, size_t cap)
{
    struct reshape_wanted r = { c, x, shape, n, -1, NULL };
    const struct dim *symbols[2];
    char asserts[200];
    unsigned m = 0;
    int64_t all = 1;
    bool fine = true;
    for (int i = 0; i < x->rank && m < 2; i++)
        m = dim_symbols(x->shape[i], symbols, m, 2);
    for (int i = 0; i < n; i++)
        if (dim_is(shape[i], -1))
            r.hole = i;
        else if (dim_is_const(shape[i]))
            fine = fine && !__builtin_mul_overflow(all, dim_value(shape[i]), &all);
    r.symbol = m == 1 ? symbols[0] : NULL;
    const char *name = r.symbol ? dim_name(r.symbol) : "S";
    const bool sought = r.symbol && r.hole >= 0 && fine;
    if (sought &&
        dim_lengths_assert(c->dims, r.symbol, all, reshape_fits, &r, asserts, sizeof asserts))
        snprintf(ret, cap, "; it would with%s", asserts);
    else if (sought && all > 1 && all <= DIM_MULTIPLE_MAX)
        snprintf(ret, cap,
                 "; no multiple of %.40s that is asserted would make it fit: pad it, or cut it, to "
                 "whole blocks",
                 name);
    else
        snprintf(ret, cap,
                 "; where a symbol is a multiple of something, say so, as in "
                 "--assert \"%.40s == 4*(%.40s/4)\"",
                 name, name);
}

static rill_status reshape_refuse(struct infer *c, const struct fact *x,
                                  const struct dim *const *shape, int n, bool is_wrong)
{
    struct fact want = { .type = x->type, .rank = n };
    char from[160], to[160], would[240] = "";
    for (int i = 0; i < n; i++)
        want.shape[i] = shape[i];
    fact_print(x, from, sizeof from);
    fact_print(&want, to, sizeof to);
    if (!is_wrong)
        fitting_print(c, x, shape, n, would, sizeof would);
    return infer_fail(c, "%s does not fit %s, the wanted shape%s", from, to, would);
}

/* The one size that is no number; NULL: there is none, or several. ret_all: the product of the
 * numbers, a size of -1 left out. */
static const struct dim *only_symbolic(const struct dim *const *shape, int n, int64_t *ret_all)
{
    const struct dim *found = NULL;
    *ret_all = 1;
    for (int i = 0; i < n; i++) {
        if (!shape[i] || dim_is(shape[i], -1))
            continue;
        if (!dim_is_const(shape[i]) && found)
            return NULL;
        if (!dim_is_const(shape[i]))
            found = shape[i];
        else if (__builtin_mul_overflow(*ret_all, dim_value(shape[i]), ret_all))
            return NULL;
    }
    return found;
}

/* Rows that are cut out of a table are as many as are wanted, or nothing could run: fewer, down to
 * one, are no multiple of them. */
static rill_status table_assume(struct infer *c, const struct fact *x,
                                const struct dim *const *shape, int n)
{
    int64_t in, out;
    const struct dim *rows = only_symbolic(x->shape, x->rank, &in),
                     *want = only_symbolic(shape, n, &out);
    const struct dim_parts cut = rows ? dim_parts(rows) : (struct dim_parts) { 0 };
    for (unsigned i = 0; cut.form == DIM_FORM_MOST && cut.n == 2 && i < 2; i++)
        rows = dim_is(cut.arg[i], 0) ? cut.arg[1 - i] : rows;
    if (!rows || !want || in != out || rows == want || dim_unbounded(c->dims, rows) != want)
        return RILL_OK;
    return dims_assume_unbounded(c->dims, rows, c->err);
}

/* Rows and columns of a matrix that are cut out as one list are as many as are wanted: the same of
 * each factor. */
static rill_status matrix_assume(struct infer *c, const struct fact *x,
                                 const struct dim *const *shape, int n)
{
    int64_t in, out = 1;
    bool rest = false;
    struct dims *ds = c->dims;
    const struct dim *list = only_symbolic(x->shape, x->rank, &in), *cut = dim_int(ds, 1),
                     *want = dim_int(ds, 1);
    struct dim_parts of = list ? dim_parts(list) : (struct dim_parts) { 0 };
    if (of.form == DIM_FORM_SUM && of.n == 1 && !of.value && of.coef[0] == 1)
        of = dim_parts(of.arg[0]);
    if (of.form != DIM_FORM_PRODUCT)
        return RILL_OK;
    for (unsigned i = 0; i < of.n; i++)
        cut = dim_mul(ds, cut, dim_unbounded(ds, of.arg[i]));
    for (int i = 0; i < n; i++) {
        const bool is_rest = !shape[i] || dim_is(shape[i], -1);
        rest |= is_rest;
        if (!is_rest && !dim_is_const(shape[i]))
            want = dim_mul(ds, want, shape[i]);
        else if (!is_rest && __builtin_mul_overflow(out, dim_value(shape[i]), &out))
            return RILL_OK;
    }
    const bool fits = cut == want && out > 0 && (in == out || (rest && in % out == 0));
    for (unsigned i = 0; fits && i < of.n; i++)
        TRY(dims_assume_unbounded(ds, of.arg[i], c->err));
    return RILL_OK;
}

/* A factor of the size that is 0 or 1; NULL: it has none. */
static const struct dim *truth_of(const struct dim *size)
{
    const struct dim_parts x = dim_parts(size);
    const struct dim *y = x.form == DIM_FORM_AT_LEAST ? size : NULL;
    bool times = x.form == DIM_FORM_PRODUCT || (x.form == DIM_FORM_SUM && x.n == 1 && !x.value);
    for (unsigned i = 0; times && !y && i < x.n; i++)
        y = truth_of(x.arg[i]);
    return y;
}

/* One that is 0 or 1 is 1, or there would be nothing. */
static rill_status truth_assume(struct infer *c, const struct dim *size)
{
    const struct dim *truth = truth_of(size);
    if (!truth)
        return RILL_OK;
    const struct dim_parts x = dim_parts(truth);
    return dims_assume(c->dims, dim_sub(c->dims, x.arg[0], x.arg[1]), c->err);
}

/* No wanted size is negative, or nothing could run: what follows from that makes sizes alike. */
static rill_status sizes_assume(struct infer *c, struct fact *x, const struct dim **shape, int n)
{
    for (int i = 0; i < n; i++)
        if (shape[i] && !dim_is_const(shape[i])) {
            TRY(dims_assume(c->dims, shape[i], c->err));
            TRY(truth_assume(c, shape[i]));
        }
    TRY(table_assume(c, x, shape, n));
    TRY(matrix_assume(c, x, shape, n));
    for (int i = 0; i < n; i++)
        shape[i] = shape[i] ? dim_refresh(c->dims, shape[i]) : NULL;
    for (int i = 0; i < x->rank; i++)
        x->shape[i] = dim_refresh(c->dims, x->shape[i]);
    return RILL_OK;
}

/* In shorter sequences the whole run has other axes than a stream. */
static rill_status size_needs(struct infer *c, const struct dim *size, int64_t least,
                              enum dim_claim_kind kind)
{
    char name[160], text[200];
    const struct dim *more = dim_add_int(c->dims, size, -least);
    if (dim_is_const(size) || (least > 1 && dim_is_natural(c->dims, more)))
        return RILL_OK;
    dim_print(size, name, sizeof name);
    snprintf(text, sizeof text, "%s >= %lld", name, (long long) least);
    return dims_claim_add(c->dims, kind, text, more, c->err);
}

/* Where a table ends, sizes hold as many elements as there are at some lengths alone. */
static rill_status reshape_holds(struct infer *c, const struct dim *got, const struct dim *want)
{
    const struct dim *more = dim_sub(c->dims, got, want);
    char size[160], text[200];
    if (got == want || dim_is_const(got) || dim_is_const(want))
        return RILL_OK;
    dim_print(more, size, sizeof size);
    snprintf(text, sizeof text, "%s == 0", size);
    return dims_claim_add(c->dims, DIM_CLAIM_NEEDED, text,
                          dim_min(c->dims, more, dim_mul_int(c->dims, more, -1)), c->err);
}

static rill_status reshape_infer(struct infer *c)
{
    const struct reshape_attr *a = c->attr;
    const struct fact *x = c->in[0];
    struct fact refreshed = *x;
    const struct dim *shape[RANK_MAX];
    unsigned n = 0;
    int hole = -1;
    bool by_length = false;
    TRY(infer_dims(c, 1, shape, RANK_MAX, &n));
    for (unsigned i = 0; i < n; i++) {
        if (dim_is(shape[i], 0) && !a->allowzero) {
            if ((int) i >= x->rank)
                return infer_fail(
                    c, "size 0 at place %u copies an axis that the input of rank %d lacks", i,
                    x->rank);
            shape[i] = x->shape[i];
        }
        if (dim_is(shape[i], -1)) {
            if (hole >= 0)
                return infer_fail(c, "more than one size is -1");
            hole = (int) i;
        } else if (dim_is_const(shape[i]) && dim_value(shape[i]) < 0) {
            return infer_fail(c, "size %lld is negative", (long long) dim_value(shape[i]));
        }
    }
    if (hole >= 0 && !(shape[hole] = reshape_rest(c, x, shape, (int) n, hole, &by_length))) {
        TRY(sizes_assume(c, &refreshed, shape, (int) n));
        x = &refreshed;
        shape[hole] = reshape_rest(c, x, shape, (int) n, hole, &by_length);
    }
    const struct dim *want = volume(c, x->shape, 0, x->rank);
    const struct dim *got = hole >= 0 && !shape[hole] ? NULL : volume(c, shape, 0, (int) n);
    if (!got || (got != want && dim_is_const(got) && dim_is_const(want))) {
        if (hole >= 0)
            shape[hole] = dim_int(c->dims, -1);
        return reshape_refuse(c, x, shape, (int) n, got || fact_is_static(x));
    }
    /* a size of 0, of an empty sequence, would mean that of the input beside one left over */
    for (int i = 0; hole >= 0 && by_length && !a->allowzero && i < (int) n; i++)
        if (i != hole)
            TRY(size_needs(c, shape[i], 1, DIM_CLAIM_STREAMS));
    if (hole < 0)
        TRY(reshape_holds(c, got, want));
    infer_shape(c, 0, x->type, (int) n, shape);
    return RILL_OK;
}

static const struct attr_spec flatten_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct axis_attr, axis), .def_i = 1 },
    { 0 },
};

static rill_status flatten_infer(struct infer *c)
{
    const struct fact *x = c->in[0];
    int64_t axis = ((const struct axis_attr *) c->attr)->axis;
    axis = axis < 0 ? axis + x->rank : axis;
    if (axis < 0 || axis > x->rank)
        return infer_fail(c, "axis %lld is not one of an input of rank %d", (long long) axis,
                          x->rank);
    const struct dim *shape[2] = { volume(c, x->shape, 0, (int) axis),
                                   volume(c, x->shape, (int) axis, x->rank) };
    infer_shape(c, 0, x->type, 2, shape);
    return RILL_OK;
}

/* Marks the axes that a constant integer input names, for a tensor of that rank. */
static rill_status axes_mark(struct infer *c, unsigned input, int rank, bool mark[RANK_MAX])
{
    int64_t v[RANK_MAX];
    unsigned n = 0;
    TRY(infer_ints(c, input, v, RANK_MAX, &n));
    for (unsigned i = 0; i < n; i++) {
        int a = axis_normalise(v[i], rank);
        if (a < 0)
            return infer_fail(c, "axis %lld is not one of rank %d", (long long) v[i], rank);
        if (mark[a])
            return infer_fail(c, "axis %d is named twice", a);
        mark[a] = true;
    }
    return RILL_OK;
}

/* Of axes that nobody names those of size 1 go: one whose size is a length stays. */
static rill_status squeeze_infer(struct infer *c)
{
    const struct fact *x = c->in[0];
    bool gone[RANK_MAX] = { false };
    const struct dim *shape[RANK_MAX];
    int n = 0;
    if (infer_has(c, 1))
        TRY(axes_mark(c, 1, x->rank, gone));
    for (int i = 0; i < x->rank; i++) {
        if (!infer_has(c, 1))
            gone[i] = dim_is(x->shape[i], 1);
        if (!infer_has(c, 1))
            TRY(size_needs(c, x->shape[i], 2, DIM_CLAIM_STREAMS));
        if (gone[i] && dim_is_const(x->shape[i]) && !dim_is(x->shape[i], 1))
            return infer_fail(c, "axis %d has size %lld, only 1 can be squeezed", i,
                              (long long) dim_value(x->shape[i]));
        if (!gone[i])
            shape[n++] = x->shape[i];
    }
    infer_shape(c, 0, x->type, n, shape);
    return RILL_OK;
}

static rill_status unsqueeze_infer(struct infer *c)
{
    const struct fact *x = c->in[0];
    const struct tensor *axes = infer_has(c, 1) ? c->in[1]->value : NULL;
    const struct dim *shape[RANK_MAX];
    bool new[RANK_MAX] = { false };
    int rank = x->rank + (axes ? (int) tensor_count(axes) : 0);
    if (rank > RANK_MAX)
        return infer_fail(c, "would have %d axes, at most %d", rank, RANK_MAX);
    TRY(axes_mark(c, 1, rank, new));
    for (int i = 0, k = 0; i < rank; i++)
        shape[i] = new[i] ? dim_int(c->dims, 1) : x->shape[k++];
    infer_shape(c, 0, x->type, rank, shape);
    return RILL_OK;
}

/* ---- Expand ---- */

/* A size that is 0 or 1. */
static bool size_is_one_at_most(const struct dim *n)
{
    const struct dim_parts x = dim_parts(n);
    for (unsigned i = 0; x.form == DIM_FORM_LEAST && i < x.n; i++)
        if (dim_is(x.arg[i], 1))
            return true;
    return false;
}

/* An axis of as many places as time has that becomes one of a larger size must have one. */
static rill_status expand_needs(struct infer *c, const struct fact *want)
{
    const struct fact *x = c->in[0];
    for (int i = 0, k = want->rank - x->rank; i < x->rank; i++) {
        const struct dim *n = x->shape[i], *to = k + i < 0 ? NULL : want->shape[k + i];
        if (!to || dim_is_const(n) || !dim_is_const(to) || dim_value(to) < 2)
            continue;
        TRY(size_needs(c, n, 1, DIM_CLAIM_NEEDED));
        if (size_is_one_at_most(n))
            c->out[0].shape[c->out[0].rank - x->rank + i] = to;
    }
    return RILL_OK;
}

static rill_status expand_infer(struct infer *c)
{
    const struct fact *x = c->in[0];
    struct fact want = { .type = x->type };
    unsigned n = 0;
    TRY(infer_dims(c, 1, want.shape, RANK_MAX, &n));
    want.rank = (int) n;
    for (unsigned i = 0; i < n; i++)
        if (dim_is_const(want.shape[i]) && dim_value(want.shape[i]) < 0)
            return infer_fail(c, "size %lld is negative", (long long) dim_value(want.shape[i]));
    const struct fact *both[2] = { x, &want }, *const *in = c->in;
    unsigned n_in = c->n_in;
    c->in = both;
    c->n_in = 2;
    rill_status s = infer_broadcast(c, 0, x->type, 0, 1);
    c->in = in;
    c->n_in = n_in;
    TRY(s);
    TRY(expand_needs(c, &want));
    bool known = true;
    for (int i = 0; i < c->out[0].rank; i++)
        known &= dim_is_const(c->out[0].shape[i]);
    return known && !fact_is_static(&c->out[0]) ? infer_fail(c, "the wanted shape is too large")
                                                : RILL_OK;
}

static rill_status expand_prepare(struct prep *c)
{
    struct view_copy *v = arena_new(c->arena, struct view_copy);
    const struct tensor *x = c->in[0], *y = c->out[0];
    int64_t xs[RANK_MAX], ys[RANK_MAX], from[RANK_MAX];
    if (!v)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    tensor_strides(x, xs);
    tensor_strides(y, ys);
    for (int i = 0; i < y->rank; i++) {
        int k = i - (y->rank - x->rank);
        from[i] = k < 0 || x->dim[k] == 1 ? 0 : xs[k];
    }
    view_copy_init(v, y->rank, y->dim, from, ys, dtype_bytes(x->type));
    c->args = v;
    return RILL_OK;
}

/* ---- ConstantOfShape, Range, EyeLike ---- */

static const struct attr_spec value_attrs[] = {
    { .name = "value", .kind = ATTR_TENSOR, .offset = offsetof(struct value_attr, value) },
    { 0 },
};

static rill_status constant_of_shape_infer(struct infer *c)
{
    const struct value_attr *a = c->attr;
    const struct dim *shape[RANK_MAX];
    unsigned n = 0;
    TRY(infer_dims(c, 0, shape, RANK_MAX, &n));
    if (a->value && tensor_count(a->value) != 1)
        return infer_fail(c, "attribute 'value' must hold one element");
    for (unsigned i = 0; i < n; i++)
        if (dim_is_const(shape[i]) && dim_value(shape[i]) < 0)
            return infer_fail(c, "size %lld is negative", (long long) dim_value(shape[i]));
    infer_shape(c, 0, a->value ? a->value->type : DTYPE_F32, (int) n, shape);
    return RILL_OK;
}

static void fill(void *to, int64_t n, const void *value, size_t bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy((char *) to + (size_t) i * bytes, value, bytes);
}

static void constant_of_shape_eval(const struct eval *e)
{
    const struct value_attr *a = e->attr;
    const uint64_t zero = 0;
    fill(e->y[0], tensor_count(e->out[0]), a->value ? a->value->data : &zero,
         dtype_bytes(e->out[0]->type));
}

/* Negative: more than 2^31. The step is not 0. */
static int64_t range_steps(const struct tensor *from, const struct tensor *to,
                           const struct tensor *by)
{
    if (dtype_is_float(from->type) || dtype_is_float(by->type)) {
        double n = ceil((tensor_get_f64(to, to->data, 0) - tensor_get_f64(from, from->data, 0)) /
                        tensor_get_f64(by, by->data, 0));
        return n > INT32_MAX ? -1 : n > 0 ? (int64_t) n : 0;
    }
    int64_t a = tensor_get_i64(from, from->data, 0), b = tensor_get_i64(to, to->data, 0);
    int64_t step = tensor_get_i64(by, by->data, 0);
    if (step > 0 ? b <= a : b >= a)
        return 0;
    uint64_t span = step > 0 ? (uint64_t) b - (uint64_t) a : (uint64_t) a - (uint64_t) b;
    uint64_t one = step > 0 ? (uint64_t) step : -(uint64_t) step,
             n = span / one + (span % one != 0);
    return n > INT32_MAX ? -1 : (int64_t) n;
}

static const struct dim *dim_of_value(struct infer *c, const struct tensor *t)
{
    return t->type == DTYPE_DIM ? *(const struct dim *const *) t->data
                                : dim_int(c->dims, tensor_get_i64(t, t->data, 0));
}

/* The whole number from which on as many are counted by a whole step to a whole end. */
static const struct dim *start_of_value(struct infer *c, const struct tensor *t, bool down)
{
    const double v = t->type == DTYPE_DIM ? 0 : tensor_get_f64(t, t->data, 0);
    return !dtype_is_float(t->type) ? dim_of_value(c, t)
                                    : dim_int(c->dims, (int64_t) (down ? ceil(v) : floor(v)));
}

/* A size or a whole number. */
static bool is_whole(const struct tensor *t)
{
    return !dtype_is_float(t->type) ||
        (double) tensor_get_i64(t, t->data, 0) == tensor_get_f64(t, t->data, 0);
}

/* Of three numbers. */
static rill_status range_known(struct infer *c, const struct tensor *const *v,
                               const struct dim **ret)
{
    const double from = tensor_get_f64(v[0], v[0]->data, 0),
                 to = tensor_get_f64(v[1], v[1]->data, 0), by = tensor_get_f64(v[2], v[2]->data, 0);
    if (by == 0)
        return infer_fail(c, "its step is 0; input 2 must be another number");
    int64_t n = range_steps(v[0], v[1], v[2]);
    if (n < 0)
        return infer_fail(c,
                          "from %g to %g by %g it has more than 2^31 elements; a nearer end "
                          "(input 1) or a larger step (input 2) is taken",
                          from, to, by);
    *ret = dim_int(c->dims, n);
    return RILL_OK;
}

/* A size among floats stands for the float of its value. */
static rill_status range_infer(struct infer *c)
{
    const struct tensor *v[3];
    bool symbolic = false, sizes = false,
         floats = dtype_is_float(c->in[0]->type) || dtype_is_float(c->in[2]->type);
    enum dtype type = fact_number(c->in[floats && !dtype_is_float(c->in[0]->type) ? 2 : 0]);
    for (unsigned i = 0; i < 3; i++) {
        v[i] = c->in[i]->value;
        if (!v[i] || tensor_count(v[i]) != 1)
            return infer_fail(
                c, "its length depends on the data of input %u, which is not known before running",
                i);
        if (!floats && fact_number(c->in[i]) != type)
            return infer_fail(c, "input 0 is %s but input %u is %s; both must agree",
                              dtype_name(type), i, dtype_name(fact_number(c->in[i])));
        symbolic |= v[i]->type == DTYPE_DIM;
    }
    const struct dim *n;
    if (symbolic) {
        const struct dim *step = dim_of_value(c, v[2]);
        if (!is_whole(v[1]) || !is_whole(v[2]))
            return infer_fail(c, "a symbolic range wants a whole end and whole steps");
        if (!dim_is_const(step) || dim_value(step) == 0 || dim_value(step) < -INT32_MAX)
            return infer_fail(c, "a symbolic range wants a constant step that is not 0");
        int64_t by = dim_value(step);
        const struct dim *span =
            dim_sub(c->dims, dim_of_value(c, v[1]), start_of_value(c, v[0], by < 0));
        span = by < 0 ? dim_mul_int(c->dims, span, -1) : span;
        n = dim_max(c->dims, dim_int(c->dims, 0),
                    dim_div_ceil_int(c->dims, span, by < 0 ? -by : by));
        if (floats && dim_is_const(n))
            return infer_fail(
                c, "a range of floats from a symbolic size is as long as a symbolic size");
        sizes = !floats && dim_is_const(n); /* so many of them; else as many numbers as come */
    } else {
        TRY(range_known(c, v, &n));
    }
    infer_shape(c, 0, sizes ? DTYPE_DIM : type, 1, &n);
    c->out[0].number = sizes ? type : DTYPE_NONE;
    return RILL_OK;
}

static void range_eval(const struct eval *e)
{
    const struct tensor *y = e->out[0];
    for (int64_t i = 0; i < y->dim[0]; i++)
        if (dtype_is_float(y->type))
            tensor_set_f64(y, e->y[0], i,
                           tensor_get_f64(e->in[0], e->x[0], 0) +
                               (double) i * tensor_get_f64(e->in[2], e->x[2], 0));
        else
            tensor_set_f64(y, e->y[0], i,
                           (double) (tensor_get_i64(e->in[0], e->x[0], 0) +
                                     i * tensor_get_i64(e->in[2], e->x[2], 0)));
}

static void range_dim(const struct eval *e, struct dims *ds)
{
    const struct dim **y = e->y[0], *start = elem_dim_at(ds, e->in[0], e->x[0], 0),
                     *step = elem_dim_at(ds, e->in[2], e->x[2], 0);
    for (int64_t i = 0; i < e->out[0]->dim[0]; i++)
        y[i] = dim_add(ds, start, dim_mul_int(ds, step, i));
}

static const struct attr_spec eye_attrs[] = {
    { .name = "dtype", .kind = ATTR_INT, .offset = offsetof(struct eye_attr, dtype) },
    { .name = "k", .kind = ATTR_INT, .offset = offsetof(struct eye_attr, k) },
    { 0 },
};

static rill_status eye_infer(struct infer *c)
{
    const struct eye_attr *a = c->attr;
    if (c->in[0]->rank != 2)
        return infer_fail(c, "wants a matrix, has rank %d", c->in[0]->rank);
    if (a->dtype ? !types_hold(TYPES_ANY, a->dtype) : c->in[0]->type == DTYPE_DIM)
        return infer_fail(c, "dtype %lld is no type of number", (long long) a->dtype);
    infer_same(c, 0, 0);
    c->out[0].type = a->dtype ? (enum dtype) a->dtype : c->in[0]->type;
    return RILL_OK;
}

static void eye_eval(const struct eval *e)
{
    const struct eye_attr *a = e->attr;
    const struct tensor *y = e->out[0];
    memset(e->y[0], 0, tensor_bytes(y));
    for (int64_t r = 0; r < y->dim[0]; r++)
        if (a->k > -y->dim[0] && a->k < y->dim[1] && r + a->k >= 0 && r + a->k < y->dim[1])
            tensor_set_f64(y, e->y[0], r * y->dim[1] + r + a->k, 1);
}

/* ---- table ---- */

#define VIEW(stem, number, text, spec, bytes, max, fn, words)                                      \
    OP_ROW(stem, number, text, spec, bytes, 1, max, 1, fn, NULL, view_eval, words, .flags = OP_VIEW)
#define MAKE(stem, number, text, spec, bytes, n, fn, run, words)                                   \
    OP_ROW(stem, number, text, spec, bytes, n, n, 1, fn, NULL, run, words)

VIEW(reshape, RESHAPE, "Reshape", reshape_attrs, sizeof(struct reshape_attr), 2, reshape_infer,
     "the same elements in another shape");
VIEW(flatten, FLATTEN, "Flatten", flatten_attrs, sizeof(struct axis_attr), 1, flatten_infer,
     "a matrix, split at an axis");
VIEW(squeeze, SQUEEZE, "Squeeze", NULL, 0, 2, squeeze_infer, "drops axes of size 1");
VIEW(unsqueeze, UNSQUEEZE, "Unsqueeze", NULL, 0, 2, unsqueeze_infer, "adds axes of size 1");
MAKE(shape, SHAPE, "Shape", shape_attrs, sizeof(struct shape_attr), 1, shape_infer, shape_eval,
     "the sizes of the axes");
MAKE(size, SIZE, "Size", NULL, 0, 1, size_infer, size_eval, "the number of elements");
MAKE(constant_of_shape, CONSTANT_OF_SHAPE, "ConstantOfShape", value_attrs,
     sizeof(struct value_attr), 1, constant_of_shape_infer, constant_of_shape_eval,
     "a tensor of one value");
static const struct op op_range = {
    .id = OP_RANGE,
    .name = "Range",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .infer = range_infer,
    .eval = range_eval,
    .eval_dim = range_dim,
    .help = "start, start + step, ... before limit",
};
MAKE(eye, EYE_LIKE, "EyeLike", eye_attrs, sizeof(struct eye_attr), 1, eye_infer, eye_eval,
     "ones on a diagonal");

static const struct op op_expand = {
    .id = OP_EXPAND,
    .name = "Expand",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = expand_infer,
    .prepare = expand_prepare,
    .eval = view_copy_eval,
    .help = "repeats axes of size 1",
};

const struct op *const ops_shape[] = {
    &op_reshape,           &op_flatten, &op_squeeze, &op_unsqueeze, &op_shape, &op_size,
    &op_constant_of_shape, &op_range,   &op_eye,     &op_expand,    NULL
};
