#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What sherpa-onnx says of the recordings with the recognisers of this folder's archives, as expected.json: the tokens and their
times, for each network, precision and way of decoding. Needs sherpa-onnx 2.0.1,
kaldi_native_fbank, onnxruntime, numpy.

    reference.py [ARCHIVE...]      those anew, the others as they were"""
import glob
import json
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import sherpa_onnx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from exact import TAIL_S, audio_read, ctc_greedy, file_of, lm_read, nemo_greedy, searched
from gaps import HOTWORDS, LM, gaps_write

AUDIO = ["tests/models/transducer/audio.wav", "examples/audio/noisy.wav"]
DIGITS = "examples/audio/digits.wav"


JOINERS = "joiner[-.][!q]*x"       # joiner-quiet.onnx is for endpoints


def recogniser(folder, form, beam, joiner=JOINERS, hotwords=None, score=1.5, penalty=0.0, endpoints=False, rule3_s=20):
    own = dict(tokens=f"{folder}/tokens.txt", num_threads=1, provider="cpu", enable_endpoint_detection=endpoints, rule3_min_utterance_length=rule3_s,
               decoding_method="modified_beam_search" if beam > 1 else "greedy_search")
    make = sherpa_onnx.OnlineRecognizer
    if glob.glob(f"{folder}/encoder*"):
        if hotwords:
            own.update(hotwords_file=hotwords, hotwords_score=score, modeling_unit="bpe", bpe_vocab=f"{folder}/bpe.vocab")
        return make.from_transducer(encoder=file_of(folder, "encoder*.onnx", form), decoder=file_of(folder, "decoder*.onnx", form),
                                    joiner=file_of(folder, joiner, form), max_active_paths=beam, blank_penalty=penalty, **own)
    if "wenet" in folder.name:
        return make.from_wenet_ctc(model=file_of(folder, "model*.onnx", form), **own)
    if "nemo" in folder.name:
        return make.from_nemo_ctc(model=file_of(folder, "model*.onnx", form), **own)
    return make.from_zipformer2_ctc(model=file_of(folder, "*.onnx", form), **own)


def hear(r, audio, slower=1):
    """(tokens, their times) of each text. slower: sherpa-onnx takes a frame of a CTC network for 40 ms; NeMo's are of 80."""
    x, rate = audio_read(audio)
    s = r.create_stream()
    s.accept_waveform(rate, x)
    s.accept_waveform(rate, np.zeros(int(TAIL_S * rate), np.float32))
    s.input_finished()
    texts = []
    while r.is_ready(s):
        r.decode_stream(s)
        if r.is_endpoint(s):
            texts.append(r.get_result_all(s))
            r.reset(s)
    texts.append(r.get_result_all(s))
    return [(list(t.tokens), [round(v * slower, 3) for v in t.timestamps]) for t in texts if t.tokens]


def plain_cases(folder, root):
    """Of f32, by sherpa-onnx, but for what it does not know."""
    for beam in (1, 2, 4) if any(folder.glob("encoder*")) else (1,):
        for name in AUDIO:
            if folder.name == "conv-emformer":
                heard = [searched(folder, f"{root}/{name}", beam)]
            else:
                heard = hear(recogniser(folder, "f32", beam), f"{root}/{name}", 2 if "nemo-ctc" in folder.name else 1)
            for tokens, times in heard:
                yield dict(folder=folder.name, form="f32", beam=beam, audio=name, tokens=tokens, times=times)


def byte_cases(folder, root):
    """Greedy: scores move by a step where a feature does by a rounding, so beams come to near ties; NeMo's networks, whose features are
    bytes, too, come to them in the other recordings."""
    way = ctc_greedy if "ctc" in folder.name else nemo_greedy if folder.name == "nemo" else lambda f, a, form: searched(f, a, 1, form)
    for name in [DIGITS] if "nemo" in folder.name else AUDIO:
        tokens, times = way(folder, f"{root}/{name}", "int8")
        yield dict(folder=folder.name, form="int8", beam=1, audio=name, tokens=tokens, times=times)


def endpoint_cases(folder, root, tmp):
    """By rules 1 and 2 alone: rule 3 cuts otherwise here. sherpa-onnx begins NeMo's encoders anew at endpoints. (A beam of 4 comes to
    a near tie in one of them: it adds up in single precision.)"""
    gaps_write(root, f"{tmp}/gaps.wav")
    for beam in (1, 2) if any(folder.glob("encoder*")) else (1,):
        texts = hear(recogniser(folder, "f32", beam, joiner="joiner-quiet.onnx", endpoints=True, rule3_s=1e6), f"{tmp}/gaps.wav")
        yield dict(folder=folder.name, form="f32", beam=beam, audio="gaps", rule3_ms=0, texts=[t for t, _ in texts])


def biased_cases(folder, root, tmp):
    hotwords, gaps = f"{tmp}/hotwords.txt", f"{tmp}/gaps.wav"
    Path(hotwords).write_text(HOTWORDS)
    gaps_write(root, gaps)
    for beam in (2, 4):
        for penalty in (0, 2):
            (tokens, _), = hear(recogniser(folder, "f32", beam, hotwords=hotwords, score=0.7, penalty=penalty), f"{root}/{AUDIO[1]}")
            yield dict(folder=folder.name, form="f32", beam=beam, audio=AUDIO[1], hotwords_score=0.7, blank_penalty=penalty, tokens=tokens)
    for beam in (1, 2, 4):
        texts = hear(recogniser(folder, "f32", beam, joiner="joiner-quiet.onnx", endpoints=True), gaps)
        yield dict(folder=folder.name, form="f32", beam=beam, audio="gaps", texts=[t for t, _ in texts])


def fused_cases(folder, root):
    for beam in (2, 4):
        tokens, _ = searched(folder, f"{root}/{AUDIO[0]}", beam, lm=lm_read(LM), scale=0.6)
        yield dict(folder=folder.name, form="f32", beam=beam, audio=AUDIO[0], lm_scale=0.6, tokens=tokens)


def main():
    out = HERE / "expected.json"
    root = HERE.parents[2]
    wanted = [Path(a).resolve() for a in sys.argv[1:]] or sorted(HERE.glob("*.tar.xz"))
    names = [a.name.split(".")[0] for a in wanted]
    cases = [c for c in (json.loads(out.read_text()) if out.exists() else []) if c["folder"] not in names]
    with tempfile.TemporaryDirectory() as tmp:
        for archive, name in zip(wanted, names):
            tarfile.open(archive).extractall(tmp, filter="data")
            folder = Path(tmp) / name
            cases += plain_cases(folder, root)
            cases += byte_cases(folder, root)
            if name == "zipformer2":
                cases += biased_cases(folder, root, tmp)
                cases += fused_cases(folder, root)
            elif name not in ("nemo", "conv-emformer"):
                cases += endpoint_cases(folder, root, tmp)
    out.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n", encoding="utf-8")


main()
