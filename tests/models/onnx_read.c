/* SPDX-License-Identifier: MIT */
/* Good files: every encoding, old forms of ops, names, bodies. What is read is run and compared. */
#include "engine/rewrite/declutter/declutter.h"
#include "engine/typing/interp.h"
#include "engine/typing/typed.h"
#include "models/onnx/describe.h"
#include "models/onnx/reader.h"
#include "tests/check.h"
#include "tests/models/sample.h"

#include <math.h>
#include <time.h>

struct run {
    struct arena arena;
    struct dims *dims;
    struct mgraph m;
    rill_error err;
    const struct tensor *out[8];
    bool ok;
};

/* Takes the file's memory. */
static void run_open(struct run *r, struct pb file)
{
    *r = (struct run) { .dims = dims_new() };
    struct bytes b = { .data = file.data, .n = file.n };
    r->ok = mgraph_from_onnx(&r->m, &r->arena, r->dims, &b, NULL, &r->err) == RILL_OK;
    CHECK(r->ok, "%s", r->err.text);
    free(file.data); /* nothing of the graph may lie in the file */
}

static void run_eval(struct run *r, const struct tensor *const *in)
{
    r->ok = r->ok && interp_run(&r->m.g, in, &r->arena, r->out, &r->err) == RILL_OK;
    CHECK(r->ok, "%s", r->err.text);
}

static void run_drop(struct run *r)
{
    arena_drop(&r->arena);
    dims_free(r->dims);
}

static void expect_floats(const struct run *r, unsigned k, const char *what, const float *want,
                          int64_t n)
{
    if (!r->ok)
        return;
    const struct tensor *t = r->out[k];
    CHECK(tensor_count(t) == n, "%s: %lld values", what, (long long) tensor_count(t));
    for (int64_t i = 0; i < n && i < tensor_count(t); i++) {
        double v = tensor_get_f64(t, t->data, i);
        CHECK(fabs(v - (double) want[i]) <= 1e-6 * (1 + fabs((double) want[i])),
              "%s [%lld]: %g for %g", what, (long long) i, v, (double) want[i]);
    }
}

static struct tensor of_floats(float *v, int rank, int64_t d0, int64_t d1)
{
    return (struct tensor) { .type = DTYPE_F32, .rank = rank, .dim = { d0, d1 }, .data = v };
}

/* ---- encodings: a constant of every type, in every way ---- */

static struct pb constant_model(struct pb tensor)
{
    struct pb g = { 0 };
    pb_message(&g, GRAPH_CONST, tensor);
    pb_message(&g, GRAPH_OUTPUT, make_value("w", 1, DIMS(3)));
    return make_model(g, 13);
}

static void expect_constant(const char *what, struct pb tensor, enum dtype type)
{
    static const float want[3] = { 1, 0, 3 };
    struct run r;
    run_open(&r, constant_model(tensor));
    run_eval(&r, NULL);
    expect_floats(&r, 0, what, want, 3);
    CHECK(!r.ok || r.out[0]->type == type, "%s: is %s", what, dtype_name(r.out[0]->type));
    run_drop(&r);
}

static struct pb varints(int64_t type, unsigned field, bool packed, const uint64_t *v)
{
    struct pb t = make_tensor("w", type, DIMS(3)), list = { 0 };
    for (int i = 0; i < 3; i++) {
        if (packed)
            pb_varint(&list, v[i]);
        else
            pb_int(&t, field, (int64_t) v[i]);
    }
    if (packed)
        pb_message(&t, field, list);
    return t;
}

static void test_encodings(void)
{
    static const uint64_t whole[] = { 1, 0, 3 }, half[] = { 0x3c00, 0, 0x4200 },
                          brain[] = { 0x3f80, 0, 0x4040 };
    static const float f[] = { 1, 0, 3 };
    static const double d[] = { 1, 0, 3 };
    static const int16_t s[] = { 1, 0, 3 };
    static const struct {
        int64_t code;
        unsigned field;
        enum dtype type;
    } lists[] = { { 2, TENSOR_INT32S, DTYPE_U8 },    { 3, TENSOR_INT32S, DTYPE_I8 },
                  { 4, TENSOR_INT32S, DTYPE_U16 },   { 5, TENSOR_INT32S, DTYPE_I16 },
                  { 6, TENSOR_INT32S, DTYPE_I32 },   { 7, TENSOR_INT64S, DTYPE_I64 },
                  { 12, TENSOR_UINT64S, DTYPE_U32 }, { 13, TENSOR_UINT64S, DTYPE_U64 } };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (int packed = 0; packed < 2; packed++)
            expect_constant(dtype_name(lists[i].type),
                            varints(lists[i].code, lists[i].field, packed, whole), lists[i].type);
    expect_constant("f16 list", varints(10, TENSOR_INT32S, true, half), DTYPE_F16);
    expect_constant("bf16 list", varints(16, TENSOR_INT32S, true, brain), DTYPE_BF16);
    expect_constant("f32 raw", make_raw("w", 1, DIMS(3), f, sizeof f), DTYPE_F32);
    expect_constant("f64 raw", make_raw("w", 11, DIMS(3), d, sizeof d), DTYPE_F64);
    expect_constant("i16 raw", make_raw("w", 5, DIMS(3), s, sizeof s), DTYPE_I16);
    struct pb packed = make_tensor("w", 1, DIMS(3)), loose = make_tensor("w", 1, DIMS(3));
    pb_bytes(&packed, TENSOR_FLOATS, f, sizeof f);
    for (int i = 0; i < 3; i++)
        pb_float(&loose, TENSOR_FLOATS, f[i]);
    expect_constant("f32 packed", packed, DTYPE_F32);
    expect_constant("f32 loose", loose, DTYPE_F32);
    struct pb doubles = make_tensor("w", 11, DIMS(3));
    pb_bytes(&doubles, TENSOR_DOUBLES, d, sizeof d);
    expect_constant("f64 packed", doubles, DTYPE_F64);
}

static void test_bool(void)
{
    static const uint8_t raw[] = { 1, 0, 255 };
    static const float want[3] = { 1, 0, 1 };
    struct run r;
    run_open(&r, constant_model(make_raw("w", 9, DIMS(3), raw, 3)));
    run_eval(&r, NULL);
    expect_floats(&r, 0, "bool 255 is 1", want, 3);
    run_drop(&r);
}

/* ---- the sample: If and Scan with captures, lists, metadata ---- */

static void test_sample(bool flag)
{
    float v[6] = { 1, 1, 1, 1, 1, 1 }, sum[6] = { 2, -1, 4, -3, 6, -5 }, y[6], total[2] = { 0, 0 },
          h[3] = { 0, 1, 2 };
    struct tensor x = of_floats(v, 2, 2, 3), c = { .type = DTYPE_BOOL, .data = &flag };
    for (int i = 0; i < 6; i++)
        sum[i] = flag ? (sum[i] > 0 ? sum[i] : 0) : sum[i] + (float) (i % 3);
    for (int row = 1; row >= 0; row--) /* backwards */
        for (int i = 0; i < 3; i++) {
            h[i] += sum[row * 3 + i];
            y[(1 - row) * 3 + i] = h[i] * (float) i;
            total[1 - row] += h[i] * (float) i;
        }
    struct run r;
    run_open(&r, sample_model());
    run_eval(&r, (const struct tensor *[]) { &x, &c });
    expect_floats(&r, 0, "y", y, 6);
    expect_floats(&r, 1, "total", total, 2);
    CHECK(r.m.g.n_meta == 1 && !strcmp(r.m.g.meta[0].key, "sample_rate") &&
              !strcmp(r.m.g.meta[0].value, "16000"),
          "metadata");
    run_drop(&r);
}

/* ---- names and dimensions ---- */

static void test_names(void)
{
    static const char odd[] = "\x01{\"a\": \\\xc3\xa9}",
                      other[] = "\x02\xe2\x80\xae\": \xe2\x82\xac\xc3\xa9}";
    struct pb g = { 0 }, node = { 0 }, in = { 0 }, out = { 0 };
    pb_text(&node, NODE_INPUT, odd);
    pb_text(&node, NODE_OUTPUT, other);
    pb_text(&node, NODE_OP, "Neg");
    pb_text(&in, 1, odd);
    pb_text(&out, 1, other);
    pb_message(&g, GRAPH_INPUT, in);
    pb_message(&g, GRAPH_NODE, node);
    pb_message(&g, GRAPH_OUTPUT, out);
    struct run r;
    run_open(&r, make_model(g, 13));
    CHECK(!strcmp(r.m.g.wires[r.m.g.inputs[0]].name, "\\x01{\"a\": \\\xc3\xa9}"), "%s",
          r.m.g.wires[r.m.g.inputs[0]].name);
    CHECK(!strcmp(r.m.g.nodes[0].name, "\\x02\\xe2\\x80\\xae\": \xe2\x82\xac\xc3\xa9}"), "%s",
          r.m.g.nodes[0].name);
    CHECK(r.m.g.wires[r.m.g.inputs[0]].fact.rank == -1, "nothing is declared");
    run_drop(&r);
}

static struct pb named_dim(const char *name)
{
    struct pb d = { 0 };
    pb_text(&d, 2, name);
    return d;
}

static void test_dims(void)
{
    static const char *const names[] = { "batch size", "batch_size", "batch size", "?", "9", "" };
    struct pb value = { 0 }, t = { 0 }, tensor = { 0 }, shape = { 0 }, g = { 0 };
    for (int i = 0; i < 6; i++)
        pb_message(&shape, 1, named_dim(names[i]));
    pb_int(&tensor, 1, 1);
    pb_message(&tensor, 2, shape);
    pb_message(&t, 1, tensor);
    pb_text(&value, 1, "x");
    pb_message(&value, 2, t);
    pb_message(&g, GRAPH_INPUT, value);
    pb_message(&g, GRAPH_NODE, make_node("Neg", "x", "y"));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1)));
    struct run r;
    run_open(&r, make_model(g, 13));
    const struct dim *const *d = r.m.g.wires[r.m.g.inputs[0]].fact.shape;
    CHECK(d[0] == dim_symbol(r.dims, "batch_size"), "a blank becomes _");
    CHECK(d[0] == d[2] && d[0] != d[1], "names that only differ in odd characters stay apart");
    CHECK(d[3] != d[5] && d[3] != d[4] && d[4] == dim_symbol(r.dims, "_9"),
          "unnamed ones are all different");
    run_drop(&r);
}

/* An initializer that is also listed as an input is a constant. */
static void test_listed_constant(void)
{
    static const float w[2] = { 10, 20 };
    float v[2] = { 1, 2 }, want[2] = { 11, 22 };
    struct tensor x = of_floats(v, 1, 2, 0);
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("w", 1, DIMS(2)));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2)));
    pb_message(&g, GRAPH_CONST, make_raw("w", 1, DIMS(2), w, sizeof w));
    pb_message(&g, GRAPH_NODE, make_node("Add", "x w", "y"));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(2)));
    struct run r;
    run_open(&r, make_model(g, 9));
    CHECK(r.m.g.n_inputs == 1, "%u inputs", r.m.g.n_inputs);
    run_eval(&r, (const struct tensor *[]) { &x });
    expect_floats(&r, 0, "x + w", want, 2);
    run_drop(&r);
}

/* ---- captures ---- */

/* then: If(flag) { then: x + k } else {...}: x and k come from two graphs out. */
static struct pb branch_of(struct pb node)
{
    struct pb g = { 0 };
    pb_message(&g, GRAPH_NODE, node);
    pb_message(&g, GRAPH_OUTPUT, make_value("r", 1, DIMS(2)));
    return g;
}

static void test_captures(void)
{
    static const float k[2] = { 100, 200 };
    float v[2] = { 1, 2 }, yes[2] = { 101, 202 }, no[2] = { -1, -2 };
    bool flag = true;
    struct tensor x = of_floats(v, 1, 2, 0), c = { .type = DTYPE_BOOL, .data = &flag };
    struct pb inner = make_node("If", "flag", "r"), outer = make_node("If", "flag", "y"), g = { 0 };
    inner =
        sample_attr(inner, make_graph_attr("then_branch", branch_of(make_node("Add", "x k", "r"))));
    inner = sample_attr(inner,
                        make_graph_attr("else_branch", branch_of(make_node("Identity", "x", "r"))));
    outer = sample_attr(outer, make_graph_attr("then_branch", branch_of(inner)));
    outer =
        sample_attr(outer, make_graph_attr("else_branch", branch_of(make_node("Neg", "x", "r"))));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2)));
    pb_message(&g, GRAPH_INPUT, make_value("flag", 9, (const int64_t[]) { -1 }));
    pb_message(&g, GRAPH_CONST, make_raw("k", 1, DIMS(2), k, sizeof k));
    pb_message(&g, GRAPH_NODE, outer);
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(2)));
    struct run r;
    run_open(&r, make_model(g, 13));
    const struct node *n = &r.m.g.nodes[0];
    CHECK(n->n_in == 4 && n->n_body == 2 && n->body[0]->n_inputs == 3 && n->body[1]->n_inputs == 3,
          "%u inputs", n->n_in);
    run_eval(&r, (const struct tensor *[]) { &x, &c });
    expect_floats(&r, 0, "flag", yes, 2);
    flag = false;
    run_eval(&r, (const struct tensor *[]) { &x, &c });
    expect_floats(&r, 0, "not flag", no, 2);
    run_drop(&r);
}

/* ---- Loops that are written out ---- */

/* Adds a constant, which both loops call w. */
static struct pb adding_loop(const char *in, const char *out, const float *w)
{
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("i", 7, (const int64_t[]) { -1 }));
    pb_message(&g, GRAPH_INPUT, make_value("c", 9, (const int64_t[]) { -1 }));
    pb_message(&g, GRAPH_INPUT, make_value("s", 1, DIMS(2)));
    pb_message(&g, GRAPH_CONST, make_raw("w", 1, DIMS(2), w, 2 * sizeof *w));
    pb_message(&g, GRAPH_NODE, make_node("Identity", "c", "d"));
    pb_message(&g, GRAPH_NODE, make_node("Add", "s w", "t"));
    pb_message(&g, GRAPH_OUTPUT, make_value("d", 9, (const int64_t[]) { -1 }));
    pb_message(&g, GRAPH_OUTPUT, make_value("t", 1, DIMS(2)));
    return sample_attr(make_node("Loop", in, out), make_graph_attr("body", g));
}

static bool names_differ(const struct graph *g)
{
    for (uint32_t a = 0; a < g->n_wires; a++)
        for (uint32_t b = a + 1; b < g->n_wires; b++)
            if (!strcmp(g->wires[a].name, g->wires[b].name))
                return false;
    return true;
}

static void test_loops_written_out(void)
{
    static const float a[2] = { 1, 2 }, b[2] = { 10, 20 };
    static const int64_t trips = 2;
    float v[2] = { 0.5f, 1 }, want[2] = { 22.5f, 45 };
    struct tensor x = of_floats(v, 1, 2, 0);
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2)));
    pb_message(&g, GRAPH_CONST, make_raw("n", 7, (const int64_t[]) { -1 }, &trips, sizeof trips));
    pb_message(&g, GRAPH_NODE, adding_loop("n - x", "m", a));
    pb_message(&g, GRAPH_NODE, adding_loop("n - m", "y", b));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(2)));
    struct run r;
    run_open(&r, make_model(g, 13));
    run_eval(&r, (const struct tensor *[]) { &x });
    expect_floats(&r, 0, "loops", want, 2);
    CHECK(r.ok && names_differ(&r.m.g), "two wires have one name");
    run_drop(&r);
}

/* ---- nodes in another order than they run ---- */

/* y = -relu(x) + k where x is not negative: what the branches read comes later than their If, one
 * of them has its own nodes the wrong way round, and so has the graph. */
static struct pb disordered(void)
{
    static const float k[2] = { 100, 200 };
    struct pb g = { 0 }, node = make_node("If", "flag", "y"), then = { 0 };
    pb_message(&then, GRAPH_NODE, make_node("Add", "n k", "r"));
    pb_message(&then, GRAPH_NODE, make_node("Neg", "late", "n"));
    pb_message(&then, GRAPH_OUTPUT, make_value("r", 1, DIMS(2)));
    node = sample_attr(node, make_graph_attr("then_branch", then));
    node =
        sample_attr(node,
                    make_graph_attr("else_branch", branch_of(make_node("Identity", "later", "r"))));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2)));
    pb_message(&g, GRAPH_CONST, make_raw("k", 1, DIMS(2), k, sizeof k));
    pb_message(&g, GRAPH_NODE, make_node("Abs", "x", "first"));
    pb_message(&g, GRAPH_NODE, node);
    pb_message(&g, GRAPH_NODE, make_node("Greater", "first later", "flags"));
    pb_message(&g, GRAPH_NODE, make_node("ReduceMax", "flags_u", "flag_u"));
    pb_message(&g, GRAPH_NODE,
               sample_attr(make_node("Cast", "flags", "flags_u"), make_int_attr("to", 1)));
    pb_message(&g, GRAPH_NODE,
               sample_attr(make_node("Cast", "flag_u", "flag"), make_int_attr("to", 9)));
    pb_message(&g, GRAPH_NODE, make_node("Neg", "late", "later"));
    pb_message(&g, GRAPH_NODE, make_node("Relu", "x", "late"));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(2)));
    return make_model(g, 13);
}

/* A node that is late comes just before the first that reads it; the others stay in their order. */
static void test_disordered(void)
{
    static const char *const order[] = { "first",   "late",   "later", "flags",
                                         "flags_u", "flag_u", "flag",  "y" };
    float v[2] = { 3, 4 }, up[2] = { 97, 196 }, zero[2] = { 0, 0 };
    struct tensor x = of_floats(v, 1, 2, 0);
    struct run r;
    run_open(&r, disordered());
    CHECK(r.ok && r.m.g.n_nodes == 8, "%u nodes", r.m.g.n_nodes);
    for (unsigned i = 0; r.ok && i < 8; i++)
        CHECK(!strcmp(r.m.g.nodes[i].name, order[i]), "node %u is '%s', not '%s'", i,
              r.m.g.nodes[i].name, order[i]);
    run_eval(&r, (const struct tensor *[]) { &x });
    expect_floats(&r, 0, "then", up, 2);
    v[0] = v[1] = 0;
    run_eval(&r, (const struct tensor *[]) { &x });
    expect_floats(&r, 0, "else", zero, 2);
    run_drop(&r);
}

/* A chain of which the last node comes first. */
static void test_long_disorder(void)
{
    enum { N = 100000 };
    struct pb g = { 0 };
    for (int i = N; i > 0; i--) {
        char from[16], to[16];
        snprintf(from, sizeof from, "v%d", i - 1);
        snprintf(to, sizeof to, "v%d", i);
        pb_message(&g, GRAPH_NODE, make_node("Neg", from, to));
    }
    pb_message(&g, GRAPH_INPUT, make_value("v0", 1, DIMS(2)));
    pb_message(&g, GRAPH_OUTPUT, make_value("v100000", 1, DIMS(2)));
    struct run r;
    run_open(&r, make_model(g, 13));
    CHECK(r.ok && r.m.g.n_nodes == N && !strcmp(r.m.g.nodes[N - 1].name, "v100000"), "the chain");
    run_drop(&r);
}

/* ---- old forms ---- */

/* One node on x f32[2,3] = 1..6, with up to two constants, at an opset. */
static void expect_node(const char *what, struct pb node, int64_t opset, struct pb constant,
                        struct pb second, const float *want, int64_t n)
{
    float v[6] = { 1, 2, 3, 4, 5, 6 };
    struct tensor x = of_floats(v, 2, 2, 3);
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2, 3)));
    if (constant.n)
        pb_message(&g, GRAPH_CONST, constant);
    if (second.n)
        pb_message(&g, GRAPH_CONST, second);
    pb_message(&g, GRAPH_NODE, node);
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1)));
    struct run r;
    run_open(&r, make_model(g, opset));
    run_eval(&r, (const struct tensor *[]) { &x });
    expect_floats(&r, 0, what, want, n);
    run_drop(&r);
}

#define expect_old(what, node, opset, constant, want, n)                                           \
    expect_node(what, node, opset, constant, (struct pb) { 0 }, want, n)

static struct pb float_attr(const char *name, float v)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    pb_float(&p, ATTR_F_, v);
    pb_int(&p, ATTR_TYPE_, 1);
    return p;
}

#define INTS(name, ...)                                                                            \
    make_ints_attr(name, (const int64_t[]) { __VA_ARGS__ },                                        \
                   sizeof(const int64_t[]) { __VA_ARGS__ } / sizeof(int64_t))
#define FLOATS(...) ((const float[]) { __VA_ARGS__ })
#define NONE ((struct pb) { 0 })

static void test_old_axes(void)
{
    expect_old("ReduceSum 11", sample_attr(make_node("ReduceSum", "x", "y"), INTS("axes", 1)), 11,
               NONE, FLOATS(6, 15), 2);
    expect_old("ReduceMax 13", sample_attr(make_node("ReduceMax", "x", "y"), INTS("axes", 0)), 13,
               NONE, FLOATS(4, 5, 6), 3);
    expect_old("ReduceMean 7", make_node("ReduceMean", "x", "y"), 7, NONE, FLOATS(3.5f), 1);
    expect_old("Unsqueeze 11", sample_attr(make_node("Unsqueeze", "x", "y"), INTS("axes", 0, 3)),
               11, NONE, FLOATS(1, 2, 3, 4, 5, 6), 6);
    expect_old("TopK 9", sample_attr(make_node("TopK", "x", "y"), make_int_attr("k", 2)), 9, NONE,
               FLOATS(3, 2, 6, 5), 4);
    struct pb slice = sample_attr(make_node("Slice", "x", "y"), INTS("starts", 1));
    slice = sample_attr(slice, INTS("ends", INT64_MAX));
    expect_old("Slice 9", sample_attr(slice, INTS("axes", 1)), 9, NONE, FLOATS(2, 3, 5, 6), 4);
}

static void test_old_attrs(void)
{
    struct pb clip = sample_attr(make_node("Clip", "x", "y"), float_attr("min", 2));
    expect_old("Clip 7", sample_attr(clip, float_attr("max", 4.5f)), 7, NONE,
               FLOATS(2, 2, 3, 4, 4.5f, 4.5f), 6);
    struct pb pad = sample_attr(make_node("Pad", "x", "y"), INTS("pads", 0, 1, 0, 0));
    expect_old("Pad 7", sample_attr(pad, float_attr("value", 9)), 7, NONE,
               FLOATS(9, 1, 2, 3, 9, 4, 5, 6), 8);
    expect_old("Split 11",
               sample_attr(sample_attr(make_node("Split", "x", "z y"), make_int_attr("axis", 1)),
                           INTS("split", 1, 2)),
               11, NONE, FLOATS(2, 3, 5, 6), 4);
    expect_old("Split 13 in equal parts", make_node("Split", "x", "z y"), 13, NONE, FLOATS(4, 5, 6),
               3);
    expect_old("Dropout 10", sample_attr(make_node("Dropout", "x", "y"), float_attr("ratio", 0.5f)),
               10, NONE, FLOATS(1, 2, 3, 4, 5, 6), 6);
    expect_old("Dropout 12, mask", make_node("Dropout", "x", "z y"), 12, NONE,
               FLOATS(1, 1, 1, 1, 1, 1), 6);
    expect_old("Softmax 11 over all from axis 0",
               sample_attr(make_node("Softmax", "x", "y"), make_int_attr("axis", 0)), 11, NONE,
               FLOATS(0.004269778f, 0.01160646f, 0.03154963f, 0.08576079f, 0.2331220f, 0.6336913f),
               6);
    expect_old("Cast 9", sample_attr(make_node("Cast", "x", "y"), make_int_attr("to", 7)), 9, NONE,
               FLOATS(1, 2, 3, 4, 5, 6), 6);
}

static void test_old_broadcast(void)
{
    static const float w[2] = { 10, 20 };
    struct pb add = sample_attr(make_node("Add", "x w", "y"), make_int_attr("broadcast", 1));
    expect_old("Add 6, axis 0", sample_attr(add, make_int_attr("axis", 0)), 6,
               make_raw("w", 1, DIMS(2), w, sizeof w), FLOATS(11, 12, 13, 24, 25, 26), 6);
}

/* ---- forms of opsets 18 to 21 ---- */

static struct pb ints_const(const char *name, const int64_t *v, int64_t n)
{
    return make_raw(name, 7, DIMS(n), v, (size_t) n * 8);
}

static struct pb floats_const(const char *name, const float *v, int64_t n)
{
    return make_raw(name, 1, DIMS(n), v, (size_t) n * 4);
}

#define I64(name, ...)                                                                             \
    ints_const(name, (const int64_t[]) { __VA_ARGS__ },                                            \
               sizeof(const int64_t[]) { __VA_ARGS__ } / sizeof(int64_t))
#define F32(name, ...)                                                                             \
    floats_const(name, FLOATS(__VA_ARGS__), sizeof FLOATS(__VA_ARGS__) / sizeof(float))

static struct pb text_attr(const char *name, const char *v)
{
    struct pb p = { 0 };
    pb_text(&p, ATTR_NAME_, name);
    pb_text(&p, ATTR_S_, v);
    pb_int(&p, ATTR_TYPE_, 3);
    return p;
}

static void test_new_axes(void)
{
    struct pb no_keep = make_int_attr("keepdims", 0);
    expect_old("ReduceMean 18", sample_attr(make_node("ReduceMean", "x a", "y"), no_keep), 18,
               I64("a", 1), FLOATS(2, 5), 2);
    expect_old("ReduceMax 20, all axes", make_node("ReduceMax", "x", "y"), 20, NONE, FLOATS(6), 1);
    expect_old("ReduceL1 21, none",
               sample_attr(make_node("ReduceL1", "x", "y"),
                           make_int_attr("noop_with_empty_axes", 1)),
               21, NONE, FLOATS(1, 2, 3, 4, 5, 6), 6);
    struct pb split = sample_attr(make_node("Split", "x", "y z"), make_int_attr("axis", 1));
    expect_old("Split 18 in uneven parts", sample_attr(split, make_int_attr("num_outputs", 2)), 18,
               NONE, FLOATS(1, 2, 4, 5), 4);
    expect_node("Pad 18 along one axis", make_node("Pad", "x p - a", "y"), 18, I64("p", 1, 0),
                I64("a", -1), FLOATS(0, 1, 2, 3, 0, 4, 5, 6), 8);
    expect_node("Pad 19, wrapped",
                sample_attr(make_node("Pad", "x p - a", "y"), text_attr("mode", "wrap")), 19,
                I64("p", 1, 1), I64("a", 1), FLOATS(3, 1, 2, 3, 1, 6, 4, 5, 6, 4), 10);
    struct pb resize = sample_attr(make_node("Resize", "x - s", "y"), INTS("axes", 1));
    resize = sample_attr(resize, text_attr("coordinate_transformation_mode", "asymmetric"));
    expect_old("Resize 18 along one axis", sample_attr(resize, text_attr("nearest_mode", "floor")),
               18, F32("s", 2), FLOATS(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6), 12);
    expect_old("Squeeze 21", make_node("Squeeze", "x", "y"), 21, NONE, FLOATS(1, 2, 3, 4, 5, 6), 6);
    expect_old("Reshape 21", make_node("Reshape", "x s", "y"), 21, I64("s", 3, -1),
               FLOATS(1, 2, 3, 4, 5, 6), 6);
    expect_old("Shape 19", sample_attr(make_node("Shape", "x", "y"), make_int_attr("start", -1)),
               19, NONE, FLOATS(3), 1);
}

static void test_new_ops(void)
{
    expect_old("Mish 18", make_node("Mish", "x", "y"), 18, NONE,
               FLOATS(0.8650984f, 1.943959f, 2.986535f, 3.997413f, 4.999552f, 5.999927f), 6);
    expect_old("Gelu 20", make_node("Gelu", "x", "y"), 20, NONE,
               FLOATS(0.8413447f, 1.954500f, 2.995950f, 3.999873f, 4.999999f, 6), 6);
    expect_old("IsInf 20", make_node("IsInf", "x", "y"), 20, NONE, FLOATS(0, 0, 0, 0, 0, 0), 6);
    expect_old("Equal 19", make_node("Equal", "x w", "y"), 19, F32("w", 1, 5, 3),
               FLOATS(1, 0, 1, 0, 1, 0), 6);
    expect_old("Cast 21",
               sample_attr(sample_attr(make_node("Cast", "x", "y"), make_int_attr("to", 9)),
                           make_int_attr("saturate", 1)),
               21, NONE, FLOATS(1, 1, 1, 1, 1, 1), 6);
    expect_old("Clip 21 without limits", make_node("Clip", "x - -", "y"), 21, NONE,
               FLOATS(1, 2, 3, 4, 5, 6), 6);
    expect_old("Swish 24", sample_attr(make_node("Swish", "x", "y"), float_attr("alpha", 2)), 24,
               NONE, FLOATS(0.8807970f, 1.964028f, 2.992582f, 3.998659f, 4.999773f, 5.999963f), 6);
    expect_old("SwiGLU 28", make_node("SwiGLU", "x x", "y"), 28, NONE,
               FLOATS(0.7310586f, 3.523188f, 8.573167f, 15.71221f, 24.83268f, 35.91099f), 6);
    expect_old("RMSNormalization 23 with one gain",
               sample_attr(make_node("RMSNormalization", "x w", "y"), make_int_attr("axis", -2)),
               23, F32("w", 2),
               FLOATS(0.5135525f, 1.027105f, 1.540658f, 2.054210f, 2.567763f, 3.081315f), 6);
    expect_old("CumProd 26 backwards",
               sample_attr(make_node("CumProd", "x a", "y"), make_int_attr("reverse", 1)), 26,
               I64("a", 1), FLOATS(6, 6, 3, 120, 30, 6), 6);
    expect_old("Mod 28 of the divisor's sign", make_node("Mod", "x w", "y"), 28,
               F32("w", -2.5f, 2, 2), FLOATS(-1.5f, 0, 1, -1, 1, 0), 6);
    expect_old("Upsample's last form", make_node("Upsample", "x s", "y"), 9, F32("s", 1, 2),
               FLOATS(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6), 12);
}

/* S rows of 3 elements by 1.5, of which 4 are made: over 4.5 as the standard's data have it, over 4
 * as PyTorch's exporter means it. */
static void aligned(const char *producer, const float *want)
{
    static const float by[] = { 1, 1.5f };
    float v[6] = { 1, 2, 3, 4, 5, 6 };
    struct tensor x = of_floats(v, 2, 2, 3);
    struct pb g = { 0 }, n = make_node("Resize", "x - by", "y");
    pb_message(&n, NODE_ATTR, make_text_attr("coordinate_transformation_mode", "align_corners"));
    pb_message(&n, NODE_ATTR, make_text_attr("mode", "linear"));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(-2, 3)));
    pb_message(&g, GRAPH_CONST, make_raw("by", 1, DIMS(2), by, sizeof by));
    pb_message(&g, GRAPH_NODE, n);
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1)));
    struct pb file = make_model(g, 13);
    pb_text(&file, MODEL_PRODUCER, producer);
    struct run r;
    run_open(&r, file);
    run_eval(&r, (const struct tensor *[]) { &x });
    expect_floats(&r, 0, producer, want, 8);
    struct tgraph typed = { 0 };
    char shape[64] = "";
    if (r.ok && tgraph_from_mgraph(&typed, &r.m, &(struct typed_opts) { 0 }, &r.err) == RILL_OK)
        fact_print(&typed.g.wires[typed.g.outputs[0]].fact, shape, sizeof shape);
    CHECK(!strcmp(shape, "f32[S,4]"), "%s: '%s', %s", producer, shape, r.err.text);
    run_drop(&r);
}

static void test_aligned(void)
{
    aligned("pytorch", FLOATS(1, 1 + 2 / 3.f, 1 + 4 / 3.f, 3, 4, 4 + 2 / 3.f, 4 + 4 / 3.f, 6));
    aligned("another",
            FLOATS(1, 1 + 4 / 7.f, 1 + 8 / 7.f, 1 + 12 / 7.f, 4, 4 + 4 / 7.f, 4 + 8 / 7.f,
                   4 + 12 / 7.f));
}

/* x[-(S/3):], which counts from the end but where S/3 is 0, whatever a stream would take it for: of
 * the graph as it is read and of the simplified one. */
static void test_last_third(int64_t size)
{
    static const int64_t third = 3, end = INT64_MAX;
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(-2)));
    pb_message(&g, GRAPH_CONST, make_raw("k", 7, DIMS(1), &third, sizeof third));
    pb_message(&g, GRAPH_CONST, make_raw("end", 7, DIMS(1), &end, sizeof end));
    pb_message(&g, GRAPH_NODE, make_node("Shape", "x", "s"));
    pb_message(&g, GRAPH_NODE, make_node("Div", "s k", "d"));
    pb_message(&g, GRAPH_NODE, make_node("Neg", "d", "a"));
    pb_message(&g, GRAPH_NODE, make_node("Slice", "x a end", "y"));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1)));
    float v[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    struct tensor x = of_floats(v, 1, size, 0);
    struct tgraph typed = { 0 };
    struct dgraph simple = { 0 };
    struct run r;
    run_open(&r, make_model(g, 17));
    r.ok = r.ok &&
        tgraph_from_mgraph(&typed, &r.m, &(struct typed_opts) { 0 }, &r.err) == RILL_OK &&
        dgraph_from_tgraph(&simple, &typed, NULL, &r.err) == RILL_OK;
    const int64_t from = size / 3 ? size - size / 3 : 0;
    for (int i = 0; i < 2; i++) {
        r.m.g = i ? simple.g : typed.g;
        run_eval(&r, (const struct tensor *[]) { &x });
        expect_floats(&r, 0, i ? "simplified" : "as read", v + from, size - from);
    }
    run_drop(&r);
}

static void test_constants(void)
{
    struct pb ints = sample_attr(make_node("Constant", "", "y"), INTS("value_ints", 4, 5));
    expect_old("value_ints", ints, 13, NONE, FLOATS(4, 5), 2);
    expect_old("value_float",
               sample_attr(make_node("Constant", "", "y"), float_attr("value_float", 2.5f)), 13,
               NONE, FLOATS(2.5f), 1);
    static const float w[2] = { 10, 20 };
    expect_old("value",
               sample_attr(make_node("Constant", "", "y"),
                           make_tensor_attr("value", make_raw("", 1, DIMS(2), w, 8))),
               9, NONE, FLOATS(10, 20), 2);
}

/* The table of ops has no row twice for one opset. */
static void test_table(void)
{
    struct onnx_op_row a, b;
    for (unsigned i = 0; onnx_op_at(i, &a); i++) {
        bool fine = a.first <= a.last;
        for (unsigned k = i + 1; onnx_op_at(k, &b); k++)
            fine &= strcmp(a.domain, b.domain) || strcmp(a.name, b.name) || a.last < b.first ||
                b.last < a.first;
        CHECK(fine, "%s, opsets %d to %d, has two rows for one opset", a.name, a.first, a.last);
    }
}

/* Inputs with an initial value are none. The time grows as the lists do, not as their product, 500
 * million pairs of names that are long alike. */
static void test_described(void)
{
    enum { N_IN = 4096, N_KNOWN = 120000 };
    struct pb graph = { 0 }, model = { 0 };
    struct onnx_about about;
    struct arena a = { 0 };
    rill_error err = { 0 };
    char name[400];
    for (int i = 0; i < N_IN + N_KNOWN; i++) {
        struct pb named = { 0 };
        bool is_input = i < N_IN;
        snprintf(name, sizeof name, "%0300d", is_input ? i : N_IN + N_KNOWN + 2 - i);
        pb_text(&named, is_input ? 1 : TENSOR_NAME, name);
        pb_message(&graph, is_input ? GRAPH_INPUT : GRAPH_CONST, named);
    }
    pb_message(&model, MODEL_GRAPH, graph);
    clock_t start = clock();
    rill_status s = onnx_describe(&about, &a, model.data, model.n, &err);
    double took_s = (double) (clock() - start) / CLOCKS_PER_SEC;
    CHECK(s == RILL_OK && about.n_in == 3, "%u inputs; %s", about.n_in, err.text);
    snprintf(name, sizeof name, "%0300d", 2);
    CHECK(s == RILL_OK && !strcmp(about.in[2].name, name), "they keep their order");
    CHECK(took_s < 2, "described in %.2f s", took_s);
    free(model.data);
    arena_drop(&a);
}

int main(void)
{
    test_described();
    test_encodings();
    test_bool();
    test_sample(true);
    test_sample(false);
    test_names();
    test_dims();
    test_listed_constant();
    test_captures();
    test_loops_written_out();
    test_disordered();
    test_long_disorder();
    test_old_axes();
    test_old_attrs();
    test_old_broadcast();
    test_new_axes();
    test_new_ops();
    test_aligned();
    for (int64_t size = 1; size < 10; size++)
        test_last_third(size);
    test_constants();
    test_table();
    return check_done();
}
