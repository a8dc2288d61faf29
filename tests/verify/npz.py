# SPDX-License-Identifier: MIT
"""Arrays come out of .npz as they went in, whatever way the zip was written; a damaged one is
refused by name, before memory is taken for what it says. npz.py RILL STEP.onnx [without]"""
import io, os, resource, struct, subprocess, sys, tempfile, zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from counted import check, finish

RILL, MODEL = sys.argv[1:3]
HAS_ARCHIVE = "without" not in sys.argv[3:]


def npy(values, shape, said=None):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (said or shape,)
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode() + struct.pack("<%df" % len(values), *values)


class Unseekable(io.RawIOBase):
    """Sizes stand behind the data of what is written to a pipe."""

    def __init__(self, to):
        self.to = to

    def writable(self):
        return True

    def write(self, data):
        return self.to.write(data)


def zipped(members, method=zipfile.ZIP_STORED, wide=False, pipe=False, comment=b""):
    out = io.BytesIO()
    with zipfile.ZipFile(Unseekable(out) if pipe else out, "w", method) as z:
        z.comment = comment
        for name, data in members:
            with z.open(name, "w", force_zip64=wide) as f:
                f.write(data)
    return out.getvalue()


X = npy([0.5, -1, 2, 3, -4, 5.25, 6, 7], (1, 2, 4))
ONE = [("x.npy", X)]
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
BIG = npy([0] * (1 << 22), (1 << 22,))


def run(folder, data, *more):
    path = os.path.join(folder, "in.npz")
    with open(path, "wb") as f:
        f.write(data)
    r = subprocess.run([RILL, "run", MODEL, "--input", path, *more], capture_output=True, text=True, timeout=60)
    return r.returncode, r.stdout, r.stderr


def without(folder):
    code, _, why = run(folder, zipped(ONE))
    check(code == 3 and "in.npz: this program was built without libarchive" in why, "read: " + why)
    out = os.path.join(folder, "o.npz")
    r = subprocess.run([RILL, "run", MODEL, "--out", out], capture_output=True, text=True)
    check(r.returncode == 3 and "o.npz: this program was built without libarchive" in r.stderr, "written: " + r.stderr)
    check(not os.path.exists(out), "nothing is written")


def good(folder):
    plain = os.path.join(folder, "x.npy")
    with open(plain, "wb") as f:
        f.write(X)
    r = subprocess.run([RILL, "run", MODEL, "--input", "x=" + plain], capture_output=True, text=True)
    check(r.returncode == 0 and r.stdout, "from .npy")
    other = [("encoder/layer.0/cached.npy", X), ("gr\u00f6\u00dfe.npy", X)]
    for words, data in [
        ("stored", zipped(ONE)),
        ("deflated", zipped(ONE, DEFLATED)),
        ("64 bit sizes", zipped(ONE, STORED, wide=True)),
        ("64 bit sizes, deflated", zipped(ONE, DEFLATED, wide=True)),
        ("to a pipe", zipped(ONE, DEFLATED, pipe=True)),
        ("to a pipe, stored", zipped(ONE, pipe=True)),
        ("a comment", zipped(ONE, comment=b"made by hand" * 1000)),
        ("names with paths", zipped(other + ONE)),
        ("a big one", zipped(ONE + [("big.npy", BIG)], DEFLATED)),
    ]:
        code, out, why = run(folder, data)
        check(code == 0 and out == r.stdout, words + ": " + why)


def values(path):
    out = {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            data = z.read(name)
            out[name[:-4]] = data[10 + struct.unpack_from("<H", data, 8)[0]:]
    return out


def ordered(folder):
    """Whatever order of axes and bytes numpy has written."""
    path, ref = os.path.join(folder, "x.npy"), os.path.join(folder, "ref.npz")
    rows = [[0.5, -1, 2, 3], [-4, 5.25, 6, 7]]
    head = X[:X.index(b"\n") + 1]
    turned = [rows[i][k] for k in range(4) for i in range(2)]
    subprocess.run([RILL, "run", MODEL, "--input", "x=" + path, "--out", ref], capture_output=True)
    fortran, big = head.replace(b"False", b"True "), head.replace(b"<f4", b">f4")
    for words, data in [
        ("Fortran order", fortran + struct.pack("<8f", *turned)),
        ("big endian", big + struct.pack(">8f", *rows[0], *rows[1])),
        ("both", big.replace(b"False", b"True ") + struct.pack(">8f", *turned)),
    ]:
        with open(path, "wb") as f:
            f.write(data)
        r = subprocess.run([RILL, "run", MODEL, "--input", "x=" + path, "--compare", ref, "--atol", "0", "--rtol", "0"],
                           capture_output=True, text=True)
        check(r.returncode == 0, words + ": " + r.stdout[-200:] + r.stderr)
        code, out, why = run(folder, zipped([("x.npy", data)]), "--compare", ref, "--atol", "0", "--rtol", "0")
        check(code == 0, words + ", zipped: " + out[-200:] + why)


def halves(folder):
    """Floats of 16 bits go into f32, and a reference of them is compared."""
    path, ref = os.path.join(folder, "h.npy"), os.path.join(folder, "ref.npz")
    head = X[:X.index(b"\n") + 1].replace(b"<f4", b"<f2")
    with open(path, "wb") as f:
        f.write(head + struct.pack("<8e", 0.5, -1, 2, 3, -4, 5.25, 6, 7))
    r = subprocess.run([RILL, "run", MODEL, "--input", "x=" + path, "--compare", ref], capture_output=True, text=True)
    check(r.returncode == 0, "in: " + r.stdout[-200:] + r.stderr)
    cache = struct.unpack("<4f", values(ref)["new_cached_0"])
    data = npy(cache, (1, 1, 4)).replace(b"<f4", b"<f2")[:-16] + struct.pack("<4e", *cache)
    with open(os.path.join(folder, "half.npz"), "wb") as f:
        f.write(zipped([("new_cached_0.npy", data)]))
    for tolerance, code in ("1e-3", 0), ("1e-9", 1):
        r = subprocess.run([RILL, "run", MODEL, "--input", "x=" + path, "--compare", os.path.join(folder, "half.npz"), "--rtol",
                            tolerance, "--atol", tolerance], capture_output=True, text=True)
        check(r.returncode == code, "compared: " + r.stdout + r.stderr)


def small(folder):
    """Integers of 4 and 2 bits are bytes in files."""
    model, out = os.path.join(folder, "small"), os.path.join(folder, "small.npz")
    os.mkdir(model)
    for kind, byte, holds, not_held in ("u4", "|u1", (0, 15, 7, 8), (16, 255)), ("i4", "|i1", (0, -8, 7, -1), (8, -9)), ("u2", "|u1", (0, 3, 1, 2), (4, 255)), ("i2", "|i1", (0, -2, 1, -1), (2, -3)):
        with open(os.path.join(model, "graph.nnef"), "w") as f:
            f.write("version 1.0; extension tract_registry tract_core; graph g(x) -> (y, z) { x = tract_core_external(shape = [4], datum_type = '%s');"
                    "z = tract_core_cast(x, to = 'f32'); y = rill_op('Cast', inputs = [z], attributes = [('to', '%s')]); }" % (kind, kind))
        array = lambda v, as_byte=byte: npy([], "(4,)").replace(b"<f4", as_byte.encode()) + struct.pack("4b" if as_byte == "|i1" else "4B", *v)  # noqa: E731
        go = lambda v, *more: subprocess.run([RILL, "run", model, "--input", "x=" + v, *more], capture_output=True, text=True)  # noqa: E731
        path = os.path.join(folder, "small.npy")
        with open(path, "wb") as f:
            f.write(array(holds))
        r = go(path, "--out", out)
        check(r.returncode == 0 and values(out)["y"] == struct.pack("4b" if byte == "|i1" else "4B", *holds), kind + ": " + r.stdout + r.stderr)
        check(struct.unpack("<4f", values(out)["z"]) == holds, kind + " as numbers")
        r = go(path, "--compare", out)
        check(r.returncode == 0 and "2 passed" in r.stdout, kind + " compared: " + r.stdout + r.stderr)
        with open(out, "wb") as f:
            f.write(zipped([("y.npy", array([holds[0], holds[1], holds[2], holds[2]]))]))
        r = go(path, "--compare", out)
        check(r.returncode == 1 and "at [3] is %d, the reference %d" % (holds[3], holds[2]) in r.stdout, kind + " that differs: " + r.stdout + r.stderr)
        for v in not_held:
            with open(path, "wb") as f:
                f.write(array([0, v, 0, 0]))
            r = go(path)
            check(r.returncode == 3 and "small.npy has %d, which is no %s" % (v, kind) in r.stderr, "%s of %d: %s" % (kind, v, r.stderr))
        with open(path, "wb") as f:
            f.write(array([0] * 4, "|b1"))
        r = go(path)
        check(r.returncode == 3 and "small.npy has bool[4]" in r.stderr, kind + " of bools: " + r.stderr)


def odd_references(folder):
    """No number is like another one, and nothing is near what is infinite."""
    out = os.path.join(folder, "nan.npz")
    nan, inf = float("nan"), float("inf")
    code, _, why = run(folder, zipped([("x.npy", npy([nan] * 8, (1, 2, 4)))]), "--out", out)
    check(code == 0, why)
    for x, reference, want in ([nan] * 8, out, 0), ([0.5] * 8, out, 1), ([0.5] * 8, None, 1):
        if reference is None:
            reference = os.path.join(folder, "inf.npz")
            with open(reference, "wb") as f:
                f.write(zipped([("y.npy", npy([inf] * 8, (1, 2, 4)))]))
        code, said, why = run(folder, zipped([("x.npy", npy(x, (1, 2, 4)))]), "--compare", reference)
        check(code == want, "%g against %s: %s" % (x[0], reference, said[-200:] + why))


def begun(folder):
    """A state that is given is what the first step begins with: two steps are one and one more."""
    two, one, end = (os.path.join(folder, n) for n in ("two.npz", "one.npz", "end.npz"))
    steps = npy([k / 8 for k in range(16)], (2, 1, 2, 4))
    code, _, why = run(folder, zipped([("x.npy", steps)]), "--steps", "2", "--out", two)
    check(code == 0, why)
    code, _, why = run(folder, zipped([("x.npy", npy([k / 8 for k in range(8)], (1, 2, 4)))]), "--out", one)
    check(code == 0, why)
    with zipfile.ZipFile(one) as z:
        states = [(n[4:], z.read(n)) for n in z.namelist() if n.startswith("new_")]
    check(len(states) > 90, "states")
    last = ("x.npy", npy([k / 8 for k in range(8, 16)], (1, 2, 4)))
    code, _, why = run(folder, zipped([last] + states), "--out", end)
    check(code == 0, why)
    check(values(end)["y"] == values(two)["y"][32:], "the second of two steps")
    code, _, why = run(folder, zipped([last]), "--out", end)
    check(values(end)["y"] != values(two)["y"][32:], "from the beginning")


def numpys(folder):
    """Where numpy is: what it writes, and what it reads."""
    try:
        import numpy as np
    except ImportError:
        return
    x, made = np.arange(480, dtype="<f4").reshape(60, 1, 2, 4), os.path.join(folder, "made.npz")
    np.save(os.path.join(folder, "x.npy"), x)
    args = [RILL, "run", MODEL, "--steps", "60"]
    r = subprocess.run([*args, "--input", "x=" + os.path.join(folder, "x.npy"), "--out", made], capture_output=True, text=True)
    y = np.load(made)["y"]
    check(y.shape == (60, 1, 2, 4) and y.dtype == np.float32, "read by numpy: " + r.stderr)
    for save in np.savez, np.savez_compressed:
        path = os.path.join(folder, "saved.npz")
        save(path, x=x, big=np.zeros((1000, 5000)), **{"encoder/layer.0": x})
        r = subprocess.run([*args, "--input", path, "--compare", made], capture_output=True, text=True)
        check(" passed, 0 failed" in r.stdout, "%s: %s" % (save.__name__, r.stdout + r.stderr))


def back(folder):
    """What is written, other programs read."""
    path = os.path.join(folder, "out.npz")
    r = subprocess.run([RILL, "run", MODEL, "--seed", "3", "--out", path], capture_output=True, text=True)
    check(r.returncode == 0, "out: " + r.stderr)
    first = open(path, "rb").read()
    with zipfile.ZipFile(path) as z:
        check(z.testzip() is None, "checksums")
        check(len(z.namelist()) > 90 and "y.npy" in z.namelist(), "names")
        check(all(i.compress_type == STORED for i in z.infolist()), "stored")
        check(z.read("y.npy")[:6] == b"\x93NUMPY", "arrays")
    r = subprocess.run([RILL, "run", MODEL, "--seed", "3", "--compare", path], capture_output=True, text=True)
    check(r.returncode == 0 and " passed, 0 failed" in r.stdout, "compared: " + r.stdout[:200] + r.stderr)
    subprocess.run([RILL, "run", MODEL, "--seed", "3", "--out", path], capture_output=True)
    check(open(path, "rb").read() == first, "the same bytes every time")


def with_size(size):
    """Table and header say that the array has so many bytes; wide ones stand behind the name."""
    data = bytearray(zipped(ONE, DEFLATED, wide=True))
    name = len("x.npy")
    struct.pack_into("<H", data, 4, 45)  # Python before 3.11.4 has the narrow sizes in front, too
    struct.pack_into("<II", data, 18, 0xFFFFFFFF, 0xFFFFFFFF)
    struct.pack_into("<Q", data, 30 + name + 4, size)
    at, end = data.rindex(b"PK\1\2"), data.rindex(b"PK\5\6")
    entry, tail = data[at:end], data[end:]
    struct.pack_into("<I", entry, 24, 0xFFFFFFFF)
    extra = struct.pack("<HHQ", 1, 8, size)
    struct.pack_into("<H", entry, 30, len(extra))
    entry = entry[: 46 + name] + extra
    struct.pack_into("<I", tail, 12, len(entry))
    return bytes(data[:at] + entry + tail)


def broken(data, at):
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


def bad(folder):
    deflated = zipped(ONE, DEFLATED)
    locked = bytearray(deflated)
    locked[6] |= 1
    locked[locked.rindex(b"PK\1\2") + 8] |= 1
    for words, data in [
        ("in.npz: no .npz, or one that was cut", deflated[:-30]),
        ("in.npz: no .npz, or one that was cut", b""),
        ("in.npz: no .npz, or one that was cut", X),
        ("array 'x.npy': its bytes do not unpack", broken(deflated, 70)),
        ("array 'x.npy': its bytes do not unpack", broken(zipped(ONE), 180)),
        ("array 'x.npy': it is encrypted", bytes(locked)),
        ("array 'x.npy': it says that it has 4294967294 bytes, and there may be ", with_size(0xFFFFFFFE)),
        ("array 'x.npy': it says that it has 1099511627776 bytes", with_size(1 << 40)),
        ("in.npz: no .npz, or one that was cut (Malformed 64-bit", with_size((1 << 63) + 5)),
        ("array 'x.npy': an array of more than 2 GiB", zipped([("x.npy", npy([1], (1,), "(99999999999,)"))])),
        ("array 'x.npy': it holds 4 bytes of 400", zipped([("x.npy", npy([1], (1,), "(100,)"))])),
        ("array 'x.npy': its header ends behind its end", zipped([("x.npy", X[:60])])),
        ("array 'x.npy': no .npy", zipped([("x.npy", b"PK")])),
        ("array 'a.bin': no .npy", zipped([("a.bin", b"0123456789abcdef")])),
        ("array 'd/': no plain file", zipped([("d/", b"")])),
    ]:
        code, out, why = run(folder, data)
        check(code == 3 and not out and words in why, words + ", but: " + why)


with tempfile.TemporaryDirectory() as folder:
    if HAS_ARCHIVE:
        good(folder)
        back(folder)
        ordered(folder)
        halves(folder)
        small(folder)
        odd_references(folder)
        begun(folder)
        numpys(folder)
        bad(folder)
        most_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        check(most_kib < 600 << 10, "memory: %d KiB" % most_kib)
    else:
        without(folder)
finish()
