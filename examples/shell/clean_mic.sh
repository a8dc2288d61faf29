#!/bin/sh
# SPDX-License-Identifier: MIT
# clean_mic.sh [MODEL]: the microphone through rilld to the speaker, until Ctrl-C. RECORD and PLAY may name other commands for raw
# samples of 16 bits, one channel, $RATE a second; $LISTEN, if set, is a model whose words or edges of speech are shown as well.
: "${RATE:=48000}"
: "${RECORD:=arecord -q -t raw -f S16_LE -c 1 -r $RATE}"
: "${PLAY:=aplay -q -t raw -f S16_LE -c 1 -r $RATE}"
model=${1:-rill-denoise}

if [ -n "$LISTEN" ]; then
    fifo=$(mktemp -u)
    mkfifo "$fifo" || exit 1
    trap 'rm -f "$fifo"' EXIT
    rill pipe --rate "$RATE" --model "$LISTEN" <"$fifo" >&2 &
    $RECORD | tee "$fifo" | rill pipe --rate "$RATE" --model "$model" | $PLAY
    wait
else
    $RECORD | rill pipe --rate "$RATE" --model "$model" | $PLAY
fi
