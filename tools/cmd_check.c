/* SPDX-License-Identifier: MIT */
/* rill check: what a model gives pulse by pulse is what it gives at once. */
#include "check/counts.h"
#include "check/law.h"
#include "engine/base/dim_claims.h"
#include "lib/plan_internal.h"
#include "tools/audio.h"
#include "check/events.h"
#include "tools/open.h"

#include <math.h>
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
    struct law_output *output; /* over all runs */
    unsigned n_outputs;
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
    for (const char *at = text;; at = end + 1) {
        long long v = strtoll(at, &end, 10);
        if (end == at || v < least || v > INT32_MAX || (*end && *end != ',') ||
            !list_add(list, n, v))
            return false;
        if (!*end)
            return true;
    }
}

static int length_order(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
    return (x > y) - (x < y);
}

/* The first claim of that kind that does not hold of the length; NULL: none. */
static const char *broken_of(const struct check *c, enum dim_claim_kind kind, int64_t length)
{
    const struct dim *ge0;
    const char *text;
    int64_t v;
    for (unsigned i = 0; c->model->stream && (text = dims_claim_at(c->model->dims, i, &ge0)); i++)
        if (dims_claim_kind(c->model->dims, i) == kind &&
            dim_eval(ge0, c->model->stream, length, &v) && v < 0)
            return text;
    return NULL;
}

/* All that is asserted, or needed, is so of that length, but what a window needs of one shorter
 * than `least`. */
static bool claims_hold(const struct check *c, int64_t length, int64_t least)
{
    for (int kind = 0; kind < DIM_CLAIM_KINDS; kind++)
        if ((kind != DIM_CLAIM_WINDOW || length >= least) &&
            broken_of(c, (enum dim_claim_kind) kind, length))
            return false;
    return true;
}

/* The shortest length of which every output has a frame; -1: none of a moderate length. */
static int64_t least_length(const rill_plan *p)
{
    for (int64_t length = 0; length < 1 << 20; length++) {
        bool all = true;
        for (uint32_t i = 0; all && i < p->n_ports - p->n_inputs; i++) {
            const struct dim *d = p->pgraph.outputs[i].length;
            int64_t frames;
            all = p->pgraph.outputs[i].axis < 0 ||
                (dim_eval(d, p->symbol, length, &frames) && frames > 0);
        }
        if (all)
            return length;
    }
    return -1;
}

/* Pulses and lengths that are not stated: the smallest legal pulse and larger ones; nothing, less
 * than a pulse, a pulse, no multiple of it, and enough for everything to come out of every
 * delay. */
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
    int64_t least = least_length(p);
    rill_plan_unref(p);
    const int64_t pulses[] = { pulse, 2 * pulse, 3 * pulse + 1, 8 * pulse };
    const int64_t lengths[] = { 0,
                                1,
                                pulse - 1,
                                pulse,
                                3 * pulse + pulse / 2,
                                late + 1,
                                least,
                                least + 1,
                                2 * late + 19 * pulse + 5 };
    for (size_t i = 0; !c->n_pulses && i < sizeof pulses / sizeof *pulses; i++)
        c->pulse[i] = pulses[i];
    c->n_pulses = c->n_pulses ? c->n_pulses : sizeof pulses / sizeof *pulses;
    if (!c->n_lengths)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            if (lengths[i] >= 0 && claims_hold(c, lengths[i], least))
                list_add(c->length, &c->n_lengths, lengths[i]);
    qsort(c->length, c->n_lengths, sizeof *c->length, length_order);
    return RILL_OK;
}

static void outputs_add(struct check *c, const struct law_result *r)
{
    for (unsigned i = 0; i < r->n_outputs; i++) {
        struct law_output *o = &c->output[i];
        bool first = i >= c->n_outputs;
        const struct law_output *now = &c->opts.outputs[i];
        o->name = now->name;
        o->same_bits = (first || o->same_bits) && now->same_bits;
        o->most = !first && o->most > now->most ? o->most : now->most;
        c->n_outputs += first;
    }
}

static void length_check(struct check *c, int64_t pulse, int64_t length)
{
    const char *needs = broken_of(c, DIM_CLAIM_STREAMS, length);
    struct law_result r;
    rill_error err = { .text = "" };
    if (needs && !broken_of(c, DIM_CLAIM_NEEDED, length) &&
        !broken_of(c, DIM_CLAIM_WINDOW, length)) {
        c->skipped++;
        printf("  pulse %-6lld length %-8lld skipped: a stream needs '%s', a whole run does not\n",
               (long long) pulse, (long long) length, needs);
        return;
    }
    c->opts.pulse = pulse;
    c->opts.length = length;
    rill_status s = law_check(c->model, &c->opts, &r, &err);
    if (s != RILL_OK) {
        *(r.pulse ? &c->skipped : &c->failed) += 1;
        printf("  pulse %-6lld length %-8lld %s: %s\n", (long long) pulse, (long long) length,
               r.pulse ? "skipped" : "FAIL", err.text);
        return;
    }
    *(r.holds ? &c->passed : &c->failed) += 1;
    outputs_add(c, &r);
    printf("  pulse %-6lld length %-8lld ", (long long) r.pulse, (long long) length);
    if (!r.holds)
        printf("FAIL: %s\n", r.where);
    else if (r.faults)
        printf("ok: the whole run stops, and so does the stream: %s\n", err.text);
    else if (r.no_whole)
        printf("ok: too short for a frame, and none comes\n");
    else
        printf("ok: %u nodes' outputs, outputs differ by %g%s\n", r.n_wires, r.most,
               r.same_bits ? ", same bits" : "");
}

static int totals_print(const struct check *c)
{
    for (unsigned i = 0; i < c->n_outputs; i++)
        printf("  output '%s': largest difference %g%s\n", c->output[i].name, c->output[i].most,
               c->output[i].same_bits ? ", all bits the same" : "");
    printf("%u passed, %u failed", c->passed, c->failed);
    if (c->skipped)
        printf(", %u skipped", c->skipped);
    printf("\n");
    return c->failed || !c->passed ? TOOL_FAILED : TOOL_OK;
}

static int refused(struct check *c, const char *name, const char *why)
{
    printf("%s\n  cannot stream: %s\n", name, why);
    c->failed = 1;
    return totals_print(c);
}

static void sinks_check(struct check *c)
{
    struct events_check e = { .model = c->model,
                              .pulse = c->pulse,
                              .n_pulses = c->n_pulses,
                              .samples = c->opts.samples,
                              .n_samples = (size_t) c->length[0],
                              .seed = c->opts.seed };
    rill_error err = { .text = "" };
    bool same = false;
    rill_status s = events_check(&e, &same, &err);
    *(s == RILL_OK && same ? &c->passed : &c->failed) += 1;
    if (s == RILL_OK && same)
        printf("  events: %u, the same for every pulse and in any cut\n", e.n_events);
    else
        printf("  events: FAIL: %s\n", s == RILL_OK ? e.where : err.text);
}

/* Lengths without a whole run are tried, and skipped, and so are those without a stream. */
static int lengths_check(const struct check *c)
{
    for (unsigned i = 0; i < c->n_lengths; i++) {
        const char *broken = broken_of(c, DIM_CLAIM_ASSERTED, c->length[i]);
        if (broken && !broken_of(c, DIM_CLAIM_NEEDED, c->length[i]) &&
            !broken_of(c, DIM_CLAIM_WINDOW, c->length[i]))
            return tool_fail(c->cmd, TOOL_BAD_INPUT,
                             "'%s' is asserted, but does not hold of length %lld", broken,
                             (long long) c->length[i]);
    }
    return TOOL_OK;
}

static int check_run(struct check *c, const char *name)
{
    rill_error err;
    if ((!c->model->stream && pgraph_no_time(&c->model->decluttered, &err) != RILL_OK) ||
        defaults_choose(c, &err) != RILL_OK)
        return refused(c, name, err.text);
    printf("%s\n", name);
    if (counts_print(stdout, c->model, &err) != RILL_OK)
        return refused(c, name, err.text);
    for (unsigned i = 0; i < c->n_pulses; i++)
        for (unsigned k = 0; k < c->n_lengths; k++)
            length_check(c, c->pulse[i], c->length[k]);
    if (events_there(c->model))
        sinks_check(c);
    return totals_print(c);
}

static int samples_read(struct check *c, const char *path, float **ret)
{
    size_t n;
    int rate;
    rill_error err;
    rill_model_info info = { .struct_bytes = sizeof info };
    rill_model_get_info(c->model, &info);
    const struct fact *f = &c->model->decluttered.g.wires[c->model->decluttered.g.inputs[0]].fact;
    for (int i = 0; i < f->rank; i++)
        if (!dim_is(f->shape[i], 1) && f->shape[i] != c->model->stream)
            return tool_fail(
                c->cmd, TOOL_BAD_INPUT,
                "the model's first input is not one sample a frame: it takes no recording");
    if (audio_read(path, info.sample_rate, ret, &n, &rate, &err) != RILL_OK)
        return tool_fail_status(c->cmd, &err);
    for (size_t i = 0; i < n; i++) /* as a stream takes them */
        if (!(fabsf((*ret)[i]) < 0x1p32f))
            (*ret)[i] = 0;
    c->opts.samples = *ret;
    c->length[0] = (int64_t) n;
    c->n_lengths = 1;
    return TOOL_OK;
}

static int run(const struct command *cmd, int argc, char **argv)
{
    struct check c = { .cmd = cmd };
    struct open_opts oo = { .declares = true };
    const char *pulses = NULL, *lengths = NULL;
    int64_t seed = 1;
    double tolerance = 1e-5;
    bool no_scan_reuse = false;
    const struct opt table[] = {
        OPEN_OPTS(oo),
        { "length", 'l', OPT_TEXT, &lengths, "A,B,..",
          "input frames in all (default: 0, 1, short, odd and long ones)" },
        { "no-scan-reuse", 0, OPT_FLAG, &no_scan_reuse, NULL,
          "look up sizes and places in every iteration of a loop" },
        { "pulse", 'p', OPT_TEXT, &pulses, "A,B,..",
          "input frames a pulse (default: the smallest, 2, 3 and 8 times that)" },
        { "seed", 0, OPT_INT, INT_FROM_TO(&seed, 0, UINT32_MAX), "N",
          "of the noise and of the cuts (default 1)" },
        { "tolerance", 0, OPT_REAL, REAL_FROM_TO(&tolerance, 0, 1e6), "X",
          "largest difference, relative to the wire's largest (default 1e-5)" },
        { 0 },
    };
    int n = opts_parse(cmd, table, argc, argv, 1, 2);
    if (n < 0)
        return -n;
    if ((pulses && !list_parse(pulses, 1, c.pulse, &c.n_pulses)) ||
        (lengths && !list_parse(lengths, 0, c.length, &c.n_lengths)))
        return tool_fail(cmd, TOOL_USAGE,
                         "pulses and lengths are lists of at most %d numbers, as in 1,8,24",
                         LIST_MAX);
    rill_error err;
    float *samples = NULL;
    c.opts.seed = (uint32_t) seed;
    c.opts.tolerance = tolerance;
    c.opts.slow_loops = no_scan_reuse;
    if (open_uncompiled(&c.model, argv[0], &oo, &err) != RILL_OK)
        return tool_fail_status(cmd, &err);
    const size_t n_outputs = c.model->decluttered.g.n_outputs + 1;
    c.opts.outputs = tool_alloc(n_outputs * sizeof *c.output);
    c.output = tool_alloc(n_outputs * sizeof *c.output);
    int code = n > 1 ? samples_read(&c, argv[1], &samples) : TOOL_OK;
    code = code == TOOL_OK ? lengths_check(&c) : code;
    if (code == TOOL_OK)
        code = check_run(&c, argv[0]);
    free(samples);
    free(c.output);
    free(c.opts.outputs);
    rill_model_free(c.model);
    return code;
}

const struct command cmd_check = {
    .name = "check",
    .usage = "[OPTIONS] MODEL [IN.wav]",
    .summary = "compare a model's stream with its whole-sequence run, node by node",
    .details = "Runs the whole-sequence graph on noise (or on IN.wav) and the pulsed graph on the "
               "same frames, with NaN after\n"
               "the end and the length told late, and compares every node; then the stream itself "
               "in random cuts, with a\n"
               "snapshot and a reset. The first node that differs is named. Words, keywords and "
               "edges of speech, where the model\n"
               "has them, must be the same for every pulse and in any cut.",
    .run = run,
};
