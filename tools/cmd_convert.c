/* SPDX-License-Identifier: MIT */
/* rill convert: a model, loaded, decluttered or pulsed, written as a folder of NNEF or an ONNX
 * file. */
#include "engine/rewrite/declutter/declutter.h"
#include "engine/typing/typed.h"
#include "lib/pipeline.h"
#include "lib/typing.h"
#include "models/export/export.h"
#include "models/export/steps.h"
#include "tools/open.h"

#include <stdio.h>
#include <string.h>

/* What was written is opened once more. */
static rill_status convert_check(const char *to, rill_error *err)
{
    rill_model *again;
    rill_status s = rill_model_open(&again, to, err);
    if (s != RILL_OK)
        return err_prefix(err, s, "was written, but cannot be read again");
    rill_model_free(again);
    return RILL_OK;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/* A name that says another form than the one that is written. */
static bool names_other_form(const char *to)
{
    static const char *const ends[] = { ".tflite", ".rill",    ".tar.bz2", ".tbz2",
                                        ".tar.xz", ".tar.zst", ".zip",     ".7z" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(to, ends[i]))
            return true;
    return false;
}

static rill_status write(const struct graph *g, const char *to, rill_error *err)
{
    rill_status s =
        ends_with(to, ".onnx") ? graph_write_onnx(g, to, err) : graph_write_nnef(g, to, err);
    if (s == RILL_OK)
        s = convert_check(to, err);
    if (s == RILL_OK)
        printf("%s: %u nodes\n", to, graph_count_nodes(g));
    return s;
}

static void pulsed_print(const struct pgraph *p, const char *const *names)
{
    printf("pulse %lld", (long long) p->pulse);
    for (uint32_t i = 0; i < p->g.n_outputs; i++)
        if (p->outputs[i].axis >= 0)
            printf(", '%s' %lld frames, of which the first %lld in all come before the first",
                   names[i], (long long) p->outputs[i].pulse, (long long) p->outputs[i].delay);
    putchar('\n');
}

/* In a text nothing but names tells the ports of the stream from those of states. */
static rill_status steps_check(const struct pgraph *p, const char *const *names, rill_error *err)
{
    const struct graph *g = &p->g;
    for (uint32_t i = 0; i < g->n_inputs - p->has_clock; i++)
        for (uint32_t k = 0; k < g->n_outputs; k++) {
            const struct wire *in = &g->wires[g->inputs[i]], *out = &g->wires[g->outputs[k]];
            if (step_names_pair(in->name, names[k]) && fact_same(&in->fact, &out->fact))
                return err_set(err, RILL_UNSUPPORTED,
                               "input '%.80s' and output '%.80s' would be read as a state and its "
                               "next value: write a .onnx file, which says that they are none, or "
                               "call one otherwise",
                               in->name, names[k]);
        }
    return RILL_OK;
}

/* The pulsed graph as steps. */
static rill_status write_pulsed(rill_model *m, uint32_t pulse, const char *to, rill_error *err)
{
    rill_plan plan = { .model = m };
    struct pipeline w = { .model = m, .plan = &plan, .pulse_frames = pulse, .err = err };
    struct mgraph steps;
    struct tgraph typed;
    rill_status s = pipeline_run(&w, STAGE_DECLUTTERED, STAGE_PULSED);
    const struct steps_opts opts = { .output_names = plan.output_names,
                                     .standard = ends_with(to, ".onnx") };
    if (s == RILL_OK && !plan.pgraph.symbol)
        s = err_set(err, RILL_UNSUPPORTED,
                    "the model has no time axis: it is one step as it stands, which --stage typed "
                    "writes");
    if (s == RILL_OK && !opts.standard)
        s = steps_check(&plan.pgraph, plan.output_names, err);
    if (s == RILL_OK)
        s = mgraph_from_pgraph(&steps, &plan.pgraph, &opts, &plan.arena, err);
    if (s == RILL_OK)
        s = tgraph_from_mgraph(&typed, &steps, NULL, err);
    if (s == RILL_OK)
        s = write(&typed.g, to, err);
    if (s == RILL_OK)
        pulsed_print(&plan.pgraph, plan.output_names);
    arena_drop(&plan.arena);
    return s;
}

static const char *const stages[] = { "typed", "decluttered", "pulsed", NULL };
enum { TYPED, DECLUTTERED, PULSED, NO_STAGE };

/* Which is asked for; a pulse asks for the pulsed one. */
static int stage_find(const char *name, int64_t pulse)
{
    int k = TYPED;
    if (!name)
        return pulse ? PULSED : TYPED;
    while (stages[k] && strcmp(name, stages[k]) != 0)
        k++;
    return pulse && k != PULSED ? NO_STAGE : k;
}

/* Its own states become ports, or its frames and transforms ops of the standard. */
static rill_status write_lowered(const struct graph *g, const char *to, rill_error *err)
{
    struct arena a = { .limit_bytes = 0 };
    struct mgraph lowered;
    struct tgraph typed;
    rill_status s = g->n_states ? mgraph_from_states(&lowered, g, &a, err)
                                : mgraph_from_whole(&lowered, g, &a, err);
    if (s == RILL_OK)
        s = tgraph_from_mgraph(&typed, &lowered, NULL, err);
    if (s == RILL_OK)
        s = write(&typed.g, to, err);
    arena_drop(&a);
    return s;
}

static rill_status write_graph(const struct graph *g, const char *to, rill_error *err)
{
    const bool lowers = g->n_states || (ends_with(to, ".onnx") && graph_has_standard_form(g));
    return lowers ? write_lowered(g, to, err) : write(g, to, err);
}

/* With the axis of the batch as open as it was read. */
static rill_status write_batched(rill_model *m, int stage, const char *to, rill_error *err)
{
    struct tgraph typed;
    struct dgraph decluttered;
    TRY(model_type_batched(m, &typed, err));
    if (stage == TYPED)
        return write_graph(&typed.g, to, err);
    TRY(dgraph_from_tgraph(&decluttered, &typed, NULL, err));
    return write_graph(&decluttered.g, to, err);
}

/* why: what was in the way of an open axis. */
static void batch_tell(const struct dim *batch, const char *why)
{
    const char *name = dim_name(batch);
    fprintf(stderr, "rill: symbol '%s' is taken as 1, %s (--set %s=2 takes another number)\n", name,
            why, name);
}

/* As one recording. */
static rill_status write_single(rill_model *m, int stage, int64_t pulse, const char *to,
                                rill_error *err)
{
    return stage == PULSED ? write_pulsed(m, (uint32_t) pulse, to, err)
                           : write_graph(stage == TYPED ? &m->typed.g : &m->decluttered.g, to, err);
}

static rill_status write_stage(rill_model *m, int stage, int64_t pulse, const char *to,
                               rill_error *err)
{
    rill_error why = { .text = "as a stream has one recording" };
    const struct dim *single = m->batch ? m->batch : m->batch_of_windows;
    rill_status s =
        !m->batch || stage == PULSED ? RILL_UNSUPPORTED : write_batched(m, stage, to, &why);
    if (s != RILL_UNSUPPORTED) {
        *err = why;
        return s;
    }
    s = write_single(m, stage, pulse, to, err);
    if (s == RILL_OK && single)
        batch_tell(single, why.text);
    return s;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct open_opts oo = { .declares = true };
    rill_error err = { .text = "" };
    static const char *none[] = { "none", NULL };
    const char *stage_name = NULL;
    int64_t pulse = 0;
    rill_model *m;
    const struct opt table[] = {
        OPEN_OPTS(oo),
        { "stage", 0, OPT_TEXT, &stage_name, "STAGE", "typed (default), decluttered or pulsed" },
        { "pulse", 'p', OPT_INT, INT_FROM_TO(&pulse, 1, INT32_MAX), "N",
          "write the pulsed graph, for N input frames a run (default: as a stream chooses)" },
        { 0 }
    };
    int n = opts_parse(cmd, table, argc, argv, 2, 2);
    if (n < 0)
        return -n;
    const int stage = stage_find(stage_name, pulse);
    if (stage == NO_STAGE)
        return tool_fail(cmd, TOOL_USAGE,
                         "--stage is typed, decluttered or pulsed, and --pulse a number of input "
                         "frames of a pulsed one");
    if (!oo.states.n) /* states that are found by name would be none of the file's ports any more */
        oo.states = (struct opt_list) { none, 1 };
    if (names_other_form(argv[1]))
        return tool_fail(cmd, TOOL_USAGE,
                         "'%s': rill convert writes a folder of NNEF, or a file that ends in .tgz, "
                         ".tar or .onnx",
                         argv[1]);
    if (open_uncompiled(&m, argv[0], &oo, &err) != RILL_OK)
        return tool_fail_status(cmd, &err);
    rill_status s = write_stage(m, stage, pulse, argv[1], &err);
    rill_model_free(m);
    return s == RILL_OK ? TOOL_OK : tool_fail_status(cmd, &err);
}

const struct command cmd_convert = {
    .name = "convert",
    .usage = "MODEL FOLDER|FILE.tgz|FILE.onnx [OPTIONS]",
    .summary = "write a model as NNEF (text, and a file for each tensor of weights) or ONNX",
    .details =
        "FOLDER is made, with graph.nnef and .dat files; a name that ends in .tgz or .tar becomes "
        "an archive of them, one that\n"
        "ends in .onnx an ONNX file. Each opens wherever a MODEL is asked for, with the same "
        "results to the bit. In the text,\n"
        "operators of the standard stand where they say all that the model does, and rill_op "
        "elsewhere (docs/nnef.md). What has\n"
        "no form is refused with the node and the reason. Inputs and outputs that carry states "
        "stay ports.\n"
        "A symbol that counts the batch stays open. Where what is written has no place for it, as "
        "a pulse "
        "has none, it is 1, which is\n"
        "told; --set batch=2 takes another number.\n"
        "A pulsed graph takes one pulse a run; what goes on from run to run becomes inputs "
        "cached_N and outputs new_cached_N, and\n"
        "the place in the stream one called clock (docs/nnef.md). Transforms and frames are ops of "
        "the standard in an ONNX file,\n"
        "whose sums come out the same within f32.",
    .run = run,
};
