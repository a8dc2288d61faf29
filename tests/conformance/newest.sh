#!/bin/sh
# SPDX-License-Identifier: MIT
# newest.sh TOOL: the standard's newest cases of quantised ops and of ops newer than opset 21, which newest.py writes where Python has the
# package onnx, or RILL_CONFORMANCE_NEWEST holds them.
here=$(dirname "$0") data=$RILL_CONFORMANCE_NEWEST
if [ -z "$data" ]; then
    data=$(mktemp -d)
    trap 'rm -rf "$data"' EXIT
    python3 "$here/newest.py" "$data" QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearConv \
        QLinearMatMul MatMulInteger ConvInteger Attention RMSNormalization RotaryEmbedding CausalConvWithState \
        Swish SwiGLU CumProd BitCast BitShift Mod SpaceToDepth >/dev/null 2>&1
fi
if [ ! -d "$data/node" ]; then
    echo "skipped: no newest cases (pip install onnx)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
"$1" conformance --strict --unsupported "$here/unsupported.txt" --must-pass "$here/newest.txt" "$data"
