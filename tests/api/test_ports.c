/* SPDX-License-Identifier: MIT */
/* Ports: their names and rates, how they lie beside the input, and that no output is written over
 * before it was pulled. */
#include "tests/check.h"

#include <rill.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PULSE 4
#define LENGTH 64

/* A plan of graph g(x) -> (outputs) { x of [S]; body } */
static rill_plan *plan_of(const char *outputs, const char *body, uint32_t pulse)
{
    char path[] = "/tmp/rill-ports-XXXXXX.nnef";
    int fd = mkstemps(path, 5);
    FILE *f = fdopen(fd, "w");
    rill_model *m;
    rill_plan *p = NULL;
    rill_error err = { 0 };
    fprintf(f, "version 1.0;\ngraph g(x) -> (%s)\n{\n    x = external<scalar>(shape = [S]);\n%s}\n",
            outputs, body);
    fclose(f);
    int ok = !rill_model_open(&m, path, &err);
    unlink(path);
    if (ok) {
        ok = !rill_plan_new(&p, m,
                            &(rill_plan_opts) { .struct_bytes = sizeof(rill_plan_opts),
                                                .pulse_frames = pulse },
                            &err);
        rill_model_free(m);
    }
    if (!ok)
        printf("%s\n", err.text);
    check(ok, body, 0);
    return p;
}

static void *block_new(const rill_plan *p)
{
    return aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64);
}

static unsigned outputs_of(const rill_plan *p, unsigned *ret_first)
{
    rill_port ports[8] = { { .struct_bytes = sizeof *ports } };
    unsigned n = rill_plan_ports(p, ports, 8);
    for (*ret_first = 0; *ret_first < n && ports[*ret_first].is_input; ++*ret_first)
        ;
    return n;
}

/* ---- drained before it is written over ---- */

struct got {
    float y[2 * LENGTH];
    size_t n;
};

/* One of push, run and pull, at random; returns frames pushed. */
static size_t turn(rill_stream *s, const float *x, size_t left, unsigned first, unsigned n,
                   struct got *got)
{
    size_t k = 0;
    unsigned port = first + check_random(n - first);
    switch (check_random(3)) {
    case 0: rill_stream_push(s, 0, x, left < 3 ? left : 1 + check_random(3), &k); return k;
    case 1: rill_stream_run(s); return 0;
    default:
        rill_stream_pull(s, port, got[port].y + got[port].n, 1 + check_random(3), &k);
        got[port].n += k;
        return 0;
    }
}

/* Whatever the order of calls is, every output gives what it gives when it is pulled at once. */
static void any_order(const rill_plan *p)
{
    float x[LENGTH];
    unsigned first, n = outputs_of(p, &first);
    for (int i = 0; i < LENGTH; i++)
        x[i] = (float) (1 + i);
    for (long round = 0; round < 50; round++) {
        static struct got got[8];
        rill_stream *s = rill_stream_init(block_new(p), p);
        memset(got, 0, sizeof got);
        for (size_t at = 0, tries = 0; tries < 3000; tries++)
            at += turn(s, x + at, LENGTH - at, first, n, got);
        for (unsigned o = first; o < n; o++)
            for (size_t i = 0; i < LENGTH; i++)
                if (i >= got[o].n || got[o].y[i] != (o == first ? 1.0f : -1.0f) * x[i]) {
                    check(got[o].n == LENGTH && 0, "output in any order", (long) i);
                    i = LENGTH;
                }
        check(1, "", 0);
        free(s);
    }
}

static void test_views(void)
{
    static const struct {
        const char *outputs, *body;
    } cases[] = {
        { "y", "    y = unsqueeze(x, axes = [0]);\n" },
        { "y", "    y = reshape(x, shape = [-1, 1]);\n" },
        { "y", "    y = copy(x);\n" },
        { "y, z", "    y = unsqueeze(x, axes = [0]);\n    z = neg(x);\n" },
        { "y, z", "    y = copy(x);\n    z = neg(unsqueeze(x, axes = [0]));\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_plan *p = plan_of(cases[i].outputs, cases[i].body, PULSE);
        if (p)
            any_order(p);
        rill_plan_unref(p);
    }
}

/* A view that nobody wants holds nothing up; one that somebody wants does. */
static void test_wanted(void)
{
    const float a[PULSE] = { 1, 2, 3, 4 }, b[PULSE] = { 5, 6, 7, 8 };
    float y[PULSE];
    size_t n;
    rill_plan *p = plan_of("y, z", "    y = unsqueeze(x, axes = [0]);\n    z = neg(x);\n", PULSE);
    for (unsigned wanted = 1; p && wanted <= 2; wanted++) {
        void *mem = block_new(p);
        rill_stream *s = rill_stream_init_for(mem, p, &wanted, 1);
        rill_stream_push(s, 0, a, PULSE, &n);
        check(n == PULSE && rill_stream_run(s) == RILL_OK, "first pulse", wanted);
        rill_stream_push(s, 0, b, PULSE, &n);
        check(n == (wanted == 1 ? 0 : PULSE), "push before pull", wanted);
        check(rill_stream_run(s) == RILL_AGAIN, "run before pull", wanted);
        rill_stream_pull(s, 3 - wanted, y, PULSE, &n);
        check(n == 0, "an output that nobody wants gives something", wanted);
        rill_stream_pull(s, wanted, y, PULSE, &n);
        check(n == PULSE && y[0] == (wanted == 1 ? 1 : -1), "what was pulled", wanted);
        rill_stream_push(s, 0, b, PULSE, &n);
        check(n == (wanted == 1 ? PULSE : 0) && rill_stream_run(s) == RILL_OK, "second pulse",
              wanted);
        rill_stream_finish(s);
        rill_stream_pull(s, wanted, y, PULSE, &n);
        check(n == PULSE && rill_stream_run(s) == RILL_END, "end", wanted);
        free(mem);
    }
    void *mem = p ? block_new(p) : NULL;
    const unsigned wrong[] = { 0, 3, 1000 };
    for (unsigned i = 0; mem && i < 3; i++)
        check(!rill_stream_init_for(mem, p, &wrong[i], 1), "a port that is no output", wrong[i]);
    free(mem);
    rill_plan_unref(p);
}

/* ---- names and rates ---- */

static void names_are(const char *outputs, const char *body, const char *a, const char *b)
{
    rill_port ports[8] = { { .struct_bytes = sizeof *ports } };
    rill_plan *p = plan_of(outputs, body, PULSE);
    unsigned n = p ? rill_plan_ports(p, ports, 8) : 0;
    check(n >= 2 && !strcmp(ports[0].name, "x") && !strcmp(ports[1].name, a), body, 1);
    check(!b || (n == 3 && !strcmp(ports[2].name, b)), body, 2);
    rill_plan_unref(p);
}

static void test_names(void)
{
    names_are("clean", "    clean = copy(neg(x));\n", "clean", NULL);
    names_are("clean", "    clean = slice(neg(x), axes = [0], begin = [0], end = [0]);\n", "clean",
              NULL);
    names_are("clean", "    clean = copy(x);\n", "clean", NULL);
    names_are("y0, y1", "    t = neg(x);\n    y0 = copy(t);\n    y1 = copy(t);\n", "y0", "y1");
    names_are("y0, y1", "    y0 = neg(x);\n    y1 = copy(y0);\n", "y0", "y1");
}

/* t is every sample three times. */
#define THRICE                                                                                     \
    "    w = constant(shape = [1, 1, 3], value = [1.0, 1.0, 1.0]);\n"                              \
    "    t = deconv(unsqueeze(x, axes = [0, 1]), w, 0.0, padding = [(0, 0)], stride = [3]);\n"

static void test_rates(void)
{
    static const struct {
        const char *body;
        uint32_t num, den;
    } cases[] = {
        { "    y = neg(x);\n", 1, 1 },
        { "    y = rill_frame(x, size = 4, hop = 4);\n", 4, 1 },
        { THRICE "    y = copy(t);\n", 1, 3 },
        { THRICE "    y = rill_frame(squeeze(t, axes = [0, 1]), size = 2, hop = 2);\n", 2, 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_port ports[2] = { { .struct_bytes = sizeof *ports } };
        rill_plan *p = plan_of("y", cases[i].body, 0);
        if (p)
            rill_plan_ports(p, ports, 2);
        check(ports[1].hop_num == cases[i].num && ports[1].hop_den == cases[i].den, "hop",
              (long) i);
        rill_plan_unref(p);
    }
}

/* ---- more of them than bits in a word ---- */

#define OUTPUTS 199

/* y0, y1 .. and y_i = i * x. Views of x among them: they lie where the next frames go. */
static rill_plan *plan_of_many(void)
{
    static char outputs[OUTPUTS * 8], body[OUTPUTS * 40];
    size_t n_outputs = 0, n_body = 0;
    for (int i = 0; i < OUTPUTS; i++) {
        n_outputs += (size_t) sprintf(outputs + n_outputs, "%sy%d", i ? ", " : "", i);
        n_body += (size_t) sprintf(body + n_body,
                                   i == 1 ? "    y%d = copy(x);\n" : "    y%d = x * %d.0;\n", i, i);
    }
    return plan_of(outputs, body, PULSE);
}

static void many_run(rill_stream *s, unsigned first, unsigned last)
{
    const float x[PULSE] = { 1, 2, 3, 4 };
    float y[PULSE];
    size_t n;
    check(!rill_stream_push(s, 0, x, PULSE, &n) && n == PULSE && !rill_stream_run(s), "run", 0);
    for (unsigned i = first; i <= last; i++) {
        check(rill_stream_run(s) == RILL_AGAIN, "waits for output", (long) i);
        check(!rill_stream_pull(s, 1 + i, y, PULSE, &n) && n == PULSE && y[0] == (float) i &&
                  y[3] == 4 * (float) i,
              "output", (long) i);
    }
}

static void test_many_ports(void)
{
    rill_plan *p = plan_of_many();
    void *mem = p ? block_new(p) : NULL;
    const unsigned one = 1 + OUTPUTS - 3, none = 1 + OUTPUTS;
    size_t n;
    float y[PULSE];
    check(mem && rill_plan_ports(p, NULL, 0) == 1 + OUTPUTS, "ports", 1 + OUTPUTS);
    if (!mem)
        return;
    rill_stream *s = rill_stream_init(mem, p);
    for (int run = 0; run < 3; run++)
        many_run(s, 0, OUTPUTS - 1);
    check(!rill_stream_init_for(mem, p, &none, 1), "no such output", (long) none);
    s = rill_stream_init_for(mem, p, &one, 1);
    for (int run = 0; run < 3; run++) {
        many_run(s, one - 1, one - 1);
        check(!rill_stream_pull(s, 1, y, PULSE, &n) && n == 0, "unwanted output", run);
        if (run == 1)
            rill_stream_reset(s); /* still the one that is wanted */
    }
    free(mem);
    rill_plan_unref(p);
}

/* ---- alignment ---- */

static bool same_alignment(const rill_alignment *a, const rill_alignment *b)
{
    return a->cut_frames == b->cut_frames && a->fill_frames == b->fill_frames &&
        a->frames == b->frames && a->late_frames == b->late_frames;
}

static void test_align(void)
{
    static const struct {
        rill_port port;
        uint64_t samples;
        rill_alignment want;
    } cases[] = {
#define PORT(hop, per, off, of, late)                                                              \
    { .struct_bytes = sizeof(rill_port),                                                           \
      .hop_num = hop,                                                                              \
      .hop_den = per,                                                                              \
      .offset_num = off,                                                                           \
      .offset_den = of,                                                                            \
      .latency_samples = late }
#define LIE(cut, fill, all, late)                                                                  \
    {                                                                                              \
        sizeof(rill_alignment), cut, fill, all, late                                               \
    }
        { PORT(1, 1, 0, 1, 4000), 100, LIE(0, 0, 100, 4000) },
        { PORT(1, 1, -256, 1, 256), 100, LIE(256, 0, 100, 0) },
        { PORT(1, 1, -159, 1, 400), 0, LIE(159, 0, 0, 241) },
        { PORT(1, 1, 7, 1, 3), 100, LIE(0, 7, 100, 10) },
        { PORT(512, 1, -64, 1, 0), 1024, LIE(0, 0, 2, 0) },
        { PORT(160, 1, -320, 1, 320), 161, LIE(2, 0, 2, 0) },
        { PORT(1, 3, -1, 3, 0), 10, LIE(1, 0, 30, 0) },
        { PORT(2, 3, 1, 2, 0), 3, LIE(0, 0, 5, 0) },
        { PORT(1, 4, 5, 2, 1), UINT64_C(1) << 60, LIE(0, 10, UINT64_C(1) << 62, 14) },
    };
    rill_alignment got = { .struct_bytes = sizeof got };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(rill_port_align(&cases[i].port, cases[i].samples, &got) == RILL_OK &&
                  same_alignment(&got, &cases[i].want),
              "alignment", (long) i);
    const rill_port none = { .struct_bytes = sizeof none, .hop_den = 1, .offset_den = 1 };
    check(rill_port_align(&none, 1, &got) == RILL_INVALID, "a port without time", 0);
}

int main(void)
{
    test_views();
    test_wanted();
    test_names();
    test_rates();
    test_many_ports();
    test_align();
    return check_done();
}
