#!/bin/sh
# SPDX-License-Identifier: MIT
# Random nets that PyTorch writes, by both of its exporters, stream as ONNX Runtime runs them, where Python has the packages torch
# and onnxruntime, and onnxscript for the newer exporter: torch_nets.sh RILL. RILL_TORCH_NETS='FIRST COUNT': other seeds.
. "$(dirname "$0")/../lib.sh"
slow exporters
if ! python3 -c 'import numpy, torch, onnxruntime' 2>/dev/null; then
    echo "skipped: no writer or no judge (pip install torch onnxscript onnxruntime)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi
folder_make
# shellcheck disable=SC2086
OMP_NUM_THREADS=1 python3 "$(dirname "$0")/torch_nets.py" "$1" "$dir" ${RILL_TORCH_NETS:-1 300}
