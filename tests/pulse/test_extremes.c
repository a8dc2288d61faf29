/* SPDX-License-Identifier: MIT */
/* Whether a mask of positions shows a query all keys or any (extremes.h): one number for all
 * queries where each surely has it, and else a stream that is right for the first queries and the
 * last. */
#include "engine/rewrite/pass.h"
#include "pulse/counts.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 3 };
enum seen { ITSELF, BEFORE, AHEAD, HOLES, LATER, JOINED, JOINED_LATER, N_SEEN };
enum reduced { ANY, NONE, NONE_PRODUCT, NONE_I64, ANY_F32, LARGEST_LOW, LEAST_HIGH, N_REDUCED };

struct extreme_case {
    enum seen seen;
    enum reduced reduced;
};

static uint32_t between(struct gb *b, uint32_t far, int64_t least, int64_t most)
{
    return GB(b, "And", "", GB(b, "GreaterOrEqual", "", far, gb_int(b, least)),
              GB(b, "LessOrEqual", "", far, gb_int(b, most)));
}

/* [T, T], of joined keys [T, T + 4]. */
static uint32_t mask_of(struct gb *b, uint32_t x, enum seen seen)
{
    const int64_t more = seen == JOINED || seen == JOINED_LATER ? 4 : 0;
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1)),
                   keys = GB(b, "Add", "", n, gb_int(b, more)),
                   i = GB(b, "Unsqueeze", "", GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1)),
                          gb_ints(b, 1)),
                   j = GB(b, "Unsqueeze", "", GB(b, "Range", "", gb_int(b, 0), keys, gb_int(b, 1)),
                          gb_ints(b, 0)),
                   far = GB(b, "Sub", "", i, j);
    switch (seen) {
    case BEFORE: return between(b, far, 1, 3);
    case AHEAD: return between(b, far, -4, -2);
    case HOLES:
        return GB(b, "And", "", between(b, far, 1, 9),
                  GB(b, "Equal", "", GB(b, "Mod", "", far, gb_int(b, 4)), gb_int(b, 3)));
    case LATER:
        return GB(b, "And", "", between(b, far, 0, 2),
                  GB(b, "GreaterOrEqual", "", i, gb_int(b, 3)));
    case JOINED: return between(b, far, -more, 3 - more);
    case JOINED_LATER: return between(b, far, -more - 2, -more - 1);
    default: return between(b, far, 0, 3);
    }
}

/* What the mask comes to: true where a query sees a key, [T, 1]. */
static uint32_t any_of(struct gb *b, uint32_t mask, enum reduced how)
{
    const uint32_t no = GB(b, "Not", "", mask), key = gb_ints(b, -1);
    switch (how) {
    case NONE: return GB(b, "Not", "", GB(b, "ReduceMin", "", no, key));
    case NONE_PRODUCT:
        return GB(b, "Less", "", GB(b, "ReduceProd", "", GB(b, "Cast", "to=8", no), key),
                  gb_int(b, 1));
    case NONE_I64:
        return GB(b, "Less", "", GB(b, "ReduceMin", "", GB(b, "Cast", "to=8", no), key),
                  gb_int(b, 1));
    case ANY_F32:
        return GB(b, "Greater", "", GB(b, "ReduceMax", "", GB(b, "Cast", "to=1", mask), key),
                  gb_scalar(b, 0));
    case LARGEST_LOW:
        return GB(b, "Greater", "",
                  GB(b, "ReduceMax", "",
                     GB(b, "Where", "", mask, gb_scalar(b, 0), gb_scalar(b, -1e9f)), key),
                  gb_scalar(b, -1));
    case LEAST_HIGH:
        return GB(b, "Less", "",
                  GB(b, "ReduceMin", "", GB(b, "Where", "", mask, gb_scalar(b, 0), gb_scalar(b, 7)),
                     key),
                  gb_scalar(b, 1));
    default: return GB(b, "ReduceMax", "", mask, key);
    }
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct extreme_case *c = ctx;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH);
    gb_output(b,
              GB(b, "Where", "", any_of(b, mask_of(b, x, c->seen), c->reduced), x,
                 gb_scalar(b, 9)));
}

static bool has_reduced(const struct graph *g)
{
    bool has = false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        has |= strncmp(g->nodes[i].op->name, "Reduce", 6) == 0;
    return has;
}

static bool pass_run(struct oracle *o)
{
    static const struct pass pass = { "masks-counted", false, graph_with_masks_counted };
    struct graph *g = &o->model->decluttered.g;
    return passes_run(&pass, 1, g, g, NULL, &o->err) == RILL_OK;
}

/* Numbers that are no truth values are one where each query has the largest or the least of them,
 * and are else refused, but where they hide (a sum of scores sees those). */
static void extreme_test(const struct extreme_case *c)
{
    static const int64_t pulses[] = { 1, 2, 3, 8, -1 }, lengths[] = { 1, 2, 3, 5, 9, 30, -1 };
    const bool itself = c->seen == ITSELF || c->seen == JOINED;
    struct oracle o;
    char name[64];
    snprintf(name, sizeof name, "a mask %d reduced as %d", (int) c->seen, (int) c->reduced);
    const bool made = oracle_open(&o, recipe, c, NULL) == LAW_HOLDS && pass_run(&o);
    oracle_check(made, "%s: %s", name, o.err.text);
    if (made)
        oracle_check(has_reduced(&o.model->decluttered.g) == !itself, "%s: a constant, or none",
                     name);
    if (made && !itself && c->reduced == LEAST_HIGH)
        oracle_check(oracle_pulse(&o, 1) == LAW_REFUSED &&
                         strstr(o.err.text, "is a mask over two time axes"),
                     "%s: %s", name, o.err.text);
    else if (made)
        oracle_check(oracle_laws(&o, name, pulses, lengths) > 0, "%s: no whole run", name);
    oracle_close(&o);
}

/* Whether all keys are seen, or how many are not, is known at the end of the sequence only. */
static void all_seen(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   mask = GB(b, "Cast", "to=1", mask_of(b, x, ITSELF));
    const char *op = ctx;
    gb_output(b, GB(b, "Mul", "", x, GB(b, op, "", mask, gb_ints(b, -1))));
}

/* Twice as much at a key that not every query has, or beside the largest. */
static void of_three(struct gb *b, const void *ctx)
{
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH),
                   a = GB(b, "Cast", "to=8", mask_of(b, x, ITSELF)),
                   c = GB(b, "Cast", "to=8", mask_of(b, x, BEFORE)), key = gb_ints(b, -1);
    const uint32_t n = GB(b, (const char *) ctx, "", GB(b, "Add", "", a, c), key);
    gb_output(b, GB(b, "Mul", "", x, GB(b, "Cast", "to=1", n)));
}

static void refused_test(gb_recipe *made_by, const char *op)
{
    struct oracle o;
    const bool made = oracle_open(&o, made_by, op, NULL) == LAW_HOLDS && pass_run(&o);
    oracle_check(made && oracle_pulse(&o, 1) == LAW_REFUSED && strstr(o.err.text, op), "%s: %s", op,
                 o.err.text);
    oracle_close(&o);
}

int main(void)
{
    for (int i = 0; i < N_SEEN * N_REDUCED; i++)
        extreme_test(
            &(struct extreme_case) { (enum seen)(i / N_REDUCED), (enum reduced)(i % N_REDUCED) });
    refused_test(all_seen, "ReduceMin");
    refused_test(all_seen, "ReduceProd");
    refused_test(all_seen, "ReduceMean");
    refused_test(of_three, "ReduceMax");
    refused_test(of_three, "ReduceMin");
    return oracle_end();
}
