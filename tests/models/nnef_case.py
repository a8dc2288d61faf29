# SPDX-License-Identifier: MIT
"""One case of NNEF: a text and its files, numbers that go in, numbers that have to come out, or words that it is refused in. Tests
of NNEF have rill as their first argument."""
import io
import os
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from counted import check, finish  # noqa: E402

RILL = sys.argv[1]
TYPES = {"f": "<f4", "e": "<f2", "B": "|u1", "b": "|i1", "i": "<i4", "q": "<i8", "?": "|b1"}
TRACT = "".join(f"extension tract_registry tract_{r};\n" for r in ("core", "onnx", "transformers"))
ROLL = random.Random(5)
with open(RILL, "rb") as f:
    SANITIZED = b"__asan_init" in f.read()  # which takes all the memory there is


def npy(kind, shape, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s)}" % (TYPES[kind], "".join(f"{n}," for n in shape))
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{kind}", *values)


def npz(path, arrays):
    with zipfile.ZipFile(path, "w") as z:
        for name, array in arrays.items():
            z.writestr(name + ".npy", npy(*array))


def dat(shape, data, item, bits, vendor=0):
    shape = list(shape) + [0] * (8 - len(shape))
    rank = len([n for n in shape if n])
    return (struct.pack("<4BII8III", 0x4E, 0xEF, 1, 0, len(data), rank, *shape, bits, vendor << 16 | item) + bytes(76) + data)


def floats(shape, values):
    return dat(shape, struct.pack(f"<{len(values)}f", *values), 0, 32)


def rolled(n):
    return [ROLL.uniform(-1, 1) for _ in range(n)]


def archive(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def run(words, text, ins, outs, files={}, options=(), tract=False, refused=None, command=("run", "--pass", "typed"), most_mb=None):
    """The model of text gives outs of ins, in at most so much memory; or is refused in those words."""
    with tempfile.TemporaryDirectory() as root:
        for name, data in {"graph.nnef": "version 1.0;\n" + (TRACT if tract else "") + text, **files}.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data.encode() if isinstance(data, str) else data)
        args = [*command, *options]
        if ins:
            npz(os.path.join(root, "in.npz"), ins)
            args += ["-i", os.path.join(root, "in.npz")]
        if outs:
            npz(os.path.join(root, "ref.npz"), outs)
            args += ["--compare", os.path.join(root, "ref.npz")]
        held = ["sh", "-c", f'ulimit -v {most_mb << 10}; exec "$@"', "sh"] if most_mb and not SANITIZED else []
        r = subprocess.run([*held, RILL, *args, root], capture_output=True, text=True, check=False)
    if refused:
        check(r.returncode not in (0, 1) and refused in r.stderr, f"{words}: {r.stderr or 'opens'}")
    else:
        check(r.returncode == 0 and f"{len(outs)} passed, 0 failed" in r.stdout, f"{words}: {r.stdout}{r.stderr}")


def graph(body, ins="x", outs="y"):
    return f"graph g({ins}) -> ({outs})\n{{\n{body}\n}}\n"
