#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pulsed graphs as ONNX step models in another engine: ONNX Runtime, pulse after pulse with the states fed back, gives the
numbers of rill's whole run. Skipped where Python has no onnxruntime.

    steps.py RILL SOURCE"""
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnxruntime as ort
except ImportError:
    print("no onnxruntime for this Python")
    sys.exit(77)

RILL, SOURCE = sys.argv[1:3]
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}
# model, pulse, frames of the stream, difference that is allowed per size of the output; of white noise the 48 kHz one says up to 3e-5
CASES = [("models/library/rill-denoise", 256, 256 * 9 + 100, 2e-5),
         ("models/library/rill-denoise-48k", 768, 768 * 9 + 100, 5e-5),
         ("models/library/rill-denoise", 512, 256 * 9 + 100, 2e-5),
         ("models/library/wiener", 256, 256 * 8, 2e-5),
         ("models/library/rill-digits", 640, 9000, 2e-5)]
CASES += [(f"tests/models/zoo/{net}/model.onnx", pulse, 61 if net != "wavenet" else 700, 1e-4)
          for net in ("conformer", "dfn3", "dualpath", "dualpath_scan", "gtcrn", "tdnn_lstm", "wavenet") for pulse in (1, 4)]


def rill(*args):
    done = subprocess.run([RILL, *args], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"rill {' '.join(args)}: {done.stderr}")


def port(text):
    """{axis, frames, delay} of what the file says of a port."""
    return {k: int(v) for k, v in (word.split("=") for word in text.split())}


class Steps:
    """A step model, its states zeros."""

    def __init__(self, file):
        self.session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
        says = self.session.get_modelmeta().custom_metadata_map
        self.pulse = int(says["rill.pulse"])
        self.inputs = {k[11:]: port(v) for k, v in says.items() if k.startswith("rill.input.")}
        self.outputs = {k[12:]: port(v) for k, v in says.items() if k.startswith("rill.output.")}
        self.shapes = {i.name: i.shape for i in self.session.get_inputs()}
        self.states = {i.name: np.zeros(i.shape, TYPES[i.type]) for i in self.session.get_inputs()
                       if i.name not in self.inputs}

    def run(self, feeds, length):
        if length and "clock" in self.states:
            self.states["clock"][1] = length
        names = [o.name for o in self.session.get_outputs()]
        given = dict(zip(names, self.session.run(None, {**feeds, **self.states})))
        self.states = {k: given["new_" + k] for k in self.states}
        return given


def frames_of(x, axis, first, n):
    """So many frames; NaN behind the end."""
    piece = np.take(x, range(first, min(first + n, x.shape[axis])), axis)
    short = [(0, 0)] * x.ndim
    short[axis] = (0, n - piece.shape[axis])
    return np.pad(piece, short, constant_values=np.nan)


def whole_inputs(steps, frames):
    rng = np.random.default_rng(5)
    made = {}
    for name, p in steps.inputs.items():
        shape = list(steps.shapes[name])
        shape[p["axis"]] = frames * p["frames"] // steps.pulse
        made[name] = rng.standard_normal(shape).astype(np.float32) * 0.3
    return made


def whole_run(model, inputs, folder):
    args = []
    for i, (name, x) in enumerate(inputs.items()):
        np.save(f"{folder}/{i}.npy", x)
        args += ["--input", f"{name}={folder}/{i}.npy"]
    rill("run", model, *args, "--out", f"{folder}/whole.npz")
    return np.load(f"{folder}/whole.npz")


def case(model, pulse, frames, allowed, folder):
    file = f"{folder}/steps.onnx"
    rill("convert", f"{SOURCE}/{model}", file, "--pulse", str(pulse))
    steps = Steps(file)
    inputs = whole_inputs(steps, frames)
    whole = whole_run(f"{SOURCE}/{model}", inputs, folder)
    last = max((whole[k].shape[p["axis"]] + p["delay"]) / p["frames"] for k, p in steps.outputs.items())
    given = {k: [] for k in steps.outputs}
    for r in range(int(np.ceil(last))):
        feeds = {k: frames_of(x, steps.inputs[k]["axis"], r * steps.inputs[k]["frames"], steps.inputs[k]["frames"])
                 for k, x in inputs.items()}
        out = steps.run(feeds, frames if (r + 1) * steps.pulse > frames else 0)
        for k in given:
            given[k].append(out[k])
    worst = 0
    for k, p in steps.outputs.items():
        n = whole[k].shape[p["axis"]]
        got = np.take(np.concatenate(given[k], p["axis"]), range(p["delay"], p["delay"] + n), p["axis"])
        worst = max(worst, float(np.abs(got - whole[k]).max() / max(1, np.abs(whole[k]).max())))
    print(f"{'ok    ' if worst <= allowed else 'FAILED'} {model}, pulse {steps.pulse}: {worst:.2g}")
    return worst <= allowed


def main():
    good = []
    for one in CASES:
        with tempfile.TemporaryDirectory() as folder:
            good.append(case(*one, folder))
    print(f"{sum(good)} of {len(good)} agree")
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
