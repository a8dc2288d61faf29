# SPDX-License-Identifier: MIT
"""Forms of NNEF that are more than operators in a row, by numbers that Python computes: quantisation files, lists that are
written as loops, models within models, states, blocks of 4 bits, norms and pools of the standard that are formulas.

    nnef_forms.py RILL"""
import math
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nnef_case import RILL, ROLL, TRACT, archive, check, dat, finish, floats, graph, npy, npz, rolled, run  # noqa: E402


def zero_point(zero, scale, bits=8, signed="false"):
    return (f"zero_point_linear_quantize(zero_point = {zero}, scale = {scale}, bits = {bits}, signed = {signed}, "
            "symmetric = false);\n")


def half_even(x):
    return float(round(x))


def quantised():
    x = [0, 1, 7, 128, 200, 255]
    ext = "x = external<scalar>(shape = [1, 6]);"
    run("bytes to signed bytes", graph(ext + "y = copy(x);"), {"x": ("B", (1, 6), x)},
        {"y": ("b", (1, 6), [v - 128 for v in x])},
        {"graph.quant": '"x": ' + zero_point(0, 0.5) + '"y": ' + zero_point(-128, 0.5, signed="true")})
    s = [min(255, half_even(1 / (1 + math.exp(-(v - 128) * 0.0625)) * 256)) for v in x]
    for cast in ("tract_core_cast(a)", "tract_core_cast(a, to = 'u8')"):
        run("a sigmoid of bytes, " + cast, graph(ext + "a = sigmoid(tract_core_cast(x, to = 'f32')); y = " + cast + ";"),
            {"x": ("B", (1, 6), x)}, {"y": ("B", (1, 6), [int(v) for v in s])},
            {"graph.quant": '"x": ' + zero_point(128, 0.0625) + '"y": ' + zero_point(0, 0.00390625)}, tract=True)
    run("a tensor inside is rounded", graph(ext + "m = x * 0.3; y = m + 0.0;"), {"x": ("f", (1, 6), [float(v) for v in x])},
        {"y": ("f", (1, 6), [min(255, half_even(v * 0.3 / 0.5)) * 0.5 for v in x])}, {"graph.quant": '"m": ' + zero_point(0, 0.5)})
    run("bytes behind a cast", graph(ext + "m = x * 0.5; n = tract_core_cast(m, to = 'u8'); y = n;"),
        {"x": ("f", (1, 6), [float(v) for v in x])}, {"y": ("B", (1, 6), [int(half_even(v * 0.5)) for v in x])},
        {"graph.quant": '"m": ' + zero_point(0, 1.0)}, tract=True)
    run("weights of bytes", graph("x = external<scalar>(shape = [1, 3]); w = variable<scalar>(label = 'w', shape = [2, 3]);"
                                  "y = linear(x, w);"), {"x": ("f", (1, 3), [1.0, 2.0, 3.0])},
        {"y": ("f", (1, 2), [0.5 * (1 * 10 + 2 * 20 + 3 * 30) - 0.5 * 6 * 4, 0.5 * (1 * 4 + 2 * 5 + 3 * 6) - 0.5 * 6 * 4])},
        {"graph.quant": '"w": ' + zero_point(4, 0.5), "w.dat": dat((2, 3), bytes([10, 20, 30, 4, 5, 6]), 2, 8)})
    run("from min and max", graph(ext + "y = copy(x);"), {"x": ("f", (1, 6), [-1.0, 0.0, 0.4, 1.0, 3.0, 2.55])},
        {"y": ("B", (1, 6), [0, 0, 40, 100, 255, 255])}, {"graph.quant": '"y": linear_quantize(max = 2.55, min = 0.0, bits = 8);'})
    for text, words in (('"y": ' + zero_point(0, 0.0), "scale above 0"), ('"y": ' + zero_point(0, 1.0, bits=8.7), "8, 16 or 32 bits"),
                        ('"y": ' + zero_point(0, 1.0, bits="1.0e300"), "8, 16 or 32 bits"),
                        ('"y": ' + zero_point(0, 1.0) + '"yy": ' + zero_point(0, 1.0), "graph.quant:2:1: 'yy' is assigned nowhere"),
                        (('"y": ' + zero_point(0, 1.0)) * 2, "graph.quant:2:1: 'y' is said twice"), ('"y": ' + zero_point(300, 1.0), "0 stands for no whole"),
                        ('"y": ' + zero_point(0, 1.0, bits=7), "8, 16 or 32 bits"), ('"y": lattice(bits = 8);', "not known"),
                        ('"y": zero_point_linear_quantize(zero_point = 0, bits = 8);', "are missing"),
                        ('"y" zero_point_linear_quantize();', "expected ':'"), ('y: x;', "name of a tensor in quotes"),
                        ('"y": ' + zero_point(0, 1.0)[:-2], "expected ';'"), ('"y": linear_quantize(max = 1.0, min = -0.3, bits = 8);',
                                                                          "0 stands for no whole")):
        run("refused: " + text, graph(ext + "y = copy(x);"), {}, {}, {"graph.quant": text}, refused=words)
    run("a cast to nothing", graph(ext + "y = tract_core_cast(x);"), {}, {}, tract=True, refused="to no type")


def lists():
    x = rolled(6)
    ext = "x = external<scalar>(shape = [2, 3]);"
    ins = {"x": ("f", (2, 3), x)}
    run("each", graph(ext + "y = concat([for i in range_of(shape_of(x)), k in [2.0, 3.0] yield x * k + scalar(i)], axis = 0);"), ins,
        {"y": ("f", (4, 3), [v * 2 for v in x] + [v * 3 + 1 for v in x])})
    run("each, some", graph(ext + "y = add_n([for i in [0, 1, 2, 3] if i != 2 && !(i in [3]) yield x * scalar(integer(2.9) + i)]);"),
        ins, {"y": ("f", (2, 3), [v * 5 for v in x])})
    run("within each other", graph(ext + "y = add_n([for i in [1, 2] yield add_n([for j in [10, 20] yield x * scalar(i * j)])]);"), ins,
        {"y": ("f", (2, 3), [v * 90 for v in x])})
    run("sums of many", graph(ext + "y = add_n([x] * 60);"), ins, {"y": ("f", (2, 3), [v * 60 for v in x])})
    run("a sum of none", graph(ext + "y = add_n([]);"), {}, {}, refused="'add_n' of an empty list")
    run("parts of lists", graph(ext + "a = [1.0, 2.0, 4.0, 8.0]; y = x * (a[1 : 3][0] + a[: 1][0] + a[3 :][0]);"), ins,
        {"y": ("f", (2, 3), [v * 11 for v in x])})
    run("copies", graph(ext + "[a, b] = copy_n(x, 2); y = a + b;"), ins, {"y": ("f", (2, 3), [v * 2 for v in x])})
    run("casts", graph(ext + "i = cast<integer>(x * 10.0); y = cast<logical>(i);"), ins,
        {"y": ("?", (2, 3), [int(v * 10) != 0 for v in x])})
    for text, words in (("[for i in [1, 2], j in [1] yield x]", "2 and 1 elements"), ("[for i in 3 yield x]", "expected a list"),
                        ("[for i in [1] if x > 0.0 yield x]", "true or false known now"), ("[for i in [1] x]", "'yield'"),
                        ("[for 3 in [1] yield x]", "name of an element"), ("[x][1 : 3]", "elements 1 to 3 of a list of 1"),
                        ("[x][0 : x]", "parts are taken"), ("[x] if x in [1.0] else [x]", "expected what is known now"),
                        ("avg_roi_pool(x)", "not of audio")):
        run("refused: " + text, graph(ext + f"y = add_n({text});"), {}, {}, refused=words)


def formulas():
    x = rolled(2 * 3 * 4)
    ext = "x = external<scalar>(shape = [2, 3, 4]);"
    ins = {"x": ("f", (2, 3, 4), x)}
    at = lambda b, c, t: x[(b * 3 + c) * 4 + t]  # noqa: E731
    places = [(b, c, t) for b in range(2) for c in range(3) for t in range(4)]
    l2 = [at(b, c, t) / max(math.sqrt(sum(at(b, k, t) ** 2 for k in range(3))) + 0.5, 0.1) for b, c, t in places]
    run("l2", graph(ext + "y = l2_normalization(x, axes = [1], bias = 0.5, epsilon = 0.1);"), ins, {"y": ("f", (2, 3, 4), l2)})
    l1 = [at(b, c, t) / max(sum(abs(at(b, c, k)) for k in range(4)), 2.0) for b, c, t in places]
    run("l1", graph(ext + "y = l1_normalization(x, axes = [2], epsilon = 2.0);"), ins, {"y": ("f", (2, 3, 4), l1)})
    near = lambda c: [k for k in (c - 1, c, c + 1) if 0 <= k < 3]  # noqa: E731
    lrn = [at(b, c, t) / (2 + 0.3 * sum(at(b, k, t) ** 2 for k in near(c)) / 3) ** 0.75 for b, c, t in places]
    run("lrn", graph(ext + "y = local_response_normalization(x, size = [1, 3, 1], alpha = 0.3, beta = 0.75, bias = 2.0);"), ins,
        {"y": ("f", (2, 3, 4), lrn)})
    mean = lambda b, c, t: at(b, c, t) - sum(at(b, k, t) for k in near(c)) / 3  # noqa: E731
    run("local mean", graph(ext + "y = local_mean_normalization(x, size = [1, 3, 1]);"), ins,
        {"y": ("f", (2, 3, 4), [mean(*p) for p in places])})
    deep = lambda b, c, t: mean(b, c, t) / max(math.sqrt(sum(mean(b, k, t) ** 2 for k in near(c)) / 3) + 0.2, 0.1)  # noqa: E731
    run("local contrast", graph(ext + "y = local_contrast_normalization(x, size = [1, 3, 1], bias = 0.2, epsilon = 0.1);"), ins,
        {"y": ("f", (2, 3, 4), [deep(*p) for p in places])})
    means = [sum(at(b, c, t) for t in range(4)) / 4 for b in range(2) for c in range(3)]
    spread = [sum((at(b, c, t) - means[b * 3 + c]) ** 2 for t in range(4)) / 4 for b in range(2) for c in range(3)]
    run("moments", graph(ext + "(m, v) = moments(x, axes = [2]);", outs="m, v"), ins,
        {"m": ("f", (2, 3, 1), means), "v": ("f", (2, 3, 1), spread)})
    rms = [math.sqrt((at(b, c, t) ** 2 + at(b, c, t + 1) ** 2) / 2) for b in range(2) for c in range(3) for t in (0, 2)]
    run("rms pool", graph(ext + "y = rms_pool(x, size = [1, 1, 2], stride = [1, 1, 2], padding = [(0, 0), (0, 0), (0, 0)]);"), ins,
        {"y": ("f", (2, 3, 2), rms)})
    run("area", graph(ext + "y = area_downsample(x, factor = [2]);"), ins,
        {"y": ("f", (2, 3, 2), [(at(b, c, t) + at(b, c, t + 1)) / 2 for b in range(2) for c in range(3) for t in (0, 2)])})
    run("nearest", graph(ext + "y = nearest_downsample(x, factor = [2]);"), ins,
        {"y": ("f", (2, 3, 2), [at(b, c, t) for b in range(2) for c in range(3) for t in (0, 2)])})
    run("selu", graph(ext + "y = selu(x);"), ins,
        {"y": ("f", (2, 3, 4), [1.05070102 * (v if v >= 0 else 1.67326319 * (math.exp(v) - 1)) for v in x])})
    run("gelu", graph(ext + "y = gelu(x);"), ins, {"y": ("f", (2, 3, 4), [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x])})
    q = [(max(0, min(15, half_even(v / 0.1) + 8)) - 8) * 0.1 for v in x]
    run("quantised in steps", graph(ext + "y = zero_point_linear_quantize(x, 8, 0.1, bits = 4, signed = false, symmetric = false);"),
        ins, {"y": ("f", (2, 3, 4), q)})
    q = [half_even((max(-0.5, min(0.5, v)) + 0.5) * 15) / 15 - 0.5 for v in x]
    run("quantised between", graph(ext + "y = linear_quantize(x, -0.5, 0.5, bits = 4);"), ins, {"y": ("f", (2, 3, 4), q)})
    q = [math.copysign(2.0 ** half_even(max(-3, min(0, math.log2(abs(v))))), v) for v in x]
    run("quantised by powers", graph(ext + "y = logarithmic_quantize(x, 1.0, bits = 2);"), ins, {"y": ("f", (2, 3, 4), q)})


def dialect():
    x = rolled(5)
    inner = "version 1.0;\n" + graph("x = external<scalar>(shape = [1, 1, 5]);"
                                     "w = variable<scalar>(label = 'w', shape = [1, 1, 3]); y = conv(x, w, padding = [(0, 0)]);")
    files = {"graph.nnef": inner.encode(), "w.dat": floats((1, 1, 3), [1.0, 2.0, 3.0])}
    outer = graph("x = external<scalar>(shape = [1, 1, 5]); a = tract_core_submodel(x * 2.0, label = 'one');"
                  "b = tract_core_submodel([a], label = 'two'); y = tract_core_cast(b, to = 'f32');")
    two = "version 1.0;\n" + graph("x = external<scalar>(shape = [1, 1, 3]); y = x + 1.0;")
    conv = [2 * (x[i] + 2 * x[i + 1] + 3 * x[i + 2]) for i in range(3)]
    beside = {"two/graph.nnef": two, "two/graph.quant": '"x": ' + zero_point(128, 0.5)}
    ref = {"y": ("f", (1, 1, 3), [max(-64, min(63.5, half_even(v / 0.5) * 0.5)) + 1 for v in conv])}
    ins = {"x": ("f", (1, 1, 5), x)}
    run("models in an archive and a folder", outer, ins, ref, {"one.nnef.tgz": archive(files), **beside}, tract=True)
    run("models in folders", outer, ins, ref, {**{"one/" + k: v for k, v in files.items()}, **beside}, tract=True)
    for change, words in (({"one.tgz": archive({"../graph.nnef": b""})}, "beneath the archive"), ({}, "neither 'one/graph.nnef'"),
                          ({"one/graph.nnef": inner.replace("[1, 1, 5]", "[1, 2, 5]")}, "given is f32[1,1,5]"),
                          ({"one/graph.nnef": inner.replace("g(x)", "g(x, z)")}, "takes 2 tensors"),
                          ({"one/graph.nnef": "version 1.0;\n" + TRACT + outer}, "neither 'one/one/graph.nnef'")):
        run("refused: " + words, outer, {}, {}, {**change, **beside}, tract=True, refused=words)
    mean = "version 1.0;\n" + TRACT + graph("x = external<scalar>(shape = [1, S]);"
                                             "y = sum_reduce(x, axes = [1]) / tract_core_cast(S, to = 'f32');")
    half = graph("x = external<scalar>(shape = [1, S]); h = slice(x, axes = [1], begin = [0], end = [0], stride = [2]);"
                 "y = tract_core_submodel(h, label = 'one');")
    whole = half.replace("(h,", "(x,")
    run("a symbol of a submodel", whole, {"x": ("f", (1, 8), [1.0] * 8)}, {"y": ("f", (1, 1), [1.0])}, {"one/graph.nnef": mean}, tract=True)
    for text, files in ((half, mean), (whole, mean.replace("[1, S]", "[1, T]")), (whole, mean.replace("[1, S]", "[1, 8]"))):
        run("refused: another size than a submodel's", text, {}, {}, {"one/graph.nnef": files}, tract=True,
            refused="a symbol of a submodel is the caller's")
    run("states", graph("x = external<scalar>(shape = [2]); s = tract_core_load([1.0, 2.0], id = 'a'); v = x + s;"
                        "d = tract_core_store(v, v * 2.0, id = 'a'); y = tract_core_force_eval([v, d], slots = [1]);"),
        {"x": ("f", (3, 2), [1.0, 1.0, 10.0, 20.0, 0.5, 0.25])},
        {"y": ("f", (3, 2), [2.0, 3.0, 14.0, 26.0, 28.5, 52.25])}, tract=True, options=["-n", "3"])
    run("states by their names", graph("x = external<scalar>(shape = [2]); cached_0 = external<scalar>(shape = [2]);"
                                       "new_cached_0 = x + cached_0; y = new_cached_0 * 2.0;", "x, cached_0", "y, new_cached_0"),
        {"x": ("f", (3, 2), [1.0, 2.0, 10.0, 20.0, 0.5, 0.25])}, {"y": ("f", (3, 2), [2.0, 4.0, 22.0, 44.0, 23.0, 44.5])},
        options=["-n", "3"])
    for text, words in (("y = tract_core_store(x, x, id = 'a');", "was not loaded"),
                        ("s = tract_core_load(x, id = 'a'); y = s;", "expected a constant"),
                        ("s = tract_core_load([1.0], id = 'a'); y = tract_core_store(s, x, id = 'a');", "is stored as"),
                        ("y = tract_core_force_eval([x], slots = [1]);", "slot 1 of 1")):
        run("refused: " + words, graph("x = external<scalar>(shape = [2]);" + text), {}, {}, tract=True, refused=words)
    run("a state along time", graph("x = external<scalar>(shape = [1, S]); k = tract_core_load([[0.0]], id = 'a');"
                                    "y = tract_core_store(x + k, k + 1.0, id = 'a');"), {}, {}, tract=True,
        command=("bench", "--pulse", "5"), refused="state 'a' changes once in a run")
    run("what holds in one mode is not assumed", "extension tract_symbol S;\nextension tract_assert S >= 1;\n"
        "extension tract_assert tg: S==1;\n" + graph("x = external<scalar>(shape = [S]); y = x * 2.0;"),
        {"x": ("f", (3,), [1.0, 2.0, 3.0])}, {"y": ("f", (3,), [2.0, 4.0, 6.0])}, tract=True)
    for name in ("🎯0", "zeit_é", "长度"):
        run("a symbol " + name, f"extension tract_symbol {name};\nextension tract_assert {name} >= 2 + 0*{name}/4;\n" + graph(
            f"x = external<scalar>(shape = [{name}]); 数 = x * 2.0; y = tract_core_broadcast(数, shape = [2, {name}]);"),
            {"x": ("f", (3,), [1.0, 2.0, 3.0])}, {"y": ("f", (2, 3), [2.0, 4.0, 6.0] * 2)}, tract=True)
    run("refused: a symbol that is no text", "", {}, {}, files={"graph.nnef": b"version 1.0;\nextension tract_symbol \xf0\x9f;\n"},
        refused="found byte 0xf0, expected ';'")
    blocks()
    run("infinity", graph("x = external<scalar>(shape = [2]); y = select(x > 0.0, x, x * 0.0 + -inf);"),
        {"x": ("f", (2,), [1.0, -1.0])}, {"y": ("f", (2,), [1.0, -math.inf])}, tract=True)
    run("places of what is not 0", graph("x = external<integer>(shape = [2, 3]); y = tract_onnx_non_zero(x, count_symbol = 'n');"),
        {"x": ("q", (2, 3), [0, 1, 0, 2, 0, 3])}, {"y": ("q", (2, 3), [0, 1, 1, 1, 0, 2])}, tract=True)
    run("a range's first place", "extension tract_symbol S;\nextension tract_assert S >= 1;\n" + graph(
        "x = external<scalar>(shape = [S]); n = tract_core_shape_of(x)[0]; r = tract_core_range(n, n + n, step = 1);"
        "y = tile([7.0], repeats = [squeeze(slice(r, axes = [0], begin = [0], end = [1]), axes = [0])]);"),
        {"x": ("f", (3,), [0.0] * 3)}, {"y": ("f", (3,), [7.0] * 3)}, tract=True)
    attention(), mixed(), cut_within(), experts(), delta(), grid()


def blocks():
    """[2, 64] in blocks of 32, both orders of a byte's halves."""
    x = rolled(64)
    numbers = [[ROLL.randrange(16) for _ in range(32)] for _ in range(4)]
    scale = [0.5, -0.25, 1.0, 0.125]
    w = [(v - 8) * scale[b] for b in range(4) for v in numbers[b]]
    y = [sum(x[k] * w[64 * j + k] for k in range(64)) for j in range(2)]
    for item, order in ((0x3040, lambda n, j: n[j] | n[j + 16] << 4), (0x2040, lambda n, j: n[2 * j] | n[2 * j + 1] << 4)):
        data = b"".join(struct.pack("<e", s) + bytes(order(n, j) for j in range(16)) for s, n in zip(scale, numbers))
        text = graph("x = external<scalar>(shape = [1, 64]); w = variable(label = 'w', shape = [2, 64]); y = linear(x, w);")
        run(f"blocks {item:x}", text, {"x": ("f", (1, 64), x)}, {"y": ("f", (1, 2), y)}, {"w.dat": dat((2, 64), data, item, 2**32 - 1, 0x5452)})
        run("a block too few", text, {}, {}, {"w.dat": dat((2, 64), data[18:], item, 2**32 - 1, 0x5452)}, refused="does not fit")
        run("no blocks of more than there are numbers", graph(f"w = variable(label = 'w', shape = [0, {2**32 - 32}, {2**32 - 32}]); y = w;", ""),
            {}, {}, {"w.dat": dat((0, 2**32 - 32, 2**32 - 32, 1), b"", item, 2**32 - 1, 0x5452)}, refused="does not fit")
        run("half a block", text.replace("64", "48"), {}, {}, {"w.dat": dat((2, 48), data[:54], item, 2**32 - 1, 0x5452)}, refused="does not fit")


def softmax(v):
    e = [math.exp(a - max(v)) for a in v]
    return [a / sum(e) for a in e]


def attention():
    """Numbers of 16 bits come in and go out, sums are of 32."""
    half = lambda v: struct.unpack("<e", struct.pack("<e", v))[0]  # noqa: E731
    x = [half(v) for v in rolled(6)]
    rows = [x[:2], x[2:4], x[4:]]
    y = []
    for q in rows:
        p = softmax([sum(a * b for a, b in zip(q, k)) * 0.5 for k in rows])
        y += [half(sum(p[i] * rows[i][c] for i in range(3))) for c in range(2)]
    run("attention of f16", graph("x = tract_core_external(shape = [1, 3, 2], datum_type = 'f16');"
                                  "y = tract_transformers_sdpa(x, x, x, scale = 0.5, acc_datum_type = 'f32');"),
        {"x": ("e", (1, 3, 2), x)}, {"y": ("e", (1, 3, 2), y)}, tract=True, options=["--rtol", "0.001"])


def mixed():
    """Floats of two types meet as the wider; products are summed, and given, as acc says."""
    half = lambda v: struct.unpack("<e", struct.pack("<e", v))[0]  # noqa: E731
    x, w = [half(v) for v in rolled(4)], rolled(4)
    x16 = "x = tract_core_external(shape = [1, 4, 1], datum_type = 'f16');"
    run("f16 and f32", graph(x16 + "y = x * tract_core_cast([[[1.5]]], to = 'f32') + 0.1;"),
        {"x": ("e", (1, 4, 1), x)}, {"y": ("f", (1, 4, 1), [1.5 * a + 0.1 for a in x])}, tract=True)
    run("a product as f32", graph(x16 + "y = tract_core_einsum([x, x], expr = 'aib,ajb->ij', acc = 'f32');"),
        {"x": ("e", (1, 4, 1), x)}, {"y": ("f", (4, 4), [a * b for a in x for b in x])}, tract=True)
    run("a convolution of f16", graph(x16.replace("1, 4, 1", "1, 1, 4") + "w = variable<scalar>(label = 'w', shape = [1, 1, 1]);"
                                      "y = conv(x, tract_core_cast(w, to = 'f16'), padding = [(0, 0)]);"),
        {"x": ("e", (1, 1, 4), x)}, {"y": ("e", (1, 1, 4), [half(half(w[0]) * a) for a in x])}, {"w.dat": floats((1, 1, 1), w[:1])},
        tract=True)


def cut_within():
    """Places that are held to a size of the stream, and axes repeated as often as their own size goes into it, as torch_to_nnef writes."""
    x = rolled(8)
    sizes = "n = shape_of(x)[0]; m = shape_of(x)[1];"
    cut = lambda at: f"tract_core_cast(min(max(0, {at}), n), to = 'tdim')"  # noqa: E731
    for begin, end, y in ("n - 1", "n + 3", x[6:]), ("-2", "n - 2", x[:4]), ("max(1, 2)", "min(3.0, 3)", x[4:6]):
        run(f"from {begin} to {end}", graph(f"x = external<scalar>(shape = [S, 2]); {sizes}"
                                            f"y = slice(x, axes = [0], begin = [{cut(begin)}], end = [{cut(f'integer({end})' if '.' in end else end)}], stride = [1]);"),
            {"x": ("f", (4, 2), x)}, {"y": ("f", (len(y) // 2, 2), y)}, tract=True)
    run("as often as itself", graph(f"x = external<scalar>(shape = [S, 2]); {sizes} y = tile(x, repeats = [div(n, n), div(m, m)]);"),
        {"x": ("f", (4, 2), x)}, {"y": ("f", (4, 2), x)}, tract=True)


def experts():
    x, wg, w1, w3, w2 = rolled(2 * 3), rolled(4 * 3), rolled(4 * 3 * 2), rolled(4 * 3 * 2), rolled(4 * 2 * 3)
    silu = lambda v: v / (1 + math.exp(-v))  # noqa: E731
    y = []
    for t in range(2):
        row = x[3 * t:3 * t + 3]
        score = [sum(row[d] * wg[3 * e + d] for d in range(3)) for e in range(4)]
        best = sorted(range(4), key=lambda e: -score[e])[:2]
        share = softmax([score[e] for e in best])
        out = [0.0] * 3
        for e, s in zip(best, share):
            a, b = ([sum(row[d] * w[(e * 3 + d) * 2 + h] for d in range(3)) for h in range(2)] for w in (w1, w3))
            for d in range(3):
                out[d] += s * sum(silu(a[h]) * b[h] * w2[(e * 2 + h) * 3 + d] for h in range(2))
        y += out
    files = {"wg.dat": floats((4, 3), wg), "w1.dat": floats((4, 3, 2), w1), "w3.dat": floats((4, 3, 2), w3), "w2.dat": floats((4, 2, 3), w2)}
    read = "".join(f"{n} = variable<scalar>(label = '{n}', shape = {list(s)});"
                   for n, s in (("wg", (4, 3)), ("w1", (4, 3, 2)), ("w3", (4, 3, 2)), ("w2", (4, 2, 3))))
    for shape in ((2, 3), (1, 2, 3)):
        run("experts", graph(f"x = external<scalar>(shape = {list(shape)});" + read +
                             "y = tract_moe_ffn(x, wg, w1, w2, w3, k = 2, activation = 'swiglu', normalize_gates = true);"),
            {"x": ("f", shape, x)}, {"y": ("f", shape, y)}, files, tract=True)


def delta():
    """Two heads of values read one of keys; three steps."""
    q, k, v, g, b, state = rolled(6), rolled(6), rolled(12), [-abs(a) for a in rolled(6)], [abs(a) for a in rolled(6)], rolled(8)
    s, y = [[state[4 * h + 2 * r:4 * h + 2 * r + 2] for r in range(2)] for h in range(2)], []
    unit = lambda a, by: [c / math.sqrt(sum(d * d for d in a) + 1e-6) * by for c in a]  # noqa: E731
    for t in range(3):
        qn, kn = unit(q[2 * t:2 * t + 2], 0.5 ** 0.5), unit(k[2 * t:2 * t + 2], 1)
        for h in range(2):
            kept = [[a * math.exp(g[2 * t + h]) for a in row] for row in s[h]]
            change = [(v[4 * t + 2 * h + c] - sum(kn[r] * kept[r][c] for r in range(2))) * b[2 * t + h] for c in range(2)]
            s[h] = [[kept[r][c] + kn[r] * change[c] for c in range(2)] for r in range(2)]
            y += [sum(qn[r] * s[h][r][c] for r in range(2)) for c in range(2)]
    shapes = {"q": (1, 3, 1, 2), "k": (1, 3, 1, 2), "v": (1, 3, 2, 2), "g": (1, 3, 2), "b": (1, 3, 2), "s": (1, 2, 2, 2)}
    run("a gated delta rule", graph("".join(f"{n} = external<scalar>(shape = {list(d)});" for n, d in shapes.items()) +
                                    "(y, last) = tract_transformers_gdn_recurrent(q, k, v, g, b, s);", "q, k, v, g, b, s", "y, last"),
        {n: ("f", shapes[n], a) for n, a in zip("qkvgbs", (q, k, v, g, b, state))},
        {"y": ("f", (1, 3, 2, 2), y), "last": ("f", (1, 2, 2, 2), [a for h in s for r in h for a in r])}, tract=True)


def grid():
    x = rolled(6)
    at = lambda i, j: x[3 * i + j] if 0 <= i < 2 and 0 <= j < 3 else 0.0  # noqa: E731
    places = [(-1.2, -0.3), (0.1, 0.9), (1.0, 1.0), (0.7, -1.5)]
    for corners in (True, False):
        y = []
        for gx, gy in places:
            px, py = ((gx + 1) * 1, (gy + 1) * 0.5) if corners else (((gx + 1) * 3 - 1) / 2, ((gy + 1) * 2 - 1) / 2)
            j, i = math.floor(px), math.floor(py)
            y.append(sum(at(i + a, j + c) * (1 - abs(py - i - a)) * (1 - abs(px - j - c)) for a in (0, 1) for c in (0, 1)))
        text = graph("x = external<scalar>(shape = [1, 1, 2, 3]); g = external<scalar>(shape = [1, 2, 2, 2]);"
                     f"y = tract_core_grid_sample(x, g, align_corners = {str(corners).lower()});", "x, g")
        run("grid", text, {"x": ("f", (1, 1, 2, 3), x), "g": ("f", (1, 2, 2, 2), [c for p in places for c in p])},
            {"y": ("f", (1, 1, 2, 2), y)}, tract=True)
        def mirrored(p, n):
            low, span = (0.0, n - 1.0) if corners else (-0.5, float(n))
            d = math.fmod(abs(p - low), 2 * span)
            return low + min(d, 2 * span - d)
        near = lambda i, j: x[3 * min(max(i, 0), 1) + min(max(j, 0), 2)]  # noqa: E731
        y = []
        for gx, gy in places:
            px, py = ((gx + 1) * 1, (gy + 1) * 0.5) if corners else (((gx + 1) * 3 - 1) / 2, ((gy + 1) * 2 - 1) / 2)
            px, py = mirrored(px, 3), mirrored(py, 2)
            j, i = math.floor(px), math.floor(py)
            y.append(sum(near(i + a, j + c) * (1 - abs(py - i - a)) * (1 - abs(px - j - c)) for a in (0, 1) for c in (0, 1)))
        run("grid, mirrored", text.replace("g, align", "g, padding_mode = 'reflection', align"),
            {"x": ("f", (1, 1, 2, 3), x), "g": ("f", (1, 2, 2, 2), [c for p in places for c in p])}, {"y": ("f", (1, 1, 2, 2), y)}, tract=True)
    run("more than can be counted", graph("x = external<scalar>(shape = [4]); y = tile(x, repeats = [2000000000000000000]);"),
        {}, {}, refused="'y', is f32[8000000000000000000]: so many cannot be held")
    run("another grid", text.replace("align", "mode = 'bicubic', align"), {}, {}, tract=True, refused="'bicubic' is not supported")


def converted(model, out, *options):
    return subprocess.run([RILL, "convert", model, out, *options], capture_output=True, text=True, check=False)


def steps_named():
    """Ports that are called as states and clocks are: those step over them, and are found again."""
    x = rolled(12)
    y = [x[t] + 10 * (x[t - 1] if t else 0) + 100 * (x[t - 2] if t > 1 else 0) for t in range(12)]
    for ins, out, ends in (("x", "y", ("", ".onnx")), ("x", "new_cached_0", ("", ".onnx")), ("x", "new_clock", ("", ".onnx")),
                           ("cached_0", "y", ("", ".onnx")), ("clock", "y", ("", ".onnx")), ("clock", "new_cached_0", ("", ".onnx")),
                           ("clock_2", "new_clock", ("", ".onnx")), ("cached_0", "new_cached_0", (".onnx",)), ("x", "new_x", (".onnx",))):
        text = graph(f"{ins} = external<scalar>(shape = [1, 1, S]);"
                     f"{out} = conv({ins}, [[[100.0, 10.0, 1.0]]], padding = [(2, 0)]);", ins, out)
        with tempfile.TemporaryDirectory() as root:
            model = os.path.join(root, "graph.nnef")
            with open(model, "w", encoding="utf-8") as f:
                f.write("version 1.0;\n" + text)
            npz(os.path.join(root, "in.npz"), {ins: ("f", (3, 1, 1, 4), x)})
            npz(os.path.join(root, "ref.npz"), {out: ("f", (3, 1, 1, 4), y)})
            for end in ("", ".onnx"):
                to = os.path.join(root, "steps" + end)
                done = converted(root, to, "--pulse", "4", "--state", "none")
                if end not in ends:
                    check(done.returncode == 3 and f"'{ins}'" in done.stderr and f"'{out}'" in done.stderr and not os.path.exists(to),
                          f"steps of {ins}, {out}: {done.stderr or 'written'}")
                    continue
                r = subprocess.run([RILL, "run", to, "-n", "3", "-i", os.path.join(root, "in.npz"), "--compare",
                                    os.path.join(root, "ref.npz")], capture_output=True, text=True, check=False)
                check(done.returncode == 0 and r.returncode == 0 and "1 passed, 0 failed" in r.stdout,
                      f"steps{end} of {ins}, {out}: {done.stderr}{r.stdout}{r.stderr}")


def names_kept():
    """Names of ports come back from both forms as they are."""
    for name in ("ä", "长度", "🎯", "a\\b", "a\\xylophone", "a b", "graph", "a'b"):
        ins, out = name, name + "_o"
        text = graph(f"`{ins}` = external<scalar>(shape = [2]); `{out}` = `{ins}` * 2.0;", f"`{ins}`", f"`{out}`")
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "graph.nnef"), "w", encoding="utf-8") as f:
                f.write("version 1.0;\n" + text)
            with open(os.path.join(root, "in.npy"), "wb") as f:
                f.write(npy("f", (2,), [1.0, 2.0]))
            at = root
            for to in ("one.onnx", "two", "three.onnx"):
                done = converted(at, os.path.join(root, to))
                at = os.path.join(root, to)
                r = subprocess.run([RILL, "run", at, "-i", f"{ins}={root}/in.npy"], capture_output=True, text=True, check=False)
                check(done.returncode == 0 and r.returncode == 0 and f"  {out} " in r.stdout and ": 2 4\n" in r.stdout,
                      f"'{name}' in {to}: {done.stderr}{r.stdout}{r.stderr}")


quantised()
lists()
formulas()
dialect()
steps_named()
names_kept()
finish()
