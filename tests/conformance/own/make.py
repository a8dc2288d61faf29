#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the cases of this folder: model.onnx and what ONNX Runtime makes of it.

    python3 make.py [CASE...]       (pip install onnx onnxruntime)

Sizes of inputs may be symbols: `rill conformance` runs a case with and without them, and ../own.sh
cuts those that streams.txt names into pulses.
"""
import os
import shutil
import sys
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {np.dtype(a): b for a, b in
         {"f4": T.FLOAT, "u2": T.UINT16, "i2": T.INT16, "i8": T.INT64, "i4": T.INT32, "u1": T.UINT8, "i1": T.INT8, "?": T.BOOL}.items()}


MICROSOFT = "com.microsoft"


def run_onnxruntime(model, data):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1  # with more, each quantises the states of its own sequences
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, data)


def run_reference(model, data):
    """The standard's own evaluator, slow and without vendors' ops."""
    return ReferenceEvaluator(model).run(None, data)


class Case:
    """A graph under construction: calls add nodes and give the names of their outputs."""

    def __init__(self, name, opset=21):
        self.name, self.opset, self.vendor, self.prefix = name, opset, False, ""
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.constants, self.inputs, self.outputs, self.data, self.others = [], [], [], [], [], []

    def input(self, name, shape, value):
        value = np.asarray(value)
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[value.dtype], shape))
        self.data.append((name, value))
        return name

    def again(self, **values):
        """One more set of data: the first with these values in it."""
        self.others.append({name: np.asarray(value, dict(self.data)[name].dtype) for name, value in values.items()})

    def numbers(self, name, shape, *now):
        """An input of random numbers; now: its shape in the case, where that is not `shape`."""
        return self.input(name, shape, self.random.standard_normal(now or shape).astype("f4"))

    def const(self, value, dtype="i8"):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def small(self, value, to, shape=None):
        """A constant of an element type that numpy may lack."""
        value = np.asarray(value)
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, to, shape or value.shape, value.ravel().tolist()))
        return name

    def op(self, op, *inputs, outputs=1, **attrs):
        names = [f"{self.prefix}{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=names[0], **attrs))
        self.vendor |= attrs.get("domain") == MICROSOFT
        return names[0] if outputs == 1 else names

    def output(self, wire, shape=None):
        self.outputs.append(helper.make_tensor_value_info(wire, T.FLOAT, shape) if shape
                            else helper.make_empty_tensor_value_info(wire))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=self.opsets(), ir_version=10 if self.vendor else 8)

    def opsets(self):
        more = [helper.make_opsetid(MICROSOFT, 1)] if self.vendor else []
        return [helper.make_opsetid("", self.opset), *more]

    def save(self, run=None):
        """run: what makes the results instead of ONNX Runtime."""
        model = self.model()
        shutil.rmtree(os.path.join(HERE, self.name), ignore_errors=True)
        os.makedirs(os.path.join(HERE, self.name))
        onnx.save(model, os.path.join(HERE, self.name, "model.onnx"))
        for number, other in enumerate([{}, *self.others]):
            data = [(name, other.get(name, value)) for name, value in self.data]
            results = (run or run_onnxruntime)(model, dict(data))
            self.save_set(os.path.join(HERE, self.name, f"test_data_set_{number}"), data, results)

    def save_set(self, folder, data, results):
        os.makedirs(folder)
        for kind, values in ("input", data), ("output", zip([o.name for o in self.outputs], results)):
            for i, (name, value) in enumerate(values):
                with open(os.path.join(folder, f"{kind}_{i}.pb"), "wb") as f:
                    f.write(numpy_helper.from_array(np.asarray(value), name).SerializeToString())


# ---- sizes in other types than int64 ----

def size(c, x, axis, to):
    n = c.op("Gather", c.op("Shape", x), c.const(axis))
    return n if to == T.INT64 else c.op("Cast", n, to=to)


def size_range_i32():
    c = Case("size_range_i32")
    x = c.numbers("x", [1, 2, "S"], 1, 2, 7)
    frames = c.op("Range", c.const(0, "i4"), size(c, x, 2, T.INT32), c.const(1, "i4"))
    c.output(c.op("Add", x, c.op("Cast", c.op("Mod", frames, c.const(3, "i4")), to=T.FLOAT)))
    c.save()


def size_mask_i32():
    """Queries see their own block of four and the one before."""
    c = Case("size_mask_i32")
    x = c.numbers("x", ["S", 4], 11, 4)
    frames = c.op("Range", c.const(0, "i4"), size(c, x, 0, T.INT32), c.const(1, "i4"))
    block = c.op("Div", frames, c.const(4, "i4"))
    back = c.op("Sub", c.op("Unsqueeze", block, c.const([1])), c.op("Unsqueeze", block, c.const([0])))
    seen = c.op("And", c.op("LessOrEqual", back, c.const(1, "i4")),
                c.op("GreaterOrEqual", back, c.const(0, "i4")))
    bias = c.op("Where", seen, c.const(0, "f4"), c.const(-np.inf, "f4"))
    scores = c.op("Add", c.op("MatMul", x, c.op("Transpose", x, perm=[1, 0])), bias)
    c.output(c.op("MatMul", c.op("Softmax", scores, axis=1), x))
    c.save()


def size_truth():
    """Truth values of a size meet constants, those that are read, and numbers again."""
    c = Case("size_truth")
    x = c.numbers("x", ["S", 3], 6, 3)
    flag = c.input("flag", [], np.array(True))
    n = size(c, x, 0, T.INT64)
    n32 = c.op("Cast", n, to=T.INT32)
    many = c.op("Greater", n, c.const(5))
    even = c.op("Equal", c.op("Mod", n32, c.const(2, "i4")), c.const(0, "i4"))
    both = c.op("And", c.op("And", many, even), c.const(True, "?"))
    c.output(c.op("And", both, flag))
    c.output(c.op("Xor", flag, c.op("Not", c.op("Or", even, c.op("Cast", n, to=T.BOOL)))))
    c.output(c.op("Add", c.op("Cast", both, to=T.INT32), n32))
    c.output(c.op("Where", flag, n32, c.op("CastLike", c.const(9), n32)))
    c.output(c.op("Where", many, n32, c.op("Neg", n32)))
    c.output(c.op("Concat", c.op("Unsqueeze", n32, c.const([0])), c.const([4], "i4"), axis=0))
    c.save()


def size_floats():
    """Sizes that exporters take through floats: the second half of the frames of a strided Conv."""
    c = Case("size_floats")
    x = c.numbers("x", [1, 4, "S"], 1, 4, 9)
    w = c.const(c.random.standard_normal((4, 4, 3)) / 3, "f4")
    half = c.op("Conv", x, w, pads=[1, 1], strides=[2])
    n, two = c.op("Gather", c.op("Cast", c.op("Shape", x), to=T.FLOAT), c.const(2)), c.const(2, "f4")
    wide = c.op("Cast", c.op("Squeeze", c.op("Shape", x, start=2, end=3)), to=T.DOUBLE)
    minus = c.op("Sub", c.op("Add", n, c.const(1, "f4")), two)
    counts = [c.op("Ceil", c.op("Div", n, two)),
              c.op("Neg", c.op("Floor", c.op("Div", c.op("Neg", n), two))),
              c.op("Floor", c.op("Add", c.op("Mul", c.const(.5, "f4"), n), c.const(.5, "f4"))),
              c.op("Add", c.op("Floor", c.op("Div", minus, two)), c.const(1, "f4")),
              c.op("Ceil", c.op("Div", wide, c.const(2, "f8")))]
    for to, count in zip((T.INT64, T.INT32, T.INT64, T.INT64, T.INT32), counts):
        count = c.op("Cast", c.op("Cast", count, to=to), to=T.INT64)
        shape = c.op("Concat", c.const([1, 4]), c.op("Unsqueeze", count, c.const([0])), axis=0)
        c.output(c.op("Tanh", c.op("Reshape", half, shape)))
    whole = c.op("Cast", c.op("Mul", c.op("Unsqueeze", n, c.const([0])), two), to=T.INT64)
    c.output(c.op("Resize", x, "", "", c.op("Concat", c.const([1, 4]), whole, axis=0), mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
    frames = c.op("Range", c.const(0), c.op("Cast", counts[0], to=T.INT64), c.const(1))
    c.output(c.op("Add", half, c.op("Cast", frames, to=T.FLOAT)))
    c.save()


def size_bools():
    """Masks that are joined as numbers."""
    c = Case("size_bools")
    x = c.numbers("x", [1, 4, "S"], 1, 4, 9)
    n = size(c, x, 2, T.INT64)
    at = c.op("Range", c.const(0), n, c.const(1))
    early = c.op("Cast", c.op("Less", at, n), to=T.INT64)
    late = c.op("Cast", c.op("GreaterOrEqual", at, c.const(3)), to=T.INT64)
    both = c.op("Cast", c.op("Mul", early, late), to=T.BOOL)
    none = c.op("Cast", c.op("Cast", c.op("Not", both), to=T.INT64), to=T.BOOL)
    c.output(c.op("Where", none, c.const(0, "f4"), x))
    c.output(c.op("Mul", x, c.op("Cast", c.op("Sub", c.const(1), late), to=T.FLOAT)))
    c.save()


def quant_ranks():
    """Scale and zero for all may be a scalar or a list of one, each as it likes."""
    c = Case("quant_ranks")
    x = c.numbers("x", [1, 2, "S"], 1, 2, 5)
    for scale, zero in ([.1], 3), (.1, [3]), ([.1], [3]), (.1, 3):
        q = c.op("QuantizeLinear", x, c.const(scale, "f4"), c.const(zero, "u1"))
        c.output(c.op("DequantizeLinear", q, c.const(scale, "f4"), c.const(zero, "u1")))
    c.save()


SMALL = {"u8": T.UINT8, "i8": T.INT8, "u16": T.UINT16, "i16": T.INT16, "u4": T.UINT4, "i4": T.INT4}


def quant_types():
    """There and back, by the type of the zero and by output_dtype."""
    c = Case("quant_types", 21)
    x = c.numbers("x", [1, 3, "S"], 1, 3, 7)
    for name, to in SMALL.items():
        scale = c.const(.25 if name.endswith("4") else .01, "f4")
        zero = c.small(0 if name == "i16" else 2, to, [])
        c.output(c.op("DequantizeLinear", c.op("QuantizeLinear", x, scale, zero), scale, zero))
        c.output(c.op("DequantizeLinear", c.op("QuantizeLinear", x, scale, output_dtype=to), scale))
    c.save(run_reference)


def quant_axes():
    """A scale for each place of an axis, counted from either end, with zeros that differ, too."""
    c = Case("quant_axes", 21)
    x = c.numbers("x", [2, 3, "S"], 2, 3, 7)
    scale, zero = c.const([.01, .02, .04], "f4"), c.const([3, 128, 250], "u1")
    two = c.const([.03, .01], "f4")
    for axis in 1, -2:
        c.output(c.op("DequantizeLinear", c.op("QuantizeLinear", x, scale, zero, axis=axis), scale, zero, axis=axis))
    c.output(c.op("DequantizeLinear", c.op("QuantizeLinear", x, two, axis=0), two, axis=0))
    last = c.op("Transpose", x, perm=[0, 2, 1])
    c.output(c.op("DequantizeLinear", c.op("QuantizeLinear", last, scale, zero, axis=2), scale, zero, axis=-1))
    c.save(run_reference)


def quant_blocks():
    """Weights in blocks along either axis, the last block short, of 4 and 8 bits."""
    c = Case("quant_blocks", 21)
    x = c.numbers("x", ["S", 10], 5, 10)
    for to, low, high in (T.INT4, -8, 8), (T.UINT4, 0, 16), (T.INT8, -128, 128):
        for axis, shape in (0, [3, 6]), (1, [10, 2]):
            w = c.small(c.random.integers(low, high, (10, 6)), to)
            scale = c.const(c.random.uniform(-.1, .1, shape), "f4")
            zero = c.small(c.random.integers(max(low, -8), min(high, 8), shape), to)
            real = c.op("DequantizeLinear", w, scale, zero, axis=axis, block_size=4)
            c.output(c.op("MatMul", x, real))
    fine = c.const(c.random.uniform(.01, .1, [10, 2]), "f4")
    whole = c.op("QuantizeLinear", table(c, 10, 6), fine, c.small(np.full((10, 2), 7), T.UINT8), axis=1, block_size=4)
    c.output(c.op("MatMul", x, c.op("Cast", whole, to=T.FLOAT)))
    c.save(run_reference)


def quant_net():
    """QDQ as tools write it: a convolution worth its bytes, one a channel that is not, moves between."""
    c = Case("quant_net", 19)
    x = c.numbers("x", [1, 80, "S"], 1, 80, 9)

    def around(x, scale, zero):
        params = c.const(scale, "f4"), c.const(zero, "u1")
        return c.op("DequantizeLinear", c.op("QuantizeLinear", x, *params), *params)

    def real(shape, low=-127):
        w = c.const(c.random.integers(low, 128, shape), "i1")
        scale = c.const(c.random.uniform(.0005, .001, shape[0]), "f4")
        return c.op("DequantizeLinear", w, scale, c.const(np.zeros(shape[0]), "i1"), axis=0)

    a = around(c.op("Conv", around(x, .03, 128), real((40, 80, 3)), table(c, 40), pads=[2, 0]), .05, 100)
    turned = around(c.op("Transpose", a, perm=[0, 2, 1]), .05, 100)
    b = c.op("Conv", c.op("Transpose", turned, perm=[0, 2, 1]), real((40, 1, 3)), group=40, pads=[1, 1])
    c.output(b)
    c.save(run_reference)


def quant_depth():
    """QDQ of an image: channels apart, of few places, and functions with numbers of each channel between bytes."""
    c = Case("quant_depth", 19)
    x = c.numbers("x", [1, 32, 12, 14], 1, 32, 12, 14)
    n = 32

    def around(x, scale, zero):
        params = c.const(scale, "f4"), c.const(zero, "u1")
        return c.op("DequantizeLinear", c.op("QuantizeLinear", x, *params), *params)

    def numbers(*shape):
        return c.const(c.random.uniform(.3, 1.7, shape), "f4")

    w = c.const(c.random.integers(-127, 128, (n, 1, 5, 5)), "i1")
    scale = c.const(c.random.uniform(.0015, .003, n), "f4")
    w = c.op("DequantizeLinear", w, scale, c.const(np.zeros(n), "i1"), axis=0)
    y = around(c.op("Conv", around(x, .03, 128), w, table(c, n), pads=[2] * 4, strides=[2, 2], group=n), .05, 100)
    y = around(c.op("BatchNormalization", y, numbers(n), numbers(n), numbers(n), numbers(n)), .06, 90)
    y = around(c.op("HardSwish", y), .04, 20)
    c.output(around(c.op("PRelu", y, numbers(n, 1, 1)), .045, 40))
    c.save(run_reference)


def vendor(c, op, *inputs, **attrs):
    return c.op(op, *inputs, domain=MICROSOFT, **attrs)


def bytes_of(c, x, scale, zero, to="u1"):
    """x as integers, and the three inputs that stand for it."""
    params = c.const(scale, "f4"), c.const(zero, to)
    return c.op("QuantizeLinear", x, *params), *params


def vendor_elements(name, to, zero):
    def make():
        c = Case(name, 17)
        x, other = c.numbers("x", [1, 4, "S"], 1, 4, 8), c.numbers("other", [1, 4, "S"], 1, 4, 8)
        a, b = bytes_of(c, x, .0213, zero, to), bytes_of(c, other, .0317, zero + 2, to)
        y = c.const(.0431, "f4"), c.const(zero - 3, to)  # no sum is a tie

        def out(q):
            c.output(c.op("DequantizeLinear", q, *y))

        out(vendor(c, "QLinearAdd", *a, *b, *y))
        out(vendor(c, "QLinearMul", *a, *b, *y))
        c.output(vendor(c, "QLinearSigmoid", *a, c.const(1 / 256, "f4"), ""))
        out(vendor(c, "QLinearSigmoid", *a, *y))
        out(vendor(c, "QLinearLeakyRelu", *a, *y, alpha=.2))
        out(vendor(c, "QLinearConcat", *y, *a, *b, axis=1))
        out(vendor(c, "QLinearWhere", c.op("Greater", x, other), *a, *b, *y))
        c.save()
    make.__name__ = name
    return make


def vendor_pools():
    c = Case("vendor_pools", 17)
    x = c.numbers("x", [1, 3, 6, 8], 1, 3, 6, 8)
    a, y = bytes_of(c, x, .02, 120), (c.const(.01, "f4"), c.const(100, "u1"))
    pads = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    c.output(vendor(c, "QLinearAveragePool", *a, *y, **pads))
    c.output(vendor(c, "QLinearAveragePool", *a, *y, count_include_pad=1, **pads))
    c.output(vendor(c, "QLinearGlobalAveragePool", *a, *y))
    c.output(vendor(c, "QLinearSoftmax", *a, c.const(1 / 256, "f4"), c.const(0, "u1"), axis=2, opset=11))
    c.output(vendor(c, "QLinearSoftmax", *a, c.const(1 / 256, "f4"), c.const(0, "u1"), axis=1, opset=13))
    c.save()


def whole(c, shape, low=-60, high=60, to="i1"):
    return c.const(c.random.integers(low, high, shape), to)


def vendor_products():
    c = Case("vendor_products", 17)
    x = c.numbers("x", ["S", 6], 5, 6)
    a = bytes_of(c, x, .02, 130)
    columns, zeros = c.const(c.random.uniform(.01, .03, 4), "f4"), c.const([0, 0, 0, 0], "i1")
    one, y = c.const(.02, "f4"), (c.const(.08, "f4"), c.const(110, "u1"))
    w, bias = whole(c, (6, 4)), table(c, 4)
    c.output(vendor(c, "MatMulIntegerToFloat", a[0], w, a[1], one, a[2], c.const(3, "i1"), bias))
    c.output(vendor(c, "MatMulIntegerToFloat", a[0], w, a[1], columns, a[2]))
    c.output(vendor(c, "DynamicQuantizeMatMul", x, w, columns, zeros, bias))
    c.output(vendor(c, "DynamicQuantizeMatMul", x, w, one))
    turned, sums = whole(c, (4, 6)), whole(c, (4,), -900, 900, "i4")
    c.output(vendor(c, "QGemm", *a, turned, columns, zeros, sums, *y, transB=1))
    c.output(vendor(c, "QGemm", *a, turned, one, c.const(0, "i1"), sums, transB=1))
    c.output(vendor(c, "QGemm", *a, w, one, c.const(0, "i1"), "", *y, alpha=.5))
    c.save()


def vendor_turned():
    """Products of turned matrices, and pools with the channels behind the places."""
    c = Case("vendor_turned", 17)
    flags = "transA", "transB", "transBatchA", "transBatchB"
    for k, on in enumerate([(), (0,), (1,), (0, 1), (2,), (2, 3), (0, 2), (0, 1, 2, 3)]):
        (m, n, p), sides = (3, 4, 5), []
        for side, (rows, columns) in enumerate([(m, n), (n, p)]):
            first, last = (columns, rows) if side in on else (rows, columns)
            sides.append([first, 2, last] if side + 2 in on else [2, first, last])
        a = c.numbers(f"a{k}", sides[0], *sides[0])
        c.output(vendor(c, "FusedMatMul", a, table(c, *sides[1]), alpha=.25 if k % 2 else 1.,
                        **{flags[i]: 1 for i in on}))
    a, y = bytes_of(c, c.numbers("x", [1, 6, 8, 3], 1, 6, 8, 3), .02, 120), (c.const(.01, "f4"), c.const(100, "u1"))
    c.output(vendor(c, "QLinearGlobalAveragePool", *a, *y, channels_last=1))
    c.output(vendor(c, "QLinearAveragePool", *a, *y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1],
                    channels_last=1))
    for k, (left, right) in enumerate([([4], [2, 5, 4]), ([4], [4])]):  # vectors are never turned
        c.output(vendor(c, "FusedMatMul", c.numbers(f"v{k}", left, *left), table(c, *right), transA=1, transB=1))
    c.save()


def vendor_open():
    """What files leave open: the sum beside a norm, how many heads are turned, the rank of counts that come out of a sum."""
    c = Case("vendor_open", 17)
    x, more = c.numbers("x", [2, 4, 32]), c.numbers("more", [2, 4, 32])
    c.nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [x, more, table(c, 32)], ["norm", "", "", "sum"],
                                    domain=MICROSOFT, epsilon=1e-3))
    c.output("norm"), c.output("sum")
    places = c.input("places", [2, 4], np.array([[0, 1, 2, 3], [5, 4, 3, 2]]))
    c.output(vendor(c, "RotaryEmbedding", x, places, table(c, 6, 8), table(c, 6, 8)))
    mask = c.op("Cast", c.input("mask", [2, 4], np.array([[1, 1, 1, 1], [1, 1, 0, 0]])), to=T.INT32)
    counts = c.op("ReduceSum", mask, c.const([1]), keepdims=0)
    c.output(vendor(c, "Attention", x, table(c, 32, 24), table(c, 24), counts, num_heads=2))
    c.save()


def vendor_last():
    """Convolutions and pools of bytes with the channels behind the places, and rows of a table in blocks."""
    c = Case("vendor_last", 17)
    a, y = bytes_of(c, c.numbers("x", [1, 6, 8, 5], 1, 6, 8, 5), .02, 120), (c.const(.03, "f4"), c.const(100, "u1"))
    w = whole(c, (4, 5, 3, 3)), c.const(c.random.uniform(.01, .03, 4), "f4"), c.const([0, 0, 0, 0], "i1")
    sums = whole(c, (4,), -900, 900, "i4")
    c.output(vendor(c, "QLinearConv", *a, *w, *y, sums, channels_last=1, strides=[2, 1], pads=[1, 1, 1, 1]))
    c.output(vendor(c, "NhwcMaxPool", a[0], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 0]))
    places = c.input("places", ["T"], np.array([2, 0, 4, 2], "i8"))
    scale = c.const(c.random.uniform(.1, .2, (5, 3)), "f4")
    table = whole(c, (5, 24), 0, 256, "u1")
    c.output(vendor(c, "GatherBlockQuantized", table, places, scale, block_size=16, bits=4))
    zero = whole(c, (5, 2), 0, 256, "u1")
    c.output(vendor(c, "GatherBlockQuantized", table, places, scale, zero, block_size=16, bits=4))
    c.save()


def vendor_nbits():
    """4 and 8 bits, with zeros and without, and rows that end within a block."""
    c = Case("vendor_nbits", 17)
    x = c.numbers("x", ["S", 40], 3, 40)
    for bits in 4, 8:
        size = {"N": 5, "K": 40, "bits": bits, "block_size": 16}
        w = whole(c, (5, 3, 2 * bits), 0, 256, "u1")
        scale = c.const(c.random.uniform(-.1, .1, (5, 3)), "f4")
        zero = whole(c, (5, (3 * bits + 7) // 8), 0, 256, "u1")
        c.output(vendor(c, "MatMulNBits", x, w, scale, **size))
        c.output(vendor(c, "MatMulNBits", x, w, scale, zero, **size))
    c.save()


def vendor_groups():
    """MatMulNBits with zeros that are floats, and rows whose numbers go by another block each."""
    c = Case("vendor_groups", 17)
    x = c.numbers("x", ["S", 40], 3, 40)
    size = {"N": 5, "K": 40, "bits": 4, "block_size": 16}
    w, scale = whole(c, (5, 3, 8), 0, 256, "u1"), c.const(c.random.uniform(-.1, .1, (5, 3)), "f4")
    group = whole(c, (40,), 0, 3, "i4")
    real = c.const(c.random.uniform(0, 15, (5, 3)), "f4")
    c.output(vendor(c, "MatMulNBits", x, w, scale, real, **size))
    for zero in "", real:
        c.output(vendor(c, "MatMulNBits", x, w, scale, zero, group, table(c, 5), **size))
    c.save()


def quantised_cell(c, to, columns, directions, n, h):
    """Weights of both products as bytes with a scale and a zero for each direction, or for each column: their
    inputs. ONNX Runtime has zeros of s8 and of columns 0."""
    low, high, zero = (-128, 128, 0) if to == "i1" else (0, 256, 128 if columns else 131)
    shape = (directions, 4 * h) if columns else (directions,)
    weights = [whole(c, (directions, k, 4 * h), low, high, to) for k in (n, h)]
    scales = [(c.const(c.random.uniform(.001, .004, shape), "f4"), c.const(np.full(shape, zero), to)) for _ in "wr"]
    return weights, [*scales[0], *scales[1]]


def vendor_halves():
    """MatMulNBits of halves, scales and zeros among them; zeros of halves beside groups, too."""
    c = Case("vendor_halves", 17)
    x = c.op("Cast", c.numbers("x", ["S", 40], 3, 40), to=T.FLOAT16)
    group = whole(c, (40,), 0, 3, "i4")
    size = {"N": 5, "K": 40, "bits": 4, "block_size": 16}
    w, scale = whole(c, (5, 3, 8), 0, 256, "u1"), c.const(c.random.uniform(-.1, .1, (5, 3)), "f2")
    real = c.const(c.random.uniform(0, 15, (5, 3)), "f2")
    for more in [real], ["", group], [real, group]:
        c.output(c.op("Cast", vendor(c, "MatMulNBits", x, w, scale, *more, **size), to=T.FLOAT))
    c.save()


def vendor_lstm():
    """Bytes of both types, scales of both forms, both directions, several sequences, and what else a cell may have."""
    n, h, batch = 5, 19, 2
    c = Case("vendor_lstm", 17)
    x = c.numbers("x", ["S", batch, n], 7, batch, n)
    lens = c.input("lens", [batch], np.array([7, 4], "i4"))
    for to, columns, way, used, attrs in (
            ("i1", False, "forward", "hc", {}), ("i1", True, "reverse", "h", {}), ("u1", False, "bidirectional", "hcp", {}),
            ("u1", False, "forward", "l", {}), ("i1", True, "bidirectional", "l", {"clip": .6}),
            ("i1", False, "forward", "", {"input_forget": 1}),
            ("u1", False, "forward", "h", {"activations": ["HardSigmoid", "Tanh", "Softsign"], "activation_alpha": [.25]})):
        d = 2 if way == "bidirectional" else 1
        weights, scales = quantised_cell(c, to, columns, d, n, h)
        first = [table(c, d, batch, h) if s in used else "" for s in "hc"]
        for y in vendor(c, "DynamicQuantizeLSTM", x, *weights, table(c, d, 8 * h), lens if "l" in used else "", *first,
                        table(c, d, 3 * h) if "p" in used else "", *scales,
                        outputs=3, hidden_size=h, direction=way, **attrs):
            c.output(y)
    c.save()


def vendor_lstm_frame():
    """One step, its states handed in and out: streams where a pipeline calls it for every frame."""
    n, h = 40, 48
    c = Case("vendor_lstm_frame", 17)
    x = c.numbers("x", [1, 1, n])
    states = [c.numbers(s, [1, 1, h]) for s in "hc"]
    weights, scales = quantised_cell(c, "i1", True, 1, n, h)
    cell = vendor(c, "DynamicQuantizeLSTM", x, *weights, table(c, 1, 8 * h), "", *states, "", *scales, outputs=3, hidden_size=h)
    for y in cell:
        c.output(y)
    c.save()


# ---- indices that data makes, and tables that end ----

def index_of(c, x, rows):
    """Into `rows` rows, negative ones too. Of 0 and NaN, which lie outside of a sequence, it is far
    outside of the table."""
    is_frame = c.op("And", c.op("Greater", c.op("Abs", x), c.const(1e-7, "f4")),
                    c.op("Not", c.op("IsNaN", x)))
    at = c.op("Cast", c.op("Round", c.op("Mul", x, c.const(rows - 1, "f4"))), to=T.INT64)
    return c.op("Where", is_frame, at, c.const(100))


def values(c, name, shape, now):
    """Numbers between -1 and 1."""
    x = c.numbers(name, shape, *now)
    return c.op("Tanh", x)


def table(c, *shape):
    return c.const(c.random.standard_normal(shape), "f4")


def index_position():
    c = Case("index_position")
    x = c.numbers("x", [1, 2, "S"], 1, 2, 7)
    frames = c.op("Range", c.const(0), size(c, x, 2, T.INT64), c.const(1))
    c.output(c.op("Add", x, c.op("Gather", table(c, 1, 2, 9), frames, axis=2)))
    c.save()


def index_late():
    """Three frames late, and a position counted from the table's end."""
    c = Case("index_late")
    x = c.numbers("x", [1, 1, "S"], 1, 1, 9)
    y = c.op("Conv", x, table(c, 2, 1, 4))
    frames = c.op("Range", c.const(0), size(c, y, 2, T.INT64), c.const(1))
    back = c.op("Sub", c.const(-1), frames)
    c.output(c.op("Add", y, c.op("Gather", table(c, 1, 2, 9), back, axis=2)))
    c.save()


def index_cut():
    """The sequence ends before its input does."""
    c = Case("index_cut")
    x = c.numbers("x", ["S", 3], 8, 3)
    y = c.op("Slice", x, c.const([0]), c.const([-2]), c.const([0]))
    frames = c.op("Range", c.const(0), size(c, y, 0, T.INT64), c.const(1))
    c.output(c.op("Add", y, c.op("Gather", table(c, 9, 3), frames, axis=0)))
    c.save()


def slice_late():
    """Windows of a table and of an input, whose places are data and whose sizes are not."""
    c = Case("slice_late")
    x = c.numbers("x", [2, 7, 3])
    at = c.input("at", [1], np.array([2], "f4"))
    for kind, code in ((T.INT64, "i8"), (T.INT32, "i4")):
        start = c.op("Cast", at, to=kind)
        before = c.op("Sub", start, c.const([2], code))
        inner = c.op("Squeeze", start, c.const([0]))
        end = c.op("Unsqueeze", c.op("Add", inner, c.const(4, code)), c.const([0]))
        c.output(c.op("Slice", x, start, end, c.const([1], code)))
        c.output(c.op("Slice", table(c, 9, 2), before, c.op("Add", before, c.const([8], code)), c.const([-2], code), c.const([1], code)))
        c.output(c.op("Slice", x, c.op("Add", c.const([3], code), start), c.op("Add", start, c.const([5], code)), c.const([-2], code)))
    c.save()


def ports_again():
    """Inputs that are outputs, and an output that is one twice."""
    c = Case("ports_again")
    x, bias = c.numbers("x", [1, 2, "S"], 1, 2, 8), c.numbers("bias", [2, 1])
    y = c.op("Relu", c.op("Add", x, bias))
    for port in y, x, bias, y, x:
        c.output(port)
    c.save()


def ports_late():
    """The same where data decides a size."""
    c = Case("ports_late")
    x = c.numbers("x", [2, 5])
    at = c.op("NonZero", c.op("Relu", x))
    for port in x, at, at, x:
        c.output(port)
    c.save()


def index_data():
    c = Case("index_data")
    x = c.op("Transpose", values(c, "x", [1, 1, "S"], [1, 1, 8]), perm=[2, 0, 1])
    late = c.op("Slice", x, c.const([2]), c.const([2 ** 31]), c.const([0]))
    flat = c.op("Squeeze", late, c.const([1, 2]))
    c.output(c.op("Gather", table(c, 16, 3), index_of(c, flat, 16), axis=0))
    c.save()


def index_elements():
    c = Case("index_elements")
    x = values(c, "x", ["S", 4], [6, 4])
    at = index_of(c, x, 4)
    c.output(c.op("GatherElements", x, at, axis=1))
    c.output(c.op("ScatterElements", x, at, c.op("Neg", x), axis=1, reduction="add"))
    c.save()


def index_nd():
    c = Case("index_nd")
    x = values(c, "x", ["S", 2], [6, 2])
    c.output(c.op("GatherND", table(c, 6, 6, 2), index_of(c, x, 6)))
    c.save()


def index_lengths():
    """Lengths of sequences over another axis than time."""
    c = Case("index_lengths")
    x = values(c, "x", ["S", 5], [6, 5])
    n = c.op("Abs", index_of(c, c.op("Gather", x, c.const(0), axis=1), 6))
    rows = c.op("Transpose", x, perm=[1, 0])
    c.output(c.op("ReverseSequence", rows, n, time_axis=0, batch_axis=1))
    c.save()


def index_scan():
    """In a Scan along time, two frames late, and in a branch within it."""
    c = Case("index_scan")
    x = c.op("Squeeze", c.op("Conv", values(c, "x", [1, 1, "S"], [1, 1, 9]), c.const([[[0, 0, 1.]]], "f4")),
             c.const([0, 1]))
    inner = Case("body")
    inner.nodes, inner.constants = [], c.constants
    at = index_of(inner, "frame", 12)
    row = inner.op("Gather", table(c, 12, 3), at, axis=0)
    deep = Case("branch")
    deep.constants = c.constants
    other = deep.op("Gather", table(c, 12, 3), at, axis=0)
    branch = helper.make_graph(deep.nodes, "branch", [], [helper.make_empty_tensor_value_info(other)])
    plain = Case("plain")
    zero = plain.op("Identity", row)
    straight = helper.make_graph(plain.nodes, "plain", [], [helper.make_empty_tensor_value_info(zero)])
    inner.nodes.append(helper.make_node("If", [inner.op("Greater", "frame", c.const(0, "f4"))], ["picked"],
                                        then_branch=branch, else_branch=straight))
    state = inner.op("Add", inner.op("Mul", "before", c.const(.5, "f4")),
                     inner.op("Add", "picked", row))
    body = helper.make_graph(
        inner.nodes, "body",
        [helper.make_tensor_value_info("before", T.FLOAT, [3]), helper.make_tensor_value_info("frame", T.FLOAT, [])],
        [helper.make_tensor_value_info(state, T.FLOAT, [3]),
         helper.make_tensor_value_info(inner.op("Identity", state), T.FLOAT, [3])])
    c.output(c.op("Scan", c.const([0, 0, 0], "f4"), x, outputs=2, body=body, num_scan_inputs=1)[1])
    c.save()


# ---- windows further apart than they are long ----

def same(name, op, lower, kernel, stride, frames, **attrs):
    def make():
        c = Case(name, 19)
        x = c.numbers("x", [1, 2, "S"], 1, 2, frames)
        pad = "SAME_LOWER" if lower else "SAME_UPPER"
        if op.startswith("Conv"):
            attrs["strides"] = [stride]
            c.output(c.op(op, x, table(c, 2, 2, kernel), auto_pad=pad, **attrs))
        else:
            c.output(c.op(op, x, auto_pad=pad, kernel_shape=[kernel], strides=[stride], **attrs))
        c.save()
    make.__name__ = name
    return make


# Of MaxPool the newest ONNX Runtime takes no negative pads any more; 1.24 has it as AveragePool.
SAME = [same(f"same_{op.lower()}_{'lower' if lower else 'upper'}_{kernel}_{stride}_{frames}", op, lower,
             kernel, stride, frames)
        for op, cases in (("Conv", [(1, 4, 16), (1, 8, 19), (2, 7, 14)]), ("AveragePool", [(1, 4, 16), (2, 7, 17)]),
                          ("ConvTranspose", [(2, 5, 4)]))
        for kernel, stride, frames in cases for lower in (False, True)]


# ---- what transformers have, as the standard's own evaluator computes it ----

def attention_cached():
    """Three heads of queries for each of keys, behind a cache, under a mask of truth values that is computed."""
    c = Case("attention_cached", 25)
    q, k, v = (c.numbers(n, [1, "S", w], 1, 5, w) for n, w in (("q", 48), ("k", 16), ("v", 8)))
    cache = [c.numbers(f"past_{n}", [1, 2, 3, w], 1, 2, 3, w) for n, w in (("k", 8), ("v", 4))]
    mask = c.op("Less", c.numbers("m", ["S", "T"], 5, 8), c.const(0.8, "f4"))
    for y in c.op("Attention", q, k, v, mask, *cache, outputs=4, q_num_heads=6, kv_num_heads=2, is_causal=1,
                  softcap=2.0, qk_matmul_output_mode=2):
        c.output(y)
    c.save(run_reference)


def attention_window():
    """Each frame sees three before it and one after it; what is added to the scores is a table of heads."""
    c = Case("attention_window", 25)
    x = c.numbers("x", [1, 2, "S", 4], 1, 2, 9, 4)
    c.output(c.op("Attention", x, c.op("Neg", x), c.op("Mul", x, x), left_window_size=3, right_window_size=1))
    c.save(run_reference)


def attention_cast_like():
    """Chunks of three that see one before, by PyTorch 2.6's newer exporter: their numbers take their type from the frames' ones."""
    c = Case("attention_cast_like", 18)
    x = c.numbers("x", [1, "S", 4], 1, 7, 4)
    frames = c.op("Range", c.const(0), c.op("Squeeze", c.op("Shape", x, start=1, end=2)), c.const(1))
    shares = c.op("Div", c.op("Cast", frames, to=T.FLOAT), c.const(3, "f4"))
    at = c.op("CastLike", c.op("Floor", shares), frames)
    apart = c.op("Sub", c.op("Unsqueeze", at, c.const([1])), c.op("Unsqueeze", at, c.const([0])))
    seen = c.op("And", c.op("GreaterOrEqual", apart, c.const(0)), c.op("LessOrEqual", apart, c.const(1)))
    scores = c.op("MatMul", x, c.op("Transpose", x, perm=[0, 2, 1]))
    low = c.op("CastLike", c.const(float("-inf"), "f8"), scores)
    c.output(c.op("MatMul", c.op("Softmax", c.op("Where", seen, scores, low), axis=-1), x))
    c.save()


def rotary():
    """Halves, and every other number of a part; positions that are given and those that are not."""
    c = Case("rotary", 23)
    x = c.numbers("x", [1, "S", 24], 1, 5, 24)
    angles = c.random.standard_normal((16, 2)).astype("f4")
    cos, sin = c.const(np.cos(angles), "f4"), c.const(np.sin(angles), "f4")
    at = c.input("at", [1, "S"], np.array([[3, 0, 15, 7, 7]], "i8"))
    y = c.op("RotaryEmbedding", x, cos, sin, at, num_heads=3, interleaved=1, rotary_embedding_dim=4)
    wide = c.op("Unsqueeze", y, c.const([1]))
    turned = [c.op("Gather", c.const(f(c.random.standard_normal((16, 12))), "f4"), at) for f in (np.cos, np.sin)]
    c.output(c.op("RotaryEmbedding", wide, *turned))
    c.save(run_reference)


def vendor_rotary():
    """Places that count on from one, of heads side by side and apart, and places that are given."""
    c = Case("vendor_rotary", 17)
    x, apart = c.numbers("x", [2, "S", 24], 2, 5, 24), c.numbers("apart", [2, 3, "S", 8], 2, 3, 5, 8)
    angles = c.random.standard_normal((16, 4))
    cos, sin = c.const(np.cos(angles), "f4"), c.const(np.sin(angles), "f4")
    first, at = c.input("first", [1], np.array([6], "i8")), c.input("at", [2, "S"], c.random.integers(0, 16, (2, 5)))
    for positions in first, at:
        c.output(vendor(c, "RotaryEmbedding", x, positions, cos, sin, num_heads=3, interleaved=1))
        c.output(vendor(c, "RotaryEmbedding", apart, positions, cos, sin))
    c.save()


def causal_conv():
    """With a state that comes and goes, and without."""
    c = Case("causal_conv", 27)
    x = c.numbers("x", [1, 3, "S"], 1, 3, 6)
    w, b = (c.const(c.random.standard_normal(shape), "f4") for shape in ((3, 1, 4), (3,)))
    alone = c.op("CausalConvWithState", x, w, outputs=2)
    y = c.op("CausalConvWithState", alone[0], w, b, c.numbers("past", [1, 3, 3], 1, 3, 3), outputs=2, activation="silu")
    for out in (*y, alone[1]):
        c.output(out)
    c.save(run_reference)


def vendor_attention():
    """Grouped heads that turn behind a cache and see two frames; heads with a bias, a mask and a cache."""
    c = Case("vendor_attention", 17)
    q, k, v = (c.numbers(n, [1, "S", w], 1, 3, w) for n, w in (("q", 64), ("k", 32), ("v", 32)))
    angles = c.random.standard_normal((16, 8))
    cache = [c.numbers(f"past_{n}", [1, 2, 4, 16], 1, 2, 4, 16) for n in "kv"]
    last, total = (c.input(n, shape, np.array(v, "i4")) for n, shape, v in (("last", [1], [6]), ("total", [], 7)))
    grouped = vendor(c, "GroupQueryAttention", q, k, v, *cache, last, total, c.const(np.cos(angles), "f4"),
                     c.const(np.sin(angles), "f4"), outputs=3, num_heads=4, kv_num_heads=2, do_rotary=1,
                     local_window_size=2, softcap=3.0)
    mask = c.input("mask", [1, "S+4"], np.array([[1, 0, 1, 1, 0, 1, 1]], "i4"))
    heads = vendor(c, "MultiHeadAttention", grouped[0], grouped[0], q, c.const(c.random.standard_normal(192), "f4"),
                   mask, "", *(c.numbers(f"past_{n}", [1, 4, 4, 16], 1, 4, 4, 16) for n in "ab"), outputs=3,
                   num_heads=4)
    for y in (*grouped, *heads):
        c.output(y)
    c.save()


def vendor_in_place():
    """Caches that are buffers for ten frames, filled to 3 and 7 of them, and the same without turns and windows."""
    c = Case("vendor_in_place", 17)
    q, k, v = (c.numbers(n, [2, 1, w]) for n, w in (("q", 64), ("k", 32), ("v", 32)))
    shape = [2, 2, 10, 16]
    cache = [c.input(f"past_{n}", shape, c.random.standard_normal(shape).astype("f4")) for n in "kv"]
    for _, past in c.data[-2:]:  # what is behind the frames of now ONNX Runtime does not keep
        past[0, :, 4:], past[1, :, 8:] = 0, 0
    last, total = c.input("last", [2], np.array([3, 7], "i4")), c.input("total", [], np.array(8, "i4"))
    angles = c.random.standard_normal((16, 8))
    turns = c.const(np.cos(angles), "f4"), c.const(np.sin(angles), "f4")
    for more, attrs in (turns, {"do_rotary": 1, "local_window_size": 3}), ((), {"softcap": 2.0}):
        y = vendor(c, "GroupQueryAttention", q, k, v, *cache, last, total, *more, outputs=3, num_heads=4, kv_num_heads=2, **attrs)
        c.output(y[0])
        for kept in y[1:]:
            c.output(kept, shape)
    c.save()


def vendor_shared():
    """One cache in place that two nodes fill, and that a third fills behind the first; the file declares of the keys alone how large they are."""
    c = Case("vendor_shared", 17)
    q, k, v = (c.numbers(n, [1, 1, w]) for n, w in (("q", 64), ("k", 32), ("v", 32)))
    shape = [1, 2, 10, 16]
    cache = [c.input(f"past_{n}", shape, c.random.standard_normal(shape).astype("f4")) for n in "kv"]
    for _, past in c.data[-2:]:
        past[:, :, 4:] = 0
    last, total = c.input("last", [1], np.array([4], "i4")), c.input("total", [], np.array(5, "i4"))
    node = lambda q, k, cache: vendor(c, "GroupQueryAttention", q, k, v, *cache, last, total, outputs=3, num_heads=4, kv_num_heads=2)  # noqa: E731
    first = node(q, k, cache)
    for y in first, node(c.op("Neg", q), v, cache), node(q, v, first[1:]):
        c.output(y[0])
        c.output(y[1], shape)
    c.save()


def vendor_keys():
    """Heads that see no frame to come, with as many keys as queries, and with fewer."""
    c = Case("vendor_keys", 17)
    q, k, few = c.numbers("q", [1, 3, 8]), c.numbers("k", [1, "L", 8], 1, 3, 8), c.numbers("few", [1, 2, 8])
    for keys in k, few:
        c.output(vendor(c, "MultiHeadAttention", q, keys, keys, num_heads=2, unidirectional=1))
    c.save()


def vendor_masks():
    """Attention with its own product: a cache, widths of each, masks of keys, of frames, and ends of keys."""
    c = Case("vendor_masks", 17)
    x, past = c.numbers("x", [2, "S", 6], 2, 3, 6), c.numbers("past", [2, 2, 2, 4, 8], 2, 2, 2, 4, 8)
    w, b = table(c, 6, 48), table(c, 48)
    ends = c.input("ends", [2], np.array([3, 2], "i4")), c.input("spans", [4], np.array([3, 2, 1, 0], "i4"))
    mask = c.input("mask", [2, "S+4"], np.array([[1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 1]], "i4"))
    each = c.input("each", [2, "S", "S"], c.random.integers(0, 2, (2, 3, 3)).astype("i4"))
    for more, attrs in ((("", past), {"unidirectional": 1, "scale": .3}), ((mask, past), {}), ((ends[0],), {}),
                        ((ends[1],), {"mask_filter_value": -3.0}), ((each,), {"unidirectional": 1})):
        for y in vendor(c, "Attention", x, w, b, *more, outputs=2, num_heads=2, **attrs):
            c.output(y)
    bias = c.numbers("bias", [1, 2, "S", "S"], 1, 2, 3, 3)
    c.output(vendor(c, "Attention", x, table(c, 6, 40), table(c, 40), "", "", bias, num_heads=2,
                    qkv_hidden_sizes=[16, 16, 8]))
    q = c.numbers("q", [2, "S", 16], 2, 3, 16)
    c.output(vendor(c, "MultiHeadAttention", q, *(c.numbers(n, [2, 5, 16], 2, 5, 16) for n in "kv"), b, ends[0],
                    num_heads=2))
    c.output(vendor(c, "MultiHeadAttention", q, *(c.numbers(n, [2, 2, 5, 8], 2, 2, 5, 8) for n in "ab"), b,
                    num_heads=2))
    c.save()


def vendor_packs():
    """Keys and values in one input, and all three in one, which ONNX Runtime has on other devices only: as apart."""
    def net(packed):
        c = Case("vendor_packs", 17)
        q = c.numbers("q", [1, "S", 16], 1, 3, 16)
        kv, qkv = (c.numbers(n, [1, "S", 2, k, 8], 1, 3, 2, k, 8) for n, k in (("kv", 2), ("qkv", 3)))
        bias = table(c, 48)
        for x in [q, kv], [qkv]:
            if not packed:
                parts = c.op("Split", x[-1], axis=3, outputs=2 if len(x) > 1 else 3)
                x = x[:-1] + [c.op("Reshape", part, c.const([0, 0, 16])) for part in parts]
            c.output(vendor(c, "MultiHeadAttention", *x, *[""] * (3 - len(x)), bias, num_heads=2))
        return c
    net(True).save(lambda _, data: run_onnxruntime(net(False).model(), data))


def vendor_fused():
    """What optimisers write for several nodes."""
    c = Case("vendor_fused", 17)
    x = c.numbers("x", [1, 4, "S"], 1, 4, 6)
    w = [c.const(c.random.standard_normal(shape), "f4") for shape in ((4, 4, 3), (4,), (4,), (4,), (4, 5))]
    y = vendor(c, "FusedConv", x, w[0], w[1], "", activation="LeakyRelu", activation_params=[0.2], pads=[1, 1])
    y = c.op("Transpose", y, perm=[0, 2, 1])
    norm = vendor(c, "SkipLayerNormalization", y, vendor(c, "FastGelu", y, w[1]), w[2], w[3], w[1], outputs=4)
    rms = vendor(c, "SkipSimplifiedLayerNormalization", norm[0], norm[3], w[2], epsilon=1e-5)
    rms = c.op("SimplifiedLayerNormalization", rms, w[3], axis=-1, epsilon=1e-5)
    gelu = vendor(c, "QuickGelu", vendor(c, "BiasGelu", vendor(c, "Gelu", rms), w[2]))
    flat = c.op("Reshape", gelu, c.const([-1, 4]))
    c.output(vendor(c, "FusedGemm", flat, w[4], activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.4))
    c.output(norm[3])
    c.save()


def vendor_contrib():
    """Ops that ai.onnx.contrib has by the names of com.microsoft; results by those."""
    def net(domain):
        c = Case("vendor_contrib", 17)
        x = c.numbers("x", [1, "S", 4], 1, 6, 4)
        w = [c.const(c.random.standard_normal(4), "f4") for _ in range(3)]
        y = vendor(c, "BiasGelu", vendor(c, "Gelu", x), w[0])
        y = vendor(c, "SkipLayerNormalization", y, vendor(c, "FastGelu", x), w[1], w[2])
        c.output(vendor(c, "QuickGelu", vendor(c, "FusedMatMul", y, y, transB=1, alpha=0.5)))
        for node in c.nodes:
            node.domain = node.domain and domain
        model = c.model()
        model.opset_import[1].domain = domain
        c.model = lambda: model
        return c

    net("ai.onnx.contrib").save(lambda _, data: run_onnxruntime(net(MICROSOFT).model(), data))


def vendor_last_conv():
    """Convolutions with channels last, which ONNX Runtime has for GPUs; results by Conv between Transposes."""
    def net(last):
        c = Case("vendor_last_conv", 17)
        y = c.numbers("x", [1, "S", 8, 4], 1, 6, 8, 4)
        act = dict(activation="LeakyRelu", activation_params=[.1])
        for kernel, group, bias, attrs in ((3, 1, True, {"pads": [1, 1, 1, 1]}), (1, 2, False, act), (3, 3, True, {"strides": [1, 2], "dilations": [1, 2]})):
            inner, outer = (4, 6) if group < 3 and kernel > 1 else (6, 6)
            w = c.random.standard_normal((outer, inner // group, kernel, kernel))
            b = [c.const(c.random.standard_normal(outer), "f4")] if bias else []
            if last:
                y = vendor(c, "NhwcConv", y, c.const(w.transpose(0, 2, 3, 1), "f4"), *b, group=group, kernel_shape=[kernel] * 2, **attrs)
            else:
                y = c.op("Conv", c.op("Transpose", y, perm=[0, 3, 1, 2]), c.const(w, "f4"), *b, group=group, **(attrs if attrs is not act else {}))
                y = c.op("LeakyRelu", y, alpha=.1) if attrs is act else y
                y = c.op("Transpose", y, perm=[0, 2, 3, 1])
        c.output(y)
        return c

    net(True).save(lambda _, data: run_onnxruntime(net(False).model(), data))


def scatter_cache():
    """A frame into a buffer, at a place that is given."""
    c = Case("scatter_cache", 24)
    c.input("at", [1], np.array([2]))
    c.output(c.op("TensorScatter", c.numbers("cache", [1, 4, 3], 1, 4, 3), c.numbers("x", [1, 1, 3], 1, 1, 3), "at", axis=1))
    c.again(at=[0])
    c.again(at=[3])
    c.save(run_reference)


def vendor_recurrent():
    """What ONNX Runtime 1.32 has of recurrent nets, and forms of it that it once wrote."""
    c = Case("vendor_recurrent", 21)
    x = c.numbers("x", [2, 6, "T"], 2, 6, 9)
    kept = c.numbers("kept", [2, 6, 6], 2, 6, 6)
    taps, bias = (c.const(c.random.standard_normal(n), "f4") for n in ((6, 1, 4), 6))
    wires = vendor(c, "CausalConvWithState", x, taps, bias, kept, outputs=2, dilation=2, activation="silu", ndim=1)
    wires += vendor(c, "CausalConvWithState", x, taps, outputs=2)
    q, k = c.numbers("q", [1, "S", 16], 1, 5, 16), c.numbers("k", [1, "S", 8], 1, 5, 8)
    v, state = c.numbers("v", [1, "S", 6], 1, 5, 6), c.numbers("state", [1, 2, 4, 3], 1, 2, 4, 3)
    decay = c.op("Neg", c.op("Abs", c.numbers("decay", [1, "S", 2], 1, 5, 2)))
    rate = c.op("Sigmoid", c.numbers("rate", [1, "S", 2], 1, 5, 2))
    heads = {"q_num_heads": 4, "kv_num_heads": 2, "outputs": 2, "state_window": 0}
    wires += vendor(c, "LinearAttention", q, k, v, state, decay, rate, scale=0.3, update_rule="gated_delta", **heads)
    wires += vendor(c, "LinearAttention", q, k, v, update_rule="linear", **heads)
    square = vendor(c, "TransposeMatMul", x, x, transB=1, alpha=0.5)
    wires += [square, vendor(c, "Trilu", square, c.const(1), upper=0), vendor(c, "Trilu", square)]
    one, five = (c.const(n, "f4") for n in (1, 5))
    wires += [vendor(c, "Range", one, five), vendor(c, "Range", five, one, c.const(-1.5, "f4"))]
    wires += [vendor(c, "ScaledSiLU", x, alpha=0.3), vendor(c, "ScaledSiLU", x, c.const(0.7, "f4"))]
    for wire in wires:
        c.output(wire)
    c.save()


def vendor_sinks():
    """GroupQueryAttention that leaves a part of the weights to no key, turned by places that are given."""
    c = Case("vendor_sinks", 21)
    q, k, v = (c.numbers(name, [1, 1, n], 1, 1, n) for name, n in (("q", 64), ("k", 32), ("v", 32)))
    kept = [c.numbers(name, [1, 2, "P", 16], 1, 2, 6, 16) for name in ("past_k", "past_v")]
    at = c.input("at", [1, 1], np.array([[6]], "i8"))
    sink = c.const(c.random.standard_normal(4), "f4")
    turn = [c.const(c.random.standard_normal((16, 8)), "f4") for _ in "cs"]
    sizes = c.input("last", [1], np.array([6], "i4")), c.const(7, "i4")
    heads = {"num_heads": 4, "kv_num_heads": 2, "outputs": 3}
    wires = [vendor(c, "GroupQueryAttention", q, k, v, *kept, *sizes, smooth_softmax=1, **heads)[0],
             *vendor(c, "GroupQueryAttention", q, k, v, *kept, *sizes, *turn, at, "", sink, do_rotary=1, **heads),
             vendor(c, "GroupQueryAttention", q, k, v, *kept, *sizes, "", "", "", "", sink, local_window_size=4, softcap=2., **heads)[0]]
    for wire in wires:
        c.output(wire)
    c.save()


def vendor_embed():
    """Sums of rows of tables, normalised: with segments, a mask and places, and with nothing but tokens."""
    c = Case("vendor_embed", 17)
    ids = c.input("ids", ["N", "S"], np.array([[3, 0, 6, 2], [1, 1, 5, 4]], "i4"))
    segments = c.input("segments", ["N", "S"], np.array([[0, 0, 1, 1], [0, 1, 1, 0]], "i4"))
    mask = c.input("mask", ["N", "S"], np.array([[1, 1, 1, 0], [1, 1, 0, 0]], "i4"))
    places = c.input("places", ["N", "S"], np.array([[0, 1, 2, 3], [2, 3, 4, 5]], "i4"))
    word, place, kind = (c.const(c.random.standard_normal((n, 6)), "f4") for n in (7, 9, 2))
    gain, shift = (c.const(c.random.standard_normal(6), "f4") for _ in range(2))
    whole = vendor(c, "EmbedLayerNormalization", ids, segments, word, place, kind, gain, shift, mask, places, outputs=3, epsilon=1e-5)
    plain = vendor(c, "EmbedLayerNormalization", ids, "", word, place, "", gain, shift, outputs=2)
    weights = c.const(c.random.standard_normal((6, 18)), "f4")
    heard = vendor(c, "Attention", whole[0], weights, c.const(c.random.standard_normal(18), "f4"), whole[1], num_heads=2)
    for wire in *whole, *plain, heard:
        c.output(wire)
    c.save()


def linear_attention():
    """A recurrence along frames, of its own start and with one state for two heads of queries."""
    c = Case("linear_attention", 27)
    q, k, v = (c.numbers(n, [1, "S", w], 1, 6, w) for n, w in (("q", 32), ("k", 16), ("v", 12)))
    decay, beta = c.numbers("decay", [1, "S", 16], 1, 6, 16), c.numbers("beta", [1, "S", 2], 1, 6, 2)
    past = c.const(c.random.standard_normal((1, 2, 8, 6)), "f4")
    c.output(c.op("LinearAttention", q, k, v, past, decay, beta, q_num_heads=4, kv_num_heads=2))
    c.output(c.op("LinearAttention", k, k, v, q_num_heads=2, kv_num_heads=2, update_rule="linear", scale=.5))
    c.save(run_reference)


# ---- positions ----

def position_counts():
    """What repeats, made of frame numbers of each type: phases in chunks, the first frames, distances under a mask."""
    c = Case("position_counts", 23)
    x = c.numbers("x", [1, "S", 4], 1, 15, 4)
    table = c.const(c.random.standard_normal((3, 4)), "f4")
    frames = c.op("Squeeze", c.op("Shape", x, start=1, end=2), c.const([0]))
    beside = lambda v: c.op("Unsqueeze", v, c.const([0, 2]))
    for dtype, to in ("f4", T.FLOAT), ("i4", T.INT32):
        number = lambda v: c.const(v, dtype)
        at = c.op("Range", number(0), c.op("Cast", frames, to=to), number(1))
        modulo = c.op("Mod", at, number(3), fmod=int(dtype == "f4"))
        c.output(c.op("Add", x, c.op("Gather", table, c.op("Cast", modulo, to=T.INT64))))
        chunk = c.op("Div", at, number(4))
        chunk = c.op("Floor", chunk) if dtype == "f4" else chunk
        phase = c.op("Sub", at, c.op("Mul", chunk, number(4)))
        c.output(c.op("Mul", x, beside(c.op("Cast", phase, to=T.FLOAT))))
        c.output(c.op("Where", beside(c.op("Less", at, number(5))), x, c.const(0, "f4")))
        apart = c.op("Sub", c.op("Unsqueeze", at, c.const([1])), c.op("Unsqueeze", at, c.const([0])))
        near = c.op("And", c.op("LessOrEqual", apart, number(5)), c.op("GreaterOrEqual", apart, number(-1)))
        c.output(c.op("Attention", x, x, x, near, q_num_heads=2, kv_num_heads=2))
    whole = c.op("Range", c.const(0), frames, c.const(1))
    half = c.op("Mod", c.op("Cast", whole, to=T.FLOAT), c.const(2, "f4"), fmod=1)
    c.output(c.op("Sub", x, beside(half)))
    c.save(run_reference)


# ---- attention of whole recordings, in ops of their own ----

def band(c, x, left, right):
    """[frames, frames]: whether a key is at most so many frames before and behind a query."""
    at = c.op("Range", c.const(0), c.op("Squeeze", c.op("Shape", x, start=1, end=2), c.const([0])), c.const(1))
    apart = c.op("Sub", c.op("Unsqueeze", at, c.const([1])), c.op("Unsqueeze", at, c.const([0])))
    return at, c.op("And", c.op("LessOrEqual", apart, c.const(left)), c.op("GreaterOrEqual", apart, c.const(-right)))


def of_recording(name, opset, width, kv):
    c = Case(name, opset)
    x = c.numbers("x", [1, "S", width], 1, 15, width)
    return c, x, [c.op("MatMul", x, c.const(c.random.standard_normal((width, w)) * .4, "f4")) for w in (width, kv, kv)]


def turning(c, width):
    angles = np.arange(64)[:, None] * 10000. ** (-np.arange(width // 2) / (width // 2))
    return c.const(np.cos(angles), "f4"), c.const(np.sin(angles), "f4")


def recording_attention():
    """Under masks that are computed: behind turned queries and keys, capped, causal, behind a cache."""
    c, x, (q, k, v) = of_recording("recording_attention", 23, 8, 4)
    at, near = band(c, x, 5, 2)
    places = c.op("Unsqueeze", at, c.const([0]))
    q, k = (c.op("RotaryEmbedding", y, *turning(c, 4), places, num_heads=n) for y, n in ((q, 2), (k, 1)))
    c.output(c.op("Attention", q, k, v, near, q_num_heads=2, kv_num_heads=1, softcap=2.))
    added = c.op("Where", near, c.const(0, "f4"), c.const(-np.inf, "f4"))
    for y in c.op("Attention", q, k, v, added, q_num_heads=2, kv_num_heads=1, outputs=3):
        c.output(y)
    past = [c.const(c.random.standard_normal((1, 1, 6, 4)), "f4") for _ in "kv"]
    of = c.op("Range", c.const(-6), c.op("Squeeze", c.op("Shape", x, start=1, end=2), c.const([0])), c.const(1))
    apart = c.op("Sub", c.op("Unsqueeze", at, c.const([1])), c.op("Unsqueeze", of, c.const([0])))
    seen = c.op("And", c.op("LessOrEqual", apart, c.const(6)), c.op("GreaterOrEqual", apart, c.const(0)))
    c.output(c.op("Attention", q, k, v, seen, *past, q_num_heads=2, kv_num_heads=1))
    c.save(run_reference)


def recording_grouped():
    """GroupQueryAttention that sees some frames: capped, turned, packed."""
    c, x, (q, k, v) = of_recording("recording_grouped", 21, 32, 16)
    frames = c.op("Cast", c.op("Shape", x, start=1, end=2), to=T.INT32)
    sizes = c.op("Sub", frames, c.const([1], "i4")), c.op("Squeeze", frames, c.const([0]))
    see = lambda q, k, v, *more, **how: c.op("GroupQueryAttention", q, k, v, "", "", *sizes, *more, domain=MICROSOFT,
                                             num_heads=2, kv_num_heads=1, local_window_size=6, outputs=3, **how)
    for y in see(q, k, v, softcap=3.):
        c.output(y)
    c.output(see(q, k, v, *turning(c, 16), do_rotary=1)[0])
    c.output(see(c.op("Concat", q, k, v, axis=-1), "", "")[0])
    c.save()


def batch_open():
    """A batch that the file leaves open beside a length, of several inputs."""
    c = Case("batch_open")
    x = c.numbers("x", ["B", "S", 4], 2, 7, 4)
    seen = c.input("seen", ["B", "S"], np.array([[1, 1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 1, 1, 0]], "f4"))
    c.output(c.op("Mul", c.op("Relu", x), c.op("Unsqueeze", seen, c.const([2]))))
    c.save()


def vendor_prompt():
    """A first prompt of GroupQueryAttention counts on from the first place that is given, in every sequence."""
    c = Case("vendor_prompt")
    q, k, v = (c.input(n, [2, 5, w], c.random.standard_normal((2, 5, w)).astype("f4")) for n, w in (("q", 32), ("k", 16), ("v", 16)))
    sizes = c.const([4, 4], "i4"), c.const(5, "i4")
    at = c.input("at", [2, 5], np.array([[1, 2, 3, 4, 5], [4, 9, 0, 7, 2]], "i8"))
    for y in c.op("GroupQueryAttention", q, k, v, "", "", *sizes, *turning(c, 16), at, domain=MICROSOFT, num_heads=2, kv_num_heads=1,
                  do_rotary=1, outputs=3):
        c.output(y)
    c.save()


def vendor_part():
    """Heads of GroupQueryAttention of which the first half turns, as many numbers as there are angles for: apart, packed, behind a cache."""
    c = Case("vendor_part")
    q, k, v = (c.input(n, [1, 3, w], c.random.standard_normal((1, 3, w)).astype("f4")) for n, w in (("q", 64), ("k", 32), ("v", 32)))
    past = [c.input(n, [1, 1, 4, 32], c.random.standard_normal((1, 1, 4, 32)).astype("f4")) for n in ("keys", "values")]
    grouped = lambda *ins, **how: c.op("GroupQueryAttention", *ins, *turning(c, 16), domain=MICROSOFT, num_heads=2, kv_num_heads=1,
                                       do_rotary=1, outputs=3, **how)
    now, behind = ((c.const([frames - 1], "i4"), c.const(frames, "i4")) for frames in (3, 7))
    for y in (*grouped(q, k, v, "", "", *now), *grouped(q, k, v, *past, *behind, rotary_interleaved=1)):
        c.output(y)
    c.output(grouped(c.op("Concat", q, k, v, axis=-1), "", "", "", "", *now)[0])
    c.save()


def vendor_bias():
    """Biases of GroupQueryAttention are as wide as the frames that its buffers hold, which are longer."""
    c = Case("vendor_bias")
    q, k, v = (c.input(n, [1, 3, w], c.random.standard_normal((1, 3, w)).astype("f4")) for n, w in (("q", 32), ("k", 16), ("v", 16)))
    past = [c.input(n, [1, 1, 9, 16], c.random.standard_normal((1, 1, 9, 16)).astype("f4")) for n in ("keys", "values")]
    for _, held in c.data[-2:]:
        held[0, 0, 7:] = 0
    bias = c.input("bias", [1, 1, 3, 7], c.random.standard_normal((1, 1, 3, 7)).astype("f4"))
    y = c.op("GroupQueryAttention", q, k, v, *past, c.const([6], "i4"), c.const(7, "i4"), "", "", "", bias, domain=MICROSOFT, num_heads=2,
             kv_num_heads=1, outputs=3)
    c.output(y[0])
    for kept in y[1:]:
        c.output(kept, [1, 1, 9, 16])
    c.save()


def recording_heads():
    """MultiHeadAttention and Attention of com.microsoft under masks that nodes compute, beside masks of data."""
    c, x, qkv = of_recording("recording_heads", 21, 8, 8)
    _, near = band(c, x, 6, 1)
    added = c.op("Unsqueeze", c.op("Where", near, c.const(0, "f4"), c.const(-np.inf, "f4")), c.const([0, 1]))
    seen = c.op("Unsqueeze", c.op("Cast", near, to=T.INT32), c.const([0]))
    keys = c.input("keys", [1, "S"], np.array([[1] * 6 + [0] * 3 + [1] * 6], "i4"))
    packed = [x] + [c.const(c.random.standard_normal(s), "f4") for s in ((8, 24), (24,))]
    heads = lambda *inputs, **how: c.output(c.op("MultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=2, **how))
    heads(*qkv, packed[2], "", added)
    heads(*qkv, "", keys, added)
    heads(*qkv, "", seen)
    heads(*qkv, "", "", added, unidirectional=1)
    c.output(c.op("Attention", *packed, seen, domain=MICROSOFT, num_heads=2))
    c.output(c.op("Attention", *packed, "", "", added, domain=MICROSOFT, num_heads=2, unidirectional=1))
    c.save()


def recording_open():
    """No limit on how far back a query sees."""
    c, _, (q, k, v) = of_recording("recording_open", 23, 8, 8)
    c.output(c.op("Attention", q, k, v, q_num_heads=2, kv_num_heads=2, is_causal=1))
    c.save(run_reference)


def recording_states():
    """LinearAttention by each rule and CausalConvWithState, which keep a state each, from one that is given."""
    c, x, (q, k, v) = of_recording("recording_states", 27, 8, 8)
    decay = c.op("Neg", c.op("Softplus", k))
    beta = c.op("Sigmoid", c.op("MatMul", x, c.const(c.random.standard_normal((8, 2)), "f4")))
    start = c.numbers("start", [1, 2, 4, 4])
    for rule, more in ("linear", []), ("gated", [decay]), ("delta", ["", beta]), ("gated_delta", [decay, beta]):
        c.output(c.op("LinearAttention", q, k, v, start, *more, q_num_heads=2, kv_num_heads=2, update_rule=rule,
                      outputs=2)[0])
    turned = c.op("Transpose", x, perm=[0, 2, 1])
    w, b = (c.const(c.random.standard_normal(s), "f4") for s in ((8, 1, 5), (8,)))
    c.output(c.op("CausalConvWithState", turned, w, b, outputs=2)[0])
    c.output(c.op("CausalConvWithState", turned, w, b, c.numbers("past", [1, 8, 4]), outputs=2, activation="silu")[0])
    c.save(run_reference)


def attention_rates():
    """Queries and keys at other rates than each other: every fourth frame, segments up to a query's own, 2 to 3."""
    c = Case("attention_rates", 23)
    x = c.numbers("x", [1, "12*S", 8], 1, 24, 8)
    rows = {1: x}
    for step in 2, 3, 4:
        w = c.const(c.random.standard_normal((8, 8, step)) * .3, "f4")
        y = c.op("Conv", c.op("Transpose", x, perm=[0, 2, 1]), w, strides=[step])
        rows[step] = c.op("Transpose", y, perm=[0, 2, 1])
    count = lambda y, axis: c.op("Unsqueeze", c.op("Range", c.const(0), c.op("Squeeze", c.op("Shape", y, start=1, end=2),
                                                   c.const([0])), c.const(1)), c.const([axis]))
    between = lambda v, least, most: c.op("And", c.op("GreaterOrEqual", v, least), c.op("LessOrEqual", v, most))
    heard = lambda q, k, mask: c.output(c.op("Attention", rows[q], rows[k], rows[k], mask, q_num_heads=2, kv_num_heads=2))
    for q, k in (1, 4), (4, 1), (2, 3), (4, 2):
        apart = c.op("Sub", c.op("Mul", count(rows[q], 1), c.const(q)), c.op("Mul", count(rows[k], 0), c.const(k)))
        near = between(apart, c.const(-5), c.const(13))
        heard(q, k, near)
        if (q, k) == (1, 4):
            there = c.input("there", [1, "3*S"], np.array([[True, False, True, True, False, True]]))
            heard(q, k, c.op("And", near, c.op("Unsqueeze", there, c.const([1]))))
            table = c.op("Gather", c.const(c.random.standard_normal(19), "f4"),
                         c.op("Add", c.op("Clip", apart, c.const(-5), c.const(13)), c.const(5)))
            heard(q, k, c.op("Where", near, table, c.const(-np.inf, "f4")))
    own = c.op("Div", count(x, 1), c.const(4))      # of its segment
    heard(1, 4, between(count(rows[4], 0), c.op("Sub", own, c.const(3)), own))
    c.save(run_reference)


def attention_memory():
    """Keys joined of a memory (means of segments) and the frames themselves with some to both sides, as in Emformer (Shi 2021)."""
    c = Case("attention_memory", 23)
    x = c.numbers("x", [1, "4*S", 8], 1, 28, 8)
    memory = c.op("Transpose", c.op("AveragePool", c.op("Transpose", x, perm=[0, 2, 1]), kernel_shape=[4], strides=[4]),
                  perm=[0, 2, 1])
    weight = lambda: c.const(c.random.standard_normal((8, 8)) * .4, "f4")
    count = lambda y, axis: c.op("Unsqueeze", c.op("Range", c.const(0), c.op("Squeeze", c.op("Shape", y, start=1, end=2),
                                                   c.const([0])), c.const(1)), c.const([axis]))
    between = lambda v, least, end: c.op("And", c.op("GreaterOrEqual", v, least), c.op("Less", v, end))
    own = c.op("Div", count(x, 1), c.const(4))
    begin = c.op("Mul", own, c.const(4))
    seen = c.op("Concat", between(count(memory, 0), c.op("Sub", own, c.const(3)), own),
                between(count(x, 0), c.op("Sub", begin, c.const(8)), c.op("Add", begin, c.const(6))), axis=1)
    keys = c.op("Concat", memory, x, axis=1)
    q, k, v = c.op("MatMul", x, weight()), c.op("MatMul", keys, weight()), c.op("MatMul", keys, weight())
    c.output(c.op("Attention", q, k, v, seen, q_num_heads=2, kv_num_heads=2))
    hidden = lambda s: c.op("Softmax", c.op("Where", seen, s, c.const(-np.inf, "f4")), axis=-1)
    c.output(c.op("MatMul", hidden(c.op("MatMul", q, c.op("Transpose", k, perm=[0, 2, 1]))), v))
    heads = lambda y: c.op("Transpose", c.op("Reshape", y, c.const([0, -1, 2, 4])), perm=[0, 2, 1, 3])
    scores = c.op("Mul", c.op("MatMul", heads(q), c.op("Transpose", heads(k), perm=[0, 1, 3, 2])), c.const(.5, "f4"))
    c.output(c.op("Reshape", c.op("Transpose", c.op("MatMul", hidden(scores), heads(v)), perm=[0, 2, 1, 3]),
                  c.const([0, -1, 8])))
    for low in -1e9, -1e4:      # added: what is hidden is no one number
        laid = c.op("Where", seen, c.const(0, "f4"), c.const(low, "f4"))
        scores = c.op("Add", c.op("MatMul", q, c.op("Transpose", k, perm=[0, 2, 1])), laid)
        c.output(c.op("MatMul", c.op("Softmax", scores, axis=-1), v))
    c.save(run_reference)


def emformer():
    """Two layers of Emformer (Shi 2021): segments of four see a memory, some frames before and after; a summary of each is memory."""
    c = Case("emformer", 23)
    width = 8
    weight = lambda *shape: c.const(c.random.standard_normal(shape) * .4, "f4")
    norm = lambda y: c.op("LayerNormalization", y, c.const(np.ones(width), "f4"), c.const(np.zeros(width), "f4"), axis=-1)
    means = lambda y: c.op("Transpose", c.op("AveragePool", c.op("Transpose", y, perm=[0, 2, 1]), kernel_shape=[4],
                                             strides=[4]), perm=[0, 2, 1])
    count = lambda y, axis: c.op("Unsqueeze", c.op("Range", c.const(0), c.op("Squeeze", c.op("Shape", y, start=1, end=2),
                                                   c.const([0])), c.const(1)), c.const([axis]))
    between = lambda v, least, end: c.op("And", c.op("GreaterOrEqual", v, least), c.op("Less", v, end))
    around = lambda y, segment: between(count(y, 0), c.op("Sub", c.op("Mul", segment, c.const(4)), c.const(8)),
                                        c.op("Add", c.op("Mul", segment, c.const(4)), c.const(6)))

    def layer(x, memory):
        y = norm(x)
        summary, own, joined = means(y), c.op("Div", count(y, 1), c.const(4)), c.op("Concat", memory, y, axis=1)
        seen = c.op("Concat", between(count(memory, 0), c.op("Sub", own, c.const(3)), own), around(y, own), axis=1)
        wq, wk, wv, wo = (weight(width, width) for _ in range(4))
        attend = lambda q, kv, mask: c.op("MatMul", c.op("Attention", *(c.op("MatMul", a, w) for a, w in ((q, wq), (kv, wk), (kv, wv))),
                                                         mask, q_num_heads=2, kv_num_heads=2), wo)
        x = c.op("Add", x, attend(y, joined, seen))
        fed = c.op("MatMul", c.op("Relu", c.op("MatMul", norm(x), weight(width, 16))), weight(16, width))
        return c.op("Add", x, fed), c.op("Tanh", attend(summary, y, around(y, count(summary, 1))))

    def joined_layer(x, memory):
        """The same, of queries and summaries that are joined, too."""
        y = norm(x)
        summary, own = means(y), c.op("Div", count(y, 1), c.const(4))
        mine, other = count(summary, 1), count(memory, 0)
        seen = [c.op("Concat", between(other, least, end), around(y, at), axis=1)
                for least, end, at in ((c.op("Sub", own, c.const(3)), own, own), (mine, mine, mine))]
        q, kv = c.op("Concat", y, summary, axis=1), c.op("Concat", memory, y, axis=1)
        q, k, v = (c.op("MatMul", a, weight(width, width)) for a in (q, kv, kv))
        heard = c.op("Attention", q, k, v, c.op("Concat", *seen, axis=0), q_num_heads=2, kv_num_heads=2)
        sizes = c.op("Concat", *(c.op("Shape", a, start=1, end=2) for a in (y, summary)), axis=0)
        heard, memory = c.op("Split", heard, sizes, axis=1, outputs=2)
        return c.op("Add", x, heard), c.op("Tanh", memory)

    x = c.numbers("x", [1, "4*S", width], 1, 28, width)
    for each in layer, joined_layer:
        y, memory = x, means(x)
        for _ in range(2):
            y, memory = each(y, memory)
        c.output(y)
    c.save(run_reference)


def cells_chunked():
    """Cells that run backwards, or both ways, within chunks of six frames, written as directions or as slices from the end."""
    c = Case("cells_chunked", 21)
    x = c.numbers("x", [1, "6*S", 4], 1, 18, 4)
    chunks = c.op("Reshape", x, c.const([-1, 6, 4]))
    along = lambda y: c.op("Transpose", y, perm=[1, 0, 2])
    tables = lambda n, gates, width, bias: [c.const(c.random.standard_normal(s) * .4, "f4") for s in
                                            ((n, gates * 5, width), (n, gates * 5, 5), (n, bias * gates * 5))]
    for op, gates, how in ("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1}), ("RNN", 1, {}):
        for n, direction in (1, "reverse"), (2, "bidirectional"):
            y = c.op(op, along(chunks), *tables(n, gates, 4, 2), hidden_size=5, direction=direction, outputs=2, **how)[0]
            c.output(c.op("Reshape", c.op("Transpose", y, perm=[2, 0, 1, 3]), c.const([1, -1, 5 * n])))
    back = lambda y: c.op("Slice", y, c.const([-1]), c.const([-2**31]), c.const([1]), c.const([-1]))
    y = c.op("GRU", along(back(chunks)), *tables(1, 3, 4, 2), hidden_size=5, outputs=2)[0]
    c.output(back(along(c.op("Squeeze", y, c.const([1])))))
    c.output(c.op("CumSum", chunks, c.const(1), reverse=1))
    c.save()


# ---- sequences ----

def sequence_lists():
    """Lists that are known: split, built, inserted to, erased from, and joined again."""
    c = Case("sequence_lists", 17)
    x = c.numbers("x", [6, "S"], 6, 4)
    parts = c.op("SplitToSequence", x, c.const([1, 2, 3]), axis=0)
    c.output(c.op("SequenceAt", parts, c.const(1)))
    turned = c.op("SequenceInsert", parts, c.op("SequenceAt", parts, c.const(-1)), c.const(0))
    c.output(c.op("ConcatFromSequence", c.op("SequenceErase", turned, c.const(2)), axis=0))
    c.output(c.op("SequenceLength", turned))
    halves = c.op("SplitToSequence", x, c.const(4), axis=-2)
    c.output(c.op("SequenceAt", halves, c.const(-1)))
    pair = c.op("SequenceConstruct", x, c.op("Neg", x))
    at = c.input("at", [], np.array(1, "i8"))
    c.output(c.op("ConcatFromSequence", pair, axis=-1, new_axis=1))
    c.output(c.op("ConcatFromSequence", pair, axis=1))
    c.output(c.op("SequenceAt", pair, at))
    c.output(c.op("SequenceAt", c.op("SplitToSequence", x, axis=0, keepdims=0), at))
    c.output(c.op("SequenceAt", c.op("SplitToSequence", x, axis=0), at))
    rows = c.op("SplitToSequence", x, axis=0)
    c.output(c.op("ConcatFromSequence", rows, axis=0))
    c.output(c.op("SequenceLength", rows))
    c.output(c.op("OptionalGetElement", c.op("Optional", x)))
    c.output(c.op("OptionalHasElement", c.op("Optional", x)))
    c.save()


def frames_loop(c, frames, start, step, at=(), begin=None):
    """Outputs of a scripted loop: a list that is appended to (or at a place), then a state. step(body, frame, state): both."""
    inner = Case("body")
    inner.constants = c.constants
    grown, state = step(inner, inner.op("SequenceAt", frames, "i"), "state")
    outs = inner.op("SequenceInsert", "list", grown, *at)
    going = inner.op("Identity", "on")
    number, yes = (lambda n: helper.make_tensor_value_info(n, T.FLOAT, None)), helper.make_tensor_value_info(going, T.BOOL, [])
    many = lambda n: helper.make_tensor_sequence_value_info(n, T.FLOAT, None)
    body = helper.make_graph(inner.nodes, "body",
                             [helper.make_tensor_value_info("i", T.INT64, []),
                              helper.make_tensor_value_info("on", T.BOOL, []), many("list"), number("state")],
                             [yes, many(outs), number(state)])
    return c.op("Loop", c.op("SequenceLength", frames), c.const(True, "?"), begin or c.op("SequenceEmpty"), start, outputs=2,
                body=body)


def sequence_loop():
    """What a scripted recurrence leaves: frames of a tensor, one after the other, into a list that is joined."""
    c = Case("sequence_loop", 17)
    x = c.numbers("x", [2, "S", 3], 2, 7, 3)
    frames = c.op("SplitToSequence", x, axis=1, keepdims=0)

    def step(body, frame, state):
        state = body.op("Tanh", body.op("Add", body.op("Mul", state, c.const(.5, "f4")), frame))
        return state, state
    outs, _ = frames_loop(c, frames, c.const(np.zeros((2, 3)), "f4"), step)
    c.output(c.op("ConcatFromSequence", outs, axis=1, new_axis=1))
    c.save()


def sequence_front():
    """A list whose newest comes first, begun with nothing and with two."""
    c = Case("sequence_front", 17)
    x = c.numbers("x", [2, "S", 3], 2, 7, 3)
    frames = c.op("SplitToSequence", x, axis=1, keepdims=0)
    first = c.const(c.random.standard_normal((2, 3)), "f4")
    for begin in None, c.op("SequenceConstruct", first, c.op("Neg", first)):
        outs, last = frames_loop(c, frames, c.const(np.zeros((2, 3)), "f4"),
                                 lambda body, frame, state: (body.op("Sub", frame, state), body.op("Identity", frame)),
                                 [c.const(0)], begin)
        c.output(c.op("ConcatFromSequence", outs, axis=1, new_axis=1))
        c.output(c.op("SequenceAt", outs, c.const(0)))
        c.output(c.op("SequenceAt", outs, c.const(-1)))
    c.save()


def sequence_repeats():
    """repeat_interleave of a stream as PyTorch 1.13 and 2.0 write it: frames, and their numbers of repeats, in lists of ones."""
    c = Case("sequence_repeats", 15)
    x = c.numbers("x", [1, 3, "S"], 1, 3, 7)
    many = c.op("Expand", c.const(2), c.op("Unsqueeze", c.op("Gather", c.op("Shape", x), c.const(2), axis=0), c.const([0])))
    ones = c.op("ConstantOfShape", c.op("Shape", many), value=helper.make_tensor("one", T.INT64, [1], [1]))
    counts, frames = c.op("SplitToSequence", many, ones, axis=0), c.op("SplitToSequence", x, ones, axis=2)
    pairs = c.op("Expand", c.const(3), c.op("Concat", c.op("Shape", many), c.const([2]), axis=0))
    pairs = c.op("SplitToSequence", pairs, ones, axis=0)  # elements of [1, 2], no lists of one number

    def step(body, frame, state):
        sizes = body.op("Concat", c.const([1, 3, 1]), body.op("SequenceAt", counts, "i"), axis=0)
        times = body.op("ReduceSum", body.op("SequenceAt", pairs, "i"), keepdims=0)
        frame = body.op("Mul", frame, body.op("Cast", times, to=T.FLOAT))
        wide = body.op("Expand", body.op("Unsqueeze", frame, c.const([3])), sizes)
        return body.op("Reshape", wide, c.const([0, 3, -1])), body.op("Identity", state)
    outs, _ = frames_loop(c, frames, c.const(0, "f4"), step)
    c.output(c.op("ConcatFromSequence", outs, axis=2))
    c.save()


def sequence_joined():
    """Lists of a loop in every way they are read."""
    c = Case("sequence_joined", 17)
    x = c.numbers("x", [2, "S", 3], 2, 7, 3)
    frames = c.op("SplitToSequence", x, axis=1, keepdims=0)
    outs, last = frames_loop(c, frames, c.const(np.zeros((2, 3)), "f4"),
                             lambda body, frame, state: (body.op("Sub", frame, state), body.op("Identity", frame)))
    for axis in 0, 1, -1, -2:
        c.output(c.op("ConcatFromSequence", outs, axis=axis))
        c.output(c.op("ConcatFromSequence", outs, axis=axis, new_axis=1))
    c.output(c.op("SequenceAt", outs, c.const(2)))
    more = c.op("SequenceInsert", outs, last)
    c.output(c.op("SequenceAt", more, c.const(-1)))
    c.output(last)
    c.save()


# ---- floats of 8 bits ----

def float8():
    """Every number of each kind, what lies between two and around that, and what is beyond; scales, too."""
    c = Case("float8", 21)
    kinds = T.FLOAT8E4M3FN, T.FLOAT8E4M3FNUZ, T.FLOAT8E5M2, T.FLOAT8E5M2FNUZ
    exact = np.unique(np.concatenate([np.arange(256).astype("u1").view(helper.tensor_dtype_to_np_dtype(to)).astype("f4")
                                      for to in kinds]))
    exact = np.sort(exact[np.isfinite(exact)])
    ties = ((exact[1:].astype("f8") + exact[:-1]) / 2).astype("f4")
    more = np.float32([np.inf, -np.inf, np.nan, -0., 1e-30, 448, 464, 465, 480, 240, 248, 249, 57344, 61440, 61441, 1e9])
    all_ = np.concatenate([exact, ties, np.nextafter(ties, np.float32(1e9)), np.nextafter(ties, np.float32(-1e9)), more])
    x = c.input("x", ["S"], all_)
    for to in kinds:
        for saturate in 0, 1:
            c.output(c.op("Cast", c.op("Cast", x, to=to, saturate=saturate), to=T.FLOAT))
        bytes_ = c.small(np.linspace(-3, 3, 12).reshape(3, 4), to)
        c.output(c.op("DequantizeLinear", bytes_, c.const([.5, 2., 3., 4.], "f4")))
        c.output(c.op("Cast", bytes_, to=T.FLOAT16))
    c.save(run_reference)


def float8_axes():
    """Scales along each axis of what a node gave, whose rank no value_info says."""
    c = Case("float8_axes", 21)
    x = c.op("Relu", c.numbers("x", [1, "S", 4], 1, 5, 4))
    for axis, n in (-1, 4), (0, 1), (2, 4):
        s = c.const(c.random.uniform(.01, .2, n), "f4")
        q = c.op("QuantizeLinear", x, s, axis=axis, output_dtype=T.FLOAT8E4M3FN)
        c.output(c.op("DequantizeLinear", q, s, axis=axis))
    c.save(run_reference)


def constant_sparse():
    """Constants of few values: places in the order of memory, and by axes; of no value."""
    c = Case("constant_sparse", 17)
    x = c.numbers("x", [4, 3])
    for values, places in ([1., -2.], [1, 10]), ([3., 4., 5.], [[0, 2], [1, 0], [3, 2]]), ([], []):
        few = helper.make_sparse_tensor(numpy_helper.from_array(np.float32(values), "v"),
                                        numpy_helper.from_array(np.array(places, "i8"), "at"), [4, 3])
        x = c.op("Add", x, c.op("Constant", sparse_value=few))
    c.output(x)
    c.save(lambda _, data: [dict(data)["x"] + np.float32([[0, 1, 3], [4, 0, 0], [0, 0, 0], [0, -2, 5]])])


# ---- places ----

def grid_sample():
    """Every mode, padding and alignment, of one, two and three axes, far outside, too."""
    c = Case("grid_sample", 20)
    plane = c.numbers("plane", [2, 3, "S", 5], 2, 3, 4, 5)
    at = c.input("at", [2, "T", 4, 2], c.random.uniform(-2.5, 2.5, (2, 3, 4, 2)).astype("f4"))
    space = c.numbers("space", [1, 2, 3, 4, 5], 1, 2, 3, 4, 5)
    there = c.input("there", [1, 2, 2, "T", 3], c.random.uniform(-1.5, 1.5, (1, 2, 2, 3, 3)).astype("f4"))
    for corners in 0, 1:
        for padding in "zeros", "border", "reflection":
            for mode in "linear", "nearest", "cubic":
                c.output(c.op("GridSample", plane, at, mode=mode, padding_mode=padding, align_corners=corners))
            for mode in "linear", "nearest":
                c.output(c.op("GridSample", space, there, mode=mode, padding_mode=padding, align_corners=corners))
    c.save(run_reference)  # ONNX Runtime holds all axes to the border where one is outside


def col2im():
    """Frames laid over one another, of one axis and of two, padded, strided and dilated."""
    c = Case("col2im", 18)
    frames = c.numbers("frames", [2, 12, "S"], 2, 12, 5)
    length = c.op("Add", c.op("Mul", c.op("Shape", frames, start=2, end=3), c.const([2])), c.const([2]))
    c.output(c.op("Col2Im", frames, length, c.const([4]), strides=[2]))
    columns = c.numbers("columns", [1, 18, 12], 1, 18, 12)
    c.output(c.op("Col2Im", columns, c.const([6, 8]), c.const([3, 2]), strides=[2, 2], pads=[1, 0, 1, 1]))
    c.output(c.op("Col2Im", columns, c.const([8, 7]), c.const([3, 2]), strides=[2, 1], dilations=[2, 3], pads=[0, 0, 1, 0]))
    c.save()


def col2im_late():
    """Blocks and images of sizes that come with the data, or are computed from them."""
    c = Case("col2im_late", 18)
    columns = c.numbers("columns", [1, 12, 12])
    image, block = c.input("image", [2], np.array([5, 9])), c.input("block", [2], np.array([2, 3]))
    keys = dict(strides=[2, 2], pads=[1, 0, 0, 1])
    c.output(c.op("Col2Im", columns, image, block, **keys))
    c.output(c.op("Col2Im", columns, image, c.op("Mul", block, c.const([1, 1])), dilations=[1, 1], **keys))
    c.output(c.op("Col2Im", columns, c.op("Add", c.op("Mul", image, c.const([0, 0])), c.const([7, 8])), c.const([3, 2]), strides=[2, 2]))
    c.again(image=[6, 8], block=[3, 2])
    c.again(image=[9, 7], block=[4, 3])
    c.save(run_reference)


def col2im_computed():
    """One block far apart from where the next would be, of an image that nodes compute."""
    c = Case("col2im_computed", 18)
    image = c.op("Add", c.input("image", [1], np.array([4])), c.const([1]))
    c.output(c.op("Col2Im", c.numbers("columns", [1, 4, 1]), image, c.const([2]), strides=[4]))
    c.save(run_reference)


# ---- spectra ----

def dft_half():
    """Real signals of half spectra, of as many points as they have and of a given number, with bins too few and too many."""
    c = Case("dft_half", 20)
    for name, bins, points in ("a", 6, ""), ("b", 4, 9), ("c", 30, 41):
        x = c.numbers(name, ["S", bins, 3, 2], 2, bins, 3, 2)
        c.output(c.op("DFT", x, points and c.const(points), c.const(1), inverse=1, onesided=1))
    c.save(run_reference)


# ---- lengths that meet once ----

def length_once():
    """All frames and those from the third on: of three there is one."""
    c = Case("length_once")
    x = c.numbers("x", ["S", 2], 3, 2)
    c.output(c.op("Add", x, c.op("Slice", x, c.const([2]), c.const([2 ** 31]), c.const([0]))))
    c.save()


def length_later():
    """All frames and those two before them, of which there are as many from two on."""
    c = Case("length_later")
    x = c.numbers("x", ["S", 2], 5, 2)
    before = c.op("Slice", x, c.const([0]), c.const([-2]), c.const([0]))
    c.output(c.op("Add", x, c.op("Pad", before, c.const([2, 0, 0, 0]))))
    c.save()


def ones_later():
    """A row of zeros in front, as many as the first frame has."""
    c = Case("ones_later")
    x = c.numbers("x", ["S", 2], 5, 2)
    first = c.op("Slice", x, c.const([0]), c.const([1]), c.const([0]))
    zeros = c.op("ConstantOfShape", c.op("Shape", first))
    rest = c.op("Slice", x, c.const([0]), c.const([-1]), c.const([0]))
    c.output(c.op("Concat", zeros, rest, axis=0))
    c.save()


# ---- loops and sizes that data decides ----

def loop(c, trips, starts, states, step, outputs, shapes=None, tag=""):
    """A Loop: step(body, iteration, *states) gives the condition, next states, and what is stacked, of shapes.
    states: wire, type, and the shape where the body declares it. tag: of the names in a loop within another."""
    inner = Case("body")
    inner.constants, inner.prefix = c.constants, f"body{tag}_"
    names = [f"state{tag}{i}" for i in range(len(states))]
    outs = step(inner, "i" + tag, *names)
    kinds = [T.BOOL, *[to for _, to, *_ in states], *[T.FLOAT] * outputs]
    body = helper.make_graph(inner.nodes, "body",
                             [helper.make_tensor_value_info("i" + tag, T.INT64, []), helper.make_tensor_value_info("on" + tag, T.BOOL, []),
                              *[helper.make_tensor_value_info(name, to, *(shape or [None])) for name, (_, to, *shape) in zip(names, states)]],
                             [helper.make_tensor_value_info(out, to, shape)
                              for out, to, shape in zip(outs, kinds, [None] * (1 + len(states)) + (shapes or [None] * outputs))])
    made = c.op("Loop", trips, starts, *[wire for wire, *_ in states], outputs=len(states) + outputs, body=body)
    return made if isinstance(made, list) else [made]


def loop_trips():
    """As many iterations as a number of the data says, or none; two states change places."""
    c = Case("loop_trips", 17)
    a, b = c.numbers("a", [3]), c.numbers("b", [3])
    for name, n in ("five", 5), ("none", 0), ("less", -2):
        trips = c.input(name, [], np.array(n, "i8"))
        for out in loop(c, trips, "", [(a, T.FLOAT), (b, T.FLOAT)], lambda body, i, x, y: (
                body.op("Identity", "on"), body.op("Mul", y, body.const(.5, "f4")),
                body.op("Add", x, body.op("Cast", i, to=T.FLOAT))), 0):
            c.output(out)
    c.save()


def loop_grown():
    """A scripted recurrence that joins its frames by Concat: behind none, and behind a learned one, counted from the last axis."""
    c = Case("loop_grown", 17)
    x = c.numbers("x", [2, "S", 3], 2, 7, 3)
    trips = c.op("Gather", c.op("Shape", x), c.const(1), axis=0)
    axis = c.const([1])

    def step(body, i, state, joined, started):
        state = body.op("Tanh", body.op("Add", body.op("Mul", state, c.const(.5, "f4")), body.op("Gather", x, i, axis=1)))
        frame = body.op("Unsqueeze", state, axis)
        return (body.op("Identity", "on"), state, body.op("Concat", joined, frame, axis=1),
                body.op("Concat", started, body.op("Neg", frame), axis=-2), body.op("Abs", state))
    starts = [(c.const(np.zeros((2, 3)), "f4"), T.FLOAT), (c.const(np.zeros((2, 0, 3)), "f4"), T.FLOAT),
              (c.const(np.ones((2, 1, 3)), "f4"), T.FLOAT)]
    _, joined, started, stacked = loop(c, trips, c.const(True, "?"), starts, step, 1)
    c.output(joined)
    c.output(started)
    c.output(stacked)
    c.save()


def loop_while():
    """Until a state is large enough, at most so many times; one that never starts."""
    c = Case("loop_while", 17)
    x = c.input("x", [2], np.array([1, 2], "f4"))
    most = c.input("most", [], np.array(100, "i8"))
    step = lambda body, i, v: (body.op("Less", body.op("ReduceMax", v, keepdims=0), body.const(40, "f4")),
                               body.op("Mul", v, body.const(1.5, "f4")))
    starts = c.input("starts", [], np.array(True))
    c.output(loop(c, most, starts, [(x, T.FLOAT)], step, 0)[0])
    c.output(loop(c, "", starts, [(x, T.FLOAT)], step, 0)[0])
    c.output(loop(c, most, c.op("Not", starts), [(x, T.FLOAT)], step, 0)[0])
    c.output(loop(c, c.const(3), "", [(x, T.FLOAT)], step, 0)[0])
    c.save()


def loop_none():
    """What iterations stack where there is none: as the body declares it, open axes without places."""
    c = Case("loop_none", 17)
    x, trips = c.numbers("x", ["S", 3], 4, 3), c.input("trips", [], np.array(5, "i8"))
    grown = lambda body, i, v: (body.op("Identity", "on"), body.op("Concat", v, body.op("Slice", x, *map(body.const, ([0], [1], [0]))), axis=0),
                                body.op("ReduceSum", v, body.const([0]), keepdims=0), body.op("Identity", x))
    for out in loop(c, trips, "", [(c.op("Slice", x, *map(c.const, ([0], [0], [0]))), T.FLOAT)], grown, 2, [[3], ["n", 3]]):
        c.output(out)
    c.again(trips=0)
    c.again(trips=1)
    c.save()


def loop_passed():
    """A loop in one that may have no iteration, which then stacks what goes in as its body declares it."""
    c = Case("loop_passed", 17)
    x, trips = c.numbers("x", [3], 3), c.input("trips", [], np.array(2, "i8"))
    counts = c.input("counts", [4], np.array([1, 3, 0, 2], "i8"))
    adds = lambda body, i, v: (body.op("Identity", "on_"), body.op("Add", v, x))
    rounds = lambda body, i, v: (body.op("Identity", "on"),
                                 *loop(body, body.op("Gather", counts, i), "", [(v, T.FLOAT)], adds, 0, tag="_"), v)
    for out in loop(c, trips, "", [(x, T.FLOAT, [3])], rounds, 1, [[3]]):
        c.output(out)
    c.again(trips=0)
    c.again(trips=3)
    c.save()


def loop_sliced():
    """A recurrence over x[:, i:i + 1] in a loop, whose frames keep their axis."""
    c = Case("loop_sliced", 17)
    x = c.numbers("x", [1, "T", 4], 1, 6, 4)
    trips = c.op("Gather", c.op("Shape", x), c.const(1), axis=0)

    def step(body, i, state):
        start, end = (body.op("Unsqueeze", at, c.const([0])) for at in (i, body.op("Add", i, c.const(1))))
        y = body.op("Tanh", body.op("Add", body.op("Slice", x, start, end, c.const([1])), state))
        return body.op("Identity", "on"), y, body.op("Squeeze", y, c.const([1]))

    for out in loop(c, trips, "", [(c.const(np.zeros([1, 1, 4]), "f4"), T.FLOAT, [1, 1, 4])], step, 1, [[1, 4]])[1:]:
        c.output(c.op("Transpose", out, perm=[1, 0, 2]))
    c.save()


def sizes_range():
    """As many numbers as the largest length says, of integers and of floats."""
    c = Case("sizes_range", 17)
    x, lengths = c.numbers("x", [1, 4]), c.input("len", [1, 3], np.array([[1, 3, 7]], "f4"))
    most = c.op("Cast", c.op("ReduceMax", lengths, keepdims=0), to=T.INT64)
    numbers = c.op("Cast", c.op("Range", c.const(0), most, c.const(1)), to=T.FLOAT)
    c.output(c.op("Mul", x, c.op("ReduceSum", numbers, c.const([0]), keepdims=1)))
    c.output(c.op("Range", c.const(.5, "f4"), c.op("ReduceMax", lengths, keepdims=0), c.const(.75, "f4")))
    c.output(c.op("Range", most, c.const(-2), c.input("step", [], np.array(-2, "i8"))))
    c.save()


def sizes_square():
    """As many numbers as the data says, rows by columns."""
    c = Case("sizes_square", 17)
    one = helper.make_tensor("one", T.FLOAT, [1], [1.0])
    c.output(c.op("ReduceSum", c.op("ConstantOfShape", c.input("sides", [2], np.array([3, 4])), value=one), keepdims=0))
    c.again(sides=[0, 5])
    c.again(sides=[70, 9])
    c.save()


def sizes_moves():
    """What moves and makes elements, by numbers that come with the data."""
    c = Case("sizes_moves", 17)
    x = c.numbers("x", [2, 3, 8])
    number = lambda name, value: c.input(name, list(np.shape(value)), np.array(value, "i8"))
    two = number("two", [2])
    start, end = number("start", [1]), number("end", [7])
    part = c.op("Slice", x, start, end, c.const([2]), two)
    c.output(part)
    c.output(c.op("Pad", part, number("pads", [0, 1, 2, 0, 0, 1]), c.const(3, "f4")))
    for out in c.op("Split", x, number("split", [5, 3]), axis=2, outputs=2):
        c.output(out)
    c.output(c.op("Expand", c.op("Slice", x, c.const([0]), c.const([1]), c.const([1])), number("shape", [2, 5, 8])))
    filled = c.op("ConstantOfShape", c.op("Concat", two, end, axis=0), value=helper.make_tensor("v", T.FLOAT, [1], [1.5]))
    c.output(filled)
    c.output(c.op("Resize", x, "", "", number("sizes", [2, 3, 13]), mode="linear"))
    c.output(c.op("Resize", x, "", c.input("scales", [3], np.array([1, 2, .5], "f4")), mode="nearest"))
    c.output(c.op("Tile", x, number("repeats", [1, 2, 3])))
    c.output(c.op("TopK", x, two, axis=2, outputs=2)[0])
    c.output(c.op("Reshape", x, number("to", [4, -1])))
    c.output(c.op("MatMul", filled, c.op("Transpose", filled, perm=[1, 0])))
    c.output(c.op("Shape", c.op("Pad", filled, c.op("Concat", two, two, end, end, axis=0))))
    c.save()


def sizes_found():
    """As many as there are: NonZero, Compress and Unique, and what follows them."""
    c = Case("sizes_found", 17)
    x = c.input("x", [3, 4], np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 3, 0, 1]], "f4"))
    at = c.op("NonZero", x)
    c.output(at)
    found = c.op("GatherND", x, c.op("Transpose", at, perm=[1, 0]))
    c.output(c.op("Softmax", found, axis=0))
    kept = c.op("Compress", x, c.op("Greater", c.op("ReduceMax", x, axes=[1], keepdims=0), c.const(.5, "f4")), axis=0)
    c.output(c.op("MatMul", kept, c.op("Transpose", kept, perm=[1, 0])))
    values = c.op("Unique", found, outputs=4)
    c.output(c.op("Mul", values[0], c.op("Cast", values[3], to=T.FLOAT)))
    c.output(c.op("NonZero", c.op("Sub", kept, kept)))
    c.save()


def sizes_rounds():
    """Loops that stack as often as data says, and one whose state grows."""
    c = Case("sizes_rounds", 17)
    x, trips = c.numbers("x", [3]), c.input("trips", [], np.array(4, "i8"))
    small = lambda body, v: body.op("Less", body.op("ReduceMax", v, keepdims=0), body.const(20, "f4"))
    stacked = loop(c, trips, c.const(True, "?"), [(x, T.FLOAT)], lambda body, i, v: (
        body.op("Identity", "on"), body.op("Add", v, body.const(1, "f4")), body.op("Mul", v, v)), 1)
    until = loop(c, "", c.const(True, "?"), [(x, T.FLOAT)], lambda body, i, v: (
        small(body, v), body.op("Add", body.op("Abs", v), body.const(3, "f4")), body.op("Identity", v)), 1)
    grown = loop(c, trips, "", [(x, T.FLOAT)], lambda body, i, v: (
        body.op("Identity", "on"), body.op("Concat", v, body.op("ReduceSum", v, keepdims=1), axis=0)), 0)
    for out in (*stacked, *until, *grown):
        c.output(out)
    c.output(c.op("Softmax", c.op("MatMul", stacked[1], c.op("Transpose", stacked[1], perm=[1, 0]))))
    c.save()


def sizes_again():
    """Runs after runs: what one of other sizes gave in between is not what is given again; nor the last iteration of
    the run before what a state begins with."""
    c = Case("sizes_again", 17)
    x, n = c.numbers("x", ["A", 2], 4, 2), c.input("n", [], np.array(3, "i8"))
    rows = c.op("Cast", c.op("Gather", c.op("Shape", x), c.const(0)), to=T.FLOAT)
    scale = c.numbers("scale", [1])
    c.output(c.op("Mul", c.op("Mul", c.op("Cast", c.op("Range", c.const(0), n, c.const(1)), to=T.FLOAT), rows), scale))
    stacked = loop(c, n, "", [(x, T.FLOAT)], lambda body, i, v: (
        body.op("Identity", "on"), body.op("Mul", v, body.const(.5, "f4")), body.op("Neg", v)), 1)
    for out in stacked:
        c.output(out)
    other = c.random.standard_normal((5, 2))
    for x in None, None, other, None, other:
        c.again(**({} if x is None else {"x": x}))
    c.again(n=1)
    for k in range(6):
        c.again(x=c.random.standard_normal((4, 2)), n=1 + k % 3)
    c.save()


def sizes_sums():
    """Sizes that whole numbers are computed to, below 0 too: what can be is an expression, Mod is not."""
    c = Case("sizes_sums", 17)
    x, n, m = c.numbers("x", [2, 3]), c.input("n", [], np.array(3, "i8")), c.input("m", [2], np.array([2, -1], "i8"))
    many, floats = c.input("many", [200], np.arange(200) % 7), c.input("floats", [3], np.array([.5, 2.75, -1], "f4"))
    low, high = c.const(-4), c.const(6)
    first, second = c.op("Gather", m, c.const(0)), c.op("Squeeze", c.op("Slice", m, c.const([1]), c.const([2])), c.const([0]))
    sizes = [c.op("Div", c.op("Sub", c.op("Mul", n, first), c.const(7)), c.const(3)),
             c.op("Add", c.op("Abs", second), c.op("Neg", c.op("Min", n, first, second))),
             c.op("Where", c.op("And", c.op("Less", n, first), c.op("Not", c.op("Equal", first, second))), n, second),
             c.op("Cast", c.op("GreaterOrEqual", n, first), to=T.INT64),
             c.op("Cast", c.op("Cast", second, to=T.BOOL), to=T.INT64),
             c.op("ReduceMax", many, keepdims=0), c.op("Cast", c.op("ReduceMax", floats, keepdims=0), to=T.INT64),
             c.op("ReduceMax", c.op("Mul", m, c.op("Concat", c.op("Unsqueeze", n, c.const([0])), c.const([2]), axis=0)), keepdims=0),
             c.op("Gather", c.op("Cast", floats, to=T.INT64), c.const(1)), c.op("Mod", n, c.const(3)),
             c.op("ReduceProd", c.op("Add", m, c.const(1)), keepdims=0)]
    for k, size in enumerate(sizes):
        end = c.op("Max", low, c.op("Min", high, size))
        c.output(c.op("Range", low, end, c.const(1)))
        if k % 4 == 0:
            c.output(c.op("Pad", x, c.op("Concat", c.const([0, 0, 0]), c.op("Unsqueeze", c.op("Max", c.const(0), end), c.const([0])), axis=0)))
    c.output(c.op("Mul", x, x))
    for k in range(12):
        c.again(n=c.random.integers(-9, 9), m=c.random.integers(-5, 5, 2), many=c.random.integers(-9, 9, 200) - (k % 3) * 9,
                floats=c.random.standard_normal(3) * 4)
    c.save()


def sizes_within():
    """A Loop whose states keep their sizes around one that stacks, and an axis that comes with the data."""
    c = Case("sizes_within", 17)
    x, n, axis = c.numbers("x", [2, 3]), c.input("n", [], np.array(2, "i8")), c.input("axis", [], np.array(1, "i8"))

    def body(b, i, v):
        one = b.const(1, "f4")
        stacked = loop(b, v, "", [(one, T.FLOAT)], lambda inner, k, w: (
            inner.op("Identity", "on"), inner.op("Add", w, inner.const(1, "f4")), inner.op("Neg", w)), 1)[1]
        return b.op("Identity", "on"), b.op("Add", b.op("Size", stacked), i)

    last = loop(c, n, "", [(c.const(1), T.INT64)], body, 0)
    last = last if isinstance(last, str) else last[0]
    c.output(c.op("Range", c.const(0), last, c.const(1)))
    c.output(c.op("CumSum", x, axis))
    c.again(n=5)
    c.again(n=0, axis=-2)
    c.again(axis=0)
    c.save()


def sizes_declared():
    """For tests/api: the sum of 0 .. len - 1 times x; the file says how large the output is."""
    c = Case("sizes_declared", 17)
    x, lengths = c.numbers("x", [1, 4]), c.input("len", [1, 3], np.array([[1, 3, 7]], "f4"))
    most = c.op("Cast", c.op("ReduceMax", lengths, keepdims=0), to=T.INT64)
    numbers = c.op("Cast", c.op("Range", c.const(0), most, c.const(1)), to=T.FLOAT)
    y = c.op("Mul", x, c.op("ReduceSum", numbers, c.const([0]), keepdims=1))
    c.outputs.append(helper.make_tensor_value_info(y, T.FLOAT, [1, 4]))
    onnx.save(c.model(), os.path.join(HERE, "../../api/late_sizes.onnx"))


def decoder(c, width, heads, vocabulary, most):
    """Greedy decoding in one Loop: caches of keys and values grow by a token in each iteration, until the last one."""
    each, end = width // heads, 0
    weight = lambda *shape: c.const(c.random.standard_normal(shape) / np.sqrt(shape[0]), "f4")
    states = c.numbers("states", [1, 7, width])
    split = lambda g, v: g.op("Transpose", g.op("Reshape", v, g.const([1, -1, heads, each])), perm=[0, 2, 1, 3])
    joined = lambda g, v: g.op("Reshape", g.op("Transpose", v, perm=[0, 2, 1, 3]), g.const([1, -1, width]))

    def attend(g, q, k, v):
        scores = g.op("Mul", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), g.const(each ** -.5, "f4"))
        return joined(g, g.op("MatMul", g.op("Softmax", scores, axis=-1), v))

    over_k, over_v = (split(c, c.op("MatMul", states, weight(width, width))) for _ in "kv")
    wq, wk, wv, wo, cq, co = (weight(width, width) for _ in range(6))
    up, down, table, out = weight(width, 2 * width), weight(2 * width, width), weight(vocabulary, width), weight(width, vocabulary)
    one, zero = c.const(np.ones(width), "f4"), c.const(np.zeros(width), "f4")

    def step(g, i, token, ids, keys, values):
        norm = lambda v: g.op("LayerNormalization", v, one, zero, axis=-1)
        x = g.op("Mul", g.op("Gather", table, token), g.const(4, "f4"))
        a = norm(x)
        keys = g.op("Concat", keys, split(g, g.op("MatMul", a, wk)), axis=2)
        values = g.op("Concat", values, split(g, g.op("MatMul", a, wv)), axis=2)
        x = g.op("Add", x, g.op("MatMul", attend(g, split(g, g.op("MatMul", a, wq)), keys, values), wo))
        x = g.op("Add", x, g.op("MatMul", attend(g, split(g, g.op("MatMul", norm(x), cq)), over_k, over_v), co))
        x = g.op("Add", x, g.op("MatMul", g.op("Relu", g.op("MatMul", norm(x), up)), down))
        logits = g.op("MatMul", norm(x), out)
        token = g.op("ArgMax", logits, axis=-1, keepdims=0)
        on = g.op("Not", g.op("Equal", g.op("Squeeze", token), g.const(end)))
        return on, token, g.op("Concat", ids, token, axis=1), keys, values, g.op("Squeeze", logits, g.const([0, 1]))

    first = c.input("first", [1, 1], np.array([[1]], "i8"))
    none = c.const(np.zeros((1, heads, 0, each)), "f4")
    return loop(c, c.const(most), c.const(True, "?"),
                [(first, T.INT64), (first, T.INT64), (none, T.FLOAT), (none, T.FLOAT)], step, 1)


def decoder_greedy():
    c = Case("decoder_greedy", 17)
    _, ids, keys, _, logits = decoder(c, 16, 2, 12, 40)
    c.output(ids)
    c.output(keys)
    c.output(c.op("Softmax", logits, axis=-1))
    c.save()


# ---- forms of old opsets ----

def resize_10():
    """Axes that grow take the element below, those that shrink the one above."""
    c = Case("resize_10", 10)
    rows = c.input("rows", [1, 1, 2, 4], np.arange(1, 9, dtype="f4").reshape(1, 1, 2, 4))
    for scales in [1, 1, .6, .6], [1, 1, .5, .75], [1, 1, .7, 1.7], [1, 1, 2, 1.5], [1, 1, 1, .99]:
        c.output(c.op("Resize", rows, c.const(scales, "f4"), mode="nearest"))
    x = c.numbers("x", ["N"], 10)
    for scale in .3, .4, .6, .75, 1.25:
        c.output(c.op("Resize", x, c.const([scale], "f4"), mode="nearest"))
    c.output(c.op("Resize", rows, c.const([1, 1, .6, .6], "f4"), mode="linear"))
    c.save()


def resize_aspect():
    """Axes that keep their ratio have one scale, whatever lengths it is rounded to."""
    c = Case("resize_aspect", 19)
    plane = c.input("plane", [1, 1, 5, 7], (40 + np.arange(35) * 17 % 35).astype("f4").reshape(1, 1, 5, 7))
    for policy in "not_larger", "not_smaller":
        for sizes in [6, 11], [9, 9], [3, 5]:
            for mode in "nearest", "linear", "cubic":
                c.output(c.op("Resize", plane, "", "", c.const(sizes, "i8"), mode=mode, axes=[2, 3], keep_aspect_ratio_policy=policy))
    c.save()


def pool_10(name, opset):
    """Windows that hang over: their mean is of what lies within the pads, in every opset."""
    def make():
        c = Case(name, opset)
        x, plane = c.numbers("x", [1, 2, "N"], 1, 2, 12), c.numbers("plane", [1, 2, 9, 12])
        for kernel, stride, pads in (3, 2, [1, 1]), (3, 2, [0, 0]), (5, 3, [2, 2]), (4, 3, [1, 2]), (2, 3, [0, 1]), (2, 5, [1, 0]):
            c.output(c.op("AveragePool", x, kernel_shape=[kernel], strides=[stride], pads=pads, ceil_mode=1, count_include_pad=1))
        c.output(c.op("AveragePool", plane, kernel_shape=[3, 4], strides=[2, 3], pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=1))
        c.output(c.op("AveragePool", plane, kernel_shape=[3, 4], strides=[2, 3], ceil_mode=1))
        c.output(c.op("AveragePool", x, kernel_shape=[5], strides=[4], auto_pad="VALID", ceil_mode=1, count_include_pad=1))
        c.save()
    make.__name__ = name
    return make


# ---- functions that the file itself defines ----

def refer(node, name, to, kind):
    """Attribute `name` of a function's node is attribute `to` of the call."""
    a = node.attribute.add()
    a.name, a.ref_attr_name, a.type = name, to, kind
    return node


class Functions(Case):
    def __init__(self, name, *domains):
        super().__init__(name, 18)
        self.domains, self.functions = domains, []

    def function(self, domain, name, inputs, outputs, nodes, opset=18, overload="", **more):
        opsets = [helper.make_opsetid(d, v) for d, v in [("", opset), *((d, 1) for d in self.domains)]]
        f = helper.make_function(domain, name, inputs.split(), outputs.split(), nodes, opsets, **more)
        f.overload = overload
        self.functions.append(f)

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(d, 1) for d in self.domains)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=self.functions)


def node(op, inputs, outputs, **attrs):
    return helper.make_node(op, ["" if i == "-" else i for i in inputs.split()], outputs.split(), **attrs)


def functions_nested():
    """Attributes given, by default and absent; inputs and outputs left out; overloads."""
    c = Functions("functions_nested", "first", "second")
    x = c.numbers("x", [1, 4, "S"], 1, 4, 9)
    c.function("first", "layer", "a low", "b c", [node("bent", "a", "t", domain="second"), node("Clip", "t low", "b"), node("Neg", "t", "c")])
    c.function("second", "bent", "a", "b", [refer(node("LeakyRelu", "a", "t"), "alpha", "slope", 1), refer(node("Elu", "t", "b"), "alpha", "gain", 1)],
               attributes=["gain"], attribute_protos=[helper.make_attribute("slope", .3)])
    c.function("first", "twice", "a", "b", [node("Add", "a a", "b")], overload="sum")
    c.function("first", "twice", "a", "b", [node("Constant", "", "two", value_float=2.), node("Mul", "a two", "t"), node("Abs", "t", "b")], overload="product")
    for to in dict(gain=.5), dict(slope=.1, gain=2.), {}:
        c.output(c.op("bent", x, domain="second", **to))
    t, back = c.op("layer", x, outputs=2, domain="first")
    c.output(back)
    c.output(c.op("layer", t, c.const(-.2, "f4"), domain="first", outputs=2)[0])
    for overload in "sum", "product":
        c.output(c.op("twice", t, domain="first"))
        c.nodes[-1].overload = overload
    c.save()


def opsets_results(_, data):
    x = data["x"]
    power, sums = np.exp(x - x.max((1, 2), keepdims=True)), x.sum(2)
    return power / power.sum((1, 2), keepdims=True), sums[:, None].clip(-1, 1), np.exp(sums) if data["choice"] else -sums


def functions_opsets():
    """Nodes are read as of their function's opset, in bodies, too; ONNX Runtime reads them as of the model's."""
    c = Functions("functions_opsets", "own")
    x, choice = c.numbers("x", [1, 4, 2, "S"], 1, 4, 2, 9), c.input("choice", [], np.array(True))
    c.function("own", "shares", "a", "b", [node("Transpose", "a", "t", perm=[0, 3, 1, 2]), node("Softmax", "t", "u", axis=2),
               node("Transpose", "u", "b", perm=[0, 2, 3, 1])], 12)
    c.function("own", "sums", "a", "b", [node("ReduceSum", "a", "s", axes=[2]), node("Squeeze", "s", "t", axes=[2]), node("Unsqueeze", "t", "u", axes=[1]),
               node("Clip", "u", "b", min=-1., max=1.)], 10)
    value = helper.make_tensor_value_info
    branches = [helper.make_graph([node("ReduceSum", "a", "s", axes=[2], keepdims=0), node(op, "s", "e")], op, [], [value("e", T.FLOAT, None)]) for op in ("Exp", "Neg")]
    c.function("own", "chosen", "a c", "b", [node("If", "c", "b", then_branch=branches[0], else_branch=branches[1])], 11)
    c.output(c.op("shares", x, domain="own"))
    c.output(c.op("sums", x, domain="own"))
    c.output(c.op("chosen", x, choice, domain="own"))
    c.again(choice=False)
    c.save(opsets_results)


def functions_bodies():
    """Bodies of If and Loop in a function, which take its values from outside, and calls in bodies."""
    c = Functions("functions_bodies", "own")
    x, choice = c.numbers("x", [1, 4, "S"], 1, 4, 9), c.input("choice", [], np.array(True))
    value = helper.make_tensor_value_info
    branches = [helper.make_graph([node(op, "t", "e"), node("half", "e", "f", domain="own")], op, [], [value("f", T.FLOAT, None)]) for op in ("Exp", "Neg")]
    body = helper.make_graph([node("Identity", "go", "on"), node("half", "s", "e", domain="own"), node("Add", "e t", "f")], "body",
                             [value("i", T.INT64, []), value("go", T.BOOL, []), value("s", T.FLOAT, None)], [value("on", T.BOOL, []), value("f", T.FLOAT, None)])
    c.function("own", "half", "a", "b", [node("Constant", "", "e", value_float=.5), node("Mul", "a e", "b")])
    c.function("own", "chosen", "a c", "b", [node("Tanh", "a", "t"), node("If", "c", "b", then_branch=branches[0], else_branch=branches[1])])
    c.function("own", "rounds", "a", "b", [node("Sin", "a", "t"), node("Constant", "", "n", value_int=3), node("Loop", "n - a", "b", body=body)])
    y = c.op("chosen", x, choice, domain="own")
    c.output(c.op("chosen", y, choice, domain="own"))
    c.output(c.op("rounds", y, domain="own"))
    graph = helper.make_graph([node("chosen", "x choice", "e", domain="own"), node("half", "e", "f", domain="own")], "then", [], [value("f", T.FLOAT, None)])
    other = helper.make_graph([node("half", "x", "e", domain="own")], "else", [], [value("e", T.FLOAT, None)])
    c.output(c.op("If", choice, then_branch=graph, else_branch=other))
    c.again(choice=False)
    c.save()


# ---- numbers below the normal ones ----

def denormals():
    """For tests/api, which has no reference for it: ONNX Runtime keeps denormals."""
    c = Case("denormals")
    x = c.numbers("x", ["S"], 4)
    small = c.op("Mul", c.const(1e-30, "f4"), c.const(1e-10, "f4"))
    grown = c.op("Mul", c.op("Mul", c.op("Mul", x, c.const(1e-25, "f4")), c.const(1e-15, "f4")),
                 c.const(1e38, "f4"))
    c.output(c.op("Add", c.op("Add", x, grown), c.op("Mul", small, c.const(1e38, "f4"))))
    onnx.save(c.model(), os.path.join(HERE, "../../api/denormals.onnx"))


CASES = [size_range_i32, size_mask_i32, size_truth, size_floats, size_bools, quant_ranks, quant_types, quant_axes, quant_blocks, quant_net, quant_depth,
         vendor_elements("vendor_u8", "u1", 120), vendor_elements("vendor_i8", "i1", -5), vendor_pools,
         vendor_products, vendor_turned, vendor_open, vendor_last, vendor_nbits, vendor_groups, vendor_halves, vendor_lstm, vendor_lstm_frame,
         index_position, index_late, index_cut, slice_late, ports_again, ports_late, index_data, index_elements, index_nd, index_lengths,
         index_scan, attention_cached, attention_window, attention_cast_like, rotary, vendor_rotary, causal_conv, vendor_attention, vendor_in_place, vendor_shared, vendor_keys, vendor_prompt, vendor_part, vendor_masks, vendor_packs, vendor_fused, vendor_contrib, vendor_last_conv, scatter_cache, vendor_recurrent, vendor_sinks, vendor_embed, linear_attention, position_counts, recording_attention, recording_grouped, recording_heads, recording_open,
         recording_states, attention_rates, attention_memory, emformer, cells_chunked, sequence_lists, sequence_loop, sequence_joined, sequence_front, sequence_repeats, float8, float8_axes, constant_sparse, grid_sample, col2im, col2im_late, col2im_computed, dft_half, *SAME, length_once, length_later, ones_later, loop_trips, loop_grown, loop_while, loop_none, loop_passed, loop_sliced, sizes_range, sizes_square, sizes_moves, sizes_found, sizes_rounds, sizes_again, sizes_sums, sizes_within, decoder_greedy, batch_open, sizes_declared, resize_10, resize_aspect, vendor_bias, pool_10("pool_18", 18), pool_10("pool_19", 19),
         functions_nested, functions_opsets, functions_bodies, denormals]

if __name__ == "__main__":
    for case in CASES:
        if len(sys.argv) == 1 or case.__name__ in sys.argv[1:]:
            case()
