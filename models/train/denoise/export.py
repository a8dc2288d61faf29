#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: export.py NET.PT NET.ONNX

Whole sequences: bands and noise [1, T, 112] and the low bins of this frame and the two before it,
the oldest first, [1, T, 3, 80, 2] -> gains [1, T, 257] and what is added to the low bins
[1, T, 80, 2].
"""
import sys

import torch
from torch.nn.functional import pad

from net import BANDS, FLOOR, LOW, SAID, TAPS, TURN, Net


class Folded(torch.nn.Module):
    """The same network, one recording at a time, with the statistics of the features folded into
    the first layer."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.register_buffer('turn', TURN.reshape(4, LOW))
        with torch.no_grad():
            level = [slice(at, at + LOW) for at in (0, BANDS)]
            self.register_buffer('mean', torch.stack([net.mean[s] for s in level], -1))
            self.register_buffer('scale', torch.stack([net.scale[s] for s in level], -1))
            weight = net.first.weight * net.scale
            net.first.bias -= weight @ net.mean
            net.first.weight.copy_(weight)

    @staticmethod
    def beside(part):
        """[1, T, 3, 80] -> the bins [1, T, 1, 80] and those beside them in time and frequency
        [1, T, 4, 80]."""
        now = part[:, :, 2:3]
        lower, higher = pad(now[..., :-1], (1, 0)), pad(now[..., 1:], (0, 1))
        return now, torch.cat([part[:, :, 1:2], part[:, :, 0:1], lower, higher], 2)

    def phases(self, bins):
        """[1, T, 3, 80, 2] -> [1, T, 12, 80], and real and imaginary parts of the bins that filters
        take [1, T, 5, 80]."""
        (re, others_re), (im, others_im) = (self.beside(bins[..., part]) for part in (0, 1))
        power = re * re + im * im + FLOOR
        other = others_re * others_re + others_im * others_im + FLOOR
        unit = self.turn / torch.sqrt(power * other)
        along = (re * others_re + im * others_im) * unit
        across = (im * others_re - re * others_im) * unit
        rise = torch.log(power / other)
        taken = torch.cat([re, others_re], 2), torch.cat([im, others_im], 2)
        return (torch.cat([along, across, rise], 2),) + taken

    def forward(self, bands, noise, bins):
        net = self.net
        f = net.features(bands, noise)
        seen = net.recurrent(torch.relu(net.first(f)))
        gain = torch.sigmoid(net.last(seen))
        gains = torch.cat([gain[..., :LOW], gain[..., LOW:] @ net.spread], -1)
        phase, re, im = self.phases(bins)
        level = torch.stack([f[..., :LOW], f[..., BANDS:BANDS + LOW]], -1)
        level = (level - self.mean) * self.scale
        said = net.said(seen)
        said = torch.stack([said[..., i * LOW:(i + 1) * LOW] for i in range(SAID)], -1)
        x = torch.cat([phase.transpose(2, 3), level, gain[..., :LOW].unsqueeze(-1), said], -1)
        for i, layer in enumerate(net.local):
            x = layer(torch.relu(x) if i else x)
        taps = x.transpose(2, 3)
        c, d = taps[:, :, :TAPS], taps[:, :, TAPS:]
        return gains, torch.stack([(c * re - d * im).sum(2), (c * im + d * re).sum(2)], -1)


def example(frames):
    bands = torch.rand(1, frames, BANDS) + 0.1
    bins = torch.randn(1, frames + 2, LOW, 2)
    bins[:, :2] = 0
    return bands, bands * 0.5, bins


def main(source, target):
    net = Net()
    net.load_state_dict(torch.load(source, map_location='cpu')['net'])
    net.eval()
    bands, noise, bins = example(7)
    with torch.no_grad():
        want = net(bands, noise, bins[:, 2:])
        folded = Folded(net)
        past = torch.stack([bins[:, i:i + 7] for i in range(3)], 2)
        got = folded(bands, noise, past)
    print('folding changes %.2g, %.2g' % tuple((a - b).abs().max() for a, b in zip(got, want)))
    axes = {k: {1: 'T'} for k in ('bands', 'noise', 'bins', 'gain', 'added')}
    with torch.no_grad():
        torch.onnx.export(folded, (bands, noise, past), target, opset_version=13,
                          input_names=['bands', 'noise', 'bins'], output_names=['gain', 'added'],
                          dynamic_axes=axes)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
