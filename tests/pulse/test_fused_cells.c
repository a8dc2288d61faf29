/* SPDX-License-Identifier: MIT */
/* Fused GRU, LSTM and RNN against the same cells written as Scans over primitive ops: the same
 * bits, whole and streamed. The generic form has the fused one's order of sums: one product over
 * inputs and states that starts from the bias. */
#include "engine/typing/interp.h"
#include "engine/plan/plan.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/typing/typed.h"
#include "tests/pulse/oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cell { RNN, GRU, LSTM };
enum { FORWARD, REVERSE, BOTH };

static const char *const names[] = { "RNN", "GRU", "LSTM" };
static const char *const directions[] = { "forward", "reverse", "bidirectional" };
static const int gates[] = { 1, 3, 4 };

struct shape {
    enum cell cell;
    int inputs, hidden, batch, layers, direction;
    bool late;
    int steps;
};

/* Weights of a layer, as the standard has them. */
struct layer {
    uint32_t w, r, b, h, c;
    int inputs;
};

static uint32_t add(struct gb *b, uint32_t x, uint32_t y)
{
    return GB(b, "Add", "", x, y);
}
static uint32_t mul(struct gb *b, uint32_t x, uint32_t y)
{
    return GB(b, "Mul", "", x, y);
}

static uint32_t product(struct gb *b, uint32_t x, uint32_t w, uint32_t bias)
{
    return GB(b, "Gemm", "transB=1", x, w, bias);
}

/* ---- one step, in a body ---- */

static uint32_t gru_step(struct gb *b, const struct shape *s, uint32_t x, uint32_t h,
                         const uint32_t *w)
{
    uint32_t g[2], n;
    gb_split(b, GB(b, "Sigmoid", "", product(b, GB(b, "Concat", "axis=1", x, h), w[0], w[1])), 2,
             s->hidden, g);
    if (s->late)
        n = product(b, GB(b, "Concat", "axis=1", x, mul(b, g[1], h)), w[2], w[3]);
    else
        n = add(b, product(b, x, w[2], w[3]), mul(b, product(b, h, w[4], w[5]), g[1]));
    n = GB(b, "Tanh", "", n);
    return add(b, mul(b, GB(b, "Sub", "", gb_scalar(b, 1), g[0]), n), mul(b, g[0], h));
}

static uint32_t lstm_step(struct gb *b, const struct shape *s, uint32_t x, uint32_t h, uint32_t c,
                          const uint32_t *w, uint32_t *ret_c)
{
    uint32_t g[4];
    gb_split(b, product(b, GB(b, "Concat", "axis=1", x, h), w[0], w[1]), 4, s->hidden, g);
    *ret_c = add(b, mul(b, GB(b, "Sigmoid", "", g[2]), c),
                 mul(b, GB(b, "Sigmoid", "", g[0]), GB(b, "Tanh", "", g[3])));
    return mul(b, GB(b, "Sigmoid", "", g[1]), GB(b, "Tanh", "", *ret_c));
}

/* Rows from .. to-1 of direction d of a tensor [directions, rows, ..]. */
static uint32_t rows(struct gb *b, uint32_t x, int d, int from, int to)
{
    return GB(b, "Squeeze", "", gb_slice(b, gb_slice(b, x, 0, d, d + 1, 1), 1, from, to, 1),
              gb_ints(b, 0));
}

/* What the body captures: pairs of weights and bias. */
static unsigned captures(struct gb *b, const struct shape *s, const struct layer *l, int d,
                         uint32_t *ret)
{
    int n = gates[s->cell] * s->hidden, joint = s->cell == GRU ? 2 * s->hidden : n;
    bool apart = s->cell == GRU && !s->late;
    uint32_t wb = rows(b, l->b, d, 0, n), rb = rows(b, l->b, d, n, 2 * n), both = add(b, wb, rb);
    ret[0] = GB(b, "Concat", "axis=1", rows(b, l->w, d, 0, joint), rows(b, l->r, d, 0, joint));
    ret[1] = gb_slice(b, both, 0, 0, joint, 1);
    if (s->cell != GRU)
        return 2;
    uint32_t wn = rows(b, l->w, d, joint, n), rn = rows(b, l->r, d, joint, n);
    ret[2] = apart ? wn : GB(b, "Concat", "axis=1", wn, rn);
    ret[3] = gb_slice(b, apart ? wb : both, 0, joint, n, 1);
    ret[4] = rn;
    ret[5] = gb_slice(b, rb, 0, joint, n, 1);
    return apart ? 6 : 4;
}

static uint32_t scan(struct gb *b, const struct shape *s, const struct layer *l, uint32_t x, int d)
{
    struct gb body;
    bool has_c = s->cell == LSTM;
    const int64_t back = s->direction == REVERSE || d == 1;
    uint32_t in[9], w[6], next, next_c = WIRE_NONE;
    unsigned states = 1u + has_c, n = captures(b, s, l, d, in + states + 1);
    gb_body(&body, b, "step");
    uint32_t h = gb_body_input(&body, "h"), c = has_c ? gb_body_input(&body, "c") : WIRE_NONE,
             xt = gb_body_input(&body, "x");
    for (unsigned i = 0; i < n; i++)
        w[i] = gb_body_input(&body, "w");
    if (s->cell == GRU)
        next = gru_step(&body, s, xt, h, w);
    else if (has_c)
        next = lstm_step(&body, s, xt, h, c, w, &next_c);
    else
        next =
            GB(&body, "Tanh", "", product(&body, GB(&body, "Concat", "axis=1", xt, h), w[0], w[1]));
    gb_output(&body, next);
    if (has_c)
        gb_output(&body, next_c);
    gb_output(&body, next);
    in[0] = rows(b, l->h, d, 0, s->batch);
    if (has_c)
        in[1] = rows(b, l->c, d, 0, s->batch);
    in[states] = x;
    const struct gb_scan at =
        SCAN_OF((int) states, 1, 1, .in_reverse = &back, .out_reverse = &back);
    struct node *node = gb_scan(b, &body, &at, in, states + 1 + n);
    return node ? GB(b, "Unsqueeze", "", node->out[states], gb_ints(b, 1)) : WIRE_NONE;
}

/* ---- both forms ---- */

static uint32_t fused(struct gb *b, const struct shape *s, const struct layer *l, uint32_t x)
{
    uint32_t in[7] = { x, l->w, l->r, l->b, WIRE_NONE, l->h, l->c };
    const char *attrs =
        gb_printf(b, "direction=%s hidden_size=%d%s", directions[s->direction], s->hidden,
                  s->cell == GRU && !s->late ? " linear_before_reset=1" : "");
    return gb_op(b, names[s->cell], attrs, in, s->cell == LSTM ? 7 : 6);
}

static uint32_t one_form(struct gb *b, const struct shape *s, const struct layer *l, uint32_t x,
                         bool generic)
{
    for (int i = 0; i < s->layers; i++, l++) {
        if (i)
            x = GB(b, "Squeeze", "", x, gb_ints(b, 1));
        if (!generic)
            x = fused(b, s, l, x);
        else if (s->direction == BOTH)
            x = GB(b, "Concat", "axis=1", scan(b, s, l, x, 0), scan(b, s, l, x, 1));
        else
            x = scan(b, s, l, x, 0);
    }
    return x;
}

static void both_forms(struct gb *b, const void *ctx)
{
    const struct shape *s = ctx;
    struct layer l[2];
    int dirs = s->direction == BOTH ? 2 : 1, n = gates[s->cell] * s->hidden;
    uint32_t x = gb_input(b, "x", 3, s->steps, s->batch, s->inputs);
    for (int i = 0; i < s->layers; i++) {
        int inputs = i ? s->hidden : s->inputs;
        l[i] = (struct layer) { .w = gb_weights(b, 3, dirs, n, inputs),
                                .r = gb_weights(b, 3, dirs, n, s->hidden),
                                .b = gb_weights(b, 2, dirs, 2 * n),
                                .h = gb_weights(b, 3, dirs, s->batch, s->hidden),
                                .c = gb_weights(b, 3, dirs, s->batch, s->hidden),
                                .inputs = inputs };
    }
    gb_output(b, one_form(b, s, l, x, false));
    gb_output(b, one_form(b, s, l, x, true));
}

/* ---- the whole sequence ---- */

struct whole {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    struct tgraph t;
    struct graph half, pruned, g;
    const struct tensor *in, *out[2];
    rill_error err;
};

static rill_status whole_make(struct whole *w, const struct shape *s)
{
    struct gb b;
    memset(w, 0, sizeof *w);
    w->dims = dims_new();
    gb_init(&b, &w->m.g, &w->arena, w->dims, dim_int(w->dims, 1), 1);
    both_forms(&b, s);
    w->err = b.err;
    if (b.err.status != RILL_OK)
        return b.err.status;
    TRY(tgraph_from_mgraph(&w->t, &w->m, NULL, &w->err));
    TRY(graph_declutter(&w->half, &w->t.g, NULL, &w->err));
    TRY(graph_pruned(&w->pruned, &w->half, &w->err));
    TRY(graph_settle(&w->g, &w->pruned, NULL, &w->err));
    struct tensor *x =
        tensor_new(&w->arena, DTYPE_F32, 3, (int64_t[]) { s->steps, s->batch, s->inputs });
    uint32_t seed = 9;
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((float *) x->data)[i] = 2 * gb_random_f32(&seed);
    w->in = x;
    return interp_run(&w->t.g, &w->in, &w->arena, w->out, &w->err);
}

static void plan_check(struct whole *w, unsigned cpu, const char *name)
{
    struct plan *p = NULL;
    const struct plan_opts opts = { .cpu = cpu };
    rill_status st = plan_from_sgraph(&p, &(struct sgraph) { w->g }, &opts, &w->err);
    oracle_check(st == RILL_OK, "%s: %s", name, w->err.text);
    if (st != RILL_OK)
        return;
    unsigned char *mem = aligned_alloc(64, (p->mem_bytes + 63) & ~(size_t) 63);
    memset(mem, 0xff, p->mem_bytes);
    plan_reset(p, mem);
    memcpy(mem + p->inputs[0].at.offset, w->in->data, tensor_bytes(w->in));
    plan_run(p, mem);
    for (unsigned o = 0; o < 2; o++)
        oracle_check(!memcmp(place_read(p->outputs[o].at, mem), w->out[0]->data,
                             tensor_bytes(w->out[0])),
                     "%s, planned for %s: %s form has other bits", name, p->kern.isa,
                     o ? "generic" : "fused");
    free(mem);
    plan_free(p);
}

static void whole_check(const struct shape *s, const char *name)
{
    struct whole w;
    rill_status st = whole_make(&w, s);
    oracle_check(st == RILL_OK, "%s: %s", name, w.err.text);
    if (st == RILL_OK) {
        oracle_check(tensor_bytes(w.out[0]) == tensor_bytes(w.out[1]) &&
                         !memcmp(w.out[0]->data, w.out[1]->data, tensor_bytes(w.out[0])),
                     "%s: other bits than the generic form", name);
        plan_check(&w, kern_cpu_detect(), name);
        if (s->steps * s->hidden < 2000)
            plan_check(&w, 0, name);
    }
    arena_drop(&w.arena);
    dims_free(w.dims);
}

/* ---- streams ---- */

static void stream_check(const struct shape *s, const char *name)
{
    for (int64_t pulse = 1; pulse <= 4; pulse += 3) {
        struct oracle o = { .seed = 3 };
        enum verdict v = oracle_open(&o, both_forms, s, NULL);
        if (v == LAW_HOLDS)
            v = oracle_pulse(&o, pulse);
        for (int64_t length = 1; v == LAW_HOLDS && length < 12; length += 5)
            v = oracle_law(&o, length, (uint32_t) length);
        oracle_check(v == LAW_HOLDS, "%s, pulse %d: %s", name, (int) pulse, o.err.text);
        oracle_close(&o);
    }
}

static void shape_check(struct shape s)
{
    char name[96];
    snprintf(name, sizeof name, "%s %d to %d, batch %d, %d layers, %s%s, %d steps", names[s.cell],
             s.inputs, s.hidden, s.batch, s.layers, directions[s.direction],
             s.late ? ", reset first" : "", s.steps);
    if (s.steps == GB_TIME)
        stream_check(&s, name);
    else
        whole_check(&s, name);
}

int main(void)
{
    static const struct {
        int inputs, hidden;
    } sizes[] = { { 8, 4 }, { 5, 8 }, { 3, 16 }, { 70, 12 }, { 9, 33 }, { 20, 48 } };
    for (int cell = RNN; cell <= LSTM; cell++)
        for (int late = 0; late <= (cell == GRU); late++) {
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                for (int k = 0; k < 6; k++) {
                    struct shape s = {
                        cell, sizes[i].inputs, sizes[i].hidden, 1 + k / 3 * 4, 1, k % 3,
                        late, 1 + 6 * (k & 1)
                    };
                    shape_check(s);
                    s.steps = GB_TIME;
                    if (s.direction == FORWARD)
                        shape_check(s);
                }
            shape_check((struct shape) { cell, 256, 256, 1, 1, FORWARD, late, 100 });
            shape_check((struct shape) { cell, 128, 128, 1, 2, FORWARD, late, 50 });
            shape_check((struct shape) { cell, 24, 40, 3, 2, FORWARD, late, GB_TIME });
            shape_check((struct shape) { cell, 6, 8, 1, 2, FORWARD, late, GB_TIME });
        }
    return oracle_end();
}
