# SPDX-License-Identifier: MIT
"""Writes .tflite files: flatbuffers, front to back, every table behind its list of fields.

    m = Model()
    x = m.tensor('x', [1, 4], 'INT8', scale=0.1, zero=3)
    w = m.tensor('w', [2, 4], 'INT8', scale=[0.1, 0.2], data=numpy_array)
    y = m.tensor('y', [1, 2], 'INT8', scale=0.2)
    m.op('FULLY_CONNECTED', [x, w, -1], [y], {FIELD: ('b', 0)})
    m.write('file.tflite', inputs=[x], outputs=[y])
"""
import struct

TYPES = {'FLOAT32': 0, 'FLOAT16': 1, 'INT32': 2, 'UINT8': 3, 'INT64': 4, 'BOOL': 6, 'INT16': 7, 'INT8': 9,
         'RESOURCE': 13}
OPS = {'ADD': 0, 'AVERAGE_POOL_2D': 1, 'CONCATENATION': 2, 'CONV_2D': 3, 'DEPTHWISE_CONV_2D': 4, 'DEQUANTIZE': 6,
       'FLOOR': 8, 'FULLY_CONNECTED': 9, 'L2_NORMALIZATION': 11, 'LOGISTIC': 14, 'MAX_POOL_2D': 17, 'MUL': 18, 'RELU': 19, 'RELU_N1_TO_1': 20,
       'RELU6': 21, 'RESHAPE': 22, 'RESIZE_BILINEAR': 23, 'SOFTMAX': 25, 'SVDF': 27, 'TANH': 28, 'CUSTOM': 32, 'PAD': 34, 'GATHER': 36, 'TRANSPOSE': 39,
       'MEAN': 40, 'SUB': 41, 'DIV': 42, 'SQUEEZE': 43, 'UNIDIRECTIONAL_SEQUENCE_LSTM': 44, 'STRIDED_SLICE': 45, 'EXP': 47, 'SPLIT': 49,
       'LOG_SOFTMAX': 50, 'CAST': 53, 'PRELU': 54, 'MAXIMUM': 55, 'ARG_MAX': 56, 'MINIMUM': 57, 'LESS': 58, 'NEG': 59, 'PADV2': 60,
       'SLICE': 65, 'SIN': 66, 'TRANSPOSE_CONV': 67, 'EXPAND_DIMS': 70, 'LOG': 73, 'SUM': 74, 'SQRT': 75, 'RSQRT': 76,
       'POW': 78, 'ARG_MIN': 79, 'REDUCE_MAX': 82, 'PACK': 83, 'UNPACK': 88, 'REDUCE_MIN': 89, 'SQUARE': 92,
       'RESIZE_NEAREST_NEIGHBOR': 97, 'LEAKY_RELU': 98,
       'SQUARED_DIFFERENCE': 99, 'MIRROR_PAD': 100, 'ABS': 101, 'SPLIT_V': 102, 'CEIL': 104, 'COS': 108, 'ELU': 111,
       'QUANTIZE': 114, 'ROUND': 116, 'HARD_SWISH': 117, 'WHILE': 119, 'BATCH_MATMUL': 126, 'CUMSUM': 128, 'CALL_ONCE': 129,
       'VAR_HANDLE': 142, 'READ_VARIABLE': 143, 'ASSIGN_VARIABLE': 144, 'GELU': 150}
# What the runtime wants to know which options a table holds.
OPTIONS = {'CONV_2D': 1, 'DEPTHWISE_CONV_2D': 2, 'AVERAGE_POOL_2D': 5, 'MAX_POOL_2D': 5, 'SVDF': 6, 'FULLY_CONNECTED': 8,
           'SOFTMAX': 9, 'CONCATENATION': 10, 'ADD': 11, 'L2_NORMALIZATION': 12, 'RESIZE_BILINEAR': 15, 'RESHAPE': 17, 'MUL': 21, 'PAD': 22, 'GATHER': 23,
           'TRANSPOSE': 26, 'MEAN': 27, 'SUM': 27, 'REDUCE_MAX': 27, 'REDUCE_MIN': 27, 'SUB': 28, 'DIV': 29, 'SQUEEZE': 30,
           'STRIDED_SLICE': 32, 'SPLIT': 35, 'CAST': 37, 'MAXIMUM': 39, 'MINIMUM': 39, 'ARG_MAX': 40,
           'TRANSPOSE_CONV': 49, 'ARG_MIN': 57, 'PACK': 59,
           'UNPACK': 64, 'UNIDIRECTIONAL_SEQUENCE_LSTM': 71, 'RESIZE_NEAREST_NEIGHBOR': 74, 'LEAKY_RELU': 75, 'MIRROR_PAD': 77, 'SPLIT_V': 79, 'CALL_ONCE': 103, 'VAR_HANDLE': 111,
           'READ_VARIABLE': 112, 'ASSIGN_VARIABLE': 113, 'BATCH_MATMUL': 101, 'CUMSUM': 102, 'GELU': 122}


class Bytes(bytes):
    """Not text: a list of bytes that begins at a multiple of 16."""


def is_offset(value):
    return isinstance(value, (dict, list, str, bytes))


class Writer:
    def __init__(self):
        self.out = bytearray()

    def align(self, to):
        self.out += bytes(-len(self.out) % to)

    def point(self, at):
        struct.pack_into('<I', self.out, at, len(self.out) - at)

    def table(self, fields):
        """fields: number -> (format, value), or what stands elsewhere: a table (dict), tables (list of dict), text
        (str), bytes, or a list of numbers (format, list)."""
        n = max(fields, default=-1) + 1
        place, size = {}, 4
        for f in sorted(fields, key=lambda f: -self.width(fields[f])):
            width = self.width(fields[f])
            size += -size % width
            place[f] = size
            size += width
        self.align(2)
        self.align(4)
        start = len(self.out)
        self.out += struct.pack('<HH', 4 + 2 * n, size) + b''.join(struct.pack('<H', place.get(f, 0)) for f in range(n))
        self.align(8)
        self.out += bytes(4)        # so that fields of eight bytes lie at multiples of eight
        at = len(self.out)
        self.out += struct.pack('<i', at - start) + bytes(size - 4)
        for f, value in sorted(fields.items()):
            self.field(at + place[f], value)
        return at

    @staticmethod
    def width(value):
        return 4 if is_offset(value) or isinstance(value[1], list) else struct.calcsize('<' + value[0])

    def field(self, at, value):
        if not is_offset(value) and not isinstance(value[1], list):
            struct.pack_into('<' + value[0], self.out, at, value[1])
        elif isinstance(value, dict):
            hole = len(self.out)
            made = self.table(value)
            struct.pack_into('<I', self.out, at, made - at)
            assert hole <= made
        else:
            self.list(at, value)

    def list(self, at, value):
        if isinstance(value, str):
            value = value.encode() + b'\0'
            form, n, end = 'B', len(value) - 1, 1
        elif isinstance(value, bytes):
            form, n, end = 'B', len(value), 16
        elif isinstance(value, list):
            form, n, end = 'tables', len(value), 4
        else:
            form, value = value
            n, end = len(value), struct.calcsize('<' + form)
        self.align(4)
        self.out += bytes(-(len(self.out) + 4) % end)
        self.point(at)
        self.out += struct.pack('<I', n)
        if form == 'tables':
            holes = len(self.out)
            self.out += bytes(4 * n)
            for i, t in enumerate(value):
                made = self.table(t)
                struct.pack_into('<I', self.out, holes + 4 * i, made - (holes + 4 * i))
        elif isinstance(value, bytes):
            self.out += value
        else:
            self.out += struct.pack('<%d%s' % (n, form), *value)

    def file(self, root):
        self.out += struct.pack('<I', 0) + b'TFL3'
        at = self.table(root)
        struct.pack_into('<I', self.out, 0, at)
        return bytes(self.out)


class Graph:
    def __init__(self, model, name):
        self.model, self.name, self.tensors, self.ops, self.ports = model, name, [], [], ([], [])

    def tensor(self, name, shape, type='FLOAT32', data=None, scale=None, zero=0, axis=0, buffer=None,
               signature=None, variable=False):
        fields = {1: ('b', TYPES[type]), 3: name}
        if shape:
            fields[0] = ('i', list(shape))
        if buffer is None:
            buffer = self.model.buffer(data.tobytes() if data is not None else b'')
        fields[2] = ('I', buffer)
        if scale is not None:
            scales = [float(s) for s in (scale if hasattr(scale, '__len__') else [scale])]
            zeros = list(zero) if hasattr(zero, '__len__') else [zero] * len(scales)
            fields[4] = {2: ('f', scales), 3: ('q', zeros), 6: ('i', axis)}
        if variable:
            fields[5] = ('?', True)
        if signature:
            fields[7] = ('i', list(signature))
        self.tensors.append(fields)
        return len(self.tensors) - 1

    def op(self, kind, inputs, outputs, options=None, version=1, custom=None, between=None):
        fields = {0: ('I', self.model.code(kind, version, custom)), 1: ('i', list(inputs)), 2: ('i', list(outputs))}
        if options is not None:
            fields[3] = ('B', OPTIONS.get(kind, 0))
            fields[4] = options
        if between:
            fields[8] = ('i', list(between))
        self.ops.append(fields)

    def fields(self):
        return {0: self.tensors, 1: ('i', list(self.ports[0])), 2: ('i', list(self.ports[1])), 3: self.ops, 4: self.name}


class Model(Graph):
    def __init__(self):
        super().__init__(self, 'main')
        self.buffers, self.codes, self.graphs, self.signature = [{}], [], [self], None

    def buffer(self, data):
        self.buffers.append({0: Bytes(data)} if data else {})
        return len(self.buffers) - 1

    def code(self, kind, version, custom):
        number = OPS[kind] if isinstance(kind, str) else kind
        code = {0: ('b', min(number, 127)), 2: ('i', version), 3: ('i', number)}
        if custom:
            code[1] = custom
        if code not in self.codes:
            self.codes.append(code)
        return self.codes.index(code)

    def graph(self, name):
        self.graphs.append(Graph(self, name))
        return self.graphs[-1]

    def root(self, inputs, outputs):
        self.ports = (inputs, outputs)
        root = {0: ('I', 3), 1: self.codes, 2: [g.fields() for g in self.graphs], 3: 'by rill', 4: self.buffers}
        if self.signature:
            ports = [[{0: name, 1: ('I', t)} for name, t in s.items()] for s in self.signature]
            root[7] = [{0: ports[0], 1: ports[1], 2: 'serving_default', 4: ('I', 0)}]
        return root

    def bytes(self, inputs, outputs):
        return Writer().file(self.root(inputs, outputs))

    def write(self, path, inputs, outputs):
        with open(path, 'wb') as f:
            f.write(self.bytes(inputs, outputs))
