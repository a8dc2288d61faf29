# SPDX-License-Identifier: MIT
"""Texts that tract 0.23.9 writes of nets of PyTorch and of products of bytes, with numbers that PyTorch and ONNX Runtime give. Programs
apart, as they seldom live in one environment:

    make.py torch DIR      nets as ONNX files in DIR, and what goes in and comes out
    make.py bytes DIR      products of bytes, likewise
    make.py tract DIR      the folders beside this file"""
import os
import shutil
import sys

import numpy as np

PULSE, STEPS = 4, 3  # of nets whose name ends so
HERE = os.path.dirname(os.path.abspath(__file__))


def nets():
    import torch
    from torch import nn

    class Cell(nn.Module):
        def __init__(self, kind, **rest):
            super().__init__()
            self.l = kind(6, 5, batch_first=True, **rest)

        def forward(self, x):
            return self.l(x)[0]

    class Norm(nn.Module):
        def forward(self, x):
            return nn.functional.layer_norm(x, (4,)) + x.topk(1, 2)[0]

    torch.manual_seed(3)
    return {
        "lstm": (Cell(nn.LSTM), (1, 7, 6), 1), "lstm-both-ways": (Cell(nn.LSTM, bidirectional=True), (1, 7, 6), None),
        "gru": (Cell(nn.GRU), (1, 7, 6), 1), "rnn": (Cell(nn.RNN), (1, 7, 6), 1),
        "group-norm": (nn.Sequential(nn.Conv1d(2, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.PReLU()), (1, 2, 12), None),
        "layer-norm-topk": (Norm(), (1, 5, 4), None), "softsign": (nn.Softsign(), (1, 5, 4), 1),
        "transposed": (nn.ConvTranspose1d(4, 4, 4, stride=2, padding=1), (1, 4, 9), 2),
        "transposed-groups": (nn.ConvTranspose1d(4, 4, 4, stride=2, padding=1, groups=2), (1, 4, 9), 2),
        "transposed-padded": (nn.ConvTranspose2d(4, 6, 3, stride=(1, 2), padding=1, output_padding=(0, 1), groups=2), (1, 4, 5, 6), None),
    }


def pulsed_nets():
    import torch
    from torch import nn

    class Rnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.RNN(6, 7)

        def forward(self, x):
            return self.l(x)[0]

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.GRU(6, 6, batch_first=True), nn.LSTM(6, 6, batch_first=True)

        def forward(self, x):
            return self.b(self.a(x)[0] + x)[0] * x

    torch.manual_seed(3)
    return {"rnn-pulsed": (Rnn(), (PULSE * STEPS, 1, 6), 0), "gru-lstm-pulsed": (Both(), (1, PULSE * STEPS, 6), 1)}


def in_steps(x, time):
    return np.stack(np.split(x, STEPS, time))


def by_torch(where):
    import torch
    for name, (net, shape, time) in [*nets().items(), *pulsed_nets().items()]:
        x = torch.randn(*shape)
        torch.onnx.export(net.eval(), (x,), f"{where}/{name}.onnx", input_names=["x"], output_names=["y"], dynamo=False, opset_version=17,
                          dynamic_axes={"x": {time: "T"}} if time is not None else None)
        both = {"x": x.numpy(), "y": net(x).detach().numpy()}
        np.savez(f"{where}/{name}.npz", **({k: in_steps(v, time) for k, v in both.items()} if name.endswith("-pulsed") else both))


def by_onnxruntime(where):
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
    roll = np.random.default_rng(7)
    byte = lambda *shape: roll.integers(-128, 128, shape).astype(np.int8)  # noqa: E731
    scales = {"xs": np.float32(.05), "ws": np.array([.02, .03, .01], np.float32), "ys": np.float32(.3), "xz": np.int8(3), "wz": np.zeros(3, np.int8), "yz": np.int8(5)}
    by = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    for name, shape, node, rest in (
            ("bytes-channels", (1, 2, 7), helper.make_node("QLinearConv", [*by, "b"], ["y"], pads=[1, 1]), {"w": byte(3, 2, 3), "b": roll.integers(-500, 500, 3).astype(np.int32), **scales}),
            ("bytes-columns", (1, 4, 5), helper.make_node("QLinearMatMul", by, ["y"]), {"w": byte(5, 3), **scales}),
            ("bytes-sums", (1, 2, 7), helper.make_node("ConvInteger", ["x", "w", "xz"], ["y"], strides=[2]), {"w": byte(3, 2, 3), "xz": np.int8(3)})):
        node.name = "n"
        kind = onnx.TensorProto.INT32 if name == "bytes-sums" else onnx.TensorProto.INT8
        graph = helper.make_graph([node], name, [helper.make_tensor_value_info("x", onnx.TensorProto.INT8, shape)], [helper.make_tensor_value_info("y", kind, None)],
                                  [numpy_helper.from_array(v, k) for k, v in rest.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, f"{where}/{name}.onnx")
        x = byte(*shape)
        np.savez(f"{where}/{name}.npz", x=x, y=onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0])


def by_tract(where):
    import tract
    for file in sorted(os.listdir(where)):
        name = file[:-5]
        if not file.endswith(".onnx"):
            continue
        shutil.rmtree(os.path.join(HERE, name), True)
        model = tract.onnx().load(f"{where}/{file}").into_model()
        if name.endswith("-pulsed"):
            model.transform(tract.Pulse(str(PULSE), symbol="T"))
        tract.nnef().with_tract_extra().with_onnx().with_pulse().write_model_to_dir(model, os.path.join(HERE, name))
        shutil.copy(f"{where}/{name}.npz", os.path.join(HERE, name, "io.npz"))


{"torch": by_torch, "bytes": by_onnxruntime, "tract": by_tract}[sys.argv[1]](sys.argv[2])
