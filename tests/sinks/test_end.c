/* SPDX-License-Identifier: MIT */
/* Where the input ends: frames that stand for samples behind it are heard, and nothing that they
 * say lies there, wherever the sink learns of the end and however the input comes in. */
#include "sinks/gate.h"
#include "tests/sinks/streamed.h"
#include "tests/sinks/tones.h"

#define HOP 100

/* ---- by hand ---- */

/* Columns of a frame by its character: '.' is column 0, 'a' column 1. */
static void columns_make(float *x, const char *script, uint32_t width)
{
    for (size_t t = 0; script[t]; t++)
        for (uint32_t i = 0; i < width; i++)
            x[t * width + i] = i == (script[t] == '.' ? 0 : (uint32_t) (script[t] - 'a') + 1);
}

/* Events as "w1-3" in tenths of frames; of texts the words of finals. */
static void end_story(struct story *t, rill_sink *s, uint64_t *last)
{
    rill_event v = { .struct_bytes = sizeof v };
    while (rill_sink_next(s, &v) == RILL_OK) {
        bool is_text = v.kind == RILL_EVENT_FINAL || v.kind == RILL_EVENT_PARTIAL;
        for (uint32_t i = 0; i < v.n_words; i++) {
            const rill_word *w = &v.words[i];
            CHECK(w->pos <= w->end_pos && (!i || w->pos >= w[-1].end_pos), "'%s' in order",
                  w->text);
            if (v.kind == RILL_EVENT_FINAL)
                story_add(t, "%s%g-%g ", w->text, (double) w->pos / HOP, (double) w->end_pos / HOP);
        }
        CHECK(v.pos <= v.end_pos && v.end_pos <= s->end_pos, "%llu..%llu of %llu",
              (unsigned long long) v.pos, (unsigned long long) v.end_pos,
              (unsigned long long) s->end_pos);
        CHECK(!is_text || (v.pos == v.words[0].pos && v.end_pos == v.words[v.n_words - 1].end_pos),
              "'%s' spans its words", v.text);
        CHECK(v.kind == RILL_EVENT_PARTIAL || v.pos >= *last, "in order");
        *last = v.kind == RILL_EVENT_PARTIAL ? *last : v.pos;
        if (!is_text)
            story_add(t, "%c%s%g-%g ", "SEK??#"[v.kind], v.text, (double) v.pos / HOP,
                      (double) v.end_pos / HOP);
    }
}

/* The input ends at end_pos; the sink is told so before any of the frames that end before it. */
static void end_is(const rill_sink_opts *o, uint32_t width, const char *script, uint64_t end_pos,
                   const char *want)
{
    float x[512];
    size_t n = strlen(script), took;
    columns_make(x, script, width);
    rill_sink *s = test_sink(o, width, HOP);
    for (size_t told = 0; told <= end_pos / HOP && told <= n; told++) {
        struct story t = { 0 };
        uint64_t last = 0;
        story_add(&t, "%s", "");
        rill_sink_reset(s, 0);
        for (size_t at = 0; at < n; at += took) {
            if (at == told)
                rill_sink_end(s, end_pos);
            rill_sink_push(s, x + at * width, at < told ? 1 : n - at, &took);
            end_story(&t, s, &last);
        }
        if (told == n)
            rill_sink_end(s, end_pos);
        rill_sink_finish(s);
        end_story(&t, s, &last);
        CHECK(!strcmp(t.text, want), "%s, end %llu told at %zu: '%s', expected '%s'", script,
              (unsigned long long) end_pos, told, t.text, want);
        story_drop(&t);
    }
    rill_sink_free(s);
}

static void words_by_hand(uint32_t beam)
{
    rill_sink_opts o = {
        .kind = RILL_PORT_CTC, .words = "<blk>,a,b,c", .scores = RILL_SCORES_PROBS, .beam = beam
    };
    end_is(&o, 4, "..aa.bb", 700, "a2-4 b5-7 ");
    end_is(&o, 4, "..aa.bb", 900, "a2-4 b5-7 ");
    end_is(&o, 4, "..aa.bb", 650, "a2-4 b5-6.5 ");
    end_is(&o, 4, "..aa.bb", 550, "a2-4 b5-5.5 ");
    end_is(&o, 4, "..aa.bb", 500, "a2-4 b4-5 ");       /* behind the end: the last frame */
    end_is(&o, 4, "..aa.bb", 350, "a2-3.5 b3.5-3.5 "); /* where there is no room in it */
    end_is(&o, 4, "..aa.bb", 150, "a1-1.5 b1.5-1.5 ");
    end_is(&o, 4, "..aa.bb", 0, "a0-0 b0-0 ");
    o.rule2_ms = 12; /* two frames */
    end_is(&o, 4, "..a..b..c", 550, "a2-3 #5-5 b5-5.5 #5.5-5.5 c5.5-5.5 ");
    end_is(&o, 4, "..a..b..c", 350, "a2-3 #3.5-3.5 b3.5-3.5 #3.5-3.5 c3.5-3.5 ");
}

static void edges_by_hand(void)
{
    rill_sink_opts o = { .kind = RILL_PORT_VAD };
    end_is(&o, 1, "..", 200, "S0-1 E2-2 "); /* one column: '.' is 1, 'a' is 0 */
    end_is(&o, 1, "a..a", 250, "S1-2 E2.5-2.5 ");
    end_is(&o, 1, "aa..a", 150, "S1-1.5 E1.5-1.5 ");
    end_is(&o, 1, "a.a.a", 250, "S1-2 E2-2.5 S2-2.5 E2.5-2.5 ");
    end_is(&o, 1, ".a.a", 150, "S0-1 E1-1.5 S1-1.5 E1.5-1.5 ");
    o.rule2_ms = 12;
    end_is(&o, 1, ".aa.aa", 250, "S0-1 E1-2 #2.5-2.5 S2.5-2.5 E2.5-2.5 #2.5-2.5 ");
    o = (rill_sink_opts) { .kind = RILL_PORT_KEYWORD, .words = "x,yes,no", .ignore = "x" };
    end_is(&o, 3, ".a.b", 400, "Kyes1-2 Kno3-4 ");
    end_is(&o, 3, ".a.b", 350, "Kyes1-2 Kno3-3.5 ");
    end_is(&o, 3, ".a.b", 250, "Kyes1-2 Kno2-2.5 ");
    o.smooth_frames = 3;
    o.threshold = 0.3f;
    end_is(&o, 3, "...a", 250, "Kyes1-2.5 ");
}

/* ---- a model that is five frames late and goes on for as long ---- */

/* `text` with `by` where `old` was. */
static void replace(char *ret, size_t bytes, const char *text, const char *old, const char *by)
{
    const char *at = strstr(text, old);
    snprintf(ret, bytes, "%.*s%s%s", (int) (at - text), text, by, at + strlen(old));
}

/* late: as said, greedy, so that no score at all is the blank. quick: not late, its utterances end
 * after two frames. */
static void models_write(void)
{
    char graph[2048], conf[2048];
    replace(graph, sizeof graph, tones_graph, "rill_frame(pcm",
            "rill_frame(pad(pcm, padding = [(400, 400)])");
    replace(conf, sizeof conf, tones_conf, "beam = 4", "beam = 1");
    CHECK(tones_write(test_path("late", ""), conf, NULL) &&
              tones_file(test_path("late", ""), "graph.nnef", graph),
          "the folder");
    replace(conf, sizeof conf, tones_conf, "rule2_ms = 200", "rule2_ms = 20");
    CHECK(tones_write(test_path("quick", ""), conf, NULL), "the other folder");
}

/* What is said about the audio in pieces; words: the recogniser behind it, or NULL. */
static struct story late_story(const rill_plan *p, const rill_plan *words, const float *x, size_t n,
                               uint32_t most)
{
    rill_error err = { .text = "" };
    rill_sink *s = NULL;
    CHECK(rill_sink_new(&s, p, 1, NULL, &err) == RILL_OK &&
              (!words || rill_sink_listen(s, words, 1, NULL, &err) == RILL_OK),
          "%s", err.text);
    struct story t = streamed(s, p, x, n, most, words != NULL, true);
    rill_sink_free(s);
    return t;
}

/* Every line is within n samples and holds all of `wants`, in any cut. */
static void late_is(const rill_plan *p, const rill_plan *words, const char *script, size_t off,
                    const char *const *wants)
{
    static float x[200 * TONES_HOP];
    size_t n = tones_audio(x, script) - off;
    struct story first = late_story(p, words, x, n, 1u << 20);
    for (const char *at = first.text; (at = strstr(at, "..")); at++) {
        const char *from = at;
        while (from > first.text && from[-1] >= '0' && from[-1] <= '9')
            from--;
        uint64_t pos = strtoull(from, NULL, 10), end_pos = strtoull(at + 2, NULL, 10);
        CHECK(pos <= end_pos && end_pos <= n, "%llu..%llu of %zu in\n%s", (unsigned long long) pos,
              (unsigned long long) end_pos, n, first.text);
    }
    for (; *wants; wants++)
        CHECK(strstr(first.text, *wants), "no '%s' in\n%s", *wants, first.text);
    for (uint32_t most = 1; most < 100000; most *= 7) {
        struct story t = late_story(p, words, x, n, most);
        CHECK(!strcmp(t.text, first.text), "pieces of %u:\n%s\nnot\n%s", most, t.text, first.text);
        story_drop(&t);
    }
    story_drop(&first);
}

#define WANT(...) ((const char *const[]) { __VA_ARGS__, NULL })

static void late_model(void)
{
    models_write();
    rill_plan *logp = plan_of("late", "logp", 0), *prob = plan_of("late", "prob", 0),
              *speech = plan_of("late", "speech", 0), *quick = plan_of("quick", "speech", 0);
    const char *script = "..........1122..4444"; /* frames behind the end are heard, too */
    late_is(logp, NULL, script, 0, WANT("[one 880..1040", "[t 1040..1200", "[three 1360..1600 "));
    late_is(logp, NULL, script, 50,
            WANT("[one 880..1040", "[t 1040..1200", "[threewo 1360..1550 "));
    late_is(logp, NULL, script, 200, WANT("[one 880..1040", "[t 1040..1200", "[three 1360..1400 "));
    late_is(prob, NULL, script, 50,
            WANT("880..1040 score=0.900000 stability=0.000000 segment=0 'yes'"));
    late_is(prob, NULL, "..........4444", 50, WANT("keyword rule=0 880..1040 "));
    late_is(speech, NULL, script, 50, WANT("start rule=0 880..960", "end rule=0 1550..1550"));
    late_is(speech, logp, script, 50,
            WANT("start rule=0 880..960", "[t 1040..1200 ", "[threewo 1360..1550 ",
                 "end rule=0 1550..1550"));
    late_is(speech, logp, "..11......................3.", 30,
            WANT("endpoint rule=2 2000..2000", "start rule=0 2160..2210", "end rule=0 2210..2210"));
    /* Utterances that end before the recogniser has told all of their words. */
    late_is(quick, logp, "....11.2.............44.......", 0,
            WANT("endpoint rule=2 800..800", "[one 400..560 ", "[t 640..720 ",
                 "endpoint rule=2 2000..2000", "[three 1760..1920 "));
    rill_plan_unref(logp);
    rill_plan_unref(prob);
    rill_plan_unref(speech);
    rill_plan_unref(quick);
}

int main(void)
{
    test_root_make();
    words_by_hand(1);
    words_by_hand(4);
    edges_by_hand();
    late_model();
    test_root_drop();
    return check_done();
}
