# SPDX-License-Identifier: MIT
"""The features of graph.nnef, for samples at 8 kHz.

graph.nnef frames 16 kHz by 512 with a hop of 160 and uses bands up to 3.8 kHz. Half the rate, half
the sizes and twice
the amplitude give the same numbers with half the work.
"""
import numpy as np

RATE, SIZE, HOP = 8000, 256, 80
BANDS, LOW, HIGH = 32, 80.0, 3800.0
FLOOR = 1e-4
TAIL = 1600                             # zeros behind the end, so that the last word comes out


def mel_filters():
    """Triangles of height 1 on the scale 2595 log10(1 + f / 700): [bins, BANDS]."""
    edges = 2595 * np.log10(1 + np.array([LOW, HIGH]) / 700)
    edges = 700 * (10 ** (np.linspace(*edges, BANDS + 2) / 2595) - 1)
    f = np.arange(SIZE // 2 + 1)[:, None] * (RATE / SIZE)
    rise = (f - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - f) / (edges[2:] - edges[1:-1])
    return np.maximum(np.minimum(rise, fall), 0)


WINDOW = 2 * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(SIZE) / SIZE))
MEL = mel_filters()


def features(x):
    """[T, BANDS] float32; frame t ends at sample (t + 1) * HOP."""
    x = np.concatenate([np.zeros(SIZE - HOP), x, np.zeros(TAIL)])
    frames = np.lib.stride_tricks.sliding_window_view(x, SIZE)[::HOP]
    spec = np.fft.rfft(frames * WINDOW)
    return np.log((spec.real ** 2 + spec.imag ** 2) @ MEL + FLOOR).astype(np.float32)
