#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of a board: a row for each model with its figures, and the reason of one that does not run.
# board.sh ROOT BUILD
. "$(dirname "$0")/../lib.sh"
dir=$(mktemp -d /tmp/rill-test-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
good "the table" "$1/bench/pi-bench.sh" --rill "$2" --seconds 0.02 --rounds 2 --out "$dir/board.md" wiener \
    "$1/tests/models/zoo/gtcrn/model.onnx" no-such-model
row='[0-9.]* | [0-9.]* | [0-9.]*'
for want in "^| wiener | 256 | [a-z0-9]* | $row | 0\.[0-9]* |\$" "^| gtcrn | 1 | [a-z0-9]* | $row | - |\$" \
    '^| no-such-model | .*no-such-model.* |$' '^\*\*.*\*\*, .* processors'; do
    if grep -q "$want" "$dir/board.md"; then pass; else fail "no line $want" "$dir/board.md"; fi
done
finish
