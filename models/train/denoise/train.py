#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trains rill-denoise.

usage: train.py DATA OUT STEPS [DECAY_FROM]

DATA: the folder that recordings.py filled. OUT: folder for net.pt, which also holds the optimiser: an interrupted run goes
on where it stopped, and as every step draws its own batch from (seed, step), to the same end. The rate falls to zero
from step DECAY_FROM (0.6 STEPS) to STEPS.
"""
import os
import sys
import time

import torch

import mix
from net import Net, bands_of, noise_track

SEED, RATE_TOP, WARM = 5, 2.5e-3, 150


def rate_at(step, steps, decay_from):
    if step < WARM:
        return RATE_TOP * (step + 1) / WARM
    left = (steps - step) / max(1, steps - decay_from)
    return RATE_TOP * min(1.0, max(left, 0.01))


def loss_of(net, clean, noisy, speaks):
    bands = bands_of(noisy)
    gain = net(bands, noise_track(bands))
    size = (noisy.real ** 2 + noisy.imag ** 2).mean((1, 2), keepdim=True).sqrt() + 1e-9
    s, y = clean / size, noisy / size * gain
    ms, my = torch.clamp(s.abs(), 1e-4), torch.clamp(y.abs(), 1e-4)
    cs, cy = ms ** 0.3, my ** 0.3
    shape = ((cs - cy) ** 2).mean()
    complex_ = ((s * (cs / ms) - y * (cy / my)).abs() ** 2).mean()
    error = (s - y).abs().pow(2).sum((1, 2))
    whole = s.abs().pow(2).sum((1, 2))
    distortion = 10 * torch.log10((error + 1e-3 * whole)[speaks] / whole[speaks])
    return 0.04 * distortion.mean() + 2 * shape + complex_, distortion.mean()


class Batches(torch.utils.data.Dataset):
    """Batch k of the seed; made in another process while the network learns from the one before."""

    def __init__(self, corpus, first, steps):
        self.corpus, self.first, self.steps = corpus, first, steps

    def __len__(self):
        return self.steps - self.first

    def __getitem__(self, i):
        torch.set_num_threads(1)
        return mix.batch(self.corpus, SEED, self.first + i)


def standardise(net, corpus):
    x = []
    for step in range(4):
        bands = bands_of(mix.batch(corpus, SEED + 1, step)[1])
        x.append(net.features(bands, noise_track(bands)).reshape(-1, net.mean.numel()))
    x = torch.cat(x)
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
    for examples in torch.utils.data.DataLoader(Batches(corpus, step, steps), batch_size=None, num_workers=1):
        for group in opt.param_groups:
            group['lr'] = rate_at(step, steps, decay_from)
        loss, distortion = loss_of(net, *examples)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        step += 1
        seen += 1
        sums = [sums[0] + loss.item(), sums[1] + distortion.item()]
        if step % 50 == 0 or step == steps:
            print('step %d loss %.4f distortion %.2f dB, %.0f s, %.0f s of computing' % (
                step, sums[0] / seen, sums[1] / seen, time.time() - began, time.process_time()), flush=True)
            sums, seen = [0.0, 0.0], 0
            torch.save({'net': net.state_dict(), 'opt': opt.state_dict(), 'step': step}, out + '/net.tmp')
            os.replace(out + '/net.tmp', out + '/net.pt')


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else int(sys.argv[3]) * 6 // 10)
