/* SPDX-License-Identifier: MIT */
/* An hour of audio at 16 kHz: memory stands still, no frame is lost, and a periodic input gives the
 * same bits in every period to the end. */
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE 16000
#define SECONDS 3600
#define PULSE 160
#define PERIOD 1600 /* samples */
#define WIDTH_MAX 8

/* Pages of the program's own files do not count: code is read in when it first runs. */
struct use {
    size_t heap_bytes;
    long resident_pages;
};

static struct use use_now(void)
{
    struct use u = { .heap_bytes = mallinfo2().uordblks };
    char text[128] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    long all, resident, shared;
    if (f && fgets(text, sizeof text, f) &&
        sscanf(text, "%ld %ld %ld", &all, &resident, &shared) == 3)
        u.resident_pages = resident - shared;
    if (f)
        fclose(f);
    return u;
}

struct hour {
    rill_stream *s;
    const rill_plan *plan;
    int64_t frames, period, settled,
        end; /* outputs: given, frames per period, from and to where they repeat */
    int64_t wrong;
    size_t width;
    float *last; /* one period */
};

static void outputs_take(struct hour *h)
{
    float y[64 * WIDTH_MAX];
    size_t given;
    while (rill_stream_pull(h->s, 1, y, 64, &given) == RILL_OK && given)
        for (size_t i = 0; i < given; i++, h->frames++) {
            float *old = h->last + (size_t) (h->frames % h->period) * h->width;
            bool repeats = h->frames >= h->settled + h->period && h->frames < h->end;
            h->wrong += repeats && memcmp(old, y + i * h->width, h->width * sizeof *y) != 0;
            memcpy(old, y + i * h->width, h->width * sizeof *y);
        }
}

static void hour_run(struct hour *h)
{
    static float wave[PERIOD];
    uint32_t seed = 5;
    for (int i = 0; i < PERIOD; i++)
        wave[i] = gb_random_f32(&seed);
    for (int64_t at = 0, n; at < (int64_t) RATE * SECONDS; at += n) {
        size_t taken;
        n = PERIOD - at % PERIOD < PULSE ? PERIOD - at % PERIOD : PULSE;
        if (rill_stream_push(h->s, 0, wave + at % PERIOD, (size_t) n, &taken) != RILL_OK)
            break;
        n = (int64_t) taken;
        while (rill_stream_run(h->s) == RILL_OK)
            outputs_take(h);
        outputs_take(h);
    }
    rill_stream_finish(h->s);
    while (rill_stream_run(h->s) == RILL_OK)
        outputs_take(h);
    outputs_take(h);
}

/* settled: input frames after which the output repeats. */
static void hour_test(const char *text, int64_t settled)
{
    struct chain c;
    struct oracle o;
    oracle_check(chain_parse(&c, text) && oracle_open(&o, chain_recipe, &c, NULL) == LAW_HOLDS &&
                     oracle_pulse(&o, PULSE) == LAW_HOLDS,
                 "%s: %s", text, o.err.text);
    if (!o.plan)
        return;
    const struct port *q = &o.plan->ports[1];
    int64_t want = 0, hop = q->info.hop_num / q->info.hop_den;
    struct hour h = { .plan = o.plan,
                      .period = PERIOD / hop,
                      .settled = settled / hop,
                      .width = q->outer * q->inner };
    h.last = calloc((size_t) h.period * h.width, sizeof *h.last);
    void *mem = aligned_alloc(64, (rill_plan_stream_size(o.plan) + 63) & ~(size_t) 63);
    h.s = rill_stream_init(mem, o.plan);
    h.s->spoils = 1;
    dim_eval(q->length, o.plan->symbol, (int64_t) RATE * SECONDS, &want);
    h.end = want - h.period;
    use_now(); /* what reading the figures takes is taken before */
    struct use before = use_now();
    hour_run(&h);
    struct use after = use_now();
    oracle_check(h.frames == want, "%s: %lld frames in an hour, not %lld", text,
                 (long long) h.frames, (long long) want);
    oracle_check(h.wrong == 0, "%s: %lld frames are not those of a period before", text,
                 (long long) h.wrong);
    oracle_check(after.heap_bytes == before.heap_bytes, "%s: the heap grew from %zu to %zu bytes",
                 text, before.heap_bytes, after.heap_bytes);
    oracle_check(after.resident_pages <= before.resident_pages + 64,
                 "%s: resident pages grew from %ld to %ld", text, before.resident_pages,
                 after.resident_pages);
    printf("%s: %lld frames, heap %zu bytes before and %zu after, %ld and %ld pages resident\n",
           text, (long long) h.frames, before.heap_bytes, after.heap_bytes, before.resident_pages,
           after.resident_pages);
    free(h.last);
    free(mem);
    oracle_close(&o);
}

int main(void)
{
    hour_test("1: pad mode=2 l=7 r=5; frame size=512 hop=160 before=96 end=1; conv k=3 d=4 l=8; "
              "average k=3 l=1 r=1 without=1",
              8000);
    hour_test("1: frame size=320 hop=160; gru; concat l=2 r=3; conv k=3 l=1 r=1", 160000);
    return oracle_end();
}
