/* SPDX-License-Identifier: MIT */
/* Speech edges, endpoints and keywords: by hand, against plain definitions, however the input is
 * cut. */
#include "tests/sinks/sinks_test.h"

#include <math.h>

#define HOP 160 /* 10 ms */

static const rill_sink_opts vad = {
    .kind = RILL_PORT_VAD, .threshold = 0.5f, .release = 0.3f, .hangover_ms = 30
};

/* Events of frames that are digits: tenths. "S3 " is an event at frame 3; positions that are no
 * frames show. */
static void story_is(const rill_sink_opts *o, const char *digits, const char *want)
{
    float x[256];
    struct story t = { 0 };
    rill_event v = { .struct_bytes = sizeof v };
    size_t n = strlen(digits), took;
    rill_sink *s = test_sink(o, 1, HOP);
    for (size_t i = 0; i < n; i++)
        x[i] = (float) (digits[i] - '0') / 10;
    story_add(&t, "%s", "");
    rill_sink_reset(s, 7);
    for (size_t at = 0; at <= n; at += took) {
        took = 1;
        if (at < n)
            rill_sink_push(s, x + at, n - at, &took);
        else
            rill_sink_finish(s);
        while (rill_sink_next(s, &v) == RILL_OK)
            story_add(&t, "%c%s%g-%g ", "SEKpf#"[v.kind],
                      v.kind == RILL_EVENT_ENDPOINT ? (const char *[]) { "", "s", "t", "l" }[v.rule]
                                                    : v.text,
                      (double) (v.pos - 7) / HOP, (double) (v.end_pos - 7) / HOP);
    }
    CHECK(!strcmp(t.text, want), "%s: '%s', expected '%s'", digits, t.text, want);
    story_drop(&t);
    rill_sink_free(s);
}

static void vad_by_hand(void)
{
    rill_sink_opts o = vad;
    story_is(&o, "0112", "");
    story_is(&o, "0159933000", "S2-3 E7-10 ");
    story_is(&o, "00500400900111", "S2-3 E9-12 "); /* silences shorter than the hangover */
    story_is(&o, "0099", "S2-3 E4-4 ");
    story_is(&o, "0099001", "S2-3 E4-7 ");
    story_is(&o, "00990", "S2-3 E4-5 ");
    o.hangover_ms = 0;
    story_is(&o, "00900900", "S2-3 E3-4 S5-6 E6-7 ");
    o.hangover_ms = 30;
    o.rule2_ms = 50;
    o.rule1_ms = 80;
    story_is(&o, "0099000000000000000000", "S2-3 E4-7 #t9-9 #s17-17 ");
    story_is(&o, "00990000900000",
             "S2-3 E4-7 S8-9 E9-12 #t14-14 "); /* speech again before the rule */
    o.hangover_ms = 90; /* longer than the rule: it ends there all the same */
    story_is(&o, "00990000000", "S2-3 E4-9 #t9-9 ");
    o = vad;
    o.rule3_ms = 60;
    story_is(&o, "0000009999999999900000000", "#l6-6 S6-7 #l12-12 #l18-18 E17-20 #l24-24 ");
}

static void keyword_by_hand(void)
{
    rill_sink_opts o = { .kind = RILL_PORT_KEYWORD, .words = "yes", .threshold = 0.5f };
    story_is(&o, "0499900990", "Kyes2-3 Kyes7-8 ");
    o.debounce_ms = 40;
    story_is(&o, "049990999999990009", "Kyes2-3 Kyes17-18 ");
    o.debounce_ms = 0;
    o.patience_frames = 3;
    story_is(&o, "0990999900", "Kyes4-7 ");
    o.debounce_ms = 40;                           /* frames 4 to 7 */
    story_is(&o, "0999009999999999", "Kyes1-4 "); /* begins in it, is decided behind it */
    story_is(&o, "0999000099999999", "Kyes1-4 Kyes8-11 ");
    story_is(&o, "09990099099999999", "Kyes1-4 Kyes9-12 ");
    story_is(&o, "09999999999999909990999", "Kyes1-4 Kyes16-19 ");
    o.patience_frames = 1;
    o.smooth_frames = 4;
    story_is(&o, "099900000999", "Kyes0-4 Kyes8-12 ");
    o.smooth_frames = 2;
    o.scores = RILL_SCORES_LOGITS;
    story_is(&o, "0", "");
}

/* ---- against a plain definition ---- */

enum { WORDS = 4, FRAMES = 500 };

static void keyword_expect(struct story *t, const rill_sink_opts *o, const float *x)
{
    uint32_t run = 0;
    int last = -1;
    int64_t deaf = -1, begun = 0;
    static const char *const names[] = { "yes", "silence", "no", "up" };
    for (int f = 0; f < FRAMES; f++) {
        int best = -1;
        double mean[WORDS] = { 0 };
        for (int w = 0; w < WORDS; w++) {
            for (int k = (int) o->smooth_frames - 1; k >= 0; k--)
                mean[w] += f - k >= 0 ? (double) x[(f - k) * WORDS + w] : 0;
            mean[w] = (double) (float) (mean[w] / o->smooth_frames);
            if (w != 1 && mean[w] >= (double) o->threshold && (best < 0 || mean[w] > mean[best]))
                best = w;
        }
        run = best < 0 ? 0 : best == last ? run + 1 : 1;
        last = best;
        begun = run == 1 ? f * 10 : begun;
        if (run != o->patience_frames || begun < deaf)
            continue;
        deaf = (f + 1) * 10 + o->debounce_ms;
        int from = f + 1 - (int) (o->smooth_frames + o->patience_frames - 1);
        story_add(t, "keyword rule=0 %d..%d score=%.6f stability=%.6f segment=0 '%s'\n",
                  (from > 0 ? from : 0) * HOP, (f + 1) * HOP, mean[best], 0.0, names[best]);
    }
}

static void keyword_random(void)
{
    static float x[FRAMES * WORDS];
    unsigned heard = 0;
    for (int round = 0; round < 60; round++) {
        rill_sink_opts o = { .kind = RILL_PORT_KEYWORD,
                             .words = "yes, silence,no,up",
                             .ignore = "silence,unknown",
                             .threshold = 0.6f,
                             .smooth_frames = 1 + test_random(6),
                             .patience_frames = 1 + test_random(4),
                             .debounce_ms = test_random(300) };
        for (size_t i = 0; i < FRAMES; i++) {
            uint32_t top = test_random(WORDS);
            for (uint32_t w = 0; w < WORDS; w++)
                x[i * WORDS + w] = i && test_random(8) ? x[(i - 1) * WORDS + w]
                    : w == top                         ? 0.5f + test_unit() / 2
                                                       : test_unit() / 2;
        }
        struct story want = { 0 };
        story_add(&want, "%s", "");
        keyword_expect(&want, &o, x);
        rill_sink *s = test_sink(&o, WORDS, HOP);
        for (uint32_t most = 0; most < 40; most += 13) {
            rill_sink_reset(s, 0);
            struct story t = story_of(s, x, FRAMES, most, true);
            CHECK(!strcmp(t.text, want.text), "round %d:\n%s\nexpected\n%s", round, t.text,
                  want.text);
            story_drop(&t);
        }
        heard += strstr(want.text, "keyword") != NULL;
        story_drop(&want);
        rill_sink_free(s);
    }
    CHECK(heard > 40, "%u rounds with words", heard);
}

static void vad_cuts(void)
{
    static float x[2000];
    rill_sink_opts o = vad;
    o.rule1_ms = 400;
    o.rule2_ms = 200;
    o.rule3_ms = 1000;
    for (int i = 0; i < 2000; i++)
        x[i] = i && test_random(6) ? x[i - 1] : test_unit() * (i / 100 % 3 == 2 ? 0.4f : 1);
    rill_sink *s = test_sink(&o, 1, HOP);
    struct story whole = story_of(s, x, 2000, 0, true);
    int open = 0, wrong = 0;
    for (const char *p = whole.text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        open += !strncmp(p, "start", 5) - !strncmp(p, "end ", 4);
        wrong += open < 0 || open > 1;
    }
    CHECK(!wrong && !open, "starts and ends take turns:\n%s", whole.text);
    CHECK(strstr(whole.text, "rule=1") && strstr(whole.text, "rule=2") &&
              strstr(whole.text, "rule=3"),
          "%s", whole.text);
    for (uint32_t most = 1; most < 300; most *= 5) {
        rill_sink_reset(s, 0);
        struct story t = story_of(s, x, 2000, most, true);
        CHECK(!strcmp(t.text, whole.text), "pieces of %u", most);
        story_drop(&t);
    }
    story_drop(&whole);
    rill_sink_free(s);
}

static void refused(rill_sink_opts o, uint32_t width, uint32_t rate, const char *word)
{
    rill_sink *s = NULL;
    rill_error err = { 0 };
    rill_port port = test_port(width, HOP);
    port.rate_num = rate;
    CHECK(sink_new(&s, &port, NULL, &o, &err) == RILL_INVALID && strstr(err.text, word),
          "'%s' has '%s'", err.text, word);
    rill_sink_free(s);
}

static void options_are_checked(void)
{
    rill_sink_opts o = vad;
    refused(o, 2, 16000, "one probability");
    refused(o, 1, 0, "sample_rate");
    o.threshold = 1.5f;
    refused(o, 1, 16000, "from 0 to 1");
    o = vad;
    o.threshold = NAN;
    refused(o, 1, 16000, "from 0 to 1");
    o = vad;
    o.release = -0.1f;
    refused(o, 1, 16000, "from 0 to 1");
    o.release = 1.1f;
    refused(o, 1, 16000, "from 0 to 1");
    o = vad;
    o.hangover_ms = UINT32_MAX;
    refused(o, 1, 16000, "a day");
    o = (rill_sink_opts) { .kind = RILL_PORT_KEYWORD, .words = "a,b" };
    refused(o, 3, 16000, "3 columns");
    o.words = NULL;
    refused(o, 3, 16000, "neither");
    o.words = "a,b,c,d";
    refused(o, 3, 16000, "'d' is number 4");
    o.words = "a,,b";
    refused(o, 3, 16000, "empty");
    o.kind = RILL_PORT_TENSOR;
    refused(o, 3, 16000, "no sink");
    o = (rill_sink_opts) { .kind = RILL_PORT_CTC, .words = "a,b", .blank = 2 };
    refused(o, 2, 16000, "blank");
    o.blank = 0;
    o.beam = 65;
    refused(o, 2, 16000, "beam");
    o.beam = 4;
    o.max_tokens = 3;
    refused(o, 2, 16000, "max_tokens");
    o.max_tokens = 0;
    o.scores = (rill_scores) (RILL_SCORES_PROBS + 1);
    refused(o, 2, 16000, "scores is 4");
    o.scores = RILL_SCORES_AUTO;
    o.units = (rill_units) (RILL_UNITS_CHARS + 1);
    refused(o, 2, 16000, "units 4");
}

int main(void)
{
    vad_by_hand();
    keyword_by_hand();
    keyword_random();
    vad_cuts();
    options_are_checked();
    return check_done();
}
