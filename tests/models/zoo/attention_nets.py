# SPDX-License-Identifier: MIT
"""Nets of the zoo whose attention depends on positions, definitions of our own after the papers: Conformer with relative positions
(Gulati 2020, Dai 2019), FastConformer in chunks (Rekesh 2023), Zipformer's weights and their reuse (Yao 2024), Emformer's segments with
context to both sides (Shi 2021), a sliding window with rotary positions as Moonshine's (Jeffries 2024), a codec with a rotary
transformer between its strides (Défossez 2024), linear attention (Katharopoulos 2020), Emformer's memory, wenet's table of positions."""
import math

LENGTHS = {"relconformer": [21, 60], "fastconformer": [40, 101], "zipformer": [19, 44], "emformer": [22, 48], "moonshine": [27, 50],
           "codec": [64, 160], "linear": [21, 60], "memory": [22, 48], "table": [21, 60]}
BY_DYNAMO = ("fastconformer", "zipformer", "moonshine")


def build():
    import torch
    from torch import nn
    import torch.nn.functional as F

    def chunks(frames, size):
        at = torch.div(torch.arange(frames), size, rounding_mode="floor")
        return at[:, None] - at[None, :]                                    # from key to query

    def heads_of(x, heads):
        return x.view(x.size(0), -1, heads, x.size(2) // heads).transpose(1, 2)

    def merged(x):
        return x.transpose(1, 2).reshape(x.size(0), -1, x.size(1) * x.size(3))

    class Feed(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

        def forward(self, x):
            return x + 0.5 * self.down(F.silu(self.up(self.norm(x))))

    class Convolution(nn.Module):
        def __init__(self, size, kernel=5):
            super().__init__()
            self.norm, self.gate, self.kernel = nn.LayerNorm(size), nn.Conv1d(size, 2 * size, 1), kernel
            self.deep, self.out = nn.Conv1d(size, size, kernel, groups=size), nn.Conv1d(size, size, 1)

        def forward(self, x):
            y = F.glu(self.gate(self.norm(x).transpose(1, 2)), dim=1)
            y = F.silu(self.deep(F.pad(y, (self.kernel - 1, 0))))
            return x + self.out(y).transpose(1, 2)

    def shift_joined(x):
        """Zeros joined in front, as ESPnet does."""
        zero = torch.zeros((*x.size()[:3], 1))
        y = torch.cat([zero, x], dim=-1).view(*x.size()[:2], x.size(3) + 1, x.size(2))
        return y[:, :, 1:].view_as(x)[:, :, :, :x.size(-1) // 2 + 1]

    def shift_padded(x):
        """A pad, as NeMo does."""
        b, h, queries, places = x.size()
        return F.pad(x, pad=(1, 0)).view(b, h, -1, queries)[:, :, 1:].view(b, h, queries, places)

    class Relative(nn.Module):
        def __init__(self, size, heads, shift, low):
            super().__init__()
            self.heads, self.shift, self.low, self.norm = heads, shift, low, nn.LayerNorm(size)
            self.q, self.k, self.v, self.out = [nn.Linear(size, size) for _ in range(4)]
            self.p = nn.Linear(size, size, bias=False)
            self.content, self.place = [nn.Parameter(0.3 * torch.randn(heads, 1, size // heads)) for _ in range(2)]

        def forward(self, x, places, seen):
            y = self.norm(x)
            q, k, v = [heads_of(f(y), self.heads) for f in (self.q, self.k, self.v)]
            p = heads_of(self.p(places), self.heads)
            near = self.shift(torch.matmul(q + self.place, p.transpose(-2, -1)))
            scores = torch.matmul(q + self.content, k.transpose(-2, -1))
            scores = (scores + near[:, :, :, :scores.size(-1)]) / math.sqrt(q.size(-1))
            hidden = (~seen)[None, None]
            weights = torch.softmax(scores.masked_fill(hidden, self.low), dim=-1).masked_fill(hidden, 0.0)
            return x + self.out(merged(torch.matmul(weights, v)))

    class Block(nn.Module):
        def __init__(self, size, heads, shift, low):
            super().__init__()
            self.first, self.last, self.conv = Feed(size), Feed(size), Convolution(size)
            self.attend = Relative(size, heads, shift, low)

        def forward(self, x, places, seen):
            return self.last(self.conv(self.attend(self.first(x), places, seen)))

    def sinusoids(far, size):
        at = torch.arange(far - 1.0, -far, -1.0)[:, None] * torch.exp(torch.arange(0, size, 2.0) * -(math.log(10000.0) / size))
        return torch.stack([at.sin(), at.cos()], dim=2).view(1, -1, size)

    class RelConformer(nn.Module):
        def __init__(self, features=20, size=16, far=100, low=-math.inf, shift=shift_joined):
            super().__init__()
            self.far = far
            self.front = nn.Linear(features, size)
            self.register_buffer("table", sinusoids(far, size))
            self.blocks = nn.ModuleList([Block(size, 2, shift, low) for _ in range(2)])

        def forward(self, x):                                               # [1, T, features]
            x = self.front(x)
            frames = x.size(1)
            places, apart = self.table[:, self.far - frames:self.far + frames - 1], chunks(frames, 4)
            for b in self.blocks:
                x = b(x, places, (apart >= 0) & (apart <= 2))
            return x

    class FastConformer(nn.Module):
        def __init__(self, features=20, size=16):
            super().__init__()
            self.second, self.fourth = nn.Conv1d(features, size, 3, stride=2), nn.Conv1d(size, size, 3, stride=2, groups=size)
            self.rest = RelConformer(size, size, 60, -10000.0, shift_padded)

        def forward(self, x):
            x = F.relu(self.second(F.pad(x.transpose(1, 2), (2, 0))))
            return self.rest(F.relu(self.fourth(F.pad(x, (2, 0)))).transpose(1, 2))

    class Zipformer(nn.Module):
        """Weights by content and by distance, used for two different values."""
        def __init__(self, size=16, heads=2, query=8, place=4):
            super().__init__()
            self.heads, self.query, self.place = heads, query, place
            self.front = nn.Linear(size, (2 * query + place) * heads)
            self.p = nn.Linear(size, heads * place, bias=False)
            self.v, self.w, self.out = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)

        def distances(self, frames, size):
            x = torch.arange(-(frames - 1), frames).to(torch.float32).unsqueeze(1)
            near = 8.0 * x.sign() * ((x.abs() + 8.0).log() - math.log(8.0))
            turn = torch.atan(near / size) * (1 + torch.arange(size // 2))
            return torch.cat([turn.cos(), turn.sin()], dim=1)

        def forward(self, x):
            frames, size = x.size(1), x.size(2)
            q, k, p = self.front(x).split([self.query * self.heads] * 2 + [self.place * self.heads], dim=2)
            q, k, p = [heads_of(y, self.heads) for y in (q, k, p)]
            far = self.p(self.distances(frames, size)).view(-1, self.heads, self.place).permute(1, 2, 0)
            near = torch.matmul(p, far).reshape(-1, 2 * frames - 1)
            rows = torch.arange(frames - 1, -1, -1).repeat(self.heads).unsqueeze(-1)
            near = torch.gather(near, 1, rows + torch.arange(frames)).view(1, self.heads, frames, frames)
            apart = chunks(frames, 4)
            hidden = ~((apart >= 0) & (apart <= 2))
            weights = (torch.matmul(q, k.transpose(2, 3)) + near).masked_fill(hidden, -1000.0).softmax(dim=-1)
            x = x + self.out(torch.tanh(merged(torch.matmul(weights, heads_of(self.v(x), self.heads)))))
            return x + merged(torch.matmul(weights, heads_of(self.w(x), self.heads)))

    class Emformer(nn.Module):
        """Segments of 4 frames that see 8 before them and 2 behind them."""
        def __init__(self, size=16):
            super().__init__()
            self.attend = nn.ModuleList([nn.MultiheadAttention(size, 2, batch_first=True) for _ in range(2)])
            self.feed = nn.ModuleList([Feed(size) for _ in range(2)])

        def forward(self, x):
            frames = x.size(1)
            at = torch.arange(frames)
            begin = torch.div(at, 4, rounding_mode="floor")[:, None] * 4
            seen = (at[None, :] >= begin - 8) & (at[None, :] < begin + 6)
            for a, f in zip(self.attend, self.feed):
                q, k, v = F.linear(x, a.in_proj_weight, a.in_proj_bias).chunk(3, dim=-1)
                q, k, v = [heads_of(y, 2) for y in (q, k, v)]
                low = torch.zeros(frames, frames).masked_fill(~seen, -1e8)
                weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.35 + low, dim=-1)
                x = f(x + a.out_proj(merged(torch.matmul(weights, v))))
            return x

    def turned(x, at):
        half = x.size(-1) // 2
        angle = at.float()[:, None] * (50.0 ** (-torch.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1)

    class Rotary(nn.Module):
        def __init__(self, size, before, behind):
            super().__init__()
            self.before, self.behind, self.norm, self.feed = before, behind, nn.LayerNorm(size), Feed(size)
            self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

        def forward(self, x):
            at = torch.arange(x.size(1))
            q, k, v = [heads_of(y, 2) for y in self.qkv(self.norm(x)).chunk(3, dim=-1)]
            apart = at[:, None] - at[None, :]
            seen = (apart <= self.before) & (apart >= -self.behind)
            y = F.scaled_dot_product_attention(turned(q, at), turned(k, at), v, attn_mask=seen)
            return self.feed(x + self.out(merged(y)))

    class Moonshine(nn.Module):
        def __init__(self, size=16):
            super().__init__()
            self.blocks = nn.Sequential(Rotary(size, 9, 3), Rotary(size, 9, 0))

        def forward(self, x):
            return self.blocks(x)

    class Codec(nn.Module):
        def __init__(self, size=16):
            super().__init__()
            self.down, self.mid, self.up = nn.Conv1d(1, size, 8, stride=4), Rotary(size, 10, 0), nn.ConvTranspose1d(size, 1, 8, stride=4)

        def forward(self, x):                                               # [1, 1, T]
            y = F.elu(self.down(F.pad(x, (4, 0))))
            y = self.mid(y.transpose(1, 2)).transpose(1, 2)
            return self.up(y)[:, :, :-4]

    class Linear(nn.Module):
        """Products that no softmax reads, 0 behind the query: over their sum (Katharopoulos 2020), and filled with 0."""
        def __init__(self, size=16):
            super().__init__()
            self.first, self.second, self.out = nn.Linear(size, 3 * size), nn.Linear(size, 3 * size), nn.Linear(size, size)

        def forward(self, x):
            frames = x.size(1)
            q, k, v = [heads_of(y, 2) for y in self.first(x).chunk(3, dim=-1)]
            a = torch.einsum("bhid,bhjd->bhij", F.elu(q) + 1, F.elu(k) + 1) * torch.tril(torch.ones(frames, frames))
            x = x + merged(torch.einsum("bhij,bhjd->bhid", a / (a.sum(-1, keepdim=True) + 1e-6), v))
            q, k, v = [heads_of(y, 2) for y in self.second(x).chunk(3, dim=-1)]
            behind = torch.ones(frames, frames, dtype=torch.bool).triu(1)
            a = (torch.matmul(q, k.transpose(2, 3)) / 8).masked_fill(behind, 0.0)
            return x + self.out(merged(torch.matmul(a, v)) / (torch.arange(frames) + 1)[:, None])

    class Memory(nn.Module):
        """Segments of 4 frames see 8 frames before them and means of the 3 segments before; what is hidden is -1e8."""
        def __init__(self, size=16):
            super().__init__()
            self.norm, self.q, self.kv, self.out = nn.LayerNorm(size), nn.Linear(size, size), nn.Linear(size, 2 * size), Feed(size)
            self.pool = nn.AvgPool1d(4, 4, ceil_mode=True)

        def forward(self, x):
            y = self.norm(x)
            means = self.pool(y.transpose(1, 2)).transpose(1, 2)
            k, v = self.kv(torch.cat([means, y], 1)).chunk(2, -1)
            at, segments = torch.arange(x.size(1)), torch.arange(means.size(1))
            of = torch.div(at, 4, rounding_mode="floor")[:, None]
            seen = torch.cat([(segments < of) & (segments >= of - 3), (at >= 4 * of - 8) & (at < 4 * of + 4)], 1)
            scores = torch.matmul(heads_of(self.q(y), 2) * 0.35, heads_of(k, 2).transpose(2, 3)).masked_fill(~seen, -1e8)
            return self.out(x + merged(torch.matmul(torch.softmax(scores, -1), heads_of(v, 2))))

    class Table(nn.Module):
        """Queries by as many rows of a table as there are frames, chunks that see 2 before them, as wenet writes it."""
        def __init__(self, size=16):
            super().__init__()
            self.qkv, self.p, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size, bias=False), Feed(size)
            self.register_buffer("table", 0.3 * torch.randn(1, 100, size))

        def forward(self, x):
            at = torch.arange(x.size(1))
            q, k, v = [heads_of(y, 2) for y in self.qkv(x).chunk(3, dim=-1)]
            rows = heads_of(self.p(self.table[:, :x.size(1)]), 2)
            end = ((torch.div(at, 4, rounding_mode="trunc") + 1) * 4)[:, None]
            hidden = ~((at < end) & (at >= (end - 12).clamp(min=0)))
            scores = torch.matmul(q, k.transpose(2, 3)) + torch.matmul(q, rows.transpose(2, 3))
            weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1).masked_fill(hidden, 0.0)
            return self.out(x + merged(torch.matmul(weights, v)))

    return {
        "linear": (Linear, [("x", [1, "S", 16])], ["y"]),
        "memory": (Memory, [("x", [1, "S", 16])], ["y"]),
        "table": (Table, [("x", [1, "S", 16])], ["y"]),
        "relconformer": (RelConformer, [("x", [1, "S", 20])], ["y"]),
        "fastconformer": (FastConformer, [("x", [1, "S", 20])], ["y"]),
        "zipformer": (Zipformer, [("x", [1, "S", 16])], ["y"]),
        "emformer": (Emformer, [("x", [1, "S", 16])], ["y"]),
        "moonshine": (Moonshine, [("x", [1, "S", 16])], ["y"]),
        "codec": (Codec, [("x", [1, 1, "S"])], ["y"]),
    }
