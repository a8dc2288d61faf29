#!/bin/sh
# SPDX-License-Identifier: MIT
# A compiler that lacks an instruction set: its kernels are left out, and the configuration says so.
# left_out.sh SOURCE-ROOT
. "$(dirname "$0")/../lib.sh"
root=$1
folder_make
skipped=0

# has FILE PATTERN
has()
{
    if grep -q "$2" "$1"; then
        pass
    else
        fail "'$2' is not in:"
        tail -n 40 "$1"
    fi
}

# lacks BUILD SYMBOL: the part that chooses is built, and asks for no such kernels.
lacks()
{
    if ninja -C "$1" kernels/libkern.a >"$dir/log" 2>&1 && nm "$1/kernels/libkern.a" >"$dir/symbols" &&
            grep -q kern_init "$dir/symbols" && ! grep -q "$2" "$dir/symbols"; then
        pass
    else
        fail "$2 is asked for, or this does not build:" "$dir/log"
    fi
}

left_out()
{
    has "$dir/$1.said" "kernels for $1 are left out"
    has "$dir/$1.said" "^ *kernels *: $2$"
    lacks "$dir/$1" "kern_fill_$1"
}

# without SET FLAG: configures with this machine's compiler, but for that flag.
without()
{
    printf '#!/bin/sh\nfor a; do\n    [ "$a" != %s ] || { echo "unrecognized option $a" >&2; exit 1; }\ndone\nexec %s "$@"\n' \
        "$2" "${CC:-cc}" >"$dir/cc"
    chmod +x "$dir/cc"
    CC="$dir/cc" meson setup "$dir/$1" "$root" -Dpart=core >"$dir/$1.said" 2>&1
}

if [ "$(uname -m)" = x86_64 ]; then
    without avx512 -mavx512f
    left_out avx512 'c, avx2, avxvnni'
    without avx512vnni -mavx512vnni
    left_out avx512vnni 'c, avx2, avxvnni, avx512'
    without avxvnni -mavxvnni
    left_out avxvnni 'c, avx2, avx512, avx512vnni'
    without avx2 -mavx2
    left_out avx2 'c, avx512, avx512vnni'
else
    echo "skipped: those of x86, which are of another kind of processor"
    skipped=$((skipped + 12))
fi

if command -v aarch64-linux-gnu-gcc >/dev/null; then
    meson setup "$dir/neon" "$root" --cross-file "$root/tests/cross/aarch64.ini" -Dpart=core \
        -Dc_args=-march=armv8-a+nosimd >"$dir/neon.said" 2>&1
    left_out neon 'c, dotprod, i8mm'
else
    echo "skipped: neon, for there is no aarch64-linux-gnu-gcc (Debian: gcc-aarch64-linux-gnu)"
    skipped=$((skipped + 3))
fi
finish
