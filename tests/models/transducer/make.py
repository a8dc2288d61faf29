#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a small transducer of random weights in the form that icefall exports and sherpa-onnx reads (encoder in chunks with
cached states, stateless decoder, joiner, tokens.txt, metadata), a recording, and what a reference decoder says to it.

    make.py FOLDER

The reference is independent of the library: features in numpy (float64), networks in ONNX Runtime, both searches here, as Graves
2012 and the modified beam search of icefall describe them. Needs numpy, onnx, onnxruntime."""
import sys
import wave
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RATE, BINS, CHUNK, T, OUT, DIM, LEFT, CONTEXT = 16000, 80, 16, 23, 4, 24, 8, 2
NAMES = ["<blk>", "<sos/eos>", "<unk>"] + ["\u2581" + w for w in "THE A ON LA TE RI MO SU".split()] + "S ED ING LO RA NI".split()
SEED = 11


class Net:
    """One ONNX file being put together."""

    def __init__(self, rng):
        self.rng, self.nodes, self.weights = rng, [], []

    def weight(self, name, *shape, scale=1.0):
        w = self.rng.normal(0, scale / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32)
        return self.const(name, w)

    def const(self, name, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op, inputs, name, **attrs):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        return name

    def save(self, path, inputs, outputs, meta):
        info = [[helper.make_tensor_value_info(n, t, s) for n, t, s in side] for side in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, path.stem, *info, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        helper.set_model_props(model, {k: str(v) for k, v in meta.items()})
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)


F, I = TensorProto.FLOAT, TensorProto.INT64


def make_encoder(path, rng):
    n = Net(rng)
    n.add("Add", ["x", n.const("offset", np.float32(9.0))], "centred")
    n.add("Transpose", ["centred"], "xt", perm=[0, 2, 1])
    n.add("Conv", ["xt", n.weight("embed", DIM, BINS, 11, scale=0.6)], "embedded", strides=[4])         # [N, DIM, OUT]
    n.add("Concat", ["cached_conv", "embedded"], "with_past", axis=2)
    n.add("Conv", ["with_past", n.weight("depthwise", DIM, 1, 3, scale=1.2)], "convolved", group=DIM)
    n.add("Slice", ["with_past", n.const("s", np.int64([OUT])), n.const("e", np.int64([OUT + 2])), n.const("a", np.int64([2]))],
          "new_cached_conv")
    n.add("Tanh", ["convolved"], "active")
    n.add("Transpose", ["active"], "h", perm=[2, 0, 1])                                                # [OUT, N, DIM]
    n.add("MatMul", ["h", n.weight("wk", DIM, DIM, scale=1.2)], "key")
    n.add("Concat", ["cached_key", "key"], "keys", axis=0)
    n.add("Slice", ["keys", n.const("s1", np.int64([OUT])), n.const("e1", np.int64([OUT + LEFT])), n.const("a1", np.int64([0]))],
          "new_cached_key")
    n.add("MatMul", ["h", n.weight("wq", DIM, DIM, scale=1.2)], "query")
    n.add("Transpose", ["query"], "q", perm=[1, 0, 2])
    n.add("Transpose", ["keys"], "k", perm=[1, 2, 0])
    n.add("MatMul", ["q", "k"], "attention")                                                           # [N, OUT, LEFT + OUT]
    # Frames before the first are masked: index < LEFT - processed.
    n.add("Unsqueeze", ["processed_lens", n.const("a2", np.int64([1]))], "seen")
    n.add("Sub", [n.const("left", np.int64([[LEFT]])), "seen"], "missing")
    n.add("Less", [n.const("index", np.arange(LEFT + OUT, dtype=np.int64)[None]), "missing"], "is_masked")
    n.add("Unsqueeze", ["is_masked", n.const("a3", np.int64([1]))], "mask")
    n.add("Where", ["mask", n.const("low", np.float32(-1000)), "attention"], "masked")
    n.add("Softmax", ["masked"], "weights", axis=2)
    n.add("Transpose", ["keys"], "v", perm=[1, 0, 2])
    n.add("MatMul", ["weights", "v"], "context")
    n.add("Transpose", ["h"], "h0", perm=[1, 0, 2])
    n.add("Add", ["context", "h0"], "both")
    n.add("MatMul", ["both", n.weight("encoder_proj", DIM, DIM, scale=1.5)], "encoder_out")
    n.add("Add", ["processed_lens", n.const("step", np.int64([OUT]))], "new_processed_lens")
    n.save(path, [("x", F, ["N", T, BINS]), ("cached_key", F, [LEFT, "N", DIM]), ("cached_conv", F, ["N", DIM, 2]),
                  ("processed_lens", I, ["N"])],
           [("encoder_out", F, ["N", OUT, DIM]), ("new_cached_key", F, [LEFT, "N", DIM]), ("new_cached_conv", F, ["N", DIM, 2]),
            ("new_processed_lens", I, ["N"])],
           dict(model_type="tiny", version=1, decode_chunk_len=CHUNK, T=T))


def make_decoder(path, rng, rows=len(NAMES), dim=DIM, context=CONTEXT, meta=True):
    n = Net(rng)
    n.add("Clip", ["y", n.const("zero", np.int64(0))], "clipped")
    n.add("Gather", [n.weight("embedding", rows, dim, scale=4.0), "clipped"], "embedded", axis=0)
    n.add("GreaterOrEqual", ["y", "zero"], "is_token")
    n.add("Cast", ["is_token"], "scale", to=F)
    n.add("Unsqueeze", ["scale", n.const("a", np.int64([-1]))], "scales")
    n.add("Mul", ["embedded", "scales"], "tokens")
    n.add("Transpose", ["tokens"], "t", perm=[0, 2, 1])
    n.add("Conv", ["t", n.weight("conv", dim, dim // 4, context, scale=1.5)], "conved", group=4)
    n.add("Relu", ["conved"], "relu")
    n.add("Squeeze", ["relu", n.const("a2", np.int64([2]))], "d")
    n.add("Gemm", ["d", n.weight("decoder_proj", dim, dim, scale=1.0), n.weight("bias", dim)], "decoder_out", transB=1)
    n.save(path, [("y", I, ["N", context])], [("decoder_out", F, ["N", dim])],
           dict(context_size=context, vocab_size=rows) if meta else {})


def make_failing(path, good, token):
    """The decoder, but that what it looks up for one token in the middle is a row that there is none of."""
    model = onnx.load(good)
    rows = np.arange(len(NAMES), dtype=np.int64)
    rows[token] = 99
    look = next(n for n in model.graph.node if n.op_type == "Gather")
    at = list(model.graph.node).index(look)
    model.graph.initializer.append(numpy_helper.from_array(rows, "rows"))
    model.graph.node.insert(at, helper.make_node("Gather", ["rows", look.input[1]], ["row"], name="row_of_token", axis=0))
    model.graph.node[at + 1].input[1] = "row"
    onnx.save(model, path)


def make_joiner(path, rng, blank=6):
    n = Net(rng)
    n.add("Add", ["encoder_out", "decoder_out"], "sum")
    n.add("Tanh", ["sum"], "active")
    bias = np.zeros(len(NAMES), np.float32)
    bias[0] = blank
    bias[1:3] = -9, 2
    n.add("Gemm", ["active", n.weight("output_linear", len(NAMES), DIM, scale=5.0), n.const("bias", bias)], "logit", transB=1)
    n.save(path, [("encoder_out", F, ["N", DIM]), ("decoder_out", F, ["N", DIM])], [("logit", F, ["N", len(NAMES)])],
           dict(joiner_dim=DIM))


# ---- the recording and its features ----


def make_audio(rng):
    """Gliding harmonics that stop and start, and noise."""
    n = int(2.6 * RATE)
    t = np.arange(n) / RATE
    pitch = 140 + 60 * np.sin(2 * np.pi * 1.3 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    formant = 900 + 700 * np.sin(2 * np.pi * 2.1 * t)
    x = sum(np.cos(k * phase) * np.exp(-(((k * pitch - formant) / 600) ** 2)) for k in range(1, 24))
    x *= 0.12 * (np.sin(2 * np.pi * 1.7 * t) > -0.6)
    return np.round(32767 * np.clip(x + rng.normal(0, 0.004, n), -1, 1)).astype(np.int16)


def fbank(x):
    """Features of Kaldi: 25 ms every 10, centred (zeros around the signal), mean off, preemphasis, Povey window, power spectrum, 80
    bands from 20 to 7600 Hz with straight sides over mel, logarithm."""
    n_frames = -(-(len(x) + 120 - 400) // 160) + 1
    padded = np.concatenate([np.zeros(120), x, np.zeros(400)])
    rows = np.stack([padded[160 * i:160 * i + 400] for i in range(n_frames)])
    rows = rows - rows.mean(axis=1, keepdims=True)
    before = np.concatenate([rows[:, :1], rows[:, :-1]], axis=1)
    rows = (rows - 0.97 * before) * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 399)) ** 0.85
    power = np.abs(np.fft.rfft(rows, 512)) ** 2
    mel = lambda f: 1127.0 * np.log(1 + f / 700.0)
    edges = np.linspace(mel(20.0), mel(7600.0), BINS + 2)
    at = mel(np.arange(257) * RATE / 512)
    weights = np.zeros((257, BINS))
    for b in range(BINS):
        low, mid, high = edges[b:b + 3]
        weights[:, b] = np.maximum(0, np.minimum((at - low) / (mid - low), (high - at) / (high - mid)))
    return np.log(np.maximum(power @ weights, np.finfo(np.float32).eps))


# ---- the reference decoder ----


class Reference:
    def __init__(self, folder):
        self.net = {n: onnxruntime.InferenceSession(str(folder / f"{n}.onnx")) for n in ("encoder", "decoder", "joiner")}

    def encode(self, features):
        state = dict(cached_key=np.zeros((LEFT, 1, DIM), np.float32), cached_conv=np.zeros((1, DIM, 2), np.float32),
                     processed_lens=np.zeros(1, np.int64))
        out = []
        for at in range(0, len(features) - T + 1, CHUNK):
            y, *new = self.net["encoder"].run(None, dict(x=features[None, at:at + T].astype(np.float32), **state))
            state = dict(zip(state, new))
            out.append(y[0])
        return np.concatenate(out)

    def logp(self, frame, tokens):
        d = self.net["decoder"].run(None, dict(y=np.int64([tokens[-CONTEXT:]])))[0]
        z = self.net["joiner"].run(None, dict(encoder_out=frame[None], decoder_out=d))[0][0].astype(np.float64)
        return z - z.max() - np.log(np.exp(z - z.max()).sum())

    def greedy(self, frames, max_symbols):
        tokens, times, margin = [-1] * (CONTEXT - 1) + [0], [], 9
        for t, frame in enumerate(frames):
            for _ in range(max_symbols):
                p = self.logp(frame, tokens)
                best = int(p.argmax())
                margin = min(margin, p[best] - np.sort(p)[-2])
                if best in (0, 2):        # the blank and what is unknown say nothing
                    break
                tokens.append(best)
                times.append(t)
        return tokens[CONTEXT:], times, margin

    def beam(self, frames, width):
        """Hypotheses: (tokens, times, log probability)."""
        hyps, margin = [([-1] * (CONTEXT - 1) + [0], [], 0.0)], 9
        for t, frame in enumerate(frames):
            ways = sorted(((s + p, i, k) for i, (y, _, s) in enumerate(hyps) for k, p in enumerate(self.logp(frame, y))),
                          reverse=True)
            margin = min(margin, ways[width - 1][0] - ways[width][0])
            new = {}
            for score, i, k in ways[:width]:
                y, times, _ = hyps[i]
                if k not in (0, 2):
                    y, times = y + [k], times + [t]
                if tuple(y) in new:
                    old = new[tuple(y)]
                    score, times = np.logaddexp(old[2], score), old[1]
                new[tuple(y)] = (y, times, score)
            hyps = list(new.values())
        rank = sorted(hyps, key=lambda h: h[2] / len(h[0]))
        if len(rank) > 1:
            margin = min(margin, rank[-1][2] / len(rank[-1][0]) - rank[-2][2] / len(rank[-2][0]))
        return rank[-1][0][CONTEXT:], rank[-1][1], margin


def main():
    folder = Path(sys.argv[1])
    rng = np.random.default_rng(SEED)
    make_encoder(folder / "encoder.onnx", rng)
    make_decoder(folder / "decoder.onnx", rng)
    make_joiner(folder / "joiner.onnx", rng)
    other = np.random.default_rng(SEED + 1)     # nets that do not go with the others
    make_decoder(folder / "decoder_wide.onnx", other, dim=32, context=3)
    make_decoder(folder / "decoder_few.onnx", other, rows=5, meta=False)
    make_failing(folder / "decoder_fails.onnx", folder / "decoder.onnx", NAMES.index("RA"))
    (folder / "tokens.txt").write_text("".join(f"{w} {i}\n" for i, w in enumerate(NAMES)))
    audio = make_audio(rng)
    with wave.open(str(folder / "audio.wav"), "wb") as w:
        w.setparams((1, 2, RATE, 0, "NONE", ""))
        w.writeframes(audio.tobytes())
    ref = Reference(folder)
    features = fbank(audio / 32768.0)
    features[::8].astype(np.float32).tofile(folder / "fbank.f32")
    frames = ref.encode(features)
    frames.astype(np.float32).tofile(folder / "encoder.f32")
    lines = [("greedy 1", *ref.greedy(frames, 1)), ("greedy 3", *ref.greedy(frames, 3))]
    lines += [(f"beam {n}", *ref.beam(frames, n)) for n in (2, 4, 8, 16)]
    text = ""
    for name, tokens, times, margin in lines:
        print(f"{name}: {len(tokens)} tokens in {len(frames)} frames, least margin {margin:.2g}")
        assert margin > 2e-4, "too close to call: take another seed"
        text += name + "".join(f" {k}@{t}" for k, t in zip(tokens, times)) + "\n"
    (folder / "reference.txt").write_text(text)


if __name__ == "__main__":
    main()
