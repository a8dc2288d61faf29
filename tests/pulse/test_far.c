/* SPDX-License-Identifier: MIT */
/* Streams whose clocks stand near the ends of f32 and i32, and beyond, give the bits of one whose
 * clock is low: argv[1] makes of frame numbers in such types what repeats after 12 frames. */
#include "lib/stream_internal.h"
#include "tests/check.h"
#include <rill.h>

#include <stdlib.h>
#include <string.h>

#define REPEATS 12
#define RUNS 30
#define PORTS_MAX 16
#define WIDTH_MAX 64

static const rill_plan *plan;
static rill_port ports[PORTS_MAX];
static unsigned n_ports;

/* What every output gives in the runs behind `runs`; the bytes of it. */
static size_t outputs_of(int64_t runs, unsigned char *ret)
{
    const size_t size = rill_plan_stream_size(plan);
    void *mem = aligned_alloc(64, (size + 63) & ~(size_t) 63);
    rill_stream *s = mem ? rill_stream_init(mem, plan) : NULL;
    float x[WIDTH_MAX];
    unsigned char y[sizeof(float) * WIDTH_MAX * 8];
    size_t n = 0, moved;
    uint32_t seed = 3;
    for (int r = 0; s && r < RUNS; r++) {
        s->n_runs = runs + r;
        for (unsigned f = 0; f < ports[0].pulse_frames; f++) {
            for (unsigned i = 0; i < ports[0].width; i++)
                x[i] = (float) (int32_t) (seed = seed * 1664525u + 1013904223u) * 0x1p-31f;
            CHECK(rill_stream_push(s, 0, x, 1, &moved) == RILL_OK && moved == 1, "push");
        }
        CHECK(rill_stream_run(s) == RILL_OK, "run %d", r);
        for (unsigned k = 1; k < n_ports; k++)
            while (rill_stream_pull(s, k, y, 1, &moved) == RILL_OK && moved) {
                memcpy(ret + n, y, ports[k].width * ports[k].element_bytes);
                n += ports[k].width * ports[k].element_bytes;
            }
    }
    free(mem);
    return n;
}

static void test_clock(const rill_model *m, uint32_t pulse)
{
    static const int64_t ends[] = { INT64_C(1) << 24, INT64_C(1) << 31, INT64_C(1) << 40 };
    static unsigned char low[1 << 20], far[1 << 20];
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = pulse };
    rill_plan *p = NULL;
    rill_error err = { .text = "" };
    CHECK(rill_plan_new(&p, m, &opts, &err) == RILL_OK, "%s", err.text);
    if (!p)
        return;
    plan = p;
    ports[0].struct_bytes = sizeof *ports;
    n_ports = rill_plan_ports(p, ports, PORTS_MAX);
    CHECK(ports[0].width <= WIDTH_MAX, "too wide");
    const int64_t begin = 65536 / REPEATS * REPEATS;
    size_t n = outputs_of(begin, low);
    CHECK(n > 0, "nothing came");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) { /* the end lies within the runs */
        const int64_t runs = (ends[i] / pulse - RUNS / 2) / REPEATS * REPEATS;
        CHECK(outputs_of(runs, far) == n && !memcmp(low, far, n),
              "pulse %u: other bits at frame %lld", pulse, (long long) ends[i]);
    }
    rill_plan_unref(p);
}

int main(int argc, char **argv)
{
    rill_model *m;
    rill_error err = { .text = "" };
    if (argc < 2 || rill_model_open(&m, argv[1], &err) != RILL_OK)
        return printf("FAILED: %s\n", err.text), 1;
    test_clock(m, 1);
    test_clock(m, 4);
    test_clock(m, 12);
    rill_model_free(m);
    return check_done();
}
