#!/bin/sh
# SPDX-License-Identifier: MIT
# The unit's sandbox and the daemon fit: its system calls under load are among those that the unit allows, it runs where
# memory is never both written and run, and the unit's exposure is 0.5 or better.
# Usage: sandbox.sh INSIDE RILLD SERVICE UNITS-FOLDER LOAD...
. "$(dirname "$0")/../lib.sh"
inside=$1 rilld=$2 service=$3 units=$4
shift 4
if [ "${SANITIZE:-none}" != none ]; then
    echo "0 passed, 0 failed, 1 skipped"       # a sanitizer has system calls and pages of its own
    exit 77
fi
folder_make
skipped=0

note()      # note TEXT CODE
{
    if [ "$2" = 0 ]; then pass; else fail "$1"; fi
}

skip()
{
    skipped=$((skipped + 1))
    echo "skipped: $1"
}

# The names in a set and in the sets within it.
expand()
{
    for name in "$@"; do
        case $name in
        @*) expand $(systemd-analyze syscall-filter "$name" --no-pager 2>/dev/null | sed '1d; s/#.*//') ;;
        *) echo "$name" ;;
        esac
    done
}

allowed_write()
{
    : >"$dir/allowed"
    sed -n 's/^SystemCallFilter=//p' "$service" | while read -r set; do     # a later line goes before an earlier one
        expand ${set#\~} | sort -u >"$dir/set"
        case $set in
        ~*) comm -23 "$dir/allowed" "$dir/set" ;;
        *) sort -u "$dir/allowed" "$dir/set" ;;
        esac >"$dir/now"
        mv "$dir/now" "$dir/allowed"
    done
}

check_syscalls()
{
    for load in "$@"; do
        INSIDE=strace INSIDE_LOG="$dir/strace" RILLD_INSIDE="$rilld" RILLD="$inside" "$load" >"$dir/load" 2>&1
    done
    sed -n 's/^[0-9]* *\([a-z_0-9]*\)(.*/\1/p' "$dir/strace" | sort -u >"$dir/used"
    for must in accept4 epoll_pwait openat clone3 futex; do
        grep -qx "$must" "$dir/used" || grep -qx "${must%3}" "$dir/used" || grep -qx "${must%_pwait}_wait" "$dir/used"
        note "the load used $must" $?
    done
    # What the service manager itself does before the filter is there.
    comm -23 "$dir/used" "$dir/allowed" | grep -vx execve >"$dir/over"
    [ ! -s "$dir/over" ]
    note "all calls are allowed; these are not: $(tr '\n' ' ' <"$dir/over")" $?
    echo "$(wc -l <"$dir/used") calls used, $(wc -l <"$dir/allowed") allowed"
}

if ! command -v systemd-analyze >/dev/null; then
    skip "systemd-analyze is not installed"
else
    cp "$service" "$units"/*.socket "$dir" 2>/dev/null
    # The programs of the unit need not be installed here.
    sed -i 's|^Exec\([A-Za-z]*\)=.*|Exec\1=/bin/true|' "$dir/rilld.service"
    (cd "$dir" && systemd-analyze verify --man=no ./rilld.service >v 2>&1 && ! grep -q rilld v)
    note "the unit is in order: $(cat "$dir/v")" $?
    (cd "$dir" && systemd-analyze security --offline=true --threshold=5 --no-pager ./rilld.service >v 2>&1)
    note "its exposure: $(tail -1 "$dir/v")" $?
    tail -1 "$dir/v"
    allowed_write
    if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
        check_syscalls "$@"
    else
        skip "strace cannot be had"
    fi
fi

INSIDE=mdwe RILLD_INSIDE=/bin/true "$inside"
if [ $? = 77 ]; then
    skip "this kernel does not refuse memory that is written and run"
else
    for load in "$@"; do
        INSIDE=mdwe RILLD_INSIDE="$rilld" RILLD="$inside" "$load" >"$dir/load" 2>&1
        note "without memory that is written and run: $(tail -3 "$dir/load")" $?
    done
fi
finish
