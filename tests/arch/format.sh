#!/bin/sh
# SPDX-License-Identifier: MIT
# Every source is as clang-format 14 writes it, with .clang-format; another version writes others, and is not asked.
# Templates of kernels are left to people: their loops are macros. format.sh [SOURCE-ROOT]
cd "${1:-$(dirname "$0")/../..}" || exit 1
. tests/lib.sh
skipped=0

formatter=
for c in clang-format-14 clang-format; do
    if "$c" --version 2>/dev/null | grep -q 'version 14\.'; then
        formatter=$c
        break
    fi
done
if [ -z "$formatter" ]; then
    echo 'skipped: clang-format 14 is not here'
    skipped=1
    finish
fi

others()
{
    find . -type d \( -name 'build*' -o -name .git \) -prune -o -type f -name '*.[ch]' -print | sed 's,^\./,,' |
        grep -vE '^kernels/(.*_tmpl|vec_.*)\.h$' | xargs -n 40 -P 2 "$formatter" --dry-run -Werror 2>&1 |
        sed -n 's/^\([^: ]*\.[ch]\):.*code should be clang-formatted.*/\1/p' | sort -u | sed "s/.*/&: run $formatter -i &/"
}

check 'sources are as clang-format 14 writes them' "$(others)"
finish
