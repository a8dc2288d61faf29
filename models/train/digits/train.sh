#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: train.sh DIGITS.tar ARCHIVES FOLDER RILL
# Everything from recordings to the table of MODEL.md: under an hour of two idle cores. Writes
# FOLDER/model, a model like the library's rill-digits. What is done already is kept.
# DIGITS.tar: the Free Spoken Digit Dataset; ARCHIVES: the folder of the transcribed speech
# (sentences.py); FOLDER: for what is fetched and made, 3 GB; RILL: the tool.
set -eu
[ $# = 4 ] || { sed -n 3,7p "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
digits=$1 archives=$2 folder=$3 rill=$4 committed=$here/../../library/rill-digits
shards=20
mixer='' trainer=''
export OMP_NUM_THREADS=1

stop() {
    [ -z "$mixer$trainer" ] || kill $mixer $trainer 2>/dev/null || :
}

mixer_done() {
    wait "$mixer" || { mixer=''; echo 'train.sh: mix.py has failed' >&2; exit 1; }
    mixer=''
}

# train.py waits for what mix.py makes beside it, and is stopped if mix.py fails.
train() { # STEPS
    "$here/train.py" "$folder/shards" "$folder/net" "$1" 1 "$here/first.onnx" &
    trainer=$!
    while kill -0 "$trainer" 2>/dev/null; do
        [ -z "$mixer" ] || kill -0 "$mixer" 2>/dev/null || mixer_done
        sleep 1
    done
    wait "$trainer" || { trainer=''; echo 'train.sh: train.py has failed' >&2; exit 1; }
    trainer=''
}

trap stop EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$folder"
"$here/../fetch.sh" "$folder" asterisk-core-sounds-en asterisk-core-sounds-en-g722 \
    asterisk-core-sounds-es-g722 asterisk-core-sounds-fr-g722
[ -e "$folder/corpus.npz" ] || "$here/corpus.py" "$digits" "$folder/unpacked" "$folder/corpus.npz"
[ -e "$folder/sentences.npz" ] || "$here/sentences.py" "$archives" "$folder/sentences.npz"
"$here/mix.py" "$folder/corpus.npz" "$folder/sentences.npz" "$folder/shards" 0 $shards &
mixer=$!
train 4500
[ -z "$mixer" ] || mixer_done
mkdir -p "$folder/model"
cp "$committed/graph.nnef" "$committed/model.conf" "$committed/tokens.txt" "$folder/model/"
"$here/export.py" "$folder/net/net.pt" "$folder/model/digits.onnx"
"$here/evaluate.py" "$folder/corpus.npz" "$folder/sentences.npz" "$folder/test" "$rill" "$folder/model" \
    --beam 1 --confidence 0
