/* SPDX-License-Identifier: MIT */
/* What transforms, pairs of symbols and assertions make of a model, and how wrong ones are
 * refused. */
#include "engine/graph/bodies.h"
#include "engine/graph/subst.h"
#include "tests/models/models_test.h"
#include "tests/models/sample.h"

#define LIST_MAX 6

/* ---- models ---- */

#define HEAD "version 1.0;\nextension KHR_enable_fragment_definitions;\n"

static const struct {
    const char *name, *text;
} models[] = {
    { "plain",
      HEAD "graph g(x, n) -> (y) { x = external<scalar>(shape = [1, 4, S]); n = "
           "external<integer>(shape = [1]);\n"
           "h = relu(x); scaled = h * 2.0; cut = n + 1; y = scaled + 1.0; }" },
    { "two",
      HEAD "graph g(x, z) -> (y, w) { x = external<scalar>(shape = [S, 3]); z = "
           "external<scalar>(shape = [T, 3]);\n"
           "y = relu(x); w = relu(z); }" },
    { "sizes",
      HEAD
      "graph g(x) -> (y) { x = external<scalar>(shape = [2*S, K]); y = reshape(x, [S, 2*K]); }" },
    { "nested",
      HEAD "fragment inner(v: tensor<scalar>, a: tensor<scalar>) -> (o: tensor<scalar>, next: "
           "tensor<scalar>)\n"
           "{ next = a + v; o = next; }\n"
           "fragment outer(v: tensor<scalar>, t: tensor<scalar>) -> (o: tensor<scalar>)\n"
           "{ o = rill_scan(t, body = inner, state = [(a, next, v)]); }\n"
           "graph g(x) -> (y) { x = external<scalar>(shape = [S, 4]); w = x * 2.0;\n"
           "y = rill_scan(x, body = outer, full = [(t, w)]); }" },
    { "old",
      HEAD "fragment step(v: tensor<scalar>, h: tensor<scalar>) -> (o: tensor<scalar>, next: "
           "tensor<scalar>)\n"
           "{ next = 0.5 * h + v; o = next * 2.0; }\n"
           "graph g(x, h0) -> (y) { x = external<scalar>(shape = [S, 2]); h0 = "
           "external<scalar>(shape = [2]);\n"
           "y = rill_scan(x, body = step, state = [(h, next, h0)]); }" },
    { "fixed",
      HEAD "graph g(x, k) -> (y, z) { x = external<scalar>(shape = [1, 12, 4]); k = "
           "external<scalar>(shape = [4]);\n"
           "h = relu(x) * unsqueeze(k, axes = [0, 1]); y = mean_reduce(h, axes = [1]); z = "
           "reshape(h, [6, 8]); }" },
};

/* signal f32[1,S], length i64[1] -> signal where position < length; names as exporters write
 * them. */
static struct pb masked_model(void)
{
    static const int64_t zero = 0, one = 1;
    struct pb g = { 0 };
    pb_text(&g, GRAPH_NAME, "masked");
    pb_message(&g, GRAPH_CONST, make_raw("zero", 7, (const int64_t[]) { -1 }, &zero, 8));
    pb_message(&g, GRAPH_CONST, make_raw("one", 7, (const int64_t[]) { -1 }, &one, 8));
    pb_message(&g, GRAPH_INPUT, make_value("signal", 1, DIMS(1, -2)));
    pb_message(&g, GRAPH_INPUT, make_value("onnx::length.1", 7, DIMS(1)));
    pb_message(&g, GRAPH_NODE, make_node("Shape", "signal", "sizes"));
    pb_message(&g, GRAPH_NODE, make_node("Gather", "sizes one", "total"));
    pb_message(&g, GRAPH_NODE, make_node("Range", "zero total one", "/mask/Range_output_0"));
    pb_message(&g, GRAPH_NODE,
               make_node("Less", "/mask/Range_output_0 onnx::length.1", "/mask/Less_output_0"));
    pb_message(&g, GRAPH_NODE,
               sample_attr(make_node("Cast", "/mask/Less_output_0", "gate"),
                           make_int_attr("to", 1)));
    pb_message(&g, GRAPH_NODE, make_node("Mul", "signal gate", "y"));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1, -2)));
    return make_model(g, 13);
}

/* signal f32[1,S], n i64[] -> signal * positions up to n: no shape without n. */
static struct pb ragged_model(void)
{
    static const int64_t zero = 0, one = 1;
    struct pb g = { 0 };
    pb_text(&g, GRAPH_NAME, "ragged");
    pb_message(&g, GRAPH_CONST, make_raw("zero", 7, (const int64_t[]) { -1 }, &zero, 8));
    pb_message(&g, GRAPH_CONST, make_raw("one", 7, (const int64_t[]) { -1 }, &one, 8));
    pb_message(&g, GRAPH_INPUT, make_value("signal", 1, DIMS(1, -2)));
    pb_message(&g, GRAPH_INPUT, make_value("n", 7, (const int64_t[]) { -1 }));
    pb_message(&g, GRAPH_NODE, make_node("Range", "zero n one", "where"));
    pb_message(&g, GRAPH_NODE,
               sample_attr(make_node("Cast", "where", "factor"), make_int_attr("to", 1)));
    pb_message(&g, GRAPH_NODE, make_node("Mul", "signal factor", "y"));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1, -2)));
    return make_model(g, 13);
}

static void node_put(struct pb *g, const char *op, const char *in, const char *out)
{
    pb_message(g, GRAPH_NODE, make_node(op, in, out));
}

/* f32[1,4,S] and its length: masked, a convolution of stride 2, masked again by the length that is
 * left. */
static struct pb encoder_model(void)
{
    static const int64_t zero = 0, one = 1, two = 2, pads[2] = { 2, 0 };
    static const float none = 0;
    float w[48];
    struct pb g = { 0 }, conv = make_node("Conv", "x w", "c");
    for (int i = 0; i < 48; i++)
        w[i] = (float) (i % 7 - 3) / 8;
    pb_text(&g, GRAPH_NAME, "encoder");
    pb_message(&g, GRAPH_CONST, make_raw("zero", 7, (const int64_t[]) { -1 }, &zero, 8));
    pb_message(&g, GRAPH_CONST, make_raw("one", 7, (const int64_t[]) { -1 }, &one, 8));
    pb_message(&g, GRAPH_CONST, make_raw("two", 7, (const int64_t[]) { -1 }, &two, 8));
    pb_message(&g, GRAPH_CONST, make_raw("axis", 7, DIMS(1), &one, 8));
    pb_message(&g, GRAPH_CONST, make_raw("none", 1, (const int64_t[]) { -1 }, &none, 4));
    pb_message(&g, GRAPH_CONST, make_raw("w", 1, DIMS(4, 4, 3), w, sizeof w));
    pb_message(&g, GRAPH_INPUT, make_value("f", 1, DIMS(1, 4, -2)));
    pb_message(&g, GRAPH_INPUT, make_value("length", 7, DIMS(1)));
    node_put(&g, "Shape", "f", "sizes");
    node_put(&g, "Gather", "sizes two", "total");
    node_put(&g, "Range", "zero total one", "at");
    node_put(&g, "Unsqueeze", "length axis", "end");
    node_put(&g, "GreaterOrEqual", "at end", "over");
    node_put(&g, "Unsqueeze", "over axis", "over3");
    node_put(&g, "Where", "over3 none f", "x");
    conv = sample_attr(conv, make_ints_attr("strides", &two, 1));
    pb_message(&g, GRAPH_NODE, sample_attr(conv, make_ints_attr("pads", pads, 2)));
    node_put(&g, "Sub", "length one", "less");
    node_put(&g, "Div", "less two", "half");
    node_put(&g, "Add", "half one", "left");
    node_put(&g, "Shape", "c", "sizes2");
    node_put(&g, "Gather", "sizes2 two", "total2");
    node_put(&g, "Range", "zero total2 one", "at2");
    node_put(&g, "Unsqueeze", "left axis", "end2");
    node_put(&g, "Less", "at2 end2", "within");
    node_put(&g, "Unsqueeze", "within axis", "within3");
    pb_message(&g, GRAPH_NODE,
               sample_attr(make_node("Cast", "within3", "gate"), make_int_attr("to", 1)));
    node_put(&g, "Mul", "c gate", "y");
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(1, 4, -3)));
    return make_model(g, 13);
}

static void file_put(const char *name, struct pb p)
{
    file_write(test_path("m", name), p.data, p.n);
    free(p.data);
}

static void models_write(void)
{
    mkdir(test_path("m", ""), 0700);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.nnef", models[i].name);
        file_write(test_path("m", file), models[i].text, strlen(models[i].text));
    }
    file_put("masked.onnx", masked_model());
    file_put("ragged.onnx", ragged_model());
    file_put("encoder.onnx", encoder_model());
}

/* ---- what comes of them ---- */

/* One transform, symbol or assertion of the plain one. */
#define T(transform, result)                                                                       \
    {                                                                                              \
        "plain.nnef", .transforms = { transform }, .want = result                                  \
    }
#define SET(symbol, result)                                                                        \
    {                                                                                              \
        "plain.nnef", .set = { symbol }, .want = result                                            \
    }
#define ASSERT(fact, result)                                                                       \
    {                                                                                              \
        "plain.nnef", .asserts = { fact }, .want = result                                          \
    }

static const struct row {
    const char *model, *asserts[LIST_MAX], *set[LIST_MAX], *transforms[LIST_MAX], *stream, *want;
} rows[] = {
    { "plain.nnef", .want = "x f32[1,4,S], n i64[1] -> y f32[1,4,S]; time S, 3 nodes" },
    /* symbols, one after the other */
    { "plain.nnef", .set = { "FOO=2", "S=2*FOO" },
      .want = "x f32[1,4,4], n i64[1] -> y f32[1,4,4]; 3 nodes" },
    { "plain.nnef", .set = { "S=2*T" }, .stream = "T",
      .want = "x f32[1,4,2*T], n i64[1] -> y f32[1,4,2*T]; time T, 3 nodes" },
    { "plain.nnef", .set = { "S=2*T", "T=8" },
      .want = "x f32[1,4,16], n i64[1] -> y f32[1,4,16]; 3 nodes" },
    T("set_symbols(FOO: 2, S: \"2*FOO\")", "x f32[1,4,4], n i64[1] -> y f32[1,4,4]; 3 nodes"),
    { "plain.nnef", .set = { "FOO=3" },
      .transforms = { "set-symbols(S: 'FOO + T')", "pulse(symbol: T)" },
      .want = "x f32[1,4,3 + T], n i64[1] -> y f32[1,4,3 + T]; time T, 3 nodes" },
    { "sizes.nnef", .want = "x f32[2*S,K] -> y f32[S,2*K]; time S, 1 nodes" },
    { "sizes.nnef", .set = { "K=5" }, .want = "x f32[2*S,5] -> y f32[S,10]; time S, 1 nodes" },
    { "sizes.nnef", .set = { "S=3", "K=5" }, .want = "x f32[6,5] -> y f32[3,10]; 1 nodes" },
    { "nested.nnef", .want = "x f32[S,4] -> y f32[S,S,4]; time S, 4 nodes" },
    { "nested.nnef", .set = { "S=3" }, .want = "x f32[3,4] -> y f32[3,3,4]; 4 nodes" },
    { "nested.nnef", .asserts = { "T >= 0" }, .set = { "S=T+1" },
      .want = "x f32[1 + T,4] -> y f32[1 + T,1 + T,4]; time T, 4 nodes" },
    /* time */
    { "two.nnef", .want = "x f32[S,3], z f32[T,3] -> y f32[S,3], w f32[T,3]; 2 nodes" },
    { "two.nnef", .stream = "T",
      .want = "x f32[S,3], z f32[T,3] -> y f32[S,3], w f32[T,3]; time T, 2 nodes" },
    { "two.nnef", .transforms = { "pulse(symbol: S, pulse: 8)" },
      .want = "x f32[S,3], z f32[T,3] -> y f32[S,3], w f32[T,3]; time S, pulse 8, 2 nodes" },
    { "two.nnef", .transforms = { "pulse(symbol: Some(\"S\"), pulse: 8)" },
      .want = "x f32[S,3], z f32[T,3] -> y f32[S,3], w f32[T,3]; time S, pulse 8, 2 nodes" },
    { "two.nnef", .set = { "T=S" },
      .want = "x f32[S,3], z f32[S,3] -> y f32[S,3], w f32[S,3]; time S, 2 nodes" },
    /* the interface */
    T("select_outputs(scaled)", "x f32[1,4,S] -> scaled f32[1,4,S]; time S, 2 nodes"),
    T("select_outputs(scaled, h)",
      "x f32[1,4,S] -> scaled f32[1,4,S], h f32[1,4,S]; time S, 2 nodes"),
    T("select_outputs(cut)", "n i64[1] -> cut i64[1]; 1 nodes"),
    T("select_inputs(\"scaled\")", "scaled f32[1,4,S] -> y f32[1,4,S]; time S, 1 nodes"),
    { "plain.nnef", .transforms = { "select_inputs(h)", "select_outputs(scaled)" },
      .want = "h f32[1,4,S] -> scaled f32[1,4,S]; time S, 1 nodes" },
    T("select_inputs(n, x)", "n i64[1], x f32[1,4,S] -> y f32[1,4,S]; time S, 3 nodes"),
    T("select_inputs(inputs: [n, \"x\"])",
      "n i64[1], x f32[1,4,S] -> y f32[1,4,S]; time S, 3 nodes"),
    T("select_outputs(outputs: [\"scaled\"])",
      "x f32[1,4,S] -> scaled f32[1,4,S]; time S, 2 nodes"),
    { "plain.nnef", .transforms = { "patch(body: 'h = 0.5;')", "set_symbols(values: {\"S\": 2})" },
      .want = "x f32[1,4,2], n i64[1] -> y f32[1,4,2]; 1 nodes" },
    T("select_outputs(x)", "x f32[1,4,S] -> x f32[1,4,S]; time S, 1 nodes"),
    { "two.nnef", .transforms = { "select_outputs(w)" },
      .want = "z f32[T,3] -> w f32[T,3]; time T, 1 nodes" },
    { "masked.onnx", .transforms = { "select_inputs('/mask/Less_output_0', signal)" },
      .want = "/mask/Less_output_0 bool[S], signal f32[1,S] -> y f32[1,S]; time S, 2 nodes" },
    { "masked.onnx", .transforms = { "select_outputs(total)" },
      .want = "signal f32[1,S] -> total dim[]; time S, 1 nodes" },
    /* statements */
    T("patch(body: \"n = shape_of(x)[2];\")", "x f32[1,4,S] -> y f32[1,4,S]; time S, 3 nodes"),
    { "plain.nnef", .transforms = { "patch(body: \"n = shape_of(x)[2];\")", "select_outputs(cut)" },
      .want = " -> cut dim[1]; 1 nodes" },
    { "masked.onnx",
      .want = "signal f32[1,S], onnx::length.1 i64[1] -> y f32[1,S]; time S, 4 nodes" },
    { "masked.onnx", .transforms = { "patch('`onnx::length.1` = shape_of(signal)[1];')" },
      .want = "signal f32[1,S] -> y f32[1,S]; time S, 3 nodes" },
    { "masked.onnx",
      .transforms = { "patch('`/mask/Less_output_0` = signal > 0.0;')", "select_inputs(signal)" },
      .want = "signal f32[1,S] -> y f32[1,S]; time S, 4 nodes" },
    T("patch(body: 'x = x * 3.0;')", "x f32[1,4,S], n i64[1] -> y f32[1,4,S]; time S, 4 nodes"),
    T("patch(body: 'a = h * h; h = a; scaled = h + 1.0;')",
      "x f32[1,4,S], n i64[1] -> y f32[1,4,S]; time S, 4 nodes"),
    T("patch(body: 'n = 5;')", "x f32[1,4,S] -> y f32[1,4,S]; time S, 3 nodes"),
    T("patch(body: 'y = x;')", "x f32[1,4,S], n i64[1] -> y f32[1,4,S]; time S, 1 nodes"),
    { "plain.nnef", .transforms = { "patch(body: 'h = 0.5;')", "set_symbols(S: 2)" },
      .want = "x f32[1,4,2], n i64[1] -> y f32[1,4,2]; 1 nodes" },
    /* nets over windows */
    { "fixed.nnef", .transforms = { "window(x, 12, 4)" },
      .want = "x f32[1,S,4], k f32[4] -> y f32[max(0, -2 + S/4),1,4], z f32[max(0, -2 + S/4),6,8]; "
              "time S, 12 nodes" },
    { "fixed.nnef",
      .transforms = { "window(hop: 3, size: 12, input: x, axis: 1, symbol: V)", "pulse(pulse: 6)" },
      .want = "x f32[1,V,4], k f32[4] -> y f32[max(0, -3 + V/3),1,4], z f32[max(0, -3 + V/3),6,8]; "
              "time V, pulse 6, 12 nodes" },
    { "fixed.nnef", .transforms = { "window(x, 4, 1)" },
      .want = "x f32[1,12,S], k f32[4] -> y f32[max(0, -3 + S),1,4], z f32[max(0, -3 + S),6,8]; "
              "time S, 10 nodes" },
    { "plain.nnef", .transforms = { "window(x, 9, 3, axis: 2)" },
      .want = "x f32[1,4,S], n i64[1] -> y f32[max(0, -2 + S/3),4,9]; time S, 7 nodes" },
    { "fixed.nnef", .transforms = { "window(q, 12, 4)" },
      .want = "!there is no input 'q'|the inputs are: 'x', 'k'" },
    { "fixed.nnef", .transforms = { "window(x, 11, 4)" },
      .want = "!input 'x' is f32[1,12,4]|which of its axes has 11 frames? axis: N says it" },
    { "fixed.nnef", .transforms = { "window(x, 11, 4, axis: 1)" },
      .want = "!axis 1 does not have 11 frames, and the file fixes it" },
    { "fixed.nnef", .transforms = { "window(x, 12, 4, axis: 3)" }, .want = "!no such axis" },
    { "fixed.nnef", .transforms = { "window(x, 0, 4)" }, .want = "!at least 1 each" },
    { "fixed.nnef", .transforms = { "window(x, 12, 0)" }, .want = "!at least 1 each" },
    { "fixed.nnef", .transforms = { "window(x, 12, 13)" },
      .want = "!windows of 12 frames every 13 leave frames out; every 12 at most" },
    { "fixed.nnef", .transforms = { "window(x, 12)" }, .want = "!window(x, 76, 8)" },
    { "fixed.nnef", .transforms = { "window(x, 12, 4, 1)" },
      .want = "!column 18|known: input, size, hop, axis, symbol" },
    { "fixed.nnef", .transforms = { "window(x, 12, often)" },
      .want = "!'often' is not a number of frames" },
    { "fixed.nnef", .transforms = { "window(x, 12, hop: 4, hop: 4)" },
      .want = "!'hop' is given twice" },
    { "fixed.nnef", .transforms = { "window(x, 12, 4, symbol: 'S+1')" },
      .want = "!column 26|'S+1' is no symbol, which is a letter or _" },
    { "fixed.nnef", .transforms = { "window(x, 12, 4, symbol: 1T)" },
      .want = "!'1T' is no symbol" },
    { "fixed.nnef", .transforms = { "window(x, 12, 4, symbol: 'a b')" },
      .want = "!'a b' is no symbol" },
    { "fixed.nnef", .transforms = { "window(x, 12, 4, symbol: 'T;x')" },
      .want = "!'T;x' is no symbol" },
    { "plain.nnef", .transforms = { "pulse(symbol: 'S+1')" },
      .want = "!column 15|'S+1' is no symbol" },
    { "plain.nnef", .transforms = { "set_symbols('S+1': 2)" }, .want = "!'S+1' is no symbol" },
    /* old files */
    { "old.nnef", .transforms = { "force_scan_external_state" },
      .want = "x f32[S,2], h0 f32[2] -> y f32[S,2]; time S, 4 nodes, note" },
    { "nested.nnef", .transforms = { "force-scan-external-state()" },
      .want = "x f32[S,4] -> y f32[S,S,4]; time S, 4 nodes, note" },
    /* assertions */
    { "plain.nnef", .asserts = { "T >= 1" }, .set = { "S=2*T" },
      .want = "x f32[1,4,2*T], n i64[1] -> y f32[1,4,2*T]; time T, 3 nodes" },
    { "plain.nnef", .asserts = { "S >= 1", "S <= 9" }, .set = { "S=9" },
      .want = "x f32[1,4,9], n i64[1] -> y f32[1,4,9]; 3 nodes" },

    { "encoder.onnx", .transforms = { "patch(body: 'length = shape_of(f)[2];')" },
      .want = "f f32[1,4,S] -> y f32[1,4,(1 + S)/2]; time S, 5 nodes" },
    /* a graph that cannot be typed as it is */
    { "ragged.onnx", .transforms = { "patch(body: 'n = shape_of(signal)[1];')" },
      .want = "signal f32[1,S] -> y f32[1,S]; time S, 3 nodes" },
    { "ragged.onnx", .want = "!node 'where' (Range)|depends on the data of input 1" },
    { "ragged.onnx", .transforms = { "patch('q = factor; y = signal;')" },
      .want = "!'factor' has no known type and shape" },
    { "ragged.onnx", .transforms = { "select_inputs(signal, factor)" },
      .want = "!wire 'factor' has no known type|typing stops before: node 'where' (Range)" },

    /* refused */
    { "plain.nnef", .asserts = { "S >= 3" }, .set = { "S=2" }, .want = "!set 'S=2'|contradicts" },
    ASSERT("S => 3", "!assertion|expected a comparison"),
    ASSERT("3*S < -2", "!'3*S < -2' contradicts what is known: S >= 0"),
    { "plain.nnef", .asserts = { "S >= 3", "S < 2" },
      .want = "!'S < 2' contradicts what is known: S >= 3" },
    { "masked.onnx", .asserts = { "S == 2*S + 1" },
      .want = "!'S == 2*S + 1' contradicts what is known: S >= 0" },
    ASSERT("S % 8 == 9", "!'S % 8 == 9' holds for no S at all"),
    ASSERT("2*(S/2) > S", "!'2*(S/2) > S' holds for no S at all"),
    { "plain.nnef", .asserts = { "S % 8 == 5", "S <= 4" },
      .want = "!'S <= 4' contradicts what is known: S % 8 == 5" },
    { "plain.nnef", .asserts = { "S <= 4", "S % 8 == 5" },
      .want = "!'S % 8 == 5' contradicts what is known: S <= 4" },
    { "plain.nnef", .asserts = { "S % 8 == 1", "S % 4 == 2" },
      .want = "!'S % 4 == 2' contradicts what is known" },
    { "plain.nnef", .asserts = { "S >= 1", "Q >= 3" },
      .want = "!assertion 'Q >= 3': nothing has a symbol 'Q'" },
    ASSERT("S < \"no such\"", "!nothing has a symbol 'no such'"),
    SET("Q=3", "!symbol 'Q' was set, but neither the model nor|symbols that are left: S"),
    SET("S=2*BAR", "!set 'S=2*BAR': nothing has a symbol 'BAR'; the model has: S;|('BAR>=1')"),
    SET("S=2+0*BAR", "!set 'S=2+0*BAR': nothing has a symbol 'BAR'"),
    { "plain.nnef", .set = { "FOO=BAR", "S=FOO" },
      .want = "!set 'FOO=BAR': nothing has a symbol 'BAR'" },
    { "plain.nnef", .asserts = { "T >= 1" }, .set = { "S=min(T, BAR)" },
      .want = "!nothing has a symbol 'BAR'" },
    { "plain.nnef", .set = { "S=T*\"no such\"" }, .stream = "T",
      .want = "!nothing has a symbol 'no such'" },
    T("set_symbols(S: \"2*BAR\")", "!set 'S=2*BAR': nothing has a symbol 'BAR'"),
    { "plain.nnef", .transforms = { "set_symbols(S: BAR)", "select_outputs(h)" },
      .want = "!set 'S=BAR': nothing has a symbol 'BAR'" },
    { "two.nnef", .set = { "S=2*BAR", "BAR=T" },
      .want = "x f32[2*T,3], z f32[T,3] -> y f32[2*T,3], w f32[T,3]; time T, 2 nodes" },
    { "plain.nnef", .set = { "S=3", "S=4" }, .want = "!symbol 'S' has been set already" },
    SET("S=S+1", "!set 'S=S+1'|mentions it"),
    SET("S", "!'S' is not of the form SYMBOL=EXPRESSION"),
    SET("S=2*", "!set 'S=2*'|column 3"),
    SET("S=-1", "!set 'S=-1'|contradicts"),
    { "plain.nnef", .stream = "Q", .want = "!no input has the symbol 'Q'|symbols are: S" },
    T("set_symbols(S: 2", "!column 17: found the end, expected ',' or ')'"),
    T("set_symbols(S: 2*T)", "!column 17: found '*'|in quotes"),
    T("set_symbols(values: {S: 2)", "!column 26: found ')', expected ',' or '}'"),
    T("set_symbols(values: {S: [2]})", "!column 25: found '[', expected a word"),
    T("set_symbols(values: [S])", "!column 21: 'values' takes no list"),
    T("select_outputs(body: [y])", "!'body' takes no list; inputs and outputs take [a, b]"),
    T("set_symbols(S 2)", "!column 15: found '2'"),
    T("set_symbols(S)", "!column 13: expected SYMBOL: value"),
    T("set_symbols(S: \"2*\")", "!column 16|column 3"),
    T("set_symbols(S: \"2)", "!column 16: the quote that opens here"),
    T("patch(body: 'a\\q')", "!column 16: only a quote"),
    T("", "!column 1: found the end, expected the name"),
    T("pulse) ", "!column 6: found ')'"),
    T("pulse() x", "!column 9: found 'x', expected the end"),
    T("select_outputs(y, )", "!column 19: found ')', expected a word"),
    T("select\377", "!column 7: found byte 0xff"),
    T("fold(x)", "!unknown transform 'fold'; known: set_symbols, select_inputs, "),
    T("select_outputs(q)", "!no wire 'q'; its inputs and outputs are 'x', 'n', 'y'"),
    T("select_outputs(scale)", "!no wire 'scale'; like it are 'scaled'"),
    T("select_outputs(y, y)", "!wire 'y' is named twice"),
    T("select_outputs", "!at least one wire"),
    T("select_outputs(name: y)", "!column 22: 'name:' has no place"),
    T("select_inputs(cut)", "!input 'x' is still needed"),
    { "two.nnef", .transforms = { "select_inputs(x)" }, .want = "!input 'z' is still needed" },
    T("pulse(symbol: S, pulse: -8)", "!column 25: a pulse is a number"),
    T("pulse(symbol: S, width: 8)", "!unknown argument 'width'; known: symbol, pulse"),
    T("pulse(symbol: Some(S)", "!found the end, expected"),
    T("pulse(symbol: Some(S, 8))", "!found ',', expected ')' behind Some("),
    T("pulse(symbol: Q)", "!no input has the symbol 'Q'"),
    { "plain.nnef", .transforms = { "pulse(pulse: 8)", "select_outputs(h)" },
      .want = "!nothing may follow 'pulse'" },
    T("force_scan_external_state", "!the model has no Scan"),
    T("recurrent_weights(f32)", "x f32[1,4,S], n i64[1] -> y f32[1,4,S]; time S, 3 nodes"),
    T("recurrent_weights(i16)",
      "!recurrent_weights i16: the model has no recurrent cell|more than 49152 bytes"),
    T("recurrent_weights(i8)", "!column 19: unknown argument 'i8'; known: f32, i16"),
    T("recurrent_weights", "!wants one of: f32, i16"),
    T("recurrent_weights(to: i16)", "!column 23: unknown argument 'to'; known: f32, i16"),
    { "old.nnef", .transforms = { "force_scan_external_state(1)" },
      .want = "!it takes no arguments" },
    T("patch", "!patch wants a body"),
    T("patch(text: 'a')", "!unknown argument 'text'; known: body"),
    T("patch('q = relu(x);')", "!patch:1:1: no statement redefines a wire"),
    T("patch('h = relu(q);')", "!patch:1:10: unknown name 'q'|or a wire of the model"),
    T("patch('h = relu(x)')", "!patch:1:12: found the end of the text, expected ';'"),
    T("patch('x = y * x;')", "!'h' would depend on itself, through 'scaled'"),
    T("patch('n = [1, 2, 3];')",
      "!patch:1:1: 'n' is i64[1] and cannot become i64[3]: another number"),
    T("patch('h = external<scalar>(shape = [3]);')", "!patch:1:5: 'external' stands alone"),
    T("patch('')", "!no statements"),
};

static void describe(const rill_model *m, char *buf, size_t cap)
{
    const struct graph *g = &m->decluttered.g;
    size_t at = 0;
#define PUT(...) at += at < cap ? (size_t) snprintf(buf + at, cap - at, __VA_ARGS__) : 0
    for (uint32_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
        const struct wire *w =
            &g->wires[i < g->n_inputs ? g->inputs[i] : g->outputs[i - g->n_inputs]];
        char fact[200];
        fact_print(&w->fact, fact, sizeof fact);
        PUT("%s%s %s", i == g->n_inputs ? " -> " : i ? ", " : "", w->name, fact);
    }
    PUT("; ");
    if (m->stream)
        PUT("time %s, ", dim_name(m->stream));
    if (m->pulse)
        PUT("pulse %u, ", m->pulse);
    PUT("%u nodes", graph_count_nodes(g));
    if (m->n_transforms && m->transforms[m->n_transforms - 1].note)
        PUT(", note");
#undef PUT
}

/* Every stage agrees with its bodies, and no symbol that was replaced is left anywhere. */
static bool stages_fine(const rill_model *m, const struct row *r, rill_error *err)
{
    for (unsigned i = 0; i < m->n_transforms; i++)
        if (graph_check_bodies(&m->transforms[i].mgraph.g, NULL, NULL, err) != RILL_OK ||
            graph_check(&m->transforms[i].mgraph.g, err) != RILL_OK)
            return false;
    for (int i = 0; i < LIST_MAX && r->set[i]; i++) {
        const struct dim *list[32];
        size_t n = strcspn(r->set[i], "=");
        for (unsigned k = graph_symbols(&m->decluttered.g, list, 0, 32); k-- > 0;)
            if (strlen(dim_name(list[k])) == n && !strncmp(dim_name(list[k]), r->set[i], n))
                return false;
    }
    return true;
}

/* "!a|b": refused, with a and b in the message. */
static bool refusal_fits(const struct row *r, const rill_error *err)
{
    char words[200], *save = NULL;
    snprintf(words, sizeof words, "%s", r->want + 1);
    for (char *w = strtok_r(words, "|", &save); w; w = strtok_r(NULL, "|", &save))
        if (!strstr(err->text, w))
            return false;
    return err->status != RILL_OK && err->status != RILL_INTERNAL;
}

static void row_check(const struct row *r)
{
    const rill_model_opts opts = { .struct_bytes = sizeof opts,
                                   .asserts = r->asserts,
                                   .set = r->set,
                                   .transforms = r->transforms,
                                   .stream = r->stream };
    rill_error err = { RILL_OK, "" };
    rill_model *m = NULL;
    char got[600] = "";
    rill_status s = rill_model_open_with(&m, test_path("m", r->model), &opts, &err);
    const char *last = r->transforms[0] ? r->transforms[0] : r->set[0] ? r->set[0] : "";
    if (*r->want == '!') {
        CHECK(s != RILL_OK && s == err.status && refusal_fits(r, &err), "%s %s: %d %s", r->model,
              last, s, err.text);
    } else if (s != RILL_OK) {
        CHECK(s == RILL_OK, "%s %s: %s", r->model, last, err.text);
    } else {
        describe(m, got, sizeof got);
        CHECK(!strcmp(got, r->want), "%s %s: %s, not %s", r->model, last, got, r->want);
        CHECK(stages_fine(m, r, &err), "%s %s: %s", r->model, last, err.text);
    }
    rill_model_free(m);
}

/* Mangled specs are refused with words or do something; nothing else happens. */
static void test_mangled(void)
{
    static const char *const seeds[] = {
        "set_symbols(S: \"2*T + min(3, U/4)\", N: 4)",
        "patch(body: 'a = h * 2.0; h = reshape(a, [1, 4, S]); n = 3;')",
        "select_inputs(h, \"n\")",
        "set_symbols(values: {\"S\": 2, N: 4})",
        "select_inputs(inputs: [h, n])",
        "select_outputs(scaled, cut, 'x')",
        "pulse(symbol: S, pulse: 8)",
        "force-scan-external-state()",
    };
    static const char bytes[] = "(){}\"':,;=*/\\`[] SxhnT09-.\n\377";
    uint32_t seed = 7;
    unsigned taken = 0, mute = 0;
    for (unsigned i = 0; i < 6000; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "%s", seeds[i % (sizeof seeds / sizeof *seeds)]);
        for (unsigned k = 0; k < 1 + i % 2; k++) {
            seed = seed * 1664525u + 1013904223u;
            spec[(seed >> 8) % strlen(spec)] = bytes[(seed >> 20) % (sizeof bytes - 1)];
        }
        const char *transforms[] = { spec, NULL };
        const rill_model_opts opts = { .struct_bytes = sizeof opts, .transforms = transforms };
        rill_error err = { RILL_OK, "" };
        rill_model *m = NULL;
        rill_status s =
            rill_model_open_with(&m, test_path("m", i / 6 % 4 ? "plain.nnef" : "old.nnef"), &opts,
                                 &err);
        taken += s == RILL_OK;
        mute += s != RILL_OK && (s != err.status || !err.text[0] || s == RILL_INTERNAL);
        rill_model_free(m);
    }
    CHECK(taken > 20 && !mute, "%u taken, %u refused without words", taken, mute);
}

/* ---- what they compute ---- */

static rill_model *model_with(const char *file, const char *const *set,
                              const char *const *transforms)
{
    const rill_model_opts opts = { .struct_bytes = sizeof opts,
                                   .set = set,
                                   .transforms = transforms };
    rill_error err = { RILL_OK, "" };
    rill_model *m = NULL;
    rill_status s = rill_model_open_with(&m, test_path("m", file), &opts, &err);
    CHECK(s == RILL_OK, "%s: %s", file, err.text);
    return m;
}

/* The whole-sequence run on x and, where the model takes it, n; want: the floats of the first
 * output. */
static void whole_check(const char *what, rill_model *m, const struct tensor *x,
                        const struct tensor *n, const float *want, int64_t n_want)
{
    struct arena a = { 0 };
    rill_error err = { RILL_OK, "" };
    const struct tensor *in[2] = { x, n }, *y = NULL;
    if (!m)
        return;
    CHECK(m->decluttered.g.n_inputs == (n ? 2u : 1u), "%s: %u inputs", what,
          m->decluttered.g.n_inputs);
    rill_status s = interp_run(&m->decluttered.g, in, &a, &y, &err);
    CHECK(s == RILL_OK && tensor_count(y) == n_want &&
              !memcmp(y->data, want, (size_t) n_want * sizeof *want),
          "%s: %s", what, err.text);
    arena_drop(&a);
    rill_model_free(m);
}

static void test_values(void)
{
    float x5[5] = { 1, -2, 3, -4, 5 }, cut[5] = { 1, -2, 3, -0.0f, 0 },
          sixfold[5] = { 6, -12, 18, -24, 30 };
    int64_t three = 3;
    struct tensor x = { .type = DTYPE_F32, .rank = 2, .dim = { 1, 5 }, .data = x5 };
    struct tensor n = { .type = DTYPE_I64, .rank = 1, .dim = { 1 }, .data = &three };
    whole_check("as read", model_with("masked.onnx", NULL, NULL), &x, &n, cut, 5);
    const char *length[] = { "patch('`onnx::length.1` = shape_of(signal)[1];')", NULL };
    whole_check("length redefined", model_with("masked.onnx", NULL, length), &x, NULL, x5, 5);
    const char *twice[] = { length[0], "patch('signal = signal * 2.0;')",
                            "patch('signal = signal * 3.0;')", NULL };
    whole_check("input redefined twice", model_with("masked.onnx", NULL, twice), &x, NULL, sixfold,
                5);
    const char *fixed[] = { "S=5", NULL }, *number[] = { "patch('`onnx::length.1` = 3;')", NULL };
    whole_check("a number", model_with("masked.onnx", fixed, number), &x, NULL, cut, 5);
}

/* A mask below a length that is the signal's own says nothing: the model streams. */
static void test_stream(void)
{
    const char *length[] = { "patch('`onnx::length.1` = shape_of(signal)[1];')", NULL };
    float x[7] = { 1, -2, 3, -4, 5, -6, 7 };
    rill_error err = { RILL_OK, "" };
    rill_model *m = model_with("masked.onnx", NULL, length);
    for (uint32_t pulse = 1; m && pulse < 4; pulse++) {
        struct floats y = model_run_pulse(m, (struct floats) { x, 7 }, 2, pulse, &err);
        CHECK(y.n == 7 && !memcmp(y.v, x, sizeof x), "pulse %u: %zu frames %s", pulse, y.n,
              err.text);
        free(y.v);
    }
    rill_model_free(m);
}

static void test_encoder(void)
{
    const char *length[] = { "patch(body: 'length = shape_of(f)[2];')", NULL };
    float turned[4 * 11], frames[4 * 11]; /* [4, 11] and frame after frame */
    struct tensor x = { .type = DTYPE_F32, .rank = 3, .dim = { 1, 4, 11 }, .data = turned };
    const struct tensor *in = &x, *y = NULL;
    struct arena a = { 0 };
    rill_error err = { RILL_OK, "" };
    rill_model *m = model_with("encoder.onnx", NULL, length);
    for (int i = 0; i < 44; i++)
        turned[i] = frames[i % 11 * 4 + i / 11] = (float) (i * i % 13) - 6;
    bool ran = m && interp_run(&m->decluttered.g, &in, &a, &y, &err) == RILL_OK &&
        tensor_count(y) == 4 * 6;
    CHECK(ran, "%s", err.text);
    for (uint32_t pulse = 2; ran && pulse < 7; pulse += 2) {
        struct floats got = model_run_pulse(m, (struct floats) { frames, 44 }, 4, pulse, &err);
        bool same = got.n == 24;
        for (size_t i = 0; same && i < 24; i++)
            same = got.v[i] == ((const float *) y->data)[i % 4 * 6 + i / 4];
        CHECK(same, "pulse %u: %zu floats %s", pulse, got.n, err.text);
        free(got.v);
    }
    arena_drop(&a);
    rill_model_free(m);
}

/* A number in the place of a symbol, in bodies within bodies, computes what the symbol does. */
static void test_nested(void)
{
    float v[12], y[36];
    struct tensor x = { .type = DTYPE_F32, .rank = 2, .dim = { 3, 4 }, .data = v };
    for (int i = 0; i < 12; i++)
        v[i] = (float) (i * i % 7) - 2;
    for (int t = 0; t < 3; t++)
        for (int k = 0; k < 4; k++) {
            float a = v[4 * t + k];
            for (int u = 0; u < 3; u++)
                y[12 * t + 4 * u + k] = a += v[4 * u + k] * 2;
        }
    const char *three[] = { "S=3", NULL }, *more[] = { "S=T + 1", NULL },
               *time[] = { "pulse(symbol: T)", NULL };
    whole_check("nested", model_with("nested.nnef", NULL, NULL), &x, NULL, y, 36);
    whole_check("nested, S=3", model_with("nested.nnef", three, NULL), &x, NULL, y, 36);
    whole_check("nested, S=T+1", model_with("nested.nnef", more, time), &x, NULL, y, 36);
}

/* h = h/2 + x, y = 2*h, with h from h0 at the start of the stream, or of every run where the caller
 * owns it. */
static void state_check(rill_model *m, bool external)
{
    rill_plan *p = NULL;
    rill_error err = { RILL_OK, "" };
    rill_plan_info info = { .struct_bytes = sizeof info };
    CHECK(rill_plan_new(&p, m, NULL, &err) == RILL_OK, "%s", err.text);
    if (!p)
        return;
    rill_plan_get_info(p, &info);
    CHECK(info.pulse_samples == 4 && !info.state_bytes == external, "pulse %u, state %llu",
          info.pulse_samples, (unsigned long long) info.state_bytes);
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, p);
    float h[2] = { 8, -8 }, x[8], y[8];
    const float start[2] = { 8, -8 };
    for (int run = 0; run < 3; run++) {
        size_t n;
        for (int i = 0; i < 8; i++)
            x[i] = (float) (run * 8 + i);
        rill_stream_push(s, 0, x, 4, &n);
        rill_stream_push(s, 1, start, 1, &n);
        CHECK(rill_stream_run(s) == RILL_OK, "run %d", run);
        rill_stream_pull(s, 2, y, 4, &n);
        CHECK(n == 4, "%zu frames", n);
        memcpy(h, external ? start : h, sizeof h);
        for (int i = 0; i < 8; i++) {
            h[i % 2] = 0.5f * h[i % 2] + x[i];
            CHECK(y[i] == 2 * h[i % 2], "run %d: %g, not %g", run, (double) y[i],
                  2 * (double) h[i % 2]);
        }
    }
    free(mem);
    rill_plan_unref(p);
}

static void test_states(void)
{
    const char *own[] = { "pulse(pulse: 4)", NULL },
               *caller[] = { "force-scan-external-state", own[0], NULL };
    rill_model *m = model_with("old.nnef", NULL, own);
    if (m)
        state_check(m, false);
    rill_model_free(m);
    if ((m = model_with("old.nnef", NULL, caller)))
        state_check(m, true);
    rill_model_free(m);
}

/* A graph may only become fit for typing by a transform; until then its stage says why not. */
static void test_late_typing(void)
{
    const char *patch[] = { "patch(body: 'n = shape_of(signal)[1];')", NULL };
    rill_model *m = model_with("ragged.onnx", NULL, patch);
    if (m)
        CHECK(m->n_transforms == 2 && !m->transforms[0].is_typed &&
                  strstr(m->transforms[0].why, "Range") && m->transforms[1].is_typed &&
                  m->mgraph.g.n_inputs == 2 && m->decluttered.g.n_inputs == 1 &&
                  !strcmp(m->transforms[1].spec, patch[0]),
              "%u transforms", m->n_transforms);
    rill_model_free(m);
}

int main(void)
{
    test_root_make();
    models_write();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row_check(&rows[i]);
    test_mangled();
    test_values();
    test_stream();
    test_encoder();
    test_nested();
    test_states();
    test_late_typing();
    test_root_drop();
    return check_done();
}
