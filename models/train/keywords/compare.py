#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What rounding to 8 bits changes: compare.py FOLDER WAV...

FOLDER is what convert.sh filled. Each net runs twice over each recording (mono, 16 kHz): as published, 8-bit, by the
TensorFlow Lite library that one of the packages brings, and converted, in floating point, by ONNX Runtime. The front end is
the fixed-point one of tests/models/keywords/make.py for both. Needs numpy and onnxruntime.
"""
import ctypes
import glob
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + '/../../../tests/models/keywords')
try:
    import make
except ImportError as why:
    sys.exit('compare.py: %s; it needs numpy and onnxruntime (pip install onnxruntime)' % why)


class Quant(ctypes.Structure):
    _fields_ = [('scale', ctypes.c_float), ('zero', ctypes.c_int32)]


POINTERS = ('TfLiteModelCreateFromFile', 'TfLiteInterpreterCreate', 'TfLiteInterpreterGetInputTensor',
            'TfLiteInterpreterGetOutputTensor')


def library(folder):
    found = glob.glob(folder + '/fetched/*/*/lib/libtensorflowlite_c.so')
    if not found:
        sys.exit('%s: no package with the library is in it: convert.sh %s okay_nabu_2' % (folder, folder))
    lib = ctypes.CDLL(found[0])
    for name in POINTERS:
        getattr(lib, name).restype = ctypes.c_void_p
    lib.TfLiteTensorQuantizationParams.restype = Quant
    return lib


def published(lib, path, feeds):
    """Probabilities of the 8-bit net, which keeps its state by itself."""
    p = ctypes.c_void_p
    net = p(lib.TfLiteInterpreterCreate(p(lib.TfLiteModelCreateFromFile(path.encode())), None))
    lib.TfLiteInterpreterAllocateTensors(net)
    x = p(lib.TfLiteInterpreterGetInputTensor(net, ctypes.c_int32(0)))
    y = p(lib.TfLiteInterpreterGetOutputTensor(net, ctypes.c_int32(0)))
    qx, qy = lib.TfLiteTensorQuantizationParams(x), lib.TfLiteTensorQuantizationParams(y)
    kind = np.int8 if qy.zero < 0 else np.uint8
    out = np.empty(1, kind)
    ret = []
    for feed in feeds:
        data = np.clip(np.round(feed / qx.scale + qx.zero), -128, 127).astype(np.int8)
        lib.TfLiteTensorCopyFromBuffer(x, data.ctypes.data_as(p), ctypes.c_size_t(data.nbytes))
        assert lib.TfLiteInterpreterInvoke(net) == 0
        lib.TfLiteTensorCopyToBuffer(y, out.ctypes.data_as(p), ctypes.c_size_t(1))
        ret.append((int(out[0]) - qy.zero) * qy.scale)
    return np.array(ret)


def nets(folder):
    with open(HERE + '/nets.tsv') as f:
        rows = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
    for name, source, _, inside, _, _ in rows:
        at = ''.join(c if c.isalnum() or c == '.' else '_' for c in source[4:]) if source.startswith('pip:') else name
        path, net = '%s/fetched/%s/%s' % (folder, at, inside), '%s/micro_wake_word/%s.onnx' % (folder, name)
        if os.path.exists(path) and os.path.exists(net):
            yield name, path, net


def main(folder, recordings):
    lib = library(folder)
    print('| net | recording | steps | largest, 8 bits | largest, float | mean difference | largest |')
    print('|---|---|---|---|---|---|---|')
    for name, path, net in nets(folder):
        for wav in recordings:
            feeds = make.threes(make.micro_fixed(make.read(wav)))
            a, b = published(lib, path, feeds), make.run_steps(net, feeds, 'prob', make.caches(net))
            d = np.abs(a - b)
            print('| %s | %s | %d | %.3f | %.3f | %.4f | %.3f |' % (name, os.path.basename(wav), len(a), a.max(), b.max(),
                                                                    d.mean(), d.max()))


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
