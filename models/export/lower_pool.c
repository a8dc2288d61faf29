/* SPDX-License-Identifier: MIT */
/* A mean that leaves out frames around the stream, by two that leave out none. */
#include "engine/graph/edit.h"
#include "engine/ops/attrs.h"
#include "models/export/lower.h"

/* The mean of x over whole windows, pads included. */
static uint32_t whole_mean(struct lower *l, const struct node *n, uint32_t x)
{
    struct pool_attr *a = arena_copy(l->arena, n->attr, sizeof *a);
    if (!a)
        return lower_fail(l, RILL_NOMEM);
    a->count_include_pad = 1;
    a->counted_axis = 0;
    return lower_node(l, OP_AVERAGE_POOL, a, &x, 1);
}

/* What counts of x as a mean of 1 and 0, by which the mean of what counts is divided. */
void lower_pool(struct lower *l, const struct node *n, uint32_t *ret_out)
{
    const struct fact *x = lower_fact(l, n, 0);
    const int axis = 2 + (int) pool_attr_of(n)->counted_axis;
    int64_t line[RANK_MAX], all[RANK_MAX];
    for (int i = 0; i < x->rank; i++) {
        line[i] = i == axis ? lower_size(x, i) : 1;
        all[i] = i < 2 ? 1 : lower_size(x, i);
    }
    uint32_t counts = lower_reshape(l, lower_in(l, n, 1), line, x->rank);
    counts = lower_2(l, OP_EXPAND, counts, lower_ints(l, all, (unsigned) x->rank));
    uint32_t zero = lower_zero(l, x->type);
    uint32_t sum = whole_mean(l, n, lower_where(l, counts, lower_in(l, n, 0), zero));
    uint32_t part = whole_mean(l, n, lower_cast(l, counts, x->type));
    uint32_t some = lower_2(l, OP_GREATER, part, zero);
    ret_out[0] = lower_where(l, some, lower_2(l, OP_DIV, sum, part), zero);
}
