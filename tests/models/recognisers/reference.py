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
import wave
from pathlib import Path

import kaldi_native_fbank
import numpy as np
import onnxruntime
import sherpa_onnx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from gaps import HOTWORDS, LM, gaps_write

AUDIO = ["tests/models/transducer/audio.wav", "examples/audio/noisy.wav"]
TAIL_S = 0.66        # of silence, as in the examples of sherpa-onnx


def audio_read(name):
    with wave.open(name) as f:
        x = np.frombuffer(f.readframes(f.getnframes()), np.int16).astype(np.float32) / 32768
        return x.reshape(-1, f.getnchannels())[:, 0], f.getframerate()


def file_of(folder, pattern, form):
    files = [f for f in sorted(glob.glob(f"{folder}/{pattern}")) if f.endswith(".int8.onnx") == (form == "int8")]
    return (files or sorted(glob.glob(f"{folder}/{pattern}")))[0]


def recogniser(folder, form, beam, joiner="joiner*.onnx", hotwords=None, score=1.5, penalty=0.0, endpoints=False):
    own = dict(tokens=f"{folder}/tokens.txt", num_threads=1, provider="cpu", enable_endpoint_detection=endpoints,
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
    forms = ["f32", "int8"] if any(folder.glob("*.int8.onnx")) else ["f32"]
    # In 8 bits scores move by a step where a feature does by a rounding: beams come to near ties then.
    for form in forms:
        for beam in (1, 2, 4) if form == "f32" and any(folder.glob("encoder*")) else (1,):
            for name in AUDIO:
                for tokens, times in hear(recogniser(folder, form, beam), f"{root}/{name}", 2 if "nemo-ctc" in folder.name else 1):
                    yield dict(folder=folder.name, form=form, beam=beam, audio=name, tokens=tokens, times=times)


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


# ---- n-grams of tokens: sherpa-onnx takes networks alone, so the search is written here ----


def lm_read(text):
    probs, order = {}, 0
    for line in text.splitlines():
        if line.startswith("\\"):
            order = int(line[1]) if line[1].isdigit() else 0
        elif order and line.strip():
            p, *rest = line.split()
            probs[tuple(rest[:order])] = float(p), float(rest[order]) if len(rest) > order else 0.0
    return probs


def lm_log_prob(lm, words):
    """Katz's backing off, natural logarithm."""
    if tuple(words) in lm:
        return lm[tuple(words)][0] * math.log(10)
    if len(words) == 1:
        return lm[("<unk>",)][0] * math.log(10)
    return lm.get(tuple(words[:-1]), (0, 0.0))[1] * math.log(10) + lm_log_prob(lm, words[1:])


def frames_of(folder, audio):
    """What the encoder gives, by ONNX Runtime on features of kaldi-native-fbank."""
    x, rate = audio_read(audio)
    o = kaldi_native_fbank.FbankOptions()
    o.frame_opts.dither, o.frame_opts.snip_edges, o.mel_opts.num_bins, o.mel_opts.high_freq = 0, False, 80, -400
    f = kaldi_native_fbank.OnlineFbank(o)
    f.accept_waveform(rate, np.concatenate([x, np.zeros(int(TAIL_S * rate), np.float32)]).tolist())
    f.input_finished()
    feats = np.stack([f.get_frame(i) for i in range(f.num_frames_ready)])
    net = onnxruntime.InferenceSession(file_of(folder, "encoder*.onnx", "f32"))
    meta = net.get_modelmeta().custom_metadata_map
    size, hop = int(meta["T"]), int(meta["decode_chunk_len"])
    state = {i.name: np.zeros([d if isinstance(d, int) else 1 for d in i.shape], np.int64 if "int64" in i.type else np.float32)
             for i in net.get_inputs()[1:]}
    for at in range(0, len(feats) - size, hop):
        y, *new = net.run(None, dict(x=feats[None, at:at + size], **state))
        state = dict(zip(state, new))
        yield from y[0]


def fused(folder, audio, beam, scale):
    names = [line.split()[0] for line in (folder / "tokens.txt").read_text(encoding="utf-8").splitlines()]
    decoder, joiner = (onnxruntime.InferenceSession(file_of(folder, p, "f32")) for p in ("decoder*.onnx", "joiner-e*.onnx"))
    lm, hyps = lm_read(LM), {(): 0.0}
    order = max(map(len, lm))
    for frame in frames_of(folder, audio):
        ways = []
        for y, score in hyps.items():
            d = decoder.run(None, dict(y=np.int64([((-1, 0) + y)[-2:]])))[0]
            z = joiner.run(None, dict(encoder_out=frame[None], decoder_out=d))[0][0].astype(np.float64)
            z -= z.max() + np.log(np.exp(z - z.max()).sum())
            ways += [(score + p, y, k) for k, p in enumerate(z)]
        new = {}
        for score, y, k in sorted(ways, key=lambda w: -w[0])[:beam]:
            if names[k] not in ("<blk>", "<unk>"):
                y = y + (k,)
                score += scale * lm_log_prob(lm, (["<s>"] + [names[i] for i in y])[-order:])
            new[y] = np.logaddexp(new[y], score) if y in new else score
        hyps = new
    best = max(hyps, key=lambda y: hyps[y] / (2 + len(y)))
    return [names[k].replace("\u2581", " ") for k in best]


def fused_cases(folder, root):
    for beam in (2, 4):
        yield dict(folder=folder.name, form="f32", beam=beam, audio=AUDIO[0], lm_scale=0.6, tokens=fused(folder, f"{root}/{AUDIO[0]}", beam, 0.6))


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
            if (folder / "joiner-quiet.onnx").exists():
                cases += biased_cases(folder, root, tmp)
                cases += fused_cases(folder, root)
    out.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n", encoding="utf-8")


main()
