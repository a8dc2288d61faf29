#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: train.sh DIGITS.tar FOLDER RILL
# Everything from recordings to the table of MODEL.md: under an hour of two idle cores. What is done already is kept.
# DIGITS.tar: the Free Spoken Digit Dataset; FOLDER: for what is fetched and made, 2 GB; RILL: the tool.
set -eu
[ $# = 3 ] || { sed -n 3,5p "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
digits=$1 folder=$2 rill=$3 model=$here/../../library/rill-digits
shards=96
export OMP_NUM_THREADS=1
mkdir -p "$folder"

"$here/../fetch.sh" "$folder" asterisk-core-sounds-en asterisk-core-sounds-en-g722 asterisk-core-sounds-es-g722 \
    asterisk-core-sounds-fr-g722
[ -e "$folder/corpus.npz" ] || "$here/corpus.py" "$digits" "$folder/unpacked" "$folder/corpus.npz"
"$here/mix.py" "$folder/corpus.npz" "$folder/shards" 0 $shards &
"$here/train.py" "$folder/shards" "$folder/net" 13000
"$here/train.py" "$folder/shards" "$folder/net" 16500       # goes on: the rate rises and falls once more
wait
"$here/export.py" "$folder/net/net.pt" "$model/digits.onnx"
"$here/evaluate.py" "$folder/corpus.npz" "$folder/test" "$rill" "$model" --beam 1
