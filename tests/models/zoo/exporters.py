# SPDX-License-Identifier: MIT
"""Nets of the zoo by that exporter of PyTorch which did not write the file that is here: ONNX Runtime judges the whole run, the
law the stream. exporters.py RILL FOLDER [NAME..]"""
import logging, os, subprocess, sys, warnings
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]
import numpy as np
import torch
import counted
import make

RILL, FOLDER = sys.argv[1:3]
NETS = (*make.BY_DYNAMO, "dpdfnet2", "table")      # the newer exporter takes minutes a net


def rill(*arguments):
    r = subprocess.run([RILL, *arguments], capture_output=True, text=True)
    return "" if r.returncode == 0 else r.stdout[-600:] + r.stderr[-600:]


def net_test(name):
    path = os.path.join(FOLDER, name + ".onnx")
    make.export_one(name, path, name not in make.BY_DYNAMO)
    given = []
    for length in make.LENGTHS[name]:
        feed, want = make.whole_run(path, length)
        np.savez(path + ".npz", **want)
        for port, x in feed.items():
            np.save(f"{path}.{port}.npy", x)
            given += ["-i", f"{port}={path}.{port}.npy"]
        said = rill("run", *given, "--compare", path + ".npz", "--atol", "1e-4", path)
        counted.check(not said, f"{name}, {length} frames: {said}")
        given = []
    said = rill("check", "--length", ",".join(map(str, make.LENGTHS[name])), path)
    counted.check(not said, f"{name}: {said}")


torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
for net in sys.argv[3:] or NETS:
    net_test(net)
counted.finish()
