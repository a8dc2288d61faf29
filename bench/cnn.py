# SPDX-License-Identifier: MIT
"""Convolutional nets of known shapes, weights random, and the ops that they are made of: rows of docs/speed.md, "Convolutions and
pools". NETS: what nets.py makes; LABELS: what the table calls them, in its order."""
import struct

from onnx_write import Net

IMAGE = [1, 64, 40, 100]


class Cnn(Net):
    """Follows the shape of one tensor, x, through what is added."""
    def __init__(self, dims):
        super().__init__(opset=17)
        self.x, self.dims = self.input("x", dims), list(dims)

    def add(self, op, dims=None, extra=(), **attrs):
        self.x, self.dims = self.node(op, [self.x, *extra], **attrs), list(dims or self.dims)
        return self

    def conv(self, to, kernel, stride=1, groups=1, dilation=1, pads=None, act="Relu", **alpha):
        """kernel and stride: a number, or one of each axis; pads: as wide as the kernel keeps the size."""
        axes = len(self.dims) - 2
        kernel, stride = ([v] * axes if isinstance(v, int) else list(v) for v in (kernel, stride))
        pads = [k // 2 * dilation for k in kernel] * 2 if pads is None else pads
        taps = 1
        for k in kernel:
            taps *= k
        inputs = self.dims[1] // groups
        size = [(self.dims[2 + i] + pads[i] + pads[axes + i] - dilation * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(axes)]
        self.add("Conv", [1, to, *size], [self.weights([to, inputs, *kernel], (3 / (inputs * taps)) ** 0.5), self.weights([to], 0.1)],
                 kernel_shape=kernel, strides=stride, pads=pads, group=groups, dilations=[dilation] * axes)
        return self.add(act, **alpha) if act else self

    def depthwise(self, to, kernel, stride=1, dilation=1, act="Relu"):
        return self.conv(self.dims[1], kernel, stride, self.dims[1], dilation, act=act)

    def pool(self, op, kernel, stride, pad=0, **attrs):
        axes = len(self.dims) - 2
        size = [(self.dims[2 + i] + 2 * pad - kernel[i]) // stride[i] + 1 for i in range(axes)]
        return self.add(op, self.dims[:2] + size, kernel_shape=kernel, strides=stride, pads=[pad] * 2 * axes, **attrs)

    def means(self):
        return self.add("GlobalAveragePool", self.dims[:2] + [1] * (len(self.dims) - 2))

    def dense(self, to, act=None):
        self.add("Gemm", [1, to], [self.weights([self.dims[1], to], self.dims[1] ** -0.5), self.weights([to], 0.1)])
        return self.add(act) if act else self

    def flat(self):
        return self.add("Flatten", self.dims[:2])

    def done(self):
        self.node("Identity", [self.x], "y")
        self.output("y", self.dims)
        return self


# ---- nets ----

def yamnet():
    n = Cnn([1, 1, 96, 64]).conv(32, 3, 2)
    for to, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]:
        n.depthwise(to, 3, stride).conv(to, 1)
    return n.means().flat().dense(521)


def dscnn():
    n = Cnn([1, 1, 49, 10]).conv(64, [10, 4], 2, pads=[4, 1, 5, 1])
    for _ in range(4):
        n.depthwise(64, 3).conv(64, 1)
    return n.means().flat().dense(12).add("Softmax", axis=-1)


def resnet34():
    n = Cnn([1, 1, 80, 200]).conv(32, 3)
    for count, to, stride in [(3, 32, 1), (4, 64, 2), (6, 128, 2), (3, 256, 2)]:
        for i in range(count):
            by, x, dims = stride if i == 0 else 1, n.x, n.dims
            y = n.conv(to, 3, by).conv(to, 3, act=None).x
            if by != 1 or dims[1] != to:
                n.x, n.dims = x, dims
                x = n.conv(to, 1, by, act=None).x
            n.x = n.node("Relu", [n.node("Add", [x, y])])
    return n.means().flat().dense(256)


def dnsmos():
    n = Cnn([1, 1, 225, 120])
    for to, pooled in [(128, 0), (64, 0), (64, 0), (32, 1), (32, 1), (32, 1), (64, 0)]:
        n.conv(to, 3)
        if pooled:
            n.pool("MaxPool", [2, 2], [2, 2])
    n.add("GlobalMaxPool", n.dims[:2] + [1, 1])
    return n.flat().dense(128, "Relu").dense(3)


def wake_word():
    n, leaky = Cnn([1, 1, 76, 32]).conv(24, 3, pads=[0, 1, 0, 1]), {"act": "LeakyRelu", "alpha": 0.2}
    for to, pool in [(24, [2, 2]), (48, [1, 2]), (72, [2, 2]), (96, [1, 2])]:
        for _ in range(2):
            n.conv(to, [1, 3], pads=[0, 1, 0, 1], **leaky).conv(to, [3, 1], pads=[0] * 4, **leaky)
        n.pool("MaxPool", pool, pool)
    return n.means()


def ecapa():
    n = Cnn([1, 80, 200]).conv(512, 5)
    for dilation in (2, 3, 4):
        x, dims = n.x, n.dims
        n.conv(512, 1)
        parts = [n.fresh("p") for _ in range(8)]
        n.node("Split", [n.x, n.ints([64] * 8)], parts, axis=1)
        done, n.dims = parts[:1], [1, 64, 200]
        for i, part in enumerate(parts[1:]):
            n.x = n.node("Add", [part, n.x]) if i else part
            done.append(n.conv(64, 3, dilation=dilation).x)
        n.x, n.dims = n.node("Concat", done, axis=1), dims
        y = n.conv(512, 1).x
        gains = n.means().conv(128, 1).conv(512, 1, act="Sigmoid").x
        n.x, n.dims = n.node("Add", [x, n.node("Mul", [y, gains])]), dims
    return n.conv(1536, 1).means()


def marblenet():
    n = Cnn([1, 64, 200]).depthwise(64, 11, act=None).conv(128, 1)
    for kernel in (13, 15, 17):
        x, dims = n.x, n.dims
        rest = n.conv(64, 1, act=None).x
        n.x, n.dims = x, dims
        n.depthwise(0, kernel, act=None).conv(64, 1).depthwise(0, kernel, act=None).conv(64, 1, act=None)
        n.x = n.node("Relu", [n.node("Add", [n.x, rest])])
    return n.depthwise(0, 29, dilation=2, act=None).conv(128, 1).conv(128, 1).conv(2, 1, act=None)


def transformer():
    size, rows = 384, 32
    n = Cnn([rows, size])
    x = n.x

    def norm(v):
        return n.node("LayerNormalization", [v, n.weights([size], 1), n.weights([size], 1)], axis=-1)

    def linear(v, cin, cout):
        return n.node("Add", [n.node("MatMul", [v, n.weights([cin, cout], cin ** -0.5)]), n.weights([cout], 0.1)])

    def heads(v, perm):
        return n.node("Transpose", [n.node("Reshape", [v, n.ints([rows, 6, 64])])], perm=perm)
    for _ in range(6):
        y = norm(x)
        q, k, v = (heads(linear(y, size, size), p) for p in ([1, 0, 2], [1, 2, 0], [1, 0, 2]))
        a = n.node("Softmax", [n.node("Mul", [n.node("MatMul", [q, k]), n.floats([0.125], [])])], axis=-1)
        o = n.node("Transpose", [n.node("MatMul", [a, v])], perm=[1, 0, 2])
        x = n.node("Add", [x, linear(n.node("Reshape", [o, n.ints([rows, size])]), size, size)])
        y = linear(norm(x), size, 4 * size)
        x = n.node("Add", [x, linear(n.node("Mul", [y, n.node("Sigmoid", [y])]), 4 * size, size)])
    n.x = x
    return n


# ---- one op each ----

def conv(channels, to, size, kernel, **how):
    return Cnn([1, channels, *size]).conv(to, kernel, **how)


def conv_transposed(channels, to, size, kernel, stride, pads):
    n, axes = Cnn([1, channels, *size]), len(size)
    out = [(size[i] - 1) * stride[i] - pads[i] - pads[axes + i] + kernel[i] for i in range(axes)]
    return n.add("ConvTranspose", [1, to, *out], [n.weights([channels, to, *kernel], channels ** -0.5), n.weights([to], 0.1)],
                 kernel_shape=kernel, strides=stride, pads=pads)


def pool(op, kernel, stride, pad=0, dims=IMAGE, **attrs):
    return Cnn(dims).pool(op, kernel, stride, pad, **attrs)


def pool_all(op, dims, **attrs):
    return Cnn(dims).add(op, dims[:2] + [1, 1], **attrs)


def reduced(op, axes):
    n = Cnn(IMAGE)
    dims = [1 if i in axes else d for i, d in enumerate(IMAGE)]
    return n.add(op, dims, [n.ints(axes)]) if op == "ReduceSum" else n.add(op, dims, axes=axes)


def plain(op, dims=IMAGE, weights=0, out=None, **attrs):
    n = Cnn(dims)
    return n.add(op, out, [n.weights([weights], 1) for _ in range(2 if weights else 0)], **attrs)


def resized(mode, **attrs):
    n = Cnn([1, 64, 20, 50])
    scales = n.tensor("scales", [4], struct.pack("<4f", 1, 1, 2, 2))
    return n.add("Resize", IMAGE, ["", scales], mode=mode, **attrs)


def sliced():
    n = Cnn(IMAGE)
    return n.add("Slice", [1, 64, 40, 50], [n.ints([v]) for v in (0, 50, 3, 1)])


def side_by_side():
    n = Cnn(IMAGE)
    parts = [n.node("Relu", ["x"]), n.node("Sigmoid", ["x"])]
    n.x, n.dims = n.node("Concat", parts, axis=3), [1, 64, 40, 200]
    return n


ROWS = [
    ("MobileNet v1 in YAMNet's shape, [1, 1, 96, 64]", yamnet), ("DS-CNN for keywords, 49 x 10", dscnn),
    ("ResNet34 for speakers, 80 x 200", resnet34), ("DNSMOS-shaped, 225 x 120", dnsmos),
    ("wake word embedding, 76 x 32", wake_word), ("ECAPA-shaped, 80 x 200", ecapa), ("MarbleNet-shaped, 64 x 200", marblenet),
    ("6 transformer layers of 384, 32 rows", transformer),
    ("3x3, 64 to 64, 25 x 5", conv, 64, 64, [25, 5], 3), ("3x3, 64 to 64, 40 x 100", conv, 64, 64, [40, 100], 3),
    ("the same, dilation 2", conv, 64, 64, [40, 100], 3, {"dilation": 2}),
    ("the same, 4 groups", conv, 64, 64, [40, 100], 3, {"groups": 4}),
    ("3x3, 32 to 32, 80 x 200", conv, 32, 32, [80, 200], 3), ("3x3, 128 to 128, 20 x 50", conv, 128, 128, [20, 50], 3),
    ("3x3, 256 to 256, 10 x 25", conv, 256, 256, [10, 25], 3),
    ("3x3, 32 to 64, stride 2, 80 x 200", conv, 32, 64, [80, 200], 3, {"stride": 2}),
    ("3x3, 1 to 32, 80 x 200", conv, 1, 32, [80, 200], 3), ("1x1, 64 to 64, 25 x 5", conv, 64, 64, [25, 5], 1),
    ("1x1, 32 to 64, 48 x 32", conv, 32, 64, [48, 32], 1), ("1x1, 256 to 256, 24 x 16", conv, 256, 256, [24, 16], 1),
    ("1x1, 512 to 512, 6 x 4", conv, 512, 512, [6, 4], 1), ("1x1, 1024 to 1024, 3 x 2", conv, 1024, 1024, [3, 2], 1),
    ("depthwise 3x3, 64, 25 x 5", conv, 64, 64, [25, 5], 3, {"groups": 64}),
    ("depthwise 3x3, 32, 48 x 32", conv, 32, 32, [48, 32], 3, {"groups": 32}),
    ("depthwise 3x3, 256, 24 x 16", conv, 256, 256, [24, 16], 3, {"groups": 256}),
    ("depthwise 3x3, 512, 6 x 4", conv, 512, 512, [6, 4], 3, {"groups": 512}),
    ("depthwise 3x3, 64, stride 2, 48 x 32", conv, 64, 64, [48, 32], 3, {"groups": 64, "stride": 2}),
    ("ConvTranspose 3x3, 64 to 32, stride 2, 20 x 50", conv_transposed, 64, 32, [20, 50], [3, 3], [2, 2], [1, 1, 1, 1]),
    ("ConvTranspose 1x3, 64 to 64, stride 2, 25 x 33", conv_transposed, 64, 64, [25, 33], [1, 3], [1, 2], [0, 1, 0, 1]),
    ("ConvTranspose 8, 128 to 64, stride 4, 250", conv_transposed, 128, 64, [250], [8], [4], [2, 2]),
    ("global average pool, 64, 25 x 5", pool_all, "GlobalAveragePool", [1, 64, 25, 5]),
    ("global average pool, 256, 10 x 25", pool_all, "GlobalAveragePool", [1, 256, 10, 25]),
    ("global max pool, 64, 25 x 5", pool_all, "GlobalMaxPool", [1, 64, 25, 5]),
    ("global Lp pool, 64, 25 x 5", pool_all, "GlobalLpPool", [1, 64, 25, 5], {"p": 2}),
    ("max pool 2x2, 64, 40 x 100", pool, "MaxPool", [2, 2], [2, 2]), ("max pool 2x1", pool, "MaxPool", [2, 1], [2, 1]),
    ("max pool 3x3, stride 2, padded", pool, "MaxPool", [3, 3], [2, 2], 1),
    ("max pool 3x3, stride 1, padded", pool, "MaxPool", [3, 3], [1, 1], 1),
    ("max pool 4, 64, 4000", pool, "MaxPool", [4], [4], 0, [1, 64, 4000]),
    ("average pool 2x2", pool, "AveragePool", [2, 2], [2, 2]),
    ("average pool 3x3, stride 1, padded", pool, "AveragePool", [3, 3], [1, 1], 1),
    ("Lp pool 2x2", pool, "LpPool", [2, 2], [2, 2], 0, IMAGE, {"p": 2}),
    ("ReduceMean of rows of 100", reduced, "ReduceMean", [3]), ("ReduceMean of images", reduced, "ReduceMean", [2, 3]),
    ("ReduceMean of channels", reduced, "ReduceMean", [1]), ("ReduceSum of rows of 100", reduced, "ReduceSum", [3]),
    ("ReduceMax of rows of 100", reduced, "ReduceMax", [3]), ("ReduceMax of channels", reduced, "ReduceMax", [1]),
    ("Softmax, 64 rows of 512", plain, "Softmax", [64, 512], {"axis": -1}),
    ("Softmax of channels", plain, "Softmax", IMAGE, {"axis": 1}),
    ("LogSoftmax, 100 rows of 40", plain, "LogSoftmax", [100, 40], {"axis": -1}),
    ("LayerNormalization, 32 rows of 384", plain, "LayerNormalization", [32, 384], 384, {"axis": -1}),
    ("InstanceNormalization", plain, "InstanceNormalization", IMAGE, 64), ("Elu", plain, "Elu"), ("Sigmoid", plain, "Sigmoid"),
    ("Relu", plain, "Relu"),
    ("Resize by 2, nearest, from 20 x 50", resized, "nearest",
     {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    ("Resize by 2, linear", resized, "linear", {"coordinate_transformation_mode": "half_pixel"}),
    ("Transpose, channels last", plain, "Transpose", IMAGE, 0, [1, 40, 100, 64], {"perm": [0, 2, 3, 1]}),
    ("Transpose, 384 x 1000", plain, "Transpose", [384, 1000], 0, [1000, 384], {"perm": [1, 0]}),
    ("Transpose, 32 x 6 x 64 to heads", plain, "Transpose", [32, 6, 64], 0, [6, 32, 64], {"perm": [1, 0, 2]}),
    ("Slice, half of each row", sliced), ("Relu and Sigmoid side by side (Concat)", side_by_side),
]


def made(label):
    function, *args = next(row[1:] for row in ROWS if row[0] == label)
    how = args.pop() if args and isinstance(args[-1], dict) else {}
    return function(*args, **how).done()


LABELS = [row[0] for row in ROWS]
NETS = {f"cnn_{i}": (made, label) for i, label in enumerate(LABELS)}
