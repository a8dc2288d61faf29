#!/bin/sh
# SPDX-License-Identifier: MIT
# What a packager builds compiles without a warning, with each compiler that is here: optimisers see other faults, or
# think that they do. Warnings are errors in rill's own build.
# release.sh SOURCE-ROOT BUILD-FOLDER
. "$(dirname "$0")/../lib.sh"
slow release
root=$1
folder=$2
folder_make
unset CFLAGS CPPFLAGS LDFLAGS

# build COMPILER: a configured folder; one that another meson made starts afresh.
build()
{
    into=$folder/$1
    [ -f "$into/build.ninja" ] && ninja -k 0 -C "$into" && return
    [ -f "$into/build.ninja" ] && grep -q 'error:' "$dir/said" && return 1
    rm -rf "$into"
    CC=$1 meson setup "$into" "$root" --buildtype=release -Dtests=false && ninja -k 0 -C "$into"
}

for compiler in gcc gcc-12 gcc-13 gcc-14 gcc-15 clang clang-14 clang-16 clang-19; do
    command -v "$compiler" >/dev/null || continue
    version=$("$compiler" --version | head -n 1)
    version=${compiler%%-*}${version#"$compiler"}       # gcc and gcc-12 are one, twice
    case $seen in *"[$version]"*) continue ;; esac
    seen="$seen[$version]"
    if build "$compiler" >"$dir/said" 2>&1; then
        pass
    else
        grep -A 3 'error:' "$dir/said" >"$dir/errors" || tail -n 20 "$dir/said" >"$dir/errors"
        fail "$version: --buildtype=release" "$dir/errors"
    fi
done
finish
