#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: export.py NET.PT NET.ONNX

Whole sequences: bands and noise [1, T, 112] -> gains [1, T, 257].
"""
import sys

import torch

from net import BANDS, Net


class Folded(torch.nn.Module):
    """The same network with the statistics of the features folded into the first layer."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        with torch.no_grad():
            weight = net.first.weight * net.scale
            net.first.bias -= weight @ net.mean
            net.first.weight.copy_(weight)
            net.mean.zero_()
            net.scale.fill_(1)

    def forward(self, bands, noise):
        net = self.net
        x = torch.relu(net.first(net.features(bands, noise)))
        h, _ = net.gru(x)
        gain = torch.sigmoid(net.last(torch.cat([h, x], -1)))
        return torch.cat([gain[..., :80], gain[..., 80:] @ net.spread], -1)


def main(source, target):
    net = Net()
    net.load_state_dict(torch.load(source)['net'])
    net.eval()
    one = torch.rand(1, 7, BANDS) + 0.1
    want = net(one, one * 0.5)
    folded = Folded(net)
    print('folding changes %.2g' % (folded(one, one * 0.5) - want).abs().max())
    torch.onnx.export(folded, (one, one * 0.5), target, opset_version=13,
                      input_names=['bands', 'noise'], output_names=['gain'],
                      dynamic_axes={k: {1: 'T'} for k in ('bands', 'noise', 'gain')})


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
