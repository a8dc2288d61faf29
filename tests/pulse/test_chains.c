/* SPDX-License-Identifier: MIT */
/* Chains of pads, cuts and layers, by words: right at every length, and no frame later than they
 * must be. */
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <string.h>

/* What a word does to [1, S, 2], with up to two numbers behind it. */
struct word {
    const char *name;
    uint32_t (*put)(struct gb *b, uint32_t x, int before, int after);
};

static uint32_t put_look(struct gb *b, uint32_t x, int before, int after)
{
    (void) before, (void) after;
    x = GB(b, "Conv", "pads=0,1", gb_transpose(b, x, "0,2,1"), gb_weights(b, 3, 2, 2, 2));
    return gb_transpose(b, x, "0,2,1");
}

static uint32_t put_causal(struct gb *b, uint32_t x, int before, int after)
{
    (void) before, (void) after;
    x = GB(b, "Conv", "pads=2,0", gb_transpose(b, x, "0,2,1"), gb_weights(b, 3, 2, 2, 3));
    return gb_transpose(b, x, "0,2,1");
}

static uint32_t put_token(struct gb *b, uint32_t x, int before, int after)
{
    (void) after;
    return GB(b, "Concat", "axis=1", gb_weights(b, 3, 1, before, 2), x);
}

static uint32_t put_first(struct gb *b, uint32_t x, int before, int after)
{
    (void) after;
    return GB(b, "Concat", "axis=1", gb_slice(b, x, 1, 0, before, 1), x);
}

/* A token and the first frame. */
static uint32_t put_both(struct gb *b, uint32_t x, int before, int after)
{
    return put_token(b, put_first(b, x, 1, after), before, after);
}

static uint32_t put_edge(struct gb *b, uint32_t x, int before, int after)
{
    return gb_pad(b, x, 3, 1, "edge", before, after);
}

static uint32_t put_reflect(struct gb *b, uint32_t x, int before, int after)
{
    return gb_pad(b, x, 3, 1, "reflect", before, after);
}

static uint32_t put_cut(struct gb *b, uint32_t x, int before, int after)
{
    return gb_slice(b, x, 1, before, after ? -after : INT64_MAX, 1);
}

static uint32_t put_cos(struct gb *b, uint32_t x, int before, int after)
{
    (void) before, (void) after;
    return GB(b, "Cos", "", x);
}

/* Rows of one head, and back. */
static uint32_t put_fold(struct gb *b, uint32_t x, int before, int after)
{
    (void) before, (void) after;
    x = GB(b, "Reshape", "", x, gb_ints(b, 1, -1, 1, 2));
    return GB(b, "Reshape", "", GB(b, "Neg", "", x), gb_ints(b, 1, -1, 2));
}

static uint32_t put_sum(struct gb *b, uint32_t x, int before, int after)
{
    (void) before, (void) after;
    return GB(b, "CumSum", "", x, gb_int(b, 1));
}

static const struct word words[] = {
    { "look", put_look },   { "causal", put_causal },   { "token", put_token },
    { "first", put_first }, { "both", put_both },       { "edge", put_edge },
    { "cut", put_cut },     { "reflect", put_reflect }, { "cos", put_cos },
    { "sum", put_sum },     { "fold", put_fold },
};

static void chain_recipe(struct gb *b, const void *ctx)
{
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 2);
    char name[16];
    int used;
    for (const char *at = ctx; sscanf(at, " %15[a-z]%n", name, &used) == 1;) {
        int before = 0, after = 0;
        at += used;
        if (sscanf(at, " %d%n", &before, &used) == 1)
            at += used;
        if (sscanf(at, ",%d%n", &after, &used) == 1)
            at += used;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (!strcmp(words[i].name, name))
                x = words[i].put(b, x, before, after);
    }
    gb_output(b, x);
}

struct chains {
    const char *what, *asserted;
    int64_t least; /* length from which on they are right */
    const char *list[12];
};

static void chain_check(const struct chains *c, const char *chain)
{
    static const int64_t from[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 30, -1 };
    for (int64_t pulse = 1; pulse <= 5; pulse++) {
        const int64_t pulses[] = { pulse, -1 },
                      more = oracle_needless(chain_recipe, chain, c->asserted, pulse);
        struct oracle o = { .seed = 1 };
        oracle_check(more == 0, "%s: '%s' at %lld: %lld late", c->what, chain, (long long) pulse,
                     (long long) more);
        oracle_check(oracle_open(&o, chain_recipe, chain, c->asserted) == LAW_HOLDS &&
                         oracle_laws(&o, c->what, pulses, from + c->least) > 0,
                     "'%s': %s", chain, o.err.text);
        oracle_close(&o);
    }
}

static const struct chains all[] = {
    { .what = "what is cut off in front of copies is not waited for",
      .asserted = "S >= 3",
      .least = 3,
      .list = { "reflect 2,1 cut 2", "reflect 2,1 cut 3", "reflect 2,1 cut 1",
                "edge 2,1 cut 3 look", "reflect 2,2 cos cut 2" } },
    { .what = "frames in front come one by one",
      .asserted = "S >= 2",
      .least = 2,
      .list = { "look both 1", "both 2 look", "both 1 token 1 look", "look both 1 both 1",
                "first 2 token 1 look", "both 1 sum look", "look both 2 sum cut 1",
                "reflect 1,0 reflect 1,0", "both 1 causal cut 1 look", "both 1 cos both 1 look" } },
    { .what = "and do so behind a Reshape",
      .asserted = "S >= 3",
      .least = 3,
      .list = { "look both 1 fold look", "first 2 fold token 1 look",
                "reflect 2,0 first 1 fold look", "look first 3 fold cos cut 1" } },
    { .what = "copies of copies, and of given frames",
      .asserted = "S >= 3",
      .least = 3,
      .list = { "reflect 1,0 reflect 2,2", "look reflect 1,0 reflect 2,2",
                "reflect 2,2 reflect 1,0", "reflect 1,1 reflect 1,0", "reflect 2,1 reflect 1,1",
                "edge 1,1 reflect 1,1", "reflect 1,2 reflect 2,2", "token 2 reflect 2,2",
                "look token 2 reflect 2,2" } },
    { .what = "copies of the last frame behind given ones",
      .list = { "token 1 edge 0,1 cut 1", "token 1 edge 0,2 look", "token 2 edge 0,1 cut 1 look",
                "edge 0,1 token 1 edge 0,2 cut 1", "token 1 edge 1,1 look",
                "cut 1 token 1 edge 1,1 look" } },
    { .what = "mirrored frames behind given ones",
      .asserted = "S >= 3",
      .least = 3,
      .list = { "look token 2 reflect 0,2 look", "token 1 reflect 0,3 look",
                "token 2 reflect 3,3 look", "token 1 reflect 2,2 reflect 1,2" } },
    { .what = "copies of frames that are cut off behind",
      .asserted = "S >= 3",
      .least = 3,
      .list = { "reflect 2,0 cut 0,2 cut 1 look", "reflect 2,1 cut 0,2 look",
                "edge 2,1 cut 0,3 look", "look reflect 2,2 cut 0,4 look" } },
    { .what = "a sequence that ends within a run",
      .asserted = "S >= 5",
      .least = 5,
      .list = { "cut 0,2 look reflect 2,2" } },
};

int main(void)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (const char *const *chain = all[i].list; *chain; chain++)
            chain_check(&all[i], *chain);
    return oracle_end();
}
