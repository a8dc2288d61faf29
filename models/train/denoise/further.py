#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The last training of rill-denoise, from the weights that it had before.

usage: further.py DATA BEFORE.onnx OUT.onnx [STEPS1 STEPS2]
       further.py --single DATA BEFORE.onnx OUT.onnx [STEPS]

DATA: the folder that recordings.py filled. BEFORE.onnx: those weights; this repository's history has
them (README.md here). Two runs in batches of 16 from step mix.BREATH on; the second goes on from
halfway between BEFORE and the end of the first, and OUT lies four fifths of the way from BEFORE to
its end. STEPS1 STEPS2: fewer than 1185 and 1929, to see that all works. --single: one run, from
step mix.SINGLE on, over single loud sounds, and four fifths of the way to its end.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import numpy_helper

import mix
import train
from net import BANDS, LOW, Net, clean_of

COUNT = 16
# Steps, rate, seed of PyTorch, which examples are breathed, and how far OUT of a run lies from BEFORE.
RUNS = ((1185, 2.5e-4, 5, (3, 25), 0.5), (1929, 2e-4, 6, (8, 20), 0.8))
SINGLE_RUNS = ((6200, 5e-4, 7, (8, 20), 0.8),)


def matrices(graph, weights):
    """Constants that each product and each GRU takes, by its name up to the last part."""
    return {node.name.rsplit('/', 1)[0]: [weights.get(name) for name in node.input]
            for node in graph.node if node.op_type in ('MatMul', 'GRU')}


def gates(a, size):
    """ONNX has update, reset, new; PyTorch reset, update, new."""
    return np.concatenate([a[size:2 * size], a[:size], a[2 * size:]])


def restore(net, path):
    """What export.py made is undone: statistics come out of the first layer again."""
    graph = onnx.load(path).graph
    weights = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    by = matrices(graph, weights)
    tensor = lambda a: torch.from_numpy(np.array(a))
    for k, at in enumerate((0, BANDS)):
        net.mean[at:at + LOW] = tensor(weights['mean'])[:, k]
        net.scale[at:at + LOW] = tensor(weights['scale'])[:, k]
    folded = tensor(by['/first'][1]).T.double()
    net.first.weight.copy_(folded / net.scale.double())
    net.first.bias.copy_(tensor(weights['net.first.bias']).double() + folded @ net.mean.double())
    for name, layer in [(n, getattr(net, n)) for n in ('last', 'said')] + \
            [('local.%d' % i, layer) for i, layer in enumerate(net.local)]:
        layer.weight.copy_(tensor(by['/' + name][1]).T)
        layer.bias.copy_(tensor(weights[f'net.{name}.bias']))
    for i, gru in enumerate(net.gru):
        _, w, r, b = by['/gru.%d' % i][:4]
        size = r.shape[2]
        gru.weight_ih_l0.copy_(tensor(gates(w[0], size)))
        gru.weight_hh_l0.copy_(tensor(gates(r[0], size)))
        gru.bias_ih_l0.copy_(tensor(gates(b[0, :3 * size], size)))
        gru.bias_hh_l0.copy_(tensor(gates(b[0, 3 * size:], size)))


def rate_at(k, steps, top):
    return top * min(1, (k + 1) / 20) * min(1, max(0.01, (1 - k / steps) / 0.8))


def run(net, opt, corpus, first, steps, top, breathed):
    batches = mix.Batches(corpus, train.SEED, first, first + steps, COUNT, breathed=breathed)
    for k, (bands, noise, s, x) in enumerate(torch.utils.data.DataLoader(
            batches, batch_size=None, num_workers=1, prefetch_factor=12)):
        for group in opt.param_groups:
            group['lr'] = rate_at(k, steps, top)
        loss, distortion = train.loss_of(clean_of(net, x, bands, noise), s, x, len(train.PARTS))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        if k % 50 == 49 or k + 1 == steps:
            print('step %d loss %.4f distortion %.2f dB' % (first + k + 1, loss, distortion), flush=True)


def towards(before, after, share):
    return {name: a + share * (after[name] - a) if a.is_floating_point() else a
            for name, a in before.items()}


def main(data, before_path, out, first, runs):
    if not os.path.exists(before_path):
        sys.exit(f'{before_path}: no such file; README.md says where the weights from before are')
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    corpus, net = mix.Corpus(data), Net()
    with torch.no_grad():
        train.standardise(net, corpus)
        restore(net, before_path)
    before = {name: a.clone() for name, a in net.state_dict().items()}
    opt = torch.optim.AdamW(net.parameters(), runs[0][1], weight_decay=1e-3)
    for steps, top, seed, breathed, share in runs:
        torch.manual_seed(seed)
        run(net, opt, corpus, first, steps, top, breathed)
        net.load_state_dict(towards(before, net.state_dict(), share))
        first += steps
    with tempfile.TemporaryDirectory() as folder:
        torch.save({'net': net.state_dict()}, folder + '/net.pt')
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run([sys.executable, here + '/export.py', folder + '/net.pt', out], check=True)


if __name__ == '__main__':
    args, first, runs = sys.argv[1:], mix.BREATH, RUNS
    if args[:1] == ['--single']:
        args, first, runs = args[1:], mix.SINGLE, SINGLE_RUNS
    if len(args) not in (3, 3 + len(runs)) or not all(a.isdigit() and int(a) for a in args[3:]):
        sys.exit(__doc__)
    counts = args[3:] or [steps for steps, *_ in runs]
    main(*args[:3], first, [(int(n),) + run[1:] for n, run in zip(counts, runs)])
