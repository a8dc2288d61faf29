#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: convert.sh FOLDER [NAME...]
# Fetches the nets of nets.tsv (all, or those named), compares checksums and writes them to
# FOLDER/micro_wake_word/NAME.onnx, so that `rill models get micro_NAME --from FOLDER` takes them.
# Needs pip, unzip, curl, and a Python with numpy and onnx (Debian: python3-onnx), which $PYTHON
# may name.
# A net of one's own: mww2onnx.py IN.tflite OUT.onnx.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n 3,8p "$0" >&2; exit 2; }
folder=$1
shift
unknown=
for name; do
    cut -f 1 "$here/nets.tsv" | grep -qxF -e "$name" && continue
    echo "$name: not in nets.tsv" >&2
    unknown=1
done
[ -z "$unknown" ] || exit 2
wanted=" $* "
mkdir -p "$folder/fetched" "$folder/micro_wake_word"
folder=$(cd "$folder" && pwd)
tab=$(printf '\t')
python=${PYTHON:-/usr/bin/python3}

agrees() { # FILE SHA256
    [ "$2" = - ] || echo "$2  $1" | sha256sum -c --status - && return
    echo "$1: its SHA-256 is not $2" >&2
    return 1
}

# Each leaves what it is asked for whole, or not at all.
fetch_package() { # FOLDER REQUIREMENT SHA256
    rm -rf "$1.part"
    mkdir "$1.part" &&
        pip download -q --no-deps --only-binary=:all: --platform any \
            --platform manylinux_2_35_x86_64 --python-version 3.11 -d "$1.part" "$2" &&
        agrees "$1.part"/*.whl "$3" &&
        unzip -qo "$1.part"/*.whl -d "$1.part" &&
        rm -rf "$1" &&
        mv "$1.part" "$1" &&
        touch "$1.done"
}

fetch_file() { # FILE ADDRESS SHA256
    mkdir -p "$(dirname "$1")" &&
        curl -fsSL --proto =https -o "$1.part" "$2" &&
        agrees "$1.part" "$3" &&
        mv "$1.part" "$1"
}

place() { # NAME FROM
    case "$2" in
    pip:*) echo "$folder/fetched/$(echo "${2#pip:}" | tr -c 'a-zA-Z0-9.\n' _)" ;;
    *) echo "$folder/fetched/$1" ;;
    esac
}

fetch() { # FOLDER FROM SHA256 PATH
    case "$2" in
    pip:*)
        [ -e "$1.done" ] && [ -e "$1/$4" ] || fetch_package "$1" "${2#pip:}" "$3" && return
        rm -rf "$1.part"
        ;;
    *)
        [ ! -e "$1/$4" ] || agrees "$1/$4" "$3" || rm "$1/$4"
        [ -e "$1/$4" ] || fetch_file "$1/$4" "$2" "$3" && return
        rm -f "$1/$4.part"
        ;;
    esac
    return 1
}

convert() { # FILE ONNX SHA256 SOURCE
    "$python" "$here/mww2onnx.py" "$1" "$2.part" "$4 (Apache-2.0), dequantised" </dev/null &&
        agrees "$2.part" "$3" &&
        mv "$2.part" "$2" && return
    rm -f "$2.part"
    echo "$1: if it is broken, delete it, and it is fetched again" >&2
    return 1
}

grep -v '^#' "$here/nets.tsv" | {
    failed=0
    while IFS="$tab" read -r name from sha256 path onnx_sha256 source; do
        case "$wanted" in "  " | *" $name "*) ;; *) continue ;; esac
        at=$(place "$name" "$from")
        to=$folder/micro_wake_word/$name.onnx
        if fetch "$at" "$from" "$sha256" "$path" </dev/null &&
            convert "$at/$path" "$to" "$onnx_sha256" "$source"; then
            echo "$name: $to"
        else
            echo "$name: not had" >&2
            failed=1
        fi
    done
    exit $failed
}
