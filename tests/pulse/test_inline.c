/* SPDX-License-Identifier: MIT */
/* Which Scans of one iteration are replaced by their bodies, decided on the graph: nets whose
 * states the caller carries are, nets whose last states nobody sees are not, unless a stream owns
 * the states. */
#include "engine/graph/control.h"
#include "engine/rewrite/settle/inline_scan.h"
#include "engine/typing/interp.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/scan_cells.h"

#include <string.h>

#define HIDDEN 6

struct net {
    const char *name;
    gb_recipe *recipe;
    int steps; /* GB_TIME: streamed with pulses of 1, then of 4 */
    unsigned scans, left;
};

static uint32_t tanh_cell(struct gb *b, uint32_t x, uint32_t h)
{
    uint32_t w = GB(b, "MatMul", "", x, gb_weights(b, 2, HIDDEN, HIDDEN));
    return GB(b, "Tanh", "",
              GB(b, "Add", "", w, GB(b, "MatMul", "", h, gb_weights(b, 2, HIDDEN, HIDDEN))));
}

/* h' = z * h + (1 - z) * n; returns the Scan: outputs h', stacked h'. restarts: the file says that
 * it restarts. */
static struct node *gru_scan(struct gb *b, uint32_t x, uint32_t h, bool restarts)
{
    struct gb body;
    gb_body(&body, b, "gru");
    uint32_t s = gb_body_input(&body, "h"), xt = gb_body_input(&body, "x");
    uint32_t z = GB(&body, "Sigmoid", "", tanh_cell(&body, xt, s)),
             n = tanh_cell(&body, xt, GB(&body, "Mul", "", z, s));
    uint32_t next = GB(&body, "Add", "", GB(&body, "Mul", "", z, s),
                       GB(&body, "Mul", "", GB(&body, "Sub", "", gb_scalar(&body, 1), z), n));
    gb_output(&body, next);
    gb_output(&body, next);
    const struct gb_scan at = { .states = 1, .scans = 1, .outs = 1 };
    struct node *node = gb_scan(b, &body, &at, (uint32_t[]) { h, x }, 2);
    if (node && restarts)
        ((struct scan_attr *) (uintptr_t) node->attr)->restarts = 1;
    return node;
}

/* Two recurrent layers; the states are planes of one input and come back as planes of one
 * output. */
static void dtln(struct gb *b, const void *ctx)
{
    const struct net *t = ctx;
    uint32_t x = gb_input(b, "x", 3, t->steps, 1, HIDDEN),
             in = gb_input(b, "states", 4, 1, 2, HIDDEN, 1), out[2];
    for (int i = 0; i < 2; i++) {
        uint32_t h = GB(b, "Squeeze", "", gb_slice(b, in, 1, i, i + 1, 1), gb_ints(b, 1, 3));
        struct node *n = gru_scan(b, x, h, false);
        x = n ? n->out[1] : WIRE_NONE;
        out[i] = GB(b, "Unsqueeze", "", n ? n->out[0] : WIRE_NONE, gb_ints(b, 1, 3));
    }
    gb_output(b, x);
    gb_output(b, GB(b, "Concat", "axis=1", out[0], out[1]));
}

static void explicit_gru(struct gb *b, const void *ctx)
{
    const struct net *t = ctx;
    struct node *n = gru_scan(b, gb_input(b, "x", 3, t->steps, 1, HIDDEN),
                              gb_input(b, "h", 2, 1, HIDDEN), false);
    gb_output(b, n ? n->out[1] : WIRE_NONE);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
}

static void decoder(struct gb *b, const struct net *t, bool restarts)
{
    uint32_t x = gb_input(b, "x", 3, t->steps, 1, HIDDEN);
    for (int i = 0; i < 2; i++) {
        struct node *n = gru_scan(b, x, gb_full(b, 0, 2, 1, HIDDEN), restarts);
        x = n ? n->out[1] : WIRE_NONE;
    }
    gb_output(b, GB(b, "Sigmoid", "", GB(b, "MatMul", "", x, gb_weights(b, 2, HIDDEN, 4))));
}

static void dfn_decoder(struct gb *b, const void *ctx)
{
    decoder(b, ctx, false);
}
static void restarting(struct gb *b, const void *ctx)
{
    decoder(b, ctx, true);
}

/* A Scan without states. */
static void stateless(struct gb *b, const void *ctx)
{
    const struct net *t = ctx;
    struct gb body;
    uint32_t x = gb_input(b, "x", 3, t->steps, 1, HIDDEN);
    gb_body(&body, b, "rows");
    uint32_t xt = gb_body_input(&body, "x");
    gb_output(&body, GB(&body, "Tanh", "", xt));
    const struct gb_scan at = { .scans = 1, .outs = 1 };
    struct node *n = gb_scan(b, &body, &at, &x, 1);
    gb_output(b, n ? n->out[0] : WIRE_NONE);
}

static const struct net nets[] = {
    { "DTLN", dtln, 1, 2, 0 },
    { "a GRU with explicit states", explicit_gru, 1, 1, 0 },
    { "a decoder in the way of DeepFilterNet 3", dfn_decoder, 1, 2, 2 },
    { "the decoder, told to restart", restarting, 1, 2, 0 },
    { "no states", stateless, 1, 1, 0 },
    { "a GRU with explicit states, two steps", explicit_gru, 2, 1, 1 },
};

static const struct net streamed = { "the decoder, streamed", dfn_decoder, GB_TIME, 2, 0 };

static void bits_check(struct oracle *o, const struct net *t, const struct graph *a,
                       const struct graph *b)
{
    const struct tensor *in[4], *want[4], *got[4];
    uint32_t seed = 3;
    for (uint32_t i = 0; i < a->n_inputs; i++) {
        struct tensor shape = { 0 }, *x;
        fact_to_tensor(&a->wires[a->inputs[i]].fact, &shape);
        in[i] = x = tensor_new(&o->model->arena, DTYPE_F32, shape.rank, shape.dim);
        for (int64_t k = 0; k < tensor_count(x); k++)
            ((float *) x->data)[k] = gb_random_f32(&seed);
    }
    bool ran = interp_run(a, in, &o->model->arena, want, &o->err) == RILL_OK &&
        interp_run(b, in, &o->model->arena, got, &o->err) == RILL_OK;
    oracle_check(ran, "%s: %s", t->name, o->err.text);
    for (uint32_t i = 0; ran && i < a->n_outputs; i++)
        oracle_check(!memcmp(want[i]->data, got[i]->data, tensor_bytes(want[i])),
                     "%s: output %u differs", t->name, i);
}

static void net_check(const struct net *t)
{
    struct oracle o;
    struct graph inlined;
    bool ok = oracle_open(&o, t->recipe, t, NULL) == LAW_HOLDS;
    const struct graph *g = &o.model->decluttered.g;
    oracle_check(ok && graph_count_op(g, "Scan") == t->scans, "%s: %u Scans: %s", t->name,
                 graph_count_op(g, "Scan"), o.err.text);
    ok = ok && graph_with_scans_inlined(&inlined, g, &o.model->arena, &o.err) == RILL_OK;
    oracle_check(ok, "%s: %s", t->name, o.err.text);
    if (ok) {
        oracle_check(graph_count_op(&inlined, "Scan") == t->left, "%s: %u Scans are left, not %u",
                     t->name, graph_count_op(&inlined, "Scan"), t->left);
        bits_check(&o, t, g, &inlined);
    }
    o.model->stream = NULL;
    ok = ok && oracle_pulse(&o, 0) == LAW_HOLDS;
    oracle_check(ok, "%s: %s", t->name, o.err.text);
    oracle_check(!ok || graph_count_op(&o.plan->settled.g, "Scan") == t->left,
                 "%s: the plan has %u Scans", t->name, graph_count_op(&o.plan->settled.g, "Scan"));
    oracle_check(!ok || !o.plan->settled.g.n_states, "%s: a state out of nothing", t->name);
    oracle_close(&o);
}

/* Its states are the stream's: at pulses of 1 the Scans go and what they remember stays. */
static void streamed_check(const struct net *t)
{
    struct oracle o;
    bool ok = oracle_open(&o, t->recipe, t, NULL) == LAW_HOLDS;
    for (int64_t pulse = 1; ok && pulse <= 4; pulse += 3) {
        ok = oracle_pulse(&o, pulse) == LAW_HOLDS;
        oracle_check(ok, "%s, pulse %d: %s", t->name, (int) pulse, o.err.text);
        unsigned left = ok ? graph_count_op(&o.plan->settled.g, "Scan") : 0;
        oracle_check(left == (pulse == 1 ? t->left : t->scans), "%s, pulse %d: %u Scans", t->name,
                     (int) pulse, left);
        oracle_check(!ok || o.plan->settled.g.n_states >= t->scans,
                     "%s, pulse %d: the stream does not own the states", t->name, (int) pulse);
        for (int64_t length = 1; ok && length < 20; length += 6)
            oracle_check(oracle_law(&o, length, (uint32_t) length) == LAW_HOLDS, "%s, pulse %d: %s",
                         t->name, (int) pulse, o.err.text);
    }
    oracle_check(ok, "%s: %s", t->name, o.err.text);
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        net_check(&nets[i]);
    streamed_check(&streamed);
    return oracle_end();
}
