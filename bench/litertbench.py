# SPDX-License-Identifier: MIT
"""Times one run of a .tflite file in LiteRT, on one thread: litertbench.py FILE --seconds S

Prints what `rill bench --json` does: {median_us}. What a call from Python costs, about 0.2 us, is in it."""
import argparse
import json
import statistics
import time

import numpy
from ai_edge_litert.interpreter import Interpreter

CALLS = 50      # timed together


def run_us(net):
    start = time.perf_counter()
    for _ in range(CALLS):
        net.invoke()
    return (time.perf_counter() - start) / CALLS * 1e6


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("file")
    ap.add_argument("--seconds", type=float, default=1)
    a = ap.parse_args()
    net, noise = Interpreter(a.file, num_threads=1), numpy.random.default_rng(1)
    net.allocate_tensors()
    for port in net.get_input_details():
        net.set_tensor(port["index"], (noise.standard_normal(port["shape"]) * 40).astype(port["dtype"]))
    end = time.perf_counter() + a.seconds / 4
    while time.perf_counter() < end:
        run_us(net)
    end, each = time.perf_counter() + a.seconds, []
    while time.perf_counter() < end:
        each.append(run_us(net))
    print(json.dumps({"median_us": statistics.median(each)}))


if __name__ == "__main__":
    main()
