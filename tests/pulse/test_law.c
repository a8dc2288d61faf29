/* SPDX-License-Identifier: MIT */
/* The check sees what it is there to see: broken pulsed graphs, and names the first node that
 * differs. */
#include "check/law.h"
#include "tests/pulse/oracle.h"

#include <string.h>

static void two_convs(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    x = GB(b, "Conv", "pads=1,1", x, gb_weights(b, 3, 3, 2, 3));
    x = GB(b, "Relu", "", x);
    gb_output(b, GB(b, "Conv", "dilations=2 pads=4,0", x, gb_weights(b, 3, 2, 3, 3)));
}

/* The k-th streaming wire of the typed graph that is an op's output. */
static struct pulsed_wire *wire_of(struct pgraph *g, const struct graph *t, const char *op)
{
    for (uint32_t w = 0; w < g->n_trace; w++)
        if (t->wires[w].node != WIRE_NONE && !strcmp(t->nodes[t->wires[w].node].op->name, op))
            return &g->trace[w];
    return NULL;
}

struct spoiler {
    const struct graph *t;
    const char *op;
};

static void later(struct pgraph *g, void *arg)
{
    const struct spoiler *s = arg;
    wire_of(g, s->t, s->op)->fact.delay++;
}

/* States start from something else. */
static void other_past(struct pgraph *g, void *arg)
{
    (void) arg;
    struct state *st = &g->g.states[g->g.n_states - 1];
    struct tensor shape, *t;
    fact_to_tensor(&g->g.wires[st->in].fact, &shape);
    t = tensor_new(g->g.arena, shape.type, shape.rank, shape.dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        tensor_set_f64(t, t->data, i, 1);
    st->init = t;
}

static void expect(const struct oracle *o, const char *what, void (*spoil)(struct pgraph *, void *),
                   const char *op, const char *named)
{
    struct spoiler s = { &o->model->decluttered.g, op };
    struct law_opts opts = { .pulse = 3, .length = 20, .seed = 7, .spoil = spoil, .spoil_arg = &s };
    struct law_result r;
    rill_error err = { .text = "" };
    rill_status st = law_check(o->model, &opts, &r, &err);
    oracle_check(st == RILL_OK, "%s: %s", what, err.text);
    if (named)
        oracle_check(!r.holds && strstr(r.where, named), "%s: found '%s'", what, r.where);
    else
        oracle_check(r.holds && r.same_bits && r.n_wires == 3, "%s: %u wires, %s", what, r.n_wires,
                     r.where);
}

static void test_sees(void)
{
    struct oracle o;
    oracle_check(oracle_open(&o, two_convs, NULL, NULL) == LAW_HOLDS, "%s", o.err.text);
    expect(&o, "sound", NULL, NULL, NULL);
    expect(&o, "relu said to be later", later, "Relu", "(Relu)");
    expect(&o, "second convolution with another past", other_past, NULL, "(Conv)");
    oracle_close(&o);
}

/* Two first frames in front, of which a sequence of one has one; the last two are cut off. */
static void firsts_in_front(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 4);
    x = GB(b, "Concat", "axis=1", gb_slice(b, x, 1, 0, 2, 1), x);
    x = GB(b, "GRU", "hidden_size=4", GB(b, "Transpose", "perm=1,0,2", x),
           gb_weights(b, 3, 1, 12, 4), gb_weights(b, 3, 1, 12, 4));
    x = GB(b, "Transpose", "perm=1,0,2", GB(b, "Squeeze", "", x, gb_ints(b, 1)));
    gb_output(b, gb_slice(b, x, 1, 0, -2, 1));
}

/* Nodes whose frames no output has are not asked for any. */
static void test_nothing_given(void)
{
    struct oracle o;
    oracle_check(oracle_open(&o, firsts_in_front, NULL, NULL) == LAW_HOLDS, "%s", o.err.text);
    for (int64_t n = 0; n < 6; n++) {
        const struct law_opts opts = { .pulse = 1, .length = n, .seed = 7 };
        struct law_result r;
        rill_error err = { .text = "" };
        const rill_status s = law_check(o.model, &opts, &r, &err);
        oracle_check(s == RILL_OK && r.holds && (r.n_wires > 0) == (n > 1), "length %d: %d, %s%s",
                     (int) n, (int) s, err.text, r.where);
    }
    oracle_close(&o);
}

static void no_time(struct gb *b, const void *ctx)
{
    (void) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, 2, GB_TIME);
    gb_output(b, GB(b, "Softmax", "axis=2", x));
}

static void test_refusal(void)
{
    struct oracle o;
    struct law_opts opts = { .length = 20 };
    struct law_result r;
    rill_error err = { .text = "" };
    oracle_check(oracle_open(&o, no_time, NULL, NULL) == LAW_HOLDS, "%s", o.err.text);
    rill_status s = law_check(o.model, &opts, &r, &err);
    oracle_check(s == RILL_UNSUPPORTED && strstr(err.text, "Softmax"), "refused: %d, %s", (int) s,
                 err.text);
    oracle_close(&o);
}

int main(void)
{
    test_sees();
    test_nothing_given();
    test_refusal();
    return oracle_end();
}
