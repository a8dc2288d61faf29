#!/bin/sh
# SPDX-License-Identifier: MIT
# The example program: as many samples come out as went in plus the delay, and they are not silence.
set -e
dir=$(mktemp -d /tmp/rill-test-XXXXXX)
trap 'rm -rf "$dir"' EXIT
# 16384 floats of noise: the bytes of this script, as mantissas under a fixed exponent, are noise enough
head -c 49152 /dev/urandom | od -An -v -tu1 -w3 | awk '{ printf "\\%03o\\%03o\\%03o\\%03o", $1, $2, $3 % 128, 61 }' >"$dir/fmt"
printf "$(cat "$dir/fmt")" >"$dir/in.f32"
"$1" <"$dir/in.f32" >"$dir/out.f32"
in=$(wc -c <"$dir/in.f32") out=$(wc -c <"$dir/out.f32") passed=0 failed=0
check() { if [ "$2" = 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $1"; fi; }
check "16384 samples went in, got $((in / 4))" "$([ "$in" = 65536 ] && echo 1)"
check "the delay is 256 samples, got $(((out - in) / 4))" "$([ $((out - in)) = 1024 ] && echo 1)"
check "the output is not silence" "$([ -n "$(tr -d '\000' <"$dir/out.f32" | head -c 1000 | tr -d '\000')" ] && echo 1)"
code=0
"$1" /nonexistent </dev/null 2>"$dir/err" || code=$?
check "a missing model is exit code 1" "$([ "$code" = 1 ] && echo 1)"
check "a missing model is named" "$(grep -q nonexistent "$dir/err" && echo 1)"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
