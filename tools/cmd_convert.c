/* SPDX-License-Identifier: MIT */
/* rill convert: a loaded model, written as a folder of NNEF or an ONNX file. */
#include "lib/model.h"
#include "models/export/export.h"
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
    static const char *const ends[] = { ".tflite", ".rill" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(to, ends[i]))
            return true;
    return false;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct open_opts oo = { .declares = true };
    rill_error err = { .text = "" };
    static const char *none[] = { "none", NULL };
    rill_model *m;
    const struct opt table[] = { OPEN_OPTS(oo), { 0 } };
    int n = opts_parse(cmd, table, argc, argv, 2, 2);
    if (n < 0)
        return -n;
    if (!oo.states.n) /* states that are found by name would be none of the file's ports any more */
        oo.states = (struct opt_list) { none, 1 };
    if (names_other_form(argv[1]))
        return tool_fail(cmd, TOOL_USAGE,
                         "'%s': rill convert writes a folder of NNEF, or a file that ends in .tgz, "
                         ".tar or .onnx",
                         argv[1]);
    if (open_uncompiled(&m, argv[0], &oo, &err) != RILL_OK)
        return tool_fail_status(cmd, &err);
    const struct graph *g = &m->typed.g;
    rill_status s = ends_with(argv[1], ".onnx") ? graph_write_onnx(g, argv[1], &err)
                                                : graph_write_nnef(g, argv[1], &err);
    const unsigned n_nodes = graph_count_nodes(g);
    rill_model_free(m);
    if (s == RILL_OK)
        s = convert_check(argv[1], &err);
    if (s == RILL_OK)
        printf("%s: %u nodes\n", argv[1], n_nodes);
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
        "stay ports.",
    .run = run,
};
