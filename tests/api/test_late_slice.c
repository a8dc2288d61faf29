/* SPDX-License-Identifier: MIT */
/* Windows whose places data decides: where all lie within their tensors a run gives them, where one
 * begins before the first place or ends behind the last it says INVALID, and which. argv[1]:
 * conformance/own/slice_late, whose windows lie within for at = 2 alone. */
#include "tests/check.h"
#include <rill.h>

#include <stdlib.h>
#include <string.h>

static rill_status place_run(rill_stream *s, float at, rill_error *err)
{
    const float x[42] = { 0 };
    size_t taken;
    rill_stream_reset(s);
    CHECK(rill_stream_push(s, 0, x, 1, &taken) == RILL_OK && taken == 1, "x");
    CHECK(rill_stream_push(s, 1, &at, 1, &taken) == RILL_OK && taken == 1, "at");
    rill_status status = rill_stream_run(s);
    rill_stream_fault(s, err);
    return status;
}

int main(int argc, char **argv)
{
    static const struct {
        float at;
        const char *words; /* NULL: within */
    } rows[] = {
        { 2, NULL },        { 1, "slice7_0" }, /* from -1 on, which is no place counted from the end
                                                */
        { 3, "slice10_0" }, { 4, "slice5_0" },    { -1, "slice5_0" },
        { -7, "slice5_0" }, { 1e9f, "slice5_0" }, { -2147483648.0f, "slice5_0" },
    };
    rill_model *m;
    rill_plan *p;
    rill_error err = { .text = "" };
    const rill_plan_opts opts = { .struct_bytes = sizeof opts };
    if (argc < 2 || rill_model_open(&m, argv[1], &err) != RILL_OK ||
        rill_plan_new(&p, m, &opts, &err) != RILL_OK)
        return printf("FAILED: %s\n", err.text), 1;
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = mem ? rill_stream_init(mem, p) : NULL;
    for (size_t i = 0; s && i < sizeof rows / sizeof *rows; i++) {
        err.text[0] = 0;
        rill_status got = place_run(s, rows[i].at, &err);
        CHECK(rows[i].words ? got == RILL_INVALID && strstr(err.text, rows[i].words) != NULL
                            : got == RILL_OK,
              "at %g: %s, '%s'", (double) rows[i].at, rill_status_text(got), err.text);
        CHECK(rows[i].at != 1 || strstr(err.text, "is below 0"), "at 1: '%s'", err.text);
        CHECK(!strstr(err.text, "9223372036854775807"), "at %g: '%s'", (double) rows[i].at,
              err.text);
    }
    free(mem);
    rill_plan_unref(p);
    rill_model_free(m);
    return check_done();
}
