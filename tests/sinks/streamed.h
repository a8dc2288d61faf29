/* SPDX-License-Identifier: MIT */
/* streamed.h - a sink behind a stream of a plan of a test's model folder. */
#ifndef TESTS_SINKS_STREAMED_H
#define TESTS_SINKS_STREAMED_H
#include "tests/models/models_test.h"
#include "tests/sinks/sinks_test.h"

/* A plan of one output of the folder; ends the test where there is none. */
static inline rill_plan *plan_of(const char *folder, const char *output, uint32_t profile)
{
    char spec[64];
    snprintf(spec, sizeof spec, "select_outputs(%s)", output);
    const char *const list[] = { spec, NULL };
    const rill_model_opts opts = { .struct_bytes = sizeof opts, .transforms = list };
    const rill_plan_opts popts = { .struct_bytes = sizeof popts, .profile = profile };
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    if (rill_model_open_with(&m, test_path(folder, ""), &opts, &err) == RILL_OK)
        rill_plan_new(&p, m, &popts, &err);
    rill_model_free(m);
    CHECK(p, "%s: %s", output, err.text);
    if (!p)
        exit(check_done());
    return p;
}

static inline rill_stream *stream_of(const rill_plan *p)
{
    return rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64), p);
}

/* What has come of output 1, frame by frame, into the sink. */
static inline void frames_read(rill_sink *s, rill_stream *st, struct story *t)
{
    float y[64]; /* as wide as a frame may be */
    size_t n, took;
    while (rill_stream_pull(st, 1, y, 1, &n) == RILL_OK && n) {
        rill_sink_push(s, y, 1, &took);
        story_events(t, s);
    }
}

/* x in pieces of at most `most` samples through p into s, which gets the samples too where
 * `listens`, and learns of the end where `ends`. */
static inline struct story streamed(rill_sink *s, const rill_plan *p, const float *x, size_t n,
                                    uint32_t most, bool listens, bool ends)
{
    struct story t = { 0 };
    rill_stream *st = stream_of(p);
    story_add(&t, "%s", "");
    for (size_t at = 0, took; at < n; at += took) {
        size_t k = 1 + test_random(most);
        rill_stream_push(st, 0, x + at, k < n - at ? k : n - at, &took);
        CHECK(!listens || rill_sink_audio(s, x + at, took) == RILL_OK, "audio at %zu", at);
        while (rill_stream_run(st) == RILL_OK)
            frames_read(s, st, &t);
    }
    rill_stream_finish(st);
    if (ends)
        rill_sink_end(s, n);
    while (rill_stream_run(st) == RILL_OK)
        frames_read(s, st, &t);
    frames_read(s, st, &t);
    rill_sink_finish(s);
    story_events(&t, s);
    free(st);
    return t;
}
#endif
