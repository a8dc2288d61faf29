/* SPDX-License-Identifier: MIT */
/* Random chains of streaming steps obey the law, at random pulses, lengths and cuts; what is
 * refused is counted by its message. A chain that breaks the law is shrunk and printed, and can be
 * tried again:
 *
 *   RILL_SEED=7 RILL_COUNT=100000 test_pulse_random
 *   RILL_DIGEST=1: a hash of what each chain gave, the same on every machine
 *   RILL_GRAPH='2: conv k=3; slice from=1' RILL_PULSE=4 RILL_LENGTH=9 [RILL_TAPS=..]
 *       [RILL_ASSERT='S>=1'] test_pulse_random */
#include "check/law.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED_DEFAULT 20240811u
#define COUNT_DEFAULT 3000
#define REFUSALS_MAX 200
#define SHOWN_MAX 8
#define NODES_EVERY 12 /* one graph in so many is looked at node by node */
#define STREAMING_LEAST_PERCENT 70

static uint32_t seed;

static int between(int least, int most)
{
    return least + (int) (gb_random(&seed) % (uint32_t) (most - least + 1));
}

/* ---- one try ---- */

struct
try {
    struct chain chain;
    int pulse, length;
    uint32_t cuts, first; /* frames of the first pulse; 0: as the others */
};

static enum verdict try_law(const struct try *t, rill_error *err)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, chain_recipe, &t->chain, getenv("RILL_ASSERT"));
    o.zeros_agree = chain_attends(&t->chain);
    if (v == LAW_HOLDS)
        o.model->first_pulse = t->first;
    if (v == LAW_HOLDS)
        v = oracle_pulse(&o, t->pulse);
    for (uint32_t k = 0; k < 6 && v == LAW_HOLDS; k++)
        v = oracle_law(&o, t->length, t->cuts + k);
    *err = o.err;
    oracle_close(&o);
    return v;
}

static bool still_breaks(const struct try *t)
{
    rill_error err;
    return try_law(t, &err) == LAW_BROKEN;
}

/* ---- shrinking ---- */

static bool shrink_steps(struct try *t)
{
    for (unsigned i = 0; i < t->chain.n && t->chain.n > 1; i++) {
        struct try less = *t;
        memmove(&less.chain.steps[i], &less.chain.steps[i + 1],
                (less.chain.n - i - 1) * sizeof *less.chain.steps);
        less.chain.n--;
        less.chain.taps = 0;
        if (still_breaks(&less)) {
            *t = less;
            return true;
        }
    }
    return false;
}

static bool shrink_number(struct try *t, int *n, int to)
{
    const int old = *n, tries[] = { to, to + (old - to) / 2, old > to ? old - 1 : old + 1 };
    for (size_t i = 0; i < sizeof tries / sizeof *tries && old != to; i++) {
        *n = tries[i];
        if (tries[i] != old && still_breaks(t))
            return true;
    }
    *n = old;
    return false;
}

static bool shrink_numbers(struct try *t)
{
    bool any = shrink_number(t, &t->chain.taps, 0) || shrink_number(t, &t->chain.channels, 1) ||
        shrink_number(t, &t->chain.times, 1) || shrink_number(t, &t->chain.form, 0) ||
        shrink_number(t, &t->pulse, 1) || shrink_number(t, &t->length, 0);
    for (unsigned i = 0; i < t->chain.n; i++)
        for (int k = 0; k < PARAMS_MAX && t->chain.steps[i].kind->params[k].name; k++)
            any |= shrink_number(t, &t->chain.steps[i].v[k],
                                 t->chain.steps[i].kind->params[k].otherwise);
    return any;
}

static void try_report(struct try *t)
{
    char text[1024];
    rill_error err = { 0 };
    for (unsigned rounds = 0; rounds < 100 && (shrink_steps(t) || shrink_numbers(t)); rounds++) {}
    try_law(t, &err);
    chain_print(&t->chain, text, sizeof text);
    printf("RILL_GRAPH='%s' RILL_PULSE=%d RILL_LENGTH=%d (taps %d)\n    %s\n", text, t->pulse,
           t->length, t->chain.taps, err.text);
}

/* ---- refusals by message ---- */

static struct {
    char text[120];
    unsigned count;
    char example[256];
} refusals[REFUSALS_MAX];
static unsigned n_refusals;

/* Without the node's name and sizes, and with N for numbers. */
static void message_key(const char *text, char *key, size_t cap)
{
    const char *from = strchr(text, '(');
    const char *puts = strstr(text, " puts "), *has = strstr(text, " has ");
    size_t n = 0;
    for (from = from ? from : text; *from && from != puts && from != has && n + 1 < cap; from++) {
        if (isdigit((unsigned char) *from) && n && key[n - 1] == 'N')
            continue;
        key[n++] = isdigit((unsigned char) *from) ? 'N' : *from;
    }
    key[n] = '\0';
}

static void refusal_count(const char *text, const struct chain *c)
{
    char key[120];
    unsigned i = 0;
    message_key(text, key, sizeof key);
    while (i < n_refusals && strcmp(refusals[i].text, key))
        i++;
    if (i == REFUSALS_MAX)
        return;
    if (i == n_refusals) {
        memcpy(refusals[i].text, key, sizeof key);
        chain_print(c, refusals[i].example, sizeof refusals[i].example);
        n_refusals++;
    }
    refusals[i].count++;
}

/* ---- the run ---- */

static struct {
    unsigned graphs, streamed, refused, no_graph, laws, no_whole, broken, node_laws, wires;
} count;

static int length_draw(int pulse)
{
    switch (between(0, 5)) {
    case 0: return between(0, 2);
    case 1: return between(0, pulse + 1);
    case 2: return (pulse ? pulse : 4) * between(1, 6);
    default: return between(0, 60);
    }
}

static void chain_laws(struct oracle *o, const struct chain *c, int pulse)
{
    for (int k = 0; k < 4; k++) {
        struct try t = { .chain = *c,
                         .pulse = pulse,
                         .length = length_draw(pulse),
                         .cuts = gb_random(&seed),
                         .first = o->model->first_pulse };
        enum verdict v = oracle_law(o, t.length, t.cuts);
        count.laws += v == LAW_HOLDS;
        count.no_whole += v == LAW_NO_WHOLE;
        count.broken += v == LAW_BROKEN;
        oracle_check(v != LAW_BROKEN, "length %d: %s", t.length, o->err.text);
        if (v == LAW_BROKEN && count.broken <= SHOWN_MAX)
            try_report(&t);
        if (v == LAW_BROKEN)
            return;
    }
}

/* The other oracle, node by node. */
static void chain_nodes(struct oracle *o, const struct chain *c, int pulse)
{
    const struct law_opts opts = { .pulse = pulse,
                                   .length = length_draw(pulse),
                                   .seed = gb_random(&seed) };
    struct law_result r;
    char text[1024];
    rill_error err = { 0 };
    rill_status s = law_check(o->model, &opts, &r, &err);
    bool holds = s == RILL_OK && (r.no_whole || (r.holds && (r.same_bits || o->zeros_agree)));
    count.node_laws += holds && !r.no_whole;
    count.wires += holds ? r.n_wires : 0;
    if (s == RILL_UNSUPPORTED && oracle_law(o, opts.length, 1) == LAW_NO_WHOLE)
        return;
    chain_print(c, text, sizeof text);
    oracle_check(holds,
                 "node by node, RILL_GRAPH='%s' RILL_PULSE=%d RILL_LENGTH=%lld (taps %d): %s", text,
                 pulse, (long long) opts.length, c->taps, s == RILL_OK ? r.where : err.text);
}

static void chain_try(const struct chain *c)
{
    struct oracle o;
    if (oracle_open(&o, chain_recipe, c, NULL) != LAW_HOLDS) {
        count.no_graph++;
        oracle_close(&o);
        return;
    }
    count.graphs++;
    o.zeros_agree = chain_attends(c);
    for (int k = 0; k < 2; k++) {
        int pulse = between(0, 2) ? between(0, 8) : between(1, 20); /* 0: the smallest */
        bool is_shorter = pulse > 1 && between(0, 2) == 0;
        o.model->first_pulse = is_shorter ? (uint32_t) between(1, pulse) : 0;
        if (oracle_pulse(&o, pulse) != LAW_HOLDS) {
            refusal_count(o.err.text, c);
            count.refused++;
            break;
        }
        count.streamed += k == 0;
        chain_laws(&o, c, pulse);
        if (k == 0 && count.graphs % NODES_EVERY == 0)
            chain_nodes(&o, c, pulse);
    }
    oracle_close(&o);
}

static int by_count(const void *a, const void *b)
{
    const unsigned x = refusals[*(const unsigned *) a].count,
                   y = refusals[*(const unsigned *) b].count;
    return (x < y) - (x > y);
}

static void summary(void)
{
    unsigned order[REFUSALS_MAX];
    for (unsigned i = 0; i < n_refusals; i++)
        order[i] = i;
    qsort(order, n_refusals, sizeof *order, by_count);
    printf("%u graphs (%u more were none), %u streamed, %u refused; %u laws held, %u lengths "
           "without a whole run\n",
           count.graphs, count.no_graph, count.streamed, count.refused, count.laws, count.no_whole);
    printf("%u laws held node by node, over %u wires\n", count.node_laws, count.wires);
    for (unsigned i = 0; i < n_refusals; i++)
        printf("%6u  %s\n        as %s\n", refusals[order[i]].count, refusals[order[i]].text,
               refusals[order[i]].example);
}

static int env_number(const char *name, int otherwise)
{
    const char *v = getenv(name);
    return v && *v ? (int) strtoul(v, NULL, 10) : otherwise;
}

static void one_graph(const char *text)
{
    static const char *const words[] = { "holds", "refused", "no whole run, or no stream",
                                         "broken" };
    struct try t = { .pulse = env_number("RILL_PULSE", 1),
                     .length = env_number("RILL_LENGTH", 9),
                     .cuts = 1 };
    rill_error err = { 0 };
    oracle_check(chain_parse(&t.chain, text), "'%s' is not understood", text);
    t.chain.taps = env_number("RILL_TAPS", 0);
    enum verdict v = try_law(&t, &err);
    oracle_check(v == LAW_HOLDS, "%s: %s", words[v], err.text);
}

static void digest_print(unsigned i, const struct chain *c)
{
    char text[1024];
    chain_print(c, text, sizeof text);
    printf("digest %u %016llx %s\n", i, (unsigned long long) oracle_digest, text);
}

int main(void)
{
    const char *one = getenv("RILL_GRAPH");
    if (one && *one) {
        one_graph(one);
        return oracle_end();
    }
    uint32_t first = (uint32_t) env_number("RILL_SEED", (int) SEED_DEFAULT),
             n = (uint32_t) env_number("RILL_COUNT", COUNT_DEFAULT);
    printf("RILL_SEED=%u RILL_COUNT=%u\n", first, n);
    for (uint32_t i = 0; i < n; i++) {
        seed = first + i * 2654435761u;
        struct chain c = chain_draw(&seed);
        oracle_digest = 0xcbf29ce484222325;
        chain_try(&c);
        if (getenv("RILL_DIGEST"))
            digest_print(i, &c);
    }
    summary();
    oracle_check(count.streamed * 100 >= count.graphs * STREAMING_LEAST_PERCENT,
                 "only %u of %u graphs stream", count.streamed, count.graphs);
    return oracle_end();
}
