/* SPDX-License-Identifier: MIT */
#include "models/nnef/dat.h"
#include "engine/base/checked.h"

#include <string.h>

#define HEADER_BYTES 128

enum item { ITEM_FLOAT, ITEM_UINT, ITEM_QUANT_UINT, ITEM_QUANT_INT, ITEM_INT, ITEM_BOOL };

/* Kinds of tract: blocks of 32 numbers of 4 bits along the last axis, behind their scale. */
#define VENDOR_TRACT 0x5452
#define ITEM_Q4_0 0x3040     /* a byte has number j in its lower half and j + 16 in its upper */
#define ITEM_Q4_0_OLD 0x2040 /* .. 2 j and 2 j + 1 */
#define BLOCK 32
#define BLOCK_BYTES (2 + BLOCK / 2)

struct header {
    uint32_t data_bytes, rank, dim[8], bits;
    uint16_t item, vendor;
};

static uint32_t u32_at(const uint8_t *p)
{
    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

static rill_status header_read(struct header *ret, const uint8_t *b, size_t n, const char *file,
                               rill_error *reterr)
{
    if (n < HEADER_BYTES || b[0] != 0x4e || b[1] != 0xef)
        return err_set(reterr, RILL_MALFORMED, "%s: not a tensor file (no NNEF header)", file);
    if (b[2] != 1)
        return err_set(reterr, RILL_UNSUPPORTED, "%s: version %u.%u, supported: 1.x", file, b[2],
                       b[3]);
    *ret = (struct header) { .data_bytes = u32_at(b + 4),
                             .rank = u32_at(b + 8),
                             .bits = u32_at(b + 44),
                             .item = (uint16_t) u32_at(b + 48),
                             .vendor = (uint16_t) (u32_at(b + 48) >> 16) };
    if (ret->rank > RANK_MAX)
        return err_set(reterr, RILL_LIMIT, "%s: rank %u, at most %d", file, ret->rank, RANK_MAX);
    for (uint32_t i = 0; i < ret->rank; i++)
        ret->dim[i] = u32_at(b + 12 + 4 * i);
    if (n - HEADER_BYTES != ret->data_bytes)
        return err_set(reterr, RILL_MALFORMED, "%s: %zu bytes of data, the header says %u", file,
                       n - HEADER_BYTES, ret->data_bytes);
    return RILL_OK;
}

/* How elements lie in the file; NONE: not supported. BOOL of one bit is handled apart. */
static enum dtype stored_type(const struct header *h)
{
    static const struct {
        enum item item;
        uint32_t bits;
        enum dtype type;
    } known[] = {
        { ITEM_FLOAT, 16, DTYPE_F16 },
        { ITEM_FLOAT, 32, DTYPE_F32 },
        { ITEM_FLOAT, 64, DTYPE_F64 },
        { ITEM_INT, 8, DTYPE_I8 },
        { ITEM_INT, 16, DTYPE_I16 },
        { ITEM_INT, 32, DTYPE_I32 },
        { ITEM_INT, 64, DTYPE_I64 },
        { ITEM_UINT, 8, DTYPE_U8 },
        { ITEM_UINT, 16, DTYPE_U16 },
        { ITEM_UINT, 32, DTYPE_U32 },
        { ITEM_UINT, 64, DTYPE_U64 },
        { ITEM_BOOL, 8, DTYPE_BOOL },
        { ITEM_BOOL, 1, DTYPE_BOOL },
        /* what they stand for a quantisation file says */
        { ITEM_QUANT_INT, 8, DTYPE_I8 },
        { ITEM_QUANT_UINT, 8, DTYPE_U8 },
        { ITEM_QUANT_INT, 16, DTYPE_I16 },
        { ITEM_QUANT_UINT, 16, DTYPE_U16 },
        { ITEM_QUANT_INT, 32, DTYPE_I32 },
        { ITEM_QUANT_UINT, 32, DTYPE_U32 },
        { ITEM_QUANT_INT, 64, DTYPE_I64 },
        { ITEM_QUANT_UINT, 64, DTYPE_U64 },
    };
    for (size_t i = 0; h->vendor == 0 && i < sizeof known / sizeof *known; i++)
        if (known[i].item == h->item && known[i].bits == h->bits)
            return known[i].type;
    return DTYPE_NONE;
}

static bool bit_at(const uint8_t *p, int64_t i)
{
    return p[i / 8] >> (7 - i % 8) & 1;
}

enum dtype weight_type(enum dtype stored, bool widens)
{
    if (dtype_is_float(stored))
        return DTYPE_F32;
    if (dtype_is_int(stored))
        return widens ? DTYPE_I64 : stored;
    return DTYPE_BOOL;
}

void elements_widen(struct tensor *to, const struct tensor *from)
{
    const int64_t n = tensor_count(to);
    if (from->type == to->type && to->type != DTYPE_BOOL) { /* every bit stays */
        memcpy(to->data, from->data, tensor_bytes(to));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (to->type == DTYPE_BOOL)
            ((uint8_t *) to->data)[i] = ((const uint8_t *) from->data)[i] != 0;
        else if (to->type == DTYPE_I64)
            ((int64_t *) to->data)[i] = tensor_get_i64(from, from->data, i);
        else
            ((float *) to->data)[i] = (float) tensor_get_f64(from, from->data, i);
    }
}

static void bits_read(struct tensor *t, const uint8_t *data)
{
    const int64_t n = tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        ((uint8_t *) t->data)[i] = bit_at(data, i);
}

static bool is_q4_0(const struct header *h)
{
    return h->vendor == VENDOR_TRACT && (h->item == ITEM_Q4_0 || h->item == ITEM_Q4_0_OLD);
}

static rill_status q4_0_read(struct tensor **ret, const struct header *h, struct arena *a,
                             const uint8_t *data, const char *file, rill_error *reterr)
{
    struct tensor shape = { .type = DTYPE_F32, .rank = (int) h->rank };
    int64_t count, row = 1;
    for (uint32_t i = 0; i < h->rank; i++)
        shape.dim[i] = h->dim[i];
    bool fits = h->rank >= 2 && tensor_count_checked(&shape, &count);
    for (uint32_t i = 1; fits && i < h->rank; i++)
        row *= shape.dim[i];
    if (!fits || row % BLOCK || count / BLOCK != h->data_bytes / BLOCK_BYTES ||
        h->data_bytes % BLOCK_BYTES)
        return err_set(reterr, RILL_MALFORMED,
                       "%s: the shape does not fit %u bytes of blocks of %d numbers", file,
                       h->data_bytes, BLOCK);
    struct tensor *t = tensor_new(a, shape.type, shape.rank, shape.dim);
    if (!t)
        return err_set(reterr, RILL_NOMEM, "%s: out of memory for %lld elements", file,
                       (long long) count);
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *block = data + i / BLOCK * BLOCK_BYTES;
        int64_t k = i % BLOCK, byte = h->item == ITEM_Q4_0 ? k % 16 : k / 2;
        int high = h->item == ITEM_Q4_0 ? k >= 16 : k % 2,
            number = block[2 + byte] >> 4 * high & 15;
        ((float *) t->data)[i] =
            f16_to_f32((uint16_t) (block[0] | block[1] << 8)) * (float) (number - 8);
    }
    *ret = t;
    return RILL_OK;
}

rill_status tensor_from_dat(struct tensor **ret, struct arena *a, const uint8_t *bytes, size_t n,
                            const char *file, bool widens, rill_error *reterr)
{
    struct header h = { 0 };
    TRY(header_read(&h, bytes, n, file, reterr));
    if (is_q4_0(&h))
        return q4_0_read(ret, &h, a, bytes + HEADER_BYTES, file, reterr);
    enum dtype stored = stored_type(&h);
    if (stored == DTYPE_NONE)
        return err_set(
            reterr, RILL_UNSUPPORTED,
            "%s: elements of kind %u (vendor %u) with %u bits; supported: float 16, 32, 64, "
            "integers of 8 to 64 bits, bool of 1 or 8, blocks Q4_0 of tract",
            file, h.item, h.vendor, h.bits);
    struct tensor shape = { .type = weight_type(stored, widens), .rank = (int) h.rank };
    int64_t count, bits;
    for (uint32_t i = 0; i < h.rank; i++)
        shape.dim[i] = h.dim[i];
    if (!tensor_count_checked(&shape, &count) || !int_mul(count, h.bits, &bits) ||
        bits > INT64_MAX - 7 || (bits + 7) / 8 != h.data_bytes)
        return err_set(reterr, RILL_MALFORMED, "%s: the shape does not fit %u bytes of data", file,
                       h.data_bytes);
    struct tensor *t = tensor_new(a, shape.type, shape.rank, shape.dim);
    if (!t)
        return err_set(reterr, RILL_NOMEM, "%s: out of memory for %lld elements", file,
                       (long long) count);
    /* Elements are read through typed pointers: bring the data to an aligned place. */
    struct tensor from = shape;
    from.type = stored;
    from.data = arena_copy(a, bytes + HEADER_BYTES, h.data_bytes);
    if (!from.data)
        return err_set(reterr, RILL_NOMEM, "%s: out of memory for %u bytes", file, h.data_bytes);
    if (t->type == DTYPE_BOOL && h.bits == 1)
        bits_read(t, from.data);
    else
        elements_widen(t, &from);
    *ret = t;
    return RILL_OK;
}
