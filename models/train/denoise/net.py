# SPDX-License-Identifier: MIT
"""The network of rill-denoise and the features in front of it, as its graph.nnef computes them."""
import numpy as np
import torch
from torch import nn

RATE, SIZE, HOP, BINS = 16000, 512, 256, 257
LOW, MEL, MEL_FROM = 80, 32, 2400.0     # single bins up to 2.5 kHz, triangles on the mel scale then
BANDS = LOW + MEL
FLOOR = 1e-7
START, QUIET, SETTLED = 4, 0.001, 30    # of the noise track: frames, a part of their power, a frame


def mel_edges():
    mel = lambda f: 2595 * np.log10(1 + f / 700)
    at = np.linspace(mel(MEL_FROM), mel(RATE / 2), MEL + 2)
    return 700 * (10 ** (at / 2595) - 1)


def band_matrix():
    """[257, 112]: powers of bins to powers of bands."""
    edge, f = mel_edges(), np.arange(BINS) * RATE / 2 / (BINS - 1)
    m = np.zeros((BINS, BANDS))
    m[:LOW, :LOW] = np.eye(LOW)
    for j in range(MEL):
        l, c, r = edge[j:j + 3]
        m[:, LOW + j] = np.clip(np.minimum((f - l) / (c - l), (r - f) / (r - c)), 0, None)
    return torch.tensor(m, dtype=torch.float32)


def spread_matrix():
    """[32, 177]: gains of the upper bands to those of the bins from 80 on, linear in between."""
    mid, f = mel_edges()[1:-1], np.arange(LOW, BINS) * RATE / 2 / (BINS - 1)
    m = np.stack([np.interp(f, mid, row) for row in np.eye(MEL)])
    return torch.tensor(m, dtype=torch.float32)


WINDOW = torch.sqrt(torch.hann_window(SIZE, periodic=True))


def spectrum(x):
    """[B, S] -> complex [B, T, 257]; frame t ends with sample 256 (t + 1)."""
    frames = nn.functional.pad(x, (SIZE - HOP, HOP)).unfold(1, SIZE, HOP)
    return torch.fft.rfft(frames * WINDOW, SIZE)


def samples(spec, n):
    """Overlap-add; the result stands where the input stood."""
    f = torch.fft.irfft(spec, SIZE) * WINDOW
    b, t, _ = f.shape
    y = nn.functional.fold(f.transpose(1, 2), (1, (t - 1) * HOP + SIZE), (1, SIZE), stride=(1, HOP))
    y = y.reshape(b, -1)
    return y[:, SIZE - HOP:SIZE - HOP + n]


def noise_track(bands, quiet=1.0, settled=None):
    """Running estimate of the noise power in each band [B, T, N], weighted with the probability of
    speech.

    The first frames are taken for `quiet` times their mean: the net learns from examples that begin
    in noise, graph.nnef takes QUIET, as a stream may begin inside a word. From frame `settled` on
    the noise is at least what was there all the time; None: it is not held to that.
    """
    noise = smooth = least = presence = torch.zeros_like(bands[:, 0])
    ret = []
    for t in range(bands.shape[1]):
        power = bands[:, t]
        starts, n = t < START, float(min(t, START))
        mean = (smooth * n + power) / (n + 1)
        known = quiet * mean if starts else noise
        speaks = torch.sigmoid(0.96935 * torch.clamp(power / known, max=100.0) - 3.48502)
        presence = 0.9 * presence + 0.1 * speaks
        sure = torch.where(presence > 0.99, torch.clamp(speaks, max=0.99), speaks)
        follows = 0.93 * noise + 0.07 * (power + sure * (noise - power))
        smooth = mean if starts else 0.7 * smooth + 0.3 * power
        least = mean if starts else torch.minimum(least, smooth)
        if settled is not None and t >= settled:
            follows = torch.maximum(follows, least)
        noise = known if starts else follows
        ret.append(noise)
    return torch.stack(ret, 1)


class Net(nn.Module):
    """Bands and tracked noise [B, T, 112] each -> gains of the 257 bins [B, T, 257]."""

    def __init__(self, width=80, hidden=88):
        super().__init__()
        self.register_buffer('mean', torch.zeros(2 * BANDS))
        self.register_buffer('scale', torch.ones(2 * BANDS))
        self.register_buffer('spread', spread_matrix())
        self.first = nn.Linear(2 * BANDS, width)
        self.gru = nn.GRU(width, hidden, 2, batch_first=True)
        self.last = nn.Linear(hidden + width, BANDS)

    def features(self, bands, noise):
        log = torch.log(bands)
        return torch.cat([log, log - torch.log(noise)], -1)

    def forward(self, bands, noise):
        x = torch.relu(self.first((self.features(bands, noise) - self.mean) * self.scale))
        h, _ = self.gru(x)
        gain = torch.sigmoid(self.last(torch.cat([h, x], -1)))
        return torch.cat([gain[..., :LOW], gain[..., LOW:] @ self.spread], -1)


BAND_MATRIX = band_matrix()


def bands_of(spec):
    power = spec.real ** 2 + spec.imag ** 2
    return power @ BAND_MATRIX + FLOOR


def enhance(net, x):
    """[B, S] -> [B, S], aligned with the input, as graph.nnef does it."""
    spec = spectrum(x)
    bands = bands_of(spec)
    return samples(spec * net(bands, noise_track(bands, QUIET, SETTLED)), x.shape[1])
