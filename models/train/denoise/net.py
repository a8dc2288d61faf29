# SPDX-License-Identifier: MIT
"""The network of rill-denoise and the features in front of it, as its graph.nnef computes them."""
import os
import sys

import numpy as np
import torch
from torch import nn

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'digits'))
import gru                                                           # noqa: E402

RATE, SIZE, HOP, BINS = 16000, 512, 256, 257
LOW, MEL, MEL_FROM = 80, 32, 2400.0     # single bins up to 2.5 kHz, triangles on the mel scale then
BANDS = LOW + MEL
FLOOR = 1e-7
SILENT, RESTS = 2e-7, 62  # no band of a silent frame has more, which is less than what 16 bits round; frames
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
    the noise is at least what was there all the time; None: it is not held to that. After
    more than RESTS frames of digital silence all begins anew.
    """
    noise = smooth = least = presence = torch.zeros_like(bands[:, 0])
    frame = silent = noise[:, :1]
    ret = []
    for t in range(bands.shape[1]):
        power = bands[:, t]
        silent = torch.where(power.amax(1, keepdim=True) > SILENT, 0.0, silent + 1)
        rests = silent > RESTS
        starts, n = frame < START, frame.clamp(max=START)
        mean = (smooth * n + power) / (n + 1)
        known = torch.where(starts, quiet * mean, noise)
        speaks = torch.sigmoid(0.96935 * torch.clamp(power / known, max=100.0) - 3.48502)
        presence = 0.9 * presence + 0.1 * speaks
        sure = torch.where(presence > 0.99, torch.clamp(speaks, max=0.99), speaks)
        presence = torch.where(rests, 0.0, presence)
        follows = 0.93 * noise + 0.07 * (power + sure * (noise - power))
        smooth = torch.where(starts, mean, 0.7 * smooth + 0.3 * power)
        least = torch.where(starts, mean, torch.minimum(least, smooth))
        if settled is not None:
            follows = torch.where(frame < settled, follows, torch.maximum(follows, least))
        noise = torch.where(starts, known, follows)
        frame = torch.where(rests, 0.0, frame + 1)
        ret.append(noise)
    return torch.stack(ret, 1)


def phases(low):
    """Of the low bins [2, B, T, 80] how each stands to those beside it in time and in frequency, one
    and two frames ago and the next lower and higher bin: products of magnitude 1, which are 1 for
    a tone in the middle of the bin, and how far it is above them [12, B, T, 80], and those beside
    it [2, 4, B, T, 80]."""
    past = lambda n: nn.functional.pad(low, (0, 0, n, 0))[:, :, :low.shape[2]]
    others = torch.stack([past(1), past(2), nn.functional.pad(low, (1, 0))[..., :-1],
                          nn.functional.pad(low, (0, 1))[..., 1:]], 1)
    power, other = (low.square().sum(0) + FLOOR), (others.square().sum(0) + FLOOR)
    unit = TURN.to(low) * torch.rsqrt(power * other)
    along = (low[0] * others[0] + low[1] * others[1]) * unit
    across = (low[1] * others[0] - low[0] * others[1]) * unit
    return torch.cat([along, across, torch.log(power / other)]), others


# What a tone in the middle of a bin turns by: half a turn a bin and frame, and from bin to bin.
TURN = torch.ones(4, 1, 1, LOW)
TURN[0, ..., 1::2] = -1
TURN[2:] = -1

SAID, INNER, TAPS = 4, 24, 5


class Net(nn.Module):
    """Bands and tracked noise [B, T, 112] each and complex low bins [B, T, 80, 2] -> gains of
    the 257 bins [B, T, 257] and what is added to the low bins [B, T, 80, 2].

    Three GRUs see all bands. What they say of each low bin goes, with its phases, into a net that
    is the same for all of these, and gives a filter over this bin, its past and its neighbours."""

    def __init__(self, width=128, hidden=128):
        super().__init__()
        self.register_buffer('mean', torch.zeros(2 * BANDS))
        self.register_buffer('scale', torch.ones(2 * BANDS))
        self.register_buffer('spread', spread_matrix())
        self.first = nn.Linear(2 * BANDS, width)
        self.gru = nn.ModuleList(nn.GRU(hidden if i else width, hidden) for i in range(3))
        self.last = nn.Linear(2 * hidden + width, BANDS)
        self.said = nn.Linear(2 * hidden + width, LOW * SAID)
        sizes = (15 + SAID, INNER, INNER, 2 * TAPS)
        self.local = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        nn.init.zeros_(self.local[2].weight)
        nn.init.zeros_(self.local[2].bias)

    def features(self, bands, noise):
        log = torch.log(bands)
        return torch.cat([log, log - torch.log(noise)], -1)

    def recurrent(self, x):
        """[B, T, W] -> the second layer, x, and the third [B, T, 2 H + W]"""
        layers = [x.transpose(0, 1)]
        own = torch.is_grad_enabled() and not x.is_cuda
        for layer in self.gru:
            layers.append(gru.run(layer, layers[-1]) if own else layer(layers[-1])[0])
        return torch.cat([layers[2], layers[0], layers[3]], -1).transpose(0, 1)

    def added(self, f, gain, said, low):
        """What the filters make of the low bins."""
        low = low.permute(3, 0, 1, 2).contiguous()
        with torch.no_grad():
            phase, others = phases(low)
        shape = low.shape[1:]
        level = torch.stack([f[..., :LOW], f[..., BANDS:BANDS + LOW], gain[..., :LOW]])
        said = said.view(*shape[:2], SAID, LOW).permute(2, 0, 1, 3)
        x = torch.cat([phase, level, said]).view(15 + SAID, -1)
        for i, layer in enumerate(self.local):
            x = torch.addmm(layer.bias[:, None], layer.weight, torch.relu(x) if i else x)
        c, d = x.view(2, TAPS, *shape)
        re, im = torch.cat([low[:, None], others], 1)
        return torch.stack([(c * re - d * im).sum(0), (c * im + d * re).sum(0)], -1)

    def forward(self, bands, noise, low):
        f = (self.features(bands, noise) - self.mean) * self.scale
        x = torch.relu(self.first(f))
        seen = self.recurrent(x)
        gain = torch.sigmoid(self.last(seen))
        gains = torch.cat([gain[..., :LOW], gain[..., LOW:] @ self.spread], -1)
        return gains, self.added(f, gain, self.said(seen), low)


BAND_MATRIX = band_matrix()


def bands_of(spec):
    power = spec.real ** 2 + spec.imag ** 2
    return power @ BAND_MATRIX + FLOOR


def clean_of(net, spec, bands, noise):
    """[B, T, 257, 2] of a spectrum alike."""
    gains, added = net(bands, noise, spec[:, :, :LOW])
    y = spec * gains[..., None]
    return torch.cat([y[:, :, :LOW] + added, y[:, :, LOW:]], 2)


def enhance(net, x):
    """[B, S] -> [B, S], aligned with the input, as graph.nnef does it without a limit."""
    spec = spectrum(x)
    bands = bands_of(spec)
    y = clean_of(net, torch.view_as_real(spec), bands, noise_track(bands, QUIET, SETTLED))
    return samples(torch.view_as_complex(y.contiguous()), x.shape[1])
