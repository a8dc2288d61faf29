# SPDX-License-Identifier: MIT
"""Makes the references of the keyword nets: `make.py SHARED FETCHED`, with numpy, onnxruntime and ai-edge-litert. FETCHED has
nets that SHARED/models has not, laid out alike; those that lie in neither folder are left out.

Front ends in double precision, written from their definitions and not from rill's; the nets in ONNX Runtime, those of 8 bits
by the reference kernels of their format. How near the
micro front end comes to TensorFlow Lite Micro's own: models/train/keywords/compare.py.
"""
import os
import sys
import wave

import numpy as np
import onnxruntime as ort
from ai_edge_litert.interpreter import Interpreter, OpResolverType

HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    with wave.open(path) as f:
        assert f.getframerate() == 16000 and f.getnchannels() == 1
        return np.frombuffer(f.readframes(f.getnframes()), np.int16)


def mel(f):
    return 2595 * np.log10(1 + f / 700)


def triangles(bins, bands, low, high):
    """[bins, bands], sides straight over mel."""
    edges = np.linspace(mel(low), mel(high), bands + 2)
    at = mel(np.arange(bins) * 8000 / (bins - 1))[:, None]
    rise = (at - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - at) / (edges[2:] - edges[1:-1])
    return np.maximum(np.minimum(rise, fall), 0)


def frames(x, size, hop):
    n = (len(x) - size) // hop + 1
    return np.stack([x[i * hop:i * hop + size] for i in range(max(n, 0))])


def mfcc(x, hop):
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(640) / 640)
    spec = np.abs(np.fft.rfft(frames(x / 32768.0, 640, hop) * window, 1024))
    bands = np.log(np.maximum(spec @ triangles(513, 40, 20, 4000), 1e-12))
    j, i = np.mgrid[0:10, 0:40]
    return (bands @ (np.sqrt(2 / 40) * np.cos(np.pi * j * (i + 0.5) / 40)).T).astype(np.float32)


def micro_bands(x):
    """The samples are multiplied in single precision, as there, since they are rounded down after it."""
    window = np.floor((0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(480) + 0.5) / 480)) * 4096 + 0.5) / 4096
    shaped = np.floor(frames(x.astype(np.float32), 480, 160) * window.astype(np.float32)).astype(float)
    unit = 4.0 ** (np.floor(np.log2(np.abs(shaped).max(1, keepdims=True) + 0.5)) - 14)
    power = np.abs(np.fft.rfft(shaped, 512) / 512) ** 2 + 0.8 * unit
    return np.floor(64 * np.sqrt(power @ triangles(257, 40, 125, 7500)))


def micro(x):
    follow = np.tile([409 / 16384, 983 / 16384], 20)
    noise, out = np.zeros(40), []
    for band in micro_bands(x):
        noise = noise + follow * (band - noise)
        clean = np.maximum(np.floor(band - np.minimum(noise, band)), np.floor(819 / 16384 * band))
        loud = clean * np.minimum(8 * (8 * noise + 80) ** -0.95, 32767 / 2 ** 18)
        small = np.floor(np.where(loud < 2, 16 * loud * loud, 64 * loud - 64))
        out.append(2.5 * np.log(np.maximum(8 * small, 1)))
    return np.array(out, np.float32)


def run_steps(path, feeds, out, states):
    net = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    shapes = {i.name: i.shape for i in net.get_inputs()}
    state = {a: np.zeros([d if isinstance(d, int) else 1 for d in shapes[a]], np.float32) for a, _ in states}
    ys = []
    for feed in feeds:
        y = net.run([out] + [b for _, b in states], dict(zip([n for n in shapes if n not in state], [feed]), **state))
        state = dict(zip([a for a, _ in states], y[1:]))
        ys.append(y[0].reshape(-1))
    return np.concatenate(ys).astype(np.float32)


def run_bytes(path, feeds):
    """A net of 8 bits, which keeps its state by itself."""
    net = Interpreter(path, num_threads=1, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    net.allocate_tensors()
    (x,), (y,) = net.get_input_details(), net.get_output_details()
    (sx, zx), (sy, zy) = x["quantization"], y["quantization"]
    out = []
    for feed in feeds:
        net.set_tensor(x["index"], np.clip(np.round(feed / np.float32(sx)) + zx, -128, 127).astype(np.int8))
        net.invoke()
        out.append((int(net.get_tensor(y["index"])[0, 0]) - zy) * np.float32(sy))
    return np.array(out, np.float32)


def seconds(m, n=49, step=10):
    return [m[i:i + n] for i in range(0, len(m) - n + 1, step)]


def run_whole(path, windows, states):
    """Each window by itself, from zeros."""
    return np.concatenate([run_steps(path, [w[:, None]], "prob", states) for w in windows])


def threes(features):
    n = len(features) // 3
    return [features[3 * i:3 * i + 3][None] for i in range(n)]


def references(shared, fetched):
    go = read(f"{shared}/audio/speech/ps_goforward.wav")
    kws = f"{shared}/models/ml_kws"
    yield "ml_kws_gru_s", run_steps(f"{kws}/GRU_S.onnx", mfcc(go, 640)[:, None, None], "prob", [("h_in", "h_out")])
    yield "ml_kws_lstm_s", run_steps(f"{kws}/Basic_LSTM_S.onnx", mfcc(go, 320)[:, None, None], "prob",
                                     [("h_in", "h_out"), ("c_in", "c_out")])
    yield "ml_kws_gru_s_whole", run_whole(f"{kws}/GRU_S.onnx", seconds(mfcc(go, 640), 25, 5), [("h_in", "h_out")])
    yield "ml_kws_lstm_s_whole", run_whole(f"{kws}/Basic_LSTM_S.onnx", seconds(mfcc(go, 320)),
                                           [("h_in", "h_out"), ("c_in", "c_out")])
    crnn = ort.InferenceSession(f"{kws}/CRNN_S.onnx", providers=["CPUExecutionProvider"])
    zero = {f"h{i}_in": np.zeros([1, 1, 60], np.float32) for i in range(2)}
    yield "ml_kws_crnn_s", np.concatenate([crnn.run(["prob"], dict(zero, mfcc=s[None, None]))[0].reshape(-1)
                                           for s in seconds(mfcc(go, 320))])
    yield "ml_kws_ds_cnn_s", run_steps(f"{kws}/DS_CNN_S.onnx", [s[None, None] for s in seconds(mfcc(go, 320))], "prob", [])
    micro_shared = f"{shared}/models/micro_wake_word"
    for name, wav in (("okay_nabu", f"{micro_shared}/okay_nabu_1"), ("hey_jarvis", f"{micro_shared}/hey_jarvis_1"),
                      ("vad", f"{micro_shared}/alexa_1"), ("alexa", f"{micro_shared}/alexa_1"),
                      ("okay_nabu_2", f"{micro_shared}/okay_nabu_1"), ("hey_mycroft", f"{HERE}/hey_mycroft")):
        paths = [f"{folder}/tflite/micro_{name}.tflite" for folder in (f"{shared}/models", fetched)]
        for path in [p for p in paths if os.path.exists(p)][:1]:
            yield "micro_" + name, run_bytes(path, threes(micro(read(wav + ".wav"))))


def main():
    for name, y in references(sys.argv[1], sys.argv[2]):
        y.astype("<f4").tofile(f"{HERE}/{name}.f32")
        print(name, y.size, "values, largest", y.max())


if __name__ == '__main__':
    main()
