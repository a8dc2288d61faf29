#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs and libraries of different age: builds a library whose structs are longer than today's and that has a function more.
# Today's programs run with it, and a program that was built for it runs with today's. later.sh SOURCE BUILD TINY TEST...
source=$1 build=$(cd "$2" && pwd) tiny=$3
shift 3
. "$source/tests/lib.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/rill"
tar -C "$source" -c --exclude='./build*' --exclude=./.git . | tar -x -C "$dir/rill"
copy=$dir/rill later=$dir/rill/later library=$(basename "$(readlink -f "$build/librill.so")")
for s in $(sed -n 's/^SIZED([a-z_]*, \([a-z_]*\),.*/\1/p' "$copy/engine/base/sized.c"); do
    sed -i "s/^} $s;/    uint64_t later[3];\n&/" "$copy/include/rill.h"
done
sed -i 's/^\(SIZED([^,]*, [^,]*, [^,]*\), [a-z_0-9]*)/\1, later)/' "$copy/engine/base/sized.c"
sed -i 's/^const char \*rill_version(void)/const char *rill_later(void);\nconst char *rill_later(void)\n{\n    return "";\n}\n\n&/' \
    "$copy/lib/status.c"
printf 'RILL_0_1 {\nglobal:\n    rill_later;\n} RILL_0;\n' >>"$copy/lib/librill.map"
good "the later library is built" sh -c "meson setup '$later' '$copy' -Dtests=false && ninja -C '$later' $library examples/tiny"

# taken LIBRARIES PROGRAM: it is the library of that folder that the program takes.
taken()
{
    check "$2 takes the library of $1" "$(LD_TRACE_LOADED_OBJECTS=1 LD_LIBRARY_PATH=$1 "$2" | grep 'librill\.so' | grep -vF " $1/")"
}
for t in "$@"; do
    taken "$later" "$t"
    good "$t with the later library" env LD_LIBRARY_PATH="$later" "$t"
done

# tiny_with LIBRARIES PROGRAM OUT
head -c 400000 /dev/zero | tr '\0' '?' >"$dir/samples"
tiny_with()
{
    taken "$1" "$2"
    good "$2 with the library of $1" sh -c "LD_LIBRARY_PATH='$1' '$2' <'$dir/samples' >'$dir/$3'"
}
tiny_with "$build" "$tiny" same
tiny_with "$later" "$tiny" older
tiny_with "$build" "$later/examples/tiny" newer
check "there is audio" "$([ -s "$dir/same" ] || echo none)"
good "an older program hears the same" cmp "$dir/same" "$dir/older"
good "a newer program, too" cmp "$dir/same" "$dir/newer"
finish
