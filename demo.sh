#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, starts rilld on a socket of its own and sends noisy speech through it.
#
#   ./demo.sh [IN.wav [OUT.wav [CLEAN.wav]]]
#
# CLEAN is IN without its noise, where that is known: it is then said what came of the speech.
cd "$(dirname "$0")" || exit 1
. tools/setup.sh
setup_packages || exit 1
mkdir -p demo-out
if ! { setup_build build -Dbuildtype=debugoptimized && ninja -C build tools/rill daemon/rilld; } >demo-out/build.log 2>&1; then
    tail -n 30 demo-out/build.log
    echo "rill does not build; the whole log is demo-out/build.log"
    exit 1
fi

in=${1:-examples/audio/noisy.wav} out=${2:-demo-out/clean.wav} clean=$3
[ $# -gt 0 ] || clean=examples/audio/clean.wav
dir=$(mktemp -d) || exit 1
trap 'kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cat >"$dir/rilld.conf" <<CONF
[daemon]
socket = $dir/rilld.sock
control_socket = $dir/control.sock
CONF
build/daemon/rilld --config "$dir/rilld.conf" 2>"$dir/log" &
daemon=$!
tries=0
until grep -qs " ready: " "$dir/log" || [ $tries = 100 ]; do
    kill -0 "$daemon" 2>/dev/null || break
    tries=$((tries + 1))
    sleep 0.1
done
if ! build/tools/rill stream --socket "$dir/rilld.sock" ${clean:+--clean "$clean"} "$in" "$out"; then
    echo "The daemon's log:"
    cat "$dir/log"
    exit 1
fi
picture=demo-out/before-after.png
build/tools/rill plot "$in" "$out" "$picture" || exit 1
echo
echo "Hear the difference: $in (before) and $out (after). See it: $picture."
echo "The daemon's own words:"
kill -TERM "$daemon"
wait "$daemon" 2>/dev/null
sed 's/^/  /' "$dir/log"
echo
echo "What is said in examples/audio/digits.wav, by a network of our own:"
build/tools/rill transcribe -m rill-digits examples/audio/digits.wav | sed 's/^/  /'
