/* SPDX-License-Identifier: MIT */
/* Cells with weights of 16 and of 8 bits: a stream gives the bits of the whole sequence at every
 * pulse and cut, whether their inputs are summed with the states or in a product of their own; they
 * are taken where they pay, and nowhere else. */
#include "engine/typing/interp.h"
#include "engine/ops/rnn.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/pass.h"
#include "engine/typing/typed.h"
#include "tests/pulse/oracle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct shape {
    const char *op, *attrs;
    int gates, inputs, hidden, batch;
    const char *kernel; /* that runs it when it is asked for 16 bits */
    const char *weights;
    float extreme; /* stands among W and R; 0: none does */
    bool bytes;    /* weights are what i8 are dequantised to */
    float loud; /* the first input is so many times the others, its weights are 0; 0: it is not */
};

static uint32_t with_extreme(struct gb *b, const struct shape *s, int columns)
{
    static float v[4 * 128 * 128];
    const int64_t dim[] = { 1, s->gates * s->hidden, columns };
    for (int64_t i = 0; i < dim[1] * dim[2]; i++)
        v[i] = gb_random_f32(&b->seed);
    v[7] = s->extreme;
    return gb_const(b, DTYPE_F32, 3, dim, v);
}

/* [1, rows, columns] floats that bytes are dequantised to, with a scale for each row; one row is
 * zero, one has a single weight. */
static uint32_t of_bytes(struct gb *b, const struct shape *s, int columns)
{
    static float v[4 * 128 * 128];
    const int64_t rows = s->gates * s->hidden, dim[] = { 1, rows, columns };
    const bool quiet = s->loud > 0 && columns == s->inputs;
    for (int64_t i = 0; i < rows; i++) {
        const float scale = ldexpf(1.5f + gb_random_f32(&b->seed), i % 5 ? -9 : -14);
        for (int64_t k = 0; k < columns; k++) {
            float whole = i == 2 || (i == 4 && k) ? 0 : rintf(280 * gb_random_f32(&b->seed));
            v[i * columns + k] = quiet && !k ? 0 : fmaxf(-128, fminf(127, whole)) * scale;
        }
    }
    v[7] = s->extreme != 0 ? s->extreme : v[7];
    return gb_const(b, DTYPE_F32, 3, dim, v);
}

static uint32_t weights_of(struct gb *b, const struct shape *s, int columns)
{
    if (s->bytes)
        return of_bytes(b, s, columns);
    return s->extreme != 0 ? with_extreme(b, s, columns)
                           : gb_weights(b, 3, 1, s->gates * s->hidden, columns);
}

static void one_cell(struct gb *b, const void *ctx)
{
    const struct shape *s = ctx;
    const int rows = s->gates * s->hidden;
    uint32_t x = gb_input(b, "x", 3, GB_TIME, s->batch, s->inputs);
    uint32_t w = weights_of(b, s, s->inputs);
    uint32_t r = s->bytes ? of_bytes(b, s, s->hidden) : gb_weights(b, 3, 1, rows, s->hidden),
             bias = gb_weights(b, 2, 1, 2 * rows);
    gb_output(b,
              GB(b, s->op,
                 gb_printf(b, "hidden_size=%d %s weights='%s", s->hidden, s->attrs, s->weights), x,
                 w, r, bias));
}

static const struct pass byte_cells = { "byte-cells", false, graph_with_byte_cells };

static bool kernel_is(const struct plan *p, const char *name)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (!strcmp(p->steps[i].kernel, name))
            return true;
    return false;
}

static void law_check(const struct shape *s)
{
    char name[96];
    snprintf(name, sizeof name, "%s %d to %d, batch %d, %s", s->op, s->inputs, s->hidden, s->batch,
             s->attrs);
    for (int64_t pulse = 1; pulse <= 5; pulse += 4) {
        struct oracle o;
        enum verdict v = oracle_open(&o, one_cell, s, NULL);
        struct graph *g = &o.model->decluttered.g;
        o.pass = s->bytes ? &byte_cells : NULL;
        if (v == LAW_HOLDS && s->bytes && passes_run(o.pass, 1, g, g, NULL, &o.err) != RILL_OK)
            v = LAW_REFUSED;
        if (v == LAW_HOLDS)
            v = oracle_pulse(&o, pulse);
        if (v == LAW_HOLDS)
            oracle_check(kernel_is(o.plan->plan, s->kernel), "%s: no %s", name, s->kernel);
        for (int64_t length = 1; v == LAW_HOLDS && length < 14; length += 6)
            v = oracle_law(&o, length, (uint32_t) length);
        oracle_check(v == LAW_HOLDS, "%s, pulse %d: %s", name, (int) pulse, o.err.text);
        oracle_close(&o);
    }
}

/* ---- against f32 ---- */

struct made {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    struct tgraph t;
    const struct tensor *in, *out[1];
    rill_error err;
};

#define STEPS 9

static rill_status made_run(struct made *w, const struct shape *s)
{
    struct gb b;
    uint32_t seed = 5;
    memset(w, 0, sizeof *w);
    w->dims = dims_new();
    gb_init(&b, &w->m.g, &w->arena, w->dims, dim_int(w->dims, STEPS), 1);
    one_cell(&b, s);
    w->err = b.err;
    TRY(b.err.status);
    TRY(tgraph_from_mgraph(&w->t, &w->m, NULL, &w->err));
    struct tensor *x =
        tensor_new(&w->arena, DTYPE_F32, 3, (int64_t[]) { STEPS, s->batch, s->inputs });
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((float *) x->data)[i] = 2 * gb_random_f32(&seed);
    for (int64_t i = 0; s->loud > 0 && i < tensor_count(x); i += s->inputs)
        ((float *) x->data)[i] *= s->loud;
    w->in = x;
    return interp_run(&w->t.g, &w->in, &w->arena, w->out, &w->err);
}

static void made_drop(struct made *w)
{
    arena_drop(&w->arena);
    dims_free(w->dims);
}

/* The largest difference to weights of f32; NaN: it could not run. */
static double distance(const struct shape *s)
{
    struct shape wide = *s;
    struct made a, b;
    double most = 0;
    wide.weights = "f32";
    if (made_run(&a, s) != RILL_OK || made_run(&b, &wide) != RILL_OK)
        return NAN;
    const float *x = a.out[0]->data, *y = b.out[0]->data;
    for (int64_t i = 0; i < tensor_count(a.out[0]); i++)
        most = fmax(most, fabs((double) x[i] - y[i]));
    made_drop(&a);
    made_drop(&b);
    return most;
}

/* ---- where the passes put them ---- */

static bool is_narrow(const struct graph *g, const struct node *n, const struct shape *s)
{
    return s->bytes ? g->wires[n->in[IN_R]].fact.type == DTYPE_I8
                    : ((const struct rnn_attr *) n->attr)->weights == 1;
}

/* The pass of bytes, or that of 16 bits, which counts cells of the size, makes so many narrow; the
 * first also where their numbers show it. */
static void pass_check(const struct shape *s, unsigned wide, unsigned narrow, const char *what)
{
    struct made w;
    struct graph g;
    struct narrow_count n = { 0 };
    unsigned is = 0;
    const struct tensor *y = NULL;
    double most = 0;
    rill_status st = made_run(&w, s);
    if (st == RILL_OK)
        st = s->bytes ? graph_with_byte_cells(&g, &w.t.g, &w.err)
                      : graph_with_narrow_cells(&g, &w.t.g, &n, NULL, &w.err);
    for (uint32_t i = 0; st == RILL_OK && i < g.n_nodes; i++)
        is += !strcmp(g.nodes[i].op->name, s->op) && is_narrow(&g, &g.nodes[i], s);
    oracle_check(st == RILL_OK && is == narrow && (s->bytes || (n.wide == wide && n.narrow == is)),
                 "%s: %u cells of that size, %u narrow, wanted %u and %u %s", what, n.wide, is,
                 wide, narrow, w.err.text);
    if (st == RILL_OK && s->bytes && narrow)
        st = interp_run(&g, &w.in, &w.arena, &y, &w.err);
    for (int64_t k = 0; st == RILL_OK && y && k < tensor_count(y); k++)
        most =
            fmax(most,
                 fabs((double) ((const float *) y->data)[k] - ((const float *) w.out[0]->data)[k]));
    oracle_check(st == RILL_OK && most < 6e-4, "%s: %g from floats %s", what, most, w.err.text);
    made_drop(&w);
}

int main(void)
{
    static const char late[] = "linear_before_reset=0", early[] = "linear_before_reset=1",
                      seq16[] = "cell_seq_i16", seq32[] = "cell_seq_f32", seq8[] = "cell_seq_i8";
    static const struct shape shapes[] = {
        { "GRU", early, 3, 9, 65, 1, seq16, "i16", 0, false, 0 },
        { "GRU", early, 3, 8, 72, 6, seq16, "i16", 0, false, 0 },
        { "GRU", late, 3, 7, 80, 1, seq16, "i16", 0, false, 0 },
        { "GRU", late, 3, 2, 65, 5, seq16, "i16", 0, false, 0 },
        { "LSTM", "", 4, 11, 57, 1, seq16, "i16", 0, false, 0 },
        { "LSTM", "", 4, 4, 64, 3, seq16, "i16", 0, false, 0 },
        { "RNN", "", 1, 5, 111, 1, seq16, "i16", 0, false, 0 },
        { "RNN", "", 1, 6, 128, 5, seq16, "i16", 0, false, 0 },
        { "GRU", early, 3, 9, 64, 1, seq32, "i16", 0, false, 0 },
        { "LSTM", "", 4, 11, 55, 1, seq32, "i16", 0, false, 0 },
        { "GRU", early, 3, 9, 65, 1, seq32, "f32", 0, false, 0 },
        { "GRU", early, 3, 9, 53, 1, seq8, "f32", 0, true, 0 },
        { "GRU", early, 3, 60, 65, 1, seq8, "f32", 0, true, 0 },
        { "GRU", early, 3, 30, 80, 6, seq8, "f32", 0, true, 0 },
        { "GRU", late, 3, 7, 80, 1, seq8, "f32", 0, true, 0 },
        { "GRU", late, 3, 2, 65, 5, seq8, "f32", 0, true, 0 },
        { "LSTM", "", 4, 11, 57, 1, seq8, "f32", 0, true, 0 },
        { "LSTM", "", 4, 4, 64, 3, seq8, "f32", 0, true, 0 },
        { "RNN", "", 1, 5, 111, 1, seq8, "f32", 0, true, 0 },
        { "RNN", "", 1, 6, 128, 5, seq8, "f32", 0, true, 0 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *s = &shapes[i];
        law_check(s);
        if (s->bytes) {
            struct shape beside = *s;
            beside.loud = 3000;
            pass_check(s, 1, 1, s->op);
            pass_check(&beside, 1, 1, "one input of 3000 times the others");
            continue;
        }
        double d = distance(s);
        oracle_check(s->kernel == seq16 ? d > 0 && d < 5e-3 : d == 0, "%s %d: %g from f32", s->op,
                     s->hidden, d);
    }
    struct shape s = { "GRU", early, 3, 9, 65, 1, seq8, "f32", 0, true, 0 };
    s.extreme = 0.0123f;
    pass_check(&s, 1, 0, "a weight that no byte is");
    s.extreme = NAN;
    pass_check(&s, 1, 0, "no number among bytes");
    s = (struct shape) { "GRU", early, 3, 9, 52, 1, seq8, "f32", 0, true, 0 };
    pass_check(&s, 1, 0, "a GRU of 52, of bytes");
    s = (struct shape) { "GRU", early, 3, 9, 65, 1, seq16, "f32", 0, false, 0 };
    pass_check(&s, 1, 1, "a GRU of 65");
    s.extreme = 65535.9f;
    pass_check(&s, 1, 1, "a weight below 65536");
    s.extreme = -65536;
    pass_check(&s, 1, 0, "a weight of -65536");
    s.extreme = INFINITY;
    pass_check(&s, 1, 0, "an infinite weight");
    s.extreme = NAN;
    pass_check(&s, 1, 0, "a weight that is no number");
    s.hidden = 64;
    pass_check(&s, 0, 0, "a GRU of 64");
    return oracle_end();
}
