#!/bin/sh
# SPDX-License-Identifier: MIT
# rill feed and rill listen against a daemon that goes away and comes back.  feed.sh RILL RILLD AUDIO_DIR UNIT
. "$(dirname "$0")/../lib.sh"
rill=$(realpath "$1") rilld=$(realpath "$2") audio=$(realpath "$3") unit=$(realpath "$4")
folder_make         # $second is the feed
skipped=0
export HOME="$dir" RILL_SOCKET="$dir/s"

# Until FILE has N lines with WORDS, at most 20 s.
has()
{
    i=0
    while [ "$(cat "$1" 2>/dev/null | grep -c -e "$2")" -lt "$3" ]; do
        i=$((i + 1))
        [ $i -lt 200 ] || { cat "$1"; return 1; }
        sleep 0.1
    done
}

daemon_again()
{
    "$rilld" --config "$dir/conf" 2>>"$dir/log" &
    daemon=$!
    i=0
    while ! "$rill" listen >/dev/null 2>&1 && [ $i -lt 100 ]; do
        i=$((i + 1))
        sleep 0.1
    done
}

printf '[daemon]\nsocket = %s/s\ncontrol_socket = %s/c\n[models]\nmodel_path = %s/none\n[limits]\nrtf_budget = 1000\ndrain_grace_ms = 100\n[overload]\npolicy = off\n' \
    "$dir" "$dir" "$dir" >"$dir/conf"

# ---- refusals
good "no daemon" sh -c '"$1" listen mic; [ $? = 4 ]' - "$rill"
daemon_again
good "no topic" sh -c '"$1" listen mic | grep . ; "$1" listen mic; [ $? = 5 ]' - "$rill"
good "usage" sh -c '"$1" feed; [ $? = 2 ]' - "$rill"
good "no such name" sh -c '"$1" feed --file "$2/none.wav" ../mic; [ $? = 2 ]' - "$rill"
good "no such file" sh -c '"$1" feed --file "$2/none.wav" mic; r=$?; [ $r = 3 ] || [ $r = 4 ]' - "$rill" "$dir"

# ---- what subscribers get is what the daemon gives for the same samples
good "reference" "$rill" stream "$audio/digits.wav" "$dir/ref.wav"
"$rill" feed --keep 10000 --file "$audio/digits.wav" mic 2>"$dir/feed" &
second=$!
good "published" has "$dir/feed" "published" 1
good "listed" sh -c '"$1" listen | grep "^mic .* keeps 10000 ms"' - "$rill"
good "listens to the end" "$rill" listen --from oldest mic "$dir/out.wav"
good "the same bits" cmp "$dir/ref.wav" "$dir/out.wav"
wait $second
good "the feed ends with its file" [ $? = 0 ]
good "nothing was left out" grep -q " 0 left out" "$dir/feed"

# ---- a refusal is told once
"$rill" feed --model nosuch --file "$audio/digits.wav" other 2>"$dir/feed3" &
second=$!
good "a model that is not there is told" has "$dir/feed3" "NO_MODEL" 1
kill -TERM $second
wait $second
good "once an attempt" sh -c '[ "$(grep -c NO_MODEL "$1")" = "$(grep -c "next attempt" "$1")" ]' - "$dir/feed3"
"$rill" feed --file "$audio/digits.wav" twice 2>"$dir/feed4" &
first=$!
good "one has the name" has "$dir/feed4" "published" 1
"$rill" feed --file "$audio/digits.wav" twice 2>"$dir/feed5" &
second=$!
good "a name that is taken is told" has "$dir/feed5" "next attempt" 1
kill -TERM $second
wait $second
good "once too" sh -c 'cat "$1"; [ "$(grep -c "twice: BAD_ARG" "$1")" = "$(grep -c "next attempt" "$1")" ]' - "$dir/feed5"
kill -TERM $first
wait $first
second=

# ---- the daemon goes and comes, well within the minute that is fed
{
    printf 'RIFF\044\114\035\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000\000\175\000\000\002\000\020\000'
    printf 'data\000\114\035\000'
    head -c 1920000 /dev/zero
} >"$dir/minute.wav"
"$rill" feed --file "$dir/minute.wav" mic 2>"$dir/feed2" &
second=$!
good "published again" has "$dir/feed2" "published" 1
"$rill" listen --retry --seconds 60 mic "$dir/out2.wav" 2>"$dir/listen2" &
listener=$!
kill "$daemon"
wait "$daemon"
good "it says so" has "$dir/feed2" "next attempt" 1
daemon_again
good "it came back" has "$dir/feed2" "published" 2
good "the listener too" sh -c 'i=0; while ! "$1" listen | grep -q " 1 subscribers"; do i=$((i+1)); [ $i -lt 100 ] || exit 1; sleep 0.1; done' - "$rill"
good "it is among the sessions" sh -c '"$1" ctl --socket "$2/c" sessions | grep -q "rill_listen: subscribed to mic (" &&
    "$1" ctl --socket "$2/c" sessions | grep -q "rill_feed: .* published as mic$" && "$1" ctl --socket "$2/c" --json sessions | grep -q "\"subscription\": true"' - "$rill" "$dir"
kill -TERM $second
wait $second
good "SIGTERM ends it well" [ $? = 0 ]
second=
kill -TERM $listener
wait $listener
good "and the listener" [ $? = 0 ]
good "what came is written" [ -s "$dir/out2.wav" ]
kill "$daemon"
wait "$daemon"
good "the daemon ends well" [ $? = 0 ]
daemon=

# ---- the unit
if command -v systemd-analyze >/dev/null; then
    sed -e "s|^ExecStart=[^ ]*|ExecStart=$rill|" "$unit" >"$dir/rill-feed@.service"
    cp "$(dirname "$0")/../../systemd/rilld.socket" "$dir/"
    printf '[Service]\nExecStart=/bin/true\n' >"$dir/rilld.service"
    cp "$dir/rill-feed@.service" "$dir/rill-feed@mic.service"
    good "the unit holds" sh -c 'cd "$1" && systemd-analyze verify --man=no ./rill-feed@mic.service >v 2>&1; r=$?; cat v; [ $r = 0 ] && ! grep -q rill-feed v' - "$dir"
    good "its exposure" sh -c 'cd "$1" && systemd-analyze security --offline=true --threshold=20 --no-pager ./rill-feed@mic.service >v 2>&1; r=$?; tail -2 v; [ $r = 0 ]' - "$dir"
    cat "$dir/said"
else
    skipped=$((skipped + 2))
fi

finish
