/* SPDX-License-Identifier: MIT */
/* The law through the public header alone: however the input is cut, and for every pulse, the
 * output is the same bits; finish gives exactly the missing tail; reset and a copied block go on
 * where they should. */
#include "tests/check.h"

#include <rill.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rill_plan *plan_new(uint32_t pulse)
{
    rill_model *m;
    rill_plan *p;
    rill_error err;
    rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = pulse };
    if (rill_model_builtin(&m, rill_model_builtin_name(0), &err) ||
        rill_plan_new(&p, m, &opts, &err)) {
        printf("FAILED %s\n", err.text);
        exit(1);
    }
    rill_model_free(m);
    return p;
}

static rill_stream *stream_new(const rill_plan *p)
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64);
    memset(mem, 0xff, rill_plan_stream_size(p));
    return rill_stream_init(mem, p);
}

/* Runs what is due; returns the last status. */
static rill_status drain(rill_stream *s, float *y, size_t cap, size_t *n)
{
    for (;;) {
        size_t given;
        rill_status st = rill_stream_run(s);
        if (st)
            return st;
        do {
            rill_stream_pull(s, 1, y + *n, 1 + check_random(500), &given);
            *n += given;
        } while (given && *n + 500 < cap);
    }
}

static size_t stream_all(rill_stream *s, const float *x, size_t n, float *y, size_t cap, int cuts)
{
    size_t got = 0;
    for (size_t at = 0, taken; at < n; at += taken) {
        size_t want = cuts ? 1 + check_random(700) : n;
        rill_stream_push(s, 0, x + at, want < n - at ? want : n - at, &taken);
        drain(s, y, cap, &got);
    }
    rill_stream_finish(s);
    check(drain(s, y, cap, &got) == RILL_END, "a finished stream ends", (long) n);
    return got;
}

#define CAP 70000

static float x[CAP], want[CAP], got[CAP];

static void test_cuts_and_pulses(void)
{
    static const uint32_t pulses[] = { 0, 256, 300, 512, 1024, 4096 };
    static const size_t lengths[] = { 0, 1, 255, 256, 257, 1000, 16000, 20001 };
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        rill_plan *whole = plan_new(32768);
        rill_stream *s = stream_new(whole);
        size_t n = stream_all(s, x, lengths[l], want, CAP, 0);
        check(n >= lengths[l], "no sample is missing", (long) n);
        check(lengths[l] != 0 || n == 0 || n == 256, "an empty stream gives at most the delay",
              (long) n);
        free(s);
        rill_plan_unref(whole);
        for (size_t p = 0; p < sizeof pulses / sizeof *pulses; p++) {
            rill_plan *plan = plan_new(pulses[p]);
            s = stream_new(plan);
            for (int round = 0; round < 2; round++) {
                memset(got, 0, sizeof got);
                size_t m = stream_all(s, x, lengths[l], got, CAP, 1);
                check(m == n, "as many samples as the whole run", (long) m);
                check(!memcmp(got, want, n * sizeof *got), "the same bits as the whole run",
                      (long) pulses[p]);
                rill_stream_reset(s);
            }
            free(s);
            rill_plan_unref(plan);
        }
    }
}

/* A copy of the block in the middle of a stream gives what the original gives. */
static void test_snapshot(void)
{
    rill_plan *plan = plan_new(0);
    rill_stream *s = stream_new(plan);
    size_t n = 0, m = 0, taken, bytes = rill_plan_stream_size(plan);
    for (size_t at = 0; at < 5000; at += taken) {
        rill_stream_push(s, 0, x + at, 5000 - at, &taken);
        drain(s, want, CAP, &n);
    }
    void *copy = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memcpy(copy, s, bytes);
    n = stream_all(s, x + 5000, 3000, want, CAP, 1);
    m = stream_all(copy, x + 5000, 3000, got, CAP, 1);
    check(n == m && !memcmp(got, want, n * sizeof *got), "a snapshot goes on alike", (long) m);
    free(copy);
    free(s);
    rill_plan_unref(plan);
}

/* Samples that are not finite, or huge, count as silence and leave no trace of themselves. */
static void test_not_finite(void)
{
    rill_plan *plan = plan_new(0);
    rill_stream *s = stream_new(plan);
    for (size_t i = 0; i < 8000; i++)
        got[i] = i % 5 == 0 ? -1e20f : i % 3 ? NAN : i % 2 ? INFINITY : -INFINITY;
    size_t n = stream_all(s, got, 8000, want, CAP, 0);
    int finite = 1;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(want[i]) != 0;
    check(finite, "NaN and infinity stay outside", (long) n);
    free(s);
    rill_plan_unref(plan);
}

static void test_refusals(void)
{
    rill_model *m = NULL;
    rill_error err;
    rill_plan *plan = plan_new(0);
    rill_stream *s = stream_new(plan);
    size_t n;
    check(rill_model_open(&m, "/no/such/model", &err) != RILL_OK && !m &&
              strstr(err.text, "/no/such/model"),
          "a missing file is named", 0);
    check(rill_model_builtin(&m, "nothing", &err) != RILL_OK && strstr(err.text, "nothing"),
          "an unknown built-in", 0);
    check(rill_stream_push(s, 1, x, 10, &n) == RILL_INVALID, "an output cannot be pushed to", 0);
    check(rill_stream_pull(s, 0, got, 10, &n) == RILL_INVALID, "an input cannot be pulled from", 0);
    check(rill_stream_run(s) == RILL_AGAIN, "a run without input", 0);
    rill_stream_finish(s);
    check(rill_stream_push(s, 0, x, 10, &n) == RILL_INVALID, "no input after finish", 0);
    check(rill_plan_unref(NULL) == NULL && rill_model_free(NULL) == NULL, "NULL is fine to free",
          0);
    free(s);
    rill_plan_unref(plan);
}

int main(void)
{
    for (size_t i = 0; i < CAP; i++)
        x[i] = ((float) check_random(20001) - 10000) * 2e-5f;
    rill_thread_prepare();
    test_cuts_and_pulses();
    test_snapshot();
    test_not_finite();
    test_refusals();
    return check_done();
}
