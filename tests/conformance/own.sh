#!/bin/sh
# SPDX-License-Identifier: MIT
# own.sh TOOL: cases of our own (own/make.py) give what ONNX Runtime gave, open with the symbols in
# their sizes, and stream as own/streams.txt says: to the bit what the whole run gives.
. "$(dirname "$0")/../lib.sh"
tool=$1 cases=$(dirname "$0")/own
folder_make
good "the cases as ONNX Runtime has them" "$tool" conformance --unsupported /dev/null "$cases"
for model in "$cases"/*/model.onnx; do
    good "$model opens" "$tool" inspect --pass typed "$model"
done
expect 0 "products: 1 of bytes, 1 of dequantised floats: 'conv11_0' (Conv)" \
    "$tool" inspect "$cases/quant_net/model.onnx"
grep -v '^#' "$cases/streams.txt" >"$dir/streams"
while read -r case pulses lengths assertion; do
    model=$cases/$case/model.onnx
    if [ "$pulses" = refused ]; then
        expect 1 "$lengths $assertion" "$tool" check "$model"
    else
        good "$case streams" "$tool" check --pulse "$pulses" --length "$lengths" \
            ${assertion:+--assert "$assertion"} "$model"
    fi
done <"$dir/streams"
finish
