#!/bin/sh
# SPDX-License-Identifier: MIT
# newest.sh TOOL: all of the standard's newest node cases, which newest.py writes where Python has the package onnx, or
# RILL_CONFORMANCE_NEWEST holds them. Each passes, or a line of unsupported.txt or newest_unsupported.txt says why not.
here=$(dirname "$0") data=$RILL_CONFORMANCE_NEWEST own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
if [ -z "$data" ]; then
    data=$own
    python3 "$here/newest.py" "$data" >/dev/null 2>&1
fi
if [ ! -d "$data/node" ]; then
    echo "skipped: no newest cases (pip install onnx)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
# The newest data round to bfloat16 as the engine does; of optional values newest_unsupported.txt names those that are not read.
grep -h '^node/' "$here/unsupported.txt" "$here/newest_unsupported.txt" | grep -v '_to_BFLOAT16\|^node/test_optional_\*' >"$own/unsupported.txt"
"$1" conformance --strict --unsupported "$own/unsupported.txt" --must-pass "$here/newest.txt" "$data"
