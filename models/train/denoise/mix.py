# SPDX-License-Identifier: MIT
"""Batches of clean and noisy spectra."""
import os
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from recordings import RATE, bank_load                               # noqa: E402
import noise                                                         # noqa: E402
import single                                                        # noqa: E402
from net import QUIET, SETTLED, bands_of, noise_track, spectrum                      # noqa: E402

# For evaluation only.
HELD_NOISE = ('amb_port', 'river_med', 'tavern', 'windstorm_11', 'mine_metal_1')
NO_SPEECH = '/tt-monkeys.'        # screams, among what each voice says; in training they are speech
SOURCES = ('texture', 'ambience', 'recorded', 'events', 'made', 'babble', 'music')
LATE = 2250                     # the step from which more comes and goes, and noise is louder
SHARES = ((0.25, 0.18, 0.22, 0.10, 0.08, 0.12, 0.05),
          (0.15, 0.12, 0.36, 0.16, 0.07, 0.09, 0.05))
INSIDE = 3201                   # the step from which six in ten begin inside a word
MILD = 14900                    # the step from which more has little noise, and words end soon
BREATH = 19900                  # the step from which some are breathed at a quiet microphone:
BREATHED = (8, 20)              # each so many-th, from so many dB on
SINGLE = 23014                  # the step from which some noises are single loud sounds, and some of what is
SINGLES = 4                     # heard is digital silence: each so many-th
SNR_DB = (4, 2)                 # mean, early and late
MANY = 0.65                     # of the speech is by speakers with a few sentences each
HELD_EACH = 12                  # each so many-th of them, and of recorded noises, is kept out


# What Corpus reads of its folder, each with .npz behind.
BANKS = tuple('speech_' + lang for lang in ('en', 'es', 'fr', 'it', 'ru')) + \
    ('voices', 'speakers', 'ambience', 'events', 'music', 'recorded', 'rooms')


def is_held(name):
    return any(h in name for h in HELD_NOISE)


class Corpus:
    """The recordings; keeps those for training apart from those for evaluation."""

    def __init__(self, folder):
        load = lambda kind: bank_load(f'{folder}/{kind}.npz')
        self.voices = [[a for _, a in load(f'speech_{lang}')] for lang in ('en', 'es', 'fr', 'it')]
        self.voices.append([a for _, a in load('voices')])
        self.speakers, self.held_speakers = self.by_speaker(load('speakers'))
        self.held_voice = [a for name, a in load('speech_ru') if NO_SPEECH not in name]
        kinds = {k: load(k) for k in ('ambience', 'events', 'music')}
        self.noise = {k: [a for name, a in v if not is_held(name)] for k, v in kinds.items()}
        self.held_noise = [(name, a) for v in kinds.values() for name, a in v if is_held(name)]
        recorded = load('recorded')
        self.noise['recorded'] = [a for i, (_, a) in enumerate(recorded) if i % HELD_EACH]
        self.held_recorded = recorded[::HELD_EACH]
        self.rooms = [response(a) for _, a in load('rooms')]
        self.singles = [a for a in self.noise['events'] if len(a) < 1.5 * RATE]
        self.singles += [one for a in self.noise['recorded'] for one in single.alone(a)]
        rng = np.random.default_rng(99)
        self.made = [noise.made(rng, 4 * RATE) for _ in range(240)]

    @staticmethod
    def by_speaker(items):
        """Recordings of each speaker, of those for training and of those for evaluation."""
        found = {}
        for name, a in items:
            found.setdefault(name.rsplit('/', 1)[0], []).append(a)
        found = [found[name] for name in sorted(found)]
        return [v for i, v in enumerate(found) if i % HELD_EACH], found[::HELD_EACH]

    def voice(self, rng):
        voices = self.speakers if rng.random() < MANY else self.voices
        return voices[rng.integers(len(voices))]

    def room(self, rng, y, late):
        """In a room that was measured, or in one that is made: late as noise.room has it."""
        if rng.random() < 0.5:
            return noise.room(rng, y, late)
        return noise.convolve(y, self.rooms[rng.integers(len(self.rooms))])


def response(a):
    """Of a room, from its direct sound on, which is 1; at most a second of it."""
    a = a.astype(np.float64)
    a = a[int(np.argmax(np.abs(a))):][:RATE]
    return a / a[0]


def piece(rng, a, n, speed=1.0):
    """n samples of a recording from a random place at a speed, repeated where it is too short."""
    m = int(n * speed) + 2
    if len(a) < m:
        a = np.tile(a, m // len(a) + 1)
    at = rng.integers(len(a) - m + 1)
    a = a[at:at + m].astype(np.float32)
    if speed == 1.0:
        return a[:n]
    return np.interp(np.arange(n) * speed, np.arange(m), a).astype(np.float32)


def begun(rng, a, mild):
    """What is left of a recording that has begun before: of some, when mild, the end of the last
    word."""
    if not mild or rng.random() < 0.7:
        return a[int(rng.uniform(0, 0.8) * len(a)):]
    loud = np.flatnonzero(np.abs(a) > 0.1 * np.abs(a).max())
    return a[max(0, (loud[-1] if len(loud) else 0) - int(rng.uniform(0.02, 0.5) * RATE)):]


def utterances(rng, voice, n, speed=1.0, rest=1.0, lead=0.6, inside=False, mild=False):
    """Recordings of one voice with pauses between, each at the same loudness; inside: the first
    has begun before."""
    m = int(n * speed) + 2
    y = np.zeros(m, np.float32)
    at = 0 if inside else int(rng.uniform(0, lead) * RATE)
    while at < m:
        a = voice[rng.integers(len(voice))].astype(np.float32)
        loud = np.sqrt(np.mean(a * a)) + 50
        if inside:
            a, inside = begun(rng, a, mild), False
        k = min(len(a), m - at)
        y[at:at + k] = a[:k] / loud
        at += k + int(rng.uniform(0.02, rest) * RATE)
    if speed == 1.0:
        return y[:n]
    return np.interp(np.arange(n) * speed, np.arange(m), y).astype(np.float32)


def babble(rng, corpus, n):
    y = np.zeros(n, np.float32)
    for _ in range(rng.integers(2, 10)):
        one = utterances(rng, corpus.voice(rng), n, rng.uniform(0.8, 1.25), 0.4, 0.2)
        y += one * rng.lognormal(0, 0.5)
    return corpus.room(rng, y, rng.uniform(0.2, 2)) if rng.random() < 0.7 else y


def events(rng, corpus, n):
    bank = corpus.noise['events']
    kinds = [bank[rng.integers(len(bank))] for _ in range(rng.integers(1, 5))]
    y = rng.standard_normal(n).astype(np.float32) * 10 ** rng.uniform(-3, -1)
    for _ in range(rng.integers(2, 16)):
        a = kinds[rng.integers(len(kinds))]
        if len(a) > 200:
            a = piece(rng, a, int(len(a) / 1.3), rng.uniform(0.7, 1.3))
        a = a.astype(np.float32)
        at = rng.integers(n)
        a = a[:n - at]
        y[at:at + len(a)] += a / (np.abs(a).max() + 30) * rng.lognormal(0, 0.5)
    return y


def source(rng, corpus, kind, n):
    if kind == 'texture':
        return rng.standard_normal(n).astype(np.float32)
    if kind == 'babble':
        return babble(rng, corpus, n)
    if kind == 'events':
        return events(rng, corpus, n)
    if kind == 'single':
        return single.singles(rng, corpus.singles, n, corpus.room)
    bank = corpus.made if kind == 'made' else corpus.noise[kind]
    y = piece(rng, bank[rng.integers(len(bank))], n, rng.uniform(0.65, 1.4))
    return corpus.room(rng, y, rng.uniform(0.2, 2)) if rng.random() < 0.15 else y


def blast(rng, n):
    """Breath that a plosive or a fricative blows at a microphone: most of it below 120 Hz. Beside
    speech of level 1."""
    f = np.fft.rfftfreq(4096, 1 / RATE) + 1
    y = 0
    for shape, low_db, high_db in (
            (1 / (1 + (f / rng.uniform(25, 120)) ** rng.uniform(2, 5)), -6, 10),
            (f ** -rng.uniform(-0.3, 1.0) / (1 + (rng.uniform(60, 2500) / f) ** 4), -16, 3)):
        spec = shape * (rng.standard_normal(len(f)) + 1j * rng.standard_normal(len(f)))
        y = y + noise.unit(np.fft.irfft(spec)[:n]) * 10 ** (rng.uniform(low_db, high_db) / 20)
    t = np.arange(n) / n
    return y * np.minimum(1, t / rng.uniform(0.02, 0.5)) * (1 - t) ** rng.uniform(0.3, 1.5)


def rumble(rng, n):
    """What a hand or a table does to a microphone, 10 to 30 dB below speech of level 1."""
    f = np.fft.rfftfreq(n, 1 / RATE)
    spec = rng.standard_normal(len(f)) / (1 + (f / rng.uniform(10, 100)) ** 4)
    return noise.unit(np.fft.irfft(spec, n)) * 10 ** rng.uniform(-1.5, -0.5)


def breathed(rng, y):
    """Speech close to a microphone: a pause, its first sound with a blast, and blasts where it goes
    on after others."""
    n = len(y)
    loud = np.flatnonzero(np.abs(y) > 0.1 * np.abs(y).max())
    pause = int(rng.uniform(0.1, 0.4) * RATE)
    y = np.concatenate([np.zeros(pause), y[max(0, loud[0] - RATE // 20):], np.zeros(n)])[:n]
    loud = np.flatnonzero(np.abs(y) > 0.1 * np.abs(y).max())
    again = loud[1:][np.diff(loud) > 0.06 * RATE]
    for begin in [loud[0]] + [at for at in again if rng.random() < 0.4]:
        k = int(rng.uniform(0.02, 0.14) * RATE)
        at = max(0, begin + int(rng.uniform(0, 0.3) * k) - k)
        y[at:at + k] += blast(rng, k)[:n - at]
    return (y + rumble(rng, n) * (rng.random() < 0.3)).astype(np.float32)


def speech(rng, corpus, n, inside, mild, breath=False):
    if breath:
        inside = 0
    y = utterances(rng, corpus.voice(rng), n, rng.uniform(0.82, 1.22), rng.choice([0.3, 1.2]),
                   inside=inside > 0 and rng.random() < inside, mild=mild)
    if breath:
        return breathed(rng, y)
    return corpus.room(rng, y, rng.uniform(0.05, 0.7)) if rng.random() < 0.4 else y


def power(x):
    return (x.real ** 2 + x.imag ** 2).mean((1, 2), keepdim=True) + 1e-12


def noise_spectra(rng, gen, corpus, count, n, shares, singles=0):
    """Complex [count, T, 257] of power 1: one to three sources, each with its own colour, some of
    them textures; the first source of the last `singles` is single sounds."""
    total = 0
    kinds = rng.choice(len(SOURCES), (count, 3), p=shares)
    used = rng.random((count, 3)) < (1, 0.45, 0.15)
    lone = np.arange(count) >= count - singles
    for slot in range(3):
        rows = np.flatnonzero(used[:, slot])
        if not len(rows):
            continue
        wave = np.stack([source(rng, corpus, 'single' if lone[i] and not slot else
                                SOURCES[kinds[i, slot]], n) for i in rows])
        spec = spectrum(torch.from_numpy(wave))
        colour = torch.exp(0.115129 * noise.curves(gen, len(rows), 4.0, (-4.0, 3.0)))
        colour = colour[:, None] @ noise.SPREAD
        is_texture = np.flatnonzero((kinds[rows, slot] == 0) & ~(lone[rows] & (slot == 0)))
        gain = colour.expand(-1, spec.shape[1], -1).clone()
        if len(is_texture):
            gain[is_texture] = noise.texture(gen, len(is_texture), spec.shape[1])
        spec = spec * gain
        spec = spec / power(spec).sqrt()
        if slot > 0:
            level = torch.empty(len(rows), 1, 1).uniform_(-0.6, 0.3, generator=gen)
            spec = spec * 10 ** (level - column(lone[rows]))
        whole = torch.zeros((count,) + spec.shape[1:], dtype=spec.dtype)
        whole[rows] = spec
        total = total + whole
    return total / power(total).sqrt()


def band_limit(rng, gain):
    """Some microphones and codecs: nothing above or below a frequency. gain: [257], in place."""
    f = torch.arange(257) * 31.25
    if rng.random() < 0.12:
        gain *= 1 / (1 + (f / rng.uniform(3000, 7500)) ** 24)
    if rng.random() < 0.25:
        gain *= 1 - 1 / (1 + (f / rng.uniform(50, 300)) ** 4)


def sources(corpus, seed, k, count, n, shares, inside, mild, breath, singles=0):
    """Speech and noise of power 1, complex [count, T, 257] each; speech of the first `breath` with
    blasts."""
    rng = np.random.default_rng((seed, k))
    gen = torch.Generator().manual_seed(seed * 1000003 + k)
    waves = [speech(rng, corpus, n, inside, mild, i < breath) for i in range(count)]
    s = spectrum(torch.from_numpy(np.stack(waves)))
    colour = torch.exp(0.115129 * noise.curves(gen, count, 2.5, (-2.0, 2.0)))
    s = s * (colour[:, None] @ noise.SPREAD)
    v = noise_spectra(rng, gen, corpus, count, n, shares, singles)
    return s / power(s).sqrt(), v


def column(x):
    return torch.from_numpy(np.asarray(x)).float()[:, None, None]


def gates(rng, count, frames):
    """[count, T, 1]: 0 where an example is digital silence, of some the beginning, of some a gap."""
    gate = torch.ones(count, frames, 1)
    fate, begin = rng.random(count), rng.integers(0, frames, count)
    length = np.exp(rng.uniform(np.log(3), np.log(100), count)).astype(int)
    for i in range(count):
        if fate[i] < 0.2:
            at = 0 if fate[i] < 0.12 else begin[i]
            gate[i, at:at + length[i]] = 0
    return gate


def mixtures(rng, s, v, mean_db, mild, breath, breath_db, lone=None):
    """(clean, noisy) of a level as recordings have; some without noise, some without speech; more with
    little noise when mild, and the first `breath`, from breath_db on. lone: where the noise is single
    sounds, up to 20 dB above speech; then some has digital silence, too."""
    count = len(s)
    fate = rng.random(count)
    fate[:breath] = 0.5
    snr = np.clip(rng.normal(mean_db, 8, count), -10, 35)
    clean = fate < (0.12 if mild else 0.08)
    snr[clean] = rng.uniform(35, 70, int(clean.sum()))
    if mild:
        little = (fate > 0.8) & (fate < 0.9)
        snr[little] = rng.uniform(10, 25, int(little.sum()))
    snr[:breath] = rng.uniform(breath_db, 55, breath)
    noisy = np.ones(count)
    if lone is not None:
        lone = lone & (np.arange(count) >= breath)
        snr[lone] = rng.uniform(-10, 12, int(lone.sum()))
        noisy = ~clean | (rng.random(count) < 0.5)
        gate = gates(rng, count, s.shape[1])
        s, v = s * gate, v * gate
    s = s * column(fate < 0.93)
    x = s + v * column(noisy * 10 ** (-snr / 20))
    level = column(10 ** (rng.uniform(-42, -14, count) / 20)) * 16
    gain = torch.ones(count, 1, 257)
    for i in range(count):
        band_limit(rng, gain[i, 0])
    level = level * gain / power(x).sqrt()
    return s * level, x * level


def example(clean, noisy):
    """What a step of training needs: bands, their tracked noise as graph.nnef has it, and the
    spectra as pairs of numbers."""
    bands = bands_of(noisy)
    noise_power = noise_track(bands, QUIET, SETTLED)
    return bands, noise_power, torch.view_as_real(clean), torch.view_as_real(noisy)


USES = 5        # the same speech and noise meet in so many batches, in other pairs


class Batches(torch.utils.data.Dataset):
    """Batch k of a seed, always the same; in order, each of its sources is made once."""

    def __init__(self, corpus, seed, first, steps, count=32, seconds=3.0, breathed=BREATHED):
        self.corpus, self.seed, self.first, self.steps = corpus, seed, first, steps
        self.count, self.breathed = count, breathed
        self.n = int(seconds * RATE) // 256 * 256
        self.made = (-1, None)

    def __len__(self):
        return self.steps - self.first

    def __getitem__(self, i):
        torch.set_num_threads(1)
        step = self.first + i
        breath = self.count // self.breathed[0] if step >= BREATH else 0
        singles = self.count // SINGLES if step >= SINGLE else 0
        if self.made[0] != step // USES:
            s, v = sources(self.corpus, self.seed, step // USES, self.count, self.n,
                           SHARES[step >= LATE], 0.6 * (step >= INSIDE), step >= MILD, breath,
                           singles)
            self.made = (step // USES, (s, v))
        s, v = self.made[1]
        rng = np.random.default_rng((self.seed, step, 1))
        v = torch.roll(v, 3 * (step % USES), 0)
        lone = np.roll(np.arange(self.count) >= self.count - singles, 3 * (step % USES))
        return example(*mixtures(rng, s, v, SNR_DB[step >= LATE], step >= MILD,
                                 breath, self.breathed[1], lone if singles else None))
