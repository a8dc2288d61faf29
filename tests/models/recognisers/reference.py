#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What sherpa-onnx says of the recordings with the recognisers of this folder's archives, as expected.json: the tokens and their
times, for each network, precision and way of decoding. Needs sherpa-onnx 2.0.1, numpy.

    reference.py [ARCHIVE...]      those anew, the others as they were"""
import glob
import json
import sys
import tarfile
import tempfile
import wave
from pathlib import Path

import numpy as np
import sherpa_onnx

HERE = Path(__file__).resolve().parent
AUDIO = ["tests/models/transducer/audio.wav", "examples/audio/noisy.wav"]
TAIL_S = 0.66        # of silence, as in the examples of sherpa-onnx


def audio_read(name):
    with wave.open(str(HERE.parents[2] / name)) as f:
        x = np.frombuffer(f.readframes(f.getnframes()), np.int16).astype(np.float32) / 32768
        return x.reshape(-1, f.getnchannels())[:, 0], f.getframerate()


def file_of(folder, pattern, form):
    files = [f for f in sorted(glob.glob(f"{folder}/{pattern}")) if f.endswith(".int8.onnx") == (form == "int8")]
    return (files or sorted(glob.glob(f"{folder}/{pattern}")))[0]


def recogniser(folder, form, method, beam):
    own = dict(tokens=f"{folder}/tokens.txt", num_threads=1, provider="cpu", decoding_method=method)
    make = sherpa_onnx.OnlineRecognizer
    if glob.glob(f"{folder}/encoder*"):
        parts = {role: file_of(folder, role + "*.onnx", form) for role in ("encoder", "decoder", "joiner")}
        return make.from_transducer(**parts, max_active_paths=beam, **own)
    if "wenet" in folder.name:
        return make.from_wenet_ctc(model=file_of(folder, "model*.onnx", form), **own)
    if "nemo" in folder.name:
        return make.from_nemo_ctc(model=file_of(folder, "model*.onnx", form), **own)
    return make.from_zipformer2_ctc(model=file_of(folder, "*.onnx", form), **own)


def hear(folder, form, method, beam, name):
    x, rate = audio_read(name)
    r = recogniser(folder, form, method, beam)
    s = r.create_stream()
    s.accept_waveform(rate, x)
    s.accept_waveform(rate, np.zeros(int(TAIL_S * rate), np.float32))
    s.input_finished()
    while r.is_ready(s):
        r.decode_stream(s)
    said = r.get_result_all(s)
    return dict(folder=folder.name, form=form, beam=beam, audio=name, tokens=list(said.tokens), times=[round(t, 3) for t in said.timestamps])


def main():
    out = HERE / "expected.json"
    wanted = [Path(a).resolve() for a in sys.argv[1:]] or sorted(HERE.glob("*.tar.xz"))
    names = [a.name.split(".")[0] for a in wanted]
    cases = [c for c in (json.loads(out.read_text()) if out.exists() else []) if c["folder"] not in names]
    with tempfile.TemporaryDirectory() as tmp:
        for archive, name in zip(wanted, names):
            tarfile.open(archive).extractall(tmp, filter="data")
            folder = Path(tmp) / name
            forms = ["f32", "int8"] if any(folder.glob("*.int8.onnx")) else ["f32"]
            # In 8 bits scores move by a step where a feature does by a rounding: beams come to near ties then.
            beams = [("modified_beam_search", b) for b in (2, 4)] if any(folder.glob("encoder*")) else []
            for form in forms:
                for method, beam in [("greedy_search", 1)] + beams * (form == "f32"):
                    cases += [hear(folder, form, method, beam, a) for a in AUDIO]
    cases.sort(key=lambda c: (c["folder"], c["form"], c["beam"], c["audio"]))
    out.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n", encoding="utf-8")


main()
