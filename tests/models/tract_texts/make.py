# SPDX-License-Identifier: MIT
"""Texts that tract 0.23.9 writes of nets of PyTorch, with numbers that PyTorch gives. Two programs, as both seldom live in one
environment:

    make.py torch DIR      nets as ONNX files in DIR, and what goes in and comes out
    make.py tract DIR      the folders beside this file"""
import os
import shutil
import sys

import numpy as np

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


def by_torch(where):
    import torch
    for name, (net, shape, time) in nets().items():
        x = torch.randn(*shape)
        torch.onnx.export(net.eval(), (x,), f"{where}/{name}.onnx", input_names=["x"], output_names=["y"], dynamo=False, opset_version=17,
                          dynamic_axes={"x": {time: "T"}} if time else None)
        np.savez(f"{where}/{name}.npz", x=x.numpy(), y=net(x).detach().numpy())


def by_tract(where):
    import tract
    for file in sorted(os.listdir(where)):
        name = file[:-5]
        if not file.endswith(".onnx"):
            continue
        shutil.rmtree(os.path.join(HERE, name), True)
        tract.nnef().with_tract_extra().with_onnx().write_model_to_dir(tract.onnx().load(f"{where}/{file}").into_model(), os.path.join(HERE, name))
        shutil.copy(f"{where}/{name}.npz", os.path.join(HERE, name, "io.npz"))


{"torch": by_torch, "tract": by_tract}[sys.argv[1]](sys.argv[2])
