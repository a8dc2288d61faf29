#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the nets that quantize.sh works on, beside this file; wants the packages onnx and numpy. make.py"""
import os

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(16)


def f32(shape):
    return rng.standard_normal(shape).astype(np.float32)


def init(name, v):
    return nh.from_array(np.asarray(v), name)


def vi(name, shape, kind=T.FLOAT):
    return h.make_tensor_value_info(name, kind, shape)


def save(name, nodes, inputs, outputs, inits=(), opset=13, ir=7, **more):
    g = h.make_graph(nodes, name, inputs, outputs, list(inits))
    m = h.make_model(g, opset_imports=[h.make_opsetid("", opset)], ir_version=ir, producer_name="make.py",
                     producer_version="1.0", doc_string="kept")
    h.set_model_props(m, {"kept": "yes"})
    onnx.save(m, os.path.join(HERE, name + ".onnx"), **more)


# Of opset 11: what became inputs since, and a softmax over all axes from the first on.
save("old", [
    h.make_node("MatMul", ["x", "w"], ["m"], name="first"),
    h.make_node("Unsqueeze", ["m"], ["u"], axes=[2]),
    h.make_node("ReduceSum", ["u"], ["r"], axes=[2], keepdims=0),
    h.make_node("ReduceMean", ["u"], ["rm"], axes=[2], keepdims=1),
    h.make_node("Squeeze", ["rm"], ["s"], axes=[2]),
    h.make_node("Split", ["s"], ["s0", "s1"], axis=1, split=[8, 24]),
    h.make_node("Softmax", ["u"], ["soft"]),
    h.make_node("Reshape", ["soft", "flat"], ["sf"]),
    h.make_node("Concat", ["s0", "s1", "r", "sf"], ["y"], axis=1),
], [vi("x", [2, 16])], [vi("y", [2, 96])], [init("w", f32((16, 32))), init("flat", np.array([2, 32], np.int64))],
     opset=11, ir=6)

# Products, a Gemm of either order, convolutions of every kind.
save("layers", [
    h.make_node("Conv", ["x", "cw", "cb"], ["c"], name="conv", pads=[1, 1]),
    h.make_node("Relu", ["c"], ["cr"]),
    h.make_node("Conv", ["cr", "dw"], ["d"], name="depthwise", group=8, pads=[1, 1]),
    h.make_node("ConvTranspose", ["d", "tw"], ["t"], name="transposed", strides=[2]),
    h.make_node("ReduceMean", ["t"], ["mean"], axes=[2], keepdims=0),
    h.make_node("Gemm", ["mean", "gw", "gb"], ["g"], name="gemm", transB=1),
    h.make_node("Gemm", ["g", "hw"], ["hy"], name="scaled", alpha=0.5),
    h.make_node("MatMul", ["hy", "mw"], ["y"], name="product"),
], [vi("x", [1, 4, 12])], [vi("y", [1, 6])], [
    init("cw", f32((8, 4, 3))), init("cb", f32(8)), init("dw", f32((8, 1, 3))), init("tw", f32((8, 8, 2))),
    init("gw", f32((20, 8))), init("gb", f32(20)), init("hw", f32((20, 16))), init("mw", f32((16, 6)))])

# Cells, with weights in one piece, in pieces that are put together, and of two directions.
save("cells", [
    h.make_node("LSTM", ["x", "W", "R", "B", "", "h", "c"], ["a", "hn", "cn"], name="lstm", hidden_size=12),
    h.make_node("Squeeze", ["a", "one"], ["as"]),
    h.make_node("Slice", ["gates", "s0", "s1"], ["g0"]),
    h.make_node("Slice", ["gates", "s1", "s3"], ["g1"]),
    h.make_node("Concat", ["g1", "g0"], ["moved"], axis=0),
    h.make_node("Unsqueeze", ["moved", "zero"], ["GW"]),
    h.make_node("GRU", ["as", "GW", "GR"], ["b"], name="gru", hidden_size=10),
    h.make_node("Squeeze", ["b", "one"], ["bs"]),
    h.make_node("GRU", ["bs", "DW", "DR"], ["y"], name="both", hidden_size=6, direction="bidirectional"),
], [vi("x", [3, 1, 8]), vi("h", [1, 1, 12]), vi("c", [1, 1, 12])],
     [vi("y", [3, 2, 1, 6]), vi("hn", [1, 1, 12]), vi("cn", [1, 1, 12])], [
    init("W", f32((1, 48, 8))), init("R", f32((1, 48, 12))), init("B", f32((1, 96))),
    init("gates", f32((30, 12))), init("GR", f32((1, 30, 10))), init("DW", f32((2, 18, 10))),
    init("DR", f32((2, 18, 6))), init("one", np.array([1], np.int64)), init("zero", np.array([0], np.int64)),
    init("s0", np.array([0], np.int64)), init("s1", np.array([10], np.int64)), init("s3", np.array([30], np.int64))])

# One constant for two layers and an Add; one of a Constant node; layers in the bodies of an If that read both.
const = h.make_node("Constant", [], ["cw"], value=nh.from_array(f32((8, 8)), "cw_value"))
then = h.make_graph([h.make_node("MatMul", ["a", "own"], ["ty"], name="then")], "then", [], [vi("ty", [1, 8])],
                    [init("own", f32((8, 8)))])
other = h.make_graph([
    h.make_node("Constant", [], ["ew"], value=nh.from_array(f32((8, 8)), "ew_value")),
    h.make_node("MatMul", ["a", "ew"], ["e0"], name="else"),
    h.make_node("MatMul", ["e0", "w"], ["ey"], name="captured")], "else", [], [vi("ey", [1, 8])])
save("shared", [
    const,
    h.make_node("MatMul", ["x", "w"], ["m"], name="first"),
    h.make_node("MatMul", ["m", "w"], ["n"], name="second"),
    h.make_node("MatMul", ["n", "cw"], ["a"], name="of a node"),
    h.make_node("Add", ["a", "w"], ["sum"]),
    h.make_node("ReduceMax", ["sum"], ["top"], axes=[0], keepdims=1),
    h.make_node("ReduceMax", ["top"], ["most"], keepdims=0),
    h.make_node("Greater", ["most", "limit"], ["big"]),
    h.make_node("If", ["big"], ["chosen"], name="if", then_branch=then, else_branch=other),
    h.make_node("Add", ["chosen", "top"], ["y"]),
], [vi("x", [1, 8])], [vi("y", [1, 8])], [init("w", f32((8, 8))), init("limit", np.float32(2.5))])

# Weights that cannot be quantised, or hardly: no numbers, zeros, tiny ones, too few; a layer that is quantised already.
nan, inf, zero, tiny = f32((8, 8)), f32((8, 8)), f32((8, 8)), np.full((8, 8), 1e-42, np.float32)
nan[1, 2], inf[3, 4], zero[:, 5] = np.nan, -np.inf, 0
save("odd", [
    h.make_node("MatMul", ["x", "nan"], ["a"], name="nan"),
    h.make_node("MatMul", ["x", "inf"], ["b"], name="inf"),
    h.make_node("MatMul", ["x", "zero"], ["c"], name="zero channel"),
    h.make_node("MatMul", ["x", "zeros"], ["d"], name="zeros"),
    h.make_node("MatMul", ["x", "tiny"], ["e"], name="tiny"),
    h.make_node("MatMul", ["x", "column"], ["f"], name="column"),
    h.make_node("Conv", ["x3", "points"], ["g"], name="points"),
    h.make_node("DequantizeLinear", ["q", "qs"], ["back"]),
    h.make_node("MatMul", ["x", "back"], ["i"], name="done"),
    h.make_node("Reshape", ["x", "to3"], ["x3"]),
    h.make_node("MatMul", ["x", "x8"], ["k"], name="no weights"),
    h.make_node("Transpose", ["x"], ["x8"]),
], [vi("x", [1, 8])], [vi(n, None) for n in "abcdefgik"], [
    init("nan", nan), init("inf", inf), init("zero", zero), init("zeros", np.zeros((8, 8), np.float32)),
    init("tiny", tiny), init("column", f32((8, 1))), init("points", f32((8, 1, 1))),
    init("q", np.ones((8, 8), np.int8)), init("qs", np.float32(0.5)), init("to3", np.array([1, 1, 8], np.int64))])
# in an order that readers take
m = onnx.load(os.path.join(HERE, "odd.onnx"))
n = {k.output[0]: k for k in m.graph.node}
order = ["a", "b", "c", "d", "e", "f", "x3", "g", "back", "i", "x8", "k"]
del m.graph.node[:]
m.graph.node.extend(n[k] for k in order)
onnx.save(m, os.path.join(HERE, "odd.onnx"))

# Short-time spectra as a convolution, as exporters write them, and one whose last cosine is another.
angle = 2 * np.pi * np.outer(np.arange(33), np.arange(64)) / 64
basis = (np.concatenate([np.cos(angle), -np.sin(angle)]) * np.hanning(65)[:64]).astype(np.float32)[:, None]
other = basis.copy()
other[32, 0, 20] += 0.01
save("spectra", [
    h.make_node("Conv", ["x", "basis"], ["re_im"], name="stft", strides=[16]),
    h.make_node("Conv", ["x", "other"], ["o"], name="other", strides=[16]),
    h.make_node("Add", ["re_im", "o"], ["y"]),
], [vi("x", [1, 1, 256])], [vi("y", [1, 66, 13])], [init("basis", basis), init("other", other)])

# Columns of [127, 0.25, 0, 0]: the first number is met, the second becomes 0. 10 log10((127^2 + 1/16) / (1/16)) = 54.1 dB.
known = np.zeros((4, 4), np.float32)
known[0], known[1] = 127, 0.25
save("known", [h.make_node("MatMul", ["x", "w"], ["y"], name="known")], [vi("x", ["N", 4])], [vi("y", ["N", 4])],
     [init("w", known)])
save("exact", [h.make_node("MatMul", ["x", "w"], ["y"], name="exact")], [vi("x", [1, 4])], [vi("y", [1, 4])],
     [init("w", np.array([[127, -127, 127, 127], [1, 2, 3, 4], [-5, 6, 0, 9], [100, 99, 98, 97]], np.float32))])

save("bare", [h.make_node("Add", ["x", "w"], ["y"])], [vi("x", [1, 8])], [vi("y", [1, 8])], [init("w", f32(8))])
save("done", [h.make_node("DequantizeLinear", ["q", "s"], ["w"]), h.make_node("MatMul", ["x", "w"], ["y"], name="d")],
     [vi("x", [1, 8])], [vi("y", [1, 8])], [init("q", np.ones((8, 8), np.int8)), init("s", np.float32(0.5))])
save("ancient", [h.make_node("MatMul", ["x", "w"], ["y"])], [vi("x", [1, 8])], [vi("y", [1, 8])],
     [init("w", f32((8, 8)))], opset=9, ir=4)
# An input that noise is no value of.
save("wants", [h.make_node("MatMul", ["x", "w"], ["m"], name="first"), h.make_node("Cast", ["n"], ["f"], to=T.FLOAT),
               h.make_node("Mul", ["m", "f"], ["y"])],
     [vi("x", [1, 8]), vi("n", [], T.INT64)], [vi("y", [1, 8])], [init("w", f32((8, 8)))])
# Constants were inputs, too.
save("inputs", [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Add", ["m", "b"], ["y"])],
     [vi("x", [1, 8]), vi("w", [8, 8]), vi("b", [8])], [vi("y", [1, 8])], [init("w", f32((8, 8))), init("b", f32(8))],
     opset=13, ir=3)
# What it means has changed between 18 and 21.
save("changed", [
    h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("GroupNormalization", ["m", "s", "b"], ["y"], num_groups=2),
], [vi("x", [1, 4, 8])], [vi("y", [1, 4, 8])], [init("w", f32((8, 8))), init("s", f32(2)), init("b", f32(2))],
     opset=18, ir=8)
save("elsewhere", [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Add", ["m", "b"], ["y"])],
     [vi("x", [1, 8])], [vi("y", [1, 8])], [init("w", f32((8, 8))), init("b", f32((8,)))],
     save_as_external_data=True, location="elsewhere.bin", size_threshold=0)

# The net of the pipeline in pipe/.
save("pipe/net", [
    h.make_node("GRU", ["x", "W", "R", "", "", "h"], ["", "hn"], name="gru", hidden_size=16),
    h.make_node("Squeeze", ["hn", "axis"], ["s"]),
    h.make_node("MatMul", ["s", "w"], ["y"], name="out"),
], [vi("x", [1, 1, 32]), vi("h", [1, 1, 16])], [vi("y", [1, 32]), vi("hn", [1, 1, 16])], [
    init("W", f32((1, 48, 32))), init("R", f32((1, 48, 16)) / 4), init("w", f32((16, 32))),
    init("axis", np.array([0], np.int64))])


def functions(name, opset):
    """Two calls of a function, whose nodes are of this opset."""
    f = h.make_function("own", "layer", ["a", "k"], ["b"], [h.make_node("MatMul", ["a", "k"], ["t"], name="product"),
                        h.make_node("Softmax", ["t"], ["b"])], [h.make_opsetid("", opset)])
    g = h.make_graph([h.make_node("layer", ["x", "w"], ["t"], domain="own", name="one"), h.make_node("layer", ["t", "w"], ["y"], domain="own", name="two")],
                     name, [vi("x", [1, 8])], [vi("y", [1, 8])], [init("w", f32((8, 8)))])
    m = h.make_model(g, opset_imports=[h.make_opsetid("", 18), h.make_opsetid("own", 1)], ir_version=8, functions=[f])
    onnx.save(m, os.path.join(HERE, name + ".onnx"))


functions("called", 13)
functions("called_old", 12)  # Softmax is another op there
# Of no opset of the standard's.
g = h.make_graph([h.make_node("BiasGelu", ["x", "w"], ["y"], domain="com.microsoft")], "vendor", [vi("x", [1, 8])], [vi("y", [1, 8])], [init("w", f32(8))])
onnx.save(h.make_model(g, opset_imports=[h.make_opsetid("com.microsoft", 1)], ir_version=8), os.path.join(HERE, "vendor.onnx"))

# Sums over labels: rows that have matrices of their own, and weights in front; then equations that stay: of two sums, of a
# diagonal, of three operands.
save("sums", [
    h.make_node("Einsum", ["x", "each"], ["e"], name="each", equation="btgi, gih -> btgh"),
    h.make_node("Einsum", ["front", "e"], ["f"], name="front", equation="oh,btgh->btgo"),
    h.make_node("Einsum", ["f", "two"], ["t"], name="two", equation="btgo,goh->bth"),
    h.make_node("Einsum", ["t", "square"], ["d"], name="diagonal", equation="bth,hh->bth"),
    h.make_node("Einsum", ["d", "square", "square"], ["y"], name="three", equation="bth,hk,kl->btl"),
], [vi("x", [1, 1, 4, 24])], [vi("y", [1, 1, 8])], [
    init("each", f32((4, 24, 16))), init("front", f32((8, 16))), init("two", f32((4, 8, 8))), init("square", f32((8, 8)))])
