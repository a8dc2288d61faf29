#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes bad/NAME.tflite: files that are refused; tests/models/tflite.c has the words of each."""
import os
import struct

import numpy as np

from flat import Model, Writer

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bad')


class Net(Model):
    """x -> FULLY_CONNECTED -> y of bytes, with one thing wrong."""

    def __init__(self, scale=0.1, zero=0, w_scale=0.02, w_axis=0, kind='FULLY_CONNECTED', type='INT8', bias='INT32', w_zero=0,
                 biases=2, **code):
        super().__init__()
        self.x = self.tensor('in', [1, 4], type, scale=scale, zero=zero)
        self.w = self.tensor('weights', [2, 4], 'INT8', np.zeros((2, 4), np.int8), w_scale, w_zero, axis=w_axis)
        self.b = self.tensor('bias', [biases], bias, np.zeros(biases, {'INT32': np.int32, 'INT64': np.int64}[bias]), scale=0.002)
        self.y = self.tensor('out', [1, 2], type, scale=0.1)
        self.op(kind, [self.x, self.w, self.b], [self.y], {0: ('b', 0)}, version=4, **code)

    def save(self, name, change=None):
        root = self.root([self.x], [self.y])
        if change:
            change(root)
        save(name, Writer().file(root))


def conv(name, w_zero=0, kind='CONV_2D', input='INT8', **options):
    """A convolution of bytes; options: other fields than those that fit."""
    depthwise = kind == 'DEPTHWISE_CONV_2D'
    names = ('padding', 'width', 'height') + (('multiplier',) if depthwise else ()) + ('activation', 'wide', 'high')
    fields = {'padding': ('b', 1), 'width': ('i', 1), 'height': ('i', 1), 'multiplier': ('i', 1), 'activation': ('b', 0),
              'wide': ('i', 1), 'high': ('i', 1), **options}
    m, n = Model(), 3
    x = m.tensor('in', [1, 5, 5, n], input, scale=0.1)
    w = m.tensor('weights', [1, 1, 1, n] if depthwise else [n, 1, 1, n], input,
                 np.ones(n if depthwise else n * n, np.uint8), [0.02] * n if input == 'INT8' else 0.02, w_zero, axis=3 * depthwise)
    b = m.tensor('bias', [n], 'INT32', np.zeros(n, np.int32), scale=[0.002] * n if input == 'INT8' else 0.002)
    y = m.tensor('out', [1, 5, 5, n], input, scale=0.1)
    m.op(kind, [x, w, b], [y], {i: fields[f] for i, f in enumerate(names) if fields[f]}, version=3)
    m.write(os.path.join(HERE, name + '.tflite'), [x], [y])


def pool(name, kind='MAX_POOL_2D', **options):
    fields = {'padding': ('b', 1), 'width': ('i', 1), 'height': ('i', 1), 'columns': ('i', 1), 'rows': ('i', 1), **options}
    m = Model()
    x, y = (m.tensor(t, [1, 5, 5, 3], 'INT8', scale=0.1) for t in ('in', 'out'))
    m.op(kind, [x], [y], {i: v for i, v in enumerate(fields.values()) if v}, version=2)
    m.write(os.path.join(HERE, name + '.tflite'), [x], [y])


def table(name, kind, scale, zero, type='INT8'):
    m = Model()
    x, y = m.tensor('in', [1, 4], type, scale=0.1), m.tensor('out', [1, 4], type, scale=scale, zero=zero)
    m.op(kind, [x], [y], {0: ('f', 1.0)} if kind == 'SOFTMAX' else None, version=2)
    m.write(os.path.join(HERE, name + '.tflite'), [x], [y])


def declared(name, kind, x, y, fields, second):
    """A result of another type than its operator makes."""
    m = Model()
    x, y = m.tensor('in', [2, 3, 4], x, scale=0.1), m.tensor('out', [2, 3, 3], y, scale=0.1)
    m.op(kind, [x, m.tensor('second', list(second.shape), {'i': 'INT32', 'f': 'FLOAT32'}[second.dtype.kind], second)], [y], fields)
    m.write(os.path.join(HERE, name + '.tflite'), [x], [y])


def save(name, data):
    with open(os.path.join(HERE, name + '.tflite'), 'wb') as f:
        f.write(data)


def graph(root):
    return root[2][0]


def main():
    declared('declared_mean', 'MEAN', 'FLOAT32', 'INT32', {0: ('b', 1)}, np.array([2], np.int32))
    declared('declared_matmul', 'BATCH_MATMUL', 'FLOAT32', 'INT64', {}, np.ones((2, 4, 3), np.float32))
    Net().save('good')
    Net(kind='CUSTOM', custom='MyOp').save('custom')
    Net(kind='WHILE').save('while')
    Net(kind=250).save('unknown_code')
    Net(scale=0.0).save('scale_zero')
    Net(scale=float('nan')).save('scale_nan')
    Net(scale=-1.0).save('scale_negative')
    Net(scale=1e-40).save('scale_denormal')
    Net(zero=200).save('zero_range')
    Net(scale=[0.1, 0.2, 0.3]).save('scales_number')
    Net(w_scale=[0.1, 0.2], w_axis=5).save('scales_axis')
    Net(w_scale=[0.1, 0.2, 0.3, 0.4], w_axis=1).save('scales_inputs')
    Net(type='INT16').save('int16')
    Net(type='INT16', zero=3, bias='INT64').save('int16_zero')
    Net(type='INT16', bias='INT64', w_zero=5).save('int16_weights')
    Net(bias='INT64').save('bias_type')
    Net(biases=3).save('bias_count')
    Net().save('version', lambda r: r.update({0: ('I', 2)}))
    Net().save('no_graph', lambda r: r.update({2: []}))
    Net().save('no_output', lambda r: graph(r).update({2: ('i', [])}))
    Net().save('no_buffer', lambda r: graph(r)[0][1].update({2: ('I', 77)}))
    Net().save('no_code', lambda r: graph(r)[3][0].update({0: ('I', 3)}))
    Net().save('no_tensor', lambda r: graph(r)[3][0].update({1: ('i', [0, 9, 2])}))
    Net().save('no_input', lambda r: graph(r)[3][0].update({1: ('i', [0])}))
    Net().save('port', lambda r: graph(r).update({1: ('i', [-3])}))
    Net().save('buffer_short', lambda r: graph(r)[0][1].update({0: ('i', [3, 4])}))
    Net().save('buffer_far', lambda r: r[4][2].update({1: ('Q', 1 << 33), 2: ('Q', 8)}))
    Net().save('dims_negative', lambda r: graph(r)[0][0].update({0: ('i', [1, -4])}))
    Net().save('dims_overflow', lambda r: graph(r)[0][0].update({0: ('i', [2 ** 31 - 1] * 3)}))
    Net().save('rank', lambda r: graph(r)[0][0].update({0: ('i', [1] * 9)}))
    Net().save('text', lambda r: graph(r)[0][0].update({1: ('b', 5)}))
    Net().save('element', lambda r: graph(r)[0][0].update({1: ('b', 99)}))
    Net().save('twice', lambda r: graph(r)[3].append(dict(graph(r)[3][0])))
    Net().save('order', lambda r: graph(r).update({1: ('i', [])}))
    Net().save('sparse', lambda r: graph(r)[0][1].update({6: {0: ('i', [0])}}))
    Net(w_zero=5).save('full_zero')
    conv('stride_absent', height=None)
    conv('stride_far', width=('i', 1 << 15))
    conv('dilation_far', high=('i', 1 << 30))
    conv('dilation_far_depthwise', kind='DEPTHWISE_CONV_2D', wide=('i', 1 << 15))
    conv('conv_zero', w_zero=[0, 0, 5])
    conv('depthwise_zero', kind='DEPTHWISE_CONV_2D', w_zero=[0, 0, 5])
    conv('conv_u8_zero', w_zero=5, input='UINT8')
    pool('pool_stride_absent', width=None)
    pool('pool_window_absent', rows=None)
    table('logistic_scale', 'LOGISTIC', 0.02, -128)
    table('logistic_zero', 'LOGISTIC', 1 / 256, -127)
    table('tanh_scale', 'TANH', 0.02, 0)
    table('tanh_zero', 'TANH', 1 / 128, 1)
    table('tanh_u8_zero', 'TANH', 1 / 128, 0, 'UINT8')
    table('logistic16_scale', 'LOGISTIC', 0.02, 0, 'INT16')
    table('softmax16_scale', 'SOFTMAX', 1 / 256, 0, 'INT16')
    table('swish16', 'HARD_SWISH', 0.02, 0, 'INT16')
    table('norm_scale', 'L2_NORMALIZATION', 0.01, 0)
    table('softmax_scale', 'SOFTMAX', 0.01, -128)
    m = Model()
    x, y = m.tensor('in', [1, 4], 'INT8', scale=0.1), m.tensor('out', [1, 4], 'INT8', scale=0.2)
    m.op('MAXIMUM', [x, x], [y], version=2)
    m.write(os.path.join(HERE, 'maximum_scales.tflite'), [x], [y])
    for name, kind, scale in (('powers', 'ADD', 0.5), ('div16', 'DIV', 0.1)):
        m = Model()
        x, y = m.tensor('in', [1, 4], 'INT16', scale=0.25), m.tensor('out', [1, 4], 'INT16', scale=scale)
        m.op(kind, [x, x], [y], {0: ('b', 0)}, version=2)
        m.write(os.path.join(HERE, name + '.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [1, 5, 5, 3]), m.tensor('out', [1, 5, 5, 3])
    w = m.tensor('weights', [1, 1, 1, 3], 'INT8', np.ones(3, np.int8), 0.02)
    m.op('DEPTHWISE_CONV_2D', [x, w, -1], [y], {0: ('b', 1), 1: ('i', 1), 2: ('i', 1), 3: ('i', 1), 5: ('i', 1), 6: ('i', 1)}, version=6)
    m.write(os.path.join(HERE, 'mixed_depthwise_scale.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [1, 4], 'INT8', scale=1.0), m.tensor('out', [1, 4], 'INT8', scale=0.001)
    m.op('HARD_SWISH', [x], [y])
    m.write(os.path.join(HERE, 'swish_scale.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [1, 4, 4, 1], 'INT8', scale=0.1), m.tensor('out', [1, 8, 8, 1], 'INT8', scale=0.2)
    m.op('RESIZE_BILINEAR', [x, m.tensor('size', [2], 'INT32', np.array([8, 8], np.int32))], [y], {2: ('?', False)}, version=3)
    m.write(os.path.join(HERE, 'resize_scale.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [1, 4, 4, 1]), m.tensor('out', [1, 0, 8, 1])
    m.op('RESIZE_NEAREST_NEIGHBOR', [x, m.tensor('size', [2], 'INT32', np.array([0, 8], np.int32))], [y], {0: ('?', False)})
    m.write(os.path.join(HERE, 'resize_none.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [1, 4]), m.tensor('out', [1], 'INT32')
    m.op('ARG_MAX', [x, m.tensor('axis', [], 'INT32', np.array(7, np.int32))], [y], {0: ('b', 2)}, version=2)
    m.write(os.path.join(HERE, 'arg_axis.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [1, 4], 'INT8', scale=0.1), m.tensor('out', [1], 'INT8', scale=0.1)
    m.op('MEAN', [x, m.tensor('axis', [1], 'INT32', np.array([-3], np.int32))], [y], {0: ('?', False)}, version=2)
    m.write(os.path.join(HERE, 'mean_axis.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [2, 2, 4]), m.tensor('out', [2, 2, 3])
    m.op('BATCH_MATMUL', [x, m.tensor('weights', [2, 4, 3], 'INT8', np.ones(24, np.int8), 0.02)], [y], {0: ('?', False), 1: ('?', False)})
    m.write(os.path.join(HERE, 'mixed_matmul.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [1, 4]), m.tensor('out', [1, 2])
    ones = [m.tensor(t, s, data=np.ones(s, np.float32)) for t, s in (('weights', [2, 4]), ('time', [2, 3]), ('state', [1, 6]))]
    m.op('SVDF', [x, ones[0], ones[1], -1, ones[2]], [y], {0: ('i', 1)})
    m.write(os.path.join(HERE, 'svdf_state.tflite'), [x], [y])
    m = Model()
    x, y = m.tensor('in', [1, 1, 4], 'INT8', scale=0.1), m.tensor('out', [1, 1, 2], 'INT8', scale=0.1)
    m.op('UNIDIRECTIONAL_SEQUENCE_LSTM', [x] + [-1] * 19, [y], {0: ('b', 4)})
    m.write(os.path.join(HERE, 'lstm_bytes.tflite'), [x], [y])
    for name, peephole, zero in (('lstm_between', False, 0), ('lstm_peephole', True, 0), ('lstm_cell_zero', False, 3)):
        m = Model()
        x, y = m.tensor('in', [1, 1, 4], 'INT8', scale=0.1), m.tensor('out', [1, 1, 2], 'INT8', scale=0.1)
        w, p = m.tensor('weights', [2, 4], 'INT8', np.ones((2, 4), np.int8), 0.1), m.tensor('peephole', [2], 'INT16', np.ones(2, np.int16), 0.1)
        h = m.tensor('h', [1, 2], 'INT8', scale=0.1, variable=True)
        cell = m.tensor('cell', [1, 2], 'INT16', scale=2 ** -11, zero=zero, variable=True)
        between = [m.tensor('hidden', [], 'INT8', scale=0.1)] * 5 if zero else None
        m.op('UNIDIRECTIONAL_SEQUENCE_LSTM', [x] + [w] * 8 + [p if peephole else -1] * 3 + [-1] * 6 + [h, cell], [y], {0: ('b', 4)}, between=between)
        m.write(os.path.join(HERE, name + '.tflite'), [x], [y])
    m = Model()
    handle, y = m.tensor('handle', [], 'RESOURCE'), m.tensor('out', [2])
    m.op('VAR_HANDLE', [], [handle], {0: '', 1: 'memory'})
    m.op('READ_VARIABLE', [handle], [y])
    m.write(os.path.join(HERE, 'variable.tflite'), [], [y])
    good = bytearray(Net().bytes([0], [3]))
    save('identifier', bytes(good[:4]) + b'TFL2' + bytes(good[8:]))
    save('loop', struct.pack('<I', 0) + bytes(good[4:]))
    save('offset', struct.pack('<I', 0x7fffffff) + bytes(good[4:]))
    save('cut', bytes(good[:len(good) // 2]))


main()
