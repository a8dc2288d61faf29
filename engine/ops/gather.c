/* SPDX-License-Identifier: MIT */
/* Indexed reads. An index of the data is wrapped once if negative; one that is still outside is a
 * fault. */
#include "engine/ops/attrs.h"
#include "engine/ops/ops.h"
#include "engine/base/dim_claims.h"

#include <stdio.h>
#include <string.h>

static const struct attr_spec gather_attrs[] = {
    { .name = "axis", .kind = ATTR_INT, .offset = offsetof(struct axis_attr, axis) },
    { 0 },
};

/* Elements wanted from nothing. */
static rill_status source_check(struct prep *c)
{
    if (!tensor_count(c->in[0]) && tensor_count(c->out[0]))
        return prep_fail(c, "reads %lld elements from an empty input",
                         (long long) tensor_count(c->out[0]));
    return RILL_OK;
}

/* ---- Gather ---- */

/* Constants name places that there must be: nothing runs on an axis that lacks them. */
static rill_status places_assume(struct infer *c, const struct dim *n)
{
    const struct tensor *v = c->in[1]->value;
    char size[160], text[200];
    int64_t least = 0;
    if (!v || v->type == DTYPE_DIM || dim_is_const(n))
        return RILL_OK;
    for (int64_t i = 0; i < tensor_count(v); i++) {
        int64_t at = tensor_get_i64(v, v->data, i), want = at < 0 ? -at : at + 1;
        least = want > least ? want : least;
    }
    if (least == 0)
        return RILL_OK;
    dim_print(n, size, sizeof size);
    snprintf(text, sizeof text, "%s >= %lld", size, (long long) least);
    const struct dim *ge0 = dim_add_int(c->dims, n, -least);
    TRY(dims_assume(c->dims, ge0, c->err));
    TRY(dims_claim_keep(c->dims, text, ge0, c->err));
    return dims_claim_add(c->dims, DIM_CLAIM_NEEDED, text, ge0, c->err);
}

static rill_status gather_infer(struct infer *c)
{
    const struct fact *x = c->in[0], *ix = c->in[1];
    int axis = axis_normalise(((const struct axis_attr *) c->attr)->axis, x->rank);
    const struct dim *shape[2 * RANK_MAX];
    int n = 0;
    if (axis < 0 || x->rank + ix->rank - 1 > RANK_MAX)
        return infer_fail(c, "axis %lld with inputs of rank %d and %d",
                          (long long) ((const struct axis_attr *) c->attr)->axis, x->rank,
                          ix->rank);
    TRY(infer_indices(c, 1, axis, 1));
    TRY(places_assume(c, x->shape[axis]));
    for (int i = 0; i < axis; i++)
        shape[n++] = x->shape[i];
    for (int i = 0; i < ix->rank; i++)
        shape[n++] = ix->shape[i];
    for (int i = axis + 1; i < x->rank; i++)
        shape[n++] = x->shape[i];
    infer_shape(c, 0, x->type, n, shape);
    return RILL_OK;
}

/* Known indices are resolved once. */
static rill_status gather_prepare(struct prep *c)
{
    const struct tensor *x = c->in[0], *ix = c->in[1];
    int axis = axis_normalise(((const struct axis_attr *) c->attr)->axis, x->rank);
    int64_t n = tensor_count(ix);
    TRY(source_check(c));
    if (ix->type == DTYPE_DIM)
        return prep_fail(c, "a symbolic size cannot become an index; give the size a number");
    if (!ix->data || !x->dim[axis])
        return RILL_OK;
    int64_t *at = arena_alloc_array(c->arena, (size_t) n + 1, sizeof *at);
    if (!at)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; i < n; i++)
        if (!index_wrap(tensor_get_i64(ix, ix->data, i), x->dim[axis], &at[i]))
            return prep_fail(c, "index %lld is outside an axis of %lld",
                             (long long) tensor_get_i64(ix, ix->data, i), (long long) x->dim[axis]);
    c->args = at;
    return RILL_OK;
}

static void gather_words(uint32_t *restrict y, const uint32_t *restrict x,
                         const int64_t *restrict at, int64_t n, int64_t outer, int64_t limit)
{
    for (int64_t o = 0; o < outer; o++, y += n, x += limit)
        for (int64_t i = 0; i < n; i++)
            y[i] = x[at[i]];
}

static void gather_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0], *ix = e->in[1];
    const int64_t *at = e->args;
    int axis = axis_normalise(((const struct axis_attr *) e->attr)->axis, x->rank);
    int64_t outer = 1, n = tensor_count(ix), limit = x->dim[axis];
    size_t row = dtype_bytes(x->type);
    for (int i = 0; i < axis; i++)
        outer *= x->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        row *= (size_t) x->dim[i];
    char *y = e->y[0];
    if (at && row == 4) {
        gather_words(e->y[0], e->x[0], at, n, outer, limit);
        return;
    }
    for (int64_t o = 0; o < outer && limit && row; o++)
        for (int64_t i = 0; i < n; i++, y += row) {
            int64_t k = at ? at[i] : index_read(e, 1, i, limit);
            memcpy(y, (const char *) e->x[0] + (size_t) (o * limit + k) * row, row);
        }
}

/* ---- GatherElements ---- */

static rill_status gather_elements_infer(struct infer *c)
{
    const struct fact *x = c->in[0], *ix = c->in[1];
    int axis = axis_normalise(((const struct axis_attr *) c->attr)->axis, x->rank);
    if (axis < 0 || ix->rank != x->rank)
        return infer_fail(c, "axis %lld with inputs of rank %d and %d",
                          (long long) ((const struct axis_attr *) c->attr)->axis, x->rank,
                          ix->rank);
    for (int i = 0; i < x->rank; i++)
        if (i != axis && dim_is_const(ix->shape[i]) && dim_is_const(x->shape[i]) &&
            dim_value(ix->shape[i]) > dim_value(x->shape[i]))
            return infer_fail(c, "axis %d of the indices is longer than that of the data", i);
    TRY(infer_indices(c, 1, axis, 1));
    infer_shape(c, 0, x->type, ix->rank, ix->shape);
    return RILL_OK;
}

static rill_status gather_elements_prepare(struct prep *c)
{
    const struct tensor *x = c->in[0], *ix = c->in[1];
    int axis = axis_normalise(((const struct axis_attr *) c->attr)->axis, x->rank);
    for (int i = 0; i < x->rank; i++)
        if (i != axis && ix->dim[i] > x->dim[i])
            return prep_fail(c, "axis %d has %lld indices for %lld elements", i,
                             (long long) ix->dim[i], (long long) x->dim[i]);
    return source_check(c);
}

static void gather_elements_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0], *ix = e->in[1];
    int axis = axis_normalise(((const struct axis_attr *) e->attr)->axis, x->rank);
    int64_t xs[RANK_MAX], is[RANK_MAX], n = tensor_count(ix);
    size_t bytes = dtype_bytes(x->type);
    tensor_strides(x, xs);
    tensor_strides(ix, is);
    for (int64_t i = 0; i < n && x->dim[axis]; i++) {
        int64_t from = 0, rest = i;
        for (int k = 0; k < x->rank; k++) {
            from += (k == axis ? index_read(e, 1, i, x->dim[axis]) : rest / is[k]) * xs[k];
            rest %= is[k];
        }
        memcpy((char *) e->y[0] + (size_t) i * bytes,
               (const char *) e->x[0] + (size_t) from * bytes, bytes);
    }
}

/* ---- GatherND ---- */

static const struct attr_spec gather_nd_attrs[] = {
    { .name = "batch_dims",
      .kind = ATTR_INT,
      .offset = offsetof(struct gather_nd_attr, batch_dims) },
    { 0 },
};

static rill_status gather_nd_infer(struct infer *c)
{
    const struct fact *x = c->in[0], *ix = c->in[1];
    int64_t b = ((const struct gather_nd_attr *) c->attr)->batch_dims;
    const struct dim *shape[2 * RANK_MAX];
    int n = 0;
    if (ix->rank < 1 || x->rank < 1 || b < 0 || b >= ix->rank || b >= x->rank ||
        !dim_is_const(ix->shape[ix->rank - 1]))
        return infer_fail(
            c, "wants indices whose last axis is known, and batch_dims below both ranks");
    int64_t k = dim_value(ix->shape[ix->rank - 1]);
    if (k < 1 || b + k > x->rank || ix->rank - 1 + x->rank - b - k > RANK_MAX)
        return infer_fail(c, "indices of %lld coordinates into rank %d", (long long) k, x->rank);
    for (int i = 0; i < b; i++)
        if (ix->shape[i] != x->shape[i] && dim_is_const(ix->shape[i]) && dim_is_const(x->shape[i]))
            return infer_fail(c, "batch axis %d is %lld in the data and %lld in the indices", i,
                              (long long) dim_value(x->shape[i]),
                              (long long) dim_value(ix->shape[i]));
    TRY(infer_indices(c, 1, (int) b, k));
    for (int i = 0; i < ix->rank - 1; i++)
        shape[n++] = ix->shape[i];
    for (int i = (int) (b + k); i < x->rank; i++)
        shape[n++] = x->shape[i];
    infer_shape(c, 0, x->type, n, shape);
    return RILL_OK;
}

static rill_status gather_nd_prepare(struct prep *c)
{
    int64_t b = ((const struct gather_nd_attr *) c->attr)->batch_dims;
    for (int i = 0; i < b; i++)
        if (c->in[1]->dim[i] != c->in[0]->dim[i])
            return prep_fail(c, "batch axis %d is %lld in the data and %lld in the indices", i,
                             (long long) c->in[0]->dim[i], (long long) c->in[1]->dim[i]);
    return source_check(c);
}

static void gather_nd_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0], *ix = e->in[1];
    int64_t b = ((const struct gather_nd_attr *) e->attr)->batch_dims, k = ix->dim[ix->rank - 1],
            xs[RANK_MAX];
    int64_t n = 1, batches = 1, batch_size = 1;
    size_t row = dtype_bytes(x->type);
    tensor_strides(x, xs);
    for (int i = 0; i < ix->rank - 1; i++)
        n *= ix->dim[i];
    for (int64_t i = 0; i < b; i++)
        batches *= x->dim[i];
    for (int i = (int) b; i < x->rank; i++)
        batch_size *= x->dim[i];
    for (int i = (int) (b + k); i < x->rank; i++)
        row *= (size_t) x->dim[i];
    if (!tensor_count(x) || !n)
        return;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i / (n / batches) * batch_size;
        for (int64_t j = 0; j < k; j++)
            from += index_read(e, 1, i * k + j, x->dim[b + j]) * xs[b + j];
        memcpy((char *) e->y[0] + (size_t) i * row,
               (const char *) e->x[0] + (size_t) from * dtype_bytes(x->type), row);
    }
}

/* ---- table ---- */

OP_ROW(gather, GATHER, "Gather", gather_attrs, sizeof(struct axis_attr), 2, 2, 1, gather_infer,
       gather_prepare, gather_eval, "slices of an axis by index", .checked = 1);
OP_ROW(gather_elements, GATHER_ELEMENTS, "GatherElements", gather_attrs, sizeof(struct axis_attr),
       2, 2, 1, gather_elements_infer, gather_elements_prepare, gather_elements_eval,
       "elements by an index along one axis", .checked = 1);
OP_ROW(gather_nd, GATHER_ND, "GatherND", gather_nd_attrs, sizeof(struct gather_nd_attr), 2, 2, 1,
       gather_nd_infer, gather_nd_prepare, gather_nd_eval, "slices by several coordinates",
       .checked = 1);

const struct op *const ops_gather[] = { &op_gather, &op_gather_elements, &op_gather_nd, NULL };
