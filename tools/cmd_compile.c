/* SPDX-License-Identifier: MIT */
/* rill compile: a plan, packed and laid out, in a file that opens at once. */
#include "lib/plan_internal.h"
#include "tools/compile_c.h"
#include "tools/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct compile {
    rill_model *model;
    rill_plan *plan;
    rill_error err;
};

static int plan_make(const struct command *cmd, struct compile *c, const char *name,
                     const struct open_opts *oo, const rill_plan_opts *opts, rill_plan_info *ret)
{
    if (open_any(&c->model, name, oo, &c->err) != RILL_OK ||
        rill_plan_new(&c->plan, c->model, opts, &c->err) != RILL_OK)
        return tool_fail_status(cmd, &c->err);
    ret->struct_bytes = sizeof *ret;
    rill_plan_get_info(c->plan, ret);
    const char *longer = c->plan->pgraph.longer;
    if (opts->pulse_frames && ret->pulse_samples != opts->pulse_frames)
        return tool_fail(
            cmd, TOOL_USAGE,
            "'%s' cannot run in pulses of %u frames%s%s; the next longer that works is --pulse %u",
            name, opts->pulse_frames, longer ? ": " : "", longer ? longer : "", ret->pulse_samples);
    return TOOL_OK;
}

static int compile(const struct command *cmd, struct compile *c, const char *name,
                   const struct open_opts *oo, const rill_plan_opts *opts, const char *to)
{
    double start = tool_now_s();
    rill_plan_info info;
    int code = plan_make(cmd, c, name, oo, opts, &info);
    if (code != TOOL_OK)
        return code;
    double planned = tool_now_s();
    rill_model *again = NULL;
    rill_plan *copy = NULL;
    if (rill_plan_save(c->plan, to, &c->err) != RILL_OK)
        return tool_fail_status(cmd, &c->err);
    double saved = tool_now_s();
    /* What was written is opened once more: a file that cannot be used is not left behind. */
    rill_status s = rill_model_open(&again, to, &c->err);
    s = s == RILL_OK ? rill_plan_new(&copy, again, opts, &c->err) : s;
    double opened = tool_now_s();
    rill_plan_unref(copy);
    rill_model_free(again);
    if (s != RILL_OK) {
        remove(to);
        return tool_fail_status(cmd, &c->err);
    }
    struct stat st = { 0 };
    stat(to, &st);
    printf("%s: %lld bytes, for %s, pulses of %u frames\n  a stream has %llu bytes (state %llu), "
           "weights %llu bytes\n"
           "  %s opens and plans in %.2f ms, this file in %.2f ms\n",
           to, (long long) st.st_size, info.cpu, info.pulse_samples,
           (unsigned long long) info.stream_bytes, (unsigned long long) info.state_bytes,
           (unsigned long long) info.weights_bytes, name, 1e3 * (planned - start),
           1e3 * (opened - saved));
    return TOOL_OK;
}

/* ---- as C ---- */

/* The bytes of the plan's compiled file, at a multiple of 64; NULL: *err says why. */
static unsigned char *bytes_make(const rill_plan *p, const char *beside, size_t *ret_n,
                                 rill_error *err)
{
    char path[4200];
    struct stat st;
    unsigned char *bytes = NULL;
    snprintf(path, sizeof path, "%.4096s.%ld.rill", beside, (long) getpid());
    if (rill_plan_save(p, path, err) != RILL_OK)
        return NULL;
    FILE *f = fopen(path, "rb");
    if (f && fstat(fileno(f), &st) == 0)
        bytes = aligned_alloc(64, ((size_t) st.st_size + 63) & ~(size_t) 63);
    if (!bytes || fread(bytes, 1, (size_t) st.st_size, f) != (size_t) st.st_size) {
        err->status = RILL_IO;
        snprintf(err->text, sizeof err->text, "%.200s cannot be read again", path);
        free(bytes);
        bytes = NULL;
    }
    if (f)
        fclose(f);
    remove(path);
    *ret_n = bytes ? (size_t) st.st_size : 0;
    return bytes;
}

static int compile_c(const struct command *cmd, struct compile *c, const char *name,
                     const struct open_opts *oo, const rill_plan_opts *opts, const char *to)
{
    rill_model *again = NULL;
    rill_plan *copy = NULL;
    rill_plan_info info;
    char called[COMPILE_C_NAME_BYTES];
    size_t n;
    int code = plan_make(cmd, c, name, oo, opts, &info);
    if (code != TOOL_OK)
        return code;
    unsigned char *bytes = bytes_make(c->plan, to, &n, &c->err);
    /* What cannot be opened and planned from memory is not written. */
    bool good = bytes && rill_model_compiled(&again, bytes, n, name, &c->err) == RILL_OK &&
        rill_plan_new(&copy, again, opts, &c->err) == RILL_OK &&
        compile_c_write(to, c->plan, bytes, n, &c->err) == RILL_OK;
    rill_plan_unref(copy);
    rill_model_free(again);
    free(bytes);
    if (!good)
        return tool_fail_status(cmd, &c->err);
    compile_c_name(to, called);
    printf("%s: %s_open, %zu bytes of a plan for %s; link it with librill-linked.a\n", to, called,
           n, c->plan->plan->kern.isa);
    return TOOL_OK;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    bool as_c = false;
    struct open_opts oo = { .declares = true };
    struct compile c = { 0 };
    const char *to = NULL;
    int64_t pulse = 0, budget = 0;
    const struct opt table[] = {
        BUDGET_OPTS(budget, oo),
        { "c", 0, OPT_FLAG, &as_c, NULL,
          "write C, which a program without files is linked with (librill-linked.a)" },
        { "output", 'o', OPT_TEXT, &to, "FILE.rill",
          "where to write; takes the place of a file that is there" },
        { "pulse", 'p', OPT_INT, INT_FROM_TO(&pulse, 1, INT32_MAX), "N",
          "input frames a pulse (default: chosen by cost, see --budget and --latency)" },
        OPEN_OPTS(oo),
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, 1);
    if (n < 0)
        return -n;
    if (!to || !*to)
        return tool_fail(cmd, TOOL_USAGE, "usage: rill compile %s", cmd->usage);
    const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                  .pulse_frames = (uint32_t) pulse,
                                  .budget_ms = (uint32_t) budget };
    int code = (as_c ? compile_c : compile)(cmd, &c, argv[0], &oo, &opts, to);
    rill_plan_unref(c.plan);
    rill_model_free(c.model);
    return code;
}

const struct command cmd_compile = {
    .name = "compile",
    .usage = "MODEL -o FILE.rill [--c] [--pulse N] [OPTIONS]",
    .summary = "write a model, planned and packed for this machine, to a file that opens at once",
    .details = "FILE.rill can stand wherever a MODEL is asked for. It is for this instruction set "
               "(RILL_CPU is obeyed), this\n"
               "pulse and this build of rill; elsewhere it is refused, and the text says what to "
               "do: compile it again. Its\n"
               "weights are mapped and shared by all processes that have it open: replace it as "
               "this command does, by a new\n"
               "file of the same name, never write over it.",
    .run = run,
};
