/* SPDX-License-Identifier: MIT */
/* What a pulse waited for is counted from the arrival of its last sample, also where the next pulse
 * is there already. */
#include "daemon/base/clock.h"
#include "daemon/compute/lane.h"
#include "tests/daemon/fake_rill.h"
#include "tests/daemon/harness.h"

#include <malloc.h>

#define PULSE 512

static uint32_t queue_of_next(struct lane *l)
{
    struct lane_rec r = { .kind = LANE_DONE };
    enum lane_result ret = LANE_WORKED;
    for (int k = 0; k < 8 && ret == LANE_WORKED; k++) {
        lanes_step(&l, 1, &ret);
        while (ring_used(&l->recs)) {
            ring_read(&l->recs, &r, 1);
            if (r.kind == LANE_PULSE && r.is_run)
                return r.queue_us;
        }
    }
    return UINT32_MAX;
}

static void arrive(struct lane *l, uint64_t count, uint64_t ago_us)
{
    ring_write(&l->arrivals,
               &(struct lane_arrival) { .count = count, .us = clock_now_us() - ago_us }, 1);
}

static size_t allocated_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* What a lane says it takes is what it takes: rings, the model's stream, sinks, what goes past the
 * model. */
static void test_bytes(const char *name, enum bypass_mode mode)
{
    const struct lane_opts o = { .in_rate = 16000,
                                 .out_rate = 16000,
                                 .window_samples = 8 * PULSE,
                                 .want_audio = true,
                                 .want_vad = true,
                                 .bypass_mode = mode,
                                 .sinks = { .endpoint = true,
                                            .vad = { .struct_bytes = sizeof(rill_sink_opts),
                                                     .kind = RILL_PORT_VAD,
                                                     .threshold = 0.5f } } };
    rill_model *m;
    rill_plan *p;
    rill_error err;
    struct lane_model lm = { .plan = NULL };
    float rtf;
    if (!CHECK(rill_model_builtin(&m, name, &err) == RILL_OK &&
                   rill_plan_new(&p, m, NULL, &err) == RILL_OK &&
                   lane_model_probe(&lm, p, 16000, &rtf, &err) == RILL_OK,
               "%s", err.text))
        return;
    lm.latency_samples += 100000; /* much goes past */
    size_t before = allocated_bytes();
    struct lane *l = lane_new(&lm, &o);
    size_t took = allocated_bytes() - before, says = lane_bytes(l);
    if (took)
        CHECK(says > took - took / 32 && says < took + took / 32, "%s: %zu bytes; it says %zu",
              name, took, says);
    else
        check_skip("what a lane takes: sanitizers count for themselves");
    lane_free(l);
    rill_plan_unref(p);
    rill_model_free(m);
}

/* A machine that stops while a model is timed, or that others use, makes the model no dearer; that
 * is told apart. */
static void test_probe_hiccups(void)
{
    rill_model *m;
    rill_plan *p;
    rill_error err;
    struct lane_model lm = { .plan = NULL };
    float rtf = -1;
    if (!CHECK(rill_model_builtin(&m, "wiener", &err) == RILL_OK &&
               rill_plan_new(&p, m, NULL, &err) == RILL_OK))
        return;
    fake_hiccups = 5;
    CHECK(lane_model_probe(&lm, p, 16000, &rtf, &err) == RILL_OK && fake_hiccups == 0);
    CHECK(rtf < 0.3f && lm.run_us < 10000, "%g of the time, %u us", (double) rtf, lm.run_us);
    fake_hiccups = 1000;
    CHECK(lane_model_probe(&lm, p, 16000, &rtf, &err) == RILL_OK);
    CHECK(rtf < 0.3f && lm.wall_share > 5, "%g of the time, %g times as long as that", (double) rtf,
          (double) lm.wall_share);
    fake_hiccups = 0;
    rill_plan_unref(p);
    rill_model_free(m);
}

enum { W = EVENT_WORD_OVERHEAD };
#define LONG_BEGIN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG LONG_BEGIN "aaaaaaaa"
_Static_assert(sizeof LONG_BEGIN == W + 3, "as much as there is room for");

/* The parts of a text, told with < > around each and its words behind it. */
static void parts_tell(char *to, size_t cap, const rill_event *e, const struct event_space *room)
{
    struct event_cursor told = { .started = false };
    struct event_part p;
    size_t at = 0;
    while (event_next_part(e, room, &told, &p) && at + 64 < cap) {
        size_t takes = p.n_bytes;
        at += (size_t) snprintf(to + at, cap - at, "<%.*s>", (int) p.n_bytes, p.text);
        for (uint32_t i = 0; i < p.n_words && at + 64 < cap; i++) {
            takes += EVENT_WORD_OVERHEAD + strlen(p.words[i].text);
            at += (size_t) snprintf(to + at, cap - at, " %s", p.words[i].text);
        }
        CHECK(takes <= room->bytes && p.n_words <= room->words, "%s: %zu bytes", to, takes);
    }
}

static void test_text_parts(void)
{
    /* clang-format off */
    static const struct {
        const char *text, *words[8];
        struct event_space room;
        const char *want;
    } cases[] = {
        { "", { NULL }, { 20, 9 }, "<>" },
        { "one two three", { "one", "two", "three" }, { 24 + 3 * W, 9 },
          "<one two three> one two three" },
        { "one two three", { "one", "two", "three" }, { 23 + 3 * W, 9 },
          "<one two> one two<three> three" },
        { "one two three", { "one", "two", "three" }, { 200, 1 },
          "<one> one<two> two<three> three" },
        { "onetwothree", { "one", "two", "three" }, { 14 + 2 * W, 9 },
          "<onetwo> one two<three> three" },
        /* a word that takes more than there is */
        { "a 0123456789 b", { "a", "0123456789", "b" }, { 8 + W, 9 }, "<a> a<0123456789><b> b" },
        { "a b b", { "a", "b", "b" }, { 2, 9 }, "<a><b><b>" },
        { LONG " a", { LONG, "a" }, { 2 + W, 9 }, "<" LONG_BEGIN "><aaaaaaaa><a> a" },
        /* without words */
        { "a bc def ghij", { NULL }, { 8, 9 }, "<a bc def><ghij>" },
        { "\xc3\xa4\xc3\xb6\xc3\xbc", { NULL }, { 5, 9 }, "<\xc3\xa4\xc3\xb6><\xc3\xbc>" },
        /* words of another text */
        { "one two", { "two", "one" }, { 20, 9 }, "<one two>" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_word words[8] = { { .text = NULL } };
        char got[512] = "";
        rill_event e = { .kind = RILL_EVENT_FINAL, .text = cases[i].text, .words = words };
        for (; e.n_words < 8 && cases[i].words[e.n_words]; e.n_words++)
            words[e.n_words].text = cases[i].words[e.n_words];
        parts_tell(got, sizeof got, &e, &cases[i].room);
        CHECK(!strcmp(got, cases[i].want), "'%s' in %zu: %s, not %s", cases[i].text,
              cases[i].room.bytes, got, cases[i].want);
    }
}

/* A part lies where its words lie, one without words where the word lies that it is of. */
static void test_text_places(void)
{
    const rill_word words[] = { { .text = "a", .pos = 10, .end_pos = 11 },
                                { .text = "0123456789", .pos = 20, .end_pos = 25 },
                                { .text = "b", .pos = 30, .end_pos = 31 },
                                { .text = "c", .pos = 40, .end_pos = 41 } };
    const rill_event e = { .kind = RILL_EVENT_FINAL,
                           .text = "a 0123456789 b c",
                           .words = words,
                           .n_words = 4,
                           .pos = 10,
                           .end_pos = 41 };
    const struct event_space room = { 8 + 2 * W, 9 };
    static const uint64_t want[][2] = { { 10, 11 }, { 20, 25 }, { 30, 41 } };
    struct event_cursor told = { .started = false };
    struct event_part p;
    size_t n = 0;
    for (; event_next_part(&e, &room, &told, &p) && n < 3; n++)
        CHECK(p.pos == want[n][0] && p.end_pos == want[n][1], "part %zu, %zu bytes: %u-%u", n,
              p.n_bytes, (unsigned) p.pos, (unsigned) p.end_pos);
    CHECK(n == 3, "%zu parts", n);
}

/* Of a partial there is one part: all of it, its text, the end of that. */
static void test_text_newest(void)
{
    static const rill_word words[] = { { .text = "one" }, { .text = "two" } };
    const rill_event e = {
        .kind = RILL_EVENT_PARTIAL, .text = "one two", .words = words, .n_words = 2
    };
    static const struct {
        size_t bytes;
        const char *text;
        uint32_t n_words;
    } cases[] = {
        { 13 + 2 * W, "one two", 2 },
        { 12 + 2 * W, "one two", 0 },
        { 7, "one two", 0 },
        { 5, "e two", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct event_space room = { cases[i].bytes, 9 };
        struct event_part p;
        event_last_part(&e, &room, &p);
        CHECK(!strcmp(p.text, cases[i].text) && p.n_bytes == strlen(p.text) &&
                  p.n_words == cases[i].n_words,
              "in %zu: '%s', %u words", cases[i].bytes, p.text, p.n_words);
    }
}

int main(void)
{
    static const float x[3 * PULSE];
    const struct lane_opts o = { .in_rate = 16000,
                                 .out_rate = 16000,
                                 .window_samples = 8 * PULSE,
                                 .align = true,
                                 .want_audio = true };
    rill_model *m;
    rill_plan *p = NULL;
    rill_error err;
    struct lane_model lm = { .plan = NULL };
    float rtf;
    struct lane *l = NULL;
    if (CHECK(rill_model_builtin(&m, "wiener", &err) == RILL_OK &&
              rill_plan_new(&p, m, NULL, &err) == RILL_OK &&
              lane_model_probe(&lm, p, 16000, &rtf, &err) == RILL_OK) &&
        CHECK((l = lane_new(&lm, &o)) != NULL)) {
        /* Two pulses have come, the first in two pieces, the second with the beginning of a
         * third. */
        arrive(l, PULSE - 100, 90000000);
        arrive(l, PULSE, 60000000);
        arrive(l, 2 * PULSE + 50, 30000000);
        ring_write(&l->in, x, 2 * PULSE + 50);
        uint32_t first = queue_of_next(l), second = queue_of_next(l);
        CHECK(first >= 60000000 && first < 80000000, "%u us", first);
        CHECK(second >= 30000000 && second < 50000000, "%u us", second);
        CHECK(queue_of_next(l) == UINT32_MAX);
        arrive(l, 3 * PULSE, 10000000);
        ring_write(&l->in, x, PULSE - 50);
        uint32_t third = queue_of_next(l);
        CHECK(third >= 10000000 && third < 30000000, "%u us", third);
        lane_free(l);
    }
    rill_plan_unref(p);
    rill_model_free(m);
    test_probe_hiccups();
    test_text_parts();
    test_text_places();
    test_text_newest();
    test_bytes("wiener", BYPASS_NONE);
    test_bytes("wiener", BYPASS_DRY);
    test_bytes("both", BYPASS_DRY);
    test_bytes("vad", BYPASS_SKIP);
    return check_end();
}
