/* SPDX-License-Identifier: MIT */
/* Streams of one plan that run together say and give what each says and gives alone, to the bit:
 * other inputs, pushed in pieces of their own, some short of input, some whose output waits, some
 * finished, some reset in between. The built-in model, every library model whose weights are at
 * hand, the nets of the zoo. */
#include "tests/check.h"
#include <rill.h>

#include <stdlib.h>
#include <string.h>

#define STREAMS_MAX 40
#define TICKS 18
#define PORTS_MAX 64

static bool thorough; /* 'all' was given: every number of streams at every pulse */

#define SEE(ok, model, what, a, b) CHECK(ok, "%s: %s (%u, %u)", model, what, a, b)

/* One listener: its own noise, its own habits. All it does follows from its number and from what
 * its stream answers. */
struct listener {
    rill_stream *s;
    uint32_t seed, reset_tick, finish_tick;
    rill_status status[TICKS];
    float *got;
    size_t n_got;
};

struct net {
    const char *name;
    rill_plan *plan;
    rill_port ports[PORTS_MAX];
    unsigned n_ports;
    size_t most_floats, cap_floats; /* of one port's pulse; of all outputs over all ticks */
    float *buf;
};

static uint32_t dice(struct listener *l)
{
    l->seed = l->seed * 1664525u + 1013904223u;
    return l->seed >> 8;
}

static void listener_init(const struct net *n, struct listener *l, unsigned number, void *mem)
{
    *l = (struct listener) { .seed = number * 7919 + 17,
                             .reset_tick = number % 5 == 3 ? 6 + number % 4 : TICKS,
                             .finish_tick = number % 3 == 1 ? 9 + number % 7 : TICKS };
    l->got = calloc(n->cap_floats, sizeof *l->got);
    l->s = rill_stream_init(mem, n->plan);
}

static void listener_push(const struct net *n, struct listener *l, uint32_t tick)
{
    uint32_t part = dice(l) % 6; /* of four: now and then less than a pulse, or more */
    size_t taken;
    if (tick == l->reset_tick)
        rill_stream_reset(l->s);
    for (unsigned i = 0; i < n->n_ports && n->ports[i].is_input; i++) {
        size_t frames = n->ports[i].pulse_frames,
               floats = frames * n->ports[i].width * n->ports[i].element_bytes / 4;
        for (size_t k = 0; k < floats; k++)
            n->buf[k] = (float) (int32_t) (dice(l) << 8) / 4294967296.0f;
        rill_stream_push(l->s, i, n->buf,
                         part < 4 && part ? (frames * part + 3) / 4
                             : part       ? frames
                                          : 0,
                         &taken);
    }
    if (tick == l->finish_tick)
        rill_stream_finish(l->s);
}

static void listener_pull(const struct net *n, struct listener *l)
{
    if (dice(l) % 5 == 0)
        return;
    for (unsigned i = 0; i < n->n_ports; i++) {
        size_t given = 1;
        if (n->ports[i].is_input)
            continue;
        while (given &&
               rill_stream_pull(l->s, i, n->buf, n->ports[i].pulse_frames, &given) == RILL_OK) {
            size_t bytes = given * n->ports[i].width * n->ports[i].element_bytes;
            memcpy(l->got + l->n_got, n->buf, bytes);
            l->n_got += (bytes + 3) / 4;
        }
    }
}

static void listeners_run(const struct net *n, struct listener *l, unsigned count, bool together)
{
    rill_stream *streams[STREAMS_MAX];
    rill_status status[STREAMS_MAX];
    for (uint32_t t = 0; t < TICKS; t++) {
        for (unsigned i = 0; i < count; i++) {
            listener_push(n, &l[i], t);
            streams[i] = l[i].s;
            if (!together)
                status[i] = rill_stream_run(l[i].s);
        }
        if (together && rill_run_many(streams, count, status) != RILL_OK)
            SEE(false, n->name, "run_many refuses streams of one plan", count, t);
        for (unsigned i = 0; i < count; i++) {
            l[i].status[t] = status[i];
            listener_pull(n, &l[i]);
        }
    }
}

static void listeners_compare(const struct net *n, const struct listener *alone,
                              const struct listener *many, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        SEE(!memcmp(alone[i].status, many[i].status, sizeof alone[i].status), n->name,
            "other answers", i, count);
        SEE(alone[i].n_got == many[i].n_got &&
                !memcmp(alone[i].got, many[i].got, many[i].n_got * sizeof *many[i].got),
            n->name, "other output", i, count);
    }
}

static void net_sizes(struct net *n)
{
    n->ports[0].struct_bytes = sizeof *n->ports;
    n->n_ports = rill_plan_ports(n->plan, n->ports, PORTS_MAX);
    n->most_floats = n->cap_floats = 0;
    for (unsigned i = 0; i < n->n_ports; i++) {
        size_t floats =
            ((size_t) n->ports[i].width * n->ports[i].pulse_frames * n->ports[i].element_bytes +
             3) /
            4;
        n->most_floats = floats > n->most_floats ? floats : n->most_floats;
        n->cap_floats += n->ports[i].is_input ? 0 : floats * TICKS;
    }
    n->buf = realloc(n->buf, n->most_floats * sizeof *n->buf);
}

/* How often each answer came; an answer that never comes proves nothing. */
static void answers_check(const struct net *n, const struct listener *l)
{
    unsigned ok = 0, again = 0, end = 0;
    for (unsigned i = 0; i < STREAMS_MAX; i++)
        for (unsigned t = 0; t < TICKS; t++) {
            ok += l[i].status[t] == RILL_OK;
            again += l[i].status[t] == RILL_AGAIN;
            end += l[i].status[t] == RILL_END;
        }
    SEE(ok > 100 && again > 100, n->name, "streams run and wait", ok, again);
    SEE(end > 0, n->name, "streams end", end, 0);
}

/* The same stream twice is one run after the other. */
static void twice_test(const struct net *n, struct listener *l)
{
    rill_status status[3], alone;
    size_t taken;
    rill_stream *s[3] = { l[0].s, l[1].s, l[0].s };
    for (int i = 0; i < 2; i++) {
        rill_stream_reset(l[i].s);
        memset(n->buf, 0, n->most_floats * sizeof *n->buf);
        for (unsigned k = 0; k < n->n_ports && n->ports[k].is_input; k++)
            rill_stream_push(l[i].s, k, n->buf, n->ports[k].pulse_frames, &taken);
    }
    SEE(rill_run_many(s, 3, status) == RILL_OK && status[0] == RILL_OK && status[1] == RILL_OK,
        n->name, "twice", status[0], status[1]);
    alone = rill_stream_run(l[0].s);
    SEE(status[2] == alone, n->name, "the second time", status[2], alone);
    SEE(rill_run_many(NULL, 0, NULL) == RILL_OK, n->name, "no stream at all", 0, 0);
}

static const uint32_t cpus[] = { 0, RILL_CPU_AVX2,
                                 RILL_CPU_C }; /* the last is slow: few streams, short pulses */

/* counts[k] streams with cpus[c]: the first does all of them, but at a second pulse only few and
 * all streams. */
static bool count_is_run(size_t c, size_t k, uint32_t pulse)
{
    if (cpus[c] == RILL_CPU_C && !thorough)
        return k == 1;
    if (c)
        return k == 2;
    return thorough || !pulse || k == 1 || k == 5;
}

static void net_test(rill_model *m, const char *name, uint32_t pulse)
{
    static const unsigned counts[] = { 1, 3, 8, 31, 32, STREAMS_MAX };
    struct net n = { .name = name };
    struct listener alone[STREAMS_MAX], many[STREAMS_MAX];
    rill_error err;
    for (size_t c = 0; c < (pulse ? 2 : sizeof cpus / sizeof *cpus); c++) {
        const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                      .pulse_frames = pulse,
                                      .cpu_mask = cpus[c] };
        if (rill_plan_new(&n.plan, m, &opts, &err) != RILL_OK) {
            SEE(false, name, err.text, pulse, 0);
            return;
        }
        net_sizes(&n);
        size_t bytes = (rill_plan_stream_size(n.plan) + 63) & ~(size_t) 63;
        char *mem = aligned_alloc(64, bytes * STREAMS_MAX);
        for (unsigned i = 0; c == 0 && i < STREAMS_MAX; i++)
            listener_init(&n, &alone[i], i, mem + i * bytes);
        if (c == 0) {
            listeners_run(&n, alone, STREAMS_MAX, false);
            answers_check(&n, alone);
        }
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            if (!count_is_run(c, k, pulse))
                continue;
            memset(mem, 0xa5, bytes * STREAMS_MAX);
            for (unsigned i = 0; i < counts[k]; i++)
                listener_init(&n, &many[i], i, mem + i * bytes);
            listeners_run(&n, many, counts[k], true);
            listeners_compare(&n, alone, many, counts[k]);
            if (counts[k] == 3)
                twice_test(&n, many);
            for (unsigned i = 0; i < counts[k]; i++)
                free(many[i].got);
        }
        free(mem);
        rill_plan_unref(n.plan);
    }
    for (unsigned i = 0; i < STREAMS_MAX; i++)
        free(alone[i].got);
    free(n.buf);
}

static void plans_test(rill_model *m)
{
    rill_plan *p[2];
    rill_stream *s[2];
    rill_status status[2] = { RILL_INTERNAL, RILL_INTERNAL };
    rill_port port = { .struct_bytes = sizeof port };
    size_t n;
    for (int i = 0; i < 2; i++) {
        if (rill_plan_new(&p[i], m, NULL, NULL) != RILL_OK)
            return;
        s[i] =
            rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(p[i]) + 63) & ~(size_t) 63),
                             p[i]);
    }
    rill_plan_ports(p[0], &port, 1);
    float *x = calloc((size_t) port.pulse_frames * port.width, sizeof *x);
    rill_stream_push(s[0], 0, x, port.pulse_frames, &n);
    SEE(rill_run_many(s, 2, status) == RILL_INVALID && status[0] == RILL_INTERNAL, "plans",
        "streams of two plans", status[0], 0);
    SEE(rill_stream_run(s[0]) == RILL_OK, "plans", "nothing ran", 0, 0);
    free(x);
    for (int i = 0; i < 2; i++) {
        free(s[i]);
        rill_plan_unref(p[i]);
    }
}

static void path_test(const char *folder, const char *name, const uint32_t *pulses, bool may_miss)
{
    rill_model *m;
    rill_error err;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "", name);
    if (!folder || rill_model_open(&m, path, &err) != RILL_OK) {
        check_skipped += may_miss;
        SEE(may_miss, name, "does not open", 0, 0);
        return;
    }
    for (int i = 0; i < 2; i++)
        net_test(m, name, pulses[i]);
    rill_model_free(m);
}

int main(int argc, char **argv)
{
    static const char *const library[] = { "gtcrn",        "dtln",      "silero_v4",
                                           "silero_v4_8k", "silero_v6", "silero_v6_8k" };
    static const char *const zoo[] = { "wavenet/model.onnx",       "tdnn_lstm/model.onnx",
                                       "gtcrn/model.onnx",         "dualpath/model.onnx",
                                       "dualpath_scan/model.onnx", "dfn3/model.onnx",
                                       "conformer/model.onnx" };
    static const uint32_t samples[] = { 0, 1500 }, frames[] = { 0, 12 };
    rill_model *m;
    rill_error err;
    thorough = argc > 1 && !strcmp(argv[1], "all");
    rill_thread_prepare();
    if (rill_model_builtin(&m, rill_model_builtin_name(0), &err) == RILL_OK) {
        net_test(m, "built-in", 0);
        plans_test(m);
        rill_model_free(m);
    } else {
        SEE(false, "built-in", err.text, 0, 0);
    }
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        path_test(getenv("RILL_TEST_LIBRARY"), library[i], samples, !getenv("RILL_TEST_LIBRARY"));
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++)
        path_test(getenv("RILL_ZOO"), zoo[i], frames, false);
    return check_done();
}
