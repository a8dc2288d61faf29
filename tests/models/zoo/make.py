# SPDX-License-Identifier: MIT
"""Makes the zoo: small nets of known shapes with seeded weights, for whole sequences, time an axis of S frames.

    python3 make.py export [NAME..]      writes NAME/model.onnx (Debian's python3-torch, or PyPI's newest)
    python3 make.py scans                writes dualpath_scan/model.onnx (onnx)
    python3 make.py slim   [NAME..]      gives its tensors short names (onnx)
    python3 make.py real FILE OUT        writes OUT: gtcrn with the weights of FILE, the published step form (onnx)
    python3 make.py refs   [NAME..]      writes NAME/LENGTH.OUTPUT.f32 (onnxruntime 1.24)

Inputs of a reference are noise that the tests make again: uniform in -1..1, from the generator below with seed 1.
"""
import os
import sys

import attention_nets
import paper_nets

HERE = os.path.dirname(os.path.abspath(__file__))
BY_DYNAMO = ("ulunas", "zipformer2", *attention_nets.BY_DYNAMO, *paper_nets.BY_DYNAMO)       # the rest by the exporter that traces
LENGTHS = {
    "wavenet": [220, 301], "tdnn_lstm": [40, 121], "gtcrn": [17, 40], "dualpath": [11, 32], "dfn3": [16, 37],
    "ulunas": [15, 38], "dpdfnet2": [14, 33],
    "conformer": [60, 133], "dualpath_scan": [9, 30],
    **attention_nets.LENGTHS, **paper_nets.LENGTHS,
}


def noise(count, seed=1):
    """x(n+1) = x(n) * 1664525 + 1013904223 modulo 2^32; the upper 24 bits as -1..1."""
    values = []
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        values.append((seed >> 8) / (1 << 23) - 1)
    return values


# ---- nets ----

def build():
    import torch
    from torch import nn
    import torch.nn.functional as F

    class WaveNet(nn.Module):
        """All convolutions valid: the history of 1 + 18 + 6 layers is 182 frames. Skips are cut to the last length."""
        def __init__(self, features=20, width=12, skip=16, classes=4):
            super().__init__()
            self.pre = nn.Conv1d(features, width, 3)
            self.dilations = [1] * 6 + [2] * 6 + [4] * 6 + [8] * 6
            self.filters = nn.ModuleList(nn.Conv1d(width, width, 3, dilation=d) for d in self.dilations)
            self.gates = nn.ModuleList(nn.Conv1d(width, width, 3, dilation=d) for d in self.dilations)
            self.mix = nn.ModuleList(nn.Conv1d(width, width, 1) for d in self.dilations)
            self.skips = nn.ModuleList(nn.Conv1d(width, skip, 1) for d in self.dilations)
            self.out1, self.out2 = nn.Conv1d(skip, skip, 1), nn.Conv1d(skip, classes, 1)

        def forward(self, x):
            x = self.pre(x)
            total, left = None, 2 * sum(self.dilations)
            for d, f, g, m, s in zip(self.dilations, self.filters, self.gates, self.mix, self.skips):
                left -= 2 * d
                y = torch.tanh(f(x)) * torch.sigmoid(g(x))
                k = s(y)[:, :, left:]
                total = k if total is None else total + k
                x = m(y) + x[:, :, 2 * d:]
            return torch.softmax(self.out2(F.relu(self.out1(F.relu(total)))), dim=1)

    class TdnnLstm(nn.Module):
        """Splice of 5, two layers of 3, stride 3, LSTM, two layers of 3, LSTM: the recurrences are 2 and 6 frames late."""
        def __init__(self, features=40, width=24, classes=10):
            super().__init__()
            self.lda = nn.Conv1d(features, width, 5)
            self.tdnn2 = nn.Conv1d(width, width, 3)
            self.tdnn3 = nn.Conv1d(width, width, 3, stride=3)
            self.lstm1 = nn.LSTM(width, width, batch_first=False)
            self.tdnn4 = nn.Conv1d(width, width, 3)
            self.tdnn5 = nn.Conv1d(width, width, 3)
            self.lstm2 = nn.LSTM(width, width, batch_first=False)
            self.out = nn.Linear(width, classes)

        def forward(self, x):
            x = F.relu(self.tdnn3(F.relu(self.tdnn2(F.relu(self.lda(x))))))
            x = self.lstm1(x.permute(2, 0, 1))[0].permute(1, 2, 0)
            x = F.relu(self.tdnn5(F.relu(self.tdnn4(x))))
            x = self.lstm2(x.permute(2, 0, 1))[0]
            return torch.log_softmax(self.out(x), dim=-1)

    # -- GTCRN: the published topology --

    class Bands(nn.Module):
        def __init__(self, low=65, high=64, bins=257):
            super().__init__()
            self.low = low
            self.narrow = nn.Linear(bins - low, high, bias=False)
            self.widen = nn.Linear(high, bins - low, bias=False)

        def compress(self, x):
            return torch.cat([x[..., :self.low], self.narrow(x[..., self.low:])], dim=-1)

        def expand(self, x):
            return torch.cat([x[..., :self.low], self.widen(x[..., self.low:])], dim=-1)

    def neighbours(x):
        """Each band with the one below and above it, as channels: c*3 + place."""
        p = F.pad(x, (1, 1))
        n = x.shape[-1]
        y = torch.stack([p[..., 0:n], p[..., 1:n + 1], p[..., 2:n + 2]], dim=2)
        return y.reshape(1, 3 * x.shape[1], -1, n)

    class TimeAttention(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.gru = nn.GRU(channels, 2 * channels, batch_first=True)
            self.fc = nn.Linear(2 * channels, channels)

        def forward(self, x):
            energy = torch.mean(x * x, dim=-1).transpose(1, 2)
            a = torch.sigmoid(self.fc(self.gru(energy)[0])).transpose(1, 2)
            return x * a[..., None]

    class ConvBlock(nn.Module):
        def __init__(self, cin, cout, groups=1, deconv=False, last=False):
            super().__init__()
            make = nn.ConvTranspose2d if deconv else nn.Conv2d
            self.conv = make(cin, cout, (1, 5), stride=(1, 2), padding=(0, 2), groups=groups)
            self.norm = nn.BatchNorm2d(cout)
            self.act = nn.Tanh() if last else nn.PReLU()

        def forward(self, x):
            return self.act(self.norm(self.conv(x)))

    class GroupedBlock(nn.Module):
        def __init__(self, channels, dilation, deconv=False):
            super().__init__()
            make = nn.ConvTranspose2d if deconv else nn.Conv2d
            half = channels // 2
            self.past = 2 * dilation
            self.point1, self.norm1, self.act1 = make(half * 3, channels, 1), nn.BatchNorm2d(channels), nn.PReLU()
            self.depth = make(channels, channels, (3, 3), padding=(self.past if deconv else 0, 1), dilation=(dilation, 1),
                              groups=channels)
            self.norm2, self.act2 = nn.BatchNorm2d(channels), nn.PReLU()
            self.point2, self.norm3 = make(channels, half, 1), nn.BatchNorm2d(half)
            self.attention = TimeAttention(half)

        def forward(self, x):
            a, b = torch.chunk(x, 2, dim=1)
            h = self.act1(self.norm1(self.point1(neighbours(a))))
            h = F.pad(h, (0, 0, self.past, 0))
            h = self.norm3(self.point2(self.act2(self.norm2(self.depth(h)))))
            h = self.attention(h)
            y = torch.stack([h, b], dim=2)
            return y.reshape(1, x.shape[1], -1, x.shape[3])

    class GroupedGru(nn.Module):
        def __init__(self, size, hidden, both):
            super().__init__()
            self.a = nn.GRU(size // 2, hidden // 2, batch_first=True, bidirectional=both)
            self.b = nn.GRU(size // 2, hidden // 2, batch_first=True, bidirectional=both)

        def forward(self, x):
            p, q = torch.chunk(x, 2, dim=-1)
            return torch.cat([self.a(p)[0], self.b(q)[0]], dim=-1)

    class DualPath(nn.Module):
        def __init__(self, size, width, grouped=True):
            super().__init__()
            self.size, self.width = size, width
            if grouped:
                self.intra, self.inter = GroupedGru(size, size // 2, True), GroupedGru(size, size, False)
            else:
                self.intra, self.inter = nn.GRU(size, size // 2, batch_first=True, bidirectional=True), \
                    nn.GRU(size, size, batch_first=True)
            self.intra_fc, self.inter_fc = nn.Linear(size, size), nn.Linear(size, size)
            self.intra_norm = nn.LayerNorm((width, size), eps=1e-8)
            self.inter_norm = nn.LayerNorm((width, size), eps=1e-8)

        @staticmethod
        def first(y):
            return y[0] if isinstance(y, tuple) else y

        def forward(self, x):
            x = x.permute(0, 2, 3, 1)                                       # [1, T, F, C]
            y = self.first(self.intra(x.reshape(-1, self.width, self.size)))     # time as the batch
            y = self.intra_fc(y).reshape(1, -1, self.width, self.size)
            x = x + self.intra_norm(y)
            y = x.permute(0, 2, 1, 3).reshape(self.width, -1, self.size)         # bands as the batch
            y = self.inter_fc(self.first(self.inter(y)))
            y = y.reshape(1, self.width, -1, self.size).permute(0, 2, 1, 3)
            return (x + self.inter_norm(y)).permute(0, 3, 1, 2)

    class Gtcrn(nn.Module):
        def __init__(self):
            super().__init__()
            self.bands = Bands()
            self.encoder = nn.ModuleList([ConvBlock(9, 16), ConvBlock(16, 16, groups=2), GroupedBlock(16, 1),
                                          GroupedBlock(16, 2), GroupedBlock(16, 5)])
            self.paths = nn.ModuleList([DualPath(16, 33), DualPath(16, 33)])
            self.decoder = nn.ModuleList([GroupedBlock(16, 5, True), GroupedBlock(16, 2, True), GroupedBlock(16, 1, True),
                                          ConvBlock(16, 16, groups=2, deconv=True), ConvBlock(16, 2, deconv=True, last=True)])

        def forward(self, spec):                                            # [1, 257, T, 2]
            re, im = spec[..., 0].permute(0, 2, 1), spec[..., 1].permute(0, 2, 1)
            mag = torch.sqrt(re * re + im * im + 1e-12)
            x = neighbours(self.bands.compress(torch.stack([mag, re, im], dim=1)))
            kept = []
            for layer in self.encoder:
                x = layer(x)
                kept.append(x)
            for path in self.paths:
                x = path(x)
            for layer, skip in zip(self.decoder, reversed(kept)):
                x = layer(x + skip)
            m = self.bands.expand(x)
            out = torch.stack([re * m[:, 0] - im * m[:, 1], im * m[:, 0] + re * m[:, 1]], dim=-1)
            return out.permute(0, 2, 1, 3)

    class DualPathNet(nn.Module):
        """Spectra in and out, [1, 2, T, F]; blocks over frequency and time that are not grouped."""
        def __init__(self, bins=33, size=12):
            super().__init__()
            self.inward, self.outward = nn.Conv2d(2, size, 1), nn.Conv2d(size, 2, 1)
            self.blocks = nn.ModuleList([DualPath(size, bins, grouped=False) for _ in range(3)])

        def forward(self, x):
            y = self.inward(x)
            for b in self.blocks:
                y = b(y)
            return x * torch.tanh(self.outward(y))

    # -- DeepFilterNet3: encoder and two decoders, fewer channels --

    class Separable(nn.Module):
        """Causal along time: (kernel - 1) frames of zeros in front."""
        def __init__(self, cin, cout, kernel=(1, 3), stride=1, up=False):
            super().__init__()
            make = nn.ConvTranspose2d if up else nn.Conv2d
            more = {"output_padding": (0, stride - 1)} if up else {}
            groups = min(cin, cout) if cin > 2 else 1
            self.past = kernel[0] - 1
            self.depth = make(cin, cout, kernel, stride=(1, stride), padding=(0, kernel[1] // 2), groups=groups, bias=False,
                              **more)
            self.point, self.norm = nn.Conv2d(cout, cout, 1, bias=False), nn.BatchNorm2d(cout)

        def forward(self, x):
            if self.past:
                x = F.pad(x, (0, 0, self.past, 0))
            return F.relu(self.norm(self.point(self.depth(x))))

    class GroupedLinear(nn.Module):
        def __init__(self, cin, cout, groups):
            super().__init__()
            self.groups = groups
            self.weight = nn.Parameter(torch.randn(groups, cin // groups, cout // groups) * (groups / cin) ** 0.5)

        def forward(self, x):                                               # [1, T, cin]
            y = torch.einsum("btgi,gih->btgh", x.reshape(1, -1, self.groups, x.shape[-1] // self.groups), self.weight)
            return y.reshape(1, -1, self.groups * self.weight.shape[2])

    class SqueezedGru(nn.Module):
        def __init__(self, cin, hidden, cout, layers):
            super().__init__()
            self.inward, self.gru = GroupedLinear(cin, hidden, 4), nn.GRU(hidden, hidden, num_layers=layers, batch_first=True)
            self.outward = GroupedLinear(hidden, cout, 4)

        def forward(self, x):
            return F.relu(self.outward(self.gru(F.relu(self.inward(x)))[0]))

    def flat(x):
        return x.permute(0, 2, 3, 1).reshape(1, -1, x.shape[1] * x.shape[3])

    class Dfn3(nn.Module):
        """Both feature inputs look 2 frames ahead, as published; gains of 32 bands and 5 taps for 96 bins come out."""
        def __init__(self, ch=8, bands=32, bins=96, hidden=32, order=5):
            super().__init__()
            self.ch, self.bands, self.bins, self.order = ch, bands, bins, order
            self.erb0, self.erb1 = Separable(1, ch, (3, 3)), Separable(ch, ch, stride=2)
            self.erb2, self.erb3 = Separable(ch, ch, stride=2), Separable(ch, ch)
            self.df0, self.df1 = Separable(2, ch, (3, 3)), Separable(ch, ch, stride=2)
            wide = ch * bands // 4
            self.df_fc = GroupedLinear(ch * bins // 2, wide, 4)
            self.shared = SqueezedGru(wide, hidden, wide, 1)
            self.erb_gru = SqueezedGru(wide, hidden, wide, 1)
            self.up3, self.up2, self.up1 = Separable(ch, ch), Separable(ch, ch, stride=2, up=True), \
                Separable(ch, ch, stride=2, up=True)
            self.side = nn.ModuleList([nn.Conv2d(ch, ch, 1) for _ in range(4)])
            self.gain = nn.Conv2d(ch, 1, (1, 3), padding=(0, 1))
            self.df_gru = SqueezedGru(wide, hidden, hidden, 2)
            self.df_path = nn.Conv2d(ch, 2 * order, (5, 1), bias=False)
            self.df_out = nn.Linear(hidden, bins * 2 * order)

        @staticmethod
        def ahead(x):
            return F.pad(x, (0, 0, -2, 2))

        def forward(self, erb, spec):                                       # [1, 1, T, 32], [1, 2, T, 96]
            erb, spec = self.ahead(erb), self.ahead(spec)
            e0 = self.erb0(erb)
            e1 = self.erb1(e0)
            e2 = self.erb2(e1)
            e3 = self.erb3(e2)
            c0 = self.df0(spec)
            c1 = self.df1(c0)
            emb = self.shared(flat(e3) + F.relu(self.df_fc(flat(c1))))
            d = self.erb_gru(emb).reshape(1, -1, self.bands // 4, self.ch).permute(0, 3, 1, 2)
            d = self.up3(d + self.side[3](e3))
            d = self.up2(d + self.side[2](e2))
            d = self.up1(d + self.side[1](e1))
            gain = torch.sigmoid(self.gain(d + self.side[0](e0)))
            taps = torch.tanh(self.df_out(self.df_gru(emb))).reshape(1, -1, self.bins, 2 * self.order)
            path = self.df_path(F.pad(c0, (0, 0, 4, 0))).permute(0, 2, 3, 1)
            return gain, taps + path

    # -- UL-UNAS: a U of the blocks its search found, gains for the magnitudes --

    class Slopes(nn.Module):
        """A PReLU beside a line, one of each for every channel and band."""
        def __init__(self, channels, bands):
            super().__init__()
            self.line, self.start = nn.Parameter(torch.rand(channels, 1, bands)), nn.Parameter(torch.rand(channels, 1, bands) - 0.5)
            self.act = nn.PReLU(channels)

        def forward(self, x):
            return self.line * x + self.start + self.act(x)

    class BandAttention(nn.Module):
        """Groups of neighbouring bands, a cell over them both ways in each frame."""
        def __init__(self, bands, group):
            super().__init__()
            self.group, self.short, self.gru = group, -bands % group, nn.GRU(group, group, batch_first=True, bidirectional=True)
            self.fc = nn.Linear(2 * group, group)

        def forward(self, x):
            bands = x.shape[-1]
            energy = F.pad(torch.mean(x * x, dim=1), (0, self.short)).reshape(-1, (bands + self.short) // self.group, self.group)
            a = torch.sigmoid(self.fc(self.gru(energy)[0])).reshape(1, 1, -1, bands + self.short)
            return x * a[..., :bands]

    class SearchedBlock(nn.Module):
        """kernel (frames, bands). wide: pointwise, depthwise, pointwise with a way around; else pointwise and depthwise."""
        def __init__(self, cin, cout, kernel, stride, bands, groups=1, wide=False, deconv=False, last=False):
            super().__init__()
            point = nn.ConvTranspose2d if deconv else nn.Conv2d
            self.past, self.deconv, self.groups, self.last, self.around = kernel[0] - 1, deconv, groups, last, wide and cin == cout
            size, out_bands = (kernel[0], kernel[1]), (bands - 1) * stride + 1 if deconv else (bands - 1) // stride + 1
            self.point = point(cin, cout, 1, groups=groups)
            self.norm, self.act = nn.BatchNorm2d(cout), Slopes(cout, bands)
            pads = (self.past if deconv else 0, kernel[1] // 2)
            self.depth = point(cout, cout, size, stride=(1, stride), padding=pads, groups=cout)
            self.norm2, self.act2 = nn.BatchNorm2d(cout), Slopes(cout, out_bands)
            self.point2, self.norm3 = (point(cout, cout, 1, groups=groups), nn.BatchNorm2d(cout)) if wide else (None, None)
            self.time, self.band = TimeAttention(cout), BandAttention(out_bands, 4)

        def mixed(self, x):
            """Channels of the groups in turn."""
            y = x.reshape(1, self.groups, x.shape[1] // self.groups, -1, x.shape[3])
            return y.transpose(1, 2).reshape(1, x.shape[1], -1, x.shape[3])

        def forward(self, x):
            y = self.mixed(self.act(self.norm(self.point(x))))
            y = self.norm2(self.depth(F.pad(y, (0, 0, self.past, 0)) if self.past else y))
            y = torch.sigmoid(y) if self.last else self.act2(y)
            if self.point2 is not None:
                y = self.norm3(self.point2(y))
            y = self.band(self.time(y))
            return x + y if self.around and y.shape[3] == x.shape[3] else y

    class Ulunas(nn.Module):
        def __init__(self, low=17, high=16, bins=65):
            super().__init__()
            self.bands = Bands(low, high, bins)
            self.encoder = nn.ModuleList([
                SearchedBlock(1, 6, (3, 3), 2, 33), SearchedBlock(6, 8, (2, 3), 2, 17, 2, wide=True),
                SearchedBlock(8, 8, (2, 3), 1, 9, 2), SearchedBlock(8, 8, (1, 5), 1, 9, 2, wide=True),
                SearchedBlock(8, 8, (1, 5), 1, 9, 2)])
            self.paths = nn.ModuleList([DualPath(8, 9), DualPath(8, 9)])
            self.decoder = nn.ModuleList([
                SearchedBlock(8, 8, (1, 5), 1, 9, 2, deconv=True), SearchedBlock(8, 8, (1, 5), 1, 9, 2, wide=True, deconv=True),
                SearchedBlock(8, 8, (2, 3), 1, 9, 2, deconv=True), SearchedBlock(8, 6, (2, 3), 2, 9, 2, wide=True, deconv=True),
                SearchedBlock(6, 1, (3, 3), 2, 17, deconv=True, last=True)])

        def forward(self, spec):                                            # [1, 65, T, 2]
            size = torch.sqrt(torch.sum(spec * spec, dim=-1) + 1e-12).permute(0, 2, 1)
            x = self.bands.compress(torch.log10(size)[:, None])
            kept = []
            for layer in self.encoder:
                x = layer(x)
                kept.append(x)
            for path in self.paths:
                x = path(x)
            for layer, skip in zip(self.decoder, reversed(kept)):
                x = layer(x + skip)
            return spec * self.bands.expand(x)[0, 0].transpose(0, 1)[None, :, :, None]

    # -- means that run along --

    @torch.jit.script
    def running_mean_loop(x, first):
        mean, means = first, []
        for t in range(x.size(0)):
            mean = 0.99 * mean + 0.01 * x[t]
            means.append(mean)
        return torch.stack(means)

    def running_mean(x, first):
        """[T, n]: an exponential mean over frames, a loop for the exporter that traces and a scan for the other."""
        if not torch.jit.is_tracing():
            from torch._higher_order_ops.scan import scan
            step = lambda mean, now: ((0.99 * mean + 0.01 * now).clone(), 0.99 * mean + 0.01 * now)     # noqa: E731
            return scan(step, first, x)[1]
        return running_mean_loop(x, first)

    # -- DPDFNet-2: DeepFilterNet with paths over bands and frames, its features normalised by means that run along --

    class Dpdfnet2(Dfn3):
        """The spectrum in and out. Means of 0.99 of themselves; features and the filter look 2 frames ahead."""
        def __init__(self, ch=8, bands=16, low=24, bins=49):
            super().__init__(ch, bands, low, hidden=24)
            self.all = bins
            self.widths = torch.arange(bins)[:, None] * bands // bins == torch.arange(bands)[None, :]
            self.register_buffer("spread", self.widths.float())
            self.register_buffer("erb_first", -60 - torch.arange(bands) * 30.0 / (bands - 1))
            self.register_buffer("spec_first", 0.001 - torch.arange(low) * 0.0009 / (low - 1))
            self.erb_paths = nn.ModuleList([DualPath(ch, bands // 4, grouped=False) for _ in range(2)])
            self.df_paths = nn.ModuleList([DualPath(ch, low // 2, grouped=False) for _ in range(2)])
            self.twice = nn.ModuleList([nn.Conv2d(ch, 2 * ch, (1, 3), padding=(0, 1)) for _ in range(2)])

        def wider(self, layer, x):
            """Channels in pairs become neighbouring bands."""
            y = layer(x).reshape(1, 2, self.ch, -1, x.shape[3]).permute(0, 2, 3, 4, 1)
            return F.relu(y.reshape(1, self.ch, -1, 2 * x.shape[3]))

        def features(self, spec):                                           # [1, T, bins, 2]
            power = torch.sum(spec * spec, dim=-1)[0]
            erb = 10 * torch.log10(torch.matmul(power, self.spread / self.spread.sum(0)) + 1e-10)
            erb = (erb - running_mean(erb, self.erb_first)) / 40
            low = spec[:, :, :self.bins]
            size = torch.sqrt(power[:, :self.bins] + 1e-12)
            low = low / torch.sqrt(running_mean(size, self.spec_first))[None, :, :, None]
            return self.ahead(erb[None, None]), self.ahead(low.permute(0, 3, 1, 2))

        def filtered(self, spec, taps):
            """Complex taps over 5 frames, 2 of them to come."""
            t, wide = spec.shape[1], F.pad(spec[:, :, :self.bins], (0, 0, 0, 0, 2, 2))
            taps = taps.reshape(1, -1, self.bins, self.order, 2)
            re, im = 0, 0
            for i in range(self.order):
                x, w = wide[:, i:i + t], taps[:, :, :, i]
                re = re + x[..., 0] * w[..., 0] - x[..., 1] * w[..., 1]
                im = im + x[..., 0] * w[..., 1] + x[..., 1] * w[..., 0]
            return torch.stack([re, im], dim=-1)

        def forward(self, spec):
            erb, low = self.features(spec)
            e0 = self.erb0(erb)
            e1 = self.erb1(e0)
            e2 = self.erb2(e1)
            e3 = self.erb3(e2)
            c0 = self.df0(low)
            c1 = self.df1(c0)
            for a, b in zip(self.erb_paths, self.df_paths):
                e3, c1 = a(e3), b(c1)
            emb = self.shared(flat(e3) + F.relu(self.df_fc(flat(c1))))
            d = self.erb_gru(emb).reshape(1, -1, self.bands // 4, self.ch).permute(0, 3, 1, 2)
            d = self.up3(d + self.side[3](e3))
            d = self.wider(self.twice[0], d + self.side[2](e2))
            d = self.wider(self.twice[1], d + self.side[1](e1))
            gain = torch.sigmoid(self.gain(d + self.side[0](e0)))[0, 0]
            masked = spec * torch.matmul(gain, self.spread.t())[None, :, :, None]
            taps = torch.tanh(self.df_out(self.df_gru(emb))).reshape(1, -1, self.bins, 2 * self.order)
            taps = taps + self.df_path(F.pad(c0, (0, 0, 4, 0))).permute(0, 2, 3, 1)
            return torch.cat([self.filtered(spec, taps), masked[:, :, self.bins:]], dim=2)

    # -- Conformer --

    class Attention(nn.Module):
        def __init__(self, size, heads, chunk, left):
            super().__init__()
            self.heads, self.each, self.chunk, self.left = heads, size // heads, chunk, left
            self.q, self.k, self.v, self.o = (nn.Linear(size, size) for _ in range(4))

        def split(self, x):
            return x.reshape(1, -1, self.heads, self.each).transpose(1, 2)

        def forward(self, x, apart):
            scores = torch.matmul(self.split(self.q(x)), self.split(self.k(x)).transpose(2, 3)) / self.each ** 0.5
            scores = scores.masked_fill(torch.logical_or(apart < 0, apart > self.left), float("-inf"))
            y = torch.matmul(torch.softmax(scores, dim=-1), self.split(self.v(x)))
            return self.o(y.transpose(1, 2).reshape(1, -1, self.heads * self.each))

    class Feed(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.norm, self.a, self.b = nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

        def forward(self, x):
            return self.b(F.silu(self.a(self.norm(x))))

    class Block(nn.Module):
        def __init__(self, size, heads=4, chunk=4, left=2, kernel=7):
            super().__init__()
            self.feed1, self.feed2 = Feed(size), Feed(size)
            self.norm_a, self.attention = nn.LayerNorm(size), Attention(size, heads, chunk, left)
            self.norm_c, self.gate = nn.LayerNorm(size), nn.Conv1d(size, 2 * size, 1)
            self.past, self.depth = kernel - 1, nn.Conv1d(size, size, kernel, groups=size)
            self.norm_d, self.point, self.last = nn.LayerNorm(size), nn.Conv1d(size, size, 1), nn.LayerNorm(size)

        def forward(self, x, apart):
            x = x + 0.5 * self.feed1(x)
            x = x + self.attention(self.norm_a(x), apart)
            y = F.glu(self.gate(self.norm_c(x).transpose(1, 2)), dim=1)
            y = self.depth(F.pad(y, (self.past, 0))).transpose(1, 2)
            x = x + self.point(F.silu(self.norm_d(y)).transpose(1, 2)).transpose(1, 2)
            x = x + 0.5 * self.feed2(x)
            return self.last(x)

    class Conformer(nn.Module):
        def __init__(self, features=40, size=32, blocks=2, classes=8, chunk=4):
            super().__init__()
            self.chunk = chunk
            self.sub1, self.sub2 = nn.Conv1d(features, size, 3, stride=2), nn.Conv1d(size, size, 3, stride=2)
            self.blocks = nn.ModuleList([Block(size, chunk=chunk) for _ in range(blocks)])
            self.out = nn.Linear(size, classes)

        def forward(self, x):                                               # [1, T, features]
            y = x.transpose(1, 2)
            y = F.relu(self.sub1(F.pad(y, (2, 0))))
            y = F.relu(self.sub2(F.pad(y, (2, 0)))).transpose(1, 2)
            at = torch.div(torch.arange(y.shape[1]), self.chunk, rounding_mode="floor")
            apart = at[:, None] - at[None, :]                               # chunks from key to query
            for b in self.blocks:
                y = b(y, apart)
            return torch.log_softmax(self.out(y), dim=-1)

    return {
        "wavenet": (WaveNet, [("x", [1, 20, "S"])], ["posteriors"]),
        "tdnn_lstm": (TdnnLstm, [("x", [1, 40, "S"])], ["logits"]),
        "gtcrn": (Gtcrn, [("spec", [1, 257, "S", 2])], ["out"]),
        "dualpath": (DualPathNet, [("x", [1, 2, "S", 33])], ["out"]),
        "dfn3": (Dfn3, [("erb", [1, 1, "S", 32]), ("spec", [1, 2, "S", 96])], ["gain", "taps"]),
        "ulunas": (Ulunas, [("spec", [1, 65, "S", 2])], ["out"]),
        "dpdfnet2": (Dpdfnet2, [("spec", [1, "S", 49, 2])], ["out"]),
        "conformer": (Conformer, [("x", [1, "S", 40])], ["logits"]),
        **attention_nets.build(), **paper_nets.build(),
    }


def randomised(net):
    """Norms and slopes as after training: each differs, and folding them shows."""
    import torch
    for m in net.modules():
        if isinstance(m, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
            m.running_mean.uniform_(-0.2, 0.2)
            m.running_var.uniform_(0.5, 1.5)
            m.weight.data.uniform_(0.7, 1.3)
            m.bias.data.uniform_(-0.2, 0.2)
        if isinstance(m, torch.nn.LayerNorm):
            m.weight.data.uniform_(0.7, 1.3)
            m.bias.data.uniform_(-0.2, 0.2)
        if isinstance(m, torch.nn.PReLU):
            m.weight.data.uniform_(0.1, 0.4)
    return net.eval()


def export_one(name, path, by_dynamo):
    import torch
    make, inputs, outputs = build()[name]
    torch.manual_seed(20261121)
    net = randomised(make())
    if name in paper_nets.LENGTHS:
        paper_nets.louden(net)
    example = tuple(torch.rand([d if d != "S" else LENGTHS[name][1] for d in shape]) for _, shape in inputs)
    axes = {n: {shape.index("S"): "S"} for n, shape in inputs}
    names_of = {"input_names": [n for n, _ in inputs], "output_names": outputs}
    with torch.no_grad():
        if by_dynamo:
            grow = tuple({axis: torch.export.Dim.DYNAMIC for axis in axes[n]} for n, _ in inputs)
            torch.onnx.export(net.eval(), example, path, dynamo=True, dynamic_shapes=grow, external_data=False, **names_of)
        else:
            traced = {"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}
            torch.onnx.export(net, example, path, opset_version=14, dynamic_axes=axes, do_constant_folding=True, **names_of,
                              **traced)


def export(names):
    for name in names or build():
        os.makedirs(os.path.join(HERE, name), exist_ok=True)
        path = os.path.join(HERE, name, "model.onnx")
        export_one(name, path, name in BY_DYNAMO)
        print(f"{name}: {os.path.getsize(path)} bytes")


def scans(_):
    import onnx
    import dualpath_scan
    model, folder = dualpath_scan.model(), os.path.join(HERE, "dualpath_scan")
    onnx.checker.check_model(model)
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, os.path.join(folder, "model.onnx"))


def graphs_of(graph):
    yield graph
    for attribute in (a for n in graph.node for a in n.attribute if a.HasField("g")):
        yield from graphs_of(attribute.g)


def names_shorten(graph):
    short = {v.name: v.name for v in list(graph.input) + list(graph.output)}
    short[""] = ""
    for node in graph.node:
        for side in (node.input, node.output):
            for i, tensor in enumerate(side):
                side[i] = short.setdefault(tensor, f"t{len(short)}")
    for tensor in graph.initializer:
        tensor.name = short.setdefault(tensor.name, f"t{len(short)}")


def nodes_slim(model, nameless):
    """Without what tells where a node is from; names of tensors are short where no body sees them."""
    graphs = list(graphs_of(model.graph))
    for graph in graphs:
        for of in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
            of.doc_string = ""
            del of.metadata_props[:]
        del graph.value_info[:]
        for node in graph.node if nameless else ():
            node.name = ""
    if len(graphs) == 1:
        names_shorten(model.graph)


def slim(names):
    import onnx
    for name in LENGTHS:
        path = os.path.join(HERE, name, "model.onnx")
        if (names and name not in names) or not os.path.exists(path):
            continue
        model = onnx.load(path)
        nodes_slim(model, name in paper_nets.LENGTHS)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        print(f"{name}: {os.path.getsize(path)} bytes")


def real(names):
    """Both graphs run the same layers in the same order: the k-th node of a kind has the k-th weights."""
    import onnx
    from onnx import numpy_helper
    source, out = names
    step, whole = onnx.load(source), onnx.load(os.path.join(HERE, "gtcrn", "model.onnx"))
    places = {"Conv": [1, 2], "ConvTranspose": [1, 2], "BatchNormalization": [1, 2, 3, 4], "PRelu": [1], "GRU": [1, 2, 3],
              "MatMul": [1], "Add": [0, 1], "Mul": [0, 1]}

    def weights(model, kind):
        known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        found = []
        for node in (n for n in model.graph.node if n.op_type == kind):
            row = [node.input[i] for i in places[kind] if node.input[i] in known and known[node.input[i]].size > 1 or
                   kind == "PRelu"]
            if row and (kind not in ("Add", "Mul") or known[row[0]].shape in ((8,), (16,), (33, 16))):
                found.append([(name, known[name]) for name in row])
        return found

    new = {}
    for kind in places:
        a, b = weights(step, kind), weights(whole, kind)
        assert len(a) == len(b), (kind, len(a), len(b))
        for x, y in zip(a, b):
            for (_, value), (name, old) in zip(x, y):
                assert value.shape == old.shape and name not in new, (kind, name, value.shape, old.shape)
                new[name] = value
    for tensor in whole.graph.initializer:
        if tensor.name in new:
            tensor.CopyFrom(numpy_helper.from_array(new[tensor.name], tensor.name))
    onnx.save(whole, out)
    print(f"{out}: {len(new)} tensors")


def whole_run(path, length):
    """What goes in, and what ONNX Runtime gives, by names."""
    import numpy as np
    import onnxruntime as ort
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    shapes = [[d if isinstance(d, int) else length for d in i.shape] for i in session.get_inputs()]
    counts = [int(np.prod(s)) for s in shapes]
    values, feed = noise(sum(counts)), {}
    for i, s, n in zip(session.get_inputs(), shapes, counts):
        feed[i.name] = np.array(values[:n], np.float32).reshape(s)
        values = values[n:]
    return feed, dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def refs(names):
    for name, lengths in LENGTHS.items():
        path = os.path.join(HERE, name, "model.onnx")
        if (names and name not in names) or not os.path.exists(path):
            continue
        for length in lengths:
            for output, y in whole_run(path, length)[1].items():
                y.astype("<f4").tofile(os.path.join(HERE, name, f"{length}.{output}.f32"))
                print(name, length, output, y.shape, float(abs(y).max()))


if __name__ == "__main__":
    {"export": export, "scans": scans, "slim": slim, "real": real, "refs": refs}[sys.argv[1]](sys.argv[2:])
