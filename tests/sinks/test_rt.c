/* SPDX-License-Identifier: MIT */
/* push, next, cut, finish and reset of every kind of sink, and of one with a recogniser behind it,
 * allocate nothing, lock nothing and write nothing. */
#include "tests/rt/guard.h"
#include "tests/sinks/streamed.h"
#include "tests/sinks/tones.h"

/* clang-format off */
static const rill_sink_opts sinks[] = {
    { .kind = RILL_PORT_CTC, .words = "<blk>,a,b,c", .beam = 1, .rule2_ms = 300, .max_tokens = 8 },
    { .kind = RILL_PORT_CTC, .words = "<blk>,\xe2\x96\x81" "a,b,c", .beam = 8, .rule1_ms = 200,
      .rule3_ms = 900, .max_tokens = 8 },
    { .kind = RILL_PORT_CTC, .words = "<blk>,a,b,c", .beam = 64, .scores = RILL_SCORES_LOGITS,
      .stability = 0.5f },
    { .kind = RILL_PORT_KEYWORD, .words = "no,a,b,c", .smooth_frames = 5, .patience_frames = 2,
      .debounce_ms = 100 },
    { .kind = RILL_PORT_VAD, .hangover_ms = 50, .rule1_ms = 200, .rule2_ms = 100, .rule3_ms = 500 },
};
/* clang-format on */

/* n frames at x, twice: nothing that is not allowed. */
static void guarded(rill_sink *s, const float *x, size_t n, const char *what)
{
    uint32_t width = s->port.width;
    unsigned n_events = 0;
    rill_event v = { .struct_bytes = sizeof v };
    guard_enter();
    for (int round = 0; round < 2; round++) {
        for (size_t at = 0, took; at < n; at += took) {
            rill_sink_push(s, x + at * width, n - at, &took);
            while (rill_sink_next(s, &v) == RILL_OK)
                n_events++;
            if (at % 7 == 0)
                rill_sink_cut(s);
        }
        rill_sink_finish(s);
        rill_sink_reset(s, 5);
    }
    unsigned hits = guard_leave();
    CHECK(!hits && n_events > 3, "%s: %u calls, %u events", what, hits, n_events);
}

/* The tiny transducer of the models' tests. */
static void test_transducer(float *x, uint32_t beam)
{
    char path[4096];
    const char *root = getenv("RILL_SOURCE");
    rill_error err = { 0 };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_sink *s = NULL;
    rill_sink_opts o = { .struct_bytes = sizeof o };
    snprintf(path, sizeof path, "%s/tests/models/transducer", root ? root : ".");
    bool made = rill_model_open(&m, path, &err) == RILL_OK &&
        rill_plan_new(&p, m, NULL, &err) == RILL_OK &&
        rill_sink_defaults(&o, p, 1, &err) == RILL_OK;
    CHECK(made, "%s", err.text);
    if (!made)
        return;
    o.beam = beam;
    o.max_symbols = 3;
    CHECK(rill_sink_new(&s, p, 1, &o, &err) == RILL_OK, "%s", err.text);
    for (size_t k = 0; k < 100 * 24; k++)
        x[k] = 4 * test_unit() - 2;
    if (s)
        guarded(s, x, 100, beam == 1 ? "greedy transducer" : "transducer");
    rill_sink_free(s);
    rill_plan_unref(p);
    rill_model_free(m);
}

/* The probabilities are those that the detector would give of this audio. */
static void listener_runs(void)
{
    static const char script[] =
        "....11.22.333.....................111...4446.....................5..";
    static float x[sizeof script * TONES_HOP];
    rill_plan *vad = plan_of("tones", "speech", 0), *words = plan_of("tones", "logp", 0);
    rill_sink *s = NULL;
    rill_event e = { .struct_bytes = sizeof e };
    unsigned finals = 0, partials = 0;
    size_t took;
    CHECK(rill_sink_new(&s, vad, 1, NULL, NULL) == RILL_OK &&
              rill_sink_listen(s, words, 1, NULL, NULL) == RILL_OK,
          "the sinks");
    tones_audio(x, script);
    guard_enter();
    for (size_t k = 0; s && k < sizeof script - 1; k++) {
        float prob = script[k] == '.' ? 0 : 0.9f;
        rill_sink_audio(s, x + k * TONES_HOP, TONES_HOP);
        for (took = 0; !took;) {
            rill_sink_push(s, &prob, 1, &took);
            while (rill_sink_next(s, &e) == RILL_OK) {
                finals += e.kind == RILL_EVENT_FINAL;
                partials += e.kind == RILL_EVENT_PARTIAL;
            }
        }
    }
    rill_sink_finish(s);
    while (rill_sink_next(s, &e) == RILL_OK)
        finals += e.kind == RILL_EVENT_FINAL;
    unsigned hits = guard_leave();
    CHECK(!hits && finals == 3 && partials > 3, "%u calls, %u finals, %u partials", hits, finals,
          partials);
    rill_sink_free(s);
    rill_plan_unref(vad);
    rill_plan_unref(words);
}

int main(void)
{
    static float x[1000 * 4];
    char what[32];
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
        uint32_t width = sinks[i].kind == RILL_PORT_VAD ? 1 : 4;
        rill_sink *s = test_sink(&sinks[i], width, 160);
        for (size_t k = 0; k < 1000 * width; k++)
            x[k] = sinks[i].kind == RILL_PORT_CTC ? -6 * test_unit() : test_unit();
        snprintf(what, sizeof what, "sink %zu", i);
        guarded(s, x, 1000, what);
        rill_sink_free(s);
    }
    test_transducer(x, 1);
    test_transducer(x, 8);
    test_root_make();
    CHECK(tones_write(test_path("tones", ""), NULL, NULL), "the folder");
    listener_runs();
    test_root_drop();
    return check_done();
}
