/* SPDX-License-Identifier: MIT */
/* Losses, written as the ops they are made of. */
#include "models/onnx/internal.h"

#include <string.h>

struct loss {
    struct conversion *l;
    uint32_t one, zero; /* [1] as axes, scalar 0 as a class */
    uint32_t target;    /* [N, d...] with ignored elements pointing at class 0 */
    uint32_t ignored;   /* bool [N, d...]; WIRE_NONE: none is ignored */
    uint32_t weight;    /* [N, d...]; WIRE_NONE: all are 1 */
};

static rill_status mask(struct loss *s, uint32_t x, float ignored_value, uint32_t *ret)
{
    uint32_t v;
    TRY(convert_float(s->l, ignored_value, x, &v));
    *ret = WIRE_NONE;
    return convert_emit(s->l, "Where", NULL, 0, (uint32_t[]) { s->ignored, v, x }, 3, ret, 1);
}

static rill_status read_target(struct loss *s)
{
    struct conversion *l = s->l;
    uint32_t index, safe = WIRE_NONE;
    s->target = l->in[1];
    s->ignored = WIRE_NONE;
    if (!convert_attr(l, "ignore_index"))
        return RILL_OK;
    TRY(convert_int_scalar(l, convert_int(l, "ignore_index", 0), &index));
    TRY(convert_binary(l, "Equal", l->in[1], index, &s->ignored));
    TRY(convert_emit(l, "Where", NULL, 0, (uint32_t[]) { s->ignored, s->zero, l->in[1] }, 3, &safe,
                     1));
    s->target = safe;
    return RILL_OK;
}

static rill_status read_weight(struct loss *s)
{
    uint32_t one;
    s->weight = WIRE_NONE;
    if (convert_has(s->l, 2))
        TRY(convert_binary(s->l, "Gather", s->l->in[2], s->target, &s->weight));
    else if (s->ignored != WIRE_NONE)
        TRY(convert_float(s->l, 1, s->l->in[0], &one));
    if (s->ignored == WIRE_NONE)
        return RILL_OK;
    return mask(s, s->weight == WIRE_NONE ? one : s->weight, 0, &s->weight);
}

/* -input[n, target[n, d...], d...] * weight */
static rill_status each_loss(struct loss *s, uint32_t input, uint32_t *ret)
{
    struct conversion *l = s->l;
    struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 1 };
    uint32_t column, picked = WIRE_NONE, flat, y;
    TRY(convert_binary(l, "Unsqueeze", s->target, s->one, &column));
    TRY(convert_emit(l, "GatherElements", &axis, 1, (uint32_t[]) { input, column }, 2, &picked, 1));
    TRY(convert_binary(l, "Squeeze", picked, s->one, &flat));
    TRY(convert_unary(l, "Neg", flat, &y));
    *ret = y;
    return s->weight == WIRE_NONE ? RILL_OK : convert_binary(l, "Mul", y, s->weight, ret);
}

static rill_status sum_all(struct conversion *l, const char *op, uint32_t x, uint32_t *ret)
{
    struct attr keep = { .name = "keepdims", .kind = ATTR_INT, .i = 0 };
    *ret = WIRE_NONE;
    return convert_emit(l, op, &keep, 1, &x, 1, ret, 1);
}

static rill_status reduce(struct loss *s, uint32_t x, uint32_t *ret)
{
    const char *how = convert_text(s->l, "reduction", "mean");
    uint32_t total, weights;
    *ret = x;
    if (!strcmp(how, "none"))
        return RILL_OK;
    if (!strcmp(how, "sum"))
        return sum_all(s->l, "ReduceSum", x, ret);
    if (strcmp(how, "mean"))
        return convert_fail(s->l, RILL_MALFORMED, "reduction is '%.40s'; known: none, sum, mean",
                            how);
    if (s->weight == WIRE_NONE)
        return sum_all(s->l, "ReduceMean", x, ret);
    TRY(sum_all(s->l, "ReduceSum", x, &total));
    TRY(sum_all(s->l, "ReduceSum", s->weight, &weights));
    return convert_binary(s->l, "Div", total, weights, ret);
}

static rill_status likelihood(struct conversion *l, uint32_t input)
{
    struct loss s = { .l = l };
    uint32_t each, y;
    TRY(convert_ints(l, (const int64_t[]) { 1 }, 1, &s.one));
    TRY(convert_int_scalar(l, 0, &s.zero));
    TRY(read_target(&s));
    TRY(read_weight(&s));
    TRY(each_loss(&s, input, &each));
    TRY(reduce(&s, each, &y));
    l->n_out = 1;
    return convert_finish(l, y);
}

static rill_status check_inputs(const struct conversion *l)
{
    return convert_has(l, 0) && convert_has(l, 1) && l->n_out > 0
        ? RILL_OK
        : convert_fail(l, RILL_MALFORMED, "takes two or three inputs");
}

rill_status up_nll_loss(struct conversion *l)
{
    TRY(check_inputs(l));
    return likelihood(l, l->in[0]);
}

rill_status up_cross_entropy(struct conversion *l)
{
    struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 1 };
    TRY(check_inputs(l));
    uint32_t logs = l->n_out > 1 ? l->out[1] : WIRE_NONE;
    TRY(convert_emit(l, "LogSoftmax", &axis, 1, l->in, 1, &logs, 1));
    return likelihood(l, logs);
}
