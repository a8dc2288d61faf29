#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes recognisers of random weights in the forms of icefall's LSTM transducer and of NeMo's streaming CTC export: inputs, outputs,
states and metadata are those of their exports, the networks are small ones of our own.

    others.py FOLDER

Makes FOLDER/lstm and FOLDER/nemo-ctc. Needs torch, onnx."""
import sys
from pathlib import Path

import onnx
import torch
from torch import nn

DIM, LAYERS = 24, 2
PIECES = ["<blk>", "<sos/eos>", "<unk>"] + ["\u2581" + w for w in "THE A ON LA TE RI MO SU".split()] + "S ED ING LO RA NI".split()


class Scaled(nn.Module):
    """Features around 0."""

    def forward(self, x):
        return (x + 8.0) * 0.25


class LstmEncoder(nn.Module):
    """Nine frames of features give one, four frames on."""

    def __init__(self):
        super().__init__()
        self.scaled, self.conv = Scaled(), nn.Conv1d(80, DIM, 9, 4)
        self.lstm, self.out = nn.LSTM(DIM, DIM, LAYERS), nn.Linear(DIM, DIM)

    def forward(self, x, h, c):
        y = torch.relu(self.conv(self.scaled(x).transpose(1, 2))).permute(2, 0, 1)
        y, (h, c) = self.lstm(y, (h, c))
        return self.out(y).permute(1, 0, 2), h, c


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.conv = nn.Embedding(len(PIECES), DIM), nn.Conv1d(DIM, DIM, 2)

    def forward(self, y):
        e = self.embedding(y.clamp(min=0)) * (y >= 0).unsqueeze(2)
        return self.conv(e.transpose(1, 2)).squeeze(2)


class Joiner(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(DIM, len(PIECES))

    def forward(self, encoder_out, decoder_out):
        return self.out(torch.tanh(encoder_out + decoder_out))


CHUNK, BEFORE, PAST, KERNEL = 32, 9, 20, 7     # frames of features; of the network


class NemoCtc(nn.Module):
    """One frame for eight; a layer is attention over a cache, then a causal convolution with one."""

    def __init__(self):
        super().__init__()
        self.scaled = Scaled()
        self.embed = nn.ModuleList([nn.Conv1d(80, DIM, 3, 2), nn.Conv1d(DIM, DIM, 3, 2), nn.Conv1d(DIM, DIM, 3, 2)])
        self.qkv = nn.ModuleList(nn.ModuleList(nn.Linear(DIM, DIM) for _ in range(3)) for _ in range(LAYERS))
        self.conv = nn.ModuleList(nn.Conv1d(DIM, DIM, KERNEL, groups=DIM) for _ in range(LAYERS))
        self.out = nn.Linear(DIM, len(PIECES))

    def last(self, x):
        return torch.log_softmax(self.out(x), dim=2)

    def forward(self, audio_signal, length, cache_last_channel, cache_last_time, cache_last_channel_len):
        x = self.scaled(audio_signal)
        for conv in self.embed:
            x = torch.relu(conv(x))
        x = x.transpose(1, 2)
        n = x.size(1)
        channel, time = [], []
        seen = torch.arange(PAST + n).unsqueeze(0) >= PAST - cache_last_channel_len.unsqueeze(1)
        for i in range(LAYERS):
            q, k, v = self.qkv[i]
            keys = torch.cat([cache_last_channel[:, i], x], dim=1)
            score = torch.matmul(q(x), k(keys).transpose(1, 2)).masked_fill(~seen.unsqueeze(1), -1e4)
            channel.append(keys[:, -PAST:])
            x = torch.tanh(x + torch.matmul(torch.softmax(score, dim=2), v(keys)))
            wide = torch.cat([cache_last_time[:, i], x.transpose(1, 2)], dim=2)
            time.append(wide[:, :, 1 - KERNEL:])
            x = x + self.conv[i](wide).transpose(1, 2)
        encoded = (length - length) + n
        return (self.last(x), encoded, torch.stack(channel, dim=1), torch.stack(time, dim=1),
                torch.clamp(cache_last_channel_len + n, max=PAST))


def save(net, args, path, inputs, outputs, axes, meta):
    torch.onnx.export(net.eval(), args, str(path), opset_version=13, dynamo=False, input_names=inputs, output_names=outputs, dynamic_axes=axes)
    m = onnx.load(path)
    for n in m.graph.node:
        n.ClearField("doc_string")
    onnx.helper.set_model_props(m, {k: str(v) for k, v in meta.items()})
    onnx.save(m, path)


def transducer(folder):
    with torch.no_grad():
        encoder, decoder, joiner = LstmEncoder(), Decoder(), Joiner()
        encoder.out.weight *= 8
        encoder.conv.weight *= 2
        for w in encoder.lstm.parameters():
            w *= 2
        decoder.embedding.weight *= 0.3
        joiner.out.weight *= 8
    save(encoder, (torch.rand(1, 9, 80), torch.zeros(LAYERS, 1, DIM), torch.zeros(LAYERS, 1, DIM)), folder / "encoder-epoch-99-avg-1.onnx",
         ["x", "h", "c"], ["encoder_out", "next_h", "next_c"],
         {"x": {0: "N"}, "h": {1: "N"}, "c": {1: "N"}, "encoder_out": {0: "N"}, "next_h": {1: "N"}, "next_c": {1: "N"}},
         dict(model_type="lstm", version=1, model_author="k2-fsa", decode_chunk_len=4, T=9, num_encoder_layers=LAYERS, d_model=DIM,
              rnn_hidden_size=DIM))
    save(decoder, (torch.zeros(2, 2, dtype=torch.int64),), folder / "decoder-epoch-99-avg-1.onnx", ["y"], ["decoder_out"],
         {"y": {0: "N"}, "decoder_out": {0: "N"}}, dict(context_size=2, vocab_size=len(PIECES)))
    save(joiner, (torch.rand(2, DIM), torch.rand(2, DIM)), folder / "joiner-epoch-99-avg-1.onnx", ["encoder_out", "decoder_out"], ["logit"],
         {"encoder_out": {0: "N"}, "decoder_out": {0: "N"}, "logit": {0: "N"}}, dict(joiner_dim=DIM))


def nemo(folder):
    net = NemoCtc()
    with torch.no_grad():
        net.out.weight *= 8
    one = torch.tensor([CHUNK + BEFORE])
    save(net, (torch.rand(1, 80, CHUNK + BEFORE), one, torch.zeros(1, LAYERS, PAST, DIM), torch.zeros(1, LAYERS, DIM, KERNEL - 1),
               torch.tensor([0])), folder / "model.onnx",
         ["audio_signal", "length", "cache_last_channel", "cache_last_time", "cache_last_channel_len"],
         ["logprobs", "encoded_lengths", "cache_last_channel_next", "cache_last_time_next", "cache_last_channel_next_len"],
         {"audio_signal": {0: "B"}, "length": {0: "B"}, "cache_last_channel": {0: "B", 2: "C"}, "cache_last_time": {0: "B", 3: "K"},
          "cache_last_channel_len": {0: "B"}, "logprobs": {0: "B"}},
         dict(vocab_size=len(PIECES) - 1, window_size=CHUNK + BEFORE, chunk_shift=CHUNK, normalize_type="", cache_last_channel_dim1=LAYERS,
              cache_last_channel_dim2=PAST, cache_last_channel_dim3=DIM, cache_last_time_dim1=LAYERS, cache_last_time_dim2=DIM,
              cache_last_time_dim3=KERNEL - 1, subsampling_factor=8, model_type="EncDecHybridRNNTCTCBPEModel", version=1,
              model_author="NeMo", comment="Only the CTC branch is exported"))


def main():
    torch.manual_seed(31)
    for name, make, names in (("lstm", transducer, PIECES), ("nemo-ctc", nemo, PIECES[1:] + PIECES[:1])):
        folder = Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        make(folder)
        (folder / "tokens.txt").write_text("".join(f"{t} {i}\n" for i, t in enumerate(names)), encoding="utf-8")


if __name__ == "__main__":
    main()
