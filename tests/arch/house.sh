#!/bin/sh
# SPDX-License-Identifier: MIT
# Lengths and licence lines of every file of ours. house.sh [SOURCE-ROOT]
cd "${1:-$(dirname "$0")/../..}" || exit 1
. tests/lib.sh

# Files that people write; build folders and version control are not among them.
files()
{
    find . -type d \( -name 'build*' -o -name .git \) -prune -o -type f \( "$@" \) -print | sed 's,^\./,,' | sort
}

check 'a file has at most 800 lines' \
    "$(files -name '*.[ch]' -o -name '*.sh' | xargs awk 'FNR > n[FILENAME] { n[FILENAME] = FNR }
        END { for (f in n) if (n[f] > 800) print f ": " n[f] " lines" }')"

# A function starts with the first line of its head, a line that begins in the first column after one that did not end
# in an open list, and ends at the closing brace there.
check 'a function has at most 80 lines' \
    "$(files -name '*.c' -o -name '*.h' | xargs awk '
        FNR == 1 { start = 0; head = 0 }
        /^\}/ { if (start && FNR - start > 79) print FILENAME ":" start ": " FNR - start + 1 " lines"; start = head = 0; next }
        start { next }
        /^\{[[:space:]]*$/ { start = head ? head : FNR; next }
        /^[a-zA-Z_]/ && !head { head = FNR }
        /[;}\\][[:space:]]*$|^[[:space:]]*$|^#|\*\/$/ { head = 0 }')"

check 'the licence stands in the first two lines' \
    "$(files -name '*.[ch]' -o -name '*.sh' -o -name meson.build -o -name meson_options.txt |
        xargs awk 'FNR <= 2 && /SPDX-License-Identifier: MIT/ { has[FILENAME] = 1 }
            END { for (i = 1; i < ARGC; i++) if (!has[ARGV[i]]) print ARGV[i] }')"

check 'nothing is left to do' \
    "$(files -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name meson.build | grep -v '^tests/arch/house\.sh$' |
        xargs grep -nwE 'TODO|FIXME|XXX|HACK')"

check 'every pass stands in docs/design.md' \
    "$(cat engine/rewrite/declutter/declutter.c engine/rewrite/settle/settle.c lib/pipeline.c |
        sed -nE 's/.*\{ "([a-z-]+)", (true|false), graph_.*/\1/p' |
        while read -r pass; do grep -q "\`$pass\`" docs/design.md || echo "$pass"; done)"

finish
