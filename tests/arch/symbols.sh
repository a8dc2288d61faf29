#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library exports rill_ symbols and nothing else. symbols.sh LIBRARY
lib=$1
if [ ! -f "$lib" ]; then
    echo "no shared library is built: ${lib:-none}"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
. "$(dirname "$0")/../lib.sh"
names=$(nm -D --defined-only "$lib" | awk '{ print $NF }' | sed 's/@.*//')
check 'it exports something' "$(echo "$names" | grep -q '^rill_' || echo "no rill_ symbol in $lib")"
check 'it exports nothing but rill_' "$(echo "$names" | grep -v '^rill_' | grep -vE '^(__asan|__ubsan|__odr_asan)')"

# Every function of the public header is there.
header=$(dirname "$0")/../../include/rill.h
check 'it exports the whole header' "$(grep -oE '\brill_[a-z_]+\(' "$header" | tr -d '(' | sort -u |
    while read -r f; do echo "$names" | grep -qx "$f" || echo "$f is not exported"; done)"
finish
