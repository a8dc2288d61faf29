#!/bin/sh
# SPDX-License-Identifier: MIT
# Live streams at real-time pace beside file streams on one compute thread of the daemon: what a pulse waits for inside the
# daemon and until its answer is read, worst pulses and late ones, streams together (batch 32) and each alone (batch 1) in turns.
#
#   bench/live.sh [BUILD [LIBRARY [SECONDS [ROUNDS]]]]
#
# BUILD: a build folder of rill (default: build). LIBRARY: a folder that holds dtln and gtcrn with their weights (default:
# where `rill models get` puts them). Wants the right to real-time priority; without it other programs count, and it says so.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd) build=${1:-$root/build} seconds=${3:-10} rounds=${4:-3}
RILL_TEST_LIBRARY=${2:-${XDG_DATA_HOME:-$HOME/.local/share}/rill/models}
RILLD=$build/daemon/rilld
export RILL_TEST_LIBRARY RILLD
ninja -C "$build" daemon/rilld tests/daemon/test_daemon_live >/dev/null
# 16 at 6 times real time: two thirds of the thread where each runs alone
for live in dtln gtcrn wiener; do
    "$build/tests/daemon/test_daemon_live" --bench $live 16 dtln 16 6 "$seconds" "$rounds"
done
