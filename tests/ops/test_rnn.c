/* SPDX-License-Identifier: MIT */
/* LSTM, GRU and RNN against the equations of the standard, in double, one element at a time. */
#include "engine/ops/rnn_act.h"
#include "tests/ops/epilogue_test.h"

#include <strings.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define INPUTS 5
#define HIDDEN_MAX 35
#define STEPS_MAX 7
#define BATCH_MAX 3

enum { USE_B = 1, USE_LENS = 2, USE_H = 4, USE_C = 8, USE_P = 16, USE_FORGET = 32, USE_LBR = 64 };
enum { RNN, GRU, LSTM };

static int64_t hidden = 6;

static const struct {
    const char *op;
    int gates, n_acts;
    const char *acts[3];
} cells[] = { { "RNN", 1, 1, { "Tanh" } },
              { "GRU", 3, 2, { "Sigmoid", "Tanh" } },
              { "LSTM", 4, 3, { "Sigmoid", "Tanh", "Tanh" } } };
static const char *const directions[] = { "forward", "reverse", "bidirectional" };

struct net {
    int cell, direction, use;
    int64_t batch, steps, layout;
    float clip;
    const char *act[6]; /* of both directions; NULL: the defaults */
    float alpha, beta;  /* given for every activation that takes them, where has_params */
    bool has_params;
    const struct tensor *in[8]; /* X W R B lens h c P */
};

struct result {
    double y[STEPS_MAX * 2 * BATCH_MAX * HIDDEN_MAX], h[2 * BATCH_MAX * HIDDEN_MAX],
        c[2 * BATCH_MAX * HIDDEN_MAX];
};

static uint32_t seed = 7;
static float draw(float scale)
{
    seed = seed * 1664525u + 1013904223u;
    return ((float) (seed >> 8) / (1 << 23) - 1) * scale;
}

static struct tensor *numbers(struct ops_test *t, int rank, const int64_t *dim, float scale)
{
    struct tensor *x = ops_f32(t, rank, dim, NULL);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        ((float *) x->data)[i] = draw(scale);
    return x;
}

/* ---- the equations ---- */

static const struct {
    const char *name;
    double alpha, beta;
    int params;
} act_defaults[] = { { "Relu", 0, 0, 0 },
                     { "Tanh", 0, 0, 0 },
                     { "Sigmoid", 0, 0, 0 },
                     { "Softsign", 0, 0, 0 },
                     { "Softplus", 0, 0, 0 },
                     { "LeakyRelu", 0.01, 0, 1 },
                     { "ThresholdedRelu", 1, 0, 1 },
                     { "Elu", 1, 0, 1 },
                     { "Affine", 1, 0, 2 },
                     { "ScaledTanh", 1, 1, 2 },
                     { "HardSigmoid", 0.2, 0.5, 2 } };

static double act_value(size_t k, double a, double b, double x)
{
    switch (k) {
    case 0: return x > 0 ? x : 0;
    case 1: return tanh(x);
    case 2: return 1 / (1 + exp(-x));
    case 3: return x / (1 + fabs(x));
    case 4: return log(1 + exp(x));
    case 5: return x >= 0 ? x : a * x;
    case 6: return x >= a ? x : 0;
    case 7: return x >= 0 ? x : a * (exp(x) - 1);
    case 8: return a * x + b;
    case 9: return a * tanh(b * x);
    default: return fmin(fmax(a * x + b, 0), 1);
    }
}

static double act(const struct net *n, int d, int which, double x)
{
    int at = d * cells[n->cell].n_acts + which;
    const char *name = n->act[0] ? n->act[at] : cells[n->cell].acts[which];
    for (size_t k = 0; k < COUNT(act_defaults); k++)
        if (!strcasecmp(act_defaults[k].name, name)) {
            bool a = n->has_params && act_defaults[k].params > 0,
                 b = n->has_params && act_defaults[k].params > 1;
            return act_value(k, a ? (double) n->alpha : act_defaults[k].alpha,
                             b ? (double) n->beta : act_defaults[k].beta, x);
        }
    abort();
}

static double clipped(const struct net *n, double x)
{
    return n->clip > 0 ? fmin(fmax(x, (double) -n->clip), (double) n->clip) : x;
}

static double item(const struct net *n, int input, int64_t at)
{
    return n->in[input] ? (double) ((const float *) n->in[input]->data)[at] : 0;
}

/* W x + Wb of row g of direction d at (t, b). */
static double from_input(const struct net *n, int64_t d, int64_t g, int64_t t, int64_t b)
{
    int64_t rows = cells[n->cell].gates * hidden,
            at = n->layout ? b * n->steps + t : t * n->batch + b;
    double s = item(n, 3, d * 2 * rows + g);
    for (int64_t i = 0; i < INPUTS; i++)
        s += item(n, 1, (d * rows + g) * INPUTS + i) * item(n, 0, at * INPUTS + i);
    return s;
}

/* R h + Rb of row g; mask, where there is one, multiplies h. */
static double from_state(const struct net *n, int64_t d, int64_t g, const double *h,
                         const double *mask)
{
    int64_t rows = cells[n->cell].gates * hidden;
    double s = item(n, 3, d * 2 * rows + rows + g);
    for (int64_t i = 0; i < hidden; i++)
        s += item(n, 2, (d * rows + g) * hidden + i) * h[i] * (mask ? mask[i] : 1);
    return s;
}

static double both(const struct net *n, int d, int64_t g, int64_t t, int64_t b, const double *h)
{
    return from_input(n, d, g, t, b) + from_state(n, d, g, h, NULL);
}

static void gru_step(const struct net *n, int d, int64_t t, int64_t b, double *h)
{
    double z[HIDDEN_MAX], r[HIDDEN_MAX], next[HIDDEN_MAX];
    for (int64_t i = 0; i < hidden; i++) {
        z[i] = act(n, d, 0, clipped(n, both(n, d, i, t, b, h)));
        r[i] = act(n, d, 0, clipped(n, both(n, d, hidden + i, t, b, h)));
    }
    for (int64_t i = 0; i < hidden; i++) {
        double state = n->use & USE_LBR ? r[i] * from_state(n, d, 2 * hidden + i, h, NULL)
                                        : from_state(n, d, 2 * hidden + i, h, r);
        double c = act(n, d, 1, clipped(n, from_input(n, d, 2 * hidden + i, t, b) + state));
        next[i] = (1 - z[i]) * c + z[i] * h[i];
    }
    memcpy(h, next, (size_t) hidden * sizeof *h);
}

static void lstm_step(const struct net *n, int d, int64_t t, int64_t b, double *h, double *cell)
{
    double next[HIDDEN_MAX];
    for (int64_t q = 0; q < hidden; q++) {
        int64_t p = d * 3 * hidden + q;
        double i = act(n, d, 0, clipped(n, both(n, d, q, t, b, h) + item(n, 7, p) * cell[q]));
        double f = act(n, d, 0,
                       clipped(n,
                               both(n, d, 2 * hidden + q, t, b, h) +
                                   item(n, 7, p + 2 * hidden) * cell[q]));
        double g = act(n, d, 1, clipped(n, both(n, d, 3 * hidden + q, t, b, h)));
        double c = (n->use & USE_FORGET ? 1 - i : f) * cell[q] + i * g;
        double o =
            act(n, d, 0, clipped(n, both(n, d, hidden + q, t, b, h) + item(n, 7, p + hidden) * c));
        next[q] = o * act(n, d, 2, c);
        cell[q] = c;
    }
    memcpy(h, next, (size_t) hidden * sizeof *h);
}

static void naive_step(const struct net *n, int d, int64_t t, int64_t b, double *h, double *c)
{
    double next[HIDDEN_MAX];
    if (n->cell == GRU) {
        gru_step(n, d, t, b, h);
    } else if (n->cell == LSTM) {
        lstm_step(n, d, t, b, h, c);
    } else {
        for (int64_t i = 0; i < hidden; i++)
            next[i] = act(n, d, 0, clipped(n, both(n, d, i, t, b, h)));
        memcpy(h, next, (size_t) hidden * sizeof *h);
    }
}

static void naive(const struct net *n, struct result *ret)
{
    int dirs = n->direction == 2 ? 2 : 1;
    memset(ret, 0, sizeof *ret);
    for (int d = 0; d < dirs; d++)
        for (int64_t b = 0; b < n->batch; b++) {
            int64_t at = (n->layout ? b * dirs + d : d * n->batch + b) * hidden;
            int64_t len = n->in[4] ? ((const int32_t *) n->in[4]->data)[b] : n->steps;
            double h[HIDDEN_MAX], c[HIDDEN_MAX];
            for (int64_t i = 0; i < hidden; i++) {
                h[i] = item(n, 5, at + i);
                c[i] = item(n, 6, at + i);
            }
            for (int64_t k = 0; k < len; k++) {
                int64_t t = n->direction == 1 || d == 1 ? len - 1 - k : k;
                int64_t y =
                    n->layout ? (b * n->steps + t) * dirs + d : (t * dirs + d) * n->batch + b;
                naive_step(n, d, t, b, h, c);
                memcpy(ret->y + y * hidden, h, (size_t) hidden * sizeof *h);
            }
            memcpy(ret->h + at, h, (size_t) hidden * sizeof *h);
            memcpy(ret->c + at, c, (size_t) hidden * sizeof *c);
        }
}

/* ---- runs ---- */

static void net_fill(struct ops_test *t, struct net *n)
{
    int64_t dirs = n->direction == 2 ? 2 : 1, rows = cells[n->cell].gates * hidden;
    int64_t x[3] = { n->layout ? n->batch : n->steps, n->layout ? n->steps : n->batch, INPUTS };
    int64_t s[3] = { n->layout ? n->batch : dirs, n->layout ? dirs : n->batch, hidden };
    int32_t lens[BATCH_MAX];
    for (int b = 0; b < n->batch; b++)
        lens[b] = (int32_t) (b == 1 ? n->steps : (n->steps + 1) / 2);
    n->in[0] = numbers(t, 3, x, 1.5f);
    n->in[1] = numbers(t, 3, I64S(dirs, rows, INPUTS), 0.6f);
    n->in[2] = numbers(t, 3, I64S(dirs, rows, hidden), 0.4f);
    n->in[3] = n->use & USE_B ? numbers(t, 2, I64S(dirs, 2 * rows), 0.4f) : NULL;
    n->in[4] = n->use & USE_LENS ? ops_tensor(t, DTYPE_I32, 1, &n->batch, lens) : NULL;
    n->in[5] = n->use & USE_H ? numbers(t, 3, s, 0.8f) : NULL;
    n->in[6] = n->cell == LSTM && n->use & USE_C ? numbers(t, 3, s, 0.8f) : NULL;
    n->in[7] =
        n->cell == LSTM && n->use & USE_P ? numbers(t, 2, I64S(dirs, 3 * hidden), 0.7f) : NULL;
}

static bool net_run(struct ops_test *t, const struct net *n, unsigned n_out)
{
    int n_acts = cells[n->cell].n_acts * (n->direction == 2 ? 2 : 1);
    float alpha[6], beta[6];
    for (int i = 0; i < 6; i++) {
        alpha[i] = n->alpha;
        beta[i] = n->beta;
    }
    struct attr a[10] = {
        ONE_INT("hidden_size", hidden),
        ONE_TEXT("direction", directions[n->direction]),
        ONE_INT("layout", n->layout),
    };
    unsigned k = 3;
    if (n->clip > 0)
        a[k++] = (struct attr) ONE_FLOAT("clip", n->clip);
    if (n->act[0])
        a[k++] = (struct attr) { .name = "activations",
                                 .kind = ATTR_STRINGS,
                                 .strings = { (uint32_t) n_acts, n->act } };
    if (n->has_params) {
        a[k++] = (struct attr) { .name = "activation_alpha",
                                 .kind = ATTR_FLOATS,
                                 .floats = { (uint32_t) n_acts, alpha } };
        a[k++] = (struct attr) { .name = "activation_beta",
                                 .kind = ATTR_FLOATS,
                                 .floats = { (uint32_t) n_acts, beta } };
    }
    if (n->cell == LSTM)
        a[k++] = (struct attr) ONE_INT("input_forget", !!(n->use & USE_FORGET));
    if (n->cell == GRU)
        a[k++] = (struct attr) ONE_INT("linear_before_reset", !!(n->use & USE_LBR));
    unsigned n_in = n->cell == LSTM ? 8 : 6;
    while (n_in > 3 && !n->in[n_in - 1])
        n_in--;
    return ops_run(t, cells[n->cell].op, a, k, n->in, n_in, n_out);
}

static bool same_bits(const struct tensor *a, const struct tensor *b)
{
    return tensor_bytes(a) == tensor_bytes(b) && !memcmp(a->data, b->data, tensor_bytes(a));
}

/* A bound that nothing reaches leaves the equations as they are, but not to the kernels of whole
 * cells. */
static void apart_check(struct ops_test *t, struct net n, unsigned n_out)
{
    const struct tensor *whole[3] = { t->out[0], t->out[1], n_out > 2 ? t->out[2] : NULL };
    bool ok = true;
    n.clip = 1e30f;
    if (!net_run(t, &n, n_out))
        return;
    for (unsigned o = 0; o < n_out; o++)
        ok &= same_bits(whole[o], t->out[o]);
    ops_check(t, ok, "whole cells give other bits than their operations one by one");
}

/* Against the equations, then operation by operation, then with run-time weights and with fewer
 * outputs: the same bits. */
static void net_check(struct ops_test *t, struct net *n)
{
    static struct result want;
    int64_t dirs = n->direction == 2 ? 2 : 1;
    unsigned n_out = n->cell == LSTM ? 3 : 2;
    char what[200];
    snprintf(what, sizeof what, "%s %s batch %d steps %d layout %d clip %g use %d act %s",
             cells[n->cell].op, directions[n->direction], (int) n->batch, (int) n->steps,
             (int) n->layout, (double) n->clip, n->use, n->act[0] ? n->act[0] : "-");
    t->what = what;
    net_fill(t, n);
    naive(n, &want);
    t->runtime = 1;
    if (net_run(t, n, n_out)) {
        const struct tensor *y = t->out[0];
        ops_shape_is(t, 0, DTYPE_F32, 4,
                     n->layout ? I64S(n->batch, n->steps, dirs, hidden)
                               : I64S(n->steps, dirs, n->batch, hidden));
        for (unsigned o = 1; o < n_out; o++)
            ops_shape_is(t, o, DTYPE_F32, 3,
                         n->layout ? I64S(n->batch, dirs, hidden) : I64S(dirs, n->batch, hidden));
        ops_same(t, 0, want.y, 1e-5);
        ops_same(t, 1, want.h, 1e-5);
        if (n_out > 2)
            ops_same(t, 2, want.c, 1e-5);
        if (!(n->clip > 0))
            apart_check(t, *n, n_out);
        t->runtime = 0xff;
        if (net_run(t, n, 1))
            ops_check(t, same_bits(y, t->out[0]), "run-time weights differ from constant ones");
    }
    t->what = "";
    arena_drop(&t->arena);
}

static void test_options(struct ops_test *t)
{
    static const struct {
        int use;
        float clip;
    } options[] = { { 0, 0 },
                    { USE_B, 0 },
                    { USE_H, 0 },
                    { USE_B | USE_LENS, 0 },
                    { USE_B | USE_H | USE_C, 0 },
                    { USE_B | USE_LENS | USE_H | USE_C | USE_P, 0 },
                    { USE_B | USE_H | USE_C | USE_P, 0.3f },
                    { USE_P | USE_C, 0 },
                    { USE_B | USE_FORGET | USE_LBR, 0 },
                    { USE_LBR | USE_H, 0.25f },
                    { USE_B | USE_LENS | USE_H | USE_C | USE_P | USE_FORGET | USE_LBR, 0.5f } };
    for (int cell = RNN; cell <= LSTM; cell++)
        for (int d = 0; d < 3; d++)
            for (int k = 0; k < 8; k++)
                for (size_t o = 0; o < COUNT(options); o++)
                    net_check(t,
                              &(struct net) { .cell = cell,
                                              .direction = d,
                                              .batch = k & 1 ? 3 : 1,
                                              .steps = k & 2 ? 7 : 1,
                                              .layout = k >> 2,
                                              .use = options[o].use,
                                              .clip = options[o].clip });
}

static void test_activations(struct ops_test *t)
{
    for (int cell = RNN; cell <= LSTM; cell++)
        for (size_t k = 0; k < COUNT(act_defaults); k++)
            for (int params = 0; params < 2; params++) {
                struct net n = { .cell = cell,
                                 .direction = 2,
                                 .batch = 3,
                                 .steps = 4,
                                 .use = USE_B | USE_H | USE_C,
                                 .has_params = params,
                                 .alpha = 0.3f,
                                 .beta = 0.7f };
                for (int i = 0; i < 6;
                     i++) /* others between, so that lists of parameters are consumed in order */
                    n.act[i] = i % 2 ? "tanh" : act_defaults[k].name;
                net_check(t, &n);
            }
}

/* Each step by itself, the state carried, gives the bits of the whole. */
static void carry_check(struct ops_test *t, int cell, int use)
{
    struct net n = { .cell = cell, .batch = 3, .steps = 7, .use = use | USE_H | USE_C }, one;
    unsigned n_out = cell == LSTM ? 3 : 2;
    t->what = cells[cell].op;
    net_fill(t, &n);
    t->runtime = 1;
    if (!net_run(t, &n, n_out))
        return;
    const struct tensor *whole[3] = { t->out[0], t->out[1], n_out > 2 ? t->out[2] : NULL };
    one = n;
    one.steps = 1;
    for (int64_t i = 0; i < n.steps; i++) {
        one.in[0] =
            ops_f32(t, 3, I64S(1, 3, INPUTS), (const float *) n.in[0]->data + i * 3 * INPUTS);
        t->runtime = 0x61;
        if (!net_run(t, &one, n_out))
            return;
        ops_check(t,
                  !memcmp(t->out[0]->data, (const float *) whole[0]->data + i * 3 * hidden,
                          (size_t) (3 * hidden) * sizeof(float)),
                  "step %d differs", (int) i);
        one.in[5] = t->out[1];
        one.in[6] = n_out > 2 ? t->out[2] : NULL;
    }
    ops_check(t, same_bits(one.in[5], whole[1]) && (n_out < 3 || same_bits(one.in[6], whole[2])),
              "last state differs");
    arena_drop(&t->arena);
}

static void test_carry(struct ops_test *t)
{
    for (int cell = RNN; cell <= LSTM; cell++)
        for (int use = 0; use < 128; use += USE_P)
            carry_check(t, cell, use | USE_B);
}

static void test_refusals(struct ops_test *t)
{
    static const char *const bad[] = { "Swish", "Tanh", "Tanh" };
    static const char *const sideways[] = { "sideways" };
    const struct {
        struct attr a;
        const char *words;
    } rows[] = {
        { { .name = "activations", .kind = ATTR_STRINGS, .strings = { 3, bad } }, "Swish" },
        { ONE_INT("hidden_size", hidden + 1), "hidden_size" },
        { ONE_INT("layout", 2), "layout" },
        { { .name = "direction", .kind = ATTR_STRINGS, .strings = { 1, sideways } }, "sideways" },
    };
    static const char *const words[] = { "rank 3",        "W [",       "R",         "B [",
                                         "sequence_lens", "initial_h", "initial_c", "P [" };
    for (int cell = RNN; cell <= LSTM; cell++) {
        struct net n = { .cell = cell, .batch = 3, .steps = 2, .use = 31 };
        net_fill(t, &n);
        unsigned n_in = cell == LSTM ? 8 : 6;
        for (size_t i = 0; i < COUNT(rows); i++)
            ops_refused(t, cells[cell].op, &rows[i].a, 1, n.in, n_in, 1, rows[i].words);
        for (unsigned i = 0; i < n_in; i++) {
            const struct tensor *keep = n.in[i];
            n.in[i] = ops_f32(t, 2, I64S(2, 11), NULL);
            ops_refused(t, cells[cell].op, NULL, 0, n.in, n_in, 1, words[i]);
            n.in[i] = keep;
        }
    }
    arena_drop(&t->arena);
}

/* ---- steps that are skipped ---- */

static struct attr hidden_attr(void)
{
    return (struct attr) ONE_INT("hidden_size", hidden);
}

/* The op with `skip` behind its standard inputs. */
static bool skip_run(struct ops_test *t, const struct net *n, int64_t skip)
{
    const struct attr a[] = { hidden_attr(), ONE_INT("layout", n->layout) };
    const struct tensor *in[9] = { NULL };
    unsigned at = n->cell == LSTM ? 8 : 6;
    memcpy(in, n->in, at * sizeof *in);
    in[at] = ops_tensor(t, DTYPE_I64, 0, NULL, &skip);
    t->made = true;
    bool ok = ops_run(t, cells[n->cell].op, a, 2, in, at + 1, n->cell == LSTM ? 3 : 2);
    t->made = false;
    return ok;
}

/* Steps of X from `from` on. */
static const struct tensor *steps_from(struct ops_test *t, const struct net *n, int64_t from)
{
    int64_t left = n->steps - from, outer = n->layout ? n->batch : 1,
            row = INPUTS * (n->layout ? 1 : n->batch);
    struct tensor *x =
        ops_f32(t, 3, I64S(n->layout ? n->batch : left, n->layout ? left : n->batch, INPUTS), NULL);
    for (int64_t o = 0; o < outer && left; o++)
        memcpy((float *) x->data + o * left * row,
               (const float *) n->in[0]->data + (o * n->steps + from) * row,
               (size_t) (left * row) * sizeof(float));
    return x;
}

/* y of all steps: zeros, then those of the steps that ran. */
static bool skipped_same(const struct net *n, int64_t skip, const struct tensor *all,
                         const struct tensor *rest)
{
    static const float zeros[BATCH_MAX * HIDDEN_MAX];
    int64_t left = n->steps - skip, outer = n->layout ? n->batch : 1,
            row = hidden * (n->layout ? 1 : n->batch);
    bool ok = true;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n->steps; i++) {
            const float *got = (const float *) all->data + (o * n->steps + i) * row;
            const float *want =
                i < skip ? zeros : (const float *) rest->data + (o * left + i - skip) * row;
            ok &= !memcmp(got, want, (size_t) row * sizeof *got);
        }
    return ok;
}

static void skip_check(struct ops_test *t, struct net *n, int64_t skip)
{
    int64_t clamped = skip < 0 ? 0 : skip > n->steps ? n->steps : skip;
    unsigned n_out = n->cell == LSTM ? 3 : 2;
    struct net rest = *n;
    rest.steps -= clamped;
    rest.in[0] = steps_from(t, n, clamped);
    if (!skip_run(t, n, skip))
        return;
    const struct tensor *all[3] = { t->out[0], t->out[1], n_out > 2 ? t->out[2] : NULL };
    if (rest.steps && net_run(t, &rest, n_out)) {
        bool ok = skipped_same(n, clamped, all[0], t->out[0]);
        for (unsigned o = 1; o < n_out; o++)
            ok &= same_bits(all[o], t->out[o]);
        ops_check(t, ok,
                  "%d steps of %d skipped, batch %d, layout %d: other bits than the rest alone",
                  (int) skip, (int) n->steps, (int) n->batch, (int) n->layout);
    } else if (!rest.steps) {
        ops_check(t,
                  skipped_same(n, clamped, all[0], all[0]) && same_bits(all[1], n->in[5]) &&
                      (n_out < 3 || same_bits(all[2], n->in[6])),
                  "all %d steps skipped: states moved", (int) n->steps);
    }
}

static void test_skip(struct ops_test *t)
{
    for (int cell = RNN; cell <= LSTM; cell++)
        for (int k = 0; k < 4; k++)
            for (int64_t steps = 1; steps <= 5; steps++)
                for (int64_t skip = -1; skip <= steps + 1; skip++) {
                    struct net n = { .cell = cell,
                                     .batch = k & 1 ? 3 : 1,
                                     .steps = steps,
                                     .layout = k >> 1,
                                     .use = USE_B | USE_H | USE_C | (skip & 1 ? USE_P : 0) };
                    t->what = cells[cell].op;
                    t->runtime = 0x1f1;
                    net_fill(t, &n);
                    skip_check(t, &n, skip);
                    arena_drop(&t->arena);
                }
}

static void test_skip_refusals(struct ops_test *t)
{
    t->runtime = 0;
    for (int cell = RNN; cell <= LSTM; cell++) {
        struct net n = { .cell = cell, .batch = 3, .steps = 2, .use = 31 };
        unsigned at = cell == LSTM ? 8 : 6;
        const struct tensor *in[9];
        int64_t one = 1;
        net_fill(t, &n);
        memcpy(in, n.in, at * sizeof *in);
        in[at] = ops_tensor(t, DTYPE_I64, 0, NULL, &one);
        ops_refused(t, cells[cell].op, NULL, 0, in, at + 1, 1, "inputs, wants 3 to");
        t->made = true;
        for (int d = 1; d < 3; d++) {
            n.direction = d;
            net_fill(t, &n);
            memcpy(in, n.in, at * sizeof *in);
            ops_refused(t, cells[cell].op, &(struct attr) ONE_TEXT("direction", directions[d]), 1,
                        in, at + 1, 1, "forward");
        }
        n.direction = 0;
        net_fill(t, &n);
        memcpy(in, n.in, at * sizeof *in);
        in[at] = ops_tensor(t, DTYPE_F32, 0, NULL, NULL);
        ops_refused(t, cells[cell].op, NULL, 0, in, at + 1, 1, "skip wants");
        t->made = false;
        arena_drop(&t->arena);
    }
}

/* ---- sizes that are symbols while the graph is typed ---- */

/* Exact blocks of memory, so that a read past an input is seen where addresses are checked. */
static void late_eval(struct ops_test *t, const struct ops_state *s, const struct prep *p)
{
    void *x[8] = { NULL }, *y[3] = { NULL }, *scratch = malloc(p->scratch_bytes + 1);
    for (unsigned i = 0; i < p->n_in; i++)
        x[i] = s->in[i] ? calloc(1, tensor_bytes(s->in[i])) : NULL;
    for (unsigned i = 0; i < p->n_out; i++)
        y[i] = malloc(tensor_bytes(s->out[i]) + 1);
    struct eval e = { .node = s->node,
                      .attr = p->attr,
                      .kern = &t->kern,
                      .n_in = p->n_in,
                      .n_out = p->n_out,
                      .in = s->in,
                      .out = s->out,
                      .x = (const void **) x,
                      .y = y,
                      .scratch = scratch,
                      .args = p->args,
                      .fault = &t->fault };
    s->node->op->eval(&e);
    for (unsigned i = 0; i < 8; i++)
        free(x[i]);
    for (unsigned i = 0; i < 3; i++)
        free(y[i]);
    free(scratch);
}

/* Types the op with one axis of one input a symbol, then prepares it where that axis has `more`
 * than it should. */
static rill_status late_try(struct ops_test *t, const struct net *n, unsigned input, int axis,
                            int more)
{
    struct ops_state *s = arena_new(&t->arena, struct ops_state);
    unsigned n_in = n->cell == LSTM ? 8 : 6, n_out = n->cell == LSTM ? 3 : 2;
    struct attr own = hidden_attr();
    t->err = (rill_error) { 0 };
    t->runtime = 0xff;
    TRY(ops_build(t, s, cells[n->cell].op, &own, 1, n->in, n_in, n_out));
    struct fact *f = arena_copy(&t->arena, s->facts[input], sizeof *f);
    f->shape[axis] = dim_symbol(t->dims, "N");
    s->facts[input] = f;
    TRY(ops_infer(t, s));
    s->desc[input].dim[axis] += more;
    struct prep p = ops_prep(t, s);
    TRY(s->node->op->prepare(&p));
    late_eval(t, s, &p);
    return RILL_OK;
}

static void test_late_sizes(struct ops_test *t)
{
    static const char *const names[] = { "X",         "W",         "R", "B", "sequence_lens",
                                         "initial_h", "initial_c", "P" };
    for (int cell = RNN; cell <= LSTM; cell++) {
        struct net n = { .cell = cell, .batch = 3, .steps = 2, .use = 31 };
        net_fill(t, &n);
        for (unsigned input = 1; input < (cell == LSTM ? 8u : 6u); input++)
            for (int axis = 0; axis < n.in[input]->rank - (input == 2); axis++)
                for (int more = -1; more <= 1; more++) {
                    rill_status st = late_try(t, &n, input, axis, more);
                    bool ok = more
                        ? st != RILL_OK && st != RILL_INTERNAL && strstr(t->err.text, names[input])
                        : st == RILL_OK;
                    ops_check(t, ok, "%s: axis %d of %s is %d more than fits: '%s'", cells[cell].op,
                              axis, names[input], more, st == RILL_OK ? "ok" : t->err.text);
                }
        arena_drop(&t->arena);
    }
}

/* ---- activations alone ---- */

#define ACT_N 1100 /* more than two blocks of a program */

/* What the function of that number in act_defaults is of one element, rounded as it is written. */
static float act_alone(const struct kern *k, size_t which, float a, float b, float v)
{
    float e = -fabsf(v);
    switch (which) {
    case 3: return v / (1 + fabsf(v));
    case 4:
        k->exp_f32(&e, &e, 1);
        e += 1;
        k->log_f32(&e, &e, 1);
        return (v > 0 ? v : 0) + e;
    case 5: return v < 0 ? a * v : v;
    case 6: return v >= a ? v : 0;
    case 7: k->exp_f32(&e, &v, 1); return v < 0 ? a * (e - 1) : v;
    case 8: return a * v + b;
    case 9:
        e = v * b;
        k->tanh_f32(&e, &e, 1);
        return e * a;
    default: return fminf(fmaxf(a * v + b, 0), 1);
    }
}

/* Bits from all over the range, also in place; one NaN is as good as another. */
static void test_act_bits(struct ops_test *t)
{
    static float x[ACT_N], y[ACT_N], in_place[ACT_N];
    uint32_t bits = 0;
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < ACT_N; i++, bits += 97661)
            memcpy(&x[i], &bits, sizeof bits);
        for (size_t f = 3; f < COUNT(act_defaults); f++) {
            struct rnn_act act;
            bool has[2];
            if (!rnn_act_find(act_defaults[f].name, &act, &has[0], &has[1]))
                continue;
            memcpy(in_place, x, sizeof x);
            rnn_act_run(&act, &t->kern, y, x, ACT_N);
            rnn_act_run(&act, &t->kern, in_place, in_place, ACT_N);
            unsigned other = 0;
            for (int i = 0; i < ACT_N; i++) {
                float want = act_alone(&t->kern, f, act.alpha, act.beta, x[i]);
                bool nan = isnan(want) && isnan(y[i]) && isnan(in_place[i]);
                other += !nan &&
                    (memcmp(&want, &y[i], sizeof want) || memcmp(&want, &in_place[i], sizeof want));
            }
            ops_check(t, !other, "%s gives other bits for %u numbers", act_defaults[f].name, other);
        }
    }
}

/* ---- epilogues ---- */

static void test_epilogues(struct ops_test *t)
{
    for (int i = 0; i < 60; i++) {
        struct net n = { .cell = i % 3, .direction = i % 2 * 2, .batch = 1 + i % 2, .steps = 4 };
        const struct tensor *in[EPILOGUE_TEST_IN] = { NULL };
        struct attr a[4] = {
            hidden_attr(),
            { .name = "direction",
              .kind = ATTR_STRINGS,
              .strings = { 1, &directions[n.direction] } },
            { .name = "clip", .kind = ATTR_FLOAT, .f = 9 },
        };
        net_fill(t, &n);
        memcpy(in, n.in, 3 * sizeof *in);
        t->runtime = 1;
        epilogue_check(t, &seed, cells[n.cell].op, a, i % 4 ? 2 : 3, in, 3);
    }
}

int main(void)
{
    static const int64_t sizes[] = { 6, 16, HIDDEN_MAX };
    struct ops_test t = ops_begin();
    for (size_t i = 0; i < COUNT(sizes); i++) {
        hidden = sizes[i];
        test_options(&t);
        test_carry(&t);
        test_skip(&t);
        if (hidden != 16)
            test_late_sizes(&t);
    }
    hidden = sizes[0];
    test_epilogues(&t);
    test_activations(&t);
    test_act_bits(&t);
    test_refusals(&t);
    test_skip_refusals(&t);
    return ops_end(&t);
}
