/* SPDX-License-Identifier: MIT */
/* The same bits on a thread that flushes denormals and on one that does not, where the model is
 * opened, planned and run; and the thread's own mode is left as it was. argv[1]: a model that goes
 * through denormals, in constants and in what it computes. */
#include "tests/check.h"
#include <rill.h>

#include <stdlib.h>
#include <string.h>

#define FRAMES 16

#define SEE(ok, what, way) CHECK(ok, "%s (%u)", what, way)

static bool flushes(void)
{
    volatile float tiny = 1e-30f, more = tiny * 1e-10f;
    return more == 0;
}

static void stream_run(const rill_plan *p, bool many, float y[FRAMES])
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, p);
    rill_status status;
    size_t n, taken;
    for (size_t k = 0; k < FRAMES; k++) {
        const float x = (float) (k + 1) * 1e-3f;
        rill_stream_push(s, 0, &x, 1, &taken);
        if (many)
            rill_run_many(&s, 1, &status);
        else
            status = rill_stream_run(s);
        SEE(status == RILL_OK && rill_stream_pull(s, 1, &y[k], 1, &n) == RILL_OK && n == 1,
            "a frame", (unsigned) k);
    }
    free(mem);
}

/* Opens, plans and runs, and calls rill_thread_prepare before the step of that number. */
static void way_run(const char *path, unsigned step, bool many, float y[FRAMES])
{
    rill_model *m = NULL;
    rill_plan *p = NULL;
    rill_error err;
    if (step == 0)
        rill_thread_prepare();
    SEE(rill_model_open(&m, path, &err) == RILL_OK, "open", step);
    SEE(flushes() == (step < 1), "the mode after open", step);
    if (step == 1)
        rill_thread_prepare();
    SEE(rill_plan_new(&p, m, NULL, &err) == RILL_OK, "plan", step);
    SEE(flushes() == (step < 2), "the mode after planning", step);
    if (step == 2)
        rill_thread_prepare();
    stream_run(p, many, y);
    SEE(flushes() == (step < 3), "the mode after runs", step);
    rill_plan_unref(p);
    rill_model_free(m);
}

int main(int argc, char **argv)
{
    /* a process for each: a thread that was prepared stays so */
    unsigned step = argc > 2 ? (unsigned) atoi(argv[2]) : 3;
    float y[FRAMES], one[FRAMES];
    if (argc < 2)
        return 1;
    way_run(argv[1], step, false, y);
    if (step == 3) {
        way_run(argv[1], 3, true, one);
        SEE(!memcmp(one, y, sizeof y), "many", 0);
        for (step = 0; step < 3; step++) {
            char line[4096];
            snprintf(line, sizeof line, "%s '%s' %u", argv[0], argv[1], step);
            FILE *f = popen(line, "r");
            SEE(f && fread(one, sizeof one, 1, f) == 1 && !memcmp(one, y, sizeof y), "the bits",
                step);
            SEE(f && pclose(f) == 0, "the other thread", step);
        }
        return check_done();
    }
    fwrite(y, sizeof y, 1, stdout);
    return check_failed != 0;
}
