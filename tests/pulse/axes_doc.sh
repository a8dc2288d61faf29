#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of the manual is what the tool prints, and every op of the engine stands in it.
. "$(dirname "$0")/../lib.sh"
rill=$1 doc=$2
folder_make
"$rill" inspect --axes | sed 's/^\(.\)/    \1/' >"$dir/tool"
sed -n '/^    op  /,$p' "$doc" >"$dir/doc"
good "docs/streaming.md is what rill inspect --axes prints" diff "$dir/doc" "$dir/tool"
good "docs/streaming.md has at most 130 lines" test "$(wc -l <"$doc")" -le 130
for op in $("$rill" inspect --ops | sed '/^$/,$d' | cut -d' ' -f1); do
    good "$op is in the table" grep "[ ]$op\( \|\$\)" "$dir/tool"
done
finish
