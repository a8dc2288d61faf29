#!/bin/sh
# SPDX-License-Identifier: MIT
# The long form of the fuzz tests: every target as a libFuzzer program under clang with the address
# and undefined-behaviour sanitizers. Each begins with its corpus and with files of its kind that
# the repository holds. What it finds stays in FOLDER/found; the last line is the total.
#   tests/fuzz/long.sh FOLDER [SECONDS [TARGET...]]     seconds of each target: 600
# As many targets at a time as there are processors (JOBS=n: n).
[ $# -ge 1 ] || { sed -n '/^#   /s/^#   /usage: /p' "$0" >&2; exit 2; }
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd)
seconds=${2:-600}
shift $(($# < 2 ? $# : 2))
top=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -gt 0 ] || set -- daemon_conf frame http law model_conf nnef onnx planfile pulse resample session tarball tflite tokens
build=$folder/build
export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"

if [ ! -f "$build/build.ninja" ]; then
    CC=clang meson setup "$build" "$top" -Dfuzz=true -Dbuildtype=debugoptimized \
        -Db_sanitize=address,undefined -Db_lundef=false >"$folder/setup.log" ||
        { cat "$folder/setup.log"; exit 1; }
fi
programs=
for target; do
    programs="$programs tests/fuzz/fuzz_${target}_libfuzzer"
done
# shellcheck disable=SC2086
ninja -C "$build" tools/rill $programs || exit 1

# seeds TARGET: files to begin with, in FOLDER/corpus/TARGET.
seeds()
{
    to=$folder/corpus/$1
    mkdir -p "$to" "$folder/found"
    case $1 in
    onnx) (cd "$top" && find tests models -name '*.onnx' -size -128k) ;;
    tflite) (cd "$top" && find tests -name '*.tflite' -size -128k) ;;
    nnef) (cd "$top" && find models tests -name '*.nnef') ;;
    model_conf) (cd "$top" && find models tests -name model.conf) ;;
    tokens) (cd "$top" && find models tests -name tokens.txt) ;;
    daemon_conf) echo conf/rilld.conf ;;
    esac | while read -r file; do
        cp "$top/$file" "$to/$(echo "$file" | tr / _)"
    done
    [ "$1" != planfile ] || for model in wiener "$top"/tests/models/zoo/*/model.onnx; do
        "$build/tools/rill" compile "$model" -o "$to/$(echo "$model" | tr / _).rill" >/dev/null
    done
    [ ! -d "$top/tests/fuzz/corpus/$1" ] || cp "$top/tests/fuzz/corpus/$1"/* "$to"
}

# fuzz TARGET: a line about it; FOLDER/TARGET.failed where it found something.
fuzz()
{
    rm -f "$folder/$1.failed"
    if "$build/tests/fuzz/fuzz_$1_libfuzzer" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 \
        -print_final_stats=1 -artifact_prefix="$folder/found/$1-" "$folder/corpus/$1" >"$folder/$1.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$1.log")
        echo "$1: ${runs:-0} runs in $seconds s, nothing found"
    else
        echo "$1: FAILED, see $folder/$1.log"
        touch "$folder/$1.failed"
    fi
}

jobs=${JOBS:-$(nproc)}
running=0
passed=0
failed=0
for target; do
    seeds "$target"
done
for target; do
    fuzz "$target" &
    running=$((running + 1))
    [ $((running % jobs)) -ne 0 ] || wait
done
wait
for target; do
    if [ -e "$folder/$target.failed" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
