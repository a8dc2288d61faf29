/* SPDX-License-Identifier: MIT */
#include "tools/inspect_latency.h"
#include "engine/plan/cost.h"
#include "check/latency.h"
#include "check/lower_bound.h"
#include "engine/graph/subst.h"

#include <stdio.h>
#include <stdlib.h>

/* Frames a second of the input's time axis; 0 where it is not declared. */
static double input_rate(const rill_plan *p)
{
    const rill_model *m = p->model;
    for (uint32_t i = 0; m->inputs && i < p->n_inputs; i++)
        if (m->inputs[i].rate && p->pgraph.inputs[i].axis >= 0)
            return m->inputs[i].rate;
    return 0;
}

/* Input frames of the smallest legal pulse; 0 where it cannot be told. */
static int64_t smallest_pulse(const rill_plan *p)
{
    struct arena a = { 0 };
    struct pgraph g;
    rill_error err;
    bool ok = p->model->stream &&
        pgraph_from_dgraph(&g, &p->model->decluttered, p->model->stream, 0, NULL, &a, &err) ==
            RILL_OK;
    int64_t pulse = ok ? g.pulse : 0;
    arena_drop(&a);
    return pulse;
}

static const struct port *output_port(const rill_plan *p, uint32_t i)
{
    return &p->ports[p->n_inputs + i];
}

/* Multiply-adds of the whole-sequence run of `length` units of the stream symbol; false where that
 * cannot be told. */
static bool whole_cost(const rill_plan *p, int64_t length, double *ret)
{
    struct arena a = { 0 };
    struct graph g;
    struct cost c = { 0 };
    rill_error err;
    const struct graph *t = &p->model->decluttered.g;
    bool ok = !p->model->compiled &&
        graph_substituted(&g, t, p->symbol, dim_int(t->dims, length), &a, &err) == RILL_OK;
    if (ok)
        cost_of_graph(&g, &c);
    arena_drop(&a);
    *ret = (double) c.multiply_adds;
    return ok && !c.open;
}

/* What a pulse multiplies, by what the whole-sequence run does for as many frames in the long run;
 * 0: not known. */
static double overhead(const rill_plan *p, const struct cost *pulsed)
{
    enum { PULSES = 64 };
    double once, twice;
    int64_t length;
    if (!p->symbol || __builtin_mul_overflow(p->pgraph.pulse, 4 * PULSES, &length) ||
        length > INT32_MAX)
        return 0;
    for (uint32_t i = 0; i < p->n_ports - p->n_inputs; i++)
        length += p->pgraph.outputs[i].axis < 0
            ? 0
            : 2 * output_port(p, i)->delay * p->pgraph.outputs[i].hop_num;
    length = length / p->pgraph.pulse * p->pgraph.pulse;
    if (!whole_cost(p, length, &once) ||
        !whole_cost(p, length + PULSES * p->pgraph.pulse, &twice) || twice <= once)
        return 0;
    return (double) pulsed->multiply_adds * PULSES / (twice - once);
}

/* What model.conf says of the network's own lateness, which no node of the graph has. */
static double frames_besides(const rill_plan *p, uint32_t i, enum latency_what what)
{
    double late = p->model->outputs ? p->model->outputs[i].late_frames : 0;
    return what == LATENCY ? late : -late;
}

static double hop_of(const rill_plan *p, uint32_t i)
{
    return (double) p->pgraph.outputs[i].hop_num / (double) p->pgraph.outputs[i].hop_den;
}

static bool output_latency(const rill_plan *p, uint32_t i, enum latency_what what, struct arena *a,
                           struct latency *ret)
{
    rill_error err;
    return p->symbol && !p->model->compiled && p->pgraph.outputs[i].axis >= 0 &&
        latency_of(&p->pgraph, &p->model->decluttered.g, i, what, a, ret, &err) == RILL_OK;
}

/* ---- text ---- */

static void number_print(bool with_sign, double x)
{
    printf(with_sign ? "%+g" : "%g", x);
}

static void amount_print(bool with_sign, double frames, double input_frames, double rate)
{
    number_print(with_sign, frames);
    printf(" frames, ");
    number_print(with_sign, input_frames);
    printf(" input frames");
    if (rate > 0) {
        printf(", ");
        number_print(with_sign, 1e3 * input_frames / rate);
        printf(" ms");
    }
}

static const char *const what_names[] = { [LATENCY] = "latency", [LATENCY_OFFSET] = "offset" };

/* The least delays of all outputs, for free() by the caller; NULL: not known. */
static int64_t *bounds_find(const rill_plan *p)
{
    rill_error err;
    int64_t *least = malloc((p->n_ports + 1) * sizeof *least);
    if (least && p->symbol && !p->model->compiled &&
        delay_bounds(&p->pgraph, &p->model->decluttered.g, least, &err) == RILL_OK)
        return least;
    free(least);
    return NULL;
}

/* Frames that output i comes later than it must. */
static int64_t needless(const rill_plan *p, uint32_t i, const int64_t *least)
{
    return p->pgraph.outputs[i].delay - least[i];
}

static void bound_print(const rill_plan *p, uint32_t i, const int64_t *least,
                        const struct latency *l, double rate)
{
    int64_t more = needless(p, i, least);
    double besides = frames_besides(p, i, LATENCY), hop = hop_of(p, i);
    printf("    lower bound: ");
    amount_print(false, (double) (l->frames - more) + besides,
                 l->input_frames + (besides - (double) more) * hop, rate);
    if (more > 0)
        printf(", reached but for %lld frames\n", (long long) more);
    else
        printf(", reached\n");
}

static void output_print(const rill_plan *p, uint32_t i, enum latency_what what,
                         const int64_t *least, double rate)
{
    struct arena a = { 0 };
    struct latency l;
    const double besides = frames_besides(p, i, what), hop = hop_of(p, i);
    if (output_latency(p, i, what, &a, &l)) {
        printf("  %s of '%s': ", what_names[what], output_port(p, i)->info.name);
        amount_print(false, (double) l.frames + besides, l.input_frames + besides * hop, rate);
        printf("\n");
        for (unsigned k = 0; k < l.n_parts; k++) {
            printf("    ");
            amount_print(true, l.part[k].frames, l.part[k].input_frames, rate);
            printf("  %s (%s)\n", l.part[k].node->name, l.part[k].node->op->name);
        }
        if (besides != 0) {
            printf("    ");
            amount_print(true, besides, besides * hop, rate);
            printf("  besides, by late_frames of model.conf\n");
        }
        if (what == LATENCY && least && least[i] >= 0)
            bound_print(p, i, least, &l, rate);
    }
    arena_drop(&a);
}

static void cost_print(const rill_plan *p, double rate)
{
    struct cost c;
    cost_of_graph(&p->settled.g, &c);
    double runs = rate / (double) p->pgraph.pulse;
    if (c.open && !c.multiply_adds) {
        printf("  multiply-adds: known as data comes\n");
        return;
    }
    printf("  multiply-adds: %s%llu a pulse", c.open ? "at least " : "",
           (unsigned long long) c.multiply_adds);
    if (rate > 0)
        printf(", %.6g million a second of audio", (double) c.multiply_adds * runs / 1e6);
    double ratio = overhead(p, &c);
    if (ratio > 0)
        printf(", %.3g times what the whole-sequence run does", ratio);
    printf("\n");
    for (unsigned i = 0; i < c.n_rows; i++) {
        printf("    %-14s %6llu nodes %14llu a pulse", c.row[i].op->name,
               (unsigned long long) c.row[i].nodes, (unsigned long long) c.row[i].multiply_adds);
        if (rate > 0)
            printf(", %.6g million a second", (double) c.row[i].multiply_adds * runs / 1e6);
        printf("\n");
    }
}

void latency_print(const rill_plan *p)
{
    double rate = input_rate(p);
    int64_t smallest = smallest_pulse(p);
    if (smallest)
        printf("  smallest legal pulse: %lld input frames; a pulse of %lld makes outputs up to "
               "%lld frames later than these:\n",
               (long long) smallest, (long long) p->pgraph.pulse, (long long) p->pgraph.pulse - 1);
    int64_t *least = bounds_find(p);
    for (uint32_t i = 0; i < p->n_ports - p->n_inputs; i++)
        for (enum latency_what what = LATENCY; what <= LATENCY_OFFSET; what++)
            output_print(p, i, what, least, rate);
    free(least);
    cost_print(p, rate);
}

/* ---- JSON ---- */

static json_t *amount_json(double frames, double input_frames, double rate)
{
    json_t *j = json_pack("{s:f, s:f}", "frames", frames, "input_frames", input_frames);
    if (rate > 0)
        json_object_set_new(j, "ms", json_real(1e3 * input_frames / rate));
    return j;
}

static json_t *output_json(const rill_plan *p, uint32_t i, enum latency_what what,
                           const int64_t *least, double rate)
{
    struct arena a = { 0 };
    struct latency l;
    json_t *j = NULL, *parts = json_array();
    const double besides = frames_besides(p, i, what), hop = hop_of(p, i);
    if (output_latency(p, i, what, &a, &l)) {
        j = amount_json((double) l.frames + besides, l.input_frames + besides * hop, rate);
        json_object_set_new(j, "output", json_string(output_port(p, i)->info.name));
        for (unsigned k = 0; k < l.n_parts; k++) {
            json_t *part = amount_json(l.part[k].frames, l.part[k].input_frames, rate);
            json_object_set_new(part, "node", json_string(l.part[k].node->name));
            json_object_set_new(part, "op", json_string(l.part[k].node->op->name));
            json_array_append_new(parts, part);
        }
        if (besides != 0)
            json_object_set_new(j, "late_frames", json_real(besides));
        if (what == LATENCY && least && least[i] >= 0)
            json_object_set_new(j, "needless_frames", json_integer(needless(p, i, least)));
        json_object_set(j, "parts", parts);
    }
    json_decref(parts);
    arena_drop(&a);
    return j;
}

static void cost_add_json(json_t *j, const rill_plan *p, double rate)
{
    struct cost c;
    json_t *ops = json_array();
    cost_of_graph(&p->settled.g, &c);
    for (unsigned i = 0; i < c.n_rows; i++)
        json_array_append_new(ops,
                              json_pack("{s:s, s:I, s:I}", "op", c.row[i].op->name, "nodes",
                                        (json_int_t) c.row[i].nodes, "a_pulse",
                                        (json_int_t) c.row[i].multiply_adds));
    json_t *all = json_pack("{s:I, s:b, s:o}", "a_pulse", (json_int_t) c.multiply_adds, "at_least",
                            c.open, "by_op", ops);
    if (rate > 0)
        json_object_set_new(all, "a_second",
                            json_real((double) c.multiply_adds * rate / (double) p->pgraph.pulse));
    double ratio = overhead(p, &c);
    if (ratio > 0)
        json_object_set_new(all, "of_whole_run", json_real(ratio));
    json_object_set_new(j, "multiply_adds", all);
}

void latency_add_json(json_t *j, const rill_plan *p)
{
    double rate = input_rate(p);
    int64_t smallest = smallest_pulse(p);
    int64_t *least = bounds_find(p);
    json_object_set_new(j, "smallest_pulse", smallest ? json_integer(smallest) : json_null());
    for (enum latency_what what = LATENCY; what <= LATENCY_OFFSET; what++) {
        json_t *list = json_array(), *o;
        for (uint32_t i = 0; i < p->n_ports - p->n_inputs; i++)
            if ((o = output_json(p, i, what, least, rate)))
                json_array_append_new(list, o);
        json_object_set_new(j, what_names[what], list);
    }
    free(least);
    cost_add_json(j, p, rate);
}
