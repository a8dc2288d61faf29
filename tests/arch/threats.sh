#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test that docs/threats.md names is one that the build knows, or that only a build without sanitizers knows.
# Usage: threats.sh THREATS-DOC BUILD-FOLDER SANITIZERS
doc=$1
build=$2
passed=0 failed=0
names=$(sed -n '/^## Clauses/,/^## What is not/p' "$doc" | grep '^|' | sed 's/^|[^|]*|//' | grep -o '`[a-z_0-9-]*`' | tr -d '`' | sort -u)
known=$(grep -o '"name": "[^"]*"' "$build/meson-info/intro-tests.json" | sed 's/"name": "//; s/"//' | sort -u)
[ "$3" = none ] || known="$known
$(sed -n "/get_option('b_sanitize') == 'none'/,/^endif/s/^ *test('\([^']*\)'.*/\1/p" "$(dirname "$0")/../rt/meson.build")"
for name in $names; do
    if echo "$known" | grep -qx -- "$name"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not so: $doc names the test $name, which there is not"
    fi
done
[ "$passed" -gt 20 ] || { failed=$((failed + 1)); echo "not so: few tests are named"; }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
