#!/bin/sh
# SPDX-License-Identifier: MIT
# How many instructions a pulse takes on ARM of 64 or 32 bits, by model and instruction set, counted in qemu by a plugin
# (insns.c): a figure of how much there is to do, no time.
#
#   bench/arm.sh [--machine aarch64|armv7] [--rill BUILD] [--models DIR] [--work DIR] [MODEL..]
#
# --rill is a build folder of this machine, which compiles the models (gtcrn, dtln and dtln_int8 where none is named);
# --models a folder with their files (RILL_SHARED/models). The core is cross-built in --work; gcc-aarch64-linux-gnu
# and libc6-dev-arm64-cross (gcc-arm-linux-gnueabihf, libc6-dev-armhf-cross) and qemu-user of Debian 12 do.
set -eu
here=$(cd "$(dirname "$0")" && pwd) root=$(dirname "$here")
work=${TMPDIR:-/tmp}/rill-bench-arm build=$root/build models=${RILL_SHARED:-$root/../shared}/models few=10 many=50
machine=aarch64
while [ $# -gt 0 ]; do
    case $1 in
    --machine) machine=$2 && shift ;;
    --rill) build=$(realpath "$2") && shift ;;
    --models) models=$2 && shift ;;
    --work) work=$(realpath -m "$2") && shift ;;
    -*) sed -n '3,11s/^# \{0,1\}//p' "$0" && exit 2 ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- gtcrn dtln dtln_int8
case $machine in
aarch64) cc=aarch64-linux-gnu-gcc emulator=qemu-aarch64 sets='c neon dotprod i8mm' ;;
armv7) cc=arm-linux-gnueabihf-gcc emulator=qemu-arm sets='c neon' ;;
*) echo "arm.sh: --machine is aarch64 or armv7" >&2 && exit 2 ;;
esac
work=$work/$machine
mkdir -p "$work"

[ -f "$work/core/build.ninja" ] ||
    meson setup "$work/core" "$root" --cross-file "$root/tests/cross/$machine.ini" -Dpart=core -Dbuildtype=plain \
        -Doptimization=2 >"$work/log"
archives=$(ninja -C "$work/core" -t targets all | sed -n 's/^\(\(kernels\|engine\)\/[^:]*\.a\):.*/\1/p')
(cd "$work/core" && ninja $archives && $cc -O2 -std=c11 -D_GNU_SOURCE -static -I"$root" \
    -I"$root/include" -o "$work/pulses" "$here/pulses.c" -Wl,--start-group $archives -Wl,--end-group -lm) >>"$work/log"
cc -O2 -shared -fPIC -o "$work/insns.so" "$here/insns.c"
"$build/tools/rill" models get "$@" --quiet --from "$models" --to "$work/models"

# insns FILE PULSES SET
insns() { $emulator -plugin "$work/insns.so" "$work/pulses" "$1" "$2" "$3" 2>&1 | sed -n 's/^insns //p'; }

head='| instructions a pulse |' line='|---|'
for set in $sets; do head="$head $set |" line="$line--:|"; done
printf '%s\n%s\n' "$head" "$line"
for model; do
    RILL_CPU=c RILL_MODEL_PATH=$work/models "$build/tools/rill" compile "$model" -o "$work/$model.rill" >>"$work/log"
    row="| $model"
    for set in $sets; do
        a=$(insns "$work/$model.rill" $few $set) b=$(insns "$work/$model.rill" $many $set)
        row="$row | $(((b - a) / (many - few)))"
    done
    echo "$row |"
done
