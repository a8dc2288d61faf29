#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second transducer of random weights: an encoder with as many cached states as a zipformer of icefall has, whole numbers among
them, and a stateless decoder that sees one token.

    more.py FOLDER          # reads ../audio.wav of it; needs numpy, onnx, onnxruntime

State names are those of icefall's exports: cached_key_I, cached_nonlin_attn_I, cached_val1_I, cached_val2_I, cached_conv1_I,
cached_conv2_I, embed_states and processed_lens of the second zipformer, cached_len_I and cached_avg_I of the first."""
import sys
import wave
from pathlib import Path

import numpy as np

import make
from make import BINS, F, I, LEFT, Net, OUT

LAYERS, DIM, T, CHUNK, SEED = 16, 8, 23, 16, 34


class Encoder(Net):
    def __init__(self, rng):
        super().__init__(rng)
        self.inputs, self.outputs = [], []

    def ints(self, *v):
        return self.const("i%d" % len(self.weights), np.int64(v))

    def op(self, kind, *inputs, **attrs):
        return self.add(kind, list(inputs), "n%d" % len(self.nodes), **attrs)

    def state(self, name, shape, new, kind=F):
        self.inputs.append((name, kind, shape))
        self.outputs.append(("new_" + name, kind, shape))
        self.add("Identity", [new], "new_" + name)

    def past(self, name, shape, x, axis, keep):
        """What is cached and x behind it, along an axis; the last `keep` are kept."""
        both = self.op("Concat", name, x, axis=axis)
        self.state(name, shape, self.op("Slice", both, self.ints(-keep), self.ints(2 ** 31), self.ints(axis)))
        return both

    def dense(self, x, scale=0.5):
        return self.op("MatMul", x, self.weight("w%d" % len(self.weights), DIM, DIM, scale=scale))

    def mixed(self, weights, values):
        """[N, OUT, LEFT + OUT] over [LEFT + OUT, N, DIM] -> [OUT, N, DIM]"""
        y = self.op("MatMul", weights, self.op("Transpose", values, perm=[1, 0, 2]))
        return self.op("Transpose", y, perm=[1, 0, 2])

    def convolved(self, name, x):
        y = self.past(name, ["N", DIM, 2], self.op("Transpose", x, perm=[1, 2, 0]), 2, 2)
        y = self.op("Conv", y, self.weight("k%d" % len(self.weights), DIM, 1, 3), group=DIM)
        return self.op("Transpose", self.op("Tanh", y), perm=[2, 0, 1])

    def layer(self, i, h, mask):
        first = h
        keys = self.past(f"cached_key_{i}", [LEFT, "N", DIM], self.dense(h), 0, LEFT)
        score = self.op("MatMul", self.op("Transpose", self.dense(h), perm=[1, 0, 2]), self.op("Transpose", keys, perm=[1, 2, 0]))
        weights = self.op("Softmax", self.op("Where", mask, "low", score), axis=2)
        wide = self.op("Unsqueeze", self.op("Transpose", self.op("Tanh", self.dense(h)), perm=[1, 0, 2]), self.ints(0))
        wide = self.past(f"cached_nonlin_attn_{i}", [1, "N", LEFT, DIM], wide, 2, LEFT)
        y = self.op("MatMul", weights, self.op("Squeeze", wide, self.ints(0)))
        h = self.op("Add", h, self.op("Transpose", y, perm=[1, 0, 2]))
        for k in (1, 2):
            values = self.past(f"cached_val{k}_{i}", [LEFT, "N", DIM], self.dense(h, 0.3), 0, LEFT)
            h = self.op("Add", h, self.mixed(weights, values))
            h = self.op("Add", h, self.convolved(f"cached_conv{k}_{i}", h))
        seen = self.op("Add", f"cached_len_{i}", "step")
        was = self.op("Unsqueeze", self.op("Cast", f"cached_len_{i}", to=F), self.ints(2))
        now = self.op("Unsqueeze", self.op("Cast", seen, to=F), self.ints(2))
        total = self.op("Add", self.op("Mul", f"cached_avg_{i}", was), self.op("ReduceSum", h, self.ints(0), keepdims=1))
        mean = self.op("Div", total, now)
        self.state(f"cached_len_{i}", [1, "N"], seen, I)
        self.state(f"cached_avg_{i}", [1, "N", DIM], mean)
        y = self.op("Tanh", self.op("Sub", self.dense(h, 1.0), mean))
        return self.op("Add", first, self.op("Mul", y, "little"))

    def make(self, path):
        self.const("low", np.float32(-1000))
        self.const("little", np.float32(0.2))
        self.const("step", np.int64([OUT]))
        x = self.op("Transpose", self.op("Add", "x", self.const("offset", np.float32(9.0))), perm=[0, 2, 1])
        x = self.past("embed_states", ["N", BINS, 4], x, 2, 4)
        x = self.op("Slice", x, self.ints(4), self.ints(4 + T), self.ints(2))
        h = self.op("Transpose", self.op("Tanh", self.op("Conv", x, self.weight("embed", DIM, BINS, 11, scale=0.6), strides=[4])),
                    perm=[2, 0, 1])
        missing = self.op("Sub", self.const("left", np.int64([[LEFT]])), self.op("Unsqueeze", "processed_lens", self.ints(1)))
        mask = self.op("Unsqueeze", self.op("Less", self.const("index", np.arange(LEFT + OUT)[None]), missing), self.ints(1))
        for i in range(LAYERS):
            h = self.layer(i, h, mask)
        y = self.op("MatMul", self.op("Transpose", h, perm=[1, 0, 2]), self.weight("out", DIM, make.DIM, scale=2.0))
        self.add("Identity", [y], "encoder_out")
        self.state("processed_lens", ["N"], self.op("Add", "processed_lens", "step"), I)
        layers = ",".join("1" * LAYERS)
        self.save(path, [("x", F, ["N", T, BINS])] + self.inputs, [("encoder_out", F, ["N", OUT, make.DIM])] + self.outputs,
                  dict(model_type="zipformer2", version=1, model_author="k2-fsa", comment="random weights", decode_chunk_len=CHUNK,
                       T=T, num_encoder_layers=layers, encoder_dims=layers.replace("1", str(DIM)),
                       cnn_module_kernels=layers.replace("1", "3"), left_context_len=layers.replace("1", str(LEFT)),
                       query_head_dims=layers.replace("1", str(DIM)), value_head_dims=layers.replace("1", str(DIM)),
                       num_heads=layers))


class Reference(make.Reference):
    def encode(self, features):
        net = self.net["encoder"]
        kinds = {"tensor(int64)": np.int64, "tensor(float)": np.float32}
        state = {i.name: np.zeros([d if isinstance(d, int) else 1 for d in i.shape], kinds[i.type]) for i in net.get_inputs()[1:]}
        out = []
        for at in range(0, len(features) - T + 1, CHUNK):
            y = dict(zip([o.name for o in net.get_outputs()],
                         net.run(None, dict(x=features[None, at:at + T].astype(np.float32), **state))))
            state = {k: y["new_" + k] for k in state}
            out.append(y["encoder_out"][0])
        return np.concatenate(out), len(state)


def main():
    folder = Path(sys.argv[1])
    with wave.open(str(folder / "audio.wav")) as w:
        audio = np.frombuffer(w.readframes(w.getnframes()), np.int16)
    folder = folder / "zip"
    rng = np.random.default_rng(SEED)
    Encoder(rng).make(folder / "encoder.onnx")
    make.CONTEXT = 1
    make.make_decoder(folder / "decoder.onnx", rng, context=1)
    make.make_joiner(folder / "joiner.onnx", rng, blank=4)
    (folder / "tokens.txt").write_text("".join(f"{w} {i}\n" for i, w in enumerate(make.NAMES)))
    ref = Reference(folder)
    frames, n_states = ref.encode(make.fbank(audio / 32768.0))
    frames.astype(np.float32).tofile(folder / "encoder.f32")
    shaken = ref.encode(make.fbank(audio / 32768.0) + 7e-4 * np.random.default_rng(1).uniform(-1, 1, BINS))[0]
    assert abs(shaken - frames).max() < 1e-3, "rounding grows in it"
    print(n_states, "states; spread of the frames", frames.std(0).mean(), "largest", abs(frames).max())
    text = ""
    for name, tokens, times, margin in [("greedy 1", *ref.greedy(frames, 1)), ("greedy 3", *ref.greedy(frames, 3))] + \
            [(f"beam {n}", *ref.beam(frames, n)) for n in (2, 4, 8, 16)]:
        print(f"{name}: {len(tokens)} tokens in {len(frames)} frames, least margin {margin:.2g}")
        assert margin > 2e-4, "too close to call: take another seed"
        text += name + "".join(f" {k}@{t}" for k, t in zip(tokens, times)) + "\n"
    (folder / "reference.txt").write_text(text)


if __name__ == "__main__":
    main()
