# SPDX-License-Identifier: MIT
"""Nets for whole recordings, small definitions of our own after the papers: a causal Demucs with resampling (Défossez 2020), Conv-TasNet
with cumulative norms (Luo 2019), BC-ResNet (Kim 2021), MarbleNet (Jia 2021), HiFi-GAN (Kong 2020), PyanNet without norms over whole
recordings and one way (Bredin 2020), FullSubNet with means so far (Hao 2021), and a dual-path net (Luo 2020) whose cells are loops."""

LENGTHS = {"demucs": [203, 518], "convtasnet": [160, 417], "bcresnet": [21, 50], "marblenet": [40, 121], "hifigan": [14, 33],
           "pyannet": [1300, 2911], "fullsubnet": [15, 36], "dualpath_loops": [9, 30]}
BY_DYNAMO = ("convtasnet", "bcresnet", "dualpath_loops")


def louden(net):
    """Weights keep the size of what they read, so that every layer is heard in the output."""
    from torch import nn
    for m in net.modules():
        if isinstance(m, (nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.Linear)):
            m.weight.data *= 3 ** 0.5


def build():
    import torch
    from torch import nn
    import torch.nn.functional as F

    def places(frames):
        return torch.arange(1, frames + 1).float()

    class Demucs(nn.Module):
        """Causal: the recording is padded to what the layers take, computed at twice its rate, and cut to its length."""
        def __init__(self, widths=(1, 6, 12)):
            super().__init__()
            pairs = list(zip(widths, widths[1:]))
            self.down = nn.ModuleList([nn.Conv1d(a, b, 8, stride=4) for a, b in pairs])
            self.gates = nn.ModuleList([nn.Conv1d(b, 2 * b, 1) for _, b in pairs])
            self.back = nn.ModuleList([nn.Conv1d(b, 2 * b, 1) for _, b in pairs])
            self.up = nn.ModuleList([nn.ConvTranspose1d(b, a, 8, stride=4) for a, b in pairs])
            self.cell = nn.LSTM(widths[-1], widths[-1])

        def forward(self, x):                                               # [1, 1, T]
            length, skips = x.shape[2], []
            x = F.interpolate(F.pad(x, (0, (10 - length) % 8)), scale_factor=2.0, mode="linear", align_corners=False)
            for conv, gate in zip(self.down, self.gates):
                x = F.glu(gate(F.relu(conv(x))), dim=1)
                skips.append(x)
            x = self.cell(x.permute(2, 0, 1))[0].permute(1, 2, 0)
            for i in (1, 0):
                x = self.up[i](F.glu(self.back[i](x + skips[i]), dim=1))
                x = F.relu(x) if i else x
            return F.interpolate(x, scale_factor=0.5, mode="linear", align_corners=False)[:, :, :length]

    class CumulativeNorm(nn.Module):
        """Mean and variance over channels and all frames so far."""
        def __init__(self, width):
            super().__init__()
            self.width = width
            self.gain, self.bias = [nn.Parameter(at + 0.1 * torch.randn(1, width, 1)) for at in (1.0, 0.0)]

        def forward(self, x):
            count = places(x.shape[2]) * self.width
            sums, powers = x.sum(1, keepdim=True).cumsum(2), x.pow(2).sum(1, keepdim=True).cumsum(2)
            mean = sums / count
            spread = (powers - 2 * mean * sums) / count + mean.pow(2)
            return (x - mean) / (spread + 1e-5).sqrt() * self.gain + self.bias

    class TasBlock(nn.Module):
        def __init__(self, width, inner, dilation):
            super().__init__()
            self.wide, self.act, self.norm = nn.Conv1d(width, inner, 1), nn.PReLU(), CumulativeNorm(inner)
            self.past, self.depth = 2 * dilation, nn.Conv1d(inner, inner, 3, dilation=dilation, groups=inner)
            self.act2, self.norm2, self.out = nn.PReLU(), CumulativeNorm(inner), nn.Conv1d(inner, width, 1)

        def forward(self, x):
            y = F.pad(self.norm(self.act(self.wide(x))), (self.past, 0))
            return x + self.out(self.norm2(self.act2(self.depth(y))))

    class ConvTasNet(nn.Module):
        def __init__(self, basis=16, width=8):
            super().__init__()
            self.encode, self.norm = nn.Conv1d(1, basis, 16, stride=8), CumulativeNorm(basis)
            self.narrow, self.mask = nn.Conv1d(basis, width, 1), nn.Conv1d(width, basis, 1)
            self.blocks = nn.Sequential(*[TasBlock(width, basis, d) for d in (1, 2, 4)])
            self.decode = nn.ConvTranspose1d(basis, 1, 16, stride=8)

        def forward(self, x):                                               # [1, 1, T]
            mixed = F.relu(self.encode(x))
            return self.decode(mixed * torch.sigmoid(self.mask(self.blocks(self.narrow(self.norm(mixed))))))

    class BroadcastBlock(nn.Module):
        """Residuals over bands, normalised by sub-band, and a mean over them that sees frames to both sides."""
        def __init__(self, width, parts, dilation):
            super().__init__()
            self.width, self.parts = width, parts
            self.bands = nn.Conv2d(width, width, (3, 1), padding=(1, 0), groups=width, bias=False)
            self.part_norm, self.norm = nn.BatchNorm2d(width * parts), nn.BatchNorm2d(width)
            self.frames = nn.Conv2d(width, width, (1, 3), padding=(0, dilation), dilation=(1, dilation), groups=width, bias=False)
            self.point = nn.Conv2d(width, width, 1, bias=False)

        def forward(self, x):
            y = self.bands(x)
            y = self.part_norm(y.view(1, self.width * self.parts, y.shape[2] // self.parts, -1)).view(1, self.width, y.shape[2], -1)
            return F.relu(x + y + self.point(F.silu(self.norm(self.frames(y.mean(2, keepdim=True))))))

    class BcResNet(nn.Module):
        def __init__(self, width=8, classes=12):
            super().__init__()
            self.first = nn.Conv2d(1, width, 5, stride=(2, 1), padding=2, bias=False)
            self.norm = nn.BatchNorm2d(width)
            self.blocks = nn.Sequential(BroadcastBlock(width, 5, 1), BroadcastBlock(width, 5, 2))
            self.last = nn.Conv2d(width, width, 5, padding=(0, 2), groups=width, bias=False)
            self.out = nn.Conv2d(width, classes, 1, bias=False)

        def forward(self, x):                                               # [1, 1, bands, T]
            x = self.blocks(F.relu(self.norm(self.first(x))))
            return torch.softmax(self.out(self.last(x)).mean(2), dim=1)

    class Separable(nn.Sequential):
        def __init__(self, inputs, outputs, size, dilation=1):
            super().__init__(nn.Conv1d(inputs, inputs, size, padding=(size - 1) * dilation // 2, dilation=dilation, groups=inputs),
                             nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs))

    class MarbleNet(nn.Module):
        def __init__(self, features=32, width=24):
            super().__init__()
            self.first, self.last = Separable(features, width, 11), Separable(width, 32, 29, 2)
            self.one = nn.ModuleList([Separable(width, width, k) for k in (13, 15)])
            self.two = nn.ModuleList([Separable(width, width, k) for k in (13, 15)])
            self.by = nn.ModuleList([nn.Sequential(nn.Conv1d(width, width, 1), nn.BatchNorm1d(width)) for _ in range(2)])
            self.out = nn.Conv1d(32, 2, 1)

        def forward(self, x):                                               # [1, features, T]
            x = F.relu(self.first(x))
            for one, two, by in zip(self.one, self.two, self.by):
                x = F.relu(two(F.relu(one(x))) + by(x))
            return torch.softmax(self.out(F.relu(self.last(x))), dim=1)

    class Residuals(nn.Module):
        def __init__(self, width, size):
            super().__init__()
            self.one = nn.ModuleList([nn.Conv1d(width, width, size, dilation=d, padding=(size - 1) * d // 2) for d in (1, 3)])
            self.two = nn.ModuleList([nn.Conv1d(width, width, size, padding=size // 2) for _ in (1, 3)])

        def forward(self, x):
            for one, two in zip(self.one, self.two):
                x = x + two(F.leaky_relu(one(F.leaky_relu(x, 0.1)), 0.1))
            return x

    class HifiGan(nn.Module):
        """The generator."""
        def __init__(self, mels=20, width=32):
            super().__init__()
            self.first, self.last = nn.Conv1d(mels, width, 7, padding=3), nn.Conv1d(width // 4, 1, 7, padding=3)
            self.up = nn.ModuleList([nn.ConvTranspose1d(width, width // 2, 8, 4, padding=2),
                                     nn.ConvTranspose1d(width // 2, width // 4, 4, 2, padding=1)])
            self.fields = nn.ModuleList([nn.ModuleList([Residuals(width // n, k) for k in (3, 7)]) for n in (2, 4)])

        def forward(self, x):                                               # [1, mels, T]
            x = self.first(x)
            for up, (a, b) in zip(self.up, self.fields):
                x = up(F.leaky_relu(x, 0.1))
                x = (a(x) + b(x)) / 2
            return torch.tanh(self.last(F.leaky_relu(x)))

    class PyanNet(nn.Module):
        def __init__(self, width=12, hidden=16, classes=7):
            super().__init__()
            self.sinc = nn.Conv1d(1, hidden, 51, stride=10)
            self.convs = nn.ModuleList([nn.Conv1d(hidden, width, 5), nn.Conv1d(width, width, 5)])
            self.cells, self.out = nn.LSTM(width, hidden, num_layers=2, batch_first=True), nn.Linear(hidden, classes)

        def forward(self, x):                                               # [1, 1, T]
            x = F.leaky_relu(F.max_pool1d(self.sinc(x).abs(), 3))
            for conv in self.convs:
                x = F.leaky_relu(F.max_pool1d(conv(x), 3))
            return torch.softmax(self.out(self.cells(x.transpose(1, 2))[0]), dim=-1)

    class FullSubNet(nn.Module):
        """A full band, and bands with two neighbours each side; each over the mean of its frames so far."""
        def __init__(self, bands=17, full=24, sub=12):
            super().__init__()
            self.bands = bands
            self.full, self.full_out = nn.LSTM(bands, full), nn.Linear(full, bands)
            self.sub, self.sub_out = nn.LSTM(6, sub), nn.Linear(sub, 2)

        def normalised(self, x):
            means = x.mean((1, 2), keepdim=True)
            return x / (means.cumsum(3) / places(x.shape[3]) + 1e-5)

        def forward(self, x):                                               # [1, 1, bands, T]
            x = x.abs()
            full = self.full(self.normalised(x)[:, 0].permute(2, 0, 1))[0]
            full = F.relu(self.full_out(full)).permute(1, 2, 0)[:, None]
            padded = F.pad(x, (0, 0, 2, 2), mode="reflect")
            near = [padded[:, :, i:i + self.bands] for i in range(5)]
            rows = self.normalised(torch.cat([*near, full], dim=1))[0].permute(2, 1, 0)
            return self.sub_out(self.sub(rows)[0]).permute(2, 1, 0)

    # -- a dual-path net whose cells are loops --

    def gru_step(x, h, w_ih, w_hh):
        zx, rx, nx = x.matmul(w_ih).chunk(3, dim=-1)
        zh, rh, nh = h.matmul(w_hh).chunk(3, dim=-1)
        n = torch.tanh(nx + torch.sigmoid(rx + rh) * nh)
        return n + torch.sigmoid(zx + zh) * (h - n)

    gru_scripted = torch.jit.script(gru_step)

    @torch.jit.script
    def gru_loop(x, h, w_ih, w_hh):
        states = []
        for t in range(x.size(0)):
            h = gru_scripted(x[t], h, w_ih, w_hh)
            states.append(h)
        return torch.stack(states)

    def gru_along(x, h, w_ih, w_hh):
        """[T, rows, n]: a loop for the exporter that traces, a scan for the other."""
        if torch.jit.is_tracing():
            return gru_loop(x, h, w_ih, w_hh)
        from torch._higher_order_ops.scan import scan

        def step(h, x):
            new = gru_step(x, h, w_ih, w_hh)
            return new, new.clone()
        return scan(step, h, x)[1]

    class Gru(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.w_ih, self.w_hh = [nn.Parameter(torch.randn(width, 3 * width) / width ** 0.5) for _ in range(2)]

        def forward(self, x):
            return gru_along(x, torch.zeros_like(x[0]), self.w_ih, self.w_hh)

    class LoopBlock(nn.Module):
        """Both ways over the bands of a frame, whose steps see all frames, and over time, whose steps see all bands."""
        def __init__(self, width):
            super().__init__()
            self.up, self.down, self.time = Gru(width), Gru(width), Gru(width)
            self.mix, self.norm = nn.Linear(2 * width, width), nn.LayerNorm(width)

        def forward(self, x):                                               # [bands, T, width]
            both = torch.cat([self.up(x), self.down(x.flip(0)).flip(0)], dim=-1)
            x = x + self.norm(self.mix(both))
            return x + self.time(x.transpose(0, 1)).transpose(0, 1)

    class DualPathLoops(nn.Module):
        def __init__(self, width=4, blocks=3):
            super().__init__()
            self.front, self.back = nn.Linear(2, width), nn.Linear(width, 2)
            self.blocks = nn.Sequential(*[LoopBlock(width) for _ in range(blocks)])

        def forward(self, x):                                               # [1, 2, T, bands]
            y = self.back(self.blocks(self.front(x[0].permute(2, 1, 0))))
            return x * torch.tanh(y.permute(2, 1, 0)[None])

    return {
        "demucs": (Demucs, [("x", [1, 1, "S"])], ["out"]),
        "convtasnet": (ConvTasNet, [("x", [1, 1, "S"])], ["out"]),
        "bcresnet": (BcResNet, [("x", [1, 1, 40, "S"])], ["out"]),
        "marblenet": (MarbleNet, [("x", [1, 32, "S"])], ["out"]),
        "hifigan": (HifiGan, [("x", [1, 20, "S"])], ["out"]),
        "pyannet": (PyanNet, [("x", [1, 1, "S"])], ["out"]),
        "fullsubnet": (FullSubNet, [("x", [1, 1, 17, "S"])], ["out"]),
        "dualpath_loops": (DualPathLoops, [("x", [1, 2, "S", 9])], ["out"]),
    }
