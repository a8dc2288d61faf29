/* SPDX-License-Identifier: MIT */
/* Whole-sequence nets of known shapes: each streams, obeys the law at several pulses, is as late as
 * its shape says and gives what ONNX Runtime gave for the whole sequence. */
#include "engine/graph/bodies.h"
#include "lib/model.h"
#include "check/law.h"
#include "check/lower_bound.h"
#include "lib/plan_internal.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUTS_MAX 4

struct net {
    const char *name;
    int pulse;     /* asked for */
    int delay;     /* of the first output in its frames, at that pulse */
    int length[2]; /* of the stored references */
    const char *output[OUTPUTS_MAX];
    unsigned scans, kept; /* in the file; left once cells are recognised */
};

static const struct net nets[] = {
    { "wavenet", 8, 182, { 220, 301 }, { "posteriors" }, 0, 0 },
    { "tdnn_lstm", 24, 6, { 40, 121 }, { "logits" }, 0, 0 },
    { "gtcrn", 1, 0, { 17, 40 }, { "out" }, 0, 0 },
    { "dualpath", 1, 0, { 11, 32 }, { "out" }, 0, 0 },
    { "dfn3", 1, 2, { 16, 37 }, { "gain", "taps" }, 0, 0 },
    { "ulunas", 1, 0, { 15, 38 }, { "out" }, 0, 0 },
    { "dpdfnet2", 1, 2, { 14, 33 }, { "out" }, 0, 2 },
    { "conformer", 16, 0, { 60, 133 }, { "logits" }, 0, 0 },
    { "relconformer", 4, 0, { 21, 60 }, { "y" }, 0, 0 },
    { "fastconformer", 16, 0, { 40, 101 }, { "y" }, 0, 0 },
    { "zipformer", 4, 0, { 19, 44 }, { "y" }, 0, 0 },
    { "emformer", 4, 8, { 22, 48 }, { "y" }, 0, 0 },
    { "linear", 1, 0, { 21, 60 }, { "y" }, 0, 0 },
    { "memory", 4, 0, { 22, 48 }, { "y" }, 0, 0 },
    { "table", 4, 0, { 21, 60 }, { "y" }, 0, 0 },
    { "moonshine", 1, 3, { 27, 50 }, { "y" }, 0, 0 },
    { "codec", 4, 0, { 64, 160 }, { "y" }, 0, 0 },
    { "dualpath_scan", 1, 0, { 9, 30 }, { "out" }, 156, 104 },
    { "dualpath_loops", 1, 0, { 9, 30 }, { "out" }, 9, 0 },
    { "demucs", 8, 16, { 203, 518 }, { "out" }, 0, 0 },
    { "convtasnet", 8, 8, { 160, 417 }, { "out" }, 0, 0 },
    { "bcresnet", 1, 7, { 21, 50 }, { "out" }, 0, 0 },
    { "marblenet", 4, 59, { 40, 121 }, { "out" }, 0, 0 },
    { "hifigan", 2, 86, { 14, 33 }, { "out" }, 0, 0 },
    { "pyannet", 270, 2, { 1300, 2911 }, { "out" }, 0, 0 },
    { "fullsubnet", 1, 0, { 15, 36 }, { "out" }, 0, 0 },
    { "zipformer2", 32, 8, { 269, 370 }, { "encoder_out" }, 1, 1 },
};

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
static void law_at(const struct net *n, const rill_model *m, int64_t pulse, int64_t length,
                   const float *const *reference)
{
    const struct law_opts o = {
        .pulse = pulse, .length = length, .seed = 1, .tolerance = 0, .reference = reference
    };
    struct law_result r;
    rill_error err = { .text = "" };
    rill_status s = law_check(m, &o, &r, &err);
    CHECK(s == RILL_OK && r.holds && r.same_bits, "%s, pulse %d, length %d: %s%s", n->name,
          (int) pulse, (int) length, err.text, r.where);
    if (reference)
        CHECK(r.from_reference < 1e-4, "%s, pulse %d, length %d: %g from the reference", n->name,
              (int) pulse, (int) length, r.from_reference);
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

/* Every size is known in terms of the length of the inputs. */
static void symbols_test(const struct net *n, const rill_model *m)
{
    const struct graph *g = &m->decluttered.g;
    for (uint32_t i = 0; i < g->n_wires; i++) {
        char fact[256];
        fact_print(&g->wires[i].fact, fact, sizeof fact);
        CHECK(!strchr(fact, '?'), "%s: wire '%s' is %s", n->name, g->wires[i].name, fact);
    }
}

static void bodies_test(const struct net *n, const struct graph *g, const struct dim *fixed,
                        unsigned least)
{
    struct body_reports r = { 0 };
    rill_status s = graph_check_bodies(g, fixed, &r, NULL);
    CHECK(s == RILL_OK && r.n_scans >= least && !r.n_drifting,
          "%s: %u of %u Scans drift, at least %u looked for", n->name, r.n_drifting, r.n_scans,
          least);
}

/* Frames that come before the sequence at each LSTM: what it skips. */
static void skips_test(const struct net *n, const rill_model *m, const rill_plan *p)
{
    static const int skip[] = { 2, 6 };
    const struct graph *g = &m->decluttered.g;
    unsigned seen = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!node_is(&g->nodes[i], OP_LSTM))
            continue;
        int64_t delay = p->pgraph.trace[g->nodes[i].in[0]].fact.delay;
        CHECK(seen < 2 && delay == skip[seen], "%s: LSTM %u skips %d frames", n->name, seen,
              (int) delay);
        seen++;
    }
    CHECK(seen == 2, "%s: %u LSTMs", n->name, seen);
}

/* No output comes later than what it reads. */
static void bounds_test(const struct net *n, const rill_model *m, const rill_plan *p)
{
    int64_t least[OUTPUTS_MAX];
    rill_error err = { .text = "" };
    CHECK(delay_bounds(&p->pgraph, &m->decluttered.g, least, &err) == RILL_OK, "%s: %s", n->name,
          err.text);
    for (uint32_t i = 0; i < p->pgraph.g.n_outputs; i++)
        CHECK(p->pgraph.outputs[i].delay == least[i],
              "%s: output %u is %d frames late, its bound %d", n->name, i,
              (int) p->pgraph.outputs[i].delay, (int) least[i]);
}

static void net_test(const struct net *n)
{
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_error err = { .text = "" };
    const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                  .pulse_frames = (uint32_t) n->pulse };
    const char *file = strcmp(n->name, "zipformer2") ? "model.onnx" : "graph.nnef"; /* a step */
    CHECK(rill_model_open(&m, net_path(n, file), &err) == RILL_OK, "%s: %s", n->name, err.text);
    if (!m)
        return;
    symbols_test(n, m);
    bodies_test(n, &m->typed.g, NULL, n->scans);
    bodies_test(n, &m->decluttered.g, NULL, n->kept);
    CHECK(rill_plan_new(&p, m, &opts, &err) == RILL_OK, "%s: %s", n->name, err.text);
    if (p) {
        bodies_test(n, &p->pgraph.g, m->stream, n->kept);
        bodies_test(n, &p->settled.g, m->stream, 0);
        CHECK(p->pgraph.outputs[0].delay == n->delay && p->pgraph.pulse == n->pulse,
              "%s: %d frames late at pulse %d, not %d", n->name, (int) p->pgraph.outputs[0].delay,
              (int) p->pgraph.pulse, n->delay);
        CHECK(!strcmp(p->ports[p->n_inputs].info.name, n->output[0]), "%s: output '%s'", n->name,
              p->ports[p->n_inputs].info.name);
        bounds_test(n, m, p);
        if (!strcmp(n->name, "tdnn_lstm"))
            skips_test(n, m, p);
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
    return check_done();
}
