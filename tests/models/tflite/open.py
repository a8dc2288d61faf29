#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes nets/open*.tflite, of which the file leaves the axis of rows open, their twins of seven rows, nets/*_7.tflite, and
bad/open_*.tflite: files that want a size there, or whose signature is none. tests/models/tflite.c has the words of each."""
import os

import numpy as np

from flat import Model

HERE = os.path.dirname(os.path.abspath(__file__))
SAME, VALID = 0, 1


class Net(Model):
    """rows: of the input; None: open."""

    def __init__(self, rows):
        super().__init__()
        self.rows, self.random = rows, np.random.default_rng(7)

    def rowed(self, name, shape, *args, **more):
        """A tensor whose axis 1 is that of the rows."""
        if self.rows is None:
            more['signature'] = [-1, -1, *shape[2:]]
        return self.tensor(name, [1, self.rows or 1, *shape[2:]], *args, **more)

    def real(self, name, shape):
        return self.tensor(name, shape, data=(self.random.standard_normal(shape) / 2).astype(np.float32))

    def save(self, name, inputs, outputs):
        self.write(os.path.join(HERE, name + '.tflite'), inputs=inputs, outputs=outputs)


def floats(rows, name):
    """A window that looks one row ahead, a product of each row."""
    m = Net(rows)
    x = m.rowed('x', [1, 0, 2, 4])
    c = m.rowed('c', [1, 0, 2, 6])
    m.op('CONV_2D', [x, m.real('w', [6, 3, 1, 4]), m.real('b', [6])], [c],
         {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('b', 1), 4: ('i', 1), 5: ('i', 1)})
    r = m.rowed('r', [1, 0, 12])
    m.op('RESHAPE', [c], [r], {})
    y = m.rowed('y', [1, 0, 5])
    m.op('FULLY_CONNECTED', [r, m.real('v', [5, 12]), m.real('d', [5])], [y], {0: ('b', 0), 2: ('?', True)}, version=4)
    m.save(name, [x], [y])


def whole(rows, name):
    """Bytes: a window over rows, the mean of each row's columns."""
    m = Net(rows)
    x = m.rowed('x', [1, 0, 3, 4], 'INT8', scale=0.05, zero=3)
    scales = [0.01 * (1 + i) for i in range(6)]
    w = m.tensor('w', [6, 2, 1, 4], 'INT8', m.random.integers(-127, 128, [6, 2, 1, 4]).astype(np.int8), scales)
    b = m.tensor('b', [6], 'INT32', m.random.integers(-900, 900, 6).astype(np.int32),
                 [float(np.float32(0.05) * np.float32(s)) for s in scales])
    c = m.rowed('c', [1, 0, 3, 6], 'INT8', scale=0.2, zero=-5)
    m.op('CONV_2D', [x, w, b], [c], {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('b', 0), 4: ('i', 1), 5: ('i', 1)}, version=3)
    y = m.rowed('y', [1, 0, 6], 'INT8', scale=0.1, zero=1)
    m.op('MEAN', [c, m.tensor('axes', [1], 'INT32', np.array([2], np.int32))], [y], {0: ('?', False)}, version=2)
    m.save(name, [x], [y])


def windows(rows, name):
    """Bytes: windows two rows apart, channels of their own three apart, the largest of two, a sum with what is later, each row's
    product of floats around a zero of its own."""
    m = Net(rows)
    bytes8 = lambda t, s, scale, **more: m.tensor(t, s, 'INT8', m.random.integers(-127, 128, s).astype(np.int8), scale, **more)
    q = {'scale': 0.1, 'zero': -7}
    after = lambda n: None if rows is None else n
    x = m.rowed('x', [1, 0, 2, 4], 'INT8', scale=0.05, zero=3)
    d = m.rowed('d', [1, 0, 2, 4], 'INT8', **q)
    m.op('DEPTHWISE_CONV_2D', [x, bytes8('w', [1, 3, 1, 4], [0.01] * 4, axis=3), m.tensor('b', [4], 'INT32', np.full(4, 9, np.int32), [0.0005] * 4)],
         [d], {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('i', 1), 4: ('b', 0), 5: ('i', 1), 6: ('i', 3)}, version=3)
    e = m.rowed('e', [1, 0, 2, 4], 'INT8', **q)
    m.op('MAX_POOL_2D', [d], [e], {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('i', 1), 4: ('i', 2), 5: ('b', 0)}, version=2)
    s = m.rowed('s', [1, 0, 2, 4], 'INT8', scale=0.15, zero=5)
    m.op('ADD', [x, e], [s], {0: ('b', 1)}, version=2)
    m.rows = after(3)
    c = m.rowed('c', [1, 0, 1, 6], 'INT8', scale=0.3, zero=-5)
    m.op('CONV_2D', [s, bytes8('v', [6, 2, 2, 4], [0.01 * (1 + i) for i in range(6)]), m.tensor('a', [6], 'INT32', np.full(6, 9, np.int32), [0.001] * 6)],
         [c], {0: ('b', VALID), 1: ('i', 1), 2: ('i', 2), 3: ('b', 0), 4: ('i', 1), 5: ('i', 1)}, version=3)
    f, y = m.rowed('f', [1, 0, 1, 6]), m.rowed('y', [1, 0, 1, 5])
    m.op('DEQUANTIZE', [c], [f], version=2)
    m.op('FULLY_CONNECTED', [f, bytes8('u', [5, 6], 0.02), -1], [y], {0: ('b', 0), 2: ('?', True), 3: ('?', True)}, version=9)
    m.save(name, [x], [y])


def shorts(rows, name):
    """16 bits: a window that looks ahead, a pool, what is looked up, a sum with what is later, a product and a softmax of each row."""
    m = Net(rows)
    bytes8 = lambda t, s, scale, **more: m.tensor(t, s, 'INT8', m.random.integers(-127, 128, s).astype(np.int8), scale, **more)
    x = m.rowed('x', [1, 0, 2, 4], 'INT16', scale=0.0001)
    c, p, t, s = (m.rowed(n, [1, 0, 2, 4], 'INT16', scale=z) for n, z in (('c', 0.0003), ('p', 0.0003), ('t', 2 ** -15), ('s', 0.0001)))
    m.op('CONV_2D', [x, bytes8('w', [4, 3, 1, 4], [0.01] * 4), m.tensor('b', [4], 'INT64', np.full(4, -900, np.int64), [1e-6] * 4)], [c],
         {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('b', 0), 4: ('i', 1), 5: ('i', 1)}, version=4)
    m.op('MAX_POOL_2D', [c], [p], {0: ('b', SAME), 1: ('i', 1), 2: ('i', 1), 3: ('i', 1), 4: ('i', 2), 5: ('b', 0)}, version=3)
    m.op('TANH', [p], [t], version=3)
    m.op('ADD', [x, t], [s], {0: ('b', 0)}, version=2)
    r, y, z = m.rowed('r', [1, 0, 8], 'INT16', scale=0.0001), m.rowed('v', [1, 0, 5], 'INT16', scale=0.0002), m.rowed('y', [1, 0, 5], 'INT16', scale=1 / 32768)
    m.op('RESHAPE', [s], [r], {})
    m.op('FULLY_CONNECTED', [r, bytes8('u', [5, 8], 0.02), -1], [y], {0: ('b', 0), 2: ('?', True)}, version=9)
    m.op('SOFTMAX', [y], [z], {0: ('f', 1.0)}, version=3)
    m.save(name, [x], [z])


def cell(rows, name):
    """An LSTM along the rows."""
    m = Net(rows)
    x, y = m.rowed('x', [1, 0, 12]), m.rowed('y', [1, 0, 5])
    gates = [m.real('w%d' % i, [5, 12]) for i in range(4)] + [m.real('r%d' % i, [5, 5]) for i in range(4)]
    states = [m.tensor(t, [1, 5], variable=True) for t in ('h', 'c')]
    m.op('UNIDIRECTIONAL_SEQUENCE_LSTM', [x, *gates, -1, -1, -1, *(m.real('b%d' % i, [5]) for i in range(4)), -1, -1, *states], [y],
         {0: ('b', 4), 1: ('f', 10.0), 3: ('?', False)})
    m.save(name, [x], [y])


def cell8(rows, name):
    """The same of bytes, with gates and a cell of 16 bits."""
    m = Net(rows)
    bytes8 = lambda t, s, scale: m.tensor(t, s, 'INT8', m.random.integers(-127, 128, s).astype(np.int8), scale)
    x, y = m.rowed('x', [1, 0, 12], 'INT8', scale=0.03, zero=5), m.rowed('y', [1, 0, 5], 'INT8', scale=1 / 128, zero=-9)
    gates = [bytes8('w%d' % i, [5, 12], 0.01) for i in range(4)] + [bytes8('r%d' % i, [5, 5], 0.02) for i in range(4)]
    bias = [m.tensor('b%d' % i, [5], 'INT32', np.full(5, 400 * i, np.int32), 0.0003) for i in range(4)]
    states = [m.tensor('h', [1, 5], 'INT8', scale=1 / 128, zero=-9, variable=True), m.tensor('c', [1, 5], 'INT16', scale=2 ** -11, variable=True)]
    between = [m.tensor('i%d' % i, [], 'INT16', scale=2 ** -12) for i in range(4)] + [m.tensor('hidden', [], 'INT8', scale=1 / 128, zero=-9)]
    m.op('UNIDIRECTIONAL_SEQUENCE_LSTM', [x, *gates, -1, -1, -1, *bias, -1, -1, *states], [y], {0: ('b', 4), 1: ('f', 10.0), 3: ('?', False)},
         version=3, between=between)
    m.save(name, [x], [y])


def refused():
    m = Net(None)
    x, y = m.rowed('in', [1, 0, 2, 4]), m.rowed('out', [1, 0, 2, 4])
    m.op('MAX_POOL_2D', [x], [y], {0: ('b', SAME), 1: ('i', 1), 2: ('i', 2), 3: ('i', 1), 4: ('i', 2), 5: ('b', 0)})
    m.save('bad/open_same', [x], [y])
    m = Net(None)
    x, y = m.rowed('in', [1, 0, 4], 'INT8', scale=0.1), m.tensor('out', [1, 4], 'INT8', scale=0.1)
    m.op('MEAN', [x, m.tensor('axes', [1], 'INT32', np.array([-2], np.int32))], [y], {0: ('?', False)}, version=2)
    m.save('bad/open_mean', [x], [y])
    m = Net(None)
    x, y = m.rowed('in', [1, 0, 4]), m.tensor('out', [1, 4])
    m.op('MEAN', [x, m.tensor('axes', [1], 'INT32', np.array([1], np.int32))], [y], {0: ('?', False)})
    m.save('bad/open_mean_real', [x], [y])
    m = Net(None)
    x, y = m.rowed('in', [1, 0, 4]), m.tensor('out', [1, 1, 1], signature=[1, -1, -1])
    m.op('RESHAPE', [x], [y], {})
    m.save('bad/open_reshape', [x], [y])
    m = Net(None)
    x, y = m.tensor('in', [1, 4], signature=[1, -1, 4]), m.tensor('out', [1, 4])
    m.op('ABS', [x], [y])
    m.save('bad/open_signature', [x], [y])


if __name__ == '__main__':
    for net in (floats, whole, windows, shorts, cell, cell8):
        net(None, 'nets/open_' + net.__name__)
        net(7, 'nets/open_%s_7' % net.__name__)
    refused()
