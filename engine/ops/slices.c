/* SPDX-License-Identifier: MIT */
#include "engine/ops/slices.h"

/* What all shares have in common: the output's axis, and that of each operand. */
struct slices {
    struct prep *c;
    int64_t n; /* places of it */
    int axis, axis_of[OP_OPERANDS_DIVIDED_MAX];
};

/* The first axis of more than one place: slices along it lie one behind the other. */
static int outer_axis(const struct tensor *y)
{
    int axis = 0;
    while (axis < y->rank && y->dim[axis] == 1)
        axis++;
    return axis;
}

/* Places from..to-1 of the axis; axis -1: all. */
static const struct tensor *slice_make(struct prep *c, const struct tensor *t, int axis,
                                       int64_t from, int64_t to, size_t *ret_shift)
{
    struct tensor *s = arena_new(c->arena, struct tensor);
    if (!s)
        return NULL;
    *s = *t;
    *ret_shift = 0;
    if (axis < 0)
        return s;
    *ret_shift = tensor_bytes(t) / (size_t) t->dim[axis] * (size_t) from;
    s->dim[axis] = to - from;
    s->data = t->data ? (char *) t->data + *ret_shift : NULL;
    return s;
}

static rill_status operands_cut(const struct slices *s, int64_t from, int64_t to,
                                struct share *share)
{
    struct prep *c = s->c;
    const unsigned n = c->n_in + c->n_out;
    const struct tensor **list = arena_array(c->arena, const struct tensor *, n);
    if (!list)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (unsigned i = 0; i < n; i++) {
        const struct tensor *t = i < c->n_in ? c->in[i] : c->out[i - c->n_in];
        if (!t)
            continue;
        list[i] = slice_make(c, t, s->axis_of[i], from, to, &share->shift_bytes[i]);
        if (!list[i])
            return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    }
    share->in = list;
    share->out = list + c->n_in;
    return RILL_OK;
}

static rill_status slices_prepare(const struct slices *s, unsigned n, struct shares *ret)
{
    struct prep *c = s->c;
    TRY(shares_new(c, n, ret));
    for (unsigned i = 0; i < n; i++) {
        struct share *share = &ret->share[i];
        TRY(operands_cut(s, share_from(s->n, i, n), share_from(s->n, i + 1, n), share));
        struct prep own = *c;
        own.in = share->in;
        own.out = share->out;
        own.packs = NULL;
        own.args = NULL;
        own.scratch_bytes = 0;
        if (c->node->op->prepare)
            TRY(c->node->op->prepare(&own));
        share->args = own.args;
        if (ret->scratch_bytes < own.scratch_bytes)
            ret->scratch_bytes = own.scratch_bytes;
    }
    return RILL_OK;
}

static rill_status slices_divide(struct slices *s, unsigned most, struct shares *ret)
{
    const struct tensor *y = s->c->out[0];
    s->n = s->axis < y->rank ? y->dim[s->axis] : 0;
    const unsigned n = s->n < most ? (unsigned) s->n : most;
    return n < 2 ? RILL_OK : slices_prepare(s, n, ret);
}

static bool is_too_wide(const struct prep *c)
{
    return c->n_in + c->n_out > OP_OPERANDS_DIVIDED_MAX || !c->out[0];
}

rill_status slices_of_all(struct prep *c, unsigned most, struct shares *ret)
{
    if (is_too_wide(c) || c->n_out != 1)
        return RILL_OK;
    const struct tensor *y = c->out[0];
    struct slices s = { .c = c, .axis = outer_axis(y) };
    for (unsigned i = 0; i < c->n_in; i++) {
        const struct tensor *x = c->in[i];
        const int axis = x ? s.axis - (y->rank - x->rank) : -1;
        s.axis_of[i] = axis >= 0 && x->dim[axis] > 1 ? axis : -1;
    }
    s.axis_of[c->n_in] = s.axis;
    return slices_divide(&s, most, ret);
}

rill_status slices_before(struct prep *c, int axis, unsigned most, struct shares *ret)
{
    if (is_too_wide(c))
        return RILL_OK;
    struct slices s = { .c = c, .axis = outer_axis(c->out[0]) };
    if (s.axis >= axis)
        return RILL_OK;
    for (unsigned i = 0; i < c->n_in + c->n_out; i++)
        s.axis_of[i] = i == 0 || i >= c->n_in ? s.axis : -1;
    return slices_divide(&s, most, ret);
}
