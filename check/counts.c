/* SPDX-License-Identifier: MIT */
#include "check/counts.h"
#include "engine/graph/op.h"
#include "pulse/pulsify.h"

#include <math.h>

/* By how much the numbers on a wire grow with a frame of the symbol; 0: they are no count. */
struct counted {
    const struct graph *g;
    const struct dim *symbol;
    double *grows;
};

static bool scalar_of(const struct graph *g, uint32_t w, double *ret)
{
    const struct tensor *v = w == WIRE_NONE ? NULL : g->wires[w].fact.value;
    if (!v || v->type == DTYPE_DIM || tensor_count(v) != 1)
        return false;
    *ret = tensor_get_f64(v, v->data, 0);
    return true;
}

/* start, start + step, .. for each of so many frames of the symbol. */
static double range_grows(const struct counted *c, const struct node *n)
{
    int64_t num, den;
    double step;
    const struct fact *f = &c->g->wires[n->out[0]].fact;
    if (!scalar_of(c->g, n->in[2], &step) || f->rank != 1 ||
        !dim_slope(f->shape[0], c->symbol, &num, &den) || num < 1)
        return 0;
    return fabs(step) * (double) num / (double) den;
}

/* A count with a number added, times a number, or divided by one; of two counts nobody knows. */
static double arithmetic_grows(const struct counted *c, const struct node *n)
{
    double a = c->grows[n->in[0]], b = c->grows[n->in[1]], v = 0;
    bool number = scalar_of(c->g, n->in[a > 0 ? 1 : 0], &v);
    if ((a > 0) == (b > 0) || !number)
        return 0;
    if (node_is(n, OP_MUL))
        return (a + b) * fabs(v);
    if (node_is(n, OP_DIV))
        return a > 0 && v != 0 ? a / fabs(v) : 0;
    return a + b;
}

static double node_grows(const struct counted *c, const struct node *n)
{
    static const enum op_id same[] = { OP_CAST,    OP_UNSQUEEZE, OP_SQUEEZE,   OP_RESHAPE,
                                       OP_FLATTEN, OP_IDENTITY,  OP_TRANSPOSE, OP_EXPAND,
                                       OP_NEG,     OP_FLOOR,     OP_CEIL },
                            arithmetic[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV };
    if (node_is(n, OP_RANGE))
        return range_grows(c, n);
    if (node_is_among(n, arithmetic, sizeof arithmetic / sizeof *arithmetic))
        return arithmetic_grows(c, n);
    return node_is_among(n, same, sizeof same / sizeof *same) ? c->grows[n->in[0]] : 0;
}

/* Whole numbers that the type tells apart. */
static double whole_numbers(enum dtype type)
{
    switch (type) {
    case DTYPE_F32: return 0x1p24;
    case DTYPE_I32: return 0x1p31;
    case DTYPE_U32: return 0x1p32;
    case DTYPE_I16: return 0x1p15;
    default: return 0;
    }
}

/* Whether what comes in ends as soon, in the same type: it is told of that. */
static bool counts_before(const struct counted *c, const struct node *n, enum dtype type)
{
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && c->grows[n->in[i]] >= c->grows[n->out[0]] &&
            c->g->wires[n->in[i]].fact.type == type)
            return true;
    return false;
}

static void count_print(FILE *to, const struct node *n, enum dtype type, double frames, double rate)
{
    fprintf(to, "  node '%s' (%s) counts frames in %s, which %s after %.0f frames", n->name,
            n->op->name, dtype_name(type), dtype_is_float(type) ? "skips numbers" : "wraps",
            frames);
    if (rate > 0 && frames / rate < 3600)
        fprintf(to, ", %.1f minutes", frames / rate / 60);
    else if (rate > 0)
        fprintf(to, ", %.1f hours", frames / rate / 3600);
    fprintf(to, "; keep counts in i64, or take them modulo a number before\n");
}

/* Frames of the symbol a second; 0: not known. */
static double symbol_rate(const rill_model *m)
{
    const struct graph *g = &m->decluttered.g;
    int64_t num, den;
    for (uint32_t i = 0; m->inputs && i < g->n_inputs; i++)
        for (int k = 0; m->inputs[i].rate && k < g->wires[g->inputs[i]].fact.rank; k++)
            if (dim_slope(g->wires[g->inputs[i]].fact.shape[k], m->stream, &num, &den) && num > 0)
                return (double) m->inputs[i].rate * (double) den / (double) num;
    return 0;
}

/* Sets grows of the wires; whether any node counts in numbers that end. */
static bool counts_find(struct counted *c)
{
    bool any = false;
    for (uint32_t i = 0; i < c->g->n_nodes; i++) {
        const struct node *n = &c->g->nodes[i];
        if (n->n_out != 1 || n->out[0] == WIRE_NONE || n->n_body || n->n_in == 0)
            continue;
        c->grows[n->out[0]] = node_grows(c, n);
        any |= c->grows[n->out[0]] > 0 && whole_numbers(c->g->wires[n->out[0]].fact.type) > 0;
    }
    return any;
}

/* Counts that the pulsed graph does not have end nowhere: of masks, biases and tables of distances
 * it has the places of one window, and others stay small (pulse/rebase.h). */
static void unpulsed_drop(struct counted *c, const struct pgraph *pg)
{
    for (uint32_t w = 0; w < pg->n_trace && w < c->g->n_wires; w++)
        if (pg->trace[w].wire == WIRE_NONE)
            c->grows[w] = 0;
}

rill_status counts_print(FILE *to, const rill_model *m, rill_error *reterr)
{
    struct arena a = { 0 };
    const struct graph *g = &m->decluttered.g;
    struct counted c = { g, m->stream, arena_array(&a, double, g->n_wires + 1) };
    struct pgraph pg;
    if (!c.grows) {
        arena_drop(&a);
        return err_set(reterr, RILL_NOMEM, "out of memory");
    }
    if (m->stream && counts_find(&c) &&
        pgraph_from_dgraph(&pg, &m->decluttered, m->stream, 0, NULL, &a, NULL) == RILL_OK)
        unpulsed_drop(&c, &pg);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        const double grows = n->n_out == 1 && n->out[0] != WIRE_NONE ? c.grows[n->out[0]] : 0;
        const enum dtype type = grows > 0 ? g->wires[n->out[0]].fact.type : DTYPE_NONE;
        if (grows > 0 && whole_numbers(type) > 0 && !counts_before(&c, n, type))
            count_print(to, n, type, whole_numbers(type) / grows, symbol_rate(m));
    }
    arena_drop(&a);
    return RILL_OK;
}
