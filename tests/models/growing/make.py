#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the decoders of this folder and what ONNX Runtime gives for them, step by step. Wants numpy, onnx and onnxruntime.

Each is a decoder of two layers as exporters write it for generation: past_key_values.N.key and value go in, present.N.key and value
come out, longer by what came. They differ in how attention is written. `sums`, `window` and `cleared` are none: two caches that grow and
change places, two of which one forgets, and one that an input clears."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY, WIDTH, HEADS, LAYERS, STEPS = 24, 16, 2, 2, 20
EACH = WIDTH // HEADS
SEED = 5  # of `close`: one where the scale put as two roots is 7e-7 away
SEED_WHOLE = 31  # of `whole`: one where sums in index order are 4.8e-7 away


class Graph:
    def __init__(self, name):
        self.name, self.nodes, self.consts, self.inputs, self.outputs = name, [], [], [], []
        self.random = np.random.default_rng(5)

    def const(self, value, name=None):
        name = name or f"c{len(self.consts)}"
        self.consts.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def weight(self, *shape):
        return self.const((self.random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def op(self, kind, *inputs, out=None, domain="", n_out=1, **attrs):
        outs = [out or f"{kind}_{len(self.nodes)}"] if n_out == 1 else list(out)
        self.nodes.append(helper.make_node(kind, list(inputs), outs, f"n{len(self.nodes)}_{kind}", domain=domain, **attrs))
        return outs[0]

    def port(self, where, name, kind, shape):
        where.append(helper.make_tensor_value_info(name, kind, shape))

    def save(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.consts)
        opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        path = os.path.join(HERE, self.name + ".onnx")
        onnx.save(model, path)
        return path


def caches(g, total):
    for layer in range(LAYERS):
        for kind in "key", "value":
            for where, name, length in ((g.inputs, f"past_key_values.{layer}.{kind}", "past_sequence_length"),
                                        (g.outputs, f"present.{layer}.{kind}", total)):
                g.port(where, name, T.FLOAT, ["batch_size", HEADS, length, EACH])


def embedded(g):
    """Tokens and their positions, which the cache's size says."""
    past = g.op("Gather", g.op("Shape", "past_key_values.0.key"), g.const(np.int64(2)), axis=0)
    new = g.op("Gather", g.op("Shape", "input_ids"), g.const(np.int64(1)), axis=0)
    places = g.op("Range", past, g.op("Add", past, new), g.const(np.int64(1)))
    positions = g.op("Unsqueeze", g.op("Gather", g.weight(64, WIDTH), places), g.ints(0))
    return g.op("Add", g.op("Gather", g.weight(VOCABULARY, WIDTH), "input_ids"), positions)


def mask(g):
    kept = g.op("Sub", g.const(np.float32(1)), g.op("Cast", "attention_mask", to=T.FLOAT))
    return g.op("Unsqueeze", g.op("Mul", kept, g.const(np.float32(-3.4e38))), g.ints(1, 2))


def attention_matmul(g, q, k, v, past, present, hidden):
    q, k, v = (g.op("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, k, v))
    k = g.op("Concat", past[0], k, out=present[0], axis=2)
    v = g.op("Concat", past[1], v, out=present[1], axis=2)
    scores = g.op("Div", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), g.const(np.float32(np.sqrt(EACH))))
    heard = g.op("MatMul", g.op("Softmax", g.op("Add", scores, hidden), axis=-1), v)
    return g.op("Transpose", heard, perm=[0, 2, 1, 3])


def attention_op(g, q, k, v, past, present, hidden):
    q, k, v = (g.op("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, k, v))
    heard = g.op("Attention", q, k, v, hidden, *past, out=[f"heard{present[0]}", *present], n_out=3)
    return g.op("Transpose", heard, perm=[0, 2, 1, 3])


def attention_grouped(g, q, k, v, past, present, _):
    flat = g.ints(0, 0, WIDTH)
    q, k, v = (g.op("Reshape", t, flat) for t in (q, k, v))
    last = g.op("Cast", g.op("Sub", g.op("ReduceSum", "attention_mask", g.ints(1), keepdims=0), g.ints(1)), to=T.INT32)
    all_of = g.op("Cast", g.op("Gather", g.op("Shape", "attention_mask"), g.const(np.int64(1)), axis=0), to=T.INT32)
    return g.op("GroupQueryAttention", q, k, v, *past, last, all_of, out=[f"heard{present[0]}", *present], n_out=3,
                domain="com.microsoft", num_heads=HEADS, kv_num_heads=HEADS)


def decoder(name, attention, total="past_sequence_length + 1"):
    g = Graph(name)
    g.port(g.inputs, "input_ids", T.INT64, ["batch_size", 1])
    g.port(g.inputs, "attention_mask", T.INT64, ["batch_size", total])
    g.port(g.outputs, "logits", T.FLOAT, ["batch_size", 1, VOCABULARY])
    caches(g, total)
    x, hidden = embedded(g), mask(g)
    for layer in range(LAYERS):
        norm = [g.const(np.ones(WIDTH, np.float32)), g.const(np.zeros(WIDTH, np.float32))]
        y = g.op("LayerNormalization", x, *norm, axis=-1)
        split = g.ints(0, 0, HEADS, EACH)
        qkv = [g.op("Reshape", g.op("MatMul", y, g.weight(WIDTH, WIDTH)), split) for _ in range(3)]
        past = [f"past_key_values.{layer}.{k}" for k in ("key", "value")]
        heard = attention(g, *qkv, past, [f"present.{layer}.{k}" for k in ("key", "value")], hidden)
        x = g.op("Add", x, g.op("MatMul", g.op("Reshape", heard, g.ints(0, 0, WIDTH)), g.weight(WIDTH, WIDTH)))
        y = g.op("LayerNormalization", x, *norm, axis=-1)
        y = g.op("Gelu", g.op("MatMul", y, g.weight(WIDTH, 4 * WIDTH)))
        x = g.op("Add", x, g.op("MatMul", y, g.weight(4 * WIDTH, WIDTH)))
    g.op("MatMul", x, g.weight(WIDTH, VOCABULARY), out="logits")
    return g.save()


def run(path, tokens):
    """Step by step with ONNX Runtime."""
    session = onnxruntime.InferenceSession(path)
    names = [o.name for o in session.get_outputs()]
    past = {i.name: np.zeros((1, HEADS, 0, EACH), np.float32) for i in session.get_inputs() if i.name.startswith("past")}
    logits = []
    for step, token in enumerate(tokens):
        given = {"input_ids": token, "attention_mask": np.ones((1, step + 1), np.int64), **past}
        got = dict(zip(names, session.run(None, given)))
        past = {name: got[name.replace("past_key_values", "present")] for name in past}
        logits.append(got["logits"])
    np.stack(logits).astype("<f4").tofile(path.replace(".onnx", ".f32"))


def sums(name="sums", kind=T.FLOAT):
    g = Graph(name)
    g.port(g.inputs, "x", kind, [1, 3])
    g.port(g.outputs, "y", kind, [1, 3])
    for name in "a", "b":
        g.port(g.inputs, f"past_{name}", kind, [1, "past", 3])
        g.port(g.outputs, f"present_{name}", kind, [1, "past + 1", 3])
    x = g.op("Unsqueeze", "x", g.ints(1))
    a = g.op("Concat", "past_a", x, axis=1)
    b = g.op("Concat", "past_b", g.op("Neg", x), axis=1)
    g.op("Identity", b, out="present_a")
    g.op("Identity", a, out="present_b")
    two = g.op("Cast", g.const(np.float32(2)), to=kind)
    g.op("Add", g.op("ReduceSum", a, g.ints(1), keepdims=0), g.op("Mul", g.op("ReduceSum", b, g.ints(1), keepdims=0), two), out="y")
    g.save()


def narrow(name, kind):
    """Attention over a cache of 16-bit floats, which the state's names say."""
    g = Graph(name)
    g.port(g.inputs, "x", kind, [1, 1, 8])
    g.port(g.inputs, "past", kind, [1, "frames", 8])
    present = g.op("Concat", "past", "x", out="present", axis=1)
    weights = g.op("Softmax", g.op("MatMul", "x", g.op("Transpose", present, perm=[0, 2, 1])), axis=-1)
    g.op("MatMul", weights, present, out="y")
    g.port(g.outputs, "y", kind, [1, 1, 8])
    g.port(g.outputs, "present", kind, [1, "frames + 1", 8])
    g.save()


def window():
    """Two caches whose names tell nothing: one has all frames, the other the last four."""
    g = Graph("window")
    g.port(g.inputs, "x", T.FLOAT, [1, 3])
    g.port(g.outputs, "y", T.FLOAT, [1, 3])
    for was, name in ("all_in", "longer"), ("last_in", "slid"):
        g.port(g.inputs, was, T.FLOAT, [1, f"{name}_before", 3])
        g.port(g.outputs, name, T.FLOAT, [1, f"{name}_after", 3])
    x = g.op("Unsqueeze", "x", g.ints(1))
    a = g.op("Concat", "all_in", x, axis=1, out="longer")
    b = g.op("Slice", g.op("Concat", "last_in", x, axis=1), g.ints(-4), g.ints(2**31), g.ints(1), out="slid")
    g.op("Add", g.op("ReduceSum", a, g.ints(1), keepdims=0), g.op("Mul", g.op("ReduceSum", b, g.ints(1), keepdims=0),
                                                                  g.const(np.float32(2))), out="y")
    g.save()


def cleared():
    """A cache that an input clears: one body of the If gives no frame of it."""
    g, bodies = Graph("cleared"), {}
    g.port(g.inputs, "clears", T.BOOL, [])
    g.port(g.inputs, "x", T.FLOAT, [1, 3])
    g.port(g.inputs, "past", T.FLOAT, ["frames", 3])
    g.port(g.outputs, "y", T.FLOAT, [1, 3])
    g.port(g.outputs, "present", T.FLOAT, ["left", 3])
    none = helper.make_node("Constant", [], ["none"], value=numpy_helper.from_array(np.zeros((0, 3), np.float32)))
    for branch, node in (("then_branch", none), ("else_branch", helper.make_node("Add", ["past", "x"], ["more"]))):
        bodies[branch] = helper.make_graph([node], branch, [], [helper.make_tensor_value_info(node.output[0], T.FLOAT, None)])
    g.op("If", "clears", out="present", **bodies)
    g.op("ReduceSum", "past", g.ints(0), keepdims=1, out="y")
    g.save()


def ring():
    """Two frames a step with caches of six, of which the oldest go: what an exporter writes for a window of fixed size."""
    random = np.random.default_rng(SEED)
    g = Graph("ring")
    g.port(g.inputs, "x", T.FLOAT, [1, 2, 16])
    g.port(g.outputs, "y", T.FLOAT, [1, 2, 16])
    q, k, v = (g.op("MatMul", "x", g.const((random.standard_normal((16, w)) * .4).astype(np.float32))) for w in (16, 8, 8))
    for n in "kv":
        g.port(g.inputs, f"past_{n}", T.FLOAT, [1, 1, 6, 8])
        g.port(g.outputs, f"next_{n}", T.FLOAT, [1, 1, 6, 8])
    g.op("Attention", q, k, v, "", "past_k", "past_v", out=["y", "all_k", "all_v"], n_out=3, is_causal=1, q_num_heads=2, kv_num_heads=1)
    for n in "kv":
        g.op("Slice", f"all_{n}", g.ints(-6), g.ints(2**31), g.ints(2), out=f"next_{n}")
    session, was = onnxruntime.InferenceSession(g.save()), {f"past_{n}": np.zeros((1, 1, 6, 8), np.float32) for n in "kv"}
    frames, heard = random.standard_normal((9, 1, 2, 16)).astype(np.float32), []
    for x in frames:
        y, was["past_k"], was["past_v"] = session.run(["y", "next_k", "next_v"], {"x": x, **was})
        heard.append(y)
    frames.astype("<f4").tofile(os.path.join(HERE, "ring.x.f32"))
    np.stack(heard).astype("<f4").tofile(os.path.join(HERE, "ring.f32"))


def close(name, width, frames, seed, **attrs):
    """Grouped heads of a width whose scale has no exact root: the scale has to be put once, rounded as ONNX Runtime rounds it, and
    what is divided by summed in its order."""
    random, q_heads, kv_heads = np.random.default_rng(seed), 4, 2
    q, k, v = (random.standard_normal((1, frames, heads * width)).astype(np.float32) for heads in (q_heads, kv_heads, kv_heads))
    g = Graph(name)
    g.port(g.inputs, "q", T.FLOAT, q.shape)
    g.port(g.outputs, "y", T.FLOAT, q.shape)
    g.op("GroupQueryAttention", "q", g.const(k), g.const(v), "", "", g.const(np.array([frames - 1], np.int32)),
         g.const(np.array(frames, np.int32)), out=["y", "k", "v"], n_out=3, domain="com.microsoft", num_heads=q_heads,
         kv_num_heads=kv_heads, **attrs)
    session = onnxruntime.InferenceSession(g.save())
    q.astype("<f4").tofile(os.path.join(HERE, name + ".q.f32"))
    session.run(["y"], {"q": q})[0].astype("<f4").tofile(os.path.join(HERE, name + ".f32"))


def main():
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (STEPS, 1, 1))
    tokens.astype("<i8").tofile(os.path.join(HERE, "tokens.i64"))
    for path in (decoder("matmul", attention_matmul), decoder("attention", attention_op),
                 decoder("grouped", attention_grouped, "total_sequence_length")):
        run(path, tokens)
    sums()
    sums("sums_f16", T.FLOAT16)
    sums("sums_bf16", T.BFLOAT16)
    narrow("narrow_f16", T.FLOAT16)
    narrow("narrow_bf16", T.BFLOAT16)
    window()
    cleared()
    close("close", 64, 17, SEED, local_window_size=4)
    close("whole", 24, 33, SEED_WHOLE)
    ring()


main()
