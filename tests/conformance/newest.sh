#!/bin/sh
# SPDX-License-Identifier: MIT
# newest.sh TOOL: the standard's newest cases of quantised ops and of ops newer than opset 21, which newest.py writes where Python has the
# package onnx, or RILL_CONFORMANCE_NEWEST holds them.
here=$(dirname "$0") data=$RILL_CONFORMANCE_NEWEST own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
if [ -z "$data" ]; then
    data=$own
    python3 "$here/newest.py" "$data" QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearConv \
        QLinearMatMul MatMulInteger ConvInteger Attention RMSNormalization RotaryEmbedding CausalConvWithState \
        Swish SwiGLU CumProd BitCast BitShift Mod SpaceToDepth TensorScatter CenterCropPad GridSample LinearAttention Cast CastLike >/dev/null 2>&1
fi
if [ ! -d "$data/node" ]; then
    echo "skipped: no newest cases (pip install onnx)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
# The newest data round to bfloat16 as the engine does.
grep -v '_to_BFLOAT16' "$here/unsupported.txt" >"$own/unsupported.txt"
"$1" conformance --strict --unsupported "$own/unsupported.txt" --must-pass "$here/newest.txt" "$data"
