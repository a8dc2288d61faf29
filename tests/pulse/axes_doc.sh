#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of the manual is what the tool prints, and every op of the engine stands in it.
rill=$1 doc=$2 passed=0 failed=0
check() { if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $1"; fi; }
dir=$(mktemp -d /tmp/rill-test-XXXXXX)
trap 'rm -rf "$dir"' EXIT
"$rill" inspect --axes | sed 's/^\(.\)/    \1/' >"$dir/tool"
sed -n '/^    op  /,$p' "$doc" >"$dir/doc"
diff "$dir/doc" "$dir/tool" >&2
check "docs/streaming.md is not what rill inspect --axes prints" $?
[ "$(wc -l <"$doc")" -le 120 ]
check "docs/streaming.md is longer than 120 lines" $?
for op in $("$rill" inspect --ops | cut -d' ' -f1); do
    grep -q "[ ]$op\( \|\$\)" "$dir/tool"
    check "$op is not in the table" $?
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
