#!/bin/sh
# SPDX-License-Identifier: MIT
# Nets of the zoo by the other exporter of PyTorch stream, too, where Python has the newest torch, onnxscript and onnxruntime:
# exporters.sh RILL
. "$(dirname "$0")/../../lib.sh"
slow exporters
if ! python3 -c 'import numpy, torch, onnxscript, onnxruntime' 2>/dev/null; then
    echo "skipped: no writer or no judge (pip install torch onnxscript onnxruntime)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi
folder_make
OMP_NUM_THREADS=1 python3 "$(dirname "$0")/exporters.py" "$1" "$dir"
