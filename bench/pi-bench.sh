#!/bin/sh
# SPDX-License-Identifier: MIT
# What pulses cost on this board, as a table for docs/speed.md ("Boards"). For Debian and what is made of it (Raspberry Pi OS, Armbian),
# on a fresh image:
#
#   git clone REPOSITORY rill && rill/bench/pi-bench.sh [--rill BUILD] [--seconds S] [--rounds N] [--out FILE] [MODEL..]
#
# Installs what is missing (as root; else it prints the apt-get line), builds rill where no --rill names a build folder, and runs models of
# the library and nets of the tests, N rounds of S seconds in turns; the median of the rounds' medians counts, the 99th percentile is the
# median of the rounds', the worst the worst of all. It says what the board is, which instruction set the kernels took, the governor and
# the clock, and warns of what makes figures useless: a governor other than `performance`, a clock that was throttled, other programs.
set -eu
here=$(cd "$(dirname "$0")" && pwd) root=$(dirname "$here")
build= seconds=2 rounds=5 out=
while [ $# -gt 0 ]; do
    case $1 in
    --rill) build=$(realpath "$2") && shift ;;
    --seconds) seconds=$2 && shift ;;
    --rounds) rounds=$2 && shift ;;
    --out) out=$2 && shift ;;
    -*) sed -n '3,12s/^# \{0,1\}//p' "$0" && exit 2 ;;
    *) break ;;
    esac
    shift
done
if [ -z "$build" ]; then
    . "$root/tools/setup.sh"
    setup_packages
    build=$root/build-board
    [ -f "$build/build.ninja" ] || meson setup "$build" "$root" -Dtests=false >/dev/null
    ninja -C "$build" tools/rill >/dev/null
fi
rill=$build/tools/rill
zoo=$root/tests/models/zoo
[ $# -gt 0 ] || set -- wiener rill-denoise rill-denoise-48k rill-digits "$zoo/gtcrn/model.onnx" "$zoo/bcresnet/model.onnx" \
    "$zoo/marblenet/model.onnx" "$zoo/conformer/model.onnx"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# word FILE: its first line, without the zero at its end
word() { [ ! -r "$1" ] || tr -d '\0' <"$1" | head -n 1; }
cpu=/sys/devices/system/cpu
board=$(word /proc/device-tree/model)
[ -n "$board" ] || board=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
[ -n "$board" ] || board=unknown
governor=$(word $cpu/cpu0/cpufreq/scaling_governor)
busy=$(cut -d ' ' -f 1 /proc/loadavg)

# throttled: 1 where the firmware says that the clock was held back since it started
throttled()
{
    command -v vcgencmd >/dev/null && [ "$(vcgencmd get_throttled 2>/dev/null)" != throttled=0x0 ]
}

# run MODEL: appends a round to its file: microseconds of median, p99 and worst, of audio, steps and the instruction set
run()
{
    "$rill" bench --seconds "$seconds" --json "$1" >"$work/json" 2>"$work/why" || return 1
    sed -n 's/^ *"\([a-z_0-9]*\)": *"\{0,1\}\([^",]*\)"\{0,1\},*$/\1 \2/p' "$work/json" | awk '
        { v[$1] = $2 }
        END { print v["median_us"], v["p99_us"], v["worst_us"], v["rtf"] == "null" ? "-" : sprintf("%.5f", v["rtf"]), v["pulse_samples"], v["cpu"] }' >>"$work/$2"
}

# middle FILE COLUMN: the median of a column
middle() { awk -v c="$2" '{ print $c }' "$1" | sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

round=0
while [ $round -lt "$rounds" ]; do
    i=0
    for model; do
        i=$((i + 1))
        [ -e "$work/failed.$i" ] || run "$model" "$i" || cp "$work/why" "$work/failed.$i"
    done
    round=$((round + 1))
done

table()
{
    echo "**$board**, $(uname -m), $(nproc) processors, Linux $(uname -r), $("$rill" --version | head -n 1),"
    echo "governor ${governor:-unknown}, $rounds rounds of $seconds s"
    echo
    echo '| model | pulse, samples | kernels | median us | p99 us | worst us | real-time factor |'
    echo '|---|--:|---|--:|--:|--:|--:|'
    i=0
    for model; do
        i=$((i + 1))
        name=${model#"$zoo/"}
        name=${name%/model.onnx}
        if [ -e "$work/failed.$i" ]; then
            echo "| $name | | | | | | $(head -n 1 "$work/failed.$i") |"
            continue
        fi
        set -- $(tail -n 1 "$work/$i")
        worst=$(awk '{ print $3 }' "$work/$i" | sort -g | tail -n 1)
        printf '| %s | %s | %s | %.1f | %.1f | %.1f | %s |\n' "$name" "$5" "$6" "$(middle "$work/$i" 1)" "$(middle "$work/$i" 2)" \
            "$worst" "$(middle "$work/$i" 4)"
    done
}
table "$@" | if [ -n "$out" ]; then tee "$out"; else cat; fi
case $governor in
performance | '') ;;
*) echo "The governor is '$governor': figures are those of a clock that changes. As root: echo performance | tee $cpu/cpu*/cpufreq/scaling_governor" >&2 ;;
esac
throttled && echo "The firmware held the clock back (vcgencmd get_throttled): cool the board, or feed it better." >&2
awk -v b="$busy" 'BEGIN { exit !(b > 0.5) }' && echo "Other programs ran: the load was $busy when it began." >&2
exit 0
