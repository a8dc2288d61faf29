#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports a streaming CTC conformer of random weights in the form of wenet's streaming export for sherpa-onnx: inputs, outputs and
metadata are that script's, the network is written here after the papers (Gulati et al. 2020, "Conformer"; Zhang et al. 2020, "Unified
streaming and non-streaming two-pass end-to-end model"): frames by four, positions of a table, caches of attention and convolution.

    wenet.py FOLDER

Makes FOLDER/wenet-ctc. Needs torch, onnx, onnxruntime."""
import math
import sys
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn

DIM, HEADS, BLOCKS, KERNEL, HIDDEN, CHUNK, LEFT, PLACES = 32, 4, 3, 8, 64, 16, 4, 700
NAMES = ["<blank>", "<unk>"] + list("的一是了我不在人有他这上们来到时大地为子") + ["<sos/eos>"]


class Embed(nn.Module):
    """Two convolutions with stride 2, a projection, and the table of places."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, DIM, 3, 2), nn.ReLU(), nn.Conv2d(DIM, DIM, 3, 2), nn.ReLU())
        self.out = nn.Linear(DIM * 19, DIM)
        at = torch.arange(PLACES).unsqueeze(1) * torch.exp(torch.arange(0, DIM, 2) * -(math.log(10000.0) / DIM))
        self.table = nn.Parameter(torch.stack([torch.sin(at), torch.cos(at)], dim=2).reshape(1, PLACES, DIM), requires_grad=False)

    def forward(self, x):
        x = self.conv(x.unsqueeze(1))
        b, c, t, f = x.size()
        return self.out(x.transpose(1, 2).reshape(b, t, c * f)) * math.sqrt(DIM)

    def places(self, offset, n):
        index = offset.unsqueeze(1) + torch.arange(0, n)
        index = index * (index > 0)
        return nn.functional.embedding(index, self.table[0])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(DIM, DIM) for _ in range(4))
        self.pos = nn.Linear(DIM, DIM, bias=False)
        self.u, self.w = nn.Parameter(torch.randn(HEADS, DIM // HEADS)), nn.Parameter(torch.randn(HEADS, DIM // HEADS))

    def split(self, x):
        return x.view(x.size(0), -1, HEADS, DIM // HEADS)

    def forward(self, x, mask, pos, cache):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)).transpose(1, 2), self.split(self.v(x)).transpose(1, 2)
        old_k, old_v = torch.split(cache, cache.size(-1) // 2, dim=-1)
        k, v = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
        p = self.split(self.pos(pos)).transpose(1, 2)
        score = torch.matmul((q + self.u).transpose(1, 2), k.transpose(-2, -1)) + torch.matmul((q + self.w).transpose(1, 2), p.transpose(-2, -1))
        hidden = mask.unsqueeze(1).eq(0)[:, :, :, :score.size(-1)]
        score = (score / math.sqrt(DIM // HEADS)).masked_fill(hidden, -float("inf"))
        weights = torch.softmax(score, dim=-1).masked_fill(hidden, 0.0)
        y = torch.matmul(weights, v).transpose(1, 2).contiguous().view(x.size(0), -1, DIM)
        return self.out(y), torch.cat([k, v], dim=-1)


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.depth, self.two = nn.Conv1d(DIM, 2 * DIM, 1), nn.Conv1d(DIM, DIM, KERNEL, groups=DIM), nn.Conv1d(DIM, DIM, 1)
        self.norm = nn.LayerNorm(DIM)

    def forward(self, x, cache):
        x = torch.cat([cache, x.transpose(1, 2)], dim=2)
        new = x[:, :, 1 - KERNEL:]
        y = self.depth(nn.functional.glu(self.one(x), dim=1))
        y = nn.functional.silu(self.norm(y.transpose(1, 2))).transpose(1, 2)
        return self.two(y).transpose(1, 2), new


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(DIM) for _ in range(5))
        self.before, self.after = (nn.Sequential(nn.Linear(DIM, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, DIM)) for _ in range(2))
        self.attention, self.convolution = Attention(), Convolution()

    def forward(self, x, mask, pos, attn_cache, conv_cache):
        x = x + 0.5 * self.before(self.norms[0](x))
        y, attn_cache = self.attention(self.norms[1](x), mask, pos, attn_cache)
        x = x + y
        y, conv_cache = self.convolution(self.norms[2](x), conv_cache)
        x = x + y
        return self.norms[4](x + 0.5 * self.after(self.norms[3](x))), attn_cache, conv_cache


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks, self.last = Embed(), nn.ModuleList(Block() for _ in range(BLOCKS)), nn.LayerNorm(DIM)
        self.mean, self.scale = nn.Parameter(torch.full((80,), 12.0)), nn.Parameter(torch.full((80,), 0.25))
        self.ctc = nn.Linear(DIM, len(NAMES))

    def forward(self, x, offset, required_cache_size, attn_cache, conv_cache, attn_mask):
        x = self.embed((x - self.mean) * self.scale)
        n = attn_cache.size(2) + x.size(1)
        pos = self.embed.places(offset - attn_cache.size(2), n)
        start = n - required_cache_size
        attn, conv = [], []
        for i, block in enumerate(self.blocks):
            x, a, c = block(x, attn_mask, pos, attn_cache[i:i + 1], conv_cache[i])
            attn.append(a[:, :, start:, :])
            conv.append(c.unsqueeze(0))
        return torch.log_softmax(self.ctc(self.last(x)), dim=2), torch.cat(attn, dim=0), torch.cat(conv, dim=0)


def main():
    out = Path(sys.argv[1]) / "wenet-ctc"
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    net = Net().eval()
    with torch.no_grad():
        net.ctc.weight *= 6
        net.ctc.bias[0] += 1.5
    required = CHUNK * LEFT
    mask = torch.ones(1, 1, required + CHUNK, dtype=torch.bool)
    mask[:, :, :required] = 0
    args = (torch.rand(1, (CHUNK - 1) * 4 + 7, 80), torch.tensor([required]), torch.tensor([required]),
            torch.zeros(BLOCKS, HEADS, required, DIM // HEADS * 2), torch.zeros(BLOCKS, 1, DIM, KERNEL - 1), mask)
    file = out / "model-streaming.onnx"
    torch.onnx.export(net, args, str(file), opset_version=17, dynamo=False,
                      input_names=["x", "offset", "required_cache_size", "attn_cache", "conv_cache", "attn_mask"],
                      output_names=["log_probs", "next_att_cache", "next_conv_cache"],
                      dynamic_axes={"x": {0: "N", 1: "T"}, "attn_cache": {2: "T"}, "attn_mask": {2: "T"}, "log_probs": {0: "N"},
                                    "new_attn_cache": {2: "T"}})
    m = onnx.load(file)
    meta = dict(model_type="wenet_ctc", version=1, model_author="wenet", comment="streaming", url="", chunk_size=CHUNK, left_chunks=LEFT,
                head=HEADS, num_blocks=BLOCKS, output_size=DIM, cnn_module_kernel=KERNEL, right_context=6, subsampling_factor=4,
                vocab_size=len(NAMES))
    onnx.helper.set_model_props(m, {k: str(v) for k, v in meta.items()})
    onnx.save(onnx.version_converter.convert_version(m, 21), file)
    quantize_dynamic(file, out / "model-streaming.int8.onnx", op_types_to_quantize=["MatMul"], weight_type=QuantType.QInt8)
    (out / "tokens.txt").write_text("".join(f"{t} {i}\n" for i, t in enumerate(NAMES)), encoding="utf-8")


main()
