/* SPDX-License-Identifier: MIT */
#include "tools/npz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define ZIP_LOCAL 0x04034b50u
#define ZIP_ENTRY 0x02014b50u
#define ZIP_END 0x06054b50u
#define ZIP64_END 0x06064b50u
#define ZIP64_AT 0x07064b50u
#define LOCAL_BYTES 30
#define ENTRY_BYTES 46
#define END_BYTES 22
#define ARRAYS_BYTES_MAX ((uint64_t) 2 << 30)
#define DEFLATE_RATIO_MAX 1032 /* no byte stands for more */

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

static rill_status no_memory(rill_error *err)
{
    return err_set(err, RILL_NOMEM, "out of memory");
}

/* ---- .npy ---- */

static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return at + strspn(at, " ");
}

static rill_status type_read(const char *header, enum dtype *ret, rill_error *err)
{
    const char *at = value_of(header, "'descr':");
    if (!at || *at != '\'')
        return err_set(err, RILL_UNSUPPORTED,
                       "no array of numbers: its header does not say 'descr'");
    size_t n = strcspn(++at, "'");
    for (size_t i = 0; i < N_TYPES; i++)
        if (n == 3 && !strncmp(at + 1, type_names[i].text + 1, 2) &&
            (*at == '<' || *at == '|' || *at == '=')) {
            *ret = type_names[i].type;
            return RILL_OK;
        }
    return err_set(
        err, RILL_UNSUPPORTED,
        "an array of type '%.*s'; read are f2, f4, f8, i1 to i8, u1 to u8 and b1, little "
        "endian",
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

rill_status npy_read(const struct tensor **ret, struct arena *a, const uint8_t *data, size_t n,
                     rill_error *reterr)
{
    struct tensor shape = { 0 };
    int64_t count;
    const int wide = n > 10 && data[6] >= 2 ? 4 : 2;
    if (n < 12 || memcmp(data, "\x93NUMPY", 6) != 0)
        return err_set(reterr, RILL_MALFORMED, "no .npy: it does not begin as one");
    size_t at = 8 + (size_t) wide, length = (size_t) number_at(data + 8, wide);
    if (length > n - at || length > 65536)
        return err_set(reterr, RILL_MALFORMED, "its header ends behind its end");
    const char *header = arena_printf(a, "%.*s", (int) length, (const char *) data + at);
    if (!header)
        return no_memory(reterr);
    TRY(type_read(header, &shape.type, reterr));
    const char *order = value_of(header, "'fortran_order':");
    if (!order || strncmp(order, "False", 5) != 0)
        return err_set(
            reterr, RILL_UNSUPPORTED,
            "an array in Fortran order; numpy.ascontiguousarray makes it one in C order");
    TRY(shape_read(header, &shape, reterr));
    at += length;
    if (!tensor_count_checked(&shape, &count) ||
        (uint64_t) count > ARRAYS_BYTES_MAX / dtype_bytes(shape.type))
        return err_set(reterr, RILL_LIMIT, "an array of more than 2 GiB");
    if (tensor_bytes(&shape) > n - at)
        return err_set(reterr, RILL_MALFORMED, "it holds %zu bytes of %zu that its shape takes",
                       n - at, tensor_bytes(&shape));
    *ret = tensor_from_data(a, shape.type, shape.rank, shape.dim, data + at);
    return *ret ? RILL_OK : no_memory(reterr);
}

/* ---- .npz ---- */

bool npz_add(struct npz *z, struct arena *a, const char *name, const struct tensor *t)
{
    struct npz_array *more = arena_grow(a, z->list, z->n, &z->cap, sizeof *more);
    if (!more)
        return false;
    z->list = more;
    more[z->n++] = (struct npz_array) { name, t };
    return true;
}

const struct tensor *npz_find(const struct npz *z, const char *name)
{
    for (uint32_t i = 0; i < z->n; i++)
        if (!strcmp(z->list[i].name, name))
            return z->list[i].t;
    return NULL;
}

struct zip {
    const uint8_t *data;
    size_t n;
    uint64_t left; /* of ARRAYS_BYTES_MAX */
    struct arena *arena;
    rill_error *err;
};

/* Where the table of entries begins, and how many there are. */
static rill_status table_find(const struct zip *z, uint64_t *ret_at, uint64_t *ret_n)
{
    for (size_t back = END_BYTES; back <= z->n && back < END_BYTES + 65536; back++) {
        const uint8_t *end = z->data + z->n - back;
        if (number_at(end, 4) != ZIP_END)
            continue;
        *ret_n = number_at(end + 10, 2);
        *ret_at = number_at(end + 16, 4);
        if (*ret_n != 0xffff && *ret_at != 0xffffffff)
            return RILL_OK;
        if (z->n - back < 20 || number_at(end - 20, 4) != ZIP64_AT)
            break;
        uint64_t at = number_at(end - 12, 8);
        if (at > z->n || z->n - at < 56 || number_at(z->data + at, 4) != ZIP64_END)
            break;
        *ret_n = number_at(z->data + at + 32, 8);
        *ret_at = number_at(z->data + at + 48, 8);
        return RILL_OK;
    }
    return err_set(z->err, RILL_MALFORMED, "no .npz, or one that was cut: a zip ends otherwise");
}

struct entry {
    const char *name;
    unsigned method, flags;
    uint32_t crc;
    uint64_t packed, bytes, at;
};

/* Sizes of more than 32 bits stand behind the name, in this order. */
static void entry_widen(struct entry *e, const uint8_t *extra, size_t n)
{
    uint64_t *wide[] = { &e->bytes, &e->packed, &e->at };
    for (size_t at = 0; at + 4 <= n;) {
        size_t length = (size_t) number_at(extra + at + 2, 2), k = at + 4;
        if (length > n - k)
            return;
        for (int i = 0; number_at(extra + at, 2) == 1 && i < 3; i++)
            if (*wide[i] == 0xffffffff && k + 8 <= at + 4 + length) {
                *wide[i] = number_at(extra + k, 8);
                k += 8;
            }
        at += 4 + length;
    }
}

static rill_status entry_read(const struct zip *z, uint64_t *at, struct entry *ret)
{
    const uint8_t *p = z->data + (*at < z->n ? *at : 0);
    if (*at > z->n || z->n - *at < ENTRY_BYTES || number_at(p, 4) != ZIP_ENTRY)
        return err_set(z->err, RILL_MALFORMED, "its table of arrays is cut");
    const size_t name = (size_t) number_at(p + 28, 2), extra = (size_t) number_at(p + 30, 2);
    const size_t all = ENTRY_BYTES + name + extra + (size_t) number_at(p + 32, 2);
    if (all > z->n - *at)
        return err_set(z->err, RILL_MALFORMED, "its table of arrays is cut");
    *ret = (struct entry) { .name = arena_printable(z->arena, p + ENTRY_BYTES, name),
                            .flags = (unsigned) number_at(p + 8, 2),
                            .method = (unsigned) number_at(p + 10, 2),
                            .crc = (uint32_t) number_at(p + 16, 4),
                            .packed = number_at(p + 20, 4),
                            .bytes = number_at(p + 24, 4),
                            .at = number_at(p + 42, 4) };
    entry_widen(ret, p + ENTRY_BYTES + name, extra);
    *at += all;
    return ret->name ? RILL_OK : no_memory(z->err);
}

static bool bytes_inflate(const uint8_t *from, size_t n_from, uint8_t *to, size_t n)
{
    z_stream s = { .next_in = (Bytef *) (uintptr_t) from,
                   .avail_in = (uInt) n_from,
                   .next_out = to,
                   .avail_out = (uInt) n };
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
        return false;
    bool whole = inflate(&s, Z_FINISH) == Z_STREAM_END && !s.avail_out;
    inflateEnd(&s);
    return whole;
}

/* An entry's bytes, in the file or unpacked. */
static rill_status entry_bytes(struct zip *z, const struct entry *e, const uint8_t **ret)
{
    const uint8_t *local = z->data + (e->at < z->n ? e->at : 0);
    uint64_t at = e->at > z->n || z->n - e->at < LOCAL_BYTES || number_at(local, 4) != ZIP_LOCAL
        ? z->n + 1
        : e->at + LOCAL_BYTES + number_at(local + 26, 2) + number_at(local + 28, 2);
    if (at > z->n || e->packed > z->n - at || (e->method == 0 && e->packed != e->bytes))
        return err_set(z->err, RILL_MALFORMED, "its bytes are cut");
    if (e->flags & 1 || (e->method != 0 && e->method != 8))
        return err_set(z->err, RILL_UNSUPPORTED, "packed otherwise than numpy does (method %u)",
                       e->method);
    if (e->bytes > z->left || e->packed > ARRAYS_BYTES_MAX)
        return err_set(z->err, RILL_LIMIT, "more than 2 GiB of arrays");
    *ret = z->data + at;
    if (e->method == 8) {
        if (e->bytes / DEFLATE_RATIO_MAX > e->packed)
            return err_set(z->err, RILL_MALFORMED, "its bytes do not unpack");
        uint8_t *to = arena_alloc(z->arena, (size_t) e->bytes + 1);
        if (!to)
            return no_memory(z->err);
        if (!bytes_inflate(*ret, (size_t) e->packed, to, (size_t) e->bytes))
            return err_set(z->err, RILL_MALFORMED, "its bytes do not unpack");
        *ret = to;
    }
    z->left -= e->bytes;
    if (crc32(0, *ret, (uInt) e->bytes) != e->crc)
        return err_set(z->err, RILL_MALFORMED, "its checksum does not fit");
    return RILL_OK;
}

static rill_status array_read(struct npz *ret, struct zip *z, const struct entry *e)
{
    const uint8_t *data = NULL;
    const struct tensor *t;
    size_t n = strlen(e->name);
    rill_status s = entry_bytes(z, e, &data);
    if (s == RILL_OK)
        s = npy_read(&t, z->arena, data, (size_t) e->bytes, z->err);
    if (s != RILL_OK)
        return err_prefix(z->err, s, "array '%.100s'", e->name);
    n -= n > 4 && !strcmp(e->name + n - 4, ".npy") ? 4 : 0;
    const char *name = arena_printf(z->arena, "%.*s", (int) n, e->name);
    return name && npz_add(ret, z->arena, name, t) ? RILL_OK : no_memory(z->err);
}

rill_status npz_read(struct npz *ret, struct arena *a, const uint8_t *data, size_t n,
                     rill_error *reterr)
{
    struct zip z = { data, n, ARRAYS_BYTES_MAX, a, reterr };
    uint64_t at = 0, n_entries = 0;
    TRY(table_find(&z, &at, &n_entries));
    *ret = (struct npz) { .n = 0 };
    for (uint64_t i = 0; i < n_entries; i++) {
        struct entry e = { 0 };
        TRY(entry_read(&z, &at, &e));
        TRY(array_read(ret, &z, &e));
    }
    return RILL_OK;
}

/* ---- writing ---- */

static void number_put(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t) (v >> 8 * i);
}

/* Magic and header of an array, a multiple of 64 bytes. */
static size_t header_make(const struct tensor *t, uint8_t ret[512])
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

/* The part that an entry has in front of its bytes and in the table alike: 26 bytes. */
static void entry_put(uint8_t *p, const char *name, uint32_t crc, uint64_t bytes)
{
    number_put(p, 20, 2); /* version that is needed; flags, method, time */
    number_put(p + 2, 0, 6);
    number_put(p + 8, 33, 2); /* the first of January 1980 */
    number_put(p + 10, crc, 4);
    number_put(p + 14, bytes, 4);
    number_put(p + 18, bytes, 4);
    number_put(p + 22, strlen(name) + 4, 2);
    number_put(p + 24, 0, 2);
}

static bool array_write(const struct npz_array *x, FILE *f, uint32_t *ret_crc)
{
    uint8_t header[512], local[LOCAL_BYTES];
    const size_t n = header_make(x->t, header), bytes = tensor_bytes(x->t);
    uLong crc = crc32(crc32(0, NULL, 0), header, (uInt) n);
    crc = bytes ? crc32(crc, x->t->data, (uInt) bytes) : crc;
    *ret_crc = (uint32_t) crc;
    number_put(local, ZIP_LOCAL, 4);
    entry_put(local + 4, x->name, *ret_crc, n + bytes);
    fwrite(local, 1, sizeof local, f);
    fprintf(f, "%s.npy", x->name);
    fwrite(header, 1, n, f);
    return fwrite(x->t->data, 1, bytes, f) == bytes;
}

static void table_write(const struct npz *z, FILE *f, const uint32_t *crc, const uint64_t *at)
{
    uint8_t end[END_BYTES] = { 0 }, header[512];
    const long begin = ftell(f);
    for (uint32_t i = 0; i < z->n; i++) {
        uint8_t e[ENTRY_BYTES] = { 0 };
        number_put(e, ZIP_ENTRY, 4);
        number_put(e + 4, 20, 2);
        entry_put(e + 6, z->list[i].name, crc[i],
                  header_make(z->list[i].t, header) + tensor_bytes(z->list[i].t));
        number_put(e + 42, at[i], 4);
        fwrite(e, 1, sizeof e, f);
        fprintf(f, "%s.npy", z->list[i].name);
    }
    number_put(end, ZIP_END, 4);
    number_put(end + 8, z->n, 2);
    number_put(end + 10, z->n, 2);
    number_put(end + 12, (uint64_t) (ftell(f) - begin), 4);
    number_put(end + 16, (uint64_t) begin, 4);
    fwrite(end, 1, sizeof end, f);
}

rill_status npz_write(const struct npz *z, const char *path, rill_error *reterr)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < z->n; i++)
        bytes += tensor_bytes(z->list[i].t) + 1024;
    if (bytes > ARRAYS_BYTES_MAX || z->n >= 0xffff)
        return err_set(reterr, RILL_LIMIT, "%.200s: more than 2 GiB, or 65534 arrays", path);
    uint32_t *crc = calloc(z->n + 1u, sizeof *crc);
    uint64_t *at = calloc(z->n + 1u, sizeof *at);
    FILE *f = crc && at ? fopen(path, "wb") : NULL;
    bool whole = f;
    for (uint32_t i = 0; whole && i < z->n; i++) {
        at[i] = (uint64_t) ftell(f);
        whole = array_write(&z->list[i], f, &crc[i]);
    }
    if (whole)
        table_write(z, f, crc, at);
    whole = f && !ferror(f) && whole;
    whole = (!f || fclose(f) == 0) && whole;
    free(crc);
    free(at);
    return whole ? RILL_OK
                 : err_set(reterr, RILL_IO, "%.200s: %s", path, errno ? strerror(errno) : "cut");
}
