#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test that docs/threats.md names is one that the build knows, or that only a build without sanitizers knows.
# Usage: threats.sh THREATS-DOC BUILD-FOLDER SANITIZERS
. "$(dirname "$0")/../lib.sh"
doc=$1
build=$2
names=$(sed -n '/^## Clauses/,/^## What is not/p' "$doc" | grep '^|' | sed 's/^|[^|]*|//' | grep -o '`[a-z_0-9-]*`' | tr -d '`' | sort -u)
known=$(grep -o '"name": "[^"]*"' "$build/meson-info/intro-tests.json" | sed 's/"name": "//; s/"//' | sort -u)
[ "$3" = none ] || known="$known
$(sed -n "/get_option('b_sanitize') == 'none'/,/^endif/s/^ *test('\([^']*\)'.*/\1/p" "$(dirname "$0")/../rt/meson.build")"
for name in $names; do
    if echo "$known" | grep -qx -- "$name"; then
        pass
    else
        fail "$doc names the test $name, which there is not"
    fi
done
[ "$passed" -gt 20 ] || fail "few tests are named"
finish
