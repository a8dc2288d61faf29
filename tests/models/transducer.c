/* SPDX-License-Identifier: MIT */
/* A transducer in the form that icefall exports, of random weights: frames, tokens and times are
 * those of an independent decoder (tests/models/transducer/make.py), in any cut, from a compiled
 * plan too; what does not fit together is refused. */
#include "lib/stream_internal.h"
#include "sinks/transducer.h"
#include "tests/models/models_test.h"
#include "tests/sinks/sinks_test.h"

#define HOP 640

struct token_name {
    char text[32];
};

static const char *where = ""; /* "zip/": the one of many states */

static const char *own(const char *file)
{
    char path[256];
    snprintf(path, sizeof path, "tests/models/transducer/%s%s", where, file);
    return source_path(path);
}

/* Frames out of what was pushed in pieces of at most `most`, cut at random, into the sink. */
static struct story stream_through(const rill_plan *p, rill_sink *s, struct floats x, uint32_t most)
{
    struct story t = { 0 };
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *st = rill_stream_init(mem, p);
    size_t at = 0, n = 0, took;
    float y[64 * 24];
    story_add(&t, "%s", "");
    for (rill_status status = RILL_OK; status != RILL_END;) {
        size_t k = 1 + test_random(most);
        rill_stream_push(st, 0, x.v + at, k < x.n - at ? k : x.n - at, &took);
        at += took;
        if (at == x.n)
            rill_stream_finish(st);
        while ((status = rill_stream_run(st)) == RILL_OK)
            while (rill_stream_pull(st, 1, y, 1 + test_random(6), &n) == RILL_OK && n)
                for (size_t i = 0; i < n; i += took) {
                    rill_sink_push(s, y + 24 * i, n - i, &took);
                    story_events(&t, s);
                }
    }
    rill_sink_finish(s);
    story_events(&t, s);
    free(mem);
    return t;
}

/* ---- what the reference says ---- */

/* "beam 4 3@0 6@4" as the final of a sink where every token is a word. */
static bool line_matches(char *line, const rill_event *final, const struct token_name *names)
{
    char *save = NULL;
    uint32_t n = 0;
    strtok_r(line, " ", &save);
    strtok_r(NULL, " ", &save);
    for (char *w; (w = strtok_r(NULL, " \n", &save)); n++) {
        unsigned token, frame;
        if (sscanf(w, "%u@%u", &token, &frame) != 2 || n == final->n_words || token > 16)
            return false;
        const rill_word *have = &final->words[n];
        if (strcmp(have->text, names[token].text) || have->pos != (uint64_t) frame * HOP ||
            have->end_pos != have->pos + HOP) {
            printf("word %u is %s at %llu, not %s at %u\n", n, have->text,
                   (unsigned long long) have->pos, names[token].text, frame * HOP);
            return false;
        }
    }
    return n > 15 && n == final->n_words;
}

static void names_read(struct token_name *names)
{
    char line[64];
    FILE *f = fopen(own("tokens.txt"), "r");
    for (int i = 0; f && i < 17 && fgets(line, sizeof line, f); i++) {
        const char *word = !strncmp(line, "\xe2\x96\x81", 3) ? line + 3 : line;
        snprintf(names[i].text, sizeof names[i].text, "%.*s", (int) strcspn(word, " "), word);
    }
    if (f)
        fclose(f);
}

static void test_reference(const rill_plan *p, const float *frames, size_t n)
{
    struct token_name names[17] = { { "" } };
    rill_error err = { 0 };
    char line[4096];
    unsigned n_lines = 0;
    FILE *f = fopen(own("reference.txt"), "r");
    names_read(names);
    for (; f && fgets(line, sizeof line, f); n_lines++) {
        rill_sink_opts o = { .struct_bytes = sizeof o };
        rill_sink *s = NULL;
        rill_event v = { .struct_bytes = sizeof v };
        size_t took;
        CHECK(rill_sink_defaults(&o, p, 1, &err) == RILL_OK, "%s", err.text);
        o.units = RILL_UNITS_WORDS;
        o.rule1_ms = o.rule2_ms = o.rule3_ms = 0;
        o.beam = !strncmp(line, "beam", 4) ? (uint32_t) atoi(line + 5) : 1;
        o.max_symbols = o.beam == 1 ? (uint32_t) atoi(line + 7) : 0;
        CHECK(rill_sink_new(&s, p, 1, &o, &err) == RILL_OK, "%s", err.text);
        for (size_t at = 0; s && at < n; at += took) {
            rill_sink_push(s, frames + 24 * at, n - at, &took);
            while (rill_sink_next(s, &v) == RILL_OK)
                ;
        }
        rill_sink_finish(s);
        rill_status status = rill_sink_next(s, &v);
        CHECK(status == RILL_OK && v.kind == RILL_EVENT_FINAL && line_matches(line, &v, names),
              "%.10s: '%s'", line, v.text);
        rill_sink_free(s);
    }
    CHECK(n_lines == 6, "%u lines of reference", n_lines);
    if (f)
        fclose(f);
}

/* The decoder's and the joiner's streams leave the pool to others. */
static void test_alone(const rill_plan *p)
{
    rill_error err = { 0 };
    rill_sink *s = NULL;
    CHECK(rill_sink_new(&s, p, 1, NULL, &err) == RILL_OK, "%s", err.text);
    const struct transducer *t = s->state;
    const struct network *nets[] = { &t->decoder, &t->joiner };
    for (int alone = 1; alone >= 0; alone--) {
        rill_sink_alone(s, alone);
        for (unsigned i = 0; i < 2; i++)
            for (unsigned k = 0; k < nets[i]->n_streams; k++)
                CHECK(nets[i]->streams[k]->is_alone == (unsigned) alone, "%s, stream %u: not %d",
                      nets[i]->file, k, alone);
        CHECK(nets[0]->n_streams && nets[1]->n_streams, "networks run in streams");
    }
    rill_sink_free(s);
}

/* The encoder's frames, features included. */
static void test_frames(const rill_model *m, struct floats x, struct floats want)
{
    rill_error err = { 0 };
    struct floats whole = model_run_whole(m, x, &err), y = model_run_stream(m, x, 177, &err);
    CHECK(y.n == want.n && y.n == 60 * 24, "%zu values for %zu: %s", y.n, want.n, err.text);
    CHECK(whole.n == y.n && !memcmp(whole.v, y.v, y.n * sizeof *y.v),
          "the stream is not what the whole gives");
    float d = y.n == want.n ? max_difference(y.v, want.v, y.n) : INFINITY;
    printf("encoder frames: largest difference %g\n", (double) d);
    CHECK(d < 1e-3f, "encoder frames differ by %g", (double) d);
    free(whole.v);
    free(y.v);
}

/* Every nth frame of features: of make.py, and of kaldi-native-fbank with the options of icefall's
 * and of NeMo's recognisers (recognisers/reference.py). */
static const struct features {
    const char *file, *options;
    size_t step;
    float tolerance;
} features[] = {
    { "fbank.f32", "", 8, 1e-3f },
    { "fbank_icefall.f32", ", mirror = true, end = \"drop\"", 16, 1e-3f },
    { "fbank_nemo.f32",
      ", mirror = true, end = \"drop\", low = 0.0, high = 8000.0, mean = false, power = 1.0, "
      "periodic = true, slaney = true",
      16, 2e-4f },
};

static void features_compare(const struct features *f, struct floats y)
{
    struct floats want = floats_read(own(f->file));
    size_t n = want.n / 80;
    float worst = 0;
    CHECK(n == (260 + f->step - 1) / f->step && y.n >= 80 * (f->step * (n - 1) + 1),
          "%s: %zu frames, every %zuth to compare with %zu", f->file, y.n / 80, f->step, n);
    for (size_t i = 0; i < n && (f->step * i + 1) * 80 <= y.n; i++)
        worst = fmaxf(worst, max_difference(y.v + 80 * f->step * i, want.v + 80 * i, 80));
    printf("features of %s: largest difference %g\n", f->file, (double) worst);
    CHECK(worst < f->tolerance, "features of %s differ by %g", f->file, (double) worst);
    free(want.v);
}

static void test_features(struct floats x)
{
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        rill_error err = { 0 };
        rill_model *m = NULL;
        char graph[512];
        snprintf(graph, sizeof graph,
                 "version 1.0; graph f(pcm) -> (y) { pcm = external<scalar>(shape = [S]); y = "
                 "rill_fbank(pcm%s); }",
                 features[i].options);
        file_write(test_path("f.nnef", ""), graph, strlen(graph));
        CHECK(rill_model_open(&m, test_path("f.nnef", ""), &err) == RILL_OK, "%s", err.text);
        struct floats y = m ? model_run_stream(m, x, 333, &err) : (struct floats) { 0 };
        features_compare(&features[i], y);
        rill_model_free(m);
        free(y.v);
    }
}

/* Rule 2 counts from the end of the last word: `rule2_samples` behind it an utterance ends. */
static unsigned endpoints_in_place(const char *story, unsigned long long rule2_samples)
{
    unsigned long long word_end = 0, pos;
    unsigned n = 0;
    for (const char *line = story; line && *line; line = strchr(line, '\n') + 1) {
        if (sscanf(line, "final rule=%*d %*u..%llu", &pos) == 1)
            word_end = pos;
        if (sscanf(line, "endpoint rule=2 %llu", &pos) == 1 && ++n)
            CHECK(pos == word_end + rule2_samples, "an endpoint at %llu, the word ends at %llu",
                  pos, word_end);
    }
    return n;
}

static void test_cuts(const rill_plan *p, struct floats x, bool ends)
{
    for (uint32_t beam = 1; beam <= 4; beam += 3) {
        struct story first = { 0 };
        for (unsigned round = 0; round < 8; round++) {
            rill_sink_opts o = { .struct_bytes = sizeof o };
            rill_sink *s = NULL;
            rill_error err = { 0 };
            rill_sink_defaults(&o, p, 1, &err);
            o.beam = beam;
            o.rule2_ms = 160;
            CHECK(rill_sink_new(&s, p, 1, &o, &err) == RILL_OK && rill_sink_bytes(s) > 1000, "%s",
                  err.text);
            struct story t = stream_through(p, s, x, round ? 3u << 2 * round : 1000000);
            if (!round)
                first = t;
            CHECK(!strcmp(first.text, t.text), "beam %u, round %u:\n%s\nnot\n%s", beam, round,
                  t.text, first.text);
            if (round)
                story_drop(&t);
            rill_sink_free(s);
        }
        CHECK(strstr(first.text, "partial") && strstr(first.text, "final"), "%s", first.text);
        CHECK(!ends || (strstr(first.text, "endpoint rule=2") && strstr(first.text, "segment=2")),
              "%s", first.text);
        CHECK(!ends || endpoints_in_place(first.text, 2560) > 2, "%s", first.text);
        story_drop(&first);
    }
}

/* After a reset a sink says what a new one does, later by pos; a stream through a compiled plan
 * too. */
static void test_again(const rill_plan *p, struct floats x)
{
    rill_error err = { 0 };
    rill_sink *a = NULL, *b = NULL;
    char path[8192];
    snprintf(path, sizeof path, "%s", test_path("tiny.rill", ""));
    CHECK(rill_plan_save(p, path, &err) == RILL_OK, "%s", err.text);
    rill_plan *c = folder_plan(path, &err);
    CHECK(c, "%s", err.text);
    if (!c)
        return;
    CHECK(rill_sink_new(&a, p, 1, NULL, &err) == RILL_OK &&
              rill_sink_new(&b, c, 1, NULL, &err) == RILL_OK,
          "%s", err.text);
    struct story t = stream_through(p, a, x, 900), u = stream_through(c, b, x, 20000);
    CHECK(!strcmp(t.text, u.text), "compiled:\n%s\nnot\n%s", u.text, t.text);
    rill_sink_reset(a, 0);
    a->segment = 0;
    struct story again = stream_through(p, a, x, 5000);
    CHECK(!strcmp(t.text, again.text), "reset:\n%s\nnot\n%s", again.text, t.text);
    story_drop(&t);
    story_drop(&u);
    story_drop(&again);
    rill_sink_free(a);
    rill_sink_free(b);
    rill_plan_unref(c);
}

/* Streams of a plan share the weights of its decoder and joiner; a sink outlives the plan. */
static void test_sharing(const char *path)
{
    rill_error err = { 0 };
    rill_sink_opts a = { .struct_bytes = sizeof a }, b = { .struct_bytes = sizeof b };
    rill_sink *s = NULL;
    rill_event v = { .struct_bytes = sizeof v };
    size_t took;
    float zeros[24 * 8] = { 0 };
    rill_plan *p = folder_plan(path, &err);
    CHECK(p && rill_sink_defaults(&a, p, 1, &err) == RILL_OK &&
              rill_sink_defaults(&b, p, 1, &err) == RILL_OK,
          "%s", err.text);
    CHECK(a.decoder && a.decoder == b.decoder && a.joiner && a.joiner == b.joiner &&
              a.decoder != a.joiner,
          "the plans");
    CHECK(rill_sink_new(&s, p, 1, &a, &err) == RILL_OK, "%s", err.text);
    rill_plan_unref(p);
    CHECK(rill_sink_push(s, zeros, 8, &took) == RILL_OK, "push");
    while (rill_sink_next(s, &v) == RILL_OK)
        ;
    rill_sink_free(s);
}

/* Finals by cut, by a full text and by the rule of length lose and double nothing: their words are
 * those of one long text. */
static void test_finals(const rill_plan *p, const float *frames, size_t n)
{
    static const struct {
        uint32_t max_tokens, rule3_ms;
        unsigned cut_every;
    } ways[] = {
        { 192, 0, 0 }, { 192, 0, 7 }, { 4, 0, 0 }, { 4, 160, 0 }, { 192, 400, 0 },
    };
    char whole[1024] = "";
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        rill_sink_opts o = { .struct_bytes = sizeof o };
        rill_sink *s = NULL;
        rill_event v = { .struct_bytes = sizeof v };
        rill_error err = { 0 };
        char text[1024] = "";
        size_t took;
        rill_sink_defaults(&o, p, 1, &err);
        o.beam = 1;
        o.units = RILL_UNITS_WORDS;
        o.rule1_ms = o.rule2_ms = 0;
        o.rule3_ms = ways[i].rule3_ms;
        o.max_tokens = ways[i].max_tokens;
        CHECK(rill_sink_new(&s, p, 1, &o, &err) == RILL_OK, "%s", err.text);
        for (size_t at = 0; s && at <= n; at++) {
            if (at == n)
                rill_sink_finish(s);
            else
                rill_sink_push(s, frames + 24 * at, 1, &took);
            for (int twice = 0; twice < 2; twice++) {
                while (rill_sink_next(s, &v) == RILL_OK)
                    if (v.kind == RILL_EVENT_FINAL)
                        snprintf(text + strlen(text), sizeof text - strlen(text), " %s", v.text);
                if (ways[i].cut_every && at % ways[i].cut_every == 0)
                    rill_sink_cut(s);
            }
        }
        if (!i)
            strcpy(whole, text);
        CHECK(strlen(text) > 40 && !strcmp(text, whole), "way %zu: '%s', not '%s'", i, text, whole);
        rill_sink_free(s);
    }
}

/* ---- what does not fit ---- */

static void folder_make(const char *folder, const char *conf_tail, const char *const *files)
{
    static const char head[] = "[model]\nsample_rate = 16000\n[input.pcm]\nkind = "
                               "audio\n[output.encoder_out]\nkind = transducer\n";
    char conf[2048];
    mkdir(test_path(folder, ""), 0700);
    snprintf(conf, sizeof conf, "%s%s", head, conf_tail);
    file_write(test_path(folder, "model.conf"), conf, strlen(conf));
    for (; *files; files += 2)
        copy_into(folder, files[0], own(files[1]));
}

static const char *const all_files[] = { "graph.nnef",
                                         "graph.nnef",
                                         "encoder.onnx",
                                         "encoder.onnx",
                                         "decoder.onnx",
                                         "decoder.onnx",
                                         "joiner.onnx",
                                         "joiner.onnx",
                                         "tokens.txt",
                                         "tokens.txt",
                                         "wide.onnx",
                                         "decoder_wide.onnx",
                                         "few.onnx",
                                         "decoder_few.onnx",
                                         "fails.onnx",
                                         "decoder_fails.onnx",
                                         NULL };

static void refused(const char *conf_tail, bool at_open, const char *word)
{
    rill_error err = { 0 };
    rill_sink *s = NULL;
    folder_make("bad", conf_tail, all_files);
    rill_plan *p = folder_plan(test_path("bad", ""), &err);
    CHECK(!p == at_open, "%s: %s", conf_tail, err.text);
    if (p && !at_open)
        CHECK(rill_sink_new(&s, p, 1, NULL, &err) != RILL_OK, "%s", conf_tail);
    CHECK(strstr(err.text, word), "%s: '%s' has '%s'", conf_tail, err.text, word);
    rill_plan_unref(p);
}

#define NETS "decoder = decoder.onnx\njoiner = joiner.onnx\n"

/* A token that stands for no word is heard like a blank, however often it is the best. */
static void test_unknown(struct floats x)
{
    char tokens[512] = "", name[16];
    folder_make("unknown", NETS "tokens = tokens.txt\nunits = words\n", all_files);
    for (int i = 0; i < 17; i++) {
        snprintf(name, sizeof name, "w%d", i);
        snprintf(tokens + strlen(tokens), sizeof tokens - strlen(tokens), "%s %d\n",
                 i == 15 ? "<unk>" : name, i);
    }
    file_write(test_path("unknown", "tokens.txt"), tokens, strlen(tokens));
    rill_error err = { 0 };
    rill_plan *p = folder_plan(test_path("unknown", ""), &err);
    for (uint32_t beam = 1; p && beam <= 4; beam += 3) {
        rill_sink_opts o = { .struct_bytes = sizeof o };
        rill_sink *s = NULL;
        rill_sink_defaults(&o, p, 1, &err);
        o.beam = beam;
        CHECK(rill_sink_new(&s, p, 1, &o, &err) == RILL_OK, "%s", err.text);
        struct story t = stream_through(p, s, x, 5000);
        CHECK(strstr(t.text, "w5") && !strstr(t.text, "unk"), "beam %u: %s", beam, t.text);
        story_drop(&t);
        rill_sink_free(s);
    }
    CHECK(p, "%s", err.text);
    rill_plan_unref(p);
}

static void test_refusals(void)
{
    refused("tokens = tokens.txt\n", false, "decoder = FILE");
    refused("tokens = tokens.txt\ndecoder = decoder.onnx\n", false, "joiner = FILE");
    refused("tokens = tokens.txt\ndecoder = none.onnx\njoiner = joiner.onnx\n", true, "none.onnx");
    refused("tokens = tokens.txt\ndecoder = ../decoder.onnx\njoiner = joiner.onnx\n", true,
            "decoder.onnx");
    refused("tokens = tokens.txt\ndecoder = tokens.txt\njoiner = joiner.onnx\n", true,
            "tokens.txt");
    refused("tokens = tokens.txt\ndecoder = joiner.onnx\njoiner = joiner.onnx\n", false,
            "joiner.onnx: the decoder has 2 inputs and 1 outputs");
    refused("tokens = tokens.txt\ndecoder = decoder.onnx\njoiner = decoder.onnx\n", false,
            "decoder.onnx: the joiner has 1 inputs and 1 outputs");
    refused("tokens = tokens.txt\ndecoder = encoder.onnx\njoiner = joiner.onnx\n", false,
            "the decoder");
    refused("tokens = tokens.txt\ndecoder = wide.onnx\njoiner = joiner.onnx\n", false,
            "from the decoder ('decoder_out'), which gives 32");
    refused(NETS, false, "neither");
    refused(NETS "words = a,b,c\n", false, "joiner.onnx: 17 columns, of which number 3");
    refused(NETS "tokens = tokens.txt\nblank = 17\n", false, "the blank is token 17");
    refused(NETS "tokens = tokens.txt\nbeam = 65\n", true, "1 to 64");
    refused(NETS "tokens = tokens.txt\nmax_symbols = 17\n", true, "1 to 16");
}

/* A folder that lacks one of its files names it. */
static void test_missing(void)
{
    static const char *const files[] = { "graph.nnef", "encoder.onnx", "decoder.onnx",
                                         "joiner.onnx", "tokens.txt" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int cut = 0; cut < 2; cut++) {
            rill_error err = { 0 };
            size_t n = 0;
            folder_make("lacks", NETS "tokens = tokens.txt\n", all_files);
            const char *path = test_path("lacks", files[i]);
            char *data = file_read(path, &n);
            if (cut)
                file_write(path, data, n / 3);
            else
                remove(path);
            rill_sink *s = NULL;
            rill_plan *p = folder_plan(test_path("lacks", ""), &err);
            bool made = p && rill_sink_new(&s, p, 1, NULL, &err) == RILL_OK;
            /* a short list of tokens is no damaged one: columns without a name are counted */
            const char *word = cut && i == 4 ? "joiner.onnx: 17 columns"
                : cut && i == 0              ? "graph.nnef:"
                                             : files[i];
            CHECK(!made && strstr(err.text, word), "%s %s: %s", files[i], cut ? "cut" : "missing",
                  err.text);
            rill_sink_free(s);
            rill_plan_unref(p);
            free(data);
        }
}

/* As many states as a zipformer has, and a decoder that sees one token. */
static void test_many_states(struct floats x)
{
    rill_error err = { 0 };
    rill_model *m = NULL;
    char path[8192];
    where = "zip/";
    snprintf(path, sizeof path, "%s", own(""));
    struct floats want = floats_read(own("encoder.f32"));
    CHECK(rill_model_open(&m, path, &err) == RILL_OK, "%s", err.text);
    rill_plan *p = folder_plan(path, &err);
    CHECK(p, "%s", err.text);
    if (m && p) {
        test_frames(m, x, want);
        struct floats y = model_run_stream(m, x, 177, &err);
        test_reference(p, want.v, want.n / 24);
        test_reference(p, y.v, y.n / 24);
        test_alone(p);
        test_cuts(p, x, false);
        free(y.v);
    }
    rill_plan_unref(p);
    rill_model_free(m);
    free(want.v);
    where = "";
}

/* The file of a network with `to` in the place of what follows key in its metadata, of as many
 * bytes. */
static void meta_refused(const char *key, const char *to, const char *word)
{
    rill_error err = { 0 };
    rill_sink *s = NULL;
    size_t n = 0, at = 0, k = strlen(key);
    folder_make("meta", NETS "tokens = tokens.txt\n", all_files);
    char *data = file_read(own("decoder.onnx"), &n);
    while (data && at + k < n && memcmp(data + at, key, k))
        at++;
    CHECK(data && at + k + 1 + strlen(to) <= n, "no %s", key);
    memcpy(data + at + k + 1, to, strlen(to)); /* behind its length */
    file_write(test_path("meta", "decoder.onnx"), data, n);
    rill_plan *p = folder_plan(test_path("meta", ""), &err);
    CHECK(p && rill_sink_new(&s, p, 1, NULL, &err) == RILL_INVALID && strstr(err.text, word),
          "%s %s: %s", key, to, err.text);
    rill_plan_unref(p);
    free(data);
}

/* The graph with `to` in the place of `from`, of as many characters. */
static void graph_refused(const char *from, const char *to, bool at_open, const char *word)
{
    rill_error err = { 0 };
    rill_sink *s = NULL;
    size_t n = 0;
    folder_make("graph", NETS "tokens = tokens.txt\n", all_files);
    char *text = file_read(own("graph.nnef"), &n), *at;
    text[n] = 0;
    CHECK((at = strstr(text, from)) && strlen(from) == strlen(to), "no %s in the graph", from);
    memcpy(at, to, strlen(to));
    file_write(test_path("graph", "graph.nnef"), text, n);
    rill_plan *p = folder_plan(test_path("graph", ""), &err);
    bool made = !at_open && p && rill_sink_new(&s, p, 1, NULL, &err) == RILL_OK;
    CHECK(!p == at_open && !made && strstr(err.text, word), "%s: %s", to, err.text);
    rill_plan_unref(p);
    free(text);
}

/* A decoder that has no row for tokens that the joiner gives. */
static void test_few_rows(void)
{
    rill_error err = { 0 };
    rill_sink *s = NULL;
    folder_make("few", "decoder = few.onnx\njoiner = joiner.onnx\ntokens = tokens.txt\n",
                all_files);
    rill_plan *p = folder_plan(test_path("few", ""), &err);
    CHECK(p && rill_sink_new(&s, p, 1, NULL, &err) == RILL_INVALID &&
              strstr(err.text, "tokens up to 16") && strstr(err.text, "outside an axis of 5"),
          "%s", err.text);
    rill_plan_unref(p);
}

/* Everything until it takes no more frames, of which it took so many. */
static struct story story_until(rill_sink *s, const float *x, size_t n, size_t *ret_took)
{
    struct story t = { 0 };
    size_t took = 0;
    story_add(&t, "%s", "");
    for (*ret_took = 0;
         *ret_took < n && rill_sink_push(s, x + *ret_took * s->port.width, 1, &took) == RILL_OK;
         *ret_took += took)
        story_events(&t, s);
    return t;
}

static void fault_check(rill_sink *s, const float *frames, size_t n)
{
    rill_error err = { .text = "" };
    rill_event v = { .struct_bytes = sizeof v };
    size_t took = 0;
    CHECK(rill_sink_fault(s, &err) == RILL_OK, "%s", err.text);
    struct story t = story_until(s, frames, n, &took);
    CHECK(took > 10 && took < n && strstr(t.text, "final"), "after %zu frames: %s", took, t.text);
    CHECK(rill_sink_push(s, frames, 1, &took) == RILL_INVALID &&
              rill_sink_next(s, &v) == RILL_INVALID && rill_sink_fault(s, &err) == RILL_INVALID &&
              strstr(err.text, "fails.onnx: ") &&
              strstr(err.text, "'embedded' (Gather): index 99 is outside an axis of 17"),
          "%s", err.text);
    rill_sink_cut(s);
    rill_sink_finish(s);
    CHECK(rill_sink_next(s, &v) == RILL_INVALID, "after finish");
    story_drop(&t);
}

/* A decoder that fails at one token: what was heard before is final, then there is an error until
 * reset. */
static void test_fault(const float *frames, size_t n)
{
    rill_error err = { 0 };
    folder_make("fails", "decoder = fails.onnx\njoiner = joiner.onnx\ntokens = tokens.txt\n",
                all_files);
    rill_plan *p = folder_plan(test_path("fails", ""), &err);
    for (uint32_t beam = 1; p && beam <= 4; beam += 3) {
        rill_sink_opts o = { .struct_bytes = sizeof o };
        rill_sink *s = NULL;
        rill_sink_defaults(&o, p, 1, &err);
        o.beam = beam;
        o.rule1_ms = o.rule2_ms = o.rule3_ms = 0;
        CHECK(rill_sink_new(&s, p, 1, &o, &err) == RILL_OK, "%s", err.text);
        for (int again = 0; again < 2; again++) {
            fault_check(s, frames, n);
            rill_sink_reset(s, 0);
        }
        rill_sink_free(s);
    }
    CHECK(p, "%s", err.text);
    rill_plan_unref(p);
}

/* Scores and frames that are no numbers are no harm. */
static void test_odd_numbers(const float *frames, size_t n)
{
    rill_error err = { 0 };
    rill_sink *s = NULL;
    float *x = malloc(n * 24 * sizeof *x);
    folder_make("odd", NETS "tokens = tokens.txt\n", all_files);
    rill_plan *p = folder_plan(test_path("odd", ""), &err);
    CHECK(p && rill_sink_new(&s, p, 1, NULL, &err) == RILL_OK, "%s", err.text);
    for (size_t i = 0; i < 24 * n; i++)
        x[i] = i % 24 == 5 && i / 24 % 10 == 3 ? NAN : i / 24 % 10 == 7 ? INFINITY : frames[i];
    struct story t = story_of(s, x, n, 5, true);
    CHECK(strstr(t.text, "final"), "%s", t.text);
    story_drop(&t);
    rill_sink_free(s);
    rill_plan_unref(p);
    free(x);
}

int main(void)
{
    rill_error err = { 0 };
    rill_model *m = NULL;
    char path[8192];
    struct floats x = wav_read(own("audio.wav")), want = floats_read(own("encoder.f32"));
    test_root_make();
    snprintf(path, sizeof path, "%s", own(""));
    CHECK(x.n == 41600 && rill_model_open(&m, path, &err) == RILL_OK, "%s", err.text);
    rill_plan *p = folder_plan(path, &err);
    CHECK(p, "%s", err.text);
    if (m && p) {
        test_features(x);
        test_frames(m, x, want);
        struct floats y = model_run_stream(m, x, 177, &err);
        test_reference(p, want.v, want.n / 24);
        test_reference(p, y.v, y.n / 24);
        free(y.v);
        test_cuts(p, x, true);
        test_again(p, x);
        test_sharing(path);
        test_finals(p, want.v, want.n / 24);
    }
    test_many_states(x);
    test_unknown(x);
    test_missing();
    test_refusals();
    meta_refused("vocab_size\x12", "18",
                 "vocab_size of its metadata is '18', and the joiner gives 17");
    meta_refused("vocab_size\x12", "-1", "vocab_size of its metadata is '-1', and");
    meta_refused("vocab_size\x12", "1x", "vocab_size of its metadata is '1x', and");
    meta_refused("context_size\x12", "0",
                 "context_size of its metadata is '0', and its input is of 2 tokens");
    meta_refused("context_size\x12", "3",
                 "context_size of its metadata is '3', and its input is of 2 tokens");
    graph_refused("[-1, 24]", "[-1, 48]", false, "takes frames of 24");
    graph_refused("\"new_cached_*", "\"newacached_*", true, "no output 'newacached_key'");
    graph_refused("new_cached_*", "new_cached__", true, "both names have a *");
    graph_refused("\"cached_*", "\"cashed_*", true, "no input 'cashed_*'");
    test_few_rows();
    test_fault(want.v, want.n / 24);
    test_odd_numbers(want.v, want.n / 24);
    rill_plan_unref(p);
    rill_model_free(m);
    free(x.v);
    free(want.v);
    test_root_drop();
    return check_done();
}
