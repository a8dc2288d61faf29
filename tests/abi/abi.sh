#!/bin/sh
# SPDX-License-Identifier: MIT
# The face of the shared library (or of a dump of one) is that of tests/abi/librill.abi: types, signatures, symbols.
# abi.sh LIBRARY|DUMP.abi [--write]
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
. "$here/../lib.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ "${lib%.abi}" != "$lib" ]; then
    cp "$lib" "$dir/new.abi"
else
    readelf -h "$lib" | grep -q X86-64 || skip "the dump is that of x86-64"
    readelf -S "$lib" | grep -q '\.debug_info' || skip "the library has no debugging information"
    abidw --out-file "$dir/new.abi" --headers-dir "$root/include" --drop-private-types --exported-interfaces-only \
        --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --type-id-style hash "$lib" || exit 1
fi

soname_of()
{
    sed -n "1s/.* soname='\([^']*\)'.*/\1/p" "$1"
}

# changes OPTION...: what differs from the dump; nothing where nothing does.
changes()
{
    abidiff --no-show-locs "$@" "$dump" "$dir/new.abi" >"$dir/said" 2>&1 || cat "$dir/said"
}

# Of what changes says of types, one by one, all but structs with a size that have only grown at their end.
additions_drop()
{
    awk -v sized=" $(sed -n 's/^SIZED([a-z_]*, \([a-z_]*\),.*/\1/p' "$root/engine/base/sized.c" | tr '\n' ' ')" '
        function block_end() { if (!has_grown) printf "%s", text; text = "" }
        /^Leaf changes|summary:|^$/ { next }
        /^[^ ]/ {
            block_end()
            name = $2; sub("\047", "", name)
            has_grown = $1 == "\047struct" && index(sized, " " name " ")
            size = 0; text = $0 "\n"
            next
        }
        { text = text $0 "\n" }
        /^  type size changed from [0-9]+/ { size = $5; next }
        /^  [0-9]+ data member insertions?:$/ { next }
        /^    .*, at offset [0-9]+ \(in bits\)$/ { if (size && $(NF - 2) >= size) next }
        { has_grown = 0 }
        END { block_end() }'
}

# Of what changes says of functions, all but those that take any pointer where they took that of one type.
widenings_drop()
{
    awk '
        function block_end() { if (text && !has_widened) { printf "%s%s", head, text; head = "" } text = "" }
        /^[0-9]+ functions? with some sub-type changes?:$/ { block_end(); head = $0 "\n"; next }
        /^  \[C\]/ { block_end(); text = $0 "\n"; has_widened = 1; next }
        text && /^ / {
            text = text $0 "\n"
            if (!/^    parameter [0-9]+ of type .*\*\047 changed:$/ && !/pointer type changed from: .*\*\047 to: \047void\*\047$/)
                has_widened = 0
            next
        }
        { block_end(); if (NF) print }
        END { block_end() }'
}

[ -f "$dump" ] || [ "$2" = --write ] || { echo "no $dump"; exit 1; }
all= taken=
if [ -f "$dump" ] && [ "$(soname_of "$dump")" = "$(soname_of "$dir/new.abi")" ]; then
    all=$(changes --harmless)
    taken=$(changes --leaf-changes-only --no-added-syms | additions_drop | widenings_drop)
elif [ -f "$dump" ]; then
    all="the dump is that of $(soname_of "$dump")"
fi
if [ "$2" = --write ] && [ -z "$taken" ]; then
    cp "$dir/new.abi" "$dump"
    echo "$dump is written: $(soname_of "$dump")"
    exit 0
fi
check "programs linked with this soname keep running; otherwise it must change: docs/api.md" "$taken"
check "the dump is this library's; after an addition: tests/abi/abi.sh $lib --write" "$([ -n "$taken" ] || echo "$all")"
finish
