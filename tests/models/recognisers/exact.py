# SPDX-License-Identifier: MIT
"""Searches over networks that ONNX Runtime runs with exact sums of bytes: for what sherpa-onnx does not have (n-grams beside such
networks, conv-emformer) or rounds (8 bits without VNNI)."""
import glob
import math
import wave

import kaldi_native_fbank
import numpy as np
import onnxruntime

TAIL_S = 0.66        # of silence, as in the examples of sherpa-onnx


def audio_read(name):
    with wave.open(name) as f:
        x = np.frombuffer(f.readframes(f.getnframes()), np.int16).astype(np.float32) / 32768
        return x.reshape(-1, f.getnchannels())[:, 0], f.getframerate()


def file_of(folder, pattern, form):
    files = [f for f in sorted(glob.glob(f"{folder}/{pattern}")) if f.endswith(".int8.onnx") == (form == "int8")]
    return (files or sorted(glob.glob(f"{folder}/{pattern}")))[0]


def session(folder, pattern, form):
    o = onnxruntime.SessionOptions()
    o.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(file_of(folder, pattern, form), o)


def features_of(audio, scale=1, nemo=False, tail_s=TAIL_S):
    """Those of kaldi-native-fbank."""
    x, rate = audio_read(audio)
    o = kaldi_native_fbank.FbankOptions()
    o.frame_opts.dither, o.frame_opts.snip_edges, o.mel_opts.num_bins, o.mel_opts.high_freq = 0, False, 80, -400
    if nemo:
        o.frame_opts.window_type, o.frame_opts.remove_dc_offset = "hann", False
        o.mel_opts.low_freq, o.mel_opts.high_freq, o.mel_opts.is_librosa = 0, 8000, True
    f = kaldi_native_fbank.OnlineFbank(o)
    f.accept_waveform(rate, (scale * np.concatenate([x, np.zeros(int(tail_s * rate), np.float32)])).tolist())
    f.input_finished()
    return np.stack([f.get_frame(i) for i in range(f.num_frames_ready)])


def icefall_frames(net, audio):
    """An input that does not come back counts frames of features."""
    feats, meta = features_of(audio), net.get_modelmeta().custom_metadata_map
    size, hop = int(meta["T"]), int(meta["decode_chunk_len"])
    state = {i.name: np.zeros([d if isinstance(d, int) else 1 for d in i.shape], np.int64 if "int64" in i.type else np.float32)
             for i in net.get_inputs()[1:]}
    for at in range(0, len(feats) - size, hop):
        y, *new = net.run(None, dict(x=feats[None, at:at + size], **state))
        new += [np.int64([at + hop])] * (len(state) - len(new))
        state = dict(zip(state, new))
        yield from y[0]


def wenet_frames(net, audio):
    feats, meta = features_of(audio, scale=32768), net.get_modelmeta().custom_metadata_map
    chunk, factor, blocks, heads, width, kernel = (int(meta[k]) for k in ("chunk_size", "subsampling_factor", "num_blocks", "head", "output_size",
                                                                         "cnn_module_kernel"))
    required = chunk * int(meta["left_chunks"])
    attn = np.zeros((blocks, heads, required, width // heads * 2), np.float32)
    conv = np.zeros((blocks, 1, width, kernel - 1), np.float32)
    size, hop = (chunk - 1) * factor + int(meta["right_context"]) + 1, chunk * factor
    for i, at in enumerate(range(0, len(feats) - size, hop)):
        mask = np.arange(required + chunk) >= required - i * chunk
        y, attn, conv = net.run(None, dict(x=feats[None, at:at + size], offset=np.int64([required + i * chunk]), attn_cache=attn, conv_cache=conv,
                                           required_cache_size=np.int64([required]), attn_mask=mask[None, None]))
        yield from y[0]


def nemo_frames(net, audio):
    feats, meta = features_of(audio, nemo=True), net.get_modelmeta().custom_metadata_map
    size, hop = int(meta["window_size"]), int(meta["chunk_shift"])
    channel, time = (np.zeros([1] + [int(meta[f"cache_last_{c}_dim{i}"]) for i in (1, 2, 3)], np.float32) for c in ("channel", "time"))
    n = np.int64([0])
    for at in range(0, len(feats) - size, hop):
        y, _, channel, time, n = net.run(None, dict(audio_signal=feats[None, at:at + size].transpose(0, 2, 1), length=np.int64([size]),
                                                    cache_last_channel=channel, cache_last_time=time, cache_last_channel_len=n))
        yield from (y[0] if "CTC" in meta["comment"] else y[0].T)


def names_of(folder):
    lines = (folder / "tokens.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[0].replace("\u2581", " ") for line in lines]


def ctc_greedy(folder, audio, form):
    kind = folder.name.split("-")[0]
    frames, pattern, step_s = {"wenet": (wenet_frames, "model*.onnx", 0.04), "nemo": (nemo_frames, "model*.onnx", 0.08)}.get(
        kind, (icefall_frames, "ctc*.onnx", 0.04))
    names, last, tokens, times = names_of(folder), -1, [], []
    for at, frame in enumerate(frames(session(folder, pattern, form), audio)):
        k = int(frame.argmax())
        if k != last and not names[k].startswith("<bl"):
            tokens.append(names[k])
            times.append(round(step_s * at, 3))
        last = k
    return tokens, times


def nemo_greedy(folder, audio, form, most=10):
    """A transducer whose decoder has states; its blank is the last token."""
    names, tokens, times = names_of(folder), [], []
    decoder, joiner = (session(folder, p, form) for p in ("decoder*.onnx", "joiner.*onnx"))
    ins, two = [i.name for i in decoder.get_inputs()], [i.name for i in joiner.get_inputs()]
    state = [np.zeros([d if isinstance(d, int) else 1 for d in i.shape], np.float32) for i in decoder.get_inputs()[2:]]
    y = len(names) - 1
    d, _, *state = decoder.run(None, dict(zip(ins, (np.int32([[y]]), np.int32([1]), *state))))
    for at, frame in enumerate(nemo_frames(session(folder, "encoder*.onnx", form), audio)):
        for _ in range(most):
            y = int(joiner.run(None, dict(zip(two, (frame[None, :, None], d))))[0].argmax())
            if y == len(names) - 1:
                break
            tokens.append(names[y])
            times.append(round(0.08 * at, 3))
            d, _, *state = decoder.run(None, dict(zip(ins, (np.int32([[y]]), np.int32([1]), *state))))
    return tokens, times


# ---- n-grams of tokens, beams ----


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


def log_softmax(z):
    z = z.astype(np.float64) - z.max()
    return z - np.log(np.exp(z).sum())


def scored(lm, names, y, scale):
    """What n-grams say of the last token."""
    return scale * lm_log_prob(lm, (["<s>"] + [names[i].replace(" ", "\u2581") for i in y])[-max(map(len, lm)):]) if lm else 0


def searched(folder, audio, beam, form="f32", lm=None, scale=0.0):
    """The modified beam search, with one hypothesis the greedy one: tokens and the frames that made them."""
    names = names_of(folder)
    decoder, joiner = (session(folder, p, form) for p in ("decoder*.onnx", "joiner-e*.onnx"))
    hyps = {(): (0.0, ())}
    for at, frame in enumerate(icefall_frames(session(folder, "encoder*.onnx", form), audio)):
        ways = []
        for y, (score, times) in hyps.items():
            d = decoder.run(None, dict(y=np.int64([((-1, 0) + y)[-2:]])))[0]
            z = log_softmax(joiner.run(None, dict(encoder_out=frame[None], decoder_out=d))[0][0])
            ways += [(score + p, y, k, times) for k, p in enumerate(z)]
        new = {}
        for score, y, k, times in sorted(ways, key=lambda w: -w[0])[:beam]:
            if names[k] not in ("<blk>", "<unk>"):
                y, times = y + (k,), times + (at,)
                score += scored(lm, names, y, scale)
            new[y] = (np.logaddexp(new[y][0], score), new[y][1]) if y in new else (score, times)
        hyps = new
    best = max(hyps, key=lambda y: hyps[y][0] / (2 + len(y)))
    return [names[k] for k in best], [round(0.04 * t, 3) for t in hyps[best][1]]


def nemo_searched(folder, audio, beam, form="f32", lm=None, scale=0.0, most=10):
    """Of a decoder with states, which follow from the tokens. A hypothesis that is behind goes on with its best tokens until the blank, or
    `most` of them; of two that say the same the better one stays."""
    names = names_of(folder)
    blank, state = len(names) - 1, {}
    decoder, joiner = (session(folder, p, form) for p in ("decoder*.onnx", "joiner.*onnx"))
    ins, two = [i.name for i in decoder.get_inputs()], [i.name for i in joiner.get_inputs()]
    begin = [np.zeros([d if isinstance(d, int) else 1 for d in i.shape], np.float32) for i in decoder.get_inputs()[2:]]

    def decoded(y):
        if y not in state:
            before = decoded(y[:-1])[1] if y else begin
            d, _, *after = decoder.run(None, dict(zip(ins, (np.int32([[y[-1] if y else blank]]), np.int32([1]), *before))))
            state[y] = d, after
        return state[y]

    hyps = {(): (0.0, ())}
    for at, frame in enumerate(nemo_frames(session(folder, "encoder*.onnx", form), audio)):
        done = {}
        for _ in range(most):
            ways = [(score, y, times, True) for y, (score, times) in done.items()]
            for y, (score, times) in hyps.items():
                z = log_softmax(joiner.run(None, dict(zip(two, (frame[None, :, None], decoded(y)[0]))))[0].reshape(-1))
                for k in map(int, np.argsort(-z, kind="stable")[:beam]):
                    last = k == blank
                    ways.append((score + z[k] + (0 if last else scored(lm, names, y + (k,), scale)), y if last else y + (k,),
                                 times if last else times + (at,), last))
            best = {}
            for score, y, times, last in ways:
                if (y, last) not in best or score > best[y, last][0]:
                    best[y, last] = score, times
            kept = sorted(best.items(), key=lambda w: -w[1][0])[:beam]
            done, hyps = ({y: v for (y, last), v in kept if last == which} for which in (True, False))
            if not hyps:
                break
        hyps = {y: max((v for v in (done.get(y), hyps.get(y)) if v), key=lambda v: v[0]) for y in {**done, **hyps}}
    y = max(hyps, key=lambda y: hyps[y][0])
    return [names[k] for k in y], [round(0.08 * t, 3) for t in hyps[y][1]]
