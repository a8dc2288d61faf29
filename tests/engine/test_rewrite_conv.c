/* SPDX-License-Identifier: MIT */
/* Passes around convolutions: Fourier transforms among them are recognised and give the same
 * numbers; ops behind them become their epilogues and give the same bits. */
#include "engine/typing/interp.h"
#include "engine/ops/epilogue.h"
#include "engine/plan/plan.h"
#include "engine/rewrite/declutter/passes.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/rewrite/settle/settle.h"
#include "kernels/fft.h"
#include "tests/engine/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a node; its fact is inferred. */
static uint32_t add(struct build *b, const char *name, const struct attr *attrs, unsigned n_attrs,
                    const uint32_t *in, unsigned n_in)
{
    uint32_t w = build_node(b, name, attrs, n_attrs, in, n_in);
    if (w == WIRE_NONE)
        abort();
    return w;
}

static struct tensor *noise(struct build *b, int rank, const int64_t *dim)
{
    struct tensor *t = tensor_new(&b->arena, DTYPE_F32, rank, dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((float *) t->data)[i] = (float) (i * 7919 % 2003) / 1001.5f - 1;
    return t;
}

static uint32_t input(struct build *b, const struct tensor *t)
{
    struct fact f;
    fact_of_tensor(&f, b->dims, t);
    f.value = NULL;
    return graph_add_input(&b->g, "x", &f);
}

static unsigned count_of(const struct graph *g, enum op_id op)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += node_is(&g->nodes[i], op);
    return n;
}

static const struct tensor *run(struct build *b, const struct graph *g,
                                const struct tensor *const *in)
{
    const struct tensor *out[2] = { NULL };
    check(interp_run(g, in, &b->arena, out, &b->err) == RILL_OK, b->err.text, 0);
    return out[0];
}

/* ---- Fourier transforms ---- */

#define POINTS 96

static struct tensor *dft_weights(struct build *b)
{
    int64_t bins = POINTS / 2 + 1, dim[] = { 2 * bins, 1, POINTS };
    struct tensor *t = tensor_new(&b->arena, DTYPE_F32, 3, dim);
    float *w = t->data;
    for (int64_t f = 0; f < bins; f++)
        for (int64_t k = 0; k < POINTS; k++) {
            double c, s, window = 0.5 - 0.5 * cos(2 * 3.14159265358979 * (double) k / POINTS);
            kern_turn((uint64_t) (f * k % POINTS), POINTS, &c, &s);
            w[f * POINTS + k] = (float) (window * c);
            w[(bins + f) * POINTS + k] = (float) (-window * s);
        }
    return t;
}

/* wrong: one weight is off; log: a logarithm takes the result. */
static void test_dft(bool wrong, bool log)
{
    struct build b;
    struct graph made;
    int64_t dim[] = { 2, 1, 500 }, step = 32;
    build_init(&b);
    const struct tensor *x = noise(&b, 3, dim);
    struct tensor *w = dft_weights(&b);
    ((float *) w->data)[POINTS * 20 + 40] += wrong ? 1e-4f : 0;
    const struct attr stride = INTS_OF("strides", 1, &step);
    uint32_t y = add(&b, "Conv", &stride, 1,
                     (uint32_t[]) { input(&b, x), graph_add_const(&b.g, "w", w) }, 2);
    y = add(&b, "Abs", NULL, 0, &y, 1);
    if (log)
        y = add(&b, "Log", NULL, 0, &y, 1);
    graph_add_output(&b.g, y);
    check(graph_with_dfts_recognised(&made, &b.g, &b.err) == RILL_OK, b.err.text, 0);
    bool kept = wrong || log;
    check(count_of(&made, OP_CONV) == kept && count_of(&made, OP_STFT) == !kept,
          "transforms are recognised, others not", 0);
    const struct tensor *want = run(&b, &b.g, &x), *got = run(&b, &made, &x);
    double worst = 0;
    for (int64_t i = 0; want && got && !log && i < tensor_count(want); i++)
        worst = fmax(worst,
                     fabs((double) ((const float *) want->data)[i] -
                          (double) ((const float *) got->data)[i]));
    check(want && got && tensor_count(want) == tensor_count(got) && worst < 2e-5,
          "an STFT gives what the weights gave", 0);
    build_drop(&b);
}

/* ---- epilogues ---- */

/* lead: whether an operand has the axis of one in front, too. */
static void test_epilogues(bool lead)
{
    struct build b;
    struct graph sloped, made;
    int64_t x_dim[] = { 1, 3, 40 }, w_dim[] = { 5, 3, 3 }, y_dim[] = { 1, 5, 38 },
            slope_dim[] = { 5, 1 };
    build_init(&b);
    const struct tensor *in[] = { noise(&b, 3, x_dim), noise(&b, 2 + lead, y_dim + !lead) };
    uint32_t x = input(&b, in[0]), more = input(&b, in[1]),
             w = graph_add_const(&b.g, "w", noise(&b, 3, w_dim));
    uint32_t slope = graph_add_const(&b.g, "s", noise(&b, 2, slope_dim));
    uint32_t a = add(&b, "Conv", NULL, 0, (uint32_t[]) { x, w }, 2),
             c = add(&b, "Conv", NULL, 0, (uint32_t[]) { x, w }, 2);
    a = add(&b, "Tanh", NULL, 0, &a, 1);
    c = add(&b, "PRelu", NULL, 0, (uint32_t[]) { c, slope }, 2);
    c = add(&b, "LeakyRelu", NULL, 0, &c, 1);
    uint32_t y = add(&b, "Mul", NULL, 0, (uint32_t[]) { a, c }, 2);
    y = add(&b, "Add", NULL, 0, (uint32_t[]) { more, y }, 2);
    graph_add_output(&b.g, y);
    check(graph_with_prelus(&sloped, &b.g, &b.err) == RILL_OK &&
              graph_with_epilogues_fused(&made, &sloped, &b.err) == RILL_OK,
          b.err.text, 0);
    check(made.n_nodes == 2 && count_of(&made, OP_CONV) == 2, "all that is element-wise has joined",
          0);
    const struct tensor *want = run(&b, &b.g, in), *got = run(&b, &made, in);
    check(want && got && !memcmp(want->data, got->data, tensor_bytes(want)),
          "epilogues give the same bits", 0);
    build_drop(&b);
}

static uint32_t number(struct build *b, double v)
{
    return build_number(b, DTYPE_F32, v);
}

/* A normalisation whose convolution is rounded before it, and that is rounded itself, is a part of
 * that convolution, slope and residual too. */
static void test_rounded_norm(bool transposed)
{
    struct build b;
    struct graph made;
    int64_t x_dim[] = { 1, 3, 40 }, w_dim[] = { 3, 3, 3 }, y_dim[] = { 1, 3, transposed ? 42 : 38 };
    build_init(&b);
    const struct tensor *in[] = { noise(&b, 3, x_dim), noise(&b, 3, y_dim) };
    uint32_t x = input(&b, in[0]), more = input(&b, in[1]), norm[5];
    for (int i = 1; i < 5; i++) {
        struct tensor *t = tensor_new(&b.arena, DTYPE_F32, 1, w_dim);
        for (int k = 0; k < 3; k++)
            ((float *) t->data)[k] = .3f + .17f * (float) (i + 2 * k);
        norm[i] = graph_add_const(&b.g, "n", t);
    }
    uint32_t y = add(&b, transposed ? "ConvTranspose" : "Conv", NULL, 0,
                     (uint32_t[]) { x, graph_add_const(&b.g, "w", noise(&b, 3, w_dim)) }, 2);
    for (int i = 0; i < 4; i++) {
        static const float scales[] = { .031f, .023f, .011f, .05f };
        uint32_t list[] = { y, number(&b, (double) scales[i]),
                            build_number(&b, DTYPE_U8, 120 + i) };
        list[0] = add(&b, "QuantizeLinear", NULL, 0, list, 3);
        y = add(&b, "DequantizeLinear", NULL, 0, list, 3);
        norm[0] = y;
        if (i == 0)
            y = add(&b, "BatchNormalization", NULL, 0, norm, 5);
        else if (i == 1)
            y = add(&b, "PRelu", NULL, 0, (uint32_t[]) { y, number(&b, .2) }, 2);
        else if (i == 2)
            y = add(&b, "Add", NULL, 0, (uint32_t[]) { y, more }, 2);
    }
    graph_add_output(&b.g, y);
    check(graph_settle(&made, &b.g, NULL, &b.err) == RILL_OK, b.err.text, 0);
    check(made.n_nodes == 2 && count_of(&made, OP_STRIDED_COPY) == 1,
          "all has joined the convolution but the output's copy", made.n_nodes);
    const struct tensor *want = run(&b, &b.g, in), *got = run(&b, &made, in);
    check(want && got && !memcmp(want->data, got->data, tensor_bytes(want)),
          "a normalisation between roundings gives the same bits", transposed);
    build_drop(&b);
}

/* A LeakyRelu between element-wise ops is fused with them. */
static void test_leaky(void)
{
    struct build b;
    struct graph made;
    int64_t dim[] = { 3, 40 };
    build_init(&b);
    const struct tensor *in[] = { noise(&b, 2, dim), noise(&b, 1, dim + 1) };
    struct attr alpha = { .name = "alpha", .kind = ATTR_FLOAT, .f = 0.3f };
    uint32_t x = input(&b, in[0]), row = input(&b, in[1]);
    uint32_t y = add(&b, "Sub", NULL, 0, (uint32_t[]) { x, row }, 2);
    y = add(&b, "LeakyRelu", &alpha, 1, &y, 1);
    y = add(&b, "Mul", NULL, 0, (uint32_t[]) { y, x }, 2);
    graph_add_output(&b.g, y);
    check(graph_settle(&made, &b.g, NULL, &b.err) == RILL_OK, b.err.text, 0);
    check(made.n_nodes == 1 && count_of(&made, OP_FUSED) == 1, "a LeakyRelu is fused",
          made.n_nodes);
    const struct tensor *want = run(&b, &b.g, in), *got = run(&b, &made, in);
    check(want && got && !memcmp(want->data, got->data, tensor_bytes(want)),
          "a slope that is known gives the same bits", 0);
    build_drop(&b);
}

/* A cell whose last state is wanted, too; not where that is read before the op that would join. */
enum last_state { READ_BEHIND, READ_BEFORE, READ_WITH };

static void test_cell(enum last_state use)
{
    struct build b;
    struct graph made;
    int64_t x_dim[] = { 5, 1, 3 }, w_dim[] = { 1, 12, 3 }, r_dim[] = { 1, 12, 4 }, y_dim[] = { 4 },
            hidden = 4;
    const struct attr size = { .name = "hidden_size", .kind = ATTR_INT, .i = hidden };
    build_init(&b);
    const struct tensor *in[] = { noise(&b, 3, x_dim), noise(&b, 1, y_dim) };
    uint32_t x = input(&b, in[0]), more = input(&b, in[1]);
    uint32_t list[] = { x, graph_add_const(&b.g, "w", noise(&b, 3, w_dim)),
                        graph_add_const(&b.g, "r", noise(&b, 3, r_dim)) };
    uint32_t out[2], y = build_nodes(&b, "GRU", &size, 1, list, 3, out, 2);
    if (use == READ_BEFORE)
        more = add(&b, "Add", NULL, 0, (uint32_t[]) { more, out[1] }, 2);
    y = add(&b, "Mul", NULL, 0, (uint32_t[]) { y, use == READ_WITH ? out[1] : more }, 2);
    y = add(&b, "Relu", NULL, 0, &y, 1);
    graph_add_output(&b.g, y);
    graph_add_output(&b.g, out[1]);
    check(graph_with_epilogues_fused(&made, &b.g, &b.err) == RILL_OK, b.err.text, 0);
    check(made.n_nodes ==
              (use == READ_BEHIND       ? 1
                   : use == READ_BEFORE ? 4
                                        : 3),
          "what follows a cell has joined it", made.n_nodes);
    const struct tensor *want = run(&b, &b.g, in), *got = run(&b, &made, in);
    check(want && got && !memcmp(want->data, got->data, tensor_bytes(want)),
          "the epilogue of a cell gives the same bits", 0);
    build_drop(&b);
}

/* 8-bit products, a scale for each channel, or `one` for all, and a Relu behind them; `read`:
 * somebody else reads the sums. */
static void test_sums(bool conv, bool read, bool one)
{
    struct build b;
    struct graph floats, made;
    int64_t x_dim[] = { 1, 3, 40 }, w_dim[] = { 5, 3, 3 }, m_dim[] = { 40, 20 };
    const int64_t scale_dim[] = { one ? 1 : conv ? 5 : 20, 1 };
    const struct attr to = { .name = "to", .kind = ATTR_INT, .i = DTYPE_F32 };
    build_init(&b);
    const struct tensor *in = noise(&b, 3, x_dim);
    struct tensor *w = tensor_new(&b.arena, DTYPE_I8, conv ? 3 : 2, conv ? w_dim : m_dim),
                  *zero = tensor_new(&b.arena, DTYPE_U8, 0, NULL),
                  *size = tensor_new(&b.arena, DTYPE_F32, 0, NULL);
    for (int64_t i = 0; i < tensor_count(w); i++)
        ((int8_t *) w->data)[i] = (int8_t) (i * 97 % 251 - 128);
    *(uint8_t *) zero->data = 127;
    *(float *) size->data = 0.01f;
    uint32_t z = graph_add_const(&b.g, "z", zero), x = input(&b, in),
             scale = graph_add_const(&b.g, "scale", noise(&b, conv ? 2 : 1, scale_dim));
    x = add(&b, "QuantizeLinear", NULL, 0,
            (uint32_t[]) { x, graph_add_const(&b.g, "size", size), z }, 3);
    uint32_t sums = add(&b, conv ? "ConvInteger" : "MatMulInteger", NULL, 0,
                        (uint32_t[]) { x, graph_add_const(&b.g, "w", w), z }, 3),
             y = add(&b, "Cast", &to, 1, &sums, 1);
    y = add(&b, "Mul", NULL, 0, (uint32_t[]) { y, scale }, 2);
    graph_add_output(&b.g, add(&b, "Relu", NULL, 0, &y, 1));
    if (read)
        graph_add_output(&b.g, sums);
    check(graph_with_float_sums(&floats, &b.g, &b.err) == RILL_OK &&
              graph_with_epilogues_fused(&made, &floats, &b.err) == RILL_OK,
          b.err.text, 0);
    check(made.n_nodes == (read ? 5 : 2), "what follows whole sums has joined them", made.n_nodes);
    const struct tensor *want = run(&b, &b.g, &in), *got = run(&b, &made, &in);
    check(want && got && !memcmp(want->data, got->data, tensor_bytes(want)),
          "the epilogue of whole sums gives the same bits", conv);
    build_drop(&b);
}

/* Rows of floats by bytes as .tflite files have them: a scale for each row, so that one row's is a
 * single number, which an epilogue reads. */
static void test_byte_rows(int64_t rows, bool depthwise)
{
    struct build b;
    struct graph floats, made;
    const int64_t x_dim[] = { rows, 3, 1, 40 }, n = depthwise ? 40 : 20,
                  w_dim[] = { depthwise ? 1 : n, 2, 1, 40 };
    const struct attr to = { .name = "to", .kind = ATTR_INT, .i = DTYPE_F32 },
                      deep = { .name = "depthwise", .kind = ATTR_INT, .i = depthwise };
    const bool joins = rows == 1 && !depthwise;
    build_init(&b);
    const struct tensor *in = noise(&b, 4, x_dim);
    struct tensor *w = tensor_new(&b.arena, DTYPE_I8, 4, w_dim),
                  *axes = tensor_new(&b.arena, DTYPE_I64, 1, (int64_t[]) { 3 });
    for (int64_t i = 0; i < tensor_count(w); i++)
        ((int8_t *) w->data)[i] = (int8_t) (i * 97 % 251 - 128);
    for (int64_t i = 0; i < 3; i++)
        ((int64_t *) axes->data)[i] = 1 + i;
    uint32_t x = input(&b, in), of[2], y;
    build_nodes(&b, "ByteRows", NULL, 0, &x, 1, of, 2);
    of[0] = add(&b, "ByteConv", &deep, 1, (uint32_t[]) { of[0], graph_add_const(&b.g, "w", w) }, 2);
    y = add(&b, "Cast", &to, 1, of, 1);
    of[1] = add(&b, "Unsqueeze", NULL, 0,
                (uint32_t[]) { of[1], graph_add_const(&b.g, "axes", axes) }, 2);
    y = add(&b, "Mul", NULL, 0, (uint32_t[]) { y, of[1] }, 2);
    y = add(&b, "Add", NULL, 0, (uint32_t[]) { y, graph_add_const(&b.g, "bias", noise(&b, 1, &n)) },
            2);
    graph_add_output(&b.g, add(&b, "Relu", NULL, 0, &y, 1));
    check(graph_with_float_sums(&floats, &b.g, &b.err) == RILL_OK &&
              graph_with_epilogues_fused(&made, &floats, &b.err) == RILL_OK,
          b.err.text, 0);
    check(count_of(&made, OP_CAST) == depthwise && count_of(&made, OP_MUL) == !joins &&
              count_of(&made, OP_RELU) == !joins,
          "what follows sums of a row has joined them", made.n_nodes);
    const struct tensor *want = run(&b, &b.g, &in), *got = run(&b, &made, &in);
    check(want && got && !memcmp(want->data, got->data, tensor_bytes(want)),
          "the epilogue of sums of rows gives the same bits", (long) rows);
    build_drop(&b);
}

/* What two nodes read stays. */
static void test_shared(void)
{
    struct build b;
    struct graph made;
    int64_t x_dim[] = { 1, 3, 40 }, w_dim[] = { 5, 3, 3 };
    build_init(&b);
    const struct tensor *in = noise(&b, 3, x_dim);
    uint32_t x = input(&b, in),
             y = add(&b, "Conv", NULL, 0,
                     (uint32_t[]) { x, graph_add_const(&b.g, "w", noise(&b, 3, w_dim)) }, 2);
    graph_add_output(&b.g, add(&b, "Relu", NULL, 0, &y, 1));
    graph_add_output(&b.g, y);
    check(graph_with_epilogues_fused(&made, &b.g, &b.err) == RILL_OK && made.n_nodes == 2,
          "what others read stays as it is", 0);
    build_drop(&b);
}

int main(void)
{
    test_dft(false, false);
    test_dft(true, false);
    test_dft(false, true);
    test_epilogues(true);
    test_epilogues(false);
    test_rounded_norm(false);
    test_rounded_norm(true);
    test_leaky();
    test_cell(READ_BEHIND);
    test_cell(READ_BEFORE);
    test_cell(READ_WITH);
    test_shared();
    for (int i = 0; i < 8; i++)
        test_sums(i & 1, i & 2, i & 4);
    for (int i = 0; i < 4; i++)
        test_byte_rows(i & 1 ? 3 : 1, i & 2);
    return check_done();
}
