#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trains rill-denoise.

usage: train.py DATA OUT STEPS [DECAY_FROM]

DATA: the folder that recordings.py filled. OUT: folder for net.pt, which also holds the optimiser:
an interrupted run goes on where it stopped, and as every step draws its own batch from (seed,
step), to the same end. The rate falls to zero from step DECAY_FROM (0.6 STEPS) to STEPS.
"""
import os
import sys
import time

import torch

import mix
from net import Net

SEED, RATE_TOP, WARM = 5, 2.5e-3, 150


def rate_at(step, steps, decay_from):
    if step < WARM:
        return RATE_TOP * (step + 1) / WARM
    left = (steps - step) / max(1, steps - decay_from)
    return RATE_TOP * min(1.0, max(left, 0.01))


def loss_of(gain, s2, x2, sx):
    """Clean and noisy spectra only meet in real products, as gains are real.

    Error of compressed magnitudes (power 0.3) and of spectra compressed alike, and the distortion
    in dB, where an
    example has speech."""
    size = x2.mean((1, 2), keepdim=True) + 1e-12
    s2, x2, sx = s2 / size, x2 / size, sx / size
    tiny = 1e-8
    cs, cx = (s2 + tiny) ** 0.15, (x2 + tiny) ** 0.15
    both = sx * (s2 + tiny) ** -0.35 * (x2 + tiny) ** -0.35
    cg = (gain + 1e-5) ** 0.3
    cy = cx * cg
    shape = ((cs - cy) ** 2).mean()
    complex_ = (cs * cs - 2 * cg * both + cy * cy).mean()
    error = (s2 - 2 * gain * sx + gain * gain * x2).sum((1, 2))
    whole = s2.sum((1, 2))
    speaks = whole > 1e-6
    distortion = 10 * torch.log10((error + 1e-3 * whole)[speaks] / whole[speaks]).mean()
    return 0.04 * distortion + 2 * shape + complex_, distortion


def standardise(net, corpus):
    batches = mix.Batches(corpus, SEED + 1, 0, 4)
    x = torch.cat([net.features(*batches[i][:2]).reshape(-1, net.mean.numel()) for i in range(4)])
    net.mean.copy_(x.mean(0))
    net.scale.copy_(1 / x.std(0))


def main(data, out, steps, decay_from):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(SEED)
    os.makedirs(out, exist_ok=True)
    corpus = mix.Corpus(data)
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), RATE_TOP, weight_decay=1e-3)
    step = 0
    if os.path.exists(out + '/net.pt'):
        saved = torch.load(out + '/net.pt')
        net.load_state_dict(saved['net'])
        opt.load_state_dict(saved['opt'])
        step = saved['step']
    else:
        with torch.no_grad():
            standardise(net, corpus)
    print('%d weights, from step %d' % (sum(p.numel() for p in net.parameters()), step), flush=True)
    began, sums, seen = time.time(), [0.0, 0.0], 0
    batches = mix.Batches(corpus, SEED, step, steps)
    loader = torch.utils.data.DataLoader(batches, batch_size=None, num_workers=1)
    for bands, noise, *spectra in loader:
        for group in opt.param_groups:
            group['lr'] = rate_at(step, steps, decay_from)
        loss, distortion = loss_of(net(bands, noise), *spectra)
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
    if len(sys.argv) not in (4, 5) or not all(a.isdigit() for a in sys.argv[3:]):
        sys.exit(__doc__)
    end = int(sys.argv[3])
    main(sys.argv[1], sys.argv[2], end, int(sys.argv[4]) if len(sys.argv) > 4 else end * 6 // 10)
