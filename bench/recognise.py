#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a folder of recordings with transcripts through a recogniser, and prints word error rate, how late words are told, and
real-time factor; beside those of sherpa-onnx on the same files, where it is installed and the model is a folder that it takes.

    recognise.py MODEL RECORDINGS [--rill RILL] [--beam N] [--limit N] [--keep DIR]

RECORDINGS holds NAME.wav or NAME.flac with NAME.txt. `late` is how much audio had been heard, when a word was first told, beyond its
beginning (mean, most); computing comes on top of it. Both run on one thread; --keep leaves what was heard in DIR/rill, DIR/sherpa."""
import argparse
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PIECE_S, TAIL_S = 0.1, 0.66


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("recordings", type=Path)
    p.add_argument("--rill", default="rill")
    p.add_argument("--beam", type=int, default=0)
    p.add_argument("--limit", type=int, default=0)
    p.add_argument("--keep", type=Path)
    o = p.parse_args()
    o.folder = Path(o.model)
    return o


def heard(*command):
    """What rill prints; its own words where it fails."""
    try:
        r = subprocess.run(command, capture_output=True, text=True)
    except OSError as e:
        raise SystemExit(f"{command[0]}: {e.strerror}") from None
    if r.returncode:
        raise SystemExit(r.stderr.strip() or f"{command[0]}: exit code {r.returncode}")
    return json.loads(r.stdout)


def recordings(o):
    if not o.recordings.is_dir():
        raise SystemExit(f"{o.recordings}: no folder of recordings")
    found = [f for f in sorted(o.recordings.iterdir()) if f.suffix in (".wav", ".flac") and f.with_suffix(".txt").exists()]
    return found[:o.limit or None]


class Sums:
    def __init__(self, name, to):
        self.name, self.to, self.audio_s, self.busy_s, self.late, self.most = name, to, 0.0, 0.0, [], 0.0
        to.mkdir(parents=True, exist_ok=True)

    def row(self, rate):
        late = self.late or [0.0]
        most = max(self.most, *late)
        print(f"{self.name:14} WER {100 * rate['wer']:6.2f} % of {rate['words']} words ({rate['insertions']} ins, {rate['deletions']} del, "
              f"{rate['substitutions']} sub), late {sum(late) / len(late):.3f} s, most {most:.3f} s, RTF {self.busy_s / self.audio_s:.4f}")


def by_rill(o, files, to):
    sums = Sums("rill", to)
    for f in files:
        beam = ["--beam", str(o.beam)] if o.beam else []
        said = heard(o.rill, "transcribe", "--json", *beam, "-m", o.model, str(f))
        (to / f"{f.stem}.txt").write_text(said["text"], encoding="utf-8")
        words = sum(len(s["words"]) for s in said["segments"])
        sums.audio_s += said["audio_s"]
        sums.busy_s += said["rtf"] * said["audio_s"]
        sums.late += [said["late_s"]["mean"]] * words
        sums.most = max(sums.most, said["late_s"]["most"])
    return sums


def file_of(folder, pattern):
    files = sorted(folder.glob(pattern))
    return str(([f for f in files if not f.name.endswith((".int8.onnx", ".fp16.onnx"))] or files)[0])


def sherpa_recogniser(sherpa_onnx, o):
    make = sherpa_onnx.OnlineRecognizer
    own = dict(tokens=str(o.folder / "tokens.txt"), num_threads=1,
               decoding_method="modified_beam_search" if o.beam > 1 else "greedy_search")
    if any(o.folder.glob("encoder*.onnx")):
        return make.from_transducer(**{r: file_of(o.folder, r + "*.onnx") for r in ("encoder", "decoder", "joiner")},
                                    max_active_paths=max(o.beam, 1), **own)
    network = file_of(o.folder, "*.onnx")
    kind = onnx_meta(network).get("model_type")
    way = {"wenet_ctc": make.from_wenet_ctc, "EncDecHybridRNNTCTCBPEModel": make.from_nemo_ctc}.get(kind, make.from_zipformer2_ctc)
    return way(model=network, **own)


def onnx_meta(path):
    import onnxruntime
    return onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map


def slower(o):
    """Its times take a frame for 40 ms, also where it is of 80 (NeMo)."""
    networks = sorted(o.folder.glob("model*.onnx"))
    return int(onnx_meta(str(networks[0])).get("subsampling_factor", 4)) / 4 if networks else 1


def by_sherpa(o, files, to):
    import numpy as np
    import sherpa_onnx
    import soundfile
    sums, r, factor = Sums("sherpa-onnx", to), sherpa_recogniser(sherpa_onnx, o), slower(o)
    for f in files:
        x, rate = soundfile.read(f, dtype="float32", always_2d=True)
        x = np.concatenate([x[:, 0], np.zeros(int(TAIL_S * rate), np.float32)])
        s, told, piece = r.create_stream(), 0, int(PIECE_S * rate)
        start = time.perf_counter()
        for at in range(0, len(x), piece):
            s.accept_waveform(rate, x[at:at + piece])
            while r.is_ready(s):
                r.decode_stream(s)
            tokens, times = r.tokens(s), r.timestamps(s)
            marked = any(t.startswith(" ") for t in tokens)
            sums.late += [min(at + piece, len(x)) / rate - v * factor for t, v in zip(tokens[told:], times[told:]) if t.startswith(" ") or not marked]
            told = len(tokens)
        s.input_finished()
        while r.is_ready(s):
            r.decode_stream(s)
        sums.busy_s += time.perf_counter() - start
        sums.audio_s += len(x) / rate - TAIL_S
        (to / f"{f.stem}.txt").write_text(r.get_result(s), encoding="utf-8")
    return sums


def main():
    o = options()
    files = recordings(o)
    if not files:
        raise SystemExit(f"{o.recordings}: no NAME.wav or NAME.flac with NAME.txt")
    with tempfile.TemporaryDirectory() as tmp:
        ref, out = Path(tmp) / "ref", o.keep or Path(tmp)
        ref.mkdir()
        for f in files:
            shutil.copy(f.with_suffix(".txt"), ref)
        for name, way in (("rill", by_rill), ("sherpa", by_sherpa)):
            if name == "sherpa" and not (o.folder / "tokens.txt").exists():
                continue
            try:
                sums = way(o, files, out / name)
            except ImportError as e:
                print(f"{name}: {e}")
                continue
            sums.row(heard(o.rill, "wer", "--json", str(ref), str(out / name)))


main()
