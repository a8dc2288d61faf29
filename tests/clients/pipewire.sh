#!/bin/sh
# SPDX-License-Identifier: MIT
# pipewire.sh RILL RILLD: examples/pipewire in a PipeWire session of its own, whose microphone is a recording. Run by hand: it takes
# 20 seconds and wants pipewire, wireplumber and dbus-run-session.
for p in pipewire wireplumber dbus-run-session pw-cat; do
    command -v $p >/dev/null || { echo "skipped: no $p"; echo "0 passed, 0 failed, 1 skipped"; exit 77; }
done
rill=$(cd "$(dirname "${1:?pipewire.sh RILL RILLD}")" && pwd) rilld=$(cd "$(dirname "$2")" && pwd)/rilld
cd "$(dirname "$0")/../.." || exit 1
if [ -z "$RILL_PIPEWIRE_DIR" ]; then
    dir=$(mktemp -d /tmp/rill-test-XXXXXX) || exit 1
    trap 'rm -rf "$dir"' EXIT
    RILL_PIPEWIRE_DIR=$dir XDG_RUNTIME_DIR=$dir dbus-run-session "$0" "$rill/rill" "$rilld"
    exit
fi

dir=$RILL_PIPEWIRE_DIR jobs=
export RILL_SOCKET="$dir/s" RATE=16000 SOURCE=noisy-mic PATH="$rill:$PATH"
trap 'kill $jobs 2>/dev/null; sleep 1' EXIT
form="--rate 16000 --channels 1 --format s16"
printf '[daemon]\nsocket = %s\ncontrol_socket =\n' "$RILL_SOCKET" >"$dir/rilld.conf"
"$rilld" --config "$dir/rilld.conf" 2>"$dir/log" & jobs="$jobs $!"
pipewire 2>"$dir/pipewire.log" & jobs="$jobs $!"
sleep 2
wireplumber 2>"$dir/wireplumber.log" & jobs="$jobs $!"
sleep 3
for _ in 1 2 3 4; do tail -c +45 examples/audio/noisy.wav; done |
    pw-cat --playback --target 0 -P '{ media.class=Audio/Source node.name=noisy-mic }' $form - & jobs="$jobs $!"
sleep 1
examples/pipewire/clean_source.sh & jobs="$jobs $!"
sleep 3
timeout 8 pw-cat --record --target noisy-mic $form - >"$dir/noisy.raw" &
timeout 8 pw-cat --record --target rill-clean $form - >"$dir/clean.raw"

# The mean magnitude of the quietest tenth of pieces of 20 ms.
floor()
{
    od -An -v -t d2 -w640 "$1" | awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i < 0 ? -$i : $i; if (NF) print s / NF }' | sort -n |
        awk '{ a[NR] = $1 } END { printf "%.1f\n", a[int(NR / 10) + 1] }'
}
a=$(floor "$dir/noisy.raw") b=$(floor "$dir/clean.raw") n=$(wc -c <"$dir/clean.raw")
echo "floor of the source $a, of the filter $b, $n bytes"
if [ "$n" -gt 128000 ] && awk "BEGIN { exit !($b * 5 < $a) }"; then
    echo "1 passed, 0 failed"
else
    echo "0 passed, 1 failed"
    exit 1
fi
