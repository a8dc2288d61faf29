#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rill against ONNX Runtime, one thread, per pulse: interleaved rounds, medians, ratios.

  bench/peers.py RILL MODELS_DIR [--rounds N] [--seconds S]

RILL is the tool (build/tools/rill), MODELS_DIR holds gtcrn/, dtln/ and silero_v6/ with their ONNX files. Needs
Python's onnxruntime and numpy; without them it says so and ends with a skip. ONNX Runtime runs through IO binding
with its states bound back and forth, so what is timed is its run and a few microseconds of Python around it.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as e:
    print(f"skipped: {e}; pip install onnxruntime==1.24.* numpy")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

# name: [(file, inputs, states {input: (output, shape)}, constants)]
MODELS = {
    "gtcrn": [("gtcrn/gtcrn_simple.onnx", {"mix": (1, 257, 1, 2)},
               {"conv_cache": ("conv_cache_out", (2, 1, 16, 16, 33)), "tra_cache": ("tra_cache_out", (2, 3, 1, 1, 16)),
                "inter_cache": ("inter_cache_out", (2, 1, 33, 16))}, {})],
    "dtln": [("dtln/model_1.onnx", {"input_2": (1, 1, 257)}, {"input_3": ("tf_op_layer_stack_2", (1, 2, 128, 2))}, {}),
             ("dtln/model_2.onnx", {"input_4": (1, 1, 512)}, {"input_5": ("tf_op_layer_stack_5", (1, 2, 128, 2))}, {})],
    "silero_v6": [("silero_v6/silero_vad.onnx", {"input": (1, 576)}, {"state": ("stateN", (2, 1, 128))},
                   {"sr": 16000})],
}


class Peer:
    def __init__(self, path, inputs, states, consts):
        opts = ort.SessionOptions()
        opts.intra_op_num_threads = opts.inter_op_num_threads = 1
        opts.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        self.session = ort.InferenceSession(path, opts, providers=["CPUExecutionProvider"])
        rng = np.random.default_rng(1)
        feed = {k: (rng.standard_normal(s) * 0.1).astype(np.float32) for k, s in inputs.items()}
        feed |= {k: np.zeros(s, np.float32) for k, (_, s) in states.items()}
        feed |= {k: np.array(v, np.int64) for k, v in consts.items()}
        values = {k: ort.OrtValue.ortvalue_from_numpy(v) for k, v in feed.items()}
        more = {k: np.zeros(s, np.float32) for k, (_, s) in states.items()}
        spare = {k: ort.OrtValue.ortvalue_from_numpy(v) for k, v in more.items()}
        self.kept = (feed, values, more, spare)     # the values borrow the arrays
        back = {o: k for k, (o, _) in states.items()}
        self.bindings = []
        for flip in (0, 1):
            b = self.session.io_binding()
            for k, v in values.items():
                b.bind_ortvalue_input(k, spare[k] if k in spare and flip else v)
            for o in self.session.get_outputs():
                if o.name in back:
                    k = back[o.name]
                    b.bind_ortvalue_output(o.name, values[k] if flip else spare[k])
                else:
                    b.bind_output(o.name)
            self.bindings.append(b)

    def median_us(self, seconds):
        for i in range(20):
            self.session.run_with_iobinding(self.bindings[i & 1])
        times, end, i = [], time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            t = time.perf_counter()
            self.session.run_with_iobinding(self.bindings[i & 1])
            times.append(time.perf_counter() - t)
            i += 1
        return statistics.median(times) * 1e6


def rill_median_us(rill, path, inputs, states, consts, seconds):
    args = [rill, "bench", "--json", "--seconds", str(seconds), path]
    for k, s in {**inputs, **{k: s for k, (_, s) in states.items()}}.items():
        args += ["--shape", f"{k}={','.join(map(str, s))}"]
    for k, (o, _) in states.items():
        args += ["--state", f"{k}:{o}"]
    for k, v in consts.items():
        args += ["--const", f"{k}={v}"]
    return json.loads(subprocess.run(args, check=True, capture_output=True, text=True).stdout)["median_us"]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("rill")
    ap.add_argument("models")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=1.0)
    a = ap.parse_args()
    print(f"ONNX Runtime {ort.__version__}, one thread; {a.rounds} rounds of {a.seconds} s each, medians")
    print(f"{'model':<12}{'ONNX Runtime us':>18}{'rill us':>12}{'ratio':>8}   spread of the ratio")
    failed = 0
    for name, nets in MODELS.items():
        nets = [(f"{a.models}/{p}", i, s, c) for p, i, s, c in nets]
        peers = [Peer(*n) for n in nets]
        theirs, ours = [], []
        for _ in range(a.rounds):
            theirs.append(sum(p.median_us(a.seconds) for p in peers))
            ours.append(sum(rill_median_us(a.rill, *n, a.seconds) for n in nets))
        ratios = sorted(t / o for t, o in zip(theirs, ours))
        ratio = statistics.median(ratios)
        failed += ratio < 1
        print(f"{name:<12}{statistics.median(theirs):>18.1f}{statistics.median(ours):>12.1f}{ratio:>7.1f}x"
              f"   {ratios[0]:.1f} to {ratios[-1]:.1f}")
    print(f"{len(MODELS) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
