/* SPDX-License-Identifier: MIT */
/* Functions that a file itself defines: what is refused of them, by name and at once, and what
 * small forms stand for. What they compute is among the cases of tests/conformance/own. */
#include "models/onnx/message.h"
#include "models/onnx/reader.h"
#include "tests/check.h"
#include "tests/models/pb.h"

#include <stdio.h>
#include <time.h>

#define MIB ((size_t) 1 << 20)

enum { MODEL_FUNCTION = 25, NODE_OVERLOAD = 8, SECONDS_MAX = 30 };
enum {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_ATTR = 11,
    FUNCTION_OVERLOAD = 13
};

/* ---- files ---- */

static struct pb node_call(const char *name, const char *in, const char *out)
{
    struct pb n = make_node(name, in, out);
    pb_text(&n, NODE_DOMAIN, "local");
    return n;
}

/* Nodes are for the caller to add. opset 0: none is said. */
static struct pb function_start(const char *name, const char *in, const char *out, int64_t opset)
{
    struct pb f = { 0 };
    pb_text(&f, FUNCTION_NAME, name);
    pb_text(&f, FUNCTION_DOMAIN, "local");
    put_names(&f, FUNCTION_INPUT, in);
    put_names(&f, FUNCTION_OUTPUT, out);
    if (opset)
        pb_message(&f, FUNCTION_OPSET, make_opset("", opset));
    return f;
}

static struct pb function_of(const char *name, const char *in, const char *out, struct pb node)
{
    struct pb f = function_start(name, in, out, 13);
    pb_message(&f, FUNCTION_NODE, node);
    return f;
}

/* A model of one node, named "call". */
static struct pb model_of(struct pb node)
{
    struct pb g = make_graph(DIMS(2, 3));
    pb_text(&node, NODE_NAME, "call");
    pb_message(&g, GRAPH_NODE, node);
    return make_model(g, 13);
}

static struct pb model_with(struct pb node, struct pb function)
{
    struct pb m = model_of(node);
    pb_message(&m, MODEL_FUNCTION, function);
    return m;
}

/* ---- reading ---- */

struct read {
    rill_status status;
    rill_error err;
    uint32_t nodes;
    char first[64]; /* name of the first node */
    size_t held_bytes;
};

/* Takes the file's memory. */
static struct read read_file(struct pb file)
{
    struct read r = { .err = { .status = RILL_OK } };
    struct arena a = { 0 };
    struct dims *ds = dims_new();
    struct mgraph m;
    struct bytes b = { .data = file.data, .n = file.n };
    const time_t begin = time(NULL);
    r.status = mgraph_from_onnx(&m, &a, ds, &b, NULL, &r.err);
    CHECK(time(NULL) - begin < SECONDS_MAX, "took %ld s", (long) (time(NULL) - begin));
    if (r.status == RILL_OK) {
        r.nodes = m.g.n_nodes;
        snprintf(r.first, sizeof r.first, "%s", m.g.n_nodes ? m.g.nodes[0].name : "");
    }
    r.held_bytes = arena_bytes(&a);
    arena_drop(&a);
    dims_free(ds);
    free(file.data);
    return r;
}

static void expect_refused(const char *name, struct pb file, const char *words)
{
    struct read r = read_file(file);
    CHECK(r.status != RILL_OK, "%s: is read", name);
    CHECK(strstr(r.err.text, words), "%s: '%s' does not say '%s'", name, r.err.text, words);
    CHECK(r.held_bytes < 64 * MIB, "%s: held %zu bytes", name, r.held_bytes);
}

static void expect_nodes(const char *name, struct pb file, uint32_t nodes, const char *first)
{
    struct read r = read_file(file);
    CHECK(r.status == RILL_OK, "%s: %s", name, r.err.text);
    CHECK(r.nodes == nodes && !strcmp(r.first, first), "%s: %u nodes, first '%s'", name, r.nodes,
          r.first);
}

/* ---- forms ---- */

static void test_names(void)
{
    struct pb f = function_start("two", "a", "b", 13);
    pb_message(&f, FUNCTION_NODE, make_node("Neg", "a", "call/t")); /* taken, in the model */
    pb_message(&f, FUNCTION_NODE, make_node("Abs", "call/t", "b"));
    expect_nodes("two nodes", model_with(node_call("two", "x", "y"), f), 2, "call/call/t");
    f = function_of("copy", "a", "a", make_node("Neg", "a", "t"));
    expect_nodes("an input that is an output", model_with(node_call("copy", "x", "y"), f), 1, "y");
    f = function_of("both", "a", "b b", make_node("Neg", "a", "b"));
    expect_nodes("an output that comes twice", model_with(node_call("both", "x", "t y"), f), 2,
                 "call/b");
}

/* What rill knows is no call; what it does not know of the standard may be one. */
static void test_shadows(void)
{
    struct pb f = { 0 }, m;
    pb_text(&f, FUNCTION_NAME, "Relu");
    put_names(&f, FUNCTION_INPUT, "a");
    put_names(&f, FUNCTION_OUTPUT, "b");
    pb_message(&f, FUNCTION_NODE, make_node("Nothing", "a", "b"));
    m = model_of(make_node("Relu", "x", "y"));
    pb_message(&m, MODEL_FUNCTION, f);
    expect_nodes("a known op", m, 1, "call");
    f = (struct pb) { 0 };
    pb_text(&f, FUNCTION_NAME, "Bernoulli");
    pb_text(&f, FUNCTION_DOMAIN, "ai.onnx");
    put_names(&f, FUNCTION_INPUT, "a");
    put_names(&f, FUNCTION_OUTPUT, "b");
    pb_message(&f, FUNCTION_OPSET, make_opset("ai.onnx", 13));
    pb_message(&f, FUNCTION_NODE, make_node("Neg", "a", "b"));
    m = model_of(make_node("Bernoulli", "x", "y"));
    pb_message(&m, MODEL_FUNCTION, f);
    expect_nodes("an op that is not known", m, 1, "call/b");
}

static void test_overloads(void)
{
    struct pb n = node_call("f", "x", "y"),
              f = function_of("f", "a", "b", make_node("Neg", "a", "b"));
    pb_text(&n, NODE_OVERLOAD, "one");
    expect_refused("another overload", model_with(n, f), "'f' of domain 'local' is none of");
    n = node_call("f", "x", "y");
    pb_text(&n, NODE_OVERLOAD, "one");
    f = function_of("f", "a", "b", make_node("Neg", "a", "b"));
    pb_text(&f, FUNCTION_OVERLOAD, "one");
    expect_nodes("an overload", model_with(n, f), 1, "call/b");
}

/* ---- what is wrong ---- */

static void test_calls(void)
{
    struct pb f = function_of("f", "a", "b", make_node("Neg", "a", "b"));
    expect_refused("too many inputs", model_with(node_call("f", "x x", "y"), f),
                   "node 'call' has 2 inputs and 1 outputs, function 'f' of domain 'local' has 1");
    f = function_of("f", "a", "b", make_node("Neg", "a", "b"));
    expect_refused("too many outputs", model_with(node_call("f", "x", "y z"), f), "1 and 1");
    f = function_of("f", "a", "b", make_node("Neg", "a", "c"));
    expect_refused("an output that is not made", model_with(node_call("f", "x", "y"), f),
                   "node 'call': function 'f' of domain 'local' does not make output 'b'");
    f = function_of("f", "a b", "b", make_node("Neg", "a", "c"));
    expect_refused("an output that is an absent input", model_with(node_call("f", "x", "y"), f),
                   "does not make output 'b'");
    f = function_of("f", "a a", "b", make_node("Neg", "a", "b"));
    expect_refused("two inputs of a name", model_with(node_call("f", "x x", "y"), f),
                   "has two inputs 'a'");
    f = function_of("f", "a", "b", make_node("Neg", "x", "b"));
    expect_refused("a value of the model", model_with(node_call("f", "x", "y"), f),
                   "node 'call/b' reads 'x', which nothing in function 'f' of domain 'local'");
    f = function_of("f", "a", "b", make_node("Neg", "a", "a"));
    expect_refused("an input that is made", model_with(node_call("f", "x", "y"), f),
                   "defines value 'a' twice");
    f = function_of("f", "a", "b", make_node("Nothing", "a", "b"));
    expect_refused("an op that is not known", model_with(node_call("f", "x", "y"), f),
                   "node 'call/b': op 'Nothing'");
    struct pb m = model_of(node_call("f", "x", "y"));
    for (int i = 0; i < 2; i++)
        pb_message(&m, MODEL_FUNCTION, function_of("f", "a", "b", make_node("Neg", "a", "b")));
    expect_refused("a name twice", m, "function 'f' of domain 'local' is defined twice");
}

static void test_opsets(void)
{
    static const struct {
        int64_t opset;
        const char *words;
    } rows[] = {
        { 0, "node 'call/b': function 'f' of domain 'local' does not say which opset" },
        { -1, "node 'call': function 'f' of domain 'local' is of opset -1; opsets" },
        { 99, "node 'call/b': op 'Nothing'" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pb f = function_start("f", "a", "b", rows[i].opset);
        if (!rows[i].opset)
            pb_message(&f, FUNCTION_OPSET, make_opset("local", 1));
        pb_message(&f, FUNCTION_NODE, make_node("Nothing", "a", "b"));
        expect_refused("an opset", model_with(node_call("f", "x", "y"), f),
                       rows[i].opset == 99 ? "function 'f' of domain 'local' is of opset 99"
                                           : rows[i].words);
    }
    struct pb f = function_start("f", "a", "b", 5), n = make_node("Celu", "a", "b");
    pb_message(&f, FUNCTION_NODE, n);
    expect_refused("a newer op", model_with(node_call("f", "x", "y"), f),
                   "exists in opsets 12 to 28, function 'f' of domain 'local' is of 5");
}

static void test_attributes(void)
{
    struct pb a = make_int_attr("alpha", 0), n = node_call("f", "x", "y"),
              inner = make_node("LeakyRelu", "a", "b");
    pb_text(&a, ATTR_REF_, "slope");
    pb_message(&inner, NODE_ATTR, a);
    pb_message(&n, NODE_ATTR, make_text_attr("slope", "steep"));
    expect_refused("another kind", model_with(n, function_of("f", "a", "b", inner)),
                   "attribute 'alpha' is of kind 2, what node 'call' gives for it of kind 3");
    n = make_node("LeakyRelu", "x", "y");
    a = make_int_attr("alpha", 0);
    pb_text(&a, ATTR_REF_, "slope");
    pb_message(&n, NODE_ATTR, a);
    expect_refused("a reference in no function", model_of(n), "and the node is in none");
    n = node_call("f", "x", "y");
    for (int i = 0; i < 2000; i++)
        pb_message(&n, NODE_ATTR, make_int_attr("a", i));
    expect_refused("attributes without an end",
                   model_with(n, function_of("f", "a", "b", make_node("Neg", "a", "b"))),
                   "more than 1024 attributes");
}

/* ---- without an end, or with none that anybody sees ---- */

/* Functions f0 to fn, each of which calls the next so often; the last has `node`, or calls the
 * first. */
static struct pb chain_of(int n, int times, bool circle, struct pb last)
{
    struct pb m = model_of(node_call("f0", "x", "y"));
    for (int i = 0; i < n; i++) {
        char name[16], next[16], from[16], to[16];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(next, sizeof next, "f%d", (i + 1) % n);
        struct pb f = function_start(name, "t0", i + 1 < n || circle ? "out" : "t0", 13);
        for (int k = 0; k < times && (i + 1 < n || circle); k++) {
            snprintf(from, sizeof from, "t%d", k);
            snprintf(to, sizeof to, k + 1 < times ? "t%d" : "out", k + 1);
            pb_message(&f, FUNCTION_NODE, node_call(next, from, to));
        }
        if (i + 1 == n && last.n) {
            free(f.data);
            f = last;
        }
        pb_message(&m, MODEL_FUNCTION, f);
    }
    return m;
}

static struct pb chain(int n, int times, bool circle)
{
    return chain_of(n, times, circle, (struct pb) { 0 });
}

static struct pb referring(const char *name, int type, const char *to)
{
    struct pb a = { 0 };
    pb_text(&a, ATTR_NAME_, name);
    pb_int(&a, ATTR_TYPE_, type);
    pb_text(&a, ATTR_REF_, to);
    return a;
}

/* Little in the file, and much where it is written out: what calls write is counted. */
static void test_amplified(void)
{
    struct pb f = function_start("f9", "t0", "t0", 13), constant = make_node("Constant", "", "k"),
              floats = { 0 }, bytes = { 0 };
    pb_text(&floats, ATTR_NAME_, "value_floats");
    for (int i = 0; i < 100000; i++)
        pb_put(&bytes, "\0\0\200\77", 4);
    pb_bytes(&floats, 7, bytes.data, bytes.n);
    pb_int(&floats, ATTR_TYPE_, 6);
    pb_message(&constant, NODE_ATTR, floats);
    pb_message(&f, FUNCTION_NODE, constant);
    expect_refused("a constant in each of 512 calls", chain_of(10, 2, false, f),
                   "their constants are more than");
    free(bytes.data);

    struct pb g = { 0 }, call = node_call("f", "c", "y");
    for (int i = 0; i < 20000; i++)
        pb_message(&g, GRAPH_CONST, make_raw("o", 1, DIMS(0), NULL, 0));
    f = function_start("f", "c", "b", 13);
    for (int i = 0; i < 300; i++) {
        struct pb n = make_node("If", "c", i ? "" : "b");
        pb_message(&n, NODE_ATTR, referring("then_branch", 5, "graph"));
        pb_message(&f, FUNCTION_NODE, n);
    }
    pb_message(&call, NODE_ATTR, make_graph_attr("graph", g));
    expect_refused("one graph in 300 nodes", model_with(call, f), "400000 nodes, values");

    struct pb inner = make_node("Neg", "t0", "out");
    f = function_start("f9", "t0", "out", 13);
    for (int i = 0; i < 10000; i++)
        pb_message(&inner, NODE_ATTR, referring("a", 2, "absent"));
    for (int i = 0; i < 1024; i++)
        pb_message(&f, FUNCTION_ATTR, make_int_attr("other", 0));
    pb_message(&f, FUNCTION_NODE, inner);
    expect_refused("10000 references", chain_of(10, 2, false, f), "and attributes");
}

static void test_endless(void)
{
    expect_refused("a circle of three", chain(3, 1, true),
                   "node 'call/out/out/out': function 'f0' of domain 'local' calls itself: "
                   "f0 > f1 > f2 > f0");
    expect_refused("a circle of one", chain(1, 2, true), "calls itself: f0 > f0");
    expect_refused("doubled thirty times", chain(30, 2, false),
                   "written out, the graph has more than 400000 nodes");
    expect_refused("tenfold, without a node", chain(12, 10, false), "more than 400000 nodes");
    expect_refused("functions in functions", chain(3000, 1, false),
                   "functions call functions more than 64 deep");
    expect_nodes("64 functions", chain(64, 1, false), 1, "y");
}

/* An If in each function, whose branches call the next. */
static void test_graphs_deep(void)
{
    struct pb m = model_of(node_call("f0", "x", "y"));
    for (int i = 0; i < 20; i++) {
        char name[16], next[16];
        struct pb n = make_node("If", "c", "b");
        struct pb f = function_start((snprintf(name, sizeof name, "f%d", i), name), "a", "b", 13);
        snprintf(next, sizeof next, "f%d", i + 1);
        for (int k = 0; k < 2; k++) {
            struct pb g = { 0 };
            pb_message(&g, GRAPH_NODE,
                       k && i < 19 ? node_call(next, "a", "t") : make_node("Neg", "a", "t"));
            pb_message(&g, GRAPH_OUTPUT, make_value("t", 1, DIMS(2, 3)));
            pb_message(&n, NODE_ATTR, make_graph_attr(k ? "else_branch" : "then_branch", g));
        }
        pb_message(&f, FUNCTION_NODE, make_node("IsNaN", "a", "c"));
        pb_message(&f, FUNCTION_NODE, n);
        pb_message(&m, MODEL_FUNCTION, f);
    }
    expect_refused("graphs in graphs", m, "nested more than 16 deep");
}

/* ---- as a file of its own ---- */

/* The opset of a file that is written without its function; 0: refused. */
static int64_t opset_written(const char *op, int64_t opset, rill_error *err)
{
    struct arena a = { 0 };
    Onnxpb__Model *m = NULL;
    struct pb f = function_start("f", "a", "b", opset);
    pb_message(&f, FUNCTION_NODE, make_node("Identity", "a", "c"));
    pb_message(&f, FUNCTION_NODE, make_node(op, "c", "b"));
    struct pb file = model_with(node_call("f", "x", "y"), f);
    struct bytes b = { .data = file.data, .n = file.n };
    const rill_status s = onnx_message_read(&m, &a, &b, err);
    const int64_t ret = s == RILL_OK ? onnx_message_opset(m)->version : 0;
    CHECK(s != RILL_OK || (m->n_functions == 0 && m->n_opset_import == 1), "%s: imports", op);
    arena_drop(&a);
    free(file.data);
    return ret;
}

/* Its nodes are of one opset: the model's, or that of a node which is younger. */
static void test_written_again(void)
{
    rill_error err = { .text = "" };
    CHECK(opset_written("Neg", 13, &err) == 13, "%s", err.text);
    CHECK(opset_written("Neg", 7, &err) == 13, "%s", err.text);
    CHECK(opset_written("Neg", 20, &err) == 13, "%s", err.text);
    CHECK(opset_written("Mish", 18, &err) == 18, "%s", err.text);
    CHECK(opset_written("Dropout", 10, &err) == 0, "a Dropout of 10 is one of 13");
    CHECK(!opset_written("Upsample", 9, &err) && strstr(err.text, "'Upsample' is of opset 9"), "%s",
          err.text);
    CHECK(!opset_written("Softmax", 11, &err) && strstr(err.text, "version_converter"), "%s",
          err.text);
}

/* A name of so many bytes at each of the calls, of so many nodes. */
static void test_long_names(void)
{
    struct pb m = model_of(node_call("f", "x", "y")), f = function_start("f", "a", "b", 13);
    char *name = calloc(1, MIB);
    memset(name, 'n', MIB - 1);
    for (int i = 0; i < 100; i++) {
        struct pb n = node_call("g", "a", i ? "" : "b");
        pb_text(&n, NODE_NAME, name);
        pb_message(&f, FUNCTION_NODE, n);
        if (i == 3)
            name[4096] = 0; /* the rest is shorter */
    }
    pb_message(&m, MODEL_FUNCTION, f);
    f = function_start("g", "a", "b", 13);
    for (int i = 0; i < 2000; i++) {
        char out[16];
        snprintf(out, sizeof out, i ? "t%d" : "b", i);
        pb_message(&f, FUNCTION_NODE, make_node("Neg", "a", out));
    }
    pb_message(&m, MODEL_FUNCTION, f);
    free(name);
    expect_refused("long names", m, "bytes of memory");
}

int main(void)
{
    test_names();
    test_shadows();
    test_overloads();
    test_calls();
    test_opsets();
    test_attributes();
    test_endless();
    test_amplified();
    test_written_again();
    test_graphs_deep();
    test_long_names();
    return check_done();
}
