/* SPDX-License-Identifier: MIT */
#include "models/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    enum dtype type;
    const char *text;
} type_names[] = {
    { DTYPE_F32, "<f4" },  { DTYPE_F64, "<f8" }, { DTYPE_F16, "<f2" }, { DTYPE_I64, "<i8" },
    { DTYPE_I32, "<i4" },  { DTYPE_I16, "<i2" }, { DTYPE_I8, "|i1" },  { DTYPE_U64, "<u8" },
    { DTYPE_U32, "<u4" },  { DTYPE_U16, "<u2" }, { DTYPE_U8, "|u1" },  { DTYPE_BOOL, "|b1" },
    { DTYPE_BF16, "<u2" }, { DTYPE_I4, "|i1" },  { DTYPE_U4, "|u1" },  { DTYPE_I2, "|i1" },
    { DTYPE_U2, "|u1" },
};

#define N_TYPES (sizeof type_names / sizeof *type_names)

static uint64_t number_at(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t) p[i] << 8 * i;
    return v;
}

static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return at + strspn(at, " ");
}

static rill_status type_read(const char *header, enum dtype *ret, bool *ret_swapped,
                             rill_error *err)
{
    const char *at = value_of(header, "'descr':");
    if (!at || *at != '\'')
        return err_set(err, RILL_UNSUPPORTED,
                       "no array of numbers: its header does not say 'descr'");
    size_t n = strcspn(++at, "'");
    for (size_t i = 0; i < N_TYPES; i++)
        if (n == 3 && !strncmp(at + 1, type_names[i].text + 1, 2) && strchr("<|=>", *at)) {
            *ret = type_names[i].type;
            *ret_swapped = *at == '>' && dtype_bytes(*ret) > 1;
            return RILL_OK;
        }
    return err_set(err, RILL_UNSUPPORTED,
                   "an array of type '%.*s'; read are f2, f4, f8, i1 to i8, u1 to u8 and b1",
                   n < 40 ? (int) n : 40, at);
}

static rill_status shape_read(const char *header, struct tensor *ret, rill_error *err)
{
    const char *at = value_of(header, "'shape':");
    char *end;
    if (!at || *at++ != '(')
        return err_set(err, RILL_MALFORMED, "its header does not say a shape");
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, ", ")) {
        errno = 0;
        long long n = strtoll(at, &end, 10);
        if (end == at || errno || n < 0)
            return err_set(err, RILL_MALFORMED, "its header says a shape that is none");
        if (ret->rank == RANK_MAX)
            return err_set(err, RILL_LIMIT, "an array of more than %d axes", RANK_MAX);
        ret->dim[ret->rank++] = n;
        at = end;
    }
    return RILL_OK;
}

rill_status npy_length(size_t *ret, const uint8_t *data, size_t n, rill_error *reterr)
{
    const int wide = n > 10 && data[6] >= 2 ? 4 : 2;
    if (n < NPY_BEGIN_BYTES || memcmp(data, "\x93NUMPY", 6) != 0)
        return err_set(reterr, RILL_MALFORMED, "no .npy: it does not begin as one");
    *ret = 8 + (size_t) wide + (size_t) number_at(data + 8, wide);
    return *ret <= NPY_HEADER_MAX
        ? RILL_OK
        : err_set(reterr, RILL_MALFORMED, "its header ends behind its end");
}

rill_status npy_header(struct tensor *ret, struct npy_layout *ret_layout, struct arena *a,
                       const uint8_t *data, size_t n, uint64_t n_file, rill_error *reterr)
{
    struct tensor shape = { 0 };
    struct npy_layout layout = { false, false };
    int64_t count;
    const size_t begin = data[6] >= 2 ? 12 : 10;
    const char *header = arena_printf(a, "%.*s", (int) (n - begin), (const char *) data + begin);
    if (!header)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(type_read(header, &shape.type, &layout.is_swapped, reterr));
    const char *order = value_of(header, "'fortran_order':");
    layout.is_fortran = order && !strncmp(order, "True", 4);
    if (!order || (!layout.is_fortran && strncmp(order, "False", 5) != 0))
        return err_set(reterr, RILL_MALFORMED, "its header does not say 'fortran_order'");
    TRY(shape_read(header, &shape, reterr));
    if (!tensor_count_checked(&shape, &count) ||
        (uint64_t) count > NPY_BYTES_MAX / dtype_bytes(shape.type))
        return err_set(reterr, RILL_LIMIT, "an array of more than 2 GiB");
    if (tensor_bytes(&shape) > n_file - n)
        return err_set(reterr, RILL_MALFORMED, "it holds %llu bytes of %zu that its shape takes",
                       (unsigned long long) (n_file - n), tensor_bytes(&shape));
    *ret = shape;
    *ret_layout = layout;
    return RILL_OK;
}

static void bytes_swap(const struct tensor *t)
{
    const size_t bytes = dtype_bytes(t->type), n = tensor_bytes(t);
    uint8_t *at = t->data;
    for (size_t i = 0; i < n; i += bytes)
        for (size_t k = 0; k < bytes / 2; k++) {
            uint8_t x = at[i + k];
            at[i + k] = at[i + bytes - 1 - k];
            at[i + bytes - 1 - k] = x;
        }
}

/* The first axis is the first to change in `from`, the last one in t. */
static void axes_turn(const struct tensor *t, const uint8_t *from)
{
    const size_t bytes = dtype_bytes(t->type);
    const int64_t n = tensor_count(t);
    int64_t index[RANK_MAX] = { 0 };
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int k = t->rank; k-- > 0;)
            at = at * t->dim[k] + index[k];
        memcpy((uint8_t *) t->data + (size_t) i * bytes, from + (size_t) at * bytes, bytes);
        for (int k = t->rank; k-- > 0 && ++index[k] == t->dim[k];)
            index[k] = 0;
    }
}

rill_status npy_settle(const struct tensor *t, const struct npy_layout *layout, rill_error *reterr)
{
    const size_t bytes = tensor_bytes(t);
    uint8_t *from = layout->is_fortran && bytes ? malloc(bytes) : NULL;
    if (layout->is_fortran && bytes && !from)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    if (layout->is_swapped)
        bytes_swap(t);
    if (from) {
        memcpy(from, t->data, bytes);
        axes_turn(t, from);
    }
    free(from);
    return RILL_OK;
}

rill_status npy_read(const struct tensor **ret, struct arena *a, const uint8_t *data, size_t n,
                     rill_error *reterr)
{
    struct tensor t;
    struct npy_layout layout;
    size_t at = 0;
    TRY(npy_length(&at, data, n, reterr));
    if (at > n)
        return err_set(reterr, RILL_MALFORMED, "its header ends behind its end");
    TRY(npy_header(&t, &layout, a, data, at, n, reterr));
    const struct tensor *made = tensor_from_data(a, t.type, t.rank, t.dim, data + at);
    if (!made)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    TRY(npy_settle(made, &layout, reterr));
    *ret = made;
    return RILL_OK;
}

static void number_put(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t) (v >> 8 * i);
}

enum dtype npy_type(enum dtype t)
{
    if (t == DTYPE_I4 || t == DTYPE_I2)
        return DTYPE_I8;
    return t == DTYPE_U4 || t == DTYPE_U2 ? DTYPE_U8 : t;
}

size_t npy_header_make(const struct tensor *t, uint8_t ret[NPY_MADE_MAX])
{
    char shape[200] = "", *text = (char *) ret + 10;
    const char *type = "|u1";
    for (size_t i = 0; i < N_TYPES; i++)
        if (type_names[i].type == t->type)
            type = type_names[i].text;
    for (int i = 0, at = 0; i < t->rank; i++)
        at += snprintf(shape + at, sizeof shape - (size_t) at, "%lld,%s", (long long) t->dim[i],
                       i + 1 < t->rank ? " " : "");
    memcpy(ret, "\x93NUMPY\x01\x00", 8);
    int n = snprintf(text, 400, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type,
                     shape);
    size_t all = (10 + (size_t) n + 1 + 63) / 64 * 64;
    memset(text + n, ' ', all - 10 - (size_t) n);
    ret[all - 1] = '\n';
    number_put(ret + 8, all - 10, 2);
    return all;
}
