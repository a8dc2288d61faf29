#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Utterances made of the corpus, as features: what the net is trained on.

usage: mix.py CORPUS.npz FOLDER FIRST LAST [SEED]

Writes shards FIRST..LAST-1 to FOLDER/NNNN.npz, each SHARD utterances; with shard 0 also
FOLDER/check.npz, of recordings that training leaves out. A shard depends on the corpus, the seed
and its number alone. What is there is kept, where it is whole. The net sees nothing above 4 kHz,
so that everything here happens at 8 kHz.
"""
import os
import re
import sys
import time

import numpy as np

import corpus
import arrays
from features import HOP, RATE, features

SHARD = 1024
FLUENT_FROM = 64                        # shards from this number on are of digits without pauses
HELD_OUT = ('jackson', 'theo')           # speakers of the digit dataset that are kept for the test
TEST_INDEX = 5                          # the dataset's own rule: recordings 0 to 4 are for tests


class Voices:
    """The clips of each training speaker, as spectra of 16 kHz samples."""

    def __init__(self, path, check=False):
        """check: real speakers alone, with the recordings that training leaves out."""
        self.check = check
        self.real, self.synth, self.prompt = {}, {}, {}
        self.strings, self.fluent, self.others = [], [], []
        for kind, speaker, digits, index, x in corpus.load(path):
            if kind == 'other':
                self.others.append(x)
            elif kind == 'string':
                if not corpus.held_out_synth(speaker):
                    self.strings.append(([int(d) for d in digits], x))
            elif kind == 'fluent':
                self.fluent.append(([int(d) for d in digits], x))
            elif kind == 'fsdd':
                if speaker not in HELD_OUT and (int(index) < TEST_INDEX) == check:
                    self.real.setdefault(speaker, {}).setdefault(int(digits), []).append(x)
            elif kind == 'prompt':
                self.prompt.setdefault(speaker, {}).setdefault(int(digits), []).append(x)
            elif kind == 'synth' and not corpus.held_out_synth(speaker):
                self.synth.setdefault(speaker, {}).setdefault(int(digits), []).append(x)

    def speaker(self, rng):
        u = rng.random()
        group = self.real if u < 0.68 or self.check else self.prompt if u < 0.74 else self.synth
        return group[sorted(group)[rng.integers(len(group))]]


def resampled(x, ratio):
    """int16 at 16 kHz -> float at 8 kHz, played `ratio` times as fast: pitch and tempo together."""
    n = -(-len(x) // 256) * 256
    m = max(2, round(n / 2 / ratio / 8) * 8)
    spec = np.fft.rfft(x, n)
    out = np.zeros(m // 2 + 1, complex)
    k = min(len(out), len(spec))
    out[:k] = spec[:k]
    return np.fft.irfft(out, m)[:int(len(x) * m / n)] * (m / n / 32768)


def level(x, rms):
    return x * (rms / (np.sqrt(np.mean(x * x)) + 1e-6))


# ---- noise ----

def coloured(rng, n):
    even = -(-n // 1024) * 1024             # a length that transforms fast
    spec = np.fft.rfft(rng.standard_normal(even))
    f = np.fft.rfftfreq(even, 1 / RATE)
    gain = np.maximum(f, 30.0) ** -rng.uniform(0.0, 1.0)
    if rng.random() < 0.4:
        peak, width = rng.uniform(100, 3500), rng.uniform(50, 800)
        gain *= 1 + rng.uniform(1, 8) * np.exp(-((f - peak) / width) ** 2)
    return np.fft.irfft(spec * gain, even)[:n]


def hum(rng, n):
    t = np.arange(n) / RATE
    f = rng.uniform(45, 250)
    y = sum(rng.uniform(0.1, 1) / k ** 0.7 * np.sin(2 * np.pi * (f * k * t + rng.random()))
            for k in range(1, 12))
    return level(y, 1.0) + 0.2 * level(coloured(rng, n), 1.0)


def clicks(rng, n):
    y = 0.03 * level(coloured(rng, n), 1.0)
    for _ in range(rng.integers(2, 14)):
        m = min(n, int(rng.integers(40, 600)))
        at = rng.integers(n - m + 1)
        y[at:at + m] += coloured(rng, m) * np.exp(-np.arange(m) / (m / 5)) * rng.uniform(0.3, 3)
    return y


def babble(rng, n, voices):
    y = np.zeros(n)
    for _ in range(rng.integers(3, 7)):
        clip = voices.others[rng.integers(len(voices.others))]
        x = level(resampled(clip, rng.uniform(0.85, 1.2)), 1.0)
        y += np.roll(np.resize(x, n), rng.integers(n))
    return y


def noise(rng, n, voices):
    """n samples of unit power."""
    u = rng.random()
    y = (coloured(rng, n) if u < 0.55 else hum(rng, n) if u < 0.67 else
         clicks(rng, n) if u < 0.78 else babble(rng, n, voices))
    if rng.random() < 0.3:
        knots = rng.uniform(-9, 9, 2 + n // 4000)
        y = y * 10 ** (np.interp(np.arange(n), np.linspace(0, n, len(knots)), knots) / 20)
    return level(y, 1.0)


# ---- room and channel ----

def channel(rng, x):
    """A microphone, a room, a line."""
    n = -(-(len(x) + 4000) // 1024) * 1024
    f = np.fft.rfftfreq(n, 1 / RATE)
    gain = np.ones(len(f), complex)
    if rng.random() < 0.7:
        at = np.array([0, 150, 400, 900, 1700, 2700, 4000])
        gain *= 10 ** (np.interp(f, at, rng.uniform(-7, 7, len(at))) / 20)
    if rng.random() < 0.5:
        gain *= 1 / np.sqrt(1 + (rng.uniform(50, 350) / np.maximum(f, 1.0)) ** 4)
    if rng.random() < 0.5:
        gain *= 1 / np.sqrt(1 + (f / rng.uniform(2800, 4000)) ** 8)
    if rng.random() < 0.4:
        m = int(RATE * rng.uniform(0.05, 0.4))
        tail = rng.standard_normal(m) * np.exp(-6.9 * np.arange(m) / m)
        tail *= rng.uniform(0.1, 0.9) / np.sqrt(np.sum(tail * tail))
        tail[0] = 1
        gain *= np.fft.rfft(tail, n)
    return np.fft.irfft(np.fft.rfft(x, n) * gain, n)[:len(x)]


# ---- utterances ----

def silence(rng):
    return int(RATE * (rng.uniform(-0.03, 0.3) if rng.random() < 0.8 else rng.uniform(0.3, 1.0)))


def strung(rng, voices):
    """Digits of one speaker one after the other, and where each lies."""
    speaker, ratio = voices.speaker(rng), rng.uniform(0.78, 1.25)
    clips, labels, spans, at = [], [], [], int(RATE * rng.uniform(0.0, 0.5))
    for _ in range(rng.integers(1, 8)):
        digit = int(rng.integers(10))
        takes = speaker[digit]
        x = resampled(takes[rng.integers(len(takes))], ratio * rng.uniform(0.95, 1.05))
        clips.append((at, level(x, 0.1 * 10 ** (rng.uniform(-4, 4) / 20))))
        labels.append(digit)
        spans.append((at, at + len(x)))
        at = max(at + len(x) + silence(rng), 0)
    y = np.zeros(max(at, spans[-1][1]))
    for start, x in clips:
        y[start:start + len(x)] += x
    return y, labels, spans


def run_together(rng, voices):
    """The same without pauses: clips lose their quiet ends and overlap a little."""
    speaker, ratio = voices.speaker(rng), rng.uniform(0.78, 1.25)
    pause = rng.uniform(-0.06, 0.08)
    labels, spans, at, y = [], [], int(RATE * rng.uniform(0.0, 0.5)), np.zeros(RATE * 12)
    for _ in range(rng.integers(2, 8)):
        digit = int(rng.integers(10))
        takes = speaker[digit]
        x = corpus.trim(takes[rng.integers(len(takes))], 0)
        x = resampled(x, ratio * rng.uniform(0.95, 1.1))
        x = level(x, 0.1 * 10 ** (rng.uniform(-3, 3) / 20))
        edge = min(len(x) // 4, 160)
        x[:edge] *= np.linspace(0, 1, edge)
        x[-edge:] *= np.linspace(1, 0, edge)
        y[at:at + len(x)] += x
        labels.append(digit)
        spans.append((at, at + len(x)))
        at = max(at + len(x) // 2, at + len(x) + int(RATE * (pause + rng.uniform(-0.03, 0.03))))
    return y[:max(at, spans[-1][1])], labels, spans


def whole(rng, clips, ratio):
    """One clip as it is, with silence around it."""
    y = level(resampled(clips, ratio), 0.1)
    return np.concatenate([np.zeros(int(RATE * rng.uniform(0, 0.5))), y])


def utterance(rng, voices, fluent=False):
    """(features, digits, spans in frames); no spans where they are not known."""
    u = 0 if voices.check else rng.random()
    labels, spans = [], []
    strings = voices.strings + voices.fluent if fluent else voices.strings
    if u < (0.52 if fluent else 0.74):
        x, labels, spans = run_together(rng, voices) if fluent and u < 0.4 else strung(rng, voices)
    elif u < (0.95 if fluent else 0.92):
        labels, x = strings[rng.integers(len(strings))]
        x = whole(rng, x, rng.uniform(0.85, 1.2))
    else:
        x = whole(rng, voices.others[rng.integers(len(voices.others))], rng.uniform(0.85, 1.2))
    x = np.concatenate([x, np.zeros(int(RATE * rng.uniform(0.0, 0.5)))])
    x = channel(rng, x)
    snr = rng.uniform(35, 60) if rng.random() < 0.25 else rng.uniform(-2, 35)
    x = x + noise(rng, len(x), voices) * np.sqrt(np.mean(x * x)) * 10 ** (-snr / 20)
    x = np.clip(level(x, 10 ** (rng.uniform(-48, -14) / 20)), -1, 1)
    f, tempo = features(x), rng.uniform(0.8, 1.4 if fluent else 1.25)
    return stretched(f, tempo), labels, [(a / HOP / tempo, b / HOP / tempo) for a, b in spans]


def stretched(f, tempo):
    """Features of the same voice speaking `tempo` times as fast."""
    at = np.arange(int(len(f) / tempo)) * tempo
    low = np.minimum(at.astype(int), len(f) - 2)
    part = (at - low)[:, None].astype(np.float32)
    return f[low] * (1 - part) + f[low + 1] * part


def shard(voices, seed, number):
    rng = np.random.default_rng([seed, number])
    made = [utterance(rng, voices, FLUENT_FROM <= number < 1 << 20) for _ in range(SHARD)]
    made.sort(key=lambda u: len(u[0]))
    lengths = [len(f) for f, _, _ in made]
    digits = [len(d) for _, d, _ in made]
    return {
        'features': np.concatenate([f for f, _, _ in made]).astype(np.float16),
        'start': np.cumsum([0] + lengths),
        'labels': np.array([d for _, l, _ in made for d in l], np.int64),
        'label_start': np.cumsum([0] + digits),
        'spans': np.array([s for _, l, spans in made for s in (spans or [(-1, -1)] * len(l))],
                          np.float32),
    }


def write(folder, name, voices, seed, number):
    if os.path.exists(f'{folder}/{name}.npz'):
        return
    begin = time.time()
    made = shard(voices, seed, number)
    arrays.save(f'{folder}/{name}.npz', **made)
    print(f'{name}: {len(made["features"])} frames, {time.time() - begin:.0f} s', flush=True)


def drop_broken(folder):
    for name in sorted(os.listdir(folder)):
        if re.fullmatch(r'(\d+|check)\.npz', name) and not arrays.is_whole(f'{folder}/{name}'):
            print(f'{folder}/{name}: broken; made again', flush=True)
            os.remove(f'{folder}/{name}')


def main(path, folder, *numbers):
    first, last, seed = [arrays.number(n, __doc__) for n in (*numbers, '1')[:3]]
    if first >= last:
        sys.exit(f'{first} to {last}: no shards\n\n{__doc__}')
    os.makedirs(folder, exist_ok=True)
    drop_broken(folder)
    voices = Voices(path)
    for number in range(first, last):
        write(folder, f'{number:04d}', voices, seed, number)
    if first == 0:
        write(folder, 'check', Voices(path, check=True), seed, 1 << 20)


if __name__ == '__main__':
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    main(*sys.argv[1:])
