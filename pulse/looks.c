/* SPDX-License-Identifier: MIT */
#include "pulse/looks.h"

#include <float.h>
#include <math.h>

enum shows shows_turned(enum shows what)
{
    static const enum shows other[] = {
        [SHOWS_TRUE] = SHOWS_FALSE, [SHOWS_FALSE] = SHOWS_TRUE, [SHOWS_HIGH] = SHOWS_SMALL,
        [SHOWS_SMALL] = SHOWS_HIGH, [SHOWS_SOME] = SHOWS_LESS,  [SHOWS_LESS] = SHOWS_SOME
    };
    return other[what];
}

bool is_lower_kind(enum shows what)
{
    return what == SHOWS_HIGH || what == SHOWS_SOME;
}

bool look_within(const struct look *l, unsigned i, double least, double most)
{
    const struct tensor *v = pulser_fact(l->p, l->n->in[i])->value;
    bool in = v && v->type != DTYPE_DIM;
    for (int64_t k = 0; in && k < tensor_count(v); k++) {
        double x = tensor_get_f64(v, v->data, k);
        in = x >= least && x <= most;
    }
    return in;
}

unsigned look_constant(const struct look *l)
{
    for (unsigned i = 0; i < 2; i++)
        if (pulser_fact(l->p, l->n->in[i])->value)
            return i;
    return 2;
}

bool is_one(const struct pulser *p, uint32_t w)
{
    const struct tensor *v = pulser_fact(p, w)->value;
    return v && v->type != DTYPE_DIM && tensor_count(v) == 1 && tensor_get_f64(v, v->data, 0) == 1;
}

bool is_truth(const struct pulser *p, uint32_t w)
{
    static const enum op_id moves[] = { OP_CAST,    OP_EXPAND,    OP_IDENTITY, OP_RESHAPE,
                                        OP_SQUEEZE, OP_TRANSPOSE, OP_UNSQUEEZE };
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        const struct wire *wire = &p->src->wires[w];
        const struct node *n = wire->node == WIRE_NONE ? NULL : &p->src->nodes[wire->node];
        if (wire->fact.type == DTYPE_BOOL || !n)
            return wire->fact.type == DTYPE_BOOL;
        bool inverts = node_is(n, OP_SUB) && is_one(p, n->in[0]);
        if (!inverts && !node_is_among(n, moves, sizeof moves / sizeof *moves))
            return false;
        w = n->in[inverts ? 1 : 0];
    }
    return false;
}

bool look_turns(const struct look *l, unsigned c, enum shows what)
{
    double least = what == SHOWS_HIGH ? HIDES : what == SHOWS_SOME ? -INFINITY : 0;
    double most = what == SHOWS_SMALL ? -HIDES : what == SHOWS_LESS ? INFINITY : 0;
    bool low = is_lower_kind(what) ? look_within(l, c, -INFINITY, least)
                                   : look_within(l, c, most, INFINITY);
    return low && is_truth(l->p, l->n->in[1 - c]);
}

bool look_compares(const struct look *l, bool ret_at[2], unsigned *ret_input)
{
    unsigned c = look_constant(l);
    const struct tensor *t = c == 2 ? NULL : pulser_fact(l->p, l->n->in[c])->value;
    if (!t || t->type == DTYPE_DIM || tensor_count(t) != 1 || !is_truth(l->p, l->n->in[1 - c]))
        return false;
    double v = tensor_get_f64(t, t->data, 0);
    for (int x = 0; x < 2; x++) {
        double a = c == 1 ? x : v, b = c == 1 ? v : x;
        ret_at[x] = node_is(l->n, OP_EQUAL)      ? a == b
            : node_is(l->n, OP_GREATER)          ? a > b
            : node_is(l->n, OP_GREATER_OR_EQUAL) ? a >= b
            : node_is(l->n, OP_LESS)             ? a < b
                                                 : a <= b;
    }
    *ret_input = 1 - c;
    return true;
}

struct size look_size(const struct look *l, unsigned i)
{
    return l->p->bands->sizes[l->n->in[i]];
}

bool look_finite(const struct look *l, unsigned i)
{
    const struct tensor *v = pulser_fact(l->p, l->n->in[i])->value;
    return v ? look_within(l, i, -DBL_MAX, DBL_MAX)
             : look_size(l, i).low > -INFINITY && look_size(l, i).high < INFINITY;
}

double look_least(const struct look *l, unsigned c)
{
    const struct tensor *v = pulser_fact(l->p, l->n->in[c])->value;
    double least = INFINITY;
    for (int64_t i = 0; i < tensor_count(v); i++)
        least = fmin(least, fabs(tensor_get_f64(v, v->data, i)));
    return least;
}

double look_most(const struct look *l, unsigned c)
{
    const struct tensor *v = pulser_fact(l->p, l->n->in[c])->value;
    double most = 0;
    for (int64_t i = 0; i < tensor_count(v); i++)
        most = fmax(most, fabs(tensor_get_f64(v, v->data, i)));
    return most;
}
