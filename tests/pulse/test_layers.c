/* SPDX-License-Identifier: MIT */
/* Random nets of small convolutions along time, branches, gates and sums obey the law at pulses of
 * 1 to 8 frames: their fused layers give the bits of the whole-sequence run, which has none.
 *
 *   RILL_SEED=7 RILL_COUNT=5000 test_pulse_layers */
#include "engine/ops/fused.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED_DEFAULT 411u
#define COUNT_DEFAULT 60
#define LAYERS_MAX 14
#define LAYERS_DEEP 80 /* more windows than a program has */
#define DEEP_EVERY 12
#define FRAMES_MAX 8
#define LOADS_FROM 90 /* about as many as a program may load */
#define LOADS_TO 100

struct net {
    uint32_t seed;
};

struct made {
    uint32_t w;
    int channels;
};

struct builder {
    struct gb *b;
    uint32_t seed;
    struct made list[3 * LAYERS_DEEP + 2];
    unsigned n;
};

static int between(struct builder *t, int least, int most)
{
    return least + (int) (gb_random(&t->seed) % (uint32_t) (most - least + 1));
}

/* Mostly a late one. */
static struct made wire_draw(struct builder *t)
{
    unsigned back = (unsigned) between(t, 0, 2) ? 0 : (unsigned) between(t, 0, (int) t->n - 1);
    return t->list[t->n - 1 - back];
}

/* One of as many channels; x itself where there is no other. */
static struct made wire_alike(struct builder *t, struct made x)
{
    unsigned from = (unsigned) between(t, 0, (int) t->n - 1);
    for (unsigned i = 0; i < t->n; i++) {
        struct made y = t->list[(from + i) % t->n];
        if (y.channels == x.channels && y.w != x.w)
            return y;
    }
    return x;
}

static void wire_add(struct builder *t, uint32_t w, int channels)
{
    t->list[t->n++] = (struct made) { w, channels };
}

static int channels_draw(struct builder *t, int same)
{
    static const int some[] = { 1, 3, 15, 16, 17, 33, 48 };
    return between(t, 0, 1) ? same : some[between(t, 0, 6)];
}

static uint32_t conv(struct builder *t, uint32_t x, int from, int to, int taps, int dilation,
                     int pad)
{
    const char *attrs = gb_printf(t->b, "dilations=%d pads=%d,0", dilation, pad);
    uint32_t w = gb_weights(t->b, 3, to, from, taps),
             bias = between(t, 0, 2) ? gb_weights(t->b, 1, to) : WIRE_NONE;
    return GB(t->b, "Conv", attrs, x, w, bias);
}

/* Causal; of two from one padded wire the window is shared, and they may be summed. */
static void convs_emit(struct builder *t)
{
    struct made x = wire_draw(t);
    int taps = between(t, 1, 4), dilation = between(t, 1, 3), pad = (taps - 1) * dilation,
        twins = between(t, 0, 3) ? 1 : 2;
    uint32_t padded = gb_pad(t->b, x.w, 3, 2, "constant", pad, 0);
    for (int i = 0; i < twins; i++) {
        int to = channels_draw(t, x.channels);
        wire_add(t,
                 between(t, 0, 1) ? conv(t, padded, x.channels, to, taps, dilation, 0)
                                  : conv(t, x.w, x.channels, to, taps, dilation, pad),
                 to);
    }
    struct made a = t->list[t->n - 1], b = t->list[t->n - 2];
    if (twins == 2 && a.channels == b.channels)
        wire_add(t, GB(t->b, "Add", "", a.w, b.w), a.channels);
}

/* It looks ahead, and what it is added to waits for it. */
static void ahead_emit(struct builder *t)
{
    struct made x = wire_draw(t);
    uint32_t w = gb_weights(t->b, 3, x.channels, x.channels, 3);
    wire_add(t, GB(t->b, "Add", "", x.w, GB(t->b, "Conv", "pads=1,1", x.w, w)), x.channels);
}

static uint32_t depthwise(struct builder *t, struct made x, int taps, int dilation, int before,
                          int after)
{
    const char *attrs =
        gb_printf(t->b, "group=%d dilations=%d pads=%d,%d", x.channels, dilation, before, after);
    uint32_t w = gb_weights(t->b, 3, x.channels, 1, taps),
             bias = between(t, 0, 1) ? gb_weights(t->b, 1, x.channels) : WIRE_NONE;
    return GB(t->b, "Conv", attrs, x.w, w, bias);
}

/* Depthwise and then over channels, beside what waits for it: it looks ahead or back by any of its
 * taps. */
static void separable_emit(struct builder *t)
{
    struct made x = wire_draw(t);
    int taps = between(t, 1, 7), dilation = between(t, 1, 2), all = (taps - 1) * dilation,
        before = between(t, 0, all), to = channels_draw(t, x.channels);
    uint32_t y = depthwise(t, x, taps, dilation, before, all - before);
    y = conv(t, y, x.channels, to, 1, 1, 0);
    if (between(t, 0, 1))
        y = GB(t->b, "Add", "", y, conv(t, x.w, x.channels, to, 1, 1, 0));
    wire_add(t, between(t, 0, 1) ? GB(t->b, "Relu", "", y) : y, to);
}

static void gate_emit(struct builder *t)
{
    struct made x = wire_draw(t);
    int to = channels_draw(t, x.channels), dilation = between(t, 1, 3);
    uint32_t a = GB(t->b, "Tanh", "", conv(t, x.w, x.channels, to, 2, dilation, dilation));
    uint32_t s = GB(t->b, "Sigmoid", "", conv(t, x.w, x.channels, to, 2, dilation, dilation));
    wire_add(t, between(t, 0, 1) ? GB(t->b, "Mul", "", a, s) : GB(t->b, "Mul", "", s, a), to);
}

static void element_emit(struct builder *t)
{
    static const char *const ops[] = { "Add", "Add", "Sub", "Mul", "Relu", "Sigmoid", "Tanh" };
    int i = between(t, 0, 6);
    struct made x = wire_draw(t), y = wire_alike(t, x);
    wire_add(t, i > 3 ? GB(t->b, ops[i], "", x.w) : GB(t->b, ops[i], "", x.w, y.w), x.channels);
}

static void net_recipe(struct gb *b, const void *ctx)
{
    const struct net *net = ctx;
    struct builder t = { .b = b, .seed = net->seed };
    int channels = channels_draw(&t, 4), taps = between(&t, 0, 3);
    int layers = net->seed % DEEP_EVERY ? between(&t, 2, LAYERS_MAX) : LAYERS_DEEP;
    wire_add(&t, gb_input(b, "x", 3, 1, channels, GB_TIME), channels);
    for (int i = 0; i < layers; i++) {
        int what = between(&t, 0, 13);
        if (what > 11)
            separable_emit(&t);
        else if (what < 6)
            convs_emit(&t);
        else if (what < 8)
            gate_emit(&t);
        else if (what == 8)
            ahead_emit(&t);
        else
            element_emit(&t);
    }
    gb_output(b, t.list[t.n - 1].w);
    for (int i = 0; i < taps && t.n > 2; i++)
        gb_output(b, t.list[between(&t, 1, (int) t.n - 2)].w);
}

/* A stack that reads so many wires. */
static void wide_recipe(struct gb *b, const void *ctx)
{
    struct builder t = { .b = b };
    int n = *(const int *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 4 * n, GB_TIME), part[LOADS_TO];
    for (int i = 0; i < n; i++)
        part[i] = gb_slice(b, x, 1, 4 * i, 4 * i + 4, 1);
    uint32_t y = conv(&t, conv(&t, part[0], 4, 5, 3, 1, 2), 5, 4, 1, 1, 0);
    for (int i = 1; i < n; i++)
        y = GB(b, "Sub", "", y, part[i]);
    gb_output(b, y);
}

static struct {
    unsigned streamed, stacks, windows, depthwise, pads, pasts;
} count;

static void steps_count(const struct fused_attr *a)
{
    for (int64_t i = 0; i < fused_steps(a); i++) {
        const int64_t op = a->steps.v[i * FUSED_STEP_INTS];
        count.depthwise += op == KERN_DEPTHWISE;
        count.pads += op == KERN_PAD;
        count.pasts += op == FUSED_PAST;
    }
}

static void stacks_count(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == &op_fused && fused_in_frames(g->nodes[i].attr)) {
            count.stacks++;
            count.windows += (unsigned) fused_windows(g->nodes[i].attr);
            steps_count(g->nodes[i].attr);
        }
}

static void net_try(uint32_t seed)
{
    struct net net = { seed };
    struct oracle o;
    if (oracle_open(&o, net_recipe, &net, NULL) != LAW_HOLDS) {
        oracle_check(false, "RILL_SEED=%u: %s", seed, o.err.text);
        oracle_close(&o);
        return;
    }
    for (int pulse = 1; pulse <= FRAMES_MAX; pulse++) {
        if (oracle_pulse(&o, pulse) != LAW_HOLDS) {
            oracle_check(false, "RILL_SEED=%u RILL_COUNT=1 pulse %d: %s", seed, pulse, o.err.text);
            break;
        }
        count.streamed++;
        stacks_count(&o.plan->settled.g);
        for (uint32_t k = 0; k < 2; k++) {
            enum verdict v = oracle_law(&o, 5 + 9 * (int64_t) k + pulse, seed + k);
            oracle_check(v == LAW_HOLDS, "RILL_SEED=%u RILL_COUNT=1 pulse %d: %s", seed, pulse,
                         o.err.text);
        }
    }
    oracle_close(&o);
}

/* Up to its limit it loads what it reads; beyond, the graph stays as it was. */
static void wide_try(int n)
{
    struct oracle o;
    unsigned stacks = count.stacks;
    bool ok = oracle_open(&o, wide_recipe, &n, NULL) == LAW_HOLDS &&
        oracle_pulse(&o, 2) == LAW_HOLDS && oracle_law(&o, 9, 1) == LAW_HOLDS;
    oracle_check(ok, "%d loads: %s", n, o.err.text);
    if (ok)
        stacks_count(&o.plan->settled.g);
    oracle_check(n == LOADS_FROM ? count.stacks > stacks
                                 : n < LOADS_TO - 1 || count.stacks == stacks,
                 "%d loads: %u stacks", n, count.stacks - stacks);
    oracle_close(&o);
}

static uint32_t env_number(const char *name, uint32_t otherwise)
{
    const char *v = getenv(name);
    return v && *v ? (uint32_t) strtoul(v, NULL, 10) : otherwise;
}

int main(void)
{
    uint32_t first = env_number("RILL_SEED", SEED_DEFAULT),
             n = env_number("RILL_COUNT", COUNT_DEFAULT);
    oracle_digest = 0xcbf29ce484222325;
    for (uint32_t i = 0; i < n; i++)
        net_try(first + i);
    for (int loads = LOADS_FROM; loads < LOADS_TO; loads++)
        wide_try(loads);
    printf("%u plans; %u stacks of %u windows, %u depthwise, %u pads, %u pasts; digest %016llx\n",
           count.streamed, count.stacks, count.windows, count.depthwise, count.pads, count.pasts,
           (unsigned long long) oracle_digest);
    oracle_check(n < COUNT_DEFAULT ||
                     (count.stacks * 2 > count.streamed && count.windows > count.stacks),
                 "only %u stacks of %u windows in %u plans", count.stacks, count.windows,
                 count.streamed);
    oracle_check(n < COUNT_DEFAULT || (count.depthwise && count.pads && count.pasts),
                 "no depthwise product, pad or past in any of them");
    return oracle_end();
}
