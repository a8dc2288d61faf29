#!/bin/sh
# SPDX-License-Identifier: MIT
# The example program: as many samples come out as went in, and they are not silence.
set -e
. "$(dirname "$0")/../lib.sh"
folder_make
# 16384 floats of noise: the bytes of this script, as mantissas under a fixed exponent, are noise enough
head -c 49152 /dev/urandom | od -An -v -tu1 -w3 | awk '{ printf "\\%03o\\%03o\\%03o\\%03o", $1, $2, $3 % 128, 61 }' >"$dir/fmt"
printf "$(cat "$dir/fmt")" >"$dir/in.f32"
"$1" <"$dir/in.f32" >"$dir/out.f32"
in=$(wc -c <"$dir/in.f32") out=$(wc -c <"$dir/out.f32")
good "16384 samples went in, got $((in / 4))" test "$in" = 65536
good "as many come out, got $((out / 4))" test "$out" = "$in"
good "the output is not silence" test -n "$(tr -d '\000' <"$dir/out.f32" | head -c 1000 | tr -d '\000')"
code=0
"$1" /nonexistent </dev/null 2>"$dir/err" || code=$?
good "a missing model is exit code 1" test "$code" = 1
good "a missing model is named" grep nonexistent "$dir/err"
finish
