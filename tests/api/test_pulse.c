/* SPDX-License-Identifier: MIT */
/* The pulse of a plan that is asked for none: cheap by the frame, and no longer than the budget. */
#include "tests/check.h"

#include <rill.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/rill-pulse-XXXXXX";

static void file_write(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

/* A model of one audio input at `rate` (0: not stated) and the statements `body`, whose model.conf
 * has `lines` under [model]. */
static rill_model *model_with(unsigned rate, const char *lines, const char *body)
{
    char text[4096];
    rill_model *m = NULL;
    rill_error err = { 0 };
    char sampled[32] = "";
    if (rate)
        snprintf(sampled, sizeof sampled, "sample_rate = %u\n", rate);
    snprintf(text, sizeof text, "[model]\ntask = denoise\n%s%s\n%s", sampled, lines,
             rate ? "[input.x]\nkind = audio\n" : "");
    file_write("model.conf", text);
    snprintf(text, sizeof text,
             "version 1.0;\ngraph g(x) -> (y)\n{\n    x = external<scalar>(shape = [S]);\n%s}\n",
             body);
    file_write("graph.nnef", text);
    if (rill_model_open(&m, dir, &err) != RILL_OK)
        printf("%s\n", err.text);
    check(m != NULL, body, rate);
    return m;
}

/* Of one that says budget_ms (0: does not). */
static rill_model *model_of(unsigned rate, unsigned budget_ms, const char *body)
{
    char budget[32] = "";
    if (budget_ms)
        snprintf(budget, sizeof budget, "budget_ms = %u", budget_ms);
    return model_with(rate, budget, body);
}

static uint32_t pulse_of(const rill_model *m, uint32_t asked, uint32_t budget_ms)
{
    rill_plan *p;
    rill_error err = { 0 };
    rill_plan_info info = { .struct_bytes = sizeof info };
    const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                  .pulse_frames = asked,
                                  .budget_ms = budget_ms };
    if (m && rill_plan_new(&p, m, &opts, &err) == RILL_OK) {
        rill_plan_get_info(p, &info);
        rill_plan_unref(p);
    }
    return info.pulse_samples;
}

/* One channel to one: a product of one number a frame, which leaves the lanes empty. */
#define FIR                                                                                        \
    "    w = constant(shape = [1, 1, 801], value = [0.5]);\n"                                      \
    "    y = conv(unsqueeze(x, axes = [0, 1]), w, 0.0, padding = [(400, 400)]);\n"
#define FRAMES(size) "    y = rill_frame(x, size = " size ", hop = " size ");\n"

static void test_choice(void)
{
    static const struct {
        uint32_t rate, conf_ms, asked, budget_ms, least, most;
    } cases[] = {
        { 16000, 0, 0, 0, 32, 320 }, /* not one at a time, not longer than 20 ms */
        { 48000, 0, 0, 0, 32, 960 },
        { 16000, 0, 0, 1, 8, 16 },    /* a millisecond, as far as doubles go */
        { 16000, 1, 0, 0, 8, 16 },    /* so model.conf */
        { 16000, 1, 0, 20, 32, 320 }, /* who asks goes before it */
        { 16000, 0, 0, 1000, 32, 16000 },
        { 16000, 0, 1, 0, 1, 1 }, /* who asks gets it */
        { 16000, 0, 7, 0, 7, 7 },
        { 0, 0, 0, 0, 1, 1 }, /* no rate, no milliseconds */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_model *m = model_of(cases[i].rate, cases[i].conf_ms, FIR);
        uint32_t pulse = pulse_of(m, cases[i].asked, cases[i].budget_ms);
        check(pulse >= cases[i].least && pulse <= cases[i].most, "pulse", pulse);
        rill_model_free(m);
    }
}

/* The output of the convolution is 400 frames late, which its pulse comes on top of. */
static void test_latency(void)
{
    static const struct {
        const char *conf;
        uint32_t least, most; /* 0: refused */
    } cases[] = {
        { "latency_ms = 40\npulse = auto", 32, 241 },
        { "latency_ms = 26", 8, 17 },
        { "latency_ms = 25", 1, 1 },
        { "latency_ms = 20", 0, 0 },
        { "pulse = 48", 48, 48 },
        { "latency_ms = 45\n[output.y]\nlate_frames = 80", 32, 241 }, /* which the graph hides */
        { "latency_ms = 31\n[output.y]\nlate_frames = 80", 8, 17 },
        { "latency_ms = 29\n[output.y]\nlate_frames = 80", 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_model *m = model_with(16000, cases[i].conf, FIR);
        uint32_t pulse = pulse_of(m, 0, 0);
        check(pulse >= cases[i].least && pulse <= cases[i].most, cases[i].conf, pulse);
        rill_model_free(m);
    }
}

/* What is longer than the budget already stays as short as it can be. */
static void test_long(void)
{
    rill_model *m = model_of(16000, 0, FRAMES("512"));
    check(pulse_of(m, 0, 0) == 512, "longer than 20 ms", pulse_of(m, 0, 0));
    rill_model_free(m);
    m = model_of(16000, 0, FRAMES("256"));
    check(pulse_of(m, 0, 0) == 256, "its double is longer than 20 ms", pulse_of(m, 0, 0));
    rill_model_free(m);
}

int main(void)
{
    check(mkdtemp(dir) != NULL, dir, 0);
    test_choice();
    test_latency();
    test_long();
    char path[64];
    snprintf(path, sizeof path, "%s/model.conf", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/graph.nnef", dir);
    unlink(path);
    rmdir(dir);
    return check_done();
}
