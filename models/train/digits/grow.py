# SPDX-License-Identifier: MIT
"""A net that says what an earlier, narrower one says: where training goes on from it."""
import sys

import numpy as np
import onnx.numpy_helper
import torch


def arrays_of(path):
    """Arrays of an exported net, and those of its GRUs: [(input, recurrent, biases)]"""
    graph = onnx.load(path).graph
    held = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    grus = [[held[name][0] for name in node.input[1:4]] for node in graph.node
            if node.op_type == 'GRU']
    out = next(held[node.input[1]] for node in graph.node if node.op_type == 'MatMul')
    return held, grus, out


def gates(a, size, width=None):
    """Gates in ONNX's order, update, reset, new -> rows of torch's, each filled up to size."""
    z, r, n = np.split(a, 3)
    shape = (size,) if a.ndim == 1 else (size, width or a.shape[1])
    ret = torch.zeros(3, *shape)
    for to, gate in zip(ret, (r, z, n)):
        to[tuple(slice(k) for k in gate.shape)] = torch.from_numpy(gate.copy())
    return ret.view(3 * size, *shape[1:]), gates_mask(len(z), size, ret.dim())


def gates_mask(old, size, dims):
    """Rows that are new."""
    new = (torch.arange(size) >= old).repeat(3)
    return new.view(-1, *[1] * (dims - 2))


def put(param, filled, new):
    """Rows of units that are new stay as they were drawn; they have no say in the old ones."""
    param.copy_(torch.where(new, param, filled))


def grow(net, path):
    """Units are added whose outputs nothing reads yet."""
    held, grus, out = arrays_of(path)
    size = net.gru1.hidden_size
    with torch.no_grad():
        for name, param in list(net.named_parameters()) + list(net.named_buffers()):
            if 'net.' + name in held and held['net.' + name].shape == tuple(param.shape):
                param.copy_(torch.from_numpy(held['net.' + name].copy()))
        for gru, (w_in, w_rec, bias) in zip((net.gru1, net.gru2), grus):
            b_in, b_rec = np.split(bias, 2)
            put(gru.weight_ih_l0, *gates(w_in, size, gru.input_size))
            put(gru.weight_hh_l0, *gates(w_rec, size, size))
            put(gru.bias_ih_l0, *gates(b_in, size))
            put(gru.bias_hh_l0, *gates(b_rec, size))
        net.out.weight.zero_()
        net.out.weight[:, :out.shape[0]] = torch.from_numpy(out.T.copy())
    return net


def opened(net, path):
    try:
        return grow(net, path)
    except (OSError, KeyError, ValueError, StopIteration) as why:
        sys.exit(f'{path}: not a net that export.py has written: {why}')
