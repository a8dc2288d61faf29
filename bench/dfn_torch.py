# SPDX-License-Identifier: MIT
"""The shapes of two published enhancers as PyTorch modules, and the graphs that PyTorch's exporter writes of them.

    python3 dfn_torch.py FOLDER [NAME..]

dfn3_export: DeepFilterNet 3's encoder and both decoders in one graph, one frame a run, states as inputs and outputs.
dfn3_export_enc, _erb, _df: the same three parts as upstream exports them, whole sequences of S frames. dpdfnet2_export:
DPDFNet-2 at 16 kHz, one frame a run, one flat state. Weights are random; those of the dfn3 files are the same.
"""
import math
import os
import sys

import torch
from torch import nn

CHANNELS, BANDS, BINS, WIDE, HIDDEN, ORDER = 64, 32, 96, 512, 256, 5


class Causal(nn.Module):
    """Convolution, separable where channels allow, norm, activation. The frames before come as a state, or are zeros."""
    def __init__(self, cin, cout, kernel, stride=1, act=nn.ReLU, up=False):
        super().__init__()
        kt, kf = kernel
        groups = math.gcd(cin, cout)
        separable = groups > 1 and max(kernel) > 1
        self.past = kt - 1
        self.pad = nn.ConstantPad2d((0, 0, kt - 1, 0), 0.0) if kt > 1 else None
        args = dict(stride=(1, stride), padding=(0, kf // 2), groups=groups, bias=False)
        if up:
            conv = nn.ConvTranspose2d(cin, cout, kernel, output_padding=(0, stride - 1), **args)
        else:
            conv = nn.Conv2d(cin, cout, kernel, **args)
        rest = [nn.Conv2d(cout, cout, 1, bias=False)] if separable else []
        self.run = nn.Sequential(conv, *rest, nn.BatchNorm2d(cout), act())

    def forward(self, x, past=None):
        if not self.past:
            return self.run(x)
        if past is None:
            return self.run(self.pad(x))
        x = torch.cat([past, x], dim=2)
        return self.run(x), x[:, :, 1:]


class Grouped(nn.Module):
    """A linear layer in groups; `steps`: over [batch, time, features] by einsum, else over [1, features] by products."""
    def __init__(self, cin, cout, groups, steps=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(groups, cin // groups, cout // groups) * (groups / cin) ** 0.5)
        self.groups, self.steps = groups, steps

    def forward(self, x):
        if self.steps:
            x = x.view(x.shape[0], x.shape[1], self.groups, -1)
            return torch.einsum("btgi,gih->btgh", x, self.weight).flatten(2, 3)
        x = torch.matmul(x.view(self.groups, 1, -1), self.weight)
        return x.flatten().unsqueeze(0)


class Squeezed(nn.Module):
    """A grouped linear layer down, GRUs, and one up where `cout` says so."""
    def __init__(self, layers, groups, cout=WIDE):
        super().__init__()
        self.down = nn.Sequential(Grouped(WIDE, HIDDEN, groups), nn.ReLU())
        self.gru = nn.GRU(HIDDEN, HIDDEN, layers, batch_first=True)
        self.up = nn.Sequential(Grouped(HIDDEN, cout, 16), nn.ReLU()) if cout else nn.Identity()

    def forward(self, x, h=None):
        y, h = self.gru(self.down(x), h)
        return self.up(y), h


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        c = CHANNELS
        self.erb = nn.ModuleList([Causal(1, c, (3, 3)), Causal(c, c, (1, 3), 2), Causal(c, c, (1, 3), 2), Causal(c, c, (1, 3))])
        self.df = nn.ModuleList([Causal(2, c, (3, 3)), Causal(c, c, (1, 3), 2)])
        self.wide = nn.Sequential(Grouped(c * BINS // 2, WIDE, 32), nn.ReLU())
        self.gru = Squeezed(1, 8)
        self.lsnr = nn.Sequential(nn.Linear(WIDE, 1), nn.Sigmoid())

    def forward(self, erb, spec, erb_past=None, spec_past=None, h=None):
        e0, c0 = self.erb[0](erb, erb_past), self.df[0](spec, spec_past)
        pasts = []
        if erb_past is not None:
            (e0, erb_past), (c0, spec_past) = e0, c0
            pasts = [erb_past, spec_past]
        e1 = self.erb[1](e0)
        e2 = self.erb[2](e1)
        e3 = self.erb[3](e2)
        emb = e3.permute(0, 2, 3, 1).flatten(2) + self.wide(self.df[1](c0).permute(0, 2, 3, 1).flatten(2))
        emb, h = self.gru(emb, h)
        out = (e0, e1, e2, e3, emb, c0, self.lsnr(emb) * 50 - 15)
        return (*out, *pasts, h) if pasts else out


class ErbDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        c = CHANNELS
        self.gru = Squeezed(2, 16)
        self.side = nn.ModuleList([Causal(c, c, (1, 1)) for _ in range(4)])
        self.up = nn.ModuleList([Causal(c, c, (1, 3)), Causal(c, c, (1, 3), 2, up=True), Causal(c, c, (1, 3), 2, up=True)])
        self.out = Causal(c, 1, (1, 3), act=nn.Sigmoid)

    def forward(self, emb, e3, e2, e1, e0, h=None):
        b, _, t, bands = e3.shape
        emb, last = self.gru(emb, h)
        d = emb.view(b, t, bands, -1).permute(0, 3, 1, 2)
        d = self.up[0](self.side[3](e3) + d)
        d = self.up[1](self.side[2](e2) + d)
        d = self.up[2](self.side[1](e1) + d)
        m = self.out(self.side[0](e0) + d)
        return m if h is None else (m, last)


class DfDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = Squeezed(2, 16, 0)
        self.skip = Grouped(WIDE, HIDDEN, 8)
        self.path = Causal(CHANNELS, 2 * ORDER, (ORDER, 1))
        self.taps = nn.Sequential(Grouped(HIDDEN, BINS * 2 * ORDER, 16), nn.Tanh())

    def forward(self, emb, c0, past=None, h=None):
        b, t, _ = emb.shape
        c, last = self.gru(emb, h)
        c = c + self.skip(emb)
        p = self.path(c0, past)
        if past is not None:
            p, past = p
        c = self.taps(c).view(b, t, BINS, 2 * ORDER) + p.permute(0, 2, 3, 1)
        return c if past is None else (c, past, last)


class Dfn3(nn.Module):
    """One frame with its states."""
    def __init__(self):
        super().__init__()
        self.enc, self.erb, self.df = Encoder(), ErbDecoder(), DfDecoder()

    def forward(self, erb, spec, erb_past, spec_past, c0_past, enc_h, erb_h, df_h):
        e0, e1, e2, e3, emb, c0, lsnr, erb_past, spec_past, enc_h = self.enc(erb, spec, erb_past, spec_past, enc_h)
        gains, erb_h = self.erb(emb, e3, e2, e1, e0, erb_h)
        taps, c0_past, df_h = self.df(emb, c0, c0_past, df_h)
        return gains, taps, lsnr, erb_past, spec_past, c0_past, enc_h, erb_h, df_h


# ---- DPDFNet-2: every part reads its slice of one flat state and gives that slice back ----

class Flat(nn.Module):
    """`take` cuts the flat state in the order of `dims`; `size`: floats."""
    def __init__(self, *dims):
        super().__init__()
        self.dims = dims
        self.size = sum(math.prod(d) for d in dims)

    def take(self, state):
        at, parts = 0, []
        for d in self.dims:
            parts.append(state[at:at + math.prod(d)].view(d))
            at += math.prod(d)
        return parts


def flat(*parts):
    return torch.cat([p.flatten() for p in parts])


def pushed(ring, x, axis):
    """The frames of the ring but the oldest, then x."""
    return torch.cat([ring.narrow(axis, 1, ring.shape[axis] - 1), x], dim=axis)


class Cells(nn.Module):
    """Squeezed GRUs of one step, as cells; x is [1, features], h [layers, HIDDEN]."""
    def __init__(self, layers, cout=WIDE):
        super().__init__()
        self.down = nn.Sequential(Grouped(WIDE, HIDDEN, 16, False), nn.ReLU())
        self.cells = nn.ModuleList([nn.GRUCell(HIDDEN, HIDDEN) for _ in range(layers)])
        self.up = nn.Sequential(Grouped(HIDDEN, cout, 16, False), nn.ReLU()) if cout else nn.Identity()

    def forward(self, x, h):
        x, new = self.down(x), []
        for i, cell in enumerate(self.cells):
            x = cell(x, h[i:i + 1])
            new.append(x)
        return self.up(x), torch.cat(new)


class DualPath(Flat):
    """Over frequency both ways, then each band over time; x is [1, C, 1, width]."""
    def __init__(self, width):
        super().__init__((width, CHANNELS))
        c = CHANNELS
        self.across = nn.GRU(c, c, batch_first=True, bidirectional=True)
        self.along = nn.GRUCell(c, c)
        self.fc = nn.ModuleList([nn.Linear(2 * c, c), nn.Linear(c, c)])
        self.norm = nn.ModuleList([nn.LayerNorm(c), nn.LayerNorm(c)])

    def forward(self, x, state):
        h, = self.take(state)
        b, c, t, width = x.shape
        x = x.permute(0, 2, 3, 1).reshape(b * t, width, c)
        x = x + self.norm[0](self.fc[0](self.across(x)[0]))
        y = x.reshape(width, c)
        h = self.along(y, h)
        y = y + self.norm[1](self.fc[1](h))
        return y.view(b, t, width, c).permute(0, 3, 1, 2), flat(h)


class FlatEncoder(Flat):
    def __init__(self, blocks):
        super().__init__((1, 1, 3, BANDS), (1, 2, 3, BINS), (1, HIDDEN),
                         *[(w * CHANNELS,) for w in (BANDS // 4, BINS // 2) for _ in range(blocks)])
        c = CHANNELS
        self.erb = nn.ModuleList([Causal(1, c, (3, 3)), Causal(c, c, (1, 3), 2), Causal(c, c, (1, 3), 2), Causal(c, c, (1, 3))])
        self.df = nn.ModuleList([Causal(2, c, (3, 3)), Causal(c, c, (1, 3), 2)])
        self.erb_paths = nn.ModuleList([DualPath(BANDS // 4) for _ in range(blocks)])
        self.df_paths = nn.ModuleList([DualPath(BINS // 2) for _ in range(blocks)])
        self.wide = nn.Sequential(Grouped(c * BINS // 2, WIDE, 32, False), nn.ReLU())
        self.gru = Cells(1)

    def forward(self, erb, spec, state):
        erb_ring, spec_ring, h, *rest = self.take(state)
        erb_ring, spec_ring = pushed(erb_ring, erb, 2), pushed(spec_ring, spec, 2)
        e0, c0 = self.erb[0].run(erb_ring), self.df[0].run(spec_ring)
        e1 = self.erb[1](e0)
        e2 = self.erb[2](e1)
        e3, c1, kept = self.erb[3](e2), self.df[1](c0), []
        for path in self.erb_paths:
            e3, s = path(e3, rest[len(kept)])
            kept.append(s)
        for path in self.df_paths:
            c1, s = path(c1, rest[len(kept)])
            kept.append(s)
        emb = e3.permute(0, 2, 3, 1).flatten(1) + self.wide(c1.permute(0, 2, 3, 1).flatten(1))
        emb, h = self.gru(emb, h)
        return (e0, e1, e2, e3), c0, emb, flat(erb_ring, spec_ring, h, *kept)


class SubPixel(nn.Module):
    """Twice as many bands: channels interleaved."""
    def __init__(self):
        super().__init__()
        c = CHANNELS
        self.run = nn.Sequential(nn.Conv2d(c, c, (1, 3), padding=(0, 1), groups=c, bias=False),
                                 nn.Conv2d(c, 2 * c, 1, bias=False), nn.BatchNorm2d(2 * c), nn.ReLU())

    def forward(self, x):
        y = self.run(x)
        b, c, t, width = y.shape
        y = y.view(b, c // 2, 2, t, width).permute(0, 1, 3, 4, 2)
        return y.reshape(b, c // 2, t, 2 * width)


class FlatErbDecoder(Flat):
    def __init__(self):
        super().__init__((2, HIDDEN))
        c = CHANNELS
        self.gru = Cells(2)
        self.side = nn.ModuleList([Causal(c, c, (1, 1)) for _ in range(4)])
        self.up = nn.ModuleList([Causal(c, c, (1, 3)), SubPixel(), SubPixel()])
        self.out = Causal(c, 1, (1, 3), act=nn.Sigmoid)

    def forward(self, emb, skips, state):
        h, = self.take(state)
        emb, h = self.gru(emb, h)
        d = emb.view(1, 1, -1, CHANNELS).permute(0, 3, 1, 2)
        for i, up in enumerate(self.up):
            d = up(self.side[3 - i](skips[3 - i]) + d)
        return self.out(self.side[0](skips[0]) + d), flat(h)


class FlatDfDecoder(Flat):
    def __init__(self):
        super().__init__((1, CHANNELS, ORDER, BINS), (2, HIDDEN))
        self.gru = Cells(2, 0)
        self.skip = Grouped(WIDE, HIDDEN, 16, False)
        self.path = Causal(CHANNELS, 2 * ORDER, (ORDER, 1))
        self.taps = nn.Sequential(Grouped(HIDDEN, BINS * 2 * ORDER, 16, False), nn.Tanh())

    def forward(self, emb, c0, state):
        ring, h = self.take(state)
        ring = pushed(ring, c0, 2)
        c, h = self.gru(emb, h)
        c = self.taps(c + self.skip(emb)).view(1, 1, BINS, 2 * ORDER)
        return c + self.path.run(ring).permute(0, 2, 3, 1), flat(ring, h)


class OnePole(nn.Module):
    """An exponential mean over frames."""
    def forward(self, x, mean):
        return mean * 0.99 + x * 0.01


class Mask(Flat):
    """Gains of bands upon the frame of two frames ago."""
    def __init__(self, bins):
        super().__init__((1, 3, bins, 2))
        self.register_buffer("wide", bands_of(bins).t())

    def forward(self, spec, gains, state):
        ring = pushed(self.take(state)[0], spec, 1)
        return ring[:, :1] * torch.matmul(gains, self.wide).unsqueeze(-1), flat(ring)


class DeepFilter(Flat):
    """Complex taps of two frames ago over the last five frames of the noisy low bins; the masked spectrum above them."""
    def __init__(self, bins):
        super().__init__((1, ORDER, bins, 2), (1, 3, BINS, 2 * ORDER))

    def forward(self, noisy, masked, taps, state):
        spec, late = self.take(state)
        spec, late = pushed(spec, noisy, 1), pushed(late, taps, 1)
        w = late[:, :1].view(1, BINS, ORDER, 2).permute(0, 2, 1, 3)
        x = spec[:, :, :BINS]
        real = (x[..., 0] * w[..., 0]).sum(1) - (x[..., 1] * w[..., 1]).sum(1)
        imag = (x[..., 0] * w[..., 1]).sum(1) + (x[..., 1] * w[..., 0]).sum(1)
        low = torch.stack([real, imag], dim=-1).unsqueeze(1)
        return torch.cat([low, masked[:, :, BINS:]], dim=2), flat(spec, late)


def bands_of(bins):
    """Overlapping bands of six bins; [bins, BANDS]."""
    return torch.tensor([[1 / 5 if 5 * b <= k < 5 * b + 6 else 0.0 for b in range(BANDS)] for k in range(bins)])


class Dpdfnet(nn.Module):
    def __init__(self, blocks=2, bins=161):
        super().__init__()
        self.bins, self.mean = bins, OnePole()
        self.register_buffer("bands", bands_of(bins))
        self.enc, self.erb, self.df = FlatEncoder(blocks), FlatErbDecoder(), FlatDfDecoder()
        self.mask, self.filter = Mask(bins), DeepFilter(bins)
        parts = (self.enc, self.erb, self.df, self.mask, self.filter)
        self.sizes = [BANDS, BINS, *(p.size for p in parts)]

    def features(self, spec, erb_mean, spec_mean):
        erb = 10 * torch.log10(torch.matmul(spec.pow(2).sum(-1), self.bands) + 1e-10)
        erb_mean = self.mean(erb.view(-1), erb_mean)
        low = spec[:, :, :BINS]
        spec_mean = self.mean(low.pow(2).sum(-1).sqrt().view(-1), spec_mean)
        erb = ((erb - erb_mean) / 40).unsqueeze(1)
        low = low / (spec_mean.sqrt() + 1e-6).view(1, 1, -1, 1)
        return erb, low.squeeze(1).permute(0, 2, 1).unsqueeze(2), erb_mean, spec_mean

    def forward(self, spec, state_in):
        at, s = 0, []
        for size in self.sizes:
            s.append(state_in[at:at + size])
            at += size
        erb, low, s[0], s[1] = self.features(spec, s[0], s[1])
        skips, c0, emb, s[2] = self.enc(erb, low, s[2])
        gains, s[3] = self.erb(emb, skips, s[3])
        taps, s[4] = self.df(emb, c0, s[4])
        masked, s[5] = self.mask(spec, gains.squeeze(1), s[5])
        out, s[6] = self.filter(spec, masked, taps, s[6])
        return out, torch.cat(s)


def seeded(make):
    """The module with weights, norms and their statistics of one seed."""
    torch.manual_seed(1)
    m = make().eval()
    with torch.no_grad():
        for part in m.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.1)
                part.running_var.uniform_(0.5, 1.5)
                part.weight.uniform_(0.5, 1.5)
                part.bias.normal_(0, 0.1)
            if isinstance(part, nn.LayerNorm):
                part.weight.uniform_(0.5, 1.5)
                part.bias.normal_(0, 0.1)
    return m


def export(path, module, args, ins, outs, opset, steps=None):
    """steps: name of the axis over time by port, where the file is to hold whole sequences."""
    axes = {n: {a: "S"} for n, a in steps.items()} if steps else None
    torch.onnx.export(module, args, path, input_names=ins, output_names=outs, opset_version=opset, dynamic_axes=axes)


DFN3_STATES = {"erb_past": (1, 1, 2, BANDS), "spec_past": (1, 2, 2, BINS), "c0_past": (1, CHANNELS, ORDER - 1, BINS),
               "enc_h": (1, 1, HIDDEN), "erb_h": (2, 1, HIDDEN), "df_h": (2, 1, HIDDEN)}


def dfn3(path):
    ins = {"erb": (1, 1, 1, BANDS), "spec": (1, 2, 1, BINS), **DFN3_STATES}
    args = tuple(torch.randn(d) for d in ins.values())
    outs = ["gains", "taps", "lsnr"] + [s + "_out" for s in DFN3_STATES]
    export(path, seeded(Dfn3), args, list(ins), outs, 14)


def dfn3_part(path, part):
    m, s = getattr(seeded(Dfn3), part), 7
    e = {f"e{i}": (torch.randn(1, CHANNELS, s, BANDS >> min(i, 2)), 2) for i in range(4)}
    emb, c0 = {"emb": (torch.randn(1, s, WIDE), 1)}, {"c0": (torch.randn(1, CHANNELS, s, BINS), 2)}
    ins, outs = {
        "enc": ({"feat_erb": (torch.randn(1, 1, s, BANDS), 2), "feat_spec": (torch.randn(1, 2, s, BINS), 2)},
                {**{k: v[1] for k, v in e.items()}, "emb": 1, "c0": 2, "lsnr": 1}),
        "erb": ({**emb, **dict(reversed(e.items()))}, {"m": 2}),
        "df": ({**emb, **c0}, {"coefs": 1}),
    }[part]
    steps = {**{k: v[1] for k, v in ins.items()}, **outs}
    export(path, m, tuple(v[0] for v in ins.values()), list(ins), list(outs), 14, steps)


def dpdfnet2(path):
    m = seeded(Dpdfnet)
    args = (torch.randn(1, 1, m.bins, 2), torch.randn(sum(m.sizes)).abs())
    export(path, m, args, ["spec", "state_in"], ["spec_e", "state_out"], 17)


NETS = {"dpdfnet2_export": (dpdfnet2,), "dfn3_export": (dfn3,)}
NETS |= {f"dfn3_export_{p}": (dfn3_part, p) for p in ("enc", "erb", "df")}


def make(folder, name):
    """The path of the net, made where it is not there yet."""
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        function, *args = NETS[name]
        function(path + ".new", *args)
        os.replace(path + ".new", path)
    return path


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in sys.argv[2:] or NETS:
        make(sys.argv[1], each)
