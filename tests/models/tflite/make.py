#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes nets/NAME.tflite and refs/NAME.ref of every case: nets of a few operators, and what the format's own reference kernels make
of random numbers (ai-edge-litert, BUILTIN_REF).

    make.py [NAME...]

A .ref file holds one run after the other: every input, then every output, as the floats that its numbers stand for."""
import math
import os
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from flat import Model

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = 4
SAME, VALID = 0, 1
CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


class Case(Model):
    """Numbers of its own, the same every time."""

    def __init__(self, name):
        super().__init__()
        self.random = np.random.default_rng(list(name.encode()))

    def bytes8(self, name, shape, scale, **more):
        return self.tensor(name, shape, 'INT8', self.random.integers(-127, 128, shape).astype(np.int8), scale, **more)

    def bias(self, n, scale):
        scale = list(scale) if hasattr(scale, '__len__') else scale
        return self.tensor('bias', [n], 'INT32', self.random.integers(-900, 900, n).astype(np.int32), scale)

    def real(self, name, shape):
        return self.tensor(name, shape, data=self.random.standard_normal(shape).astype(np.float32) * np.float32(0.5))

    def ints(self, name, values):
        return self.tensor(name, np.shape(values), 'INT32', np.array(values, np.int32))


def conv_scale(x, w):
    return [float(np.float32(x) * np.float32(s)) for s in w]


def whole_conv(m, shape, outputs, size, options, out, activation=1, name=''):
    x = m.tensor('x' + name, shape, 'INT8', scale=0.07, zero=-9)
    scales = [0.004 * (1 + i / 5) for i in range(outputs)]
    w = m.bytes8('w', [outputs, *size, shape[3]], scales)
    b = m.bias(outputs, conv_scale(0.07, scales))
    y = m.tensor('y' + name, out, 'INT8', scale=0.21, zero=-20)
    m.op('CONV_2D', [x, w, b], [y], {**options, 3: ('b', activation)}, version=3)
    return x, y


@case
def conv8(m):
    """A window over rows with padding, strides and a fused Relu; more products than a float sums exactly."""
    return whole_conv(m, [2, 7, 3, 40], 6, (3, 3), {0: ('b', SAME), 1: ('i', 1), 2: ('i', 2), 4: ('i', 1), 5: ('i', 1)},
                      [2, 4, 3, 6])


@case
def conv8_dilated(m):
    return whole_conv(m, [1, 9, 5, 3], 5, (3, 2), {0: ('b', VALID), 1: ('i', 2), 2: ('i', 1), 4: ('i', 1), 5: ('i', 3)},
                      [1, 3, 2, 5], activation=3)


@case
def depthwise8(m):
    x = m.tensor('x', [1, 6, 4, 3], 'INT8', scale=0.05, zero=4)
    scales = [0.01 * (1 + i / 3) for i in range(6)]
    w = m.bytes8('w', [1, 3, 3, 6], scales, axis=3)
    b = m.bias(6, conv_scale(0.05, scales))
    y = m.tensor('y', [1, 3, 2, 6], 'INT8', scale=0.09, zero=3)
    m.op('DEPTHWISE_CONV_2D', [x, w, b], [y],
         {0: ('b', SAME), 1: ('i', 2), 2: ('i', 2), 3: ('i', 2), 4: ('b', 0), 5: ('i', 1), 6: ('i', 1)}, version=3)
    return x, y


@case
def full8(m):
    """One scale for all weights; rounds once."""
    x = m.tensor('x', [5, 2, 30], 'INT8', scale=0.05, zero=-7)
    w = m.bytes8('w', [8, 60], 0.011)
    y = m.tensor('y', [5, 8], 'INT8', scale=0.3, zero=-3)
    m.op('FULLY_CONNECTED', [x, w, m.bias(8, float(np.float32(0.05) * np.float32(0.011)))], [y], {0: ('b', 0)}, version=4)
    return x, y


@case
def full8_channels(m):
    x = m.tensor('x', [3, 32], 'INT8', scale=0.05, zero=-7)
    scales = [0.004 * (1 + i / 5) for i in range(8)]
    w = m.bytes8('w', [8, 32], scales)
    y = m.tensor('y', [3, 8], 'INT8', scale=0.15, zero=1)
    m.op('FULLY_CONNECTED', [x, w, m.bias(8, conv_scale(0.05, scales))], [y], {0: ('b', 1)}, version=4)
    return x, y


@case
def full8_ties(m):
    """Sums that lie half way between two results but for the last bit of the factor."""
    x = m.tensor('x', [32, 1], 'INT8', scale=0.1)
    w = m.tensor('w', [8, 1], 'INT8', np.array([[5], [-5], [15], [-15], [25], [3], [7], [-1]], np.int8), 0.02)
    y = m.tensor('y', [32, 8], 'INT8', scale=0.1)
    m.op('FULLY_CONNECTED', [x, w, -1], [y], {0: ('b', 0)}, version=4)
    return x, y


def binary8(m, kind, a, b):
    x = m.tensor('x', a, 'INT8', scale=0.06, zero=-3)
    w = m.tensor('w', b, 'INT8', scale=0.021, zero=11)
    y = m.tensor('y', np.broadcast_shapes(a, b), 'INT8', scale=0.05, zero=-1)
    m.op(kind, [x, w], [y], {0: ('b', 0)}, version=2)
    return [x, w], y


@case
def add8(m):
    return binary8(m, 'ADD', [2, 3, 40], [2, 3, 40])


@case
def add8_broadcast(m):
    return binary8(m, 'ADD', [2, 3, 40], [40])


@case
def sub8(m):
    return binary8(m, 'SUB', [4, 60], [4, 60])


@case
def mul8(m):
    return binary8(m, 'MUL', [4, 60], [4, 1])


def table8(m, kind, scale, zero):
    x = m.tensor('x', [16, 16], 'INT8', scale=0.06, zero=-3)
    y = m.tensor('y', [16, 16], 'INT8', scale=scale, zero=zero)
    m.op(kind, [x], [y], version=2)
    return x, y


@case
def logistic8(m):
    return table8(m, 'LOGISTIC', 1 / 256, -128)


@case
def tanh8(m):
    return table8(m, 'TANH', 1 / 128, 0)


def curves(m, kinds, type):
    """What becomes of every byte: by kind, or by kind and slope; scales of which one fits the other, so that halves turn up."""
    low = -128 if type == 'INT8' else 0
    x = m.tensor('x', [16, 16], type, scale=0.05, zero=low + 115)
    outs = []
    for i, kind in enumerate(kinds):
        for scale in (0.1, 0.0371):
            outs.append(m.tensor('y%d' % len(outs), [16, 16], type, scale=scale, zero=low + 90 + 7 * i))
            slope = kind if isinstance(kind, float) else None
            m.op('LEAKY_RELU' if slope else kind, [x], [outs[-1]], {0: ('f', slope)} if slope else None,
                 version=1 if kind == 'HARD_SWISH' else 2)
    return x, outs


@case
def curves8(m):
    return curves(m, ('HARD_SWISH', 0.25, 0.3, -0.5, 'EXP'), 'INT8')


@case
def curves_u8(m):
    return curves(m, ('HARD_SWISH', 0.25), 'UINT8')


@case
def relu8(m):
    return table8(m, 'RELU6', 0.031, -100)


@case
def requantize8(m):
    """i8 -> u8 and to another scale, through the middle of floats."""
    x = m.tensor('x', [16, 16], 'INT8', scale=0.06, zero=-3)
    y = m.tensor('y', [16, 16], 'UINT8', scale=0.045, zero=130)
    f = m.tensor('f', [16, 16])
    z = m.tensor('z', [16, 16], 'INT8', scale=0.017, zero=4)
    m.op('QUANTIZE', [x], [y])
    m.op('DEQUANTIZE', [x], [f], version=2)
    m.op('QUANTIZE', [f], [z])
    return x, [y, z]


@case
def prelu8(m):
    x = m.tensor('x', [4, 8, 2, 4], 'INT8', scale=0.06, zero=-3)
    y = m.tensor('y', [4, 8, 2, 4], 'INT8', scale=0.05, zero=-1)
    m.op('PRELU', [x, m.bytes8('slope', [1, 1, 4], 0.008, zero=11)], [y])
    return x, y


@case
def pools8(m):
    q = {'scale': 0.05, 'zero': -11}
    x = m.tensor('x', [1, 7, 6, 3], 'INT8', **q)
    y, z = m.tensor('y', [1, 4, 3, 3], 'INT8', **q), m.tensor('z', [1, 5, 5, 3], 'INT8', **q)
    m.op('AVERAGE_POOL_2D', [x], [y], {0: ('b', SAME), 1: ('i', 2), 2: ('i', 2), 3: ('i', 3), 4: ('i', 3)}, version=2)
    m.op('MAX_POOL_2D', [x], [z], {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1), 3: ('i', 2), 4: ('i', 3)}, version=2)
    return x, [y, z]


@case
def extremes8(m):
    q = {'scale': 0.05, 'zero': -11}
    x, w = m.tensor('x', [2, 3, 16], 'INT8', **q), m.tensor('w', [3, 1], 'INT8', **q)
    y, z = m.tensor('y', [2, 3, 16], 'INT8', **q), m.tensor('z', [2, 3, 16], 'INT8', **q)
    m.op('MAXIMUM', [x, w], [y], version=2)
    m.op('MINIMUM', [x, w], [z], version=2)
    return [x, w], [y, z]


@case
def softmax8(m):
    x = m.tensor('x', [8, 12], 'INT8', scale=0.07, zero=5)
    y = m.tensor('y', [8, 12], 'INT8', scale=1 / 256, zero=-128)
    m.op('SOFTMAX', [x], [y], {0: ('f', 1.0)}, version=2)
    return x, y


@case
def matmul8(m):
    """One side that runs and one that is constant, turned and not."""
    x, w = m.tensor('x', [2, 4, 30], 'INT8', scale=0.1, zero=5), m.tensor('w', [2, 6, 30], 'INT8', scale=0.02, zero=-7)
    y, z = m.tensor('y', [2, 4, 6], 'INT8', scale=0.5, zero=3), m.tensor('z', [2, 6, 5], 'INT8', scale=0.4, zero=-9)
    m.op('BATCH_MATMUL', [x, w], [y], {0: ('?', False), 1: ('?', True)}, version=2)
    m.op('BATCH_MATMUL', [y, m.bytes8('v', [4, 5], 0.01, zero=2)], [z], {0: ('?', True), 1: ('?', False)}, version=2)
    return [x, w], [y, z]


@case
def transpose_conv8(m):
    """A step that the window is a multiple of and one that it is not; the second is cut at one end."""
    x = m.tensor('x', [2, 4, 3, 7], 'INT8', scale=0.06, zero=-9)
    y, z = m.tensor('y', [2, 8, 9, 5], 'INT8', scale=0.2, zero=4), m.tensor('z', [2, 9, 7, 2], 'INT8', scale=0.3, zero=-4)
    scales = [0.004 * (1 + i / 3) for i in range(5)]
    m.op('TRANSPOSE_CONV', [m.ints('of_y', [2, 8, 9, 5]), m.bytes8('w', [5, 3, 4, 7], scales), x, m.bias(5, conv_scale(0.06, scales))],
         [y], {0: ('b', SAME), 1: ('i', 3), 2: ('i', 2), 3: ('b', 1)}, version=4)
    m.op('TRANSPOSE_CONV', [m.ints('of_z', [2, 9, 7, 2]), m.bytes8('v', [2, 3, 3, 7], [0.01, 0.02]), x], [z],
         {0: ('b', VALID), 1: ('i', 2), 2: ('i', 2)}, version=2)
    return x, [y, z]


def resized(m, type, **q):
    """The nearest and those between, by edges, by corners and by centres; one axis longer, one shorter, and the other way."""
    x = m.tensor('x', [1, 4, 6, 3], type, **q)
    outs = []
    for kind, field in (('RESIZE_BILINEAR', 2), ('RESIZE_NEAREST_NEIGHBOR', 0)):
        for mode in range(3):
            size = [7, 5] if mode < 2 else [3, 9]
            outs.append(m.tensor('y%d' % len(outs), [1, *size, 3], type, **q))
            m.op(kind, [x, m.ints('size%d' % len(outs), size)], [outs[-1]], {field: ('?', mode == 1), field + 1: ('?', mode == 2)},
                 version=3)
    return x, outs


@case
def resized8(m):
    return resized(m, 'INT8', scale=0.1, zero=-20)


@case
def resized_u8(m):
    return resized(m, 'UINT8', scale=0.1, zero=120)


@case
def choices8(m):
    """Where the largest and the least are, and what they are."""
    q = {'scale': 0.05, 'zero': -11}
    x = m.tensor('x', [2, 5, 60], 'INT8', **q)
    where, which = m.tensor('where', [2, 5], 'INT32'), m.tensor('which', [2, 60], 'INT32')
    at, line = m.tensor('at', [2, 5]), m.tensor('line', [2, 60])
    most, least = m.tensor('most', [2, 1, 60], 'INT8', **q), m.tensor('least', [2, 5], 'INT8', **q)
    m.op('ARG_MAX', [x, m.ints('a', -1)], [where], {0: ('b', 2)}, version=2)
    m.op('ARG_MIN', [x, m.ints('b', 1)], [which], {0: ('b', 2)}, version=2)
    m.op('CAST', [where], [at], {0: ('b', 2), 1: ('b', 0)})
    m.op('CAST', [which], [line], {0: ('b', 2), 1: ('b', 0)})
    m.op('REDUCE_MAX', [x, m.ints('c', [1])], [most], {0: ('?', True)}, version=2)
    m.op('REDUCE_MIN', [x, m.ints('d', [2])], [least], {0: ('?', False)}, version=2)
    return x, [at, line, most, least]


@case
def norm8(m):
    """Short and long rows; as i8 and as u8."""
    x, u = m.tensor('x', [2, 16, 8], 'INT8', scale=0.07, zero=5), m.tensor('u', [2, 16, 8], 'UINT8', scale=0.2, zero=100)
    y, z = m.tensor('y', [2, 16, 8], 'INT8', scale=1 / 128), m.tensor('z', [2, 16, 8], 'UINT8', scale=1 / 128, zero=128)
    v, w = m.tensor('v', [4, 64], 'INT8', scale=0.07, zero=5), m.tensor('w', [4, 64], 'INT8', scale=1 / 128)
    m.op('L2_NORMALIZATION', [x], [y], {0: ('b', 0)}, version=2)
    m.op('QUANTIZE', [x], [u])
    m.op('L2_NORMALIZATION', [u], [z], {0: ('b', 0)})
    m.op('RESHAPE', [x, m.ints('shape', [4, 64])], [v], {0: ('i', [4, 64])})
    m.op('L2_NORMALIZATION', [v], [w], {0: ('b', 0)}, version=2)
    return x, [y, z, w]


@case
def mean8(m):
    x = m.tensor('x', [2, 5, 7, 6], 'INT8', scale=0.07, zero=5)
    y = m.tensor('y', [2, 6], 'INT8', scale=0.021, zero=-9)
    z = m.tensor('z', [2, 5, 7, 1], 'INT8', scale=0.03, zero=2)
    m.op('MEAN', [x, m.ints('a', [1, 2])], [y], {0: ('b', 0)}, version=2)
    m.op('MEAN', [x, m.ints('b', [3])], [z], {0: ('b', 1)}, version=2)
    return x, [y, z]


@case
def mean_undeclared(m):
    """Axes that are named twice, and sizes of results that the file does not say right."""
    x = m.tensor('x', [2, 5, 7, 6], 'INT16', scale=0.07)
    y, z = m.tensor('y', [2, 6], 'INT16', scale=0.021), m.tensor('z', [1, 1, 1, 6], 'INT16', scale=0.03)
    m.op('MEAN', [x, m.ints('a', [1, 2, -2])], [y], {0: ('b', 0)}, version=3)
    m.op('MEAN', [x, m.ints('b', [2])], [z], {0: ('b', 1)}, version=3)
    return x, [y, z]


@case
def variable8(m):
    """What a streaming export has: variables with first values, history in front of a window."""
    m.signature = ({'frame': 0}, {'prob': 6})
    s = {'scale': 0.07, 'zero': -12}
    x = m.tensor('x_long:0', [1, 1, 1, 6], 'INT8', **s)
    handle = m.tensor('h', [], 'RESOURCE')
    old = m.tensor('old', [1, 3, 1, 6], 'INT8', **s)
    both = m.tensor('both', [1, 4, 1, 6], 'INT8', **s)
    kept = m.tensor('kept', [1, 3, 1, 6], 'INT8', **s)
    middle = m.tensor('middle', [1, 1, 1, 5], 'INT8', scale=0.1, zero=3)
    y = m.tensor('y_long:0', [1, 1, 1, 5], 'INT8', scale=1 / 256, zero=-128)
    begin, end, step = m.ints('begin', [0, 1, 0, 0]), m.ints('end', [0, 4, 0, 0]), m.ints('step', [1, 1, 1, 1])
    w, b = m.bytes8('w', [5, 4, 1, 6], [0.01] * 5), m.bias(5, conv_scale(0.07, [0.01] * 5))
    once = m.graph('once')
    inner = once.tensor('h2', [], 'RESOURCE')
    first = once.tensor('first', [1, 3, 1, 6], 'INT8', m.random.integers(-40, 40, [1, 3, 1, 6]).astype(np.int8), **s)
    once.op('VAR_HANDLE', [], [inner], {0: '', 1: 'history'})
    once.op('ASSIGN_VARIABLE', [inner, first], [])
    m.op('CALL_ONCE', [], [], {0: ('i', 1)})
    m.op('VAR_HANDLE', [], [handle], {0: '', 1: 'history'})
    m.op('READ_VARIABLE', [handle], [old])
    m.op('CONCATENATION', [old, x], [both], {0: ('i', 1)}, version=2)
    m.op('STRIDED_SLICE', [both, begin, end, step], [kept], {0: ('i', 13), 1: ('i', 13)}, version=2)
    m.op('ASSIGN_VARIABLE', [handle, kept], [])
    m.op('CONV_2D', [both, w, b], [middle], {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1)}, version=3)
    m.op('LOGISTIC', [middle], [y], version=2)
    return x, y


def svdf(m, type, weights, state, **options):
    """Two filters a unit over five frames; the state goes on from run to run."""
    q = type == 'INT8'
    x = m.tensor('x', [2, 12], type, **({'scale': 0.05, 'zero': 7} if q else {}))
    y = m.tensor('y', [2, 4], type, **({'scale': 0.02, 'zero': -128} if q else {}))
    feature = m.real('feature', [8, 12]) if weights == 'FLOAT32' else m.bytes8('feature', [8, 12], 0.01)
    if q:
        time = m.tensor('time', [8, 5], 'INT16', m.random.integers(-32767, 32768, [8, 5]).astype(np.int16), 1e-5)
        bias = m.bias(4, 1e-8)
    else:
        time = m.real('time', [8, 5]) if weights == 'FLOAT32' else m.bytes8('time', [8, 5], 0.02)
        bias = m.real('bias', [4])
    kept = m.tensor('kept', [2, 40], state, scale=0.001 if q else None, variable=True)
    m.op('SVDF', [x, feature, time, bias, kept], [y], {0: ('i', 2), 1: ('b', 1), 2: ('?', options.get('shifted', False))},
         version=3 if q else 4)
    return x, y


@case
def svdf8(m):
    return svdf(m, 'INT8', 'INT8', 'INT16')


def lstm(m, weights, shifted=False):
    """Three frames a run with all gates and a limited cell; then input and forget coupled, peepholes and a projection."""
    w = weights or (lambda name, shape: m.bytes8(name, shape, 0.005))
    x, y, z = m.tensor('x', [2, 3, 10]), m.tensor('y', [2, 3, 6]), m.tensor('z', [2, 3, 4])
    gates = [w('w%d' % i, [6, 10]) for i in range(4)] + [w('r%d' % i, [6, 6]) for i in range(4)]
    m.op('UNIDIRECTIONAL_SEQUENCE_LSTM',
         [x, *gates, -1, -1, -1, *(m.real('b%d' % i, [6]) for i in range(4)), -1, -1, m.tensor('h', [2, 6], variable=True),
          m.tensor('c', [2, 6], variable=True)], [y], {0: ('b', 4), 1: ('f', 0.5), 3: ('?', False), 4: ('?', shifted)}, version=3)
    gates = [-1, *(w('v%d' % i, [5, 6]) for i in range(3)), -1, *(w('s%d' % i, [5, 4]) for i in range(3))]
    m.op('UNIDIRECTIONAL_SEQUENCE_LSTM',
         [y, *gates, -1, w('p1', [5]), w('p2', [5]), -1, *(m.real('d%d' % i, [5]) for i in range(3)), w('down', [4, 5]),
          m.real('by', [4]), m.tensor('g', [2, 4], variable=True), m.tensor('e', [2, 5], variable=True)], [z],
         {0: ('b', 4), 1: ('f', 0.0), 2: ('f', 0.6), 3: ('?', False), 4: ('?', shifted)}, version=3)
    return x, [y, z]


def lstm_bytes(m, x, y, steps, n, power, clip, hidden):
    """steps: of x and of y."""
    ws, rs = [0.004 * (1 + i / 7) for i in range(4)], [0.006 * (1 + i / 5) for i in range(4)]
    k = m.tensors[x][0][1][2]
    gates = [m.bytes8('w%d' % i, [n, k], ws[i]) for i in range(4)] + [m.bytes8('r%d' % i, [n, n], rs[i]) for i in range(4)]
    bias = [m.tensor('b%d' % i, [n], 'INT32', m.random.integers(-3000, 3000, n).astype(np.int32), steps[0] * ws[i]) for i in range(4)]
    states = [m.tensor('h', [2, n], 'INT8', variable=True, **hidden), m.tensor('c', [2, n], 'INT16', scale=2.0 ** power, variable=True)]
    between = [m.tensor('i%d' % i, [], 'INT16', scale=2 ** -12) for i in range(4)] + [m.tensor('hidden', [], 'INT8', **hidden)]
    m.op('UNIDIRECTIONAL_SEQUENCE_LSTM', [x, *gates, -1, -1, -1, *bias, -1, -1, *states], [y],
         {0: ('b', 4), 1: ('f', clip), 3: ('?', False)}, version=3, between=between)


@case
def lstm8(m):
    """Three frames a run; a cell that is limited and one that goes far."""
    q = {'scale': 1 / 128, 'zero': 7}
    x, y, z = m.tensor('x', [2, 3, 10], 'INT8', scale=0.03, zero=-5), m.tensor('y', [2, 3, 12], 'INT8', **q), m.tensor('z', [2, 3, 6], 'INT8', scale=0.009)
    lstm_bytes(m, x, y, (0.03, 1 / 128), 12, -11, 1.5, q)
    lstm_bytes(m, y, z, (1 / 128, 0.009), 6, -9, 0.0, {'scale': 0.009})
    return x, [y, z]


# ---- 16 bits ----

def bias64(m, n, scale, type='INT64'):
    return m.tensor('bias', [n], type, m.random.integers(-900000, 900000, n).astype(type.lower()), scale)


@case
def conv16(m):
    """A window with padding, steps and Relu; sums of 64 bits, of 32 where the file says so, and of more than 2^31."""
    x = m.tensor('x', [2, 7, 3, 40], 'INT16', scale=1e-4)
    scales = [0.004 * (1 + i / 5) for i in range(6)]
    y, z = m.tensor('y', [2, 4, 3, 6], 'INT16', scale=0.002), m.tensor('z', [2, 6, 2, 6], 'INT16', scale=0.0011)
    m.op('CONV_2D', [x, m.bytes8('w', [6, 3, 3, 40], scales), bias64(m, 6, conv_scale(1e-4, scales))], [y],
         {0: ('b', SAME), 1: ('i', 1), 2: ('i', 2), 3: ('b', 1), 4: ('i', 1), 5: ('i', 1)}, version=4)
    m.op('CONV_2D', [x, m.bytes8('v', [6, 2, 2, 40], scales), bias64(m, 6, conv_scale(1e-4, scales), 'INT32')], [z],
         {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1), 3: ('b', 0), 4: ('i', 1), 5: ('i', 1), 6: ('b', 2)}, version=8)
    d, scales = m.tensor('d', [2, 7, 3, 80], 'INT16', scale=0.001), [0.01 * (1 + i % 7 / 3) for i in range(80)]
    m.op('DEPTHWISE_CONV_2D', [x, m.bytes8('u', [1, 3, 2, 80], scales, axis=3), bias64(m, 80, conv_scale(1e-4, scales))], [d],
         {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('i', 2), 4: ('b', 3), 5: ('i', 1), 6: ('i', 1)}, version=5)
    t = m.tensor('t', [2, 14, 6, 5], 'INT16', scale=0.0015)
    m.op('TRANSPOSE_CONV', [m.ints('of_t', [2, 14, 6, 5]), m.bytes8('s', [5, 3, 3, 40], scales[:5]), x, bias64(m, 5, conv_scale(1e-4, scales[:5]))],
         [t], {0: ('b', SAME), 1: ('i', 2), 2: ('i', 2)}, version=3)
    return x, [y, z, d, t]


@case
def full16(m):
    """One scale and one an output, with biases of 64 and 32 bits and without; more products than 32 bits hold."""
    x = m.tensor('x', [3, 700], 'INT16', scale=1e-4)
    ones = m.tensor('ones', [8, 700], 'INT8', np.full((8, 700), 127, np.int8), 0.01)
    scales = [0.004 * (1 + i / 5) for i in range(8)]
    y = [m.tensor('y%d' % i, [3, 8], 'INT16', scale=s) for i, s in enumerate((0.004, 0.02, 0.003, 0.01))]
    most = m.tensor('most', [3, 700], 'INT16', scale=1e-4)
    m.op('MAXIMUM', [x, m.tensor('low', [1], 'INT16', np.array([30000], np.int16), 1e-4)], [most])
    m.op('FULLY_CONNECTED', [x, m.bytes8('w', [8, 700], 0.011), bias64(m, 8, float(np.float32(1e-4) * np.float32(0.011)))], [y[0]],
         {0: ('b', 0)}, version=7)
    m.op('FULLY_CONNECTED', [most, ones, -1], [y[1]], {0: ('b', 0)}, version=7)
    m.op('FULLY_CONNECTED', [x, m.bytes8('v', [8, 700], scales), bias64(m, 8, conv_scale(1e-4, scales), 'INT32')], [y[2]],
         {0: ('b', 1), 4: ('b', 2)}, version=11)
    m.op('FULLY_CONNECTED', [x, m.bytes8('u', [8, 700], scales), -1], [y[3]], {0: ('b', 0)}, version=9)
    return x, y


@case
def full16_wide(m):
    """Sums, mostly of biases, beyond what 64 bits hold of their product with a factor."""
    x = m.tensor('x', [3, 4], 'INT16', scale=1e-4)
    sums = [s << k for k in range(31, 40) for s in (1, -1)] + [(1 << 33) + 12345, -(1 << 35) - 54321]
    b = m.tensor('b', [len(sums)], 'INT64', np.array(sums, np.int64), scale=float(np.float32(1e-4) * np.float32(0.011)))
    y = [m.tensor('y%d' % i, [3, len(sums)], 'INT16', scale=s) for i, s in enumerate((20.1, 0.31, 3e-4))]
    for i in range(3):
        m.op('FULLY_CONNECTED', [x, m.bytes8('w%d' % i, [len(sums), 4], 0.011), b], [y[i]], {0: ('b', 0)}, version=7)
    return x, y


@case
def binary16(m):
    """Any scales, and powers of two, of which one operand is shifted."""
    x, w = m.tensor('x', [4, 60], 'INT16', scale=0.0011), m.tensor('w', [4, 1], 'INT16', scale=0.0004)
    outs = [m.tensor(k, [4, 60], 'INT16', scale=s) for k, s in (('ADD', 0.0013), ('SUB', 0.0009), ('MUL', 0.009))]
    for kind, y in zip(('ADD', 'SUB', 'MUL'), outs):
        m.op(kind, [x, w], [y], {0: ('b', 0), 1: ('?', False)} if kind != 'MUL' else {0: ('b', 1)}, version=4 if kind == 'MUL' else 5)
    p, q = m.tensor('p', [4, 60], 'INT16', scale=2 ** -10), m.tensor('q', [4, 60], 'INT16', scale=2 ** -12)
    m.op('QUANTIZE', [x], [p], version=3)
    m.op('QUANTIZE', [x], [q], version=3)
    for kind, a, b in (('ADD', p, q), ('SUB', p, q), ('SUB', q, p)):
        outs.append(m.tensor('t%d' % len(outs), [4, 60], 'INT16', scale=2 ** -10))
        m.op(kind, [a, b], [outs[-1]], {0: ('b', 0)}, version=2)
    return [x, w], outs


@case
def curves16(m):
    """From a scale of its own, a power of two, and one that leaves the ends to the last point."""
    x, outs = m.tensor('x', [2, 128], 'INT16', scale=0.0003), []
    for scale in (0.0003, 2.0 ** -12, 0.01):
        z = m.tensor('z%d' % len(outs), [2, 128], 'INT16', scale=scale)
        m.op('QUANTIZE', [x], [z], version=3)
        for kind, step in (('LOGISTIC', 2 ** -15), ('TANH', 2 ** -15), ('LEAKY_RELU', scale * 0.7), ('RELU', scale * 1.3), ('RELU6', scale)):
            outs.append(m.tensor('y%d' % len(outs), [2, 128], 'INT16', scale=step))
            m.op(kind, [z], [outs[-1]], {0: ('f', 0.3)} if kind == 'LEAKY_RELU' else None, version=3 if kind in ('LOGISTIC', 'TANH') else 2)
    return x, outs


@case
def softmax16(m):
    """Rows of which few and of which many count."""
    x, y = m.tensor('x', [8, 30], 'INT16', scale=0.0003), m.tensor('y', [8, 30], 'INT16', scale=1 / 32768)
    z, v = m.tensor('z', [240], 'INT16', scale=0.0003), m.tensor('v', [240], 'INT16', scale=1 / 32768)
    m.op('SOFTMAX', [x], [y], {0: ('f', 1.0)}, version=3)
    m.op('RESHAPE', [x, m.ints('shape', [240])], [z], {0: ('i', [240])})
    m.op('SOFTMAX', [z], [v], {0: ('f', 0.25)}, version=3)
    return x, [y, v]


@case
def windows16(m):
    """Pools, means, extremes, what only moves, and the ways to bytes and back."""
    q = {'scale': 0.0002}
    x, w = m.tensor('x', [1, 7, 6, 3], 'INT16', **q), m.tensor('w', [1, 7, 6, 2], 'INT16', **q)
    shapes = {'mean': [1, 4, 3, 3], 'most': [1, 5, 5, 3], 'all': [1, 3], 'both': [1, 7, 6, 5], 'pad': [1, 8, 6, 3], 'part': [1, 3, 6, 3],
              'near': [1, 3, 9, 3], 'least': [1, 6, 3]}
    y = {k: m.tensor(k, s, 'INT16', scale=0.0003 if k == 'all' else 0.0002) for k, s in shapes.items()}
    m.op('AVERAGE_POOL_2D', [x], [y['mean']], {0: ('b', SAME), 1: ('i', 2), 2: ('i', 2), 3: ('i', 3), 4: ('i', 3)}, version=3)
    m.op('MAX_POOL_2D', [x], [y['most']], {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1), 3: ('i', 2), 4: ('i', 3), 5: ('b', 1)}, version=3)
    m.op('MEAN', [x, m.ints('a', [1, 2])], [y['all']], {0: ('?', False)}, version=3)
    m.op('REDUCE_MIN', [x, m.ints('b', [1])], [y['least']], {0: ('?', False)}, version=3)
    m.op('CONCATENATION', [x, w], [y['both']], {0: ('i', 3)}, version=3)
    m.op('PAD', [x, m.ints('pads', [[0, 0], [1, 0], [0, 0], [0, 0]])], [y['pad']], version=2)
    m.op('STRIDED_SLICE', [x, m.ints('begin', [0, 1, 0, 0]), m.ints('end', [1, 7, 6, 3]), m.ints('step', [1, 2, 1, 1])], [y['part']],
         {0: ('i', 0), 1: ('i', 0)}, version=4)
    m.op('RESIZE_NEAREST_NEIGHBOR', [x, m.ints('size', [3, 9])], [y['near']], {0: ('?', False), 1: ('?', False)}, version=4)
    u, f, z = m.tensor('u', [1, 7, 6, 3], 'INT8', scale=0.03, zero=5), m.tensor('f', [1, 7, 6, 3]), m.tensor('z', [1, 7, 6, 3], 'INT16', scale=0.0005)
    back = m.tensor('back', [1, 7, 6, 3], 'INT16', scale=0.001)
    m.op('QUANTIZE', [x], [u], version=3)
    m.op('QUANTIZE', [u], [back], version=3)
    m.op('DEQUANTIZE', [x], [f], version=3)
    m.op('QUANTIZE', [f], [z], version=3)
    return [x, w], [*y.values(), u, z, back]


# ---- floats by bytes ----

@case
def mixed_svdf(m):
    return svdf(m, 'FLOAT32', 'INT8', 'FLOAT32')


@case
def mixed_svdf_shifted(m):
    return svdf(m, 'FLOAT32', 'INT8', 'FLOAT32', shifted=True)


@case
def mixed_lstm(m):
    return lstm(m, None)


@case
def mixed_lstm_shifted(m):
    return lstm(m, None, shifted=True)


@case
def mixed_full(m):
    x = m.tensor('x', [3, 40])
    w = m.bytes8('w', [8, 40], 0.02)
    y = m.tensor('y', [3, 8])
    m.op('FULLY_CONNECTED', [x, w, m.real('b', [8])], [y], {0: ('b', 1)}, version=3)
    return x, y


@case
def mixed_matmul(m):
    """Rows around 0 and around a zero of their own; weights turned and not."""
    x, y, z = m.tensor('x', [2, 3, 40]), m.tensor('y', [2, 3, 8]), m.tensor('z', [2, 3, 5])
    m.op('BATCH_MATMUL', [x, m.bytes8('w', [40, 8], 0.02)], [y], {0: ('?', False), 1: ('?', False), 2: ('?', False)}, version=4)
    m.op('BATCH_MATMUL', [y, m.bytes8('v', [5, 8], 0.01)], [z], {0: ('?', False), 1: ('?', True), 2: ('?', True)}, version=4)
    return x, [y, z]


@case
def mixed_conv(m):
    x = m.tensor('x', [2, 5, 1, 12])
    w = m.bytes8('w', [7, 3, 1, 12], 0.02)
    y = m.tensor('y', [2, 5, 1, 7])
    m.op('CONV_2D', [x, w, m.real('b', [7])], [y], {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('b', 0)}, version=2)
    return x, y


@case
def mixed_conv_channels(m):
    """Scales a channel: rows are made bytes around a zero point of their own, which pads are, too."""
    x, y = m.tensor('x', [2, 5, 3, 12]), m.tensor('y', [2, 5, 3, 7])
    m.op('CONV_2D', [x, m.bytes8('w', [7, 3, 2, 12], [0.001 * (1 + i) for i in range(7)]), m.real('b', [7])], [y],
         {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('b', 1)}, version=5)
    return x, y


@case
def mixed_depthwise(m):
    x, y = m.tensor('x', [2, 6, 4, 3]), m.tensor('y', [2, 6, 4, 6])
    m.op('DEPTHWISE_CONV_2D', [x, m.bytes8('w', [1, 3, 2, 6], [0.002 * (1 + i) for i in range(6)], axis=3), m.real('b', [6])], [y],
         {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('i', 2), 5: ('i', 1), 6: ('i', 1)}, version=6)
    return x, y


@case
def mixed_full_shifted(m):
    x, y = m.tensor('x', [3, 40]), m.tensor('y', [3, 8])
    m.op('FULLY_CONNECTED', [x, m.bytes8('w', [8, 40], 0.02), m.real('b', [8])], [y], {0: ('b', 0), 3: ('?', True)}, version=9)
    return x, y


# ---- floats ----

@case
def conv(m):
    x = m.tensor('x', [2, 7, 5, 3])
    y = m.tensor('y', [2, 4, 5, 6])
    m.op('CONV_2D', [x, m.real('w', [6, 3, 2, 3]), m.real('b', [6])], [y],
         {0: ('b', SAME), 1: ('i', 1), 2: ('i', 2), 3: ('b', 3)})
    return x, y


@case
def depthwise(m):
    x = m.tensor('x', [1, 9, 4, 3])
    y = m.tensor('y', [1, 5, 3, 6])
    m.op('DEPTHWISE_CONV_2D', [x, m.real('w', [1, 3, 2, 6]), m.real('b', [6])], [y],
         {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1), 3: ('i', 2), 5: ('i', 1), 6: ('i', 2)}, version=2)
    return x, y


def tie_scales(m, divided=False):
    """Two scales and that of the result: what becomes of them is half as floats, and not as doubles."""
    while True:
        a, b = (np.float32(2 ** v) for v in m.random.uniform(-7, -4, 2))
        if divided:
            a = np.float32(np.float32(1.5) * b)
            if a / b == np.float32(1.5) and float(a) / float(b) != 1.5:
                return float(a), float(b)
        elif float(a * b) != float(a) * float(b):
            return float(a), float(b), float(a * b * np.float32(2))


@case
def ties_of_floats(m):
    """Where the reference multiplies or divides scales as floats: convolutions of u8, products of i8, RELU."""
    outputs = []
    inputs = []
    for i in range(3):
        sx, sw, sy = tie_scales(m)
        x = m.tensor(f'x{i}', [1, 9, 9, 3], 'UINT8', scale=sx, zero=128)
        inputs.append(x)

        def weights(shape):
            return m.tensor('w', shape, 'UINT8', m.random.integers(125, 132, shape).astype(np.uint8), sw, zero=128)

        y = [m.tensor(f'{n}{i}', [1, 9, 9, c], 'UINT8', scale=sy, zero=128) for n, c in (('conv', 5), ('turned', 4))]
        d = m.tensor(f'depthwise{i}', [1, 9, 9, 3], 'UINT8', scale=sy, zero=128)
        zeros = [m.tensor('bias', [n], 'INT32', np.zeros(n, np.int32), float(np.float32(sx) * np.float32(sw))) for n in (5, 3)]
        m.op('CONV_2D', [x, weights([5, 1, 1, 3]), zeros[0]], [y[0]], {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1)})
        m.op('DEPTHWISE_CONV_2D', [x, weights([1, 1, 1, 3]), zeros[1]], [d],
             {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1), 3: ('i', 1)})
        m.op('TRANSPOSE_CONV', [m.ints('to', [1, 9, 9, 4]), weights([4, 1, 1, 3]), x], [y[1]],
             {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1)})
        a = m.tensor(f'a{i}', [2, 9, 3], 'INT8', scale=sx)
        z = m.tensor(f'product{i}', [2, 9, 7], 'INT8', scale=sy)
        v = m.tensor('v', [3, 7], 'INT8', m.random.integers(-3, 4, (3, 7)).astype(np.int8), sw)
        m.op('BATCH_MATMUL', [a, v], [z], version=2)
        of_r, of_s = tie_scales(m, True)
        r, s = m.tensor(f'r{i}', [64], 'INT8', scale=of_r), m.tensor(f'relu{i}', [64], 'INT8', scale=of_s)
        m.op('RELU', [r], [s], version=2)
        inputs += [a, r]
        outputs += [*y, d, z, s]
    return inputs, outputs


@case
def joined_u8(m):
    """Parts of other scales and zeros than the whole."""
    parts = [m.tensor(f'x{i}', [2, 3 + i, 16], 'UINT8', scale=s, zero=z) for i, (s, z) in enumerate(((0.05, 128), (0.02, 3), (0.07, 255)))]
    y = m.tensor('y', [2, 12, 16], 'UINT8', scale=0.05, zero=128)
    m.op('CONCATENATION', parts, [y], {0: ('i', 1)})
    return parts, y


@case
def transpose_conv_gaps(m):
    """Windows that are shorter than their step: between them, and behind the last one, there is the bias alone."""
    x, q = m.tensor('x', [1, 4, 3, 2]), m.tensor('q', [1, 4, 3, 2], 'INT8', scale=0.06, zero=-9)
    y, z = m.tensor('y', [1, 12, 6, 3]), m.tensor('z', [1, 12, 6, 3], 'INT8', scale=0.02, zero=4)
    to = m.ints('to', [1, 12, 6, 3])
    how = {0: ('b', SAME), 1: ('i', 2), 2: ('i', 3)}
    m.op('TRANSPOSE_CONV', [to, m.real('w', [3, 1, 1, 2]), x, m.real('b', [3])], [y], how, version=3)
    scales = [0.004, 0.01, 0.007]
    m.op('TRANSPOSE_CONV', [to, m.bytes8('v', [3, 1, 1, 2], scales), q, m.bias(3, conv_scale(0.06, scales))], [z], how, version=4)
    return [x, q], [y, z]


@case
def transpose_conv(m):
    x = m.tensor('x', [1, 4, 3, 5])
    y = m.tensor('y', [1, 8, 6, 2])
    m.op('TRANSPOSE_CONV', [m.ints('shape', [1, 8, 6, 2]), m.real('w', [2, 3, 3, 5]), x], [y],
         {0: ('b', SAME), 1: ('i', 2), 2: ('i', 2)})
    return x, y


@case
def svdf_reals(m):
    return svdf(m, 'FLOAT32', 'FLOAT32', 'FLOAT32')


@case
def lstm_reals(m):
    return lstm(m, m.real)


@case
def full(m):
    x = m.tensor('x', [2, 3, 10])
    y = m.tensor('y', [6, 8])
    m.op('FULLY_CONNECTED', [x, m.real('w', [8, 10]), m.real('b', [8])], [y], {0: ('b', 1)})
    return x, y


@case
def matmul(m):
    x, w = m.tensor('x', [2, 4, 5]), m.tensor('w', [2, 6, 5])
    y = m.tensor('y', [2, 4, 6])
    m.op('BATCH_MATMUL', [x, w], [y], {0: ('b', 0), 1: ('b', 1)})
    return [x, w], y


@case
def pools(m):
    x = m.tensor('x', [1, 7, 6, 3])
    y, z = m.tensor('y', [1, 4, 3, 3]), m.tensor('z', [1, 5, 5, 3])
    m.op('AVERAGE_POOL_2D', [x], [y], {0: ('b', SAME), 1: ('i', 2), 2: ('i', 2), 3: ('i', 3), 4: ('i', 3)})
    m.op('MAX_POOL_2D', [x], [z], {0: ('b', VALID), 1: ('i', 1), 2: ('i', 1), 3: ('i', 2), 4: ('i', 3)})
    return x, [y, z]


@case
def elements(m):
    """What is done to numbers one by one."""
    x, w = m.tensor('x', [2, 30]), m.tensor('w', [2, 30])
    outs = []
    for kind in ('ADD', 'SUB', 'MUL', 'MAXIMUM', 'MINIMUM', 'SQUARED_DIFFERENCE'):
        outs.append(m.tensor(kind, [2, 30]))
        m.op(kind, [x, w], [outs[-1]], {0: ('b', 0)} if kind in ('ADD', 'SUB', 'MUL') else None)
    a = m.tensor('ABS', [2, 30])
    m.op('ABS', [x], [a])
    for kind in ('LOGISTIC', 'TANH', 'RELU', 'RELU6', 'RELU_N1_TO_1', 'EXP', 'NEG', 'FLOOR', 'SQUARE', 'SIN',
                 'COS', 'HARD_SWISH'):
        outs.append(m.tensor(kind, [2, 30]))
        m.op(kind, [x], [outs[-1]])
    for kind in ('SQRT', 'LOG', 'RSQRT'):
        outs.append(m.tensor(kind, [2, 30]))
        m.op(kind, [a], [outs[-1]])
    outs.append(m.tensor('LEAKY', [2, 30]))
    m.op('LEAKY_RELU', [x], [outs[-1]], {0: ('f', 0.125)})
    outs.append(m.tensor('PRELU', [2, 30]))
    m.op('PRELU', [x, m.real('slope', [1, 30])], [outs[-1]])
    return [x, w], outs


@case
def along(m):
    """Softmax, sums and means."""
    x = m.tensor('x', [2, 3, 7])
    soft, log = m.tensor('soft', [2, 3, 7]), m.tensor('log', [2, 3, 7])
    mean, total, most = m.tensor('mean', [2, 1, 7]), m.tensor('sum', [3]), m.tensor('max', [2, 3])
    m.op('SOFTMAX', [x], [soft], {0: ('f', 0.5)})
    m.op('LOG_SOFTMAX', [x], [log])
    m.op('MEAN', [x, m.ints('a', [1])], [mean], {0: ('b', 1)})
    m.op('SUM', [x, m.ints('b', [0, 2])], [total], {0: ('b', 0)})
    m.op('REDUCE_MAX', [x, m.ints('c', [-1])], [most], {0: ('b', 0)})
    return x, [soft, log, mean, total, most]


@case
def resized_reals(m):
    return resized(m, 'FLOAT32')


@case
def rows(m):
    """Over their lengths, and running sums."""
    x = m.tensor('x', [2, 5, 6])
    unit, sums, back = m.tensor('unit', [2, 5, 6]), m.tensor('sums', [2, 5, 6]), m.tensor('back', [2, 5, 6])
    m.op('L2_NORMALIZATION', [x], [unit], {0: ('b', 0)})
    m.op('CUMSUM', [x, m.ints('a', 1)], [sums], {0: ('?', False), 1: ('?', False)})
    m.op('CUMSUM', [x, m.ints('b', -1)], [back], {0: ('?', True), 1: ('?', True)})
    return x, [unit, sums, back]


@case
def moves(m):
    """What only moves elements."""
    x = m.tensor('x', [2, 3, 4])
    t, p, q = m.tensor('t', [4, 2, 3]), m.tensor('p', [3, 4, 6]), m.tensor('q', [2, 5, 4])
    m.op('TRANSPOSE', [x, m.ints('perm', [2, 0, 1])], [t])
    m.op('PAD', [x, m.ints('pads', [[0, 1], [1, 0], [2, 0]])], [p])
    m.op('MIRROR_PAD', [x, m.ints('mirror', [[0, 0], [1, 1], [0, 0]])], [q], {0: ('b', 0)})
    a, b, c = m.tensor('a', [2, 1, 4]), m.tensor('b', [2, 2, 4]), m.tensor('c', [2, 3, 4])
    m.op('SPLIT_V', [x, m.ints('sizes', [1, -1]), m.ints('axis', 1)], [a, b], {0: ('i', 2)})
    m.op('CONCATENATION', [b, a], [c], {0: ('i', 1), 1: ('b', 0)})
    u = [m.tensor('u%d' % i, [2, 4]) for i in range(3)]
    m.op('UNPACK', [x], u, {0: ('i', 3), 1: ('i', 1)})
    k = m.tensor('k', [2, 4, 2])
    m.op('PACK', [u[2], u[0]], [k], {0: ('i', 2), 1: ('i', -1)})
    s, v = m.tensor('s', [1, 3, 2]), m.tensor('v', [3, 2])
    m.op('SLICE', [x, m.ints('from', [1, 0, 1]), m.ints('n', [-1, 3, 2])], [s])
    m.op('STRIDED_SLICE', [x, m.ints('begin', [1, 2, 3]), m.ints('end', [2, -4, -5]), m.ints('step', [1, -1, -2])], [v],
         {0: ('i', 0), 1: ('i', 2), 4: ('i', 1)})
    g, r = m.tensor('g', [2, 2, 4]), m.tensor('r', [6, 4])
    m.op('GATHER', [x, m.ints('which', [2, 0])], [g], {0: ('i', 1), 1: ('i', 0)})
    m.op('RESHAPE', [x, m.ints('shape', [6, 4])], [r], {0: ('i', [6, 4])})
    return x, [t, p, q, c, k, s, v, g, r]


# ---- running ----

def as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def reals(detail, x):
    if x.dtype not in (np.int8, np.uint8, np.int16):
        return x.astype(np.float32)
    q = detail['quantization_parameters']
    return (x.astype(np.float32) - np.float32(q['zero_points'][0])) * np.float32(q['scales'][0])


def numbers(random, detail, run):
    if detail['dtype'] == np.float32:
        return random.standard_normal(detail['shape']).astype(np.float32)
    i = np.iinfo(detail['dtype'])
    if run == 0 and np.prod(detail['shape']) == 256:
        return np.linspace(i.min, i.max, 256).round().astype(detail['dtype']).reshape(detail['shape'])
    return random.integers(i.min, i.max + 1, detail['shape']).astype(detail['dtype'])


def make(name):
    m = Case(name)
    inputs, outputs = (as_list(x) for x in CASES[name](m))
    data = m.bytes(inputs, outputs)
    runner = Interpreter(model_content=data, num_threads=1, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    runner.allocate_tensors()
    detail = {d['index']: d for d in runner.get_input_details() + runner.get_output_details()}
    with open(os.path.join(HERE, 'refs', name + '.ref'), 'wb') as f:
        for run in range(RUNS):
            for i in inputs:
                x = numbers(m.random, detail[i], run)
                runner.set_tensor(i, x)
                f.write(reals(detail[i], x).tobytes())
            runner.invoke()
            for o in outputs:
                f.write(reals(detail[o], runner.get_tensor(o)).tobytes())
    with open(os.path.join(HERE, 'nets', name + '.tflite'), 'wb') as f:
        f.write(data)


def main():
    for name in sys.argv[1:] or CASES:
        make(name)


if __name__ == '__main__':
    main()
