#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a transducer of random weights in the form of NeMo's streaming FastConformer, as sherpa-onnx exports it: encoder with caches,
a decoder that is an LSTM with its states as inputs and outputs, joiner; inputs, outputs and metadata are those of the export, the
networks are small ones of our own.

    nemo.py FOLDER

Makes FOLDER/nemo. Needs torch, onnx."""
import sys
from pathlib import Path

import torch
from torch import nn

from others import BEFORE, CHUNK, DIM, KERNEL, LAYERS, PAST, PIECES, NemoCtc, save

HIDDEN, RNN_LAYERS, NAMES = 20, 2, PIECES[1:] + PIECES[:1]
BLANK = 9.0                # how much likelier the blank is than others


class Encoder(NemoCtc):
    """Frames stand on the last axis."""

    def forward(self, *x):
        encoded, *rest = super().forward(*x)
        return (encoded.transpose(1, 2), *rest)

    def last(self, x):
        return self.out(x)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(NAMES), HIDDEN, padding_idx=len(NAMES) - 1)     # the blank
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, RNN_LAYERS)

    def forward(self, targets, target_length, h, c):
        y, (h, c) = self.lstm(self.embedding(targets).transpose(0, 1), (h, c))
        return y.permute(1, 2, 0), target_length, h, c


class Joint(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.pred, self.out = nn.Linear(DIM, DIM), nn.Linear(HIDDEN, DIM), nn.Linear(DIM, len(NAMES))

    def forward(self, encoder_outputs, decoder_outputs):
        f, g = self.enc(encoder_outputs.transpose(1, 2)).unsqueeze(2), self.pred(decoder_outputs.transpose(1, 2)).unsqueeze(1)
        return torch.log_softmax(self.out(torch.relu(f + g)), dim=-1)


def even(linear, x):
    """Outputs of mean 0 and deviation 1 for such inputs."""
    y = linear(x).reshape(-1, linear.out_features)
    scale = 1 / y.std(dim=0)
    linear.weight *= scale.unsqueeze(1)
    linear.bias.copy_((linear.bias - y.mean(dim=0)) * scale)


def nets():
    encoder, decoder, joint = Encoder(), Decoder(), Joint()
    n = 64
    with torch.no_grad():
        encoder.out = nn.Linear(DIM, DIM)
        decoder.lstm.weight_hh_l0 *= 2
        decoder.embedding.weight *= 2
        sound = torch.randn(n, 80, 1) * 3 + torch.randn(n, 80, CHUNK + BEFORE) - 8
        kept = []
        encoder.last = lambda x: kept.append(x) or x
        encoder(sound, torch.full((n,), CHUNK + BEFORE), torch.zeros(n, LAYERS, PAST, DIM), torch.zeros(n, LAYERS, DIM, KERNEL - 1),
                torch.zeros(n, dtype=torch.int64))
        del encoder.last
        even(encoder.out, kept[0])
        frames = encoder.out(kept[0]).reshape(-1, DIM)
        even(joint.enc, frames)
        words = torch.randint(len(NAMES), (n, 12))
        said = torch.cat([decoder(words[i:i + 1], None, *[torch.zeros(RNN_LAYERS, 1, HIDDEN)] * 2)[0][0].t() for i in range(n)])
        even(joint.pred, said)
        for layer in (joint.enc, joint.pred):
            layer.weight *= 3
            layer.bias *= 3
        both = torch.relu(joint.enc(frames[torch.randint(len(frames), (2000,))]) + joint.pred(said[torch.randint(len(said), (2000,))]))
        even(joint.out, both)
        joint.out.weight *= 2
        joint.out.bias *= 2
        joint.out.bias[:2] -= 30           # <sos/eos>, <unk>: not said
        joint.out.bias[-1] += BLANK
    return encoder, decoder, joint


def encoder_save(net, path):
    caches = torch.zeros(1, LAYERS, PAST, DIM), torch.zeros(1, LAYERS, DIM, KERNEL - 1)
    meta = dict(vocab_size=len(NAMES) - 1, window_size=CHUNK + BEFORE, chunk_shift=CHUNK, normalize_type="", cache_last_channel_dim1=LAYERS,
                cache_last_channel_dim2=PAST, cache_last_channel_dim3=DIM, cache_last_time_dim1=LAYERS, cache_last_time_dim2=DIM,
                cache_last_time_dim3=KERNEL - 1, subsampling_factor=8, model_type="EncDecHybridRNNTCTCBPEModel", version=1, model_author="NeMo",
                comment="Only the transducer branch is exported", pred_rnn_layers=RNN_LAYERS, pred_hidden=HIDDEN)
    save(net, (torch.rand(1, 80, CHUNK + BEFORE), torch.tensor([CHUNK + BEFORE]), *caches, torch.tensor([0])), path,
         ["audio_signal", "length", "cache_last_channel", "cache_last_time", "cache_last_channel_len"],
         ["outputs", "encoded_lengths", "cache_last_channel_next", "cache_last_time_next", "cache_last_channel_next_len"],
         {"audio_signal": {0: "B", 2: "T"}, "length": {0: "B"}, "cache_last_channel": {0: "B", 2: "C"}, "cache_last_time": {0: "B", 3: "K"},
          "cache_last_channel_len": {0: "B"}, "outputs": {0: "B", 2: "F"}}, meta)


def main():
    torch.manual_seed(2)
    torch.set_num_threads(1)
    folder = Path(sys.argv[1]) / "nemo"
    folder.mkdir(parents=True, exist_ok=True)
    encoder, decoder, joint = nets()
    encoder_save(encoder, folder / "encoder.onnx")
    state = torch.zeros(RNN_LAYERS, 1, HIDDEN)
    save(decoder, (torch.zeros(1, 1, dtype=torch.int32), torch.ones(1, dtype=torch.int32), state, state), folder / "decoder.onnx",
         ["targets", "target_length", "states.1", "onnx::LSTM_3"], ["outputs", "prednet_lengths", "states"],
         {"targets": {0: "B", 1: "U"}, "target_length": {0: "B"}, "states.1": {1: "B"}, "onnx::LSTM_3": {1: "B"}, "outputs": {0: "B", 2: "U"},
          "prednet_lengths": {0: "B"}, "states": {1: "B"}}, {})
    save(joint, (torch.rand(1, DIM, 1), torch.rand(1, HIDDEN, 1)), folder / "joiner.onnx", ["encoder_outputs", "decoder_outputs"], ["outputs"],
         {"encoder_outputs": {0: "B", 2: "T"}, "decoder_outputs": {0: "B", 2: "U"}, "outputs": {0: "B", 1: "T", 2: "U", 3: "V"}}, {})
    (folder / "tokens.txt").write_text("".join(f"{t} {i}\n" for i, t in enumerate(NAMES)), encoding="utf-8")


main()
