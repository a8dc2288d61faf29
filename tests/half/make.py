#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/half/nets: small networks of f16 and bf16, and what the reference evaluator of onnx
makes of them. Wants the onnx package; what it writes is committed.

Outputs may be one step of the type off, as long as a step is at the output's largest number; those
of recurrent cells a few, since the evaluator rounds within a cell, too."""
import json
import pathlib
import sys
import zlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
from onnx.reference import ReferenceEvaluator

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent) / "nets"
TYPES = {"f16": (np.float16, T.FLOAT16, 2.0**-10), "bf16": (ml_dtypes.bfloat16, T.BFLOAT16, 2.0**-7)}


class Net:
    """A graph of one half type: calls add nodes and give the names of their outputs."""

    def __init__(self, name, half, steps=1, sums=False):
        # of bf16 the evaluator's own sums are rounded term by term
        self.name, self.steps = f"{name}_{half}", 4 if sums and half == "bf16" else steps
        self.np, self.onnx, self.step = TYPES[half]
        self.random = np.random.default_rng(zlib.crc32(self.name.encode()))
        self.nodes, self.inits, self.ins, self.outs, self.feeds = [], [], [], [], {}

    def half(self, v):
        return np.asarray(v, np.float32).astype(self.np)

    def x(self, name, *shape, scale=1.0):
        self.feeds[name] = self.half(self.random.standard_normal(shape) * scale)
        self.ins.append(h.make_tensor_value_info(name, self.onnx, shape))
        return name

    def w(self, *shape, scale=0.3):
        return self.const(self.half(self.random.standard_normal(shape) * scale))

    def const(self, v, raw=True):
        name, v = f"c{len(self.inits)}", np.asarray(v)
        if raw:
            self.inits.append(nh.from_array(v, name))
        else:
            self.inits.append(h.make_tensor(name, self.onnx, v.shape, v.astype(np.float32).flatten()))
        return name

    def op(self, op, *ins, n=1, **attrs):
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(n)]
        self.nodes.append(h.make_node(op, list(ins), names, name=names[0], **attrs))
        return names[0] if n == 1 else names

    def write(self, *outs, kinds=(), opset=19):
        kinds = dict(kinds)
        values = [h.make_tensor_value_info(o, kinds.get(o, self.onnx), None) for o in outs]
        m = h.make_model(h.make_graph(self.nodes, self.name, self.ins, values, self.inits),
                         opset_imports=[h.make_opsetid("", opset)], ir_version=9)
        onnx.save(m, ROOT / f"{self.name}.onnx")
        return m

    def save(self, *outs, kinds=(), opset=19, wants=None):
        m = self.write(*outs, kinds=kinds, opset=opset)
        wants = wants or ReferenceEvaluator(m).run(None, self.feeds)
        rows = [self.row("in", k, v, 0) for k, v in self.feeds.items()]
        rows += [self.row("out", o, np.asarray(v), self.steps) for o, v in zip(outs, wants)]
        text = {"case": self.name, "onnx": f"nets/{self.name}.onnx", "chunks": 1, "tensors": rows}
        (ROOT / "ref" / f"{self.name}.json").write_text(json.dumps(text) + "\n")

    def row(self, role, name, v, steps):
        file, bf16 = f"{self.name}.{role}.{name}", v.dtype == ml_dtypes.bfloat16
        stored = v.astype(np.float32) if bf16 else v
        finite = np.abs(stored.astype(np.float64)[np.isfinite(stored.astype(np.float64))])
        (ROOT / "ref" / file).write_bytes(np.ascontiguousarray(stored).tobytes())
        row = {"role": role, "name": name, "file": file, "dtype": str(stored.dtype),
               "shape": [1, *stored.shape], "per_chunk": True}
        if role == "out" and (bf16 or stored.dtype.kind == "f"):
            row["tolerance"] = float(steps * self.step * 2 ** np.floor(np.log2(finite.max(initial=1e-9))))
        return row


def products(half):
    n = Net("products", half, steps=2)
    x = n.x("x", 1, 8, 20)
    y = n.op("Relu", n.op("Conv", x, n.w(12, 8, 3), n.w(12), kernel_shape=[3], pads=[2, 0]))
    d = n.op("Conv", y, n.w(12, 1, 2), kernel_shape=[2], group=12, dilations=[2], pads=[2, 0])
    up = n.op("ConvTranspose", d, n.w(12, 3, 4), kernel_shape=[4], strides=[2])
    t = n.op("Transpose", y, perm=[0, 2, 1])
    m = n.op("MatMul", t, n.w(12, 16))
    e = n.op("Einsum", t, n.w(5, 12), equation="bti,oi->bto")
    g = n.op("Gemm", n.op("Reshape", m, n.const(np.array([-1, 16]))), n.w(6, 16), n.w(6), transB=1, alpha=0.5)
    n.save(d, up, m, e, g)


def cells(half):
    n = Net("cells", half, steps=4)
    x = n.x("x", 12, 1, 10)
    outs = []
    for op, gates, more in (("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1}), ("RNN", 1, {})):
        y = n.op(op, x, n.w(1, gates * 8, 10), n.w(1, gates * 8, 8), n.w(1, gates * 16, scale=0.1), hidden_size=8, **more)
        outs.append(y)
    n.save(*outs)


def norms(half):
    n = Net("norms", half)
    x = n.x("x", 6, 32)
    one = n.op("LayerNormalization", x, n.w(32, scale=1), n.w(32), axis=-1)
    axis = n.const(np.array([-1]))
    d = n.op("Sub", x, n.op("ReduceMean", x, axis))
    v = n.op("Add", n.op("ReduceMean", n.op("Mul", d, d), axis), n.const(n.half(1e-3)))
    written = n.op("Add", n.op("Mul", n.op("Div", d, n.op("Sqrt", v)), n.w(32, scale=1)), n.w(32))
    image = n.op("Reshape", x, n.const(np.array([2, 3, 32])))
    inst = n.op("InstanceNormalization", image, n.w(3, scale=1), n.w(3))
    batch = n.op("BatchNormalization", image, n.w(3, scale=1), n.w(3), n.w(3), n.const(n.half([0.5, 1, 2])))
    n.save(one, written, inst, batch)


def attention(half):
    n = Net("attention", half, sums=True)
    x = n.x("x", 1, 10, 16)
    q, k, v = (n.op("MatMul", x, n.w(16, 16)) for _ in range(3))
    s = n.op("Mul", n.op("MatMul", q, n.op("Transpose", k, perm=[0, 2, 1])), n.const(n.half(0.25)))
    size = n.const(np.array([10, 10]))
    ones = n.op("ConstantOfShape", size, value=nh.from_array(n.half([1])))
    low = n.op("Where", n.op("Equal", n.op("Trilu", ones, upper=0), n.const(n.half(0))), n.const(n.half(-30000)),
               n.const(n.half(0)))
    p = n.op("Softmax", n.op("Add", s, low), axis=-1)
    n.save(p, n.op("MatMul", p, v))


def elements(half):
    n = Net("elements", half)
    x = n.x("x", 4, 30, scale=2)
    y = n.op("Mul", x, n.const(n.half(1.7)))
    outs = [n.op(f, x) for f in ("Exp", "Tanh", "Sigmoid", "Erf", "Softplus", "Floor", "Neg", "Abs", "HardSwish", "LeakyRelu")]
    outs += [n.op(f, x, y) for f in ("Add", "Sub", "Div", "Min", "Max")]
    outs += [n.op("Clip", x, n.const(n.half(-0.3)), n.const(n.half(1.1))), n.op("Pow", n.op("Abs", x), n.const(n.half(1.5))),
             n.op("Sqrt", n.op("Abs", x)), n.op("PRelu", x, n.w(30)), n.op("Log", n.op("Abs", x))]
    truth = [n.op("Less", x, y), n.op("IsNaN", x), n.op("GreaterOrEqual", x, n.const(n.half(0.5)))]
    outs.append(n.op("Where", truth[0], x, y))
    n.save(*outs, *truth, kinds=[(t, T.BOOL) for t in truth])


def types(half):
    n = Net("types", half)
    x = n.x("x", 3, 8, scale=40)
    i = n.op("Cast", x, to=T.INT32)
    back = n.op("Cast", i, to=n.onnx)
    like = n.op("CastLike", n.op("Cast", x, to=T.FLOAT), x)
    f = n.op("Mul", n.op("Cast", x, to=T.FLOAT), n.const(np.float32(1 / 3)))
    once = n.op("Cast", f, to=n.onnx)
    other = n.op("Cast", n.op("Cast", x, to=T.BFLOAT16 if n.onnx == T.FLOAT16 else T.FLOAT16), to=T.FLOAT)
    const = n.op("Constant", value=nh.from_array(n.half([0.1] * 8)))
    listed = n.const(n.half([0.3, -7, 1e-3, 5, 0, 1, 2, 3]), raw=False)
    depth, values = n.const(np.array(8)), n.const(n.half([0.1, 0.9]))
    hot = n.op("OneHot", n.const(np.array([1, 2, 5])), depth, values)
    step = n.op("Range", n.const(n.half(0)), n.const(n.half(4)), n.const(n.half(0.5)))
    eye = n.op("Cast", n.op("EyeLike", x), to=T.FLOAT)
    total = n.op("Add", n.op("Add", n.op("Add", once, const), listed), n.op("Add", hot, step))
    moved = n.op("Concat", n.op("Slice", x, *(n.const(np.array([v])) for v in (1, 3, 0))), total, axis=0)
    best, at = n.op("TopK", moved, n.const(np.array([2])), n=2)
    n.save(i, back, like, f, once, other, total, moved, best, at, eye,
           kinds=[(i, T.INT32), (f, T.FLOAT), (other, T.FLOAT), (at, T.INT64), (eye, T.FLOAT)])


def edges(half):
    """Products beyond the largest number, and numbers below the smallest normal one."""
    n = Net("edges", half)
    x = n.x("x", 2, 8)
    big = n.op("Mul", n.op("Mul", x, n.const(n.half(2.0**15 if n.onnx == T.FLOAT16 else 2.0**127))), n.const(n.half(8)))
    low = n.op("Mul", x, n.const(n.half(2.0**-20 if n.onnx == T.FLOAT16 else 2.0**-110)))
    outs = [n.op("IsInf", big, detect_negative=0), n.op("IsInf", big, detect_positive=0)]
    n.save(*outs, n.op("Reciprocal", big), low, kinds=[(o, T.BOOL) for o in outs])


def images(half):
    n = Net("images", half, sums=True)
    x = n.x("x", 1, 3, 6, 8)
    pools = [n.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), n.op("AveragePool", x, kernel_shape=[2, 3]),
             n.op("GlobalAveragePool", x)]
    more = n.op("Resize", x, "", n.const(np.array([1, 1, 2, 2], np.float32)), mode="linear")
    pad = n.op("Pad", x, n.const(np.array([0, 0, 1, 1, 0, 0, 2, 0])), n.const(n.half(0.7)))
    sums = [n.op(f, x, n.const(np.array([2, 3]))) for f in ("ReduceSum", "ReduceMean", "ReduceMax")]
    n.save(*pools, more, pad, *sums)


def upgrades(half):
    """Forms of old, and functions of the standard, in which numbers stand that have the type of what they meet."""
    n = Net("upgrades", half)
    x = n.x("x", 1, 4, 3, 5)
    clip = n.op("Clip", x, min=-0.3, max=0.9)
    pad = n.op("Pad", clip, pads=[0, 0, 1, 0, 0, 0, 0, 2], value=0.3)
    n.save(pad, opset=9)
    n = Net("mvn", half)
    y, v = n.op("MeanVarianceNormalization", n.x("x", 1, 4, 3, 5)), n.feeds["x"].astype(np.float64)
    n.save(y, wants=[n.half((v - v.mean((0, 2, 3), keepdims=True)) / v.std((0, 2, 3), keepdims=True))])


def bodies(half):
    """An If, a Scan and a Loop whose bodies compute in the type."""
    n = Net("bodies", half, steps=2)
    x, go = n.x("x", 7, 4), "go"
    n.feeds[go] = np.array(True)
    n.ins.append(h.make_tensor_value_info(go, T.BOOL, []))
    k = n.const(n.half(0.7))
    info = lambda name, shape, kind=n.onnx: h.make_tensor_value_info(name, kind, shape)
    yes = h.make_graph([h.make_node("Mul", ["x", k], ["a"])], "yes", [], [info("a", [7, 4])])
    no = h.make_graph([h.make_node("Sub", ["x", k], ["b"])], "no", [], [info("b", [7, 4])])
    chosen = n.op("If", go, then_branch=yes, else_branch=no)
    scan = h.make_graph([h.make_node("Mul", ["s", k], ["d"]), h.make_node("Add", ["d", "v"], ["s1"]),
                         h.make_node("Tanh", ["s1"], ["y"])], "scan",
                        [info("s", [4]), info("v", [4])], [info("s1", [4]), info("y", [4])])
    last, rows = n.op("Scan", n.const(n.half([0, 0.5, 1, -1])), chosen, n=2, body=scan, num_scan_inputs=1)
    loop = h.make_graph([h.make_node("Identity", ["on"], ["on1"]), h.make_node("Mul", ["q", k], ["q1"])], "loop",
                        [info("it", [], T.INT64), info("on", [], T.BOOL), info("q", [4])],
                        [info("on1", [], T.BOOL), info("q1", [4])])
    turned = n.op("Loop", n.const(np.array(3)), n.const(np.array(True)), last, body=loop)
    n.save(chosen, rows, turned)


def frame(half):
    """A network of one frame, with its state as an input and an output."""
    n = Net("frame", half)
    x, s = n.x("x", 1, 16), n.x("s", 1, 16)
    y = n.op("Tanh", n.op("Add", n.op("MatMul", x, n.w(16, 16)), n.op("Mul", s, n.const(n.half(0.5)))))
    n.save(y, n.op("Add", n.op("Mul", s, n.const(n.half(0.9))), y))


def mixed(half):
    """No model: a sum of two types. Nor is a convolution of another type than what comes in, but
    converters write it."""
    n = Net("mixed", half)
    n.op("Add", n.x("x", 2, 4), n.const(np.float32(0.1)))
    n.write("add0_0")
    n = Net("weights", half)
    y = n.op("Conv", n.x("x", 1, 2, 8), n.const(np.ones((4, 2, 3), np.float32)), kernel_shape=[3])
    n.write(y, kinds=[(y, T.FLOAT)])


if __name__ == "__main__":
    (ROOT / "ref").mkdir(parents=True, exist_ok=True)
    for half in TYPES:
        for make in (products, cells, norms, attention, elements, types, edges, images, bodies, upgrades, frame, mixed):
            make(half)
