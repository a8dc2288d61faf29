#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trains rill-denoise.

usage: train.py DATA OUT STEPS [DECAY_FROM [DEVICE]]

DATA: the folder that recordings.py filled. OUT: folder for net.pt, which also holds the optimiser:
an interrupted run goes on where it stopped, and as every step draws its own batch from (seed,
step), to the same end. The rate falls to zero from step DECAY_FROM (0.6 STEPS) to STEPS.
DEVICE: cpu (one thread, and one that mixes), or cuda.
"""
import os
import sys
import time

import torch

import mix
from net import Net, clean_of

SEED, RATE_TOP, WARM = 5, 2e-3, 150
TINY = 1e-8
# Beside the other errors, at first and from each of these steps on: what a dB of distortion counts,
# and speech that is missing.
PARTS = (mix.LATE, 3650, 4900)
DISTORTED, REMOVED = (0.05, 0.08, 0.15, 0.30), (3.0, 1.5, 1.0, 1.0)


def rate_at(step, steps, decay_from):
    if step < WARM:
        return RATE_TOP * (step + 1) / WARM
    left = (steps - step) / max(1, steps - decay_from)
    return RATE_TOP * min(1.0, max(left, 0.01))


def loss_of(y, s, x, part):
    """Output, clean and noisy spectra [B, T, 257, 2].

    Error of compressed magnitudes (power 0.3), once more where they are below the clean ones, and
    of spectra compressed alike, and the distortion in dB, where an example has speech."""
    size = x.square().sum(-1).mean((1, 2))[:, None, None] + 1e-12
    s2, y2, sy = s.square().sum(-1) / size, y.square().sum(-1) / size, (s * y).sum(-1) / size
    ls, ly = torch.log(s2 + TINY), torch.log(y2 + TINY)
    cs, cy = torch.exp(0.15 * ls), torch.exp(0.15 * ly)
    missing = cs - cy
    shape = missing.square().mean()
    removed = torch.relu(missing).square().mean()
    complex_ = (cs * cs - 2 * sy * torch.exp(-0.35 * (ls + ly)) + cy * cy).mean()
    error = (s2 - 2 * sy + y2).sum((1, 2))
    whole = s2.sum((1, 2))
    speaks = whole > 1e-6
    distortion = 10 * torch.log10((error + 1e-3 * whole)[speaks] / whole[speaks]).mean()
    loss = DISTORTED[part] * distortion + 2 * shape + REMOVED[part] * removed + complex_
    return loss, distortion


def standardise(net, corpus):
    batches = mix.Batches(corpus, SEED + 1, 0, 4)
    x = torch.cat([net.features(*batches[i][:2]).reshape(-1, net.mean.numel()) for i in range(4)])
    net.mean.copy_(x.mean(0))
    net.scale.copy_(1 / x.std(0))


def main(data, out, steps, decay_from, device):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(SEED)
    os.makedirs(out, exist_ok=True)
    corpus = mix.Corpus(data)
    net = Net().to(device)
    opt = torch.optim.AdamW(net.parameters(), RATE_TOP, weight_decay=1e-3)
    step = 0
    if os.path.exists(out + '/net.pt'):
        saved = torch.load(out + '/net.pt', map_location=device)
        net.load_state_dict(saved['net'])
        opt.load_state_dict(saved['opt'])
        step = saved['step']
    else:
        with torch.no_grad():
            standardise(net, corpus)
    print('%d weights, from step %d' % (sum(p.numel() for p in net.parameters()), step), flush=True)
    began, sums, seen = time.time(), [0.0, 0.0], 0
    batches = mix.Batches(corpus, SEED, step, steps)
    loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=1,
                                         prefetch_factor=12)
    for batch in loader:
        bands, noise, s, x = (part.to(device) for part in batch)
        for group in opt.param_groups:
            group['lr'] = rate_at(step, steps, decay_from)
        loss, distortion = loss_of(clean_of(net, x, bands, noise), s, x,
                                   sum(step >= first for first in PARTS))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        step += 1
        seen += 1
        sums = [sums[0] + loss.item(), sums[1] + distortion.item()]
        if step % 50 == 0 or step == steps:
            print('step %d loss %.4f distortion %.2f dB, %.0f s, %.0f s of computing' % (
                step, sums[0] / seen, sums[1] / seen, time.time() - began, time.process_time()),
                flush=True)
            sums, seen = [0.0, 0.0], 0
            state = {'net': net.state_dict(), 'opt': opt.state_dict(), 'step': step}
            torch.save(state, out + '/net.tmp')
            os.replace(out + '/net.tmp', out + '/net.pt')


if __name__ == '__main__':
    args = sys.argv[1:]
    device = args.pop() if len(args) == 5 else 'cpu'
    numbers = all(a.isdigit() for a in args[2:])
    if len(args) not in (3, 4) or not numbers or device not in ('cpu', 'cuda'):
        sys.exit(__doc__)
    end = int(args[2])
    main(args[0], args[1], end, int(args[3]) if len(args) > 3 else end * 6 // 10, device)
