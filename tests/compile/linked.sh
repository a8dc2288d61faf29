#!/bin/sh
# SPDX-License-Identifier: MIT
# A model as C, linked statically into a program that reads no file: the bits of the model's own file, and how much code it is.
# linked.sh RILL LIBRARY.a LINKED_RUN LINKED_RUN.c INCLUDE ZOO CC...
. "$(dirname "$0")/../lib.sh"
rill=$1 library=$2 run=$3 source=$4 include=$5 zoo=$6
shift 6
out=$(mktemp -d /tmp/rill-test-XXXXXX) || exit 1
trap 'rm -rf "$out"' EXIT
CODE_C=652000 CODE_AVX2=901000 # of GTCRN: docs/speed.md, "Footprint"

# link NET PROGRAM CC...
link()
{
    net=$1 to=$2
    shift 2
    "$@" -std=c11 -O1 -Wall -Wextra -Werror -DLINKED="${net}_open" -I"$include" -o "$to" "$source" "$out/$net.c" "$library" -lm \
        -lpthread -Wl,--gc-sections >"$out/log" 2>&1 && return
    tail -n 5 "$out/log"
    fail "$net for $RILL_CPU is not linked"
    return 1
}

# one NET MODEL ISA CC...: the model compiled for a set, linked and run
one()
{
    net=$1 model=$2
    export RILL_CPU="$3"
    shift 3
    c=$out/$net.c
    "$rill" compile --c "$model" -o "$c" >"$out/log" 2>&1 || {
        fail "$net for $RILL_CPU: $(tail -n 1 "$out/log")"
        return
    }
    link "$net" "$out/program" "$@" -static || return
    "$run" "$model" >"$out/want"
    env -u RILL_CPU "$out/program" >"$out/got"
    [ -s "$out/want" ] && cmp -s "$out/want" "$out/got" && pass || fail "$net for $RILL_CPU: other bits"
}

one tdnn_lstm "$zoo/tdnn_lstm/model.onnx" c "$@"
# Kernels of every kind that a plan names: transforms, cells and products of bytes.
if "$rill" quantize --static --calibrate "$zoo/../../../examples/audio/digits.wav" rill-digits "$out/bytes" >"$out/log" 2>&1; then
    one bytes "$out/bytes" c "$@"
    grep -q kern_fill_q8_c "$out/bytes.c" && pass || fail "bytes: its products are not filled in"
    grep -q kern_fill_pool_c "$out/bytes.c" && fail "bytes: pools are filled in" || pass
else
    fail "rill-digits in bytes: $(tail -n 1 "$out/log")"
fi
for isa in c avx2; do
    [ "$isa" = c ] || grep -q avx2 /proc/cpuinfo || continue
    one gtcrn "$zoo/gtcrn/model.onnx" $isa "$@"
    command -v size >/dev/null || continue
    link gtcrn "$out/shared" "$@" || continue # the C library is not counted
    plan=$(sed -n 's/.*unsigned char plan\[\([0-9]*\)\].*/\1/p' "$out/gtcrn.c")
    code=$(size "$out/shared" | awk -v p="$plan" 'NR == 2 { print $1 + $2 - p }')
    echo "gtcrn for $isa: $code bytes of code and tables beside $plan of the plan"
    [ "$isa" = c ] && most=$CODE_C || most=$CODE_AVX2
    [ "$code" -lt $most ] && pass || fail "gtcrn for $isa: $code bytes"
done
# Words come out of a sink, whose tokens are in the plan.
export RILL_CPU=c
"$rill" compile --c rill-digits -o "$out/digits.c" >"$out/log" 2>&1 || fail "rill-digits: $(tail -n 1 "$out/log")"
link digits "$out/program" "$@" -DSINKS && "$out/program" >"$out/got"
grep -q '^sink of output' "$out/got" && pass || fail "rill-digits: no sink"

# refused ARGUMENTS...: as without --c, and nothing is left behind
refused()
{
    "$rill" compile "$@" -o "$out/refused.rill" >"$out/log" 2>&1
    want=$?
    "$rill" compile --c "$@" -o "$out/refused.c" >"$out/log.c" 2>&1
    got=$?
    [ $want -eq $got ] && [ -e "$out/refused.rill" -o ! -e "$out/refused.c" ] && pass || fail "--c $*: $got, not $want"
    rm -f "$out/refused.rill" "$out/refused.c"
}
refused "$zoo/codec/model.onnx" --pulse 7
refused "$zoo/codec/model.onnx" --pulse 1
finish
