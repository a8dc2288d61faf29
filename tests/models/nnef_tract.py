# SPDX-License-Identifier: MIT
"""Operators of tract that go on from run to run, that are of small integers, or that read other files: numbers that Python
computes, as tract 0.23.9 gave them where it takes the same text.

    nnef_tract.py RILL"""
import itertools
import json
import math
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nnef_case import ROLL, dat, finish, floats, graph, rolled, run  # noqa: E402

TRACT = "".join(f"extension tract_registry tract_{r};\n" for r in ("core", "onnx", "pulse", "extra", "resource", "transformers"))
KINDS = {"f": "f32", "b": "i8", "B": "u8", "i": "i32", "q": "i64"}


def steps(name, body, shape, rows, want, more={}, out=None, kind="f", **rest):
    """Each run takes one of `rows`, numbers in the order of shape, and gives one of `want`."""
    ext = f"x = tract_core_external(shape = {list(shape)}, datum_type = '{KINDS[kind]}');"
    flat = lambda of: [v for r in of for v in r]  # noqa: E731
    run(name, TRACT + graph(ext + body), {"x": (kind, (len(rows), *shape), flat(rows)), **more},
        {"y": (kind, (len(want), *(out or shape)), flat(want))}, options=["-n", str(len(rows))], **rest)


def stream(n, pulse):
    """A line of n pulses of two channels: rows of [1, 2, pulse], and the channels whole."""
    whole = [rolled(n * pulse), rolled(n * pulse)]
    return whole, [[v for w in whole for v in w[i * pulse:(i + 1) * pulse]] for i in range(n)]


def cut(whole, n, pulse, by=None):
    by = by or pulse
    return [[v for w in whole for v in w[i * pulse:i * pulse + by]] for i in range(n)]


def pulses():
    n, pulse = 6, 4
    whole, rows = stream(n, pulse)
    for delay, overlap in ((0, 3), (5, 0), (2, 2), (9, 1), (0, 0)):
        late = [[0.0] * (delay + overlap) + w for w in whole]
        steps(f"a delay of {delay}, {overlap} twice", f"y = tract_pulse_delay(x, axis = 2, delay = {delay}, overlap = {overlap});",
              (1, 2, pulse), rows, cut(late, n, pulse, pulse + overlap), out=(1, 2, pulse + overlap))
    twice = "a = tract_pulse_delay(x, axis = 2, delay = 3, overlap = 0); y = a + tract_core_delay(x, axis = 2, delay = 3, overlap = 0);"
    steps("two delays", twice, (1, 2, pulse), rows, [[2 * v for v in r] for r in cut([[0.0] * 3 + w for w in whole], n, pulse)])
    steps("a delay of places", "y = tract_pulse_delay(x, axis = 0, delay = 1, overlap = 0);", (2,), [[1, 2], [3, 4]], [[0, 1], [2, 3]], kind="q")

    def padded(w, border, before, begin, after, end):
        y = list(w)
        for first in range(0, len(w), pulse):
            last = first + pulse
            at = min(max(begin - first, 0), pulse - 1)
            for k in range(first, last):
                if k < begin and last > begin - before:
                    y[k] = 7.0 if border == "constant" else w[first + at]
                if k >= end and first < end + after and after:
                    y[k] = 7.0 if border == "constant" else w[end - 1]
        return y
    for border, (before, begin, after, end) in itertools.product(("constant", "replicated"), ((2, 2, 0, 99), (1, 5, 0, 99), (2, 6, 3, 15), (0, 3, 2, 14))):
        body = f"y = tract_pulse_pulse_pad(x, axis = 2, before = {before}, after = {after}, begin_input = {begin}, end_input = {end}, border = '{border}', value = 7.0);"
        steps(body, body, (1, 2, pulse), rows, cut([padded(w, border, before, begin, after, end) for w in whole], n, pulse))
    conv = ("d = tract_pulse_delay(x, axis = 2, delay = 0, overlap = 2); p = tract_pulse_pulse_pad(d, axis = 2, before = 1, begin_input = 2, "
            "overlap = 2, after = 1, end_input = (S + 2), border = 'constant', value = 0.0); w = [[[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]];"
            "y = conv(p, w, 0.0, dilation = [1], stride = [1], border = 'constant', groups = 1, padding = [(0, 0)]);")
    late = [[0.0, 0.0] + w for w in whole]
    sums = [[sum(w[0][t + k] * (1, 2, 3)[k] + w[1][t + k] * (0.5, -1, 2)[k] for k in range(3)) for w in [late]][0] for t in range(n * pulse)]
    run("a convolution that tract made a stream of, whose length nothing says", TRACT + "extension tract_symbol S;\n" + graph(
        "x = external(shape = [1, 2, 4]);" + conv), {"x": ("f", (n, 1, 2, pulse), [v for r in rows for v in r])},
        {"y": ("f", (n, 1, 1, pulse), sums)}, options=["-n", str(n)])
    steps("a mask", "y = tract_pulse_mask(x, axis = 2, begin = 5, end = 14, value = 3.0);", (1, 2, pulse), rows,
          cut([[v if 5 <= k < 14 else 3.0 for k, v in enumerate(w)] for w in whole], n, pulse))
    for exclusive, skip in ((False, 0), (True, 5)):
        y = [[0.0 if k < skip else sum(w[skip:k + (not exclusive)]) for k in range(len(w))] for w in whole]
        steps("running sums", f"y = tract_pulse_cumsum(x, axis = 2, exclusive = {str(exclusive).lower()}, skip = {skip});", (1, 2, pulse), rows,
              cut(y, n, pulse))
    run("refused: another border", TRACT + graph("x = external(shape = [4]); y = tract_pulse_pulse_pad(x, axis = 0, before = 1, after = 0, "
        "begin_input = 1, end_input = 9, border = 'reflect');"), {}, {}, refused="'reflect' is not supported here, 'constant' is")


def running():
    n, pulse, alpha, skip = 5, 3, 0.9, 2
    whole, rows = stream(n, pulse)

    def follow(w, h, size, y, skip=skip):
        out = []
        for k, v in enumerate(w):
            h = size(v) * (1 - alpha) + h * alpha if k >= skip else h
            out.append(y(v, h))
        return out
    mean = [follow(w, c + 1.0, lambda v: v, lambda v, h: (v - h) / 3) for c, w in enumerate(whole)]
    norm = [follow(w, c + 1.0, abs, lambda v, h: v / math.sqrt(h)) for c, w in enumerate(whole)]
    for name, more, y in (("mean", ", scaling_factor = 3.0", mean), ("unit", "", norm)):
        body = f"y = tract_extra_exp_{name}_norm(x, [[1.0, 2.0]], axis = 2, alpha = {alpha}, skip = {skip}{more});"
        steps("a running " + name, body, (1, 2, pulse), rows, cut(y, n, pulse))
        text = TRACT + graph("x = external<scalar>(shape = [1, 2, S]);" + body)
        run("along an open axis, " + name, text, {"x": ("f", (1, 2, n * pulse), sum(whole, []))}, {"y": ("f", (1, 2, n * pulse), sum(y, []))})
        run("without a state, " + name, TRACT + graph(f"x = external<scalar>(shape = [1, 2, {pulse}]);" + body.replace("skip =", "stateless = true, skip =")),
            {"x": ("f", (2, 1, 2, pulse), (rows[0] + rows[0]))}, {"y": ("f", (2, 1, 2, pulse), cut(y, 1, pulse)[0] * 2)}, options=["-n", "2"])
    pairs = [(whole[0][k], whole[1][k]) for k in range(n * pulse)]
    y = follow(pairs, 1.0, lambda v: math.hypot(*v), lambda v, h: [c / math.sqrt(h) for c in v], 0)
    steps("a running norm of pairs", f"y = tract_extra_exp_unit_norm(x, [1.0], axis = 1, alpha = {alpha}, complex = true);", (1, pulse, 2),
          [[c for v in pairs[i * pulse:(i + 1) * pulse] for c in v] for i in range(n)], [sum(y[i * pulse:(i + 1) * pulse], []) for i in range(n)])


def caches():
    """Keys of all runs, and of the last few."""
    n = 6
    x = [rolled(2) for _ in range(n)]
    body = ("k = tract_transformers_dyn_kv_cache(x, name = 'k', axis = 1, datum_type = 'f32', past_sequence_shape = [1, P, 2], "
            "input_sequence_shape = [1, S, 2]); y = sum_reduce(k, axes = [1]);")
    sums = [[sum(v[c] for v in x[:i + 1]) for c in range(2)] for i in range(n)]
    text = TRACT + "extension tract_symbol S;\nextension tract_symbol P;\n" + graph("x = external<scalar>(shape = [1, S, 2]);" + body)
    ins, outs = {"x": ("f", (n, 1, 1, 2), sum(x, []))}, {"y": ("f", (n, 1, 1, 2), sum(sums, []))}
    run("a cache that grows", text, ins, outs, options=["-n", str(n)], command=("run",))
    run("a cache as an input and an output", text, {"x": ("f", (1, 2, 2), x[0] + x[1]), "past_k": ("f", (1, 3, 2), sum(x[2:5], []))},
        {"present_k": ("f", (1, 5, 2), sum(x[2:5] + x[:2], []))}, options=["--state", "none"])
    again = body.replace("k = ", "v = ").replace("y = sum_reduce(k", "y = sum_reduce(k + v")
    for words, twice in (("'past_k'", text.replace("y = sum_reduce(k, axes = [1]);", again)), ("'past_k'", text.replace("(x)", "(past_k)").replace("\nx = ", "\npast_k = ").replace("(x,", "(past_k,")),
                         ("'present_k'", text.replace("(y)", "(present_k)").replace("y = ", "present_k = "))):
        run("refused: two of " + words, twice, {}, {}, refused=f"puts are called {words}: a cache has a name of its own")
    run("refused: another rank", text.replace("[1, P, 2]", "[P, 2]"), {}, {}, refused="a cache of rank 2 for a tensor of rank 3")
    for window in (2, 4):
        y = []
        for t in range(n):
            keys = x[max(0, t + 1 - window):t + 1]
            e = [math.exp(0.5 * sum(a * b for a, b in zip(x[t], k))) for k in keys]
            y.append([sum(p * k[c] for p, k in zip(e, keys)) / sum(e) for c in range(2)])
        steps(f"attention over {window}", f"y = tract_transformers_window_kv_sdpa(x, x, x, axis = 2, window = {window}, scale = 0.5);", (1, 1, 1, 2), x, y)


def round_even(v):
    return int(round(v))


def small():
    """As tract writes QLinearConv, ConvInteger, QLinearMatMul and MatMulInteger of ONNX."""
    whole = lambda k, lo=-128, hi=127: [ROLL.randint(lo, hi) for _ in range(k)]  # noqa: E731
    x, w, bias = whole(14), whole(18), whole(3, -500, 500)

    def conv(t, o, pad, x0, w0):
        return sum((x[c * 7 + t + k - pad] - x0) * (w[(o * 2 + c) * 3 + k] - w0) for c in range(2) for k in range(3) if 0 <= t + k - pad < 7)
    for pad, x0, w0, y0, (xs, ws, ys), kind in ((0, 3, -7, 5, (0.5, 0.25, 64.0), "b"), (1, 3, -7, 5, (0.013, 0.017, 0.071), "b"),
                                                (1, 0, 4, 100, (0.013, 0.017, 0.071), "B"), (1, 3, -7, 0, (1.0, 1.0, 1.0), "i")):
        n = 5 + 2 * pad
        least = {"b": -128, "B": 0, "i": -2 ** 31}[kind]
        sums = [conv(t, o, pad, x0, w0) + bias[o] for o in range(3) for t in range(n)]
        y = [min(max(round_even(s * (xs * ws / ys)) + y0, least), least + (255 if kind != "i" else 2 ** 32)) for s in sums]
        text = graph("x = tract_core_external(shape = [1, 2, 7], datum_type = 'I8'); q = tract_core_cast(x, to = 'i8');"
                     "w = variable<scalar>(label = 'w', shape = [3, 2, 3]);"
                     f"b = tract_core_cast({bias}, to = 'i32'); x0 = tract_core_cast({x0}, to = 'i32'); w0 = tract_core_cast({w0}, to = 'i32');"
                     f"y = tract_core_qconv(q, w, b, dilation = [1], stride = [1], border = 'constant', groups = 1, padding = [({pad}, {pad})], b0 = x0, b_scale = {xs},"
                     f"a0 = w0, a_scale = {ws}, c0 = {y0}, c_scale = {ys}, output_dt = '{KINDS[kind]}');")
        quant = "".join(f'"{k}": zero_point_linear_quantize(zero_point = {z}, scale = {s}, bits = 8, signed = true, symmetric = false);\n'
                        for k, z, s in (("q", x0, xs), ("w", w0, ws)))
        run("qconv to " + KINDS[kind], TRACT + text, {"x": ("b", (1, 2, 7), x)}, {"y": (kind, (1, 3, n), y)},
            {"graph.quant": quant, "w.dat": dat((3, 2, 3), bytes(v & 255 for v in w), 3, 8)})
        run("qconv of integers that no file quantises, to " + KINDS[kind], TRACT + text, {"x": ("b", (1, 2, 7), x)}, {"y": (kind, (1, 3, n), y)},
            {"w.dat": dat((3, 2, 3), bytes(v & 255 for v in w), 4, 8)})
    zeros, scales, ends = [-7, 0, 100], [0.25, 0.5, 0.125], [5, 0, -9]
    y = [max(-128, min(127, round_even((conv(t, o, 0, 3, zeros[o]) + bias[o]) * (0.5 * scales[o] / 64.0)) + ends[o])) for o in range(3) for t in range(5)]
    run("qconv with numbers of each channel", TRACT + graph("x = tract_core_external(shape = [1, 2, 7], datum_type = 'i8'); w = variable<scalar>(label = 'w', shape = [3, 2, 3]);"
        f"y = tract_core_qconv(x, w, tract_core_cast({bias}, to = 'i32'), dilation = [1], stride = [1], border = 'constant', groups = 1, padding = [(0, 0)], b0 = 3, b_scale = 0.5,"
        f"a0 = tract_core_cast({zeros}, to = 'i32'), a_scale = {scales}, c0 = tract_core_cast({ends}, to = 'i32'), c_scale = 64.0, output_dt = 'i8');"),
        {"x": ("b", (1, 2, 7), x)}, {"y": ("b", (1, 3, 5), y)}, {"w.dat": dat((3, 2, 3), bytes(v & 255 for v in w), 4, 8)})
    a, b, bias = whole(8), whole(12), whole(2, -90, 90)
    sums = [sum((a[i * 4 + k] - 3) * (b[k * 3 + j] + 7) for k in range(4)) for i in range(2) for j in range(3)]
    ext = "x = tract_core_external(shape = [2, 4], datum_type = 'i8'); b = tract_core_external(shape = [4, 3], datum_type = 'i8');"
    ins = {"x": ("b", (2, 4), a), "b": ("b", (4, 3), b)}
    by = "a0 = 3, a_scale = 0.5, b0 = tract_core_cast(-7, to = 'i8'), b_scale = 0.25, c0 = 5, c_scale = 64.0"
    held = lambda v: min(max(v, -128), 127)  # noqa: E731
    for name, text, y in (
            ("einsum_q", "tract_core_einsum_q([x, b], expr = 'mk,kn,,,,,,,->mn', acc = 'i32', output = 'i8', bias = tract_core_cast(0, to = 'i32'), " + by + ")",
             [held(round_even(s / 512) + 5) for s in sums]),
            ("einsum_q with a bias", f"tract_core_einsum_q([x, b], expr = 'mk,kn,m,,,,,,->mn', acc = 'i32', output = 'i8', bias = tract_core_cast({bias}, to = 'i32'), " + by + ")",
             [held(round_even((s + bias[i // 3]) / 512) + 5) for i, s in enumerate(sums)]),
            ("qmatmul", "tract_core_qmatmul(x, b, 0, axes = [0, 1, 0, 1, 0, 1], output_type = 'i8', " + by + ")", [held(round_even(s / 512) + 5) for s in sums])):
        run(name, TRACT + graph(ext + f"y = {text};", "x, b"), ins, {"y": ("b", (2, 3), y)})
    ones = by.replace("a0 = 3", "a0 = tract_core_cast([3], to = 'i8')").replace("c0 = 5", "c0 = tract_core_cast([5], to = 'i8')").replace("0.25", "[0.25]")
    run("einsum_q with numbers in lists of one", TRACT + graph(ext + f"y = tract_core_einsum_q([x, b], expr = 'mk,kn,,m,,n,n,m,->mn', output = 'i8', bias = tract_core_cast(0, to = 'i32'), {ones});",
        "x, b"), ins, {"y": ("b", (2, 3), [held(round_even(s / 512) + 5) for s in sums])})
    rows, columns, a0, b0, c0 = [0.5, 0.25], [0.25, 0.5, 0.125], [3, -4], [-7, 0, 9], [5, -100]
    y = [held(round_even(sum((a[i * 4 + k] - a0[i]) * (b[k * 3 + j] - b0[j]) for k in range(4)) * rows[i] * columns[j] / 64) + c0[i]) for i in range(2) for j in range(3)]
    run("einsum_q with numbers of each row and column", TRACT + graph(ext + f"y = tract_core_einsum_q([x, b], expr = 'mk,kn,,m,m,n,n,m,->mn', output = 'i8', a0 = tract_core_cast({a0}, to = 'i8'),"
        f"a_scale = {rows}, b0 = tract_core_cast({b0}, to = 'i8'), b_scale = {columns}, c0 = tract_core_cast({c0}, to = 'i8'), c_scale = 64.0);", "x, b"), ins, {"y": ("b", (2, 3), y)})
    for given in ("a_scale = [0.5, 0.25]", "b_scale = [0.5, 0.25, 1.0]", "c0 = tract_core_cast([1, 2], to = 'i8')", "b0 = tract_core_cast([1, 2, 3], to = 'i8')"):
        for body in ("einsum_q([x, b], expr = 'mk,kn,,k,k,,k,k,->mn', output", "einsum_q([x, b], expr = 'mk,kn->mn', output", "qmatmul(x, b, axes = [0, 1, 0, 1, 0, 1], output_type"):
            run(f"refused: {given} of {body}", TRACT + graph(ext + f"y = tract_core_{body} = 'i8', {given});", "x, b"), {}, {}, refused="rank 1 whose axes are not those of the ")
    for text, words in (("tract_core_einsum_q([x, b], expr = 'mk,kn,,,,,,,->mn', bias = tract_core_cast([1, 2, 3], to = 'i32'), output = 'i8', " + by + ")", "axes are not those of the result"),
                        ("tract_core_einsum_q([x], expr = 'mk->m', output = 'i8')", "1 operands and 'mk->m', expected two"),
                        ("tract_core_einsum_q([x, tract_core_cast(b, to = 'f32')], expr = 'mk,kn->mn', output = 'i8')", "an operand of f32, expected integers"),
                        ("tract_core_qmatmul(x, b, axes = [0, 0, 0, 1, 0, 1], output_type = 'i8')", "axes are those of m and k"),
                        ("tract_core_qmatmul(x, b, axes = [0, 1, 0, 1, 0, 1], output_type = 'f32')", "'f32' is not supported here")):
        run("refused: " + text, TRACT + graph(ext + f"y = {text};", "x, b"), {}, {}, refused=words)
    p, q = rolled(2 * 3 * 4), rolled(2 * 5 * 4)
    y = [sum(p[(k * 3 + i) * 4 + t] * q[(k * 5 + j) * 4 + t] for t in range(4)) for k in range(2) for i in range(3) for j in range(5)]
    run("matmul of older files", TRACT + graph("x = external<scalar>(shape = [2, 3, 4]); b = external<scalar>(shape = [2, 5, 4]);"
        "y = tract_core_matmul(x, b, axes = [1, 2, 2, 1, 1, 2]);", "x, b"), {"x": ("f", (2, 3, 4), p), "b": ("f", (2, 5, 4), q)}, {"y": ("f", (2, 3, 5), y)})


def resources():
    values = {"width": 3, "sizes": {"in-dim": [2, 4]}, "name": "re\"lu", "gain": -2.5e-1, "on": True, "rows": [[1, 2, 3], [4, 5, 6]], "none": None, "e": []}
    files = {"conf.json": json.dumps(values, indent=1)}
    get = lambda key: f"tract_resource_get(label = 'conf', key = '{key}')"  # noqa: E731
    x = rolled(3)
    run("values of a file", TRACT + graph(f"x = external<scalar>(shape = [{get('$.width')}]);"
        f"y = (x if {get('$.on')} else 0.0) * {get('$.gain')} + scalar({get('$.sizes.in-dim[1]')}) + scalar(length_of({get('$.rows')})) + scalar({get('$.rows[1][2]')})"
        f" + scalar(length_of({get('$.e')})) + (1.0 if {get('$.name')} == {get('$.name')} else 0.0);"), {"x": ("f", (3,), x)},
        {"y": ("f", (3,), [v * -0.25 + 4 + 2 + 6 + 1 for v in x])}, files)
    for key, words in (("$.depth", "is not there; a key is '$'"), ("width", "is not there"), ("$.rows[2]", "is not there"), ("$.rows[", "is not there"),
                       ("$.width.a", "is not there"), ("$.none", "an object or null, expected a number"), ("$.sizes", "an object or null"), ("$", "an object or null")):
        run("refused: " + key, TRACT + graph(f"x = external<scalar>(shape = [3]); y = x * scalar({get(key)});"), {}, {}, files, refused=words)
    taken = "x = external<scalar>(shape = [3]); y = x * scalar(tract_resource_get(label = '/conf', key = '$.width'));"
    for text in (json.dumps({"name": "caf\u00e9 \U0001f600 \\ \"", "width": 3}), '{"na\\u006de": -0.0e+2, "w\\u0069dth": 3}', '{"width": 2, "b": "\\ud83d\\ude00", "width": 3e0} \n',
                 '{"b": [' + "1," * 300000 + '1e99], "width": 3}', '{"width": 3, "e": %s}' % ("[" * 127 + "]" * 127), '{"width": 3, "[": "%s"}' % ('[\\"{' * 999)):
        run("read: " + text[:40], TRACT + graph(taken), {"x": ("f", (3,), x)}, {"y": ("f", (3,), [3 * v for v in x])}, {"conf.json": text})
    letters = f"a = {get('$.a')}; b = {get('$.b')}; y = x * (3.0 if a == 'caf\u00e9\U0001f600' && b == 'cafe' else 2.0);"
    run("letters", TRACT + graph("x = external<scalar>(shape = [3]);" + letters), {"x": ("f", (3,), x)}, {"y": ("f", (3,), [3 * v for v in x])},
        {"conf.json": json.dumps({"a": "caf\u00e9\U0001f600", "b": "cafe"})})
    for number, words in (("+3", "1:11: invalid token near '+'"), ("03", "invalid token near '0'"), ("3.", "invalid token near '3.'"), (".3", "invalid token near '.'"),
                          ("-", "invalid token"), ("3e", "invalid token"), ("NaN", "invalid token"), ("1e999", "real number overflow near '1e999'"),
                          ("9" * 400, "too big integer"), ("9223372036854775808", "too big integer")):
        run("refused: " + number[:9], TRACT + graph(taken), {}, {}, {"conf.json": '{"width": %s}' % number}, refused=words)
    run("the last of i64", TRACT + graph("x = tract_core_external(shape = [1], datum_type = 'i64'); y = x + " + get("$.width") + ";"), {"x": ("q", (1,), [-7])},
        {"y": ("q", (1,), [2 ** 63 - 8])}, {"conf.json": '{"width": 9223372036854775807}'})
    large = {f"k{i}": [i] * 400 for i in range(1000)}
    calls = "".join(f"v{i} = {get(f'$.k{i % 1000}[399]')}; l{i} = {get(f'$.k{i % 20}')};" for i in range(4000))
    run("thousands of values of a large file", TRACT + graph("x = external<scalar>(shape = [3]);" + calls + "y = x * scalar(v1999) + scalar(l3999[0]);"), {"x": ("f", (3,), x)},
        {"y": ("f", (3,), [999 * v + 19 for v in x])}, {"conf.json": json.dumps(large)}, most_mb=256)
    for text, words in (("", "1:0: unexpected token near end of file"), ("\ufeff{}", "a byte order mark"), ('{"width": 3} 4', "1:14: end of file expected near '4'"), ('{"width": 3}\0', "end of file expected"),
                        ('{"a\n": 3}', "unexpected newline"), ('{"a\t": 3}', "control character 0x9"), ('{"a": 1,', "string or '}' expected near end of file"), ('{"a" 1, "width": 3}', "':' expected near '1'"), ('{"a": tru, "width": 3}', "invalid token near 'tru'"),
                        ('{"a": [1 2], "width": 3}', "']' expected near '2'"), ('{"a": "b', "premature end of input"), ('{"a": "\\u00g1", "width": 3}', "invalid escape"), ('{"a": "\\q", "width": 3}', "invalid escape"),
                        ('{"a": "\\ud83d", "width": 3}', "invalid Unicode"), ('{"a": "\\u0000", "width": 3}', "is not allowed"), (b'{"a": "\xff", "width": 3}', "unable to decode byte 0xff"),
                        ("[" * 5000, "nested more than 128 deep"), ('{"a": ' + "[" * 5000, "nested more than 128 deep"), ('{"width": 3, "a": %s}' % ("[" * 128 + "]" * 128), "nested more than"), ("[" + "{}," * 65536 + "{}]", "or more than 65536 in all"), ("{1}", "string or '}' expected"),
                        ('{"a": [1,], "width": 3}', "unexpected token near ']'"), ('{"a": [1e999], "width": 3}', "real number overflow"), (" " * (5 << 20) + "3", "conf.json")):
        run(f"refused: {text[:20]}", TRACT + graph(f"x = external<scalar>(shape = [3]); y = x * scalar({get('$.width')});"), {}, {}, {"conf.json": text}, refused=words)
    both = "x = external<scalar>(shape = [3]); y = x * scalar(tract_resource_get(label = 'a', key = '$')) + scalar(tract_resource_get(label = 'b', key = '$'));"
    run("refused: files of many bytes together", TRACT + graph(both), {}, {}, {n + ".json": " " * (3 << 20) + "3" for n in "ab"}, refused="b.json: JSON files of more than 4194304 bytes in all")
    run("refused: no file", TRACT + graph(f"x = external<scalar>(shape = [3]); y = x * scalar({get('$.width')});"), {}, {}, refused="conf.json")


def plain():
    """What tract writes beside its registries: operators, labels, names of ports."""
    x = rolled(6)
    ins = {"x": ("f", (2, 3), x)}
    of_tract = "extension tract_symbol T;\n", "fragment tract_core_properties() -> (p: (string, string)[]) { p = [('a', 'b')]; }\n", TRACT
    for name, standard, by in (("square", "sqr", lambda v: v * v), ("recip", "rcp", lambda v: 1 / v)):
        body = graph(f"x = external<scalar>(shape = [2, 3]); y = {name}(x);")
        for head in of_tract:
            run(name + head[:30], head + body, ins, {"y": ("f", (2, 3), [by(v) for v in x])})
        run("refused: no text of tract", body, {}, {}, refused="the standard has sqr and rcp")
        run("a fragment of the text", f"fragment {name}(x: tensor<scalar>) -> (y: tensor<scalar>) {{ y = {standard}(x) + 1.0; }}\n" + body, ins,
            {"y": ("f", (2, 3), [by(v) + 1 for v in x])})
    taken = lambda label: TRACT + graph(f"x = external<scalar>(shape = [2, 3]); w = variable<scalar>(label = '{label}', shape = [2, 3]); y = x + w;")  # noqa: E731
    for label in ("l/a.w", "/l/a.w", "//l/a.w"):
        run("label " + label, taken(label), ins, {"y": ("f", (2, 3), [v + k for k, v in enumerate(x)])}, {"l/a.w.dat": floats((2, 3), [0, 1, 2, 3, 4, 5])})
    for label in ("/../w", "../w", "/l/../../w", "/l//a.w", "/./w"):
        run("refused: label " + label, taken(label), {}, {}, {"l/a.w.dat": b""}, refused="not a file beneath the model's folder")
    body = "fragment step(%s: tensor<scalar>, %s: tensor<scalar>) -> (%s: tensor<scalar>) { %s = %s + %s; }\n"
    for frame, state, result, inside in (("/l/x.a", "/l/h", "/l/h.b", ("__l_x_a", "__l_h", "__l_h_b")), ("4-x", "h", "4-h", ("_4_x", "h", "_4_h")),
                                         ("x", "_h", "y.a", ("x", "_h", "y_a")), ("__l_x_a", "__l_h", "__l_h_b", ("__l_x_a", "__l_h", "__l_h_b"))):
        scan = (f"y = tract_core_scan(body = 'step', scan = [('{frame}', x, 0, 1)], full = [], state = [('{state}', [[0.0, 0.0, 0.0]], '{result}')], "
                f"output = [('{result}', 'full', 0, 1)], skip = 0, reset_every_turn = false, external_state = false);")
        run("a scan of " + frame, TRACT + body % (*inside, inside[2], *inside[:2]) + graph("x = external<scalar>(shape = [2, 3]);" + scan), ins,
            {"y": ("f", (2, 3), x[:3] + [a + b for a, b in zip(x[:3], x[3:])])})


def others():
    x = rolled(6)
    ins = {"x": ("f", (2, 3), x)}
    one = lambda name, body, y, kind="f": run(name, TRACT + graph(f"x = external<scalar>(shape = [2, 3]); y = {body};"), ins, {"y": (kind, (2, 3), y)})  # noqa: E731
    for exclusive, reverse in itertools.product((False, True), repeat=2):
        row = lambda r: [sum((r[k + exclusive:] if reverse else r[:k + (not exclusive)]), 0.0) for k in range(3)]  # noqa: E731
        one("cumsum", f"tract_core_cumsum(x, axis = 1, exclusive = {str(exclusive).lower()}, reverse = {str(reverse).lower()})", row(x[:3]) + row(x[3:]))
    gelu = [v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3))) for v in x]
    for registry in ("core", "transformers"):
        one("gelu", f"tract_{registry}_gelu_approx(x, fast_impl = false)", gelu)
        one("gelu with a square", f"tract_{registry}_gelu_approx(x, fast_impl = true)",
            [v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 2))) for v in x])
    one("is_nan", "tract_core_is_nan(select(x > 0.0, x, x / 0.0 * 0.0))", [v <= 0 for v in x], "?")
    body = "v = select(x > 0.5, 1.0 / 0.0, select(x < -0.5, -1.0 / 0.0, x)); y = tract_%s_is_inf(v%s);"
    for registry, (up, down) in itertools.product(("core", "onnx"), itertools.product((True, False), repeat=2)):
        given = f", detect_negative = {str(down).lower()}, detect_positive = {str(up).lower()}"
        run("is_inf" + given, TRACT + graph("x = external<scalar>(shape = [4]);" + body % (registry, given)), {"x": ("f", (4,), [1, -1, 0, 0.25])},
            {"y": ("?", (4,), [up, down, False, False])})
    run("topk with a tensor", TRACT + graph("x = external<scalar>(shape = [2, 3]); k = tract_core_cast([2], to = 'i64'); (y, at) = tract_core_topk(x, k, largest = true, axis = 1);"),
        ins, {"y": ("f", (2, 2), sorted(x[:3])[:0:-1] + sorted(x[3:])[:0:-1])})
    run("a cast of large integers", TRACT + graph("x = tract_core_external(shape = [2], datum_type = 'i64'); y = x + tract_core_cast([9007199254740993, 16777217], to = 'i64');"),
        {"x": ("q", (2,), [0, 1])}, {"y": ("q", (2,), [9007199254740993, 16777218])})
    run("refused: topk by data", TRACT + graph("x = external<scalar>(shape = [2, 3]); (y, at) = tract_core_topk(x, sum_reduce(x, axes = [0, 1]), largest = true, axis = 1);"),
        {}, {}, refused="'k' is a tensor, expected an integer")
    one("an einsum with axes of its own", "squeeze(tract_core_einsum([x], expr = 'ab->caxbd', acc = 'f32', output = ''), axes = [0, 2, 4])", x)
    run("refused: an einsum of nothing", TRACT + graph("x = external<scalar>(shape = [2, 3]); y = tract_core_einsum([], expr = '->', acc = 'f32');"), {}, {},
        refused="(Einsum): has 0 inputs, wants 1 to")
    whole = [(100, -100, 3), (-128, 127, 5)]
    run("an einsum of small integers", TRACT + graph("x = tract_core_external(shape = [2, 3], datum_type = 'i8');"
                                                     "y = tract_core_einsum([x, x], expr = 'ij,kj->ik', acc = 'i32', output = 'i32');"),
        {"x": ("b", (2, 3), [v for row in whole for v in row])}, {"y": ("i", (2, 2), [sum(a * b for a, b in zip(r, q)) for r in whole for q in whole])})
    by = "coord_transformer = 'half_pixel', interpolator = '%s', nearest_mode = 'round_prefer_floor', cubic_coeff_a = %s, exclude_outside = %s, " \
         "antialias = %s, extrapolation_value = 0.0"
    one("resize as tract writes it", "tract_onnx_resize(x, [1.0, 1.0], " + by % ("nearest", -0.75, "false", "false") + ")", x)
    cubic = lambda a, t: (((a + 2) * t - (a + 3)) * t * t + 1) if t <= 1 else ((a * t - 5 * a) * t + 8 * a) * t - 4 * a  # noqa: E731
    for a, excludes in itertools.product((-0.5, -0.75), (False, True)):
        def at(row, o):
            place = (o + 0.5) / 2 - 0.5
            taps = [(k, cubic(a, abs(place - k))) for k in range(math.floor(place) - 1, math.floor(place) + 3) if not excludes or 0 <= k < 3]
            return sum(w * row[min(max(k, 0), 2)] for k, w in taps) / sum(w for _, w in taps)
        run(f"resize, cubic {a} {excludes}", TRACT + graph("x = external<scalar>(shape = [2, 3]); y = tract_onnx_resize(x, [1.0, 2.0], "
                                                         + by % ("cubic", a, str(excludes).lower(), "false") + ");"), ins,
            {"y": ("f", (2, 6), [at(x[3 * r:3 * r + 3], o) for r in range(2) for o in range(6)])})
    run("refused: antialias", TRACT + graph("x = external<scalar>(shape = [2, 3]); y = tract_onnx_resize(x, [1.0, 2.0], " + by % ("linear", -0.75, "false", "true") + ");"),
        {}, {}, refused="antialias=1 is not supported")
    sums = [sum(x[3 * i:3 * i + 3]) for i in range(2)]
    run("an einsum that sums and has an axis of its own", TRACT + graph("x = external<scalar>(shape = [2, 3]); y = tract_core_einsum([x, [[1.0, 2.0]]], expr = 'ma,bn->mbnc', acc = 'f32');"),
        ins, {"y": ("f", (2, 1, 2, 1), [s * k for s in sums for k in (1, 2)])})
    for given in ("delay = -1, overlap = 2", "delay = 2, overlap = -1"):
        run("refused: " + given, TRACT + graph(f"x = external<scalar>(shape = [2, 3]); y = tract_pulse_delay(x, axis = 1, {given});"), {}, {}, refused="is -1, expected at least 0")
    run("refused: a modulo backwards", TRACT + graph("x = external<scalar>(shape = [3]); y = tract_core_downsample(x, axis = 0, stride = -2, modulo = 1);"), {}, {},
        refused="modulo is 1, expected 0 with a negative stride, -2")
    for shape in ("[2, 2, 6]", "[1, 3, 6]"):
        body = f"x = external<scalar>(shape = [1, 2, 3]); i = tract_core_cast([[[0, 1, 2], [0, 1, 2]]], to = 'i64'); y = desample(x, i, size = [1, 1, 2], stride = [1, 1, 2], padding = [(0, 0), (0, 0), (0, 0)], output_shape = {shape});"
        run("refused: desample to " + shape, TRACT + graph(body), {}, {}, refused="another batch or other channels")
    for kind, item, bits in (("i", 4, 32), ("b", 4, 8), ("B", 1, 8), ("q", 4, 64), ("b", 3, 8)):
        text = TRACT + graph(f"x = tract_core_external(shape = [3], datum_type = '{KINDS[kind]}'); w = variable<scalar>(label = 'w', shape = [3]); y = x + w;")
        run(f"integers of a file, {KINDS[kind]}", text, {"x": (kind, (3,), [1, 2, 3])}, {"y": (kind, (3,), [8, 10, 12])},
            {"w.dat": dat((3,), struct.pack("<3" + kind, 7, 8, 9), item, bits)})
    norm = lambda r: [v / math.sqrt(sum(a * a for a in r) / 3 + 0.01) * (k + 1) for k, v in enumerate(r)]  # noqa: E731
    one("scaled_rms_norm", "tract_core_scaled_rms_norm(x, [1.0, 2.0, 3.0], axis = 1, eps = 0.01)", norm(x[:3]) + norm(x[3:]))
    p, q = [-7, 5, 1, 100, -1, 0], [1, 2, 4, 3, 0, 5]
    two = "x = tract_core_external(shape = [6], datum_type = 'i32'); b = tract_core_external(shape = [6], datum_type = 'i32');"
    run("shifts", TRACT + graph(two + "y = tract_shl(x, b); z = tract_shr(x, b);", "x, b", "y, z"), {"x": ("i", (6,), p), "b": ("i", (6,), q)},
        {"y": ("i", (6,), [a << b for a, b in zip(p, q)]), "z": ("i", (6,), [a >> b for a, b in zip(p, q)])})
    run("a border as tract calls it", TRACT + graph("x = external<scalar>(shape = [2, 3]); y = pad(x, padding = [(0, 0), (1, 2)], border = 'replicated');"),
        ins, {"y": ("f", (2, 6), [x[0]] + x[:3] + [x[2]] * 2 + [x[3]] + x[3:] + [x[5]] * 2)})
    for name, words in (("core_complex_to_inner_dim", "no complex type"), ("core_inner_dim_to_complex", "no complex type"), ("onnx_multinomial", "draws numbers"),
                        ("onnx_random", "draws numbers"), ("onnx_non_max_suppression", "regions of pictures"), ("onnx_ml_direct_lookup", "lookups and trees"),
                        ("onnx_ml_reverse_lookup", "lookups and trees"), ("onnx_ml_tree_ensemble_classifier", "lookups and trees"),
                        ("transformers_quantized_dyn_kv_cache", "packed in a way"), ("transformers_quantized_kv_sdpa", "packed in a way"),
                        ("core_vptq_gemm", "codebooks")):
        run("refused: " + name, TRACT + graph(f"x = external<scalar>(shape = [2, 3]); y = tract_{name}(x);"), {}, {}, refused=words)


def recurrences():
    """In a text that tract made a stream of they go on from run to run, in others not."""
    tells = "fragment tract_core_properties() -> (p: (string, tensor<scalar>)[]) { p = [('%s', tract_core_cast([0], to = 'i64'))]; }\n"
    step = "fragment step(x: tensor<scalar>, h: tensor<scalar>) -> (y: tensor<scalar>) { y = x + h; }\n"
    scan = ("%s = tract_core_scan(body = 'step', scan = [('x', %s, 0, 1)], full = [], state = [('h', %s, 'y')], "
            "output = [('y', 'full', 0, 1)], skip = 0, reset_every_turn = %s, external_state = false);")
    n, size = 3, 6
    rows = [rolled(size) for _ in range(n)]
    case = {"x": ("f", (n, 2, 3), sum(rows, []))}
    ext = "x = external<scalar>(shape = [2, 3]);"
    one = "[[1.0, 2.0, 3.0]]"

    def sums(goes_on, rows=rows):
        y, h = [], [1.0, 2.0, 3.0]
        for row in rows:
            h = h if goes_on else [1.0, 2.0, 3.0]
            for k in (0, 3):
                h = [a + b for a, b in zip(row[k:k + 3], h)]
                y += h
        return y
    for words, head, restarts, goes_on, more in (("a stream", tells % "pulse.delay", "false", True, ""), ("reset in a stream", tells % "pulse.delay", "true", False, ""),
                                                 ("no stream", tells % "onnx.x", "false", False, ""),
                                                 ("a stream by its operators", "", "false", True, "x = tract_pulse_delay(x, axis = 0, delay = 0, overlap = 0);")):
        run("a scan: " + words, TRACT + head + step + graph(ext + more + scan % ("y", "x", one, restarts)), case,
            {"y": ("f", (n, 2, 3), sums(goes_on))}, options=["-n", str(n)])
    flat = sums(True)
    again = sums(True, [flat[k:k + size] for k in range(0, n * size, size)])
    for name in ("a", "y"):  # which may be assigned again
        text = TRACT + tells % "pulse.delay" + step + graph(ext + scan % (name, "x", one, "false") + scan % ("y", name, one, "false"))
        run("two scans", text, case, {"y": ("f", (n, 2, 3), again)}, options=["-n", str(n)])
    run("refused: a computed state", TRACT + tells % "pulse.delay" + step + graph(ext + scan % ("y", "x", "slice(x, axes = [0], begin = [0], end = [1])", "false")), {}, {},
        refused="'h' begins with is computed, expected a constant")
    outer = "fragment outer(x: tensor<scalar>) -> (y: tensor<scalar>) { " + scan % ("y", "x", one, "false") + " }\n"
    text = step + outer + graph(ext + "y = tract_core_scan(body = 'outer', scan = [('x', x, 0, 1)], output = [('y', 'full', 0, 1)]);")
    run("refused: a scan in a scan", TRACT + tells % "pulse.delay" + text, {}, {}, refused="within the body of a scan ('outer')")
    run("a scan in a scan", TRACT + text, {"x": ("f", (2, 3), rows[0])}, {"y": ("f", (2, 3), [a + b for a, b in zip(rows[0], [1.0, 2.0, 3.0] * 2)])})
    mean = "y = tract_extra_exp_mean_norm(x, [1.0, 2.0, 3.0], axis = 0, alpha = 0.5, stateless = true);"

    def means():
        y = []
        for row in rows:
            h = [1.0, 2.0, 3.0]
            for k in (0, 3):
                h = [a / 2 + b / 2 for a, b in zip(row[k:k + 3], h)]
                y += [a - b for a, b in zip(row[k:k + 3], h)]
        return y
    run("without a state", TRACT + tells % "pulse.delay" + graph(ext + mean), case, {"y": ("f", (n, 2, 3), means())}, options=["-n", str(n)])
    gru_of_runs(tells % "pulse.delay")


def gru_of_runs(tells):
    hidden, frames, n = 2, 2, 3
    w, r, h0 = rolled(3 * hidden), rolled(3 * hidden * hidden), rolled(hidden)
    x = rolled(n * frames)
    sigmoid = lambda v: 1 / (1 + math.exp(-v))  # noqa: E731

    def steps(goes_on):
        y, h = [], h0
        for t in range(n * frames):
            h = h0 if t % frames == 0 and not goes_on else h
            rh = [sum(r[i * hidden + k] * h[k] for k in range(hidden)) for i in range(3 * hidden)]
            z, s, c = [[x[t] * w[g * hidden + i] for i in range(hidden)] for g in range(3)]
            z = [sigmoid(a + b) for a, b in zip(z, rh)]
            s = [sigmoid(a + b) for a, b in zip(s, rh[hidden:])]
            c = [math.tanh(a + g * b) for a, g, b in zip(c, s, rh[2 * hidden:])]
            h = [g * a + (1 - g) * b for g, a, b in zip(z, h, c)]
            y += h
        return y
    call = (f"x = external<scalar>(shape = [1, {frames}, 1]); (y, last) = tract_core_gru_seq(x, w = {[[v] for v in w]}, "
            f"r = {[r[i:i + hidden] for i in range(0, len(r), hidden)]}, initial_h = {[[h0]]}, hidden = {hidden}, chunk = 1, has_bias = 0, "
            "reset_every_turn = %d, emit_y = 1);")
    for head, restarts, goes_on in ((tells, 0, True), (tells, 1, False), ("", 0, False)):
        run(f"a GRU of runs, {restarts} {goes_on}", TRACT + head + graph(call % restarts), {"x": ("f", (n, 1, frames, 1), x)},
            {"y": ("f", (n, 1, frames, hidden), steps(goes_on))}, options=["-n", str(n)])


def deconvs():
    """Filters of deconv are [out, in / groups, ..] where a text names tract, [in, out / groups, ..] where it does not."""
    def spread(x, w, ins, outs, groups):
        y = [[0.0] * 11 for _ in range(outs)]
        for i, o, t, k in itertools.product(range(ins), range(outs), range(5), range(3)):
            if i // (ins // groups) == o // (outs // groups):
                y[o][2 * t + k] += x[5 * i + t] * w[o][i % (ins // groups)][k]
        return sum(y, [])
    for ins, outs, groups in ((2, 3, 1), (3, 3, 1), (4, 4, 2), (4, 4, 4), (2, 6, 2), (6, 2, 2), (4, 2, 1)):
        x, per = rolled(5 * ins), ins // groups
        w = [[rolled(3) for _ in range(per)] for _ in range(outs)]
        by_in = [[w[i // per * (outs // groups) + o][i % per] for o in range(outs // groups)] for i in range(ins)]
        call = f"y = deconv(x, w, 0.0, stride = [2], padding = [(0, 0)], groups = {groups});"
        x_w = f"x = external<scalar>(shape = [1, {ins}, 5]); w = "
        case = {"x": ("f", (1, ins, 5), x)}, {"y": ("f", (1, outs, 11), spread(x, w, ins, outs, groups))}
        named = (TRACT, "extension tract_symbol T;\n", "fragment tract_core_properties() -> (p: (string, string)[]) { p = [('a', 'b')]; }\n")
        for head, filters in (("", by_in), *((head, w) for head in named)):
            run(f"deconv {ins} {outs} {groups} {head[:20]}", head + graph(x_w + f"{filters};" + call), *case)
        if by_in and (ins, outs // groups) != (outs, per):
            run("refused: a filter as the standard has it", TRACT + graph(x_w + f"{by_in};" + call), {}, {}, refused="names tract it is [out, in / groups, ..]")
    one = "x = external<scalar>(shape = [1, 1, S]); y = deconv(x, [[[1.0, 2.0, 4.0]]], 0.0, stride = [2], padding = [(1, 1)], output_shape = [%d]);"
    text = TRACT + graph(one.replace("S", "3") % 6)
    run("the size of the output, of spatial axes alone", text, {"x": ("f", (1, 1, 3), [1.0, 2.0, 3.0])}, {"y": ("f", (1, 1, 6), [2, 6, 4, 11, 6, 12])})
    run("refused: too small an output", TRACT + graph(one.replace("S", "3") % 4), {}, {}, refused="less than the windows reach")
    run("refused: of an open axis", TRACT + graph(one % 6), {}, {}, refused="needs an input of fixed size")


pulses()
recurrences()
deconvs()
running()
caches()
small()
resources()
plain()
others()
finish()
