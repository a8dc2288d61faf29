# SPDX-License-Identifier: MIT
"""Random chains of what exporters write, as ONNX files: ONNX Runtime judges the whole run, and the law the stream.
idioms.py RILL FOLDER FIRST COUNT: seeds FIRST.., files and what is wrong with them in FOLDER."""
import os, random, sys
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
import counted
import ort_judge

WIDTH = 4
F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
REFUSED_MAX = 0.05  # of those that could stream


class Chain:
    """A graph that grows; `pick` draws what is written how."""

    def __init__(self, seed):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.constants, self.wires = [], [], 0

    def name(self):
        self.wires += 1
        return f"w{self.wires}"

    def pick(self, *ways):
        return self.random.choice(ways)

    def chance(self, part=.5):
        return self.random.random() < part

    def const(self, value, dtype):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weights(self, *shape):
        return self.const(self.numbers.standard_normal(shape) * .4, np.float32)

    def ints(self, *v):
        return self.const(list(v), np.int64)

    def int(self, v):
        return self.const(v, np.int64)

    def float(self, v):
        return self.const(v, np.float32)

    def op(self, kind, *inputs, outputs=1, **attributes):
        out = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), out, name="n_" + out[0], **attributes))
        return out[0]

    # ---- what several idioms are made of ----

    def length(self, x, listed=True):
        return self.op("Gather", self.op("Shape", x), self.ints(1) if listed else self.int(1), axis=0)

    def turned(self, x):
        return self.op("Transpose", x, perm=[0, 2, 1])

    def joined(self, *sizes):
        return self.op("Concat", *sizes, axis=0)

    def cut(self, x, first, end):
        return self.op("Slice", x, self.ints(first), end if isinstance(end, str) else self.ints(end), self.ints(1))

    def frames(self, x):
        return self.op("Range", self.int(0), self.length(x, False), self.int(1))

    def queries_keys(self, x):
        """Frame numbers as a column and as a row."""
        at = self.frames(x)
        return self.op("Unsqueeze", at, self.ints(1)), self.op("Unsqueeze", at, self.ints(0))

    def projections(self, x):
        return [self.op("MatMul", x, self.weights(WIDTH, WIDTH)) for _ in range(3)]


# ---- layers ----

def linear(c, x):
    return c.op(c.pick("Relu", "Tanh"), c.op("Add", c.op("MatMul", x, c.weights(WIDTH, WIDTH)), c.weights(WIDTH)))


def norm(c, x):
    return c.op("LayerNormalization", x, c.weights(WIDTH), c.weights(WIDTH), axis=-1)


def conv(c, x):
    size, dilation, group = c.pick(1, 3, 5), c.pick(1, 2), c.pick(1, WIDTH)
    reach = (size - 1) * dilation
    before = c.pick(reach, reach // 2)
    return c.turned(c.op("Conv", c.turned(x), c.weights(WIDTH, WIDTH // group, size), pads=[before, reach - before],
                         dilations=[dilation], group=group))


def causal_by_pad(c, x):
    """Padded by any number, windows by Slices of it."""
    padded = c.op("Pad", x, c.ints(0, 1, 0, 0, 0, 0), c.float(c.pick(0., -1.)))
    return c.op("Add", c.cut(padded, 1, 2**31), c.cut(padded, 0, -1))


def gru(c, x):
    first = c.op("Unsqueeze", c.op("Gather", x, c.int(0), axis=1), c.ints(0)) if c.chance() else ""
    steps = c.op("GRU", c.op("Transpose", x, perm=[1, 0, 2]), c.weights(1, 3 * WIDTH, WIDTH),
                 c.weights(1, 3 * WIDTH, WIDTH), "", "", first, outputs=2, hidden_size=WIDTH)
    return c.op("Transpose", c.op("Squeeze", steps, c.ints(1)), perm=[1, 0, 2])


def cumulative_mean(c, x):
    counts = c.op("Cast", c.op("Add", c.queries_keys(x)[0], c.int(1)), to=F32)
    return c.op("Sub", x, c.op("Div", c.op("CumSum", x, c.int(1)), counts))


# ---- geometry ----

def skip(c, x):
    y = c.op("Conv", c.turned(x), c.weights(WIDTH, WIDTH, 3), strides=[2], pads=[1, 1])
    if c.chance(.6):
        y = c.op("Resize", y, "", c.const([1, 1, 2], np.float32), mode=c.pick("nearest", "linear"),
                 coordinate_transformation_mode=c.pick("half_pixel", "asymmetric"))
    else:
        y = c.op("ConvTranspose", y, c.weights(WIDTH, WIDTH, 4), strides=[2], pads=[1, 1])
    return c.op("Add", x, c.cut(c.turned(y), 0, c.length(x)))


def between(c, x):
    """Linear upsampling as gathered neighbours, and down again."""
    half, zero = c.float(.5), c.float(0.)
    length, times = c.length(x, False), c.pick(2, 4)
    at = c.op("Cast", c.op("Range", c.int(0), c.op("Mul", length, c.int(times)), c.int(1)), to=F32)
    at = c.op("Clip", c.op("Sub", c.op("Mul", c.op("Add", at, half), c.float(1. / times)), half), zero)
    left = c.op("Cast", at, to=I64)
    right = c.op("Clip", c.op("Add", left, c.int(1)), "", c.op("Sub", length, c.int(1)))
    rest = c.op("Clip", c.op("Sub", at, c.op("Cast", left, to=F32)), zero, c.float(1.))
    low, high = (c.op("Gather", x, index, axis=1) for index in (left, right))
    y = c.op("Add", low, c.op("Mul", c.op("Sub", high, low), c.op("Unsqueeze", rest, c.ints(1))))
    return c.turned(c.op("Conv", c.turned(y), c.weights(WIDTH, WIDTH, times), strides=[times]))


def chunks(c, x):
    """Padded to whole chunks, rows of them merged, and back."""
    size, length = c.pick(2, 3, 4), c.length(x)
    if c.chance():
        more = c.op("Sub", c.op("Mul", c.op("Div", c.op("Add", length, c.ints(size - 1)), c.ints(size)), c.ints(size)), length)
        last = c.op("Slice", x, c.op("Sub", length, c.ints(1)), c.ints(2**31), c.ints(1))
        y = (c.op("Pad", x, c.joined(c.ints(0, 0, 0, 0), more, c.ints(0))) if c.chance() else
             c.op("Concat", x, c.op("Expand", last, c.joined(c.ints(1), more, c.ints(WIDTH))), axis=1))
    else:
        more = c.op("Mod", c.op("Mul", length, c.ints(-1)), c.ints(size))
        y = c.op("Pad", x, c.joined(c.ints(0, 0, 0, 0), more, c.ints(0)))
    turns, shape = c.chance(.7), [1, -1, size, WIDTH]
    y = c.op("Reshape", y, c.ints(*shape))
    if turns:
        y, shape = c.op("Transpose", y, perm=[0, 2, 1, 3]), [1, size, -1, WIDTH]
    y = c.op("Reshape", y, c.ints(-1, WIDTH))
    for _ in range(c.random.randint(1, 2)):
        y = c.pick(lambda: c.op("Gemm", y, c.weights(WIDTH, WIDTH), c.weights(WIDTH), transB=c.pick(0, 1)),
                   lambda: c.op("Relu", y), lambda: norm(c, y),
                   lambda: c.op("Add", y, c.op("Gemm", y, c.weights(WIDTH, WIDTH))))()
    y = c.op("Reshape", y, c.ints(*shape))
    y = c.op("Transpose", y, perm=[0, 2, 1, 3]) if turns else y
    return c.cut(c.op("Reshape", y, c.ints(1, -1, WIDTH)), 0, length)


def edge(c, x):
    before, after = c.pick(0, 1, 2, 3), c.pick(0, 1, 2)
    y = c.op("Pad", x, c.ints(0, before, 0, 0, after, 0), mode=c.pick("edge", "constant"))
    return c.op("Add", x, c.cut(y, after, 2**31) if before == 0 else c.cut(y, 0, c.length(x)))


def emphasis(c, x):
    differences = c.op("Sub", c.cut(x, 1, 2**31), c.op("Mul", c.cut(x, 0, -1), c.float(.97)))
    return c.op("Concat", c.cut(x, 0, 1), differences, axis=1)


def started(c, x):
    return c.op("Add", x, c.op("Concat", c.weights(1, 1, WIDTH), c.cut(x, 0, -1), axis=1))


# ---- attention ----

def quotient(c, at, by):
    way = c.pick("whole", "floor", "trunc")
    if way == "whole":
        return c.op("Div", at, c.int(by))
    q = c.op("Div", c.op("Cast", at, to=F32), c.float(float(by)))
    q = c.op("Floor", q) if way == "floor" else c.op("Mul", c.op("Floor", c.op("Abs", q)), c.op("Sign", q))
    return c.op("Cast", q, to=I64)


def causal_band(c, x):
    i, j = c.queries_keys(x)
    return c.op("And", c.op("LessOrEqual", j, c.op("Add", i, c.int(c.pick(0, 1, 2)))),
                c.op("Greater", j, c.op("Sub", i, c.int(c.pick(2, 3, 5, 7)))))


def chunk_band(c, x):
    q = quotient(c, c.frames(x), c.pick(2, 3, 4))
    apart = c.op("Sub", c.op("Unsqueeze", q, c.ints(1)), c.op("Unsqueeze", q, c.ints(0)))
    return c.op("And", c.op("GreaterOrEqual", apart, c.int(0)), c.op("LessOrEqual", apart, c.int(c.pick(0, 1, 2))))


def chunk_ends(c, x):
    size, length, (_, j) = c.pick(2, 4), c.length(x, False), c.queries_keys(x)
    q = quotient(c, c.frames(x), size)
    end = c.op("Mul", c.op("Add", q, c.int(1)), c.int(size))
    end = c.op("Clip", end, "", length) if c.chance() else c.op("Min", end, length)
    start = c.op("Max", c.op("Mul", c.op("Sub", q, c.int(2)), c.int(size)), c.int(0))
    start, end = (c.op("Unsqueeze", at, c.ints(1)) for at in (start, end))
    before = c.op("Less", j, end) if c.chance() else c.op("Not", c.op("GreaterOrEqual", j, end))
    return c.op("And", before, c.op("GreaterOrEqual", j, start))


def triangles(c, x):
    length = c.length(x)
    ones = c.op("Expand", c.float(1.), c.joined(length, length))
    back, ahead = c.pick(1, 3, 6), c.pick(0, 1, 2)
    upper = c.op("Trilu", ones, c.int(ahead), upper=0)
    if c.chance():
        band = c.op("Sub", upper, c.op("Trilu", ones, c.int(-back), upper=0))
    else:
        band = c.op("Mul", upper, c.op("Trilu", ones, c.int(-back), upper=1))
    return c.op("Cast", band, to=BOOL)


def distance(c, x):
    return c.op("LessOrEqual", c.op("Abs", c.op("Sub", *c.queries_keys(x))), c.int(c.pick(1, 3, 5)))


def hidden(c, scores, mask):
    never, zero = c.float(c.pick(float("-inf"), -1e9)), c.float(0.)
    return c.pick(lambda: c.op("Where", mask, scores, c.float(-1e9)),
                  lambda: c.op("Add", scores, c.op("Where", mask, zero, never)),
                  lambda: c.op("Add", scores, c.op("Mul", c.op("Sub", c.float(1.), c.op("Cast", mask, to=F32)), c.float(-1e9))))()


def attention(c, x):
    q, k, v = c.projections(x)
    scores, mask = c.op("MatMul", q, c.turned(k)), c.pick(causal_band, chunk_band, chunk_ends, triangles, distance)(c, x)
    if c.chance(.25):  # linear: no softmax
        return c.op("Add", x, c.op("MatMul", c.op("Mul", scores, c.op("Cast", mask, to=F32)), v))
    scores, (i, j) = hidden(c, scores, mask), c.queries_keys(x)
    if c.chance(.4):  # ALiBi
        scores = c.op("Add", scores, c.op("Mul", c.op("Cast", c.op("Sub", j, i), to=F32), c.float(.25)))
    weights = c.op("Softmax", scores, axis=-1)
    y = c.op("MatMul", weights, v)
    if c.chance(.3):  # values of distances
        apart = c.op("Add", c.op("Clip", c.op("Sub", j, i), c.int(-3), c.int(3)), c.int(3))
        rows = c.op("Gather", c.weights(7, WIDTH), apart, axis=0)
        y = c.op("Add", y, c.op("Einsum", weights, rows, equation="bij,ijd->bid"))
    return c.op("Add", x, y)


def falls_off(c, x, by):
    """by^(i - j) up to the frame itself, 0 behind it."""
    i, j = c.queries_keys(x)
    apart = c.op("Cast", c.op("Sub", i, j), to=F32)
    shown = c.op("Cast", c.op(c.pick("GreaterOrEqual", "Greater"), i, j), to=F32)
    apart = c.op("Clip", apart, c.float(0.)) if c.chance(.7) else apart
    y = c.op("Pow", c.float(by), apart) if c.chance() else c.op("Exp", c.op("Mul", apart, c.float(float(np.log(by)))))
    y = c.op("Mul", *c.pick((y, shown), (shown, y)))
    return c.op("Where", c.op("IsNaN", y), c.float(0.), y) if c.chance(.3) else y


def retention(c, x):
    q, k, v = c.projections(x)
    weights = c.op("Mul", c.op("MatMul", q, c.turned(k)), falls_off(c, x, c.pick(.5, .9, .97)))
    return c.op("Add", x, c.op("MatMul", weights, v))


def moving_mean(c, x):
    return c.op("Add", x, c.op("MatMul", c.op("Mul", falls_off(c, x, c.pick(.5, .9)), c.float(.1)), x))


def linear_attention(c, x):
    q, k, v = (c.op("Sigmoid", y) for y in c.projections(x))
    weights = c.op("Where", c.op("Less", *c.queries_keys(x)), c.float(0.), c.op("MatMul", q, c.turned(k)))
    if c.chance():
        weights = c.op("Div", weights, c.op("Add", c.op("ReduceSum", weights, c.ints(-1)), c.float(1e-3)))
    return c.op("Add", x, c.op("MatMul", weights, v))


IDIOMS = [linear, norm, conv, causal_by_pad, gru, cumulative_mean, skip, between, chunks, chunks, edge, emphasis, started,
          attention, attention, attention, retention, moving_mean, linear_attention]


# ---- the run ----

def chain_make(seed):
    c, x = Chain(seed), "x"
    used = [c.random.choice(IDIOMS) for _ in range(c.random.randint(1, 4))]
    for idiom in used:
        x = idiom(c, x)
    c.nodes.append(helper.make_node("Identity", [x], ["y"], name="last"))
    ports = [helper.make_tensor_value_info(name, F32, [1, "T", WIDTH] if name == "x" else None) for name in "xy"]
    graph = helper.make_graph(c.nodes, "idioms", ports[:1], ports[1:], c.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), used


def main(folder, first, count):
    streams = refusals = 0
    for seed in range(first, first + count):
        path = os.path.join(folder, f"chain{seed}")
        model, used = chain_make(seed)
        onnx.save(model, path + ".onnx")
        run = ort_judge.whole_run(path + ".onnx", seed)
        wrong = ort_judge.stream_judge(path, *run, random.Random(seed).choice("12358")) if run else None
        is_refused = ort_judge.refused(wrong)
        streams, refusals = streams + (run is not None and wrong is None), refusals + is_refused
        names = ", ".join(idiom.__name__ for idiom in used)
        counted.check(wrong is None or is_refused, f"seed {seed}, {names}: {wrong}")
        for end in (".onnx", ".npy", ".npz") if wrong is None or is_refused else ():
            if os.path.exists(path + end):
                os.remove(path + end)
    print(streams, "stream,", refusals, "are refused")
    counted.check(streams > 0 and refusals <= REFUSED_MAX * (streams + refusals), f"{refusals} are refused, {streams} stream")


main(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
counted.finish()
