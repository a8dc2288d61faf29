#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and runs every test: once under the address and undefined-behaviour
# sanitizers, and those that measure time, watch system calls or break them in a plain build. The last line is the total.
#
#   ./test.sh [--slow NAME]...      with tests that are skipped otherwise: machines, release, or all
cd "$(dirname "$0")" || exit 1
while [ $# -gt 0 ]; do
    if [ "$1" != --slow ] || { [ "$2" != all ] && ! grep -rqxE --include='*.sh' -e " *slow $2" tests; }; then
        echo "test.sh knows --slow all and" $(grep -rhxE --include='*.sh' ' *slow [a-z]+' tests | sed 's/^ */--/' | sort -u) "not '$*'"
        exit 2
    fi
    RILL_SLOW="$RILL_SLOW $2"
    shift 2
done
export RILL_SLOW
. tools/setup.sh
setup_packages || exit 1
setup_test_packages
[ -d ../shared ] || echo "There is no ../shared: tests that need its models and audio are skipped."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

# run_tests DIR MESON-TEST-OPTIONS...: failing tests are printed with their logs.
run_tests()
{
    dir=$1
    shift
    rm -f "$dir"/meson-logs/testlog*.txt
    meson test -C "$dir" --no-rebuild --print-errorlogs "$@" || status=1
    cat "$dir"/meson-logs/testlog*.txt >>"$log" || status=1
}

# build DIR OPTIONS...
build()
{
    setup_build "$@" && ninja -C "$1" && ninja -C "$1" meson-test-prereq && return 0
    echo "$1 does not build."
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}

build build-test -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
build build -Dbuildtype=debugoptimized

plain=
for suite in rt bench faults; do
    meson test -C build --list 2>/dev/null | grep -q "rill:$suite /" && plain="$plain --suite $suite"
done
run_tests build-test --timeout-multiplier 4 --no-suite rt --no-suite bench
[ -z "$plain" ] || run_tests build --timeout-multiplier 4 --num-processes 1 $plain

# Each test ends with a line of counts; one that died without it, or denies a failure, counts as one failed. What failed
# is told once more with its first words: the log above is long, and who reads it may have only its end.
awk '
function finish() {
    if (name == "")
        return
    split(counts, n, /[^0-9]+/)
    if (bad && n[2] == 0)
        n[2] = 1
    if (counts == "" && !bad)
        skips ? n[3] = 1 : n[1] = 1
    passed += n[1]; failed += n[2]; skipped += n[3]
    if (n[2] > 0)
        print "failed: " name why
    name = counts = why = ""
}
/^=+ [0-9]+\/[0-9]+ =+$/ { finish(); head = 1; next }
head && /^test: / { name = $NF }
head && /^result: / { bad = !/exit status (0|77)$/; skips = /exit status 77$/ }
head && /^-+ (stdout|stderr) -+$/ { head = 0 }
!head && /^(FAIL|    )/ { if (/^F/) told = 0; if (told++ < 4 && length(why) < 2000) why = why "\n    " $0 }
!head && /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped(, [0-9]+ refused)?)?$/ { counts = $0 }
END {
    finish()
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
}' "$log" || status=1
exit $status
