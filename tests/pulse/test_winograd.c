/* SPDX-License-Identifier: MIT */
/* Convolutions by Winograd's products stream with the bits of the whole run, whichever of their two
 * axes is time; they are taken along the other one, and of nets of windows along the last one. */
#include "check/law.h"
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <stdlib.h>

static const struct pass winograd = { "winograd", false, graph_with_winograd };

struct net {
    const char *name;
    bool time_first;
    int channels, bands;
    const char *layers[3]; /* attributes as for time first; NULL: no more */
    int kernels[3];        /* along time */
    int outs[3];
    unsigned taken; /* of the layers */
};

/* "strides=2,1 pads=a,b,c,d" with the two axes changed. */
static const char *turned(struct gb *b, const struct net *n, int layer)
{
    int s, d, front, low, back, high;
    if (sscanf(n->layers[layer], "strides=%d,1 dilations=%d,1 pads=%d,%d,%d,%d", &s, &d, &front,
               &low, &back, &high) != 6)
        abort();
    return n->time_first ? n->layers[layer]
                         : gb_printf(b, "strides=1,%d dilations=1,%d pads=%d,%d,%d,%d", s, d, low,
                                     front, high, back);
}

static void net_recipe(struct gb *b, const void *ctx)
{
    const struct net *n = ctx;
    int from = n->channels;
    uint32_t x = n->time_first ? gb_input(b, "x", 4, 1, from, GB_TIME, n->bands)
                               : gb_input(b, "x", 4, 1, from, n->bands, GB_TIME);
    for (int i = 0; i < 3 && n->layers[i]; i++) {
        const int k = n->kernels[i], to = n->outs[i];
        uint32_t w =
            n->time_first ? gb_weights(b, 4, to, from, k, 3) : gb_weights(b, 4, to, from, 3, k);
        x = GB(b, "LeakyRelu", "alpha=0.1",
               GB(b, "Conv", turned(b, n, i), x, w, gb_weights(b, 1, to)));
        from = to;
    }
    gb_output(b, x);
}

static unsigned taken(const struct graph *g, int axis)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += node_is(&g->nodes[i], OP_CONV) && conv_attr_of(&g->nodes[i])->winograd == axis;
    return n;
}

static void law_of(const struct oracle *o, const struct net *n, int64_t pulse, int64_t length)
{
    const struct law_opts opts = { .pulse = pulse, .length = length, .seed = 3 };
    struct law_result r;
    rill_error err = { 0 };
    rill_status s = law_check(o->model, &opts, &r, &err);
    oracle_check(s == RILL_OK && (r.no_whole || (r.holds && r.same_bits)),
                 "%s, pulse %d, length %d: %s", n->name, (int) pulse, (int) length,
                 s == RILL_OK ? r.where : err.text);
}

static void net_check(const struct net *n)
{
    static const int64_t pulses[] = { 2, 4, 6, 14, -1 }, lengths[] = { 9, 16, 31, -1 };
    struct oracle o;
    struct graph *g;
    enum verdict v = oracle_open(&o, net_recipe, n, NULL);
    oracle_check(v == LAW_HOLDS, "%s: %s", n->name, o.err.text);
    g = &o.model->decluttered.g;
    if (v == LAW_HOLDS && passes_run(&winograd, 1, g, g, NULL, &o.err) == RILL_OK) {
        oracle_check(taken(g, n->time_first ? 3 : 2) == n->taken, "%s: taken in other layers",
                     n->name);
        for (int i = 0; pulses[i] > 0; i++)
            for (int k = 0; lengths[k] > 0; k++)
                law_of(&o, n, pulses[i], lengths[k]);
        if (n->time_first) { /* where the length is known, too, the same axis is taken */
            o.pass = &winograd;
            oracle_laws(&o, n->name, pulses, lengths);
        }
    }
    oracle_close(&o);
}

#define PLAIN "strides=1,1 dilations=1,1 "

static const struct net nets[] = {
    { "time first",
      true,
      24,
      20,
      { PLAIN "pads=2,1,0,1", PLAIN "pads=0,0,0,0", "strides=2,1 dilations=2,1 pads=4,2,0,1" },
      { 3, 1, 3 },
      { 40, 25, 24 },
      3 },
    { "time last",
      false,
      24,
      20,
      { PLAIN "pads=2,1,0,1", PLAIN "pads=0,2,0,0", "strides=2,1 dilations=2,1 pads=4,2,0,1" },
      { 3, 2, 3 },
      { 33, 25, 24 },
      3 },
    { "few bands, time first", true, 32, 15, { PLAIN "pads=1,1,1,1" }, { 3 }, { 32 }, 0 },
    { "few channels", true, 23, 30, { PLAIN "pads=1,1,1,1" }, { 3 }, { 32 }, 0 },
    { "one frame, time last", false, 32, 30, { PLAIN "pads=0,1,0,1" }, { 1 }, { 32 }, 0 },
};

int main(void)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        net_check(&nets[i]);
    return oracle_end();
}
