# SPDX-License-Identifier: MIT
# Sourced by tests: checks that are counted, a folder and a daemon that go when the script ends.
passed=0 failed=0 skipped=      # a test that may leave checks out sets skipped=0

pass()
{
    passed=$((passed + 1))
}

# fail WORDS [FILE]: FILE is shown.
fail()
{
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$1"
    [ -z "$2" ] || sed 's/^/    /' "$2"
}

# check NAME OFFENDING-LINES
check()
{
    if [ -z "$2" ]; then pass; else fail "$1"; printf '%s\n' "$2"; fi
}

# good WORDS COMMAND...: it ends well; what it says is in $dir/said.
good()
{
    words=$1
    shift
    if "$@" >"$dir/said" 2>&1; then pass; else fail "$words" "$dir/said"; fi
}

# expect CODE WORDS COMMAND...: the exit code, and the words on either stream, which are in $dir/said.
expect()
{
    want=$1 words=$2
    shift 2
    "$@" >"$dir/said" 2>&1
    code=$?
    if [ $code = "$want" ] && grep -q -e "$words" "$dir/said"; then
        pass
    else
        fail "$* (exit $code, wanted $want and '$words')" "$dir/said"
    fi
}

# slow NAME: goes on only where RILL_SLOW names this one among the slow tests, or is "all".
slow()
{
    case " $RILL_SLOW " in *" $1 "* | *' all '*) return ;; esac
    echo "skipped: $1 is slow, and runs with ./test.sh --slow $1"
    echo '0 passed, 0 failed, 1 skipped'
    exit 77
}

# $dir is made; it is removed, and $daemon and $second are ended, when the script ends.
folder_make()
{
    dir=$(mktemp -d /tmp/rill-test-XXXXXX) || exit 1
    daemon='' second=''
    trap '[ -z "$daemon$second" ] || kill $daemon $second 2>/dev/null; rm -rf "$dir"' EXIT
}

# daemon_start RILLD SETTINGS: $daemon, once it is ready, at most 30 s; its log is $dir/log.
daemon_start()
{
    "$1" --config "$2" 2>"$dir/log" &
    daemon=$!
    tries=0
    until grep -q " ready: " "$dir/log" || [ $tries = 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
}

# The line that every test ends with, and its exit code.
finish()
{
    echo "$passed passed, $failed failed${skipped:+, $skipped skipped}"
    [ "$failed" = 0 ]
    exit
}
