/* SPDX-License-Identifier: MIT */
/* Twenty pulses of noise (-DPULSES=N, whose outputs are then not printed but the last) through a
 * plan, and every bit of its outputs as hexadecimal words: of a model that is linked in
 * (-DLINKED=NAME_open), or of the file that is named. With -DSINKS also which outputs sinks read.
 */
#include <rill.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PULSES
#define PULSES 20
#endif
#define PORTS_MAX 32

#ifdef LINKED
rill_status LINKED(rill_plan **ret, rill_error *reterr);
#endif

static rill_status plan_open(rill_plan **ret, const char *path, rill_error *err)
{
#ifdef LINKED
    (void) path;
    return LINKED(ret, err);
#else
    rill_model *m;
    rill_status s = rill_model_open(&m, path, err);
    if (s != RILL_OK)
        return s;
    s = rill_plan_new(ret, m, NULL, err);
    rill_model_free(m);
    return s;
#endif
}

static void noise_push(rill_stream *s, unsigned port, const rill_port *p, uint32_t *seed)
{
    const size_t n = (size_t) p->pulse_frames * p->width;
    float *x = calloc(n, sizeof *x);
    size_t taken;
    for (size_t i = 0; x && i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float) (int32_t) *seed / 4294967296.0f;
    }
    if (x)
        rill_stream_push(s, port, x, p->pulse_frames, &taken);
    free(x);
}

static void words_print(rill_stream *s, unsigned port, const rill_port *p, bool prints)
{
    const size_t n = (size_t) p->pulse_frames * p->width;
    uint32_t *y = calloc(n, sizeof *y);
    size_t given = 0;
    if (y && rill_stream_pull(s, port, y, p->pulse_frames, &given) == RILL_OK)
        for (size_t i = 0; prints && i < given * p->width; i++)
            printf("%08x\n", (unsigned) y[i]);
    free(y);
}

static void sinks_print(const rill_plan *p, const rill_port *ports, unsigned n)
{
#ifdef SINKS
    rill_sink *s;
    for (unsigned i = 0; i < n; i++)
        if (!ports[i].is_input && rill_sink_new(&s, p, i, NULL, NULL) == RILL_OK) {
            printf("sink of output %u\n", i);
            rill_sink_free(s);
        }
#else
    (void) p, (void) ports, (void) n;
#endif
}

int main(int argc, char **argv)
{
    rill_port ports[PORTS_MAX] = { { .struct_bytes = sizeof *ports } };
    rill_error err = { .text = "" };
    rill_plan *p;
    uint32_t seed = 7;
    if (plan_open(&p, argc > 1 ? argv[1] : "", &err) != RILL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const unsigned n = rill_plan_ports(p, ports, PORTS_MAX);
    rill_stream *s =
        rill_stream_init(aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63), p);
    for (int k = 0; k < PULSES; k++) {
        for (unsigned i = 0; i < n && ports[i].is_input; i++)
            noise_push(s, i, &ports[i], &seed);
        if (rill_stream_run(s) != RILL_OK)
            return 2;
        for (unsigned i = 0; i < n; i++)
            if (!ports[i].is_input)
                words_print(s, i, &ports[i], PULSES == 20 || k == PULSES - 1);
    }
    free(s);
    sinks_print(p, ports, n);
    rill_plan_unref(p);
    return 0;
}
