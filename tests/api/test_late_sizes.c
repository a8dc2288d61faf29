/* SPDX-License-Identifier: MIT */
/* A model whose sizes data decides as a stream of whole recordings: lengths that change from run to
 * run, one that no memory holds, streams in several threads. argv[1]: late_sizes.onnx. */
#include "tests/check.h"
#include <rill.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static rill_plan *plan;

static rill_stream *stream_new(void **ret_mem)
{
    *ret_mem = aligned_alloc(64, (rill_plan_stream_size(plan) + 63) & ~(size_t) 63);
    return *ret_mem ? rill_stream_init(*ret_mem, plan) : NULL;
}

static rill_status length_run(rill_stream *s, float length, float y[4])
{
    const float x[4] = { 1, -2, 3, 0.5f }, lengths[3] = { length, 0, length / 2 };
    size_t moved;
    if (rill_stream_push(s, 0, x, 1, &moved) != RILL_OK ||
        rill_stream_push(s, 1, lengths, 1, &moved) != RILL_OK)
        return RILL_INTERNAL;
    rill_status status = rill_stream_run(s);
    return status == RILL_OK ? rill_stream_pull(s, 2, y, 1, &moved) : status;
}

static bool length_right(rill_stream *s, int n)
{
    float y[4], sum = (float) (n * (n - 1) / 2);
    return length_run(s, (float) n, y) == RILL_OK && y[0] == sum && y[1] == -2 * sum &&
        y[2] == 3 * sum && y[3] == 0.5f * sum;
}

static void test_lengths(void)
{
    static const int lengths[] = { 3, 3, 9, 0, 1, 9, 200, 3, 0 };
    void *mem;
    rill_stream *s = stream_new(&mem);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        CHECK(length_right(s, lengths[i]), "run %zu: length %d", i, lengths[i]);
    for (int n = 0; n < 300; n++) /* more than are kept */
        CHECK(length_right(s, n % 150), "length %d", n % 150);
    free(mem);
}

static void test_too_long(void)
{
    void *mem;
    float y[4];
    rill_error err = { .text = "" };
    rill_stream *s = stream_new(&mem);
    CHECK(length_right(s, 4), "length 4");
    CHECK(length_run(s, 2e9f, y) == RILL_INVALID, "2e9 numbers");
    CHECK(rill_stream_fault(s, &err) == RILL_INVALID && strstr(err.text, "over the limit"), "'%s'",
          err.text);
    CHECK(length_run(s, 4, y) != RILL_OK, "runs on after a fault");
    rill_stream_reset(s);
    CHECK(length_right(s, 5), "length 5");
    CHECK(length_run(s, 1e18f, y) == RILL_INVALID, "1e18 numbers");
    CHECK(rill_stream_fault(s, &err) == RILL_INVALID && strstr(err.text, "2^31 elements"), "'%s'",
          err.text);
    free(mem);
}

static bool says(const rill_stream *s, const char *words)
{
    rill_error err = { .text = "" };
    return rill_stream_fault(s, &err) == RILL_INVALID && strstr(err.text, words);
}

/* What was wrong is the stream's own, whatever others of the plan run into. */
static void test_faults_apart(void)
{
    void *mem[2];
    float y[4];
    rill_stream *large = stream_new(&mem[0]), *endless = stream_new(&mem[1]);
    CHECK(length_run(large, 2e9f, y) == RILL_INVALID, "2e9 numbers");
    CHECK(length_run(endless, 1e18f, y) == RILL_INVALID, "1e18 numbers");
    CHECK(says(large, "(Range)") && says(large, "over the limit"), "2e9 numbers: other words");
    CHECK(says(endless, "2^31 elements"), "1e18 numbers: other words");
    free(mem[0]);
    free(mem[1]);
}

/* Every run faults, and what was wrong is read while others run. */
static void *faults_run(void *arg)
{
    const bool large = arg != NULL;
    void *mem;
    float y[4];
    rill_stream *s = stream_new(&mem);
    intptr_t wrong = 0;
    for (int i = 0; i < 500; i++) {
        wrong += length_run(s, large ? 2e9f : 1e18f, y) != RILL_INVALID ||
            !says(s, large ? "over the limit" : "2^31 elements");
        rill_stream_reset(s);
    }
    free(mem);
    return (void *) wrong;
}

static void *lengths_run(void *arg)
{
    const int first = *(const int *) arg;
    void *mem;
    rill_stream *s = stream_new(&mem);
    intptr_t wrong = 0;
    for (int i = 0; i < 500; i++)
        wrong += !length_right(s, (first + i) % 20);
    free(mem);
    return (void *) wrong;
}

static void test_threads(void)
{
    static const int first[] = { 0, 7, 13 };
    pthread_t t[5];
    void *wrong;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, lengths_run, (void *) (uintptr_t) &first[i]);
    pthread_create(&t[3], NULL, faults_run, NULL);
    pthread_create(&t[4], NULL, faults_run, &t);
    for (int i = 0; i < 5; i++) {
        pthread_join(t[i], &wrong);
        CHECK(!wrong, "thread %d: %ld wrong", i, (long) (intptr_t) wrong);
    }
}

/* The same bits by plain C alone. */
static void test_masked(const rill_model *m)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .cpu_mask = RILL_CPU_C };
    rill_plan *detected = plan, *plain;
    rill_error err;
    rill_status s = rill_plan_new(&plain, m, &opts, &err);
    CHECK(s == RILL_OK, "%s", err.text);
    for (int n = 0; s == RILL_OK && n < 40; n++) {
        float y[2][4] = { { 0 } };
        for (int k = 0; k < 2; k++) {
            void *mem;
            plan = k ? plain : detected;
            rill_stream *stream = stream_new(&mem);
            CHECK(length_run(stream, (float) (n % 20), y[k]) == RILL_OK, "length %d", n % 20);
            free(mem);
        }
        CHECK(!memcmp(y[0], y[1], sizeof y[0]), "length %d: other bits", n % 20);
    }
    rill_plan_unref(s == RILL_OK ? plain : NULL);
    plan = detected;
}

int main(int argc, char **argv)
{
    rill_model *m;
    rill_error err = { .text = "" };
    const rill_plan_opts opts = { .struct_bytes = sizeof opts };
    if (argc < 2 || rill_model_open(&m, argv[1], &err) != RILL_OK ||
        rill_plan_new(&plan, m, &opts, &err) != RILL_OK)
        return printf("FAILED: %s\n", err.text), 1;
    CHECK(rill_plan_save(plan, "late_sizes.rill", &err) == RILL_UNSUPPORTED, "'%s'", err.text);
    test_lengths();
    test_too_long();
    test_faults_apart();
    test_threads();
    test_masked(m);
    rill_plan_unref(plan);
    rill_model_free(m);
    return check_done();
}
