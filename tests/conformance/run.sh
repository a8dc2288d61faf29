#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh TOOL UNSUPPORTED MUST_PASS: the backend test data of the distribution's package, if it is installed.
data=${RILL_CONFORMANCE_DATA:-/usr/include/onnx/backend/test/data}
if [ ! -d "$data/node" ]; then
    echo "skipped: no backend test data in $data (package libonnx-testdata)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
exec "$1" conformance --strict --unsupported "$2" --must-pass "$3" "$data"
