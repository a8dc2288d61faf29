#!/bin/sh
# SPDX-License-Identifier: MIT
# What cutting into pulses costs: compute per input frame of a stream, beside the whole-sequence run of the same net in
# the same minutes. usage: bench/pulsed.sh RILL ZOO_DIR [ROUNDS]
rill=$1 zoo=$2 rounds=${3:-5}

# us per input frame: FRAMES in one run, options..
cost() {
    frames=$1
    shift
    "$rill" bench --seconds 1 "$@" | awk -v n="$frames" '$1 == "median" { print $2 / n }'
}

# NET WHOLE_FRAMES PULSE
ratio() {
    for _ in $(seq "$rounds"); do
        whole=$(cost "$2" -t "set_symbols(S: $2)" "$zoo/$1/model.onnx")
        pulsed=$(cost "$3" --pulse "$3" "$zoo/$1/model.onnx")
        echo "$whole $pulsed"
    done | awk '{ print $2 / $1, $1, $2 }' | sort -g | awk -v net="$1" -v pulse="$3" '
        { r[NR] = $1; w[NR] = $2; p[NR] = $3 }
        END { m = int((NR + 1) / 2)
              printf "%-10s pulse %-3d  whole %8.2f us a frame  pulsed %8.2f  ratio %.2f (%.2f to %.2f)\n", net, pulse,
                  w[m], p[m], r[m], r[1], r[NR] }'
}

ratio wavenet 1000 1
ratio wavenet 1000 8
ratio gtcrn 50 1
ratio tdnn_lstm 999 3
ratio dualpath 100 1
ratio dfn3 100 1
ratio conformer 320 16
