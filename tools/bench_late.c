/* SPDX-License-Identifier: MIT */
#include "tools/bench_late.h"
#include "engine/late/op.h"
#include "tools/measure.h"
#include "tools/run.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNS_MAX 100000
#define RUNS_MIN 20

struct bench {
    struct late *late;
    const struct graph *g;
    struct arena arena;
    struct size_source *in;
    const struct tensor **out;
    double us[RUNS_MAX];
    size_t n_runs;
};

static rill_status inputs_make(struct bench *b, rill_error *err)
{
    struct run_inputs data = { .arena = &b->arena, .seed = 1, .steps = 1 };
    b->in = arena_array(&b->arena, struct size_source, b->g->n_inputs + 1u);
    b->out = arena_array(&b->arena, const struct tensor *, b->g->n_outputs + 1u);
    if (!b->in || !b->out)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (uint32_t i = 0; i < b->g->n_inputs; i++)
        TRY(run_input_at(&data, (struct graph *) (uintptr_t) b->g, i, 0, &b->arena, &b->in[i].t,
                         err));
    return RILL_OK;
}

static rill_status runs_make(struct bench *b, double seconds, rill_error *err)
{
    const double end = tool_now_s() + seconds;
    while (b->n_runs < RUNS_MAX && (b->n_runs < RUNS_MIN || tool_now_s() < end)) {
        for (uint32_t i = 0; i < b->g->n_inputs; i++)
            b->in[i].writes++;
        const double before = tool_now_s();
        TRY(late_run(b->late, b->in, b->out, err));
        b->us[b->n_runs++] = (tool_now_s() - before) * 1e6;
    }
    return RILL_OK;
}

static json_t *whole_inputs(const struct bench *b)
{
    json_t *ret = json_array();
    for (uint32_t i = 0; i < b->g->n_inputs; i++) {
        const struct wire *w = &b->g->wires[b->g->inputs[i]];
        if (!dtype_is_float(w->fact.type))
            json_array_append_new(ret, json_string(w->name));
    }
    return ret;
}

static void report(struct bench *b, const char *name, bool json)
{
    struct late_counts n;
    late_count(b->late, &n);
    qsort(b->us, b->n_runs, sizeof *b->us, tool_compare_f64);
    const double median = tool_percentile(b->us, b->n_runs, 0.5),
                 p99 = tool_percentile(b->us, b->n_runs, 0.99), worst = b->us[b->n_runs - 1];
    json_t *whole = whole_inputs(b);
    if (!json) {
        printf("%s: whole recordings, sizes that data decides, %s\n", name, late_isa(b->late));
        printf("  median %.1f us  p99 %.1f us  worst %.1f us  over %zu runs\n", median, p99, worst,
               b->n_runs);
        late_counts_print(&n);
        whole_inputs_print(whole);
        json_decref(whole);
        return;
    }
    json_t *j = json_pack("{s:s, s:s, s:f, s:f, s:f, s:I, s:o}", "model", name, "cpu",
                          late_isa(b->late), "median_us", median, "p99_us", p99, "worst_us", worst,
                          "runs", (json_int_t) b->n_runs, "whole_inputs", whole);
    late_counts_put(&n, j);
    json_dumpf(j, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(j);
}

rill_status bench_late(const rill_model *m, const char *name, double seconds, bool json,
                       rill_error *reterr)
{
    struct bench *b = tool_alloc(sizeof *b);
    b->g = &m->decluttered.g;
    b->late = late_of_graph(b->g);
    rill_status s = inputs_make(b, reterr);
    if (s == RILL_OK)
        s = runs_make(b, seconds, reterr);
    if (s == RILL_OK)
        report(b, name, json);
    arena_drop(&b->arena);
    free(b);
    return s;
}
