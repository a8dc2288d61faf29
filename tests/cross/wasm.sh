#!/bin/sh
# SPDX-License-Identifier: MIT
# The library built for WebAssembly, and nets of the zoo linked into programs that run under node: the bits of plain C here.
# wasm.sh SOURCE-ROOT BUILD-FOLDER RILL LINKED_RUN
. "$(dirname "$0")/../lib.sh"
slow machines
root=$1 build=$2 rill=$3 run=$4
cc='clang --target=wasm32-wasi -D_WASI_EMULATED_GETPID -O2'
folder_make

skip()
{
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}

for program in clang llvm-ar; do
    command -v $program >/dev/null || skip "there is no $program (Debian: clang, llvm)"
done
echo 'int main(void) { return 0; }' >"$dir/a.c"
$cc -o "$dir/a.wasm" "$dir/a.c" 2>"$dir/said" ||
    skip "clang links nothing for WebAssembly (Debian: lld, wasi-libc, libclang-rt-dev-wasm32): $(tail -n 1 "$dir/said")"
node --no-warnings "$root/tests/cross/wasi.mjs" "$dir/a.wasm" 2>"$dir/said" || skip "there is no node that has node:wasi (18 or later)"

# build: a configured folder; one that another meson made starts afresh.
build()
{
    [ -f "$build/build.ninja" ] && ninja -C "$build" librill-linked.a && return
    rm -rf "$build"
    meson setup "$build" "$root" --cross-file "$root/tests/cross/wasm32.ini" -Dpart=core -Dbuildtype=plain -Doptimization=2 &&
        ninja -C "$build" librill-linked.a
}
build >"$dir/said" 2>&1 || {
    tail -n 40 "$dir/said"
    fail "the library does not build for WebAssembly"
    finish
}

export RILL_CPU=c
for net in gtcrn dualpath_scan tdnn_lstm; do
    model=$root/tests/models/zoo/$net/model.onnx
    good "$net is compiled" "$rill" compile --c "$model" -o "$dir/net.c"
    good "$net is linked" $cc -DLINKED=net_open -I"$root/include" -o "$dir/net.wasm" "$root/tests/compile/linked_run.c" "$dir/net.c" \
        "$build/librill-linked.a" -lwasi-emulated-getpid -lm
    "$run" "$model" >"$dir/here"
    node --no-warnings "$root/tests/cross/wasi.mjs" "$dir/net.wasm" >"$dir/there"
    [ -s "$dir/here" ] && cmp -s "$dir/here" "$dir/there" && pass || fail "$net: other bits"
done
echo "3 nets in node $(node --version) and here"
finish
