# SPDX-License-Identifier: MIT
"""Noise that is computed: engines, sirens, clinking, clicks, and the random envelopes that make
textures of white noise."""
import numpy as np
import torch

RATE = 16000


def unit(x):
    return (x / (np.sqrt(np.mean(x * x)) + 1e-9)).astype(np.float32)


def wander(rng, n, rate_hz, lo, hi):
    """A curve of n samples between lo and hi that turns about rate_hz times a second."""
    k = max(2, int(n / RATE * rate_hz) + 2)
    return np.interp(np.linspace(0, k - 1, n), np.arange(k), rng.uniform(lo, hi, k))


def coloured(rng, n):
    spec = np.fft.rfft(rng.standard_normal(n))
    f = np.maximum(np.arange(len(spec)), 1) / len(spec)
    return unit(np.fft.irfft(spec * f ** -rng.uniform(0, 1.1), n))


def engine(rng, n):
    """Harmonics of a slowly moving speed, some strong, with uneven firing and a bed of noise."""
    base = np.exp(rng.uniform(np.log(18), np.log(320)))
    f0 = base * wander(rng, n, rng.uniform(0.1, 2), 0.85, 1.15) ** rng.uniform(0, 2)
    phase = 2 * np.pi * np.cumsum(f0) / RATE
    y = np.zeros(n)
    fall = rng.uniform(0.3, 1.5)
    for k in range(1, int(min(40, 7000 / base))):
        y += rng.lognormal(0, 0.8) * k ** -fall * np.sin(k * phase + rng.uniform(0, 6.3))
    y = unit(y) * (1 + rng.uniform(0, 0.8) * np.sin(phase * rng.choice([0.5, 0.25, 1 / 3])))
    bed = rng.uniform(0.05, 1) * coloured(rng, n)
    return unit(y + bed * (1 + rng.uniform(0, 0.9) * np.sin(phase)))


def siren(rng, n):
    """Sweeps, beeps and whistles."""
    rate = rng.uniform(0.2, 6)
    shape = np.sin(2 * np.pi * rate * np.arange(n) / RATE)
    if rng.random() < 0.4:
        shape = np.sign(shape)
    f = np.exp(rng.uniform(np.log(250), np.log(3500))) * 2 ** (rng.uniform(0, 0.7) * shape)
    phase = 2 * np.pi * np.cumsum(f) / RATE
    y = sum(rng.uniform(0, 1) / k * np.sin(k * phase) for k in range(1, rng.integers(2, 6)))
    if rng.random() < 0.5:
        beep = np.sin(2 * np.pi * rng.uniform(0.5, 5) * np.arange(n) / RATE)
        y = y * (beep > rng.uniform(-0.5, 0.7))
    return unit(y + 0.01 * coloured(rng, n))


def strike(rng):
    """One struck thing: a few decaying partials, or a short burst of coloured noise."""
    n = int(RATE * rng.uniform(0.02, 0.5))
    t = np.arange(n) / RATE
    if rng.random() < 0.5:
        low = np.exp(rng.uniform(np.log(150), np.log(4000)))
        y = sum(rng.uniform(0.1, 1) * np.exp(-t * rng.uniform(8, 150)) *
                np.sin(2 * np.pi * low * r * t)
                for r in np.cumprod(rng.uniform(1, 1.8, rng.integers(2, 8))) if low * r < 7800)
    else:
        y = coloured(rng, n) * np.exp(-t * rng.uniform(10, 300))
        if rng.random() < 0.5:
            y = np.diff(y, prepend=0)
    return y if np.ndim(y) else np.zeros(n)


def strikes(rng, n):
    """Dishes, keys, steps: few kinds of strike, many times."""
    kinds = [strike(rng) for _ in range(rng.integers(1, 6))]
    y = coloured(rng, n) * 10 ** rng.uniform(-3, -1)
    for _ in range(int(n / RATE * np.exp(rng.uniform(np.log(0.7), np.log(25))))):
        s = kinds[rng.integers(len(kinds))]
        at = rng.integers(n)
        s = s[:n - at]
        y[at:at + len(s)] += s / (np.abs(s).max() + 1e-6) * rng.lognormal(0, 0.7)
    return unit(y)


def made(rng, n):
    return (engine, engine, siren, strikes, strikes, strikes)[rng.integers(6)](rng, n)


def room(rng, x, late):
    """Exponentially falling noise after the direct sound; late: its level beside the direct one."""
    n = int(RATE * rng.uniform(0.08, 0.7))
    ir = rng.standard_normal(n) * np.exp(-6.9 * np.arange(n) / n)
    gap = rng.integers(8, 160)
    ir[:gap] = 0
    ir *= late / np.sqrt(np.sum(ir * ir))
    ir[0] = 1
    return convolve(x, ir)


def convolve(x, ir):
    """As long as x: an impulse response that begins with its direct sound."""
    size = 1 << int(np.ceil(np.log2(len(x) + len(ir))))
    y = np.fft.irfft(np.fft.rfft(x, size) * np.fft.rfft(ir, size), size)
    return y[:len(x)].astype(np.float32)


# ---- envelopes over the spectrum, in decibels at NODES places of the mel scale ----

NODES = 28


def nodes_matrix(bins=257):
    mel = 2595 * np.log10(1 + np.arange(bins) * RATE / 2 / (bins - 1) / 700)
    rows = [np.interp(mel, np.linspace(0, mel[-1], NODES), r) for r in np.eye(NODES)]
    return torch.tensor(np.stack(rows), dtype=torch.float32)


SPREAD = nodes_matrix()
OCTAVES = torch.log2((700 * (10 ** (torch.linspace(0, 2840, NODES) / 2595) - 1) + 60) / 1000)


def curves(gen, n, depth_db, tilt_db):
    """[n, NODES]: a random walk over frequency, tilted by tilt_db = (lo, hi) dB an octave."""
    walk = torch.cumsum(torch.randn(n, NODES, generator=gen), 1) * 0.4
    walk = walk + 0.6 * torch.randn(n, NODES, generator=gen)
    walk = (walk - walk.mean(1, keepdim=True)) * depth_db * torch.rand(n, 1, generator=gen)
    tilt = torch.rand(n, 1, generator=gen) * (tilt_db[1] - tilt_db[0]) + tilt_db[0]
    return walk + tilt * OCTAVES


def motion(gen, n, frames, channels, depth_db):
    """[n, frames, channels] of decibels that move: a spectrum of 1/f^a above a corner."""
    spec = torch.fft.rfft(torch.randn(n, frames, channels, generator=gen), dim=1)
    f = torch.arange(spec.shape[1]).float()
    corner = torch.exp(torch.rand(n, 1, generator=gen) * 4)
    fall = 0.3 + torch.rand(n, 1, generator=gen) * 1.5
    shape = (1 + f / corner) ** -fall
    y = torch.fft.irfft(spec * shape[:, :, None], frames, dim=1)
    y = y / (y.std(dim=(1, 2), keepdim=True) + 1e-6)
    return y * depth_db * torch.rand(n, 1, 1, generator=gen) ** 1.5


def texture(gen, n, frames):
    """[n, frames, 257] gains that make a texture of white noise: wind, traffic, water, machines."""
    still = curves(gen, n, 8.0, (-9.0, 1.0))[:, None]
    db = still + motion(gen, n, frames, 1, 8.0) + motion(gen, n, frames, NODES, 7.0)
    return torch.exp(db * 0.115129) @ SPREAD
