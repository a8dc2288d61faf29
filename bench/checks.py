# SPDX-License-Identifier: MIT
"""Bars that are not a ratio of two medians. Each gives rows (what, measured, bar, met or None)."""
import filecmp
import os
import re
import statistics
import subprocess
import sys
import time

from cases import GTCRN, Run


def overhead(peers, _machine, rounds):
    """ns a step: the slope from 10 to 200 products that cannot be fused, their arithmetic (8x8) in it; quietest rounds."""
    def slope(measure):
        short = [measure(Run("chain_10")) for _ in range(rounds)]
        long = [measure(Run("chain_200")) for _ in range(rounds)]
        if None in short + long:
            return None
        return (min(m["median_us"] for m in long) - min(m["median_us"] for m in short)) / 190 * 1e3
    ours, theirs = slope(peers.rill), slope(peers.ort)
    beside = f" (ONNX Runtime {theirs:.0f})" if theirs else ""
    return [("ns a step, slope of 10 to 200 8x8 products", f"{ours:.1f}{beside}", "< 30", ours < 30)] if ours else []


def tail(peers, _machine, rounds):
    """p99 over median of GTCRN, beside that of a loop of fixed work of the same length between its rounds."""
    from table import run_json
    ours, loop = [], []
    for _ in range(rounds):
        m = peers.rill(GTCRN)
        if not m:
            return []
        j = run_json([peers.tools["roofline"], "--jitter", str(m["median_us"])])
        ours.append(m["p99_us"] / m["median_us"])
        loop.append(j["p99_us"] / j["median_us"])
    a, b = min(ours), min(loop)
    return [("gtcrn: p99 / median, quietest round", f"{a:.2f} (loop of fixed work {b:.2f})", "<= 1.5, or 1.5 times the loop's",
             a <= 1.5 * max(1, b))]


def tool(peers, *args, **env):
    """Runs rill; True if it went well."""
    return subprocess.run([peers.tools["rill"], *args], env={**os.environ, **peers.env, **env}, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=120).returncode == 0


def folder(peers, name):
    path = os.path.join(peers.tools["work"], name)
    os.makedirs(path, exist_ok=True)
    return path


def recording(peers):
    """Three seconds of noise and tones, made anew: 16 kHz, 16 bits."""
    import math
    import random
    import struct
    path, rate, n = os.path.join(folder(peers, "bits"), "in.wav"), 16000, 48000
    r = random.Random(1)
    data = struct.pack(f"<{n}h", *(int(6000 * math.sin(0.02 * k + 3 * math.sin(k * 0.001)) * math.sin(k * 0.0007)
                                       + r.uniform(-1500, 1500)) for k in range(n)))
    with open(path, "wb") as f:
        f.write(struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16,
                            b"data", len(data)) + data)
    return path


def bits(peers, _machine, _rounds):
    """The same file from every instruction set, and from pulses of one and of many frames."""
    if "weights of gtcrn" in peers.tools["absent"]:
        return []
    source, where = recording(peers), folder(peers, "bits")
    made = []
    for cpu in ("c", "avx2", "avx512"):
        out = os.path.join(where, cpu + ".wav")
        if tool(peers, "denoise", "-m", "gtcrn", source, out, RILL_CPU=cpu):
            made.append(out)
    for frames in (1, 4, 16):
        out = os.path.join(where, f"frames{frames}.wav")
        if tool(peers, "denoise", "-m", "gtcrn", "-t", f"pulse(symbol: S, pulse: {256 * frames})", source, out):
            made.append(out)
    same = all(filecmp.cmp(made[0], m, shallow=False) for m in made)
    return [("gtcrn: the same file from c, avx2 and avx512, pulses of 1, 4 and 16 frames",
             f"{len(made)} files, " + ("same" if same else "different"),
             "same bits", same and len(made) == 6)]


class Daemon:
    """rilld with GTCRN in a folder of its own."""
    def __init__(self, peers):
        self.where = folder(peers, "daemon")
        self.socket = os.path.join(self.where, "s.sock")
        conf = os.path.join(self.where, "rilld.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(f"[daemon]\nsocket = {self.socket}\ncontrol_socket = {self.where}/c.sock\nworkers = 1\n[models]\n"
                    f"model_path = {peers.tools['library']}\ndefault_model = gtcrn\npreload = gtcrn\n")
        self.args = [peers.tools["rilld"], "-c", conf]

    def __enter__(self):
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self.process = subprocess.Popen(self.args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if os.path.exists(self.socket):
                break
            time.sleep(0.05)
        time.sleep(0.3)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024


def memory(peers, _machine, _rounds):
    """Of the daemon after a stream through GTCRN; beside it what ONNX Runtime's process holds."""
    if "weights of gtcrn" in peers.tools["absent"]:
        return []
    theirs = peers.ort(GTCRN)
    with Daemon(peers) as d:
        went = tool(peers, "stream", "-s", d.socket, recording(peers), os.path.join(d.where, "out.wav"))
        mb = d.resident_mb()
    beside = f" (ONNX Runtime's process {theirs['rss_kib'] / 1024:.0f})" if theirs else ""
    return [("rilld with gtcrn, one stream: MB resident", f"{mb:.1f}{beside}", "< 16", mb < 16 and went)]


LIBRARY = ("wiener", "gtcrn", "dtln", "silero_v6")


def load(peers, _machine, rounds):
    """What rill compile says of opening the file that it has written."""
    rows = []
    for name in LIBRARY:
        if f"weights of {name}" in peers.tools["absent"]:
            continue
        path, ms, plain = os.path.join(folder(peers, "compiled"), name + ".rill"), [], []
        for _ in range(rounds):
            said = subprocess.run([peers.tools["rill"], "compile", name, "-o", path], env={**os.environ, **peers.env},
                                  capture_output=True, text=True).stdout
            times = re.search(r"in ([\d.]+) ms, this file in ([\d.]+) ms", said)
            if times:
                plain.append(float(times.group(1)))
                ms.append(float(times.group(2)))
        if not ms:
            rows.append((f"{name}: compiled plan", "not made", "opens in < 5 ms", None))
            continue
        took = statistics.median(ms)
        rows.append((f"{name}: compiled plan opens", f"{took:.2f} ms (the model {statistics.median(plain):.1f})", "< 5 ms",
                     took < 5))
    return rows


def scan_reuse(peers, _machine, rounds):
    """What a Scan's iteration costs when everything is resolved at plan time, and when nothing is."""
    net = os.path.join(peers.tools["root"], "tests/models/zoo/dualpath_scan/model.onnx")
    if "--no-scan-reuse" not in subprocess.run([peers.tools["rill"], "bench", "--help"], capture_output=True, text=True).stdout:
        return []
    from table import run_json
    args = [peers.tools["rill"], "bench", "--json", "--seconds", str(peers.seconds), net]
    fast, slow = [], []
    for _ in range(rounds):
        fast.append(run_json(args))
        slow.append(run_json([*args, "--no-scan-reuse"]))
    if None in fast + slow:
        return []
    a, b = (statistics.median(m["median_us"] for m in v) for v in (fast, slow))
    return [("dualpath_scan: us a pulse, --no-scan-reuse beside it", f"{a:.0f}, {b:.0f}", "less", a < b)]


def build_of(peers):
    return os.path.dirname(os.path.dirname(peers.tools["rill"]))


def scan_layers(peers, _machine, _rounds):
    """The same of recurrent layers written with primitive ops and of two GRUs, which a test runs: bits there, times here."""
    name = "tests/pulse/test_pulse_scan_reuse"
    if subprocess.run(["ninja", "-C", build_of(peers), name], capture_output=True, check=False).returncode:
        return []
    said = subprocess.run([os.path.join(build_of(peers), name), "--bench"], capture_output=True, text=True, check=False).stdout
    rows = re.findall(r"^(\S.*?)\s+([\d.]+)\s+([\d.]+)\s+[\d.]+\s+-?\d+\s", said, re.MULTILINE)
    return [(f"Scan of {what}: us a run, --no-scan-reuse beside it", f"{float(a):.0f}, {float(b):.0f}", "less",
             float(a) < float(b)) for what, a, b in rows]


def tests(peers, _machine, _rounds):
    """Bars that a test of the tree judges."""
    build = build_of(peers)
    rows = []
    for what, name in (("no allocation, lock or system call in the run path: test rt", "rt"),
                       ("the same bits alone and among 31 others: test api-many", "api-many")):
        if subprocess.run(["ninja", "-C", build, "all"], capture_output=True).returncode:
            rows.append((what, "does not build", "passes", None))
            continue
        went = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", name], capture_output=True).returncode == 0
        rows.append((what, "passes" if went else "fails", "passes", went))
    return rows


CHECKS = {"overhead": overhead, "p99": tail, "bits": bits, "memory": memory, "load": load, "scan": scan_reuse,
          "scan layers": scan_layers, "tests": tests}


def run(peers, machine, args):
    rows = []
    for name, check in CHECKS.items():
        if not args.only or any(o in name for o in args.only):
            print(f"  {name} ..", file=sys.stderr, flush=True)
            rows += check(peers, machine, args.rounds)
    return rows
