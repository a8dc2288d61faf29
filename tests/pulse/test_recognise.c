/* SPDX-License-Identifier: MIT */
/* Patterns that passes turn into one op: found where they are, left alone where they only look like
 * it, and what comes out stays within 1e-5 of what was written, whole and streamed. */
#include "engine/graph/bodies.h"
#include "engine/graph/prune.h"
#include "engine/rewrite/declutter/passes.h"
#include "tests/pulse/oracle.h"
#include "tests/pulse/scan_cells.h"

#include <string.h>

typedef rill_status pass_fn(struct graph *ret, const struct graph *g, rill_error *reterr);

struct pattern {
    const char *name;
    gb_recipe *recipe;
    const void *ctx;
    const char *op;
    unsigned before, after; /* of that op */
    bool same_bits;
};

/* ---- layer norms ---- */

struct norm {
    int rank, last; /* axes normalised, from the end */
    bool pow, twice, reciprocal, gain, shift;
    int odd; /* 1: means over different axes; 2: a gain of another shape; 3: epsilon per row; 4: the
              * mean of something else; 5: epsilon with one axis more */
};

static uint32_t norm_axes(struct gb *b, int n)
{
    return n == 1 ? gb_ints(b, -1) : gb_ints(b, -2, -1);
}

static uint32_t norm_weights(struct gb *b, int last, bool odd)
{
    return last == 1 || odd ? gb_weights(b, 1, 6) : gb_weights(b, 2, 5, 6);
}

static void norm_recipe(struct gb *b, const void *ctx)
{
    const struct norm *t = ctx;
    uint32_t x =
        t->rank == 3 ? gb_input(b, "x", 3, 1, GB_TIME, 6) : gb_input(b, "x", 4, 1, GB_TIME, 5, 6);
    uint32_t other = t->odd == 4 ? GB(b, "Tanh", "", x) : x;
    uint32_t mean =
        GB(b, "ReduceMean", "keepdims=1", other, norm_axes(b, t->odd == 1 ? 3 - t->last : t->last));
    uint32_t d = GB(b, "Sub", "", x, mean), d2 = t->twice ? GB(b, "Sub", "", x, mean) : d;
    uint32_t square = t->pow ? GB(b, "Pow", "", d2, gb_scalar(b, 2)) : GB(b, "Mul", "", d2, d2);
    uint32_t var = GB(b, "ReduceMean", "keepdims=1", square, norm_axes(b, t->last));
    uint32_t eps = t->odd == 3 ? gb_weights(b, 1, 6)
        : t->odd == 5          ? GB(b, "Abs", "", gb_weights(b, 4, 1, 1, 1, 1))
                               : gb_scalar(b, 1e-3f);
    uint32_t root = GB(b, "Sqrt", "", GB(b, "Add", "", t->pow ? eps : var, t->pow ? var : eps));
    uint32_t y = t->reciprocal ? GB(b, "Mul", "", GB(b, "Reciprocal", "", root), d)
                               : GB(b, "Div", "", d, root);
    if (t->gain)
        y = GB(b, "Mul", "", y, norm_weights(b, t->last, t->odd == 2));
    if (t->shift)
        y = GB(b, "Add", "", norm_weights(b, t->last, false), y);
    gb_output(b, y);
}

#define NORM(...) norm_recipe, &(const struct norm) { __VA_ARGS__ }, "LayerNormalization"

/* ---- softplus ---- */

struct soft {
    bool turned;
    int odd; /* 1: another number than 0; 2: of another wire; 3: somebody else reads the magnitude
              */
};

/* max(0, x) + log(1 + e^-|0 - x|), of numbers that are no number too. */
static void soft_recipe(struct gb *b, const void *ctx)
{
    const struct soft *t = ctx;
    uint32_t x = GB(b, "Mul", "", gb_input(b, "x", 3, 1, GB_TIME, 6), gb_scalar(b, 20)),
             zeros = t->turned ? gb_scalar(b, 0) : gb_full(b, 0, 3, 1, 1, 6),
             other = t->odd == 2 ? GB(b, "Tanh", "", x) : x,
             magnitude =
                 GB(b, "Abs", "",
                    t->turned ? GB(b, "Sub", "", other, zeros) : GB(b, "Sub", "", zeros, other)),
             exp = GB(b, "Exp", "", GB(b, "Neg", "", magnitude)),
             log = GB(b, "Log", "",
                      t->turned ? GB(b, "Add", "", exp, gb_scalar(b, 1))
                                : GB(b, "Add", "", gb_scalar(b, 1), exp)),
             max = t->odd == 1 ? GB(b, "Max", "", gb_scalar(b, 0.5f), x)
        : t->turned            ? GB(b, "Max", "", x, zeros)
                               : GB(b, "Max", "", zeros, x);
    gb_output(b, t->turned ? GB(b, "Add", "", log, max) : GB(b, "Add", "", max, log));
    if (t->odd == 3)
        gb_output(b, magnitude);
}

#define SOFT(...) soft_recipe, &(const struct soft) { __VA_ARGS__ }, "PRelu"

/* ---- recurrent cells ---- */

enum { ODD_NONE, ODD_GATE, ODD_WIDTH, ODD_WEIGHTS, ODD_TWICE, ODD_SIGN, ODD_OTHER };

struct cell_step {
    bool gru, gemm, turned, own_bias, between;
    int odd;
};

/* [1, wide] times weights, in one of the ways of exporters. */
static uint32_t product(struct gb *b, const struct cell_step *t, uint32_t x, int from, int to)
{
    if (t->gemm)
        return GB(b, "Gemm", "transB=1", x, gb_weights(b, 2, to, from), gb_weights(b, 1, to));
    return GB(b, "MatMul", "", x, gb_weights(b, 2, from, to));
}

static struct node *parts(struct gb *b, uint32_t x, unsigned n)
{
    const int64_t sizes[4] = { 8, 8, 8, 8 };
    return gb_node(b, "Split", "axis=-1", (uint32_t[]) { x, gb_ints_of(b, n, sizes) }, 2, n);
}

static void lstm_step(struct gb *b, const struct cell_step *t, uint32_t x, uint32_t h, uint32_t c)
{
    uint32_t w = product(b, t, x, 5, 32),
             r = t->odd == ODD_WEIGHTS
        ? GB(b, "MatMul", "", h, GB(b, "Expand", "", gb_slice(b, c, 1, 0, 1, 1), gb_ints(b, 8, 32)))
        : product(b, t, h, 8, 32);
    uint32_t sum = t->turned ? GB(b, "Add", "", r, w) : GB(b, "Add", "", w, r);
    if (t->own_bias)
        sum = GB(b, "Add", "", sum, gb_weights(b, 1, 32));
    if (t->odd == ODD_TWICE)
        sum = GB(b, "Add", "", sum, product(b, t, x, 5, 32));
    struct node *g = parts(b, sum, 4);
    if (!g)
        return;
    uint32_t f = GB(b, "Sigmoid", "", g->out[1]),
             i = GB(b, t->odd == ODD_GATE ? "HardSigmoid" : "Sigmoid", "", g->out[0]);
    uint32_t n = GB(b, "Tanh", "", g->out[t->odd == ODD_WIDTH ? 1 : 2]),
             o = GB(b, "Sigmoid", "", g->out[3]);
    uint32_t keep = GB(b, "Mul", "", t->turned ? c : f, t->turned ? f : c),
             add = GB(b, "Mul", "", t->turned ? n : i, t->turned ? i : n);
    uint32_t next = GB(b, "Add", "", t->turned ? add : keep, t->turned ? keep : add),
             y = GB(b, "Tanh", "", next);
    gb_output(b, GB(b, "Mul", "", t->turned ? y : o, t->turned ? o : y));
    gb_output(b, next);
}

/* n + z * (h - n), as torch's exporter writes a cell. */
static uint32_t gru_between(struct gb *b, const struct cell_step *t, uint32_t z, uint32_t n,
                            uint32_t h)
{
    uint32_t m = t->odd == ODD_OTHER ? GB(b, "Tanh", "", h) : n;
    uint32_t d = t->odd == ODD_SIGN ? GB(b, "Sub", "", n, h) : GB(b, "Sub", "", h, m);
    uint32_t zd = t->turned ? GB(b, "Mul", "", d, z) : GB(b, "Mul", "", z, d);
    return t->turned ? GB(b, "Add", "", zd, n) : GB(b, "Add", "", n, zd);
}

static void gru_step(struct gb *b, const struct cell_step *t, uint32_t x, uint32_t h)
{
    uint32_t w = product(b, t, x, 5, 24), r = product(b, t, h, 8, 24),
             one = gb_scalar(b, t->odd == ODD_GATE ? 2 : 1);
    struct node *gx = parts(b, w, 3), *gr = parts(b, r, 3);
    if (!gx || !gr)
        return;
    uint32_t reset = GB(b, "Sigmoid", "", GB(b, "Add", "", gx->out[0], gr->out[0]));
    uint32_t z = GB(b, "Sigmoid", "",
                    GB(b, "Add", "", t->turned ? gr->out[1] : gx->out[1],
                       t->turned ? gx->out[1] : gr->out[1]));
    uint32_t rn =
        t->turned ? GB(b, "Mul", "", gr->out[2], reset) : GB(b, "Mul", "", reset, gr->out[2]);
    uint32_t n =
        GB(b, "Tanh", "",
           t->turned ? GB(b, "Add", "", rn, gx->out[2]) : GB(b, "Add", "", gx->out[2], rn));
    if (t->between) {
        gb_output(b, gru_between(b, t, z, n, h));
        return;
    }
    uint32_t fresh = GB(b, "Mul", "", GB(b, "Sub", "", one, z), n), keep = GB(b, "Mul", "", h, z);
    gb_output(b, t->turned ? GB(b, "Add", "", keep, fresh) : GB(b, "Add", "", fresh, keep));
}

/* One step; what it reads streams only as frames of one, which nothing in it mixes. */
static void step_recipe(struct gb *b, const void *ctx)
{
    const struct cell_step *t = ctx;
    uint32_t x = gb_input(b, "x", 2, 1, 5), h = gb_input(b, "h", 2, 1, 8);
    if (t->gru)
        gru_step(b, t, x, h);
    else
        lstm_step(b, t, x, h, gb_input(b, "c", 2, 1, 8));
}

/* clang-format off */
#define STEP(...)  step_recipe, &(const struct cell_step) { __VA_ARGS__ }
#define LAYER(...) scan_layer_recipe, &(const struct scan_layer) { __VA_ARGS__ }
/* clang-format on */

/* ---- nearest resizing as gathered frames ---- */

/* num frames for den, at (i + middle) * scale, or at quotients that are at most the last. */
struct nearest {
    int num, den;
    enum { BY_NUMBER, BY_LENGTHS, BY_QUOTIENTS } how;
    bool middle;
    float off;        /* what the scale is more than it should be */
    int more;         /* frames that are gathered more than there are */
    int64_t mul, div; /* of the quotients, where they are not den and num */
};

static uint32_t nearest_scale(struct gb *b, const struct nearest *c, uint32_t length)
{
    if (c->how == BY_NUMBER)
        return gb_scalar(b, (float) ((double) c->den / c->num) + c->off);
    const float times = (float) c->num / (float) c->den;
    uint32_t n = GB(b, "Cast", "to=1", length);
    return GB(b, "Div", "", n, GB(b, "Mul", "", n, gb_scalar(b, times + c->off)));
}

static void nearest_recipe(struct gb *b, const void *ctx)
{
    const struct nearest *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 3);
    uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", x), gb_int(b, 1));
    uint32_t to = GB(b, "Div", "", GB(b, "Mul", "", n, gb_int(b, c->num)), gb_int(b, c->den));
    uint32_t i =
        GB(b, "Range", "", gb_int(b, 0), GB(b, "Add", "", to, gb_int(b, c->more)), gb_int(b, 1));
    if (c->how == BY_QUOTIENTS) {
        i = GB(b, "Mul", "", i, gb_int(b, c->mul ? c->mul : c->den));
        i = GB(b, "Div", "", i, gb_int(b, c->div ? c->div : c->num));
        i = GB(b, "Min", "", i, GB(b, "Sub", "", n, gb_int(b, 1)));
    } else {
        i = GB(b, "Cast", "to=1", i);
        i = c->middle ? GB(b, "Add", "", i, gb_scalar(b, 0.5f)) : i;
        i = GB(b, "Cast", "to=8", GB(b, "Mul", "", i, nearest_scale(b, c, n)));
    }
    gb_output(b, GB(b, "Gather", "axis=1", x, i));
}

/* ---- nan_to_num ---- */

/* Of a softmax, or of what may be infinite; through f64, as PyTorch's first exporter writes it. */
struct numbers {
    bool wide, open;
};

static uint32_t infinite_to(struct gb *b, const struct numbers *c, uint32_t x, const char *side,
                            float to)
{
    uint32_t wide = c->wide ? GB(b, "Cast", gb_printf(b, "to=%d", DTYPE_F64), x) : x;
    uint32_t one = GB(b, side, "", x, gb_scalar(b, 0)), inf = GB(b, "IsInf", "", wide);
    return GB(b, "Where", "", GB(b, "And", "", one, inf), gb_scalar(b, to), x);
}

static void numbers_recipe(struct gb *b, const void *ctx)
{
    const struct numbers *c = ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, 6);
    x = c->open ? GB(b, "Exp", "", x) : GB(b, "Softmax", "axis=-1", x);
    x = GB(b, "Where", "", GB(b, "IsNaN", "", x), gb_scalar(b, 0), x);
    x = infinite_to(b, c, x, "Less", -3.4e38F);
    gb_output(b, infinite_to(b, c, x, "Greater", 3.4e38F));
}

/* ---- checks ---- */

static void law_check(struct oracle *o, const struct pattern *p)
{
    static const int64_t pulses[] = { 1, 4, -1 }, lengths[] = { 1, 6, 13, -1 };
    oracle_check(oracle_laws(o, p->name, pulses, lengths) == 6, "%s", p->name);
}

/* A graph without time: one run. */
static void run_check(struct oracle *o, const struct pattern *p)
{
    o->model->stream = NULL;
    bool ok = oracle_pulse(o, 0) == LAW_HOLDS;
    oracle_check(ok, "%s: %s", p->name, o->err.text);
    for (uint32_t seed = 1; ok && seed < 6; seed++)
        oracle_check(oracle_law(o, 1, seed) == LAW_HOLDS, "%s: %s", p->name, o->err.text);
}

static bool has_time(const struct oracle *o)
{
    const struct graph *g = &o->model->decluttered.g;
    bool time = false;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        for (int k = 0; k < g->wires[g->inputs[i]].fact.rank; k++)
            time |= dim_has_symbol(g->wires[g->inputs[i]].fact.shape[k]);
    return time;
}

static void pattern_check(const struct pattern *p, pass_fn *pass)
{
    struct oracle o;
    struct graph made, *g;
    bool ok = oracle_open(&o, p->recipe, p->ctx, NULL) == LAW_HOLDS;
    g = &o.model->decluttered.g;
    oracle_check(!ok || graph_count_op(g, p->op) == p->before, "%s: there are %u %s before",
                 p->name, graph_count_op(g, p->op), p->op);
    ok = ok && pass(&made, g, &o.err) == RILL_OK && graph_pruned(g, &made, &o.err) == RILL_OK &&
        graph_check(g, &o.err) == RILL_OK && graph_check_bodies(g, NULL, NULL, &o.err) == RILL_OK;
    oracle_check(ok, "%s: %s", p->name, o.err.text);
    oracle_check(!ok || graph_count_op(g, p->op) == p->after, "%s: there are %u %s, not %u",
                 p->name, graph_count_op(g, p->op), p->op, p->after);
    o.tolerance = p->same_bits ? 0 : 1e-5f;
    if (ok)
        (has_time(&o) ? law_check : run_check)(&o, p);
    oracle_close(&o);
}

static const struct pattern norms[] = {
    { "as DTLN", NORM(.rank = 3, .last = 1, .twice = true, .gain = true, .shift = true), 0, 1,
      false },
    { "as GTCRN", NORM(.rank = 4, .last = 2, .pow = true, .gain = true, .shift = true), 0, 1,
      false },
    { "with a reciprocal", NORM(.rank = 4, .last = 1, .reciprocal = true, .gain = true), 0, 1,
      false },
    { "alone", NORM(.rank = 4, .last = 2), 0, 1, false },
    { "shift alone", NORM(.rank = 3, .last = 1, .shift = true), 0, 1, false },
    { "a gain that does not fit", NORM(.rank = 4, .last = 2, .gain = true, .odd = 2), 0, 1, false },
    { "means over different axes", NORM(.rank = 4, .last = 1, .gain = true, .odd = 1), 0, 0, true },
    { "epsilons", NORM(.rank = 4, .last = 1, .odd = 3), 0, 0, true },
    { "an axis more", NORM(.rank = 3, .last = 1, .gain = true, .odd = 5), 0, 0, true },
    { "another mean", NORM(.rank = 4, .last = 1, .odd = 4), 0, 0, true },
};

static const struct pattern softs[] = {
    { "softplus", SOFT(.turned = false), 0, 1, true },
    { "softplus, turned", SOFT(.turned = true), 0, 1, true },
    { "another maximum", SOFT(.odd = 1), 0, 0, true },
    { "of two wires", SOFT(.odd = 2), 0, 0, true },
    { "a magnitude that is read", SOFT(.odd = 3), 0, 0, true },
};

#define T GB_TIME

static const struct pattern cells[] = {
    { "an LSTM step as DTLN", STEP(.own_bias = true), "LSTM", 0, 1, false },
    { "an LSTM step as Silero", STEP(.gemm = true), "LSTM", 0, 1, false },
    { "an LSTM step, all turned", STEP(.turned = true, .own_bias = true), "LSTM", 0, 1, false },
    { "a GRU step", STEP(.gru = true), "GRU", 0, 1, false },
    { "a GRU step as Silero", STEP(.gru = true, .gemm = true, .turned = true), "GRU", 0, 1, false },
    { "a GRU step, between the old and the new", STEP(.gru = true, .between = true), "GRU", 0, 1,
      false },
    { "a GRU step as PyTorch", STEP(.gru = true, .gemm = true, .between = true, .turned = true),
      "GRU", 0, 1, false },
    { "away from the old", STEP(.gru = true, .between = true, .odd = ODD_SIGN), "GRU", 0, 0, true },
    { "between the old and another", STEP(.gru = true, .between = true, .odd = ODD_OTHER), "GRU", 0,
      0, true },
    { "another gate", STEP(.odd = ODD_GATE), "LSTM", 0, 0, true },
    { "a gate that is two", STEP(.odd = ODD_WIDTH), "LSTM", 0, 0, true },
    { "weights that are computed", STEP(.odd = ODD_WEIGHTS), "LSTM", 0, 0, true },
    { "three products", STEP(.odd = ODD_TWICE), "LSTM", 0, 0, true },
    { "2 - z", STEP(.gru = true, .odd = ODD_GATE), "GRU", 0, 0, true },
    { "RNN", LAYER(SCAN_RNN, 5, 7, .steps = T), "RNN", 0, 1, false },
    { "GRU", LAYER(SCAN_GRU, 5, 7, .steps = T), "GRU", 0, 1, false },
    { "LSTM", LAYER(SCAN_LSTM, 5, 7, .steps = T), "LSTM", 0, 1, false },
    { "GRU on axis 1", LAYER(SCAN_GRU, 6, 18, .steps = T, .turned = true), "GRU", 0, 1, false },
    { "LSTM on axis 1, projected", LAYER(SCAN_LSTM, 4, 5, .steps = T, .project = 4, .turned = true),
      "LSTM", 0, 1, false },
    { "two RNNs, projected", LAYER(SCAN_RNN, 6, 20, .layers = 2, .steps = T, .project = 6), "RNN",
      0, 2, false },
    { "GRU backwards", LAYER(SCAN_GRU, 5, 7, .steps = 9, .back = true), "GRU", 0, 1, false },
    { "LSTM backwards, projected", LAYER(SCAN_LSTM, 5, 7, .steps = 9, .project = 5, .back = true),
      "LSTM", 0, 1, false },
    { "GRU behind other work", LAYER(SCAN_GRU, 5, 7, .steps = 9, .extra = true), "GRU", 0, 0,
      true },
};

#define NEAREST(...) nearest_recipe, &(const struct nearest) { __VA_ARGS__ }, "Resize"

static const struct pattern resizes[] = {
    { "doubled", NEAREST(.num = 2, .den = 1), 0, 1, true },
    { "doubled about the middle", NEAREST(.num = 2, .den = 1, .how = BY_LENGTHS, .middle = true), 0,
      1, true },
    { "tripled", NEAREST(.num = 3, .den = 1), 0, 1, true },
    { "tripled about the middle", NEAREST(.num = 3, .den = 1, .how = BY_LENGTHS, .middle = true), 0,
      1, true },
    { "three of two about the middle",
      NEAREST(.num = 3, .den = 2, .how = BY_LENGTHS, .middle = true), 0, 1, true },
    { "three of two at most the last", NEAREST(.num = 3, .den = 2, .how = BY_QUOTIENTS), 0, 1,
      true },
    { "halved about the middle", NEAREST(.num = 1, .den = 2, .how = BY_LENGTHS, .middle = true), 0,
      1, true },
    { "doubled at most the last", NEAREST(.num = 2, .den = 1, .how = BY_QUOTIENTS), 0, 1, true },
};

static const struct pattern no_resizes[] = {
    { "by a factor that f32 rounds",
      NEAREST(.num = 11, .den = 10, .how = BY_LENGTHS, .middle = true), 0, 0, true },
    { "by another scale",
      NEAREST(.num = 2, .den = 1, .how = BY_NUMBER, .middle = true, .off = -0.125F), 0, 0, true },
    { "three more frames", NEAREST(.num = 2, .den = 1, .how = BY_QUOTIENTS, .more = 3), 0, 0,
      true },
    { "the least integer over -1",
      NEAREST(.num = 2, .den = 1, .how = BY_QUOTIENTS, .mul = -1, .div = INT64_MIN), 0, 0, true },
    { "a scale below the ratio", NEAREST(.num = 6, .den = 5), 0, 0, true },
};

#define NUMBERS(...) numbers_recipe, &(const struct numbers) { __VA_ARGS__ }, "IsInf"

static const struct pattern numbers[] = {
    { "numbers of a softmax", NUMBERS(.wide = false), 0, 0, true },
    { "numbers of a softmax, through f64", NUMBERS(.wide = true), 0, 0, true },
    { "numbers that may be infinite", NUMBERS(.open = true), 2, 2, true },
};

/* Other places stay gathered, whether they stream or not. */
static void gathered_check(const struct pattern *p)
{
    struct oracle o;
    struct graph made;
    const bool ok = oracle_open(&o, p->recipe, p->ctx, "S>=1") == LAW_HOLDS &&
        graph_with_nearest_recognised(&made, &o.model->decluttered.g, &o.err) == RILL_OK;
    oracle_check(ok && graph_count_op(&made, p->op) == p->after, "%s: %s", p->name, o.err.text);
    oracle_close(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof resizes / sizeof *resizes; i++)
        pattern_check(&resizes[i], graph_with_nearest_recognised);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pattern_check(&numbers[i], graph_with_peepholes);
    for (size_t i = 0; i < sizeof no_resizes / sizeof *no_resizes; i++)
        gathered_check(&no_resizes[i]);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        pattern_check(&cells[i], graph_with_cells_recognised);
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        pattern_check(&norms[i], graph_with_norms_recognised);
    for (size_t i = 0; i < sizeof softs / sizeof *softs; i++)
        pattern_check(&softs[i], graph_with_softplus_in_parts);
    return oracle_end();
}
