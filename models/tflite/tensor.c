/* SPDX-License-Identifier: MIT */
/* Tensors of the file, the constants among them, and what their numbers stand for. */
#include "models/tflite/internal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    enum dtype type;
} elements[] = {
#define X(number, text, type) [number] = { text, DTYPE_##type },
    ELEMENT_TYPES(X)
#undef X
};

#define N_ELEMENTS ((int) (sizeof elements / sizeof *elements))

rill_status tfl_no_memory(const struct reader *r)
{
    return err_set(r->err, RILL_NOMEM,
                   "out of memory while reading a model (limit %zu bytes, 0: none)",
                   r->arena->limit_bytes);
}

rill_status tfl_text_read(struct reader *r, struct flat_table t, unsigned field, const char **ret)
{
    struct flat_list l = flat_list(&r->flat, t, field, 1);
    *ret = arena_printable(r->arena, r->flat.data + l.at, l.n);
    return *ret ? RILL_OK : tfl_no_memory(r);
}

static rill_status shape_read(struct reader *r, struct flat_table table, struct tfl_tensor *t)
{
    struct flat_list l = flat_list(&r->flat, table, TENSOR_SHAPE, 4);
    uint64_t bytes = dtype_bytes(t->shape.type);
    if (l.n > RANK_MAX)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "tensor '%.80s' has %u dimensions, at most %d are supported", t->name, l.n,
                       RANK_MAX);
    t->shape.rank = (int) l.n;
    t->ranked = l.n || flat_i8(&r->flat, table, TENSOR_RANKED, 0);
    for (uint32_t i = 0; i < l.n; i++) {
        int64_t n = t->shape.dim[i] = flat_list_i32(&r->flat, l, i);
        if (n < 0)
            return err_set(r->err, RILL_MALFORMED,
                           "tensor '%.80s': dimension %u is negative (%" PRId64 ")", t->name, i, n);
        if (__builtin_mul_overflow(bytes, (uint64_t) (n ? n : 1), &bytes) || bytes > SIZE_MAX / 4)
            return err_set(r->err, RILL_MALFORMED,
                           "tensor '%.80s': its dimensions multiply to more bytes than there are",
                           t->name);
    }
    return RILL_OK;
}

/* Sizes that the file leaves open. The first of several axes counts the batch, and stays what the
 * shape says. */
static rill_status signature_read(struct reader *r, struct flat_table table, struct tfl_tensor *t)
{
    struct flat_list l = flat_list(&r->flat, table, TENSOR_SIGNATURE, 4);
    if (l.n && l.n != (uint32_t) t->shape.rank)
        return err_set(r->err, RILL_MALFORMED,
                       "tensor '%.80s': a shape of %d dimensions and a signature of %u", t->name,
                       t->shape.rank, l.n);
    for (uint32_t i = 0; i < l.n; i++) {
        const int32_t n = flat_list_i32(&r->flat, l, i);
        if (n >= 0 && n != t->shape.dim[i])
            return err_set(r->err, RILL_MALFORMED,
                           "tensor '%.80s': axis %u is %" PRId64 " in its shape and %d in its "
                           "signature",
                           t->name, i, t->shape.dim[i], n);
        if (n < 0 && (i || l.n == 1))
            t->open |= 1u << i;
    }
    return RILL_OK;
}

/* Scales are above 0, finite and no denormals, zeros of the element's range. */
static rill_status scales_check(const struct reader *r, const struct tfl_tensor *t)
{
    int64_t low = t->shape.type == DTYPE_I8 ? -128
        : t->shape.type == DTYPE_U8         ? 0
                                            : INT32_MIN,
            high = t->shape.type == DTYPE_I8 ? 127
        : t->shape.type == DTYPE_U8          ? 255
                                             : INT32_MAX;
    for (uint32_t i = 0; i < t->q.n; i++) {
        double s = f32_stored(flat_list_f32(&r->flat, t->q.scale, i));
        if (!(s >= (double) FLT_MIN) || !isfinite(s))
            return err_set(r->err, RILL_MALFORMED,
                           "tensor '%.80s': scale %u is %g, wants a finite number of at least %g",
                           t->name, i, s, (double) FLT_MIN);
    }
    for (uint32_t i = 0; i < t->q.zero.n; i++) {
        int64_t z = flat_list_i64(&r->flat, t->q.zero, i);
        if (z < low || z > high)
            return err_set(r->err, RILL_MALFORMED,
                           "tensor '%.80s': zero point %u is %" PRId64 ", which %s does not hold",
                           t->name, i, z, elements[t->element].name);
    }
    return RILL_OK;
}

static rill_status quant_read(struct reader *r, struct flat_table table, struct tfl_tensor *t)
{
    struct flat_table q = flat_sub(&r->flat, table, TENSOR_QUANT);
    t->q.scale = flat_list(&r->flat, q, QUANT_SCALE, 4);
    t->q.zero = flat_list(&r->flat, q, QUANT_ZERO, 8);
    t->q.n = t->q.scale.n;
    t->q.axis = flat_i32(&r->flat, q, QUANT_AXIS, 0);
    if (flat_i8(&r->flat, q, QUANT_DETAILS, 0))
        return err_set(r->err, RILL_UNSUPPORTED,
                       "tensor '%.80s': its quantisation is of a form of its own; scales and zero "
                       "points are supported",
                       t->name);
    if (t->q.n == 0)
        return RILL_OK;
    if (t->q.zero.n != t->q.n && t->q.zero.n > 1)
        return err_set(r->err, RILL_MALFORMED, "tensor '%.80s': %u scales and %u zero points",
                       t->name, t->q.n, t->q.zero.n);
    if (t->q.n > 1 &&
        (t->q.axis < 0 || t->q.axis >= t->shape.rank || t->shape.dim[t->q.axis] != t->q.n))
        return err_set(r->err, RILL_MALFORMED,
                       "tensor '%.80s': %u scales do not fit axis %d of its shape", t->name, t->q.n,
                       t->q.axis);
    return scales_check(r, t);
}

static rill_status tensor_read(struct reader *r, struct flat_table table, struct tfl_tensor *t)
{
    TRY(tfl_text_read(r, table, TENSOR_NAME, &t->name));
    t->element = flat_i8(&r->flat, table, TENSOR_TYPE, 0);
    t->wire = t->resource = WIRE_NONE;
    t->buffer = (uint32_t) flat_i32(&r->flat, table, TENSOR_BUFFER, 0);
    t->variable = flat_i8(&r->flat, table, TENSOR_VARIABLE, 0);
    if (t->element < 0 || t->element >= N_ELEMENTS)
        return err_set(r->err, RILL_UNSUPPORTED, "tensor '%.80s': element type number %d", t->name,
                       t->element);
    t->shape.type = elements[t->element].type;
    if (t->shape.type == DTYPE_NONE && t->element != ELEMENT_RESOURCE)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "tensor '%.80s': elements of type %s are not supported; floats, integers "
                       "and bool of 8 bits and more are",
                       t->name, elements[t->element].name);
    if (flat_sub(&r->flat, table, TENSOR_SPARSE).at)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "tensor '%.80s' is sparse; convert the model without sparsity", t->name);
    TRY(shape_read(r, table, t));
    TRY(signature_read(r, table, t));
    TRY(flat_status(&r->flat, r->err));
    TRY(quant_read(r, table, t));
    return flat_status(&r->flat, r->err);
}

rill_status tfl_tensors_read(struct subgraph *s)
{
    struct reader *r = s->r;
    struct flat_list l = flat_list(&r->flat, s->table, GRAPH_TENSORS, 4);
    s->tensors = arena_array(r->arena, struct tfl_tensor, l.n + (size_t) 1);
    if (!s->tensors)
        return tfl_no_memory(r);
    for (s->n_tensors = 0; s->n_tensors < l.n; s->n_tensors++) {
        struct flat_table t = flat_list_table(&r->flat, l, s->n_tensors);
        TRY(flat_status(&r->flat, r->err));
        TRY(tensor_read(r, t, &s->tensors[s->n_tensors]));
    }
    return flat_status(&r->flat, r->err);
}

static rill_status buffer_read(struct reader *r, const struct tfl_tensor *t, struct flat_list *ret)
{
    if (t->buffer >= r->buffers.n)
        return err_set(r->err, RILL_MALFORMED, "tensor '%.80s': there is no buffer %u, only %u",
                       t->name, t->buffer, r->buffers.n);
    struct flat_table b = flat_list_table(&r->flat, r->buffers, t->buffer);
    *ret = flat_list(&r->flat, b, BUFFER_DATA, 1);
    if (flat_u64(&r->flat, b, BUFFER_OFFSET) > 1 || flat_u64(&r->flat, b, BUFFER_SIZE) > 1)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "tensor '%.80s': buffer %u lies behind the tables, at an offset of 64 bits "
                       "(a file of more than 2 GB); smaller files are read",
                       t->name, t->buffer);
    return flat_status(&r->flat, r->err);
}

rill_status tfl_tensor_value(struct reader *r, const struct tfl_tensor *t,
                             const struct tensor **ret)
{
    struct flat_list data;
    *ret = NULL;
    if (t->buffer == 0 || t->variable || t->element == ELEMENT_RESOURCE)
        return RILL_OK;
    TRY(buffer_read(r, t, &data));
    if (data.n == 0)
        return RILL_OK;
    if (data.n != tensor_bytes(&t->shape))
        return err_set(r->err, RILL_MALFORMED,
                       "tensor '%.80s': its buffer has %u bytes, its shape wants %zu", t->name,
                       data.n, tensor_bytes(&t->shape));
    r->tensor_bytes += data.n;
    if (r->tensor_bytes > r->tensor_bytes_max)
        return err_set(r->err, RILL_LIMIT,
                       "tensor '%.80s': the constants have more than %" PRIu64 " bytes", t->name,
                       r->tensor_bytes_max);
    *ret = tensor_from_data(r->arena, t->shape.type, t->shape.rank, t->shape.dim,
                            r->flat.data + data.at);
    return *ret ? RILL_OK : tfl_no_memory(r);
}

float tfl_quant_scale(const struct reader *r, const struct tfl_tensor *t, uint32_t i)
{
    return t->q.n ? flat_list_f32(&r->flat, t->q.scale, t->q.n > 1 ? i : 0) : 1;
}

bool tfl_quant_centred(const struct reader *r, const struct tfl_tensor *t)
{
    for (uint32_t i = 0; i < t->q.zero.n; i++)
        if (flat_list_i64(&r->flat, t->q.zero, i) != 0)
            return false;
    return true;
}

int32_t tfl_quant_zero(const struct reader *r, const struct tfl_tensor *t)
{
    return t->q.zero.n ? (int32_t) flat_list_i64(&r->flat, t->q.zero, 0) : 0;
}
