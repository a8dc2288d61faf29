/* SPDX-License-Identifier: MIT */
/* Tensors of the file: raw bytes, typed lists, or data in another file. */
#include "models/onnx/internal.h"

#include <inttypes.h>
#include <string.h>

/* Element types of the format, by their number. list: the typed list that holds them. */
enum list { LIST_NONE, LIST_FLOAT, LIST_INT32, LIST_INT64, LIST_DOUBLE, LIST_UINT64 };

static const struct {
    const char *name;
    enum dtype type;
    enum list list;
} types[] = {
    [1] = { "float32", DTYPE_F32, LIST_FLOAT },
    [2] = { "uint8", DTYPE_U8, LIST_INT32 },
    [3] = { "int8", DTYPE_I8, LIST_INT32 },
    [4] = { "uint16", DTYPE_U16, LIST_INT32 },
    [5] = { "int16", DTYPE_I16, LIST_INT32 },
    [6] = { "int32", DTYPE_I32, LIST_INT32 },
    [7] = { "int64", DTYPE_I64, LIST_INT64 },
    [8] = { "string", DTYPE_NONE, LIST_NONE },
    [9] = { "bool", DTYPE_BOOL, LIST_INT32 },
    [10] = { "float16", DTYPE_F16, LIST_INT32 },
    [11] = { "float64", DTYPE_F64, LIST_DOUBLE },
    [12] = { "uint32", DTYPE_U32, LIST_UINT64 },
    [13] = { "uint64", DTYPE_U64, LIST_UINT64 },
    [14] = { "complex64", DTYPE_NONE, LIST_NONE },
    [15] = { "complex128", DTYPE_NONE, LIST_NONE },
    [16] = { "bfloat16", DTYPE_BF16, LIST_INT32 },
    [17] = { "float8e4m3fn", DTYPE_F16, LIST_NONE },
    [18] = { "float8e4m3fnuz", DTYPE_F16, LIST_NONE },
    [19] = { "float8e5m2", DTYPE_F16, LIST_NONE },
    [20] = { "float8e5m2fnuz", DTYPE_F16, LIST_NONE },
    [21] = { "uint4", DTYPE_U4, LIST_INT32 },
    [22] = { "int4", DTYPE_I4, LIST_INT32 },
    [23] = { "float4e2m1", DTYPE_NONE, LIST_NONE },
    [24] = { "float8e8m0", DTYPE_NONE, LIST_NONE },
    [25] = { "uint2", DTYPE_U2, LIST_INT32 },
    [26] = { "int2", DTYPE_I2, LIST_INT32 },
};

#define TYPES ((int64_t) (sizeof types / sizeof *types))

rill_status onnx_dtype(const struct reader *r, int64_t code, const char *what, enum dtype *ret)
{
    if (code < 1 || code >= TYPES)
        return err_set(r->err, RILL_MALFORMED, "%s: there is no element type number %" PRId64, what,
                       code);
    *ret = types[code].type;
    if (*ret == DTYPE_NONE)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "%s: elements of type %s are not supported; floats, "
                       "bool and integers of 2 to 64 bits are",
                       what, types[code].name);
    return RILL_OK;
}

static rill_status tensor_shape(const struct reader *r, const Onnxpb__Tensor *t, const char *what,
                                struct tensor *ret)
{
    if (t->n_dims > RANK_MAX)
        return err_set(r->err, RILL_UNSUPPORTED, "%s: has %zu dimensions, at most %d are supported",
                       what, t->n_dims, RANK_MAX);
    *ret = (struct tensor) { .rank = (int) t->n_dims };
    for (size_t i = 0; i < t->n_dims; i++)
        ret->dim[i] = t->dims[i];
    TRY(onnx_dtype(r, t->has_data_type ? t->data_type : 0, what, &ret->type));
    uint64_t bytes = dtype_bytes(ret->type);
    for (size_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] < 0)
            return err_set(r->err, RILL_MALFORMED, "%s: dimension %zu is negative (%" PRId64 ")",
                           what, i, t->dims[i]);
        /* Strides must fit too, so that a dimension of 0 does not hide the others. */
        if (__builtin_mul_overflow(bytes, (uint64_t) (t->dims[i] ? t->dims[i] : 1), &bytes) ||
            bytes > SIZE_MAX / 4)
            return err_set(r->err, RILL_MALFORMED,
                           "%s: its dimensions multiply to more bytes than there are", what);
    }
    return RILL_OK;
}

/* Numbers of 4 and 2 bits are several in a byte, the first one low. */
static int64_t per_byte(const struct tensor *t)
{
    switch (t->type) {
    case DTYPE_U4:
    case DTYPE_I4: return 2;
    case DTYPE_U2:
    case DTYPE_I2: return 4;
    default: return 1;
    }
}

/* Elements of a typed list, and bytes, that a tensor takes in the file. */
static int64_t stored_count(const struct tensor *t)
{
    return (tensor_count(t) + per_byte(t) - 1) / per_byte(t);
}

static size_t stored_bytes(const struct tensor *t)
{
    return (size_t) stored_count(t) * dtype_bytes(t->type);
}

/* From the last on, so that no byte is written before it is read. */
static void unpack(const struct tensor *t)
{
    uint8_t *p = t->data;
    int64_t many = per_byte(t);
    unsigned bits = (unsigned) (8 / many), mask = (1u << bits) - 1;
    bool is_signed = t->type == DTYPE_I4 || t->type == DTYPE_I2;
    for (int64_t i = many > 1 ? tensor_count(t) : 0; i-- > 0;) {
        unsigned v = p[i / many] >> ((unsigned) (i % many) * bits) & mask;
        p[i] = (uint8_t) (is_signed && v >> (bits - 1) ? v | ~mask : v);
    }
}

/* Elements of a typed list. */
static size_t list_length(const Onnxpb__Tensor *t, enum list list)
{
    switch (list) {
    case LIST_FLOAT: return t->n_float_data;
    case LIST_INT32: return t->n_int32_data;
    case LIST_INT64: return t->n_int64_data;
    case LIST_DOUBLE: return t->n_double_data;
    case LIST_UINT64: return t->n_uint64_data;
    default: return 0;
    }
}

/* Lists whose elements are as wide as the tensor's are copied, the others narrowed. */
static void list_copy(const Onnxpb__Tensor *t, enum list list, const struct tensor *to, int64_t n)
{
    size_t width = dtype_bytes(to->type), bytes = (size_t) n * width;
    const void *whole = list == LIST_FLOAT  ? (const void *) t->float_data
        : list == LIST_INT64                ? (const void *) t->int64_data
        : list == LIST_DOUBLE               ? (const void *) t->double_data
        : list == LIST_UINT64 && width == 8 ? (const void *) t->uint64_data
        : list == LIST_INT32 && width == 4  ? (const void *) t->int32_data
                                            : NULL;
    if (whole && bytes)
        memcpy(to->data, whole, bytes);
    for (int64_t i = 0; !whole && i < n; i++) {
        uint64_t v =
            list == LIST_UINT64 ? t->uint64_data[i] : (uint64_t) (int64_t) t->int32_data[i];
        /* little endian: the low bytes */
        memcpy((unsigned char *) to->data + (size_t) i * width, &v, width);
    }
}

/* The low bytes of a number of 32 bits are the element: the others say nothing more. */
static rill_status list_fits(const struct reader *r, const Onnxpb__Tensor *t, const char *what,
                             const struct tensor *to, int64_t n)
{
    int bits = 8 * (int) dtype_bytes(to->type);
    for (int64_t i = 0; bits < 32 && i < n; i++)
        if (t->int32_data[i] < -(1 << (bits - 1)) || t->int32_data[i] >= 1 << bits)
            return err_set(r->err, RILL_MALFORMED,
                           "%s: its element %" PRId64 " is %" PRId32 ", which is no %d bits of %s",
                           what, i, t->int32_data[i], bits, dtype_name(to->type));
    return RILL_OK;
}

static rill_status from_list(const struct reader *r, const Onnxpb__Tensor *t, const char *what,
                             const struct tensor *to)
{
    enum list list = types[t->data_type].list;
    int64_t n = stored_count(to);
    size_t have = list_length(t, list);
    if (have != (uint64_t) n)
        return err_set(r->err, RILL_MALFORMED,
                       "%s: its shape has %" PRId64 " elements%s and its data %zu", what,
                       tensor_count(to), per_byte(to) > 1 ? ", several in a byte," : "", have);
    if (list == LIST_INT32)
        TRY(list_fits(r, t, what, to, n));
    list_copy(t, list, to, n);
    return RILL_OK;
}

static rill_status from_raw(const struct reader *r, const Onnxpb__Tensor *t, const char *what,
                            const struct tensor *to)
{
    size_t want = stored_bytes(to);
    if (t->raw_data.len != want)
        return err_set(r->err, RILL_MALFORMED,
                       "%s: its shape takes %zu bytes and its raw data has %zu", what, want,
                       t->raw_data.len);
    if (want)
        memcpy(to->data, t->raw_data.data, want);
    return RILL_OK;
}

static void bools_normalise(const struct tensor *t)
{
    unsigned char *p = t->data;
    for (int64_t i = 0, n = t->type == DTYPE_BOOL ? tensor_count(t) : 0; i < n; i++)
        p[i] = p[i] != 0;
}

/* Some writers leave an empty raw field beside a list. */
static bool is_raw(const Onnxpb__Tensor *t)
{
    return t->has_raw_data && (t->raw_data.len || !list_length(t, types[t->data_type].list));
}

/* Data that must be there before memory is asked for. */
static rill_status check_length(const struct reader *r, const Onnxpb__Tensor *t, const char *what,
                                const struct tensor *shape)
{
    struct tensor none = *shape;
    none.data = NULL;
    if (is_raw(t) && t->raw_data.len != stored_bytes(&none))
        return from_raw(r, t, what, &none);
    if (!is_raw(t) && list_length(t, types[t->data_type].list) != (uint64_t) stored_count(&none))
        return from_list(r, t, what, &none);
    return RILL_OK;
}

static rill_status tensor_read(struct reader *r, const Onnxpb__Tensor *t, const char *what,
                               const struct tensor **ret)
{
    struct tensor shape;
    bool external = t->has_data_location && t->data_location == 1;
    TRY(tensor_shape(r, t, what, &shape));
    if (t->segment)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "%s: tensors in segments are not supported; store it whole", what);
    if (t->has_data_location && t->data_location != 0 && !external)
        return err_set(r->err, RILL_MALFORMED, "%s: there is no data location number %d", what,
                       t->data_location);
    if (!external)
        TRY(check_length(r, t, what, &shape));
    size_t bytes = tensor_bytes(&shape);
    if (bytes > r->limits.tensor_bytes - r->tensor_bytes)
        return err_set(r->err, RILL_LIMIT,
                       "%s: with its %zu bytes the constants take more than "
                       "%" PRIu64 " bytes",
                       what, bytes, r->limits.tensor_bytes);
    r->tensor_bytes += bytes;
    if (external)
        TRY(external_read(r, t, what, NULL, stored_bytes(&shape)));
    struct tensor *made = tensor_new(r->arena, shape.type, shape.rank, shape.dim);
    if (!made)
        return no_memory(r);
    TRY(external        ? external_read(r, t, what, made->data, stored_bytes(made))
            : is_raw(t) ? from_raw(r, t, what, made)
                        : from_list(r, t, what, made));
    unpack(made);
    bools_normalise(made);
    *ret = made;
    return RILL_OK;
}

rill_status onnx_tensor(struct reader *r, const Onnxpb__Tensor *t, const char *what,
                        const struct tensor **ret)
{
    enum { AS_BYTES = 2 };
    Onnxpb__Tensor bytes = *t;
    if (!t->has_data_type || !float8_is(t->data_type))
        return tensor_read(r, t, what, ret);
    bytes.data_type = AS_BYTES;
    TRY(tensor_read(r, &bytes, what, ret));
    return float8_tensor(r, *ret, t->data_type, ret);
}
