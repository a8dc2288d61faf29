# SPDX-License-Identifier: MIT
"""Bars that are not a ratio of two medians. Each gives rows (what, measured, bar, met or None)."""
import statistics
import subprocess

from cases import GTCRN, Run


def overhead(peers, _machine, rounds):
    """ns a step: the slope from 10 to 200 products that cannot be fused, their arithmetic (8x8) in it."""
    def slope(measure):
        short = [measure(Run("chain_10")) for _ in range(rounds)]
        long = [measure(Run("chain_200")) for _ in range(rounds)]
        if None in short + long:
            return None
        return (statistics.median(m["median_us"] for m in long) - statistics.median(m["median_us"] for m in short)) / 190 * 1e3
    ours, theirs = slope(peers.rill), slope(peers.ort)
    beside = f" (ONNX Runtime {theirs:.0f})" if theirs else ""
    return [("ns a step, slope of 10 to 200 8x8 products", f"{ours:.1f}{beside}", "< 30", ours < 30)] if ours else []


def tail(peers, _machine, rounds):
    """p99 over median of GTCRN, beside that of a loop of fixed work between its rounds."""
    from table import run_json
    ours, loop = [], []
    for _ in range(rounds):
        m, j = peers.rill(GTCRN), run_json([peers.tools["roofline"], "--jitter"])
        if not m:
            return []
        ours.append(m["p99_us"] / m["median_us"])
        loop.append(j["p99_us"] / j["median_us"])
    a, b = statistics.median(ours), statistics.median(loop)
    return [("gtcrn: p99 / median", f"{a:.2f} (loop of fixed work {b:.2f})", "<= 1.5 times the loop's", a <= 1.5 * b)]


CHECKS = {"overhead": overhead, "p99": tail}


def run(peers, machine, args):
    return [row for name, check in CHECKS.items() if not args.only or any(o in name for o in args.only)
            for row in check(peers, machine, args.rounds)]
