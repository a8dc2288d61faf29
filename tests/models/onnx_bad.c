/* SPDX-License-Identifier: MIT */
/* Bad files: each is refused with a status and words that name the cause. */
#include "models/onnx/reader.h"
#include "tests/check.h"
#include "tests/models/pb.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static rill_status read_limited(struct pb file, const char *path, const struct onnx_limits *limits,
                                rill_error *err)
{
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct mgraph m;
    struct bytes b = { .data = file.data, .n = file.n, .path = (char *) (uintptr_t) path };
    *err = (rill_error) { .status = RILL_OK };
    rill_status s = mgraph_from_onnx(&m, &a, ds, &b, limits, err);
    arena_drop(&a);
    dims_free(ds);
    return s;
}

/* Takes the file's memory. */
static void expect(const char *name, struct pb file, const char *path,
                   const struct onnx_limits *limits, rill_status want, const char *words)
{
    rill_error err;
    rill_status s = read_limited(file, path, limits, &err);
    CHECK(s == want, "%s: status %s, wants %s: %s", name, rill_status_text(s),
          rill_status_text(want), err.text);
    if (want != RILL_OK)
        CHECK(strstr(err.text, words), "%s: '%s' does not say '%s'", name, err.text, words);
    free(file.data);
}

/* ---- small graphs ---- */

static struct pb graph_start(void)
{
    return make_graph(DIMS(2, 3));
}

static struct pb graph_with(struct pb node)
{
    struct pb g = graph_start();
    pb_message(&g, GRAPH_NODE, node);
    return g;
}

static struct pb graph_with_const(struct pb tensor)
{
    struct pb g = graph_with(make_node("Add", "x w", "y"));
    pb_message(&g, GRAPH_CONST, tensor);
    return g;
}

static void expect_graph(const char *name, struct pb graph, rill_status want, const char *words)
{
    expect(name, make_model(graph, 13), NULL, NULL, want, words);
}

static void expect_const(const char *name, struct pb tensor, rill_status want, const char *words)
{
    expect_graph(name, graph_with_const(tensor), want, words);
}

/* A list of n times v. */
static struct pb make_listed(const char *name, int64_t type, const int64_t *dims, int n, int64_t v)
{
    struct pb p = make_tensor(name, type, dims);
    while (n-- > 0)
        pb_int(&p, TENSOR_INT32S, v);
    return p;
}

static const float six[6] = { 1, 2, 3, 4, 5, 6 };

static struct pb good_model(void)
{
    return make_model(graph_with_const(make_raw("w", 1, DIMS(2, 3), six, sizeof six)), 13);
}

/* ---- bytes that are no file ---- */

static uint32_t next_random(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

static void test_bytes(void)
{
    uint8_t noise[4096];
    uint32_t seed = 7;
    expect("good", good_model(), NULL, NULL, RILL_OK, "");
    expect("empty", (struct pb) { 0 }, NULL, NULL, RILL_MALFORMED, "empty");
    for (int round = 0; round < 64; round++) {
        rill_error err;
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (uint8_t) next_random(&seed);
        rill_status s = read_limited((struct pb) { noise, sizeof noise, 0 }, NULL, NULL, &err);
        CHECK(s == RILL_MALFORMED && strstr(err.text, "no ONNX"), "noise %d: %s", round, err.text);
    }
    struct pb group = { 0 };
    pb_key(&group, 3, 3);
    pb_key(&group, 3, 4);
    expect("group", group, NULL, NULL, RILL_MALFORMED, "group");
    struct pb wrong = { 0 };
    pb_int(&wrong, MODEL_GRAPH, 5);
    expect("wire type", wrong, NULL, NULL, RILL_MALFORMED, "wrong wire type");
    struct pb twice = make_model(graph_with(make_node("Relu", "x", "y")), 13);
    pb_message(&twice, MODEL_GRAPH, graph_start());
    expect("two graphs", twice, NULL, NULL, RILL_MALFORMED, "comes twice");
    struct pb none = { 0 };
    pb_int(&none, MODEL_IR, 8);
    expect("no graph", none, NULL, NULL, RILL_MALFORMED, "no graph");
    static const uint8_t endless[] = { 0x08, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    struct pb number = { 0 };
    pb_put(&number, endless, sizeof endless);
    expect("long number", number, NULL, NULL, RILL_MALFORMED, "ten bytes");
}

/* A file cut anywhere but at its end is refused, or reads as a smaller model; never more. */
static void test_truncated(struct pb file, size_t step, const char *what)
{
    unsigned refused = 0, cuts = 0;
    for (size_t n = 0; n < file.n; n += step) {
        rill_error err;
        uint8_t *copy = malloc(n + 1); /* exact size: reading past it is seen by a sanitizer */
        memcpy(copy, file.data, n);
        copy = realloc(copy, n ? n : 1);
        rill_status s = read_limited((struct pb) { copy, n, 0 }, NULL, NULL, &err);
        refused += s != RILL_OK && err.text[0];
        cuts++;
        free(copy);
    }
    CHECK(refused == cuts, "%s: %u of %u cuts were refused", what, refused, cuts);
    free(file.data);
}

/* ---- size and depth ---- */

/* Graphs in graphs: each is the body of an If in the one around it. */
static struct pb nested(unsigned depth)
{
    struct pb g = graph_with(make_node("Relu", "x", "y"));
    while (depth-- > 1) {
        struct pb node = make_node("If", "c", "y");
        pb_message(&node, NODE_ATTR, make_graph_attr("then_branch", g));
        g = (struct pb) { 0 };
        pb_message(&g, GRAPH_NODE, node);
    }
    return g;
}

static struct pb empty_nodes(size_t n)
{
    struct pb g = { 0 };
    for (size_t i = 0; i < n; i++)
        pb_message(&g, GRAPH_NODE, (struct pb) { 0 });
    return g;
}

static void test_limits(void)
{
    struct onnx_limits l = { .graphs_deep = 3 };
    expect("2911 graphs deep", make_model(nested(2911), 13), NULL, NULL, RILL_LIMIT,
           "nested more than 16 deep");
    expect("17 graphs deep", make_model(nested(17), 13), NULL, NULL, RILL_LIMIT,
           "nested more than 16 deep");
    expect("4 deep of 3", make_model(nested(4), 13), NULL, &l, RILL_LIMIT,
           "nested more than 3 deep");
    expect("3 deep of 3", make_model(nested(3), 13), NULL, &l, RILL_MALFORMED, "no outputs");
    expect("a million empty nodes", make_model(empty_nodes(1000000), 13), NULL, NULL, RILL_LIMIT,
           "memory");
    l = (struct onnx_limits) { .unpack_bytes = (uint64_t) 1 << 40 };
    expect("their number", make_model(empty_nodes(1000000), 13), NULL, &l, RILL_LIMIT,
           "more than 400000 messages");
    struct pb good = good_model();
    /* model, opset, graph, 2 values x (value, type, tensor type, shape, 2 dimensions), node,
     * constant */
    l = (struct onnx_limits) { .messages = 17 };
    expect("17 messages", good, NULL, &l, RILL_OK, "");
    l.messages = 16;
    expect("16 messages", good_model(), NULL, &l, RILL_LIMIT, "more than 16 messages");
    l = (struct onnx_limits) { .tensor_bytes = 24 };
    expect("24 bytes of constants", good_model(), NULL, &l, RILL_OK, "");
    l.tensor_bytes = 23;
    expect("23 bytes of constants", good_model(), NULL, &l, RILL_LIMIT, "23 bytes");
    l = (struct onnx_limits) { .unpack_bytes = 1000 };
    expect("1000 bytes to unpack", good_model(), NULL, &l, RILL_LIMIT, "more than 1000 bytes");
}

/* ---- tensors ---- */

static void test_tensors(void)
{
    const int64_t big = (int64_t) 1 << 40, huge = INT64_MAX;
    expect_const("raw too short", make_raw("w", 1, DIMS(2, 3), six, 20), RILL_MALFORMED,
                 "takes 24 bytes and its raw data has 20");
    expect_const("raw too long", make_raw("w", 7, DIMS(2), six, 24), RILL_MALFORMED,
                 "takes 16 bytes and its raw data has 24");
    expect_const("f16, an odd byte count", make_raw("w", 10, DIMS(2, 3), six, 11), RILL_MALFORMED,
                 "'w': its shape takes 12 bytes and its raw data has 11");
    expect_const("bf16, raw too long", make_raw("w", 16, DIMS(2, 3), six, 24), RILL_MALFORMED,
                 "'w': its shape takes 12 bytes and its raw data has 24");
    expect_const("f16, a list too short", make_listed("w", 10, DIMS(2), 1, 0x3c00), RILL_MALFORMED,
                 "'w': its shape has 2 elements and its data 1");
    expect_const("f16, a list of wide numbers", make_listed("w", 10, DIMS(2), 2, 0x13c00),
                 RILL_MALFORMED, "'w': its element 0 is 80896, which is no 16 bits of f16");
    expect_const("product overflows", make_raw("w", 1, DIMS(big, big), six, 24), RILL_MALFORMED,
                 "constant 'w'");
    expect_const("bytes overflow", make_raw("w", 11, DIMS(huge), six, 24), RILL_MALFORMED,
                 "multiply");
    expect_const("zero times overflow", make_raw("w", 1, DIMS(0, huge, huge), six, 0),
                 RILL_MALFORMED, "multiply");
    struct pb negative = { 0 };
    pb_int(&negative, TENSOR_DIMS, -4);
    pb_int(&negative, TENSOR_TYPE, 1);
    pb_text(&negative, TENSOR_NAME, "w");
    pb_bytes(&negative, TENSOR_RAW, six, 16);
    expect_const("negative dimension", negative, RILL_MALFORMED, "negative");
    expect_const("rank 9", make_raw("w", 1, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), six, 4),
                 RILL_UNSUPPORTED, "9 dimensions");
    expect_const("no data", make_tensor("w", 1, DIMS(2, 3)), RILL_MALFORMED,
                 "has 6 elements and its data 0");
    expect_const("strings", make_tensor("w", 8, DIMS(1)), RILL_UNSUPPORTED, "string");
    expect_const("complex", make_tensor("w", 14, DIMS(1)), RILL_UNSUPPORTED, "complex64");
    expect_const("4-bit float", make_tensor("w", 23, DIMS(1)), RILL_UNSUPPORTED, "float4e2m1");
    expect_const("8-bit float, too many", make_raw("w", 17, DIMS(3), six, 4), RILL_MALFORMED,
                 "'w': its shape takes 3 bytes and its raw data has 4");
    expect_const("8-bit float, a wide number", make_listed("w", 19, DIMS(1), 1, 256),
                 RILL_MALFORMED, "'w': its element 0 is 256, which is no 8 bits");
    expect_const("4-bit, a byte too many", make_raw("w", 22, DIMS(3), six, 3), RILL_MALFORMED,
                 "takes 2 bytes and its raw data has 3");
    expect_const("no such type", make_tensor("w", 99, DIMS(1)), RILL_MALFORMED,
                 "element type number 99");
    struct pb segment = make_raw("w", 1, DIMS(2, 3), six, 24);
    pb_message(&segment, TENSOR_SEGMENT, (struct pb) { 0 });
    expect_const("segment", segment, RILL_UNSUPPORTED, "segments");
    struct pb location = make_raw("w", 1, DIMS(2, 3), six, 24);
    pb_int(&location, TENSOR_LOCATION, 7);
    expect_const("location 7", location, RILL_MALFORMED, "data location number 7");
    struct pb g = graph_with(make_node("Relu", "x", "y"));
    pb_message(&g, GRAPH_CONST, make_tensor("unused", 8, DIMS(1)));
    expect_graph("strings that nothing reads", g, RILL_OK, "");
}

/* A Constant of two values at those places of [2,3] or, where it is given, of `of`. */
static struct pb make_sparse(const int64_t *places, size_t n, int64_t of)
{
    enum { VALUES = 1, INDICES = 2, SPARSE_DIMS = 3, ATTR_SPARSE = 22 };
    struct pb s = { 0 }, a = { 0 };
    pb_message(&s, VALUES, make_raw("v", 1, DIMS(2), six, 8));
    pb_message(&s, INDICES, make_raw("i", 7, DIMS((int64_t) n), places, n * sizeof *places));
    pb_int(&s, SPARSE_DIMS, of ? of : 2);
    pb_int(&s, SPARSE_DIMS, of ? of : 3);
    pb_text(&a, ATTR_NAME_, "sparse_value");
    pb_message(&a, ATTR_SPARSE, s);
    pb_int(&a, ATTR_TYPE_, 11);
    struct pb node = make_node("Constant", "", "y");
    pb_message(&node, NODE_ATTR, a);
    return node;
}

static void test_sparse(void)
{
    static const struct {
        const char *name;
        int64_t place[3], of;
        size_t n;
        rill_status want;
        const char *words;
    } list[] = {
        { "sparse", { 0, 5 }, 0, 2, RILL_OK, "" },
        { "sparse, past the end", { 0, 6 }, 0, 2, RILL_MALFORMED, "index 6 of value 1" },
        { "sparse, in front", { -1, 5 }, 0, 2, RILL_MALFORMED, "index -1 of value 0" },
        { "sparse, twice", { 4, 4 }, 0, 2, RILL_MALFORMED, "do not ascend at value 1" },
        { "sparse, too many places", { 0, 1, 2 }, 0, 3, RILL_MALFORMED, "each of its 2 values" },
        { "sparse, too large", { 0, 1 }, 1 << 20, 2, RILL_LIMIT, "more than 268435456 bytes" },
        { "sparse, of -3", { 0, 1 }, -3, 2, RILL_MALFORMED, "is -3; it is at least 1" },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        expect_graph(list[i].name, graph_with(make_sparse(list[i].place, list[i].n, list[i].of)),
                     list[i].want, list[i].words);
}

/* ---- graphs ---- */

static void test_graphs(void)
{
    struct pb g = graph_with(make_node("Relu", "x", "y"));
    pb_message(&g, GRAPH_NODE, make_node("Neg", "x", "y"));
    expect_graph("defined twice", g, RILL_MALFORMED, "'y' is defined twice");
    g = graph_with(make_node("Relu", "x", "x"));
    expect_graph("input written", g, RILL_MALFORMED, "'x' is defined twice");
    g = graph_with_const(make_raw("w", 1, DIMS(2, 3), six, 24));
    pb_message(&g, GRAPH_CONST, make_raw("w", 1, DIMS(2, 3), six, 24));
    expect_graph("constant twice", g, RILL_MALFORMED, "constant 'w' is defined twice");
    g = graph_with(make_node("Add", "x b", "a"));
    pb_message(&g, GRAPH_NODE, make_node("Relu", "a", "b"));
    pb_message(&g, GRAPH_NODE, make_node("Neg", "a", "y"));
    expect_graph("circle", g, RILL_MALFORMED,
                 "node 'b' reads 'a', which cannot be made without it: the nodes go in a circle");
    expect_graph("circle of one", graph_with(make_node("Add", "x y", "y")), RILL_MALFORMED,
                 "node 'y' reads 'y', which cannot be made without it");
    g = graph_with(make_node("Neg", "late", "y"));
    pb_message(&g, GRAPH_NODE, make_node("Relu", "x", "late"));
    pb_message(&g, GRAPH_NODE, make_node("Abs", "x", "late"));
    expect_graph("defined twice, later", g, RILL_MALFORMED, "'late' is defined twice");
    expect_graph("undefined", graph_with(make_node("Add", "x nowhere", "y")), RILL_MALFORMED,
                 "node 'y' reads 'nowhere', which nothing defines");
    expect_graph("no writer of an output", graph_start(), RILL_MALFORMED, "'y'");
    g = (struct pb) { 0 };
    pb_message(&g, GRAPH_NODE, make_node("Relu", "x", "y"));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2)));
    expect_graph("no outputs", g, RILL_MALFORMED, "no outputs");
    g = graph_with(make_node("Relu", "x", "y"));
    pb_text(&g, GRAPH_SPARSE, "");
    expect_graph("sparse constant", g, RILL_UNSUPPORTED, "sparse");
    g = graph_with(make_node("Relu", "x", "y"));
    pb_message(&g, GRAPH_NODE, make_node("Frobnicate", "x", "unused"));
    expect_graph("a node that nothing reads", g, RILL_OK, "");
    g = (struct pb) { 0 };
    pb_message(&g, GRAPH_NODE, make_node("Relu", "x", "y"));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS((int64_t) 1 << 31)));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(2)));
    expect_graph("dimension of 2^31", g, RILL_LIMIT, "2147483648");
    g = (struct pb) { 0 };
    pb_message(&g, GRAPH_NODE, make_node("Relu", "x", "y"));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2000000000, 2000000000, 2000000000)));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(2)));
    expect_graph("input of 8e27 elements", g, RILL_MALFORMED, "multiply");
}

static void test_input_types(void)
{
    static const struct {
        unsigned field;
        const char *words;
    } kinds[] = { { 4, "sequence" }, { 5, "map" }, { 8, "sparse" }, { 9, "optional" } };
    for (size_t i = 0; i < 4; i++) {
        struct pb g = { 0 }, type = { 0 }, value = { 0 };
        pb_text(&type, kinds[i].field, "");
        pb_text(&value, 1, "x");
        pb_message(&value, 2, type);
        pb_message(&g, GRAPH_INPUT, value);
        pb_message(&g, GRAPH_NODE, make_node("Identity", "x", "y"));
        pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(2)));
        expect_graph(kinds[i].words, g, RILL_UNSUPPORTED, kinds[i].words);
    }
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("x", 8, DIMS(2)));
    pb_message(&g, GRAPH_NODE, make_node("Identity", "x", "y"));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 8, DIMS(2)));
    expect_graph("strings in", g, RILL_UNSUPPORTED, "input 'x': elements of type string");
}

static struct pb node_with(struct pb node, struct pb attr)
{
    pb_message(&node, NODE_ATTR, attr);
    return node;
}

static void test_nodes(void)
{
    expect_graph("unknown op", graph_with(make_node("Frobnicate", "x", "y")), RILL_UNSUPPORTED,
                 "node 'y': op 'Frobnicate' (opset 13) is not supported");
    expect_graph("near op", graph_with(make_node("Reluctant", "x", "y")), RILL_UNSUPPORTED,
                 "nearest is 'Relu'");
    expect("too new for its opset", make_model(graph_with(make_node("Cast", "x", "y")), 5), NULL,
           NULL, RILL_UNSUPPORTED, "exists in opsets 6 to 28");
    struct pb vendor = make_node("Inverse", "x x", "y");
    pb_text(&vendor, NODE_DOMAIN, "com.microsoft");
    expect_graph("vendor op", graph_with(vendor), RILL_UNSUPPORTED, "inverts matrices");
    vendor = make_node("Conv", "x x", "y");
    pb_text(&vendor, NODE_DOMAIN, "com.microsoft.nchwc");
    expect_graph("layout of a machine", graph_with(vendor), RILL_UNSUPPORTED, "of 8 or of 16");
    vendor = make_node("Gelu", "x", "y");
    pb_text(&vendor, NODE_DOMAIN, "some.vendor");
    expect_graph(
        "unknown domain", graph_with(vendor), RILL_UNSUPPORTED,
        "of domain 'some.vendor'; only ops of the standard domain and some of com.microsoft");
    vendor = node_with(make_node("QuickGelu", "x", "y"), make_int_attr("speed", 3));
    pb_text(&vendor, NODE_DOMAIN, "com.microsoft");
    expect_graph("unknown attribute of several nodes", graph_with(vendor), RILL_UNSUPPORTED,
                 "(com.microsoft.QuickGelu): attribute 'speed' is not known; known: alpha");
    vendor = node_with(make_node("QuickGelu", "x", "y"), make_int_attr("alpha", 3));
    pb_text(&vendor, NODE_DOMAIN, "com.microsoft");
    expect_graph("attribute of another kind", graph_with(vendor), RILL_MALFORMED,
                 "attribute 'alpha' is not a float");
    expect_graph("unknown attribute",
                 graph_with(node_with(make_node("Relu", "x", "y"), make_int_attr("speed", 3))),
                 RILL_UNSUPPORTED, "attribute 'speed'");
    expect_graph("8-bit float as a type",
                 graph_with(node_with(make_node("EyeLike", "x", "y"), make_int_attr("dtype", 18))),
                 RILL_UNSUPPORTED, "attribute 'dtype' is a float of 8 bits");
    struct pb twice = node_with(make_node("LeakyRelu", "x", "y"), make_int_attr("alpha", 1));
    pb_message(&twice, NODE_ATTR, make_int_attr("alpha", 2));
    expect_graph("attribute twice", graph_with(twice), RILL_MALFORMED, "'alpha' comes twice");
    struct pb ref = make_int_attr("alpha", 1);
    pb_text(&ref, ATTR_REF_, "outer");
    expect_graph("function attribute", graph_with(node_with(make_node("LeakyRelu", "x", "y"), ref)),
                 RILL_UNSUPPORTED, "and the node is in none");
    expect_graph("too few inputs", graph_with(make_node("Add", "x", "y")), RILL_MALFORMED,
                 "has 1 inputs");
    expect_graph("graph where none is taken",
                 graph_with(
                     node_with(make_node("Relu", "x", "y"),
                               make_graph_attr("body", graph_with(make_node("Neg", "x", "y"))))),
                 RILL_UNSUPPORTED, "'body' holds a graph");
    struct pb constant = make_node("Constant", "", "y");
    expect_graph("constant without value", graph_with(constant), RILL_MALFORMED, "value");
    struct pb name = make_node("Frob\x01\xff\\", "x", "y");
    expect_graph("unprintable name", graph_with(name), RILL_UNSUPPORTED, "Frob\\x01\\xff\\");
}

/* Attributes that are one text, as a list of none and of two. */
static void test_texts(void)
{
    static const struct {
        const char *domain, *op, *in, *attr;
        int opset;
    } list[] = {
        { "", "AveragePool", "x", "auto_pad", 10 },
        { "", "CausalConvWithState", "x x", "activation", 28 },
        { "", "GridSample", "x x", "mode", 20 },
        { "", "LinearAttention", "x x x", "update_rule", 28 },
        { "", "Resize", "x x", "mode", 10 },
        { "", "SoftmaxCrossEntropyLoss", "x x", "reduction", 13 },
        { "", "TensorScatter", "x x", "mode", 24 },
        { "com.microsoft", "FusedConv", "x x", "activation", 13 },
    };
    static const char *const texts[] = { "", "nearest linear" };
    for (size_t i = 0; i < 2 * sizeof list / sizeof *list; i++) {
        struct pb n = node_with(make_node(list[i / 2].op, list[i / 2].in, "y"),
                                make_texts_attr(list[i / 2].attr, texts[i % 2]));
        pb_text(&n, NODE_DOMAIN, list[i / 2].domain);
        for (unsigned k = 0; i / 2 == 0 && k < 2; k++) /* where auto_pad is looked at */
            pb_message(&n, NODE_ATTR, make_int_attr(k ? "ceil_mode" : "count_include_pad", 1));
        expect(list[i / 2].op, make_model(graph_with(n), list[i / 2].opset), NULL, NULL,
               RILL_MALFORMED, list[i / 2].attr);
    }
}

/* Each of two nodes, the first of which makes a sequence. */
static void test_sequences(void)
{
    static const struct {
        const char *what, *make[3], *use[3], *want;
        rill_status status;
    } rows[] = {
        { "a sequence as a tensor",
          { "SequenceConstruct", "x x", "s" },
          { "Relu", "s", "y" },
          "input 0 is a sequence, which only",
          RILL_UNSUPPORTED },
        { "a tensor as a sequence",
          { "Relu", "x", "s" },
          { "SequenceLength", "s", "y" },
          "input 0 is not a sequence",
          RILL_MALFORMED },
        { "an element of none",
          { "SequenceEmpty", "", "s" },
          { "SequenceAt", "s w", "y" },
          "position 3 is none of a sequence of 0",
          RILL_MALFORMED },
        { "an element too far",
          { "SequenceConstruct", "x x", "s" },
          { "SequenceAt", "s w", "y" },
          "position 3 is none of a sequence of 2",
          RILL_MALFORMED },
        { "a sequence of a sequence",
          { "SequenceConstruct", "x", "s" },
          { "SequenceConstruct", "s x", "y" },
          "input 0 is a sequence",
          RILL_UNSUPPORTED },
        { "a sequence as an output",
          { "SequenceConstruct", "x", "s" },
          { "SequenceInsert", "s x", "y" },
          "output 'y' is a sequence",
          RILL_UNSUPPORTED },
        { "nothing joined",
          { "SequenceEmpty", "", "s" },
          { "SequenceErase", "s", "y" },
          "the sequence has no such element",
          RILL_MALFORMED },
        { "no axis",
          { "SequenceConstruct", "x", "s" },
          { "ConcatFromSequence", "s", "y" },
          "attribute 'axis' is missing",
          RILL_MALFORMED },
        { "an optional of nothing",
          { "Relu", "x", "s" },
          { "Optional", "", "y" },
          "holds nothing",
          RILL_UNSUPPORTED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pb g = graph_start();
        pb_message(&g, GRAPH_NODE, make_node(rows[i].make[0], rows[i].make[1], rows[i].make[2]));
        pb_message(&g, GRAPH_NODE, make_node(rows[i].use[0], rows[i].use[1], rows[i].use[2]));
        pb_message(&g, GRAPH_CONST, make_listed("w", 6, DIMS(1), 1, 3));
        expect(rows[i].what, make_model(g, 15), NULL, NULL, rows[i].status, rows[i].want);
    }
}

/* Caches of 10 frames, and outputs of so many. */
static struct pb grouped_graph(int64_t keys, int64_t values)
{
    static const char *const names[] = { "x", "k", "v" };
    struct pb g = { 0 }, n = make_node("GroupQueryAttention", "x k v pk pv last all", "y nk nv");
    n = node_with(n, make_int_attr("num_heads", 1));
    n = node_with(n, make_int_attr("kv_num_heads", 1));
    pb_text(&n, NODE_DOMAIN, "com.microsoft");
    pb_message(&g, GRAPH_NODE, n);
    for (int i = 0; i < 3; i++)
        pb_message(&g, GRAPH_INPUT, make_value(names[i], 1, DIMS(1, 1, 8)));
    pb_message(&g, GRAPH_INPUT, make_value("pk", 1, DIMS(1, 1, 10, 8)));
    pb_message(&g, GRAPH_INPUT, make_value("pv", 1, DIMS(1, 1, 10, 8)));
    pb_message(&g, GRAPH_INPUT, make_value("last", 6, DIMS(1)));
    pb_message(&g, GRAPH_INPUT, make_value("all", 6, DIMS(1)));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1, 1, 8)));
    pb_message(&g, GRAPH_OUTPUT, make_value("nk", 1, DIMS(1, 1, keys, 8)));
    pb_message(&g, GRAPH_OUTPUT, make_value("nv", 1, DIMS(1, 1, values, 8)));
    return g;
}

static void test_caches(void)
{
    expect_graph("caches that stay as large", grouped_graph(10, 10), RILL_OK, "");
    expect_graph("caches that grow", grouped_graph(11, 11), RILL_OK, "");
    expect_graph("values that grow", grouped_graph(10, 11), RILL_MALFORMED,
                 "output 1 is declared as large as its cache, output 2 is not");
    expect_graph("keys that grow", grouped_graph(11, 10), RILL_MALFORMED,
                 "output 2 is declared as large as its cache, output 1 is not");
}

static struct pb causal_graph(int64_t past)
{
    struct pb g = { 0 };
    pb_message(&g, GRAPH_NODE, make_node("CausalConvWithState", "x w b p", "y s"));
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(1, 3, 5)));
    pb_message(&g, GRAPH_INPUT, make_value("w", 1, DIMS(3, 1, 4)));
    pb_message(&g, GRAPH_INPUT, make_value("b", 1, DIMS(3)));
    pb_message(&g, GRAPH_INPUT, make_value("p", 1, DIMS(1, 3, past)));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1, 3, 5)));
    return g;
}

static void test_causal_states(void)
{
    static const struct {
        int64_t past;
        rill_status status;
        const char *words;
    } rows[] = {
        { 3, RILL_OK, "" },
        { 9, RILL_MALFORMED, "past_state has 9 frames, the taps of its weight reach back 3" },
        { 2, RILL_MALFORMED, "past_state has 2 frames, the taps of its weight reach back 3" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect("what a causal convolution keeps", make_model(causal_graph(rows[i].past), 28), NULL,
               NULL, rows[i].status, rows[i].words);
}

static void test_opsets(void)
{
    expect("opset 29", make_model(graph_with(make_node("Relu", "x", "y")), 29), NULL, NULL,
           RILL_UNSUPPORTED, "opset 29");
    expect("opset -1", make_model(graph_with(make_node("Relu", "x", "y")), -1), NULL, NULL,
           RILL_UNSUPPORTED, "opset -1");
    struct pb m = { 0 };
    pb_message(&m, MODEL_OPSET, make_opset("com.microsoft", 1));
    pb_message(&m, MODEL_GRAPH, graph_with(make_node("Relu", "x", "y")));
    expect("no opset", m, NULL, NULL, RILL_MALFORMED, "does not say which opset");
    struct pb gelu = make_node("Gelu", "x", "y");
    pb_text(&gelu, NODE_DOMAIN, "com.microsoft");
    m = (struct pb) { 0 };
    pb_message(&m, MODEL_OPSET, make_opset("com.microsoft", 1));
    pb_message(&m, MODEL_GRAPH, graph_with(gelu));
    expect("another domain alone", m, NULL, NULL, RILL_OK, "");
    m = make_model(graph_with(make_node("Relu", "x", "y")), 21);
    pb_message(&m, MODEL_OPSET, make_opset("org.pytorch.aten", 1));
    expect("opsets that nothing uses", m, NULL, NULL, RILL_OK, "");
}

/* ---- bodies ---- */

static struct pb body_with(const char *in, struct pb node, const char *out)
{
    struct pb g = { 0 };
    while (*in) {
        char name[32];
        size_t n = strcspn(in, " ");
        snprintf(name, sizeof name, "%.*s", (int) n, in);
        pb_message(&g, GRAPH_INPUT, make_value(name, 1, DIMS(2)));
        in += n + strspn(in + n, " ");
    }
    pb_message(&g, GRAPH_NODE, node);
    pb_message(&g, GRAPH_OUTPUT, make_value(out, 1, DIMS(2)));
    return g;
}

static void test_bodies(void)
{
    struct pb n =
        node_with(make_node("If", "x", "y"),
                  make_graph_attr("then_branch", body_with("", make_node("Neg", "x", "a"), "a")));
    expect_graph("If without else", graph_with(n), RILL_MALFORMED, "'else_branch' is missing");
    n = node_with(make_node("Loop", "- - x", "y"),
                  make_graph_attr("body", body_with("i c", make_node("Neg", "x", "a"), "a")));
    expect_graph("Loop with a narrow body", graph_with(n), RILL_MALFORMED,
                 "its body 2 inputs and 1 outputs");
    n = node_with(make_node("Scan", "x", "y"),
                  make_graph_attr("body", body_with("a", make_node("Neg", "a", "b"), "b")));
    expect_graph("Scan without a number", graph_with(n), RILL_MALFORMED, "num_scan_inputs");
    n = node_with(make_node("Scan", "x", "y"),
                  make_graph_attr("body", body_with("a b", make_node("Neg", "a", "c"), "c")));
    pb_message(&n, NODE_ATTR, make_int_attr("num_scan_inputs", 1));
    expect_graph("Scan with a wide body", graph_with(n), RILL_MALFORMED, "do not fit");
    n = node_with(make_node("Scan", "x", "y"),
                  make_graph_attr("body", body_with("a", make_node("Neg", "zz", "b"), "b")));
    pb_message(&n, NODE_ATTR, make_int_attr("num_scan_inputs", 1));
    expect_graph("body that reads what is nowhere", graph_with(n), RILL_MALFORMED, "reads 'zz'");
    n = node_with(make_node("If", "c", "a"),
                  make_graph_attr("then_branch", body_with("", make_node("Neg", "y", "b"), "b")));
    n = node_with(n,
                  make_graph_attr("else_branch", body_with("", make_node("Neg", "x", "b"), "b")));
    struct pb g = graph_with(n);
    pb_message(&g, GRAPH_NODE, make_node("Cast", "x", "c"));
    pb_message(&g, GRAPH_NODE, make_node("Relu", "a", "y"));
    expect_graph("circle through a body", g, RILL_MALFORMED,
                 "node 'y' reads 'a', which cannot be made without it: the nodes go in a circle");
    n = node_with(make_node("Scan", "- x", "y"),
                  make_graph_attr("body", body_with("a", make_node("Neg", "a", "b"), "b")));
    expect("Scan of opset 8", make_model(graph_with(n), 8), NULL, NULL, RILL_UNSUPPORTED,
           "opset 8");
}

/* ---- data in other files ---- */

struct external {
    const char *key, *value;
};

static struct pb external_model(const struct external *e, size_t n)
{
    struct pb t = make_tensor("w", 1, DIMS(2, 3));
    pb_int(&t, TENSOR_LOCATION, 1);
    for (size_t i = 0; i < n; i++)
        pb_message(&t, TENSOR_EXTERNAL, make_entry(e[i].key, e[i].value));
    return make_model(graph_with_const(t), 13);
}

static void write_file(const char *folder, const char *name, const void *data, size_t n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, n, f) == n, "%s", path);
    if (f)
        fclose(f);
}

static void external_case(const char *folder, const char *name, struct external e, rill_status want,
                          const char *words)
{
    char path[512];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    struct external list[] = { { "location", "w.bin" }, { "length", "24" }, e };
    bool other = strcmp(e.key, "location");
    expect(name, external_model(other ? list : list + 1, other ? 3 : 2), path, NULL, want, words);
}

static const struct {
    const char *what;
    struct external entry;
    rill_status status;
    const char *words;
} outside[] = {
    { "in place", { "offset", "8" }, RILL_OK, "" },
    { "sub-folder", { "location", "sub/w.bin" }, RILL_OK, "" },
    { "parent", { "location", "../w.bin" }, RILL_MALFORMED, "'..'" },
    { "parent inside", { "location", "sub/../../w.bin" }, RILL_MALFORMED, "'..'" },
    { "a/../b", { "location", "sub/../w.bin" }, RILL_MALFORMED, "'..'" },
    { "absolute", { "location", "/etc/passwd" }, RILL_MALFORMED, "absolute" },
    { "empty", { "location", "" }, RILL_MALFORMED, "empty path" },
    { "link", { "location", "link.bin" }, RILL_MALFORMED, "symbolic link" },
    { "linked folder", { "location", "away/w.bin" }, RILL_MALFORMED, "symbolic link" },
    { "hard link", { "location", "hard.bin" }, RILL_MALFORMED, "hard links" },
    { "folder", { "location", "sub" }, RILL_MALFORMED, "not a regular file" },
    { "pipe", { "location", "pipe" }, RILL_MALFORMED, "not a regular file" },
    { "missing", { "location", "nothing.bin" }, RILL_IO, "nothing.bin" },
    { "negative offset", { "offset", "-8" }, RILL_MALFORMED, "offset '-8' is no size" },
    { "offset past the end", { "offset", "9" }, RILL_MALFORMED, "24 bytes at 9" },
    { "offset wraps", { "offset", "18446744073709551600" }, RILL_MALFORMED, "is no size" },
    { "offset of 2^63 - 1", { "offset", "9223372036854775807" }, RILL_MALFORMED, "24 bytes at" },
    { "offset of words", { "offset", "8 " }, RILL_MALFORMED, "is no size" },
    { "wrong length",
      { "length", "20" },
      RILL_MALFORMED,
      "takes 24 bytes and its external data has 20" },
    { "unknown key", { "exec", "rm" }, RILL_MALFORMED, "key 'exec'" },
    { "checksum", { "checksum", "ab" }, RILL_OK, "" },
};

static void test_external_rows(const char *folder)
{
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        external_case(folder, outside[i].what, outside[i].entry, outside[i].status,
                      outside[i].words);
    struct external length = { "length", "24" };
    expect("no location", external_model(&length, 1), "/tmp/model.onnx", NULL, RILL_MALFORMED,
           "no location");
    struct external at = { "location", "w.bin" };
    expect("model from memory", external_model(&at, 1), NULL, NULL, RILL_UNSUPPORTED,
           "not read from a file");
}

static void remove_files(const char *folder)
{
    static const char *const names[] = { "sub/w.bin", "w.bin", "orig.bin", "hard.bin",
                                         "link.bin",  "pipe",  "away" };
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/sub", folder);
    rmdir(path);
    rmdir(folder);
}

static void test_external(void)
{
    char folder[] = "/tmp/rill-onnx-XXXXXX", a[512], b[512];
    const float eight[8] = { 0 };
    if (!mkdtemp(folder)) {
        CHECK(false, "mkdtemp");
        return;
    }
    snprintf(a, sizeof a, "%s/sub", folder);
    CHECK(mkdir(a, 0700) == 0, "mkdir");
    write_file(folder, "w.bin", eight, sizeof eight);
    write_file(folder, "sub/w.bin", eight, sizeof eight);
    write_file(folder, "orig.bin", eight, sizeof eight);
    snprintf(b, sizeof b, "%s/away", folder);
    CHECK(symlink(a, b) == 0, "symlink");
    snprintf(b, sizeof b, "%s/link.bin", folder);
    CHECK(symlink("w.bin", b) == 0, "symlink");
    snprintf(a, sizeof a, "%s/orig.bin", folder);
    snprintf(b, sizeof b, "%s/hard.bin", folder);
    CHECK(link(a, b) == 0, "link");
    snprintf(b, sizeof b, "%s/pipe", folder);
    CHECK(mkfifo(b, 0600) == 0, "mkfifo");
    test_external_rows(folder);
    remove_files(folder);
}

int main(void)
{
    test_bytes();
    test_truncated(good_model(), 1, "small model");
    test_limits();
    test_tensors();
    test_sparse();
    test_graphs();
    test_input_types();
    test_nodes();
    test_texts();
    test_sequences();
    test_caches();
    test_causal_states();
    test_opsets();
    test_bodies();
    test_external();
    return check_done();
}
