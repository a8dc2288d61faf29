# SPDX-License-Identifier: MIT
"""Plays a compiled plan with the librill of a build, through calls that no option struct is part of:

    play.py BUILD PLAN.rill PORTS.json RECORDING.wav [PULSES]

PORTS.json is what `rill inspect --json PLAN.rill` prints. Audio inputs hear the recording, others seeded noise. Prints per
output its name, frames and the SHA-256 of its raw bits. With PULSES it stops after so many runs and prints nothing."""
import array
import ctypes
import hashlib
import json
import random
import sys
import wave

OK, AGAIN, END = range(3)
AUDIO_FRAMES, OTHER_FRAMES = 40000, 400
PULL_FRAMES = 4096


def library(build):
    lib = ctypes.CDLL(f"{build}/librill.so")
    p, size, port = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
    for name, result, args in (
            ("rill_model_open", ctypes.c_int, (p, ctypes.c_char_p, p)), ("rill_plan_new", ctypes.c_int, (p, p, p, p)),
            ("rill_plan_stream_size", size, (p,)), ("rill_stream_init", p, (p, p)), ("rill_stream_run", ctypes.c_int, (p,)),
            ("rill_stream_push", ctypes.c_int, (p, port, p, size, p)), ("rill_stream_finish", None, (p,)),
            ("rill_stream_pull", ctypes.c_int, (p, port, p, size, p))):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, args
    return lib


class Input:
    """One input port: how many floats are left to push, and where they are."""

    def __init__(self, number, port, recording, pulses):
        self.number, self.width, self.along_time = number, port["width"], port["hop_samples"] != 0
        frames = 1
        if self.along_time:
            frames = AUDIO_FRAMES if port["kind"] == "audio" else OTHER_FRAMES
            frames = (pulses + 1) * port["pulse_frames"] if pulses else frames
        n = frames * self.width
        if port["kind"] == "audio":
            with wave.open(recording) as w:
                samples = array.array("h", w.readframes(w.getnframes()))
            values = [samples[i % len(samples)] / 32768 for i in range(n)]
        else:
            noise = random.Random(number + 1)
            values = [noise.uniform(-1, 1) for _ in range(n)]
        self.frames, self.at = frames, 0
        self.data = (ctypes.c_float * n)(*values)

    def push(self, lib, stream):
        """Along time: what fits. Otherwise: the one frame, anew for every run."""
        taken = ctypes.c_size_t()
        self.at = self.at if self.along_time else 0
        from_here = ctypes.byref(self.data, 4 * self.at * self.width)
        if self.frames > self.at:
            lib.rill_stream_push(stream, self.number, from_here, self.frames - self.at, ctypes.byref(taken))
        self.at += taken.value


class Output:
    def __init__(self, number, port):
        self.number, self.name, self.width = number, port["name"], port["width"]
        self.buffer, self.sha, self.frames = (ctypes.c_float * (PULL_FRAMES * self.width))(), hashlib.sha256(), 0

    def pull(self, lib, stream):
        given = ctypes.c_size_t(1)
        while given.value:
            lib.rill_stream_pull(stream, self.number, self.buffer, PULL_FRAMES, ctypes.byref(given))
            self.sha.update(memoryview(self.buffer).cast("B")[:4 * given.value * self.width])
            self.frames += given.value


def play(lib, stream, inputs, outputs, pulses):
    runs, streams, finished = 0, any(i.along_time for i in inputs), False
    while not pulses or runs < pulses:
        for i in inputs:
            i.push(lib, stream)
        if streams and not finished and all(i.at == i.frames for i in inputs):
            lib.rill_stream_finish(stream)
            finished = True
        status = lib.rill_stream_run(stream)
        runs += status == OK
        for o in outputs:
            o.pull(lib, stream)
        if status == END or not streams:
            return
        if status not in (OK, AGAIN) or (status == AGAIN and finished):
            sys.exit(f"run() answers {status} after {runs} pulses")


def main():
    build, plan_path, ports_path, recording = sys.argv[1:5]
    pulses = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    with open(ports_path) as f:
        ports = json.load(f)
    lib, model, plan = library(build), ctypes.c_void_p(), ctypes.c_void_p()
    if lib.rill_model_open(ctypes.byref(model), plan_path.encode(), None):
        sys.exit(f"{plan_path} does not open")
    if lib.rill_plan_new(ctypes.byref(plan), model, None, None):
        sys.exit(f"{plan_path} makes no plan")
    inputs = [Input(i, port, recording, pulses) for i, port in enumerate(ports["inputs"])]
    outputs = [Output(len(inputs) + i, port) for i, port in enumerate(ports["outputs"])]
    block = ctypes.create_string_buffer(lib.rill_plan_stream_size(plan) + 64)
    aligned = (ctypes.addressof(block) + 63) & ~63
    play(lib, lib.rill_stream_init(aligned, plan), inputs, outputs, pulses)
    for o in outputs if not pulses else []:
        print(o.name.replace(" ", "_"), o.frames, o.sha.hexdigest())


if __name__ == "__main__":
    main()
