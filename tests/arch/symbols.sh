#!/bin/sh
# SPDX-License-Identifier: MIT
# The functions of a header, those of the version script, what the shared library exports and, where one is given, the table of a page
# are the same, each under a version of rill's own. symbols.sh LIBRARY HEADER MAP [PAGE]
lib=$1
if [ ! -f "$lib" ]; then
    echo "no shared library is built: ${lib:-none}"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
. "$(dirname "$0")/../lib.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
grep -oE '\brill_[a-z0-9_]+\(' "$2" | tr -d '(' | sort -u >"$dir/header"
awk '/^RILL_[A-Z0-9_]+ \{/ { node = $1 } /^    rill_/ { sub(";", ""); print $1 "@@" node }' "$3" | sort -u >"$dir/map"
nm -D --defined-only "$lib" | awk '$2 != "A" { print $NF }' | sort -u >"$dir/library"

# same WORDS A B: lines of one that the other lacks.
same()
{
    check "$1" "$(diff "$dir/$2" "$dir/$3" | sed -n "s/^</only in the $2:/p; s/^>/only in the $3:/p")"
}
check 'the header has functions' "$([ -s "$dir/header" ] || echo none)"
same 'the library exports the map, under its versions' map library
sed 's/@.*//' "$dir/map" | sort -u >"$dir/names"
same 'the map is the header' header names
if [ -n "$4" ]; then
    sed -n 's/^| `\(rill_[a-z0-9_]*\)`.*/\1/p' "$4" | sort -u >"$dir/table"
    same 'the page has each in its table' header table
fi
finish
