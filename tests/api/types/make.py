# SPDX-License-Identifier: MIT
"""The models of test_types.c; wants onnx. make.py FOLDER"""
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

TYPES = dict(f32=T.FLOAT, f64=T.DOUBLE, i8=T.INT8, i16=T.INT16, i32=T.INT32, i64=T.INT64, u8=T.UINT8, u16=T.UINT16,
             u32=T.UINT32, u64=T.UINT64, bool=T.BOOL)
port = h.make_tensor_value_info
i64 = lambda *v: np.array(v, np.int64)


def save(name, nodes, inputs, outputs, constants, opset=18, ir=9):
    graph = h.make_graph(nodes, name, inputs, outputs, [nh.from_array(a, k) for k, a in constants.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=ir)
    onnx.checker.check_model(model)
    onnx.save(model, f"{sys.argv[1]}/{name}.onnx")


# y(t) = x(t) - x(t - 1), 0 before the first; of bool: whether they differ
for name, t in TYPES.items():
    shape = [2, "S", 3]
    save("step_" + name,
         [h.make_node("Pad", ["x", "pads"], ["later"]), h.make_node("Slice", ["later", "begin", "end", "axis"], ["last"]),
          h.make_node("Xor" if t == T.BOOL else "Sub", ["x", "last"], ["y"])],
         [port("x", t, shape)], [port("y", t, shape)],
         dict(pads=i64(0, 1, 0, 0, 0, 0), begin=i64(0), end=i64(-1), axis=i64(1)))

words = np.arange(11)[:, None] + 10 * np.arange(4)[None]
taps = (1 + np.arange(5)[:, None, None]) * (np.arange(4)[None, :, None] - 1) + np.arange(3)[None, None]
save("words", [h.make_node("Gather", ["table", "x"], ["found"]), h.make_node("Transpose", ["found"], ["turned"], perm=[0, 2, 1]),
               h.make_node("Conv", ["turned", "taps"], ["y"], pads=[1, 1])],
     [port("x", T.INT64, [1, "S"])], [port("y", T.FLOAT, [1, 5, "S"])],
     dict(table=words.astype(np.float32), taps=taps.astype(np.float32)))
save("best", [h.make_node("ArgMax", ["x"], ["y"], axis=2, keepdims=0), h.make_node("Greater", ["x", "most"], ["z"])],
     [port("x", T.FLOAT, [1, "S", 6])], [port("y", T.INT64, [1, "S"]), port("z", T.BOOL, [1, "S", 6])],
     dict(most=np.float32(3)))
save("bytes", [h.make_node("Cast", ["x"], ["floats"], to=T.FLOAT), h.make_node("Conv", ["floats", "taps"], ["y"], pads=[2, 0])],
     [port("x", T.UINT8, [1, 1, "S"])], [port("y", T.FLOAT, [1, 1, "S"])], dict(taps=np.float32([[[1, 2, 4]]])))
save("half", [h.make_node("Mul", ["x", "x"], ["y"])], [port("x", T.FLOAT16, ["S"])], [port("y", T.FLOAT16, ["S"])], {})
save("four", [h.make_node("DequantizeLinear", ["x", "scale"], ["y"])], [port("x", T.UINT4, ["S"])],
     [port("y", T.FLOAT, ["S"])], dict(scale=np.float32(1)), opset=21, ir=10)
save("beside", [h.make_node("Gather", ["table", "who"], ["gain"]), h.make_node("Mul", ["x", "gain"], ["y"])],
     [port("x", T.FLOAT, ["S"]), port("who", T.INT64, [1])], [port("y", T.FLOAT, ["S"])],
     dict(table=np.float32([1, 10, 100, 1000])))
save("views", [h.make_node("Identity", ["x"], ["y"]), h.make_node("Reshape", ["who", "sizes"], ["z"])],
     [port("x", T.INT64, ["S"]), port("who", T.INT64, [1])], [port("y", T.INT64, ["S"]), port("z", T.INT64, [1, 1])],
     dict(sizes=i64(1, 1)))
