/* SPDX-License-Identifier: MIT */
/* Products with weights of 2, 4 or 8 bits, and tables of such rows, in blocks with a scale each. */
#include "models/onnx/internal.h"

#include <math.h>
#include <inttypes.h>
#include <string.h>

struct nbits {
    int64_t n, k, block, bits;
    int64_t blocks;     /* of a row */
    int64_t blob_bytes; /* of a block */
};

static rill_status nbits_read(struct conversion *l, struct nbits *ret)
{
    *ret = (struct nbits) { .n = convert_int(l, "N", 0),
                            .k = convert_int(l, "K", 0),
                            .block = convert_int(l, "block_size", 0),
                            .bits = convert_int(l, "bits", 4) };
    if (ret->n < 1 || ret->k < 1 || ret->n > INT32_MAX || ret->k > INT32_MAX)
        return convert_fail(l, RILL_MALFORMED,
                            "N=%" PRId64 " and K=%" PRId64 "; each is from 1 to 2^31 - 1", ret->n,
                            ret->k);
    if (ret->bits != 2 && ret->bits != 4 && ret->bits != 8)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "weights of %" PRId64 " bits are not supported; 2, 4 and 8 are",
                            ret->bits);
    if (ret->block < 16 || ret->block > 1 << 20 || (ret->block & (ret->block - 1)))
        return convert_fail(l, RILL_MALFORMED,
                            "block_size=%" PRId64 " is no power of 2 from 16 to 2^20", ret->block);
    ret->blocks = (ret->k + ret->block - 1) / ret->block;
    ret->blob_bytes = ret->block * ret->bits / 8;
    return RILL_OK;
}

/* The constant at input i, which must hold so many elements of one of two types. */
static rill_status constant_at(struct conversion *l, unsigned i, const char *what, int64_t count,
                               const struct tensor **ret)
{
    const struct tensor *t = convert_value(l, i);
    if (!t)
        return convert_fail(l, RILL_UNSUPPORTED, "input %u, %s, must be a constant", i, what);
    if (tensor_count(t) != count)
        return convert_fail(l, RILL_MALFORMED,
                            "input %u, %s, has %" PRId64 " elements and N, K, bits and block_size "
                            "make %" PRId64,
                            i, what, tensor_count(t), count);
    *ret = t;
    return RILL_OK;
}

static int64_t number_at(const uint8_t *row, int64_t bits, int64_t i)
{
    return row[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

/* Rows of packed numbers, each of whole bytes, become one byte a number. */
static rill_status unpacked(struct conversion *l, const struct tensor *packed, int64_t bits,
                            int rank, const int64_t *dim, int64_t row_bytes, uint32_t *ret)
{
    struct tensor *t = tensor_new(l->r->arena, DTYPE_U8, rank, dim);
    if (!t)
        return no_memory(l->r);
    const int64_t cols = dim[rank - 1], rows = cols ? tensor_count(t) / cols : 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            ((uint8_t *) t->data)[r * cols + c] =
                (uint8_t) number_at((const uint8_t *) packed->data + r * row_bytes, bits, c);
    return convert_const(l, t, ret);
}

static rill_status zeros_read(struct conversion *l, const struct nbits *q, uint32_t *ret)
{
    const struct tensor *t;
    int64_t row_bytes = (q->blocks * q->bits + 7) / 8;
    if (!convert_has(l, 3)) {
        struct tensor *middle =
            tensor_new(l->r->arena, DTYPE_U8, 2, (const int64_t[]) { q->n, q->blocks });
        if (!middle)
            return no_memory(l->r);
        memset(middle->data, 1 << (q->bits - 1), (size_t) (q->n * q->blocks));
        return convert_const(l, middle, ret);
    }
    const enum dtype type = l->scope->g->wires[l->in[3]].fact.type;
    if (type != DTYPE_U8)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "input 3, the zero points, is %s; packed ones (u8) and floats are "
                            "supported",
                            dtype_name(type));
    TRY(constant_at(l, 3, "the zero points", q->n * row_bytes, &t));
    return unpacked(l, t, q->bits, 2, (const int64_t[]) { q->n, q->blocks }, row_bytes, ret);
}

/* Blocks of zeros may have a scale of 0. */
static rill_status scales_at(struct conversion *l, const struct nbits *q, const struct tensor **ret)
{
    TRY(constant_at(l, 2, "the scales", q->n * q->blocks, ret));
    for (int64_t i = 0; i < tensor_count(*ret); i++) {
        const double v = tensor_get_f64(*ret, (*ret)->data, i);
        if (!isfinite(v))
            return convert_fail(l, RILL_MALFORMED,
                                "its scale '%.80s' (input 2) is %g at place %" PRId64
                                "; a scale is finite",
                                l->scope->g->wires[l->in[2]].name, v, i);
    }
    return RILL_OK;
}

static rill_status scales_read(struct conversion *l, const struct nbits *q, uint32_t *ret)
{
    const struct tensor *t;
    uint32_t shape;
    TRY(scales_at(l, q, &t));
    TRY(convert_ints(l, (const int64_t[]) { q->n, q->blocks }, 2, &shape));
    return convert_binary(l, "Reshape", l->in[2], shape, ret);
}

/* ---- weights that DequantizeLinear has no form for ---- */

/* Which block each of the K numbers of a row belongs to; NULL: neighbours do. */
static rill_status groups_read(struct conversion *l, const struct nbits *q,
                               const struct tensor **ret)
{
    const struct tensor *t;
    *ret = NULL;
    if (!convert_has(l, 4))
        return RILL_OK;
    TRY(constant_at(l, 4, "the groups (g_idx)", q->k, &t));
    for (int64_t i = 0; i < q->k; i++) {
        int64_t g = t->type == DTYPE_I32 ? tensor_get_i64(t, t->data, i) : -1;
        if (g < 0 || g >= q->blocks)
            return convert_fail(l, RILL_MALFORMED,
                                "input 4, the groups (g_idx), is %s, of which number %" PRId64
                                " is none of the %" PRId64 " blocks; wants i32",
                                dtype_name(t->type), i, q->blocks);
    }
    *ret = t;
    return RILL_OK;
}

static bool zeros_are_floats(const struct conversion *l)
{
    return convert_has(l, 3) && dtype_is_float(l->scope->g->wires[l->in[3]].fact.type);
}

/* Zeros that are no whole numbers, and groups in another order: real weights, [K,N]. */
static rill_status weights_real(struct conversion *l, const struct nbits *q,
                                const struct tensor *packed, uint32_t *ret)
{
    const struct tensor *scale, *group, *zero = NULL;
    TRY(scales_at(l, q, &scale));
    TRY(groups_read(l, q, &group));
    if (convert_has(l, 3) && !zeros_are_floats(l))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "input 3, the zero points, is %s and input 4 puts weights into "
                            "groups (g_idx); with groups only zero points of floats, or none, are "
                            "supported",
                            dtype_name(l->scope->g->wires[l->in[3]].fact.type));
    const enum dtype rows = l->scope->g->wires[l->in[0]].fact.type;
    if (!dtype_is_float(scale->type) || (rows != DTYPE_NONE && rows != scale->type))
        return convert_fail(l, RILL_MALFORMED,
                            "input 0 is %s and input 2, the scales, is %s; both are floats of one "
                            "type",
                            dtype_name(rows), dtype_name(scale->type));
    if (convert_has(l, 3))
        TRY(constant_at(l, 3, "the zero points", q->n * q->blocks, &zero));
    struct tensor *t = tensor_new(l->r->arena, DTYPE_F32, 2, (const int64_t[]) { q->k, q->n });
    if (!t)
        return no_memory(l->r);
    for (int64_t n = 0; n < q->n; n++)
        for (int64_t k = 0; k < q->k; k++) {
            int64_t at =
                n * q->blocks + (group ? ((const int32_t *) group->data)[k] : k / q->block);
            const uint8_t *row = (const uint8_t *) packed->data + n * q->blocks * q->blob_bytes;
            float less = zero ? (float) tensor_get_f64(zero, zero->data, at)
                              : (float) (1 << (q->bits - 1)),
                  by = (float) tensor_get_f64(scale, scale->data, at);
            ((float *) t->data)[k * q->n + n] = ((float) number_at(row, q->bits, k) - less) * by;
        }
    return convert_const(l, t, ret);
}

/* ---- the op ---- */

/* [K,N], of numbers that stay packed until they are used. */
static rill_status weights_in_blocks(struct conversion *l, const struct nbits *q,
                                     const struct tensor *packed, uint32_t *ret)
{
    uint32_t w, scale, zero, real = WIRE_NONE;
    TRY(unpacked(l, packed, q->bits, 2, (const int64_t[]) { q->n, q->k }, q->blocks * q->blob_bytes,
                 &w));
    TRY(scales_read(l, q, &scale));
    TRY(zeros_read(l, q, &zero));
    struct attr on[] = { { .name = "axis", .kind = ATTR_INT, .i = 1 },
                         { .name = "block_size", .kind = ATTR_INT, .i = q->block } };
    TRY(convert_emit(l, "DequantizeLinear", on, 2, (uint32_t[]) { w, scale, zero }, 3, &real, 1));
    *ret = WIRE_NONE;
    return convert_emit(l, "Transpose", NULL, 0, &real, 1, ret, 1);
}

/* x times w, and a bias. */
static rill_status product_put(struct conversion *l, uint32_t x, uint32_t w, uint32_t *ret)
{
    TRY(convert_binary(l, "MatMul", x, w, ret));
    return convert_has(l, 5) ? convert_binary(l, "Add", *ret, l->in[5], ret) : RILL_OK;
}

/* Of halves, sums with the bias are rounded, and no weights. */
static rill_status product_widened(struct conversion *l, uint32_t w, enum dtype type, uint32_t *ret)
{
    uint32_t x, bias;
    TRY(convert_cast(l, l->in[0], DTYPE_F32, &x));
    TRY(convert_binary(l, "MatMul", x, w, ret));
    if (convert_has(l, 5)) {
        TRY(convert_cast(l, l->in[5], DTYPE_F32, &bias));
        TRY(convert_binary(l, "Add", *ret, bias, ret));
    }
    return convert_cast(l, *ret, type, ret);
}

rill_status up_matmul_nbits(struct conversion *l)
{
    struct nbits q;
    const struct tensor *packed;
    uint32_t wide, y;
    TRY(convert_inputs_check(l, 3, 6, 0x7));
    TRY(nbits_read(l, &q));
    TRY(constant_at(l, 1, "the weights", q.n * q.blocks * q.blob_bytes, &packed));
    if (packed->type != DTYPE_U8)
        return convert_fail(l, RILL_MALFORMED, "input 1, the weights, is %s, not u8",
                            dtype_name(packed->type));
    const bool odd = convert_has(l, 4) || zeros_are_floats(l);
    TRY(odd ? weights_real(l, &q, packed, &wide) : weights_in_blocks(l, &q, packed, &wide));
    const enum dtype type = l->scope->g->wires[l->in[2]].fact.type;
    TRY(odd && type != DTYPE_F32 ? product_widened(l, wide, type, &y)
                                 : product_put(l, l->in[0], wide, &y));
    return convert_finish(l, y);
}

/* ---- rows of a table ---- */

/* Whole numbers in bytes are 8 bits, or 4 of which two share a byte along the last axis, which
 * blocks go along; their zero is in the middle where none is given. */
static rill_status table_unpacked(struct conversion *l, const struct tensor *table, int64_t bits,
                                  uint32_t *ret_table, uint32_t *ret_zero)
{
    const struct tensor *scale = l->scope->g->wires[l->in[2]].fact.value,
                        *zero = convert_value(l, 3);
    int64_t dim[RANK_MAX];
    if (!scale || scale->rank != table->rank || (convert_has(l, 3) && !zero))
        return convert_fail(l, RILL_UNSUPPORTED,
                            "inputs 2 and 3, scales and zero points, must be constants of %d "
                            "dimensions, as the table",
                            table->rank);
    memcpy(dim, table->dim, sizeof dim);
    dim[table->rank - 1] = table->dim[table->rank - 1] * 8 / bits;
    TRY(unpacked(l, table, bits, table->rank, dim, table->dim[table->rank - 1], ret_table));
    const int64_t blocks = scale->dim[scale->rank - 1], row_bytes = (blocks * bits + 7) / 8;
    if (zero &&
        (zero->type != DTYPE_U8 || blocks == 0 ||
         tensor_count(zero) != tensor_count(scale) / blocks * row_bytes))
        return convert_fail(l, RILL_MALFORMED,
                            "input 3, the zero points, is no u8 with %" PRId64
                            " bytes for each row of scales",
                            row_bytes);
    if (zero)
        return unpacked(l, zero, bits, scale->rank, scale->dim, row_bytes, ret_zero);
    struct tensor *middle = tensor_new(l->r->arena, DTYPE_U8, scale->rank, scale->dim);
    if (!middle)
        return no_memory(l->r);
    memset(middle->data, 1 << (bits - 1), (size_t) tensor_count(middle));
    return convert_const(l, middle, ret_zero);
}

rill_status up_gather_blocks(struct conversion *l)
{
    const int64_t bits = convert_int(l, "bits", 4), gather = convert_int(l, "gather_axis", 0);
    uint32_t table, zero, real = WIRE_NONE;
    TRY(convert_inputs_check(l, 3, 4, 0x7));
    const struct tensor *t = l->scope->g->wires[l->in[0]].fact.value;
    struct attr on[] = {
        { .name = "axis", .kind = ATTR_INT, .i = convert_int(l, "quantize_axis", 1) },
        { .name = "block_size", .kind = ATTR_INT, .i = convert_int(l, "block_size", 128) },
    };
    table = l->in[0];
    zero = convert_has(l, 3) ? l->in[3] : WIRE_NONE;
    if (!t || t->rank < 1)
        return convert_fail(l, RILL_UNSUPPORTED, "input 0, the table, must be a constant");
    if (t->type == DTYPE_U8 && bits != 4 && bits != 8)
        return convert_fail(l, RILL_UNSUPPORTED,
                            "a table of %" PRId64 " bits is not supported; 4 and 8 are", bits);
    if (t->type == DTYPE_U8 && (on[0].i < 0 ? on[0].i + t->rank : on[0].i) != t->rank - 1)
        return convert_fail(l, RILL_MALFORMED,
                            "quantize_axis=%" PRId64 " is not the last one, along which bytes hold "
                            "several numbers",
                            on[0].i);
    if (t->type == DTYPE_U8)
        TRY(table_unpacked(l, t, bits, &table, &zero));
    TRY(convert_emit(l, "DequantizeLinear", on, 2, (uint32_t[]) { table, l->in[2], zero }, 3, &real,
                     1));
    const struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = gather };
    l->engine = NULL;
    return convert_emit(l, "Gather", &axis, 1, (uint32_t[]) { real, l->in[1] }, 2, l->out, 1);
}
