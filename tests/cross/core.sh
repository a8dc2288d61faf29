#!/bin/sh
# SPDX-License-Identifier: MIT
# The core cross-built for another machine and run in qemu: kernels against plain C there, random nets streamed against
# their whole-sequence runs, and the results of both against this machine's.
# core.sh MACHINE SOURCE-ROOT BUILD-FOLDER CHECK_KERN TEST_PULSE_RANDOM (both of this machine)
. "$(dirname "$0")/../lib.sh"
machine=$1
[ "$machine" = aarch64 ] || {
    slow machines
}
root=$2
dir=$3
kern=$4
nets=$5
vector= lanes=
out=$(mktemp -d /tmp/rill-test-XXXXXX) || exit 1
trap 'rm -rf "$out"' EXIT

skip()
{
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}

# What Debian calls things; sets: all that RILL_CPU takes there.
case $machine in
aarch64)
    cc=aarch64-linux-gnu-gcc of_debian='gcc-aarch64-linux-gnu, libc6-dev-arm64-cross' emulator=qemu-aarch64
    sets='c, neon, dotprod, i8mm'
    ;;
armv7)
    cc=arm-linux-gnueabihf-gcc of_debian='gcc-arm-linux-gnueabihf, libc6-dev-armhf-cross' emulator=qemu-arm
    sets='c, neon'
    ;;
riscv64)
    cc='clang --target=riscv64-linux-gnu' of_debian='clang, gcc-riscv64-linux-gnu, libc6-dev-riscv64-cross'
    emulator=qemu-riscv64 vector=rv64,v=true,vext_spec=v1.0,vlen= sets='c, rvv'
    echo '#include <riscv_vector.h>' >"$out/v.c"
    clang --target=riscv64-linux-gnu -march=rv64gcv -fsyntax-only "$out/v.c" 2>"$out/log" ||
        skip "there is no clang that knows V of RISC-V (Debian: clang)"
    ;;
esac
command -v ${cc%% *} >/dev/null || skip "there is no $cc (Debian: $of_debian)"
qemu=$(command -v $emulator || command -v $emulator-static) || skip "there is no $emulator (Debian: qemu-user)"
echo 'int main(void) { return 0; }' >"$out/a.c"
$cc -static -o "$out/a" "$out/a.c" 2>"$out/log" ||
    skip "$cc links nothing (Debian: ${of_debian#*, }): $(tail -n 1 "$out/log")"
"$qemu" "$out/a" || skip "$qemu runs no program of its own kind"
[ -z "$vector" ] || "$qemu" -cpu ${vector}128 "$out/a" 2>/dev/null || skip "$qemu knows no V 1.0"

# build: a configured folder; one that another meson made starts afresh.
build()
{
    programs="tests/kern/check_kern tests/pulse/test_pulse_random"
    [ -f "$dir/build.ninja" ] && ninja -C "$dir" $programs && return
    rm -rf "$dir"
    meson setup "$dir" "$root" --cross-file "$root/tests/cross/$machine.ini" -Dpart=core -Dbuildtype=plain \
        -Doptimization=2 && ninja -C "$dir" $programs
}
build >"$out/log" 2>&1 || {
    tail -n 40 "$out/log"
    fail "the core does not build for $machine"
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

# there NAME OPTION..: kernels of the other machine
there()
{
    name=$1
    shift
    run "$name" "$qemu" ${vector:+-cpu $vector$lanes} "$dir/tests/kern/check_kern" --digest --seed=1 "$@"
}

# Exact functions of 128-bit numbers, emulated, are slow: fewer of them.
aarch64_kernels()
{
    run this "$kern" --digest --seed=1 --isa=c --accuracy-step=40009
    there other-c --isa=c --accuracy-step=400009
    there other-neon --isa=neon --accuracy-step=40009
    same other-c this
    same other-neon this
    run this-q8 "$kern" --digest --seed=1 --isa=c --only=q8
    there other-dotprod --isa=dotprod --only=q8
    same other-dotprod this-q8
    run other-i8mm "$qemu" -cpu max "$dir/tests/kern/check_kern" --digest --seed=1 --isa=i8mm --only=q8
    same other-i8mm this-q8
}

# NEON of 32 bits knows no subnormal numbers; nor does the rest of an engine, which has the processor flush them.
armv7_kernels()
{
    run this "$kern" --flush --digest --seed=1 --isa=c --accuracy-step=40009
    there other-c --flush --isa=c --accuracy-step=400009
    there other-neon --flush --isa=neon --accuracy-step=40009
    same other-c this
    same other-neon this
}

# Vectors of 4 and of 8 floats, of which a function takes four at once.
riscv64_kernels()
{
    lanes=128
    run this "$kern" --digest --seed=1 --isa=c --accuracy-step=40009
    there other-c --isa=c --accuracy-step=400009
    there other-rvv --isa=rvv --accuracy-step=400009
    same other-c this
    same other-rvv this
    lanes=256
    for only in gemm map; do
        run this-$only "$kern" --digest --seed=1 --isa=c --only=$only
        there other-256-$only --isa=rvv --only=$only
        same other-256-$only this-$only
    done
}

${machine}_kernels
unset RILL_CPU RILL_GRAPH
export RILL_DIGEST=1 RILL_SEED=1 RILL_COUNT=150
run this-nets "$nets"
run other-nets "$qemu" ${vector:+-cpu ${vector}128} "$dir/tests/pulse/test_pulse_random"
run other-nets-c env RILL_CPU=c "$qemu" "$dir/tests/pulse/test_pulse_random"
if [ $machine = riscv64 ]; then     # which has no mode that flushes subnormal numbers
    same other-nets other-nets-c
else
    same other-nets this-nets
    same other-nets-c this-nets
fi
RILL_CPU=avx2 RILL_GRAPH='2: conv k=3' "$qemu" "$dir/tests/pulse/test_pulse_random" >"$out/log"
if grep -q "RILL_CPU is 'avx2'; known on this kind of processor: $sets$" "$out/log"; then
    pass
else
    fail "RILL_CPU=avx2 is taken: $(cat "$out/log")"
fi
echo "$(wc -l <"$out/this.digests") kernels, $sets, and $RILL_COUNT nets in $("$qemu" --version | head -n 1) and here"
finish
