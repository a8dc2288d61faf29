#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the standard's newest node cases of some ops, which are newer than those of the distribution.

    python3 newest.py DIR OP...       (pip install onnx)
"""
import os
import sys
import warnings

import onnx
from onnx import numpy_helper

warnings.simplefilter("ignore")
from onnx.backend.test.case.node import collect_testcases  # noqa: E402


def save(folder, case):
    os.makedirs(folder, exist_ok=True)
    onnx.save(case.model, os.path.join(folder, "model.onnx"))
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{number}")
        os.makedirs(data, exist_ok=True)
        graph = case.model.graph
        for kind, values, ports in ("input", inputs, graph.input), ("output", outputs, graph.output):
            for i, (value, port) in enumerate(zip(values, ports)):
                with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                    ready = isinstance(value, onnx.TensorProto)
                    tensor = value if ready else numpy_helper.from_array(value, port.name)
                    f.write(tensor.SerializeToString())


def main():
    folder, wanted = sys.argv[1], set(sys.argv[2:])
    for case in collect_testcases():
        if case.model is not None and wanted & {n.op_type for n in case.model.graph.node}:
            save(os.path.join(folder, "node", case.name), case)


main()
