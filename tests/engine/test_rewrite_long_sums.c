/* SPDX-License-Identifier: MIT */
/* Products of dequantised bytes sum whole numbers where 32 bits hold every sum that may come, and
 * stay floats past that. */
#include "engine/graph/prune.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/typing/interp.h"
#include "tests/engine/build.h"

#include <math.h>

/* `terms` weights of each output, all alike, times the largest byte. */
static const struct long_sum {
    const char *op;
    bool turned;
    enum dtype x, w;
    int x_zero, w_zero, weight;
    int64_t terms, outputs;
    bool whole;
} sums[] = {
    { "MatMul", false, DTYPE_U8, DTYPE_U8, 0, 0, 255, 33025, 4, true }, /* 255 * 255 * 33025 */
    { "MatMul", false, DTYPE_U8, DTYPE_U8, 0, 0, 255, 33026, 4, false },
    { "MatMul", false, DTYPE_U8, DTYPE_I8, 0, 0, 127, 140000, 8, false },
    { "MatMul", false, DTYPE_U8, DTYPE_I8, 0, 0, 1, 140000, 8, true },
    { "MatMul", false, DTYPE_U8, DTYPE_U8, 0, 250, 255, 140000, 8, true },
    { "MatMul", false, DTYPE_U8, DTYPE_U8, 128, 0, 255, 65793, 4, true },
    { "MatMul", false, DTYPE_U8, DTYPE_U8, 128, 0, 255, 65794, 4, false },
    { "MatMul", false, DTYPE_I8, DTYPE_I8, 127, -128, 127, 33026, 4, false },
    { "Gemm", false, DTYPE_U8, DTYPE_U8, 0, 0, 255, 40000, 4, false },
    { "Gemm", true, DTYPE_U8, DTYPE_U8, 0, 0, 255, 40000, 4, false },
    { "Gemm", true, DTYPE_I8, DTYPE_I8, -128, 0, -127, 40000, 4, true },
    { "Conv", true, DTYPE_U8, DTYPE_U8, 0, 0, 255, 40000, 4, false },
    { "Conv", true, DTYPE_U8, DTYPE_U8, 0, 0, 99, 40000, 4, true },
};

static struct tensor *filled(struct build *b, enum dtype type, int rank, const int64_t *dim,
                             double v)
{
    struct tensor *t = tensor_new(&b->arena, type, rank, dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        tensor_set_f64(t, t->data, i, v);
    return t;
}

/* As folding leaves weights: floats, by a scale of 1; the zeros are a list where `outputs` are
 * first. */
static uint32_t weights(struct build *b, const struct long_sum *s)
{
    const int64_t dim[] = { s->turned ? s->outputs : s->terms, s->turned ? s->terms : s->outputs,
                            1 };
    const int rank = strcmp(s->op, "Conv") ? 2 : 3;
    struct quantised *from = arena_new(&b->arena, struct quantised);
    struct tensor *t = filled(b, DTYPE_F32, rank, dim, s->weight - s->w_zero);
    *from = (struct quantised) { .whole = filled(b, s->w, rank, dim, s->weight),
                                 .scale = filled(b, DTYPE_F32, 1, &s->outputs, 1),
                                 .zero = filled(b, s->w, 1, &s->outputs, s->w_zero),
                                 .axis = s->turned ? 0 : 1 };
    t->from = from;
    return graph_add_const(&b->g, "weights", t);
}

static uint32_t rounded(struct build *b, const struct long_sum *s, uint32_t x)
{
    const uint32_t one = build_number(b, DTYPE_F32, 1), zero = build_number(b, s->x, s->x_zero);
    x = build_node(b, "QuantizeLinear", NULL, 0, (uint32_t[]) { x, one, zero }, 3);
    return build_node(b, "DequantizeLinear", NULL, 0, (uint32_t[]) { x, one, zero }, 3);
}

static struct fact rows_of(struct build *b, const struct long_sum *s)
{
    struct fact f = { .type = DTYPE_F32,
                      .rank = strcmp(s->op, "Conv") ? 2 : 3,
                      .shape = { dim_int(b->dims, 1), dim_int(b->dims, s->terms),
                                 dim_int(b->dims, 1) } };
    return f;
}

static double largest_sum(const struct long_sum *s)
{
    const int high = s->x == DTYPE_I8 ? 127 : 255;
    return (double) s->terms * (high - s->x_zero) * (s->weight - s->w_zero);
}

static void check_sums(struct build *b, const struct long_sum *s, const struct graph *made, long k)
{
    const int64_t dim[] = { 1, s->terms, 1 };
    const struct tensor *x = filled(b, DTYPE_F32, strcmp(s->op, "Conv") ? 2 : 3, dim, 1e4),
                        *got[1] = { 0 };
    bool ran = interp_run(made, &x, &b->arena, got, &b->err) == RILL_OK;
    check(ran, b->err.text, k);
    for (int64_t i = 0; ran && i < s->outputs; i++) {
        const double want = largest_sum(s), is = ((const float *) got[0]->data)[i];
        check(fabs(is - want) <= 1e-2 * fabs(want),
              "the sum of the largest, next to what floats round", k);
    }
}

static bool sums_whole(const struct graph *g)
{
    bool is = false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        is |= node_is(&g->nodes[i], OP_MATMUL_INTEGER) || node_is(&g->nodes[i], OP_CONV_INTEGER);
    return is;
}

static void test_sum(long k)
{
    const struct long_sum *s = &sums[k];
    struct build b;
    struct graph made, live;
    build_init(&b);
    struct fact f = rows_of(&b, s);
    const struct attr turned = { .name = "transB", .kind = ATTR_INT, .i = s->turned };
    const uint32_t x = rounded(&b, s, graph_add_input(&b.g, "x", &f));
    const uint32_t in[] = { x, weights(&b, s) };
    graph_add_output(&b.g, build_node(&b, s->op, &turned, !strcmp(s->op, "Gemm"), in, 2));
    bool ok = graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &made, &b.err) == RILL_OK;
    check(ok, b.err.text, k);
    if (ok) {
        check(sums_whole(&live) == s->whole, "whole sums where they fit", k);
        const char *why = product_stays_real(&live, &live.nodes[live.n_nodes - 1]);
        check(s->whole || strstr(why, "32 bits"), "and says why they are not", k);
        check_sums(&b, s, &live, k);
    }
    build_drop(&b);
}

int main(void)
{
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++)
        test_sum((long) k);
    return check_done();
}
