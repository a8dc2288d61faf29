#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: train.sh FOLDER    Fetches what is missing, prepares it, trains, and writes FOLDER/denoise.onnx.
set -eu
[ $# -eq 1 ] || { sed -n 3p "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
steps=2300
decay_from=1400
export OMP_NUM_THREADS=1
"$here/../fetch.sh" "$1"
[ -e "$1/music.npz" ] || /usr/bin/python3 "$here/../recordings.py" "$1"
/usr/bin/python3 "$here/train.py" "$1" "$1/denoise" "$steps" "$decay_from"
/usr/bin/python3 "$here/export.py" "$1/denoise/net.pt" "$1/denoise.onnx"
