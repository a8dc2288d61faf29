#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What sherpa-onnx says of the recordings with the recognisers of this folder's archives, as expected.json: the tokens and their
times, for each network, precision and way of decoding. Needs sherpa-onnx 2.0.1,
kaldi_native_fbank, onnxruntime, numpy.

    reference.py [ARCHIVE...]      those anew, the others as they were"""
import glob
import json
import math
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import sherpa_onnx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from exact import TAIL_S, audio_read, ctc_greedy, features_of, file_of, lm_read, nemo_greedy, nemo_searched, searched
from gaps import HOTWORDS, LM, gaps_write, of_folder, pieces_write

AUDIO = ["tests/models/transducer/audio.wav", "examples/audio/noisy.wav"]
DIGITS = "examples/audio/digits.wav"


RULES, LONE = (2.4, 1.2), (2.39, 1.19)          # LONE: no number of frames is as long; in single precision 120 of 10 ms are less than 1.2 s
JOINERS = "joiner[-.][!q]*x"       # joiner-quiet.onnx is for endpoints


def recogniser(folder, form, beam, joiner=JOINERS, hotwords=None, score=1.5, penalty=0.0, endpoints=False, rule3_s=20):
    silence = RULES if rule3_s == 20 else LONE
    own = dict(tokens=f"{folder}/tokens.txt", num_threads=1, provider="cpu", enable_endpoint_detection=endpoints, rule3_min_utterance_length=rule3_s,
               rule1_min_trailing_silence=silence[0], rule2_min_trailing_silence=silence[1],
               decoding_method="modified_beam_search" if beam > 1 else "greedy_search")
    make = sherpa_onnx.OnlineRecognizer
    if glob.glob(f"{folder}/encoder*"):
        if hotwords:
            own.update(hotwords_file=hotwords, hotwords_score=score, modeling_unit="bpe", bpe_vocab=f"{folder}/bpe.vocab")
        own.update(temperature_scale=1.0)       # of the probabilities it tells; 2 where nobody says
        return make.from_transducer(encoder=file_of(folder, "encoder*.onnx", form), decoder=file_of(folder, "decoder*.onnx", form),
                                    joiner=file_of(folder, joiner, form), max_active_paths=beam, blank_penalty=penalty, **own)
    if "wenet" in folder.name:
        return make.from_wenet_ctc(model=file_of(folder, "model*.onnx", form), **own)
    if "nemo" in folder.name:
        return make.from_nemo_ctc(model=file_of(folder, "model*.onnx", form), **own)
    return make.from_zipformer2_ctc(model=file_of(folder, "*.onnx", form), **own)


def given(**keys):
    return {k: v for k, v in keys.items() if v}


def hear(r, audio, slower=1):
    """(tokens, their times, the transducers' probabilities) of each text. slower: sherpa-onnx takes a frame of a CTC network for 40 ms; NeMo's are of 80."""
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
    return [(list(t.tokens), [round(v * slower, 3) for v in t.timestamps],
             [round(math.exp(v), 5) for v in t.ys_probs] if len(t.ys_probs) == len(t.tokens) else []) for t in texts if t.tokens]


def plain_cases(folder, root):
    """Of f32, by sherpa-onnx, but for what it does not know."""
    for beam in (1, 2, 4) if any(folder.glob("encoder*")) else (1,):
        for name in AUDIO:
            if folder.name == "conv-emformer":
                heard = [(*searched(folder, f"{root}/{name}", beam), [])]
            else:
                heard = hear(recogniser(folder, "f32", beam), f"{root}/{name}", 2 if "nemo-ctc" in folder.name else 1)
            for tokens, times, probs in heard:
                yield dict(folder=folder.name, form="f32", beam=beam, audio=name, tokens=tokens, times=times, **given(probs=probs))


def byte_cases(folder, root):
    """Greedy: scores move by a step where a feature does by a rounding, so beams come to near ties."""
    way = ctc_greedy if "ctc" in folder.name else nemo_greedy if folder.name == "nemo" else lambda f, a, form: searched(f, a, 1, form)
    for name in [*AUDIO, DIGITS] if "nemo" in folder.name else AUDIO:
        tokens, times = way(folder, f"{root}/{name}", "int8")
        yield dict(folder=folder.name, form="int8", beam=1, audio=name, tokens=tokens, times=times)


def endpoint_cases(folder, root, tmp, rule3_s=1e6):
    """Rule 3 cuts otherwise here, and sherpa-onnx begins NeMo's encoders anew at endpoints, and counts a conformer's frames from them."""
    hotwords, gaps = f"{tmp}/hotwords.txt", f"{tmp}/gaps.wav"
    is_ctc = "ctc" in folder.name
    gaps_write(root, gaps)
    for beam, score in [(1, 0)] if is_ctc else [(1, 0), (2, 0), (4, 0), (4, 0.7)]:
        r = recogniser(folder, "f32", beam, "joiner-quiet.onnx", hotwords if score else None, score, endpoints=True, rule3_s=rule3_s)
        yield dict(folder=folder.name, form="f32", beam=beam, audio="gaps", **given(joiner=not is_ctc and "joiner-quiet.onnx", hotwords_score=score),
                   **({} if rule3_s == 20 else dict(rule1_ms=2390, rule2_ms=1190, rule3_ms=0)), texts=[t for t, *_ in hear(r, gaps)])


def biased_cases(folder, root, tmp):
    """Of the first zipformer and the E-Branchformer by the joiner that says less: the other one is too sure of each token. Hotwords of
    NeMo's also rank the tokens of one hypothesis, so some are worth enough to be said."""
    hotwords, joiner = f"{tmp}/hotwords.txt", "joiner-quiet.onnx" if folder.name in ("zipformer", "ebranchformer") else JOINERS
    Path(hotwords).write_text(of_folder(HOTWORDS, folder.name))
    pieces_write(str(folder))
    least, more = (1, [(2, 5, 0), (4, 5, 0)]) if folder.name == "nemo" else (2, [])
    for beam, score, penalty in [(1, 0, least), (2, 0.7, 0), (2, 0.7, least), (4, 0.7, 0), (4, 0.7, least), *more]:
        (tokens, *_), = hear(recogniser(folder, "f32", beam, joiner, hotwords if score else None, score, penalty), f"{root}/{AUDIO[1]}")
        yield dict(folder=folder.name, form="f32", beam=beam, audio=AUDIO[1],
                   **given(joiner=joiner != JOINERS and joiner, hotwords_score=score, blank_penalty=penalty), tokens=tokens)


def fused_cases(folder, root):
    search, name, scale = (nemo_searched, AUDIO[1], 0.1) if folder.name == "nemo" else (searched, AUDIO[0], 0.6)
    for beam in (2, 4):
        tokens, _ = search(folder, f"{root}/{name}", beam, lm=lm_read(of_folder(LM, folder.name)), scale=scale)
        yield dict(folder=folder.name, form="f32", beam=beam, audio=name, lm_scale=scale, tokens=tokens)


def features_write(root):
    """Every 16th frame, for tests/models/transducer.c."""
    for name in ("icefall", "nemo"):
        feats = features_of(f"{root}/{AUDIO[0]}", nemo=name == "nemo", tail_s=0)
        feats[::16].astype(np.float32).tofile(f"{root}/tests/models/transducer/fbank_{name}.f32")


def main():
    out = HERE / "expected.json"
    root = HERE.parents[2]
    features_write(root)
    wanted = [Path(a).resolve() for a in sys.argv[1:]] or sorted(HERE.glob("*.tar.xz"))
    names = [a.name.split(".")[0] for a in wanted]
    cases = [c for c in (json.loads(out.read_text()) if out.exists() else []) if c["folder"] not in names]
    with tempfile.TemporaryDirectory() as tmp:
        for archive, name in zip(wanted, names):
            tarfile.open(archive).extractall(tmp, filter="data")
            folder = Path(tmp) / name
            cases += plain_cases(folder, root)
            cases += byte_cases(folder, root)
            if "ctc" not in name:
                cases += fused_cases(folder, root)
            if "ctc" not in name and name != "conv-emformer":
                cases += biased_cases(folder, root, tmp)
            if name not in ("nemo", "conv-emformer", "conformer"):
                cases += endpoint_cases(folder, root, tmp, 20 if name == "zipformer2" else 1e6)
    out.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n", encoding="utf-8")


main()
