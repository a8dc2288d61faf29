#!/bin/sh
# SPDX-License-Identifier: MIT
# What a packager builds (release, plain, release with link-time optimisation) compiles without a warning, with each
# compiler that is here: optimisers see other faults, or think that they do. Warnings are errors in rill's own build.
# release.sh SOURCE-ROOT BUILD-FOLDER
. "$(dirname "$0")/../lib.sh"
slow release
root=$1
folder=$2
folder_make
unset CFLAGS CPPFLAGS LDFLAGS

# build COMPILER VARIANT OPTION..: a configured folder; one that another meson made starts afresh.
build()
{
    into=$folder/$1-$2
    CC=$1
    export CC
    shift 2
    [ -f "$into/build.ninja" ] && ninja -k 0 -C "$into" && return
    [ -f "$into/build.ninja" ] && grep -q 'error:' "$dir/said" && return 1
    rm -rf "$into"
    meson setup "$into" "$root" "$@" -Dtests=false && ninja -k 0 -C "$into"
}

# variant COMPILER NAME OPTION..
variant()
{
    if build "$@" >"$dir/said" 2>&1; then
        pass
    else
        grep -A 3 'error:' "$dir/said" >"$dir/errors" || tail -n 20 "$dir/said" >"$dir/errors"
        shift 2
        fail "$version: $*" "$dir/errors"
    fi
}

# Whether compiler $1 and the linker here do link-time optimisation.
links_late()
{
    echo 'int main(void) { return 0; }' >"$dir/late.c"
    "$1" -flto -o "$dir/late" "$dir/late.c" 2>/dev/null
}

for compiler in gcc gcc-12 gcc-13 gcc-14 gcc-15 clang clang-14 clang-16 clang-19; do
    command -v "$compiler" >/dev/null || continue
    version=$("$compiler" --version | head -n 1)
    version=${compiler%%-*}${version#"$compiler"}       # gcc and gcc-12 are one, twice
    case $seen in *"[$version]"*) continue ;; esac
    seen="$seen[$version]"
    variant "$compiler" release --buildtype=release
    variant "$compiler" plain --buildtype=plain
    if links_late "$compiler"; then
        variant "$compiler" lto --buildtype=release -Db_lto=true
    fi
done
finish
