# SPDX-License-Identifier: MIT
"""Nets of the zoo by that exporter of PyTorch which did not write the file that is here: ONNX Runtime judges the whole run, the
law the stream at four pulses, and no output is later than its bound.

    exporters.py RILL FOLDER [--traced|--dynamo] [NAME..]

With --traced or --dynamo each net is written by that exporter, of whatever PyTorch is here (1.13 and later); a net that it cannot write
is named, and no failure."""
import json, logging, os, shutil, subprocess, sys, warnings
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]
import numpy as np
import torch
import counted
import make
import zipformer2

RILL, FOLDER = sys.argv[1:3]
BY = sys.argv[3] if sys.argv[3:] and sys.argv[3].startswith("--") else None
NETS = [name for name in (*make.LENGTHS, "zipformer2") if name != "dualpath_scan"]      # no exporter writes directions of Scans


def rill(*arguments):
    """What it says, and what is wrong."""
    r = subprocess.run([RILL, *arguments], capture_output=True, text=True)
    return r.stdout, "" if r.returncode == 0 else r.stdout[-600:] + r.stderr[-600:]


def whole_run_test(name, path, length):
    feed, want = make.whole_run(path, length)
    np.savez(path + ".npz", **want)
    given = []
    for port, x in feed.items():
        np.save(f"{path}.{port}.npy", x)
        given += ["-i", f"{port}={path}.{port}.npy"]
    wrong = rill("run", *given, "--compare", path + ".npz", "--atol", "1e-4", path)[1]
    counted.check(not wrong, f"{name}, {length} frames: {wrong}")


def latency_test(name, path):
    said, wrong = rill("inspect", "--json", path)
    late = [] if wrong else [f"{o['output']} by {o['needless_frames']} frames" for o in json.loads(said)["latency"] if o["needless_frames"]]
    counted.check(not wrong and not late, f"{name}: {wrong or 'needlessly late: ' + ', '.join(late)}")


def steps_test(path):
    """Chunks with states fed back, by ONNX Runtime one after the other."""
    for frames in zipformer2.LENGTHS:
        x = zipformer2.features(frames)
        np.save(path + ".npy", x)
        np.savez(path + ".npz", encoder_out=zipformer2.steps(path, x))
        given = "run", "-i", f"features={path}.npy", "--compare", path + ".npz", "--atol", "1e-4"
        wrong = rill(*given, os.path.dirname(path))[1]
        counted.check(not wrong, f"zipformer2, {frames} frames: {wrong}")


def write(name, by_dynamo):
    """The file, and the model that it is or is in."""
    if name != "zipformer2":
        path = os.path.join(FOLDER, name + ".onnx")
        make.export_one(name, path, by_dynamo)
        return path, path
    folder = os.path.join(FOLDER, name)
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(HERE, name, "graph.nnef"), folder)
    return zipformer2.export("dynamo" if by_dynamo else "traced", os.path.join(folder, "net.onnx")), folder


def net_test(name):
    by_dynamo = BY == "--dynamo" if BY else name not in make.BY_DYNAMO
    how = f"{name}, by {'torch.export' if by_dynamo else 'tracing'} of PyTorch {torch.__version__}"
    try:
        path, model = write(name, by_dynamo)
    except Exception as e:      # whatever an exporter throws at a net that it does not take
        print(f"{how}: not written: {str(e).strip()[:600]}", flush=True)
        return BY or counted.check(False, how)
    if model != path:
        steps_test(path)
    for length in make.LENGTHS[name] if model == path else ():
        whole_run_test(name, path, length)
    latency_test(name, model)
    lengths = make.LENGTHS.get(name, zipformer2.LENGTHS)
    wrong = rill("check", "--length", ",".join(map(str, lengths)), model)[1]
    counted.check(not wrong, f"{name}: {wrong}")
    print(f"{how}: {os.path.getsize(path)} bytes", flush=True)


torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
for net in sys.argv[4 if BY else 3:] or NETS:
    net_test(net)
counted.finish()
