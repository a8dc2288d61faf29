#!/bin/sh
# SPDX-License-Identifier: MIT
# man.sh SOURCE_ROOT PAGES_DIR RILL RILLD: every option, setting, key, error and message stands in its page.
. "$(dirname "$0")/../lib.sh"
root=$1 pages=$2 rill=$3 rilld=$4
if [ ! -f "$pages/rill.1" ]; then
    echo "skipped: no pages are built (package scdoc)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi

# A page as words, without marks of the formatter.
page()
{
    sed 's/\\f.//g; s/\\&//g; s/\\-/-/g; s/\\(ti/~/g; s/\\[.]//g' "$pages/$1"
}

# has PAGE WHAT: each line of $list must stand in the page; there must be at least one.
has()
{
    page "$1" >"$text"
    n=0 lost=
    while IFS= read -r line; do
        n=$((n + 1))
        grep -qF -- "$line" "$text" || lost="$lost
    $line"
    done <"$list"
    if [ -z "$lost" ] && [ $n -gt 0 ]; then
        pass
    else
        fail "$1 lacks $2 (of $n):$lost"
    fi
}
folder_make
text="$dir/text" list="$dir/list"

"$rill" --commands | cut -f 1 | sed 's/^/rill /' >"$list"
has rill.1 "commands"
for c in $("$rill" --commands | cut -f 1); do
    [ "$("$rill" "$c" --help | grep -cE '^  (-.|  ).*--')" = "$(($("$rill" "$c" --options | wc -l) + 1))" ] ||
        fail "rill $c --options is not what --help shows"
    { echo "rill $c"; "$rill" "$c" --options | cut -f 1 | sed 's/^/--/'; } >"$list"
    has rill.1 "options of $c"
    "$rill" "$c" --options | cut -f 4 | sed 's/  */ /g' >"$list"
    has rill.1 "help of $c"
done
"$rilld" --help | grep -oE -- '--[a-z-]+' | sort -u >"$list"
has rilld.8 "options of the daemon"
grep -oE '^    X\([a-z]+, [a-z_0-9]+' "$root/daemon/base/conf.h" | sed 's/.*, //' >"$list"
has rilld.conf.5 "settings"
sed -n '/keys\[\]/,/^};/s/^    { "\([a-z.]*\)", "\([a-z0-9_]*\)".*/\2/p' "$root/models/conf.c" >"$list"
has model.conf.5 "keys"
sed -n '/^enum Code/,/^}/s/^  \([A-Z_]*\) = [1-9].*/\1/p' "$root/daemon/rilld.proto" | while read -r code; do
    echo "$code, fatal for"
done >"$list"
has rill-protocol.7 "errors"
grep -oE '^message [A-Za-z]+' "$root/daemon/rilld.proto" >"$list"
has rill-protocol.7 "messages"
for p in rill.1 rilld.8 rilld.conf.5 model.conf.5 rill-protocol.7; do
    printf '%s\n' NAME DESCRIPTION "SEE ALSO" >"$list"
    has $p "sections"
    grep '@[a-z]*@' "$pages/$p" && fail "$p is not filled in"
done
finish
