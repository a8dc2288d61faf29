/* SPDX-License-Identifier: MIT */
/* Sinks of a model folder: what model.conf says, through a stream in any cut, from a compiled plan,
 * and what is refused. */
#include "tests/models/models_test.h"
#include "tests/sinks/sinks_test.h"
#include "tests/sinks/tones.h"

#include <unistd.h>

static const char script[] =
    "....1.22.3........................111...4446........................7..5.....";

struct outputs {
    rill_sink *sink[8];
    struct story story[8];
    unsigned n;
};

/* Everything there is to pull, into the sinks. */
static void outputs_read(struct outputs *o, rill_stream *st)
{
    float y[64 * TONES_HOP];
    size_t n, took;
    for (unsigned port = 1; port < o->n; port++)
        while (rill_stream_pull(st, port, y, 64, &n) == RILL_OK && n)
            for (size_t at = 0; o->sink[port] && at < n; at += took) {
                rill_sink_push(o->sink[port], y + at * o->sink[port]->port.width, n - at, &took);
                story_events(&o->story[port], o->sink[port]);
            }
}

static void stream_through(const rill_plan *p, struct outputs *o, const float *x, size_t n,
                           uint32_t most)
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64);
    rill_stream *st = rill_stream_init(mem, p);
    for (size_t at = 0, took; at < n; at += took) {
        size_t k = 1 + test_random(most);
        rill_stream_push(st, 0, x + at, k < n - at ? k : n - at, &took);
        while (rill_stream_run(st) == RILL_OK)
            outputs_read(o, st);
    }
    rill_stream_finish(st);
    while (rill_stream_run(st) == RILL_OK)
        outputs_read(o, st);
    outputs_read(o, st);
    for (unsigned i = 0; i < o->n; i++)
        if (o->sink[i]) {
            rill_sink_finish(o->sink[i]);
            story_events(&o->story[i], o->sink[i]);
        }
    free(mem);
}

static void outputs_open(struct outputs *o, const rill_plan *p)
{
    rill_port ports[8] = { { .struct_bytes = sizeof *ports } };
    rill_error err = { 0 };
    *o = (struct outputs) { .n = rill_plan_ports(p, ports, 8) };
    for (unsigned i = 0; i < o->n; i++)
        if (ports[i].kind != RILL_PORT_TENSOR && ports[i].kind != RILL_PORT_AUDIO)
            CHECK(rill_sink_new(&o->sink[i], p, i, NULL, &err) == RILL_OK, "%s: %s", ports[i].name,
                  err.text);
}

static void outputs_drop(struct outputs *o)
{
    for (unsigned i = 0; i < o->n; i++) {
        rill_sink_free(o->sink[i]);
        story_drop(&o->story[i]);
    }
}

/* The lines of kinds, shortened: kind, frames, text. */
static void story_has(const struct story *t, const char *line)
{
    CHECK(t->text && strstr(t->text, line), "no '%s' in\n%s", line, t->text ? t->text : "");
}

static void test_stories(const rill_plan *p)
{
    static float x[sizeof script * TONES_HOP];
    size_t n = tones_audio(x, script);
    struct outputs first, again;
    outputs_open(&first, p);
    stream_through(p, &first, x, n, 100000);
    /* Ports: pcm, clean, speech, prob, logp. A frame is 80 samples. */
    story_has(&first.story[4], "final rule=0 320..800 score=");
    story_has(&first.story[4], "'one two' [one 320..400");
    story_has(&first.story[4], "[two 480..800");
    story_has(&first.story[4], "endpoint rule=2 2400..2400"); /* 20 frames after frame 9 */
    story_has(&first.story[4], "segment=1 'one threes' [one 2720..2960");
    story_has(&first.story[4], "segment=2 'four' [four 5680..5760");
    story_has(&first.story[2], "start rule=0 320..400");
    story_has(&first.story[2], "end rule=0 800..1200");
    story_has(&first.story[2], "endpoint rule=2 2400..2400");
    story_has(&first.story[3],
              "keyword rule=0 2720..2880 score=0.900000 stability=0.000000 segment=0 'yes'");
    for (int round = 0; round < 12; round++) {
        outputs_open(&again, p);
        stream_through(p, &again, x, n, 1u << round);
        for (unsigned i = 2; i < 5; i++)
            CHECK(!strcmp(first.story[i].text, again.story[i].text),
                  "pieces of %u, port %u:\n%s\nnot\n%s", 1u << round, i, again.story[i].text,
                  first.story[i].text);
        outputs_drop(&again);
    }
    outputs_drop(&first);
}

static void test_compiled(const rill_plan *p)
{
    rill_error err = { 0 };
    char path[8192];
    snprintf(path, sizeof path, "%s", test_path("tones.rill", ""));
    CHECK(rill_plan_save(p, path, &err) == RILL_OK, "%s", err.text);
    rill_plan *c = folder_plan(path, &err);
    CHECK(c, "%s", err.text);
    if (!c)
        return;
    rill_sink_opts a = { .struct_bytes = sizeof a }, b = { .struct_bytes = sizeof b };
    for (unsigned port = 2; port < 5; port++) {
        CHECK(rill_sink_defaults(&a, p, port, &err) == RILL_OK &&
                  rill_sink_defaults(&b, c, port, &err) == RILL_OK,
              "%s", err.text);
        CHECK(a.kind == b.kind && a.rule2_ms == b.rule2_ms && a.beam == b.beam &&
                  a.blank == b.blank && a.threshold == b.threshold &&
                  a.smooth_frames == b.smooth_frames && a.scores == b.scores &&
                  a.preroll_ms == b.preroll_ms,
              "port %u", port);
        CHECK(!a.tokens == !b.tokens && (!a.tokens || !strcmp(a.tokens, b.tokens)) &&
                  !a.words == !b.words,
              "texts of port %u", port);
    }
    test_stories(c);
    rill_plan_unref(c);
}

/* The option is what the caller says instead. */
static void test_options(const rill_plan *p)
{
    rill_sink_opts o = { .struct_bytes = sizeof o };
    rill_error err = { 0 };
    rill_sink *s = NULL;
    CHECK(rill_sink_defaults(&o, p, 0, &err) == RILL_INVALID &&
              rill_sink_defaults(&o, p, 1, &err) == RILL_INVALID &&
              rill_sink_defaults(&o, p, 99, &err) == RILL_INVALID,
          "an input, an audio output and none have no sink");
    CHECK(rill_sink_new(&s, p, 99, NULL, &err) == RILL_INVALID &&
              rill_sink_new(&s, p, 0, NULL, &err) == RILL_INVALID,
          "nor here");
    CHECK(rill_sink_defaults(&o, p, 4, &err) == RILL_OK && o.rule1_ms == 0 && o.rule2_ms == 200 &&
              o.rule3_ms == 20000,
          "%s", err.text);
    o.beam = 1;
    CHECK(rill_sink_new(&s, p, 4, &o, &err) == RILL_OK && rill_sink_bytes(s) > 1000, "%s",
          err.text);
    CHECK(rill_sink_free(s) == NULL && rill_sink_free(NULL) == NULL, "free");
}

static void refused(const char *conf_tail, const char *tokens, bool at_open, const char *word)
{
    char conf[4096];
    rill_error err = { 0 };
    rill_sink *s = NULL;
    snprintf(
        conf, sizeof conf,
        "[model]\nsample_rate = 8000\n[input.pcm]\nkind = audio\n[output.logp]\nkind = ctc\n%s",
        conf_tail);
    tones_write(test_path("bad", ""), conf, tokens);
    rill_plan *p = folder_plan(test_path("bad", ""), &err);
    CHECK(!p == at_open, "%s: %s", conf_tail, err.text);
    if (p && !at_open)
        CHECK(rill_sink_new(&s, p, 4, NULL, &err) != RILL_OK, "%s", conf_tail);
    CHECK(strstr(err.text, word), "'%s' has '%s'", err.text, word);
    rill_plan_unref(p);
}

static void test_refusals(void)
{
    refused("tokens = none.txt\n", NULL, true, "none.txt");
    refused("tokens = ../tokens.txt\n", NULL, true, "tokens.txt");
    refused("tokens = tokens.txt\n", "a 0\nb 0\n", true, "tokens.txt: tokens, line 2");
    refused("tokens = tokens.txt\n", "a 0\nb 2\n", false, "number 1");
    refused("tokens = tokens.txt\n", "a 0\n\xff 1\n", true, "UTF-8");
    refused("tokens = tokens.txt\n", "a 0\nb 99999999999\n", true, "at most 65535");
    refused("tokens = tokens.txt\n", "", true, "no tokens");
    refused("tokens = tokens.txt\n", "a 0\nb 1\n", false, "8 columns");
    refused("", NULL, false, "neither");
    refused("words = a,b\nblank = -1\n", NULL, true, "not a value");
    refused("words = a,b\nscores = loud\n", NULL, true, "not a value");
    refused("words = a,b\nunits = \n", NULL, true, "not a value");
    refused("words = a,b\nvoice = 1\n", NULL, true, "unknown key");
    refused("words = a,b,c,d,e,f,g,h\nbeam = 100\n", NULL, true, "1 to 64");
}

/* What [vad] says holds where the output is silent; a number of the output holds, 0 too. */
static void test_hangover(void)
{
    static const struct {
        const char *own, *vad;
        uint32_t want;
    } cases[] = {
        { "", "", 100 },
        { "", "[vad]\nhangover_ms = 50\n", 50 },
        { "", "[vad]\nhangover_ms = 0\n", 0 },
        { "hangover_ms = 0\n", "", 0 },
        { "hangover_ms = 0\n", "[vad]\nhangover_ms = 50\n", 0 },
        { "hangover_ms = 20\n", "[vad]\nhangover_ms = 50\n", 20 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char conf[512];
        rill_error err = { 0 };
        rill_sink_opts o = { .struct_bytes = sizeof o };
        snprintf(conf, sizeof conf,
                 "[model]\nsample_rate = 8000\n[input.pcm]\nkind = audio\n"
                 "[output.prob]\nkind = keyword\nwords = a,b,c,d,e,f,g,h\n"
                 "[output.speech]\nkind = vad\n%s%s",
                 cases[i].own, cases[i].vad);
        tones_write(test_path("hangover", ""), conf, NULL);
        rill_plan *p = folder_plan(test_path("hangover", ""), &err);
        CHECK(p && rill_sink_defaults(&o, p, 2, &err) == RILL_OK && o.hangover_ms == cases[i].want,
              "'%s' '%s': %u ms %s", cases[i].own, cases[i].vad, o.hangover_ms, err.text);
        CHECK(p && rill_sink_defaults(&o, p, 3, &err) == RILL_OK && !o.hangover_ms,
              "a keyword has none: %u", o.hangover_ms);
        rill_plan_unref(p);
    }
}

/* Symbols behind the columns are no mistake, with or without a gap before them. */
static void test_symbols(void)
{
    rill_error err = { 0 };
    rill_sink *s = NULL;
    char conf[] = "[model]\nsample_rate = 8000\n[input.pcm]\nkind = audio\n[output.logp]\nkind = "
                  "ctc\ntokens = tokens.txt\n";
    tones_write(test_path("symbols", ""), conf,
                "- 0\na 1\nb 2\nc 3\nd 4\ne 5\nf 6\ng 7\n#0 8\n#1 20\n");
    rill_plan *p = folder_plan(test_path("symbols", ""), &err);
    CHECK(p && rill_sink_new(&s, p, 4, NULL, &err) == RILL_OK, "%s", err.text);
    rill_sink_free(s);
    rill_plan_unref(p);
}

int main(void)
{
    rill_error err = { 0 };
    test_root_make();
    CHECK(tones_write(test_path("tones", ""), NULL, NULL), "the folder");
    rill_plan *p = folder_plan(test_path("tones", ""), &err);
    CHECK(p, "%s", err.text);
    if (p) {
        test_stories(p);
        test_compiled(p);
        test_options(p);
        rill_plan_unref(p);
    }
    test_hangover();
    test_symbols();
    test_refusals();
    test_root_drop();
    return check_done();
}
