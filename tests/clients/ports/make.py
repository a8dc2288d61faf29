# SPDX-License-Identifier: MIT
"""The models of test_ports.py; wants onnx. make.py FOLDER"""
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

port = h.make_tensor_value_info


def save(name, nodes, inputs, outputs, constants):
    graph = h.make_graph(nodes, name, inputs, outputs, [nh.from_array(a, k) for k, a in constants.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, f"{sys.argv[1]}/{name}.onnx")


# Three inputs along time, one beside it, four outputs, all of other types.
save("mixed", [h.make_node("Cast", ["b"], ["bf"], to=T.FLOAT), h.make_node("Gather", ["table", "who"], ["gain"]),
               h.make_node("Mul", ["a", "gain"], ["loud"]), h.make_node("Add", ["loud", "bf"], ["y"]),
               h.make_node("Not", ["c"], ["z"]), h.make_node("Cast", ["y"], ["w"], to=T.DOUBLE),
               h.make_node("Cast", ["c"], ["ci"], to=T.INT64), h.make_node("Add", ["b", "ci"], ["v"])],
     [port("a", T.FLOAT, [1, 2, "S"]), port("b", T.INT64, [1, 1, "S"]), port("c", T.BOOL, [1, 1, "S"]), port("who", T.INT64, [1])],
     [port("y", T.FLOAT, [1, 2, "S"]), port("z", T.BOOL, [1, 1, "S"]), port("w", T.DOUBLE, [1, 2, "S"]), port("v", T.INT64, [1, 1, "S"])],
     dict(table=np.float32([1, 10, 100, 1000])))

taps = np.arange(1, 5, dtype=np.float32).reshape(1, 2, 2)
twice = [h.make_node("ConvTranspose", ["x", "taps"], ["up"], strides=[2])]
third = [h.make_node("MaxPool", ["up"], ["low"], kernel_shape=[3], strides=[3])]
save("half", twice, [port("x", T.FLOAT, [1, 1, "S"])], [port("up", T.FLOAT, [1, 2, "U"])], dict(taps=taps))
save("thirds", twice + third, [port("x", T.FLOAT, [1, 1, "S"])], [port("low", T.FLOAT, [1, 2, "U"])], dict(taps=taps))

# One frame is larger than a message.
save("wide", [h.make_node("Mul", ["x", "two"], ["y"])], [port("x", T.FLOAT, ["S", 30000])], [port("y", T.FLOAT, ["S", 30000])],
     dict(two=np.float32(2)))

# No time at all.
save("still", [h.make_node("MatMul", ["x", "m"], ["xm"]), h.make_node("Add", ["xm", "more"], ["y"])],
     [port("x", T.FLOAT, [1, 3]), port("more", T.FLOAT, [1, 2])], [port("y", T.FLOAT, [1, 2])],
     dict(m=np.arange(6, dtype=np.float32).reshape(3, 2)))

# Sixteen frames of 4000 bytes for each that comes: a ring's end lies within those of a run.
save("burst", [h.make_node("ConstantOfShape", ["size"], ["taps"], value=nh.from_array(np.float32([1]))),
               h.make_node("ConvTranspose", ["x", "taps"], ["y"], strides=[16])],
     [port("x", T.FLOAT, [1, 1, "S"])], [port("y", T.FLOAT, [1, 1000, "U"])], dict(size=np.int64([1, 1000, 16])))

# Two inputs along time, of which one has two frames more.
save("longer", [h.make_node("Conv", ["b", "one"], ["c"]), h.make_node("Add", ["a", "c"], ["y"])],
     [port("a", T.FLOAT, [1, 1, "S"]), port("b", T.FLOAT, [1, 1, "S + 2"])], [port("y", T.FLOAT, [1, 1, "S"])],
     dict(one=np.float32([[[0, 0, 1]]])))
save("sum", [h.make_node("Add", ["a", "b"], ["y"])],
     [port("a", T.FLOAT, [1, 1, "S"]), port("b", T.FLOAT, [1, 1, "S"])], [port("y", T.FLOAT, [1, 1, "S"])], {})
