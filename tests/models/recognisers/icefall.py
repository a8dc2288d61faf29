#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes transducers of random weights in the forms of icefall's streaming conformer, zipformer (the first), E-Branchformer and
conv-emformer exports: inputs, outputs, states and metadata are those of their exports, the networks are small ones of our own.

    icefall.py FOLDER

Makes FOLDER/conformer, FOLDER/zipformer, FOLDER/ebranchformer and FOLDER/conv-emformer. Needs torch, onnx."""
import sys
from pathlib import Path

import torch
from torch import nn

from others import DIM, PIECES, Decoder, Joiner, Scaled, save

AXES = {"x": {0: "N"}, "encoder_out": {0: "N"}}


def attend(q, keys, values, hidden=None):
    score = torch.matmul(q, keys.transpose(1, 2)) * 0.5
    score = score if hidden is None else score.masked_fill(hidden, -1e4)
    return torch.matmul(torch.softmax(score, dim=2), values)


class Embed(nn.Module):
    """Frames of features to a quarter as many."""

    def __init__(self, kernel):
        super().__init__()
        self.scaled, self.conv = Scaled(), nn.Conv1d(80, DIM, kernel, 4)

    def forward(self, x):
        return torch.relu(self.conv(self.scaled(x).transpose(1, 2))).transpose(1, 2)


class Conformer(nn.Module):
    """States are [layers, frames, batch, width]; keys before the stream began are hidden, as many as processed_lens says."""
    LAYERS, LEFT, KERNEL, CHUNK, KERNEL_IN = 2, 12, 5, 32, 11

    def __init__(self):
        super().__init__()
        self.embed, self.out = Embed(self.KERNEL_IN), nn.Linear(DIM, DIM)
        self.qkv = nn.ModuleList(nn.ModuleList(nn.Linear(DIM, DIM) for _ in range(3)) for _ in range(self.LAYERS))
        self.conv = nn.ModuleList(nn.Conv1d(DIM, DIM, self.KERNEL, groups=DIM) for _ in range(self.LAYERS))

    def forward(self, x, attn_cache, cnn_cache, processed_lens):
        x = self.embed(x)
        n, attn, cnn = x.size(1), [], []
        hidden = torch.arange(self.LEFT + n).unsqueeze(0) < self.LEFT - (processed_lens // 4).unsqueeze(1)
        for i in range(self.LAYERS):
            q, k, v = self.qkv[i]
            past = torch.cat([attn_cache[i].transpose(0, 1), x], dim=1)
            attn.append(past[:, -self.LEFT:].transpose(0, 1))
            x = torch.tanh(x + attend(q(x), k(past), v(past), hidden.unsqueeze(1)))
            wide = torch.cat([cnn_cache[i].transpose(0, 1), x], dim=1)
            cnn.append(wide[:, 1 - self.KERNEL:].transpose(0, 1))
            x = x + self.conv[i](wide.transpose(1, 2)).transpose(1, 2)
        return self.out(x), torch.stack(attn), torch.stack(cnn)


class Zipformer(nn.Module):
    """Two stacks of a layer; of each a length, a running mean, keys, two kinds of values, and the past of two convolutions."""
    DIMS, ATTENTION, KERNELS, LEFT, CHUNK, KERNEL_IN = (DIM, 16), (8, 8), (5, 3), (8, 4), 32, 11

    def __init__(self):
        super().__init__()
        self.embed, self.out = Embed(self.KERNEL_IN), nn.Linear(self.DIMS[1], DIM)
        self.narrow = nn.Linear(self.DIMS[0], self.DIMS[1])
        def layer(d, a, k):
            return nn.ModuleDict(dict(q=nn.Linear(d, a), k=nn.Linear(d, a), v=nn.Linear(d, a // 2), w=nn.Linear(d, a // 2),
                                      o=nn.Linear(a // 2, d), p=nn.Linear(a // 2, d), c=nn.Conv1d(d, d, k, groups=d),
                                      e=nn.Conv1d(d, d, k, groups=d)))
        self.layers = nn.ModuleList(layer(*s) for s in zip(self.DIMS, self.ATTENTION, self.KERNELS))

    def convolve(self, conv, past, x):
        wide = torch.cat([past[0], x.transpose(1, 2)], dim=2)
        return wide[:, :, -past.size(3):].unsqueeze(0), torch.tanh(x + conv(wide).transpose(1, 2))

    def stack(self, m, x, count, mean, key, v1, v2, c1, c2):
        n = x.size(1)
        total = (mean[0] * count[0].unsqueeze(1) + x.sum(dim=1)) / (count[0] + n).unsqueeze(1)
        x = x + 0.3 * total.unsqueeze(1)
        keys, one, two = (torch.cat([past[0].transpose(0, 1), m[name](x)], dim=1) for past, name in ((key, "k"), (v1, "v"), (v2, "w")))
        x = x + m["o"](attend(m["q"](x), keys, one))
        c1, x = self.convolve(m["c"], c1, x)
        x = x + m["p"](attend(m["q"](x), keys, two))
        c2, x = self.convolve(m["e"], c2, x)
        left = key.size(1)
        kept = [t[:, -left:].transpose(0, 1).unsqueeze(0) for t in (keys, one, two)]
        return x, [count + n, total.unsqueeze(0), *kept, c1, c2]

    def forward(self, x, *states):
        x, new = self.embed(x), []
        for i, m in enumerate(self.layers):
            x = self.narrow(x) if i else x
            x, s = self.stack(m, x, *states[i::2])
            new.append(s)
        return (self.out(x), *(new[i][k] for k in range(7) for i in range(2)))


class Ebranchformer(nn.Module):
    """Keys and values by heads, the past of two convolutions, and how many frames there were."""
    LAYERS, HEADS, LEFT, KERNEL, MERGE, CHUNK, KERNEL_IN = 2, 2, 8, 5, 3, 32, 11
    WIDE = 32

    def __init__(self):
        super().__init__()
        self.embed, self.out, head = Embed(self.KERNEL_IN), nn.Linear(DIM, DIM), DIM // self.HEADS
        def layer():
            return nn.ModuleDict(dict(q=nn.Linear(DIM, DIM), k=nn.Linear(DIM, DIM), v=nn.Linear(DIM, DIM), up=nn.Linear(DIM, self.WIDE // 2),
                                      c=nn.Conv1d(self.WIDE // 2, DIM, self.KERNEL), f=nn.Conv1d(2 * DIM, DIM, self.MERGE)))
        self.layers = nn.ModuleList(layer() for _ in range(self.LAYERS))

    def heads(self, x):
        return x.reshape(x.size(0), -1, self.HEADS, DIM // self.HEADS).transpose(1, 2)

    def forward(self, x, *states):
        x, new, lens = self.embed(x), [], states[-1]
        n = x.size(1)
        hidden = torch.arange(self.LEFT + n).unsqueeze(0) < self.LEFT - lens.unsqueeze(1)
        for i, m in enumerate(self.layers):
            key, value, conv, fusion = states[4 * i:4 * i + 4]
            keys, values = torch.cat([key, self.heads(m["k"](x))], dim=2), torch.cat([value, self.heads(m["v"](x))], dim=2)
            score = torch.matmul(self.heads(m["q"](x)), keys.transpose(2, 3)).masked_fill(hidden.unsqueeze(1).unsqueeze(1), -1e4)
            y = torch.matmul(torch.softmax(score, dim=3), values).transpose(1, 2).reshape(x.size(0), n, DIM)
            wide = torch.cat([conv, m["up"](x).transpose(1, 2)], dim=2)
            both = torch.cat([fusion, torch.cat([y, m["c"](wide).transpose(1, 2)], dim=2).transpose(1, 2)], dim=2)
            x = torch.tanh(x + m["f"](both).transpose(1, 2))
            new += [keys[:, :, -self.LEFT:], values[:, :, -self.LEFT:], wide[:, :, 1 - self.KERNEL:], both[:, :, 1 - self.MERGE:]]
        return (self.out(x), *new, lens + n)


class ConvEmformer(nn.Module):
    """A chunk is heard with the frames to its right, which the next one hears again; memory has the mean of each chunk (Shi et al. 2021,
    "Emformer"). States are memory, keys and values to the left, and the past of a convolution."""
    LAYERS, LEFT, MEMORY, KERNEL, CHUNK, KERNEL_IN, RIGHT = 2, 8, 4, 5, 32, 11, 2

    def __init__(self):
        super().__init__()
        self.embed, self.out = Embed(self.KERNEL_IN), nn.Linear(DIM, DIM)
        def layer():
            return nn.ModuleDict(dict(q=nn.Linear(DIM, DIM), k=nn.Linear(DIM, DIM), v=nn.Linear(DIM, DIM),
                                      c=nn.Conv1d(DIM, DIM, self.KERNEL, groups=DIM)))
        self.layers = nn.ModuleList(layer() for _ in range(self.LAYERS))

    def layer(self, m, x, memory, key, value, past):
        n = self.CHUNK // 4
        seen = torch.cat([memory, x], dim=0)
        keys, values = m["k"](seen), m["v"](seen)
        rows, new = slice(self.MEMORY, self.MEMORY + n), [torch.cat([memory[1:], x[:n].mean(dim=0, keepdim=True)], dim=0)]
        new += [torch.cat([old, t[rows]], dim=0)[-self.LEFT:] for old, t in ((key, keys), (value, values))]
        keys, values = (torch.cat([old, t], dim=0).transpose(0, 1) for old, t in ((key, keys), (value, values)))
        x = torch.tanh(x + attend(m["q"](x).transpose(0, 1), keys, values).transpose(0, 1))
        wide = torch.cat([past, x.permute(1, 2, 0)], dim=2)
        new.append(wide[:, :, n:n + self.KERNEL - 1])
        return x + m["c"](wide).permute(2, 0, 1), new

    def forward(self, x, *states):
        x, new = self.embed(x).transpose(0, 1), []
        for i, m in enumerate(self.layers):
            x, s = self.layer(m, x, *states[4 * i:4 * i + 4])
            new += s
        return (self.out(x[:self.CHUNK // 4]).transpose(0, 1), *new)


def conformer_form(net):
    shapes = [("attn_cache", (net.LAYERS, net.LEFT, 1, DIM), 2), ("cnn_cache", (net.LAYERS, net.KERNEL - 1, 1, DIM), 2)]
    ins = [(n, torch.zeros(s), a) for n, s, a in shapes] + [("processed_lens", torch.tensor([64]), 0)]
    meta = dict(num_encoder_layers=net.LAYERS, left_context=net.LEFT, encoder_dim=DIM, pad_length=net.KERNEL_IN - 4, cnn_module_kernel=net.KERNEL)
    return ins, ["new_attn_cache", "new_cnn_cache"], meta


def zipformer_form(net):
    def all_of(name, shape, kind=torch.float32):
        return [(f"cached_{name}_{i}", torch.zeros(shape(i), dtype=kind), 2 if name in ("key", "val", "val2") else 1) for i in range(2)]
    d, a, k, left = net.DIMS, net.ATTENTION, net.KERNELS, net.LEFT
    ins = (all_of("len", lambda i: (1, 1), torch.int64) + all_of("avg", lambda i: (1, 1, d[i])) + all_of("key", lambda i: (1, left[i], 1, a[i])) +
           all_of("val", lambda i: (1, left[i], 1, a[i] // 2)) + all_of("val2", lambda i: (1, left[i], 1, a[i] // 2)) +
           all_of("conv1", lambda i: (1, 1, d[i], k[i] - 1)) + all_of("conv2", lambda i: (1, 1, d[i], k[i] - 1)))
    meta = {key: ",".join(map(str, v)) for key, v in dict(encoder_dims=d, attention_dims=a, num_encoder_layers=(1, 1), cnn_module_kernels=k,
                                                          left_context_len=left).items()}
    return ins, ["new_" + n for n, _, _ in ins], meta


def ebranchformer_form(net):
    ins = []
    for i in range(net.LAYERS):
        cache = (1, net.HEADS, net.LEFT, DIM // net.HEADS)
        ins += [(f"cached_key_{i}", torch.zeros(cache), 0), (f"cached_value_{i}", torch.zeros(cache), 0),
                (f"cached_conv_{i}", torch.zeros(1, net.WIDE // 2, net.KERNEL - 1), 0),
                (f"cached_conv_fusion_{i}", torch.zeros(1, 2 * DIM, net.MERGE - 1), 0)]
    ins.append(("processed_lens", torch.zeros(1, dtype=torch.int64), 0))
    meta = dict(num_hidden_layers=net.LAYERS, hidden_size=DIM, intermediate_size=net.WIDE, csgu_kernel_size=net.KERNEL, merge_conv_kernel=net.MERGE,
                left_context_len=net.LEFT, num_heads=net.HEADS, head_dim=DIM // net.HEADS)
    return ins, ["new_" + n for n, _, _ in ins], meta


def conv_emformer_form(net):
    ins = []
    for i in range(net.LAYERS):
        shapes = [(net.MEMORY, 1, DIM), (net.LEFT, 1, DIM), (net.LEFT, 1, DIM), (1, DIM, net.KERNEL - 1)]
        ins += [(f"layer{i}_{k}", torch.zeros(s), 0 if k == 3 else 1) for k, s in enumerate(shapes)]
    meta = dict(num_encoder_layers=net.LAYERS, memory_size=net.MEMORY, cnn_module_kernel=net.KERNEL, right_context_length=4 * net.RIGHT,
                left_context_length=net.LEFT, encoder_dim=DIM)
    return ins, ["new_" + n for n, _, _ in ins], meta


def loud():
    """A decoder and a joiner whose tokens hang on what comes in."""
    decoder, joiner = Decoder(), Joiner()
    with torch.no_grad():
        decoder.embedding.weight *= 0.3
        joiner.out.weight *= 8
    return decoder, joiner


def make(folder, kind, net, form):
    decoder, joiner = loud()
    with torch.no_grad():
        net.out.weight *= 8
        net.embed.conv.weight *= 2
    ins, outs, meta = form(net)
    size = net.CHUNK + net.KERNEL_IN - 4 + 4 * getattr(net, "RIGHT", 0)
    axes = dict(AXES, **{n: {a: "N"} for n, _, a in ins}, **{o: {a: "N"} for o, (_, _, a) in zip(outs, ins)})
    save(net, (torch.rand(1, size, 80), *(t for _, t, _ in ins)), folder / "encoder-epoch-99-avg-1.onnx", ["x"] + [n for n, _, _ in ins],
         ["encoder_out"] + outs, axes, dict(model_type=kind, version=1, model_author="k2-fsa", decode_chunk_len=net.CHUNK, T=size, **meta))
    save(decoder, (torch.zeros(2, 2, dtype=torch.int64),), folder / "decoder-epoch-99-avg-1.onnx", ["y"], ["decoder_out"],
         {"y": {0: "N"}, "decoder_out": {0: "N"}}, dict(context_size=2, vocab_size=len(PIECES)))
    save(joiner, (torch.rand(2, DIM), torch.rand(2, DIM)), folder / "joiner-epoch-99-avg-1.onnx", ["encoder_out", "decoder_out"], ["logit"],
         {"encoder_out": {0: "N"}, "decoder_out": {0: "N"}, "logit": {0: "N"}}, dict(joiner_dim=DIM))


def folder_make(name, net, form):
    folder = Path(sys.argv[1]) / name
    folder.mkdir(parents=True, exist_ok=True)
    make(folder, name, net, form)
    (folder / "tokens.txt").write_text("".join(f"{t} {i}\n" for i, t in enumerate(PIECES)), encoding="utf-8")


def main():
    torch.manual_seed(77)
    nets = [("conformer", Conformer(), conformer_form), ("zipformer", Zipformer(), zipformer_form),
            ("ebranchformer", Ebranchformer(), ebranchformer_form)]
    for name, net, form in nets:
        folder_make(name, net, form)
    folder_make("conv-emformer", ConvEmformer(), conv_emformer_form)


main()
