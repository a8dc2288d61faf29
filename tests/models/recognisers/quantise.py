#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds the files of 8 bits to folders of recognisers, as those who publish them make them with ONNX Runtime, and to transducers a
joiner that says less, for endpoints.

    quantise.py ARCHIVE...

Each ARCHIVE is a folder as .tar.xz and is written anew. Needs onnx, onnxruntime, numpy."""
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

ICEFALL = dict(encoder=(["MatMul"], QuantType.QInt8), decoder=(["MatMul", "Gather"], QuantType.QInt8), joiner=(["MatMul"], QuantType.QInt8))
NEMO = dict(encoder=(None, QuantType.QUInt8), decoder=(None, QuantType.QUInt8), joiner=(None, QuantType.QUInt8), model=(None, QuantType.QUInt8))
WAYS = {
    "nemo": NEMO,
    "nemo-ctc": NEMO,
    "lstm": dict(ICEFALL, encoder=(["MatMul", "LSTM"], QuantType.QInt8)),
    "wenet-ctc": dict(model=(["MatMul"], QuantType.QInt8)),
    "zipformer2-ctc": dict(ctc=(["MatMul"], QuantType.QInt8)),
}
QUIETER = dict(lstm=7.0, zipformer=7.0, ebranchformer=12.0)       # others: 2; so that there are pauses between texts


def quieter(path, to, more, blank):
    """The bias of the scores is that of as many numbers as the output has."""
    m = onnx.load(path)
    n = m.graph.output[0].type.tensor_type.shape.dim[-1].dim_value
    last = [t for t in m.graph.initializer if len(t.dims) == 1 and (t.dims[0] == n or not n)][-1]
    bias = numpy_helper.to_array(last).copy()
    bias[blank] += more
    last.CopyFrom(numpy_helper.from_array(bias, last.name))
    onnx.save(m, to)


def networks(folder):
    return [f for f in sorted(folder.glob("*.onnx")) if ".int8." not in f.name and "quiet" not in f.name]


def fill(folder):
    ways = WAYS.get(folder.name, ICEFALL)
    for f in networks(folder):
        role = f.name.replace("-", ".").split(".")[0]
        to = f.with_suffix(".int8.onnx")
        if not to.exists():
            ops, kind = ways[role]
            quantize_dynamic(f, to, op_types_to_quantize=ops, weight_type=kind)
        if role == "joiner":
            quieter(f, folder / "joiner-quiet.onnx", QUIETER.get(folder.name, 2.0), -1 if folder.name == "nemo" else 0)


def of_root(info):
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    return info


def main():
    for archive in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as tmp:
            with tarfile.open(archive) as t:
                t.extractall(tmp, filter="data")
            name = archive.name.split(".")[0]
            fill(Path(tmp) / name)
            with tarfile.open(archive, "w:xz", preset=9) as t:
                t.add(Path(tmp) / name, name, filter=of_root)


main()
