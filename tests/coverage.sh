#!/bin/sh
# SPDX-License-Identifier: MIT
# coverage.sh BUILD [MESON-TEST-OPTIONS...]: runs the tests of BUILD and prints which part of the lines and branches of
# each folder they run. BUILD is made once:
#
#   meson setup BUILD -Dbuildtype=debug -Doptimization=1 -Dwerror=false -Db_coverage=true
#
# With - for the options nothing runs, and what BUILD holds of earlier runs is counted. A line or branch counts where any
# object of it ran. What ends by a signal or from _exit leaves no counts, so a run differs a little from the next.
build=$1
if [ -z "$build" ] || ! find "$build" -name '*.gcno' 2>/dev/null | grep -q .; then
    sed -n '3,8s/^# \{0,1\}//p' "$0"
    exit 2
fi
shift
status=0
if [ "$1" != - ]; then
    find "$build" -name '*.gcda' -delete
    meson test -C "$build" "$@" || status=1
fi
told=$(mktemp -d)
trap 'rm -rf "$told"' EXIT
(cd "$build" && find . -name '*.gcno' -print0 | told=$told xargs -0 -n 20 -P "$(nproc)" \
    sh -c 'gcov --json-format --branch-probabilities --stdout "$@" >"$told/$$" 2>/dev/null' gcov)
cat "$told"/* | python3 -c '
import collections, json, os, sys

root, lines, branches = os.path.realpath(sys.argv[1]), {}, {}
for text in sys.stdin:
    if not text.startswith("{"):
        continue
    one = json.loads(text)
    for file in one["files"]:
        path = os.path.realpath(os.path.join(one["current_working_directory"], file["file"]))
        path = os.path.relpath(path, root)
        if path.startswith(("..", "tests/", "build")):
            continue
        for line in file["lines"]:
            at = path, line["line_number"]
            lines[at] = lines.get(at, False) or line["count"] > 0
            for i, branch in enumerate(line["branches"]):
                branches[at + (i,)] = branches.get(at + (i,), False) or branch["count"] > 0
table = collections.defaultdict(lambda: [0] * 4)
for column, found in (0, lines), (2, branches):
    for at, ran in found.items():
        parts = os.path.dirname(at[0]).split("/")[:2]
        for folder in {"all", parts[0], "/".join(parts)}:
            table[folder][column] += ran
            table[folder][column + 1] += 1
print("%-20s %7s %7s %6s  %8s %8s %6s" % ("folder", "lines", "of", "%", "branches", "of", "%"))
for folder, (a, b, c, d) in sorted(table.items()):
    print("%-20s %7d %7d %6.2f  %8d %8d %6.2f" % (folder, a, b, 100 * a / b, c, d, 100 * c / max(d, 1)))
' "$(dirname "$0")/.." || status=1
exit $status
