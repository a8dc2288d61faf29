/* SPDX-License-Identifier: MIT */
/* Loops that go on while there are frames: `while i < T`, by the number of the iteration or by a
 * state that counts. They stream as Loops of T trips do, and where something else ends them they do
 * not. */
#include "engine/graph/control.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 4 };

struct goes {
    bool state;           /* counts, not the number of the iteration */
    bool first;           /* the first condition is that there are frames; it is true */
    int64_t start, step;  /* of the state */
    int64_t trips;        /* at most */
    bool at_most, halves; /* i + 1 <= T; T / 2 */
};

static uint32_t length_of(struct gb *b, uint32_t x, const struct goes *c)
{
    const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    return c->halves ? GB(b, "Div", "", n, gb_int(b, 2)) : n;
}

static void body_make(struct gb *body, const struct goes *c)
{
    const uint32_t i = gb_body_input(body, "i");
    gb_body_input(body, "goes");
    const uint32_t count = gb_body_input(body, "count"), state = gb_body_input(body, "state"),
                   all = gb_body_input(body, "all"), length = gb_body_input(body, "length");
    const uint32_t after = GB(body, "Add", "", count, gb_int(body, c->step)),
                   more = c->state ? after : GB(body, "Add", "", gb_int(body, 1), i),
                   frame = GB(body, "Gather", "axis=1", all, c->state ? count : i);
    const uint32_t next = GB(body, "Add", "", GB(body, "Mul", "", frame, gb_scalar(body, 0.5f)),
                             GB(body, "Mul", "", state, gb_scalar(body, 0.75f)));
    gb_output(body,
              c->at_most     ? GB(body, "LessOrEqual", "", more, length)
                  : c->first ? GB(body, "Less", "", more, length)
                             : GB(body, "Greater", "", length, more));
    gb_output(body, after);
    gb_output(body, next);
    gb_output(body, GB(body, "Tanh", "", next));
}

static void recipe(struct gb *b, const void *ctx)
{
    const struct goes *c = ctx;
    const unsigned char yes = 1;
    struct gb body;
    const uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), n = length_of(b, x, c);
    const uint32_t in[6] = { gb_int(b, c->trips),
                             c->first ? GB(b, "Less", "", gb_int(b, 0), n)
                                      : gb_const(b, DTYPE_BOOL, 0, NULL, &yes),
                             gb_int(b, c->start),
                             gb_full(b, 0, 2, 1, WIDTH),
                             x,
                             n };
    struct loop_attr *at = arena_new(b->arena, struct loop_attr);
    uint32_t out[3];
    gb_body(&body, b, "while");
    body_make(&body, c);
    b->n_names = body.n_names;
    if (!at || body.err.status != RILL_OK)
        return;
    at->n_states = 2;
    for (int k = 0; k < 3; k++)
        out[k] = graph_add_wire(b->g, gb_printf(b, "while.%d", k), NULL);
    struct node *made = graph_add_node(b->g, &op_loop, "while", at, in, 6, out, 3);
    made->body = arena_array(b->arena, struct graph *, 1);
    made->body[0] = body.g;
    made->n_body = 1;
    gb_output(b, gb_transpose(b, out[2], "1,0,2"));
}

static bool passes_do(struct oracle *o)
{
    static const struct pass passes[] = { { "peepholes", true, graph_with_peepholes },
                                          { "loops", true, graph_with_loops_scanned } };
    struct graph *g = &o->model->decluttered.g;
    return passes_run(passes, 2, g, g, NULL, &o->err) == RILL_OK;
}

static void goes_test(const struct goes *c, bool streams)
{
    static const int64_t pulses[] = { 1, 3, 4, -1 }, lengths[] = { 1, 2, 7, 30, -1 };
    struct oracle o = { .seed = 1 };
    char name[120];
    snprintf(name, sizeof name, "a Loop by %s from %d by %d, %d trips, %d%d%d",
             c->state ? "a count" : "its number", (int) c->start, (int) c->step,
             c->trips == INT64_MAX ? -1 : (int) c->trips, c->first, c->at_most, c->halves);
    const bool made = oracle_open(&o, recipe, c, NULL) == LAW_HOLDS && passes_do(&o);
    if (made && streams)
        oracle_check(oracle_laws(&o, name, pulses, lengths) > 0, "%s: no whole run", name);
    else
        oracle_check(!streams && (!made || oracle_pulse(&o, 1) == LAW_REFUSED), "%s: %s", name,
                     o.err.text);
    oracle_close(&o);
}

int main(void)
{
    static const struct goes streams[] = {
        { false, false, 0, 1, INT64_MAX, false, false },
        { false, true, 0, 1, INT64_MAX, false, false },
        { true, false, 0, 1, INT64_MAX, false, false },
        { true, true, 0, 1, INT64_MAX, false, false },
        { false, true, 5, 3, INT64_MAX, false, false }, /* the state is not what counts */
    };
    static const struct goes refused[] = {
        { true, true, 1, 1, INT64_MAX, false, false },
        { true, true, 0, 2, INT64_MAX, false, false },
        { true, true, 0, 1, 5, false, false },
        { false, false, 0, 1, 5, false, false },
        { false, false, 0, 1, INT64_MAX, true, false },
        { true, true, 0, 1, INT64_MAX, false, true },
        { true, false, 0, 1, INT64_MAX, false, true },
    };
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        goes_test(&streams[i], true);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        goes_test(&refused[i], false);
    return oracle_end();
}
