#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How near rill's micro front end brings a net to the original: compare.py NET.tflite WAV...

The net runs over each recording (mono, 16 kHz) twice, by the reference kernels of its format, which rill's probabilities equal:
behind TensorFlow Lite Micro's own front end (pymicro-features), and behind rill's, as tests/models/keywords/make.py defines it
(`meson test -C build models-keywords` holds rill to both). The columns say the largest probability of each, and the largest
difference at a step. Needs numpy, onnxruntime, ai-edge-litert and pymicro-features (pip install NAME).
"""
import os
import sys

try:
    import numpy as np
    import pymicro_features
except ImportError as why:
    sys.exit('compare.py: %s; it needs numpy, onnxruntime, ai-edge-litert and pymicro-features (pip install NAME)' % why)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + '/../../../tests/models/keywords')
import make


def micro_real(x):
    """[T, 40] as TensorFlow Lite Micro's own code makes them."""
    front, data, at, out = pymicro_features.MicroFrontend(), x.astype('<i2').tobytes(), 0, []
    while at + 320 <= len(data):
        got = front.process_samples(data[at:at + 320])
        at += max(got.samples_read * 2, 2)
        if got.features:
            out.append(got.features)
    return np.array(out, np.float32)


def main(net, paths):
    print('| recording | steps | largest: original | rill | differ by |')
    print('|---|---|---|---|---|')
    for path in paths:
        try:
            x = make.read(path)
        except (OSError, EOFError, make.wave.Error, AssertionError) as why:
            sys.exit('%s: not taken, expected a mono WAV file at 16 kHz: %s' % (path, why))
        theirs = make.run_bytes(net, make.threes(micro_real(x)))
        mine = make.run_bytes(net, make.threes(make.micro(x)))
        n = min(len(theirs), len(mine))
        print('| %s | %d | %.3f | %.3f | %.3f |' % (os.path.basename(path), n, theirs.max(), mine.max(),
                                                    np.abs(theirs[:n] - mine[:n]).max()), flush=True)


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
