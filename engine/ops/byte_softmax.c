/* SPDX-License-Identifier: MIT */
/* Softmax of bytes along the last axis in fixed point, as gemmlowp defined its exponential and its
 * reciprocal: numbers of 32 bits of which the first 0 (Q0), 2, 5 or 12 stand before the point. */
#include "engine/ops/byte.h"
#include "engine/ops/ops.h"

struct byte_softmax_attr {
    struct fixed_factor by; /* from differences of bytes to Q5; its shift is one to the left */
    int64_t least;          /* difference below which an exponential is 0 */
    int64_t to;
};

static const struct attr_spec softmax_attrs[] = {
    { .name = "multiplier",
      .kind = ATTR_INT,
      .offset = offsetof(struct byte_softmax_attr, by.multiplier) },
    { .name = "shift", .kind = ATTR_INT, .offset = offsetof(struct byte_softmax_attr, by.shift) },
    { .name = "least", .kind = ATTR_INT, .offset = offsetof(struct byte_softmax_attr, least) },
    { .name = "to", .kind = ATTR_INT, .offset = offsetof(struct byte_softmax_attr, to) },
    { 0 },
};

static rill_status softmax_infer(struct infer *c)
{
    const struct byte_softmax_attr *a = c->attr;
    const struct byte_range all = { .to = a->to };
    enum dtype to;
    TRY(elem_check_type(c, 0, TYPES_BYTE));
    TRY(byte_range_check(c, &all, &to));
    TRY(fixed_factor_check(c, &a->by));
    if (a->by.multiplier < 0 || a->by.shift < 0 || a->least > 0 || a->least < INT32_MIN)
        return infer_fail(c, "a factor of %lld * 2^%lld, down to %lld",
                          (long long) a->by.multiplier, (long long) a->by.shift,
                          (long long) a->least);
    if (c->in[0]->rank < 1)
        return infer_fail(c, "wants rank 1 or more");
    infer_shape(c, 0, to, c->in[0]->rank, c->in[0]->shape);
    return RILL_OK;
}

static int32_t add(int32_t a, int32_t b)
{
    return (int32_t) ((uint32_t) a + (uint32_t) b);
}

/* a * 2^by, saturated. */
static int32_t raised(int32_t a, int by)
{
    int64_t v = (int64_t) a * ((int64_t) 1 << by);
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t) v;
}

/* exp(a), both Q0, -1/4 <= a < 0: four terms around -1/8 */
static int32_t exp_near_zero(int32_t a)
{
    const int32_t centre = 1895147668, third = 715827883;
    int32_t x = add(a, 1 << 28), x2 = fixed_high_mul(x, x), x3 = fixed_high_mul(x2, x);
    int32_t quarter = fixed_shift_down(fixed_high_mul(x2, x2), 2);
    int32_t rest = fixed_shift_down(add(fixed_high_mul(add(quarter, x3), third), x2), 1);
    return add(centre, fixed_high_mul(centre, add(x, rest)));
}

/* exp(a), a <= 0 in Q5, result Q0: the rest to a quarter, then a factor for each bit above it. */
static int32_t exp_of(int32_t a)
{
    static const int32_t factors[] = { 1672461947, 1302514674, 790015084, 290630308,
                                       39332535,   720401,     242 };
    const int32_t quarter = 1 << 24;
    if (a == 0)
        return INT32_MAX;
    int32_t rest = (a & (quarter - 1)) - quarter, bits = add(rest, (int32_t) - (uint32_t) a);
    int32_t y = exp_near_zero(raised(rest, 5));
    for (int i = 0; i < 7; i++)
        if (bits >> (24 + i) & 1)
            y = fixed_high_mul(y, factors[i]);
    return y;
}

/* 1 / (1 + a), a in 0..1, both Q0: Newton's steps in Q2 from a line. */
static int32_t one_over_one_plus(int32_t a)
{
    int32_t half = (int32_t) (((int64_t) a + INT32_MAX + 1) / 2);
    int32_t x = add(1515870810, fixed_high_mul(half, -1010580540));
    for (int i = 0; i < 3; i++) {
        int32_t rest = add(1 << 29, (int32_t) - (uint32_t) fixed_high_mul(half, x));
        x = add(x, raised(fixed_high_mul(x, rest), 2));
    }
    return raised(x, 1);
}

static int32_t exp_at(const struct byte_softmax_attr *a, int32_t difference)
{
    int32_t up = fixed_shift_up(difference, (int) a->by.shift);
    return exp_of(fixed_high_mul(up, (int32_t) a->by.multiplier));
}

static void row_eval(const struct eval *e, int64_t at, int64_t n)
{
    const struct byte_softmax_attr *a = e->attr;
    enum dtype tx = e->in[0]->type, ty = e->out[0]->type;
    int32_t most = -128, least = ty == DTYPE_I8 ? -128 : 0;
    uint32_t sum = 0; /* Q12 */
    for (int64_t i = 0; i < n; i++) {
        int32_t v = byte_at(tx, e->x[0], at + i);
        most = v > most ? v : most;
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t d = byte_at(tx, e->x[0], at + i) - most;
        sum += d >= a->least ? (uint32_t) fixed_shift_down(exp_at(a, d), 12) : 0;
    }
    int free = sum ? __builtin_clz(sum) : 0, down = 12 - free + 23;
    int32_t by = one_over_one_plus((int32_t) ((sum << free) - (1u << 31)));
    for (int64_t i = 0; i < n; i++) {
        int32_t d = byte_at(tx, e->x[0], at + i) - most, v = least;
        if (d >= a->least)
            v = fixed_shift_down(fixed_high_mul(by, exp_at(a, d)),
                                 down < 0        ? 0
                                     : down > 31 ? 31
                                                 : down) +
                least;
        byte_put(ty, e->y[0], at + i, fixed_clip(v, least, least + 255));
    }
}

static void softmax_eval(const struct eval *e)
{
    const struct tensor *x = e->in[0];
    int64_t n = x->dim[x->rank - 1], all = tensor_count(x);
    for (int64_t at = 0; at < all; at += n)
        row_eval(e, at, n);
}

static const struct op op_byte_softmax = {
    .id = OP_BYTE_SOFTMAX,
    .name = "ByteSoftmax",
    .attrs = softmax_attrs,
    .attr_bytes = sizeof(struct byte_softmax_attr),
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = softmax_infer,
    .eval = softmax_eval,
    .help = "softmax of bytes along the last axis, in fixed point, in steps of 1/256",
};

const struct op *const ops_byte_softmax[] = { &op_byte_softmax, NULL };
