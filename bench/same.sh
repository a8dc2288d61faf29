#!/bin/sh
# SPDX-License-Identifier: MIT
# That a change of the sources changed nothing that rill computes: the bits of every output of every model of the library
# and net of the zoo, at two pulses and whole, what the tool makes of a recording, and instructions a pulse.
#
#   bench/same.sh BEFORE AFTER [OPTION...]          two build folders
#   bench/same.sh --save FILE BUILD [OPTION...]     keeps what a build gives..
#   bench/same.sh --against FILE BUILD [OPTION...]  ..and compares another with it
#
# Options: --models DIR    weights (default: RILL_SHARED/models, or ../shared/models); models without theirs are named, skipped
#          --no-count      no instructions; they want valgrind and are of RILL_CPU=avx2, as all of it is
#          --limit PERCENT that a pulse may take more or fewer instructions (default 2)
# Exit code 1: something differs. The format of compiled plans may change, and the options of rill.h, but not what they give.
set -eu
here=$(cd "$(dirname "$0")" && pwd) root=$(dirname "$here")
models=${RILL_SHARED:-$root/../shared}/models count=1 limit=2 save= against= builds=
export RILL_CPU=avx2 PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0

while [ $# -gt 0 ]; do
    case $1 in
    --save) save=$2; shift ;;
    --against) against=$2; shift ;;
    --models) models=$2; shift ;;
    --limit) limit=$2; shift ;;
    --no-count) count= ;;
    -*) sed -n '3,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) builds="$builds $(realpath "$1")" ;;
    esac
    shift
done
set -- $builds
[ -n "$save$against" ] && want=1 || want=2
[ $# = "$want" ] || { echo "bench/same.sh: $want build folders are wanted, not $#" >&2; exit 2; }
[ -z "$count" ] || command -v valgrind >/dev/null || { echo "no valgrind: instructions are not counted" >&2; count=; }
work=$(mktemp -d "${TMPDIR:-/tmp}/rill-same-XXXXXX")
trap 'rm -rf "$work"' EXIT
python=$(python3 -c 'import sys; print(sys.executable)')     # valgrind wants the program, not a script before it
speech=$root/examples/audio/noisy.wav digits=$root/examples/audio/digits.wav

# ---- of one build, $build ----
rill() { "$build/tools/rill" "$@"; }

# MODEL OPTION..: $work/plan.rill and its ports
plan_make() { rill compile "$@" -o "$work/plan.rill" >/dev/null && rill inspect --json "$work/plan.rill" >"$work/ports.json"; }

play() { "$python" "$here/play.py" "$build" "$work/plan.rill" "$work/ports.json" "$speech" "$@"; }

# NAME HOW MODEL OPTION..
digest()
{
    name=$1 how=$2
    shift 2
    plan_make "$@" && play >"$work/played" && sed "s,^,digest $name $how ," "$work/played"
}

# NAME MODEL FRAMES: the pulse that rill chooses, one three times as long, and FRAMES at once
digests()
{
    digest "$1" chosen "$2" &&
        digest "$1" threefold "$2" --pulse "$((3 * $(sed -n 's/.*"pulse_samples": \([0-9]*\).*/\1/p' "$work/ports.json")))" &&
        digest "$1" whole "$2" -t "set_symbols(S: $3)" || echo "failed $1 cannot be played"
}

# NAME TASK: what a person gets who hands the tool a recording
heard()
{
    case $2 in
    denoise) rill denoise -m "$1" "$speech" "$work/heard.wav" >/dev/null && cat "$work/heard.wav" ;;
    vad) rill vad -m "$1" "$speech" - ;;
    keyword) rill keyword -m "$1" "$digits" ;;
    transcribe) rill transcribe --srt -m "$1" "$digits" ;;
    esac | sha256sum | sed "s, .*,,; s,^,digest $1 $2 heard - ,"
}

# NAME MODEL OPTION..: instructions in librill a pulse, from the difference of two lengths
instructions()
{
    name=$1
    shift
    plan_make "$@" || { echo "failed $name cannot be planned"; return 0; }
    for pulses in 20 70; do
        play_under_callgrind "$pulses"
    done | awk -v name="$name" 'NR == 1 { first = $1 } END { printf "cost %s %.0f\n", name, ($1 - first) / 50 }'
}

play_under_callgrind()
{
    valgrind --tool=callgrind --callgrind-out-file="$work/calls" \
        "$python" "$here/play.py" "$build" "$work/plan.rill" "$work/ports.json" "$speech" "$1" >/dev/null 2>"$work/log" ||
        cat "$work/log" >&2
    # Objects are named once and numbered from then on; what follows a calls= line is the cost of who was called.
    awk '/^c?ob=/ { at = $0; sub(/^c?ob=/, "", at); sub(/ .*/, "", at); if (/librill/) ours[at] = 1 }
         /^ob=/ { inside = at in ours }
         /^calls=/ { getline; next }
         /^[0-9+*-]/ && inside { n += $2 }
         END { printf "%d\n", n }' "$work/calls"
}

library()
{
    rill models >"$work/models"
    while read -r name task rate _; do
        why=$(rill models get --quiet --from "$models" "$name" 2>&1) || { echo "skipped $name: $why" >&2; continue; }
        digests "$name" "$name" "$rate"
        heard "$name" "$task"
    done <"$work/models"
}

zoo()
{
    for net in "$root"/tests/models/zoo/*/model.onnx; do
        digests "zoo/$(basename "$(dirname "$net")")" "$net" 400
    done
    for folder in transducer transducer/zip; do
        digests "$folder" "$root/tests/models/$folder" 16000
    done
}

of_build()
{
    build=$1
    export XDG_DATA_HOME="$work/data-$2"
    library
    zoo
    [ -n "$count" ] || return 0
    for name in dtln gtcrn silero_v6 rill-denoise; do
        [ -d "$XDG_DATA_HOME/rill/models/$name" ] || [ $name = rill-denoise ] && instructions $name $name
    done
    instructions zoo/wavenet "$root/tests/models/zoo/wavenet/model.onnx" --pulse 8
}

# ---- comparison ----
compare()
{
    awk -v limit="$limit" -v count="$count" '
        $1 == "failed" { print "FAILED: " $0; bad++; next }
        $1 == "digest" { key = $2 " at " $3 ", output " $4; value = $5 " frames " $6 }
        $1 == "cost" { key = $2 " instructions a pulse"; value = $3 }
        $1 == "cost" && count == "" { next }
        NR == FNR { before[key] = value; kind[key] = $1; next }
        !(key in before) { print "only after: " key; bad++; next }
        kind[key] == "cost" {
            change = 100 * (value - before[key]) / before[key]
            printf "%s: %d, %d, %+.2f %%\n", key, before[key], value, change
            bad += change > limit || change < -limit
        }
        kind[key] == "digest" { same++; if (value != before[key]) { same--; bad++; print "DIFFERS: " key } }
        { delete before[key] }
        END { for (key in before) { print "only before: " key; bad++ }
              printf "%d outputs are the same bits; %d differences\n", same, bad; exit bad > 0 || !same }' "$1" "$2"
}

if [ -n "$save" ]; then
    of_build "$1" save >"$work/saved"
    mv "$work/saved" "$save"
    echo "$(grep -c ^digest "$save") outputs, $(grep -c ^cost "$save") costs in $save"
    exit
fi
[ -n "$against" ] || { against=$work/before; of_build "$1" before >"$against"; shift; }
of_build "$1" after >"$work/after"
compare "$against" "$work/after"
