#!/bin/sh
# SPDX-License-Identifier: MIT
# The face of the shared library is that of tests/abi/librill.abi: types, signatures, symbols. abi.sh LIBRARY [--write]
# --write makes the dump anew, but only where the soname is another one or nothing was taken away (docs/api.md, "What stays").
lib=$1
here=$(dirname "$0")
root=$here/../..
dump=$here/librill.abi
skip()
{
    echo "$1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
[ -f "$lib" ] || skip "no shared library is built: ${lib:-none}"
command -v abidiff >/dev/null && command -v abidw >/dev/null || skip "no abidiff: apt-get install abigail-tools"
readelf -h "$lib" | grep -q X86-64 || skip "the dump is that of x86-64"
readelf -S "$lib" | grep -q '\.debug_info' || skip "the library has no debugging information"
. "$here/../lib.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
abidw --out-file "$dir/new.abi" --headers-dir "$root/include" --drop-private-types --exported-interfaces-only --no-show-locs \
    --no-corpus-path --no-comp-dir-path --no-elf-needed --type-id-style hash "$lib" || exit 1
sed -i "s/ path='[^']*'/ path='librill'/" "$dir/new.abi"

soname_of()
{
    sed -n "1s/.* soname='\([^']*\)'.*/\1/p" "$1"
}

# changes [OPTION...]: what differs from the dump; nothing where nothing does.
changes()
{
    abidiff --no-corpus-path --no-show-locs --harmless "$@" "$dump" "$dir/new.abi" >"$dir/said" 2>&1 || cat "$dir/said"
}

[ -f "$dump" ] || [ "$2" = --write ] || { echo "no $dump"; exit 1; }
taken= all=
if [ -f "$dump" ]; then
    all=$(changes)
    taken=$(changes --no-added-syms --suppressions "$here/additions.suppr")
    [ "$(soname_of "$dump")" = "$(soname_of "$dir/new.abi")" ] || taken=
fi
if [ "$2" = --write ] && [ -z "$taken" ]; then
    cp "$dir/new.abi" "$dump"
    echo "$dump is written: $(soname_of "$dump")"
    exit 0
fi
check "programs linked with this soname keep running; otherwise it must change: docs/api.md" "$taken"
check "the dump is this library's; after an addition: tests/abi/abi.sh $lib --write" "$([ -n "$taken" ] || echo "$all")"
finish
