# SPDX-License-Identifier: MIT
"""References of ML-KWS nets of other sizes: `sizes.py`, with numpy, onnx and onnxruntime.

The nets have the sizes of the medium and large ones of the paper and weights of a small generator, which
tests/models/keyword_sizes.c repeats: nothing but what comes out is kept. The recording is hey_mycroft.wav.
"""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import make


class Weights:
    def __init__(self):
        self.x, self.list = 1, []

    def take(self, name, shape, fan):
        """Uniform, about as wide as one over the root of fan: a power of two, so that nothing rounds."""
        n = int(np.prod(shape))
        v = np.empty(n, np.float32)
        scale = 2.0 ** (2 - int(fan).bit_length() // 2)
        for i in range(n):
            self.x = (self.x * 1664525 + 1013904223) & 0xffffffff
            v[i] = ((self.x >> 8) - 2 ** 23) / 2 ** 24 * scale
        self.list.append(numpy_helper.from_array(v.reshape(shape), name))
        return name


def info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def session(nodes, inputs, outputs, weights, ints=()):
    consts = weights.list + [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in ints]
    graph = helper.make_graph(nodes, "net", inputs, outputs, consts)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def cell(kind, gates, hidden):
    w, n = Weights(), helper.make_node
    states = ["h"] if kind == "GRU" else ["h", "c"]
    feeds = ["mfcc", w.take("W", [1, gates * hidden, 10], 4096), w.take("R", [1, gates * hidden, hidden], hidden),
             w.take("B", [1, 2 * gates * hidden], 64), ""] + [s + "_in" for s in states]
    nodes = [n(kind, feeds, [""] + [s + "_out" for s in states], hidden_size=hidden),
             n("Squeeze", ["h_out", "axis"], ["flat"]),
             n("Gemm", ["flat", w.take("Wo", [hidden, 12], 16), w.take("bo", [12], 64)], ["logits"]),
             n("Softmax", ["logits"], ["prob"], axis=-1)]
    return session(nodes, [info("mfcc", ["T", 1, 10])] + [info(s + "_in", [1, 1, hidden]) for s in states],
                   [info("prob", [1, 12])] + [info(s + "_out", [1, 1, hidden]) for s in states], w, [("axis", [0])])


def crnn(filters, stride, hidden, dense):
    w, n = Weights(), helper.make_node
    wide = filters * ((10 - 4) // stride + 1)
    nodes = [n("Conv", ["mfcc", w.take("cw", [filters, 1, 10, 4], 16384), w.take("cb", [filters], 64)], ["c"], strides=[2, stride]),
             n("Relu", ["c"], ["r"]), n("Transpose", ["r"], ["t"], perm=[2, 0, 3, 1]), n("Reshape", ["t", "shape"], ["x0"])]
    for i in range(2):
        size = hidden if i else wide
        nodes += [n("GRU", ["x%d" % i, w.take("W%d" % i, [1, 3 * hidden, size], size),
                            w.take("R%d" % i, [1, 3 * hidden, hidden], hidden), w.take("B%d" % i, [1, 6 * hidden], 64), "",
                            "h%d_in" % i], ["y%d" % i, "h%d_out" % i], hidden_size=hidden)]
        nodes += [n("Squeeze", ["y0", "axis1"], ["x1"])] if not i else [n("Squeeze", ["h1_out", "axis0"], ["flat"])]
    nodes += [n("Gemm", ["flat", w.take("fw", [hidden, dense], hidden), w.take("fb", [dense], 64)], ["f"]),
              n("Relu", ["f"], ["fr"]),
              n("Gemm", ["fr", w.take("ow", [dense, 12], 16), w.take("ob", [12], 64)], ["logits"]),
              n("Softmax", ["logits"], ["prob"], axis=-1)]
    states = ["h%d" % i for i in range(2)]
    return session(nodes, [info("mfcc", [1, 1, "T", 10])] + [info(s + "_in", [1, 1, hidden]) for s in states],
                   [info("prob", [1, 12])] + [info(s + "_out", [1, 1, hidden]) for s in states], w,
                   [("shape", [-1, 1, wide]), ("axis0", [0]), ("axis1", [1])])


def ds_cnn(filters, layers):
    w, n = Weights(), helper.make_node
    nodes, x = [], "mfcc"
    for i in range(2 * layers - 1):
        deep = i % 2 == 1
        shape = [filters, 1, 10, 4] if not i else [filters, 1, 3, 3] if deep else [filters, filters, 1, 1]
        stride = [2, 1] if not i else [2, 2] if i == 1 else [1, 1]
        fan = 16384 if not i else 3 if deep else filters // 2
        nodes += [n("Conv", [x, w.take("w%d" % i, shape, fan), w.take("b%d" % i, [filters], 64)], ["c%d" % i],
                    group=filters if deep else 1, strides=stride, auto_pad="SAME_UPPER"),
                  n("Relu", ["c%d" % i], ["r%d" % i])]
        x = "r%d" % i
    nodes += [n("GlobalAveragePool", [x], ["gap"]), n("Flatten", ["gap"], ["flat"]),
              n("Gemm", ["flat", w.take("fw", [filters, 12], 256), w.take("fb", [12], 64)], ["logits"]),
              n("Softmax", ["logits"], ["prob"], axis=-1)]
    return session(nodes, [info("mfcc", [1, 1, 49, 10])], [info("prob", [1, 12])], w)


def run(net, feeds, keep):
    ins, outs = [i for i in net.get_inputs()[1:]], [o.name for o in net.get_outputs()]
    zero = {i.name: np.zeros(i.shape, np.float32) for i in ins}
    state, ys = zero, []
    for feed in feeds:
        y = net.run(outs, dict(state, mfcc=feed))
        state = {i.name: v for i, v in zip(ins, y[1:])} if keep else zero
        ys.append(y[0].reshape(-1))
    return np.concatenate(ys).astype(np.float32)


def main():
    mfcc = make.mfcc(make.read(f"{make.HERE}/hey_mycroft.wav"), 320)
    steps = mfcc[:, None, None]
    cut = make.seconds(mfcc)
    maps = [s[None, None] for s in cut]
    for name, net, feeds, keep in (
            ("gru_m", cell("GRU", 3, 250), steps, True), ("gru_l", cell("GRU", 3, 400), steps, True),
            ("gru_l_whole", cell("GRU", 3, 400), [s[:, None] for s in cut], False),
            ("lstm_m", cell("LSTM", 4, 214), steps, True), ("lstm_l", cell("LSTM", 4, 344), steps, True),
            ("crnn_m", crnn(128, 2, 76, 164), maps, False), ("crnn_l", crnn(100, 1, 136, 188), maps, False),
            ("ds_cnn_m", ds_cnn(172, 5), maps, False), ("ds_cnn_l", ds_cnn(276, 6), maps, False)):
        y = run(net, feeds, keep)
        y.astype("<f4").tofile(f"{make.HERE}/sizes_{name}.f32")
        p = y.reshape(-1, 12)
        print(name, p.shape, "spread of each word's probability over time", p.std(0).max(), "largest", p.max())


if __name__ == "__main__":
    main()
