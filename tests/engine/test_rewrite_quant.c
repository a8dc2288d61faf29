/* SPDX-License-Identifier: MIT */
/* What declutter and settle make of dequantised numbers gives the bits of the graph as it was
 * written, on random chains of ops that move elements and are quantised between. Declutter moves
 * integers; where nothing but moves is between two roundings, settle has none left. */
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/settle/settle.h"
#include "engine/ops/fused.h"
#include "engine/graph/prune.h"
#include "engine/typing/interp.h"
#include "tests/engine/build.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 6
#define ROUNDS 400
#define PARTS 200
#define FORMS 90

static struct tensor shape_of(const struct build *b, uint32_t w)
{
    struct tensor t;
    if (!fact_to_tensor(&b->g.wires[w].fact, &t))
        abort();
    return t;
}

struct scale {
    float scale;
    enum dtype type;
    int zero;
};

static const struct scale scales[] = { { .05f, DTYPE_U8, 120 },
                                       { .05f, DTYPE_U8, 120 },
                                       { .07f, DTYPE_I8, -3 },
                                       { .001f, DTYPE_I16, 0 },
                                       { .0001f, DTYPE_U16, 30000 } };
#define SCALES (sizeof scales / sizeof *scales)

static uint32_t quantise(struct build *b, uint32_t w, const struct scale *s, const char *op)
{
    return build_node(b, op, NULL, 0,
                      (uint32_t[]) { w, build_number(b, DTYPE_F32, (double) s->scale),
                                     build_number(b, s->type, s->zero) },
                      3);
}

static uint32_t rounded(struct build *b, uint32_t w, const struct scale *s)
{
    return quantise(b, quantise(b, w, s, "QuantizeLinear"), s, "DequantizeLinear");
}

/* ---- ops that move elements of a tensor of rank 3 ---- */

static uint32_t step_transpose(struct build *b, uint32_t w)
{
    static const int64_t perm[] = { 2, 0, 1 };
    struct attr a = { .name = "perm", .kind = ATTR_INTS, .ints = { 3, perm } };
    return build_node(b, "Transpose", &a, 1, &w, 1);
}

static uint32_t step_reshape(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w);
    int64_t to[] = { t.dim[1], t.dim[0] * t.dim[2], 1 };
    uint32_t flat = build_node(b, "Reshape", NULL, 0, (uint32_t[]) { w, build_i64s(b, 3, to) }, 2);
    int64_t back[] = { t.dim[0], t.dim[1], t.dim[2] };
    return build_node(b, "Reshape", NULL, 0, (uint32_t[]) { flat, build_i64s(b, 3, back) }, 2);
}

static uint32_t step_slice(struct build *b, uint32_t w)
{
    int64_t axis = rnd(3), from = 1, to = INT32_MAX;
    if (shape_of(b, w).dim[axis] < 3)
        return w;
    uint32_t in[] = { w, build_i64s(b, 1, &from), build_i64s(b, 1, &to), build_i64s(b, 1, &axis) };
    return build_node(b, "Slice", NULL, 0, in, 4);
}

static uint32_t step_pad(struct build *b, uint32_t w)
{
    int64_t pads[] = { 0, 1, 0, 0, 0, 2 };
    return build_node(b, "Pad", NULL, 0, (uint32_t[]) { w, build_i64s(b, 6, pads) }, 2);
}

static uint32_t step_squeeze(struct build *b, uint32_t w)
{
    int64_t axis = 1;
    uint32_t more =
        build_node(b, "Unsqueeze", NULL, 0, (uint32_t[]) { w, build_i64s(b, 1, &axis) }, 2);
    return build_node(b, "Squeeze", NULL, 0, (uint32_t[]) { more, build_i64s(b, 1, &axis) }, 2);
}

/* One part goes on, both are read. */
static uint32_t step_split(struct build *b, uint32_t w)
{
    int64_t n = shape_of(b, w).dim[0], parts[] = { n - n / 2, n / 2 };
    struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 0 };
    uint32_t out[2];
    if (n < 2)
        return w;
    build_nodes(b, "Split", &axis, 1, (uint32_t[]) { w, build_i64s(b, 2, parts) }, 2, out, 2);
    graph_add_output(&b->g, out[rnd(2)]);
    return out[rnd(2)];
}

static uint32_t step_pool(struct build *b, uint32_t w)
{
    static const int64_t two[] = { 2 }, ends[] = { 1, 1 };
    struct attr a[] = { { .name = "kernel_shape", .kind = ATTR_INTS, .ints = { 1, two } },
                        { .name = "pads", .kind = ATTR_INTS, .ints = { 2, ends } } };
    return build_node(b, "MaxPool", a, 2, &w, 1);
}

static uint32_t step_relu(struct build *b, uint32_t w)
{
    return build_node(b, "Relu", NULL, 0, &w, 1);
}

static uint32_t step_quantise(struct build *b, uint32_t w)
{
    return rounded(b, w, &scales[rnd(SCALES)]);
}

/* Of itself and of what it is when it is rounded. */
static uint32_t step_concat(struct build *b, uint32_t w)
{
    struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = rnd(3) };
    struct tensor t = shape_of(b, w);
    if (tensor_count(&t) > 4000)
        return w;
    return build_node(b, "Concat", &axis, 1, (uint32_t[]) { w, step_quantise(b, w) }, 2);
}

static uint32_t (*const steps[])(struct build *b, uint32_t w) = {
    step_transpose, step_reshape, step_slice,    step_pad,      step_squeeze, step_split,
    step_pool,      step_relu,    step_quantise, step_quantise, step_concat
};

/* ---- the same bits ---- */

static uint32_t input(struct build *b, int64_t d0, int64_t d1, int64_t d2)
{
    struct fact f = { .type = DTYPE_F32,
                      .rank = 3,
                      .shape = { dim_int(b->dims, d0), dim_int(b->dims, d1),
                                 dim_int(b->dims, d2) } };
    return graph_add_input(&b->g, "x", &f);
}

static struct tensor *noise(struct build *b, uint32_t w)
{
    struct tensor t = shape_of(b, w), *x = tensor_new(&b->arena, DTYPE_F32, t.rank, t.dim);
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((float *) x->data)[i] = rnd(40)
            ? (float) rnd(4000) * 2e-3f - 4
            : (const float[]) { NAN, INFINITY, -INFINITY, -0.0f }[rnd(4)];
    return x;
}

static void same_bits_of(struct build *b, const struct graph *g, const struct graph *made,
                         const struct tensor *x, uint32_t round)
{
    const struct tensor *want[32] = { 0 }, *got[32] = { 0 };
    bool ran = interp_run(g, &x, &b->arena, want, &b->err) == RILL_OK &&
        interp_run(made, &x, &b->arena, got, &b->err) == RILL_OK;
    check(ran, b->err.text, round);
    for (uint32_t i = 0; ran && i < b->g.n_outputs; i++)
        check(tensor_bytes(want[i]) == tensor_bytes(got[i]) &&
                  !memcmp(want[i]->data, got[i]->data, tensor_bytes(want[i])),
              "bits of an output", round);
}

static void same_bits(struct build *b, const struct graph *made, const struct tensor *x,
                      uint32_t round)
{
    same_bits_of(b, &b->g, made, x, round);
}

static unsigned count(const struct graph *g, enum op_id id)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += node_is(&g->nodes[i], id);
    return n;
}

static void test_chain(uint32_t round)
{
    struct build b;
    struct graph made, live, settled;
    build_init(&b);
    uint32_t x = input(&b, 4, 3, 8), w = step_quantise(&b, x);
    for (unsigned i = 0; i < STEPS; i++) {
        w = steps[rnd(sizeof steps / sizeof *steps)](&b, w);
        if (rnd(4) == 0)
            graph_add_output(&b.g, w);
    }
    graph_add_output(&b.g, w);
    bool ok = graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &made, &b.err) == RILL_OK && graph_check(&live, &b.err) == RILL_OK;
    check(ok, b.err.text, round);
    if (ok)
        same_bits(&b, &live, noise(&b, x), round);
    ok = ok && graph_settle(&settled, &live, NULL, &b.err) == RILL_OK;
    check(ok, b.err.text, round);
    if (ok)
        same_bits(&b, &settled, noise(&b, x), round);
    build_drop(&b);
}

/* Between two roundings by one scale nothing is left but moves of bytes. */
static void test_only_moves(void)
{
    struct build b;
    struct graph made, live;
    build_init(&b);
    uint32_t x = input(&b, 4, 3, 8);
    uint32_t w = rounded(&b, x, scales);
    w = step_pad(&b, step_slice(&b, step_transpose(&b, w)));
    w = rounded(&b, w, scales);
    w = step_transpose(&b, step_reshape(&b, w));
    graph_add_output(&b.g, w);
    bool ok = graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &made, &b.err) == RILL_OK;
    check(ok, b.err.text, 0);
    check(ok && count(&live, OP_QUANTIZE_LINEAR) == 1 && count(&live, OP_DEQUANTIZE_LINEAR) == 1,
          "one rounding, one dequantisation", ok ? count(&live, OP_QUANTIZE_LINEAR) : 0);
    check(ok && node_is(&live.nodes[live.n_nodes - 1], OP_DEQUANTIZE_LINEAR),
          "which is the last node", 0);
    if (ok)
        same_bits(&b, &live, noise(&b, x), 0);
    build_drop(&b);
}

/* Several who move the integers, and who read them, share one rounding of floats. */
static void test_settles_to_floats(const struct scale *s)
{
    struct build b;
    struct graph made;
    build_init(&b);
    uint32_t x = input(&b, 4, 3, 8), q = quantise(&b, x, s, "QuantizeLinear");
    uint32_t moved[] = { q, step_slice(&b, step_transpose(&b, q)), step_split(&b, q),
                         step_transpose(&b, step_pad(&b, q)) };
    for (unsigned i = 0; i < 4; i++)
        graph_add_output(&b.g, quantise(&b, moved[i], s, "DequantizeLinear"));
    bool ok = graph_settle(&made, &b.g, NULL, &b.err) == RILL_OK;
    check(ok, b.err.text, 0);
    check(ok && count(&made, OP_DEQUANTIZE_LINEAR) == 0, "no dequantisation is left", 0);
    if (ok)
        same_bits(&b, &made, noise(&b, x), 0);
    build_drop(&b);
}

/* What stands between roundings of several scales is one program with them. */
static void test_settles_to_a_program(long k)
{
    struct build b;
    struct graph made;
    build_init(&b);
    uint32_t x = input(&b, 4, 3, 8), w = x;
    for (unsigned i = 0; i < 3; i++) {
        w = step_relu(&b, rounded(&b, w, &scales[(unsigned) k + 2 - i]));
    }
    graph_add_output(&b.g, w);
    bool ok = graph_settle(&made, &b.g, NULL, &b.err) == RILL_OK;
    check(ok && made.n_nodes == 1 && node_is(&made.nodes[0], OP_FUSED), "one program", k);
    if (ok)
        same_bits(&b, &made, noise(&b, x), 0);
    build_drop(&b);
}

/* However many moves a file has in a row: neither the stack nor the time is theirs. */
static void test_settles_many_moves(void)
{
    struct build b;
    struct graph made;
    build_init(&b);
    uint32_t x = input(&b, 1, 2, 1), w = x;
    struct attr all = { .name = "axis", .kind = ATTR_INT, .i = 2 };
    for (int i = 0; i < 150000; i++)
        w = build_node(&b, i % 2 ? "Flatten" : "Identity", i % 2 ? &all : NULL, i % 2, &w, 1);
    graph_add_output(&b.g, step_relu(&b, rounded(&b, w, scales)));
    clock_t from = clock();
    check(graph_settle(&made, &b.g, NULL, &b.err) == RILL_OK, b.err.text, 0);
    check(clock() - from < 20 * CLOCKS_PER_SEC, "seconds", (clock() - from) / CLOCKS_PER_SEC);
    build_drop(&b);
}

/* What is put together of rounded numbers, and rounded again, is rounded before: once where it is
 * by the same scale. */
static void test_settles_before_moves(void)
{
    struct build b;
    struct graph made;
    build_init(&b);
    uint32_t x = input(&b, 4, 3, 8);
    uint32_t parts[] = { step_transpose(&b, rounded(&b, x, &scales[0])),
                         step_transpose(&b, rounded(&b, x, &scales[2])) };
    struct attr axis = { .name = "axis", .kind = ATTR_INT, .i = 1 };
    uint32_t w = step_reshape(&b, build_node(&b, "Concat", &axis, 1, parts, 2));
    graph_add_output(&b.g, rounded(&b, w, &scales[0]));
    bool ok = graph_settle(&made, &b.g, NULL, &b.err) == RILL_OK;
    check(ok && made.n_nodes == 3 && count(&made, OP_FUSED) == 2 &&
              count(&made, OP_STRIDED_COPY) == 1,
          "two programs and one copy", ok ? made.n_nodes : 0);
    unsigned n = 0;
    for (uint32_t i = 0; ok && i < made.n_nodes && node_is(&made.nodes[i], OP_FUSED); i++) {
        const struct attr_ints made_of = ((const struct fused_attr *) made.nodes[i].attr)->steps;
        for (uint32_t k = 0; k < made_of.n; k += FUSED_STEP_INTS)
            n += made_of.v[k] == KERN_ROUND_S8;
    }
    check(n == 3, "roundings", n);
    if (ok)
        same_bits(&b, &made, noise(&b, x), 0);
    build_drop(&b);
}

/* ---- products ---- */

static uint32_t bytes(struct build *b, enum dtype type, int rank, const int64_t *dim)
{
    struct tensor *t = tensor_new(&b->arena, type, rank, dim);
    for (int64_t i = 0; i < tensor_count(t); i++)
        tensor_set_f64(t, t->data, i, (double) rnd(256) - (type == DTYPE_I8 ? 128 : 0));
    return graph_add_const(&b->g, "bytes", t);
}

/* Weights as folding leaves them: real, and known to have been bytes, by a scale (and zero) for all
 * or for each of an axis. */
static uint32_t weights(struct build *b, int rank, const int64_t *dim, int axis)
{
    int64_t n = axis < 0 ? 1 : dim[axis], inner = 1;
    uint32_t whole = bytes(b, DTYPE_I8, rank, dim), zero = bytes(b, DTYPE_I8, 1, &n);
    struct quantised *from = arena_new(&b->arena, struct quantised);
    struct tensor *scale = tensor_new(&b->arena, DTYPE_F32, 1, &n),
                  *t = tensor_new(&b->arena, DTYPE_F32, rank, dim);
    *from = (struct quantised) { .whole = b->g.wires[whole].fact.value,
                                 .scale = scale,
                                 .zero = b->g.wires[zero].fact.value,
                                 .axis = axis < 0 ? 0 : axis };
    for (int64_t i = 0; i < n; i++)
        ((float *) scale->data)[i] = (float) (1 + rnd(90)) * 1e-4f;
    for (int i = axis + 1; i < rank && axis >= 0; i++)
        inner *= dim[i];
    for (int64_t i = 0; i < tensor_count(t); i++) {
        int64_t at = i / inner % n, w = tensor_get_i64(from->whole, from->whole->data, i);
        ((float *) t->data)[i] = ((float *) scale->data)[at] *
            (float) (w - tensor_get_i64(from->zero, from->zero->data, at));
    }
    t->from = from;
    return graph_add_const(&b->g, "weights", t);
}

static uint32_t floats(struct build *b, int64_t n)
{
    struct tensor *t = tensor_new(&b->arena, DTYPE_F32, 1, &n);
    for (int64_t i = 0; i < n; i++)
        ((float *) t->data)[i] = (float) rnd(2000) * 1e-3f - 1;
    return graph_add_const(&b->g, "floats", t);
}

static void nearly_same(struct build *b, const struct graph *made, const struct tensor *x,
                        const char *what, long n)
{
    const struct tensor *want[1] = { 0 }, *got[1] = { 0 };
    bool ran = interp_run(&b->g, &x, &b->arena, want, &b->err) == RILL_OK &&
        interp_run(made, &x, &b->arena, got, &b->err) == RILL_OK;
    float worst = 0, most = 0;
    check(ran && tensor_bytes(want[0]) == tensor_bytes(got[0]), b->err.text, n);
    for (int64_t i = 0; ran && i < tensor_count(want[0]); i++) {
        float v = ((const float *) want[0]->data)[i];
        worst = fmaxf(worst, fabsf(v - ((const float *) got[0]->data)[i]));
        most = fmaxf(most, fabsf(v));
    }
    check(ran && worst <= 2e-5f * most, what, n);
}

static const struct product {
    const char *op;
    int64_t dim[3];
    int rank, axis; /* of the weights' scales; -1: one for all */
    bool bias, turned;
    const char *stays; /* why; NULL: it sums whole numbers */
} products[] = {
    { "MatMul", { 80, 64 }, 2, -1, false, false, NULL },
    { "MatMul", { 80, 64 }, 2, 1, false, false, NULL },
    { "MatMul", { 80, 64 }, 2, 0, false, false, "another axis" }, /* that which is summed */
    { "MatMul", { 80, 8 }, 2, -1, false, false, "few weights" },
    { "Gemm", { 80, 64 }, 2, 1, true, false, NULL },
    { "Gemm", { 64, 80 }, 2, 0, true, true, NULL },
    { "Gemm", { 64, 80 }, 2, 1, true, true, "another axis" },
    { "Conv", { 40, 80, 3 }, 3, 0, true, false, NULL },
    { "Conv", { 40, 80, 3 }, 3, -1, false, false, NULL },
    { "Conv", { 40, 80, 3 }, 3, 1, false, false, "another axis" },
};

static uint32_t product_build(struct build *b, const struct product *p, uint32_t x)
{
    static const int64_t ends[] = { 2, 1 };
    struct attr turned = { .name = "transB", .kind = ATTR_INT, .i = p->turned },
                pads = { .name = "pads", .kind = ATTR_INTS, .ints = { 2, ends } };
    bool conv = !strcmp(p->op, "Conv"), gemm = !strcmp(p->op, "Gemm");
    uint32_t in[] = { x, weights(b, p->rank, p->dim, p->axis), WIRE_NONE };
    if (p->bias)
        in[2] = floats(b, p->dim[gemm && !p->turned]);
    return build_node(b, p->op, conv ? &pads : &turned, conv || gemm, in, p->bias ? 3 : 2);
}

static uint32_t product_input(struct build *b, const struct product *p)
{
    bool conv = p->rank == 3;
    struct fact f = { .type = DTYPE_F32,
                      .rank = conv ? 3 : 2,
                      .shape = { dim_int(b->dims, conv ? 1 : 7), dim_int(b->dims, 80),
                                 dim_int(b->dims, 9) } };
    return graph_add_input(&b->g, "x", &f);
}

/* Roundings behind a product of floats are its epilogue. */
static void test_settles_into_product(long k)
{
    struct build b;
    struct graph made;
    build_init(&b);
    uint32_t x = product_input(&b, &products[k]), w = product_build(&b, &products[k], x);
    for (unsigned i = 0; i < 2; i++)
        w = step_relu(&b, rounded(&b, w, &scales[((size_t) k + i) % SCALES]));
    graph_add_output(&b.g, w);
    bool ok = graph_settle(&made, &b.g, NULL, &b.err) == RILL_OK;
    check(ok && made.n_nodes == 1, "one step", ok ? made.n_nodes : 0);
    if (ok)
        same_bits(&b, &made, noise(&b, x), (uint32_t) k);
    build_drop(&b);
}

static void test_product(long k)
{
    const struct product *p = &products[k];
    struct build b;
    struct graph made, live;
    build_init(&b);
    bool conv = p->rank == 3;
    uint32_t x = product_input(&b, p), q = rounded(&b, x, scales), y = product_build(&b, p, q);
    graph_add_output(&b.g, y);
    bool ok = y != WIRE_NONE && graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &made, &b.err) == RILL_OK && graph_check(&live, &b.err) == RILL_OK;
    check(ok, b.err.text, k);
    if (ok) {
        check(count(&live, conv ? OP_CONV_INTEGER : OP_MATMUL_INTEGER) == !p->stays,
              "sums whole numbers where it pays", k);
        const struct node *last = &live.nodes[live.n_nodes - 1];
        check(!p->stays || strstr(product_stays_real(&live, last), p->stays),
              "and says why it does not", k);
        nearly_same(&b, &live, noise(&b, x), "the product that it was", k);
    }
    build_drop(&b);
}

/* ---- transposed convolutions and Einsums ---- */

/* Of one axis or two, whatever fits. */
static uint32_t deconv_build(struct build *b, uint32_t *ret_x)
{
    const int axes = 1 + (int) rnd(2);
    int64_t dim[4] = { 60, 70 }, size[4] = { 1, 60 }, pads[4], strides[2], gaps[2], more[2];
    for (int i = 0; i < axes; i++) {
        strides[i] = 1 + rnd(3);
        gaps[i] = strides[i] == 1 ? 1 + rnd(2) : 1;
        dim[2 + i] = 2 + rnd(4);
        size[2 + i] = 3 + rnd(5);
        more[i] = rnd((uint32_t) strides[i]);
        for (int k = 0; k < 2; k++)
            pads[i + k * axes] = rnd((uint32_t) dim[2 + i]);
    }
    const uint32_t n = (uint32_t) axes;
    const struct attr a[] = {
        { .name = "pads", .kind = ATTR_INTS, .ints = { 2 * n, pads } },
        { .name = "strides", .kind = ATTR_INTS, .ints = { n, strides } },
        { .name = "dilations", .kind = ATTR_INTS, .ints = { n, gaps } },
        { .name = "output_padding", .kind = ATTR_INTS, .ints = { n, more } }
    };
    struct fact f = { .type = DTYPE_F32, .rank = 2 + axes };
    for (int i = 0; i < f.rank; i++)
        f.shape[i] = dim_int(b->dims, size[i]);
    *ret_x = graph_add_input(&b->g, "x", &f);
    uint32_t in[] = { rounded(b, *ret_x, scales), weights(b, f.rank, dim, rnd(2) ? 1 : -1),
                      floats(b, dim[1]) };
    return build_node(b, "ConvTranspose", a, 4, in, 2 + rnd(2));
}

static uint32_t einsum_build(struct build *b, uint32_t *ret_x)
{
    static const struct {
        const char *text;
        int rank, axis; /* of x; of the weights' scales */
        int64_t x[4], w[3];
    } all[] = {
        { "abk,kn->abn", 3, 1, { 3, 4, 70 }, { 70, 60 } },
        { "akb,nk->nba", 3, 0, { 3, 70, 4 }, { 60, 70 } },
        { "kn,bkc->bcn", 3, 1, { 3, 70, 4 }, { 70, 60 } },
        { "btgi,gih->btgh", 4, 2, { 1, 5, 4, 30 }, { 4, 30, 50 } },
        { "tig,hgi->gth", 3, 0, { 5, 30, 4 }, { 50, 4, 30 } },
    };
    const uint32_t k = rnd(sizeof all / sizeof *all);
    const bool first = all[k].text[0] == 'k'; /* the weights stand first */
    const struct attr a = { .name = "equation",
                            .kind = ATTR_STRINGS,
                            .strings = { 1, &all[k].text } };
    struct fact f = { .type = DTYPE_F32, .rank = all[k].rank };
    for (int i = 0; i < f.rank; i++)
        f.shape[i] = dim_int(b->dims, all[k].x[i]);
    *ret_x = graph_add_input(&b->g, "x", &f);
    uint32_t x = rounded(b, *ret_x, scales),
             w = weights(b, all[k].w[2] ? 3 : 2, all[k].w, rnd(2) ? all[k].axis : -1);
    return build_node(b, "Einsum", &a, 1, (uint32_t[]) { first ? w : x, first ? x : w }, 2);
}

static void test_forms(long k)
{
    struct build b;
    struct graph made, live, settled;
    build_init(&b);
    uint32_t x, y = k % 3 ? deconv_build(&b, &x) : einsum_build(&b, &x);
    graph_add_output(&b.g, y);
    bool ok = y != WIRE_NONE && graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &made, &b.err) == RILL_OK && graph_check(&live, &b.err) == RILL_OK &&
        graph_settle(&settled, &live, NULL, &b.err) == RILL_OK;
    check(ok, b.err.text, k);
    if (ok) {
        const struct tensor *in = noise(&b, x);
        check(count(&live, k % 3 ? OP_CONV_INTEGER : OP_MATMUL_INTEGER) == 1, "sums integers", k);
        nearly_same(&b, &live, in, "the product that it was", k);
        same_bits_of(&b, &live, &settled, in, (uint32_t) k);
    }
    build_drop(&b);
}

/* All within one step of the scale, nearly all the same: those on halves may fall to either side.
 */
static void within_step(struct build *b, const struct graph *made, const struct tensor *x,
                        float scale, const char *what, long n)
{
    const struct tensor *want[1] = { 0 }, *got[1] = { 0 };
    bool ran = interp_run(&b->g, &x, &b->arena, want, &b->err) == RILL_OK &&
        interp_run(made, &x, &b->arena, got, &b->err) == RILL_OK;
    int64_t all = ran ? tensor_count(want[0]) : 0, other = 0;
    float worst = 0;
    for (int64_t i = 0; i < all; i++) {
        float d = fabsf(((const float *) want[0]->data)[i] - ((const float *) got[0]->data)[i]);
        other += d > 0;
        worst = fmaxf(worst, d);
    }
    check(ran && worst <= scale * 1.001f && other * 200 <= all, what, n);
}

/* None, Relu, LeakyRelu, Clip, or a Clip of a LeakyRelu. */
#define FUNCTIONS 5
static uint32_t function_build(struct build *b, unsigned k, uint32_t y)
{
    struct attr slope = { .name = "alpha", .kind = ATTR_FLOAT, .f = .2f };
    if (k == 1)
        return build_node(b, "Relu", NULL, 0, &y, 1);
    if (k == 2 || k == 4)
        y = build_node(b, "LeakyRelu", &slope, 1, &y, 1);
    if (k > 2)
        y = build_node(b, "Clip", NULL, 0,
                       (uint32_t[]) { y, build_number(b, DTYPE_F32, -4.2),
                                      build_number(b, DTYPE_F32, 6) },
                       3);
    return y;
}

/* Of many places, between bytes: one product that gives bytes. */
static void test_bytes(long k)
{
    const struct product p = { "Conv", { 4, 80, 3 }, 3, k & 1 ? 0 : -1, k & 2, false, NULL };
    const struct scale to = { .5f, k & 4 ? DTYPE_U8 : DTYPE_I8, k & 4 ? 100 : -3 };
    struct build b;
    struct graph made, live, settled;
    build_init(&b);
    struct fact f = { .type = DTYPE_F32,
                      .rank = 3,
                      .shape = { dim_int(b.dims, 1), dim_int(b.dims, 80), dim_int(b.dims, 120) } };
    uint32_t x = graph_add_input(&b.g, "x", &f);
    uint32_t y = product_build(&b, &p,
                               quantise(&b, quantise(&b, x, scales, "QuantizeLinear"), scales,
                                        "DequantizeLinear"));
    y = function_build(&b, (unsigned) k / 8, y);
    graph_add_output(&b.g,
                     quantise(&b, quantise(&b, y, &to, "QuantizeLinear"), &to, "DequantizeLinear"));
    bool ok = graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &made, &b.err) == RILL_OK &&
        graph_settle(&settled, &live, NULL, &b.err) == RILL_OK;
    check(ok, b.err.text, k);
    if (ok) {
        const struct tensor *in = noise(&b, x);
        check(count(&settled, OP_CONV_INTEGER) == 1 && count(&settled, OP_CAST) == 0 &&
                  count(&settled, OP_QUANTIZE_LINEAR) == 1 && count(&settled, OP_RELU) == 0 &&
                  count(&settled, OP_CLIP) == 0 && count(&settled, OP_PRELU) == 0,
              "a convolution between bytes is one step", k);
        within_step(&b, &live, in, to.scale, "the convolution that it was", k);
        within_step(&b, &settled, in, to.scale, "the convolution that it was, settled", k);
    }
    build_drop(&b);
}

/* ---- channels last ---- */

static uint32_t byte_again(struct build *b, uint32_t w, const struct scale *s)
{
    return quantise(b, quantise(b, w, s, "QuantizeLinear"), s, "DequantizeLinear");
}

/* Of all outputs one zero, which may be a list of the same, or none. */
static uint32_t conv_weights(struct build *b, const int64_t *dim)
{
    uint32_t w = weights(b, 4, dim, rnd(2) ? 0 : -1);
    struct quantised *from = (struct quantised *) b->g.wires[w].fact.value->from;
    struct tensor *t = (struct tensor *) b->g.wires[w].fact.value;
    if (tensor_count(from->scale) == 1)
        return w;
    const int zero = rnd(2) ? 7 : 0;
    for (int64_t i = 0; i < tensor_count(from->zero); i++)
        ((int8_t *) from->zero->data)[i] = (int8_t) zero;
    from->zero = zero || rnd(2) ? from->zero : NULL;
    for (int64_t i = 0, each = tensor_count(t) / dim[0]; i < tensor_count(t); i++)
        ((float *) t->data)[i] = ((const float *) from->scale->data)[i / each] *
            (float) (tensor_get_i64(from->whole, from->whole->data, i) - zero);
    return w;
}

/* Full or depthwise, with pads, strides and gaps. */
static uint32_t part_conv(struct build *b, uint32_t w, const struct scale *s)
{
    const struct tensor x = shape_of(b, w);
    const int64_t deep = rnd(3) == 0 && x.dim[1] > 1, n = deep ? x.dim[1] : 30 + rnd(20);
    const int64_t dim[] = { n, deep ? 1 : x.dim[1], 1 + rnd(3), 1 + rnd(3) };
    int64_t pads[] = { rnd(2), rnd(3), rnd(3), rnd(2) }, strides[] = { 1 + rnd(2), 1 + rnd(2) },
            gaps[] = { 1 + rnd(2), 1 };
    const struct attr a[] = { { .name = "pads", .kind = ATTR_INTS, .ints = { 4, pads } },
                              { .name = "strides", .kind = ATTR_INTS, .ints = { 2, strides } },
                              { .name = "dilations", .kind = ATTR_INTS, .ints = { 2, gaps } },
                              { .name = "group", .kind = ATTR_INT, .i = deep ? n : 1 } };
    if ((dim[2] - 1) * gaps[0] + 1 > x.dim[2] || dim[3] > x.dim[3])
        return w;
    w = build_node(b, "Conv", a, 4, (uint32_t[]) { w, conv_weights(b, dim), floats(b, n) }, 3);
    return byte_again(b, rnd(2) ? w : build_node(b, "Relu", NULL, 0, &w, 1), s);
}

/* One number above 0 for each channel, of that rank. */
static uint32_t channel_numbers(struct build *b, int64_t channels, int rank)
{
    const int64_t dim[] = { channels, 1, 1 };
    struct tensor *t = tensor_new(&b->arena, DTYPE_F32, rank, dim);
    for (int64_t i = 0; i < channels; i++)
        ((float *) t->data)[i] = .3f + .01f * (float) rnd(100);
    return graph_add_const(&b->g, "numbers", t);
}

/* A function with numbers of each channel, perhaps rounded before the next. */
static uint32_t part_channels(struct build *b, uint32_t w, const struct scale *s)
{
    const int64_t n = shape_of(b, w).dim[1];
    const uint32_t v = channel_numbers(b, n, 1), slope = channel_numbers(b, n, 3);
    w = rnd(2) ? w
               : build_node(b, "BatchNormalization", NULL, 0, (uint32_t[]) { w, v, v, v, v }, 5);
    w = rnd(2) ? w : byte_again(b, w, s);
    if (rnd(2))
        return byte_again(b, build_node(b, "HardSwish", NULL, 0, &w, 1), s);
    return byte_again(b, build_node(b, "PRelu", NULL, 0, (uint32_t[]) { w, slope }, 2), s);
}

/* A pool, a function, or a sum with what was there before. */
static uint32_t part_other(struct build *b, uint32_t w, const struct scale *s)
{
    static const int64_t two[] = { 2, 2 }, ends[] = { 1, 0, 1, 1 };
    const struct attr a[] = { { .name = "kernel_shape", .kind = ATTR_INTS, .ints = { 2, two } },
                              { .name = "pads", .kind = ATTR_INTS, .ints = { 4, ends } } };
    uint32_t y;
    switch (rnd(5)) {
    case 0: return byte_again(b, build_node(b, "MaxPool", a, 2, &w, 1), s);
    case 1: return byte_again(b, build_node(b, "LeakyRelu", NULL, 0, &w, 1), s);
    case 2:
    case 3: return part_channels(b, w, s);
    default:
        y = byte_again(b, build_node(b, "LeakyRelu", NULL, 0, &w, 1), s);
        return byte_again(b, build_node(b, "Add", NULL, 0, (uint32_t[]) { w, y }, 2), s);
    }
}

/* Convolutions between bytes turn their channels, and nothing else changes. */
static void test_parts(uint32_t round, unsigned *turned, unsigned *tables)
{
    const struct scale s = { .1f, round % 2 ? DTYPE_U8 : DTYPE_I8, round % 2 ? 120 : -3 };
    struct build b;
    struct graph made, live, settled;
    build_init(&b);
    struct fact f = { .type = DTYPE_F32,
                      .rank = 4,
                      .shape = { dim_int(b.dims, 1 + rnd(2)), dim_int(b.dims, 1 + rnd(4)),
                                 dim_int(b.dims, 16 + rnd(9)), dim_int(b.dims, 16 + rnd(9)) } };
    uint32_t x = graph_add_input(&b.g, "x", &f), w = byte_again(&b, x, &s);
    for (unsigned i = 0; i < 5; i++) {
        w = rnd(3) ? part_conv(&b, w, &s) : part_other(&b, w, &s);
        if (rnd(4) == 0)
            graph_add_output(&b.g, w);
    }
    graph_add_output(&b.g, byte_again(&b, build_node(&b, "GlobalAveragePool", NULL, 0, &w, 1), &s));
    bool ok = graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &made, &b.err) == RILL_OK &&
        graph_settle(&settled, &live, NULL, &b.err) == RILL_OK &&
        graph_check(&settled, &b.err) == RILL_OK;
    check(ok, b.err.text, round);
    if (ok) {
        same_bits_of(&b, &live, &settled, noise(&b, x), round);
        *turned += count(&settled, OP_BYTE_CONV);
        *tables += count(&settled, OP_BYTE_TABLES);
    }
    build_drop(&b);
}

/* The mean of bytes is that of floats within a step; by this scale none is a tie. */
static void test_mean(void)
{
    struct build b;
    struct graph made, live;
    build_init(&b);
    struct fact f = { .type = DTYPE_F32,
                      .rank = 4,
                      .shape = { dim_int(b.dims, 2), dim_int(b.dims, 150), dim_int(b.dims, 5),
                                 dim_int(b.dims, 9) } };
    const struct scale to = { .0213f, DTYPE_U8, 130 };
    uint32_t x = graph_add_input(&b.g, "x", &f), w = byte_again(&b, x, &scales[2]);
    graph_add_output(&b.g,
                     byte_again(&b, build_node(&b, "GlobalAveragePool", NULL, 0, &w, 1), &to));
    bool ok = graph_declutter(&made, &b.g, NULL, &b.err) == RILL_OK &&
        graph_pruned(&live, &made, &b.err) == RILL_OK;
    check(ok && count(&live, OP_BYTE_POOL) == 1, b.err.text, 0);
    if (ok)
        within_step(&b, &live, noise(&b, x), to.scale, "the mean that it was", 0);
    build_drop(&b);
}

/* A product of a single vector gives bytes, as one of rows does. */
static void test_vector(int rank)
{
    static const int64_t dim[] = { 20, 24 };
    struct attr to = { .name = "to", .kind = ATTR_INT, .i = DTYPE_F32 };
    struct build b;
    struct graph settled;
    build_init(&b);
    struct fact f = { .type = DTYPE_F32,
                      .rank = rank,
                      .shape = { dim_int(b.dims, rank > 1 ? 3 : 20), dim_int(b.dims, 20) } };
    uint32_t x = graph_add_input(&b.g, "x", &f);
    uint32_t in[] = { quantise(&b, x, scales, "QuantizeLinear"), bytes(&b, DTYPE_I8, 2, dim) };
    uint32_t y = build_node(&b, "MatMulInteger", NULL, 0, in, 2);
    y = build_node(&b, "Cast", &to, 1, &y, 1);
    y = build_node(&b, "Mul", NULL, 0, (uint32_t[]) { y, build_number(&b, DTYPE_F32, 1e-3) }, 2);
    graph_add_output(&b.g, quantise(&b, y, &(struct scale) { 1, DTYPE_U8, 99 }, "QuantizeLinear"));
    bool ok = graph_settle(&settled, &b.g, NULL, &b.err) == RILL_OK;
    check(ok, b.err.text, rank);
    check(ok && settled.n_nodes == 2, "a vector's product is one step", rank);
    if (ok)
        same_bits(&b, &settled, noise(&b, x), (uint32_t) rank);
    build_drop(&b);
}

int main(void)
{
    unsigned turned = 0, tables = 0;
    for (uint32_t i = 0; i < PARTS; i++)
        test_parts(i, &turned, &tables);
    check(turned > PARTS, "convolutions are turned", turned);
    check(tables > PARTS / 20, "functions of channels are tables", tables);
    test_mean();
    test_vector(1);
    test_vector(2);
    for (long k = 0; k < 8 * FUNCTIONS; k++)
        test_bytes(k);
    for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
        test_product((long) k);
        test_settles_into_product((long) k);
    }
    for (long k = 0; k < FORMS; k++)
        test_forms(k);
    for (uint32_t i = 0; i < ROUNDS; i++)
        test_chain(i);
    test_only_moves();
    for (size_t k = 0; k < SCALES; k++)
        test_settles_to_floats(&scales[k]);
    for (long k = 0; k < 3; k++)
        test_settles_to_a_program(k);
    test_settles_before_moves();
    test_settles_many_moves();
    return check_done();
}
