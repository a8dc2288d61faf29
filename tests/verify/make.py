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


def step():
    """A streaming encoder's step: x and 98 caches in, y and the next caches out, one of them a count (i64); the batch
    is left open."""
    n = 98
    weights = [(RNG.randn(4, 4) * 0.4).astype(np.float32) for _ in range(4)]
    long = [1 + i % 3 for i in range(n - 1)]
    inputs, outputs = [value("x", T.FLOAT, ["N", 2, 4])], [value("y", T.FLOAT, ["N", 2, 4])]
    nodes, constants = [], [(f"w{k}", w) for k, w in enumerate(weights)]
    constants += [("one", np.array([1], np.int64)), ("zero", np.array([0], np.int64)), ("two", np.array([2], np.int64)),
                  ("end", np.array([2**31], np.int64))] + [(f"last{k}", np.array([-k], np.int64)) for k in (1, 2, 3)]
    now = "x"
    for i, k in enumerate(long):
        c = f"cached_{i}"
        inputs.append(value(c, T.FLOAT, ["N", k, 4]))
        outputs.append(value(f"new_{c}", T.FLOAT, ["N", k, 4]))
        nodes += [h.make_node("MatMul", [now, f"w{i % 4}"], [f"m{i}"]), h.make_node("Concat", [c, f"m{i}"], [f"c{i}"], axis=1),
                  h.make_node("Slice", [f"c{i}", f"last{k}", "end", "one"], [f"new_{c}"]),
                  h.make_node("Slice", [f"c{i}", "zero", "two", "one"], [f"s{i}"]),
                  h.make_node("Slice", [f"c{i}", "last2", "end", "one"], [f"t{i}"]),
                  h.make_node("Add", [f"s{i}", f"t{i}"], [f"u{i}"]), h.make_node("Tanh", [f"u{i}"], [f"a{i}"])]
        now = f"a{i}"
    inputs.append(value("processed_lens", T.INT64, ["N"]))
    outputs.append(value("new_processed_lens", T.INT64, ["N"]))
    nodes += [h.make_node("Add", ["processed_lens", "two"], ["new_processed_lens"]), h.make_node("Identity", [now], ["y"])]
    model("step", inputs, outputs, nodes, constants)
    x = RNG.randn(60, 1, 2, 4).astype(np.float32)
    caches, y, last = [np.zeros((1, k, 4), np.float32) for k in long], [], []
    for frame in x:
        for i, k in enumerate(long):
            both = np.concatenate([caches[i], frame @ weights[i % 4]], axis=1)
            caches[i], frame = both[:, -k:], np.tanh(both[:, :2] + both[:, -2:])
        y.append(frame)
        last.append(caches[-1])
    count = (np.arange(60, dtype=np.int64) * 2 + 2).reshape(60, 1)
    right = [("in", "x", x, True), ("out", "y", np.stack(y), True), ("state_out", "new_cached_96", np.stack(last), True)]
    case("step", "step", 60, right + [("state_out", "new_processed_lens", count, True)])
    case("step_off", "step", 60, right + [("state_out", "new_processed_lens", count + 1, True)])


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


def caches():
    """The names of caches as NeMo exports them: what is new of the length stands within its name."""
    batch = "B"
    model("caches", [value("signal", T.FLOAT, [batch, 3, 4]), value("length", T.INT64, [batch]),
                     value("cache_last_time", T.FLOAT, [batch, 3, 2]), value("cache_last_channel_len", T.INT64, [batch])],
          [value("outputs", T.FLOAT, [batch, 3, 4]), value("encoded_lengths", T.INT64, [batch]),
           value("cache_last_time_next", T.FLOAT, [batch, 3, 2]), value("cache_last_channel_next_len", T.INT64, [batch])],
          [h.make_node("Concat", ["cache_last_time", "signal"], ["z"], axis=2),
           h.make_node("Slice", ["z", "first", "end", "axis"], ["cache_last_time_next"]),
           h.make_node("Slice", ["z", "zero", "first", "axis"], ["late"]),
           h.make_node("Cast", ["cache_last_channel_len"], ["count"], to=T.FLOAT),
           h.make_node("Unsqueeze", ["count", "axes"], ["wide"]), h.make_node("Add", ["late", "wide"], ["outputs"]),
           h.make_node("Add", ["cache_last_channel_len", "four"], ["cache_last_channel_next_len"]),
           h.make_node("Identity", ["length"], ["encoded_lengths"])],
          [("zero", np.array([0], np.int64)), ("first", np.array([-2], np.int64)), ("end", np.array([9], np.int64)),
           ("axis", np.array([2], np.int64)), ("axes", np.array([1, 2], np.int64)), ("four", np.array([4], np.int64))])


def handed():
    """States that are handed on as they came: by branches of an If, to another state, or to themselves."""
    def branch(name, nodes, results):
        k = [h.make_node("Identity", [r], [f"{name}_{i}"]) for i, r in enumerate(results)]
        return h.make_graph(nodes + k, name, [], [value(f"{name}_{i}", T.FLOAT, [1, 4]) for i in range(3)])
    up = branch("up", [h.make_node("Add", ["cached_0", "x"], ["sum"]), h.make_node("Relu", ["sum"], ["over"])],
                ["over", "cached_0", "cached_1"])
    down = branch("down", [h.make_node("Neg", ["cached_1"], ["less"])], ["cached_1", "less", "cached_0"])
    model("handed", [value("x", T.FLOAT, [1, 4]), value("up", T.INT64, [1])] +
          [value(f"cached_{i}", T.FLOAT, [1, 4]) for i in range(6)],
          [value("y", T.FLOAT, [1, 4]), value("late", T.FLOAT, [1, 4])] +
          [value(f"new_cached_{i}", T.FLOAT, [1, 4]) for i in range(6)],
          [h.make_node("Squeeze", ["up"], ["one"]), h.make_node("Cast", ["one"], ["on"], to=T.BOOL),
           h.make_node("If", ["on"], ["new_cached_0", "new_cached_1", "z"], then_branch=up, else_branch=down),
           h.make_node("Add", ["z", "cached_5"], ["y"]), h.make_node("Mul", ["x", "two"], ["new_cached_2"]),
           h.make_node("Identity", ["cached_2"], ["new_cached_3"]), h.make_node("Identity", ["cached_3"], ["new_cached_4"]),
           h.make_node("Identity", ["cached_5"], ["new_cached_5"]), h.make_node("Add", ["cached_4", "x"], ["late"])],
          [("two", np.array(2, np.float32))])
    rng = np.random.RandomState(11)
    x, on = rng.randn(20, 1, 4).astype(np.float32), rng.randint(0, 2, (20, 1)).astype(np.int64)
    a = b = np.zeros((1, 4), np.float32)
    y, states = [], []
    for v, up in zip(x, on):
        y.append(b if up else a)
        a, b = (np.maximum(a + v, 0), a) if up else (b, -b)
        states.append(b)
    late = x + np.concatenate([np.zeros((3, 1, 4), np.float32), x[:-3] * 2])
    case("handed", "handed", 20, [("in", "x", x, True), ("in", "up", on, True), ("out", "y", np.stack(y), True),
                                  ("out", "late", late, True), ("state_out", "new_cached_1", np.stack(states), True)])


def image_model(name, shape):
    model(name, [value("input", T.FLOAT, shape)],
          [value("two", T.FLOAT, [1, None, 32, 1]), value("band", T.INT64, [1, None, 1]), value("twice", T.FLOAT, [1, None, 32, 1])],
          [h.make_node("Pad", ["input", "pads"], ["padded"]), h.make_node("Slice", ["padded", "zero", "end", "one"], ["before"]),
           h.make_node("Add", ["input", "before"], ["two"]), h.make_node("ArgMax", ["two"], ["band"], axis=2, keepdims=0),
           h.make_node("Mul", ["input", "factor"], ["twice"])],
          [("pads", np.array([0, 1, 0, 0, 0, 0, 0, 0], np.int64)), ("zero", np.array([0], np.int64)),
           ("end", np.array([-1], np.int64)), ("one", np.array([1], np.int64)), ("factor", np.array(2, np.float32))])



def expanded():
    """PyTorch's expand: -1 keeps a size."""
    ints = np.ones(3, np.int64)
    model("expanded", [value("x", T.FLOAT, [1, None, 6])], [value("y", T.FLOAT, [1, None, 6])],
          [h.make_node("Shape", ["x"], ["size"]), h.make_node("Equal", ["size", "keep"], ["kept"]),
           h.make_node("Where", ["kept", "one", "size"], ["to"]), h.make_node("Expand", ["x", "to"], ["wide"]),
           h.make_node("Add", ["wide", "bias"], ["y"])],
          [("keep", -ints), ("one", ints), ("bias", np.arange(6, dtype=np.float32))])


if __name__ == "__main__":
    (ROOT / "ref").mkdir(parents=True, exist_ok=True)
    types()
    image()
    step()
    caches()
    handed()
    expanded()
