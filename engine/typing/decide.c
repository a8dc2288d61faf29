/* SPDX-License-Identifier: MIT */
#include "engine/typing/decide.h"

#define DEPTH_MAX 16
#define ELEMENTS_MAX 16
#define NUMBER_MAX ((int64_t) 1 << 40) /* beyond, sums might not fit */
#define WHOLE_MAX ((int64_t) 1 << 24)  /* of floats, which f32 holds */

/* Every element of a wire lies in lo..hi; an empty wire has any span. */
struct span {
    const struct dim *lo, *hi;
};

static bool span_of(const struct graph *g, uint32_t w, int depth, struct span *ret);

static bool element_dim(struct dims *ds, const struct tensor *t, int64_t i, const struct dim **ret)
{
    if (dtype_is_float(t->type)) {
        double v = tensor_get_f64(t, t->data, i);
        *ret = dim_int(ds, v >= -WHOLE_MAX && v <= WHOLE_MAX ? (int64_t) v : 0);
        return v == (double) dim_value(*ret);
    }
    *ret = t->type == DTYPE_DIM ? ((const struct dim *const *) t->data)[i]
                                : dim_int(ds, tensor_get_i64(t, t->data, i));
    return !dim_is_const(*ret) || (dim_value(*ret) < NUMBER_MAX && dim_value(*ret) > -NUMBER_MAX);
}

/* Floats that count frames, as long as they can. */
static bool counts_in(enum dtype type)
{
    return type == DTYPE_F32 || type == DTYPE_F64;
}

static bool span_of_value(struct dims *ds, const struct tensor *t, struct span *ret)
{
    int64_t n = tensor_count(t);
    const struct dim *d;
    if ((t->type != DTYPE_DIM && !dtype_is_int(t->type) && !counts_in(t->type)) || n < 1 ||
        n > ELEMENTS_MAX)
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (!element_dim(ds, t, i, &d))
            return false;
        ret->lo = i ? dim_min(ds, ret->lo, d) : d;
        ret->hi = i ? dim_max(ds, ret->hi, d) : d;
    }
    return true;
}

/* start, start + step, ... below limit. */
static bool span_of_range(const struct graph *g, const struct node *n, struct span *ret)
{
    struct span s[3];
    for (int i = 0; i < 3; i++)
        if (!g->wires[n->in[i]].fact.value ||
            !span_of_value(g->dims, g->wires[n->in[i]].fact.value, &s[i]))
            return false;
    if (!dim_is_const(s[2].lo) || dim_value(s[2].lo) <= 0)
        return false;
    *ret = (struct span) { s[0].lo, dim_add_int(g->dims, s[1].lo, -1) };
    return true;
}

static bool span_of_sum(const struct graph *g, const struct node *n, int depth, struct span *ret)
{
    struct span a, b;
    bool minus = node_is(n, OP_SUB);
    if (!span_of(g, n->in[0], depth, &a) || !span_of(g, n->in[1], depth, &b))
        return false;
    *ret = (struct span) { minus ? dim_sub(g->dims, a.lo, b.hi) : dim_add(g->dims, a.lo, b.lo),
                           minus ? dim_sub(g->dims, a.hi, b.lo) : dim_add(g->dims, a.hi, b.hi) };
    return true;
}

/* Ops that give elements of their first input, somewhere else. */
static bool only_moves(const struct node *n)
{
    static const enum op_id ids[] = { OP_EXPAND,  OP_FLATTEN, OP_IDENTITY,  OP_RESHAPE,  OP_SLICE,
                                      OP_SQUEEZE, OP_TILE,    OP_TRANSPOSE, OP_UNSQUEEZE };
    return node_is_among(n, ids, sizeof ids / sizeof *ids);
}

bool node_gives_back(const struct node *n, const struct fact *in, const struct fact *out)
{
    static const enum op_id ids[] = { OP_CAST,    OP_EXPAND,  OP_FLATTEN, OP_IDENTITY,
                                      OP_RESHAPE, OP_SQUEEZE, OP_TILE,    OP_UNSQUEEZE };
    return node_is_among(n, ids, sizeof ids / sizeof *ids) && fact_same(in, out);
}

/* A Cast that changes nothing, or makes floats of whole numbers. */
static bool keeps_numbers(const struct node *n, const struct fact *in, const struct fact *out)
{
    return node_gives_back(n, in, out) ||
        (counts_in(out->type) &&
         (in->type == DTYPE_I64 || in->type == DTYPE_I32 || in->type == DTYPE_DIM));
}

static bool span_of(const struct graph *g, uint32_t w, int depth, struct span *ret)
{
    if (w == WIRE_NONE || depth == DEPTH_MAX)
        return false;
    const struct wire *wire = &g->wires[w];
    if (wire->fact.value)
        return span_of_value(g->dims, wire->fact.value, ret);
    if (wire->node == WIRE_NONE ||
        (wire->fact.type != DTYPE_I64 && wire->fact.type != DTYPE_I32 &&
         !counts_in(wire->fact.type)))
        return false;
    const struct node *n = &g->nodes[wire->node];
    if (node_is(n, OP_RANGE))
        return span_of_range(g, n, ret);
    if ((node_is(n, OP_ADD) || node_is(n, OP_SUB)) && wire->fact.type != DTYPE_I32)
        return span_of_sum(g, n, depth + 1, ret);
    if (node_is(n, OP_CAST) && !keeps_numbers(n, &g->wires[n->in[0]].fact, &wire->fact))
        return false;
    return (node_is(n, OP_CAST) || only_moves(n)) && span_of(g, n->in[0], depth + 1, ret);
}

/* a < b everywhere: 1; nowhere: 0; not known: -1. */
static int less(struct dims *ds, struct span a, struct span b)
{
    if (dim_is(dim_ge(ds, b.lo, dim_add_int(ds, a.hi, 1)), 1))
        return 1;
    return dim_is(dim_ge(ds, a.lo, b.hi), 1) ? 0 : -1;
}

bool compare_decided(const struct graph *g, const struct node *n, const uint32_t *in,
                     bool *ret_truth)
{
    static const struct {
        enum op_id op;
        bool swap, negate;
    } ops[] = {
        { OP_LESS, false, false },
        { OP_GREATER, true, false },
        { OP_LESS_OR_EQUAL, true, true },
        { OP_GREATER_OR_EQUAL, false, true },
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct span s[2];
        if (ops[i].op != n->op->id)
            continue;
        if (!span_of(g, in[0], 0, &s[0]) || !span_of(g, in[1], 0, &s[1]))
            return false;
        int is_less = less(g->dims, s[ops[i].swap], s[!ops[i].swap]);
        *ret_truth = (is_less == 1) != ops[i].negate;
        return is_less >= 0;
    }
    return false;
}
