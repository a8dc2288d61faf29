#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the trained net as ONNX for whole sequences: features [T, 32] -> logp [ceil(T / 4), 11].

usage: export.py NET.pt OUT.onnx
"""
import pickle
import sys

import onnx
import torch
from torch import nn

from features import BANDS
from net import Digits


class Whole(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x.unsqueeze(0)).squeeze(1)


def main(weights, out):
    net = Digits()
    try:
        net.load_state_dict(torch.load(weights))
    except (OSError, EOFError, RuntimeError, pickle.UnpicklingError) as why:
        sys.exit(f'{weights}: not what train.py writes: {why}')
    torch.onnx.export(Whole(net).eval(), torch.zeros(40, BANDS), out, opset_version=13,
                      input_names=['features'],
                      output_names=['logp'], dynamic_axes={'features': {0: 'T'}, 'logp': {0: 'F'}})
    model = onnx.load(out)
    model.doc_string = 'rill-digits: weights are data under CC BY-SA 4.0, see MODEL.md'
    onnx.checker.check_model(model)
    onnx.save(model, out)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
