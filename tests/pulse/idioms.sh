#!/bin/sh
# SPDX-License-Identifier: MIT
# Chains of what exporters write stream as ONNX Runtime runs them, where Python has the packages onnx and onnxruntime:
# idioms.sh RILL. RILL_IDIOMS='FIRST COUNT': other seeds.
. "$(dirname "$0")/../lib.sh"
slow idioms
if ! python3 -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
    echo "skipped: no judge (pip install onnx onnxruntime)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi
folder_make
# shellcheck disable=SC2086
python3 "$(dirname "$0")/idioms.py" "$1" "$dir" ${RILL_IDIOMS:-1 300}
