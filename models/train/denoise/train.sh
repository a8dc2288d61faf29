#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: train.sh [--device cpu|cuda] [--steps N] FOLDER ARCHIVES [RILL AUDIO [MODEL...]]
# Fetches what is missing, prepares it, trains, and writes FOLDER/model, a model like the library's
# rill-denoise. ARCHIVES: a folder as recordings.py takes it. With RILL, the tool, and AUDIO, a
# folder with pairs/NAME_{clean,mixture}.wav, it prints the tables of MODEL.md for each MODEL, the
# library's rill-denoise and the new one ("trained"). --steps: fewer than 21900, to see that all works.
set -eu
usage() {
    sed -n 3,7p "$0" >&2
    exit 2
}

device=cpu
steps=21900
decay_from=6500
while :; do
    case ${1:-} in
    --device) [ $# -ge 2 ] || usage; device=$2 ;;
    --steps) [ $# -ge 2 ] || usage; steps=$2 ;;
    *) break ;;
    esac
    shift 2
done
case $steps in '' | *[!0-9]* | 0) echo "train.sh: --steps '$steps': a whole number from 1 on is expected" >&2; exit 2 ;; esac
case $device in
cpu) ;;
cuda)
    /usr/bin/python3 -c 'import torch; exit(not torch.cuda.is_available())' 2>/dev/null ||
        { echo 'train.sh: --device cuda: PyTorch finds no such device' >&2; exit 2; }
    ;;
*) echo "train.sh: --device '$device': cpu or cuda is expected" >&2; exit 2 ;;
esac
case ${1:-} in -*) usage ;; esac
[ $# -eq 2 ] || [ $# -ge 4 ] || usage
here=$(cd "$(dirname "$0")" && pwd)
committed=$here/../../library/rill-denoise
folder=$1 archives=$2
shift 2
# Arrays that a step needs stay with the process: half of the time went to new pages.
export OMP_NUM_THREADS=1 MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=16000000000
"$here/../fetch.sh" "$folder"
[ -e "$folder/music.npz" ] || /usr/bin/python3 "$here/../recordings.py" "$folder"
[ -e "$folder/rooms.npz" ] || /usr/bin/python3 "$here/../recordings.py" "$folder" "$archives"
/usr/bin/python3 "$here/train.py" "$folder" "$folder/denoise" "$steps" "$decay_from" "$device"
mkdir -p "$folder/model"
cp "$committed/graph.nnef" "$committed/model.conf" "$folder/model/"
/usr/bin/python3 "$here/export.py" "$folder/denoise/net.pt" "$folder/model/denoise.onnx"
[ $# -eq 0 ] && exit
rill=$1 audio=$2
shift 2
/usr/bin/python3 "$here/evaluate.py" "$rill" "$folder" "$audio" "$@" "$committed" \
    "trained=$folder/model"
