#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How near rill's micro nets are to the published ones: compare.py FOLDER WAV...

FOLDER is what convert.sh filled. Each net runs over each recording (mono, 16 kHz) three times: as
published, 8-bit, by the TensorFlow Lite library that one of the packages brings, behind TensorFlow
Lite Micro's own front end (pymicro-features); converted, in floating point, by ONNX Runtime, behind
that front end; and the same net behind rill's, as tests/models/keywords/make.py defines it (`meson
test -C build models-keywords` holds rill to it). The columns say the largest probability of each,
and the largest difference of rill's at a step to the two others: what its front end changes, and
what it and floating point change together. A net that is published in no package has no column of
its own. Needs numpy, onnxruntime
and pymicro-features (pip install onnxruntime pymicro-features).
"""
import ctypes
import glob
import os
import sys

try:
    import numpy as np
    import onnxruntime
    import pymicro_features
except ImportError as why:
    sys.exit('compare.py: %s; it needs numpy, onnxruntime and pymicro-features '
             '(pip install NAME)' % why)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + '/../../../tests/models/keywords')
import make


class Quant(ctypes.Structure):
    _fields_ = [('scale', ctypes.c_float), ('zero', ctypes.c_int32)]


POINTERS = ('TfLiteModelCreateFromFile', 'TfLiteInterpreterCreate',
            'TfLiteInterpreterGetInputTensor',
            'TfLiteInterpreterGetOutputTensor')


def library(folder):
    found = glob.glob(folder + '/fetched/*/*/lib/libtensorflowlite_c.so')
    if not found:
        sys.exit('%s: no package with the library is in it: convert.sh %s okay_nabu_2' %
                 (folder, folder))
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


def micro_real(x):
    """[T, 40] as TensorFlow Lite Micro's own code makes them."""
    front, data, at, out = pymicro_features.MicroFrontend(), x.astype('<i2').tobytes(), 0, []
    while at + 320 <= len(data):
        got = front.process_samples(data[at:at + 320])
        at += max(got.samples_read * 2, 2)
        if got.features:
            out.append(got.features)
    return np.array(out, np.float32)


def nets(folder):
    """Name, path of the published file or None, path of the converted one."""
    with open(HERE + '/nets.tsv') as f:
        rows = [line.rstrip('\n').split('\t') for line in f if not line.startswith('#')]
    for name, source, _, inside, _, _ in rows:
        at = name
        if source.startswith('pip:'):
            at = ''.join(c if c.isalnum() or c == '.' else '_' for c in source[4:])
        path = '%s/fetched/%s/%s' % (folder, at, inside)
        net = '%s/micro_wake_word/%s.onnx' % (folder, name)
        if os.path.exists(net):
            yield name, path if os.path.isfile(path) else None, net


def difference(a, b):
    n = min(len(a), len(b))
    assert abs(len(a) - len(b)) <= 1
    return np.abs(a[:n] - b[:n]).max()


def features_print(recordings):
    print('| recording | frames | features differ: mean | one in a hundred by | largest |')
    print('|---|---|---|---|---|')
    for wav, x, real in recordings:
        mine = make.micro(x)
        d = np.abs(mine[:len(real)] - real[:len(mine)])
        print('| %s | %d | %.3f | %.2f | %.1f |' %
              (wav, len(d), d.mean(), np.percentile(d, 99), d.max()))


def net_print(lib, name, path, net, recordings):
    states, worst = make.caches(net), [0, 0]
    for wav, x, real in recordings:
        feeds = make.threes(real)
        mine = make.run_steps(net, make.threes(make.micro(x)), 'prob', states)
        plain = make.run_steps(net, feeds, 'prob', states)
        row = [difference(mine, plain), 0]
        top = '-'
        if path:
            bits = published(lib, path, feeds)
            row[1], top = difference(mine, bits), '%.3f' % bits.max()
        worst = np.maximum(worst, row)
        print('| %s | %s | %d | %s | %.3f | %.3f | %.3f | %s |' %
              (name, wav, len(mine), top, plain.max(), mine.max(), row[0],
               '%.3f' % row[1] if path else '-'))
    print('| **%s** | all | | | | | **%.3f** | %s |' %
          (name, worst[0], '**%.3f**' % worst[1] if path else '-'), flush=True)


def main(folder, paths):
    lib = library(folder)
    recordings = []
    for path in paths:
        try:
            x = make.read(path)
        except (OSError, EOFError, make.wave.Error, AssertionError) as why:
            sys.exit('%s: not taken, expected a mono WAV file at 16 kHz: %s' % (path, why))
        recordings.append((os.path.basename(path), x, micro_real(x)))
    features_print(recordings)
    print('\n| net | recording | steps | largest: 8 bits | float | rill | rill to float | '
          'rill to 8 bits |')
    print('|---|---|---|---|---|---|---|---|')
    for name, path, net in nets(folder):
        net_print(lib, name, path, net, recordings)


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
