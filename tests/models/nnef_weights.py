# SPDX-License-Identifier: MIT
"""Weights of `variable` as .dat, as .npy, and as arrays of a .npz beside the text: the same numbers by every way, and words that
say which file is at fault. nnef_weights.py RILL with|without, libarchive"""
import io
import os
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile

from nnef_case import RILL, archive, check, finish, floats, graph, npy, npz, run

HAS_ARCHIVE = sys.argv[2] == "with"
W = [0.5, -1.0, 2.0, 4.0, -8.0, 16.0]
X = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
GET = "x = external<scalar>(shape = [2, 3]); w = variable<scalar>(shape = [2, 3], label = '%s');"
TEXT = graph(GET % "net/w" + "y = x * w;")
OUT = {"y": ("f", (2, 3), [a * b for a, b in zip(X, W)])}
IN = {"x": ("f", (2, 3), X)}


def zipped(arrays):
    """arrays: names and (kind, shape, values), or the bytes of their .npy."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, a in arrays.items():
            z.writestr(name + ".npy", a if isinstance(a, bytes) else npy(*a))
    return out.getvalue()


def twice(name, array):
    """Two members of one name, which zipfile writes with a warning alone."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as z:
        warnings.simplefilter("ignore")
        for _ in range(2):
            z.writestr(name + ".npy", array)
    return out.getvalue()


def turned(shape, values):
    """As numpy writes an array whose first axis is the first to change, the highest byte first."""
    rows, columns = shape
    head = "{'descr': '>f8', 'fortran_order': True, 'shape': (%d, %d), }" % shape
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    data = [values[r * columns + c] for c in range(columns) for r in range(rows)]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f">{len(data)}d", *data)


def reads(words, files, text=TEXT, **more):
    if HAS_ARCHIVE:  # the case's own numbers are in .npz
        run(words, text, IN, OUT, files, **more)


def refused(words, files, why, text=TEXT):
    run(words, text, {}, {}, files, refused=why)


WHOLE = ("f", (2, 3), W)
reads(".dat", {"net/w.dat": floats((2, 3), W)})
reads(".npy", {"net/w.npy": npy(*WHOLE)})
reads(".npy before .npz, .dat before both", {"net/w.dat": floats((2, 3), W), "net/w.npy": b"none", "a.npz": b"none"})
reads(".npy of f16", {"net/w.npy": npy("e", (2, 3), W)})
reads(".npy in Fortran's order, big-endian, f64", {"net/w.npy": turned((2, 3), W)})
refused(".npy that is cut", {"net/w.npy": npy(*WHOLE)[:-4]}, "net/w.npy: it holds 20 bytes of 24")
refused(".npy that is none", {"net/w.npy": b"version"}, "net/w.npy: no .npy")
refused(".npy of other sizes", {"net/w.npy": npy("f", (3, 2), W)}, "variable 'net/w': the file's shape is not the declared one")
refused("no numbers for scalars", {"net/w.npy": npy("q", (2, 3), [1] * 6)}, "the file holds i64, expected f32")
if not HAS_ARCHIVE:
    refused(".npz", {"a.npz": zipped({"net/w": WHOLE})}, "a.npz: this program was built without libarchive")
    finish()
    sys.exit()

COUNTS = "n = variable<integer>(shape = [2, 3], label = '/n'); c = rill_op('Cast', inputs = [n], attributes = [('to', 'f32')]);"
TWO = graph(GET % "net/w" + COUNTS + "y = x * w * c;")
reads(".npz", {"weights.npz": zipped({"net/w": WHOLE, "unused": ("q", (1,), [7])})})
reads(".npz of f64", {"weights.npz": zipped({"net/w": turned((2, 3), W)})})
reads("two .npz", {"a.npz": zipped({"net/w": WHOLE}), "b.npz": zipped({"n": ("i", (2, 3), [1] * 6)})}, TWO)
reads("of tract", {"a.npz": zipped({"net/w": WHOLE})}, tract=True)
reads("a .npz that holds no such array", {"a.npz": zipped({"net/w": WHOLE}), "b.npz": zipped({"w": WHOLE})})
reads("a .npz beside that cannot be read", {"a.npz": zipped({"net/w": WHOLE}), "b.npz": b"none", "c.npz": zipped({"x": b"no array"})})
refused("two that have it", {"a.npz": zipped({"net/w": WHOLE}), "b.npz": zipped({"net/w": WHOLE})},
        "'net/w' is in a.npz and in b.npz: which one is meant is not said")
refused("none that has it", {"a.npz": zipped({"w": WHOLE})}, "graph.nnef:4:43: net/w.dat: ")
refused("none that has it, in words", {"a.npz": zipped({"w": WHOLE})},
        "net/w.dat: No such file or directory; nor is there net/w.npy, or an array of that name in a .npz beside the text")
refused("one that has it twice", {"a.npz": twice("net/w", npy(*WHOLE))}, "a.npz: array 'net/w' is there twice")
refused("damaged", {"a.npz": zipped({"net/w": WHOLE})[:60]}, "a.npz: no .npz, or one that was cut")
refused("an array that is none", {"a.npz": zipped({"net/w": b"no array"})}, "a.npz: array 'net/w.npy': no .npy")
SUB = "extension tract_registry tract_core;\nextension tract_registry tract_resource;\n"
CALL = SUB + graph("x = external<scalar>(shape = [2, 3]); y = tract_core_submodel(input = [x], label = 'part');")
with_part = {"part/graph.nnef": "version 1.0;\n" + graph(GET % "w" + "y = x * w;")}
reads("of a submodel in a folder", {**with_part, "a.npz": zipped({"part/w": WHOLE})}, CALL)
reads("of a submodel in an archive", {"part.nnef.tgz": archive({"graph.nnef": ("version 1.0;\n" + graph(GET % "w" + "y = x * w;")).encode(),
                                                               "a.npz": zipped({"w": WHOLE})})}, CALL)
with tempfile.TemporaryDirectory() as d:  # each array takes what it holds, and little more
    many = zipped({"net/w": WHOLE, **{f"e{i}": ("B", (0,), []) for i in range(6000)}})
    for name, data in {"graph.nnef": ("version 1.0;\n" + TEXT).encode(), "a.npz": many}.items():
        with open(os.path.join(d, name), "wb") as f:
            f.write(data)
    ran = subprocess.Popen([RILL, "inspect", d], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(ran.pid, 0)
    check(status == 0 and used.ru_maxrss < 250_000, f"many empty arrays: status {status}, {used.ru_maxrss} KB")
finish()
