#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trains rill-digits on the shards that mix.py writes.

usage: train.py SHARDS OUT STEPS [SEED [START.onnx [DEVICE]]]

Reads SHARDS/NNNN.npz as they appear and waits for them, so that mix.py may still be at work. Every
SAVE steps it writes OUT/net.pt, the moving average of the weights, which is what is exported, and
OUT/last.pt, from which it goes on if that exists. START: what an earlier net learnt is where this
one begins ('-': nowhere). DEVICE: torch's name of it, cpu if it is not given.
"""
import copy
import os
import sys
import time

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import arrays                                                        # noqa: E402
import grow
from net import CLASSES, STRIDE, Digits, distance, frames_of, greedy
from vocabulary import LETTERS, WORDS

BATCH, MOST_FRAMES = 32, 32000          # utterances; frames of features, with the padding
HEADS = (('digits', 1.0), ('words', 0.1), ('letters', 0.2))     # weights of the losses
SWEEPS = (4, 10, 16, 20)                # shards that a sweep takes: few at first, to wait less
LEAST_SAID = 3                          # a loss is of a word, or of this part where less is said
NOTHING, AS_SPOKEN = 0.5, 2.0           # weights of what has no digits, and of strings spoken as such
RATE_MOST, WARM = 1.5e-3, 200           # steps up to the rate
DECAY = 0.25                            # part of the steps at the end in which it falls
ALIGNED = 1000                          # steps at the start with known places of the digits
AVERAGE = 0.998
SAVE, REPORT = 500, 50


class Shard:
    def __init__(self, path):
        (self.features, self.start, self.labels, self.label_start, self.spans, known,
         text) = arrays.load(path, 'features', 'start', 'labels', 'label_start', 'spans', 'known',
                             'text')
        self.text = [str(t) for t in text]
        # What each head is to say of each utterance; nothing where nobody knows.
        self.targets = {
            'digits': [[int(d) + 1 for d in self.digits(i)] if k else None
                       for i, k in enumerate(known)],
            'words': [[WORDS.index(w) + 1 for w in t.split() if w in WORDS] if t != '-' else None
                      for t in self.text],
            'letters': [[LETTERS.index(c) + 1 for c in t] if t != '-' else None
                        for t in self.text]}

    def digits(self, i):
        return self.labels[self.label_start[i]:self.label_start[i + 1]]

    def batches(self, rng):
        """Utterances of about one length go together."""
        lengths = np.diff(self.start)
        parts, part = [], []
        for i in np.argsort(lengths * rng.uniform(0.95, 1.05, len(lengths))):
            if len(part) == BATCH or (len(part) + 1) * lengths[i] > MOST_FRAMES:
                parts.append(np.array(part))
                part = []
            part.append(i)
        parts.append(np.array(part))
        return [parts[i] for i in rng.permutation(len(parts))]


def augmented(f, rng):
    """One utterance with another gain, tilt and width of voice, without some bands and moments."""
    f = f + rng.uniform(-1.0, 1.0) + np.linspace(-1, 1, f.shape[1]) * rng.uniform(-0.7, 0.7)
    if rng.random() < 0.6:
        at = np.arange(f.shape[1]) * rng.uniform(0.96, 1.04) + rng.uniform(-0.5, 0.5)
        at = np.clip(at, 0, f.shape[1] - 1.001)
        low = at.astype(int)
        f = f[:, low] * (1 - (at - low)) + f[:, low + 1] * (at - low)
    if rng.random() < 0.5:
        k = rng.integers(1, 7)
        at = rng.integers(f.shape[1] - k)
        f[:, at:at + k] = f.mean()
    for _ in range(rng.integers(0, 3)):
        k = rng.integers(1, 9)
        at = rng.integers(max(1, len(f) - k))
        f[at:at + k] = f.min(0)
    return f


def batch(shard, index, rng):
    starts, lengths = shard.start[index], np.diff(shard.start)[index]
    shift = rng.integers(0, STRIDE, len(index))             # where the strides fall is chance
    x = np.zeros((len(index), lengths.max(), shard.features.shape[1]), np.float32)
    for i, (a, n, s) in enumerate(zip(starts, lengths, shift)):
        f = augmented(shard.features[a + s:a + n].astype(np.float32), rng)
        x[i, :n - s] = f
        x[i, n - s:] = f[-1]
    targets = {name: [of[i] for i in index] for name, of in shard.targets.items()}
    labels = [shard.digits(i) for i in index]
    spans = [shard.spans[shard.label_start[i]:shard.label_start[i + 1]] for i in index]
    return x, lengths - shift, targets, labels, spans


def aligned_loss(logp, labels, spans):
    """Cross entropy with each digit in the last part of its span; without spans, nothing."""
    target = torch.zeros(logp.shape[:2], dtype=torch.long, device=logp.device)
    for i, (digits, places) in enumerate(zip(labels, spans)):
        for d, (a, b) in zip(digits, places):
            if a < 0:
                target[:, i] = -100
                break
            target[int((a + 0.6 * (b - a)) / STRIDE):int(b / STRIDE) + 2, i] = int(d) + 1
    weight = torch.tensor([0.25] + [1.0] * (CLASSES - 1), device=logp.device)
    return torch.nn.functional.nll_loss(logp.reshape(-1, CLASSES), target.reshape(-1), weight,
                                        ignore_index=-100)


def digit_weights(labels, spans):
    """Few of the strings were spoken by people as such, and much is other speech."""
    return [NOTHING if not len(d) else AS_SPOKEN if places[0][0] < 0 else 1.0
            for d, places in zip(labels, spans)]


def head_loss(logp, targets, frames, weights=None):
    """CTC over the utterances of which it is known what is to be said."""
    rows = [i for i, t in enumerate(targets) if t is not None]
    if not rows:
        return 0.0
    said = [targets[i] for i in rows]
    lengths = torch.tensor([len(t) for t in said])
    loss = torch.nn.functional.ctc_loss(
        logp[:, rows], torch.tensor([c for t in said for c in t], dtype=torch.long).to(logp.device),
        torch.from_numpy(frames[rows]), lengths, reduction='none', zero_infinity=True)
    if weights:
        loss = loss * torch.tensor([weights[i] for i in rows], device=loss.device)
    return (loss / lengths.clamp(min=LEAST_SAID).to(loss.device)).mean()


def loss_of(net, x, lengths, targets, labels, spans, aligned):
    """The loss of each head."""
    logp, frames = net.heads(torch.from_numpy(x).to(net.mean.device)), frames_of(lengths)
    weights = {'digits': digit_weights(labels, spans)}
    losses = {name: head_loss(logp[name], targets[name], frames, weights.get(name))
              for name, _ in HEADS}
    if aligned > 0:
        losses['digits'] = losses['digits'] + aligned * aligned_loss(logp['digits'], labels, spans)
    return losses


def shard_path(folder, number):
    return f'{folder}/{number:04d}.npz'


def awaited(path):
    """The shard, once mix.py has made it."""
    if not os.path.exists(path):
        print(f'waiting for mix.py to make {path}', flush=True)
    while not os.path.exists(path):
        time.sleep(2)
    return Shard(path)


def feed(folder, seed):
    """(shard, utterances) without end; the order depends on the seed alone."""
    kept, sweep = {}, 0
    while True:
        rng = np.random.default_rng([seed, 1000 + sweep])
        for number in rng.permutation(SWEEPS[min(sweep, len(SWEEPS) - 1)]):
            if number not in kept:
                kept[number] = awaited(shard_path(folder, number))
            for index in kept[number].batches(rng):
                yield kept[number], index
        sweep += 1


def best_classes(net, shard):
    """(utterance, head -> best class of each frame) of a shard as it is."""
    for index in shard.batches(np.random.default_rng(1)):
        n = np.diff(shard.start)[index]
        x = np.zeros((len(index), n.max(), shard.features.shape[1]), np.float32)
        for i, a in enumerate(shard.start[index]):
            x[i, :n[i]] = shard.features[a:a + n[i]]
        with torch.no_grad():
            logp = net.heads(torch.from_numpy(x).to(net.mean.device))
        best = {name: p.argmax(-1).cpu().numpy() for name, p in logp.items()}
        for i, u in enumerate(index):
            yield u, {name: b[:frames_of(n[i]), i] for name, b in best.items()}


def percent(pairs):
    """Edits in per cent of what is wanted."""
    return 100 * sum(distance(a, b) for a, b in pairs) / max(1, sum(len(a) for a, _ in pairs))


def measured(net, shard):
    """What is wrong in a shard, head by head."""
    net.eval()
    digits, words, text, letters, false, minutes = [], [], [], [], 0, 0.0
    for u, best in best_classes(net, shard):
        heard = greedy(best['digits'])
        want = shard.targets['digits'][u]
        if want:
            digits.append(([c - 1 for c in want], heard))
        elif want is not None:
            false += len(heard)
            minutes += len(best['digits']) * STRIDE / 6000
        if shard.text[u] != '-':
            said = ''.join(LETTERS[c] for c in greedy(best['letters']))
            letters.append((shard.text[u], said))
            text.append((shard.text[u].split(), said.split()))
            words.append((shard.targets['words'][u], [c + 1 for c in greedy(best['words'])]))
    net.train()
    return {'digits': percent(digits), 'false a minute': false / max(minutes, 1e-9),
            'letters': percent(letters), 'text': percent(text), 'words': percent(words)}


def rate_at(step, steps):
    fall = (steps - step) / (DECAY * steps)
    return RATE_MOST * min(1.0, step / WARM, 0.01 + 0.99 * fall)


class Training:
    def __init__(self, folder, out, steps, seed, start=None, device='cpu'):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.folder, self.out, self.steps, self.seed, self.step = folder, out, steps, seed, 0
        self.net = Digits(dropout=0.1)
        self.started = start not in (None, '-')
        if self.started:
            grow.opened(self.net, start)
        self.net.to(device)
        self.average = copy.deepcopy(self.net)
        self.optimiser = torch.optim.AdamW(self.net.parameters(), RATE_MOST, weight_decay=0.01)
        self.feed = feed(folder, seed)

    def scale(self, shard):
        f = shard.features[:200000].astype(np.float32)
        for net in (self.net, self.average):
            net.mean.copy_(torch.from_numpy(f.mean(0)))
            net.scale.copy_(torch.from_numpy(1 / f.std(0)))

    def save(self):
        state = {'step': self.step, 'net': self.net.state_dict(),
                 'average': self.average.state_dict(),
                 'optimiser': self.optimiser.state_dict()}
        for name, what in (('net', self.average.state_dict()), ('last', state)):
            torch.save(what, f'{self.out}/part.pt')
            os.replace(f'{self.out}/part.pt', f'{self.out}/{name}.pt')

    def resume(self):
        if not os.path.exists(f'{self.out}/last.pt'):
            return
        state = torch.load(f'{self.out}/last.pt', map_location=self.net.mean.device)
        self.net.load_state_dict(state['net'])
        self.average.load_state_dict(state['average'])
        self.optimiser.load_state_dict(state['optimiser'])
        for _ in range(state['step']):
            next(self.feed)
        self.step = state['step']

    def advance(self):
        shard, index = next(self.feed)
        if self.step == 0 and not self.started:
            self.scale(shard)
        self.step += 1
        rng = np.random.default_rng([self.seed, 7, self.step])
        torch.manual_seed(self.seed * 1000003 + self.step)
        for group in self.optimiser.param_groups:
            group['lr'] = rate_at(self.step, self.steps)
        aligned = 0.0 if self.started else max(0.0, 1 - self.step / ALIGNED)
        losses = loss_of(self.net, *batch(shard, index, rng), aligned)
        loss = sum(weight * losses[name] for name, weight in HEADS)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimiser.step()
        keep = min(AVERAGE, self.step / (self.step + 10))
        with torch.no_grad():
            for a, p in zip(self.average.parameters(), self.net.parameters()):
                a.lerp_(p, 1 - keep)
        return [float(losses[name]) for name, _ in HEADS]

    def run(self):
        begin, loss = time.time(), []
        if self.step == 0 and self.started:
            self.report_all()
        while self.step < self.steps:
            loss.append(self.advance())
            if self.step % REPORT == 0:
                print(f'step {self.step} losses {np.mean(loss, 0).round(3)} '
                      f'{time.time() - begin:.0f} s', flush=True)
                loss = []
            if self.step % SAVE == 0 or self.step == self.steps:
                self.save()
                self.report_all()

    def report_all(self):
        for name in ('check', 'unheard'):
            self.report(name)

    def report(self, name):
        if os.path.exists(f'{self.folder}/{name}.npz'):
            wrong = measured(self.average, Shard(f'{self.folder}/{name}.npz'))
            print(f'step {self.step} {name}: ' +
                  ', '.join(f'{what} {n:.2f}' for what, n in wrong.items()), flush=True)


def main(folder, out, steps, seed='1', start=None, device='cpu'):
    steps, seed = [arrays.number(n, __doc__) for n in (steps, seed)]
    os.makedirs(out, exist_ok=True)
    training = Training(folder, out, steps, seed, start, device)
    print(f'{sum(p.numel() for p in training.net.parameters())} parameters', flush=True)
    training.resume()
    training.run()


if __name__ == '__main__':
    if not 4 <= len(sys.argv) <= 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
