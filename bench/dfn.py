# SPDX-License-Identifier: MIT
"""The shapes of two published enhancers, one frame a run with their states as inputs and outputs, weights random.

dfn3: DeepFilterNet 3's encoder and both decoders in one graph (64 channels, 32 bands, 96 bins, GRUs of 256), a GRU op per
layer. dpdfnet2: DPDFNet-2 at 16 kHz (the same with two dual-path blocks of 64 on both branches; features, mask and deep
filter inside; GRU cells written out in products; one flat state).
"""
from onnx_write import INT64, Net

CHANNELS, BANDS, BINS, WIDE, HIDDEN, ORDER = 64, 32, 96, 512, 256, 5


class Step(Net):
    """A net of one frame. `state` gives the old value of a state; `keep` says the new one."""
    def __init__(self, flat):
        super().__init__(opset=17)
        self.flat, self.kept, self.size = flat, [], 0
        self.axes = {}

    def axis(self, *values):
        if values not in self.axes:
            self.axes[values] = self.ints(values)
        return self.axes[values]

    def scalar(self, value):
        if ("at", value) not in self.axes:
            self.axes["at", value] = self.tensor(f"at_{value}", [], value.to_bytes(8, "little"), INT64)
        return self.axes["at", value]

    def state(self, name, dims):
        if not self.flat:
            return self.input(name, dims)
        count = 1
        for d in dims:
            count *= d
        x = self.node("Slice", ["state_in", self.axis(self.size), self.axis(self.size + count), self.axis(0)])
        self.size += count
        return self.reshape(x, dims)

    def keep(self, name, value, dims):
        if self.flat:
            self.kept.append(self.reshape(value, [-1]))
        else:
            self.node("Identity", [value], name + "_out")
            self.output(name + "_out", dims)

    def reshape(self, x, dims):
        return self.node("Reshape", [x, self.axis(*dims)])

    def last(self, x, count, total, axis):
        return self.node("Slice", [x, self.axis(total - count), self.axis(total), self.axis(axis)])

    def history(self, x, name, channels, past, width):
        """The frame with the `past` frames before it."""
        dims = [1, channels, past, width]
        y = self.node("Concat", [self.state(name, dims), x], axis=2)
        self.keep(name, self.last(y, past, past + 1, 2), dims)
        return y

    def conv(self, x, cin, cout, kernel, groups=1, stride=1, act="Relu", bias=True, up=False):
        area = kernel[0] * kernel[1]
        pad = kernel[1] // 2
        attrs = dict(kernel_shape=list(kernel), strides=[1, stride], pads=[0, pad, 0, pad], group=groups)
        if up:
            attrs["output_padding"] = [0, stride - 1]
        dims = [cin, cout // groups, *kernel] if up else [cout, cin // groups, *kernel]
        ins = [x, self.weights(dims, (area * cin / groups) ** -0.5)] + ([self.weights([cout], 0.1)] if bias else [])
        y = self.node("ConvTranspose" if up else "Conv", ins, **attrs)
        return self.node(act, [y]) if act else y

    def separable(self, x, cin, cout, kernel, groups, stride=1, up=False):
        y = self.conv(x, cin, cout, kernel, groups, stride, act=None, bias=False, up=up)
        return self.conv(y, cout, cout, (1, 1))

    def grouped(self, x, cin, cout, groups, act="Relu"):
        """A linear layer in groups, as the exporters of the two nets write it."""
        if not self.flat:
            y = self.reshape(x, [1, 1, groups, cin // groups])
            y = self.node("Einsum", [y, self.weights([groups, cin // groups, cout // groups], (groups / cin) ** 0.5)],
                          equation="btgi,gih->btgh")
            y = self.reshape(y, [1, 1, cout])
            return self.node(act, [y]) if act else y
        y = self.reshape(x, [groups, 1, cin // groups])
        y = self.node("MatMul", [y, self.weights([groups, cin // groups, cout // groups], (groups / cin) ** 0.5)])
        y = self.reshape(y, [1, cout])
        return self.node(act, [y]) if act else y

    def cell(self, x, h, size):
        """A GRU cell in products, as exporters write it; x and h are [rows, size]."""
        a = self.node("Gemm", [x, self.weights([3 * size, size], size ** -0.5), self.weights([3 * size], 0.1)], transB=1)
        b = self.node("Gemm", [h, self.weights([3 * size, size], size ** -0.5), self.weights([3 * size], 0.1)], transB=1)
        gates = [[self.fresh("split") for _ in range(3)] for _ in range(2)]
        for y, outs in zip((a, b), gates):
            self.node("Split", [y, self.axis(size, size, size)], outs, axis=1)
        (ar, az, an), (br, bz, bn) = gates
        r = self.node("Sigmoid", [self.node("Add", [ar, br])])
        z = self.node("Sigmoid", [self.node("Add", [az, bz])])
        n = self.node("Tanh", [self.node("Add", [an, self.node("Mul", [r, bn])])])
        return self.node("Add", [n, self.node("Mul", [z, self.node("Sub", [h, n])])])

    def gru(self, x, size, name):
        """One step; x is [1, size], or [1, 1, size] with the batch first."""
        if self.flat:
            y = self.cell(x, self.state(name, [1, size]), size)
            self.keep(name, y, [1, size])
            return y
        self.state(name, [1, 1, size])
        y, steps = self.fresh("gru"), self.fresh("gru")
        self.node("GRU", [self.node("Transpose", [x], perm=[1, 0, 2]), self.weights([1, 3 * size, size], size ** -0.5),
                          self.weights([1, 3 * size, size], size ** -0.5), self.weights([1, 6 * size], 0.1), "", name],
                  [steps, y], hidden_size=size, linear_before_reset=1)
        self.keep(name, y, [1, 1, size])
        return self.node("Transpose", [self.node("Squeeze", [steps, self.axis(1)])], perm=[1, 0, 2])

    def squeezed(self, x, layers, name, cout=WIDE):
        y = self.grouped(x, WIDE, HIDDEN, 16)
        for i in range(layers):
            y = self.gru(y, HIDDEN, f"{name}{i}")
        return self.grouped(y, HIDDEN, cout, 16) if cout else y

    def norm(self, x, size):
        return self.node("LayerNormalization", [x, self.weights([size], 1), self.weights([size], 0.1)], axis=-1)

    def dual_path(self, x, width, name):
        """Over frequency both ways, then each band over time; x is [1, C, 1, width]."""
        c, gates = CHANNELS, 3 * CHANNELS
        x = self.reshape(self.node("Transpose", [x], perm=[2, 3, 0, 1]), [width, 1, c])
        y = self.node("GRU", [x, self.weights([2, gates, c], c ** -0.5), self.weights([2, gates, c], c ** -0.5),
                              self.weights([2, 2 * gates], 0.1)], hidden_size=c, linear_before_reset=1,
                      direction="bidirectional")
        y = self.reshape(self.node("Transpose", [y], perm=[0, 2, 1, 3]), [width, 2 * c])
        y = self.node("Gemm", [y, self.weights([c, 2 * c], 0.1), self.weights([c], 0.1)], transB=1)
        x = self.node("Add", [self.reshape(x, [width, c]), self.norm(y, c)])
        h = self.cell(x, self.state(name, [width, c]), c)
        self.keep(name, h, [width, c])
        y = self.node("Gemm", [h, self.weights([c, c], 0.1), self.weights([c], 0.1)], transB=1)
        x = self.node("Add", [x, self.norm(y, c)])
        return self.node("Transpose", [self.reshape(x, [1, 1, width, c])], perm=[0, 3, 1, 2])


def flatten(n, x, width):
    return n.reshape(n.node("Transpose", [x], perm=[0, 2, 3, 1]), [1] * (1 if n.flat else 2) + [CHANNELS * width])


def encoder(n, erb, spec, blocks):
    c = CHANNELS
    e0 = n.conv(n.history(erb, "erb_past", 1, 2, BANDS), 1, c, (3, 3))
    e1 = n.separable(e0, c, c, (1, 3), c, 2)
    e2 = n.separable(e1, c, c, (1, 3), c, 2)
    e3 = n.separable(e2, c, c, (1, 3), c)
    c0 = n.separable(n.history(spec, "spec_past", 2, 2, BINS), 2, c, (3, 3), 2)
    c1 = n.separable(c0, c, c, (1, 3), c, 2)
    for i in range(blocks):
        e3 = n.dual_path(e3, BANDS // 4, f"erb_path{i}")
        c1 = n.dual_path(c1, BINS // 2, f"df_path{i}")
    wide = n.grouped(flatten(n, c1, BINS // 2), c * BINS // 2, WIDE, 32)
    emb = n.squeezed(n.node("Add", [flatten(n, e3, BANDS // 4), wide]), 1, "enc_gru")
    return (e0, e1, e2, e3), c0, emb


def up(n, x, width, subpixel):
    """Twice as many bands: transposed convolution, or channels interleaved."""
    c = CHANNELS
    if not subpixel:
        return n.separable(x, c, c, (1, 3), c, 2, up=True)
    y = n.conv(n.conv(x, c, c, (1, 3), c, act=None, bias=False), c, 2 * c, (1, 1))
    y = n.node("Transpose", [n.reshape(y, [1, c, 2, 1, width])], perm=[0, 1, 3, 4, 2])
    return n.reshape(y, [1, c, 1, 2 * width])


def erb_decoder(n, skips, emb, subpixel):
    c, bands = CHANNELS, BANDS // 4
    d = n.reshape(n.squeezed(emb, 2, "erb_gru"), [1, 1, bands, c])
    d = n.node("Transpose", [d], perm=[0, 3, 1, 2])
    side = [n.conv(s, c, c, (1, 1), c) for s in skips]
    d = n.separable(n.node("Add", [side[3], d]), c, c, (1, 3), c)
    d = up(n, n.node("Add", [side[2], d]), bands, subpixel)
    d = up(n, n.node("Add", [side[1], d]), 2 * bands, subpixel)
    return n.conv(n.node("Add", [side[0], d]), c, 1, (1, 3), act="Sigmoid")


def df_decoder(n, emb, c0):
    c = n.squeezed(emb, 2, "df_gru", 0)
    c = n.node("Add", [c, n.grouped(emb, WIDE, HIDDEN, 16, None)])
    taps = n.reshape(n.grouped(c, HIDDEN, BINS * 2 * ORDER, 16, "Tanh"), [1, 1, BINS, 2 * ORDER])
    path = n.conv(n.history(c0, "c0_past", CHANNELS, ORDER - 1, BINS), CHANNELS, 2 * ORDER, (ORDER, 1), 2, act=None, bias=False)
    path = n.conv(path, 2 * ORDER, 2 * ORDER, (1, 1))
    return n.node("Add", [taps, n.node("Transpose", [path], perm=[0, 2, 3, 1])])


def dfn3():
    n = Step(flat=False)
    erb, spec = n.input("erb", [1, 1, 1, BANDS]), n.input("spec", [1, 2, 1, BINS])
    skips, c0, emb = encoder(n, erb, spec, 0)
    n.node("Identity", [erb_decoder(n, skips, emb, False)], "gains")
    n.node("Identity", [df_decoder(n, emb, c0)], "taps")
    n.node("Sigmoid", [n.node("Add", [n.node("MatMul", [emb, n.weights([WIDE, 1], 0.05)]), n.weights([1], 0.1)])], "lsnr")
    for name, dims in (("gains", [1, 1, 1, BANDS]), ("taps", [1, 1, BINS, 2 * ORDER]), ("lsnr", [1, 1, 1])):
        n.output(name, dims)
    return n


def one_pole(n, x, name, size):
    """An exponential mean over frames."""
    old = n.node("Mul", [n.state(name, [1, size]), n.floats([0.99], [1])])
    new = n.node("Add", [old, n.node("Mul", [x, n.floats([0.01], [1])])])
    n.keep(name, new, [1, size])
    return new


def features(n, spec, bins):
    flat = n.reshape(spec, [bins, 2])
    power = n.node("ReduceSum", [n.node("Mul", [flat, flat]), n.axis(1)], keepdims=0)
    power = n.reshape(power, [1, bins])
    erb = n.node("MatMul", [power, n.floats([1.0 / 5 if b * 5 <= k < b * 5 + 6 else 0.0 for k in range(bins)
                                             for b in range(BANDS)], [bins, BANDS])])
    erb = n.node("Mul", [n.node("Log", [n.node("Add", [erb, n.floats([1e-10], [1])])]), n.floats([4.34], [1])])
    erb = n.node("Mul", [n.node("Sub", [erb, one_pole(n, erb, "erb_norm", BANDS)]), n.floats([1 / 40], [1])])
    low = n.node("Slice", [flat, n.axis(0), n.axis(BINS), n.axis(0)])
    size = n.node("Sqrt", [n.node("Slice", [power, n.axis(0), n.axis(BINS), n.axis(1)])])
    mean = n.node("Sqrt", [n.node("Add", [one_pole(n, size, "spec_norm", BINS), n.floats([1e-6], [1])])])
    low = n.node("Div", [n.node("Transpose", [low], perm=[1, 0]), mean])
    return n.reshape(erb, [1, 1, 1, BANDS]), n.reshape(low, [1, 2, 1, BINS])


def deep_filter(n, masked, noisy, taps, bins):
    """Complex taps over the last frames of the noisy low bins; the masked spectrum above them. [1, 1, bins, 2] each."""
    low = n.node("Slice", [noisy, n.axis(0), n.axis(BINS), n.axis(2)])
    past = n.node("Concat", [n.state("noisy_past", [1, ORDER - 1, BINS, 2]), low], axis=1)
    n.keep("noisy_past", n.last(past, ORDER - 1, ORDER, 1), [1, ORDER - 1, BINS, 2])
    taps = n.node("Transpose", [n.reshape(taps, [1, BINS, ORDER, 2])], perm=[0, 2, 1, 3])

    def part(x, i):
        return n.node("Gather", [x, n.scalar(i)], axis=3)
    re, im, a, b = part(past, 0), part(past, 1), part(taps, 0), part(taps, 1)
    mul, total = (lambda x, y: n.node("Mul", [x, y])), (lambda x: n.node("ReduceSum", [x, n.axis(1)], keepdims=1))
    real = total(n.node("Sub", [mul(re, a), mul(im, b)]))
    imag = total(n.node("Add", [mul(re, b), mul(im, a)]))
    both = n.node("Concat", [n.node("Unsqueeze", [real, n.axis(3)]), n.node("Unsqueeze", [imag, n.axis(3)])], axis=3)
    high = n.node("Slice", [masked, n.axis(BINS), n.axis(bins), n.axis(2)])
    return n.node("Concat", [both, high], axis=2)


def dpdfnet2(bins=161, blocks=2):
    n = Step(flat=True)
    spec = n.input("spec", [1, 1, bins, 2])
    erb, low = features(n, spec, bins)
    skips, c0, emb = encoder(n, erb, low, blocks)
    gains = n.reshape(erb_decoder(n, skips, emb, True), [1, BANDS])
    wide = n.node("MatMul", [gains, n.floats([1.0 if b * 5 <= k < b * 5 + 6 else 0.0 for b in range(BANDS)
                                              for k in range(bins)], [BANDS, bins])])
    taps = df_decoder(n, emb, c0)
    late = n.node("Concat", [n.state("spec_late", [1, 2, bins, 2]), spec], axis=1)
    n.keep("spec_late", n.last(late, 2, 3, 1), [1, 2, bins, 2])
    noisy = n.node("Slice", [late, n.axis(0), n.axis(1), n.axis(1)])
    masked = n.node("Mul", [noisy, n.reshape(wide, [1, 1, bins, 1])])
    n.node("Identity", [deep_filter(n, masked, noisy, taps, bins)], "spec_e")
    n.output("spec_e", [1, 1, bins, 2])
    n.node("Concat", n.kept, "state_out", axis=0)
    n.input("state_in", [n.size])
    n.output("state_out", [n.size])
    return n
