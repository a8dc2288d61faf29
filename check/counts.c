/* SPDX-License-Identifier: MIT */
#include "check/counts.h"
#include "engine/graph/op.h"
#include "engine/ops/clock.h"
#include "pulse/pulsify.h"

#include <math.h>
#include <string.h>

/* By how much the numbers on a wire grow with a frame of the symbol; 0: they are no count. */
struct counted {
    const struct graph *g;
    const struct dim *symbol;
    int64_t pulse; /* frames of the symbol a run, of the pulsed graph; 0: of the decluttered one */
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

/* The same of the frames of a run. */
static double run_grows(const struct counted *c, const struct node *n)
{
    const struct clock_attr *at = n->attr;
    double step;
    return scalar_of(c->g, n->in[2], &step) ? fabs(step) * (double) at->pulse / (double) c->pulse
                                            : 0;
}

/* A count with a number added, times a number, divided by one, or at least one; of two counts
 * nobody knows. */
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
                            arithmetic[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX };
    if (node_is(n, OP_RANGE))
        return range_grows(c, n);
    if (n->op == &op_pulse_range)
        return run_grows(c, n);
    if (n->op == &op_pulse_pad)
        return c->grows[n->in[0]];
    if (n->n_in == 2 && node_is_among(n, arithmetic, sizeof arithmetic / sizeof *arithmetic))
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

/* rate: frames a second; 0: not known. */
static void count_print(FILE *to, enum dtype type, double frames, double rate)
{
    fprintf(to, "frames in %s, which %s after %.0f frames", dtype_name(type),
            dtype_is_float(type) ? "skips numbers" : "wraps", frames);
    if (rate > 0 && frames / rate < 3600)
        fprintf(to, ", %.1f minutes", frames / rate / 60);
    else if (rate > 0)
        fprintf(to, ", %.1f hours", frames / rate / 3600);
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

/* Sets grows of the wires; whether any node counts. */
static bool counts_find(struct counted *c)
{
    bool any = false;
    for (uint32_t i = 0; i < c->g->n_nodes; i++) {
        const struct node *n = &c->g->nodes[i];
        if (n->n_out != 1 || n->out[0] == WIRE_NONE || n->n_body || n->n_in == 0)
            continue;
        c->grows[n->out[0]] = node_grows(c, n);
        any |= c->grows[n->out[0]] > 0;
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

/* The type in which the node is the first to count along its wires; NONE: it counts in none that
 * ends, or is told of another. */
static enum dtype first_counts(const struct counted *c, const struct node *n)
{
    const uint32_t w = n->n_out == 1 ? n->out[0] : WIRE_NONE;
    const enum dtype type = w != WIRE_NONE ? c->g->wires[w].fact.type : DTYPE_NONE;
    return type != DTYPE_NONE && c->grows[w] > 0 && whole_numbers(type) > 0 &&
            !counts_before(c, n, type)
        ? type
        : DTYPE_NONE;
}

static void counts_list(FILE *to, const struct counted *c, double rate)
{
    for (uint32_t i = 0; i < c->g->n_nodes; i++) {
        const struct node *n = &c->g->nodes[i];
        const enum dtype type = first_counts(c, n);
        if (type == DTYPE_NONE)
            continue;
        fprintf(to, "  node '%s' (%s) counts ", n->name, n->op->name);
        count_print(to, type, whole_numbers(type) / c->grows[n->out[0]], rate);
        fprintf(to, "; keep counts in i64, or take them modulo a number before\n");
    }
}

/* Frames that the pulsed graph counts beside those of the decluttered one: queries that first keys
 * of the sequence are seen from (pulse/places.h). A line for each node of the decluttered graph. */
static rill_status queries_list(FILE *to, const struct pgraph *pg, double rate, struct arena *a)
{
    struct counted c = { &pg->g, pg->symbol, pg->pulse, arena_array(a, double, pg->g.n_wires + 1) };
    bool *told = arena_array(a, bool, pg->g.n_wires + 1);
    const char *last = NULL;
    if (!c.grows || !told)
        return RILL_NOMEM;
    for (uint32_t w = 0; w < pg->n_trace; w++)
        if (pg->trace[w].wire != WIRE_NONE)
            told[pg->trace[w].wire] = true;
    counts_find(&c);
    for (uint32_t i = 0; i < pg->g.n_nodes; i++) {
        const struct node *n = &pg->g.nodes[i];
        const enum dtype type = first_counts(&c, n);
        if (type == DTYPE_NONE || told[n->out[0]] || (last && strcmp(last, n->name) == 0))
            continue;
        last = n->name;
        fprintf(to, "  node '%s' counts, from the first keys of the sequence on, ", n->name);
        count_print(to, type, whole_numbers(type) / c.grows[n->out[0]], rate);
        fprintf(to, "; distances that Min bounds stay exact\n");
    }
    return RILL_OK;
}

static rill_status counts_walk(FILE *to, const rill_model *m, struct arena *a)
{
    const struct graph *g = &m->decluttered.g;
    const double rate = symbol_rate(m);
    struct counted c = { g, m->stream, 0, arena_array(a, double, g->n_wires + 1) };
    struct pgraph pg;
    if (!c.grows)
        return RILL_NOMEM;
    if (!m->stream || !counts_find(&c))
        return RILL_OK;
    const bool streams =
        pgraph_from_dgraph(&pg, &m->decluttered, m->stream, 0, NULL, a, NULL) == RILL_OK;
    if (streams)
        unpulsed_drop(&c, &pg);
    counts_list(to, &c, rate);
    return streams ? queries_list(to, &pg, rate, a) : RILL_OK;
}

rill_status counts_print(FILE *to, const rill_model *m, rill_error *reterr)
{
    struct arena a = { 0 };
    const rill_status s = counts_walk(to, m, &a);
    arena_drop(&a);
    return s == RILL_OK ? RILL_OK : err_set(reterr, s, "out of memory");
}
