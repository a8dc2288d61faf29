# SPDX-License-Identifier: MIT
"""Single loud sounds: computed ones (sneezes, coughs, throats, claps, doors, ticks), and what stands alone in
recordings."""
import numpy as np

import noise
from noise import RATE, unit

# Of each part of a sound: seconds; which share of it is voiced; pitch in Hz; its resonances, from which
# frequency to which, and how sharp; attack in seconds; how fast it fades (power of what is left of its
# time); level in dB. Of each sound: its parts, how often it comes at most, and seconds from one to the next.
BREATH_IN = ((0.08, 0.45), (0, 0.6), (90, 500), (300, 4000), (1, 6), (0.03, 0.3), (0, 0.5), (-30, -8))
OUT = ((0.04, 0.35), (0, 0.7), (90, 700), (250, 6500), (0.7, 6), (0.002, 0.05), (0.3, 3), (-3, 3))
TAIL = ((0.04, 0.40), (0, 1), (90, 600), (250, 5000), (1, 8), (0.005, 0.06), (0.5, 3), (-18, 0))
COUGH = ((0.02, 0.10), (0, 0.3), (80, 400), (200, 4000), (0.7, 5), (0.001, 0.015), (0.5, 3), (-4, 4))
BODY = ((0.06, 0.35), (0, 0.9), (80, 450), (250, 3500), (1, 7), (0.003, 0.04), (0.7, 4), (-14, 2))
THROAT = ((0.15, 0.70), (0.4, 1), (35, 140), (200, 3000), (1, 7), (0.01, 0.1), (0.3, 2), (-3, 3))
CLAP = ((0.01, 0.08), (0, 0), (80, 81), (500, 4000), (0.7, 8), (0.0005, 0.003), (2, 12), (-3, 3))
THUMP = ((0.05, 0.50), (0, 0), (80, 81), (35, 500), (1, 15), (0.0005, 0.01), (2, 12), (-3, 6))
CLACK = ((0.01, 0.15), (0, 0), (80, 81), (500, 6000), (1, 20), (0.0005, 0.003), (2, 12), (-12, 3))
TICK = ((0.003, 0.06), (0, 0), (80, 81), (1200, 7000), (3, 60), (0.0002, 0.002), (3, 15), (-3, 3))
KINDS = (((BREATH_IN, OUT, TAIL), 2, (0.5, 1.2)), ((OUT, TAIL), 2, (0.4, 1.0)), ((OUT,), 1, (1, 1)),
         ((COUGH, BODY), 4, (0.2, 0.6)), ((THROAT,), 2, (0.2, 0.9)), ((CLAP,), 8, (0.12, 0.6)),
         ((CLACK, THUMP), 2, (0.2, 1.0)), ((TICK,), 6, (0.2, 1.0)), ((TICK, TICK), 4, (0.3, 1.0)))


def drawn(rng, span):
    return np.exp(rng.uniform(*np.log(span)))


def voiced(rng, n, pitch):
    """Pulses of n samples, uneven ones, whose pitch wanders."""
    f0 = drawn(rng, pitch) * 2 ** noise.wander(rng, n, 6, -0.4, 0.4)
    f0 = f0 * 2 ** (rng.uniform(0, 0.3) * rng.standard_normal(n // 40 + 1).repeat(40)[:n])
    turns = np.floor(np.cumsum(f0) / RATE + rng.random())
    return unit(np.diff(turns, prepend=turns[0]) * rng.lognormal(0, 0.3, n) + 1e-3)


def resonant(rng, y, band, sharp):
    """Through one to five resonances on a bed that may be low, and a tilt."""
    size = 1 << int(np.ceil(np.log2(len(y) + 512)))
    f = np.fft.rfftfreq(size, 1 / RATE) + 20
    shape = np.full(len(f), 10 ** rng.uniform(-2, -0.4))
    for _ in range(rng.integers(1, 6)):
        middle = drawn(rng, band)
        shape += 10 ** rng.uniform(-0.6, 0.3) / (1 + ((f - middle) * drawn(rng, sharp) / middle) ** 2)
    shape *= (f / 1000) ** rng.uniform(-1.0, 0.6)
    return unit(np.fft.irfft(np.fft.rfft(y, size) * shape)[:len(y)])


def part(rng, seconds, voice, pitch, band, sharp, attack, fade, level_db):
    """A part of a sound; its resonances turn into others."""
    n = int(RATE * rng.uniform(*seconds))
    share = rng.uniform(*voice) * (rng.random() < 0.6)
    y = np.sqrt(share) * voiced(rng, n, pitch) + np.sqrt(1 - share) * rng.standard_normal(n)
    t = np.arange(n) / n
    y = (1 - t) * resonant(rng, y, band, sharp) + t * resonant(rng, y, band, sharp)
    y *= np.minimum(1, np.arange(n) / (RATE * drawn(rng, attack))) * (1 - t) ** rng.uniform(*fade)
    return unit(y) * 10 ** (rng.uniform(*level_db) / 20)


def computed(rng):
    """One sound, and how often and at which distance in samples it comes."""
    parts, most, apart = KINDS[rng.integers(len(KINDS))]
    y = np.zeros(0)
    for one in parts:
        z = part(rng, *one)
        over = min(len(y), len(z), int(rng.uniform(0, 0.05) * RATE))
        gap = int(rng.uniform(0, 0.12) * RATE) if one is OUT and rng.random() < 0.5 else 0
        at = len(y) + gap - (0 if gap else over)
        y = np.concatenate([y, np.zeros(max(0, at + len(z) - len(y)))])
        y[at:at + len(z)] += z
    return y, 1 + rng.integers(most), int(RATE * rng.uniform(*apart))


STEP = 320


def alone(a):
    """What stands 25 dB above most of a recording for 30 ms to 1.2 s."""
    k = len(a) // STEP
    db = 10 * np.log10(np.mean(a[:k * STEP].astype(float).reshape(k, STEP) ** 2, 1) + 1)
    if db.max() < np.median(db) + 25:
        return []
    loud = np.flatnonzero(db > max(np.median(db) + 12, db.max() - 28))
    groups = np.split(loud, np.flatnonzero(np.diff(loud) > 5) + 1)
    return [a[max(0, g[0] - 1) * STEP:(g[-1] + 2) * STEP] for g in groups
            if db[g].max() > db.max() - 12 and g[-1] - g[0] < 60]


def recorded(rng, bank):
    """One of the bank, at another speed."""
    a = bank[rng.integers(len(bank))].astype(float)
    n = max(2, int(len(a) / drawn(rng, (0.6, 1.6))))
    return unit(np.interp(np.linspace(0, len(a) - 1, n), np.arange(len(a)), a)), 1 + (rng.random() < 0.2), RATE


def singles(rng, bank, n, room):
    """n samples: one sound or a few over digital silence or the noise of a room. bank: recorded ones."""
    y = np.zeros(n)
    for _ in range(1 + (rng.random() < 0.3)):
        sound, times, apart = recorded(rng, bank) if rng.random() < 0.5 else computed(rng)
        at = int(rng.uniform(-0.1, 0.95) * n)
        for k in range(times):
            begin = at + k * apart + int(rng.uniform(0, 0.01) * apart)
            cut = sound[max(0, -begin):][:max(0, n - max(0, begin))]
            y[max(0, begin):][:len(cut)] += cut * rng.lognormal(0, 0.2)
    if not np.any(y):
        y[:1] = 1
    if rng.random() < 0.4:
        y = room(rng, y, rng.uniform(0.05, 1))
    if rng.random() < 0.6:
        y = y + noise.coloured(rng, n) * 10 ** rng.uniform(-3.5, -1.3)
    return y.astype(np.float32)
