#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: fetch.sh FOLDER [NAME...]
# Downloads the Debian packages of packages.tsv (all, or those named) into FOLDER/debs, compares their checksums and
# unpacks each into FOLDER/unpacked/NAME. Nothing is installed. Needs apt with Debian 12 sources, dpkg and unzip.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n 3,5p "$0" >&2; exit 2; }
mkdir -p "$1/debs" "$1/unpacked"
folder=$(cd "$1" && pwd)
shift
wanted=" $* "
tab=$(printf '\t')

grep -v '^#' "$here/packages.tsv" | while IFS="$tab" read -r name version sha256 rest; do
    case "$wanted" in "  " | *" $name "*) ;; *) continue ;; esac
    to=$folder/unpacked/$name
    [ ! -e "$to.done" ] || continue
    deb=$(find "$folder/debs" -name "${name}_*.deb" | head -n 1)
    if [ -z "$deb" ]; then
        (cd "$folder/debs" && apt-get -qq download "$name=$version" </dev/null)
        deb=$(find "$folder/debs" -name "${name}_*.deb" | head -n 1)
    fi
    echo "$sha256  $deb" | sha256sum -c --quiet -
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
