# SPDX-License-Identifier: MIT
"""Graphs with channels in blocks, as ONNX Runtime writes them at its level 'all', give the bits of the plain graph; those that
do not say how large their blocks are do not open. Skipped where Python has no onnx.

    blocked.py RILL"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("no onnx for this Python")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from counted import check, finish  # noqa: E402

RILL = sys.argv[1]
ROLL = np.random.default_rng(3)


def filled(n, block):
    return -(-n // block) * block


def blocked(w, block):
    """[out, in, height, width] in the order of blocks."""
    o, i = filled(w.shape[0], block), w.shape[1]
    full = np.zeros((o, *w.shape[1:]), np.float32)
    full[:w.shape[0]] = w
    inner = block if i >= block else 1
    parts = full.reshape(o // block, block, i // inner, inner, *w.shape[2:]).transpose(0, 2, 4, 5, 3, 1)
    return np.ascontiguousarray(parts).reshape(full.shape)


class Net:
    """Layers (kind, attributes) one after the other on [1, channels, 12, 10], plain or in blocks."""

    def __init__(self, channels, layers, block=0, said=0):
        self.block, self.nodes, self.constants, self.at, self.lies, self.channels = block, [], [], "x", False, channels
        for kind, more in layers:
            getattr(self, kind)(**more)
        if self.lies:
            self.node("ReorderOutput", channels=self.channels)
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, 12, 10])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.constants)
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft.nchwc", 1)]
        self.model = helper.make_model(graph, opset_imports=domains, ir_version=9)
        if said:
            helper.set_model_props(self.model, {"nchwc_block_size": str(said)})

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(array, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, *more, **attrs):
        domain = "com.microsoft.nchwc" if self.block and (self.lies or op in ("Conv", "ReorderInput")) else ""
        self.nodes.append(helper.make_node(op, [self.at, *more], [f"t{len(self.nodes)}"], domain=domain, **attrs))
        self.at = self.nodes[-1].output[0]

    def conv(self, w, bias, activation="", group=1, **attrs):
        if self.block and (group == w.shape[0] > 1 or w.shape[1] >= self.block) and not self.lies:
            self.node("ReorderInput")
            self.lies = True
        if self.block and self.lies and group == w.shape[0] > 1:
            group = filled(group, self.block)
        if self.block and self.lies and group == 1:
            w = np.pad(w, [(0, 0), (0, filled(w.shape[1], self.block) - w.shape[1]), (0, 0), (0, 0)])
        if self.block and not self.lies and w.shape[1] >= self.block:
            self.node("ReorderInput")
            self.lies = True
        self.channels = w.shape[0]
        if self.block:
            more = np.zeros(filled(len(bias), self.block), np.float32)
            more[:len(bias)] = bias
            self.node("Conv", self.constant(blocked(w, self.block)), self.constant(more), group=group,
                      **({"activation": activation} if activation else {}), **attrs)
            self.lies = True
            return
        self.node("Conv", self.constant(w), self.constant(bias), group=group, **attrs)
        if activation:
            self.node(activation)

    def pool(self, op, plain=False, **attrs):
        if plain and self.lies:
            self.node("ReorderOutput", channels=self.channels)
            self.lies = False
        self.node(op, **attrs)

    def twice(self):
        if self.block:
            self.node("Upsample", scales=[1, 1, 2, 2], mode="nearest", coordinate_transformation_mode="asymmetric")
        else:
            self.node("Resize", "", self.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
                      coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def conv(out, of, group=1, size=3, activation="", **attrs):
    w = ROLL.standard_normal((out, of, size, size)).astype(np.float32)
    return "conv", {"w": w, "bias": ROLL.standard_normal(out).astype(np.float32), "group": group, "activation": activation,
                    "pads": [size // 2] * 4, **attrs}


def rill(root, model, *args):
    path = os.path.join(root, "m.onnx")
    onnx.save(model, path)
    return subprocess.run([RILL, "run", "-i", "x=" + os.path.join(root, "x.npy"), *args, path], capture_output=True, text=True, check=False)


def same(words, channels, layers, block, refused=None, said=0):
    with tempfile.TemporaryDirectory() as root:
        np.save(os.path.join(root, "x.npy"), ROLL.standard_normal((1, channels, 12, 10)).astype(np.float32))
        ref = os.path.join(root, "ref.npz")
        plain = rill(root, Net(channels, layers).model, "-o", ref)
        r = rill(root, Net(channels, layers, block, said).model, "--compare", ref, "--atol", "0", "--rtol", "0")
    ok = r.returncode == 3 and refused in r.stderr if refused else plain.returncode == 0 and "1 passed, 0 failed" in r.stdout
    check(ok, f"{words}, blocks of {block}: {plain.stderr}{r.stdout}{r.stderr}")


MIDDLE = [conv(32, 1, 32, activation="Sigmoid"), ("pool", {"op": "MaxPool", "kernel_shape": [2, 2], "strides": [2, 2]}),
          ("pool", {"op": "AveragePool", "kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}), ("twice", {})]
for size in (8, 16):
    same("channels that are cut off", 1, [conv(32, 1, activation="Relu"), *MIDDLE, conv(5, 32)], size)
    same("groups", 1, [conv(32, 1), conv(64, 16, 2), ("pool", {"op": "GlobalMaxPool"}), conv(1, 64, size=1)], size)
    same("one pixel is left", 3, [conv(32, 3, strides=[2, 2]), conv(6, 32), ("pool", {"op": "GlobalAveragePool"})], size)
    same("nothing tells", 16, [conv(32, 16), conv(16, 32)], size, "does not say whether its blocks are of 8 or of 16")
    same("the metadata tell", 16, [conv(32, 16), conv(16, 32)], size, said=size)
    same("the metadata tell nonsense", 16, [conv(32, 16), conv(16, 32)], size, "in one file", said=4)
    same("channels that fill no block", 3,
         [conv(26, 3), ("pool", {"op": "Sigmoid", "plain": True}), conv(26, 1, 26), ("pool", {"op": "Sigmoid", "plain": True}), conv(5, 26)], size)
same("a block and a half", 1, [conv(24, 1), conv(16, 24)], 8)
same("too few for a block", 8, [conv(32, 8), conv(16, 32)], 16)
for said in (16, 4):
    same("another size is said", 1, [conv(24, 1), conv(16, 24)], 8, "in one file", said=said)
finish()
