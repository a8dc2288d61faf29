# SPDX-License-Identifier: MIT
# Sourced: counts checks. A check is a name and the lines that speak against it.
passed=0
failed=0

# check NAME OFFENDING-LINES
check()
{
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s\n%s\n' "$1" "$2"
    fi
}

finish_checks()
{
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}
