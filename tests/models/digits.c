/* SPDX-License-Identifier: MIT */
/* The digits that ship, on a recording that ships: the stream is the whole sequence to the bit, and
 * what is written down does not depend on how the recording comes in. */
#include "tests/models/models_test.h"

static const char spoken[] = "three one four one five nine two six";

/* Finals as text, and each word with its place; n samples came in. */
struct transcript {
    char text[512], words[2048];
    uint64_t end_pos, n;
    unsigned partials;
};

static void transcript_add(struct transcript *t, const rill_event *e)
{
    size_t n = strlen(t->text), k = strlen(t->words);
    t->partials += e->kind == RILL_EVENT_PARTIAL;
    if (e->kind != RILL_EVENT_FINAL)
        return;
    snprintf(t->text + n, sizeof t->text - n, "%s%s", n ? " " : "", e->text);
    for (uint32_t i = 0; i < e->n_words; i++) {
        const rill_word *w = &e->words[i];
        k += (size_t) snprintf(t->words + k, sizeof t->words - k, "%s %llu..%llu ", w->text,
                               LLU(w->pos), LLU(w->end_pos));
        CHECK(w->pos >= t->end_pos && w->end_pos <= t->n &&
                  (w->end_pos > w->pos || w->pos == t->n), /* told behind the end, no room */
              "'%s' from %llu to %llu", w->text, LLU(w->pos), LLU(w->end_pos));
        t->end_pos = w->end_pos;
    }
}

static void events_read(struct transcript *t, rill_sink *sink)
{
    rill_event e = { .struct_bytes = sizeof e };
    while (rill_sink_next(sink, &e) == RILL_OK)
        transcript_add(t, &e);
}

static void frames_read(struct transcript *t, rill_stream *s, rill_sink *sink,
                        const rill_port *port)
{
    float y[64 * 16];
    size_t n, took;
    while (rill_stream_pull(s, 1, y, 64 * 16 / port->width, &n) == RILL_OK && n)
        for (size_t at = 0; at < n; at += took) {
            rill_sink_push(sink, y + at * port->width, n - at, &took);
            events_read(t, sink);
        }
}

/* The recording in pieces of so many samples, through pulses of at least so many. */
static struct transcript transcribe(const rill_model *m, struct floats x, size_t piece,
                                    uint32_t pulse)
{
    struct transcript t = { .text = "", .n = x.n };
    rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = pulse };
    rill_error err = { .text = "" };
    rill_plan *p = NULL;
    rill_sink *sink = NULL;
    rill_sink_opts o = { .struct_bytes = sizeof o };
    rill_port port[2] = { { .struct_bytes = sizeof *port } };
    CHECK(rill_plan_new(&p, m, &opts, &err) == RILL_OK &&
              rill_sink_defaults(&o, p, 1, &err) == RILL_OK,
          "%s", err.text);
    o.confidence = 0; /* of half a word, too, the place counts */
    CHECK(rill_sink_new(&sink, p, 1, &o, &err) == RILL_OK, "%s", err.text);
    if (!sink)
        return t;
    rill_plan_ports(p, port, 2);
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, p);
    for (size_t at = 0, took; at < x.n; at += took) {
        rill_stream_push(s, 0, x.v + at, piece < x.n - at ? piece : x.n - at, &took);
        while (rill_stream_run(s) == RILL_OK)
            frames_read(&t, s, sink, &port[1]);
    }
    rill_stream_finish(s);
    rill_sink_end(sink, x.n);
    while (rill_stream_run(s) == RILL_OK)
        frames_read(&t, s, sink, &port[1]);
    frames_read(&t, s, sink, &port[1]);
    rill_sink_finish(sink);
    events_read(&t, sink);
    rill_sink_free(sink);
    free(mem);
    rill_plan_unref(p);
    return t;
}

static void test_transcript(const rill_model *m, struct floats x)
{
    static const struct {
        size_t piece;
        uint32_t pulse;
    } cuts[] = {
        { 1, 0 }, { 160, 0 }, { 997, 0 }, { 4096, 1280 }, { 700, 5120 }, { 1 << 20, 0 },
    };
    struct transcript first = transcribe(m, x, 320, 0);
    printf("%s\n", first.words);
    CHECK(!strcmp(first.text, spoken), "'%s' for '%s'", first.text, spoken);
    CHECK(first.partials >= 4, "%u partials", first.partials);
    CHECK(first.end_pos <= x.n, "the last word ends at %llu of %zu", LLU(first.end_pos), x.n);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct transcript t = transcribe(m, x, cuts[i].piece, cuts[i].pulse);
        CHECK(!strcmp(t.words, first.words), "pieces of %zu, pulse %u: '%s' for '%s'",
              cuts[i].piece, cuts[i].pulse, t.words, first.words);
    }
}

/* A recording that ends within a word, and one that ends before the model has told it: the graph
 * goes on in silence, the words end with the recording. */
static void test_ends(const rill_model *m, struct floats x)
{
    for (size_t n = 5600; n < 9000; n += 311) {
        struct floats part = { x.v, n };
        struct transcript first = transcribe(m, part, n, 0);
        CHECK(first.end_pos <= n, "%zu samples: '%s'", n, first.words);
        CHECK(n < 6500 || strstr(first.words, "three 6400..") == first.words, "%zu samples: '%s'",
              n, first.words);
        for (uint32_t pulse = 0; pulse <= 5120; pulse += 2560) {
            struct transcript t = transcribe(m, part, 333, pulse);
            CHECK(!strcmp(t.words, first.words), "%zu samples, pulse %u: '%s' for '%s'", n, pulse,
                  t.words, first.words);
        }
    }
}

static void test_bits(const rill_model *m, struct floats x)
{
    rill_error err = { .text = "" };
    struct floats whole = model_run_whole(m, x, &err);
    CHECK(whole.n > 0 && whole.n % 11 == 0, "%zu values: %s", whole.n, err.text);
    for (uint32_t pulse = 0; pulse <= 2560; pulse += 1280) {
        struct floats y = model_run_pulse(m, x, 331, pulse, &err);
        CHECK(y.n == whole.n && !memcmp(y.v, whole.v, y.n * sizeof *y.v),
              "pulse %u: %zu values streamed, %zu at once", pulse, y.n, whole.n);
        free(y.v);
    }
    free(whole.v);
}

int main(void)
{
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    struct floats x = wav_read(source_path("examples/audio/digits.wav"));
    CHECK(x.n > 16000, "the recording has %zu samples", x.n);
    CHECK(rill_model_open(&m, source_path("models/library/rill-digits"), &err) == RILL_OK, "%s",
          err.text);
    if (m && x.n) {
        test_bits(m, x);
        test_transcript(m, x);
        test_ends(m, x);
    }
    rill_model_free(m);
    free(x.v);
    return check_done();
}
