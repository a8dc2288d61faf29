# SPDX-License-Identifier: MIT
"""Files of tract as they were published: each opens, or is refused by name; with stored numbers it
gives them. tract_cases.py RILL SHARED"""
import json, os, shutil, struct, subprocess, sys, tempfile, zipfile

RILL, CASES = sys.argv[1], os.path.join(sys.argv[2], "cases", "nnef")
OUTPUTS = {"Y", "Y_h", "output", "output_0", "output_1", "output_2", "o"}
REFUSED = {  # and the words that say why
    "softmax-quant/expected": "axis 3 does not exist",
    "softmax-quant/model": "axis 3 does not exist",
    "variable-in-fragment": "has no argument 'label'",
}
DATA_DECIDES = ("non_zero_two_nodes",)  # sizes of outputs: the whole graph runs, no plan is made
SETS = {"multi-axis": ["--set", "T=6"], "debox": []}
TYPES = {"f4": "float32", "f2": "float16", "i8": "int64", "i4": "int32", "i1": "int8", "u1": "uint8", "b1": "bool"}


def npy_read(data):
    """Type, shape and bytes of one array in C order."""
    n = struct.unpack("<H", data[8:10])[0]
    head = eval(data[10:10 + n], {"__builtins__": {}}, {"True": True, "False": False})
    return TYPES[head["descr"][1:]], list(head["shape"]), data[10 + n:]


def case_write(root, folder):
    shutil.copytree(folder, os.path.join(root, "v", "net"))
    ref = os.path.join(root, "v", "ref")
    os.mkdir(ref)
    rows = []
    with zipfile.ZipFile(os.path.join(folder, "io.npz")) as z:
        for member in z.namelist():
            name = member[:-len(".npy")]
            dtype, shape, data = npy_read(z.read(member))
            with open(os.path.join(ref, name + ".raw"), "wb") as f:
                f.write(data)
            rows.append({"role": "out" if name in OUTPUTS else "in", "name": name, "file": name + ".raw",
                         "dtype": dtype, "shape": shape, "per_chunk": False, "absmax": 1})
    path = os.path.join(ref, "c.json")
    with open(path, "w") as f:
        json.dump({"case": "c", "onnx": "v/net", "chunks": 1, "tensors": rows}, f)
    return path


def case_run(folder, options):
    """None, or what is wrong."""
    if not os.path.exists(os.path.join(folder, "io.npz")):
        r = subprocess.run([RILL, "inspect", folder], capture_output=True, text=True)
        return None if r.returncode == 0 else r.stderr
    io = os.path.join(folder, "io.npz")
    r = subprocess.run([RILL, "run", *options, "-i", io, "--compare", io, "--atol", "1e-4", folder], capture_output=True, text=True)
    if r.returncode != 0 or folder.endswith(DATA_DECIDES):
        return None if r.returncode == 0 else r.stdout + r.stderr
    with tempfile.TemporaryDirectory() as root:
        r = subprocess.run([RILL, "verify", "--tolerance", "0.0001", *options, case_write(root, folder)],
                           capture_output=True, text=True)
    return None if r.returncode == 0 else r.stdout + r.stderr


def folders(root):
    for where, _, files in sorted(os.walk(CASES)):
        name = os.path.relpath(where, CASES)
        if "graph.nnef" in files:
            yield name, where
        for f in files:
            if f.endswith(".nnef.tgz"):
                out = os.path.join(root, name)
                os.makedirs(out)
                subprocess.run(["tar", "xzf", os.path.join(where, f), "-C", out], check=True)
                if "io.npz" in files:
                    shutil.copy(os.path.join(where, "io.npz"), out)
                yield name, out


def main():
    counts = {"passed": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as root:
        for name, folder in folders(root):
            options = next((o for k, o in SETS.items() if name.startswith(k)), [])
            wrong = case_run(folder, options)
            words = next((w for k, w in REFUSED.items() if name.endswith(k)), None)
            good = wrong is None if words is None else wrong is not None and words in wrong
            counts["passed" if good else "failed"] += 1
            if not good:
                print(f"{name}: {wrong or 'opens now'}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, 0 skipped")
    return counts["failed"] > 0


if not os.path.isdir(CASES):
    print("no shared cases\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)
sys.exit(main())
