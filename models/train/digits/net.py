# SPDX-License-Identifier: MIT
"""The net: two convolutions that halve the frame rate each, two GRUs, eleven classes. It does not
look ahead. While it is trained it also writes letters and WORDS, so that other speech means
something to it; of what is exported those heads are no part."""
import torch
from torch import nn

import gru
from features import BANDS
from vocabulary import LETTERS, WORDS

CLASSES = 11                            # 0 is the blank, digit d is d + 1
CHANNELS, WIDTH, HIDDEN, TAPS = 64, 80, 144, 5
STRIDE = 4                              # frames of features for one of the net: 40 ms


class Digits(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.register_buffer('mean', torch.zeros(BANDS))
        self.register_buffer('scale', torch.ones(BANDS))
        self.conv1 = nn.Conv1d(BANDS, CHANNELS, TAPS, 2)
        self.conv2 = nn.Conv1d(CHANNELS, WIDTH, TAPS, 2)
        self.gru1 = nn.GRU(WIDTH, HIDDEN)
        self.gru2 = nn.GRU(HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, CLASSES)
        self.letters = nn.Linear(HIDDEN, len(LETTERS) + 1)
        self.words = nn.Linear(HIDDEN, len(WORDS) + 1)
        self.drop = nn.Dropout(dropout)

    def encoded(self, x):
        """Features [N, T, BANDS] -> [ceil(T / 4), N, HIDDEN]"""
        y = ((x - self.mean) * self.scale).transpose(1, 2)
        y = torch.relu(self.conv1(nn.functional.pad(y, (TAPS - 1, 0))))
        y = torch.relu(self.conv2(nn.functional.pad(y, (TAPS - 1, 0))))
        y = self.drop(y.permute(2, 0, 1))
        y = self.recur(self.gru1, y)
        return self.drop(self.recur(self.gru2, self.drop(y)))

    def forward(self, x):
        """Features [N, T, BANDS] -> logarithms of probabilities [ceil(T / 4), N, CLASSES]."""
        return torch.log_softmax(self.out(self.encoded(x)), -1)

    def heads(self, x):
        """name -> logarithms of probabilities"""
        y = self.encoded(x)
        return {name: torch.log_softmax(head(y), -1) for name, head in
                (('digits', self.out), ('letters', self.letters), ('words', self.words))}

    def recur(self, layer, y):
        return gru.run(layer, y) if self.training else layer(y)[0]


def frames_of(n):
    """Frames of the net for n frames of features."""
    return (n + STRIDE - 1) // STRIDE


def greedy(row):
    """Digits of one utterance: best class per frame, runs merged, blanks dropped."""
    said, before = [], 0
    for c in row:
        if c != before and c:
            said.append(int(c) - 1)
        before = c
    return said


def distance(a, b):
    """Edits from a to b."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]
