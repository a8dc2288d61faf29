/* SPDX-License-Identifier: MIT */
/* rill check: what a model gives pulse by pulse is what it gives at once. */
#include "pulse/law.h"
#include "pulse/plan_internal.h"
#include "tools/audio.h"
#include "tools/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 16

struct check {
    const struct command *cmd;
    rill_model *model;
    int64_t pulse[LIST_MAX], length[LIST_MAX];
    unsigned n_pulses, n_lengths;
    struct law_opts opts;
    unsigned passed, failed, skipped;
    double most;
    bool same_bits;
};

static bool list_add(int64_t *list, unsigned *n, int64_t v)
{
    for (unsigned i = 0; i < *n; i++)
        if (list[i] == v)
            return true;
    if (*n == LIST_MAX)
        return false;
    list[(*n)++] = v;
    return true;
}

/* "1,8,24" */
static bool list_parse(const char *text, int64_t least, int64_t *list, unsigned *n)
{
    char *end;
    for (const char *at = text; ; at = end + 1) {
        long long v = strtoll(at, &end, 10);
        if (end == at || v < least || v > INT32_MAX || (*end && *end != ',') || !list_add(list, n, v))
            return false;
        if (!*end)
            return true;
    }
}

/* Pulses and lengths that are not stated: the smallest legal pulse and larger ones; nothing, less than a pulse, a pulse,
 * no multiple of it, and enough for everything to come out of every delay. */
static rill_status defaults_choose(struct check *c, rill_error *err)
{
    rill_plan *p;
    TRY(rill_plan_new(&p, c->model, NULL, err));
    int64_t pulse = p->pgraph.pulse, late = 0;
    for (uint32_t i = p->n_inputs; i < p->n_ports; i++) {
        const struct stream_fact *s = &p->pgraph.outputs[i - p->n_inputs];
        int64_t frames = s->axis < 0 ? 0 : s->delay * s->hop_num / s->hop_den;
        late = frames > late ? frames : late;
    }
    rill_plan_unref(p);
    const int64_t pulses[] = { pulse, 2 * pulse, 3 * pulse + 1, 8 * pulse };
    const int64_t lengths[] = { 0, 1, pulse - 1, pulse, 3 * pulse + pulse / 2, late + 1, 2 * late + 19 * pulse + 5 };
    for (size_t i = 0; !c->n_pulses && i < sizeof pulses / sizeof *pulses; i++)
        c->pulse[i] = pulses[i];
    c->n_pulses = c->n_pulses ? c->n_pulses : sizeof pulses / sizeof *pulses;
    if (!c->n_lengths)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            list_add(c->length, &c->n_lengths, lengths[i]);
    return RILL_OK;
}

static void length_check(struct check *c, int64_t pulse, int64_t length)
{
    struct law_result r;
    rill_error err = { .text = "" };
    c->opts.pulse = pulse;
    c->opts.length = length;
    rill_status s = law_check(c->model, &c->opts, &r, &err);
    if (s != RILL_OK) {
        c->skipped++;
        printf("  pulse %-6lld length %-8lld skipped: %s\n", (long long) pulse, (long long) length, err.text);
        return;
    }
    *(r.holds ? &c->passed : &c->failed) += 1;
    c->most = r.most > c->most ? r.most : c->most;
    c->same_bits &= r.same_bits && r.holds;
    printf("  pulse %-6lld length %-8lld %s: %u wires, outputs differ by %g%s%s%s\n", (long long) r.pulse,
           (long long) length, r.holds ? "ok" : "FAIL", r.n_wires, r.most, r.same_bits ? ", same bits" : "",
           r.holds ? "" : "\n    ", r.where);
}

static int check_run(struct check *c, const char *name)
{
    rill_error err;
    if (!c->model->stream)
        return tool_fail(c->cmd, TOOL_BAD_INPUT, "%s has no time axis: no size of its inputs is a symbol", name);
    if (defaults_choose(c, &err) != RILL_OK)
        return tool_fail_status(c->cmd, &err);
    printf("%s\n", name);
    for (unsigned i = 0; i < c->n_pulses; i++)
        for (unsigned k = 0; k < c->n_lengths; k++)
            length_check(c, c->pulse[i], c->length[k]);
    printf("largest difference of an output: %g%s\n%u passed, %u failed, %u skipped\n", c->most,
           c->same_bits ? ", all bits the same" : "", c->passed, c->failed, c->skipped);
    return c->failed || !c->passed ? TOOL_FAILED : TOOL_OK;
}

static int samples_read(struct check *c, const char *path, float **ret)
{
    size_t n;
    int rate;
    rill_error err;
    rill_model_info info;
    rill_model_get_info(c->model, &info);
    if (audio_read(path, info.sample_rate, ret, &n, &rate, &err) != RILL_OK)
        return tool_fail_status(c->cmd, &err);
    c->opts.samples = *ret;
    c->length[0] = (int64_t) n;
    c->n_lengths = 1;
    return TOOL_OK;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct check c = { .cmd = cmd, .same_bits = true };
    struct open_opts oo = { 0 };
    const char *pulses = NULL, *lengths = NULL;
    int64_t seed = 1;
    double tolerance = 1e-5;
    const struct opt table[] = {
        OPEN_OPTS(oo),
        { "length", 'l', OPT_TEXT, &lengths, "A,B,..", "input frames in all (default: 0, 1, short, odd and long ones)" },
        { "pulse", 'p', OPT_TEXT, &pulses, "A,B,..", "input frames a pulse (default: the smallest, 2, 3 and 8 times that)" },
        { "seed", 0, OPT_INT, &seed, "N", "of the noise and of the cuts (default 1)" },
        { "tolerance", 0, OPT_REAL, &tolerance, "X", "largest difference, relative to the wire's largest (default 1e-5)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, 2);
    if (n < 0)
        return -n;
    if ((pulses && !list_parse(pulses, 1, c.pulse, &c.n_pulses)) || (lengths && !list_parse(lengths, 0, c.length, &c.n_lengths)))
        return tool_fail(cmd, TOOL_USAGE, "pulses and lengths are lists of at most %d numbers, as in 1,8,24", LIST_MAX);
    rill_error err;
    float *samples = NULL;
    c.opts.seed = (uint32_t) seed;
    c.opts.tolerance = tolerance;
    if (open_any(&c.model, argv[0], &oo, &err) != RILL_OK)
        return tool_fail_status(cmd, &err);
    int code = n > 1 ? samples_read(&c, argv[1], &samples) : TOOL_OK;
    if (code == TOOL_OK)
        code = check_run(&c, argv[0]);
    free(samples);
    rill_model_free(c.model);
    return code;
}

const struct command cmd_check = {
    .name = "check",
    .usage = "[OPTIONS] MODEL [IN.wav]",
    .summary = "compare a model's stream with its whole-sequence run, node by node",
    .details = "Runs the whole-sequence graph on noise (or on IN.wav) and the pulsed graph on the same frames, with NaN after\n"
               "the end and the length told late, and compares every node; then the stream itself in random cuts, with a\n"
               "snapshot and a reset. The first node that differs is named.",
    .run = run,
};
