/* SPDX-License-Identifier: MIT */
/* A stream that asks for a row past the end of a table: what came before is given, run() says
 * INVALID from there on, the words name node, index and frames, its neighbours go on, a reset
 * begins anew. argv[1]: a model [1,2,S] + table of 9 rows. */
#include "tests/check.h"
#include <rill.h>

#include <stdlib.h>
#include <string.h>

#define ROWS 9

#define SEE(ok, what, more) CHECK(ok, "%s: %s", what, more)

static rill_stream *stream_new(const rill_plan *p)
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    return mem ? rill_stream_init(mem, p) : NULL;
}

/* Pushes one frame and runs what is due; *given grows by what comes. */
static rill_status frame_run(rill_stream *s, size_t *given)
{
    const float x[2] = { 1, 2 };
    float y[64];
    size_t n, taken;
    rill_status pushed = rill_stream_push(s, 0, x, 1, &taken), ran = rill_stream_run(s);
    while (rill_stream_pull(s, 1, y, 32, &n) == RILL_OK && n)
        *given += n;
    return pushed == RILL_OK ? ran : pushed;
}

static void stream_test(const rill_plan *p, unsigned pulse)
{
    rill_stream *s = stream_new(p);
    rill_error err = { .text = "" };
    size_t given = 0, whole = ROWS / pulse * pulse;
    char at[60];
    for (int round = 0; round < 2; round++) {
        unsigned k = 0;
        for (given = 0; k < 3 * ROWS && frame_run(s, &given) != RILL_INVALID; k++)
            ;
        SEE(given == whole && k == whole + pulse - 1, "frames before the end of the table", "");
        SEE(rill_stream_run(s) == RILL_INVALID && frame_run(s, &given) == RILL_INVALID,
            "and so it stays", "");
        SEE(rill_stream_fault(s, NULL) == RILL_INVALID &&
                rill_stream_fault(s, &err) == RILL_INVALID && err.status == RILL_INVALID,
            "the fault", err.text);
        SEE(strstr(err.text, "(Gather): index 9 is outside an axis of 9") != NULL, "words",
            err.text);
        snprintf(at, sizeof at,
                 pulse == 1 ? "at input frame 9: " : "at input frames %zu to %zu: ", whole,
                 whole + pulse - 1);
        SEE(strstr(err.text, at) != NULL, at, err.text);
        rill_stream_finish(s);
        SEE(rill_stream_run(s) == RILL_INVALID && given == whole, "finished", "");
        rill_stream_reset(s);
        SEE(rill_stream_fault(s, &err) == RILL_OK, "reset", err.text);
    }
    free(s);
}

/* As long as the table, whatever the pulse: frames behind the end are nobody's. */
static void fits_test(const rill_plan *p)
{
    rill_stream *s = stream_new(p);
    size_t given = 0, n;
    float y[64];
    rill_status status = RILL_OK;
    for (int k = 0; k < ROWS; k++)
        frame_run(s, &given);
    rill_stream_finish(s);
    while ((status = rill_stream_run(s)) == RILL_OK)
        while (rill_stream_pull(s, 1, y, 32, &n) == RILL_OK && n)
            given += n;
    SEE(status == RILL_END && given == ROWS, "a sequence that fits", rill_status_text(status));
    free(s);
}

/* Each of three began three frames after the one before it. */
static void many_test(const rill_plan *p)
{
    rill_stream *s[3];
    rill_status status[3];
    size_t given[3] = { 0 }, n, taken;
    const float x[2] = { 1, 2 };
    float y[64];
    for (int i = 0; i < 3; i++)
        s[i] = stream_new(p);
    for (int k = 0; k < 3 * ROWS; k++) {
        for (int i = 0; i < 3; i++)
            if (k >= 3 * i)
                rill_stream_push(s[i], 0, x, 1, &taken);
        SEE(rill_run_many(s, 3, status) == RILL_OK, "many", "");
        for (int i = 0; i < 3; i++) {
            rill_status want = k < 3 * i ? RILL_AGAIN : k < 3 * i + ROWS ? RILL_OK : RILL_INVALID;
            SEE(status[i] == want, "one of many", rill_status_text(status[i]));
            while (rill_stream_pull(s[i], 1, y, 32, &n) == RILL_OK && n)
                given[i] += n;
        }
    }
    for (int i = 0; i < 3; i++) {
        SEE(given[i] == ROWS, "frames of one of many", "");
        free(s[i]);
    }
}

int main(int argc, char **argv)
{
    static const uint32_t pulses[] = { 1, 4, 7 };
    rill_model *m;
    rill_error err;
    if (argc < 2 || rill_model_open(&m, argv[1], &err) != RILL_OK)
        return printf("FAILED: no model\n"), 1;
    for (size_t i = 0; i < sizeof pulses / sizeof *pulses; i++) {
        rill_plan *p = NULL;
        const rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = pulses[i] };
        if (rill_plan_new(&p, m, &opts, &err) != RILL_OK)
            return printf("FAILED: %s\n", err.text), 1;
        stream_test(p, pulses[i]);
        fits_test(p);
        if (pulses[i] == 1)
            many_test(p);
        rill_plan_unref(p);
    }
    rill_model_free(m);
    for (int status = RILL_OK; status <= RILL_INTERNAL; status++)
        SEE(strcmp(rill_status_text((rill_status) status), "unknown status"), "a status has words",
            rill_status_text((rill_status) status));
    return check_done();
}
