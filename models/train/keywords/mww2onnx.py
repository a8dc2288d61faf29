#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a net of the microWakeWord family as ONNX: mww2onnx.py IN.tflite OUT.onnx [SOURCE]

The file holds 8-bit numbers, and variables that keep what the last steps left. The ONNX file
computes the same in floating point: `features` [1, 3, 40] and one `cacheN_in` [1, channels, steps]
a variable go in, `prob` [1, 1] and `cacheN_out` come out. Variables are numbered in the order in
which they are read. Tensors [1, steps, 1, channels] become [1, channels, steps]. Rounding of
activations is left out; compare.py says what that changes. SOURCE is noted in the file.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import flat

ACTIVATIONS = {0: None, 1: 'Relu'}
TO_CHANNELS = [0, 2, 1]     # [1, steps, channels] <-> [1, channels, steps]


class Refused(ValueError):
    """Not what this family has."""


class Net:
    def __init__(self, graph, first):
        self.t, self.first, self.graph = graph.tensors, first, graph
        self.nodes, self.constants, self.written = [], [], []
        self.wire, self.cache = {}, {}      # tensor -> name; resource -> number of its cache
        self.shapes = []                    # of caches
        self.at = 0                         # number of the operator, part of the names

    def node(self, kind, inputs, name, **attributes):
        outputs = name if isinstance(name, list) else [name]
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return name

    def constant(self, name, x, type=np.float32):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(x, type), name))
        return name

    def real(self, i):
        if self.t[i].data is None:
            raise Refused('%s is not a constant' % self.t[i].name)
        return self.t[i].real()

    def integers(self, i):
        if self.t[i].data is None:
            raise Refused('%s is not a constant' % self.t[i].name)
        return self.t[i].data.reshape(-1)

    def activate(self, wire, kind):
        if kind not in ACTIVATIONS:
            raise Refused('activation %d' % kind)
        return self.node(ACTIVATIONS[kind], [wire], wire + 'r') if ACTIVATIONS[kind] else wire

    # ---- operators: each gives the wire of its output ----

    def var_handle(self, op):
        return None

    def read_variable(self, op):
        shape, n = self.t[op.outputs[0]].shape, len(self.shapes)
        if len(shape) != 4 or shape[0] != 1 or shape[2] != 1 or op.inputs[0] in self.cache:
            raise Refused('a variable of shape %s, or read twice' % shape)
        self.cache[op.inputs[0]] = n
        self.shapes.append([1, shape[3], shape[1]])
        return 'cache%d_in' % n

    def assign_variable(self, op):
        n = self.cache[op.inputs[0]]
        self.written.append(n)
        self.node('Identity', [self.wire[op.inputs[1]]], 'cache%d_out' % n)
        return None

    def reshape(self, op):
        """A frame's features get an axis, or steps and channels become one."""
        before, after = self.t[op.inputs[0]].shape, self.t[op.outputs[0]].shape
        x = self.wire[op.inputs[0]]
        if len(before) == 3 and after == [1, before[1], 1, before[2]]:
            return self.node('Transpose', [x], 'featT', perm=TO_CHANNELS)
        if len(before) == 4 and len(after) == 2:
            return self.flatten(x, 'tr', 'fl')
        raise Refused('reshape from %s to %s' % (before, after))

    def flatten(self, x, first, second):
        y = self.node('Transpose', [x], '%s%d' % (first, self.at), perm=TO_CHANNELS)
        return self.node('Flatten', [y], '%s%d' % (second, self.at), axis=1)

    def concatenation(self, op):
        axis = {1: 2, -3: 2, 3: 1, -1: 1}.get(op.option(0, '<i'))
        if axis is None or op.option(1):
            raise Refused('concatenation along axis %d' % op.option(0, '<i'))
        return self.node('Concat', [self.wire[i] for i in op.inputs], 'cat%d' % self.at, axis=axis)

    def strided_slice(self, op):
        """Along time; what a mask leaves open is whole, counts from the end become plain ones."""
        begin, end, stride = (self.integers(i) for i in op.inputs[1:4])
        open_begin, open_end = op.option(0, '<i'), op.option(1, '<i')
        out, shape = self.t[op.outputs[0]].shape, self.t[op.inputs[0]].shape
        if any(stride != 1) or any(out[i] != shape[i] for i in (0, 2, 3)):
            raise Refused('a slice other than along time')
        first = 0 if open_begin & 2 else int(begin[1])
        last = shape[1] if open_end & 2 else int(end[1])
        at = [v + shape[1] if v < 0 else v for v in (first, last)]
        at = [self.constant('%s%d' % (name, self.at), [v], np.int64)
              for name, v in zip('bea', at + [2])]
        return self.node('Slice', [self.wire[op.inputs[0]]] + at, 'sl%d' % self.at)

    def split_v(self, op):
        if int(self.integers(op.inputs[2])[0]) not in (3, -1):
            raise Refused('split along an axis that is not the last')
        sizes = self.constant('s%d' % self.at, self.integers(op.inputs[1]), np.int64)
        return self.node('Split', [self.wire[op.inputs[0]], sizes],
                         ['sp%d_%d' % (self.at, i) for i in range(len(op.outputs))], axis=1)

    def convolution(self, op, weights, groups, activation):
        if op.option(0) != 1 and weights.shape[2] != 1:
            raise Refused('a convolution that is padded')
        if weights.shape[3] != 1:
            raise Refused('a convolution across bands')
        names = [self.constant('w%d' % self.at, weights[..., 0]),
                 self.constant('bias%d' % self.at, self.real(op.inputs[2]))]
        y = self.node('Conv', [self.wire[op.inputs[0]]] + names, 'cv%d' % self.at, group=groups,
                      strides=[op.option(2, '<i', 1)])
        return self.activate(y, op.option(activation))

    def conv_2d(self, op):
        return self.convolution(op, self.real(op.inputs[1]).transpose(0, 3, 1, 2), 1, 3)

    def depthwise_conv_2d(self, op):
        weights = self.real(op.inputs[1]).transpose(3, 0, 1, 2)
        return self.convolution(op, weights, self.t[op.inputs[0]].shape[3], 4)

    def fully_connected(self, op):
        x = self.wire[op.inputs[0]]
        if len(self.t[op.inputs[0]].shape) == 4:
            x = self.flatten(x, 'tq', 'fq')
        names = [self.constant('w%d' % self.at, self.real(op.inputs[1])),
                 self.constant('bias%d' % self.at, self.real(op.inputs[2]))]
        y = self.node('Gemm', [x] + names, 'fc%d' % self.at, transB=1)
        return self.activate(y, op.option(0))

    def logistic(self, op):
        return self.node('Sigmoid', [self.wire[op.inputs[0]]], 'prob')

    def quantize(self, op):
        return self.wire[op.inputs[0]]

    def call_once(self, op):
        """What it calls sets the variables; they must begin as zeros."""
        for x in (o for o in self.first.operators if o.kind == 'ASSIGN_VARIABLE'):
            value = self.first.tensors[x.inputs[1]]
            if value.data is None or np.any(value.real()):
                raise Refused('a variable that does not begin as zero')
        return None

    def run(self):
        self.wire[self.graph.inputs[0]] = 'features'
        for self.at, op in enumerate(self.graph.operators):
            make = getattr(self, op.kind.lower(), None)
            if not op.kind.isupper() or make is None:
                raise Refused(op.kind)
            out = make(op)
            for i, wire in zip(op.outputs, out if isinstance(out, list) else [out]):
                self.wire[i] = wire
        if self.wire[self.graph.outputs[0]] != 'prob':
            raise Refused('the last operator is not a sigmoid')


def value_infos(pairs):
    return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in pairs]


def convert(path, source):
    graphs = flat.read(path)
    net = Net(graphs[0], graphs[1] if len(graphs) > 1 else graphs[0])
    net.run()
    inputs = [('features', net.t[net.graph.inputs[0]].shape)]
    inputs += [('cache%d_in' % i, shape) for i, shape in enumerate(net.shapes)]
    outputs = [('prob', [1, 1])] + [('cache%d_out' % i, net.shapes[i]) for i in net.written]
    graph = helper.make_graph(net.nodes, os.path.basename(path), value_infos(inputs),
                              value_infos(outputs), net.constants)
    model = helper.make_model(graph, producer_name='mww2onnx',
                              opset_imports=[helper.make_opsetid('', 13)])
    model.ir_version = 7
    if source:
        helper.set_model_props(model, {'source': source})
    onnx.checker.check_model(model)
    return model


def main(path, target, source=None):
    try:
        onnx.save(convert(path, source), target)
    except OSError as why:
        sys.exit('%s: %s' % (why.filename or target, why.strerror))
    except (Refused, ValueError, KeyError, IndexError, onnx.checker.ValidationError) as why:
        sys.exit('%s: not of this family: %s' % (path, why))


if __name__ == '__main__':
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
