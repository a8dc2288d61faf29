# SPDX-License-Identifier: MIT
"""Reads TensorFlow Lite files: FlatBuffers, just as far as operators, tensors and their numbers.

A table is a position; before it lies the distance to its list of fields, which holds where each
field is, 0 where absent.
Every read is checked against the end of the file.
"""
import struct

import numpy as np

TYPES = {0: np.float32, 2: np.int32, 3: np.uint8, 4: np.int64, 7: np.int16, 9: np.int8}
RESOURCE = 13
OPS = {2: 'CONCATENATION', 3: 'CONV_2D', 4: 'DEPTHWISE_CONV_2D', 6: 'DEQUANTIZE',
       9: 'FULLY_CONNECTED', 14: 'LOGISTIC', 22: 'RESHAPE', 45: 'STRIDED_SLICE', 49: 'SPLIT',
       102: 'SPLIT_V', 114: 'QUANTIZE', 129: 'CALL_ONCE',
       142: 'VAR_HANDLE', 143: 'READ_VARIABLE', 144: 'ASSIGN_VARIABLE'}


class Table:
    def __init__(self, data, at):
        self.data, self.at = data, at
        self.fields = at - self.unpack('<i', at)
        self.n_fields = (self.unpack('<H', self.fields) - 4) // 2

    def unpack(self, form, at):
        if at < 0 or at + struct.calcsize(form) > len(self.data):
            raise ValueError('the file ends before byte %d' % at)
        return struct.unpack_from(form, self.data, at)[0]

    def place(self, field):
        """Where a field is; None where it has its default."""
        offset = self.unpack('<H', self.fields + 4 + 2 * field) if field < self.n_fields else 0
        return self.at + offset if offset else None

    def number(self, field, form, default=0):
        at = self.place(field)
        return default if at is None else self.unpack(form, at)

    def target(self, at):
        return at + self.unpack('<I', at)

    def table(self, field):
        at = self.place(field)
        return None if at is None else Table(self.data, self.target(at))

    def vector(self, field):
        """Where the elements begin, and how many there are."""
        at = self.place(field)
        if at is None:
            return 0, 0
        at = self.target(at)
        n = self.unpack('<I', at)
        if n > len(self.data):
            raise ValueError('a list of %d elements' % n)
        return at + 4, n

    def numbers(self, field, type):
        at, n = self.vector(field)
        size = np.dtype(type).itemsize
        if at + n * size > len(self.data):
            raise ValueError('the file ends inside a list')
        return np.frombuffer(self.data, np.dtype(type).newbyteorder('<'), n, at)

    def tables(self, field):
        at, n = self.vector(field)
        return [Table(self.data, self.target(at + 4 * i)) for i in range(n)]

    def text(self, field):
        return bytes(self.numbers(field, np.uint8)).decode('utf-8', 'replace')


class Tensor:
    def __init__(self, table, buffers):
        kind, quant = table.number(1, '<b'), table.table(4)
        self.name = table.text(3)
        self.shape = [int(n) for n in table.numbers(0, np.int32)]
        self.is_resource = kind == RESOURCE
        self.type = TYPES.get(kind)
        self.scale = quant.numbers(2, np.float32).astype(np.float64) if quant else np.zeros(0)
        self.zero = quant.numbers(3, np.int64) if quant else np.zeros(0, np.int64)
        self.axis = quant.number(6, '<i') if quant else 0
        buffer = table.number(2, '<I')
        if buffer >= len(buffers):
            raise ValueError('%s: no buffer %d' % (self.name, buffer))
        raw = buffers[buffer].numbers(0, np.uint8)
        self.data = None
        if raw.size and self.type:
            self.data = raw.view(np.dtype(self.type).newbyteorder('<')).reshape(self.shape)

    def real(self):
        """The numbers that a constant stands for."""
        x = self.data.astype(np.float64)
        if not self.scale.size:
            return x
        across = [1] * x.ndim
        if self.scale.size > 1:
            across[self.axis] = -1
        return (x - self.zero.reshape(across)) * self.scale.reshape(across)


class Operator:
    def __init__(self, table, codes):
        self.kind = codes[table.number(0, '<I')]
        self.inputs = [int(i) for i in table.numbers(1, np.int32)]
        self.outputs = [int(i) for i in table.numbers(2, np.int32)]
        self.options = table.table(4)

    def option(self, field, form='<b', default=0):
        return self.options.number(field, form, default) if self.options else default


class Subgraph:
    def __init__(self, table, codes, buffers):
        self.tensors = [Tensor(t, buffers) for t in table.tables(0)]
        self.inputs = [int(i) for i in table.numbers(1, np.int32)]
        self.outputs = [int(i) for i in table.numbers(2, np.int32)]
        self.operators = [Operator(o, codes) for o in table.tables(3)]


def read(path):
    """The subgraphs of a file."""
    with open(path, 'rb') as f:
        data = f.read()
    if data[4:8] != b'TFL3':
        raise ValueError('%s is no TensorFlow Lite file' % path)
    model = Table(data, struct.unpack_from('<I', data)[0])
    codes = [max(c.number(0, '<b'), c.number(3, '<i')) for c in model.tables(1)]
    codes = [OPS.get(c, 'operator %d' % c) for c in codes]
    buffers = model.tables(4)
    return [Subgraph(s, codes, buffers) for s in model.tables(2)]
