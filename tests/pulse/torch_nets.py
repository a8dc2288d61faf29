# SPDX-License-Identifier: MIT
"""Random nets of modules as people write them in PyTorch, by both of its exporters: ONNX Runtime judges the whole run, and the law
the stream.

    torch_nets.py RILL FOLDER FIRST COUNT      seeds FIRST..; files of nets and what is wrong with them in FOLDER

Every DYNAMO_EVERY-th net goes through the exporter that reads bytecode (of PyTorch 2.6 and later), as it takes seconds a net. PyTorch
1.13 and later write them; what a version does not write is counted by its reason."""
import collections, contextlib, logging, os, random, re, sys, warnings
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import torch
from torch import nn
import torch.nn.functional as F
import counted
import ort_judge

WIDTH, HEADS = 8, 2
DYNAMO_EVERY = int(os.environ.get("RILL_DYNAMO_EVERY", 10))
REFUSED_MAX = 0.02      # of those that could stream
VERSION = tuple(map(int, torch.__version__.split(".")[:2]))
EXPORTED_LEAST = 0.8 if VERSION >= (2, 11) else 0       # earlier ones lack forms
JUDGED_LEAST = 0.8      # of those that were: the older exporter of PyTorch 2.15 has one length in files of MultiheadAttention
HAS_FASTPATH = hasattr(getattr(torch.backends, "mha", None), "set_fastpath_enabled")
HAS_DYNAMO = "dynamo" in torch.onnx.export.__code__.co_varnames and VERSION >= (2, 6)


class Layer(nn.Module):
    """[1, T, WIDTH] to the same; r draws what is written how."""

    def __init__(self, r):
        super().__init__()
        self.r, self.way = r, r.randrange(12)
        self.make(r)

    def make(self, r):
        pass


def act(r):
    return r.choice([nn.ReLU, nn.Tanh, nn.SiLU, nn.GELU, nn.ELU, nn.Sigmoid, nn.Hardswish, nn.Softplus])()


class Pointwise(Layer):
    def make(self, r):
        self.net = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), act(r), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        return x + self.net(x) if self.way % 2 else self.net(x)


class Norm(Layer):
    def make(self, r):
        self.layer, self.batch = nn.LayerNorm(WIDTH), nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        if self.way % 3 == 0:
            return self.batch(x.transpose(1, 2)).transpose(1, 2)
        if self.way % 3 == 1:
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.layer(x)


class Conv(Layer):
    """Causal by a pad, by a cut of what its own padding gave, or with some frames ahead."""
    def make(self, r):
        size, dilation = r.choice([2, 3, 5]), r.choice([1, 2, 4])
        self.reach, self.ahead = (size - 1) * dilation, r.choice([0, 0, 0, 1, 2])
        self.ahead = min(self.ahead, self.reach)
        chomps = self.way % 3 == 0
        self.conv = nn.Conv1d(WIDTH, WIDTH, size, dilation=dilation, groups=r.choice([1, 1, WIDTH]), padding=self.reach if chomps else 0)
        self.act, self.chomps = act(r), chomps

    def forward(self, x):
        y = x.transpose(1, 2)
        if self.chomps:
            y = self.conv(y)[..., :x.shape[1]]
        else:
            y = self.conv(F.pad(y, (self.reach - self.ahead, self.ahead)))
        y = self.act(y).transpose(1, 2)
        return x + y if self.way % 2 else y


class Gated(Layer):
    """A Conformer's convolutions, or a WaveNet's gate."""
    def make(self, r):
        self.a, self.b = nn.Conv1d(WIDTH, 2 * WIDTH, 1), nn.Conv1d(WIDTH, WIDTH, 3, groups=WIDTH)
        self.norm, self.c = nn.BatchNorm1d(WIDTH), nn.Conv1d(WIDTH, WIDTH, 1)

    def forward(self, x):
        y = self.a(x.transpose(1, 2))
        if self.way % 2:
            y = F.glu(y, dim=1)
        else:
            p, q = y.chunk(2, dim=1)
            y = torch.tanh(p) * torch.sigmoid(q)
        return x + self.c(F.silu(self.norm(self.b(F.pad(y, (2, 0)))))).transpose(1, 2)


class Cell(Layer):
    def make(self, r):
        kind = r.choice([nn.GRU, nn.GRU, nn.LSTM, nn.RNN])
        self.cell = kind(WIDTH, WIDTH, num_layers=r.choice([1, 1, 2]), batch_first=self.way % 2 == 0)

    def forward(self, x):
        if self.way % 2 == 0:
            return x + self.cell(x)[0]
        return self.cell(x.transpose(0, 1))[0].transpose(0, 1)


class Grouped(Layer):
    """Two cells, each over half of the channels."""
    def make(self, r):
        self.a, self.b = [nn.GRU(WIDTH // 2, WIDTH // 2, batch_first=True) for _ in range(2)]

    def forward(self, x):
        p, q = x.chunk(2, dim=-1)
        return torch.cat([self.a(p)[0], self.b(q)[0]], dim=-1)


# ---- attention ----

def heads_of(x):
    return x.reshape(1, -1, HEADS, WIDTH // HEADS).transpose(1, 2)


def merged(x):
    return x.transpose(1, 2).reshape(1, -1, WIDTH)


def seen_band(t, left, right):
    at = torch.arange(t)
    apart = at[None, :] - at[:, None]
    return (apart >= -left) & (apart <= right)


def seen_triangles(t, left, right):
    ones = torch.ones(t, t)
    return (torch.tril(ones, right) * torch.triu(ones, -left)) > 0


def seen_chunks(t, size, before):
    at = torch.div(torch.arange(t), size, rounding_mode="floor")
    apart = at[:, None] - at[None, :]
    return (apart >= 0) & (apart <= before)


class Attention(Layer):
    def make(self, r):
        self.q, self.k, self.v, self.out = [nn.Linear(WIDTH, WIDTH) for _ in range(4)]
        self.multi = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mask, self.laid, self.place = r.randrange(3), r.randrange(6), r.randrange(5)
        self.left, self.right = r.choice([1, 3, 6, 9]), r.choice([0, 0, 1, 2])
        self.size, self.before = r.choice([2, 4, 5]), r.choice([0, 1, 2])
        self.bias = nn.Parameter(torch.randn(HEADS, 21))
        self.hidden = float("-inf") if self.place == 2 else r.choice([float("-inf"), -1e9, -1e4])   # ALiBi grows past -1e4

    def seen(self, t):
        if self.mask == 0:
            return seen_band(t, self.left, self.right)
        if self.mask == 1:
            return seen_triangles(t, self.left, self.right)
        return seen_chunks(t, self.size, self.before)

    def turned(self, x):
        half = x.size(-1) // 2
        angle = torch.arange(x.size(2)).float()[:, None] * (100.0 ** (-torch.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1)

    def biased(self, scores):
        at = torch.arange(scores.size(-1))
        apart = at[None, :] - at[:, None]
        if self.place == 2:     # ALiBi
            return scores + apart.float() * torch.tensor([0.5, 0.25])[:, None, None]
        if self.place == 3:     # a table of distances
            return scores + self.bias[:, apart.clamp(-10, 10) + 10]
        return scores

    def forward(self, x):
        t = x.size(1)
        seen = self.seen(t)
        if self.laid == 0:
            return x + self.multi(x, x, x, attn_mask=~seen, need_weights=self.way % 2 == 0)[0]
        q, k, v = heads_of(self.q(x)), heads_of(self.k(x)), heads_of(self.v(x))
        if self.place == 1:
            q, k = self.turned(q), self.turned(k)
        if self.laid == 1 and hasattr(F, "scaled_dot_product_attention"):
            return x + self.out(merged(F.scaled_dot_product_attention(q, k, v, attn_mask=seen)))
        scores = torch.matmul(q, k.transpose(-2, -1)) if self.way % 2 else torch.einsum("bhid,bhjd->bhij", q, k)
        scores = self.biased(scores * 0.5)
        if self.laid <= 3:
            scores = scores.masked_fill(~seen, self.hidden)
        else:
            scores = scores + torch.zeros(t, t).masked_fill(~seen, self.hidden)
        weights = scores.softmax(-1)
        if self.laid == 3:
            weights = weights.masked_fill(~seen, 0.0)
        return x + self.out(merged(torch.matmul(weights, v)))


class Linear(Layer):
    """Attention without a softmax: causal products over their sum, or that fall off."""
    def make(self, r):
        self.q, self.k, self.v = [nn.Linear(WIDTH, WIDTH) for _ in range(3)]
        self.decay = r.choice([0.5, 0.9])

    def forward(self, x):
        t = x.size(1)
        q, k, v = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1, self.v(x)
        weights = torch.matmul(q, k.transpose(1, 2))
        if self.way % 2:
            weights = weights * torch.tril(torch.ones(t, t))
            return x + torch.matmul(weights, v) / (weights.sum(-1, keepdim=True) + 1e-5)
        at = torch.arange(t)
        apart = (at[:, None] - at[None, :]).float()
        return x + torch.matmul(0.1 * weights * torch.where(apart >= 0, self.decay ** apart.clamp(min=0), torch.zeros(())), v)


# ---- frames ----

class Running(Layer):
    """Means, and deviations, of all frames so far."""
    def forward(self, x):
        count = torch.arange(1, x.size(1) + 1).to(x.dtype)[None, :, None]
        if self.way % 3 == 0:
            return x - x.cumsum(1) / count
        if self.way % 3 == 1:
            x = x - (x.sum(-1, keepdim=True).cumsum(1) / (count * WIDTH))
        mean = x.cumsum(1) / count
        square = (x * x).cumsum(1) / count
        return (x - mean) / torch.sqrt((square - mean * mean).clamp(min=0) + 1e-2)


class Before(Layer):
    """The frame before: by a negative pad, by joined slices, by a learned first one."""
    def make(self, r):
        self.first, self.mix = nn.Parameter(torch.randn(1, 1, WIDTH)), nn.Parameter(torch.rand(WIDTH))

    def forward(self, x):
        if self.way % 4 == 0:
            old = F.pad(x, (0, 0, 1, -1))
        elif self.way % 4 == 1:
            return torch.cat([x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]], dim=1)
        elif self.way % 4 == 2:
            old = torch.cat([self.first, x[:, :-1]], dim=1)
        else:
            old = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], dim=1)
        return x * self.mix + old * (1 - self.mix)


class Pool(Layer):
    def make(self, r):
        self.size = r.choice([2, 3])

    def forward(self, x):
        y = F.pad(x.transpose(1, 2), (self.size - 1, 0))
        y = F.max_pool1d(y, self.size, 1) if self.way % 2 else F.avg_pool1d(y, self.size, 1)
        return y.transpose(1, 2)


class DownUp(Layer):
    """A stride behind a pad of what the length lacks, and up again: transposed, interpolated, repeated, by channels in turn."""
    def make(self, r):
        self.by, self.more = r.choice([2, 3, 4]), r.choice([0, 0, 1])
        size = self.by * (1 + self.more)
        self.down = nn.Conv1d(WIDTH, WIDTH, size, stride=self.by)
        self.up, self.wide = nn.ConvTranspose1d(WIDTH, WIDTH, size, stride=self.by), nn.Conv1d(WIDTH, WIDTH * self.by, 1)
        self.mid = nn.Conv1d(WIDTH, WIDTH, 3)
        self.how = r.randrange(6)

    def forward(self, x):
        y, t = x.transpose(1, 2), x.shape[1]
        y = F.pad(y, (self.more * self.by, -t % self.by))
        y = torch.tanh(self.down(y))
        y = F.elu(self.mid(F.pad(y, (2, 0))))
        if self.how <= 1:
            y = self.up(y)
        elif self.how == 2:
            y = F.interpolate(y, scale_factor=float(self.by), mode="nearest")
        elif self.how == 3:
            y = F.interpolate(y, scale_factor=float(self.by), mode="linear", align_corners=False)
        elif self.how == 4:
            y = y.repeat_interleave(self.by, dim=2)
        else:
            y = self.wide(y).reshape(1, WIDTH, self.by, -1).transpose(2, 3).reshape(1, WIDTH, -1)
        return x + y[..., :t].transpose(1, 2)


class Chunks(Layer):
    """Padded to whole chunks: a cell both ways, attention or a mean within each, and back."""
    def make(self, r):
        self.size = r.choice([2, 3, 4])
        self.cell = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        t = x.shape[1]
        y = F.pad(x, (0, 0, 0, -t % self.size)).reshape(-1, self.size, WIDTH)
        if self.way % 3 == 0:
            y = self.cell(y)[0]
        elif self.way % 3 == 1:
            y = torch.matmul(torch.softmax(torch.matmul(y, y.transpose(1, 2)), dim=-1), y)
        else:
            y = y - y.mean(1, keepdim=True)
        return y.reshape(1, -1, WIDTH)[:, :t]


class Picture(Layer):
    """Frames and channels as a picture, strided along the channels, and back over what was kept."""
    def make(self, r):
        self.down = nn.Conv2d(1, 4, (2, 3), stride=(1, 2), padding=(0, 1))
        self.up = nn.ConvTranspose2d(8, 1, (2, 4), stride=(1, 2), padding=(0, 1))
        self.cell = nn.GRU(4 * WIDTH // 2, 4 * WIDTH // 2, batch_first=True)

    def forward(self, x):
        t = x.shape[1]
        kept = F.elu(self.down(F.pad(x[:, None], (0, 0, 1, 0))))
        y = kept.permute(0, 2, 1, 3).reshape(1, -1, 2 * WIDTH)
        y = self.cell(y)[0].reshape(1, -1, 4, WIDTH // 2).permute(0, 2, 1, 3)
        return self.up(torch.cat([kept, y], dim=1))[:, 0, :t]


class Framed(Layer):
    """Windows of shifted slices, each seen by a line."""
    def make(self, r):
        self.size = r.choice([2, 3, 5])
        self.line = nn.Linear(self.size * WIDTH, WIDTH)

    def forward(self, x):
        y, t = F.pad(x, (0, 0, self.size - 1, 0)), x.shape[1]
        y = torch.stack([y[:, i:i + t] for i in range(self.size)], dim=2 + self.way % 2)
        return self.line(y.reshape(1, -1, self.size * WIDTH))


class Select(Layer):
    """What one frame says decides what it gives."""
    def forward(self, x):
        loud = x.pow(2).mean(-1, keepdim=True)
        return torch.where(loud > 0.5, x, 0.1 * x) if self.way % 2 else x * (loud > 0.3).float() + x.clamp(-1, 1)


# ---- what reads all frames ----

class Global(Layer):
    """None of these can stream."""
    def make(self, r):
        self.cell = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        if self.way % 4 == 0:
            return x - x.mean(1, keepdim=True)
        if self.way % 4 == 1:
            return self.cell(x)[0]
        if self.way % 4 == 2:
            return F.instance_norm(x.transpose(1, 2)).transpose(1, 2)
        return torch.matmul(torch.softmax(torch.matmul(x, x.transpose(1, 2)), dim=-1), x)


LAYERS = [Pointwise, Norm, Conv, Conv, Gated, Cell, Cell, Grouped, Attention, Attention, Attention, Attention, Linear, Running,
          Before, Pool, DownUp, DownUp, DownUp, Chunks, Picture, Framed, Select]
GLOBAL_PART = 0.04


def net_make(seed):
    r = random.Random(seed)
    torch.manual_seed(seed)
    kinds = [r.choice(LAYERS) for _ in range(r.randint(1, 5))]
    if r.random() < GLOBAL_PART:
        kinds[r.randrange(len(kinds))] = Global
    net = nn.Sequential(*[kind(r) for kind in kinds]).eval()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.running_mean.uniform_(-0.3, 0.3)
            m.running_var.uniform_(0.5, 1.5)
    return net, kinds


@contextlib.contextmanager
def silence():
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield


def net_export(net, path, is_dynamo, opset):
    """None, or why it was not exported."""
    x, names = torch.randn(1, 26, WIDTH), {"input_names": ["x"], "output_names": ["y"]}
    try:
        with torch.set_grad_enabled(not HAS_FASTPATH), silence():
            if is_dynamo:
                torch.onnx.export(net, (x,), path, dynamo=True, dynamic_shapes=({1: torch.export.Dim("T", min=6, max=4096)},),
                                  external_data=False, verbose=False, **names)
            else:
                legacy = {"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}
                torch.onnx.export(net, x, path, dynamic_axes={"x": {1: "T"}}, opset_version=opset, **names, **legacy)
    except Exception as e:      # whatever an exporter throws at a net that it does not take
        return str(e).strip().split("\n")[0][:120]
    return None if isinstance(ort_judge.session_of(path).get_inputs()[0].shape[1], str) else "it is for one length"


def net_judge(net, path, seed, is_dynamo, opset):
    """(x, y) of the whole run or None, why it was not exported, and why ONNX Runtime does not run the file."""
    try:
        error = net_export(net, path, is_dynamo, opset)
        return None if error else ort_judge.whole_run(path, seed), error, None
    except ort_judge.REFUSALS as e:
        text = str(e).strip().split("\n")[0]
        node = re.search(r"running (\w+ node. Name:'[^']*')", text)
        return None, None, f"{node.group(1) if node else ''} {text[-90:]}"


def reason(words):
    """Without the name of the node, and with N for numbers."""
    return re.sub(r"-?\d+", "N", re.sub(r"^.*\((\w+)\): cannot stream", r"\1: cannot stream", words.strip().split("\n")[-1]))[:150]


def main(folder, first, count):
    said, by = collections.Counter(), collections.defaultdict(collections.Counter)
    refusals, failed = collections.Counter(), collections.Counter()
    for seed in range(first, first + count):
        path, r = os.path.join(folder, f"net{seed}"), random.Random(seed)
        net, kinds = net_make(seed)
        is_dynamo = HAS_DYNAMO and seed % DYNAMO_EVERY == 0
        how, names = "dynamo" if is_dynamo else "traced", ", ".join(kind.__name__ for kind in kinds)
        run, error, unjudged = net_judge(net, path + ".onnx", seed, is_dynamo, r.choice([14, 16, 17] if HAS_DYNAMO else [13, 14, 15]))
        if run is None:
            said["not exported" if error else "not run by ONNX Runtime" if unjudged else "no whole run"] += 1
            failed.update([f"{how}: {error}"] if error else [])
            by[how]["not written" if error else "not judged"] += 1
            if unjudged:
                print(f"not judged, seed {seed}, {how}: {names}: {unjudged}", flush=True)
            continue
        wrong = ort_judge.stream_judge(path, *run, r.choice(["1", "2", "5", "1,3", "2,7"]))
        is_refused, is_global = ort_judge.refused(wrong), Global in kinds
        counted.check(wrong is None or is_refused, f"seed {seed}, {how}: {names}: {wrong}")
        said["could not stream, refused" if is_global and is_refused else "refused" if is_refused else
             "streams" if wrong is None else "wrong"] += 1
        by[how]["streams" if wrong is None else "wrong" if not is_refused else "reads all frames" if is_global else "refused"] += 1
        if is_refused and not is_global:
            refusals[reason(wrong)] += 1
            print(f"refused, seed {seed}, {how}: {names}: {wrong.strip()[-300:]}", flush=True)
        for end in (".onnx", ".npy", ".npz") if wrong is None or is_global and is_refused else ():
            os.remove(path + end)
    for words, n in refusals.most_common():
        print("%6d %s" % (n, words))
    for words, n in failed.most_common(8):
        print("%6d not exported: %s" % (n, words))
    print(", ".join(f"{n} {words}" for words, n in sorted(said.items())))
    for how, counts in by.items():
        print(f"PyTorch {torch.__version__}, {how}: " + ", ".join(f"{n} {words}" for words, n in sorted(counts.items())))
    streams = said["streams"]
    counted.check(streams > 0 and said["refused"] <= REFUSED_MAX * (streams + said["refused"]), f"{said['refused']} are refused")
    unjudged, exported = said["not run by ONNX Runtime"], count - said["not exported"]
    counted.check(unjudged <= (1 - JUDGED_LEAST) * exported, f"{unjudged} of {exported} are not run by ONNX Runtime")
    counted.check(exported >= EXPORTED_LEAST * count, f"{said['not exported']} were not exported")


torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
if HAS_FASTPATH:
    torch.backends.mha.set_fastpath_enabled(False)      # one op that has no form in ONNX; before, gradients forbid it
main(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
counted.finish()
