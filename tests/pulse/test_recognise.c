/* SPDX-License-Identifier: MIT */
/* Patterns that passes turn into one op: found where they are, left alone where they only look like it, and what comes out
 * stays within 1e-5 of what was written, whole and streamed. */
#include "engine/check_bodies.h"
#include "engine/prune.h"
#include "engine/rewrite/rewrite.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/scan_cells.h"

#include <string.h>

typedef rill_status pass_fn(struct graph *ret, const struct graph *g, rill_error *reterr);

struct pattern {
    const char *name;
    gb_recipe *recipe;
    const void *ctx;
    const char *op;
    unsigned before, after;     /* of that op */
    bool same_bits;
};

/* ---- layer norms ---- */

struct norm {
    int rank, last;             /* axes normalised, from the end */
    bool pow, twice, reciprocal, gain, shift;
    int odd;                    /* 1: means over different axes; 2: a gain of another shape; 3: epsilon per row; 4: the mean of
                                 * something else */
};

static uint32_t norm_axes(struct gb *b, int n)
{
    return n == 1 ? gb_ints(b, -1) : gb_ints(b, -2, -1);
}

static uint32_t norm_weights(struct gb *b, int last, bool odd)
{
    return last == 1 || odd ? gb_weights(b, 1, 6) : gb_weights(b, 2, 5, 6);
}

static void norm_recipe(struct gb *b, const void *ctx)
{
    const struct norm *t = ctx;
    uint32_t x = t->rank == 3 ? gb_input(b, "x", 3, 1, GB_TIME, 6) : gb_input(b, "x", 4, 1, GB_TIME, 5, 6);
    uint32_t other = t->odd == 4 ? GB(b, "Tanh", "", x) : x;
    uint32_t mean = GB(b, "ReduceMean", "keepdims=1", other, norm_axes(b, t->odd == 1 ? 3 - t->last : t->last));
    uint32_t d = GB(b, "Sub", "", x, mean), d2 = t->twice ? GB(b, "Sub", "", x, mean) : d;
    uint32_t square = t->pow ? GB(b, "Pow", "", d2, gb_scalar(b, 2)) : GB(b, "Mul", "", d2, d2);
    uint32_t var = GB(b, "ReduceMean", "keepdims=1", square, norm_axes(b, t->last));
    uint32_t eps = t->odd == 3 ? gb_weights(b, 1, 6) : gb_scalar(b, 1e-3f);
    uint32_t root = GB(b, "Sqrt", "", GB(b, "Add", "", t->pow ? eps : var, t->pow ? var : eps));
    uint32_t y = t->reciprocal ? GB(b, "Mul", "", GB(b, "Reciprocal", "", root), d) : GB(b, "Div", "", d, root);
    if (t->gain)
        y = GB(b, "Mul", "", y, norm_weights(b, t->last, t->odd == 2));
    if (t->shift)
        y = GB(b, "Add", "", norm_weights(b, t->last, false), y);
    gb_output(b, y);
}

#define NORM(...) norm_recipe, &(const struct norm) { __VA_ARGS__ }, "LayerNormalization"

/* ---- checks ---- */

static void law_check(struct oracle *o, const struct pattern *p)
{
    static const int64_t pulses[] = { 1, 4 }, lengths[] = { 1, 6, 13 };
    for (size_t i = 0; i < sizeof pulses / sizeof *pulses; i++) {
        enum verdict v = oracle_pulse(o, pulses[i]);
        oracle_check(v == LAW_HOLDS, "%s, pulse %d: %s", p->name, (int) pulses[i], o->err.text);
        for (size_t k = 0; v == LAW_HOLDS && k < sizeof lengths / sizeof *lengths; k++)
            oracle_check(oracle_law(o, lengths[k], (uint32_t) (i + 9 * k)) == LAW_HOLDS, "%s, pulse %d, length %d: %s", p->name,
                         (int) pulses[i], (int) lengths[k], o->err.text);
    }
}

static void pattern_check(const struct pattern *p, pass_fn *pass)
{
    struct oracle o;
    struct graph made, *g;
    bool ok = oracle_open(&o, p->recipe, p->ctx, NULL) == LAW_HOLDS;
    g = &o.model->graph.g;
    oracle_check(!ok || graph_count_op(g, p->op) == p->before, "%s: there are %u %s before", p->name, graph_count_op(g, p->op),
                 p->op);
    ok = ok && pass(&made, g, &o.err) == RILL_OK && graph_pruned(g, &made, &o.err) == RILL_OK &&
         graph_check(g, &o.err) == RILL_OK && graph_check_bodies(g, NULL, NULL, &o.err) == RILL_OK;
    oracle_check(ok, "%s: %s", p->name, o.err.text);
    oracle_check(!ok || graph_count_op(g, p->op) == p->after, "%s: there are %u %s, not %u", p->name, graph_count_op(g, p->op),
                 p->op, p->after);
    o.tolerance = p->same_bits ? 0 : 1e-5f;
    if (ok)
        law_check(&o, p);
    oracle_close(&o);
}

static const struct pattern norms[] = {
    { "as DTLN", NORM(.rank = 3, .last = 1, .twice = true, .gain = true, .shift = true), 0, 1, false },
    { "as GTCRN", NORM(.rank = 4, .last = 2, .pow = true, .gain = true, .shift = true), 0, 1, false },
    { "with a reciprocal", NORM(.rank = 4, .last = 1, .reciprocal = true, .gain = true), 0, 1, false },
    { "alone", NORM(.rank = 4, .last = 2), 0, 1, false },
    { "shift alone", NORM(.rank = 3, .last = 1, .shift = true), 0, 1, false },
    { "a gain that does not fit", NORM(.rank = 4, .last = 2, .gain = true, .odd = 2), 0, 1, false },
    { "means over different axes", NORM(.rank = 4, .last = 1, .gain = true, .odd = 1), 0, 0, true },
    { "epsilons", NORM(.rank = 4, .last = 1, .odd = 3), 0, 0, true },
    { "another mean", NORM(.rank = 4, .last = 1, .odd = 4), 0, 0, true },
};

int main(void)
{
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        pattern_check(&norms[i], graph_with_norms_recognised);
    return oracle_end();
}
