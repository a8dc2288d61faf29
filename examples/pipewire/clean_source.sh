#!/bin/sh
# SPDX-License-Identifier: MIT
# clean_source.sh [MODEL]: a PipeWire filter through rilld: a virtual microphone "rill-clean" that gives what the default
# source (or the node $SOURCE) gives, cleaned. Choose it in any program; Ctrl-C ends it. Needs pw-cat of PipeWire 0.3.65 or
# later, and the right to use rilld's socket (group rills).
model=${1:-rill-denoise}
: "${RATE:=48000}" "${NAME:=rill-clean}" "${LATENCY:=20ms}"
form="--rate $RATE --channels 1 --format s16 --latency $LATENCY"

pw-cat --record $form ${SOURCE:+--target "$SOURCE"} - |
    rill pipe --rate "$RATE" --model "$model" |
    pw-cat --playback $form --target 0 -P "{ media.class=Audio/Source node.name=$NAME node.description=$NAME }" -
