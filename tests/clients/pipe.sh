#!/bin/sh
# SPDX-License-Identifier: MIT
# pipe.sh RILL RILLD SOURCE_ROOT: rill pipe, and the example of a shell that is made of it.
. "$(dirname "$0")/../lib.sh"
rill=$(cd "$(dirname "$1")" && pwd)/rill rilld=$2 root=$3
folder_make
export RILL_SOCKET="$dir/s" PATH="$(dirname "$rill"):$PATH"

size_is()
{
    [ "$(wc -c <"$1")" = "$2" ] || { wc -c "$1"; return 1; }
}

expect 4 "No such file" rill pipe </dev/null
printf '[daemon]\nsocket = %s\ncontrol_socket =\n' "$dir/s" >"$dir/rilld.conf"
daemon_start "$rilld" "$dir/rilld.conf"

tail -c +45 "$root/examples/audio/noisy.wav" >"$dir/noisy.raw"
tail -c +45 "$root/examples/audio/digits.wav" >"$dir/digits.raw"
# Live audio may be told in gaps where the machine is busy; then the bytes are others, but as many.
good "a file" sh -c "rill pipe --pace file <'$dir/noisy.raw' >'$dir/clean.raw'"
good "as much comes out as goes in" size_is "$dir/clean.raw" "$(wc -c <"$dir/noisy.raw")"
good "live" sh -c "rill pipe <'$dir/noisy.raw' >'$dir/live.raw'"
good "as much comes out live" size_is "$dir/live.raw" "$(wc -c <"$dir/noisy.raw")"
good "in odd pieces" sh -c "dd if='$dir/noisy.raw' bs=333 2>/dev/null | rill pipe --pace file | cmp - '$dir/clean.raw'"
# cut BYTES OPTIONS...: that much of the file; the exit code is rill's
cut()
{
    n=$1
    shift
    head -c "$n" "$dir/noisy.raw" | rill pipe "$@" 2>"$dir/cut" >"$dir/half.raw"
    [ $? = 3 ]
}
good "half a sample at the end is told" cut 32001
good "with what was left out" grep -q "cut off: its last 1 bytes are no whole frame of 2 bytes" "$dir/cut"
good "all others come" size_is "$dir/half.raw" 32000
good "half a frame of two channels too" cut 32002 -c 2 --pace file
good "all its others come" size_is "$dir/half.raw" 32000
good "nothing gives nothing" sh -c "rill pipe </dev/null >'$dir/none.raw' && [ ! -s '$dir/none.raw' ]"
good "two channels of three bytes" sh -c "head -c 96000 '$dir/noisy.raw' | rill pipe -c 2 -f s24 -r 48000 >'$dir/wide.raw'"
good "as many of them" size_is "$dir/wide.raw" 96000
good "words" sh -c "rill pipe -m rill-digits <'$dir/digits.raw' | grep -qx '0.400 text three one four one five nine two six'"
good "output comes while input is open" sh -c "(cat '$dir/noisy.raw'; sleep 5) | rill pipe --pace file | head -c 64000 |
    cmp -n 64000 - '$dir/clean.raw'"
expect 5 NO_MODEL rill pipe -m no-such-model </dev/null
expect 2 "format is f32" rill pipe -f mp3 </dev/null
expect 2 "rate is a whole number from 8000 to 192000" rill pipe -r 5 </dev/null
expect 2 "wrong number" rill pipe x </dev/null

# A descriptor that is closed is nobody else's number.
closed_in() { timeout 30 rill pipe <&- >"$dir/none.raw" && [ ! -s "$dir/none.raw" ]; }
closed_all() { timeout 30 rill pipe --pace file <&- >&- 2>&-; }
# unwritten OUTPUT COMMAND...: it ends with 4 and words
unwritten()
{
    to=$1
    shift
    if [ "$to" = closed ]; then "$@" >&- 2>"$dir/cut"; else "$@" >"$to" 2>"$dir/cut"; fi
    [ $? = 4 ] && grep -q "standard output" "$dir/cut"
}
piped_unwritten() { head -c "$2" "$dir/noisy.raw" >"$dir/short.raw" && unwritten "$1" timeout 30 rill pipe -m wiener --pace file <"$dir/short.raw"; }
good "closed standard input is its end" closed_in
good "all three closed" closed_all
for to in closed /dev/full; do
    good "rill --version: $to" unwritten $to rill --version
    good "rill models: $to" unwritten $to rill models list
    good "rill pipe --help: $to" unwritten $to rill pipe --help
    for bytes in 100 32000 "$(wc -c <"$dir/noisy.raw")"; do
        good "rill pipe, $bytes bytes: $to" piped_unwritten $to $bytes
    done
done
good "no daemon is hurt" rill pipe </dev/null
printf '[daemon]\nsocket = %s\ncontrol_socket =\n' "$dir/s2" >"$dir/second.conf"
"$rilld" --config "$dir/second.conf" <&- >&- 2>&- &
second=$!
n=0
while ! timeout 10 rill pipe -s "$dir/s2" </dev/null 2>"$dir/cut" && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
good "a daemon that began with all three closed" sh -c "timeout 30 rill pipe -s '$dir/s2' --pace file <'$dir/noisy.raw' | cmp - '$dir/clean.raw'"
good "has nothing of its own there" sh -c "for fd in 0 1 2; do [ \"\$(readlink /proc/$second/fd/\$fd)\" = /dev/null ] || exit 1; done"
kill $second
wait $second
second=
good "rilld --print-config: /dev/full" sh -c "! '$rilld' --print-config >/dev/full 2>'$dir/cut' && grep -q 'standard output: No space' '$dir/cut'"

export RATE=16000 RECORD="cat $dir/noisy.raw" PLAY="cp /dev/stdin $dir/played.raw"
good "the shell example" "$root/examples/shell/clean_mic.sh"
good "plays as much" size_is "$dir/played.raw" "$(wc -c <"$dir/noisy.raw")"
export RECORD="cat $dir/digits.raw" LISTEN=rill-digits
good "and shows words" sh -c "'$root/examples/shell/clean_mic.sh' 2>&1 | grep -q 'text three one four'"
finish
