# SPDX-License-Identifier: MIT
"""The table of bench/all.sh: every case in interleaved rounds, medians and ratios, what is met and what is not.

Paths of what was built and found come in through a JSON file; see all.sh.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import cases
import checks
from cases import CASES
from nets import make


def alone():
    """One core and, where allowed, ahead of what else runs: all programs alike."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass


FAILED = {}     # what a program said when it could not run a net


def run_json(args, env=None):
    """The JSON that a program prints; None and a line on stderr where it fails."""
    try:
        out = subprocess.run(args, capture_output=True, text=True, timeout=300, env={**os.environ, **(env or {})},
                             preexec_fn=alone)
    except (OSError, subprocess.TimeoutExpired) as e:
        print(f"  {args[0]}: {e}", file=sys.stderr)
        return None
    if out.returncode:
        said = (out.stderr.strip() or "no word").splitlines()[0]
        FAILED[" ".join(os.path.basename(a) for a in args[:3] if not a.startswith("--"))] = said[:100]
        print(f"  {' '.join(args)}: {said}", file=sys.stderr)
        return None
    return json.loads(out.stdout)


class Peers:
    """What there is to run, and how each runs a net."""
    def __init__(self, tools, seconds):
        self.tools, self.seconds = tools, seconds
        self.env = {"RILL_MODEL_PATH": tools["library"]}
        self.held = {"LD_PRELOAD": tools["avx2only"]} if tools["avx2only"] else {}

    def path(self, net):
        if net.startswith("models/"):
            path = os.path.join(self.tools["models"], net[7:])
            return path if os.path.exists(path) else None
        if net.startswith("library/"):
            return net[8:] if os.path.isdir(os.path.join(self.tools["library"], net[8:])) else None
        nets = os.path.join(self.tools["work"], "nets")
        if net.startswith("eight/"):
            return self.quantised(nets, net[6:])
        return self.exported(nets, net[9:]) if net.startswith("exported/") else make(nets, net)

    def exported(self, nets, name):
        """A file that PyTorch's exporter wrote, now or before."""
        path, script = os.path.join(nets, name + ".onnx"), os.path.join(self.tools["root"], "bench", "dfn_torch.py")
        if not os.path.exists(path) and self.tools["torch"]:
            subprocess.run([self.tools["torch"], "-W", "ignore", script, nets, name], check=False, stderr=subprocess.DEVNULL)
        return path if os.path.exists(path) else None

    def quantised(self, nets, name):
        """The net with weights of 8 bits, as rill quantize writes it, now or before."""
        path, source = os.path.join(nets, name.replace("/", "_") + "_8.onnx"), self.path(name)
        if source and not os.path.exists(path):
            subprocess.run([self.tools["rill"], "quantize", source, path], check=False, stdout=subprocess.DEVNULL)
        return path if os.path.exists(path) else None

    def rill(self, run, more=()):
        path = self.path(run.net)
        got = path and run_json([self.tools["rill"], "bench", "--json", "--seconds", str(self.seconds), path, *run.args,
                                 *more], self.env)
        if got and "streams" in got:
            many = got["streams"][-1]
            got = {"median_us": many["us_per_stream"] * many["streams"], "weights_bytes": 0}
        return got

    def inspect(self, run):
        args = run.args[:run.args.index("--streams")] if "--streams" in run.args else run.args
        return run_json([self.tools["rill"], "inspect", "--json", self.path(run.net), *args], self.env)

    def ort(self, run):
        if not self.tools["ortbench"] or not self.path(run.net):
            return None
        return run_json([self.tools["ortbench"], self.tools["ort_lib"], self.path(run.net), *run.args, "--seconds",
                         str(self.seconds)], self.held)

    def litert(self, run):
        script = os.path.join(self.tools["root"], "bench", "litertbench.py")
        if not self.tools["litert"] or not self.path(run.net):
            return None
        return run_json([self.tools["litert"], script, self.path(run.net), "--seconds", str(self.seconds)], self.held)

    def tract(self, run):
        if not self.tools["tractbench"] or not self.path(run.net):
            return None
        return run_json([self.tools["tractbench"], self.path(run.net), *run.args, "--seconds", str(self.seconds)])

    def rnnoise(self, _run):
        return self.tools["tractbench"] and run_json([self.tools["tractbench"], "--rnnoise", "--seconds", str(self.seconds)])

    def blas(self, run):
        if not self.tools["blas_lib"]:
            return None
        return run_json([self.tools["blasbench"], self.tools["blas_lib"], *run.args, str(self.seconds)],
                        {"OPENBLAS_NUM_THREADS": "1"})

    def path_cost(self, run):
        return run_json([self.tools["sigpath"], *run.args, str(self.seconds)])


class Machine:
    """The roofline, measured again in each round: the best that was seen, for neighbours only take away."""
    def __init__(self, tools):
        self.tools, self.seen = tools, []

    def measure(self):
        self.seen.append(run_json([self.tools["roofline"]]))

    @property
    def gflops(self):
        return max(m["gflops"] for m in self.seen)

    def read_gbs(self, size_bytes):
        """GB/s of a buffer of so many bytes: of the next larger size that was measured."""
        rows = list(zip(*[m["read"] for m in self.seen]))
        fits = [r for r in rows if r[0][0] * 1024 >= size_bytes] or rows[-1:]
        return max(v[1] for v in fits[0])

    def limit_us(self, work):
        """work: (flop, bytes read, bytes kept); what flows and what is computed overlap at best."""
        flop, read, kept = work
        return max(flop / self.gflops, read / self.read_gbs(kept)) * 1e-3


class Result:
    def __init__(self, case):
        self.case, self.us, self.info = case, {}, {}

    def add(self, who, values):
        if values and all(values):
            self.us.setdefault(who, []).append(sum(v["median_us"] for v in values) / self.case.share.get(who, 1))
            self.info.setdefault(who, []).append(values)

    def median(self, who):
        return statistics.median(self.us[who]) if who in self.us else None

    def quiet(self, who):
        """The median of the quietest round."""
        return min(self.us[who])

    def ratios(self, who):
        """Of each round: how many times faster rill is."""
        return sorted(t / o for t, o in zip(self.us.get(who, []), self.us.get("rill", [])))

    def best_peer(self):
        there = [w for w in self.case.judged if w in self.us]
        return min(there, key=self.median) if there else None


def measure(case, peers, machine, rounds):
    r = Result(case)
    kinds = {"rill": peers.rill, "ort": peers.ort, "tract": peers.tract, "litert": peers.litert, "blas": peers.blas,
             "path": peers.path_cost, "other": peers.rnnoise}
    for _ in range(rounds):
        machine.measure()
        for who, runs in case.runs.items():
            r.add(who, [kinds[run.kind or who](run) for run in runs])
    if "rill" in r.us:
        r.work = cases.work_of(case, [peers.inspect(run) for run in case.runs["rill"]], r.info["rill"][0])
        r.limit = machine.limit_us(r.work) if case.limit is None else case.limit(machine)
    return r


def number(v, digits=3):
    if v is None:
        return "-"
    return f"{v:.{max(0, digits - len(str(int(abs(v)))))}f}" if abs(v) >= 1 else f"{v:.3f}"


def rows_of(r):
    """Verdicts of one case: (what, measured, bar, met or None where it cannot be judged)."""
    case, rows = r.case, []
    if "rill" not in r.us:
        return [(case.name, "no figure of rill", "", None)]
    if case.bar:
        best = r.best_peer()
        if best:
            ratios = r.ratios(best)
            ratio, quiet = statistics.median(ratios), r.quiet(best) / r.quiet("rill")
            rows.append((f"{case.name}: times faster than {case.names.get(best, best)}",
                         f"{ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), {quiet:.2f}", f">= {case.bar:g}",
                         min(ratio, quiet) >= case.bar))
        else:
            rows.append((f"{case.name}: times faster", "peer absent", f">= {case.bar:g}", None))
    if case.roof:
        distance = r.quiet("rill") / r.limit
        rows.append((f"{case.name}: distance from the roofline", f"{distance:.2f}", f"<= {case.roof:g}", distance <= case.roof))
    return rows


def emit(out, head, rows, left=1):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for i, row in enumerate([head, *rows]):
        cells = [str(c).ljust(w) if k < left else str(c).rjust(w) for k, (c, w) in enumerate(zip(row, widths))]
        out.append("| " + " | ".join(cells) + " |")
        if i == 0:
            out.append("|" + "|".join("-" * (w + 2) if k < left else "-" * (w + 1) + ":" for k, w in enumerate(widths)) + "|")
    out.append("")


def figures(out, results, machine):
    for group in dict.fromkeys(r.case.group for r in results):
        there = [r for r in results if r.case.group == group and "rill" in r.us]
        if not there:
            continue
        who = [w for w in ("ort", "tract", "blas", "other", "litert") if any(w in r.us for r in there)]
        head = [group, "rill us", *[f"{cases.PEER_NAMES[w]} us" for w in who], "judged peer / rill", "roofline us",
                "rill / roofline"]
        rows = []
        for r in there:
            best = r.best_peer()
            ratios = r.ratios(best) if best else []
            rows.append([r.case.name, number(r.median("rill")), *[number(r.median(w)) for w in who],
                         f"{statistics.median(ratios):.2f}" if ratios else "-",
                         *([number(r.limit), f"{r.quiet('rill') / r.limit:.2f}"] if r.limit else ["-", "-"])])
        emit(out, head, rows)


def machine_text(machine):
    m = machine.seen[0]
    sizes = (32, 256, 1024, 4096, 16384, 65536)
    reads = ", ".join(f"{s} KiB {machine.read_gbs(s * 1024):.0f}" for s in sizes)
    return f"{m['isa']}: {machine.gflops:.1f} GFLOP/s in registers; GB/s read from {reads}."


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("tools", help="JSON file of paths")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--seconds", type=float, default=0.4, help="of each measurement")
    ap.add_argument("--only", action="append", help="cases whose name or group contains this")
    ap.add_argument("--markdown", help="also write the table here")
    a = ap.parse_args()
    with open(a.tools, encoding="utf-8") as f:
        tools = json.load(f)
    chosen = [c for c in CASES if not a.only or any(o in c.name or o in c.group for o in a.only)]
    peers, machine, results, out = Peers(tools, a.seconds), Machine(tools), [], []
    machine.measure()
    for case in chosen:
        print(f"  {case.name} ..", file=sys.stderr, flush=True)
        results.append(measure(case, peers, machine, a.rounds))
    verdicts = [row for r in results for row in rows_of(r)] + checks.run(peers, machine, a)
    out += [f"{a.rounds} rounds of {a.seconds} s a figure, interleaved; medians. {machine_text(machine)}", ""]
    out += [f"Absent, skipped: {s}." for s in tools["absent"]]
    out += [f"Could not run: {program}: {said}" for program, said in FAILED.items()] + [""]
    figures(out, results, machine)
    words = {True: "met", False: "NOT met", None: "not judged"}
    out += ["Ratios: median over rounds (least to most), then of the two quietest rounds; both must reach the bar. Distances",
            "from the roofline: quietest round.", ""]
    emit(out, ["bar", "measured", "wanted", ""], [[*v[:3], words[v[3]]] for v in verdicts])
    met = [v[3] for v in verdicts]
    out.append(f"{met.count(True)} met, {met.count(False)} not met, {met.count(None)} not judged")
    print("\n".join(out))
    if a.markdown:
        with open(a.markdown, "w", encoding="utf-8") as f:
            f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
