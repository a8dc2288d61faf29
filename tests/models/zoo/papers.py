# SPDX-License-Identifier: MIT
"""Nets after the papers, small and with seeded weights: for whole recordings, time an axis of S."""
import numpy as np
from onnx import TensorProto, helper

from dualpath_scan import Part

FLOAT = TensorProto.FLOAT


class Net(Part):
    """Layers as the exporters write them. Tensors of layers are [1, channels, S]."""

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def number(self, value):
        return self.const(np.float32(value))

    def scaled(self, *shape):
        return self.const((self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype("f4"))

    def vector(self, n, around=0.0, shape=None):
        return self.const((around + 0.1 * self.rng.standard_normal(shape or n)).astype("f4"))

    def conv(self, x, n_in, n_out, k, **attrs):
        groups = attrs.get("group", 1)
        return self.op("Conv", x, self.scaled(n_out, n_in // groups, k), self.vector(n_out), **attrs)

    def same(self, x, n_in, n_out, k, dilation=1, **attrs):
        pad = (k - 1) * dilation // 2
        return self.conv(x, n_in, n_out, k, pads=[pad, pad], dilations=[dilation], **attrs)

    def causal(self, x, n_in, n_out, k, dilation=1, **attrs):
        return self.conv(x, n_in, n_out, k, pads=[(k - 1) * dilation, 0], dilations=[dilation], **attrs)

    def deconv(self, x, n_in, n_out, k, stride, **attrs):
        return self.op("ConvTranspose", x, self.scaled(n_in, n_out, k), self.vector(n_out), strides=[stride], **attrs)

    def size(self, x, axis):
        return self.op("Gather", self.op("Shape", x), self.ints(axis), axis=0)

    def cut(self, x, axis, first, end):
        return self.op("Slice", x, self.ints(first), end if isinstance(end, str) else self.ints(end), self.ints(axis))

    def glu(self, x, n):
        return self.op("Mul", self.cut(x, 1, 0, n), self.op("Sigmoid", self.cut(x, 1, n, 2 * n)))

    def norm(self, x, n, rank=3):
        """A batch normalisation of known statistics."""
        del rank
        return self.op("BatchNormalization", x, self.vector(n, 1), self.vector(n), self.vector(n),
                       self.const((1 + 0.2 * self.rng.random(n)).astype("f4")))

    def lstm(self, x, n_in, n_out):
        """[S, batch, n_in] to [S, batch, n_out]"""
        y = self.op("LSTM", x, self.scaled(1, 4 * n_out, n_in), self.scaled(1, 4 * n_out, n_out),
                    self.vector(0, shape=(1, 8 * n_out)), hidden_size=n_out)
        return self.op("Squeeze", y, self.ints(1))

    def places(self, x, axis):
        """1, 2, .. as f32[S]"""
        last = self.op("Squeeze", self.op("Add", self.size(x, axis), self.ints(1)), self.ints(0))
        return self.op("Cast", self.op("Range", self.const(np.int64(1)), last, self.const(np.int64(1))), to=FLOAT)


def demucs(g, x):
    """Causal: the recording is padded to what the layers take, computed at twice its rate, and cut to its length."""
    length = g.size(x, 2)
    short = g.op("Mod", g.op("Sub", g.ints(10), length), g.ints(8))
    x = g.op("Pad", x, g.op("Concat", g.ints(0, 0, 0, 0, 0), short, axis=0))
    scale = g.const(np.array([1, 1, 2], "f4"))
    x = g.op("Resize", x, "", scale, mode="linear", coordinate_transformation_mode="half_pixel")
    skips, width = [], [1, 6, 12]
    for i in range(2):
        x = g.op("Relu", g.conv(x, width[i], width[i + 1], 8, strides=[4]))
        x = g.glu(g.conv(x, width[i + 1], 2 * width[i + 1], 1), width[i + 1])
        skips.append(x)
    x = g.op("Transpose", x, perm=[2, 0, 1])
    x = g.op("Transpose", g.lstm(x, 12, 12), perm=[1, 2, 0])
    for i in (1, 0):
        x = g.op("Add", x, skips[i])
        x = g.glu(g.conv(x, width[i + 1], 2 * width[i + 1], 1), width[i + 1])
        x = g.deconv(x, width[i + 1], width[i], 8, 4)
        x = g.op("Relu", x) if i else x
    half = g.const(np.array([1, 1, 0.5], "f4"))
    x = g.op("Resize", x, "", half, mode="linear", coordinate_transformation_mode="half_pixel")
    return g.cut(x, 2, 0, length)


def cumulative_norm(g, x, n):
    """Mean and variance over channels and all frames so far."""
    count = g.op("Mul", g.places(x, 2), g.number(n))
    sums = g.op("CumSum", g.op("ReduceSum", x, g.ints(1), keepdims=1), g.const(np.int64(2)))
    powers = g.op("CumSum", g.op("ReduceSum", g.op("Pow", x, g.number(2)), g.ints(1), keepdims=1), g.const(np.int64(2)))
    mean = g.op("Div", sums, count)
    spread = g.op("Div", g.op("Sub", powers, g.op("Mul", g.op("Mul", g.number(2), mean), sums)), count)
    deviation = g.op("Sqrt", g.op("Add", g.op("Add", spread, g.op("Pow", mean, g.number(2))), g.number(1e-5)))
    x = g.op("Div", g.op("Sub", x, mean), deviation)
    return g.op("Add", g.op("Mul", x, g.vector(0, 1, (1, n, 1))), g.vector(0, 0, (1, n, 1)))


def convtasnet(g, x):
    mixed = g.op("Relu", g.conv(x, 1, 16, 16, strides=[8]))
    y = g.conv(cumulative_norm(g, mixed, 16), 16, 8, 1)
    for dilation in (1, 2, 4):
        z = cumulative_norm(g, g.op("PRelu", g.conv(y, 8, 16, 1), g.vector(0, 0.25, (1, 1))), 16)
        z = g.op("Pad", z, g.ints(0, 0, 2 * dilation, 0, 0, 0))
        z = g.conv(z, 16, 16, 3, dilations=[dilation], group=16)
        z = cumulative_norm(g, g.op("PRelu", z, g.vector(0, 0.25, (1, 1))), 16)
        y = g.op("Add", y, g.conv(z, 16, 8, 1))
    mask = g.op("Sigmoid", g.conv(y, 8, 16, 1))
    return g.deconv(g.op("Mul", mixed, mask), 16, 1, 16, 8)


def bcresnet(g, x):
    """Features are [1, channels, bands, S]; broadcast residuals of means over bands."""
    def conv2d(x, n_in, n_out, k, **attrs):
        return g.op("Conv", x, g.scaled(n_out, n_in // attrs.get("group", 1), *k), **attrs)

    x = g.op("Relu", g.norm(conv2d(x, 1, 8, (5, 5), strides=[2, 1], pads=[2, 2, 2, 2]), 8))
    for dilation in (1, 2):
        bands = conv2d(x, 8, 8, (3, 1), pads=[1, 0, 1, 0], group=8)
        split = g.op("Reshape", bands, g.ints(1, 8 * 5, 4, -1))
        bands = g.op("Reshape", g.norm(split, 40), g.ints(1, 8, 20, -1))
        mean = g.op("ReduceMean", bands, axes=[2], keepdims=1)
        mean = g.norm(conv2d(mean, 8, 8, (1, 3), pads=[0, dilation, 0, dilation], dilations=[1, dilation], group=8), 8)
        mean = conv2d(g.op("Mul", mean, g.op("Sigmoid", mean)), 8, 8, (1, 1))
        x = g.op("Relu", g.op("Add", x, g.op("Add", bands, mean)))
    x = conv2d(x, 8, 8, (5, 5), pads=[0, 2, 0, 2], group=8)
    x = g.op("ReduceMean", conv2d(x, 8, 12, (1, 1)), axes=[2], keepdims=0)
    return g.op("Softmax", x, axis=1)


def marblenet(g, x):
    def separable(x, n_in, n_out, k, dilation=1):
        return g.norm(g.conv(g.same(x, n_in, n_in, k, dilation, group=n_in), n_in, n_out, 1), n_out)

    x = g.op("Relu", separable(x, 32, 24, 11))
    for k in (13, 15):
        y = g.op("Relu", separable(x, 24, 24, k))
        x = g.op("Relu", g.op("Add", separable(y, 24, 24, k), g.norm(g.conv(x, 24, 24, 1), 24)))
    x = g.op("Relu", separable(x, 24, 32, 29, 2))
    return g.op("Softmax", g.conv(x, 32, 2, 1), axis=1)


def hifigan(g, x):
    x = g.same(x, 20, 32, 7)
    for n, (k, stride) in ((32, (8, 4)), (16, (4, 2))):
        x = g.deconv(g.op("LeakyRelu", x, alpha=0.1), n, n // 2, k, stride, pads=[(k - stride) // 2] * 2)
        fields = []
        for k in (3, 7):
            y = x
            for dilation in (1, 3):
                z = g.same(g.op("LeakyRelu", y, alpha=0.1), n // 2, n // 2, k, dilation)
                z = g.same(g.op("LeakyRelu", z, alpha=0.1), n // 2, n // 2, k)
                y = g.op("Add", y, z)
            fields.append(y)
        x = g.op("Div", g.op("Add", *fields), g.number(2))
    return g.op("Tanh", g.same(g.op("LeakyRelu", x), 8, 1, 7))


def pyannet(g, x):
    """One way; the norms over whole recordings of the original are left out."""
    x = g.op("Abs", g.conv(x, 1, 16, 51, strides=[10]))
    x = g.op("LeakyRelu", g.op("MaxPool", x, kernel_shape=[3], strides=[3]))
    for n in (16, 12):
        x = g.op("LeakyRelu", g.op("MaxPool", g.conv(x, n, 12, 5), kernel_shape=[3], strides=[3]))
    x = g.op("Transpose", x, perm=[2, 0, 1])
    x = g.lstm(g.lstm(x, 12, 16), 16, 16)
    return g.op("Softmax", g.op("Transpose", g.affine(x, 16, 7), perm=[1, 0, 2]), axis=2)


def fullsubnet(g, x):
    """Magnitudes [1, 1, 17, S]: cumulative norm by the mean so far, a full band and bands with two neighbours each side."""
    bands = 17

    def normalised(x):
        means = g.op("ReduceMean", x, axes=[1, 2], keepdims=1)
        so_far = g.op("Div", g.op("CumSum", means, g.const(np.int64(3))), g.places(x, 3))
        return g.op("Div", x, g.op("Add", so_far, g.number(1e-5)))

    x = g.op("Abs", x)
    full = g.op("Transpose", g.op("Reshape", normalised(x), g.ints(1, bands, -1)), perm=[2, 0, 1])
    full = g.op("Relu", g.affine(g.lstm(full, bands, 24), 24, bands))                   # [S, 1, bands]
    full = g.op("Unsqueeze", g.op("Transpose", full, perm=[1, 2, 0]), g.ints(1))
    padded = g.op("Pad", x, g.ints(0, 0, 2, 0, 0, 0, 2, 0), mode="reflect")
    near = [g.cut(padded, 2, i, i + bands) for i in range(5)]
    joined = normalised(g.op("Concat", *near, full, axis=1))                            # [1, 6, bands, S]
    rows = g.op("Transpose", g.op("Squeeze", joined, g.ints(0)), perm=[2, 1, 0])        # [S, bands, 6]
    mask = g.affine(g.lstm(rows, 6, 12), 12, 2)
    return g.op("Transpose", mask, perm=[2, 1, 0])


NETS = {
    "demucs": (demucs, [1, 1, "S"]),
    "convtasnet": (convtasnet, [1, 1, "S"]),
    "bcresnet": (bcresnet, [1, 1, 40, "S"]),
    "marblenet": (marblenet, [1, 32, "S"]),
    "hifigan": (hifigan, [1, 20, "S"]),
    "pyannet": (pyannet, [1, 1, "S"]),
    "fullsubnet": (fullsubnet, [1, 1, 17, "S"]),
}


def model(name):
    Net.count = 0
    layers, shape = NETS[name]
    g = Net(np.random.default_rng(20261124))
    y = layers(g, "x")
    g.op("Identity", y, out=["out"])
    graph = helper.make_graph(g.nodes, name, [helper.make_tensor_value_info("x", FLOAT, shape)],
                              [helper.make_tensor_value_info("out", FLOAT, None)], g.init)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
