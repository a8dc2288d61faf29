# SPDX-License-Identifier: MIT
"""Texts that tract wrote of nets of PyTorch and of products of bytes, with the numbers that PyTorch and ONNX Runtime give
(tract_texts/make.py): as folders, typed and decluttered, and as archives. Those that tract made a stream of take a
pulse in each run.

    tract_texts.py RILL"""
import os
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tract_texts")
sys.path.insert(0, os.path.join(HERE, "..", ".."))
from counted import check, finish  # noqa: E402

RILL = sys.argv[1]


def compared(name, io, model, *options):
    r = subprocess.run([RILL, "run", "-i", io, "--compare", io, "--atol", "1e-5", *options, model], capture_output=True, text=True, check=False)
    check(r.returncode == 0 and "1 passed, 0 failed" in r.stdout, f"{name} {options}: {r.stdout}{r.stderr}")


with tempfile.TemporaryDirectory() as root:
    for name in sorted(n for n in os.listdir(HERE) if os.path.isdir(os.path.join(HERE, n))):
        folder = os.path.join(HERE, name)
        io = os.path.join(folder, "io.npz")
        more = ["-n", "3"] if name.endswith("-pulsed") else []
        compared(name, io, folder, *more)
        compared(name, io, folder, "--pass", "typed", *more)
        packed = os.path.join(root, name + ".nnef.tgz")
        with tarfile.open(packed, "w:gz") as tar:
            for where, _, files in os.walk(folder):
                for file in (f for f in files if f != "io.npz"):
                    tar.add(os.path.join(where, file), os.path.relpath(os.path.join(where, file), folder))
        compared(name, io, packed, *more)
finish()
