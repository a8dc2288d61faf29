#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels cross-built for 64-bit ARM and run in qemu: against plain C there, and their results against this machine's.
# cross.sh SOURCE-ROOT BUILD-FOLDER CHECK_KERN-OF-THIS-MACHINE
root=$1
dir=$2
host=$3
passed=0
failed=0
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

skip()
{
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}

verdict()
{
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

fail()
{
    echo "FAILED: $1"
    failed=$((failed + 1))
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
    [ -f "$dir/build.ninja" ] && ninja -C "$dir" tests/kern/check_kern && return
    rm -rf "$dir"
    meson setup "$dir" "$root" --cross-file "$root/tests/cross/aarch64.ini" -Dpart=core &&
        ninja -C "$dir" tests/kern/check_kern
}
build >"$out/log" 2>&1 || {
    tail -n 40 "$out/log"
    fail "the kernels do not build for 64-bit ARM"
    verdict
}

# run NAME COMMAND...: its digests go to a file of that name, its counts to ours.
run()
{
    name=$1
    shift
    "$@" --digest --seed=1 >"$out/$name"
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
            passed=$((passed + 1))
        else
            fail "$line of $1 is not that of $2"
        fi
    done <"$out/$1.digests"
    [ "$(wc -l <"$out/$1.digests")" = "$(wc -l <"$out/$2.digests")" ] && [ -s "$out/$1.digests" ] ||
        fail "$1 and $2 do not have the same kernels"
}

# Exact functions of 128-bit numbers, emulated, are slow: fewer of them.
run this "$host" --isa=c --accuracy-step=40009
run arm-c "$qemu" "$dir/tests/kern/check_kern" --isa=c --accuracy-step=400009
run arm-neon "$qemu" "$dir/tests/kern/check_kern" --isa=neon --accuracy-step=40009
same arm-c this
same arm-neon this
echo "$(wc -l <"$out/this.digests") kernels: c and neon in $("$qemu" --version | head -n 1), c of this machine"
verdict
