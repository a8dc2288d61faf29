/* SPDX-License-Identifier: MIT */
/* Texts, keywords and endpoints over the socket, of a model that reads what it is told
 * (tests/sinks/tones.h). */
#include "tests/daemon/harness.h"
#include "tests/daemon/meter.h"
#include "tests/sinks/tones.h"

#include <unistd.h>

static const char script[] =
    "....1.22.3........................111...4446........................7..5.....";
static struct rig rig;

/* What came, a line an event; partials are counted. */
struct heard {
    char story[65536], edges[1024], partial[4096];
    float y[1024];
    size_t n_y;
    unsigned n_partials, n_finals, n_bad;
    uint32_t segment;
    struct result r;
};

static void on_text(void *arg, const struct rill_client_text *t)
{
    struct heard *h = arg;
    size_t at = strlen(h->story);
    h->n_bad += t->segment != h->segment || t->stability < 0 || t->stability > 1 ||
        strlen(t->text) >= sizeof h->partial;
    for (size_t i = 0; i < t->n_words; i++)
        h->n_bad += t->words[i].pos >= t->words[i].end_pos || !strstr(t->text, t->words[i].text);
    if (!t->final) {
        h->n_partials++;
        snprintf(h->partial, sizeof h->partial, "%s", t->text);
        return;
    }
    h->segment++;
    h->n_finals++;
    at += (size_t) snprintf(h->story + at, sizeof h->story - at, "'%s'", t->text);
    for (size_t i = 0; i < t->n_words && at < sizeof h->story; i++)
        at += (size_t) snprintf(h->story + at, sizeof h->story - at, " %llu-%llu",
                                LLU(t->words[i].pos), LLU(t->words[i].end_pos));
    if (at < sizeof h->story)
        snprintf(h->story + at, sizeof h->story - at, "\n");
}

static void on_keyword(void *arg, const struct rill_client_keyword *k)
{
    struct heard *h = arg;
    size_t at = strlen(h->story);
    snprintf(h->story + at, sizeof h->story - at, "[%s] %llu-%llu %.2f\n", k->word, LLU(k->pos),
             LLU(k->end_pos), (double) k->score);
}

static void on_endpoint(void *arg, const struct rill_client_endpoint *e)
{
    struct heard *h = arg;
    size_t at = strlen(h->story);
    snprintf(h->story + at, sizeof h->story - at, "end %d %llu\n", e->rule, LLU(e->pos));
}

static void on_vad(void *arg, const struct rill_client_vad *v)
{
    static const char *const names[] = { "", "speech", "silence" };
    struct heard *h = arg;
    size_t at = strlen(h->edges);
    if (v->edge && at + 64 < sizeof h->edges)
        snprintf(h->edges + at, sizeof h->edges - at, "%s %llu ", names[v->edge], LLU(v->pos));
}

/* The first samples that came back. */
static void on_audio(void *arg, const struct rill_client_audio *a)
{
    struct heard *h = arg;
    size_t n = a->bytes / sizeof *h->y, room = sizeof h->y / sizeof *h->y - h->n_y;
    n = n < room ? n : room;
    memcpy(h->y + h->n_y, a->pcm, n * sizeof *h->y);
    h->n_y += n;
}

static void hear(struct heard *h, const struct rill_client_open *o, const float *x, size_t n,
                 size_t piece, uint64_t skip_at)
{
    const struct rill_client_events ev = { .arg = h,
                                           .text = on_text,
                                           .keyword = on_keyword,
                                           .endpoint = on_endpoint,
                                           .vad = on_vad,
                                           .audio = on_audio };
    struct rill_client *c = NULL;
    memset(h, 0, sizeof *h);
    bool good = rill_client_connect(&c, rig.sock, "test", 30000) == 0;
    if (good) {
        rill_client_set_events(c, &ev);
        good = rill_client_open(c, 7, o, &h->r.opened) == 0;
    }
    for (size_t at = 0, k; good && at < n; at += k) {
        k = n - at < piece ? n - at : piece;
        if (at < skip_at && at + k >= skip_at) {
            k = (size_t) skip_at - at;
            good = rill_client_send(c, 7, x + at, k * sizeof *x) == 0 &&
                rill_client_skip(c, 7, 8000) == 0;
        } else {
            good = rill_client_send(c, 7, x + at, k * sizeof *x) == 0;
        }
    }
    good = good && rill_client_finish(c, 7, &h->r.fin) == 0;
    CHECK_OF(c, good);
    CHECK(!h->n_bad, "%u events out of order or out of range", h->n_bad);
    rill_client_free(c);
}

static bool has(const struct heard *h, const char *line)
{
    return CHECK(strstr(h->story, line) != NULL, "no '%s' in:\n%s", line, h->story);
}

static const struct rill_client_open plain =
    OPEN(FILE, 8000, 1, F32, .model = "tones", .align = true);

static void test_story(void)
{
    static float x[sizeof script * TONES_HOP];
    static struct heard first, h;
    size_t n = tones_audio(x, script);
    hear(&first, &plain, x, n, 100000, 0);
    CHECK(first.r.opened.outputs ==
              (RILL_CLIENT_AUDIO | RILL_CLIENT_VAD | RILL_CLIENT_TEXT | RILL_CLIENT_KEYWORD |
               RILL_CLIENT_ENDPOINT),
          "outputs %x", first.r.opened.outputs);
    has(&first, "'one two' 320-400 480-800\nend 2 2400\n");
    has(&first, "'one threes' 2720-2960 3200-3520\nend 2 5120\n");
    has(&first, "'four' 5680-5760\n");
    has(&first, "[up] 480-640 0.90\n");
    has(&first, "[yes] 2720-2880 0.90\n");
    CHECK(first.n_finals == 3, "%u finals", first.n_finals);
    CHECK(first.r.fin.out == n && first.r.fin.vad_frames == n / 80 - 1,
          "%llu of %zu samples, %llu probabilities", LLU(first.r.fin.out), n,
          LLU(first.r.fin.vad_frames));
    for (size_t piece = 37; piece < 3000; piece = piece * 5 + 1) {
        hear(&h, &plain, x, n, piece, 0);
        CHECK(h.n_finals == 3 && strlen(h.story) == strlen(first.story),
              "pieces of %zu:\n%s\nnot\n%s", piece, h.story, first.story);
        has(&h, "'one threes' 2720-2960 3200-3520\nend 2 5120\n");
    }
}

/* Nothing that is heard ends behind the samples that came, of a model that hears silence before its
 * start and behind its end; what was padded in front is no part of positions. */
static void test_end(void)
{
    static const char late[] = "rill_frame(pad(pcm, padding = [(400, 400)])";
    static float x[32 * TONES_HOP];
    static struct heard h;
    char path[256], graph[2048];
    struct rill_client_open o = plain;
    const char *at = strstr(tones_graph, "rill_frame(pcm");
    size_t n = tones_audio(x, "..........1122..4444");
    snprintf(path, sizeof path, "%s/models/late", rig.dir);
    snprintf(graph, sizeof graph, "%.*s%s%s", (int) (at - tones_graph), tones_graph, late,
             at + strlen("rill_frame(pcm"));
    CHECK(tones_write(path,
                      "[model]\nsample_rate = 8000\n[input.pcm]\nkind = audio\n[output.logp]\n"
                      "kind = ctc\ntokens = tokens.txt\nscores = logits\nbeam = 1\n",
                      NULL) &&
              tones_file(path, "graph.nnef", graph),
          "%s", path);
    o.model = "late";
    for (size_t piece = 37; piece < 3000; piece = piece * 5 + 1) {
        hear(&h, &o, x, n, piece, 0);
        has(&h, "'one t three' 880-1040 1040-1200 1360-1600\n");
    }
}

/* What was heard so far comes before its end, and changes. */
static void test_partials(void)
{
    static float x[sizeof script * TONES_HOP];
    static struct heard h;
    const struct rill_client_events ev = { .arg = &h, .text = on_text };
    static const char *const said[] = { "one t", "one two" };
    static const size_t until[] = { 10, 14 }; /* places in the script, at ends of pulses */
    size_t at = 0, n = tones_audio(x, script);
    memset(&h, 0, sizeof h);
    struct rill_client *c = client_of(rig.sock, "test");
    rill_client_set_events(c, &ev);
    CHECK_OF(c, rill_client_open(c, 7, &plain, NULL) == 0);
    for (int k = 0; k < 2; k++) {
        CHECK(rill_client_send(c, 7, x + at, (until[k] * TONES_HOP - at) * sizeof *x) == 0);
        at = until[k] * TONES_HOP;
        for (uint64_t end = now_ms() + 20000; strcmp(h.partial, said[k]) && now_ms() < end;)
            rill_client_poll(c, 100);
        CHECK(!strcmp(h.partial, said[k]) && !h.n_finals, "'%s', %u finals", h.partial, h.n_finals);
    }
    CHECK_OF(c,
             rill_client_send(c, 7, x + at, (n - at) * sizeof *x) == 0 &&
                 rill_client_finish(c, 7, NULL) == 0 && h.n_finals == 3);
    rill_client_free(c);
}

/* Only what is asked for. */
static void test_wants(void)
{
    static float x[sizeof script * TONES_HOP];
    static struct heard h;
    struct rill_client_open o = plain;
    size_t n = tones_audio(x, script);
    o.want = RILL_CLIENT_KEYWORD;
    hear(&h, &o, x, n, 1000, 0);
    CHECK(h.r.opened.outputs == RILL_CLIENT_KEYWORD && !h.n_finals && !h.n_partials &&
              !strstr(h.story, "end"),
          "%s", h.story);
    has(&h, "[yes]");
    o.want = RILL_CLIENT_ENDPOINT;
    hear(&h, &o, x, n, 1000, 0);
    CHECK(!h.n_finals && !strstr(h.story, "[yes]"), "%s", h.story);
    has(&h, "end 2 2400\nend 2 5120\n");
    o.want = RILL_CLIENT_TEXT;
    hear(&h, &o, x, n, 1000, 0);
    CHECK(h.n_finals == 3 && !strstr(h.story, "end"), "%s", h.story);
}

/* What a client changes of the sinks counts for its stream alone. */
static void test_options(void)
{
    static const char *const quick[] = { "rule2_ms", "100", "keyword_threshold", "0.85", "beam",
                                         "1",        NULL };
    static const char *const deaf[] = {
        "rule2_ms", "0", "rule1_ms", "0", "keyword_threshold", "0.95", "vad_threshold", "0.9", NULL
    };
    static const char *const held[] = { "stability", "1", NULL };
    static float x[sizeof script * TONES_HOP];
    static struct heard h, plainly;
    struct rill_client_open o = plain;
    size_t n = tones_audio(x, script);
    hear(&plainly, &plain, x, n, 1000, 0);
    o.options = quick;
    hear(&h, &o, x, n, 1000, 0);
    has(&h, "'one two' 320-400 480-800\nend 2 1600\n");
    has(&h, "[yes] 2720-2880 0.90\n");
    o.options = deaf;
    hear(&h, &o, x, n, 1000, 0);
    CHECK(h.n_finals == 1 && !strstr(h.story, "[") && !strstr(h.story, "end"), "%s", h.story);
    o.options = held;
    hear(&h, &o, x, n, 1000, 0);
    CHECK(h.n_finals == 3 && h.n_partials <= plainly.n_partials, "%u partials of %u", h.n_partials,
          plainly.n_partials);
    hear(&h, &plain, x, n, 1000, 0);
    CHECK(!strcmp(h.story, plainly.story), "%s", h.story);
}

/* A detector is read as its output's section says, before [vad]; a client's options go before
 * both. The sound is 0.9, from 480 on 0.3, from 800 on nothing; an edge stands at the frame that
 * tells. */
static void test_detector(void)
{
    static const struct {
        const char *section; /* of the detector's output */
        const char *options[5];
        const char *want;
    } cases[] = {
        { "", { NULL }, "speech 160 silence 880 " },
        { "release = 0.2\n", { NULL }, "speech 160 silence 1200 " },
        { "hangover_ms = 200\n", { NULL }, "speech 160 silence 2000 " },
        { "threshold = 0.25\nrelease = 0.2\nhangover_ms = 30\n",
          { NULL },
          "speech 160 silence 960 " },
        { "threshold = 0.95\n", { NULL }, "" },
        { "threshold = 0.95\n", { "vad_threshold", "0.8", NULL }, "speech 160 silence 880 " },
        { "release = 0.2\nhangover_ms = 200\n",
          { "vad_release", "0.35", "vad_hangover_ms", "30" },
          "speech 160 silence 640 " },
        { "release = 0.2\nhangover_ms = 200\n",
          { "vad_threshold", "0", "vad_release", "0" },
          "speech 160 silence 2320 " },
    };
    static float x[64 * TONES_HOP];
    static struct heard h;
    static char script_of[64], conf[4096], path[256];
    memset(script_of, '.', sizeof script_of - 1);
    memset(script_of + 2, '1', 8);
    size_t n = tones_audio(x, script_of);
    for (size_t i = 6 * TONES_HOP; i < 10 * TONES_HOP; i++)
        x[i] /= 3;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        struct rill_client_open o = plain;
        snprintf(name, sizeof name, "ear%zu", i);
        snprintf(path, sizeof path, "%s/models/%s", rig.dir, name);
        snprintf(conf, sizeof conf,
                 "[model]\ntask = vad\nsample_rate = 8000\n"
                 "[vad]\nthreshold = 0.5\nrelease = 0.4\nhangover_ms = 60\n"
                 "[input.pcm]\nkind = audio\n[output.speech]\nkind = vad\n%s",
                 cases[i].section);
        CHECK(tones_write(path, conf, NULL), "%s", path);
        o.model = name;
        o.want = RILL_CLIENT_VAD | RILL_CLIENT_ENDPOINT;
        o.options = cases[i].options;
        hear(&h, &o, x, n, 1000, 0);
        CHECK(!strcmp(h.edges, cases[i].want), "'%s': %s, not %s", cases[i].section, h.edges,
              cases[i].want);
    }
}

/* A model whose sound ends short, as no frame is half full: nothing is heard in what the daemon
 * would put behind the end, and silence follows the sound. A frame of zeros would be a word. */
static const char short_graph[] =
    "version 1.0;\n"
    "graph g(pcm) -> (clean, prob, %slogp)\n"
    "{\n"
    "    pcm = external<scalar>(shape = [S]);\n"
    "    clean = rill_overlap_add(rill_frame(pcm, size = 160, hop = 80, end = \"drop\") * 0.5, hop "
    "= 80);\n"
    "    frames = rill_frame(pcm, size = 80, hop = 80, end = \"drop\");\n"
    "    columns = squeeze(mean_reduce(reshape(frames, shape = [-1, 8, 10]), axes = [2]), axes = "
    "[2]);\n"
    "    logp = columns * 20.0;\n"
    "    prob = slice(columns, axes = [1], begin = [0], end = [1]) * 6.0 + 0.8;\n"
    "    speech = squeeze(prob * 0.0 + 0.9, axes = [1]);\n"
    "}\n";

static void short_model_make(const char *name, bool gated)
{
    char path[256], graph[sizeof short_graph + 16], conf[1024];
    snprintf(path, sizeof path, "%s/models/%s", rig.dir, name);
    snprintf(graph, sizeof graph, short_graph, gated ? "speech, " : "");
    snprintf(conf, sizeof conf,
             "[model]\ntask = asr\nsample_rate = 8000\n[input.pcm]\nkind = audio\n"
             "[output.clean]\nkind = audio\n[output.prob]\nkind = keyword\nwords = "
             "zero\nthreshold = 0.7\n%s"
             "[output.logp]\nkind = ctc\ntokens = tokens.txt\nscores = logits\nbeam = 1\nunits = "
             "words\n",
             gated ? "[output.speech]\nkind = vad\nhangover_ms = 0\npreroll_ms = 0\n" : "");
    CHECK(tones_write(path, conf,
                      "zero 0\none 1\ntwo 2\nthree 3\nfour 4\nfive 5\nsix 6\n<blk> 7\n") &&
              tones_file(path, "graph.nnef", graph),
          "%s", path);
}

static void test_short_sound(void)
{
    static const char said[] = "717273717";
    static float x[sizeof said * TONES_HOP];
    static struct heard h;
    size_t n = tones_audio(x, said), end = n;
    n += 70;
    memset(x + end, 0, 70 * sizeof *x);
    for (int gated = 0; gated < 2; gated++) {
        struct rill_client_open o = plain;
        o.model = gated ? "shortgated" : "short";
        short_model_make(o.model, gated);
        hear(&h, &o, x, n, 1000, 0);
        CHECK(!strcmp(h.story, "'one two three one' 80-160 240-320 400-480 560-640\n"), "%s: %s",
              o.model, h.story);
        CHECK(h.r.fin.out == n && h.r.fin.vad_frames == (gated ? end / 80 : 0),
              "%llu samples of %zu, %llu probabilities", LLU(h.r.fin.out), n,
              LLU(h.r.fin.vad_frames));
        size_t wrong = 0;
        for (size_t i = 0; i < n; i++)
            wrong += h.n_y != n || h.y[i] != (i >= end - 80 ? 0 : i < 80 ? 0.5f * x[i] : x[i]);
        CHECK(!wrong, "%zu samples of %zu", wrong, h.n_y);
    }
}

/* The same with 400 samples of silence behind the end, in which it hears "zero". */
static void padded_model_make(const char *name, bool gated)
{
    char path[256], graph[sizeof short_graph + 64], whole[sizeof graph + 16];
    const char *frames = strstr(short_graph, "frames = ") + strlen("frames = ");
    snprintf(path, sizeof path, "%s/models/%s", rig.dir, name);
    snprintf(graph, sizeof graph, "%.*srill_frame(pad(pcm, padding = [(0, 400)]), %s",
             (int) (frames - short_graph), short_graph, strstr(frames, "size"));
    const char *outs = strstr(graph, "%s");
    snprintf(whole, sizeof whole, "%.*s%s%s", (int) (outs - graph), graph, gated ? "speech, " : "",
             outs + 2);
    short_model_make(name, gated);
    CHECK(tones_file(path, "graph.nnef", whole), "%s", path);
}

/* What is heard in what a model puts behind the end lies in the last frame of what was sent, at the
 * client's rate too; what a detector says of it is not told. */
static void test_padded_end(void)
{
    static const char said[] = "717273717";
    static const struct {
        const char *model;
        unsigned rate;
        const char *want, *keyword;
    } cases[] = {
        { "padded", 8000, "'one two three one zero' 80-160 240-320 400-480 560-640 720-790\n",
          "[zero] 720-790 " },
        { "padded", 16000, " 1440-1579\n", "[zero] 1440-1579 " },
        { "paddedgated", 8000, " 560-640", "" },
        { "paddedgated", 16000, " 1120-1280", "" },
    };
    static float x[2 * sizeof said * TONES_HOP];
    static struct heard h;
    padded_model_make("padded", false);
    padded_model_make("paddedgated", true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rill_client_open o = plain;
        unsigned times = cases[i].rate / 8000;
        size_t n = tones_audio(x, said), end = n * times;
        for (size_t k = end; times > 1 && k--;)
            x[k] = x[k / times];
        n = 790 * times - (times - 1);
        memset(x + end, 0, (n - end) * sizeof *x);
        o.model = cases[i].model;
        o.in.rate = cases[i].rate;
        hear(&h, &o, x, n, 1000, 0);
        has(&h, cases[i].want);
        has(&h, cases[i].keyword);
        CHECK(h.r.fin.vad_frames == (strstr(o.model, "gated") ? 10 : 0), "%s: %llu probabilities",
              o.model, LLU(h.r.fin.vad_frames));
    }
}

static void test_bad_options(void)
{
    static const char *const bad[][3] = {
        { "beam", "0", NULL },
        { "beam", "65", NULL },
        { "beam", "four", NULL },
        { "beam", "", NULL },
        { "beam", "1.5", NULL },
        { "beam", "0x4", NULL },
        { "stability", "0x1p-1", NULL },
        { "rule2_ms", "99.5", NULL },
        { "beem", "4", NULL },
        { "stability", "1.01", NULL },
        { "stability", "nan", NULL },
        { "rule1_ms", "-1", NULL },
        { "rule3_ms", "3600001", NULL },
        { "rule2_ms", "1e99", NULL },
        { "smooth_frames", "0", NULL },
        { "debounce_ms", "inf", NULL },
        { "keyword_threshold", "2", NULL },
        { "vad_hangover_ms", "60001", NULL },
        { "blank_penalty", "101", NULL },
        { "hotwords_score", "x", NULL },
        { "lm_scale", "-101", NULL },
    };
    struct rill_client_open o = plain;
    struct rill_client *c = client_of(rig.sock, "test");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.options = bad[i];
        CHECK(rill_client_open(c, 1, &o, NULL) < 0 &&
                  strstr(rill_client_error(c), "beam (1 to 64)"),
              "%s = %s: %s", bad[i][0], bad[i][1], rill_client_error(c));
    }
    o.options = (const char *const[]) { "beam", "64", "rule3_ms", "3600000", NULL };
    CHECK_OF(c, rill_client_open(c, 1, &o, NULL) == 0);
    o.options = (const char *const[]) {
        "vad_threshold",
        "0.5",
        "vad_release",
        "0.4",
        "vad_hangover_ms",
        "1",
        "beam",
        "4",
        "stability",
        "0.5",
        "confidence",
        "0",
        "blank_penalty",
        "0",
        "hotwords_score",
        "1",
        "lm_scale",
        "1",
        "rule1_ms",
        "0",
        "rule2_ms",
        "0",
        "rule3_ms",
        "0",
        "smooth_frames",
        "1",
        "keyword_threshold",
        "0.5",
        "debounce_ms",
        "0",
        "patience_frames",
        "1",
        "hotwords",
        "",
        "lm",
        "",
        NULL,
    };
    CHECK_OF(c, rill_client_open(c, 2, &o, NULL) == 0); /* all that there are */
    rill_client_free(c);
}

/* What a transducer alone obeys. */
static void test_options_of_transducers(void)
{
    static const char *const of_transducers[][3] = { { "hotwords", "one two", NULL },
                                                     { "lm", "\\data\\", NULL },
                                                     { "blank_penalty", "0.5", NULL } };
    struct rill_client_open o = plain;
    struct rill_client *c = client_of(rig.sock, "test");
    for (size_t i = 0; i < 2 * sizeof of_transducers / sizeof *of_transducers; i++) {
        o.options = of_transducers[i / 2];
        o.model = i % 2 ? "paddedgated" : plain.model; /* gated: its words are in a plan apart */
        CHECK(rill_client_open(c, 1, &o, NULL) < 0 &&
                  rill_client_error_code(c) == RILL__CODE__BAD_ARG &&
                  strstr(rill_client_error(c), "has no transducer, which hotwords"),
              "%s of %s: %s", o.options[0], o.model, rill_client_error(c));
    }
    rill_client_free(c);
}

/* Positions are the client's, at whatever rate it sends. */
static void test_rate(void)
{
    static float x[sizeof script * TONES_HOP], twice[2 * sizeof script * TONES_HOP];
    static struct heard h;
    struct rill_client_open o = plain;
    size_t n = tones_audio(x, script);
    unsigned long long from = 0, to = 0, end = 0;
    for (size_t i = 0; i < 2 * n; i++)
        twice[i] = x[i / 2];
    o.in.rate = 16000;
    hear(&h, &o, twice, 2 * n, 1000, 0);
    const char *three = strstr(h.story, "'one threes' "),
               *over = three ? strstr(three, "end 2 ") : NULL;
    CHECK(three && sscanf(three, "'one threes' %llu-%llu", &from, &to) == 2 && from == 2 * 2720 &&
              to == 2 * 2960,
          "%s", h.story);
    CHECK(over && sscanf(over, "end 2 %llu", &end) == 1 && end == 2 * 5120, "%s", h.story);
}

/* A jump ends the utterance; positions after it are those of the client. */
static void test_jump(void)
{
    static float x[sizeof script * TONES_HOP];
    static struct heard h;
    size_t n = tones_audio(x, script);
    hear(&h, &plain, x, n, 1000, 12 * TONES_HOP);
    has(&h, "'one two' 320-400 480-800\n");
    has(&h, "'one threes' 10720-10960 11200-11520\n");
    CHECK(h.n_finals == 3, "%s", h.story);
}

/* Who reads nothing until the end gets every final, and the newest partials only. */
static void test_slow_reader(void)
{
    enum { FRAMES = 1900 };
    static float x[FRAMES * TONES_HOP];
    static char long_script[FRAMES + 1];
    static struct heard h;
    Rill__Output want = RILL__OUTPUT__OUTPUT_TRANSCRIPT;
    for (int i = 0; i < FRAMES; i++)
        long_script[i] = i % 60 > 30 ? '.' : i % 4 ? "1542"[i / 4 % 4] : '.';
    size_t n = tones_audio(x, long_script);
    hear(&h, &plain, x, n, 4000, 0);
    unsigned finals = h.n_finals, partials = 0, came = 0;
    CHECK(finals > 20, "%u finals", finals);
    OPEN_FRAME(f, m, 1, "tones", 8000, F32LE);
    m.want = &want;
    m.n_want = 1;
    f.req = 2;
    struct meter meter;
    meter_start(&meter, rig.sock, "tones");
    int fd = raw_hello(rig.sock);
    raw_frame(fd, &f);
    Rill__ServerFrame *a = raw_answer(fd, 10000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_OPENED, "opened");
    rill__server_frame__free_unpacked(a, NULL);
    for (uint32_t i = 0; i * 1600 < n; i++) { /* credit grows with the work, whoever reads it */
        if (!meter_wait(&meter, (i + 1) * 1600))
            break;
        size_t left = n - i * 1600;
        raw_audio(fd, 1, i, i * 1600, false, x + i * 1600, left < 1600 ? left : 1600);
    }
    meter_wait(&meter, n + 12000 - 800); /* nearly all was computed before anything is read */
    raw_finish(fd, 1);
    for (bool end = false; !end && (a = raw_answer(fd, 10000));) {
        end =
            a->m_case == RILL__SERVER_FRAME__M_FINISHED || a->m_case == RILL__SERVER_FRAME__M_ERROR;
        CHECK(a->m_case != RILL__SERVER_FRAME__M_ERROR, "%s",
              a->m_case == RILL__SERVER_FRAME__M_ERROR ? a->error->text : "");
        if (a->m_case == RILL__SERVER_FRAME__M_TEXT) {
            *(a->text->final ? &came : &partials) += 1;
            CHECK(a->text->seg + a->text->final == came, "segment %u after %u finals", a->text->seg,
                  came);
        }
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(came == finals, "%u finals, expected %u", came, finals);
    CHECK(partials < FRAMES / 4, "%u partials", partials);
    rill_client_free(meter.c);
    close(fd);
}

/* A model whose sink cannot be made fails when it is loaded, and says why. */
static void test_bad_model(void)
{
    struct rill_client_open o = plain;
    o.model = "bad";
    struct rill_client *c = client_of(rig.sock, "test");
    CHECK_OF(c, rill_client_open(c, 1, &o, NULL) < 0 && strstr(rill_client_error(c), "8 columns"));
    rill_client_free(c);
}

/* A subscriber gets the words that the publisher gets. */
static void test_topic(void)
{
    static struct heard own, other;
    static float x[sizeof script * TONES_HOP];
    const struct rill_client_publish p = { .topic = "words", .keep_ms = 60000 };
    const struct rill_client_subscribe s = { .topic = "words" };
    struct rill_client_events ev = {
        .arg = &own, .text = on_text, .keyword = on_keyword, .endpoint = on_endpoint
    };
    struct rill_client *source = NULL, *reader = NULL;
    size_t n = tones_audio(x, script);
    source = client_of(rig.sock, "source");
    reader = client_of(rig.sock, "reader");
    rill_client_set_events(source, &ev);
    ev.arg = &other;
    rill_client_set_events(reader, &ev);
    CHECK_OF(source,
             rill_client_open(source, 1, &plain, NULL) == 0 &&
                 rill_client_publish(source, 1, &p, NULL) == 0);
    CHECK_OF(reader, rill_client_subscribe(reader, 1, &s, NULL) == 0);
    size_t first = 14 * TONES_HOP;
    CHECK_OF(source, rill_client_send(source, 1, x, first * sizeof *x) == 0);
    for (uint64_t end = now_ms() + 20000; !other.n_partials && now_ms() < end;)
        rill_client_poll(reader, 100);
    CHECK_OF(source,
             rill_client_send(source, 1, x + first, (n - first) * sizeof *x) == 0 &&
                 rill_client_finish(source, 1, NULL) == 0);
    while (!rill_client_ended(reader, 1))
        if (!CHECK_OF(reader, rill_client_poll(reader, 10000) > 0))
            break;
    CHECK(own.n_finals > 0 && strcmp(own.story, other.story) == 0, "%s is not %s", own.story,
          other.story);
    CHECK(!other.n_bad && other.n_partials > 0 && other.n_partials <= n / TONES_HOP, "%u partials",
          other.n_partials);
    rill_client_free(source);
    rill_client_free(reader);
}

int main(void)
{
    char more[256], path[256];
    if (is_fake())
        return check_end();
    rig_dir(&rig);
    snprintf(path, sizeof path, "%s/models", rig.dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/models/tones", rig.dir);
    CHECK(tones_write(path, NULL, NULL), "the model");
    snprintf(path, sizeof path, "%s/models/bad", rig.dir);
    CHECK(tones_write(path, NULL, "a 0\nb 1\n"), "the bad model");
    snprintf(more, sizeof more, "[models]\nmodel_path = %s/models\n", rig.dir);
    rig_conf(&rig, more);
    char *argv[] = { getenv("RILLD"), (char *) (uintptr_t) "--config", rig.conf, NULL };
    if (!CHECK(rig_spawn(&rig, argv) && rig_wait_ready(&rig), "%s", rig_log(&rig)))
        return check_end();
    test_story();
    test_end();
    test_partials();
    test_wants();
    test_options();
    test_detector();
    test_short_sound();
    test_padded_end();
    test_bad_options();
    test_options_of_transducers();
    test_rate();
    test_jump();
    test_slow_reader();
    test_topic();
    test_bad_model();
    CHECK(rig_stop(&rig) == 0, "the daemon ends well");
    return check_end();
}
