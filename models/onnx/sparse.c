/* SPDX-License-Identifier: MIT */
/* Tensors that are stored as values and their places, made whole. */
#include "engine/base/checked.h"
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

#define DENSE_BYTES_MAX ((size_t) 256 << 20) /* of one, of which few bytes may be in the file */

struct sparse {
    struct reader *r;
    const char *what;
    const struct tensor *values; /* of one axis */
    const struct tensor *places; /* one for each value, or one for each axis of each */
    struct tensor shape;         /* of the whole */
};

static rill_status shape_take(struct sparse *s, const Onnxpb__SparseTensor *pb)
{
    if (pb->n_dims < 1 || pb->n_dims > RANK_MAX)
        return err_set(s->r->err, RILL_UNSUPPORTED, "%s: has %zu dimensions, 1 to %d are supported",
                       s->what, pb->n_dims, RANK_MAX);
    s->shape = (struct tensor) { .type = s->values->type, .rank = (int) pb->n_dims };
    int64_t bytes = (int64_t) dtype_bytes(s->shape.type);
    for (size_t i = 0; i < pb->n_dims; i++) {
        s->shape.dim[i] = pb->dims[i];
        if (pb->dims[i] < 1)
            return err_set(s->r->err, RILL_MALFORMED,
                           "%s: dimension %zu of a sparse tensor is %" PRId64 "; it is at least 1",
                           s->what, i, pb->dims[i]);
        if (!int_mul(bytes, pb->dims[i], &bytes) || bytes > (int64_t) DENSE_BYTES_MAX)
            return err_set(s->r->err, RILL_LIMIT,
                           "%s: a sparse tensor takes more than %zu bytes where it is whole",
                           s->what, DENSE_BYTES_MAX);
    }
    return RILL_OK;
}

static rill_status places_check(const struct sparse *s)
{
    const struct tensor *p = s->places;
    const int64_t n = tensor_count(s->values);
    const bool fits = s->values->rank == 1 && p->type == DTYPE_I64 &&
        ((p->rank == 1 && p->dim[0] == n) ||
         (p->rank == 2 && p->dim[0] == n && p->dim[1] == s->shape.rank));
    return fits ? RILL_OK
                : err_set(s->r->err, RILL_MALFORMED,
                          "%s: the indices of a sparse tensor are i64, one for each of its %" PRId64
                          " values, or one for each axis of each",
                          s->what, n);
}

/* Where value i stands in the order of memory. */
static rill_status place_at(const struct sparse *s, int64_t i, int64_t *ret)
{
    const int64_t *p = s->places->data, count = tensor_count(&s->shape);
    const int n = s->places->rank == 1 ? 1 : s->shape.rank;
    *ret = 0;
    for (int k = 0; k < n; k++) {
        const int64_t at = p[i * n + k],
                      size = n == 1 && s->places->rank == 1 ? count : s->shape.dim[k];
        if (at < 0 || at >= size)
            return err_set(s->r->err, RILL_MALFORMED,
                           "%s: index %" PRId64 " of value %" PRId64
                           " of a sparse tensor is outside of 0 to %" PRId64,
                           s->what, at, i, size - 1);
        *ret = *ret * size + at;
    }
    return RILL_OK;
}

static rill_status values_place(const struct sparse *s, struct tensor *to)
{
    const size_t width = dtype_bytes(to->type);
    int64_t at, last = -1;
    for (int64_t i = 0; i < tensor_count(s->values); i++) {
        TRY(place_at(s, i, &at));
        if (at <= last)
            return err_set(s->r->err, RILL_MALFORMED,
                           "%s: the indices of a sparse tensor do not ascend at value %" PRId64,
                           s->what, i);
        memcpy((char *) to->data + (size_t) at * width,
               (const char *) s->values->data + (size_t) i * width, width);
        last = at;
    }
    return RILL_OK;
}

rill_status onnx_sparse(struct reader *r, const Onnxpb__SparseTensor *pb, const char *what,
                        const struct tensor **ret)
{
    struct sparse s = { .r = r, .what = what };
    if (!pb->values || !pb->indices)
        return err_set(r->err, RILL_MALFORMED, "%s: a sparse tensor wants values and indices",
                       what);
    TRY(onnx_tensor(r, pb->values, what, &s.values));
    TRY(onnx_tensor(r, pb->indices, what, &s.places));
    TRY(shape_take(&s, pb));
    TRY(places_check(&s));
    const size_t bytes = tensor_bytes(&s.shape);
    if (bytes > r->limits.tensor_bytes - r->tensor_bytes)
        return err_set(r->err, RILL_LIMIT,
                       "%s: with its %zu bytes the constants take more than %" PRIu64 " bytes",
                       what, bytes, r->limits.tensor_bytes);
    r->tensor_bytes += bytes;
    struct tensor *whole = tensor_new(r->arena, s.shape.type, s.shape.rank, s.shape.dim);
    if (!whole)
        return no_memory(r);
    TRY(values_place(&s, whole));
    *ret = whole;
    return RILL_OK;
}
