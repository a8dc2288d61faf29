/* SPDX-License-Identifier: MIT */
/* Products whose weights came as halves or whole numbers keep them so where they are many, to the
 * bits of the graph as it was written. */
#include "engine/ops/matmul_narrow.h"
#include "engine/plan/plan.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/graph/prune.h"
#include "engine/typing/interp.h"
#include "engine/typing/typed.h"
#include "tests/engine/build.h"

#include <math.h>

#define TERMS 514 /* of a convolution two taps of each channel */
#define OUTPUTS 520

enum { ONE = -1, BY_TERM = 0, BY_OUTPUT = 1 }; /* what shares a scale */

static const struct row {
    const char *what;
    enum dtype type;
    int by;
    int64_t block;                  /* of terms */
    int zero;                       /* 0: none */
    bool gemm, bias, turned, moved; /* transB; Transpose of [outputs, terms] */
    enum dtype kept;                /* DTYPE_NONE: floats */
    int conv; /* the dilation of a convolution of one place; its weights are turned. 0: it is none
               */
} rows[] = {
    { "f16", DTYPE_F16, .kept = DTYPE_F16 },
    { "f16, turned, with a bias", DTYPE_F16, .gemm = true, .bias = true, .turned = true,
      .kept = DTYPE_F16 },
    { "bf16", DTYPE_BF16, .kept = DTYPE_BF16 },
    { "one scale", DTYPE_I8, ONE, .kept = DTYPE_I8 },
    { "a scale an output", DTYPE_I8, BY_OUTPUT, .kept = DTYPE_I8 },
    { "u8 with zeros", DTYPE_U8, BY_OUTPUT, 0, 100, .kept = DTYPE_I8 },
    { "u8 with its middle as zero", DTYPE_U8, BY_OUTPUT, 0, 128, .kept = DTYPE_I8 },
    { "u8 without zero", DTYPE_U8, ONE, .gemm = true, .kept = DTYPE_I8 },
    { "turned, with a bias", DTYPE_I8, BY_OUTPUT, 0, -3, .gemm = true, .bias = true, .turned = true,
      .kept = DTYPE_I8 },
    { "moved", DTYPE_I8, BY_OUTPUT, .moved = true, .kept = DTYPE_I8 },
    { "blocks", DTYPE_I8, BY_TERM, 32, .kept = DTYPE_I8 },
    { "odd blocks, moved", DTYPE_U8, BY_TERM, 13, 7, .moved = true, .kept = DTYPE_I8 },
    { "4 bits", DTYPE_I4, BY_TERM, 32, .kept = DTYPE_U4 },
    { "4 bits, moved", DTYPE_U4, BY_TERM, 16, 8, .moved = true, .kept = DTYPE_U4 },
    { "4 bits, turned", DTYPE_U4, BY_TERM, 1024, 7, .gemm = true, .turned = true,
      .kept = DTYPE_U4 },
    { "4 bits in odd blocks", DTYPE_I4, BY_TERM, 13, .kept = DTYPE_NONE },
    { "2 bits", DTYPE_I2, BY_OUTPUT, .kept = DTYPE_U4 },
    { "a scale a term", DTYPE_I8, BY_TERM, .kept = DTYPE_NONE },
    { "floats", DTYPE_F32, .kept = DTYPE_NONE },
    { "f16, convolved", DTYPE_F16, .bias = true, .turned = true, .kept = DTYPE_F16, .conv = 1 },
    { "bf16, dilated", DTYPE_BF16, .turned = true, .kept = DTYPE_BF16, .conv = 3 },
    { "a scale an output, convolved", DTYPE_I8, BY_OUTPUT, .bias = true, .turned = true,
      .kept = DTYPE_I8, .conv = 2 },
    { "u8 with zeros, convolved", DTYPE_U8, BY_OUTPUT, 0, 100, .turned = true, .kept = DTYPE_I8,
      .conv = 1 },
    { "a scale a channel, convolved", DTYPE_I8, BY_TERM, .turned = true, .kept = DTYPE_NONE,
      .conv = 1 },
};

static uint32_t constant(struct build *b, const struct tensor *t)
{
    return graph_add_const(&b->g, "constant", t);
}

/* Numbers of the type that an axis has, least and greatest among them. */
static struct tensor *numbers(struct build *b, enum dtype type, int64_t d0, int64_t d1)
{
    static const int spans[] = { [DTYPE_I8] = 256, [DTYPE_U8] = 256, [DTYPE_I4] = 16,
                                 [DTYPE_U4] = 16,  [DTYPE_I2] = 4,   [DTYPE_U2] = 4 };
    struct tensor *t = tensor_new(&b->arena, type, 2, (const int64_t[]) { d0, d1 });
    bool is_signed = type == DTYPE_I8 || type == DTYPE_I4 || type == DTYPE_I2;
    for (int64_t i = 0; i < d0 * d1; i++) {
        int span = dtype_is_float(type) ? 0 : spans[type];
        double v = span ? (double) rnd((uint32_t) span) - (is_signed ? span / 2 : 0)
                        : (double) rnd(1 << 20) * 0x1p-20 - 0.4;
        tensor_set_f64(t, t->data, i, v);
    }
    return t;
}

static uint32_t scales(struct build *b, const struct row *r, int axis, int64_t rows_n, int64_t cols)
{
    int64_t dim[2] = { rows_n, cols };
    int rank = r->by == ONE ? 0 : r->block ? 2 : 1;
    if (r->block)
        dim[axis] = (dim[axis] + r->block - 1) / r->block;
    else
        dim[0] = r->conv && axis ? TERMS / 2 : dim[axis];
    struct tensor *t = tensor_new(&b->arena, DTYPE_F32, rank, dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((float *) t->data)[i] = (float) (1 + rnd(90)) * 1e-4f;
    return constant(b, t);
}

static uint32_t zeros(struct build *b, const struct row *r, uint32_t scale)
{
    const struct tensor *s = b->g.wires[scale].fact.value;
    struct tensor *t = tensor_new(&b->arena, r->type, s->rank, s->dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        tensor_set_f64(t, t->data, i, r->zero);
    return constant(b, t);
}

static void shape_set(struct tensor *t, int64_t first, int64_t last)
{
    t->rank = 3;
    t->dim[0] = first;
    t->dim[1] = TERMS / 2;
    t->dim[2] = last;
}

/* As a file has them: whole numbers behind DequantizeLinear, halves behind a Cast. */
static uint32_t weights(struct build *b, const struct row *r)
{
    bool outputs_first = r->turned || r->moved;
    int64_t d0 = outputs_first ? OUTPUTS : TERMS, d1 = outputs_first ? TERMS : OUTPUTS;
    struct tensor *t = numbers(b, r->type, d0, d1);
    if (r->conv)
        shape_set(t, OUTPUTS, 2);
    uint32_t w = constant(b, t);
    if (dtype_is_half(r->type)) {
        struct attr to = { .name = "to", .kind = ATTR_INT, .i = DTYPE_F32 };
        w = build_node(b, "Cast", &to, 1, &w, 1);
    } else if (r->type != DTYPE_F32) {
        int axis = r->by == BY_OUTPUT ? !outputs_first : outputs_first;
        uint32_t in[3] = { w, scales(b, r, axis, d0, d1) };
        struct attr on[] = { { .name = "axis", .kind = ATTR_INT, .i = axis },
                             { .name = "block_size", .kind = ATTR_INT, .i = r->block } };
        if (r->zero)
            in[2] = zeros(b, r, in[1]);
        w = build_node(b, "DequantizeLinear", on, 2, in, r->zero ? 3 : 2);
    }
    return r->moved ? build_node(b, "Transpose", NULL, 0, &w, 1) : w;
}

static struct tensor *noise(struct build *b, const struct row *r, int64_t m)
{
    struct tensor *t = numbers(b, DTYPE_F32, m, r->conv ? TERMS / 2 * (r->conv + 1) : TERMS);
    ((float *) t->data)[1] = -0.0f;
    if (r->conv)
        shape_set(t, m, r->conv + 1);
    return t;
}

static void net_build(struct build *b, const struct row *r, int64_t m)
{
    const int64_t gap = r->conv;
    struct fact f = { .type = DTYPE_F32, .rank = gap ? 3 : 2 };
    f.shape[0] = dim_int(b->dims, m);
    f.shape[1] = dim_int(b->dims, gap ? TERMS / 2 : TERMS);
    f.shape[2] = dim_int(b->dims, gap + 1);
    uint32_t in[3] = { graph_add_input(&b->g, "x", &f), weights(b, r) };
    struct attr turned = { .name = "transB", .kind = ATTR_INT, .i = r->turned },
                gaps = { .name = "dilations", .kind = ATTR_INTS, .ints = { 1, &gap } };
    struct tensor *bias = numbers(b, DTYPE_F32, 1, OUTPUTS);
    if (gap) {
        bias->rank = 1;
        bias->dim[0] = OUTPUTS;
    }
    if (r->bias)
        in[2] = constant(b, bias);
    uint32_t y = build_node(b,
                            gap           ? "Conv"
                                : r->gemm ? "Gemm"
                                          : "MatMul",
                            gap ? &gaps : &turned, r->gemm || gap, in, r->bias ? 3 : 2);
    graph_add_output(&b->g, build_node(b, "Tanh", NULL, 0, &y, 1)); /* its epilogue */
}

static enum dtype kept_as(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (node_is(&g->nodes[i], OP_MATMUL_NARROW) || node_is(&g->nodes[i], OP_CONV_NARROW))
            return g->wires[g->nodes[i].in[NARROW_W]].fact.type;
    return DTYPE_NONE;
}

static void test_row(long k, int64_t m)
{
    const struct row *r = &rows[k];
    struct build b;
    struct tgraph t;
    struct graph made, live, settled;
    const struct tensor *want[1] = { 0 }, *got[1] = { 0 };
    build_init(&b);
    net_build(&b, r, m);
    bool ok = tgraph_from_mgraph(&t, &(struct mgraph) { b.g }, NULL, &b.err) == RILL_OK &&
        graph_declutter(&made, &t.g, NULL, &b.err) == RILL_OK &&
        graph_settle(&settled, &made, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &settled, &b.err) == RILL_OK && graph_check(&live, &b.err) == RILL_OK;
    check(ok, b.err.text, k);
    check(ok && kept_as(&live) == r->kept && live.n_nodes == 1 + (r->conv > 1), r->what,
          kept_as(&live));
    const struct tensor *x = noise(&b, r, m);
    check(ok && interp_run(&t.g, &x, &b.arena, want, &b.err) == RILL_OK &&
              interp_run(&live, &x, &b.arena, got, &b.err) == RILL_OK &&
              !memcmp(want[0]->data, got[0]->data, tensor_bytes(want[0])),
          r->what, m);
    build_drop(&b);
}

/* ---- rows that have matrices of their own ---- */

#define MATRICES 24

static const struct each_row {
    const char *what;
    enum dtype type;
    int64_t axis;    /* of scales; -1: one for all */
    int zero;        /* 0: none */
    int64_t rows, n; /* of each matrix */
    bool equation;
    enum dtype kept;
} each_rows[] = {
    { "matrices", DTYPE_I8, 2, 0, 1, 128, false, DTYPE_I8 },
    { "matrices of an equation", DTYPE_I8, 2, 0, 1, 128, true, DTYPE_I8 },
    { "matrices of one scale", DTYPE_I8, -1, 0, 1, 144, true, DTYPE_I8 },
    { "matrices of u8 with its middle as zero", DTYPE_U8, 2, 128, 1, 128, false, DTYPE_I8 },
    { "matrices with zeros", DTYPE_I8, 2, 5, 1, 128, false, DTYPE_NONE },
    { "matrices with a scale a term", DTYPE_I8, 1, 0, 1, 128, true, DTYPE_NONE },
    { "matrices with a scale each", DTYPE_I8, 0, 0, 1, 128, true, DTYPE_NONE },
    { "matrices that fill no panels", DTYPE_I8, 2, 0, 1, 120, true, DTYPE_NONE },
    { "matrices of two rows", DTYPE_I8, 2, 0, 2, 128, false, DTYPE_NONE },
    { "matrices of two rows of an equation", DTYPE_I8, 2, 0, 2, 128, true, DTYPE_NONE },
    { "matrices of halves", DTYPE_F16, 2, 0, 1, 128, true, DTYPE_NONE },
};

static uint32_t each_weights(struct build *b, const struct each_row *r)
{
    const int64_t dim[] = { MATRICES, TERMS / 2, r->n };
    struct tensor *t = numbers(b, r->type, dim[0] * dim[1], dim[2]);
    t->rank = 3;
    memcpy(t->dim, dim, sizeof dim);
    const uint32_t w = constant(b, t);
    if (dtype_is_half(r->type)) {
        struct attr to = { .name = "to", .kind = ATTR_INT, .i = DTYPE_F32 };
        return build_node(b, "Cast", &to, 1, &w, 1);
    }
    struct tensor *s =
        tensor_new(&b->arena, DTYPE_F32, r->axis >= 0, &dim[r->axis < 0 ? 0 : r->axis]);
    for (int64_t i = 0; i < tensor_count(s); i++)
        ((float *) s->data)[i] = (float) (1 + rnd(90)) * 1e-4f;
    uint32_t in[3] = { w, constant(b, s) };
    const struct row zero = { .type = r->type, .zero = r->zero };
    struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = r->axis < 0 ? 1 : r->axis };
    if (r->zero)
        in[2] = zeros(b, &zero, in[1]);
    return build_node(b, "DequantizeLinear", &axis, 1, in, r->zero ? 3 : 2);
}

/* Of rows; returns the rank. */
static int each_shape(const struct each_row *r, int64_t dim[4])
{
    const int64_t product[4] = { MATRICES, r->rows, TERMS / 2 },
                  equation[4] = { 1, r->rows, MATRICES, TERMS / 2 };
    memcpy(dim, r->equation ? equation : product, sizeof product);
    return r->equation ? 4 : 3;
}

static void each_build(struct build *b, const struct each_row *r)
{
    static const char *const texts[] = { "btgi,gih->btgh" };
    struct fact f = { .type = DTYPE_F32 };
    int64_t dim[4];
    f.rank = each_shape(r, dim);
    for (int i = 0; i < f.rank; i++)
        f.shape[i] = dim_int(b->dims, dim[i]);
    uint32_t in[2] = { graph_add_input(&b->g, "x", &f), each_weights(b, r) };
    struct attr text = { .name = "equation", .kind = ATTR_STRINGS, .strings = { 1, texts } };
    uint32_t y = build_node(b, r->equation ? "Einsum" : "MatMul", &text, r->equation, in, 2);
    graph_add_output(&b->g, build_node(b, "Tanh", NULL, 0, &y, 1));
}

static void test_each(long k)
{
    const struct each_row *r = &each_rows[k];
    struct build b;
    struct tgraph t;
    struct graph made, live, settled;
    const struct tensor *want[1] = { 0 }, *got[1] = { 0 };
    build_init(&b);
    each_build(&b, r);
    bool ok = tgraph_from_mgraph(&t, &(struct mgraph) { b.g }, NULL, &b.err) == RILL_OK &&
        graph_declutter(&made, &t.g, NULL, &b.err) == RILL_OK &&
        graph_settle(&settled, &made, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &settled, &b.err) == RILL_OK && graph_check(&live, &b.err) == RILL_OK;
    check(ok, b.err.text, k);
    check(ok && kept_as(&live) == r->kept, r->what, kept_as(&live));
    struct tensor *own = numbers(&b, DTYPE_F32, MATRICES * r->rows, TERMS / 2);
    own->rank = each_shape(r, own->dim);
    const struct tensor *x = own;
    check(ok && interp_run(&t.g, &x, &b.arena, want, &b.err) == RILL_OK &&
              interp_run(&live, &x, &b.arena, got, &b.err) == RILL_OK &&
              !memcmp(want[0]->data, got[0]->data, tensor_bytes(want[0])),
          r->what, r->rows);
    build_drop(&b);
}

int main(void)
{
    for (size_t k = 0; k < sizeof each_rows / sizeof *each_rows; k++)
        test_each((long) k);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        test_row((long) k, 1);
        test_row((long) k, 6);
    }
    return check_done();
}
