/* SPDX-License-Identifier: MIT */
/* Ports of every type: what a stream gives is what is worked out here, at any pulse and in any
 * cuts, alone and beside others, after a reset too. argv[1]: the models (types/make.py). */
#include "tests/check.h"
#include <rill.h>

#include <stdlib.h>
#include <string.h>

#define LENGTH 41
#define WIDTH_MAX 8
#define FRAME_MAX (WIDTH_MAX * 8)

static const uint32_t pulses[] = { 0, 1, 2, 7 };

/* ---- models and streams ---- */

static rill_plan *plan_of(const char *folder, const char *name, uint32_t pulse)
{
    const rill_plan_opts opts = { .struct_bytes = sizeof opts, .pulse_frames = pulse };
    rill_error err = { .text = "" };
    rill_model *m = NULL;
    rill_plan *p = NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    if (rill_model_open(&m, path, &err) == RILL_OK)
        rill_plan_new(&p, m, &opts, &err);
    rill_model_free(m);
    CHECK(p, "%s: %s", name, err.text);
    return p;
}

static rill_stream *stream_of(const rill_plan *p)
{
    size_t bytes = (rill_plan_stream_size(p) + 63) & ~(size_t) 63;
    void *mem = aligned_alloc(64, bytes);
    memset(mem, 0xff, bytes);
    return rill_stream_init(mem, p);
}

/* What came out of an output, frame after frame. */
struct got {
    unsigned char y[2][LENGTH * FRAME_MAX];
    size_t n[2]; /* frames */
};

static void outputs_take(rill_stream *s, const rill_port *ports, unsigned n_ports, struct got *g)
{
    for (unsigned i = 1, k = 0; i < n_ports; i++) {
        size_t given = 1, frame = (size_t) ports[i].width * ports[i].element_bytes;
        if (ports[i].is_input)
            continue;
        while (given && g->n[k] < LENGTH &&
               rill_stream_pull(s, i, g->y[k] + g->n[k] * frame, 1 + check_random(3), &given) ==
                   RILL_OK)
            g->n[k] += given;
        k++;
    }
}

/* All of x through the stream, in random cuts. Whoever gives no frames more resets it first. */
static void stream_feed(rill_stream *s, const rill_port *ports, unsigned n_ports, const void *x,
                        struct got *g)
{
    size_t frame = (size_t) ports[0].width * ports[0].element_bytes;
    *g = (struct got) { .n = { 0 } };
    for (size_t at = 0, taken = 0; at < LENGTH; at += taken) {
        size_t n = 1 + check_random(9);
        rill_stream_push(s, 0, (const char *) x + at * frame, n < LENGTH - at ? n : LENGTH - at,
                         &taken);
        if (rill_stream_run(s) == RILL_OK)
            outputs_take(s, ports, n_ports, g);
    }
    rill_stream_finish(s);
    do
        outputs_take(s, ports, n_ports, g);
    while (rill_stream_run(s) == RILL_OK);
}

/* ---- rows ---- */

/* Frame t of the outputs, of x frame after frame. */
typedef void expect(const unsigned char *x, size_t t, const rill_port *ports, void *y, void *z);

#define DIFFERENCE(name, type)                                                                     \
    static void step_##name(const unsigned char *x, size_t t, const rill_port *p, void *y,         \
                            void *z)                                                               \
    {                                                                                              \
        type a[WIDTH_MAX] = { 0 }, b[WIDTH_MAX], *to = y;                                          \
        size_t n = p->width * sizeof *a;                                                           \
        if (t)                                                                                     \
            memcpy(a, x + (t - 1) * n, n);                                                         \
        memcpy(b, x + t * n, n);                                                                   \
        for (uint32_t i = 0; i < p->width; i++)                                                    \
            to[i] = (type) (b[i] - a[i]);                                                          \
        (void) z;                                                                                  \
    }
DIFFERENCE(f32, float)
DIFFERENCE(f64, double)
DIFFERENCE(8, uint8_t)
DIFFERENCE(16, uint16_t)
DIFFERENCE(32, uint32_t)
DIFFERENCE(64, uint64_t)

static void step_bool(const unsigned char *x, size_t t, const rill_port *p, void *y, void *z)
{
    for (uint32_t i = 0; i < p->width; i++)
        ((unsigned char *) y)[i] =
            (x[t * p->width + i] != 0) ^ (t ? x[(t - 1) * p->width + i] != 0 : 0);
    (void) z;
}

static void words(const unsigned char *x, size_t t, const rill_port *p, void *y, void *z)
{
    for (int o = 0; o < 5; o++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            size_t at = t + (size_t) k - 1;
            int64_t token;
            if (at >= LENGTH)
                continue;
            memcpy(&token, x + at * 8, 8);
            for (int c = 0; c < 4; c++)
                sum += ((o + 1) * (c - 1) + k) * (double) (token + 10 * c);
        }
        ((float *) y)[o] = (float) sum;
    }
    (void) p, (void) z;
}

static void best(const unsigned char *x, size_t t, const rill_port *p, void *y, void *z)
{
    float v[6];
    int64_t most = 0;
    memcpy(v, x + t * sizeof v, sizeof v);
    for (int i = 0; i < 6; i++) {
        most = v[i] > v[most] ? i : most;
        ((unsigned char *) z)[i] = v[i] > 3;
    }
    memcpy(y, &most, sizeof most);
    (void) p;
}

static void bytes(const unsigned char *x, size_t t, const rill_port *p, void *y, void *z)
{
    *(float *) y = (float) (4 * x[t] + (t ? 2 * x[t - 1] : 0) + (t > 1 ? x[t - 2] : 0));
    (void) p, (void) z;
}

static void half(const unsigned char *x, size_t t, const rill_port *p, void *y, void *z)
{
    float v;
    memcpy(&v, x + t * sizeof v, sizeof v);
    *(float *) y = v * v; /* whole numbers up to 20: exact in 16 bits */
    (void) p, (void) z;
}

static void four(const unsigned char *x, size_t t, const rill_port *p, void *y, void *z)
{
    *(float *) y = x[t] > 15 ? 15 : x[t];
    (void) p, (void) z;
}

enum data { ANY, NUMBERS, TOKENS };

static const struct row {
    const char *model;
    rill_type in, out, second;
    uint32_t width;
    enum data data;
    expect *expect;
} rows[] = {
#define STEP(text, type, fn, data)                                                                 \
    {                                                                                              \
        "step_" text, type, type, RILL_TYPE_F32, 6, data, fn                                       \
    }
    STEP("f32", RILL_TYPE_F32, step_f32, NUMBERS),
    STEP("f64", RILL_TYPE_F64, step_f64, NUMBERS),
    STEP("i8", RILL_TYPE_I8, step_8, ANY),
    STEP("u8", RILL_TYPE_U8, step_8, ANY),
    STEP("i16", RILL_TYPE_I16, step_16, ANY),
    STEP("u16", RILL_TYPE_U16, step_16, ANY),
    STEP("i32", RILL_TYPE_I32, step_32, ANY),
    STEP("u32", RILL_TYPE_U32, step_32, ANY),
    STEP("i64", RILL_TYPE_I64, step_64, ANY),
    STEP("u64", RILL_TYPE_U64, step_64, ANY),
    STEP("bool", RILL_TYPE_BOOL, step_bool, ANY), /* bytes that are no bools are 1 */
    { "words", RILL_TYPE_I64, RILL_TYPE_F32, RILL_TYPE_F32, 1, TOKENS, words },
    { "best", RILL_TYPE_F32, RILL_TYPE_I64, RILL_TYPE_BOOL, 6, NUMBERS, best },
    { "bytes", RILL_TYPE_U8, RILL_TYPE_F32, RILL_TYPE_F32, 1, ANY, bytes },
    { "half", RILL_TYPE_F32, RILL_TYPE_F32, RILL_TYPE_F32, 1, NUMBERS, half },
    { "four", RILL_TYPE_U4, RILL_TYPE_F32, RILL_TYPE_F32, 1, ANY, four },
};

static void data_make(const struct row *r, unsigned char *x, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        x[i] = (unsigned char) check_random(256);
    for (size_t i = 0; r->data != ANY && i < LENGTH * r->width; i++) {
        int v = r->data == TOKENS ? (int) check_random(11) : (int) check_random(20) - 9;
        if (r->in == RILL_TYPE_F32)
            ((float *) (void *) x)[i] = (float) v;
        else if (r->in == RILL_TYPE_F64)
            ((double *) (void *) x)[i] = v / 3.0;
        else
            ((int64_t *) (void *) x)[i] = v;
    }
}

static void got_check(const struct row *r, const rill_port *ports, unsigned n_ports,
                      const unsigned char *x, const struct got *g, const char *when)
{
    for (unsigned i = 1; i < n_ports; i++)
        CHECK(g->n[i - 1] == LENGTH, "%s, %s: %zu frames of '%s'", r->model, when, g->n[i - 1],
              ports[i].name);
    for (size_t t = 0; t < LENGTH; t++) {
        double want[2][WIDTH_MAX];
        r->expect(x, t, ports, want[0], want[1]);
        for (unsigned i = 1; i < n_ports; i++) {
            size_t frame = (size_t) ports[i].width * ports[i].element_bytes;
            CHECK(!memcmp(g->y[i - 1] + t * frame, want[i - 1], frame),
                  "%s, %s, pulse %u: frame %zu of '%s'", r->model, when, ports[0].pulse_frames, t,
                  ports[i].name);
        }
    }
}

/* Several streams of one plan, one pulse each at a time. */
static void many_check(const struct row *r, const rill_plan *p, const rill_port *ports,
                       unsigned n_ports, const unsigned char *x)
{
    static struct got g[3];
    rill_stream *s[3];
    rill_status status[3];
    size_t at = 0, n = ports[0].pulse_frames, taken;
    memset(g, 0, sizeof g);
    for (int k = 0; k < 3; k++)
        s[k] = stream_of(p);
    for (bool end = false; !end; at += n) {
        end = true;
        for (int k = 0; k < 3; k++)
            if (at + n <= LENGTH)
                rill_stream_push(s[k], 0, x + at * ports[0].width * ports[0].element_bytes, n,
                                 &taken);
            else
                rill_stream_finish(s[k]);
        rill_run_many(s, 3, status);
        for (int k = 0; k < 3; k++) {
            end &= status[k] == RILL_END;
            outputs_take(s[k], ports, n_ports, &g[k]);
        }
    }
    for (int k = 0; k < 3 && LENGTH % n == 0; k++)
        got_check(r, ports, n_ports, x, &g[k], "many");
    for (int k = 0; k < 3; k++)
        free(s[k]);
}

static void row_check(const char *folder, const struct row *r, uint32_t pulse)
{
    static unsigned char x[LENGTH * FRAME_MAX];
    static struct got g;
    rill_port ports[4] = { { .struct_bytes = sizeof *ports } };
    rill_plan *p = plan_of(folder, r->model, pulse);
    if (!p)
        return;
    unsigned n = rill_plan_ports(p, ports, 4);
    CHECK(n >= 2 && ports[0].type == r->in && ports[1].type == r->out &&
              (n < 3 || ports[2].type == r->second) && ports[0].width == r->width,
          "%s: %u ports, %s and %s", r->model, n, rill_type_name(ports[0].type),
          rill_type_name(ports[1].type));
    rill_stream *s = stream_of(p);
    data_make(r, x, (size_t) LENGTH * ports[0].width * ports[0].element_bytes);
    stream_feed(s, ports, n, x, &g);
    got_check(r, ports, n, x, &g, "first");
    rill_stream_reset(s);
    data_make(r, x, (size_t) LENGTH * ports[0].width * ports[0].element_bytes);
    stream_feed(s, ports, n, x, &g);
    got_check(r, ports, n, x, &g, "after a reset");
    many_check(r, p, ports, n, x);
    free(s);
    rill_plan_unref(p);
}

/* ---- beside the stream ---- */

static float beside_run(rill_stream *s, float x, rill_status *ret)
{
    float y = -1;
    size_t n;
    rill_stream_push(s, 0, &x, 1, &n);
    *ret = rill_stream_run(s);
    rill_stream_pull(s, 2, &y, 1, &n);
    return y;
}

/* An input without time is set once, holds until it is set again, and is gone after a reset. */
static void beside_check(const char *folder)
{
    rill_plan *p = plan_of(folder, "beside", 1);
    if (!p)
        return;
    rill_stream *s = stream_of(p);
    rill_status status;
    size_t n;
    for (int round = 0; round < 2; round++) {
        beside_run(s, 1, &status);
        CHECK(status == RILL_AGAIN, "not set, round %d: %d", round, status);
        rill_stream_push(s, 1, &(int64_t) { 2 }, 1, &n);
        CHECK(n == 1, "set");
        CHECK(beside_run(s, 1, &status) == 100 && status == RILL_OK, "set");
        for (int i = 0; i < 5; i++)
            CHECK(beside_run(s, (float) i, &status) == 100 * (float) i, "held, frame %d", i);
        rill_stream_push(s, 1, &(int64_t) { 1 }, 1, &n);
        rill_stream_push(s, 1, &(int64_t) { 3 }, 1, &n);
        CHECK(n == 0, "set twice for one run");
        CHECK(beside_run(s, 4, &status) == 40 && beside_run(s, 5, &status) == 50, "set again");
        rill_stream_reset(s);
    }
    free(s);
    rill_plan_unref(p);
}

/* ---- views ---- */

static float view_pull(rill_stream *s, unsigned port)
{
    int64_t y = -1;
    size_t n;
    rill_stream_pull(s, port, &y, 1, &n);
    return n ? (float) y : -1;
}

/* Outputs that lie where the inputs do, one beside the stream among them, are not written over
 * before they were pulled. */
static void views_check(const char *folder)
{
    rill_plan *p = plan_of(folder, "views", 1);
    if (!p)
        return;
    rill_stream *s = stream_of(p);
    size_t n;
    for (int64_t i = 0; i < 9; i++) {
        const int64_t x = 10 + i, who = 100 + i;
        if (i % 3 == 0)
            CHECK(!rill_stream_push(s, 1, &who, 1, &n) && n == 1, "set, frame %d", (int) i);
        CHECK(!rill_stream_push(s, 0, &x, 1, &n) && n == 1, "x, frame %d", (int) i);
        CHECK(rill_stream_run(s) == RILL_OK, "run, frame %d", (int) i);
        CHECK(!rill_stream_push(s, 0, &(int64_t) { 0 }, 1, &n) && n == 0, "x is held");
        CHECK(!rill_stream_push(s, 1, &(int64_t) { 0 }, 1, &n) && n == 0, "who is held");
        CHECK(rill_stream_run(s) == RILL_AGAIN, "before it was pulled");
        CHECK(view_pull(s, 2) == (float) x && view_pull(s, 3) == (float) (100 + i / 3 * 3),
              "frame %d", (int) i);
    }
    free(s);
    rill_plan_unref(p);
}

/* ---- callers of before ---- */

/* Who cannot be told of types is told of no ports where there are other types than f32. */
static void older_check(const char *folder)
{
    const uint32_t older = offsetof(rill_port, type);
    static const struct {
        const char *model;
        unsigned ports;
    } cases[] = { { "best", 0 }, { "words", 0 }, { "step_f32", 2 }, { "half", 2 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_port ports[4] = { { .struct_bytes = older } };
        rill_plan *p = plan_of(folder, cases[i].model, 0);
        if (p)
            CHECK(rill_plan_ports(p, ports, 2) == cases[i].ports, "%s", cases[i].model);
        rill_plan_unref(p);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof pulses / sizeof *pulses; k++)
            row_check(argv[1], &rows[i], pulses[k]);
    beside_check(argv[1]);
    views_check(argv[1]);
    older_check(argv[1]);
    CHECK(!strcmp(rill_type_name(RILL_TYPE_I64), "i64"), "name");
    CHECK(!strcmp(rill_type_name((rill_type) 99), "?"), "no name");
    return check_done();
}
