# SPDX-License-Identifier: MIT
"""`rill run --steps` with caches that grow: decoders give what ONNX Runtime gave (growing/make.py), a constant that grows with
them and one whose size nothing says.  growing.py RILL FOLDER"""
import io, math, os, struct, subprocess, sys, tempfile, zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from counted import check, finish

RILL, FOLDER = sys.argv[1:3]
GROWN = ["--shape", "attention_mask=1,past_sequence_length+1"]


def npz(path, name, kind, shape, data):
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr(name + ".npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode() + data)


def stored(name):
    with open(os.path.join(FOLDER, name), "rb") as f:
        return f.read()


def run(model, *args, steps="20"):
    r = subprocess.run([RILL, "run", "--steps", steps, *args, os.path.join(FOLDER, model + ".onnx")], capture_output=True,
                       text=True, timeout=120)
    return r.returncode, r.stdout, r.stderr


def decoders(folder):
    tokens, want = os.path.join(folder, "in.npz"), os.path.join(folder, "want.npz")
    npz(tokens, "input_ids", "<i8", (20, 1, 1), stored("tokens.i64"))
    for model, more in (("matmul", []), ("attention", []), ("grouped", GROWN)):
        npz(want, "logits", "<f4", (20, 1, 1, 24), stored(model + ".f32"))
        args = ["--input", tokens, "--compare", want, "--atol", "4e-6", "--rtol", "0", *more]
        code, out, why = run(model, "--const", "attention_mask=1", *args)
        check(code == 0 and "1 passed, 0 failed" in out, f"{model}: {out}{why}")
        check("4 states found by name" in why and "7 plans" in out, f"{model}: {out}{why}")
    code, out, why = run("matmul", "--input", tokens, "--compare", want, "--const", "attention_mask=0", "--atol", "4e-6")
    check(code == 1, f"a mask that hides all: {code} {out}{why}")


def together(path, arrays):
    """name, kind, shape, data of each"""
    one = path + ".one"
    with zipfile.ZipFile(path, "w") as z:
        for name, *what in arrays:
            npz(one, name, *what)
            with zipfile.ZipFile(one) as of:
                z.writestr(name + ".npy", of.read(name + ".npy"))


def exported(folder):
    """As optimum writes them (growing/exported.py): the merged file's bodies are chosen by what the caches hold."""
    given, want = os.path.join(folder, "given.npz"), os.path.join(folder, "exported.npz")
    places = struct.pack("<20q", *range(20))
    together(given, (("input_ids", "<i8", (20, 1, 1), stored("tokens.i64")), ("position_ids", "<i8", (20, 1, 1), places),
                     ("encoder_hidden_states", "<f4", (1, 12, 16), stored("merged.heard.f32"))))
    heard = ["--shape", "encoder_hidden_states=1,12,16"]
    for model, more in (("merged", ["--set", "encoder_sequence_length=12"]), ("merged", heard), ("merged", []), ("gpt2", ["--const", "attention_mask=1"]),
                        ("gpt2", ["--const", "attention_mask=1", "--set", "batch_size=1"])):
        npz(want, "logits", "<f4", (20, 1, 1, 24), stored(model + ".f32"))
        code, out, why = run(model, "--input", given, "--compare", want, "--atol", "4e-6", "--rtol", "0", *more)
        check(code == 0 and "1 passed, 0 failed" in out, f"{model}: {out}{why}")
        check(("20 plans" if model == "merged" else "7 plans") in out, f"{model}: {out}{why}")
    code, out, why = run("merged")
    check(code > 1 and "'encoder_hidden_states' is open, or grows with the states, f32[1,encoder_sequence_length,16]" in why, f"merged, its size not said: {code} {out}{why}")


def by_hand(folder):
    """States that the caller names grow, too: sums_window has two caches, of which one forgets."""
    x, want = os.path.join(folder, "x.npz"), os.path.join(folder, "y.npz")
    npz(x, "x", "<f4", (6, 1, 3), struct.pack("<18f", *(k * s for k in (1, 2, 3, 4, 5, 6) for s in (1, 2, -1))))
    all_of, last = [sum(range(1, k + 1)) for k in range(1, 7)], [sum(range(max(1, k - 3), k + 1)) for k in range(1, 7)]
    npz(want, "y", "<f4", (6, 1, 3), struct.pack("<18f", *((a + 2 * b) * s for a, b in zip(all_of, last) for s in (1, 2, -1))))
    pairs = ["--state", "all_in:longer", "--state", "last_in:slid"]
    code, out, why = run("window", "--input", x, "--compare", want, "--atol", "0", "--rtol", "0", *pairs, steps="6")
    check(code == 0 and "1 passed" in out, f"by hand: {out}{why}")
    code, out, why = run("window", "--input", x, *pairs, "--reserve", "5", steps="6")
    check(code > 1 and "reserved are 5" in why, f"by hand, too little: {code} {out}{why}")


def half(folder):
    """Caches of 16-bit floats hold such numbers alone: what comes in, as data for them too, is rounded."""
    given, want = os.path.join(folder, "half.npz"), os.path.join(folder, "half_want.npz")
    for model, big, rounded in ("sums_f16", 2049, 2048), ("sums_bf16", 257, 256):
        together(given, (("x", "<f4", (2, 1, 3), struct.pack("<6f", big, 2 * big, -big, 0, 0, 0)),))
        npz(want, "y", "<f4", (2, 1, 3), struct.pack("<6f", *(s * rounded * k for s in (-1, 1) for k in (1, 2, -1))))
        code, out, why = run(model, "--input", given, "--compare", want, "--atol", "0", "--rtol", "0", steps="2")
        check(code == 0 and "1 passed" in out, f"{model}: {out}{why}")
        together(given, (("x", "<f4", (1, 3), bytes(12)), ("past_a", "<f4", (1, 1, 3), struct.pack("<3f", big, big, big)),
                         ("past_b", "<f2", (1, 1, 3), struct.pack("<3e", 4, 8, 12))))
        npz(want, "y", "<f4", (2, 1, 3), struct.pack("<6f", *(rounded + 2 * k for k in (4, 8, 12)), *(2 * rounded + k for k in (4, 8, 12))))
        code, out, why = run(model, "--input", given, "--compare", want, "--atol", "0", "--rtol", "0", steps="2")
        check(code == 0 and "1 passed" in out, f"{model} from data: {out}{why}")
        together(given, (("x", "<f4", (1, 3), bytes(12)), ("past_a", "<i8", (1, 1, 3), bytes(24)), ("past_b", "<f4", (1, 1, 3), bytes(12))))
        code, out, why = run(model, "--input", given, steps="2")
        check(code > 1 and "the first value of state 'past_a' is i64[1,1,3], not " in why, f"{model} from integers: {code} {out}{why}")


def arrays(path):
    """name -> bytes of what `rill run --out` wrote"""
    with zipfile.ZipFile(path) as z:
        each = {n[:-4]: z.read(n) for n in z.namelist()}
    return {n: b[10 + struct.unpack("<H", b[8:10])[0]:] for n, b in each.items()}


def same_bits(folder, model, more):
    """Steps in rooms give the bits of runs that have the caches as inputs, of just the size that they are."""
    given, out, one = (os.path.join(folder, n) for n in ("given.npz", "steps.npz", "one.npz"))
    tokens = stored("tokens.i64")
    npz(given, "input_ids", "<i8", (20, 1, 1), tokens)
    code, _, why = run(model, *more, "--input", given, "--out", out)
    check(code == 0, f"{model}: {why}")
    logits, caches = arrays(out)["logits"] if code == 0 else b"", {}
    for k in range(20):
        past = [(f"past_key_values.{i}.{kind}", "<f4", (1, 2, k, 8), caches.get(f"present.{i}.{kind}", b""))
                for i in range(2) for kind in ("key", "value")]
        together(given, [("input_ids", "<i8", (1, 1), tokens[8 * k:8 * k + 8]), *past])
        r = subprocess.run([RILL, "run", "--state", "none", *more, "--input", given, "--out", one,
                            os.path.join(FOLDER, model + ".onnx")], capture_output=True, text=True, timeout=120)
        check(r.returncode == 0, f"{model}: {r.stderr}")
        caches = arrays(one)
        check(caches["logits"] == logits[96 * k:96 * k + 96], f"{model}: other bits in step {k}")


def half_rooms(folder):
    """Caches of 16-bit floats have rooms: no plan is made on the way, and the bits are those of runs of just their size."""
    given, out, one = (os.path.join(folder, n) for n in ("given.npz", "steps.npz", "one.npz"))
    x = [math.sin(k * k + 1) for k in range(20 * 8)]
    npz(given, "x", "<f4", (20, 1, 1, 8), struct.pack("<160f", *x))
    for model in "narrow_f16", "narrow_bf16":
        code, said, why = run(model, "--state", "past:present", "--input", given, "--out", out)
        check(code == 0 and "20 hits, 0 misses" in said, f"{model}: {said}{why}")
        y, cache = arrays(out)["y"] if code == 0 else b"", b""
        for k in range(20):
            together(given, (("x", "<f4", (1, 1, 8), struct.pack("<8f", *x[8 * k:8 * k + 8])), ("past", "<f4", (1, k, 8), cache)))
            r = subprocess.run([RILL, "run", "--state", "none", "--input", given, "--out", one, os.path.join(FOLDER, model + ".onnx")],
                               capture_output=True, text=True, timeout=120)
            check(r.returncode == 0, f"{model}: {r.stderr}")
            made = arrays(one)
            cache = made["present"]
            check(made["y"] == y[32 * k:32 * k + 32], f"{model}: other bits in step {k}")
        npz(given, "x", "<f4", (20, 1, 1, 8), struct.pack("<160f", *x))


def close(folder):
    """Whole recordings through grouped attention, beside ONNX Runtime (within 2.4e-7 where this was written)."""
    q, want = os.path.join(folder, "q.npz"), os.path.join(folder, "close.npz")
    for model, shape in ("close", (1, 17, 256)), ("whole", (1, 33, 96)):
        npz(q, "q", "<f4", shape, stored(model + ".q.f32"))
        npz(want, "y", "<f4", shape, stored(model + ".f32"))
        code, out, why = run(model, "--input", q, "--compare", want, "--atol", "4e-7", "--rtol", "0", steps="1")
        check(code == 0, f"{model}: {out}{why}")


def ring(folder):
    """Caches of fixed size are states as they are."""
    x, want = os.path.join(folder, "x.npz"), os.path.join(folder, "ring.npz")
    npz(x, "x", "<f4", (9, 1, 2, 16), stored("ring.x.f32"))
    npz(want, "y", "<f4", (9, 1, 2, 16), stored("ring.f32"))
    code, out, why = run("ring", "--state", "past_k:next_k", "--state", "past_v:next_v", "--input", x, "--compare", want, steps="9")
    check(code == 0, f"ring: {out}{why}")


def once(folder):
    """A single run takes caches as data, and gives them."""
    data, want = os.path.join(folder, "once.npz"), os.path.join(folder, "grown.npz")
    row = struct.pack("<3f", 1, 2, 3)
    with zipfile.ZipFile(data, "w") as z:
        for name, shape, n in (("x", (1, 3), 1), ("past_a", (1, 2, 3), 2), ("past_b", (1, 2, 3), 2)):
            npz(want, name, "<f4", shape, row * n)
            with zipfile.ZipFile(want) as one:
                z.writestr(name + ".npy", one.read(name + ".npy"))
    npz(want, "y", "<f4", (1, 3), struct.pack("<3f", 3 + 2, 6 + 4, 9 + 6))
    code, out, why = run("sums", "--input", data, "--compare", want, steps="1")
    check(code == 0 and "1 passed" in out, f"once: {out}{why}")
    npz(data, "x", "<f4", (2, 1, 3), row * 2)  # and steps go on from them
    with zipfile.ZipFile(data, "a") as z:
        for name in "past_a", "past_b":
            npz(want, name, "<f4", (1, 2, 3), row * 2)
            with zipfile.ZipFile(want) as one:
                z.writestr(name + ".npy", one.read(name + ".npy"))
    npz(want, "y", "<f4", (2, 1, 3), struct.pack("<6f", 5, 10, 15, *(k * (2 + 2 * 2) for k in (1, 2, 3))))
    code, out, why = run("sums", "--input", data, "--compare", want, steps="2")
    check(code == 0 and "1 passed" in out, f"steps from data: {out}{why}")
    npz(data, "past_a", "<f4", (1, 2, 2), row + row[:4])
    code, out, why = run("sums", "--input", data, steps="2")
    check(code > 1 and "the first value of state 'past_a' is f32[1,2,2], not f32[1,1024,3]" in why, f"a cache of another width: {out}{why}")


def refused():
    for model, args, text in (("matmul", [], "attention_mask' is open, or grows with the states"),
                              ("matmul", ["--const", "attention_mask=1", "--reserve", "19"],
                               "has grown to 20 frames along axis 2, reserved are 19: reserve more"),
                              ("cleared", ["--set", "frames=2", "--state", "past:present"], "output 1, 'present', is f32[?0,3], and nothing says"),
                              ("../../conformance/own/vendor_bias/model", ["--shape", "bias=1,1,3,8"], "attention_bias is as wide as total_sequence_length"),
                              ("grouped", ["--const", "attention_mask=1"], "as in attention_mask=1,past_sequence_length+1"),
                              ("grouped", ["--const", "attention_mask=2", *GROWN], "seqlens_k has to be all frames less one")):
        code, out, why = run(model, *args)
        check(code > 1 and text in why, f"{model} {args}: {code} {out}{why}")


def computed(d):
    """An image that nodes compute takes no block that does not lie in it."""
    data = os.path.join(d, "image.npz")
    for image, ok in (4, True), (1, True), (0, False), (-2, False), (-7, False), (-40, False):
        npz(data, "image", "<i8", (1,), struct.pack("<q", image))
        code, out, why = run("../../conformance/own/col2im_computed/model", "--input", data)
        check(code == 0 if ok else code > 1 and "(Reshape)" in why, f"an image of {image} + 1: {code} {out}{why}")


with tempfile.TemporaryDirectory() as d:
    decoders(d)
    exported(d)
    by_hand(d)
    half(d)
    close(d)
    half_rooms(d)
    same_bits(d, "matmul", ["--const", "attention_mask=1"])
    same_bits(d, "attention", ["--const", "attention_mask=1"])
    ring(d)
    once(d)
    computed(d)
    refused()
finish()
