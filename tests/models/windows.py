# SPDX-License-Identifier: MIT
"""Nets of the shapes that people run over windows, by --transform window(): what comes of each window is what ONNX Runtime makes of
that window alone, and has the bits of rill's own run of it, where nothing slides. Then the law, at several pulses. Skipped where
Python has no onnx or no onnxruntime.

    windows.py RILL"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("no onnx or onnxruntime for this Python")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from counted import check, finish  # noqa: E402

RILL = sys.argv[1]


class Net:
    """A chain of ops, weights small enough that numbers stay near 1."""

    def __init__(self, shape, seed):
        self.roll = np.random.default_rng(seed)
        self.shape, self.nodes, self.weights, self.at, self.channels = shape, [], [], "x", shape[1]

    def op(self, op, *more, **attrs):
        y = "t%d" % len(self.nodes)
        self.nodes.append(helper.make_node(op, [self.at, *more], [y], name="%s_%s" % (op.lower(), y), **attrs))
        self.at = y
        return self

    def weight(self, *shape, like=None):
        name = "w%d" % len(self.weights)
        scale = 1 / np.sqrt(max(1, np.prod(shape[1:])))
        w = (self.roll.standard_normal(shape) * scale).astype(np.float32) if like is None else np.array(like)
        self.weights.append(numpy_helper.from_array(w, name))
        return name

    def conv(self, out, kernel, act="Relu", group=1, **attrs):
        w = self.weight(out, self.channels // group, *kernel)
        self.op("Conv", w, self.weight(out), group=group, **attrs)
        self.channels = out
        return self.op(act) if act else self

    def dense(self, n_in, out):
        return self.op("Gemm", self.weight(n_in, out), self.weight(out))

    def sizes(self, *v):
        return self.weight(like=np.array(v, np.int64))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(self.at, TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def embedding():
    """Pairs of valid convolutions, pools of both axes, as the embeddings of wake words."""
    n = Net([1, 1, 76, 16], 1)
    for out, pool in ((8, [2, 2]), (12, [1, 2]), (12, [2, 2])):
        n.conv(out, [3, 3], "LeakyRelu", pads=[0, 1, 0, 1]).conv(out, [3, 1], "LeakyRelu")
        n.op("MaxPool", kernel_shape=pool, strides=pool)
    n.conv(16, [14, 1], None)
    return n.op("Flatten", axis=1)


def quality():
    """DNSMOS: convolutions that are padded, pools, a maximum over the window."""
    n = Net([1, 1, 90, 24], 2)
    n.conv(6, [3, 3], pads=[1, 1, 1, 1]).op("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    n.conv(8, [3, 3], pads=[1, 1, 1, 1]).op("GlobalMaxPool").op("Flatten", axis=1)
    return n.dense(8, 3)


def keywords():
    """DS-CNN with its pads in frequency alone, a mean over the window."""
    n = Net([1, 1, 49, 10], 3)
    n.conv(8, [10, 4], strides=[1, 2], pads=[0, 1, 0, 1])
    for _ in range(3):
        n.conv(8, [3, 3], pads=[0, 1, 0, 1], group=8).conv(8, [1, 1])
    return n.op("GlobalAveragePool").op("Flatten", axis=1).dense(8, 12).op("Softmax", axis=-1)


def mobile():
    """YAMNet: SAME padding throughout, strides of two."""
    n = Net([1, 1, 96, 16], 4)
    n.conv(8, [3, 3], auto_pad="SAME_UPPER", strides=[2, 2])
    n.conv(8, [3, 3], auto_pad="SAME_UPPER", group=8).conv(12, [1, 1], auto_pad="SAME_UPPER")
    return n.op("ReduceMean", axes=[2, 3], keepdims=0).dense(12, 5)


def wave():
    """From samples: strided convolutions with a normalisation over channels, chunks of what they give."""
    n = Net([1, 1, 800], 5)
    n.conv(6, [40], strides=[10]).conv(8, [4], strides=[2], dilations=[2])
    n.op("Transpose", perm=[0, 2, 1]).op("LayerNormalization", n.weight(8), axis=-1)
    n.op("MatMul", n.weight(8, 8)).op("Tanh").op("Transpose", perm=[0, 2, 1])
    n.op("AveragePool", kernel_shape=[3], strides=[2])
    n.op("Slice", n.sizes(1), n.sizes(-1), n.sizes(2)).op("Relu")
    return n.op("Reshape", n.sizes(1, -1))


def sparse():
    """SAME padding that cuts: with a kernel of 1 and strides of 4 the second frame of 12 is the first."""
    n = Net([1, 2, 12], 6)
    return n.conv(3, [1], None, auto_pad="SAME_UPPER", strides=[4]).op("Flatten", axis=1)


def shortcut():
    """SAME padding with a kernel of 1 and strides of 2 in frequency: the last band is left out."""
    n = Net([1, 2, 12, 8], 11)
    n.conv(3, [3, 1], pads=[0, 0, 0, 0]).conv(4, [1, 1], None, auto_pad="SAME_UPPER", strides=[1, 2])
    return n.op("MaxPool", kernel_shape=[1, 1], auto_pad="SAME_UPPER", strides=[1, 3]).op("Flatten", axis=1)


def total():
    """A sum whose list of axes is empty, and so of all."""
    n = Net([1, 3, 20], 7)
    return n.conv(4, [3]).op("ReduceSum", n.weight(like=np.zeros(0, np.int64)), keepdims=1)


NETS = ((embedding, 76, 8, 8), (quality, 90, 30, 30), (keywords, 49, 10, 10), (mobile, 96, 48, 48), (wave, 800, 160, 160), (sparse, 12, 4, 4),
        (total, 20, 5, 5), (shortcut, 12, 4, 4))


def rill(*args):
    r = subprocess.run([RILL, *args], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


def run(path, x, *args):
    """The first output."""
    data, out = path + ".x.npy", path + ".out.npz"
    np.save(data, x)
    code, words = rill("run", path, "-i", "x=" + data, "-o", out, *args)
    check(code == 0, "%s: %s" % (path, words))
    with np.load(out) as z:
        return z[z.files[0]] if code == 0 else np.zeros(0)


def net_check(make, size, hop, pulse, folder):
    net, name = make(), make.__name__
    path = os.path.join(folder, name + ".onnx")
    net.save(path)
    shape = [d for d in net.shape]
    shape[2] = size + 6 * hop + 3
    x = net.roll.standard_normal(shape).astype(np.float32)
    window = "window(x, %d, %d)" % (size, hop)
    got = run(path, x, "-t", window)
    check(got.shape[0] == 7, "%s: %d windows" % (name, got.shape[0]))
    session = onnxruntime.InferenceSession(path)
    for j in range(got.shape[0]):
        one = np.ascontiguousarray(x[:, :, j * hop:j * hop + size])
        want = session.run(None, {"x": one})[0]
        check(np.allclose(got[j].ravel(), want.ravel(), rtol=1e-4, atol=1e-5), "%s: window %d against ONNX Runtime" % (name, j))
        own = run(path, one)
        check(np.array_equal(got[j].ravel().view(np.uint32), own.ravel().view(np.uint32)), "%s: bits of window %d" % (name, j))
    short = run(path, x[:, :, :size - 1], "-t", window)
    check(short.shape[0] == 0, "%s: %d windows of a recording that is too short" % (name, short.shape[0]))
    lengths = ",".join(str(n) for n in (1, size - 1, size, size + hop, size + 3 * hop + 1))
    code, words = rill("check", "-t", window, "--pulse", "%d,%d" % (pulse, 3 * pulse), "--length", lengths, path)
    check(code == 0, "%s: %s" % (name, words))
    return rill("inspect", "-t", window, path)[1]


def half_check(folder):
    """A net of f16, of which the file says every shape."""
    path = os.path.join(folder, "half.onnx")
    w = numpy_helper.from_array(np.random.default_rng(8).standard_normal((4, 3, 3)).astype(np.float16), "w")
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])], "net",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 3, 10])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [1, 4, 8])], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    x = np.random.default_rng(9).standard_normal((1, 3, 15)).astype(np.float16)
    got = run(path, x, "-t", "window(x, 10, 2)")
    check(got.shape == (3, 4, 8), "half: %s" % (got.shape,))
    for j in range(got.shape[0]):
        own = run(path, np.ascontiguousarray(x[:, :, j * 2:j * 2 + 10]))
        check(np.array_equal(got[j], own[0]), "half: window %d" % j)


def wide_check(folder):
    """A kernel that is longer than the window: the node is named."""
    path = os.path.join(folder, "wide.onnx")
    n = Net([1, 1, 10], 10)
    n.op("Conv", n.weight(2, 1, 12))
    graph = helper.make_graph(n.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, n.shape)],
                              [helper.make_tensor_value_info(n.at, TensorProto.FLOAT, None)], n.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    code, words = rill("inspect", "-t", "window(x, 10, 2)", path)
    check(code != 0 and "conv_t0" in words and "reaches over 12" in words, "wide: %s" % words)


def main():
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        for make, size, hop, pulse in NETS:
            said[make.__name__] = net_check(make, size, hop, pulse, folder)
        half_check(folder)
        wide_check(folder)
    for name, words in (("embedding", "times fewer"), ("keywords", "slides: conv_"), ("keywords", "(GlobalAveragePool) on: it takes all"),
                        ("quality", "1 at the front and 1 at the end anew"), ("mobile", "times fewer"), ("wave", "(Reshape) on")):
        check(words in said[name], "%s: inspect does not say '%s': %s" % (name, words, said[name]))
    finish()


main()
