# SPDX-License-Identifier: MIT
"""The pipelines of DPDFNet around step models of the published form with random weights (bench/dfn.py): streams are the
whole, states begin as the file's metadata say, and, where Python has onnxruntime, samples are those of the same path around
it. dpdfnet.py RILL SOURCE"""
import os
import shutil
import subprocess
import sys
import tempfile

RILL, SOURCE = sys.argv[1:3]
sys.path[:0] = [os.path.join(SOURCE, "bench"), os.path.join(SOURCE, "tests")]
import dfn  # noqa: E402
from counted import check, finish  # noqa: E402
from onnx_write import block  # noqa: E402

try:
    import numpy as np
    import onnxruntime as ort
except ImportError:
    np = ort = None

# entry, file, bins, blocks
ENTRIES = [("dpdfnet2", "dpdfnet2", 161, 2), ("dpdfnet4", "dpdfnet4", 161, 4), ("dpdfnet8", "dpdfnet8", 161, 8),
           ("dpdfnet2_48k", "dpdfnet2_48khz_hr", 481, 2)]
BANDS = [-60 - 30 * i / 31 for i in range(32)]
BINS = [0.001 - 0.0009 * i / 95 for i in range(96)]


def rill(*args):
    return subprocess.run([RILL, *args], capture_output=True, text=True, check=False)


def net_write(path, bins, blocks, meta):
    net = dfn.dpdfnet2(bins, blocks)
    net.save(path)
    with open(path, "ab") as f:  # of a message that repeats, parts may follow
        for key, value in meta(net.size).items():
            f.write(block(14, block(1, key) + block(2, value)))
    return net.size


def meta_of(size):
    return {"state_size": str(size), "erb_norm_init": ",".join(map(str, BANDS)), "spec_norm_init": ",".join(map(str, BINS))}


def vorbis(n):
    return np.sin(np.pi / 2 * np.sin(np.pi * (np.arange(n) + 0.5) / n) ** 2)


def peer(path, x, hop, size):
    """The path around ONNX Runtime, frame by frame."""
    session, window = ort.InferenceSession(path), vorbis(2 * hop)
    state = np.zeros(size, np.float32)
    state[:32], state[32:128] = BANDS, BINS
    frames = -(-len(x) // hop) + 5
    padded, out = np.concatenate([np.zeros(hop), x, np.zeros(6 * hop)]), np.zeros((frames + 1) * hop)
    for t in range(frames):
        spec = np.fft.rfft(padded[t * hop:(t + 2) * hop] * window)
        spec = np.stack([spec.real, spec.imag], -1)[None, None].astype(np.float32)
        clean, state = session.run(["spec_e", "state_out"], {"spec": spec, "state_in": state})
        out[t * hop:(t + 2) * hop] += np.fft.irfft(clean[0, 0, :, 0] + 1j * clean[0, 0, :, 1], 2 * hop) * window
    return out[:frames * hop]


def entry_test(folder, name, file, bins, blocks):
    path, hop = os.path.join(folder, name), bins - 1
    shutil.copytree(os.path.join(SOURCE, "models/library", name), path)
    net = os.path.join(path, file + ".onnx")
    size = net_write(net, bins, blocks, meta_of)
    said = rill("inspect", path)
    check(f"latency {5 * hop} samples (50.0 ms), offset -{5 * hop} samples" in said.stdout, f"{name}: {said.stdout}{said.stderr}")
    said = rill("check", "--pulse", f"{hop},{3 * hop}", "--length", str(7 * hop + 11), path)
    check(said.returncode == 0 and "2 passed, 0 failed" in said.stdout, f"{name}: {said.stdout}{said.stderr}")
    if not ort:
        return
    x = np.random.default_rng(1).normal(0, 0.1, 20 * hop + 37).astype(np.float32)
    np.save(os.path.join(folder, "x.npy"), x)
    said = rill("run", "-i", f"pcm={folder}/x.npy", "-o", f"{folder}/y.npz", path)
    check(said.returncode == 0, f"{name}: {said.stderr}")
    got, want = np.load(f"{folder}/y.npz")["out"].ravel(), peer(net, x, hop, size)
    n = min(len(got), len(want))
    check(n >= len(x) + 4 * hop and np.abs(got[:n] - want[:n]).max() < 2e-5 * max(1, np.abs(want).max()),
          f"{name}: {len(got)} samples for {len(want)}, differ by {np.abs(got[:n] - want[:n]).max()}")


def meta_test(folder):
    """What the file says of itself is used, and missed where it is not there."""
    path = os.path.join(folder, "bad")
    shutil.copytree(os.path.join(SOURCE, "models/library/dpdfnet2"), path)
    for change, words in (({"state_size": None}, "says nothing of 'state_size'"), ({"erb_norm_init": "1,x"}, "number 1 is 'x'"),
                          ({"spec_norm_init": ""}, "is no list of numbers"), ({"state_size": "100"}, "")):
        net_write(os.path.join(path, "dpdfnet2.onnx"), 161, 1,
                  lambda size, c=change: {k: v for k, v in {**meta_of(size), **c}.items() if v is not None})
        said = rill("inspect", path)
        check(said.returncode == 3 and words in said.stderr, f"{change}: {said.returncode} {said.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for entry in ENTRIES:
            entry_test(folder, *entry)
        meta_test(folder)
    finish()


main()
