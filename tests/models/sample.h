/* SPDX-License-Identifier: MIT */
/* sample.h - a valid model that uses every message of the format: seed of mutations. */
#ifndef TESTS_MODELS_SAMPLE_H
#define TESTS_MODELS_SAMPLE_H
#include "tests/models/pb.h"

static inline struct pb sample_attr(struct pb node, struct pb attr)
{
    pb_message(&node, NODE_ATTR, attr);
    return node;
}

static inline struct pb sample_branch(const char *op, const char *in)
{
    struct pb g = { 0 };
    pb_message(&g, GRAPH_NODE, make_node(op, in, "r"));
    pb_message(&g, GRAPH_OUTPUT, make_value("r", 1, DIMS(2, 3)));
    return g;
}

/* state + slice -> state, slice */
static inline struct pb sample_scan_body(void)
{
    struct pb g = { 0 };
    pb_message(&g, GRAPH_INPUT, make_value("h", 1, DIMS(3)));
    pb_message(&g, GRAPH_INPUT, make_value("v", 1, DIMS(3)));
    pb_message(&g, GRAPH_NODE, make_node("Add", "h v", "h2"));
    pb_message(&g, GRAPH_NODE, make_node("Mul", "h2 bias", "o"));
    pb_message(&g, GRAPH_OUTPUT, make_value("h2", 1, DIMS(3)));
    pb_message(&g, GRAPH_OUTPUT, make_value("o", 1, DIMS(3)));
    return g;
}

static inline struct pb sample_if(void)
{
    struct pb n = make_node("If", "flag", "picked");
    n = sample_attr(n, make_graph_attr("then_branch", sample_branch("Relu", "sum")));
    return sample_attr(n, make_graph_attr("else_branch", sample_branch("Add", "sum bias")));
}

/* x f32[2,3], flag bool -> y = scan(if(flag, relu(x + w), x + w + bias)), total */
static inline struct pb sample_model(void)
{
    static const float w[6] = { 1, -2, 3, -4, 5, -6 };
    struct pb g = { 0 }, bias = make_tensor("bias", 1, DIMS(3)),
              axes = make_tensor("axes", 7, DIMS(1)), list = { 0 };
    for (int i = 0; i < 3; i++)
        pb_float(&bias, TENSOR_FLOATS, (float) i);
    pb_varint(&list, 1);
    pb_message(&axes, TENSOR_INT64S, list);
    pb_text(&g, GRAPH_NAME, "sample");
    pb_message(&g, GRAPH_CONST, make_raw("w", 1, DIMS(2, 3), w, sizeof w));
    pb_message(&g, GRAPH_CONST, bias);
    pb_message(&g, GRAPH_CONST, axes);
    pb_message(&g, GRAPH_INPUT, make_value("x", 1, DIMS(2, 3)));
    pb_message(&g, GRAPH_INPUT, make_value("flag", 9, (const int64_t[]) { -1 }));
    pb_message(&g, GRAPH_NODE, make_node("Add", "x w", "sum"));
    pb_message(&g, GRAPH_NODE, sample_if());
    struct pb scan = make_node("Scan", "bias picked", "last y");
    scan = sample_attr(scan, make_int_attr("num_scan_inputs", 1));
    scan = sample_attr(scan, make_ints_attr("scan_input_directions", (const int64_t[]) { 1 }, 1));
    pb_message(&g, GRAPH_NODE, sample_attr(scan, make_graph_attr("body", sample_scan_body())));
    pb_message(&g, GRAPH_NODE,
               sample_attr(make_node("ReduceSum", "y axes", "total"),
                           make_int_attr("keepdims", 0)));
    pb_message(&g, GRAPH_OUTPUT, make_value("y", 1, DIMS(2, 3)));
    pb_message(&g, GRAPH_OUTPUT, make_value("total", 1, DIMS(2)));
    struct pb m = make_model(g, 13);
    pb_message(&m, MODEL_META, make_entry("sample_rate", "16000"));
    return m;
}
#endif
