#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a frame of a stream costs by the length of the pulse: us a frame, medians of three interleaved rounds, as a table.

    bench/pulses.py RILL ZOO [NET...]"""
import json
import os
import statistics
import subprocess
import sys

NETS = "bcresnet codec conformer convtasnet demucs gtcrn hifigan marblenet tdnn_lstm wavenet".split()
TIMES = (1, 2, 4, 8, 16, 32)
ROUNDS, SECONDS = 3, "0.15"


def rill(*args):
    r = subprocess.run([sys.argv[1], *args, "--json"], capture_output=True, text=True)
    return json.loads(r.stdout) if r.returncode == 0 else None


def main():
    zoo, nets = sys.argv[2], sys.argv[3:] or NETS
    paths = {n: os.path.join(zoo, n, "model.onnx") for n in nets}
    least = {n: rill("bench", p, "-p", "1", "-s", "0.01")["pulse"] for n, p in paths.items()}  # the next that is legal
    took = {}
    for _ in range(ROUNDS):
        for n in nets:
            for t in TIMES:
                r = rill("bench", paths[n], "-p", str(t * least[n]), "-s", SECONDS)
                took.setdefault((n, t), []).append(r["median_us"] / r["pulse"] if r else float("nan"))
    print("| net | smallest pulse, frames |", " | ".join("x %d" % t for t in TIMES), "|")
    print("|" + "---|" * (len(TIMES) + 2))
    for n in nets:
        print("| %s | %d |" % (n, least[n]), " | ".join("%.3g" % statistics.median(took[n, t]) for t in TIMES), "|")


main()
