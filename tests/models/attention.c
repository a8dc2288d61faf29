/* SPDX-License-Identifier: MIT */
/* A recogniser with an attention decoder as Moonshine publishes its streaming ones, of random
 * weights: partials and finals are those of the networks in ONNX Runtime, chunk by chunk
 * (moonshine/make.py), in any cut; utterances end by rules, at the end of the table of positions,
 * and begin anew. */
#include "tests/models/models_test.h"
#include "tests/sinks/sinks_test.h"

#define LINE_BYTES 8192
#define POSITIONS 400 /* frames that the adapter has a place for */

struct heard {
    rill_plan *plan;
    rill_sink *sink;
    unsigned port, width;
};

static rill_sink_opts opts_of(const rill_plan *p)
{
    rill_sink_opts o = { .struct_bytes = sizeof o };
    rill_error err = { 0 };
    CHECK(rill_sink_defaults(&o, p, 1, &err) == RILL_OK, "%s", err.text);
    o.units = RILL_UNITS_WORDS;
    o.rule1_ms = o.rule2_ms = o.rule3_ms = 0;
    return o;
}

static rill_sink *sink_of(const rill_plan *p, const rill_sink_opts *o)
{
    rill_sink *s = NULL;
    rill_error err = { 0 };
    CHECK(rill_sink_new(&s, p, 1, o, &err) == RILL_OK, "%s", err.text);
    if (!s)
        exit(check_done());
    return s;
}

/* "partial TEXT" and "final TEXT", a line each. */
static void texts_add(struct story *t, rill_sink *s, uint64_t *ret_endpoint)
{
    rill_event v = { .struct_bytes = sizeof v };
    while (rill_sink_next(s, &v) == RILL_OK) {
        if (v.kind == RILL_EVENT_PARTIAL || v.kind == RILL_EVENT_FINAL)
            story_add(t, "%s %s\n", v.kind == RILL_EVENT_FINAL ? "final" : "partial", v.text);
        else if (v.kind == RILL_EVENT_ENDPOINT)
            *ret_endpoint = v.pos;
    }
}

/* All of the sound, in pieces of at most `most` samples and frames, cut at random. */
static struct story hear(const rill_plan *p, rill_sink *s, struct floats x, uint32_t most,
                         uint64_t *ret_endpoint)
{
    struct story t = { 0 };
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *st = rill_stream_init(mem, p);
    size_t at = 0, n = 0, took;
    float y[64 * 24];
    story_add(&t, "%s", "");
    for (rill_status status = RILL_OK; status != RILL_END;) {
        const size_t k = 1 + test_random(most);
        rill_stream_push(st, 0, x.v + at, k < x.n - at ? k : x.n - at, &took);
        at += took;
        if (at == x.n)
            rill_stream_finish(st);
        while ((status = rill_stream_run(st)) == RILL_OK)
            while (rill_stream_pull(st, 1, y, 1 + test_random(6), &n) == RILL_OK && n)
                for (size_t i = 0; i < n; i += took) {
                    rill_sink_push(s, y + 24 * i, n - i, &took);
                    texts_add(&t, s, ret_endpoint);
                }
    }
    rill_sink_finish(s);
    texts_add(&t, s, ret_endpoint);
    free(mem);
    return t;
}

/* What the reference says of a sound, from the file's place on up to an empty line. */
static struct story lines_read(FILE *f, char *ret_sound)
{
    static char line[LINE_BYTES];
    struct story t = { 0 };
    story_add(&t, "%s", "");
    if (!fgets(line, sizeof line, f) || sscanf(line, "sound %255s", ret_sound) != 1)
        *ret_sound = '\0';
    while (*ret_sound && fgets(line, sizeof line, f) && *line != '\n')
        story_add(&t, "%s", line);
    return t;
}

static void reference_check(const rill_plan *p)
{
    const rill_sink_opts o = opts_of(p);
    FILE *f = fopen(source_path("tests/models/moonshine/reference.txt"), "r");
    char sound[256];
    unsigned n = 0;
    uint64_t endpoint = 0;
    CHECK(f, "no reference.txt");
    for (; f; n++) {
        struct story want = lines_read(f, sound);
        if (!*sound) {
            story_drop(&want);
            break;
        }
        struct floats x = wav_read(source_path(sound));
        rill_sink *s = sink_of(p, &o);
        for (uint32_t most = 16000; most > 100; most /= 12) {
            struct story got = hear(p, s, x, most, &endpoint);
            CHECK(!strcmp(got.text, want.text), "%s in %u:\n%snot\n%s", sound, most, got.text,
                  want.text);
            story_drop(&got);
            rill_sink_reset(s, 0);
        }
        CHECK(want.n > 200 && !endpoint, "%s: %zu, %llu", sound, want.n,
              (unsigned long long) endpoint);
        rill_sink_free(s);
        story_drop(&want);
        free(x.v);
    }
    CHECK(n == 2, "%u sounds", n);
    if (f)
        fclose(f);
}

static unsigned finals_count(const struct story *t)
{
    unsigned n = 0;
    for (const char *at = t->text; (at = strstr(at, "final ")); at++)
        n++;
    return n;
}

/* Rule 3 ends utterances: at the first update behind it, each. */
static void rule_check(const rill_plan *p, struct floats x)
{
    rill_sink_opts o = opts_of(p);
    uint64_t endpoint = 0;
    o.rule3_ms = 3000;
    rill_sink *s = sink_of(p, &o);
    struct story t = hear(p, s, x, 4000, &endpoint);
    CHECK(endpoint == 2 * 168 * 320 && finals_count(&t) == 3, "endpoint at %llu:\n%s",
          (unsigned long long) endpoint, t.text);
    story_drop(&t);
    rill_sink_free(s);
}

/* An utterance is cut by rule 3, and where there is no rule as long as the table of positions. */
static void bounds_check(const rill_plan *p)
{
    struct floats x = wav_read(source_path("examples/audio/noisy.wav"));
    const rill_sink_opts o = opts_of(p);
    uint64_t endpoint = 0;
    rill_sink *s = sink_of(p, &o);
    rule_check(p, x);
    struct story t = hear(p, s, x, 4000, &endpoint);
    CHECK(finals_count(&t) == 2 && !endpoint && x.n > 320 * POSITIONS, "%u finals:\n%s",
          finals_count(&t), t.text);
    story_drop(&t);
    rill_sink_free(s);
    free(x.v);
}

/* ---- a network that fails ---- */

static rill_status (*decoder_run)(struct open_net *, const struct open_value *, open_net_take,
                                  void *, rill_error *);
static unsigned runs_left;

static rill_status run_or_fail(struct open_net *n, const struct open_value *in, open_net_take take,
                               void *arg, rill_error *err)
{
    return runs_left-- ? decoder_run(n, in, take, arg, err)
                       : err_set(err, RILL_INVALID, "%s: node 'x' failed", n->file);
}

/* What was heard before is final, then there is an error until reset. */
static void fault_check(const rill_plan *p, unsigned n_runs)
{
    struct floats x = wav_read(source_path("tests/models/transducer/audio.wav"));
    const rill_sink_opts o = opts_of(p);
    rill_error err = { .text = "" };
    rill_event v = { .struct_bytes = sizeof v };
    uint64_t endpoint = 0;
    rill_sink *s = sink_of(p, &o);
    struct open_net *decoder = o.nets->decoder;
    struct story whole = hear(p, s, x, 4000, &endpoint);
    decoder_run = decoder->run;
    decoder->run = run_or_fail;
    runs_left = n_runs;
    rill_sink_reset(s, 0);
    struct story t = hear(p, s, x, 4000, &endpoint);
    CHECK(finals_count(&t) == 1 && strcmp(t.text, whole.text) != 0 &&
              !strncmp(t.text, whole.text, 20),
          "%u runs:\n%snot\n%s", n_runs, t.text, whole.text);
    CHECK(rill_sink_next(s, &v) == RILL_INVALID && rill_sink_fault(s, &err) == RILL_INVALID &&
              !strcmp(err.text, "decoder_kv.onnx: node 'x' failed"),
          "%s", err.text);
    decoder->run = decoder_run;
    rill_sink_reset(s, 0);
    story_drop(&t);
    t = hear(p, s, x, 4000, &endpoint);
    CHECK(!strcmp(t.text, whole.text), "after a fault:\n%snot\n%s", t.text, whole.text);
    story_drop(&t);
    story_drop(&whole);
    rill_sink_free(s);
    free(x.v);
}

int main(void)
{
    rill_error err = { 0 };
    rill_plan *p = folder_plan(source_path("tests/models/moonshine"), &err);
    CHECK(p, "%s", err.text);
    if (p) {
        reference_check(p);
        bounds_check(p);
        fault_check(p, 12);
        fault_check(p, 14);
    }
    rill_plan_unref(p);
    return check_done();
}
