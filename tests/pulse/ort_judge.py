# SPDX-License-Identifier: MIT
"""ONNX Runtime as the judge of a whole run, the law as that of the stream. RILL: the tool."""
import random, re, subprocess, sys
import numpy as np
import onnxruntime

RILL = sys.argv[1]
state = onnxruntime.capi.onnxruntime_pybind11_state
REFUSALS = state.Fail, state.InvalidArgument, state.InvalidGraph, state.NotImplemented   # of a file that it cannot run at all


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def whole_run(path, seed, lengths=(5, 16, 24, 37)):
    """What goes in, and what ONNX Runtime makes of it; None where it is too short, or that is no numbers. The input x is
    [1, T, n]."""
    session = session_of(path)
    frames = random.Random(seed).choice(lengths)
    x = np.random.default_rng(seed).standard_normal((1, frames, session.get_inputs()[0].shape[2])).astype(np.float32)
    try:
        y = session.run(None, {"x": x})[0]
    except state.RuntimeException:
        return None
    return (x, y) if np.isfinite(y).all() else None


def rill(*arguments):
    r = subprocess.run([RILL, *arguments], capture_output=True, text=True, timeout=300)
    return r.returncode, r.stdout + r.stderr


def asserting(command, *arguments):
    """Where the exporter lost a pad, as its example needed none, with what the file asserts of the length."""
    code, said = rill(command, *arguments)
    lost = code and re.search(r'it would with --assert "([^"]+)"', said)
    return rill(command, "--assert", lost.group(1), *arguments) if lost else (code, said)


def stream_judge(path, x, y, pulses):
    """Of path.onnx: None, words with "cannot stream", or what is wrong."""
    np.save(path + ".npy", x)
    np.savez(path + ".npz", y=y)
    code, said = rill("run", "-i", f"x={path}.npy", "--compare", path + ".npz", "--atol", "1e-4", "--rtol", "2e-3", path + ".onnx")
    if code:
        return said
    code, said = rill("check", "--pulse", pulses, "--length", "1,4,29", path + ".onnx")
    if code and re.search("multiple of|it would with --assert", said):
        code, said = asserting("check", path + ".onnx")
    return said if code else None


def refused(wrong):
    return wrong is not None and "cannot stream" in wrong
