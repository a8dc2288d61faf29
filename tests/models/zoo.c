/* SPDX-License-Identifier: MIT */
/* Whole-sequence nets of known shapes: each streams, obeys the law at several pulses, is as late as its shape says and
 * gives what ONNX Runtime gave for the whole sequence. */
#include "engine/model.h"
#include "pulse/law.h"
#include "pulse/plan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUTS_MAX 4

struct net {
    const char *name;
    int pulse;                      /* asked for */
    int delay;                      /* of the first output in its frames, at that pulse */
    int length[2];                  /* of the stored references */
    const char *output[OUTPUTS_MAX];
};

static const struct net nets[] = {
    { "wavenet", 8, 182, { 220, 301 }, { "posteriors" } },
    { "tdnn_lstm", 24, 6, { 40, 121 }, { "logits" } },
    { "gtcrn", 1, 0, { 17, 40 }, { "out" } },
    { "dualpath", 1, 0, { 11, 32 }, { "out" } },
    { "dfn3", 1, 2, { 16, 37 }, { "gain", "taps" } },
    { "conformer", 16, 0, { 60, 133 }, { "logits" } },
};

static unsigned passed, failed;

#define CHECK(cond, ...) do { if (cond) passed++; else { failed++; printf("FAILED " __VA_ARGS__); printf("\n"); } } while (0)

static const char *net_path(const struct net *n, const char *file)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/models/zoo/%s/%s", getenv("RILL_SOURCE"), n->name, file);
    return path;
}

static float *floats_load(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long bytes = ftell(f);
    float *v = malloc((size_t) bytes + 1);
    rewind(f);
    if (v && fread(v, 1, (size_t) bytes, f) != (size_t) bytes) {
        free(v);
        v = NULL;
    }
    fclose(f);
    return v;
}

/* Seed 1 is that of the stored references. */
static void law_at(const struct net *n, const rill_model *m, int64_t pulse, int64_t length, const float *const *reference)
{
    const struct law_opts o = { .pulse = pulse, .length = length, .seed = 1, .tolerance = 0, .reference = reference };
    struct law_result r;
    rill_error err = { .text = "" };
    rill_status s = law_check(m, &o, &r, &err);
    CHECK(s == RILL_OK && r.holds && r.same_bits, "%s, pulse %d, length %d: %s%s", n->name, (int) pulse, (int) length,
          err.text, r.where);
    if (reference)
        CHECK(r.from_reference < 1e-4, "%s, pulse %d, length %d: %g from the reference", n->name, (int) pulse, (int) length,
              r.from_reference);
}

static void reference_test(const struct net *n, const rill_model *m, int64_t pulse, int length)
{
    float *want[OUTPUTS_MAX] = { NULL };
    char file[64];
    bool all = true;
    for (unsigned i = 0; i < OUTPUTS_MAX && n->output[i]; i++) {
        snprintf(file, sizeof file, "%d.%s.f32", length, n->output[i]);
        want[i] = floats_load(net_path(n, file));
        all &= want[i] != NULL;
        CHECK(want[i], "%s: no %s", n->name, file);
    }
    if (all)
        law_at(n, m, pulse, length, (const float *const *) want);
    for (unsigned i = 0; i < OUTPUTS_MAX; i++)
        free(want[i]);
}

static void net_test(const struct net *n)
{
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_error err = { .text = "" };
    const rill_plan_opts opts = { .pulse_frames = (uint32_t) n->pulse };
    CHECK(rill_model_open(&m, net_path(n, "model.onnx"), &err) == RILL_OK, "%s: %s", n->name, err.text);
    if (!m)
        return;
    CHECK(rill_plan_new(&p, m, &opts, &err) == RILL_OK, "%s: %s", n->name, err.text);
    if (p) {
        CHECK(p->pgraph.outputs[0].delay == n->delay && p->pgraph.pulse == n->pulse, "%s: %d frames late at pulse %d, not %d",
              n->name, (int) p->pgraph.outputs[0].delay, (int) p->pgraph.pulse, n->delay);
        CHECK(!strcmp(p->ports[p->n_inputs].info.name, n->output[0]), "%s: output '%s'", n->name,
              p->ports[p->n_inputs].info.name);
    }
    for (int i = 0; p && i < 2; i++) {
        reference_test(n, m, 0, n->length[i]);
        reference_test(n, m, n->pulse, n->length[i]);
        reference_test(n, m, 3 * n->pulse + 1, n->length[i]);
        law_at(n, m, 2 * n->pulse, n->length[i] - 5, NULL);
    }
    rill_plan_unref(p);
    rill_model_free(m);
}

int main(void)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        net_test(&nets[i]);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
