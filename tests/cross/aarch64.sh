#!/bin/sh
# SPDX-License-Identifier: MIT
# The core cross-built for 64-bit ARM and run in qemu: kernels against plain C there, random nets streamed against their
# whole-sequence runs, and the results of both against this machine's.
# aarch64.sh SOURCE-ROOT BUILD-FOLDER CHECK_KERN TEST_PULSE_RANDOM (both of this machine)
. "$(dirname "$0")/../lib.sh"
root=$1
dir=$2
kern=$3
nets=$4
out=$(mktemp -d /tmp/rill-test-XXXXXX) || exit 1
trap 'rm -rf "$out"' EXIT

skip()
{
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}

command -v aarch64-linux-gnu-gcc >/dev/null ||
    skip "there is no aarch64-linux-gnu-gcc (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross)"
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "there is no qemu-aarch64 (Debian: qemu-user)"
echo 'int main(void) { return 0; }' >"$out/a.c"
aarch64-linux-gnu-gcc -static -o "$out/a" "$out/a.c" 2>"$out/log" ||
    skip "aarch64-linux-gnu-gcc links nothing (Debian: libc6-dev-arm64-cross): $(tail -n 1 "$out/log")"
"$qemu" "$out/a" || skip "$qemu runs no program of its own kind"

# build: a configured folder; one that another meson made starts afresh.
build()
{
    programs="tests/kern/check_kern tests/pulse/test_pulse_random"
    [ -f "$dir/build.ninja" ] && ninja -C "$dir" $programs && return
    rm -rf "$dir"
    meson setup "$dir" "$root" --cross-file "$root/tests/cross/aarch64.ini" -Dpart=core -Dbuildtype=plain -Doptimization=2 &&
        ninja -C "$dir" $programs
}
build >"$out/log" 2>&1 || {
    tail -n 40 "$out/log"
    fail "the core does not build for 64-bit ARM"
    finish
}

# run NAME COMMAND...: its digests go to a file of that name, its counts to ours.
run()
{
    name=$1
    shift
    "$@" >"$out/$name"
    status=$?
    grep -v '^digest ' "$out/$name"
    counts=$(tail -n 1 "$out/$name" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    passed=$((passed + ${counts% *}))
    failed=$((failed + ${counts#* }))
    [ "$status" = 0 ] || [ "${counts#* }" -gt 0 ] 2>/dev/null || fail "$name: exit status $status"
    grep '^digest ' "$out/$name" >"$out/$name.digests"
}

# same NAME OTHER: kernel by kernel
same()
{
    while read -r line; do
        if grep -qxF "$line" "$out/$2.digests"; then
            pass
        else
            fail "$line of $1 is not that of $2"
        fi
    done <"$out/$1.digests"
    [ "$(wc -l <"$out/$1.digests")" = "$(wc -l <"$out/$2.digests")" ] && [ -s "$out/$1.digests" ] ||
        fail "$1 and $2 do not have the same kernels"
}

# Exact functions of 128-bit numbers, emulated, are slow: fewer of them.
run this "$kern" --digest --seed=1 --isa=c --accuracy-step=40009
run arm-c "$qemu" "$dir/tests/kern/check_kern" --digest --seed=1 --isa=c --accuracy-step=400009
run arm-neon "$qemu" "$dir/tests/kern/check_kern" --digest --seed=1 --isa=neon --accuracy-step=40009
same arm-c this
same arm-neon this
run this-q8 "$kern" --digest --seed=1 --isa=c --only=q8
run arm-dotprod "$qemu" "$dir/tests/kern/check_kern" --digest --seed=1 --isa=dotprod --only=q8
same arm-dotprod this-q8
run arm-i8mm "$qemu" -cpu max "$dir/tests/kern/check_kern" --digest --seed=1 --isa=i8mm --only=q8
same arm-i8mm this-q8
unset RILL_CPU RILL_GRAPH
export RILL_DIGEST=1 RILL_SEED=1 RILL_COUNT=150
run this-nets "$nets"
run arm-nets "$qemu" "$dir/tests/pulse/test_pulse_random"
same arm-nets this-nets
run arm-nets-c env RILL_CPU=c "$qemu" "$dir/tests/pulse/test_pulse_random"
same arm-nets-c this-nets
RILL_CPU=avx2 RILL_GRAPH='2: conv k=3' "$qemu" "$dir/tests/pulse/test_pulse_random" >"$out/log"
if grep -q "RILL_CPU is 'avx2'; known on this kind of processor: c, neon, dotprod, i8mm$" "$out/log"; then
    pass
else
    fail "RILL_CPU=avx2 is taken: $(cat "$out/log")"
fi
echo "$(wc -l <"$out/this.digests") kernels, c, neon, dotprod and i8mm, and $RILL_COUNT nets in $("$qemu" --version | head -n 1) and here"
finish
