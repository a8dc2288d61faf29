#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: train.sh FOLDER [RILL AUDIO [MODEL...]]
# Fetches what is missing, prepares it, trains, and writes FOLDER/model, a model like the library's
# rill-denoise. With RILL, the tool, and AUDIO, a folder with pairs/NAME_{clean,mixture}.wav, it
# prints the tables of MODEL.md for each MODEL, the library's rill-denoise and the new one
# ("trained").
set -eu
[ $# -eq 1 ] || [ $# -ge 3 ] || { sed -n 3,6p "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
committed=$here/../../library/rill-denoise
folder=$1
steps=2300
decay_from=1400
export OMP_NUM_THREADS=1
"$here/../fetch.sh" "$folder"
[ -e "$folder/music.npz" ] || /usr/bin/python3 "$here/../recordings.py" "$folder"
/usr/bin/python3 "$here/train.py" "$folder" "$folder/denoise" "$steps" "$decay_from"
mkdir -p "$folder/model"
cp "$committed/graph.nnef" "$committed/model.conf" "$folder/model/"
/usr/bin/python3 "$here/export.py" "$folder/denoise/net.pt" "$folder/model/denoise.onnx"
[ $# -eq 1 ] && exit
rill=$2 audio=$3
shift 3
/usr/bin/python3 "$here/evaluate.py" "$rill" "$folder" "$audio" "$@" "$committed" \
    "trained=$folder/model"
