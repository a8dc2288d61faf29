#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds `rill transcribe` against the runtime of sherpa-onnx itself: transducers of random weights in the form of icefall's LSTM
recipe (a kind of encoder that needs little metadata), greedy and modified beam search, tokens and their times.

    compare.py RILL [SEEDS]

Needs numpy, onnx and the Python package sherpa-onnx."""
import importlib.util
import json
import subprocess
import sys
import tempfile
import types
import wave
from pathlib import Path

import numpy as np

sys.modules.setdefault("onnxruntime", types.ModuleType("onnxruntime"))     # make.py's own reference is not asked
spec = importlib.util.spec_from_file_location("make", Path(__file__).with_name("make.py"))
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)
DIM, CELL = make.DIM, 32

GRAPH = """version 1.0;
graph lstm(pcm) -> (encoder_out)
{
    pcm = external<scalar>(shape = [S]);
    chunks = rill_frame(reshape(rill_fbank(pcm), shape = [-1]), size = 720, hop = 320, end = "drop");
    encoder_out = rill_onnx_scan(chunks, file = "encoder.onnx", input = [x], output = [encoder_out],
                                 state = [(h, next_h), (c, next_c)]);
}
"""
CONF = """[model]
sample_rate = 16000
[input.pcm]
kind = audio
[output.encoder_out]
kind = transducer
decoder = decoder.onnx
joiner = joiner.onnx
tokens = tokens.txt
units = words
max_tokens = 4096
rule1_ms = 0
rule2_ms = 0
rule3_ms = 0
"""


def make_encoder(path, rng):
    n = make.Net(rng)
    n.add("Add", ["x", n.const("offset", np.float32(9.0))], "centred")
    n.add("Transpose", ["centred"], "xt", perm=[0, 2, 1])
    n.add("Conv", ["xt", n.weight("embed", DIM, make.BINS, 9, scale=0.6)], "embedded", strides=[4])
    n.add("Transpose", ["embedded"], "e", perm=[2, 0, 1])
    n.add("MatMul", ["h", n.weight("wh", DIM, DIM, scale=0.8)], "past")
    n.add("Add", ["e", "past"], "sum")
    n.add("Tanh", ["sum"], "next_h")
    n.add("Mul", ["c", n.const("half", np.float32(0.5))], "kept")
    n.add("MatMul", ["next_h", n.weight("wc", DIM, CELL)], "new")
    n.add("Add", ["kept", "new"], "next_c")
    n.add("MatMul", ["next_c", n.weight("wo", CELL, DIM, scale=1.4)], "o")
    n.add("Transpose", ["o"], "encoder_out", perm=[1, 0, 2])
    f = make.F
    n.save(path, [("x", f, ["N", 9, make.BINS]), ("h", f, [1, "N", DIM]), ("c", f, [1, "N", CELL])],
           [("encoder_out", f, ["N", 1, DIM]), ("next_h", f, [1, "N", DIM]), ("next_c", f, [1, "N", CELL])],
           dict(model_type="lstm", decode_chunk_len=4, T=9, num_encoder_layers=1, d_model=DIM, rnn_hidden_size=CELL))


def make_folder(folder, seed):
    rng = np.random.default_rng(seed)
    make_encoder(folder / "encoder.onnx", rng)
    make.make_decoder(folder / "decoder.onnx", rng)
    make.make_joiner(folder / "joiner.onnx", rng)
    (folder / "tokens.txt").write_text("".join(f"{w} {i}\n" for i, w in enumerate(make.NAMES)))
    (folder / "graph.nnef").write_text(GRAPH)
    # Silence in front: what Kaldi mirrors there is silence too.
    parts = [np.zeros(3200, np.int16)] + [make.make_audio(rng) for _ in range(4)] + [np.zeros(8000, np.int16)]
    audio = np.concatenate(parts)
    with wave.open(str(folder / "audio.wav"), "wb") as w:
        w.setparams((1, 2, make.RATE, 0, "NONE", ""))
        w.writeframes(audio.tobytes())
    return audio / 32768.0


def theirs(folder, audio, beam):
    import sherpa_onnx

    r = sherpa_onnx.OnlineRecognizer.from_transducer(
        tokens=str(folder / "tokens.txt"), encoder=str(folder / "encoder.onnx"), decoder=str(folder / "decoder.onnx"),
        joiner=str(folder / "joiner.onnx"), num_threads=1, enable_endpoint_detection=False, max_active_paths=beam,
        decoding_method="greedy_search" if beam == 1 else "modified_beam_search")
    s = r.create_stream()
    s.accept_waveform(make.RATE, audio.astype(np.float32))
    s.input_finished()
    while r.is_ready(s):
        r.decode_stream(s)
    return [(t.strip(), round(at / 0.04)) for t, at in zip(r.tokens(s), r.timestamps(s))]


def ours(rill, folder, beam):
    (folder / "model.conf").write_text(CONF + f"beam = {beam}\n")
    out = subprocess.run([rill, "transcribe", "--json", "-m", str(folder), str(folder / "audio.wav")], check=True, capture_output=True)
    return [(w["text"], round(w["start_s"] / 0.04)) for s in json.loads(out.stdout)["segments"] for w in s["words"]]


def main():
    rill, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8
    failed = n_tokens = 0
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            audio = make_folder(folder, seed)
            for beam in (1, 2, 4, 8):
                want, have = theirs(folder, audio, beam), ours(rill, folder, beam)
                n_tokens += len(want)
                failed += want != have
                print(f"seed {seed}, beam {beam}: {len(want)} tokens, {'the same' if want == have else 'NOT THE SAME'}")
    print(f"{n_tokens} tokens")
    print(f"{4 * seeds - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
