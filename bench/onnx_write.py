# SPDX-License-Identifier: MIT
"""Writes ONNX files with the standard library alone: a graph of nodes, tensors and ports."""
import array
import random
import struct

FLOAT, INT8, INT32, INT64 = 1, 3, 6, 7


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def number(field, v):
    return varint(field << 3) + varint(v)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def real(field, v):
    return varint(field << 3 | 5) + struct.pack("<f", v)


def attribute(name, v):
    if isinstance(v, float):
        body = real(2, v) + number(20, 1)
    elif isinstance(v, int):
        body = number(3, v) + number(20, 2)
    elif isinstance(v, str):
        body = block(4, v) + number(20, 3)
    elif v and isinstance(v[0], str):
        body = b"".join(block(9, s) for s in v) + number(20, 8)
    else:
        body = b"".join(number(8, i) for i in v) + number(20, 7)
    return block(1, name) + body


class Net:
    """Names of nodes are the names of their first outputs; `node` returns that name."""
    def __init__(self, opset=14, seed=1):
        self.opset, self.random = opset, random.Random(seed)
        self.nodes, self.tensors, self.inputs, self.outputs, self.count = [], [], [], [], 0
        self.shapes = {}

    def port(self, name, dims, kind):
        dim = b"".join(block(1, number(1, d) if isinstance(d, int) else block(2, d)) for d in dims)
        return block(1, name) + block(2, block(1, number(1, kind) + block(2, dim)))

    def input(self, name, dims, kind=FLOAT):
        self.inputs.append(self.port(name, dims, kind))
        self.shapes[name] = list(dims)
        return name

    def output(self, name, dims, kind=FLOAT):
        self.outputs.append(self.port(name, dims, kind))

    def tensor(self, name, dims, raw, kind=FLOAT):
        head = b"".join(number(1, d) for d in dims) + number(2, kind)
        self.tensors.append(head + block(8, name) + block(9, raw))
        return name

    def fresh(self, hint):
        self.count += 1
        return f"{hint.lower()}_{self.count}"

    def ints(self, values):
        return self.tensor(self.fresh("i"), [len(values)], struct.pack(f"<{len(values)}q", *values), INT64)

    def floats(self, values, dims):
        return self.tensor(self.fresh("c"), dims, array.array("f", values).tobytes())

    def bytes_signed(self, dims, most=127):
        n = 1
        for d in dims:
            n *= d
        values = array.array("b", (self.random.randint(-most, most) for _ in range(n)))
        return self.tensor(self.fresh("b"), dims, values.tobytes(), INT8)

    def bytes_bell(self, dims):
        """As trained weights are quantised: of the shape of a bell, the greatest 127."""
        n = 1
        for d in dims:
            n *= d
        floats = [self.random.gauss(0, 1) for _ in range(n)]
        most = max(map(abs, floats))
        values = array.array("b", (round(v / most * 127) for v in floats))
        return self.tensor(self.fresh("b"), dims, values.tobytes(), INT8)

    def weights(self, dims, scale):
        n = 1
        for d in dims:
            n *= d
        return self.floats([self.random.uniform(-scale, scale) for _ in range(n)], dims)

    def node(self, op, ins, outs=None, **attrs):
        outs = outs or [self.fresh(op)]
        outs = [outs] if isinstance(outs, str) else outs
        body = b"".join(block(1, i) for i in ins) + b"".join(block(2, o) for o in outs)
        body += block(3, next(o for o in outs if o)) + block(4, op)
        body += b"".join(block(5, attribute(k, v)) for k, v in attrs.items())
        self.nodes.append(body)
        return outs[0]

    def save(self, path):
        graph = b"".join(block(1, n) for n in self.nodes) + block(2, "g")
        graph += b"".join(block(5, t) for t in self.tensors) + b"".join(block(11, i) for i in self.inputs)
        graph += b"".join(block(12, o) for o in self.outputs)
        with open(path, "wb") as f:
            f.write(number(1, 8) + block(2, "rill bench") + block(7, graph) + block(8, block(1, "") + number(2, self.opset)))
