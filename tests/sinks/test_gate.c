/* SPDX-License-Identifier: MIT */
/* A recogniser behind a detector: each utterance reads as it does alone, silence costs nothing,
 * cuts do not matter. */
#include "lib/stream_internal.h"
#include "sinks/gate.h"
#include "tests/sinks/streamed.h"
#include "tests/sinks/tones.h"

/* Texts of the samples from..to, by a stream and a sink of their own. */
static void alone(struct story *t, const rill_plan *words, const float *x, uint64_t from,
                  uint64_t to, uint32_t *segment)
{
    rill_sink_opts o = { .struct_bytes = sizeof o };
    rill_error err = { 0 };
    rill_sink *s = NULL;
    rill_stream *st = stream_of(words);
    float y[TONES_WIDTH];
    size_t took, n = 1;
    rill_sink_defaults(&o, words, 1, &err);
    o.rule1_ms = o.rule2_ms = o.rule3_ms = 0;
    CHECK(rill_sink_new(&s, words, 1, &o, &err) == RILL_OK, "%s", err.text);
    rill_sink_reset(s, from);
    s->segment = *segment;
    for (bool end = false; n || !end;) {
        if (from < to) {
            rill_stream_push(st, 0, x + from, (size_t) (to - from), &took);
            from += took;
        } else if (!end) {
            rill_stream_finish(st);
            end = true;
        }
        n = rill_stream_run(st) == RILL_OK;
        size_t given = 0;
        while (rill_stream_pull(st, 1, y, 1, &given) == RILL_OK && given) {
            rill_sink_push(s, y, 1, &took);
            story_events(t, s);
        }
    }
    rill_sink_finish(s);
    story_events(t, s);
    *segment = s->segment;
    rill_sink_free(s);
    free(st);
}

/* The same story from the detector's events and utterances that are read alone. */
static struct story expected(const struct story *vad_only, const rill_plan *words, const float *x,
                             size_t n, uint64_t preroll)
{
    struct story t = { 0 };
    uint64_t from = UINT64_MAX, last_end = 0, pos, end_pos;
    uint32_t segment = 0;
    char kind[16];
    int rule;
    story_add(&t, "%s", "");
    for (const char *p = vad_only->text; *p; p = strchr(p, '\n') + 1) {
        unsigned long long a, b;
        if (sscanf(p, "%15s rule=%d %llu..%llu", kind, &rule, &a, &b) != 4)
            break;
        pos = a;
        end_pos = b;
        (void) end_pos;
        if (!strcmp(kind, "start") && from == UINT64_MAX)
            from = pos > last_end + preroll ? pos - preroll : last_end;
        if (!strcmp(kind, "endpoint") && from != UINT64_MAX) {
            alone(&t, words, x, from, pos < n ? pos : n, &segment);
            last_end = pos;
            from = UINT64_MAX;
        }
    }
    if (from != UINT64_MAX)
        alone(&t, words, x, from, n, &segment);
    return t;
}

/* Lines of texts only, or of the detector only. */
static struct story lines_of(const struct story *t, bool texts)
{
    struct story r = { 0 };
    story_add(&r, "%s", "");
    for (const char *p = t->text; *p; p = strchr(p, '\n') + 1)
        if ((!strncmp(p, "partial", 7) || !strncmp(p, "final", 5)) == texts)
            story_add(&r, "%.*s", (int) (strchr(p, '\n') + 1 - p), p);
    return r;
}

static void script_make(char *script, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool silence = i / 60 % 2;
        script[i] = silence || !test_random(2) ? '.' : (char) ('1' + test_random(7));
        if (i && !silence && test_random(3))
            script[i] = script[i - 1];
    }
    script[n] = '\0';
}

static void test_utterances(const rill_plan *vad, const rill_plan *words)
{
    enum { N = 900 };
    static float x[N * TONES_HOP];
    char script[N + 1];
    rill_error err = { 0 };
    rill_sink *s = NULL, *plain = NULL;
    script_make(script, N);
    size_t n = tones_audio(x, script);
    CHECK(rill_sink_new(&plain, vad, 1, NULL, &err) == RILL_OK, "%s", err.text);
    struct story edges = streamed(plain, vad, x, n, 1u << 20, false, false);
    struct story want = expected(&edges, words, x, n, plain->opts.preroll_ms * 8);
    for (uint32_t most = 1; most <= 100000; most *= 10) {
        CHECK(rill_sink_new(&s, vad, 1, NULL, &err) == RILL_OK &&
                  rill_sink_listen(s, words, 1, NULL, &err) == RILL_OK,
              "%s", err.text);
        struct story got = streamed(s, vad, x, n, most, true, false), texts = lines_of(&got, true),
                     rest = lines_of(&got, false);
        CHECK(!strcmp(texts.text, want.text), "pieces of %u:\n%s\nexpected\n%s", most, texts.text,
              want.text);
        CHECK(!strcmp(rest.text, edges.text), "pieces of %u:\n%s\nexpected\n%s", most, rest.text,
              edges.text);
        CHECK(strstr(got.text, "final") && strstr(got.text, "rule=2"), "%s", got.text);
        story_drop(&got);
        story_drop(&texts);
        story_drop(&rest);
        rill_sink_free(s);
    }
    story_drop(&edges);
    story_drop(&want);
    rill_sink_free(plain);
}

/* Nothing runs while nobody speaks. */
static void test_silence(const rill_plan *vad, const rill_plan *words)
{
    enum { N = 2000 };
    static float x[N * TONES_HOP];
    char script[N + 1];
    rill_error err = { 0 };
    rill_sink *s = NULL;
    rill_step_time times[64] = { { .struct_bytes = sizeof *times } };
    memset(script, '.', N);
    memcpy(script + 500, "111222444555111", 15);
    script[N] = '\0';
    size_t n = tones_audio(x, script);
    CHECK(rill_sink_new(&s, vad, 1, NULL, &err) == RILL_OK &&
              rill_sink_listen(s, words, 1, NULL, &err) == RILL_OK,
          "%s", err.text);
    size_t bytes = rill_sink_bytes(s);
    rill_sink *alone = NULL;
    CHECK(rill_sink_new(&alone, words, 1, NULL, &err) == RILL_OK &&
              bytes > rill_sink_bytes(alone) + rill_plan_stream_size(words),
          "%zu bytes", bytes);
    rill_sink_free(alone);
    struct story t = streamed(s, vad, x, n, 1000, true, false);
    CHECK(strstr(t.text, "'one t three four one'"), "%s", t.text);
    /* 15 frames of speech, 20 until the endpoint, 3 of preroll, and what brings the last frame out,
     * two frames a pulse. */
    CHECK(rill_stream_profile(sink_gate(s)->stream, times, 64) && times[0].runs >= 19 &&
              times[0].runs <= 20,
          "%llu runs", (unsigned long long) times[0].runs);
    CHECK(rill_sink_bytes(s) == bytes, "it grew");
    story_drop(&t);
    rill_sink_free(s);
}

static void test_refusals(const rill_plan *vad, const rill_plan *words)
{
    rill_error err = { 0 };
    rill_sink *s = NULL, *w = NULL;
    float x[64] = { 0 };
    size_t took;
    rill_sink_new(&s, vad, 1, NULL, &err);
    rill_sink_new(&w, words, 1, NULL, &err);
    CHECK(rill_sink_audio(s, x, 64) == RILL_INVALID && rill_sink_audio(w, x, 8) == RILL_INVALID,
          "nothing listens");
    CHECK(rill_sink_listen(w, words, 1, NULL, &err) == RILL_INVALID, "not a detector");
    CHECK(rill_sink_listen(s, words, 0, NULL, &err) != RILL_OK, "not an output");
    CHECK(rill_sink_listen(s, words, 1, NULL, &err) == RILL_OK, "%s", err.text);
    CHECK(rill_sink_listen(s, words, 1, NULL, &err) == RILL_INVALID, "one listens");
    rill_status status = RILL_OK;
    for (int i = 0; i < 1000 && status == RILL_OK; i++)
        status = rill_sink_audio(s, x, 64);
    CHECK(status == RILL_LIMIT, "audio without frames");
    rill_sink_reset(s, 0);
    CHECK(rill_sink_audio(s, x, 64) == RILL_OK && rill_sink_push(s, x, 1, &took) == RILL_OK &&
              took == 1,
          "after reset");
    rill_sink_free(s);
    rill_sink_free(w);
    rill_sink_opts o = { .struct_bytes = sizeof o };
    rill_sink_defaults(&o, vad, 1, &err);
    o.preroll_ms = 86400000;
    CHECK(rill_sink_new(&s, vad, 1, &o, &err) == RILL_OK &&
              rill_sink_listen(s, words, 1, NULL, &err) == RILL_INVALID &&
              strstr(err.text, "preroll_ms = 86400000"),
          "%s", err.text);
    rill_sink_free(s);
}

/* The recogniser's stream leaves the pool to others, also behind a reset. */
static void test_alone(const rill_plan *vad, const rill_plan *words)
{
    rill_error err = { 0 };
    rill_sink *s = NULL;
    rill_sink_new(&s, vad, 1, NULL, &err);
    rill_sink_alone(s, 1);
    CHECK(rill_sink_listen(s, words, 1, NULL, &err) == RILL_OK, "%s", err.text);
    const rill_stream *st = sink_gate(s)->stream;
    CHECK(!st->is_alone, "helped, as a stream begins");
    rill_sink_alone(s, 1);
    rill_sink_reset(s, 0);
    CHECK(st->is_alone, "alone");
    rill_sink_alone(s, 0);
    CHECK(!st->is_alone, "helped again");
    rill_sink_free(s);
}

int main(void)
{
    test_root_make();
    CHECK(tones_write(test_path("tones", ""), NULL, NULL), "the folder");
    rill_plan *vad = plan_of("tones", "speech", 0), *words = plan_of("tones", "logp", 1);
    test_utterances(vad, words);
    test_silence(vad, words);
    test_refusals(vad, words);
    test_alone(vad, words);
    rill_plan_unref(vad);
    rill_plan_unref(words);
    test_root_drop();
    return check_done();
}
