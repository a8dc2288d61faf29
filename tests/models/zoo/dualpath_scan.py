# SPDX-License-Identifier: MIT
"""A dual-path net whose 156 GRUs are written out as Scans: in each of 52 blocks two over the bands, forward and back,
whose steps see all frames ([S, 4], with a mean over the bands from outside), and one over time."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

BLOCKS, BANDS, WIDTH = 52, 9, 4
FLOAT = TensorProto.FLOAT


class Part:
    """Nodes and weights of a graph or of one body; all names are short, of their own, in one scope."""
    count = 0

    def __init__(self, rng):
        self.rng, self.nodes, self.init = rng, [], []

    @classmethod
    def name(cls):
        cls.count += 1
        return f"v{cls.count:x}"

    def op(self, kind, *inputs, n=1, out=None, **attrs):
        outs = out or [self.name() for _ in range(n)]
        self.nodes.append(helper.make_node(kind, list(inputs), outs, **attrs))
        return outs[0] if len(outs) == 1 else outs

    def const(self, value):
        self.init.append(numpy_helper.from_array(np.asarray(value), self.name()))
        return self.init[-1].name

    def weight(self, *shape):
        return self.const((self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype("f4"))

    def affine(self, x, n_in, n_out):
        return self.op("Add", self.op("MatMul", x, self.weight(n_in, n_out)), self.weight(n_out))


def cell(rng, rows, capture):
    """One step of a GRU on [rows, WIDTH]; the reset gate works on the projected state. Weights are the body's own."""
    b, h, x, last, y = Part(rng), Part.name(), Part.name(), Part.name(), Part.name()
    seen = b.op("Add", x, capture) if capture else x
    zx, rx, nx = b.op("Split", b.affine(seen, WIDTH, 3 * WIDTH), n=3, axis=1)
    zh, rh, nh = b.op("Split", b.affine(h, WIDTH, 3 * WIDTH), n=3, axis=1)
    z = b.op("Sigmoid", b.op("Add", zx, zh))
    r = b.op("Sigmoid", b.op("Add", rx, rh))
    n = b.op("Tanh", b.op("Add", nx, b.op("Mul", r, nh)))
    b.op("Add", n, b.op("Mul", z, b.op("Sub", h, n)), out=[last])
    b.op("Identity", last, out=[y])
    fact = [helper.make_tensor_value_info(v, FLOAT, [rows, WIDTH]) for v in (h, x, last, y)]
    return helper.make_graph(b.nodes, "cell", fact[:2], fact[2:], b.init)


def recurrence(g, h0, x, axis, back, rows, capture=None):
    return g.op("Scan", h0, x, n=2, num_scan_inputs=1, body=cell(g.rng, rows, capture), scan_input_axes=[axis],
                scan_output_axes=[axis], scan_input_directions=[back], scan_output_directions=[back])[1]


def block(g, x, turned):
    """x [S, BANDS, WIDTH]. The recurrence over time finds it on axis 0, or turned on axis 1."""
    mean = g.op("ReduceMean", x, axes=[1], keepdims=0)
    zeros = g.op("ConstantOfShape", g.op("Shape", mean))
    ways = [recurrence(g, zeros, x, 1, back, "S", mean) for back in (0, 1)]
    y = g.affine(g.op("Concat", *ways, axis=2), 2 * WIDTH, WIDTH)
    x = g.op("Add", x, g.op("LayerNormalization", y, g.weight(WIDTH), g.weight(WIDTH), axis=-1))
    still = g.const(np.zeros((BANDS, WIDTH), "f4"))
    if not turned:
        return g.op("Add", x, recurrence(g, still, x, 0, 0, BANDS))
    y = recurrence(g, still, g.op("Transpose", x, perm=[1, 0, 2]), 1, 0, BANDS)
    return g.op("Add", x, g.op("Transpose", y, perm=[1, 0, 2]))


def model(seed=20261121):
    g = Part(np.random.default_rng(seed))
    Part.count = 0
    shape = [1, 2, "S", BANDS]
    y = g.op("Conv", "x", g.weight(WIDTH, 2, 1, 1), g.weight(WIDTH))
    y = g.op("Squeeze", g.op("Transpose", y, perm=[0, 2, 3, 1]), g.const(np.array([0])))
    for i in range(BLOCKS):
        y = block(g, y, i % 2)
    y = g.op("Transpose", g.op("Unsqueeze", g.affine(y, WIDTH, 2), g.const(np.array([0]))), perm=[0, 3, 1, 2])
    g.op("Mul", "x", g.op("Tanh", y), out=["out"])
    io = [helper.make_tensor_value_info(n, FLOAT, shape) for n in ("x", "out")]
    graph = helper.make_graph(g.nodes, "dualpath_scan", io[:1], io[1:], g.init)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
