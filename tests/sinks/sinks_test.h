/* SPDX-License-Identifier: MIT */
/* sinks_test.h - sinks without a model, and everything they say as text. */
#ifndef TESTS_SINKS_SINKS_TEST_H
#define TESTS_SINKS_SINKS_TEST_H
#include "sinks/sink.h"
#include "tests/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static uint32_t test_seed = 1;

static inline uint32_t test_random(uint32_t below)
{
    test_seed = test_seed * 1664525u + 1013904223u;
    return (uint32_t) ((uint64_t) test_seed * below >> 32);
}

static inline float test_unit(void)
{
    return (float) test_random(1u << 24) / (float) (1u << 24);
}

/* A port at 16 kHz. */
static inline rill_port test_port(uint32_t width, uint32_t hop)
{
    return (rill_port) { .name = "out",
                         .rate_num = 16000,
                         .rate_den = hop,
                         .width = width,
                         .pulse_frames = 1,
                         .hop_num = hop,
                         .hop_den = 1,
                         .offset_den = 1 };
}

static inline rill_sink *test_sink(const rill_sink_opts *o, uint32_t width, uint32_t hop)
{
    rill_sink *s = NULL;
    rill_error err = { 0 };
    rill_port port = test_port(width, hop);
    rill_status status = sink_new(&s, &port, NULL, o, &err);
    CHECK(status == RILL_OK, "%s", err.text);
    if (status != RILL_OK)
        exit(check_done());
    return s;
}

/* What a sink said, a line an event. */
struct story {
    char *text;
    size_t n, cap;
};

__attribute__((format(printf, 2, 3))) static inline void story_add(struct story *t, const char *fmt,
                                                                   ...)
{
    char line[4096];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    size_t len = n < (int) sizeof line ? (size_t) n : sizeof line - 1;
    if (t->n + len + 1 > t->cap) {
        t->cap = 2 * t->cap + len + 4096;
        t->text = realloc(t->text, t->cap);
        if (!t->text)
            exit(1);
    }
    memcpy(t->text + t->n, line, len + 1);
    t->n += len;
}

static inline void story_drop(struct story *t)
{
    free(t->text);
    *t = (struct story) { 0 };
}

static inline void story_events(struct story *t, rill_sink *s)
{
    static const char *const names[] = {
        "start", "end", "keyword", "partial", "final", "endpoint"
    };
    rill_event v = { .struct_bytes = sizeof v };
    while (rill_sink_next(s, &v) == RILL_OK) {
        story_add(t, "%s rule=%d %llu..%llu score=%.6f stability=%.6f segment=%u '%s'",
                  names[v.kind], (int) v.rule, (unsigned long long) v.pos,
                  (unsigned long long) v.end_pos, (double) v.score, (double) v.stability, v.segment,
                  v.text);
        for (uint32_t i = 0; i < v.n_words; i++)
            story_add(t, " [%s %llu..%llu %.6f]", v.words[i].text,
                      (unsigned long long) v.words[i].pos, (unsigned long long) v.words[i].end_pos,
                      (double) v.words[i].confidence);
        story_add(t, "\n");
    }
}

/* Everything about n frames in pushes of at most `most`, cut at random; 0: all at once. */
static inline struct story story_of(rill_sink *s, const float *x, size_t n, uint32_t most,
                                    bool finish)
{
    struct story t = { 0 };
    story_add(&t, "%s", "");
    for (size_t at = 0; at < n;) {
        size_t k = most ? 1 + test_random(most) : n - at, took = 0;
        k = k < n - at ? k : n - at;
        rill_sink_push(s, x + at * s->port.width, k, &took);
        at += took;
        story_events(&t, s);
    }
    if (finish)
        rill_sink_finish(s);
    story_events(&t, s);
    return t;
}

/* The plan of a model at its smallest pulse; NULL where it cannot be had. */
static inline rill_plan *folder_plan(const char *path, rill_error *err)
{
    rill_model *m = NULL;
    rill_plan *p = NULL;
    if (rill_model_open(&m, path, err) == RILL_OK && rill_plan_new(&p, m, NULL, err) != RILL_OK)
        p = NULL;
    rill_model_free(m);
    return p;
}
#endif
