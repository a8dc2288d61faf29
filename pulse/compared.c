/* SPDX-License-Identifier: MIT */
#include "pulse/compared.h"
#include "pulse/compared_nodes.h"
#include "pulse/position_fractions.h"

#define CHUNKS_MAX 4 /* chunks of chunks */

/* The only term of a sum that has k in it; false: there is none, or several. */
static bool term_of(const struct dim *d, const struct dim *k, const struct dim **ret_term,
                    int64_t *ret_times)
{
    const struct dim_parts x = dim_parts(d);
    unsigned found = 0;
    for (unsigned i = 0; x.form == DIM_FORM_SUM && i < x.n; i++)
        if (dim_mentions(x.arg[i], k)) {
            *ret_term = x.arg[i];
            *ret_times = x.coef[i];
            found++;
        }
    return found == 1;
}

/* From which k on the sum d is 0 or more; ret_rest false: before which. */
static bool solved(const struct positions *ps, const struct dim *d, const struct dim *k,
                   const struct dim **ret, bool *ret_rest, int depth)
{
    struct dims *ds = ps->dims;
    const struct dim *term = NULL;
    int64_t times = 0;
    if (depth == CHUNKS_MAX || !term_of(d, k, &term, &times) || times == INT64_MIN)
        return false;
    const struct dim *others = dim_sub(ds, d, dim_mul_int(ds, term, times));
    const struct dim *from = times > 0 ? dim_div_ceil_int(ds, dim_mul_int(ds, others, -1), times)
                                       : dim_add_int(ds, dim_div_int(ds, others, -times), 1);
    const struct dim_parts x = dim_parts(term);
    *ret = from;
    *ret_rest = times > 0;
    if (term == k)
        return true;
    if (x.form != DIM_FORM_QUOTIENT ||
        !solved(ps, dim_sub(ds, x.arg[0], dim_mul_int(ds, from, x.value)), k, ret, ret_rest,
                depth + 1))
        return false;
    *ret_rest = times > 0 ? *ret_rest : !*ret_rest;
    return true;
}

/* The only axis of which it has coordinates; -1: there is none, or several. */
static int axis_in(const struct positions *ps, const struct dim *d)
{
    int axis = -1;
    for (int i = 0; i < RANK_MAX; i++)
        if (dim_mentions(d, ps->axis[i]) && axis >= 0)
            return -1;
        else if (dim_mentions(d, ps->axis[i]))
            axis = i;
    return axis;
}

/* Whether d is 0 or more, or is not. */
static bool term_add(const struct placed_edit *c, struct compared *q, const struct dim *d,
                     bool not )
{
    const struct positions *ps = &c->ps;
    const int axis = axis_in(ps, d);
    struct compared_term t = { .axis = axis };
    if (q->n == COMPARED_MAX)
        return false;
    if (!dim_mentions(d, ps->time)) {
        t.sum = not ? dim_sub(ps->dims, dim_int(ps->dims, -1), d) : d;
        q->of[q->n++] = t;
        return compared_can_be_put(ps, t.sum);
    }
    if (axis < 0 || !solved(ps, d, ps->axis[axis], &t.length, &t.rest, 0))
        return false;
    t.rest ^= not ;
    t.length = positions_length(ps, t.length, c->symbol);
    q->of[q->n++] = t;
    return t.length != NULL;
}

/* One comparison, or what it is not. */
static bool factor_add(const struct placed_edit *c, struct compared *q, const struct dim *e)
{
    struct dims *ds = c->ps.dims;
    const struct dim_parts sum = dim_parts(e);
    const bool not = sum.form == DIM_FORM_SUM && sum.n == 1 && sum.value == 1 && sum.coef[0] == -1;
    const struct dim_parts x = not ? dim_parts(sum.arg[0]) : sum;
    if (x.form != DIM_FORM_AT_LEAST && (not || x.form != DIM_FORM_EQUAL))
        return false;
    const struct dim *d = dim_sub(ds, x.arg[0], x.arg[1]);
    return term_add(c, q, d, not ) &&
        (x.form != DIM_FORM_EQUAL || term_add(c, q, dim_mul_int(ds, d, -1), false));
}

static bool compared_find(const struct placed_edit *c, uint32_t wire, struct compared *ret)
{
    const struct position *at = &c->ps.of[wire];
    *ret = (struct compared) { .n = 0 };
    if (!at->e || at->pair || !dim_mentions(at->e, c->ps.time))
        return false;
    const struct dim_parts x = dim_parts(at->e);
    bool all = true;
    for (unsigned i = 0; x.form == DIM_FORM_PRODUCT && all && i < x.n; i++)
        all = factor_add(c, ret, x.arg[i]);
    return x.form == DIM_FORM_PRODUCT ? all : factor_add(c, ret, at->e);
}

/* Frame numbers and a length, as they are. */
static bool is_plain(const struct placed_edit *c, const struct node *n)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct position *k = &c->ps.of[n->in[i]];
        const struct tensor *length = c->e->g->wires[n->in[1 - i]].fact.value;
        if (!k->e || k->pair || k->parts > 1 || dim_mentions(k->e, c->ps.time) || !length ||
            length->type != DTYPE_DIM)
            continue;
        for (int axis = 0; axis < RANK_MAX; axis++)
            if (dim_is_const(dim_sub(c->ps.dims, k->e, c->ps.axis[axis])))
                return true;
    }
    return false;
}

/* Whether the node is where truths begin: those behind it are made of them. */
static bool begins_truth(const struct placed_edit *c, const struct node *n)
{
    static const enum op_id ops[] = { OP_CAST, OP_EQUAL,         OP_GREATER,    OP_GREATER_OR_EQUAL,
                                      OP_LESS, OP_LESS_OR_EQUAL, OP_REDUCE_MIN, OP_REDUCE_PROD };
    const struct wire *wires = c->e->g->wires;
    return node_is_among(n, ops, sizeof ops / sizeof *ops) && n->out[0] < c->e->n_wires &&
        wires[n->out[0]].fact.type == DTYPE_BOOL &&
        !(node_is(n, OP_CAST) && wires[n->in[0]].fact.type == DTYPE_BOOL);
}

rill_status compared_look(struct placed_edit *c, uint32_t at)
{
    const struct node *n = &c->e->g->nodes[at];
    struct compared q;
    if (!begins_truth(c, n))
        return RILL_OK;
    TRY(placed_edit_want(c));
    if (!c->found || (n->n_in == 2 && position_orders(n->op->id) && is_plain(c, n)))
        return RILL_OK;
    return compared_find(c, n->out[0], &q) ? compared_put(c, at, &q) : RILL_OK;
}
