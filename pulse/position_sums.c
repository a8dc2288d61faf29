/* SPDX-License-Identifier: MIT */
#include "pulse/position_sums.h"
#include "engine/graph/op.h"

#include <math.h>

#define SUMMANDS_MAX 16
#define STEPS_MAX 64 /* nodes from the comparison to a summand */

/* Of elements as they are numbered where the sum is compared. */
struct summand {
    const struct dim *high; /* 1 where it is the high number, else 0 */
    double most, least;
};

struct sum {
    const struct positions *ps;
    const struct graph *g;
    struct summand of[SUMMANDS_MAX];
    unsigned n;
};

/* e of x, which is broadcast to y or has other axes of one element. */
static const struct dim *moved(const struct positions *ps, const struct dim *e,
                               const struct fact *x, const struct fact *y, bool broadcasts)
{
    struct dims *ds = ps->dims;
    int to[RANK_MAX], k = 0;
    for (int i = 0; i < x->rank; i++) {
        to[i] = broadcasts ? i + y->rank - x->rank : -1;
        while (!broadcasts && k < y->rank && dim_is(y->shape[k], 1))
            k++;
        if (dim_is(x->shape[i], 1))
            to[i] = -1;
        else if (!broadcasts && (k == y->rank || y->shape[k] != x->shape[i]))
            return NULL;
        else if (!broadcasts)
            to[i] = k++;
    }
    /* none is written over before it is read: those that go up from the last on */
    for (int i = 0; i < x->rank; i++)
        if (to[i] <= i)
            e = dim_subst(ds, e, ps->axis[i], to[i] < 0 ? dim_int(ds, 0) : ps->axis[to[i]]);
    for (int i = x->rank - 1; i >= 0; i--)
        if (to[i] > i)
            e = dim_subst(ds, e, ps->axis[i], ps->axis[to[i]]);
    return e;
}

static bool summand_add(struct sum *s, const struct position *at)
{
    struct dims *ds = s->ps->dims;
    const bool up = at->one >= at->zero;
    if (s->n == SUMMANDS_MAX || !at->pair || isnan(at->one) || isnan(at->zero) ||
        at->one == INFINITY || at->zero == INFINITY)
        return false;
    s->of[s->n++] = (struct summand) { up ? at->e : dim_sub(ds, dim_int(ds, 1), at->e),
                                       up ? at->one : at->zero, up ? at->zero : at->one };
    return true;
}

static bool is_number(const struct sum *s, uint32_t w, double *ret)
{
    const struct position *at = &s->ps->of[w];
    *ret = at->one;
    return at->e && at->pair && at->one == at->zero;
}

/* The operand of a product or quotient that is not a number above 0, `i`; 2: there is none. */
static unsigned scaled_operand(const struct sum *s, const struct node *n, double *ret_by)
{
    for (unsigned i = 0; i < (node_is(n, OP_DIV) ? 1 : 2); i++)
        if (is_number(s, n->in[1 - i], ret_by) && *ret_by > 0 && isfinite(*ret_by))
            return i;
    return 2;
}

static bool passes_on(const struct node *n)
{
    static const enum op_id ops[] = { OP_IDENTITY, OP_RESHAPE, OP_SQUEEZE, OP_UNSQUEEZE };
    return node_is_among(n, ops, sizeof ops / sizeof *ops);
}

static bool summands_find(struct sum *s, uint32_t w, int steps)
{
    const struct node *n = graph_producer(s->g, w);
    const struct fact *f = &s->g->wires[w].fact;
    const bool adds = n && node_is(n, OP_ADD),
               scales = n && (node_is(n, OP_MUL) || node_is(n, OP_DIV));
    double by;
    if (s->ps->of[w].e)
        return summand_add(s, &s->ps->of[w]);
    if (steps == STEPS_MAX || !n || (f->type != DTYPE_F32 && f->type != DTYPE_F64) ||
        !(adds || scales || passes_on(n)))
        return false;
    const unsigned first = scales ? scaled_operand(s, n, &by) : 0, end = adds ? 2 : first + 1;
    for (unsigned i = first; i < end; i++) {
        const unsigned from = s->n;
        if (i > 1 || !summands_find(s, n->in[i], steps + 1))
            return false;
        for (unsigned k = from; k < s->n; k++) {
            s->of[k].high =
                moved(s->ps, s->of[k].high, &s->g->wires[n->in[i]].fact, f, !passes_on(n));
            if (!s->of[k].high)
                return false;
        }
    }
    return true;
}

/* The sum where all summands are high, or all low, but for number `odd`, in the order in which they
 * are summed. *at: how many were. */
static double sum_with(const struct sum *s, uint32_t w, bool high, unsigned odd, unsigned *at)
{
    const struct node *n = graph_producer(s->g, w);
    double by = 1, v;
    if (s->ps->of[w].e) {
        const struct summand *one = &s->of[*at];
        v = high == (*at != odd) ? one->most : one->least;
        ++*at;
        return v;
    }
    const bool scales = node_is(n, OP_MUL) || node_is(n, OP_DIV);
    v = sum_with(s, n->in[scales ? scaled_operand(s, n, &by) : 0], high, odd, at);
    v = node_is(n, OP_ADD)   ? v + sum_with(s, n->in[1], high, odd, at)
        : node_is(n, OP_DIV) ? v / by
                             : v * by;
    return s->g->wires[w].fact.type == DTYPE_F32 ? (double) (float) v : v;
}

static bool holds(enum op_id op, double a, double b)
{
    return op == OP_LESS            ? a < b
        : op == OP_LESS_OR_EQUAL    ? a <= b
        : op == OP_GREATER          ? a > b
        : op == OP_GREATER_OR_EQUAL ? a >= b
                                    : a == b;
}

/* Whether the comparison turns, for good, once one summand is another than all of them. */
static bool turns(const struct sum *s, uint32_t w, enum op_id op, double c, bool high)
{
    unsigned at = 0;
    const bool all = holds(op, sum_with(s, w, high, s->n, &at), c);
    for (unsigned i = 0; i < s->n; i++) {
        at = 0;
        const double v = sum_with(s, w, high, i, &at);
        const bool beyond = high ? v < c : v > c;
        if (s->of[i].most != s->of[i].least &&
            (holds(op, v, c) == all || (op == OP_EQUAL && !(all && beyond))))
            return false;
    }
    return true;
}

static enum op_id turned(enum op_id op)
{
    return op == OP_LESS            ? OP_GREATER
        : op == OP_LESS_OR_EQUAL    ? OP_GREATER_OR_EQUAL
        : op == OP_GREATER          ? OP_LESS
        : op == OP_GREATER_OR_EQUAL ? OP_LESS_OR_EQUAL
                                    : op;
}

/* 1 where all summands are high, or low. */
static const struct dim *all_are(const struct sum *s, bool high)
{
    struct dims *ds = s->ps->dims;
    const struct dim *one = dim_int(ds, 1), *y = one;
    for (unsigned i = 0; i < s->n; i++)
        if (s->of[i].most != s->of[i].least)
            y = dim_mul(ds, y, high ? s->of[i].high : dim_sub(ds, one, s->of[i].high));
    return y;
}

static struct position compared(const struct sum *s, uint32_t w, enum op_id op, double c)
{
    struct dims *ds = s->ps->dims;
    for (int high = 1; high >= 0; high--) {
        unsigned at = 0;
        if (!turns(s, w, op, c, high))
            continue;
        const bool all = holds(op, sum_with(s, w, high, s->n, &at), c);
        const struct dim *e = all_are(s, high);
        return (struct position) { .e = all ? e : dim_sub(ds, dim_int(ds, 1), e) };
    }
    return (struct position) { 0 };
}

struct position position_sum_compared(const struct positions *ps, const struct graph *g,
                                      const struct node *n)
{
    static const enum op_id ops[] = { OP_EQUAL, OP_GREATER, OP_GREATER_OR_EQUAL, OP_LESS,
                                      OP_LESS_OR_EQUAL };
    for (unsigned i = 0; node_is_among(n, ops, sizeof ops / sizeof *ops) && i < 2; i++) {
        struct sum s = { .ps = ps, .g = g };
        double c;
        if (ps->of[n->in[i]].e || !is_number(&s, n->in[1 - i], &c) || isnan(c) ||
            !summands_find(&s, n->in[i], 0))
            continue;
        for (unsigned k = 0; k < s.n; k++)
            s.of[k].high =
                moved(ps, s.of[k].high, &g->wires[n->in[i]].fact, &g->wires[n->out[0]].fact, true);
        return compared(&s, n->in[i], i ? turned(n->op->id) : n->op->id, c);
    }
    return (struct position) { 0 };
}
