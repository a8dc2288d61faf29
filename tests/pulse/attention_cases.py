# SPDX-License-Identifier: MIT
"""Attention of other people's exporters, and multi-axis graphs with stored outputs: each streams as the whole run, at pulses that
fit its chunks and that do not. attention_cases.py RILL SHARED"""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from counted import check, finish

RILL, CASES = sys.argv[1], os.path.join(sys.argv[2], "cases", "attention")
SETS = {"mask_chunkreshape": ["--set", "S=8*T", "--stream", "T"]}


def good(what, *args):
    r = subprocess.run([RILL, *args], capture_output=True, text=True)
    check(r.returncode == 0, f"{what} {r.stdout[-600:]} {r.stderr[-600:]}")


if not os.path.isdir(CASES):
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(77)
for path in sorted(glob.glob(os.path.join(CASES, "*.onnx"))):
    name = os.path.basename(path)[:-len(".onnx")]
    good(name, "check", *SETS.get(name, []), "--pulse", "1,3,8,16", "--length", "48", path)
for folder in sorted(glob.glob(os.path.join(CASES, "multiaxis_*"))):
    good(folder, "conformance", folder)
    for path in sorted(glob.glob(os.path.join(folder, "*", "model.onnx"))):
        good(path, "check", "--pulse", "1,2,6,16", "--length", "12", path)
finish()
