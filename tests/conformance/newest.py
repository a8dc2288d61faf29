#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the standard's newest node cases, of some ops or all, which are newer than those of the distribution.

    python3 newest.py DIR [OP...]       (pip install onnx)
"""
import inspect
import os
import sys
import warnings

import onnx
from onnx import numpy_helper

warnings.simplefilter("ignore")
from onnx.backend.test.case.node import collect_testcases  # noqa: E402


def packed(value, port):
    """A value of a data set as the file of its kind has it."""
    if isinstance(value, onnx.TensorProto):
        return value
    if port.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, port.name)
    if port.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, port.name)
    return numpy_helper.from_array(value, port.name)


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
                    f.write(packed(value, port).SerializeToString())


def main():
    folder, wanted = sys.argv[1], set(sys.argv[2:])
    every = [None] * len(inspect.signature(collect_testcases).parameters)  # older packages ask for one op
    for case in collect_testcases(*every):
        if case.model is not None and (not wanted or wanted & {n.op_type for n in case.model.graph.node}):
            save(os.path.join(folder, "node", case.name), case)


main()
