#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: fetch.sh FOLDER [NAME...]
# Downloads the Debian packages of packages.tsv (all, or those named) into FOLDER/debs, compares
# their checksums and unpacks each into FOLDER/unpacked/NAME. Nothing is installed. A package in
# FOLDER/debs that has another checksum is fetched again. Needs apt with Debian 12 sources, dpkg
# and unzip.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n 3,7p "$0" >&2; exit 2; }
folder=$1
shift
unknown=
for name; do
    cut -f 1 "$here/packages.tsv" | grep -qxF -e "$name" && continue
    echo "$name: not in packages.tsv" >&2
    unknown=1
done
[ -z "$unknown" ] || exit 2
wanted=" $* "
mkdir -p "$folder/debs" "$folder/unpacked"
folder=$(cd "$folder" && pwd)
part=$folder/debs/part
tab=$(printf '\t')
failed=

deb_in() { # FOLDER
    find "$1" -maxdepth 1 -name "${name}_*.deb" | head -n 1
}

is_right() { # FILE
    [ -n "$1" ] && echo "$sha256  $1" | sha256sum -c --status -
}

# Leaves the package in FOLDER/debs, whole or not at all.
fetch() {
    rm -rf "$part"
    mkdir "$part"
    (cd "$part" && apt-get -qq download "$name=$version" </dev/null) || return 1
    deb=$(deb_in "$part")
    if ! is_right "$deb"; then
        echo "${deb:-$name}: its SHA-256 is not $sha256" >&2
        return 1
    fi
    mv "$deb" "$folder/debs/"
}

grep -v '^#' "$here/packages.tsv" | while IFS="$tab" read -r name version sha256 rest; do
    case "$wanted" in "  " | *" $name "*) ;; *) continue ;; esac
    to=$folder/unpacked/$name
    [ ! -e "$to.done" ] || continue
    deb=$(deb_in "$folder/debs")
    if ! is_right "$deb"; then
        if [ -n "$deb" ]; then
            echo "$deb: broken, or not version $version; fetched again" >&2
            rm "$deb"
        fi
        fetch || failed=1
        rm -rf "$part"
        [ -z "$failed" ] || { echo "$name $version: not had" >&2; exit 1; }
        deb=$(deb_in "$folder/debs")
    fi
    mkdir -p "$to"
    dpkg -x "$deb" "$to"
    zip=$to/usr/share/games/0ad/mods/public/public.zip
    if [ -e "$zip" ]; then
        unzip -qo "$zip" 'audio/*' -d "$to"
        rm "$zip"
    fi
    touch "$to.done"
    echo "$name $version: unpacked"
done
