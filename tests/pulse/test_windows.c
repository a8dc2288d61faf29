/* SPDX-License-Identifier: MIT */
/* Random nets over windows: their layers slide where they may, and what comes is what the net gives
 * of each window by itself, to the bit; the whole-sequence run, which says so, slides nothing.
 *
 *   RILL_SEED=7 RILL_COUNT=5000 test_pulse_windows */
#include "check/law.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <stdio.h>
#include <stdlib.h>

#define SEED_DEFAULT 1608u
#define COUNT_DEFAULT 250
#define SLID_LEAST_PERCENT 40

static unsigned slid, whole;

/* A convolution along the stream, in front of a Frame. */
static bool has_slid(const struct graph *g)
{
    bool conv = false, frame = false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        conv |= node_is(&g->nodes[i], OP_CONV);
        frame |= node_is(&g->nodes[i], OP_FRAME) && node_has_input(&g->nodes[i], 1);
    }
    return conv && frame;
}

/* The whole run of what slid, node by node. */
static void nodes_check(const struct oracle *o, const char *text, int64_t pulse)
{
    for (int length = 15; length < 27; length++) {
        const struct law_opts opts = { .pulse = pulse, .length = length, .seed = 5 };
        struct law_result r;
        rill_error err = { 0 };
        rill_status s = law_check(o->model, &opts, &r, &err);
        oracle_check(s == RILL_OK && (r.no_whole || (r.holds && r.same_bits)),
                     "%s, node by node, length %d: %s", text, length,
                     s == RILL_OK ? r.where : err.text);
    }
}

static void chain_check(const struct chain *c)
{
    static const int64_t lengths[] = { 0, 1, 5, 17, 18, 19, 24, 37, -1 };
    const int hop = c->steps[0].v[1];
    const int64_t pulses[] = { hop, 2 * hop, 12 * hop, -1 };
    struct oracle o;
    char text[512];
    chain_print(c, text, sizeof text);
    enum verdict v = oracle_open(&o, chain_recipe, c, NULL);
    oracle_check(v == LAW_HOLDS, "%s: %s", text, o.err.text);
    if (v == LAW_HOLDS) {
        *(has_slid(&o.model->decluttered.g) ? &slid : &whole) += 1;
        oracle_laws(&o, text, pulses, lengths);
        nodes_check(&o, text, 2 * hop);
    }
    oracle_close(&o);
}

int main(void)
{
    const char *seed_text = getenv("RILL_SEED"), *count_text = getenv("RILL_COUNT");
    uint32_t seed = seed_text ? (uint32_t) strtoul(seed_text, NULL, 10) : SEED_DEFAULT;
    const long count = count_text ? strtol(count_text, NULL, 10) : COUNT_DEFAULT;
    for (long i = 0; i < count; i++) {
        char text[80];
        struct chain c;
        const unsigned size = 1 + gb_random(&seed) % 18, hop = 1 + gb_random(&seed) % size,
                       channels = 1 + gb_random(&seed) % 3, net = gb_random(&seed) % 100000;
        snprintf(text, sizeof text, "%u: window size=%u hop=%u net=%u", channels, size,
                 hop > 6 ? 6 : hop, net);
        oracle_check(chain_parse(&c, text), "%s", text);
        chain_check(&c);
    }
    printf("%u nets slid, %u did not\n", slid, whole);
    oracle_check(100 * slid >= SLID_LEAST_PERCENT * (slid + whole), "too few nets slid");
    return oracle_end();
}
