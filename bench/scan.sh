#!/bin/sh
# SPDX-License-Identifier: MIT
# Loops over primitive ops, with pointers that move and with everything looked up in every iteration: medians of
# interleaved runs in one program, which gives the same bits both ways (its own test).
#
#   bench/scan.sh [BUILD]         a build folder of rill (default: build)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd) build=${1:-$root/build}
ninja -C "$build" tests/pulse/test_pulse_scan_reuse >/dev/null
"$build/tests/pulse/test_pulse_scan_reuse" | tail -1
"$build/tests/pulse/test_pulse_scan_reuse" --bench
