# SPDX-License-Identifier: MIT
"""Writes tests/verify/models/small: small networks with ports of several types, and reference runs
of them, computed with numpy. Wants the onnx package; what it writes is committed."""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent) / "models" / "small"
FILES = {}      # what was written, and where
RNG = np.random.RandomState(7)


def value(name, kind, dims):
    return h.make_tensor_value_info(name, kind, dims)


def model(name, inputs, outputs, nodes, constants=()):
    graph = h.make_graph(nodes, name, inputs, outputs, [onnx.numpy_helper.from_array(v, k) for k, v in constants])
    m = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)])
    m.ir_version = 8
    onnx.checker.check_model(m)
    onnx.save(m, ROOT / f"{name}.onnx")


def case(name, net, chunks, tensors, **more):
    rows = []
    for role, tensor, data, per_chunk in tensors:
        raw = np.ascontiguousarray(data).tobytes()
        file = FILES.setdefault(raw, f"{name}.{role}.{tensor}")
        (ROOT / "ref" / file).write_bytes(raw)
        rows.append({"role": role, "name": tensor, "file": file, "dtype": str(data.dtype), "shape": list(data.shape),
                     "per_chunk": per_chunk, "absmax": float(np.abs(data.astype(np.float64)).max())})
    text = {"case": name, "onnx": f"small/{net}.onnx", "chunks": chunks, "tensors": rows} | more
    (ROOT / "ref" / f"{name}.json").write_text(json.dumps(text, indent=1) + "\n")


def types():
    """tokens i64 and i32 -> their sums with large numbers, a comparison, and a table's rows."""
    table = RNG.randn(9, 3).astype(np.float32)
    big = np.array([2**40 + 3, 5, -7, 2**47 - 9], np.int64)
    model("types", [value("tokens", T.INT64, [4]), value("small", T.INT32, [4])],
          [value("sum", T.INT64, [4]), value("half", T.INT32, [4]), value("more", T.BOOL, [4]), value("rows", T.FLOAT, [4, 3])],
          [h.make_node("Add", ["tokens", "big"], ["sum"]), h.make_node("Add", ["small", "odd"], ["half"]),
           h.make_node("Greater", ["tokens", "five"], ["more"]), h.make_node("Gather", ["table", "tokens"], ["rows"])],
          [("big", big), ("odd", np.full(4, 2**30 + 1, np.int32)), ("five", np.array(5, np.int64)), ("table", table)])
    tokens = RNG.randint(0, 9, (5, 4)).astype(np.int64)
    small = RNG.randint(-9, 9, (5, 4)).astype(np.int32)
    right = [("in", "tokens", tokens, True), ("in", "small", small, True), ("out", "sum", tokens + big, True),
             ("out", "half", (small + 2**30 + 1).astype(np.int32), True), ("out", "more", tokens > 5, True),
             ("out", "rows", table[tokens], True)]
    case("types", "types", 5, right)
    off = (tokens + big)
    off[4, 0] += 1
    case("types_off", "types", 5, right[:2] + [("out", "sum", off, True)] + right[3:])
    case("types_huge", "types", 5, right[:2] + [("out", "sum", np.full((5, 4), 2**60, np.int64), True)])
    case("types_inexact", "types", 5, [("in", "tokens", tokens + 2**24 + 1, True)] + right[1:])


def image():
    """input [1,T,32,1] -> a causal sum of two frames, its largest band (i64), and what a frame is times two."""
    for name, frames in ("image", None), ("named", "T"):
        image_model(name, [1, frames, None, 1])
    x = RNG.randn(1, 12, 32, 1).astype(np.float32)
    two = x + np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], 1)
    tensors = [("in", "input", x, False), ("out", "two", two, False), ("out", "band", two.argmax(2), False)]
    case("image", "image", 1, tensors + [("out", "twice", x * 2, False)])
    case("named", "named", 1, tensors + [("out", "twice", x * 2, False)])
    chunked = [(role, name, v.reshape(3, 1, 4, *v.shape[2:]), True) for role, name, v, _ in tensors]
    case("image_chunks", "image", 3, chunked + [("out", "twice", (x * 2).reshape(3, 1, 4, 32, 1), True)])
    case("image_short", "image", 1, tensors[:1] + [("out", "two", two[:, :-1], False)])
    case("image_patched", "image", 1, tensors[:1] + [("out", "two", two, False), ("out", "twice", x * 3, False)])
    case("image_other", "image", 1, tensors + [("out", "thrice", x * 2, False)])


def image_model(name, shape):
    model(name, [value("input", T.FLOAT, shape)],
          [value("two", T.FLOAT, [1, None, 32, 1]), value("band", T.INT64, [1, None, 1]), value("twice", T.FLOAT, [1, None, 32, 1])],
          [h.make_node("Pad", ["input", "pads"], ["padded"]), h.make_node("Slice", ["padded", "zero", "end", "one"], ["before"]),
           h.make_node("Add", ["input", "before"], ["two"]), h.make_node("ArgMax", ["two"], ["band"], axis=2, keepdims=0),
           h.make_node("Mul", ["input", "factor"], ["twice"])],
          [("pads", np.array([0, 1, 0, 0, 0, 0, 0, 0], np.int64)), ("zero", np.array([0], np.int64)),
           ("end", np.array([-1], np.int64)), ("one", np.array([1], np.int64)), ("factor", np.array(2, np.float32))])


if __name__ == "__main__":
    (ROOT / "ref").mkdir(parents=True, exist_ok=True)
    types()
    image()
