# SPDX-License-Identifier: MIT
"""A folder as Moonshine's streaming recognisers are published, with few random weights: five networks by their ports,
streaming_config.json and tokenizer.bin; and what the same networks say in ONNX Runtime, chunk by chunk (reference.txt).

    make.py FOLDER SOUND..      needs torch, onnx and onnxruntime; what it wrote is kept beside it

The architecture is that of Kudlur et al. 2026, "Moonshine v2: Ergodic Streaming Encoder ASR": frames of 5 ms, normalised and
compressed, two causal convolutions of stride 2, layers of attention in sliding windows, learned positions behind them, and a
decoder with rotary positions and gated feed-forwards whose keys of what was heard come from a network of their own."""
import json, math, os, sys, wave
import numpy as np, onnx, onnxruntime, torch
import torch.nn as nn, torch.nn.functional as F

FRAME, DIM, WIDE, HEADS, HEAD, DEPTH, MEMORY, POSITIONS = 80, 24, 32, 2, 16, 2, 32, 400
WINDOWS = ((16, 4), (16, 2))
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
TOKENS = [b"<unk>", b"<s>", b"</s>"] + [("\u2581" + s).encode() for s in SYLLABLES] + [s.encode() for s in SYLLABLES] + [
    b"<<ST_0>>", b"", bytes([0xc3]), bytes([0xa9]), b"z" * 130]
CHUNK, UPDATE_FRAMES, TOKENS_A_SECOND, LONGEST = 640, 24, 6.5, 448


class Frontend(nn.Module):
    def __init__(self):
        super().__init__()
        self.k, self.linear = nn.Parameter(torch.tensor(-0.29)), nn.Linear(FRAME, DIM, bias=False)
        self.first, self.second = nn.Conv1d(DIM, 2 * DIM, 5, stride=2), nn.Conv1d(2 * DIM, DIM, 5, stride=2)

    def forward(self, audio_chunk, sample_buffer, sample_len, conv1_buffer, conv2_buffer, frame_count):
        room = sample_buffer.size(1)
        heard = torch.cat([sample_buffer[:, :sample_len[0].clamp(max=room)], audio_chunk], 1)
        n = heard.shape[1] // FRAME
        frames = heard[:, :n * FRAME].reshape(1, n, FRAME)
        frames = frames - frames.mean(-1, keepdim=True)
        frames = frames / torch.sqrt(frames.square().mean(-1, keepdim=True) + 1e-6)
        x = F.silu(self.linear(torch.asinh(self.k.exp() * frames))).transpose(1, 2)
        y = torch.cat([conv1_buffer, x], 2)
        z = torch.cat([conv2_buffer, F.silu(self.first(y))], 2)
        left = heard[:, n * FRAME:]
        count = torch.ones_like(left[0], dtype=torch.long).sum().reshape(1)
        kept = torch.cat([left, torch.zeros_like(sample_buffer)], 1)[:, :room]
        return self.second(z).transpose(1, 2), kept, count, y[:, :, -4:], z[:, :, -4:], frame_count + n


class Norm(nn.Module):
    """A gain that is stored without its one."""
    def __init__(self, size):
        super().__init__()
        self.gain = nn.Parameter(0.1 * torch.randn(size))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:]) * (1 + self.gain)


def heads_of(x):
    return x.view(1, -1, HEADS, HEAD).transpose(1, 2)


def attended(q, k, v, seen=None):
    scores = torch.matmul(q, k.transpose(2, 3)) * HEAD ** -0.5
    scores = scores if seen is None else scores.masked_fill(~seen, torch.finfo(torch.float32).min)
    return torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(1, -1, HEADS * HEAD)


class Layer(nn.Module):
    def __init__(self, before, behind):
        super().__init__()
        self.before, self.behind = before, behind
        self.norms = nn.ModuleList([Norm(DIM), Norm(DIM)])
        self.q, self.k, self.v = (nn.Linear(DIM, HEADS * HEAD, bias=False) for _ in range(3))
        self.out, self.up, self.down = nn.Linear(HEADS * HEAD, DIM, bias=False), nn.Linear(DIM, 2 * DIM), nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        at = torch.arange(x.shape[1])
        apart = at[:, None] - at[None]
        y = self.norms[0](x)
        x = x + self.out(attended(heads_of(self.q(y)), heads_of(self.k(y)), heads_of(self.v(y)),
                                  (apart <= self.before) & (apart >= -self.behind)))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.norm = nn.Sequential(*(Layer(*w) for w in WINDOWS)), Norm(DIM)

    def forward(self, features):
        return self.norm(self.layers(features))


class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.places, self.out = nn.Embedding(POSITIONS, DIM), nn.Linear(DIM, WIDE, bias=False)

    def forward(self, encoded, pos_offset):
        return self.out(encoded + self.places(torch.arange(encoded.shape[1]) + pos_offset[0])[None])


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.k, self.v = (nn.ModuleList([nn.Linear(WIDE, HEADS * HEAD, bias=False) for _ in range(DEPTH)]) for _ in range(2))

    def forward(self, memory):
        return [torch.stack([heads_of(one(memory)) for one in some]) for some in (self.k, self.v)]


def turned(x, at):
    """Neighbours are a pair; the last quarter stays."""
    n = 3 * HEAD // 4
    angle = at.float()[:, None] * (10000.0 ** (-torch.arange(0, n, 2) / n))
    a, b, rest = x[..., :n:2], x[..., 1:n:2], x[..., n:]
    both = torch.stack([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1).flatten(-2)
    return torch.cat([both, rest], -1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDE, bias=False) for _ in range(3)])
        self.q, self.k, self.v, self.q_heard = (nn.Linear(WIDE, HEADS * HEAD, bias=False) for _ in range(4))
        self.out, self.out_heard = nn.Linear(HEADS * HEAD, WIDE, bias=False), nn.Linear(HEADS * HEAD, WIDE, bias=False)
        self.up, self.down = nn.Linear(WIDE, 4 * WIDE), nn.Linear(2 * WIDE, WIDE)

    def forward(self, x, at, seen, past, heard):
        y = self.norms[0](x)
        k = torch.cat([past[0], turned(heads_of(self.k(y)), at)], 2)
        v = torch.cat([past[1], heads_of(self.v(y))], 2)
        x = x + self.out(attended(turned(heads_of(self.q(y)), at), k, v, seen))
        x = x + self.out_heard(attended(heads_of(self.q_heard(self.norms[1](x))), *heard))
        y, gate = self.up(self.norms[2](x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * y), k, v


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(len(TOKENS), WIDE), nn.LayerNorm(WIDE, bias=False)
        self.blocks = nn.ModuleList([Block() for _ in range(DEPTH)])
        self.head = nn.Linear(WIDE, len(TOKENS), bias=False)
        with torch.no_grad():                       # that tokens hang on all that comes in, and texts end
            for b in self.blocks:
                for one in (b.q_heard, b.out_heard, b.q, b.k, b.out, b.up, b.down):
                    one.weight *= 3
            self.head.weight[2] *= 1.5

    def forward(self, token, k_self, v_self, out_k_cross, out_v_cross):
        n, past = token.shape[1], k_self.shape[3]
        at = torch.arange(n) + past
        seen = at[:, None] >= torch.arange(past + n)[None]
        x, ks, vs = self.embed(token), [], []
        for i, block in enumerate(self.blocks):
            x, k, v = block(x, at, seen, (k_self[i], v_self[i]), (out_k_cross[i], out_v_cross[i]))
            ks.append(k)
            vs.append(v)
        return self.head(self.norm(x)), torch.stack(ks), torch.stack(vs), out_k_cross, out_v_cross


# ---- files ----

def ports_rename(model):
    """What goes through has one name at both ends, as published."""
    g = model.graph
    outs = {o.name for o in g.output}
    names = {i.name: n for i in g.input for n in outs if i.name != n and i.name.startswith(n)}
    for i in g.input:
        i.name = names.get(i.name, i.name)
    through = {i.name for i in g.input} & outs
    for node in list(g.node):
        for k, name in enumerate(node.input):
            node.input[k] = names.get(name, name)
        if node.op_type == "Identity" and node.output[0] in through:
            g.node.remove(node)


def net_write(folder, name, net, given, ins, outs, open_axes, meta, by_dynamo=True):
    path = os.path.join(folder, name + ".onnx")
    net.eval()
    more = dict(dynamic_shapes=open_axes, dynamo=True, optimize=True, external_data=False) if by_dynamo else dict(
        dynamic_axes=open_axes, dynamo=False, do_constant_folding=True)
    with torch.no_grad():
        torch.onnx.export(net, given, path, input_names=ins, output_names=outs, opset_version=18, **more)
    model = onnx.load(path)
    ports_rename(model)
    for n in model.graph.node:
        del n.metadata_props[:]
        n.doc_string = ""
    del model.graph.value_info[:], model.metadata_props[:], model.graph.metadata_props[:]
    for key, value in meta.items():
        model.metadata_props.add(key=key, value=json.dumps(value))
    onnx.save(model, path)


def states_first():
    return [torch.zeros(1, FRAME - 1), torch.zeros(1, dtype=torch.long), torch.zeros(1, DIM, 4), torch.zeros(1, 2 * DIM, 4),
            torch.zeros(1, dtype=torch.long)]


IN = ["audio_chunk", "sample_buffer", "sample_len", "conv1_buffer", "conv2_buffer", "frame_count"]
CACHES = ["k_self", "v_self", "out_k_cross", "out_v_cross"]


def nets_write(folder):
    size = torch.export.Dim
    torch.onnx.register_custom_op_symbolic("aten::asinh", lambda g, x: g.op("Asinh", x), 9)
    net_write(folder, "frontend", Frontend(), (torch.randn(1, 3200), *states_first()), IN, ["features"] + [n + "_out" for n in IN[1:]],
              {"audio_chunk": {1: "chunk_len"}, "features": {1: "feat_len"}}, {}, by_dynamo=False)
    net_write(folder, "encoder", Encoder(), (torch.randn(1, 37, DIM),), ["features"], ["encoded"],
              {"features": {1: size("feat_len", min=2, max=65536)}},
              {"encoder_config": {"encoder_dim": DIM, "total_lookahead": sum(w[1] for w in WINDOWS), "windows": WINDOWS}})
    net_write(folder, "adapter", Adapter(), (torch.randn(1, 37, DIM), torch.zeros(1, dtype=torch.long)), ["encoded", "pos_offset"],
              ["memory"], {"encoded": {1: size("enc_len", min=2, max=65536)}, "pos_offset": None}, {})
    net_write(folder, "cross_kv", Cross(), (torch.randn(1, 37, WIDE),), ["memory"], ["k_cross", "v_cross"],
              {"memory": {1: size("mem_len", min=2, max=65536)}}, {})
    caches = [torch.randn(DEPTH, 1, HEADS, n, HEAD) for n in (5, 5, 37, 37)]
    past, heard = size("cache_len", min=1, max=16384), size("memory_len", min=2, max=65536)
    net_write(folder, "decoder_kv", Decoder(), (torch.tensor([[1, 10, 20]]), *caches), ["token"] + CACHES,
              ["logits", "out_k_self", "out_v_self"] + CACHES[2:],
              {"token": {1: size("token_len", min=1, max=16384)}, "k_self": {3: past}, "v_self": {3: past},
               "out_k_cross": {3: heard}, "out_v_cross": {3: heard}}, {})


def words_write(folder):
    config = {"encoder_dim": DIM, "decoder_dim": WIDE, "depth": DEPTH, "nheads": HEADS, "head_dim": HEAD, "vocab_size": len(TOKENS),
              "bos_id": 1, "eos_id": 2, "frame_len": FRAME, "total_lookahead": sum(w[1] for w in WINDOWS), "d_model_frontend": DIM,
              "c1": 2 * DIM, "c2": DIM, "frontend_state_shapes": {n: list(t.shape) for n, t in zip(IN[1:], states_first())}}
    with open(os.path.join(folder, "streaming_config.json"), "w") as f:
        json.dump(config, f, indent=2)
    with open(os.path.join(folder, "tokenizer.bin"), "wb") as f:
        for t in TOKENS:
            f.write((bytes([len(t)]) if len(t) < 128 else bytes([len(t) % 128 + 128, len(t) // 128])) + t)


# ---- what they give ----

def sound_read(path):
    with wave.open(path) as w:
        x = np.frombuffer(w.readframes(w.getnframes()), "<i2").astype(np.float32) / 32768
    return np.concatenate([x, np.zeros(-len(x) % CHUNK, np.float32)])


class Networks:
    def __init__(self, folder):
        for name in ("frontend", "encoder", "adapter", "cross_kv", "decoder_kv"):
            setattr(self, name, onnxruntime.InferenceSession(os.path.join(folder, name + ".onnx")))
        self.features, self.memory = np.zeros((1, 0, DIM), np.float32), np.zeros((1, 0, WIDE), np.float32)
        self.states = [t.numpy() for t in states_first()]
        self.closest = 9.0            # of the two likeliest tokens

    def hear(self, chunk):
        features, *self.states = self.frontend.run(None, dict(zip(IN, [chunk[None], *self.states])))
        self.features = np.concatenate([self.features, features], 1)

    def encode(self, is_last):
        """Windows as long as all layers look back, and what lies behind the last frames that nothing ahead changes."""
        done, ahead = self.memory.shape[1], 0 if is_last else sum(w[1] for w in WINDOWS)
        until, begin = max(0, self.features.shape[1] - ahead), max(0, done - sum(w[0] for w in WINDOWS))
        if until > done:
            encoded, = self.encoder.run(None, {"features": self.features[:, begin:]})
            more, = self.adapter.run(None, {"encoded": encoded[:, done - begin:until - begin], "pos_offset": np.array([done])})
            self.memory = np.concatenate([self.memory, more], 1)
        return self.memory.shape[1]

    def decode(self, n):
        """Greedy search, from the first token on, over n frames."""
        heard = self.cross_kv.run(None, {"memory": self.memory[:, :n]})
        past, token, found = [np.zeros((DEPTH, 1, HEADS, 0, HEAD), np.float32)] * 2, 1, []
        while len(found) < min(math.ceil(n * 0.02 * TOKENS_A_SECOND), LONGEST):
            y, *past = self.decoder_kv.run(None, dict(zip(["token"] + CACHES, [np.array([[token]]), *past, *heard])))[:3]
            token = int(y[0, -1].argmax())
            self.closest = min(self.closest, float(np.diff(np.sort(y[0, -1])[-2:])[0]))
            if token == 2:
                break
            found.append(token)
        return found


def reference(folder, path):
    """The texts from update to update, and the last one."""
    nets, partials, seen, n = Networks(folder), [], 0, 0
    x = sound_read(path)
    for at in range(0, len(x), CHUNK):
        nets.hear(x[at:at + CHUNK])
        n = nets.encode(False)
        while seen + UPDATE_FRAMES <= n:
            seen += UPDATE_FRAMES
            partials.append(nets.decode(seen))
    n = nets.encode(True)
    while seen + UPDATE_FRAMES <= n:
        seen += UPDATE_FRAMES
        partials.append(nets.decode(seen))
    return partials, nets.decode(n), nets.closest


def written(tokens):
    """A token is a word; marks are not written, and half a character is a question mark."""
    names = [t.replace("\u2581".encode(), b"") for t in (TOKENS[k] for k in tokens) if t and t[:1] + t[-1:] != b"<>"]
    return " ".join(n.decode() if n < bytes([0x80]) else "?" for n in names)


def reference_write(folder, paths):
    lines = []
    for path in paths:
        partials, last, closest = reference(folder, path)
        print(path, partials, last, "closest:", closest)
        lines.append("sound " + path)
        told = [""] + [written(p) for p in partials]
        lines += ["partial " + now for was, now in zip(told, told[1:]) if was != now]
        lines += ["final " + written(last), ""]
    with open(os.path.join(folder, "reference.txt"), "w") as f:
        f.write("\n".join(lines))


if __name__ == "__main__":
    folder, *sounds = sys.argv[1:]
    torch.manual_seed(int(os.environ.get("SEED", "7")))
    os.makedirs(folder, exist_ok=True)
    if not os.environ.get("KEEP"):
        nets_write(folder)
    words_write(folder)
    reference_write(folder, sounds)
