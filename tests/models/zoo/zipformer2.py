# SPDX-License-Identifier: MIT
"""A streaming Zipformer2, a definition of our own after the paper (Yao et al. 2024): six stacks of 2, 2, 3, 4, 3 and 2 layers at 1, 2, 4,
8, 4 and 2 times fewer frames, the counts of icefall's recipes, and small widths. One call takes a chunk of features and 98 states,
6 of each of 16 layers and 2 more, and gives the same states as they are behind it. Ports have the names of icefall's exports.

    python3 zipformer2.py export [dynamo] [FILE]    writes zipformer2/net.onnx, by the exporter that traces or by the other
    python3 zipformer2.py slim                      gives its tensors short names
    python3 zipformer2.py refs                      writes zipformer2/FRAMES.encoder_out.f32: ONNX Runtime, step by step"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS, DOWN, WIDTHS, KERNELS = (2, 2, 3, 4, 3, 2), (1, 2, 4, 8, 4, 2), (8, 12, 16, 20, 16, 12), (15, 15, 7, 7, 7, 15)
HEADS, QUERY, PLACE, VALUE, PLACES, FEATURES = 2, 4, 2, 3, 8, 20
CHUNK, LEFT = 16, 32                    # frames of the first stack
SIZE, HOP = 2 * CHUNK + 13, 2 * CHUNK   # frames of features
LENGTHS = [SIZE + 7 * HOP, SIZE + 10 * HOP + 5]
OF_LAYER = ("key", "nonlin_attn", "val1", "val2", "conv1", "conv2")


def build():
    import math
    import torch
    from torch import nn
    import torch.nn.functional as F

    def swoosh_l(x):
        return F.softplus(x - 4.0) - 0.08 * x - 0.035

    def swoosh_r(x):
        return F.softplus(x - 1.0) - 0.08 * x - 0.313261687

    def joined(state, x, dim, left):
        """What a layer sees, and the frames of it that it keeps."""
        x = torch.cat([state, x], dim=dim)
        return x, x.narrow(dim, x.shape[dim] - left, left)

    class BiasNorm(nn.Module):
        def __init__(self, size, dim=-1):
            super().__init__()
            self.dim, self.log_scale = dim, nn.Parameter(torch.tensor(0.1))
            self.bias = nn.Parameter(0.1 * torch.randn([size] + [1] * (-1 - dim)))

        def forward(self, x):
            return x * (x - self.bias).pow(2).mean(self.dim, keepdim=True).pow(-0.5) * self.log_scale.exp()

    class Bypass(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.scale = nn.Parameter(0.3 + 0.4 * torch.rand(size))

        def forward(self, old, new):
            return old + (new - old) * self.scale

    class Feed(nn.Sequential):
        def __init__(self, size, inner):
            super().__init__(nn.Linear(size, inner), Swoosh(), nn.Linear(inner, size))

    class Swoosh(nn.Module):
        def forward(self, x):
            return swoosh_l(x)

    def places(chunk, left):
        """Sines of distances, squeezed where they are far: [left + 2 chunk - 1, PLACES]."""
        x = torch.arange(-(left + chunk - 1), chunk).float()[:, None]
        near = PLACES ** 0.5 * x.sign() * ((x.abs() + PLACES ** 0.5).log() - math.log(PLACES ** 0.5))
        turn = torch.atan(near * math.pi / PLACES) * (1 + torch.arange(PLACES // 2))
        table = torch.stack([turn.cos(), turn.sin()], dim=2).reshape(-1, PLACES)
        return torch.cat([table[:, :-1], torch.ones(len(table), 1)], dim=1)

    class Weights(nn.Module):
        """By content and by distance; one for two values and the convolved ones."""
        def __init__(self, size, chunk, left):
            super().__init__()
            self.chunk, self.left = chunk, left
            self.front = nn.Linear(size, (2 * QUERY + PLACE) * HEADS)
            self.linear_pos = nn.Linear(PLACES, HEADS * PLACE, bias=False)
            self.register_buffer("table", places(chunk, left))
            self.register_buffer("rows", torch.arange(chunk - 1, -1, -1)[:, None] + torch.arange(chunk + left))

        def forward(self, x, hidden, cached_key):                           # [T, N, size], [N, left + T]
            q, k, p = self.front(x).split([QUERY * HEADS] * 2 + [PLACE * HEADS], dim=2)
            k, cached_key = joined(cached_key, k, 0, self.left)
            q, p = [y.reshape(self.chunk, -1, HEADS, y.shape[2] // HEADS).permute(2, 1, 0, 3) for y in (q, p)]
            k = k.reshape(self.chunk + self.left, -1, HEADS, QUERY).permute(2, 1, 3, 0)
            far = self.linear_pos(self.table).reshape(-1, HEADS, PLACE).permute(1, 2, 0)[:, None]
            near = torch.gather(torch.matmul(p, far), 3, self.rows.expand(HEADS, 1, -1, -1))
            scores = (torch.matmul(q, k) + near).masked_fill(hidden[:, None], -1000.0)
            return scores.softmax(-1), cached_key                           # [HEADS, N, T, left + T]

    class Values(nn.Module):
        def __init__(self, size, left):
            super().__init__()
            self.left, self.front, self.out = left, nn.Linear(size, HEADS * VALUE), nn.Linear(HEADS * VALUE, size)

        def forward(self, x, weights, cached):
            v, cached = joined(cached, self.front(x), 0, self.left)
            v = v.reshape(v.shape[0], -1, HEADS, VALUE).permute(2, 1, 0, 3)
            y = torch.matmul(weights, v).permute(2, 1, 0, 3)
            return self.out(y.reshape(y.shape[0], -1, HEADS * VALUE)), cached

    class NonlinAttention(nn.Module):
        def __init__(self, size, left):
            super().__init__()
            self.left, inner = left, 3 * size // 4
            self.front, self.out = nn.Linear(size, 3 * inner), nn.Linear(inner, size)

        def forward(self, x, weights, cached):
            s, x, y = self.front(x).chunk(3, dim=2)
            x, cached = joined(cached, (x * torch.tanh(s)).permute(1, 0, 2)[None], 2, self.left)
            return self.out(torch.matmul(weights, x)[0].permute(1, 0, 2) * y), cached

    class Convolution(nn.Module):
        """A causal one over the frames before, and one within the chunk, scaled at its edges."""
        def __init__(self, size, kernel, chunk):
            super().__init__()
            self.left, self.front, self.out = kernel // 2, nn.Linear(size, 2 * size), nn.Linear(size, size)
            self.causal = nn.Conv1d(size, size, (kernel + 1) // 2, groups=size)
            self.within = nn.Conv1d(size, size, kernel, padding=kernel // 2, groups=size)
            self.edges = nn.Parameter(0.1 * torch.randn(size, chunk))

        def forward(self, x, cached):
            x, gate = self.front(x).chunk(2, dim=2)
            x = (x * torch.sigmoid(gate)).permute(1, 2, 0)                  # [N, size, T]
            seen, cached = joined(cached, x, 2, self.left)
            x = self.causal(seen) + self.within(x) * (1 + self.edges)
            return self.out(swoosh_r(x.permute(2, 0, 1))), cached

    class Layer(nn.Module):
        def __init__(self, size, kernel, chunk, left):
            super().__init__()
            self.weights, self.nonlin = Weights(size, chunk, left), NonlinAttention(size, left)
            self.values = nn.ModuleList([Values(size, left) for _ in range(2)])
            self.convs = nn.ModuleList([Convolution(size, kernel, chunk) for _ in range(2)])
            self.feeds = nn.ModuleList([Feed(size, 3 * size * n // 4) for n in (3, 4, 5)])
            self.mid, self.last, self.norm = Bypass(size), Bypass(size), BiasNorm(size)

        def forward(self, x, hidden, states):
            key, nonlin, val1, val2, conv1, conv2 = states
            old = x
            weights, key = self.weights(x, hidden, key)
            x = x + self.feeds[0](x)
            y, nonlin = self.nonlin(x, weights[:1], nonlin)
            x = x + y
            y, val1 = self.values[0](x, weights, val1)
            x = x + y
            y, conv1 = self.convs[0](x, conv1)
            x = self.mid(old, x + y)
            x = x + self.feeds[1](x)
            y, val2 = self.values[1](x, weights, val2)
            x = x + y
            y, conv2 = self.convs[1](x, conv2)
            x = x + y
            x = self.norm(x + self.feeds[2](x))
            return self.last(old, x), [key, nonlin, val1, val2, conv1, conv2]

    class Stack(nn.Module):
        """Layers at fewer frames, between weighted means and repeats."""
        def __init__(self, layers, size, kernel, down):
            super().__init__()
            self.down, self.size = down, size
            self.layers = nn.ModuleList([Layer(size, kernel, CHUNK // down, LEFT // down) for _ in range(layers)])
            self.means, self.combine = nn.Parameter(torch.randn(down)), Bypass(size)

        def forward(self, x, hidden, states):
            x = F.pad(x, (0, self.size - x.shape[2])) if self.size >= x.shape[2] else x[:, :, :self.size]
            old, kept = x, []
            if self.down > 1:
                x = (x.reshape(-1, self.down, x.shape[1], self.size) * self.means.softmax(0)[:, None, None]).sum(1)
                hidden = hidden[:, ::self.down]
            for i, layer in enumerate(self.layers):
                x, new = layer(x, hidden, states[6 * i:6 * i + 6])
                kept += new
            if self.down > 1:
                x = x[:, None].expand(-1, self.down, -1, -1).reshape(-1, x.shape[1], self.size)
                x = self.combine(old, x)
            return x, kept

    class Embed(nn.Module):
        """Convolutions over features and frames, half as many frames, and a ConvNeXt that keeps 3 of them."""
        def __init__(self, width=4):
            super().__init__()
            self.convs = nn.ModuleList([nn.Conv2d(1, width, 3, padding=(0, 1)), nn.Conv2d(width, width, 3, stride=2),
                                        nn.Conv2d(width, width, 3, stride=(1, 2))])
            self.bins = ((FEATURES - 1) // 2 - 1) // 2
            self.depth = nn.Conv2d(width, width, 7, padding=(0, 3), groups=width)
            self.wide, self.narrow = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(3 * width, width, 1)
            self.out, self.norm = nn.Linear(width * self.bins, WIDTHS[0]), BiasNorm(WIDTHS[0])

        def forward(self, x, cached):                                       # [N, SIZE, FEATURES], [N, width, 3, bins]
            x = x[:, None]
            for conv in self.convs:
                x = swoosh_r(conv(x))
            seen, now = torch.cat([cached, x], dim=2), x[:, :, :CHUNK]
            x = now + self.narrow(swoosh_l(self.wide(self.depth(seen))))
            y = self.out(x.permute(0, 2, 1, 3).reshape(x.shape[0], CHUNK, -1))
            return self.norm(y).permute(1, 0, 2), seen[:, :, CHUNK:CHUNK + 3]

    class Zipformer2(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = Embed()
            self.stacks = nn.ModuleList([Stack(*of) for of in zip(LAYERS, WIDTHS, KERNELS, DOWN)])
            self.means = nn.Parameter(torch.randn(2))

        def joined_widths(self, each):
            """The last stack, and behind it what wider ones have more."""
            parts, have = [each[-1]], WIDTHS[-1]
            for x, width in zip(each[-2::-1], WIDTHS[-2::-1]):
                if width > have:
                    parts.append(x[:, :, have:width])
                    have = width
            return torch.cat(parts, dim=2)

        def forward(self, x, *states):
            x, embed = self.embed(x, states[-2])
            before = torch.arange(LEFT)[None] >= states[-1][:, None]        # no frame is there yet
            hidden = torch.cat([before.flip(1), torch.zeros(1, CHUNK, dtype=torch.bool)], dim=1)
            each, kept, first = [], [], 0
            for stack, layers in zip(self.stacks, LAYERS):
                x, new = stack(x, hidden, states[6 * first:6 * (first + layers)])
                first, kept = first + layers, kept + new
                each.append(x)
            x = self.joined_widths(each)
            x = (x.reshape(-1, 2, x.shape[1], x.shape[2]) * self.means.softmax(0)[:, None, None]).sum(1)
            return (x.permute(1, 0, 2), *kept, embed, states[-1] + CHUNK)

    return Zipformer2


def states():
    """Names and zeros."""
    import numpy as np
    made, layer = {}, 0
    for layers, down, size, kernel in zip(LAYERS, DOWN, WIDTHS, KERNELS):
        left, past = LEFT // down, kernel // 2
        shapes = [(left, 1, HEADS * QUERY), (1, 1, left, 3 * size // 4), *[(left, 1, HEADS * VALUE)] * 2, *[(1, size, past)] * 2]
        for _ in range(layers):
            made.update({f"cached_{kind}_{layer}": np.zeros(shape, "f4") for kind, shape in zip(OF_LAYER, shapes)})
            layer += 1
    made["embed_states"] = np.zeros((1, 4, 3, ((FEATURES - 1) // 2 - 1) // 2), "f4")
    made["processed_lens"] = np.zeros(1, "i8")
    return made


def export(how="traced", path=os.path.join(HERE, "zipformer2", "net.onnx")):
    import torch
    torch.manual_seed(20261130)
    net, old = build()().eval(), states()
    for m in net.modules():
        if isinstance(m, (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Linear)):
            m.weight.data *= 3 ** 0.5
    example = (torch.rand(1, SIZE, FEATURES), *[torch.from_numpy(v) for v in old.values()])
    names = {"input_names": ["x", *old], "output_names": ["encoder_out", *["new_" + n for n in old]]}
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with torch.no_grad():
        if how == "dynamo":
            torch.onnx.export(net, example, path, dynamo=True, external_data=False, **names)
        else:
            traced = {"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}
            torch.onnx.export(net, example, path, opset_version=14, do_constant_folding=True, **names, **traced)
    return path


def steps(path, x):
    """What ONNX Runtime gives for features [frames, FEATURES], a chunk after the other: [T, width]."""
    import numpy as np
    import onnxruntime
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    old, out = states(), []
    for at in range(0, len(x) - SIZE + 1, HOP):
        y, *new = session.run(None, {"x": x[None, at:at + SIZE], **old})
        old = dict(zip(old, new))
        out.append(y[0])
    return np.concatenate(out)


def features(frames):
    import numpy as np
    import make
    return np.array(make.noise(frames * FEATURES), "f4").reshape(frames, FEATURES)


def slim(path=os.path.join(HERE, "zipformer2", "net.onnx")):
    import onnx
    import make
    model = onnx.load(path)
    make.nodes_slim(model, True)
    onnx.save(model, path)


def refs():
    for frames in LENGTHS:
        y = steps(os.path.join(HERE, "zipformer2", "net.onnx"), features(frames))
        y.astype("<f4").tofile(os.path.join(HERE, "zipformer2", f"{frames}.encoder_out.f32"))
        print(frames, y.shape, float(abs(y).max()))


if __name__ == "__main__":
    {"export": export, "slim": slim, "refs": refs}[sys.argv[1]](*sys.argv[2:])
