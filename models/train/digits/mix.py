#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Utterances made of the corpus, as features: what the net is trained on.

usage: mix.py CORPUS.npz SENTENCES.npz FOLDER FIRST LAST [SEED]

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
import sentences
from features import HOP, RATE, features

SHARD = 1024
HELD_OUT = ('jackson', 'theo')           # speakers of the digit dataset that are kept for the test
TEST_INDEX = 5                          # the dataset's own rule: recordings 0 to 4 are for tests
SENTENCES, STRINGS, MACHINES, OTHERS = 0.36, 0.07, 0.07, 0.03   # parts of all utterances
FEW_DIGITS = 0.4                        # of the words of a sentence: whether they count is unknown
LONGEST = 17 * 16000                    # samples of a sentence


class Voices:
    """The clips of each training speaker, as spectra of 16 kHz samples."""

    def __init__(self, path, check=False):
        """check: real speakers alone, with the recordings that training leaves out."""
        self.check = check
        self.sentences, self.human_strings, self.machines = [], [], []
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

    def add_sentences(self, path):
        found = sorted_out(path, False)
        self.sentences, self.machines = found['sentences'], found['machines']
        self.human_strings = found['strings']
        return self

    def speaker(self, rng):
        u = rng.random()
        group = self.real if u < 0.68 or self.check else self.prompt if u < 0.74 else self.synth
        return group[sorted(group)[rng.integers(len(group))]]


def digits_in(source, text):
    """(digits, whether they are to be heard just so)"""
    words = text.split()
    digits = [corpus.WORDS.index(w) for w in words if w in corpus.WORDS]
    return digits, not digits or source == 'synth' or len(digits) >= FEW_DIGITS * len(words)


def sorted_out(path, unheard):
    """kind -> [(samples, digits, known, text)] of the speakers that are trained on, or of those
    that are not."""
    clips = sentences.load(path)
    kept, ret = sentences.held_out(clips), {'sentences': [], 'strings': [], 'machines': []}
    for source, speaker, text, x in clips:
        if ((source, speaker) in kept) == unheard and len(x) <= LONGEST:
            digits, known = digits_in(source, text)
            kind = ('machines' if source == 'synth' else
                    'strings' if known and digits else 'sentences')
            if text != '-':
                ret[kind].append((x, digits, known, text))
    return ret


def fast_size(n):
    """The next size that transforms fast."""
    step = 1 << max(0, (n - 1).bit_length() - 5)
    return next(step * k for k in (15, 16, 18, 20, 24, 25, 27, 30, 32) if step * k >= n)


def resampled(x, ratio):
    """int16 at 16 kHz -> float at 8 kHz, played `ratio` times as fast: pitch and tempo together."""
    n = fast_size(len(x))
    m = fast_size(round(0.485 * n / ratio))
    spec = np.fft.rfft(x, n)
    out = np.zeros(m // 2 + 1, complex)
    k = min(len(out), len(spec))
    out[:k] = spec[:k]
    return np.fft.irfft(out, m)[:int(len(x) * m / n)] * (m / n / 32768)


def level(x, rms):
    return x * (rms / (np.sqrt(np.mean(x * x)) + 1e-6))


# ---- noise ----

def coloured(rng, n):
    even = 2 * fast_size((n + 1) // 2)
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
    n = fast_size(len(x) + 4000)
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


def spelt(digits):
    return ' '.join(corpus.WORDS[d] for d in digits)


def string_of_clips(rng, voices):
    """(samples, digits, spans, digits known, text)"""
    u = rng.random()
    if u < 0.38 or voices.check:
        x, digits, spans = strung(rng, voices)
    elif u < 0.7:
        x, digits, spans = run_together(rng, voices)
    else:
        strings = voices.strings if rng.random() < 0.5 else voices.fluent
        digits, x = strings[rng.integers(len(strings))]
        x, spans = whole(rng, x, rng.uniform(0.85, 1.2)), []
    return x, digits, spans, True, spelt(digits)


def sentence(rng, some):
    x, digits, known, text = some[rng.integers(len(some))]
    return whole(rng, x, rng.uniform(0.88, 1.15)), digits, [], known, text


def said(rng, voices):
    """What is said, before room, line and noise."""
    u, at = rng.random(), 0
    for part, some in ((SENTENCES, voices.sentences), (STRINGS, voices.human_strings),
                       (MACHINES, voices.machines)):
        at += part
        if u < at and not voices.check:
            return sentence(rng, some)
    if u < at + OTHERS and not voices.check:
        x = voices.others[rng.integers(len(voices.others))]
        return whole(rng, x, rng.uniform(0.85, 1.2)), [], [], True, '-'
    return string_of_clips(rng, voices)


def utterance(rng, voices):
    """(features, digits, spans in frames, digits known, text); no spans where they are not
    known."""
    x, digits, spans, known, text = said(rng, voices)
    x = np.concatenate([x, np.zeros(int(RATE * rng.uniform(0.0, 0.5)))])
    x = channel(rng, x)
    snr = rng.uniform(35, 60) if rng.random() < 0.25 else rng.uniform(-2, 35)
    x = x + noise(rng, len(x), voices) * np.sqrt(np.mean(x * x)) * 10 ** (-snr / 20)
    x = np.clip(level(x, 10 ** (rng.uniform(-48, -14) / 20)), -1, 1)
    f, tempo = features(x), rng.uniform(0.8, 1.35 if spans or len(digits) > 1 else 1.1)
    return (stretched(f, tempo), digits, [(a / HOP / tempo, b / HOP / tempo) for a, b in spans],
            known, text)


def stretched(f, tempo):
    """Features of the same voice speaking `tempo` times as fast."""
    at = np.arange(int(len(f) / tempo)) * tempo
    low = np.minimum(at.astype(int), len(f) - 2)
    part = (at - low)[:, None].astype(np.float32)
    return f[low] * (1 - part) + f[low + 1] * part


def as_they_are(path):
    """The sentences and strings of speakers that training leaves out, clean."""
    found, made = sorted_out(path, True), []
    for x, digits, known, text in found['sentences'] + found['strings']:
        x = level(resampled(x, 1.0), 0.05)
        made.append((features(np.concatenate([np.zeros(RATE // 5), x])), digits, [], known, text))
    return made


def shard(voices, seed, number):
    rng = np.random.default_rng([seed, number])
    return gathered([utterance(rng, voices) for _ in range(SHARD)])


def gathered(made):
    made.sort(key=lambda u: len(u[0]))
    lengths = [len(u[0]) for u in made]
    digits = [len(u[1]) for u in made]
    return {
        'features': np.concatenate([u[0] for u in made]).astype(np.float16),
        'start': np.cumsum([0] + lengths),
        'labels': np.array([d for u in made for d in u[1]], np.int64),
        'label_start': np.cumsum([0] + digits),
        'spans': np.array([s for u in made for s in (u[2] or [(-1, -1)] * len(u[1]))], np.float32),
        'known': np.array([u[3] for u in made]),
        'text': np.array([u[4] for u in made]),
    }


def write(folder, name, make):
    if os.path.exists(f'{folder}/{name}.npz'):
        return
    begin = time.time()
    made = make()
    arrays.save(f'{folder}/{name}.npz', **made)
    print(f'{name}: {len(made["features"])} frames, {time.time() - begin:.0f} s', flush=True)


def drop_broken(folder):
    for name in sorted(os.listdir(folder)):
        if re.fullmatch(r'(\d+|check)\.npz', name) and not arrays.is_whole(f'{folder}/{name}'):
            print(f'{folder}/{name}: broken; made again', flush=True)
            os.remove(f'{folder}/{name}')


def main(path, said_path, folder, *numbers):
    first, last, seed = [arrays.number(n, __doc__) for n in (*numbers, '1')[:3]]
    if first >= last:
        sys.exit(f'{first} to {last}: no shards\n\n{__doc__}')
    os.makedirs(folder, exist_ok=True)
    drop_broken(folder)
    if first == 0:
        write(folder, 'check', lambda: shard(Voices(path, check=True), seed, 1 << 20))
        write(folder, 'unheard', lambda: gathered(as_they_are(said_path)))
    voices = Voices(path).add_sentences(said_path)
    for number in range(first, last):
        write(folder, f'{number:04d}', lambda n=number: shard(voices, seed, n))


if __name__ == '__main__':
    if len(sys.argv) not in (6, 7):
        sys.exit(__doc__)
    main(*sys.argv[1:])
