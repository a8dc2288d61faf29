/* SPDX-License-Identifier: MIT */
/* Rows of bytes over their lengths, in steps of 1/128, in fixed point: the inverse of a root by
 * Newton's steps, in numbers of 32 bits of which the first 3 (Q3) stand before the point. */
#include "engine/ops/byte.h"
#include "engine/ops/ops.h"

struct byte_norm_attr {
    int64_t x_zero, to;
};

static const struct attr_spec norm_attrs[] = {
    { .name = "x_zero", .kind = ATTR_INT, .offset = offsetof(struct byte_norm_attr, x_zero) },
    { .name = "to", .kind = ATTR_INT, .offset = offsetof(struct byte_norm_attr, to) },
    { 0 },
};

#define ROW_MAX 32768 /* squares of so many bytes fit in 31 bits */

static rill_status norm_infer(struct infer *c)
{
    const struct byte_norm_attr *a = c->attr;
    const struct byte_range all = { .to = a->to };
    const struct fact *x = c->in[0];
    enum dtype to;
    TRY(elem_check_type(c, 0, TYPES_BYTE));
    TRY(byte_range_check(c, &all, &to));
    TRY(byte_zero_check(c, x->type, a->x_zero));
    if (x->rank < 1 || !dim_is_const(x->shape[x->rank - 1]) ||
        dim_value(x->shape[x->rank - 1]) > ROW_MAX)
        return infer_fail(c, "wants rows of a known size, of at most %d", ROW_MAX);
    infer_shape(c, 0, to, x->rank, x->shape);
    return RILL_OK;
}

static int32_t raised(int32_t a, int by)
{
    int64_t v = (int64_t) a * ((int64_t) 1 << by);
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t) v;
}

/* 1 / sqrt(a) of Q3 in Q3, a in 1/2..2. */
static int32_t inverse_root(int32_t a)
{
    const int32_t three_halves = (1 << 28) + (1 << 27), half = fixed_shift_down(a, 1);
    int32_t x = 1 << 28;
    for (int i = 0; i < 5; i++) {
        int32_t x3 = raised(fixed_high_mul(fixed_high_mul(x, x), x), 6);
        x = raised(fixed_high_mul(three_halves, x) - fixed_high_mul(half, x3), 3);
    }
    return x;
}

/* 1 / sqrt(sum) is multiplier * 2^(-31 - down), but for a sum of 0 or 1, where it is next to 1. */
struct over_root {
    int32_t multiplier;
    int down;
};

static struct over_root over_root(int32_t sum)
{
    const int32_t half_root_2 = 1518500250;
    struct over_root r = { INT32_MAX, 0 };
    if (sum <= 1)
        return r;
    r.down = 11;
    for (; sum >= 1 << 29; sum /= 4)
        r.down++;
    int pairs = (__builtin_clz((unsigned) sum) - 1) / 2 - 1;
    r.down -= pairs;
    r.multiplier = fixed_high_mul(inverse_root((sum << (2 * pairs)) >> 1), half_root_2);
    if (r.down < 0) {
        r.multiplier = raised(r.multiplier, -r.down);
        r.down = 0;
    }
    return r;
}

static void norm_eval(const struct eval *e)
{
    const struct byte_norm_attr *a = e->attr;
    const struct tensor *x = e->in[0];
    const enum dtype tx = x->type, ty = e->out[0]->type;
    const int32_t low = ty == DTYPE_I8 ? -128 : 0, zero = low + 128, x_zero = (int32_t) a->x_zero;
    const int first = ty == DTYPE_I8 ? 0 : 7; /* of the bits of a step, how many in front */
    const int64_t n = x->dim[x->rank - 1], all = tensor_count(x);
    for (int64_t at = 0; at < all; at += n) {
        int32_t sum = 0;
        for (int64_t i = at; i < at + n; i++) {
            int32_t d = byte_at(tx, e->x[0], i) - x_zero;
            sum += d * d;
        }
        const struct over_root by = over_root(sum);
        for (int64_t i = at; i < at + n; i++) {
            int32_t d = byte_at(tx, e->x[0], i) - x_zero;
            int32_t v = fixed_scale(d * (1 << first), by.multiplier, 7 - first - by.down);
            byte_put(ty, e->y[0], i, fixed_clip(v + zero, low, low + 255));
        }
    }
}

static const struct op op_byte_norm = {
    .id = OP_BYTE_NORM,
    .name = "ByteNorm",
    .attrs = norm_attrs,
    .attr_bytes = sizeof(struct byte_norm_attr),
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = norm_infer,
    .eval = norm_eval,
    .help = "rows of bytes over their lengths, in fixed point, in steps of 1/128",
};

const struct op *const ops_byte_norm[] = { &op_byte_norm, NULL };
