# SPDX-License-Identifier: MIT
"""The nets of the table that are made when it is run: layers, products, chains and shapes of published nets, weights random.

    python3 nets.py FOLDER [NAME..]
"""
import os
import sys

import cnn
import dfn
from onnx_write import FLOAT, Net

PRODUCTS = [(1, 256, 256), (1, 128, 512), (1, 256, 768), (1, 512, 512), (64, 64, 64), (128, 128, 128), (256, 256, 256),
            (512, 512, 512), (1024, 1024, 1024), (63, 65, 67), (33, 16, 48), (8, 256, 768)]
GATES = {"gru": 3, "lstm": 4, "rnn": 1}


def recurrent(kind, size, steps):
    n, gates = Net(), GATES[kind]
    each, scale = gates * size, size ** -0.5
    ins = [n.input("x", [steps, 1, size]), n.weights([1, each, size], scale), n.weights([1, each, size], scale),
           n.weights([1, 2 * each], 0.1), "", n.input("h", [1, 1, size])]
    outs = ["", "h_out"] if steps == 1 else ["y", "h_out"]
    if kind == "lstm":
        ins.append(n.input("c", [1, 1, size]))
        outs.append("c_out")
    attrs = {"linear_before_reset": 1} if kind == "gru" else {}
    n.node(kind.upper(), ins, outs, hidden_size=size, **attrs)
    if steps > 1:
        n.output("y", [steps, 1, 1, size])
    for o in outs[1:]:
        n.output(o, [1, 1, size])
    return n


def product(m, k, n_):
    n = Net()
    n.node("MatMul", [n.input("a", [m, k]), n.weights([k, n_], 0.1)], "y")
    n.output("y", [m, n_])
    return n


PRODUCTS_8 = [(1, 512, 512), (8, 512, 512), (1, 256, 1536), (8, 256, 1536)]


def product_8(m, k, n_):
    """As dynamic quantisation of a product writes it."""
    n = Net()
    q, scale, zero = "q", "q_scale", "q_zero"
    n.node("DynamicQuantizeLinear", [n.input("a", [m, k])], [q, scale, zero])
    sums = n.node("MatMulInteger", [q, n.bytes_bell([k, n_]), zero, n.bytes_signed([], 0)])
    whole = n.node("Mul", [scale, n.floats([0.01], [])])
    n.node("Mul", [n.node("Cast", [sums], to=FLOAT), whole], "y")
    n.output("y", [m, n_])
    return n


TDNN = [(40, 1), (256, 2), (256, 4)]


def tdnn():
    """Whole sequences of S frames, valid convolutions: what rill cuts into pulses."""
    n = Net()
    x = n.input("x", [1, 40, "S"])
    for cin, dilation in TDNN:
        x = n.node("Conv", [x, n.weights([256, cin, 3], (cin * 3) ** -0.5), n.weights([256], 0.1)], kernel_shape=[3],
                   dilations=[dilation])
        x = n.node("Relu", [x], "y" if dilation == 4 else None)
    n.output("y", [1, 256, "S-14"])
    return n


def tdnn_step(pulse):
    """The same fed with the overlap: the last frames of each layer's input are states."""
    n = Net()
    x = n.input("x", [1, 40, pulse])
    axis = n.ints([2])
    for i, (cin, dilation) in enumerate(TDNN):
        past = 2 * dilation
        n.input(f"s{i}", [1, cin, past])
        x = n.node("Concat", [f"s{i}", x], axis=2)
        n.node("Slice", [x, n.ints([pulse]), n.ints([pulse + past]), axis], f"s{i}_out")
        n.output(f"s{i}_out", [1, cin, past])
        x = n.node("Conv", [x, n.weights([256, cin, 3], (cin * 3) ** -0.5), n.weights([256], 0.1)], kernel_shape=[3],
                   dilations=[dilation])
        x = n.node("Relu", [x], "y" if dilation == 4 else None)
    n.output("y", [1, 256, pulse])
    return n


def chain(steps):
    """Small products one after the other, which nothing fuses: 8x8 by a row."""
    n = Net()
    x, w = n.input("x", [1, 8]), n.weights([8, 8], 0.3)
    for i in range(steps):
        x = n.node("MatMul", [x, w], "y" if i == steps - 1 else None)
    n.output("y", [1, 8])
    return n


def rnnoise():
    """The shape of RNNoise 0.1: 42 features, GRUs of 24, 48 and 96, 22 gains and a voice probability."""
    n = Net()
    outs = []

    def dense(x, cin, cout, act, name=None):
        y = n.node("Gemm", [x, n.weights([cout, cin], cin ** -0.5), n.weights([cout], 0.1)], transB=1)
        return n.node(act, [y], name)

    def gru(x, cin, size, i):
        n.input(f"h{i}", [1, 1, size])
        y = n.node("Unsqueeze", [x, n.ints([0])])
        n.node("GRU", [y, n.weights([1, 3 * size, cin], cin ** -0.5), n.weights([1, 3 * size, size], size ** -0.5),
                       n.weights([1, 6 * size], 0.1), "", f"h{i}"], ["", f"h{i}_out"], hidden_size=size)
        outs.append((f"h{i}_out", [1, 1, size]))
        return n.node("Squeeze", [f"h{i}_out", n.ints([0])])

    x = n.input("x", [1, 42])
    d = dense(x, 42, 24, "Tanh")
    v = gru(d, 24, 24, 0)
    dense(v, 24, 1, "Sigmoid", "voice")
    noise = gru(n.node("Concat", [d, v, x], axis=1), 90, 48, 1)
    clean = gru(n.node("Concat", [v, noise, x], axis=1), 114, 96, 2)
    dense(clean, 96, 22, "Sigmoid", "gains")
    for o, dims in [("gains", [1, 22]), ("voice", [1, 1]), *outs]:
        n.output(o, dims)
    return n


NETS = {f"{k}_{s}_{t}": (recurrent, k, s, t) for k in GATES for s, t in ((128, 50), (256, 100), (128, 1), (256, 1))}
NETS |= {f"mm_{m}x{k}x{n}": (product, m, k, n) for m, k, n in PRODUCTS}
NETS |= {f"q8_{m}x{k}x{n}": (product_8, m, k, n) for m, k, n in PRODUCTS_8}
NETS |= {f"tdnn_step_{p}": (tdnn_step, p) for p in (4, 8, 24)} | {"tdnn": (tdnn,)}
NETS |= {f"chain_{s}": (chain, s) for s in (10, 50, 200)} | {"rnnoise": (rnnoise,)}
NETS |= {"dfn3": (dfn.dfn3,), "dpdfnet2": (dfn.dpdfnet2,)} | cnn.NETS


def make(folder, name):
    """The path of the net, made where it is not there yet."""
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        function, *args = NETS[name]
        function(*args).save(path + ".new")
        os.replace(path + ".new", path)
    return path


if __name__ == "__main__":
    for each in sys.argv[2:] or NETS:
        make(sys.argv[1], each)
