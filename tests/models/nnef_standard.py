# SPDX-License-Identifier: MIT
"""Every operator of the NNEF standard, by numbers that Python computes, or the words that it is refused in.

    nnef_standard.py RILL"""
import itertools
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nnef_case import RILL, ROLL, check, finish, floats, graph, rolled, run  # noqa: E402

# Sections 4.1 to 4.6 of the standard, 1.0.5.
STANDARD = """external variable constant update
 copy neg rcp exp log sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh abs sign not floor ceil round
 add sub mul div pow lt gt le ge eq ne and or select
 sqr sqrt rsqr rsqrt log2 min max clamp
 conv deconv box debox argmax_pool sample desample nearest_downsample area_downsample nearest_upsample multilinear_upsample
 sum_reduce max_reduce min_reduce argmax_reduce argmin_reduce any_reduce all_reduce mean_reduce
 reshape squeeze unsqueeze transpose split concat stack unstack slice pad tile gather cast
 avg_roi_pool max_roi_pool roi_resample avg_roi_align max_roi_align
 matmul linear separable_conv separable_deconv
 max_pool_with_index max_pool avg_pool rms_pool
 local_response_normalization local_mean_normalization local_variance_normalization local_contrast_normalization
 l1_normalization l2_normalization batch_normalization moments
 relu sigmoid softabs softmax softplus elu selu gelu silu prelu leaky_relu
 min_max_linear_quantize zero_point_linear_quantize linear_quantize logarithmic_quantize copy_n add_n""".split()
ELSEWHERE = """external local_response_normalization local_mean_normalization local_contrast_normalization l1_normalization
 l2_normalization zero_point_linear_quantize linear_quantize logarithmic_quantize""".split()  # nnef_forms.py
DONE = set()


class Array:
    """Numbers in the order of their places."""

    def __init__(self, shape, values, kind="f"):
        self.shape, self.v, self.kind = tuple(shape), list(values), kind

    def places(self):
        return list(itertools.product(*map(range, self.shape)))

    def offset(self, at):
        n = 0
        for k, size in zip(at, self.shape):
            n = n * size + k
        return n

    def __getitem__(self, at):
        return self.v[self.offset(at)]

    def io(self):
        return self.kind, self.shape, self.v


def made(shape, f, kind="f"):
    return Array(shape, [f(at) for at in itertools.product(*map(range, shape))], kind)


def rand(*shape, low=-1.0, high=1.0):
    return Array(shape, [ROLL.uniform(low, high) for _ in range(math.prod(shape))])


def case(names, body, ins, outs, words="", **more):
    """`names` are computed by body; declares what goes in."""
    types = {"f": "scalar", "q": "integer", "?": "logical"}
    head = "".join(f"{k} = external<{types[a.kind]}>(shape = {list(a.shape)});" for k, a in ins.items())
    DONE.update(names.split())
    run(f"{names} {words}", graph(head + body, ", ".join(ins), ", ".join(outs)), {k: a.io() for k, a in ins.items()},
        {k: a.io() for k, a in outs.items()}, **more)


def one(name, body, x, y, **more):
    case(name, f"y = {body};", {"x": x}, {"y": y}, words=body, **more)


def half_away(v):
    return math.copysign(math.floor(abs(v)) + (abs(v) % 1 >= 0.5), v)


def elementwise():
    x, near, far, above = rand(2, 5), rand(2, 5, low=-0.9, high=0.9), rand(2, 5, low=-3, high=3), rand(2, 5, low=1.1, high=3)
    sigmoid = lambda v: 1 / (1 + math.exp(-v))  # noqa: E731
    for name, f, a in (("copy", lambda v: v, x), ("neg", lambda v: -v, x), ("rcp", lambda v: 1 / v, above), ("exp", math.exp, far),
                       ("log", math.log, above), ("sin", math.sin, far), ("cos", math.cos, far), ("tan", math.tan, near),
                       ("sinh", math.sinh, far), ("cosh", math.cosh, far), ("tanh", math.tanh, far), ("asin", math.asin, near),
                       ("acos", math.acos, near), ("atan", math.atan, far), ("asinh", math.asinh, far), ("acosh", math.acosh, above),
                       ("atanh", math.atanh, near), ("abs", abs, far), ("sign", lambda v: math.copysign(1.0, v), far),
                       ("floor", lambda v: float(math.floor(v)), far), ("ceil", lambda v: float(math.ceil(v)), far),
                       ("round", half_away, far), ("sqr", lambda v: v * v, far), ("sqrt", math.sqrt, above),
                       ("rsqr", lambda v: v ** -2, above), ("rsqrt", lambda v: v ** -0.5, above), ("log2", math.log2, above),
                       ("relu", lambda v: max(v, 0.0), far), ("sigmoid", sigmoid, far), ("softplus", lambda v: math.log1p(math.exp(v)), far),
                       ("elu", lambda v: v if v > 0 else math.expm1(v), far), ("gelu", lambda v: v * (1 + math.erf(v / 2 ** 0.5)) / 2, far),
                       ("selu", lambda v: 1.05070102 * (v if v > 0 else 1.67326319 * math.expm1(v)), far),
                       ("silu", lambda v: v * sigmoid(v), far)):
        one(name, f"{name}(x)", a, Array(a.shape, map(f, a.v)))
    halves = [0.5, -0.5, 1.5, -2.5, 0.49999997, 8388609.0]
    one("round", "round(x)", Array((6,), halves), Array((6,), [1.0, -1.0, 2.0, -3.0, 0.0, 8388609.0]))
    one("softabs", "softabs(x, 0.5)", x, Array(x.shape, [math.sqrt(v * v + 0.5) for v in x.v]))
    one("leaky_relu", "leaky_relu(x, 0.25)", x, Array(x.shape, [v if v > 0 else v / 4 for v in x.v]))
    one("clamp", "clamp(x, -0.5, 0.25)", x, Array(x.shape, [min(max(v, -0.5), 0.25) for v in x.v]))
    a, b, column = rand(3, 4, low=0.5, high=2), rand(3, 4, low=-2), rand(3)
    for name, f in (("add", lambda p, q: p + q), ("sub", lambda p, q: p - q), ("mul", lambda p, q: p * q), ("div", lambda p, q: p / q),
                    ("pow", lambda p, q: p ** q), ("min", min), ("max", max)):
        case(name, f"y = {name}(a, b); z = {name}(a, c);", {"a": a, "b": b, "c": column},
             {"y": made((3, 4), lambda at: f(a[at], b[at])), "z": made((3, 4), lambda at: f(a[at], column[at[:1]]))})
    c = Array((3, 4), [b.v[i] if i % 3 else a.v[i] for i in range(12)])
    for name, f in (("lt", lambda p, q: p < q), ("gt", lambda p, q: p > q), ("le", lambda p, q: p <= q), ("ge", lambda p, q: p >= q),
                    ("eq", lambda p, q: p == q), ("ne", lambda p, q: p != q)):
        case(name, f"y = {name}(a, c);", {"a": a, "c": c}, {"y": made((3, 4), lambda at: f(a[at], c[at]), "?")})
    p, q = Array((4,), [0, 0, 1, 1], "?"), Array((4,), [0, 1, 0, 1], "?")
    case("and or not", "y = and(p, q); z = or(p, q); w = not(p);", {"p": p, "q": q},
         {"y": Array((4,), [0, 0, 0, 1], "?"), "z": Array((4,), [0, 1, 1, 1], "?"), "w": Array((4,), [1, 1, 0, 0], "?")})
    case("select", "y = select(p, a, 2.0);", {"p": Array((3, 4), [i % 2 for i in range(12)], "?"), "a": a},
         {"y": Array((3, 4), [v if i % 2 else 2.0 for i, v in enumerate(a.v)])})
    case("prelu", "y = prelu(b, c);", {"b": b, "c": Array((1, 4), [0.1, 0.2, 0.3, 0.4])},
         {"y": made((3, 4), lambda at: b[at] if b[at] > 0 else b[at] * 0.1 * (at[1] + 1))})
    one("cast", "cast<integer>(x)", far, Array(far.shape, map(int, far.v), "q"))
    case("copy_n add_n constant", "[k, l, m] = copy_n(x, 3); y = add_n([k, l, m]) + constant(shape = [1, 5], value = [1.0, 2.0, 3.0, 4.0, 5.0]);",
         {"x": x}, {"y": made((2, 5), lambda at: 3 * x[at] + at[1] + 1)})
    z = [round((min(max(v, -0.5), 0.75) + 0.5) / 1.25 * 14) / 14 * 1.25 - 0.5 for v in x.v]
    one("min_max_linear_quantize", "min_max_linear_quantize(x, -0.5, 0.75, bits = 4, signed = true, symmetric = true)", x, Array(x.shape, z))


def reduced(x, axes):
    return tuple(1 if k in axes else n for k, n in enumerate(x.shape))


def group(x, axes, at):
    """Places that become one, row by row."""
    return list(itertools.product(*(range(n) if k in axes else (at[k],) for k, n in enumerate(x.shape))))


def reductions():
    x, b = rand(2, 3, 4), Array((2, 3, 4), [ROLL.random() < 0.6 for _ in range(24)], "?")
    for axes in ([1], [0, 2], [2, 1], []):
        over = lambda f, kind="f", x=x: made(reduced(x, axes), lambda at: f([x[p] for p in group(x, axes, at)]), kind)  # noqa: E731
        for name, f in (("sum_reduce", sum), ("max_reduce", max), ("min_reduce", min), ("mean_reduce", lambda v: sum(v) / len(v))):
            one(name, f"{name}(x, axes = {axes})", x, over(f))
        one("sum_reduce", f"sum_reduce(x, axes = {axes}, normalize = true)", x, over(lambda v: sum(v) / len(v)))
        one("any_reduce", f"any_reduce(x, axes = {axes})", b, over(any, "?", b))
        one("all_reduce", f"all_reduce(x, axes = {axes})", b, over(all, "?", b))
        one("argmax_reduce", f"argmax_reduce(x, axes = {axes})", x, over(lambda v: v.index(max(v)), "q"))
        one("argmin_reduce", f"argmin_reduce(x, axes = {axes})", x, over(lambda v: v.index(min(v)), "q"))
        mean = over(lambda v: sum(v) / len(v))
        case("moments", f"(m, v) = moments(x, axes = {axes});", {"x": x},
             {"m": mean, "v": over(lambda v: sum((a - sum(v) / len(v)) ** 2 for a in v) / len(v))})
        share = lambda at: math.exp(x[at]) / sum(math.exp(x[p]) for p in group(x, axes, at))  # noqa: E731
        one("softmax", f"softmax(x, axes = {axes})", x, made(x.shape, share))
    one("softmax", "softmax(x)", x, made(x.shape, lambda at: math.exp(x[at]) / sum(math.exp(x[at[0], k, at[2]]) for k in range(3))))
    one("argmax_reduce", "argmax_reduce(x, axes = [1, 1])", x, x, refused="axis 1 is named twice")
    one("argmax_reduce", "argmax_reduce(x, axes = [1, 3])", x, x, refused="axis 3 does not exist")


def moved():
    x, y = rand(2, 3, 4), rand(2, 3, 4)
    one("reshape", "reshape(x, shape = [4, -1])", x, Array((4, 6), x.v))
    one("reshape", "reshape(x, shape = [12], axis_start = 1, axis_count = 2)", x, Array((2, 12), x.v))
    one("transpose", "transpose(x, axes = [1, 0])", x, made((3, 2, 4), lambda at: x[at[1], at[0], at[2]]))
    one("unsqueeze squeeze", "squeeze(unsqueeze(x, axes = [0, 2]), axes = [0])", x, Array((2, 1, 3, 4), x.v))
    case("concat stack", "z = concat([x, y], axis = 1); w = stack([x, y], axis = 2);", {"x": x, "y": y},
         {"z": made((2, 6, 4), lambda at: (x if at[1] < 3 else y)[at[0], at[1] % 3, at[2]]),
          "w": made((2, 3, 2, 4), lambda at: (y if at[2] else x)[at[0], at[1], at[3]])})
    case("split unstack", "[a, b] = split(x, axis = 2, ratios = [1, 3]); [c, d, e] = unstack(x, axis = 1); f = b; g = d;", {"x": x},
         {"a": made((2, 3, 1), lambda at: x[at]), "f": made((2, 3, 3), lambda at: x[at[0], at[1], at[2] + 1]),
          "g": made((2, 4), lambda at: x[at[0], 1, at[1]])})
    one("slice", "slice(x, axes = [1, 2], begin = [1, -3], end = [0, -1])", x, made((2, 2, 2), lambda at: x[at[0], at[1] + 1, at[2] + 1]))
    one("slice", "slice(x, axes = [2], begin = [3], end = [0], stride = [-2])", x, made((2, 3, 2), lambda at: x[at[0], at[1], 3 - 2 * at[2]]))
    one("tile", "tile(x, repeats = [1, 2, 3])", x, made((2, 6, 12), lambda at: x[at[0], at[1] % 3, at[2] % 4]))
    case("gather", "y = gather(x, i, axis = 1);", {"x": x, "i": Array((2, 2), [2, 0, 1, 1], "q")},
         {"y": made((2, 2, 2, 4), lambda at: x[at[0], [[2, 0], [1, 1]][at[1]][at[2]], at[3]])})
    for border, f in (("constant", lambda k: None), ("replicate", lambda k: min(max(k, 0), 3)), ("reflect", lambda k: mirror(k, 4)),
                      ("reflect-even", lambda k: mirror_even(k, 4))):
        there = lambda at: at[2] - 2 if 0 <= at[2] - 2 < 4 else f(at[2] - 2)  # noqa: E731
        one("pad", f"pad(x, padding = [(0, 0), (0, 0), (2, 1)], border = '{border}', value = 0.5)", x,
            made((2, 3, 7), lambda at: 0.5 if there(at) is None else x[at[0], at[1], there(at)]))
    a, b = rand(2, 3, 4), rand(2, 5, 4)
    case("matmul", "y = matmul(a, b, transposeB = true); z = matmul(a, a, transposeA = true);", {"a": a, "b": b},
         {"y": made((2, 3, 5), lambda at: sum(a[at[0], at[1], k] * b[at[0], at[2], k] for k in range(4))),
          "z": made((2, 4, 4), lambda at: sum(a[at[0], k, at[1]] * a[at[0], k, at[2]] for k in range(3)))})
    u, w, bias = rand(3, 4), rand(2, 4), rand(1, 2)
    case("linear", "y = linear(u, w, c);", {"u": u, "w": w, "c": bias},
         {"y": made((3, 2), lambda at: sum(u[at[0], k] * w[at[1], k] for k in range(4)) + bias[0, at[1]])})
    p = {k: rand(1, 3, low=0.5) for k in ("mean", "variance", "offset", "scale")}
    norm = lambda at: ((x[at] - p["mean"][0, at[1]]) / math.sqrt(p["variance"][0, at[1]] + 0.01) * p["scale"][0, at[1]]  # noqa: E731
                       + p["offset"][0, at[1]])
    files = {f"{k}.dat": floats((1, 3), a.v) for k, a in p.items()}
    read = "".join(f"{k} = variable<scalar>(label = '{k}', shape = [1, 3]);" for k in p)
    case("batch_normalization variable", read + "y = batch_normalization(x, mean, variance, offset, scale, epsilon = 0.01);", {"x": x},
         {"y": made(x.shape, norm)}, files=files)


def mirror(k, n):
    k = abs(k)
    return k if k < n else 2 * (n - 1) - k


def mirror_even(k, n):
    k = k if k >= 0 else -1 - k
    return k if k < n else 2 * n - 1 - k


PLACES = {"replicate": lambda k, n: min(max(k, 0), n - 1), "reflect": mirror, "reflect-even": mirror_even}


# ---- windows: sizes, pads, strides and dilations of the spatial axes ----

def same(n, size, stride, dilation):
    all_ = max(0, (-(-n // stride) - 1) * stride + (size - 1) * dilation + 1 - n)
    return all_ // 2, all_ - all_ // 2


class Windows:
    def __init__(self, x, size, border, padding, stride, dilation):
        self.x, self.size, self.border, n = x, size, border, len(size)
        self.stride, self.dilation = stride or [1] * n, dilation or [1] * n
        self.pads = padding or [same(x.shape[2 + i], size[i], self.stride[i], self.dilation[i]) for i in range(n)]
        self.padded = [x.shape[2 + i] + sum(self.pads[i]) for i in range(n)]
        self.out = [(self.padded[i] - (size[i] - 1) * self.dilation[i] - 1) // self.stride[i] + 1 for i in range(n)]
        full = lambda v: [1, 1] + list(v)  # noqa: E731
        self.args = f"size = {full(size)}, border = '{border}', padding = {[(0, 0), (0, 0)] + list(self.pads) if padding else []}, " \
                    f"stride = {full(stride) if stride else []}, dilation = {full(dilation) if dilation else []}"

    def value(self, lead, at):
        """Of a place with what is around, what stands there; None: nothing."""
        real = [k - p[0] for k, p in zip(at, self.pads)]
        if all(0 <= k < n for k, n in zip(real, self.x.shape[2:])):
            return self.x[tuple(lead) + tuple(real)]
        if self.border in ("constant", "ignore"):
            return 0.0 if self.border == "constant" else None
        near = [PLACES[self.border](k, n) for k, n in zip(real, self.x.shape[2:])]
        return self.x[tuple(lead) + tuple(near)]

    def places(self, o):
        return [tuple(o[i] * self.stride[i] + k[i] * self.dilation[i] for i in range(len(k)))
                for k in itertools.product(*map(range, self.size))]

    def over(self, f, kind="f"):
        """f of the (place, value) pairs of each window."""
        see = lambda at: [(p, self.value(at[:2], p)) for p in self.places(at[2:])]  # noqa: E731
        return made(self.x.shape[:2] + tuple(self.out), lambda at: f([(p, v) for p, v in see(at) if v is not None]), kind)

    def flat(self, p):
        n = 0
        for k, size in zip(p, self.padded):
            n = n * size + k
        return n

    def back(self, values, index):
        """Numbers at their places, without what is around them."""
        plane = {(at[:2], index[at]): values[at] for at in values.places()}
        return made(self.x.shape, lambda at: plane.get((at[:2], self.flat(tuple(k + p[0] for k, p in zip(at[2:], self.pads)))), 0.0))


def best(pairs):
    return max(pairs, key=lambda pair: pair[1])


SHAPES = (([3], None, None, None, (2, 3, 9)), ([3], None, [2], None, (1, 2, 9)), ([2], [(1, 0)], [2], [3], (1, 2, 8)),
          ([2, 3], [(0, 1), (2, 1)], [2, 1], None, (1, 2, 5, 6)), ([3, 2], None, [2, 3], [1, 2], (2, 1, 6, 7)))


def pools():
    for border in ("constant", "ignore", "replicate", "reflect", "reflect-even"):
        for size, padding, stride, dilation, shape in SHAPES:
            x = rand(*shape, low=-2, high=-0.5)
            w = Windows(x, size, border, padding, stride, dilation)
            y, i = w.over(lambda v: best(v)[1]), w.over(lambda v: w.flat(best(v)[0]), "q")
            one("max_pool", f"max_pool(x, {w.args})", x, y)
            case("max_pool_with_index argmax_pool sample", f"(y, i) = max_pool_with_index(x, {w.args}); j = argmax_pool(x, {w.args});"
                 f"s = sample(x, j, {w.args});", {"x": x}, {"y": y, "i": i, "j": i, "s": y}, words=w.args)
            one("avg_pool", f"avg_pool(x, {w.args})", x, w.over(lambda v: sum(b for _, b in v) / len(v)))
            one("box", f"box(x, {w.args}, normalize = true)", x, w.over(lambda v: sum(b for _, b in v) / len(v)))
            one("rms_pool", f"rms_pool(x, {w.args})", x, w.over(lambda v: math.sqrt(sum(b * b for _, b in v) / len(v))))
            one("box", f"box(x, {w.args})", x, w.over(lambda v: sum(b for _, b in v)))
            if border != "ignore":
                weights = rand(3, shape[1], *size)
                y = made((shape[0], 3) + tuple(w.out), lambda at: sum(
                    w.value((at[0], c), p) * weights[(at[1], c) + k] for c in range(shape[1])
                    for k, p in zip(itertools.product(*map(range, size)), w.places(at[2:]))))
                spatial = w.args.split(", ", 2)[0] and w.args[w.args.index("border"):].replace("[(0, 0), (0, 0), ", "[").replace("[1, 1, ", "[")
                case("conv", f"y = conv(x, f, {spatial});", {"x": x, "f": weights}, {"y": y}, words=spatial)
            if border == "ignore":
                padded = f"(y, i) = max_pool_with_index(x, {w.args}); z = desample(y, i, {w.args}, output_shape = {list(shape)});"
                case("desample", padded, {"x": x}, {"z": w.back(w.over(lambda v: best(v)[1]), i)}, words=w.args)
    x = rand(1, 2, 12)
    w = Windows(x, [3], "ignore", None, [3], None)
    i = w.over(lambda v: w.flat(best(v)[0]), "q")
    case("desample", f"(y, i) = max_pool_with_index(x, {w.args}); z = desample(y, i, {w.args}); a = desample(y, i, size = [1, 1, 3], "
         "padding = [(0, 0), (0, 0), (0, 0)], stride = [1, 1, 3]);", {"x": x},
         {"z": w.back(w.over(lambda v: best(v)[1]), i), "a": w.back(w.over(lambda v: best(v)[1]), i)})
    head = "x = external<scalar>(shape = [1, 2, S]);"
    run("a pool along an open axis", graph(head + "(y, i) = max_pool_with_index(x, size = [1, 1, 3], stride = [1, 1, 3], "
        "padding = [(0, 0), (0, 0), (0, 0)]); z = desample(y, i, size = [1, 1, 3], stride = [1, 1, 3], padding = [(0, 0), (0, 0), (0, 0)]);", outs="z"),
        {"x": x.io()}, {"z": w.back(w.over(lambda v: best(v)[1]), i).io()})
    for text, words in (("max_pool(x, size = [1, 1, 3], stride = [1, 1, 2])", "depends on its length, which is open"),
                        ("max_pool(x, size = [1, 1, 3], border = 'wrap')", "supported: constant, ignore, reflect, reflect-even, replicate"),
                        ("pad(x, padding = [(0, 0), (0, 0), (0, -1)], border = 'reflect-even')", "puts 0 to 65536 places around an axis"),
                        ("pad(x, padding = [(0, 0), (0, 0), (2000000000, 0)], border = 'reflect-even')", "puts 0 to 65536 places around an axis"),
                        ("deconv(x, x, border = 'reflect')", "supported: constant"),
                        ("sample(x, [1, 2], size = [1, 1, 3])", "places of rank 1 in a tensor of rank 3"),
                        ("desample(x, x, size = [1, 1, 3], output_shape = [4])", "output_shape has 1 entries, expected 3"),
                        ("desample(x, x, size = [1, 1, 9223372036854775807], dilation = [1, 1, 9])", "a window of"),
                        ("max_pool(x, size = [1, 1, 9223372036854775807], dilation = [1, 1, 9])", "depends on its length"),
                        ("max_pool(x, size = [1, 1, 9223372036854775807], padding = [(0, 0), (0, 0), (1, 0)], border = 'ignore')", "MaxPool")):
        run("refused: " + text, graph(head + f"y = {text};"), {}, {}, refused=words)
    for extension in ("", "extension tract_registry tract_core;\n", "extension tract_symbol S;\n", "fragment tract_core_properties() -> (p: scalar)\n{ p = 1.0; }\n"):
        run("a border of zeros, and one of tract: " + extension, extension + graph("x = external<scalar>(shape = [1, 1, 2]); "
            "y = max_pool(x, size = [1, 1, 2], padding = [(0, 0), (0, 0), (1, 0)], border = 'constant');"), {"x": ("f", (1, 1, 2), [-2.0, -1.0])},
            {"y": ("f", (1, 1, 2), [-2.0 if extension else 0.0, -1.0])})
    run("places of a stream", graph(head + "y = argmax_pool(x, size = [1, 1, 3], padding = [(0, 0), (0, 0), (0, 0)]);"), {}, {},
        command=("bench", "--pulse", "6"), refused="MaxPool")


def wide():
    """Windows over channels, over the batch, and of tensors without either."""
    x = rand(2, 3, 4)
    over = lambda at, f: f([x[b, c, t] for b in (at[0], at[0] + 1) for c in range(at[1] - 1, at[1] + 2) for t in (at[2],) if b < 2 and 0 <= c < 3])  # noqa: E731
    one("box", "box(x, size = [2, 3, 1])", x, made(x.shape, lambda at: over(at, sum)))
    one("max_pool", "max_pool(x, size = [2, 3, 1], border = 'ignore')", x, made(x.shape, lambda at: over(at, max)))
    one("avg_pool", "avg_pool(x, size = [1, 3, 1], border = 'ignore', padding = [(0, 0), (0, 0), (0, 0)])", x,
        made((2, 1, 4), lambda at: sum(x[at[0], c, at[2]] for c in range(3)) / 3))
    y = rand(2, 6, 3, 2)
    one("max_pool", "max_pool(x, size = [1, 2, 1, 2], stride = [1, 2, 1, 2], padding = [(0, 0), (0, 0), (0, 0), (0, 0)])", y,
        made((2, 3, 3, 1), lambda at: max(y[at[0], 2 * at[1] + c, at[2], t] for c in range(2) for t in range(2))))
    z = rand(3, 4)
    one("box", "box(x, size = [1, 2], stride = [1, 2], normalize = true)", z, made((3, 2), lambda at: (z[at[0], 2 * at[1]] + z[at[0], 2 * at[1] + 1]) / 2))
    one("rms_pool", "rms_pool(x, size = [3, 1], border = 'ignore')", z,
        made((3, 4), lambda at: math.sqrt((lambda v: sum(a * a for a in v) / len(v))([z[k, at[1]] for k in range(at[0] - 1, at[0] + 2) if 0 <= k < 3]))))
    one("conv", "conv(x, x, stride = [1, 2, 1])", x, x, refused="argument 'stride' must be 1 for the batch and channel axes")


def spread():
    """What is done for each window put back: the transpose of conv and box."""
    x, f = rand(1, 2, 5), rand(2, 3, 3)
    full = lambda ch, k, w: sum(x[0, c, t] * w(c, ch, k - 2 * t) for c in range(2) for t in range(5) if 0 <= k - 2 * t < 3)  # noqa: E731
    case("deconv", "y = deconv(x, f, 0.5, stride = [2], padding = [(1, 0)]);", {"x": x, "f": f},
         {"y": made((1, 3, 10), lambda at: 0.5 + full(at[1], at[2] + 1, lambda c, ch, k: f[c, ch, k]))})
    box = lambda c, ch, k: float(c == ch)  # noqa: E731
    for norm, by in (("false", 1), ("true", 3)):
        one("debox", f"debox(x, size = [1, 1, 3], stride = [1, 1, 2], padding = [(0, 0), (0, 0), (0, 0)], normalize = {norm})", x,
            made((1, 2, 11), lambda at: full(at[1], at[2], box) / by))
    plane, point = rand(2, 1, 3), rand(4, 2, 1)
    mid = made((1, 2, 5), lambda at: sum(x[0, at[1], at[2] + k - 1] * plane[at[1], 0, k] for k in range(3) if 0 <= at[2] + k - 1 < 5))
    case("separable_conv", "y = separable_conv(x, p, q);", {"x": x, "p": plane, "q": point},
         {"y": made((1, 4, 5), lambda at: sum(mid[0, c, at[2]] * point[at[1], c, 0] for c in range(2)))})
    up, depth = rand(2, 4, 1), rand(4, 1, 3)
    mixed = made((1, 4, 5), lambda at: sum(x[0, c, at[2]] * up[c, at[1], 0] for c in range(2)))
    case("separable_deconv", "y = separable_deconv(x, p, q, padding = [(1, 1)]);", {"x": x, "p": depth, "q": up},
         {"y": made((1, 4, 5), lambda at: sum(mixed[0, at[1], at[2] + 1 - k] * depth[at[1], 0, k] for k in range(3) if 0 <= at[2] + 1 - k < 5))})
    v = rand(1, 2, 6)
    one("nearest_downsample", "nearest_downsample(x, factor = [1, 1, 2])", v, made((1, 2, 3), lambda at: v[0, at[1], 2 * at[2]]))
    one("area_downsample", "area_downsample(x, factor = [1, 1, 3])", v, made((1, 2, 2), lambda at: sum(v[0, at[1], 3 * at[2] + k] for k in range(3)) / 3))
    one("nearest_upsample", "nearest_upsample(x, factor = [3])", v, made((1, 2, 18), lambda at: v[0, at[1], at[2] // 3]))

    def linear(method):
        def f(at):
            place = {"symmetric": (at[2] + 0.5) / 2 - 0.5, "asymmetric": at[2] / 2, "aligned": at[2] * 5 / 11}[method]
            place = min(max(place, 0.0), 5.0)
            k = min(int(place), 4)
            return v[0, at[1], k] * (1 - place + k) + v[0, at[1], k + 1] * (place - k)
        return made((1, 2, 12), f)
    for method in ("symmetric", "asymmetric", "aligned"):
        one("multilinear_upsample", f"multilinear_upsample(x, factor = [2], method = '{method}')", v, linear(method))

    def tent(place):  # zeros lie around
        of = lambda c, k: v[0, c, k] if 0 <= k < 6 else 0.0  # noqa: E731
        return lambda at: of(at[1], math.floor(place(at[2]))) * (1 - place(at[2]) % 1) + of(at[1], math.floor(place(at[2])) + 1) * (place(at[2]) % 1)
    for method, place in (("symmetric", lambda o: (o + 0.5) / 3 - 0.5), ("asymmetric", lambda o: o / 3)):
        one("multilinear_upsample", f"multilinear_upsample(x, factor = [3], method = '{method}', border = 'constant')", v, made((1, 2, 18), tent(place)))
    one("multilinear_upsample", "multilinear_upsample(x, factor = [2], method = 'aligned', border = 'constant')", v, linear("aligned"))
    near = lambda c: [k for k in (c - 1, c, c + 1) if 0 <= k < 2]  # noqa: E731
    one("local_variance_normalization", "local_variance_normalization(x, size = [1, 3, 1], bias = 0.5)", v,
        made(v.shape, lambda at: v[at] / (math.sqrt(sum(v[0, k, at[2]] ** 2 for k in near(at[1])) / 3) + 0.5)))


def updated():
    """A variable that is updated is the new value in the next run."""
    files = {"sum.dat": floats((2,), [10.0, 20.0])}
    read = "x = external<scalar>(shape = [2]); s = variable<scalar>(label = 'sum', shape = [2]);"
    x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    DONE.add("update")
    run("update", graph(read + "n = update(s, s + x); y = n * 2.0; z = s;", outs="y, z"), {"x": ("f", (3, 2), x)},
        {"y": ("f", (3, 2), [22.0, 44.0, 28.0, 52.0, 38.0, 64.0]), "z": ("f", (3, 2), [10.0, 20.0, 11.0, 22.0, 14.0, 26.0])}, files,
        options=["-n", "3"])
    run("an update by name", graph(read + "y = update(value = x + s, variable = s);"), {"x": ("f", (2, 2), x[:4])},
        {"y": ("f", (2, 2), [11.0, 22.0, 14.0, 26.0])}, files, options=["-n", "2"])
    for text, words in (("y = update(x, x);", "name of a variable of the graph"), ("a = update(s, s + x); y = update(s, a);", "updated twice"),
                        ("y = update(s, concat([x, x], axis = 0));", "begins as f32[2] and is stored as f32[4]"),
                        ("y = update(s + 0.0, x);", "name of a variable of the graph")):
        run("refused: " + text, graph(read + text), {}, {}, files, refused=words)
    run("an update along time", graph(read.replace("[2]); s", "[S, 2]); s") + "n = update(s, s * 2.0); y = x + unsqueeze(n, axes = [0]);"), {}, {}, files,
        command=("bench", "--pulse", "5"), refused="changes once in a run")


def fields(data):
    """Numbers and contents of a protobuf message that has no other kinds of fields in it."""
    at = 0

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            v |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return v
    while at < len(data):
        key = varint()
        n = varint()
        if key & 7 == 2:
            yield key >> 3, data[at:at + n]
            at += n


def unread():
    """Places without their numbers: in ONNX the first output of MaxPool has a name all the same."""
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "net"))
        with open(os.path.join(root, "net", "graph.nnef"), "w", encoding="utf-8") as f:
            f.write("version 1.0;\n" + graph("x = external<scalar>(shape = [1, 1, 6]); y = argmax_pool(x, size = [1, 1, 2]);"))
        subprocess.run([RILL, "convert", os.path.join(root, "net"), os.path.join(root, "net.onnx")], check=True, capture_output=True)
        with open(os.path.join(root, "net.onnx"), "rb") as f:
            inside = next(v for k, v in fields(f.read()) if k == 7)
    nodes = [list(fields(v)) for k, v in fields(inside) if k == 1]
    names = [[v for k, v in n if k == 2] for n in nodes if (4, b"MaxPool") in n]
    check(len(names) == 1 and len(names[0]) == 2 and all(names[0]), f"outputs of MaxPool: {names}")


def bodies():
    """Data decides the length of a scanned output: what goes into the body has types all the same, which ONNX Runtime wants, and the
    sizes that the file says."""
    net = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "left_open", "loop.onnx")
    with tempfile.TemporaryDirectory() as root:
        subprocess.run([RILL, "convert", net, os.path.join(root, "net.onnx")], check=True, capture_output=True)
        with open(os.path.join(root, "net.onnx"), "rb") as f:
            inside = next(v for k, v in fields(f.read()) if k == 7)
    one = lambda message, *path: one(next(v for k, v in fields(message) if k == path[0]), *path[1:]) if path else message  # noqa: E731
    types = lambda g, of: [one(v, 2) if 2 in dict(fields(v)) else b"" for k, v in fields(g) if k == of]  # noqa: E731
    scalar, unshaped = b"\x0a\x04\x08%c\x12\x00", b"\x0a\x02\x08\x01"
    shaped = b"\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x02"  # as the file says
    check(types(one(inside, 1, 5, 6), 11) == [scalar % 7, scalar % 9, shaped], f"inputs of a body: {types(one(inside, 1, 5, 6), 11)}")
    check(types(inside, 12)[1] == unshaped, f"outputs: {types(inside, 12)}")


def refused():
    for name in ("avg_roi_pool", "max_roi_pool", "roi_resample", "avg_roi_align", "max_roi_align"):
        DONE.add(name)
        run(name, graph(f"x = external<scalar>(shape = [1, 1, 4, 4]); y = {name}(x, x, x);"), {}, {},
            refused=f"'{name}' is not supported: regions of pictures are not of audio")


elementwise()
reductions()
moved()
pools()
wide()
spread()
updated()
unread()
bodies()
refused()
check(set(STANDARD) == DONE | set(ELSEWHERE), f"not tested: {sorted(set(STANDARD) - DONE - set(ELSEWHERE))}, not of the standard: {sorted(DONE - set(STANDARD))}")
finish()
